//! The order in which a program's ops are issued, for passes that write it into the program.

use shardwise_ir::{Op, Region};
use shardwise_view::{Picoseconds, Timeline};
use std::collections::BTreeMap;

/// A predicted timeline, with the order in which ops are issued.
#[derive(Clone, Debug)]
pub struct Issue {
    /// The timeline.
    pub timeline: Timeline,
    /// The ops that are issued in each block of the main function, without its terminator and without the blocks of
    /// reducers and asynchronous starts. A block of a loop has those of its last run that is listed. Blocks that never
    /// run are left out. If it is not known which of several branches runs, all of them are there.
    pub blocks: BTreeMap<Region, Vec<Issued>>,
}

/// Ops that are issued together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Issued {
    /// The ops, in program order. Only the results of the last one are used outside of them.
    pub ops: Vec<Op>,
    /// The resource that they take.
    pub takes: Takes,
    /// When they start.
    pub start: Picoseconds,
    /// When they end.
    pub end: Picoseconds,
    /// The time that a collective would take without any bytes. `None` for other ops, also for an `async_start`.
    pub latency: Option<Picoseconds>,
}

/// The resource that ops take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Nothing: they take no time.
    Nothing,
    /// Links, while the core runs other ops. Each `async_start` of a collective counts here.
    Links,
    /// The core, and for a collective that the core waits for, also links. An `async_start` of a slice, or of the
    /// update of one, counts here.
    Core,
}
