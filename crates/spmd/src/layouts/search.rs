//! Changes layouts around the dearest sites.
//!
//! From a site, a change of one layout spreads: the sites next to it ask for other layouts in turn, the dearest first.
//! A layout in the middle of a chain costs more until the change has come to an end of the chain, so the spreading goes
//! on for some steps and is then taken back to where the price was lowest.
//!
//! A scan or a transform over a split dimension costs less at no single op if another dimension is split in its place,
//! but at all of them together. Such a trade of dimensions spreads to all values that can follow it.

use super::folded::surroundings;
use super::price::{Ask, Layout, Prices};
use super::sites::{Group, Site};
use crate::defer::is_wide;
use crate::strategy::Decision;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding, budget};
use shardwise_ir::OpView;
use shardwise_sharding::{AxisList, Factor, FactorKind, IfMissing, Rule, TensorFactors};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

/// The largest number of layouts that a stage with [`Stage::is_far`] changes one after the other, before it takes back
/// the changes after the lowest price.
const MAX_STEPS: usize = 64;

/// The largest number of layouts that a stage without [`Stage::is_far`] changes one after the other.
const FEW_STEPS: usize = 2;

/// The stages of a search, in order. Long chains of changes are tried first, because a short one that saves less can
/// rule out a long one that saves more. In a large function, the effort of the first stage is spent after few sites.
/// Short chains are then tried at all sites, and at last long ones again.
pub(super) const STAGES: [Stage; 3] =
    [Stage { is_far: true, effort: 0.3 }, Stage { is_far: false, effort: 0.6 }, Stage { is_far: true, effort: 1.0 }];

/// The stages of a search over a folded function, in order. It has few sites, so that short chains are tried at all of
/// them first, and the rest of the effort is for long ones.
pub(super) const STAGES_OF_FOLDED: [Stage; 2] =
    [Stage { is_far: false, effort: 0.3 }, Stage { is_far: true, effort: 1.0 }];

/// The limits of a stage.
#[derive(Clone, Copy)]
pub(super) struct Stage {
    /// True if up to [`MAX_STEPS`] layouts are changed one after the other, those that raise the price only when no
    /// other change is left. Otherwise [`FEW_STEPS`] layouts are changed, the dearest first.
    is_far: bool,
    /// The part of the effort of the whole search that is spent when the stage ends.
    effort: f64,
}

impl Stage {
    fn most_steps(self) -> usize {
        if self.is_far { MAX_STEPS } else { FEW_STEPS }
    }
}

/// The largest number of times that all stages are run, and of rounds over all sites in each stage.
const MAX_ROUNDS: usize = 3;

/// The part by which the work of all ops but products may grow.
const MORE_WORK: f64 = 0.05;

/// The price of the work by which a function may grow in addition to [`MORE_WORK`], however little work it has: a small
/// part of a microsecond.
const SOME_WORK: u64 = 256;

/// The part of the bytes that a trade of dimensions must save. What later passes share, hoist and defer is not in the
/// price, and matters more the more values change.
const SAVED_BY_TRADE: f64 = 0.125;

/// The largest effort of the trades of dimensions each time that the stages have been run. It is less if the search may
/// make less effort ([`Limits::effort`]).
const TRADE_EFFORT: usize = 20_000;

/// The largest effort of the moves of copies. It is less if the search may make less effort ([`Limits::effort`]).
const COPY_EFFORT: usize = 20_000;

/// The effort that a search may make ([`Prices::effort`]): for a function, and in addition for each of its sites.
/// Trades of dimensions and moves of copies may exceed it.
pub(crate) const MAX_EFFORT: (usize, usize) = (130_000, 4);

/// The limits of a search.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The largest effort that the search may make ([`Prices::effort`]).
    pub effort: usize,
    /// True if sums over devices are taken where they arise.
    pub keeps_sums: bool,
    /// The stages of the search: [`STAGES`], or [`STAGES_OF_FOLDED`].
    pub stages: &'static [Stage],
}

