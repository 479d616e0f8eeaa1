//! Cholesky factors, and systems with triangular matrices.

use crate::scalar::{add_scaled, dot, dot_plain};
use crate::{Matrix, Scalar};
use shardwise_base::budget::Meter;

/// The triangle of a matrix, with the diagonal, that a function reads. The other triangle is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Triangle {
    Lower,
    Upper,
}

/// Overwrites one triangle of a Hermitian matrix with its Cholesky factor: `L` of `L L^H`, or `U` of `U^H U`. The other
/// triangle is unchanged. Returns `info`: 0, or the order of the first leading minor that is not positive or is NaN. If
/// there is such a minor, of order `k`, the first `k - 1` columns are those of the factor, and the columns behind
/// column `k` are unchanged. (`potrf`)
pub fn cholesky<T: Scalar>(a: &mut Matrix<T>, triangle: Triangle) -> i32 {
    let (n, mut meter) = (a.rows(), Meter::default());
    for j in 0..n {
        meter.add((n * j) as u64);
        let is_positive = match triangle {
            Triangle::Lower => lower_column(a, j),
            Triangle::Upper => upper_column(a, j),
        };
        if !is_positive {
            return j as i32 + 1;
        }
    }
    0
}

/// Computes column `j` of the lower factor from the columns before it. Returns false, without a complete column, if the
/// square of its diagonal element is not positive or is NaN.
fn lower_column<T: Scalar>(a: &mut Matrix<T>, j: usize) -> bool {
    let n = a.rows();
    let (before, column) = a.before(j);
    for other in before.chunks_exact(n) {
        add_scaled(&mut column[j..], -other[j].conj(), &other[j..]);
    }
    let pivot = column[j].re();
    let is_positive = pivot > 0.0;
    if is_positive {
        let root = pivot.sqrt();
        column[j] = T::of(root, 0.0);
        column[j + 1..].iter_mut().for_each(|x| *x = x.over(T::of(root, 0.0)));
    }
    is_positive
}

/// Computes column `j` of the upper factor from the columns before it. Returns false, without a complete column, if the
/// square of its diagonal element is not positive or is NaN.
fn upper_column<T: Scalar>(a: &mut Matrix<T>, j: usize) -> bool {
    let n = a.rows();
    let (before, column) = a.before(j);
    for (i, other) in before.chunks_exact(n).enumerate() {
        column[i] = (column[i] - dot(&other[..i], &column[..i])).over(other[i]);
    }
    let pivot = column[j].re() - dot(&column[..j], &column[..j]).re();
    let is_positive = pivot > 0.0;
    column[j] = T::of(if is_positive { pivot.sqrt() } else { pivot }, 0.0);
    is_positive
}

/// The matrix `op(A)` of a system: `A` itself, its transpose, or its conjugate transpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Plain,
    Transposed,
    Adjoint,
}

/// The form in which a system with a triangular matrix is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct System {
    /// True for `op(A) X = B`, and false for `X op(A) = B`.
    pub is_left: bool,
    /// The triangle of `A` that is read.
    pub triangle: Triangle,
    pub form: Form,
    /// True if the elements of the diagonal count as ones and are not read.
    pub is_unit: bool,
}

/// Replaces the right-hand sides `b` by the solution. It is not finite if a zero is on the diagonal and the diagonal is
/// read. (`trsm`)
pub fn solve_triangular<T: Scalar>(system: System, a: &Matrix<T>, b: &mut Matrix<T>) {
    if system.is_left { solve_left(system, a, b) } else { solve_right(system, a, b) }
}

fn solve_left<T: Scalar>(system: System, a: &Matrix<T>, b: &mut Matrix<T>) {
    let (n, mut meter) = (a.rows(), Meter::default());
    // The transposed matrix has the other triangle.
    let is_plain = system.form == Form::Plain;
    let is_forward = (system.triangle == Triangle::Lower) == is_plain;
    for j in 0..b.columns() {
        meter.add((n * n / 2) as u64);
        let x = b.column_mut(j);
        for step in 0..n {
            let k = if is_forward { step } else { n - 1 - step };
            if is_plain { substitute(system, a, x, k) } else { substitute_transposed(system, a, x, k) }
        }
    }
}

/// Completes `x[k]`, and subtracts its products with column `k` of `a` from the elements that are completed later.
fn substitute<T: Scalar>(system: System, a: &Matrix<T>, x: &mut [T], k: usize) {
    let column = a.column(k);
    if !system.is_unit {
        x[k] = x[k].over(column[k]);
    }
    let value = x[k];
    let rest = if system.triangle == Triangle::Lower { k + 1..x.len() } else { 0..k };
    add_scaled(&mut x[rest.clone()], -value, &column[rest]);
}

