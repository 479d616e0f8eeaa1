//! Tests of the scheduler.

mod chapter;
mod filetests;
mod generated;
mod large;
mod loops;
mod mutants;
mod products;
mod programs;
