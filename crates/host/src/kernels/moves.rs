//! Data movement: views that somebody needs as arrays, joins, padding, slices at positions known only when running, and
//! gathers of whole rows.

use crate::block::Pointer;
use crate::gang::lower::Lowering;
use crate::gang::{Input, Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, row_major, view_strides};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{Move, fill, move_rows};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;

/// The step of an op that moves elements, if there is a kernel for it.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let kind: Box<dyn Kernel> = match Opcode::of_view(view) {
        Opcode::Reshape => return Some(lowering.step(view, StepKind::Alias)),
        Opcode::Transpose | Opcode::Slice | Opcode::Reverse | Opcode::BroadcastInDim => {
            return view_step(lowering, view);
        }
        Opcode::Concatenate => Box::new(join(view)?),
        Opcode::Pad => Box::new(pad(view)?),
        Opcode::DynamicSlice => Box::new(slice(view)?),
        Opcode::DynamicUpdateSlice => Box::new(update(view)?),
        Opcode::Gather => Box::new(rows(view)?),
        _ => return None,
    };
    Some(lowering.step(view, StepKind::Kernel(kind)))
}

fn output_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).bytes() as usize
}

fn size_of(view: &OpView<'_>) -> Option<usize> {
    Some(elem(view.result_tensor(0).dtype)?.size())
}

/// Allocates the output of each instance.
fn allocate(cx: &mut KernelCx<'_>, bytes: usize) -> Result<(), OutOfMemory> {
    for i in cx.instances.clone() {
        cx.outputs[0][i] = Some(cx.memory.allocate(bytes)?);
    }
    Ok(())
}

fn input(cx: &KernelCx<'_>, index: usize, instance: usize) -> Pointer {
    Pointer(cx.input(index, instance).as_ptr())
}

fn output(cx: &KernelCx<'_>, instance: usize) -> Pointer {
    Pointer(cx.outputs[0][instance].as_ref().expect("allocated").as_ptr())
}

/// One move from each of several inputs to each output.
struct Moves {
    /// Input, where its elements start, where they go, in bytes.
    moves: Vec<(usize, isize, isize, Move)>,
    /// Bytes of an element that fills the output first, if an input has it.
    filler: Option<(usize, usize)>,
    output_bytes: usize,
}

impl Kernel for Moves {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        allocate(cx, self.output_bytes)?;
        if self.output_bytes == 0 {
            return Ok(());
        }
        if let Some((index, size)) = self.filler {
            for &i in &cx.instances {
                // SAFETY: the output has this many elements.
                unsafe { fill(Workers::global(), output(cx, i), cx.input(index, i).bytes(), self.output_bytes / size) };
            }
        }
        for (index, from, to, elements) in &self.moves {
            let pair = |&i: &usize| (input(cx, *index, i).offset(*from), output(cx, i).offset(*to));
            let pairs: Vec<(Pointer, Pointer)> = cx.instances.iter().map(pair).collect();
            // SAFETY: strides and starts were made from the operands' and the result's types; outputs are new.
            unsafe { elements.run(Workers::global(), &pairs) };
        }
        Ok(())
    }
}

/// A chain of views as one move out of what they look at.
fn view_step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let size = size_of(view)?;
    let (value, strides, start): (Value, Vec<isize>, isize) = view_strides(lowering, view)?;
    let shape = view.result_shape(0);
    let elements = Move::new(size, shape, &strides, &row_major(shape));
    let moves = vec![(0, start * size as isize, 0, elements)];
    let kernel = Moves { moves, filler: None, output_bytes: output_bytes(view) };
    let points = lowering.points(view.result(0));
    let inputs: Vec<Input> = vec![lowering.input(value, &points)];
    let output = lowering.slot(view.result(0));
    Some(lowering.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
}

fn join(view: &OpView<'_>) -> Option<Moves> {
    let (size, dim) = (size_of(view)?, view.attrs().size("dimension")?);
    let to = row_major(view.result_shape(0));
    let mut at = 0;
    let moves = (0..view.operands().len())
        .map(|i| {
            let shape = view.operand_shape(i);
            let place = at * to[dim] * size as isize;
            at += shape[dim] as isize;
            (i, 0, place, Move::new(size, shape, &row_major(shape), &to))
        })
        .collect();
    Some(Moves { moves, filler: None, output_bytes: output_bytes(view) })
}