/// Changes the layouts of groups as long as the price falls. The shards of groups in `stay_small` do not grow. Returns
/// what was left when the budget of effort ended, or `None` if it did not end.
pub(super) fn search(prices: &mut Prices<'_>, limits: Limits, stay_small: &EntityVec<Group, bool>) -> Option<Left> {
    let mut search = Search {
        limits,
        stay_small,
        most_work: most_work(prices),
        effort_before: prices.effort,
        stage: limits.stages[0],
        moves_copies: false,
        is_cut: false,
        known: FxHashMap::default(),
        prices,
    };
    let left = search.run();
    search.move_copies();
    left
}

/// Returns the highest price of the work of all ops but products that layouts may have.
pub(super) fn most_work(prices: &Prices<'_>) -> u64 {
    ((prices.first_work as f64 * (1.0 + MORE_WORK)) as u64).saturating_add(SOME_WORK)
}

/// The sites that a search had left when its budget of effort ended.
pub(super) struct Left {
    /// The number of sites that move something and were not looked at to the end in the last round.
    pub site_count: usize,
    /// The number of sites that move something.
    pub of: usize,
    /// True if no earlier round of the same kind had looked at the sites that are left.
    pub is_first_round: bool,
}

struct Round {
    /// True if the price fell, so that another round may find more.
    is_better: bool,
    /// The number of sites that are left, and of all sites of the round, if the effort of the stage is spent.
    left: Option<(usize, usize)>,
}

pub(super) type Change = (Group, Layout);

struct Search<'p, 'a> {
    prices: &'p mut Prices<'a>,
    limits: Limits,
    /// True for the groups whose shards must not grow.
    stay_small: &'p EntityVec<Group, bool>,
    /// The highest price that the work of all ops but products may have ([`most_work`]).
    most_work: u64,
    effort_before: usize,
    stage: Stage,
    /// True if the layouts of copies may change.
    moves_copies: bool,
    /// True if a change was not tried because the effort of the stage ended.
    is_cut: bool,
    /// The outcomes of [`Search::following`], by the number of the site's rating and the index of the group at the
    /// site.
    known: FxHashMap<(u64, usize), Option<Following>>,
}

/// Tensors of an op by index, each with a layout that it might have.
type Following = Rc<[(usize, Layout)]>;

impl Search<'_, '_> {
    /// Runs the stages, and then trades dimensions, up to [`MAX_ROUNDS`] times, until no trade lowers the price or the
    /// effort is spent. Returns what was left when the effort was spent, or `None` if it was not.
    fn run(&mut self) -> Option<Left> {
        let mut is_first_round = true;
        for _ in 0..MAX_ROUNDS {
            let mut left = None;
            for &stage in self.limits.stages {
                self.stage = stage;
                left = self.rounds();
                is_first_round &= !stage.is_far || left.as_ref().is_some_and(|left| left.is_first_round);
                if stage.is_far && left.is_none() {
                    break;
                }
            }
            if let Some(left) = left {
                self.trade();
                return Some(Left { is_first_round, ..left });
            }
            if !self.trade() {
                break;
            }
        }
        None
    }

    /// Tries changes at all sites, in up to [`MAX_ROUNDS`] rounds, until the price no longer falls or the effort of the
    /// stage is spent. Returns what was left of the last round if the effort was spent, and `None` if it was not.
    fn rounds(&mut self) -> Option<Left> {
        for round in 0..MAX_ROUNDS {
            let found = self.round();
            if let Some((site_count, of)) = found.left {
                return Some(Left { site_count, of, is_first_round: round == 0 });
            }
            if !found.is_better {
                break;
            }
        }
        None
    }

    fn is_spent(&self) -> bool {
        (self.prices.effort - self.effort_before) as f64 >= self.limits.effort as f64 * self.stage.effort
    }

