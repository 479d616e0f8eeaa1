//! Removes ops that are dead, repeated or without effect.
//!
//! Dead ops are removed, and so are results of branches and loops that nothing needs. Equal ops of one region are
//! merged, unless they have parts of the program in regions, ordered effects or not exactly one result; such an op in a
//! region is also merged with an equal op of the function's own region. Ops that change nothing are replaced by their
//! operand, and ops on scalar constants whose result is an integer or a boolean are evaluated. Two permutations of
//! devices, one after the other, become one where this is possible, unless the program states one of them or the mesh
//! is too large.

use crate::kinds;
use crate::rewrite::{facts, has_program_regions, is_terminator};
use rustc_hash::{FxHashMap, FxHasher};
use shardwise_base::{Diagnostics, EntityVec, Literal, budget};
use shardwise_ir::{Body, Module, Op, OpData, OpView, Region, Value, ValueDef};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Permutation};
use shardwise_ops::{Effects, NoRegions, Opcode, Semantics, constant_value, make};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The largest number of rounds. Each round can merge ops that became equal in the round before; equal ops that are
/// left after the last round stay.
const MAX_ROUNDS: usize = 4;

/// The largest number of devices of a mesh on which permutations of devices are joined.
const MAX_DEVICES: usize = 1 << 12;

/// Removes the dead ops of the main function and the results of branches and loops that nothing needs. Merges an op
/// with an equal op before it in its region, or in the function's own region if the op may use its values. Replaces ops
/// that change nothing by the value that they pass on, and pure ops without regions on scalar constants by their value
/// if it is a scalar integer or boolean. Ops are only merged or replaced if they have one result, no parts of the
/// program in regions and no ordered effects, and are not directly in an async op. On a mesh of at most [`MAX_DEVICES`]
/// devices, joins pairs of permutations of devices that the compiler made, where one permutation can take their place.
/// Stops after [`MAX_ROUNDS`] rounds. Always returns `Ok`.
pub fn cleanup(mut module: Module) -> Result<Module, Diagnostics> {
    let Some(main) = module.main().and_then(|f| module.func_id(&f.name)) else { return Ok(module) };
    let mut body = std::mem::take(&mut module.funcs[main.index()].body);
    // The last round may leave ops that became dead in it.
    if (0..MAX_ROUNDS).all(|_| round(&module, &mut body)) {
        remove_dead(&module, &mut body);
    }
    module.funcs[main.index()].body = body;
    Ok(module)
}

/// Removes the results of branches and loops that nothing needs, and all dead ops, from the main function. Returns the
/// module unchanged, with its dead ops, if no branch or loop that is needed has such a result.
pub(crate) fn remove_unused_results(mut module: Module) -> Module {
    let Some(main) = module.main().and_then(|f| module.func_id(&f.name)) else { return module };
    if Liveness::compute(&module, &module[main].body).unused.is_empty() {
        return module;
    }
    let mut body = std::mem::take(&mut module.funcs[main.index()].body);
    remove_dead(&module, &mut body);
    module.funcs[main.index()].body = body;
    module
}

/// Runs one round over the body. Returns true if it replaced, joined or evaluated an op, so that another round may find
/// more. Removing dead ops and results that nothing needs does not count.
fn round(module: &Module, body: &mut Body) -> bool {
    let live = keep_needed_results(module, body);
    let (renamed, entry) = (EntityVec::filled(body.value_count(), None), body.entry());
    let mut cleanup =
        Cleanup { module, body, live, renamed, seen: FxHashMap::default(), is_isolated: false, is_changed: false };
    cleanup.region(entry);
    cleanup.is_changed
}

/// Removes the ops that nothing needs, and the results of branches and loops that nothing needs.
pub(crate) fn remove_dead(module: &Module, body: &mut Body) {
    let live = keep_needed_results(module, body);
    for region in (0..body.region_count()).map(Region::new) {
        body.region_mut(region).ops.retain(|&op| live[op]);
    }
}

/// Returns the first op that nothing needs, or that is a branch or a loop with a result that nothing needs. Returns
/// `None` if there is none.
pub(crate) fn first_dead(module: &Module, body: &Body) -> Option<Op> {
    let Liveness { live, unused } = Liveness::compute(module, body);
    let is_dead = |op: Op| !live[op] || unused.iter().any(|(with_unused, _)| *with_unused == op);
    body.walk().into_iter().find(|&op| is_dead(op))
}

