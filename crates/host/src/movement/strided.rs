//! Copies between arrays with strides, and the loops that do them.
//!
//! [`Move::run`] compares the arrays with the bytes that the strides reach, and [`Move::new`] checks that no element is
//! written twice. The loops below use pointers.
#![expect(unsafe_code, reason = "strides are followed by address")]

use super::sizes::{LINE, LONG_COPY, PART, SMALL};
use crate::memory::Guard;
use crate::operand::{Reach, Source, Target, are_apart};
use crate::pool::{Effort, Workers, piece};
use crate::simd::prefetch;
use bytemuck::AnyBitPattern;
use std::ops::Range;

/// The number of bytes of the runs that transposes read and write. A run at an edge has fewer.
const RUN: usize = 512;
/// The number of bytes from line to line in a transpose's scratch memory. It avoids multiples that fall on the same
/// cache set.
const PITCH: usize = RUN + LINE;

/// Copies `from` to `to`. Panics if their lengths differ. On x86-64, runs of at least [`LONG_COPY`] bytes are copied by
/// `rep movsb`.
pub(super) fn copy_bytes(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "as many bytes");
    // SAFETY: both have as many bytes, and nobody else has `to`.
    unsafe { copy_run(from.as_ptr(), to.as_mut_ptr(), to.len()) }
}

