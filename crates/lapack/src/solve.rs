//! LU factors with pivots, and systems with tridiagonal matrices.

use crate::scalar::add_scaled;
use crate::{Matrix, Scalar};
use shardwise_base::budget::Meter;

/// Overwrites a matrix with its factors `P A = L U`. `L` has ones on its diagonal, which are not stored. Returns the
/// pivots, and `info`. Row `i` was exchanged with row `pivots[i] - 1`, in order. `info` is 0, or the number of the
/// first column whose pivot is zero, from 1. (`getrf`)
pub fn lu<T: Scalar>(a: &mut Matrix<T>) -> (Vec<i32>, i32) {
    let (m, n, mut meter) = (a.rows(), a.columns(), Meter::default());
    let (mut pivots, mut info) = (vec![], 0);
    for j in 0..n {
        meter.add((m * j.min(m)) as u64);
        eliminate(a, j, &pivots);
        if j >= m {
            continue;
        }
        let pivot = largest(&a.column(j)[j..]) + j;
        pivots.push(pivot as i32 + 1);
        a.swap_rows(j, pivot, 0..j + 1);
        let column = a.column_mut(j);
        let value = column[j];
        if value != T::ZERO {
            column[j + 1..].iter_mut().for_each(|x| *x = x.over(value));
        } else if info == 0 {
            info = j as i32 + 1;
        }
    }
    (pivots, info)
}

/// Applies the exchanges and the eliminations of the columns before column `j` to it.
fn eliminate<T: Scalar>(a: &mut Matrix<T>, j: usize, pivots: &[i32]) {
    let m = a.rows();
    let (before, column) = a.before(j);
    for (i, &pivot) in pivots.iter().enumerate() {
        column.swap(i, pivot as usize - 1);
    }
    for (k, factors) in before.chunks_exact(m.max(1)).enumerate().take(pivots.len()) {
        let value = column[k];
        add_scaled(&mut column[k + 1..], -value, &factors[k + 1..]);
    }
}

/// Returns the position of the first element with the largest [`Scalar::abs1`]. NaN counts as the largest in position
/// 0, and as the smallest elsewhere.
fn largest<T: Scalar>(x: &[T]) -> usize {
    let mut best = 0;
    for i in 1..x.len() {
        if x[i].abs1() > x[best].abs1() {
            best = i;
        }
    }
    best
}

/// Solves systems with a tridiagonal matrix by elimination with pivots. Element `i` of `lower` is left of `diagonal[i]`
/// for `i` from 1 on, and that of `upper` is right of it. The vectors are overwritten with the factor `U`: its diagonal
/// in `diagonal`, and the two diagonals above it in `upper` and `lower[1..]`. `b` becomes the solution. Returns `info`:
/// 0, or the number of the first pivot that is zero, from 1. If a pivot is zero, `U` is not complete and `b` is not the
/// solution. (`gtsv`)
pub fn solve_tridiagonal<T: Scalar>(lower: &mut [T], diagonal: &mut [T], upper: &mut [T], b: &mut Matrix<T>) -> i32 {
    let (n, mut meter) = (diagonal.len(), Meter::default());
    for k in 0..n.saturating_sub(1) {
        meter.add(b.columns() as u64);
        let below = lower[k + 1];
        if diagonal[k].abs1() >= below.abs1() {
            if diagonal[k] == T::ZERO {
                return k as i32 + 1;
            }
            let factor = below.over(diagonal[k]);
            let product = factor * upper[k];
            diagonal[k + 1] -= product;
            (0..b.columns()).for_each(|j| subtract_row(b.column_mut(j), factor, k));
            lower[k + 1] = T::ZERO;
            continue;
        }
        let factor = diagonal[k].over(below);
        diagonal[k] = below;
        let next = diagonal[k + 1];
        diagonal[k + 1] = upper[k] - factor * next;
        lower[k + 1] = T::ZERO;
        if k + 2 < n {
            lower[k + 1] = upper[k + 1];
            upper[k + 1] = -(factor * upper[k + 1]);
        }
        upper[k] = next;
        (0..b.columns()).for_each(|j| {
            let x = b.column_mut(j);
            x.swap(k, k + 1);
            subtract_row(x, factor, k);
        });
    }
    if n > 0 && diagonal[n - 1] == T::ZERO {
        return n as i32;
    }
    (0..b.columns()).for_each(|j| substitute_back(lower, diagonal, upper, b.column_mut(j)));
    0
}

