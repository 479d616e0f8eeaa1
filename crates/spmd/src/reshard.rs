//! Inserts reshards so that every op's operands and results agree with its rule.
//!
//! For each op, in program order, the pass decides along which factors the op runs sharded ([`crate::strategy`]),
//! reshards the operands to that layout (`sdy.reshard`), combines the partial results of a sharded reduction
//! (`sdy.all_reduce`), and reshards the results to the layout that propagation chose. The values along the edges of
//! loops, branches and manual computations get equal layouts. Before, [`layouts`] replaces propagated layouts by others
//! with which the whole function costs less. Each op that this pass inserts carries its [`Reason`]. The reason is built
//! here, because no later pass knows its facts.

use crate::kinds::OpKind;
use crate::layouts::{self, Changes, is_copy};
use crate::live;
use crate::pipeline::Context;
use crate::plan::local_bytes;
use crate::reason;
use crate::remake::Sources;
use crate::rewrite::{facts, has_program_regions, is_manual, is_mark, is_terminator, map_main, sharding_or_replicated};
use crate::strategy::{Cause, Decision, Decisions, Served, Shardings};
use crate::summands::axes_on_summands;
use crate::trials::Trials;
use crate::turns::Turns;
use crate::unshard::Unshard;
use shardwise_base::{AxisRef, Diagnostics, DimSharding, LayoutChange, Mesh, Reason, Reshard, Sharding};
use shardwise_ir::rewrite::{open_region, rebuild, rewrite_regions};
use shardwise_ir::{Body, Builder, Cloner, Func, Module, Op, OpView, Region, Type, Use, Uses, Value};
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::shardy::{ShardyCollective, in_shardings, manual_axes, set_in_shardings};
use shardwise_ops::{Combine, Effects, Opcode, ReduceKind, Semantics, is_zero, make_shardy};
use shardwise_sharding::cost::CollectiveCost;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// Changes layouts in the main function so that it costs less, and inserts the ops that make operands and results agree
/// with each op's rule. With [`Context::keeps_sums`], sums over devices are taken where they arise. The warnings of the
/// context receive a note if the search for layouts ended before it had looked at everything. A module without a mesh
/// is not changed. Always returns `Ok`.
pub fn reshard(module: &Module, cx: &mut Context) -> Result<Module, Diagnostics> {
    let Some(mesh) = module.main_mesh().cloned() else { return Ok(module.clone()) };
    map_main(module, |func| {
        let mut decisions = cx.trials.as_mut().map_or_else(|| Decisions::new(&mesh), |trials| trials.take(&mesh));
        let effort = if cx.trials.is_some() { Trials::effort() } else { layouts::MAX_EFFORT };
        let chosen = layouts::choose(module, func, &mesh, &mut decisions, cx.keeps_sums, effort);
        let out = insert(module, chosen.func.as_ref().unwrap_or(func), &mesh, chosen.changes, &mut decisions);
        if let Some(trials) = &mut cx.trials {
            trials.keep(&mesh, decisions);
        }
        cx.warnings.0.extend(chosen.note);
        Ok(out)
    })
}

/// Inserts the ops into a function that make operands and results agree with each op's rule. `changes` are the layouts
/// that differ from the propagated ones.
fn insert<'s>(
    module: &'s Module,
    func: &'s Func,
    mesh: &Arc<Mesh>,
    changes: Changes,
    decisions: &mut Decisions,
) -> Func {
    let mut result_shardings = vec![];
    let mut out = rebuild(func, |cloner, b| {
        let (sources, turns) = (Sources::new(module, mesh), Turns::new(mesh));
        let (changes, uses) = (Rc::new(changes), Rc::default());
        let mut pass = Resharder { module, mesh, cloner, decisions, sources, changes, uses, turns };
        pass.define_args(func.body.entry(), b);
        let wanted = func.result_shardings.iter().map(|s| s.as_ref().map(Sharding::canonical)).collect();
        result_shardings = pass.ops(func.body.entry(), "the function", wanted, &[], b);
    });
    out.result_shardings = result_shardings;
    out
}

struct Resharder<'a, 'c, 's> {
    module: &'s Module,
    mesh: &'a Arc<Mesh>,
    cloner: &'c mut Cloner<'s>,
    decisions: &'c mut Decisions,
    sources: Sources<'a>,
    /// The layouts that differ from the propagated ones.
    changes: Rc<Changes>,
    /// The uses of the source's values, computed for the first reason that needs them.
    uses: Rc<OnceCell<Uses>>,
    turns: Turns,
}

/// The layouts that a list of values should have; `None` keeps the layout that a value has.
type Wanted = Vec<Option<Sharding>>;

