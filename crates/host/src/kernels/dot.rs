//! Matrix products: batches of one shape, and rows of several instances times the matrix that they share.
//!
//! Operands are read in place through strides, whatever the order of their dimensions, and a transpose before a product
//! is read through. Free dimensions that cannot be merged into one are loops around the product. An operand whose
//! contracted dimensions cannot be merged is copied first, and so is a right operand of which only few columns can be
//! merged.
//!
//! Batches of small matrices have a kernel of their own ([`few`]), and products without a sum are left to block
//! programs ([`is_multiplication`]).
//!
//! The sum of a product and of the new result of another op ([`sums`]) is one step, which adds to that result in place.

use crate::elem::Elem;
use crate::kernels::buffers::own_or_copy;
use crate::kernels::context::PlanCx;
use crate::kernels::copies::{Moves, prepared};
use crate::kernels::empty::is_empty;
use crate::kernels::few;
use crate::kernels::fusion::{is_computed, is_multiplication, is_view};
use crate::kernels::products::{addresses_of, products_of};
use crate::kernels::strides::{innermost, row_major};
use crate::matmul::{Batch, Gemm};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::Move;
use crate::plan::{Input, Kernel, KernelCx, Points, Step, StepKind};
use crate::pool::Workers;
use shardwise_ir::{Op, OpView, Uses, Value};
use shardwise_ops::Opcode;
use shardwise_ops::dot::DotDims;
use shardwise_ops::shapes::Transpose;
use std::collections::HashSet;

/// An operand of a product: the value that is read, and for each dimension of the operand the stride, in elements, in
/// this value or in the copy that is made of it.
struct Source {
    value: Value,
    strides: Vec<isize>,
    /// The move that makes a copy with these strides, which is read instead. `None` if the value itself has them.
    copy: Option<Move>,
}

/// The index, among the step's inputs, of the array to which the product is added, if it is added to one.
const ACC: usize = 2;

struct DotKernel {
    batch: Batch,
    output_bytes: usize,
    /// True if the product is added to the values of the input [`ACC`].
    accumulates: bool,
}

/// Returns the step of a product, or `None` if there is no kernel for it, as for truth values, for operands of
/// different types and for contracted dimensions of size 0. Steps that copy operands are added to the plan.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    if let Some(step) = few::step(plan, view) {
        return Some(step);
    }
    let (kernel, sources) = product(plan, view)?;
    let points = plan.points(view.result(0));
    let inputs = sources.into_iter().map(|s| read(plan, view, s, &points)).collect();
    let output = plan.slot(view.result(0));
    Some(plan.step_with(view, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
}

/// Returns the input that a product reads. If the operand needs a copy, a step that makes it is added to the plan.
fn read<'m>(plan: &mut PlanCx<'m>, dot: &OpView<'m>, source: Source, points: &Points) -> Input {
    let Some(elements) = source.copy else { return plan.input(source.value, points) };
    let ty = plan.body.ty(source.value).as_tensor().expect("verified: a tensor").clone();
    let kernel = Moves::layout(elements, ty.bytes() as usize);
    prepared(plan, dot, &[source.value], kernel, ty, points)
}

/// An addition and the product that it adds to its other operand.
pub struct Sum {
    pub add: Op,
    pub dot: Op,
    acc: Value,
}

/// Returns the additions of a block that run as part of the product that they add, in program order.
///
/// The result of such an addition has elements. One operand is a product whose kernel can add to the other operand
/// without rounding a sum in between. Both operands are used by the addition alone, have the instances of its result,
/// and are results of ops of this block. Each of these ops has operands and is no view, and block programs do not
/// compute it, unless it is itself a returned addition: a value that a block program computes is better computed by the
/// pass that reads the product.
pub fn sums(plan: &PlanCx<'_>, ops: &[Op], uses: &Uses) -> Vec<Sum> {
    let block: HashSet<Op> = ops.iter().copied().collect();
    let mut found: Vec<Sum> = vec![];
    for &add in ops {
        let view = plan.view(add);
        if Opcode::of_view(&view) != Opcode::Add || is_empty(&view) {
            continue;
        }
        let is_added = |v: Value| found.iter().any(|s| plan.view(s.add).result(0) == v);
        let is_made = |v: Value| {
            let def = plan.body.def_op(v).filter(|op| block.contains(op));
            let def = def.map(|op| plan.view(op));
            uses.of(v).len() == 1
                && plan.points(v) == plan.points(view.result(0))
                && def.is_some_and(|d| is_added(v) || !(is_view(plan, &d) || is_computed(plan, &d) || is_constant(&d)))
        };
        let operands = [view.operand(0), view.operand(1)];
        let product = |v: Value| plan.body.def_op(v).filter(|&op| is_made(v) && has_sum_kernel(plan, op));
        let sum = [(0, 1), (1, 0)].into_iter().find_map(|(acc, dot)| {
            let (acc, dot) = (operands[acc], product(operands[dot])?);
            is_made(acc).then_some(Sum { add, dot, acc })
        });
        found.extend(sum);
    }
    found
}

