//! Elementwise ops of one operand, with a result of the same shape.

use super::rows::{self, ComplexMap, complex_map, real_map};
use super::{CHLO, TRANSCENDENTAL, bessel, complex, stablehlo};
use crate::Opcode;
use crate::derivative::{CotangentCx, TangentCx};
use crate::eval;
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check, make};
use shardwise_base::small::{I2, I4, U2, U4};
use shardwise_base::{Bool8, DType, DTypeKind, Diagnostic, Diagnostics, Literal, bf16, f16};
use shardwise_ir::{Builder, OpView, Type, Value};
use shardwise_mathfn as fns;

/// The function of an op on complex numbers, whose results are complex or real. `Not` if the op is not defined on them.
#[derive(Clone, Copy)]
pub enum OfComplex {
    Not,
    Complex(ComplexMap),
    Real(ComplexMap),
}

/// A function of signed integers. It is called with the integer extended to 64 bits and with its width in bits. The
/// result wraps to that width.
type OfSigned = fn(i64, u32) -> i64;
/// A function of unsigned integers, called like [`OfSigned`].
type OfUnsigned = fn(u64, u32) -> u64;
type OfFloat = (fn(f32) -> f32, fn(f64) -> f64);

/// A unary op, with its function on each kind of element. An op without a function for a kind is not defined on it.
pub struct Unary {
    /// The label of the constraint on the operand's element type.
    label: &'static str,
    float: Option<OfFloat>,
    signed: Option<OfSigned>,
    unsigned: Option<OfUnsigned>,
    boolean: Option<fn(bool) -> bool>,
    complex: OfComplex,
    flops: f64,
    linear: Linear,
    slope: Slope,
    /// Builds the cotangent of the operand. `None` for an op that is not linear.
    transpose: Option<fn(&mut CotangentCx<'_, '_, '_>) -> Value>,
    pub(crate) schema: Schema,
    example: &'static str,
}

impl Unary {
    fn exists_on(&self, dtype: DType) -> bool {
        match dtype.kind() {
            DTypeKind::Bool => self.boolean.is_some(),
            DTypeKind::Signed => self.signed.is_some(),
            DTypeKind::Unsigned => self.unsigned.is_some(),
            DTypeKind::Float => self.float.is_some(),
            DTypeKind::Quantized => false,
            DTypeKind::Complex => !matches!(self.complex, OfComplex::Not),
        }
    }

    fn result_dtype(&self, dtype: DType) -> DType {
        if matches!(self.complex, OfComplex::Real(_)) { dtype.real() } else { dtype }
    }

    fn apply(&self, x: &Literal) -> Option<Literal> {
        match x.dtype().kind() {
            DTypeKind::Bool => self.boolean.map(|f| eval::map(x, |b: Bool8| Bool8::from(f(b.into())))),
            DTypeKind::Signed => self.apply_signed(x, self.signed?),
            DTypeKind::Unsigned => self.apply_unsigned(x, self.unsigned?),
            DTypeKind::Float => self.apply_float(x, self.float?),
            DTypeKind::Complex => self.apply_complex(x),
            DTypeKind::Quantized => None,
        }
    }

    fn apply_signed(&self, x: &Literal, f: OfSigned) -> Option<Literal> {
        Some(match x.dtype() {
            DType::I8 => eval::map(x, |a: i8| f(a.into(), 8) as i8),
            DType::I16 => eval::map(x, |a: i16| f(a.into(), 16) as i16),
            DType::I32 => eval::map(x, |a: i32| f(a.into(), 32) as i32),
            DType::I64 => eval::map(x, |a: i64| f(a, 64)),
            DType::I2 => eval::map(x, |a: I2| I2::wrap(f(a.get(), 2))),
            DType::I4 => eval::map(x, |a: I4| I4::wrap(f(a.get(), 4))),
            _ => return None,
        })
    }

    fn apply_unsigned(&self, x: &Literal, f: OfUnsigned) -> Option<Literal> {
        Some(match x.dtype() {
            DType::U8 => eval::map(x, |a: u8| f(a.into(), 8) as u8),
            DType::U16 => eval::map(x, |a: u16| f(a.into(), 16) as u16),
            DType::U32 => eval::map(x, |a: u32| f(a.into(), 32) as u32),
            DType::U64 => eval::map(x, |a: u64| f(a, 64)),
            DType::U2 => eval::map(x, |a: U2| U2::wrap(f(a.get(), 2))),
            DType::U4 => eval::map(x, |a: U4| U4::wrap(f(a.get(), 4))),
            _ => return None,
        })
    }