impl<'s> Resharder<'_, '_, 's> {
    fn define_args(&mut self, region: Region, b: &mut Builder<'_>) {
        for &old in &self.cloner.source[region].args {
            let new = self.cloner.get(old);
            let sharding = sharding_or_replicated(b.body, new, self.mesh);
            b.set_sharding(new, sharding);
        }
    }

    /// Processes the ops of a region, and its terminator with operands in the layouts `wanted`; `None` keeps an
    /// operand's layout. Returns the layouts that the terminator's operands then have. `place` and `carried` are only
    /// used in reasons: `place` is the region's name, and `carried` are the values of the program that have the layouts
    /// `wanted`, or none.
    fn ops(&mut self, region: Region, place: &str, wanted: Wanted, carried: &[Value], b: &mut Builder<'_>) -> Wanted {
        let source = self.cloner.source;
        let (&last, ops) = source[region].ops.split_last().expect("a region ends in a terminator");
        for &op in ops {
            self.op(op, b);
        }
        let view = self.module.view(source, last);
        debug_assert!(is_terminator(&view));
        let values = self.edges(&view, &|i| format!("result {i} of {place}"), view.operands(), &wanted, carried, b);
        let layouts = values.iter().map(|&v| b.body.sharding(v).cloned()).collect();
        self.clone_with(last, values, vec![], b);
        layouts
    }

    fn op(&mut self, op: Op, b: &mut Builder<'_>) {
        let view = self.module.view(self.cloner.source, op);
        b.loc = view.loc().clone();
        if is_mark(&view) {
            return self.identity(&view, b);
        }
        if is_manual(&view) {
            return self.manual(&view, b);
        }
        if has_program_regions(&view) || Opcode::of_view(&view) == Opcode::OptimizationBarrier {
            return self.data_flow(&view, b);
        }
        let kind = self.decisions.kinds.of(&view);
        match self.decisions.kinds.rule(kind) {
            Some(_) => self.by_rule(&view, kind, b),
            None => self.without_rule(&view, b),
        }
    }

    /// Returns the layout that a value of the source should have, which is replicated if it has no sharding over the
    /// mesh ([`sharding_or_replicated`]). Returns `None` if the value is no tensor.
    fn wanted(&self, v: Value) -> Option<Sharding> {
        sharding_or_replicated(self.cloner.source, v, self.mesh)
    }

    fn all_wanted(&self, values: &[Value]) -> Wanted {
        values.iter().map(|&v| self.wanted(v)).collect()
    }

    /// Copies an op with other operands and regions, and returns its results. They have no sharding yet.
    fn clone_with(&mut self, op: Op, operands: Vec<Value>, regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
        let data = self.cloner.source.op(op);
        let types = data.results.iter().map(|&r| self.cloner.source.ty(r).clone());
        let attrs = data.attrs.clone();
        let new = b.body.add_op(b.region, data.code, operands, attrs, regions, types, data.loc.clone());
        if data.reason.is_some() {
            b.body.op_mut(new).reason = data.reason.clone();
        }
        b.body[new].results.to_vec()
    }

    /// Copies the scalar functions of an op (reducers, comparators) without layouts and marks, and returns the new
    /// regions. Each device runs them on its own, so the values that they use from outside are made whole first.
    fn scalar_regions(&mut self, view: &OpView<'s>, b: &mut Builder<'_>) -> Vec<Region> {
        if view.regions().is_empty() {
            return vec![];
        }
        let outside: Vec<(Value, Value)> = view.captured().into_iter().map(|v| (v, self.cloner.get(v))).collect();
        for &(old, v) in &outside {
            if let Some(whole) = self.replicated(b.body.ty(v)) {
                let name = || format!("a value in a region of `{}`", reason::short(view.name()));
                let moved = self.edge(view, &name, v, &whole, [Some(old), None], b);
                self.cloner.set(old, moved);
            }
        }
        let regions = rewrite_regions(view, &mut Unshard, self.cloner, b).expect("it has no errors");
        outside.into_iter().for_each(|(old, v)| self.cloner.set(old, v));
        regions.iter().for_each(|&r| drop_layouts(b.body, r));
        regions
    }
}

