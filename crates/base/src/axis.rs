//! References to mesh axes and to parts of them: the one vocabulary that shardings, groups, permutations and
//! uniformity share.

use crate::Mesh;
use std::fmt;

/// An axis of a mesh, by position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AxisIndex(u16);

impl AxisIndex {
    pub fn new(index: usize) -> AxisIndex {
        AxisIndex(u16::try_from(index).expect("a mesh has at most Mesh::MAX_AXES axes"))
    }

    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for AxisIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "axis{}", self.0)
    }
}

/// The middle of an axis of size `n` read as `[pre_size, size, n / (pre_size * size)]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SubAxis {
    pub pre_size: usize,
    pub size: usize,
}

/// An axis, or a sub-axis of it (`"x":(2)4`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AxisRef {
    pub axis: AxisIndex,
    pub sub: Option<SubAxis>,
}

impl AxisRef {
    pub fn full(axis: AxisIndex) -> AxisRef {
        AxisRef { axis, sub: None }
    }

    /// The part `(pre_size)size` of `axis`; the whole axis where that is all of it.
    pub fn sub(mesh: &Mesh, axis: AxisIndex, pre_size: usize, size: usize) -> AxisRef {
        let is_whole = pre_size == 1 && size == mesh.axis_size(axis);
        AxisRef { axis, sub: (!is_whole).then_some(SubAxis { pre_size, size }) }
    }

    pub fn size(self, mesh: &Mesh) -> usize {
        self.sub.map_or_else(|| mesh.axis_size(self.axis), |s| s.size)
    }

    /// Product of the sizes more major within the same axis.
    pub fn pre_size(self) -> usize {
        self.sub.map_or(1, |s| s.pre_size)
    }

    /// `pre_size * size`: where the next sub-axis would start.
    pub fn next_pre_size(self, mesh: &Mesh) -> usize {
        self.pre_size() * self.size(mesh)
    }

    /// The coordinate along this (sub-)axis, given the coordinate along its whole axis.
    pub fn coordinate(self, mesh: &Mesh, axis_coordinate: usize) -> usize {
        match self.sub {
            None => axis_coordinate,
            Some(s) => axis_coordinate / (mesh.axis_size(self.axis) / (s.pre_size * s.size)) % s.size,
        }
    }

    /// How it prints: `"x"` or `"x":(2)4`.
    pub fn display(self, mesh: &Mesh) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| {
            write!(f, "\"{}\"", mesh.axis_name(self.axis))?;
            match self.sub {
                Some(s) => write!(f, ":({}){}", s.pre_size, s.size),
                None => Ok(()),
            }
        })
    }
}

/// Sets of axes: what overlaps, what is left.
impl AxisRef {
    /// The sorted, disjoint, merged list that covers exactly what `axes` cover.
    ///
    /// Parts of one axis that cannot coexist (`(1)2` and `(1)3`) are covered by the whole axis.
    pub fn union(mesh: &Mesh, axes: impl IntoIterator<Item = AxisRef>) -> Vec<AxisRef> {
        let mut parts: Vec<Vec<(usize, usize)>> = vec![vec![]; mesh.axes.len()];
        for a in axes {
            parts[a.axis.index()].push((a.pre_size(), a.next_pre_size(mesh)));
        }
        let mut out = vec![];
        for (i, mut spans) in parts.into_iter().enumerate() {
            let axis = AxisIndex::new(i);
            spans.sort_unstable();
            let compatible = spans.windows(2).all(|w| {
                let cuts = [w[0].1, w[1].0, w[1].1];
                cuts.iter().all(|&x| cuts.iter().all(|&y| x % y == 0 || y % x == 0))
            });
            if !compatible {
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

    /// The parts of `self` that none of `axes` covers, major to minor.
    pub fn minus(self, mesh: &Mesh, axes: &[AxisRef]) -> Vec<AxisRef> {
        let mut spans = vec![(self.pre_size(), self.next_pre_size(mesh))];
        for a in axes.iter().filter(|a| a.axis == self.axis) {
            let (lo, hi) = (a.pre_size(), a.next_pre_size(mesh));
            spans =
                spans.into_iter().flat_map(|(l, h)| [(l, h.min(lo)), (l.max(hi), h)]).filter(|(l, h)| h > l).collect();
        }
        spans.into_iter().map(|(l, h)| AxisRef::sub(mesh, self.axis, l, h / l)).collect()
    }

    /// Whether the two share a part.
    pub fn overlaps(self, other: AxisRef, mesh: &Mesh) -> bool {
        self.axis == other.axis
            && self.pre_size() < other.next_pre_size(mesh)
            && other.pre_size() < self.next_pre_size(mesh)
    }
}
