//! Eigenvalues and eigenvectors of general matrices.

use crate::scalar::norm;
use crate::{Matrix, Scalar, Schur, SchurScalar, schur};
use shardwise_base::budget::Meter;
use shardwise_base::{Complex64, Data};

/// The eigenvalues of a matrix, and its unit eigenvectors where they were asked for. The element of a vector with the
/// largest absolute value is real.
#[derive(Clone, Debug)]
pub struct Eigen {
    pub values: Vec<Complex64>,
    /// The columns `u` with `u^H A = w u^H`, in the order of the eigenvalues `w`. `None` unless they were asked for.
    pub left: Option<Matrix<Complex64>>,
    /// The columns `v` with `A v = w v`, in the order of the eigenvalues `w`. `None` unless they were asked for.
    pub right: Option<Matrix<Complex64>>,
    /// 1 if the iteration fails or an element is not finite: then all results are NaN. Otherwise 0.
    pub info: i32,
}

/// Computes the eigenvalues of a square matrix, and the eigenvectors that are asked for. Complex eigenvalues of real
/// matrices come in conjugate pairs, the one with the positive imaginary part first, and so do their vectors. If an
/// element is not finite or the iteration fails, `info` is 1 and all numbers are NaN; otherwise it is 0. The matrix is
/// not balanced first, so the order and the accuracy of the eigenvalues may differ from LAPACK's. (`geev`)
pub fn eigen<T: SchurScalar>(a: Matrix<T>, with_left: bool, with_right: bool) -> Eigen {
    let n = a.rows();
    let form = schur(a, with_left || with_right);
    let vectors = |is_left: bool| match form.info {
        0 => vectors(&form, is_left),
        _ => Matrix::from_fn(n, n, |_, _| Complex64::new(f64::NAN, f64::NAN)),
    };
    let (left, right) = (with_left.then(|| vectors(true)), with_right.then(|| vectors(false)));
    Eigen { values: form.values, left, right, info: form.info }
}

fn vectors<T: SchurScalar>(form: &Schur<T>, is_left: bool) -> Matrix<Complex64> {
    let (n, mut meter) = (form.t.rows(), Meter::default());
    let size = form.t.data().iter().fold(0.0, |m: f64, x| m.max(x.abs1()));
    let mut out = Matrix::zeros(n, n);
    let mut j = 0;
    while j < n {
        meter.add((2 * n * n) as u64);
        let is_pair = is_block(&form.t, j);
        let triangle = Triangle { t: &form.t, value: form.values[j], least: least(form.values[j], size), is_left };
        let x = if is_left { triangle.left_vector(j, is_pair) } else { triangle.right_vector(j, is_pair) };
        let v = normalized(form, &x, is_pair);
        out.column_mut(j).copy_from_slice(&v);
        if is_pair {
            out.column_mut(j + 1).iter_mut().zip(&*v).for_each(|(to, v)| *to = Scalar::conj(*v));
        }
        j += if is_pair { 2 } else { 1 };
    }
    out
}

fn is_block<T: Scalar>(t: &Matrix<T>, i: usize) -> bool {
    i + 1 < t.rows() && t[(i + 1, i)] != T::ZERO
}

/// Returns the number by which smaller pivots are replaced when a vector of the eigenvalue `value` is computed. `size`
/// is the largest [`Scalar::abs1`] of an element of the matrix.
fn least(value: Complex64, size: f64) -> f64 {
    (f64::EPSILON * value.abs1()).max(f64::MIN_POSITIVE / f64::EPSILON).max(f64::MIN_POSITIVE * size)
}

