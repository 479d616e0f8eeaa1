//! Tests of the scheduler.

mod chapter;
mod filetests;
mod generated;
mod loops;
mod products;
mod programs;
