//! Singular value decompositions.

use crate::bidiagonal::{Bidiagonal, bidiagonal};
use crate::reflector::{Side, apply_q, qr, reflect_rows};
use crate::scalar::{largest_part, unit};
use crate::{Matrix, Scalar};

/// The singular vectors that are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vectors {
    /// All columns of both unitary matrices.
    All,
    /// One column of each matrix for each singular value.
    Some,
    None,
}

/// A decomposition `U diag(s) V^H`. Without vectors, the matrices have no elements.
#[derive(Debug)]
pub struct Svd<T> {
    /// The singular values, descending.
    pub s: Vec<f64>,
    pub u: Matrix<T>,
    /// The conjugate transpose of `V`.
    pub vh: Matrix<T>,
    /// 1 if the iteration fails or an element is not finite: then all results are NaN. Otherwise 0.
    pub info: i32,
}

/// Computes a singular value decomposition. If an element is not finite or the iteration fails, `info` is 1 and all
/// numbers are NaN; otherwise it is 0. (`gesdd`, `gesvd`)
pub fn svd<T: Scalar>(a: &Matrix<T>, vectors: Vectors) -> Svd<T> {
    let (m, n) = (a.rows(), a.columns());
    if m < n {
        let Svd { s, u, vh, info } = svd(&a.adjoint(), vectors);
        return Svd { s, u: vh.adjoint(), vh: u.adjoint(), info };
    }
    let width = match vectors {
        Vectors::All => m,
        Vectors::Some => n,
        Vectors::None => 0,
    };
    let found = if a.is_finite() { tall(a.clone(), width, vectors != Vectors::None) } else { None };
    found.unwrap_or_else(|| {
        let nan = |rows, columns| Matrix::from_fn(rows, columns, |_, _| T::of(f64::NAN, f64::NAN));
        let right = if vectors == Vectors::None { 0 } else { n };
        let rows = if vectors == Vectors::None { 0 } else { m };
        Svd { s: vec![f64::NAN; n], u: nan(rows, width), vh: nan(right, right), info: 1 }
    })
}

/// Decomposes a matrix that has at least as many rows as columns. `width` is the number of columns of `U`. Without
/// vectors, both matrices are empty, and `width` is not used. A matrix that has many more rows is decomposed into `Q R`
/// first. Returns `None` if the iteration fails.
fn tall<T: Scalar>(mut a: Matrix<T>, width: usize, with_vectors: bool) -> Option<Svd<T>> {
    let (m, n) = (a.rows(), a.columns());
    let is_very_tall = m >= n * 11 / 6 && m > n;
    let (mut small, tall_factor) = if is_very_tall {
        let taus = qr(&mut a);
        let r = Matrix::from_fn(n, n, |i, j| if i <= j { a[(i, j)] } else { T::ZERO });
        (r, Some((a, taus)))
    } else {
        (a, None)
    };
    let scale = scale(&small);
    scaled(&mut small, 1.0 / scale);
    let form = bidiagonal(&mut small);
    let (left_taus, right_taus) = (form.left, form.right);
    let size = if with_vectors { n } else { 0 };
    let mut solver = Bidiagonal::new(form.d, form.e, Matrix::identity(size, n), Matrix::identity(size, n));
    if !solver.run() {
        return None;
    }
    let mut s = solver.d;
    s.iter_mut().for_each(|s| *s *= scale);
    if !with_vectors {
        return Some(Svd { s, u: Matrix::zeros(0, 0), vh: Matrix::zeros(0, 0), info: 0 });
    }
    // The vectors of the bidiagonal matrix are the upper left block of an identity.
    let mut u =
        Matrix::from_fn(m, width, |i, j| if i < n && j < n { T::of(solver.u[(i, j)], 0.0) } else { unit(i, j) });
    let rows = small.rows();
    for (i, &tau) in left_taus.iter().enumerate().rev() {
        let v = &small.column(i)[i + 1..rows];
        reflect_rows(v, tau, u.data_mut(), m, i);
    }
    if let Some((q, taus)) = &tall_factor {
        apply_q(Side::Left, false, q, taus, &mut u);
    }
    let mut v = Matrix::from_fn(n, n, |i, j| T::of(solver.v[(i, j)], 0.0));
    for (i, (tail, tau)) in right_taus.iter().enumerate().rev() {
        reflect_rows(tail, *tau, v.data_mut(), n, i + 1);
    }
    Some(Svd { s, u, vh: v.adjoint(), info: 0 })
}

