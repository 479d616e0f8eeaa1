//! Products of few rows with one large row-major matrix, which is read in place, once.
//!
//! The rows may belong to several instances that share the matrix. A part has a strip of columns. It goes down the
//! matrix in bands of 8 or 16 rows, so that memory is read in long runs, and keeps the strip's sums in the cache.
//!
//! Sums of `bf16` are `f32`, over pairs of products: `sum = fma(a[2i], b[2i], fma(a[2i+1], b[2i+1], sum))`. The
//! instruction of AVX512-BF16 computes this, and treats subnormal numbers as zeros. Other levels compute it by two
//! `fma`, which do not change subnormal numbers. Sums of `f32` are `fma` in increasing order.
//!
//! The inner loops have no closures over arrays: if the optimiser does not inline `array::map`, its body lacks the
//! level's features, and each instruction becomes a call.
#![expect(unsafe_code, reason = "products follow addresses")]

use super::gemm::{Gemm, Group};
use crate::elem::Elem;
use crate::parts::{Pace, hold, table_bytes};
use crate::pool::{Effort, Workers, piece};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{Level, Portable, Vector, prefetch};

/// The number of rows of the matrix that a strip processes at a time. For 4 rows of the left operand or fewer, it is
/// half of this.
const BAND: usize = 16;
/// The distance in bytes at which each row of a band is prefetched.
const AHEAD: usize = 1024;
/// The number of columns of a strip, whose sums stay in the cache. Strips are narrower if there would be fewer strips
/// than workers.
const STRIP: usize = 4096;
const SHORTEST_STRIP: usize = 512;
/// The number of steps of the left operand that are packed at a time.
const PACKED: usize = 1024;
/// The largest number of rows of a batch for which this kernel may run. Each matrix may be multiplied by half as many
/// rows. For more, a packed product is faster.
pub const MAX_ROWS: usize = 32;

/// Rows of `k` elements times a matrix `[k, n]` of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsGemm {
    /// The element type: `f32` or `bf16`.
    elem: Elem,
    /// The size of the summed dimension.
    k: usize,
    /// The number of columns.
    n: usize,
    /// The number of elements from one row of the matrix to the next.
    row_stride: usize,
}

impl RowsGemm {
    /// Returns the product in the form of this kernel, or `None` if the kernel does not support its types or the layout
    /// of its operands, or if it is added to the values in the result. The number of rows is not checked.
    pub fn of(gemm: &Gemm) -> Option<RowsGemm> {
        let Gemm { elem, out, n, k, a, b, c, .. } = *gemm;
        let has_kernel = matches!(elem, Elem::F32 | Elem::BF16) && out == elem && !gemm.accumulate;
        let is_in_place = a[1] == 1 && b[1] == 1 && c[1] == 1 && b[0] > 0;
        (has_kernel && is_in_place).then_some(RowsGemm { elem, k, n, row_stride: b[0] as usize })
    }

    /// Returns true if this kernel is the one to use for matrices of this shape that are multiplied by `rows` rows
    /// each: for at least one row, at most half of [`MAX_ROWS`], and matrices that are not small.
    pub fn suits(&self, rows: usize) -> bool {
        (1..=MAX_ROWS / 2).contains(&rows) && self.n >= 64 && self.k >= 16
    }

    fn strip_width(&self, groups: usize, workers: usize) -> usize {
        let mut width = STRIP;
        while width > SHORTEST_STRIP && groups * self.n.div_ceil(width) < workers {
            width /= 2;
        }
        width
    }

    fn effort(&self, groups: usize) -> Effort {
        let bytes = self.k * self.n * groups * self.elem.size();
        if bytes < 1 << 19 { Effort::Small } else { Effort::Large }
    }

    /// Returns the number of bytes that [`RowsGemm::run`] charges: the left elements and the sums of the strips that
    /// run at one time. Small tables are not charged.
    pub fn scratch_bytes(&self, level: Level, workers: &Workers, groups: &[Group]) -> usize {
        let width = self.strip_width(groups.len(), workers.count());
        let tile = if level.min(Level::strongest()) == Level::Avx512 { 8 } else { 4 };
        let rows = groups.iter().map(|g| padded_rows(g.rows.len(), tile)).max().unwrap_or(0);
        let at_once = workers.at_once(groups.len() * self.n.div_ceil(width), self.effort(groups.len()));
        table_bytes::<u32>(2 * rows * (self.k + width.min(self.n))) * at_once
    }

