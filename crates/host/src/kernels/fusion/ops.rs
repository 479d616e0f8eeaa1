//! The ops that block programs compute.

use crate::block::{Binary, Comparison, Program, Value};
use crate::elem::Elem;
use crate::kernels::context::{Fused, PlanCx};
use crate::kernels::empty::is_empty;
use shardwise_ir::{OpView, TensorType};
use shardwise_ops::Opcode;
use shardwise_ops::dot::has_no_sum;
use shardwise_ops::elementwise::Compare;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::reducer::reduce_kind_of_op;

/// Returns true if block programs can compute the op: its row in the kernel table has a form for them other than a
/// view, the op meets the condition of the row, its result has elements, and its operands and results have real types
/// that kernels compute on. A program with the op may still fail to compile.
pub fn is_computed(plan: &PlanCx<'_>, view: &OpView<'_>) -> bool {
    let is_known = plan.fused(view).is_some_and(|fused| !matches!(fused, Fused::View(_)));
    let fits = |ty: &TensorType| Elem::of(ty.dtype).is_some_and(|e| !e.is_complex());
    let mut types = view.operands().iter().chain(view.results()).map(|&v| view.body.ty(v).as_tensor());
    is_known && !is_empty(view) && types.all(|t| t.is_some_and(fits))
}

/// Returns true if the op combines one array by a named reducer.
pub fn is_named_reduce(reduce: &OpView<'_>) -> bool {
    reduce.results().len() == 1 && reduce_kind_of_op(reduce).is_some()
}

/// Returns true if a product contracts no dimension of more than one element, and if both element types are that of the
/// result or narrower types of the same kind, so that converting the elements to it first changes none. Returns false
/// for truth values, complex numbers and types that kernels do not compute on.
pub fn is_multiplication(dot: &OpView<'_>) -> bool {
    let elem = |ty: &TensorType| Elem::of(ty.dtype);
    let Some(to) = elem(dot.result_tensor(0)).filter(|&to| to != Elem::Bool && !to.is_complex()) else { return false };
    let is_exact = |from: Elem| {
        let is_narrower = from != Elem::Bool && from.size() < to.size() && from.is_float() == to.is_float();
        from == to || (is_narrower && from.is_signed() == to.is_signed())
    };
    has_no_sum(dot) && (0..2).all(|i| elem(dot.operand_tensor(i)).is_some_and(is_exact))
}

/// Returns true if the first result of the op has the shape of its first operand.
pub fn keeps_shape(view: &OpView<'_>) -> bool {
    view.operand_shape(0) == view.result_shape(0)
}

/// Adds the comparison of two values to a program. Returns `None` if the direction is missing or not known, for complex
/// values, and, if the op compares in the total order, as [`Program::compare_total`] does. Panics if the values have
/// different types.
pub fn compare(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    let comparison = match Compare::direction(view)? {
        "EQ" => Comparison::Eq,
        "NE" => Comparison::Ne,
        "LT" => Comparison::Lt,
        "LE" => Comparison::Le,
        "GT" => Comparison::Gt,
        "GE" => Comparison::Ge,
        _ => return None,
    };
    if is_total_order(view) {
        return program.compare_total(comparison, operands[0], operands[1]);
    }
    program.binary(Binary::Compare(comparison), operands[0], operands[1])
}

/// Returns true if the op compares floats in the total order of IEEE 754.
pub fn is_total_order(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::Compare && Compare::is_total_order(view)
}

/// Adds the conversion of a value to the element type of the result. Returns `None` if kernels do not compute on that
/// type, or if [`Program::convert`] does.
pub fn convert(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.convert(operands[0], Elem::of(view.result_tensor(0).dtype)?)
}

/// Returns a value with the bits of the first operand and the element type of the op's result. Returns `None` if
/// kernels do not compute on that type, or if one of the types is complex or does not fill a lane of the program.
pub fn bitcast(program: &mut Program, view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.reinterpret(operands[0], Elem::of(view.result_tensor(0).dtype)?)
}

/// Adds the product of a value with itself. Returns `None` for complex values. The op is not used.
pub fn square(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.binary(Binary::Mul, operands[0], operands[0])
}