    fn apply_float(&self, x: &Literal, (f, g): OfFloat) -> Option<Literal> {
        Some(match x.dtype() {
            DType::F32 => eval::map(x, f),
            DType::F64 => eval::map(x, g),
            DType::BF16 => eval::map(x, |a: bf16| bf16::from_f32(f(a.to_f32()))),
            DType::F16 => eval::map(x, |a: f16| f16::from_f32(f(a.to_f32()))),
            small => eval::convert(&eval::map(&eval::convert(x, DType::F32), f), small),
        })
    }

    fn apply_complex(&self, x: &Literal) -> Option<Literal> {
        match self.complex {
            OfComplex::Complex(f) | OfComplex::Real(f) => {
                Some(rows::map_literal(x, self.result_dtype(x.dtype()), f.of(x.dtype())))
            }
            OfComplex::Not => None,
        }
    }
}

/// The derivative of a unary op.
#[derive(Clone, Copy)]
enum Slope {
    Linear,
    /// The op is piecewise constant on real numbers, or defined on integers and booleans only. As in JAX, the sign of
    /// a complex number has the derivative zero, too.
    Zero,
    /// The tangent is that of the operand times this function of the operand and the result.
    Of(fn(&mut Builder<'_>, Value, Value) -> Value),
    By(fn(&mut TangentCx<'_, '_, '_>) -> Option<Value>),
}

/// Builds the tangent of an absolute value, which is zero at 0. For a complex number, it is the component of the
/// operand's tangent along the number. Returns `None` if the operand has no tangent.
///
/// At 0, JAX has the derivative 1 in place of 0. But functions that contain `max(x, y) + f(-abs(x - y))`, such as
/// `logaddexp` and `softplus`, are smooth. JAX has rules of its own for them, which an exported program does not show.
/// With the derivative 1, the derivative of such a program would be wrong at `x = y`.
fn abs_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (x, y, tangent) = (cx.operands[0], cx.results[0], cx.tangents[0]?);
    if !cx.op.operand_tensor(0).dtype.is_complex() {
        return cx.times(0, |b| make::sign(b, x));
    }
    let b = &mut *cx.b;
    let [x_re, x_im] = [make::real(b, x), make::imag(b, x)];
    let [re, im] = [make::real(b, tangent), make::imag(b, tangent)];
    let [re, im] = [make::multiply(b, re, x_re), make::multiply(b, im, x_im)];
    let along = make::add(b, re, im);
    let (zero, one) = (like(b, y, 0.0), like(b, y, 1.0));
    let is_zero = make::compare(b, "EQ", y, zero);
    let length = make::select(b, is_zero, one, y);
    Some(make::divide(b, along, length))
}

pub(super) fn like(b: &mut Builder<'_>, x: Value, value: f64) -> Value {
    let to = make::type_of(b, x);
    let element = make::float(b, to.dtype, value);
    make::broadcast_scalar(b, element, &to.shape)
}

pub(super) fn over(b: &mut Builder<'_>, value: f64, x: Value) -> Value {
    let value = like(b, x, value);
    make::divide(b, value, x)
}

pub(super) fn plus(b: &mut Builder<'_>, value: f64, x: Value) -> Value {
    let value = like(b, x, value);
    make::add(b, value, x)
}

pub(super) fn scaled(b: &mut Builder<'_>, value: f64, x: Value) -> Value {
    let value = like(b, x, value);
    make::multiply(b, value, x)
}

fn one_minus_square(b: &mut Builder<'_>, x: Value) -> Value {
    let square = make::multiply(b, x, x);
    let one = like(b, x, 1.0);
    make::subtract(b, one, square)
}

/// Builds `(1 + x) * (1 - x)`, which is more exact than `1 - x * x` where that is close to 0.
fn distance_to_ones(b: &mut Builder<'_>, x: Value) -> Value {
    let one = like(b, x, 1.0);
    let [above, below] = [make::add(b, one, x), make::subtract(b, one, x)];
    make::multiply(b, above, below)
}

fn one_plus_square(b: &mut Builder<'_>, x: Value) -> Value {
    let square = make::multiply(b, x, x);
    plus(b, 1.0, square)
}

fn gaussian(b: &mut Builder<'_>, factor: f64, sign: f64, x: Value) -> Value {
    let square = make::multiply(b, x, x);
    let exponent = scaled(b, sign, square);
    let exponential = make::exponential(b, exponent);
    scaled(b, factor, exponential)
}

/// The derivative of the error function at 0: 2 / sqrt(pi).
const ERF_SLOPE: f64 = std::f64::consts::FRAC_2_SQRT_PI;

impl Facts for Unary {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        match self.slope {
            Slope::Linear => Derivative::Linear,
            Slope::Zero => Derivative::Zero("it is piecewise constant"),
            Slope::By(tangent) => Derivative::by(move |cx| vec![tangent(cx)]),
            Slope::Of(slope) => Derivative::by(move |cx| {
                let (x, y) = (cx.operands[0], cx.results[0]);
                vec![cx.times(0, |b| slope(b, x, y))]
            }),
        }
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        match self.transpose {
            Some(transpose) => Transposed::by(move |cx| cx.for_each_linear(transpose)),
            None => Transposed::None("it is not linear"),
        }
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors(op)?;
        Check::new(op)
            .that(self.label, self.exists_on(x.dtype), "the op is not defined on elements of this type")
            .give_tensor(self.result_dtype(x.dtype), x.shape.clone())
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![self.apply(&x[0]).expect("`infer` refuses elements on which the op does not exist")])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, self.flops)
    }