fn is_constant(view: &OpView<'_>) -> bool {
    view.operands().is_empty()
}

/// Returns true if `op` is a product with a sum (no [`is_multiplication`]), and has a kernel that can add to the values
/// of its result without rounding a sum in between.
fn has_sum_kernel(plan: &PlanCx<'_>, op: Op) -> bool {
    let view = plan.view(op);
    let is_dot = matches!(Opcode::of_view(&view), Opcode::DotGeneral | Opcode::Dot) && !is_multiplication(&view);
    let planned = is_dot.then(|| product(plan, &view)).flatten();
    planned.is_some_and(|(k, _)| k.batch.accumulates())
}

/// Returns the step of a sum that [`sums`] has returned for this plan. It belongs at the position of the addition.
/// Steps that copy operands are added to the plan. Panics if there is no kernel for the sum's product.
pub fn sum_step(plan: &mut PlanCx<'_>, sum: &Sum) -> Step {
    let (add, dot) = (plan.view(sum.add), plan.view(sum.dot));
    let (kernel, sources) = product(plan, &dot).expect("it has a kernel");
    let kernel = DotKernel { batch: kernel.batch.accumulating(), accumulates: true, ..kernel };
    let points = plan.points(add.result(0));
    let mut inputs: Vec<Input> = sources.into_iter().map(|s| read(plan, &dot, s, &points)).collect();
    inputs.push(plan.input(sum.acc, &points));
    let output = plan.slot(add.result(0));
    let mut step = plan.step_with(&dot, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points);
    step.ops = vec![sum.dot, sum.add];
    step.name = format!("fused({}, add)", dot.name().split_once('.').map_or(dot.name(), |(_, op)| op));
    step
}

/// The roles of the dimensions of one operand. Each list is in the order of the attributes or of the result.
struct Roles {
    batch: Vec<usize>,
    free: Vec<usize>,
    contract: Vec<usize>,
}

/// Returns how an operand is read: through the transpose that made it, as it is, or as a copy with the batch dimensions
/// first, then the free and then the contracted ones. One of the first two suits if the contracted dimensions can be
/// merged, and either all free dimensions can be merged or the innermost mergeable ones have at least `free` elements.
/// If neither suits, the operand is copied. Returns `None` if it must be copied and kernels do not compute on its type.
fn source(plan: &PlanCx<'_>, v: Value, roles: &Roles, free: usize) -> Option<Source> {
    let shape = plan.body.ty(v).shape();
    let pick = |dims: &[usize], strides: &[isize]| dims.iter().map(|&d| (shape[d], strides[d])).collect::<Vec<_>>();
    let suits = |s: &Source| {
        let ((inner, _), outside) = innermost(&pick(&roles.free, &s.strides));
        innermost(&pick(&roles.contract, &s.strides)).1 == 0 && (outside == 0 || inner >= free)
    };
    let strides = row_major(shape);
    let in_place = Source { value: v, strides: strides.clone(), copy: None };
    if let Some(found) = transposed(plan, v).into_iter().chain([in_place]).find(suits) {
        return Some(found);
    }
    let order: Vec<usize> = [&roles.batch, &roles.free, &roles.contract].into_iter().flatten().copied().collect();
    let sizes: Vec<usize> = order.iter().map(|&d| shape[d]).collect();
    let mut copied = vec![0; shape.len()];
    order.iter().zip(row_major(&sizes)).for_each(|(&d, stride)| copied[d] = stride);
    let size = Elem::of(plan.body.ty(v).as_tensor()?.dtype)?.size();
    let copy = Some(Move::new(size, shape, &strides, &copied));
    Some(Source { value: v, strides: copied, copy })
}

fn transposed(plan: &PlanCx<'_>, v: Value) -> Option<Source> {
    let view = plan.view(plan.body.def_op(v)?);
    if Opcode::of_view(&view) != Opcode::Transpose {
        return None;
    }
    let inner = row_major(view.operand_shape(0));
    let strides = Transpose::permutation(&view).iter().map(|&d| inner[d]).collect();
    Some(Source { value: view.operand(0), strides, copy: None })
}

/// If the free dimensions of the right operand cannot all be merged, it is read in place only if the innermost ones
/// that can be merged have at least this many columns. There is then a product for each index of the others.
const COLUMNS: usize = 64;