/// Adds a selection: the second value where the first one is true, else the third. Never returns `None`. Panics as
/// [`Program::select`] does.
pub fn select(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    Some(program.select(operands[0], operands[1], operands[2]))
}

/// Adds the second value, limited from below by the first and from above by the third. Returns `None` for complex
/// values. Panics if the values have different types.
pub fn clamp(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.clamp(operands[0], operands[1], operands[2])
}

/// Adds the float next to the first value in the direction of the second. Returns `None`, and panics, as
/// [`Program::next_after`] does.
pub fn next_after(program: &mut Program, _: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    program.next_after(operands[0], operands[1])
}

/// Returns the space of a program with this root: the shape of the operand of a `reduce`, or of the result of another
/// op.
pub fn space_of<'m>(root: &OpView<'m>) -> &'m [usize] {
    if Opcode::of_view(root) == Opcode::Reduce { root.operand_shape(0) } else { root.result_shape(0) }
}

/// Returns the reduced dimensions of a `reduce`, without those of size 1, along which nothing is combined.
pub fn folded(reduce: &OpView<'_>) -> Vec<usize> {
    let mut dims = Reduce::dims(reduce);
    dims.retain(|&d| reduce.operand_shape(0)[d] != 1);
    dims
}

/// Returns true if `dims` is empty, or if all dimensions of the shape from the lowest of `dims` on are in `dims` or
/// have size 1.
pub fn is_trailing(dims: &[usize], shape: &[usize]) -> bool {
    let first = dims.iter().copied().min().unwrap_or(shape.len());
    (first..shape.len()).all(|d| dims.contains(&d) || shape[d] == 1)
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::{run_by_kernels, tensor};
    use half::{bf16, f16};
    use shardwise_base::Literal;

    /// Bits of `f32`s: NaNs of both signs with different payloads, infinities, numbers, subnormal numbers and zeros.
    const SPECIAL: [u32; 16] = [
        0xffff_ffff,
        0xffc0_0000,
        0xff80_0001,
        0xff80_0000,
        0xff7f_ffff,
        0xbf80_0000,
        0x8000_0001,
        0x8000_0000,
        0,
        1,
        0x0080_0000,
        0x3f80_0000,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
        0x7fff_ffff,
    ];

    fn check(direction: &str, elem: &str, operands: [&str; 2], ops: &str, inputs: &[Literal]) {
        let (x, p) = (tensor(&[16, 16], elem), tensor(&[16, 16], "i1"));
        let text = format!(
            "func.func @main(%x: {x}, %y: {x}) -> {p} {{{ops}
  %p = stablehlo.compare {direction}, {}, {}, TOTALORDER : ({x}, {x}) -> {p}
  return %p : {p}
}}",
            operands[0], operands[1]
        );
        run_by_kernels(&text, inputs);
    }

    fn single(k: usize) -> f32 {
        f32::from_bits(SPECIAL[k])
    }

    fn double(k: usize) -> f64 {
        f64::from_bits(u64::from(SPECIAL[k]) << 32 | u64::from(SPECIAL[k] & 0xff))
    }

    /// Compares products along batch dimensions, of a view, of rows and columns, and along a dimension of one element.
    #[test]
    fn products_without_a_sum_are_those_of_the_reference() {
        let types = [("f32", "f32"), ("f64", "f64"), ("bf16", "bf16"), ("f16", "f16"), ("i8", "i8"), ("ui16", "ui16")];
        for (from, to) in types.into_iter().chain([("bf16", "f32"), ("i8", "i32"), ("f32", "f64")]) {
            let ty = |shape: &[usize], elem: &str| tensor(shape, elem);
            let (x, y, z) = (ty(&[40, 64], from), ty(&[64, 40], from), ty(&[40, 64], to));
            let given = ["%a", "%b"].map(|name| format!("{name}: {}", ty(&[2560], "f32"))).join(", ");
            let (column, row, outer) = (ty(&[2560, 1], from), ty(&[1, 2], from), ty(&[2560, 2], to));
            let text = format!(
                "func.func @main({given}) -> ({z}, {}, {outer}) {{
  %c = stablehlo.convert %a : (tensor<2560xf32>) -> tensor<2560x{from}>
  %d = stablehlo.convert %b : (tensor<2560xf32>) -> tensor<2560x{from}>
  %x = stablehlo.reshape %c : (tensor<2560x{from}>) -> {x}
  %y = stablehlo.reshape %d : (tensor<2560x{from}>) -> {y}
  %t = stablehlo.transpose %y, dims = [1, 0] : ({y}) -> {x}
  %0 = stablehlo.dot_general %x, %t, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [] : ({x}, {x}) -> {z}
  %1 = stablehlo.dot_general %x, %y, batching_dims = [1] x [0], contracting_dims = [] x [] : ({x}, {y}) -> {}
  %k = stablehlo.reshape %c : (tensor<2560x{from}>) -> {column}
  %s = stablehlo.slice %y [3:4, 5:7] : ({y}) -> {row}
  %2 = stablehlo.dot_general %k, %s, contracting_dims = [1] x [0] : ({column}, {row}) -> {outer}
  return %0, %1, %2 : {z}, {}, {outer}
}}",
                ty(&[64, 40, 40], to),
                ty(&[64, 40, 40], to),
                ty(&[64, 40, 40], to),
            );
            // Zeros of both signs are among the numbers, and small ones, whose products are rounded to zero.
            let number = |k: usize| [-0.0, 2f32.powi(-14), -(2f32.powi(-14))].get(k).copied();
            let numbers = |step: usize| {
                Literal::from_fn([2560], |k| number(k * step % 23).unwrap_or(((k * step % 23) as f32 - 11.0) * 0.75))
            };
            run_by_kernels(&text, &[numbers(7), numbers(5)]);
        }
    }

    #[test]
    fn next_floats_are_those_of_the_reference() {
        let check = |elem: &str, inputs: &[Literal]| {
            let x = tensor(&[16, 16], elem);
            let op = format!("%z = chlo.next_after %x, %y : {x}, {x} -> {x}");
            run_by_kernels(
                &format!("func.func @main(%x: {x}, %y: {x}) -> {x} {{\n  {op}\n  return %z : {x}\n}}"),
                inputs,
            );
        };
        check("f32", &[Literal::from_fn([16, 16], |k| single(k / 16)), Literal::from_fn([16, 16], |k| single(k % 16))]);
        check("f64", &[Literal::from_fn([16, 16], |k| double(k / 16)), Literal::from_fn([16, 16], |k| double(k % 16))]);
        let half = |k: usize| f16::from_bits((SPECIAL[k] >> 16 | SPECIAL[k] & 0xff) as u16);
        let brain = |k: usize| bf16::from_bits((SPECIAL[k] >> 16 | SPECIAL[k] & 0xff) as u16);
        check("f16", &[Literal::from_fn([16, 16], |k| half(k / 16)), Literal::from_fn([16, 16], |k| half(k % 16))]);
        check("bf16", &[Literal::from_fn([16, 16], |k| brain(k / 16)), Literal::from_fn([16, 16], |k| brain(k % 16))]);
    }

    #[test]
    fn the_total_order_is_that_of_the_reference() {
        let narrow = [Literal::from_fn([16, 16], |k| single(k / 16)), Literal::from_fn([16, 16], |k| single(k % 16))];
        let wide = [Literal::from_fn([16, 16], |k| double(k / 16)), Literal::from_fn([16, 16], |k| double(k % 16))];
        let numbers = [0, 5].map(|seed| Literal::from_fn([16, 16], |k| ((k * 7 + seed) % 23) as f64 / 4.0 - 2.0));
        // Narrow elements that are computed from wide ones.
        let converted = "
  %a = stablehlo.convert %x : (tensor<16x16xf64>) -> tensor<16x16xf32>
  %b = stablehlo.convert %y : (tensor<16x16xf64>) -> tensor<16x16xf32>
  %q = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xi1>
  %z = stablehlo.select %q, %x, %y : tensor<16x16xi1>, tensor<16x16xf64>";
        for direction in ["EQ", "NE", "LT", "LE", "GT", "GE"] {
            check(direction, "f32", ["%x", "%y"], "", &narrow);
            check(direction, "f64", ["%x", "%y"], "", &wide);
            check(direction, "f64", ["%z", "%y"], converted, &numbers);
        }
    }
}
