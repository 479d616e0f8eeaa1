//! References to mesh axes and to parts of them. Shardings, device groups, permutations and uniformity all refer to
//! axes through these types.

use crate::Mesh;
use crate::printable::printable;
use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::DerefMut;

/// An axis of a mesh, identified by its position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisIndex(u16);

impl AxisIndex {
    /// Returns the axis at position `index` of the mesh.
    ///
    /// # Panics
    /// Panics if `index` is larger than 65535.
    pub fn new(index: usize) -> AxisIndex {
        AxisIndex(u16::try_from(index).expect("a mesh has at most Mesh::MAX_AXES axes"))
    }

    /// Returns the position of the axis in the mesh.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for AxisIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "axis{}", self.0)
    }
}

/// The middle dimension of an axis of size `n` that is viewed as `[pre_size, size, n / (pre_size * size)]`.
///
/// Searches for layouts copy and compare many of these, so the numbers take four bytes each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubAxis {
    pre_size: NonZeroU32,
    size: NonZeroU32,
}

/// A whole axis, or a sub-axis of it (`"x":(2)4`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AxisRef {
    pub axis: AxisIndex,
    pub sub: Option<SubAxis>,
}

impl AxisRef {
    /// Returns a reference to the whole axis.
    pub fn full(axis: AxisIndex) -> AxisRef {
        AxisRef { axis, sub: None }
    }

    /// Returns the sub-axis `(pre_size)size` of `axis`, or the whole axis if the sub-axis covers all of it. It is not
    /// checked that the axis has such a part.
    ///
    /// # Panics
    /// Panics as [`SubAxis::new`] does.
    pub fn sub(mesh: &Mesh, axis: AxisIndex, pre_size: usize, size: usize) -> AxisRef {
        let is_whole = pre_size == 1 && size == mesh.axis_size(axis);
        AxisRef { axis, sub: (!is_whole).then(|| SubAxis::new(pre_size, size)) }
    }

    /// Returns the size of the axis or sub-axis.
    pub fn size(self, mesh: &Mesh) -> usize {
        self.sub.map_or_else(|| mesh.axis_size(self.axis), SubAxis::size)
    }

    /// Returns the product of the sizes of the more major sub-axes of the same axis, which is 1 for a whole axis.
    pub fn pre_size(self) -> usize {
        self.sub.map_or(1, SubAxis::pre_size)
    }

    /// Returns `pre_size * size`, which is the `pre_size` of the next more minor sub-axis.
    pub fn next_pre_size(self, mesh: &Mesh) -> usize {
        self.pre_size() * self.size(mesh)
    }

    /// Returns the coordinate along this (sub-)axis of a device whose coordinate along the whole axis is
    /// `axis_coordinate`.
    ///
    /// # Panics
    /// Panics if the axis is too small to have the sub-axis.
    pub fn coordinate(self, mesh: &Mesh, axis_coordinate: usize) -> usize {
        match self.sub {
            None => axis_coordinate,
            Some(s) => axis_coordinate / (mesh.axis_size(self.axis) / s.next_pre_size()) % s.size(),
        }
    }

    /// Returns the distance, in positions of the mesh's grid, between two devices that are neighbours along this
    /// (sub-)axis.
    pub fn stride(self, mesh: &Mesh) -> usize {
        let minor_axes: usize = mesh.axes[self.axis.index() + 1..].iter().map(|a| a.size).product();
        minor_axes * (mesh.axis_size(self.axis) / self.next_pre_size(mesh))
    }

    /// Returns the printed form: `"x"` or `"x":(2)4`. Control characters are escaped.
    pub fn display(self, mesh: &Mesh) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| {
            write!(f, "\"{}\"", printable(mesh.axis_name(self.axis)))?;
            match self.sub {
                Some(s) => write!(f, ":{s}"),
                None => Ok(()),
            }
        })
    }
}

