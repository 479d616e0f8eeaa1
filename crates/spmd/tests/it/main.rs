//! Integration tests of the partitioner.

mod chapter;
mod generate;
mod random_programs;
mod uniformity;
