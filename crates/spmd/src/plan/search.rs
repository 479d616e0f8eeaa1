//! Uniform-cost search over layouts.
//!
//! The layouts of few pieces are thousands, and a program is planned with thousands of searches. The search is
//! therefore given a limit of the cost, and does not enter layouts from which the target costs more than is left
//! ([`Probes`]).
//! Without rates of the mesh, permutations cost the same between all layouts with the same numbers of shards, so that
//! only the first such layout is permuted.

use super::{Move as OneMove, Step, StepKind, Work, different, is_local, padded_size};
use rustc_hash::{FxHashMap, FxHashSet};
use shardwise_base::{AxisIndex, AxisRef, DType, Mesh, Sharding, budget};
use shardwise_sharding::cost::{CollectiveCost, bytes_of_blocks, price_of_permute, start};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The number of layouts after which the search gives up.
const MAX_LAYOUTS: usize = 5_000;

/// With more pieces than this, a permutation is only tried if it reaches the target.
const MAX_PIECES_PERMUTED: usize = 5;

/// The largest number of devices whose missing elements bound the cost from below.
const MAX_PROBES: usize = 16;

/// An indivisible part of an axis, identified by its position in [`Space::pieces`].
type Piece = u8;

/// One number for each dimension.
type Counts = SmallVec<[usize; 6]>;

/// The pieces of each dimension, major to minor.
#[derive(PartialEq, Eq, Hash)]
struct Layout {
    rank: usize,
    /// The number of pieces of each dimension, then the pieces.
    bytes: SmallVec<[u8; 24]>,
}

impl Clone for Layout {
    fn clone(&self) -> Layout {
        Layout { rank: self.rank, bytes: SmallVec::from_slice(&self.bytes) }
    }
}

impl Layout {
    fn whole(rank: usize) -> Layout {
        Layout { rank, bytes: SmallVec::from_elem(0, rank) }
    }

    fn end(&self, dim: usize) -> usize {
        self.rank + self.bytes[..=dim].iter().map(|&n| usize::from(n)).sum::<usize>()
    }

    fn len(&self, dim: usize) -> usize {
        usize::from(self.bytes[dim])
    }

    fn list(&self, dim: usize) -> &[Piece] {
        let end = self.end(dim);
        &self.bytes[end - self.len(dim)..end]
    }

    /// Returns the last `count` pieces of a dimension.
    fn suffix(&self, dim: usize, count: usize) -> &[Piece] {
        &self.list(dim)[self.len(dim) - count..]
    }

    fn lists(&self) -> impl Iterator<Item = &[Piece]> {
        (0..self.rank).map(|dim| self.list(dim))
    }

    fn pieces(&self) -> &[Piece] {
        &self.bytes[self.rank..]
    }

    fn push(&mut self, dim: usize, piece: Piece) {
        self.bytes.insert(self.end(dim), piece);
        self.bytes[dim] += 1;
    }

    fn pop(&mut self, dim: usize, count: usize) -> SmallVec<[Piece; 8]> {
        let end = self.end(dim);
        self.bytes[dim] -= count as u8;
        self.bytes.drain(end - count..end).collect()
    }

    fn is_prefix_of(&self, target: &Layout) -> bool {
        self.lists().zip(target.lists()).all(|(own, target)| target.starts_with(own))
    }
}

#[derive(Clone, Debug)]
enum Move {
    Slice { dim: usize, piece: Piece },
    Gather { dim: usize, count: usize },
    AllToAll { source: usize, target: usize, count: usize },
    Permute,
}

impl Move {
    fn applied(&self, layout: &Layout) -> Layout {
        let mut next = layout.clone();
        match *self {
            Move::Slice { dim, piece } => next.push(dim, piece),
            Move::Gather { dim, count } => _ = next.pop(dim, count),
            Move::AllToAll { source, target, count } => {
                next.pop(source, count).into_iter().for_each(|piece| next.push(target, piece));
            }
            Move::Permute => unreachable!("a permutation has its own target"),
        }
        next
    }
}

/// Everything that the cost and the legality of an edge depend on.
struct Space<'a> {
    mesh: &'a Arc<Mesh>,
    shape: &'a [usize],
    element_bytes: usize,
    pieces: Vec<AxisRef>,
    sizes: Vec<usize>,
    /// For each two pieces, by their numbers, whether they overlap or cannot be used in one layout. A piece conflicts
    /// with itself.
    conflicts: Vec<Vec<bool>>,
    target: Layout,
}

