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
    /// Returns the elements of an array, of which `dtype` is the type. It must be an integer type.
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
