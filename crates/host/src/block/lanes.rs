//! The lanes of one operation, in slices of words.
#![forbid(unsafe_code)]

use crate::simd::{Vector, Word};

/// The words that a unary or binary operation writes, and those of its operands: one for each result, or one for all of
/// them. Unary operations ignore `b`.
pub(crate) struct Lanes<'a, W> {
    pub to: &'a mut [W],
    pub a: &'a [W],
    pub b: &'a [W],
}

impl<W: Word> Lanes<'_, W> {
    /// Sets each result to that of `f` for the operand.
    #[inline(always)]
    pub fn unary(&mut self, f: impl Fn(W) -> W) {
        match self.a {
            [a] => self.to.fill(f(*a)),
            a => self.to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a)),
        }
    }

    /// Sets each result to that of `one` for the operand. `many` computes the same for a vector. If vectors are
    /// registers, `one` is not used, because it takes as long as `many`.
    #[inline(always)]
    pub fn function<V: Vector<Word = W>>(&mut self, one: impl Fn(W) -> W, many: impl Fn(V) -> V) {
        if !V::IN_REGISTERS {
            return self.unary(one);
        }
        for start in (0..self.a.len()).step_by(V::LANES) {
            let (a, to) = (&self.a[start..], &mut self.to[start..]);
            let (is_whole, mut words) = (a.len() >= V::LANES, [W::from_bits64(0); MAX_LANES]);
            if !is_whole {
                words[..a.len()].copy_from_slice(a);
            }
            let result = many(V::read(if is_whole { a } else { &words }));
            if is_whole {
                result.write(to);
            } else {
                result.write(&mut words);
                to[..a.len()].copy_from_slice(&words[..a.len()]);
            }
        }
        if let ([_], [first, others @ ..]) = (self.a, &mut *self.to) {
            others.fill(*first);
        }
    }

    /// Sets each result to that of `f` for both operands.
    #[inline(always)]
    pub fn binary(&mut self, f: impl Fn(W, W) -> W) {
        match (self.a, self.b) {
            ([a], [b]) => self.to.fill(f(*a, *b)),
            ([a], b) => self.to.iter_mut().zip(b).for_each(|(to, b)| *to = f(*a, *b)),
            (a, [b]) => self.to.iter_mut().zip(a).for_each(|(to, a)| *to = f(*a, *b)),
            (a, b) => self.to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = f(*a, *b)),
        }
    }
}

/// The most lanes of a vector.
const MAX_LANES: usize = 16;
