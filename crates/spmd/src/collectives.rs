//! Replaces each `sdy.reshard` by its cheapest sequence of collectives ([`crate::plan`]).
//!
//! An `sdy.all_reduce` whose only reader is a reshard that splits its result over the summed axes becomes an
//! `sdy.reduce_scatter`, which moves fewer bytes. The comments call each all-reduce a sum, however it combines values.

use crate::plan::{self, Move, Step, StepKind};
use crate::rewrite::map_main;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, EntityVec, Reason, ReasonCause, Reshard, Sharding};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Body, Builder, Cloner, Module, Op, OpView, Region, Uses, Value};
use shardwise_ops::shardy::{AllToAllParam, ShardyCollective};
use shardwise_ops::{Opcode, ReduceKind, make_shardy};
use std::sync::Arc;

/// Replaces all `sdy.reshard` ops of the main function by collectives, or by their operands if nothing has to change.
///
/// An `sdy.all_reduce` that only such an op in the same region reads is replaced by a reduce-scatter over the summed
/// axes with which the reshard's first step begins to split a dimension, if there are any. The other summed axes are then
/// summed by an all-reduce. Nothing is replaced if this step also splits a dimension further that has several blocks
/// after the reduce-scatter, and changes its padded size.
///
/// # Errors
/// Fails if the operand or the result of such an op has no sharding (`pass-order`).
/// [`reshard`](crate::reshard::reshard) leaves none without one.
pub fn collectives(module: &Module) -> Result<Module, Diagnostics> {
    map_main(module, |func| {
        let body = &func.body;
        let reshards: Vec<Op> = body.walk().into_iter().filter(|&op| body[op].code == Opcode::Reshard.into()).collect();
        if reshards.is_empty() {
            return Ok(func.clone());
        }
        reshards.iter().try_for_each(|&op| check_laid_out(&module.view(body, op)))?;
        let pass = &mut Collectives { uses: Uses::compute(&func.body), home: homes(&func.body) };
        rewrite_func(module, func, pass)
    })
}

/// Fails if the operand or the result of a reshard has no sharding.
fn check_laid_out(reshard: &OpView<'_>) -> Result<(), Diagnostic> {
    if [reshard.operand(0), reshard.result(0)].iter().all(|&v| reshard.body.sharding(v).is_some()) {
        return Ok(());
    }
    let message = format!("`{}` moves a value that has no sharding yet", reshard.name());
    Err(Diagnostic::error("pass-order", reshard.loc(), message).help("run the pass `reshard` first"))
}

struct Collectives {
    uses: Uses,
    /// The region that contains each op; `None` for ops that were removed.
    home: EntityVec<Op, Option<Region>>,
}

fn homes(body: &Body) -> EntityVec<Op, Option<Region>> {
    let mut home = EntityVec::filled(body.op_count(), None);
    for region in (0..body.region_count()).map(Region::new) {
        body[region].ops.iter().for_each(|&op| home[op] = Some(region));
    }
    home
}

