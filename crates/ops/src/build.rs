//! Making checked ops: the result types come from the op's own facts.

use crate::{Opcode, infer_op};
use shardwise_base::Diagnostics;
use shardwise_ir::{Attrs, Body, Builder, Module, Op, OpDef, Region, Type, Value};

/// The result types of an op that stands in `body` (its own results are not looked at).
pub fn infer(module: &Module, body: &Body, op: Op) -> Result<Vec<Type>, Diagnostics> {
    let view = module.view(body, op);
    infer_op(&view)
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
    build_as(module, builder, opcode, operands, attrs, regions, [])
}

/// The same with declared result types, for ops whose operands do not determine them (`convert`, `reshape`); none: they
/// are inferred.
pub fn build_as(
    module: &Module,
    builder: &mut Builder<'_>,
    opcode: Opcode,
    operands: impl IntoIterator<Item = Value>,
    attrs: Attrs,
    regions: impl IntoIterator<Item = Region>,
    declared: impl IntoIterator<Item = Type>,
) -> Result<Op, Diagnostics> {
    let op = builder.op_with_regions(opcode, operands, attrs, regions, declared);
    let found = match infer(module, builder.body, op) {
        Ok(types) if builder.body[op].results.is_empty() => {
            builder.body.add_results(op, types);
            return Ok(op);
        }
        Ok(_) => opcode.verify(&module.view(builder.body, op)),
        Err(found) => found,
    };
    if found.has_errors() {
        builder.body.pop_op(builder.region, op);
        return Err(found);
    }
    Ok(op)
}
