//! The specification's constraints on quantized operands and results.

use super::of;
use crate::check::{Check, constraint, needs_result_type};
use crate::schema::{OnQuantized, QuantizedMove, QuantizedProduct, QuantizedSum};
use crate::table::result_types;
use crate::{OPS, Opcode};
use shardwise_base::{DType, Diagnostic, Diagnostics, Quantized};
use shardwise_ir::{Body, Builder, Module, OpView, Type, Value};

const PER_TENSOR: &str = "values may be quantized per tensor only";

/// A function that infers the result types of an op on plain values.
type Infer<'a> = &'a dyn Fn(&OpView<'_>) -> Result<Vec<Type>, Diagnostics>;

/// Infers the result types of an op with quantized operands or results, after a check of the specification's
/// constraints on them. `plain` infers the result types of the op on plain values. Fails if the op takes no quantized
/// values, if it must declare its result types and does not, or if a check or `plain` fails.
pub(crate) fn infer(op: &OpView<'_>, plain: Infer<'_>) -> Result<Vec<Type>, Diagnostics> {
    match Opcode::of_view(op).schema().on_quantized {
        OnQuantized::Converts | OnQuantized::Any => plain(op),
        OnQuantized::PerTensor => {
            check_per_tensor(op)?;
            plain(op)
        }
        OnQuantized::Refuses => Err(not_taken(op).into()),
        OnQuantized::Moves(_) | OnQuantized::MovesAxis(_) if !is_per_axis(op) => plain(op),
        OnQuantized::Moves(label) => Err(constraint(op, label, PER_TENSOR).into()),
        OnQuantized::MovesAxis(moved) => {
            check_moved(op, moved)?;
            with_types(op, DType::storage, plain)
        }
        OnQuantized::Computes { which, alike } => {
            check_alike(op, which, alike)?;
            with_types(op, DType::expressed, plain)
        }
        OnQuantized::Adds(sum) => {
            check_sum(op, sum)?;
            with_types(op, DType::expressed, plain)
        }
        OnQuantized::Multiplies(product) => {
            check_product(op, product)?;
            with_types(op, DType::expressed, plain)
        }
    }
}

/// Returns the declared result types. Mapped by `of`, they must be the types that `plain` infers from the operand
/// types, mapped too. Fails otherwise, if `plain` fails, and if the op has no results.
fn with_types(op: &OpView<'_>, of: fn(DType) -> DType, plain: Infer<'_>) -> Result<Vec<Type>, Diagnostics> {
    if op.results().is_empty() {
        let message = format!("`{}` must state the types of its results", op.name());
        let note = "its operands do not determine how they are quantized";
        return Err(Diagnostic::error("op-needs-result-type", op.loc(), message).note(note).into());
    }
    let module = Module::new("quantized", &OPS);
    let mut body = Body::new();
    let mut b = Builder::new(&mut body);
    b.loc = op.loc().clone();
    let restated = |v: &Value| super::with_dtype(op.body.ty(*v), of);
    let args: Vec<Value> = op.operands().iter().map(|v| b.arg(restated(v))).collect();
    let given: Vec<Type> = op.results().iter().map(restated).collect();
    let made = b.op(op.data().code, args, op.attrs().clone(), given.clone());
    let expected = plain(&module.view(&body, made))?;
    if given != expected {
        return Err(result_types(op, &given, &expected).into());
    }
    Ok(op.results().iter().map(|&v| op.body.ty(v).clone()).collect())
}

fn quantized<'v>(op: &OpView<'v>) -> impl Iterator<Item = &'static Quantized> + use<'v> {
    let op = *op;
    op.operands().iter().chain(op.results()).filter_map(move |&v| of(&op, v))
}

fn check_per_tensor(op: &OpView<'_>) -> Result<(), Diagnostics> {
    let is_per_axis = |&v: &Value| of(op, v).is_some_and(|q| q.axis.is_some());
    match op.operands().iter().position(is_per_axis) {
        Some(i) => Err(constraint(op, Opcode::of_view(op).operand_label(i), PER_TENSOR).into()),
        None => Ok(()),
    }
}

fn is_per_axis(op: &OpView<'_>) -> bool {
    quantized(op).any(|q| q.axis.is_some())
}

/// Returns true if the two are equal except for scales and zero points.
fn is_alike(a: &Quantized, b: &Quantized) -> bool {
    (a.storage, a.range, a.expressed, a.axis) == (b.storage, b.range, b.expressed, b.axis)
}

fn check_alike(op: &OpView<'_>, which: &'static str, alike: &'static str) -> Result<(), Diagnostics> {
    let takes = |d: DType| d.is_float() || d.quantized().is_some();
    let dtypes = op.operands().iter().chain(op.results()).filter_map(|&v| Some(op.body.ty(v).as_tensor()?.dtype));
    let all: Vec<Option<&Quantized>> = dtypes.filter(|&d| takes(d)).map(DType::quantized).collect();
    let first = quantized(op).next().expect("a value is quantized");
    let rule = "all values with float or quantized elements must be quantized, by types that differ in scales and zero \
                points only";
    Check::new(op)
        .that(which, !is_per_axis(op), PER_TENSOR)
        .that(alike, all.iter().all(|q| q.is_some_and(|q| is_alike(q, first))), rule)
        .so_far()
}

