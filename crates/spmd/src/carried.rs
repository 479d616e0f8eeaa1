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
/// returns the value from which `v` was passed on. Arguments, also those of a loop, are not followed further. Returns
/// `v` if there is no earlier value.
pub(crate) fn same_value(view: &OpView<'_>, mut v: Value, passed_on: PassedOn) -> Value {
    while let ValueDef::Result { op, index } = view.body[v].def {
        let def = view.at(op);
        let earlier = match Opcode::of_view(&def) {
            Opcode::While => carried_unchanged(&def, index as usize, passed_on),
            _ => passed_on(&def),
        };
        let Some(earlier) = earlier else { break };
        v = earlier;
    }
    v
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::parse;
    use shardwise_ops::OPS;

    #[test]
    fn a_value_is_followed_through_a_long_chain() {
        const LENGTH: usize = 50_000;
        let op = |i: usize| format!("  %a{} = sdy.sharding_constraint %a{i} <@mesh, [{{}}]> : tensor<8xf32>\n", i + 1);
        let text = format!(
            "sdy.mesh @mesh = <[\"x\"=2]>
func.func @main(%a0: tensor<8xf32>) -> tensor<8xf32> {{
{}  return %a{LENGTH} : tensor<8xf32>
}}",
            (0..LENGTH).map(op).collect::<Vec<_>>().concat()
        );
        let module = parse("test.mlir", &text, &OPS).unwrap();
        let body = &module.main().unwrap().body;
        let last = body.results()[0];
        let view = module.view(body, body.def_op(last).unwrap());
        assert_eq!(same_value(&view, last, |op| Some(op.operand(0))), body.args()[0]);
    }
}
