//! Arrays that several workers write. They are divided into disjoint parts, of which each worker takes some.
#![expect(unsafe_code, reason = "columns of a matrix are apart")]

use crate::pool::{Effort, Workers, piece};
use bytemuck::Pod;
use shardwise_base::{Account, Reservation, budget};
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

impl Workers {
    /// Calls `run` once for each element of `parts`, on the workers that `effort` calls for. Returns, or unwinds, as
    /// [`Workers::run`] does.
    pub fn run_each<T: Send>(&self, parts: Vec<T>, effort: Effort, run: impl Fn(T) + Sync) {
        let parts: Vec<Mutex<Option<T>>> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        self.run(parts.len(), effort, |i| {
            let part = parts[i].lock().unwrap_or_else(PoisonError::into_inner).take();
            run(part.expect("each part is taken once"));
        });
    }
}

/// Tables of fewer bytes than this are not charged.
const UNCOUNTED: usize = 1 << 16;

/// Returns the number of bytes that are charged for a table of `count` elements of `T`, which is 0 for a table of less
/// than 64 KiB.
pub(crate) fn table_bytes<T>(count: usize) -> usize {
    let bytes = count.saturating_mul(size_of::<T>());
    if bytes < UNCOUNTED { 0 } else { bytes }
}

/// Charges `bytes` to the current account until the reservation is dropped. Returns `None` if `bytes` is 0. Stops the
/// computation if there is no memory.
pub(crate) fn hold(bytes: usize) -> Option<Reservation> {
    (bytes > 0).then(|| Account::current().reserve_or_stop(bytes))
}

/// The amount of work of a loop between two polls, in units of about a nanosecond.
const POLLED: usize = 1 << 20;

/// Polls the budget regularly during a long loop.
#[derive(Default)]
pub struct Pace(usize);

impl Pace {
    /// Records an amount of work, in units of about a nanosecond. Polls the budget each time that about a millisecond
    /// of work has been recorded, which stops a run that is cancelled or has exceeded its limit of steps. A loop calls
    /// this at least once in a millisecond.
    #[inline]
    pub fn spend(&mut self, work: usize) {
        self.0 += work;
        if self.0 >= POLLED {
            self.0 = 0;
            budget::poll();
        }
    }
}

/// Mutable access to adjacent columns of a row-major matrix, some or all of them, in all of its rows. The elements of a
/// row of the grid are contiguous.
pub struct Grid<'a, T> {
    start: *mut T,
    rows: usize,
    /// The number of elements from the start of a row to that of the next one.
    stride: usize,
    width: usize,
    matrix: PhantomData<&'a mut [T]>,
}

// SAFETY: a grid is the only access to its elements, as a mutable reference is.
unsafe impl<T: Send> Send for Grid<'_, T> {}

impl<'a, T> Grid<'a, T> {
    /// Returns all columns of a row-major matrix with `columns` columns.
    ///
    /// # Panics
    /// Panics if `columns` is 0, or if the matrix does not consist of whole rows.
    pub fn new(matrix: &'a mut [T], columns: usize) -> Grid<'a, T> {
        assert!(columns > 0 && matrix.len().is_multiple_of(columns), "rows of {columns} elements");
        let rows = matrix.len() / columns;
        Grid { start: matrix.as_mut_ptr(), rows, stride: columns, width: columns, matrix: PhantomData }
    }

    /// Returns a grid of the columns of this one, which it borrows.
    #[inline]
    pub fn borrow(&mut self) -> Grid<'_, T> {
        Grid { start: self.start, rows: self.rows, stride: self.stride, width: self.width, matrix: PhantomData }
    }