impl<'s> Rewrite<'s> for Collectives {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        match Opcode::of_view(view) {
            // The sum is made where its only reader is.
            Opcode::SdyAllReduce if self.is_scattered(view) => {}
            Opcode::Reshard => {
                let value = self.reshard(view, cloner, b);
                cloner.set(view.result(0), value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl Collectives {
    fn reshard<'s>(&self, view: &OpView<'s>, cloner: &Cloner<'s>, b: &mut Builder<'_>) -> Value {
        let source = view.operand(0);
        let steps = plan_of(view);
        let reason = reason_of(view);
        let to = layout(view, view.result(0));
        if let Some(sum) = view.operand_def(0).filter(|sum| is_all_reduce(sum) && self.is_scattered(sum)) {
            let scatter = scatter_of(&sum, view, &steps).expect("looked at before");
            let value = scatter.build(cloner.get(sum.operand(0)), &sum, &reason, b);
            return run(value, &steps[1..], to, &reason, b);
        }
        run(cloner.get(source), &steps, to, &reason, b)
    }

    /// Returns true if the sum becomes part of a reduce-scatter at its only reader. A sum outside of the reader's
    /// region does not, because it would be moved into a loop.
    fn is_scattered(&self, sum: &OpView<'_>) -> bool {
        let [only] = self.uses.of(sum.result(0)) else { return false };
        let reader = sum.at(only.op);
        Opcode::of_view(&reader) == Opcode::Reshard
            && self.home[sum.op] == self.home[only.op]
            && scatter_of(sum, &reader, &plan_of(&reader)).is_some()
    }
}

fn is_all_reduce(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::SdyAllReduce
}

/// Adds the ops of a plan that leads to the layout `to`, and returns the last result, or `value` if the plan has no
/// steps. If a step receives data, the reasons of the ops state which reshard they belong to.
fn run(value: Value, steps: &[Step], to: &Sharding, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    let from = b.body.sharding(value).filter(|_| steps.iter().any(|s| s.bytes_received > 0)).cloned();
    let Some(from) = from else { return steps.iter().fold(value, |v, step| add(v, step, reason, b)) };
    let ty = b.body.ty(value).as_tensor().expect("only tensors are laid out");
    let moved = Reshard { from, to: to.clone(), shape: ty.shape.clone(), dtype: ty.dtype };
    let mut reason = Reason { reshard: Some(Arc::new(moved)), ..(**reason).clone() };
    steps.iter().fold(value, |v, step| {
        let v = add(v, step, &Arc::new(reason.clone()), b);
        if step.bytes_received > 0 {
            reason.step += most_collectives(&step.kind);
        }
        v
    })
}

/// Returns the number of collectives that a step of a plan becomes, or a larger one.
fn most_collectives(kind: &StepKind) -> usize {
    match kind {
        StepKind::AllSlice { .. } => 0,
        StepKind::AllGather { axes } => axes.iter().filter(|axes| !axes.is_empty()).count(),
        StepKind::AllToAll { moves } => moves.len(),
        StepKind::CollectivePermute => 1,
        StepKind::Exchange { collective_count } => *collective_count as usize,
    }
}

/// Adds the op of one step of a plan, and returns its result. Unreduced axes of the value are kept.
fn add(v: Value, step: &Step, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
    let unreduced = b.body.sharding(v).map_or(vec![], |s| s.unreduced.clone());
    make_shardy::step(b, v, &collective(&step.kind), &step.to.clone().with_unreduced(unreduced), reason)
}

fn collective(kind: &StepKind) -> ShardyCollective {
    match kind {
        StepKind::AllSlice { axes } => ShardyCollective::AllSlice { dims: axes.clone() },
        StepKind::AllGather { axes } => ShardyCollective::AllGather { dims: axes.clone() },
        StepKind::AllToAll { moves } => {
            let param = |m: &Move| AllToAllParam { axes: m.axes.clone(), src_dim: m.source, tgt_dim: m.target };
            ShardyCollective::AllToAll { params: moves.iter().map(param).collect() }
        }
        StepKind::CollectivePermute => ShardyCollective::CollectivePermute,
        StepKind::Exchange { .. } => ShardyCollective::Exchange,
    }
}

fn plan_of(reshard: &OpView<'_>) -> Vec<Step> {
    let ty = reshard.operand_tensor(0);
    let (from, to) = (layout(reshard, reshard.operand(0)), layout(reshard, reshard.result(0)));
    plan::plan_reshard(from, to, &ty.shape, ty.dtype)
}

fn layout<'s>(view: &OpView<'s>, v: Value) -> &'s Sharding {
    view.body.sharding(v).expect("every tensor has a sharding")
}

fn reason_of(view: &OpView<'_>) -> Arc<Reason> {
    view.data().reason.clone().unwrap_or_else(|| {
        let (from, to) = (layout(view, view.operand(0)), layout(view, view.result(0)));
        Arc::new(crate::reason::edge(view, &crate::reason::stated(view), "the value", from, to, 0))
    })
}

/// A sum over some axes of which each device keeps only a part.
struct Scatter {
    /// For each dimension, the axes that are summed over and split in one step.
    axes: Vec<Vec<AxisRef>>,
    /// For each dimension, the axes by which it is split after that.
    sliced: Vec<Vec<AxisRef>>,
    /// The other axes that are summed over. Some of them may also be in `sliced`.
    summed: Vec<AxisRef>,
    kind: ReduceKind,
    /// The layout after all dimensions are split.
    to: Sharding,
}

fn sum_of(sum: &OpView<'_>) -> (Vec<AxisRef>, ReduceKind) {
    match ShardyCollective::of(sum) {
        Some(ShardyCollective::AllReduce { axes, reduce }) => (axes, reduce),
        _ => unreachable!("a verified all-reduce"),
    }
}

/// Returns the reduce-scatter that replaces `sum` and the first step of its reader's plan. Returns `None` unless that
/// step is a slice that begins with summed axes in some dimension, and its remaining slices take whole blocks.
fn scatter_of(sum: &OpView<'_>, reader: &OpView<'_>, steps: &[Step]) -> Option<Scatter> {
    let first = steps.first()?;
    let StepKind::AllSlice { axes: slices } = &first.kind else { return None };
    let from = layout(reader, reader.operand(0));
    let mesh = &from.mesh;
    let (reduced, kind) = sum_of(sum);
    let is_reduced = |a: &AxisRef| a.minus(mesh, &reduced).is_empty();
    let (mut axes, mut sliced) = (vec![], vec![]);
    for list in slices {
        let count = list.iter().take_while(|a| is_reduced(a)).count();
        axes.push(list[..count].to_vec());
        sliced.push(list[count..].to_vec());
    }
    let scattered: Vec<AxisRef> = axes.iter().flatten().copied().collect();
    let summed: Vec<AxisRef> = reduced.iter().flat_map(|a| a.minus(mesh, &scattered)).collect();
    let scatter = Scatter { axes, sliced, summed, kind, to: first.to.clone() };
    let is_local = plan::is_local_between(&scatter.after(from), &first.to, &reader.operand_tensor(0).shape);
    (!scattered.is_empty() && is_local).then_some(scatter)
}

impl Scatter {
    fn after(&self, from: &Sharding) -> Sharding {
        let mut after = from.canonical();
        for (dim, axes) in after.dims.iter_mut().zip(&self.axes) {
            axes.iter().for_each(|&a| AxisRef::push_or_merge(&mut dim.axes, a, &from.mesh));
        }
        after
    }