/// Operations on sets of axes: union, difference, and a check for overlaps.
impl AxisRef {
    /// Returns the merged list of disjoint parts of axes that covers what `axes` cover, sorted by the position of the
    /// axis in the mesh and then major to minor. Axes and parts of size 1 are left out.
    ///
    /// If two parts of an axis cannot coexist (`(1)2` and `(1)3`), the list has the whole axis in place of all parts of
    /// this axis.
    pub fn union(mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> Vec<AxisRef> {
        let mut axes = axes.into_iter();
        let Some(first) = axes.next() else { return vec![] };
        let mut parts: Vec<Vec<(usize, usize)>> = vec![vec![]; mesh.axes.len()];
        for a in [first].into_iter().chain(axes) {
            parts[a.axis.index()].push((a.pre_size(), a.next_pre_size(mesh)));
        }
        let mut out = vec![];
        for (i, mut spans) in parts.into_iter().enumerate() {
            let axis = AxisIndex::new(i);
            spans.sort_unstable();
            let mut cuts: Vec<usize> = spans.iter().flat_map(|&(lo, hi)| [lo, hi]).collect();
            cuts.sort_unstable();
            if !cuts.windows(2).all(|w| w[1].is_multiple_of(w[0])) {
                out.push(AxisRef::full(axis));
                continue;
            }
            let mut merged: Vec<(usize, usize)> = vec![];
            for (lo, hi) in spans {
                match merged.last_mut() {
                    Some(last) if lo <= last.1 => last.1 = last.1.max(hi),
                    _ => merged.push((lo, hi)),
                }
            }
            out.extend(
                merged.into_iter().filter(|(lo, hi)| hi > lo).map(|(lo, hi)| AxisRef::sub(mesh, axis, lo, hi / lo)),
            );
        }
        out
    }

    /// Returns the parts of `self` that none of `axes` covers, major to minor. Parts that cannot coexist with `self`
    /// cover nothing of it. The others must be able to coexist with each other.
    pub fn minus(self, mesh: &Mesh, axes: &[AxisRef]) -> Vec<AxisRef> {
        let mut spans = vec![(self.pre_size(), self.next_pre_size(mesh))];
        for a in axes.iter().filter(|a| a.axis == self.axis && self.can_coexist(**a)) {
            let (lo, hi) = (a.pre_size(), a.next_pre_size(mesh));
            spans =
                spans.into_iter().flat_map(|(l, h)| [(l, h.min(lo)), (l.max(hi), h)]).filter(|(l, h)| h > l).collect();
        }
        spans.into_iter().map(|(l, h)| AxisRef::sub(mesh, self.axis, l, h / l)).collect()
    }

    /// Returns true if a layout cannot use both: if they are references to one axis that share a part or cannot
    /// coexist.
    pub fn overlaps(self, other: AxisRef) -> bool {
        self.shares_part(other) || !self.can_coexist(other)
    }
}

/// Relations between two references to axes of one mesh. The semantics are those of Shardy's `AxisRefAttr`, and its
/// examples hold here too.
///
/// Two sub-axes *can coexist* when there is a factorisation of the axis in which each of them is a product of
/// consecutive factors: `(1)2` and `(2)2` can coexist, `(1)2` and `(1)3` cannot. For two that cannot coexist, the
/// operations below return no overlap and no remainder.
impl AxisRef {
    /// Returns true if `other` is a part of `self` or equal to it: `"x"` ⊇ `"x":(2)2`, `"x":(1)4` ⊇ `"x":(2)2`. Parts
    /// that cannot coexist do not contain each other.
    pub fn contains(self, other: AxisRef) -> bool {
        self.axis == other.axis
            && match (self.sub, other.sub) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(a), Some(b)) => {
                    a.can_coexist(b) && a.pre_size() <= b.pre_size() && a.next_pre_size() >= b.next_pre_size()
                }
            }
    }

    /// Returns true if `self` is the major part of `other`, or all of it: `"x":(2)2` of `"x":(2)4`. Returns false
    /// if the two cannot coexist.
    pub fn prefix_of(self, other: AxisRef) -> bool {
        other.contains(self) && self.pre_size() == other.pre_size()
    }

    /// Returns true if `self` is the minor part of `other`, or all of it: `"x":(4)2` of `"x":(2)4`. Returns false
    /// if the two cannot coexist.
    pub fn suffix_of(self, other: AxisRef, mesh: &Mesh) -> bool {
        other.contains(self) && self.next_pre_size(mesh) == other.next_pre_size(mesh)
    }

    /// Returns true if both may be used in one module without splitting the axis in contradictory ways. This holds for
    /// parts of different axes, and if one of the two is a whole axis.
    pub fn can_coexist(self, other: AxisRef) -> bool {
        match (self.sub, other.sub) {
            (Some(a), Some(b)) if self.axis == other.axis => a.can_coexist(b),
            _ => true,
        }
    }

    /// Returns the part that both have: `"x":(2)2` of `"x":(1)4` and `"x":(2)4`. Returns `None` if they share nothing
    /// or cannot coexist.
    pub fn overlap(self, other: AxisRef) -> Option<AxisRef> {
        if self.axis != other.axis {
            return None;
        }
        let (Some(a), Some(b)) = (self.sub, other.sub) else {
            return Some(if self.sub.is_none() { other } else { self });
        };
        let (from, to) = (a.pre_size().max(b.pre_size()), a.next_pre_size().min(b.next_pre_size()));
        (to > from && a.can_coexist(b)).then(|| AxisRef::part(self.axis, from, to / from))
    }

    /// Returns the longest major part of `self` that shares nothing with `other`: `"x":(1)2` of `"x":(1)4` and
    /// `"x":(2)4`. Returns `None` if there is none or if the two cannot coexist.
    pub fn prefix_without_overlap(self, other: AxisRef) -> Option<AxisRef> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.shares_part(other) {
            return Some(self);
        }
        let (from, to) = (self.pre_size(), other.pre_size());
        (to > from).then(|| AxisRef::part(self.axis, from, to / from))
    }

    /// Returns the longest minor part of `self` that shares nothing with `other`: `"x":(4)2` of `"x":(2)4` and
    /// `"x":(1)4`. Returns `None` if there is none or if the two cannot coexist.
    pub fn suffix_without_overlap(self, other: AxisRef, mesh: &Mesh) -> Option<AxisRef> {
        if !self.can_coexist(other) {
            return None;
        }
        if !self.shares_part(other) {
            return Some(self);
        }
        let (from, to) = (other.next_pre_size(mesh), self.next_pre_size(mesh));
        (to > from).then(|| AxisRef::part(self.axis, from, to / from))
    }

    /// Returns the shorter of the two if it is the major part of the longer one or equal to it. Otherwise returns
    /// `None`, also if the two cannot coexist.
    pub fn greatest_common_prefix(self, other: AxisRef) -> Option<AxisRef> {
        if self.prefix_of(other) { Some(self) } else { other.prefix_of(self).then_some(other) }
    }

    /// Returns true if both are sub-axes of one axis and `other` starts exactly where `self` ends, so that the two can
    /// be merged: `"x":(1)2`, `"x":(2)4`.
    pub fn can_merge(self, other: AxisRef) -> bool {
        match (self.sub, other.sub) {
            (Some(a), Some(b)) => self.axis == other.axis && a.next_pre_size() == b.pre_size(),
            _ => false,
        }
    }

    /// Returns `self` and `other` merged into one, which is the whole axis if they cover all of it.
    ///
    /// # Panics
    /// Panics unless [`can_merge`](AxisRef::can_merge) holds.
    pub fn merge(self, other: AxisRef, mesh: &Mesh) -> AxisRef {
        assert!(self.can_merge(other), "only consecutive sub-axes merge");
        AxisRef::sub(mesh, self.axis, self.pre_size(), self.size(mesh) * other.size(mesh))
    }

    /// Compares by the position of the axis in the mesh, then by `pre_size`, then by size.
    ///
    /// A whole axis has `pre_size` 1 and is greater than every sub-axis of the same axis with this `pre_size`.
    pub fn cmp_in_mesh(self, other: AxisRef) -> Ordering {
        self.axis.cmp(&other.axis).then_with(|| self.cmp_within_axis(other))
    }

    /// Compares by the name of the axis, which is Shardy's order where it has no mesh, and references to one axis as
    /// [`AxisRef::cmp_in_mesh`] does.
    pub fn cmp_by_name(self, other: AxisRef, mesh: &Mesh) -> Ordering {
        let names = mesh.axis_name(self.axis).cmp(mesh.axis_name(other.axis));
        names.then_with(|| self.cmp_within_axis(other))
    }

    fn cmp_within_axis(self, other: AxisRef) -> Ordering {
        let key = |a: AxisRef| (a.pre_size(), a.sub.map_or(usize::MAX, SubAxis::size));
        key(self).cmp(&key(other))
    }

    fn shares_part(self, other: AxisRef) -> bool {
        self.axis == other.axis
            && match (self.sub, other.sub) {
                (Some(a), Some(b)) => a.pre_size() < b.next_pre_size() && b.pre_size() < a.next_pre_size(),
                _ => true,
            }
    }

    /// Returns the sub-axis `(pre_size)size` of `axis`, which must not be the whole axis.
    fn part(axis: AxisIndex, pre_size: usize, size: usize) -> AxisRef {
        AxisRef { axis, sub: Some(SubAxis::new(pre_size, size)) }
    }
}

