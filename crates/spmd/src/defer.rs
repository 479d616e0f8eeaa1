//! Takes sums over devices later, where they are of fewer bytes.
//!
//! ```text
//! p: partial over "x"                             p: partial over "x"
//! s = sdy.all_reduce {"x"} p             ->       r' = reduce add p      (partial over "x")
//! r = reduce add s                                r = sdy.all_reduce {"x"} r'
//! ```
//!
//! An op that is linear in a value computes the same from the summands of the value, and the sum over devices of its
//! results is the result for the sum. So `(a @ b).sum()` sums one number over devices, and `a @ b + c @ d` sums once.
//! A sum is deferred past a chain of linear ops, each the only reader of the one before, if this takes fewer bytes.
//!
//! Not deferred are sums over Explicit axes and sums in manual computations, whose place the program states; sums of
//! floats of fewer than 32 bits, whose summands would be rounded once more; and sums past a change of the element type,
//! past `negate` and `subtract` of floats and complex numbers, which could change the sign of a zero, or past an
//! elementwise op that is linear in single operands or in some of them only: `multiply` and `divide`, because a summand
//! may be zero where the other factor is infinite, and `select`. Where each element comes from one device and the
//! others add -0 (`slice`, `gather`), the sum is only deferred past ops that are linear in all of their operands
//! together. Other sums are deferred past dots and convolutions, although a summand may be zero where a factor is
//! infinite: the result is then NaN.

use crate::live::bytes;
use crate::rewrite::{facts, has_program_regions, is_manual, map_main};
use rustc_hash::{FxHashMap, FxHashSet};
use shardwise_base::{AxisKind, AxisRef, Diagnostics, EntityVec, Reason, Sharding, budget};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Body, Builder, Cloner, Module, Op, OpView, Region, Type, Uses, Value};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{DataFlow, Linear, Opcode, PropagationClass, ReduceKind, Semantics, is_zero, make_shardy};
use shardwise_sharding::{FactorKind, Rule};
use std::sync::Arc;

/// The largest number of times that a region is planned. An op that cannot compute on summands after all is left out of
/// the next plan. If the last plan has such an op, no sum of the region is deferred.
const MAX_ROUNDS: usize = 4;

/// Takes sums over devices in the main function after ops that are linear in them, where this takes fewer bytes. The
/// documentation of this module lists the sums that stay where they are. Always returns `Ok`.
pub fn defer(module: &Module) -> Result<Module, Diagnostics> {
    map_main(module, |func| {
        let mut func = func.clone();
        // Two sums of one value may become one, which then can be taken together with a sum before it.
        loop {
            let plan = Plan::new(module, &func.body);
            if plan.open.is_empty() {
                return Ok(func);
            }
            func = rewrite_func(module, &func, &mut Defer { plan, pending: FxHashMap::default() })?;
        }
    })
}

/// Returns the first op past which [`defer`] would defer a sum, or `None` if there is none.
pub(crate) fn first_deferrable(module: &Module, body: &Body) -> Option<Op> {
    let plan = Plan::new(module, body);
    body.walk().into_iter().find(|op| plan.open.contains(op))
}

/// The ops and values of a body that are computed on summands.
#[derive(Default)]
struct Plan {
    /// The ops that compute on summands.
    open: FxHashSet<Op>,
    /// The values that are left unreduced for their only readers, with the axes over which they are.
    left: FxHashMap<Value, Vec<AxisRef>>,
}

/// The knowledge of a body from which the plan is made.
struct Planner<'a> {
    module: &'a Module,
    body: &'a Body,
    uses: Uses,
    home: EntityVec<Op, Option<Region>>,
    /// The values that can be left unreduced for their only reader, with the axes over which they can.
    could: FxHashMap<Value, Vec<AxisRef>>,
    /// The results of sums, and of copies of them, of which each element comes from one device and the others add -0.
    copied: FxHashSet<Value>,
    /// For each op that can compute on summands and is no sum, whether this takes fewer bytes.
    wants: FxHashMap<Op, bool>,
    plan: Plan,
}

