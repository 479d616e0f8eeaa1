//! Operands of kernels: positions in arrays, and the bytes around them that strides reach.
//!
//! Before a kernel runs, it compares the lengths of its operands once with what it reaches; its inner loops use
//! pointers. Arrays are borrowed for the whole run, so that nothing else writes what is read, or reads what is written.
#![expect(unsafe_code, reason = "addresses go to the workers")]

use bytemuck::{NoUninit, Pod};
use std::marker::PhantomData;

/// An address that is sent to the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pointer(pub *mut u8);

// SAFETY: a pointer is a number; the functions that follow it say what they need.
unsafe impl Send for Pointer {}
// SAFETY: as above.
unsafe impl Sync for Pointer {}

impl Pointer {
    pub(crate) fn offset(self, bytes: isize) -> Pointer {
        Pointer(self.0.wrapping_offset(bytes))
    }
}

/// The number of bytes of an array before a position, and from it on. Both are 0 for a position beyond the array.
#[derive(Clone, Copy, Debug)]
struct Extent {
    before: usize,
    behind: usize,
}

impl Extent {
    /// Returns the extent of the position `start`. A position beyond the array has no bytes: the strides of an empty
    /// result may lead there.
    fn new(len: usize, start: usize) -> Extent {
        len.checked_sub(start).map_or(Extent { before: 0, behind: 0 }, |behind| Extent { before: start, behind })
    }

    fn has(self, reach: Reach) -> bool {
        reach.before <= self.before && reach.behind <= self.behind
    }
}

/// A position in an array that is read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    place: Pointer,
    extent: Extent,
    array: PhantomData<&'a [u8]>,
}

impl<'a> Source<'a> {
    /// Returns the position of byte `start` of an array. It may be the end of the array or beyond it, where no element
    /// can be read.
    pub fn at(array: &'a [u8], start: usize) -> Source<'a> {
        let extent = Extent::new(array.len(), start);
        Source { place: Pointer(array.as_ptr().cast_mut()).offset(start as isize), extent, array: PhantomData }
    }

    /// Returns the position of the first byte of an array.
    pub fn of<T: NoUninit>(array: &'a [T]) -> Source<'a> {
        Source::at(bytemuck::cast_slice(array), 0)
    }

    /// Returns true if all bytes of `reach`, counted from this position, are in the array. An empty reach always is.
    pub fn has(&self, reach: Reach) -> bool {
        self.extent.has(reach)
    }

    /// Returns the address of the position. It is valid for reads of each reach for which [`Source::has`] returns true.
    pub(crate) fn pointer(&self) -> Pointer {
        self.place
    }
}

/// A position in an array that is written, by one kernel alone.
#[derive(Debug)]
pub struct Target<'a> {
    place: Pointer,
    extent: Extent,
    array: PhantomData<&'a mut [u8]>,
}

impl<'a> Target<'a> {
    /// Returns the position of byte `start` of an array. It may be the end of the array or beyond it, where no element
    /// can be accessed.
    pub fn at(array: &'a mut [u8], start: usize) -> Target<'a> {
        let extent = Extent::new(array.len(), start);
        Target { place: Pointer(array.as_mut_ptr()).offset(start as isize), extent, array: PhantomData }
    }

    /// Returns the position of the first byte of an array.
    pub fn of<T: Pod>(array: &'a mut [T]) -> Target<'a> {
        Target::at(bytemuck::cast_slice_mut(array), 0)
    }

    /// Returns true if all bytes of `reach`, counted from this position, are in the array. An empty reach always is.
    pub fn has(&self, reach: Reach) -> bool {
        self.extent.has(reach)
    }

    /// Returns the address of the position. While the target is borrowed, it is valid for reads and writes of each
    /// reach for which [`Target::has`] returns true.
    pub(crate) fn pointer(&self) -> Pointer {
        self.place
    }
}

/// The number of bytes that strides reach before a position, and from it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    before: usize,
    behind: usize,
}

impl Reach {
    /// Returns the number of bytes from the first one that is reached to the last one.
    pub fn bytes(self) -> usize {
        self.before + self.behind
    }

    /// Returns the bytes that are reached by elements of `size` bytes at all indices of some dimensions. Each dimension
    /// is given by its number of indices and by its stride in bytes. If one has no indices, nothing is reached.
    pub fn of(dims: impl IntoIterator<Item = (usize, isize)>, size: usize) -> Reach {
        let mut reach = Reach { before: 0, behind: size };
        for (n, stride) in dims {
            if n == 0 {
                return Reach::default();
            }
            let far = stride.unsigned_abs().saturating_mul(n - 1);
            let side = if stride < 0 { &mut reach.before } else { &mut reach.behind };
            *side = side.saturating_add(far);
        }
        reach
    }

    /// Returns the least reach that covers both `self` and `other`.
    pub fn or(self, other: Reach) -> Reach {
        Reach { before: self.before.max(other.before), behind: self.behind.max(other.behind) }
    }
}

/// Returns true if the strides show that no two indices of some dimensions lead to elements of `size` bytes that
/// overlap. Each dimension is given by its number of indices and by its stride in bytes.
///
/// The test is sufficient but not necessary: each stride must be at least as large as all that the smaller ones reach.
/// Dimensions with one index do not count. If a dimension has no indices, nothing overlaps.
pub fn are_apart(dims: impl IntoIterator<Item = (usize, isize)>, size: usize) -> bool {
    let mut dims: Vec<(usize, usize)> = dims.into_iter().map(|(n, s)| (s.unsigned_abs(), n)).collect();
    if dims.iter().any(|d| d.1 == 0) {
        return true;
    }
    dims.retain(|d| d.1 > 1);
    dims.sort_unstable();
    let mut extent = size;
    dims.into_iter().all(|(stride, n)| {
        let is_apart = stride >= extent;
        extent = extent.saturating_add(stride.saturating_mul(n - 1));
        is_apart
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_reach_to_both_sides() {
        let array = [0u8; 24];
        let reach = Reach::of([(3, -8), (2, 4)], 4);
        assert_eq!(reach, Reach { before: 16, behind: 8 });
        let places: Vec<usize> = (0..=24).filter(|&start| Source::at(&array, start).has(reach)).collect();
        assert_eq!(places, [16]);
        assert!(Source::at(&[], 0).has(Reach::of([(3, 8), (0, 1)], 4)));
        assert!(!Source::of(&array).has(Reach::of([(usize::MAX, isize::MAX)], 1)));
        let behind = Source::at(&array, 25);
        assert!(behind.has(Reach::of([(0, 1)], 4)) && !behind.has(Reach::of([(1, 1)], 1)) && !behind.has(reach));
        assert_eq!(reach.or(Reach::of([(9, 1)], 1)), Reach { before: 16, behind: 9 });
    }

    #[test]
    fn elements_are_apart_where_each_stride_leads_over_the_smaller_ones() {
        assert!(are_apart([(3, 8), (2, 4)], 4));
        assert!(are_apart([(2, -4), (3, 8), (1, 0)], 4));
        assert!(!are_apart([(3, 8), (3, 4)], 4));
        assert!(!are_apart([(2, 0)], 1));
        assert!(!are_apart([(5, 1)], 2));
        assert!(are_apart([(2, 0), (0, 7)], 1));
    }

    #[test]
    fn a_source_reaches_backwards_from_its_position() {
        let x = [1.0f32, 2.0, 3.0];
        let backwards = Reach::of([(3, -4)], 4);
        assert!(Source::at(bytemuck::cast_slice(&x), 8).has(backwards));
        assert!(!Source::of(&x).has(backwards));
    }
}