impl SubAxis {
    /// Returns the sub-axis `(pre_size)size`.
    ///
    /// # Panics
    /// Panics if one of the numbers is 0 or larger than 4294967295.
    pub fn new(pre_size: usize, size: usize) -> SubAxis {
        let small = |n: usize| u32::try_from(n).ok().and_then(NonZeroU32::new);
        let [pre_size, size] =
            [pre_size, size].map(|n| small(n).expect("the size of a part of an axis is 1 to Mesh::MAX_DEVICES"));
        SubAxis { pre_size, size }
    }

    /// Returns the product of the sizes of the more major parts of the axis.
    pub fn pre_size(self) -> usize {
        self.pre_size.get() as usize
    }

    /// Returns the size of the part.
    pub fn size(self) -> usize {
        self.size.get() as usize
    }

    fn next_pre_size(self) -> usize {
        self.pre_size() * self.size()
    }

    fn can_coexist(self, other: SubAxis) -> bool {
        let (start, late_start) = min_max(self.pre_size(), other.pre_size());
        let (early_end, end) = min_max(self.next_pre_size(), other.next_pre_size());
        if early_end <= late_start {
            return late_start % early_end == 0;
        }
        early_end % late_start == 0 && late_start % start == 0 && end % early_end == 0
    }
}

