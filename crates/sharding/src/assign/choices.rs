//! The choices of a product, listed once and compared for many layouts of its tensors.
//!
//! A search over a program decides the same product again and again, each time with other layouts of its tensors. As
//! long as the layouts consist of the same parts of axes, the choices stay the same, and so does what one tensor with
//! one layout costs in each of them. Only the sums over the tensors are made anew.

use super::bounds::Bounds;
use super::lists::{AllCandidates, List, Lists};
use super::wide::{MAX_PARTS, PADDING};
use super::{Assignment, Cost, LeastPrice, MAX_COMBINATIONS, Picks, Price, Search, Wanted, matters};
use crate::{AxisList, Factor, Rule};
use rustc_hash::FxHashMap;
use shardwise_base::{AxisRef, EntityVec, Mesh, Sharding, budget};
use smallvec::{SmallVec, smallvec};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::rc::Rc;

/// The choices that are known of products with one rule, tensors of the same types, and one mesh. These products may
/// differ in which factors can be split, and in the layouts of their tensors.
#[derive(Default)]
pub struct KnownChoices(RefCell<Vec<(Key, Option<Rc<Choices>>)>>);

/// Everything that the choices of a product depend on.
#[derive(PartialEq)]
struct Key {
    /// For each factor, true if the op can run split along it over arbitrary axes.
    may_split: SmallVec<[bool; 8]>,
    /// The parts of axes of which lists consist.
    parts: SmallVec<[AxisRef; MAX_PARTS]>,
    /// The lists of several axes that tensors have, except for those that consist of the first ones of `parts` in their
    /// order ([`begins_with`]). Parts are tried in the orders of these lists too.
    orders: SmallVec<[AxisList; 2]>,
}

impl KnownChoices {
    /// Returns all choices whose lists consist of these parts of axes. Returns `None` if there are too many to list.
    fn of(&self, search: &mut Search<'_>, parts: &[AxisRef]) -> Option<Rc<Choices>> {
        let mut key = Key {
            may_split: search.input.rule.all_factors().map(|f| search.may_split(f)).collect(),
            parts: parts.into(),
            orders: SmallVec::new(),
        };
        for own in &search.given.own {
            let axes = search.lists.axes(own.list);
            if axes.len() > 1 && !key.orders.contains(axes) && !begins_with(parts, axes, search.input.mesh) {
                key.orders.push(axes.clone());
            }
        }
        if let Some((_, known)) = self.0.borrow().iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let choices = Choices::new(search, parts).map(Rc::new);
        self.0.borrow_mut().push((key, choices.clone()));
        choices
    }
}

/// Returns true if the first ones of `parts` are those of which `axes` consist, in the same order.
fn begins_with(parts: &[AxisRef], axes: &[AxisRef], mesh: &Mesh) -> bool {
    let mut first = AxisList::new();
    let mut parts = parts.iter();
    while first[..] != *axes {
        let Some(&part) = parts.next() else { return false };
        AxisRef::push_or_merge(&mut first, part, mesh);
    }
    true
}

/// All choices in which lists of some parts of axes split the factors, no axis is used twice, and every tensor can be
/// assembled. They have numbers from 0, in lexicographic order.
struct Choices {
    lists: Lists,
    /// For each factor, the lists that may split it. The first one is empty.
    candidates: AllCandidates,
    /// The candidates of all choices, one choice after the other.
    picks: Vec<usize>,
    /// For each choice, the number of shards into which the work is split.
    shards: Vec<usize>,
    /// For each choice, the number of elements along all factors that one device computes, with padding.
    computed: Vec<u64>,
    tensors: Vec<Splits>,
}

/// The ways in which choices split a tensor, each with a number.
struct Splits {
    /// For each choice, the number of the way in which it splits the tensor.
    of: Vec<usize>,
    count: usize,
    /// The costs for each layout of the tensor that was met, with the lower bound of its price.
    known: RefCell<Vec<(Sharding, LeastPrice, Rc<Costs>)>>,
}

/// The costs of a tensor with one layout.
struct Costs {
    bounds: Bounds,
    /// For each way to split the tensor, the lower bound of the price, or [`UNKNOWN`] if it was not needed yet.
    lower: Vec<Cell<u64>>,
    /// For each way to split the tensor, the price, if it was needed.
    prices: Vec<Cell<Option<Price>>>,
}

/// The mark of a lower bound that was not needed yet.
const UNKNOWN: u64 = u64::MAX;

/// A partial choice, which has a list for each of the first factors.
#[derive(Clone, Copy)]
struct Partial {
    /// The parts of axes that the lists use, a bit for each.
    taken: u64,
    shards: usize,
    /// The number of elements along these factors that one device computes.
    computed: u64,
}

