//! Finds the cheapest sequence of collectives that turns one layout into another.
//!
//! A layout is, for each dimension, a list of *pieces*: parts of mesh axes in which both the source and the target
//! layout can be written. Every collective is an edge between layouts with a known cost. The plan is a shortest path,
//! found by uniform-cost search ([`search`]). This module does not depend on the IR.
//!
//! | step | effect on the lists | bytes that the device that receives most receives |
//! |---|---|---|
//! | `all_slice` | appends unused pieces | 0 |
//! | `all_gather` | drops a suffix | out - in |
//! | `all_to_all` | moves a suffix to the end of another list | (g-1)/g of the shard |
//! | `collective_permute` | any lists with the same counts | the shard |
//!
//! For most layouts that can be written in the same digits ([`exchange`]), and for most blocks that do not nest
//! ([`boxes`]), a plan is known without a search. It needs few collectives, or at most 16 permutes.
//!
//! In an uneven dimension, `n` elements over `k` shards are in blocks of `ceil(n/k)`. A step from `k` shards to another
//! number of shards is local only if both numbers pad `n` to the same size, or if one of them is 1: then the whole
//! dimension is on the device and is padded or cut there. Only local steps are edges.

mod bound;
pub(crate) mod boxes;
mod exchange;
mod search;
mod sum;
#[cfg(test)]
mod tests;

pub use bound::{bytes_missing, rounds_needed};
pub(crate) use boxes::Boxes;
use shardwise_base::{AxisRef, DType, DimSharding, Mesh, Sharding};
use shardwise_sharding::cost::{CollectiveCost, bytes_of_blocks, price_of_permute, start};
#[cfg(test)]
pub(crate) use sum::MAX_WORK;
pub use sum::price_of_sum;
pub(crate) use sum::{Layout, MovePrices, hash_layout};

/// The number of rounds of an exchange up to which no path of other collectives is searched for where bytes are
/// compared. Such a path would save the start of few collectives at most.
const FEW_ROUNDS: u64 = 4;

/// One collective of a plan and the layout after it.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub kind: StepKind,
    /// The layout after the step. For the last step this is the target without unreduced axes and axes of size 1,
    /// unless the target is replicated on a mesh with axes of other sizes: it is then the replicated layout on the mesh
    /// of the source.
    pub to: Sharding,
    /// The bytes that the device that receives most receives.
    pub bytes_received: u64,
}

/// The work of planning: the number of edges that are looked at, or as much work on boxes. When it is spent, paths are
/// no longer searched for, and after twice as much no exchanges of boxes.
#[derive(Clone, Copy)]
pub(crate) struct Work {
    done: usize,
    most: usize,
}

impl Work {
    fn unlimited() -> Work {
        Work { done: 0, most: usize::MAX }
    }

    fn is_spent(&self) -> bool {
        self.done >= self.most
    }

    /// Returns true if twice the work is done, so that exchanges of boxes are not looked for either.
    fn is_overspent(&self) -> bool {
        self.done / 2 >= self.most
    }
}

/// The kind of a collective.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// Each device keeps a part of its shard. These axes are appended to the list of axes of each dimension.
    AllSlice { axes: Vec<Vec<AxisRef>> },
    /// Devices join their shards. These axes, which end the list of axes of each dimension, are removed from it.
    AllGather { axes: Vec<Vec<AxisRef>> },
    /// Makes these moves of axes one after the other, all in one all-to-all.
    AllToAll { moves: Vec<Move> },
    /// Each device receives the shard of one device, unless it has that shard already.
    CollectivePermute,
    /// Each device receives what it lacks from devices that hold it, in this number of collectives
    /// ([`shardwise_ops::shardy::exchange`], or [`boxes`] if the blocks of the layouts do not nest). The arrays that it
    /// receives may be longer than what it lacks.
    Exchange { collective_count: u64 },
}

/// A part of an all-to-all: `axes` are removed from the end of the list of axes of dimension `source`, and are appended
/// to the list of axes of dimension `target`.
#[derive(Clone, PartialEq, Debug)]
pub struct Move {
    pub axes: Vec<AxisRef>,
    pub source: usize,
    pub target: usize,
}

/// Returns a sequence of steps that turns a value laid out as `from` into one laid out as `to`. It is chosen for its
/// low cost, but is not always the cheapest.
///
/// The sequence is empty if both layouts are the same, or if both replicate the value. Unreduced axes are ignored: they
/// are summed before a value is resharded. `shape` is the global shape. The meshes of the layouts may differ.
pub fn plan_reshard(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    plan_counted(from, to, shape, dtype, &mut Work::unlimited())
}

