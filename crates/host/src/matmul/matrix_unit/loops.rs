//! The inner loops of products by a matrix unit, whichever it is.
#![expect(unsafe_code, reason = "products follow addresses")]

use crate::matmul::tile::{
    Adjacent, At, Block, Element, Floats, Integers, Lines, Order, Tile, Words, are_words, transposed, word, words,
    write_results,
};
use crate::simd::{Vector, prefetch};
use std::marker::PhantomData;

/// The number of rows, of columns and of words of a row that a register of the unit has.
pub(super) const SIDE: usize = 16;
/// The number of words of a register.
pub(super) const REGISTER: usize = SIDE * SIDE;
/// The number of rows of a tile of the inner loops: those of two registers.
pub(super) const ROWS: usize = 2 * SIDE;
/// The number of columns of a tile of the inner loops.
pub(super) const COLUMNS: usize = 2 * SIDE;

/// The number of blocks for which columns are packed at a time. They must come from the second cache, because the unit
/// is faster than the third.
const DEPTHS: usize = 4;

/// Words of `STEP` elements, the first in the low bits, whose sums are those of the words `S`.
pub(super) struct TileWords<S, const STEP: usize>(PhantomData<S>);

/// Two `bf16` in a word.
pub(super) type TilePairs<V> = TileWords<Floats<V>, 2>;

/// Four `i8` in a word.
pub(super) type TileQuads<V> = TileWords<Integers<V>, 4>;

impl<S: Words, const STEP: usize> Words for TileWords<S, STEP> {
    type V = S::V;
    const STEP: usize = STEP;
    const UNIT: usize = SIDE;
    const COLUMNS: usize = COLUMNS;
    #[inline(always)]
    fn add(a: S::V, b: S::V) -> S::V {
        S::add(a, b)
    }
}

/// Returns the inner loops that `$tile::<words, operands, results>()` makes for these types, with vectors `$v`, or
/// `None` if a unit has none.
macro_rules! of_types {
    ($elem:expr, $out:expr, $tile:ident, $v:ty) => {{
        use crate::matmul::tile::{Bf16, Byte, Half, Octet, Whole};
        match ($elem, $out) {
            (Elem::BF16, Elem::BF16) => Some($tile::<TilePairs<$v>, Half, Bf16>()),
            (Elem::BF16, Elem::F32) => Some($tile::<TilePairs<$v>, Half, Whole>()),
            (Elem::I8, Elem::I8) | (Elem::U8, Elem::U8) => Some($tile::<TileQuads<$v>, Octet, Byte>()),
            (Elem::I8, Elem::I32) => Some($tile::<TileQuads<$v>, Octet, Whole>()),
            _ => None,
        }
    }};
}
pub(super) use of_types;

/// A matrix unit, ready to multiply words of some type.
pub(super) trait MatrixUnit {
    type Words: Words;

    /// Prepares the unit. It is released when the value is dropped.
    ///
    /// # Safety
    /// The machine must have the unit, and the process must be permitted to use it.
    unsafe fn prepare() -> Self;

    /// Adds the products of two panels to the sums of a tile, which start from zero if [`Descent::is_first`].
    ///
    /// # Safety
    /// Panels and sums must be valid as `descent` states.
    unsafe fn go_down(&self, descent: &Descent);
}

/// The work on one tile.
pub(super) struct Descent {
    /// A left panel of one or two registers of rows.
    pub left: *const u32,
    /// A right panel of two registers of columns.
    pub right: *const u32,
    /// The sums, row by row.
    pub sums: *mut u32,
    /// The number of registers of rows, which is 1 or 2.
    pub heights: usize,
    /// The number of registers of words that each line has, at least 1.
    pub depths: usize,
    /// True if sums start at zero.
    pub is_first: bool,
}

