//! The embedded engine: kernels, memory and workers of this machine's cores.
//!
//! This layer knows no IR. A plan drives it: [`memory`] gives buffers, [`pool`] runs the parts of a kernel, and the kernels
//! are [`block`] programs (fused elementwise operations and reductions), [`matmul`], [`movement`] and [`collective`].
//!
//! The one rule: **a result never depends on timing or on the number of workers**. Every kernel is cut into parts by its
//! shape alone, and a sum that crosses parts has an order of its own (`shardwise_mathfn::order`).

pub mod block;
pub mod collective;
pub mod elem;
pub mod matmul;
pub mod memory;
pub mod movement;
pub mod pool;
pub mod simd;
