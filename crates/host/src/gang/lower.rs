//! Converts a localized module to a plan.
//!
//! Values become slots, and ops become steps. An op with a row in the kernel table gets its kernel; any other pure op
//! runs by its reference evaluation. The axes over which a value varies were inferred before and are recorded on it. A
//! value without them is taken to vary everywhere.

use super::literal::fill;
use crate::kernels::{self, Group, KERNELS, PlanCx, Sum};
use crate::memory::{Buffer, Memory};
use crate::plan::*;
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, EntityVec, Literal, Mesh};
use shardwise_engine::NumberChecks;
use shardwise_ir::{Func, Module, Op, OpView, Region, Uses, Value};
use shardwise_ops::collective::{AxisIndexOp, CollectiveView};
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::{Opcode, Semantics, constant_value};
use std::collections::{BTreeSet, HashSet};

/// How a program is converted to a plan.
#[derive(Clone, Copy)]
pub struct Options {
    /// True if runs of ops on small arrays become one step each. It must be false if numbers are checked.
    pub runs_small: bool,
    /// If these checks refuse numbers, no ops are fused, except that views are read through. Each step that computes
    /// results, and is no loop or branch, then has steps around it that look for such numbers.
    pub checks: NumberChecks,
}

/// Converts `func`, which must have been verified, to a plan. Constants and positions of devices, whose values are
/// known before the run, get buffers from `memory`.
///
/// # Errors
/// Fails if an op cannot be run by this engine, or if there is no memory for such a value.
pub fn lower(module: &Module, func: &Func, memory: &Memory, options: Options) -> Result<Plan, Diagnostics> {
    let plan = PlanCx::new(module, func, &KERNELS);
    let mut lowering = Lowering { plan, options, memory, uses: Uses::compute(&func.body), constants: vec![] };
    let mut code = lowering.block(func.body.entry())?;
    let Lowering { plan, constants, .. } = lowering;
    let (slots, step_count) = plan.finish();
    set_timing(&mut code, &slots);
    Ok(Plan { slots, params: code.params.clone(), code, constants, step_count })
}

/// The ops of one step, if they join no run of ops on small arrays.
enum Unit {
    /// A product with the addition of its result.
    Sum(Sum),
    /// The ops of one block program.
    Group(Box<Group>),
    Op(Op),
}

impl Unit {
    fn ops(&self) -> Vec<Op> {
        match self {
            Unit::Sum(sum) => vec![sum.dot, sum.add],
            Unit::Group(group) => group.ops.clone(),
            Unit::Op(op) => vec![*op],
        }
    }
}

/// The state of converting one function.
struct Lowering<'m> {
    /// The slots so far, and the steps that prepare operands, which kernels extend.
    plan: PlanCx<'m>,
    options: Options,
    memory: &'m Memory,
    uses: Uses,
    constants: Vec<(Slot, Vec<Buffer>)>,
}

impl<'m> Lowering<'m> {
    fn block(&mut self, region: Region) -> Result<Code, Diagnostics> {
        let data = self.plan.body.region(region);
        let params = data.args.iter().map(|&v| self.plan.slot(v)).collect();
        let (&last, ops) = data.ops.split_last().expect("verified: a region has a terminator");
        // Ops of different lists are not fused.
        let list_size = if self.options.checks.any() { 1 } else { ops.len().max(1) };
        let mut steps = vec![];
        for ops in ops.chunks(list_size) {
            steps.append(&mut self.block_steps(ops)?);
        }
        let results: Vec<Slot> = self.plan.body[last].operands.iter().map(|&v| self.plan.slot(v)).collect();
        drop_dead(&mut steps, &results);
        if self.options.checks.any() {
            steps = steps.into_iter().flat_map(|step| self.watched(step)).collect();
        }
        let own_results = own_results(&steps, &results);
        let mut code = Code { params, steps, results, own_results };
        mark_drops(&mut code);
        Ok(code)
    }

    /// Returns a step with the steps that watch it. An alias is not watched, because it computes nothing, and neither
    /// is a step without outputs. A step that runs blocks is not watched, because the steps inside are.
    fn watched(&mut self, step: Step) -> Vec<Step> {
        let is_passive = matches!(step.kind, StepKind::Alias) || !step.kind.blocks().is_empty();
        if is_passive || step.outputs.is_empty() {
            return vec![step];
        }
        let [before, after] = self.plan.watches(&step, self.options.checks);
        vec![before, step, after]
    }