/// Values that flow along edges: through regions, identities and terminators.
impl Resharder<'_, '_, '_> {
    /// Returns the new values of `old`, moved to the layouts `wanted`. Values that have no such layout, or are no
    /// tensors, are not moved. `name` returns the name of what a value becomes, by its position, and `targets` are the
    /// values of the program that have the layouts `wanted`. Both serve for the reasons.
    fn edges(
        &mut self,
        consumer: &OpView<'_>,
        name: &dyn Fn(usize) -> String,
        old: &[Value],
        wanted: &Wanted,
        targets: &[Value],
        b: &mut Builder<'_>,
    ) -> Vec<Value> {
        let mut out = vec![];
        for (i, &v) in old.iter().enumerate() {
            let value = self.cloner.get(v);
            out.push(match wanted.get(i).and_then(Option::as_ref) {
                Some(to) if b.body.ty(value).as_tensor().is_some() => {
                    self.edge(consumer, &|| name(i), value, to, [Some(v), targets.get(i).copied()], b)
                }
                _ => value,
            });
        }
        out
    }

    /// Returns the value moved to the layout `to`, or `v` itself if it has this layout. `name` returns the name of what
    /// has this layout, and `ends` are the values of the program at both ends of the edge. Both serve for the reason.
    fn edge(
        &mut self,
        consumer: &OpView<'_>,
        name: &dyn Fn() -> String,
        v: Value,
        to: &Sharding,
        ends: [Option<Value>; 2],
        b: &mut Builder<'_>,
    ) -> Value {
        let from = self.current(v, b);
        if from.same_layout(to) {
            return v;
        }
        let bytes = self.reshard_bytes(&from, to, v, b);
        let target = name();
        let is_made = b.body.def_op(v).is_some();
        let args = if is_made { &[] } else { b.body.args() };
        let value = match args.iter().position(|&arg| arg == v) {
            Some(i) => format!("argument {i} of the function"),
            None => "the value".into(),
        };
        let forced = self.forced(consumer, v, to, b).map(Arc::new);
        let names = [&*value, &*target];
        let changes = ends.iter().zip(names).filter_map(|(v, name)| self.changes.get((*v)?, name)).collect();
        let reason = || Reason { forced, ..reason::edge(consumer, &target, &value, &from, to, bytes) };
        self.reshard_to(v, to, |_| with_changes(Arc::new(reason()), changes), b)
    }

    /// Returns the move to the layout `to` if the program requires it of an argument: `v` is an argument, perhaps after
    /// reshards, and `consumer` returns from the function, only states a layout, or is a manual computation. Returns
    /// `None` otherwise.
    fn forced(&self, consumer: &OpView<'_>, v: Value, to: &Sharding, b: &Builder<'_>) -> Option<Reshard> {
        let is_result = self.cloner.source[self.cloner.source.entry()].ops.last() == Some(&consumer.op);
        let is_required = is_result || facts(consumer).semantics(consumer) == Semantics::Identity;
        if !is_required {
            return None;
        }
        let mut origin = v;
        while let Some(op) = b.body.def_op(origin).filter(|&op| b.body[op].code == Opcode::Reshard.into()) {
            origin = b.body[op].operands[0];
        }
        if !b.body.args().contains(&origin) {
            return None;
        }
        let ty = b.body.ty(v).as_tensor().expect("only tensors are laid out");
        Some(Reshard { from: self.current(origin, b), to: to.clone(), shape: ty.shape.clone(), dtype: ty.dtype })
    }

    /// Processes an op that only states a layout, such as a constraint or a reshard of the program, or a copy for
    /// several readers: moves the operand to the layout of the result, and uses it in place of the result.
    fn identity(&mut self, view: &OpView<'_>, b: &mut Builder<'_>) {
        let reader = if is_copy(view) { self.first_reader(view).map(|op| view.at(op)) } else { None };
        let consumer = reader.as_ref().unwrap_or(view);
        for (&result, &operand) in view.results().iter().zip(unchanged_operands(view)) {
            let wanted = vec![self.wanted(result)];
            let value = self.edges(consumer, &|_| reason::stated(view), &[operand], &wanted, &[result], b)[0];
            self.cloner.set(result, value);
        }
    }

    /// Returns the first op that computes with a copy, or `None` if there is none.
    fn first_reader(&self, copy: &OpView<'_>) -> Option<Op> {
        let uses = self.uses.get_or_init(|| Uses::compute(self.cloner.source)).of(copy.result(0));
        uses.iter().map(|user| user.op).find(|&op| layouts::is_reader(&copy.at(op)))
    }

    /// Processes loops, branches and barriers: operands, region arguments and results all have the layouts of the
    /// results. The index of a branch and the result of a loop's condition are replicated.
    fn data_flow(&mut self, view: &OpView<'_>, b: &mut Builder<'_>) {
        let wanted = self.all_wanted(view.results());
        // The index of a branch and the predicate of a loop's condition are scalars that are not carried.
        let scalars =
            |values: &[Value]| -> Wanted { values.iter().map(|&v| self.replicated(view.body.ty(v))).collect() };
        let is_branch = matches!(Opcode::of_view(view), Opcode::Case | Opcode::If);
        let operand_wanted = if is_branch { scalars(view.operands()) } else { wanted.clone() };
        let carried = if is_branch { &[] } else { view.results() };
        let operands = self.edges(view, &operand_name(view), view.operands(), &operand_wanted, carried, b);
        let mut regions = vec![];
        for &region in view.regions() {
            let types = region_arg_types(view, region);
            let (new, args) = open_region(b.body, &types, &b.loc);
            self.define(region, &args, &wanted, b);
            let returned = view.body.region_results(region);
            let (place, region_wanted, carried): (&str, Wanted, &[Value]) = if is_condition(view, region) {
                let whole = returned.iter().map(|&v| self.replicated(view.body.ty(v))).collect();
                ("the loop's condition", whole, &[])
            } else {
                (if is_branch { "the branch" } else { "the loop's body" }, wanted.clone(), view.results())
            };
            self.turns.enter(view, region);
            self.ops(region, place, region_wanted, carried, &mut Builder::at(b.body, new, b.loc.clone()));
            self.turns.leave();
            regions.push(new);
        }
        let results = self.clone_with(view.op, operands, regions, b);
        self.finish(view, &results, &wanted, b);
    }

    fn define(&mut self, region: Region, args: &[Value], layouts: &Wanted, b: &mut Builder<'_>) {
        for (i, (&old, &new)) in self.cloner.source[region].args.iter().zip(args).enumerate() {
            self.cloner.carry(old, new, b);
            b.set_sharding(new, layouts.get(i).cloned().flatten());
        }
    }

    fn finish(&mut self, view: &OpView<'_>, results: &[Value], layouts: &Wanted, b: &mut Builder<'_>) {
        for (i, (&old, &new)) in view.results().iter().zip(results).enumerate() {
            self.cloner.carry(old, new, b);
            b.set_sharding(new, layouts[i].clone());
        }
    }

    /// Processes a manual computation: moves its operands to the layouts that it states, and its results to the layouts
    /// that they should have. Free axes that do not divide a dimension evenly stay outside, because inside, the blocks
    /// of a block would not be the blocks of the whole dimension.
    fn manual(&mut self, view: &OpView<'_>, b: &mut Builder<'_>) {
        let even = |s: Option<Sharding>, v: &Value| s.map(|s| even_prefix(s, view.body.ty(*v).shape()));
        let ins = in_shardings(view.attrs()).iter().map(|s| Some(s.canonical()));
        let ins: Wanted = ins.zip(view.operands()).map(|(s, v)| even(s, v)).collect();
        let wanted = self.all_wanted(view.results());
        let outs: Wanted = wanted.iter().cloned().zip(view.results()).map(|(s, v)| even(s, v)).collect();
        let manual = manual_axes(view);
        let operands = self.edges(view, &operand_name(view), view.operands(), &ins, &[], b);
        let region = view.regions()[0];
        let (new, args) = open_region(b.body, &region_arg_types(view, region), &b.loc);
        let inside = |list: &Wanted| list.iter().map(|s| s.as_ref().map(|s| without_axes(s, manual))).collect();
        self.define(region, &args, &inside(&ins), b);
        self.turns.enter(view, region);
        let free = self.decisions.enter(self.mesh, manual);
        self.ops(region, "the manual computation", inside(&outs), &[], &mut Builder::at(b.body, new, b.loc.clone()));
        self.decisions.leave(free);
        self.turns.leave();
        let results = self.clone_with(view.op, operands, vec![new], b);
        let op = *b.body[b.region].ops.last().expect("made just now");
        set_in_shardings(&mut b.body.op_mut(op).attrs, ins.into_iter().flatten().collect());
        self.finish(view, &results, &outs, b);
        for (i, ((&old, &new), wanted)) in view.results().iter().zip(&results).zip(&wanted).enumerate() {
            if let Some(to) = wanted {
                let name = || format!("the wanted layout of result {i} of `{}`", reason::short(view.name()));
                let value = self.edge(view, &name, new, to, [None; 2], b);
                self.cloner.set(old, value);
            }
        }
    }

    fn replicated(&self, ty: &Type) -> Option<Sharding> {
        ty.as_tensor().map(|t| Sharding::replicated(self.mesh, t.rank()))
    }
}

