//! Elementwise ops that block programs do not compute, such as those on complex numbers: workers share the elements,
//! which are computed by the functions of the reference.

use super::buffers::{Piece, element_bytes, output_bytes, pieces};
use super::context::PlanCx;
use super::copies::{Filler, Moves};
use crate::memory::{Buffer, OutOfMemory};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::simd::{AtLevel, Vector, run_words};
use crate::small::Routine;
use shardwise_ir::OpView;
use shardwise_ops::elementwise::Rows;

/// The largest number of elements of a part.
const PART: usize = 1 << 12;

struct Elements {
    rows: Rows,
    /// For each operand, the bytes of an element, or `None` for a scalar that is used for all elements.
    operands: Vec<Option<usize>>,
    element_bytes: usize,
    output_bytes: usize,
}

/// Returns the step of an elementwise op, by the function of the reference for rows of elements ([`Rows`]). Returns
/// `None` for ops and types without such a function.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let rows = Rows::of(view)?;
    let whole = view.result_shape(0);
    let operand = |i: usize| (view.operand_shape(i) == whole).then(|| view.operand_tensor(i).dtype.storage_bytes());
    let operands = (0..view.operands().len()).map(operand).collect();
    let (element_bytes, output_bytes) = (element_bytes(view), output_bytes(view));
    Some(plan.kernel(view, Elements { rows, operands, element_bytes, output_bytes }))
}

/// Returns the routine of an elementwise op of which [`step`] returns the step. Returns `None` as it does.
pub fn routine(_: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    struct Whole(Rows);
    impl Routine for Whole {
        fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
            run_words(Row { rows: self.0, x: operands, y: results[0] });
        }
    }
    Some(Box::new(Whole(Rows::of(view)?)))
}

/// Returns the step of an op whose results are zeros, such as the imaginary parts of floats. Never returns `None`.
pub fn zeros<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = Moves { moves: vec![], filler: Some(Filler::Zeros), output_bytes: output_bytes(view) };
    Some(plan.kernel(view, kernel))
}

impl Elements {
    fn compute(&self, inputs: &[&Buffer], first: usize, to: &mut [u8]) {
        let count = to.len() / self.element_bytes;
        let mut rows = [&[][..]; 3];
        for ((row, input), operand) in rows.iter_mut().zip(inputs).zip(&self.operands) {
            *row = match operand {
                Some(bytes) => &input.bytes()[first * bytes..][..count * bytes],
                None => input.bytes(),
            };
        }
        run_words(Row { rows: self.rows, x: &rows[..inputs.len()], y: to });
    }
}

/// One row of an op, with the rows of its operands.
struct Row<'a> {
    rows: Rows,
    x: &'a [&'a [u8]],
    y: &'a mut [u8],
}

impl AtLevel for Row<'_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        self.rows.run(self.x, self.y);
    }
}

impl Kernel for Elements {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let parts = pieces(cx, &mut outputs, PART * self.element_bytes);
        let effort = if parts.len() > 2 { Effort::Large } else { Effort::Small };
        Workers::global().run_each(parts, effort, |Piece { instance, number, to }| {
            let inputs: Vec<&Buffer> = (0..self.operands.len()).map(|k| cx.input(k, instance)).collect();
            self.compute(&inputs, number * PART, to);
        });
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        cx.predict(self.output_bytes, 0)
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::run_by_kernels;
    use shardwise_base::{Bool8, Complex32, Complex64, Literal};

