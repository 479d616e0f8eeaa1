//! The step of a run.

use super::runs::Run;
use crate::kernels::buffers::{own_or_copy_of, written as unique};
use crate::kernels::context::{PlanCx, operations};
use crate::memory::{Buffer, Guard, OutOfMemory};
use crate::plan::{Input, Kernel, KernelCx, Step, StepKind};
use crate::small::{self, Bytes, Output, Program};
use shardwise_base::budget;
use shardwise_ir::{Op, OpView, Region};
use shardwise_ops::{Opcode, Semantics};

/// Returns the step of a run. Its location is that of its last loop or branch, or of its last op.
pub fn step(plan: &mut PlanCx<'_>, run: Run) -> Step {
    let is_control = |view: &OpView<'_>| Opcode::of_view(view).facts().semantics(view) == Semantics::Control;
    let control = run.ops.iter().rev().map(|&op| plan.view(op)).find(is_control);
    let main = control.unwrap_or_else(|| plan.view(*run.ops.last().expect("a run has ops")));
    let inputs: Vec<Input> = run.inputs.iter().map(|&v| plan.input(v, &run.points)).collect();
    let outputs = run.outputs.iter().map(|&v| plan.slot(v)).collect();
    let sum = |turns: u64| run.ops.iter().map(|&op| work(plan, op, turns)).fold(0, u64::saturating_add);
    let (all, outside) = (sum(TURNS), sum(0));
    let kernel = SmallKernel { program: Program::new(run.code), work: outside };
    let mut step = plan.step_with(&main, StepKind::Kernel(Box::new(kernel)), inputs, outputs, run.points);
    step.name = name(plan, &run.ops);
    step.work = all;
    step.ops = run.ops;
    step
}

/// Returns the name of a run, such as `small(add, reshape)`, in which each name of an op occurs once.
fn name(plan: &PlanCx<'_>, ops: &[Op]) -> String {
    let mut names: Vec<&str> = vec![];
    for name in ops.iter().map(|&op| plan.view(op).name()) {
        let short = name.split_once('.').map_or(name, |(_, op)| op);
        if !names.contains(&short) {
            names.push(short);
        }
    }
    format!("small({})", names.join(", "))
}

/// The number of turns for which a loop counts in the estimate of a step's work.
const TURNS: u64 = 1024;

/// Returns an estimate of the work of an op, if each loop has this number of turns.
fn work(plan: &PlanCx<'_>, op: Op, turns: u64) -> u64 {
    let view = plan.view(op);
    let of_op = |&op: &Op| work(plan, op, turns);
    let inner = |region: &Region| plan.body[*region].ops.iter().map(of_op).fold(0, u64::saturating_add);
    let of_regions = view.regions().iter().map(inner).fold(0, u64::saturating_add);
    let times = if Opcode::of_view(&view) == Opcode::While { turns } else { 1 };
    operations(&view).saturating_add(of_regions.saturating_mul(times))
}

struct SmallKernel {
    program: Program,
    /// An estimate of the work for each instance, without that of the turns of loops, which take steps when they run.
    work: u64,
}

impl Kernel for SmallKernel {
    fn takes_steps(&self) -> bool {
        true
    }

    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        budget::take_operations(self.work.saturating_mul(cx.instances.len() as u64));
        // Tests with guarded memory run machine code at once.
        let is_eager = Guard::current().is_guarding();
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
            self.program.run(&mut inputs, &mut outputs, is_eager);
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
    /// input's own, taken from `cx`, or a copy. The entries of the other inputs are `None`. Fails if there is no memory
    /// for a copy.
    fn written(&self, cx: &mut KernelCx<'_>, instance: usize) -> Result<Vec<Option<Buffer>>, OutOfMemory> {
        let own = |(k, input): (usize, &small::Input)| match *input {
            small::Input::Array { bytes, is_written: true } => own_or_copy_of(cx, k, instance, bytes).map(Some),
            _ => Ok(None),
        };
        self.program.code.inputs.iter().enumerate().map(own).collect()
    }

    fn results(&self, cx: &KernelCx<'_>) -> Result<Vec<Buffer>, OutOfMemory> {
        let bytes = self.program.code.outputs.iter().filter_map(|output| match output {
            Output::Words(array) => Some(array.bytes()),
            Output::Array(_) => None,
        });
        bytes.map(|bytes| cx.memory.allocate(bytes)).collect()
    }

    fn set(&self, cx: &mut KernelCx<'_>, instance: usize, results: Vec<Buffer>, written: Vec<Option<Buffer>>) {
        let mut results = results.into_iter();
        for (k, output) in self.program.code.outputs.iter().enumerate() {
            cx.outputs[k][instance] = match *output {
                Output::Words(..) => results.next(),
                Output::Array(input) => {
                    Some(written[input].as_ref().unwrap_or_else(|| cx.input(input, instance)).clone())
                }
            };
        }
    }
}
