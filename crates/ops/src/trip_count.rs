//! Trip counts of loops whose counter determines them.

use crate::Opcode;
use crate::shapes::{constant_operand, unmarked};
use shardwise_ir::{OpView, Region, ValueDef};

/// The carried scalar that determines the number of iterations of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// Its index among the carried values.
    pub index: usize,
    /// Its value in the first iteration.
    pub first: i64,
    /// The number that is added to it after each iteration.
    pub step: i64,
    /// The number of iterations.
    pub count: u64,
}

/// Returns the counter of a `while` loop, or `None` if the loop is of another form. The loop must add a positive
/// constant integer to a carried scalar, starting from a constant, as long as the scalar is less than (`LT`), or less
/// than or equal to (`LE`), a constant limit. The scalar must be the first operand of the sum and of the comparison.
/// Marks, such as sharding constraints, may be between all of these. Returns `None` too if the last sum overflows the
/// scalar's type, or if the first value or the step is too large for an `i64`.
pub fn counter(view: &OpView<'_>) -> Option<Counter> {
    let [cond, body] = *view.regions() else { return None };
    let test = view.at(view.body.def_op(unmarked(view, *view.body.region_results(cond).first()?))?);
    let direction = test.attrs().str("comparison_direction").filter(|_| Opcode::of_view(&test) == Opcode::Compare)?;
    let index = argument_index(&test, 0, view, cond)?;
    let (limit, first) = (constant_number(&test, 1)?, constant_number(view, index)?);
    let next = unmarked(view, *view.body.region_results(body).get(index)?);
    let step = view.at(view.body.def_op(next)?);
    if Opcode::of_view(&step) != Opcode::Add || argument_index(&step, 0, view, body) != Some(index) {
        return None;
    }
    let step = constant_number(&step, 1).filter(|&s| s > 0)?;
    let distance = match direction {
        "LT" => limit - first,
        "LE" => limit - first + 1,
        _ => return None,
    };
    let count = (distance.max(0) + step - 1) / step;
    // If the last sum overflows, the counter wraps around, and the loop goes on.
    let dtype = view.operand_tensor(index).dtype;
    let value_bits = dtype.bits() - usize::from(dtype.is_signed());
    let count = (first + count * step < 1 << value_bits).then_some(u64::try_from(count).ok()?)?;
    let (first, step) = (i64::try_from(first).ok()?, i64::try_from(step).ok()?);
    Some(Counter { index, first, step, count })
}

/// Returns the number of iterations of a `while` loop, or `None` if it has no [`counter`].
pub fn trip_count(view: &OpView<'_>) -> Option<u64> {
    Some(counter(view)?.count)
}

/// Returns the index of the argument of `region` that operand `i` of `op` is, directly or through marks. Returns `None`
/// if there is no such operand or it is no argument of `region`. Both ops are in the body of `of`.
fn argument_index(op: &OpView<'_>, i: usize, of: &OpView<'_>, region: Region) -> Option<usize> {
    match of.body[unmarked(op, *op.operands().get(i)?)].def {
        ValueDef::Argument { region: r, index } if r == region => Some(index as usize),
        _ => None,
    }
}

fn constant_number(op: &OpView<'_>, i: usize) -> Option<i128> {
    let value = constant_operand(op, i).filter(|l| l.size() == 1 && l.dtype().is_integer())?;
    Some(value.get_i128(0))
}
