//! What tests share: a generator of programs, and mutants of partitioned programs.

pub mod choose;
pub mod generate;
pub mod mutate;
