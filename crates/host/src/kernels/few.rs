//! Batches of products of small matrices, each of which takes less time than to pack its operands.

use super::factors::{Factors, Firsts, MIN_RUN};
use super::fusion::is_view;
use crate::elem::Elem;
use crate::kernels::buffers::{Piece, output_bytes, pieces};
use crate::kernels::context::PlanCx;
use crate::memory::OutOfMemory;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::simd::{AtLevel, Portable, Vector, run_words};
use crate::small::Products;
use shardwise_ir::OpView;
use shardwise_ops::dot::DotDims;

/// The most products of elements in a product of two matrices with runs of at least [`MIN_RUN`] results.
const MAX_PRODUCTS: usize = 4096;

/// The most products of elements in other products of two matrices.
const MAX_SINGLE_PRODUCTS: usize = 1024;

/// The most products of elements in a product of two matrices of which one is made by a view. For larger ones it is
/// faster to read the elements of the view in their place than to make a copy.
const MAX_OF_VIEWS: usize = 512;

/// The number of products of elements that a worker takes at a time. One takes less than a nanosecond.
const PART: usize = 1 << 16;

struct FewKernel {
    elem: Elem,
    /// The number of products, and the dimensions of the batch: for each its size, and the strides of both operands.
    count: usize,
    dims: Vec<(usize, [isize; 2])>,
    /// The number of results of one product.
    size: usize,
    run: usize,
    steps: [u32; 2],
    table: Vec<u32>,
    output_bytes: usize,
}

/// Returns the step of a batch of products of small matrices. Returns `None` for fewer than two products, for products
/// of no elements, for larger products ([`MAX_PRODUCTS`], [`MAX_SINGLE_PRODUCTS`], [`MAX_OF_VIEWS`]), for operands and
/// results of different types, for elements other than `f32` and integers of 32 or 64 bits, and if the elements of one
/// product are so far apart that their numbers do not fit into 32 bits.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let dims = DotDims::of(view)?;
    let elem = Elem::of(view.result_tensor(0).dtype)?;
    // Other kernels add the products of `f64` in another order.
    let is_summed_alike = elem.fills_words() && elem != Elem::F64;
    let is_same = view.operands().iter().enumerate().all(|(i, _)| Elem::of(view.operand_tensor(i).dtype) == Some(elem));
    let reads_view = |i: usize| plan.body.def_op(view.operand(i)).is_some_and(|op| is_view(plan, &plan.view(op)));
    if !is_summed_alike || !is_same {
        return None;
    }
    let shape = view.operand_shape(0);
    let batch: Vec<usize> = dims.lhs_batch.iter().map(|&d| shape[d]).collect();
    let count: usize = batch.iter().product();
    let all = Factors::of(&dims, [0, 1].map(|i| view.operand_shape(i)));
    if count < 2 || all.count() == 0 {
        return None;
    }
    let (factors, dims) = all.split(batch.iter().filter(|&&size| size != 1).count());
    let (run, steps) = factors.runs([1, 1]);
    let most = if run >= MIN_RUN { MAX_PRODUCTS } else { MAX_SINGLE_PRODUCTS };
    let most = if reads_view(0) || reads_view(1) { most.min(MAX_OF_VIEWS) } else { most };
    if factors.count() > most {
        return None;
    }
    let table = factors.numbers(run).flatten().map(|number| u32::try_from(number).ok()).collect::<Option<_>>()?;
    let size = view.result_shape(0).iter().product::<usize>() / count;
    Some(plan.kernel(view, FewKernel { elem, count, dims, size, run, steps, table, output_bytes: output_bytes(view) }))
}

impl Kernel for FewKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        // The table has two numbers for each product of elements that the first result of a run adds.
        let each = self.table.len() / 2 * self.run;
        let count = (PART / each).max(1);
        let parts = pieces(cx, &mut outputs, count * self.size * self.elem.size());
        let is_large = each * self.count * cx.instances.len() > 2 * PART;
        let effort = if is_large { Effort::Large } else { Effort::Small };
        Workers::global().run_each(parts, effort, |Piece { instance, number, to }| {
            let from = [0, 1].map(|k| cx.input(k, instance).bytes());
            run_words(Batch { kernel: self, first: number * count, from, to });
        });
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

