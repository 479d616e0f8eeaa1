//! The embedded engine: kernels, memory and workers of this machine's cores.
//!
//! [`HostEngine`] plans a localized module as one program for all devices (`gang`): ops become steps, with kernels from one
//! table (`kernels`). Below that nothing knows the IR: [`memory`] gives buffers, [`pool`] runs the parts of a kernel, and
//! [`block`] programs are fused elementwise operations and reductions.
//!
//! The one rule: **a result never depends on timing or on the number of workers**. Every kernel is cut into parts by its
//! shape alone, and a sum that crosses parts has an order of its own (`shardwise_mathfn::order`).
#![deny(unsafe_code)]

pub mod block;
pub mod collective;
pub mod elem;
mod engine;
mod gang;
mod kernels;
pub mod matmul;
pub mod memory;
pub mod movement;
pub mod operand;
pub mod parts;
pub mod pool;
pub mod simd;
mod sync;

pub use engine::HostEngine;
