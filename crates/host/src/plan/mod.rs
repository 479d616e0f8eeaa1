//! The parts of a plan: slots, steps, and the interface of kernels.
//!
//! The kernels build steps and the gang runs them. Both depend on this module, which depends on neither.
#![forbid(unsafe_code)]

mod points;

pub use points::{Group, Points};

use crate::memory::{Buffer, Memory, OutOfMemory};
use shardwise_base::{Account, Diagnostic, EntityVec, Loc, entity};
use shardwise_engine::NumberChecks;
use shardwise_ir::{Op, PaddedDim, TensorType, Value};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

entity! {
    /// A value of the plan, which has one buffer for each instance.
    pub Slot "slot"
}

/// The properties of a slot.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    /// The type on one device, or that of an empty array for a value that is no tensor.
    pub ty: TensorType,
    pub points: Points,
    /// The number of instances.
    pub count: usize,
    /// The number of bytes of each instance's buffer, or `usize::MAX` if it overflows.
    pub bytes: usize,
    /// The location of the value's definition in the program, or that of the op for which a step prepares the value.
    pub loc: Loc,
    /// The padded dimensions that are recorded of the value in the program.
    pub padding: Option<Arc<Vec<PaddedDim>>>,
}

impl SlotInfo {
    /// Returns the properties of a slot with a value of this type, which has an instance for each of these points. Its
    /// buffers have `usize::MAX` bytes if the size of the type overflows.
    pub fn new(ty: TensorType, points: Points, loc: Loc) -> SlotInfo {
        // No buffer can be allocated for a type whose size overflows.
        let bytes = ty.checked_bytes().unwrap_or(usize::MAX);
        SlotInfo { count: points.count(), bytes, ty, points, loc, padding: None }
    }

    /// Returns the number of bytes of all instances, or `usize::MAX` if it overflows.
    pub fn all_bytes(&self) -> usize {
        self.bytes.saturating_mul(self.count)
    }

    /// Returns true if the types of both slots have the same shape and the same storage type. A quantized type is
    /// stored as its integers.
    pub fn has_type_of(&self, other: &SlotInfo) -> bool {
        self.ty.shape == other.ty.shape && self.ty.dtype.storage() == other.ty.dtype.storage()
    }
}

/// A whole program.
pub struct Plan {
    pub slots: EntityVec<Slot, SlotInfo>,
    pub params: Vec<Slot>,
    pub code: Code,
    /// The values that are known at planning time, with a buffer for each instance.
    pub constants: Vec<(Slot, Vec<Buffer>)>,
    /// A number that is larger than the `id` of each step of all blocks. Steps that were built and left out had ids,
    /// too.
    pub step_count: usize,
}

/// A block: its steps in order, and the slots of its results.
#[derive(Default)]
pub struct Code {
    pub params: Vec<Slot>,
    pub steps: Vec<Step>,
    /// The slots of the results. They may repeat, and may be parameters, constants or slots of enclosing blocks.
    pub results: Vec<Slot>,
    /// The results that steps of this block define, each once. Only these may be cleared after the results are passed
    /// on.
    pub own_results: Vec<Slot>,
}

/// One instruction for all devices.
pub struct Step {
    /// The number under which the times of the step are measured. Steps of one plan have different numbers.
    pub id: usize,
    pub kind: StepKind,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Slot>,
    /// The points whose instances are computed. All outputs have these points, except that further outputs of an alias,
    /// a loop or a branch may have others. A step without outputs runs once for each point.
    pub points: Points,
    /// The numbers of all points of `points`, ascending.
    pub instances: Vec<usize>,
    pub loc: Loc,
    /// The ops that it computes, in an order in which they can run, or the op for which it prepares an operand. For a
    /// [`Watch`], these are the ops of the step that it watches.
    pub ops: Vec<Op>,
    /// True if it only copies an operand to the layout in which another step needs it: in another order, or with
    /// padding.
    pub prepares: bool,
    /// How a profile measures the step.
    pub timing: Timing,
    /// The name of what runs: `stablehlo.dot_general`, `fused(multiply, add)`. A [`Watch`] has the name of the step
    /// that it watches.
    pub name: String,
    /// An estimate of the number of element operations or multiply-adds of a kernel, for each instance. It is 0 for
    /// steps of other kinds.
    pub work: u64,
    /// The slots whose buffers are released after this step: those that its block defines, as parameters or as outputs
    /// of steps, and does not return, and that this step is the last one of the block to read or define.
    pub drops: Vec<Slot>,
}

