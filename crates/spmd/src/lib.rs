//! The partitioner: passes from a global program with shardings to the program of one device.
pub mod plan;
