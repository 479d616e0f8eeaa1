//! Digits in which two layouts can be written.

use super::Digit;
use shardwise_base::{AxisRef, Mesh, Sharding};

/// Returns, for each dimension, the digits of its positions along which one or both layouts are split, major to minor.
/// Both layouts must be on one mesh and have as many dimensions. Axes of size 1 are left out. If `is_prime`, the sizes
/// of the digits are prime numbers, else the digits are as large as they can be.
///
/// Returns `None` if parts at the same place have sizes of which neither divides the other, or if an axis is cut in
/// contradictory ways.
pub(super) fn common(from: &Sharding, to: &Sharding, is_prime: bool) -> Option<Vec<Vec<Digit>>> {
    let mesh = &*from.mesh;
    let mut cuts = Cuts { mesh, ends: vec![vec![]; mesh.axes.len()] };
    from.split_axes().chain(to.split_axes()).for_each(|a| cuts.add_ends(a));
    let dims = cuts.settle(from, to)?;
    if !is_prime {
        return Some(dims);
    }
    // The parts of both layouts that are one digit have the same size, so they are cut in the same way.
    let parts = dims.iter().flatten().flat_map(|digit| [digit.held, digit.needed]).flatten();
    parts.for_each(|part| cuts.add_prime_parts(part));
    cuts.settle(from, to)
}

/// The positions at which axes are cut into parts.
struct Cuts<'a> {
    mesh: &'a Mesh,
    /// For each axis, the sizes of its major parts that end at a cut, sorted.
    ends: Vec<Vec<usize>>,
}

impl Cuts<'_> {
    fn count(&self) -> usize {
        self.ends.iter().map(Vec::len).sum()
    }

    /// Returns true if the size of each major part of an axis that ends at a cut divides that of the next one.
    fn are_nested(&self) -> bool {
        self.ends.iter().all(|ends| ends.windows(2).all(|pair| pair[1].is_multiple_of(pair[0])))
    }

    fn add(&mut self, axis: AxisRef, end: usize) {
        let ends = &mut self.ends[axis.axis.index()];
        if let Err(at) = ends.binary_search(&end) {
            ends.insert(at, end);
        }
    }

    fn add_ends(&mut self, part: AxisRef) {
        self.add(part, part.pre_size());
        self.add(part, part.next_pre_size(self.mesh));
    }

    /// Cuts `part` of an axis into parts of prime sizes, the largest first.
    fn add_prime_parts(&mut self, part: AxisRef) {
        let mut end = part.pre_size();
        for factor in prime_factors(part.size(self.mesh)) {
            end *= factor;
            self.add(part, end);
        }
    }

    /// Adds the cuts that are needed so that both layouts consist of the same digits, and returns the digits of each
    /// dimension. Returns `None` if no cuts make them so, as [`Cuts::digits`] does, or if the cuts of an axis
    /// contradict each other.
    fn settle(&mut self, from: &Sharding, to: &Sharding) -> Option<Vec<Vec<Digit>>> {
        loop {
            let count = self.count();
            let dims = from.dims.iter().zip(&to.dims);
            let dims: Option<Vec<Vec<Digit>>> = dims.map(|(a, b)| self.digits(&a.axes, &b.axes)).collect();
            let dims = dims?;
            if self.count() == count {
                return self.are_nested().then_some(dims);
            }
        }
    }

    /// Returns the parts of the axes between the cuts, major to minor. Returns `None` if the size of a major part that
    /// ends at a cut is not a multiple of the size at the cut before.
    fn parts(&self, axes: &[AxisRef]) -> Option<Vec<AxisRef>> {
        let mut parts = vec![];
        for &a in axes {
            let (start, end) = (a.pre_size(), a.next_pre_size(self.mesh));
            let inside: Vec<usize> =
                self.ends[a.axis.index()].iter().copied().filter(|&e| start <= e && e <= end).collect();
            for pair in inside.windows(2) {
                let part = || AxisRef::sub(self.mesh, a.axis, pair[0], pair[1] / pair[0]);
                parts.push(pair[1].is_multiple_of(pair[0]).then(part)?);
            }
        }
        Some(parts)
    }

    /// Returns the digits of a dimension that is split by `held` and by `needed`. Where these have parts of different
    /// sizes, the larger one is cut, and the digits are not final. Returns `None` if its size is not a multiple of the
    /// smaller one, and as [`Cuts::parts`] does.
    fn digits(&mut self, held: &[AxisRef], needed: &[AxisRef]) -> Option<Vec<Digit>> {
        let (held, needed) = (self.parts(held)?, self.parts(needed)?);
        let mut digits = vec![];
        for i in 0..held.len().max(needed.len()) {
            let (a, b) = (held.get(i).copied(), needed.get(i).copied());
            let size = |axis: Option<AxisRef>| axis.map_or(1, |a| a.size(self.mesh));
            let (m, n) = (size(a), size(b));
            if let (Some(a), Some(b)) = (a, b)
                && m != n
            {
                let (larger, most, least) = if m > n { (a, m, n) } else { (b, n, m) };
                if !most.is_multiple_of(least) {
                    return None;
                }
                self.add(larger, larger.pre_size() * least);
                return Some(digits);
            }
            digits.push(Digit { size: m.max(n), held: a, needed: b });
        }
        Some(digits)
    }
}

fn prime_factors(mut n: usize) -> Vec<usize> {
    let mut factors = vec![];
    let mut p = 2;
    while n > 1 {
        if p * p > n {
            p = n;
        }
        while n.is_multiple_of(p) {
            factors.push(p);
            n /= p;
        }
        p += 1;
    }
    factors.reverse();
    factors
}
