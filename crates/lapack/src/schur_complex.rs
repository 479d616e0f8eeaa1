//! The QR iteration with single shifts on complex Hessenberg matrices.

use crate::hessenberg::{EXCEPTIONAL, max_iterations, separate_block};
use crate::scalar::{complex_sqrt, hypot};
use crate::{Matrix, Scalar};
use shardwise_base::Complex64;
use shardwise_base::budget::Meter;

/// The unitary matrix `[c s; -conj(s) c]`.
#[derive(Clone, Copy)]
struct Rotation {
    c: f64,
    s: Complex64,
}

impl Rotation {
    /// Returns the rotation that turns `[f, g]` into `[r, 0]`, and `r`.
    fn onto_first(f: Complex64, g: Complex64) -> (Rotation, Complex64) {
        if g == Complex64::ZERO {
            return (Rotation { c: 1.0, s: Complex64::ZERO }, f);
        }
        let (size_f, size_g) = (Scalar::abs(f), Scalar::abs(g));
        if size_f == 0.0 {
            let s = Scalar::conj(g).times(1.0 / size_g);
            return (Rotation { c: 0.0, s }, Complex64::new(size_g, 0.0));
        }
        let size = hypot(size_f, size_g);
        let phase = f.times(1.0 / size_f);
        let s = phase * Scalar::conj(g).times(1.0 / size);
        (Rotation { c: size_f / size, s }, phase.times(size))
    }

    fn of(self, x: Complex64, y: Complex64) -> [Complex64; 2] {
        [x.times(self.c) + self.s * y, y.times(self.c) - Scalar::conj(self.s) * x]
    }

    /// Multiplies two columns by the adjoint from the right.
    fn apply_to_columns(self, x: &mut [Complex64], y: &mut [Complex64]) {
        for (x, y) in x.iter_mut().zip(y) {
            let (a, b) = (*x, *y);
            *x = a.times(self.c) + Scalar::conj(self.s) * b;
            *y = b.times(self.c) - self.s * a;
        }
    }
}

/// Makes a Hessenberg matrix triangular, and multiplies `q` from the right by the unitary matrix that does so. Returns
/// the eigenvalues, or `None` if there are too many iterations. (`lahqr`)
pub(crate) fn triangularize(h: &mut Matrix<Complex64>, q: &mut Matrix<Complex64>) -> Option<Vec<Complex64>> {
    let (n, mut meter) = (h.rows(), Meter::default());
    for end in (1..=n).rev() {
        let mut turn = 0;
        loop {
            let start = separate_block(h, end);
            if start + 1 == end {
                break;
            }
            turn += 1;
            if turn > max_iterations(n) {
                return None;
            }
            meter.add((10 * (end - start) * n) as u64);
            let shift = shift(h, start, end, turn);
            step(h, q, start, end, shift);
        }
    }
    Some((0..n).map(|i| h[(i, i)]).collect())
}

/// Returns the eigenvalue of the last two rows before `end` that is nearer to their last element, or a made-up shift if
/// `turn` is a multiple of [`EXCEPTIONAL`].
fn shift(h: &Matrix<Complex64>, start: usize, end: usize, turn: usize) -> Complex64 {
    let i = end - 1;
    if turn.is_multiple_of(2 * EXCEPTIONAL) {
        return h[(i, i)] + Complex64::new(0.75 * h[(i, i - 1)].abs1(), 0.0);
    }
    if turn.is_multiple_of(EXCEPTIONAL) {
        return h[(start, start)] + Complex64::new(0.75 * h[(start + 1, start)].abs1(), 0.0);
    }
    let last = h[(i, i)];
    let product = complex_sqrt(h[(i - 1, i)]) * complex_sqrt(h[(i, i - 1)]);
    if product == Complex64::ZERO {
        return last;
    }
    let half = (h[(i - 1, i - 1)] - last).times(0.5);
    let scale = product.abs1().max(half.abs1());
    let (p, x) = (product.times(1.0 / scale), half.times(1.0 / scale));
    let root = complex_sqrt(x * x + p * p);
    let root = if x.re * root.re + x.im * root.im < 0.0 { -root } else { root };
    last - product * product.over(half + root.times(scale))
}

/// Makes one iteration on rows `start..end` of `h`, and multiplies `q` from the right by the adjoints of its rotations.
fn step(h: &mut Matrix<Complex64>, q: &mut Matrix<Complex64>, start: usize, end: usize, shift: Complex64) {
    let n = h.rows();
    for k in start..end - 1 {
        let [f, g] = if k == start { [h[(k, k)] - shift, h[(k + 1, k)]] } else { [h[(k, k - 1)], h[(k + 1, k - 1)]] };
        let (rotation, r) = Rotation::onto_first(f, g);
        if k > start {
            (h[(k, k - 1)], h[(k + 1, k - 1)]) = (r, Complex64::ZERO);
        }
        for j in k..n {
            [h[(k, j)], h[(k + 1, j)]] = rotation.of(h[(k, j)], h[(k + 1, j)]);
        }
        let rows = end.min(k + 3);
        let (x, y) = h.pair(k, k + 1);
        rotation.apply_to_columns(&mut x[..rows], &mut y[..rows]);
        let (x, y) = q.pair(k, k + 1);
        rotation.apply_to_columns(x, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_of_tiny_and_large_matrices_are_eigenvalues_near_the_last_element() {
        let elements = [[0.0, 1.0], [1.0, 4.0]];
        for exponent in [-600, 0, 500] {
            let scale = 2f64.powi(exponent);
            let h = Matrix::from_fn(2, 2, |i, j| Complex64::new(scale * elements[i][j], 0.0));
            let found = shift(&h, 0, 2, 1).times(1.0 / scale);
            let expected = Complex64::new(2.0 + 5f64.sqrt(), 0.0);
            assert!((found - expected).abs1() < 1e-12, "{exponent}: {found} for {expected}");
        }
    }
}
