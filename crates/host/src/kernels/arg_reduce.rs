//! Reductions to the largest or smallest value and its index: workers share the results. Each result is computed by one
//! worker, in the order of the reference.

use crate::block::offset;
use crate::elem::Elem;
use crate::kernels::buffers::written;
use crate::kernels::context::PlanCx;
use crate::kernels::strides::{innermost, row_major};
use crate::memory::{Buffer, OutOfMemory};
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::{Effort, Workers};
use crate::small::Routine;
use bytemuck::Pod;
use shardwise_ir::OpView;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::{ArgReduce, arg_reduce};

/// The largest number of elements that a part reduces if it has several results. A part has at least one result.
const PART: usize = 1 << 14;

struct ArgKernel {
    kind: ArgReduce,
    run: Run,
    /// The sizes of an element of each of the results, in bytes.
    sizes: [usize; 2],
    /// The loops over the results.
    results: Loops,
    /// The loops over the rows of elements of a result.
    rows: Loops,
    /// The number of elements of a row, and the distance between them, in elements.
    row: (usize, isize),
}

/// Nested loops, major to minor.
struct Loops {
    sizes: Vec<usize>,
    strides: Vec<isize>,
}

impl Loops {
    fn of(dims: &[(usize, isize)]) -> Loops {
        let (sizes, strides) = dims.iter().copied().unzip();
        Loops { sizes, strides }
    }

    fn count(&self) -> usize {
        self.sizes.iter().product()
    }

    fn offset(&self, turn: usize) -> isize {
        offset(&self.sizes, &self.strides, turn)
    }
}

/// Returns the step of a `reduce` to the largest or smallest value and its index. Returns `None` for other ops, for
/// complex values and those of types that kernels do not compute on, for indices that are not `i32`, `i64` or `ui32`,
/// if initial values or results have other types than the arrays, and for arrays without elements.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kernel = kernel(view)?;
    Some(plan.kernel(view, kernel))
}

/// Returns the routine for an op of which [`step`] returns the step. Returns `None` as it does.
pub fn routine(_: &PlanCx<'_>, view: &OpView<'_>) -> Option<Box<dyn Routine>> {
    Some(Box::new(kernel(view)?))
}

fn kernel(view: &OpView<'_>) -> Option<ArgKernel> {
    let kind = arg_reduce(view)?;
    let types = [view.operand_tensor(0).dtype, view.operand_tensor(1).dtype];
    let elems = [Elem::of(types[0])?, Elem::of(types[1])?];
    let is_alike =
        (0..2).all(|k| view.operand_tensor(2 + k).dtype == types[k] && view.result_tensor(k).dtype == types[k]);
    let (shape, reduced) = (view.operand_shape(0), Reduce::dims(view));
    if !is_alike || shape.contains(&0) {
        return None;
    }
    let run = run_of(elems)?;
    let strides = row_major(shape);
    let dims = |is_reduced: bool| {
        let dims = (0..shape.len()).filter(|d| reduced.contains(d) == is_reduced);
        dims.map(|d| (shape[d], strides[d])).collect::<Vec<_>>()
    };
    let inner = dims(true);
    let (row, outer) = innermost(&inner);
    let (results, rows) = (Loops::of(&dims(false)), Loops::of(&inner[..outer]));
    Some(ArgKernel { kind, run, sizes: elems.map(Elem::size), results, rows, row })
}

/// A function that computes results, from number `first` on, from the bytes of both arrays and of both initial values.
type Run = fn(&ArgKernel, first: usize, [&[u8]; 4], [&mut [u8]; 2]);

/// Returns the function for the element types of the values and of the indices, or `None` for types without one.
fn run_of(elems: [Elem; 2]) -> Option<Run> {
    match elems[1] {
        Elem::I32 => run_with::<i32>(elems[0]),
        Elem::I64 => run_with::<i64>(elems[0]),
        Elem::U32 => run_with::<u32>(elems[0]),
        _ => None,
    }
}

