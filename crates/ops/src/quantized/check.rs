//! The specification's constraints on quantized operands and results.

use super::of;
use crate::check::{Check, constraint, needs_result_type};
use crate::dot::DotDims;
use crate::schema::OnQuantized;
use crate::table::result_types;
use crate::window::ConvDims;
use crate::{OPS, Opcode};
use shardwise_base::{DType, Diagnostic, Diagnostics, Quantized};
use shardwise_ir::{Body, Builder, Module, OpView, Type, Value};

/// A function that infers the result types of an op on plain values.
type Infer<'a> = &'a dyn Fn(&OpView<'_>) -> Result<Vec<Type>, Diagnostics>;

/// Infers the result types of an op with quantized operands or results.
pub(crate) fn infer(op: &OpView<'_>, plain: Infer<'_>) -> Result<Vec<Type>, Diagnostics> {
    match Opcode::of_view(op).schema().on_quantized {
        OnQuantized::Converts | OnQuantized::Any | OnQuantized::PerTensor => plain(op),
        OnQuantized::Refuses => Err(not_taken(op).into()),
        OnQuantized::Moves(label) if is_per_axis(op) => {
            moved_axis(op, label)?;
            with_types(op, DType::storage, plain)
        }
        OnQuantized::Moves(_) => plain(op),
        OnQuantized::Computes { which, alike } => {
            computed(op, which, alike)?;
            with_types(op, DType::expressed, plain)
        }
    }
}

/// Infers the result types with all types mapped by `of`. The declared result types, mapped too, must be the inferred
/// ones.
fn with_types(op: &OpView<'_>, of: fn(DType) -> DType, plain: Infer<'_>) -> Result<Vec<Type>, Diagnostics> {
    if op.results().is_empty() {
        return Err(needs_result_type(op).into());
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

fn is_per_axis(op: &OpView<'_>) -> bool {
    quantized(op).any(|q| q.axis.is_some())
}

/// Returns true if the two are equal except for scales and zero points.
fn is_alike(a: &Quantized, b: &Quantized) -> bool {
    (a.storage, a.range, a.expressed, a.axis) == (b.storage, b.range, b.expressed, b.axis)
}

/// Checks an op that is computed on floats.
fn computed(op: &OpView<'_>, which: &'static str, alike: &'static str) -> Result<(), Diagnostics> {
    let mut check = Check::new(op);
    match Opcode::of_view(op) {
        Opcode::Add => added(op, &mut check),
        Opcode::DotGeneral => product(op, &mut check, &DOT, |q| {
            // A dot without its attribute is reported by its own checks.
            !DotDims::of(op).is_some_and(|dims| dims.rhs_contract.contains(&q))
        }),
        Opcode::Convolution | Opcode::DynamicConv => product(op, &mut check, &CONVOLUTION, |q| {
            ConvDims::of(op).is_none_or(|dims| dims.kernel_output_feature == q)
        }),
        _ => {
            let takes = |d: DType| d.is_float() || d.quantized().is_some();
            let dtypes =
                op.operands().iter().chain(op.results()).filter_map(|&v| Some(op.body.ty(v).as_tensor()?.dtype));
            let all: Vec<Option<&Quantized>> = dtypes.filter(|&d| takes(d)).map(DType::quantized).collect();
            let first = quantized(op).next().expect("a value is quantized");
            let rule = "values may be quantized per tensor only";
            check.that(which, !is_per_axis(op), rule);
            let rule = "all values must be quantized, by types that differ in scales and zero points only";
            check.that(alike, all.iter().all(|q| q.is_some_and(|q| is_alike(q, first))), rule);
        }
    }
    check.so_far()
}

fn added(op: &OpView<'_>, check: &mut Check<'_, '_>) {
    let [a, b] = op.operands() else { return };
    let [c] = op.results() else { return };
    let (Some(a), Some(b), Some(c)) = (of(op, *a), of(op, *b), of(op, *c)) else {
        check.that("add_c2", false, "operands and result must all be quantized");
        return;
    };
    let (axis_a, axis_b) = (a.axis.is_some(), b.axis.is_some());
    check
        .that("add_c3", a.storage == b.storage && b.storage == c.storage, "all must have the same storage type")
        .that("add_c4", a.expressed == b.expressed && b.expressed == c.expressed, "all must stand for the same floats")
        .that("add_c5", (axis_a || axis_b) == c.axis.is_some(), "the result is quantized per axis if an operand is")
        .that("add_c6", !axis_a || a.axis == c.axis, "the result must be quantized along the first operand's axis")
        .that("add_c7", !axis_b || b.axis == c.axis, "the result must be quantized along the second operand's axis");
}

/// The labels of the constraints of `dot_general` and `convolution` on quantized values.
struct Product {
    lhs: &'static str,
    which: &'static str,
    zero_points: Option<&'static str>,
    axis: &'static str,
    storage: &'static str,
    expressed: &'static str,
    per_tensor: &'static str,
    hybrid: &'static str,
}

const DOT: Product = Product {
    lhs: "dot_general_i1",
    which: "dot_general_c14",
    zero_points: Some("dot_general_c15"),
    axis: "dot_general_c16",
    storage: "dot_general_c17",
    expressed: "dot_general_c18",
    per_tensor: "dot_general_c19",
    hybrid: "dot_general_c20",
};

const CONVOLUTION: Product = Product {
    lhs: "convolution_i1",
    which: "convolution_c28",
    zero_points: None,
    axis: "convolution_c29",
    storage: "convolution_c31",
    expressed: "convolution_c32",
    per_tensor: "convolution_c33",
    hybrid: "convolution_c34",
};

fn product(op: &OpView<'_>, check: &mut Check<'_, '_>, labels: &Product, axis_fits: impl Fn(usize) -> bool) {
    let ([lhs, rhs, ..], [result]) = (op.operands(), op.results()) else { return };
    let dtype = |v: Value| op.body.ty(v).as_tensor().map(|t| t.dtype);
    let (x, y, z) = (of(op, *lhs), of(op, *rhs), of(op, *result));
    let rule = "the second operand must be quantized, and the result if the first operand is";
    let (Some(y), true) = (y, x.is_some() == z.is_some()) else {
        check.that(labels.which, false, rule);
        return;
    };
    if let Some(label) = labels.zero_points {
        check.that(label, y.zero_points.iter().all(|&z| z == 0), "the second operand's zero points must be 0");
    }
    check.that(labels.axis, y.axis.is_none_or(axis_fits), "the second operand is quantized along another dimension");
    let (Some(x), Some(z)) = (x, z) else {
        let same = dtype(*lhs) == Some(y.expressed) && dtype(*result) == Some(y.expressed);
        check.that(labels.hybrid, same, "the second operand must stand for floats of the others' type");
        return;
    };
    let output = ConvDims::of(op).map(|dims| dims.output_feature);
    check
        .that(labels.lhs, x.axis.is_none(), "the first operand may be quantized per tensor only")
        .that(labels.storage, x.storage == y.storage, "both operands must have the same storage type")
        .that(
            labels.expressed,
            x.expressed == y.expressed && y.expressed == z.expressed,
            "all must stand for the same floats",
        )
        .that(
            labels.per_tensor,
            y.axis.is_some() || z.axis.is_none(),
            "the result is quantized per axis, the second operand is not",
        )
        .that(
            "convolution_c30",
            output.is_none() || z.axis.is_none() || z.axis == output,
            "the result must be quantized along its features",
        );
}

/// Checks an op that moves values quantized per axis: the result must be quantized along the same axis.
fn moved_axis(op: &OpView<'_>, label: &'static str) -> Result<(), Diagnostics> {
    let mut check = Check::new(op);
    let opcode = Opcode::of_view(op);
    let labels = match opcode {
        Opcode::Reshape => ("reshape_c1", "reshape_c3"),
        Opcode::DynamicReshape => ("dynamic_reshape_c1", "dynamic_reshape_c3"),
        Opcode::Transpose => ("transpose_c1", "transpose_c4"),
        Opcode::BroadcastInDim => ("broadcast_in_dim_c1", "broadcast_in_dim_c6"),
        Opcode::DynamicBroadcastInDim => ("dynamic_broadcast_in_dim_c1", "dynamic_broadcast_in_dim_c6"),
        _ => {
            check.that(label, false, "values may be quantized per tensor only");
            return check.so_far();
        }
    };
    let ([x, ..], [y]) = (op.operands(), op.results()) else { return Err(needs_result_type(op).into()) };
    let may_differ = matches!(opcode, Opcode::BroadcastInDim | Opcode::DynamicBroadcastInDim);
    let same = |a: &Quantized, b: &Quantized| {
        is_alike(&Quantized { axis: b.axis, ..a.clone() }, b)
            && (may_differ || (&a.scales, &a.zero_points) == (&b.scales, &b.zero_points))
    };
    let both = of(op, *x).zip(of(op, *y)).filter(|(a, b)| a.axis.is_some() && b.axis.is_some() && same(a, b));
    let Some((a, b)) = both else {
        check.that(labels.0, false, "operand and result must be quantized alike");
        return check.so_far();
    };
    check.that(labels.1, axis_follows(op, a, b), "the quantized dimension must be the operand's, with its scales");
    check.so_far()
}

/// Returns true if the result is quantized along the dimension that the operand's quantized dimension becomes.
fn axis_follows(op: &OpView<'_>, a: &Quantized, b: &Quantized) -> bool {
    let (Some(from), Some(to)) = (a.axis, b.axis) else { return false };
    let (x, y) = (op.operand_shape(0), op.result_shape(0));
    match Opcode::of_view(op) {
        Opcode::Transpose => op.sizes("permutation").get(to) == Some(&from),
        Opcode::BroadcastInDim | Opcode::DynamicBroadcastInDim => {
            let repeated =
                || b.scales.iter().all(|s| *s == a.scales[0]) && b.zero_points.iter().all(|z| *z == a.zero_points[0]);
            op.sizes("broadcast_dimensions").get(from) == Some(&to) && (x[from] != 1 || repeated())
        }
        _ => {
            let parts = |shape: &[usize], d: usize| -> (usize, usize, usize) {
                (shape[..d].iter().product(), shape[d], shape[d + 1..].iter().product())
            };
            parts(x, from) == parts(y, to)
        }
    }
}

fn not_taken(op: &OpView<'_>) -> Diagnostic {
    constraint(op, "op-quantized", "the op takes no quantized values")
        .help("dequantize first, with `stablehlo.uniform_dequantize`")
}