fn product(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<(DotKernel, [Source; 2])> {
    let dims = DotDims::of(view)?;
    let (a, b, c) = (view.operand_tensor(0), view.operand_tensor(1), view.result_tensor(0));
    let (elem, out) = (Elem::of(a.dtype)?, Elem::of(c.dtype)?);
    if a.dtype != b.dtype || elem == Elem::Bool {
        return None;
    }
    let (left, right) = (dims.lhs_free(a.rank()), dims.rhs_free(b.rank()));
    let left = Roles { batch: dims.lhs_batch, free: left, contract: dims.lhs_contract };
    let right = Roles { batch: dims.rhs_batch, free: right, contract: dims.rhs_contract };
    // Rows may be at any addresses.
    let lhs = source(plan, view.operand(0), &left, 1)?;
    let rhs = source(plan, view.operand(1), &right, COLUMNS)?;
    let pick = |dims: &[usize], shape: &[usize], s: &Source| -> Vec<_> {
        dims.iter().map(|&d| (shape[d], s.strides[d])).collect()
    };
    let ((m, row), rows_outside) = innermost(&pick(&left.free, &a.shape, &lhs));
    let ((n, column), columns_outside) = innermost(&pick(&right.free, &b.shape, &rhs));
    let ((k, a_k), _) = innermost(&pick(&left.contract, &a.shape, &lhs));
    let ((_, b_k), _) = innermost(&pick(&right.contract, &b.shape, &rhs));
    let columns: usize = right.free.iter().map(|&d| b.shape[d]).product();
    let gemm =
        Gemm { elem, out, m, n, k, a: [row, a_k], b: [b_k, column], c: [columns as isize, 1], accumulate: false };
    if !gemm.is_supported() || k == 0 {
        return None;
    }
    // The loops around the product, as sizes and steps in the operands. The steps in the result follow from the types.
    let batch = left.batch.iter().zip(&right.batch).map(|(&l, &r)| (a.shape[l], [lhs.strides[l], rhs.strides[r]]));
    let rows = left.free.iter().enumerate().map(|(i, &d)| match i < rows_outside {
        true => (a.shape[d], [lhs.strides[d], 0]),
        false => (1, [0, 0]),
    });
    let columns = right.free.iter().enumerate().map(|(i, &d)| match i < columns_outside {
        true => (b.shape[d], [0, rhs.strides[d]]),
        false => (1, [0, 0]),
    });
    let loops = batch.chain(rows).chain(columns).zip(row_major(&c.shape));
    let loops: Vec<_> = loops.map(|((count, [l, r]), to)| (count, [l, r, to])).collect();
    let kernel = DotKernel { batch: Batch::new(gemm, &loops), output_bytes: c.bytes() as usize, accumulates: false };
    Some((kernel, [lhs, rhs]))
}

impl Kernel for DotKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = self.outputs(cx)?;
        self.batch.run(Workers::global(), &mut products_of(cx, &mut outputs));
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = self.outputs(cx)?;
        cx.predict_scratch(self.batch.scratch_bytes(Workers::global(), &addresses_of(cx, &outputs)))?;
        cx.set(0, outputs);
        Ok(())
    }
}

