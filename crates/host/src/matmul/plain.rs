//! Products in plain loops and by gemmkit, for types that have no packed kernel.
#![expect(unsafe_code, reason = "products follow addresses")]

use super::gemm::{Gemm, Places};
use crate::elem::Elem;
use crate::parts::Pace;
use crate::pool::Workers;
use gemmkit::scalar::Scalar;
use gemmkit::{ComplexScalar, Parallelism};
use num_complex::Complex;
use shardwise_base::budget;

/// The size of the parts of the summed dimension. A piece of a product polls the budget after each of them.
const DEPTH: usize = 1 << 15;

/// Computes row-major results of products whose types have no packed kernel, and results of any type and layout if
/// nothing is summed.
///
/// # Safety
/// As for [`Gemm::run`].
pub(super) unsafe fn run(gemm: &Gemm, workers: &Workers, products: &[Places]) {
    let job = Job { gemm, products, workers };
    // SAFETY: as the caller says.
    unsafe {
        match gemm.elem {
            _ if gemm.k == 0 => products.iter().for_each(|p| clear(gemm, p)),
            Elem::F64 => job.doubles(),
            Elem::C64 => job.complex::<f32>(),
            Elem::C128 => job.complex::<f64>(),
            Elem::Bool => job.plain::<Truth>(),
            _ => job.plain::<u64>(),
        }
    }
}

/// Sets the result of a product that sums nothing to zero, or leaves it unchanged if the product is added to it.
///
/// # Safety
/// As for [`Gemm::run`].
unsafe fn clear(gemm: &Gemm, product: &Places) {
    let size = gemm.out.size();
    for i in (0..gemm.m as isize).filter(|_| !gemm.accumulate) {
        for j in 0..gemm.n as isize {
            let at = product.c.offset((i * gemm.c[0] + j * gemm.c[1]) * size as isize);
            // SAFETY: as the caller says.
            unsafe { at.0.write_bytes(0, size) };
        }
    }
}

struct Job<'a> {
    gemm: &'a Gemm,
    products: &'a [Places],
    workers: &'a Workers,
}

impl Job<'_> {
    /// Calls `run` with the shape and the pointers of each piece. The summed dimension is cut too, and all pieces of a
    /// sum but the first are added to the result.
    fn pieces<A, C>(&self, run: impl Fn(&Gemm, *const A, *const A, *mut C) + Sync) {
        let gemm = self.gemm;
        let pieces = gemm.pieces(self.products.len());
        let count = pieces[0] * pieces[1];
        let effort = gemm.effort(self.products.len());
        self.workers.run(self.products.len() * count, effort, |part| {
            let product = self.products[part / count];
            let (shape, [a, b, c]) = gemm.piece(pieces, part % count);
            let (pa, pb, pc) = (product.a.0.cast::<A>(), product.b.0.cast::<A>(), product.c.0.cast::<C>());
            let (pa, pb, pc) = (pa.wrapping_offset(a), pb.wrapping_offset(b), pc.wrapping_offset(c));
            for start in (0..shape.k).step_by(DEPTH).filter(|_| shape.m > 0 && shape.n > 0) {
                let k = DEPTH.min(shape.k - start);
                let shape = Gemm { k, accumulate: shape.accumulate || start > 0, ..shape };
                let at = start as isize;
                run(&shape, pa.wrapping_offset(at * gemm.a[1]), pb.wrapping_offset(at * gemm.b[0]), pc);
                budget::poll();
            }
        });
    }

    /// Computes products of `f64` by gemmkit.
    ///
    /// # Safety
    /// As for `Gemm::run`; the elements must be `f64`.
    unsafe fn doubles(&self) {
        self.pieces(|g, a: *const f64, b, c| {
            let beta = f64::from(g.accumulate);
            let [[ra, ca], [rb, cb], [rc, cc]] = [g.a, g.b, g.c];
            let serial = Parallelism::Serial;
            // SAFETY: as the caller says.
            unsafe { gemmkit::gemm_unchecked(g.m, g.k, g.n, 1.0, a, ra, ca, b, rb, cb, beta, c, rc, cc, serial) }
        });
    }

    /// Computes complex products by gemmkit.
    ///
    /// # Safety
    /// As for `Gemm::run`; the elements must be pairs of `T`.
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

    /// Computes products row by row, for types without a kernel of their own.
    ///
    /// # Safety
    /// As for `Gemm::run`; the elements must be `T`.
    unsafe fn plain<T: Number>(&self) {
        self.pieces(|g, a: *const T, b, c| {
            // SAFETY: as the caller says.
            unsafe { multiply_rows(g, a, b, c) }
        });
    }
}

/// Computes the product of shape `g` row by row, and adds it to the values in `c` if `g` says so.
///
/// # Safety
/// As for `Gemm::run`.
unsafe fn multiply_rows<T: Number>(g: &Gemm, a: *const T, b: *const T, c: *mut T) {
    let (mut sums, mut pace) = (vec![T::NIL; g.n], Pace::default());
    for i in 0..g.m as isize {
        sums.fill(T::NIL);
        for p in 0..g.k as isize {
            // SAFETY: as the caller says.
            let (left, row) = unsafe { (*a.offset(i * g.a[0] + p * g.a[1]), b.offset(p * g.b[0])) };
            pace.spend(g.n);
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

/// The operations that the plain loop needs.
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

/// A truth value in a byte. An element of a product of matrices is the `or` of `and`s.
#[derive(Clone, Copy)]
struct Truth(u8);

numbers! {
    u64: 0, u64::wrapping_add, u64::wrapping_mul;
    Truth: Truth(0), |a, b| Truth(a.0 | b.0), |a, b| Truth(a.0 & b.0);
}
