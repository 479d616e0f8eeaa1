//! Reductions over the innermost dimensions and others, with a kept dimension between them. The rows are reduced first
//! and then their results, in the order that `shardwise_mathfn::order` defines.

use crate::block::{self, Operand, Program};
use crate::elem::Elem;
use crate::kernels::buffers::{output_bytes, read, write};
use crate::kernels::context::PlanCx;
use crate::kernels::fusion::folded;
use crate::kernels::reducers::reducer;
use crate::kernels::strides::row_major;
use crate::memory::OutOfMemory;
use crate::plan::{Kernel, KernelCx, Step};
use crate::pool::Workers;
use shardwise_base::DType;
use shardwise_ir::OpView;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;

struct ReduceKernel {
    /// Computes the rows' results from the operand.
    rows: block::Kernel,
    /// Computes the result from the rows' results and the initial value.
    whole: block::Kernel,
    between_bytes: usize,
    output_bytes: usize,
}

/// Returns the step of a `reduce` of one array by a named reducer, over some innermost dimensions and, with a kept one
/// between, over others. Dimensions of size 1 do not count. Returns `None` for other reductions, such as those over
/// innermost dimensions only, for arrays without elements, and for types and sizes without such a kernel.
pub fn step<'m>(plan: &mut PlanCx<'m>, view: &OpView<'m>) -> Option<Step> {
    let kind = reduce_kind_of_op(view).filter(|_| view.results().len() == 1)?;
    let (shape, dims) = (view.operand_shape(0), folded(view));
    let inner = (0..shape.len()).rev().take_while(|d| dims.contains(d) || shape[*d] == 1).last()?;
    let (row, rest): (Vec<usize>, Vec<usize>) = dims.into_iter().partition(|&d| d >= inner);
    if row.is_empty() || rest.is_empty() || shape.contains(&0) {
        return None;
    }
    let dtype = view.operand_tensor(0).dtype;
    let sum_dtype = if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype };
    let (elem, sum, reducer) = (Elem::of(dtype)?, Elem::of(sum_dtype)?, reducer(kind));

    let mut rows = Program::of(sum, shape).reducing(&row);
    let x = rows.input(elem, &row_major(shape));
    let x = rows.convert(x, sum)?;
    let identity = rows.identity(reducer, sum)?;
    let totals = rows.reduce(reducer, x, identity)?;
    let mut to = row_major(&shape[..inner]);
    let between = to.clone();
    to.resize(shape.len(), 0);
    rows.row_output(totals, &to);

    let mut whole = Program::of(sum, &shape[..inner]).reducing(&rest);
    let x = whole.input(sum, &between);
    let init = whole.input(elem, &vec![0; inner]);
    let init = whole.convert(init, sum)?;
    let total = whole.reduce(reducer, x, init)?;
    let total = whole.convert(total, elem)?;
    let mut kept = row_major(view.result_shape(0)).into_iter();
    let dropped = Reduce::dims(view);
    let to = (0..inner).map(|d| if dropped.contains(&d) { 0 } else { kept.next().unwrap_or(0) });
    whole.output(total, &to.collect::<Vec<_>>());

    let between_bytes = shape[..inner].iter().product::<usize>() * sum.size();
    let (rows, whole) = (rows.compile().ok()?, whole.compile().ok()?);
    let kernel = ReduceKernel { rows, whole, between_bytes, output_bytes: output_bytes(view) };
    Some(plan.kernel(view, kernel))
}

impl Kernel for ReduceKernel {
    fn run(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let mut between = cx.allocate(self.between_bytes)?;
        let instances = cx.instances.iter().zip(&mut between);
        let rows: Vec<Operand> = instances.flat_map(|(&i, totals)| [read(cx.input(0, i)), write(totals)]).collect();
        self.rows.run(Workers::global(), &rows, false);
        let mut outputs = cx.allocate(self.output_bytes)?;
        let instances = cx.instances.iter().zip(&between).zip(&mut outputs);
        let whole = instances.flat_map(|((&i, totals), output)| [read(totals), read(cx.input(1, i)), write(output)]);
        self.whole.run(Workers::global(), &whole.collect::<Vec<_>>(), false);
        cx.set(0, outputs);
        Ok(())
    }