impl Plan {
    fn new(module: &Module, body: &Body) -> Plan {
        let is_sum = |op: &Op| sum_axes(&module.view(body, *op)).is_some();
        if !body.walk().iter().any(is_sum) {
            return Plan::default();
        }
        let mut home = EntityVec::filled(body.op_count(), None);
        for region in (0..body.region_count()).map(Region::new) {
            body[region].ops.iter().for_each(|&op| home[op] = Some(region));
        }
        let (uses, could, wants, plan) =
            (Uses::compute(body), FxHashMap::default(), FxHashMap::default(), Plan::default());
        let mut planner = Planner { module, body, uses, home, could, copied: FxHashSet::default(), wants, plan };
        planner.region(body.entry());
        planner.plan
    }
}

impl<'a> Planner<'a> {
    fn view(&self, op: Op) -> OpView<'a> {
        self.module.view(self.body, op)
    }

    fn region(&mut self, region: Region) {
        let ops = &self.body[region].ops;
        for &op in ops {
            let view = self.view(op);
            if has_program_regions(&view) && !is_manual(&view) {
                view.regions().iter().for_each(|&inner| self.region(inner));
            }
        }
        let mut blocked: FxHashSet<Op> = FxHashSet::default();
        for _ in 0..MAX_ROUNDS {
            self.forget(ops);
            ops.iter().filter(|op| !blocked.contains(*op)).for_each(|&op| self.find(&self.view(op)));
            let mut cost = FxHashMap::default();
            ops.iter().rev().for_each(|&op| self.decide(op, &mut cost));
            ops.iter().for_each(|&op| self.confirm(op));
            let failed = |op: &&Op| self.wants.get(op) == Some(&true) && !self.plan.open.contains(op);
            let count = blocked.len();
            blocked.extend(ops.iter().filter(failed));
            if blocked.len() == count {
                return self.keep_read(ops);
            }
        }
        self.forget(ops);
    }

    fn forget(&mut self, ops: &[Op]) {
        for op in ops {
            budget::poll();
            self.wants.remove(op);
            self.plan.open.remove(op);
            for v in &self.body[*op].results {
                self.could.remove(v);
                self.copied.remove(v);
                self.plan.left.remove(v);
            }
        }
    }

    /// Leaves unreduced, of the results of `ops`, only those whose only reader computes on summands or takes a sum.
    fn keep_read(&mut self, ops: &[Op]) {
        for v in ops.iter().flat_map(|&op| &self.body[op].results) {
            let reader = self.only_reader(*v).map(|op| self.view(op));
            if !reader.is_some_and(|r| self.plan.open.contains(&r.op) || sum_axes(&r).is_some()) {
                self.plan.left.remove(v);
            }
        }
    }

    /// Finds out over which axes the result of an op can be left unreduced if its operands are, and records this in
    /// `could`, `copied` and `wants`.
    fn find(&mut self, view: &OpView<'_>) {
        let Some(axes) = open_axes(view, &self.could) else { return };
        let is_copied = view.operands().iter().any(|v| self.copied.contains(v));
        let is_sum = sum_axes(view).is_some();
        if !is_sum {
            if is_copied && facts(view).linear(view) != Linear::Jointly {
                return;
            }
            self.wants.insert(view.op, false);
        }
        let sums_copies = || view.operand_def(0).is_some_and(|def| is_copy(&def));
        let copies = if is_sum { is_copied || sums_copies() } else { is_copied && is_copy(view) };
        if copies {
            self.copied.insert(view.result(0));
        }
        if self.only_reader(view.result(0)).is_some() {
            self.could.insert(view.result(0), axes);
        }
    }

    /// Returns the op that alone reads a value, if it is in the region of the op that makes the value, and `None`
    /// otherwise.
    fn only_reader(&self, v: Value) -> Option<Op> {
        let (first, rest) = self.uses.of(v).split_first()?;
        let is_beside = self.home[first.op] == self.body.def_op(v).and_then(|op| self.home[op]);
        (is_beside && rest.iter().all(|u| u.op == first.op)).then_some(first.op)
    }

    /// Decides whether an op that could compute on summands does. `cost` has the least number of bytes for which the
    /// sum of each value after this op can be taken, and receives that of the result of the op.
    fn decide(&mut self, op: Op, cost: &mut FxHashMap<Value, u64>) {
        let view = self.view(op);
        let Some(&result) = view.results().first() else { return };
        let reader = self.only_reader(result).filter(|_| self.could.contains_key(&result)).map(|op| self.view(op));
        let own = self.sum_cost(result);
        let later = reader.and_then(|reader| {
            let there = *cost.get(reader.results().first()?)?;
            match sum_axes(&reader) {
                // The reader takes a sum anyway.
                Some(_) => Some(there.saturating_sub(self.sum_cost(reader.result(0)))),
                // All operands of the reader share the one sum.
                None => (self.wants.get(&reader.op) == Some(&true))
                    .then(|| there / self.open_operands(&reader).len() as u64),
            }
        });
        cost.insert(result, later.map_or(own, |later| later.min(own)));
        if self.wants.contains_key(&op) {
            let now: u64 = self.open_operands(&view).into_iter().map(|v| self.sum_cost(v)).sum();
            self.wants.insert(op, cost[&result] < now);
        }
    }

    fn open_operands(&self, view: &OpView<'_>) -> Vec<Value> {
        let is_open = |v: &&Value| self.could.contains_key(v);
        let mut operands: Vec<Value> = view.operands().iter().filter(is_open).copied().collect();
        operands.sort_unstable();
        operands.dedup();
        operands
    }

    /// Returns an estimate of the bytes that a device receives for a sum of the value over any number of devices: twice
    /// the bytes of the value on one device, or once if each device keeps only a part of the sum.
    fn sum_cost(&self, v: Value) -> u64 {
        let axes = self.could.get(&v).map_or(&[][..], |axes| axes);
        let splits = |op: &Op| {
            let reader = self.view(*op);
            let to = reader.results().first().and_then(|&r| self.body.sharding(r));
            Opcode::of_view(&reader) == Opcode::Reshard && to.is_some_and(|to| uses_axes(to, axes))
        };
        let is_scattered = self.only_reader(v).as_ref().is_some_and(splits);
        bytes(self.body, v).saturating_mul(if is_scattered { 1 } else { 2 })
    }

    /// Adds an op that should compute on summands to the plan, if its operands are left unreduced after all. Leaves the
    /// result of this op, or of a sum, unreduced if its only reader computes on summands or takes a sum.
    fn confirm(&mut self, op: Op) {
        let view = self.view(op);
        let is_sum = sum_axes(&view).is_some();
        if !is_sum && self.wants.get(&op) != Some(&true) {
            return;
        }
        let Some(axes) = open_axes(&view, &self.plan.left) else { return };
        if !is_sum {
            self.plan.open.insert(op);
        }
        let reader = self.only_reader(view.result(0)).map(|op| self.view(op));
        if reader.is_some_and(|r| self.wants.get(&r.op) == Some(&true) || sum_axes(&r).is_some()) {
            self.plan.left.insert(view.result(0), axes);
        }
    }
}