    /// Builds the steps of the ops of a block without its terminator. A fused group, or a product with the addition of
    /// its result, is one step at the position of its last op. Steps that prepare operands of a kernel come directly
    /// before it. A run of ops on small arrays is one step, which comes before the first step that reads one of its
    /// results. Fails as [`Lowering::op`] does for one of the ops.
    fn block_steps(&mut self, ops: &[Op]) -> Result<Vec<Step>, Diagnostics> {
        let units = self.units(ops);
        let members: Vec<Vec<Op>> = units.iter().map(Unit::ops).collect();
        let runs = if self.options.runs_small { kernels::runs(&self.plan, &members, &self.uses) } else { vec![] };
        let in_runs: HashSet<usize> = runs.iter().flat_map(|run| run.units.iter().copied()).collect();
        let (mut runs, mut steps) = (runs.into_iter().peekable(), vec![]);
        for (i, unit) in units.into_iter().map(Some).chain([None]).enumerate() {
            while let Some(run) = runs.next_if(|run| run.before == i) {
                steps.push(kernels::run_step(&mut self.plan, run));
            }
            let step = match unit {
                _ if in_runs.contains(&i) => None,
                Some(Unit::Sum(sum)) => Some(kernels::sum_step(&mut self.plan, &sum)),
                Some(Unit::Group(group)) => Some(kernels::fused_step(&mut self.plan, *group)),
                Some(Unit::Op(op)) => self.op(op)?,
                None => None,
            };
            steps.append(&mut self.plan.take_before());
            steps.extend(step);
        }
        Ok(steps)
    }

    /// Returns the units of some ops, in program order of their last ops. A unit that joins no run becomes a step,
    /// unless it is a constant.
    fn units(&self, ops: &[Op]) -> Vec<Unit> {
        let sums = kernels::sums(&self.plan, ops, &self.uses);
        let summed: HashSet<Op> = sums.iter().flat_map(|s| [s.add, s.dot]).collect();
        let groups = kernels::groups(&self.plan, ops, &self.uses, summed.clone());
        let claimed: HashSet<Op> = groups.iter().flat_map(|g| g.ops.iter().copied()).chain(summed).collect();
        let (mut groups, mut sums) = (groups.into_iter().peekable(), sums.into_iter().peekable());
        let mut units = vec![];
        for &op in ops {
            if let Some(sum) = sums.next_if(|s| s.add == op) {
                units.push(Unit::Sum(sum));
            } else if let Some(group) = groups.next_if(|g| g.ops.last() == Some(&op)) {
                units.push(Unit::Group(Box::new(group)));
            } else if !claimed.contains(&op) {
                units.push(Unit::Op(op));
            }
        }
        units
    }

    /// Builds the step of an op. Returns `None` if [`Lowering::constant`] has added its value to the constants. Fails
    /// if this engine cannot run the op or an op of its regions, or if there is no memory for a constant.
    fn op(&mut self, op: Op) -> Result<Option<Step>, Diagnostics> {
        let view = self.plan.view(op);
        if self.constant(&view)? {
            return Ok(None);
        }
        match Opcode::of_view(&view) {
            Opcode::While => return self.while_loop(&view).map(Some),
            Opcode::Case | Opcode::If => return self.case(&view).map(Some),
            Opcode::AsyncStart => return self.started(&view).map(Some),
            _ => {}
        }
        if let Some(step) = kernels::step(&mut self.plan, &view) {
            return Ok(Some(step));
        }
        match Opcode::of_view(&view).facts().semantics(&view) {
            Semantics::Pure => Ok(Some(self.with_captured(&view, |op, captured| StepKind::Evaluate { op, captured }))),
            Semantics::Identity => Ok(Some(self.plan.step_reading(&view, StepKind::Alias, unchanged_operands(&view)))),
            Semantics::Collective => match kernels::members(&self.plan, &view) {
                Some(members) => {
                    Ok(Some(self.with_captured(&view, |op, captured| StepKind::Exchange { op, captured, members })))
                }
                None => Err(unsupported(&view).into()),
            },
            Semantics::Control => Err(unsupported(&view).into()),
        }
    }

    /// Builds a step of the kind that `kind` returns for the op and the outer values that its regions use. These values
    /// are inputs of the step, after the op's operands.
    fn with_captured(&mut self, view: &OpView<'m>, kind: impl FnOnce(Op, Vec<Value>) -> StepKind) -> Step {
        let captured = view.captured();
        let mut step = self.plan.step(view, kind(view.op, captured.clone()));
        let inputs: Vec<Input> = captured.iter().map(|&v| self.plan.input(v, &step.points)).collect();
        step.inputs.extend(inputs);
        step
    }

