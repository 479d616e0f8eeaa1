//! Tests of the scheduler.

mod chapter;
mod programs;
