//! Shardy's own choice of one list of axes for each factor, for parity with Shardy.
//!
//! The partitioner uses [`shardwise_sharding::assign`], which compares the bytes that a choice moves. This function
//! compares numbers of elements, as Shardy's pass that inserts explicit reshards does. A factor's *candidates* are the
//! lists of axes that tensors have for it, and their prefixes. The best candidate is taken and what it overlaps is
//! removed from the others, repeatedly, until no candidate is left that may be taken.

use shardwise_base::{AxisRef, Mesh};
use shardwise_sharding::{AxisList, Factor, FactorKind, IfMissing, Prefix, Projection, Rule, TensorFactors};
use std::cmp::Ordering;
use std::sync::Arc;

/// The axes of each factor, by factor index.
pub type FactorAxes = Vec<AxisList>;

/// Returns one list of axes for each factor, such that the op can run on shards if all its tensors are split along
/// these.
///
/// `sizes` holds the number of elements of each tensor, operands first.
pub fn common_axes(rule: &Rule, mesh: &Mesh, projection: &Projection, sizes: &[u64]) -> FactorAxes {
    if let Some(axes) = agreed(rule, projection) {
        return axes;
    }
    let has = |kind| rule.all_factors().any(|f| rule.kind(f) == kind);
    let tensors: Vec<usize> = (0..rule.tensor_count()).filter(|&i| rule.mapping(i).rank() > 0).collect();
    if let [first, second] = tensors[..]
        && !has(FactorKind::NeedReplication)
        && !rule.has_compound_dims()
    {
        return follow_one(rule, mesh, projection, sizes, first, second);
    }
    let mut axes = best_first(rule, mesh, projection, sizes);
    move_to_batching(rule, mesh, &mut axes);
    axes
}

/// Returns the axes that all tensors have, if they agree on every factor, no axis is used twice, and factors that need
/// replication have none. Returns `None` otherwise.
fn agreed(rule: &Rule, projection: &Projection) -> Option<FactorAxes> {
    let mut axes = vec![AxisList::new(); rule.factors.len()];
    let mut seen: Vec<AxisRef> = vec![];
    for factor in rule.all_factors() {
        let Some(common) = agreed_axes(projection, factor)? else { continue };
        if rule.kind(factor) == FactorKind::NeedReplication {
            if !common.is_empty() {
                return None;
            }
            continue;
        }
        if common.iter().any(|a| a.prefix_without_overlaps(&seen) != Some(*a)) {
            return None;
        }
        seen.extend_from_slice(common);
        axes[factor.index()] = common.clone();
    }
    Some(axes)
}

/// Returns the axes on which the tensors with the factor agree. The outer `None` means that they do not agree, the
/// inner one that no tensor has the factor.
fn agreed_axes(projection: &Projection, factor: Factor) -> Option<Option<&AxisList>> {
    let mut all = projection.tensors.iter().filter_map(|t| t.get(factor)).map(|s| &s.axes);
    let first = all.next();
    all.all(|axes| Some(axes) == first).then_some(first)
}

/// Returns the axes of all factors. One of two tensors, the leader, keeps all of its axes. It is the tensor that splits
/// no permutation factor; if both or none do, it is that with more elements, then that with more shards, then the first
/// one. A factor that only the other tensor has keeps its axes up to where they first overlap those of the leader.
fn follow_one(
    rule: &Rule,
    mesh: &Mesh,
    projection: &Projection,
    sizes: &[u64],
    first: usize,
    second: usize,
) -> FactorAxes {
    let rank = |i: usize| {
        let tensor = &projection.tensors[i];
        let permutes = tensor.iter().any(|(f, s)| rule.kind(f) == FactorKind::Permutation && !s.axes.is_empty());
        let shards: usize = tensor.iter().map(|(_, s)| AxisRef::total_size(mesh, &s.axes)).product();
        (!permutes, sizes[i], shards)
    };
    let (leader, follower) = if rank(first) >= rank(second) { (first, second) } else { (second, first) };
    let (leader, follower) = (&projection.tensors[leader], &projection.tensors[follower]);
    let mut axes = vec![AxisList::new(); rule.factors.len()];
    let mut taken: Vec<AxisRef> = vec![];
    for (factor, sharding) in leader.iter() {
        axes[factor.index()] = sharding.axes.clone();
        taken.extend_from_slice(&sharding.axes);
    }
    for (factor, sharding) in follower.iter().filter(|(f, _)| leader.get(*f).is_none()) {
        let mut own = sharding.axes.to_vec();
        AxisRef::truncate_overlaps(&mut own, &taken);
        axes[factor.index()] = own.into();
    }
    axes
}

