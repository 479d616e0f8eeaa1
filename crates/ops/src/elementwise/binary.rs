//! Elementwise ops of two operands of one type, with a result of the same type.

use super::rows::{self, ComplexZip, complex_zip};
use super::unary::like;
use super::{CHLO, TRANSCENDENTAL, complex, stablehlo};
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

/// A function of signed integers. It is called with the integers extended to 64 bits and with their width in bits. The
/// result wraps to that width.
type OfSigned = fn(i64, i64, u32) -> i64;
/// A function of unsigned integers, called like [`OfSigned`].
type OfUnsigned = fn(u64, u64, u32) -> u64;
type OfCotangents = fn(&mut CotangentCx<'_, '_, '_>) -> Vec<Option<Cotangent>>;
type OfFloat = (fn(f32, f32) -> f32, fn(f64, f64) -> f64);

/// A binary op, with its function on each kind of element. An op without a function for a kind is not defined on it.
pub struct Binary {
    /// The labels of the constraints on the operands' types and on their element type.
    labels: (&'static str, &'static str),
    float: Option<OfFloat>,
    signed: Option<OfSigned>,
    unsigned: Option<OfUnsigned>,
    boolean: Option<fn(bool, bool) -> bool>,
    pub(super) complex: Option<ComplexZip>,
    flops: f64,
    linear: Linear,
    /// The tangent. `None` for an op that is not defined on floats, and for one whose tangent follows from `linear`.
    tangent: Option<fn(&mut TangentCx<'_, '_, '_>) -> Option<Value>>,
    /// The cotangents of the operands. `None` for an op that is not linear.
    transpose: Option<OfCotangents>,
    pub(crate) schema: Schema,
    example: &'static str,
}

impl Binary {
    fn exists_on(&self, dtype: DType) -> bool {
        match dtype.kind() {
            DTypeKind::Bool => self.boolean.is_some(),
            DTypeKind::Signed => self.signed.is_some(),
            DTypeKind::Unsigned => self.unsigned.is_some(),
            DTypeKind::Float => self.float.is_some(),
            DTypeKind::Quantized => false,
            DTypeKind::Complex => self.complex.is_some(),
        }
    }

    pub(crate) fn apply(&self, x: &Literal, y: &Literal) -> Option<Literal> {
        match x.dtype().kind() {
            DTypeKind::Bool => {
                self.boolean.map(|f| eval::zip(x, y, |a: Bool8, b: Bool8| Bool8::from(f(a.into(), b.into()))))
            }
            DTypeKind::Signed => apply_signed(x, y, self.signed?),
            DTypeKind::Unsigned => apply_unsigned(x, y, self.unsigned?),
            DTypeKind::Float => apply_float(x, y, self.float?),
            DTypeKind::Complex => Some(rows::zip_literals(x, y, x.dtype(), self.complex?.of(x.dtype()))),
            DTypeKind::Quantized => None,
        }
    }
}

fn apply_signed(x: &Literal, y: &Literal, f: OfSigned) -> Option<Literal> {
    Some(match x.dtype() {
        DType::I8 => eval::zip(x, y, |a: i8, b: i8| f(a.into(), b.into(), 8) as i8),
        DType::I16 => eval::zip(x, y, |a: i16, b: i16| f(a.into(), b.into(), 16) as i16),
        DType::I32 => eval::zip(x, y, |a: i32, b: i32| f(a.into(), b.into(), 32) as i32),
        DType::I64 => eval::zip(x, y, |a: i64, b: i64| f(a, b, 64)),
        DType::I2 => eval::zip(x, y, |a: I2, b: I2| I2::wrap(f(a.get(), b.get(), 2))),
        DType::I4 => eval::zip(x, y, |a: I4, b: I4| I4::wrap(f(a.get(), b.get(), 4))),
        _ => return None,
    })
}

fn apply_unsigned(x: &Literal, y: &Literal, f: OfUnsigned) -> Option<Literal> {
    Some(match x.dtype() {
        DType::U8 => eval::zip(x, y, |a: u8, b: u8| f(a.into(), b.into(), 8) as u8),
        DType::U16 => eval::zip(x, y, |a: u16, b: u16| f(a.into(), b.into(), 16) as u16),
        DType::U32 => eval::zip(x, y, |a: u32, b: u32| f(a.into(), b.into(), 32) as u32),
        DType::U64 => eval::zip(x, y, |a: u64, b: u64| f(a, b, 64)),
        DType::U2 => eval::zip(x, y, |a: U2, b: U2| U2::wrap(f(a.get(), b.get(), 2))),
        DType::U4 => eval::zip(x, y, |a: U4, b: U4| U4::wrap(f(a.get(), b.get(), 4))),
        _ => return None,
    })
}

fn apply_float(x: &Literal, y: &Literal, (f, g): OfFloat) -> Option<Literal> {
    Some(match x.dtype() {
        DType::F32 => eval::zip(x, y, f),
        DType::F64 => eval::zip(x, y, g),
        DType::BF16 => eval::zip(x, y, |a: bf16, b: bf16| bf16::from_f32(f(a.to_f32(), b.to_f32()))),
        DType::F16 => eval::zip(x, y, |a: f16, b: f16| f16::from_f32(f(a.to_f32(), b.to_f32()))),
        small => {
            let wide = |x| eval::convert(x, DType::F32);
            eval::convert(&eval::zip(&wide(x), &wide(y), f), small)
        }
    })
}

impl Facts for Binary {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        match (self.tangent, self.linear(op)) {
            (Some(tangent), _) => Derivative::by(move |cx| vec![tangent(cx)]),
            (None, Linear::No) => Derivative::Zero("it is not defined on floats"),
            (None, _) => Derivative::Linear,
        }
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        match self.transpose {
            Some(transpose) => Transposed::by(transpose),
            None => Transposed::None("it is not linear"),
        }
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x, y] = check::tensors(op)?;
        Check::new(op)
            .that(self.labels.0, x == y, "both operands must have the same type")
            .that(self.labels.1, self.exists_on(x.dtype), "the op is not defined on elements of this type")
            .give([x.clone().into()])
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![self.apply(&x[0], &x[1]).expect("`infer` refuses elements on which the op does not exist")])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, self.flops)
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        // Quotients of integers are rounded.
        let is_rounded = matches!(self.linear, Linear::In(_)) && op.operand_tensor(0).dtype.is_integer();
        if is_rounded { Linear::No } else { self.linear }
    }

    fn example(&self, _: Opcode) -> &'static str {
        self.example
    }

    answer!(usual);
    answer!(elementwise);
}

