//! Sums and products of complex numbers along dimensions. Workers share the results, whose elements are combined in the
//! order that `shardwise_mathfn::order` defines.

use crate::elem::{ComplexNumber, Elem};
use crate::kernels::buffers::{Piece, output_bytes, pieces};
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::folded;
use crate::kernels::strides::row_major;
use crate::memory::OutOfMemory;
use crate::parts::Pace;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::simd::{AtLevel, Vector, run_words};
use crate::small::Routine;
use num_complex::{Complex32, Complex64};
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_mathfn::order::{CHUNK, LANES_64, fold_rows, fold_segment, fold_segments};
use shardwise_ops::ReduceKind;
use shardwise_ops::reducer::reduce_kind_of_op;
use std::cell::RefCell;
use std::ops::Range;

/// The largest number of results that follow each other and are computed together.
const WIDTH: usize = 128;

/// A part has about as many results as combine this number of elements. It has at least one result, or at least
/// [`WIDTH`] if the elements of neighbouring results follow each other.
const MANY: usize = 1 << 14;

struct Reduction {
    elem: Elem,
    is_sum: bool,
    places: Places,
    identity: Complex64,
    output_bytes: usize,
}

/// The places of the elements of each result.
struct Places {
    /// The sizes and strides of the kept dimensions, without those of `run`.
    kept: Vec<[usize; 2]>,
    /// The number of results whose elements follow each other: that of the innermost dimensions, if they are kept.
    run: usize,
    /// The sizes and strides of the reduced dimensions, without those of `row_len`.
    reduced: Vec<[usize; 2]>,
    /// The number of elements of a row, which follow each other: that of the innermost dimensions, if they are reduced,
    /// or 0 if there are no elements.
    row_len: usize,
}

/// Returns the step of a `reduce` of an array of complex numbers by sums or products, or `None` for others.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    Some(plan.kernel(view, Reduction::of(view)?))
}

/// Returns the routine of a `reduce` of which [`step`] returns the step. Returns `None` as it does.
pub fn routine(view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    Some(Box::new(Reduction::of(view)?))
}

impl Reduction {
    fn of(view: &OpView<'_>) -> Option<Reduction> {
        let kind = reduce_kind_of_op(view).filter(|_| view.results().len() == 1)?;
        let elem = Elem::of(view.operand_tensor(0).dtype).filter(|e| e.is_complex())?;
        let is_sum = match kind {
            ReduceKind::Add => true,
            ReduceKind::Mul => false,
            _ => return None,
        };
        let neutral = kind.neutral(DType::C128).unwrap_or_else(|| kind.identity(DType::C128));
        let places = Places::of(view.operand_shape(0), &folded(view));
        let (identity, output_bytes) = (neutral.get::<Complex64>(0), output_bytes(view));
        Some(Reduction { elem, is_sum, places, identity, output_bytes })
    }
}

impl Places {
    fn of(shape: &[usize], dims: &[usize]) -> Places {
        if shape.contains(&0) {
            return Places { kept: vec![], run: 1, reduced: vec![], row_len: 0 };
        }
        let strides = row_major(shape);
        let all: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] != 1).collect();
        let is_row = all.last().is_none_or(|d| dims.contains(d));
        let split = all.iter().rposition(|d| dims.contains(d) != is_row).map_or(0, |last| last + 1);
        let (outer, inner) = all.split_at(split);
        let count: usize = inner.iter().map(|&d| shape[d]).product();
        let pick = |is_reduced: bool| {
            let own = outer.iter().filter(|d| dims.contains(d) == is_reduced);
            own.map(|&d| [shape[d], strides[d] as usize]).collect()
        };
        let [run, row_len] = if is_row { [1, count] } else { [count, 1] };
        Places { kept: pick(false), run, reduced: pick(true), row_len }
    }

    fn rows(&self) -> usize {
        self.reduced.iter().map(|[size, _]| size).product()
    }
}

/// Returns the offset of place `i` in row-major order of these dimensions.
fn offset(mut i: usize, dims: &[[usize; 2]]) -> usize {
    let mut offset = 0;
    for &[size, stride] in dims.iter().rev() {
        offset += i % size * stride;
        i /= size;
    }
    offset
}

impl Reduction {
    fn compute(&self, first: usize, x: &[u8], init: &[u8], to: &mut [u8]) {
        match self.elem {
            Elem::C64 => self.results::<Complex32>(first, x, init, to),
            _ => self.results::<Complex64>(first, x, init, to),
        }
    }

    #[inline(always)]
    fn results<T: ComplexNumber>(&self, first: usize, x: &[u8], init: &[u8], to: &mut [u8]) {
        let (x, init) = (bytemuck::cast_slice(x), bytemuck::cast_slice::<u8, T>(init)[0].widen());
        let to = bytemuck::cast_slice_mut::<u8, T>(to);
        if self.is_sum {
            self.combined(first, x, init, to, |a, b| a + b);
        } else {
            self.combined(first, x, init, to, |a, b| a * b);
        }
    }

