//! Eigenvalues and eigenvectors of Hermitian matrices.

use crate::hessenberg::shifted_q;
use crate::rotation::{Rotation, symmetric};
use crate::scalar::{EPS, hypot};
use crate::{Matrix, Scalar, Triangle, tridiagonal};
use shardwise_base::budget::Meter;

/// The bound of the iteration, which fails if a matrix of `n` rows takes more than `n` times this number of QL and QR
/// steps.
const MAX_ITERATIONS: usize = 30;

/// Computes the eigenvalues of a Hermitian matrix, ascending, from one triangle. If `with_vectors`, the matrix is
/// overwritten with the unit eigenvectors, as columns, else with arbitrary numbers. Returns the eigenvalues, and
/// `info`: 1 if the iteration fails or an element of the triangle or of its tridiagonal form is not finite, and 0
/// otherwise. All results are NaN if it is 1. The upper triangle is reduced like a lower one, so the signs of its
/// vectors may differ from LAPACK's. (`syevd`, `heevd`)
pub fn eigh<T: Scalar>(a: &mut Matrix<T>, triangle: Triangle, with_vectors: bool) -> (Vec<f64>, i32) {
    let n = a.rows();
    if triangle == Triangle::Upper {
        *a = a.adjoint();
    }
    let form = tridiagonal(a, Triangle::Lower);
    let is_finite = form.diagonal.iter().chain(&form.other).all(|x| x.is_finite());
    let q = if with_vectors { shifted_q(a, &form.taus) } else { Matrix::zeros(0, n) };
    let mut solver = Solver { d: form.diagonal, e: form.other, z: q, turns: 0, meter: Meter::default() };
    if !is_finite || !solver.run() {
        *a = Matrix::from_fn(n, n, |_, _| T::of(f64::NAN, f64::NAN));
        return (vec![f64::NAN; n], 1);
    }
    solver.sort();
    if with_vectors {
        *a = solver.z;
    }
    (solver.d, 0)
}

/// The implicit QL and QR iterations on a tridiagonal matrix. (`steqr`)
struct Solver<T> {
    d: Vec<f64>,
    /// The elements beside the diagonal.
    e: Vec<f64>,
    /// The columns that are rotated. Without vectors, it has no rows.
    z: Matrix<T>,
    turns: usize,
    meter: Meter,
}

impl<T: Scalar> Solver<T> {
    /// Makes the matrix diagonal. Returns false if there are too many iterations.
    fn run(&mut self) -> bool {
        let (n, mut start) = (self.d.len(), 0);
        while start < n {
            // A block without zeros beside its diagonal.
            let end = (start..n - 1).find(|&m| self.splits(m)).unwrap_or(n - 1);
            if end < n - 1 {
                self.e[end] = 0.0;
            }
            if end > start && !self.solve_block(start, end) {
                return false;
            }
            start = end + 1;
        }
        true
    }

    /// Returns true if the element beside the diagonal in rows `m` and `m + 1` is so small that the matrix is divided
    /// between these rows, before the QL and QR steps on its blocks.
    fn splits(&self, m: usize) -> bool {
        let size = self.e[m].abs();
        size == 0.0 || size <= self.d[m].abs().sqrt() * self.d[m + 1].abs().sqrt() * EPS
    }

    /// Makes the block `start..=end` diagonal, from that end on whose diagonal element is smaller. Scales a block whose
    /// largest element is very large or small, so that its square neither overflows nor underflows. Returns false if
    /// there are too many iterations.
    fn solve_block(&mut self, start: usize, end: usize) -> bool {
        let size = |x: f64, y: &f64| x.max(y.abs());
        let largest = self.d[start..=end].iter().chain(&self.e[start..end]).fold(0.0, size);
        if largest == 0.0 {
            return true;
        }
        // The reciprocal of a number that is less than the least normal one may be infinite.
        let is_moderate = (1e-120..1e120).contains(&largest);
        let scale = if is_moderate { 1.0 } else { largest.max(f64::MIN_POSITIVE) };
        self.scale(start, end, 1.0 / scale);
        let is_done = if self.d[end].abs() < self.d[start].abs() {
            self.solve_backward(start, end)
        } else {
            self.solve_forward(start, end)
        };
        self.scale(start, end, scale);
        is_done
    }