    /// Computes all products.
    ///
    /// # Safety
    /// The rows and matrices must be valid for the shape, and results must overlap nothing else. The elements of a row
    /// and of its result must be adjacent, and no group may have more than [`MAX_ROWS`].
    pub unsafe fn run(&self, level: Level, workers: &Workers, groups: &[Group]) {
        let level = level.min(Level::strongest());
        let width = self.strip_width(groups.len(), workers.count());
        let strips = self.n.div_ceil(width);
        let effort = self.effort(groups.len());
        let strip = strip_function(level, self.elem == Elem::BF16);
        let _held = hold(self.scratch_bytes(level, workers, groups));
        workers.run(groups.len() * strips, effort, |part| {
            let columns = piece(self.n, width, part % strips);
            // SAFETY: as the caller says.
            unsafe { strip(self, &groups[part / strips], columns.start, columns.len()) }
        });
    }
}

/// Computes the columns `start..start + len` of a group.
type Strip = unsafe fn(&RowsGemm, &Group, usize, usize);

fn strip_function(level: Level, narrow: bool) -> Strip {
    match (level, narrow) {
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) if is_x86_feature_detected!("avx512bf16") => pairs_avx512,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, true) => bf16_avx512,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx512, false) => f32_avx512,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, true) => bf16_avx2,
        #[cfg(target_arch = "x86_64")]
        (Level::Avx2, false) => f32_avx2,
        (_, true) => strip::<Widened<Portable<u32>>, 4>,
        (_, false) => strip::<Words<Portable<u32>>, 4>,
    }
}

macro_rules! levels {
    ($($name:ident: $kind:ty, $rows:literal, $features:literal;)*) => {$(
        /// Computes the columns `start..start + len` of a group.
        ///
        /// # Safety
        /// As for `RowsGemm::run`, with the level's features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        unsafe fn $name(shape: &RowsGemm, group: &Group, start: usize, len: usize) {
            // SAFETY: as the caller says.
            unsafe { strip::<$kind, $rows>(shape, group, start, len) }
        }
    )*};
}

levels! {
    pairs_avx512: Pairs, 8, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,avx512bf16";
    bf16_avx512: Widened<Avx512>, 8, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    f32_avx512: Words<Avx512>, 8, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    bf16_avx2: Widened<Avx2>, 4, "avx2,fma,f16c";
    f32_avx2: Words<Avx2>, 4, "avx2,fma,f16c";
}

/// The multiplication and summation of two vectors of columns.
///
/// The summed dimension is processed in steps of [`ProductStep::STEP`] rows of the matrix. A packed left element has as
/// many numbers.
trait ProductStep {
    type V: Vector<Word = u32>;
    /// The number of rows of the matrix in one step.
    const STEP: usize;
    /// The number of bytes of an element.
    const SIZE: usize;

    /// Loads the two vectors of a step, from each of its rows of the matrix.
    ///
    /// # Safety
    /// Two vectors of elements must be readable at each of the `STEP` rows.
    unsafe fn load(rows: [*const u8; 2]) -> [[Self::V; 2]; 2];
    /// Returns `sum` plus the products of one step with a packed left element.
    fn step(sum: [Self::V; 2], a: &[u32; 2], b: [[Self::V; 2]; 2]) -> [Self::V; 2];
    /// Returns the sums in the order of their columns.
    fn ordered(sum: [Self::V; 2]) -> [Self::V; 2] {
        sum
    }
    /// Returns the words that a step needs of its left elements. A second element that is missing counts as 0.
    fn pack(elements: &[u8]) -> [u32; 2];
    /// Writes the sums of one vector of columns as elements of the result.
    ///
    /// # Safety
    /// `V::LANES` elements must be writable.
    unsafe fn store(sum: Self::V, c: *mut u8);
    /// Writes the sum of one column as an element of the result, which has the length of `c`.
    fn store_one(sum: u32, c: &mut [u8]);
}

struct Words<V>(std::marker::PhantomData<V>);

