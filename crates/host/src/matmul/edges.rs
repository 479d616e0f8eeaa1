//! Tests of products whose sizes and strides differ from those of tiles, for each type at each level.
//!
//! The whole memory of the result is compared, so that writes outside of its elements are detected.
#![forbid(unsafe_code)]

use super::tile::Order;
use super::*;
use crate::block::tests::Random;
use crate::operand::{Source, Target};
use half::{bf16, f16};

/// The types of the operands and of the result.
const TYPES: [(Elem, Elem); 12] = [
    (Elem::F32, Elem::F32),
    (Elem::BF16, Elem::BF16),
    (Elem::BF16, Elem::F32),
    (Elem::F16, Elem::F16),
    (Elem::F16, Elem::F32),
    (Elem::I32, Elem::I32),
    (Elem::U32, Elem::U32),
    (Elem::I16, Elem::I16),
    (Elem::U16, Elem::U16),
    (Elem::I8, Elem::I8),
    (Elem::U8, Elem::U8),
    (Elem::I8, Elem::I32),
];

/// A matrix in memory that has more than its elements.
struct Matrix {
    elem: Elem,
    bytes: Vec<u8>,
    start: isize,
    strides: [isize; 2],
}

impl Matrix {
    /// Draws a matrix. Layout 0 has rows with a gap and layout 1 is its transpose. In layout 2 the row stride is
    /// negative, and in layout 3 the column stride. All other numbers mean a layout with gaps between elements.
    fn draw(random: &mut Random, elem: Elem, [rows, columns]: [usize; 2], layout: usize) -> Matrix {
        let (rows, columns) = (rows as isize, columns as isize);
        let strides = match layout {
            0 => [columns + 3, 1],
            1 => [1, rows + 3],
            2 => [-(columns + 3), 1],
            3 => [columns + 3, -1],
            _ => [2 * columns + 3, 2],
        };
        let extent = [(rows - 1) * strides[0], (columns - 1) * strides[1]];
        let start = -extent.iter().filter(|&&e| e < 0).sum::<isize>();
        let len = extent.iter().map(|e| e.unsigned_abs()).sum::<usize>() + 1;
        let bytes = (0..len).flat_map(|_| bytes_of(elem, random_word(random, elem))).collect();
        Matrix { elem, bytes, start, strides }
    }

    fn place(&self, i: usize, j: usize) -> usize {
        (self.start + i as isize * self.strides[0] + j as isize * self.strides[1]) as usize * self.elem.size()
    }

    fn get(&self, i: usize, j: usize) -> u32 {
        let mut word = [0; 4];
        let (place, size) = (self.place(i, j), self.elem.size());
        word[..size].copy_from_slice(&self.bytes[place..][..size]);
        match self.elem {
            Elem::BF16 => u32::from_le_bytes(word) << 16,
            Elem::F16 => f16::from_le_bytes([word[0], word[1]]).to_f32().to_bits(),
            Elem::I8 => i32::from(word[0] as i8) as u32,
            _ => u32::from_le_bytes(word),
        }
    }

    fn set(&mut self, i: usize, j: usize, word: u32) {
        let (place, bytes) = (self.place(i, j), bytes_of(self.elem, word));
        self.bytes[place..][..bytes.len()].copy_from_slice(&bytes);
    }

    fn source(&self) -> Source<'_> {
        Source::at(&self.bytes, self.place(0, 0))
    }

    fn target(&mut self) -> Target<'_> {
        let place = self.place(0, 0);
        Target::at(&mut self.bytes, place)
    }
}

/// Returns the bits of a float from -1 to 1 with many significant bits, or, for integers, any 32 bits, so that products
/// wrap.
fn random_word(random: &mut Random, elem: Elem) -> u32 {
    let word = random.next() as u32;
    if elem.is_float() { (word as i32 as f32 / 2f32.powi(31)).to_bits() } else { word }
}

/// Returns the bytes of an element with the value of a 32-bit word, which is a float or holds the element in its low
/// bits.
fn bytes_of(elem: Elem, word: u32) -> Vec<u8> {
    match elem {
        Elem::BF16 => bf16::from_f32(f32::from_bits(word)).to_le_bytes().to_vec(),
        Elem::F16 => f16::from_f32(f32::from_bits(word)).to_le_bytes().to_vec(),
        _ => word.to_le_bytes()[..elem.size()].to_vec(),
    }
}

