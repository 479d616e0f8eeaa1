//! Schur decompositions: `A = Q T Q^H` with a triangular matrix `T`. For real matrices, `T` may have blocks of two rows
//! on its diagonal, whose eigenvalues are complex.

use crate::hessenberg::shifted_q;
use crate::{Matrix, Scalar, hessenberg, schur_complex, schur_real};
use shardwise_base::Complex64;

/// A Schur decomposition.
#[derive(Debug)]
pub struct Schur<T> {
    pub t: Matrix<T>,
    /// The unitary matrix. Without vectors, it has no rows.
    pub q: Matrix<T>,
    /// The eigenvalues, in the order of the diagonal of `t`. Of a conjugate pair of a real matrix, the one with the
    /// positive imaginary part is first.
    pub values: Vec<Complex64>,
    /// 1 if the iteration fails or an element is not finite: then all results are NaN. Otherwise 0.
    pub info: i32,
}

/// The numbers for which there are Schur decompositions.
pub trait SchurScalar: Scalar {
    /// Makes a Hessenberg matrix triangular, a real one up to blocks of two rows, and multiplies `q` from the right by
    /// the unitary matrix that does so. Returns the eigenvalues, or `None` if the iteration fails. (`lahqr`)
    #[doc(hidden)]
    fn triangularize(h: &mut Matrix<Self>, q: &mut Matrix<Self>) -> Option<Vec<Complex64>>;
}

impl SchurScalar for f64 {
    fn triangularize(h: &mut Matrix<f64>, q: &mut Matrix<f64>) -> Option<Vec<Complex64>> {
        schur_real::triangularize(h, q)
    }
}

impl SchurScalar for Complex64 {
    fn triangularize(h: &mut Matrix<Complex64>, q: &mut Matrix<Complex64>) -> Option<Vec<Complex64>> {
        schur_complex::triangularize(h, q)
    }
}

/// Computes the Schur decomposition of a square matrix. If an element is not finite or the iteration fails, `info` is 1
/// and all numbers are NaN; otherwise it is 0. The matrix is not balanced first, so the order of the eigenvalues may
/// differ from LAPACK's. (`gees`)
pub fn schur<T: SchurScalar>(mut a: Matrix<T>, with_vectors: bool) -> Schur<T> {
    let n = a.rows();
    let found = a.is_finite().then(|| decompose(&mut a, with_vectors)).flatten();
    found.unwrap_or_else(|| {
        let nan = |rows| Matrix::from_fn(rows, n, |_, _| T::of(f64::NAN, f64::NAN));
        let values = vec![Complex64::new(f64::NAN, f64::NAN); n];
        Schur { t: nan(n), q: nan(if with_vectors { n } else { 0 }), values, info: 1 }
    })
}

fn decompose<T: SchurScalar>(a: &mut Matrix<T>, with_vectors: bool) -> Option<Schur<T>> {
    let n = a.rows();
    let taus = hessenberg(a, 0, n);
    let mut q = if with_vectors { shifted_q(a, &taus) } else { Matrix::zeros(0, n) };
    let mut t = Matrix::from_fn(n, n, |i, j| if i <= j + 1 { a[(i, j)] } else { T::ZERO });
    let values = T::triangularize(&mut t, &mut q)?;
    Some(Schur { t, q, values, info: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, assert_unitary, product, random};

    fn check<T: SchurScalar>(a: &Matrix<T>, what: &str) {
        let n = a.rows();
        let found = schur(a.clone(), true);
        assert_eq!(found.info, 0, "{what}");
        assert_unitary(&found.q, what);
        assert_near(&product(&found.q, &found.t), &product(a, &found.q), what);
        let below = (0..n).flat_map(|j| (j + 1..n).map(move |i| (i, j)));
        for (i, j) in below.filter(|&(i, j)| found.t[(i, j)] != T::ZERO) {
            assert!(
                i == j + 1 && found.values[j].im > 0.0 && found.values[i] == Scalar::conj(found.values[j]),
                "{what}"
            );
            assert!(found.t[(i, i)] == found.t[(j, j)], "{what}: standard form");
        }
        let only = schur(a.clone(), false);
        assert_eq!(only.values, found.values, "{what}");
    }

    #[test]
    fn factors_multiply() {
        for n in [0, 1, 2, 3, 4, 5, 8, 24] {
            for seed in 0..4 {
                check(&random::<f64>(n, n, seed), &format!("real {n} {seed}"));
                check(&random::<Complex64>(n, n, seed), &format!("complex {n} {seed}"));
            }
        }
    }

    #[test]
    fn special_matrices() {
        check(&Matrix::<f64>::zeros(4, 4), "zeros");
        check(&Matrix::<f64>::identity(4, 4), "identity");
        // Permutations, for which ordinary shifts make no progress.
        check(&Matrix::from_fn(5, 5, |i, j| if (i + 1) % 5 == j { 1.0 } else { 0.0 }), "cycle");
        check(
            &Matrix::from_fn(4, 4, |i, j| if i == (j + 1) % 4 { Complex64::ONE } else { Complex64::ZERO }),
            "complex cycle",
        );
        check(&Matrix::from_fn(5, 5, |i, j| if i <= j { 1.0 } else { 0.0 }), "upper");
        check(&Matrix::from_fn(5, 5, |i, j| if i >= j { 1.0 } else { 0.0 }), "lower");
        check(&Matrix::from_fn(2, 2, |i, j| [[0.0, 1.0], [-1.0, 0.0]][i][j]), "rotation");
        let nan = schur(Matrix::from_fn(3, 3, |_, _| f64::NAN), true);
        assert!(nan.info != 0 && nan.t.data().iter().all(|x| x.is_nan()));
    }
}
