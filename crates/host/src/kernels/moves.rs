//! Data movement: views that are needed as arrays, concatenation, padding, and slices at positions that are only known
//! at run time.

use super::written;
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::points::Points;
use crate::gang::{Input, Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, row_major, view_strides};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{Move, copy, fill};
use crate::operand::{Source, Target};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_ops::Opcode;

/// Returns the step of an op that moves elements, or `None` if there is no kernel for it.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let kind: Box<dyn Kernel> = match Opcode::of_view(view) {
        Opcode::Reshape => return Some(lowering.step(view, StepKind::Alias)),
        Opcode::BitcastConvert => return keeps_bytes(view).then(|| lowering.step(view, StepKind::Alias)),
        Opcode::Transpose | Opcode::Slice | Opcode::Reverse | Opcode::BroadcastInDim => {
            return view_step(lowering, view);
        }
        Opcode::Concatenate => Box::new(join(view)?),
        Opcode::Pad => Box::new(pad(view)?),
        Opcode::DynamicSlice => Box::new(slice(view)?),
        Opcode::DynamicUpdateSlice => Box::new(update(view)?),
        _ => return None,
    };
    Some(lowering.step(view, StepKind::Kernel(kind)))
}

/// Returns whether a `bitcast_convert` leaves all bytes in place: the dimension that it adds or removes has them in
/// order.
fn keeps_bytes(view: &OpView<'_>) -> bool {
    let has_bytes = |t: &TensorType| elem(t.dtype).is_some_and(|e| e != Elem::Bool);
    has_bytes(view.operand_tensor(0)) && has_bytes(view.result_tensor(0))
}

pub(super) fn output_bytes(view: &OpView<'_>) -> usize {
    view.result_tensor(0).bytes() as usize
}

/// Returns the number of bytes of an element of the result, of any type.
pub(super) fn size_of(view: &OpView<'_>) -> usize {
    view.result_tensor(0).dtype.storage_bytes()
}

/// One move from each of several inputs to each output.
pub(super) struct Moves {
    /// For each move, the input and the offsets in bytes from which elements are read and at which they are written.
    moves: Vec<(usize, usize, usize, Move)>,
    /// The element that fills the output first, if there is one.
    filler: Option<Filler>,
    output_bytes: usize,
}

enum Filler {
    Zeros,
    /// The single element of an input.
    Input(usize),
}

impl Moves {
    /// Returns the kernel whose output is the whole of one input in another layout.
    pub(super) fn layout(elements: Move, output_bytes: usize) -> Moves {
        Moves::whole(elements, 0, output_bytes)
    }

    /// Returns the kernel whose output consists of some elements of the one input, from an offset in bytes on.
    pub(super) fn whole(elements: Move, from: usize, output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, 0, elements)], filler: None, output_bytes }
    }
}

impl Moves {
    /// Returns the kernel that copies some elements of the one input from an offset in bytes to another, with zeros
    /// around them.
    pub(super) fn among_zeros(elements: Move, [from, to]: [usize; 2], output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, to, elements)], filler: Some(Filler::Zeros), output_bytes }
    }

    /// Returns the kernel that copies some elements of the first input, with the single element of the second around
    /// them.
    pub(super) fn among(elements: Move, [from, to]: [usize; 2], output_bytes: usize) -> Moves {
        Moves { moves: vec![(0, from, to, elements)], filler: Some(Filler::Input(1)), output_bytes }
    }

    fn fill(&self, cx: &KernelCx<'_>, outputs: &mut [Buffer]) {
        for (&i, output) in cx.instances.iter().zip(outputs) {
            let element = match self.filler {
                None => return,
                Some(Filler::Zeros) => &[0][..],
                Some(Filler::Input(index)) => cx.input(index, i).bytes(),
            };
            fill(Workers::global(), written(output), element);
        }
    }
}

/// Adds a step before the one that is being built. It copies its first input, the first of `from`, to an array of
/// another layout. Returns the input from which the instances of `points` read this array.
pub(super) fn prepared<'m>(
    lowering: &mut Lowering<'m>,
    view: &OpView<'m>,
    from: &[Value],
    kernel: Moves,
    ty: TensorType,
    points: &Points,
) -> Input {
    let own = match from {
        [from] => lowering.points(*from),
        _ => points.clone(),
    };
    let slot = lowering.temporary(ty, own.clone(), view.loc().clone());
    let inputs = from.iter().map(|&v| lowering.input(v, &own)).collect();
    let mut step = lowering.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![slot], own.clone());
    step.name = format!("{} (layout of an operand)", view.name());
    lowering.before(step);
    Input::new(slot, points.map_to(&own))
}

