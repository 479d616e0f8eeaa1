//! The sources and targets of a `collective_permute`.
//!
//! A permutation is stored as a rule over mesh axes where there is one, so that its size does not grow with the number
//! of devices. The attributes of the op choose the rule:
//!
//! | attributes | the device that receives, and the device that it receives from |
//! |---|---|
//! | `shardwise.axes`, `shardwise.shift = k`, `shardwise.wraps` | position `i` along the axes, from position `i - k`, modulo their size |
//! | `shardwise.axes`, `shardwise.shift = k` | position `i`, from position `i - k`; the first `k` (or last `-k`) positions receive nothing |
//! | `shardwise.from`, `shardwise.to` | position `i` along the axes `to`, from position `i` along the axes `from` |
//! | `shardwise.axes`, `source_target_pairs` | the target of each pair, from its source: positions along the axes |
//! | `source_target_pairs` | the target of each pair, from its source: process ids, as imported |
//!
//! Positions along a list of axes are counted major to minor, and all other coordinates of the two devices are equal. A
//! device that receives nothing gets zeros.
//!
//! ```text
//! "stablehlo.collective_permute"(%x) {shardwise.axes = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
//!     axes = [#stablehlo.axis_ref<name = "x">]>, shardwise.shift = 1 : i64, shardwise.wraps}
//! ```

use super::{Groups, pairs_attr, pairs_of, with_index_in};
use crate::check::{Check, is_unique};
use shardwise_base::{AxisRef, Diagnostics, Mesh, Positions, budget};
use shardwise_ir::{Attr, Attrs, OpView};
use std::collections::HashMap;
use std::sync::Arc;

const AXES: &str = "shardwise.axes";
const SHIFT: &str = "shardwise.shift";
const WRAPS: &str = "shardwise.wraps";
const FROM: &str = "shardwise.from";
const TO: &str = "shardwise.to";
const PAIRS: &str = "source_target_pairs";

/// Axes of a mesh, major to minor.
#[derive(Clone, PartialEq, Debug)]
pub struct AxisList {
    pub mesh: Arc<Mesh>,
    pub axes: Vec<AxisRef>,
}

impl AxisList {
    /// Returns a list of these axes of `mesh`, in this order. It is not checked that the mesh has them.
    pub fn new(mesh: &Arc<Mesh>, axes: impl Into<Vec<AxisRef>>) -> AxisList {
        AxisList { mesh: mesh.clone(), axes: axes.into() }
    }

    /// Returns the number of positions along the list.
    pub fn size(&self) -> usize {
        AxisRef::total_size(&self.mesh, &self.axes)
    }

    fn of_attr(attr: &Attr) -> Option<AxisList> {
        attr.as_axes().map(|(mesh, axes)| AxisList::new(mesh, axes))
    }

    fn to_attr(&self) -> Attr {
        Attr::Axes { mesh: self.mesh.clone(), axes: self.axes.clone() }
    }

    fn covered(&self) -> Vec<AxisRef> {
        AxisRef::union(&self.mesh, self.axes.iter().copied())
    }
}

/// The sources and targets of a `collective_permute`.
#[derive(Clone, PartialEq, Debug)]
pub enum Permutation {
    /// Each device sends to the one that is `by` positions further along the axes, or back if `by` is negative. Beyond
    /// the last or first position, it goes on at the other end if it `wraps`, and otherwise sends to none.
    Shift { along: AxisList, by: isize, wraps: bool },
    /// The device at position `i` along `from` sends to the one at position `i` along `to`.
    ///
    /// Both lists have the same parts of one mesh, in any orders. Or their meshes differ in axes or in the order of the
    /// devices, and each list has all axes of its mesh.
    Reorder { from: AxisList, to: AxisList },
    /// Source and target, as positions along the axes.
    Pairs { along: AxisList, pairs: Vec<(usize, usize)> },
    /// Source and target, as ids of processes. [`IdSpace`](super::IdSpace) states what they are the ids of.
    Processes(Vec<(usize, usize)>),
}

impl Permutation {
    /// Returns the permutation of these pairs of positions along the axes: a shift if it is exactly one.
    pub fn of_pairs(along: AxisList, mut pairs: Vec<(usize, usize)>) -> Permutation {
        pairs.sort_unstable();
        match shift_of_pairs(along.size(), &pairs) {
            Some((by, wraps)) => Permutation::Shift { along, by, wraps },
            None => Permutation::Pairs { along, pairs },
        }
    }

    /// Returns the shift by `by` positions around the ring of all positions along the axes. A negative `by` shifts
    /// back.
    pub fn ring(along: AxisList, by: isize) -> Permutation {
        let by = nearest_to_zero(by, along.size());
        Permutation::Shift { along, by, wraps: true }
    }

