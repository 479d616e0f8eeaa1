//! The reference evaluation of an op, on buffers: what runs where no kernel does.

use crate::memory::Buffer;
use shardwise_base::{Diagnostic, Literal};
use shardwise_interp::RegionRunner;
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;

/// Evaluates an op on one device's operands, followed by the captured values of its regions.
pub fn evaluate(view: &OpView<'_>, inputs: &[&Buffer], captured: &[Value]) -> Result<Vec<Literal>, Diagnostic> {
    let literal = |v: Value, buffer: &Buffer| {
        let ty = view.body.ty(v).as_tensor().expect("buffers hold tensors");
        Literal::from_bytes(ty.dtype, &ty.shape, buffer.bytes()).expect("buffers have their type's size")
    };
    let (operands, outer) = inputs.split_at(view.operands().len());
    let literals: Vec<Literal> = view.operands().iter().zip(operands).map(|(&v, b)| literal(v, b)).collect();
    let mut regions = RegionRunner::new(view.module, view.body);
    for (&v, buffer) in captured.iter().zip(outer) {
        regions.define(v, literal(v, buffer));
    }
    Opcode::of_view(view).facts().eval(view, &literals, &mut regions)
}
