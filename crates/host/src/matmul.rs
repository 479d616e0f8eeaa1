//! Matrix products.
//!
//! A [`Gemm`] is a shape with strides, and a [`Product`] holds the operands of one such product. All products of a run
//! have the same shape: they are a [`Batch`], the instances of one instruction, or both. Shared matrices are detected:
//! a `Group` is a matrix with all the rows that are multiplied by it.
//!
//! Floats narrower than `f32` are accumulated in `f32` and rounded once, or not at all if `c` is `f32`. Integers wrap.
//!
//! Before a product runs, its operands are compared with the bytes that it reaches. The kernels below use pointers.
//! `packed` has the kernel for all numbers that are summed in 32 bits. `rows` has the kernel for few rows times one
//! large matrix, which is read in place. `f64` and complex products use gemmkit. `plain` has a loop for integers of 64
//! bits and for truth values.
#![expect(unsafe_code, reason = "products follow addresses")]

mod choose;
#[cfg(test)]
mod edges;
mod gemm;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other processors have no unit that is used"))]
mod matrix_unit;
mod packed;
mod plain;
mod rows;
mod tile;
mod windows;

pub use gemm::{Gemm, Product};
pub(crate) use matrix_unit::is_used as uses_matrix_unit;
pub use windows::Windows;

use crate::elem::Elem;
use crate::operand::{Pointer, Reach, are_apart};
use crate::parts::{hold, table_bytes};
use crate::pool::{Effort, Workers, piece};
use crate::simd::Level;
use gemm::{Group, Places, Row};
use rows::RowsGemm;
use shardwise_base::budget;
use std::collections::HashMap;
use std::ops::Range;
use tile::Tile;

/// Products of one shape, at equal distances along some loops.
#[derive(Clone, Debug)]
pub struct Batch {
    gemm: Gemm,
    /// The loops around the products: the size of each, and the bytes from one product to the next in each operand.
    loops: Vec<(usize, [isize; 3])>,
    /// The number of products in a batch, which is 0 if their results have no elements.
    count: usize,
    reaches: [Reach; 3],
    /// The kernel for few rows, if it may run: the types and the layouts suit it, nothing is added to the values in the
    /// results, and the products of a batch share a matrix and have at most [`rows::MAX_ROWS`] rows together.
    rows: Option<RowsGemm>,
}

/// The least number of pieces into which all products without a packed kernel are divided together, unless pieces would
/// be too small ([`PIECE_OPERATIONS`]).
const PIECES: usize = 8;
/// The smallest number of operations of a piece of a divided product, on average.
const PIECE_OPERATIONS: usize = 40_000_000;
/// The number of operations, which take some milliseconds or more, above which a piece of a product is divided further,
/// down to 48 rows by 64 columns.
const LONGEST_PIECE: usize = 1 << 28;
/// The largest number of products that run together, unless the kernel for few rows may run. It bounds the length of
/// the tables that have a row for each.
const PRODUCTS: usize = 1 << 14;
/// The largest number of rows of all products that run together, unless one product has more or the kernel for few rows
/// may run. It bounds the length of the list of rows.
const ROWS: usize = 1 << 20;
/// The number of bytes that are charged for each product in the tables of products, which have its addresses, its group
/// and its part.
const PRODUCT_BYTES: usize = 256;
/// With fewer operations than this in all, no worker is woken. The kernel for few rows decides by its bytes instead.
const SMALL_OPERATIONS: usize = 4_000_000;

/// The kernel that runs a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Best,
    #[cfg(test)]
    Rows,
    #[cfg(test)]
    Panels,
}