    fn linear(&self, _: &OpView<'_>) -> Linear {
        self.linear
    }

    fn example(&self, _: Opcode) -> &'static str {
        self.example
    }

    answer!(usual);
    answer!(elementwise);
}

/// Builds a row with its label, schema and example, and no functions. Unless other values are added, it has one flop
/// for each element, is not linear, and has the derivative 0.
macro_rules! row {
    (@$dialect:literal $stem:literal $x:literal $ty:literal $schema:expr) => {
        Unary {
            label: concat!($stem, "_i1"),
            float: None,
            signed: None,
            unsigned: None,
            boolean: None,
            complex: OfComplex::Not,
            flops: 1.0,
            linear: Linear::No,
            slope: Slope::Zero,
            transpose: None,
            schema: $schema,
            example: concat!(
                "func.func @main(%arg0: tensor<2x", $x, ">) -> tensor<2x", $x, "> {\n  %0 = ", $dialect, ".", $stem,
                " %arg0 : ", $ty, "\n  return %0 : tensor<2x", $x, ">\n}"
            ),
        }
    };
    ($stem:literal) => {
        row!(@"stablehlo" $stem "f32" "tensor<2xf32>" stablehlo(
            ResultLabels::both(concat!($stem, "_c1")),
            OnQuantized::Computes { which: concat!($stem, "_i1"), alike: concat!($stem, "_c1") },
            UNARY,
        ))
    };
    // An op with an attribute for the accuracy of the result.
    (inexact $stem:literal) => {
        Unary { schema: Schema { attributes: RESULT_ACCURACY, ..row!($stem).schema }, ..row!($stem) }
    };
    ($stem:literal of integers) => {
        row!(@"stablehlo" $stem "i32" "tensor<2xi32>" stablehlo(
            ResultLabels::both(concat!($stem, "_c1")),
            OnQuantized::Refuses,
            UNARY,
        ))
    };
    (chlo $stem:literal) => {
        row!(@"chlo" $stem "f32" "tensor<2xf32> -> tensor<2xf32>" CHLO)
    };
}

const RESULT_ACCURACY: &[AttrSpec] = &[optional(
    "result_accuracy",
    None,
    AttrKind::Record(
        "stablehlo.result_accuracy",
        "`stablehlo.result_accuracy {atol, rtol: float; ulps: integer; mode}`",
    ),
    "as exact as the op is by default",
)];

/// Builds the row of a function of floats, and perhaps of complex numbers, that counts as [`TRANSCENDENTAL`] flops.
macro_rules! transcendental {
    ($slope:expr, $f32:expr, $f64:expr, $complex:expr, $($row:tt)*) => {
        Unary { float: Some(($f32, $f64)), complex: $complex, flops: TRANSCENDENTAL, slope: $slope, ..row!($($row)*) }
    };
}

