//! Fusion: elementwise ops, and the reductions and broadcasts between them, become one block program.
//!
//! A group grows backwards from its root: a producer may join if all its uses are in the group. Views (broadcasts,
//! transposes, slices, reversals, reshapes that only add or drop dimensions of size 1) are read through. A value is
//! emitted *at an access*, which states for each of its dimensions the index of the program's space that the dimension
//! follows, and a view only changes the access. A broadcast row is therefore an operand with stride 0, and a view is
//! dead if all its users read through it.

mod access;
mod emit;
mod groups;
mod ops;
mod step;
mod views;

pub use access::{Access, broadcast, is_trivial_reshape, reshape, reverse, slice, transpose};
pub use emit::{region_value, repeated_region, scalar_region};
pub use groups::{Group, groups};
pub use ops::*;
pub use step::step;
pub use views::{is_view, view_strides};
