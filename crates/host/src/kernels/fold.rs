//! Reductions by unnamed computations, and reductions of several arrays together (argmax). Each element that is folded
//! in, or several of them, is one pass of the block machine over all results. If the elements of a result follow each
//! other and have 32 bits, those of some passes may first be moved ([`MOVED`]), so that those at one place of all
//! results follow each other.

use crate::block::{self, Operand};
use crate::elem::Elem;
use crate::kernels::buffers::{read, write, written};
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::{repeated_region, scalar_region};
use crate::kernels::strides::{positions, row_major};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::{Move, fill};
use crate::operand::{Source, Target};
use crate::plan::{Kernel, KernelCx, Step, StepKind};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;
use shardwise_ops::shapes::Iota;
use std::ops::RangeInclusive;

/// The largest number of elements that a [`FoldKernel`] combines into each result. Larger reductions that need this
/// kernel run by the reference evaluation.
pub(super) const MAX_FOLDED: usize = 1 << 20;

/// The number of elements that one pass folds in, as long as so many are left and there is a program for it.
const SEVERAL: usize = 8;

/// The number of elements of each row that are moved at a time.
const WIDE: usize = 8 * SEVERAL;

pub(super) struct FoldKernel {
    /// Computes the next results from the results so far and an element of each array.
    one: block::Kernel,
    /// Computes them from [`SEVERAL`] elements of each array. `None` if a result has fewer elements to combine, or if
    /// the program would be too large.
    several: Option<block::Kernel>,
    /// The offsets of the elements that are folded into a result, from the first of them, in elements.
    offsets: Vec<usize>,
    /// For each array, the place of its elements.
    elements: Vec<Elements>,
    /// The number of inputs before the initial values.
    input_count: usize,
    /// The number of bytes of an element of each array.
    sizes: Vec<usize>,
    /// The number of elements of each result on one device.
    count: usize,
    /// How the next [`WIDE`] elements of each row are moved, and how the last ones are, if there are fewer at the end.
    /// `None` if no array has its elements in rows.
    moves: Option<[Move; 2]>,
}

/// The place of the elements of an array.
pub(super) enum Elements {
    /// They are those of the input with this number.
    Input(usize),
    /// They are those of the input with this number, of 32 bits each. Those of a result follow each other. They are
    /// moved before passes fold them in.
    Rows(usize),
    /// They are the same for all results, and have these bytes.
    Same(Vec<u8>),
}

/// The numbers of results for which the elements of rows are moved ([`Elements::Rows`]). Fewer results take little
/// time, and more results are computed by several workers.
const MOVED: RangeInclusive<usize> = SEVERAL..=4096;

/// Returns the step of a `reduce` by a region of elementwise ops. Returns `None` for other regions, as
/// [`scalar_region`] does, for types that kernels do not compute on, for a named reducer of one array, which has other
/// kernels, and if more than [`MAX_FOLDED`] elements are combined into each result.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    if reduce_kind_of_op(view).is_some() {
        // Sums by named reducers have a defined order of their own.
        return None;
    }
    let (shape, mut reduced) = (view.operand_shape(0), Reduce::dims(view));
    reduced.sort_unstable();
    let strides = row_major(shape);
    let kept: Vec<usize> = (0..shape.len()).filter(|d| !reduced.contains(d)).collect();
    let space: Vec<usize> = kept.iter().map(|&d| shape[d]).collect();
    let folded: usize = reduced.iter().map(|&d| shape[d]).product();
    if folded > MAX_FOLDED {
        return None;
    }
    let n = view.results().len();
    let element_strides: Vec<isize> = kept.iter().map(|&d| strides[d]).collect();
    let offsets = match folded {
        0 => vec![],
        _ => positions(0, reduced.iter().map(|&d| (shape[d], strides[d]))),
    };
    let size = |i: usize| Some(Elem::of(view.result_tensor(i).dtype)?.size());
    let sizes = (0..n).map(size).collect::<Option<Vec<usize>>>()?;
    let are_rows = offsets.iter().copied().eq(0..folded as isize) && MOVED.contains(&space.iter().product::<usize>());
    let mut inputs: Vec<Value> = vec![];
    let mut operands = vec![row_major(&space); n];
    let mut elements = vec![];
    for (k, &size) in sizes.iter().enumerate() {
        let own = match are_rows.then(|| counted(plan, view.operand(k), &offsets)).flatten() {
            Some(bytes) => Elements::Same(bytes),
            None if are_rows && size == 4 && folded >= SEVERAL => Elements::Rows(inputs.len()),
            None => Elements::Input(inputs.len()),
        };
        operands.push(match &own {
            Elements::Same(_) => vec![0; space.len()],
            Elements::Rows(_) => row_major(&space),
            Elements::Input(_) => element_strides.clone(),
        });
        inputs.extend((!matches!(own, Elements::Same(_))).then(|| view.operand(k)));
        elements.push(own);
    }
    let kernel = FoldKernel::new(plan, view, &space, &operands, &offsets, sizes, elements)?;
    inputs.extend(&view.operands()[n..]);
    Some(plan.step_reading(view, StepKind::Kernel(Box::new(kernel)), &inputs))
}

