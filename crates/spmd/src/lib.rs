//! The partitioner: passes from a global program with shardings to the program of one device.
pub mod collectives;
pub mod lower;
pub mod plan;
pub mod propagate;
mod reason;
pub mod reshard;
mod rewrite;
mod sdy;
mod strategy;
