//! `collective_permute`, which passes buffers from instance to instance.

use crate::kernels::context::PlanCx;
use crate::plan::{Step, StepKind};
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, IdSpace, Permutation, Senders};

/// Returns the step of a `collective_permute`. Returns `None` for other ops, and for pairs of replicas on a mesh, which
/// earlier passes replace. Instances to which no device sends get zeros. A program without a mesh has device 0 only.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let CollectiveView { kind: CollectiveKind::CollectivePermute { permutation }, ids, .. } = CollectiveView::of(view)?
    else {
        return None;
    };
    let is_of_processes = matches!(permutation, Permutation::Processes(_));
    if is_of_processes && ids == IdSpace::CrossReplica && plan.mesh.is_some() {
        return None;
    }
    let keeps = is_of_processes && permutation.to_pairs().contains(&(0, 0));
    let (result, operand) = (plan.points(view.result(0)), plan.points(view.operand(0)));
    let senders = plan.mesh.as_ref().map(|mesh| Senders::new(&permutation, mesh));
    let from = |i: usize| -> Option<u32> {
        match &senders {
            Some(senders) => Some(operand.instance(&senders.sender(&result.coordinates(i))?) as u32),
            None => keeps.then_some(0),
        }
    };
    let sources = (0..result.count()).map(from).collect();
    Some(plan.step(view, StepKind::Permute(sources)))
}
