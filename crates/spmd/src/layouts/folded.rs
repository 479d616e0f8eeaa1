//! Functions that repeat themselves, such as those with many equal layers.
//!
//! Sites with equal [surroundings](surroundings) have equal prices, and a change of layouts that pays off at one of
//! them pays off at all. [`Folded`] has one site for each set of such sites, with its price as many times. A search
//! over it changes all layers at once, and takes as long as a search over one or two of them.

use super::memory::{Memory, search_within};
use super::price::{Layout, Prices};
use super::search::{Limits, most_work};
use super::sites::{Class, Group, Site, SiteData, SiteKind, Sites, Source, Target};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use shardwise_base::{EntityVec, Sharding};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// How far the surroundings of a site reach, in sites.
const RADIUS: usize = 4;

/// The largest part of a function's sites that a folded function may have.
const MOST_SITES: f64 = 0.5;

/// The outcome of a search over a folded function.
pub(super) struct Outcome {
    /// True if the layouts changed.
    pub is_better: bool,
    /// True if the search ended with its budget.
    pub is_cut: bool,
}

/// Folds the function and searches for layouts of the folded one. Changes `prices` to these layouts if the whole
/// function then costs less, receives no more, does at most [`most_work`], and fits into memory. `propagated` are the
/// layouts of the function of `memory`. Returns `None` if the function does not repeat itself ([`Folded::of`]).
pub(super) fn search_folded(
    memory: &mut Memory<'_>,
    prices: &mut Prices<'_>,
    propagated: &EntityVec<Group, Layout>,
    limits: Limits,
) -> Option<Outcome> {
    let folded = Folded::of(prices)?;
    let known = prices.shardings_since(propagated);
    let current = |members: &Vec<Group>| prices.layout(prices.current(members[0])).clone();
    let layouts: Vec<Sharding> = folded.members.iter().map(current).collect();
    let mut inner = prices.of_sites(&folded.sites);
    inner.set_shardings(folded.sites.groups.keys().zip(layouts));
    let first = inner.all_current().clone();
    let unfolded = |inner: &Prices<'_>| folded.unfolded(&inner.shardings_since(&first));
    // What the folded function changes is changed in addition to what is changed already.
    let left = search_within(memory, &mut inner, limits, |inner| [known.clone(), unfolded(inner)].concat());
    let changes = unfolded(&inner);
    let (layouts, total, received) = (prices.all_current().clone(), prices.total(), prices.all_received());
    prices.set_shardings(changes);
    let is_better = prices.total() < total && prices.all_received() <= received && prices.work() <= most_work(prices);
    if !is_better {
        prices.set_all(&layouts);
    }
    Some(Outcome { is_better, is_cut: left.is_some() })
}

/// A function with one site in place of all sites with equal surroundings, and with one group in place of all groups
/// at which these are equal. All these groups have one layout, as the values that a loop carries have.
pub(super) struct Folded {
    pub sites: Sites,
    /// The groups of the function for which each group of the folded function stands.
    members: EntityVec<Group, Vec<Group>>,
}

/// Sites with equal surroundings.
struct Set {
    first: Site,
    count: u64,
    /// For each group of the first site, the number of groups that the sites have in its place.
    group_counts: SmallVec<[u64; 4]>,
}

impl Folded {
    /// Returns the folded function under the current layouts, or `None` if it has more than [`MOST_SITES`] of the
    /// function's sites.
    pub fn of(prices: &Prices<'_>) -> Option<Folded> {
        let all = prices.sites;
        let (sets, group_of) = sets(all, &surroundings(prices));
        if sets.len() as f64 > all.sites.len() as f64 * MOST_SITES {
            return None;
        }
        let mut members: EntityVec<Group, Vec<Group>> = EntityVec::new();
        let mut numbers: EntityVec<Group, Option<Group>> = EntityVec::filled(all.groups.len(), None);
        let mut number = |group: Group| {
            let number = *numbers[group_of[group]].get_or_insert_with(|| members.push(vec![]));
            members[number].push(group);
            number
        };
        let group_of: EntityVec<Group, Group> = all.groups.keys().map(&mut number).collect();
        let mut fold = Fold { all, members: &members, group_of: &group_of, classes: FxHashMap::default() };
        let sites = sets.iter().map(|set| fold.site(set)).collect();
        let groups = members.iter().map(|members| all.groups[members[0]].without_sites()).collect();
        Some(Folded { sites: all.regrouped(groups, sites, &group_of), members })
    }

    /// Returns changes of the folded function for all groups of the function.
    pub fn unfolded(&self, changes: &[(Group, Sharding)]) -> Vec<(Group, Sharding)> {
        let members = |group: Group| self.members[group].iter().copied();
        changes.iter().flat_map(|(group, layout)| members(*group).map(move |m| (m, layout.clone()))).collect()
    }
}

