//! The inner loops of packed products, for each level.
//!
//! Elements are packed as 32-bit words, each of which holds a float, an integer or two `bf16`. A **panel** has the
//! words of a few lines side by side, for one depth after the other. The lines are the rows of the left operand in a
//! tile, or two vectors of columns of the right operand. A tile's sums stay in registers while it goes down two panels.
//!
//! The sum of an element adds its products in increasing order, whatever the blocks are: by `fma` for floats, and by
//! pairs of products as in [`super::rows`] for `bf16` with AVX512-BF16.
//!
//! The inner loops have no closures over arrays, for the reason stated in [`super::rows`].
#![expect(unsafe_code, reason = "products follow addresses")]

use super::gemm::Row;
use crate::elem::Elem;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Level, Portable, Vector, Word};
use std::marker::PhantomData;

/// The inner loops for some element types at some level.
pub struct Tile {
    /// The number of rows of a tile, which are the lines of a left panel except for the last one.
    pub rows: usize,
    /// The number of columns of a tile, which are the lines of a right panel.
    pub columns: usize,
    /// The number of elements of the summed dimension in one word.
    pub step: usize,
    /// Packs one panel of lines at arbitrary addresses.
    pub pack_lines: unsafe fn(&Lines<'_>, to: *mut u32),
    /// Packs panels of lines whose elements of the same depth are adjacent.
    pub pack_adjacent: unsafe fn(&Adjacent, to: *mut u32),
    /// Adds the products of a block of panels to its sums, and writes the sums that are complete.
    pub multiply: unsafe fn(&Block<'_>),
}

/// Lines that are packed into one panel.
pub struct Lines<'a> {
    /// The start of each line. There are at most `width`; missing lines are zero.
    pub starts: &'a [*const u8],
    /// The number of lines of the panel.
    pub width: usize,
    /// The number of bytes from an element of a line to the next.
    pub stride: isize,
    /// The number of elements of a line.
    pub depth: usize,
}

/// Lines to be packed whose elements of the same depth are adjacent.
pub struct Adjacent {
    /// The first element of the first line.
    pub start: *const u8,
    /// The number of lines. The lines that the last panel lacks are zero.
    pub count: usize,
    /// The number of bytes from an element of a line to the next.
    pub stride: isize,
    /// The number of elements of a line.
    pub depth: usize,
}

/// The product of some left panels and some right panels.
pub struct Block<'a> {
    /// Panels of [`Tile::rows`] rows; the last one has [`panel_rows`].
    pub left: *const u32,
    /// Panels of two vectors.
    pub right: *const u32,
    /// A tile of sums for each right panel and each left panel, kept from the first block to the last. All tiles share
    /// the memory of one if the block is the first and has `results`.
    pub sums: *mut u32,
    /// The number of rows.
    pub rows: usize,
    /// The number of right panels.
    pub panels: usize,
    /// The number of words of a line.
    pub depth: usize,
    /// True if sums start at zero.
    pub is_first: bool,
    /// Where the sums are written if they are complete after this block, and `None` if they are not.
    pub results: Option<Results<'a>>,
}

/// Where the results of a block are written.
pub struct Results<'a> {
    /// The block's rows, with the addresses of their results.
    pub rows: &'a [Row],
    /// The number of bytes from the start of a result's row to the block's first column.
    pub start: isize,
    /// The number of columns of the block.
    pub columns: usize,
    /// The number of bytes from column to column of the result.
    pub stride: isize,
    /// True if the sums are added to the present values.
    pub accumulate: bool,
}

/// Returns the number of lines of a left panel if `rows` rows are left and a tile has `tile`. For four rows or fewer
/// there are smaller tiles, of 1, 2 and 4 rows.
pub fn panel_rows(rows: usize, tile: usize) -> usize {
    match rows {
        0..=2 => rows,
        3..=4 => 4,
        _ => tile,
    }
}

impl Tile {
    /// Returns the inner loops for products of `elem` with results of type `out`, or `None` if there are none. They are
    /// those of `level`, or of the machine's best level if that is lower.
    pub fn of(level: Level, elem: Elem, out: Elem) -> Option<Tile> {
        match level.min(Level::strongest()) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if elem == Elem::BF16 && is_x86_feature_detected!("avx512bf16") => match out {
                Elem::BF16 => Some(WithAvx512Bf16::tile::<Pairs, Half, Bf16>()),
                Elem::F32 => Some(WithAvx512Bf16::tile::<Pairs, Half, Whole>()),
                _ => None,
            },
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => tile::<WithAvx512>(elem, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => tile::<WithAvx2>(elem, out),
            _ => tile::<WithArrays>(elem, out),
        }
    }
}

