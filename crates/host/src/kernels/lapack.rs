//! Calls of LAPACK: workers share the matrices of a batch. A matrix is computed by one worker, as the reference
//! computes it.

use crate::kernels::buffers::written;
use crate::kernels::context::PlanCx;
use crate::memory::{Buffer, OutOfMemory};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use shardwise_ir::OpView;
use shardwise_ops::lapack::Batch;

/// A part has as many whole matrices as have about this number of multiply-adds, but at least one.
const PART: u64 = 1 << 15;

struct Lapack {
    batch: Batch,
    /// The number of matrices in a part.
    part: usize,
}

/// Returns the step of a call of LAPACK, or `None` for other ops.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let batch = Batch::of(view)?;
    let part = usize::try_from(PART / batch.multiply_adds().max(1)).unwrap_or(usize::MAX).max(1);
    Some(plan.kernel(view, Lapack { batch, part }))
}

/// Some matrices of an instance.
struct Part<'a> {
    /// The position of the instance among those to compute.
    position: usize,
    /// The number of the first matrix.
    first: usize,
    /// The results of these matrices.
    results: Vec<&'a mut [u8]>,
}

impl Lapack {
    fn part_count(&self) -> usize {
        self.batch.count.div_ceil(self.part)
    }

    fn allocate(&self, cx: &KernelCx<'_>) -> Result<Vec<Vec<Buffer>>, OutOfMemory> {
        self.batch.result_bytes.iter().map(|size| cx.allocate(size * self.batch.count)).collect()
    }

    fn parts<'a>(&self, outputs: &'a mut [Vec<Buffer>]) -> Vec<Part<'a>> {
        let mut parts: Vec<Part<'a>> = vec![];
        for (buffers, size) in outputs.iter_mut().zip(&self.batch.result_bytes) {
            let mut at = 0;
            for (position, buffer) in buffers.iter_mut().enumerate() {
                let mut rest = written(buffer);
                for first in (0..self.batch.count).step_by(self.part) {
                    let count = self.part.min(self.batch.count - first);
                    let (own, others) = rest.split_at_mut(count * size);
                    rest = others;
                    if at == parts.len() {
                        parts.push(Part { position, first, results: vec![] });
                    }
                    parts[at].results.push(own);
                    at += 1;
                }
            }
        }
        parts
    }

    fn compute(&self, cx: &KernelCx<'_>, mut part: Part<'_>) {
        let sizes = &self.batch.operand_bytes;
        let inputs: Vec<&[u8]> = (0..sizes.len()).map(|k| cx.input(k, cx.instances[part.position]).bytes()).collect();
        for i in 0..self.part.min(self.batch.count - part.first) {
            let at = part.first + i;
            let operands: Vec<&[u8]> = inputs.iter().zip(sizes).map(|(x, size)| &x[at * size..][..*size]).collect();
            let results = part.results.iter_mut().zip(&self.batch.result_bytes);
            let mut results: Vec<&mut [u8]> = results.map(|(y, size)| &mut y[i * size..][..*size]).collect();
            self.batch.run(&operands, &mut results);
        }
    }
}

impl Kernel for Lapack {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = self.allocate(cx)?;
        let parts = self.parts(&mut outputs);
        let effort = effort(parts.len());
        Workers::global().run_each(parts, effort, |part| self.compute(cx, part));
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = self.allocate(cx)?;
        let parts = self.part_count() * cx.instances.len();
        let at_once = Workers::global().at_once(parts, effort(parts));
        cx.predict_scratch(self.batch.scratch_bytes().saturating_mul(at_once))?;
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }
}

fn effort(parts: usize) -> Effort {
    if parts < 2 { Effort::Small } else { Effort::Large }
}