fn run_with<I: Pod + PartialOrd>(elem: Elem) -> Option<Run> {
    Some(match elem {
        Elem::F32 => ArgKernel::compute::<f32, I>,
        Elem::F64 => ArgKernel::compute::<f64, I>,
        Elem::F16 => ArgKernel::compute::<half::f16, I>,
        Elem::BF16 => ArgKernel::compute::<half::bf16, I>,
        Elem::I8 => ArgKernel::compute::<i8, I>,
        Elem::I16 => ArgKernel::compute::<i16, I>,
        Elem::I32 => ArgKernel::compute::<i32, I>,
        Elem::I64 => ArgKernel::compute::<i64, I>,
        Elem::U8 | Elem::Bool => ArgKernel::compute::<u8, I>,
        Elem::U16 => ArgKernel::compute::<u16, I>,
        Elem::U32 => ArgKernel::compute::<u32, I>,
        Elem::U64 => ArgKernel::compute::<u64, I>,
        Elem::C64 | Elem::C128 => return None,
    })
}

impl ArgKernel {
    fn compute<T: Pod + PartialOrd, I: Pod + PartialOrd>(&self, first: usize, from: [&[u8]; 4], to: [&mut [u8]; 2]) {
        let ArgReduce { is_max, keeps_nan } = self.kind;
        match (is_max, keeps_nan) {
            (true, true) => self.fold::<T, I>(first, from, to, |a, b| a > b || is_nan(a)),
            (true, false) => self.fold::<T, I>(first, from, to, |a, b| a > b),
            (false, true) => self.fold::<T, I>(first, from, to, |a, b| a < b || is_nan(a)),
            (false, false) => self.fold::<T, I>(first, from, to, |a, b| a < b),
        }
    }

    /// Computes results. `stays` is true if its first argument is the result of a pair, whatever the indices are.
    #[inline(always)]
    fn fold<T: Pod + PartialOrd, I: Pod + PartialOrd>(
        &self,
        first: usize,
        from: [&[u8]; 4],
        to: [&mut [u8]; 2],
        stays: impl Fn(&T, &T) -> bool,
    ) {
        let (values, indices): (&[T], &[I]) = (bytemuck::cast_slice(from[0]), bytemuck::cast_slice(from[1]));
        let init: (T, I) = (bytemuck::cast_slice(from[2])[0], bytemuck::cast_slice(from[3])[0]);
        let [largest, places] = to;
        let (largest, places): (&mut [T], &mut [I]) =
            (bytemuck::cast_slice_mut(largest), bytemuck::cast_slice_mut(places));
        let (len, stride) = self.row;
        for (k, (largest, place)) in largest.iter_mut().zip(places).enumerate() {
            let (base, (mut a, mut i)) = (self.results.offset(first + k), init);
            for row in (0..self.rows.count()).map(|row| self.rows.offset(row)) {
                for at in (0..len as isize).map(|k| (base + row + k * stride) as usize) {
                    let (b, j) = (values[at], indices[at]);
                    let value_stays = stays(&a, &b);
                    let index_stays = value_stays || (a == b && i < j);
                    a = if value_stays { a } else { b };
                    i = if index_stays { i } else { j };
                }
            }
            (*largest, *place) = (a, i);
        }
    }

    fn allocate(&self, cx: &KernelCx<'_>) -> Result<[Vec<Buffer>; 2], OutOfMemory> {
        let count = self.results.count();
        Ok([cx.allocate(count * self.sizes[0])?, cx.allocate(count * self.sizes[1])?])
    }
}

#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
#[inline(always)]
fn is_nan<T: PartialEq>(x: &T) -> bool {
    x != x
}

impl Routine for ArgKernel {
    fn run(&self, operands: &[&[u8]], results: &mut [&mut [u8]]) {
        let [values, places] = results else { unreachable!("the op has two results") };
        (self.run)(self, 0, [0, 1, 2, 3].map(|k| operands[k]), [values, places]);
    }
}