fn tile<L: Compiled>(elem: Elem, out: Elem) -> Option<Tile> {
    Some(match (elem, out) {
        (Elem::F32, Elem::F32) => L::tile::<Floats<L::V>, Whole, Whole>(),
        (Elem::BF16, Elem::BF16) => L::tile::<Floats<L::V>, Bf16, Bf16>(),
        (Elem::BF16, Elem::F32) => L::tile::<Floats<L::V>, Bf16, Whole>(),
        (Elem::F16, Elem::F16) => L::tile::<Floats<L::V>, F16, F16>(),
        (Elem::F16, Elem::F32) => L::tile::<Floats<L::V>, F16, Whole>(),
        (Elem::I32, Elem::I32) | (Elem::U32, Elem::U32) => L::tile::<Integers<L::V>, Whole, Whole>(),
        (Elem::I16, Elem::I16) | (Elem::U16, Elem::U16) => L::tile::<Integers<L::V>, Half, Half>(),
        (Elem::I8, Elem::I8) | (Elem::U8, Elem::U8) => L::tile::<Integers<L::V>, Byte, Byte>(),
        (Elem::I8, Elem::I32) => L::tile::<Integers<L::V>, Byte, Whole>(),
        _ => return None,
    })
}

/// The instructions of a level, with which the inner loops are compiled.
trait Compiled {
    type V: Vector<Word = u32>;
    fn tile<A: Arithmetic<V = Self::V>, E: Element, R: Element>() -> Tile;
}