    /// Tries changes at all sites that move something, the dearest first.
    ///
    /// Sites may have equal [`surroundings`], such as those of equal layers. All changes are tried at the first of
    /// them. At the others, only those are tried that lowered the price at the first one.
    fn round(&mut self) -> Round {
        let bytes = |s: &Site| self.prices.bytes(*s);
        let mut sites: Vec<Site> = self.prices.sites.sites.keys().filter(|s| bytes(s) > 0).collect();
        sites.sort_by_key(|s| Reverse(bytes(s)));
        let start = self.prices.total();
        let surroundings = surroundings(self.prices);
        let mut found: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        let mut left = None;
        self.is_cut = false;
        for (at, &site) in sites.iter().enumerate() {
            if let Some(seeds) = found.get(&surroundings[site]) {
                seeds.iter().all(|&seed| self.improve(site, Some(seed)).is_some());
            } else {
                let mut seeds = vec![];
                while let Some(seed) = self.improve(site, None) {
                    seeds.push(seed);
                }
                found.insert(surroundings[site], seeds);
            }
            if self.is_cut {
                left = Some((sites.len() - at, sites.len()));
                break;
            }
        }
        Round { is_better: self.prices.total() < start, left }
    }

    /// Makes the best of the changes that start at a site, or of those that start with seed number `only`. Returns the
    /// number of the seed, or `None` if no change lowers the price. Sets `is_cut` if the effort of the stage is spent.
    fn improve(&mut self, site: Site, only: Option<usize>) -> Option<usize> {
        if self.prices.bytes(site) == 0 {
            return None;
        }
        let mut best = (self.prices.total(), None);
        let mut tried: FxHashSet<Vec<Change>> = FxHashSet::default();
        let mut reached = Reached::default();
        for (number, seed) in self.seeds(site).into_iter().enumerate() {
            if only.is_some_and(|only| only != number) {
                continue;
            }
            let seed = self.possible(seed);
            if seed.is_empty() || !tried.insert(seed.clone()) {
                continue;
            }
            if self.is_spent() {
                self.is_cut = true;
                break;
            }
            let (total, changes) = self.spread(seed, &mut reached);
            if total < best.0 {
                best = (total, Some((number, changes)));
            }
        }
        let (number, changes) = best.1?;
        changes.into_iter().for_each(|(group, layout)| _ = self.prices.set(group, layout));
        Some(number)
    }

    /// Returns the changes of a seed that can be made, the first one of each group.
    fn possible(&self, mut seed: Vec<Change>) -> Vec<Change> {
        let mut groups: Vec<Group> = vec![];
        seed.retain(|&(group, layout)| {
            let is_kept = self.may_change(group, layout) && !groups.contains(&group);
            groups.push(group);
            is_kept
        });
        seed
    }

    /// Returns the changes to begin with at a site: the layouts that the site asks for, one by one and all together,
    /// and at an op also those that [`Tensors`] proposes.
    fn seeds(&mut self, site: Site) -> Vec<Vec<Change>> {
        let asked: Vec<Change> = self.prices.asks(site).map(|ask| (ask.value, ask.layout)).collect();
        let mut seeds: Vec<Vec<Change>> = asked.iter().map(|&change| vec![change]).collect();
        if asked.len() > 1 {
            seeds.push(asked);
        }
        let Some(tensors) = Tensors::of(self.prices, site) else { return seeds };
        let runner_up = self.prices.counted(|| tensors.decision.runner_up(&tensors.view));
        let mut found: Vec<Wanted> = runner_up.map(|r| tensors.split_over(&r.axes)).into_iter().collect();
        found.extend(tensors.whole_where_elements_move());
        found.extend(tensors.parts_of_sums(self.prices));
        if tensors.is_product() {
            found.extend(tensors.over_idle_axes());
        }
        if !self.limits.keeps_sums {
            found.extend(tensors.summands());
        }
        let own = |g: &Option<Group>| Some(self.prices.layout(self.prices.current((*g)?)));
        let followed = tensors.groups.iter().enumerate().filter_map(|(i, g)| Some((i, own(g)?)));
        found.extend(followed.map(|(i, own)| tensors.of_groups(tensors.following(i, own))));
        let mut numbered = |wanted: Wanted| -> Vec<Change> {
            wanted.into_iter().map(|(group, layout)| (group, self.prices.layout_number(layout))).collect()
        };
        seeds.extend(found.into_iter().map(&mut numbered));
        seeds
    }

