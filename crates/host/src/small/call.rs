//! Calls of routines that compute whole arrays.
#![forbid(unsafe_code)]

use super::words::{Array, Words};
use smallvec::SmallVec;
use std::fmt;

/// Computes small arrays from others, such as a sort. A routine keeps no state from call to call.
pub(crate) trait Routine: Send + Sync {
    /// Computes the elements of all results. The bytes of each array are its elements, one after the other, and are
    /// aligned to 8 bytes.
    ///
    /// # Panics
    /// May panic if there are other arrays than those of the routine's op, or if one has another size.
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]);
}

/// A call of a routine.
pub(crate) struct Call {
    routine: Box<dyn Routine>,
    operands: Vec<Array>,
    results: Vec<Array>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call of {:?} for {:?}", self.operands, self.results)
    }
}

impl Call {
    pub fn new(routine: Box<dyn Routine>, operands: Vec<Array>, results: Vec<Array>) -> Call {
        Call { routine, operands, results }
    }

    /// Returns the arrays that the routine sets.
    pub fn results(&self) -> &[Array] {
        &self.results
    }

    /// Returns the number of words of 64 bits that hold the bytes of all arrays.
    pub fn scratch(&self) -> usize {
        self.operands.iter().chain(&self.results).map(|array| array.bytes().div_ceil(8)).sum()
    }

    /// Computes the results. `scratch` has at least [`Call::scratch`] words.
    pub fn run(&self, words: &mut Words, scratch: &mut [u64]) {
        let mut rest: &mut [u8] = bytemuck::cast_slice_mut(scratch);
        let mut next = |array: &Array| {
            let (own, others) = std::mem::take(&mut rest).split_at_mut(array.bytes().next_multiple_of(8));
            rest = others;
            &mut own[..array.bytes()]
        };
        let mut operands: SmallVec<[&[u8]; 4]> = SmallVec::new();
        for array in &self.operands {
            let bytes = next(array);
            words.store(*array, bytes);
            operands.push(bytes);
        }
        let mut results: SmallVec<[&mut [u8]; 4]> = self.results.iter().map(&mut next).collect();
        self.routine.run(&operands, &mut results);
        self.results.iter().zip(&results).for_each(|(array, bytes)| words.load(*array, bytes));
    }
}