/// Returns the steps of a cheapest path from `from` to `to` that costs less than `limit`, or `None` if there is none or
/// the search gives up, as it does at once if `work` is spent. With more than [`MAX_PIECES_PERMUTED`] pieces, only
/// paths are compared whose permutations reach the target. Adds the number of edges that the search looks at to `work`.
/// The layouts are on one mesh.
///
/// # Panics
/// May panic if the layouts are equal.
pub(super) fn shortest(
    from: &Sharding,
    to: &Sharding,
    shape: &[usize],
    dtype: DType,
    limit: u64,
    work: &mut Work,
) -> Option<Vec<Step>> {
    let pieces = common_pieces(from, to);
    if pieces.len() > usize::from(Piece::MAX) || work.is_spent() {
        return None;
    }
    let mesh = &from.mesh;
    let conflict = |a: AxisRef, b: AxisRef| a.overlaps(b) || !a.can_coexist(b);
    let mut space = Space {
        mesh,
        shape,
        element_bytes: dtype.storage_bytes(),
        sizes: pieces.iter().map(|p| p.size(mesh)).collect(),
        conflicts: pieces.iter().map(|&a| pieces.iter().map(|&b| conflict(a, b)).collect()).collect(),
        pieces,
        target: Layout::whole(shape.len()),
    };
    let first = space.layout(from);
    space.target = space.layout(to);
    let mut search = Search { space: &space, probes: Probes::of(&space), visits: vec![], index: FxHashMap::default() };
    let path = search.run(first.clone(), limit, work)?;
    Some(space.steps(first, path, to))
}

/// Devices, and the elements that they need in the end.
struct Probes {
    devices: Vec<Probe>,
}

/// The index of a device along each piece, and the interval of each dimension that it needs.
type Probe = (SmallVec<[usize; 8]>, Vec<(usize, usize)>);

impl Probes {
    /// Returns all devices that differ along the pieces if they are at most [`MAX_PROBES`], and so many of them
    /// otherwise, perhaps with repetitions. There are none if two pieces conflict with each other.
    fn of(space: &Space<'_>) -> Probes {
        let count = space.sizes.iter().fold(1usize, |n, &size| n.saturating_mul(size));
        let is_alone = |(i, row): (usize, &Vec<bool>)| row.iter().enumerate().all(|(j, &conflict)| i == j || !conflict);
        if !space.conflicts.iter().enumerate().all(is_alone) {
            return Probes { devices: vec![] };
        }
        let needed = |at: SmallVec<[usize; 8]>| {
            let held = (0..space.shape.len()).map(|d| space.interval(&space.target, d, &at)).collect();
            (at, held)
        };
        // Of many devices, those at the ends and in the middle of the pieces are taken.
        let device = |number: usize| match count <= MAX_PROBES {
            true => (space.sizes.iter())
                .scan(number, |rest, &size| {
                    let at = *rest % size;
                    *rest /= size;
                    Some(at)
                })
                .collect(),
            false => {
                let at = |(i, &size): (usize, &usize)| match (number >> (i % 4)) & 1 {
                    0 => i / 4 % size,
                    _ => size - 1 - i / 4 % size,
                };
                space.sizes.iter().enumerate().map(at).collect()
            }
        };
        Probes { devices: (0..count.min(MAX_PROBES)).map(device).map(needed).collect() }
    }

    /// Returns the bytes of its target shard that a device does not hold in the layout, for the probed device that
    /// lacks most, or 0 if no devices are probed. No path from the layout to the target moves less.
    fn bytes_missing(&self, space: &Space<'_>, layout: &Layout) -> u64 {
        let missing = |(at, needed): &Probe| {
            let (mut needs, mut has) = (1, 1);
            for (d, &(low, high)) in needed.iter().enumerate() {
                let (own_low, own_high) = space.interval(layout, d, at);
                needs *= (high - low) as u64;
                has *= high.min(own_high).saturating_sub(low.max(own_low)) as u64;
            }
            needs - has
        };
        bytes_of_blocks(self.devices.iter().map(missing).max().unwrap_or(0), [], space.element_bytes)
    }
}