/// Returns the sets of sites with equal surroundings, and for each group the first one of those that must have its
/// layout, because sites of one set have them in the same place.
fn sets(all: &Sites, surroundings: &EntityVec<Site, u64>) -> (Vec<Set>, EntityVec<Group, Group>) {
    let mut known: FxHashMap<(u64, Class), usize> = FxHashMap::default();
    let mut sets: Vec<Set> = vec![];
    let mut seen: FxHashSet<(usize, usize, Group)> = FxHashSet::default();
    let mut tied: EntityVec<Group, Group> = all.groups.keys().collect();
    for (site, data) in all.sites.keys().zip(all.sites.iter()) {
        let number = *known.entry((surroundings[site], data.class)).or_insert(sets.len());
        if number == sets.len() {
            sets.push(Set { first: site, count: 0, group_counts: data.groups.iter().map(|_| 0).collect() });
        }
        let set = &mut sets[number];
        set.count += 1;
        for (at, group) in data.groups.iter().enumerate().filter_map(|(at, g)| Some((at, (*g)?))) {
            set.group_counts[at] += u64::from(seen.insert((number, at, group)));
            let first = all.sites[set.first].groups[at].expect("sites of one class have groups at the same places");
            tie(&mut tied, first, group);
        }
    }
    let group_of = all.groups.keys().map(|group| root(&mut tied, group)).collect();
    (sets, group_of)
}

/// Joins the sets of two groups. `tied` has for each group an earlier one of its set, or the group itself if it is the
/// first.
fn tie(tied: &mut EntityVec<Group, Group>, a: Group, b: Group) {
    let (a, b) = (root(tied, a), root(tied, b));
    tied[a.max(b)] = a.min(b);
}

/// Returns the first group of a group's set.
fn root(tied: &mut EntityVec<Group, Group>, mut group: Group) -> Group {
    while tied[group] != group {
        tied[group] = tied[tied[group]];
        group = tied[group];
    }
    group
}

struct Fold<'a> {
    all: &'a Sites,
    members: &'a EntityVec<Group, Vec<Group>>,
    group_of: &'a EntityVec<Group, Group>,
    /// The classes of sites that stand for others, by the class of these and how often the site and its moves run.
    classes: FxHashMap<(Class, u64, SmallVec<[u64; 3]>), Class>,
}

impl Fold<'_> {
    /// Returns the site that stands for a set. Where the sites of the set read one value, they share moves.
    fn site(&mut self, set: &Set) -> SiteData {
        let first = &self.all.sites[set.first];
        let of = |group: Group| self.group_of[group];
        let source = |(at, source): (usize, &Source)| {
            let Some(group) = first.groups[at] else { return *source };
            let values = |g: Group| &self.all.groups[g].values;
            let position = values(group).iter().position(|v| *v == source.value).expect("the value is in its group");
            let value = values(self.members[of(group)][0]).get(position).copied().unwrap_or(source.value);
            Source { value, runs: source.runs.saturating_mul(set.group_counts[at]) }
        };
        let sources: SmallVec<[Source; 3]> = first.sources.iter().enumerate().map(source).collect();
        let kind = match &first.kind {
            SiteKind::Edge { from, to: Target::Group(to), is_zeros } => {
                SiteKind::Edge { from: *from, to: Target::Group(of(*to)), is_zeros: *is_zeros }
            }
            kind => kind.clone(),
        };
        let runs = first.runs.saturating_mul(set.count);
        let next = Class::new(self.classes.len());
        let key = (first.class, runs, sources.iter().map(|s| s.runs).collect());
        let class = *self.classes.entry(key).or_insert(next);
        SiteData { kind, class, runs, groups: first.groups.iter().map(|g| g.map(of)).collect(), sources }
    }
}

/// Returns for each site a number that is equal for sites with equal surroundings: [`RADIUS`] steps around them, the
/// same is decided at the same prices.
pub(super) fn surroundings(prices: &Prices<'_>) -> EntityVec<Site, u64> {
    let sites = prices.sites;
    let flags = |g: Group| {
        let data = &sites.groups[g];
        (data.is_fixed, data.is_whole, data.is_copy)
    };
    let own = |s: Site| {
        let mut hasher = FxHasher::default();
        (prices.fingerprint(s), prices.first_shards(s)).hash(&mut hasher);
        sites.sites[s].groups.iter().for_each(|g| g.map(flags).hash(&mut hasher));
        hasher.finish()
    };
    let mut known: EntityVec<Site, u64> = sites.sites.keys().map(own).collect();
    for _ in 0..RADIUS {
        // The order of the sites around a value does not matter.
        let around = |g: Group| sites.groups[g].sites.iter().fold(0u64, |sum, &s| sum.wrapping_add(known[s]));
        let around: EntityVec<Group, u64> = sites.groups.keys().map(around).collect();
        let of = |s: Site| {
            let mut hasher = FxHasher::default();
            known[s].hash(&mut hasher);
            sites.sites[s].groups.iter().for_each(|g| g.map(|g| around[g]).hash(&mut hasher));
            hasher.finish()
        };
        known = sites.sites.keys().map(of).collect();
    }
    known
}
