//! The part of the planner that kernels may use, and the form of the kernel table.
//!
//! A kernel is built by a function that takes the [`PlanCx`] of the function that is planned, and the op. It reads
//! other ops through the context, and adds slots and steps to the plan. The context has the kernel table, so that a
//! kernel can find out how an operand is computed.

use super::fusion::Access;
use crate::block::{Binary, Program, Unary, Value as BlockValue};
use crate::plan::{Input, Kernel, Points, Slot, SlotInfo, Step, StepKind, Timing, Watch};
use crate::small::Routine;
use shardwise_base::{DType, EntityVec, Loc, Mesh, Varying};
use shardwise_engine::NumberChecks;
use shardwise_ir::{Body, Func, Module, Op, OpView, TensorType, Value};
use shardwise_ops::Opcode;
use shardwise_ops::promote::is_promoted;
use std::sync::Arc;

/// The plan of one function while it is built: its slots, and the number of its steps. The caller keeps the steps.
pub struct PlanCx<'m> {
    pub body: &'m Body,
    pub mesh: Option<Arc<Mesh>>,
    module: &'m Module,
    kernels: &'static KernelTable,
    slots: EntityVec<Slot, SlotInfo>,
    slot_of: EntityVec<Value, Option<Slot>>,
    step_count: usize,
    /// The steps that must run before the step that is being built.
    before: Vec<Step>,
}

impl<'m> PlanCx<'m> {
    /// Returns the empty plan of a function.
    pub fn new(module: &'m Module, func: &'m Func, kernels: &'static KernelTable) -> PlanCx<'m> {
        PlanCx {
            body: &func.body,
            mesh: module.main_mesh().cloned(),
            module,
            kernels,
            slots: EntityVec::new(),
            slot_of: EntityVec::filled(func.body.value_count(), None),
            step_count: 0,
            before: vec![],
        }
    }

    /// Returns a view of an op of the function.
    pub fn view(&self, op: Op) -> OpView<'m> {
        OpView::new(self.module, self.body, op)
    }

    /// Returns how a block program computes an op. Returns `None` if the op has no row, or one that does not state it,
    /// if it does not meet the condition of its row, and if it converts operands before it reduces them.
    pub fn fused(&self, view: &OpView<'_>) -> Option<Fused> {
        let row = self.kernels.row(Opcode::of_view(view))?;
        row.fused.filter(|_| (row.is_fusable)(view) && !is_promoted(view))
    }

    /// Returns how a small program computes an op. Returns `None` if the op has no row, or one that does not state it,
    /// and if it converts operands before it reduces them.
    pub fn small(&self, view: &OpView<'_>) -> Option<Small> {
        self.kernels.row(Opcode::of_view(view))?.small.filter(|_| !is_promoted(view))
    }

    /// Returns the points over which a value varies. A value for which this was not inferred varies everywhere.
    pub fn points(&self, v: Value) -> Points {
        let varying = self.body.value(v).varying.clone().unwrap_or(Varying::Everywhere);
        Points::new(self.mesh.as_ref(), &varying)
    }

    /// Returns the points of the first result of an op. An op without results runs once.
    pub fn result_points(&self, view: &OpView<'_>) -> Points {
        view.results().first().map_or_else(|| Points::new(self.mesh.as_ref(), &Varying::Nowhere), |&v| self.points(v))
    }

    /// Returns the slot of a value, which is created at its first use. The slot of a value that is no tensor, such as a
    /// token, has the type of an empty array.
    pub fn slot(&mut self, v: Value) -> Slot {
        if let Some(slot) = self.slot_of[v] {
            return slot;
        }
        let ty = self.body.ty(v).as_tensor().cloned();
        let ty = ty.unwrap_or_else(|| TensorType::new(DType::I1, vec![0]));
        let slot = self.temporary(ty, self.points(v), self.body.value(v).loc.clone());
        self.slots[slot].padding = self.body.value(v).padding.clone();
        self.slot_of[v] = Some(slot);
        slot
    }

    /// Makes the slot of `other` the slot of `v`, too.
    pub fn share_slot(&mut self, v: Value, other: Value) {
        self.slot_of[v] = Some(self.slot(other));
    }

    /// Creates a slot that is not recorded as that of a value of the program.
    pub fn temporary(&mut self, ty: TensorType, points: Points, loc: Loc) -> Slot {
        self.slots.push(SlotInfo::new(ty, points, loc))
    }

    /// Returns an input of a step whose instances are `points`. Each instance of the step reads the instance of `v` on
    /// the first device that holds the instance of the step.
    pub fn input(&mut self, v: Value, points: &Points) -> Input {
        let map = points.map_to(&self.points(v));
        Input::new(self.slot(v), map)
    }

    /// Builds a step that reads the op's operands and writes its results. Its instances are those of the first result,
    /// or a single one if the op has no results.
    pub fn step(&mut self, view: &OpView<'m>, kind: StepKind) -> Step {
        self.step_reading(view, kind, view.operands())
    }