struct Visit {
    cost: u64,
    /// A lower bound of the cost of any path from the layout to the target.
    rest: u64,
    came_by: Option<(usize, Move)>,
    layout: Layout,
}

struct Search<'s, 'a> {
    space: &'s Space<'a>,
    probes: Probes,
    visits: Vec<Visit>,
    index: FxHashMap<Layout, usize>,
}

impl Search<'_, '_> {
    fn run(&mut self, first: Layout, mut limit: u64, work: &mut Work) -> Option<Vec<(Move, Layout)>> {
        let first = self.visit(first);
        self.visits[first].cost = 0;
        let mut queue = BinaryHeap::from([Reverse((0u64, first))]);
        let mut permuted: FxHashSet<Counts> = FxHashSet::default();
        let mut edges = vec![];
        while let Some(Reverse((cost, at))) = queue.pop() {
            budget::poll();
            if cost > self.visits[at].cost || cost + self.visits[at].rest > limit {
                continue;
            }
            if self.visits[at].layout == self.space.target {
                return Some(path(&self.visits, at));
            }
            edges.clear();
            self.space.edges(&self.visits[at].layout, &mut permuted, &mut edges);
            work.done += edges.len();
            for (mv, next, price) in edges.drain(..) {
                let cost = cost + price;
                if cost >= limit {
                    continue;
                }
                let next = next.unwrap_or_else(|| mv.applied(&self.visits[at].layout));
                if cost + start(self.space.mesh) >= limit && !next.is_prefix_of(&self.space.target) {
                    continue;
                }
                let next = self.visit(next);
                let visit = &mut self.visits[next];
                if cost < visit.cost && cost + visit.rest < limit {
                    (visit.cost, visit.came_by) = (cost, Some((at, mv)));
                    queue.push(Reverse((cost, next)));
                    // A path that costs as much as the first one is no use.
                    limit = if visit.layout == self.space.target { cost } else { limit };
                }
            }
            if self.visits.len() > MAX_LAYOUTS {
                return None;
            }
        }
        None
    }

    fn visit(&mut self, layout: Layout) -> usize {
        if let Some(&known) = self.index.get(&layout) {
            return known;
        }
        let least = if layout.is_prefix_of(&self.space.target) { 0 } else { start(self.space.mesh) };
        let rest = self.probes.bytes_missing(self.space, &layout) + least;
        self.index.insert(layout.clone(), self.visits.len());
        self.visits.push(Visit { cost: u64::MAX, rest, came_by: None, layout });
        self.visits.len() - 1
    }
}

/// An edge, its price, and the layout after it if it is a permutation.
type Edge = (Move, Option<Layout>, u64);

