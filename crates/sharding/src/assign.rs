//! Chooses one sharding of an op's factors, so that the op can run on shards.
//!
//! Propagation leaves tensors with shardings that may contradict each other: `lhs [{"x"}, {}]` times `rhs [{}, {"x"}]`
//! cannot both be kept, because `"x"` cannot split two factors of one op. For each factor, [`assign`] chooses one list
//! of axes among those that some tensor has (and their major parts), such that no axis is used twice and every tensor
//! can be split in this way. Of all such choices it takes the one that costs least. If there are too many to compare,
//! it decides the factors one after the other.
//!
//! The cost is that of the moves and of the op's work on one device. Operands are moved to the chosen sharding, results
//! are moved from the chosen sharding to the one that they should have, reduction factors are summed over, and windows
//! are exchanged. [`Prices`] knows what each of these costs.
//!
//! This is simpler than Shardy's search in one point: overflow axes (of a reshape that no factor expresses) are never
//! kept. If the best of these choices moves data, the axes of a tensor may also be tried on other factors, and a
//! product may be split over axes that no tensor has. For example, a sorted dimension that is split over `"x"` is not
//! gathered: `"x"` splits a batch dimension during the sort.

mod agreed;
mod bounds;
mod choices;
mod lists;
mod wide;

use crate::cost::{MOST_BYTES, price_of_permute, start_if_timed};
use crate::{AxisList, DimFactors, Factor, FactorKind, Rule};
use bounds::Bounds;
pub use choices::KnownChoices;
use lists::{AllCandidates, Candidates, Given, List, Lists, Own};
use shardwise_base::{AxisRef, Mesh, Sharding, budget};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// An op for whose factors axes are to be chosen, and what the choice depends on besides [`Prices`].
#[derive(Clone, Copy)]
pub struct AssignInput<'a> {
    pub rule: &'a Rule,
    pub mesh: &'a Arc<Mesh>,
    /// The shardings of the operands, then of the results. In the list of each dimension, parts of an axis that
    /// continue one another are merged, as in programs. A tensor without a sharding has no axes, and moving it costs
    /// nothing.
    pub shardings: &'a [Option<&'a Sharding>],
    /// The cost of running the op unsplit, in bytes that could be moved in that time. It is divided by the number of
    /// shards. With 0, running the op on every device costs nothing.
    pub work: u64,
    /// Reduction factors that remain split as in the first tensor that has them, at any cost, because the program
    /// places their sums. If these axes do not fit a factor, its axes are chosen among those that tensors have for it.
    pub summed: &'a [Factor],
    /// The axes over which a product may be split although no tensor has them. The caller leaves out the axes that are
    /// manual around the op and the axes over which types state the layouts.
    pub free: &'a [AxisRef],
    /// True to leave out the choices of products with free axes, and with smaller parts of axes than tensors have. This
    /// takes less time.
    pub is_coarse: bool,
    /// The choices listed so far for products with the same rule, tensors and mesh, which other layouts of the tensors
    /// use again. Without it, choices are listed anew. The assignment is the same.
    pub known: Option<&'a KnownChoices>,
}

/// Prices of an op's communication.
pub trait Prices {
    /// Returns the price of moving tensor `index` (operands first): of an operand to the closed layout with the axes
    /// `layout`, and of a result, which is partial over the axes `partial`, from this layout to its own sharding.
    /// `partial` is empty for operands.
    fn price(&self, index: usize, layout: &[Cow<'_, [AxisRef]>], partial: &[AxisRef]) -> Price;

    /// Returns what a lower bound of the price of moving tensor `index` is computed from.
    fn least(&self, index: usize) -> LeastPrice;

    /// Returns true if tensor `index`, a result, must be summed over all axes over which it is partial. Returns false
    /// if it may be left unreduced over some, or if the op itself gathers the parts.
    fn is_summed(&self, index: usize) -> bool;

    /// Returns what devices exchange if the op runs split along a factor over these axes, with all other factors whole.
    /// This is nothing if the op reads no windows along the factor. Returns `None` if elements would have to be
    /// exchanged and cannot be. The factor's kind says whether it can be split.
    fn exchanged(&self, factor: Factor, axes: &[AxisRef]) -> Option<Exchanged>;

    /// Returns true if the op is a product, of which no device may compute more than it must.
    fn is_product(&self) -> bool;
}

/// The price of moving a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Price {
    /// The bytes that the device that receives most receives, for one run of the op.
    pub bytes: u64,
    /// The price in addition to these bytes, for one run of the op: that of starting the collectives, and that of bytes
    /// that move along slow axes.
    pub extra: u64,
}

/// The amount that devices receive from each other for the windows that an op reads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Exchanged {
    /// The bytes that the device that receives most receives.
    pub bytes: u64,
    /// The number of collectives of the exchange.
    pub collective_count: u64,
}