    /// Builds a step as [`PlanCx::step`] does, which reads these values in place of the op's operands.
    pub fn step_reading(&mut self, view: &OpView<'m>, kind: StepKind, read: &[Value]) -> Step {
        let points = self.result_points(view);
        let inputs = read.iter().map(|&v| self.input(v, &points)).collect();
        let outputs = view.results().iter().map(|&v| self.slot(v)).collect();
        self.step_with(view, kind, inputs, outputs, points)
    }

    /// Builds the step of a kernel that computes the op's results from its operands.
    pub fn kernel(&mut self, view: &OpView<'m>, kernel: impl Kernel + 'static) -> Step {
        self.step(view, StepKind::Kernel(Box::new(kernel)))
    }

    /// Builds a step with these inputs, outputs and instances. Its location and name, and the work of a kernel, are
    /// those of the op.
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
        let (loc, ops, timing, drops) = (view.loc().clone(), vec![view.op], Timing::Alone, vec![]);
        let prepares = false;
        Step { id, kind, inputs, outputs, points, instances, loc, ops, prepares, timing, name, work, drops }
    }

    /// Returns the steps that look for numbers which `checks` refuses in the inputs of a step, before it, and in its
    /// outputs, after it.
    pub fn watches(&mut self, step: &Step, checks: NumberChecks) -> [Step; 2] {
        let of_outputs: Vec<u32> = (0..step.instances.len() as u32).collect();
        let before = step.inputs.iter().map(|input| Input::new(input.slot, input.map.clone())).collect();
        let after = step.outputs.iter().map(|&slot| Input::new(slot, of_outputs.clone())).collect();
        let mut watch = |inputs: Vec<Input>, is_before: bool| {
            let id = self.step_count;
            self.step_count += 1;
            let kind = Watch { checks, is_before, is_collective: step.kind.is_collective() };
            Step {
                id,
                kind: StepKind::Watch(kind),
                inputs,
                outputs: vec![],
                points: step.points.clone(),
                instances: step.instances.clone(),
                loc: step.loc.clone(),
                ops: step.ops.clone(),
                prepares: false,
                timing: Timing::Alone,
                name: step.name.clone(),
                work: 0,
                drops: vec![],
            }
        };
        [watch(before, true), watch(after, false)]
    }

    /// Adds a step that must run before the step that is being built. The step is marked as one that prepares an
    /// operand, and its work is set to the number of elements that it writes for one instance.
    pub fn before(&mut self, mut step: Step) {
        // The step only moves elements, whatever the op that needs it computes.
        step.prepares = true;
        step.work = step.outputs.iter().map(|&slot| self.slots[slot].ty.size() as u64).sum();
        self.before.push(step);
    }

    /// Removes and returns the steps that must run before the step that was built last.
    pub fn take_before(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.before)
    }

    /// Returns all slots, and the number of steps that were built.
    pub fn finish(self) -> (EntityVec<Slot, SlotInfo>, usize) {
        (self.slots, self.step_count)
    }
}

/// Returns an estimate of the number of element operations or multiply-adds of an op on one device: the size of its
/// largest operand or result, or half of its flops if that is more.
pub fn operations(view: &OpView<'_>) -> u64 {
    let size = |v: &Value| view.body.ty(*v).as_tensor().map_or(0, |t| t.size() as u64);
    let largest = view.operands().iter().chain(view.results()).map(size).max().unwrap_or(0);
    largest.max((Opcode::of_view(view).facts().cost(view).flops / 2.0) as u64)
}

/// A function that builds the step of an op, or returns `None` if the kernel does not suit the op.
pub type Build = for<'m> fn(&mut PlanCx<'m>, &OpView<'m>) -> Option<Step>;

