//! The gang plan: one program for all devices.
//!
//! A localized module becomes a single list of [`Step`]s. A value of the module is a *slot* with one buffer for each
//! *instance*: each point of the mesh axes over which it varies. A value that is equal on eight devices is computed
//! once and stored once. A collective is a step that reads several instances and writes each result once. A permutation
//! moves pointers. There are no device threads, so nothing can block or wait.
//!
//! [`lower()`] builds a plan, [`check()`] checks it, and [`Run`] executes it. The types of plans are in `plan`.
#![forbid(unsafe_code)]

mod check;
mod fallback;
mod literal;
mod lower;
mod run;
mod times;

pub use check::check;
pub use literal::fill;
pub use lower::{Options, lower};
pub use run::Run;
pub use run::predict::{Given, Predicted};
pub use times::StepTimes;
