//! Ops that change the element type, by value or by bits, or round within it.

use crate::Opcode;
use crate::eval;
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check, make};
use shardwise_base::{DType, Data, Diagnostic, Diagnostics, Literal, LiteralWriter, bf16, f16};
use shardwise_ir::{OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// `stablehlo.convert`: the same numbers in another type.
///
/// Floats that become integers are rounded toward zero and saturate, and NaN becomes 0. Integers that become integers
/// wrap. Numbers that become booleans are false if they are 0, and true otherwise. Complex numbers that become real
/// numbers or booleans lose their imaginary part first. Every conversion to a float type of less than 32 bits is by way
/// of `f32`.
pub struct Convert;

impl Convert {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Refuses,
        syntax: UNARY,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Convert {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        match self.linear(op) {
            Linear::No => Derivative::Zero("integers have no tangents"),
            _ => Derivative::Linear,
        }
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let dtype = cx.operand_tensor(0).dtype;
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                make::convert(cx.b, ct, dtype)
            })
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], to) = (check::tensors(op)?, check::declared(op)?);
        Check::new(op)
            .that("convert_c1", x.shape == to.shape, "operand and result must have the same shape")
            .give([to.clone().into()])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![eval::convert(&x[0], op.result_tensor(0).dtype)])
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        let is_smooth = |t: &TensorType| t.dtype.is_float() || t.dtype.is_complex();
        if is_smooth(op.operand_tensor(0)) && is_smooth(op.result_tensor(0)) { Linear::Jointly } else { Linear::No }
    }

    /// Returns the operand if the types are equal, and the original of an integer that was converted to an integer type
    /// of at least as many bits and back. Otherwise returns `None`.
    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        if has_operand_type(op) {
            return Some(op.operand(0));
        }
        let there = op.operand_def(0).filter(|def| Opcode::of_view(def) == Opcode::Convert)?;
        let (from, middle) = (there.operand_tensor(0), there.result_tensor(0));
        let keeps_all =
            from.dtype.is_integer() && middle.dtype.is_integer() && middle.dtype.bits() >= from.dtype.bits();
        (keeps_all && from == op.result_tensor(0)).then(|| there.operand(0))
    }

    answer!(usual but forwards);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xbf16> {
  %0 = stablehlo.convert %arg0 : (tensor<2xf32>) -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}"
    );
}

/// `stablehlo.bitcast_convert`: the same bits in another type. A narrower type adds a minor dimension, and a wider type
/// removes it.
pub struct BitcastConvert;

/// Returns the shape of the operand's bits in type `to`: with an extra minor dimension if `to` is narrower, and without
/// the minor dimension if it is wider. Returns `None` if there is no such shape.
fn bitcast_shape(x: &TensorType, to: DType) -> Option<Vec<usize>> {
    let (from_bits, to_bits) = (x.dtype.bits(), to.bits());
    let mut shape = x.shape.clone();
    let has_fit = if from_bits > to_bits {
        shape.push(from_bits / to_bits);
        from_bits.is_multiple_of(to_bits)
    } else {
        from_bits == to_bits || shape.pop()?.checked_mul(from_bits) == Some(to_bits)
    };
    has_fit.then_some(shape)
}

/// Returns the bits of the elements, lowest first and without gaps, as elements of type `to`. Both types must have the
/// same number of bits.
fn bitcast(x: &Literal, to: &TensorType) -> Literal {
    let x = x.to_dense();
    let is_whole = |d: DType| d.bits() == 8 * d.storage_bytes();
    if is_whole(x.dtype()) && is_whole(to.dtype) {
        return Literal::from_bytes(to.dtype, &to.shape, x.raw_bytes()).expect("as many bits");
    }
    unpack(&pack(&x), to)
}

/// Returns the bits of all elements without gaps, the lowest bit of each element first.
fn pack(x: &Literal) -> Data<bool> {
    let bits = x.dtype().bits();
    let of = |i: usize| {
        let bytes = x.element_bytes(i);
        (0..bits).map(move |b| bytes[b / 8] >> (b % 8) & 1 == 1)
    };
    Data::collect(x.size() * bits, (0..x.size()).flat_map(of))
}

