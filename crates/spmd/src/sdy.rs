//! Making and reading `sdy` ops: the one place that knows the names of their attributes.

use crate::plan::{Step, StepKind};
use crate::rewrite::code;
use shardwise_base::{AxisRef, Mesh, Reason, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Value};
use shardwise_ops::ReduceKind;
use std::sync::Arc;

/// An op with the type of `v` and another layout, which stands on the result alone, and a reason.
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

/// One step of a plan.
pub(crate) fn step(v: Value, step: &Step, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    let mesh = &step.to.mesh;
    let (name, attrs) = match &step.kind {
        StepKind::AllSlice { axes } => ("sdy.all_slice", Attrs::new().with("slicing_axes", per_dim(mesh, axes))),
        StepKind::AllGather { axes } => ("sdy.all_gather", Attrs::new().with("gathering_axes", per_dim(mesh, axes))),
        StepKind::AllToAll { axes, source, target } => {
            ("sdy.all_to_all", Attrs::new().with("params", all_to_all_params(mesh, axes, *source, *target)))
        }
        StepKind::CollectivePermute => ("sdy.collective_permute", Attrs::new()),
    };
    moved(name, v, attrs, &step.to, reason, b)
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

fn per_dim(mesh: &Arc<Mesh>, axes: &[Vec<AxisRef>]) -> Attr {
    Attr::AxesPerDim { mesh: mesh.clone(), dims: axes.to_vec() }
}

fn with_kind(attrs: Attrs, kind: ReduceKind) -> Attrs {
    if kind == ReduceKind::Add {
        return attrs;
    }
    attrs.with("reduction_op", Attr::Enum { dialect: "sdy".into(), kind: "reduction_op".into(), value: kind.name().into() })
}

/// How an `sdy` reduction combines.
pub(crate) fn reduce_kind(view: &OpView<'_>) -> ReduceKind {
    view.attrs().str("reduction_op").and_then(ReduceKind::parse).unwrap_or(ReduceKind::Add)
}

/// The axes that an `sdy.all_reduce` sums over.
pub(crate) fn reduction_axes(view: &OpView<'_>) -> Vec<AxisRef> {
    view.attr("reduction_axes").and_then(Attr::as_axes).map(|(_, axes)| axes.to_vec()).unwrap_or_default()
}

/// The axes for each dimension that a gather, slice or scatter moves.
pub(crate) fn axes_per_dim<'a>(view: &OpView<'a>) -> Option<(&'a Arc<Mesh>, &'a [Vec<AxisRef>])> {
    ["gathering_axes", "slicing_axes", "reduce_scatter_axes"].iter().find_map(|name| match view.attr(name) {
        Some(Attr::AxesPerDim { mesh, dims }) => Some((mesh, &dims[..])),
        _ => None,
    })
}

/// Axes, source and target dimension of each move of an `sdy.all_to_all`.
pub(crate) fn all_to_all_moves(view: &OpView<'_>) -> Vec<(Vec<AxisRef>, usize, usize)> {
    let Some(Attr::Array(items)) = view.attr("params") else { return vec![] };
    let read = |a: &Attr| {
        let fields = a.as_record()?;
        let (_, axes) = fields.get("axes")?.as_axes()?;
        Some((axes.to_vec(), fields.size("src_dim")?, fields.size("tgt_dim")?))
    };
    items.iter().filter_map(read).collect()
}

/// How the operands of a manual computation enter it.
pub(crate) fn in_shardings<'a>(view: &OpView<'a>) -> &'a [Sharding] {
    match view.attr("in_shardings") {
        Some(Attr::Shardings(list)) => list,
        _ => &[],
    }
}

/// The axes that a manual computation's body is per device over.
pub(crate) fn manual_axes(view: &OpView<'_>) -> Vec<AxisRef> {
    view.attr("manual_axes").and_then(Attr::as_axes).map(|(_, axes)| axes.to_vec()).unwrap_or_default()
}