    /// Adds the result of an op to the constants, with one buffer for each instance, if its value does not depend on
    /// the arguments and is computed when the program is planned. Returns false otherwise. Fails if there is no memory.
    fn constant(&mut self, view: &OpView<'m>) -> Result<bool, Diagnostics> {
        let points = self.plan.result_points(view);
        let at = |i: usize| points.coordinates(i);
        let value: Box<dyn Fn(usize) -> Literal> = match Opcode::of_view(view) {
            Opcode::Constant | Opcode::SdyConstant | Opcode::ChloConstant => {
                let literal = constant_value(view).expect("verified").clone();
                Box::new(move |_| literal.clone())
            }
            Opcode::AxisIndex => {
                let (mesh, axes) = AxisIndexOp::axes(view).expect("verified");
                let (mesh, axes) = (mesh.clone(), axes.to_vec());
                Box::new(move |i| Literal::scalar(AxisRef::index_in(&mesh, &axes, &at(i)) as i32))
            }
            Opcode::PartitionId => {
                let mesh = self.plan.mesh.clone();
                Box::new(move |i| Literal::scalar(mesh.as_ref().map_or(0, |m| m.device(m.position(&at(i)))) as u32))
            }
            Opcode::ReplicaId => Box::new(|_| Literal::scalar(0u32)),
            // The plan keeps the order, so a token holds nothing.
            Opcode::AfterAll | Opcode::CreateToken => Box::new(|_| Literal::zeros(DType::I1, vec![0])),
            _ => return Ok(false),
        };
        let mut buffers = vec![];
        for i in 0..points.count() {
            buffers.push(fill(self.memory, &value(i)).map_err(|e| e.diagnostic(view.loc()))?);
        }
        drop(value);
        let slot = self.plan.slot(view.result(0));
        self.constants.push((slot, buffers));
        Ok(true)
    }

    /// Builds the step of the op in an asynchronous start. It runs at once and writes into the future's slot. Fails as
    /// [`Lowering::op`] does, and if the op has no step or the region does not have one result.
    fn started(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let region = view.regions()[0];
        for (&arg, &operand) in self.plan.body[region].args.iter().zip(view.operands()) {
            self.plan.share_slot(arg, operand);
        }
        let Some(mut step) = self.op(self.plan.body[region].ops[0])? else { return Err(unsupported(view).into()) };
        let &[result] = self.plan.body.region_results(region) else { return Err(unsupported(view).into()) };
        self.plan.share_slot(view.result(0), result);
        step.name = format!("{}({})", view.name(), step.name);
        Ok(step)
    }

    fn while_loop(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let (cond_region, body_region) = (view.regions()[0], view.regions()[1]);
        let predicate = self.plan.body.region_results(cond_region)[0];
        let (cond, body) = (self.block(cond_region)?, self.block(body_region)?);
        let divergence = self.divergence(predicate, &[cond_region, body_region]);
        Ok(self.plan.step(view, StepKind::While { cond, body, divergence }))
    }

    fn case(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let branches = view.regions().iter().map(|&r| self.block(r)).collect::<Result<Vec<_>, _>>()?;
        let is_if = Opcode::of_view(view) == Opcode::If;
        let divergence = self.divergence(view.operand(0), view.regions());
        Ok(self.plan.step(view, StepKind::Case { branches, is_if, divergence }))
    }

    fn divergence(&self, predicate: Value, regions: &[Region]) -> Divergence {
        let points = self.plan.points(predicate);
        let mut apart = points.clone();
        let mut collective = None;
        if let Some(mesh) = &points.mesh {
            for (op, axes) in self.collectives(mesh, regions) {
                let rest: Vec<AxisRef> = apart.axes.iter().flat_map(|a| a.minus(mesh, &axes)).collect();
                if rest != apart.axes {
                    apart.axes = rest;
                    collective.get_or_insert(self.plan.body[op].loc.clone());
                }
            }
        }
        Divergence { apart, collective }
    }

    /// Returns the collectives in the regions, including inner ones, each with axes along which the members of a group
    /// may differ. Ops that only read the index or id of a device, and the start and end of an asynchronous op, are
    /// left out.
    fn collectives(&self, mesh: &Mesh, regions: &[Region]) -> Vec<(Op, Vec<AxisRef>)> {
        let mut ops = vec![];
        regions.iter().for_each(|&r| self.plan.body.walk_region(r, &mut ops));
        let groups_of = |op: Op| {
            let view = self.plan.view(op);
            let is_collective = Opcode::of_view(&view).facts().semantics(&view) == Semantics::Collective;
            let is_local = matches!(
                Opcode::of_view(&view),
                Opcode::AxisIndex | Opcode::PartitionId | Opcode::ReplicaId | Opcode::AsyncStart | Opcode::AsyncDone
            );
            let all = || mesh.all_axes().collect();
            let axes = CollectiveView::of(&view).map_or_else(all, |c| c.axes_between_members(mesh));
            (is_collective && !is_local).then_some((op, axes))
        };
        ops.into_iter().filter_map(groups_of).collect()
    }
}

/// The largest number of bytes that a small step with a kernel reads and writes, of all instances.
const SMALL_BYTES: usize = 4096;

