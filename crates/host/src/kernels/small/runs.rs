//! The runs of a block.

use super::builder::Builder;
use super::ops::add;
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::is_view;
use crate::plan::Points;
use crate::small::Code;
use shardwise_ir::{Op, Uses, Value};
use shardwise_ops::constant_value;
use std::collections::{HashMap, HashSet};

/// The least number of ops of a run, with those in their regions and the views that only the run reads. Constants count
/// only in regions. One op alone is as fast by its own kernel.
const MIN_OPS: usize = 2;

/// Some units of a block that run as one step. A unit is the list of ops of what would otherwise be one step.
pub struct Run {
    /// The numbers of the units, ascending.
    pub units: Vec<usize>,
    /// The number of the unit in front of which the step is placed, or the number of units of the block if the step is
    /// placed after all of them.
    pub before: usize,
    pub code: Code,
    /// The instances of the results.
    pub points: Points,
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    /// The ops of the units, one unit after the other.
    pub ops: Vec<Op>,
}

/// Returns the runs of a block. A unit is the list of ops of one step, in program order, and units are in the order of
/// their steps.
pub fn runs(plan: &PlanCx<'_>, units: &[Vec<Op>], uses: &Uses) -> Vec<Run> {
    let unit_of = units.iter().enumerate().flat_map(|(unit, ops)| ops.iter().map(move |&op| (op, unit))).collect();
    let mut finder = Finder { plan, uses, units, unit_of, deferred: HashSet::new(), open: None, runs: vec![] };
    (0..units.len()).for_each(|unit| finder.unit(unit));
    finder.close();
    finder.runs
}

struct Finder<'a, 'm> {
    plan: &'a PlanCx<'m>,
    uses: &'a Uses,
    units: &'a [Vec<Op>],
    unit_of: HashMap<Op, usize>,
    /// The results of views that join no run, because a later unit defines what they read. Kernels read through them.
    deferred: HashSet<Value>,
    open: Option<Open<'a, 'm>>,
    runs: Vec<Run>,
}

/// A run that more units may join.
struct Open<'a, 'm> {
    builder: Builder<'a, 'm>,
    units: Vec<usize>,
    /// The values that the ops of the run define.
    own: HashSet<Value>,
    /// The unit in front of which the run is placed, if that is known: the first one that reads a result, or the one
    /// after a unit of the run that reads a large array.
    before: Option<usize>,
    /// The results of those units from number `before` on that have not joined the run.
    late: HashSet<Value>,
}

impl Open<'_, '_> {
    /// Records that a unit with these results has joined the run. If the run now reads a large array and has no place
    /// yet, its place is directly after this unit, so that the array is not in use for longer than without the run.
    /// Units that join later run at that place, too.
    fn joined(&mut self, unit: usize, results: Vec<Value>) {
        self.units.push(unit);
        self.own.extend(results);
        if self.before.is_none() && self.builder.reads_arrays() {
            self.before = Some(unit + 1);
        }
    }

    fn pass_by(&mut self, unit: usize, reads: &[Value], results: Vec<Value>) {
        if self.before.is_none() && reads.iter().any(|v| self.own.contains(v)) {
            self.before = Some(unit);
        }
        if self.before.is_some() {
            self.late.extend(results);
        }
    }
}

impl Finder<'_, '_> {
    fn unit(&mut self, unit: usize) {
        let ops = &self.units[unit];
        let reads = self.reads(ops);
        if self.defers(unit, &reads) || ops.iter().all(|&op| self.is_constant(op)) {
            return;
        }
        if self.join(unit, &reads) || self.open_for(unit) {
            return;
        }
        let results = self.results(unit);
        if let Some(open) = &mut self.open {
            open.pass_by(unit, &reads, results);
        }
    }

    fn results(&self, unit: usize) -> Vec<Value> {
        self.units[unit].iter().flat_map(|&op| self.plan.body[op].results.iter().copied()).collect()
    }

