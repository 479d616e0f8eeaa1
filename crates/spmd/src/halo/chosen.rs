//! Names the strategies by which the ops of a program run, for counts over generated programs.

use super::rounds::Exchange;
use super::{Fetched, MovedDim, plan};
use crate::loops::run_counts;
use crate::plan::{StepKind, boxes_between, layout_only, plan_reshard};
use crate::rewrite::facts;
use shardwise_base::{AxisRef, Mesh, ReasonCause, Sharding};
use shardwise_ir::{Module, OpView};
use shardwise_ops::{Blocks, Combine, Opcode, Read};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A strategy of an op, and what makes the case special.
#[derive(Default)]
struct Chosen {
    name: &'static str,
    /// The op's name without its dialect; empty if the strategy is the same for all ops.
    op: String,
    uneven: bool,
    several_hops: bool,
    strided: bool,
    sub_axis: bool,
    in_loop: bool,
    with_another_factor: bool,
}

/// The strategies, by name, each with those of its special cases that generated programs have to contain.
pub const STRATEGIES: &[(&str, &[&str])] = &[
    ("halo", &["uneven", "several hops", "strided", "part of an axis", "in a loop", "with another factor"]),
    ("block totals", &["uneven", "several hops", "part of an axis", "in a loop", "with another factor"]),
    ("traded dimension", &["uneven", "part of an axis", "in a loop", "with another factor"]),
    ("reduced again", &["uneven", "part of an axis", "with another factor"]),
    ("boxes", &["uneven", "in a loop", "with another factor"]),
];

/// Returns the names of the [`STRATEGIES`] that `reshard` chose for the ops of the main function. Each special case, in
/// that list or not, also has a name of its own, such as `halo: uneven`. So does each op with the strategy `halo` or
/// `block totals`, such as `halo of slice`.
///
/// The module is one after `reshard` and before `collectives`. There are no names if it has no mesh or no main
/// function.
pub fn strategies(module: &Module) -> BTreeSet<String> {
    let (Some(mesh), Some(func)) = (module.main_mesh(), module.main()) else { return BTreeSet::new() };
    let counts = run_counts(module, func);
    let of = |op: shardwise_ir::Op| {
        let view = module.view(&func.body, op);
        let in_loop = counts[op.index()] != Some(1);
        chosen(&view, mesh).into_iter().map(move |c| Chosen { in_loop, ..c })
    };
    func.body.walk().into_iter().flat_map(of).flat_map(|c| c.names()).collect()
}

impl Chosen {
    fn names(&self) -> Vec<String> {
        let cases = [
            (self.uneven, "uneven"),
            (self.several_hops, "several hops"),
            (self.strided, "strided"),
            (self.sub_axis, "part of an axis"),
            (self.in_loop, "in a loop"),
            (self.with_another_factor, "with another factor"),
        ];
        let special = cases.into_iter().filter(|(is, _)| *is).map(|(_, case)| format!("{}: {case}", self.name));
        let of_op = (!self.op.is_empty()).then(|| format!("{} of {}", self.name, self.op));
        std::iter::once(self.name.to_string()).chain(of_op).chain(special).collect()
    }
}

fn chosen(view: &OpView<'_>, mesh: &Arc<Mesh>) -> Vec<Chosen> {
    match Opcode::of_view(view) {
        Opcode::Reshard => traded(view).into_iter().chain(in_boxes(view)).collect(),
        _ if view.data().reason.is_some() && facts(view).combine(view) == Combine::Gather => {
            vec![Chosen { name: "reduced again", ..layout_cases(view, 0, None) }]
        }
        _ => plan(view, mesh).unwrap_or_default().iter().map(|dim| exchanged(view, dim)).collect(),
    }
}

