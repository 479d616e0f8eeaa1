//! Buffers with the bytes of literals.

use crate::memory::{Buffer, Memory, OutOfMemory};
use shardwise_base::{Literal, budget};
use shardwise_ir::TensorType;

/// Returns a buffer with the bytes of a literal. A splat's element is repeated.
///
/// # Errors
/// Fails if there is no memory. May unwind if the run is cancelled or has exceeded its limit of steps.
pub fn fill(memory: &Memory, literal: &Literal) -> Result<Buffer, OutOfMemory> {
    let ty = TensorType::new(literal.dtype(), literal.shape().to_vec());
    let mut buffer = memory.allocate(ty.checked_bytes().unwrap_or(usize::MAX))?;
    let out = buffer.try_unique().expect("a new buffer has one owner");
    if literal.is_splat() {
        repeat(literal.raw_bytes(), out);
    } else {
        for (to, from) in out.chunks_mut(POLLED).zip(literal.raw_bytes().chunks(POLLED)) {
            budget::poll();
            to.copy_from_slice(from);
        }
    }
    Ok(buffer)
}

/// The number of bytes that are copied between two polls; a multiple of every element's size.
const POLLED: usize = 1 << 20;

/// Fills `out`, which has room for a whole number of elements, with copies of an element, given by its bytes. Unwinds
/// if `out` has more than [`POLLED`] bytes and the run is cancelled or has exceeded its limit of steps.
fn repeat(element: &[u8], out: &mut [u8]) {
    let (first, rest) = out.split_at_mut(out.len().min(POLLED));
    first.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element));
    for to in rest.chunks_mut(POLLED) {
        budget::poll();
        to.copy_from_slice(&first[..to.len()]);
    }
}
