//! Products of 32-bit integers, which wrap.
//!
//! Both operands are packed into panels and multiplied by a tile of registers: 12 by 2 vectors with AVX-512, 4 by 2 elsewhere.
//! A piece is walked in blocks that fit the second cache.

use super::Gemm;
use crate::pool::piece;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Level, Portable, Vector};

/// Rows, columns and depth of a block.
const ROWS: usize = 192;
const COLUMNS: usize = 512;
const DEPTH: usize = 256;

/// `c = a b`, or `c += a b`.
///
/// # Safety
/// As [`Gemm::run`].
pub(super) unsafe fn multiply(g: &Gemm, a: *const u32, b: *const u32, c: *mut u32) {
    // SAFETY: as the caller says, and the level is there.
    unsafe {
        match Level::best() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512(g, a, b, c),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(g, a, b, c),
            _ => blocks::<Portable<u32>, 4>(g, a, b, c),
        }
    }
}

/// # Safety
/// As [`multiply`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
unsafe fn avx512(g: &Gemm, a: *const u32, b: *const u32, c: *mut u32) {
    // SAFETY: as the caller says.
    unsafe { blocks::<Avx512, 12>(g, a, b, c) }
}

/// # Safety
/// As [`multiply`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn avx2(g: &Gemm, a: *const u32, b: *const u32, c: *mut u32) {
    // SAFETY: as the caller says.
    unsafe { blocks::<Avx2, 4>(g, a, b, c) }
}

/// # Safety
/// As [`multiply`].
#[inline(always)]
unsafe fn blocks<V: Vector<Word = u32>, const M: usize>(g: &Gemm, a: *const u32, b: *const u32, c: *mut u32) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let offset = |s: [isize; 2], i: usize, j: usize| i as isize * s[0] + j as isize * s[1];
    for depth in (0..g.k.div_ceil(DEPTH).max(1)).map(|d| piece(g.k, DEPTH, d)) {
        for columns in (0..g.n.div_ceil(COLUMNS)).map(|p| piece(g.n, COLUMNS, p)) {
            let b = b.wrapping_offset(offset(g.b, depth.start, columns.start));
            // SAFETY: as the caller says.
            unsafe { pack(&mut right, b, [g.b[1], g.b[0]], columns.len(), depth.len(), 2 * V::LANES) };
            for rows in (0..g.m.div_ceil(ROWS)).map(|p| piece(g.m, ROWS, p)) {
                let a = a.wrapping_offset(offset(g.a, rows.start, depth.start));
                // SAFETY: as the caller says.
                unsafe { pack(&mut left, a, g.a, rows.len(), depth.len(), M) };
                let c = c.wrapping_offset(offset(g.c, rows.start, columns.start));
                let add = g.accumulate || depth.start > 0;
                // SAFETY: as the caller says.
                unsafe { block::<V, M>(&left, &right, [rows.len(), columns.len(), depth.len()], c, g.c, add) };
            }
        }
    }
}

/// Copies `count` lines of `depth` elements into panels of `width` lines, element by element of the depth; missing lines are 0.
///
/// # Safety
/// The elements must be readable.
unsafe fn pack(to: &mut Vec<u32>, from: *const u32, strides: [isize; 2], count: usize, depth: usize, width: usize) {
    to.clear();
    to.resize(count.next_multiple_of(width) * depth, 0);
    for line in 0..count {
        let panel = &mut to[line / width * width * depth..];
        for d in 0..depth {
            // SAFETY: as the caller says.
            panel[d * width + line % width] =
                unsafe { *from.offset(line as isize * strides[0] + d as isize * strides[1]) };
        }
    }
}

/// # Safety
/// `c` must be valid for the block.
#[inline(always)]
unsafe fn block<V: Vector<Word = u32>, const M: usize>(
    left: &[u32],
    right: &[u32],
    [rows, columns, depth]: [usize; 3],
    c: *mut u32,
    strides: [isize; 2],
    add: bool,
) {
    let width = 2 * V::LANES;
    let mut tile = [0u32; 12 * 32];
    for j in (0..columns).step_by(width) {
        for i in (0..rows).step_by(M) {
            // SAFETY: the panels are padded to whole tiles.
            unsafe {
                micro::<V, M>(left.as_ptr().add(i * depth), right.as_ptr().add(j * depth), depth, tile.as_mut_ptr())
            };
            for r in 0..M.min(rows - i) {
                let line = c.wrapping_offset((i + r) as isize * strides[0] + j as isize * strides[1]);
                // SAFETY: as the caller says.
                unsafe { write_line(&tile[r * width..][..width.min(columns - j)], line, strides[1], add) };
            }
        }
    }
}

/// # Safety
/// `to` must be valid for the line.
#[inline(always)]
unsafe fn write_line(line: &[u32], to: *mut u32, stride: isize, add: bool) {
    for (j, &x) in line.iter().enumerate() {
        // SAFETY: as the caller says.
        let at = unsafe { &mut *to.offset(j as isize * stride) };
        *at = if add { at.wrapping_add(x) } else { x };
    }
}

/// One tile: `M` rows by two vectors.
///
/// # Safety
/// The panels must have `depth` steps; `tile` must hold the tile.
#[inline(always)]
unsafe fn micro<V: Vector<Word = u32>, const M: usize>(
    left: *const u32,
    right: *const u32,
    depth: usize,
    tile: *mut u32,
) {
    let mut sums = [[V::splat(0); 2]; M];
    for d in 0..depth {
        // SAFETY: as the caller says.
        let b =
            unsafe { [V::load(right.add(2 * d * V::LANES).cast()), V::load(right.add((2 * d + 1) * V::LANES).cast())] };
        for (r, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as the caller says.
            let a = V::splat(unsafe { *left.add(d * M + r) });
            *sum = [sum[0].iadd(a.imul(b[0])), sum[1].iadd(a.imul(b[1]))];
        }
    }
    for (r, sum) in sums.into_iter().enumerate() {
        for (v, s) in sum.into_iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { s.store(tile.add((2 * r + v) * V::LANES).cast()) };
        }
    }
}
