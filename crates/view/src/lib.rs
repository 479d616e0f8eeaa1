//! Timelines: what each device, worker and link does at each time of a run of a program.
//!
//! There are two makers of a [`Timeline`]: an engine that measures a run, and the simulator that predicts one. Both
//! have the same tables, files and pictures. This crate knows neither of them, and no op.
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod chrome;
mod diff;
mod facts;
mod instructions;
mod measures;
mod nesting;
mod page;
mod perfetto;
mod save;
mod table;
mod text;
mod timeline;
mod xspace;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod tests;

pub use diff::{Diff, DiffRow};
pub use instructions::{Instruction, InstructionKey};
pub use save::Format;
pub use timeline::{
    Lane, LaneIndex, LaneKind, Maker, MemoryPart, MemoryUse, Picoseconds, Span, SpanIndex, SpanKind, Timeline, Work,
};