/// Returns the axes over which the result of an op can be left unreduced if these values are: the op sums, or it is
/// linear in them. Returns `None` if the result cannot be left unreduced.
fn open_axes(view: &OpView<'_>, given: &FxHashMap<Value, Vec<AxisRef>>) -> Option<Vec<AxisRef>> {
    if let Some(own) = sum_axes(view) {
        let before = given.get(&view.operand(0)).into_iter().flatten();
        return is_wide(view).then(|| AxisRef::union(mesh(view), own.iter().chain(before).copied()));
    }
    let mut all = view.operands().iter().filter_map(|v| given.get(v));
    let axes = all.next()?;
    // Operands that are unreduced over other axes would each need a sum of their own.
    let is_alike = all.all(|other| other == axes);
    (is_alike && is_open_over(view, axes, &|v| given.contains_key(&v))).then(|| axes.clone())
}

fn is_arithmetic(view: &OpView<'_>) -> bool {
    facts(view).propagation_class(view) == PropagationClass::Elementwise
}

/// Returns true if the cost of an op has no arithmetic, as that of an op that copies elements.
pub(crate) fn is_copy(view: &OpView<'_>) -> bool {
    facts(view).cost(view).flops == 0.0
}

/// Returns the axes over which an `sdy.all_reduce` adds. Returns `None` for other ops, if one of the axes is Explicit,
/// because such a sum is not deferred, and if the result has no sharding.
fn sum_axes(view: &OpView<'_>) -> Option<Vec<AxisRef>> {
    let Some(ShardyCollective::AllReduce { axes, reduce: ReduceKind::Add }) = ShardyCollective::of(view) else {
        return None;
    };
    let mesh = &view.result_sharding(0)?.mesh;
    let is_explicit = |a: &AxisRef| mesh.axes[a.axis.index()].kind == AxisKind::Explicit;
    (!axes.iter().any(is_explicit)).then_some(axes)
}

