//! Choices that split a factor over axes which no tensor has for it.

use super::bounds::{Bounds, Decided};
use super::lists::{AllCandidates, Candidates, List, Lists};
use super::{AssignInput, Best, Choice, Cost, MAX_COMBINATIONS, Picks, Search, Wanted, can_split};
use crate::{AxisList, Factor, FactorKind};
use shardwise_base::{AxisIndex, AxisRef};
use smallvec::SmallVec;
use std::ops::Range;

/// In a product of which the program places no sum, a device may compute more elements than the least possible number,
/// by at most that number divided by this constant. An uneven split that moves little is then not ruled out by its
/// padding.
pub(super) const PADDING: u64 = 16;

/// The largest number of parts of axes from which lists of axes are made that no tensor has. With more parts, no such
/// lists are made.
pub(super) const MAX_PARTS: usize = 6;

#[derive(Clone, Copy)]
struct Candidate {
    /// The parts of axes that the candidate uses, a bit for each.
    used: u64,
    /// The number of elements along the factor in a block, rounded up.
    block: u64,
}

struct Wide<'a, 'b> {
    search: &'a Search<'b>,
    candidates: SmallVec<[SmallVec<[Candidate; 12]>; 4]>,
    /// For each set of parts of axes, the number of shards into which they can split the op. Parts of size 1, which
    /// come last, are in no set.
    shards: Vec<u64>,
    /// For each number of decided factors and each set of parts that these use, the elements along all other factors
    /// that one device computes at least. 0 until it is computed, and [`u64::MAX`] if there are no elements.
    least: Vec<u64>,
    /// For each number of decided factors and each set of parts that these use, the range in `followers` of the
    /// candidates of the next factor that use none of these parts. `None` until they are listed.
    following: Vec<Option<(u32, u32)>>,
    followers: Vec<u32>,
    /// The most elements along all factors that one device may compute, or `None` if there is no limit.
    limit: Option<u64>,
    /// The price that the moves must stay below, or `u64::MAX` if there is no limit.
    most: u64,
    /// The number of partial choices that may still be made.
    left: usize,
}

