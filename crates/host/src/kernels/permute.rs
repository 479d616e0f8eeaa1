//! `collective_permute`, which passes buffers from instance to instance.

use crate::kernels::context::PlanCx;
use crate::plan::{Step, StepKind};
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Senders};

/// Returns the step of a `collective_permute`, or `None` for other ops. Instances to which no device sends get zeros.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let CollectiveKind::CollectivePermute { permutation } = CollectiveView::of(view)?.kind else { return None };
    let (result, operand) = (plan.points(view.result(0)), plan.points(view.operand(0)));
    let senders = plan.mesh.as_ref().map(|mesh| Senders::new(&permutation, mesh));
    let from = |i: usize| -> Option<u32> {
        let source = senders.as_ref()?.sender(&result.coordinates(i))?;
        Some(operand.instance(&source) as u32)
    };
    let sources = (0..result.count()).map(from).collect();
    Some(plan.step(view, StepKind::Permute(sources)))
}