/// Builds a row's labels, schema and example. The functions are added to it.
macro_rules! row {
    (chlo $stem:literal of $x:literal) => {
        Binary {
            schema: CHLO,
            example: concat!(
                "func.func @main(%arg0: tensor<2x", $x, ">, %arg1: tensor<2x", $x, ">) -> tensor<2x", $x,
                "> {\n  %0 = chlo.", $stem, " %arg0, %arg1 : tensor<2x", $x, ">, tensor<2x", $x, "> -> tensor<2x", $x,
                ">\n  return %0 : tensor<2x", $x, ">\n}"
            ),
            ..row!($stem of $x)
        }
    };
    ($stem:literal of $x:literal) => {
        Binary {
            labels: (concat!($stem, "_c1"), concat!($stem, "_i1")),
            float: None,
            signed: None,
            unsigned: None,
            boolean: None,
            complex: None,
            flops: 1.0,
            linear: Linear::No,
            tangent: None,
            transpose: None,
            schema: stablehlo(ResultLabels::both(concat!($stem, "_c1")), OnQuantized::Refuses, BINARY),
            example: concat!(
                "func.func @main(%arg0: tensor<2x", $x, ">, %arg1: tensor<2x", $x, ">) -> tensor<2x", $x,
                "> {\n  %0 = stablehlo.", $stem, " %arg0, %arg1 : tensor<2x", $x, ">\n  return %0 : tensor<2x", $x,
                ">\n}"
            ),
        }
    };
    // An op on floats, which is computed on quantized values too.
    ($stem:literal) => {
        Binary {
            schema: stablehlo(
                ResultLabels::both(concat!($stem, "_c1")),
                OnQuantized::Computes { which: concat!($stem, "_i1"), alike: concat!($stem, "_c1") },
                BINARY,
            ),
            ..row!($stem of "f32")
        }
    };
}