impl Choices {
    /// Makes the list of all choices whose lists consist of `parts`. Returns `None` if more than [`MAX_COMBINATIONS`]
    /// partial choices would be made to list them, or if the candidates of a tensor's factors have more combinations
    /// than can be counted.
    fn new(search: &mut Search<'_>, parts: &[AxisRef]) -> Option<Choices> {
        let orders = search.orders(parts);
        let (rule, mut lists) = (search.input.rule, Lists::new(search.input.mesh));
        let candidates = |f: Factor| {
            let found = search.wide_candidates(f, smallvec![Lists::empty()], &orders);
            found.iter().map(|&list| lists.number(search.lists.axes(list))).collect()
        };
        let candidates = rule.all_factors().map(candidates).collect();
        let used = lists.used(parts);
        let (picks, shards, computed, tensors) = (vec![], vec![], vec![], vec![]);
        let mut choices = Choices { lists, candidates, picks, shards, computed, tensors };
        let mut left = MAX_COMBINATIONS;
        choices.add(search, &used, Partial { taken: 0, shards: 1, computed: 1 }, &mut vec![], &mut left)?;
        choices.tensors = (0..rule.tensor_count()).map(|i| choices.splits(rule, i)).collect::<Option<_>>()?;
        Some(choices)
    }

    /// Adds the choices that continue `partial`, which has the candidates `picks` for the first factors. Returns `None`
    /// if more than `left` partial choices would be made.
    fn add(
        &mut self,
        search: &Search<'_>,
        used: &EntityVec<List, u64>,
        partial: Partial,
        picks: &mut Vec<usize>,
        left: &mut usize,
    ) -> Option<()> {
        let factor = Factor::new(picks.len());
        let Some(count) = self.candidates.get(factor.index()).map(|c| c.len()) else {
            if search.is_whole_with(&self.lists, |f| self.candidates[f.index()][picks[f.index()]]) {
                self.computed.push(partial.computed);
                self.shards.push(partial.shards);
                self.picks.extend_from_slice(picks);
            }
            return Some(());
        };
        for candidate in 0..count {
            let list = self.candidates[factor.index()][candidate];
            if used[list] & partial.taken == 0 {
                *left = left.checked_sub(1)?;
                let shards = self.lists.shards(list);
                let block = search.input.rule.size(factor).div_ceil(shards) as u64;
                let partial = Partial {
                    taken: partial.taken | used[list],
                    shards: partial.shards * shards,
                    computed: partial.computed.saturating_mul(block),
                };
                picks.push(candidate);
                self.add(search, used, partial, picks, left)?;
                picks.pop();
            }
        }
        Some(())
    }

    /// Returns the ways in which the choices split tensor `index`. Returns `None` if the candidates of the tensor's
    /// factors have more combinations than can be counted.
    fn splits(&self, rule: &Rule, index: usize) -> Option<Splits> {
        let factors: SmallVec<[Factor; 8]> = matters(rule, index).collect();
        let mut numbers: FxHashMap<u64, usize> = FxHashMap::default();
        let mut of = Vec::with_capacity(self.shards.len());
        for choice in 0..self.shards.len() {
            let picks = self.picks(choice);
            let key = factors.iter().try_fold(0u64, |key, f| {
                key.checked_mul(self.candidates[f.index()].len() as u64)?.checked_add(picks[f.index()] as u64)
            });
            let next = numbers.len();
            of.push(*numbers.entry(key?).or_insert(next));
        }
        Some(Splits { of, count: numbers.len(), known: RefCell::default() })
    }

    fn picks(&self, choice: usize) -> &Picks {
        let count = self.candidates.len();
        &self.picks[choice * count..][..count]
    }

    fn axes(&self, choice: usize, factor: Factor) -> &AxisList {
        self.lists.axes(self.candidates[factor.index()][self.picks(choice)[factor.index()]])
    }

    /// Returns the costs of tensor `index` with its present layout, or `None` if it has none, so that it costs nothing.
    fn costs(&self, search: &Search<'_>, index: usize) -> Option<Rc<Costs>> {
        let (own, least) = (search.input.shardings[index]?, search.prices.least(index));
        let splits = &self.tensors[index];
        let is_same = |of: &Sharding, at: LeastPrice| at == least && of.same_layout(own);
        if let Some((.., known)) = splits.known.borrow().iter().find(|(of, at, _)| is_same(of, *at)) {
            return Some(known.clone());
        }
        let bounds = Bounds::of_tensor(&search.input, index, &self.lists, &self.candidates, search.prices);
        let (lower, prices) = (vec![Cell::new(UNKNOWN); splits.count], vec![Cell::new(None); splits.count]);
        let costs = Rc::new(Costs { bounds, lower, prices });
        splits.known.borrow_mut().push((own.clone(), least, costs.clone()));
        Some(costs)
    }
}