impl Kernel for Moves {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        self.fill(cx, &mut outputs);
        for (index, from, to, elements) in &self.moves {
            let source = |&i: &usize| Source::at(cx.input(*index, i).bytes(), *from);
            let sources: Vec<Source> = cx.instances.iter().map(source).collect();
            elements.run(Workers::global(), &sources, &mut targets(&mut outputs, *to));
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

/// Returns a position, in bytes, in each of some results.
pub(super) fn targets(outputs: &mut [Buffer], start: usize) -> Vec<Target<'_>> {
    outputs.iter_mut().map(|output| Target::at(written(output), start)).collect()
}

/// Builds a chain of views as one move from the array that they view.
fn view_step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let size = size_of(view);
    let (value, strides, start): (Value, Vec<isize>, isize) = view_strides(lowering, view)?;
    let shape = view.result_shape(0);
    let elements = Move::new(size, shape, &strides, &row_major(shape));
    let moves = vec![(0, usize::try_from(start).ok()? * size, 0, elements)];
    let kernel = Moves { moves, filler: None, output_bytes: output_bytes(view) };
    let points = lowering.points(view.result(0));
    let inputs: Vec<Input> = vec![lowering.input(value, &points)];
    let output = lowering.slot(view.result(0));
    Some(lowering.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
}

fn join(view: &OpView<'_>) -> Option<Moves> {
    let (size, dim) = (size_of(view), view.attrs().size("dimension")?);
    let to = row_major(view.result_shape(0));
    let mut at = 0;
    let moves = (0..view.operands().len())
        .map(|i| {
            let shape = view.operand_shape(i);
            let place = at * to[dim] as usize * size;
            at += shape[dim];
            (i, 0, place, Move::new(size, shape, &row_major(shape), &to))
        })
        .collect();
    Some(Moves { moves, filler: None, output_bytes: output_bytes(view) })
}

/// Builds padding that does not cut elements off.
fn pad(view: &OpView<'_>) -> Option<Moves> {
    let size = size_of(view);
    let (low, high) = (view.ints("edge_padding_low"), view.ints("edge_padding_high"));
    let interior = view.ints("interior_padding");
    if low.iter().chain(&high).any(|&n| n < 0) {
        return None;
    }
    let (shape, strides) = (view.operand_shape(0), row_major(view.result_shape(0)));
    let start: usize = strides.iter().zip(&low).map(|(&s, &l)| s as usize * l as usize).sum();
    let to: Vec<isize> =
        strides.iter().enumerate().map(|(d, s)| s * (1 + interior.get(d).copied().unwrap_or(0) as isize)).collect();
    let moves = vec![(0, 0, start * size, Move::new(size, shape, &row_major(shape), &to))];
    Some(Moves { moves, filler: Some(Filler::Input(1)), output_bytes: output_bytes(view) })
}

/// The start of a block, which is read from scalar inputs and clamped so that the block is inside.
struct Start {
    /// The first of the scalar inputs.
    first: usize,
    dtype: DType,
    /// The largest start along each dimension.
    limits: Vec<usize>,
    /// The strides in bytes.
    strides: Vec<usize>,
}

impl Start {
    fn new(view: &OpView<'_>, first: usize, shape: &[usize], block: &[usize], size: usize) -> Option<Start> {
        let dtype = if shape.is_empty() { DType::I32 } else { view.operand_tensor(first).dtype };
        let limits = shape.iter().zip(block).map(|(n, b)| n - b).collect();
        let strides = row_major(shape).iter().map(|&s| s as usize * size).collect();
        dtype.is_integer().then_some(Start { first, dtype, limits, strides })
    }

