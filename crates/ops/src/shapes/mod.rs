//! Constants, and ops that only move elements.

mod broadcast_in_dim;
mod concatenate;
mod constant;
mod dynamic_slice;
mod dynamic_update_slice;
mod iota;
mod join;
mod pad;
mod reshape;
mod resize;
mod reverse;
mod slice;
mod transpose;

pub use broadcast_in_dim::BroadcastInDim;
pub use concatenate::Concatenate;
pub(crate) use constant::unmarked;
pub use constant::{Constant, constant_operand, constant_value, known_operand};
pub use dynamic_slice::DynamicSlice;
pub(crate) use dynamic_slice::combine_parts;
pub use dynamic_update_slice::DynamicUpdateSlice;
pub use iota::Iota;
pub use join::Join;
pub use pad::Pad;
pub use reshape::Reshape;
pub use resize::Resize;
pub use reverse::Reverse;
pub use slice::Slice;
pub use transpose::Transpose;
