//! `linalg`: properties of decompositions, derivatives against differences, batches and layouts.

use shardwise::linalg::Triangular;
use shardwise::prelude::*;
use shardwise::{grad, jvp, vmap};

type Unary = fn(&Array) -> Array;

/// Functions of square matrices, each made into one array. Where eigenvectors or singular vectors are used, their free
/// signs cancel.
const FUNCTIONS: &[(&str, Unary)] = &[
    ("cholesky", |a| linalg::cholesky(spd(a))),
    ("qr", |a| linalg::qr(a).1),
    ("qr_q", |a| linalg::qr(a).0),
    ("eigh", |a| linalg::eigh(a).0),
    ("eigh_vectors", |a| {
        let (w, v) = linalg::eigh(a);
        (&v * w.expand_dims(-2).exp()).matmul(v.t())
    }),
    ("svd", |a| linalg::svd(a).1),
    ("svd_vectors", |a| {
        let (u, s, vh) = linalg::svd(a);
        (u * s.expand_dims(-2).sqrt()).matmul(vh)
    }),
    ("solve", |a| linalg::solve(a, a.square())),
    ("solve_triangular", |a| linalg::solve_triangular(a, a.square(), Triangular::lower())),
    ("solve_transposed", |a| linalg::solve_triangular(a, a.square(), Triangular::upper().transposed())),
    ("solve_unit", |a| linalg::solve_triangular(a, a.square(), Triangular::upper().unit_diagonal())),
    ("inv", |a| linalg::inv(a)),
    ("det", |a| linalg::det(a)),
    ("slogdet", |a| linalg::slogdet(a).1),
    ("pinv", |a| linalg::pinv(a)),
    ("lstsq", |a| linalg::lstsq(a, a.square())),
    ("norm", |a| linalg::norm(a, [-2, -1])),
    ("matrix_power", |a| linalg::matrix_power(a, 3)),
    ("matrix_power_inverse", |a| linalg::matrix_power(a, -2)),
    ("expm", |a| linalg::expm(a)),
];

fn spd(a: &Array) -> Array {
    a.matmul(a.t()) + linalg::matrix_power(a, 0)
}

fn batch(count: usize, m: usize, n: usize) -> Array {
    let element = |k: usize| {
        let (b, i, j) = (k / (m * n), k / n % m, k % n);
        let spread = ((5 * b + 7 * i + 3 * j + i * j) % 11) as f64 / 11.0 - 0.4;
        spread + if i == j { 2.0 + i as f64 } else { 0.0 }
    };
    Array::from_vec((0..count * m * n).map(element).collect::<Vec<f64>>(), [count, m, n])
}

#[track_caller]
fn assert_near(a: &Array, b: &Array) {
    let distance = (a - b).abs().max(..).item::<f64>().unwrap_or_else(|e| panic!("{e}"));
    assert!(distance < 1e-10, "{distance:e}");
}

#[test]
fn products_are_the_matrices() {
    for (m, n) in [(4, 4), (5, 3), (3, 5), (1, 1)] {
        let a = batch(3, m, n);
        let (q, r) = linalg::qr(&a);
        assert_near(&q.matmul(&r), &a);
        let (p, l, u) = linalg::lu(&a);
        assert_near(&p.matmul(l).matmul(u), &a);
        let (u, s, vh) = linalg::svd(&a);
        assert_near(&(u * s.expand_dims(-2)).matmul(vh), &a);
        let p = linalg::pinv(&a);
        assert_near(&a.matmul(&p).matmul(&a), &a);
    }
    let a = batch(3, 4, 4);
    assert_near(&linalg::inv(&a).matmul(&a), &linalg::matrix_power(&a, 0));
    let (w, v) = linalg::eigh(&a);
    let mean = (&a + a.t()) * 0.5;
    assert_near(&mean.matmul(&v), &(v * w.expand_dims(-2)));
    let (sign, log) = linalg::slogdet(&a);
    assert_near(&(sign * log.exp()), &linalg::det(&a));
}

#[test]
fn batches_are_matrices_side_by_side() -> Result<()> {
    let a = batch(3, 3, 3);
    for (name, f) in FUNCTIONS {
        let whole = f(&a);
        let mapped = vmap(*f)(&a);
        assert_eq!(whole.to_vec_flat()?, mapped.to_vec_flat()?, "{name}");
    }
    Ok(())
}

/// Returns the sum of the elements of the function's result, each with a weight.
fn weighted(f: Unary, a: &Array) -> Array {
    let y = f(a);
    let weights = Array::from_vec((0..y.size()).map(|i| ((i % 5) as f64) - 1.5).collect(), y.shape());
    (y * weights).sum(..)
}

