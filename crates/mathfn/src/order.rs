//! The order in which reductions combine their elements: a function of the shape alone.
//!
//! Drop the dimensions of size 1 of the reduced operand and merge neighbours that are both kept or both reduced. If the
//! innermost dimension is then reduced, its elements form the *rows* of a result element; else each element is a row of
//! its own. With `op` and its identity:
//!
//! 1. The result of a row of one element is this element. In a longer row of at most [`SEGMENT`] elements, element `i`
//!    is folded into partial `i % lanes`, in increasing `i`, all partials starting at the identity; then the upper half
//!    of the partials is folded into the lower half until one is left (`lanes` is [`LANES_32`] for types computed in 32
//!    bits, [`LANES_64`] for those in 64 bits).
//! 2. A still longer row is cut into segments, which are folded in the same way, also a segment of one element. Their
//!    results are folded from the left, starting with the first.
//! 3. The rows of one result element, in row-major order, are folded from the left in chunks of [`CHUNK`] rows, each
//!    chunk starting with its first row; then the chunks' results are folded from the left.
//! 4. The result is `op(init, total)`, or `init` if there was no element.
//!
//! Sums of `bf16` and `f16` are computed in `f32` and rounded once, after step 4.

use std::ops::Range;

/// The largest number of elements of a row that is folded at once. A longer row is cut into segments of this length.
pub const SEGMENT: usize = 16_384;
/// The number of rows of a result element that are folded into one chunk.
pub const CHUNK: usize = 256;
/// The number of partial results of a row whose elements are computed in 32 bits or fewer.
pub const LANES_32: usize = 64;
/// The number of partial results of a row whose elements are computed in 64 bits.
pub const LANES_64: usize = 32;

/// Folds `rows` rows of `row_len` elements each in the order that the module states, without step 4. Returns `None` if
/// there are no elements.
///
/// `get(i)` is the element `i` in row-major order of the reduced dimensions. `lanes` is the number of partial results
/// of a row, which is a power of two and at most [`LANES_32`].
#[inline]
pub fn fold<T: Copy>(
    rows: usize,
    row_len: usize,
    lanes: usize,
    identity: T,
    get: impl Fn(usize) -> T,
    op: impl Fn(T, T) -> T,
) -> Option<T> {
    if row_len == 0 {
        return None;
    }
    fold_rows(rows, |r| fold_row(row_len, lanes, identity, |i| get(r * row_len + i), &op), &op)
}

/// Folds the results of `rows` rows, as step 3 of the module states. Returns `None` if there are no rows.
#[inline]
pub fn fold_rows<T>(rows: usize, row: impl Fn(usize) -> T, op: impl Fn(T, T) -> T) -> Option<T> {
    let chunk = |c: usize| (c * CHUNK..rows.min((c + 1) * CHUNK)).map(&row).reduce(&op);
    (0..rows.div_ceil(CHUNK)).filter_map(chunk).reduce(&op)
}

/// Folds one row, as steps 1 and 2 of the module state. Returns the element of a row of one element, and `identity` for
/// an empty row.
#[inline]
pub fn fold_row<T: Copy>(len: usize, lanes: usize, identity: T, get: impl Fn(usize) -> T, op: impl Fn(T, T) -> T) -> T {
    fold_segments(len, |segment| fold_segment(segment, len, lanes, identity, &get, &op), &op).unwrap_or(identity)
}

/// Folds the results of the segments of a row of `len` elements, as step 2 of the module states. `segment` gets the
/// numbers of the elements of one segment. Returns `None` for an empty row.
#[inline]
pub fn fold_segments<T>(len: usize, segment: impl Fn(Range<usize>) -> T, op: impl Fn(T, T) -> T) -> Option<T> {
    (0..len).step_by(SEGMENT).map(|start| segment(start..len.min(start + SEGMENT))).reduce(op)
}

/// Folds the elements of one segment of a row of `len` elements, as step 1 of the module states. `lanes` is at most
/// [`LANES_32`].
#[inline]
pub fn fold_segment<T: Copy>(
    segment: Range<usize>,
    len: usize,
    lanes: usize,
    identity: T,
    get: impl Fn(usize) -> T,
    op: impl Fn(T, T) -> T,
) -> T {
    if len == 1 {
        return get(0);
    }
    let mut partials = [identity; LANES_32];
    let partials = &mut partials[..lanes];
    for first in segment.clone().step_by(lanes) {
        for (lane, partial) in partials[..lanes.min(segment.end - first)].iter_mut().enumerate() {
            *partial = op(*partial, get(first + lane));
        }
    }
    let mut live = lanes;
    while live > 1 {
        live /= 2;
        for i in 0..live {
            partials[i] = op(partials[i], partials[i + live]);
        }
    }
    partials[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_sum_exactly() {
        for (rows, len) in [(1, 1), (3, 7), (1, 64), (600, 1), (2, 40_000), (257, 65)] {
            let total = fold(rows, len, LANES_32, 0.0, |i| (i % 13) as f64, |a, b| a + b);
            let naive: f64 = (0..rows * len).map(|i| (i % 13) as f64).sum();
            assert_eq!(total, Some(naive));
        }
    }

    #[test]
    fn nothing_folds_to_nothing() {
        assert_eq!(fold(0, 5, 64, 0, |_| 1, |a, b| a + b), None);
        assert_eq!(fold(5, 0, 64, 0, |_| 1, |a, b| a + b), None);
    }

    #[test]
    fn partials_are_taken_in_the_documented_order() {
        let text = |a: u64, b: u64| a.wrapping_mul(31).wrapping_add(b);
        let by_hand = (0..4u64).map(|lane| (0..3).fold(7, |sum, j| text(sum, lane + 4 * j))).collect::<Vec<_>>();
        let expected = text(text(by_hand[0], by_hand[2]), text(by_hand[1], by_hand[3]));
        assert_eq!(fold_row(12, 4, 7, |i| i as u64, text), expected);
    }
}
