//! The vocabulary that every shardwise crate shares: places in a source ([`Loc`]), messages about them
//! ([`Diagnostic`]), element types and values ([`DType`], [`Literal`]), and the words for laying arrays on devices
//! ([`Mesh`], [`AxisRef`], [`Sharding`], [`Varying`], [`Reason`]).
//!
//! It knows no IR: nothing here mentions an operation, a value of a program or a pass.
//!
//! The one idea: a value is a function of the mesh axes over which it varies. [`Varying`] states it, and axis lists,
//! never lists of device numbers, are what all the other types speak.
#![forbid(unsafe_code)]

mod axis;
pub mod budget;
pub mod compare;
mod data;
mod diag;
mod dtype;
pub mod file;
pub mod gspmd;
mod literal;
mod loc;
mod mesh;
pub mod philox;
mod quantized;
mod reason;
mod sharding;
pub mod small;
mod small_float;
mod suggest;
pub mod threefry;
mod varying;

pub use axis::{AxisIndex, AxisRef, SubAxis};
pub use budget::{Account, Budget, CancelToken, OutOfMemory, Reservation, Stop};
pub use data::Data;
pub use diag::{Diagnostic, Diagnostics, Note, NoteKind, Severity};
pub use dtype::{DType, Kind};
pub use literal::{Bool8, Element, Literal, LiteralError, LiteralWriter};
pub use loc::{FilePos, Loc, LocKind};
pub use mesh::{AxisKind, Communicate, Mesh, MeshAxis, MeshError, Positions, Topology};
pub use quantized::{BrokenConstraint, Quantized, QuantizedId, storage_range};
pub use reason::{Alternative, Reason, ReasonCause};
pub use sharding::{DimSharding, Sharding, ShardingParts};
pub use suggest::did_you_mean;
pub use varying::Varying;

pub use half::{bf16, f16};
pub use num_complex::{Complex32, Complex64};
