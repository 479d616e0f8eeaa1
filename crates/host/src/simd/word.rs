//! One lane, and the definition of each operation on it.

use half::{bf16, f16};
use shardwise_mathfn as mathfn;
use shardwise_mathfn::with_functions;

/// Declares the methods of `Word` that are functions of `shardwise_mathfn`.
macro_rules! declare {
    (unary_functions { $($_op:ident $_name:ident $unary:ident $($_formulas:ident)*,)* }
     binary_functions { $($_op2:ident $_name2:ident $binary:ident $($_formulas2:ident)*,)* }) => {
        $(fn $unary(self) -> Self;)*
        $(fn $binary(self, o: Self) -> Self;)*
    };
}

/// Expands to `$with! { $given .. }`, with the method and the function of several words for each function that is faster
/// for several 64-bit words at once.
macro_rules! with_several {
    ($with:ident! $($given:tt)*) => {
        $with! { $($given)* exp exps, expm1 expm1s, log logs, log1p log1ps, logistic logistics, tanh tanhs, sin sines, cos cosines }
    };
}
pub(super) use with_several;

/// Declares the functions of several words.
macro_rules! declare_several {
    ($($name:ident $several:ident),*) => {$(
        #[inline(always)]
        fn $several<const N: usize>(x: [Self; N]) -> [Self; N] {
            x.map(Self::$name)
        }
    )*};
}

/// A lane of 32 or 64 bits. In names such as `fadd`, `sdiv` and `ule`, the first letter states whether it is read as a
/// float, as a signed or as an unsigned integer. Loads and stores need one readable or writable element at `p`.
pub(crate) trait Word: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The lane's width in bytes.
    const SIZE: usize;
    fn from_bits64(bits: u64) -> Self;
    fn to_bits64(self) -> u64;
    #[cfg(test)]
    fn from_float(x: f64) -> Self;
    fn truth(t: bool) -> Self;

    fn fadd(self, o: Self) -> Self;
    fn fsub(self, o: Self) -> Self;
    fn fmul(self, o: Self) -> Self;
    fn fdiv(self, o: Self) -> Self;
    fn fmax(self, o: Self) -> Self;
    fn fmin(self, o: Self) -> Self;
    fn frem(self, o: Self) -> Self;
    fn feq(self, o: Self) -> Self;
    fn fne(self, o: Self) -> Self;
    fn flt(self, o: Self) -> Self;
    fn fle(self, o: Self) -> Self;
    fn fgt(self, o: Self) -> Self;
    fn fge(self, o: Self) -> Self;

    /// Returns `self * m + a`, rounded once.
    fn fused(self, m: Self, a: Self) -> Self;

    fn iadd(self, o: Self) -> Self;
    fn isub(self, o: Self) -> Self;
    fn imul(self, o: Self) -> Self;
    fn smax(self, o: Self) -> Self;
    fn smin(self, o: Self) -> Self;
    fn umax(self, o: Self) -> Self;
    fn umin(self, o: Self) -> Self;
    /// Returns the quotient; `x / 0` is -1 and `MIN / -1` is `MIN`.
    fn sdiv(self, o: Self) -> Self;
    /// Returns the quotient; `x / 0` is all ones.
    fn udiv(self, o: Self) -> Self;
    /// Returns the remainder; `x % 0` is `x` and `MIN % -1` is 0.
    fn srem(self, o: Self) -> Self;
    /// Returns the remainder; `x % 0` is `x`.
    fn urem(self, o: Self) -> Self;
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    /// Shifts left by `o`, which is unsigned. A shift by the width or more returns 0.
    fn shl(self, o: Self) -> Self;
    /// Shifts right by `o`, which is unsigned, and fills with zeros. A shift by the width or more returns 0.
    fn shr(self, o: Self) -> Self;
    /// Shifts right by `o`, which is unsigned, and fills with the sign. A shift by the width or more returns 0 or -1.
    fn sar(self, o: Self) -> Self;
    fn ieq(self, o: Self) -> Self;
    fn ine(self, o: Self) -> Self;
    fn slt(self, o: Self) -> Self;
    fn sle(self, o: Self) -> Self;
    fn sgt(self, o: Self) -> Self;
    fn sge(self, o: Self) -> Self;
    fn ult(self, o: Self) -> Self;
    fn ule(self, o: Self) -> Self;
    fn ugt(self, o: Self) -> Self;
    fn uge(self, o: Self) -> Self;

    fn not(self) -> Self;
    fn sqr(self) -> Self;
    fn sqrt(self) -> Self;
    fn rsqrt(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round_even(self) -> Self;
    fn round_away(self) -> Self;
    fn fsign(self) -> Self;
    fn is_finite(self) -> Self;
    fn sabs(self) -> Self;
    fn ssign(self) -> Self;
    fn popcount(self) -> Self;
    fn leading_zeros(self) -> Self;
    with_functions! { declare! }
    with_several! { declare_several! }

    fn float_from_signed(self) -> Self;
    fn float_from_unsigned(self) -> Self;
    /// Converts a float to a signed integer by truncation, with saturation. NaN becomes 0.
    fn signed_from_float(self) -> Self;
    fn unsigned_from_float(self) -> Self;
    fn truth_from_int(self) -> Self;
    fn truth_from_float(self) -> Self;
    /// Reads this as a signed integer, rounds it to `f32` and returns the result as a float of this width.
    fn f32_from_signed(self) -> Self;
    fn f32_from_unsigned(self) -> Self;
    fn round_bf16(self) -> Self;
    fn round_f16(self) -> Self;
    fn round_f32(self) -> Self;
    fn wrap_i8(self) -> Self;
    fn wrap_u8(self) -> Self;
    fn wrap_i16(self) -> Self;
    fn wrap_u16(self) -> Self;
    fn wrap_i32(self) -> Self;
    fn wrap_u32(self) -> Self;

    unsafe fn load(p: *const u8) -> Self;
    unsafe fn load_bf16(p: *const u8) -> Self;
    unsafe fn load_f16(p: *const u8) -> Self;
    unsafe fn load_i8(p: *const u8) -> Self;
    unsafe fn load_u8(p: *const u8) -> Self;
    unsafe fn load_i16(p: *const u8) -> Self;
    unsafe fn load_u16(p: *const u8) -> Self;
    unsafe fn load_bool(p: *const u8) -> Self;
    unsafe fn load_f32(p: *const u8) -> Self;
    unsafe fn load_i32(p: *const u8) -> Self;
    unsafe fn load_u32(p: *const u8) -> Self;
    unsafe fn store(self, p: *mut u8);
    /// Stores a float, which must be a `bf16` already, as a `bf16`.
    unsafe fn store_bf16(self, p: *mut u8);
    unsafe fn store_f16(self, p: *mut u8);
    unsafe fn store_low8(self, p: *mut u8);
    unsafe fn store_low16(self, p: *mut u8);
    unsafe fn store_low32(self, p: *mut u8);
    unsafe fn store_f32(self, p: *mut u8);
    unsafe fn store_bool(self, p: *mut u8);
}

