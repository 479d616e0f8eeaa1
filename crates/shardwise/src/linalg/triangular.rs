//! Systems with triangular matrices.

use super::{column, many, system, triangular};
use crate::Array;
use crate::ops::AsArray;

/// The form of the matrices for [`solve_triangular`]: `Triangular::lower().unit_diagonal()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "pass the form to `solve_triangular`"]
pub struct Triangular {
    is_lower: bool,
    is_unit: bool,
    is_transposed: bool,
}

impl Triangular {
    /// Returns the form of lower triangular matrices. Elements above the diagonal are not read.
    pub fn lower() -> Triangular {
        Triangular { is_lower: true, is_unit: false, is_transposed: false }
    }

    /// Returns the form of upper triangular matrices. Elements below the diagonal are not read.
    pub fn upper() -> Triangular {
        Triangular { is_lower: false, ..Triangular::lower() }
    }

    /// Takes the elements on the diagonal to be 1. They are not read.
    pub fn unit_diagonal(self) -> Triangular {
        Triangular { is_unit: true, ..self }
    }

    /// Solves the systems of the transposed matrices.
    pub fn transposed(self) -> Triangular {
        Triangular { is_transposed: true, ..self }
    }
}

/// Returns the solutions `x` of the systems `a x = b`, whose matrices are triangular. `b` has matrices of right-hand
/// sides, or is one vector.
///
/// # Shapes
///
/// `f32[.., n, n], f32[.., n, k] -> f32[.., n, k]`, or `f32[n, n], f32[n] -> f32[n]`. Both have the same batch. If `b`
/// is a vector, it is that of all matrices.
///
/// # Errors
///
/// - `linalg-shape` unless the matrices are square and their sizes are those of `b`.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
/// - `dtype-mixed` if the dtypes differ.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linalg::{self, Triangular};
/// # fn main() -> Result<()> {
/// let a = array(&[[2.0f32, 0.0], [1.0, 4.0]]);
/// let x = linalg::solve_triangular(a, array(&[2.0f32, 9.0]), Triangular::lower());
/// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn solve_triangular(a: impl AsArray, b: impl AsArray, form: Triangular) -> Array {
    let (a, b) = (a.as_array(), b.as_array());
    let check = |s: &crate::ops::Site<'_>| system(s, a, b);
    let [x] = many("solve_triangular", &[a, b], [2], form, check, |x| [solution(&x[0], &x[1], form)]);
    x
}

fn solution(a: &Array, b: &Array, form: Triangular) -> Array {
    // Without the other triangle, derivatives do not depend on it either.
    let a = if form.is_lower { a.tril(0) } else { a.triu(0) };
    let (a, is_lower) = if form.is_transposed { (a.t(), !form.is_lower) } else { (a, form.is_lower) };
    if b.tensor().rank() > 1 {
        return triangular(&a, b, true, is_lower, form.is_unit);
    }
    let shape = &a.tensor().shape;
    let sides = column(&b.broadcast_to(&shape[..shape.len() - 1]));
    triangular(&a, &sides, true, is_lower, form.is_unit).squeeze(-1)
}
