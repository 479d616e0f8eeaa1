//! Moving elements: strided copies, transposes, fills and rows.
//!
//! A [`Move`] copies a block of indices from one array to another, each with its own strides, negative ones too. So a slice,
//! a reversal, a piece of a concatenation and the inside of a pad are moves, and a permutation of dimensions is one whose
//! innermost dimensions differ: that goes through blocks of whole cache lines.
//!
//! ```
//! use shardwise_host::movement::Move;
//! use shardwise_host::{block::Pointer, pool::Workers};
//! let x = [1u16, 2, 3, 4, 5, 6];
//! let mut transposed = [0u16; 6];
//! let transpose = Move::new(2, &[2, 3], &[3, 1], &[1, 2]);
//! let pointers = (Pointer(x.as_ptr().cast_mut().cast()), Pointer(transposed.as_mut_ptr().cast()));
//! // SAFETY: both arrays have six elements.
//! unsafe { transpose.run(Workers::global(), &[pointers]) };
//! assert_eq!(transposed, [1, 4, 2, 5, 3, 6]);
//! ```

use crate::block::Pointer;
use crate::pool::{Effort, Workers, piece};
use crate::simd::prefetch;
use std::sync::OnceLock;

/// Bytes of a part.
const PART: usize = 1 << 19;
/// Below this many bytes in all, nobody is woken.
const SMALL: usize = 1 << 18;
/// Copies of this many bytes use the string instruction.
const LONG_COPY: usize = 256 << 10;
/// Bytes of a cache line, the side of a transposed tile.
const LINE: usize = 64;
/// Transposes read and write runs of this many bytes.
const RUN: usize = 512;
/// Bytes from line to line in a transpose's scratch: no multiple of what falls on one cache set.
const PITCH: usize = RUN + LINE;

/// Whether outputs of so many bytes, over all instances, are better stored past the caches, if they are not read soon.
pub fn streams(output_bytes: usize) -> bool {
    static CACHE: OnceLock<usize> = OnceLock::new();
    output_bytes > *CACHE.get_or_init(|| last_cache_bytes().unwrap_or(32 << 20))
}

/// The size of the last cache, where Linux tells it.
fn last_cache_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    Some(text.trim().strip_suffix('K')?.parse::<usize>().ok()? << 10)
}

/// Copies bytes, in parts.
///
/// # Safety
/// `len` bytes must be readable at `from` and writable at `to`, and not overlap.
pub unsafe fn copy(workers: &Workers, from: Pointer, to: Pointer, len: usize) {
    // SAFETY: as the caller says.
    unsafe { copy_rows(workers, len.div_ceil(PART), PART.min(len), |i| piece_of(from, i), |i| piece_of(to, i), len) }
}

fn piece_of(p: Pointer, i: usize) -> Pointer {
    p.offset((i * PART) as isize)
}

/// # Safety
/// As `copy`; row `i` is at `from(i)` and `to(i)`, and the last one ends at `len`.
unsafe fn copy_rows(
    workers: &Workers,
    rows: usize,
    row_bytes: usize,
    from: impl Fn(usize) -> Pointer + Sync,
    to: impl Fn(usize) -> Pointer + Sync,
    len: usize,
) {
    let effort = if len < SMALL { Effort::Small } else { Effort::Large };
    let group = (PART / row_bytes.max(1)).max(1);
    workers.run(rows.div_ceil(group), effort, |part| {
        for i in piece(rows, group, part) {
            // SAFETY: as the caller says.
            unsafe { copy_bytes(from(i).0, to(i).0, row_bytes.min(len - i * row_bytes)) };
        }
    });
}

/// Copies `rows` rows of `row_bytes` bytes from where `from` says to where `to` says: gathers and scatters of whole rows.
///
/// # Safety
/// Each row must be readable and writable there, and overlap nothing else.
pub unsafe fn move_rows(
    workers: &Workers,
    rows: usize,
    row_bytes: usize,
    from: impl Fn(usize) -> Pointer + Sync,
    to: impl Fn(usize) -> Pointer + Sync,
) {
    // SAFETY: as the caller says.
    unsafe { copy_rows(workers, rows, row_bytes, from, to, rows * row_bytes) }
}

/// # Safety
/// As `ptr::copy_nonoverlapping`.
unsafe fn copy_bytes(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(target_arch = "x86_64")]
    if len >= LONG_COPY {
        // SAFETY: as the caller says; the direction flag is clear.
        unsafe {
            std::arch::asm!("rep movsb", inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
        }
        return;
    }
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
}