/// Prints `(2)4`.
impl fmt::Display for SubAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}){}", self.pre_size, self.size)
    }
}

impl fmt::Debug for SubAxis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

fn min_max(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

/// Operations on lists of axes, major to minor. A list is *maximal* when no two neighbours can be merged. The lists of
/// the dimensions of a sharding, and that of its replicated axes, are maximal.
impl AxisRef {
    /// Returns true if no two of `axes` overlap, so that one layout can use all of them.
    pub fn are_disjoint(axes: &[AxisRef]) -> bool {
        axes.iter().enumerate().all(|(i, a)| axes[..i].iter().all(|b| !a.overlaps(*b)))
    }

    /// Returns the product of the sizes of `axes`, of which no two may overlap: the product may overflow otherwise.
    pub fn total_size(mesh: &Mesh, axes: &[AxisRef]) -> usize {
        axes.iter().map(|a| a.size(mesh)).product()
    }

    /// Appends `axis` to a maximal list and keeps the list maximal.
    pub fn push_or_merge<L>(list: &mut L, axis: AxisRef, mesh: &Mesh)
    where
        L: DerefMut<Target = [AxisRef]> + Extend<AxisRef>,
    {
        match list.last_mut() {
            Some(last) if last.can_merge(axis) => *last = last.merge(axis, mesh),
            _ => list.extend([axis]),
        }
    }

    /// Returns these axes in their order, in which neighbours that can be merged are merged.
    pub fn merged(axes: &[AxisRef], mesh: &Mesh) -> Vec<AxisRef> {
        let mut list = vec![];
        axes.iter().for_each(|&axis| AxisRef::push_or_merge(&mut list, axis, mesh));
        list
    }

    /// Sorts a list without overlaps in the order of the mesh and merges neighbours that can be merged.
    pub fn sort_and_merge(list: &mut Vec<AxisRef>, mesh: &Mesh) {
        list.sort_by(|a, b| a.cmp_in_mesh(*b));
        let mut merged = Vec::with_capacity(list.len());
        for &axis in &*list {
            AxisRef::push_or_merge(&mut merged, axis, mesh);
        }
        *list = merged;
    }

    /// Returns the longest major part of `self` that shares nothing with any of `others`.
    ///
    /// `self` is shortened for one of `others` after another. Returns `None` if nothing is left, or if one of `others`
    /// cannot coexist with the part that is left when its turn comes.
    pub fn prefix_without_overlaps(self, others: &[AxisRef]) -> Option<AxisRef> {
        others.iter().try_fold(self, |rest, &other| rest.prefix_without_overlap(other))
    }

    /// Removes the first axis that shares a part with any of `others` or cannot coexist with it, and all axes after it.
    /// The part of this first axis that [`AxisRef::prefix_without_overlaps`] returns is kept, if there is one.
    pub fn truncate_overlaps(list: &mut Vec<AxisRef>, others: &[AxisRef]) {
        for i in 0..list.len() {
            let prefix = list[i].prefix_without_overlaps(others);
            if prefix != Some(list[i]) {
                list.truncate(i);
                list.extend(prefix);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 24;

    fn mesh() -> Mesh {
        Mesh::new("mesh", [("b", SIZE), ("a", 4)]).unwrap()
    }

    /// Returns every reference to the first axis or to a part of it, except the parts of size 1.
    fn refs(mesh: &Mesh) -> Vec<AxisRef> {
        let divides = |a: usize, b: usize| b.is_multiple_of(a);
        let axis = AxisIndex::new(0);
        (1..=SIZE)
            .flat_map(|pre| (2..=SIZE).map(move |size| (pre, size)))
            .filter(|&(pre, size)| divides(pre * size, SIZE))
            .map(|(pre, size)| AxisRef::sub(mesh, axis, pre, size))
            .collect()
    }

    fn pairs(check: impl Fn(&Mesh, AxisRef, AxisRef)) {
        let mesh = mesh();
        let refs = refs(&mesh);
        assert_eq!(refs.len(), 22, "pairs of divisors of 24, one a multiple of the other");
        for &a in &refs {
            for &b in &refs {
                check(&mesh, a, b);
            }
        }
    }

    /// Returns every chain of divisors from 1 to SIZE in which each is a multiple of the one before, which are the
    /// factorisations of the axis.
    fn chains() -> Vec<Vec<usize>> {
        fn go(chain: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
            let last = chain[chain.len() - 1];
            if last == SIZE {
                out.push(chain.clone());
            }
            for next in last + 1..=SIZE {
                if next.is_multiple_of(last) && SIZE.is_multiple_of(next) {
                    chain.push(next);
                    go(chain, out);
                    chain.pop();
                }
            }
        }
        let mut out = vec![];
        go(&mut vec![1], &mut out);
        out
    }

    fn span(mesh: &Mesh, a: AxisRef) -> (usize, usize) {
        (a.pre_size(), a.next_pre_size(mesh))
    }

    #[test]
    fn can_coexist_is_one_factorisation_for_both() {
        let chains = chains();
        pairs(|mesh, a, b| {
            let cuts = [span(mesh, a).0, span(mesh, a).1, span(mesh, b).0, span(mesh, b).1];
            let expected = chains.iter().any(|c| cuts.iter().all(|x| c.contains(x)));
            assert_eq!(a.can_coexist(b), expected, "{} {}", a.display(mesh), b.display(mesh));
        });
    }

    #[test]
    fn parts_of_coexisting_axes_are_spans() {
        pairs(|mesh, a, b| {
            let ((al, ah), (bl, bh)) = (span(mesh, a), span(mesh, b));
            let part = |lo, hi| (lo < hi).then(|| AxisRef::sub(mesh, a.axis, lo, hi / lo));
            let coexist = a.can_coexist(b);
            assert_eq!(a.contains(b), coexist && al <= bl && bh <= ah);
            assert_eq!(a.prefix_of(b), coexist && al == bl && ah <= bh);
            assert_eq!(a.suffix_of(b, mesh), coexist && ah == bh && bl <= al);
            assert_eq!(a.overlaps(b), al < bh && bl < ah || !coexist);
            assert_eq!(a.can_merge(b), ah == bl);
            if !a.can_coexist(b) {
                assert_eq!(a.overlap(b), None);
                assert_eq!(a.prefix_without_overlap(b), None);
                assert_eq!(a.suffix_without_overlap(b, mesh), None);
                return;
            }
            assert_eq!(a.overlap(b), part(al.max(bl), ah.min(bh)));
            let disjoint = ah <= bl || bh <= al;
            assert_eq!(a.prefix_without_overlap(b), if disjoint { Some(a) } else { part(al, bl) });
            assert_eq!(a.suffix_without_overlap(b, mesh), if disjoint { Some(a) } else { part(bh, ah) });
            assert_eq!(a.greatest_common_prefix(b), if al == bl { part(al, ah.min(bh)) } else { None });
        });
    }

    #[test]
    fn a_union_covers_each_part_and_is_the_axis_if_parts_cannot_coexist() {
        pairs(|mesh, a, b| {
            let union = AxisRef::union(mesh, [a, b]);
            assert!([a, b].iter().all(|part| union.iter().any(|of| of.contains(*part))));
            if !a.can_coexist(b) {
                assert_eq!(union, [AxisRef::full(a.axis)]);
            }
        });
    }

    #[test]
    fn a_union_of_three_parts_covers_each_of_them() {
        let mesh = mesh();
        let sub = |pre, size| AxisRef::sub(&mesh, AxisIndex::new(0), pre, size);
        assert_eq!(AxisRef::union(&mesh, [sub(1, 8), sub(2, 2), sub(2, 6)]), [AxisRef::full(AxisIndex::new(0))]);
        pairs(|mesh, a, b| {
            for c in refs(mesh) {
                let union = AxisRef::union(mesh, [a, b, c]);
                assert!([a, b, c].iter().all(|part| union.iter().any(|of| of.contains(*part))), "{a:?} {b:?} {c:?}");
            }
        });
    }

    #[test]
    fn merging_is_the_union_of_neighbours() {
        pairs(|mesh, a, b| {
            if a.can_merge(b) {
                let merged = a.merge(b, mesh);
                assert_eq!(span(mesh, merged), (span(mesh, a).0, span(mesh, b).1));
                assert_eq!(merged.sub.is_none(), merged.size(mesh) == SIZE);
                let mut list = vec![];
                AxisRef::push_or_merge(&mut list, a, mesh);
                AxisRef::push_or_merge(&mut list, b, mesh);
                assert_eq!(list, [merged]);
            }
        });
    }

    #[test]
    fn axes_of_different_names_never_meet() {
        let (b, a) = (AxisRef::full(AxisIndex::new(0)), AxisRef::full(AxisIndex::new(1)));
        assert!(!a.contains(b) && !a.prefix_of(b) && !a.overlaps(b) && !a.can_merge(b) && a.can_coexist(b));
        assert_eq!((a.overlap(b), a.prefix_without_overlap(b)), (None, Some(a)));
    }

    #[test]
    fn orders_are_total_and_differ_in_the_name() {
        let mesh = mesh();
        let sub = |pre, size| AxisRef::sub(&mesh, AxisIndex::new(0), pre, size);
        let other = AxisRef::full(AxisIndex::new(1));
        let mut list = vec![other, sub(2, 2), sub(1, SIZE), sub(1, 4), sub(1, 2)];
        list.sort_by(|a, b| a.cmp_in_mesh(*b));
        assert_eq!(list, [sub(1, 2), sub(1, 4), sub(1, SIZE), sub(2, 2), other]);
        list.sort_by(|a, b| a.cmp_by_name(*b, &mesh));
        assert_eq!(list[0], other, "\"a\" comes before \"b\" by name and after it in the mesh");
    }

    #[test]
    fn lists_are_cut_at_the_first_overlap() {
        let mesh = mesh();
        let sub = |pre, size| AxisRef::sub(&mesh, AxisIndex::new(0), pre, size);
        let other = AxisRef::full(AxisIndex::new(1));
        let cut = |others: &[AxisRef]| {
            let mut list = vec![other, sub(1, 4)];
            AxisRef::truncate_overlaps(&mut list, others);
            list
        };
        assert_eq!(cut(&[sub(4, 2)]), [other, sub(1, 4)]);
        assert_eq!(cut(&[sub(2, 2)]), [other, sub(1, 2)]);
        assert_eq!(cut(&[sub(1, 2)]), [other]);
        assert_eq!(cut(&[other]), []);
        let mut list = vec![other, sub(2, 12), sub(1, 2)];
        AxisRef::sort_and_merge(&mut list, &mesh);
        assert_eq!(list, [sub(1, SIZE), other]);
    }
}
