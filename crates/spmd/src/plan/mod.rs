//! From one layout to another by the cheapest sequence of collectives.
//!
//! The one idea: a layout is, for each dimension, a list of *pieces* (parts of mesh axes that both ends of the journey
//! can be written in), and every collective is an edge between layouts with a known price. The plan is a shortest
//! path, found by uniform-cost search ([`search`]); nothing here knows the IR.
//!
//! | step | what it does to the lists | bytes that the worst device receives |
//! |---|---|---|
//! | `all_slice` | appends unused pieces | 0 |
//! | `all_gather` | drops a suffix | out - in |
//! | `all_to_all` | moves a suffix to the end of another list | (g-1)/g of the shard |
//! | `collective_permute` | any lists with the same counts | the shard |
//!
//! Uneven dimensions: `n` elements over `k` shards lie in blocks of `ceil(n/k)`. A step that goes from `k` to another
//! count is local only where both counts pad `n` to the same size, or where one of them is 1 (then the whole dimension
//! is on the device, to be padded or cut there). Steps that are not are no edges.

mod search;
#[cfg(test)]
mod tests;

use shardwise_base::{AxisRef, DType, Sharding};

/// One collective of a plan, and where it leads.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub kind: StepKind,
    /// The layout after the step; the last step's is the target itself.
    pub to: Sharding,
    /// Bytes that the worst device receives.
    pub bytes_received: u64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// Appends these axes to each dimension's list.
    AllSlice { axes: Vec<Vec<AxisRef>> },
    /// Drops these axes, suffixes of each dimension's list.
    AllGather { axes: Vec<Vec<AxisRef>> },
    /// Moves `axes`, the end of the list of dimension `source`, to the end of the list of dimension `target`.
    AllToAll { axes: Vec<AxisRef>, source: usize, target: usize },
    /// Each device receives the shard of one other.
    CollectivePermute,
}

/// The cheapest sequence of steps that turns a value laid out as `from` into one laid out as `to`.
///
/// Empty if both lay it out alike. Unreduced axes are not looked at: they are summed before a value is resharded.
pub fn plan_reshard(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    let (from, to) = (&layout_only(from), &layout_only(to));
    if from.same_layout(to) {
        return vec![];
    }
    if !from.mesh.same_devices(&to.mesh) {
        return between_meshes(from, to, shape, dtype);
    }
    direct(from, to, shape, dtype)
        .or_else(|| search::shortest(from, to, shape, dtype))
        .unwrap_or_else(|| through_replicated(from, to, shape, dtype))
}

/// To a mesh of other axes or another order of devices: the same layout there first, if it can be, then on.
fn between_meshes(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    let sizes = |s: &Sharding| s.mesh.axes.iter().map(|a| a.size).collect::<Vec<_>>();
    if sizes(from) != sizes(to) || from.split_axes().next().is_none() {
        return through_replicated(from, to, shape, dtype);
    }
    let there = from.clone().with_mesh(to.mesh.clone());
    let bytes_received = local_bytes(from, shape, dtype);
    let mut steps = vec![Step { kind: StepKind::CollectivePermute, to: there.clone(), bytes_received }];
    steps.extend(plan_reshard(&there, to, shape, dtype));
    steps
}

/// Bytes that the worst device receives in all steps.
pub fn total_bytes(steps: &[Step]) -> u64 {
    steps.iter().map(|s| s.bytes_received).sum()
}

/// Gather everything, then slice: never wrong, seldom cheap. Also the alternative that explanations quote.
pub fn through_replicated(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    let whole = Sharding::replicated(&from.mesh, from.rank());
    let lists = |s: &Sharding| s.dims.iter().map(|d| d.axes.clone()).collect();
    let gather = Step {
        kind: StepKind::AllGather { axes: lists(from) },
        bytes_received: local_bytes(&whole, shape, dtype)
            - local_bytes(from, shape, dtype).min(local_bytes(&whole, shape, dtype)),
        to: whole,
    };
    let slice = Step { kind: StepKind::AllSlice { axes: lists(to) }, to: to.clone(), bytes_received: 0 };
    let moves = |s: &Sharding| s.split_axes().next().is_some();
    let mut steps = vec![];
    steps.extend(moves(from).then_some(gather));
    steps.extend(moves(to).then_some(slice));
    steps
}

/// Bytes of the largest shard.
pub fn local_bytes(sharding: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let elements: usize = sharding.local_shape(shape).iter().product();
    elements as u64 * dtype.storage_bytes() as u64
}

/// Without what does not say where elements lie: unreduced axes, and axes of size 1.
fn layout_only(sharding: &Sharding) -> Sharding {
    let layout = sharding.canonical().with_unreduced(vec![]);
    crate::propagate::without_unit_axes(&layout)
}

/// Only gathers or only slices: the optimum without a search.
fn direct(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Vec<Step>> {
    if let Some(axes) = suffixes(to, from, shape) {
        return Some(vec![Step { kind: StepKind::AllSlice { axes }, to: to.clone(), bytes_received: 0 }]);
    }
    let axes = suffixes(from, to, shape)?;
    let bytes_received = local_bytes(to, shape, dtype) - local_bytes(from, shape, dtype);
    Some(vec![Step { kind: StepKind::AllGather { axes }, to: to.clone(), bytes_received }])
}

/// What each list of `long` has beyond the list of `short`, if that begins it and the steps between are local.
fn suffixes(long: &Sharding, short: &Sharding, shape: &[usize]) -> Option<Vec<Vec<AxisRef>>> {
    let mesh = &long.mesh;
    let dims = long.dims.iter().zip(&short.dims).zip(shape);
    dims.map(|((l, s), &n)| {
        let rest = suffix_after(&l.axes, &s.axes)?;
        is_local(n, l.shard_count(mesh), s.shard_count(mesh)).then_some(rest)
    })
    .collect()
}

/// `list` without `prefix`; a whole axis is not split here.
fn suffix_after(list: &[AxisRef], prefix: &[AxisRef]) -> Option<Vec<AxisRef>> {
    list.strip_prefix(prefix).map(<[AxisRef]>::to_vec)
}

/// `n` rounded up to a multiple of `shard_count`.
pub fn padded_size(n: usize, shard_count: usize) -> usize {
    n.next_multiple_of(shard_count)
}

/// Whether blocks of a dimension of size `n` over `a` shards are cut from, or joined to, blocks over `b` shards.
fn is_local(n: usize, a: usize, b: usize) -> bool {
    a == 1 || b == 1 || padded_size(n, a) == padded_size(n, b)
}

/// Whether a step between the two layouts moves whole blocks in every dimension.
pub(crate) fn is_local_between(a: &Sharding, b: &Sharding, shape: &[usize]) -> bool {
    let counts = a.shard_counts().into_iter().zip(b.shard_counts());
    counts.zip(shape).all(|((a, b), &n)| is_local(n, a, b))
}