/// A function that adds an elementwise op to a block program, given the values of its operands. Returns `None` if block
/// programs cannot compute the op on them.
pub type Compute = fn(&mut Program, &OpView<'_>, &[BlockValue]) -> Option<BlockValue>;

/// How a block program computes an op.
#[derive(Clone, Copy)]
pub enum Fused {
    Unary(Unary),
    Binary(Binary),
    /// Another function of single elements of the operands.
    Elements(Compute),
    /// Each element is its index along one dimension, which the op names.
    Iota,
    /// Combines elements by a named reducer.
    Reduce,
    /// Multiplies an element of the first operand and one of the second. Both are first converted to the type of the
    /// result or, if that is a float of 16 bits, to `f32`, and the product is then rounded to the type of the result.
    Product,
    /// Only changes where elements are. The function returns the access of the operand for an access of the result, or
    /// `None` if the op cannot be read through.
    View(fn(&OpView<'_>, &Access) -> Option<Access>),
}

impl Fused {
    /// Adds an elementwise op to a block program, given the values of its operands. Returns `None` if there is no
    /// instruction for their types, and for ops that are not elementwise.
    ///
    /// # Panics
    /// Panics if there are fewer values than the op has operands, or if values that must have one type have different
    /// types.
    pub fn elementwise(self, program: &mut Program, view: &OpView<'_>, operands: &[BlockValue]) -> Option<BlockValue> {
        match self {
            Fused::Unary(function) => program.unary(function, operands[0]),
            Fused::Binary(function) => program.binary(function, operands[0], operands[1]),
            Fused::Elements(compute) => compute(program, view, operands),
            Fused::Iota | Fused::Reduce | Fused::Product | Fused::View(_) => None,
        }
    }
}

/// How a small program computes an op that block programs do not compute, or a product.
#[derive(Clone, Copy)]
pub enum Small {
    /// The results are the operands.
    Alias,
    /// Elements move to places that are known when the program is built.
    Movement,
    DynamicSlice,
    DynamicUpdateSlice,
    Gather,
    Scatter,
    Dot,
    /// A routine computes the results. The function returns it, or `None` if it does not suit the op.
    Call(fn(&PlanCx<'_>, &OpView<'_>) -> Option<Box<dyn Routine>>),
}

/// The kernels of an op.
#[derive(Clone, Copy)]
pub struct Row {
    pub op: Opcode,
    /// How a block program computes the op, alone or with others, if it can.
    pub fused: Option<Fused>,
    /// Returns true if a block program may compute this op as `fused` states.
    pub is_fusable: fn(&OpView<'_>) -> bool,
    /// The functions that build the step of an op that is in no block program. They are tried in order until one
    /// returns a step.
    pub steps: &'static [Build],
    /// How small programs compute the op if it is a product, or if block programs do not compute it and it is no view.
    /// `None` if they do not. Other ops that block programs compute, views, and elementwise ops on complex numbers need
    /// none: small programs compute them, too.
    pub small: Option<Small>,
}

impl Row {
    /// Returns the row of an op that is in no block program. `steps` are the functions that may build its step, in
    /// order.
    pub const fn of(op: Opcode, steps: &'static [Build]) -> Row {
        Row { op, fused: None, is_fusable: |_| true, steps, small: None }
    }

    /// Returns the row of an op that block programs compute, and that has no other kernels.
    pub const fn fused(op: Opcode, fused: Fused) -> Row {
        Row { op, fused: Some(fused), is_fusable: |_| true, steps: &[], small: None }
    }

    /// Returns the row with `is_fusable` as its condition on the op under which block programs compute it.
    pub const fn only_if(self, is_fusable: fn(&OpView<'_>) -> bool) -> Row {
        Row { is_fusable, ..self }
    }

    /// Returns the row with `steps` as its functions that may build the step of an op that is in no block program, in
    /// order. They replace those that the row has.
    pub const fn or(self, steps: &'static [Build]) -> Row {
        Row { steps, ..self }
    }

    /// Returns the row with `small` as the way in which small programs compute the op.
    pub const fn small(self, small: Small) -> Row {
        Row { small: Some(small), ..self }
    }
}

/// The kernel table: at most one row for each op.
pub struct KernelTable {
    rows: &'static [Row],
    /// For each op code, the index of its row in `rows`, or `None` if it has none.
    row_of: [Option<u8>; Opcode::ALL.len()],
}

impl KernelTable {
    /// Returns the table of these rows.
    ///
    /// # Panics
    /// Panics if an op has two rows, or if there are more than 255 rows. For the table of a `static`, this is a compile
    /// error.
    pub const fn new(rows: &'static [Row]) -> KernelTable {
        assert!(rows.len() <= u8::MAX as usize, "rows are numbered with one byte");
        let mut row_of = [None; Opcode::ALL.len()];
        let mut i = 0;
        while i < rows.len() {
            let op = rows[i].op as usize;
            assert!(row_of[op].is_none(), "an op has two rows");
            row_of[op] = Some(i as u8);
            i += 1;
        }
        KernelTable { rows, row_of }
    }

    /// Returns the row of the op in the table, or `None` if the table has none.
    pub fn row(&self, op: Opcode) -> Option<&'static Row> {
        self.row_of[op as usize].map(|row| &self.rows[usize::from(row)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_op() {
        static ROWS: [Row; 2] = [Row::of(Opcode::Sort, &[]), Row::fused(Opcode::Iota, Fused::Iota)];
        let table = KernelTable::new(&ROWS);
        for op in Opcode::ALL {
            let expected = ROWS.iter().find(|row| row.op == *op).map(|row| row.op);
            assert_eq!(table.row(*op).map(|row| row.op), expected);
        }
    }

    #[test]
    #[should_panic(expected = "an op has two rows")]
    fn an_op_has_one_row() {
        static ROWS: [Row; 2] = [Row::of(Opcode::Add, &[]), Row::fused(Opcode::Add, Fused::Binary(Binary::Add))];
        KernelTable::new(&ROWS);
    }
}