/// Returns the bytes of an iota's elements at these offsets, which are those of one row. Returns `None` if `v` is no
/// iota of `i32` along a dimension of its rows.
fn counted(plan: &PlanCx<'_>, v: Value, offsets: &[isize]) -> Option<Vec<u8>> {
    let view = plan.view(plan.body.def_op(v)?);
    let ty = plan.body.ty(v).as_tensor().filter(|ty| ty.dtype == DType::I32)?;
    if Opcode::of_view(&view) != Opcode::Iota {
        return None;
    }
    let along = Iota::dim(&view)?;
    let stride: usize = ty.shape[along + 1..].iter().product();
    let is_in_row = stride * ty.shape[along] <= offsets.len();
    let number = |&offset: &isize| (offset as usize / stride % ty.shape[along]) as i32;
    is_in_row.then(|| offsets.iter().flat_map(|offset| number(offset).to_ne_bytes()).collect())
}

impl Kernel for FoldKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        // For each result of all instances: the current values and the next ones, which are swapped after each pass.
        let mut now = self.allocate(cx)?;
        let mut next = self.allocate(cx)?;
        let mut moved = self.allocate_moved(cx)?;
        for (k, buffers) in now.iter_mut().enumerate() {
            for (&i, buffer) in cx.instances.iter().zip(buffers) {
                fill(Workers::global(), written(buffer), cx.input(self.input_count + k, i).bytes());
            }
        }
        let mut left = if self.count > 0 { &self.offsets[..] } else { &[] };
        while !left.is_empty() {
            let several = self.several.as_ref().filter(|_| left.len() >= SEVERAL);
            let (folded, rest) = left.split_at(if several.is_some() { SEVERAL } else { 1 });
            self.move_rows(cx, self.offsets.len() - left.len(), &mut moved);
            let operands = self.operands(cx, &now, &moved, &mut next, folded);
            several.unwrap_or(&self.one).run(Workers::global(), &operands, false);
            std::mem::swap(&mut now, &mut next);
            left = rest;
        }
        now.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let now = self.allocate(cx)?;
        let (_next, _moved) = (self.allocate(cx)?, self.allocate_moved(cx)?);
        let scratch = |kernel: &block::Kernel| kernel.scratch_bytes(Workers::global(), cx.instances.len());
        cx.predict_scratch(self.several.iter().map(scratch).fold(scratch(&self.one), usize::max))?;
        now.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }
}

impl FoldKernel {
    /// Returns the kernel that folds the elements at these offsets into results over a space, by the first region of an
    /// op. `operands` has the strides of the results and of the elements, for each array, `sizes` the bytes of an
    /// element of each, and `elements` where they are. Returns `None` if the block machine cannot compute the region.
    pub fn new(
        plan: &PlanCx<'_>,
        view: &OpView<'_>,
        space: &[usize],
        operands: &[Vec<isize>],
        offsets: &[isize],
        sizes: Vec<usize>,
        elements: Vec<Elements>,
    ) -> Option<FoldKernel> {
        let one = scalar_region(plan, view.op, space, operands)?;
        let many = offsets.len() >= SEVERAL;
        let several = many.then(|| repeated_region(plan, view.op, space, operands, SEVERAL)).flatten();
        let (offsets, folded) = (offsets.iter().map(|&offset| offset as usize).collect(), offsets.len());
        let (count, is_input) = (space.iter().product(), |own: &&Elements| !matches!(own, Elements::Same(_)));
        let input_count = elements.iter().filter(is_input).count();
        let wide = |width: usize| Move::new(4, &[count, width], &[folded as isize, 1], &[1, count as isize]);
        let has_rows = elements.iter().any(|own| matches!(own, Elements::Rows(_)));
        let moves = has_rows.then(|| [WIDE, folded % WIDE].map(wide));
        Some(FoldKernel { one, several, offsets, elements, input_count, sizes, count, moves })
    }

