//! Tests of transforms against their definition.

use super::line::{Parts, Plan, room};
use crate::shard_test::{module_of, run_split};
use crate::{Opcode, eval};
use shardwise_base::budget::Meter;
use shardwise_base::{Account, Budget, CancelToken, Complex32, Complex64, DType, Data, Literal, Stop};
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

fn numbers(x: &Literal) -> Vec<Complex64> {
    let wide = eval::convert(&x.to_dense(), DType::C128);
    wide.as_slice::<Complex64>().to_vec()
}

/// Returns `n` numbers without a pattern, whose parts are from -1 to 1. They differ for each `n`.
fn some(n: usize) -> Vec<Complex64> {
    let mut state = n as u64;
    let mut part = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 23) - 1.0
    };
    (0..n).map(|_| Complex64::new(part(), part())).collect()
}

/// Returns the transform of a line by the definition, without a scale. The roots are computed with reduced angles.
fn by_definition(x: &[Complex64], is_inverse: bool) -> Vec<Complex64> {
    let n = x.len();
    let sign = if is_inverse { 1.0 } else { -1.0 };
    let root = |k: usize| {
        let (sin, cos) = (std::f64::consts::TAU * (k as f64 / n as f64)).sin_cos();
        Complex64::new(cos, sign * sin)
    };
    let roots: Vec<Complex64> = (0..n).map(root).collect();
    (0..n).map(|k| (0..n).map(|j| x[j] * roots[j * k % n]).sum()).collect()
}

/// Transforms an array of this shape along its last `rank` dimensions by the definition, without a scale.
fn array_by_definition(x: &[Complex64], shape: &[usize], rank: usize, is_inverse: bool) -> Vec<Complex64> {
    let mut x = x.to_vec();
    for d in shape.len() - rank..shape.len() {
        let (n, step) = (shape[d], shape[d + 1..].iter().product::<usize>());
        for first in (0..x.len()).filter(|i| i / step % n == 0) {
            let line: Vec<Complex64> = (0..n).map(|j| x[first + j * step]).collect();
            for (j, z) in by_definition(&line, is_inverse).into_iter().enumerate() {
                x[first + j * step] = z;
            }
        }
    }
    x
}

