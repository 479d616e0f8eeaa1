//! Tests of predictions.

mod points;
mod programs;
mod seed;
