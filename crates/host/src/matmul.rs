//! Matrix products.
//!
//! A [`Gemm`] is a shape with strides; a [`Product`] is where one such product's operands are. All products of a run are of
//! one shape: a batch, or the instances of one instruction. What they share is found: a [`Group`] is a matrix with all the
//! rows that are multiplied by it.
//!
//! Floats narrower than `f32` accumulate in `f32` and are rounded once, or not at all where `c` is `f32`. Integers wrap.
//!
//! [`packed`] has the kernel for all types that are summed in 32 bits; [`rows`] the one for few rows against one large matrix,
//! in place. `f64` and complex numbers are gemmkit's.
//!
//! ```
//! use shardwise_host::elem::Elem;
//! use shardwise_host::matmul::{Gemm, Product};
//! use shardwise_host::{block::Pointer, pool::Workers};
//! let (a, b, mut c) = ([1.0f32, 2.0, 3.0, 4.0], [5.0f32, 6.0, 7.0, 8.0], [0.0f32; 4]);
//! let gemm = Gemm::row_major(Elem::F32, 2, 2, 2);
//! let at = |p: *const f32| Pointer(p.cast_mut().cast());
//! let product = Product { a: at(a.as_ptr()), b: at(b.as_ptr()), c: at(c.as_mut_ptr()) };
//! // SAFETY: three matrices of two by two.
//! unsafe { gemm.run(Workers::global(), &[product]) };
//! assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
//! ```

#[cfg(test)]
mod edges;
mod packed;
pub mod rows;
mod tile;

use crate::block::Pointer;
use crate::elem::Elem;
use crate::movement::move_rows;
use crate::pool::{Effort, Workers, piece};
use crate::simd::Level;
use gemmkit::scalar::Scalar;
use gemmkit::{ComplexScalar, Parallelism};
use num_complex::Complex;
use std::collections::HashMap;
use tile::Tile;

/// The shape of a product `c = a b`, with `a: [m, k]`, `b: [k, n]`, `c: [m, n]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// The type of `a` and `b`.
    pub elem: Elem,
    /// The type of `c`: `elem`, `i32` where that is `i8`, or `f32` where it is `bf16` or `f16`.
    pub out: Elem,
    /// Rows of `a` and `c`.
    pub m: usize,
    /// Columns of `b` and `c`.
    pub n: usize,
    /// The summed dimension.
    pub k: usize,
    /// Row and column strides of `a`, in elements.
    pub a: [isize; 2],
    /// Row and column strides of `b`.
    pub b: [isize; 2],
    /// Row and column strides of `c`.
    pub c: [isize; 2],
    /// Whether the product is added to what `c` holds.
    pub accumulate: bool,
}

/// Where the operands of one product are.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The left operand.
    pub a: Pointer,
    /// The right operand.
    pub b: Pointer,
    /// The result, which overlaps neither.
    pub c: Pointer,
}

/// A row, and where its product goes.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The left row.
    pub a: Pointer,
    /// The result.
    pub c: Pointer,
}

/// A matrix and the rows that are multiplied by it.
#[derive(Clone, Debug)]
pub struct Group {
    /// The matrix.
    pub matrix: Pointer,
    /// All of one length.
    pub rows: Vec<Row>,
}

/// Rows that are not in one piece: windows of an array.
#[derive(Clone, Debug)]
pub struct Pieces {
    /// Where each piece starts, in bytes from the row.
    pub starts: Vec<isize>,
    /// Elements of a piece; even for `bf16`, if there are several.
    pub len: usize,
}

/// Pieces of a lone product.
const PIECES: usize = 8;
/// A piece has at least this many operations.
const PIECE_OPERATIONS: usize = 40_000_000;
/// Bytes of rows that are put together at a time.
const GATHERED_BYTES: usize = 1 << 21;
/// Below this many operations in all, nobody is woken.
const SMALL_OPERATIONS: usize = 4_000_000;

