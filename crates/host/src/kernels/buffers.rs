//! Buffers as what kernels read and write.

use crate::block::Operand;
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::copy;
use crate::operand::{Source, Target};
use crate::plan::KernelCx;
use crate::pool::Workers;
use shardwise_ir::OpView;

/// Returns the number of bytes of the first result.
pub fn output_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).bytes() as usize
}

/// Returns the number of bytes of an element of the first result, of any type.
pub fn element_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).dtype.storage_bytes()
}

/// Returns the bytes of a result, which is new or has no other owner.
pub fn written(buffer: &mut Buffer) -> &mut [u8] {
    buffer.try_unique().expect("a kernel is the only owner of its results")
}

/// Returns a whole buffer as an operand that a block program reads.
pub fn read(buffer: &Buffer) -> Operand<'_> {
    Operand::Read(Source::of(buffer.bytes()))
}

/// Returns a whole buffer as an operand that a block program writes.
pub fn write(buffer: &mut Buffer) -> Operand<'_> {
    Operand::Write(Target::of(written(buffer)))
}

/// Returns a position, in bytes, in each of some results.
pub fn targets(outputs: &mut [Buffer], start: usize) -> Vec<Target<'_>> {
    outputs.iter_mut().map(|output| Target::at(written(output), start)).collect()
}

/// Returns input `index` of each instance for overwriting: its own buffer if there is no other owner, else a copy.
pub fn own_or_copy(cx: &mut KernelCx<'_>, index: usize, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
    let mut outputs = Vec::with_capacity(cx.instances.len());
    for &i in cx.instances.clone().iter() {
        if let Some(own) = cx.take_input(index, i, bytes) {
            outputs.push(own);
            continue;
        }
        let mut new = cx.memory.allocate(bytes)?;
        copy(Workers::global(), [(cx.input(index, i).bytes(), written(&mut new))]);
        outputs.push(new);
    }
    Ok(outputs)
}