impl Space<'_> {
    /// Adds the edges from a layout to `edges`. Without rates of the mesh, permutations are only added if the layout's
    /// numbers of shards are not yet in `permuted`, where they are then recorded: layouts that are reached later cannot
    /// be permuted for less.
    fn edges(&self, layout: &Layout, permuted: &mut FxHashSet<Counts>, edges: &mut Vec<Edge>) {
        let counts: Counts = layout.lists().map(|list| self.count(list)).collect();
        let blocks: Counts = self.shape.iter().zip(&counts).map(|(&n, &count)| n.div_ceil(count)).collect();
        self.slices(layout, &counts, edges);
        self.gathers(layout, &counts, &blocks, edges);
        self.all_to_alls(layout, &counts, &blocks, edges);
        if self.mesh.rates.is_some() || permuted.insert(counts.clone()) {
            self.permutes(layout, &counts, edges);
        }
    }

    fn slices(&self, layout: &Layout, counts: &Counts, edges: &mut Vec<Edge>) {
        for piece in self.free_pieces(layout) {
            for (dim, &count) in counts.iter().enumerate() {
                if is_local(self.shape[dim], count, count * self.size(piece)) {
                    edges.push((Move::Slice { dim, piece }, None, 1));
                }
            }
        }
    }

    fn gathers(&self, layout: &Layout, counts: &Counts, blocks: &Counts, edges: &mut Vec<Edge>) {
        for dim in 0..layout.rank {
            let mut after = counts[dim];
            for (i, &piece) in layout.list(dim).iter().rev().enumerate() {
                after /= self.size(piece);
                if is_local(self.shape[dim], counts[dim], after) {
                    let bytes = self.gather_bytes(dim, counts[dim], after, blocks);
                    let price = self.price(CollectiveCost::AllGather, bytes, layout.suffix(dim, i + 1));
                    edges.push((Move::Gather { dim, count: i + 1 }, None, price + start(self.mesh)));
                }
            }
        }
    }

    fn all_to_alls(&self, layout: &Layout, counts: &Counts, blocks: &Counts, edges: &mut Vec<Edge>) {
        for source in 0..layout.rank {
            let mut group = 1;
            for (i, &piece) in layout.list(source).iter().rev().enumerate() {
                group *= self.size(piece);
                let after = counts[source] / group;
                if !is_local(self.shape[source], counts[source], after) {
                    continue;
                }
                for target in (0..layout.rank).filter(|&t| t != source) {
                    if is_local(self.shape[target], counts[target], counts[target] * group) {
                        let bytes = self.all_to_all_bytes(source, target, group, counts, blocks);
                        let price = self.price(CollectiveCost::AllToAll, bytes, layout.suffix(source, i + 1));
                        edges.push((Move::AllToAll { source, target, count: i + 1 }, None, price + start(self.mesh)));
                    }
                }
            }
        }
    }

    /// Returns the bytes that a device receives in a gather along `dim` from `count` shards to `after` shards: those of
    /// its shard afterwards, with padding, without those of its shard before, which has the shape `blocks`.
    fn gather_bytes(&self, dim: usize, count: usize, after: usize, blocks: &Counts) -> u64 {
        let n = self.shape[dim];
        let mut joined = blocks.clone();
        joined[dim] = padded_size(n, count).max(padded_size(n, after)) / after;
        self.bytes(&joined) - self.bytes(blocks)
    }

    /// Returns the bytes that a device receives in an all-to-all that splits dimension `target` `group` times more, and
    /// `source` so many times less: the larger one of its shards before and after, without the device's own part.
    /// `counts` are the numbers of shards before, and `blocks` is the shape of a shard before.
    fn all_to_all_bytes(&self, source: usize, target: usize, group: usize, counts: &Counts, blocks: &Counts) -> u64 {
        let mut next = blocks.clone();
        next[source] = self.shape[source].div_ceil(counts[source] / group);
        next[target] = self.shape[target].div_ceil(counts[target] * group);
        CollectiveCost::AllToAll.bytes_received(self.bytes(blocks).max(self.bytes(&next)), group as u64)
    }

    fn permutes(&self, layout: &Layout, counts: &Counts, edges: &mut Vec<Edge>) {
        let mut found = vec![];
        if self.pieces.len() <= MAX_PIECES_PERMUTED {
            self.fill(counts, &mut Layout::whole(layout.rank), 0, &mut found);
        } else if self.target.lists().zip(counts).all(|(list, &n)| self.count(list) == n) {
            found.push(self.target.clone());
        }
        let bytes = self.layout_bytes(layout);
        let price = |next: &Layout| price_of_permute(bytes, self.mesh, self.crossed(layout, next)) + start(self.mesh);
        let others = found.into_iter().filter(|next| next != layout);
        edges.extend(others.map(|next| {
            let price = price(&next);
            (Move::Permute, Some(next), price)
        }));
    }

    /// Returns the price of the bytes that a device receives in a collective over some pieces.
    fn price(&self, collective: CollectiveCost, bytes: u64, pieces: &[Piece]) -> u64 {
        if self.mesh.rates.is_none() {
            return bytes;
        }
        let axes: SmallVec<[AxisRef; 8]> = pieces.iter().map(|&p| self.pieces[usize::from(p)]).collect();
        collective.price(bytes, self.mesh, &axes)
    }

    /// Returns the pieces along which blocks move in a permutation: in each dimension, those after the pieces with
    /// which both layouts begin.
    fn crossed<'l>(&'l self, layout: &'l Layout, next: &'l Layout) -> impl Iterator<Item = AxisRef> + 'l {
        let pieces = layout.lists().zip(next.lists()).flat_map(|(a, b)| different(a, b));
        pieces.map(|&p| self.pieces[usize::from(p)])
    }

    /// Adds to `found` every layout that extends `partial`, in the dimensions from `dim` on, to these numbers of
    /// shards. `partial` is unchanged afterwards.
    fn fill(&self, counts: &Counts, partial: &mut Layout, dim: usize, found: &mut Vec<Layout>) {
        if dim == counts.len() {
            return found.push(partial.clone());
        }
        let have = self.count(partial.list(dim));
        if have == counts[dim] {
            return self.fill(counts, partial, dim + 1, found);
        }
        for piece in self.free_pieces(partial) {
            if counts[dim].is_multiple_of(have * self.size(piece)) {
                partial.push(dim, piece);
                self.fill(counts, partial, dim, found);
                partial.pop(dim, 1);
            }
        }
    }

    fn free_pieces(&self, layout: &Layout) -> SmallVec<[Piece; 8]> {
        let is_used = |p: Piece| layout.pieces().iter().any(|&q| self.conflicts[usize::from(p)][usize::from(q)]);
        (0..self.pieces.len() as Piece).filter(|&p| !is_used(p)).collect()
    }

    /// Returns the interval `low..high` of a dimension that a device holds in a layout, without padding. `at` is the
    /// device's index along each piece.
    fn interval(&self, layout: &Layout, dim: usize, at: &[usize]) -> (usize, usize) {
        let index = |(index, count): (usize, usize), &p: &Piece| {
            (index * self.size(p) + at[usize::from(p)], count * self.size(p))
        };
        let (index, count) = layout.list(dim).iter().fold((0, 1), index);
        let (n, block) = (self.shape[dim], self.shape[dim].div_ceil(count));
        ((index * block).min(n), ((index + 1) * block).min(n))
    }

    fn size(&self, piece: Piece) -> usize {
        self.sizes[usize::from(piece)]
    }

    fn count(&self, list: &[Piece]) -> usize {
        list.iter().map(|&p| self.size(p)).product()
    }

    fn bytes(&self, block: &Counts) -> u64 {
        bytes_of_blocks(1, block.iter().copied(), self.element_bytes)
    }

    fn layout_bytes(&self, layout: &Layout) -> u64 {
        let blocks = self.shape.iter().zip(layout.lists()).map(|(&n, list)| n.div_ceil(self.count(list)));
        self.bytes(&blocks.collect())
    }
}

