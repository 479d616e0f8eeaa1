//! Follows values back through the loops that carry them unchanged.

use shardwise_ir::{OpView, Value, ValueDef};
use shardwise_ops::Opcode;

/// Returns the operand that an op passes on as its result, for what counts as the same value.
pub(crate) type PassedOn = fn(&OpView<'_>) -> Option<Value>;

/// Returns the initial value of what a loop carries at `index`, if each turn returns the same value.
pub(crate) fn carried_unchanged(view: &OpView<'_>, index: usize, passed_on: PassedOn) -> Option<Value> {
    let body = *view.regions().last()?;
    let returned = *view.body.region_results(body).get(index)?;
    let is_kept = same_value(view, returned, passed_on) == view.body[body].args[index];
    is_kept.then(|| view.operand(index))
}

/// Returns the earliest value that is the same as `v`: that from which `v` was passed on, by loops that carry it unchanged
/// among other ops.
pub(crate) fn same_value(view: &OpView<'_>, v: Value, passed_on: PassedOn) -> Value {
    let ValueDef::Result { op, index } = view.body[v].def else { return v };
    let def = view.at(op);
    let earlier = match Opcode::of_view(&def) {
        Opcode::While => carried_unchanged(&def, index as usize, passed_on),
        _ => passed_on(&def),
    };
    earlier.map_or(v, |earlier| same_value(view, earlier, passed_on))
}
