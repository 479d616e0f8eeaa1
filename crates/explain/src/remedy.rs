//! A change of one spec that saves communication, with its saving and its price.

use crate::Options;
use crate::difference::{BY_SOURCE, Delta, DeltaKind, deltas};
use crate::figures::{Figures, Key, Outcome, Traffic, Version};
use crate::group::Group;
use crate::place::{Change, Place, Spec};
use crate::search::{Found, Trial};
use shardwise_base::{Loc, Sharding};
use shardwise_ir::{Module, TensorType};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A change of one spec with which the program communicates less, and the figures of the changed program, which was
/// partitioned.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// The change. [`Change::apply`] makes the program whose figures are [`Remedy::after`].
    pub change: Change,
    /// The type of the value in the program. In a manual computation, it is the one of a device along the manual axes.
    pub ty: TensorType,
    /// The layout that the program states at this place, or `None` if it states none.
    pub stated: Option<Sharding>,
    /// The location of the place in the source. If the place is an argument with a name, this is the location's scope.
    pub loc: Loc,
    /// The figures of the program without the change.
    pub before: Figures,
    /// The figures of the program with the change.
    pub after: Figures,
    /// The collectives that vanish or appear with the change, or for which other numbers of bytes are received. They
    /// are matched by their sources.
    pub deltas: Vec<Delta>,
}

impl Remedy {
    /// Returns the bytes that the device that receives most receives less with the change.
    pub fn bytes_saved(&self) -> u64 {
        self.before.bytes_received.saturating_sub(self.after.bytes_received)
    }

    /// Returns the bytes of memory ([`Figures::memory_bytes`]) that are needed in addition with the change. They are
    /// negative if less is needed.
    pub fn memory_price(&self) -> i64 {
        let more = i128::from(self.after.memory_bytes) - i128::from(self.before.memory_bytes);
        more.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Returns true if a device computes over 1 % more with the change: work is replicated.
    pub fn replicates_work(&self) -> bool {
        self.after.computes_more(&self.before)
    }

    fn of(trial: &Trial, now: &Version) -> Remedy {
        let Spec { ty, stated, loc, .. } = trial.spec.clone();
        let mut deltas = deltas(&now.outcome.traffic, &trial.outcome.traffic, BY_SOURCE);
        deltas.retain(|delta| delta.kind() != DeltaKind::Stays);
        let (before, after) = (now.outcome.figures, trial.outcome.figures);
        Remedy { change: trial.change.clone(), ty, stated, loc, before, after, deltas }
    }
}

/// The remedies of a program, each once, and the indices of those that are best for the whole program.
pub(crate) struct Remedies {
    pub all: Vec<Remedy>,
    pub best: Option<usize>,
    pub with_more_work: Option<usize>,
}

/// Chooses the changes that are best for the whole program, and one for each group, whose [`Group::remedy`] it sets.
/// Before, it measures the chosen trials with full effort, and chooses again, until all that are chosen were measured.
pub(crate) fn choose(
    found: &mut Found,
    program: &Module,
    now: &Version,
    groups: &mut [Group],
    options: &Options,
) -> Remedies {
    let choice = loop {
        let choice = Choice::of(found, now, groups);
        let trials = choice.best.iter().chain(&choice.with_more_work).chain(choice.of_groups.iter().flatten());
        let Some(&next) = trials.into_iter().find(|&&at| !found.trials[at].is_measured) else { break choice };
        found.measure(next, program, options);
    };
    let mut chosen: Vec<usize> = vec![];
    let mut index = |trial: usize| {
        let known = chosen.iter().position(|&other| other == trial);
        known.unwrap_or_else(|| {
            chosen.push(trial);
            chosen.len() - 1
        })
    };
    let (best, with_more_work) = (choice.best.map(&mut index), choice.with_more_work.map(&mut index));
    for (group, trial) in groups.iter_mut().zip(choice.of_groups) {
        group.remedy = trial.map(&mut index);
    }
    let all = chosen.into_iter().map(|trial| Remedy::of(&found.trials[trial], now)).collect();
    Remedies { all, best, with_more_work }
}

/// Positions of trials: of the best change, of one with which devices compute more but which saves more, and of the
/// best change for each group.
struct Choice {
    best: Option<usize>,
    with_more_work: Option<usize>,
    of_groups: Vec<Option<usize>>,
}

impl Choice {
    fn of(found: &Found, now: &Version, groups: &[Group]) -> Choice {
        let before = |trial: &Trial| found.before(trial, now);
        let works_more = |trial: &Trial| trial.outcome.figures.computes_more(&before(trial).figures);
        let is_good = |(_, trial): &(usize, &Trial)| {
            found.may_choose(trial) && trial.outcome.figures.improves(&before(trial).figures)
        };
        let good: Vec<(usize, &Trial)> = found.trials.iter().enumerate().filter(is_good).collect();
        let by_cost = |a: &&(usize, &Trial), b: &&(usize, &Trial)| cheaper(a.1, b.1);
        let best = good.iter().filter(|(_, trial)| !works_more(trial)).min_by(by_cost);
        let least = good.iter().min_by(by_cost).filter(|(_, trial)| works_more(trial));
        let saves_more = |(_, trial): &&(usize, &Trial)| {
            best.is_none_or(|(_, best)| trial.outcome.figures.improves(&best.outcome.figures))
        };
        let of_group = |group: &Group| {
            let keys = group.keys();
            let left = |outcome: &Outcome| bytes_of(&keys, &outcome.traffic);
            let helps = |(_, trial): &&(usize, &Trial)| left(&trial.outcome) < left(before(trial));
            let rank = |trial: &Trial| (works_more(trial), left(&trial.outcome));
            let order =
                |a: &&(usize, &Trial), b: &&(usize, &Trial)| rank(a.1).cmp(&rank(b.1)).then_with(|| by_cost(a, b));
            good.iter().filter(helps).min_by(order).map(|(at, _)| *at)
        };
        Choice {
            best: best.map(|(at, _)| *at),
            with_more_work: least.filter(saves_more).map(|(at, _)| *at),
            of_groups: groups.iter().map(of_group).collect(),
        }
    }
}

/// Compares two changes by their cost. Of equal ones, a change of a spec comes before a new constraint, and a stated
/// layout before none.
fn cheaper(a: &Trial, b: &Trial) -> Ordering {
    let effort = |trial: &Trial| (matches!(trial.change.place, Place::After(..)), trial.change.layout.is_none());
    a.outcome.figures.cmp_cost(&b.outcome.figures).then_with(|| effort(a).cmp(&effort(b)))
}

fn bytes_of(keys: &[Key], traffic: &BTreeMap<Key, Traffic>) -> u64 {
    keys.iter().filter_map(|key| traffic.get(key)).map(|sum| sum.bytes_received).fold(0, u64::saturating_add)
}
