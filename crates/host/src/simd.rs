//! Vectors of lanes at the levels of vector instructions that this machine has.
//!
//! A `Word` is one lane: 32 or 64 bits that are read as a float, an integer or a truth value (all bits equal). Its
//! methods define each operation. A `Vector` is several words. Its default methods apply the methods of the word, and
//! a level overrides those that its instructions compute faster, **with the same bits**. The levels are AVX-512, AVX2
//! with FMA, and portable arrays.
#![expect(unsafe_code, reason = "instructions of the level")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod vector;
mod word;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;
pub(crate) use vector::Vector;
pub(crate) use word::Word;

use std::sync::OnceLock;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Arrays, which the compiler may vectorise for the target.
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with all of [`Level::Avx2`].
    Avx512,
}

impl Level {
    /// Returns the best level of this machine, or the level that the environment variable `SHARDWISE_LEVEL` names if it
    /// is lower: `portable`, `avx2` or `avx512`. No matrix unit is used if it names one. Other names are ignored.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::strongest().min(Level::named().unwrap_or(Level::Avx512)))
    }

    /// Returns the best level of this machine. No code runs at a higher one.
    pub(crate) fn strongest() -> Level {
        static STRONGEST: OnceLock<Level> = OnceLock::new();
        *STRONGEST.get_or_init(Level::detect)
    }

    /// Returns the levels of vector instructions that this machine has, from `Portable` up. `SHARDWISE_LEVEL` does not
    /// matter.
    #[cfg(test)]
    pub fn available() -> Vec<Level> {
        let best = Level::strongest();
        [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|&l| l <= best).collect()
    }

    /// Returns true unless `SHARDWISE_LEVEL` names a level.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "other processors have no unit that is used"))]
    pub(crate) fn allows_matrix_units() -> bool {
        Level::named().is_none()
    }

    /// Returns the level that `SHARDWISE_LEVEL` names, or `None` if it names none.
    fn named() -> Option<Level> {
        match std::env::var("SHARDWISE_LEVEL").as_deref() {
            Ok("portable") => Some(Level::Portable),
            Ok("avx2") => Some(Level::Avx2),
            Ok("avx512") => Some(Level::Avx512),
            _ => None,
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn detect() -> Level {
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn detect() -> Level {
        Level::Portable
    }
}

/// Code that may be compiled with the instructions of a level.
pub(crate) trait AtLevel {
    /// Runs the code, in which `V` has the vectors of 32-bit words. It must be inlined, with all that it calls often: a
    /// call that is not inlined lacks the level's instructions.
    fn run<V: Vector<Word = u32>>(self);
}

/// Runs code with the instructions of AVX2 if the best level has them, and otherwise with arrays. AVX-512 is not used:
/// it does not make code for few words faster.
pub(crate) fn run_words(code: impl AtLevel) {
    #[cfg(target_arch = "x86_64")]
    if Level::best() >= Level::Avx2 {
        // SAFETY: the machine has the instructions of its best level, and those of the levels below.
        return unsafe { run_avx2(code) };
    }
    code.run::<Portable<u32>>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2(code: impl AtLevel) {
    code.run::<Avx2>();
}

/// Prefetches the cache line at an address, which need not be valid. Does nothing on machines other than x86-64.
#[inline(always)]
pub(crate) fn prefetch(p: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast())
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = p;
}

/// Makes streaming stores visible to threads that read after the pool has joined. Does nothing on machines other than
/// x86-64, which have no streaming stores here.
pub(crate) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}
