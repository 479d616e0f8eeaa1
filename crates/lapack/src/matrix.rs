//! Matrices whose columns are contiguous.

use crate::Scalar;
use shardwise_base::Data;
use std::ops::{Index, IndexMut, Range};

/// A dense matrix. Element (i, j) is element `j * rows + i` of its data, as in LAPACK.
#[derive(Debug, PartialEq)]
pub struct Matrix<T> {
    rows: usize,
    columns: usize,
    data: Data<T>,
}

impl<T: Scalar> Clone for Matrix<T> {
    fn clone(&self) -> Matrix<T> {
        Matrix { rows: self.rows, columns: self.columns, data: self.data.clone() }
    }
}

impl<T: Scalar> Matrix<T> {
    pub fn zeros(rows: usize, columns: usize) -> Matrix<T> {
        Matrix { rows, columns, data: Data::zeroed(rows * columns) }
    }

    /// Returns the matrix with ones on the diagonal and zeros elsewhere.
    pub fn identity(rows: usize, columns: usize) -> Matrix<T> {
        let mut out = Matrix::zeros(rows, columns);
        (0..rows.min(columns)).for_each(|i| out[(i, i)] = T::ONE);
        out
    }

    /// Returns the matrix whose element (i, j) is `element(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, element: impl Fn(usize, usize) -> T) -> Matrix<T> {
        let mut out = Matrix::zeros(rows, columns);
        for j in 0..columns {
            out.column_mut(j).iter_mut().enumerate().for_each(|(i, x)| *x = element(i, j));
        }
        out
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the elements, column by column.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    pub(crate) fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    pub fn column(&self, j: usize) -> &[T] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    pub fn column_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Returns the elements of all columns before column `j`, and those of column `j`.
    pub(crate) fn before(&mut self, j: usize) -> (&[T], &mut [T]) {
        let (left, right) = self.data.split_at_mut(j * self.rows);
        (left, &mut right[..self.rows])
    }

    /// Returns the elements of column `j`, and those of all columns behind it.
    pub(crate) fn behind(&mut self, j: usize) -> (&mut [T], &mut [T]) {
        let rows = self.rows;
        self.data[j * rows..].split_at_mut(rows)
    }

    /// Returns columns `i` and `j`. Panics unless `i < j`, and if there is no column `j`.
    pub(crate) fn pair(&mut self, i: usize, j: usize) -> (&mut [T], &mut [T]) {
        assert!(i < j, "columns in order");
        let rows = self.rows;
        let (left, right) = self.data.split_at_mut(j * rows);
        (&mut left[i * rows..(i + 1) * rows], &mut right[..rows])
    }

    pub(crate) fn swap_columns(&mut self, i: usize, j: usize) {
        if i != j {
            let (a, b) = self.pair(i.min(j), i.max(j));
            a.swap_with_slice(b);
        }
    }

    pub(crate) fn swap_rows(&mut self, i: usize, k: usize, columns: Range<usize>) {
        if i != k {
            columns.for_each(|j| self.column_mut(j).swap(i, k));
        }
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }

    /// Returns the conjugate transpose.
    pub fn adjoint(&self) -> Matrix<T> {
        Matrix::from_fn(self.columns, self.rows, |i, j| self[(j, i)].conj())
    }
}

impl<T: Scalar> Index<(usize, usize)> for Matrix<T> {
    type Output = T;

    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[j * self.rows + i]
    }
}

impl<T: Scalar> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[j * self.rows + i]
    }
}
