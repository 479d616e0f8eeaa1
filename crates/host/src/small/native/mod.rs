//! Machine code for small programs that run often.
//!
//! The interpreter takes about 10 ns for an instruction, because the processor cannot predict where its `match` jumps.
//! Machine code does not jump. It computes the same words at the same places, so a run can change from the interpreter to
//! machine code wherever a block of instructions starts. Instructions that have no form here are steps of the
//! interpreter, which the machine code calls.
#![expect(unsafe_code, reason = "machine code is called")]

mod actions;
mod builder;
mod formulas;
mod lanes;
mod program;
#[cfg(test)]
mod tests;

use super::code::Code;
use super::machine::Run;
use crate::simd::Level;
use memmap2::{Mmap, MmapMut};
use smallvec::SmallVec;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

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

/// The arguments of machine code, which reads them at their offsets.
#[repr(C)]
struct Frame<'r, 'c, 'a> {
    narrow: *mut u32,
    wide: *mut u64,
    /// The address of each input.
    inputs: *const *mut u8,
    /// As in the run.
    unpaid: u32,
    run: &'r mut Run<'c, 'a>,
    /// The panic or stop that has ended the run.
    ended_by: Option<Box<dyn Any + Send>>,
}

/// A function of machine code. It returns 0, or 1 if the run has ended early.
type Function = unsafe extern "sysv64" fn(*mut Frame<'_, '_, '_>, u32) -> u32;

impl Native {
    /// Returns the machine code of a program. Returns `None` if this machine has none, or no memory for it.
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

    /// Runs the program from instruction `at` on, which must be the first one of a block. Unwinds as [`Code::run`]
    /// does.
    pub fn run(&self, run: &mut Run<'_, '_>, at: u32) {
        let block = self.starts.binary_search(&at).expect("the start of a block");
        assert_eq!(run.memory.words.counts(), self.words, "the words of the program");
        let inputs: SmallVec<[*mut u8; 8]> = run.inputs.iter_mut().map(|input| input.address()).collect();
        let (narrow, wide) = run.memory.words.addresses();
        let unpaid = run.unpaid;
        let mut frame = Frame { narrow, wide, inputs: inputs.as_ptr(), unpaid, run, ended_by: None };
        // SAFETY: the memory has a function of this type there. It accesses words of the program, of which there are as
        // many as when it was made, and elements of inputs, whose sizes `Run::load` has checked.
        let ended = unsafe {
            let function: Function = std::mem::transmute(self.memory.as_ptr().wrapping_add(self.main));
            function(&raw mut frame, block as u32)
        };
        frame.run.unpaid = frame.unpaid;
        if ended != 0 {
            resume_unwind(frame.ended_by.take().expect("what has ended the run"));
        }
    }
}

/// Runs instruction number `at` by the interpreter. Returns 1 if that ends the run, and 0 otherwise.
///
/// # Safety
/// `frame` must be that of a run.
unsafe extern "sysv64" fn step(frame: *mut Frame<'_, '_, '_>, at: u32) -> u32 {
    // SAFETY: as the caller says.
    let frame = unsafe { &mut *frame };
    guarded(&mut frame.ended_by, || frame.run.step(at))
}

/// Takes steps for the instructions of loops. Returns 1 if that ends the run, and 0 otherwise.
///
/// # Safety
/// `frame` must be that of a run.
unsafe extern "sysv64" fn pay(frame: *mut Frame<'_, '_, '_>, _: u32) -> u32 {
    // SAFETY: as the caller says.
    let frame = unsafe { &mut *frame };
    let unpaid = std::mem::take(&mut frame.unpaid);
    guarded(&mut frame.ended_by, || shardwise_base::budget::take_steps(unpaid.into()))
}

/// Calls a function. Returns 1 if it unwinds, and 0 otherwise: nothing unwinds through machine code.
fn guarded(ended_by: &mut Option<Box<dyn Any + Send>>, f: impl FnOnce()) -> u32 {
    let ended = catch_unwind(AssertUnwindSafe(f)).err();
    let code = u32::from(ended.is_some());
    *ended_by = ended;
    code
}
