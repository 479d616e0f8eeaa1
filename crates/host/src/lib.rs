//! The embedded engine: kernels, memory and workers for the cores of this machine.
//!
//! [`HostEngine`] compiles a localized module to one program for all devices. `plan` has the parts of such a program,
//! `kernels` builds the steps of ops from one table, and `gang` plans, checks and runs whole programs. These modules
//! depend on each other in this order only: `kernels` on `plan`, and `gang` on both.
//!
//! The modules below them do not depend on the IR: `memory` allocates buffers, [`pool`] runs the parts of a kernel,
//! `block` programs are fused elementwise operations and reductions, `small` programs are runs of ops on small arrays,
//! `matmul` multiplies matrices, and `movement` copies elements. [`pool`] is public for tests that check it under
//! faults.
//!
//! **A result never depends on timing or on the number of workers.** The parts into which a kernel is divided may
//! depend on the number of workers, but no sum does: a sum is computed in one part, or it is divided by the shape alone
//! and has a fixed order (`shardwise_mathfn::order`).
#![deny(unsafe_code)]

mod block;
mod collective;
mod elem;
mod engine;
mod gang;
mod instructions;
mod kernels;
mod matmul;
mod memory;
mod movement;
#[cfg(target_arch = "x86_64")]
mod native;
mod operand;
mod parts;
mod peak;
mod plan;
pub mod pool;
mod profile;
mod simd;
mod small;
mod sync;

pub use engine::HostEngine;
pub use instructions::instructions;
pub use peak::peak_flops;