#[test]
fn second_derivatives_are_those_of_differences() -> Result<()> {
    let a = batch(2, 3, 3);
    let direction = batch(2, 3, 3).square() * 0.1 - 0.3;
    for &(name, f) in FUNCTIONS {
        let along = direction.clone();
        let slope = move |a: &Array| (grad(move |a: &Array| weighted(f, a))(a) * &along).sum(..);
        let h = 1e-5;
        let (plus, minus) = (slope(&(&a + &direction * h)), slope(&(&a - &direction * h)));
        let difference = ((plus - minus) / (2.0 * h)).item::<f64>()?;
        let forward = jvp(&slope, &a, &direction).1.item::<f64>()?;
        let reverse = (grad(&slope)(&a) * &direction).sum(..).item::<f64>()?;
        let size = difference.abs().max(1.0);
        assert!((forward - difference).abs() < 1e-5 * size, "{name}: forward {forward}, difference {difference}");
        assert!((reverse - forward).abs() < 1e-9 * size, "{name}: reverse {reverse}, forward {forward}");
    }
    Ok(())
}

#[test]
fn derivatives_are_those_of_differences() -> Result<()> {
    let a = batch(2, 3, 3);
    let direction = batch(2, 3, 3).square() * 0.1 - 0.3;
    for &(name, f) in FUNCTIONS {
        let weighted = move |a: &Array| weighted(f, a);
        let h = 1e-5;
        let (plus, minus) = (weighted(&(&a + &direction * h)), weighted(&(&a - &direction * h)));
        let difference = ((plus - minus) / (2.0 * h)).item::<f64>()?;
        let tangent = jvp(weighted, &a, &direction).1.item::<f64>()?;
        let gradient = (grad(weighted)(&a) * &direction).sum(..).item::<f64>()?;
        let size = difference.abs().max(1.0);
        assert!((tangent - difference).abs() < 1e-6 * size, "{name}: tangent {tangent}, difference {difference}");
        assert!((gradient - tangent).abs() < 1e-9 * size, "{name}: gradient {gradient}, tangent {tangent}");
    }
    Ok(())
}

#[test]
fn batches_are_sharded_without_communication() -> Result<()> {
    let mesh = Mesh::auto([("data", 4)])?;
    let a = batch(8, 3, 3);
    let sharded = a.shard(mesh.sharding(P!("data")));
    for (name, f) in FUNCTIONS {
        let whole = f(&a).to_vec_flat()?;
        let program = jit(*f).lower(&sharded)?.compile()?;
        assert_eq!(program.communication().bytes_received(), 0, "{name}: {}", program.communication());
        assert_eq!(jit(*f)(&sharded)?.to_vec_flat()?, whole, "{name}");
    }
    Ok(())
}

/// Returns the elements, whatever the shape.
trait Flat {
    fn to_vec_flat(&self) -> Result<Vec<f64>>;
}

impl Flat for Array {
    fn to_vec_flat(&self) -> Result<Vec<f64>> {
        self.reshape([self.size()]).to_vec::<f64>()
    }
}

#[test]
fn values_for_which_nothing_is_defined_are_nan_or_infinite() -> Result<()> {
    let singular = array(&[[1.0f64, 2.0], [2.0, 4.0]]);
    assert_eq!(linalg::det(&singular).item::<f64>()?, 0.0);
    let (sign, log) = linalg::slogdet(&singular);
    assert_eq!((sign.item::<f64>()?, log.item::<f64>()?), (0.0, f64::NEG_INFINITY));
    let indefinite = array(&[[1.0f64, 2.0], [2.0, 1.0]]);
    assert!(linalg::cholesky(&indefinite).to_vec2::<f64>()?[1][1].is_nan());
    let nan = array(&[[f64::NAN, 2.0], [2.0, 1.0]]);
    assert!(linalg::eigh(&nan).0.to_vec::<f64>()?.iter().all(|x| x.is_nan()));
    assert!(linalg::expm(&singular * 1e9).to_vec2::<f64>()?[0][0].is_nan());
    Ok(())
}

#[test]
fn mistakes_are_named() {
    let code = |a: &Array| a.check().unwrap_err().to_string();
    let wide = zeros([2, 3], F32);
    assert!(code(&linalg::inv(&wide)).contains("linalg-shape"));
    assert!(code(&linalg::qr(zeros([3], F32)).0).contains("linalg-shape"));
    assert!(code(&linalg::eigh(zeros([2, 2], I32)).1).contains("dtype-kind"));
    assert!(code(&linalg::solve(zeros([2, 2], F32), zeros([3], F32))).contains("linalg-shape"));
    assert!(code(&linalg::solve(zeros([2, 2], F32), zeros([2], F64))).contains("dtype-mixed"));
}