/// Ops with a rule and ops without one.
impl<'s> Resharder<'_, '_, 's> {
    /// Processes an op without a rule. It runs on replicated operands, and its replicated results are then moved to the
    /// wanted layouts. A pure op without operands makes its results in the wanted layouts, but never unreduced: each
    /// device makes the same.
    fn without_rule(&mut self, view: &OpView<'s>, b: &mut Builder<'_>) {
        let name = |i: usize| format!("operand {i} of `{}`, which runs unsplit,", reason::short(view.name()));
        let whole: Wanted = view.operands().iter().map(|&v| self.replicated(view.body.ty(v))).collect();
        let operands = self.edges(view, &name, view.operands(), &whole, &[], b);
        let regions = self.scalar_regions(view, b);
        let results = self.clone_with(view.op, operands, regions, b);
        let is_source = view.operands().is_empty() && facts(view).effects(view) == Effects::Pure;
        for (i, (&old, &new)) in view.results().iter().zip(&results).enumerate() {
            let wanted = self.wanted(old);
            self.cloner.carry(old, new, b);
            let made = || wanted.as_ref().map(|to| to.clone().with_unreduced(vec![]));
            b.set_sharding(new, if is_source { made() } else { self.replicated(view.body.ty(old)) });
            if let Some(to) = wanted {
                let name = || format!("the wanted layout of result {i} of `{}`", reason::short(view.name()));
                let value = self.edge(view, &name, new, &to, [None, Some(old)], b);
                self.cloner.set(old, value);
            }
        }
    }