/// The choices of a product with certain layouts.
struct Compared<'s, 'a> {
    search: &'s Search<'a>,
    choices: Rc<Choices>,
    /// For each tensor, what it costs with its layout. `None` for a tensor without a layout, which costs nothing.
    costs: SmallVec<[Option<Rc<Costs>>; 4]>,
    /// For each factor, the positions of its candidates among those of the search, or [`OTHER`] or more for others.
    ranks: SmallVec<[SmallVec<[usize; 12]>; 4]>,
}

/// The least rank of a candidate that is not among those of a search. The position of the candidate is added to it.
const OTHER: usize = 1 << 32;

impl<'s, 'a> Compared<'s, 'a> {
    /// Returns the choices with the layouts that the tensors have in the search. Returns `None` if a candidate of the
    /// search is not among those of the choices.
    fn new(search: &'s Search<'a>, choices: Rc<Choices>) -> Option<Compared<'s, 'a>> {
        let mut ranks = SmallVec::new();
        for (own, candidates) in search.candidates.iter().zip(&choices.candidates) {
            let mut of_factor: SmallVec<[usize; 12]> = (OTHER..OTHER + candidates.len()).collect();
            for (rank, &list) in own.iter().enumerate() {
                let list = choices.lists.find(search.lists.axes(list))?;
                of_factor[candidates.iter().position(|&c| c == list)?] = rank;
            }
            ranks.push(of_factor);
        }
        let costs = (0..search.input.rule.tensor_count()).map(|i| choices.costs(search, i)).collect();
        Some(Compared { search, choices, costs, ranks })
    }

    fn count(&self) -> usize {
        self.choices.shards.len()
    }

    /// Returns true if all candidates of a choice are among those of the search.
    fn is_own(&self, choice: usize) -> bool {
        self.ranks.iter().zip(self.choices.picks(choice)).all(|(ranks, &pick)| ranks[pick] < OTHER)
    }

    /// Returns the position of a choice in the order in which choices are preferred that cost the same: those of the
    /// search's own candidates first, then those of the candidates of `before`.
    fn rank(&self, choice: usize, before: Option<&Choices>) -> SmallVec<[usize; 8]> {
        let rank = |(factor, &pick): (usize, &usize)| {
            let rank = self.ranks[factor][pick];
            let Some(before) = before.filter(|_| rank >= OTHER) else { return rank };
            let axes = self.choices.lists.axes(self.choices.candidates[factor][pick]);
            let known = before.lists.find(axes);
            let known = known.and_then(|list| before.candidates[factor].iter().position(|&c| c == list));
            known.map_or(rank + OTHER, |at| OTHER + at)
        };
        self.choices.picks(choice).iter().enumerate().map(rank).collect()
    }

    /// Returns the best one of the choices that `among` accepts, with its cost. Only choices that cost at most `most`,
    /// and whose moves cost less than `most_moved`, are considered. Returns `None` if there are none. The choices are
    /// priced in the order of their bounds, so that few have to be priced.
    fn best(
        &self,
        among: impl Fn(usize) -> bool,
        most: u64,
        most_moved: u64,
        before: Option<&Choices>,
    ) -> Option<(usize, Cost)> {
        let mut bounds: SmallVec<[(u64, usize); 64]> = SmallVec::new();
        for choice in (0..self.count()).filter(|&choice| among(choice)) {
            let bound = self.bound(choice);
            if bound <= most {
                bounds.push((bound, choice));
            }
        }
        bounds.sort_unstable();
        let mut best: Option<(usize, Cost)> = None;
        for (bound, choice) in bounds {
            let limit = best.as_ref().map_or(most, |(_, cost)| cost.total);
            if bound > limit {
                break;
            }
            let Some(cost) = self.cost_up_to(limit, bound, choice) else { continue };
            let is_better = |(other, known): &(usize, Cost)| {
                cost < *known || cost == *known && self.rank(choice, before) < self.rank(*other, before)
            };
            if self.search.moved(&cost) < most_moved && best.as_ref().is_none_or(is_better) {
                best = Some((choice, cost));
            }
        }
        best
    }