impl Search<'_> {
    /// Compares the choices that use the tensors' axes for other factors too, and offers them to `best`. A product is
    /// then limited to the choices in which a device computes least, up to [`PADDING`], unless the program places one
    /// of its sums. Choices in `best` beyond this limit are dropped, and parts of axes and free axes are tried next.
    /// Adds the new candidates to those of `self`. If no choice within the limit is found, keeps the old candidates,
    /// and sets `best` to the best choices among them.
    ///
    /// Changes nothing if no tensor is split, if there are too many parts of axes, if tensors cut an axis in
    /// contradictory ways, or if the best choice so far moves nothing and, for a limited product, also splits the work
    /// over all axes that tensors have. An op that is not limited is also left as it is if each factor for which a
    /// tensor has axes has several candidates.
    pub(super) fn widen(&mut self, best: &mut Best) {
        let Some(parts) = self.parts() else { return };
        let wide: Vec<AxisRef> = parts.iter().copied().filter(|p| p.size(self.input.mesh) > 1).collect();
        if wide.is_empty() || wide.len() > MAX_PARTS {
            return;
        }
        let is_limited = self.is_limited();
        let first = best.first.as_ref().expect("nothing split at all is always possible");
        let is_free = first.1.bytes_moved == 0;
        let all = AxisRef::total_size(self.input.mesh, &wide);
        let uses_all = |choice: &Choice| choice.1.shards.0 == all;
        if is_free && (!is_limited || uses_all(first)) || !is_limited && !self.has_displaced_axes() {
            return;
        }
        let (candidates, bounds) = self.add_candidates(&wide);
        if !self.search_wide(&parts, is_limited, best) {
            // The limit was found, but not within the number of choices that may be made.
            (self.candidates, self.bounds) = (candidates, bounds);
            *best = self.run();
        } else if is_limited {
            self.refine(&parts, best);
        }
    }

    /// Compares the choices of a product that use free axes, which no tensor has, and parts of axes. One that costs
    /// less than the best choice so far, with cheaper moves, and in which no device computes more, becomes the best,
    /// and the best choice so far becomes the second best. Adds the new candidates to those of `self`.
    ///
    /// Changes nothing if the best choice so far moves nothing, if [`AssignInput::is_coarse`] is true, if there are too
    /// many parts of axes or no others than `parts`, or if `parts` cannot be written with
    /// [`Mesh::prime_parts`](shardwise_base::Mesh::prime_parts).
    fn refine(&mut self, parts: &[AxisRef], best: &mut Best) {
        let first = best.first.as_ref().expect("there is a choice").clone();
        let Some(fine) = self.fine_parts(parts).filter(|_| first.1.bytes_moved > 0) else { return };
        self.add_candidates(&fine);
        let mut wide = Wide::new(self, &fine);
        wide.limit = Some(self.computed(&first.0));
        wide.most = self.moved(&first.1);
        let mut finer = Best { wanted: Wanted::Best, first: Some(first), second: None };
        wide.try_all(false, &mut finer);
        if finer.first != best.first {
            best.second = std::mem::replace(&mut best.first, finer.first);
        }
    }

    /// Returns the parts of prime size of which `parts` and the free axes consist. Returns `None` if there are too
    /// many, if they are `parts` themselves, if `parts` cannot be written with them, or if they are to be left out.
    pub(super) fn fine_parts(&self, parts: &[AxisRef]) -> Option<Vec<AxisRef>> {
        if self.input.is_coarse {
            return None;
        }
        let mesh = self.input.mesh;
        let is_known = |part: &AxisRef| parts.iter().chain(self.input.free).any(|known| known.contains(*part));
        let fine: Vec<AxisRef> = mesh.prime_parts().into_iter().filter(is_known).collect();
        let is_cut = |part: &AxisRef| {
            let inner = fine.iter().filter(|f| part.contains(**f)).map(|f| f.size(mesh));
            inner.product::<usize>() == part.size(mesh)
        };
        let is_finer = fine.len() <= MAX_PARTS && fine != parts && parts.iter().all(is_cut);
        is_finer.then_some(fine)
    }

    /// Adds to the candidates of each factor the lists of these parts of axes that [`Search::wide_candidates`] accepts,
    /// and computes the bounds anew. Returns the candidates and bounds that there were before.
    fn add_candidates(&mut self, parts: &[AxisRef]) -> (AllCandidates, Bounds) {
        let orders = self.orders(parts);
        let wider = |f: Factor| self.wide_candidates(f, self.candidates[f.index()].clone(), &orders);
        let candidates: AllCandidates = self.input.rule.all_factors().map(wider).collect();
        let bounds = Bounds::new(&self.input, &self.lists, &candidates, self.prices);
        (std::mem::replace(&mut self.candidates, candidates), std::mem::replace(&mut self.bounds, bounds))
    }

    pub(super) fn moved(&self, cost: &Cost) -> u64 {
        cost.total - self.input.work / cost.shards.0 as u64
    }

    /// Compares the choices among all candidates, and offers them to `best`. `parts` are the parts of axes of which the
    /// candidates consist. If `is_limited` is true, only choices in which a device computes least, up to [`PADDING`],
    /// are compared, and others are dropped from `best`. Makes no more than [`MAX_COMBINATIONS`] partial choices to
    /// compare them, and as many to find the limit. Returns true if `best` has a choice afterwards.
    fn search_wide(&self, parts: &[AxisRef], is_limited: bool, best: &mut Best) -> bool {
        let mut wide = Wide::new(self, parts);
        // The second best choice may be any other choice.
        let mut is_displaced = false;
        if is_limited {
            let mut least = u64::MAX;
            wide.least_work(wide.start(), &mut vec![0; self.candidates.len()], &mut least);
            let limit = least.saturating_add(least / PADDING);
            wide.limit = Some(limit);
            wide.left = MAX_COMBINATIONS;
            let is_within = |choice: &Choice| self.computed(&choice.0) <= limit;
            best.first = best.first.take().filter(is_within);
            best.second = best.second.take().filter(is_within);
            if best.first.is_none() {
                is_displaced = true;
                best.first = best.second.take();
            }
        }
        best.wanted = self.wanted;
        wide.try_all(is_displaced, best);
        best.first.is_some()
    }

    /// Returns true if [`Search::widen`] limits the op to choices in which no device computes much more than it must.
    pub(super) fn is_limited(&self) -> bool {
        self.prices.is_product() && !self.input.rule.all_factors().any(|f| self.is_fixed(f))
    }

    /// Returns true if the program places the sum along the factor.
    pub(super) fn is_fixed(&self, factor: Factor) -> bool {
        self.input.summed.contains(&factor)
    }

    fn has_displaced_axes(&self) -> bool {
        self.given.own.iter().any(|own| self.candidates[own.factor.index()].len() == 1 && own.list != Lists::empty())
    }

    /// Returns the parts of axes in which all tensors' lists can be written, or `None` if there are more than 64, or if
    /// tensors cut an axis in contradictory ways.
    pub(super) fn parts(&self) -> Option<Vec<AxisRef>> {
        let mesh = self.input.mesh;
        let all = self.given.axes(&self.lists);
        let mut parts = vec![];
        for axis in (0..mesh.axes.len()).map(AxisIndex::new) {
            let own = || all.iter().filter(|a| a.axis == axis);
            let mut ends: Vec<usize> = own().flat_map(|a| [a.pre_size(), a.next_pre_size(mesh)]).collect();
            ends.sort_unstable();
            ends.dedup();
            for pair in ends.windows(2) {
                if !pair[1].is_multiple_of(pair[0]) {
                    return None;
                }
                let part = AxisRef::sub(mesh, axis, pair[0], pair[1] / pair[0]);
                parts.extend(own().any(|a| a.contains(part)).then_some(part));
            }
        }
        parts.extend(all.iter().copied().filter(|a| a.size(mesh) == 1));
        (parts.len() <= 64).then_some(parts)
    }

    /// Returns the lists of axes that are tried: every set of parts that is not empty, in the order of `parts` and in
    /// the order of each list of several axes that a tensor has for a factor. Parts that continue one another are
    /// merged, and no list is returned twice.
    pub(super) fn orders(&mut self, parts: &[AxisRef]) -> Vec<List> {
        let mesh = self.input.mesh;
        let mut own: SmallVec<[List; 8]> = SmallVec::new();
        for list in self.given.own.iter().map(|own| own.list).filter(|&list| self.lists.axes(list).len() > 1) {
            if !own.contains(&list) {
                own.push(list);
            }
        }
        let mut found = Vec::with_capacity(1 << parts.len());
        for set in 1..1usize << parts.len() {
            let chosen: SmallVec<[AxisRef; 8]> =
                (0..parts.len()).filter(|i| set >> i & 1 == 1).map(|i| parts[i]).collect();
            // Lists of different sets differ, so a list is first compared with those of its own set.
            let mut of_set: SmallVec<[AxisList; 4]> = SmallVec::new();
            for like in [None].into_iter().chain(own.iter().copied().map(Some)) {
                let mut order = chosen.clone();
                if let Some(like) = like {
                    let like = self.lists.axes(like);
                    order.sort_by_key(|part| like.iter().position(|a| a.contains(*part)).unwrap_or(like.len()));
                }
                let mut list = AxisList::new();
                order.into_iter().for_each(|part| AxisRef::push_or_merge(&mut list, part, mesh));
                if !of_set.contains(&list) {
                    of_set.push(list);
                }
            }
            found.extend(of_set.iter().map(|list| self.lists.number(list)));
        }
        found
    }

    /// Returns `candidates`, which a factor has, followed by the other lists of `orders` that fit the factor, split it
    /// evenly and need no exchange. Returns only `candidates` if the op cannot run split along the factor over
    /// arbitrary axes, or if the program places its sum.
    pub(super) fn wide_candidates(&self, factor: Factor, mut candidates: Candidates, orders: &[List]) -> Candidates {
        if !self.may_split(factor) {
            return candidates;
        }
        let size = self.input.rule.size(factor);
        let is_even = |list: List| size.is_multiple_of(self.lists.shards(list));
        let own = candidates.len();
        for &list in orders.iter().filter(|&&list| is_even(list) && self.fits(factor, list)) {
            let is_own = candidates[..own].contains(&list);
            let exchanged = || self.prices.exchanged(factor, self.lists.axes(list));
            if !is_own && exchanged().is_some_and(|exchanged| exchanged.is_nothing()) {
                candidates.push(list);
            }
        }
        candidates
    }

    /// Returns true if the op can run split along the factor over arbitrary axes, and the program does not place its
    /// sum.
    pub(super) fn may_split(&self, factor: Factor) -> bool {
        let is_passed = self.input.rule.kind(factor) != FactorKind::Permutation;
        is_passed && can_split(self.input.rule, factor) && !self.is_fixed(factor)
    }

    /// Returns the number of elements along all factors that one device computes, rounded up where a factor is split
    /// unevenly.
    fn computed(&self, picks: &Picks) -> u64 {
        let rule = self.input.rule;
        let blocks = rule.all_factors().map(|f| rule.size(f).div_ceil(self.shards(f, picks)) as u64);
        blocks.fold(1, u64::saturating_mul)
    }
}

