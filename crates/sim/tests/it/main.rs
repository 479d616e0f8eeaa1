//! Tests of predictions.

mod control;
mod corpus;
mod pods;
mod points;
mod programs;
mod seed;