    fn by_rule(&mut self, view: &OpView<'s>, kind: OpKind, b: &mut Builder<'_>) {
        let mut kept = self.kept_unreduced(view, b);
        let mut decided = self.decide(view, kind, &kept, b);
        if decided.splits_over(&kept) {
            kept.clear();
            decided = self.decide(view, kind, &kept, b);
        }
        let operands: Vec<Value> = view.operands().iter().map(|&v| self.reduced(view, v, &kept, b)).collect();
        let mut placed = vec![];
        for (i, &v) in operands.iter().enumerate() {
            placed.push(match &decided.layouts[i] {
                Some(own) => {
                    let own = unreduced_as(own.clone(), b.body.sharding(v));
                    let why = |bytes| reason::operand(view, &decided, i, bytes);
                    let (cause, changes) = (Cause::Tensor(i), self.changes.clone());
                    let (module, source) = (self.module, self.cloner.source);
                    let why = |bytes| {
                        let reason = decided.reason(cause, view.loc(), || why(bytes));
                        let reason = with_text(reason, origin(module, source, view.operand(i), i));
                        with_changes(reason, changes_at(&changes, view, &decided, cause))
                    };
                    let value = self.reshard_to(v, &own, why, b);
                    if value != v && self.turns.served(view.operand(i), 0) > 1 {
                        self.turns.keep(live::bytes(b.body, value));
                    }
                    value
                }
                None => v,
            });
        }
        let regions = self.scalar_regions(view, b);
        let results = self.clone_with(view.op, placed, regions, b);
        if !decided.gathered.is_empty() {
            let reason = decided.reason(Cause::Sum, view.loc(), || reason::gathered(view, &decided));
            let reason = with_changes(reason, changes_at(&self.changes, view, &decided, Cause::Sum));
            let op = b.body.def_op(results[0]).expect("made just now");
            b.set_reason(op, reason);
        }
        if !decided.moved.is_empty() {
            let why = || reason::exchange(view, &decided, decided.bytes_exchanged(view));
            let op = *b.body[b.region].ops.last().expect("made just now");
            let reason = decided.reason(Cause::Exchange, view.loc(), why);
            b.set_reason(op, with_changes(reason, changes_at(&self.changes, view, &decided, Cause::Exchange)));
        }
        for (i, &new) in results.iter().enumerate() {
            let value = self.result(view, &decided, i, new, &kept, b);
            self.cloner.set(view.result(i), value);
        }
    }

    /// Decides how the op runs if its operands are unreduced over `kept` at most.
    fn decide(&mut self, view: &OpView<'_>, kind: OpKind, kept: &[AxisRef], b: &Builder<'_>) -> Rc<Decision> {
        let layout = |&v: &Value| {
            let own = sharding_or_replicated(b.body, self.cloner.get(v), self.mesh)?;
            if own.unreduced.is_empty() {
                return Some(own);
            }
            let unreduced = own.unreduced.iter().flat_map(|a| kept.iter().filter_map(|k| a.overlap(*k))).collect();
            Some(own.with_unreduced(unreduced))
        };
        let operands = view.operands().iter().map(layout);
        let wanted = |&v: &Value| Some(with_single_elements_whole(self.wanted(v)?, view.body.ty(v).shape()));
        let shardings: Shardings = operands.chain(view.results().iter().map(wanted)).collect();
        let served = self.served(view, b);
        self.decisions.decide(view, kind, self.mesh, shardings, served)
    }