fn exchanged(view: &OpView<'_>, dim: &MovedDim) -> Chosen {
    let (operand, at) = match dim.blocks {
        Blocks::OfResults(_) => (dim.fetched.needs()[0].0.operand, dim.fetched.needs()[0].0.dim),
        Blocks::OfOperand { operand, dim } => (operand, dim),
    };
    let is_strided = |read: &Read| read.stride.abs() != 1 || read.base != 1;
    let strided = dim.fetched.needs().iter().any(|(read, _)| is_strided(read));
    let (name, several_hops) = match &dim.fetched {
        Fetched::Elements(fetches) => ("halo", fetches.iter().any(|f| hops(&f.exchange) > 1)),
        Fetched::Totals { folded, .. } => ("block totals", folded.last - folded.first > 0),
    };
    let op = view.name().rsplit('.').next().unwrap_or_default().to_string();
    Chosen { name, op, several_hops, strided, ..layout_cases(view, operand, Some(at)) }
}

fn hops(exchange: &Exchange) -> u64 {
    let far = match exchange {
        Exchange::Alike(parts) => parts.iter().map(|p| p.ahead.unsigned_abs()).max(),
        Exchange::Rounds(rounds) => rounds.iter().flat_map(|r| &r.pairs).map(|&(s, t)| s.abs_diff(t) as u64).max(),
    };
    far.unwrap_or(0)
}

/// Returns the strategy `traded dimension` if a reshard of an operand moves axes of one dimension to another one.
/// Returns `None` otherwise.
fn traded(view: &OpView<'_>) -> Option<Chosen> {
    let reason = view.data().reason.as_ref().filter(|r| matches!(r.cause, ReasonCause::Operand { .. }));
    let (from, to) = (view.body.sharding(view.operand(0))?, view.body.sharding(view.result(0))?);
    let has = |s: &Sharding, d: usize, axis: &AxisRef| s.dims[d].axes.iter().any(|a| a.overlaps(*axis));
    let moves = |d: usize| {
        let others = |axis: &AxisRef| (0..to.rank()).any(|other| other != d && has(to, other, axis));
        from.dims[d].axes.iter().any(|axis| !has(to, d, axis) && others(axis))
    };
    let dim = reason.and_then(|_| (0..from.rank()).find(|&d| moves(d)))?;
    Some(Chosen { name: "traded dimension", ..layout_cases(view, 0, Some(dim)) })
}

fn in_boxes(view: &OpView<'_>) -> Option<Chosen> {
    let (from, to) = (view.body.sharding(view.operand(0))?, view.body.sharding(view.result(0))?);
    let ty = view.operand_tensor(0);
    let steps = plan_reshard(from, to, &ty.shape, ty.dtype);
    let is_exchange = steps.iter().any(|step| matches!(step.kind, StepKind::Exchange { .. }));
    is_exchange.then(|| boxes_between(&layout_only(from), &layout_only(to), &ty.shape, ty.dtype))??;
    Some(Chosen { name: "boxes", ..layout_cases(view, 0, None) })
}

/// Returns what is special about the layout of an operand whose dimension `dim` is split, or any dimension for `None`.
fn layout_cases(view: &OpView<'_>, operand: usize, dim: Option<usize>) -> Chosen {
    let Some(sharding) = view.body.sharding(view.operand(operand)) else { return Chosen::default() };
    let (mesh, shape) = (&sharding.mesh, view.operand_shape(operand));
    let is_own = |d: usize| dim.is_none_or(|dim| dim == d);
    let split = || sharding.dims.iter().enumerate().filter(|(_, s)| !s.axes.is_empty());
    let is_part = |a: &AxisRef| a.size(mesh) != mesh.axes[a.axis.index()].size;
    Chosen {
        uneven: split().any(|(d, s)| is_own(d) && !shape[d].is_multiple_of(s.shard_count(mesh))),
        sub_axis: split().any(|(d, s)| is_own(d) && s.axes.iter().any(is_part)),
        with_another_factor: split().any(|(d, _)| !is_own(d)) || dim.is_none() && split().count() > 1,
        ..Chosen::default()
    }
}
