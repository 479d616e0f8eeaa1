//! A matrix unit in plain code. The machine's unit is compared with it, and tests use it on machines that have none.
#![expect(unsafe_code, reason = "products follow addresses")]

use super::loops::{COLUMNS, Descent, MatrixUnit, REGISTER, SIDE, TilePairs, TileQuads};
#[cfg(test)]
use super::loops::{multiply, of_types, pack_rows, tile_of};
#[cfg(test)]
use crate::elem::Elem;
use crate::matmul::tile::Words;
#[cfg(test)]
use crate::matmul::tile::{Element, Tile, pack_adjacent, pack_lines};
#[cfg(test)]
use crate::simd::Portable;
use crate::simd::Vector;
use std::marker::PhantomData;

/// The sums that a matrix unit computes.
pub(super) trait Dot: Words {
    /// Returns `sum` plus the products of the words of a row and of a column.
    fn dot(row: &[u32; SIDE], column: &[u32; SIDE], sum: u32) -> u32;
}

impl<V: Vector<Word = u32>> Dot for TilePairs<V> {
    /// Computes a sum of each half of the words by `fma`, and adds their sum to `sum`. Subnormal numbers count as
    /// zeros.
    fn dot(row: &[u32; SIDE], column: &[u32; SIDE], sum: u32) -> u32 {
        let halves = |word: u32| [word << 16, word & 0xffff_0000].map(|bits| flushed(f32::from_bits(bits)));
        let mut sums = [0f32; 2];
        for (&a, &b) in row.iter().zip(column) {
            let (a, b) = (halves(a), halves(b));
            sums = [0, 1].map(|half| flushed(a[half].mul_add(b[half], sums[half])));
        }
        flushed(flushed(f32::from_bits(sum)) + flushed(sums[0] + sums[1])).to_bits()
    }
}

fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0f32.copysign(x) } else { x }
}

impl<V: Vector<Word = u32>> Dot for TileQuads<V> {
    fn dot(row: &[u32; SIDE], column: &[u32; SIDE], sum: u32) -> u32 {
        let bytes = |words: &[u32; SIDE]| words.map(|word| word.to_le_bytes().map(|byte| i32::from(byte as i8)));
        let (row, column) = (bytes(row), bytes(column));
        let products = row.as_flattened().iter().zip(column.as_flattened()).map(|(a, b)| a * b);
        products.fold(sum, |sum, product| sum.wrapping_add(product as u32))
    }
}

/// A matrix unit that plain code emulates.
pub(super) struct Emulated<A>(PhantomData<A>);

impl<A: Dot> MatrixUnit for Emulated<A> {
    type Words = A;

    unsafe fn prepare() -> Emulated<A> {
        Emulated(PhantomData)
    }

    unsafe fn go_down(&self, descent: &Descent) {
        let Descent { left, right, sums, heights, depths, is_first } = *descent;
        for (r, c) in (0..heights * SIDE).flat_map(|r| (0..COLUMNS).map(move |c| (r, c))) {
            // SAFETY: panels and sums are as `descent` states.
            unsafe {
                let at = sums.add(r * COLUMNS + c);
                let sum = if is_first { 0 } else { at.read() };
                at.write((0..depths).fold(sum, |sum, depth| {
                    let row = left.add(depth * heights * REGISTER + r * SIDE).cast::<[u32; SIDE]>().read();
                    let step = |s: usize| right.add((depth * SIDE + s) * COLUMNS + c).read();
                    A::dot(&row, &std::array::from_fn(step), sum)
                }));
            }
        }
    }
}

/// Returns the inner loops of an emulated unit, or `None` if it has none for these types.
#[cfg(test)]
pub(in super::super) fn tile(elem: Elem, out: Elem) -> Option<Tile> {
    fn tile<A: Dot, E: Element, R: Element>() -> Tile {
        let [rows, lines] = [pack_rows::<A, E>, pack_lines::<A, E>];
        tile_of::<Emulated<A>>(rows, lines, pack_adjacent::<A, E>, multiply::<Emulated<A>, R>)
    }
    of_types!(elem, out, tile, Portable<u32>)
}
