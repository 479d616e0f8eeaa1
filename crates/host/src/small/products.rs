//! Sums of products of few words.
#![forbid(unsafe_code)]

use crate::simd::{Vector, Word};

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

/// The number of vectors of results that are computed at a time.
const BLOCK: usize = 4;

impl Products<'_> {
    /// Sets each result to the sum of its products, in the order of the table. `from` has the words of the first and of
    /// the second factors.
    #[inline(always)]
    pub fn sum<V: Vector>(self, from: [&[V::Word]; 2], to: &mut [V::Word]) {
        if self.is_float {
            self.sum_by::<V>(from, to, |a, b, sum| a.fused(b, sum), |a, b, sum| a.fused(b, sum));
        } else {
            self.sum_by::<V>(from, to, |a, b, sum| a.imul(b).iadd(sum), |a, b, sum| a.imul(b).iadd(sum));
        }
    }

    /// Sums as [`Products::sum`] does. `one` adds a product to a sum, and `many` does the same for vectors.
    #[inline(always)]
    fn sum_by<V: Vector>(
        self,
        from: [&[V::Word]; 2],
        to: &mut [V::Word],
        one: impl Fn(V::Word, V::Word, V::Word) -> V::Word,
        many: impl Fn(V, V, V) -> V,
    ) {
        let (run, steps, zero) = (self.run, self.steps.map(|step| step as usize), V::Word::from_bits64(0));
        let products = self.table.chunks_exact(self.table.len() / (to.len() / run));
        for (to, products) in to.chunks_exact_mut(run).zip(products) {
            if run < V::LANES {
                for (j, to) in to.iter_mut().enumerate() {
                    *to = zero;
                    for pair in products.chunks_exact(2) {
                        let factor = |k: usize| from[k][pair[k] as usize + j * steps[k]];
                        *to = one(factor(0), factor(1), *to);
                    }
                }
                continue;
            }
            for start in (0..run).step_by(BLOCK * V::LANES) {
                // The last vectors may compute results again.
                let starts: [usize; BLOCK] = std::array::from_fn(|i| (start + i * V::LANES).min(run - V::LANES));
                let mut sums = [V::splat(zero); BLOCK];
                for pair in products.chunks_exact(2) {
                    let factor = |k: usize, start: usize| match steps[k] {
                        0 => V::splat(from[k][pair[k] as usize]),
                        _ => V::read(&from[k][pair[k] as usize + start..]),
                    };
                    for i in 0..BLOCK {
                        sums[i] = many(factor(0, starts[i]), factor(1, starts[i]), sums[i]);
                    }
                }
                for i in 0..BLOCK {
                    sums[i].write(&mut to[starts[i]..]);
                }
            }
        }
    }
}
