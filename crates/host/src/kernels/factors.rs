//! The factors of the sums that a product of arrays consists of.

use super::strides::{positions, row_major};
use shardwise_ops::dot::DotDims;

/// The least number of results of a [run](Factors::runs) for which larger products are accepted, because they are
/// computed in vectors.
pub const MIN_RUN: usize = 4;

/// The dimensions of a product of arrays: for each its size, and the strides of both operands along it, which are 0 for
/// an operand without it.
pub struct Factors {
    /// The dimensions of the result whose size is not 1, major to minor.
    pub results: Vec<(usize, [isize; 2])>,
    pub contracted: Vec<(usize, [isize; 2])>,
}

impl Factors {
    pub fn of(dims: &DotDims, [lhs, rhs]: [&[usize]; 2]) -> Factors {
        let (left, right) = (row_major(lhs), row_major(rhs));
        let both = |(&l, &r): (&usize, &usize)| (lhs[l], [left[l], right[r]]);
        let batch = dims.lhs_batch.iter().zip(&dims.rhs_batch).map(both);
        let lhs_free = dims.lhs_free(lhs.len()).into_iter().map(|d| (lhs[d], [left[d], 0]));
        let rhs_free = dims.rhs_free(rhs.len()).into_iter().map(|d| (rhs[d], [0, right[d]]));
        let results = batch.chain(lhs_free).chain(rhs_free).filter(|(size, _)| *size != 1).collect();
        Factors { results, contracted: dims.lhs_contract.iter().zip(&dims.rhs_contract).map(both).collect() }
    }

    /// Separates the first `count` dimensions of the result, each index of which is a product of its own. Returns the
    /// factors of one product, and these dimensions. Panics if there are fewer of them.
    pub fn split(mut self, count: usize) -> (Factors, Vec<(usize, [isize; 2])>) {
        let rest = self.results.split_off(count);
        (Factors { results: rest, contracted: self.contracted }, self.results)
    }

    /// Returns the number of products of elements, or `usize::MAX` for more.
    pub fn count(&self) -> usize {
        self.results.iter().chain(&self.contracted).fold(1, |count: usize, (size, _)| count.saturating_mul(*size))
    }

    /// Returns the number of results of a run, which are computed together, and by how much the places of both factors
    /// differ from one result of a run to the next. An element of operand `k` is `places[k]` places after the one
    /// before, which is 0 or 1. A run has all results along the last dimension if both differences are 0 or 1.
    /// Otherwise, and if there is no such dimension, it has one result, and the differences are 0.
    pub fn runs(&self, places: [u32; 2]) -> (usize, [u32; 2]) {
        let Some(&(size, strides)) = self.results.last() else { return (1, [0, 0]) };
        let steps = [0, 1].map(|k| strides[k] * places[k] as isize);
        if steps.iter().all(|&step| step <= 1) { (size, steps.map(|step| step as u32)) } else { (1, [0, 0]) }
    }

    /// Returns, for the first result of each run, the offsets of both factors of each product in their operands, in
    /// elements. The products of one result follow each other. `run` is 1, or the number of results of a run that
    /// [`Factors::runs`] returns.
    pub fn numbers(&self, run: usize) -> impl Iterator<Item = [usize; 2]> {
        let outer = self.results.len() - usize::from(run > 1);
        let dims = || self.results[..outer].iter().chain(&self.contracted);
        let [left, right] = [0, 1].map(|k| positions(0, dims().map(|(size, strides)| (*size, strides[k]))));
        left.into_iter().zip(right).map(|(a, b)| [a as usize, b as usize])
    }
}

/// The offsets, in elements, of the first elements in both operands of the products of a batch: of one product after
/// the other, and of the first one again after the last. The iterator never ends.
pub struct Firsts<'a> {
    /// The dimensions of the batch: for each its size, and the strides of both operands.
    dims: &'a [(usize, [isize; 2])],
    index: Vec<usize>,
    numbers: [isize; 2],
}

impl<'a> Firsts<'a> {
    /// Returns the offsets for the products from number `first` on. There must be such a product.
    pub fn from(dims: &'a [(usize, [isize; 2])], first: usize) -> Firsts<'a> {
        let (mut rest, mut index, mut numbers) = (first, vec![0; dims.len()], [0, 0]);
        for (at, (size, strides)) in index.iter_mut().zip(dims).rev() {
            (*at, rest) = (rest % size, rest / size);
            numbers = [0, 1].map(|k| numbers[k] + *at as isize * strides[k]);
        }
        Firsts { dims, index, numbers }
    }
}

impl Iterator for Firsts<'_> {
    type Item = [usize; 2];

    /// Returns the offsets for the next product. After the last one, those for the first one follow. Never returns
    /// `None`.
    #[inline]
    fn next(&mut self) -> Option<[usize; 2]> {
        let numbers = self.numbers.map(|number| number as usize);
        for (at, (size, strides)) in self.index.iter_mut().zip(self.dims).rev() {
            *at += 1;
            let steps = if *at < *size { 1 } else { 1 - std::mem::take(at) as isize };
            self.numbers = [0, 1].map(|k| self.numbers[k] + steps * strides[k]);
            if *at > 0 {
                break;
            }
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_elements_are_those_of_the_positions() {
        let dims = [(2, [12, 0]), (3, [4, 1]), (2, [1, 3])];
        let all = Factors { results: dims.to_vec(), contracted: vec![] };
        let numbers: Vec<[usize; 2]> = all.numbers(1).collect();
        for first in 0..12 {
            let found: Vec<[usize; 2]> = Firsts::from(&dims, first).take(12 - first).collect();
            assert_eq!(found, numbers[first..], "{first}");
        }
    }

    #[test]
    fn a_count_that_overflows_is_the_largest_number() {
        let dims = [1usize << 22; 3].map(|size| (size, [1, 1]));
        let of = |contracted: usize| Factors { results: dims.to_vec(), contracted: vec![(contracted, [1, 1])] };
        assert_eq!((of(3).count(), of(0).count()), (usize::MAX, 0));
    }
}
