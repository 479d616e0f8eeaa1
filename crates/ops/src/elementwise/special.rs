//! Elementwise ops whose result type differs from the operand's, or that read bits.

use super::rows::{Zip, zip};
use super::{CHLO, stablehlo};
use crate::Opcode;
use crate::eval;
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check, make};
use shardwise_base::{Bool8, Complex32, Complex64, DType, Diagnostic, Diagnostics, Literal, LiteralWriter, bf16, f16};
use shardwise_ir::{OpView, Type, Value};

/// A test of each element of a float tensor.
pub struct Predicate {
    label: &'static str,
    holds: fn(f64) -> bool,
    pub(crate) schema: Schema,
    example: &'static str,
}

macro_rules! predicate {
    ($name:literal $stem:literal $open:literal $close:literal $holds:expr, $schema:expr) => {
        Predicate {
            label: concat!($stem, "_i1"),
            holds: $holds,
            schema: $schema,
            example: concat!(
                "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xi1> {\n  %0 = ",
                $name,
                " %arg0 : ",
                $open,
                "tensor<2xf32>",
                $close,
                " -> tensor<2xi1>\n  return %0 : tensor<2xi1>\n}"
            ),
        }
    };
}

const IS_FINITE_SCHEMA: Schema = stablehlo(
    ResultLabels::both("is_finite_c1"),
    OnQuantized::Computes { which: "is_finite_i1", alike: "is_finite_c1" },
    Syntax::pieces(OPERANDS, Types::Functional),
);

pub const IS_FINITE: Predicate = predicate!("stablehlo.is_finite" "is_finite" "(" ")" f64::is_finite, IS_FINITE_SCHEMA);
pub const IS_INF: Predicate = predicate!("chlo.is_inf" "is_inf" "" "" f64::is_infinite, CHLO);
pub const IS_POS_INF: Predicate = predicate!("chlo.is_pos_inf" "is_pos_inf" "" "" |x| x == f64::INFINITY, CHLO);
pub const IS_NEG_INF: Predicate = predicate!("chlo.is_neg_inf" "is_neg_inf" "" "" |x| x == f64::NEG_INFINITY, CHLO);

impl Facts for Predicate {
    answer!(derivative = zero("its results are booleans"));
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors(op)?;
        Check::new(op)
            .that(self.label, x.dtype.is_float(), "the operand must have floating-point elements")
            .give_tensor(DType::I1, x.shape.clone())
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let holds = |x: f64| Bool8::from((self.holds)(x));
        Ok(vec![match x[0].dtype() {
            DType::F32 => eval::map(&x[0], |a: f32| holds(a.into())),
            DType::F64 => eval::map(&x[0], holds),
            DType::BF16 => eval::map(&x[0], |a: bf16| holds(a.to_f64())),
            DType::F16 => eval::map(&x[0], |a: f16| holds(a.to_f64())),
            small if small.is_float() => eval::map(&eval::convert(&x[0], DType::F32), |a: f32| holds(a.into())),
            other => unreachable!("`infer` refuses elements of type {other}"),
        }])
    }

    fn example(&self, _: Opcode) -> &'static str {
        self.example
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(linear = No);
}

/// `stablehlo.complex`: a complex number from its two parts.
pub struct MakeComplex;

pub const COMPLEX: MakeComplex = MakeComplex;

impl MakeComplex {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::of("complex_c2", "complex_c3"),
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand], Types::Complex),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for MakeComplex {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let ct = cx.cotangent();
            let re = cx.is_linear(0).then(|| make::real(cx.b, ct).into());
            let im = cx.is_linear(1).then(|| {
                let negative = make::negate(cx.b, ct);
                make::imag(cx.b, negative).into()
            });
            vec![re, im]
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [re, im] = check::tensors(op)?;
        let dtype = if re.dtype == DType::F64 { DType::C128 } else { DType::C64 };
        Check::new(op)
            .that("complex_c1", re == im, "both operands must have the same type")
            .that("complex_i1", dtype.real() == re.dtype, "the operands must be of type f32 or f64")
            .give_tensor(dtype, re.shape.clone())
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![match x[0].dtype() {
            DType::F64 => eval::zip(&x[0], &x[1], Complex64::new),
            _ => eval::zip(&x[0], &x[1], Complex32::new),
        }])
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xcomplex<f32>> {
  %0 = stablehlo.complex %arg0, %arg1 : tensor<2xcomplex<f32>>
  return %0 : tensor<2xcomplex<f32>>
}"
    );
}

/// `chlo.next_after`: the float next to the first operand in the direction of the second, the second if both are equal,
/// or NaN if one of them is.
pub struct NextAfter;

