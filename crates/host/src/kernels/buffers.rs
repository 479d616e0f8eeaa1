//! Buffers as what kernels read and write.

use crate::block::Operand;
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::copy;
use crate::operand::{Source, Target};
use crate::plan::KernelCx;
use crate::pool::Workers;
use shardwise_ir::OpView;

/// Returns the number of bytes of an op's first result, which must be a tensor.
pub fn output_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).bytes() as usize
}

/// Returns the number of bytes that an element of an op's first result takes in memory. The result must be a tensor, of
/// any element type.
pub fn element_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).dtype.storage_bytes()
}

/// Returns the bytes of a result for writing.
///
/// # Panics
/// Panics if the buffer has another owner.
pub fn written(buffer: &mut Buffer) -> &mut [u8] {
    buffer.try_unique().expect("a kernel is the only owner of its results")
}

/// Returns a whole buffer as an operand that a block program reads.
pub fn read(buffer: &Buffer) -> Operand<'_> {
    Operand::Read(Source::of(buffer.bytes()))
}

/// Returns a whole buffer as an operand that a block program writes.
///
/// # Panics
/// Panics if the buffer has another owner.
pub fn write(buffer: &mut Buffer) -> Operand<'_> {
    Operand::Write(Target::of(written(buffer)))
}

/// Returns the position of byte `start` of each buffer, for writing. It may be the end of a buffer or beyond it.
///
/// # Panics
/// Panics if a buffer has another owner.
pub fn targets(outputs: &mut [Buffer], start: usize) -> Vec<Target<'_>> {
    outputs.iter_mut().map(|output| Target::at(written(output), start)).collect()
}

/// A part of the result of one instance, for writing.
pub struct Piece<'a> {
    pub instance: usize,
    /// The number of the piece among those of its instance.
    pub number: usize,
    pub to: &'a mut [u8],
}

/// Divides the results of the instances that are to be computed into pieces of `bytes` bytes. The last piece of a result
/// may be smaller. `outputs` has the results of these instances, in order.
///
/// # Panics
/// Panics if a buffer has another owner, or if `bytes` is 0.
pub fn pieces<'a>(cx: &KernelCx<'_>, outputs: &'a mut [Buffer], bytes: usize) -> Vec<Piece<'a>> {
    let mut all = vec![];
    for (&instance, output) in cx.instances.iter().zip(outputs) {
        let own = written(output).chunks_mut(bytes).enumerate();
        all.extend(own.map(|(number, to)| Piece { instance, number, to }));
    }
    all
}

/// Returns, for each instance that is to be computed, a buffer for overwriting with the contents of input `index`,
/// which must have `bytes` bytes. This is the input's own buffer, taken from `cx`, if [`KernelCx::take_input`] returns
/// it. Otherwise it is a copy.
///
/// # Errors
/// Fails if there is no memory for a copy.
///
/// # Panics
/// Panics if an input was not computed, or if one that is copied does not have `bytes` bytes.
pub fn own_or_copy(cx: &mut KernelCx<'_>, index: usize, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
    cx.instances.clone().iter().map(|&i| own_or_copy_of(cx, index, i, bytes)).collect()
}

/// Returns the buffer of one instance as [`own_or_copy`] does.
///
/// # Errors
/// Fails if there is no memory for a copy.
///
/// # Panics
/// Panics as [`own_or_copy`] does.
pub fn own_or_copy_of(
    cx: &mut KernelCx<'_>,
    index: usize,
    instance: usize,
    bytes: usize,
) -> Result<Buffer, OutOfMemory> {
    if let Some(own) = cx.take_input(index, instance, bytes) {
        return Ok(own);
    }
    let mut new = cx.memory.allocate(bytes)?;
    copy(Workers::global(), [(cx.input(index, instance).bytes(), written(&mut new))]);
    Ok(new)
}
