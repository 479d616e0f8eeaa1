//! The arguments of machine code, and the functions of the engine that it calls.
#![expect(unsafe_code, reason = "machine code calls with addresses")]

use crate::small::interpreter::Interpreter;
use shardwise_base::budget;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The arguments of machine code, which reads them at their offsets.
#[repr(C)]
pub struct Frame<'r> {
    pub narrow: *mut u32,
    pub wide: *mut u64,
    /// The address of each input.
    pub inputs: *const *mut u8,
    /// The number of instructions in loops for which no step was taken yet.
    pub unpaid: u32,
    pub interpreter: &'r mut dyn Interpreter,
    /// The panic or stop that has ended the run.
    pub ended_by: Option<Box<dyn Any + Send>>,
}

/// A function of machine code, or one that it calls. It returns 0, or 1 if the run has ended early. What the second
/// argument means depends on the function.
pub type Function = unsafe extern "sysv64" fn(*mut Frame<'_>, u32) -> u32;

/// Runs instruction number `at` by the interpreter.
///
/// # Safety
/// `frame` must be that of a run.
pub unsafe extern "sysv64" fn step(frame: *mut Frame<'_>, at: u32) -> u32 {
    // SAFETY: as the caller says.
    let frame = unsafe { &mut *frame };
    guarded(&mut frame.ended_by, || frame.interpreter.step(at))
}

/// Takes steps of the budget for the instructions of loops in [`Frame::unpaid`]. Ignores its second argument.
///
/// # Safety
/// `frame` must be that of a run.
pub unsafe extern "sysv64" fn pay(frame: *mut Frame<'_>, _: u32) -> u32 {
    // SAFETY: as the caller says.
    let frame = unsafe { &mut *frame };
    let unpaid = std::mem::take(&mut frame.unpaid);
    guarded(&mut frame.ended_by, || budget::take_steps(unpaid.into()))
}

/// Calls a function. If it unwinds, returns 1 and sets `ended_by`: nothing unwinds through machine code. Returns 0
/// otherwise.
fn guarded(ended_by: &mut Option<Box<dyn Any + Send>>, f: impl FnOnce()) -> u32 {
    *ended_by = catch_unwind(AssertUnwindSafe(f)).err();
    u32::from(ended_by.is_some())
}
