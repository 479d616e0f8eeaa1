//! Matrices for tests.

use crate::{Matrix, Scalar};

/// Returns a matrix of pseudo-random numbers whose parts are between -1 and 1. Element number `k`, column by column,
/// depends only on `k` and the seed.
pub fn random<T: Scalar>(rows: usize, columns: usize, seed: u64) -> Matrix<T> {
    let number = |k: u64| {
        let mut z = (seed << 32 | k).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as i64 as f64 / 9.3e18
    };
    Matrix::from_fn(rows, columns, |i, j| {
        let k = (j * rows + i) as u64;
        T::of(number(2 * k), number(2 * k + 1))
    })
}

pub fn product<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
    assert_eq!(a.columns(), b.rows());
    Matrix::from_fn(a.rows(), b.columns(), |i, j| (0..a.columns()).fold(T::ZERO, |s, k| s + a[(i, k)] * b[(k, j)]))
}

/// Returns the largest absolute difference of two elements at one place, or NaN if one of these differences is NaN. It
/// is 0 if there are no elements. Panics if the shapes differ.
pub fn distance<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>) -> f64 {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    a.data().iter().zip(b.data()).fold(0.0, |m: f64, (&a, &b)| {
        let d = (a - b).abs();
        if d.is_nan() || m.is_nan() { f64::NAN } else { m.max(d) }
    })
}

#[track_caller]
pub fn assert_near<T: Scalar>(a: &Matrix<T>, b: &Matrix<T>, what: &str) {
    let d = distance(a, b);
    assert!(d < 1e-11, "{what}: {d:e}\n{a:?}\n{b:?}");
}

/// Panics unless the columns are unit vectors at right angles to each other, up to rounding.
#[track_caller]
pub fn assert_unitary<T: Scalar>(q: &Matrix<T>, what: &str) {
    assert_near(&product(&q.adjoint(), q), &Matrix::identity(q.columns(), q.columns()), what);
}

pub fn diagonal<T: Scalar>(values: impl IntoIterator<Item = f64>) -> Matrix<T> {
    let values: Vec<f64> = values.into_iter().collect();
    Matrix::from_fn(values.len(), values.len(), |i, j| if i == j { T::of(values[i], 0.0) } else { T::ZERO })
}

/// Returns the diagonal of a matrix and what is above it, with zeros below.
pub fn upper<T: Scalar>(a: &Matrix<T>) -> Matrix<T> {
    Matrix::from_fn(a.rows(), a.columns(), |i, j| if i <= j { a[(i, j)] } else { T::ZERO })
}