/// Returns the plan of [`plan_reshard`], and adds the work of planning to `work`. Once `work` is spent, fewer plans are
/// compared, so the result may cost more.
fn plan_counted(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, work: &mut Work) -> Vec<Step> {
    let (from, to) = (&layout_only(from), &layout_only(to));
    if from.same_layout(to) {
        return vec![];
    }
    if !from.mesh.same_devices(&to.mesh) {
        return between_meshes(from, to, shape, dtype, work);
    }
    direct(from, to, shape, dtype)
        .filter(|steps| is_without_padding(steps, from, to, shape, dtype))
        .or_else(|| by_exchange(from, to, shape, dtype, work))
        .or_else(|| search::shortest(from, to, shape, dtype, u64::MAX, work))
        .unwrap_or_else(|| through_replicated(from, to, shape, dtype))
}

/// Returns the sequence of steps with the fewest bytes among those without rounds of permutations, of the sequences
/// that are compared. It needs few collectives on any number of devices. Both layouts are on one mesh.
///
/// # Panics
/// Panics if the layouts are equal.
pub fn plan_of_collectives(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    let (from, to) = (&layout_only(from), &layout_only(to));
    let plain = through_replicated(from, to, shape, dtype);
    let found = [
        direct(from, to, shape, dtype),
        exchange::plan_of_collectives(from, to, shape, dtype),
        search::shortest(from, to, shape, dtype, u64::MAX, &mut Work::unlimited()),
    ];
    found.into_iter().flatten().chain([plain]).min_by_key(|steps| total_bytes(steps)).expect("one is always possible")
}

