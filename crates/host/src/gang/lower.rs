//! Converts a localized module to a plan.
//!
//! Values become slots, and ops become steps. An op with a row in the kernel table gets its kernel; any other pure op
//! runs by its reference evaluation. The axes over which a value varies were inferred before and are recorded on it. A
//! value without them is taken to vary everywhere.

use super::plan::*;
use super::points::Points;
use crate::kernels;
use crate::memory::{Buffer, Memory};
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, Literal, Loc, Mesh, Varying, budget};
use shardwise_ir::{Attr, Body, Func, Module, Op, OpView, Region, TensorType, Uses, Value};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups, Senders};
use shardwise_ops::{Opcode, Semantics};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Converts `func` to a plan.
pub fn lower(module: &Module, func: &Func, memory: &Memory) -> Result<Plan, Diagnostics> {
    let mut lowering = Lowering {
        module,
        body: &func.body,
        mesh: module.main_mesh().cloned(),
        memory,
        uses: Uses::compute(&func.body),
        slots: vec![],
        slot_of: vec![None; func.body.value_count()],
        constants: vec![],
        step_count: 0,
        before: vec![],
    };
    let code = lowering.block(func.body.entry())?;
    let Lowering { slots, constants, step_count, .. } = lowering;
    Ok(Plan { slots, params: code.params.clone(), code, constants, step_count })
}

/// The state of converting one function.
pub struct Lowering<'m> {
    pub module: &'m Module,
    pub body: &'m Body,
    pub mesh: Option<Arc<Mesh>>,
    pub memory: &'m Memory,
    uses: Uses,
    slots: Vec<SlotInfo>,
    slot_of: Vec<Option<Slot>>,
    constants: Vec<(Slot, Vec<Buffer>)>,
    step_count: usize,
    /// The steps that must run before the step that is being built.
    before: Vec<Step>,
}