fn mesh<'a>(view: &OpView<'a>) -> &'a shardwise_base::Mesh {
    &view.result_sharding(0).expect("a sum has a layout").mesh
}

/// Returns true for tensors of integers and booleans, whose zeros have no sign.
fn has_one_zero(ty: &Type) -> bool {
    ty.as_tensor().is_some_and(|t| !t.dtype.is_float() && !t.dtype.is_complex())
}

/// Returns true if an op's first result is a tensor whose elements are wide enough for sums in another order: they are
/// no floats of fewer than 32 bits.
pub(crate) fn is_wide(view: &OpView<'_>) -> bool {
    view.result_type(0).as_tensor().is_some_and(|t| !t.dtype.is_float() || t.dtype.bits() >= 32)
}

fn uses_axes(sharding: &Sharding, axes: &[AxisRef]) -> bool {
    sharding.split_axes().any(|a| axes.iter().any(|b| a.overlaps(*b)))
}

fn is_open_over(view: &OpView<'_>, axes: &[AxisRef], is_open: &dyn Fn(Value) -> bool) -> bool {
    let layouts = view.operands().iter().chain(view.results()).filter_map(|&v| view.body.sharding(v));
    let is_split = layouts
        .into_iter()
        .any(|s| uses_axes(s, axes) || s.unreduced.iter().any(|a| axes.iter().any(|b| a.overlaps(*b))));
    let is_local = Opcode::of_view(view) == Opcode::Reshard || !moves_elements(view);
    is_local && is_linear_in(view, &|i| is_open(view.operand(i))) && !is_split
}

/// Returns true if the results of an op on the summands of the operands for whose indices `is_open` is true add up to
/// its result on their sums, if it computes alone on each device. Returns false where this is not certain: for an op
/// that changes the element type or could change the sign of a zero, for `multiply`, `divide` and `select`, and for an
/// op that is neither pure nor a reshard.
pub(crate) fn is_linear_in(view: &OpView<'_>, is_open: &dyn Fn(usize) -> bool) -> bool {
    let (facts, &[result]) = (facts(view), view.results()) else { return false };
    let dtype = |v: Value| view.body.ty(v).as_tensor().map(|t| t.dtype);
    let count = view.operands().len();
    let keeps_type = (0..count).filter(|&i| is_open(i)).all(|i| dtype(view.operand(i)) == dtype(result));
    let linear = facts.linear(view);
    let keeps_numbers = match linear {
        Linear::No | Linear::Jointly => true,
        Linear::UpToZeros => has_one_zero(view.result_type(0)),
        // A summand may be zero where the other factor is infinite. `select` is left out, too.
        Linear::Each | Linear::EachOf(_) | Linear::In(_) => !is_arithmetic(view),
    };
    let is_plain = facts.semantics(view) == Semantics::Pure && matches!(facts.data_flow(view), DataFlow::None);
    (is_plain || Opcode::of_view(view) == Opcode::Reshard)
        && linear.holds_for(count, is_open, |i| is_zero(view, i))
        && keeps_numbers
        && keeps_type
}