    /// Returns the offset of the start in bytes.
    fn offset(&self, cx: &KernelCx<'_>, instance: usize) -> usize {
        let at = |d: usize| clamp(Indices::new(cx.input(self.first + d, instance), self.dtype).get(0), self.limits[d]);
        (0..self.limits.len()).map(|d| at(d) * self.strides[d]).sum()
    }
}

#[inline]
pub(super) fn clamp(index: i64, limit: usize) -> usize {
    usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(limit)
}

/// The elements of an integer array.
#[derive(Clone, Copy)]
pub(super) enum Indices<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl<'a> Indices<'a> {
    pub(super) fn new(array: &'a Buffer, dtype: DType) -> Indices<'a> {
        match (dtype.is_signed(), dtype.storage_bytes()) {
            (true, 1) => Indices::I8(array.elements()),
            (true, 2) => Indices::I16(array.elements()),
            (true, 4) => Indices::I32(array.elements()),
            (true, _) => Indices::I64(array.elements()),
            (false, 1) => Indices::U8(array.elements()),
            (false, 2) => Indices::U16(array.elements()),
            (false, 4) => Indices::U32(array.elements()),
            (false, _) => Indices::U64(array.elements()),
        }
    }

    /// Returns element `i`. Numbers beyond i64 saturate.
    #[inline]
    pub(super) fn get(self, i: usize) -> i64 {
        match self {
            Indices::I8(array) => array[i].into(),
            Indices::I16(array) => array[i].into(),
            Indices::I32(array) => array[i].into(),
            Indices::I64(array) => array[i],
            Indices::U8(array) => array[i].into(),
            Indices::U16(array) => array[i].into(),
            Indices::U32(array) => array[i].into(),
            Indices::U64(array) => i64::try_from(array[i]).unwrap_or(i64::MAX),
        }
    }
}

struct SliceKernel {
    block: Move,
    start: Start,
    output_bytes: usize,
}

fn slice(view: &OpView<'_>) -> Option<SliceKernel> {
    let (size, shape, block) = (size_of(view), view.operand_shape(0), view.result_shape(0));
    let start = Start::new(view, 1, shape, block, size)?;
    let block = Move::new(size, block, &row_major(shape), &row_major(block));
    Some(SliceKernel { block, start, output_bytes: output_bytes(view) })
}

impl Kernel for SliceKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let source = |&i: &usize| Source::at(cx.input(0, i).bytes(), self.start.offset(cx, i));
        let sources: Vec<Source> = cx.instances.iter().map(source).collect();
        self.block.run(Workers::global(), &sources, &mut targets(&mut outputs, 0));
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

struct UpdateKernel {
    block: Move,
    start: Start,
    output_bytes: usize,
}

fn update(view: &OpView<'_>) -> Option<UpdateKernel> {
    let (size, shape, block) = (size_of(view), view.operand_shape(0), view.operand_shape(1));
    let start = Start::new(view, 2, shape, block, size)?;
    let block = Move::new(size, block, &row_major(block), &row_major(shape));
    Some(UpdateKernel { block, start, output_bytes: output_bytes(view) })
}

/// Returns input `index` of each instance for overwriting: its own buffer if there is no other owner, else a copy.
pub(super) fn own_or_copy(cx: &mut KernelCx<'_>, index: usize, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
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

impl Kernel for UpdateKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = own_or_copy(cx, 0, self.output_bytes)?;
        let sources: Vec<Source> = cx.instances.iter().map(|&i| Source::of(cx.input(1, i).bytes())).collect();
        let target = |(&i, output)| Target::at(written(output), self.start.offset(cx, i));
        let mut targets: Vec<Target> = cx.instances.iter().zip(&mut outputs).map(target).collect();
        self.block.run(Workers::global(), &sources, &mut targets);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = own_or_copy(cx, 0, self.output_bytes)?;
        cx.set(0, outputs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    /// Returns the instructions for bits of numbers that are read as `from` and then as `to`.
    fn bitcast(from: (&[usize], &str), to: (&[usize], &str)) -> Vec<String> {
        let [given, x, y] = [tensor(from.0, "f32"), tensor(from.0, from.1), tensor(to.0, to.1)];
        let source = format!(
            "func.func @main(%x: {given}) -> {y} {{
  %0 = stablehlo.convert %x : ({given}) -> {x}
  %1 = stablehlo.bitcast_convert %0 : ({x}) -> {y}
  return %1 : {y}
}}"
        );
        let values: Vec<f32> = (0..from.0.iter().product()).map(|i: usize| i as f32 * 1.5 - 9.0).collect();
        run_by_kernels(&source, &[Literal::new(from.0, &values)])
    }

    #[test]
    fn bits_are_seen_as_other_types() {
        assert_eq!(bitcast((&[4, 3], "i32"), (&[4, 3], "f32")), ["fused(convert, bitcast_convert)"]);
        assert_eq!(bitcast((&[5], "f64"), (&[5], "ui64")).len(), 1);
        for (from, to) in [
            ((&[4, 3][..], "bf16"), (&[4, 3][..], "i16")),
            ((&[5], "f64"), (&[5, 2], "ui32")),
            ((&[3, 2], "f32"), (&[3, 2, 4], "i8")),
            ((&[3, 4], "i8"), (&[3], "ui32")),
            ((&[3, 2], "f16"), (&[3], "f32")),
        ] {
            bitcast(from, to);
        }
    }
}
