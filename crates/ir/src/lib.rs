//! One IR for tracing, propagation, partitioning, printing and execution: StableHLO's operations with Shardy's
//! shardings, in arenas with typed indices.
//!
//! This crate knows only two of the operations in functions: `func.return` and `func.call`. The meaning of an op is in
//! an [`OpTable`] that a crate above supplies (`shardwise-ops`). A [`Module`] holds functions. A [`Func`] owns a
//! [`Body`]: the arenas of its [`Value`]s, [`Op`]s and [`Region`]s. A region is a single block: arguments and a list of
//! ops that ends in a terminator. An op may use the values of the regions around it.
//!
//! Every value has a type and a location, and may have a sharding, varying axes, manual axes and padding.
//!
//! Most passes are functions from module to module. They build a new body with a [`Builder`] and copy what they keep
//! with a [`Cloner`].
#![forbid(unsafe_code)]

mod attr;
mod body;
mod builder;
mod cloner;
mod entity;
mod equal;
mod funcs;
mod hash;
mod manual;
mod module;
mod op_def;
pub mod rewrite;
pub mod symbols;
pub mod text;
mod ty;
mod uses;
mod verify;
mod view;

pub use attr::{Attr, Attrs};
pub use body::{Body, OpData, PaddedDim, RegionData, ValueData, ValueDef};
pub use builder::Builder;
pub use cloner::Cloner;
pub use entity::{FuncId, Op, OpCode, Region, Value};
pub use equal::difference;
pub use funcs::Funcs;
pub use manual::ManualAxes;
pub use module::{Func, FuncArgAttrs, GLOBAL_TYPE, Module, Visibility};
pub use op_def::{OpDef, OpTable, ValueNames};
pub use ty::{TensorParts, TensorType, Type};
pub use uses::{Use, Uses};
pub use verify::verify;
pub use view::OpView;

/// The most dimensions that a tensor may have: far beyond any use, and few enough that each has a factor in a rule.
pub const MAX_RANK: usize = 1024;

/// The largest nesting depth of regions inside of a function's own region. It limits the recursion of walks over
/// regions.
pub const MAX_REGION_DEPTH: usize = 128;
