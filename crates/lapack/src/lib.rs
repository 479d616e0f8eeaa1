//! Decompositions of dense matrices: one matrix at a time, in 64 bits, with LAPACK's conventions.
//!
//! Each function computes what the LAPACK routine in its documentation computes: the same packed results, signs and
//! pivots. `info` is 0 if the routine succeeds. The algorithms are the unblocked ones of the references below. Results
//! are functions of the elements alone: all sums have a fixed order, and nothing depends on the processor. So all
//! engines that call this crate agree bit for bit. LAPACK divides large problems (`syevd` and `gesdd` of more than 25
//! rows), so the signs of their vectors may differ from LAPACK's. LAPACK also balances a matrix before it computes a
//! Schur form or eigenvectors, and no function here does.
//!
//! Elements that are NaN or infinite never lead to an endless loop: every iteration has a bound, after which `info`
//! says that it failed.
//!
//! ```
//! use shardwise_lapack::{Matrix, Triangle, cholesky};
//! let mut a = Matrix::from_fn(2, 2, |i, j| [[4.0, 2.0], [2.0, 5.0]][i][j]);
//! assert_eq!(cholesky(&mut a, Triangle::Lower), 0);
//! assert_eq!([a[(0, 0)], a[(1, 0)], a[(1, 1)]], [2.0, 1.0, 2.0]);
//! ```
//!
//! Sources: Anderson et al., *LAPACK Users' Guide*, 3rd edition; Golub and Van Loan, *Matrix Computations*, 4th
//! edition; Demmel and Kahan, *Accurate singular values of bidiagonal matrices*, 1990; Ahues and Tisseur, *A new
//! deflation criterion for the QR algorithm*, 1997.
#![forbid(unsafe_code)]

mod bidiagonal;
mod eigenvectors;
mod hessenberg;
mod matrix;
mod reflector;
mod rotation;
mod scalar;
mod schur;
mod schur_complex;
mod schur_real;
mod solve;
mod svd;
mod symmetric;
#[cfg(test)]
mod testing;
mod triangular;
mod tridiagonal;

pub use eigenvectors::{Eigen, eigen};
pub use hessenberg::hessenberg;
pub use matrix::Matrix;
pub use reflector::{Side, apply_q, make_q, pivoted_qr, qr};
pub use scalar::Scalar;
pub use schur::{Schur, SchurScalar, schur};
pub use solve::{lu, solve_tridiagonal};
pub use svd::{Svd, Vectors, svd};
pub use symmetric::eigh;
pub use triangular::{Form, System, Triangle, cholesky, solve_triangular};
pub use tridiagonal::{Tridiagonal, tridiagonal};