impl<V: Vector<Word = u32>> ProductStep for Words<V> {
    type V = V;
    const STEP: usize = 1;
    const SIZE: usize = 4;

    #[inline(always)]
    unsafe fn load(rows: [*const u8; 2]) -> [[V; 2]; 2] {
        // SAFETY: as the caller says.
        let b = unsafe { [V::load(rows[0]), V::load(rows[0].add(V::LANES * 4))] };
        [b, b]
    }
    #[inline(always)]
    fn step(sum: [V; 2], a: &[u32; 2], b: [[V; 2]; 2]) -> [V; 2] {
        let a = V::splat(a[0]);
        [a.fused(b[0][0], sum[0]), a.fused(b[0][1], sum[1])]
    }
    fn pack(elements: &[u8]) -> [u32; 2] {
        [bytemuck::pod_read_unaligned(elements), 0]
    }
    #[inline(always)]
    unsafe fn store(sum: V, c: *mut u8) {
        // SAFETY: as the caller says.
        unsafe { sum.store(c) }
    }
    fn store_one(sum: u32, c: &mut [u8]) {
        c.copy_from_slice(&sum.to_ne_bytes());
    }
}

fn bf16_bits(elements: &[u8]) -> [u32; 2] {
    let mut bits = elements.chunks_exact(2).map(|x| u32::from(u16::from_ne_bytes([x[0], x[1]])));
    [0, 1].map(|_| bits.next().unwrap_or(0))
}

struct Widened<V>(std::marker::PhantomData<V>);

impl<V: Vector<Word = u32>> ProductStep for Widened<V> {
    type V = V;
    const STEP: usize = 2;
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load([even, odd]: [*const u8; 2]) -> [[V; 2]; 2] {
        let behind = V::LANES * 2;
        // SAFETY: as the caller says.
        unsafe {
            [[V::load_bf16(even), V::load_bf16(even.add(behind))], [V::load_bf16(odd), V::load_bf16(odd.add(behind))]]
        }
    }
    #[inline(always)]
    fn step(sum: [V; 2], a: &[u32; 2], b: [[V; 2]; 2]) -> [V; 2] {
        let (even, odd) = (V::splat(a[0]), V::splat(a[1]));
        [even.fused(b[0][0], odd.fused(b[1][0], sum[0])), even.fused(b[0][1], odd.fused(b[1][1], sum[1]))]
    }
    fn pack(elements: &[u8]) -> [u32; 2] {
        bf16_bits(elements).map(|bits| bits << 16)
    }
    #[inline(always)]
    unsafe fn store(sum: V, c: *mut u8) {
        // SAFETY: as the caller says.
        unsafe { sum.round_bf16().store_bf16(c) }
    }
    fn store_one(sum: u32, c: &mut [u8]) {
        c.copy_from_slice(&half::bf16::from_f32(f32::from_bits(sum)).to_ne_bytes());
    }
}

/// Pairs of `bf16` in one word, for the instruction that multiplies and adds them.
#[cfg(target_arch = "x86_64")]
struct Pairs;

#[cfg(target_arch = "x86_64")]
impl ProductStep for Pairs {
    type V = Avx512;
    const STEP: usize = 2;
    const SIZE: usize = 2;

    #[inline(always)]
    unsafe fn load(rows: [*const u8; 2]) -> [[Avx512; 2]; 2] {
        // SAFETY: as the caller says.
        let (even, odd) = unsafe { (Avx512::load(rows[0]), Avx512::load(rows[1])) };
        let b = Avx512::interleave16(even, odd);
        [b, b]
    }
    #[inline(always)]
    fn step(sum: [Avx512; 2], a: &[u32; 2], b: [[Avx512; 2]; 2]) -> [Avx512; 2] {
        let a = Avx512::splat(a[0]);
        [sum[0].dot_bf16(a, b[0][0]), sum[1].dot_bf16(a, b[0][1])]
    }
    #[inline(always)]
    fn ordered(sum: [Avx512; 2]) -> [Avx512; 2] {
        Avx512::uninterleave32(sum[0], sum[1])
    }
    fn pack(elements: &[u8]) -> [u32; 2] {
        let [even, odd] = bf16_bits(elements);
        [even | odd << 16, 0]
    }
    #[inline(always)]
    unsafe fn store(sum: Avx512, c: *mut u8) {
        // SAFETY: as the caller says.
        unsafe { Widened::<Avx512>::store(sum, c) }
    }
    fn store_one(sum: u32, c: &mut [u8]) {
        Widened::<Avx512>::store_one(sum, c);
    }
}

