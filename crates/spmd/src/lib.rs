//! The partitioner: from a global program with shardings to the program of one device.
//!
//! Every stage is a pass from module to module, in one list ([`PASSES`]): propagate, lower, reshard, collectives, pad,
//! localize, cleanup, schedule. Each can be printed, parsed back, verified and run; what holds after each stands in
//! `ARCHITECTURE.md`. Why each collective is there is recorded when it is decided ([`shardwise_base::Reason`]), and read
//! off the result as a table ([`Communication`]).
//!
//! This is the only place where global types become local.
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
pub mod shardy;
mod strategy;
pub mod uniform;
mod unshard;
pub mod warnings;

pub use explain::{Communication, Row, communication};
pub use pipeline::{DumpHook, Options, PASSES, Partitioned, Pass, partition, run_passes, run_until};
pub use strategy::{Way, ways};
pub use unshard::unsharded;
