//! Making checked ops: the result types come from the op's own facts.

use crate::Opcode;
use shardwise_base::Diagnostics;
use shardwise_ir::{Attrs, Body, Builder, Module, Op, Region, Type, Value};

/// The result types of an op that stands in `body` (its own results are not looked at).
pub fn infer(module: &Module, body: &Body, op: Op) -> Result<Vec<Type>, Diagnostics> {
    let view = module.view(body, op);
    Opcode::of_view(&view).facts().infer(&view)
}

/// Appends an op whose result types its facts infer; nothing is appended if they refuse.
///
/// `module` is consulted for the functions that calls and composites name.
pub fn build(
    module: &Module,
    builder: &mut Builder<'_>,
    opcode: Opcode,
    operands: impl IntoIterator<Item = Value>,
    attrs: Attrs,
    regions: impl IntoIterator<Item = Region>,
) -> Result<Op, Diagnostics> {
    let op = builder.op_with_regions(opcode, operands, attrs, regions, []);
    match infer(module, builder.body, op) {
        Ok(types) => {
            builder.body.add_results(op, types);
            Ok(op)
        }
        Err(found) => {
            builder.body.pop_op(builder.region, op);
            Err(found)
        }
    }
}