/// Returns the number of rows, padded to whole tiles of `tile` rows. Fewer rows than `tile` are padded to a multiple of
/// 4, and one or two rows are not padded.
fn padded_rows(rows: usize, tile: usize) -> usize {
    let rows = if rows <= 2 { rows } else { rows.next_multiple_of(4) };
    if rows > tile { rows.next_multiple_of(tile) } else { rows }
}

/// The state of a strip of columns that is being summed.
struct State {
    /// The left elements: for each step, those of all rows.
    left: Vec<[u32; 2]>,
    /// The sums: for each two vectors of columns, those of all rows.
    sums: Vec<u32>,
    /// The number of rows, padded as [`padded_rows`] states.
    rows: usize,
}

/// Computes the columns `start..start + len` of a group, in tiles of up to `M` rows.
///
/// # Safety
/// As for `RowsGemm::run`, with the level's features.
#[inline(always)]
unsafe fn strip<K: ProductStep, const M: usize>(shape: &RowsGemm, group: &Group, start: usize, len: usize) {
    let width = 2 * K::V::LANES;
    let rows = padded_rows(group.rows.len(), M);
    // SAFETY: the rows of the left operand, as the caller says.
    let left = unsafe { pack_left::<K>(shape, group, rows) };
    let mut state = State { left, sums: vec![0; rows * len.next_multiple_of(width)], rows };
    let matrix = group.matrix.0.wrapping_add(start * K::SIZE).cast_const();
    // Few rows have little work for each line, and with shorter bands fewer lines are evicted from the first cache.
    let height = if rows <= 4 { BAND / 2 } else { BAND };
    let mut pace = Pace::default();
    for first in (0..shape.k).step_by(height) {
        let stride = shape.row_stride * K::SIZE;
        let band = Band { start: matrix.wrapping_add(first * stride), stride, rows: (shape.k - first).min(height) };
        // SAFETY: as the caller says.
        unsafe { run_band::<K, M>(&mut state, band, first, len) };
        pace.spend(rows * len);
    }
    // SAFETY: as the caller says.
    unsafe { finish::<K>(&state, group, start, len) }
}

/// Returns the packed left elements: for each step, those of the group's rows, padded with zeros to `rows` rows.
///
/// # Safety
/// The rows must be readable.
unsafe fn pack_left<K: ProductStep>(shape: &RowsGemm, group: &Group, rows: usize) -> Vec<[u32; 2]> {
    let (mut left, mut pace) = (vec![[0; 2]; shape.k.div_ceil(K::STEP) * rows], Pace::default());
    let size = K::STEP * K::SIZE;
    for (block, packed) in left.chunks_mut(PACKED * rows).enumerate() {
        for (r, row) in group.rows.iter().enumerate() {
            // SAFETY: as the caller says.
            let row = unsafe { std::slice::from_raw_parts(row.a.0.cast_const(), shape.k * K::SIZE) };
            let (elements, mut steps) =
                (row[block * PACKED * size..].chunks_exact(size), packed.chunks_exact_mut(rows));
            let rest = elements.remainder();
            elements.zip(steps.by_ref()).for_each(|(elements, words)| words[r] = K::pack(elements));
            if let Some(words) = steps.next().filter(|_| !rest.is_empty()) {
                words[r] = K::pack(rest);
            }
        }
        pace.spend(2 * packed.len());
    }
    left
}

/// A band of the matrix, or of a copy of its edge.
#[derive(Clone, Copy)]
struct Band {
    start: *const u8,
    /// The number of bytes from row to row.
    stride: usize,
    /// The number of rows. A step that has one row too few reads zeros instead.
    rows: usize,
}