    fn allocate(&self, cx: &KernelCx<'_>) -> Result<Vec<Vec<Buffer>>, OutOfMemory> {
        self.sizes.iter().map(|size| cx.allocate(size * self.count)).collect()
    }

    /// Returns, for each array, buffers for the elements that are moved at a time: one for each instance, or none.
    /// Fails if there is no memory.
    fn allocate_moved(&self, cx: &KernelCx<'_>) -> Result<Vec<Vec<Buffer>>, OutOfMemory> {
        let of = |(own, size): (&Elements, &usize)| match own {
            Elements::Rows(_) => cx.allocate(WIDE.min(self.offsets.len()) * size * self.count),
            Elements::Input(_) | Elements::Same(_) => Ok(vec![]),
        };
        self.elements.iter().zip(&self.sizes).map(of).collect()
    }

    /// Moves the next [`WIDE`] elements of each row, or all that are left, after `done` elements of each row were
    /// folded: first those at the first place in all rows, and so on. Does nothing if `done` is no multiple of
    /// [`WIDE`], because the next elements are then already moved, or if no array has its elements in rows.
    fn move_rows(&self, cx: &KernelCx<'_>, done: usize, moved: &mut [Vec<Buffer>]) {
        let Some([wide, last]) = self.moves.as_ref().filter(|_| done.is_multiple_of(WIDE)) else { return };
        let rows = if self.offsets.len() - done < WIDE { last } else { wide };
        for (own, buffers) in self.elements.iter().zip(moved) {
            let Elements::Rows(input) = *own else { continue };
            for (&i, buffer) in cx.instances.iter().zip(buffers) {
                let from = Source::at(cx.input(input, i).bytes(), self.offsets[done] * 4);
                rows.run(Workers::global(), &[from], &mut [Target::at(written(buffer), 0)]);
            }
        }
    }

