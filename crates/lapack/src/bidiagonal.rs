//! Bidiagonal form, and the singular values of bidiagonal matrices.

use crate::reflector::{reflect_columns, reflect_rows, reflector};
use crate::rotation::{Rotation, triangular, triangular_values};
use crate::scalar::EPS;
use crate::{Matrix, Scalar};
use shardwise_base::Data;
use shardwise_base::budget::Meter;

/// An upper bidiagonal matrix `B`, and the reflectors of `Q` and `P`, where `A = Q B P^H`.
pub(crate) struct Form<T> {
    pub d: Vec<f64>,
    /// The elements above the diagonal, one fewer.
    pub e: Vec<f64>,
    /// The scalars of the reflectors of `Q`, whose vectors are below the diagonal of `A`.
    pub left: Vec<T>,
    /// The reflectors of `P`: the vector without its first element, and `tau`. Number `i` starts in row `i + 1`.
    pub right: Vec<(Data<T>, T)>,
}

/// Returns the bidiagonal form of a matrix that has at least as many rows as columns. The vectors of the reflectors of
/// `Q`, without their first elements, are left below its diagonal. Its other elements become arbitrary. (`gebrd`)
pub(crate) fn bidiagonal<T: Scalar>(a: &mut Matrix<T>) -> Form<T> {
    let (m, n, mut meter) = (a.rows(), a.columns(), Meter::default());
    let mut form = Form { d: vec![], e: vec![], left: vec![], right: vec![] };
    for i in 0..n {
        meter.add(4 * ((m - i) * (n - i)) as u64);
        let (column, behind) = a.behind(i);
        let (head, rest) = column.split_at_mut(i + 1);
        let (beta, tau) = reflector(head[i], rest);
        form.d.push(beta);
        form.left.push(tau);
        reflect_rows(rest, tau.conj(), behind, m, i);
        if i + 1 == n {
            continue;
        }
        let first = a[(i, i + 1)].conj();
        let mut row: Data<T> = Data::zeroed(n - i - 2);
        (0..row.len()).for_each(|k| row[k] = a[(i, i + 2 + k)].conj());
        let (beta, tau) = reflector(first, &mut row);
        form.e.push(beta);
        reflect_columns(&row, tau, a, i + 1, i + 1..m);
        form.right.push((row, tau));
    }
    form
}

/// The implicit QR iteration, with and without shifts, on an upper bidiagonal matrix. (`bdsqr`)
pub(crate) struct Bidiagonal {
    pub d: Vec<f64>,
    pub e: Vec<f64>,
    /// The columns of the left and of the right vectors. Without vectors, they have no rows.
    pub u: Matrix<f64>,
    pub v: Matrix<f64>,
    tolerance: f64,
    /// Elements of `e` whose absolute value is not larger count as zero.
    threshold: f64,
    meter: Meter,
}

/// The bound of the iteration, which fails on a matrix of `n` rows after about this number times `n^2` steps. One turn
/// on a block of `k` rows has `k - 1` steps. The least threshold of the iteration is proportional to this number, too.
const MAX_ITERATIONS: usize = 6;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Down,
    Up,
}

impl Bidiagonal {
    pub fn new(d: Vec<f64>, e: Vec<f64>, u: Matrix<f64>, v: Matrix<f64>) -> Bidiagonal {
        // eps^(-1/8) is about 98.7.
        let tolerance = EPS * EPS.sqrt().sqrt().sqrt().recip().clamp(10.0, 100.0);
        let n = d.len();
        let mut smallest = d.first().map_or(0.0, |d| d.abs());
        let mut mu = smallest;
        for i in 1..n {
            mu = if mu == 0.0 { 0.0 } else { d[i].abs() * (mu / (mu + e[i - 1].abs())) };
            smallest = smallest.min(mu);
        }
        let smallest = smallest / (n as f64).sqrt();
        let least = MAX_ITERATIONS as f64 * (n as f64 * (n as f64 * f64::MIN_POSITIVE));
        let threshold = (tolerance * smallest).max(least);
        Bidiagonal { d, e, u, v, tolerance, threshold, meter: Meter::default() }
    }