    /// Returns the permutation from positions along `from` to the same positions along `to`. If the meshes of both
    /// lists have the same axes and devices, the axes that both lists begin or end with are left out.
    pub fn reorder(mut from: AxisList, mut to: AxisList) -> Permutation {
        if from.mesh.same_devices(&to.mesh) {
            let same = |a: &&[AxisRef], b: &&[AxisRef]| a.len().min(b.len());
            let (a, b) = (&from.axes[..], &to.axes[..]);
            let start = (0..same(&a, &b)).take_while(|&i| a[i] == b[i]).count();
            let (a, b) = (&a[start..], &b[start..]);
            let end = (1..=same(&a, &b)).take_while(|&i| a[a.len() - i] == b[b.len() - i]).count();
            for list in [&mut from, &mut to] {
                list.axes.truncate(list.axes.len() - end);
                list.axes.drain(..start);
            }
        }
        Permutation::Reorder { from, to }
    }

    /// Reads the permutation from the attributes of a `collective_permute`. Returns `None` unless they are of the right
    /// kinds and those of one row of the table in this file's documentation. Their values are not checked against the
    /// mesh.
    pub(super) fn of(op: &OpView<'_>) -> Option<Permutation> {
        let list = |name: &str| op.attr(name).map(|attr| AxisList::of_attr(attr).ok_or(())).transpose();
        let (along, from, to) = (list(AXES).ok()?, list(FROM).ok()?, list(TO).ok()?);
        let pairs = op.attr(PAIRS).map(|attr| pairs_of(attr).ok_or(())).transpose().ok()?;
        let shift = op.attr(SHIFT).map(|attr| attr.as_int().and_then(|by| isize::try_from(by).ok()).ok_or(()));
        let wraps = op.attr(WRAPS).map(|attr| attr.as_bool().ok_or(())).transpose().ok()?;
        match (along, from, to, pairs, shift.transpose().ok()?, wraps) {
            (None, None, None, Some(pairs), None, None) => Some(Permutation::Processes(pairs)),
            (Some(along), None, None, Some(pairs), None, None) => Some(Permutation::Pairs { along, pairs }),
            (Some(along), None, None, None, Some(by), wraps) => {
                Some(Permutation::Shift { along, by, wraps: wraps.unwrap_or(false) })
            }
            (None, Some(from), Some(to), None, None, None) => Some(Permutation::Reorder { from, to }),
            _ => None,
        }
    }

    /// Writes the permutation into the attributes, in place of the one that they describe.
    pub fn write(&self, attrs: &mut Attrs) {
        for name in [AXES, SHIFT, WRAPS, FROM, TO, PAIRS] {
            attrs.remove(name);
        }
        match self {
            Permutation::Shift { along, by, wraps } => {
                attrs.set(AXES, along.to_attr());
                attrs.set(SHIFT, Attr::int(*by as i64));
                if *wraps {
                    attrs.set(WRAPS, Attr::Unit);
                }
            }
            Permutation::Reorder { from, to } => {
                attrs.set(FROM, from.to_attr());
                attrs.set(TO, to.to_attr());
            }
            Permutation::Pairs { along, pairs } => {
                attrs.set(AXES, along.to_attr());
                attrs.set(PAIRS, pairs_attr(pairs));
            }
            Permutation::Processes(pairs) => _ = attrs.set(PAIRS, pairs_attr(pairs)),
        }
    }

    /// Returns the groups within which values move. For process ids, this is one group of all processes.
    pub fn groups(&self) -> Groups {
        let list = match self {
            Permutation::Shift { along, .. } | Permutation::Pairs { along, .. } => along.clone(),
            Permutation::Reorder { from, .. } => AxisList::new(&from.mesh, from.covered()),
            Permutation::Processes(_) => return Groups::All,
        };
        Groups::Axes { mesh: list.mesh, axes: list.axes }
    }

    /// Returns true if every device of every group is a target, for a permutation that the verifier accepts. Returns
    /// false for process ids, whose number is not known here.
    pub fn is_total(&self) -> bool {
        match self {
            Permutation::Shift { by, wraps, .. } => *wraps || *by == 0,
            Permutation::Reorder { .. } => true,
            Permutation::Pairs { along, pairs } => pairs.len() == along.size(),
            Permutation::Processes(_) => false,
        }
    }

    /// Returns the number of devices of a group that send to a device other than themselves.
    pub fn moved_count(&self) -> usize {
        match self {
            Permutation::Shift { by: 0, .. } => 0,
            Permutation::Shift { along, wraps: true, .. } => along.size(),
            Permutation::Shift { along, by, wraps: false } => along.size().saturating_sub(by.unsigned_abs()),
            Permutation::Reorder { from, to } => from.size() - fixed_count(from, to),
            Permutation::Pairs { pairs, .. } | Permutation::Processes(pairs) => {
                pairs.iter().filter(|(s, t)| s != t).count()
            }
        }
    }

