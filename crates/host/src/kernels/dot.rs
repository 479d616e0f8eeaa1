//! Matrix products: batches of one shape, and rows of several instances against the matrix that they share.
//!
//! Operands are read in place through strides, whatever order their dimensions have, if batch, free and contracted
//! dimensions are each contiguous enough to be one; transposes in front of a product are looked through.

use crate::block::Pointer;
use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Input, Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, row_major};
use crate::matmul::rows::{Group, MAX_ROWS, Row, RowsGemm};
use crate::matmul::{Gemm, Product};
use crate::memory::OutOfMemory;
use crate::pool::Workers;
use shardwise_ir::{OpView, Value};
use shardwise_ops::Opcode;
use shardwise_ops::dot::DotDims;
use std::collections::BTreeMap;

/// An operand of a product: the value that is read, and its strides, in elements, for each dimension of the operand.
struct Source {
    value: Value,
    strides: Vec<isize>,
}

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
    let (lhs, rhs) = (source(lowering, view.operand(0)), source(lowering, view.operand(1)));
    let kernel = plan(view, &dims, &lhs, &rhs)?;
    let points = lowering.points(view.result(0));
    let inputs: Vec<Input> = [lhs.value, rhs.value].iter().map(|&v| lowering.input(v, &points)).collect();
    let output = lowering.slot(view.result(0));
    let op = lowering.view(view.op);
    Some(lowering.step_with(&op, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points))
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

fn plan(view: &OpView<'_>, dims: &DotDims, lhs: &Source, rhs: &Source) -> Option<DotKernel> {
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
            cx.outputs[0][i] = Some(cx.memory.allocate(self.output_bytes)?);
        }
        if self.output_bytes == 0 {
            return Ok(());
        }
        match self.groups(cx) {
            // SAFETY: rows and matrices lie as `rows` says, by the types; outputs are new.
            Some((rows, groups)) => unsafe { rows.run(Workers::global(), &groups) },
            None => {
                let products: Vec<Product> = cx.instances.iter().flat_map(|&i| self.products(cx, i)).collect();
                // SAFETY: operands have the types' shapes and these strides; outputs are new.
                unsafe { self.gemm.run(Workers::global(), &products) };
            }
        }
        Ok(())
    }
}

impl DotKernel {
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