impl Exchanged {
    /// Returns the price of starting the collectives of the exchange, which is 0 if the mesh has no rates
    /// ([`start_if_timed`]).
    pub fn price_of_starts(&self, mesh: &Mesh) -> u64 {
        self.collective_count * start_if_timed(mesh)
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.bytes == 0
    }
}

/// A lower bound of the price of a tensor: the bytes of the elements that some device needs and lacks, and of the
/// summands of a result that it receives, with the price of a start if there are any, divided by the number of runs of
/// the op for which they are moved once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeastPrice {
    /// The bytes of an element; 0 if nothing is known about the price.
    pub element_bytes: u64,
    /// The least price of starting to move anything, in bytes.
    pub start: u64,
    /// The number of runs of the op for which the tensor is moved once, which is not 0. It is `u64::MAX` if the tensor
    /// is never moved.
    pub runs: u64,
}

impl LeastPrice {
    pub(crate) fn of(self, elements: u64) -> u64 {
        let bytes = || elements.saturating_mul(self.element_bytes).min(MOST_BYTES);
        let price = if elements == 0 { 0 } else { bytes() + self.start };
        // Most tensors are moved in each run, and a division takes longer than all else.
        if self.runs == 1 { price } else { price / self.runs }
    }
}

/// The axes that are chosen for each factor of an op, with the price of the choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The axes of each factor, by factor index.
    pub axes: Vec<AxisList>,
    /// An estimate of the bytes that the device that receives most receives, for all tensors and exchanges together.
    pub bytes_moved: u64,
    /// The price of moving these bytes, of starting the collectives, and of the op's work on one device.
    pub price: u64,
}

/// The tensors with a factor, by index (operands, then results): those that have the chosen axes for it (`won`), and
/// those that have others or none, or axes that do not fit (`lost`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FactorConflict {
    pub factor: Factor,
    pub won: Vec<usize>,
    pub lost: Vec<usize>,
}

/// The second best choice of axes for the factors of an op ([`runner_up`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunnerUp {
    pub axes: Vec<AxisList>,
    pub bytes_moved: u64,
}

impl Assignment {
    /// Returns a conflict for each factor for which a tensor has other axes than the chosen ones, or axes that do not
    /// fit the factor. There is none if every tensor already has exactly the chosen axes for each of its factors.
    ///
    /// # Panics
    /// Panics if the assignment is not one for this rule.
    pub fn conflicts(&self, rule: &Rule, mesh: &Arc<Mesh>, shardings: &[Option<&Sharding>]) -> Vec<FactorConflict> {
        let mut lists = Lists::new(mesh);
        let given = Given::new(rule, mesh, shardings, &mut lists);
        let judge = |factor: Factor| {
            let chosen = &self.axes[factor.index()];
            let (won, lost): (Vec<Own>, Vec<Own>) =
                given.of(factor).partition(|own| lists.axes(own.list) == chosen && !own.has_overflow);
            let [won, lost] = [won, lost].map(|list| list.iter().map(|own| own.tensor).collect());
            FactorConflict { factor, won, lost }
        };
        rule.all_factors().map(judge).filter(|v| !v.lost.is_empty()).collect()
    }

    /// Returns the closed sharding of tensor `index` (operands, then results) with which the op runs.
    pub fn sharding(&self, rule: &Rule, mesh: &Arc<Mesh>, index: usize) -> Sharding {
        rule.mapping(index).sharding(rule, mesh, |f| &self.axes[f.index()])
    }

    /// Returns the number of shards into which the op's work is split.
    pub fn shards(&self, mesh: &Mesh) -> usize {
        self.axes.iter().map(|a| AxisRef::total_size(mesh, a)).product()
    }