/// Returns the product of the unitary matrix with `x`, scaled to length 1. Except for real eigenvectors of real
/// matrices, it is also multiplied by the phase that makes its element of the largest absolute value real.
fn normalized<T: SchurScalar>(form: &Schur<T>, x: &[Complex64], is_pair: bool) -> Data<Complex64> {
    let n = x.len();
    let mut v: Data<Complex64> = Data::zeroed(n);
    for (k, &x) in x.iter().enumerate().filter(|(_, x)| **x != Complex64::ZERO) {
        let column = form.q.column(k);
        v.iter_mut().zip(column).for_each(|(v, q)| *v += q.complex() * x);
    }
    let length = norm(&v);
    v.iter_mut().for_each(|v| *v = v.times(1.0 / length));
    if T::IS_REAL && !is_pair {
        return v;
    }
    let square = |z: Complex64| z.re * z.re + z.im * z.im;
    let largest = (0..n).fold(0, |k, i| if square(v[i]) > square(v[k]) { i } else { k });
    let phase = Scalar::conj(v[largest]).times(1.0 / Scalar::abs(v[largest]));
    v.iter_mut().for_each(|v| *v *= phase);
    v[largest].im = 0.0;
    v
}

/// A Schur form with one of its eigenvalues, of which an eigenvector is computed.
struct Triangle<'a, T> {
    t: &'a Matrix<T>,
    value: Complex64,
    least: f64,
    is_left: bool,
}