    fn served(&self, view: &OpView<'_>, b: &Builder<'_>) -> Served {
        self.turns.served_by_moves(view, |v| self.sources.contains(b.body, self.cloner.get(v))).0
    }

    /// Combines partial results, and moves the result to the layout that it should have. `new` is the result of the
    /// copied op. Returns the value in place of the result.
    fn result(
        &mut self,
        view: &OpView<'_>,
        decided: &Decision,
        index: usize,
        new: Value,
        kept: &[AxisRef],
        b: &mut Builder<'_>,
    ) -> Value {
        self.cloner.carry(view.result(index), new, b);
        let at = decided.task.traits.operand_count + index;
        let (Some(own), Some(wanted)) = (&decided.layouts[at], &decided.task.shardings[at]) else {
            b.set_sharding(new, self.replicated(view.result_type(index)));
            return new;
        };
        let partial = &decided.partial;
        let unreduced = AxisRef::union(self.mesh, partial.iter().chain(kept).copied());
        b.set_sharding(new, Some(own.clone().with_unreduced(unreduced)));
        // Only partial sums can be left unreduced, partial maxima cannot.
        let is_sum = !partial.is_empty() && matches!(facts(view).combine(view), Combine::With(ReduceKind::Add));
        let open = if is_sum { &wanted.unreduced[..] } else { &[] };
        let summed: Vec<AxisRef> = partial.iter().flat_map(|a| a.minus(self.mesh, open)).collect();
        let mut value = new;
        if !summed.is_empty() {
            let Combine::With(kind) = facts(view).combine(view) else { unreachable!("no reduction factor is split") };
            let bytes = all_reduce_bytes(&self.current(new, b), &summed, new, b);
            let reason = decided.reason(Cause::Sum, view.loc(), || reason::reduction(view, decided, &summed, bytes));
            let reason = with_changes(reason, changes_at(&self.changes, view, decided, Cause::Sum));
            value = self.all_reduce(value, &summed, kind, reason, b);
        }
        let from = self.current(value, b);
        let why = |bytes| reason::result(view, &from, wanted, index, bytes);
        let (cause, changes) = (Cause::Tensor(at), self.changes.clone());
        let (module, source, uses) = (self.module, self.cloner.source, self.uses.clone());
        let why = |bytes| {
            let reason = decided.reason(cause, view.loc(), || why(bytes));
            let uses = uses.get_or_init(|| Uses::compute(source));
            let reason = with_text(reason, demand(module, source, uses, view.result(index), wanted));
            with_changes(reason, changes_at(&changes, view, decided, cause))
        };
        self.reshard_to(value, wanted, why, b)
    }
}

