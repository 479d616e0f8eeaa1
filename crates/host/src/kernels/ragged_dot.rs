//! Products of groups of rows, each with a matrix of its own; what lies behind the last group is zero.

use crate::elem::Elem;
use crate::gang::lower::Lowering;
use crate::gang::{Kernel, KernelCx, Step, StepKind};
use crate::kernels::fuse::{elem, row_major};
use crate::kernels::moves::{allocate, input, output, read_index};
use crate::matmul::{Gemm, Product};
use crate::memory::OutOfMemory;
use crate::movement::fill;
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::ragged::RowGroups;

struct RaggedDot {
    /// Of all rows with one matrix.
    gemm: Gemm,
    /// Elements from matrix to matrix.
    group_stride: isize,
    group_count: usize,
    size_dtype: DType,
}

/// The step of a `ragged_dot` over rows.
pub fn step<'m>(lowering: &mut Lowering<'m>, view: &OpView<'m>) -> Option<Step> {
    let dims = RowGroups::of(view)?;
    let (a, b, c) = (view.operand_tensor(0), view.operand_tensor(1), view.result_tensor(0));
    let (elem, out) = (elem(a.dtype)?, elem(c.dtype)?);
    let (left, right) = (row_major(&a.shape), row_major(&b.shape));
    let column = 3 - dims.rhs_contract - dims.rhs_group;
    let gemm = Gemm {
        elem,
        out,
        m: c.shape[0],
        n: c.shape[1],
        k: a.shape[dims.lhs_contract],
        a: [left[1 - dims.lhs_contract], left[dims.lhs_contract]],
        b: [right[dims.rhs_contract], right[column]],
        c: [c.shape[1] as isize, 1],
        accumulate: false,
    };
    if a.dtype != b.dtype || elem == Elem::Bool || !gemm.is_supported() || gemm.k == 0 {
        return None;
    }
    let kernel = RaggedDot {
        gemm,
        group_stride: right[dims.rhs_group],
        group_count: b.shape[dims.rhs_group],
        size_dtype: view.operand_tensor(2).dtype,
    };
    Some(lowering.step(view, StepKind::Kernel(Box::new(kernel))))
}

impl Kernel for RaggedDot {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let row_bytes = self.gemm.n * self.gemm.out.size();
        allocate(cx, self.gemm.m * row_bytes)?;
        if self.gemm.m * row_bytes == 0 {
            return Ok(());
        }
        let mut products = vec![];
        for &i in &cx.instances {
            let end = self.add_products(cx, i, &mut products);
            let rest = output(cx, i).offset((end * row_bytes) as isize);
            // SAFETY: these are the rows behind `end`.
            unsafe { fill(Workers::global(), rest, &[0], (self.gemm.m - end) * row_bytes) };
        }
        // SAFETY: rows and matrices lie within the operands, by the types; each row of a result is in one product.
        unsafe { self.gemm.run_ragged(Workers::global(), &products) };
        Ok(())
    }
}

impl RaggedDot {
    /// The products of an instance; the first row that is in no group.
    fn add_products(&self, cx: &KernelCx<'_>, instance: usize, products: &mut Vec<(usize, Product)>) -> usize {
        let [a, b] = [0, 1].map(|i| input(cx, i, instance));
        let c = output(cx, instance);
        let (size, out) = (self.gemm.elem.size() as isize, self.gemm.out.size() as isize);
        let mut start = 0;
        for group in 0..self.group_count {
            let count = read_index(cx.input(2, instance), group, self.size_dtype).max(0);
            let m = usize::try_from(count).unwrap_or(usize::MAX).min(self.gemm.m - start);
            if m > 0 {
                let row = start as isize;
                let product = Product {
                    a: a.offset(row * self.gemm.a[0] * size),
                    b: b.offset(group as isize * self.group_stride * size),
                    c: c.offset(row * self.gemm.c[0] * out),
                };
                products.push((m, product));
            }
            start += m;
        }
        start
    }
}
