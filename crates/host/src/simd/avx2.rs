//! Eight 32-bit lanes in an AVX2 register.

use super::vector::Vector;
use super::word::Word;
use shardwise_mathfn::{Lanes, formula, powers, remainders};
use std::arch::x86_64::*;

/// One register, read as floats or words.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256);

macro_rules! intrinsic {
    ($e:expr) => {{
        // SAFETY: this type is used only inside functions that enable the level's features, after their detection;
        // the caller of a load or store vouches for its address.
        unsafe { $e }
    }};
}

#[inline(always)]
fn int(v: Avx2) -> __m256i {
    intrinsic!(_mm256_castps_si256(v.0))
}

#[inline(always)]
fn from_int(v: __m256i) -> Avx2 {
    Avx2(intrinsic!(_mm256_castsi256_ps(v)))
}

#[inline(always)]
fn words(bits: i32) -> __m256i {
    intrinsic!(_mm256_set1_epi32(bits))
}

#[inline(always)]
fn blend(mask: Avx2, a: Avx2, b: Avx2) -> Avx2 {
    Avx2(intrinsic!(_mm256_blendv_ps(b.0, a.0, mask.0)))
}

#[inline(always)]
fn unordered(a: Avx2, b: Avx2) -> Avx2 {
    Avx2(intrinsic!(_mm256_cmp_ps::<_CMP_UNORD_Q>(a.0, b.0)))
}

const NAN: u32 = 0x7fc0_0000;

impl Lanes for Avx2 {
    type Mask = Avx2;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Avx2(intrinsic!(_mm256_set1_ps(x)))
    }
    #[inline(always)]
    fn splat_bits(bits: u32) -> Self {
        from_int(words(bits as i32))
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn fma(self, m: Self, a: Self) -> Self {
        Avx2(intrinsic!(_mm256_fmadd_ps(self.0, m.0, a.0)))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx2(intrinsic!(_mm256_sqrt_ps(self.0)))
    }
    #[inline(always)]
    fn lesser(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_min_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn greater(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_max_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn bit_and(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_and_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn bit_or(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_or_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn bit_xor(self, o: Self) -> Self {
        Avx2(intrinsic!(_mm256_xor_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn int_add(self, o: Self) -> Self {
        from_int(intrinsic!(_mm256_add_epi32(int(self), int(o))))
    }
    #[inline(always)]
    fn int_sub(self, o: Self) -> Self {
        from_int(intrinsic!(_mm256_sub_epi32(int(self), int(o))))
    }
    #[inline(always)]
    fn int_shl<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm256_sll_epi32(int(self), _mm_cvtsi32_si128(N as i32))))
    }
    #[inline(always)]
    fn int_shr<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm256_srl_epi32(int(self), _mm_cvtsi32_si128(N as i32))))
    }
    #[inline(always)]
    fn int_sar<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm256_sra_epi32(int(self), _mm_cvtsi32_si128(N as i32))))
    }
    #[inline(always)]
    fn int_to_float(self) -> Self {
        Avx2(intrinsic!(_mm256_cvtepi32_ps(int(self))))
    }
    #[inline(always)]
    fn eq(self, o: Self) -> Avx2 {
        Avx2(intrinsic!(_mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, o.0)))
    }
    #[inline(always)]
    fn lt(self, o: Self) -> Avx2 {
        Avx2(intrinsic!(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, o.0)))
    }
    #[inline(always)]
    fn choose(mask: Avx2, a: Self, b: Self) -> Self {
        blend(mask, a, b)
    }
    #[inline(always)]
    fn patch(self, mask: Avx2, x: Self, f: fn(f32) -> f32) -> Self {
        let bits = intrinsic!(_mm256_movemask_ps(mask.0));
        if bits == 0 { self } else { patch_lanes(self, bits, x, f) }
    }
}

#[cold]
#[inline(never)]
fn patch_words(y: &mut [u32; 8], mask: i32, x: &[u32; 8], f: fn(f32) -> f32) {
    for i in (0..8).filter(|i| mask >> i & 1 == 1) {
        y[i] = f(f32::from_bits(x[i])).to_bits();
    }
}