    fn scale(&mut self, start: usize, end: usize, factor: f64) {
        if factor != 1.0 {
            self.d[start..=end].iter_mut().chain(&mut self.e[start..end]).for_each(|x| *x *= factor);
        }
    }

    /// Returns true if the element beside the diagonal in rows `m` and `m + 1` is negligible during the QL and QR steps
    /// on its block.
    fn is_small(&self, m: usize) -> bool {
        let e = self.e[m].abs();
        e * e <= (EPS * EPS * self.d[m].abs()) * self.d[m + 1].abs() + f64::MIN_POSITIVE
    }

    fn count(&mut self, rotations: usize) -> bool {
        self.turns += 1;
        self.meter.add((rotations * self.z.rows().max(1) * 4) as u64);
        self.turns <= MAX_ITERATIONS * self.d.len()
    }

    /// Makes rows `l..=end` diagonal by QL iterations, the first row first. Returns false if there are too many
    /// iterations.
    fn solve_forward(&mut self, mut l: usize, end: usize) -> bool {
        while l <= end {
            let m = (l..end).find(|&m| self.is_small(m)).unwrap_or(end);
            if m < end {
                self.e[m] = 0.0;
            }
            if m == l {
                l += 1;
            } else if m == l + 1 {
                let (first, second, rotation) = symmetric(self.d[l], self.e[l], self.d[l + 1]);
                self.rotate(l, rotation);
                (self.d[l], self.d[l + 1], self.e[l]) = (first, second, 0.0);
                l += 2;
            } else if !self.count(m - l) {
                return false;
            } else {
                self.turn_forward(l, m);
            }
        }
        true
    }

    fn rotate(&mut self, i: usize, rotation: Rotation) {
        rotation.apply_to_columns(&mut self.z, i);
    }

    fn turn_forward(&mut self, l: usize, m: usize) {
        let g = (self.d[l + 1] - self.d[l]) / (2.0 * self.e[l]);
        let r = hypot(g, 1.0);
        let mut g = self.d[m] - self.d[l] + self.e[l] / (g + r.copysign(g));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        for i in (l..m).rev() {
            let (f, b) = (s * self.e[i], c * self.e[i]);
            let (rotation, r) = Rotation::onto_first(g, f);
            (c, s) = (rotation.c, rotation.s);
            if i + 1 != m {
                self.e[i + 1] = r;
            }
            g = self.d[i + 1] - p;
            let r = (self.d[i] - g) * s + 2.0 * c * b;
            p = s * r;
            self.d[i + 1] = g + p;
            g = c * r - b;
            self.rotate(i, Rotation { c, s: -s });
        }
        self.d[l] -= p;
        self.e[l] = g;
    }

    /// Makes rows `start..=end` diagonal by QR iterations, the last row first. Returns false if there are too many
    /// iterations.
    fn solve_backward(&mut self, start: usize, end: usize) -> bool {
        // `l` is one more than the row, so that it may be the row before the first.
        let mut l = end + 1;
        while l > start {
            let row = l - 1;
            let m = (start..row).rev().find(|&m| self.is_small(m)).map_or(start, |m| m + 1);
            if m > start {
                self.e[m - 1] = 0.0;
            }
            if m == row {
                l -= 1;
            } else if m + 1 == row {
                let (first, second, rotation) = symmetric(self.d[m], self.e[m], self.d[row]);
                self.rotate(m, rotation);
                (self.d[m], self.d[row], self.e[m]) = (first, second, 0.0);
                l -= 2;
            } else if !self.count(row - m) {
                return false;
            } else {
                self.turn_backward(row, m);
            }
        }
        true
    }

    fn turn_backward(&mut self, l: usize, m: usize) {
        let g = (self.d[l - 1] - self.d[l]) / (2.0 * self.e[l - 1]);
        let r = hypot(g, 1.0);
        let mut g = self.d[m] - self.d[l] + self.e[l - 1] / (g + r.copysign(g));
        let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
        for i in m..l {
            let (f, b) = (s * self.e[i], c * self.e[i]);
            let (rotation, r) = Rotation::onto_first(g, f);
            (c, s) = (rotation.c, rotation.s);
            if i != m {
                self.e[i - 1] = r;
            }
            g = self.d[i] - p;
            let r = (self.d[i + 1] - g) * s + 2.0 * c * b;
            p = s * r;
            self.d[i] = g + p;
            g = c * r - b;
            self.rotate(i, rotation);
        }
        self.d[l] -= p;
        self.e[l - 1] = g;
    }

