//! The types that every shardwise crate shares: source locations ([`Loc`]), diagnostics ([`Diagnostic`]), element types
//! and values ([`DType`], [`Literal`]), and the types that describe how arrays are distributed over devices ([`Mesh`],
//! [`AxisRef`], [`Sharding`], [`Varying`], [`Reason`]).
//!
//! The crate does not depend on the IR: it has no types for operations, for values of a program or for passes.
//!
//! A value of a sharded program is a function of the mesh axes over which it varies. [`Varying`] is the set of these
//! axes. A [`Sharding`] is made of lists of axes too, and not of lists of device numbers.
#![forbid(unsafe_code)]

mod axis;
mod axis_set;
pub mod budget;
pub mod compare;
mod data;
mod diag;
pub mod display;
mod dtype;
mod entity;
pub mod file;
pub mod gspmd;
mod half_float;
mod literal;
mod loc;
mod mesh;
pub mod philox;
pub mod print;
mod printable;
mod quantized;
mod reason;
mod sharding;
pub mod small;
mod small_float;
mod suggest;
pub mod threefry;
mod varying;

pub use axis::{AxisIndex, AxisRef, SubAxis};
pub use axis_set::AxisSet;
pub use budget::{Account, Budget, CancelToken, OutOfMemory, Reservation, Stop};
pub use data::Data;
pub use diag::{Diagnostic, Diagnostics, Note, NoteKind, Severity, byte_size, counted, listed};
pub use dtype::{DType, DTypeKind};
pub use entity::{Entity, EntityVec};
pub use half_float::{bf16_nearest, f16_nearest};
pub use literal::{Bool8, Element, Literal, LiteralError, LiteralWriter, MAX_ELEMENTS};
pub use loc::{FilePos, Loc, LocKind, Metadata};
pub use mesh::{AxisKind, Communicate, Mesh, MeshAxis, MeshError, Positions, Rates, Topology};
pub use printable::printable;
pub use quantized::{BrokenConstraint, Quantized, QuantizedId, storage_range};
pub use reason::{Alternative, LayoutChange, Reason, ReasonCause, Reshard};
pub use sharding::{DimSharding, Sharding, ShardingParts};
pub use suggest::did_you_mean;
pub use varying::Varying;

pub use half::{bf16, f16};
pub use num_complex::{Complex32, Complex64};
