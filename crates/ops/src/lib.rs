//! The op table: what every pass and engine needs to know of each op, and no algorithm.
//!
//! An op is a row: a name, and a [`Facts`] implementation that answers for it (often a family that answers for many:
//! all unary elementwise ops are one). Generic algorithms (propagation, partitioning, evaluation) read the facts and
//! never match on a name. Adding an op touches its file, one line of the table in `table.rs`, its line in
//! `syntax/mod.rs`, and a filetest.
#![forbid(unsafe_code)]

pub mod batch_norm;
mod build;
pub(crate) mod check;
pub(crate) mod eval;
mod evaluate;
pub mod expect;
mod facts;
mod inputs;
pub mod reducer;
mod result_labels;
#[cfg(test)]
pub(crate) mod shard_test;
mod table;

pub mod calls;
pub mod collective;
pub mod control;
pub mod dot;
pub mod dynamic;
pub mod elementwise;
pub mod fft;
pub mod index;
pub mod linalg;
pub mod make;
pub mod make_collective;
pub mod make_shardy;
pub mod promote;
pub mod quantized;
pub mod ragged;
pub mod random;
pub mod reduce;
pub mod scalar_ops;
pub mod scan;
pub mod shapes;
pub mod shardy;
pub mod sort;
pub mod structure;
pub mod syntax;
pub mod token;
pub mod user;
pub mod window;

pub use build::{build, build_as, infer};
pub use evaluate::{evaluate, infer_op};
pub use facts::{
    Combine, Cost, DataFlow, DataFlowEdge, Effects, EvalError, ExplicitPolicy, Facts, Linear, LocalizeCx, NoRegions,
    PropagationClass, ReduceKind, RegionEval, RuleFact, Semantics, is_zero,
};
pub use table::{OPS, Opcode};
