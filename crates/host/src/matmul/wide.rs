//! Products of narrow floats whose sums stay in `f32`.
//!
//! An element's sum takes the products one after the other, from what `c` holds or from zero; with AVX512-BF16 two at a
//! time, as in [`super::rows`].

use super::Gemm;
use crate::simd::Level;
use gemmkit::kernel::{KernelFamily, MixedGemmF32};
use gemmkit::simd::{KernelSimd, ScalarTok};
use gemmkit::{Parallelism, Workspace, driver};
use half::{bf16, f16};
use std::cell::RefCell;

#[cfg(target_arch = "x86_64")]
use gemmkit::kernel::Bf16DotGemmF32;
#[cfg(target_arch = "x86_64")]
use gemmkit::simd::{Avx512Bf16, Avx512F, Fma};

/// A float of 16 bits.
pub(super) trait Narrow: Copy + Send + Sync {
    /// Computes one product.
    ///
    /// # Safety
    /// As [`Gemm::run`]; the machine must have the level.
    unsafe fn multiply(level: Level, g: &Gemm, a: *const Self, b: *const Self, c: *mut f32);
}

// Tiles are those that gemmkit has for products that it rounds.
impl Narrow for bf16 {
    unsafe fn multiply(level: Level, g: &Gemm, a: *const bf16, b: *const bf16, c: *mut f32) {
        // SAFETY: as the caller says.
        unsafe {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 if is_x86_feature_detected!("avx512bf16") => {
                    run::<Bf16DotGemmF32, _, 2, 12>(Avx512Bf16, g, a, b, c)
                }
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => run::<MixedGemmF32<bf16>, _, 2, 12>(Avx512F, g, a, b, c),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => run::<MixedGemmF32<bf16>, _, 2, 6>(Fma, g, a, b, c),
                _ => run::<MixedGemmF32<bf16>, _, 4, 4>(ScalarTok, g, a, b, c),
            }
        }
    }
}

impl Narrow for f16 {
    unsafe fn multiply(level: Level, g: &Gemm, a: *const f16, b: *const f16, c: *mut f32) {
        // SAFETY: as the caller says.
        unsafe {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => run::<MixedGemmF32<f16>, _, 2, 12>(Avx512F, g, a, b, c),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => run::<MixedGemmF32<f16>, _, 2, 6>(Fma, g, a, b, c),
                _ => run::<MixedGemmF32<f16>, _, 4, 4>(ScalarTok, g, a, b, c),
            }
        }
    }
}

/// One product of operands of a family, whose result the driver wants column-major: a row-major one is transposed.
///
/// # Safety
/// As [`Narrow::multiply`].
unsafe fn run<F, S, const ROWS: usize, const COLUMNS: usize>(
    simd: S,
    g: &Gemm,
    a: *const F::Lhs,
    b: *const F::Lhs,
    c: *mut f32,
) where
    F: KernelFamily<Acc = f32, Out = f32, Rhs = <F as KernelFamily>::Lhs>,
    S: KernelSimd<F::Lhs, F::Lhs, f32, f32>,
{
    thread_local!(static SPACE: RefCell<Workspace> = const { RefCell::new(Workspace::new()) });
    let beta = f32::from(g.accumulate);
    let [[ra, ca], [rb, cb], [rc, cc]] = [g.a, g.b, g.c];
    let serial = Parallelism::Serial;
    SPACE.with_borrow_mut(|space| {
        // SAFETY: as the caller says.
        unsafe {
            if cc.abs() < rc.abs() {
                driver::run::<F, S, ROWS, COLUMNS>(
                    simd, g.n, g.k, g.m, 1.0, b, cb, rb, a, ca, ra, beta, c, cc, rc, serial, space,
                );
            } else {
                driver::run::<F, S, ROWS, COLUMNS>(
                    simd, g.m, g.k, g.n, 1.0, a, ra, ca, b, rb, cb, beta, c, rc, cc, serial, space,
                );
            }
        }
    });
}
