//! Hessenberg form: zeros below the first diagonal under the main one.

use crate::reflector::{reflect_columns, reflect_rows, reflector};
use crate::{Matrix, Scalar, make_q};
use shardwise_base::Data;
use shardwise_base::budget::Meter;

/// Overwrites a square matrix with `H` and the vectors of the reflectors whose product is `Q`, where `A = Q H Q^H`. The
/// matrix is triangular outside of rows and columns `low..high`. Returns `n - 1` scalars of reflectors, which are zero
/// outside of these. (`gehrd`)
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
        let mut copy: Data<T> = Data::zeroed(v.len());
        copy.copy_from_slice(v);
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
    let element = |i: usize, j: usize| {
        if i == 0 || j == 0 { if i == j { T::ONE } else { T::ZERO } } else { inner[(i - 1, j - 1)] }
    };
    Matrix::from_fn(n, n, element)
}
