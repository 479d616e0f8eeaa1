//! The reference evaluation of an op on buffers, for ops without a kernel.

use crate::memory::Buffer;
use shardwise_base::{Diagnostic, Literal};
use shardwise_interp::RegionRunner;
use shardwise_ir::{OpView, Value};

/// Runs the reference evaluation of an op on one device. `inputs` are the op's operands, followed by the values of
/// `captured`, which its regions use. Returns one literal for each result.
///
/// # Errors
/// Returns the error of the evaluation.
///
/// # Panics
/// Panics if there are fewer inputs than operands, or if a buffer does not have the bytes of its value's type.
pub fn evaluate(view: &OpView<'_>, inputs: &[&Buffer], captured: &[Value]) -> Result<Vec<Literal>, Diagnostic> {
    let (operands, outer) = inputs.split_at(view.operands().len());
    let literals: Vec<Literal> = view.operands().iter().zip(operands).map(|(&v, b)| literal(view, v, b)).collect();
    shardwise_ops::evaluate(view, &literals, &mut regions(view, outer, captured))
}

/// Runs the reference of a collective for one group, given the first operand of each member in `parts`. `others` are
/// the second operand, which states the root, if the op has one, followed by the values of `captured`, which its region
/// uses. Returns one literal for each member.
///
/// # Errors
/// Returns the error of the reference, such as a root that is no member.
///
/// # Panics
/// May panic if `parts` is empty. Panics if `others` lacks the second operand of an op that has one, or if a buffer
/// does not have the bytes of its value's type.
pub fn exchange(
    view: &OpView<'_>,
    parts: &[&Buffer],
    others: &[&Buffer],
    captured: &[Value],
) -> Result<Vec<Literal>, Diagnostic> {
    let (operands, outer) = others.split_at(view.operands().len() - 1);
    let parts = parts.iter().map(|b| literal(view, view.operand(0), b)).collect();
    let roots = operands.first().map(|b| literal(view, view.operand(1), b));
    shardwise_interp::exchange(view, 0, parts, roots.as_ref(), &mut regions(view, outer, captured))
}

fn regions<'m>(view: &OpView<'m>, outer: &[&Buffer], captured: &[Value]) -> RegionRunner<'m> {
    let mut regions = RegionRunner::new(view.module, view.body);
    for (&v, buffer) in captured.iter().zip(outer) {
        regions.define(v, literal(view, v, buffer));
    }
    regions
}

fn literal(view: &OpView<'_>, v: Value, buffer: &Buffer) -> Literal {
    let ty = view.body.ty(v).as_tensor().expect("buffers hold tensors");
    Literal::from_bytes(ty.dtype, &ty.shape, buffer.bytes()).expect("buffers have their type's size")
}
