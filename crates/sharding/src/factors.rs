//! Propagates the axes of factors among the tensors of one op.
//!
//! There are two strategies. [`Basic`](Strategy::Basic) is conservative: a factor's axes propagate only as far as
//! *every* tensor can take them. [`Aggressive`](Strategy::Aggressive) decides for each tensor separately, starting with
//! the factor of the largest tensor. The resulting shardings may contradict each other, so that data has to move.
//!
//! Both start from the axes on which the tensors agree for a factor, major to minor ([`compatible_major_axes`]).

use crate::project::gcd;
use crate::{AxisList, Direction, Factor, FactorSharding, Prefix, Projection, Rule, TensorFactors};
use shardwise_base::{AxisRef, Mesh};
use smallvec::{SmallVec, smallvec};
use std::cmp::Reverse;

/// The strategy of propagation through a single op.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Strategy {
    Basic,
    Aggressive,
}

/// The op for which factors are propagated.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    pub rule: &'a Rule,
    pub mesh: &'a Mesh,
    /// True if the op is elementwise. Then the aggressive strategy takes, of factors whose source tensors are equally
    /// large, the one with most shards first, and cuts the new axes of an operand for a factor to those of a result if
    /// these are a strict prefix of them. The basic strategy does not read this.
    pub is_elementwise: bool,
    /// True if no sub-axes propagate, not even those that a tensor has already, and no axes that come after one in a
    /// factor's list. There is one exception: if the new axes of an elementwise op's operand are cut to those of a
    /// result, the last of these may be a sub-axis.
    pub is_conservative: bool,
}

/// For each tensor (operands, then results), whether it has new axes.
pub type Updated = SmallVec<[bool; 8]>;

/// Propagates axes along each factor in the direction that `direction` returns. Blocked factors never propagate.
/// Changes `projection`, and returns which of its tensors have new axes.
pub fn propagate(
    projection: &mut Projection,
    strategy: Strategy,
    cx: Context<'_>,
    direction: impl Fn(Factor) -> Direction,
) -> Updated {
    let direction = |f: Factor| if cx.rule.spec(f).is_blocked { Direction::None } else { direction(f) };
    match strategy {
        Strategy::Basic => propagate_basic(projection, cx, direction),
        Strategy::Aggressive => propagate_aggressive(projection, cx, direction),
    }
}

fn propagate_basic(p: &mut Projection, cx: Context<'_>, direction: impl Fn(Factor) -> Direction) -> Updated {
    let mut updated = smallvec![false; p.tensors.len()];
    for factor in cx.rule.all_factors() {
        let mut axes = compatible_major_axes(p, factor, direction(factor));
        cx.truncate(&mut axes, |axis, sharded_size| {
            p.tensors.iter().try_fold(axis, |axis, t| cx.prefix_for_tensor(axis, t, factor, sharded_size))
        });
        for (tensor, updated) in p.tensors.iter_mut().zip(&mut updated) {
            *updated |= tensor.expand(factor, &axes);
        }
    }
    updated
}

fn propagate_aggressive(p: &mut Projection, cx: Context<'_>, direction: impl Fn(Factor) -> Direction) -> Updated {
    let mut updated: Updated = smallvec![false; p.tensors.len()];
    let axes: FactorAxes = cx.rule.all_factors().map(|f| compatible_major_axes(p, f, direction(f))).collect();
    if axes.iter().all(|a| a.is_empty()) {
        return updated;
    }
    let order = factor_order(p, cx, &axes);
    for i in p.operand_count..p.tensors.len() {
        for &factor in &order {
            let new = cx.new_axes(&p.tensors[i], factor, &axes);
            updated[i] |= !new.is_empty() && p.tensors[i].expand(factor, &new);
        }
    }
    for i in 0..p.operand_count {
        for &factor in &order {
            let mut new = cx.new_axes(&p.tensors[i], factor, &axes);
            if cx.is_elementwise && !new.is_empty() {
                follow_results(p.results(), factor, &mut new);
            }
            updated[i] |= !new.is_empty() && p.tensors[i].expand(factor, &new);
        }
    }
    updated
}

type FactorAxes = SmallVec<[AxisList; 4]>;

