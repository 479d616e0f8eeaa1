//! Uniform-cost search over layouts.

use super::{Move as OneMove, Step, StepKind, is_local, padded_size};
use shardwise_base::{AxisIndex, AxisRef, DType, Mesh, Sharding, budget};
use shardwise_sharding::cost::{CollectiveCost, STEP_BYTES};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// The number of layouts after which the search gives up.
const MAX_LAYOUTS: usize = 5_000;

/// With more pieces than this, a permutation is only tried if it reaches the target.
const MAX_PIECES_PERMUTED: usize = 5;

/// An indivisible part of an axis, identified by its position in [`Space::pieces`].
type Piece = u8;

/// The pieces of each dimension, major to minor.
type Layout = SmallVec<[SmallVec<[Piece; 4]>; 4]>;

#[derive(Clone, Debug)]
enum Move {
    Slice { dim: usize, piece: Piece },
    Gather { dim: usize, count: usize },
    AllToAll { source: usize, target: usize, count: usize },
    Permute,
}

/// Everything that the cost and the legality of an edge depend on.
struct Space<'a> {
    mesh: &'a Arc<Mesh>,
    shape: &'a [usize],
    element_bytes: u64,
    pieces: Vec<AxisRef>,
    target: Layout,
}

/// Returns a shortest path from `from` to `to` that costs less than `limit`, or `None` if there is none or the search
/// gives up.
pub(super) fn shortest(from: &Sharding, to: &Sharding, shape: &[usize], dtype: DType, limit: u64) -> Option<Vec<Step>> {
    let pieces = common_pieces(from, to);
    if pieces.len() > usize::from(Piece::MAX) {
        return None;
    }
    let element_bytes = dtype.storage_bytes() as u64;
    let mut space = Space { mesh: &from.mesh, shape, element_bytes, pieces, target: Layout::new() };
    let start = space.layout(from);
    space.target = space.layout(to);
    let path = space.search(start.clone(), limit)?;
    Some(space.steps(start, path, to))
}

struct Visit {
    cost: u64,
    came_by: Option<(usize, Move)>,
    layout: Layout,
}