/// Some products of a batch, from number `first` on.
struct Batch<'a> {
    kernel: &'a FewKernel,
    first: usize,
    from: [&'a [u8]; 2],
    to: &'a mut [u8],
}

impl AtLevel for Batch<'_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        if self.kernel.elem.is_wide() { self.products::<Portable<u64>>() } else { self.products::<V>() }
    }
}

impl Batch<'_> {
    #[inline(always)]
    fn products<V: Vector<Word: bytemuck::Pod>>(self) {
        let FewKernel { elem, ref dims, size, run, steps, ref table, .. } = *self.kernel;
        let products = Products { run, steps, is_float: elem.is_float(), table };
        let [a, b]: [&[V::Word]; 2] = self.from.map(bytemuck::cast_slice);
        let to: &mut [V::Word] = bytemuck::cast_slice_mut(self.to);
        for ([left, right], to) in Firsts::from(dims, self.first).zip(to.chunks_exact_mut(size)) {
            products.sum::<V>([&a[left..], &b[right..]], to);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use crate::kernels::testing::{parse, results, run};
    use shardwise_base::Literal;

    /// Tests a batch of several parts. The right operand is a view, and the batch is the last dimension of the left
    /// operand.
    #[test]
    fn large_batches_have_the_bits_of_the_reference() {
        let dims = "batching_dims = [2] x [0], contracting_dims = [1] x [2]";
        let text = format!(
            "func.func @main(%x: tensor<3x4x9000xf32>, %y: tensor<5x4x9000xf32>) -> tensor<9000x3x5xf32> {{
  %t = stablehlo.transpose %y, dims = [2, 0, 1] : (tensor<5x4x9000xf32>) -> tensor<9000x5x4xf32>
  %0 = stablehlo.dot_general %x, %t, {dims} : (tensor<3x4x9000xf32>, tensor<9000x5x4xf32>) -> tensor<9000x3x5xf32>
  return %0 : tensor<9000x3x5xf32>
}}"
        );
        let numbers = |shape: [usize; 3]| Literal::from_fn(shape, |k| ((k * 7 % 101) as f32 - 50.0) * 0.25);
        run(&text, &[numbers([3, 4, 9000]), numbers([5, 4, 9000])]);
    }

    /// Compares batches with products one by one, whose kernel packs the matrices.
    #[test]
    fn batches_have_the_bits_of_single_products() {
        for (m, k, n, of_left, of_right) in [
            (3, 3, 3, 2, 1),
            (4, 6, 9, 2, 1),
            (8, 8, 8, 1, 2),
            (5, 2, 33, 2, 1),
            (1, 7, 1, 2, 2),
            (4, 3, 2, 2, 1),
            (3, 5, 5, 2, 1),
            (3, 4, 20, 2, 1),
            (2, 6, 7, 2, 1),
        ] {
            for elem in ["f32", "i32", "ui64"] {
                let left = if of_left == 2 { [m, k] } else { [k, m] };
                let right = if of_right == 1 { [k, n] } else { [n, k] };
                let ty = |batch: &str, shape: [usize; 2]| format!("tensor<{batch}{}x{}x{elem}>", shape[0], shape[1]);
                let of = |batch: &str| [ty(batch, left), ty(batch, right), ty(batch, [m, n])];
                let [[a, b, c], [a1, b1, c1]] = [of("12x"), of("")];
                let part = |name: &str, i: usize, shape: [usize; 2], ty: &str, one: &str| {
                    let (from, to) = (ty, ty.replacen("12x", "1x", 1));
                    format!(
                        "%{name}s{i} = stablehlo.slice %{name} [{i}:{}, 0:{}, 0:{}] : ({from}) -> {to}
  %{name}{i} = stablehlo.reshape %{name}s{i} : ({to}) -> {one}\n",
                        i + 1,
                        shape[0],
                        shape[1]
                    )
                };
                let single = |i: usize| {
                    format!(
                        "{}{}  %c{i} = stablehlo.dot_general %a{i}, %b{i}, contracting_dims = [{}] x [{}] : ({a1}, {b1}) -> {c1}\n",
                        part("a", i, left, &a, &a1),
                        part("b", i, right, &b, &b1),
                        of_left - 1,
                        of_right - 1
                    )
                };
                let source = format!(
                    "func.func @main(%a: {a}, %b: {b}) -> ({c}, {c1}, {c1}) {{
  %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [{of_left}] x [{of_right}] : ({a}, {b}) -> {c}
  {}{}  return %c, %c0, %c11 : {c}, {c1}, {c1}
}}",
                    single(0), single(11)
                );
                let value = |i: usize| i * 37 % 101;
                let module = parse(&source);
                let input = |shape: [usize; 2]| {
                    let shape = [12, shape[0], shape[1]];
                    let count: usize = shape.iter().product();
                    match elem {
                        "f32" => Literal::new(shape, &(0..count).map(|i| value(i) as f32 / 3.0).collect::<Vec<_>>()),
                        "i32" => Literal::new(shape, &(0..count).map(|i| value(i) as i32).collect::<Vec<_>>()),
                        _ => Literal::new(shape, &(0..count).map(|i| value(i) as u64).collect::<Vec<_>>()),
                    }
                };
                let (got, _) = results(&HostEngine::default().without_runs(), &module, &[input(left), input(right)]);
                let all = got[0].raw_bytes();
                let size = all.len() / 12;
                assert_eq!(&all[..size], got[1].raw_bytes(), "{source}");
                assert_eq!(&all[11 * size..], got[2].raw_bytes(), "{source}");
            }
        }
    }

    /// Compares batches along any dimensions with the interpreter.
    #[test]
    fn batches_may_be_along_any_dimensions() {
        for (lhs_shape, rhs_shape, batch, contract, result) in [
            ("3x40", "3x40", "[1] x [1]", "[0] x [0]", "40"),
            ("3x4x40", "4x5x40", "[2] x [2]", "[1] x [0]", "40x3x5"),
            ("3x4x40", "40x4x5", "[2] x [0]", "[1] x [1]", "40x3x5"),
            ("6x7x8", "7x6x8", "[1, 0] x [0, 1]", "[2] x [2]", "7x6"),
            ("6x7x2x3", "7x6x3x9", "[1, 0] x [0, 1]", "[3] x [2]", "7x6x2x9"),
            ("2x1x9x4", "4x2x1x9", "[0, 1] x [1, 2]", "[3] x [0]", "2x1x9x9"),
        ] {
            for elem in ["f32", "i64"] {
                let [lhs, rhs, result] = [lhs_shape, rhs_shape, result].map(|shape| format!("tensor<{shape}x{elem}>"));
                let source = format!(
                    "func.func @main(%a: {lhs}, %b: {rhs}) -> {result} {{
  %c = stablehlo.dot_general %a, %b, batching_dims = {batch}, contracting_dims = {contract} : ({lhs}, {rhs}) -> {result}
  return %c : {result}
}}"
                );
                let inputs: Vec<Literal> = [lhs_shape, rhs_shape]
                    .map(|shape| {
                        let shape: Vec<usize> = shape.split('x').map(|n| n.parse().expect("a size")).collect();
                        let count: usize = shape.iter().product();
                        match elem {
                            "f32" => {
                                Literal::new(shape, &(0..count).map(|i| (i * 37 % 101) as f32).collect::<Vec<_>>())
                            }
                            _ => Literal::new(shape, &(0..count).map(|i| (i * 37 % 101) as i64).collect::<Vec<_>>()),
                        }
                    })
                    .into();
                run(&source, &inputs);
            }
        }
    }
}