/// How a profile measures a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// The step is measured alone. The steps inside of a loop or branch are measured, too.
    Alone,
    /// The step is measured together with the small steps directly before and after it, because it is small, too. Holds
    /// the number of steps from this one to the last of them, both included.
    Together(usize),
    /// The step is measured alone. The steps inside of this loop or branch are only counted, because all of them are
    /// small.
    Whole,
}

/// Divides the steps of a block into lists that are measured at once: of one step, or of small steps that follow each
/// other.
pub fn measured_at_once(mut steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    std::iter::from_fn(move || {
        let count = match steps.first()?.timing {
            Timing::Together(count) => count.clamp(1, steps.len()),
            Timing::Alone | Timing::Whole => 1,
        };
        let (own, rest) = steps.split_at(count);
        steps = rest;
        Some(own)
    })
}

/// A slot that a step reads.
pub struct Input {
    pub slot: Slot,
    /// For each instance of the step, the instance of the slot that it reads: the one on the first device that holds
    /// the instance of the step. Aliases, loops, branches and collectives find what they read in other ways.
    pub map: Vec<u32>,
    /// True if no instance of the slot is read by two instances of the step.
    is_read_once: bool,
}

impl Input {
    /// Returns an input that reads `slot`. Instance `i` of the step reads the slot's instance `map[i]`.
    pub fn new(slot: Slot, map: Vec<u32>) -> Input {
        let mut seen = vec![false; map.iter().max().map_or(0, |&at| at as usize + 1)];
        let is_read_once = map.iter().all(|&at| !std::mem::replace(&mut seen[at as usize], true));
        Input { slot, map, is_read_once }
    }
}

/// The action of a step.
pub enum StepKind {
    /// Runs the op's reference evaluation, because there is no kernel. The inputs are its operands, followed by the
    /// captured values of its regions.
    Evaluate {
        op: Op,
        captured: Vec<Value>,
    },
    /// Passes the buffers on, possibly with another type that has as many bytes.
    Alias,
    Kernel(Box<dyn Kernel>),
    /// Runs a collective by its reference, because there is no kernel. The inputs are as for [`StepKind::Evaluate`].
    Exchange {
        op: Op,
        captured: Vec<Value>,
        members: Members,
    },
    /// Passes buffers from instance to instance. Holds, for each instance of the result, the instance of the operand
    /// that it receives; `None` means zeros.
    Permute(Vec<Option<u32>>),
    /// Runs a loop, separately for each point of [`Divergence::apart`], and in lock-step for all instances of one
    /// point.
    While {
        cond: Code,
        body: Code,
        divergence: Divergence,
    },
    /// Looks for numbers that a check refuses, before or after another step.
    Watch(Watch),
    /// Runs the branch that the first input selects, separately for each point of [`Divergence::apart`]. The input is
    /// the index of the branch or, with `is_if`, a truth value that is true for the first of two branches. An index
    /// without a branch selects the last branch.
    Case {
        branches: Vec<Code>,
        is_if: bool,
        divergence: Divergence,
    },
}

impl StepKind {
    /// Returns true if devices exchange values in the step itself. Steps inside of a loop or branch do not count.
    pub fn is_collective(&self) -> bool {
        match self {
            StepKind::Kernel(kernel) => kernel.is_collective(),
            StepKind::Permute(_) | StepKind::Exchange { .. } => true,
            _ => false,
        }
    }