    /// Returns the pairs of source and target, as positions along the axes of [`Permutation::groups`] or as process
    /// ids. Pairs that are stored as such are returned in their order, and others are sorted by source.
    pub fn to_pairs(&self) -> Vec<(usize, usize)> {
        let (Groups::Axes { mesh, axes }, false) = (self.groups(), matches!(self, Permutation::Pairs { .. })) else {
            return match self {
                Permutation::Pairs { pairs, .. } | Permutation::Processes(pairs) => pairs.clone(),
                _ => vec![],
            };
        };
        let (senders, origin) = (Senders::new(self, &mesh), vec![0; mesh.axes.len()]);
        let pair = |target: usize| {
            let source = senders.sender(&with_index_in(&mesh, &axes, &origin, target))?;
            Some((AxisRef::index_in(&mesh, &axes, &source), target))
        };
        let mut pairs: Vec<_> = (0..AxisRef::total_size(&mesh, &axes)).filter_map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Returns the pairs of source and target as device ids on `mesh`, sorted by source. Pairs with a device that is
    /// not in `mesh` are left out. Pairs of process ids are returned as they are. The list grows with the number of
    /// devices.
    pub fn to_device_pairs(&self, mesh: &Mesh) -> Vec<(usize, usize)> {
        if let Permutation::Processes(pairs) = self {
            return pairs.clone();
        }
        let senders = Senders::new(self, mesh);
        let pair = |p: usize| {
            let source = senders.sender(&mesh.coordinates(p))?;
            Some((mesh.device(mesh.position(&source)), mesh.device(p)))
        };
        let mut pairs: Vec<_> = (0..mesh.size()).filter_map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    /// Returns the permutation that sends values back: each target to its source.
    pub fn inverse(&self) -> Permutation {
        let reversed = |pairs: &[(usize, usize)]| {
            let mut pairs: Vec<_> = pairs.iter().map(|&(source, target)| (target, source)).collect();
            pairs.sort_unstable();
            pairs
        };
        match self {
            Permutation::Shift { along, by, wraps: true } => Permutation::ring(along.clone(), -by),
            Permutation::Shift { along, by, wraps } => {
                Permutation::Shift { along: along.clone(), by: -by, wraps: *wraps }
            }
            Permutation::Reorder { from, to } => Permutation::Reorder { from: to.clone(), to: from.clone() },
            Permutation::Pairs { along, pairs } => Permutation::Pairs { along: along.clone(), pairs: reversed(pairs) },
            Permutation::Processes(pairs) => Permutation::Processes(reversed(pairs)),
        }
    }

    /// Returns the permutation on `mesh` that moves values as this one and then `next` do. A device gets zeros if
    /// `next` sends nothing to it, or sends from a device to which this permutation sends nothing. Returns `None` if
    /// the result would send from or to a device that is not in the mesh. The time grows with the number of devices.
    pub fn then(&self, next: &Permutation, mesh: &Arc<Mesh>) -> Option<Permutation> {
        let targets: HashMap<usize, usize> = next.to_device_pairs(mesh).into_iter().collect();
        let pairs = self.to_device_pairs(mesh).into_iter();
        let pairs: Vec<_> = pairs.filter_map(|(source, via)| Some((source, *targets.get(&via)?))).collect();
        permutation_of_pairs(mesh, &pairs)
    }

    /// Returns the axes of the mesh along which the result varies if the operand varies along the axes `operand`: only
    /// axes of the groups. Returns all of the groups' axes where the exact ones are not known, and no axes for pairs of
    /// process ids.
    pub fn varying(&self, operand: &[AxisRef]) -> Vec<AxisRef> {
        let Groups::Axes { axes, .. } = self.groups() else { return vec![] };
        let varies = axes.iter().any(|a| operand.iter().any(|b| a.overlaps(*b)));
        match self {
            _ if !varies && self.is_total() => vec![],
            Permutation::Reorder { from, to } if from.mesh.same_devices(&to.mesh) => moved_axes(from, to, operand),
            _ => axes,
        }
    }

    pub(super) fn check(op: &OpView<'_>, check: &mut Check<'_, '_>) -> Result<(), Diagnostics> {
        let permutation = Permutation::of(op);
        let rule = format!(
            "who sends to whom must be given in one way: `{PAIRS}`, as rows of two numbers that are not negative, \
             alone or with `{AXES}`; `{AXES}` and `{SHIFT}`, alone or with `{WRAPS}`; `{FROM}` and `{TO}`"
        );
        check.that("collective_permute_c1", permutation.is_some(), &rule);
        match &permutation {
            Some(Permutation::Shift { along, by, .. }) => {
                check_list(AXES, along, check)?;
                let n = along.size();
                let rule =
                    format!("`{SHIFT}` must be above -{n} and below {n}, the number of positions along `{AXES}`");
                check.that("collective_permute_c4", by.unsigned_abs() < n, &rule);
            }
            Some(Permutation::Reorder { from, to }) => {
                check_list(FROM, from, check)?;
                check_list(TO, to, check)?;
                let rule = format!(
                    "`{FROM}` and `{TO}` must have the same axes of one mesh, in any order, or all axes of two meshes of \
                     one size"
                );
                check.that("collective_permute_c4", is_reordering(from, to), &rule);
            }
            Some(Permutation::Pairs { along, pairs }) => {
                check_list(AXES, along, check)?;
                let n = along.size();
                let in_range = pairs.iter().all(|&(s, t)| s < n && t < n);
                check.that(
                    "collective_permute_c4",
                    in_range,
                    &format!("each number of a pair must be below {n}, the number of positions along `{AXES}`"),
                );
                check_pairs(pairs, check);
            }
            Some(Permutation::Processes(pairs)) => check_pairs(pairs, check),
            None => {}
        }
        Ok(())
    }
}

/// Checks that no two axes of a list overlap, so that it has a number of positions. Returns the errors so far if not.
fn check_list(name: &str, list: &AxisList, check: &mut Check<'_, '_>) -> Result<(), Diagnostics> {
    let rule = format!("no two axes of `{name}` may overlap or split an axis in contradictory ways");
    check.that("collective_permute_c4", AxisRef::are_disjoint(&list.axes), &rule).so_far()
}

fn check_pairs(pairs: &[(usize, usize)], check: &mut Check<'_, '_>) {
    let (sources, targets): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
    check.that("collective_permute_c2", is_unique(&sources), "no process may be the source of two pairs");
    check.that("collective_permute_c3", is_unique(&targets), "no process may be the target of two pairs");
}

/// Returns true if positions along the two lists, each without overlaps, are the same devices in different orders.
fn is_reordering(from: &AxisList, to: &AxisList) -> bool {
    if from.mesh.same_devices(&to.mesh) {
        return from.covered() == to.covered();
    }
    let has_all = |list: &AxisList| list.size() == list.mesh.size() && !list.mesh.is_maximal();
    has_all(from) && has_all(to) && from.size() == to.size()
}

/// Reads pairs among `n` positions, sorted by source, as a shift: by how many positions, and whether it wraps. Returns
/// `None` if they are not one shift of all positions that have a target, or if there are no pairs.
///
/// `[(0, 1), (1, 2), (2, 0)]` -> `(1, true)`; `[(0, 1), (1, 2)]` among 3 -> `(1, false)`
fn shift_of_pairs(n: usize, pairs: &[(usize, usize)]) -> Option<(isize, bool)> {
    let &(source, target) = pairs.first()?;
    let by = target as isize - source as isize;
    if pairs.len() == n {
        let is_ring =
            |(i, &(s, t)): (usize, &(usize, usize))| s == i && (s as isize + by).rem_euclid(n as isize) as usize == t;
        return pairs.iter().enumerate().all(is_ring).then(|| (nearest_to_zero(by, n), true));
    }
    let start = (-by).max(0) as usize;
    let is_line = |(i, &(s, t)): (usize, &(usize, usize))| s == start + i && t as isize - s as isize == by;
    let is_shift = pairs.len() + by.unsigned_abs() == n && pairs.iter().enumerate().all(is_line);
    is_shift.then_some((by, false))
}

/// Returns the shortest shift around a ring of `n` that is equal to `by`: 3 of 4 is -1. If two are as short, returns
/// the positive one.
fn nearest_to_zero(by: isize, n: usize) -> isize {
    let n = n.max(1) as isize;
    let forward = by.rem_euclid(n);
    if 2 * forward > n { forward - n } else { forward }
}

/// Counts the positions at which both lists have the same device.
fn fixed_count(from: &AxisList, to: &AxisList) -> usize {
    if !from.mesh.same_devices(&to.mesh) {
        let pairs = Permutation::Reorder { from: from.clone(), to: to.clone() }.to_pairs();
        return pairs.iter().filter(|(s, t)| s == t).count();
    }
    let digits = common_digits(from, to);
    if let Some(count) = digits.as_deref().and_then(fixed_count_of_cycles) {
        return count;
    }
    let [from_digits, to_digits] = [digits_of(from), digits_of(to)];
    let mut count = 0;
    for i in 0..from.size() {
        if i.is_multiple_of(4096) {
            budget::poll();
        }
        count += usize::from(place(&from_digits, i) == place(&to_digits, i));
    }
    count
}

/// A digit of a position along an axis list: the number of its values, and the distance between two neighbours in
/// positions of the mesh's grid.
type Digit = (usize, usize);

fn digits_of(list: &AxisList) -> Vec<Digit> {
    list.axes.iter().rev().map(|a| (a.size(&list.mesh), a.stride(&list.mesh))).collect()
}

/// Returns the position in the grid (relative to position 0 along the list) of position `index` along the list.
fn place(digits: &[Digit], mut index: usize) -> usize {
    let mut place = 0;
    for &(size, stride) in digits {
        place += index % size * stride;
        index /= size;
    }
    place
}

/// Returns digits in which positions along both lists can be written, minor to major, each with its stride in both.
/// Returns `None` if there are none, as for sizes 2, 3 and 3, 2.
fn common_digits(from: &AxisList, to: &AxisList) -> Option<Vec<(usize, [usize; 2])>> {
    let mut lists = [digits_of(from), digits_of(to)];
    lists.iter_mut().for_each(|digits| digits.reverse());
    let mut common = vec![];
    while let [Some(a), Some(b)] = [lists[0].pop(), lists[1].pop()] {
        let size = a.0.min(b.0);
        for (list, digit) in lists.iter_mut().zip([a, b]) {
            if !digit.0.is_multiple_of(size) {
                return None;
            }
            if digit.0 > size {
                list.push((digit.0 / size, digit.1 * size));
            }
        }
        common.push((size, [a.1, b.1]));
    }
    Some(common)
}

/// Counts the positions that are the same in both lists, if these have the same digits in different orders: all digits
/// of a cycle must be equal. Returns `None` if they do not.
fn fixed_count_of_cycles(digits: &[(usize, [usize; 2])]) -> Option<usize> {
    let mut seen = vec![false; digits.len()];
    let mut count = 1;
    for start in 0..digits.len() {
        let mut at = start;
        while !std::mem::replace(&mut seen[at], true) {
            let (size, [from, _]) = digits[at];
            at = digits.iter().position(|&(n, [_, to])| (n, to) == (size, from))?;
            if at == start {
                count *= size;
            }
        }
    }
    Some(count)
}

/// Returns the parts of `to` along which a value may vary after the reordering if it varies along `axes` before.
///
/// The digits over `axes` of positions along `from` are spans of strides of the position. A part of `to` depends on a
/// span unless one ends where the other starts, or before.
fn moved_axes(from: &AxisList, to: &AxisList, axes: &[AxisRef]) -> Vec<AxisRef> {
    let mut spans = vec![];
    for (part, start) in with_starts(from) {
        let mesh = &from.mesh;
        for other in axes.iter().filter(|a| a.overlaps(part)) {
            let own = part.overlap(*other).unwrap_or(part);
            let start = start * (own.stride(mesh) / part.stride(mesh));
            spans.push((start, start * own.size(mesh)));
        }
    }
    let mesh = &to.mesh;
    let mut moved = vec![];
    for (part, start) in with_starts(to) {
        let end = start * part.size(mesh);
        for &(lo, hi) in &spans {
            if start.is_multiple_of(hi) || lo.is_multiple_of(end) {
                continue;
            }
            let cuts = |at: usize| start < at && at < end && at.is_multiple_of(start) && end.is_multiple_of(at);
            let lo = if cuts(lo) { lo } else { start };
            let hi = if cuts(hi) && hi.is_multiple_of(lo) { hi } else { end };
            let pre_size = part.pre_size() * (end / hi);
            moved.push(AxisRef::sub(mesh, part.axis, pre_size, hi / lo));
        }
    }
    moved
}

/// Returns the parts of a list, minor to major, each with the distance between neighbours along it, in positions along
/// the list.
fn with_starts(list: &AxisList) -> Vec<(AxisRef, usize)> {
    let mut start = 1;
    let part = |a: &AxisRef| {
        let own = start;
        start *= a.size(&list.mesh);
        (*a, own)
    };
    list.axes.iter().rev().map(part).collect()
}

/// A permutation, prepared to find the device that sends to the device at some coordinates.
///
/// It is prepared once for a permutation, in time about linear in its text, and in the lists of device ids of the
/// meshes where these are needed. Each answer takes time about linear in the number of axes.
pub struct Senders<'a> {
    mesh: &'a Mesh,
    rule: Rule<'a>,
}

enum Rule<'a> {
    Shift { along: Seen<'a>, by: isize, wraps: bool },
    Reorder { from: Seen<'a>, to: Seen<'a> },
    Pairs { along: Seen<'a>, source_of: HashMap<usize, usize> },
    Processes { positions: Positions, source_of: HashMap<usize, usize> },
}

impl<'a> Senders<'a> {
    /// Prepares the permutation for a program on `mesh`.
    pub fn new(permutation: &'a Permutation, mesh: &'a Mesh) -> Senders<'a> {
        let sources = |pairs: &[(usize, usize)]| pairs.iter().map(|&(source, target)| (target, source)).collect();
        let rule = match permutation {
            Permutation::Shift { along, by, wraps } => {
                Rule::Shift { along: Seen::new(along, mesh), by: *by, wraps: *wraps }
            }
            Permutation::Reorder { from, to } => Rule::Reorder { from: Seen::new(from, mesh), to: Seen::new(to, mesh) },
            Permutation::Pairs { along, pairs } => {
                Rule::Pairs { along: Seen::new(along, mesh), source_of: sources(pairs) }
            }
            Permutation::Processes(pairs) => Rule::Processes { positions: mesh.positions(), source_of: sources(pairs) },
        };
        Senders { mesh, rule }
    }

    /// Returns the coordinates of the device that sends to the device at `target`, or `None` if no device of the mesh
    /// does.
    pub fn sender(&self, target: &[usize]) -> Option<Vec<usize>> {
        let mesh = self.mesh;
        match &self.rule {
            Rule::Shift { along, by, wraps } => {
                let n = along.list.size() as isize;
                let source = along.index(mesh, target)? as isize - by;
                let source = if *wraps { source.rem_euclid(n) } else { source };
                (0..n).contains(&source).then(|| along.device(mesh, target, source as usize))?
            }
            Rule::Reorder { from, to } => from.device(mesh, target, to.index(mesh, target)?),
            Rule::Pairs { along, source_of } => {
                along.device(mesh, target, *source_of.get(&along.index(mesh, target)?)?)
            }
            Rule::Processes { positions, source_of } => {
                let source = source_of.get(&mesh.device(mesh.position(target)))?;
                Some(mesh.coordinates(positions.of(*source)?))
            }
        }
    }
}

/// An axis list, seen from a program whose mesh may have other axes, or the devices in another order.
struct Seen<'a> {
    list: &'a AxisList,
    /// The positions of the devices in the program's mesh and in the list's. `None` if both have the same axes and
    /// devices.
    positions: Option<[Positions; 2]>,
}