/// Computes `x[k]` from the elements that were computed before, whose factors are in column `k` of `a`.
fn substitute_transposed<T: Scalar>(system: System, a: &Matrix<T>, x: &mut [T], k: usize) {
    let column = a.column(k);
    let rest = if system.triangle == Triangle::Lower { k + 1..x.len() } else { 0..k };
    let is_adjoint = system.form == Form::Adjoint;
    let product = if is_adjoint { dot } else { dot_plain };
    let diagonal = if is_adjoint { column[k].conj() } else { column[k] };
    let value = x[k] - product(&column[rest.clone()], &x[rest]);
    x[k] = if system.is_unit { value } else { value.over(diagonal) };
}

fn solve_right<T: Scalar>(system: System, a: &Matrix<T>, b: &mut Matrix<T>) {
    let (n, mut meter) = (a.rows(), Meter::default());
    let is_plain = system.form == Form::Plain;
    // Column j of `X op(A)` is a sum over the columns of X, up to j if op(A) is upper triangular.
    let is_upper = (system.triangle == Triangle::Upper) == is_plain;
    let element = |i: usize, j: usize| match system.form {
        Form::Plain => a[(i, j)],
        Form::Transposed => a[(j, i)],
        Form::Adjoint => a[(j, i)].conj(),
    };
    for step in 0..n {
        meter.add((b.rows() * step) as u64);
        let j = if is_upper { step } else { n - 1 - step };
        for done in 0..step {
            let k = if is_upper { done } else { n - 1 - done };
            let factor = -element(k, j);
            if k < j {
                let (from, to) = b.pair(k, j);
                add_scaled(to, factor, from);
            } else {
                let (to, from) = b.pair(j, k);
                add_scaled(to, factor, from);
            }
        }
        if !system.is_unit {
            let diagonal = element(j, j);
            b.column_mut(j).iter_mut().for_each(|x| *x = x.over(diagonal));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, product, random};
    use shardwise_base::Complex64;

    fn factors_multiply<T: Scalar>(n: usize) {
        let x: Matrix<T> = random(n, n + 2, 5);
        let a = product(&x, &x.adjoint());
        let mut l = a.clone();
        assert_eq!(cholesky(&mut l, Triangle::Lower), 0);
        let l = Matrix::from_fn(n, n, |i, j| if i >= j { l[(i, j)] } else { T::ZERO });
        assert_near(&product(&l, &l.adjoint()), &a, "L L^H");
        let mut u = a.clone();
        assert_eq!(cholesky(&mut u, Triangle::Upper), 0);
        assert_near(&Matrix::from_fn(n, n, |i, j| if i <= j { u[(i, j)] } else { T::ZERO }), &l.adjoint(), "U");
    }

    #[test]
    fn cholesky_factors_multiply() {
        for n in [0, 1, 2, 5, 9] {
            factors_multiply::<f64>(n);
            factors_multiply::<Complex64>(n);
        }
    }

    #[test]
    fn minors_that_are_not_positive_are_reported() {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let mut a = Matrix::from_fn(3, 3, |i, j| [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]][i][j]);
            assert_eq!(cholesky(&mut a, triangle), 2);
            let mut nan = Matrix::from_fn(2, 2, |_, _| f64::NAN);
            assert_eq!(cholesky(&mut nan, triangle), 1);
        }
    }

    fn systems_are_solved<T: Scalar>() {
        let n = 5;
        let a: Matrix<T> =
            Matrix::from_fn(n, n, |i, j| random::<T>(n, n, 9)[(i, j)] + if i == j { T::of(3.0, 0.0) } else { T::ZERO });
        let triangles = [Triangle::Lower, Triangle::Upper];
        let forms = [Form::Plain, Form::Transposed, Form::Adjoint];
        for k in 0..24 {
            let (is_left, is_unit) = (k % 2 == 0, k / 2 % 2 == 0);
            let system = System { is_left, triangle: triangles[k / 4 % 2], form: forms[k / 8], is_unit };
            let read = Matrix::from_fn(n, n, |i, j| match (i == j, (i > j) == (system.triangle == Triangle::Lower)) {
                (true, _) if is_unit => T::ONE,
                (true, _) => a[(i, i)],
                (false, true) => a[(i, j)],
                (false, false) => T::ZERO,
            });
            let op = Matrix::from_fn(n, n, |i, j| match system.form {
                Form::Plain => read[(i, j)],
                Form::Transposed => read[(j, i)],
                Form::Adjoint => read[(j, i)].conj(),
            });
            let x: Matrix<T> = if is_left { random(n, 3, 1) } else { random(3, n, 1) };
            let mut b = if is_left { product(&op, &x) } else { product(&x, &op) };
            solve_triangular(system, &a, &mut b);
            assert_near(&b, &x, &format!("{system:?}"));
        }
    }

    #[test]
    fn triangular_systems_of_all_forms_are_solved() {
        systems_are_solved::<f64>();
        systems_are_solved::<Complex64>();
    }
}
