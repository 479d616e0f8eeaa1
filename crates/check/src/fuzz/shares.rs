//! The share of valid programs that must contain each op, each feature and each strategy by which ops run sharded, so
//! that a long run tests all of them often.

use crate::run;
use shardwise_base::{DType, Diagnostic};
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_ir::OpView;
use shardwise_ir::text::parse;
use shardwise_ops::{ExplicitPolicy, OPS, Opcode};
use shardwise_spmd::STRATEGIES;
use std::collections::BTreeMap;

/// Each op that the host engine runs must be in at least one of this many valid programs.
pub const PROGRAMS_PER_OP: u64 = 10_000;
/// Each feature must be in at least one of this many valid programs.
pub const PROGRAMS_PER_FEATURE: u64 = 50;

/// Each strategy must be that of an op in at least one of this many valid programs.
pub const PROGRAMS_PER_STRATEGY: u64 = 500;
/// Each special case of a strategy must be that of an op in at least one of this many valid programs.
pub const PROGRAMS_PER_SPECIAL_CASE: u64 = 5_000;

/// The features to which the share applies, beside the element types.
const FEATURES: &[&str] = &[
    "argument yields",
    "captured yields",
    "captures in reducers",
    "constant yields",
    "dead code",
    "duplicate operands",
    "duplicate yields",
    "loops in branches in manual computations",
    "promoted reductions",
    "several functions",
    "several meshes",
    "size 0",
    "size 1",
];

/// Returns the names of the features that a share of the valid programs must have. The names of all element types are
/// among them.
pub fn features() -> impl Iterator<Item = &'static str> {
    FEATURES.iter().copied().chain(DType::ALL.iter().map(|dtype| dtype.name()))
}

/// Returns the names of the strategies.
pub fn strategies() -> impl Iterator<Item = String> {
    STRATEGIES.iter().map(|(name, _)| name.to_string())
}

/// Returns the names of the strategies' special cases, as in `halo: uneven`.
pub fn special_cases() -> impl Iterator<Item = String> {
    STRATEGIES.iter().flat_map(|(name, cases)| cases.iter().map(move |case| format!("{name}: {case}")))
}

/// Returns the ops because of which the host engine refuses their partitioned examples, each with the reason that is
/// among its facts, or else a general one. No valid program contains them.
pub fn not_run() -> BTreeMap<Opcode, &'static str> {
    Opcode::ALL.iter().filter_map(|&op| Some((op, reason(op)?))).collect()
}

/// Returns the reason if the host engine refuses to compile the op's partitioned example because of the op itself: the
/// one among the op's facts, or else a general one. Otherwise, returns `None`, also if the example cannot be
/// partitioned.
fn reason(op: Opcode) -> Option<&'static str> {
    let module = parse("example", op.facts().example(op), &OPS).expect("the table's tests read every example");
    let partitioned = run::partitioned(&module).ok()?.module;
    let refused = HostEngine::default().compile(&partitioned).err()?;
    let is_op = |view: &OpView<'_>| Opcode::of_view(view) == op;
    let body = &partitioned.main()?.body;
    let view = body.walk().into_iter().map(|op| partitioned.view(body, op)).find(is_op)?;
    let is_about_it = |d: &Diagnostic| d.code == "op-unsupported" && d.loc == *view.loc();
    refused.iter().any(is_about_it).then(|| match op.facts().explicit(&view) {
        ExplicitPolicy::Not(reason) => reason,
        _ => "it needs another engine",
    })
}

/// Returns those of the names that are in less than one of `programs_per_name` programs, each with its number of
/// programs. `counts` has the number of programs of each name, and `all` is the number of all programs.
pub fn below_share<S>(counts: impl Iterator<Item = (S, u64)>, all: u64, programs_per_name: u64) -> Vec<(S, u64)> {
    counts.filter(|(_, n)| n * programs_per_name < all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::cases;
    use crate::program::program;

    #[test]
    fn programs_have_each_feature_often() {
        let all = cases(1000);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for seed in 0..all {
            program(seed).features.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
        }
        let of_features = features().map(|name| (name, counts.get(name).copied().unwrap_or(0)));
        assert_eq!(below_share(of_features, all, PROGRAMS_PER_FEATURE), []);
    }

    #[test]
    fn a_share_that_is_just_met_is_not_reported() {
        assert_eq!(below_share([("often", 2), ("seldom", 1)].into_iter(), 20, 10), [("seldom", 1)]);
    }
}