#[inline(always)]
fn patch_lanes(y: Avx2, mask: i32, x: Avx2, f: fn(f32) -> f32) -> Avx2 {
    let mut lanes = to_array(y);
    patch_words(&mut lanes, mask, &to_array(x), f);
    Avx2::from_fn(|i| lanes[i])
}

impl Avx2 {
    /// Returns the lanes of half a vector, and zeros after them.
    #[inline(always)]
    pub fn from_half(half: __m128) -> Avx2 {
        Avx2(intrinsic!(_mm256_zextps128_ps256(half)))
    }

    /// Returns the first four lanes.
    #[inline(always)]
    pub fn half(self) -> __m128 {
        intrinsic!(_mm256_castps256_ps128(self.0))
    }
}

#[inline(always)]
fn to_array(v: Avx2) -> [u32; 8] {
    let mut lanes = [0; 8];
    intrinsic!(_mm256_storeu_ps(lanes.as_mut_ptr().cast(), v.0));
    lanes
}

/// Returns the low halves of eight words.
#[inline(always)]
fn low_halves(v: Avx2) -> __m128i {
    let low = int(v.and(from_int(words(0xffff))));
    intrinsic!(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low)))
}

macro_rules! overrides {
    (unary { $($unary:ident = |$x:ident| $ue:expr;)* } binary { $($binary:ident = |$a:ident, $b:ident| $be:expr;)* }) => {
        $(#[inline(always)]
        fn $unary(self) -> Self {
            let $x = self;
            $ue
        })*
        $(#[inline(always)]
        fn $binary(self, o: Self) -> Self {
            let ($a, $b) = (self, o);
            $be
        })*
    };
}

macro_rules! of_lanes {
    ($f:ident, $($x:ident),*) => {{
        let results = $f($(to_array($x).map(f32::from_bits)),*);
        Self::from_fn(|i| results[i].to_bits())
    }};
}

macro_rules! float_compare {
    ($a:ident, $b:ident, $how:ident) => {
        Avx2(intrinsic!(_mm256_cmp_ps::<$how>($a.0, $b.0)))
    };
}

macro_rules! int_op {
    ($f:ident, $($x:ident),*) => {
        from_int(intrinsic!($f($(int($x)),*)))
    };
}