/// The largest number of element operations of a small step with a kernel, of all instances.
const SMALL_WORK: u64 = 2048;

/// Sets how the steps of a block are measured. Returns true if all of them are small, as [`is_small`] decides, or loops
/// and branches of such steps only.
fn set_timing(code: &mut Code, slots: &EntityVec<Slot, SlotInfo>) -> bool {
    let (mut all_small, mut together) = (true, 0);
    for step in code.steps.iter_mut().rev() {
        let is_control = !step.kind.blocks().is_empty();
        // All blocks are set, whatever the first ones are.
        let blocks: Vec<bool> = step.kind.blocks_mut().into_iter().map(|block| set_timing(block, slots)).collect();
        let is_small = if is_control { !blocks.contains(&false) } else { is_small(step, slots) };
        all_small &= is_small;
        together = if is_small && !is_control { together + 1 } else { 0 };
        step.timing = match (is_small, is_control) {
            (true, true) => Timing::Whole,
            (true, false) => Timing::Together(together),
            (false, _) => Timing::Alone,
        };
    }
    all_small
}

/// Returns true if a step that is no loop or branch takes little time: an alias, or a kernel that exchanges no values
/// between devices and whose work and data are small.
fn is_small(step: &Step, slots: &EntityVec<Slot, SlotInfo>) -> bool {
    match &step.kind {
        StepKind::Alias => return true,
        StepKind::Kernel(kernel) if !kernel.is_collective() => {}
        _ => return false,
    }
    let used = step.inputs.iter().map(|input| input.slot).chain(step.outputs.iter().copied());
    let bytes = used.fold(0, |sum: usize, slot| sum.saturating_add(slots[slot].bytes));
    let count = step.instances.len();
    bytes.saturating_mul(count) <= SMALL_BYTES && step.work.saturating_mul(count as u64) <= SMALL_WORK
}

/// Removes evaluations, kernels and aliases whose outputs are not among `results` and are not read by a later step that
/// is kept, such as views that all users bypass. Steps of other kinds, and steps without outputs, are kept.
fn drop_dead(steps: &mut Vec<Step>, results: &[Slot]) {
    let mut read: HashSet<Slot> = results.iter().copied().collect();
    let mut kept = vec![];
    while let Some(step) = steps.pop() {
        let is_plain = matches!(step.kind, StepKind::Evaluate { .. } | StepKind::Alias | StepKind::Kernel(_));
        // A step without results is kept for its effect.
        if is_plain && !step.outputs.is_empty() && !step.outputs.iter().any(|s| read.contains(s)) {
            continue;
        }
        let mut used = vec![];
        slots_read(&step, &mut used);
        read.extend(used);
        kept.push(step);
    }
    kept.reverse();
    *steps = kept;
}

fn own_results(steps: &[Step], results: &[Slot]) -> Vec<Slot> {
    let outputs: BTreeSet<Slot> = steps.iter().flat_map(|s| s.outputs.iter().copied()).collect();
    let own: BTreeSet<Slot> = results.iter().copied().filter(|slot| outputs.contains(slot)).collect();
    own.into_iter().collect()
}

/// Records each slot that this block defines, as a parameter or as an output of a step, in `drops` of the last step
/// that reads or defines it. Results of the block are not recorded. A step reads what its inner blocks read.
fn mark_drops(code: &mut Code) {
    let mut seen: Vec<Slot> = code.results.clone();
    let own: BTreeSet<Slot> =
        code.params.iter().copied().chain(code.steps.iter().flat_map(|s| s.outputs.iter().copied())).collect();
    let mut live: BTreeSet<Slot> = seen.drain(..).collect();
    for step in code.steps.iter_mut().rev() {
        let mut used: Vec<Slot> = vec![];
        slots_read(step, &mut used);
        used.extend(step.outputs.iter().copied());
        used.sort_unstable();
        used.dedup();
        for slot in used {
            if own.contains(&slot) && live.insert(slot) {
                step.drops.push(slot);
            }
        }
    }
}

/// Adds every slot that a step reads to `out`, including those that its blocks read or return. A slot may occur several
/// times.
fn slots_read(step: &Step, out: &mut Vec<Slot>) {
    out.extend(step.inputs.iter().map(|i| i.slot));
    let block = |code: &Code| {
        out.extend(&code.results);
        code.steps.iter().for_each(|s| slots_read(s, out));
    };
    step.kind.blocks().into_iter().for_each(block);
}

fn unsupported(view: &OpView<'_>) -> Diagnostic {
    Diagnostic::error("op-unsupported", view.loc(), format!("`{}` cannot be run by the host engine", view.name()))
        .help("run the program's text on the reference interpreter: `shardwise run --engine interp`")
}