/// Returns the power of two by which the elements are divided to make their squares moderate. It is 1 if the largest
/// element is moderate already, or if all are zero.
fn scale<T: Scalar>(a: &Matrix<T>) -> f64 {
    let largest = largest_part(a.data());
    if largest == 0.0 || (1e-120..1e120).contains(&largest) {
        return 1.0;
    }
    if largest > 1.0 { 2f64.powi(600) } else { 2f64.powi(-600) }
}

fn scaled<T: Scalar>(a: &mut Matrix<T>, factor: f64) {
    if factor != 1.0 {
        a.data_mut().iter_mut().for_each(|x| *x = x.times(factor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, assert_unitary, product, random};
    use shardwise_base::Complex64;

    fn check<T: Scalar>(a: &Matrix<T>, what: &str) {
        let (m, n) = (a.rows(), a.columns());
        let k = m.min(n);
        for vectors in [Vectors::All, Vectors::Some] {
            let found = svd(a, vectors);
            assert_eq!(found.info, 0, "{what}");
            let s = &found.s;
            assert!(s.len() == k && s.windows(2).all(|s| s[0] >= s[1]) && s.iter().all(|&s| s >= 0.0), "{what}: {s:?}");
            let (left, right) = if vectors == Vectors::All { (m, n) } else { (k, k) };
            assert_eq!((found.u.columns(), found.vh.rows()), (left, right), "{what}");
            assert_unitary(&found.u, what);
            assert_unitary(&found.vh.adjoint(), what);
            let middle = Matrix::from_fn(left, right, |i, j| if i == j { T::of(s[i], 0.0) } else { T::ZERO });
            assert_near(&product(&product(&found.u, &middle), &found.vh), a, what);
            let only = svd(a, Vectors::None).s;
            assert!(only.iter().zip(s).all(|(a, b)| (a - b).abs() < 1e-12), "{what}: {only:?} {s:?}");
        }
    }

    #[test]
    fn factors_multiply() {
        let sizes = [(1, 1), (2, 2), (3, 3), (5, 4), (4, 5), (9, 3), (3, 9), (1, 4), (4, 1), (0, 2), (2, 0), (30, 30)];
        for (m, n) in sizes {
            check(&random::<f64>(m, n, 2), &format!("real {m} {n}"));
            check(&random::<Complex64>(m, n, 3), &format!("complex {m} {n}"));
        }
    }

    #[test]
    fn matrices_of_lower_rank() {
        check(&Matrix::<f64>::zeros(4, 3), "zeros");
        check(&Matrix::from_fn(5, 5, |_, _| 1.0), "ones");
        check(&Matrix::<f64>::identity(4, 6), "identity");
        let (x, y): (Matrix<f64>, Matrix<f64>) = (random(8, 2, 4), random(2, 6, 5));
        check(&product(&x, &y), "rank 2");
        // A bidiagonal matrix whose last element is zero.
        check(&Matrix::from_fn(4, 4, |i, j| if j == i + 1 || (i == j && i < 3) { 1.0 } else { 0.0 }), "bidiagonal");
    }

    #[test]
    fn a_known_matrix() {
        let a = Matrix::from_fn(2, 2, |i, j| [[3.0, 0.0], [4.0, 5.0]][i][j]);
        let s = svd(&a, Vectors::None).s;
        assert!((s[0] - 45f64.sqrt()).abs() < 1e-14 && (s[1] - 5f64.sqrt()).abs() < 1e-14, "{s:?}");
    }

    #[test]
    fn extreme_elements() {
        for scale in [1e200, 1e-200, 2e307, 1e-305] {
            let a = Matrix::from_fn(2, 2, |i, j| scale * [[3.0, 0.0], [4.0, 5.0]][i][j]);
            let s = svd(&a, Vectors::All).s;
            assert!((s[0] / scale - 45f64.sqrt()).abs() < 1e-13, "{s:?}");
        }
        let nan = svd(&Matrix::from_fn(3, 2, |_, _| f64::NAN), Vectors::Some);
        assert!(nan.info != 0 && nan.s.iter().all(|s| s.is_nan()) && nan.u.columns() == 2);
    }
}
