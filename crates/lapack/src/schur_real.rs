//! The QR iteration with double shifts on real Hessenberg matrices.

use crate::Matrix;
use crate::hessenberg::{EXCEPTIONAL, max_iterations, separate_block};
use crate::reflector::{reflect_columns, reflect_rows, reflector};
use crate::rotation::standard;
use shardwise_base::Complex64;
use shardwise_base::budget::Meter;

struct Iteration<'a> {
    h: &'a mut Matrix<f64>,
    q: &'a mut Matrix<f64>,
    meter: Meter,
}

/// The two shifts of an iteration: a conjugate pair, or a real number twice.
type Shifts = [Complex64; 2];

/// Makes a Hessenberg matrix triangular up to blocks of two rows, and multiplies `q` from the right by the orthogonal
/// matrix that does so. Returns the eigenvalues, or `None` if there are too many iterations. (`lahqr`)
pub(crate) fn triangularize(h: &mut Matrix<f64>, q: &mut Matrix<f64>) -> Option<Vec<Complex64>> {
    let n = h.rows();
    let mut values = vec![Complex64::default(); n];
    let mut iteration = Iteration { h, q, meter: Meter::default() };
    // The rows from `end` on are done.
    let mut end = n;
    while end > 0 {
        let start = iteration.deflate(end)?;
        if start + 1 == end {
            values[start] = Complex64::new(iteration.h[(start, start)], 0.0);
        } else {
            let pair = iteration.split(start);
            values[start..end].copy_from_slice(&pair);
        }
        end = start;
    }
    Some(values)
}

impl Iteration<'_> {
    /// Iterates until the last one or two rows before `end` are separate from the others. Returns the first of them, or
    /// `None` if there are too many iterations.
    fn deflate(&mut self, end: usize) -> Option<usize> {
        let n = self.h.rows();
        for turn in 1..=max_iterations(n) {
            let start = separate_block(self.h, end);
            if start + 2 >= end {
                return Some(start);
            }
            self.meter.add((10 * (end - start) * n) as u64);
            let shifts = self.shifts(start, end, turn);
            self.turn(start, end, shifts);
        }
        None
    }

    fn shifts(&self, start: usize, end: usize, turn: usize) -> Shifts {
        let (h, i) = (&self.h, end - 1);
        let [h11, h21, h12, h22] = if turn.is_multiple_of(2 * EXCEPTIONAL) {
            let s = h[(i, i - 1)].abs() + h[(i - 1, i - 2)].abs();
            [0.75 * s + h[(i, i)], s, -0.4375 * s, 0.75 * s + h[(i, i)]]
        } else if turn.is_multiple_of(EXCEPTIONAL) {
            let s = h[(start + 1, start)].abs() + h[(start + 2, start + 1)].abs();
            [0.75 * s + h[(start, start)], s, -0.4375 * s, 0.75 * s + h[(start, start)]]
        } else {
            [h[(i - 1, i - 1)], h[(i, i - 1)], h[(i - 1, i)], h[(i, i)]]
        };
        let s = h11.abs() + h12.abs() + h21.abs() + h22.abs();
        if s == 0.0 {
            return [Complex64::default(); 2];
        }
        let [h11, h21, h12, h22] = [h11 / s, h21 / s, h12 / s, h22 / s];
        let mean = (h11 + h22) / 2.0;
        let determinant = (h11 - mean) * (h22 - mean) - h12 * h21;
        let root = determinant.abs().sqrt();
        if determinant >= 0.0 {
            return [Complex64::new(mean * s, root * s), Complex64::new(mean * s, -root * s)];
        }
        // Both shifts are the eigenvalue that is nearer to the last element.
        let (first, second) = (mean + root, mean - root);
        let nearer = if (first - h22).abs() <= (second - h22).abs() { first } else { second };
        [Complex64::new(nearer * s, 0.0); 2]
    }

    /// Returns the row in which the bulge starts, and a multiple of the first column of the shifted square there.
    fn bulge(&self, start: usize, end: usize, [first, second]: Shifts) -> (usize, [f64; 3]) {
        let h = &self.h;
        for m in (start..end - 2).rev() {
            let s = (h[(m, m)] - second.re).abs() + second.im.abs() + h[(m + 1, m)].abs();
            let below = h[(m + 1, m)] / s;
            let v = [
                below * h[(m, m + 1)] + (h[(m, m)] - first.re) * ((h[(m, m)] - second.re) / s)
                    - first.im * (second.im / s),
                below * (h[(m, m)] + h[(m + 1, m + 1)] - first.re - second.re),
                below * h[(m + 2, m + 1)],
            ];
            let s = v[0].abs() + v[1].abs() + v[2].abs();
            let v = v.map(|x| x / s);
            if m == start {
                return (m, v);
            }
            let around = h[(m - 1, m - 1)].abs() + h[(m, m)].abs() + h[(m + 1, m + 1)].abs();
            if h[(m, m - 1)].abs() * (v[1].abs() + v[2].abs()) <= f64::EPSILON * v[0].abs() * around {
                return (m, v);
            }
        }
        unreachable!("a block has at least three rows");
    }

    /// Makes one iteration on rows `start..end`.
    fn turn(&mut self, start: usize, end: usize, shifts: Shifts) {
        let n = self.h.rows();
        let (first, mut v) = self.bulge(start, end, shifts);
        for k in first..end - 1 {
            let size = 3.min(end - k);
            if k > first {
                v[..size].copy_from_slice(&self.h.column(k - 1)[k..k + size]);
            }
            let (beta, tau) = reflector(v[0], &mut v[1..size]);
            if k > first {
                self.h[(k, k - 1)] = beta;
                (1..size).for_each(|i| self.h[(k + i, k - 1)] = 0.0);
            } else if k > start {
                self.h[(k, k - 1)] *= 1.0 - tau;
            }
            let tail = &v[1..size];
            (k..n).for_each(|j| reflect_rows(tail, tau, self.h.column_mut(j), n, k));
            reflect_columns(tail, tau, self.h, k, 0..end.min(k + 4));
            let rows = self.q.rows();
            reflect_columns(tail, tau, self.q, k, 0..rows);
        }
    }

    /// Brings the two rows from `i` on into standard form. Returns their eigenvalues.
    fn split(&mut self, i: usize) -> [Complex64; 2] {
        let n = self.h.rows();
        let h = &mut *self.h;
        let found = standard([h[(i, i)], h[(i, i + 1)], h[(i + 1, i)], h[(i + 1, i + 1)]]);
        for j in i + 2..n {
            [h[(i, j)], h[(i + 1, j)]] = found.rotation.of(h[(i, j)], h[(i + 1, j)]);
        }
        let (x, y) = h.pair(i, i + 1);
        found.rotation.apply(&mut x[..i], &mut y[..i]);
        [h[(i, i)], h[(i, i + 1)], h[(i + 1, i)], h[(i + 1, i + 1)]] = found.matrix;
        found.rotation.apply_to_columns(self.q, i);
        found.values
    }
}