    /// Makes the matrix diagonal, without negative elements and in descending order. Returns false if there are too
    /// many iterations.
    pub fn run(&mut self) -> bool {
        // The block that is worked on ends in front of `end`.
        let (mut end, mut last) = (self.d.len(), None);
        let mut left = MAX_ITERATIONS * end * end;
        while end > 1 {
            let (start, largest) = self.block(end);
            let rows = end - start;
            if rows == 1 {
                end -= 1;
                continue;
            }
            if rows == 2 {
                self.solve_pair(start);
                end -= 2;
                continue;
            }
            if left < rows {
                return false;
            }
            let direction = match last {
                Some((from, to, direction)) if start <= to && end > from => direction,
                _ if self.d[start].abs() >= self.d[end - 1].abs() => Direction::Down,
                _ => Direction::Up,
            };
            let Some(smallest) = self.smallest(start, end, direction) else { continue };
            last = Some((start, end - 1, direction));
            left -= rows - 1;
            self.meter.add((8 * rows * (self.u.rows() + 1)) as u64);
            let shift = self.shift(start, end, direction, smallest, largest);
            self.turn(start, end, direction, shift);
        }
        self.finish();
        true
    }

    /// Returns the start of the longest block that ends in front of `end` and has no negligible element above its
    /// diagonal, and the largest absolute value in it. Sets the negligible element in front of the block, if there is
    /// one, to zero.
    fn block(&mut self, end: usize) -> (usize, f64) {
        let mut largest = self.d[end - 1].abs();
        for i in (0..end - 1).rev() {
            if self.e[i].abs() <= self.threshold {
                self.e[i] = 0.0;
                return (i + 1, largest);
            }
            largest = largest.max(self.d[i].abs()).max(self.e[i].abs());
        }
        (0, largest)
    }

    fn solve_pair(&mut self, i: usize) {
        let found = triangular(self.d[i], self.e[i], self.d[i + 1]);
        (self.d[i], self.e[i], self.d[i + 1]) = (found.large, 0.0, found.small);
        found.right.apply_to_columns(&mut self.v, i);
        found.left.apply_to_columns(&mut self.u, i);
    }

    /// Returns an estimate of the smallest singular value of a block, which differs from it by a factor of at most the
    /// square root of the number of rows. If it finds a negligible element above the diagonal, sets it to zero and
    /// returns `None`.
    fn smallest(&mut self, start: usize, end: usize, direction: Direction) -> Option<f64> {
        let last = end - 2;
        let (edge, diagonal) = match direction {
            Direction::Down => (last, self.d[end - 1]),
            Direction::Up => (start, self.d[start]),
        };
        if self.e[edge].abs() <= self.tolerance * diagonal.abs() {
            self.e[edge] = 0.0;
            return None;
        }
        let first = if direction == Direction::Down { start } else { end - 1 };
        let mut mu = self.d[first].abs();
        let mut smallest = mu;
        for step in 0..end - 1 - start {
            let (i, next) = match direction {
                Direction::Down => (start + step, start + step + 1),
                Direction::Up => (last - step, last - step),
            };
            if self.e[i].abs() <= self.tolerance * mu {
                self.e[i] = 0.0;
                return None;
            }
            mu = self.d[next].abs() * (mu / (mu + self.e[i].abs()));
            smallest = smallest.min(mu);
        }
        Some(smallest)
    }

    /// Returns the shift of an iteration. It is 0 if another shift would make small singular values inexact, or if it
    /// would be negligible.
    fn shift(&self, start: usize, end: usize, direction: Direction, smallest: f64, largest: f64) -> f64 {
        let n = self.d.len() as f64;
        if n * self.tolerance * (smallest / largest) <= EPS.max(0.01 * self.tolerance) {
            return 0.0;
        }
        let (edge, i) = match direction {
            Direction::Down => (self.d[start].abs(), end - 2),
            Direction::Up => (self.d[end - 1].abs(), start),
        };
        let [shift, _] = triangular_values(self.d[i], self.e[i], self.d[i + 1]);
        let ratio = shift / edge;
        if edge > 0.0 && ratio * ratio < EPS { 0.0 } else { shift }
    }

    fn turn(&mut self, start: usize, end: usize, direction: Direction, shift: f64) {
        match (direction, shift == 0.0) {
            (Direction::Down, true) => self.plain_down(start, end),
            (Direction::Up, true) => self.plain_up(start, end),
            (Direction::Down, false) => self.shifted_down(start, end, shift),
            (Direction::Up, false) => self.shifted_up(start, end, shift),
        }
        let edge = if direction == Direction::Down { end - 2 } else { start };
        if self.e[edge].abs() <= self.threshold {
            self.e[edge] = 0.0;
        }
    }

