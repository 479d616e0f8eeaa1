//! Reductions by unnamed computations, and reductions of several arrays together (argmax). Each element that is folded
//! in, or several of them, is one pass of the block machine over all results.

use crate::block::{self, Operand};
use crate::elem::Elem;
use crate::kernels::buffers::{read, write, written};
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::{repeated_region, scalar_region};
use crate::kernels::strides::{positions, row_major};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::fill;
use crate::operand::Source;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::Workers;
use shardwise_ir::OpView;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;

/// The largest number of elements that a [`FoldKernel`] combines into each result. Larger reductions that need this
/// kernel run by the reference evaluation.
pub(super) const MAX_FOLDED: usize = 1 << 20;

/// The number of elements that one pass folds in, as long as so many are left.
const SEVERAL: usize = 8;

pub(super) struct FoldKernel {
    /// Computes the next results from the results so far and an element of each array.
    one: block::Kernel,
    /// Computes them from [`SEVERAL`] elements of each array. `None` if a result has fewer elements to combine, or if
    /// the program would be too large.
    several: Option<block::Kernel>,
    /// The offsets of the elements that are folded into a result, from the first of them, in elements.
    offsets: Vec<usize>,
    /// The number of bytes of an element of each array.
    sizes: Vec<usize>,
    /// The number of elements of a result.
    count: usize,
}

/// Returns the step of a `reduce` by a region of elementwise ops, or `None` if there is no kernel for it. Also returns
/// `None` for a named reducer of one array, which has other kernels, and if more than [`MAX_FOLDED`] elements are
/// combined into each result.
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
    let operands = [vec![row_major(&space); n], vec![element_strides; n]].concat();
    let offsets = match folded {
        0 => vec![],
        _ => positions(0, reduced.iter().map(|&d| (shape[d], strides[d]))),
    };
    let size = |i: usize| Some(Elem::of(view.result_tensor(i).dtype)?.size());
    let sizes = (0..n).map(size).collect::<Option<Vec<usize>>>()?;
    let kernel = FoldKernel::new(plan, view, &space, &operands, &offsets, sizes)?;
    Some(plan.kernel(view, kernel))
}

impl Kernel for FoldKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        // For each result of all instances: the current values and the next ones, which are swapped after each pass.
        let mut now = self.allocate(cx)?;
        let mut next = self.allocate(cx)?;
        for (k, buffers) in now.iter_mut().enumerate() {
            for (&i, buffer) in cx.instances.iter().zip(buffers) {
                fill(Workers::global(), written(buffer), cx.input(self.sizes.len() + k, i).bytes());
            }
        }
        let mut left = if self.count > 0 { &self.offsets[..] } else { &[] };
        while !left.is_empty() {
            let several = self.several.as_ref().filter(|_| left.len() >= SEVERAL);
            let (folded, rest) = left.split_at(if several.is_some() { SEVERAL } else { 1 });
            let operands = self.operands(cx, &now, &mut next, folded);
            several.unwrap_or(&self.one).run(Workers::global(), &operands, false);
            std::mem::swap(&mut now, &mut next);
            left = rest;
        }
        now.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let now = self.allocate(cx)?;
        let _next = self.allocate(cx)?;
        let scratch = |kernel: &block::Kernel| kernel.scratch_bytes(Workers::global(), cx.instances.len());
        cx.predict_scratch(self.several.iter().map(scratch).fold(scratch(&self.one), usize::max))?;
        now.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }
}

impl FoldKernel {
    /// Returns the kernel that folds the elements at these offsets into results over a space, by the first region of an
    /// op. `operands` has the strides of the results and of the elements, for each array, and `sizes` the bytes of an
    /// element of each. Returns `None` if the block machine cannot compute the region.
    pub fn new(
        plan: &PlanCx<'_>,
        view: &OpView<'_>,
        space: &[usize],
        operands: &[Vec<isize>],
        offsets: &[isize],
        sizes: Vec<usize>,
    ) -> Option<FoldKernel> {
        let one = scalar_region(plan, view.op, space, operands)?;
        let many = offsets.len() >= SEVERAL;
        let several = many.then(|| repeated_region(plan, view.op, space, operands, SEVERAL)).flatten();
        let offsets = offsets.iter().map(|&offset| offset as usize).collect();
        Some(FoldKernel { one, several, offsets, sizes, count: space.iter().product() })
    }

    fn allocate(&self, cx: &KernelCx<'_>) -> Result<Vec<Vec<Buffer>>, OutOfMemory> {
        self.sizes.iter().map(|size| cx.allocate(size * self.count)).collect()
    }

    fn operands<'a>(
        &self,
        cx: &'a KernelCx<'_>,
        now: &'a [Vec<Buffer>],
        next: &'a mut [Vec<Buffer>],
        offsets: &[usize],
    ) -> Vec<Operand<'a>> {
        let mut next: Vec<_> = next.iter_mut().map(|buffers| buffers.iter_mut()).collect();
        let mut operands = Vec::with_capacity((2 + offsets.len()) * next.len() * cx.instances.len());
        for (position, &i) in cx.instances.iter().enumerate() {
            operands.extend(now.iter().map(|buffers| read(&buffers[position])));
            for &offset in offsets {
                let element = |(k, size): (usize, &usize)| Source::at(cx.input(k, i).bytes(), offset * size);
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

    /// Elements of small types are rounded, or wrapped, each time, also where one pass folds several.
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

    #[test]
    fn argmax_over_any_dimensions() {
        for (dims, result) in
            [("2", "6x5x"), ("0", "5x7x"), ("1", "6x7x"), ("0, 2", "5x"), ("1, 2", "6x"), ("0, 1, 2", "")]
        {
            check(&argmax(dims, result));
        }
    }
}
