//! The table of ops: the facts that every pass and engine needs to know of each op.
//!
//! An op is a row of the table in `table.rs`: a name, a [`Facts`] implementation, and a [`Schema`]. An implementation
//! often serves a family of ops, such as all unary elementwise ops. Generic algorithms (propagation, partitioning,
//! evaluation) read the facts and never match on a name. The facts and the schema of an op are in one file.
//! `docs/checklists/add-an-op.md` lists what else an op needs.
#![forbid(unsafe_code)]

pub mod approximate;
pub mod batch;
pub mod batch_norm;
mod build;
#[cfg(test)]
mod calculus_table_test;
#[cfg(test)]
mod calculus_test;
pub(crate) mod check;
pub mod derivative;
pub(crate) mod eval;
mod evaluate;
pub mod expansion;
pub mod expect;
mod facts;
mod foreign;
mod product;
pub mod reducer;
mod schema;
#[cfg(test)]
pub(crate) mod shard_test;
mod table;

pub mod calls;
pub mod collective;
pub mod control;
pub mod custom;
pub mod dot;
pub mod dynamic;
pub mod elementwise;
pub mod fft;
pub mod index;
pub mod inspect;
pub mod lapack;
pub mod linalg;
pub mod make;
pub mod make_collective;
pub mod make_shardy;
mod movement;
pub mod print;
pub mod promote;
pub mod quantized;
pub mod ragged;
pub mod random;
pub mod reduce;
pub mod remat;
pub mod scalar_ops;
pub mod scan;
pub mod shapes;
pub mod shardy;
pub mod sort;
mod sparse;
pub mod structure;
pub mod syntax;
pub mod token;
mod trip_count;
pub mod user;
pub mod window;

pub use build::{build, build_as, infer};
pub use evaluate::{evaluate, infer_op};
pub use facts::{
    Combine, Constness, Cost, DataFlow, DataFlowEdge, Effects, Enlarged, EvalError, ExplicitPolicy, Facts, IndexBound,
    Linear, LocalizeCx, NoRegions, PartialResult, Promoted, PropagationClass, ReadThrough, ReduceKind, Reducer,
    RegionEval, RuleFact, Semantics, Splits, is_zero, is_zeros,
};
pub use index::{idle_components, without_components};
pub use movement::{Blocks, Fill, Movement, Read, WindowsCx, WindowsDim};
pub use schema::{
    AttrKind, AttrSpec, Names, OnQuantized, Operands, Presence, QuantizedMove, QuantizedProduct, QuantizedSum,
    ResultAxis, ResultLabels, Role, Schema,
};
pub use shapes::{constant_operand, constant_value, known_operand};
pub use table::{OPS, Opcode};
