//! The checks of each program, and their outcomes.

use std::collections::BTreeMap;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Compare the values of `shardwise run --engine host` with JAX's
    Host,
    /// Compare the values of `shardwise run --engine interp` with JAX's
    Interp,
    /// Compare the shardings of `shardwise propagate` with Shardy's
    Propagate,
    /// Let jaxlib parse and verify the output of `shardwise partition --replica-groups dense`
    Verify,
    /// Run the output of `shardwise partition --replica-groups dense` in jaxlib's interpreter, on one process for each
    /// device, and compare the values with JAX's
    Interpret,
}

impl Check {
    pub const ALL: &'static [Check] = &[Check::Host, Check::Interp, Check::Propagate, Check::Verify, Check::Interpret];

    pub fn name(self) -> &'static str {
        match self {
            Check::Host => "host",
            Check::Interp => "interp",
            Check::Propagate => "propagate",
            Check::Verify => "verify",
            Check::Interpret => "interpret",
        }
    }
}

/// The outcome of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Passed,
    /// The check failed, for the reason in this line.
    Failed(String),
}

/// The verdicts by program (its index) and check. A check without an entry was not selected, could not be tried because
/// an earlier one failed, or does not apply to the program.
pub type Verdicts = BTreeMap<(usize, Check), Verdict>;
