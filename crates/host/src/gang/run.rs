//! Executes a plan.
//!
//! Values are lists of buffers, one for each instance. A step takes over the buffers of slots that it uses last, so
//! that a kernel that is their only owner may write into them.

pub mod predict;

use super::fallback;
use super::literal::fill;
use super::times::StepTimes;
use crate::memory::{Buffer, Memory, OutOfMemory};
use crate::plan::*;
use shardwise_base::{Diagnostic, Diagnostics, EntityVec, Literal, Loc, Stop, budget, listed};
use shardwise_engine::Found;
use shardwise_ir::{Func, Module};
use std::any::Any;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The reason why a run ended early.
pub enum RunError {
    Stopped(Stop),
    Diagnostic(Diagnostic),
    /// A kernel or a reference evaluation panicked with this message.
    Panicked(String),
}

impl From<Stop> for RunError {
    fn from(stop: Stop) -> RunError {
        RunError::Stopped(stop)
    }
}

impl From<OutOfMemory> for RunError {
    fn from(e: OutOfMemory) -> RunError {
        RunError::Stopped(Stop::Memory(e))
    }
}

impl From<Diagnostic> for RunError {
    fn from(d: Diagnostic) -> RunError {
        RunError::Diagnostic(d)
    }
}

/// One run of a plan.
pub struct Run<'a> {
    pub plan: &'a Plan,
    pub module: &'a Module,
    pub func: &'a Func,
    pub memory: &'a Memory,
    values: EntityVec<Slot, Buffers>,
    running: Option<Step<'a>>,
    /// The times of the steps, if they are measured.
    pub times: Option<StepTimes>,
    /// For each instance of the last watched step, true if it read a number which a check refuses. True for all if the
    /// step is a collective and one instance did.
    given: Vec<bool>,
}

/// The largest number of arrays that a message about memory lists.
const SHOWN_ARRAYS: usize = 3;

/// The instances that take part, which are those at one point of some axes.
#[derive(Clone, Copy)]
struct Selection<'a> {
    points: &'a Points,
    point: usize,
}

type Step<'a> = &'a crate::plan::Step;