    /// Returns the axes over which the op's results are partial, in the order of the mesh.
    pub fn reduction_axes(&self, rule: &Rule, mesh: &Mesh) -> Vec<AxisRef> {
        reduction_axes(rule, mesh, |f| &self.axes[f.index()])
    }
}

/// Chooses the axes of each factor. Factors that need replication are not split, and neither are pass-through factors
/// that no result has, unless the op has no results.
///
/// # Panics
/// Panics if `input` has fewer shardings than the rule has tensors, or if factors in [`AssignInput::summed`] cannot all
/// be split as in their first tensors, because the axes of two of them overlap.
pub fn assign(input: AssignInput<'_>, prices: &dyn Prices) -> Assignment {
    agreed::agreed(&input, prices).unwrap_or_else(|| Search::new(input, prices, Wanted::Best).assignment())
}

/// Returns the second best of the choices that [`assign`] compares, or `None` if there is only one. If free axes or
/// smaller parts of axes make the best choice, the second best is the best one without them. This takes longer than
/// `assign`, which does not have to price the choices that cost more than the best one.
///
/// # Panics
/// Panics as `assign` does.
pub fn runner_up(input: AssignInput<'_>, prices: &dyn Prices) -> Option<RunnerUp> {
    let mut search = Search::new(input, prices, Wanted::TwoBest);
    let (picks, cost) = search.best().second?;
    Some(RunnerUp { axes: search.all_axes(&picks), bytes_moved: cost.bytes_moved })
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Wanted {
    #[default]
    Best,
    TwoBest,
}

/// For each tensor, the prices computed so far, by [`Search::key`]. There are few, as few choices have to be priced,
/// and at most three times [`MAX_COMBINATIONS`].
type Known = RefCell<SmallVec<[SmallVec<[(u64, Price); 4]>; 4]>>;

/// The candidate that is chosen for each factor. Factors that are not decided yet have candidate 0, which is not split
/// unless the program places the factor's sum.
type Picks = [usize];

/// The cost of a choice. Costs are compared by the total, then by the bytes moved, then by the number of shards, of
/// which more are better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cost {
    total: u64,
    bytes_moved: u64,
    shards: std::cmp::Reverse<usize>,
}

/// The largest number of combinations that are compared one by one. With more, the factors are decided one after the
/// other. It is also the largest number of partial choices that each step of [`Search::widen`] makes, and that are made
/// to list [`KnownChoices`] once.
const MAX_COMBINATIONS: usize = 4096;

type Choice = (Vec<usize>, Cost);

struct Search<'a> {
    input: AssignInput<'a>,
    prices: &'a dyn Prices,
    wanted: Wanted,
    /// The prices of tensors that were computed so far. Empty until [`Search::best`].
    priced: Known,
    /// For each tensor, the factors that its price depends on. Empty until [`Search::best`].
    matters: SmallVec<[SmallVec<[Factor; 4]>; 4]>,
    lists: Lists,
    /// The axes that the tensors have for their factors.
    given: Given,
    /// For each factor, the lists of axes that may split it. The first list is empty unless the program places the sum
    /// along the factor.
    candidates: AllCandidates,
    /// The numbers of shards and the lower bounds of prices that belong to the candidates. Empty until
    /// [`Search::best`].
    bounds: Bounds,
    /// For each factor of which some candidate needs exchanges, what is exchanged with each candidate if all other
    /// factors are whole. The candidates that [`Search::widen`] adds are not in the list.
    exchanges: Vec<(Factor, Vec<Exchanged>)>,
    /// The dimensions that consist of several factors.
    compounds: SmallVec<[&'a DimFactors; 2]>,
}

