//! The highest rate of multiply-adds, for machine models.
#![expect(unsafe_code, reason = "functions with the instructions of a level are called if the machine has them")]

use crate::pool::{Effort, Workers};
use crate::simd::Level;
use shardwise_base::DType;
use std::hint::black_box;
use std::time::Instant;

/// The number of rounds of each part of a measurement. A round has [`CHAINS`] multiply-adds, of vectors or, without
/// AVX2, of single numbers.
const ROUNDS: usize = 200_000;

/// The number of chains of multiply-adds that do not depend on each other.
const CHAINS: usize = 10;

/// The number of measurements, of which the fastest counts.
const TRIES: usize = 5;

/// Returns the flops in a second of multiply-adds in registers by this many workers of the process's pool, or by all of
/// them if it has fewer. A type that is not `f64` counts as `f32`. Without AVX2, both are measured as multiplications
/// and additions of single `f64` numbers.
pub fn peak_flops(dtype: DType, workers: usize) -> f64 {
    let lanes = lanes(dtype);
    let time = || {
        let start = Instant::now();
        Workers::global().run(workers, Effort::Large, |_| {
            black_box(chains(dtype));
        });
        start.elapsed().as_secs_f64()
    };
    let least = (0..TRIES).map(|_| time()).fold(f64::INFINITY, f64::min);
    (2 * lanes * CHAINS * ROUNDS * workers) as f64 / least
}

fn lanes(dtype: DType) -> usize {
    let bits = match Level::strongest() {
        Level::Avx512 => 512,
        Level::Avx2 => 256,
        Level::Portable => return 1,
    };
    bits / if dtype == DType::F64 { 64 } else { 32 }
}

fn chains(dtype: DType) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the machine has the instructions of the level.
        unsafe {
            match (Level::strongest(), dtype) {
                (Level::Avx512, DType::F64) => return x86::f64_512(),
                (Level::Avx512, _) => return x86::f32_512(),
                (Level::Avx2, DType::F64) => return x86::f64_256(),
                (Level::Avx2, _) => return x86::f32_256(),
                _ => {}
            }
        }
    }
    let mut sums = [1.0f64; CHAINS];
    for _ in 0..ROUNDS {
        sums.iter_mut().for_each(|sum| *sum = *sum * 0.5 + 1.0);
    }
    let _ = dtype;
    sums.iter().sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::peak::{CHAINS, ROUNDS};
    use std::arch::x86_64::*;

    /// Declares a function that computes [`CHAINS`] chains of multiply-adds, and returns a lane of their sum plus 1.
    macro_rules! chains {
        ($name:ident $features:literal $splat:ident $fused:ident $add:ident $first:ident) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name() -> f64 {
                let (half, one) = ($splat(0.5), $splat(1.0));
                let mut sums = [one; CHAINS];
                for _ in 0..ROUNDS {
                    for sum in &mut sums {
                        *sum = $fused(*sum, half, one);
                    }
                }
                f64::from($first(sums.into_iter().fold(one, |a, b| $add(a, b))))
            }
        };
    }

    chains!(f32_256 "avx2,fma" _mm256_set1_ps _mm256_fmadd_ps _mm256_add_ps _mm256_cvtss_f32);
    chains!(f64_256 "avx2,fma" _mm256_set1_pd _mm256_fmadd_pd _mm256_add_pd _mm256_cvtsd_f64);
    chains!(f32_512 "avx512f" _mm512_set1_ps _mm512_fmadd_ps _mm512_add_ps _mm512_cvtss_f32);
    chains!(f64_512 "avx512f" _mm512_set1_pd _mm512_fmadd_pd _mm512_add_pd _mm512_cvtsd_f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_converge_to_2() {
        // Each chain is at 2 in the end, and one is added to their sum.
        for dtype in [DType::F32, DType::F64] {
            assert!((chains(dtype) - (2 * CHAINS) as f64).abs() <= 1.0, "{}", chains(dtype));
        }
    }
}