    /// Makes the changes of `seed`, and those that neighbours then ask for, one for each group and no more in all than
    /// the stage allows ([`Stage::most_steps`]), and takes them back. Returns the lowest price on the way, and the
    /// changes up to there. Only states count after all changes of `seed`, in which a device receives no more bytes
    /// than before and the work is within its limit. If none of these is cheaper, or if `seed` has more changes than
    /// the stage allows, returns the present price and no changes. Ends early at a state in `reached`, from which
    /// another seed went on, and adds its own.
    fn spread(&mut self, seed: Vec<Change>, reached: &mut Reached) -> (u64, Vec<Change>) {
        let (mut before, mut changes): (Vec<Change>, Vec<Change>) = (vec![], vec![]);
        let mut next = Queue::default();
        let (mut best, received) = ((self.prices.total(), 0), self.prices.all_received());
        // The changes that were refused since the last one that was made.
        let mut refused: FxHashSet<Change> = FxHashSet::default();
        let mut seed = seed.into_iter();
        let mut state = 0;
        while changes.len() < self.stage.most_steps() {
            budget::poll();
            let of_seed = seed.next().map(|change| (change, true));
            let Some(((group, layout), may_rise)) = of_seed.or_else(|| next.pop(self.stage.is_far)) else { break };
            if !self.may_change(group, layout) || changes.iter().any(|(done, _)| *done == group) {
                continue;
            }
            if !may_rise && refused.contains(&(group, layout)) {
                continue;
            }
            let is_last = changes.len() + 1 == self.stage.most_steps();
            let most = match (is_last, may_rise) {
                // Nothing can follow that lowers the price.
                (true, _) => best.0.saturating_sub(1),
                (false, true) => u64::MAX,
                (false, false) => self.prices.total(),
            };
            let Some(own) = self.prices.set_within(group, layout, most) else {
                if may_rise {
                    break;
                }
                refused.insert((group, layout));
                continue;
            };
            refused.clear();
            before.push((group, own));
            changes.push((group, layout));
            state ^= FxBuildHasher.hash_one((group, layout));
            if seed.len() == 0 && !reached.insert(state) {
                break;
            }
            let is_less = self.prices.total() < best.0 && self.prices.all_received() <= received;
            if seed.len() == 0 && is_less && self.prices.work() <= self.most_work {
                best = (self.prices.total(), changes.len());
            }
            let is_new = |ask: &Ask| changes.iter().all(|(done, _)| *done != ask.value);
            next.first.extend(self.asked(group).into_iter().filter(is_new).map(Next));
        }
        before.into_iter().rev().for_each(|(group, layout)| _ = self.prices.set(group, layout));
        changes.truncate(best.1);
        (best.0, changes)
    }

    /// Splits other dimensions in place of those that ops do not pass through ([`Tensors::trades`]), wherever the price
    /// falls, beginning at the dearest sites. Ends when [`TRADE_EFFORT`] is spent. Returns true if a price fell.
    fn trade(&mut self) -> bool {
        let most_effort = self.prices.effort + TRADE_EFFORT.min(self.limits.effort);
        let mut sites: Vec<Site> = self.prices.sites.sites.keys().filter(|s| self.prices.bytes(*s) > 0).collect();
        sites.sort_by_key(|s| Reverse(self.prices.bytes(*s)));
        let mut tried: FxHashSet<Change> = FxHashSet::default();
        let mut is_better = false;
        for site in sites {
            let wanted = Tensors::of(self.prices, site).map(|tensors| tensors.trades(self.prices)).unwrap_or_default();
            for (group, layout) in wanted {
                let seed = (group, self.prices.layout_number(layout));
                if !tried.contains(&seed) && self.prices.effort < most_effort {
                    is_better |= self.flood(seed, most_effort, &mut tried);
                }
            }
        }
        is_better
    }