/// Returns all factors in the order in which they take axes: by the size of their source tensor (see
/// [`source_tensors`]), largest first, then (if elementwise) by the number of shards, most first, then by the index of
/// the source tensor, then by number.
fn factor_order(p: &Projection, cx: Context<'_>, axes: &[AxisList]) -> SmallVec<[Factor; 4]> {
    let sources = source_tensors(p, cx.rule, axes);
    let mut order: SmallVec<[Factor; 4]> = cx.rule.all_factors().collect();
    order.sort_by_key(|f| {
        let (tensor_size, index) = sources[f.index()];
        let shards = if cx.is_elementwise { AxisRef::total_size(cx.mesh, &axes[f.index()]) } else { 0 };
        (Reverse(tensor_size), Reverse(shards), index, *f)
    });
    order
}

/// Returns, for each factor, the size and index of the largest tensor that has all of `axes` for it, and the first such
/// tensor among those of one size. Returns `(-1, -1)` for a factor without axes, or if there is no such tensor.
fn source_tensors(p: &Projection, rule: &Rule, axes: &[AxisList]) -> SmallVec<[(i128, i64); 4]> {
    let mut sources: SmallVec<[(i128, i64); 4]> = smallvec![(-1, -1); axes.len()];
    for (index, tensor) in p.tensors.iter().enumerate() {
        let size = tensor.iter().map(|(f, _)| rule.size(f) as i128).product();
        for (factor, sharding) in tensor.iter() {
            let axes = &axes[factor.index()];
            let is_source = !axes.is_empty() && Prefix::of(axes, &sharding.axes) != Prefix::Not;
            let source = &mut sources[factor.index()];
            if is_source && size > source.0 {
                *source = (size, index as i64);
            }
        }
    }
    sources
}

/// Cuts `new`, the new axes for `factor` of an elementwise op's operand, to the axes that a result has for the factor
/// if these are a strict prefix of `new`.
fn follow_results(results: &[TensorFactors], factor: Factor, new: &mut AxisList) {
    for result in results {
        if let Some(sharding) = result.get(factor).filter(|s| Prefix::is_strict(&s.axes, new)) {
            *new = sharding.axes.clone();
        }
    }
}

impl Context<'_> {
    /// Returns the axes that the aggressive strategy assigns to `factor` of one tensor. `axes` are those on which the
    /// tensors agree, by factor index. If there are no new ones, the result is empty or a prefix of the tensor's own
    /// axes for the factor.
    fn new_axes(&self, tensor: &TensorFactors, factor: Factor, axes: &[AxisList]) -> AxisList {
        let axes = &axes[factor.index()];
        let Some(sharding) = tensor.get(factor).filter(|s| Prefix::is_strict(&s.axes, axes)) else {
            return AxisList::new();
        };
        let mut new = axes.clone();
        self.truncate(&mut new, |axis, size| self.prefix_within_factor(axis, tensor, factor, sharding, size));
        if !Prefix::is_strict(&sharding.axes, &new) {
            return AxisList::new();
        }
        self.truncate(&mut new, |axis, _| prefix_across_factors(axis, tensor, factor));
        new
    }

    /// Returns the longest major part of `axis` that `tensor` can add to `factor` or has there already, or `None` if
    /// there is no such part. A tensor without the factor only rules out the axes that split its other factors.
    /// `sharded_size` is the product of the sizes of the axes of the factor before `axis`.
    fn prefix_for_tensor(
        &self,
        axis: AxisRef,
        tensor: &TensorFactors,
        factor: Factor,
        sharded_size: usize,
    ) -> Option<AxisRef> {
        let axis = prefix_across_factors(axis, tensor, factor)?;
        match tensor.get(factor) {
            Some(sharding) => self.prefix_within_factor(axis, tensor, factor, sharding, sharded_size),
            None => Some(axis),
        }
    }

    /// Returns the longest major part of `axis` that `sharding`, which is that of `factor` in `tensor`, allows. A part
    /// that splits the factor already is allowed. A new part must not be replicated or unreduced in the tensor, the
    /// factor must be open and without overflow, and a factor that is not the minor-most must be divided evenly.
    /// `sharded_size` is the product of the sizes of the axes before `axis`. Returns `None` if no part is allowed.
    fn prefix_within_factor(
        &self,
        axis: AxisRef,
        tensor: &TensorFactors,
        factor: Factor,
        sharding: &FactorSharding,
        sharded_size: usize,
    ) -> Option<AxisRef> {
        let axis = axis.prefix_without_overlaps(&tensor.replicated)?.prefix_without_overlaps(&tensor.unreduced)?;
        if sharding.axes.iter().any(|own| own.contains(axis)) {
            return Some(axis);
        }
        if !sharding.is_closed && sharding.overflow.is_empty() {
            if sharding.is_minor_most {
                return Some(axis);
            }
            if let Some(fitting) = self.dividing_prefix(axis, self.rule.size(factor), sharded_size) {
                return Some(fitting);
            }
        }
        sharding.axes.last().copied().filter(|last| last.prefix_of(axis))
    }

    fn dividing_prefix(&self, axis: AxisRef, factor_size: usize, sharded_size: usize) -> Option<AxisRef> {
        if !factor_size.is_multiple_of(sharded_size) {
            return None;
        }
        let size = axis.size(self.mesh);
        match gcd(factor_size / sharded_size, size) {
            common if common == size => Some(axis),
            1 => None,
            common => Some(AxisRef::sub(self.mesh, axis.axis, axis.pre_size(), common)),
        }
    }

    /// Cuts the list at the first axis for which `prefix(axis, product of the axes before)` returns less than the axis,
    /// and keeps the part that it returns. In conservative propagation, the list is also cut before the first sub-axis,
    /// and a part that is a sub-axis is not kept.
    fn truncate(&self, axes: &mut AxisList, prefix: impl Fn(AxisRef, usize) -> Option<AxisRef>) {
        let mut sharded_size = 1;
        for i in 0..axes.len() {
            let new = prefix(axes[i], sharded_size).filter(|a| !(self.is_conservative && a.sub.is_some()));
            if new != Some(axes[i]) {
                axes.truncate(i);
                axes.extend(new);
                return;
            }
            sharded_size *= axes[i].size(self.mesh);
        }
    }
}