/// Returns the distance of two arrays, relative to the norm of the second.
fn distance(x: &[Complex64], y: &[Complex64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let norm = |z: &mut dyn Iterator<Item = Complex64>| z.map(|z| z.norm_sqr()).sum::<f64>().sqrt();
    norm(&mut x.iter().zip(y).map(|(a, b)| a - b)) / norm(&mut y.iter().copied()).max(f64::MIN_POSITIVE)
}

fn check(kind: &str, x: &Literal, lengths: &[usize], want: &[Complex64], bound: f64) {
    let got = fft(kind, x, lengths);
    let error = distance(&numbers(&got), want);
    assert!(error <= bound, "{kind} of {:?} along {lengths:?}: {error}", x.shape());
}

/// Checks the four transforms of an array along its last `rank` dimensions: `IRFFT` in 64 bits only, and the others in
/// both widths.
fn check_all(shape: &[usize], rank: usize) {
    let (size, lengths) = (shape.iter().product(), &shape[shape.len() - rank..]);
    let (last, all) = (*lengths.last().expect("a length"), lengths.iter().product::<usize>() as f64);
    let z = some(size);
    let narrow: Vec<Complex32> = z.iter().map(|z| Complex32::new(z.re as f32, z.im as f32)).collect();
    let forward = array_by_definition(&z, shape, rank, false);
    let backward: Vec<Complex64> = array_by_definition(&z, shape, rank, true).iter().map(|z| z / all).collect();
    for (kind, want) in [("FFT", &forward), ("IFFT", &backward)] {
        check(kind, &Literal::new(shape, &z), lengths, want, 1e-15);
        check(kind, &Literal::new(shape, &narrow), lengths, want, 1e-7);
    }
    let real: Vec<f64> = z.iter().map(|z| z.re).collect();
    let as_complex: Vec<Complex64> = real.iter().map(|&re| Complex64::new(re, 0.0)).collect();
    let whole = array_by_definition(&as_complex, shape, rank, false);
    let half: Vec<Complex64> = whole.chunks(last).flat_map(|line| line[..last / 2 + 1].iter().copied()).collect();
    let half_shape = [&shape[..shape.len() - 1], &[last / 2 + 1]].concat();
    let single: Vec<f32> = real.iter().map(|&x| x as f32).collect();
    check("RFFT", &Literal::new(shape, &real), lengths, &half, 1e-15);
    check("RFFT", &Literal::new(shape, &single), lengths, &half, 1e-7);
    check("IRFFT", &Literal::new(half_shape, &half), lengths, &as_complex, 1e-15);
}

#[test]
fn lines_of_all_lengths_are_transformed_by_the_definition() {
    for n in 1..=200 {
        check_all(&[n], 1);
    }
}

#[test]
fn arrays_are_transformed_by_the_definition() {
    for shape in
        [&[3usize, 5][..], &[1, 7], &[7, 1], &[6, 64], &[17, 12], &[2, 3, 4], &[5, 1, 9], &[3, 37, 2], &[1, 1, 1]]
    {
        (1..=shape.len()).for_each(|rank| check_all(shape, rank));
    }
    check_all(&[2, 3, 4, 5], 3);
    // Several parts, of which the last one ends with fewer lines than are transformed together.
    check_all(&[1201, 15], 1);
    check_all(&[1201, 15, 2], 2);
}

#[test]
fn long_lines_are_transformed() {
    for n in [1 << 15, 3 * 5 * 7 * 11 * 13, 10_007, 2 * 10_007] {
        let z = some(n);
        let (x, to) = (Literal::new([n], &z), fft("FFT", &Literal::new([n], &z), &[n]));
        assert!(distance(&numbers(&fft("IFFT", &to, &[n])), &numbers(&x)) <= 2e-15, "{n}");
        // Some elements by the definition.
        for k in [0, 1, n / 3, n - 1] {
            let term = |j: usize| {
                let (sin, cos) = (std::f64::consts::TAU * ((j * k % n) as f64 / n as f64)).sin_cos();
                z[j] * Complex64::new(cos, -sin)
            };
            let want: Complex64 = (0..n).map(term).sum();
            assert!((numbers(&to)[k] - want).norm() <= 1e-14 * (n as f64).sqrt() * 10.0, "{n} {k}");
        }
    }
}

#[test]
fn an_impulse_is_flat() {
    let z = |re| Complex64::new(re, 0.0);
    let x = Literal::new([4], &[z(1.0), z(0.0), z(0.0), z(0.0)]);
    assert_eq!(fft("FFT", &x, &[4]), Literal::new([4], &[z(1.0); 4]));
}

#[test]
fn arrays_without_elements_are_transformed() {
    let none = Literal::new([0, 4], &[0.0f64; 0]);
    assert_eq!(fft("RFFT", &none, &[4]).shape(), [0, 3]);
    let empty = Literal::new([2, 0], &[Complex64::ZERO; 0]);
    assert_eq!(fft("FFT", &empty, &[0]).shape(), [2, 0]);
}

#[test]
fn long_lines_take_steps() {
    // A prime, and a power of two.
    for n in [100_003, 1 << 17] {
        let transform = || {
            let mut arrays = [(); 4].map(|()| Data::<f64>::zeroed(room(n)));
            let [a, b, c, d] = &mut arrays;
            let lines = [Parts { re: a, im: b }, Parts { re: c, im: d }];
            Plan::new(n).run(1, lines, &mut Meter::default())[0].re.len()
        };
        let budget = Budget::new(Account::with_limit(usize::MAX / 2), None, CancelToken::at_poll(9));
        assert_eq!(budget.run(transform), Err(Stop::Cancelled));
        let steps = Budget::new(Account::with_limit(usize::MAX / 2), Some(5), CancelToken::default());
        assert!(matches!(steps.run(transform), Err(Stop::Steps(5))));
    }
}
