//! Diagonals and triangles of matrices.
//!
//! Diagonal 0 is the main one. Positive numbers count from it to the right, and negative ones count downwards.

use crate::array::Array;
use crate::eager::call;
use crate::explicit::decided;
use crate::ops::{Checked, Kinds, Site, site};
use crate::shape::position_dtype;
use crate::{hlo, mistakes};
use shardwise_ir::TensorType;

/// Returns a mask of this shape, whose last two dimensions are matrices: true where the number of the row plus `k`
/// compares with that of the column as `direction` says.
pub(crate) fn mask(shape: &[usize], direction: &str, k: isize) -> Array {
    let n = shape.len();
    let (rows, columns) = (shape[n - 2], shape[n - 1]);
    // All diagonals beyond a corner are outside of the matrix, so `k` is limited, and the sums below fit the dtype.
    let (down, right) = (k.min(0).unsigned_abs().min(rows), k.max(0).unsigned_abs().min(columns));
    let ty = TensorType::new(position_dtype(rows.saturating_add(columns)), shape);
    let (row, column) = (hlo::iota(ty.clone(), n - 2), hlo::iota(ty, n - 1));
    let shifted = |x: Array, by: usize| if by == 0 { x } else { x + by };
    hlo::compare(direction, &shifted(row, right), &shifted(column, down))
}

/// Checks that `x` has at least two dimensions.
///
/// Errors: `dimension`.
fn has_matrices(s: &Site<'_>, x: &Array) -> Checked<()> {
    s.dim(x, -2).map(|_| ())
}

impl Array {
    /// Returns the matrices of the last two dimensions with zeros above the `k`-th diagonal. Diagonal 0 is the main
    /// one, positive numbers count from it to the right, and negative ones count downwards.
    ///
    /// # Errors
    ///
    /// - `dimension` if there are fewer than two dimensions.
    /// - `dtype-kind` if the dtype can only be stored.
    /// - `too-large` if an array of positions, which is computed for the result, would have 2^59 bytes or more, where a
    ///   size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.tril(0).to_vec2::<i32>()?, [[1, 0, 0], [4, 5, 0]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn tril(&self, k: isize) -> Array {
        triangle("tril", self, "GE", k)
    }

    /// Returns the matrices of the last two dimensions with zeros below the `k`-th diagonal. Diagonals are numbered as
    /// in [`Array::tril`].
    ///
    /// # Errors
    ///
    /// - `dimension` if there are fewer than two dimensions.
    /// - `dtype-kind` if the dtype can only be stored.
    /// - `too-large` if an array of positions, which is computed for the result, would have 2^59 bytes or more, where a
    ///   size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[[1, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.triu(1).to_vec2::<i32>()?, [[0, 2, 3], [0, 0, 6]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn triu(&self, k: isize) -> Array {
        triangle("triu", self, "LE", k)
    }

    /// Returns the matrix whose `k`-th diagonal is this vector and whose other elements are 0, or the `k`-th diagonal
    /// of this matrix. Diagonals are numbered as in [`Array::tril`]. One that does not exist is empty.
    /// [`Array::diagonal`] also takes batches of matrices.
    ///
    /// # Shapes
    ///
    /// `f32[n] -> f32[n + |k|, n + |k|]`, or `f32[m, n] -> f32[d]`, where `d` is the length of the diagonal: for `k` 0,
    /// the smaller of `m` and `n`.
    ///
    /// # Errors
    ///
    /// - `diag-rank` unless there are one or two dimensions.
    /// - `dtype-kind` if the dtype can only be stored.
    /// - `too-large` if the matrix, or an array of positions, which is computed for the result, would have 2^59 bytes or
    ///   more, where a size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[1, 2]).diag(1);
    /// assert_eq!(x.to_vec2::<i32>()?, [[0, 1, 0], [0, 0, 2], [0, 0, 0]]);
    /// assert_eq!(x.diag(1).to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn diag(&self, k: isize) -> Array {
        site("diag", &[self], |s| {
            s.has(self, Kinds::Any)?;
            match self.tensor().rank() {
                1 => {
                    let shape = [self.tensor().shape[0].saturating_add(k.unsigned_abs()); 2];
                    s.fits(&TensorType::new(self.tensor().dtype, shape))?;
                    Ok(call(decided("diag"), k, [self], |[x]| with_diagonal(x, k)))
                }
                2 => Ok(call(decided("diag"), k, [self], |[x]| diagonals(x, k))),
                _ => {
                    let message = "`diag` needs a vector or a matrix".to_string();
                    let help = "use `.diagonal(k)` for the diagonals of a batch of matrices";
                    s.fail(None, mistakes::with_facts("diag-rank", message, self.short_type(), help, &s.loc))
                }
            }
        })
    }

    /// Returns the `k`-th diagonals of the matrices in the last two dimensions. Diagonals are numbered as in
    /// [`Array::tril`]. One that does not exist is empty.
    ///
    /// # Shapes
    ///
    /// `f32[.., m, n] -> f32[.., d]`, where `d` is the length of the diagonal: for `k` 0, the smaller of `m` and `n`.
    ///
    /// # Errors
    ///
    /// - `dimension` if there are fewer than two dimensions.
    /// - `dtype-kind` if the dtype can only be stored.
    /// - `too-large` if an array of positions, which is computed for the result, would have 2^59 bytes or more, where a
    ///   size of 0 counts as 1.
    #[track_caller]
    pub fn diagonal(&self, k: isize) -> Array {
        site("diagonal", &[self], |s| {
            has_matrices(s, self)?;
            s.has(self, Kinds::Any)?;
            Ok(call(decided("diagonal"), k, [self], |[x]| diagonals(x, k)))
        })
    }
}

