//! The inner loops of packed products, for each level.
//!
//! Elements are packed as 32-bit words, each of which holds a float, an integer, two `bf16` or four 8-bit integers. A
//! **panel** has the words of a few lines side by side, for one depth after the other. The lines are the rows of the
//! left operand in a tile, or its columns of the right operand. A tile's sums stay in registers while it goes down two
//! panels. The left panels of a matrix unit differ ([`super::matrix_unit`]).
//!
//! The order in which a sum adds its products is that of [`Order`], whatever the blocks are.
//!
//! The inner loops have no closures over arrays, for the reason stated in [`super::rows`].
#![expect(unsafe_code, reason = "products follow addresses")]

use super::gemm::{Pieces, Row};
use crate::elem::Elem;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Level, Portable, Vector, Word};
use std::marker::PhantomData;

/// The number of blocks for which columns are packed at a time, for rows of several blocks.
const DEPTHS: usize = 8;

/// The order in which a sum adds its products. It depends on the instructions that the process uses, the element types
/// and the shape of the product, with the pieces of its rows, and never on timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One product after the other, by `fma` for floats.
    Sequential,
    /// Pairs of products of `bf16`, the second of each pair first, by `fma`. Subnormal numbers count as zeros.
    Pairs,
    /// Words of 16 steps of a tile at a time. For `bf16`, the first products of all words have a sum of their own, and
    /// so have the second ones, both by `fma`. The two are added, and then added to the sum. Subnormal numbers count as
    /// zeros. For integers the order does not matter.
    Tiles,
}