/// Returns the longest major part of the axis that the tensor's factors other than `factor` do not use. Returns `None`
/// if they use its start, or cut the axis in a contradictory way.
fn prefix_across_factors(axis: AxisRef, tensor: &TensorFactors, factor: Factor) -> Option<AxisRef> {
    tensor.iter().filter(|(f, _)| *f != factor).try_fold(axis, |axis, (_, other)| {
        axis.prefix_without_overlaps(&other.overflow)?.prefix_without_overlaps(&other.axes)
    })
}

/// Returns the axes on which the tensors agree for a factor, up to the first contradiction. If the direction is
/// `Forward` or `Backward`, the tensors on the receiving side can shorten the list but not extend it. If it is `None`,
/// the list is empty.
pub fn compatible_major_axes(p: &Projection, factor: Factor, direction: Direction) -> AxisList {
    let (near, far) = match direction {
        Direction::None => return AxisList::new(),
        Direction::Forward | Direction::Both => (p.operands(), p.results()),
        Direction::Backward => (p.results(), p.operands()),
    };
    let mut agreed = Agreed { axes: AxisList::new(), may_grow: true };
    near.iter().filter_map(|t| t.get(factor)).for_each(|s| agreed.meet(&s.axes));
    agreed.may_grow &= direction == Direction::Both;
    far.iter().filter_map(|t| t.get(factor)).for_each(|s| agreed.meet(&s.axes));
    agreed.axes
}

struct Agreed {
    axes: AxisList,
    /// True if the next tensor may extend the list: no tensor has contradicted the others yet, and this one is not on
    /// the receiving side of a propagation in one direction.
    may_grow: bool,
}

impl Agreed {
    /// Adds the axes of one more tensor: a longer list extends the agreed one if it may grow, and a contradicting list
    /// cuts and finishes it.
    fn meet(&mut self, new: &[AxisRef]) {
        let (old_len, new_len) = (self.axes.len(), new.len());
        for i in 0..old_len.min(new_len) {
            let (old, new) = (self.axes[i], new[i]);
            // After a shorter sub-axis, a further axis contradicts the longer sub-axis. Otherwise the two would have
            // been merged.
            if old == new || (new.prefix_of(old) && i + 1 == new_len) {
                continue;
            }
            if old.prefix_of(new) && i + 1 == old_len && self.may_grow {
                self.axes[i] = new;
                continue;
            }
            self.axes.truncate(i);
            self.axes.extend(old.greatest_common_prefix(new));
            self.may_grow = false;
            return;
        }
        if self.may_grow && new_len > old_len {
            self.axes.extend_from_slice(&new[old_len..]);
        }
    }
}