#[repr(align(64))]
struct Zeros(#[expect(dead_code, reason = "memory that is only pointed to")] [u8; 128]);
static ZEROS: Zeros = Zeros([0; 128]);

impl Band {
    #[inline(always)]
    fn rows_at(self, row: usize) -> [*const u8; 2] {
        let at = |r: usize| {
            if r < self.rows { self.start.wrapping_add(r * self.stride) } else { std::ptr::from_ref(&ZEROS).cast() }
        };
        [at(row), at(row + 1)]
    }
}

/// Adds the products of a band of the matrix, which starts at row `first` of it, to the sums.
///
/// # Safety
/// The band must have `len` columns, and the level's features must be enabled.
#[inline(always)]
unsafe fn run_band<K: ProductStep, const M: usize>(state: &mut State, band: Band, first: usize, len: usize) {
    let width = 2 * K::V::LANES;
    let left = &state.left[first / K::STEP * state.rows..];
    let (whole, edge) = state.sums.split_at_mut(len / width * width * state.rows);
    for (group, sums) in whole.chunks_exact_mut(width * state.rows).enumerate() {
        let here = Band { start: band.start.wrapping_add(group * width * K::SIZE), ..band };
        // SAFETY: as the caller says.
        unsafe { tiles::<K, M>(here, left, sums, state.rows) };
    }
    // The last columns, if fewer than two vectors, are copied band by band.
    let count = len % width * K::SIZE;
    if count > 0 {
        let mut copy = [[0u8; 128]; BAND];
        for (r, line) in copy.iter_mut().enumerate().take(band.rows) {
            let from = band.start.wrapping_add(r * band.stride + len / width * width * K::SIZE);
            // SAFETY: the columns of this row, as the caller says.
            line[..count].copy_from_slice(unsafe { std::slice::from_raw_parts(from, count) });
        }
        let here = Band { start: copy.as_ptr().cast(), stride: 128, rows: band.rows };
        // SAFETY: the copy has two vectors of columns.
        unsafe { tiles::<K, M>(here, left, edge, state.rows) };
    }
}

/// Adds the products of a band to the sums of all `rows` rows by two vectors of columns.
///
/// # Safety
/// The band must have two vectors of columns, and the level's features must be enabled.
#[inline(always)]
unsafe fn tiles<K: ProductStep, const M: usize>(band: Band, left: &[[u32; 2]], sums: &mut [u32], rows: usize) {
    let width = 2 * K::V::LANES;
    let mut row = 0;
    while row < rows {
        let (left, sums) = (&left[row..], &mut sums[row * width..]);
        // SAFETY: as the caller says.
        unsafe {
            match rows - row {
                1 => tile::<K, 1>(band, left, sums, rows),
                2 => tile::<K, 2>(band, left, sums, rows),
                4 => tile::<K, 4>(band, left, sums, rows),
                _ => tile::<K, M>(band, left, sums, rows),
            }
        }
        row += if rows - row > 4 { M } else { rows - row };
    }
}

/// Adds the products of a band to the sums of `M` rows by two vectors of columns. `rows` is the number of left elements
/// of a step. Panics if `left` or `sums` is too short.
///
/// # Safety
/// As for [`tiles`].
#[inline(always)]
unsafe fn tile<K: ProductStep, const M: usize>(band: Band, left: &[[u32; 2]], sums: &mut [u32], rows: usize) {
    let lanes = K::V::LANES;
    let sums = &mut sums[..2 * M * lanes];
    let mut sum = [[K::V::splat(0); 2]; M];
    for (r, s) in sum.iter_mut().enumerate() {
        *s = [K::V::read(&sums[2 * r * lanes..]), K::V::read(&sums[(2 * r + 1) * lanes..])];
    }
    let steps = band.rows.div_ceil(K::STEP);
    assert!(steps == 0 || left[(steps - 1) * rows..].len() >= M, "left elements of each step");
    for step in 0..steps {
        // SAFETY: as the caller says; there are left elements of each step.
        let (a, b) =
            unsafe { (&*left.as_ptr().add(step * rows).cast::<[_; M]>(), K::load(band.rows_at(step * K::STEP))) };
        (0..K::STEP).for_each(|r| prefetch(band.start.wrapping_add((step * K::STEP + r) * band.stride + AHEAD)));
        for (s, a) in sum.iter_mut().zip(a) {
            *s = K::step(*s, a, b);
        }
    }
    for (r, s) in sum.into_iter().enumerate() {
        s[0].write(&mut sums[2 * r * lanes..]);
        s[1].write(&mut sums[(2 * r + 1) * lanes..]);
    }
}

/// Writes the sums to the rows' results.
///
/// # Safety
/// As for `RowsGemm::run`, with the level's features.
#[inline(always)]
unsafe fn finish<K: ProductStep>(state: &State, group: &Group, start: usize, len: usize) {
    let (lanes, width) = (K::V::LANES, 2 * K::V::LANES);
    for (r, row) in group.rows.iter().enumerate() {
        // SAFETY: the caller vouches for the results, which nobody else has.
        let row = unsafe { std::slice::from_raw_parts_mut(row.c.0.wrapping_add(start * K::SIZE), len * K::SIZE) };
        for (to, sums) in row.chunks_mut(width * K::SIZE).zip(state.sums.chunks_exact(width * state.rows)) {
            let sums = &sums[r * width..];
            store_columns::<K>(K::ordered([K::V::read(sums), K::V::read(&sums[lanes..])]), to);
        }
    }
}

/// Writes as many columns as fit into `to`.
#[inline(always)]
fn store_columns<K: ProductStep>(sum: [K::V; 2], to: &mut [u8]) {
    let lanes = K::V::LANES;
    if to.len() == 2 * lanes * K::SIZE {
        // SAFETY: there is room for two vectors.
        return unsafe {
            K::store(sum[0], to.as_mut_ptr());
            K::store(sum[1], to.as_mut_ptr().add(lanes * K::SIZE));
        };
    }
    let mut words = [0u32; 32];
    sum[0].write(&mut words);
    sum[1].write(&mut words[lanes..]);
    to.chunks_exact_mut(K::SIZE).zip(words).for_each(|(to, word)| K::store_one(word, to));
}

#[cfg(test)]
mod tests {
    use super::super::{Batch, By, Product};
    use super::*;
    use crate::block::tests::Random;
    use crate::operand::{Source, Target};
    use half::bf16;

    /// Checks products of numbers with few bits at all levels. Their sums are exact before they are rounded to the
    /// element type.
    fn check(narrow: bool, rows: usize, k: usize, n: usize) {
        let mut random = Random((rows * 1000 + k + n) as u64 + 1);
        let stride = n + 3;
        let mut draw = |len: usize| (0..len).map(|_| bf16::from_f32(random.dyadic()).to_f32()).collect::<Vec<f32>>();
        let (a, b) = (draw(rows * k), draw(k * stride));
        let to_bytes = |v: &[f32]| -> Vec<u8> {
            if narrow {
                v.iter().flat_map(|&x| bf16::from_f32(x).to_le_bytes()).collect()
            } else {
                bytemuck::cast_slice(v).to_vec()
            }
        };
        let (a_bytes, b_bytes) = (to_bytes(&a), to_bytes(&b));
        let elem = if narrow { Elem::BF16 } else { Elem::F32 };
        let gemm = Gemm { b: [stride as isize, 1], ..Gemm::row_major(elem, rows, n, k) };
        let mut expected = Vec::new();
        for i in 0..rows {
            for j in 0..n {
                expected
                    .push((0..k).map(|p| f64::from(a[i * k + p]) * f64::from(b[p * stride + j])).sum::<f64>() as f32);
            }
        }
        for level in Level::available() {
            let mut c = vec![1u8; rows * n * elem.size()];
            let product = Product { a: Source::of(&a_bytes), b: Source::of(&b_bytes), c: Target::of(&mut c) };
            Batch::new(gemm, &[]).run_with(level, None, By::Rows, &Workers::new(2), &mut [product]);
            assert!(c == to_bytes(&expected), "{level:?} {elem:?} {rows} {k} {n}");
        }
    }

    #[test]
    fn few_rows_multiply() {
        for narrow in [false, true] {
            for (rows, k, n) in [
                (1, 1, 1),
                (2, 2 * PACKED + 1, 9),
                (2, 5, 31),
                (3, 16, 64),
                (5, 17, 100),
                (8, 40, 2100),
                (9, 33, 65),
                (16, 7, 130),
            ] {
                check(narrow, rows, k, n);
            }
        }
    }
}
