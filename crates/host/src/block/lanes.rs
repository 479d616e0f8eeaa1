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
            write_lanes(many(read_lanes(self.a, start)), &mut self.to[start..self.a.len()]);
        }
        if let ([_], [first, others @ ..]) = (self.a, &mut *self.to) {
            others.fill(*first);
        }
    }

    /// Sets each result to that of `one` for both operands, as [`Lanes::function`] does for one.
    #[inline(always)]
    pub fn binary_function<V: Vector<Word = W>>(&mut self, one: impl Fn(W, W) -> W, many: impl Fn(V, V) -> V) {
        if !V::IN_REGISTERS || self.to.len() == 1 {
            return self.binary(one);
        }
        let operand = |words: &[W], start: usize| match words {
            [word] => V::splat(*word),
            words => read_lanes(words, start),
        };
        for start in (0..self.to.len()).step_by(V::LANES) {
            write_lanes(many(operand(self.a, start), operand(self.b, start)), &mut self.to[start..]);
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

/// Returns the words from number `start` on, and zeros after the last one.
#[inline(always)]
fn read_lanes<V: Vector>(words: &[V::Word], start: usize) -> V {
    let words = &words[start..];
    if words.len() >= V::LANES {
        return V::read(words);
    }
    let mut lanes = [V::Word::from_bits64(0); MAX_LANES];
    lanes[..words.len()].copy_from_slice(words);
    V::read(&lanes)
}

/// Sets words to the lanes of a vector, of which there may be more.
#[inline(always)]
fn write_lanes<V: Vector>(vector: V, words: &mut [V::Word]) {
    if words.len() >= V::LANES {
        return vector.write(words);
    }
    let mut lanes = [V::Word::from_bits64(0); MAX_LANES];
    vector.write(&mut lanes);
    words.copy_from_slice(&lanes[..words.len()]);
}
