//! Quantized values, which are integers that represent floats, and the ordinary arithmetic that ops on them decompose
//! into.
//!
//! In memory a quantized value is its integers, so ops that only move elements need no change. An op that computes is
//! decomposed as the specification says ([`decompose`]): its operands are dequantized, the op runs on floats, and its
//! results are quantized. The interpreter evaluates the same ops that the partitioner puts in the op's place.

mod check;

pub(crate) use check::infer;

use crate::check::{Check, declared, tensors};
use crate::eval::{self, Number};
use crate::facts::*;
use crate::schema::*;
use crate::{OPS, Opcode, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Loc, Quantized};
use shardwise_ir::{Attrs, Body, Builder, Module, OpView, Region, Type, Value};

/// Returns true if an operand or a result is quantized.
pub fn is_quantized(op: &OpView<'_>) -> bool {
    op.operands().iter().chain(op.results()).any(|&v| of(op, v).is_some())
}

pub(crate) fn of(op: &OpView<'_>, v: Value) -> Option<&'static Quantized> {
    op.body.ty(v).as_tensor()?.dtype.quantized()
}

fn with_dtype(ty: &Type, of: fn(DType) -> DType) -> Type {
    match ty {
        Type::Tensor(t) => t.clone().with_dtype(of(t.dtype)).into(),
        Type::Tuple(types) => Type::Tuple(types.iter().map(|t| with_dtype(t, of)).collect()),
        Type::Future(types) => Type::Future(types.iter().map(|t| with_dtype(t, of)).collect()),
        Type::Token => Type::Token,
    }
}

/// Returns the type in memory, in which quantized values are their integers.
pub fn stored(ty: &Type) -> Type {
    with_dtype(ty, DType::storage)
}

/// Builds the ops that an op on quantized values decomposes into, and returns the results, quantized ones as integers.
/// `operands` replace its operands, quantized ones as integers. `regions` are its regions, which are already on
/// integers.
///
/// An op that computes is built on floats, between conversions from and to the integers, and without its regions.
/// `uniform_quantize` and `uniform_dequantize` become the conversions alone. Any other op is built on the integers.
pub fn decompose(op: &OpView<'_>, operands: &[Value], regions: Vec<Region>, b: &mut Builder<'_>) -> Vec<Value> {
    let floats = |b: &mut Builder<'_>| -> Vec<Value> {
        let pairs = operands.iter().zip(op.operands());
        pairs.map(|(&x, &v)| of(op, v).map_or(x, |q| dequantize(b, x, q))).collect()
    };
    let types = |of: fn(DType) -> DType| op.results().iter().map(move |&v| with_dtype(op.body.ty(v), of));
    let quantized = |b: &mut Builder<'_>, v: Value, x: Value| of(op, v).map_or(x, |q| quantize(b, x, q));
    match Opcode::of_view(op).schema().on_quantized {
        OnQuantized::Converts => {
            let x = floats(b)[0];
            vec![quantized(b, op.result(0), x)]
        }
        kind if kind.is_computed() => {
            let floats = floats(b);
            let made = b.op(op.data().code, floats, op.attrs().clone(), types(DType::expressed));
            let results = b.body[made].results.to_vec();
            op.results().iter().zip(results).map(|(&v, x)| quantized(b, v, x)).collect()
        }
        _ => {
            let (operands, attrs) = (operands.iter().copied(), op.attrs().clone());
            let made = b.op_with_regions(op.data().code, operands, attrs, regions, types(DType::storage));
            b.body[made].results.to_vec()
        }
    }
}

/// Builds `(integer - zero_point) * scale`. The difference is exact.
fn dequantize(b: &mut Builder<'_>, x: Value, q: &Quantized) -> Value {
    let shape = make::type_of(b, x).shape.to_vec();
    let wide = if q.storage.bits() < 32 { DType::I32 } else { DType::I64 };
    let mut x = make::convert(b, x, wide);
    if q.zero_points.iter().any(|&z| z != 0) {
        let zero = parameter(b, q, wide, &shape, |i| Number::Signed(q.zero_points[i]));
        x = make::subtract(b, x, zero);
    }
    let x = make::convert(b, x, q.expressed);
    let scale = parameter(b, q, q.expressed, &shape, |i| Number::Double(q.scales[i]));
    make::multiply(b, x, scale)
}

/// Builds `round(clamp(x / scale + zero_point))`, which is rounded to nearest even. The result for NaN is 0.
fn quantize(b: &mut Builder<'_>, x: Value, q: &Quantized) -> Value {
    let shape = make::type_of(b, x).shape.to_vec();
    let scale = parameter(b, q, q.expressed, &shape, |i| Number::Double(q.scales[i]));
    let mut x = make::divide(b, x, scale);
    if q.zero_points.iter().any(|&z| z != 0) {
        let zero = parameter(b, q, q.expressed, &shape, |i| Number::Signed(q.zero_points[i]));
        x = make::add(b, x, zero);
    }
    let (low, high) = (make::number(b, q.expressed, q.range.0), make::number(b, q.expressed, q.range.1));
    let x = make::clamp(b, low, x, high);
    let x = make::unary(b, Opcode::RoundNearestEven, x);
    make::convert(b, x, q.storage)
}

