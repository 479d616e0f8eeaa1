//! Helpers for tests and tools: generated programs, how they are run and compared, and mutants of partitioned programs.
#![forbid(unsafe_code)]

pub mod calculus;
pub mod choose;
pub mod coverage;
#[cfg(test)]
mod flow;
pub mod fuzz;
pub mod generate;
#[cfg(test)]
mod memory;
pub mod mutate;
#[cfg(test)]
mod profiles;
mod program;
#[cfg(test)]
mod promoted;
pub mod run;
pub mod single;
#[cfg(test)]
mod types;