    /// Makes the change `seed` and those of all values that can follow, the nearest first, until the effort reaches
    /// `most_effort`, and takes back those after the lowest price. Adds all changes to `tried`. Returns true if the
    /// price is lower than before. Only states count in which a device receives fewer bytes, by [`SAVED_BY_TRADE`], and
    /// the work is within its limit.
    fn flood(&mut self, seed: Change, most_effort: usize, tried: &mut FxHashSet<Change>) -> bool {
        let mut next = VecDeque::from([seed]);
        let (mut before, mut changed): (Vec<Change>, FxHashSet<Group>) = (vec![], FxHashSet::default());
        let mut best = (self.prices.total(), 0);
        let most_received = (self.prices.all_received() as f64 * (1.0 - SAVED_BY_TRADE)) as u64;
        while let Some((group, layout)) = next.pop_front().filter(|_| self.prices.effort < most_effort) {
            budget::poll();
            if !self.may_change(group, layout) || !changed.insert(group) {
                continue;
            }
            tried.insert((group, layout));
            before.push((group, self.prices.set(group, layout)));
            let is_less = self.prices.total() < best.0 && self.prices.all_received() <= most_received;
            if is_less && self.prices.work() <= self.most_work {
                best = (self.prices.total(), before.len());
            }
            next.extend(self.followers(group));
        }
        for (group, layout) in before.drain(best.1..).rev() {
            self.prices.set(group, layout);
        }
        best.1 > 0
    }

    /// Moves copies to layouts that their readers ask for, or makes them whole, wherever devices then receive less and
    /// the price falls, beginning with the dearest copies. Ends when [`COPY_EFFORT`] is spent.
    fn move_copies(&mut self) {
        let sites = self.prices.sites;
        let most_effort = self.prices.effort + COPY_EFFORT.min(self.limits.effort);
        let bytes = |prices: &Prices<'_>, g: Group| {
            sites.groups[g].sites.iter().map(|&s| prices.bytes(s)).fold(0, u64::saturating_add)
        };
        let mut copies: Vec<Group> = sites.groups.keys().filter(|&g| sites.groups[g].is_copy).collect();
        copies.retain(|&g| bytes(self.prices, g) > 0);
        copies.sort_by_key(|&g| Reverse(bytes(self.prices, g)));
        self.moves_copies = true;
        for copy in copies {
            let mut best = (self.prices.total(), vec![]);
            for layout in self.layouts_of_copy(copy) {
                for stage in [STAGES[0], STAGES[1]] {
                    self.stage = stage;
                    if self.prices.effort < most_effort && self.may_change(copy, layout) {
                        let found = self.spread(vec![(copy, layout)], &mut Reached::default());
                        best = if found.0 < best.0 { found } else { best };
                    }
                }
            }
            let before = self.prices.all_received();
            let changed: Vec<Change> =
                best.1.into_iter().map(|(group, layout)| (group, self.prices.set(group, layout))).collect();
            // Fewer collectives alone are not worth a copy that takes memory.
            if self.prices.all_received() == before {
                changed.into_iter().rev().for_each(|(group, layout)| _ = self.prices.set(group, layout));
            }
        }
    }

    /// Returns the layouts that readers ask for of a copy, and the one in which it is whole. Returns none if a reader
    /// moves elements between devices itself: what such readers send together is not in the price.
    fn layouts_of_copy(&mut self, copy: Group) -> Vec<Layout> {
        let whole = Sharding::replicated(self.prices.mesh(), self.prices.shape(copy).len());
        let mut found = vec![self.prices.layout_number(whole)];
        for &site in &self.prices.sites.groups[copy].sites {
            if self.prices.decision(site).is_some_and(|decision| !decision.moved.is_empty()) {
                return vec![];
            }
            found.extend(self.prices.asks(site).filter(|ask| ask.value == copy).map(|ask| ask.layout));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the layouts of the tensors beside a group, at all its sites, if they follow the group, and at edges
    /// those that the edges ask for.
    fn followers(&mut self, group: Group) -> Vec<Change> {
        let mut found = vec![];
        for &site in &self.prices.sites.groups[group].sites {
            if let Some(following) = self.following(site, group) {
                found.extend(self.changes(site, &following));
            } else {
                let others = self.prices.asks(site).filter(|ask| ask.value != group);
                found.extend(others.map(|ask| (ask.value, ask.layout)));
            }
        }
        found
    }

    /// Returns the layouts of the tensors at a site if they follow a group of the site in its present layout
    /// ([`Tensors::following`]), or `None` for an edge.
    fn following(&mut self, site: Site, group: Group) -> Option<Following> {
        let index = self.prices.sites.sites[site].groups.iter().position(|g| *g == Some(group));
        let index = index.expect("the site has the group");
        // The number of a rating also stands for the layouts of all tensors.
        let key = (self.prices.fingerprint(site), index);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = Tensors::of(self.prices, site).map(|tensors| {
            let own = self.prices.layout(self.prices.current(group)).clone();
            let numbered = |(i, layout)| (i, self.prices.layout_number(layout));
            tensors.following(index, &own).into_iter().map(numbered).collect::<Following>()
        });
        self.known.insert(key, found.clone());
        found
    }

    fn changes(&self, site: Site, layouts: &Following) -> impl Iterator<Item = Change> {
        let groups = &self.prices.sites.sites[site].groups;
        layouts.iter().filter_map(|&(i, layout)| Some((groups[i]?, layout)))
    }

    fn may_change(&self, group: Group, to: Layout) -> bool {
        let own = self.prices.current(group);
        let data = &self.prices.sites.groups[group];
        if own == to || data.is_fixed || data.is_copy && !self.moves_copies {
            return false;
        }
        let [own, to] = [own, to].map(|layout| self.prices.layout(layout));
        let shape = self.prices.shape(group);
        let size = |layout: &Sharding| layout.local_shape(shape).iter().product::<usize>();
        let fits = || !self.stay_small[group] || size(to) <= size(own);
        let can_be_made = to.unreduced.is_empty() || !self.prices.sites.groups[group].is_whole;
        can_be_made && !own.same_layout(to) && fits()
    }

    /// Returns what the sites of a group ask for. Where a site asks that the group itself be laid out in another way,
    /// the other tensors may follow the group.
    fn asked(&mut self, group: Group) -> Vec<Ask> {
        let mut found = vec![];
        for &site in &self.prices.sites.groups[group].sites {
            let first = found.len();
            found.extend(self.prices.asks(site));
            let Some(&Ask { price, .. }) = found[first..].iter().find(|ask| ask.value == group) else { continue };
            let Some(following) = self.following(site, group) else { continue };
            found.extend(self.changes(site, &following).map(|(value, layout)| Ask { value, layout, price }));
        }
        found
    }
}

/// The sets of changes that were made together, each as the exclusive or of the hashes of its changes.
type Reached = FxHashSet<u64>;

/// Groups, each with a layout that it might have.
type Wanted = Vec<(Group, Sharding)>;

/// An op, its tensors, and how it runs.
struct Tensors<'a> {
    view: OpView<'a>,
    rule: Arc<Rule>,
    mesh: &'a Arc<Mesh>,
    decision: Rc<Decision>,
    /// The group of each tensor, operands first; `None` for a tensor without one.
    groups: &'a [Option<Group>],
}

