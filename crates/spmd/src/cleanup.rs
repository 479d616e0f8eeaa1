//! Removes ops that are dead, repeated or without effect.
//!
//! Dead ops are removed. Equal ops are merged; an op in a region is also merged with an equal op of the function's own
//! region. Ops that change nothing are replaced by their operand, and scalar integer arithmetic on constants is
//! evaluated.

use crate::rewrite::{facts, is_terminator};
use rustc_hash::{FxHashMap, FxHasher};
use shardwise_base::{Diagnostics, EntityVec, Literal, budget};
use shardwise_ir::{Body, Module, Op, OpData, OpView, Region, Value};
use shardwise_ops::{Effects, NoRegions, Opcode, Semantics, constant_value, make};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The largest number of rounds. Each round can merge ops that became equal in the round before; equal ops that are
/// left after the last round stay.
const MAX_ROUNDS: usize = 4;

/// Removes the dead ops of the main function, merges equal ops, and replaces ops that change nothing by their operand
/// and scalar integer arithmetic on constants by its value. Always returns `Ok`.
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

/// Runs one round over the body. Returns whether it changed something, so that another round may find more.
fn round(module: &Module, body: &mut Body) -> bool {
    let (live, renamed) = (live(module, body), EntityVec::filled(body.value_count(), None));
    let entry = body.entry();
    let mut cleanup =
        Cleanup { module, body, live, renamed, seen: FxHashMap::default(), is_isolated: false, is_changed: false };
    cleanup.region(entry);
    cleanup.is_changed
}

/// Removes the ops that nothing needs.
pub(crate) fn remove_dead(module: &Module, body: &mut Body) {
    let live = live(module, body);
    for region in (0..body.region_count()).map(Region::new) {
        body.region_mut(region).ops.retain(|&op| live[op]);
    }
}

/// Returns the first op that nothing needs.
pub(crate) fn first_dead(module: &Module, body: &Body) -> Option<Op> {
    let live = live(module, body);
    body.walk().into_iter().find(|&op| !live[op])
}

/// Returns for each op whether anything needs it.
pub(crate) fn live(module: &Module, body: &Body) -> EntityVec<Op, bool> {
    let mut used = EntityVec::filled(body.value_count(), false);
    let mut live = EntityVec::filled(body.op_count(), false);
    mark_live(module, body, body.entry(), &mut used, &mut live);
    live
}

/// Returns true if the region belongs to an async op. The op in it stays there, whatever the async op returns.
fn is_async(module: &Module, body: &Body, region: Region) -> bool {
    body[region].parent.is_some_and(|op| Opcode::of_view(&module.view(body, op)) == Opcode::AsyncStart)
}

/// Marks the live ops of a region and the values that they use. The walk is backwards, so that each op comes after the
/// ops that read its results. What stands in the regions of a dead op needs nothing.
fn mark_live(
    module: &Module,
    body: &Body,
    region: Region,
    used: &mut EntityVec<Value, bool>,
    live: &mut EntityVec<Op, bool>,
) {
    let is_async = is_async(module, body, region);
    for &op in body[region].ops.iter().rev() {
        budget::poll();
        let view = module.view(body, op);
        let acts = is_async || is_terminator(&view) || facts(&view).effects(&view) == Effects::Ordered;
        if acts || view.results().iter().any(|&v| used[v]) {
            live[op] = true;
            view.operands().iter().for_each(|&v| used[v] = true);
            view.regions().iter().for_each(|&inner| mark_live(module, body, inner, used, live));
        }
    }
}

struct Cleanup<'a> {
    module: &'a Module,
    body: &'a mut Body,
    live: EntityVec<Op, bool>,
    /// For each value whose op was removed, the value that replaces it.
    renamed: EntityVec<Value, Option<Value>>,
    /// The ops that are kept and their regions, by [`fingerprint`].
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

    /// Simplifies an op. Returns whether it is kept.
    fn op(&mut self, op: Op, region: Region) -> bool {
        budget::poll();
        self.rename_operands(op);
        let outer = self.is_isolated;
        self.is_isolated |= self.module.table.def(self.body[op].code).is_isolated();
        for inner in self.body[op].regions.clone() {
            self.region(inner);
        }
        self.is_isolated = outer;
        let view = self.module.view(self.body, op);
        let is_plain = view.regions().is_empty() && view.results().len() == 1 && is_repeatable(&view);
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

    fn rename_operands(&mut self, op: Op) {
        for i in 0..self.body[op].operands.len() {
            if let Some(new) = self.renamed[self.body[op].operands[i]] {
                self.body.op_mut(op).operands[i] = new;
            }
        }
    }

    /// Returns the result of an equal op that comes earlier in this region, or in the function's own region if the region
    /// may use its values.
    fn repeated(&self, view: &OpView<'_>, region: Region, print: u64) -> Option<Value> {
        // Of the surrounding regions, only the function's own region is considered. All ops seen there come before this
        // op.
        let is_around = |r: Region| r == region || (r == view.body.entry() && !self.is_isolated);
        let is_equal = |op: Op| {
            let (data, other) = (view.data(), &view.body[op]);
            let type_of = |data: &OpData| view.body.ty(data.results[0]);
            (data.code, &data.operands, &data.attrs) == (other.code, &other.operands, &other.attrs)
                && type_of(data) == type_of(other)
        };
        let (op, _) = self.seen.get(&print)?.iter().find(|(op, region)| is_around(*region) && is_equal(*op))?;
        Some(view.body[*op].results[0])
    }

    /// Replaces the op by a constant, in place. Returns the fingerprint of the constant.
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

/// Returns a hash that is equal for ops with the same code, operands and attributes.
fn fingerprint(view: &OpView<'_>) -> u64 {
    let mut h = FxHasher::default();
    (view.data().code, view.operands()).hash(&mut h);
    view.attrs().quick_hash(&mut h);
    h.finish()
}

fn is_repeatable(view: &OpView<'_>) -> bool {
    !is_terminator(view) && facts(view).effects(view) != Effects::Ordered
}

/// Returns the value of scalar integer or boolean arithmetic whose operands are all constants, or `None` for other ops
/// and if the evaluation fails.
fn fold(view: &OpView<'_>) -> Option<Literal> {
    let facts = facts(view);
    let is_scalar =
        view.result_type(0).as_tensor().is_some_and(|t| t.rank() == 0 && !t.dtype.is_float() && !t.dtype.is_complex());
    if !is_scalar || view.operands().is_empty() || facts.semantics(view) != Semantics::Pure {
        return None;
    }
    let operands: Vec<Literal> = (0..view.operands().len()).map(|i| scalar_constant(view, i)).collect::<Option<_>>()?;
    shardwise_ops::evaluate(view, &operands, &mut NoRegions).ok()?.into_iter().next()
}

fn scalar_constant(view: &OpView<'_>, operand: usize) -> Option<Literal> {
    let constant = view.operand_def(operand).filter(|c| Opcode::of_view(c) == Opcode::Constant)?;
    constant_value(&constant).filter(|l| l.rank() == 0).cloned()
}
