//! Building checked ops: the result types are inferred by the op's own facts.

use crate::{Opcode, infer_op};
use shardwise_base::Diagnostics;
use shardwise_ir::{Attrs, Body, Builder, Module, Op, OpDef, Region, Type, Value};

/// Returns the result types that the facts of an op in `body` infer. The declared types of its results are read only if
/// the operands and attributes do not determine the types (`convert`, `reshape`).
///
/// # Errors
/// Returns an error for each required attribute that is missing and for each attribute of the wrong kind. If there are
/// none, returns an error for each constraint that the op breaks, except for those that rely on another broken one.
pub fn infer(module: &Module, body: &Body, op: Op) -> Result<Vec<Type>, Diagnostics> {
    let view = module.view(body, op);
    infer_op(&view)
}

/// Appends an op with inferred result types, and returns it. `module` has the functions that calls and composites name.
///
/// # Errors
/// Fails if [`infer`] does, and appends nothing then.
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

/// Appends an op with declared result types, for ops whose operands do not determine them (`convert`, `reshape`), and
/// returns it. If the list is empty, the types are inferred.
///
/// # Errors
/// Fails if [`infer`] does, or if the declared types are not those that the op's facts allow. Nothing is appended then.
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
