//! Ops whose tensors agree on all factors, so that no choices need to be compared.

use super::{AssignInput, Assignment, Prices, overlap};
use crate::{AxisList, Factor, FactorKind};
use shardwise_base::AxisRef;
use smallvec::{SmallVec, smallvec};

/// Returns the axes that all tensors have for their factors, if the op can run split over them. Nothing moves then, and
/// every other choice has fewer shards.
///
/// Returns `None` if tensors have different axes for a factor or the same axes for different factors, if a dimension
/// consists of several factors, if elements move or are summed along a split factor or a tensor is unreduced, or if an
/// axis has size 1.
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
    let split = |f: &Factor| !found[f.index()].unwrap_or_default().is_empty();
    for factor in rule.all_factors().filter(split) {
        let axes = found[factor.index()]?;
        let count = AxisRef::total_size(mesh, axes);
        let is_passed = rule.kind(factor) == FactorKind::PassThrough
            && (rule.results.is_empty() || rule.results.iter().any(|r| r.contains(factor)));
        let is_free = |f: Factor| f == factor || !overlap(axes, found[f.index()].unwrap_or_default());
        let can_split = is_passed
            && count <= rule.size(factor)
            && rule.mappings().flat_map(|m| &m.dims).all(|dim| dim.len() == 1 || !dim.contains(&factor))
            && prices.exchanged(factor, axes) == Some(0);
        if !can_split || axes.iter().any(|a| a.size(mesh) == 1) || !rule.all_factors().all(is_free) {
            return None;
        }
        shards *= count;
    }
    let axes = found.iter().map(|axes| axes.map_or_else(AxisList::new, AxisList::from)).collect();
    Some(Assignment { axes, bytes_moved: 0, price: work / shards as u64 })
}