/// Returns the function that computes the float next to the first one in the direction of the second, by its bits. If
/// both are equal, the result is the second. If one is NaN, the result is NaN.
macro_rules! next_after {
    ($float:ty, $int:ty) => {
        |a: $float, b: $float| {
            const SIGN: $int = 1 << (<$int>::BITS - 1);
            let (bits, target) = (a.to_bits(), b.to_bits());
            let next = if a.is_nan() || b.is_nan() {
                <$float>::NAN.to_bits()
            } else if a == b {
                target
            } else if bits & !SIGN == 0 {
                target & SIGN | 1
            } else if (a < b) == (bits & SIGN == 0) {
                bits + 1
            } else {
                bits - 1
            };
            <$float>::from_bits(next)
        }
    };
}

/// Returns `chlo.next_after` as a function of rows of `f16` or `bf16`, for which block programs have no formula.
/// Returns `None` for other types.
pub(super) fn next_after_rows(dtype: DType) -> Option<Zip> {
    match dtype {
        DType::F16 => Some(|x, y, to| zip(x, y, to, next_after!(f16, u16))),
        DType::BF16 => Some(|x, y, to| zip(x, y, to, next_after!(bf16, u16))),
        _ => None,
    }
}

fn next_codes(x: &Literal, y: &Literal) -> Literal {
    let mut out = LiteralWriter::new(x.dtype(), x.shape());
    for i in 0..x.size() {
        out.push(&[next_code(x.dtype(), x.element_bytes(i)[0], y.element_bytes(i)[0])]);
    }
    out.finish()
}

/// Returns the code of the float next to that of `code` in the direction of that of `target`, as `next_after!` does for
/// other types. `dtype` must be a float type of eight bits or less.
fn next_code(dtype: DType, code: u8, target: u8) -> u8 {
    let value = |code| dtype.small_float(code).expect("a small float type");
    let (x, y) = (value(code), value(target));
    if x.is_nan() || y.is_nan() {
        return dtype.small_float_code(f64::NAN).expect("a small float type");
    }
    if x == y {
        return target;
    }
    let is_up = x < y;
    // The codes of `f8E8M0FNU`, which has no zero and no sign, are in the order of their values.
    let sign = if dtype == DType::F8E8M0FNU { 0 } else { 1 << (dtype.bits() - 1) };
    if x == 0.0 {
        return if is_up { 1 } else { sign | 1 };
    }
    let next = if is_up == (code & sign == 0) { code + 1 } else { code - 1 };
    // In types without -0, its code is that of NaN.
    if value(next).is_nan() { 0 } else { next }
}

impl NextAfter {
    pub(crate) const SCHEMA: Schema = CHLO;
}

impl Facts for NextAfter {
    answer!(derivative = none("JAX defines none"));
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, y] = check::tensors(op)?;
        Check::new(op)
            .that("next_after_c1", x == y, "both operands must have the same type")
            .that("next_after_i1", x.dtype.is_float(), "the operands must have floating-point elements")
            .give([x.clone().into()])
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (x, y) = (&x[0], &x[1]);
        Ok(vec![match x.dtype() {
            DType::F16 => eval::zip(x, y, next_after!(f16, u16)),
            DType::BF16 => eval::zip(x, y, next_after!(bf16, u16)),
            DType::F32 => eval::zip(x, y, next_after!(f32, u32)),
            DType::F64 => eval::zip(x, y, next_after!(f64, u64)),
            small if small.is_float() => next_codes(&x.to_dense(), &y.to_dense()),
            other => unreachable!("`infer` refuses elements of type {other}"),
        }])
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(2.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
  %0 = chlo.next_after %arg0, %arg1 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_codes_are_the_next_values() {
        use DType::*;
        for dtype in [
            F4E2M1FN,
            F6E2M3FN,
            F6E3M2FN,
            F8E3M4,
            F8E4M3,
            F8E4M3FN,
            F8E4M3FNUZ,
            F8E4M3B11FNUZ,
            F8E5M2,
            F8E5M2FNUZ,
            F8E8M0FNU,
        ] {
            let value = |code: u8| dtype.small_float(code).expect("a small float type");
            let codes: Vec<u8> = (0..1u32 << dtype.bits()).map(|c| c as u8).filter(|&c| !value(c).is_nan()).collect();
            for (&x, &y) in codes.iter().flat_map(|x| codes.iter().map(move |y| (x, y))) {
                let next = value(next_code(dtype, x, y));
                let (x, y) = (value(x), value(y));
                let between = codes.iter().map(|&c| value(c)).filter(|&v| if x < y { v > x } else { v < x });
                let expected = if x < y {
                    between.fold(f64::INFINITY, f64::min)
                } else {
                    between.fold(f64::NEG_INFINITY, f64::max)
                };
                assert_eq!(next, if x == y { y } else { expected }, "{dtype} {x} {y}");
            }
        }
    }
}