impl<'a> Search<'a> {
    fn new(input: AssignInput<'a>, prices: &'a dyn Prices, wanted: Wanted) -> Search<'a> {
        let AssignInput { rule, mesh, shardings, .. } = input;
        let mut lists = Lists::new(mesh);
        let mut search = Search {
            input,
            prices,
            wanted,
            priced: RefCell::default(),
            matters: SmallVec::new(),
            given: Given::new(rule, mesh, shardings, &mut lists),
            lists,
            candidates: SmallVec::new(),
            bounds: Bounds::default(),
            exchanges: vec![],
            compounds: rule.mappings().flat_map(|m| &m.dims).filter(|d| d.len() > 1).collect(),
        };
        for factor in rule.all_factors() {
            let candidates = match can_split(rule, factor) {
                true if search.is_fixed(factor) => search.summed_candidates(factor),
                true => search.own_candidates(factor),
                false => smallvec![Lists::empty()],
            };
            let candidates = search.without_impossible(factor, candidates);
            search.candidates.push(candidates);
        }
        search
    }

    /// Returns the candidates without those with which elements would have to be exchanged and cannot be. Records what
    /// the others exchange. A single candidate is kept unchecked.
    fn without_impossible(&mut self, factor: Factor, mut candidates: Candidates) -> Candidates {
        if candidates.len() == 1 {
            return candidates;
        }
        let mut exchanges = vec![];
        candidates.retain(|list| {
            let axes = self.lists.axes(*list);
            let exchanged =
                if axes.is_empty() { Some(Exchanged::default()) } else { self.prices.exchanged(factor, axes) };
            exchanges.extend(exchanged);
            exchanged.is_some()
        });
        if !exchanges.iter().all(Exchanged::is_nothing) {
            self.exchanges.push((factor, exchanges));
        }
        candidates
    }

    fn axes(&self, factor: Factor, picks: &Picks) -> &AxisList {
        self.lists.axes(self.candidates[factor.index()][picks[factor.index()]])
    }

    fn all_axes(&self, picks: &Picks) -> Vec<AxisList> {
        self.input.rule.all_factors().map(|f| self.axes(f, picks).clone()).collect()
    }

    fn shards(&self, factor: Factor, picks: &Picks) -> usize {
        self.bounds.shards(factor, picks)
    }

    /// Returns the price of exchanges. The candidates that [`Search::widen`] adds need none.
    fn exchanged(&self, picks: &Picks) -> Price {
        let mesh = self.input.mesh;
        let (mut bytes, mut price, mut starts) = (0.0, 0.0, 0);
        for (factor, exchanges) in &self.exchanges {
            let exchanged = exchanges.get(picks[factor.index()]).filter(|exchanged| !exchanged.is_nothing());
            let Some(exchanged) = exchanged else { continue };
            let others = self.input.rule.factors_beside(*factor);
            let shards = others.map(|f| self.shards(f, picks)).product::<usize>() as f64;
            bytes += exchanged.bytes as f64 / shards;
            price += price_of_permute(exchanged.bytes, mesh, self.axes(*factor, picks).iter().copied()) as f64 / shards;
            starts += exchanged.price_of_starts(mesh);
        }
        let [bytes, price] = [bytes, price].map(|sum: f64| sum.round() as u64);
        Price { bytes, extra: price.saturating_sub(bytes) + starts }
    }

    /// Returns the lists of axes that may split the factor: the empty list first, then the lists that some tensor has
    /// for the factor, their major parts, and their parts before the first overlap with the axes of another factor.
    /// Lists that do not fit the factor are left out.
    fn own_candidates(&mut self, factor: Factor) -> Candidates {
        let mut found = smallvec![Lists::empty()];
        let mut seen: Candidates = smallvec![Lists::empty()];
        let of_factor: SmallVec<[Own; 4]> = self.given.of(factor).collect();
        for own in of_factor {
            if seen.contains(&own.list) {
                continue;
            }
            seen.push(own.list);
            let axes = self.lists.axes(own.list).clone();
            (1..=axes.len()).for_each(|n| self.add_candidate(factor, &axes[..n], &mut found));
            for at in 0..self.given.own.len() {
                let other = self.given.own[at];
                if other.factor != factor && self.lists.overlap(own.list, other.list) {
                    let mut rest = axes.to_vec();
                    AxisRef::truncate_overlaps(&mut rest, self.lists.axes(other.list));
                    self.add_candidate(factor, &rest, &mut found);
                }
            }
        }
        found
    }

    fn add_candidate(&mut self, factor: Factor, axes: &[AxisRef], found: &mut Candidates) {
        let list = self.lists.number(axes);
        if self.fits(factor, list) && !found.contains(&list) {
            found.push(list);
        }
    }

    /// Returns the axes that the first tensor with the factor has, operands first, as the only candidate if they fit,
    /// else all candidates.
    fn summed_candidates(&mut self, factor: Factor) -> Candidates {
        let own = self.given.of(factor).next().map(|own| own.list);
        match own.filter(|list| self.fits(factor, *list)) {
            Some(list) => smallvec![list],
            None => self.own_candidates(factor),
        }
    }

    fn fits(&self, factor: Factor, list: List) -> bool {
        let (size, shards) = (self.input.rule.size(factor), self.lists.shards(list));
        // The shards of a factor that shares a dimension with others must be even.
        match self.compounds.iter().any(|dim| dim.contains(&factor)) {
            true => size.is_multiple_of(shards) && shards <= size,
            false => shards <= size || size > 1 && self.input.rule.kind(factor) == FactorKind::PassThrough,
        }
    }

    fn assignment(mut self) -> Assignment {
        if let Some(found) = self.by_known_choices() {
            return found;
        }
        let (picks, cost) = self.best().first.expect("nothing split at all is always possible");
        Assignment { axes: self.all_axes(&picks), bytes_moved: cost.bytes_moved, price: cost.total }
    }

    fn best(&mut self) -> Best {
        let tensors = 0..self.input.rule.tensor_count();
        self.priced = RefCell::new(smallvec![SmallVec::new(); tensors.len()]);
        self.matters = tensors.map(|i| matters(self.input.rule, i).collect()).collect();
        self.bounds = Bounds::new(&self.input, &self.lists, &self.candidates, self.prices);
        let mut best = self.run();
        self.widen(&mut best);
        best
    }

    /// Compares the choices among the present candidates. If there are too many, decides the factors one after the
    /// other.
    fn run(&self) -> Best {
        let mut best = Best::of(self.wanted);
        let combinations = self.candidates.iter().try_fold(1usize, |n, c| n.checked_mul(c.len()));
        let mut picks = vec![0; self.candidates.len()];
        if combinations.is_some_and(|n| n <= MAX_COMBINATIONS) {
            self.try_all(&mut picks, &mut best);
        } else {
            self.try_one_by_one(&mut picks, &mut best);
        }
        best
    }

    /// Offers choices to `best` in the order of their [`bound`](Search::bound)s, and stops at the first bound above
    /// [`Best::limit`], so that few are priced.
    fn try_all(&self, picks: &mut Picks, best: &mut Best) {
        let (mut all, mut bounds) = (vec![], vec![]);
        self.list(0, picks, &mut |picks| {
            bounds.push((self.bound(picks), bounds.len()));
            all.extend_from_slice(picks);
        });
        bounds.sort_unstable();
        for (bound, at) in bounds {
            if bound > best.limit() {
                break;
            }
            let picks = &all[at * picks.len()..][..picks.len()];
            if let Some(cost) = self.cost_up_to(best.limit(), bound, picks) {
                best.offer_in_order(picks, cost);
            }
        }
    }

    /// Calls `take` with the choices among all candidates of the factors from number `from` on, in lexicographic order,
    /// given those in `picks` for the factors before. Leaves out choices that use an axis twice or that cannot be
    /// assembled. Sets `picks` to candidate 0 from `from` on.
    fn list(&self, from: usize, picks: &mut Picks, take: &mut impl FnMut(&Picks)) {
        let Some(candidates) = self.candidates.get(from) else {
            if self.is_whole(picks) {
                take(picks);
            }
            return;
        };
        for candidate in 0..candidates.len() {
            if self.is_free(from, candidate, picks) {
                picks[from] = candidate;
                self.list(from + 1, picks, take);
            }
        }
        picks[from] = 0;
    }

    fn is_free(&self, at: usize, candidate: usize, picks: &Picks) -> bool {
        let list = self.candidates[at][candidate];
        (0..at).all(|f| !self.lists.overlap(self.candidates[f][picks[f]], list))
    }

    /// Chooses the best axes for each factor, given those chosen for the factors before it and the first candidates of
    /// those after it, and offers each intermediate choice to `best`.
    fn try_one_by_one(&self, picks: &mut Picks, best: &mut Best) {
        best.offer(picks, self.cost(picks));
        for at in 0..self.candidates.len() {
            let mut local = Best::default();
            for candidate in 0..self.candidates[at].len() {
                picks[at] = candidate;
                let list = self.candidates[at][candidate];
                let overlaps = |f: usize| self.lists.overlap(self.candidates[f][picks[f]], list);
                let is_free = (0..picks.len()).all(|f| f == at || !overlaps(f));
                if is_free && self.is_whole(picks) && !self.is_beaten(picks, &local) {
                    local.offer(picks, self.cost(picks));
                }
            }
            let (chosen, cost) = local.first.expect("the first candidate is always free");
            picks.copy_from_slice(&chosen);
            best.offer(picks, cost);
        }
    }

    /// Returns true if each dimension can be assembled: a factor is split only if all factors before it in its
    /// dimension are split into single elements.
    fn is_whole(&self, picks: &Picks) -> bool {
        self.is_whole_with(&self.lists, |f| self.candidates[f.index()][picks[f.index()]])
    }

    /// Returns what [`is_whole`](Search::is_whole) does if each factor has this list among `lists`.
    fn is_whole_with(&self, lists: &Lists, list: impl Fn(Factor) -> List) -> bool {
        let is_full = |f: Factor| lists.shards(list(f)) == self.input.rule.size(f);
        self.compounds.iter().all(|dim| {
            let partial = dim.iter().position(|&f| !is_full(f)).unwrap_or(dim.len());
            dim.iter().skip(partial + 1).all(|&f| list(f) == Lists::empty())
        })
    }

    fn is_beaten(&self, picks: &Picks, best: &Best) -> bool {
        self.bound(picks) > best.limit()
    }

    /// Returns a lower bound of the total cost of a choice.
    fn bound(&self, picks: &Picks) -> u64 {
        let AssignInput { rule, work, .. } = self.input;
        let moves: u64 = (0..rule.tensor_count()).map(|i| self.bounds.of(i, picks)).sum();
        moves + work / self.all_shards(picks) as u64
    }

    fn all_shards(&self, picks: &Picks) -> usize {
        self.input.rule.all_factors().map(|f| self.shards(f, picks)).product()
    }

    fn cost(&self, picks: &Picks) -> Cost {
        budget::poll();
        let prices = (0..self.input.rule.tensor_count()).map(|i| self.price(i, picks));
        self.cost_with(prices.fold(Price::default(), Price::plus), picks)
    }

    /// Returns the cost of a choice. `bound` is its [`bound`](Search::bound). Returns `None` as soon as the prices of
    /// some tensors show that the total is more than `most`.
    fn cost_up_to(&self, most: u64, bound: u64, picks: &Picks) -> Option<Cost> {
        budget::poll();
        let (mut sum, mut rest) = (Price::default(), bound);
        for index in 0..self.input.rule.tensor_count() {
            rest -= self.bounds.of(index, picks);
            sum = sum.plus(self.price(index, picks));
            if sum.total() + rest > most {
                return None;
            }
        }
        Some(self.cost_with(sum, picks))
    }

    fn cost_with(&self, sum: Price, picks: &Picks) -> Cost {
        let shards = self.all_shards(picks);
        let sum = sum.plus(self.exchanged(picks));
        let (bytes_moved, total) = (sum.bytes, sum.total() + self.input.work / shards as u64);
        Cost { total, bytes_moved, shards: std::cmp::Reverse(shards) }
    }

    fn price(&self, index: usize, picks: &Picks) -> Price {
        if self.input.shardings[index].is_none() {
            return Price::default();
        }
        let Some(key) = self.key(index, picks) else { return self.compute_price(index, picks) };
        if let Some((_, price)) = self.priced.borrow()[index].iter().find(|(known, _)| *known == key) {
            return *price;
        }
        let price = self.compute_price(index, picks);
        self.priced.borrow_mut()[index].push((key, price));
        price
    }

    /// Returns a number such that tensor `index` has the same price in all choices with that number: the numbers of the
    /// candidates on which the price depends, in equally many bits each. Returns `None` if one of them has more bits.
    fn key(&self, index: usize, picks: &Picks) -> Option<u64> {
        let factors = &self.matters[index];
        let bits = u64::BITS as usize / factors.len().max(2);
        factors.iter().try_fold(0, |key, f| {
            let pick = picks[f.index()] as u64;
            (pick >> bits == 0).then_some(key << bits | pick)
        })
    }

    fn compute_price(&self, index: usize, picks: &Picks) -> Price {
        self.price_with(index, |f| self.axes(f, picks))
    }

    /// Returns the price of tensor `index` if the factors are split over these axes.
    fn price_with<'l>(&self, index: usize, axes: impl Fn(Factor) -> &'l [AxisRef]) -> Price {
        let AssignInput { rule, mesh, .. } = self.input;
        let layout = rule.mapping(index).axes(rule, mesh, &axes);
        let is_result = index >= rule.operands.len();
        let partial = if is_result { reduction_axes(rule, mesh, axes) } else { vec![] };
        self.prices.price(index, &layout, &partial)
    }
}

