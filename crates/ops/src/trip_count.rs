//! Trip counts of loops whose counter determines them.

use crate::Opcode;
use crate::shapes::constant_value;
use shardwise_ir::{OpView, Region, ValueDef};

/// Returns the number of iterations of a `while` loop, or `None` if the loop is of another form. The loop must add a
/// positive constant integer to a carried scalar, starting from a constant, as long as the scalar is less than (`LT`),
/// or less than or equal to (`LE`), a constant limit. The scalar must be the first operand of the sum and of the
/// comparison. Returns `None` too if the last sum overflows the scalar's type.
pub fn trip_count(view: &OpView<'_>) -> Option<u64> {
    let [cond, body] = *view.regions() else { return None };
    let test = view.at(view.body.def_op(*view.body.region_results(cond).first()?)?);
    let direction = test.attrs().str("comparison_direction").filter(|_| Opcode::of_view(&test) == Opcode::Compare)?;
    let counter = argument_index(&test, 0, view, cond)?;
    let (limit, init) = (constant_number(&test, 1)?, constant_number(view, counter)?);
    let next = *view.body.region_results(body).get(counter)?;
    let step = view.at(view.body.def_op(next)?);
    if Opcode::of_view(&step) != Opcode::Add || argument_index(&step, 0, view, body) != Some(counter) {
        return None;
    }
    let step = constant_number(&step, 1).filter(|&s| s > 0)?;
    let distance = match direction {
        "LT" => limit - init,
        "LE" => limit - init + 1,
        _ => return None,
    };
    let count = (distance.max(0) + step - 1) / step;
    // A counter that wraps around starts again.
    let dtype = view.operand_tensor(counter).dtype;
    let value_bits = dtype.bits() - usize::from(dtype.is_signed());
    (init + count * step < 1 << value_bits).then_some(u64::try_from(count).ok()?)
}

/// Returns the index of the argument of `region` that is operand `i` of `op`, or `None` if there is no such operand or
/// it is no argument of `region`. Both ops are in the body of `of`.
fn argument_index(op: &OpView<'_>, i: usize, of: &OpView<'_>, region: Region) -> Option<usize> {
    match of.body[*op.operands().get(i)?].def {
        ValueDef::Argument { region: r, index } if r == region => Some(index as usize),
        _ => None,
    }
}

fn constant_number(op: &OpView<'_>, i: usize) -> Option<i128> {
    let def = op.operand_def(i).filter(|d| Opcode::of_view(d) == Opcode::Constant)?;
    let value = constant_value(&def).filter(|l| l.size() == 1 && l.dtype().is_integer())?;
    Some(value.get_i128(0))
}
