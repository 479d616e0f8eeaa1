//! Choices that split a factor over axes which no tensor has for it.

use super::{Best, Choice, MAX_COMBINATIONS, Picks, Price, Search};
use crate::{AxisList, Factor};
use shardwise_base::{AxisIndex, AxisRef, budget};

/// With more parts of axes than this, only the lists that tensors have are tried.
const MAX_PARTS: usize = 6;

/// A comparison of all choices, factor by factor.
struct Wide<'a, 'b> {
    search: &'a Search<'b>,
    /// For each number of decided factors, the tensors whose price is known from then on.
    decided: Vec<Vec<usize>>,
    /// The most elements along all factors that one device may compute; `None` for ops that are no products.
    limit: Option<u64>,
    /// The number of partial choices that may still be made.
    left: usize,
}

impl Search<'_> {
    /// Adds the choices that use the tensors' axes for other factors, unless the best so far moves nothing. A product
    /// is then limited to the choices in which a device computes least.
    pub(super) fn widen(&mut self, best: &mut Best) {
        let Some(parts) = self.parts() else { return };
        let is_limited = self.prices.is_product() && !self.parties.rule.all_factors().any(|f| self.is_fixed(f));
        let first = best.first.as_ref().expect("nothing split at all is always possible");
        let is_free = first.1.bytes_moved == 0;
        let all = AxisRef::total_size(self.parties.mesh, &parts);
        let uses_all = |choice: &Choice| choice.1.shards.0 == all;
        if is_free && (!is_limited || uses_all(first)) || !is_limited && !self.has_displaced_axes() {
            return;
        }
        let orders = self.orders(&parts);
        let mut candidates: Vec<Vec<AxisList>> =
            self.parties.rule.all_factors().map(|f| self.wide_candidates(f, &orders)).collect();
        std::mem::swap(&mut self.candidates, &mut candidates);
        if !self.search_wide(is_limited, best) {
            // The limit was found, but not within the number of choices that may be made.
            self.candidates = candidates;
            *best = self.run();
        }
    }

    /// Compares the choices among all candidates. Returns whether there is one.
    fn search_wide(&self, is_limited: bool, best: &mut Best) -> bool {
        let mut wide = Wide { search: self, decided: self.decided(), limit: None, left: MAX_COMBINATIONS };
        let mut picks = vec![0; self.candidates.len()];
        if is_limited {
            let mut least = u64::MAX;
            wide.least_work(0, &mut picks, &mut least);
            wide.limit = Some(least);
            wide.left = MAX_COMBINATIONS;
            let is_within = |choice: &Choice| self.computed(&choice.0) <= least;
            best.first = best.first.take().filter(is_within);
            best.second = best.second.take().filter(is_within);
            if best.first.is_none() {
                best.first = best.second.take();
            }
        }
        wide.try_all(0, &mut picks, Price::default(), best);
        best.first.is_some()
    }

    /// Returns whether a factor is not free to choose, because the program places its sum.
    fn is_fixed(&self, factor: Factor) -> bool {
        self.parties.summed.contains(&factor)
    }

    /// Returns whether a tensor has an axis for a factor that cannot be split.
    fn has_displaced_axes(&self) -> bool {
        let factors = self.projection.tensors.iter().flat_map(|t| t.iter());
        factors.into_iter().any(|(f, own)| self.candidates[f.index()].len() == 1 && !own.axes.is_empty())
    }

    /// Returns the parts of axes in which all tensors' lists can be written, or `None` if there are too many, or if
    /// tensors cut an axis in contradictory ways.
    fn parts(&self) -> Option<Vec<AxisRef>> {
        let mesh = self.parties.mesh;
        let lists = self.projection.tensors.iter().flat_map(|t| t.iter());
        let all: Vec<AxisRef> = lists.flat_map(|(_, own)| own.axes.iter().chain(&own.overflow).copied()).collect();
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
        parts.retain(|p| p.size(mesh) > 1);
        (!parts.is_empty() && parts.len() <= MAX_PARTS).then_some(parts)
    }

    /// Returns the lists of parts that are tried: every set of parts, in the order of the mesh and in the order in which
    /// a tensor has them.
    fn orders(&self, parts: &[AxisRef]) -> Vec<AxisList> {
        let mesh = self.parties.mesh;
        let own: Vec<&AxisList> = self
            .projection
            .tensors
            .iter()
            .flat_map(|t| t.iter())
            .map(|(_, s)| &s.axes)
            .filter(|a| a.len() > 1)
            .collect();
        let mut found: Vec<AxisList> = vec![];
        for set in 1..1usize << parts.len() {
            let chosen: Vec<AxisRef> = (0..parts.len()).filter(|i| set >> i & 1 == 1).map(|i| parts[i]).collect();
            let place =
                |list: &AxisList, part: AxisRef| list.iter().position(|a| a.contains(part)).unwrap_or(list.len());
            let mut sorted = vec![chosen.clone()];
            for list in &own {
                let mut like = chosen.clone();
                like.sort_by_key(|&part| place(list, part));
                sorted.push(like);
            }
            for order in sorted {
                let mut list = AxisList::new();
                order.into_iter().for_each(|part| AxisRef::push_or_merge(&mut list, part, mesh));
                if !found.contains(&list) {
                    found.push(list);
                }
            }
        }
        found
    }

    /// Returns the candidates of a factor and all other lists that split it evenly and need no exchange.
    fn wide_candidates(&self, factor: Factor, orders: &[AxisList]) -> Vec<AxisList> {
        let mut candidates = self.candidates[factor.index()].clone();
        if !self.may_split(factor) || self.is_fixed(factor) {
            return candidates;
        }
        let (size, mesh) = (self.parties.rule.size(factor), self.parties.mesh);
        let is_even = |list: &AxisList| size.is_multiple_of(AxisRef::total_size(mesh, list));
        for list in orders.iter().filter(|list| is_even(list) && self.fits(factor, list)) {
            if !candidates.contains(list) && self.prices.exchanged(factor, list) == Some(0) {
                candidates.push(list.clone());
            }
        }
        candidates
    }

    fn may_split(&self, factor: Factor) -> bool {
        self.is_splittable[factor.index()]
    }

    /// Returns, for each number of decided factors, the tensors whose price no later factor affects.
    fn decided(&self) -> Vec<Vec<usize>> {
        let mut decided = vec![vec![]; self.candidates.len() + 1];
        for (index, matters) in self.matters.iter().enumerate() {
            decided[matters.last().map_or(0, |f| f.index() + 1)].push(index);
        }
        decided
    }

    /// Returns the elements along all factors that one device computes.
    fn computed(&self, picks: &Picks) -> u64 {
        let rule = self.parties.rule;
        let blocks = rule.all_factors().map(|f| rule.size(f).div_ceil(self.shards(f, picks)) as u64);
        blocks.fold(1, u64::saturating_mul)
    }
}