    /// Returns the condition and the body of a loop, the branches of a case, or no blocks for other steps.
    pub fn blocks(&self) -> Vec<&Code> {
        match self {
            StepKind::While { cond, body, .. } => vec![cond, body],
            StepKind::Case { branches, .. } => branches.iter().collect(),
            _ => vec![],
        }
    }

    /// Returns the blocks that [`StepKind::blocks`] returns, so that they can be changed.
    pub fn blocks_mut(&mut self) -> Vec<&mut Code> {
        match self {
            StepKind::While { cond, body, .. } => vec![cond, body],
            StepKind::Case { branches, .. } => branches.iter_mut().collect(),
            _ => vec![],
        }
    }
}

/// A step that looks for numbers which a check refuses in the inputs of another step, or in its outputs, which are then
/// the inputs of this step.
pub struct Watch {
    pub checks: NumberChecks,
    /// True if this step runs directly before the other one, and false if it runs directly after it.
    pub is_before: bool,
    /// True if devices exchange values in the other step ([`StepKind::is_collective`]).
    pub is_collective: bool,
}

/// The groups of a collective.
pub struct Members {
    /// For each instance of the result, the instances of the operand in its group, in order. The list is empty for an
    /// instance whose first device is in no group. Such an instance gets zeros.
    pub groups: Vec<Group>,
    /// For each instance of the result, the position in its group of the first device that holds the instance, or 0 for
    /// an empty group.
    pub positions: Vec<usize>,
    /// For each instance of the result, the instance of the result on the first device of its group. For an empty
    /// group, it is the instance itself.
    pub firsts: Vec<usize>,
}

/// The behaviour of a loop or branch whose predicate may differ between devices.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The regions run for each of these points separately.
    pub apart: Points,
    /// The location of a collective in the regions whose groups need several instances of the predicate, which
    /// therefore must agree. `None` if there is none.
    pub collective: Option<Loc>,
}

/// Computes the outputs of a step.
pub trait Kernel: Send + Sync {
    /// Computes the outputs of the instances of `cx` and sets them. Fails if there is no memory for them or for scratch
    /// memory.
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory>;

    /// Allocates what `run` allocates in the same way and sets the outputs, but computes nothing. The buffers here have
    /// no bytes ([`Memory::counted`]). What `run` allocates must not depend on the values of the inputs, unless this
    /// function allocates the largest amount. Fails if the allocations do not fit into the budget.
    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory>;

    /// Checks the conditions on the values of its inputs on which `run` relies. Fails with a message for the user if
    /// one is violated. By default, there are no conditions.
    fn check(&self, _: &KernelCx<'_>) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Returns true if `run` takes the steps of its work itself. By default, it does not, and [`Step::work`] is taken
    /// before.
    fn takes_steps(&self) -> bool {
        false
    }

    /// Returns true if devices exchange values in this kernel. By default, they do not.
    fn is_collective(&self) -> bool {
        false
    }
}

/// The buffers of a value, one for each instance; `None` for those that were not computed. The list may be empty if
/// none was. A list of one buffer, as on one device, allocates nothing.
pub type Buffers = SmallVec<[Option<Buffer>; 1]>;

/// The buffers of the inputs or outputs of a step.
pub type Several = SmallVec<[Buffers; 4]>;

/// The context of a kernel: the buffers of all instances of its inputs, and its outputs, which it fills.
pub struct KernelCx<'a> {
    pub step: &'a Step,
    /// For each input, the buffers of all instances of its slot; `None` for those that were not computed. If this is
    /// the slot's last use and there is no other owner of a buffer, the buffer may be overwritten.
    pub inputs: Several,
    /// For each output, a buffer for each instance. They are `None` until the kernel sets them.
    pub outputs: Several,
    /// The instances to compute, ascending.
    pub instances: Cow<'a, [usize]>,
    pub memory: &'a Memory,
}

