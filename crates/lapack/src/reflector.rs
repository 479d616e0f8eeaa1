//! Householder reflectors `I - tau v v^H`, in which the first element of `v` is 1, and the factors `Q R` made of them.

use crate::scalar::{add_scaled, copied, dot, hypot, norm};
use crate::{Matrix, Scalar};
use shardwise_base::budget::Meter;
use std::ops::Range;

/// Computes the reflector `H` for which `H^H [alpha, x]` is `[beta, 0]`. Returns `beta` and `tau`, and overwrites `x`
/// with the elements of `v` behind the first. If all of `x` is zero and `alpha` is real, `tau` is 0. (`larfg`)
pub(crate) fn reflector<T: Scalar>(alpha: T, x: &mut [T]) -> (f64, T) {
    let rest = norm(x);
    if rest == 0.0 && alpha.im() == 0.0 {
        return (alpha.re(), T::ZERO);
    }
    let beta = -hypot(hypot(alpha.re(), alpha.im()), rest).copysign(alpha.re());
    let tau = T::of((beta - alpha.re()) / beta, -alpha.im() / beta);
    let scale = alpha - T::of(beta, 0.0);
    x.iter_mut().for_each(|x| *x = x.over(scale));
    (beta, tau)
}

/// Applies a reflector from the left to rows `row..row + 1 + v.len()` of whole columns with `rows` elements. `v` is
/// given without its first element.
pub(crate) fn reflect_rows<T: Scalar>(v: &[T], tau: T, columns: &mut [T], rows: usize, row: usize) {
    if tau == T::ZERO {
        return;
    }
    for column in columns.chunks_exact_mut(rows.max(1)) {
        let (first, rest) = (column[row], &mut column[row + 1..][..v.len()]);
        let product = tau * (first + dot(v, rest));
        add_scaled(rest, -product, v);
        column[row] = first - product;
    }
}

/// Applies a reflector from the right to columns `column..column + 1 + v.len()` of a matrix, in the given rows. `v` is
/// given without its first element.
pub(crate) fn reflect_columns<T: Scalar>(v: &[T], tau: T, a: &mut Matrix<T>, column: usize, rows: Range<usize>) {
    if tau == T::ZERO {
        return;
    }
    let mut products = copied(&a.column(column)[rows.clone()]);
    for (k, &v) in v.iter().enumerate() {
        add_scaled(&mut products, v, &a.column(column + 1 + k)[rows.clone()]);
    }
    add_scaled(&mut a.column_mut(column)[rows.clone()], -tau, &products);
    for (k, &v) in v.iter().enumerate() {
        add_scaled(&mut a.column_mut(column + 1 + k)[rows.clone()], -(tau * v.conj()), &products);
    }
}

/// Overwrites a matrix with its factors `Q R`. `R` is the upper triangle with the diagonal. The columns below it are
/// the vectors of the reflectors whose product is `Q`, without their first elements. Returns their scalars `tau`.
/// (`geqrf`)
pub fn qr<T: Scalar>(a: &mut Matrix<T>) -> Vec<T> {
    let (m, n, mut meter) = (a.rows(), a.columns(), Meter::default());
    let mut taus = vec![];
    for j in 0..m.min(n) {
        meter.add(2 * ((m - j) * (n - j)) as u64);
        taus.push(eliminate(a, j));
    }
    taus
}

/// Eliminates column `j` below the diagonal by the adjoint of a reflector, which is applied to all columns behind it
/// too. The vector of the reflector replaces the eliminated elements. Returns `tau`.
fn eliminate<T: Scalar>(a: &mut Matrix<T>, j: usize) -> T {
    let m = a.rows();
    let (column, behind) = a.behind(j);
    let (head, rest) = column.split_at_mut(j + 1);
    let (beta, tau) = reflector(head[j], rest);
    head[j] = T::of(beta, 0.0);
    reflect_rows(rest, tau.conj(), behind, m, j);
    tau
}

