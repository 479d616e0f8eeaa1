//! Propagation of shardings, and the choice of the sharding with which an op runs: a library on factors and mesh axes
//! that depends on no IR and no op names.
//!
//! An op is treated as an einsum. Its [`Rule`] names the *factors* that the dimensions of its tensors consist of.
//! Through the rule, the sharding of any tensor is a list of axes for each factor, and the axes of one tensor's factor
//! can be applied to every tensor that has the factor:
//!
//! ```
//! use shardwise_sharding::Rule;
//! let matmul: Rule = "([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}".parse().unwrap();
//! // If the left operand is split over k by "x", the right operand's dimension 0 is split by "x" too.
//! assert_eq!(matmul.to_string(), "([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}");
//! ```
//!
//! The semantics of propagation ([`solve()`]) are Shardy's, including the order of work, because the results depend on
//! it. The choice for one op ([`assign()`]) and the layouts of results in types ([`explicit`]) are our own.
#![forbid(unsafe_code)]

mod assign;
mod axes;
mod builder;
pub mod cost;
mod direction;
pub mod explicit;
mod factors;
mod parse;
mod problem;
mod project;
mod rule;
mod schedule;
mod solve;
mod user_priority;

pub use assign::{
    AssignInput, Assignment, Exchanged, FactorConflict, KnownChoices, LeastPrice, Price, Prices, RunnerUp, assign,
    runner_up,
};
pub use axes::{AxisList, Prefix};
pub use builder::RuleBuilder;
pub use direction::Direction;
pub use factors::{Context, Strategy, Updated, compatible_major_axes, propagate};
pub use parse::RuleError;
pub use problem::{ManualEdge, Node, NodeId, OpClass, Origin, Problem, Tensor, TensorId, Wakes};
pub use project::{DimAxes, FactorSharding, IfMissing, Projection, TensorFactors, gcd};
pub use rule::{DimFactors, Factor, FactorKind, FactorSpec, Mapping, Rule};
pub use solve::{Options, Stats, solve};