pub(crate) fn live(module: &Module, body: &Body) -> EntityVec<Op, bool> {
    Liveness::compute(module, body).live
}

/// Removes the results that nothing needs from the branches and loops that are needed. Returns for each op whether
/// anything needs it.
fn keep_needed_results(module: &Module, body: &mut Body) -> EntityVec<Op, bool> {
    let Liveness { live, unused } = Liveness::compute(module, body);
    unused.into_iter().for_each(|(op, is_kept)| keep_results(body, op, &is_kept));
    live
}

/// Removes the results of a branch or a loop for which `is_kept` is false. What its regions return for them, and the
/// values that a loop carries for them, are removed as well.
fn keep_results(body: &mut Body, op: Op, is_kept: &[bool]) {
    let kept = |list: &[Value]| -> Vec<Value> {
        list.iter().zip(is_kept).filter_map(|(&v, &is_kept)| is_kept.then_some(v)).collect()
    };
    let regions = body[op].regions.clone();
    let is_loop = body[op].code == Opcode::While.into();
    for &region in if is_loop { &regions[1..] } else { &regions[..] } {
        let end = body.terminator(region).expect("a region ends in a terminator");
        body.op_mut(end).operands = kept(&body[end].operands).into();
    }
    if is_loop {
        body.op_mut(op).operands = kept(&body[op].operands).into();
        for &region in &regions {
            let args = kept(&body[region].args);
            for (index, &v) in args.iter().enumerate() {
                body.value_mut(v).def = ValueDef::Argument { region, index: index as u32 };
            }
            body.region_mut(region).args = args;
        }
    }
    let results = kept(&body[op].results);
    for (index, &v) in results.iter().enumerate() {
        body.value_mut(v).def = ValueDef::Result { op, index: index as u32 };
    }
    body.op_mut(op).results = results.into();
}

/// Returns true if the region belongs to an async op. The op in it stays there, whatever the async op returns.
fn is_async(module: &Module, body: &Body, region: Region) -> bool {
    body[region].parent.is_some_and(|op| Opcode::of_view(&module.view(body, op)) == Opcode::AsyncStart)
}

/// The ops that something needs.
struct Liveness {
    live: EntityVec<Op, bool>,
    /// The live branches and loops with results that nothing needs. The flags are true for their other results.
    unused: Vec<(Op, Vec<bool>)>,
}

impl Liveness {
    fn compute(module: &Module, body: &Body) -> Liveness {
        let Needs { ops: live, values, .. } = Needs::compute(module, body);
        let is_needed = |op: Op| body[op].results.iter().map(|&v| values[v]).collect::<Vec<bool>>();
        let ops = (0..body.op_count()).map(Op::new).filter(|&op| live[op]);
        let with_results = ops.filter(|&op| is_branch_or_loop(&module.view(body, op)));
        let unused = with_results.map(|op| (op, is_needed(op))).filter(|(_, needed)| needed.contains(&false)).collect();
        Liveness { live, unused }
    }
}

/// The ops and values that something needs, while they are found.
///
/// What stands in the regions of an op that nothing needs is not needed. A branch needs what its regions return for a
/// result that is needed. A loop needs what it carries at a position if the result at this position is needed, or if
/// its condition or a needed op of its body uses the argument.
struct Needs<'a> {
    module: &'a Module,
    body: &'a Body,
    ops: EntityVec<Op, bool>,
    values: EntityVec<Value, bool>,
    /// The needed values whose sources have not been marked yet.
    open: Vec<Value>,
}