impl Kernel for ArgKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let [mut values, mut places] = self.allocate(cx)?;
        let count = (PART / (self.rows.count() * self.row.0)).max(1);
        let mut parts = vec![];
        for ((&instance, value), place) in cx.instances.iter().zip(&mut values).zip(&mut places) {
            let from = [0, 1, 2, 3].map(|k| cx.input(k, instance).bytes());
            let values = written(value).chunks_mut(count * self.sizes[0]);
            let to = values.zip(written(place).chunks_mut(count * self.sizes[1]));
            parts.extend(to.enumerate().map(|(part, (value, place))| (part * count, from, [value, place])));
        }
        let effort = if parts.len() > 2 { Effort::Large } else { Effort::Small };
        Workers::global().run_each(parts, effort, |(first, from, to)| (self.run)(self, first, from, to));
        cx.set(0, values);
        cx.set(1, places);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let outputs = self.allocate(cx)?;
        outputs.into_iter().enumerate().for_each(|(k, output)| cx.set(k, output));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    /// Runs a reduction of `x` and of indices that decrease by 1 after every second element, so that a later element
    /// has an equal or a smaller one.
    fn check(shape: &[usize], dims: &[usize], elem: &str, [direction, nan]: [&str; 2], x: Literal) {
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
        let [given, x_type, i_type] = ["f32", elem, "i32"].map(|elem| tensor(shape, elem));
        let [y, place] = [elem, "i32"].map(|elem| tensor(&kept, elem));
        let (one, index) = (tensor(&[], elem), tensor(&[], "i32"));
        let kind = if elem.starts_with('i') { "SIGNED" } else { "FLOAT" };
        let (or_nan, stays) = match nan {
            "NaN" => (
                format!(
                    "%n = stablehlo.compare NE, %a, %a, {kind} : ({one}, {one}) -> tensor<i1>
    %s = stablehlo.or %n, %g : tensor<i1>"
                ),
                "%s",
            ),
            _ => (String::new(), "%g"),
        };
        let source = format!(
            "func.func @main(%f: {given}, %i: {i_type}, %p: tensor<f32>, %q: tensor<i32>) -> ({y}, {place}) {{
  %x = stablehlo.convert %f : ({given}) -> {x_type}
  %p1 = stablehlo.convert %p : (tensor<f32>) -> {one}
  %r:2 = stablehlo.reduce(%x init: %p1), (%i init: %q) across dimensions = {dims:?} : ({x_type}, {i_type}, {one}, {index}) -> ({y}, {place})
   reducer(%a: {one}, %b: {one}) (%k: {index}, %j: {index}) {{
    %g = stablehlo.compare {direction}, %a, %b, {kind} : ({one}, {one}) -> tensor<i1>
    {or_nan}
    %e = stablehlo.compare EQ, %a, %b, {kind} : ({one}, {one}) -> tensor<i1>
    %l = stablehlo.compare LT, %k, %j, SIGNED : ({index}, {index}) -> tensor<i1>
    %d = stablehlo.and %l, %e : tensor<i1>
    %t = stablehlo.or {stays}, %d : tensor<i1>
    %v = stablehlo.select {stays}, %a, %b : tensor<i1>, {one}
    %w = stablehlo.select %t, %k, %j : tensor<i1>, {index}
    stablehlo.return %v, %w : {one}, {index}
  }}
  return %r#0, %r#1 : {y}, {place}
}}"
        );
        let count: usize = shape.iter().product();
        let indices = Literal::from_fn(shape.to_vec(), |k| (count / 2) as i32 - k as i32 / 2);
        run_by_kernels(&source, &[x, indices, Literal::scalar(-3.0f32), Literal::scalar(1i32)]);
    }

    #[test]
    fn bits_are_those_of_the_reference() {
        let shapes: [(&[usize], &[usize]); 6] = [
            (&[7], &[0]),
            (&[3, 50], &[1]),
            (&[50, 3], &[0]),
            (&[4, 5, 6], &[0, 2]),
            (&[2, 1, 9000], &[1, 2]),
            (&[5], &[]),
        ];
        for (shape, dims) in shapes {
            for elem in ["f32", "f64", "bf16", "f16", "i32", "i8"] {
                for kind in [["GT", "NaN"], ["GT", ""], ["LT", "NaN"], ["LT", ""]] {
                    for has_nan in [false, true] {
                        let special = |k: usize| match k * 7 % 23 {
                            3 if has_nan => f32::NAN,
                            5 => -0.0,
                            8 => 0.0,
                            n => (n as f32 - 9.0) / 2.0,
                        };
                        check(shape, dims, elem, kind, Literal::from_fn(shape.to_vec(), special));
                    }
                }
            }
        }
    }
}