/// Padding that cuts nothing off.
fn pad(view: &OpView<'_>) -> Option<Moves> {
    let size = size_of(view)?;
    let (low, high) = (view.ints("edge_padding_low"), view.ints("edge_padding_high"));
    let interior = view.ints("interior_padding");
    if low.iter().chain(&high).any(|&n| n < 0) {
        return None;
    }
    let (shape, strides) = (view.operand_shape(0), row_major(view.result_shape(0)));
    let start: isize = strides.iter().zip(&low).map(|(s, &l)| s * l as isize).sum();
    let to: Vec<isize> =
        strides.iter().enumerate().map(|(d, s)| s * (1 + interior.get(d).copied().unwrap_or(0) as isize)).collect();
    let moves = vec![(0, 0, start * size as isize, Move::new(size, shape, &row_major(shape), &to))];
    Some(Moves { moves, filler: Some((1, size)), output_bytes: output_bytes(view) })
}

/// Where a block starts, read from scalar inputs and kept inside.
struct Start {
    /// The first of the scalar inputs.
    first: usize,
    dtype: DType,
    /// The largest start along each dimension.
    limits: Vec<usize>,
    /// Strides in bytes.
    strides: Vec<isize>,
}

impl Start {
    fn new(view: &OpView<'_>, first: usize, shape: &[usize], block: &[usize], size: usize) -> Option<Start> {
        let dtype = if shape.is_empty() { DType::I32 } else { view.operand_tensor(first).dtype };
        let limits = shape.iter().zip(block).map(|(n, b)| n - b).collect();
        let strides = row_major(shape).iter().map(|s| s * size as isize).collect();
        dtype.is_integer().then_some(Start { first, dtype, limits, strides })
    }

    /// In bytes.
    fn offset(&self, cx: &KernelCx<'_>, instance: usize) -> isize {
        let at = |d: usize| clamp(read_index(cx.input(self.first + d, instance), 0, self.dtype), self.limits[d]);
        (0..self.limits.len()).map(|d| at(d) as isize * self.strides[d]).sum()
    }
}

fn clamp(index: i64, limit: usize) -> usize {
    usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(limit)
}

/// Element `i` of an integer array; what exceeds i64 saturates.
fn read_index(buffer: &Buffer, i: usize, dtype: DType) -> i64 {
    let size = dtype.storage_bytes();
    let mut word = [0u8; 8];
    word[..size].copy_from_slice(&buffer.bytes()[i * size..(i + 1) * size]);
    let value = i64::from_le_bytes(word);
    match (dtype.is_signed(), size) {
        (_, 8) if !dtype.is_signed() && value < 0 => i64::MAX,
        (true, 1) => i64::from(value as i8),
        (true, 2) => i64::from(value as i16),
        (true, 4) => i64::from(value as i32),
        _ => value,
    }
}

struct SliceKernel {
    block: Move,
    start: Start,
    output_bytes: usize,
}

fn slice(view: &OpView<'_>) -> Option<SliceKernel> {
    let (size, shape, block) = (size_of(view)?, view.operand_shape(0), view.result_shape(0));
    let start = Start::new(view, 1, shape, block, size)?;
    let block = Move::new(size, block, &row_major(shape), &row_major(block));
    Some(SliceKernel { block, start, output_bytes: output_bytes(view) })
}

impl Kernel for SliceKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        allocate(cx, self.output_bytes)?;
        if self.output_bytes == 0 {
            return Ok(());
        }
        let pair = |&i: &usize| (input(cx, 0, i).offset(self.start.offset(cx, i)), output(cx, i));
        let pairs: Vec<(Pointer, Pointer)> = cx.instances.iter().map(pair).collect();
        // SAFETY: the start is clamped so that the block lies within the operand; outputs are new.
        unsafe { self.block.run(Workers::global(), &pairs) };
        Ok(())
    }
}

struct UpdateKernel {
    whole: Move,
    block: Move,
    start: Start,
    output_bytes: usize,
}

fn update(view: &OpView<'_>) -> Option<UpdateKernel> {
    let (size, shape, block) = (size_of(view)?, view.operand_shape(0), view.operand_shape(1));
    let start = Start::new(view, 2, shape, block, size)?;
    let whole = Move::new(size, shape, &row_major(shape), &row_major(shape));
    let block = Move::new(size, block, &row_major(block), &row_major(shape));
    Some(UpdateKernel { whole, block, start, output_bytes: output_bytes(view) })
}

