//! Arrays of integers as positions in other arrays.

use crate::memory::Buffer;
use shardwise_base::DType;

/// Returns the number from 0 to `limit`, both included, that is nearest to `index`.
#[inline]
pub fn clamp(index: i64, limit: usize) -> usize {
    usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(limit)
}

/// The elements of an integer array.
#[derive(Clone, Copy)]
pub enum Indices<'a> {
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
}

impl<'a> Indices<'a> {
    /// Returns the elements of an array whose elements have the type `dtype`, which must be an integer type.
    pub fn new(array: &'a Buffer, dtype: DType) -> Indices<'a> {
        match (dtype.is_signed(), dtype.storage_bytes()) {
            (true, 1) => Indices::I8(array.elements()),
            (true, 2) => Indices::I16(array.elements()),
            (true, 4) => Indices::I32(array.elements()),
            (true, _) => Indices::I64(array.elements()),
            (false, 1) => Indices::U8(array.elements()),
            (false, 2) => Indices::U16(array.elements()),
            (false, 4) => Indices::U32(array.elements()),
            (false, _) => Indices::U64(array.elements()),
        }
    }

    /// Calls `f` with `k` and element `first + k * step`, for each `k` below `count`. Numbers beyond the range of `i64`
    /// become `i64::MAX`. Panics if there are not so many elements.
    #[inline]
    pub fn each(self, first: usize, step: usize, count: usize, f: impl FnMut(usize, i64)) {
        match self {
            Indices::I8(array) => each(array, first, step, count, i64::from, f),
            Indices::I16(array) => each(array, first, step, count, i64::from, f),
            Indices::I32(array) => each(array, first, step, count, i64::from, f),
            Indices::I64(array) => each(array, first, step, count, |x| x, f),
            Indices::U8(array) => each(array, first, step, count, i64::from, f),
            Indices::U16(array) => each(array, first, step, count, i64::from, f),
            Indices::U32(array) => each(array, first, step, count, i64::from, f),
            Indices::U64(array) => each(array, first, step, count, |x| i64::try_from(x).unwrap_or(i64::MAX), f),
        }
    }

    /// Returns element `i`. Numbers beyond the range of `i64` become `i64::MAX`. Panics if there are not so many
    /// elements.
    #[inline]
    pub fn get(self, i: usize) -> i64 {
        match self {
            Indices::I8(array) => array[i].into(),
            Indices::I16(array) => array[i].into(),
            Indices::I32(array) => array[i].into(),
            Indices::I64(array) => array[i],
            Indices::U8(array) => array[i].into(),
            Indices::U16(array) => array[i].into(),
            Indices::U32(array) => array[i].into(),
            Indices::U64(array) => i64::try_from(array[i]).unwrap_or(i64::MAX),
        }
    }
}

#[inline]
fn each<T: Copy>(
    array: &[T],
    first: usize,
    step: usize,
    count: usize,
    widen: impl Fn(T) -> i64,
    mut f: impl FnMut(usize, i64),
) {
    match step {
        1 => array[first..][..count].iter().enumerate().for_each(|(k, &x)| f(k, widen(x))),
        _ => (0..count).for_each(|k| f(k, widen(array[first + k * step]))),
    }
}