/// A partial choice: the first `count` factors are decided.
#[derive(Clone, Copy)]
struct State {
    count: usize,
    /// The parts of axes that the decided factors use.
    used: u64,
    /// The elements along the decided factors that one device computes.
    computed: u64,
}

impl<'a, 'b> Wide<'a, 'b> {
    fn new(search: &'a Search<'b>, parts: &[AxisRef]) -> Wide<'a, 'b> {
        let AssignInput { rule, mesh, .. } = search.input;
        let used = search.lists.used(parts);
        let candidates = |f: Factor| {
            let of = |&list: &List| {
                let shards = search.lists.shards(list);
                Candidate { used: used[list], block: rule.size(f).div_ceil(shards) as u64 }
            };
            search.candidates[f.index()].iter().map(of).collect()
        };
        let sizes: SmallVec<[u64; MAX_PARTS]> = parts.iter().map(|p| p.size(mesh) as u64).filter(|&n| n > 1).collect();
        let shards = |set: usize| (0..sizes.len()).filter(|i| set >> i & 1 == 1).map(|i| sizes[i]).product();
        let shards: Vec<u64> = (0..1 << sizes.len()).map(shards).collect();
        Wide {
            search,
            candidates: rule.all_factors().map(candidates).collect(),
            least: vec![0; (rule.factors.len() + 1) * shards.len()],
            following: vec![None; rule.factors.len() * shards.len()],
            followers: vec![],
            shards,
            limit: None,
            most: u64::MAX,
            left: MAX_COMBINATIONS,
        }
    }