/// Builds a parameter for each element of an array of `shape`: `number(0)` for all, or `number(i)` for slice `i` of the
/// quantized dimension.
fn parameter(
    b: &mut Builder<'_>,
    q: &Quantized,
    dtype: DType,
    shape: &[usize],
    number: impl Fn(usize) -> Number,
) -> Value {
    let slices = if q.axis.is_some() { vec![q.scales.len()] } else { vec![] };
    let x = make::constant(b, eval::fill(dtype, &slices, number));
    match q.axis {
        Some(axis) => make::broadcast_in_dim(b, x, shape, &[axis]),
        None => make::broadcast_scalar(b, x, shape),
    }
}

pub(crate) fn run(op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
    let module = Module::new("quantized", &OPS);
    let mut body = Body::new();
    let mut b = Builder::new(&mut body);
    b.loc = op.loc().clone();
    let args: Vec<Value> = x.iter().map(|x| b.arg(Type::tensor(x.dtype(), x.shape()))).collect();
    let results = decompose(op, &args, vec![], &mut b);
    let mut values: Vec<Option<Literal>> = vec![None; body.value_count()];
    let get = |values: &[Option<Literal>], v: Value| values[v.index()].clone().expect("made before it is used");
    args.iter().zip(x).for_each(|(v, x)| values[v.index()] = Some(x.clone()));
    for &inner in &body[body.entry()].ops {
        let view = module.view(&body, inner);
        let operands: Vec<Literal> = view.operands().iter().map(|&v| get(&values, v)).collect();
        let made = crate::evaluate(&view, &operands, regions)?;
        view.results().iter().zip(made).for_each(|(v, x)| values[v.index()] = Some(x));
    }
    Ok(results.iter().map(|&v| get(&values, v)).collect())
}

/// Converts elements of type `from`, which are floats or quantized, to the quantized type `to`. Quantized elements are
/// passed and returned as their integers. Fails if an op of the decomposition does.
pub(crate) fn requantized(x: &Literal, from: DType, to: DType, loc: &Loc) -> Result<Literal, EvalError> {
    let module = Module::new("quantized", &OPS);
    let mut body = Body::new();
    let mut b = Builder::new(&mut body);
    b.loc = loc.clone();
    let arg = b.arg(Type::tensor(from, x.shape()));
    let op = b.op(Opcode::UniformQuantize, [arg], Attrs::new(), [Type::tensor(to, x.shape())]);
    Ok(run(&module.view(&body, op), std::slice::from_ref(x), &mut NoRegions)?.remove(0))
}

/// `stablehlo.uniform_quantize`: converts floats, or values quantized differently, to quantized values.
pub struct UniformQuantize;

impl UniformQuantize {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Converts,
        syntax: UNARY,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for UniformQuantize {
    answer!(
        calculus = none(
            "quantized values have no tangents",
            "values may be quantized along a dimension, whose number a batch would change"
        )
    );
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], to) = (tensors(op)?, declared(op)?);
        let mut check = Check::new(op);
        let is_float = x.dtype.expressed().is_float();
        check.that("uniform_quantize_i1", is_float, "the operand must have floating-point or quantized elements");
        check.that("uniform_quantize_o1", to.dtype.quantized().is_some(), "the result must be quantized");
        check.that("uniform_quantize_c1", x.shape == to.shape, "operand and result must have the same shape");
        let same = x.dtype.expressed() == to.dtype.expressed();
        check.that(
            "uniform_quantize_c2",
            same,
            "the result must represent floats of the type that the operand has or represents",
        );
        check.give([to.clone().into()])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        run(op, x, regions)
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(4.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>> {
  %0 = stablehlo.uniform_quantize %arg0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
  return %0 : tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
}"
    );
}

/// `stablehlo.uniform_dequantize`: converts quantized values to the floats that they represent.
pub struct UniformDequantize;

impl UniformDequantize {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::of("uniform_dequantize_c1", "uniform_dequantize_c2"),
        on_quantized: OnQuantized::Converts,
        syntax: UNARY,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for UniformDequantize {
    answer!(
        calculus = none(
            "quantized values have no tangents",
            "values may be quantized along a dimension, whose number a batch would change"
        )
    );
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = tensors(op)?;
        Check::new(op)
            .that("uniform_dequantize_i1", x.dtype.quantized().is_some(), "the operand must be quantized")
            .give_tensor(x.dtype.expressed(), x.shape.clone())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        run(op, x, regions)
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(3.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xf32> {
  %0 = stablehlo.uniform_dequantize %arg0 : (tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}