/// Builds the elements with these bits, the lowest bit of each element first. The bits above a signed integer's are its
/// sign.
fn unpack(bits: &[bool], to: &TensorType) -> Literal {
    let (width, is_signed) = (to.dtype.storage_bytes(), to.dtype.is_signed());
    let mut out = LiteralWriter::new(to.dtype, &to.shape);
    for bits in bits.chunks(to.dtype.bits()) {
        let mut element = [0u8; 16];
        let is_negative = is_signed && bits.last() == Some(&true);
        for b in 0..8 * width {
            let bit = bits.get(b).copied().unwrap_or(is_negative);
            element[b / 8] |= u8::from(bit) << (b % 8);
        }
        out.push(&element[..width]);
    }
    out.finish()
}

impl BitcastConvert {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for BitcastConvert {
    answer!(derivative = zero("bits have no tangents"));
    answer!(transpose = none("it is not linear"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], to) = (check::tensors(op)?, check::declared(op)?);
        let fits = bitcast_shape(x, to.dtype).is_some_and(|shape| shape == to.shape);
        let same_kind = x.dtype.is_complex() == to.dtype.is_complex();
        Check::new(op)
            .that(
                "bitcast_convert_c1",
                fits,
                "operand and result must have the same shape, but the one of narrower elements has an extra last \
                 dimension, whose size is the ratio of the widths",
            )
            .that(
                "bitcast_convert_c2",
                same_kind,
                "the elements of operand and result must both be complex, or both not complex",
            )
            .give([to.clone().into()])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let common = x.len().min(y.len());
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        for (d, &size) in x[..common].iter().enumerate() {
            rule.add_factor(&[Some(d)], &[Some(d)], FactorSpec::pass_through(size));
        }
        if x.len() > common {
            rule.add_factor(&[Some(common)], &[None], FactorSpec::need_replication(x[common]));
        }
        if y.len() > common {
            rule.add_factor(&[None], &[Some(common)], FactorSpec::need_replication(y[common]));
        }
        RuleFact::Rule(rule.build())
    }

    fn propagation_class(&self, op: &OpView<'_>) -> PropagationClass {
        let same_width = op.operand_shape(0).len() == op.result_shape(0).len();
        if same_width { PropagationClass::Elementwise } else { PropagationClass::Other }
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let to = op.result_tensor(0);
        Ok(vec![bitcast(&x[0], &to.clone().with_dtype(to.dtype.storage()))])
    }

    answer!(forwards = same_type);
    answer!(usual but forwards);
    answer!(pure);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(cost = streams(0.0));
    answer!(linear = No);
    answer!(explicit = by_rule);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xi32> {
  %0 = stablehlo.bitcast_convert %arg0 : (tensor<2xf32>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}"
    );
}

/// `stablehlo.reduce_precision`: rounds to fewer exponent and mantissa bits within the type.
pub struct ReducePrecision;

#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
}

/// Rounds `bits`, a float of format `own`, to the mantissa and the exponent of `target`, each if it is narrower.
/// Numbers are rounded to nearest even. Numbers above the range of the exponent become infinity, and numbers below the
/// normal range of a narrower exponent become zero. A NaN stays a NaN, or becomes infinity if `target` has no mantissa.
fn reduce_bits(bits: u64, own: Format, target: Format) -> u64 {
    let magnitude_mask = (1u64 << (own.exponent + own.mantissa)) - 1;
    let exponent_mask = ((1u64 << own.exponent) - 1) << own.mantissa;
    let (sign, mut magnitude) = (bits & !magnitude_mask, bits & magnitude_mask);
    if magnitude > exponent_mask {
        return if target.mantissa == 0 { sign | exponent_mask } else { bits };
    }
    if target.mantissa < own.mantissa {
        let last = 1u64 << (own.mantissa - target.mantissa);
        let is_odd = u64::from(magnitude & last != 0);
        magnitude = (magnitude + (last >> 1) - 1 + is_odd) & !(last - 1);
    }
    if target.exponent < own.exponent {
        let bias = |width: u32| (1u64 << (width - 1)) - 1;
        let (largest, below_smallest) =
            (bias(own.exponent) + bias(target.exponent), bias(own.exponent) - bias(target.exponent));
        match (magnitude & exponent_mask) >> own.mantissa {
            e if e > largest => magnitude = exponent_mask,
            e if e <= below_smallest => magnitude = 0,
            _ => {}
        }
    }
    sign | magnitude
}

