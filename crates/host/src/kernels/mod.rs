//! The kernel table: the ops that have a kernel of their own, and the fusion of ops into one kernel.
//!
//! There is one file for each kind of kernel. Each returns a [`Kernel`](crate::gang::Kernel) for an op, or none, so
//! that the op's reference evaluation runs.
#![forbid(unsafe_code)]

mod by_reducer;
mod convolution;
mod dot;
mod exchange;
mod fold;
mod fuse;
mod fused;
mod index;
mod moves;
mod ragged_dot;
mod ragged_exchange;
mod reduce;
mod reduce_window;
mod select_and_scatter;
mod sort;
#[cfg(test)]
pub(crate) mod testing;
mod window;

pub use dot::{sum_step, sums};
pub use exchange::members;
pub use fuse::groups;
pub use fused::step as fused_step;

use crate::block::Operand;
use crate::gang::Step;
use crate::gang::lower::Lowering;
use crate::memory::Buffer;
use crate::operand::{Source, Target};
use shardwise_ir::OpView;
use shardwise_ops::promote::is_promoted;
use shardwise_ops::{Opcode, Semantics};

/// Returns the bytes of a result, which is new or has no other owner.
fn written(buffer: &mut Buffer) -> &mut [u8] {
    buffer.try_unique().expect("a kernel is the only owner of its results")
}

/// Returns a whole buffer as an operand that a block program reads.
fn read(buffer: &Buffer) -> Operand<'_> {
    Operand::Read(Source::of(buffer.bytes()))
}

/// Returns a whole buffer as an operand that a block program writes.
fn write(buffer: &mut Buffer) -> Operand<'_> {
    Operand::Write(Target::of(written(buffer)))
}

/// Returns the step of an op that has a kernel, or `None` if its reference evaluation runs.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    if is_promoted(view) && !is_collective(view) {
        return None;
    }
    match Opcode::of_view(view) {
        Opcode::DotGeneral | Opcode::Dot => dot::step(lowering, view),
        Opcode::Convolution => convolution::step(lowering, view),
        Opcode::Reduce => reduce::step(lowering, view).or_else(|| fold::step(lowering, view)),
        Opcode::SelectAndScatter => select_and_scatter::step(lowering, view),
        Opcode::Sort => sort::step(lowering, view),
        Opcode::TopK => sort::top_k(lowering, view),
        Opcode::ReduceWindow => reduce_window::step(lowering, view),
        Opcode::Gather | Opcode::Scatter => index::step(lowering, view),
        Opcode::RaggedDot => ragged_dot::step(lowering, view),
        Opcode::CustomCall => ragged_exchange::step(lowering, view),
        _ => moves::step(lowering, view)
            .or_else(|| exchange::kernel(lowering, view).map(|kind| lowering.step(view, kind))),
    }
}

fn is_collective(view: &OpView<'_>) -> bool {
    Opcode::of_view(view).facts().semantics(view) == Semantics::Collective
}
