//! Tests of predictions.

mod programs;
mod seed;
