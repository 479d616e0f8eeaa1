//! Gather and scatter, which read and write slices at positions that other tensors contain.

mod bounds;
mod dims;
mod gather;
mod scatter;
#[cfg(test)]
mod tests;

pub use dims::IndexDims;
pub(crate) use dims::{GATHER_DIMENSIONS, SCATTER_DIMENSIONS, for_each_index};
pub use gather::Gather;
pub use scatter::{Scatter, idle_components, without_components};
