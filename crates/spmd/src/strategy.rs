//! Along which factors an op runs sharded: the assignment of axes to factors that moves the fewest bytes.
//!
//! Candidates are few and plain: each tensor in turn leads, its axes are dealt to the rule's factors, and the other
//! tensors add what does not contradict; each once with and once without axes on reduction factors. The price of a
//! candidate is what its reshards and all-reduces move, by the same plans that will be carried out, plus the work that
//! is left to each device, in bytes that could be moved meanwhile.

use crate::plan::{local_bytes, plan_reshard, total_bytes};
use shardwise_base::{AxisRef, DType, Mesh, Sharding};
use shardwise_sharding::{DimFactors, Factor, FactorKind, Mapping, Rule};
use std::sync::Arc;

/// A tensor of the op: how it lies (an operand), or is wanted to lie (a result).
pub(crate) struct Tensor<'a> {
    pub mapping: &'a Mapping,
    pub sharding: Sharding,
    pub shape: &'a [usize],
    pub dtype: DType,
}

/// What must be known of the op beside its rule.
pub(crate) struct Task<'a> {
    pub mesh: &'a Arc<Mesh>,
    pub rule: &'a Rule,
    /// Operands, then results; `None`: not a tensor.
    pub tensors: Vec<Option<Tensor<'a>>>,
    pub operand_count: usize,
    /// Partial results can be combined.
    pub can_reduce: bool,
    /// A reduction factor whose padding can hold neutral elements.
    pub can_pad_reduction: bool,
    /// What the whole op costs, in bytes that could be moved meanwhile.
    pub work_bytes: u64,
}

/// Axes for each factor, and what they cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Assignment {
    pub axes: Vec<Vec<AxisRef>>,
    /// The tensor whose sharding came first.
    pub leader: usize,
    /// Received by the worst device.
    pub bytes_received: u64,
    cost: u64,
}

/// The assignment chosen, and the cheapest of the others.
pub(crate) struct Decision {
    pub chosen: Assignment,
    pub rejected: Option<Assignment>,
}

/// How a factor may be split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    None,
    /// Only into equal parts: it is one of several factors of a dimension.
    Even,
    Any,
}

/// Of many operands only the first few lead: concatenations of hundreds are one candidate.
const MAX_LEADERS: usize = 8;

