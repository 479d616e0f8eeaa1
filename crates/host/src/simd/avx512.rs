//! Sixteen 32-bit lanes in an AVX-512 register.

use super::vector::Vector;
use super::word::Word;
use shardwise_mathfn::{Lanes, formula, powers, remainders};
use std::arch::x86_64::*;

/// One register, read as floats or words.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

macro_rules! intrinsic {
    ($e:expr) => {{
        // SAFETY: this type is used only inside functions that enable the level's features, after their detection;
        // the caller of a load or store vouches for its address.
        unsafe { $e }
    }};
}

#[inline(always)]
fn int(v: Avx512) -> __m512i {
    intrinsic!(_mm512_castps_si512(v.0))
}

#[inline(always)]
fn from_int(v: __m512i) -> Avx512 {
    Avx512(intrinsic!(_mm512_castsi512_ps(v)))
}

#[inline(always)]
fn words(bits: i32) -> __m512i {
    intrinsic!(_mm512_set1_epi32(bits))
}

#[inline(always)]
fn truth(mask: __mmask16) -> Avx512 {
    from_int(intrinsic!(_mm512_movm_epi32(mask)))
}

#[inline(always)]
fn blend(mask: __mmask16, a: Avx512, b: Avx512) -> Avx512 {
    Avx512(intrinsic!(_mm512_mask_blend_ps(mask, b.0, a.0)))
}

#[inline(always)]
fn unordered(a: Avx512, b: Avx512) -> __mmask16 {
    intrinsic!(_mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a.0, b.0))
}

const NAN: u32 = 0x7fc0_0000;

impl Lanes for Avx512 {
    type Mask = __mmask16;
    #[inline(always)]
    fn splat(x: f32) -> Self {
        Avx512(intrinsic!(_mm512_set1_ps(x)))
    }
    #[inline(always)]
    fn splat_bits(bits: u32) -> Self {
        from_int(words(bits as i32))
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn fma(self, m: Self, a: Self) -> Self {
        Avx512(intrinsic!(_mm512_fmadd_ps(self.0, m.0, a.0)))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx512(intrinsic!(_mm512_sqrt_ps(self.0)))
    }
    #[inline(always)]
    fn lesser(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_min_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn greater(self, o: Self) -> Self {
        Avx512(intrinsic!(_mm512_max_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn bit_and(self, o: Self) -> Self {
        from_int(intrinsic!(_mm512_and_si512(int(self), int(o))))
    }
    #[inline(always)]
    fn bit_or(self, o: Self) -> Self {
        from_int(intrinsic!(_mm512_or_si512(int(self), int(o))))
    }
    #[inline(always)]
    fn bit_xor(self, o: Self) -> Self {
        from_int(intrinsic!(_mm512_xor_si512(int(self), int(o))))
    }
    #[inline(always)]
    fn int_add(self, o: Self) -> Self {
        from_int(intrinsic!(_mm512_add_epi32(int(self), int(o))))
    }
    #[inline(always)]
    fn int_sub(self, o: Self) -> Self {
        from_int(intrinsic!(_mm512_sub_epi32(int(self), int(o))))
    }
    #[inline(always)]
    fn int_shl<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm512_slli_epi32::<N>(int(self))))
    }
    #[inline(always)]
    fn int_shr<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm512_srli_epi32::<N>(int(self))))
    }
    #[inline(always)]
    fn int_sar<const N: u32>(self) -> Self {
        from_int(intrinsic!(_mm512_srai_epi32::<N>(int(self))))
    }
    #[inline(always)]
    fn int_to_float(self) -> Self {
        Avx512(intrinsic!(_mm512_cvtepi32_ps(int(self))))
    }
    #[inline(always)]
    fn eq(self, o: Self) -> __mmask16 {
        intrinsic!(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(self.0, o.0))
    }
    #[inline(always)]
    fn lt(self, o: Self) -> __mmask16 {
        intrinsic!(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, o.0))
    }
    #[inline(always)]
    fn choose(mask: __mmask16, a: Self, b: Self) -> Self {
        blend(mask, a, b)
    }
    #[inline(always)]
    fn patch(self, mask: __mmask16, x: Self, f: fn(f32) -> f32) -> Self {
        if mask == 0 { self } else { patch_lanes(self, mask, x, f) }
    }
    #[inline(always)]
    fn scale(self, n: Self) -> Self {
        Avx512(intrinsic!(_mm512_scalef_ps(self.0, n.0)))
    }
}

#[cold]
#[inline(never)]
fn patch_words(y: &mut [u32; 16], mask: u16, x: &[u32; 16], f: fn(f32) -> f32) {
    for i in (0..16).filter(|i| mask >> i & 1 == 1) {
        y[i] = f(f32::from_bits(x[i])).to_bits();
    }
}

#[inline(always)]
fn patch_lanes(y: Avx512, mask: __mmask16, x: Avx512, f: fn(f32) -> f32) -> Avx512 {
    let mut lanes = to_array(y);
    patch_words(&mut lanes, mask, &to_array(x), f);
    Avx512::from_fn(|i| lanes[i])
}