impl Gemm {
    /// A product of row-major matrices of one type.
    pub fn row_major(elem: Elem, m: usize, n: usize, k: usize) -> Gemm {
        let rows = |columns: usize| [columns as isize, 1];
        Gemm { elem, out: elem, m, n, k, a: rows(k), b: rows(n), c: rows(n), accumulate: false }
    }

    /// Whether there is a kernel for these types.
    pub fn is_supported(&self) -> bool {
        let widened = [(Elem::I8, Elem::I32), (Elem::BF16, Elem::F32), (Elem::F16, Elem::F32)];
        self.elem == self.out || widened.contains(&(self.elem, self.out))
    }

    /// Computes all products.
    ///
    /// # Safety
    /// The operands must be valid for their shapes and strides, and results overlap nothing else.
    pub unsafe fn run(&self, workers: &Workers, products: &[Product]) {
        // SAFETY: as the caller says.
        unsafe { self.run_at(Level::best(), workers, products) }
    }

    /// Computes products that have rows of their own number, not `m`.
    ///
    /// # Safety
    /// As [`Gemm::run`].
    pub unsafe fn run_ragged(&self, workers: &Workers, products: &[(usize, Product)]) {
        let rows = products.iter().map(|(m, _)| m).sum();
        // SAFETY: as the caller says.
        unsafe {
            match Tile::of(Level::best(), self.elem, self.out) {
                Some(tile) if self.k > 0 && self.is_row_major() => {
                    let groups = self.groups(products.iter().copied());
                    packed::run(self, &tile, workers, &groups, None, Gemm { m: rows, ..*self }.effort(1));
                }
                _ => products.iter().for_each(|&(m, product)| Gemm { m, ..*self }.run(workers, &[product])),
            }
        }
    }

    /// Computes products of rows whose summed dimension is in pieces of adjacent elements, and that lie anywhere, as their
    /// results do.
    ///
    /// # Safety
    /// As [`Gemm::run`].
    pub unsafe fn run_pieces(&self, workers: &Workers, groups: &[Group], pieces: &Pieces) {
        assert!(self.a[1] == 1 && self.k == pieces.len * pieces.starts.len() && self.k > 0, "rows are their pieces");
        let rows = groups.iter().map(|g| g.rows.len()).sum();
        let effort = Gemm { m: rows, ..*self }.effort(1);
        // SAFETY: as the caller says.
        unsafe {
            match Tile::of(Level::best(), self.elem, self.out) {
                Some(tile) => packed::run(self, &tile, workers, groups, Some(pieces), effort),
                None => groups.iter().for_each(|group| self.run_gathered(workers, group, pieces)),
            }
        }
    }

    /// As [`Gemm::run_pieces`], for types without packed kernels: some rows at a time are put together, and multiplied.
    ///
    /// # Safety
    /// As [`Gemm::run`].
    unsafe fn run_gathered(&self, workers: &Workers, group: &Group, pieces: &Pieces) {
        let (size, count) = (self.elem.size(), pieces.starts.len());
        let row_bytes = self.k * size;
        let at_a_time = (GATHERED_BYTES / row_bytes).max(1);
        let mut space = vec![0u128; (at_a_time.min(group.rows.len()) * row_bytes).div_ceil(16)];
        let space = Pointer(space.as_mut_ptr().cast());
        for rows in group.rows.chunks(at_a_time) {
            let from = |i: usize| rows[i / count].a.offset(pieces.starts[i % count]);
            let to = |i: usize| space.offset((i * pieces.len * size) as isize);
            // SAFETY: as the caller says; there is room for these rows.
            unsafe { move_rows(workers, rows.len() * count, pieces.len * size, from, to) };
            for (start, end, stride) in self.regular(rows) {
                let gemm = Gemm { m: end - start, a: [self.k as isize, 1], c: [stride, self.c[1]], ..*self };
                let a = space.offset((start * row_bytes) as isize);
                // SAFETY: as the caller says.
                unsafe { gemm.run(workers, &[Product { a, b: group.matrix, c: rows[start].c }]) };
            }
        }
    }

