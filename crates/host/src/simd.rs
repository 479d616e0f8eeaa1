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
mod word;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use portable::Portable;
pub(crate) use word::Word;

use crate::functions::with_functions;
use std::sync::OnceLock;

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Arrays, which the compiler may vectorise for the target.
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
}

impl Level {
    /// Returns the best level of this machine, or the lower level that `SHARDWISE_LEVEL` names (`portable`, `avx2`).
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::strongest().min(Level::masked()))
    }

    /// Returns the best level of this machine. No code runs at a higher one.
    pub(crate) fn strongest() -> Level {
        static STRONGEST: OnceLock<Level> = OnceLock::new();
        *STRONGEST.get_or_init(Level::detect)
    }

    /// Returns all levels of this machine.
    pub fn available() -> Vec<Level> {
        let best = Level::strongest();
        [Level::Portable, Level::Avx2, Level::Avx512].into_iter().filter(|&l| l <= best).collect()
    }

    fn masked() -> Level {
        match std::env::var("SHARDWISE_LEVEL").as_deref() {
            Ok("portable") => Level::Portable,
            Ok("avx2") => Level::Avx2,
            _ => Level::Avx512,
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

/// Declares the methods of `Vector` that apply a method of `Word` to each lane.
macro_rules! lanewise {
    (unary_functions { $($_op:ident $_name:ident $unary:ident $($_formulas:ident)*,)* }
     binary_functions { $($_op2:ident $_name2:ident $binary:ident $($_formulas2:ident)*,)* }) => {
        lanewise! { unary: $($unary)*; binary: $($binary)*; load:; store:; }
    };
    (unary: $($unary:ident)*; binary: $($binary:ident)*; load: $($load:ident $width:literal)*; store: $($store:ident $swidth:literal)*;) => {
        $(#[inline(always)]
        fn $unary(self) -> Self {
            self.map(Self::Word::$unary)
        })*
        $(#[inline(always)]
        fn $binary(self, o: Self) -> Self {
            self.zip(o, Self::Word::$binary)
        })*
        $(#[inline(always)]
        unsafe fn $load(p: *const u8) -> Self {
            // SAFETY: the caller says that all lanes can be read.
            Self::from_fn(|i| unsafe { Self::Word::$load(p.add(i * $width)) })
        })*
        $(#[inline(always)]
        unsafe fn $store(self, p: *mut u8) {
            let mut i = 0;
            self.map(|w| {
                // SAFETY: the caller says that all lanes can be written.
                unsafe { w.$store(p.add(i * $swidth)) };
                i += 1;
                w
            });
        })*
    };
}

/// Prefetches the cache line at an address, which need not be valid.
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

/// Makes streaming stores visible to threads that read after the pool has joined.
pub(crate) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has this instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}

/// Several lanes. Loads and stores need `LANES` elements at `p`, at any alignment unless stated otherwise.
pub(crate) trait Vector: Copy {
    /// The type of one lane.
    type Word: Word;
    /// The number of lanes.
    const LANES: usize;
    /// Whether eight vectors fit into the registers.
    const IN_REGISTERS: bool;

    fn from_fn(f: impl FnMut(usize) -> Self::Word) -> Self;
    fn map(self, f: impl FnMut(Self::Word) -> Self::Word) -> Self;
    fn zip(self, o: Self, f: impl Fn(Self::Word, Self::Word) -> Self::Word) -> Self;
    fn splat(w: Self::Word) -> Self;
    /// Returns `self * m + a` of floats, rounded once.
    fn fused(self, m: Self, a: Self) -> Self;
    unsafe fn load(p: *const u8) -> Self;
    unsafe fn store(self, p: *mut u8);
    /// Returns the first words of a list.
    #[inline(always)]
    fn read(words: &[Self::Word]) -> Self {
        let words = &words[..Self::LANES];
        // SAFETY: there are as many words.
        unsafe { Self::load(words.as_ptr().cast()) }
    }
    /// Writes the first words of a list.
    #[inline(always)]
    fn write(self, words: &mut [Self::Word]) {
        let words = &mut words[..Self::LANES];
        // SAFETY: there are as many words.
        unsafe { self.store(words.as_mut_ptr().cast()) }
    }
    /// Stores the vector without going through the caches; `p` must be aligned to the vector.
    #[inline(always)]
    unsafe fn store_streaming(self, p: *mut u8) {
        // SAFETY: as the caller's.
        unsafe { self.store(p) }
    }
    /// Returns `mask ? a : b` for each lane. The mask is `self`, a truth value.
    #[inline(always)]
    fn choose(self, a: Self, b: Self) -> Self {
        self.and(a).or(self.not().and(b))
    }

    lanewise! {
        unary: not sqr sqrt rsqrt floor ceil round_even round_away fsign is_finite sabs ssign popcount leading_zeros
            float_from_signed float_from_unsigned signed_from_float unsigned_from_float
            truth_from_int truth_from_float f32_from_signed f32_from_unsigned
            round_bf16 round_f16 round_f32 wrap_i8 wrap_u8 wrap_i16 wrap_u16 wrap_i32 wrap_u32;
        binary: fadd fsub fmul fdiv fmax fmin frem
            iadd isub imul smax smin umax umin sdiv udiv srem urem and or xor shl shr sar
            feq fne flt fle fgt fge ieq ine slt sle sgt sge ult ule ugt uge;
        load: load_bf16 2 load_f16 2 load_i8 1 load_u8 1 load_i16 2 load_u16 2 load_bool 1 load_f32 4 load_i32 4 load_u32 4;
        store: store_bf16 2 store_f16 2 store_low8 1 store_low16 2 store_low32 4 store_f32 4 store_bool 1;
    }
    with_functions! { lanewise! }
}