    fn plain_down(&mut self, start: usize, end: usize) {
        let (mut first, mut second) = (Rotation { c: 1.0, s: 0.0 }, Rotation { c: 1.0, s: 0.0 });
        for i in start..end - 1 {
            let (rotation, r) = Rotation::onto_first(self.d[i] * first.c, self.e[i]);
            first = rotation;
            if i > start {
                self.e[i - 1] = second.s * r;
            }
            (second, self.d[i]) = Rotation::onto_first(second.c * r, self.d[i + 1] * first.s);
            first.apply_to_columns(&mut self.v, i);
            second.apply_to_columns(&mut self.u, i);
        }
        let h = self.d[end - 1] * first.c;
        self.d[end - 1] = h * second.c;
        self.e[end - 2] = h * second.s;
    }

    fn plain_up(&mut self, start: usize, end: usize) {
        let (mut first, mut second) = (Rotation { c: 1.0, s: 0.0 }, Rotation { c: 1.0, s: 0.0 });
        for i in (start + 1..end).rev() {
            let (rotation, r) = Rotation::onto_first(self.d[i] * first.c, self.e[i - 1]);
            first = rotation;
            if i + 1 < end {
                self.e[i] = second.s * r;
            }
            (second, self.d[i]) = Rotation::onto_first(second.c * r, self.d[i - 1] * first.s);
            second.inverse().apply_to_columns(&mut self.v, i - 1);
            first.inverse().apply_to_columns(&mut self.u, i - 1);
        }
        let h = self.d[start] * first.c;
        self.d[start] = h * second.c;
        self.e[start] = h * second.s;
    }

    fn shifted_down(&mut self, start: usize, end: usize, shift: f64) {
        let d = self.d[start];
        let mut f = (d.abs() - shift) * (1f64.copysign(d) + shift / d);
        let mut g = self.e[start];
        for i in start..end - 1 {
            let (right, r) = Rotation::onto_first(f, g);
            if i > start {
                self.e[i - 1] = r;
            }
            [f, self.e[i]] = right.of(self.d[i], self.e[i]);
            [self.d[i + 1], g] = [right.c * self.d[i + 1], right.s * self.d[i + 1]];
            let (left, r) = Rotation::onto_first(f, g);
            self.d[i] = r;
            [f, self.d[i + 1]] = left.of(self.e[i], self.d[i + 1]);
            if i + 2 < end {
                [self.e[i + 1], g] = [left.c * self.e[i + 1], left.s * self.e[i + 1]];
            }
            right.apply_to_columns(&mut self.v, i);
            left.apply_to_columns(&mut self.u, i);
        }
        self.e[end - 2] = f;
    }

    fn shifted_up(&mut self, start: usize, end: usize, shift: f64) {
        let d = self.d[end - 1];
        let mut f = (d.abs() - shift) * (1f64.copysign(d) + shift / d);
        let mut g = self.e[end - 2];
        for i in (start + 1..end).rev() {
            let (left, r) = Rotation::onto_first(f, g);
            if i + 1 < end {
                self.e[i] = r;
            }
            [f, self.e[i - 1]] = left.of(self.d[i], self.e[i - 1]);
            [self.d[i - 1], g] = [left.c * self.d[i - 1], left.s * self.d[i - 1]];
            let (right, r) = Rotation::onto_first(f, g);
            self.d[i] = r;
            [f, self.d[i - 1]] = right.of(self.e[i - 1], self.d[i - 1]);
            if i > start + 1 {
                [self.e[i - 2], g] = [right.c * self.e[i - 2], right.s * self.e[i - 2]];
            }
            right.inverse().apply_to_columns(&mut self.v, i - 1);
            left.inverse().apply_to_columns(&mut self.u, i - 1);
        }
        self.e[start] = f;
    }

    /// Makes negative singular values positive and sorts all, largest first, with their vectors.
    fn finish(&mut self) {
        let n = self.d.len();
        for i in 0..n {
            if self.d[i] < 0.0 || self.d[i].to_bits() == (-0f64).to_bits() {
                self.d[i] = -self.d[i];
                self.v.column_mut(i).iter_mut().for_each(|x| *x = -*x);
            }
        }
        for end in (1..n).rev() {
            let least = (0..=end).fold(0, |k, j| if self.d[j] <= self.d[k] { j } else { k });
            self.d.swap(least, end);
            self.u.swap_columns(least, end);
            self.v.swap_columns(least, end);
        }
    }
}