impl Price {
    fn total(self) -> u64 {
        self.bytes + self.extra
    }

    fn plus(self, other: Price) -> Price {
        Price { bytes: self.bytes + other.bytes, extra: self.extra + other.extra }
    }
}

/// Returns true if the op can run split along the factor over the axes that tensors have for it.
fn can_split(rule: &Rule, factor: Factor) -> bool {
    match rule.kind(factor) {
        FactorKind::PassThrough => rule.results.is_empty() || rule.results.iter().any(|r| r.contains(factor)),
        FactorKind::Reduction | FactorKind::Permutation => true,
        FactorKind::NeedReplication => false,
    }
}

fn matters(rule: &Rule, index: usize) -> impl Iterator<Item = Factor> {
    let is_result = index >= rule.operands.len();
    let is_summed = move |f: Factor| is_result && rule.kind(f) == FactorKind::Reduction;
    rule.all_factors().filter(move |&f| rule.mapping(index).contains(f) || is_summed(f))
}

fn reduction_factors(rule: &Rule) -> impl Iterator<Item = Factor> {
    rule.all_factors().filter(|&f| rule.kind(f) == FactorKind::Reduction)
}

fn reduction_axes<'a>(rule: &Rule, mesh: &Mesh, axes: impl Fn(Factor) -> &'a [AxisRef]) -> Vec<AxisRef> {
    let mut all: Vec<AxisRef> = reduction_factors(rule).flat_map(|f| axes(f).iter().copied()).collect();
    AxisRef::sort_and_merge(&mut all, mesh);
    all
}

