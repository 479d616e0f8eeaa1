//! Searches for layouts with which a function still fits into memory.
//!
//! A layout that saves communication may take more memory. A search first lets all shards grow. If the function then
//! takes too much memory, those shards stay small that are held where it takes most, the largest ones first, and the
//! search goes on with the others.

use super::price::{Layout, Prices};
use super::search::{Left, Limits, most_work, search};
use super::sites::{Group, Sites};
use crate::hoist::ROOM;
use crate::live::Lives;
use crate::plan::local_bytes;
use rustc_hash::FxHashMap;
use shardwise_base::{EntityVec, Sharding};
use shardwise_ir::{Func, Value};
use std::cmp::Reverse;

/// The part by which the estimated memory may grow, if it grows by more than [`ROOM`].
const MORE_MEMORY: f64 = 0.05;

/// The largest number of searches, of which the last one lets no shard grow.
const MAX_SEARCHES: usize = 8;

/// The memory that a function takes, by an estimate.
pub(super) struct Memory<'a> {
    func: &'a Func,
    sites: &'a Sites,
    /// The lives of the function's values, which do not depend on layouts, and the most memory that the function may
    /// take.
    limit: Option<(Lives, u64)>,
}

impl<'a> Memory<'a> {
    /// Returns the memory of a function with these sites. It may grow a little above what the function takes now.
    pub fn new(func: &'a Func, sites: &'a Sites) -> Memory<'a> {
        Memory { func, sites, limit: None }
    }

    /// Returns the function with other layouts of some groups.
    pub fn func_with(&self, changes: &[(Group, Sharding)]) -> Func {
        let mut out = self.func.clone();
        for (group, layout) in changes {
            for &v in &self.sites.groups[*group].values {
                out.body.value_mut(v).sharding = Some(layout.clone());
            }
        }
        out
    }

    /// Returns by how many bytes the function takes too much memory with other layouts of some groups, and the values
    /// that are held where it takes most. Returns `None` if it does not take too much.
    fn excess(&mut self, changes: &[(Group, Sharding)]) -> Option<(u64, Vec<Value>)> {
        if changes.is_empty() {
            return None;
        }
        let (body, out) = (&self.func.body, self.func_with(changes));
        let (lives, limit) = self.limit.get_or_insert_with(|| {
            let lives = Lives::compute(body);
            let peak = lives.peak(body, body.entry());
            (lives, peak.saturating_add(ROOM.max((peak as f64 * MORE_MEMORY) as u64)))
        });
        let excess = lives.peak(&out.body, body.entry()).checked_sub(*limit).filter(|&excess| excess > 0)?;
        Some((excess, lives.held_at_peak(&out.body, body.entry())))
    }
}

/// Searches for layouts with which the function costs less and still fits into memory, and changes `prices` to them.
/// These may be the prices of the function's sites or of those that stand for them. `changes` returns what the present
/// layouts change in the function. Returns what was left when the budget of the last search ended, or `None` if it did
/// not end. The present layouts stay if no search finds ones that fit, or if those that fit do not cost less, receive
/// more or need too much work.
pub(super) fn search_within(
    memory: &mut Memory<'_>,
    prices: &mut Prices<'_>,
    limits: Limits,
    changes: impl Fn(&Prices<'_>) -> Vec<(Group, Sharding)>,
) -> Option<Left> {
    let (first, before) = (prices.all_current().clone(), (prices.total(), prices.all_received()));
    let mut stay_small = EntityVec::filled(prices.sites.groups.len(), false);
    for number in 1..=MAX_SEARCHES {
        if number == MAX_SEARCHES {
            prices.set_all(&first);
            stay_small.iter_mut().for_each(|group| *group = true);
        }
        // What an earlier search looked at takes little effort.
        let left = search(prices, Limits { effort: limits.effort / number, ..limits }, &stay_small);
        let Some((excess, held)) = memory.excess(&changes(prices)) else {
            let is_better = prices.total() < before.0 && prices.all_received() <= before.1;
            if !is_better || prices.work() > most_work(prices) {
                prices.set_all(&first);
            }
            return left;
        };
        let mut shrunk = 0;
        for (group, bytes) in grown(prices, &first, &held) {
            if shrunk >= excess {
                break;
            }
            stay_small[group] = true;
            prices.set(group, first[group]);
            shrunk += bytes;
        }
    }
    prices.set_all(&first);
    None
}

/// Returns the groups of these values whose shards are larger than with the layouts `first`, and by how many bytes all
/// these values are larger, the largest first.
fn grown(prices: &Prices<'_>, first: &EntityVec<Group, Layout>, values: &[Value]) -> Vec<(Group, u64)> {
    let mut found: FxHashMap<Group, u64> = FxHashMap::default();
    for group in values.iter().filter_map(|&v| prices.sites.group(v)) {
        let ty = prices.ty(group);
        let [before, now] =
            [first[group], prices.current(group)].map(|l| local_bytes(prices.layout(l), &ty.shape, ty.dtype));
        *found.entry(group).or_default() += now.saturating_sub(before);
    }
    let mut found: Vec<(Group, u64)> = found.into_iter().filter(|(_, bytes)| *bytes > 0).collect();
    found.sort_unstable_by_key(|&(group, bytes)| (Reverse(bytes), group));
    found
}