impl KernelCx<'_> {
    /// Returns the buffer of input `i` that instance `instance` of the step reads.
    ///
    /// # Panics
    /// Panics if there is no such input or instance, or if the buffer was not computed or was taken.
    pub fn input(&self, i: usize, instance: usize) -> &Buffer {
        self.instance(i, self.step.inputs[i].map[instance])
    }

    /// Returns the buffer of instance `at` of input `i`'s slot. It has the bytes of the slot's type.
    ///
    /// # Panics
    /// Panics if there is no such input or instance, or if the buffer was not computed or was taken.
    pub fn instance(&self, i: usize, at: u32) -> &Buffer {
        self.inputs[i][at as usize].as_ref().expect("an instance is computed before it is read")
    }

    /// Takes the buffer that [`KernelCx::input`] returns, for writing into it. Returns `None` if it was not computed or
    /// was taken, if its length is not `bytes`, if it has another owner, or if any two instances of the step read the
    /// same instance of the input's slot.
    ///
    /// # Panics
    /// Panics if there is no such input or instance, or if no instance of the input's slot was computed.
    pub fn take_input(&mut self, i: usize, instance: usize, bytes: usize) -> Option<Buffer> {
        let input = &self.step.inputs[i];
        let own = |buffer: &mut Buffer| input.is_read_once && buffer.len() == bytes && buffer.try_unique().is_some();
        self.inputs[i][input.map[instance] as usize].take_if(own)
    }

    /// Returns a new buffer of `bytes` bytes, whose contents are arbitrary, for each instance that is to be computed.
    ///
    /// # Errors
    /// Fails if there is no memory.
    pub fn allocate(&self, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
        self.instances.iter().map(|_| self.memory.allocate(bytes)).collect()
    }

    /// Allocates a buffer of `bytes` bytes for each instance that is to be computed. Then charges `scratch` bytes to
    /// the current account and releases them, and sets output 0 to the buffers. Most kernels predict no more.
    ///
    /// # Errors
    /// Fails if there is no memory for the buffers or the scratch bytes.
    ///
    /// # Panics
    /// Panics if the step has no outputs.
    pub fn predict(&mut self, bytes: usize, scratch: usize) -> Result<(), OutOfMemory> {
        let outputs = self.allocate(bytes)?;
        self.predict_scratch(scratch)?;
        self.set(0, outputs);
        Ok(())
    }

    /// Charges `bytes` to the current account and releases them at once, so that they count in its peak.
    ///
    /// # Errors
    /// Fails if the account refuses the bytes.
    pub fn predict_scratch(&self, bytes: usize) -> Result<(), OutOfMemory> {
        Account::current().reserve(bytes).map(drop)
    }

    /// Returns the addresses of the buffers of some inputs that an instance reads.
    ///
    /// # Panics
    /// Panics as [`KernelCx::input`] does.
    pub fn addresses<const N: usize>(&self, inputs: [usize; N], instance: usize) -> [usize; N] {
        inputs.map(|i| self.input(i, instance).address())
    }

    /// Sets the buffers of output number `output`, one for each instance that is to be computed, in the order of
    /// `instances`.
    ///
    /// # Panics
    /// Panics if there is no such output.
    pub fn set(&mut self, output: usize, buffers: impl IntoIterator<Item = Buffer>) {
        for (&i, buffer) in self.instances.iter().zip(buffers) {
            self.outputs[output][i] = Some(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_know_whether_instances_are_read_once() {
        let is_read_once = |map: &[u32]| Input::new(Slot::new(0), map.to_vec()).is_read_once;
        assert!(is_read_once(&[]) && is_read_once(&[2, 0, 1]));
        assert!(!is_read_once(&[0, 0]) && !is_read_once(&[1, 0, 1]));
    }
}