    fn start(&self) -> State {
        State { count: 0, used: 0, computed: 1 }
    }

    fn with(&self, state: State, candidate: usize) -> Option<State> {
        let Candidate { used, block } = self.candidates[state.count][candidate];
        (state.used & used == 0).then(|| State {
            count: state.count + 1,
            used: state.used | used,
            computed: state.computed.saturating_mul(block),
        })
    }

    /// Returns the set of parts of more than one shard that the decided factors of `state` use, as an index of `shards`.
    fn set(&self, state: State) -> usize {
        state.used as usize & (self.shards.len() - 1)
    }

    /// Returns the number of shards into which the parts that no decided factor uses can split the op.
    fn free(&self, state: State) -> u64 {
        self.shards[self.shards.len() - 1 - self.set(state)]
    }

    /// Returns a number of elements that one device computes at least, whatever is chosen for the other factors.
    fn least_computed(&mut self, state: State) -> u64 {
        let at = state.count * self.shards.len() + self.set(state);
        if self.least[at] == 0 {
            let rule = self.search.input.rule;
            let sizes = rule.all_factors().skip(state.count).map(|f| rule.size(f) as u64);
            let rest = sizes.fold(1, u64::saturating_mul);
            self.least[at] = if rest == 0 { u64::MAX } else { (rest / self.free(state)).clamp(1, u64::MAX - 1) };
        }
        match self.least[at] {
            u64::MAX => 0,
            least => state.computed.saturating_mul(least),
        }
    }

    /// Returns the range in `followers` of the candidates of the next factor that use no part of size over 1 which the
    /// decided factors use, in the order of the candidates.
    fn followers(&mut self, state: State) -> Range<usize> {
        let at = state.count * self.shards.len() + self.set(state);
        let (first, end) = self.following[at].unwrap_or_else(|| {
            let (first, set) = (self.followers.len() as u32, self.set(state) as u64);
            let candidates = self.candidates[state.count].iter().enumerate();
            self.followers.extend(candidates.filter(|(_, c)| c.used & set == 0).map(|(i, _)| i as u32));
            (first, self.followers.len() as u32)
        });
        self.following[at] = Some((first, end));
        first as usize..end as usize
    }