macro_rules! compiled {
    ($name:ident: $v:ty, $rows:literal rows $(, #[$with:meta])?) => {
        struct $name;

        impl Compiled for $name {
            type V = $v;

            fn tile<A: Arithmetic<V = $v>, E: Element, R: Element>() -> Tile {
                $(#[$with])?
                unsafe fn lines<A: Arithmetic, E: Element>(lines: &Lines<'_>, to: *mut u32) {
                    // SAFETY: as the caller says.
                    unsafe { pack_lines::<A, E>(lines, to) }
                }
                $(#[$with])?
                unsafe fn adjacent<A: Arithmetic, E: Element>(lines: &Adjacent, to: *mut u32) {
                    // SAFETY: as the caller says.
                    unsafe { pack_adjacent::<A, E>(lines, to) }
                }
                $(#[$with])?
                unsafe fn block<A: Arithmetic, R: Element>(block: &Block<'_>) {
                    // SAFETY: as the caller says.
                    unsafe { multiply::<A, R, $rows>(block) }
                }
                Tile {
                    rows: $rows,
                    columns: 2 * <$v>::LANES,
                    step: A::STEP,
                    pack_lines: lines::<A, E>,
                    pack_adjacent: adjacent::<A, E>,
                    multiply: block::<A, R>,
                }
            }
        }
    };
}

compiled!(WithArrays: Portable<u32>, 4 rows);
#[cfg(target_arch = "x86_64")]
compiled!(WithAvx2: Avx2, 6 rows, #[target_feature(enable = "avx2,fma,f16c")]);
#[cfg(target_arch = "x86_64")]
compiled!(WithAvx512: Avx512, 12 rows, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]);
#[cfg(target_arch = "x86_64")]
compiled!(
    WithAvx512Bf16: Avx512, 12 rows,
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512bf16")]
);

/// The multiplication and summation of words.
trait Arithmetic {
    type V: Vector<Word = u32>;
    /// The number of elements of the summed dimension in a word.
    const STEP: usize = 1;
    /// Returns the sum plus the products of a word.
    fn step(sum: Self::V, a: Self::V, b: Self::V) -> Self::V;
    fn add(a: Self::V, b: Self::V) -> Self::V;
}

struct Floats<V>(PhantomData<V>);

impl<V: Vector<Word = u32>> Arithmetic for Floats<V> {
    type V = V;
    #[inline(always)]
    fn step(sum: V, a: V, b: V) -> V {
        a.fused(b, sum)
    }
    #[inline(always)]
    fn add(a: V, b: V) -> V {
        a.fadd(b)
    }
}

/// Integers, which wrap. Narrow integers are in the low bits.
struct Integers<V>(PhantomData<V>);

impl<V: Vector<Word = u32>> Arithmetic for Integers<V> {
    type V = V;
    #[inline(always)]
    fn step(sum: V, a: V, b: V) -> V {
        sum.iadd(a.imul(b))
    }
    #[inline(always)]
    fn add(a: V, b: V) -> V {
        a.iadd(b)
    }
}

/// Two `bf16` in a word, the first in its low half.
#[cfg(target_arch = "x86_64")]
struct Pairs;

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Pairs {
    type V = Avx512;
    const STEP: usize = 2;
    #[inline(always)]
    fn step(sum: Avx512, a: Avx512, b: Avx512) -> Avx512 {
        sum.dot_bf16(a, b)
    }
    #[inline(always)]
    fn add(a: Avx512, b: Avx512) -> Avx512 {
        a.fadd(b)
    }
}

/// The conversion of an element in memory to a word and back.
///
/// # Safety
/// The elements must be readable or writable.
trait Element {
    const SIZE: isize;
    unsafe fn read<V: Vector<Word = u32>>(p: *const u8) -> V;
    unsafe fn read_one(p: *const u8) -> u32;
    unsafe fn write<V: Vector<Word = u32>>(words: V, p: *mut u8);
    unsafe fn write_one(word: u32, p: *mut u8);
}

macro_rules! elements {
    ($($name:ident: $size:literal, $read:ident, $write:ident $(after $round:ident)?;)*) => {$(
        struct $name;

        impl Element for $name {
            const SIZE: isize = $size;
            #[inline(always)]
            unsafe fn read<V: Vector<Word = u32>>(p: *const u8) -> V {
                // SAFETY: as the caller says.
                unsafe { V::$read(p) }
            }
            #[inline(always)]
            unsafe fn read_one(p: *const u8) -> u32 {
                // SAFETY: as the caller says.
                unsafe { <u32 as Word>::$read(p) }
            }
            #[inline(always)]
            unsafe fn write<V: Vector<Word = u32>>(words: V, p: *mut u8) {
                // SAFETY: as the caller says.
                unsafe { words$(.$round())?.$write(p) }
            }
            #[inline(always)]
            unsafe fn write_one(word: u32, p: *mut u8) {
                // SAFETY: as the caller says.
                unsafe { Word::$write(word$(.$round())?, p) }
            }
        }
    )*};
}

elements! {
    Whole: 4, load, store;
    Bf16: 2, load_bf16, store_bf16 after round_bf16;
    F16: 2, load_f16, store_f16;
    Half: 2, load_u16, store_low16;
    Byte: 1, load_i8, store_low8;
}

/// Returns the word of a line at `p`: of one element, or, for arithmetic on pairs, of two, which are `stride` bytes
/// apart. If `has_second` is false, the second of a pair is missing and counts as 0.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
unsafe fn word<A: Arithmetic, E: Element>(p: *const u8, stride: isize, has_second: bool) -> u32 {
    // SAFETY: as the caller says.
    unsafe {
        match A::STEP {
            2 if has_second => E::read_one(p) | E::read_one(p.offset(stride)) << 16,
            _ => E::read_one(p),
        }
    }
}

/// Packs lines at arbitrary addresses into one panel at `to`. Missing lines are zero.
///
/// # Safety
/// The lines must be readable, and `to` must be writable for the panel. The level's features must be enabled.
#[inline(always)]
unsafe fn pack_lines<A: Arithmetic, E: Element>(lines: &Lines<'_>, to: *mut u32) {
    let (width, used) = (lines.width, lines.starts.len());
    // SAFETY: as the caller says.
    unsafe {
        for first in (0..used).step_by(4) {
            match used - first {
                1 => pack_some::<A, E, 1>(lines, first, to),
                2 => pack_some::<A, E, 2>(lines, first, to),
                3 => pack_some::<A, E, 3>(lines, first, to),
                _ => pack_some::<A, E, 4>(lines, first, to),
            }
        }
        for step in (0..lines.depth.div_ceil(A::STEP)).filter(|_| used < width) {
            to.add(step * width + used).write_bytes(0, width - used);
        }
    }
}

/// Packs the `N` lines from `first` on, of which there are at most four, in squares of four steps.
///
/// # Safety
/// As for [`pack_lines`].
#[inline(always)]
unsafe fn pack_some<A: Arithmetic, E: Element, const N: usize>(lines: &Lines<'_>, first: usize, to: *mut u32) {
    let Lines { starts, width, stride, depth } = *lines;
    let (starts, to) = (&starts[first..][..N], to.wrapping_add(first));
    let (steps, whole) = (depth.div_ceil(A::STEP), depth / A::STEP);
    let at = |start: *const u8, step: usize| start.wrapping_offset((step * A::STEP) as isize * stride);
    let squares = whole / 4 * 4;
    for step in (0..squares).step_by(4) {
        let mut square = [[0u32; 4]; 4];
        for (words, &start) in square.iter_mut().zip(starts) {
            // SAFETY: as the caller says.
            *words = unsafe { four::<A, E>(at(start, step), stride) };
        }
        for (s, words) in transposed(square).iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), to.add((step + s) * width), N) };
        }
    }
    for step in squares..steps {
        for (l, &start) in starts.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { to.add(step * width + l).write(word::<A, E>(at(start, step), stride, step < whole)) };
        }
    }
}