    /// Rows whose results lie at equal distances: the first, the end, and the distance in elements.
    fn regular(&self, rows: &[Row]) -> Vec<(usize, usize, isize)> {
        let distance = |i: usize| (rows[i].c.0 as isize - rows[i - 1].c.0 as isize) / self.out.size() as isize;
        let (mut runs, mut start) = (vec![], 0);
        while start < rows.len() {
            let stride = if start + 1 < rows.len() { distance(start + 1) } else { self.n as isize };
            let end = (start + 1..rows.len()).find(|&i| distance(i) != stride).unwrap_or(rows.len());
            runs.push((start, end, stride));
            start = end;
        }
        runs
    }

    /// # Safety
    /// As [`Gemm::run`]; the machine must have the level.
    unsafe fn run_at(&self, level: Level, workers: &Workers, products: &[Product]) {
        assert!(self.is_supported(), "no kernel for {:?} to {:?}", self.elem, self.out);
        // SAFETY: as the caller says.
        unsafe {
            if self.k == 0 {
                return products.iter().for_each(|p| self.clear(p));
            }
            if !self.is_row_major() {
                let flipped: Vec<Product> = products.iter().map(|p| Product { a: p.b, b: p.a, c: p.c }).collect();
                return self.transposed().run_at(level, workers, &flipped);
            }
            if let Some(tile) = Tile::of(level, self.elem, self.out) {
                let groups = self.groups(products.iter().map(|&p| (self.m, p)));
                return packed::run(self, &tile, workers, &groups, None, self.effort(products.len()));
            }
            let job = Job { gemm: self, products, workers };
            match self.elem {
                Elem::F64 => job.doubles(),
                Elem::C64 => job.complex::<f32>(),
                Elem::C128 => job.complex::<f64>(),
                Elem::Bool => job.plain::<Truth>(),
                _ => job.plain::<u64>(),
            }
        }
    }

    fn is_row_major(&self) -> bool {
        self.c[1].abs() <= self.c[0].abs()
    }

    /// `c` as the transpose of a product of transposes, with the operands exchanged.
    fn transposed(&self) -> Gemm {
        let flip = |[row, column]: [isize; 2]| [column, row];
        Gemm { m: self.n, n: self.m, a: flip(self.b), b: flip(self.a), c: flip(self.c), ..*self }
    }