impl Wide<'_, '_> {
    /// Finds the fewest elements that one device computes, with any candidates of the factors from number `from` on.
    fn least_work(&mut self, from: usize, picks: &mut Picks, least: &mut u64) {
        let Some(candidates) = self.search.candidates.get(from) else {
            if self.search.is_whole(picks) {
                *least = (*least).min(self.search.computed(picks));
            }
            return;
        };
        for candidate in 0..candidates.len() {
            if !self.search.is_free(from, candidate, picks) {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            picks[from] = candidate;
            self.least_work(from + 1, picks, least);
        }
        picks[from] = 0;
    }

    /// Compares all choices of the factors from number `from` on. `spent` are the prices that the factors before them
    /// determine.
    fn try_all(&mut self, from: usize, picks: &mut Picks, spent: Price, best: &mut Best) {
        budget::poll();
        let search = self.search;
        let now = self.decided[from].iter().fold(spent, |sum, &index| sum.plus(search.price(index, picks)));
        if best.second.as_ref().is_some_and(|(_, cost)| now.bytes + now.starts > cost.total) {
            return;
        }
        let Some(candidates) = search.candidates.get(from) else {
            let is_within = self.limit.is_none_or(|limit| search.computed(picks) <= limit);
            let is_new = || best.first.as_ref().is_none_or(|(first, _)| first != picks);
            if is_within && search.is_whole(picks) && is_new() {
                best.offer(picks, search.cost(picks));
            }
            return;
        };
        for candidate in 0..candidates.len() {
            if !search.is_free(from, candidate, picks) {
                continue;
            }
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            picks[from] = candidate;
            self.try_all(from + 1, picks, now, best);
        }
        picks[from] = 0;
    }
}