/// Returns true if two lists share a part of an axis, or split an axis in contradictory ways.
fn overlap(a: &[AxisRef], b: &[AxisRef]) -> bool {
    a.iter().any(|a| a.prefix_without_overlaps(b) != Some(*a))
}

/// The best choice so far, and the second best. If only the best one is wanted, the second one may be any other choice.
#[derive(Default)]
struct Best {
    wanted: Wanted,
    first: Option<Choice>,
    second: Option<Choice>,
}

impl Best {
    fn of(wanted: Wanted) -> Best {
        Best { wanted, first: None, second: None }
    }

    /// Returns the total cost above which a choice is of no use.
    fn limit(&self) -> u64 {
        let last = match self.wanted {
            Wanted::Best => &self.first,
            Wanted::TwoBest => &self.second,
        };
        last.as_ref().map_or(u64::MAX, |(_, cost)| cost.total)
    }

    fn offer(&mut self, picks: &Picks, cost: Cost) {
        self.offer_if(picks, cost, |(_, known)| cost < *known);
    }

    /// Records a choice as the best or the second best one if there is none yet, or if it costs less, or as much and
    /// comes before it in lexicographic order. The order in which choices are offered then does not matter.
    fn offer_in_order(&mut self, picks: &Picks, cost: Cost) {
        self.offer_if(picks, cost, |(other, known)| (cost, picks) < (*known, other));
    }

    fn offer_if(&mut self, picks: &Picks, cost: Cost, beats: impl Fn(&Choice) -> bool) {
        if self.first.as_ref().is_none_or(&beats) {
            self.second = self.first.replace((picks.to_vec(), cost));
        } else if self.second.as_ref().is_none_or(&beats) {
            self.second = Some((picks.to_vec(), cost));
        }
    }
}