impl Task<'_> {
    pub fn decide(&self) -> Decision {
        let mut found: Vec<Assignment> = vec![];
        for leader in self.leaders() {
            for with_reduction in [true, false] {
                let axes = self.assign(leader, with_reduction);
                if found.iter().any(|a| a.axes == axes) {
                    continue;
                }
                let (bytes_received, cost) = self.price(&axes);
                found.push(Assignment { axes, leader, bytes_received, cost });
                if bytes_received == 0 && found.len() == 1 && self.uses_all(&found[0].axes) {
                    return Decision { chosen: found.remove(0), rejected: None };
                }
            }
        }
        found.sort_by_key(|a| a.cost);
        let mut found = found.into_iter();
        Decision { chosen: found.next().expect("at least one tensor leads"), rejected: found.next() }
    }

    /// The tensor's layout under an assignment.
    pub fn sharding(&self, mapping: &Mapping, axes: &[Vec<AxisRef>]) -> Sharding {
        let dims = mapping.dims.iter().map(|factors| self.dim_axes(factors, axes)).collect();
        Sharding::closed(self.mesh, dims)
    }

    /// Axes over which results are partial.
    pub fn reduction_axes(&self, axes: &[Vec<AxisRef>]) -> Vec<AxisRef> {
        let reduced = self.rule.all_factors().filter(|&f| self.rule.kind(f) == FactorKind::Reduction);
        AxisRef::union(self.mesh, reduced.flat_map(|f| axes[f.index()].iter().copied()))
    }

    /// Results first: where they are to lie decides more than where operands come from.
    fn leaders(&self) -> impl Iterator<Item = usize> {
        let has_dims = |&i: &usize| self.tensors[i].as_ref().is_some_and(|t| !t.shape.is_empty());
        let results = (self.operand_count..self.tensors.len()).filter(has_dims).take(1);
        let operands = (0..self.operand_count).filter(has_dims).take(MAX_LEADERS);
        let all: Vec<usize> = operands.chain(results).collect();
        let none = all.is_empty().then_some(0);
        all.into_iter().chain(none)
    }

    fn assign(&self, leader: usize, with_reduction: bool) -> Vec<Vec<AxisRef>> {
        let mut axes = vec![vec![]; self.rule.factors.len()];
        let others = (0..self.tensors.len()).filter(|&i| i != leader);
        for tensor in std::iter::once(leader).chain(others).filter_map(|i| self.tensors[i].as_ref()) {
            for (dim, factors) in tensor.mapping.dims.iter().enumerate() {
                for (factor, given) in self.deal(factors, &tensor.sharding.dims[dim].axes) {
                    if with_reduction || self.rule.kind(factor) != FactorKind::Reduction {
                        self.extend(&mut axes, factor, &given);
                    }
                }
            }
        }
        self.drop_behind_partial(&mut axes);
        axes
    }

    /// The axes of a dimension, dealt to its factors, major to minor, as far as they fit.
    fn deal(&self, factors: &DimFactors, axes: &[AxisRef]) -> Vec<(Factor, Vec<AxisRef>)> {
        let mut dealt: Vec<(Factor, Vec<AxisRef>)> = factors.iter().map(|&f| (f, vec![])).collect();
        let mut queue: Vec<AxisRef> = axes.iter().rev().copied().collect();
        let mut at = 0;
        while let Some(axis) = queue.pop() {
            while at < dealt.len() && self.rest(dealt[at].0, &dealt[at].1) == 1 && at + 1 < dealt.len() {
                at += 1;
            }
            let (factor, list) = &mut dealt[at];
            let rest = self.rest(*factor, list);
            let size = axis.size(self.mesh);
            if self.room(*factor) == Room::Any || rest.is_multiple_of(size) {
                list.push(axis);
            } else if rest > 1 && size.is_multiple_of(rest) {
                list.push(AxisRef::sub(self.mesh, axis.axis, axis.pre_size(), rest));
                queue.push(AxisRef::sub(self.mesh, axis.axis, axis.pre_size() * rest, size / rest));
            } else {
                break;
            }
        }
        dealt
    }

    /// What is left of an even factor; 1 if it is full.
    fn rest(&self, factor: Factor, axes: &[AxisRef]) -> usize {
        let (size, used) = (self.rule.size(factor), AxisRef::total_size(self.mesh, axes));
        if size.is_multiple_of(used) { size / used } else { 1 }
    }

    /// Gives `factor` the axes of `given` beyond those that it has, up to the first that is used elsewhere.
    fn extend(&self, axes: &mut [Vec<AxisRef>], factor: Factor, given: &[AxisRef]) {
        if self.room(factor) == Room::None || !given.starts_with(&axes[factor.index()]) {
            return;
        }
        for &axis in &given[axes[factor.index()].len()..] {
            let is_used = axes.iter().flatten().any(|a| a.overlaps(axis, self.mesh) || !a.can_coexist(axis));
            if is_used || !self.fits(factor, &axes[factor.index()], axis) {
                return;
            }
            axes[factor.index()].push(axis);
        }
    }

    fn fits(&self, factor: Factor, have: &[AxisRef], axis: AxisRef) -> bool {
        match self.room(factor) {
            Room::None => false,
            Room::Any => true,
            Room::Even => {
                let count = AxisRef::total_size(self.mesh, have) * axis.size(self.mesh);
                self.rule.size(factor).is_multiple_of(count)
            }
        }
    }

    fn room(&self, factor: Factor) -> Room {
        let size = self.rule.size(factor);
        let allowed = match self.rule.kind(factor) {
            FactorKind::PassThrough => true,
            FactorKind::Reduction => self.can_reduce,
            FactorKind::NeedReplication | FactorKind::Permutation => false,
        };
        if !allowed || size <= 1 {
            return Room::None;
        }
        let mut room = Room::Any;
        for tensor in self.tensors.iter().flatten() {
            for (dim, factors) in tensor.mapping.dims.iter().enumerate().filter(|(_, d)| d.contains(&factor)) {
                let others = factors.iter().filter(|&&f| f != factor && self.rule.size(f) != 1).count();
                match others {
                    0 if tensor.shape[dim] != size => return Room::None,
                    0 => {}
                    _ => room = Room::Even,
                }
            }
        }
        let is_reduction = self.rule.kind(factor) == FactorKind::Reduction;
        if is_reduction && !self.can_pad_reduction { Room::Even } else { room }
    }

    /// Within a dimension a factor is split only if those before it are split to single elements.
    fn drop_behind_partial(&self, axes: &mut [Vec<AxisRef>]) {
        let dims = self.tensors.iter().flatten().flat_map(|t| &t.mapping.dims);
        let mut dropped = true;
        let dims: Vec<&DimFactors> = dims.filter(|d| d.len() > 1).collect();
        while std::mem::take(&mut dropped) {
            for factors in &dims {
                let partial = factors.iter().position(|&f| {
                    AxisRef::total_size(self.mesh, &axes[f.index()]) != self.rule.size(f)
                });
                for &f in factors.iter().skip(partial.map_or(factors.len(), |p| p + 1)) {
                    dropped |= !std::mem::take(&mut axes[f.index()]).is_empty();
                }
            }
        }
    }

    fn dim_axes(&self, factors: &DimFactors, axes: &[Vec<AxisRef>]) -> Vec<AxisRef> {
        let mut list = vec![];
        for a in factors.iter().flat_map(|f| &axes[f.index()]) {
            AxisRef::push_or_merge(&mut list, *a, self.mesh);
        }
        list
    }

    /// Whether every axis of every tensor is used as it stands: nothing to weigh.
    fn uses_all(&self, axes: &[Vec<AxisRef>]) -> bool {
        self.tensors.iter().flatten().all(|t| self.sharding(t.mapping, axes).same_layout(&layout(&t.sharding)))
    }

    /// Bytes received, and these with the work that is left.
    fn price(&self, axes: &[Vec<AxisRef>]) -> (u64, u64) {
        let reduced = self.reduction_axes(axes);
        let mut bytes = 0;
        for (i, tensor) in self.tensors.iter().enumerate() {
            let Some(t) = tensor else { continue };
            let own = self.sharding(t.mapping, axes);
            if i < self.operand_count {
                bytes += total_bytes(&plan_reshard(&t.sharding, &own, t.shape, t.dtype));
            } else {
                bytes += result_bytes(&own, t, &reduced);
            }
        }
        let counts = self.rule.all_factors().map(|f| AxisRef::total_size(self.mesh, &axes[f.index()]).min(self.rule.size(f).max(1)));
        let work = self.work_bytes / counts.map(|n| n as u64).product::<u64>().max(1);
        (bytes, bytes + work)
    }
}

/// What summing a result over `reduced` and bringing it to its wanted layout moves.
fn result_bytes(own: &Sharding, wanted: &Tensor<'_>, reduced: &[AxisRef]) -> u64 {
    let mesh = &own.mesh;
    let steps = plan_reshard(own, &wanted.sharding, wanted.shape, wanted.dtype);
    let summed: Vec<AxisRef> =
        reduced.iter().flat_map(|a| a.minus(mesh, &wanted.sharding.unreduced)).collect();
    let n = AxisRef::total_size(mesh, &summed) as u64;
    let local = local_bytes(own, wanted.shape, wanted.dtype);
    let scattered = wanted.sharding.split_axes().filter(|a| summed.contains(a)).count() == summed.len();
    let share = local - local / n;
    let all_reduce = if scattered { share } else { 2 * share };
    all_reduce + total_bytes(&steps)
}

fn layout(sharding: &Sharding) -> Sharding {
    Sharding { unreduced: vec![], ..sharding.canonical() }
}
