//! What a plan is made of.

use super::Points;
use crate::memory::{Buffer, Memory, OutOfMemory};
use shardwise_base::{Account, Diagnostic, Loc, Stop};
use shardwise_ir::{Op, TensorType, Value};
use std::borrow::Cow;

/// A value of the plan: one buffer for each instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Slot(pub u32);

impl Slot {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a slot.
#[derive(Clone, Debug)]
pub struct SlotInfo {
    /// Per device.
    pub ty: TensorType,
    pub points: Points,
    /// The number of instances.
    pub count: usize,
    /// The size of each instance's buffer.
    pub bytes: usize,
    /// Where the program makes it.
    pub loc: Loc,
}

impl SlotInfo {
    pub fn new(ty: TensorType, points: Points, loc: Loc) -> SlotInfo {
        // Nothing can be allocated for a type whose size overflows.
        let bytes = ty.checked_bytes().unwrap_or(usize::MAX);
        SlotInfo { count: points.count(), bytes, ty, points, loc }
    }

    /// Bytes of all instances.
    pub fn all_bytes(&self) -> usize {
        self.bytes.saturating_mul(self.count)
    }

    /// Whether a value of one slot is one of the other's type.
    pub fn has_type_of(&self, other: &SlotInfo) -> bool {
        self.ty.shape == other.ty.shape && self.ty.dtype.storage() == other.ty.dtype.storage()
    }
}

/// A whole program.
pub struct Plan {
    pub slots: Vec<SlotInfo>,
    pub params: Vec<Slot>,
    pub code: Code,
    /// Values that are known when planned: a buffer for each instance.
    pub constants: Vec<(Slot, Vec<Buffer>)>,
    /// Number of steps, of all blocks together: the length of a profile.
    pub step_count: usize,
}

/// A block: steps in order, and the slots of its results.
#[derive(Default)]
pub struct Code {
    pub params: Vec<Slot>,
    pub steps: Vec<Step>,
    /// May contain a slot twice, and slots of parameters, of constants and of enclosing blocks.
    pub results: Vec<Slot>,
    /// The results that steps of this block define, each once. Only these may be cleared once the results are handed over.
    pub own_results: Vec<Slot>,
}

/// One instruction for all devices.
pub struct Step {
    /// Position in a profile.
    pub id: usize,
    pub kind: StepKind,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Slot>,
    /// The instances that are computed: of every output.
    pub points: Points,
    /// Their numbers.
    pub instances: Vec<usize>,
    pub loc: Loc,
    /// What runs: `stablehlo.dot_general`, `fused(multiply, add)`.
    pub name: String,
    /// Element operations or multiply-adds of a kernel, for each instance.
    pub work: u64,
    /// Slots whose last use this is.
    pub drops: Vec<Slot>,
}

/// A slot that a step reads.
pub struct Input {
    pub slot: Slot,
    /// For each instance of the step, the instance of the slot that it reads.
    pub map: Vec<u32>,
    /// Whether no instance of the slot is read by two of the step.
    is_read_once: bool,
}

impl Input {
    pub fn new(slot: Slot, map: Vec<u32>) -> Input {
        let mut seen = vec![false; map.iter().max().map_or(0, |&at| at as usize + 1)];
        let is_read_once = map.iter().all(|&at| !std::mem::replace(&mut seen[at as usize], true));
        Input { slot, map, is_read_once }
    }
}

/// What a step does.
pub enum StepKind {
    /// The op's reference evaluation, for want of a kernel. The inputs are its operands, then the values that its regions
    /// use from around it.
    Evaluate {
        op: Op,
        captured: Vec<Value>,
    },
    /// The same bytes under another type: buffers are handed over.
    Alias,
    Kernel(Box<dyn Kernel>),
    /// A collective by its reference, for want of a kernel. The inputs are as those of [`StepKind::Evaluate`].
    Exchange {
        op: Op,
        captured: Vec<Value>,
        members: Members,
    },
    /// For each instance, the instance it receives, or zeros.
    Permute(Vec<Option<u32>>),
    /// Lock-step, unless the condition varies: then once for each point of what it varies over.
    While {
        cond: Code,
        body: Code,
        divergence: Divergence,
    },
    /// The branch that the index names; each point of what it varies over takes its own.
    Case {
        branches: Vec<Code>,
        is_if: bool,
        divergence: Divergence,
    },
}

impl StepKind {
    /// The blocks of a loop or branch.
    pub fn blocks(&self) -> Vec<&Code> {
        match self {
            StepKind::While { cond, body, .. } => vec![cond, body],
            StepKind::Case { branches, .. } => branches.iter().collect(),
            _ => vec![],
        }
    }
}

/// Who exchanges values with whom in a collective.
pub struct Members {
    /// For each instance of the result, the instances of the operand in its group, in order; none for a device that is in
    /// no group, and gets zeros.
    pub groups: Vec<Vec<u32>>,
    /// For each instance of the result, its position in its group.
    pub positions: Vec<usize>,
}

/// What to do where a predicate differs between devices.
#[derive(Clone, Debug)]
pub enum Divergence {
    /// It cannot: one instance.
    None,
    /// Run the region for each point of these by itself.
    PerPoint(Points),
    /// A collective inside needs all of them: they must agree.
    MustAgree { collective: Loc },
}

/// Computes the outputs of a step.
pub trait Kernel: Send + Sync {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory>;

