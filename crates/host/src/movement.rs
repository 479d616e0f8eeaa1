//! Data movement: strided copies, transposes, fills and rows.
//!
//! A [`Move`] copies a block of indices from one array to another, each with its own strides, which may be negative.
//! Slices, reversals, the pieces of concatenations and the inside of pads are therefore moves. A permutation of
//! dimensions is a move whose innermost dimensions differ, which is done in blocks of whole cache lines.

mod sizes;
mod strided;

pub use strided::Move;

use crate::pool::{Effort, Workers};
use sizes::{LONG_COPY, PART, SMALL};
use std::sync::OnceLock;
use strided::copy_bytes;

/// Returns true if stores of outputs of this many bytes, over all instances, should bypass the caches when the outputs
/// are not read soon: they are larger than the third cache, or than 32 MiB if its size is not known.
pub fn streams(output_bytes: usize) -> bool {
    static CACHE: OnceLock<usize> = OnceLock::new();
    output_bytes > *CACHE.get_or_init(|| last_cache_bytes().unwrap_or(32 << 20))
}

/// Returns the size in bytes of the first core's third cache, or `None` if Linux does not report it in KiB.
fn last_cache_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    Some(text.trim().strip_suffix('K')?.parse::<usize>().ok()? << 10)
}

/// Copies `from` to `to` for each pair `(from, to)` of pieces.
///
/// # Panics
/// Panics if the two lengths of a pair differ.
pub fn copy<'a>(workers: &Workers, pieces: impl IntoIterator<Item = (&'a [u8], &'a mut [u8])>) {
    let mut parts = vec![];
    for (from, to) in pieces {
        assert_eq!(from.len(), to.len(), "as many bytes");
        parts.extend(from.chunks(PART).zip(to.chunks_mut(PART)));
    }
    let bytes: usize = parts.iter().map(|(from, _)| from.len()).sum();
    workers.run_each(parts, effort(bytes), |(from, to)| copy_bytes(from, to));
}