    /// Ops on the operands `%x` and `%y` of type `Z`, `%p` of truth values, `%r` of parts of type `R`, and the truth
    /// value `%t`. `W` is the other complex type. Each op is followed by the type of its result.
    const OPS: &[(&str, &str)] = &[
        ("stablehlo.add %x, %y : Z", "Z"),
        ("stablehlo.subtract %x, %y : Z", "Z"),
        ("stablehlo.multiply %x, %y : Z", "Z"),
        ("stablehlo.divide %x, %y : Z", "Z"),
        ("stablehlo.power %x, %y : Z", "Z"),
        ("stablehlo.negate %x : Z", "Z"),
        ("stablehlo.exponential %x : Z", "Z"),
        ("stablehlo.log %x : Z", "Z"),
        ("stablehlo.sqrt %x : Z", "Z"),
        ("stablehlo.tanh %x : Z", "Z"),
        ("stablehlo.sign %x : Z", "Z"),
        ("stablehlo.abs %x : (Z) -> R", "R"),
        ("stablehlo.real %x : (Z) -> R", "R"),
        ("stablehlo.imag %x : (Z) -> R", "R"),
        ("stablehlo.real %r : (R) -> R", "R"),
        ("stablehlo.imag %r : (R) -> R", "R"),
        ("chlo.conj %r : R -> R", "R"),
        ("stablehlo.complex %r, %r : Z", "Z"),
        ("chlo.conj %x : Z -> Z", "Z"),
        ("chlo.square %x : Z -> Z", "Z"),
        ("stablehlo.select %p, %x, %y : P, Z", "Z"),
        ("stablehlo.select %t, %x, %y : tensor<i1>, Z", "Z"),
        ("stablehlo.convert %r : (R) -> Z", "Z"),
        ("stablehlo.convert %p : (P) -> Z", "Z"),
        ("stablehlo.convert %x : (Z) -> W", "W"),
        ("stablehlo.convert %x : (Z) -> R", "R"),
        ("stablehlo.compare EQ, %x, %y, FLOAT : (Z, Z) -> P", "P"),
        ("stablehlo.compare NE, %x, %y, FLOAT : (Z, Z) -> P", "P"),
        ("stablehlo.compare LT, %x, %y, FLOAT : (Z, Z) -> P", "P"),
        ("stablehlo.compare GE, %x, %y, FLOAT : (Z, Z) -> P", "P"),
    ];

    fn part(k: usize) -> f64 {
        const SPECIAL: [f64; 6] = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e30, -1e-30];
        if k.is_multiple_of(5) { SPECIAL[k / 5 % 6] } else { ((k * k + 3 * k) % 29) as f64 / 8.0 - 1.5 }
    }

    fn check(op: &(&str, &str), count: usize, [z, real, other]: [&str; 3], inputs: &[Literal]) {
        let text = format!(
            "func.func @main(%x: Z, %y: Z, %r: R, %p: P, %t: tensor<i1>) -> {} {{\n  %0 = {}\n  return %0 : {}\n}}",
            op.1, op.0, op.1
        );
        let typed = |elem: &str| format!("tensor<{count}x{elem}>");
        let text = text.replace('Z', &typed(z)).replace('W', &typed(other)).replace('P', &typed("i1"));
        run_by_kernels(&text.replace('R', &typed(real)), inputs);
    }

    #[test]
    fn bits_are_those_of_the_reference() {
        for count in [0usize, 1, 7, 4097, 20_000] {
            let (p, t) = (Literal::from_fn([count], |k| Bool8::from(k % 3 == 0)), Literal::scalar(Bool8::from(true)));
            let narrow = |seed: usize| {
                let z = |k| Complex32::new(part(k + seed) as f32, part(k / 3 + 2 * seed) as f32);
                Literal::from_fn([count], z)
            };
            let wide = |seed: usize| {
                let z = |k| Complex64::new(part(k + seed), part(k / 3 + 2 * seed));
                Literal::from_fn([count], z)
            };
            let (single, double) = (Literal::from_fn([count], |k| part(k) as f32), Literal::from_fn([count], part));
            for op in OPS {
                let inputs = [narrow(0), narrow(7), single.clone(), p.clone(), t.clone()];
                check(op, count, ["complex<f32>", "f32", "complex<f64>"], &inputs);
                let inputs = [wide(0), wide(7), double.clone(), p.clone(), t.clone()];
                check(op, count, ["complex<f64>", "f64", "complex<f32>"], &inputs);
            }
        }
    }

    #[test]
    fn powers_of_integers() {
        for elem in ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"] {
            let (wide, narrow) = ("tensor<5000xi64>", format!("tensor<5000x{elem}>"));
            let text = format!(
                "func.func @main(%x: {wide}, %y: {wide}) -> {narrow} {{
  %0 = stablehlo.convert %x : ({wide}) -> {narrow}
  %1 = stablehlo.convert %y : ({wide}) -> {narrow}
  %2 = stablehlo.power %0, %1 : {narrow}
  return %2 : {narrow}
}}"
            );
            let [x, y] = [(31, 40), (7, 9)].map(|(step, range)| {
                Literal::from_fn([5000], move |k: usize| (k * step % range) as i64 - range as i64 / 4)
            });
            run_by_kernels(&text, &[x, y]);
        }
    }
}