/// Returns true if devices may have to exchange elements for the op, because it moves them along a dimension that may
/// be split.
fn moves_elements(view: &OpView<'_>) -> bool {
    let fact = facts(view).rule(view);
    let is_moved = |rule: &Rule| rule.all_factors().any(|f| rule.kind(f) == FactorKind::Permutation);
    let is_whole = |&v: &Value| view.body.sharding(v).is_none_or(|s| s.split_axes().next().is_none());
    fact.rule().is_some_and(is_moved) && !view.operands().iter().chain(view.results()).all(is_whole)
}

/// A sum that has not been taken yet.
#[derive(Clone)]
struct Pending {
    partial: Value,
    axes: Vec<AxisRef>,
    reason: Option<Arc<Reason>>,
}

struct Defer {
    plan: Plan,
    /// The sums that are pending, by the value of the old body that they make.
    pending: FxHashMap<Value, Pending>,
}

impl<'s> Rewrite<'s> for Defer {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if let Some(axes) = sum_axes(view) {
            let before = self.pending.remove(&view.operand(0));
            if before.is_none() && !self.plan.left.contains_key(&view.result(0)) {
                return Ok(false);
            }
            let reason = view.data().reason.clone();
            let partial = before.as_ref().map_or_else(|| cloner.get(view.operand(0)), |p| p.partial);
            let axes = AxisRef::union(mesh(view), axes.iter().chain(before.iter().flat_map(|p| &p.axes)).copied());
            self.leave(view, Pending { partial, axes, reason }, cloner, b);
            return Ok(true);
        }
        if !self.plan.open.contains(&view.op) {
            return Ok(false);
        }
        let mut found: Option<Pending> = None;
        for &v in view.operands() {
            if let Some(pending) = self.pending.get(&v) {
                cloner.set(v, pending.partial);
                found.get_or_insert_with(|| pending.clone());
            }
        }
        let Pending { axes, reason, .. } = found.expect("an operand is unreduced");
        let new = cloner.op(view.op, b);
        let partial = b.body[new].results[0];
        let own = b.body.sharding(partial).cloned();
        let open = |s: Sharding| {
            let unreduced = AxisRef::union(&s.mesh, s.unreduced.iter().chain(&axes).copied());
            s.with_unreduced(unreduced)
        };
        b.set_sharding(partial, own.map(open));
        let reason = reason.map(|reason| later(&reason));
        self.leave(view, Pending { partial, axes, reason }, cloner, b);
        Ok(true)
    }
}

impl Defer {
    fn leave<'s>(&mut self, view: &OpView<'s>, pending: Pending, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) {
        let result = view.result(0);
        if self.plan.left.contains_key(&result) {
            self.pending.insert(result, pending);
            return;
        }
        let to = b.body.sharding(pending.partial).expect("it is unreduced").clone();
        let rest = to.unreduced.iter().flat_map(|a| a.minus(&to.mesh, &pending.axes)).collect();
        let step = ShardyCollective::AllReduce { axes: pending.axes, reduce: ReduceKind::Add };
        let reason =
            pending.reason.unwrap_or_else(|| Arc::new(crate::reason::edge(view, "the sum", "the value", &to, &to, 0)));
        let value = make_shardy::step(b, pending.partial, &step, &to.with_unreduced(rest), &reason);
        cloner.set(result, value);
    }
}

fn later(reason: &Arc<Reason>) -> Arc<Reason> {
    const SAYS: &str = "; this is done after ops that are linear in them, where it takes fewer bytes";
    if reason.text.ends_with(SAYS) {
        return reason.clone();
    }
    Arc::new(Reason { text: format!("{}{SAYS}", reason.text).into(), ..(**reason).clone() })
}