/// Returns four words of a line at `p`.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
unsafe fn four<A: Arithmetic, E: Element>(p: *const u8, stride: isize) -> [u32; 4] {
    let mut words = [0; 4];
    // SAFETY: as the caller says.
    unsafe {
        if A::STEP == 1 && E::SIZE == 4 && stride == 4 {
            return p.cast::<[u32; 4]>().read_unaligned();
        }
        for (i, word) in words.iter_mut().enumerate() {
            *word = self::word::<A, E>(p.wrapping_offset((i * A::STEP) as isize * stride), stride, true);
        }
    }
    words
}

#[inline(always)]
fn transposed(square: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has these instructions, and arrays of four words are their registers.
    unsafe {
        use std::arch::x86_64::*;
        let [a, b, c, d]: [__m128i; 4] = std::mem::transmute(square);
        let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        std::mem::transmute([
            _mm_unpacklo_epi64(ab, cd),
            _mm_unpackhi_epi64(ab, cd),
            _mm_unpacklo_epi64(ab_high, cd_high),
            _mm_unpackhi_epi64(ab_high, cd_high),
        ])
    }
    #[cfg(not(target_arch = "x86_64"))]
    [0, 1, 2, 3].map(|i| square.map(|row| row[i]))
}

/// Packs lines whose elements of one depth are adjacent into panels of two vectors at `to`. Missing lines of the last
/// panel are zero.
///
/// # Safety
/// The lines must be readable, and `to` must be writable for the panels. The level's features must be enabled.
#[inline(always)]
unsafe fn pack_adjacent<A: Arithmetic, E: Element>(lines: &Adjacent, to: *mut u32) {
    let (lanes, width) = (A::V::LANES, 2 * A::V::LANES);
    let steps = lines.depth.div_ceil(A::STEP);
    for step in 0..steps {
        let from = lines.start.wrapping_offset((step * A::STEP) as isize * lines.stride);
        let has_second = (step + 1) * A::STEP <= lines.depth;
        for first in (0..lines.count).step_by(lanes) {
            let from = from.wrapping_offset(first as isize * E::SIZE);
            let to = to.wrapping_add(first / width * width * steps + step * width + first % width);
            // SAFETY: as the caller says.
            unsafe {
                if lines.count - first >= lanes {
                    words::<A, E>(from, lines.stride, has_second).store(to.cast());
                } else {
                    for l in 0..lines.count - first {
                        to.add(l).write(word::<A, E>(from.offset(l as isize * E::SIZE), lines.stride, has_second));
                    }
                }
            }
        }
        // The missing lines of the last panel are set to zero.
        for l in lines.count..lines.count.next_multiple_of(width) {
            // SAFETY: as the caller says.
            unsafe { to.add(l / width * width * steps + step * width + l % width).write(0) };
        }
    }
}

/// Returns the words of as many adjacent lines as a vector has lanes. `stride` and `has_second` are as for [`word`].
///
/// # Safety
/// As for [`word`].
#[inline(always)]
unsafe fn words<A: Arithmetic, E: Element>(p: *const u8, stride: isize, has_second: bool) -> A::V {
    // SAFETY: as the caller says.
    unsafe {
        let first = E::read::<A::V>(p);
        match A::STEP {
            2 if has_second => first.or(E::read::<A::V>(p.offset(stride)).shl(A::V::splat(16))),
            _ => first,
        }
    }
}

/// Adds the products of a block's panels to its sums, in tiles of up to `M` rows. Writes the results if the block has
/// them.
///
/// # Safety
/// Panels, sums and results must be valid as `block` states. The level's features must be enabled.
#[inline(always)]
unsafe fn multiply<A: Arithmetic, R: Element, const M: usize>(block: &Block<'_>) {
    let width = 2 * A::V::LANES;
    let mut sums = block.sums;
    // Sums that are complete at once need memory for one tile only, which stays in the first cache.
    let step = if block.is_first && block.results.is_some() { 0 } else { M * width };
    for panel in 0..block.panels {
        let right = block.right.wrapping_add(panel * width * block.depth);
        for row in (0..block.rows).step_by(M) {
            let left = block.left.wrapping_add(row * block.depth);
            let tile = At { row, column: panel * width, left, right, sums };
            // SAFETY: as the caller says.
            unsafe {
                match panel_rows(block.rows - row, M) {
                    1 => go_down::<A, R, 1>(&tile, block),
                    2 => go_down::<A, R, 2>(&tile, block),
                    4 => go_down::<A, R, 4>(&tile, block),
                    _ => go_down::<A, R, M>(&tile, block),
                }
            }
            sums = sums.wrapping_add(step);
        }
    }
}

