//! One binary for all integration tests of the crate.

mod assign;
mod factors;
mod project;
mod properties;
mod rule;
mod solve;
mod support;
