//! The partitioner, which turns a global program with shardings into the program of one device.
//!
//! Every stage is a pass from module to module, in one list ([`PASSES`]). The module after each stage can be printed,
//! parsed back, verified and run. `ARCHITECTURE.md` states what holds after each stage. The reason for each collective
//! is recorded when the collective is decided ([`shardwise_base::Reason`]), and [`Communication`] lists the collectives
//! with their reasons.
//!
//! No other crate turns global types into local types.
#![forbid(unsafe_code)]

pub mod axes;
mod carried;
pub mod cleanup;
pub mod collectives;
mod colour;
pub mod defer;
pub mod dense;
pub mod dequantize;
pub mod explain;
pub mod gspmd;
pub mod halo;
pub mod hlo;
pub mod hoist;
pub mod join;
mod kinds;
mod layouts;
mod live;
pub mod localize;
pub mod loops;
pub mod lower;
pub mod meshes;
pub mod pad;
mod pipeline;
pub mod plan;
mod processes;
mod reason;
mod remake;
pub mod reshard;
mod rewrite;
mod share;
pub mod simplify;
mod stages;
mod strategy;
mod summands;
mod trials;
mod turns;
pub mod uniform;
mod unshard;
pub mod warnings;

pub use explain::{Communication, Row, communication};
pub use halo::{STRATEGIES, bytes_exchanged, strategies};
pub use live::peak_bytes;
pub use pipeline::{
    Context, DumpHook, Options, PASSES, Partitioned, Pass, RunStep, Step, find, find_among, partition, prepare,
    run_passes, run_steps, run_until,
};
pub use stages::{Guarantee, verify_stage};
pub use strategy::{RunMode, run_modes};
pub use trials::Trials;
pub use unshard::unsharded;
