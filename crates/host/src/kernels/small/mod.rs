//! Runs of ops on small arrays, which become one step: a small program ([`crate::small`]).
//!
//! A run is built op by op, in the order of the block. It is placed before the first step that reads one of its
//! results, or directly after the first op of the run that reads a large array, if that is earlier. An op may join it
//! if all that the op reads is computed before that place. `builder` holds the program and the places of its values,
//! `elements`, `complex`, `moves` and `indexed` add single ops, `ops` adds any op, also loops and branches, and `runs`
//! finds the runs of a block.

mod builder;
mod complex;
mod elements;
mod indexed;
mod moves;
mod ops;
mod runs;
mod step;
#[cfg(test)]
mod tests;

pub use runs::runs;
pub use step::step;