impl<'a> Needs<'a> {
    fn compute(module: &'a Module, body: &'a Body) -> Needs<'a> {
        let ops = EntityVec::filled(body.op_count(), false);
        let values = EntityVec::filled(body.value_count(), false);
        let mut needs = Needs { module, body, ops, values, open: vec![] };
        needs.region(body.entry());
        while let Some(v) = needs.open.pop() {
            needs.sources(v);
        }
        needs
    }

    fn values(&mut self, values: &[Value]) {
        for &v in values {
            if !std::mem::replace(&mut self.values[v], true) {
                self.open.push(v);
            }
        }
    }

    /// Marks the terminator of a region, and the ops that must run although nothing needs their results: those that act
    /// ([`acts`]), or all ops of an async op's region. What the region returns is marked as well, unless it belongs to
    /// results of a branch or a loop.
    fn region(&mut self, region: Region) {
        let is_async = is_async(self.module, self.body, region);
        for &op in &self.body[region].ops {
            budget::poll();
            let view = self.module.view(self.body, op);
            if is_terminator(&view) {
                self.ops[op] = true;
                if !self.returns_results(region) {
                    self.values(view.operands());
                }
            } else if is_async || acts(&view) {
                self.op(&view);
            }
        }
    }

    fn returns_results(&self, region: Region) -> bool {
        let Some(parent) = self.body[region].parent else { return false };
        let view = self.module.view(self.body, parent);
        is_branch_or_loop(&view) && !(is_loop(&view) && view.regions()[0] == region)
    }

    fn op(&mut self, view: &OpView<'_>) {
        if std::mem::replace(&mut self.ops[view.op], true) {
            return;
        }
        if !is_loop(view) {
            self.values(view.operands());
        }
        view.regions().iter().for_each(|&inner| self.region(inner));
    }

    fn sources(&mut self, v: Value) {
        let body = self.body;
        match body[v].def {
            ValueDef::Result { op, index } => {
                let view = self.module.view(body, op);
                self.op(&view);
                if is_branch_or_loop(&view) {
                    let returning = view.regions().iter().filter(|&&r| self.returns_results(r));
                    let mut from: Vec<Value> = returning.map(|&r| body.region_results(r)[index as usize]).collect();
                    from.extend(is_loop(&view).then(|| view.operand(index as usize)));
                    self.values(&from);
                }
            }
            ValueDef::Argument { region, index } => {
                let parent = body[region].parent.map(|op| self.module.view(body, op));
                if let Some(view) = parent.filter(is_loop) {
                    self.values(&[view.result(index as usize)]);
                }
            }
        }
    }
}

fn is_loop(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::While
}

fn is_branch(view: &OpView<'_>) -> bool {
    matches!(Opcode::of_view(view), Opcode::Case | Opcode::If)
}

fn is_branch_or_loop(view: &OpView<'_>) -> bool {
    is_loop(view) || is_branch(view)
}

/// Returns true if the op must run although nothing needs its results. A branch must if an op in it must, and a loop
/// always, because it may run forever.
fn acts(view: &OpView<'_>) -> bool {
    let acts_inside = |&op: &Op| acts(&view.at(op));
    match is_branch(view) {
        true => view.regions().iter().flat_map(|&r| &view.body[r].ops).any(acts_inside),
        false => !is_terminator(view) && facts(view).effects(view) == Effects::Ordered,
    }
}

struct Cleanup<'a> {
    module: &'a Module,
    body: &'a mut Body,
    live: EntityVec<Op, bool>,
    /// For each result of an op that another value replaces, this value; `None` for other values.
    renamed: EntityVec<Value, Option<Value>>,
    /// The ops that were kept so far and with which equal ops may be merged, and their regions, by [`fingerprint`].
    seen: FxHashMap<u64, SmallVec<[(Op, Region); 1]>>,
    /// True within an op whose regions use no values from outside.
    is_isolated: bool,
    is_changed: bool,
}