impl Batch {
    /// Returns the products of a shape at all indices of some loops. A loop is given by its size and by the number of
    /// elements from one product to the next in `a`, `b` and `c`.
    ///
    /// # Panics
    /// Panics if `are_apart` cannot show that no element of a result is written twice, or if there is no kernel for the
    /// types.
    pub fn new(gemm: Gemm, loops: &[(usize, [isize; 3])]) -> Batch {
        assert!(gemm.is_supported(), "no kernel for {:?} to {:?}", gemm.elem, gemm.out);
        let sizes = gemm.sizes();
        let is_empty = gemm.m == 0 || gemm.n == 0 || loops.iter().any(|l| l.0 == 0);
        let count = if is_empty { 0 } else { loops.iter().map(|l| l.0).product() };
        let around = |x: usize| loops.iter().map(move |l| (l.0, l.1[x]));
        let reaches = gemm.reaches([0, 1, 2].map(around));
        let shares_matrix = loops.iter().all(|l| l.0 <= 1 || l.1[1] == 0);
        let are_few = gemm.m.saturating_mul(count) <= rows::MAX_ROWS;
        let rows = RowsGemm::of(&gemm).filter(|_| shares_matrix && are_few);
        let in_bytes = |step: [isize; 3]| [0, 1, 2].map(|x| step[x].saturating_mul(sizes[x] as isize));
        let loops = loops.iter().map(|&(size, step)| (size, in_bytes(step))).collect();
        Batch { gemm, loops, count, reaches, rows }
    }

    /// Returns the batch with the products added to the values in the results.
    pub fn accumulating(mut self) -> Batch {
        (self.gemm.accumulate, self.rows) = (true, None);
        self
    }

    /// Returns true if this batch can add its products to the values in the results without rounding a sum to a
    /// narrower type in between. Returns false if the kernel for few rows may run, which cannot do this, and for
    /// results of 16-bit floats, which cannot hold such sums.
    pub fn accumulates(&self) -> bool {
        self.rows.is_none() && !matches!(self.gemm.out, Elem::BF16 | Elem::F16)
    }

    /// Returns the kernel for few rows if it is the one to use for these groups. In tests, `by` can request or exclude
    /// it. Returns `None` otherwise.
    fn rows(&self, by: By, groups: &[Group]) -> Option<RowsGemm> {
        let suits = |rows: &RowsGemm| groups.iter().all(|g| rows.suits(g.rows.len()));
        match by {
            By::Best => self.rows.filter(suits),
            #[cfg(test)]
            By::Rows => self.rows,
            #[cfg(test)]
            By::Panels => None,
        }
    }

