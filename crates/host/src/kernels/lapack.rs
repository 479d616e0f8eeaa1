//! Calls of LAPACK: workers share the matrices of a batch. A matrix is computed by one worker, as the reference
//! computes it.

use crate::kernels::buffers::written;
use crate::kernels::context::PlanCx;
use crate::memory::{Buffer, OutOfMemory};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::small::Routine;
use shardwise_ir::OpView;
use shardwise_ops::lapack::Batch;

/// The largest number of multiply-adds, by estimate, of a part that has several matrices. A part has whole matrices, at
/// least one.
const PART: u64 = 1 << 15;

struct Lapack {
    batch: Batch,
    /// The number of matrices in a part. The last part of an instance may have fewer.
    part: usize,
}

/// Returns the step of a call of LAPACK, a `cholesky` or a `triangular_solve`. Returns `None` as [`Batch::of`] does.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = Lapack::of(view)?;
    Some(plan.kernel(view, kernel))
}

/// Returns the routine for an op of which [`step`] returns the step, if all matrices fit into one part. Returns `None`
/// for larger batches, and as [`step`] does.
pub fn routine(_: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    let lapack = Lapack::of(view)?;
    (lapack.batch.count <= lapack.part).then(|| Box::new(lapack) as Box<dyn Routine>)
}

/// Some matrices of an instance.
struct Part<'a> {
    /// The position of the instance among those to compute.
    position: usize,
    first: usize,
    results: Vec<&'a mut [u8]>,
}

impl Lapack {
    fn of(view: &OpView<'_>) -> Option<Lapack> {
        let batch = Batch::of(view)?;
        let part = usize::try_from(PART / batch.multiply_adds().max(1)).unwrap_or(usize::MAX).max(1);
        Some(Lapack { batch, part })
    }

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
        let input = |(k, size): (usize, &usize)| &cx.input(k, cx.instances[part.position]).bytes()[part.first * size..];
        let operands: Vec<&[u8]> = sizes.iter().enumerate().map(input).collect();
        self.compute_all(self.part.min(self.batch.count - part.first), &operands, &mut part.results);
    }

    /// Computes the results of `count` matrices, which are the first ones of all arrays.
    fn compute_all(&self, count: usize, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        let Batch { operand_bytes, result_bytes, .. } = &self.batch;
        for i in 0..count {
            let own = operands.iter().zip(operand_bytes).map(|(x, size)| &x[i * size..][..*size]);
            let to = results.iter_mut().zip(result_bytes).map(|(y, size)| &mut y[i * size..][..*size]);
            self.batch.run(&own.collect::<Vec<_>>(), &mut to.collect::<Vec<_>>());
        }
    }
}

impl Routine for Lapack {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        self.compute_all(self.batch.count, operands, results);
    }
}

impl Kernel for Lapack {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = self.allocate(cx)?;
        let parts = self.parts(&mut outputs);
        Workers::global().run_each(parts, Effort::Large, |part| self.compute(cx, part));
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = self.allocate(cx)?;
        let parts = self.part_count() * cx.instances.len();
        let at_once = Workers::global().at_once(parts, Effort::Large);
        cx.predict_scratch(self.batch.scratch_bytes().saturating_mul(at_once))?;
        outputs.into_iter().enumerate().for_each(|(k, buffers)| cx.set(k, buffers));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    /// Calls with one operand: the target, the options, the size of a matrix, and the sizes and types of the results.
    type Call = (&'static str, &'static str, [usize; 2], &'static [(&'static [usize], &'static str)]);

    const CALLS: &[Call] = &[
        ("lapack_spotrf_ffi", "uplo = 76 : ui8", [3, 3], &[(&[3, 3], "f32"), (&[], "i32")]),
        ("lapack_sgetrf_ffi", "", [4, 3], &[(&[4, 3], "f32"), (&[3], "i32"), (&[], "i32")]),
        ("lapack_sgeqrf_ffi", "", [3, 5], &[(&[3, 5], "f32"), (&[3], "f32")]),
        (
            "lapack_ssyevd_ffi",
            "mode = 86 : ui8, uplo = 76 : ui8",
            [3, 3],
            &[(&[3, 3], "f32"), (&[3], "f32"), (&[], "i32")],
        ),
        (
            "lapack_sgesdd_ffi",
            "mode = 78 : ui8",
            [4, 3],
            &[(&[4, 3], "f32"), (&[3], "f32"), (&[4, 4], "f32"), (&[3, 3], "f32"), (&[], "i32")],
        ),
        (
            "lapack_sgees_ffi",
            "mode = 78 : ui8, sort = 78 : ui8",
            [3, 3],
            &[(&[3, 3], "f32"), (&[3, 3], "f32"), (&[3], "f32"), (&[3], "f32"), (&[], "i32"), (&[], "i32")],
        ),
    ];

    /// Checks that a kernel runs a call with the interpreter's bits, on a batch of matrices of which some are singular.
    /// Every 1009th element of the batch is a NaN.
    fn check(&(target, options, [m, n], results): &Call, batch: &[usize]) {
        let whole = |shape: &[usize], ty: &str| tensor(&[batch, shape].concat(), ty);
        let from = whole(&[m, n], "f32");
        let to: Vec<String> = results.iter().map(|(shape, ty)| whole(shape, ty)).collect();
        let (count, to) = (to.len(), to.join(", "));
        let all: Vec<String> = (0..count).map(|i| format!("%0#{i}")).collect();
        let text = format!(
            "func.func @main(%x: {from}) -> ({to}) {{
  %0:{count} = stablehlo.custom_call @{target}(%x) {{mhlo.backend_config = {{{options}}}}} : ({from}) -> ({to})
  return {} : {to}
}}",
            all.join(", ")
        );
        let shape = [batch, &[m, n]].concat();
        let element = |k: usize| match k % 1009 {
            1008 => f32::NAN,
            k => ((k * k + 3 * k) % 23) as f32 / 8.0 - 1.0,
        };
        run_by_kernels(&text, &[Literal::from_fn(shape, element)]);
    }

    /// Tests batches of no, one, few and many matrices. Most calls divide a batch of many into several parts.
    #[test]
    fn bits_are_those_of_the_reference() {
        for call in CALLS {
            for batch in [&[][..], &[0], &[1], &[7], &[30, 100], &[2, 0]] {
                check(call, batch);
            }
        }
    }

    #[test]
    fn solves_and_factors_of_all_floats_have_kernels() {
        for elem in ["f16", "bf16", "f32", "f64"] {
            let (a, b) = (tensor(&[5, 3, 3], elem), tensor(&[5, 3, 2], elem));
            let (given, sides) = (tensor(&[5, 3, 3], "f32"), tensor(&[5, 3, 2], "f32"));
            let text = format!(
                "func.func @main(%x: {given}, %y: {sides}) -> ({a}, {b}) {{
  %a = stablehlo.convert %x : ({given}) -> {a}
  %b = stablehlo.convert %y : ({sides}) -> {b}
  %l = stablehlo.cholesky %a, lower = true : {a}
  %s = \"stablehlo.triangular_solve\"(%l, %b) <{{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>}}> : ({a}, {b}) -> {b}
  return %l, %s : {a}, {b}
}}"
            );
            let element = |k: usize| if k.is_multiple_of(4) { 6.0 } else { (k % 5) as f32 / 4.0 };
            let inputs = [Literal::from_fn([5, 3, 3], element), Literal::from_fn([5, 3, 2], element)];
            run_by_kernels(&text, &inputs);
        }
    }
}
