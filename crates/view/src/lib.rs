//! Timelines: what each device, worker and link does at each time of a run of a program. Pictures: which devices hold
//! which elements of an array.
//!
//! There are two makers of a [`Timeline`]: an engine that measures a run, and the simulator that predicts one. Both
//! have the same tables, files and pictures. This crate knows neither of them, and no op.
//!
//! A timeline prints as a table. [`Timeline::save`] writes it for Perfetto, for Chrome, for XProf, or as a page for any
//! browser. [`Timeline::diff`] compares two timelines by instruction.
//!
//! ```
//! use shardwise_view::{Lane, LaneKind, Maker, Span, SpanKind, Timeline};
//!
//! let mut timeline = Timeline::new("matmul.mlir", Maker::Predicted { machine: "TPU v5e 2x4".into() });
//! let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
//! let gather = timeline.spans.push(Span::new(core, "all_gather", SpanKind::Collective, 0..89_200_000));
//! let dot = Span::new(core, "dot_general", SpanKind::Compute, 89_200_000..311_700_000);
//! timeline.spans.push(Span { after: vec![gather], ..dot });
//!
//! assert_eq!(timeline.check(), Ok(()));
//! assert_eq!(timeline.exposed_communication(), 89_200_000);
//! assert!(timeline.to_string().contains("222.5 us"));
//! assert!(timeline.to_html(None).starts_with("<!DOCTYPE html>"));
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations)]

mod chrome;
mod diff;
mod facts;
mod instructions;
mod limits;
mod measures;
mod nesting;
mod page;
mod perfetto;
mod picture;
mod save;
mod table;
mod text;
mod timeline;
mod torus;
mod xspace;

#[cfg(test)]
mod generated;
#[cfg(test)]
mod tests;

pub use diff::{Diff, DiffRow};
pub use instructions::{Instruction, InstructionKey};
pub use limits::{Limits, MemoryLevel, PeakRate};
pub use picture::{Block, Chips, Picture, Style};
pub use save::{Format, check_path};
pub use timeline::{
    Lane, LaneIndex, LaneKind, Maker, MemoryPart, MemoryUse, Picoseconds, Span, SpanIndex, SpanKind, Timeline, Work,
};
pub use torus::Torus;