impl DotKernel {
    fn outputs(&self, cx: &mut KernelCx<'_>) -> Result<Vec<Buffer>, OutOfMemory> {
        match self.accumulates {
            true => own_or_copy(cx, ACC, self.output_bytes),
            false => cx.allocate(self.output_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::block::tests::Random;
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    fn ramp(shape: &[usize]) -> Literal {
        let values: Vec<f32> = (0..shape.iter().product::<usize>()).map(|i| (i * 7 % 9) as f32 - 4.0).collect();
        Literal::new(shape, &values)
    }

    /// Returns a program with products `ab` of elements `t` that are summed as `u`. It computes `ab`, `ab + ab` and `ab
    /// + (ab + ab)`, and returns the last of these and its sum with `ab`.
    fn program(t: &str, u: &str) -> String {
        let dot = |name: &str, right: &str, from: usize, ty: &str| {
            format!(
                "%{name} = stablehlo.dot_general %a, %{right}, contracting_dims = [1] x [{from}] \
                 : (tensor<40x6x{t}>, tensor<{ty}x{t}>) -> tensor<40x70x{u}>"
            )
        };
        let [first, second, third, fourth] =
            [dot("0", "b", 0, "6x70"), dot("1", "bt", 1, "70x6"), dot("3", "b", 0, "6x70"), dot("5", "bt", 1, "70x6")];
        format!(
            "func.func @main(%x: tensor<40x6xf32>, %y: tensor<6x70xf32>) -> (tensor<40x70x{u}>, tensor<40x70x{u}>) {{
  %a = stablehlo.convert %x : (tensor<40x6xf32>) -> tensor<40x6x{t}>
  %b = stablehlo.convert %y : (tensor<6x70xf32>) -> tensor<6x70x{t}>
  %bt = stablehlo.transpose %b, dims = [1, 0] : (tensor<6x70x{t}>) -> tensor<70x6x{t}>
  {first}
  {second}
  %2 = stablehlo.add %0, %1 : tensor<40x70x{u}>
  {third}
  %4 = stablehlo.add %3, %2 : tensor<40x70x{u}>
  {fourth}
  %6 = stablehlo.add %4, %5 : tensor<40x70x{u}>
  return %4, %6 : tensor<40x70x{u}>, tensor<40x70x{u}>
}}"
        )
    }

    #[test]
    fn sums_of_products_are_taken_in_place_where_that_rounds_nothing() {
        let args = [ramp(&[40, 6]), ramp(&[6, 70])];
        let sums =
            |t, u| run_by_kernels(&program(t, u), &args).into_iter().filter(|n| n == "fused(dot_general, add)").count();
        for [t, u] in [["bf16", "f32"], ["f16", "f32"], ["f32", "f32"], ["f64", "f64"], ["i32", "i32"], ["i8", "i32"]] {
            assert_eq!(sums(t, u), 2, "{t} to {u}");
        }
        assert_eq!(sums("bf16", "bf16"), 0);
    }

    /// One dimension of an operand: its role, its number within that role, and its size. The roles are batch (`b`),
    /// contracted (`c`), and free on the left (`l`) or on the right (`r`).
    type Dim = (char, usize, usize);

    /// An operand, which is an argument or its transpose.
    struct Operand {
        argument: Literal,
        /// The line that computes the operand from the argument. Empty if the operand is the argument.
        line: String,
        name: String,
        ty: String,
    }

    fn operand(random: &mut Random, name: &str, dims: &[Dim]) -> Operand {
        let sizes: Vec<usize> = dims.iter().map(|d| d.2).collect();
        let ty = tensor(&sizes, "f32");
        if random.next().is_multiple_of(2) {
            return Operand { argument: ramp(&sizes), line: String::new(), name: name.to_string(), ty };
        }
        let mut from: Vec<usize> = (0..dims.len()).collect();
        shuffle(random, &mut from);
        let mut inner = vec![0; dims.len()];
        from.iter().enumerate().for_each(|(d, &f)| inner[f] = sizes[d]);
        let given = tensor(&inner, "f32");
        let line = format!("  %{name}t = stablehlo.transpose %{name}, dims = {from:?} : ({given}) -> {ty}\n");
        Operand { argument: ramp(&inner), line, name: format!("{name}t"), ty }
    }

    fn shuffle<T>(random: &mut Random, list: &mut [T]) {
        (1..list.len()).for_each(|i| list.swap(i, random.next() as usize % (i + 1)));
    }

    fn any_layout(seed: u64) -> (String, [Literal; 2]) {
        let mut random = Random(seed);
        let mut draw =
            |role: char| (0..random.next() % 3).map(|i| (role, i as usize, 1 + random.next() as usize % 4)).collect();
        let [batch, contract, left, right]: [Vec<Dim>; 4] = ['b', 'c', 'l', 'r'].map(&mut draw);
        let mut sides = [&left, &right].map(|free| [&batch[..], &contract, free].concat());
        sides.iter_mut().for_each(|dims| shuffle(&mut random, dims));
        let positions = |dims: &[Dim], role: char| -> Vec<usize> {
            let count = dims.iter().filter(|d| d.0 == role).count();
            (0..count).filter_map(|i| dims.iter().position(|d| d.0 == role && d.1 == i)).collect()
        };
        let [b, c] =
            ['b', 'c'].map(|role| format!("{:?} x {:?}", positions(&sides[0], role), positions(&sides[1], role)));
        let free = |dims: &[Dim]| dims.iter().filter(|d| matches!(d.0, 'l' | 'r')).map(|d| d.2).collect::<Vec<_>>();
        let sizes: Vec<usize> = [batch.iter().map(|d| d.2).collect(), free(&sides[0]), free(&sides[1])].concat();
        let result = tensor(&sizes, "f32");
        let [x, y] = [("x", 0), ("y", 1)].map(|(name, i)| operand(&mut random, name, &sides[i]));
        let [given_x, given_y] = [&x, &y].map(|o| tensor(o.argument.shape(), "f32"));
        let text = format!(
            "func.func @main(%x: {given_x}, %y: {given_y}) -> {result} {{\n{}{}  %0 = stablehlo.dot_general %{}, %{}, \
             batching_dims = {b}, contracting_dims = {c} : ({}, {}) -> {result}\n  return %0 : {result}\n}}",
            x.line, y.line, x.name, y.name, x.ty, y.ty
        );
        (text, [x.argument, y.argument])
    }

    #[test]
    fn operands_may_have_any_layout() {
        let mut copies = 0;
        for seed in 0..300 {
            let (text, args) = any_layout(seed);
            copies += run_by_kernels(&text, &args).iter().filter(|n| n.ends_with("(layout of an operand)")).count();
        }
        assert!((10..200).contains(&copies), "{copies}");
    }
}