fn is_without_padding(steps: &[Step], from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> bool {
    total_bytes(steps) <= local_bytes(to, shape, dtype).saturating_sub(local_bytes(from, shape, dtype))
}

/// Returns the plan that follows from the digits of the layouts, or that of [`by_boxes`] if there is none or if the
/// latter costs less because blocks have padding. Returns `None` if there is neither. In place of a plan that follows
/// from digits, the plan through the replicated value is returned if it costs less.
fn by_exchange(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, work: &mut Work) -> Option<Vec<Step>> {
    let Some(plan) = exchange::plan(from, to, shape, dtype) else {
        return by_boxes(from, to, shape, dtype, work);
    };
    let plan = least_cost(plan, from, to, shape, dtype)?;
    if from.divides(shape) && to.divides(shape) {
        return Some(plan);
    }
    let boxes = by_boxes(from, to, shape, dtype, work);
    [Some(plan), boxes].into_iter().flatten().min_by_key(|steps| cost(from, steps))
}

/// Returns the exchange of boxes, or other collectives if they cost less. Other collectives are only searched for if
/// the exchange takes more than [`FEW_ROUNDS`] or the mesh has rates, except for the plan through the replicated value.
/// Returns `None` if [`price_of_boxes`] does.
fn by_boxes(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, work: &mut Work) -> Option<Vec<Step>> {
    let price = price_of_boxes(from, to, shape, dtype, work)?;
    let kind = StepKind::Exchange { collective_count: price.round_count };
    let step = Step { kind, to: to.clone(), bytes_received: price.bytes_received };
    let plan = least_cost(vec![step], from, to, shape, dtype)?;
    if price.round_count <= FEW_ROUNDS && from.mesh.rates.is_none() {
        return Some(plan);
    }
    search::shortest(from, to, shape, dtype, cost(from, &plan), work).or(Some(plan))
}

/// Returns the boxes that an exchange between the layouts consists of. Returns `None` if there is no exchange of boxes,
/// or if there is a small exchange that follows from the digits of the layouts, and it costs no more or no dimension is
/// padded.
pub(crate) fn boxes_between(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Boxes> {
    price_of_boxes(from, to, shape, dtype, &mut Work::unlimited())?;
    Boxes::between(from, to, shape, dtype)
}

/// Returns the price of the exchange of [`boxes_between`], or `None` if there is none. Adds the work of planning to
/// `work`. Once `work` is spent, the price is that of the first exchange that is found, which may be higher, and `None`
/// is returned if it does not cost less than the exchange by digits. Returns `None` if `work` is overspent.
fn price_of_boxes(
    from: &Sharding,
    to: &Sharding,
    shape: &[usize],
    dtype: DType,
    work: &mut Work,
) -> Option<boxes::Price> {
    let by_digits = exchange::step(from, to, shape, dtype);
    if by_digits.is_some() && from.divides(shape) && to.divides(shape) {
        return None;
    }
    let price = boxes::Best::between(from, to, shape, dtype, work)?.price;
    // Both exchanges move data between the same devices.
    by_digits
        .is_none_or(|step| price.total() < step.bytes_received + price_of_starts(&from.mesh, &step))
        .then_some(price)
}

/// Plans a reshard to a mesh with other axes or another order of devices. If the sizes of the axes are equal and `from`
/// splits the value, the first step goes to the same layout on the target mesh. Otherwise, the value is gathered and
/// sliced.
fn between_meshes(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, work: &mut Work) -> Vec<Step> {
    let sizes = |s: &Sharding| s.mesh.axes.iter().map(|a| a.size).collect::<Vec<_>>();
    if sizes(from) != sizes(to) || from.split_axes().next().is_none() {
        return through_replicated(from, to, shape, dtype);
    }
    let there = from.clone().with_mesh(to.mesh.clone());
    let bytes_received = local_bytes(from, shape, dtype);
    let mut steps = vec![Step { kind: StepKind::CollectivePermute, to: there.clone(), bytes_received }];
    steps.extend(plan_counted(&there, to, shape, dtype, work));
    steps
}

/// Returns the sum over all steps of the bytes that the device that receives most receives.
pub fn total_bytes(steps: &[Step]) -> u64 {
    steps.iter().map(|s| s.bytes_received).sum()
}

/// Returns `plan`, or the plan through the replicated value if that costs less because it has fewer steps. Always
/// returns `Some`.
fn least_cost(plan: Vec<Step>, from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Vec<Step>> {
    let is_plain_cheaper = cost_through_replicated(from, to, shape, dtype) < cost(from, &plan);
    Some(if is_plain_cheaper { through_replicated(from, to, shape, dtype) } else { plan })
}

/// Returns the [`cost`] of the plan of [`through_replicated`].
fn cost_through_replicated(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let price = || {
        let axes: Vec<AxisRef> = from.split_axes().collect();
        CollectiveCost::AllGather.price(gathered_bytes(from, shape, dtype), &from.mesh, &axes) + start(&from.mesh)
    };
    let gather = if is_split(from) { price() } else { 0 };
    gather + u64::from(is_split(to))
}

fn is_split(sharding: &Sharding) -> bool {
    sharding.split_axes().next().is_some()
}

/// Returns the bytes that a device receives when all shards are gathered, with their padding.
fn gathered_bytes(from: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let padded = from.dims.iter().zip(shape).map(|(d, &n)| padded_size(n, d.shard_count(&from.mesh)));
    bytes_of_blocks(1, padded, dtype.storage_bytes()) - local_bytes(from, shape, dtype)
}

/// Returns the price of steps that begin with the layout `from`: that of the bytes received, and that of starting the
/// collectives.
fn cost(from: &Sharding, steps: &[Step]) -> u64 {
    let before = std::iter::once(from).chain(steps.iter().map(|s| &s.to));
    before.zip(steps).map(|(before, step)| price_of_bytes(before, step) + price_of_starts(&before.mesh, step)).sum()
}

/// Returns the price of starting the collectives of a step.
fn price_of_starts(mesh: &Mesh, step: &Step) -> u64 {
    match step.kind {
        StepKind::AllSlice { .. } => 1,
        StepKind::Exchange { collective_count } => collective_count * start(mesh),
        _ => start(mesh),
    }
}

/// Returns the price of the bytes that a device receives in a step that begins with the layout `before`.
fn price_of_bytes(before: &Sharding, step: &Step) -> u64 {
    let (bytes, mesh) = (step.bytes_received, &before.mesh);
    if bytes == 0 || mesh.rates.is_none() {
        return bytes;
    }
    match &step.kind {
        StepKind::AllSlice { .. } => bytes,
        StepKind::AllGather { axes } => CollectiveCost::AllGather.price(bytes, mesh, &axes.concat()),
        StepKind::AllToAll { moves } => {
            let axes: Vec<AxisRef> = moves.iter().flat_map(|m| m.axes.iter().copied()).collect();
            CollectiveCost::AllToAll.price(bytes, mesh, &axes)
        }
        StepKind::CollectivePermute => price_of_permute(bytes, mesh, crossed(before, &step.to)),
        StepKind::Exchange { .. } => exchange::price_of_bytes(before, &step.to, bytes)
            .unwrap_or_else(|| price_of_permute(bytes, mesh, crossed(before, &step.to))),
    }
}

/// Returns the axes along which blocks move if the layout changes: in each dimension, those after the axes with which
/// both layouts begin. Between meshes, these are all axes.
fn crossed(before: &Sharding, after: &Sharding) -> Vec<AxisRef> {
    if !before.mesh.same_devices(&after.mesh) {
        return before.mesh.all_axes().collect();
    }
    let rest = |(a, b): (&DimSharding, &DimSharding)| different(&a.axes, &b.axes).copied().collect::<Vec<_>>();
    before.dims.iter().zip(&after.dims).flat_map(rest).collect()
}

/// Returns the items of two lists after those with which both begin.
fn different<'l, T: PartialEq>(a: &'l [T], b: &'l [T]) -> impl Iterator<Item = &'l T> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    a[same..].iter().chain(&b[same..])
}

/// Returns the plan that gathers everything and then slices, without a step that would change nothing. It is always
/// valid and seldom cheap.
pub fn through_replicated(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Vec<Step> {
    let whole = Sharding::replicated(&from.mesh, from.rank());
    let lists = |s: &Sharding| s.dims.iter().map(|d| d.axes.clone()).collect();
    let gather = Step {
        kind: StepKind::AllGather { axes: lists(from) },
        bytes_received: gathered_bytes(from, shape, dtype),
        to: whole,
    };
    let slice = Step { kind: StepKind::AllSlice { axes: lists(to) }, to: to.clone(), bytes_received: 0 };
    let mut steps = vec![];
    steps.extend(is_split(from).then_some(gather));
    steps.extend(is_split(to).then_some(slice));
    steps
}

/// Returns the number of bytes of the largest shard, as [`bytes_of_blocks`] counts it.
pub fn local_bytes(sharding: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    bytes_of_blocks(1, sharding.local_shape(shape), dtype.storage_bytes())
}

/// Returns the number of bytes of the largest shard of `to` that is joined from shards of `from`, with their padding.
fn padded_bytes(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> u64 {
    let counts = from.shard_counts().into_iter().zip(to.shard_counts());
    let size = |((a, b), &n): ((usize, usize), &usize)| padded_size(n, a).max(padded_size(n, b)) / b;
    bytes_of_blocks(1, counts.zip(shape).map(size), dtype.storage_bytes())
}

/// Returns the layout alone, as [`Sharding::canonical`] does, and without unreduced axes and axes of size 1.
pub(crate) fn layout_only(sharding: &Sharding) -> Sharding {
    sharding.canonical().with_unreduced(vec![]).without_unit_axes()
}

fn direct(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType) -> Option<Vec<Step>> {
    if let Some(axes) = suffixes(to, from, shape) {
        return Some(vec![Step { kind: StepKind::AllSlice { axes }, to: to.clone(), bytes_received: 0 }]);
    }
    let axes = suffixes(from, to, shape)?;
    let bytes_received = padded_bytes(from, to, shape, dtype) - local_bytes(from, shape, dtype);
    Some(vec![Step { kind: StepKind::AllGather { axes }, to: to.clone(), bytes_received }])
}

/// Returns what each list of `long` has beyond the list of `short`, or `None` if a list of `short` is no prefix or a
/// step between them is not local.
fn suffixes(long: &Sharding, short: &Sharding, shape: &[usize]) -> Option<Vec<Vec<AxisRef>>> {
    let mesh = &long.mesh;
    let dims = long.dims.iter().zip(&short.dims).zip(shape);
    dims.map(|((l, s), &n)| {
        let rest = suffix_after(&l.axes, &s.axes)?;
        is_local(n, l.shard_count(mesh), s.shard_count(mesh)).then_some(rest)
    })
    .collect()
}

/// Returns `list` without `prefix`, or `None` if `list` does not start with it. A part of an axis is not a prefix of
/// the whole axis here.
fn suffix_after(list: &[AxisRef], prefix: &[AxisRef]) -> Option<Vec<AxisRef>> {
    list.strip_prefix(prefix).map(<[AxisRef]>::to_vec)
}

/// Returns `n` rounded up to a multiple of `shard_count`.
///
/// # Panics
/// Panics if `shard_count` is 0.
pub fn padded_size(n: usize, shard_count: usize) -> usize {
    n.next_multiple_of(shard_count)
}

/// Returns true if a step from `a` to `b` shards of a dimension of size `n`, or back, moves whole blocks: one of the
/// numbers is 1, or both pad `n` to the same size.
fn is_local(n: usize, a: usize, b: usize) -> bool {
    a == 1 || b == 1 || padded_size(n, a) == padded_size(n, b)
}

/// Returns true if a step between the two layouts moves whole blocks in every dimension ([`is_local`]).
pub(crate) fn is_local_between(a: &Sharding, b: &Sharding, shape: &[usize]) -> bool {
    let counts = a.shard_counts().into_iter().zip(b.shard_counts());
    counts.zip(shape).all(|((a, b), &n)| is_local(n, a, b))
}
