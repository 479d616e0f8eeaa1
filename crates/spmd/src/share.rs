//! Makes equal constants one value.
//!
//! Propagation copies a constant for each of its uses, with all that it is computed from, so that a constant does not
//! connect the layouts of its users. Most copies get equal layouts after all. A model may read a table of sines in each
//! layer: the copies are all replicated. Without this pass, the later passes would do their work for each copy.

use crate::rewrite::{facts, is_terminator};
use rustc_hash::{FxHashMap, FxHasher};
use shardwise_base::{Diagnostics, EntityVec, budget};
use shardwise_ir::{Body, Module, Op, OpView, Region, Value};
use shardwise_ops::Constness;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// Removes the constants of the main function that are equal to one before them in their region and have its layout.
/// Their users use the earlier one. A constant is a literal, an iota, or what elementwise ops, broadcasts, reshapes and
/// slices compute from constants alone. Does nothing without a mesh. Always returns `Ok`.
pub fn share(mut module: Module) -> Result<Module, Diagnostics> {
    let Some(main) = module.main().filter(|_| module.main_mesh().is_some()).and_then(|f| module.func_id(&f.name))
    else {
        return Ok(module);
    };
    let mut body = std::mem::take(&mut module.funcs[main.index()].body);
    let earlier = Constants::of(&module, &body).earlier;
    if !earlier.is_empty() {
        replace(&mut body, &earlier);
    }
    module.funcs[main.index()].body = body;
    Ok(module)
}

/// Returns the first op of the body whose constant [`share`] would remove, or `None` if there is none.
pub(crate) fn first_repeated(module: &Module, body: &Body) -> Option<Op> {
    module.main_mesh()?;
    let earlier = Constants::of(module, body).earlier;
    body.walk().into_iter().find(|&op| defines_one_of(body, op, &earlier))
}

/// Returns true if the first result of the op is a key of `values`.
fn defines_one_of(body: &Body, op: Op, values: &FxHashMap<Value, Value>) -> bool {
    body[op].results.first().is_some_and(|v| values.contains_key(v))
}

/// Replaces values in all operands, and removes the ops that define them.
fn replace(body: &mut Body, earlier: &FxHashMap<Value, Value>) {
    for op in (0..body.op_count()).map(Op::new) {
        for i in 0..body[op].operands.len() {
            if let Some(value) = earlier.get(&body[op].operands[i]) {
                body.op_mut(op).operands[i] = *value;
            }
        }
    }
    for region in (0..body.region_count()).map(Region::new) {
        let kept: Vec<Op> = body[region].ops.iter().copied().filter(|&op| !defines_one_of(body, op, earlier)).collect();
        if kept.len() < body[region].ops.len() {
            body.region_mut(region).ops = kept;
        }
    }
}

/// The constants of a body.
struct Constants<'a> {
    module: &'a Module,
    body: &'a Body,
    is_constant: EntityVec<Value, bool>,
    /// The ops that define constants so far, without repeated ones, by their region and [`Constants::fingerprint`].
    seen: FxHashMap<(Region, u64), SmallVec<[Op; 1]>>,
    /// For each repeated constant, the first one in its region that is equal and has its layout.
    earlier: FxHashMap<Value, Value>,
}

impl<'a> Constants<'a> {
    fn of(module: &'a Module, body: &'a Body) -> Constants<'a> {
        let is_constant = EntityVec::filled(body.value_count(), false);
        let mut constants =
            Constants { module, body, is_constant, seen: FxHashMap::default(), earlier: FxHashMap::default() };
        constants.region(body.entry());
        constants
    }

    fn region(&mut self, region: Region) {
        for &op in &self.body[region].ops {
            self.op(op, region);
            self.body[op].regions.iter().for_each(|&inner| self.region(inner));
        }
    }

    fn op(&mut self, op: Op, region: Region) {
        budget::poll();
        let view = self.module.view(self.body, op);
        let &[result] = view.results() else { return };
        if !self.makes_constant(&view) {
            return;
        }
        self.is_constant[result] = true;
        let key = (region, self.fingerprint(&view));
        let same = self.seen.get(&key).and_then(|ops| ops.iter().copied().find(|&other| self.is_equal(&view, other)));
        match same {
            Some(earlier) => _ = self.earlier.insert(result, self.body[earlier].results[0]),
            None => self.seen.entry(key).or_default().push(op),
        }
    }

    fn makes_constant(&self, view: &OpView<'_>) -> bool {
        if is_terminator(view) || !view.regions().is_empty() {
            return false;
        }
        match facts(view).constness(view) {
            Constness::Literal => true,
            Constness::OfOperands => view.operands().iter().all(|&v| self.is_constant[v]),
            Constness::No => false,
        }
    }

    fn operands<'v>(&'v self, view: &'v OpView<'_>) -> impl Iterator<Item = Value> + 'v {
        view.operands().iter().map(|v| self.earlier.get(v).copied().unwrap_or(*v))
    }

    fn fingerprint(&self, view: &OpView<'_>) -> u64 {
        let mut hasher = FxHasher::default();
        view.data().code.hash(&mut hasher);
        self.operands(view).for_each(|v| v.hash(&mut hasher));
        view.attrs().quick_hash(&mut hasher);
        hasher.finish()
    }

    /// Returns true if both ops have one result each, and these are equal constants with one layout.
    fn is_equal(&self, view: &OpView<'_>, other: Op) -> bool {
        let other = view.at(other);
        let has_same_layout = self.body.sharding(view.result(0)) == self.body.sharding(other.result(0));
        view.data().code == other.data().code
            && view.attrs() == other.attrs()
            && view.result_type(0) == other.result_type(0)
            && has_same_layout
            && self.operands(view).eq(self.operands(&other))
    }
}