/// Writes one element, given by its bytes, `count` times.
///
/// # Safety
/// `count` elements must be writable.
pub unsafe fn fill(workers: &Workers, to: Pointer, element: &[u8], count: usize) {
    let size = element.len();
    let effort = if count * size < SMALL { Effort::Small } else { Effort::Large };
    let group = PART / size;
    workers.run(count.div_ceil(group), effort, |part| {
        let range = piece(count, group, part);
        // SAFETY: as the caller says.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(to.offset((range.start * size) as isize).0, range.len() * size) };
        fill_bytes(bytes, element);
    });
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

/// A copy of a block of indices between arrays with strides.
#[derive(Clone, Debug)]
pub struct Move {
    /// Loops around the inner copy: size, and the strides of both sides in bytes.
    outer: Vec<Dim>,
    inner: Inner,
    bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    size: usize,
    from: isize,
    to: isize,
}

#[derive(Clone, Copy, Debug)]
enum Inner {
    /// Bytes that follow each other on both sides.
    Run(usize),
    /// Elements at a stride on one side or both.
    Strided { dim: Dim, size: usize },
    /// Rows follow each other on one side, columns on the other.
    Transpose { rows: Dim, columns: Dim, size: usize },
}

impl Move {
    /// A copy of `shape` elements of `size` bytes (1, 2, 4, 8 or 16), with strides in elements.
    pub fn new(size: usize, shape: &[usize], from: &[isize], to: &[isize]) -> Move {
        assert!(shape.len() == from.len() && shape.len() == to.len(), "a stride for each dimension");
        let unit = size as isize;
        let dims = shape.iter().zip(from).zip(to).filter(|((n, _), _)| **n != 1);
        let dims: Vec<Dim> = dims.map(|((&size, &f), &t)| Dim { size, from: f * unit, to: t * unit }).collect();
        let bytes = shape.iter().product::<usize>() * size;
        let mut outer = merge(dims);
        let inner = take_inner(&mut outer, size);
        Move { outer, inner, bytes }
    }

    /// Copies between each pair of arrays.
    ///
    /// # Safety
    /// All elements must be readable and writable, and the two sides not overlap.
    pub unsafe fn run(&self, workers: &Workers, pairs: &[(Pointer, Pointer)]) {
        if self.bytes == 0 {
            return;
        }
        let effort = if self.bytes * pairs.len() < SMALL { Effort::Small } else { Effort::Large };
        let steps: usize = self.outer.iter().map(|d| d.size).product();
        let pieces = self.inner.pieces();
        let group = (PART / (self.bytes / steps).max(1)).clamp(1, steps);
        let groups = steps.div_ceil(group);
        workers.run(pairs.len() * groups * pieces, effort, |part| {
            let (pair, rest) = (pairs[part / (groups * pieces)], part % (groups * pieces));
            for step in piece(steps, group, rest / pieces) {
                let (from, to) = self.step(pair, step);
                // SAFETY: as the caller says.
                unsafe { self.inner.run(from, to, rest % pieces, pieces) };
            }
        });
    }

    fn step(&self, (from, to): (Pointer, Pointer), mut step: usize) -> (*const u8, *mut u8) {
        let (mut f, mut t) = (0, 0);
        for d in self.outer.iter().rev() {
            let i = (step % d.size) as isize;
            (f, t, step) = (f + i * d.from, t + i * d.to, step / d.size);
        }
        (from.0.wrapping_offset(f), to.0.wrapping_offset(t))
    }
}

/// Sorts the dimensions by the result's strides, and merges those that both sides walk as one.
fn merge(mut dims: Vec<Dim>) -> Vec<Dim> {
    dims.sort_by_key(|d| std::cmp::Reverse(d.to.unsigned_abs()));
    let mut merged: Vec<Dim> = Vec::new();
    for dim in dims {
        let n = dim.size as isize;
        match merged.last_mut() {
            Some(d) if d.from == dim.from * n && d.to == dim.to * n => *d = Dim { size: d.size * dim.size, ..dim },
            _ => merged.push(dim),
        }
    }
    merged
}

fn take_inner(outer: &mut Vec<Dim>, size: usize) -> Inner {
    let unit = size as isize;
    let Some(last) = outer.pop() else { return Inner::Run(size) };
    if last.to == unit && last.from == unit {
        return Inner::Run(last.size * size);
    }
    let reads_runs = outer.iter().position(|d| d.from == unit);
    match reads_runs {
        Some(i) if last.to == unit && size <= 8 => Inner::Transpose { rows: outer.remove(i), columns: last, size },
        _ => Inner::Strided { dim: last, size },
    }
}

impl Inner {
    /// Into how many parts one inner copy is cut.
    fn pieces(self) -> usize {
        match self {
            Inner::Run(bytes) => bytes.div_ceil(PART).max(1),
            Inner::Strided { dim, size } => (dim.size * size).div_ceil(PART).max(1),
            Inner::Transpose { rows, columns, size } => (rows.size * columns.size * size).div_ceil(PART).max(1),
        }
    }

    /// # Safety
    /// As `Move::run`.
    unsafe fn run(self, from: *const u8, to: *mut u8, part: usize, parts: usize) {
        match self {
            Inner::Run(bytes) => {
                let range = piece(bytes, bytes.div_ceil(parts), part);
                // SAFETY: as the caller says.
                unsafe { copy_bytes(from.wrapping_add(range.start), to.wrapping_add(range.start), range.len()) }
            }
            Inner::Strided { dim, size } => {
                let range = piece(dim.size, dim.size.div_ceil(parts), part);
                let (from, to) = (at(from, range.start, dim.from), at(to, range.start, dim.to).cast_mut());
                // SAFETY: as the caller says.
                unsafe { copy_strided(from, to, Dim { size: range.len(), ..dim }, size) }
            }
            Inner::Transpose { rows, columns, size } => {
                let side = RUN / size;
                let blocks = rows.size.div_ceil(side);
                for block in piece(blocks, blocks.div_ceil(parts), part) {
                    let mut scratch = vec![0u8; side.min(columns.size) * PITCH];
                    let (from, to) = (at(from, block * side, rows.from), at(to, block * side, rows.to).cast_mut());
                    let rows = Dim { size: (rows.size - block * side).min(side), ..rows };
                    // SAFETY: as the caller says.
                    unsafe { transpose_stripe(from, to, rows, columns, size, &mut scratch) }
                }
            }
        }
    }
}

fn at(p: *const u8, i: usize, stride: isize) -> *const u8 {
    p.wrapping_offset(i as isize * stride)
}

macro_rules! by_size {
    ($size:expr, $type:ident => $e:expr) => {
        match $size {
            1 => {
                type $type = u8;
                $e
            }
            2 => {
                type $type = u16;
                $e
            }
            4 => {
                type $type = u32;
                $e
            }
            8 => {
                type $type = u64;
                $e
            }
            _ => {
                type $type = u128;
                $e
            }
        }
    };
}

/// # Safety
/// As `Move::run`.
unsafe fn copy_strided(from: *const u8, to: *mut u8, dim: Dim, size: usize) {
    by_size!(size, T => {
        for i in 0..dim.size {
            let (from, to) = (at(from, i, dim.from).cast::<T>(), at(to, i, dim.to).cast_mut().cast::<T>());
            // SAFETY: as the caller says.
            unsafe { to.write_unaligned(from.read_unaligned()) };
        }
    });
}

/// At most a run's width of the source's rows, all columns, by blocks that are first copied to `scratch`.
///
/// # Safety
/// As `Move::run`.
unsafe fn transpose_stripe(from: *const u8, to: *mut u8, rows: Dim, columns: Dim, size: usize, scratch: &mut [u8]) {
    let side = RUN / size;
    for start in (0..columns.size).step_by(side) {
        let width = (columns.size - start).min(side);
        for (c, line) in scratch.chunks_exact_mut(PITCH).enumerate().take(width) {
            let source = at(from, start + c, columns.from);
            // SAFETY: as the caller says; a line of the scratch holds a run.
            unsafe { std::ptr::copy_nonoverlapping(source, line.as_mut_ptr(), rows.size * size) };
            (0..RUN).step_by(LINE).for_each(|l| prefetch(at(source, side, columns.from).wrapping_add(l)));
        }
        let to = at(to, start, columns.to).cast_mut();
        // SAFETY: as the caller says.
        unsafe { write_block(scratch, to, rows, width, size) };
    }
}

/// Writes `rows.size` lines of `width` elements, which stand in the columns of `scratch`.
///
/// # Safety
/// The lines must be writable.
unsafe fn write_block(scratch: &[u8], to: *mut u8, rows: Dim, width: usize, size: usize) {
    by_size!(size, T => {
        const SIDE: usize = LINE / size_of::<T>();
        for r in (0..rows.size).step_by(SIDE) {
            for c in (0..width).step_by(SIDE) {
                let tile = &scratch[c * PITCH + r * size..];
                let to = at(at(to, r, rows.to), c * size, 1).cast_mut();
                let (height, width) = ((rows.size - r).min(SIDE), (width - c).min(SIDE));
                // SAFETY: as the caller says; the scratch has whole tiles.
                unsafe {
                    if height == SIDE && width == SIDE {
                        T::transpose_tile(tile, to, rows.to);
                    } else {
                        transpose_edge::<T>(tile, to.cast(), rows.to, [height, width]);
                    }
                }
            }
        }
    });
}

/// # Safety
/// The lines must be writable; strides are in bytes.
unsafe fn transpose_edge<T: Copy>(tile: &[u8], to: *mut T, stride: isize, [height, width]: [usize; 2]) {
    for r in 0..height {
        for c in 0..width {
            let from = &tile[c * PITCH + r * size_of::<T>()..][..size_of::<T>()];
            // SAFETY: `from` has an element; the caller vouches for the line.
            unsafe {
                to.byte_offset(r as isize * stride).add(c).write_unaligned(from.as_ptr().cast::<T>().read_unaligned())
            };
        }
    }
}

/// An element that can be transposed in tiles of a cache line's side.
trait Tile: Copy + Default {
    /// # Safety
    /// All lines of the tile must be writable at `to`.
    unsafe fn transpose_tile(tile: &[u8], to: *mut u8, stride: isize);
}

macro_rules! plain_tiles {
    ($($type:ty)*) => {$(
        impl Tile for $type {
            unsafe fn transpose_tile(tile: &[u8], to: *mut u8, stride: isize) {
                const SIDE: usize = LINE / size_of::<$type>();
                assert!(tile.len() >= (SIDE - 1) * PITCH + LINE, "a whole tile");
                let mut lines = [[<$type>::default(); SIDE]; SIDE];
                for c in 0..SIDE {
                    for (r, line) in lines.iter_mut().enumerate() {
                        // SAFETY: within the tile, as asserted.
                        line[c] = unsafe { tile.as_ptr().add(c * PITCH).cast::<$type>().add(r).read_unaligned() };
                    }
                }
                for (r, line) in lines.iter().enumerate() {
                    // SAFETY: as the caller says.
                    unsafe { to.wrapping_offset(r as isize * stride).cast::<[$type; SIDE]>().write_unaligned(*line) };
                }
            }
        }
    )*};
}

plain_tiles! { u8 u16 u64 u128 }
#[cfg(not(target_arch = "x86_64"))]
plain_tiles! { u32 }

#[cfg(target_arch = "x86_64")]
impl Tile for u32 {
    unsafe fn transpose_tile(tile: &[u8], to: *mut u8, stride: isize) {
        assert!(tile.len() >= 15 * PITCH + LINE, "a whole tile");
        for r in (0..16).step_by(4) {
            for c in (0..16).step_by(4) {
                // SAFETY: within the tile, as asserted; the caller vouches for the lines.
                unsafe {
                    let from = tile.as_ptr().add(c * PITCH + r * 4);
                    transpose_four(from, to.wrapping_offset(r as isize * stride).wrapping_add(c * 4), stride)
                }
            }
        }
    }
}

/// Four by four words.
///
/// # Safety
/// Four words must be readable and writable on each of four lines.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn transpose_four(from: *const u8, to: *mut u8, stride: isize) {
    use std::arch::x86_64::*;
    // SAFETY: as the caller says; every x86-64 has these instructions.
    unsafe {
        let [mut a, mut b, mut c, mut d] = [0, 1, 2, 3].map(|i| _mm_loadu_ps(from.add(i * PITCH).cast()));
        _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
        for (i, line) in [a, b, c, d].into_iter().enumerate() {
            _mm_storeu_ps(to.wrapping_offset(i as isize * stride).cast(), line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer<T>(x: &[T]) -> Pointer {
        Pointer(x.as_ptr().cast_mut().cast())
    }

    fn pointer_mut<T>(x: &mut [T]) -> Pointer {
        Pointer(x.as_mut_ptr().cast())
    }

    /// A move of `shape` against a loop over all indices; `start` is where index 0 is read.
    fn check<T: Copy + PartialEq + std::fmt::Debug>(
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
        // SAFETY: the strides stay within the arrays.
        unsafe { m.run(&Workers::new(2), &[(pointer(&x[start..]), pointer_mut(&mut y))]) };
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
            // SAFETY: both have `len` bytes.
            unsafe { copy(&Workers::new(2), pointer(&x), pointer_mut(&mut y), len) };
            assert!(x == y);
        }
        for count in [0, 1, 5, 300_000] {
            let mut y = vec![0u32; count];
            // SAFETY: as many elements.
            unsafe { fill(&Workers::new(2), pointer_mut(&mut y), &0x0102_0304u32.to_ne_bytes(), count) };
            assert!(y.iter().all(|&v| v == 0x0102_0304));
        }
    }

    #[test]
    fn rows_are_gathered() {
        let table: Vec<u32> = (0..1000).collect();
        let indices = [3usize, 99, 0, 3];
        let mut out = vec![0u32; 40];
        let (from, to) = (pointer(&table), pointer_mut(&mut out));
        let row = |p: Pointer, i: usize| p.offset(i as isize * 40);
        // SAFETY: the rows are within both.
        unsafe { move_rows(&Workers::new(2), 4, 40, |i| row(from, indices[i]), |i| row(to, i)) };
        assert!((0..40).all(|i| out[i] as usize == indices[i / 10] * 10 + i % 10));
    }
}