impl UpdateKernel {
    /// The operand's own buffer if nobody else holds it, else a copy.
    fn target(&self, cx: &mut KernelCx<'_>, i: usize) -> Result<Buffer, OutOfMemory> {
        let map = &cx.step.inputs[0].map;
        let at = map[i] as usize;
        let is_own = map.iter().filter(|&&m| m as usize == at).count() == 1;
        if is_own && cx.inputs[0][at].try_unique().is_some() {
            return Ok(cx.inputs[0][at].clone());
        }
        let copy = cx.memory.allocate(self.output_bytes)?;
        // SAFETY: both have the operand's bytes, and the copy is new.
        unsafe { self.whole.run(Workers::global(), &[(input(cx, 0, i), Pointer(copy.as_ptr()))]) };
        Ok(copy)
    }
}

impl Kernel for UpdateKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for i in cx.instances.clone() {
            let target = self.target(cx, i)?;
            cx.outputs[0][i] = Some(target);
        }
        let pair = |&i: &usize| (input(cx, 1, i), output(cx, i).offset(self.start.offset(cx, i)));
        let pairs: Vec<(Pointer, Pointer)> = cx.instances.iter().map(pair).collect();
        // SAFETY: the start is clamped so that the block lies within the target, which is nobody else's.
        unsafe { self.block.run(Workers::global(), &pairs) };
        Ok(())
    }
}

/// A gather whose slices are whole rows of the operand's trailing dimensions.
struct RowsKernel {
    row_bytes: usize,
    /// Of the leading dimensions that the indices pick in: the largest index and the stride in rows.
    picked: Vec<(usize, usize)>,
    index_dtype: DType,
    output_bytes: usize,
}

fn rows(view: &OpView<'_>) -> Option<RowsKernel> {
    let numbers = view.attr("dimension_numbers")?.as_record()?;
    let list = |name: &str| numbers.sizes(name).unwrap_or_default();
    let (shape, sizes) = (view.operand_shape(0), view.sizes("slice_sizes"));
    let (map, offset) = (list("start_index_map"), list("offset_dims"));
    let (indices, result_rank) = (view.operand_tensor(1), view.result_shape(0).len());
    let vector_dim = numbers.size("index_vector_dim").unwrap_or(0);
    let leading: Vec<usize> = (0..map.len()).collect();
    let is_trailing = offset.iter().enumerate().all(|(i, &d)| d == result_rank - offset.len() + i);
    let is_rows = map == leading
        && list("collapsed_slice_dims") == leading
        && list("operand_batching_dims").is_empty()
        && is_trailing
        && sizes[map.len()..] == shape[map.len()..]
        && (vector_dim + 1 == indices.rank() || (vector_dim == indices.rank() && map.len() == 1));
    if !is_rows || map.is_empty() || shape[..map.len()].contains(&0) || !indices.dtype.is_integer() {
        return None;
    }
    let row_bytes = shape[map.len()..].iter().product::<usize>() * size_of(view)?;
    let stride = |d: usize| shape[d + 1..map.len()].iter().product::<usize>();
    let picked = leading.iter().map(|&d| (shape[d] - 1, stride(d))).collect();
    Some(RowsKernel { row_bytes, picked, index_dtype: indices.dtype, output_bytes: output_bytes(view) })
}

impl RowsKernel {
    /// The row that index vector `r` names.
    fn row(&self, indices: &Buffer, r: usize) -> usize {
        let at = |(d, &(limit, stride)): (usize, &(usize, usize))| {
            clamp(read_index(indices, r * self.picked.len() + d, self.index_dtype), limit) * stride
        };
        self.picked.iter().enumerate().map(at).sum()
    }
}

impl Kernel for RowsKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        allocate(cx, self.output_bytes)?;
        if self.output_bytes == 0 {
            return Ok(());
        }
        for &i in &cx.instances {
            let (table, out, indices) = (input(cx, 0, i), output(cx, i), cx.input(1, i));
            let from = |r: usize| table.offset((self.row(indices, r) * self.row_bytes) as isize);
            let to = |r: usize| out.offset((r * self.row_bytes) as isize);
            // SAFETY: rows are clamped into the operand; the output has one row for each index vector.
            unsafe { move_rows(Workers::global(), self.output_bytes / self.row_bytes, self.row_bytes, from, to) };
        }
        Ok(())
    }
}