impl Vector for Avx2 {
    type Word = u32;
    const LANES: usize = 8;
    const IN_REGISTERS: bool = true;

    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> u32) -> Self {
        let lanes: [u32; 8] = std::array::from_fn(f);
        Avx2(intrinsic!(_mm256_loadu_ps(lanes.as_ptr().cast())))
    }
    #[inline(always)]
    fn map(self, f: impl FnMut(u32) -> u32) -> Self {
        let lanes = to_array(self).map(f);
        Self::from_fn(|i| lanes[i])
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let (a, b) = (to_array(self), to_array(o));
        Self::from_fn(|i| f(a[i], b[i]))
    }
    #[inline(always)]
    fn splat(w: u32) -> Self {
        Lanes::splat_bits(w)
    }
    #[inline(always)]
    fn fused(self, m: Self, a: Self) -> Self {
        self.fma(m, a)
    }
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        Avx2(intrinsic!(_mm256_loadu_ps(p.cast())))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        intrinsic!(_mm256_storeu_ps(p.cast(), self.0));
    }
    #[inline(always)]
    unsafe fn store_streaming(self, p: *mut u8) {
        intrinsic!(_mm256_stream_ps(p.cast(), self.0));
    }
    #[inline(always)]
    fn choose(self, a: Self, b: Self) -> Self {
        blend(self, a, b)
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u8) -> Self {
        let wide = intrinsic!(_mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast())));
        from_int(wide).int_shl::<16>()
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self {
        Avx2(intrinsic!(_mm256_cvtph_ps(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_i8(p: *const u8) -> Self {
        from_int(intrinsic!(_mm256_cvtepi8_epi32(_mm_loadl_epi64(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        from_int(intrinsic!(_mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_i16(p: *const u8) -> Self {
        from_int(intrinsic!(_mm256_cvtepi16_epi32(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u16(p: *const u8) -> Self {
        from_int(intrinsic!(_mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_bool(p: *const u8) -> Self {
        let wide = intrinsic!(Self::load_u8(p));
        wide.ine(from_int(words(0)))
    }
    #[inline(always)]
    unsafe fn load_f32(p: *const u8) -> Self {
        intrinsic!(Self::load(p))
    }
    #[inline(always)]
    unsafe fn load_i32(p: *const u8) -> Self {
        intrinsic!(Self::load(p))
    }
    #[inline(always)]
    unsafe fn load_u32(p: *const u8) -> Self {
        intrinsic!(Self::load(p))
    }
    #[inline(always)]
    unsafe fn store_bf16(self, p: *mut u8) {
        intrinsic!(_mm_storeu_si128(p.cast(), low_halves(self.int_shr::<16>())));
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8) {
        let narrow = intrinsic!(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
        intrinsic!(_mm_storeu_si128(p.cast(), narrow));
    }
    #[inline(always)]
    unsafe fn store_low8(self, p: *mut u8) {
        let halves = low_halves(self.and(from_int(words(0xff))));
        intrinsic!(_mm_storel_epi64(p.cast(), _mm_packus_epi16(halves, halves)));
    }
    #[inline(always)]
    unsafe fn store_low16(self, p: *mut u8) {
        intrinsic!(_mm_storeu_si128(p.cast(), low_halves(self)));
    }
    #[inline(always)]
    unsafe fn store_low32(self, p: *mut u8) {
        intrinsic!(self.store(p));
    }
    #[inline(always)]
    unsafe fn store_f32(self, p: *mut u8) {
        intrinsic!(self.store(p));
    }
    #[inline(always)]
    unsafe fn store_bool(self, p: *mut u8) {
        intrinsic!(self.and(from_int(words(1))).store_low8(p));
    }

    overrides! {
        unary {
            not = |x| x.xor(from_int(words(-1)));
            sqr = |x| x.mul(x);
            sqrt = |x| Lanes::sqrt(x);
            rsqrt = |x| formula::rsqrt(x);
            floor = |x| Avx2(intrinsic!(_mm256_floor_ps(x.0)));
            ceil = |x| Avx2(intrinsic!(_mm256_ceil_ps(x.0)));
            round_even = |x| Avx2(intrinsic!(_mm256_round_ps::<0x08>(x.0)));
            fsign = |x| {
                let one = x.and(Self::splat_bits(0x8000_0000)).or(<Self as Lanes>::splat(1.0));
                let keep = x.eq(<Self as Lanes>::splat(0.0)).or(unordered(x, x));
                blend(keep, x, one)
            };
            is_finite = |x| {
                let exponent = Self::splat_bits(0x7f80_0000);
                x.and(exponent).ine(exponent)
            };
            sabs = |x| int_op!(_mm256_abs_epi32, x);
            exp = |x| formula::exp(x);
            expm1 = |x| formula::expm1(x);
            log = |x| formula::log(x);
            log1p = |x| formula::log1p(x);
            tanh = |x| formula::tanh(x);
            logistic = |x| formula::logistic(x);
            erf = |x| formula::erf(x);
            erf_inv = |x| formula::erf_inv(x);
            sin = |x| formula::sin(x);
            cos = |x| formula::cos(x);
            float_from_signed = |x| x.int_to_float();
            signed_from_float = |x| {
                let inside = from_int(intrinsic!(_mm256_cvttps_epi32(x.0)));
                let large = {
                    let limit = <Self as Lanes>::splat(2_147_483_648.0);
                    float_compare!(x, limit, _CMP_GE_OQ)
                };
                let y = blend(large, from_int(words(i32::MAX)), inside);
                blend(unordered(x, x), from_int(words(0)), y)
            };
            truth_from_int = |x| x.ine(from_int(words(0)));
            truth_from_float = |x| x.fne(from_int(words(0)));
            f32_from_signed = |x| x.int_to_float();
            round_bf16 = |x| {
                let odd = x.int_shr::<16>().and(from_int(words(1)));
                let rounded = x.iadd(odd).iadd(from_int(words(0x7fff)));
                let quiet = x.or(from_int(words(0x40_0000)));
                blend(unordered(x, x), quiet, rounded).and(Self::splat_bits(0xffff_0000))
            };
            round_f16 = |x| Avx2(intrinsic!(_mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x.0))));
            round_f32 = |x| x;
            wrap_i8 = |x| x.int_shl::<24>().int_sar::<24>();
            wrap_u8 = |x| x.and(from_int(words(0xff)));
            wrap_i16 = |x| x.int_shl::<16>().int_sar::<16>();
            wrap_u16 = |x| x.and(from_int(words(0xffff)));
            wrap_i32 = |x| x;
            wrap_u32 = |x| x;
        }
        binary {
            pow = |a, b| of_lanes!(powers, a, b);
            frem = |a, b| of_lanes!(remainders, a, b);
            fadd = |a, b| a.add(b);
            fsub = |a, b| a.sub(b);
            fmul = |a, b| a.mul(b);
            fdiv = |a, b| a.div(b);
            fmax = |a, b| {
                let y = a.greater(b).and(b.greater(a));
                blend(unordered(a, b), Self::splat_bits(NAN), blend(a.eq(b), y, a.greater(b)))
            };
            fmin = |a, b| {
                let y = a.or(b);
                blend(unordered(a, b), Self::splat_bits(NAN), blend(a.eq(b), y, a.lesser(b)))
            };
            iadd = |a, b| a.int_add(b);
            isub = |a, b| a.int_sub(b);
            imul = |a, b| int_op!(_mm256_mullo_epi32, a, b);
            smax = |a, b| int_op!(_mm256_max_epi32, a, b);
            smin = |a, b| int_op!(_mm256_min_epi32, a, b);
            umax = |a, b| int_op!(_mm256_max_epu32, a, b);
            umin = |a, b| int_op!(_mm256_min_epu32, a, b);
            and = |a, b| a.bit_and(b);
            or = |a, b| a.bit_or(b);
            xor = |a, b| a.bit_xor(b);
            shl = |a, b| int_op!(_mm256_sllv_epi32, a, b);
            shr = |a, b| int_op!(_mm256_srlv_epi32, a, b);
            sar = |a, b| int_op!(_mm256_srav_epi32, a, b);
            feq = |a, b| float_compare!(a, b, _CMP_EQ_OQ);
            fne = |a, b| float_compare!(a, b, _CMP_NEQ_UQ);
            flt = |a, b| float_compare!(a, b, _CMP_LT_OQ);
            fle = |a, b| float_compare!(a, b, _CMP_LE_OQ);
            fgt = |a, b| float_compare!(a, b, _CMP_GT_OQ);
            fge = |a, b| float_compare!(a, b, _CMP_GE_OQ);
            ieq = |a, b| int_op!(_mm256_cmpeq_epi32, a, b);
            ine = |a, b| int_op!(_mm256_cmpeq_epi32, a, b).not();
            slt = |a, b| int_op!(_mm256_cmpgt_epi32, b, a);
            sle = |a, b| int_op!(_mm256_cmpgt_epi32, a, b).not();
            sgt = |a, b| int_op!(_mm256_cmpgt_epi32, a, b);
            sge = |a, b| int_op!(_mm256_cmpgt_epi32, b, a).not();
            ule = |a, b| a.umin(b).ieq(a);
            ugt = |a, b| a.umin(b).ieq(a).not();
            uge = |a, b| a.umax(b).ieq(a);
            ult = |a, b| a.umax(b).ieq(a).not();
        }
    }
}

const _: () = assert!(<Avx2 as Vector>::LANES * <u32 as Word>::SIZE == 32);
