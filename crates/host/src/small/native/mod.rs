//! Machine code for small programs that run often.
//!
//! The interpreter takes about 10 ns for an instruction, because the processor cannot predict where its `match` jumps.
//! Machine code has no such jump. It computes the same words at the same places, so a run can change from the
//! interpreter to machine code wherever a block of instructions starts. Instructions that have no form here are steps
//! of the interpreter, which the machine code calls.
#![expect(unsafe_code, reason = "machine code is called")]

mod actions;
mod builder;
mod formulas;
mod frame;
mod lanes;
mod program;
#[cfg(test)]
mod tests;

use super::code::Code;
use super::interpreter::Interpreter;
use crate::simd::Level;
use frame::{Frame, Function};
use memmap2::{Mmap, MmapMut};
use std::panic::resume_unwind;

/// The machine code of a small program.
pub(super) struct Native {
    memory: Mmap,
    /// The offset of the function that runs the program.
    main: usize,
    /// The addresses of the functions that the main one calls. The code has the address of this list.
    _parts: Box<[usize]>,
    /// The number of words of each width that the code reads and writes.
    words: [usize; 2],
    /// For each block, the number of its first instruction, ascending.
    starts: Vec<u32>,
}

impl Native {
    /// Returns the machine code of a program. Returns `None` as [`program::functions`] does, if the best level lacks
    /// AVX2, and if the system has or allows no executable memory for the code.
    pub fn new(code: &Code) -> Option<Native> {
        if Level::best() < Level::Avx2 {
            return None;
        }
        let program::Functions { bytes, offsets, mut parts, starts } = program::functions(code)?;
        let mut memory = MmapMut::map_anon(bytes.len()).ok()?;
        memory.copy_from_slice(&bytes);
        let memory = memory.make_exec().ok()?;
        let base = memory.as_ptr().addr();
        let (main, others) = offsets.split_last()?;
        parts.iter_mut().zip(others).for_each(|(part, offset)| *part = base + offset);
        Some(Native { memory, main: *main, _parts: parts, words: code.words.counts(), starts })
    }

    /// Runs the program from instruction `at` on, which must be the first one of a block. May unwind if the run is
    /// cancelled or has exceeded its limit of steps, or if the interpreter does.
    pub fn run(&self, run: &mut dyn Interpreter, at: u32) {
        let block = self.starts.binary_search(&at).expect("the start of a block");
        assert_eq!(run.words().counts(), self.words, "the words of the program");
        let (inputs, unpaid, (narrow, wide)) = (run.inputs(), *run.unpaid(), run.words().addresses());
        let mut frame = Frame { narrow, wide, inputs: inputs.as_ptr(), unpaid, interpreter: run, ended_by: None };
        // SAFETY: the memory has a function of this type there. It accesses words of the program, of which there are as
        // many as when it was made, and elements of the inputs, which have the program's sizes.
        let ended = unsafe {
            let function: Function = std::mem::transmute(self.memory.as_ptr().wrapping_add(self.main));
            function(&raw mut frame, block as u32)
        };
        *frame.interpreter.unpaid() = frame.unpaid;
        if ended != 0 {
            resume_unwind(frame.ended_by.take().expect("what has ended the run"));
        }
    }
}
