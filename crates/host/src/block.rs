//! The block machine: fused elementwise operations and reductions in one pass over memory.
//!
//! A [`Program`] states what to compute over a space of indices, and [`Program::compile`] returns a [`Kernel`] for that
//! space. `machine` interprets the kernel's code. Its accumulator is eight vector registers, a *block* of lanes. An
//! instruction costs about ten cycles besides its work, so a program runs nearly as fast as compiled code.

mod bound;
mod emit;
mod fold;
pub(crate) mod functions;
mod kernel;
pub(crate) mod lanes;
pub(crate) mod machine;
#[cfg(target_arch = "x86_64")]
mod native;
pub(crate) mod program;
mod results;
mod stages;
#[cfg(test)]
pub(crate) mod tests;
mod tiles;

pub(crate) use bound::offset;
pub(crate) use emit::SHORT_ROW;
pub use kernel::{Kernel, Operand};
pub use program::{Binary, Comparison, Program, Reducer, Unary, Value};
