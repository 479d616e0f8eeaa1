//! Machine code for small programs that run often.
//!
//! It computes the same words at the same places as the interpreter, so a run can change from the interpreter to
//! machine code wherever a block of instructions starts. Instructions that have no form here are steps of the
//! interpreter, which the machine code calls.
#![expect(unsafe_code, reason = "machine code is called")]

mod actions;
mod builder;
mod frame;
mod program;
mod slices;
#[cfg(test)]
mod tests;

use super::code::Code;
use super::interpreter::Interpreter;
use frame::{Frame, Function};
use program::Compiled;
use std::panic::resume_unwind;

/// The machine code of a small program.
pub(super) struct Native {
    compiled: Compiled,
    /// The number of words of each width that the code reads and writes.
    words: [usize; 2],
}

impl Native {
    /// Returns the machine code of a program, or `None` as [`program::compiled`] does. It reads tables of `code`, which
    /// must not change and must live as long.
    pub fn new(code: &Code) -> Option<Native> {
        Some(Native { compiled: program::compiled(code)?, words: code.words.counts() })
    }

    /// Runs the program from instruction `at` on, which must be the first one of a block. May unwind if the run is
    /// cancelled or has exceeded its limit of steps, or if the interpreter does.
    pub fn run(&self, run: &mut dyn Interpreter, at: u32) {
        let block = self.compiled.starts.binary_search(&at).expect("the start of a block");
        assert_eq!(run.words().counts(), self.words, "the words of the program");
        let functions = &self.compiled.functions;
        let (inputs, unpaid, (narrow, wide)) = (run.inputs(), *run.unpaid(), run.words().addresses());
        let mut frame = Frame { narrow, wide, inputs: inputs.as_ptr(), unpaid, interpreter: run, ended_by: None };
        // SAFETY: the memory has a function of this type there. It accesses words of the program, of which there are as
        // many as when it was made, tables of its code, which live as long as this machine code, and elements of the
        // inputs, which have the program's sizes.
        let ended = unsafe {
            let function: Function = std::mem::transmute(functions.address(functions.count() - 1));
            function(&raw mut frame, block as u32)
        };
        *frame.interpreter.unpaid() = frame.unpaid;
        if ended != 0 {
            resume_unwind(frame.ended_by.take().expect("what has ended the run"));
        }
    }
}
