//! The kernel table: which ops have a kernel of their own, and how ops are fused into one.
//!
//! One file for each kind of kernel; each looks at an op and answers with a [`Kernel`](crate::gang::Kernel), or with none,
//! so that the op's reference evaluation runs.

mod exchange;
mod fuse;
mod fused;

pub use fuse::{Group, groups};
pub use fused::step as fused_step;

use crate::gang::StepKind;
use crate::gang::lower::Lowering;
use shardwise_ir::OpView;

/// The kernel of an op; `None`: its reference evaluation runs.
pub fn kernel(lowering: &Lowering<'_>, view: &OpView<'_>) -> Option<StepKind> {
    exchange::kernel(lowering, view)
}