/// Copies `from` to `to`, which should be short. Powers of two up to 64 bytes are copied without a call.
///
/// # Panics
/// Panics if the lengths differ.
#[inline]
pub fn copy_short(from: &[u8], to: &mut [u8]) {
    #[inline]
    fn copy_some<const N: usize>(from: &[u8], to: &mut [u8]) {
        to[..N].copy_from_slice(&from[..N]);
    }
    assert_eq!(from.len(), to.len(), "as many bytes");
    match to.len() {
        1 => copy_some::<1>(from, to),
        2 => copy_some::<2>(from, to),
        4 => copy_some::<4>(from, to),
        8 => copy_some::<8>(from, to),
        16 => copy_some::<16>(from, to),
        32 => copy_some::<32>(from, to),
        64 => copy_some::<64>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Fills an array with rows of `row_bytes` bytes: row `i` is a copy of `from(i)`. If the array does not consist of
/// whole rows, the last one is shorter.
///
/// # Panics
/// Panics if the length of `from(i)` differs from that of the row, or if `row_bytes` is 0 and `to` is not empty.
pub fn gather_rows<'a>(workers: &Workers, row_bytes: usize, to: &mut [u8], from: impl Fn(usize) -> &'a [u8] + Sync) {
    if row_bytes > PART {
        return copy(workers, to.chunks_mut(row_bytes).enumerate().map(|(i, row)| (from(i), row)));
    }
    let (group, effort) = ((PART / row_bytes.max(1)).max(1), effort(to.len()));
    let parts = to.chunks_mut((group * row_bytes).max(1)).enumerate().collect();
    workers.run_each(parts, effort, |(part, rows): (usize, &mut [u8])| {
        for (i, row) in rows.chunks_mut(row_bytes).enumerate() {
            let from = from(part * group + i);
            if row_bytes < LONG_COPY { copy_short(from, row) } else { copy_bytes(from, row) }
        }
    });
}

fn effort(bytes: usize) -> Effort {
    if bytes < SMALL { Effort::Small } else { Effort::Large }
}

/// Fills an array with copies of an element, given by its bytes. If the array does not consist of whole elements, the
/// last copy is cut off.
///
/// # Panics
/// Panics if the element has no bytes, or more than 512 KiB.
pub fn fill(workers: &Workers, to: &mut [u8], element: &[u8]) {
    let effort = effort(to.len());
    let parts = to.chunks_mut(PART / element.len() * element.len()).collect();
    workers.run_each(parts, effort, |part| fill_bytes(part, element));
}

fn fill_bytes(bytes: &mut [u8], element: &[u8]) {
    if element.iter().all(|&b| b == element[0]) {
        return bytes.fill(element[0]);
    }
    let first = element.len().min(bytes.len());
    bytes[..first].copy_from_slice(&element[..first]);
    let mut done = first;
    while done < bytes.len() {
        let more = done.min(bytes.len() - done);
        let (from, to) = bytes.split_at_mut(done);
        to[..more].copy_from_slice(&from[..more]);
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operand::{Source, Target};
    use bytemuck::Pod;

    /// Checks that a move of `shape` copies as a loop over all indices does. Index 0 is read from element `start` of
    /// the source and written to the first of the target. The strides are in elements.
    fn check<T: Pod + PartialEq + std::fmt::Debug>(
        make: impl Fn(usize) -> T,
        shape: &[usize],
        from: &[isize],
        to: &[isize],
        start: usize,
    ) {
        let n: usize = shape.iter().product();
        let x: Vec<T> = (0..2 * n + 8).map(&make).collect();
        let (mut y, mut z) = (vec![make(0); n.max(1)], vec![make(0); n.max(1)]);
        let m = Move::new(size_of::<T>(), shape, from, to);
        let source = Source::at(bytemuck::cast_slice(&x), start * size_of::<T>());
        m.run(&Workers::new(2), &[source], &mut [Target::of(&mut y)]);
        for i in 0..n {
            let (mut rest, mut f, mut t) = (i as isize, start as isize, 0);
            for d in (0..shape.len()).rev() {
                let index = rest % shape[d] as isize;
                (rest, f, t) = (rest / shape[d] as isize, f + index * from[d], t + index * to[d]);
            }
            z[t as usize] = x[f as usize];
        }
        assert!(y == z, "{shape:?} {from:?} {to:?} size {}", size_of::<T>());
    }

    fn check_sizes(shape: &[usize], from: &[isize], to: &[isize], start: usize) {
        check(|i| i as u8, shape, from, to, start);
        check(|i| i as u16, shape, from, to, start);
        check(|i| i as u32, shape, from, to, start);
        check(|i| i as u64, shape, from, to, start);
        check(|i| i as u128, shape, from, to, start);
    }

    #[test]
    fn strides_of_all_kinds_move() {
        check_sizes(&[0, 3], &[3, 1], &[3, 1], 0);
        check_sizes(&[], &[], &[], 0);
        check_sizes(&[1000], &[1], &[1], 3);
        check_sizes(&[7, 5], &[10, 1], &[5, 1], 2);
        check_sizes(&[300], &[-1], &[1], 299);
        check_sizes(&[10, 30], &[60, 2], &[30, 1], 0);
        check_sizes(&[2, 3, 4], &[12, 4, 1], &[1, 8, 2], 0);
        check_sizes(&[4, 1, 6], &[0, 5, 1], &[6, 6, 1], 0);
    }

    #[test]
    fn transposes_of_all_sizes_move() {
        for (rows, columns) in [(1, 9), (3, 5), (16, 16), (64, 64), (67, 130), (129, 33)] {
            let (r, c) = (rows as isize, columns as isize);
            check_sizes(&[rows, columns], &[c, 1], &[1, r], 0);
            check_sizes(&[3, rows, columns], &[r * c, c, 1], &[c, 3 * c, 1], 0);
            check_sizes(&[3, rows, columns], &[r * c, c, 1], &[r * c, 1, r], 0);
        }
        check(|i| i as u32, &[1031, 517], &[517, 1], &[1, 1031], 0);
    }

    #[test]
    fn bytes_are_copied_and_filled() {
        for len in [0, 1, 1000, LONG_COPY, 3 * PART + 17] {
            let x: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut y = vec![0u8; len];
            copy(&Workers::new(2), [(&x[..], &mut y[..])]);
            assert!(x == y);
        }
        for len in 0..=33 {
            let x: Vec<u8> = (1..=len).collect();
            let mut y = vec![0u8; x.len()];
            copy_short(&x, &mut y);
            assert_eq!(x, y);
        }
        for count in [0, 1, 5, 300_000] {
            let mut y = vec![0u32; count];
            fill(&Workers::new(2), bytemuck::cast_slice_mut(&mut y), &0x0102_0304u32.to_ne_bytes());
            assert!(y.iter().all(|&v| v == 0x0102_0304));
        }
    }

    #[test]
    fn rows_are_gathered() {
        let table: Vec<u32> = (0..1000).collect();
        let indices = [3usize, 99, 0, 3];
        let mut out = vec![0u32; 40];
        let row = |i: usize| bytemuck::cast_slice(&table[indices[i] * 10..][..10]);
        gather_rows(&Workers::new(2), 40, bytemuck::cast_slice_mut(&mut out), row);
        assert!((0..40).all(|i| out[i] as usize == indices[i / 10] * 10 + i % 10));
    }

    #[test]
    fn blocks_are_gathered_and_exchanged() {
        let x: Vec<u16> = (0..24).collect();
        // Three sources [2, 4] are joined along dimension 1.
        let sources: Vec<Source> = x.chunks(8).map(Source::of).collect();
        let mut all = vec![0u16; 24];
        let gather = Move::joining(2, &[2, 4], &[4, 1], &[12, 1], (3, 4));
        gather.run(&Workers::new(2), &sources, &mut [Target::of(&mut all)]);
        assert!((0..24).all(|i| all[i] == x[i % 12 / 4 * 8 + i / 12 * 4 + i % 4]));

        // Two sources [2, 4] are split along dimension 1 and joined along dimension 0, which makes two results [4, 2].
        let mut y = [0u16; 16];
        let bytes = |x| bytemuck::cast_slice::<u16, u8>(x);
        let block = |result: usize, source: usize| Source::at(bytes(&x[8 * source..][..8]), 4 * result);
        let exchange = Move::joining(2, &[2, 2], &[4, 1], &[2, 1], (2, 4));
        let sources = [block(0, 0), block(0, 1), block(1, 0), block(1, 1)];
        let mut targets: Vec<Target> = y.chunks_mut(8).map(Target::of).collect();
        exchange.run(&Workers::new(2), &sources, &mut targets);
        assert_eq!(y, [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]);
    }

    #[test]
    #[should_panic(expected = "targets of a move have what is written")]
    fn targets_are_checked() {
        let (x, mut y) = ([0u8; 12], [0u8; 11]);
        let m = Move::new(1, &[3, 4], &[4, 1], &[1, 3]);
        m.run(&Workers::new(1), &[Source::of(&x)], &mut [Target::of(&mut y)]);
    }

    #[test]
    #[should_panic(expected = "sources of a move have what is read")]
    fn sources_are_checked() {
        let (x, mut y) = ([0u8; 12], [0u8; 12]);
        let m = Move::new(1, &[3, 4], &[-4, 1], &[4, 1]);
        m.run(&Workers::new(1), &[Source::at(&x, 7)], &mut [Target::of(&mut y)]);
    }

    #[test]
    #[should_panic(expected = "writes elements twice")]
    fn elements_are_written_once() {
        Move::joining(4, &[2, 3], &[3, 1], &[6, 1], (2, 2));
    }

    #[test]
    #[should_panic(expected = "elements of 3 bytes cannot be moved")]
    fn sizes_of_elements_are_checked() {
        Move::new(3, &[2, 5], &[10, 2], &[5, 1]);
    }

    #[test]
    fn a_move_transposes() {
        let x = [1u16, 2, 3, 4, 5, 6];
        let mut transposed = [0u16; 6];
        let transpose = Move::new(2, &[2, 3], &[3, 1], &[1, 2]);
        transpose.run(Workers::global(), &[Source::of(&x)], &mut [Target::of(&mut transposed)]);
        assert_eq!(transposed, [1, 4, 2, 5, 3, 6]);
    }
}
