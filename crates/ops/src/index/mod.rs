//! Reading and writing slices at places that other tensors name: gather and scatter.

mod dims;
mod gather;
mod scatter;
#[cfg(test)]
mod tests;

pub use dims::IndexDims;
pub(crate) use dims::{GATHER_DIMENSIONS, SCATTER_DIMENSIONS, for_each_index};
pub use gather::Gather;
pub use scatter::Scatter;