pub const ADD: Binary = Binary {
    tangent: Some(|cx| cx.sum([cx.tangents[0], cx.tangents[1]])),
    transpose: Some(|cx| cx.for_each_linear(|cx| cx.cotangent())),
    float: Some((|a, b| a + b, |a, b| a + b)),
    signed: Some(|a, b, _| a.wrapping_add(b)),
    unsigned: Some(|a, b, _| a.wrapping_add(b)),
    boolean: Some(|a, b| a | b),
    complex: Some(complex_zip!(|a, b| a + b)),
    linear: Linear::Jointly,
    schema: stablehlo(ResultLabels::both("add_c1"), OnQuantized::Adds(&QUANTIZED_ADD), BINARY),
    ..row!("add" of "f32")
};

const QUANTIZED_ADD: QuantizedSum = QuantizedSum {
    operand: "add_i1",
    which: "add_c2",
    storage: "add_c3",
    expressed: "add_c4",
    per_axis: "add_c5",
    axes: ["add_c6", "add_c7"],
};

pub const SUBTRACT: Binary = Binary {
    tangent: Some(|cx| match (cx.tangents[0], cx.tangents[1]) {
        (Some(x), Some(y)) => Some(make::subtract(cx.b, x, y)),
        (None, Some(y)) => Some(make::negate(cx.b, y)),
        (x, None) => x,
    }),
    transpose: Some(|cx| {
        let ct = cx.cotangent();
        vec![cx.is_linear(0).then(|| ct.into()), cx.is_linear(1).then(|| make::negate(cx.b, ct).into())]
    }),
    float: Some((|a, b| a - b, |a, b| a - b)),
    signed: Some(|a, b, _| a.wrapping_sub(b)),
    unsigned: Some(|a, b, _| a.wrapping_sub(b)),
    complex: Some(complex_zip!(|a, b| a - b)),
    linear: Linear::UpToZeros,
    ..row!("subtract")
};

pub const MULTIPLY: Binary = Binary {
    transpose: Some(|cx| {
        let (ct, other) = (cx.cotangent(), cx.operands[0].or(cx.operands[1]).expect("one operand is known"));
        cx.for_each_linear(|cx| make::multiply(cx.b, ct, other))
    }),
    float: Some((|a, b| a * b, |a, b| a * b)),
    signed: Some(|a, b, _| a.wrapping_mul(b)),
    unsigned: Some(|a, b, _| a.wrapping_mul(b)),
    boolean: Some(|a, b| a & b),
    complex: Some(complex_zip!(|a, b| a * b)),
    linear: Linear::Each,
    ..row!("multiply")
};

