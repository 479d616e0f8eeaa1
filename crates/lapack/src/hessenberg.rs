//! Hessenberg form, which has zeros below the first diagonal under the main one, and what the QR iterations on real and
//! on complex matrices of this form have in common.

use crate::reflector::{reflect_columns, reflect_rows, reflector};
use crate::scalar::{copied, unit};
use crate::{Matrix, Scalar, make_q};
use shardwise_base::budget::Meter;

/// Overwrites a square matrix with `H` and the vectors of the reflectors whose product is `Q`, where `A = Q H Q^H`. The
/// matrix must be upper triangular outside of rows and columns `low..high`, where `high` is at most the number of rows.
/// Returns the scalar of a reflector for each row but the last. The scalars of rows outside of `low..high - 1` are
/// zero. (`gehrd`)
pub fn hessenberg<T: Scalar>(a: &mut Matrix<T>, low: usize, high: usize) -> Vec<T> {
    let (n, mut meter) = (a.rows(), Meter::default());
    let mut taus = vec![T::ZERO; n.saturating_sub(1)];
    for i in low..high.saturating_sub(1).min(n.saturating_sub(1)) {
        meter.add(4 * (n * (high - i)) as u64);
        let (head, rest) = a.column_mut(i).split_at_mut(i + 2);
        let v = &mut rest[..high - i - 2];
        let (beta, tau) = reflector(head[i + 1], v);
        head[i + 1] = T::of(beta, 0.0);
        taus[i] = tau;
        // From the right first, as LAPACK does. The vector is copied, because it is a part of the matrix.
        let copy = copied(v);
        reflect_columns(&copy, tau, a, i + 1, 0..high);
        let (_, behind) = a.behind(i);
        reflect_rows(&copy, tau.conj(), behind, n, i + 1);
    }
    taus
}

/// Returns the product of the reflectors that [`hessenberg`] or [`tridiagonal`](crate::tridiagonal) leaves below the
/// diagonal. (`orghr`, and `orgtr` for the lower triangle)
pub(crate) fn shifted_q<T: Scalar>(a: &Matrix<T>, taus: &[T]) -> Matrix<T> {
    let n = a.rows();
    let mut inner = Matrix::from_fn(n.saturating_sub(1), n.saturating_sub(1), |i, j| a[(i + 1, j)]);
    make_q(&mut inner, taus);
    Matrix::from_fn(n, n, |i, j| if i == 0 || j == 0 { unit(i, j) } else { inner[(i - 1, j - 1)] })
}

/// The distance of the turns of the QR iteration that have a made-up shift, because the ordinary shifts may make no
/// progress. Turns are counted from the last eigenvalues that were found.
pub(crate) const EXCEPTIONAL: usize = 10;

/// Returns the number of turns that the QR iteration on a matrix of `n` rows may take to find the next eigenvalue.
pub(crate) fn max_iterations(n: usize) -> usize {
    30 * n.max(10)
}

/// Returns the first row of the block that ends in front of `end` and has no negligible element below its diagonal.
/// Sets the negligible element left of this row, if there is one, to zero.
pub(crate) fn separate_block<T: Scalar>(h: &mut Matrix<T>, end: usize) -> usize {
    let start = (1..end).rev().find(|&k| is_negligible(h, k, end)).unwrap_or(0);
    if start > 0 {
        h[(start, start - 1)] = T::ZERO;
    }
    start
}

/// Returns true if `h[(k, k - 1)]`, an element below the diagonal, is negligible. Rows from `end` on are not read.
fn is_negligible<T: Scalar>(h: &Matrix<T>, k: usize, end: usize) -> bool {
    let small = f64::MIN_POSITIVE * (h.rows() as f64 / f64::EPSILON);
    let below = h[(k, k - 1)].abs1();
    if below <= small {
        return true;
    }
    let mut size = h[(k - 1, k - 1)].abs1() + h[(k, k)].abs1();
    if size == 0.0 {
        size += if k >= 2 { h[(k - 1, k - 2)].abs1() } else { 0.0 };
        size += if k + 1 < end { h[(k + 1, k)].abs1() } else { 0.0 };
    }
    if below > f64::EPSILON * size {
        return false;
    }
    let above = h[(k - 1, k)].abs1();
    let difference = (h[(k - 1, k - 1)] - h[(k, k)]).abs1();
    let (ab, ba) = (below.max(above), below.min(above));
    let (aa, bb) = (h[(k, k)].abs1().max(difference), h[(k, k)].abs1().min(difference));
    let s = aa + ab;
    ba * (ab / s) <= small.max(f64::EPSILON * (bb * (aa / s)))
}
