//! The embedded engine: kernels, memory and workers for the cores of this machine.
//!
//! [`HostEngine`] compiles a localized module to one program for all devices (`gang`). Ops become steps, with kernels
//! from one table (`kernels`). The modules below that do not depend on the IR: [`memory`] allocates buffers, [`pool`]
//! runs the parts of a kernel, and [`block`] programs are fused elementwise operations and reductions.
//!
//! **A result never depends on timing or on the number of workers.** Every kernel is divided into parts by its shape
//! alone, and a sum over several parts has a fixed order (`shardwise_mathfn::order`).
#![deny(unsafe_code)]

pub mod block;
pub mod collective;
pub mod elem;
mod engine;
mod functions;
mod gang;
mod kernels;
pub mod matmul;
pub mod memory;
pub mod movement;
pub mod operand;
pub mod parts;
mod plan;
pub mod pool;
pub mod simd;
mod sync;

pub use engine::HostEngine;