    /// Returns the best choice in which no device computes much more than it must, with its cost. It is the best one of
    /// the search's own candidates if that moves nothing and splits the work into `shards` shards, or costs no more.
    /// Returns `None` if there is no choice.
    fn best_of_all(&self, shards: usize) -> Option<(usize, Cost)> {
        let (own, cost) = self.best(|choice| self.is_own(choice), u64::MAX, u64::MAX, None)?;
        if cost.bytes_moved == 0 && cost.shards.0 == shards {
            return Some((own, cost));
        }
        let computed = &self.choices.computed;
        let least = computed.iter().min()?;
        let is_within = |choice: usize| computed[choice] <= least.saturating_add(least / PADDING);
        if !is_within(own) {
            return self.best(is_within, u64::MAX, u64::MAX, None);
        }
        let other = self.best(is_within, cost.total, u64::MAX, None);
        other.filter(|(_, other)| *other < cost).or(Some((own, cost)))
    }

    /// Returns a lower bound of the total cost of a choice.
    fn bound(&self, choice: usize) -> u64 {
        let moves: u64 = (0..self.costs.len()).map(|index| self.bound_of(index, choice)).sum();
        moves + self.search.input.work / self.choices.shards[choice] as u64
    }

    fn bound_of(&self, index: usize, choice: usize) -> u64 {
        let Some(costs) = &self.costs[index] else { return 0 };
        let lower = &costs.lower[self.choices.tensors[index].of[choice]];
        if lower.get() == UNKNOWN {
            lower.set(costs.bounds.of(index, self.choices.picks(choice)));
        }
        lower.get()
    }

    /// Returns the cost of a choice, whose [`bound`](Compared::bound) is `rest`. Returns `None` as soon as the prices
    /// of some tensors show that the total is more than `most`.
    fn cost_up_to(&self, most: u64, mut rest: u64, choice: usize) -> Option<Cost> {
        budget::poll();
        let mut sum = Price::default();
        for index in 0..self.costs.len() {
            rest -= self.bound_of(index, choice);
            sum = sum.plus(self.price(index, choice));
            if sum.total() + rest > most {
                return None;
            }
        }
        let shards = self.choices.shards[choice];
        let total = sum.total() + self.search.input.work / shards as u64;
        Some(Cost { total, bytes_moved: sum.bytes, shards: Reverse(shards) })
    }

    fn price(&self, index: usize, choice: usize) -> Price {
        let Some(costs) = &self.costs[index] else { return Price::default() };
        let known = &costs.prices[self.choices.tensors[index].of[choice]];
        known.get().unwrap_or_else(|| {
            let price = self.search.price_with(index, |f| self.choices.axes(choice, f));
            known.set(Some(price));
            price
        })
    }

    fn assignment(&self, choice: usize, cost: Cost) -> Assignment {
        let axes = self.search.input.rule.all_factors().map(|f| self.choices.axes(choice, f).clone()).collect();
        Assignment { axes, bytes_moved: cost.bytes_moved, price: cost.total }
    }
}

impl Search<'_> {
    /// Returns the best choice of a product, which is that of [`Search::best`], by comparing the choices that are known
    /// of the product. Returns `None` if there are too many, if the product has other choices too, such as uneven
    /// splits and splits that need exchanges, if the program places one of its sums, if no tensor is split, if a tensor
    /// is split over an axis of size 1, or if tensors cut an axis in contradictory ways. Also returns `None` for other
    /// ops, if two choices are wanted, and without [`AssignInput::known`](super::AssignInput::known).
    pub(super) fn by_known_choices(&mut self) -> Option<Assignment> {
        let known = self.input.known?;
        if self.wanted != Wanted::Best || !self.is_limited() || !self.exchanges.is_empty() {
            return None;
        }
        let mesh = self.input.mesh;
        let parts = self.parts()?;
        if parts.is_empty() || parts.len() > MAX_PARTS || parts.iter().any(|part| part.size(mesh) == 1) {
            return None;
        }
        let choices = known.of(self, &parts)?;
        let wide = Compared::new(self, choices.clone())?;
        let (best, cost) = wide.best_of_all(AxisRef::total_size(mesh, &parts))?;
        let found = wide.assignment(best, cost);
        let Some(fine) = self.fine_parts(&parts).filter(|_| cost.bytes_moved > 0) else { return Some(found) };
        let finer = known.of(self, &fine)?;
        let (most, most_moved, finer) = (choices.computed[best], self.moved(&cost), Compared::new(self, finer)?);
        let is_within = |choice: usize| finer.choices.computed[choice] <= most;
        let finest = finer.best(is_within, cost.total, most_moved, Some(&choices));
        let finest = finest.filter(|(_, other)| *other < cost).map(|(finest, cost)| finer.assignment(finest, cost));
        Some(finest.unwrap_or(found))
    }
}
