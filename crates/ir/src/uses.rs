//! Who uses a value.

use crate::{Body, Op, Value};

/// One operand position that holds a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    pub op: Op,
    pub index: usize,
}

/// All uses of all values of a body, in program order; computed once, for a body that does not change.
pub struct Uses(Vec<Vec<Use>>);

impl Uses {
    pub fn compute(body: &Body) -> Uses {
        let mut uses = vec![vec![]; body.value_count()];
        for op in body.walk() {
            for (index, v) in body[op].operands.iter().enumerate() {
                uses[v.index()].push(Use { op, index });
            }
        }
        Uses(uses)
    }

    pub fn of(&self, v: Value) -> &[Use] {
        &self.0[v.index()]
    }
}