/// Conversion from and to shardings.
impl Space<'_> {
    fn layout(&self, sharding: &Sharding) -> Layout {
        let pieces_of = |a: AxisRef| {
            let within = |i: &usize| a.contains(self.pieces[*i]);
            // If the two layouts cut the axis in contradictory ways, `a` itself is a piece.
            let whole = self.pieces.iter().position(|&p| p == a);
            let parts: Vec<usize> = whole.map_or_else(|| (0..self.pieces.len()).filter(within).collect(), |i| vec![i]);
            parts.into_iter().map(|i| i as Piece)
        };
        let mut layout = Layout::whole(sharding.rank());
        for (dim, d) in sharding.dims.iter().enumerate() {
            d.axes.iter().flat_map(|&a| pieces_of(a)).for_each(|piece| layout.push(dim, piece));
        }
        layout
    }

    fn axes(&self, list: &[Piece]) -> Vec<AxisRef> {
        let mut axes = vec![];
        for &p in list {
            AxisRef::push_or_merge(&mut axes, self.pieces[usize::from(p)], self.mesh);
        }
        axes
    }

    fn sharding(&self, layout: &Layout) -> Sharding {
        Sharding::closed(self.mesh, layout.lists().map(|list| self.axes(list)).collect())
    }

    fn steps(&self, start: Layout, path: Vec<(Move, Layout)>, to: &Sharding) -> Vec<Step> {
        let mut steps: Vec<Step> = vec![];
        let mut at = start;
        for (mv, next) in path {
            let step = self.step(&mv, &at, &next);
            if !steps.last_mut().is_some_and(|last| join(last, &step, self.mesh)) {
                steps.push(step);
            }
            at = next;
        }
        steps.last_mut().expect("the ends differ").to = to.clone();
        steps
    }

    fn step(&self, mv: &Move, at: &Layout, next: &Layout) -> Step {
        let one_dim = |dim: usize, list: &[Piece]| {
            let mut lists = vec![vec![]; at.rank];
            lists[dim] = self.axes(list);
            lists
        };
        let counts: Counts = at.lists().map(|list| self.count(list)).collect();
        let blocks: Counts = self.shape.iter().zip(&counts).map(|(&n, &count)| n.div_ceil(count)).collect();
        let (kind, bytes_received) = match *mv {
            Move::Slice { dim, piece } => (StepKind::AllSlice { axes: one_dim(dim, &[piece]) }, 0),
            Move::Gather { dim, count } => {
                let kind = StepKind::AllGather { axes: one_dim(dim, at.suffix(dim, count)) };
                (kind, self.gather_bytes(dim, counts[dim], self.count(next.list(dim)), &blocks))
            }
            Move::AllToAll { source, target, count } => {
                let pieces = at.suffix(source, count);
                let kind = StepKind::AllToAll { moves: vec![OneMove { axes: self.axes(pieces), source, target }] };
                (kind, self.all_to_all_bytes(source, target, self.count(pieces), &counts, &blocks))
            }
            Move::Permute => (StepKind::CollectivePermute, self.bytes(&blocks)),
        };
        Step { kind, to: self.sharding(next), bytes_received }
    }
}