impl<'a> Run<'a> {
    /// Returns a run of the plan that has not started.
    pub fn new(plan: &'a Plan, module: &'a Module, func: &'a Func, memory: &'a Memory) -> Run<'a> {
        let values = EntityVec::filled(plan.slots.len(), Buffers::new());
        Run { plan, module, func, memory, values, running: None, times: None, given: vec![] }
    }

    /// Returns the run, set to measure the time of each step.
    pub fn with_profile(mut self) -> Run<'a> {
        let held = self.plan.params.iter().chain(self.plan.constants.iter().map(|(slot, _)| slot));
        let held = held.map(|&slot| self.plan.slots[slot].all_bytes()).fold(0, usize::saturating_add);
        self.times = Some(StepTimes::new(self.plan.step_count, held));
        self
    }

    /// Runs the program once. `args[i]` has a buffer for each instance of parameter `i`. Returns, for each result, a
    /// buffer for each of its instances.
    ///
    /// # Errors
    /// Fails if the run is stopped, if an op fails, or if one panics. This `Run`, which holds what was computed, must
    /// then be dropped.
    pub fn run(&mut self, args: Vec<Vec<Buffer>>) -> Result<Vec<Vec<Buffer>>, Diagnostics> {
        for (slot, buffers) in &self.plan.constants {
            self.values[*slot] = buffers.iter().cloned().map(Some).collect();
        }
        for (slot, buffers) in self.plan.params.iter().zip(args) {
            self.values[*slot] = buffers.into_iter().map(Some).collect();
        }
        let _recording = self.times.as_ref().map(|times| times.recorder().enter());
        caught(|| self.steps(&self.plan.code, &[])).map_err(|e| self.report(e))?;
        let results = self.plan.code.results.iter().map(|&slot| self.values[slot].clone());
        Ok(results.map(|r| r.into_iter().map(|b| b.expect("every instance was computed")).collect()).collect())
    }

    fn report(&self, error: RunError) -> Diagnostics {
        match error {
            RunError::Diagnostic(d) => d.into(),
            RunError::Stopped(stop) => self.stopped(&stop).into(),
            RunError::Panicked(message) => match self.running {
                Some(step) => panicked(&step.loc, &step.name, &message).into(),
                None => panicked(&self.func.loc, &self.func.name, &message).into(),
            },
        }
    }

    fn stopped(&self, stop: &Stop) -> Diagnostic {
        let Some(step) = self.running else { return stop.diagnostic(&self.func.loc) };
        let d = stop.diagnostic(&step.loc).facts(format!("stopped at `{}`", step.name));
        match stop {
            Stop::Memory(_) => named(d, self.largest(step)),
            _ => d,
        }
    }

    /// Describes the largest arrays that are alive when a step runs, or that it reads or writes: at most
    /// [`SHOWN_ARRAYS`], the largest first. Of slots with the same first buffer, one is listed.
    fn largest(&self, step: Step<'a>) -> Vec<String> {
        let is_alive = |&slot: &Slot| self.values[slot].iter().any(Option::is_some);
        let used: Vec<Slot> = step.inputs.iter().map(|i| i.slot).chain(step.outputs.iter().copied()).collect();
        let all = self.plan.slots.keys();
        let mut found: Vec<Slot> = all.filter(|slot| is_alive(slot) || used.contains(slot)).collect();
        found.sort_by_key(|&slot| std::cmp::Reverse(self.plan.slots[slot].all_bytes()));
        let line = |&slot: &Slot| {
            let info = &self.plan.slots[slot];
            format!("{} bytes: {} of {} at {}", info.all_bytes(), info.count, info.ty.short(), info.loc)
        };
        let mut seen = HashSet::new();
        let is_first = |&&slot: &&Slot| {
            let first = self.values[slot].iter().flatten().next();
            first.is_none_or(|buffer| seen.insert(buffer.address()))
        };
        found.iter().filter(is_first).take(SHOWN_ARRAYS).map(line).collect()
    }

    fn steps(&mut self, code: &'a Code, selected: &[Selection<'a>]) -> Result<(), RunError> {
        if self.times.is_some() {
            return self.timed_steps(&code.steps, selected);
        }
        for step in &code.steps {
            self.fuel(step);
            self.step(step, selected)?;
            self.clear(&step.drops);
        }
        Ok(())
    }

    fn timed_steps(&mut self, steps: &'a [crate::plan::Step], selected: &[Selection<'a>]) -> Result<(), RunError> {
        if self.times.as_ref().is_some_and(|times| times.is_quiet) {
            return self.counted_steps(steps, selected);
        }
        for steps in measured_at_once(steps) {
            match steps[0].timing {
                Timing::Together(_) => self.timed_together(steps, selected)?,
                Timing::Alone | Timing::Whole => self.timed_alone(&steps[0], selected)?,
            }
        }
        Ok(())
    }

    fn counted_steps(&mut self, steps: &'a [crate::plan::Step], selected: &[Selection<'a>]) -> Result<(), RunError> {
        for step in steps {
            self.fuel(step);
            self.step(step, selected)?;
            self.clear(&step.drops);
            self.times.iter_mut().for_each(|times| times.count(step.id));
        }
        Ok(())
    }

    fn timed_together(&mut self, steps: &'a [crate::plan::Step], selected: &[Selection<'a>]) -> Result<(), RunError> {
        let instances = match steps {
            [only] => Self::instances(only, selected).len(),
            _ => 1,
        };
        let begun = self.times.as_mut().map(|times| {
            let begun = times.begin(steps[0].id, steps.len(), instances);
            times.runs_on();
            begun
        });
        self.counted_steps(steps, selected)?;
        if let (Some(begun), Some(times)) = (begun, &mut self.times) {
            times.end(steps[0].id, false, begun);
        }
        Ok(())
    }

    fn timed_alone(&mut self, step: Step<'a>, selected: &[Selection<'a>]) -> Result<(), RunError> {
        self.fuel(step);
        let instances = Self::instances(step, selected).len();
        let is_control = !step.kind.blocks().is_empty();
        let begun = self.times.as_mut().map(|times| {
            let begun = times.begin(step.id, 1, instances);
            times.is_quiet = step.timing == Timing::Whole;
            if !is_control {
                times.runs_on();
            }
            begun
        });
        self.step(step, selected)?;
        if let Some(times) = &mut self.times {
            times.is_quiet = false;
            if !is_control {
                times.computed();
            }
        }
        self.clear(&step.drops);
        if let (Some(begun), Some(times)) = (begun, &mut self.times) {
            times.end(step.id, true, begun);
        }
        Ok(())
    }

    fn clear(&mut self, slots: &[Slot]) {
        slots.iter().for_each(|&slot| self.values[slot] = Buffers::new());
    }

    fn fuel(&mut self, step: Step<'a>) {
        self.running = Some(step);
        budget::take_steps(step.points.count() as u64);
    }

    fn step(&mut self, step: Step<'a>, selected: &[Selection<'a>]) -> Result<(), RunError> {
        match &step.kind {
            StepKind::Evaluate { op, captured } => self.evaluate(step, *op, captured, selected),
            StepKind::Alias => {
                self.alias(step);
                Ok(())
            }
            StepKind::Kernel(kernel) => self.kernel(step, &**kernel, selected),
            StepKind::Watch(watch) => Ok(self.watch(step, watch, selected)?),
            StepKind::Exchange { op, captured, members } => self.exchange(step, *op, captured, members, selected),
            StepKind::Permute(sources) => self.permute(step, sources, selected),
            StepKind::While { cond, body, divergence } => self.while_loop(step, cond, body, divergence, selected),
            StepKind::Case { branches, is_if, divergence } => self.case(step, branches, *is_if, divergence, selected),
        }
    }

    fn instances(step: Step<'a>, selected: &[Selection<'a>]) -> Cow<'a, [usize]> {
        if selected.is_empty() {
            return Cow::Borrowed(&step.instances);
        }
        step.instances.iter().copied().filter(|&i| takes_part(&step.points, i, selected)).collect()
    }

    fn evaluate(
        &mut self,
        step: Step<'a>,
        op: shardwise_ir::Op,
        captured: &[shardwise_ir::Value],
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        let view = self.module.view(&self.func.body, op);
        for &i in Self::instances(step, selected).iter() {
            let operands: Vec<&Buffer> = step.inputs.iter().map(|input| self.buffer(input, i)).collect();
            let results = fallback::evaluate(&view, &operands, captured)?;
            for (slot, literal) in step.outputs.iter().zip(results) {
                let buffer = fill(self.memory, &literal)?;
                self.set(step, *slot, i, buffer);
            }
        }
        Ok(())
    }

    /// Runs a collective by its reference, once for each group, and puts each selected instance's result into the
    /// output. An instance without a group gets zeros. The members differ in the first operand only. All other values
    /// that the op reads are those of the first device of the group, so groups that have the same instances of the
    /// first operand and other first devices run separately. Fails if the reference does, or if there is no memory.
    fn exchange(
        &mut self,
        step: Step<'a>,
        op: shardwise_ir::Op,
        captured: &[shardwise_ir::Value],
        members: &Members,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        let view = self.module.view(&self.func.body, op);
        let mut known: HashMap<(&[u32], usize), Vec<Literal>> = HashMap::new();
        for &i in Self::instances(step, selected).iter() {
            let group = &members.groups[i][..];
            if group.is_empty() {
                let slot = step.outputs[0];
                let zeros = self.memory.allocate_zeroed(self.plan.slots[slot].bytes)?;
                self.set(step, slot, i, zeros);
                continue;
            }
            let first = members.firsts[i];
            let results = match known.entry((group, first)) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    let part = |&m: &u32| self.values[step.inputs[0].slot][m as usize].as_ref();
                    let parts: Vec<&Buffer> =
                        group.iter().map(|m| part(m).expect("computed before it is used")).collect();
                    let others: Vec<&Buffer> = step.inputs[1..].iter().map(|input| self.buffer(input, first)).collect();
                    new.insert(fallback::exchange(&view, &parts, &others, captured)?)
                }
            };
            let buffer = fill(self.memory, &results[members.positions[i]])?;
            self.set(step, step.outputs[0], i, buffer);
        }
        Ok(())
    }

    /// Looks for numbers that a check refuses. Before a step, records the instances that read one, or all if one does
    /// and the step is a collective. After it, fails if such a number is in a result of an instance that is not
    /// recorded.
    fn watch(&mut self, step: Step<'a>, watch: &Watch, selected: &[Selection<'a>]) -> Result<(), Diagnostic> {
        let instances = Self::instances(step, selected);
        // The numbers of refused elements and of all elements of an instance, on the device for which most are refused.
        // Devices that share an instance may have different parts of it in common with the whole array.
        let counts = |input: &Input, i: usize| {
            let (SlotInfo { ty, padding, .. }, bytes) = (&self.plan.slots[input.slot], self.buffer(input, i).bytes());
            let (padding, mesh) = (padding.as_ref().map(|dims| &dims[..]), step.points.mesh.as_deref());
            let devices = if padding.is_some() { step.points.devices(i) } else { vec![0] };
            let of_device = |position: usize| watch.checks.count_in_part(ty, bytes, padding, mesh, position);
            devices.into_iter().map(of_device).max().unwrap_or((0, 0))
        };
        let count = |input: &Input, i: usize| counts(input, i).0;
        if watch.is_before {
            let mut given = vec![false; step.points.count()];
            instances.iter().for_each(|&i| given[i] = step.inputs.iter().any(|input| count(input, i) > 0));
            if watch.is_collective && given.contains(&true) {
                given.fill(true);
            }
            self.given = given;
            return Ok(());
        }
        for input in &step.inputs {
            let ty = &self.plan.slots[input.slot].ty;
            let found = instances.iter().filter(|&&i| !self.given[i]);
            let found = found.map(|&i| (i, counts(input, i))).filter(|(_, (count, _))| *count > 0);
            let part = |(i, (count, size))| Found { devices: step.points.devices(i), count, size };
            let found: Vec<Found> = found.map(part).collect();
            if !found.is_empty() {
                let mesh = step.points.mesh.as_deref();
                return Err(watch.checks.error(&step.name, &step.loc, &ty.short(), &found, mesh));
            }
        }
        Ok(())
    }

    fn buffer(&self, input: &Input, instance: usize) -> &Buffer {
        self.values[input.slot][input.map[instance] as usize].as_ref().expect("computed before it is used")
    }

    /// Puts one instance of a result of a step into a slot. Panics if the buffer does not have the bytes of the slot's
    /// type, on which readers of the slot rely.
    fn set(&mut self, step: Step<'a>, slot: Slot, instance: usize, buffer: Buffer) {
        self.check(step, slot, &buffer);
        self.place(slot, instance, buffer);
    }

    fn set_all(&mut self, step: Step<'a>, slot: Slot, buffers: Buffers) {
        assert_eq!(buffers.len(), self.plan.slots[slot].count, "a buffer for each instance");
        for buffer in &buffers {
            self.check(step, slot, buffer.as_ref().expect("a kernel sets every instance that it is asked for"));
        }
        self.values[slot] = buffers;
    }

    fn check(&self, step: Step<'a>, slot: Slot, buffer: &Buffer) {
        let info = &self.plan.slots[slot];
        assert_eq!(buffer.len(), info.bytes, "`{}` at {} yields bytes of {}", step.name, step.loc, info.ty.short());
    }

    fn place(&mut self, slot: Slot, instance: usize, buffer: Buffer) {
        let value = &mut self.values[slot];
        value.resize(self.plan.slots[slot].count, None);
        value[instance] = Some(buffer);
    }

    fn alias(&mut self, step: Step<'a>) {
        for (input, &output) in step.inputs.iter().zip(&step.outputs) {
            self.values[output] = self.moved(input.slot, output);
        }
    }

    fn permute(&mut self, step: Step<'a>, sources: &[Option<u32>], selected: &[Selection<'a>]) -> Result<(), RunError> {
        let slot = step.inputs[0].slot;
        let bytes = self.plan.slots[slot].bytes;
        for &i in &*Self::instances(step, selected) {
            let buffer = match sources[i] {
                Some(s) => self.values[slot][s as usize].clone().expect("computed"),
                None => self.memory.allocate_zeroed(bytes)?,
            };
            self.set(step, step.outputs[0], i, buffer);
        }
        Ok(())
    }

    fn kernel(&mut self, step: Step<'a>, kernel: &dyn Kernel, selected: &[Selection<'a>]) -> Result<(), RunError> {
        let mut cx = self.context(step, selected);
        if !kernel.takes_steps() {
            budget::take_operations(step.work.saturating_mul(cx.instances.len() as u64));
        }
        kernel.check(&cx)?;
        kernel.run(&mut cx)?;
        // The inputs that the kernel took are still there.
        self.times.iter_mut().for_each(StepTimes::computed);
        self.finish(cx, selected);
        Ok(())
    }

    /// Returns the context for the kernel of a step. The buffers of a slot are moved into it if the slot is among the
    /// step's `drops` and only one input of the step reads it. Otherwise, the context and the run share them.
    fn context(&mut self, step: Step<'a>, selected: &[Selection<'a>]) -> KernelCx<'a> {
        let take = |values: &mut EntityVec<Slot, Buffers>, input: &Input| {
            let is_last = step.drops.contains(&input.slot)
                && step.inputs.iter().filter(|other| other.slot == input.slot).count() == 1;
            let value = &mut values[input.slot];
            if is_last { std::mem::take(value) } else { value.clone() }
        };
        let inputs = step.inputs.iter().map(|input| take(&mut self.values, input)).collect();
        let outputs = step.outputs.iter().map(|_| Buffers::from_elem(None, step.instances.len())).collect();
        let instances = Self::instances(step, selected);
        KernelCx { step, inputs, outputs, instances, memory: self.memory }
    }

    /// Puts the results of a kernel into the slots of its outputs. The inputs that it took are released after that.
    fn finish(&mut self, cx: KernelCx<'a>, selected: &[Selection<'a>]) {
        let KernelCx { step, inputs: _inputs, instances, outputs, .. } = cx;
        for (&slot, mut output) in step.outputs.iter().zip(outputs) {
            if selected.is_empty() {
                self.set_all(step, slot, output);
                continue;
            }
            for &i in instances.iter() {
                let buffer = output[i].take().expect("a kernel sets every instance that it is asked for");
                self.set(step, slot, i, buffer);
            }
        }
    }

    /// Returns the value of a predicate or index at each of its instances. Instances that were not computed have the
    /// value 0.
    fn predicate(&self, slot: Slot) -> Vec<i64> {
        let ty = &self.plan.slots[slot].ty;
        let read = |b: &Option<Buffer>| match (b, ty.dtype.storage_bytes()) {
            (Some(b), 1) => i64::from(b.bytes()[0] != 0),
            (Some(b), _) => i64::from(i32::from_le_bytes(b.bytes()[..4].try_into().expect("four bytes"))),
            (None, _) => 0,
        };
        self.values[slot].iter().map(read).collect()
    }

    fn while_loop(
        &mut self,
        step: Step<'a>,
        cond: &'a Code,
        body: &'a Code,
        divergence: &'a Divergence,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        for inner in selections(divergence, selected) {
            self.loop_together(step, cond, body, divergence, &inner)?;
        }
        Ok(())
    }

    fn loop_together(
        &mut self,
        step: Step<'a>,
        cond: &'a Code,
        body: &'a Code,
        divergence: &'a Divergence,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        self.enter_loop(step, body, selected);
        let outer = self.times.as_mut().and_then(|times| times.turn.replace(0));
        loop {
            self.fuel(step);
            self.bind(&body.params, &cond.params, selected);
            self.steps(cond, selected)?;
            if !self.agreed(cond.results[0], divergence, selected, step, |predicate| predicate != 0)? {
                break;
            }
            self.clear(&cond.params);
            self.steps(body, selected)?;
            self.hand_over(body, &body.params, selected);
            self.times.iter_mut().for_each(StepTimes::next_turn);
        }
        self.times.iter_mut().for_each(|times| times.turn = outer);
        self.clear(&cond.params);
        self.leave_loop(step, body, selected);
        Ok(())
    }

    fn enter_loop(&mut self, step: Step<'a>, body: &'a Code, selected: &[Selection<'a>]) {
        let sources: Vec<Slot> = step.inputs.iter().map(|i| i.slot).collect();
        self.bind(&sources, &body.params, selected);
    }

    fn leave_loop(&mut self, step: Step<'a>, body: &'a Code, selected: &[Selection<'a>]) {
        self.bind(&body.params, &step.outputs, selected);
        self.clear(&body.params);
    }

    /// Returns what the predicate or index of the selected instances decides: the result of `decided` for it. Fails if
    /// this differs between them. Panics if no instance is selected.
    fn agreed<T: PartialEq>(
        &self,
        slot: Slot,
        divergence: &Divergence,
        selected: &[Selection<'a>],
        step: Step<'a>,
        decided: impl Fn(i64) -> T,
    ) -> Result<T, RunError> {
        let own = &self.plan.slots[slot].points;
        let values = self.predicate(slot);
        let chosen: Vec<usize> = (0..values.len()).filter(|&i| takes_part(own, i, selected)).collect();
        let first = decided(values[*chosen.first().expect("a region runs for devices that hold its predicate")]);
        match chosen.iter().find(|&&i| decided(values[i]) != first) {
            None => Ok(first),
            Some(_) => {
                let found: Vec<(i64, Vec<usize>)> = chosen.iter().map(|&i| (values[i], own.devices(i))).collect();
                Err(disagree(own, found, step, divergence).into())
            }
        }
    }

    /// Assigns the buffers of the slots `from` to the slots `to`, for the selected instances. All of them are read
    /// before the first is assigned.
    fn bind(&mut self, from: &[Slot], to: &[Slot], selected: &[Selection<'a>]) {
        let values: Several = from.iter().zip(to).map(|(&f, &t)| self.moved(f, t)).collect();
        self.assign(to, values, selected);
    }

    fn hand_over(&mut self, code: &'a Code, to: &[Slot], selected: &[Selection<'a>]) {
        self.bind(&code.results, to, selected);
        // The block's own references are dropped, so that the next users of the values may write in place.
        self.clear(&code.own_results);
    }

    fn assign(&mut self, to: &[Slot], values: Several, selected: &[Selection<'a>]) {
        for (&t, value) in to.iter().zip(values) {
            if selected.is_empty() {
                self.values[t] = value;
                continue;
            }
            let points = &self.plan.slots[t].points;
            for (i, buffer) in value.into_iter().enumerate() {
                if let (true, Some(buffer)) = (takes_part(points, i, selected), buffer) {
                    self.place(t, i, buffer);
                }
            }
        }
    }

    /// Returns, for each instance of `to`, the buffer of `from` on the first device that holds the instance of `to`, or
    /// `None` if that buffer was not computed. If nothing of `from` was computed, the list may be empty instead.
    fn moved(&self, from: Slot, to: Slot) -> Buffers {
        let (source, target) = (&self.plan.slots[from].points, &self.plan.slots[to].points);
        let value = &self.values[from];
        if source.axes == target.axes {
            return value.clone();
        }
        target.map_to(source).into_iter().map(|i| value.get(i as usize).cloned().flatten()).collect()
    }

    fn case(
        &mut self,
        step: Step<'a>,
        branches: &'a [Code],
        is_if: bool,
        divergence: &'a Divergence,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        for inner in selections(divergence, selected) {
            self.branch(step, branches, is_if, divergence, &inner)?;
        }
        Ok(())
    }

    fn branch(
        &mut self,
        step: Step<'a>,
        branches: &'a [Code],
        is_if: bool,
        divergence: &Divergence,
        selected: &[Selection<'a>],
    ) -> Result<(), RunError> {
        let last = branches.len() - 1;
        let number = |index: i64| {
            let index = if is_if { 1 - index } else { index };
            usize::try_from(index).map_or(last, |i| i.min(last))
        };
        let branch = &branches[self.agreed(step.inputs[0].slot, divergence, selected, step, number)?];
        self.steps(branch, selected)?;
        self.hand_over(branch, &step.outputs, selected);
        Ok(())
    }
}

/// Runs `steps`. Fails if it does, and if it is stopped or panics, which become errors. The caller must then drop what
/// the run had computed.
fn caught(steps: impl FnOnce() -> Result<(), RunError>) -> Result<(), RunError> {
    match catch_unwind(AssertUnwindSafe(|| Stop::catch(steps))) {
        Ok(ended) => ended.unwrap_or_else(|stop| Err(stop.into())),
        Err(payload) => Err(RunError::Panicked(message_of(&*payload).to_string())),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

fn panicked(loc: &Loc, name: &str, message: &str) -> Diagnostic {
    Diagnostic::error("run-panicked", loc, format!("`{name}` panicked: {message}"))
        .help("this is a bug of the engine or of a user's kernel: please report the program that shows it")
}

fn named(d: Diagnostic, arrays: Vec<String>) -> Diagnostic {
    arrays.into_iter().fold(d, Diagnostic::facts)
}

/// Returns true if instance `i` of these points is selected: for each selection, some device that holds the instance is
/// at the selected point. If there are no selections, every instance is selected.
fn takes_part(points: &Points, i: usize, selected: &[Selection<'_>]) -> bool {
    selected.iter().all(|s| points.is_at(i, s.points, s.point))
}

/// Returns the lists of selections for which the regions of a loop or branch run, one after the other. There is one
/// list for each point for which they run separately and that is selected. It has `selected`, followed by that point.
/// If `selected` fixes the point already, `selected` is the only list.
fn selections<'a>(divergence: &'a Divergence, selected: &[Selection<'a>]) -> Vec<Vec<Selection<'a>>> {
    let points = &divergence.apart;
    if covered(points, selected) {
        return vec![selected.to_vec()];
    }
    let at = |point: usize| selected.iter().copied().chain([Selection { points, point }]).collect();
    (0..points.count()).filter(|&p| takes_part(points, p, selected)).map(at).collect()
}

/// Returns true if the selections already fix the position along all axes of these points.
fn covered(points: &Points, selected: &[Selection<'_>]) -> bool {
    let Some(mesh) = &points.mesh else { return true };
    let fixed: Vec<_> = selected.iter().flat_map(|s| s.points.axes.iter().copied()).collect();
    points.axes.iter().all(|a| a.minus(mesh, &fixed).is_empty())
}

/// The largest number of devices that a message lists for each value of a predicate.
const MAX_SHOWN: usize = 32;

/// Returns the error for a loop or branch that has a collective inside and whose predicate differs between devices.
/// `found` has the value and the devices of each instance.
fn disagree(points: &Points, found: Vec<(i64, Vec<usize>)>, step: Step<'_>, divergence: &Divergence) -> Diagnostic {
    let collective = divergence.collective.clone().unwrap_or(Loc::UNKNOWN);
    let mut sides: Vec<(i64, Vec<usize>)> = vec![];
    for (value, devices) in found {
        match sides.iter_mut().find(|(v, _)| *v == value) {
            Some((_, all)) => all.extend(devices),
            None => sides.push((value, devices)),
        }
    }
    let message = format!(
        "the predicate or index of `{}` differs between devices along axes along which a collective in its regions \
         exchanges values",
        step.name
    );
    let mut d = Diagnostic::error("collective-incomplete", &step.loc, message)
        .facts(format!("a collective in its regions is at {collective}"));
    for (value, mut devices) in sides {
        devices.sort_unstable();
        d = d.facts(format!("value {value} on devices {}", listed(&devices, MAX_SHOWN)));
    }
    if let Some(mesh) = &points.mesh {
        d = d.mesh(mesh);
    }
    d.help(
        "make the predicate or index equal along all axes along which devices of a group of the collective differ, or \
         move the collective out",
    )
}
