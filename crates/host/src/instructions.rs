//! The instructions with which kernels run.

use crate::matmul::uses_matrix_unit;
use crate::simd::Level;

/// Returns the name of the instructions with which kernels run in this process: `AVX-512, AVX512-BF16 and AMX`,
/// `AVX-512 and AVX512-BF16`, `AVX-512`, `AVX2` or `portable`.
pub fn instructions() -> &'static str {
    match Level::best() {
        Level::Avx512 if uses_matrix_unit() => "AVX-512, AVX512-BF16 and AMX",
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if is_x86_feature_detected!("avx512bf16") => "AVX-512 and AVX512-BF16",
        Level::Avx512 => "AVX-512",
        Level::Avx2 => "AVX2",
        Level::Portable => "portable",
    }
}
