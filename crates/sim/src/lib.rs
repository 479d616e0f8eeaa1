//! Machine models, and a simulator that predicts the timeline of a per-device program on them.
//!
//! A [`Machine`] is a table of constants with their sources. A [`Topology`] is a number of its chips and how they are
//! interconnected, or a number of devices on a host. [`simulate`] predicts when each op of a localized module runs on
//! one device of the topology, and when its collectives use the links. All devices run the same program, so one of them
//! stands for all. On a host, it predicts the instructions that the host runs for all devices.
//!
//! The crate knows no engine. What an op computes and moves are facts of the op; what a machine does in a second are
//! facts of the machine.
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod collective;
mod exchange;
mod frame;
mod fuse;
mod group;
mod host;
mod issue;
mod machine;
mod memory;
mod op;
mod order;
mod placement;
mod points;
mod rates;
mod relative;
mod route;
mod schedule;
mod simulate;
mod summary;
mod topology;
mod transfer;
mod turns;
mod uncertainty;

pub use host::{Subject, subject};
pub use issue::{Issue, Issued, Takes};
pub use machine::{Constants, Fact, Machine};
pub use op::is_product;
pub use points::{Accuracy, Point, points};
pub use relative::{rates, rates_on};
pub use schedule::LOOK_AHEAD;
pub use simulate::{Options, Overlap, issue, simulate};
pub use summary::Summary;
pub use topology::Topology;
pub use uncertainty::typical as typical_error;
