//! The uses of values.

use crate::{Body, Op, Value};
use shardwise_base::EntityVec;
use smallvec::SmallVec;

/// An operand position that uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Use {
    pub op: Op,
    pub index: usize,
}

/// All uses of all values of a body, in program order. They are computed once, for a body that does not change.
pub struct Uses(EntityVec<Value, SmallVec<[Use; 1]>>);

impl Uses {
    pub fn compute(body: &Body) -> Uses {
        let mut uses = EntityVec::filled(body.value_count(), SmallVec::<[Use; 1]>::new());
        for op in body.walk() {
            for (index, &v) in body[op].operands.iter().enumerate() {
                uses[v].push(Use { op, index });
            }
        }
        Uses(uses)
    }

    pub fn of(&self, v: Value) -> &[Use] {
        &self.0[v]
    }
}