/// Unreduced values and layouts.
impl Resharder<'_, '_, '_> {
    fn current(&self, v: Value, b: &Builder<'_>) -> Sharding {
        sharding_or_replicated(b.body, v, self.mesh).expect("only tensors are laid out")
    }

    /// Returns the axes over which the op runs on summands ([`axes_on_summands`]). The layouts are stated by the
    /// program, which may then change the signs of zeros, or were chosen where they keep these signs.
    fn kept_unreduced(&self, view: &OpView<'_>, b: &Builder<'_>) -> Vec<AxisRef> {
        let of = |v: Value| sharding_or_replicated(b.body, v, self.mesh).map_or(vec![], |s| s.unreduced.clone());
        let is_reduced = |v: Value| b.body.sharding(v).is_none_or(|s| s.unreduced.is_empty());
        if view.operands().iter().all(|&v| is_reduced(self.cloner.get(v))) {
            return vec![];
        }
        let given: Vec<Vec<AxisRef>> = view.operands().iter().map(|&v| of(self.cloner.get(v))).collect();
        let asked: Vec<Vec<AxisRef>> =
            view.results().iter().map(|&r| self.wanted(r).map_or(vec![], |s| s.unreduced.clone())).collect();
        let linear = facts(view).linear(view);
        // A constant zero can be a summand of every sum.
        axes_on_summands(self.mesh, &given, &asked, |is_summand| {
            linear.holds_for(given.len(), is_summand, |i| is_zero(view, i))
        })
    }

    fn reduced(&mut self, view: &OpView<'_>, old: Value, kept: &[AxisRef], b: &mut Builder<'_>) -> Value {
        let v = self.cloner.get(old);
        if b.body.sharding(v).is_none_or(|s| s.unreduced.is_empty()) {
            return v;
        }
        let Some(sharding) = sharding_or_replicated(b.body, v, self.mesh) else { return v };
        let open: Vec<AxisRef> = sharding.unreduced.iter().flat_map(|a| a.minus(self.mesh, kept)).collect();
        if open.is_empty() {
            return v;
        }
        let reason = Arc::new(reason::unreduced(view, &sharding, &open, all_reduce_bytes(&sharding, &open, v, b)));
        let reason = with_changes(reason, self.changes.get(old, "the operand").into_iter().collect());
        self.all_reduce(v, &open, ReduceKind::Add, reason, b)
    }

    fn all_reduce(
        &mut self,
        v: Value,
        axes: &[AxisRef],
        kind: ReduceKind,
        reason: Arc<Reason>,
        b: &mut Builder<'_>,
    ) -> Value {
        let from = self.current(v, b);
        let unreduced = from.unreduced.iter().flat_map(|a| a.minus(self.mesh, axes)).collect();
        let step = ShardyCollective::AllReduce { axes: axes.to_vec(), reduce: kind };
        make_shardy::step(b, v, &step, &from.with_unreduced(unreduced), &reason)
    }

    /// Returns the bytes that the device that receives most receives when the value is moved from one layout to
    /// another, without those of sums over unreduced axes.
    fn reshard_bytes(&self, from: &Sharding, to: &Sharding, v: Value, b: &Builder<'_>) -> u64 {
        let ty = b.body.ty(v).as_tensor().expect("only tensors are laid out");
        self.decisions.prices.of(from, &[], to, &ty.shape, ty.dtype).bytes
    }

    /// Returns the value in the layout `to`: computed again from sources, or else summed over unreduced axes that `to`
    /// does not have, resharded, and made unreduced over those that only `to` has. `why` returns the reason from the
    /// number of bytes that are received. It is not called if the value has the layout already, or is computed again
    /// from sources.
    fn reshard_to(
        &mut self,
        v: Value,
        to: &Sharding,
        why: impl FnOnce(u64) -> Arc<Reason>,
        b: &mut Builder<'_>,
    ) -> Value {
        let from = self.current(v, b);
        if from.same_layout(to) {
            return v;
        }
        if let Some(made) = self.sources.remake(v, to, b) {
            return made;
        }
        let open: Vec<AxisRef> = from.unreduced.iter().flat_map(|a| a.minus(self.mesh, &to.unreduced)).collect();
        let bytes = self.reshard_bytes(&from, to, v, b) + all_reduce_bytes(&from, &open, v, b);
        let reason = why(bytes);
        let mut value = v;
        if !open.is_empty() {
            value = self.all_reduce(v, &open, ReduceKind::Add, reason.clone(), b);
        }
        let kept = self.current(value, b).unreduced.clone();
        let moved = to.clone().with_unreduced(kept.clone());
        if !self.current(value, b).same_layout(&moved) {
            value = make_shardy::reshard(b, value, &moved, &reason);
        }
        let opened: Vec<AxisRef> = to.unreduced.iter().flat_map(|a| a.minus(self.mesh, &kept)).collect();
        if opened.is_empty() {
            return value;
        }
        make_shardy::step(b, value, &ShardyCollective::ReplicatedToUnreduced { axes: opened }, to, &reason)
    }
}

/// Removes the shardings of all values in a region, except for those that results of manual computations must have.
fn drop_layouts(body: &mut Body, region: Region) {
    let mut ops = vec![];
    body.walk_region(region, &mut ops);
    let inner = ops.iter().flat_map(|&op| body[op].regions.iter().copied()).chain([region]);
    let mut values: Vec<Value> = inner.flat_map(|r| body[r].args.iter().copied()).collect();
    ops.retain(|&op| body[op].code != Opcode::ManualComputation.into());
    values.extend(ops.iter().flat_map(|&op| body[op].results.iter().copied()));
    values.into_iter().for_each(|v| body.value_mut(v).sharding = None);
}

fn operand_name(view: &OpView<'_>) -> impl Fn(usize) -> String {
    move |i| format!("operand {i} of `{}`", reason::short(view.name()))
}

/// Returns a phrase that states where operand `index` has its layout from, if it is an argument of the function or if
/// an op of the program states its layout. Returns `None` otherwise.
fn origin(module: &Module, source: &Body, operand: Value, index: usize) -> Option<String> {
    let Some(op) = source.def_op(operand) else {
        let i = source.args().iter().position(|&arg| arg == operand)?;
        return Some(format!("operand {index} is argument {i} of the function"));
    };
    let view = module.view(source, op);
    if is_copy(&view) && source.sharding(operand) == source.sharding(view.operand(0)) {
        return origin(module, source, view.operand(0), index);
    }
    is_mark(&view).then(|| format!("operand {index} has {}", reason::stated(&view)))
}