/// Adds `next` to `last` if both are slices or both are gathers. Returns true if it did.
fn join(last: &mut Step, next: &Step, mesh: &Mesh) -> bool {
    match (&mut last.kind, &next.kind) {
        (StepKind::AllSlice { axes }, StepKind::AllSlice { axes: more }) => {
            for (list, more) in axes.iter_mut().zip(more) {
                more.iter().for_each(|&a| AxisRef::push_or_merge(list, a, mesh));
            }
        }
        (StepKind::AllGather { axes }, StepKind::AllGather { axes: more }) => {
            for (list, more) in axes.iter_mut().zip(more) {
                let mut whole = more.clone();
                list.iter().for_each(|&a| AxisRef::push_or_merge(&mut whole, a, mesh));
                *list = whole;
            }
        }
        _ => return false,
    }
    last.to = next.to.clone();
    last.bytes_received += next.bytes_received;
    true
}

fn path(visits: &[Visit], mut at: usize) -> Vec<(Move, Layout)> {
    let mut moves = vec![];
    while let Some((before, mv)) = &visits[at].came_by {
        moves.push((mv.clone(), visits[at].layout.clone()));
        at = *before;
    }
    moves.reverse();
    moves
}

/// Returns the parts of axes in which both layouts can be written.
///
/// If the two layouts cut an axis in contradictory ways, the parts of both are returned.
fn common_pieces(from: &Sharding, to: &Sharding) -> Vec<AxisRef> {
    let mesh = &from.mesh;
    let of_axis = |s: &Sharding, axis: AxisIndex| s.split_axes().filter(|a| a.axis == axis).collect::<Vec<_>>();
    let mut pieces = vec![];
    for axis in (0..mesh.axes.len()).map(AxisIndex::new) {
        let (a, b) = (of_axis(from, axis), of_axis(to, axis));
        match cut(mesh, axis, a.iter().chain(&b)) {
            Some(parts) => pieces.extend(parts),
            None => pieces.extend(a.iter().chain(b.iter().filter(|p| !a.contains(p)))),
        }
    }
    pieces
}

/// Returns the parts into which the ends of all `axes`, which are parts of `axis`, cut them. Parts that are in none of
/// `axes` are left out. Returns `None` if an end does not divide the next one.
fn cut<'a>(mesh: &Mesh, axis: AxisIndex, axes: impl Iterator<Item = &'a AxisRef> + Clone) -> Option<Vec<AxisRef>> {
    let mut ends: Vec<usize> = axes.clone().flat_map(|a| [a.pre_size(), a.next_pre_size(mesh)]).collect();
    ends.sort_unstable();
    ends.dedup();
    let parts = ends.windows(2).map(|w| w[1].is_multiple_of(w[0]).then(|| AxisRef::sub(mesh, axis, w[0], w[1] / w[0])));
    let parts: Vec<AxisRef> = parts.collect::<Option<_>>()?;
    Some(parts.into_iter().filter(|p| axes.clone().any(|a| a.contains(*p))).collect())
}