    fn predict(&self, cx: &mut KernelCx<'_>) -> Result<(), OutOfMemory> {
        let (workers, count) = (Workers::global(), cx.instances.len());
        let _between = cx.allocate(self.between_bytes)?;
        cx.predict_scratch(self.rows.scratch_bytes(workers, count))?;
        cx.predict(self.output_bytes, self.whole.scratch_bytes(workers, count))
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use shardwise_base::Literal;

    fn check(shape: &[usize], dims: &[usize], elem: &str, reducer: &str) {
        let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
        let (given, x, result) = (tensor(shape, "f32"), tensor(shape, elem), tensor(&kept, elem));
        let source = format!(
            "func.func @main(%x: {given}, %i: tensor<f32>) -> {result} {{
  %0 = stablehlo.convert %x : ({given}) -> {x}
  %1 = stablehlo.convert %i : (tensor<f32>) -> tensor<{elem}>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.{reducer} across dimensions = {dims:?} : ({x}, tensor<{elem}>) -> {result}
  return %2 : {result}
}}"
        );
        let values = (0..shape.iter().product()).map(|i: usize| (i * 37 % 101) as f32 / 7.0 - 6.0);
        let inputs = [Literal::new(shape, &values.collect::<Vec<_>>()), Literal::scalar(2.5f32)];
        run_by_kernels(&source, &inputs);
    }

    #[test]
    fn over_any_dimensions() {
        let shapes: [&[usize]; 5] = [&[6, 5, 7], &[3, 1, 4, 1], &[2, 600, 3, 20], &[2, 3, 2, 3, 70], &[4, 1, 5, 1]];
        for shape in shapes {
            for set in 0..1 << shape.len() {
                let dims: Vec<usize> = (0..shape.len()).filter(|d| set >> d & 1 == 1).collect();
                for elem in ["f32", "bf16", "i8", "i64", "f64"] {
                    check(shape, &dims, elem, "add");
                }
                check(shape, &dims, "f16", "maximum");
                check(shape, &dims, "i32", "minimum");
                check(shape, &dims, "i1", "and");
            }
        }
    }

    /// Reduces arrays with NaN, infinities and zeros of both signs: rows of `n` elements, and `n` rows of few elements.
    fn check_length(n: usize) {
        let (mut ops, mut results, mut types) = (String::new(), vec![], vec![]);
        for elem in ["f32", "bf16", "f64", "i32"] {
            ops += &format!("  %i{elem} = stablehlo.convert %i : (tensor<f32>) -> tensor<{elem}>\n");
            for (x, shape, dim, kept) in [("a", [23, n], 1, 23), ("b", [n, 5], 0, 5)] {
                let (given, operand, result) = (tensor(&shape, "f32"), tensor(&shape, elem), tensor(&[kept], elem));
                ops += &format!("  %{x}{elem} = stablehlo.convert %{x} : ({given}) -> {operand}\n");
                for reducer in ["add", "maximum"] {
                    let name = format!("%{x}{elem}{reducer}");
                    ops += &format!(
                        "  {name} = stablehlo.reduce(%{x}{elem} init: %i{elem}) applies stablehlo.{reducer} across \
                         dimensions = [{dim}] : ({operand}, tensor<{elem}>) -> {result}\n"
                    );
                    results.push(name);
                    types.push(result.clone());
                }
            }
        }
        let (a, b) = (tensor(&[23, n], "f32"), tensor(&[n, 5], "f32"));
        let (results, types) = (results.join(", "), types.join(", "));
        let source = format!(
            "func.func @main(%a: {a}, %b: {b}, %i: tensor<f32>) -> ({types}) {{\n{ops}  return {results} : {types}\n}}"
        );
        // A result has one kind of special elements. Which NaN results from two different ones is not defined.
        let specials = [f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY];
        let value = |line: usize, i: usize| match i * 7 % 11 {
            at if at < 3 || (line % 5 == 1 && at < 10) => specials[line % 5],
            _ => (i * 37 % 101) as f32 / 7.0 - 6.0,
        };
        let rows: Vec<f32> = (0..23 * n).map(|i| value(i / n, i % n)).collect();
        let columns: Vec<f32> = (0..5 * n).map(|i| value(i % 5, i / 5)).collect();
        let inputs = [Literal::new([23, n], &rows), Literal::new([n, 5], &columns), Literal::scalar(-0.0f32)];
        run_by_kernels(&source, &inputs);
    }

    #[test]
    fn rows_and_columns_of_any_short_length() {
        (1..=70).for_each(check_length);
        [127, 128, 300].into_iter().for_each(check_length);
    }
}
