//! The gang plan: one program for all devices.
//!
//! A localized module becomes a single list of [`Step`]s. A value of the module is a *slot* with one buffer for each
//! *instance*: each point of the mesh axes over which it varies. A value that is equal on eight devices is computed
//! once and stored once. A collective is a step that reads several instances and writes each result once. A permutation
//! moves pointers. There are no device threads, so nothing can block or wait.
//!
//! [`plan`] has the types, [`lower`] builds a plan, [`check`] checks it, [`run`] executes it, and [`points`] has the
//! arithmetic of instances.
#![forbid(unsafe_code)]

mod check;
mod fallback;
pub mod lower;
pub mod plan;
pub mod points;
pub mod run;

pub use check::check;
pub use lower::lower;
pub use plan::{Code, Input, Kernel, KernelCx, Members, Plan, Step, StepKind};
pub use points::Points;
