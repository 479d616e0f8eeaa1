//! Integration tests of the partitioner.

mod generate;
mod random_programs;
