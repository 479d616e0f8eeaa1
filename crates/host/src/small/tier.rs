//! When a small program becomes machine code.
#![forbid(unsafe_code)]

use super::code::Code;
#[cfg(target_arch = "x86_64")]
use super::native::Native;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The machine code of a program, which is made when the interpreter has run as long as making it takes.
#[derive(Default)]
pub(crate) struct Tier {
    /// An estimate of the number of instructions that the interpreter has run.
    done: AtomicU64,
    native: OnceLock<Option<Native>>,
}

/// Machine code is made when the interpreter has run more instructions than this many times those of the program:
/// making it takes about as long as that.
const TIMES: u64 = 100;

impl Tier {
    /// Adds `instructions` to the number of those that the interpreter has run.
    pub fn count(&self, instructions: u64) {
        self.done.fetch_add(instructions, Relaxed);
    }

    /// Returns true if there is machine code, or if the interpreter has run so many instructions of `code` that machine
    /// code is to be made now. Returns false once it was found that none can be made.
    #[inline]
    pub fn is_hot(&self, code: &Code) -> bool {
        match self.native.get() {
            Some(native) => native.is_some(),
            None => self.done.load(Relaxed) > TIMES * code.instructions.len() as u64,
        }
    }

    /// Returns the machine code of a program, which is made if it is not there. Returns `None` if none can be made.
    pub(super) fn native(&self, code: &Code) -> Option<&Native> {
        self.native.get_or_init(|| Native::new(code)).as_ref()
    }
}

/// Stands for machine code on processors for which none is made: the type has no values.
#[cfg(not(target_arch = "x86_64"))]
pub(super) enum Native {}

#[cfg(not(target_arch = "x86_64"))]
impl Native {
    fn new(_: &Code) -> Option<Native> {
        None
    }

    pub fn run(&self, _: &mut dyn super::interpreter::Interpreter, _: u32) {
        match *self {}
    }
}
