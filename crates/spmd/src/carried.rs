//! Follows values back through the loops that carry them unchanged.

use shardwise_ir::{OpView, Value, ValueDef};
use shardwise_ops::Opcode;

/// A function that returns the operand that an op passes on as its result, or `None` if the result is to count as a new
/// value.
pub(crate) type PassedOn = fn(&OpView<'_>) -> Option<Value>;

/// Returns the initial value of the value that the loop `view` carries at position `index`, or `None` if a turn may
/// change the value. In the loop's body, the value may pass through inner loops and through ops for which `passed_on`
/// returns an operand.
pub(crate) fn carried_unchanged(view: &OpView<'_>, index: usize, passed_on: PassedOn) -> Option<Value> {
    let body = *view.regions().last()?;
    let returned = *view.body.region_results(body).get(index)?;
    let is_kept = same_value(view, returned, passed_on) == view.body[body].args[index];
    is_kept.then(|| view.operand(index))
}

/// Follows `v` back through loops that carry it unchanged and through ops for which `passed_on` returns an operand, and
/// returns the value from which `v` was passed on. Returns `v` if there is no earlier one.
pub(crate) fn same_value(view: &OpView<'_>, v: Value, passed_on: PassedOn) -> Value {
    let ValueDef::Result { op, index } = view.body[v].def else { return v };
    let def = view.at(op);
    let earlier = match Opcode::of_view(&def) {
        Opcode::While => carried_unchanged(&def, index as usize, passed_on),
        _ => passed_on(&def),
    };
    earlier.map_or(v, |earlier| same_value(view, earlier, passed_on))
}
