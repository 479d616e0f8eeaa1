//! The lanes of one operation, in slices of words.
#![forbid(unsafe_code)]

use crate::simd::Word;

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