/// Returns the inner loops of a unit with the functions that are compiled for it.
pub(super) fn tile_of<U: MatrixUnit>(
    pack_rows: unsafe fn(&Lines<'_>, *mut u32),
    pack_lines: unsafe fn(&Lines<'_>, *mut u32),
    pack_adjacent: unsafe fn(&Adjacent, *mut u32),
    multiply: unsafe fn(&Block<'_>),
) -> Tile {
    Tile {
        order: Order::Tiles,
        rows: ROWS,
        columns: COLUMNS,
        step: U::Words::STEP,
        unit: U::Words::UNIT,
        depths: DEPTHS,
        panel_rows: |rows| rows.min(ROWS).next_multiple_of(SIDE),
        pack_rows,
        pack_lines,
        pack_adjacent,
        multiply,
    }
}

/// Packs one left panel at `to`. Missing lines, and what lines lack of whole registers, are zero.
///
/// # Safety
/// The lines must be readable, and `to` must be writable for the panel. The level's features must be enabled.
#[inline(always)]
pub(super) unsafe fn pack_rows<A: Words, E: Element>(lines: &Lines<'_>, to: *mut u32) {
    let (used, height) = (lines.starts.len(), lines.width);
    let are_adjacent = lines.starts.windows(2).all(|pair| pair[1] == pair[0].wrapping_offset(E::SIZE));
    for first in (0..lines.depth).step_by(SIDE * A::STEP) {
        let to = to.wrapping_add(first / A::STEP * height);
        let is_whole = used == height && lines.depth - first >= SIDE * A::STEP;
        // SAFETY: as the caller says.
        unsafe {
            if is_whole && are_adjacent {
                (0..height).step_by(SIDE).for_each(|line| pack_square::<A, E>(lines, line, first, to));
            } else {
                (0..used).for_each(|line| pack_row::<A, E>(lines, line, first, to.add(line * SIDE)));
                to.add(used * SIDE).write_bytes(0, (height - used) * SIDE);
            }
        }
    }
}

/// Packs the elements of a line from `first` on, as many as a row of a register has. Missing ones are zero.
///
/// # Safety
/// As for [`pack_rows`].
#[inline(always)]
unsafe fn pack_row<A: Words, E: Element>(lines: &Lines<'_>, line: usize, first: usize, to: *mut u32) {
    let count = (lines.depth - first).min(SIDE * A::STEP);
    let at = |element: usize| lines.starts[line].wrapping_offset((first + element) as isize * lines.stride);
    let whole = count / A::STEP;
    // SAFETY: as the caller says.
    unsafe {
        if are_words::<A, E>(lines.stride) && whole == SIDE {
            return std::ptr::copy_nonoverlapping(at(0), to.cast(), SIDE * 4);
        }
        for w in 0..SIDE {
            let left = count.saturating_sub(w * A::STEP);
            to.add(w).write(if left == 0 { 0 } else { word::<A, E>(at(w * A::STEP), lines.stride, left) });
        }
    }
}

/// Packs the elements of 16 lines from `first` on, as many as a register has. Those of one depth are adjacent.
///
/// # Safety
/// As for [`pack_rows`].
#[inline(always)]
unsafe fn pack_square<A: Words, E: Element>(lines: &Lines<'_>, line: usize, first: usize, to: *mut u32) {
    let mut steps = [[0u32; SIDE]; SIDE];
    for (s, step) in steps.iter_mut().enumerate() {
        let from = lines.starts[line].wrapping_offset((first + s * A::STEP) as isize * lines.stride);
        for l in (0..SIDE).step_by(A::V::LANES) {
            let from = from.wrapping_offset(l as isize * E::SIZE);
            // SAFETY: as the caller says.
            unsafe { words::<A, E>(from, lines.stride, A::STEP) }.write(&mut step[l..]);
        }
    }
    for (l, s) in (0..SIDE).step_by(4).flat_map(|l| (0..SIDE).step_by(4).map(move |s| (l, s))) {
        let row = |s: usize| [steps[s][l], steps[s][l + 1], steps[s][l + 2], steps[s][l + 3]];
        for (i, words) in transposed([row(s), row(s + 1), row(s + 2), row(s + 3)]).iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { to.add((line + l + i) * SIDE + s).cast::<[u32; 4]>().write_unaligned(*words) };
        }
    }
}

/// Adds the products of a block's panels to its sums. In the first block the sums start from zero, whatever is in their
/// memory. If the block has results, the sums are written there, or added to the values there if it accumulates.
///
/// # Safety
/// Panels, sums and results must be valid as `block` states. The level's features must be enabled, and the unit must be
/// one that this process may use.
#[inline(always)]
pub(super) unsafe fn multiply<U: MatrixUnit, R: Element>(block: &Block<'_>) {
    // SAFETY: as the caller says.
    let unit = unsafe { U::prepare() };
    for tile in block.tiles(ROWS, COLUMNS) {
        let At { row, left, right, sums, .. } = tile;
        let (heights, depths) = ((block.rows - row).min(ROWS).div_ceil(SIDE), block.depth / SIDE);
        if !block.is_first {
            // The sums of the next tile, each line of the cache.
            (ROWS * COLUMNS..2 * ROWS * COLUMNS).step_by(16).for_each(|w| prefetch(sums.wrapping_add(w).cast()));
        }
        // SAFETY: as the caller says.
        unsafe {
            unit.go_down(&Descent { left, right, sums, heights, depths, is_first: block.is_first });
            write_results::<U::Words, R>(&tile, ROWS, block);
        }
    }
}