/// Overwrites a matrix with the factors `Q R`, as [`qr`] does, of its columns in another order. `order` has an entry
/// for each column. Columns whose entry is not 0 come first and keep their order. Behind them, the absolute values on
/// the diagonal of `R` do not increase. `order[j]` becomes the number, from 1, that column `j` of the new order had.
/// Returns the scalars of the reflectors. (`geqp3`)
pub fn pivoted_qr<T: Scalar>(a: &mut Matrix<T>, order: &mut [i32]) -> Vec<T> {
    let (m, n, mut meter) = (a.rows(), a.columns(), Meter::default());
    let count = m.min(n);
    let fixed = fixed_first(a, order).min(count);
    let mut taus = vec![];
    for j in 0..fixed {
        meter.add(2 * ((m - j) * (n - j)) as u64);
        taus.push(eliminate(a, j));
    }
    let mut norms: Vec<[f64; 2]> = (0..n).map(|k| [norm(&a.column(k)[fixed..]); 2]).collect();
    for j in fixed..count {
        meter.add(2 * ((m - j) * (n - j)) as u64);
        let pivot = (j..n).fold(j, |best, k| if norms[k][0] > norms[best][0] { k } else { best });
        a.swap_columns(j, pivot);
        order.swap(j, pivot);
        norms[pivot] = norms[j];
        taus.push(eliminate(a, j));
        (j + 1..n).for_each(|k| norms[k] = without_row(norms[k], a.column(k), j));
    }
    taus
}

/// Moves the columns whose entry in `order` is not 0 to the front, and replaces each entry by the number, from 1, that
/// the column had. Returns the number of columns whose entry was not 0.
fn fixed_first<T: Scalar>(a: &mut Matrix<T>, order: &mut [i32]) -> usize {
    let mut count = 0;
    for j in 0..order.len() {
        let is_fixed = order[j] != 0;
        order[j] = j as i32 + 1;
        if is_fixed {
            a.swap_columns(count, j);
            order.swap(count, j);
            count += 1;
        }
    }
    count
}

/// Returns the norm of a column below row `j`, and the norm that was last computed from its elements, given both norms
/// before row `j` was left out. Computes the norm from the elements where an update of the old one would be inexact.
fn without_row<T: Scalar>([current, computed]: [f64; 2], column: &[T], j: usize) -> [f64; 2] {
    if current == 0.0 {
        return [current, computed];
    }
    let part = column[j].abs() / current;
    let left = ((1.0 + part) * (1.0 - part)).max(0.0);
    let ratio = current / computed;
    if left * ratio * ratio <= f64::EPSILON.sqrt() {
        return [norm(&column[j + 1..]); 2];
    }
    [current * left.sqrt(), computed]
}

/// Overwrites the vectors of reflectors, as [`qr`] leaves them, with the first columns of the reflectors' product.
/// (`orgqr`, `ungqr`)
pub fn make_q<T: Scalar>(a: &mut Matrix<T>, taus: &[T]) {
    let (m, n, mut meter) = (a.rows(), a.columns(), Meter::default());
    for j in taus.len()..n {
        a.column_mut(j).fill(T::ZERO);
        if j < m {
            a[(j, j)] = T::ONE;
        }
    }
    for i in (0..taus.len().min(m).min(n)).rev() {
        meter.add(2 * ((m - i) * (n - i)) as u64);
        let (column, behind) = a.behind(i);
        reflect_rows(&column[i + 1..], taus[i], behind, m, i);
        column[..i].fill(T::ZERO);
        column[i] = T::ONE - taus[i];
        column[i + 1..].iter_mut().for_each(|x| *x = -(taus[i] * *x));
    }
}

/// The side from which a matrix is multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Left,
    Right,
}