/// A list of axes that a factor may get.
#[derive(Clone, Debug)]
struct Candidate {
    factor: Factor,
    axes: AxisList,
    /// The number of elements of all tensors together whose axes for the factor start with those of the candidate. It
    /// is not counted anew when the candidate is cut.
    source_size: u64,
    kind: u8,
    /// The number of shards into which the candidate splits each shard that its factor has so far, or all its shards if
    /// the last choice was for another factor and did not cut the candidate.
    shards: usize,
}

impl Candidate {
    fn cmp(&self, other: &Candidate, mesh: &Mesh) -> Ordering {
        let key = |c: &Candidate| (c.source_size, c.kind, c.shards, c.factor, c.axes.len());
        key(self).cmp(&key(other)).then_with(|| {
            let pairs = self.axes.iter().zip(&other.axes);
            pairs.map(|(a, b)| a.cmp_by_name(*b, mesh)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

fn precedence(kind: FactorKind) -> u8 {
    match kind {
        FactorKind::PassThrough => 3,
        FactorKind::Reduction => 2,
        FactorKind::Permutation => 1,
        FactorKind::NeedReplication => 0,
    }
}

fn candidates(rule: &Rule, mesh: &Mesh, projection: &Projection, sizes: &[u64]) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = vec![];
    let all = || projection.tensors.iter().flat_map(|t| t.iter());
    for (factor, sharding) in all() {
        for n in 1..=sharding.axes.len() {
            let axes: AxisList = sharding.axes[..n].into();
            if !found.iter().any(|c| c.factor == factor && c.axes == axes) {
                let shards = AxisRef::total_size(mesh, &axes);
                let kind = precedence(rule.kind(factor));
                found.push(Candidate { factor, axes, source_size: 0, kind, shards });
            }
        }
    }
    for candidate in &mut found {
        for (tensor, &size) in projection.tensors.iter().zip(sizes) {
            let own = tensor.get(candidate.factor);
            if own.is_some_and(|own| Prefix::of(&candidate.axes, &own.axes) != Prefix::Not) {
                candidate.source_size += size;
            }
        }
    }
    found
}

/// Takes the best candidate repeatedly, and returns the axes that each factor has in the end. A candidate may be taken
/// once all factors directly before its own in a dimension are split into single elements. Stops when none may be.
fn best_first(rule: &Rule, mesh: &Mesh, projection: &Projection, sizes: &[u64]) -> FactorAxes {
    let mut left = candidates(rule, mesh, projection, sizes);
    let mut axes = vec![AxisList::new(); rule.factors.len()];
    let mut waits = waiting(rule);
    loop {
        let free = left.iter().filter(|c| waits[c.factor.index()].is_empty());
        let Some(best) = free.max_by(|a, b| a.cmp(b, mesh)).cloned() else { return axes };
        if AxisRef::total_size(mesh, &best.axes) == rule.size(best.factor) {
            waits.iter_mut().for_each(|w| w.retain(|f| *f != best.factor));
        }
        axes[best.factor.index()] = best.axes.clone();
        left.retain_mut(|c| {
            let prefix = if c.factor == best.factor {
                if !Prefix::is_strict(&best.axes, &c.axes) {
                    return false;
                }
                AxisRef::total_size(mesh, &best.axes)
            } else {
                let mut rest = c.axes.to_vec();
                AxisRef::truncate_overlaps(&mut rest, &best.axes);
                let is_cut = rest[..] != c.axes[..];
                c.axes = rest.into();
                let own = &axes[c.factor.index()];
                if is_cut && c.axes == *own {
                    return false;
                }
                // A candidate that is not cut counts as a whole again.
                if is_cut { AxisRef::total_size(mesh, own) } else { 1 }
            };
            c.shards = AxisRef::total_size(mesh, &c.axes) / prefix;
            true
        });
    }
}

/// Returns for each factor the factors directly before it in some dimension, which must be split into single elements
/// first.
fn waiting(rule: &Rule) -> Vec<Vec<Factor>> {
    let mut waits = vec![vec![]; rule.factors.len()];
    for dim in rule.mappings().flat_map(|m| &m.dims) {
        for pair in dim.windows(2) {
            waits[pair[1].index()].push(pair[0]);
        }
    }
    waits
}

/// Moves the axes of factors that need replication to batching factors, as far as they divide these evenly. Other axes
/// of factors that need replication are dropped, and so are all axes of such a factor that some tensor with dimensions
/// lacks.
fn move_to_batching(rule: &Rule, mesh: &Mesh, axes: &mut FactorAxes) {
    for factor in rule.all_factors().filter(|&f| rule.kind(f) == FactorKind::NeedReplication) {
        let given = std::mem::take(&mut axes[factor.index()]);
        if rule.mappings().all(|m| m.rank() == 0 || m.contains(factor)) {
            distribute(&given, rule, mesh, axes);
        }
    }
}

fn distribute(mut given: &[AxisRef], rule: &Rule, mesh: &Mesh, axes: &mut FactorAxes) {
    for factor in rule.all_factors().filter(|&f| rule.is_batching(f)) {
        let own = &mut axes[factor.index()];
        let (size, shards) = (rule.size(factor), AxisRef::total_size(mesh, own));
        if size == 0 || !size.is_multiple_of(shards) {
            continue;
        }
        let mut room = size / shards;
        while let Some((&axis, rest)) = given.split_first() {
            if !room.is_multiple_of(axis.size(mesh)) {
                break;
            }
            AxisRef::push_or_merge(own, axis, mesh);
            room /= axis.size(mesh);
            given = rest;
        }
    }
}

/// Returns the axes of the factors of a reshape whose axes do not fit its factors. The axes of the more sharded side
/// are distributed anew to the factors of both sides in `projection`, and the common prefixes are returned.
pub fn common_axes_of_reshape(rule: &Rule, mesh: &Arc<Mesh>, projection: &mut Projection) -> FactorAxes {
    let shards = |t: &TensorFactors| -> usize {
        t.iter().map(|(_, s)| AxisRef::total_size(mesh, &s.axes) * AxisRef::total_size(mesh, &s.overflow)).product()
    };
    let best = if shards(&projection.tensors[0]) >= shards(&projection.tensors[1]) { 0 } else { 1 };
    let mut all: Vec<AxisRef> = vec![];
    for sharding in rule.all_factors().filter_map(|f| projection.tensors[best].get(f)) {
        all.extend(sharding.axes.iter().chain(&sharding.overflow));
    }
    for i in 0..2 {
        deal_anew(rule, mesh, i, &mut projection.tensors[i], &all);
    }
    let built: Vec<_> = (0..2).map(|i| projection.to_sharding(i, rule, mesh)).collect();
    let legal = Projection::new(rule, mesh, built.iter().map(Some), IfMissing::Open);
    let mut axes: Vec<Option<AxisList>> = vec![None; rule.factors.len()];
    for (factor, sharding) in legal.tensors.iter().flat_map(|t| t.iter()) {
        let slot = &mut axes[factor.index()];
        *slot = Some(match slot.take() {
            None => sharding.axes.clone(),
            Some(other) => greatest_common_prefix(&other, &sharding.axes),
        });
    }
    axes.into_iter().map(Option::unwrap_or_default).collect()
}

fn greatest_common_prefix(a: &AxisList, b: &AxisList) -> AxisList {
    let mut common = AxisList::new();
    for (&a, &b) in a.iter().zip(b) {
        if a != b {
            common.extend(a.greatest_common_prefix(b));
            break;
        }
        common.push(a);
    }
    common
}

/// Distributes the axes to the factors of tensor `index`: each axis goes to the first factors that have room for it or
/// for a part of it. If no factor has room for an axis or for what is left of it, this and all later axes become the
/// overflow of the last factor.
fn deal_anew(rule: &Rule, mesh: &Mesh, index: usize, tensor: &mut TensorFactors, all: &[AxisRef]) {
    let factors: Vec<Factor> = rule.mapping(index).factors().filter(|&f| tensor.get(f).is_some()).collect();
    let mut room: Vec<usize> = factors.iter().map(|&f| rule.size(f)).collect();
    let mut lists = vec![AxisList::new(); factors.len()];
    let mut overflow = vec![];
    for (n, &axis) in all.iter().enumerate() {
        let mut rest = Some(axis);
        while let Some(axis) = rest {
            let size = axis.size(mesh);
            let mut is_used = false;
            let mut current = Some((axis, size));
            for (list, room) in lists.iter_mut().zip(&mut room).filter(|(_, room)| **room > 1) {
                let Some((axis, size)) = current else { break };
                let common = shardwise_sharding::gcd(*room, size);
                if common == 1 && size != 1 {
                    continue;
                }
                is_used = true;
                *room /= common;
                let (pre, name) = (axis.pre_size(), axis.axis);
                AxisRef::push_or_merge(list, AxisRef::sub(mesh, name, pre, common), mesh);
                current = (size > common).then(|| {
                    let left = AxisRef::sub(mesh, name, pre * common, size / common);
                    (left, size / common)
                });
            }
            rest = current.map(|(axis, _)| axis);
            if !is_used {
                overflow.push(axis);
                overflow.extend_from_slice(&all[n + 1..]);
                break;
            }
        }
        if !overflow.is_empty() {
            break;
        }
    }
    let last = factors.len().saturating_sub(1);
    for (i, (factor, list)) in factors.into_iter().zip(lists).enumerate() {
        tensor.set(factor, list, if i == last { std::mem::take(&mut overflow) } else { vec![] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{AxisIndex, Sharding};

    fn mesh() -> Arc<Mesh> {
        Arc::new(Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap())
    }

    fn full(i: usize) -> AxisRef {
        AxisRef::full(AxisIndex::new(i))
    }

    fn choose(rule: &str, dims: &[&[&[usize]]], sizes: &[u64]) -> Vec<Vec<usize>> {
        let (rule, mesh): (Rule, _) = (rule.parse().unwrap(), mesh());
        let shardings: Vec<Sharding> = dims
            .iter()
            .map(|dims| Sharding::closed(&mesh, dims.iter().map(|d| d.iter().map(|&a| full(a)).collect()).collect()))
            .collect();
        let projection = Projection::new(&rule, &mesh, shardings.iter().map(Some), IfMissing::Closed);
        let axes = common_axes(&rule, &mesh, &projection, sizes);
        axes.iter().map(|list| list.iter().map(|a| a.axis.index()).collect()).collect()
    }

    const DOT: &str = "([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}";

    #[test]
    fn what_agrees_stays() {
        let dims: [&[&[usize]]; 3] = [&[&[0], &[]], &[&[], &[1]], &[&[0], &[1]]];
        assert_eq!(choose(DOT, &dims, &[64, 64, 64]), [vec![0], vec![1], vec![]]);
    }

    #[test]
    fn the_larger_tensors_win() {
        let dims: [&[&[usize]]; 3] = [&[&[0], &[]], &[&[], &[0]], &[&[], &[0]]];
        assert_eq!(choose(DOT, &dims, &[64, 64, 64]), [vec![], vec![0], vec![]]);
    }

    #[test]
    fn of_two_tensors_one_conforms() {
        let rule = "([i, j])->([j, i]) {i=8, j=8}";
        let dims: [&[&[usize]]; 2] = [&[&[0], &[]], &[&[0], &[1]]];
        assert_eq!(choose(rule, &dims, &[64, 64]), [vec![1], vec![0]]);
    }

    #[test]
    fn axes_of_whole_factors_go_to_batching_ones() {
        let rule = "([i, j])->([i, j]) {i=8, j=8} need_replication={j}";
        let dims: [&[&[usize]]; 2] = [&[&[], &[1]], &[&[], &[1]]];
        assert_eq!(choose(rule, &dims, &[64, 64]), [vec![1], vec![]]);
    }
}
