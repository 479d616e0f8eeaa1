//! Tridiagonal form of Hermitian matrices.

use crate::reflector::reflector;
use crate::scalar::{add_scaled, copied, dot};
use crate::{Matrix, Scalar, Triangle};
use shardwise_base::Data;
use shardwise_base::budget::Meter;

/// The tridiagonal form of a Hermitian matrix.
#[derive(Clone, Debug)]
pub struct Tridiagonal<T> {
    pub diagonal: Vec<f64>,
    /// The elements beside the diagonal: one fewer than rows, or none if there are no rows.
    pub other: Vec<f64>,
    /// The scalars of the reflectors, one for each element of `other`.
    pub taus: Vec<T>,
}

/// Overwrites a triangle of a Hermitian matrix with its tridiagonal form and the vectors of the reflectors that lead to
/// it. The other triangle is neither read nor changed. (`sytrd`, `hetrd`)
pub fn tridiagonal<T: Scalar>(a: &mut Matrix<T>, triangle: Triangle) -> Tridiagonal<T> {
    let n = a.rows();
    let count = n.saturating_sub(1);
    let (mut meter, mut taus, mut other) = (Meter::default(), vec![T::ZERO; count], vec![0.0; count]);
    for step in 0..count {
        let i = if triangle == Triangle::Lower { step } else { count - 1 - step };
        let (column, block) = match triangle {
            Triangle::Lower => (i, i + 1..n),
            Triangle::Upper => (i + 1, 0..i + 1),
        };
        let size = block.len();
        meter.add(4 * (size * size) as u64);
        let part = &mut a.column_mut(column)[block.clone()];
        let at = if triangle == Triangle::Lower { 0 } else { size - 1 };
        let (beta, tau) = eliminate(part, at);
        (other[i], taus[i]) = (beta, tau);
        let mut v = copied(part);
        part[at] = T::of(beta, 0.0);
        v[at] = T::ONE;
        if tau != T::ZERO {
            update(a, triangle, block.start, &v, tau);
        }
    }
    let diagonal = (0..n).map(|i| a[(i, i)].re()).collect();
    (0..n).for_each(|i| a[(i, i)] = T::of(a[(i, i)].re(), 0.0));
    Tridiagonal { diagonal, other, taus }
}

/// Computes the reflector that eliminates the elements of a column but the one at `at`, which is its first or its last.
/// They are replaced by the reflector's vector. Returns `beta`, which the element at `at` is to become, and `tau`.
fn eliminate<T: Scalar>(part: &mut [T], at: usize) -> (f64, T) {
    let alpha = part[at];
    let rest = if at == 0 { 1..part.len() } else { 0..at };
    reflector(alpha, &mut part[rest])
}

/// Replaces the Hermitian block `A` that starts at row and column `start` and has as many rows as `v` by `H^H A H`,
/// where `H` is the reflector of `v` and `tau`. One triangle of the block is read and replaced.
fn update<T: Scalar>(a: &mut Matrix<T>, triangle: Triangle, start: usize, v: &[T], tau: T) {
    let size = v.len();
    let mut w = product(a, triangle, start, v);
    w.iter_mut().for_each(|w| *w = tau * *w);
    let alpha = -(tau * dot(&w, v)).times(0.5);
    add_scaled(&mut w, alpha, v);
    for j in 0..size {
        let rows = if triangle == Triangle::Lower { j..size } else { 0..j + 1 };
        let column = &mut a.column_mut(start + j)[start..start + size][rows.clone()];
        add_scaled(column, -w[j].conj(), &v[rows.clone()]);
        add_scaled(column, -v[j].conj(), &w[rows]);
        let diagonal = &mut a[(start + j, start + j)];
        *diagonal = T::of(diagonal.re(), 0.0);
    }
}

/// Returns the product of `v` with the Hermitian block that starts at row and column `start` and has as many rows as
/// `v`. One triangle of the block is read. (`hemv`)
fn product<T: Scalar>(a: &Matrix<T>, triangle: Triangle, start: usize, v: &[T]) -> Data<T> {
    let size = v.len();
    let mut out: Data<T> = Data::zeroed(size);
    for j in 0..size {
        let column = &a.column(start + j)[start..start + size];
        let rows = if triangle == Triangle::Lower { j + 1..size } else { 0..j };
        let diagonal = v[j].times(column[j].re());
        out[j] += diagonal + dot(&column[rows.clone()], &v[rows.clone()]);
        add_scaled(&mut out[rows.clone()], v[j], &column[rows]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, product, random};
    use crate::{Side, apply_q, hessenberg::shifted_q};
    use shardwise_base::Complex64;

    fn check<T: Scalar>(n: usize) {
        let x: Matrix<T> = random(n, n, 6);
        let a = Matrix::from_fn(n, n, |i, j| x[(i, j)] + x[(j, i)].conj());
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let mut packed = a.clone();
            let form = tridiagonal(&mut packed, triangle);
            let t = Matrix::from_fn(n, n, |i, j| match i.abs_diff(j) {
                0 => T::of(form.diagonal[i], 0.0),
                1 => T::of(form.other[i.min(j)], 0.0),
                _ => T::ZERO,
            });
            let q = match triangle {
                Triangle::Lower => shifted_q(&packed, &form.taus),
                Triangle::Upper => upper_q(&packed, &form.taus),
            };
            assert_near(&product(&q, &t), &product(&a, &q), &format!("{triangle:?} {n}"));
        }
    }

    /// Returns the product of the reflectors that are stored above the diagonal, the last of them first.
    fn upper_q<T: Scalar>(a: &Matrix<T>, taus: &[T]) -> Matrix<T> {
        let n = a.rows();
        taus.iter().enumerate().fold(Matrix::identity(n, n), |q, (i, &tau)| {
            let v = Matrix::from_fn(n, 1, |r, _| {
                if r < i {
                    a[(r, i + 1)]
                } else if r == i {
                    T::ONE
                } else {
                    T::ZERO
                }
            });
            let h = Matrix::from_fn(n, n, |r, c| {
                let one = if r == c { T::ONE } else { T::ZERO };
                one - tau * v[(r, 0)] * v[(c, 0)].conj()
            });
            product(&h, &q)
        })
    }

    #[test]
    fn both_triangles() {
        for n in [0, 1, 2, 3, 6] {
            check::<f64>(n);
            check::<Complex64>(n);
        }
    }

    #[test]
    fn hessenberg_forms_are_similar() {
        for n in [0, 1, 2, 5] {
            let a: Matrix<Complex64> = random(n, n, 8);
            let mut packed = a.clone();
            let taus = crate::hessenberg(&mut packed, 0, n);
            let h = Matrix::from_fn(n, n, |i, j| if i <= j + 1 { packed[(i, j)] } else { Complex64::ZERO });
            let q = shifted_q(&packed, &taus);
            assert_near(&product(&q, &h), &product(&a, &q), "A Q = Q H");
            let inner = Matrix::from_fn(n.saturating_sub(1), n.saturating_sub(1), |i, j| packed[(i + 1, j)]);
            let mut c = Matrix::identity(n.saturating_sub(1), n.saturating_sub(1));
            apply_q(Side::Left, false, &inner, &taus, &mut c);
            assert_near(&c, &Matrix::from_fn(c.rows(), c.rows(), |i, j| q[(i + 1, j + 1)]), "Q");
        }
    }
}
