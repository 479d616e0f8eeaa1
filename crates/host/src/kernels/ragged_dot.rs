//! Products of groups of rows, each with a matrix of its own. The rows after the last group are zero.

use crate::elem::Elem;
use crate::kernels::buffers::written;
use crate::kernels::context::PlanCx;
use crate::kernels::indices::{Indices, clamp};
use crate::kernels::products::products_of;
use crate::kernels::strides::row_major;
use crate::matmul::Gemm;
use crate::memory::OutOfMemory;
use crate::movement::fill;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::ragged::RowGroups;

struct RaggedDot {
    /// The product of all rows with one matrix.
    gemm: Gemm,
    /// The number of elements from matrix to matrix.
    group_stride: isize,
    group_count: usize,
    size_dtype: DType,
}

/// Returns the step of a `ragged_dot` whose groups are ranges of rows of the left operand, or `None` for others, if
/// there is no kernel for the types, and if the contracted dimension has size 0.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let dims = RowGroups::of(view)?;
    let (a, b, c) = (view.operand_tensor(0), view.operand_tensor(1), view.result_tensor(0));
    let (elem, out) = (Elem::of(a.dtype)?, Elem::of(c.dtype)?);
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
    Some(plan.kernel(view, kernel))
}

impl Kernel for RaggedDot {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let row_bytes = self.gemm.n * self.gemm.out.size();
        let mut outputs = cx.allocate(self.gemm.m * row_bytes)?;
        let counts: Vec<Vec<usize>> = cx.instances.iter().map(|&i| self.counts(cx, i)).collect();
        for (output, counts) in outputs.iter_mut().zip(&counts) {
            let end: usize = counts.iter().sum();
            fill(Workers::global(), &mut written(output)[end * row_bytes..], &[0]);
        }
        self.gemm.run_ragged(Workers::global(), &mut products_of(cx, &mut outputs), &counts, self.group_stride);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let scratch = self.gemm.ragged_scratch_bytes(Workers::global(), cx.instances.len(), self.group_count);
        cx.predict(self.gemm.m * self.gemm.n * self.gemm.out.size(), scratch)
    }
}

impl RaggedDot {
    /// Returns the number of rows of each group of an instance, limited to the rows that earlier groups have left.
    /// Negative numbers count as 0.
    fn counts(&self, cx: &KernelCx<'_>, instance: usize) -> Vec<usize> {
        let (mut left, sizes) = (self.gemm.m, Indices::new(cx.input(2, instance), self.size_dtype));
        let count = |group: usize| {
            let size = clamp(sizes.get(group), left);
            left -= size;
            size
        };
        (0..self.group_count).map(count).collect()
    }
}