/// Returns `a * b + sum`. For a float type the words are `f32` and the result is rounded once. Integers wrap.
fn fused(elem: Elem, a: u32, b: u32, sum: u32) -> u32 {
    let float = f32::from_bits;
    if elem.is_float() { float(a).mul_add(float(b), float(sum)).to_bits() } else { a.wrapping_mul(b).wrapping_add(sum) }
}

/// Returns an element of the product, whose sum has this order.
fn expected(a: &Matrix, b: &Matrix, [i, j, k]: [usize; 3], order: Order) -> u32 {
    let step = if order == Order::Pairs { 2 } else { 1 };
    let add = |sum: u32, p: usize| fused(a.elem, a.get(i, p), b.get(p, j), sum);
    if order != Order::Tiles || !a.elem.is_float() {
        return (0..k).step_by(step).flat_map(|first| (first..k.min(first + step)).rev()).fold(0, add);
    }
    let float = f32::from_bits;
    (0..k).step_by(32).fold(0, |sum, first| {
        let half = |half: usize| (first + half..k.min(first + 32)).step_by(2).fold(0, add);
        (float(sum) + (float(half(0)) + float(half(1)))).to_bits()
    })
}

/// Returns the inner loops for these types that can run here: those of all levels, those of the machine's matrix unit,
/// and those of the emulated one.
fn tiles(elem: Elem, out: Elem) -> Vec<Tile> {
    let levels = Level::available();
    let mut tiles: Vec<Tile> = levels.into_iter().flat_map(|level| Tile::of_vectors(level, elem, out)).collect();
    tiles.extend(matrix_unit::tile(Level::strongest(), elem, out));
    tiles.extend(matrix_unit::emulated_tile(elem, out));
    tiles
}

fn check(random: &mut Random, (elem, out): (Elem, Elem), [m, n, k]: [usize; 3], layouts: [usize; 3], accumulate: bool) {
    let a = Matrix::draw(random, elem, [m, k], layouts[0]);
    let b = Matrix::draw(random, elem, [k, n], layouts[1]);
    let before = Matrix::draw(random, out, [m, n], layouts[2]);
    let gemm = Gemm { elem, out, m, n, k, a: a.strides, b: b.strides, c: before.strides, accumulate };
    let tiles = tiles(elem, out);
    assert!(tiles.len() >= Level::available().len(), "all these types have tiles");
    for tile in tiles {
        let mut want = Matrix { bytes: before.bytes.clone(), ..before };
        for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let sum = expected(&a, &b, [i, j, k], tile.order);
            let one = if elem.is_float() { 1f32.to_bits() } else { 1 };
            want.set(i, j, if accumulate { fused(elem, one, before.get(i, j), sum) } else { sum });
        }
        let mut got = Matrix { bytes: before.bytes.clone(), ..before };
        let product = Product { a: a.source(), b: b.source(), c: got.target() };
        let batch = Batch::new(gemm, &[]);
        batch.run_with(Level::best(), Some(&tile), By::Panels, &Workers::new(1), &mut [product]);
        assert!(got.bytes == want.bytes, "{:?}, {} rows, {gemm:?}", tile.order, tile.rows);
    }
}

/// Tests numbers of rows below, at and above a tile's, columns around one and two vectors, and odd numbers of summed
/// elements.
#[test]
fn tiles_have_edges_of_every_size_and_stride() {
    let mut random = Random(3);
    let depths = [1, 2, 3, 4, 5, 8, 9, 15];
    for types in TYPES {
        for (case, m) in (1..=17).chain([25]).enumerate() {
            for (column, n) in [1, 7, 15, 16, 17, 31, 32, 33].into_iter().enumerate() {
                let case = 8 * case + column;
                let layouts = [case % 5, case / 5 % 5, case / 25 % 5];
                let k = depths[(case / 3 + column) % depths.len()];
                check(&mut random, types, [m, n, k], layouts, case % 2 == 1);
            }
        }
    }
}

/// Tests sums that continue from one block of the depth to the next, and that end in half a word.
#[test]
fn sums_go_on_from_block_to_block() {
    let mut random = Random(4);
    for (case, types) in TYPES.into_iter().enumerate() {
        for (m, n, k) in [(1, 9, 257), (3, 3, 513), (13, 2, 515), (35, 33, 1100)] {
            check(&mut random, types, [m, n, k], [case % 5, case / 2 % 5, case / 3 % 5], case % 2 == 0);
        }
    }
}
