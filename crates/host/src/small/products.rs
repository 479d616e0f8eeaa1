//! Sums of products of few words.
#![forbid(unsafe_code)]

use crate::simd::{Portable, Vector, Word};

/// How results are computed from products of words. Each run of `run` results has a part of the table, with the numbers
/// of both factors of each product of its first result. The numbers of the next results are larger by `steps` each,
/// which are 0 or 1.
#[derive(Clone, Copy)]
pub(crate) struct Products<'a> {
    pub run: usize,
    pub steps: [u32; 2],
    pub is_float: bool,
    pub table: &'a [u32],
}

impl Products<'_> {
    /// Sets each result in `to` to the sum of its products, in the order of the table: with fused multiply-adds for
    /// floats, and wrapping around for integers. `from` has the words of the first and of the second factors. There
    /// must be at least one run of results.
    #[inline(always)]
    pub fn sum<V: Vector>(self, from: [&[V::Word]; 2], to: &mut [V::Word]) {
        // Two runs at a time hide a part of the time that an addition takes.
        match self.run {
            1 => self.sum_in::<Portable<V::Word, 1>, 2, 1>(from, to),
            2 => self.sum_in::<Portable<V::Word, 2>, 2, 1>(from, to),
            3 => self.sum_in::<Portable<V::Word, 3>, 2, 1>(from, to),
            run if run < V::LANES => self.sum_in::<Portable<V::Word, 4>, 2, 1>(from, to),
            run if run < 2 * V::LANES => self.sum_in::<V, 2, 1>(from, to),
            run if run < 4 * V::LANES => self.sum_in::<V, 2, 2>(from, to),
            _ => self.sum_in::<V, 1, 4>(from, to),
        }
    }

    /// Sums as [`Products::sum`] does, `VECTORS` vectors of `RUNS` runs at a time. A run has at least one vector.
    #[inline(always)]
    fn sum_in<V: Vector, const RUNS: usize, const VECTORS: usize>(self, from: [&[V::Word]; 2], to: &mut [V::Word]) {
        if self.is_float {
            self.sum_by::<V, RUNS, VECTORS>(from, to, |a, b, sum| a.fused(b, sum));
        } else {
            self.sum_by::<V, RUNS, VECTORS>(from, to, |a, b, sum| a.imul(b).iadd(sum));
        }
    }

    /// Sums as [`Products::sum_in`] does. `add` adds a product to a sum.
    #[inline(always)]
    fn sum_by<V: Vector, const RUNS: usize, const VECTORS: usize>(
        self,
        from: [&[V::Word]; 2],
        to: &mut [V::Word],
        add: impl Fn(V, V, V) -> V,
    ) {
        let (run, steps) = (self.run, self.steps);
        let (pairs, count) = (self.table.as_chunks::<2>().0, to.len() / run);
        let part = pairs.len() / count;
        let zero = V::splat(V::Word::from_bits64(0));
        for first in (0..count).step_by(RUNS) {
            // The last runs and vectors may be computed again.
            let runs: [usize; RUNS] = std::array::from_fn(|i| (first + i).min(count - 1));
            let products: [&[[u32; 2]]; RUNS] = std::array::from_fn(|i| &pairs[runs[i] * part..][..part]);
            for start in (0..run).step_by(VECTORS * V::LANES) {
                let starts: [usize; VECTORS] = std::array::from_fn(|i| (start + i * V::LANES).min(run - V::LANES));
                let mut sums = [[zero; VECTORS]; RUNS];
                for p in 0..part {
                    for (i, products) in products.iter().enumerate() {
                        let pair = products[p];
                        let factor = |k: usize, start: usize| {
                            let number = pair[k] as usize;
                            match steps[k] {
                                0 => V::splat(from[k][number]),
                                _ => V::read(&from[k][number + start..]),
                            }
                        };
                        for j in 0..VECTORS {
                            sums[i][j] = add(factor(0, starts[j]), factor(1, starts[j]), sums[i][j]);
                        }
                    }
                }
                for i in 0..RUNS {
                    for j in 0..VECTORS {
                        sums[i][j].write(&mut to[runs[i] * run + starts[j]..]);
                    }
                }
            }
        }
    }
}