fn check_sum(op: &OpView<'_>, labels: &QuantizedSum) -> Result<(), Diagnostics> {
    let ([a, b], [c]) = (op.operands(), op.results()) else { return Ok(()) };
    let (Some(a), Some(b), Some(c)) = (of(op, *a), of(op, *b), of(op, *c)) else {
        return Err(constraint(op, labels.which, "operands and result must all be quantized").into());
    };
    let (axis_a, axis_b) = (a.axis.is_some(), b.axis.is_some());
    let [lhs, rhs] = labels.axes;
    let are_same_floats = a.expressed == b.expressed && b.expressed == c.expressed;
    Check::new(op)
        .that(
            labels.storage,
            a.storage == b.storage && b.storage == c.storage,
            "operands and result must have the same storage type",
        )
        .that(labels.expressed, are_same_floats, "operands and result must have the same expressed type")
        .that(
            labels.per_axis,
            (axis_a || axis_b) == c.axis.is_some(),
            "the result must be quantized per axis exactly if an operand is",
        )
        .that(lhs, !axis_a || a.axis == c.axis, "the result must be quantized along the first operand's axis")
        .that(rhs, !axis_b || b.axis == c.axis, "the result must be quantized along the second operand's axis")
        .so_far()
}

fn check_product(op: &OpView<'_>, product: &QuantizedProduct) -> Result<(), Diagnostics> {
    let ([lhs, rhs, ..], [result]) = (op.operands(), op.results()) else { return Ok(()) };
    let (x, y, z) = (of(op, *lhs), of(op, *rhs), of(op, *result));
    let (Some(y), true) = (y, x.is_some() == z.is_some()) else {
        let rule = "the second operand must be quantized, and the result exactly if the first operand is";
        return Err(constraint(op, product.which, rule).into());
    };
    let mut check = Check::new(op);
    if let Some(label) = product.zero_points {
        check.that(label, y.zero_points.iter().all(|&z| z == 0), "the second operand's zero points must be 0");
    }
    let fits = y.axis.is_none_or(|axis| (product.fits_axis)(op, axis));
    check.that(product.axis, fits, "the second operand is quantized along a dimension that is not allowed");
    let (Some(x), Some(z)) = (x, z) else {
        let same = [*lhs, *result].iter().all(|&v| op.body.ty(v).as_tensor().is_some_and(|t| t.dtype == y.expressed));
        check.that(
            product.hybrid,
            same,
            "the second operand's expressed type must be the element type of the first operand and of the result",
        );
        return check.so_far();
    };
    let are_same_floats = x.expressed == y.expressed && y.expressed == z.expressed;
    check
        .that(product.lhs, x.axis.is_none(), "the first operand may be quantized per tensor only")
        .that(product.storage, x.storage == y.storage, "both operands must have the same storage type")
        .that(product.expressed, are_same_floats, "operands and result must have the same expressed type")
        .that(
            product.per_tensor,
            y.axis.is_some() || z.axis.is_none(),
            "the result may be quantized per axis only if the second operand is",
        );
    if let Some(result) = &product.result_axis {
        check.that(result.label, z.axis.is_none_or(|axis| (result.fits)(op, axis)), result.rule);
    }
    check.so_far()
}

fn check_moved(op: &OpView<'_>, moved: &QuantizedMove) -> Result<(), Diagnostics> {
    let [x, ..] = op.operands() else { return Ok(()) };
    let [y] = op.results() else { return Err(needs_result_type(op).into()) };
    let same = |a: &Quantized, b: &Quantized| {
        is_alike(&Quantized { axis: b.axis, ..a.clone() }, b)
            && (moved.scales.is_some() || (&a.scales, &a.zero_points) == (&b.scales, &b.zero_points))
    };
    let both = of(op, *x).zip(of(op, *y)).filter(|(a, b)| same(a, b));
    let axes = both.and_then(|(a, b)| a.axis.zip(b.axis));
    let (Some((a, b)), Some((from, to))) = (both, axes) else {
        let rule = "operand and result must both be quantized along a dimension, and alike except for the dimension";
        return Err(constraint(op, moved.alike, rule).into());
    };
    let follows = (moved.becomes)(op, from, to) && moved.scales.is_none_or(|fit| fit(op, a, b));
    let rule = "the result must be quantized along the dimension that the operand's quantized dimension becomes, with \
                scales and zero points that fit";
    Check::new(op).that(moved.axis, follows, rule).so_far()
}

fn not_taken(op: &OpView<'_>) -> Diagnostic {
    constraint(op, "op-quantized", "the op takes no quantized values")
        .help("dequantize first, with `stablehlo.uniform_dequantize`")
}