    /// Computes the products of all batches. A batch is given by the operands of its product at index 0 of all loops.
    /// Stops the computation if there is no memory for its tables or its scratch space.
    ///
    /// # Panics
    /// Panics if an operand has fewer bytes than are reached.
    pub fn run(&self, workers: &Workers, batches: &mut [Product<'_>]) {
        let level = Level::best();
        self.run_with(level, self.gemm.tile(level).as_ref(), By::Best, workers, batches);
    }

    /// Returns the largest number of bytes that [`Batch::run`] charges at one time for batches whose operands `a`, `b`
    /// and `c` are at these addresses.
    pub fn scratch_bytes(&self, workers: &Workers, batches: &[[usize; 3]]) -> usize {
        let batches: Vec<Places> = batches.iter().map(|&[a, b, c]| Places::at(a, b, c)).collect();
        let level = Level::best();
        let of_some = |products: Range<usize>| {
            let places = self.places(&batches, products);
            let groups = self.rows.map(|_| self.gemm.groups(places.iter().map(|&p| (self.gemm.m, p))));
            let by_rows = groups.as_deref().and_then(|groups| Some((self.rows(By::Best, groups)?, groups)));
            let scratch = match by_rows {
                Some((rows, groups)) => rows.scratch_bytes(level, workers, groups),
                None => self.gemm.scratch_bytes(level, workers, &places),
            };
            budget::poll();
            scratch.saturating_add(tables_bytes(self.gemm.m.saturating_mul(places.len()), places.len()))
        };
        self.together(batches.len()).map(of_some).max().unwrap_or(0)
    }

    /// Returns the products of `batches` batches in ranges that run together, which have up to [`PRODUCTS`] products
    /// and [`ROWS`] rows, or one product. If the kernel for few rows may run, there is at most one range, so that all
    /// rows of a matrix are in it.
    fn together(&self, batches: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let count = self.count * batches;
        let most = (ROWS / self.gemm.m.max(1)).clamp(1, PRODUCTS);
        let at_a_time = if self.rows.is_some() { count.max(1) } else { most };
        (0..count.div_ceil(at_a_time)).map(move |part| piece(count, at_a_time, part))
    }

    fn places(&self, batches: &[Places], products: Range<usize>) -> Vec<Places> {
        products.map(|i| batches[i / self.count].offset(self.offset(i % self.count))).collect()
    }

    fn offset(&self, product: usize) -> [isize; 3] {
        let (mut offset, mut rest) = ([0; 3], product);
        for (size, step) in self.loops.iter().rev() {
            let index = (rest % size) as isize;
            rest /= size;
            offset.iter_mut().zip(step).for_each(|(offset, step)| *offset += index * step);
        }
        offset
    }

    /// Computes the products of all batches, those of few rows at a level and others with the inner loops `tile`.
    fn run_with(&self, level: Level, tile: Option<&Tile>, by: By, workers: &Workers, batches: &mut [Product<'_>]) {
        batches.iter().for_each(|batch| batch.check(&self.reaches));
        let batches: Vec<Places> = batches.iter().map(|batch| batch.places([0; 3])).collect();
        for products in self.together(batches.len()) {
            let _held = hold(tables_bytes(self.gemm.m.saturating_mul(products.len()), products.len()));
            let places = self.places(&batches, products);
            let groups = self.rows.map(|_| self.gemm.groups(places.iter().map(|&p| (self.gemm.m, p))));
            // SAFETY: operands have what is reached; results are apart, and borrowed mutably.
            unsafe {
                match groups.as_deref().and_then(|groups| Some((self.rows(by, groups)?, groups))) {
                    Some((rows, groups)) => rows.run(level, workers, groups),
                    None => self.gemm.run(tile, workers, &places),
                }
            }
            budget::poll();
        }
    }
}

impl Gemm {
    /// Returns the shape of the product of row-major matrices, all of one type.
    #[cfg(test)]
    pub fn row_major(elem: Elem, m: usize, n: usize, k: usize) -> Gemm {
        let rows = |columns: usize| [columns as isize, 1];
        Gemm { elem, out: elem, m, n, k, a: rows(k), b: rows(n), c: rows(n), accumulate: false }
    }

    /// Returns true if there is a kernel for these types: `out` is the type of the operands, or widens `i8` to `i32`,
    /// or `bf16` or `f16` to `f32`.
    pub fn is_supported(&self) -> bool {
        let widened = [(Elem::I8, Elem::I32), (Elem::BF16, Elem::F32), (Elem::F16, Elem::F32)];
        self.elem == self.out || widened.contains(&(self.elem, self.out))
    }

    fn sizes(&self) -> [usize; 3] {
        [self.elem.size(), self.elem.size(), self.out.size()]
    }

    /// Returns the bytes that are reached of the operands by all products in some loops, whose steps in each operand
    /// are given in elements. Panics if [`are_apart`] cannot show that no element of a result is written twice.
    fn reaches<I: Iterator<Item = (usize, isize)>>(&self, around: [I; 3]) -> [Reach; 3] {
        let Gemm { m, n, k, a, b, c, .. } = *self;
        let own = [[(m, a[0]), (k, a[1])], [(k, b[0]), (n, b[1])], [(m, c[0]), (n, c[1])]];
        let mut dims = around.into_iter().zip(own).zip(self.sizes()).map(|((around, own), size)| {
            let dims = around.chain(own).map(|(n, stride)| (n, stride.saturating_mul(size as isize)));
            (dims.collect::<Vec<_>>(), size)
        });
        let reaches = [(); 3].map(|()| dims.next().expect("three operands"));
        let (result, size) = &reaches[2];
        assert!(are_apart(result.iter().copied(), *size), "{self:?} writes elements twice");
        reaches.map(|(dims, size)| Reach::of(dims, size))
    }

    /// Computes the products of each batch's rows with a list of matrices, which are `matrix_step` elements apart.
    /// `counts` has, for each batch, the number of rows of each matrix. The matrices take the rows in order, and rows
    /// that are left over are not computed. Stops the computation as [`Batch::run`] does.
    ///
    /// # Panics
    /// Panics if there is no kernel for the types ([`Gemm::is_supported`]), if there are too few rows, if there are not
    /// as many lists of counts as batches, if an operand has fewer bytes than are reached, or if `are_apart` cannot
    /// show that no element of a result is written twice.
    pub fn run_ragged(
        &self,
        workers: &Workers,
        batches: &mut [Product<'_>],
        counts: &[Vec<usize>],
        matrix_step: isize,
    ) {
        assert!(self.is_supported(), "no kernel for {:?} to {:?}", self.elem, self.out);
        let [size, _, out] = self.sizes().map(|s| s as isize);
        let mut places = vec![];
        assert_eq!(batches.len(), counts.len(), "a list of counts for each batch");
        for (batch, counts) in batches.iter().zip(counts) {
            let matrices = [(1, 0), (counts.len(), matrix_step), (1, 0)];
            batch.check(&self.reaches(matrices.map(|dim| [dim].into_iter())));
            let mut row = 0;
            for (i, &count) in (0..).zip(counts) {
                assert!(count <= self.m - row, "rows for each matrix");
                let at = row as isize;
                let offsets = [at * self.a[0] * size, i * matrix_step * size, at * self.c[0] * out];
                places.extend((count > 0).then(|| (count, batch.places(offsets))));
                row += count;
            }
        }
        // SAFETY: operands have what is reached; rows of results are apart, and borrowed mutably.
        unsafe {
            match self.tile(Level::best()) {
                Some(tile) if self.k > 0 && self.is_row_major() => {
                    let rows = places.iter().map(|(m, _)| m).sum();
                    let _held = hold(tables_bytes(rows, places.len()));
                    let groups = self.groups(places.iter().copied());
                    packed::run(self, &tile, workers, &groups, None, Gemm { m: rows, ..*self }.effort(1));
                }
                tile => {
                    let run = |&(m, place)| Gemm { m, ..*self }.run(tile.as_ref(), workers, &[place]);
                    places.iter().for_each(run);
                }
            }
        }
    }

    /// Returns the most bytes that [`Gemm::run_ragged`] charges at one time for this number of batches, each of which
    /// has `matrices` matrices.
    pub fn ragged_scratch_bytes(&self, workers: &Workers, batches: usize, matrices: usize) -> usize {
        let Some(tile) = self.tile(Level::best()).filter(|_| self.n > 0 && self.k > 0) else { return 0 };
        if !self.is_row_major() {
            // The products run one after the other.
            let flipped = self.transposed();
            return packed::most_scratch_bytes(&flipped, &tile, workers, 1, flipped.effort(1));
        }
        let all = Gemm { m: self.m.saturating_mul(batches), ..*self };
        let groups = batches.saturating_mul(matrices);
        let scratch = packed::most_scratch_bytes(&all, &tile, workers, groups, all.effort(1));
        scratch.saturating_add(tables_bytes(all.m, groups))
    }

    /// Returns the inner loops of this product at a level, or `None` if there are none for its types.
    fn tile(&self, level: Level) -> Option<Tile> {
        choose::tile(level, self.elem, self.out, self.k, None)
    }

    fn scratch_bytes(&self, level: Level, workers: &Workers, products: &[Places]) -> usize {
        if self.k > 0 && !self.is_row_major() {
            let flipped: Vec<Places> = products.iter().map(|p| Places { a: p.b, b: p.a, c: p.c }).collect();
            return self.transposed().scratch_bytes(level, workers, &flipped);
        }
        let Some(tile) = self.tile(level).filter(|_| self.k > 0) else { return 0 };
        let groups = self.groups(products.iter().map(|&p| (self.m, p)));
        packed::scratch_bytes(self, &tile, workers, &groups, self.effort(products.len()))
    }

    /// Computes the products of this shape whose operands are at the addresses `products`, with the inner loops `tile`
    /// if there are any.
    ///
    /// # Safety
    /// The operands must be valid for their shapes and strides, and results must overlap nothing else.
    unsafe fn run(&self, tile: Option<&Tile>, workers: &Workers, products: &[Places]) {
        // SAFETY: as the caller says.
        unsafe {
            if self.k > 0 && !self.is_row_major() {
                let flipped: Vec<Places> = products.iter().map(|p| Places { a: p.b, b: p.a, c: p.c }).collect();
                return self.transposed().run(tile, workers, &flipped);
            }
            match tile.filter(|_| self.k > 0) {
                Some(tile) => {
                    let groups = self.groups(products.iter().map(|&p| (self.m, p)));
                    packed::run(self, tile, workers, &groups, None, self.effort(products.len()));
                }
                None => plain::run(self, workers, products),
            }
        }
    }

    fn is_row_major(&self) -> bool {
        self.c[1].abs() <= self.c[0].abs()
    }

    /// Returns the shape of the product of the transposed operands in exchanged order, which computes the transpose of
    /// `c`.
    fn transposed(&self) -> Gemm {
        let flip = |[row, column]: [isize; 2]| [column, row];
        Gemm { m: self.n, n: self.m, a: flip(self.b), b: flip(self.a), c: flip(self.c), ..*self }
    }

    /// Groups the rows of products by their right operands. Each product is given with its number of rows.
    fn groups(&self, products: impl Iterator<Item = (usize, Places)>) -> Vec<Group> {
        let count = products.size_hint().0;
        let mut groups: Vec<Group> = Vec::with_capacity(count);
        let mut known: HashMap<Pointer, usize> = HashMap::with_capacity(count);
        let (a, c) = (self.a[0] * self.elem.size() as isize, self.c[0] * self.out.size() as isize);
        for (m, p) in products {
            let group = *known.entry(p.b).or_insert_with(|| {
                groups.push(Group { matrix: p.b, rows: Vec::with_capacity(m) });
                groups.len() - 1
            });
            groups[group].rows.extend((0..m as isize).map(|i| Row { a: p.a.offset(i * a), c: p.c.offset(i * c) }));
        }
        groups
    }

    fn effort(&self, products: usize) -> Effort {
        match self.operations().saturating_mul(products) < SMALL_OPERATIONS {
            true => Effort::Small,
            false => Effort::Large,
        }
    }

    fn operations(&self) -> usize {
        2usize.saturating_mul(self.m).saturating_mul(self.n).saturating_mul(self.k)
    }

    /// Returns the numbers of pieces, along rows and columns, into which each of `count` products is divided.
    fn pieces(&self, count: usize) -> [usize; 2] {
        let wanted = PIECES.div_ceil(count.max(1)).min(self.operations() / PIECE_OPERATIONS).max(1);
        let needed = self.operations().div_ceil(LONGEST_PIECE);
        if needed <= wanted {
            return if self.n >= self.m { [1, wanted] } else { [wanted, 1] };
        }
        let columns = (needed.saturating_mul(self.n) / self.m).isqrt().clamp(1, self.n.div_ceil(64));
        [needed.div_ceil(columns).clamp(1, self.m.div_ceil(48)), columns]
    }

    /// Returns piece `part` of a product that is divided into these numbers of pieces along rows and columns, as a
    /// shape and its offsets in `a`, `b` and `c`, in elements. Pieces are numbered row-major, and the last ones of a
    /// dimension may be smaller or empty.
    fn piece(&self, [rows, columns]: [usize; 2], part: usize) -> (Gemm, [isize; 3]) {
        let cut = |n: usize, pieces: usize, unit: usize, part: usize| match pieces {
            1 => 0..n,
            _ => piece(n, n.div_ceil(pieces).next_multiple_of(unit), part),
        };
        let (rows, columns) = (cut(self.m, rows, 48, part / columns), cut(self.n, columns, 64, part % columns));
        let (i, j) = (rows.start as isize, columns.start as isize);
        let shape = Gemm { m: rows.len(), n: columns.len(), ..*self };
        (shape, [i * self.a[0], j * self.b[1], i * self.c[0] + j * self.c[1]])
    }
}

/// Returns the number of bytes that are charged for the lists of `products` products and of their `rows` rows in all. A
/// list of less than 64 KiB is not charged.
fn tables_bytes(rows: usize, products: usize) -> usize {
    table_bytes::<Row>(rows).saturating_add(table_bytes::<[u8; PRODUCT_BYTES]>(products))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::Random;
    use crate::operand::{Source, Target};
    use bytemuck::Pod;
    use half::{bf16, f16};
    use num_complex::Complex;
    use shardwise_base::{Account, Budget, CancelToken};

    fn run(gemm: Gemm, level: Level, workers: usize, a: Source, b: Source, c: Target) {
        let (product, tile) = (Product { a, b, c }, gemm.tile(level));
        Batch::new(gemm, &[]).run_with(level, tile.as_ref(), By::Panels, &Workers::new(workers), &mut [product]);
    }

    type Check<'a, T> = (&'a dyn Fn(f64) -> T, &'a dyn Fn(T) -> f64);

    /// Checks products of small integers, which are exact in every type.
    fn check<T: Pod, C: Pod>(
        elem: Elem,
        out: Elem,
        sizes: [usize; 3],
        layout: usize,
        (make, _): Check<T>,
        read: &dyn Fn(C) -> f64,
        zero: C,
    ) {
        let [m, n, k] = sizes;
        let mut random = Random(17);
        let mut draw = |len: usize| (0..len).map(|_| (random.next() % 5) as f64 - 2.0).collect::<Vec<f64>>();
        let (fa, fb) = (draw(m * k), draw(k * n));
        let to = |v: &[f64]| v.iter().map(|&x| make(x)).collect::<Vec<T>>();
        let (a, b, mut c) = (to(&fa), to(&fb), vec![zero; m * n]);
        let mut gemm = Gemm { out, ..Gemm::row_major(elem, m, n, k) };
        if layout & 1 == 1 {
            gemm.a = [1, m as isize];
        }
        if layout & 2 == 2 {
            gemm.b = [1, k as isize];
        }
        if layout & 4 == 4 {
            gemm.c = [1, m as isize];
        }
        let runs = Level::available().into_iter().flat_map(|level| [(level, false, 1.0), (level, true, 2.0)]);
        for (level, accumulate, times) in runs {
            run(Gemm { accumulate, ..gemm }, level, 2, Source::of(&a), Source::of(&b), Target::of(&mut c));
            for i in 0..m {
                for j in 0..n {
                    let index = |s: [isize; 2], i: usize, j: usize| i * s[0] as usize + j * s[1] as usize;
                    let sum: f64 = (0..k).map(|p| fa[index(gemm.a, i, p)] * fb[index(gemm.b, p, j)]).sum();
                    assert_eq!(
                        read(c[index(gemm.c, i, j)]),
                        times * sum,
                        "{elem:?} {level:?} {sizes:?} layout {layout} at {i}, {j}"
                    );
                }
            }
        }
    }

    const SIZES: [[usize; 3]; 8] =
        [[1, 1, 1], [3, 5, 7], [2, 3, 0], [0, 3, 2], [17, 31, 13], [64, 64, 64], [1, 97, 50], [65, 130, 300]];

    #[test]
    fn all_types_multiply() {
        for (i, sizes) in SIZES.into_iter().enumerate() {
            let layout = i % 8;
            check::<f32, f32>(Elem::F32, Elem::F32, sizes, layout, (&|x| x as f32, &f64::from), &f64::from, 9.0);
            check::<f64, f64>(Elem::F64, Elem::F64, sizes, layout, (&|x| x, &|x| x), &|x| x, 9.0);
            check::<i32, i32>(Elem::I32, Elem::I32, sizes, layout, (&|x| x as i32, &f64::from), &f64::from, 9);
            check::<i8, i32>(Elem::I8, Elem::I32, sizes, layout, (&|x| x as i8, &f64::from), &f64::from, 9);
            check::<i16, i16>(Elem::I16, Elem::I16, sizes, layout, (&|x| x as i16, &f64::from), &f64::from, 9);
            check::<i64, i64>(Elem::I64, Elem::I64, sizes, layout, (&|x| x as i64, &|x| x as f64), &|x| x as f64, 9);
            let complex = |x| Complex::new(x as f32, 0.0);
            let real = |x: Complex<f32>| f64::from(x.re);
            check(Elem::C64, Elem::C64, sizes, layout, (&complex, &real), &real, Complex::new(9.0, 0.0));
            if sizes[2] < 100 {
                check(
                    Elem::BF16,
                    Elem::BF16,
                    sizes,
                    layout,
                    (&bf16::from_f64, &bf16::to_f64),
                    &bf16::to_f64,
                    bf16::ONE,
                );
                check(Elem::F16, Elem::F16, sizes, layout, (&f16::from_f64, &f16::to_f64), &f16::to_f64, f16::ONE);
            }
            check(Elem::BF16, Elem::F32, sizes, layout, (&bf16::from_f64, &bf16::to_f64), &f64::from, 9.0f32);
            check(Elem::F16, Elem::F32, sizes, layout, (&f16::from_f64, &f16::to_f64), &f64::from, 9.0f32);
        }
    }

    #[test]
    fn large_products_are_cut_into_parts_and_blocks() {
        for sizes in [[200, 700, 400], [900, 150, 300], [150, 40, 2100], [3, 20, 2100]] {
            check::<f32, f32>(Elem::F32, Elem::F32, sizes, 0, (&|x| x as f32, &f64::from), &f64::from, 9.0);
            check::<i32, i32>(Elem::I32, Elem::I32, sizes, 0, (&|x| x as i32, &f64::from), &f64::from, 9);
            check(Elem::BF16, Elem::F32, sizes, 0, (&bf16::from_f64, &bf16::to_f64), &f64::from, 9.0f32);
        }
    }

    #[test]
    fn sums_of_narrow_floats_are_the_same_at_every_level() {
        let (m, n, k) = (5, 37, 700);
        let mut random = Random(8);
        let mut draw = |len: usize| (0..len).map(|_| bf16::from_f32(random.dyadic())).collect::<Vec<_>>();
        let (a, b) = (draw(m * k), draw(k * n));
        let gemm = Gemm { out: Elem::F32, ..Gemm::row_major(Elem::BF16, m, n, k) };
        for level in Level::available() {
            let mut c = vec![0.0f32; m * n];
            run(gemm, level, 1, Source::of(&a), Source::of(&b), Target::of(&mut c));
            for (at, &got) in c.iter().enumerate() {
                let sum: f64 = (0..k).map(|p| a[at / n * k + p].to_f64() * b[p * n + at % n].to_f64()).sum();
                assert_eq!(f64::from(got), sum, "{level:?} at {at}");
            }
        }
    }

    #[test]
    fn narrow_floats_are_rounded_once() {
        let (m, n, k) = (3, 40, 3000);
        let mut random = Random(5);
        let mut draw = |len: usize| (0..len).map(|_| bf16::from_f32(random.dyadic())).collect::<Vec<_>>();
        let (a, b, mut c) = (draw(m * k), draw(k * n), vec![bf16::ZERO; m * n]);
        let gemm = Gemm::row_major(Elem::BF16, m, n, k);
        run(gemm, Level::best(), 1, Source::of(&a), Source::of(&b), Target::of(&mut c));
        for i in 0..m {
            for j in 0..n {
                let sum: f64 = (0..k).map(|p| a[i * k + p].to_f64() * b[p * n + j].to_f64()).sum();
                let error = (c[i * n + j].to_f64() - sum).abs();
                assert!(error <= bf16::from_f64(sum).to_f64().abs() / 256.0 + 1.0, "{i} {j} {sum} {}", c[i * n + j]);
            }
        }
    }

    #[test]
    fn a_batch_shares_operands() {
        let (m, n, k) = (64, 512, 640);
        let mut random = Random(6);
        let mut draw = |len: usize| (0..len).map(|_| random.dyadic()).collect::<Vec<_>>();
        let (a, b, mut c) = (draw(m * k), draw(3 * k * n), vec![0.0f32; 3 * m * n]);
        let loops = [(3, [0, (k * n) as isize, (m * n) as isize])];
        let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
        Batch::new(Gemm::row_major(Elem::F32, m, n, k), &loops).run(&Workers::new(2), &mut [product]);
        for (index, &got) in c.iter().enumerate().step_by(997) {
            let (p, i, j) = (index / (m * n), index / n % m, index % n);
            let sum: f64 = (0..k).map(|q| f64::from(a[i * k + q]) * f64::from(b[p * k * n + q * n + j])).sum();
            assert_eq!(f64::from(got), sum);
        }
    }

    #[test]
    fn many_products_need_little_memory() {
        let half = 2 * PRODUCTS + 7;
        let a: Vec<f32> = (0..2 * half).map(|i| (i % 1000) as f32).collect();
        let (b, mut c) = ([2.0f32, 3.0], vec![0.0f32; 2 * half]);
        let loops = [(2, [half as isize, 1, half as isize]), (half, [1, 0, 1])];
        let batch = Batch::new(Gemm::row_major(Elem::F32, 1, 1, 1), &loops);
        let workers = Workers::new(2);
        assert!(batch.scratch_bytes(&workers, &[[0; 3]]) < 1 << 25);
        let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
        batch.run(&workers, &mut [product]);
        assert!((0..2 * half).all(|i| c[i] == a[i] * b[i / half]));
    }

    #[test]
    fn products_without_elements_are_not_listed() {
        let loops = [(1 << 40, [0; 3]), (0, [1; 3])];
        for gemm in [Gemm::row_major(Elem::F32, 0, 3, 2), Gemm::row_major(Elem::F32, 2, 3, 4)] {
            let loops = if gemm.m == 0 { &loops[..1] } else { &loops[..] };
            let batch = Batch::new(gemm, loops);
            assert_eq!(batch.scratch_bytes(&Workers::new(1), &[[0; 3]]), 0);
            let product =
                Product { a: Source::of::<f32>(&[]), b: Source::of(&[0f32; 6]), c: Target::of::<f32>(&mut []) };
            if gemm.m == 0 {
                batch.run(&Workers::new(1), &mut [product]);
            }
        }
    }

    #[test]
    #[should_panic(expected = "have what is reached")]
    fn operands_are_checked() {
        let (a, b, mut c) = ([0f32; 6], [0f32; 11], [0f32; 8]);
        let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
        Batch::new(Gemm::row_major(Elem::F32, 2, 4, 3), &[]).run(&Workers::new(1), &mut [product]);
    }

    #[test]
    #[should_panic(expected = "writes elements twice")]
    fn results_are_apart() {
        Batch::new(Gemm::row_major(Elem::F32, 2, 4, 3), &[(2, [6, 12, 7])]);
    }

    #[test]
    #[should_panic(expected = "rows for each matrix")]
    fn ragged_rows_are_counted() {
        let (a, b, mut c) = ([0f32; 6], [0f32; 24], [0f32; 8]);
        let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
        Gemm::row_major(Elem::F32, 2, 4, 3).run_ragged(&Workers::new(1), &mut [product], &[vec![1, 2]], 12);
    }

    #[test]
    #[should_panic(expected = "no kernel for I16 to I32")]
    fn ragged_products_need_a_kernel_for_their_types() {
        let gemm = Gemm { out: Elem::I32, ..Gemm::row_major(Elem::I16, 2, 4, 0) };
        let mut c = [0i32; 8];
        let product = Product { a: Source::of::<i16>(&[]), b: Source::of::<i16>(&[]), c: Target::of(&mut c) };
        gemm.run_ragged(&Workers::new(1), &mut [product], &[vec![1, 1]], 0);
    }

    #[test]
    fn ragged_products_charge_no_more_than_is_predicted() {
        let (m, n, k, workers) = (600, 300, 300, Workers::new(1));
        let (a, b) = (vec![1f32; m * k], vec![1f32; 2 * k * n]);
        for strides in [[n as isize, 1], [1, m as isize]] {
            let gemm = Gemm { c: strides, ..Gemm::row_major(Elem::F32, m, n, k) };
            let mut c = vec![0f32; m * n];
            let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
            let budget = Budget::new(Account::with_limit(1 << 30), None, CancelToken::default());
            let step = (k * n) as isize;
            budget.run(|| gemm.run_ragged(&workers, &mut [product], &[vec![350, 250]], step)).expect("it fits");
            let (charged, predicted) = (budget.account().peak(), gemm.ragged_scratch_bytes(&workers, 1, 2));
            assert!((1..=predicted).contains(&charged), "{charged} of {predicted} bytes, {strides:?}");
        }
    }

    #[test]
    fn one_product_is_a_batch() {
        let (a, b, mut c) = ([1.0f32, 2.0, 3.0, 4.0], [5.0f32, 6.0, 7.0, 8.0], [0.0f32; 4]);
        let product = Product { a: Source::of(&a), b: Source::of(&b), c: Target::of(&mut c) };
        Batch::new(Gemm::row_major(Elem::F32, 2, 2, 2), &[]).run(Workers::global(), &mut [product]);
        assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
    }
}
