//! `fft`: discrete Fourier transforms, computed in 64 bits and rounded once.
//!
//! [`Transform`] is what an op computes, from bytes to bytes, and all engines use it.

mod line;
#[cfg(test)]
mod tests;
mod transform;

pub use transform::{Part, Plans, RunParts, Transform};

use crate::check::{self, Check, counted_tensors};
use crate::derivative::CotangentCx;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Fft;

fn other_dtype(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F32 => Some(DType::C64),
        DType::F64 => Some(DType::C128),
        DType::C64 => Some(DType::F32),
        DType::C128 => Some(DType::F64),
        _ => None,
    }
}

impl Fft {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required(
                "fft_type",
                Some("fft_i2"),
                AttrKind::Enum(&Enumeration::stablehlo("fft_type", &["FFT", "IFFT", "RFFT", "IRFFT"])),
            ),
            required("fft_length", Some("fft_i3"), AttrKind::Ints),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("fft_c5", "fft_c2"),
        on_quantized: OnQuantized::Refuses,
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                Piece::Text(", type = "),
                Piece::Attr("fft_type", Written::Enum("stablehlo", "fft_type")),
                Piece::Text(", length = "),
                Piece::Attr("fft_length", Written::Ints),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Fft {
    answer!(derivative = linear);
    /// Returns the transpose. A complex transform is its own transpose, because its matrix is symmetric.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let (kind, lengths) = (op.attrs().str("fft_type").unwrap_or("").to_owned(), op.sizes("fft_length"));
        Transposed::by(move |cx| {
            let ct = cx.cotangent();
            let value = match &kind[..] {
                "RFFT" => real_cotangent(cx, ct),
                "IRFFT" => half_cotangent(cx, ct, &lengths),
                _ => cx.same_op(&[ct])[0],
            };
            vec![Some(value.into())]
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 0)?[0];
        let (kind, lengths) = (op.attrs().str("fft_type").unwrap_or(""), check::sizes(op, "fft_length")?);
        let mut check = Check::new(op);
        check.that(
            "fft_c1",
            lengths.len() <= t.rank(),
            "`fft_length` must not have more lengths than the operand has dimensions",
        );
        check.that("fft_c3", (1..=3).contains(&lengths.len()), "`fft_length` must have one to three lengths");
        let dtype = match kind {
            "RFFT" => other_dtype(t.dtype).filter(|d| d.is_complex()),
            "IRFFT" => other_dtype(t.dtype).filter(|d| d.is_float()),
            _ => Some(t.dtype).filter(|d| d.is_complex()),
        };
        check
            .that(
                "fft_c2",
                dtype.is_some(),
                "the operand of an RFFT must be of f32 or f64, and that of any other transform of complex numbers",
            )
            .so_far()?;
        let mut shape = t.shape.to_vec();
        let first = shape.len() - lengths.len();
        let last = shape.len() - 1;
        let half = |n: usize| if n == 0 { 0 } else { n / 2 + 1 };
        let mut expected = lengths.clone();
        if kind == "IRFFT" {
            let length = lengths[last - first];
            expected[last - first] = if length == 0 && shape[last] == 0 { 0 } else { length / 2 + 1 };
        }
        check.that(
            "fft_c4",
            shape[first..] == expected,
            "`fft_length` must be the sizes of the operand's last dimensions, but the last size of an IRFFT's \
             operand is length / 2 + 1, or may be 0 if the length is 0",
        );
        match kind {
            "RFFT" => shape[last] = half(shape[last]),
            "IRFFT" => shape[last] = lengths[last - first],
            _ => {}
        }
        check.give_tensor(dtype.unwrap_or(t.dtype), shape)
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let first = x.len() - op.sizes("fft_length").len();
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        rule.add_pointwise_with(x, |dim, size| {
            let is_cut = dim + 1 == x.len() && x.last() != y.last();
            if dim < first {
                FactorSpec::pass_through(size)
            } else {
                FactorSpec::need_replication(size).blocked_if(is_cut)
            }
        });
        RuleFact::Rule(rule.build())
    }

    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let y = transform(op, &x[0].to_dense());
        Ok(vec![y])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let n: usize = op.sizes("fft_length").iter().product();
        Cost::streams(op, 5.0 * (n.max(2) as f64).log2())
    }

    answer!(linear = Jointly);
    answer!(
        example = "func.func @main(%arg0: tensor<6x4xcomplex<f32>>) -> tensor<6x4xcomplex<f32>> {
  %0 = stablehlo.fft %arg0, type = FFT, length = [4] : (tensor<6x4xcomplex<f32>>) -> tensor<6x4xcomplex<f32>>
  return %0 : tensor<6x4xcomplex<f32>>
}"
    );
}

/// Builds the cotangent of the operand of an `RFFT`: the real part of the `FFT` of `ct`, to which zeros are appended for
/// the elements that the op does not return.
fn real_cotangent(cx: &mut CotangentCx<'_, '_, '_>, ct: Value) -> Value {
    let shape = cx.operand_tensor(0).shape.clone();
    let given = make::type_of(cx.b, ct).shape.clone();
    let missing: Vec<i64> = shape.iter().zip(&given).map(|(&n, &half)| n as i64 - half as i64).collect();
    let none = vec![0; shape.len()];
    let zero = make::number(cx.b, cx.op.result_tensor(0).dtype, 0);
    let whole = make::pad(cx.b, ct, zero, &none, &missing, &none);
    let ty = cx.b.body.ty(whole).clone();
    let attrs = cx.op.attrs().clone().with("fft_type", Attr::stablehlo_enum("fft_type", "FFT"));
    let moved = cx.b.value(Opcode::Fft, [whole], attrs, ty);
    make::real(cx.b, moved)
}

/// Builds the cotangent of the operand of an `IRFFT`: the conjugate of the scaled `RFFT` of `ct`, in which the elements
/// that the op reads twice count twice.
fn half_cotangent(cx: &mut CotangentCx<'_, '_, '_>, ct: Value, lengths: &[usize]) -> Value {
    let to = cx.operand_tensor(0);
    let attrs = cx.op.attrs().clone().with("fft_type", Attr::stablehlo_enum("fft_type", "RFFT"));
    let moved = cx.b.value(Opcode::Fft, [ct], attrs, to.clone().into());
    let (n, half) = (lengths.last().copied().unwrap_or(1), to.shape.last().copied().unwrap_or(1));
    let all: usize = lengths.iter().product();
    let weight = |i: usize| if i == 0 || 2 * i == n { 1.0 } else { 2.0 };
    let weights: Vec<f64> = (0..half).map(|i| weight(i) / all as f64).collect();
    let weights = make::constant(cx.b, Literal::new(vec![half], &weights));
    let weights = make::convert(cx.b, weights, to.dtype);
    let weights = make::broadcast_in_dim(cx.b, weights, &to.shape, &[to.shape.len() - 1]);
    let scaled = make::multiply(cx.b, moved, weights);
    make::chlo_conj(cx.b, scaled)
}

/// Transforms an array, with the parts of each step in order.
fn transform(op: &OpView<'_>, x: &Literal) -> Literal {
    let (transform, ty) = (Transform::of(op), op.result_tensor(0));
    let plans = transform.plans();
    let mut y = Literal::dense_zeros(ty.dtype, &ty.shape).expect("`infer` has checked the shape");
    transform.run(&plans, x.raw_bytes(), y.bytes_mut(), &|parts| parts.into_iter().for_each(Part::run));
    y
}