impl<'m> Lowering<'m> {
    /// Returns a view of an op of the function.
    pub fn view(&self, op: Op) -> OpView<'m> {
        OpView::new(self.module, self.body, op)
    }

    /// Returns the points over which a value varies.
    pub fn points(&self, v: Value) -> Points {
        let varying = self.body.value(v).varying.clone().unwrap_or(Varying::Everywhere);
        Points::new(self.mesh.as_ref(), &varying)
    }

    /// Returns the slot of a value, which is created at its first use.
    pub fn slot(&mut self, v: Value) -> Slot {
        if let Some(slot) = self.slot_of[v.index()] {
            return slot;
        }
        let ty = self.body.ty(v).as_tensor().cloned();
        let ty = ty.unwrap_or_else(|| TensorType::new(DType::I1, vec![0]));
        let slot = self.temporary(ty, self.points(v), self.body.value(v).loc.clone());
        self.slot_of[v.index()] = Some(slot);
        slot
    }

    /// Creates a slot for a value that is not in the program.
    pub fn temporary(&mut self, ty: TensorType, points: Points, loc: Loc) -> Slot {
        self.slots.push(SlotInfo::new(ty, points, loc));
        Slot(self.slots.len() as u32 - 1)
    }

    /// Adds a step that must run before the step that is being built.
    pub fn before(&mut self, mut step: Step) {
        // The step only moves elements, whatever the op that needs it computes.
        step.work = step.outputs.iter().map(|s| self.slots[s.index()].ty.size() as u64).sum();
        self.before.push(step);
    }

    /// Returns an input for which the instances of `points` read from `v`.
    pub fn input(&mut self, v: Value, points: &Points) -> Input {
        let map = points.map_to(&self.points(v));
        Input::new(self.slot(v), map)
    }

    fn block(&mut self, region: Region) -> Result<Code, Diagnostics> {
        let data = self.body.region(region);
        let params = data.args.iter().map(|&v| self.slot(v)).collect();
        let (&last, ops) = data.ops.split_last().expect("verified: a region has a terminator");
        let mut steps = self.block_steps(ops)?;
        let results: Vec<Slot> = self.body[last].operands.iter().map(|&v| self.slot(v)).collect();
        drop_dead(&mut steps, &results);
        let own_results = own_results(&steps, &results);
        let mut code = Code { params, steps, results, own_results };
        mark_drops(&mut code);
        Ok(code)
    }

    /// Builds the steps of a block, with each fused group at the position of its root.
    fn block_steps(&mut self, ops: &[Op]) -> Result<Vec<Step>, Diagnostics> {
        let sums = kernels::sums(self, ops, &self.uses);
        let summed: HashSet<Op> = sums.iter().flat_map(|s| [s.add, s.dot]).collect();
        let groups = kernels::groups(self, ops, &self.uses, summed.clone());
        let claimed: HashSet<Op> = groups.iter().flat_map(|g| g.ops.iter().copied()).chain(summed).collect();
        let (mut groups, mut sums) = (groups.into_iter().peekable(), sums.into_iter().peekable());
        let mut steps = vec![];
        for &op in ops {
            let step = if let Some(sum) = sums.next_if(|s| s.add == op) {
                Some(kernels::sum_step(self, &sum))
            } else if let Some(group) = groups.next_if(|g| g.ops.last() == Some(&op)) {
                Some(kernels::fused_step(self, group))
            } else if claimed.contains(&op) {
                None
            } else {
                self.op(op)?
            };
            steps.append(&mut self.before);
            steps.extend(step);
        }
        Ok(steps)
    }

    /// Builds the step of an op. Returns `None` for a constant.
    fn op(&mut self, op: Op) -> Result<Option<Step>, Diagnostics> {
        let view = self.view(op);
        if self.constant(&view)? {
            return Ok(None);
        }
        match Opcode::of_view(&view) {
            Opcode::While => return self.while_loop(&view).map(Some),
            Opcode::Case | Opcode::If => return self.case(&view).map(Some),
            Opcode::CollectivePermute => return self.permute(&view).map(Some),
            Opcode::AsyncStart => return self.started(&view).map(Some),
            Opcode::OptimizationBarrier | Opcode::AsyncDone => return Ok(Some(self.step(&view, StepKind::Alias))),
            _ => {}
        }
        if let Some(step) = kernels::step(self, &view) {
            return Ok(Some(step));
        }
        match Opcode::of_view(&view).facts().semantics(&view) {
            Semantics::Pure => Ok(Some(self.with_captured(&view, |op, captured| StepKind::Evaluate { op, captured }))),
            Semantics::Identity => Ok(Some(self.step(&view, StepKind::Alias))),
            Semantics::Collective => match kernels::members(self, &view) {
                Some(members) => {
                    Ok(Some(self.with_captured(&view, |op, captured| StepKind::Exchange { op, captured, members })))
                }
                None => Err(unsupported(&view).into()),
            },
            Semantics::Control => Err(unsupported(&view).into()),
        }
    }

    /// Builds a step that runs an op's reference evaluation, with the values that the op's regions use as inputs.
    fn with_captured(&mut self, view: &OpView<'m>, kind: impl FnOnce(Op, Vec<Value>) -> StepKind) -> Step {
        let captured = captured(view);
        let mut step = self.step(view, kind(view.op, captured.clone()));
        let inputs: Vec<Input> = captured.iter().map(|&v| self.input(v, &step.points)).collect();
        step.inputs.extend(inputs);
        step
    }

    /// Builds a step whose instances are those of the op's results.
    pub fn step(&mut self, view: &OpView<'m>, kind: StepKind) -> Step {
        let points = self.step_points(view);
        let inputs = view.operands().iter().map(|&v| self.input(v, &points)).collect();
        let outputs = view.results().iter().map(|&v| self.slot(v)).collect();
        self.step_with(view, kind, inputs, outputs, points)
    }

    /// Builds a step with these inputs, outputs and instances.
    pub fn step_with(
        &mut self,
        view: &OpView<'m>,
        kind: StepKind,
        inputs: Vec<Input>,
        outputs: Vec<Slot>,
        points: Points,
    ) -> Step {
        let id = self.step_count;
        self.step_count += 1;
        let name = view.name().to_string();
        let work = if matches!(kind, StepKind::Kernel(_)) { operations(view) } else { 0 };
        let instances = (0..points.count()).collect();
        Step { id, kind, inputs, outputs, points, instances, loc: view.loc().clone(), name, work, drops: vec![] }
    }

    fn step_points(&self, view: &OpView<'m>) -> Points {
        view.results().first().map_or_else(|| Points::new(self.mesh.as_ref(), &Varying::Nowhere), |&v| self.points(v))
    }

    /// Evaluates constants and the indices of devices along axes, which are known now. Returns whether the op is one of
    /// these.
    fn constant(&mut self, view: &OpView<'m>) -> Result<bool, Diagnostics> {
        let points = self.step_points(view);
        let at = |i: usize| points.coordinates(i);
        let value: Box<dyn Fn(usize) -> Literal> = match Opcode::of_view(view) {
            Opcode::Constant => {
                let literal = view.attr("value").and_then(Attr::as_dense).expect("verified").clone();
                Box::new(move |_| literal.clone())
            }
            Opcode::AxisIndex => {
                let (mesh, axes) = view.attr("axes").and_then(Attr::as_axes).expect("verified");
                let (mesh, axes) = (mesh.clone(), axes.to_vec());
                Box::new(move |i| Literal::scalar(AxisRef::index_in(&mesh, &axes, &at(i)) as i32))
            }
            Opcode::PartitionId => {
                let mesh = self.mesh.clone();
                Box::new(move |i| Literal::scalar(mesh.as_ref().map_or(0, |m| m.device(m.position(&at(i)))) as u32))
            }
            Opcode::ReplicaId => Box::new(|_| Literal::scalar(0u32)),
            // The plan keeps the order, so a token holds nothing.
            Opcode::AfterAll | Opcode::CreateToken => Box::new(|_| Literal::zeros(DType::I1, vec![0])),
            _ => return Ok(false),
        };
        let mut buffers = vec![];
        for i in 0..points.count() {
            buffers.push(fill(self.memory, &value(i)).map_err(|e| out_of_memory(view, &e))?);
        }
        drop(value);
        let slot = self.slot(view.result(0));
        self.constants.push((slot, buffers));
        Ok(true)
    }

    fn permute(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let points = self.step_points(view);
        let source_points = self.points(view.operand(0));
        let Some(CollectiveView { kind: CollectiveKind::CollectivePermute { permutation }, .. }) =
            CollectiveView::of(view)
        else {
            return Err(unsupported(view).into());
        };
        let senders = self.mesh.as_ref().map(|mesh| Senders::new(&permutation, mesh));
        let from = |i: usize| -> Option<u32> {
            let source = senders.as_ref()?.sender(&points.coordinates(i))?;
            Some(source_points.instance(&source) as u32)
        };
        let sources = (0..points.count()).map(from).collect();
        Ok(self.step(view, StepKind::Permute(sources)))
    }

    /// Builds the op in an asynchronous start. It runs at once and writes into the future's slot.
    fn started(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let region = view.regions()[0];
        for (&arg, &operand) in self.body[region].args.iter().zip(view.operands()) {
            self.slot_of[arg.index()] = Some(self.slot(operand));
        }
        let Some(mut step) = self.op(self.body[region].ops[0])? else { return Err(unsupported(view).into()) };
        let &[result] = self.body.region_results(region) else { return Err(unsupported(view).into()) };
        self.slot_of[view.result(0).index()] = Some(self.slot(result));
        step.name = format!("{}({})", view.name(), step.name);
        Ok(step)
    }

    fn while_loop(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let (cond_region, body_region) = (view.regions()[0], view.regions()[1]);
        let predicate = self.body.region_results(cond_region)[0];
        let (cond, body) = (self.block(cond_region)?, self.block(body_region)?);
        let divergence = self.divergence(predicate, &[cond_region, body_region]);
        Ok(self.step(view, StepKind::While { cond, body, divergence }))
    }

    fn case(&mut self, view: &OpView<'m>) -> Result<Step, Diagnostics> {
        let branches = view.regions().iter().map(|&r| self.block(r)).collect::<Result<Vec<_>, _>>()?;
        let is_if = Opcode::of_view(view) == Opcode::If;
        let divergence = self.divergence(view.operand(0), view.regions());
        Ok(self.step(view, StepKind::Case { branches, is_if, divergence }))
    }

    fn divergence(&self, predicate: Value, regions: &[Region]) -> Divergence {
        let points = self.points(predicate);
        if points.count() == 1 {
            return Divergence::None;
        }
        match self.collective_over(&points, regions) {
            Some(op) => Divergence::MustAgree { collective: self.body[op].loc.clone() },
            None => Divergence::PerPoint(points),
        }
    }

    /// Returns a collective in the regions whose groups extend over several of the points.
    fn collective_over(&self, points: &Points, regions: &[Region]) -> Option<Op> {
        let mut ops = vec![];
        regions.iter().for_each(|&r| self.body.walk_region(r, &mut ops));
        let mesh = points.mesh.as_ref()?;
        ops.into_iter().find(|&op| {
            let view = self.view(op);
            let is_collective = Opcode::of_view(&view).facts().semantics(&view) == Semantics::Collective;
            let known = matches!(
                Opcode::of_view(&view),
                Opcode::AxisIndex | Opcode::PartitionId | Opcode::ReplicaId | Opcode::AsyncStart | Opcode::AsyncDone
            );
            let reaches = match CollectiveView::of(&view).map(|c| c.groups) {
                Some(Groups::Axes { axes, .. }) => {
                    axes.iter().any(|a| points.axes.iter().any(|p| p.overlaps(*a, mesh)))
                }
                _ => true,
            };
            is_collective && !known && reaches
        })
    }
}