impl<T: Scalar> Triangle<'_, T> {
    fn at(&self, i: usize, j: usize) -> Complex64 {
        self.t[(i, j)].complex()
    }

    /// Returns an eigenvector of which only the elements in the rows of the eigenvalue itself, one or two from `j` on,
    /// are computed. The others are zero.
    fn start(&self, j: usize, is_pair: bool) -> Data<Complex64> {
        let mut x: Data<Complex64> = Data::zeroed(self.t.rows());
        x[j] = Complex64::ONE;
        if is_pair {
            // (a - w) x + b y = 0 and c x + (a - w) y = 0, where a - w is -i times the imaginary part of w.
            let (b, c) = (self.at(j, j + 1).re, self.at(j + 1, j).re);
            let (b, c) = if self.is_left { (c, b) } else { (b, c) };
            let im = if self.is_left { -self.value.im } else { self.value.im };
            if b.abs() >= c.abs() {
                x[j + 1] = Complex64::new(0.0, im / b);
            } else {
                x[j] = Complex64::new(-im / c, 0.0);
                x[j + 1] = Complex64::new(0.0, 1.0);
            }
        }
        x
    }

    /// Returns a vector with `T x = w x`, where `w` is the eigenvalue in row `j`, or the first one of the pair in rows
    /// `j` and `j + 1` if `is_pair` is true. The elements of `x` after the rows of `w` are zero. Those before row `j`
    /// are computed from the last to the first.
    fn right_vector(&self, j: usize, is_pair: bool) -> Data<Complex64> {
        let mut x = self.start(j, is_pair);
        let last = if is_pair { j + 1 } else { j };
        let mut i = j;
        while i > 0 {
            let rows = if i >= 2 && is_block(self.t, i - 2) { 2 } else { 1 };
            i -= rows;
            let sum = |row: usize| (i + rows..=last).fold(Complex64::ZERO, |sum, k| sum - self.at(row, k) * x[k]);
            let sums = [sum(i), if rows == 2 { sum(i + 1) } else { Complex64::ZERO }];
            self.solve(&mut x, i, rows, sums);
        }
        x
    }

    /// Returns a vector `x` with `T^H x = conj(w) x`. The eigenvalue `w` is that of row `j`, or the first one of the
    /// pair in rows `j` and `j + 1` if `is_pair` is true. The elements of `x` before row `j` are zero. Those after the
    /// rows of `w` are computed from the first to the last.
    fn left_vector(&self, j: usize, is_pair: bool) -> Data<Complex64> {
        let mut x = self.start(j, is_pair);
        let mut i = if is_pair { j + 2 } else { j + 1 };
        while i < self.t.rows() {
            let rows = if is_block(self.t, i) { 2 } else { 1 };
            let sum =
                |column: usize| (j..i).fold(Complex64::ZERO, |sum, k| sum - Scalar::conj(self.at(k, column)) * x[k]);
            let sums = [sum(i), if rows == 2 { sum(i + 1) } else { Complex64::ZERO }];
            self.solve(&mut x, i, rows, sums);
            i += rows;
        }
        x
    }

    /// Computes the elements of `x` in the block of `rows` rows that starts in row `i`, given the right-hand sides
    /// `sums`. If a computed element is very large, all of `x` is divided by a number.
    fn solve(&self, x: &mut [Complex64], i: usize, rows: usize, sums: [Complex64; 2]) {
        let element = |r: usize, c: usize| {
            let t = if self.is_left { Scalar::conj(self.at(c, r)) } else { self.at(r, c) };
            let value = if self.is_left { Scalar::conj(self.value) } else { self.value };
            if r == c { t - value } else { t }
        };
        if rows == 1 {
            x[i] = sums[0].over(self.not_zero(element(i, i)));
        } else {
            let matrix = [element(i, i), element(i, i + 1), element(i + 1, i), element(i + 1, i + 1)];
            [x[i], x[i + 1]] = self.solve_pair(matrix, sums);
        }
        let largest = x[i].abs1().max(if rows == 2 { x[i + 1].abs1() } else { 0.0 });
        if largest > 1e100 {
            x.iter_mut().for_each(|x| *x = x.times(1.0 / largest));
        }
    }

    fn not_zero(&self, pivot: Complex64) -> Complex64 {
        if pivot.abs1() < self.least { Complex64::new(self.least, 0.0) } else { pivot }
    }

    /// Returns the solution of `[a b; c d] [x; y] = [p; q]`, by elimination with pivots. A pivot whose
    /// [`Scalar::abs1`] is less than `least` is replaced by `least`.
    fn solve_pair(&self, [a, b, c, d]: [Complex64; 4], [p, q]: [Complex64; 2]) -> [Complex64; 2] {
        let is_swapped = c.abs1() > a.abs1();
        let ([a, b, p], [c, d, q]) = if is_swapped { ([c, d, q], [a, b, p]) } else { ([a, b, p], [c, d, q]) };
        let a = self.not_zero(a);
        let factor = c.over(a);
        let y = (q - factor * p).over(self.not_zero(d - factor * b));
        [(p - b * y).over(a), y]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, product, random};

    fn check<T: SchurScalar>(a: &Matrix<T>, what: &str) {
        let n = a.rows();
        let found = eigen(a.clone(), true, true);
        assert_eq!(found.info, 0, "{what}");
        let wide = Matrix::from_fn(n, n, |i, j| a[(i, j)].complex());
        let w = Matrix::from_fn(n, n, |i, j| if i == j { found.values[i] } else { Complex64::ZERO });
        let (left, right) = (found.left.unwrap(), found.right.unwrap());
        assert_near(&product(&wide, &right), &product(&right, &w), what);
        assert_near(&product(&left.adjoint(), &wide), &product(&w, &left.adjoint()), what);
        for j in 0..n {
            assert!(
                (norm(left.column(j)) - 1.0).abs() < 1e-13 && (norm(right.column(j)) - 1.0).abs() < 1e-13,
                "{what}"
            );
        }
    }

    #[test]
    fn vectors_are_those_of_the_values() {
        for n in [0, 1, 2, 3, 4, 7, 20] {
            for seed in 0..4 {
                check(&random::<f64>(n, n, 30 + seed), &format!("real {n} {seed}"));
                check(&random::<Complex64>(n, n, 30 + seed), &format!("complex {n} {seed}"));
            }
        }
    }

    #[test]
    fn defective_and_normal_matrices() {
        check(&Matrix::from_fn(4, 4, |i, j| if i == j || j == i + 1 { 2.0 } else { 0.0 }), "one block");
        check(&Matrix::<f64>::identity(3, 3), "identity");
        check(&Matrix::from_fn(4, 4, |i, j| if (i + 1) % 4 == j { 1.0 } else { 0.0 }), "cycle");
    }

    /// Real eigenvalues of real matrices have real vectors, and complex ones come in pairs, as in LAPACK.
    #[test]
    fn real_matrices() {
        let a = Matrix::from_fn(3, 3, |i, j| [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 2.0]][i][j]);
        let found = eigen(a, false, true);
        assert_eq!(found.values, [Complex64::new(0.0, 1.0), Complex64::new(0.0, -1.0), Complex64::new(2.0, 0.0)]);
        let right = found.right.unwrap();
        assert!(right.column(2).iter().all(|z| z.im == 0.0));
        assert!((0..3).all(|i| right[(i, 1)] == Scalar::conj(right[(i, 0)])));
    }
}
