//! Checks for numbers that are not finite.

use crate::ambient::scoped;
use shardwise_engine::NumberChecks;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The numbers that end a run when an op makes them, for [`with_checks`]: the op has one in a result although none of
/// its operands has one. Constants are not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Checks {
    /// True if a NaN ends a run.
    pub nans: bool,
    /// True if an infinity ends a run.
    pub infs: bool,
}

impl Checks {
    /// Returns checks that refuse NaNs.
    pub fn nans() -> Checks {
        Checks { nans: true, infs: false }
    }

    /// Returns checks that refuse infinities.
    pub fn infs() -> Checks {
        Checks { nans: false, infs: true }
    }
}

/// The checks of the process. An environment variable `SHARDWISE_CHECK_NANS` or `SHARDWISE_CHECK_INFS` of `1` switches
/// one on from the start.
struct Switches {
    nans: AtomicBool,
    infs: AtomicBool,
}

static PROCESS: LazyLock<Switches> = LazyLock::new(|| {
    let is_on = |name: &str| AtomicBool::new(std::env::var(name).is_ok_and(|value| value == "1"));
    Switches { nans: is_on("SHARDWISE_CHECK_NANS"), infs: is_on("SHARDWISE_CHECK_INFS") }
});

scoped! {
    static CHECKS: Option<Checks> = None;
}

/// Switches the check for NaNs on or off in this process: with it, a run ends at the first op that makes a NaN although
/// none of its operands has one.
///
/// The error `not-finite` names the op, its line and name scope, the devices, and the number of elements. Programs run
/// slower with a check, because their ops are not fused. A check that is off costs nothing. The environment variable
/// `SHARDWISE_CHECK_NANS=1` switches it on from the start, and [`with_checks`] for a part of a program.
pub fn check_nans(is_on: bool) {
    PROCESS.nans.store(is_on, Relaxed);
}

/// Switches the check for infinities on or off, as [`check_nans`] does for NaNs. The environment variable is
/// `SHARDWISE_CHECK_INFS`.
pub fn check_infs(is_on: bool) {
    PROCESS.infs.store(is_on, Relaxed);
}

/// Runs `f` with these checks for the programs that this thread runs, in place of those of the process.
///
/// # Examples
///
/// ```
/// use shardwise::debug::{self, Checks};
/// use shardwise::prelude::*;
///
/// let f = jit(|x: &Array| (x.ln() * 2.0).exp());
/// let x = array(&[1.0f32, -1.0, 4.0]);
/// let error = debug::with_checks(Checks::nans(), || f(&x)).unwrap_err().to_string();
/// assert!(error.contains("`stablehlo.log` makes numbers that are NaN"), "{error}");
/// assert!(error.contains("1 of 3 elements"), "{error}");
/// assert!(f(&x).is_ok());
/// ```
pub fn with_checks<R>(checks: Checks, f: impl FnOnce() -> R) -> R {
    CHECKS.with(Some(checks), f)
}

pub(crate) fn checks() -> NumberChecks {
    match CHECKS.get() {
        Some(Checks { nans, infs }) => NumberChecks { nans, infs },
        None => NumberChecks { nans: PROCESS.nans.load(Relaxed), infs: PROCESS.infs.load(Relaxed) },
    }
}
