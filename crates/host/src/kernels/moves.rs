//! Data movement: views that are needed as arrays, concatenation, padding, and slices at positions that are only known
//! at run time.

use crate::elem::Elem;
use crate::kernels::buffers::{element_bytes, output_bytes, own_or_copy, targets, written};
use crate::kernels::context::PlanCx;
use crate::kernels::copies::{Filler, Moves};
use crate::kernels::fusion::view_strides;
use crate::kernels::indices::{Indices, clamp};
use crate::kernels::strides::row_major;
use crate::memory::OutOfMemory;
use crate::movement::Move;
use crate::operand::{Source, Target};
use crate::plan::{Input, Kernel, KernelCx, Step, StepKind};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::{OpView, TensorType, Value};
use shardwise_ops::shapes::{Concatenate, Pad};

/// Returns the step of an op whose results are its operands, possibly with other types. Always returns `Some`.
pub fn alias<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.step(view, StepKind::Alias))
}

/// Returns the step of a `bitcast_convert`, which passes the buffer on. Returns `None` if one of the element types is
/// `i1` or a type that kernels do not compute on.
pub fn bitcast<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    keeps_bytes(view).then(|| plan.step(view, StepKind::Alias))
}

/// Returns the step of a `concatenate`, or `None` if the op does not state its dimension.
pub fn concatenate<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, join(view)?))
}

/// Returns the step of a `pad`, or `None` if a low or high amount is negative.
pub fn pad<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, padding(view)?))
}

/// Returns the step of a `dynamic_slice`, or `None` if its starts do not have an integer type.
pub fn dynamic_slice<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, slice(view)?))
}

/// Returns the step of a `dynamic_update_slice`, or `None` if its starts do not have an integer type.
pub fn dynamic_update_slice<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, update(view)?))
}

/// Returns true if both element types of a `bitcast_convert` are types that kernels compute on, other than `i1`. All
/// bytes then stay in place: the dimension that is added or removed has them in order.
fn keeps_bytes(view: &OpView<'_>) -> bool {
    let has_bytes = |t: &TensorType| Elem::of(t.dtype).is_some_and(|e| e != Elem::Bool);
    has_bytes(view.operand_tensor(0)) && has_bytes(view.result_tensor(0))
}

/// Returns the step that computes `view`, the last view of a chain, by one move from the array that the first view of
/// the chain reads. If that is the operand of `view`, and has the same elements in the same order, its buffer is passed
/// on. Returns `None` if a view of the chain cannot be read through.
pub fn view<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let size = element_bytes(view);
    let (value, strides, start): (Value, Vec<isize>, isize) = view_strides(plan, view)?;
    let shape = view.result_shape(0);
    let is_dense = row_major(shape).iter().zip(&strides).zip(shape).all(|((a, b), &n)| a == b || n == 1);
    if value == view.operand(0) && has_as_many_elements(view) && is_dense {
        return alias(plan, view);
    }
    let elements = Move::new(size, shape, &strides, &row_major(shape));
    let moves = vec![(0, usize::try_from(start).ok()? * size, 0, elements)];
    let kernel = Moves { moves, filler: None, output_bytes: output_bytes(view) };
    let points = plan.points(view.result(0));
    let inputs: Vec<Input> = vec![plan.input(value, &points)];
    let output = plan.slot(view.result(0));
    Some(plan.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
}

fn has_as_many_elements(view: &OpView<'_>) -> bool {
    let [from, to] = [view.operand_shape(0), view.result_shape(0)].map(|shape| shape.iter().product::<usize>());
    from == to
}

fn join(view: &OpView<'_>) -> Option<Moves> {
    let (size, dim) = (element_bytes(view), Concatenate::dim(view)?);
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

fn padding(view: &OpView<'_>) -> Option<Moves> {
    let size = element_bytes(view);
    let [low, high, interior] = Pad::amounts(view);
    if low.iter().chain(&high).any(|&n| n < 0) {
        return None;
    }
    let (shape, strides) = (view.operand_shape(0), row_major(view.result_shape(0)));
    let start: usize = strides.iter().zip(&low).map(|(&s, &l)| s as usize * l as usize).sum();
    // Where a product does not fit, the dimension has one element, whose stride does not count.
    let between = |d: usize| interior.get(d).map_or(1, |&n| (n as isize).wrapping_add(1));
    let to: Vec<isize> = strides.iter().enumerate().map(|(d, s)| s.wrapping_mul(between(d))).collect();
    let moves = vec![(0, 0, start * size, Move::new(size, shape, &row_major(shape), &to))];
    Some(Moves { moves, filler: Some(Filler::Input(1)), output_bytes: output_bytes(view) })
}

/// The start of the elements of an array that a `dynamic_slice` reads or a `dynamic_update_slice` writes. It is read
/// from scalar inputs, and clamped so that all these elements are inside of the array.
struct Start {
    /// The index of the first of the scalar inputs.
    first: usize,
    dtype: DType,
    /// The largest start along each dimension.
    limits: Vec<usize>,
    /// The strides of the array, in bytes.
    strides: Vec<usize>,
}

impl Start {
    fn new(view: &OpView<'_>, first: usize, shape: &[usize], block: &[usize], size: usize) -> Option<Start> {
        let dtype = if shape.is_empty() { DType::I32 } else { view.operand_tensor(first).dtype };
        let limits = shape.iter().zip(block).map(|(n, b)| n - b).collect();
        let strides = row_major(shape).iter().map(|&s| s as usize * size).collect();
        dtype.is_integer().then_some(Start { first, dtype, limits, strides })
    }

    fn offset(&self, cx: &KernelCx<'_>, instance: usize) -> usize {
        let at = |d: usize| clamp(Indices::new(cx.input(self.first + d, instance), self.dtype).get(0), self.limits[d]);
        (0..self.limits.len()).map(|d| at(d) * self.strides[d]).sum()
    }
}

struct SliceKernel {
    block: Move,
    start: Start,
    output_bytes: usize,
}

fn slice(view: &OpView<'_>) -> Option<SliceKernel> {
    let (size, shape, block) = (element_bytes(view), view.operand_shape(0), view.result_shape(0));
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
    let (size, shape, block) = (element_bytes(view), view.operand_shape(0), view.operand_shape(1));
    let start = Start::new(view, 2, shape, block, size)?;
    let block = Move::new(size, block, &row_major(block), &row_major(shape));
    Some(UpdateKernel { block, start, output_bytes: output_bytes(view) })
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

    /// Runs a program that converts numbers to the type `from` and reads their bits as the type `to`. Returns the names
    /// of its instructions, which must all have kernels.
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