    fn sort(&mut self) {
        for i in 0..self.d.len() {
            let least = (i..self.d.len()).fold(i, |k, j| if self.d[j] < self.d[k] { j } else { k });
            self.d.swap(i, least);
            self.z.swap_columns(i, least);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, assert_unitary, diagonal, product, random};
    use shardwise_base::Complex64;

    fn check<T: Scalar>(a: &Matrix<T>, what: &str) {
        for triangle in [Triangle::Lower, Triangle::Upper] {
            let mut v = a.clone();
            let (w, info) = eigh(&mut v, triangle, true);
            assert_eq!(info, 0, "{what}");
            assert!(w.windows(2).all(|w| w[0] <= w[1]), "{what}: {w:?}");
            assert_unitary(&v, what);
            assert_near(&product(a, &v), &product(&v, &diagonal(w.iter().copied())), what);
            let (only, _) = eigh(&mut a.clone(), triangle, false);
            assert!(only.iter().zip(&w).all(|(a, b)| (a - b).abs() < 1e-12), "{what}: {only:?} {w:?}");
        }
    }

    fn hermitian<T: Scalar>(n: usize) -> Matrix<T> {
        let x: Matrix<T> = random(n, n, n as u64);
        Matrix::from_fn(n, n, |i, j| (x[(i, j)] + x[(j, i)].conj()).times(0.5))
    }

    #[test]
    fn eigenvectors_diagonalize() {
        for n in [0, 1, 2, 3, 4, 8, 33] {
            check(&hermitian::<f64>(n), &format!("real {n}"));
            check(&hermitian::<Complex64>(n), &format!("complex {n}"));
        }
    }

    #[test]
    fn repeated_eigenvalues_and_large_and_small_elements() {
        check(&Matrix::<f64>::identity(5, 5), "identity");
        check(&Matrix::<f64>::zeros(4, 4), "zeros");
        check(&Matrix::from_fn(6, 6, |_, _| 1.0), "ones");
        check(&diagonal::<Complex64>([3.0, -1.0, 2.0, -1.0]), "diagonal");
        let mut tiny = Matrix::from_fn(3, 3, |i, j| 1e-300 * (i + j) as f64);
        let (w, info) = eigh(&mut tiny, Triangle::Lower, true);
        assert!(info == 0 && (w[2] / 1e-300 - (3.0 + 15f64.sqrt())).abs() < 1e-12, "{w:?}");
        // The reciprocals of these elements are infinite.
        let least = f64::from_bits(4096);
        let mut tiny = Matrix::from_fn(3, 3, |i, j| least * (i + j) as f64);
        let (w, info) = eigh(&mut tiny, Triangle::Lower, true);
        assert!(info == 0 && (w[2] / least - (3.0 + 15f64.sqrt())).abs() < 1e-2, "{w:?}");
    }

    #[test]
    fn a_known_matrix() {
        let mut a = Matrix::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 1.0 });
        let (w, _) = eigh(&mut a, Triangle::Lower, true);
        assert!((w[0] - 1.0).abs() < 1e-15 && (w[1] - 3.0).abs() < 1e-15, "{w:?}");
        assert!((a[(0, 1)] - a[(1, 1)]).abs() < 1e-15 && (a[(0, 0)] + a[(1, 0)]).abs() < 1e-15, "{a:?}");
    }

    #[test]
    fn elements_that_are_not_finite_end() {
        for x in [f64::NAN, f64::INFINITY] {
            let mut a = Matrix::from_fn(4, 4, |i, j| if i + j == 3 { x } else { 1.0 });
            let (w, info) = eigh(&mut a, Triangle::Lower, true);
            assert!(info != 0 && w.iter().chain(a.data()).all(|x| x.is_nan()));
        }
    }
}
