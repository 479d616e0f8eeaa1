//! Programs of small arrays: any number of ops, with loops and branches, on arrays of up to [`MAX_SIZE`] elements, or
//! more in loops.
//!
//! An op on a few elements takes nanoseconds, and a step of the gang takes a microsecond. A small program is one step
//! for many ops. Its arrays are runs of words in one area of memory, at places that are known when it is built. So an
//! instruction allocates nothing and looks nothing up. A broadcast of one element and most reshapes and slices need no
//! instruction: they are places in the same words.
//!
//! Large arrays of which each turn of a loop reads or writes a small window stay where they are.
//!
//! Each word is one lane of a block program, and the operations are those of block programs ([`crate::block`]), so the
//! resulting bits are the same.
//!
//! `code` has the instructions, `words` the memory, `machine` the interpreter, and `native` machine code for programs
//! that run often, which `tier` decides.

mod call;
mod code;
mod interpreter;
mod machine;
#[cfg(target_arch = "x86_64")]
mod native;
mod products;
mod tier;
mod words;

pub(crate) use call::{Call, Routine};
pub(crate) use code::{Action, Code, Input, Ins, Mark, Output, Start, Window};
pub(crate) use machine::{Bytes, Program};
pub(crate) use products::Products;
pub(crate) use words::{Array, Place};

/// The largest number of elements of an array in the words of a small program, outside of loops. On more, kernels that
/// fuse ops are faster.
pub(crate) const MAX_SIZE: usize = 1024;

/// The largest number of elements of an array in the words of a loop, if the results in the loop have at most
/// [`MAX_SIZE`] real elements for each op on average. The arrays of other loops have at most [`MAX_SIZE`].
pub(crate) const MAX_SIZE_IN_LOOPS: usize = 1 << 14;
