//! The lanes of one operation, in slices of words.
#![forbid(unsafe_code)]

use super::functions::{Binary, Unary};
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

    /// Sets each result to that of the function for the operand. Words are computed as vectors if vectors are registers,
    /// because a word takes as long, or if there are as many words as a vector has.
    #[inline(always)]
    pub fn function<V: Vector<Word = W>, F: Unary>(&mut self) {
        if !V::IN_REGISTERS && self.a.len() < V::LANES {
            return self.unary(F::one);
        }
        let (mut operand, mut results) = ([W::from_bits64(0); MAX_LANES], [W::from_bits64(0); MAX_LANES]);
        let (len, a) = (self.a.len(), padded::<V>(self.a, &mut operand));
        let to = if len < V::LANES { &mut results } else { &mut *self.to };
        for start in (0..len).step_by(V::LANES) {
            // The last vector may compute results again.
            let start = start.min(a.len() - V::LANES);
            F::many(V::read(&a[start..])).write(&mut to[start..]);
        }
        if len < V::LANES {
            self.to[..len].copy_from_slice(&results[..len]);
        }
        if let ([_], [first, others @ ..]) = (self.a, &mut *self.to) {
            others.fill(*first);
        }
    }

    /// Sets each result to that of the function for both operands, as [`Lanes::function`] does for one.
    #[inline(always)]
    pub fn binary_function<V: Vector<Word = W>, F: Binary>(&mut self) {
        if !V::IN_REGISTERS || self.to.len() == 1 {
            return self.binary(F::one);
        }
        let zeros = [W::from_bits64(0); MAX_LANES];
        let (mut first, mut second, mut results) = (zeros, zeros, zeros);
        let (len, a, b) = (self.to.len(), padded::<V>(self.a, &mut first), padded::<V>(self.b, &mut second));
        let to = if len < V::LANES { &mut results } else { &mut *self.to };
        for start in (0..len).step_by(V::LANES) {
            let start = start.min(len.max(V::LANES) - V::LANES);
            let a = if self.a.len() == 1 { V::splat(self.a[0]) } else { V::read(&a[start..]) };
            let b = if self.b.len() == 1 { V::splat(self.b[0]) } else { V::read(&b[start..]) };
            F::many(a, b).write(&mut to[start..]);
        }
        if len < V::LANES {
            self.to.copy_from_slice(&results[..len]);
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

/// Returns the words, or a copy with more words after them if they are fewer than a vector has.
#[inline(always)]
fn padded<'a, V: Vector>(words: &'a [V::Word], copy: &'a mut [V::Word; MAX_LANES]) -> &'a [V::Word] {
    if words.len() >= V::LANES {
        return words;
    }
    copy[..words.len()].copy_from_slice(words);
    &copy[..V::LANES]
}