/// Returns the number of element operations or multiply-adds of an op on one device. Two flops of a product count as
/// one multiply-add.
pub fn operations(view: &OpView<'_>) -> u64 {
    let size = |v: &Value| view.body.ty(*v).as_tensor().map_or(0, |t| t.size() as u64);
    let largest = view.operands().iter().chain(view.results()).map(size).max().unwrap_or(0);
    largest.max((Opcode::of_view(view).facts().cost(view).flops / 2.0) as u64)
}

/// Returns the values that the regions of an op use but do not define.
fn captured(view: &OpView<'_>) -> Vec<Value> {
    let mut ops = vec![];
    view.regions().iter().for_each(|&r| view.body.walk_region(r, &mut ops));
    let mut inner: HashSet<Value> = view.regions().iter().flat_map(|&r| view.body[r].args.iter().copied()).collect();
    for &op in &ops {
        inner.extend(&view.body[op].results);
        inner.extend(view.body[op].regions.iter().flat_map(|&r| view.body[r].args.iter().copied()));
    }
    let mut outer: Vec<Value> = ops.iter().flat_map(|&op| view.body[op].operands.iter().copied()).collect();
    outer.retain(|v| !inner.contains(v));
    outer.sort_unstable();
    outer.dedup();
    outer
}

/// Returns a buffer with the bytes of a literal.
pub fn fill(memory: &Memory, literal: &Literal) -> Result<Buffer, crate::memory::OutOfMemory> {
    let ty = TensorType::new(literal.dtype(), literal.shape().to_vec());
    let mut buffer = memory.allocate(ty.checked_bytes().unwrap_or(usize::MAX))?;
    let out = buffer.try_unique().expect("a new buffer has one owner");
    if literal.is_splat() {
        repeat(literal.raw_bytes(), out);
    } else {
        for (to, from) in out.chunks_mut(POLLED).zip(literal.raw_bytes().chunks(POLLED)) {
            budget::poll();
            to.copy_from_slice(from);
        }
    }
    Ok(buffer)
}

