//! Discrete Fourier transforms: workers share the rows of each step of a transform, which is computed as the reference
//! computes it.

use super::buffers::{output_bytes, written};
use super::context::PlanCx;
use crate::memory::OutOfMemory;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::simd::{AtLevel, Vector, run_words};
use shardwise_ir::OpView;
use shardwise_ops::fft::{Part, Transform};

struct Fft {
    transform: Transform,
    output_bytes: usize,
}

/// Returns the step of an `fft`. Never returns `None`.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, Fft { transform: Transform::of(view), output_bytes: output_bytes(view) }))
}

impl Fft {
    fn effort(&self) -> Effort {
        if self.transform.part_count() > 1 { Effort::Large } else { Effort::Small }
    }
}

impl Kernel for Fft {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let plans = self.transform.plans();
        for (&i, output) in cx.instances.iter().zip(&mut outputs) {
            self.transform.run(&plans, cx.input(0, i).bytes(), written(output), &|parts| {
                Workers::global().run_each(parts, self.effort(), |part| run_words(Rows(part)));
            });
        }
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let at_once = Workers::global().at_once(self.transform.part_count(), self.effort());
        cx.predict(self.output_bytes, self.transform.scratch_bytes(at_once))
    }
}

/// Some rows of a step of a transform.
struct Rows<'a>(Part<'a>);

impl AtLevel for Rows<'_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        self.0.run();
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::{Complex32, Complex64, Literal};

    fn check(kind: &str, x: &Literal, elems: [&str; 2], lengths: &[usize], last: usize) {
        let shape = x.shape();
        let from = tensor(shape, elems[0]);
        let to = tensor(&[&shape[..shape.len() - 1], &[last]].concat(), elems[1]);
        let text = format!(
            "func.func @main(%x: {from}) -> {to} {{
  %0 = stablehlo.fft %x, type = {kind}, length = {lengths:?} : ({from}) -> {to}
  return %0 : {to}
}}"
        );
        run_by_kernels(&text, std::slice::from_ref(x));
    }

    #[test]
    fn special_numbers_have_the_bits_of_the_reference() {
        for shape in [&[12usize][..], &[3, 37], &[9, 62], &[8, 16]] {
            for special in [-0.0, 1e300, -5e-324] {
                let part = |k: usize| if k == 5 { special } else { 0.0 };
                let x = Literal::from_fn(shape, |k| Complex64::new(part(k), -0.0));
                check("FFT", &x, ["complex<f64>", "complex<f64>"], shape, *shape.last().expect("not a scalar"));
            }
        }
    }

    #[test]
    fn bits_are_those_of_the_reference() {
        let part = |k: usize| ((k * k + 3 * k) % 23) as f64 / 7.0 - 1.0;
        for shape in [&[5usize][..], &[3, 37], &[600, 64], &[4, 9, 10], &[0, 4]] {
            let (z, last) = ("complex<f64>", *shape.last().expect("not a scalar"));
            let complex = Literal::from_fn(shape, |k| Complex64::new(part(k), part(k + 5)));
            let single = Literal::from_fn(shape, |k| Complex32::new(part(k) as f32, part(k + 5) as f32));
            for rank in 1..=shape.len() {
                let lengths = &shape[shape.len() - rank..];
                if lengths.contains(&0) {
                    continue;
                }
                for kind in ["FFT", "IFFT"] {
                    check(kind, &complex, [z, z], lengths, last);
                    check(kind, &single, ["complex<f32>", "complex<f32>"], lengths, last);
                }
                check("RFFT", &Literal::from_fn(shape, part), ["f64", z], lengths, last / 2 + 1);
                let whole = [&lengths[..rank - 1], &[2 * last - 1]].concat();
                check("IRFFT", &complex, [z, "f64"], &whole, 2 * last - 1);
            }
        }
    }
}
