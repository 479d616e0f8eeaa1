//! A run as machine code sees it.
#![forbid(unsafe_code)]

use super::words::Words;
use smallvec::SmallVec;

/// A run of a program, whose interpreter runs the instructions that have no machine code.
pub(super) trait Interpreter {
    fn words(&mut self) -> &mut Words;
    /// Returns the address of each input. The inputs have the sizes that the program states.
    fn inputs(&mut self) -> SmallVec<[*mut u8; 8]>;
    /// Returns the number of instructions in loops for which no step was taken yet.
    fn unpaid(&mut self) -> &mut u32;
    /// Runs instruction number `at`, which is no jump. May unwind.
    fn step(&mut self, at: u32);
}