    /// Allocates what `run` allocates, as it does, and sets the outputs, but computes nothing: buffers here have no bytes
    /// ([`Memory::counted`]). What `run` allocates must not depend on the inputs' values, or this allocates the most.
    fn foretell(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory>;

    /// What the values of its inputs must fulfil: `run` relies on it.
    fn check(&self, _: &KernelCx<'_>) -> Result<(), Diagnostic> {
        Ok(())
    }

    /// Whether devices exchange values in it.
    fn is_collective(&self) -> bool {
        false
    }
}

/// What a kernel sees: the buffers of all instances of its inputs, and its outputs, to be filled.
pub struct KernelCx<'a> {
    pub step: &'a Step,
    /// For each input, the buffers of all instances of its slot that were computed. Where this is the slot's last use and
    /// nobody else holds a buffer, it is the only owner and may be overwritten.
    pub inputs: Vec<Vec<Option<Buffer>>>,
    /// For each output, a buffer for each instance; empty until the kernel sets it.
    pub outputs: Vec<Vec<Option<Buffer>>>,
    /// Instances to compute, ascending.
    pub instances: Cow<'a, [usize]>,
    pub memory: &'a Memory,
}

impl KernelCx<'_> {
    /// The buffer of input `i` that instance `instance` of the step reads.
    pub fn input(&self, i: usize, instance: usize) -> &Buffer {
        self.instance(i, self.step.inputs[i].map[instance])
    }

    /// The buffer of instance `at` of input `i`'s slot. It has the bytes of the slot's type.
    pub fn instance(&self, i: usize, at: u32) -> &Buffer {
        self.inputs[i][at as usize].as_ref().expect("an instance is computed before it is read")
    }

    /// Takes the buffer that [`KernelCx::input`] returns, to write into it, if it has this length and nobody else reads it,
    /// now or later.
    pub fn take_input(&mut self, i: usize, instance: usize, bytes: usize) -> Option<Buffer> {
        let input = &self.step.inputs[i];
        let own = |buffer: &mut Buffer| input.is_read_once && buffer.len() == bytes && buffer.try_unique().is_some();
        self.inputs[i][input.map[instance] as usize].take_if(own)
    }

    /// A new buffer for each instance.
    pub fn allocate(&self, bytes: usize) -> Result<Vec<Buffer>, OutOfMemory> {
        self.instances.iter().map(|_| self.memory.allocate(bytes)).collect()
    }

    /// Allocates an output of so many bytes, while so many more are in use: what most kernels do.
    pub fn foretell(&mut self, bytes: usize, scratch: usize) -> Result<(), OutOfMemory> {
        let outputs = self.allocate(bytes)?;
        self.foretell_scratch(scratch)?;
        self.set(0, outputs);
        Ok(())
    }

    /// Charges so many bytes for a moment.
    pub fn foretell_scratch(&self, bytes: usize) -> Result<(), OutOfMemory> {
        Account::current().reserve(bytes).map(drop)
    }

    /// The addresses of some inputs of an instance to compute.
    pub fn addresses<const N: usize>(&self, inputs: [usize; N], instance: usize) -> [usize; N] {
        inputs.map(|i| self.input(i, instance).address())
    }

    /// Sets the buffers of an output, one for each instance to compute.
    pub fn set(&mut self, output: usize, buffers: impl IntoIterator<Item = Buffer>) {
        for (&i, buffer) in self.instances.iter().zip(buffers) {
            self.outputs[output][i] = Some(buffer);
        }
    }
}

/// Why a run stopped.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_know_whether_instances_are_read_once() {
        let is_read_once = |map: &[u32]| Input::new(Slot(0), map.to_vec()).is_read_once;
        assert!(is_read_once(&[]) && is_read_once(&[2, 0, 1]));
        assert!(!is_read_once(&[0, 0]) && !is_read_once(&[1, 0, 1]));
    }
}