    /// The rows of products, each of so many, by their right operands.
    pub(crate) fn groups(&self, products: impl Iterator<Item = (usize, Product)>) -> Vec<Group> {
        let mut groups: Vec<Group> = vec![];
        let mut known: HashMap<*mut u8, usize> = HashMap::new();
        let (a, c) = (self.a[0] * self.elem.size() as isize, self.c[0] * self.out.size() as isize);
        for (m, p) in products {
            let group = *known.entry(p.b.0).or_insert_with(|| {
                groups.push(Group { matrix: p.b, rows: vec![] });
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

    /// The result of a product that sums nothing.
    ///
    /// # Safety
    /// As [`Gemm::run`].
    unsafe fn clear(&self, product: &Product) {
        let size = self.out.size() as isize;
        for i in (0..self.m as isize).filter(|_| !self.accumulate) {
            for j in 0..self.n as isize {
                let at = product.c.offset((i * self.c[0] + j * self.c[1]) * size);
                // SAFETY: as the caller says.
                unsafe { at.0.write_bytes(0, self.out.size()) };
            }
        }
    }

    fn operations(&self) -> usize {
        2usize.saturating_mul(self.m).saturating_mul(self.n).saturating_mul(self.k)
    }

    /// How many pieces each of `count` products is cut into.
    fn pieces(&self, count: usize) -> usize {
        let wanted = PIECES.div_ceil(count.max(1));
        wanted.min(self.operations() / PIECE_OPERATIONS).max(1)
    }

    /// The rows or columns of piece `part`, as a shape and its offsets in `a`, `b` and `c`.
    fn piece(&self, pieces: usize, part: usize) -> (Gemm, [isize; 3]) {
        if self.n >= self.m {
            let range = piece(self.n, self.n.div_ceil(pieces).next_multiple_of(64), part);
            let start = range.start as isize;
            (Gemm { n: range.len(), ..*self }, [0, start * self.b[1], start * self.c[1]])
        } else {
            let range = piece(self.m, self.m.div_ceil(pieces).next_multiple_of(48), part);
            let start = range.start as isize;
            (Gemm { m: range.len(), ..*self }, [start * self.a[0], 0, start * self.c[0]])
        }
    }
}

struct Job<'a> {
    gemm: &'a Gemm,
    products: &'a [Product],
    workers: &'a Workers,
}

impl Job<'_> {
    /// Calls `run` with the shape and the pointers of each piece.
    fn pieces<A, C>(&self, run: impl Fn(&Gemm, *const A, *const A, *mut C) + Sync) {
        let gemm = self.gemm;
        let pieces = gemm.pieces(self.products.len());
        let effort = gemm.effort(self.products.len());
        self.workers.run(self.products.len() * pieces, effort, |part| {
            let product = self.products[part / pieces];
            let (shape, [a, b, c]) = gemm.piece(pieces, part % pieces);
            let (pa, pb, pc) = (product.a.0.cast::<A>(), product.b.0.cast::<A>(), product.c.0.cast::<C>());
            if shape.m > 0 && shape.n > 0 {
                run(&shape, pa.wrapping_offset(a), pb.wrapping_offset(b), pc.wrapping_offset(c));
            }
        });
    }

    /// # Safety
    /// As `Gemm::run`; the elements are `f64`.
    unsafe fn doubles(&self) {
        self.pieces(|g, a: *const f64, b, c| {
            let beta = f64::from(g.accumulate);
            let [[ra, ca], [rb, cb], [rc, cc]] = [g.a, g.b, g.c];
            let serial = Parallelism::Serial;
            // SAFETY: as the caller says.
            unsafe { gemmkit::gemm_unchecked(g.m, g.k, g.n, 1.0, a, ra, ca, b, rb, cb, beta, c, rc, cc, serial) }
        });
    }

    /// # Safety
    /// As `Gemm::run`; the elements are pairs of `T`.
    unsafe fn complex<T>(&self)
    where
        Complex<T>: ComplexScalar,
    {
        let (zero, one) = (<Complex<T> as Scalar>::ZERO, <Complex<T> as Scalar>::ONE);
        self.pieces(|g, a: *const Complex<T>, b, c| {
            let beta = if g.accumulate { one } else { zero };
            let [[ra, ca], [rb, cb], [rc, cc]] = [g.a, g.b, g.c];
            let serial = Parallelism::Serial;
            // SAFETY: as the caller says.
            unsafe {
                gemmkit::gemm_cplx_unchecked(
                    g.m, g.k, g.n, one, a, ra, ca, false, b, rb, cb, false, beta, c, rc, cc, serial,
                )
            }
        });
    }

    /// Row by row, for types without a kernel of their own.
    ///
    /// # Safety
    /// As `Gemm::run`; the elements are `T`.
    unsafe fn plain<T: Number>(&self) {
        self.pieces(|g, a: *const T, b, c| {
            // SAFETY: as the caller says.
            unsafe { multiply_rows(g, a, b, c) }
        });
    }
}

/// # Safety
/// As `Gemm::run`.
unsafe fn multiply_rows<T: Number>(g: &Gemm, a: *const T, b: *const T, c: *mut T) {
    let mut sums = vec![T::NIL; g.n];
    for i in 0..g.m as isize {
        sums.fill(T::NIL);
        for p in 0..g.k as isize {
            // SAFETY: as the caller says.
            let (left, row) = unsafe { (*a.offset(i * g.a[0] + p * g.a[1]), b.offset(p * g.b[0])) };
            for (j, sum) in sums.iter_mut().enumerate() {
                // SAFETY: as the caller says.
                *sum = sum.plus(left.times(unsafe { *row.offset(j as isize * g.b[1]) }));
            }
        }
        for (j, &sum) in sums.iter().enumerate() {
            // SAFETY: as the caller says.
            let at = unsafe { &mut *c.offset(i * g.c[0] + j as isize * g.c[1]) };
            *at = if g.accumulate { at.plus(sum) } else { sum };
        }
    }
}

/// What the plain loop needs.
trait Number: Copy + Send + Sync {
    const NIL: Self;
    fn plus(self, o: Self) -> Self;
    fn times(self, o: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty: $zero:expr, $plus:expr, $times:expr;)*) => {$(
        impl Number for $type {
            const NIL: Self = $zero;
            fn plus(self, o: Self) -> Self {
                let f: fn(Self, Self) -> Self = $plus;
                f(self, o)
            }
            fn times(self, o: Self) -> Self {
                let f: fn(Self, Self) -> Self = $times;
                f(self, o)
            }
        }
    )*};
}

/// A truth value in a byte: `or` of `and`s.
#[derive(Clone, Copy)]
struct Truth(u8);

numbers! {
    u64: 0, u64::wrapping_add, u64::wrapping_mul;
    Truth: Truth(0), |a, b| Truth(a.0 | b.0), |a, b| Truth(a.0 & b.0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::Random;
    use half::{bf16, f16};

    type Check<'a, T> = (&'a dyn Fn(f64) -> T, &'a dyn Fn(T) -> f64);

    /// Small integers multiply exactly in every type.
    fn check<T: Copy, C: Copy>(
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
        let at = |p: *const T| Pointer(p.cast_mut().cast());
        let product = Product { a: at(a.as_ptr()), b: at(b.as_ptr()), c: Pointer(c.as_mut_ptr().cast()) };
        let runs = Level::available().into_iter().flat_map(|level| [(level, false, 1.0), (level, true, 2.0)]);
        for (level, accumulate, times) in runs {
            // SAFETY: the operands have these shapes.
            unsafe { Gemm { accumulate, ..gemm }.run_at(level, &Workers::new(2), &[product]) };
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
            let at = |p: *const u8| Pointer(p.cast_mut());
            let product = Product {
                a: at(a.as_ptr().cast()),
                b: at(b.as_ptr().cast()),
                c: at(c.as_mut_ptr().cast_const().cast()),
            };
            // SAFETY: the operands have these shapes.
            unsafe { gemm.run_at(level, &Workers::new(1), &[product]) };
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
        let at = |p: *const bf16| Pointer(p.cast_mut().cast());
        let product = Product { a: at(a.as_ptr()), b: at(b.as_ptr()), c: at(c.as_mut_ptr()) };
        // SAFETY: the operands have these shapes.
        unsafe { Gemm::row_major(Elem::BF16, m, n, k).run(&Workers::new(1), &[product]) };
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
        let at = |p: *const f32| Pointer(p.cast_mut().cast());
        let products: Vec<Product> = (0..3)
            .map(|i| Product { a: at(a.as_ptr()), b: at(b[i * k * n..].as_ptr()), c: at(c[i * m * n..].as_mut_ptr()) })
            .collect();
        // SAFETY: the operands have these shapes.
        unsafe { Gemm::row_major(Elem::F32, m, n, k).run(&Workers::new(2), &products) };
        for (index, &got) in c.iter().enumerate().step_by(997) {
            let (p, i, j) = (index / (m * n), index / n % m, index % n);
            let sum: f64 = (0..k).map(|q| f64::from(a[i * k + q]) * f64::from(b[p * k * n + q * n + j])).sum();
            assert_eq!(f64::from(got), sum);
        }
    }
}