    /// Returns true if a unit is a view of what a later unit computes, or of such a view. Its results are then recorded
    /// as deferred.
    fn defers(&mut self, unit: usize, reads: &[Value]) -> bool {
        let [op] = self.units[unit][..] else { return false };
        let is_later = |v: &Value| self.plan.body.def_op(*v).is_some_and(|op| self.unit_of.get(&op) > Some(&unit));
        let defers =
            is_view(self.plan, &self.plan.view(op)) && reads.iter().any(|v| self.deferred.contains(v) || is_later(v));
        if defers {
            self.deferred.extend(&self.plan.body[op].results);
        }
        defers
    }

    fn join(&mut self, unit: usize, reads: &[Value]) -> bool {
        let results = self.results(unit);
        let Some(open) = &mut self.open else { return false };
        if reads.iter().any(|v| open.late.contains(v)) || add(&mut open.builder, &self.units[unit]).is_none() {
            return false;
        }
        open.joined(unit, results);
        true
    }

    /// Closes the open run and opens one with this unit, if it has results and is for small programs. Otherwise changes
    /// nothing and returns false.
    fn open_for(&mut self, unit: usize) -> bool {
        let ops = &self.units[unit];
        let Some(&last) = self.results(unit).last() else { return false };
        let mut builder = Builder::new(self.plan, self.uses, self.plan.points(last));
        if add(&mut builder, ops).is_none() {
            return false;
        }
        self.close();
        let mut open = Open { builder, units: vec![], own: HashSet::new(), before: None, late: HashSet::new() };
        open.joined(unit, self.results(unit));
        self.open = Some(open);
        true
    }

    /// Adds the open run to the list if it has enough ops and results that are used.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let ops: Vec<Op> = open.units.iter().flat_map(|&unit| self.units[unit].iter().copied()).collect();
        let inside = self.inside(&ops, &open.builder.views);
        let outputs = self.outputs(&ops, &inside);
        if inside.len() < MIN_OPS || outputs.is_empty() {
            return;
        }
        let mut builder = open.builder;
        outputs.iter().for_each(|&v| builder.output(v));
        let Builder { code, points, inputs, .. } = builder;
        let before = open.before.unwrap_or(open.units.last().expect("a run has units") + 1);
        self.runs.push(Run { units: open.units, before, code, points, inputs, outputs, ops });
    }

    /// Returns the ops of a run, with those in their regions and those of its views that only the run reads.
    fn inside(&self, ops: &[Op], views: &[Op]) -> HashSet<Op> {
        let mut inside = HashSet::new();
        for &op in ops {
            let mut inner = vec![op];
            self.plan.body[op].regions.iter().for_each(|&r| self.plan.body.walk_region(r, &mut inner));
            inside.extend(inner);
        }
        for &view in views.iter().rev() {
            let mut uses = self.plan.body[view].results.iter().flat_map(|&v| self.uses.of(v));
            if uses.all(|u| inside.contains(&u.op)) {
                inside.insert(view);
            }
        }
        inside
    }

    /// Returns the results of the ops that others use. Kernels read through views, so that the operand of a view that
    /// others use is among them, too.
    fn outputs(&self, ops: &[Op], inside: &HashSet<Op>) -> Vec<Value> {
        let mut used = HashSet::new();
        for &op in ops.iter().rev() {
            let view = self.plan.view(op);
            let is_used = |v: &&Value| used.contains(*v) || self.uses.of(**v).iter().any(|u| !inside.contains(&u.op));
            let results: Vec<Value> = view.results().iter().filter(is_used).copied().collect();
            if !results.is_empty() && is_view(self.plan, &view) {
                used.insert(view.operand(0));
            }
            used.extend(results);
        }
        let results = ops.iter().flat_map(|&op| self.plan.body[op].results.iter().copied());
        results.filter(|v| used.contains(v)).collect()
    }

    fn is_constant(&self, op: Op) -> bool {
        constant_value(&self.plan.view(op)).is_some()
    }

    /// Returns the values that the ops read, with those from outside that their regions read. Constants are left out.
    fn reads(&self, ops: &[Op]) -> Vec<Value> {
        let of = |&op: &Op| {
            let view = self.plan.view(op);
            view.operands().iter().copied().chain(view.captured()).collect::<Vec<_>>()
        };
        let is_constant = |v: &Value| self.plan.body.def_op(*v).is_some_and(|op| self.is_constant(op));
        ops.iter().flat_map(of).filter(|v| !is_constant(v)).collect()
    }
}
