//! `fft`: discrete Fourier transforms, computed in 64 bits and rounded once. Even lengths are halved, and other lengths
//! are computed by the definition.

use crate::check::{self, Check, counted_tensors};
use crate::derivative::CotangentCx;
use crate::eval::{self, Number};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, make};
use shardwise_base::budget::{Meter, OPERATIONS_PER_STEP};
use shardwise_base::{Complex64, DType, Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, OpView, Type, Value};
use shardwise_mathfn as fns;
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
            expected[last - first] = half(lengths[last - first]);
        }
        check.that(
            "fft_c4",
            shape[first..] == expected,
            "`fft_length` must be the sizes of the operand's last dimensions, but the last size of an IRFFT's \
             operand is length / 2 + 1, or 0 if the length is 0",
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

/// Builds the cotangent of the operand of an `RFFT`: the real part of the transform of `ct` with zeros for the elements
/// that the op does not return.
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

fn transform(op: &OpView<'_>, x: &Literal) -> Literal {
    let kind = op.attrs().str("fft_type").unwrap_or("");
    let (lengths, t) = (op.sizes("fft_length"), op.result_tensor(0));
    let get = eval::read_numbers(x);
    let mut data = Data::from_fn(x.size(), |i| complex(get(i)));
    let mut shape = x.shape().to_vec();
    let (rank, is_inverse) = (shape.len(), kind.starts_with('I'));
    let dims: Vec<usize> = (rank - lengths.len()..rank).collect();
    // In real transforms, the last dimension is the first forward and the last backward.
    let order: Vec<usize> = if is_inverse { dims } else { dims.into_iter().rev().collect() };
    for d in order {
        if kind == "IRFFT" && d == rank - 1 {
            data = mirrored(&data, shape[d], t.shape[d]);
            shape[d] = t.shape[d];
        }
        along(&mut data, &shape, d, is_inverse);
        if kind == "RFFT" && d == rank - 1 {
            let lines = data.chunks(shape[d].max(1));
            data = Data::collect(t.size(), lines.flat_map(|line| line[..t.shape[d]].iter().copied()));
            shape[d] = t.shape[d];
        }
    }
    let is_real = t.dtype.is_float();
    eval::fill(t.dtype, &t.shape, |i| if is_real { Number::Double(data[i].re) } else { Number::Complex(data[i]) })
}

fn complex(n: Number) -> Complex64 {
    match n {
        Number::Single(x) => Complex64::new(f64::from(x), 0.0),
        Number::Double(x) => Complex64::new(x, 0.0),
        Number::Complex(z) => z,
        _ => unreachable!("verified to be of floats or complex numbers"),
    }
}

/// Extends lines of `half` elements to `n` by the symmetry of transforms of real lines.
fn mirrored(data: &[Complex64], half: usize, n: usize) -> Data<Complex64> {
    let element = |line: &[Complex64], i: usize| if i < half { line[i] } else { line[n - i].conj() };
    let lines = data.chunks(half.max(1));
    Data::collect(lines.len() * n, lines.flat_map(|line| (0..n).map(move |i| element(line, i))))
}

/// Transforms, in place, each line along dimension `d` of `data`, a row-major array of this shape. Divides inverse
/// transforms by the length of the line.
fn along(data: &mut [Complex64], shape: &[usize], d: usize, is_inverse: bool) {
    if data.is_empty() {
        return;
    }
    let (n, step) = (shape[d], shape[d + 1..].iter().product::<usize>());
    let roots = roots(n, is_inverse);
    let mut meter = Meter::default();
    let scale = if is_inverse { 1.0 / n as f64 } else { 1.0 };
    for base in 0..data.len() / (n * step) {
        for inner in 0..step {
            let at = |i: usize| base * n * step + i * step + inner;
            let line = Data::from_fn(n, |i| data[at(i)]);
            for (i, z) in dft(&line, &roots, &mut meter).iter().enumerate() {
                data[at(i)] = z * scale;
            }
        }
    }
}

/// Returns `exp(-2 pi i k / n)` for each `k` less than `n`, conjugated for the inverse.
fn roots(n: usize, is_inverse: bool) -> Data<Complex64> {
    let sign = if is_inverse { 1.0 } else { -1.0 };
    let root = |k: usize| {
        // The angle is the nearest quarter turn, which is exact, and at most an eighth of a turn from there.
        let quarter = (8 * k + n) / (2 * n);
        let angle = std::f64::consts::FRAC_PI_2 * ((4 * k) as f64 - (quarter * n) as f64) / n as f64;
        let (cos, sin) = (fns::cos_f64(angle), fns::sin_f64(angle));
        let (re, im) = [(cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos)][quarter % 4];
        Complex64::new(re, sign * im)
    };
    Data::from_fn(n, root)
}

/// The largest number of multiply-adds between two polls.
const UNPOLLED: usize = OPERATIONS_PER_STEP as usize;

/// Returns the transform of a line, which must not be empty. A line of even length is computed from the transforms of
/// its elements at even and at odd positions. `roots` are those of a multiple of the length.
fn dft(x: &[Complex64], roots: &[Complex64], meter: &mut Meter) -> Data<Complex64> {
    let n = x.len();
    let stride = roots.len() / n;
    if n > 1 && n.is_multiple_of(2) {
        let mut part = |odd: usize| dft(&Data::from_fn(n / 2, |i| x[2 * i + odd]), roots, meter);
        let (even, odd) = (part(0), part(1));
        return Data::from_fn(n, |k| even[k % (n / 2)] + roots[k * stride] * odd[k % (n / 2)]);
    }
    Data::from_fn(n, |k| {
        // `power` is `j * k % n` for element `j`.
        let (mut sum, mut power) = (Complex64::ZERO, 0);
        for part in x.chunks(UNPOLLED) {
            meter.add(part.len() as u64);
            for z in part {
                sum += z * roots[power * stride];
                power += k;
                power -= if power < n { 0 } else { n };
            }
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shard_test::{module_of, run_split};
    use shardwise_base::{Account, Budget, CancelToken, Stop};
    use shardwise_ir::{Attr, Attrs};

    fn fft(kind: &str, x: &Literal, lengths: &[usize]) -> Literal {
        let x = [x.clone()];
        let module = module_of(&x, |module, b, args| {
            let attrs = Attrs::new()
                .with("fft_type", Attr::stablehlo_enum("fft_type", kind))
                .with("fft_length", Attr::sizes(lengths));
            crate::build(module, b, Opcode::Fft, args.iter().copied(), attrs, []).unwrap_or_else(|e| panic!("{e}"))
        });
        run_split(&module, &x).swap_remove(0)
    }

    fn is_close(x: &Literal, y: &Literal) -> bool {
        let (x, y) = (x.to_dense(), y.to_dense());
        let (a, b) = (eval::read_numbers(&x), eval::read_numbers(&y));
        x.shape() == y.shape() && (0..x.size()).all(|i| (complex(a(i)) - complex(b(i))).norm() < 1e-9)
    }

    #[test]
    fn an_impulse_is_flat() {
        let z = |re| Complex64::new(re, 0.0);
        let x = Literal::new([4], &[z(1.0), z(0.0), z(0.0), z(0.0)]);
        assert_eq!(fft("FFT", &x, &[4]), Literal::new([4], &[z(1.0); 4]));
    }

    #[test]
    fn transforms_are_inverted() {
        for shape in [[2usize, 1], [4, 3], [2, 5], [1, 6], [3, 8]] {
            let n: usize = shape.iter().product();
            let real = Literal::new(shape, &(0..n).map(|i| (i * i % 7) as f64 - 2.0).collect::<Vec<_>>());
            let half = fft("RFFT", &real, &shape);
            assert!(is_close(&fft("IRFFT", &half, &shape), &real), "{shape:?}");
            let z: Vec<Complex64> = (0..n).map(|i| Complex64::new(i as f64, (i % 3) as f64)).collect();
            let z = Literal::new(shape, &z);
            assert!(is_close(&fft("IFFT", &fft("FFT", &z, &shape[1..]), &shape[1..]), &z), "{shape:?}");
        }
    }

    #[test]
    fn by_the_definition() {
        let n = 12;
        let x: Vec<Complex64> = (0..n).map(|i| Complex64::new((i % 5) as f64, (i % 2) as f64)).collect();
        let term = |j: usize, k: usize| {
            let angle = -2.0 * std::f64::consts::PI * (j * k) as f64 / n as f64;
            x[j] * Complex64::new(angle.cos(), angle.sin())
        };
        let slow: Vec<Complex64> = (0..n).map(|k| (0..n).map(|j| term(j, k)).sum()).collect();
        assert!(is_close(&fft("FFT", &Literal::new([n], &x), &[n]), &Literal::new([n], &slow)));
    }

    #[test]
    fn lines_of_odd_length_take_steps() {
        let n = UNPOLLED + 1;
        let token = CancelToken::at_poll(9);
        let budget = Budget::new(Account::with_limit(usize::MAX / 2), None, token);
        let x = Data::from_fn(n, |_| Complex64::ONE);
        let roots = roots(n, false);
        let stopped = budget.run(|| dft(&x, &roots, &mut Meter::default()).len());
        assert_eq!(stopped, Err(Stop::Cancelled));
        let steps = Budget::new(Account::with_limit(usize::MAX / 2), Some(5), CancelToken::default());
        assert!(matches!(steps.run(|| dft(&x, &roots, &mut Meter::default()).len()), Err(Stop::Steps(5))));
    }
}