/// Returns the `f32` with these bits rounded to the nearest `bf16`, as the bits of an `f32`.
fn bf16_bits(bits: u32) -> u32 {
    u32::from(bf16::from_f32(f32::from_bits(bits)).to_bits()) << 16
}

macro_rules! word {
    ($word:ident, $float:ident, $signed:ident, $to_f32:expr, $round_bf16:expr, $round_f16:expr,
     $max:ident $min:ident $rem:ident $rsqrt:ident) => {
        impl Word for $word {
            const SIZE: usize = size_of::<$word>();
            fn from_bits64(bits: u64) -> Self {
                bits as $word
            }
            fn to_bits64(self) -> u64 {
                u64::from(self)
            }
            #[cfg(test)]
            fn from_float(x: f64) -> Self {
                (x as $float).to_bits()
            }
            #[inline(always)]
            fn truth(t: bool) -> Self {
                (t as $word).wrapping_neg()
            }

            word!(@float2 $float; fadd +, fsub -, fmul *, fdiv /);
            word!(@float_compare $float; feq ==, fne !=, flt <, fle <=, fgt >, fge >=);
            word!(@int_compare ieq ==, ine !=, ult <, ule <=, ugt >, uge >=);
            word!(@signed_compare $signed; slt <, sle <=, sgt >, sge >=);
            fn fmax(self, o: Self) -> Self {
                mathfn::$max($float::from_bits(self), $float::from_bits(o)).to_bits()
            }
            fn fmin(self, o: Self) -> Self {
                mathfn::$min($float::from_bits(self), $float::from_bits(o)).to_bits()
            }
            fn frem(self, o: Self) -> Self {
                mathfn::$rem($float::from_bits(self), $float::from_bits(o)).to_bits()
            }
            fn rsqrt(self) -> Self {
                mathfn::$rsqrt($float::from_bits(self)).to_bits()
            }
            with_functions! { word! @functions $float }
            with_several! { word! @several $float; }

            #[inline(always)]
            fn fused(self, m: Self, a: Self) -> Self {
                $float::from_bits(self).mul_add($float::from_bits(m), $float::from_bits(a)).to_bits()
            }
            #[inline(always)]
            fn iadd(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn isub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn imul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            fn smax(self, o: Self) -> Self {
                (self as $signed).max(o as $signed) as $word
            }
            fn smin(self, o: Self) -> Self {
                (self as $signed).min(o as $signed) as $word
            }
            fn umax(self, o: Self) -> Self {
                self.max(o)
            }
            fn umin(self, o: Self) -> Self {
                self.min(o)
            }
            fn sdiv(self, o: Self) -> Self {
                if o == 0 { $word::MAX } else { (self as $signed).wrapping_div(o as $signed) as $word }
            }
            fn udiv(self, o: Self) -> Self {
                self.checked_div(o).unwrap_or($word::MAX)
            }
            fn srem(self, o: Self) -> Self {
                if o == 0 { self } else { (self as $signed).wrapping_rem(o as $signed) as $word }
            }
            fn urem(self, o: Self) -> Self {
                self.checked_rem(o).unwrap_or(self)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                self ^ o
            }
            fn shl(self, o: Self) -> Self {
                if o < $word::BITS.into() { self << o } else { 0 }
            }
            fn shr(self, o: Self) -> Self {
                if o < $word::BITS.into() { self >> o } else { 0 }
            }
            fn sar(self, o: Self) -> Self {
                ((self as $signed) >> o.min(($word::BITS - 1).into())) as $word
            }

            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn sqr(self) -> Self {
                self.fmul(self)
            }
            fn sqrt(self) -> Self {
                $float::from_bits(self).sqrt().to_bits()
            }
            fn floor(self) -> Self {
                $float::from_bits(self).floor().to_bits()
            }
            fn ceil(self) -> Self {
                $float::from_bits(self).ceil().to_bits()
            }
            fn round_even(self) -> Self {
                $float::from_bits(self).round_ties_even().to_bits()
            }
            fn round_away(self) -> Self {
                $float::from_bits(self).round().to_bits()
            }
            fn fsign(self) -> Self {
                let x = $float::from_bits(self);
                if x.is_nan() || x == 0.0 { self } else { $float::signum(x).to_bits() }
            }
            fn is_finite(self) -> Self {
                Self::truth($float::from_bits(self).is_finite())
            }
            fn sabs(self) -> Self {
                (self as $signed).wrapping_abs() as $word
            }
            fn ssign(self) -> Self {
                (self as $signed).signum() as $word
            }
            fn popcount(self) -> Self {
                self.count_ones().into()
            }
            fn leading_zeros(self) -> Self {
                $word::leading_zeros(self).into()
            }

            fn float_from_signed(self) -> Self {
                (self as $signed as $float).to_bits()
            }
            fn float_from_unsigned(self) -> Self {
                (self as $float).to_bits()
            }
            fn signed_from_float(self) -> Self {
                $float::from_bits(self) as $signed as $word
            }
            fn unsigned_from_float(self) -> Self {
                $float::from_bits(self) as $word
            }
            fn truth_from_int(self) -> Self {
                Self::truth(self != 0)
            }
            fn truth_from_float(self) -> Self {
                Self::truth($float::from_bits(self) != 0.0)
            }
            fn f32_from_signed(self) -> Self {
                $float::from(self as $signed as f32).to_bits()
            }
            fn f32_from_unsigned(self) -> Self {
                $float::from(self as f32).to_bits()
            }
            #[inline(always)]
            fn round_bf16(self) -> Self {
                $round_bf16(self)
            }
            fn round_f16(self) -> Self {
                $round_f16(self)
            }
            fn round_f32(self) -> Self {
                $float::from($float::from_bits(self) as f32).to_bits()
            }
            fn wrap_i8(self) -> Self {
                self as i8 as $word
            }
            fn wrap_u8(self) -> Self {
                self as u8 as $word
            }
            fn wrap_i16(self) -> Self {
                self as i16 as $word
            }
            fn wrap_u16(self) -> Self {
                self as u16 as $word
            }
            fn wrap_i32(self) -> Self {
                self as i32 as $word
            }
            fn wrap_u32(self) -> Self {
                self as u32 as $word
            }

            word!(@load $word; load: $word = |x| x,
                load_bf16: bf16 = |x| $float::from(f32::from_bits(u32::from(x.to_bits()) << 16)).to_bits(),
                load_f16: f16 = |x| $float::from(x).to_bits(), load_i8: i8 = |x| x as $word, load_u8: u8 = |x| x as $word,
                load_i16: i16 = |x| x as $word, load_u16: u16 = |x| x as $word, load_bool: u8 = |x| Self::truth(x != 0),
                load_f32: f32 = |x| $float::from(x).to_bits(), load_i32: i32 = |x| x as $word, load_u32: u32 = |x| x as $word);
            word!(@store; store: $word = |x| x, store_bf16: u16 = |x| ($to_f32(x).to_bits() >> 16) as u16,
                store_f16: f16 = |x| f16::from_f32($to_f32(x)), store_low8: u8 = |x| x as u8, store_low16: u16 = |x| x as u16,
                store_low32: u32 = |x| x as u32, store_f32: f32 = |x| $to_f32(x), store_bool: u8 = |x| (x & 1) as u8);
        }
    };
    (@float2 $float:ident; $($name:ident $op:tt),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            ($float::from_bits(self) $op $float::from_bits(o)).to_bits()
        }
    )*};
    (@functions $float:ident
     unary_functions { $($_op:ident $_name:ident $unary:ident $narrow:ident $wide:ident $_how:ident,)* }
     binary_functions { $($_op2:ident $_name2:ident $binary:ident $narrow2:ident $wide2:ident $_how2:ident,)* }) => {
        $(fn $unary(self) -> Self {
            word!(@formula $float $narrow $wide)($float::from_bits(self)).to_bits()
        })*
        $(fn $binary(self, o: Self) -> Self {
            word!(@formula $float $narrow2 $wide2)($float::from_bits(self), $float::from_bits(o)).to_bits()
        })*
    };
    (@formula f32 $narrow:ident $wide:ident) => { mathfn::$narrow };
    (@formula f64 $narrow:ident $wide:ident) => { mathfn::$wide };
    (@several f32; $($_name:ident $_several:ident),*) => {};
    (@several f64; $($_name:ident $several:ident),*) => {$(
        #[inline(always)]
        fn $several<const N: usize>(x: [Self; N]) -> [Self; N] {
            mathfn::several::$several(x.map(f64::from_bits)).map(f64::to_bits)
        }
    )*};
    (@float_compare $float:ident; $($name:ident $op:tt),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            Self::truth($float::from_bits(self) $op $float::from_bits(o))
        }
    )*};
    (@int_compare $($name:ident $op:tt),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            Self::truth(self $op o)
        }
    )*};
    (@signed_compare $signed:ident; $($name:ident $op:tt),*) => {$(
        #[inline(always)]
        fn $name(self, o: Self) -> Self {
            Self::truth((self as $signed) $op (o as $signed))
        }
    )*};
    (@load $word:ident; $($name:ident: $type:ty = $convert:expr),*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *const u8) -> Self {
            // SAFETY: the caller says that an element can be read at `p`.
            let x = unsafe { p.cast::<$type>().read_unaligned() };
            let convert: fn($type) -> $word = $convert;
            convert(x)
        }
    )*};
    (@store; $($name:ident: $type:ty = $convert:expr),*) => {$(
        #[inline(always)]
        unsafe fn $name(self, p: *mut u8) {
            let convert: fn(Self) -> $type = $convert;
            // SAFETY: the caller says that an element can be written at `p`.
            unsafe { p.cast::<$type>().write_unaligned(convert(self)) }
        }
    )*};
}

word!(u32, f32, i32, f32::from_bits, bf16_bits, |w| f16::from_f32(f32::from_bits(w)).to_f32().to_bits(),
    max_f32 min_f32 rem_f32 rsqrt_f32);

// Doubles are rounded to `f32` first, as the reference does. The functions `from_f64` of `bf16` and `f16` would ignore
// the low bits of a double.
word!(u64, f64, i64, |w| f64::from_bits(w) as f32,
    |w| bf16::from_f32(f64::from_bits(w) as f32).to_f64().to_bits(),
    |w| f16::from_f32(f64::from_bits(w) as f32).to_f64().to_bits(),
    max_f64 min_f64 rem_f64 rsqrt_f64);
