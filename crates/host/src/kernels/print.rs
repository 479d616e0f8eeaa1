//! The steps of prints, which print once for each list of coordinates, in ascending order, and of marks for layouts,
//! which do nothing.

use super::context::PlanCx;
use crate::plan::{Input, Points, Step, StepKind};
use shardwise_base::AxisRef;
use shardwise_ir::OpView;
use shardwise_ops::inspect::Inspect;
use shardwise_ops::print::Print;

/// Returns the step of a print, which runs once for each point of the axes over which its coordinates vary. The step is
/// the op's reference evaluation. For a mark ([`Inspect`]), returns a step that does nothing. Returns `None` if both
/// [`Inspect::of`] and [`Print::of`] do.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    if Inspect::of(view).is_some() {
        return Some(plan.step_with(view, StepKind::Alias, vec![], vec![], Points::over(None, [])));
    }
    let print = Print::of(view)?;
    let coordinates = &view.operands()[..print.coordinate_count()];
    let axes: Vec<AxisRef> = coordinates.iter().flat_map(|&v| plan.points(v).axes).collect();
    let points = Points::over(plan.mesh.as_ref(), axes);
    let inputs: Vec<Input> = view.operands().iter().map(|&v| plan.input(v, &points)).collect();
    let kind = StepKind::Evaluate { op: view.op, captured: vec![] };
    Some(plan.step_with(view, kind, inputs, vec![], points))
}
