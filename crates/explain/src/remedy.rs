//! A change of one spec that saves communication, with its saving and its price.

use crate::Options;
use crate::difference::{BY_SOURCE, Delta, DeltaKind, deltas};
use crate::figures::{Effort, Figures, Key, Traffic, Version};
use crate::group::Group;
use crate::place::{Change, Place, Spec};
use crate::search::{Found, Trial};
use shardwise_base::{Loc, Sharding};
use shardwise_ir::{Module, TensorType};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// A change of one spec with which the program communicates less. The changed program was partitioned, and these are
/// its figures.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// The change. [`Change::apply`] makes the program whose figures are [`Remedy::after`].
    pub change: Change,
    /// The type of the value in the program. In a manual computation, it is the one of a device along the manual axes.
    pub ty: TensorType,
    /// The layout that the program states at this place, or `None` if it states none.
    pub stated: Option<Sharding>,
    /// The place in the source, with the name of an argument.
    pub loc: Loc,
    /// The figures of the program without the change.
    pub before: Figures,
    /// The figures of the program with the change.
    pub after: Figures,
    /// The collectives that differ, matched by their sources.
    pub deltas: Vec<Delta>,
}

impl Remedy {
    /// Returns the bytes that the device that receives most no longer receives.
    pub fn bytes_saved(&self) -> u64 {
        self.before.bytes_received.saturating_sub(self.after.bytes_received)
    }

    /// Returns the bytes of memory that a device needs in addition, which are negative if it needs less.
    pub fn memory_price(&self) -> i64 {
        let more = i128::from(self.after.memory_bytes) - i128::from(self.before.memory_bytes);
        more.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Returns true if each device computes over 1 % more than before: work is replicated.
    pub fn replicates_work(&self) -> bool {
        self.after.computes_more(&self.before)
    }

    /// Predicts the time with the change again, with as much effort as for the program without it. Leaves the figures
    /// as they are if the changed program cannot be scheduled, which was possible in its trial.
    pub(crate) fn schedule(&mut self, program: &Module, options: &Options) {
        if let Ok(version) = Version::of(&self.change.apply(program), options, Effort::Full) {
            self.after = version.figures;
        }
    }

    fn of(trial: &Trial, now: &Version) -> Remedy {
        let Spec { ty, stated, loc, .. } = trial.spec.clone();
        let mut deltas = deltas(&now.traffic, &trial.traffic, BY_SOURCE);
        deltas.retain(|delta| delta.kind() != DeltaKind::Stays);
        let (before, after) = (now.figures, trial.figures);
        Remedy { change: trial.change.clone(), ty, stated, loc, before, after, deltas }
    }
}

/// The remedies of a program, each once, and which of them are best for the whole program.
pub(crate) struct Remedies {
    pub all: Vec<Remedy>,
    pub best: Option<usize>,
    pub with_more_work: Option<usize>,
}

pub(crate) fn choose(found: &Found, now: &Version, groups: &mut [Group]) -> Remedies {
    let good: Vec<&Trial> = found.trials.iter().filter(|trial| trial.figures.improves(&now.figures)).collect();
    let works_more = |trial: &Trial| trial.figures.computes_more(&now.figures);
    let mut chosen: Vec<&Trial> = vec![];
    let best = good.iter().filter(|trial| !works_more(trial)).min_by(|a, b| cheaper(a, b)).copied();
    let least = good.iter().min_by(|a, b| cheaper(a, b)).copied();
    let saves_more = |trial: &&Trial| best.is_none_or(|best| trial.figures.improves(&best.figures));
    let with_more_work = least.filter(|trial| works_more(trial)).filter(saves_more);
    let best = best.map(|trial| index_in(&mut chosen, trial));
    let with_more_work = with_more_work.map(|trial| index_in(&mut chosen, trial));
    for group in groups {
        let keys = group.keys();
        let before = bytes_of(&keys, &now.traffic);
        let helps = |trial: &&&Trial| bytes_of(&keys, &trial.traffic) < before;
        let rank = |trial: &Trial| (works_more(trial), bytes_of(&keys, &trial.traffic));
        let order = |a: &&&Trial, b: &&&Trial| rank(a).cmp(&rank(b)).then_with(|| cheaper(a, b));
        group.remedy = good.iter().filter(helps).min_by(order).map(|trial| index_in(&mut chosen, trial));
    }
    let all = chosen.into_iter().map(|trial| Remedy::of(trial, now)).collect();
    Remedies { all, best, with_more_work }
}

/// Compares two changes by their cost. Of equal ones, a change of a spec comes before a new constraint, and a stated
/// layout before none.
fn cheaper(a: &Trial, b: &Trial) -> Ordering {
    let effort = |trial: &Trial| (matches!(trial.change.place, Place::After(..)), trial.change.layout.is_none());
    a.figures.cmp_cost(&b.figures).then_with(|| effort(a).cmp(&effort(b)))
}

fn bytes_of(keys: &[Key], traffic: &BTreeMap<Key, Traffic>) -> u64 {
    keys.iter().filter_map(|key| traffic.get(key)).map(|sum| sum.bytes_received).fold(0, u64::saturating_add)
}

fn index_in<'a>(chosen: &mut Vec<&'a Trial>, trial: &'a Trial) -> usize {
    let known = chosen.iter().position(|other| std::ptr::eq(*other, trial));
    known.unwrap_or_else(|| {
        chosen.push(trial);
        chosen.len() - 1
    })
}