/// Division. The quotient of an integer and zero has all bits set, and `MIN / -1` wraps to `MIN`.
pub const DIVIDE: Binary = Binary {
    tangent: Some(|cx| {
        let (y, quotient) = (cx.operands[1], cx.results[0]);
        let of_x = cx.tangents[0].map(|t| make::divide(cx.b, t, y));
        let of_y = cx.times(1, |b| {
            let slope = make::divide(b, quotient, y);
            make::negate(b, slope)
        });
        cx.sum([of_x, of_y])
    }),
    transpose: Some(|cx| {
        let (ct, y) = (cx.cotangent(), cx.known(1));
        vec![Some(make::divide(cx.b, ct, y).into()), None]
    }),
    float: Some((|a, b| a / b, |a, b| a / b)),
    signed: Some(|a, b, _| if b == 0 { -1 } else { a.wrapping_div(b) }),
    unsigned: Some(|a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    complex: Some(complex_zip!(complex::divide)),
    linear: Linear::In(1),
    ..row!("divide")
};

/// The remainder, with the sign of the dividend. Integers modulo zero are the dividend.
pub const REMAINDER: Binary = Binary {
    tangent: Some(|cx| {
        let (x, y) = (cx.operands[0], cx.operands[1]);
        let of_y = cx.times(1, |b| {
            let quotient = make::divide(b, x, y);
            let [sign, size] = [make::sign(b, quotient), make::abs(b, quotient)];
            let whole = make::floor(b, size);
            let whole = make::multiply(b, sign, whole);
            make::negate(b, whole)
        });
        cx.sum([cx.tangents[0], of_y])
    }),
    float: Some((|a, b| a % b, |a, b| a % b)),
    signed: Some(|a, b, _| if b == 0 { a } else { a.wrapping_rem(b) }),
    unsigned: Some(|a, b, _| a.checked_rem(b).unwrap_or(a)),
    ..row!("remainder")
};

/// The maximum. For floats, it is NaN if either operand is, and `-0` is less than `+0`. Complex numbers are compared in
/// lexicographic order. If the first complex number is not greater, also because parts are NaN, the result is the
/// second.
pub const MAXIMUM: Binary = Binary {
    tangent: Some(chosen_tangent),
    float: Some((fns::max_f32, fns::max_f64)),
    signed: Some(|a, b, _| a.max(b)),
    unsigned: Some(|a, b, _| a.max(b)),
    boolean: Some(|a, b| a | b),
    complex: Some(complex_zip!(|a, b| if (a.re, a.im) > (b.re, b.im) { a } else { b })),
    ..row!("maximum")
};

/// The minimum, by the order of [`MAXIMUM`]. For floats, it is NaN if either operand is. Of complex numbers of which
/// the first is not less, the result is the second.
pub const MINIMUM: Binary = Binary {
    tangent: Some(chosen_tangent),
    float: Some((fns::min_f32, fns::min_f64)),
    signed: Some(|a, b, _| a.min(b)),
    unsigned: Some(|a, b, _| a.min(b)),
    boolean: Some(|a, b| a & b),
    complex: Some(complex_zip!(|a, b| if (a.re, a.im) < (b.re, b.im) { a } else { b })),
    ..row!("minimum")
};

pub const POWER: Binary = Binary {
    tangent: Some(|cx| {
        let (x, y, result) = (cx.operands[0], cx.operands[1], cx.results[0]);
        let of_x = cx.times(0, |b| {
            let (zero, one) = (like(b, y, 0.0), like(b, y, 1.0));
            let is_zero = make::compare(b, "EQ", y, zero);
            let less = make::subtract(b, y, one);
            let exponent = make::select(b, is_zero, one, less);
            let power = make::power(b, x, exponent);
            make::multiply(b, y, power)
        });
        let of_y = cx.times(1, |b| {
            let (zero, one) = (like(b, x, 0.0), like(b, x, 1.0));
            let is_zero = make::compare(b, "EQ", x, zero);
            let base = make::select(b, is_zero, one, x);
            let log = make::log(b, base);
            make::multiply(b, log, result)
        });
        cx.sum([of_x, of_y])
    }),
    float: Some((fns::pow_f32, fns::pow_f64)),
    signed: Some(|a, b, _| power_signed(a, b)),
    unsigned: Some(|a, b, _| power_unsigned(a, b)),
    complex: Some(complex_zip!(complex::power)),
    flops: TRANSCENDENTAL,
    ..row!("power")
};

pub const ATAN2: Binary = Binary {
    tangent: Some(|cx| {
        let (y, x) = (cx.operands[0], cx.operands[1]);
        let squares = |b: &mut Builder<'_>| {
            let [y, x] = [make::multiply(b, y, y), make::multiply(b, x, x)];
            make::add(b, y, x)
        };
        let of_y = cx.times(0, |b| {
            let squares = squares(b);
            make::divide(b, x, squares)
        });
        let of_x = cx.times(1, |b| {
            let squares = squares(b);
            let slope = make::divide(b, y, squares);
            make::negate(b, slope)
        });
        cx.sum([of_y, of_x])
    }),
    float: Some((fns::atan2_f32, fns::atan2_f64)),
    complex: Some(complex_zip!(complex::atan2)),
    flops: TRANSCENDENTAL,
    ..row!("atan2")
};

pub const AND: Binary = Binary {
    signed: Some(|a, b, _| a & b),
    unsigned: Some(|a, b, _| a & b),
    boolean: Some(|a, b| a & b),
    ..row!("and" of "i32")
};

pub const OR: Binary = Binary {
    signed: Some(|a, b, _| a | b),
    unsigned: Some(|a, b, _| a | b),
    boolean: Some(|a, b| a | b),
    ..row!("or" of "i32")
};

pub const XOR: Binary = Binary {
    signed: Some(|a, b, _| a ^ b),
    unsigned: Some(|a, b, _| a ^ b),
    boolean: Some(|a, b| a ^ b),
    ..row!("xor" of "i32")
};

// A shift by the width, by more, or by a negative number shifts all bits out.

pub const SHIFT_LEFT: Binary = Binary {
    signed: Some(|a, b, bits| if in_width(b, bits) { a << b } else { 0 }),
    unsigned: Some(|a, b, bits| if b < u64::from(bits) { a << b } else { 0 }),
    ..row!("shift_left" of "i32")
};