/// The position of a tile in its block, with its panels and sums.
struct At {
    row: usize,
    column: usize,
    left: *const u32,
    right: *const u32,
    sums: *mut u32,
}

/// Computes one tile: `M` rows by two vectors of columns. Writes its results if the block has them.
///
/// # Safety
/// As for [`multiply`].
#[inline(always)]
unsafe fn go_down<A: Arithmetic, R: Element, const M: usize>(tile: &At, block: &Block<'_>) {
    let lanes = A::V::LANES;
    let at = |r: usize, v: usize| tile.sums.wrapping_add((2 * r + v) * lanes);
    let mut sums = [[A::V::splat(0); 2]; M];
    if !block.is_first {
        for (r, sum) in sums.iter_mut().enumerate() {
            // SAFETY: the sums were written by the first block.
            *sum = unsafe { [A::V::load(at(r, 0).cast()), A::V::load(at(r, 1).cast())] };
        }
    }
    for d in 0..block.depth {
        let right = tile.right.wrapping_add(2 * d * lanes);
        // SAFETY: as the caller says.
        let b = unsafe { [A::V::load(right.cast()), A::V::load(right.add(lanes).cast())] };
        for (r, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as the caller says.
            let a = A::V::splat(unsafe { *tile.left.add(d * M + r) });
            *sum = [A::step(sum[0], a, b[0]), A::step(sum[1], a, b[1])];
        }
    }
    for (r, sum) in sums.into_iter().enumerate() {
        // SAFETY: as the caller says.
        unsafe {
            sum[0].store(at(r, 0).cast());
            sum[1].store(at(r, 1).cast());
        }
    }
    let Some(results) = &block.results else { return };
    for (r, row) in results.rows[tile.row..].iter().enumerate().take(M) {
        for v in 0..2 {
            // SAFETY: the sums were written just now; else as the caller says.
            unsafe { write::<A, R>(A::V::load(at(r, v).cast()), row, tile.column + v * lanes, results) };
        }
    }
}

/// Writes the sums of a vector of columns, as many of them as the result has, or adds them to the result if it
/// accumulates.
///
/// # Safety
/// The columns must be writable, and the level's features must be enabled.
#[inline(always)]
unsafe fn write<A: Arithmetic, R: Element>(sums: A::V, row: &Row, column: usize, results: &Results<'_>) {
    let count = A::V::LANES.min(results.columns.saturating_sub(column));
    let to = row.c.0.wrapping_offset(results.start + column as isize * results.stride);
    // SAFETY: as the caller says.
    unsafe {
        if count == A::V::LANES && results.stride == R::SIZE {
            let sums = if results.accumulate { A::add(R::read(to), sums) } else { sums };
            return R::write(sums, to);
        }
        // The words are written one by one, because they are too few for a vector or not adjacent. A vector has at most
        // 16 words.
        let at = |l: usize| to.wrapping_offset(l as isize * results.stride);
        let mut words = [0u32; 16];
        let mut sums = sums;
        if results.accumulate {
            for (l, word) in words.iter_mut().enumerate().take(count) {
                *word = R::read_one(at(l));
            }
            sums = A::add(A::V::load(words.as_ptr().cast()), sums);
        }
        sums.store(words.as_mut_ptr().cast());
        for (l, &word) in words.iter().enumerate().take(count) {
            R::write_one(word, at(l));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    struct PairsOfArrays;

    impl Arithmetic for PairsOfArrays {
        type V = Portable<u32>;
        const STEP: usize = 2;
        fn step(sum: Self::V, a: Self::V, b: Self::V) -> Self::V {
            let (low, high) = (Self::V::splat(16), Self::V::splat(0xffff_0000));
            a.shl(low).fused(b.shl(low), a.and(high).fused(b.and(high), sum))
        }
        fn add(a: Self::V, b: Self::V) -> Self::V {
            a.fadd(b)
        }
    }

    /// Returns the inner loops for pairs of `bf16` with results in `f32`, without the instruction that multiplies
    /// pairs.
    pub fn pairs() -> Tile {
        WithArrays::tile::<PairsOfArrays, Half, Whole>()
    }
}