/// Copies `len` bytes. On x86-64, runs of at least [`LONG_COPY`] bytes are copied by `rep movsb`.
///
/// # Safety
/// As for `ptr::copy_nonoverlapping`.
unsafe fn copy_run(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
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

/// A copy of a block of indices between arrays with strides.
#[derive(Clone, Debug)]
pub struct Move {
    /// The loops around the inner copy, with their sizes and the strides of both sides in bytes.
    outer: Vec<Dim>,
    inner: Inner,
    bytes: usize,
    /// The number of sources for each target, and the number of bytes from the position of one in the target to the
    /// next.
    joined: (usize, isize),
    /// The bytes that the move reaches of each source and of each target, from their positions.
    reaches: [Reach; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dim {
    size: usize,
    from: isize,
    to: isize,
}

#[derive(Clone, Copy, Debug)]
enum Inner {
    /// Bytes that are contiguous on both sides.
    Run(usize),
    /// Elements with a stride on one side or both.
    Strided { dim: Dim, size: usize },
    /// Neighbouring rows are adjacent in the source, and neighbouring columns in the target.
    Transpose { rows: Dim, columns: Dim, size: usize },
}

impl Move {
    /// Returns a move that copies a block of `shape` elements of `size` bytes (1, 2, 4, 8 or 16) from one array to
    /// another. `from` and `to` are the strides of the block in the two arrays, in elements.
    ///
    /// # Panics
    /// Panics if elements have another size, if the three lists differ in length, or if `are_apart` cannot show that no
    /// element is written twice.
    pub fn new(size: usize, shape: &[usize], from: &[isize], to: &[isize]) -> Move {
        Move::joining(size, shape, from, to, (1, 0))
    }

    /// Returns a move that copies as [`Move::new`] describes, but from several sources to each target. `sources` holds
    /// the number of sources for each target, and the number of elements of the target from the block of one source to
    /// that of the next.
    ///
    /// # Panics
    /// Panics if elements have another size, if the three lists differ in length, or if `are_apart` cannot show that no
    /// element is written twice.
    pub fn joining(size: usize, shape: &[usize], from: &[isize], to: &[isize], sources: (usize, isize)) -> Move {
        assert!([1, 2, 4, 8, 16].contains(&size), "elements of {size} bytes cannot be moved");
        assert!(shape.len() == from.len() && shape.len() == to.len(), "a stride for each dimension");
        let unit = size as isize;
        // A dimension of one element may have any stride.
        let dim = |((&size, f), t): ((&usize, &isize), &isize)| Dim {
            size,
            from: f.wrapping_mul(unit),
            to: t.wrapping_mul(unit),
        };
        let dims = shape.iter().zip(from).zip(to).map(dim);
        let joined = (sources.0, sources.1 * unit);
        let written: Vec<(usize, isize)> = dims.clone().map(|d| (d.size, d.to)).chain([joined]).collect();
        assert!(are_apart(written.iter().copied(), size), "a move of {shape:?} to {to:?} writes elements twice");
        let reaches = [Reach::of(dims.clone().map(|d| (d.size, d.from)), size), Reach::of(written, size)];
        let mut outer = merge(dims.filter(|d| d.size != 1).collect());
        let inner = take_inner(&mut outer, size);
        Move { outer, inner, bytes: shape.iter().product::<usize>() * size, joined, reaches }
    }

    /// Copies to each target from the sources that it joins: those of the first target come first, then those of the
    /// second, and so on. A source is the position of index 0 of its block, and a target that of index 0 of its first
    /// block.
    ///
    /// # Panics
    /// Panics if there are not as many sources as the targets join, or if an array has fewer bytes than the strides
    /// reach. A block without elements reaches nothing.
    pub fn run(&self, workers: &Workers, sources: &[Source<'_>], targets: &mut [Target<'_>]) {
        let (count, apart) = self.joined;
        assert_eq!(sources.len(), targets.len() * count, "{count} sources for each target");
        if self.bytes == 0 {
            return;
        }
        let [from, to] = self.reaches;
        assert!(sources.iter().all(|s| s.has(from)), "sources of a move have what is read");
        assert!(targets.iter().all(|t| t.has(to)), "targets of a move have what is written");
        let targets = &*targets;
        let effort = if self.bytes * sources.len() < SMALL { Effort::Small } else { Effort::Large };
        let steps: usize = self.outer.iter().map(|d| d.size).product();
        let pieces = self.inner.pieces();
        let group = (PART / (self.bytes / steps).max(1)).clamp(1, steps);
        let groups = steps.div_ceil(group);
        workers.run(sources.len() * groups * pieces, effort, |part| {
            let (source, rest) = (part / (groups * pieces), part % (groups * pieces));
            let (target, place) = (source / count, (source % count) as isize);
            let (from, to) = (sources[source].pointer(), targets[target].pointer().offset(place * apart));
            let range = self.inner.piece(rest % pieces, pieces);
            self.each_step(piece(steps, group, rest / pieces), |f, t| {
                // SAFETY: the arrays have what is reached. No two elements that are written are the same, and the
                // targets are borrowed mutably, so nobody else reads or writes them.
                unsafe { self.inner.run(from.offset(f).0, to.offset(t).0, range.clone()) };
            });
        });
    }

    /// Calls `run` for each of these indices of the outer loops, which are numbered in row-major order, with the
    /// offsets in bytes in the source and in the target.
    fn each_step(&self, steps: Range<usize>, mut run: impl FnMut(isize, isize)) {
        let last = self.outer.last().copied().unwrap_or(Dim { size: 1, from: 0, to: 0 });
        let mut step = steps.start;
        while step < steps.end {
            let (mut f, mut t) = self.step(step);
            let count = (last.size - step % last.size).min(steps.end - step);
            for _ in 0..count {
                run(f, t);
                (f, t) = (f + last.from, t + last.to);
            }
            step += count;
        }
    }

    /// Returns the offsets in bytes, in the source and in the target, of the outer loops' index number `step` in
    /// row-major order.
    fn step(&self, mut step: usize) -> (isize, isize) {
        let (mut f, mut t) = (0, 0);
        for d in self.outer.iter().rev() {
            let i = (step % d.size) as isize;
            (f, t, step) = (f + i * d.from, t + i * d.to, step / d.size);
        }
        (f, t)
    }
}

/// Sorts the dimensions by the magnitude of their stride in the target, the largest first. Merges neighbours whose
/// indices can be counted as those of one dimension, in the source and in the target.
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
    /// Returns the number of parts into which one inner copy is divided, of which the last ones may be empty.
    fn pieces(self) -> usize {
        match self {
            Inner::Run(bytes) => bytes.div_ceil(PART).max(1),
            Inner::Strided { dim, size } => (dim.size * size).div_ceil(PART).max(1),
            Inner::Transpose { rows, columns, size } => (rows.size * columns.size * size).div_ceil(PART).max(1),
        }
    }

    /// Returns piece number `part` of `parts`: a range of the bytes of a run, of the elements of a strided copy, or of
    /// the blocks of rows of a transpose.
    fn piece(self, part: usize, parts: usize) -> Range<usize> {
        let count = match self {
            Inner::Run(bytes) => bytes,
            Inner::Strided { dim, .. } => dim.size,
            Inner::Transpose { rows, size, .. } => rows.size.div_ceil(RUN / size),
        };
        piece(count, count.div_ceil(parts), part)
    }

    /// Copies a piece ([`Inner::piece`]) of one inner copy, whose index 0 is at `from` and `to`.
    ///
    /// # Safety
    /// All bytes that the inner copy reaches must be readable at `from` and writable at `to`, and nothing else may
    /// access the latter. The range must be a piece of this copy.
    unsafe fn run(self, from: *const u8, to: *mut u8, range: Range<usize>) {
        match self {
            Inner::Run(_) => {
                // SAFETY: as the caller says.
                unsafe { copy_run(from.wrapping_add(range.start), to.wrapping_add(range.start), range.len()) }
            }
            Inner::Strided { dim, size } => {
                let (from, to) = (at(from, range.start, dim.from), at(to, range.start, dim.to).cast_mut());
                // SAFETY: as the caller says.
                unsafe { copy_strided(from, to, Dim { size: range.len(), ..dim }, size) }
            }
            Inner::Transpose { rows, columns, size } => {
                let side = RUN / size;
                for block in range {
                    let mut scratch = vec![Guard::current().fill(); side.min(columns.size) * PITCH];
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

/// Copies `dim.size` elements of `size` bytes, which are `dim.from` bytes apart at `from` and `dim.to` bytes apart at
/// `to`.
///
/// # Safety
/// The same as of `Inner::run`.
unsafe fn copy_strided(from: *const u8, to: *mut u8, dim: Dim, size: usize) {
    by_size!(size, T => {
        for i in 0..dim.size {
            let (from, to) = (at(from, i, dim.from).cast::<T>(), at(to, i, dim.to).cast_mut().cast::<T>());
            // SAFETY: as the caller says.
            unsafe { to.write_unaligned(from.read_unaligned()) };
        }
    });
}

/// Copies all elements of some rows and columns. The elements of a column are contiguous in the source, and those of a
/// row in the target. There are at most `RUN / size` rows. Each block of columns is first copied to `scratch`, which
/// has a line for each column of a block.
///
/// # Safety
/// The same as of `Inner::run`.
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

/// Writes `rows.size` lines of `width` elements, which are `rows.to` bytes apart. Line `r` consists of element `r` of
/// each line of `scratch`, which are `PITCH` bytes apart. An element has `size` bytes. Panics if `scratch` lacks one of
/// these elements.
///
/// # Safety
/// The lines at `to` must be writable.
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

/// Writes `height` lines of `width` elements, which are `stride` bytes apart. Line `r` consists of element `r` of each
/// line of `tile`, which are `PITCH` bytes apart. Panics if `tile` lacks one of these elements.
///
/// # Safety
/// The lines must be writable.
unsafe fn transpose_edge<T: AnyBitPattern>(tile: &[u8], to: *mut T, stride: isize, [height, width]: [usize; 2]) {
    for r in 0..height {
        for c in 0..width {
            let from = &tile[c * PITCH + r * size_of::<T>()..][..size_of::<T>()];
            // SAFETY: as the caller says.
            unsafe { to.byte_offset(r as isize * stride).add(c).write_unaligned(bytemuck::pod_read_unaligned(from)) };
        }
    }
}

/// An element type of which square tiles can be transposed. The lines of a tile have the length of a cache line.
trait Tile: Copy + Default {
    /// Writes the transpose of a tile, with lines that are `stride` bytes apart. The lines of `tile` are `PITCH` bytes
    /// apart. Panics if `tile` is too short.
    ///
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
                        line[c] = bytemuck::pod_read_unaligned(&tile[c * PITCH + r * size_of::<$type>()..][..size_of::<$type>()]);
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

/// Transposes four by four words of 32 bits. Lines are `PITCH` bytes apart in the source and `stride` bytes apart in
/// the target.
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