/// Number of bytes that are copied between two polls; a multiple of every element's size.
const POLLED: usize = 1 << 20;

/// Fills `out` with copies of an element.
fn repeat(element: &[u8], out: &mut [u8]) {
    let (first, rest) = out.split_at_mut(out.len().min(POLLED));
    first.chunks_exact_mut(element.len()).for_each(|to| to.copy_from_slice(element));
    for to in rest.chunks_mut(POLLED) {
        budget::poll();
        to.copy_from_slice(&first[..to.len()]);
    }
}

/// Removes steps whose results are never read, such as views that all users bypass.
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

/// Returns the `results` that are outputs of `steps`, each once.
fn own_results(steps: &[Step], results: &[Slot]) -> Vec<Slot> {
    let outputs: BTreeSet<Slot> = steps.iter().flat_map(|s| s.outputs.iter().copied()).collect();
    let own: BTreeSet<Slot> = results.iter().copied().filter(|slot| outputs.contains(slot)).collect();
    own.into_iter().collect()
}

/// Records at each step the slots of this block that no later step and no result reads.
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

/// Collects every slot that a step reads, including those that its blocks read.
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

fn out_of_memory(view: &OpView<'_>, e: &crate::memory::OutOfMemory) -> Diagnostic {
    Diagnostic::error("run-memory", view.loc(), e.to_string())
        .help("raise the memory limit, or split the arrays further")
}