impl<'a> Seen<'a> {
    fn new(list: &'a AxisList, mesh: &Mesh) -> Seen<'a> {
        let differs = !list.mesh.same_devices(mesh);
        Seen { list, positions: differs.then(|| [mesh.positions(), list.mesh.positions()]) }
    }

    /// Returns the position along the list of the device at these coordinates of the program's mesh, or `None` if the
    /// list's mesh does not have the device.
    fn index(&self, mesh: &Mesh, coordinates: &[usize]) -> Option<usize> {
        let own = self.positions.as_ref().map(|[_, own]| moved(mesh, coordinates, &self.list.mesh, own));
        let coordinates = own.unwrap_or_else(|| Some(coordinates.to_vec()))?;
        Some(AxisRef::index_in(&self.list.mesh, &self.list.axes, &coordinates))
    }

    /// Returns the coordinates in the program's mesh of the device at position `index` along the list that agrees with
    /// the device at `coordinates` along all other axes. Returns `None` if one of the meshes does not have the device.
    fn device(&self, mesh: &Mesh, coordinates: &[usize], index: usize) -> Option<Vec<usize>> {
        let AxisList { mesh: list_mesh, axes } = self.list;
        let Some([theirs, own]) = &self.positions else {
            return Some(with_index_in(mesh, axes, coordinates, index));
        };
        let coordinates = moved(mesh, coordinates, list_mesh, own)?;
        moved(list_mesh, &with_index_in(list_mesh, axes, &coordinates, index), mesh, theirs)
    }
}

/// Returns the coordinates in `to` of the device at `coordinates` of `from`, or `None` if `to` does not have the
/// device. `positions` are those of the devices of `to`.
fn moved(from: &Mesh, coordinates: &[usize], to: &Mesh, positions: &Positions) -> Option<Vec<usize>> {
    Some(to.coordinates(positions.of(from.device(from.position(coordinates)))?))
}

/// Returns the permutation that consists of these pairs of device ids, along the shortest list of axes. At worst, these
/// are all axes. Returns `None` if a device is not in the mesh.
pub fn permutation_of_pairs(mesh: &Arc<Mesh>, pairs: &[(usize, usize)]) -> Option<Permutation> {
    let positions = mesh.positions();
    let at = |device: usize| positions.of(device).map(|p| mesh.coordinates(p));
    let pairs: Vec<(Vec<usize>, Vec<usize>)> =
        pairs.iter().map(|&(s, t)| Some((at(s)?, at(t)?))).collect::<Option<_>>()?;
    let mut target = vec![None; mesh.size()];
    for (s, t) in &pairs {
        target[mesh.position(s)] = Some(mesh.position(t));
    }
    let mut along = AxisList::new(mesh, []);
    for part in mesh.prime_parts() {
        if !is_same_along(mesh, part, &pairs, &target) {
            AxisRef::push_or_merge(&mut along.axes, part, mesh);
        }
    }
    let index = |c: &[usize]| AxisRef::index_in(mesh, &along.axes, c);
    let mut pairs: Vec<_> = pairs.iter().map(|(s, t)| (index(s), index(t))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    Some(Permutation::of_pairs(along, pairs))
}

/// Returns true if the permutation keeps the coordinate along `part`, and is the same at each value of it. Each value
/// is compared with the next.
fn is_same_along(mesh: &Mesh, part: AxisRef, pairs: &[(Vec<usize>, Vec<usize>)], target: &[Option<usize>]) -> bool {
    let coordinate = |c: &[usize]| AxisRef::index_in(mesh, &[part], c);
    let next = |c: &[usize]| (coordinate(c) + 1) % part.size(mesh);
    let moved = |c: &[usize], i: usize| mesh.position(&with_index_in(mesh, &[part], c, i));
    pairs.iter().all(|(s, t)| coordinate(s) == coordinate(t) && target[moved(s, next(s))] == Some(moved(t, next(t))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::AxisIndex;

    fn mesh(axes: &[(&str, usize)]) -> Arc<Mesh> {
        Arc::new(Mesh::new("mesh", axes.iter().copied()).unwrap())
    }

    fn full(axis: usize) -> AxisRef {
        AxisRef::full(AxisIndex::new(axis))
    }

    fn slow_pairs(from: &AxisList, to: &AxisList) -> Vec<(usize, usize)> {
        let (mesh, n) = (&from.mesh, from.mesh.size());
        let rest: Vec<AxisRef> = mesh.all_axes().flat_map(|a| a.minus(mesh, &from.covered())).collect();
        let key = |list: &AxisList, p: usize| {
            [&list.axes, &rest].map(|axes| AxisRef::index_in(mesh, axes, &mesh.coordinates(p)))
        };
        let all = (0..n).flat_map(|s| (0..n).map(move |t| (s, t)));
        all.filter(|&(s, t)| key(from, s) == key(to, t)).collect()
    }

    fn reorderings() -> Vec<(AxisList, AxisList)> {
        let mut out = vec![];
        for mesh in [mesh(&[("x", 4), ("y", 2), ("z", 2)]), mesh(&[("x", 3), ("y", 4)]), mesh(&[("x", 2), ("y", 6)])] {
            let parts = [mesh.prime_parts(), mesh.all_axes().collect()];
            for from in &parts {
                for to in &parts {
                    for (turn, len) in (0..to.len()).flat_map(|t| (1..=to.len()).map(move |len| (t, len))) {
                        let mut to = to.clone();
                        to.rotate_left(turn);
                        to[..len].reverse();
                        out.push((AxisList::new(&mesh, from.clone()), AxisList::new(&mesh, to)));
                    }
                }
            }
        }
        assert!(out.len() > 100);
        out
    }

    #[test]
    fn reorderings_send_from_one_list_to_the_other() {
        for (from, to) in reorderings() {
            let slow = slow_pairs(&from, &to);
            let mesh = from.mesh.clone();
            let permutation = Permutation::reorder(from, to);
            assert_eq!(permutation.to_device_pairs(&mesh), slow, "{permutation:?}");
            let moved = slow.iter().filter(|(s, t)| s != t).count();
            let Groups::Axes { axes, .. } = permutation.groups() else { panic!("over axes") };
            let copies = mesh.size() / AxisRef::total_size(&mesh, &axes);
            assert_eq!(permutation.moved_count() * copies, moved, "{permutation:?}");
        }
    }

    #[test]
    fn a_reordered_value_varies_where_it_says() {
        for (from, to) in reorderings() {
            let mesh = from.mesh.clone();
            for axes in mesh.prime_parts().into_iter().chain(mesh.all_axes()).map(|a| vec![a]) {
                let value = |c: &[usize]| AxisRef::index_in(&mesh, &axes, c);
                let permutation = Permutation::reorder(from.clone(), to.clone());
                let Groups::Axes { axes: own, .. } = permutation.groups() else { panic!("over axes") };
                let rest = axes.iter().flat_map(|a| a.minus(&mesh, &own));
                let varying = AxisRef::union(&mesh, permutation.varying(&axes).into_iter().chain(rest));
                let mut seen = HashMap::new();
                for (source, target) in permutation.to_device_pairs(&mesh) {
                    let point = AxisRef::index_in(&mesh, &varying, &mesh.coordinates(target));
                    let sent = value(&mesh.coordinates(source));
                    assert_eq!(*seen.entry(point).or_insert(sent), sent, "{permutation:?} of {axes:?}: {varying:?}");
                }
            }
        }
        let mesh = mesh(&[("x", 4), ("y", 4)]);
        let [x, y] = [full(0), full(1)];
        let swap = Permutation::reorder(AxisList::new(&mesh, [x, y]), AxisList::new(&mesh, [y, x]));
        assert_eq!(swap.varying(&[x]), [y], "as many values as before");
        assert_eq!(swap.varying(&[AxisRef::sub(&mesh, x.axis, 2, 2)]), [AxisRef::sub(&mesh, y.axis, 2, 2)]);
    }

    #[test]
    fn devices_of_another_order_are_found() {
        let own = mesh(&[("x", 2), ("y", 3)]);
        let other = Arc::new(Mesh::clone(&own).with_device_ids(vec![4, 2, 0, 1, 5, 3]).unwrap());
        let all: Vec<AxisRef> = own.all_axes().collect();
        let permutation = Permutation::reorder(AxisList::new(&own, all.clone()), AxisList::new(&other, all));
        let expected: Vec<(usize, usize)> = (0..6).map(|p| (own.device(p), other.device(p))).collect();
        for mesh in [&own, &other] {
            assert_eq!(permutation.to_device_pairs(mesh), expected);
        }
        assert_eq!(permutation.moved_count(), expected.iter().filter(|(s, t)| s != t).count());
    }

    #[test]
    fn pairs_are_shifts_exactly_where_shifts_make_them() {
        let list = AxisList::new(&mesh(&[("x", 5)]), [full(0)]);
        let pairs_of = |by: isize, wraps: bool| {
            let permutation = Permutation::Shift { along: list.clone(), by, wraps };
            (permutation.to_pairs(), permutation.moved_count(), permutation.is_total())
        };
        assert_eq!(pairs_of(1, true), (vec![(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], 5, true));
        assert_eq!(pairs_of(-2, false), (vec![(2, 0), (3, 1), (4, 2)], 3, false));
        for by in -4..5 {
            for wraps in [false, true] {
                let (pairs, moved, is_total) = pairs_of(by, wraps);
                let found = Permutation::of_pairs(list.clone(), pairs.clone());
                assert!(matches!(found, Permutation::Shift { .. }), "{found:?}");
                assert_eq!((found.to_pairs(), found.moved_count(), found.is_total()), (pairs, moved, is_total));
            }
        }
        for pairs in [vec![], vec![(0, 1)], vec![(0, 1), (1, 2), (2, 3), (3, 0), (4, 4)], vec![(0, 1), (2, 3), (3, 4)]]
        {
            let found = Permutation::of_pairs(list.clone(), pairs.clone());
            assert_eq!(found, Permutation::Pairs { along: list.clone(), pairs });
        }
    }

    #[test]
    fn a_ring_along_one_axis_is_a_permutation_of_that_axis() {
        let mesh = mesh(&[("x", 4), ("y", 2)]);
        let ring = Permutation::ring(AxisList::new(&mesh, [full(0)]), 3);
        let dense = ring.to_device_pairs(&mesh);
        assert_eq!(dense[0], (0, 6));
        assert_eq!(permutation_of_pairs(&mesh, &dense), Some(ring));
    }

    #[test]
    fn every_permutation_of_a_small_mesh_survives() {
        let mesh = Mesh::new("mesh", [("x", 2), ("y", 2)]).unwrap().with_device_ids(vec![3, 1, 0, 2]).unwrap();
        let mesh = Arc::new(mesh);
        // Each device sends to one of four or to none, and no target occurs twice.
        for code in 0..5usize.pow(4) {
            let pairs: Vec<(usize, usize)> =
                (0..4).map(|s| (s, code / 5usize.pow(s as u32) % 5)).filter(|&(_, t)| t < 4).collect();
            let targets: Vec<usize> = pairs.iter().map(|p| p.1).collect();
            if crate::check::is_unique(&targets) {
                let found = permutation_of_pairs(&mesh, &pairs).unwrap();
                assert_eq!(found.to_device_pairs(&mesh), pairs);
            }
        }
    }

    #[test]
    fn a_million_devices_are_no_list() {
        let mesh = mesh(&[("x", 1 << 10), ("y", 1 << 10)]);
        let [x, y] = [full(0), full(1)];
        let swap = Permutation::reorder(AxisList::new(&mesh, [x, y]), AxisList::new(&mesh, [y, x]));
        assert_eq!(swap.moved_count(), (1 << 20) - (1 << 10));
        assert_eq!(Senders::new(&swap, &mesh).sender(&[3, 700]), Some(vec![700, 3]));
        let mut attrs = Attrs::new();
        swap.write(&mut attrs);
        assert!(!attrs.contains(PAIRS) && attrs.len() == 2);
    }
}
