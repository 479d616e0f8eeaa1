//! The runs of a block, and their steps.

use super::build::Builder;
use crate::kernels::buffers::{own_or_copy_of, written as unique};
use crate::kernels::context::{PlanCx, operations};
use crate::kernels::fusion::is_view;
use crate::memory::{Buffer, OutOfMemory};
use crate::plan::{Input, Kernel, KernelCx, Points, Step, StepKind};
use crate::small::{self, Bytes, Code, Output};
use shardwise_ir::{Op, Uses, Value};
use shardwise_ops::constant_value;
use std::collections::{HashMap, HashSet};

/// The least number of ops of a run, constants and ops that only rename their operands included. One op alone is as
/// fast by its own kernel.
const MIN_OPS: usize = 2;

/// Some units of a block that run as one step.
pub struct Run {
    /// The numbers of the units, ascending.
    pub units: Vec<usize>,
    /// The unit in front of which the step is placed; the number of units if it is the last step.
    pub before: usize,
    code: Code,
    points: Points,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    ops: Vec<Op>,
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
    /// The results of views of values that later units compute, which read through the views.
    deferred: HashSet<Value>,
    open: Option<Open<'a, 'm>>,
    runs: Vec<Run>,
}

/// A run that more units may join.
struct Open<'a, 'm> {
    builder: Builder<'a, 'm>,
    units: Vec<usize>,
    /// What the ops of the run define.
    own: HashSet<Value>,
    /// The first unit that reads a result, if there is one.
    before: Option<usize>,
    /// The results of units from that one on that are in no run.
    late: HashSet<Value>,
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
        let results = ops.iter().flat_map(|&op| self.plan.body[op].results.iter().copied());
        if let Some(open) = &mut self.open {
            if open.before.is_none() && reads.iter().any(|v| open.own.contains(v)) {
                open.before = Some(unit);
            }
            if open.before.is_some() {
                open.late.extend(results);
            }
        }
    }

    /// Returns true if a unit is a view of what a later unit computes, or of such a view.
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
        let ops = &self.units[unit];
        let Some(open) = &mut self.open else { return false };
        if reads.iter().any(|v| open.late.contains(v)) || open.builder.add(ops).is_none() {
            return false;
        }
        open.units.push(unit);
        open.own.extend(ops.iter().flat_map(|&op| self.plan.body[op].results.iter().copied()));
        true
    }

    /// Closes the open run and opens one with this unit, if it is for small programs. Otherwise changes nothing and
    /// returns false.
    fn open_for(&mut self, unit: usize) -> bool {
        let ops = &self.units[unit];
        let Some(&last) = ops.last() else { return false };
        let view = self.plan.view(last);
        if view.results().is_empty() {
            return false;
        }
        let mut builder = Builder::new(self.plan, self.uses, self.plan.result_points(&view));
        if builder.add(ops).is_none() {
            return false;
        }
        self.close();
        let own = ops.iter().flat_map(|&op| self.plan.body[op].results.iter().copied()).collect();
        self.open = Some(Open { builder, units: vec![unit], own, before: None, late: HashSet::new() });
        true
    }

    /// Adds the open run to the list if it has enough ops and results that are used.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let ops: Vec<Op> = open.units.iter().flat_map(|&unit| self.units[unit].iter().copied()).collect();
        let mut inside: HashSet<Op> = ops.iter().copied().chain(open.builder.views.iter().copied()).collect();
        for &op in &ops {
            let mut inner = vec![];
            self.plan.body[op].regions.iter().for_each(|&r| self.plan.body.walk_region(r, &mut inner));
            inside.extend(inner);
        }
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

    /// Returns the values from outside that the ops read, with those that their regions read. Constants are left out.
    fn reads(&self, ops: &[Op]) -> Vec<Value> {
        let of = |&op: &Op| {
            let view = self.plan.view(op);
            view.operands().iter().copied().chain(view.captured()).collect::<Vec<_>>()
        };
        let is_constant = |v: &Value| self.plan.body.def_op(*v).is_some_and(|op| self.is_constant(op));
        ops.iter().flat_map(of).filter(|v| !is_constant(v)).collect()
    }
}

/// Returns the step of a run.
pub fn step(plan: &mut PlanCx<'_>, run: Run) -> Step {
    let last = plan.view(*run.ops.last().expect("a run has ops"));
    let inputs: Vec<Input> = run.inputs.iter().map(|&v| plan.input(v, &run.points)).collect();
    let outputs = run.outputs.iter().map(|&v| plan.slot(v)).collect();
    let mut names: Vec<&str> = vec![];
    let mut work = 0;
    for &op in &run.ops {
        let view = plan.view(op);
        let name = view.name().split_once('.').map_or(view.name(), |(_, op)| op);
        if !names.contains(&name) {
            names.push(name);
        }
        work += operations(&view);
    }
    let name = format!("small({})", names.join(", "));
    let kernel = SmallKernel { code: run.code };
    let mut step = plan.step_with(&last, StepKind::Kernel(Box::new(kernel)), inputs, outputs, run.points);
    (step.name, step.work, step.ops) = (name, work, run.ops);
    step
}

struct SmallKernel {
    code: Code,
}

impl Kernel for SmallKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for &i in cx.instances.clone().iter() {
            let mut written = self.written(cx, i)?;
            let mut results = self.results(cx)?;
            let mut inputs: Vec<Bytes<'_>> = vec![];
            for (k, own) in written.iter_mut().enumerate() {
                inputs.push(match own {
                    Some(own) => Bytes::Written(unique(own)),
                    None => Bytes::Read(cx.input(k, i).bytes()),
                });
            }
            let mut outputs: Vec<&mut [u8]> = results.iter_mut().map(unique).collect();
            self.code.run(&mut inputs, &mut outputs);
            self.set(cx, i, results, written);
        }
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        for &i in cx.instances.clone().iter() {
            let written = self.written(cx, i)?;
            let results = self.results(cx)?;
            self.set(cx, i, results, written);
        }
        Ok(())
    }
}

impl SmallKernel {
    /// Returns, for each input that the program writes, a buffer that has the input's contents and no other owner: the
    /// input's own, taken from `cx`, or a copy.
    fn written(&self, cx: &mut KernelCx<'_>, instance: usize) -> Result<Vec<Option<Buffer>>, OutOfMemory> {
        let own = |(k, input): (usize, &small::Input)| match *input {
            small::Input::Array { bytes, is_written: true } => own_or_copy_of(cx, k, instance, bytes).map(Some),
            _ => Ok(None),
        };
        self.code.inputs.iter().enumerate().map(own).collect()
    }

    /// Returns new buffers for the results that are small arrays.
    fn results(&self, cx: &KernelCx<'_>) -> Result<Vec<Buffer>, OutOfMemory> {
        let bytes = self.code.outputs.iter().filter_map(|output| match output {
            Output::Words(place, len) => Some(place.elem.size() * len),
            Output::Array(_) => None,
        });
        bytes.map(|bytes| cx.memory.allocate(bytes)).collect()
    }

    fn set(&self, cx: &mut KernelCx<'_>, instance: usize, results: Vec<Buffer>, written: Vec<Option<Buffer>>) {
        let mut results = results.into_iter();
        for (k, output) in self.code.outputs.iter().enumerate() {
            cx.outputs[k][instance] = match *output {
                Output::Words(..) => results.next(),
                Output::Array(input) => {
                    Some(written[input].as_ref().unwrap_or_else(|| cx.input(input, instance)).clone())
                }
            };
        }
    }
}
