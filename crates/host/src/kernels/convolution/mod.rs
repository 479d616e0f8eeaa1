//! Convolutions: products of windows with the kernel as a matrix.
//!
//! The input is an array in which features are innermost and padding and holes are zeros. If the operand is not such an
//! array, it is copied to one. A row of the product is then a window: its pieces have the same offsets from its start
//! in every window ([`Windows`]), so no step gathers windows before the product. Each group is a product of its own,
//! unless each of several feature groups has one input feature and the kernel has several positions ([`depthwise`]).
//!
//! A product sums in the reference's order (kernel positions, then features). `fma` and pairs of `bf16` round as in
//! `dot_general`.

mod conv;
mod depthwise;
mod lines;
#[cfg(test)]
mod tests;

use crate::kernels::buffers::output_bytes;
use crate::kernels::context::PlanCx;
use crate::kernels::copies::prepared;
use crate::kernels::products::{addresses_of, products_of};
use crate::kernels::strides::row_major;
use crate::matmul::{Gemm, Windows};
use crate::memory::OutOfMemory;
use crate::plan::{Input, Kernel, KernelCx, Points, Step, StepKind};
use crate::pool::Workers;
use conv::{Array, Conv};
use shardwise_ir::{OpView, Value};

/// Returns the step of a convolution, or `None` if there is no kernel for it. Steps that copy operands to other layouts
/// are added to the plan.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let conv = Conv::new(view)?;
    let source = conv.input(view)?;
    let (kernel, matrix): (Box<dyn Kernel>, Option<Array>) = match depthwise::kernel(&conv, &source, view) {
        Some(kernel) => (kernel, None),
        None => {
            let (kernel, matrix) = products(&conv, &source, view)?;
            (Box::new(kernel), Some(matrix))
        }
    };
    let points = plan.points(view.result(0));
    let inputs = vec![
        read(plan, view, view.operand(0), Some(source), &points),
        read(plan, view, view.operand(1), matrix, &points),
    ];
    let output = plan.slot(view.result(0));
    Some(plan.step_with(view, StepKind::Kernel(kernel), inputs, vec![output], points))
}

fn read<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>, v: Value, array: Option<Array>, points: &Points) -> Input {
    match array.and_then(|a| a.copy) {
        Some((kernel, ty)) => prepared(plan, view, &[v], kernel, ty, points),
        None => plan.input(v, points),
    }
}

struct Products {
    windows: Windows,
    output_bytes: usize,
}

/// The largest number of rows of windows and of windows in a row, together. They are listed when the step is made, with 16
/// bytes for each.
const MAX_LISTED: usize = 1 << 24;

fn products(conv: &Conv, source: &Array, view: &OpView<'_>) -> Option<(Products, Array)> {
    let (dims, out) = (&conv.dims, view.result_shape(0));
    let matrix = conv.matrix(view);
    let per_group = conv.padded_features(view.operand_shape(1)[dims.kernel_input_feature]);
    let last = source.strides.len() - 1;
    let places = conv.places(&source.strides[1..last]);
    let groups = conv.feature_groups.max(conv.batch_groups);
    let columns = out[dims.output_feature] / groups;
    let to = row_major(out);
    let gemm = Gemm {
        elem: conv.elem,
        out: conv.out,
        m: out.iter().product::<usize>() / out[dims.output_feature],
        n: columns,
        k: places.len() * per_group,
        a: [0, 1],
        b: [matrix.strides[0], matrix.strides[1]],
        c: [0, to[dims.output_feature]],
        accumulate: false,
    };
    gemm.is_supported().then_some(())?;
    let batch = out[dims.output_batch];
    let input_step = if conv.batch_groups > 1 { source.strides[0] * batch as isize } else { per_group as isize };
    let column = |stride: isize| columns as isize * stride;
    let group_step = [input_step, column(matrix.strides[1]), column(to[dims.output_feature])];
    let spatial = dims.output_spatial.iter().enumerate();
    let spatial =
        spatial.map(|(i, &d)| (out[d], [source.strides[1 + i].wrapping_mul(conv.window[i].stride as isize), to[d]]));
    let mut walked = vec![(batch, [source.strides[0], to[dims.output_batch]])];
    walked.extend(spatial);
    let (row, rows) = walked.split_last()?;
    let rows = rows.iter().try_fold(1usize, |n, (size, _)| n.checked_mul(*size))?;
    (rows.checked_add(row.0)? <= MAX_LISTED).then_some(())?;
    let windows = Windows::new(gemm, (&places, per_group), &walked, (groups, group_step));
    Some((Products { windows, output_bytes: output_bytes(view) }, matrix))
}

impl Kernel for Products {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        self.windows.run(Workers::global(), &mut products_of(cx, &mut outputs));
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = cx.allocate(self.output_bytes)?;
        let scratch = self.windows.scratch_bytes(Workers::global(), &addresses_of(cx, &outputs));
        cx.predict_scratch(scratch)?;
        cx.set(0, outputs);
        Ok(())
    }
}