impl<'a> Tensors<'a> {
    fn of(prices: &Prices<'a>, site: Site) -> Option<Tensors<'a>> {
        let (view, rule) = prices.view(site)?;
        let decision = prices.decision(site)?.clone();
        let groups = &prices.sites.sites[site].groups;
        Some(Tensors { view, rule, mesh: prices.mesh(), decision, groups })
    }

    /// Returns the layouts of all tensors that take part in the decision if the factors are split over these axes.
    fn split_over(&self, axes: &[AxisList]) -> Wanted {
        self.of_groups(self.all_split_over(axes))
    }

    fn all_split_over(&self, axes: &[AxisList]) -> Vec<(usize, Sharding)> {
        let layout = |i: usize| {
            self.decision.layouts[i].as_ref().and(self.groups[i])?;
            Some((i, self.rule.mapping(i).sharding(&self.rule, self.mesh, |f| &axes[f.index()])))
        };
        (0..self.groups.len()).filter_map(layout).collect()
    }

    fn of_groups(&self, layouts: Vec<(usize, Sharding)>) -> Wanted {
        layouts.into_iter().filter_map(|(i, layout)| Some((self.groups[i]?, layout))).collect()
    }

    /// Returns the layouts of all tensors if they follow tensor `index` in the layout `own`. Factors that this tensor
    /// lacks keep the axes of the decision that are still free. The list is empty if the tensor takes no part in the
    /// decision, or if some of its axes do not fit its factors.
    fn following(&self, index: usize, own: &Sharding) -> Vec<(usize, Sharding)> {
        let mapping = self.rule.mapping(index);
        let own = TensorFactors::new(mapping, &self.rule, self.mesh, Some(own), IfMissing::Closed);
        if own.has_overflow() || self.decision.layouts[index].is_none() {
            return vec![];
        }
        let used: Vec<AxisRef> = own.iter().flat_map(|(_, f)| f.axes.iter().copied()).collect();
        let axes = |f: Factor| match own.get(f) {
            Some(own) => own.axes.clone(),
            None => {
                let mut rest = self.decision.assignment.axes[f.index()].to_vec();
                AxisRef::truncate_overlaps(&mut rest, &used);
                rest.into_iter().collect()
            }
        };
        let axes: Vec<AxisList> = self.rule.all_factors().map(axes).collect();
        self.all_split_over(&axes)
    }

    fn whole_where_elements_move(&self) -> Option<Wanted> {
        let moved = &self.decision.moved;
        let mut axes = self.decision.assignment.axes.clone();
        moved.iter().for_each(|f| axes[f.index()].clear());
        (!moved.is_empty()).then(|| self.split_over(&axes))
    }

    /// Returns other layouts of the op's tensors, one at a time: the axes of a dimension that the op does not pass
    /// through, because elements move or are reduced along it or all of it is needed, split another dimension that they
    /// divide evenly.
    fn trades(&self, prices: &Prices<'_>) -> Wanted {
        let mut found = vec![];
        for (index, group) in self.groups.iter().enumerate().filter_map(|(i, g)| Some((i, (*g)?))) {
            let (shape, own) = (prices.shape(group), prices.layout(prices.current(group)));
            let dims = &self.rule.mapping(index).dims;
            let is_free = |d: &[Factor]| d.iter().all(|&f| self.rule.kind(f) == FactorKind::PassThrough);
            for from in (0..dims.len()).filter(|&d| !is_free(&dims[d]) && !own.dims[d].axes.is_empty()) {
                for to in (0..dims.len()).filter(|&d| is_free(&dims[d])) {
                    let mut axes: Vec<Vec<AxisRef>> = own.dims.iter().map(|d| d.axes.clone()).collect();
                    for axis in std::mem::take(&mut axes[from]) {
                        AxisRef::push_or_merge(&mut axes[to], axis, self.mesh);
                    }
                    if shape[to].is_multiple_of(AxisRef::total_size(self.mesh, &axes[to])) {
                        found.push((group, Sharding::closed(self.mesh, axes)));
                    }
                }
            }
        }
        found
    }

    fn is_product(&self) -> bool {
        self.decision.task.is_product()
    }

    /// Returns the layouts of all tensors if a factor is split over axes that the op does not use, in place of its own.
    /// Its own axes are left out, or taken by a factor that is whole.
    fn over_idle_axes(&self) -> Vec<Wanted> {
        let axes = &self.decision.assignment.axes;
        let is_idle = |part: &AxisRef| !axes.iter().flatten().any(|own| own.overlaps(*part));
        let parts: Vec<AxisRef> = self.mesh.prime_parts().into_iter().filter(is_idle).collect();
        let mut lists: Vec<AxisList> = parts.iter().map(|&part| [part].into_iter().collect()).collect();
        if parts.len() > 1 {
            let mut all = AxisList::new();
            parts.iter().for_each(|&part| AxisRef::push_or_merge(&mut all, part, self.mesh));
            lists.push(all);
        }
        let can_be_split = |f: &Factor, list: &AxisList| {
            let shards = AxisRef::total_size(self.mesh, list);
            self.rule.kind(*f) != FactorKind::NeedReplication && self.rule.size(*f).is_multiple_of(shards)
        };
        let mut found = vec![];
        for list in &lists {
            for factor in self.rule.all_factors().filter(|f| can_be_split(f, list)) {
                let mut moved = axes.clone();
                let own = std::mem::replace(&mut moved[factor.index()], list.clone());
                found.push(self.split_over(&moved));
                let is_free = |f: &Factor| moved[f.index()].is_empty() && can_be_split(f, &own);
                for other in self.rule.all_factors().filter(|f| !own.is_empty() && is_free(f)) {
                    let mut moved = moved.clone();
                    moved[other.index()] = own.clone();
                    found.push(self.split_over(&moved));
                }
            }
        }
        found
    }

    /// Returns the results of which each device has a summand, with their layouts.
    fn partial(&self) -> impl Iterator<Item = (Group, &Sharding)> {
        let results = self.view.operands().len()..self.groups.len();
        let is_partial = !self.decision.partial.is_empty();
        results.filter(move |_| is_partial).filter_map(|i| Some((self.groups[i]?, self.decision.layouts[i].as_ref()?)))
    }

    /// Returns the changes after which each device keeps its summand of a result, one for each partial result. There
    /// are none if the elements are too narrow ([`is_wide`]).
    fn summands(&self) -> Vec<Wanted> {
        let keep = |(g, layout): (Group, &Sharding)| (g, layout.clone().with_unreduced(self.decision.partial.clone()));
        self.partial().filter(|_| is_wide(&self.view)).map(|partial| vec![keep(partial)]).collect()
    }

    /// Returns the changes after which each device has a part of the sum along one dimension: one for each partial
    /// result and each of its dimensions that can be split evenly.
    fn parts_of_sums(&self, prices: &Prices<'_>) -> Vec<Wanted> {
        let mut found = vec![];
        for (group, layout) in self.partial() {
            for (dim, &n) in prices.shape(group).iter().enumerate() {
                let mut axes: Vec<Vec<AxisRef>> = layout.dims.iter().map(|d| d.axes.clone()).collect();
                self.decision.partial.iter().for_each(|&a| AxisRef::push_or_merge(&mut axes[dim], a, self.mesh));
                if n.is_multiple_of(AxisRef::total_size(self.mesh, &axes[dim])) {
                    found.push(vec![(group, Sharding::closed(self.mesh, axes))]);
                }
            }
        }
        found
    }
}

/// The layouts that sites ask for, the dearest first.
#[derive(Default)]
struct Queue {
    first: BinaryHeap<Next>,
    /// The changes that were taken out of `first` with the condition that they do not raise the price.
    later: BinaryHeap<Next>,
}

impl Queue {
    /// Takes out the dearest change. Returns it, and true if it may raise the price. If `avoids_rises` is true, each
    /// change is first returned with false. When no other is left, it is returned again with true. Returns `None` if
    /// the queue is empty.
    fn pop(&mut self, avoids_rises: bool) -> Option<(Change, bool)> {
        let change = |ask: Ask| (ask.value, ask.layout);
        let Some(Next(ask)) = self.first.pop() else { return self.later.pop().map(|next| (change(next.0), true)) };
        if avoids_rises {
            self.later.push(Next(ask));
        }
        Some((change(ask), !avoids_rises))
    }
}

/// A layout that a site asks for, ordered by price.
struct Next(Ask);

impl PartialEq for Next {
    fn eq(&self, other: &Next) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next {}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Next) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Next {
    fn cmp(&self, other: &Next) -> std::cmp::Ordering {
        (self.0.price, other.0.value).cmp(&(other.0.price, self.0.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_that_may_raise_the_price_come_last() {
        let ask = |n: usize, price| Next(Ask { value: Group::new(n), layout: Layout::new(n), price });
        let change = |n: usize| (Group::new(n), Layout::new(n));
        let queue = || Queue { first: [ask(0, 5), ask(1, 7), ask(2, 7)].into(), later: BinaryHeap::new() };
        let all = |avoids_rises: bool| {
            let mut queue = queue();
            std::iter::from_fn(|| queue.pop(avoids_rises)).collect::<Vec<_>>()
        };
        assert_eq!(all(false), [1, 2, 0].map(|n| (change(n), true)));
        let tried = [1, 2, 0].map(|n| (change(n), false));
        assert_eq!(all(true), [tried, tried.map(|(change, _)| (change, true))].concat());
    }
}
