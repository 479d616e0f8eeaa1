//! The block machine: fused elementwise operations and reductions in one pass over memory.
//!
//! A [`Program`] says what to compute over a space of indices; [`Program::compile`] gives a [`Kernel`] for that space.
//! [`machine`] interprets the kernel's code: its accumulator is eight vector registers, a *block* of lanes, and an instruction
//! costs about ten cycles besides its work, so a program runs nearly as fast as if it had been compiled.

mod bound;
mod emit;
mod kernel;
pub(crate) mod machine;
mod program;
#[cfg(test)]
pub(crate) mod tests;

pub use emit::Unfusable;
pub use kernel::{Kernel, Operand};
pub use program::{Binary, Comparison, Program, Reducer, Unary, Value};
