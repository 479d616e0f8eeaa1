//! Matrix products: batches of one shape, and rows of several instances against the matrix that they share.
//!
//! Operands are read in place through strides, whatever order their dimensions have, if batch, free and contracted
//! dimensions are each contiguous enough to be one; transposes in front of a product are looked through.
//!
//! A sum of a product and of what another op has just made ([`sums`]) is one step, which adds to that in place.

use crate::block::Pointer;
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Input, Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, is_computed, is_view, row_major};
use crate::kernels::moves::own_or_copy;
use crate::matmul::rows::{MAX_ROWS, RowsGemm};
use crate::matmul::{Gemm, Group, Product, Row};
use crate::memory::{Buffer, OutOfMemory};
use crate::pool::Workers;
use shardwise_ir::{Op, OpView, Uses, Value};
use shardwise_ops::Opcode;
use shardwise_ops::dot::DotDims;
use std::collections::{BTreeMap, HashSet};

/// An operand of a product: the value that is read, and its strides, in elements, for each dimension of the operand.
struct Source {
    value: Value,
    strides: Vec<isize>,
}

/// The input that is added to, where there is one.
const ACC: usize = 2;

struct DotKernel {
    gemm: Gemm,
    /// Offsets, in bytes, of the operands and the result of each product of the batch.
    batch: Vec<[usize; 3]>,
    output_bytes: usize,
    /// The kernel for few rows, where the operands lie as it needs them.
    rows: Option<RowsGemm>,
}