/// Expands to `$with! { { first } { rest } .. }`, with the row of each op of the family: its variant, its name, its
/// facts and schema.
macro_rules! unary_ops {
    ($with:ident! { $($first:tt)* } { $($rest:tt)* }) => {
        $with! {
            { $($first)* }
            { $($rest)* }
            Abs "stablehlo.abs" Unary {
                float: Some((f32::abs, f64::abs)),
                signed: Some(|a, _| a.wrapping_abs()),
                complex: OfComplex::Real(real_map!(complex::abs)),
                slope: Slope::By(abs_tangent),
                schema: Schema {
                    results: ResultLabels::of("abs_c1", "abs_c2"),
                    on_quantized: OnQuantized::Computes { which: "abs_i1", alike: "abs_c2" },
                    ..row!("abs").schema
                },
                ..row!("abs")
            };
            Cbrt "stablehlo.cbrt" transcendental!(Slope::Of(|b, _, y| { let square = make::multiply(b, y, y); over(b, 1.0 / 3.0, square) }), fns::cbrt_f32, fns::cbrt_f64, OfComplex::Complex(complex_map!(complex::cbrt)), inexact "cbrt");
            Ceil "stablehlo.ceil" Unary { float: Some((f32::ceil, f64::ceil)), ..row!("ceil") };
            Cosine "stablehlo.cosine" transcendental!(Slope::Of(|b, x, _| { let sine = make::sine(b, x); make::negate(b, sine) }), fns::cos_f32, fns::cos_f64, OfComplex::Complex(complex_map!(complex::cos)), inexact "cosine");
            CountLeadingZeros "stablehlo.count_leading_zeros" Unary {
                signed: Some(|a, bits| i64::from((a << (64 - bits)).leading_zeros().min(bits))),
                unsigned: Some(|a, bits| u64::from((a << (64 - bits)).leading_zeros().min(bits))),
                ..row!("count_leading_zeros" of integers)
            };
            Exponential "stablehlo.exponential" transcendental!(Slope::Of(|_, _, y| y), fns::exp_f32, fns::exp_f64, OfComplex::Complex(complex_map!(complex::exp)), inexact "exponential");
            ExponentialMinusOne "stablehlo.exponential_minus_one" transcendental!(Slope::Of(|b, _, y| plus(b, 1.0, y)), fns::expm1_f32, fns::expm1_f64, OfComplex::Complex(complex_map!(complex::expm1)), inexact "exponential_minus_one");
            Floor "stablehlo.floor" Unary { float: Some((f32::floor, f64::floor)), ..row!("floor") };
            Imag "stablehlo.imag" Unary {
                float: Some((|_| 0.0, |_| 0.0)),
                complex: OfComplex::Real(real_map!(|z| z.im)),
                linear: Linear::Jointly,
                slope: Slope::Linear,
                transpose: Some(|cx| {
                    let ct = cx.cotangent();
                    let zeros = like(cx.b, ct, 0.0);
                    if !cx.operand_tensor(0).dtype.is_complex() {
                        return zeros;
                    }
                    let negative = make::negate(cx.b, ct);
                    make::complex(cx.b, zeros, negative)
                }),
                schema: stablehlo(ResultLabels::of("imag_c1", "imag_c2"), OnQuantized::Refuses, UNARY),
                ..row!("imag")
            };
            Log "stablehlo.log" transcendental!(Slope::Of(|b, x, _| over(b, 1.0, x)), fns::log_f32, fns::log_f64, OfComplex::Complex(complex_map!(complex::log)), inexact "log");
            LogPlusOne "stablehlo.log_plus_one" transcendental!(Slope::Of(|b, x, _| { let sum = plus(b, 1.0, x); over(b, 1.0, sum) }), fns::log1p_f32, fns::log1p_f64, OfComplex::Complex(complex_map!(complex::log1p)), inexact "log_plus_one");
            Logistic "stablehlo.logistic" transcendental!(Slope::Of(|b, _, y| { let one = like(b, y, 1.0); let rest = make::subtract(b, one, y); make::multiply(b, y, rest) }), fns::logistic_f32, fns::logistic_f64, OfComplex::Complex(complex_map!(complex::logistic)), inexact "logistic");
            Negate "stablehlo.negate" Unary {
                float: Some((|x| -x, |x| -x)),
                signed: Some(|a, _| a.wrapping_neg()),
                unsigned: Some(|a, _| a.wrapping_neg()),
                complex: OfComplex::Complex(complex_map!(|z| -z)),
                linear: Linear::UpToZeros,
                slope: Slope::Linear,
                transpose: Some(|cx| { let ct = cx.cotangent(); make::negate(cx.b, ct) }),
                ..row!("negate")
            };
            Not "stablehlo.not" Unary { signed: Some(|a, _| !a), unsigned: Some(|a, _| !a), boolean: Some(|a| !a), ..row!("not" of integers) };
            Popcnt "stablehlo.popcnt" Unary {
                signed: Some(|a, bits| i64::from((a << (64 - bits)).count_ones())),
                unsigned: Some(|a, _| u64::from(a.count_ones())),
                ..row!("popcnt" of integers)
            };
            Real "stablehlo.real" Unary {
                float: Some((|x| x, |x| x)),
                complex: OfComplex::Real(real_map!(|z| z.re)),
                linear: Linear::Jointly,
                slope: Slope::Linear,
                transpose: Some(|cx| {
                    let ct = cx.cotangent();
                    if !cx.operand_tensor(0).dtype.is_complex() {
                        return ct;
                    }
                    let zeros = like(cx.b, ct, 0.0);
                    make::complex(cx.b, ct, zeros)
                }),
                schema: stablehlo(ResultLabels::of("real_c1", "real_c2"), OnQuantized::Refuses, UNARY),
                ..row!("real")
            };
            RoundNearestAfz "stablehlo.round_nearest_afz" Unary { float: Some((f32::round, f64::round)), ..row!("round_nearest_afz") };
            RoundNearestEven "stablehlo.round_nearest_even" Unary { float: Some((f32::round_ties_even, f64::round_ties_even)), ..row!("round_nearest_even") };
            Rsqrt "stablehlo.rsqrt" transcendental!(Slope::Of(|b, x, y| { let quotient = make::divide(b, y, x); scaled(b, -0.5, quotient) }), fns::rsqrt_f32, fns::rsqrt_f64, OfComplex::Complex(complex_map!(|z| complex::reciprocal(complex::sqrt(z)))), inexact "rsqrt");
            Sign "stablehlo.sign" Unary {
                float: Some((
                    |x| if x.is_nan() || x == 0.0 { x } else { 1f32.copysign(x) },
                    |x| if x.is_nan() || x == 0.0 { x } else { 1f64.copysign(x) },
                )),
                signed: Some(|a, _| a.signum()),
                complex: OfComplex::Complex(complex_map!(complex::sign)),
                ..row!("sign")
            };
            Sine "stablehlo.sine" transcendental!(Slope::Of(|b, x, _| make::cosine(b, x)), fns::sin_f32, fns::sin_f64, OfComplex::Complex(complex_map!(complex::sin)), inexact "sine");
            Sqrt "stablehlo.sqrt" transcendental!(Slope::Of(|b, _, y| over(b, 0.5, y)), f32::sqrt, f64::sqrt, OfComplex::Complex(complex_map!(complex::sqrt)), inexact "sqrt");
            Tan "stablehlo.tan" transcendental!(Slope::Of(|b, _, y| one_plus_square(b, y)), fns::tan_f32, fns::tan_f64, OfComplex::Complex(complex_map!(complex::tan)), inexact "tan");
            Tanh "stablehlo.tanh" transcendental!(Slope::Of(|b, _, y| distance_to_ones(b, y)), fns::tanh_f32, fns::tanh_f64, OfComplex::Complex(complex_map!(complex::tanh)), inexact "tanh");
            ChloSquare "chlo.square" Unary { slope: Slope::Of(|b, x, _| scaled(b, 2.0, x)), float: Some((|x| x * x, |x| x * x)), complex: OfComplex::Complex(complex_map!(|z| z * z)), ..row!(chlo "square") };
            ChloConj "chlo.conj" Unary { slope: Slope::By(|cx| cx.tangents[0].map(|t| make::chlo_conj(cx.b, t))), transpose: Some(|cx| { let ct = cx.cotangent(); make::chlo_conj(cx.b, ct) }), float: Some((|x| x, |x| x)), complex: OfComplex::Complex(complex_map!(|z| z.conj())), ..row!(chlo "conj") };
            ChloErf "chlo.erf" transcendental!(Slope::Of(|b, x, _| gaussian(b, ERF_SLOPE, -1.0, x)), fns::erf_f32, fns::erf_f64, OfComplex::Not, chlo "erf");
            ChloErfc "chlo.erfc" transcendental!(Slope::Of(|b, x, _| gaussian(b, -ERF_SLOPE, -1.0, x)), fns::erfc_f32, fns::erfc_f64, OfComplex::Not, chlo "erfc");
            ChloErfInv "chlo.erf_inv" transcendental!(Slope::Of(|b, _, y| gaussian(b, 1.0 / ERF_SLOPE, 1.0, y)), fns::erf_inv_f32, fns::erf_inv_f64, OfComplex::Not, chlo "erf_inv");
            ChloLgamma "chlo.lgamma" transcendental!(Slope::Of(|b, x, _| make::unary(b, Opcode::ChloDigamma, x)), fns::lgamma_f32, fns::lgamma_f64, OfComplex::Not, chlo "lgamma");
            ChloDigamma "chlo.digamma" transcendental!(Slope::Of(|b, x, _| { let one = like(b, x, 1.0); make::binary(b, Opcode::ChloPolygamma, one, x) }), fns::digamma_f32, fns::digamma_f64, OfComplex::Not, chlo "digamma");
            ChloSinh "chlo.sinh" transcendental!(Slope::Of(|b, x, _| make::unary(b, Opcode::ChloCosh, x)), fns::sinh_f32, fns::sinh_f64, OfComplex::Complex(complex_map!(complex::sinh)), chlo "sinh");
            ChloCosh "chlo.cosh" transcendental!(Slope::Of(|b, x, _| make::unary(b, Opcode::ChloSinh, x)), fns::cosh_f32, fns::cosh_f64, OfComplex::Complex(complex_map!(complex::cosh)), chlo "cosh");
            ChloAsin "chlo.asin" transcendental!(Slope::Of(|b, x, _| { let rest = one_minus_square(b, x); make::rsqrt(b, rest) }), fns::asin_f32, fns::asin_f64, OfComplex::Complex(complex_map!(complex::asin)), chlo "asin");
            ChloAcos "chlo.acos" transcendental!(Slope::Of(|b, x, _| { let rest = one_minus_square(b, x); let root = make::rsqrt(b, rest); make::negate(b, root) }), fns::acos_f32, fns::acos_f64, OfComplex::Complex(complex_map!(complex::acos)), chlo "acos");
            ChloAtan "chlo.atan" transcendental!(Slope::Of(|b, x, _| { let sum = one_plus_square(b, x); over(b, 1.0, sum) }), fns::atan_f32, fns::atan_f64, OfComplex::Complex(complex_map!(complex::atan)), chlo "atan");
            ChloAsinh "chlo.asinh" transcendental!(Slope::Of(|b, x, _| { let sum = one_plus_square(b, x); make::rsqrt(b, sum) }), fns::asinh_f32, fns::asinh_f64, OfComplex::Complex(complex_map!(complex::asinh)), chlo "asinh");
            ChloAcosh "chlo.acosh" transcendental!(Slope::Of(|b, x, _| { let [less, more] = [plus(b, -1.0, x), plus(b, 1.0, x)].map(|y| make::rsqrt(b, y)); make::multiply(b, less, more) }), fns::acosh_f32, fns::acosh_f64, OfComplex::Complex(complex_map!(complex::acosh)), chlo "acosh");
            ChloAtanh "chlo.atanh" transcendental!(Slope::Of(|b, x, _| { let rest = one_minus_square(b, x); over(b, 1.0, rest) }), fns::atanh_f32, fns::atanh_f64, OfComplex::Complex(complex_map!(complex::atanh)), chlo "atanh");
            ChloTan "chlo.tan" transcendental!(Slope::Of(|b, _, y| one_plus_square(b, y)), fns::tan_f32, fns::tan_f64, OfComplex::Complex(complex_map!(complex::tan)), chlo "tan");
            ChloBesselI1e "chlo.bessel_i1e" transcendental!(Slope::Of(bessel::slope_i1e), fns::bessel_i1e_f32, fns::bessel_i1e_f64, OfComplex::Not, chlo "bessel_i1e");
        }
    };
}
pub(crate) use unary_ops;

/// Defines a constant for each row, which has the name of the op's variant.
macro_rules! constants {
    ({} {} $($variant:ident $name:literal $row:expr;)*) => {
        $(
            #[expect(non_upper_case_globals, reason = "it has the name of the op's variant")]
            pub const $variant: Unary = $row;
        )*
    };
}

/// The facts and schemas of the ops, by variant.
pub(crate) mod of {
    use super::*;
    unary_ops! { constants! {} {} }
}

/// Defines the function that returns the function of an op of the family on complex numbers.
macro_rules! complex_maps {
    ({} {} $($variant:ident $name:literal $row:expr;)*) => {
        /// Returns the function of an op on complex numbers, or `None` if it is not in this family or has none.
        pub(super) fn complex_map(op: Opcode) -> Option<ComplexMap> {
            let function = match op {
                $(Opcode::$variant => of::$variant.complex,)*
                _ => OfComplex::Not,
            };
            match function {
                OfComplex::Complex(f) | OfComplex::Real(f) => Some(f),
                OfComplex::Not => None,
            }
        }
    };
}

unary_ops! { complex_maps! {} {} }