/// Multiplies `c` from the given side by `Q`, or by its adjoint. `Q` is the product of the reflectors that [`qr`]
/// leaves in `a` and `taus`. (`ormqr`, `unmqr`)
pub fn apply_q<T: Scalar>(side: Side, is_adjoint: bool, a: &Matrix<T>, taus: &[T], c: &mut Matrix<T>) {
    let mut meter = Meter::default();
    let count = taus.len().min(a.rows());
    let is_first_to_last = (side == Side::Left) == is_adjoint;
    for step in 0..count {
        meter.add(2 * (c.rows() * c.columns()) as u64);
        let i = if is_first_to_last { step } else { count - 1 - step };
        let tau = if is_adjoint { taus[i].conj() } else { taus[i] };
        let v = &a.column(i)[i + 1..];
        match side {
            Side::Left => {
                let rows = c.rows();
                reflect_rows(v, tau, c.data_mut(), rows, i);
            }
            Side::Right => reflect_columns(v, tau, c, i, 0..c.rows()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, assert_unitary, product, random, upper};
    use shardwise_base::Complex64;

    fn factors_multiply<T: Scalar>(m: usize, n: usize) {
        let a: Matrix<T> = random(m, n, 7);
        let mut packed = a.clone();
        let taus = qr(&mut packed);
        let r = upper(&packed);
        let mut q = Matrix::from_fn(m, m, |i, j| if j < n { packed[(i, j)] } else { T::ZERO });
        make_q(&mut q, &taus);
        assert_unitary(&q, "Q");
        assert_near(&product(&q, &r), &a, "Q R");
        let mut c = r.clone();
        apply_q(Side::Left, false, &packed, &taus, &mut c);
        assert_near(&c, &a, "Q from the left");
        let mut c = a.adjoint();
        apply_q(Side::Right, false, &packed, &taus, &mut c);
        assert_near(&c, &r.adjoint(), "Q from the right");
        let mut c = a.clone();
        apply_q(Side::Left, true, &packed, &taus, &mut c);
        assert_near(&c, &r, "its adjoint");
    }

    #[test]
    fn qr_factors_multiply() {
        for (m, n) in [(1, 1), (3, 3), (7, 4), (4, 7), (5, 1), (1, 5), (0, 3), (3, 0)] {
            factors_multiply::<f64>(m, n);
            factors_multiply::<Complex64>(m, n);
        }
    }

    /// The first column `[3, 4]` has norm 5, so LAPACK returns -5 on the diagonal, tau 8/5 and the vector `[1, 1/2]`.
    #[test]
    fn signs_are_those_of_lapack() {
        let mut a = Matrix::from_fn(2, 2, |i, j| [[3.0, 1.0], [4.0, 2.0]][i][j]);
        let taus = qr(&mut a);
        assert_eq!(taus, [1.6, 0.0]);
        assert_eq!([a[(0, 0)], a[(1, 0)]], [-5.0, 0.5]);
        assert!((a[(0, 1)] + 2.2).abs() < 1e-15 && (a[(1, 1)] - 0.4).abs() < 1e-15, "{a:?}");
    }

    #[test]
    fn pivots_order_the_diagonal() {
        for fixed in [0, 2] {
            let a: Matrix<Complex64> = random(6, 5, 3);
            let mut packed = a.clone();
            let mut order = [0; 5];
            (0..fixed).for_each(|j| order[4 - j] = 1);
            let taus = pivoted_qr(&mut packed, &mut order);
            let sizes: Vec<f64> = (fixed..5).map(|i| Scalar::abs(packed[(i, i)])).collect();
            assert!(sizes.windows(2).all(|w| w[0] >= w[1]), "{sizes:?}");
            let mut c = upper(&packed);
            apply_q(Side::Left, false, &packed, &taus, &mut c);
            assert_near(&c, &Matrix::from_fn(6, 5, |i, j| a[(i, order[j] as usize - 1)]), "Q R = A P");
            assert!((0..fixed).all(|j| order[j] > 3), "{order:?}");
        }
    }
}