    /// Lowers `least` to the fewest elements that one device computes in a choice that continues `state` and that every
    /// tensor can have, if these are fewer. Ends early, with `least` perhaps too large, once `left` is 0.
    fn least_work(&mut self, state: State, picks: &mut Picks, least: &mut u64) {
        if state.count == self.candidates.len() {
            if self.search.is_whole(picks) {
                *least = (*least).min(state.computed);
            }
            return;
        }
        for at in self.followers(state) {
            let candidate = self.followers[at] as usize;
            let Some(next) = self.with(state, candidate) else { continue };
            if self.least_computed(next) >= *least {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            picks[state.count] = candidate;
            self.least_work(next, picks, least);
        }
        picks[state.count] = 0;
    }

    /// Compares all choices, and offers those to `best` that cost less than its own, or as much if `ties` is true and
    /// they come before them in lexicographic order. Leaves out choices beyond [`limit`](Wide::limit), and those that
    /// do not stay below [`most`](Wide::most). The other choices are priced in the order of their bounds, so that few
    /// have to be. Leaves out further choices when no more partial choices may be made.
    fn try_all(&mut self, ties: bool, best: &mut Best) {
        let search = self.search;
        let finds_one = best.wanted == Wanted::Best;
        let mut listed = Listed { most: best.limit(), finds_one, picks: vec![], bounds: vec![] };
        self.list(self.start(), &mut search.bounds.undecided(), &mut vec![0; self.candidates.len()], &mut listed);
        listed.bounds.sort_unstable();
        let known = best.first.as_ref().map(|(picks, _)| picks.clone());
        let mut fresh = Best::of(best.wanted);
        for (bound, at) in listed.bounds {
            let limit = best.limit().min(fresh.limit());
            if bound > limit {
                break;
            }
            let picks = &listed.picks[at * self.candidates.len()..][..self.candidates.len()];
            if search.is_whole(picks) && known.as_deref() != Some(picks) {
                let cost = search.cost_up_to(limit, bound, picks).filter(|cost| search.moved(cost) < self.most);
                cost.into_iter().for_each(|cost| fresh.offer_in_order(picks, cost));
            }
        }
        for (picks, cost) in [fresh.first, fresh.second].into_iter().flatten() {
            if ties { best.offer_in_order(&picks, cost) } else { best.offer(&picks, cost) }
        }
    }

    /// Adds the choices that continue `state` to `listed`, with their bounds. `decided` and `picks` have the decided
    /// factors of `state`. Leaves out choices beyond [`limit`](Wide::limit), choices that are too expensive according
    /// to their bounds, and the rest once `left` is 0.
    fn list(&mut self, state: State, decided: &mut Decided, picks: &mut Picks, listed: &mut Listed) {
        let search = self.search;
        if state.count == self.candidates.len() {
            if listed.finds_one && listed.most == u64::MAX && search.is_whole(picks) {
                listed.most = search.cost(picks).total;
            }
            let work = search.input.work / self.shards[self.set(state)];
            let bound = search.bounds.of_decided(decided, picks) + work;
            listed.bounds.push((bound, listed.bounds.len()));
            listed.picks.extend_from_slice(picks);
            return;
        }
        let work = search.input.work / self.shards[self.shards.len() - 1];
        for at in self.followers(state) {
            let candidate = self.followers[at] as usize;
            let Some(next) = self.with(state, candidate) else { continue };
            if let Some(limit) = self.limit
                && self.least_computed(next) > limit
            {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            picks[state.count] = candidate;
            search.bounds.decide(decided, Factor::new(state.count), candidate);
            let moves = search.bounds.of_partial(decided, next.count, self.free(next));
            if moves < self.most && moves + work <= listed.most {
                self.list(next, decided, picks, listed);
            }
            search.bounds.undo(decided);
        }
        picks[state.count] = 0;
    }
}

/// The choices that a [`Wide`] comparison may have to price, in lexicographic order.
struct Listed {
    /// The most that a choice may cost: the cost of some other choice, or `u64::MAX` if none is known.
    most: u64,
    /// True if only the best choice is wanted, so that the cost of any other choice is such a limit.
    finds_one: bool,
    /// The candidates of all choices, one choice after the other.
    picks: Vec<usize>,
    /// For each choice, its bound and its number.
    bounds: Vec<(u64, usize)>,
}