    /// Divides the columns, in order, into grids of `size` columns. The last one may have fewer.
    ///
    /// # Panics
    /// Panics if `size` is 0.
    pub fn columns(self, size: usize) -> impl Iterator<Item = Grid<'a, T>> {
        let Grid { start, rows, stride, width, matrix } = self;
        (0..width.div_ceil(size)).map(move |part| {
            let columns = piece(width, size, part);
            Grid { start: start.wrapping_add(columns.start), rows, stride, width: columns.len(), matrix }
        })
    }

    /// Returns a grid of the bytes of these columns as elements of another type.
    ///
    /// # Panics
    /// Panics if the rows of the matrix or of these columns do not consist of whole elements of the new type, or if the
    /// first element is not aligned.
    pub fn cast<U: Pod>(self) -> Grid<'a, U>
    where
        T: Pod,
    {
        let in_new = |count: usize| {
            assert!((count * size_of::<T>()).is_multiple_of(size_of::<U>()), "rows of whole elements");
            count * size_of::<T>() / size_of::<U>()
        };
        let start = self.start.cast::<U>();
        assert!(start.is_aligned(), "aligned elements");
        let (stride, width) = (in_new(self.stride), in_new(self.width));
        Grid { start, rows: self.rows, stride, width, matrix: PhantomData }
    }

    /// Iterates over the rows, in order. An item has the elements of these columns in a row.
    pub fn each_row(&mut self) -> impl Iterator<Item = &mut [T]> {
        let Grid { start, stride, width, .. } = *self;
        let row = move |row: usize| Grid {
            start: start.wrapping_add(row * stride),
            rows: 1,
            stride,
            width,
            matrix: PhantomData,
        };
        (0..self.rows).map(move |i| row(i).first())
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns of this grid.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the elements of these columns in row `row`.
    ///
    /// # Panics
    /// Panics if `row` is not less than the number of rows.
    #[inline]
    pub fn row(&mut self, row: usize) -> &mut [T] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let start = self.start.wrapping_add(row * self.stride);
        Grid { start, rows: 1, ..self.borrow() }.first()
    }

    #[inline]
    fn first(self) -> &'a mut [T] {
        assert!(self.rows > 0, "a row");
        // SAFETY: the matrix has the row, and these columns of it, which no other grid has: `columns` takes the grid
        // that it cuts, and cuts it at different places, and other grids of rows are made one for each row.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.width) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{Budget, CancelToken, Stop};
    use std::cell::Cell;

    #[test]
    fn every_column_is_in_one_part() {
        for (rows, columns, size) in [(1, 1, 1), (3, 10, 4), (5, 7, 7), (2, 6, 9), (0, 3, 2)] {
            let mut matrix = vec![0; rows * columns];
            let parts: Vec<_> = Grid::new(&mut matrix, columns).columns(size).collect();
            assert_eq!(parts.iter().map(Grid::width).sum::<usize>(), columns);
            Workers::new(2).run_each(parts, Effort::Large, |mut part| {
                (0..rows).for_each(|row| part.row(row).iter_mut().for_each(|x| *x += row + 1));
            });
            assert!((0..rows * columns).all(|i| matrix[i] == i / columns + 1));
        }
    }

    #[test]
    fn a_long_loop_stops_when_it_is_cancelled() {
        let budget = Budget::new(Account::with_limit(0), None, CancelToken::default());
        let rounds = Cell::new(0);
        let stopped = budget.run(|| {
            let mut pace = Pace::default();
            loop {
                pace.spend(POLLED / 8);
                rounds.set(rounds.get() + 1);
                budget.cancel_token().cancel();
            }
        });
        assert_eq!((stopped, rounds.get()), (Err::<(), _>(Stop::Cancelled), 7));
    }

    #[test]
    fn columns_of_a_part_may_be_cut_again() {
        let mut matrix: Vec<usize> = (0..24).collect();
        let mut parts: Vec<_> = Grid::new(&mut matrix, 8).columns(5).flat_map(|part| part.columns(2)).collect();
        let second: Vec<Vec<usize>> = parts.iter_mut().map(|part| part.row(1).to_vec()).collect();
        assert_eq!(second, [vec![8, 9], vec![10, 11], vec![12], vec![13, 14], vec![15]]);
        let last: Vec<&mut [usize]> = parts[3].each_row().collect();
        assert_eq!(last, [[5, 6], [13, 14], [21, 22]]);
    }

    #[test]
    fn bytes_are_seen_as_elements() {
        let mut matrix = [1u32, 2, 3, 4, 5, 6];
        let mut parts = Grid::new(bytemuck::cast_slice_mut::<u32, u8>(&mut matrix), 12).columns(8);
        assert_eq!(parts.next().unwrap().cast::<u32>().row(1), [4, 5]);
        assert_eq!(parts.next().unwrap().cast::<u16>().row(0), [3, 0]);
    }

    #[test]
    #[should_panic(expected = "row 2 of 2")]
    fn rows_are_checked() {
        Grid::new(&mut [0; 6], 3).row(2);
    }
}
