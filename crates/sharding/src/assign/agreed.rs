//! Ops whose tensors agree on all factors, so that no choices need to be compared.

use super::{AssignInput, Assignment, Prices, can_split, overlap};
use crate::{AxisList, Factor, FactorKind};
use shardwise_base::AxisRef;
use smallvec::{SmallVec, smallvec};

/// Returns the axes that all tensors have for their factors, if the op can run split over them. Nothing moves then, and
/// every other choice among these axes has fewer shards.
///
/// Returns `None` if tensors have different axes for a factor or overlapping axes for different factors, if a tensor
/// with a sharding has a dimension of several factors or is unreduced, if an axis has size 1, or if a split factor
/// shares a dimension with others, has fewer elements than shards, or cannot be split without a sum or an exchange.
pub(super) fn agreed(input: &AssignInput<'_>, prices: &dyn Prices) -> Option<Assignment> {
    let AssignInput { rule, mesh, shardings, work, .. } = *input;
    let mut found: SmallVec<[Option<&[AxisRef]>; 8]> = smallvec![None; rule.factors.len()];
    for (mapping, sharding) in rule.mappings().zip(shardings) {
        let Some(sharding) = sharding else { continue };
        if !sharding.unreduced.is_empty() {
            return None;
        }
        for (dim, factors) in sharding.dims.iter().zip(&mapping.dims) {
            let &[factor] = &factors[..] else { return None };
            if *found[factor.index()].get_or_insert(&dim.axes) != dim.axes {
                return None;
            }
        }
    }
    let mut shards = 1;
    let is_split = |f: &Factor| !found[f.index()].unwrap_or_default().is_empty();
    for factor in rule.all_factors().filter(is_split) {
        let axes = found[factor.index()]?;
        let count = AxisRef::total_size(mesh, axes);
        let is_free = |f: Factor| f == factor || !overlap(axes, found[f.index()].unwrap_or_default());
        let is_possible = rule.kind(factor) == FactorKind::PassThrough
            && can_split(rule, factor)
            && count <= rule.size(factor)
            && rule.mappings().flat_map(|m| &m.dims).all(|dim| dim.len() == 1 || !dim.contains(&factor))
            && prices.exchanged(factor, axes).is_some_and(|exchanged| exchanged.is_nothing());
        if !is_possible || axes.iter().any(|a| a.size(mesh) == 1) || !rule.all_factors().all(is_free) {
            return None;
        }
        shards *= count;
    }
    let axes = found.iter().map(|axes| axes.map_or_else(AxisList::new, AxisList::from)).collect();
    Some(Assignment { axes, bytes_moved: 0, price: work / shards as u64 })
}

#[cfg(test)]
mod tests {
    use super::super::{Exchanged, LeastPrice, Price, Search, Wanted};
    use super::*;
    use crate::Rule;
    use shardwise_base::{Mesh, Sharding};
    use std::borrow::Cow;
    use std::sync::Arc;

    /// Prices of moves that take no time.
    struct Free;

    impl Prices for Free {
        fn price(&self, _: usize, _: &[Cow<'_, [AxisRef]>], _: &[AxisRef]) -> Price {
            Price::default()
        }

        fn least(&self, _: usize) -> LeastPrice {
            LeastPrice { element_bytes: 0, start: 0, runs: 1 }
        }

        fn is_summed(&self, _: usize) -> bool {
            true
        }

        fn exchanged(&self, factor: Factor, _: &[AxisRef]) -> Option<Exchanged> {
            (factor.index() != 2).then(Exchanged::default)
        }

        fn is_product(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_tensors_agree_on_is_what_a_search_finds() {
        let mesh = Arc::new(Mesh::new("mesh", [("a", 2), ("b", 4), ("c", 1)]).unwrap());
        let [a, b, c] = [0, 1, 2].map(|i| mesh.all_axes().nth(i).unwrap());
        let lists: [&[AxisRef]; 6] = [&[], &[a], &[b], &[a, b], &[b, a], &[c]];
        let mut counts = [0, 0];
        for kinds in ["", " reduction={i}", " need_replication={i}", " permutation={k}"] {
            let text = format!("([i, j, k], [k, j, i])->([i, j, k]) {{i=8, j=4, k=1}}{kinds}");
            let rule: Rule = text.parse().unwrap();
            for at in 0..6 * 6 * 6 {
                let of = [lists[at % 6], lists[at / 6 % 6], lists[at / 36]];
                let layout = |order: [usize; 3]| Sharding::closed(&mesh, order.map(|f| of[f].to_vec()).into());
                let layouts = [layout([0, 1, 2]), layout([2, 1, 0]), layout([0, 1, 2])];
                let shardings: Vec<Option<&Sharding>> = layouts.iter().map(Some).collect();
                let (rule, mesh, shardings) = (&rule, &mesh, &shardings[..]);
                let input = AssignInput {
                    rule,
                    mesh,
                    shardings,
                    work: 1000,
                    summed: &[],
                    free: &[],
                    is_coarse: false,
                    known: None,
                };
                let found = agreed(&input, &Free);
                counts[usize::from(found.is_some())] += 1;
                if let Some(found) = found {
                    assert_eq!(found, Search::new(input, &Free, Wanted::Best).assignment(), "{text} {of:?}");
                }
            }
        }
        assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
    }
}