impl Space<'_> {
    fn search(&self, start: Layout, limit: u64) -> Option<Vec<(Move, Layout)>> {
        let mut visits = vec![Visit { cost: 0, came_by: None, layout: start.clone() }];
        let mut index: HashMap<Layout, usize> = HashMap::from([(start, 0)]);
        let mut queue = BinaryHeap::from([Reverse((0u64, 0usize))]);
        while let Some(Reverse((cost, at))) = queue.pop() {
            budget::poll();
            if cost > visits[at].cost {
                continue;
            }
            if visits[at].layout == self.target {
                return Some(path(&visits, at));
            }
            for (mv, layout, price) in self.edges(&visits[at].layout) {
                let cost = cost + price;
                if cost >= limit {
                    continue;
                }
                let next = *index.entry(layout.clone()).or_insert_with(|| {
                    visits.push(Visit { cost: u64::MAX, came_by: None, layout });
                    visits.len() - 1
                });
                if cost < visits[next].cost {
                    visits[next].cost = cost;
                    visits[next].came_by = Some((at, mv));
                    queue.push(Reverse((cost, next)));
                }
            }
            if visits.len() > MAX_LAYOUTS {
                return None;
            }
        }
        None
    }

    fn edges(&self, layout: &Layout) -> Vec<(Move, Layout, u64)> {
        let mut edges = vec![];
        self.slices(layout, &mut edges);
        self.gathers(layout, &mut edges);
        self.all_to_alls(layout, &mut edges);
        self.permutes(layout, &mut edges);
        edges
    }

    fn slices(&self, layout: &Layout, edges: &mut Vec<(Move, Layout, u64)>) {
        for piece in self.free_pieces(layout) {
            for dim in 0..layout.len() {
                let mut next = layout.clone();
                next[dim].push(piece);
                if self.is_local(dim, layout, &next) {
                    edges.push((Move::Slice { dim, piece }, next, 1));
                }
            }
        }
    }

    fn gathers(&self, layout: &Layout, edges: &mut Vec<(Move, Layout, u64)>) {
        for dim in 0..layout.len() {
            for count in 1..=layout[dim].len() {
                let mut next = layout.clone();
                next[dim].truncate(layout[dim].len() - count);
                if self.is_local(dim, layout, &next) {
                    let bytes = self.gather_bytes(layout, &next);
                    edges.push((Move::Gather { dim, count }, next, bytes + STEP_BYTES));
                }
            }
        }
    }

    fn all_to_alls(&self, layout: &Layout, edges: &mut Vec<(Move, Layout, u64)>) {
        for source in 0..layout.len() {
            for count in 1..=layout[source].len() {
                for target in (0..layout.len()).filter(|&t| t != source) {
                    let next = self.moved(layout, source, target, count);
                    if self.is_local(source, layout, &next) && self.is_local(target, layout, &next) {
                        let bytes = self.all_to_all_bytes(layout, &next, source, count);
                        edges.push((Move::AllToAll { source, target, count }, next, bytes + STEP_BYTES));
                    }
                }
            }
        }
    }

    fn moved(&self, layout: &Layout, source: usize, target: usize, count: usize) -> Layout {
        let mut next = layout.clone();
        let at = layout[source].len() - count;
        let suffix: SmallVec<[Piece; 4]> = next[source].drain(at..).collect();
        next[target].extend(suffix);
        next
    }

    /// Returns the bytes of the shards that are joined, except for the device's own one. Their padding is counted.
    fn gather_bytes(&self, layout: &Layout, next: &Layout) -> u64 {
        let size = |d: usize| {
            let (n, a, b) = (self.shape[d], self.count(&layout[d]), self.count(&next[d]));
            (padded_size(n, a).max(padded_size(n, b)) / b) as u64
        };
        let joined: u64 = (0..self.shape.len()).map(size).product();
        joined * self.element_bytes - self.bytes(layout)
    }

    /// Returns the bytes of a device's shard except for its own part. The shard is padded if a dimension is split
    /// unevenly.
    fn all_to_all_bytes(&self, layout: &Layout, next: &Layout, source: usize, count: usize) -> u64 {
        let at = layout[source].len() - count;
        let group: u64 = layout[source][at..].iter().map(|&p| self.size(p) as u64).product();
        let whole = self.bytes(layout).max(self.bytes(next));
        CollectiveCost::AllToAll.bytes_received(whole, group)
    }

    fn permutes(&self, layout: &Layout, edges: &mut Vec<(Move, Layout, u64)>) {
        let price = self.bytes(layout) + STEP_BYTES;
        let counts: Vec<usize> = layout.iter().map(|list| self.count(list)).collect();
        let mut found = vec![];
        if self.pieces.len() <= MAX_PIECES_PERMUTED {
            self.fill(&counts, &mut Layout::from_elem(SmallVec::new(), layout.len()), 0, &mut found);
        } else if self.target.iter().zip(&counts).all(|(list, &n)| self.count(list) == n) {
            found.push(self.target.clone());
        }
        edges.extend(found.into_iter().filter(|next| next != layout).map(|next| (Move::Permute, next, price)));
    }

    /// Finds every layout with these numbers of shards in the dimensions from `dim` on.
    fn fill(&self, counts: &[usize], partial: &mut Layout, dim: usize, found: &mut Vec<Layout>) {
        if dim == counts.len() {
            return found.push(partial.clone());
        }
        let have = self.count(&partial[dim]);
        if have == counts[dim] {
            return self.fill(counts, partial, dim + 1, found);
        }
        for piece in self.free_pieces(partial) {
            if counts[dim].is_multiple_of(have * self.size(piece)) {
                partial[dim].push(piece);
                self.fill(counts, partial, dim, found);
                partial[dim].pop();
            }
        }
    }

    /// Returns the pieces that do not overlap the pieces in use.
    fn free_pieces(&self, layout: &Layout) -> Vec<Piece> {
        let used = |p: AxisRef| layout.iter().flatten().any(|&q| self.conflict(p, self.pieces[usize::from(q)]));
        (0..self.pieces.len() as Piece).filter(|&p| !used(self.pieces[usize::from(p)])).collect()
    }

    fn conflict(&self, a: AxisRef, b: AxisRef) -> bool {
        a.overlaps(b, self.mesh) || !a.can_coexist(b)
    }

    fn is_local(&self, dim: usize, a: &Layout, b: &Layout) -> bool {
        is_local(self.shape[dim], self.count(&a[dim]), self.count(&b[dim]))
    }

    fn size(&self, piece: Piece) -> usize {
        self.pieces[usize::from(piece)].size(self.mesh)
    }

    fn count(&self, list: &[Piece]) -> usize {
        list.iter().map(|&p| self.size(p)).product()
    }

    fn bytes(&self, layout: &Layout) -> u64 {
        let blocks = self.shape.iter().zip(layout).map(|(&n, list)| n.div_ceil(self.count(list)) as u64);
        blocks.product::<u64>() * self.element_bytes
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
        sharding.dims.iter().map(|d| d.axes.iter().flat_map(|&a| pieces_of(a)).collect()).collect()
    }

    fn axes(&self, list: &[Piece]) -> Vec<AxisRef> {
        let mut axes = vec![];
        for &p in list {
            AxisRef::push_or_merge(&mut axes, self.pieces[usize::from(p)], self.mesh);
        }
        axes
    }

    fn sharding(&self, layout: &Layout) -> Sharding {
        Sharding::closed(self.mesh, layout.iter().map(|list| self.axes(list)).collect())
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
            let mut lists = vec![vec![]; at.len()];
            lists[dim] = self.axes(list);
            lists
        };
        let (kind, bytes_received) = match *mv {
            Move::Slice { dim, piece } => (StepKind::AllSlice { axes: one_dim(dim, &[piece]) }, 0),
            Move::Gather { dim, count } => {
                let kind = StepKind::AllGather { axes: one_dim(dim, &at[dim][at[dim].len() - count..]) };
                (kind, self.gather_bytes(at, next))
            }
            Move::AllToAll { source, target, count } => {
                let axes = self.axes(&at[source][at[source].len() - count..]);
                (
                    StepKind::AllToAll { moves: vec![OneMove { axes, source, target }] },
                    self.all_to_all_bytes(at, next, source, count),
                )
            }
            Move::Permute => (StepKind::CollectivePermute, self.bytes(at)),
        };
        Step { kind, to: self.sharding(next), bytes_received }
    }
}

/// Adds `next` to `last` if one step can do both. Returns whether it did.
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

/// Returns the parts into which the ends of all `axes` cut them, or `None` if an end does not divide the next one.
fn cut<'a>(mesh: &Mesh, axis: AxisIndex, axes: impl Iterator<Item = &'a AxisRef> + Clone) -> Option<Vec<AxisRef>> {
    let mut ends: Vec<usize> = axes.clone().flat_map(|a| [a.pre_size(), a.next_pre_size(mesh)]).collect();
    ends.sort_unstable();
    ends.dedup();
    let parts = ends.windows(2).map(|w| w[1].is_multiple_of(w[0]).then(|| AxisRef::sub(mesh, axis, w[0], w[1] / w[0])));
    let parts: Vec<AxisRef> = parts.collect::<Option<_>>()?;
    Some(parts.into_iter().filter(|p| axes.clone().any(|a| a.contains(*p))).collect())
}
