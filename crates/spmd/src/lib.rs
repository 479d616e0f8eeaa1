//! The partitioner, which turns a global program with shardings into the program of one device.
//!
//! Every stage is a pass from module to module, in one list ([`PASSES`]): propagate, lower, reshard, collectives, pad,
//! localize, cleanup, schedule, uniform. The module after each stage can be printed, parsed back, verified and run.
//! `ARCHITECTURE.md` states what holds after each stage. The reason for each collective is recorded when the collective
//! is decided ([`shardwise_base::Reason`]), and [`Communication`] lists the collectives with their reasons.
//!
//! No other crate turns global types into local types.
#![forbid(unsafe_code)]

pub mod cleanup;
pub mod collectives;
pub mod dense;
pub mod explain;
pub mod gspmd;
pub mod hlo;
mod imported;
pub mod localize;
pub mod loops;
pub mod lower;
pub mod meshes;
pub mod pad;
mod pipeline;
pub mod plan;
pub mod prepare;
mod processes;
pub mod propagate;
mod reason;
pub mod reshard;
mod rewrite;
pub mod schedule;
mod sdy;
mod sharding_groups;
pub mod shardy;
mod strategy;
pub mod uniform;
mod unshard;
pub mod warnings;

pub use explain::{Communication, Row, communication};
pub use pipeline::{DumpHook, Options, PASSES, Partitioned, Pass, partition, run_passes, run_until};
pub use strategy::{Way, ways};
pub use unshard::unsharded;