#[inline(always)]
fn to_array(v: Avx512) -> [u32; 16] {
    let mut lanes = [0; 16];
    intrinsic!(_mm512_storeu_si512(lanes.as_mut_ptr().cast(), int(v)));
    lanes
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
        truth(intrinsic!(_mm512_cmp_ps_mask::<$how>($a.0, $b.0)))
    };
}

macro_rules! int_op {
    ($f:ident, $($x:ident),*) => {
        from_int(intrinsic!($f($(int($x)),*)))
    };
}

macro_rules! int_compare {
    ($f:ident, $a:ident, $b:ident) => {
        truth(intrinsic!($f(int($a), int($b))))
    };
}

impl Vector for Avx512 {
    type Word = u32;
    const LANES: usize = 16;
    const IN_REGISTERS: bool = true;

    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> u32) -> Self {
        let lanes: [u32; 16] = std::array::from_fn(f);
        from_int(intrinsic!(_mm512_loadu_si512(lanes.as_ptr().cast())))
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
        Avx512(intrinsic!(_mm512_loadu_ps(p.cast())))
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        intrinsic!(_mm512_storeu_ps(p.cast(), self.0));
    }
    #[inline(always)]
    unsafe fn store_streaming(self, p: *mut u8) {
        intrinsic!(_mm512_stream_ps(p.cast(), self.0));
    }
    #[inline(always)]
    fn choose(self, a: Self, b: Self) -> Self {
        from_int(intrinsic!(_mm512_ternarylogic_epi32::<0xca>(int(self), int(a), int(b))))
    }

    #[inline(always)]
    unsafe fn load_bf16(p: *const u8) -> Self {
        let wide = intrinsic!(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast())));
        from_int(wide).int_shl::<16>()
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u8) -> Self {
        Avx512(intrinsic!(_mm512_cvtph_ps(_mm256_loadu_si256(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_i8(p: *const u8) -> Self {
        from_int(intrinsic!(_mm512_cvtepi8_epi32(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u8(p: *const u8) -> Self {
        from_int(intrinsic!(_mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_i16(p: *const u8) -> Self {
        from_int(intrinsic!(_mm512_cvtepi16_epi32(_mm256_loadu_si256(p.cast()))))
    }
    #[inline(always)]
    unsafe fn load_u16(p: *const u8) -> Self {
        from_int(intrinsic!(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()))))
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
        intrinsic!(self.int_shr::<16>().store_low16(p));
    }
    #[inline(always)]
    unsafe fn store_f16(self, p: *mut u8) {
        let narrow = intrinsic!(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self.0));
        intrinsic!(_mm256_storeu_si256(p.cast(), narrow));
    }
    #[inline(always)]
    unsafe fn store_low8(self, p: *mut u8) {
        intrinsic!(_mm_storeu_si128(p.cast(), _mm512_cvtepi32_epi8(int(self))));
    }
    #[inline(always)]
    unsafe fn store_low16(self, p: *mut u8) {
        intrinsic!(_mm256_storeu_si256(p.cast(), _mm512_cvtepi32_epi16(int(self))));
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
            floor = |x| Avx512(intrinsic!(_mm512_roundscale_ps::<0x09>(x.0)));
            ceil = |x| Avx512(intrinsic!(_mm512_roundscale_ps::<0x0a>(x.0)));
            round_even = |x| Avx512(intrinsic!(_mm512_roundscale_ps::<0x08>(x.0)));
            fsign = |x| {
                let one = x.and(Self::splat_bits(0x8000_0000)).or(<Self as Lanes>::splat(1.0));
                let keep = x.eq(<Self as Lanes>::splat(0.0)) | unordered(x, x);
                blend(keep, x, one)
            };
            is_finite = |x| truth(!intrinsic!(_mm512_fpclass_ps_mask::<0x99>(x.0)));
            sabs = |x| int_op!(_mm512_abs_epi32, x);
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
            float_from_unsigned = |x| Avx512(intrinsic!(_mm512_cvtepu32_ps(int(x))));
            signed_from_float = |x| {
                let inside = from_int(intrinsic!(_mm512_cvttps_epi32(x.0)));
                let large = intrinsic!(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(x.0, _mm512_set1_ps(2_147_483_648.0)));
                let y = blend(large, from_int(words(i32::MAX)), inside);
                blend(unordered(x, x), from_int(words(0)), y)
            };
            unsigned_from_float = |x| {
                let positive = x.greater(<Self as Lanes>::splat(0.0));
                from_int(intrinsic!(_mm512_cvttps_epu32(positive.0)))
            };
            truth_from_int = |x| x.ine(from_int(words(0)));
            truth_from_float = |x| x.fne(from_int(words(0)));
            f32_from_signed = |x| x.int_to_float();
            round_bf16 = |x| {
                let odd = intrinsic!(_mm512_test_epi32_mask(int(x), words(0x1_0000)));
                let half = x.iadd(from_int(words(0x7fff)));
                let rounded = intrinsic!(_mm512_mask_add_epi32(int(half), odd, int(half), words(1)));
                let quiet = words(0x40_0000);
                let y = intrinsic!(_mm512_mask_or_epi32(rounded, unordered(x, x), int(x), quiet));
                from_int(y).and(Self::splat_bits(0xffff_0000))
            };
            round_f16 = |x| Avx512(intrinsic!(_mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x.0))));
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
                let y = Avx512(intrinsic!(_mm512_range_ps::<5>(a.0, b.0)));
                blend(unordered(a, b), Self::splat_bits(NAN), y)
            };
            fmin = |a, b| {
                let y = Avx512(intrinsic!(_mm512_range_ps::<4>(a.0, b.0)));
                blend(unordered(a, b), Self::splat_bits(NAN), y)
            };
            iadd = |a, b| a.int_add(b);
            isub = |a, b| a.int_sub(b);
            imul = |a, b| int_op!(_mm512_mullo_epi32, a, b);
            smax = |a, b| int_op!(_mm512_max_epi32, a, b);
            smin = |a, b| int_op!(_mm512_min_epi32, a, b);
            umax = |a, b| int_op!(_mm512_max_epu32, a, b);
            umin = |a, b| int_op!(_mm512_min_epu32, a, b);
            and = |a, b| a.bit_and(b);
            or = |a, b| a.bit_or(b);
            xor = |a, b| a.bit_xor(b);
            shl = |a, b| int_op!(_mm512_sllv_epi32, a, b);
            shr = |a, b| int_op!(_mm512_srlv_epi32, a, b);
            sar = |a, b| int_op!(_mm512_srav_epi32, a, b);
            feq = |a, b| float_compare!(a, b, _CMP_EQ_OQ);
            fne = |a, b| float_compare!(a, b, _CMP_NEQ_UQ);
            flt = |a, b| float_compare!(a, b, _CMP_LT_OQ);
            fle = |a, b| float_compare!(a, b, _CMP_LE_OQ);
            fgt = |a, b| float_compare!(a, b, _CMP_GT_OQ);
            fge = |a, b| float_compare!(a, b, _CMP_GE_OQ);
            ieq = |a, b| int_compare!(_mm512_cmpeq_epi32_mask, a, b);
            ine = |a, b| int_compare!(_mm512_cmpneq_epi32_mask, a, b);
            slt = |a, b| int_compare!(_mm512_cmplt_epi32_mask, a, b);
            sle = |a, b| int_compare!(_mm512_cmple_epi32_mask, a, b);
            sgt = |a, b| int_compare!(_mm512_cmpgt_epi32_mask, a, b);
            sge = |a, b| int_compare!(_mm512_cmpge_epi32_mask, a, b);
            ult = |a, b| int_compare!(_mm512_cmplt_epu32_mask, a, b);
            ule = |a, b| int_compare!(_mm512_cmple_epu32_mask, a, b);
            ugt = |a, b| int_compare!(_mm512_cmpgt_epu32_mask, a, b);
            uge = |a, b| int_compare!(_mm512_cmpge_epu32_mask, a, b);
        }
    }
}

const _: () = assert!(<Avx512 as Vector>::LANES * <u32 as Word>::SIZE == 64);

/// Operations that only the products of `bf16` need.
impl Avx512 {
    /// Interleaves the 16-bit elements of `a` and `b` in each 128 bits. The first result has the pairs of the lower 64
    /// bits, and the second those of the upper 64 bits.
    #[inline(always)]
    pub(crate) fn interleave16(a: Self, b: Self) -> [Self; 2] {
        let low = from_int(intrinsic!(_mm512_unpacklo_epi16(int(a), int(b))));
        let high = from_int(intrinsic!(_mm512_unpackhi_epi16(int(a), int(b))));
        [low, high]
    }

    /// Returns 32-bit lanes in the order of their columns: the first 16 in the first result, and the other 16 in the
    /// second. `low` and `high` have a lane for each pair of the first and of the second result of
    /// [`Avx512::interleave16`].
    #[inline(always)]
    pub(crate) fn uninterleave32(low: Self, high: Self) -> [Self; 2] {
        // Lane `i` of the first half. The lanes of the second half are 8 further.
        let first = Self::from_fn(|i| (i / 8 * 4 + i % 4 + i / 4 % 2 * 16) as u32);
        let second = first.iadd(<Self as Vector>::splat(8));
        [
            Avx512(intrinsic!(_mm512_permutex2var_ps(low.0, int(first), high.0))),
            Avx512(intrinsic!(_mm512_permutex2var_ps(low.0, int(second), high.0))),
        ]
    }

    /// Returns `self + a.odd * b.odd + a.even * b.even` of `bf16` pairs, added in this order by `fma`. Subnormal
    /// numbers count as zeros. Needs AVX512-BF16.
    #[inline(always)]
    pub(crate) fn dot_bf16(self, a: Self, b: Self) -> Self {
        // SAFETY: both are 512 bits.
        let pairs = |v: Self| unsafe { std::mem::transmute::<__m512i, __m512bh>(int(v)) };
        Avx512(intrinsic!(_mm512_dpbf16_ps(self.0, pairs(a), pairs(b))))
    }
}