    fn build(&self, v: Value, sum: &OpView<'_>, reader: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
        let from = layout(sum, sum.result(0));
        let own = sum.data().reason.clone().unwrap_or_else(|| reader.clone());
        let reason = Arc::new(together(&own, reader));
        let unreduced = AxisRef::union(&from.mesh, self.summed.iter().chain(&from.unreduced).copied());
        let scattered = self.after(from).with_unreduced(unreduced);
        let step = ShardyCollective::ReduceScatter { dims: self.axes.clone(), reduce: self.kind };
        let mut value = make_shardy::step(b, v, &step, &scattered, &reason);
        if !self.sums_what_it_slices() {
            // Slicing first leaves fewer bytes to sum.
            value = self.slice(value, reader, b);
            return self.sum(value, &own, b);
        }
        value = self.sum(value, &own, b);
        self.slice(value, reader, b)
    }

    fn sums_what_it_slices(&self) -> bool {
        self.sliced.iter().flatten().any(|a| self.summed.iter().any(|s| s.overlaps(*a)))
    }

    fn slice(&self, v: Value, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
        if self.sliced.iter().all(Vec::is_empty) {
            return v;
        }
        let kind = StepKind::AllSlice { axes: self.sliced.clone() };
        add(v, &Step { kind, to: self.to.clone(), bytes_received: 0 }, reason, b)
    }

    fn sum(&self, v: Value, reason: &Arc<Reason>, b: &mut Builder<'_>) -> Value {
        if self.summed.is_empty() {
            return v;
        }
        let now = b.body.sharding(v).expect("made just now").clone();
        let unreduced = now.unreduced.iter().flat_map(|a| a.minus(&now.mesh, &self.summed)).collect();
        let step = ShardyCollective::AllReduce { axes: self.summed.clone(), reduce: self.kind };
        make_shardy::step(b, v, &step, &now.with_unreduced(unreduced), reason)
    }
}

fn together(sum: &Reason, reader: &Reason) -> Reason {
    let mut text = format!("{}; each device sums only its part", sum.text);
    if reader.text != sum.text {
        text.push_str(&format!(": {}", reader.text));
    }
    let mut changes = sum.changes.clone();
    changes.extend(reader.changes.iter().filter(|c| !sum.changes.contains(c)).cloned());
    Reason { cause: ReasonCause::Reduction, changes, text: text.into(), ..sum.clone() }
}