    /// Computes results from number `first` on.
    #[inline(always)]
    fn combined<T: ComplexNumber>(
        &self,
        first: usize,
        x: &[T],
        init: Complex64,
        to: &mut [T],
        op: impl Fn(Complex64, Complex64) -> Complex64 + Copy,
    ) {
        let Places { kept, run, reduced, row_len } = &self.places;
        if *row_len == 0 {
            return to.fill(T::narrow(init));
        }
        let pace = RefCell::new(Pace::default());
        let mut done = 0;
        while done < to.len() {
            let at = (first + done) % run;
            let own = &x[offset((first + done) / run, kept) + at..];
            if *run == 1 {
                let row = |r: usize| {
                    let row = &own[offset(r, reduced)..][..*row_len];
                    let segment = |segment: Range<usize>| {
                        pace.borrow_mut().spend(segment.len());
                        fold_segment(segment, *row_len, LANES_64, self.identity, |i| row[i].widen(), op)
                    };
                    fold_segments(*row_len, segment, op).expect("there are elements")
                };
                let total = fold_rows(self.places.rows(), row, op);
                to[done] = T::narrow(op(init, total.expect("there are elements")));
                done += 1;
                continue;
            }
            let width = WIDTH.min(run - at).min(to.len() - done);
            let totals = self.columns(own, width, &mut pace.borrow_mut(), op);
            for (to, total) in to[done..][..width].iter_mut().zip(totals) {
                *to = T::narrow(op(init, total));
            }
            done += width;
        }
    }

    /// Returns an array that starts with `width` totals. In each row, the elements of these totals follow each other.
    /// `x` starts with the first element of the first total.
    #[inline(always)]
    fn columns<T: ComplexNumber>(
        &self,
        x: &[T],
        width: usize,
        pace: &mut Pace,
        op: impl Fn(Complex64, Complex64) -> Complex64 + Copy,
    ) -> [Complex64; WIDTH] {
        let (rows, mut totals, mut part) = (self.places.rows(), [Complex64::ZERO; WIDTH], [Complex64::ZERO; WIDTH]);
        for start in (0..rows).step_by(CHUNK) {
            pace.spend(CHUNK * width);
            for r in start..rows.min(start + CHUNK) {
                let row = &x[offset(r, &self.places.reduced)..][..width];
                for (part, x) in part.iter_mut().zip(row) {
                    *part = if r == start { x.widen() } else { op(*part, x.widen()) };
                }
            }
            for (total, &part) in totals[..width].iter_mut().zip(&part) {
                *total = if start == 0 { part } else { op(*total, part) };
            }
        }
        totals
    }
}

/// Some results of a reduction, from number `first` on.
struct Part<'a> {
    reduction: &'a Reduction,
    first: usize,
    x: &'a [u8],
    init: &'a [u8],
    to: &'a mut [u8],
}

impl AtLevel for Part<'_> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        self.reduction.compute(self.first, self.x, self.init, self.to);
    }
}

impl Routine for Reduction {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        let (x, init, to) = (operands[0], operands[1], &mut *results[0]);
        run_words(Part { reduction: self, first: 0, x, init, to });
    }
}

impl Kernel for Reduction {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut outputs = cx.allocate(self.output_bytes)?;
        let Places { run, row_len, .. } = self.places;
        let at_once = if run == 1 { 1 } else { WIDTH };
        let results = (MANY / (self.places.rows() * row_len).max(1)).max(1).next_multiple_of(at_once);
        let parts = pieces(cx, &mut outputs, results * self.elem.size());
        let effort = if parts.len() > 1 { Effort::Large } else { Effort::Small };
        Workers::global().run_each(parts, effort, |Piece { instance, number, to }| {
            let [x, init] = [0, 1].map(|k| cx.input(k, instance).bytes());
            run_words(Part { reduction: self, first: number * results, x, init, to });
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
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::{Complex32, Complex64, Literal};

    fn check(shape: &[usize], dims: &[usize], reducer: &str) {
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
        let part = |i: usize| (i * 37 % 101) as f64 / 7.0 - 6.0;
        let element = |i: usize| Complex64::new(part(i), part(i + 9)) / 8.0;
        let narrow = |z: Complex64| Complex32::new(z.re as f32, z.im as f32);
        for elem in ["complex<f32>", "complex<f64>"] {
            let (x, result) = (tensor(shape, elem), tensor(&kept, elem));
            let source = format!(
                "func.func @main(%x: {x}, %i: tensor<{elem}>) -> {result} {{
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.{reducer} across dimensions = {dims:?} : ({x}, tensor<{elem}>) -> {result}
  return %0 : {result}
}}"
            );
            let inputs = match elem {
                "complex<f32>" => {
                    [Literal::from_fn(shape, |i| narrow(element(i))), Literal::scalar(Complex32::new(2.0, -1.0))]
                }
                _ => [Literal::from_fn(shape, element), Literal::scalar(Complex64::new(2.0, -1.0))],
            };
            run_by_kernels(&source, &inputs);
        }
    }

    #[test]
    fn over_any_dimensions() {
        let shapes: [&[usize]; 7] =
            [&[6, 5, 7], &[3, 1, 4, 1], &[2, 600, 3, 20], &[2, 3, 2, 3, 70], &[300, 33], &[1, 1], &[3, 0]];
        for shape in shapes {
            for set in 0..1 << shape.len() {
                let dims: Vec<usize> = (0..shape.len()).filter(|d| set >> d & 1 == 1).collect();
                check(shape, &dims, "add");
                check(shape, &dims, "multiply");
            }
        }
    }

    #[test]
    fn long_rows_and_columns() {
        for (shape, dims) in [([2, 40_000], [1]), ([40_000, 2], [0]), ([700, 1000], [0]), ([1000, 70], [1])] {
            check(&shape, &dims, "add");
        }
    }
}
