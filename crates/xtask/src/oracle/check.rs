//! The checks that each program goes through, and how they ended.

use std::collections::BTreeMap;

/// What is compared with what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// `shardwise run --engine host`: JAX's values
    Host,
    /// `shardwise run --engine interp`: JAX's values
    Interp,
    /// `shardwise propagate`: Shardy's shardings
    Propagate,
    /// `shardwise partition --replica-groups dense`: jaxlib parses and verifies it
    Verify,
    /// The same, run in jaxlib's interpreter on one process for each device: JAX's values
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

/// How a check ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Passed,
    /// With one line that says why.
    Failed(String),
}

/// By program (its index) and check. A check without an entry could not be tried, because one before it failed.
pub type Verdicts = BTreeMap<(usize, Check), Verdict>;