impl Cleanup<'_> {
    fn region(&mut self, region: Region) {
        let count = self.body[region].ops.len();
        let mut kept = 0;
        for i in 0..count {
            let op = self.body[region].ops[i];
            if self.live[op] && self.op(op, region) {
                if kept < i {
                    self.body.region_mut(region).ops[kept] = op;
                }
                kept += 1;
            }
        }
        if kept < count {
            self.body.region_mut(region).ops.truncate(kept);
        }
    }

    /// Simplifies an op of `region` and the ops in its regions. Returns true if the op is kept. If it is not, `renamed`
    /// has the value that replaces its result.
    fn op(&mut self, op: Op, region: Region) -> bool {
        budget::poll();
        self.rename_operands(op);
        let outer = self.is_isolated;
        self.is_isolated |= self.module.table.def(self.body[op].code).is_isolated();
        for inner in self.body[op].regions.clone() {
            self.region(inner);
        }
        self.is_isolated = outer;
        if let Some((operand, joined)) = self.joined_permutations(op) {
            self.is_changed = true;
            if joined.is_total() && joined.moved_count() == 0 {
                let result = self.body[op].results[0];
                self.renamed[result] = Some(operand);
                return false;
            }
            let data = self.body.op_mut(op);
            data.operands[0] = operand;
            joined.write(&mut data.attrs);
        }
        let view = self.module.view(self.body, op);
        let is_plain = !has_program_regions(&view) && view.results().len() == 1 && is_repeatable(&view);
        if !is_plain || is_async(self.module, self.body, region) {
            return true;
        }
        let print = fingerprint(&view);
        let known = facts(&view).forwards(&view).or_else(|| self.repeated(&view, region, print));
        if let Some(value) = known {
            let result = view.result(0);
            self.renamed[result] = Some(value);
            self.is_changed = true;
            return false;
        }
        let folded = fold(&view);
        let print = folded.map_or(print, |value| self.make_constant(op, value));
        self.seen.entry(print).or_default().push((op, region));
        true
    }

    /// Returns the one permutation that does what the op and its operand's op do, and the operand of the latter.
    /// Returns `None` if these are not both permutations that the compiler made, if no one permutation does what both
    /// do, or if there is no main mesh or it has more than [`MAX_DEVICES`] devices.
    fn joined_permutations(&self, op: Op) -> Option<(Value, Permutation)> {
        let mesh = self.module.main_mesh().filter(|mesh| mesh.size() <= MAX_DEVICES)?;
        let permutation = |view: &OpView<'_>| {
            let kind = CollectiveView::of(view).filter(|_| view.data().reason.is_some())?.kind;
            if let CollectiveKind::CollectivePermute { permutation } = kind { Some(permutation) } else { None }
        };
        let view = self.module.view(self.body, op);
        let next = permutation(&view)?;
        let before = view.operand_def(0)?;
        let joined = permutation(&before)?.then(&next, mesh)?;
        Some((before.operand(0), joined))
    }

    fn rename_operands(&mut self, op: Op) {
        for i in 0..self.body[op].operands.len() {
            if let Some(new) = self.renamed[self.body[op].operands[i]] {
                self.body.op_mut(op).operands[i] = new;
            }
        }
    }

    /// Returns the result of an equal op that comes earlier in this region, or in the function's own region if the
    /// region may use its values. Returns `None` if there is none.
    fn repeated(&self, view: &OpView<'_>, region: Region, print: u64) -> Option<Value> {
        // Of the surrounding regions, only the function's own region is considered. All ops seen there come before this
        // op.
        let is_around = |r: Region| r == region || (r == view.body.entry() && !self.is_isolated);
        let is_equal = |op: Op| {
            let (data, other) = (view.data(), &view.body[op]);
            let type_of = |data: &OpData| view.body.ty(data.results[0]);
            (data.code, &data.operands, &data.attrs) == (other.code, &other.operands, &other.attrs)
                && type_of(data) == type_of(other)
                && (data.regions.is_empty() && other.regions.is_empty() || kinds::is_same(view, &view.at(op)))
        };
        let (op, _) = self.seen.get(&print)?.iter().find(|(op, region)| is_around(*region) && is_equal(*op))?;
        Some(view.body[*op].results[0])
    }

    fn make_constant(&mut self, op: Op, value: Literal) -> u64 {
        let data = self.body.op_mut(op);
        data.code = Opcode::Constant.into();
        data.operands.clear();
        data.attrs = make::constant_attrs(value);
        data.reason = None;
        self.is_changed = true;
        fingerprint(&self.module.view(self.body, op))
    }
}

fn fingerprint(view: &OpView<'_>) -> u64 {
    let mut h = FxHasher::default();
    (view.data().code, view.operands()).hash(&mut h);
    view.attrs().quick_hash(&mut h);
    h.finish()
}

fn is_repeatable(view: &OpView<'_>) -> bool {
    !is_terminator(view) && facts(view).effects(view) != Effects::Ordered
}

/// Returns the value of a pure op without regions on scalar constants if it is a scalar integer or boolean, and `None`
/// otherwise.
fn fold(view: &OpView<'_>) -> Option<Literal> {
    let facts = facts(view);
    let is_scalar =
        view.result_type(0).as_tensor().is_some_and(|t| t.rank() == 0 && !t.dtype.is_float() && !t.dtype.is_complex());
    if !is_scalar
        || view.operands().is_empty()
        || !view.regions().is_empty()
        || facts.semantics(view) != Semantics::Pure
    {
        return None;
    }
    let operands: Vec<Literal> = (0..view.operands().len()).map(|i| scalar_constant(view, i)).collect::<Option<_>>()?;
    shardwise_ops::evaluate(view, &operands, &mut NoRegions).ok()?.into_iter().next()
}

fn scalar_constant(view: &OpView<'_>, operand: usize) -> Option<Literal> {
    let constant = view.operand_def(operand).filter(|c| Opcode::of_view(c) == Opcode::Constant)?;
    constant_value(&constant).filter(|l| l.rank() == 0).cloned()
}
