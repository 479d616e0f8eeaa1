//! Tests of predictions.

mod control;
mod corpus;
mod points;
mod programs;
mod seed;