fn small_exponent(dtype: DType) -> Option<u32> {
    use DType::*;
    match dtype {
        F4E2M1FN | F6E2M3FN => Some(2),
        F6E3M2FN | F8E3M4 => Some(3),
        F8E4M3 | F8E4M3FN | F8E4M3FNUZ | F8E4M3B11FNUZ => Some(4),
        F8E5M2 | F8E5M2FNUZ => Some(5),
        F8E8M0FNU => Some(8),
        _ => None,
    }
}

/// Rounds a value of a small float type, whose exponent has `exponent` bits, as [`reduce_bits`] does. The exponent only
/// limits the value if it is narrower than that of the type.
fn reduce_small(value: f32, exponent: u32, target: Format) -> f32 {
    let own = Format { exponent: 8, mantissa: 23 };
    let target = Format { exponent: if target.exponent < exponent { target.exponent } else { 8 }, ..target };
    f32::from_bits(reduce_bits(value.to_bits().into(), own, target) as u32)
}

impl ReducePrecision {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("exponent_bits", Some("reduce_precision_i2"), AttrKind::Int(DType::I32)),
            required("mantissa_bits", Some("reduce_precision_i3"), AttrKind::Int(DType::I32)),
        ],
        operands: Operands::Each,
        results: ResultLabels::both("reduce_precision_c1"),
        on_quantized: OnQuantized::Computes { which: "reduce_precision_i1", alike: "reduce_precision_c1" },
        syntax: Syntax::pieces(&[Piece::Operand, Piece::Text(", format = "), BITS], Types::Same),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for ReducePrecision {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::by(|cx| vec![cx.tangents[0].map(|t| cx.same_op(&[t])[0])])
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                cx.same_op(&[ct])[0]
            })
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors(op)?;
        let (exponent, mantissa) = (op.attrs().int("exponent_bits"), op.attrs().int("mantissa_bits"));
        Check::new(op)
            .that("reduce_precision_i1", x.dtype.is_float(), "the operand must have floating-point elements")
            .that("reduce_precision_c2", exponent.is_some_and(|n| n >= 1), "`exponent_bits` must be at least 1")
            .that("reduce_precision_c3", mantissa.is_some_and(|n| n >= 0), "`mantissa_bits` must not be negative")
            .give([x.clone().into()])
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let width = |name| op.attrs().int(name).map_or(63, |n| n.clamp(0, 63) as u32);
        let target = Format { exponent: width("exponent_bits"), mantissa: width("mantissa_bits") };
        macro_rules! reduce {
            ($float:ty, $int:ty, $exponent:literal, $mantissa:literal) => {{
                let own = Format { exponent: $exponent, mantissa: $mantissa };
                eval::map(&x[0], |a: $float| <$float>::from_bits(reduce_bits(a.to_bits().into(), own, target) as $int))
            }};
        }
        Ok(vec![match x[0].dtype() {
            DType::F16 => reduce!(f16, u16, 5, 10),
            DType::BF16 => reduce!(bf16, u16, 8, 7),
            DType::F32 => reduce!(f32, u32, 8, 23),
            DType::F64 => reduce!(f64, u64, 11, 52),
            small => {
                let exponent = small_exponent(small).expect("`infer` refuses all types but floats");
                let wide = eval::convert(&x[0], DType::F32);
                eval::convert(&eval::map(&wide, |a: f32| reduce_small(a, exponent, target)), small)
            }
        }])
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_bits_do_not_overflow() {
        let shape = |size: usize| bitcast_shape(&TensorType::new(DType::I8, [size]), DType::I64);
        assert_eq!(shape(8), Some(vec![]));
        assert_eq!(shape(1 << 61), None);
    }

    #[test]
    fn small_floats_are_rounded_within_their_type() {
        let reduce = |x, exponent, mantissa| reduce_small(x, 5, Format { exponent, mantissa });
        // A subnormal number of f8E5M2 stays as it is, unless the exponent becomes narrower.
        assert_eq!(reduce(2f32.powi(-16), 5, 2), 2f32.powi(-16));
        assert_eq!(reduce(2f32.powi(-16), 4, 2), 0.0);
        assert_eq!(reduce(-1.75, 5, 1), -2.0);
        assert_eq!(reduce(57_344.0, 4, 2), f32::INFINITY);
        assert!(reduce(f32::NAN, 4, 1).is_nan());
    }
}
