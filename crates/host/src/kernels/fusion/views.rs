//! Chains of views, which are read through.

use super::access::{Access, Axis, strides_of};
use crate::kernels::context::{Fused, PlanCx};
use shardwise_ir::{OpView, Value};

/// Returns the access of a view's operand, given that of its result. Returns `None` if the op is no view or cannot be
/// read through.
pub fn through(plan: &PlanCx<'_>, view: &OpView<'_>, access: &Access) -> Option<Access> {
    match plan.fused(view)? {
        Fused::View(through) => through(view, access),
        _ => None,
    }
}

/// Returns true if the op's row in the kernel table has a function that states where its elements come from
/// ([`Fused::View`]), and the op meets the condition of the row.
pub fn is_view(plan: &PlanCx<'_>, view: &OpView<'_>) -> bool {
    matches!(plan.fused(view), Some(Fused::View(_)))
}

/// Returns the array that a chain of views reads, whose last view is `view`. Also returns the strides in that array of
/// the dimensions of the result of `view`, and the start, in elements. If the op `view` is no view, the array is its
/// own result. Returns `None` if one of the views cannot be read through.
pub fn view_strides(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<(Value, Vec<isize>, isize)> {
    let rank = view.result_shape(0).len();
    let mut access: Access = (0..rank).map(Axis::along).collect();
    let (mut current, mut value) = (Some(*view), view.result(0));
    while let Some(view) = current.filter(|view| is_view(plan, view)) {
        access = through(plan, &view, &access)?;
        value = view.operand(0);
        current = view.operand_def(0);
    }
    let (strides, start) = strides_of(plan.body.ty(value).shape(), &access, rank);
    Some((value, strides, start))
}