/// The inner loops for some element types at some level.
pub struct Tile {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compute what this order computes"))]
    pub order: Order,
    /// The number of rows of a tile, which are the lines of a left panel except for the last one.
    pub rows: usize,
    /// The number of columns of a tile, which are the lines of a right panel.
    pub columns: usize,
    /// The number of elements of the summed dimension in one word.
    pub step: usize,
    /// The number of words of which packed lines have a multiple. The last ones may be zero.
    pub unit: usize,
    /// The number of blocks for which columns are packed at a time, for rows of several blocks.
    pub depths: usize,
    /// Returns the number of lines of a left panel if this many rows are left.
    pub panel_rows: fn(usize) -> usize,
    /// Packs one left panel.
    pub pack_rows: unsafe fn(&Lines<'_>, to: *mut u32),
    /// Packs one right panel of lines at arbitrary addresses.
    pub pack_lines: unsafe fn(&Lines<'_>, to: *mut u32),
    /// Packs right panels of lines whose elements of the same depth are adjacent.
    pub pack_adjacent: unsafe fn(&Adjacent, to: *mut u32),
    /// Adds the products of a block of panels to its sums, which start from zero in the first block. Writes the sums
    /// that are complete to the results, or adds them to the values there.
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
    /// Panels of [`Tile::rows`] rows; the last one has [`Tile::panel_rows`].
    pub left: *const u32,
    /// Panels of [`Tile::columns`] columns.
    pub right: *const u32,
    /// A tile of sums for each right panel and each left panel, kept from the first block to the last. All tiles share
    /// the memory of one if the block is the first and has `results`.
    pub sums: *mut u32,
    /// The number of rows.
    pub rows: usize,
    /// The number of right panels.
    pub panels: usize,
    /// The number of words of a line, a multiple of [`Tile::unit`].
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

impl Block<'_> {
    /// Returns the tiles of this block, of up to `rows` rows and `columns` columns, one right panel after the other.
    #[inline(always)]
    pub(super) fn tiles(&self, rows: usize, columns: usize) -> impl Iterator<Item = At> {
        // Sums that are complete at once need memory for one tile only, which stays in the first cache.
        let step = if self.is_first && self.results.is_some() { 0 } else { rows * columns };
        let heights = self.rows.div_ceil(rows);
        (0..self.panels * heights).map(move |i| {
            let (row, column) = (i % heights * rows, i / heights * columns);
            let left = self.left.wrapping_add(row * self.depth);
            let right = self.right.wrapping_add(column * self.depth);
            At { row, column, left, right, sums: self.sums.wrapping_add(i * step) }
        })
    }
}

/// Returns the number of lines of a left panel if `rows` rows are left and a tile has `tile`. For four rows or fewer
/// there are smaller tiles, of 1, 2 and 4 rows.
fn panel_rows(rows: usize, tile: usize) -> usize {
    match rows {
        0..=2 => rows,
        3..=4 => 4,
        _ => tile,
    }
}

impl Tile {
    /// Returns true if a product that sums `k` elements, whose rows are in these pieces or contiguous, can be packed in
    /// words of these inner loops, and if `k` is not so small that most of them would be zeros.
    pub fn suits(&self, k: usize, pieces: Option<&Pieces>) -> bool {
        let whole = self.step * self.unit;
        2 * k >= whole && pieces.is_none_or(|p| p.starts.len() == 1 || p.len.is_multiple_of(whole))
    }

    /// Returns the inner loops that multiply vectors, or `None` if there are none for these types, such as types of 64
    /// bits, complex numbers and truth values. They are those of `level`, or of the machine's best level if that is
    /// lower.
    pub fn of_vectors(level: Level, elem: Elem, out: Elem) -> Option<Tile> {
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
                    order: if A::STEP == 1 { Order::Sequential } else { Order::Pairs },
                    rows: $rows,
                    columns: A::COLUMNS,
                    step: A::STEP,
                    unit: A::UNIT,
                    depths: DEPTHS,
                    panel_rows: |rows| panel_rows(rows, $rows),
                    pack_rows: lines::<A, E>,
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

/// The words of packed panels, and the sums of their products.
pub(super) trait Words {
    type V: Vector<Word = u32>;
    /// The number of elements of the summed dimension in a word.
    const STEP: usize = 1;
    /// The number of words of which packed lines have a multiple.
    const UNIT: usize = 1;
    /// The number of columns of a tile, which is a multiple of a vector's lanes.
    const COLUMNS: usize = 2 * Self::V::LANES;
    fn add(a: Self::V, b: Self::V) -> Self::V;
}

/// The multiplication and summation of words.
trait Arithmetic: Words {
    /// Returns the sum plus the products of a word.
    fn step(sum: Self::V, a: Self::V, b: Self::V) -> Self::V;
}

pub(super) struct Floats<V>(PhantomData<V>);

impl<V: Vector<Word = u32>> Words for Floats<V> {
    type V = V;
    #[inline(always)]
    fn add(a: V, b: V) -> V {
        a.fadd(b)
    }
}

impl<V: Vector<Word = u32>> Arithmetic for Floats<V> {
    #[inline(always)]
    fn step(sum: V, a: V, b: V) -> V {
        a.fused(b, sum)
    }
}

/// Integers, which wrap. Narrow integers are in the low bits.
pub(super) struct Integers<V>(PhantomData<V>);

impl<V: Vector<Word = u32>> Words for Integers<V> {
    type V = V;
    #[inline(always)]
    fn add(a: V, b: V) -> V {
        a.iadd(b)
    }
}

impl<V: Vector<Word = u32>> Arithmetic for Integers<V> {
    #[inline(always)]
    fn step(sum: V, a: V, b: V) -> V {
        sum.iadd(a.imul(b))
    }
}

/// Two `bf16` in a word, the first in its low half.
#[cfg(target_arch = "x86_64")]
struct Pairs;

#[cfg(target_arch = "x86_64")]
impl Words for Pairs {
    type V = Avx512;
    const STEP: usize = 2;
    #[inline(always)]
    fn add(a: Avx512, b: Avx512) -> Avx512 {
        a.fadd(b)
    }
}

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Pairs {
    #[inline(always)]
    fn step(sum: Avx512, a: Avx512, b: Avx512) -> Avx512 {
        sum.dot_bf16(a, b)
    }
}

/// The conversion of an element in memory to a word and back.
///
/// # Safety
/// The elements must be readable or writable.
pub(super) trait Element {
    const SIZE: isize;
    unsafe fn read<V: Vector<Word = u32>>(p: *const u8) -> V;
    unsafe fn read_one(p: *const u8) -> u32;
    unsafe fn write<V: Vector<Word = u32>>(words: V, p: *mut u8);
    unsafe fn write_one(word: u32, p: *mut u8);
}

macro_rules! elements {
    ($($(#[$attribute:meta])? $name:ident: $size:literal, $read:ident, $write:ident $(after $round:ident)?;)*) => {$(
        $(#[$attribute])?
        pub(super) struct $name;

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
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "matrix units alone pack bytes"))]
    Octet: 1, load_u8, store_low8;
}

/// Returns the word of a line at `p` that has the next `count` elements, which are `stride` bytes apart and at most as
/// many as a word holds. Missing elements count as 0. If words hold several elements, `E` reads their bits.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
pub(super) unsafe fn word<A: Words, E: Element>(p: *const u8, stride: isize, count: usize) -> u32 {
    // SAFETY: as the caller says.
    unsafe {
        let mut word = E::read_one(p);
        for e in 1..A::STEP {
            if e < count {
                word |= E::read_one(p.offset(e as isize * stride)) << (32 / A::STEP * e);
            }
        }
        word
    }
}

/// Packs lines at arbitrary addresses into one panel at `to`. Missing lines, and what lines lack of a multiple of
/// [`Words::UNIT`] words, are zero.
///
/// # Safety
/// The lines must be readable, and `to` must be writable for the panel. The level's features must be enabled.
#[inline(always)]
pub(super) unsafe fn pack_lines<A: Words, E: Element>(lines: &Lines<'_>, to: *mut u32) {
    let (width, used) = (lines.width, lines.starts.len());
    let steps = lines.depth.div_ceil(A::STEP);
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
        for step in (0..steps).filter(|_| used < width) {
            to.add(step * width + used).write_bytes(0, width - used);
        }
        to.add(steps * width).write_bytes(0, (steps.next_multiple_of(A::UNIT) - steps) * width);
    }
}

/// Packs the `N` lines from `first` on, of which there are at most four, in squares of four steps.
///
/// # Safety
/// As for [`pack_lines`].
#[inline(always)]
unsafe fn pack_some<A: Words, E: Element, const N: usize>(lines: &Lines<'_>, first: usize, to: *mut u32) {
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
            unsafe { to.add(step * width + l).write(word::<A, E>(at(start, step), stride, depth - step * A::STEP)) };
        }
    }
}

/// Returns four words of a line at `p`, whose elements are `stride` bytes apart.
///
/// # Safety
/// The elements must be readable.
#[inline(always)]
unsafe fn four<A: Words, E: Element>(p: *const u8, stride: isize) -> [u32; 4] {
    let mut words = [0; 4];
    // SAFETY: as the caller says.
    unsafe {
        if are_words::<A, E>(stride) {
            return p.cast::<[u32; 4]>().read_unaligned();
        }
        for (i, word) in words.iter_mut().enumerate() {
            *word = self::word::<A, E>(p.wrapping_offset((i * A::STEP) as isize * stride), stride, A::STEP);
        }
    }
    words
}

/// Returns true if the elements of a line are in memory as they are in words.
#[inline(always)]
pub(super) fn are_words<A: Words, E: Element>(stride: isize) -> bool {
    cfg!(target_endian = "little") && A::STEP as isize * E::SIZE == 4 && stride == E::SIZE
}

#[inline(always)]
pub(super) fn transposed(square: [[u32; 4]; 4]) -> [[u32; 4]; 4] {
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

/// Packs lines whose elements of one depth are adjacent into right panels at `to`. Missing lines of the last panel, and
/// what lines lack of a multiple of [`Words::UNIT`] words, are zero.
///
/// # Safety
/// The lines must be readable, and `to` must be writable for the panels. The level's features must be enabled.
#[inline(always)]
pub(super) unsafe fn pack_adjacent<A: Words, E: Element>(lines: &Adjacent, to: *mut u32) {
    let (lanes, width) = (A::V::LANES, A::COLUMNS);
    let used = lines.depth.div_ceil(A::STEP);
    let steps = used.next_multiple_of(A::UNIT);
    for step in 0..used {
        let from = lines.start.wrapping_offset((step * A::STEP) as isize * lines.stride);
        let elements = (lines.depth - step * A::STEP).min(A::STEP);
        for first in (0..lines.count).step_by(lanes) {
            let from = from.wrapping_offset(first as isize * E::SIZE);
            let to = to.wrapping_add(first / width * width * steps + step * width + first % width);
            // SAFETY: as the caller says.
            unsafe {
                if lines.count - first >= lanes {
                    words::<A, E>(from, lines.stride, elements).store(to.cast());
                } else {
                    for l in 0..lines.count - first {
                        to.add(l).write(word::<A, E>(from.offset(l as isize * E::SIZE), lines.stride, elements));
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
    for panel in (0..lines.count).step_by(width) {
        // SAFETY: as the caller says.
        unsafe { to.add(panel * steps + used * width).write_bytes(0, (steps - used) * width) };
    }
}

/// Returns the words of as many adjacent lines as a vector has lanes. `stride` and `count` are as for [`word`].
///
/// # Safety
/// As for [`word`].
#[inline(always)]
pub(super) unsafe fn words<A: Words, E: Element>(p: *const u8, stride: isize, count: usize) -> A::V {
    // SAFETY: as the caller says.
    unsafe {
        let mut words = E::read::<A::V>(p);
        for e in 1..A::STEP {
            if e < count {
                let next = E::read::<A::V>(p.offset(e as isize * stride));
                words = words.or(next.shl(A::V::splat((32 / A::STEP * e) as u32)));
            }
        }
        words
    }
}

/// Adds the products of a block's panels to its sums, in tiles of up to `M` rows. In the first block the sums start
/// from zero, whatever is in their memory. If the block has results, the sums are written there, or added to the values
/// there if it accumulates.
///
/// # Safety
/// Panels, sums and results must be valid as `block` states. The level's features must be enabled.
#[inline(always)]
unsafe fn multiply<A: Arithmetic, R: Element, const M: usize>(block: &Block<'_>) {
    for tile in block.tiles(M, A::COLUMNS) {
        // SAFETY: as the caller says.
        unsafe {
            match panel_rows(block.rows - tile.row, M) {
                1 => go_down::<A, R, 1>(&tile, block),
                2 => go_down::<A, R, 2>(&tile, block),
                4 => go_down::<A, R, 4>(&tile, block),
                _ => go_down::<A, R, M>(&tile, block),
            }
        }
    }
}

/// The position of a tile in its block, with its panels and sums.
pub(super) struct At {
    pub row: usize,
    pub column: usize,
    pub left: *const u32,
    pub right: *const u32,
    pub sums: *mut u32,
}

/// Adds the products of the panels of one tile, of `M` rows and two vectors of columns, to its sums, which start from
/// zero in the first block. If the block has results, also does what [`write_results`] does.
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
    // SAFETY: the sums were written just now; else as the caller says.
    unsafe { write_results::<A, R>(tile, M, block) };
}

/// Writes the sums of a tile of up to `rows` rows to the block's results, or adds them to the values there if it
/// accumulates. Does nothing if the block has no results.
///
/// # Safety
/// The sums of the tile must be complete, and the results must be valid as `block` states. The level's features must
/// be enabled.
#[inline(always)]
pub(super) unsafe fn write_results<A: Words, R: Element>(tile: &At, rows: usize, block: &Block<'_>) {
    let Some(results) = &block.results else { return };
    for (r, row) in results.rows[tile.row..].iter().enumerate().take(rows) {
        for v in (0..A::COLUMNS).step_by(A::V::LANES) {
            let sums = tile.sums.wrapping_add(r * A::COLUMNS + v).cast_const();
            // SAFETY: as the caller says.
            unsafe { write::<A, R>(A::V::load(sums.cast()), row, tile.column + v, results) };
        }
    }
}

/// Writes the sums of a vector of columns, as many of them as the result has, or adds them to the result if it
/// accumulates.
///
/// # Safety
/// The columns must be writable, and the level's features must be enabled.
#[inline(always)]
unsafe fn write<A: Words, R: Element>(sums: A::V, row: &Row, column: usize, results: &Results<'_>) {
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

    impl Words for PairsOfArrays {
        type V = Portable<u32>;
        const STEP: usize = 2;
        fn add(a: Self::V, b: Self::V) -> Self::V {
            a.fadd(b)
        }
    }

    impl Arithmetic for PairsOfArrays {
        fn step(sum: Self::V, a: Self::V, b: Self::V) -> Self::V {
            let (low, high) = (Self::V::splat(16), Self::V::splat(0xffff_0000));
            a.shl(low).fused(b.shl(low), a.and(high).fused(b.and(high), sum))
        }
    }

    /// Returns the inner loops for pairs of `bf16` with results in `f32`, without the instruction that multiplies
    /// pairs.
    pub fn pairs() -> Tile {
        WithArrays::tile::<PairsOfArrays, Half, Whole>()
    }
}