/// Returns a phrase for the first reader of a result that requires its layout: the function's return, or an op that
/// only states a layout, and states the layout `wanted`. Returns `None` if there is none.
fn demand(module: &Module, source: &Body, uses: &Uses, result: Value, wanted: &Sharding) -> Option<String> {
    let end = source[source.entry()].ops.last();
    let asks = |found: &Use| {
        let view = module.view(source, found.op);
        if Some(&found.op) == end {
            return Some(format!("it is result {} of the function", found.index));
        }
        let layout = source.sharding(*view.results().get(found.index)?)?;
        (is_mark(&view) && layout.same_layout(wanted)).then(|| format!("this is {}", reason::stated(&view)))
    };
    uses.of(result).iter().find_map(asks)
}

fn with_text(reason: Arc<Reason>, more: Option<String>) -> Arc<Reason> {
    match more {
        Some(more) => Arc::new(Reason { text: format!("{}; {more}", reason.text).into(), ..(*reason).clone() }),
        None => reason,
    }
}

fn changes_at(changes: &Changes, view: &OpView<'_>, decided: &Decision, cause: Cause) -> Vec<LayoutChange> {
    if changes.is_empty() {
        return vec![];
    }
    let values: Vec<Value> = view.operands().iter().chain(view.results()).copied().collect();
    let change = |i: usize| changes.get(values[i], &decided.task.tensor_name(i));
    reason::concerned(decided, cause).into_iter().filter_map(change).collect()
}

fn with_changes(reason: Arc<Reason>, changes: Vec<LayoutChange>) -> Arc<Reason> {
    if changes.is_empty() { reason } else { Arc::new(Reason { changes, ..(*reason).clone() }) }
}

fn region_arg_types(view: &OpView<'_>, region: Region) -> Vec<Type> {
    view.body[region].args.iter().map(|&v| view.body.ty(v).clone()).collect()
}

/// Returns true if the region is the condition of a loop, which returns a scalar however many values the loop carries.
fn is_condition(view: &OpView<'_>, region: Region) -> bool {
    Opcode::of_view(view) == Opcode::While && view.regions()[0] == region
}

fn unreduced_as(layout: Sharding, like: Option<&Sharding>) -> Sharding {
    layout.with_unreduced(like.map_or(vec![], |s| s.unreduced.clone()))
}

/// Returns the layout with the dimensions of one element whole. Split over devices they would be padded to an element
/// for each, and a reader that needs the element would gather all of these.
pub(crate) fn with_single_elements_whole(mut layout: Sharding, shape: &[usize]) -> Sharding {
    let is_split = |(dim, n): (&DimSharding, &usize)| *n == 1 && !dim.axes.is_empty();
    // A layout may be shared, and is then copied before it is changed.
    if layout.dims.iter().zip(shape).any(is_split) {
        layout.dims.iter_mut().zip(shape).filter(|(_, n)| **n == 1).for_each(|(dim, _)| dim.axes.clear());
    }
    layout
}

/// Returns the sharding with only the longest list of major axes of each dimension that divides the dimension evenly.
fn even_prefix(sharding: Sharding, shape: &[usize]) -> Sharding {
    let mesh = sharding.mesh.clone();
    let mut even = sharding;
    for (dim, &n) in even.dims.iter_mut().zip(shape) {
        while !n.is_multiple_of(dim.shard_count(&mesh)) {
            dim.axes.pop();
        }
    }
    even
}

/// Returns the part of a layout that remains inside a computation that is manual over `axes`.
pub(crate) fn without_axes(sharding: &Sharding, axes: &[AxisRef]) -> Sharding {
    let rest = |list: &[AxisRef]| list.iter().flat_map(|a| a.minus(&sharding.mesh, axes)).collect::<Vec<_>>();
    let dims = sharding.dims.iter().map(|d| rest(&d.axes)).collect();
    Sharding::closed(&sharding.mesh, dims).with_unreduced(rest(&sharding.unreduced))
}

fn all_reduce_bytes(from: &Sharding, axes: &[AxisRef], v: Value, b: &Builder<'_>) -> u64 {
    let ty = b.body.ty(v).as_tensor().expect("only tensors are laid out");
    let n = AxisRef::total_size(&from.mesh, axes) as u64;
    CollectiveCost::AllReduce.bytes_received(local_bytes(from, &ty.shape, ty.dtype), n)
}
