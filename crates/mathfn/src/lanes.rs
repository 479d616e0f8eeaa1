//! The operations that the formulas are made of, and a plain `f32` as the vector of one lane.
//!
//! Every operation is rounded exactly by IEEE 754 or works on bits, so all implementations return the same bits
//! lane by lane.

/// A vector of `f32` lanes. Operations named `int_*` and `bit_*` read the lanes as 32-bit words.
pub trait Lanes: Copy {
    /// One truth value for each lane.
    type Mask: Copy;

    /// Returns `x` in every lane.
    fn splat(x: f32) -> Self;
    /// Returns the word `bits` in every lane.
    fn splat_bits(bits: u32) -> Self;
    /// Returns `self + o`.
    fn add(self, o: Self) -> Self;
    /// Returns `self - o`.
    fn sub(self, o: Self) -> Self;
    /// Returns `self * o`.
    fn mul(self, o: Self) -> Self;
    /// Returns `self / o`.
    fn div(self, o: Self) -> Self;
    /// Returns `self * m + a`, rounded once.
    fn fma(self, m: Self, a: Self) -> Self;
    /// Returns the square root of each lane, rounded once.
    fn sqrt(self) -> Self;
    /// Returns `self < o ? self : o`; `o` where either is NaN.
    fn lesser(self, o: Self) -> Self;
    /// Returns `self > o ? self : o`; `o` where either is NaN.
    fn greater(self, o: Self) -> Self;
    /// Returns `self & o` of the words.
    fn bit_and(self, o: Self) -> Self;
    /// Returns `self | o` of the words.
    fn bit_or(self, o: Self) -> Self;
    /// Returns `self ^ o` of the words.
    fn bit_xor(self, o: Self) -> Self;
    /// Returns `self + o` of the words, wrapping.
    fn int_add(self, o: Self) -> Self;
    /// Returns `self - o` of the words, wrapping.
    fn int_sub(self, o: Self) -> Self;
    /// Returns the words shifted left by `N` bits, filled with zeros. `N` must be less than 32.
    fn int_shl<const N: u32>(self) -> Self;
    /// Returns the words shifted right by `N` bits, filled with zeros. `N` must be less than 32.
    fn int_shr<const N: u32>(self) -> Self;
    /// Returns the words shifted right by `N` bits, filled with the sign. `N` must be less than 32.
    fn int_sar<const N: u32>(self) -> Self;
    /// Returns the words, as signed integers, rounded to floats.
    fn int_to_float(self) -> Self;
    /// Returns `self == o`.
    fn eq(self, o: Self) -> Self::Mask;
    /// Returns `self < o`.
    fn lt(self, o: Self) -> Self::Mask;
    /// Returns `mask ? a : b`.
    fn choose(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Returns `mask ? f(x) : self`, lane by lane; `x` and `self` are two vectors.
    fn patch(self, mask: Self::Mask, x: Self, f: fn(f32) -> f32) -> Self;

    /// Returns `self * 2^n` for integral `n` in `-150..=128` and finite `self` in `0.5..2`, rounded once.
    #[inline(always)]
    fn scale(self, n: Self) -> Self {
        let magic = Self::splat(12_582_912.0);
        let n = n.add(magic).int_sub(magic);
        let half = n.int_sar::<1>();
        self.mul(power_of_two(half)).mul(power_of_two(n.int_sub(half)))
    }
}

/// Returns `2^n` of integer words `n` in `-126..=127`.
#[inline(always)]
pub(crate) fn power_of_two<V: Lanes>(n: V) -> V {
    n.int_add(V::splat_bits(127)).int_shl::<23>()
}

#[inline(always)]
fn words(a: f32, b: f32, f: impl Fn(u32, u32) -> u32) -> f32 {
    f32::from_bits(f(a.to_bits(), b.to_bits()))
}

impl Lanes for f32 {
    type Mask = bool;
    #[inline(always)]
    fn splat(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn splat_bits(bits: u32) -> f32 {
        f32::from_bits(bits)
    }
    #[inline(always)]
    fn add(self, o: f32) -> f32 {
        self + o
    }
    #[inline(always)]
    fn sub(self, o: f32) -> f32 {
        self - o
    }
    #[inline(always)]
    fn mul(self, o: f32) -> f32 {
        self * o
    }
    #[inline(always)]
    fn div(self, o: f32) -> f32 {
        self / o
    }
    #[inline(always)]
    fn fma(self, m: f32, a: f32) -> f32 {
        self.mul_add(m, a)
    }
    #[inline(always)]
    fn sqrt(self) -> f32 {
        self.sqrt()
    }
    #[inline(always)]
    fn lesser(self, o: f32) -> f32 {
        if self < o { self } else { o }
    }
    #[inline(always)]
    fn greater(self, o: f32) -> f32 {
        if self > o { self } else { o }
    }
    #[inline(always)]
    fn bit_and(self, o: f32) -> f32 {
        words(self, o, |a, b| a & b)
    }
    #[inline(always)]
    fn bit_or(self, o: f32) -> f32 {
        words(self, o, |a, b| a | b)
    }
    #[inline(always)]
    fn bit_xor(self, o: f32) -> f32 {
        words(self, o, |a, b| a ^ b)
    }
    #[inline(always)]
    fn int_add(self, o: f32) -> f32 {
        words(self, o, u32::wrapping_add)
    }
    #[inline(always)]
    fn int_sub(self, o: f32) -> f32 {
        words(self, o, u32::wrapping_sub)
    }
    #[inline(always)]
    fn int_shl<const N: u32>(self) -> f32 {
        f32::from_bits(self.to_bits() << N)
    }
    #[inline(always)]
    fn int_shr<const N: u32>(self) -> f32 {
        f32::from_bits(self.to_bits() >> N)
    }
    #[inline(always)]
    fn int_sar<const N: u32>(self) -> f32 {
        f32::from_bits((self.to_bits() as i32 >> N) as u32)
    }
    #[inline(always)]
    fn int_to_float(self) -> f32 {
        self.to_bits() as i32 as f32
    }
    #[inline(always)]
    fn eq(self, o: f32) -> bool {
        self == o
    }
    #[inline(always)]
    fn lt(self, o: f32) -> bool {
        self < o
    }
    #[inline(always)]
    fn choose(mask: bool, a: f32, b: f32) -> f32 {
        if mask { a } else { b }
    }
    #[inline(always)]
    fn patch(self, mask: bool, x: f32, f: fn(f32) -> f32) -> f32 {
        if mask { f(x) } else { self }
    }
}