pub const SHIFT_RIGHT_ARITHMETIC: Binary = Binary {
    signed: Some(|a, b, bits| a >> if in_width(b, bits) { b } else { 63 }),
    unsigned: Some(|a, b, bits| {
        let signed = (a << (64 - bits)) as i64 >> (64 - bits);
        (signed >> b.min(63)) as u64
    }),
    ..row!("shift_right_arithmetic" of "i32")
};

pub const SHIFT_RIGHT_LOGICAL: Binary = Binary {
    signed: Some(|a, b, bits| {
        let unsigned = (a as u64) << (64 - bits) >> (64 - bits);
        if in_width(b, bits) { (unsigned >> b) as i64 } else { 0 }
    }),
    unsigned: Some(|a, b, bits| if b < u64::from(bits) { a >> b } else { 0 }),
    ..row!("shift_right_logical" of "i32")
};

/// The upper half of the bits of the product.
pub const MULHI: Binary = Binary {
    signed: Some(|a, b, bits| ((i128::from(a) * i128::from(b)) >> bits) as i64),
    unsigned: Some(|a, b, bits| ((u128::from(a) * u128::from(b)) >> bits) as u64),
    ..row!(chlo "mulhi" of "i32")
};

pub const POLYGAMMA: Binary = Binary {
    tangent: Some(|cx| {
        let (n, x) = (cx.operands[0], cx.operands[1]);
        cx.refuse_tangent(0, "its first operand is a number of derivatives, in which it is not differentiable");
        cx.times(1, |b| {
            let one = like(b, n, 1.0);
            let next = make::add(b, n, one);
            make::binary(b, Opcode::ChloPolygamma, next, x)
        })
    }),
    float: Some((fns::polygamma_f32, fns::polygamma_f64)),
    flops: TRANSCENDENTAL,
    ..row!(chlo "polygamma" of "f32")
};

pub const ZETA: Binary = Binary {
    tangent: Some(|cx| {
        let (x, q) = (cx.operands[0], cx.operands[1]);
        cx.refuse_tangent(0, "no op computes the derivative of `zeta` in its first operand");
        cx.times(1, |b| {
            let one = like(b, x, 1.0);
            let next = make::add(b, x, one);
            let zeta = make::binary(b, Opcode::ChloZeta, next, q);
            let product = make::multiply(b, x, zeta);
            make::negate(b, product)
        })
    }),
    float: Some((fns::zeta_f32, fns::zeta_f64)),
    flops: TRANSCENDENTAL,
    ..row!(chlo "zeta" of "f32")
};

/// Builds the tangent of a maximum or minimum: that of the operand that is the result. Equal operands share it. Returns
/// `None` if it is zero.
fn chosen_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (x, y, chosen) = (cx.operands[0], cx.operands[1], cx.results[0]);
    let share = |b: &mut Builder<'_>, own, other| {
        let [is_own, is_other] = [own, other].map(|x| make::compare(b, "EQ", x, chosen));
        let (zero, half, one) = (like(b, chosen, 0.0), like(b, chosen, 0.5), like(b, chosen, 1.0));
        let shared = make::select(b, is_other, half, one);
        make::select(b, is_own, shared, zero)
    };
    let parts = [cx.times(0, |b| share(b, x, y)), cx.times(1, |b| share(b, y, x))];
    cx.sum(parts)
}

fn in_width(shift: i64, bits: u32) -> bool {
    (0..i64::from(bits)).contains(&shift)
}

/// Computes `a^b`, wrapped to 64 bits. For a negative exponent, it is the integer part of the real power, and 0 for a
/// zero base.
pub(super) fn power_signed(a: i64, b: i64) -> i64 {
    match (a, b) {
        (1, _) => 1,
        (-1, b) => 1 - 2 * (b & 1),
        (_, b) if b < 0 => 0,
        (a, b) => power_unsigned(a as u64, b as u64) as i64,
    }
}

pub(super) fn power_unsigned(mut a: u64, mut b: u64) -> u64 {
    let mut result = 1u64;
    while b > 0 {
        if b & 1 == 1 {
            result = result.wrapping_mul(a);
        }
        a = a.wrapping_mul(a);
        b >>= 1;
    }
    result
}
