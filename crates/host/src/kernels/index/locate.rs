//! Finds the positions of many windows at once.

use crate::kernels::indices::{Indices, clamp};
use crate::simd::{AtLevel, Vector, run_words};

/// The position of a window of which a part or all is not inside of the array.
pub const OUTSIDE: usize = usize::MAX;

/// A dimension of an array, along which indices state where windows start.
#[derive(Clone, Copy)]
pub struct Along {
    /// The largest start for which the whole window is inside of the array.
    pub limit: usize,
    /// The stride of the dimension, in elements.
    pub stride: usize,
}

/// Adds the starts of windows along a dimension to their positions in the array. The index of window `k` is element
/// `first + k * step` of `indices`. A start below 0 or above the limit is first moved to the nearest one between them
/// if `MOVES`. Otherwise the position becomes [`OUTSIDE`], which it stays along other dimensions.
///
/// # Panics
/// Panics if there are not so many indices.
#[inline]
pub fn locate<const MOVES: bool>(
    places: &mut [usize],
    indices: Indices<'_>,
    [first, step]: [usize; 2],
    Along { limit, stride }: Along,
) {
    if let (Indices::I32(indices), 1, Ok(limit), Ok(stride)) = (indices, step, i32::try_from(limit), stride.try_into())
    {
        let indices = &indices[first..][..places.len()];
        return run_words(Adjacent::<MOVES> { places, indices, limit, stride });
    }
    indices.each(first, step, places.len(), |k, index| {
        let start = clamp(index, limit);
        places[k] = match MOVES {
            true => places[k] + start * stride,
            false if start as i64 == index => places[k].saturating_add(start * stride),
            false => OUTSIDE,
        };
    });
}

/// Indices of 32 bits side by side, one for each position.
struct Adjacent<'a, const MOVES: bool> {
    places: &'a mut [usize],
    indices: &'a [i32],
    limit: i32,
    stride: u32,
}

impl<const MOVES: bool> AtLevel for Adjacent<'_, MOVES> {
    #[inline(always)]
    fn run<V: Vector<Word = u32>>(self) {
        let stride = u64::from(self.stride);
        for (place, &index) in self.places.iter_mut().zip(self.indices) {
            let start = if MOVES { index.max(0).min(self.limit) } else { index };
            let moved = place.wrapping_add((u64::from(start as u32) * stride) as usize);
            // A negative index is larger than all limits.
            let is_inside = MOVES || *place != OUTSIDE && index as u32 <= self.limit as u32;
            *place = if is_inside { moved } else { OUTSIDE };
        }
    }
}