/// The step of a product, if there is a kernel for its types and layout.
pub fn step(lowering: &mut Lowering<'_>, view: &OpView<'_>) -> Option<Step> {
    let dims = DotDims::of(view)?;
    let sources = [0, 1].map(|i| source(lowering, view.operand(i)));
    let kernel = plan(view, &dims, &sources)?;
    let points = lowering.points(view.result(0));
    let inputs: Vec<Input> = sources.iter().map(|s| lowering.input(s.value, &points)).collect();
    let output = lowering.slot(view.result(0));
    let op = lowering.view(view.op);
    Some(lowering.step_with(&op, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
}

/// An addition, and the product that it adds to its other operand.
pub struct Sum {
    pub add: Op,
    pub dot: Op,
    acc: Value,
}

/// The additions of a block that are run as part of the product that they add.
///
/// Only where both operands are there for the addition alone and the other one is a buffer that was just made: what an
/// elementwise op would compute is better computed by the pass that reads the product.
pub fn sums(lowering: &Lowering<'_>, ops: &[Op], uses: &Uses) -> Vec<Sum> {
    let block: HashSet<Op> = ops.iter().copied().collect();
    let mut found: Vec<Sum> = vec![];
    for &add in ops {
        let view = lowering.view(add);
        if Opcode::of_view(&view) != Opcode::Add {
            continue;
        }
        let is_added = |v: Value| found.iter().any(|s| lowering.view(s.add).result(0) == v);
        let is_made = |v: Value| {
            let def = lowering.body.def_op(v).filter(|op| block.contains(op));
            let def = def.map(|op| lowering.view(op));
            uses.of(v).len() == 1
                && lowering.points(v) == lowering.points(view.result(0))
                && def.is_some_and(|d| is_added(v) || !(is_view(&d) || is_computed(&d) || is_constant(&d)))
        };
        let operands = [view.operand(0), view.operand(1)];
        let product = |v: Value| lowering.body.def_op(v).filter(|&op| is_made(v) && has_sum_kernel(lowering, op));
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

/// Whether the product has a kernel that adds, in a type in which sums are not rounded on the way.
fn has_sum_kernel(lowering: &Lowering<'_>, op: Op) -> bool {
    let view = lowering.view(op);
    let dims = matches!(Opcode::of_view(&view), Opcode::DotGeneral | Opcode::Dot).then(|| DotDims::of(&view)).flatten();
    let kernel = dims.and_then(|dims| plan(&view, &dims, &[0, 1].map(|i| source(lowering, view.operand(i)))));
    kernel.is_some_and(|k| k.rows.is_none() && !matches!(k.gemm.out, Elem::BF16 | Elem::F16))
}

/// The step of a sum, at the place of the addition.
pub fn sum_step(lowering: &mut Lowering<'_>, sum: &Sum) -> Step {
    let (add, dot) = (lowering.view(sum.add), lowering.view(sum.dot));
    let dims = DotDims::of(&dot).expect("it is a product");
    let sources = [0, 1].map(|i| source(lowering, dot.operand(i)));
    let mut kernel = plan(&dot, &dims, &sources).expect("it has a kernel");
    kernel.gemm.accumulate = true;
    let points = lowering.points(add.result(0));
    let values = [sources[0].value, sources[1].value, sum.acc];
    let inputs: Vec<Input> = values.iter().map(|&v| lowering.input(v, &points)).collect();
    let output = lowering.slot(add.result(0));
    let mut step = lowering.step_with(&dot, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points);
    step.name = format!("fused({}, add)", dot.name().split_once('.').map_or(dot.name(), |(_, op)| op));
    step
}

/// The operand, or what it is a transpose of.
fn source(lowering: &Lowering<'_>, v: Value) -> Source {
    let shape = lowering.body.ty(v).shape();
    let def = lowering.body.def_op(v).map(|op| lowering.view(op));
    if let Some(view) = def.filter(|view| Opcode::of_view(view) == Opcode::Transpose) {
        let inner = row_major(view.operand_shape(0));
        let strides = view.sizes("permutation").iter().map(|&d| inner[d]).collect();
        return Source { value: view.operand(0), strides };
    }
    Source { value: v, strides: row_major(shape) }
}

fn plan(view: &OpView<'_>, dims: &DotDims, [lhs, rhs]: &[Source; 2]) -> Option<DotKernel> {
    let (a, b) = (view.operand_tensor(0), view.operand_tensor(1));
    let (elem, out) = (elem(a.dtype)?, elem(view.result_tensor(0).dtype)?);
    if a.dtype != b.dtype || elem == Elem::Bool {
        return None;
    }
    let free = (dims.lhs_free(a.rank()), dims.rhs_free(b.rank()));
    let merge = |s: &Source, shape: &[usize], dims: &[usize]| merged(dims.iter().map(|&d| (shape[d], s.strides[d])));
    let (m, row) = merge(lhs, &a.shape, &free.0)?;
    let (k, a_k) = merge(lhs, &a.shape, &dims.lhs_contract)?;
    let (_, b_k) = merge(rhs, &b.shape, &dims.rhs_contract)?;
    let (n, column) = merge(rhs, &b.shape, &free.1)?;
    let gemm = Gemm { elem, out, m, n, k, a: [row, a_k], b: [b_k, column], c: [n as isize, 1], accumulate: false };
    if !gemm.is_supported() || k == 0 {
        return None;
    }
    let batch = batch(&a.shape, dims, lhs, rhs, elem.size(), m * n * out.size());
    let is_in_place = a_k == 1 && column == 1 && out == elem;
    let rows = is_in_place.then_some(RowsGemm { elem, k, n, row_stride: b_k as usize });
    let rows = rows.filter(|_| b_k > 0 && m <= MAX_ROWS && batch.len() == 1);
    Some(DotKernel { gemm, batch, output_bytes: view.result_tensor(0).bytes() as usize, rows })
}

/// Dimensions, major to minor, as one: its size and stride; `None` if they do not lie one within the other.
fn merged(dims: impl Iterator<Item = (usize, isize)>) -> Option<(usize, isize)> {
    let mut whole: Option<(usize, isize)> = None;
    for (size, stride) in dims.filter(|d| d.0 != 1) {
        whole = match whole {
            None => Some((size, stride)),
            Some((n, outer)) if outer == stride * size as isize => Some((n * size, stride)),
            Some(_) => return None,
        };
    }
    Some(whole.unwrap_or((1, 1)))
}

/// Where each product of the batch starts, in bytes.
fn batch(shape: &[usize], dims: &DotDims, lhs: &Source, rhs: &Source, size: usize, result: usize) -> Vec<[usize; 3]> {
    let mut offsets = vec![[0usize; 2]];
    for (&l, &r) in dims.lhs_batch.iter().zip(&dims.rhs_batch) {
        let (left, right) = (lhs.strides[l] as usize * size, rhs.strides[r] as usize * size);
        offsets =
            offsets.iter().flat_map(|o| (0..shape[l]).map(move |i| [o[0] + i * left, o[1] + i * right])).collect();
    }
    offsets.into_iter().enumerate().map(|(i, [a, b])| [a, b, i * result]).collect()
}

impl Kernel for DotKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for i in cx.instances.clone() {
            cx.outputs[0][i] = Some(self.output(cx, i)?);
        }
        if self.output_bytes == 0 {
            return Ok(());
        }
        match self.groups(cx) {
            // SAFETY: rows and matrices lie as `rows` says, by the types; nobody else holds outputs.
            Some((rows, groups)) => unsafe { rows.run(Workers::global(), &groups) },
            None => {
                let products: Vec<Product> = cx.instances.iter().flat_map(|&i| self.products(cx, i)).collect();
                // SAFETY: operands have the types' shapes and these strides; nobody else holds outputs.
                unsafe { self.gemm.run(Workers::global(), &products) };
            }
        }
        Ok(())
    }
}

impl DotKernel {
    /// A new buffer, or the one that is added to; a copy of it if others hold it.
    fn output(&self, cx: &mut KernelCx<'_>, i: usize) -> Result<Buffer, OutOfMemory> {
        if !self.gemm.accumulate || self.output_bytes == 0 {
            return cx.memory.allocate(self.output_bytes);
        }
        own_or_copy(cx, ACC, self.output_bytes, i)
    }

    fn products<'a>(&'a self, cx: &'a KernelCx<'_>, i: usize) -> impl Iterator<Item = Product> + 'a {
        let (a, b) = (Pointer(cx.input(0, i).as_ptr()), Pointer(cx.input(1, i).as_ptr()));
        let c = Pointer(cx.outputs[0][i].as_ref().expect("allocated").as_ptr());
        self.batch.iter().map(move |o| Product {
            a: a.offset(o[0] as isize),
            b: b.offset(o[1] as isize),
            c: c.offset(o[2] as isize),
        })
    }

    /// The instances that share a right operand, as the rows of one product with it; `None` if the rows are many.
    fn groups(&self, cx: &KernelCx<'_>) -> Option<(RowsGemm, Vec<Group>)> {
        let rows = self.rows?;
        let mut by_matrix: BTreeMap<usize, Group> = BTreeMap::new();
        for &i in &cx.instances {
            let matrix = Pointer(cx.input(1, i).as_ptr());
            let group = by_matrix.entry(matrix.0 as usize).or_insert_with(|| Group { matrix, rows: vec![] });
            let (a, c) = (cx.input(0, i).as_ptr(), cx.outputs[0][i].as_ref().expect("allocated").as_ptr());
            let size = rows.elem.size() as isize;
            group.rows.extend((0..self.gemm.m as isize).map(|r| Row {
                a: Pointer(a).offset(r * self.gemm.a[0] * size),
                c: Pointer(c).offset(r * rows.n as isize * size),
            }));
        }
        let groups: Vec<Group> = by_matrix.into_values().collect();
        let suits = |g: &Group| RowsGemm::suits(rows.elem, g.rows.len(), rows.k, rows.n);
        groups.iter().all(suits).then_some((rows, groups))
    }
}