fn subtract_row<T: Scalar>(x: &mut [T], factor: T, k: usize) {
    let product = factor * x[k];
    x[k + 1] -= product;
}

/// Solves a system whose matrix has two diagonals above the main one. Row `k` has `diagonal[k]`, `first[k]` to the
/// right of it, and then `second[k + 1]`: `second[0]` is not used. `x` is the right-hand side and becomes the solution.
/// No element of `diagonal` may be zero.
fn substitute_back<T: Scalar>(second: &[T], diagonal: &[T], first: &[T], x: &mut [T]) {
    for k in (0..x.len()).rev() {
        let mut value = x[k];
        if k + 1 < x.len() {
            value -= first[k] * x[k + 1];
        }
        if k + 2 < x.len() {
            value -= second[k + 1] * x[k + 2];
        }
        x[k] = value.over(diagonal[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, product, random, upper};
    use shardwise_base::Complex64;

    fn factors_multiply<T: Scalar>(m: usize, n: usize) {
        let a: Matrix<T> = random(m, n, 11);
        let mut packed = a.clone();
        let (pivots, info) = lu(&mut packed);
        assert_eq!((info, pivots.len()), (0, m.min(n)));
        let k = m.min(n);
        let l = Matrix::from_fn(m, k, |i, j| {
            if i == j {
                T::ONE
            } else if i > j {
                packed[(i, j)]
            } else {
                T::ZERO
            }
        });
        let u = Matrix::from_fn(k, n, |i, j| upper(&packed)[(i, j)]);
        let mut permuted = a.clone();
        pivots.iter().enumerate().for_each(|(i, &p)| permuted.swap_rows(i, p as usize - 1, 0..n));
        assert_near(&product(&l, &u), &permuted, "L U = P A");
        assert!(l.data().iter().all(|x| x.abs1() <= 1.5), "pivots are the largest");
    }

    #[test]
    fn lu_factors_multiply() {
        for (m, n) in [(1, 1), (4, 4), (6, 3), (3, 6), (0, 2), (2, 0)] {
            factors_multiply::<f64>(m, n);
            factors_multiply::<Complex64>(m, n);
        }
    }

    #[test]
    fn pivots_count_from_one_and_singular_columns_are_reported() {
        let mut a = Matrix::from_fn(2, 2, |i, j| [[1.0, 2.0], [4.0, 8.0]][i][j]);
        assert_eq!(lu(&mut a), (vec![2, 2], 2));
        assert_eq!(a.data(), [4.0, 0.25, 8.0, 0.0]);
        let mut nan = Matrix::from_fn(3, 3, |_, _| f64::NAN);
        assert_eq!(lu(&mut nan).0, [1, 2, 3]);
    }

    fn tridiagonal_systems<T: Scalar>(n: usize, seed: u64) {
        let d: Matrix<T> = random(n, 3, seed);
        let x: Matrix<T> = random(n, 2, seed + 1);
        let a = Matrix::from_fn(n, n, |i, j| match (i, j) {
            _ if i == j => d[(i, 1)],
            _ if i == j + 1 => d[(i, 0)],
            _ if j == i + 1 => d[(i, 2)],
            _ => T::ZERO,
        });
        let mut b = product(&a, &x);
        let [mut lower, mut diagonal, mut upper] = [0, 1, 2].map(|j| d.column(j).to_vec());
        assert_eq!(solve_tridiagonal(&mut lower, &mut diagonal, &mut upper, &mut b), 0);
        assert_near(&b, &x, "the solution");
    }

    #[test]
    fn tridiagonal_systems_are_solved() {
        for n in [0, 1, 2, 3, 8] {
            tridiagonal_systems::<f64>(n, 20 + n as u64);
            tridiagonal_systems::<Complex64>(n, 40 + n as u64);
        }
        let mut b = Matrix::from_fn(2, 1, |_, _| 1.0);
        assert_eq!(solve_tridiagonal(&mut [0.0, 2.0], &mut [1.0, 4.0], &mut [2.0, 0.0], &mut b), 2);
    }
}
