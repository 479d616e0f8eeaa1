//! Machine code for kernels of simple operations whose rows are not too long.
//!
//! The block machine takes several nanoseconds for each instruction of each row, whatever the row's length, and copies
//! rows that do not fill a block. Machine code has loops of its own, and keeps values in registers. Its vectors have
//! 128 bits, so the block machine is faster where larger vectors matter most.
//!
//! A kernel becomes machine code when the block machine has run it for about as long as making the code takes. The
//! resulting bits are the same, except those of NaN: reductions have the order of `shardwise_mathfn::order`.
//!
//! `shape` says which programs become machine code, and `body` has their loops.
#![expect(unsafe_code, reason = "machine code is called")]

mod body;
mod shape;
#[cfg(test)]
mod tests;

use super::program::Program;
use crate::memory::Guard;
use crate::native::{Assembler, Functions};
use crate::operand::Pointer;
use cranelift_codegen::ir::types;
use shape::Shape;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An estimate of the time that making machine code takes, in nanoseconds: for a kernel, and for each of its nodes.
const MAKING: [u64; 2] = [100_000, 5_000];

/// The machine code of a kernel, which is made when the block machine has run the kernel as long as making it takes.
#[derive(Debug)]
pub struct Tier {
    program: Program,
    shape: Shape,
    /// An estimate of the time that the block machine has run the kernel, in nanoseconds.
    done: AtomicU64,
    functions: OnceLock<Option<Functions>>,
}

impl Tier {
    /// Returns the tier of a program that has been compiled to a kernel, or `None` if the block machine is to run it
    /// always.
    pub fn new(program: &Program) -> Option<Tier> {
        let shape = Shape::new(program)?;
        Some(Tier { program: program.clone(), shape, done: AtomicU64::new(0), functions: OnceLock::new() })
    }

    /// Returns true if there is machine code, or if the block machine has run the kernel so long that machine code is
    /// made now. Otherwise, counts an estimate of the time that the block machine takes for the next run.
    pub fn is_ready(&self, nanoseconds: impl Fn() -> usize) -> bool {
        if let Some(functions) = self.functions.get() {
            return functions.is_some();
        }
        let guard = Guard::current();
        if guard.is_guarding() && guard.fill().is_multiple_of(2) {
            // Tests with guarded memory compare both ways.
            return self.functions.get_or_init(|| self.make()).is_some();
        }
        let making = MAKING[0] + MAKING[1] * self.program.nodes.len() as u64;
        let next = nanoseconds() as u64;
        let is_due = self.done.fetch_add(next, Relaxed).saturating_add(next) >= making;
        is_due && self.functions.get_or_init(|| self.make()).is_some()
    }

    /// Returns the number of turns of the outermost loop around rows, along which a run can be divided.
    pub fn turns(&self) -> usize {
        self.shape.turns()
    }

    /// Runs some turns of the outermost loop of the machine code on an instance. `slots` and `pointers` are those of a
    /// [`Binding`]: [`Kernel::run`] has checked that the operands have all bytes that the kernel reaches.
    ///
    /// # Panics
    /// Panics if there is no machine code, or if there are no such turns.
    ///
    /// [`Binding`]: super::bound::Binding
    /// [`Kernel::run`]: super::Kernel::run
    pub fn run(&self, slots: &[Option<usize>], pointers: &[Pointer], turns: Range<usize>) {
        let functions = self.functions.get().and_then(Option::as_ref).expect("machine code");
        assert_eq!(slots.len(), self.program.operands.len(), "a slot for each operand");
        assert!(turns.start < turns.end && turns.end <= self.turns(), "turns of the outermost loop");
        let place = |(operand, slot): (usize, &Option<usize>)| {
            // An operand that counts an index has no memory. The address is its first number.
            let first = slot.map_or(std::ptr::null_mut(), |slot| pointers[slot].0);
            first.wrapping_offset(turns.start as isize * self.shape.step(operand))
        };
        let places: SmallVec<[*mut u8; 16]> = slots.iter().enumerate().map(place).collect();
        // SAFETY: the function has this type. It reads the list, and accesses what the kernel reaches, which the
        // operands have.
        unsafe {
            let function: unsafe extern "sysv64" fn(*const *mut u8, usize) = std::mem::transmute(functions.address(0));
            function(places.as_ptr(), turns.len());
        }
    }

    fn make(&self) -> Option<Functions> {
        let mut assembler = Assembler::new()?;
        assembler.function([&[types::I64, types::I64], &[]], |b| body::build(b, &self.program, &self.shape))?;
        assembler.finish()
    }
}