#[cfg(test)]
mod tests {
    use crate::HostEngine;
    use shardwise_base::Literal;
    use shardwise_engine::{Argument, Engine, Limits};
    use shardwise_ir::{text, verify};
    use shardwise_ops::OPS;

    /// Small integers.
    fn ramp(shape: [usize; 2]) -> Literal {
        let values: Vec<f32> = (0..shape[0] * shape[1]).map(|i| (i * 7 % 9) as f32 - 4.0).collect();
        Literal::new(shape, &values)
    }

    /// Products of elements `t` summed as `u`: `ab`, `ab + ab` and `ab + (ab + ab)`, of which the last is used twice.
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

    /// The names of the steps; results must be the interpreter's.
    fn steps(t: &str, u: &str) -> Vec<String> {
        let (source, args) = (program(t, u), [ramp([40, 6]), ramp([6, 70])]);
        let module = text::parse("x.mlir", &source, &OPS).unwrap_or_else(|e| panic!("{e}"));
        let module = verify(&module).or(module).unwrap_or_else(|e| panic!("{e}"));
        let expected = shardwise_interp::run(&module, &args, Limits::default()).expect("it runs");
        let engine = HostEngine::default();
        let program = engine.compile(&module, Limits::default()).expect("it is planned");
        let types = &program.signature().inputs;
        let args = args.iter().zip(types).map(|(x, ty)| Argument::Lent(engine.put(x, ty).expect("it fits"))).collect();
        let (results, times) = program.profile(args).expect("it runs");
        assert!(times.iter().all(|t| !t.is_fallback), "{t} to {u}");
        for (got, expected) in results.iter().zip(&expected) {
            assert_eq!(got.to_literal(), *expected, "{t} to {u}");
        }
        times.into_iter().map(|t| t.name).collect()
    }

    #[test]
    fn sums_of_products_are_taken_in_place_where_that_rounds_nothing() {
        let sums = |t, u| steps(t, u).into_iter().filter(|n| n == "fused(dot_general, add)").count();
        for [t, u] in [["bf16", "f32"], ["f16", "f32"], ["f32", "f32"], ["f64", "f64"], ["i32", "i32"], ["i8", "i32"]] {
            assert_eq!(sums(t, u), 2, "{t} to {u}");
        }
        assert_eq!(sums("bf16", "bf16"), 0);
    }
}
