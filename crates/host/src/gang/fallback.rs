//! The reference evaluation of an op, on buffers: what runs where no kernel does.

use crate::memory::Buffer;
use shardwise_base::{Diagnostic, Literal};
use shardwise_interp::RegionRunner;
use shardwise_ir::OpView;
use shardwise_ops::Opcode;

/// Evaluates an op on one device's operands.
pub fn evaluate(view: &OpView<'_>, operands: &[&Buffer]) -> Result<Vec<Literal>, Diagnostic> {
    let literal = |i: usize| {
        let ty = view.operand_tensor(i);
        Literal::from_bytes(ty.dtype, &ty.shape, operands[i].bytes()).expect("buffers have their type's size")
    };
    let literals: Vec<Literal> = (0..operands.len()).map(literal).collect();
    let mut regions = RegionRunner::new(view.module, view.body);
    Opcode::of_view(view).facts().eval(view, &literals, &mut regions)
}
