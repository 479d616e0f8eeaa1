//! A fused group as a step, which is one block program over all instances.

use super::groups::Group;
use crate::block::{self, Operand};
use crate::kernels::buffers::{output_bytes, write};
use crate::kernels::context::{PlanCx, operations};
use crate::memory::{Buffer, OutOfMemory};
use crate::movement::streams;
use crate::operand::Source;
use crate::plan::{Input, Kernel, KernelCx, Step, StepKind};
use crate::pool::Workers;

struct FusedKernel {
    kernel: block::Kernel,
    /// For each operand of the kernel that is read, the number of the step's input and the byte of it where the operand
    /// starts.
    reads: Vec<(usize, usize)>,
    output_bytes: usize,
}

/// Returns the step of a group, which belongs at the position of its root. Panics if the group has no ops.
pub fn step(plan: &mut PlanCx<'_>, group: Group) -> Step {
    let root = plan.view(*group.ops.last().expect("a group has a root"));
    let points = plan.points(root.result(0));
    let mut values = vec![];
    let reads = group.program.reads.iter().map(|&(v, start)| {
        let known = values.iter().position(|&other| other == v);
        let index = known.unwrap_or_else(|| {
            values.push(v);
            values.len() - 1
        });
        (index, start)
    });
    let reads = reads.collect();
    let inputs: Vec<Input> = values.iter().map(|&v| plan.input(v, &points)).collect();
    let kernel = FusedKernel { kernel: group.program.kernel, reads, output_bytes: output_bytes(&root) };
    let output = plan.slot(root.result(0));
    let names: Vec<&str> = group.ops.iter().map(|&op| short(plan.view(op).name())).collect();
    let mut step = plan.step_with(&root, StepKind::Kernel(Box::new(kernel)), inputs, vec![output], points);
    step.work = group.ops.iter().map(|&op| operations(&plan.view(op))).sum();
    if group.ops.len() > 1 {
        step.name = format!("fused({})", names.join(", "));
    }
    step.ops = group.ops;
    step
}

fn short(name: &'static str) -> &'static str {
    name.split_once('.').map_or(name, |(_, op)| op)
}

impl Kernel for FusedKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = Vec::with_capacity(cx.instances.len());
        for &i in cx.instances.clone().iter() {
            outputs.push(self.output(cx, i)?);
        }
        let mut operands = Vec::with_capacity(outputs.len() * (self.reads.len() + 1));
        for (&i, (output, taken)) in cx.instances.iter().zip(&mut outputs) {
            for (operand, &(input, start)) in self.reads.iter().enumerate() {
                operands.push(match *taken == Some(operand) {
                    true => Operand::InPlace,
                    false => Operand::Read(Source::at(cx.input(input, i).bytes(), start)),
                });
            }
            operands.push(write(output));
        }
        self.kernel.run(Workers::global(), &operands, streams(self.output_bytes * cx.instances.len()));
        cx.set(0, outputs.into_iter().map(|(buffer, _)| buffer));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let instances = cx.instances.clone();
        let outputs = instances.iter().map(|&i| Ok(self.output(cx, i)?.0));
        let outputs = outputs.collect::<Result<Vec<_>, OutOfMemory>>()?;
        cx.predict_scratch(self.kernel.scratch_bytes(Workers::global(), cx.instances.len()))?;
        cx.set(0, outputs);
        Ok(())
    }
}

impl FusedKernel {
    /// Returns the buffer of an operand over which the kernel may write its output, and the operand's number, or a new
    /// buffer if there is no such operand. Fails if there is no memory for a new buffer.
    fn output(&self, cx: &mut KernelCx<'_>, instance: usize) -> Result<(Buffer, Option<usize>), OutOfMemory> {
        for (operand, &(input, start)) in self.reads.iter().enumerate() {
            let is_alone = start == 0 && self.reads.iter().filter(|r| r.0 == input).count() == 1;
            if !is_alone || !self.kernel.in_place(self.reads.len(), operand) {
                continue;
            }
            if let Some(own) = cx.take_input(input, instance, self.output_bytes) {
                return Ok((own, Some(operand)));
            }
        }
        Ok((cx.memory.allocate(self.output_bytes)?, None))
    }
}
