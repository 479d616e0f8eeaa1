//! Helpers for the tests of several crates: filetests, the programs under `testdata/`, and broken texts.
#![forbid(unsafe_code)]

mod corpus;
mod filetest;
mod mutate;

pub use corpus::{Program, corpus};
pub use filetest::check_filetests;
pub use mutate::Mutator;