    fn operands<'a>(
        &'a self,
        cx: &'a KernelCx<'_>,
        now: &'a [Vec<Buffer>],
        moved: &'a [Vec<Buffer>],
        next: &'a mut [Vec<Buffer>],
        offsets: &[usize],
    ) -> Vec<Operand<'a>> {
        let mut next: Vec<_> = next.iter_mut().map(|buffers| buffers.iter_mut()).collect();
        let mut operands = Vec::with_capacity((2 + offsets.len()) * next.len() * cx.instances.len());
        for (position, &i) in cx.instances.iter().enumerate() {
            operands.extend(now.iter().map(|buffers| read(&buffers[position])));
            for &offset in offsets {
                let element = |(k, size): (usize, &usize)| match &self.elements[k] {
                    Elements::Input(input) => Source::at(cx.input(*input, i).bytes(), offset * size),
                    Elements::Rows(_) => Source::at(moved[k][position].bytes(), offset % WIDE * self.count * size),
                    Elements::Same(bytes) => Source::at(bytes, offset * size),
                };
                operands.extend(self.sizes.iter().enumerate().map(element).map(Operand::Read));
            }
            operands.extend(next.iter_mut().filter_map(|buffers| buffers.next()).map(write));
        }
        operands
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::run_by_kernels;
    use shardwise_base::Literal;

    /// Returns a program for the largest element along the dimensions `dims`, and for its index along dimension 2,
    /// which is the smallest among equal elements. A NaN is larger than all numbers.
    fn argmax(dims: &str, result: &str) -> String {
        format!(
            r#"func.func @main(%x: tensor<6x5x7xf32>) -> (tensor<{result}f32>, tensor<{result}i32>) {{
  %i = stablehlo.iota dim = 2 : tensor<6x5x7xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce"(%x, %i, %low, %zero) <{{dimensions = array<i64: {dims}>}}> ({{
  ^bb0(%a: tensor<f32>, %ai: tensor<i32>, %b: tensor<f32>, %bi: tensor<i32>):
    %1 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %2 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %ai, %bi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<f32>
    %9 = stablehlo.select %7, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<f32>, tensor<i32>
  }}) : (tensor<6x5x7xf32>, tensor<6x5x7xi32>, tensor<f32>, tensor<i32>) -> (tensor<{result}f32>, tensor<{result}i32>)
  return %0#0, %0#1 : tensor<{result}f32>, tensor<{result}i32>
}}"#
        )
    }

    fn check(source: &str) {
        let values = (0..210).map(|i| if i == 100 { f32::NAN } else { (i * 37 % 11) as f32 });
        run_by_kernels(source, &[Literal::new([6, 5, 7], &values.collect::<Vec<_>>())]);
    }

    #[test]
    fn over_no_dimensions_nothing_is_folded_twice() {
        let source = "func.func @main(%x: tensor<6x5x7xf32>) -> tensor<6x5x7xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %two) applies stablehlo.add across dimensions = [] : (tensor<6x5x7xf32>, tensor<f32>) -> tensor<6x5x7xf32>
  return %0 : tensor<6x5x7xf32>
}";
        check(source);
    }

    /// Checks reductions of pairs along rows of several lengths, whose elements are moved.
    #[test]
    fn rows_of_pairs_are_folded_in_order() {
        for len in [5, 8, 63, 64, 65, 72, 128, 131] {
            let (x, y) = (format!("tensor<11x{len}xf32>"), format!("tensor<11x{len}xi32>"));
            let source = format!(
                "func.func @main(%x: {x}, %y: {y}) -> (tensor<11xf32>, tensor<11xi32>) {{
  %z = stablehlo.constant dense<0.5> : tensor<f32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = \"stablehlo.reduce\"(%x, %y, %z, %n) <{{dimensions = array<i64: 1>}}> ({{
  ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %less = stablehlo.multiply %a, %half : tensor<f32>
    %s = stablehlo.add %less, %b : tensor<f32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.multiply %i, %two : tensor<i32>
    %t = stablehlo.subtract %more, %j : tensor<i32>
    stablehlo.return %s, %t : tensor<f32>, tensor<i32>
  }}) : ({x}, {y}, tensor<f32>, tensor<i32>) -> (tensor<11xf32>, tensor<11xi32>)
  return %0#0, %0#1 : tensor<11xf32>, tensor<11xi32>
}}"
            );
            let x = Literal::from_fn([11, len], |i| (i * 37 % 101) as f32 / 7.0);
            let y = Literal::from_fn([11, len], |i| (i * 53 % 97) as i32);
            run_by_kernels(&source, &[x, y]);
        }
    }

    /// Checks that the result is rounded or wrapped to its type after each element, also where one pass folds several.
    #[test]
    fn each_element_is_rounded() {
        let types = [("bf16", "0.7"), ("f16", "0.7"), ("f64", "0.7"), ("i8", "3"), ("ui16", "3")];
        let all = types.into_iter().flat_map(|ty| [("0, 2", "5x"), ("1, 2", "6x")].map(|dims| (ty, dims)));
        for ((elem, factor), (dims, result)) in all {
            let of = |shape: &str| format!("tensor<{shape}{elem}>");
            let (x, result, one) = (of("6x5x7x"), of(result), of(""));
            let source = format!(
                "func.func @main(%x: tensor<6x5x7xf32>) -> {result} {{
  %0 = stablehlo.convert %x : (tensor<6x5x7xf32>) -> {x}
  %init = stablehlo.constant dense<1> : tensor<i32>
  %1 = stablehlo.convert %init : (tensor<i32>) -> {one}
  %2 = stablehlo.reduce(%0 init: %1) across dimensions = [{dims}] : ({x}, {one}) -> {result}
   reducer(%a: {one}, %b: {one}) {{
    %f = stablehlo.constant dense<{factor}> : {one}
    %p = stablehlo.multiply %a, %f : {one}
    %s = stablehlo.add %p, %b : {one}
    stablehlo.return %s : {one}
  }}
  return %2 : {result}
}}"
            );
            check(&source);
        }
    }

    /// Checks rows with as many elements as a pass folds at once, with more and with fewer. The number of rows is 9,
    /// which is no multiple of 8.
    #[test]
    fn argmax_of_rows() {
        for n in [5, 8, 19] {
            let source = argmax("2", "9x1x").replace("6x5x7x", &format!("9x1x{n}x"));
            let values = (0..9 * n).map(|i| if i == 50 { f32::NAN } else { (i * 37 % 11) as f32 });
            run_by_kernels(&source, &[Literal::new([9, 1, n], &values.collect::<Vec<_>>())]);
        }
    }

    #[test]
    fn argmax_over_any_dimensions() {
        for (dims, result) in
            [("2", "6x5x"), ("0", "5x7x"), ("1", "6x7x"), ("0, 2", "5x"), ("1, 2", "6x"), ("0, 1, 2", "")]
        {
            check(&argmax(dims, result));
        }
    }
}
