//! Builders and readers of `sdy` ops.

use crate::plan::{Step, StepKind};
use crate::rewrite::code;
use shardwise_base::{AxisRef, Mesh, Reason, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Value};
use shardwise_ops::ReduceKind;
use std::sync::Arc;

/// Adds an op with a reason. Its result has the type of `v` and the layout `to`.
fn moved(name: &str, v: Value, attrs: Attrs, to: &Sharding, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    let ty = b.body.ty(v).clone();
    let op = b.op(code(name), [v], attrs, [ty]);
    b.set_reason(op, reason.clone());
    let result = b.body[op].results[0];
    b.set_sharding(result, Some(to.clone()));
    result
}

pub(crate) fn reshard(v: Value, to: &Sharding, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    moved("sdy.reshard", v, Attrs::new(), to, reason, b)
}

pub(crate) fn all_reduce(
    v: Value,
    axes: &[AxisRef],
    kind: ReduceKind,
    to: &Sharding,
    reason: &Arc<Reason>,
    b: &mut Builder<'_>,
) -> Value {
    let attrs = Attrs::new().with("reduction_axes", axes_attr(&to.mesh, axes));
    moved("sdy.all_reduce", v, with_kind(attrs, kind), to, reason, b)
}

pub(crate) fn reduce_scatter(
    v: Value,
    axes: &[Vec<AxisRef>],
    kind: ReduceKind,
    to: &Sharding,
    reason: &Arc<Reason>,
    b: &mut Builder<'_>,
) -> Value {
    let attrs = Attrs::new().with("reduce_scatter_axes", per_dim(&to.mesh, axes));
    moved("sdy.reduce_scatter", v, with_kind(attrs, kind), to, reason, b)
}

/// Returns the value as a sum over `axes`: one summand is the value and the others are zero.
pub(crate) fn unreduce(v: Value, axes: &[AxisRef], to: &Sharding, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    moved("sdy.replicated_to_unreduced", v, Attrs::new().with("axes", axes_attr(&to.mesh, axes)), to, reason, b)
}

/// Adds the op of one step of a plan. Unreduced axes of the value are kept.
pub(crate) fn step(v: Value, step: &Step, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    let unreduced = b.body.sharding(v).map_or(vec![], |s| s.unreduced.clone());
    let (name, attrs) = step_attrs(&step.kind, &step.to.mesh);
    moved(name, v, attrs, &step.to.clone().with_unreduced(unreduced), reason, b)
}

/// Returns the name of the op of a step, and its attributes.
pub(crate) fn step_attrs(kind: &StepKind, mesh: &Arc<Mesh>) -> (&'static str, Attrs) {
    match kind {
        StepKind::AllSlice { axes } => ("sdy.all_slice", Attrs::new().with("slicing_axes", per_dim(mesh, axes))),
        StepKind::AllGather { axes } => ("sdy.all_gather", Attrs::new().with("gathering_axes", per_dim(mesh, axes))),
        StepKind::AllToAll { axes, source, target } => {
            ("sdy.all_to_all", Attrs::new().with("params", all_to_all_params(mesh, axes, *source, *target)))
        }
        StepKind::CollectivePermute => ("sdy.collective_permute", Attrs::new()),
    }
}

fn all_to_all_params(mesh: &Arc<Mesh>, axes: &[AxisRef], source: usize, target: usize) -> Attr {
    let fields = Attrs::new()
        .with("axes", axes_attr(mesh, axes))
        .with("src_dim", Attr::int(source as i64))
        .with("tgt_dim", Attr::int(target as i64));
    Attr::Array(vec![Attr::Record { name: "sdy.all_to_all_param".into(), fields }])
}

pub(crate) fn axes_attr(mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Attr {
    Attr::Axes { mesh: mesh.clone(), axes: axes.to_vec() }
}

pub(crate) fn per_dim(mesh: &Arc<Mesh>, axes: &[Vec<AxisRef>]) -> Attr {
    Attr::AxesPerDim { mesh: mesh.clone(), dims: axes.to_vec() }
}

fn with_kind(attrs: Attrs, kind: ReduceKind) -> Attrs {
    if kind == ReduceKind::Add {
        return attrs;
    }
    attrs.with(
        "reduction_op",
        Attr::Enum { dialect: "sdy".into(), kind: "reduction_op".into(), value: kind.name().into() },
    )
}

/// Returns the shardings with which operands enter a manual computation.
pub(crate) fn in_shardings<'a>(view: &OpView<'a>) -> &'a [Sharding] {
    match view.attr("in_shardings") {
        Some(Attr::Shardings(list)) => list,
        _ => &[],
    }
}

/// Returns the axes over which the body of a manual computation is per device.
pub(crate) fn manual_axes(view: &OpView<'_>) -> Vec<AxisRef> {
    view.attr("manual_axes").and_then(Attr::as_axes).map(|(_, axes)| axes.to_vec()).unwrap_or_default()
}
