//! Runs of ops on small arrays, which become one step: a small program ([`crate::small`]).
//!
//! A run is built op by op, in the order of the block. It is placed before the first step that reads one of its results,
//! and an op may join it if all that the op reads is known there.

mod build;
mod moves;
mod runs;

pub use moves::{Build, alias, dot, dynamic_slice, dynamic_update_slice, movement};
pub use runs::{runs, step};
