//! Inference and evaluation of an op on values of every type. They call the op's own facts, and treat quantized values
//! and reducers wider than their operands, which is the same for all ops.

use crate::facts::{EvalError, RegionEval};
use crate::{Opcode, promote, quantized, schema};
use shardwise_base::{Diagnostics, Literal};
use shardwise_ir::{OpView, Type};

/// Checks operands, attributes and regions of an op, and returns its result types.
///
/// # Errors
/// The required attributes that are missing and the attributes of the wrong kind. If there are none, the constraints
/// that the op breaks, except for those that rely on another broken one.
pub fn infer_op(op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
    schema::wrong_attributes(op).or(())?;
    let facts = Opcode::of_view(op).facts();
    if quantized::is_quantized(op) {
        return quantized::infer(op, &|op| facts.infer(op));
    }
    facts.infer(op)
}

/// Computes the results of an op with [`Semantics::Pure`](crate::Semantics::Pure) from its operands' values. Quantized
/// values are passed and returned as their integers. The op must be one that [`infer_op`] accepts.
///
/// # Errors
/// A region that the op runs or a kernel of the user fails, the values break a condition of the op, such as a check of
/// values that fails, or the op is a custom call that nothing computes.
pub fn evaluate(
    op: &OpView<'_>,
    operands: &[Literal],
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, EvalError> {
    let opcode = Opcode::of_view(op);
    if quantized::is_quantized(op) && opcode.schema().on_quantized.is_computed() {
        return quantized::run(op, operands, regions);
    }
    let promoted = promote::operands(op, operands)?;
    opcode.facts().eval(op, promoted.as_deref().unwrap_or(operands), regions)
}