#[track_caller]
fn triangle(name: &'static str, x: &Array, direction: &'static str, k: isize) -> Array {
    site(name, &[x], |s| {
        has_matrices(s, x)?;
        s.has(x, Kinds::Any)?;
        Ok(call(name, k, [x], |[x]| {
            let ty = x.tensor();
            hlo::select(&mask(&ty.shape, direction, k), x, &hlo::zeros(ty))
        }))
    })
}

/// Returns the square matrix whose `k`-th diagonal is the vector `x`.
fn with_diagonal(x: &Array, k: isize) -> Array {
    let before = k.min(0).unsigned_abs();
    let size = x.tensor().shape[0] + k.unsigned_abs();
    let zero = hlo::zeros(&TensorType::scalar(x.tensor().dtype));
    // The element of row `i` is `x[i - before]`.
    let of_row = hlo::pad(x, &zero, &[(before, k.max(0).unsigned_abs())]);
    let of_row = hlo::broadcast_in_dim(&of_row, &[size, size], &[0]);
    hlo::select(&mask(&[size, size], "EQ", k), &of_row, &hlo::zeros(of_row.tensor()))
}

/// Returns the `k`-th diagonals of matrices. They are the main diagonals of square matrices, which are cut out. In
/// these, all other elements are set to 0, and then the columns are combined. So each device reads only what it has.
pub(crate) fn diagonals(x: &Array, k: isize) -> Array {
    let ty = x.tensor();
    let n = ty.rank();
    let skip = [k.min(0).unsigned_abs().min(ty.shape[n - 2]), k.max(0).unsigned_abs().min(ty.shape[n - 1])];
    let length = (ty.shape[n - 2] - skip[0]).min(ty.shape[n - 1] - skip[1]);
    let (mut start, mut limit) = (vec![0; n], ty.shape.clone());
    for (dim, skip) in [n - 2, n - 1].into_iter().zip(skip) {
        (start[dim], limit[dim]) = (skip, skip + length);
    }
    let square = hlo::slice(x, &start, &limit, &vec![1; n]);
    main_diagonals(&square)
}

/// Returns the main diagonals of square matrices.
fn main_diagonals(x: &Array) -> Array {
    let ty = x.tensor();
    let n = ty.rank();
    let kept = hlo::select(&mask(&ty.shape, "EQ", 0), x, &hlo::zeros(ty));
    if ty.dtype.is_bool() { kept.any(n - 1) } else { kept.sum(n - 1) }
}
