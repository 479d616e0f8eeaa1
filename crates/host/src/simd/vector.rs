//! Several lanes, and the definition of each operation on them by that on one.

use super::word::Word;
use shardwise_mathfn::with_functions;

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

/// Several lanes. Loads and stores need `LANES` elements at `p`, at any alignment unless stated otherwise.
pub(crate) trait Vector: Copy {
    type Word: Word;
    const LANES: usize;
    /// True if eight vectors fit into the registers.
    const IN_REGISTERS: bool;

    fn from_fn(f: impl FnMut(usize) -> Self::Word) -> Self;
    fn map(self, f: impl FnMut(Self::Word) -> Self::Word) -> Self;
    fn zip(self, o: Self, f: impl Fn(Self::Word, Self::Word) -> Self::Word) -> Self;
    fn splat(w: Self::Word) -> Self;
    /// Returns `self * m + a` of floats, rounded once.
    fn fused(self, m: Self, a: Self) -> Self;
    unsafe fn load(p: *const u8) -> Self;
    unsafe fn store(self, p: *mut u8);
    #[inline(always)]
    fn read(words: &[Self::Word]) -> Self {
        let words = &words[..Self::LANES];
        // SAFETY: there are as many words.
        unsafe { Self::load(words.as_ptr().cast()) }
    }
    #[inline(always)]
    fn write(self, words: &mut [Self::Word]) {
        let words = &mut words[..Self::LANES];
        // SAFETY: there are as many words.
        unsafe { self.store(words.as_mut_ptr().cast()) }
    }
    /// Stores the vector, without going through the caches at levels that can; `p` must be aligned to the vector.
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
