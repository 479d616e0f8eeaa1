//! Floats of eight bits and less: the values of their codes, and the code nearest to a value.
//!
//! Nothing is computed in these types here. Text, files and [`crate::small`] read and write them.

use crate::DType;

/// How a type encodes infinities and NaNs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// The largest exponent encodes infinities and NaNs.
    Ieee,
    /// The codes whose bits are all ones, with either sign, are NaN; there is no infinity.
    NanIsOnes,
    /// NaN is the code of minus zero; there is no infinity.
    NanIsMinusZero,
    /// There are neither infinities nor NaNs.
    Finite,
}

struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

#[inline]
fn format(dtype: DType) -> Option<Format> {
    use Special::*;
    let (exponent_bits, mantissa_bits, bias, special) = match dtype {
        DType::F4E2M1FN => (2, 1, 1, Finite),
        DType::F6E2M3FN => (2, 3, 1, Finite),
        DType::F6E3M2FN => (3, 2, 3, Finite),
        DType::F8E3M4 => (3, 4, 3, Ieee),
        DType::F8E4M3 => (4, 3, 7, Ieee),
        DType::F8E4M3FN => (4, 3, 7, NanIsOnes),
        DType::F8E4M3FNUZ => (4, 3, 8, NanIsMinusZero),
        DType::F8E4M3B11FNUZ => (4, 3, 11, NanIsMinusZero),
        DType::F8E5M2 => (5, 2, 15, Ieee),
        DType::F8E5M2FNUZ => (5, 2, 16, NanIsMinusZero),
        _ => return None,
    };
    Some(Format { exponent_bits, mantissa_bits, bias, special })
}

impl DType {
    /// Returns the value of a code, or `None` if this is not a float type of eight bits or less. Bits of `code` that
    /// the type does not have are ignored. A NaN has the sign of its code, except that the only NaN of a type is
    /// positive.
    pub fn small_float(self, code: u8) -> Option<f64> {
        if self == DType::F8E8M0FNU {
            return Some(if code == 255 { f64::NAN } else { f64::from(i32::from(code) - 127).exp2() });
        }
        format(self).map(|f| f.value(u32::from(code)))
    }

    /// Returns the distance from 1 to the next larger number, or `None` if this is not a float type of eight bits or
    /// less.
    pub(crate) fn small_epsilon(self) -> Option<f64> {
        if self == DType::F8E8M0FNU {
            return Some(1.0);
        }
        format(self).map(|f| (-f64::from(f.mantissa_bits)).exp2())
    }

    /// Returns the code of the value nearest to `x`, ties to the even code, or `None` if this is not a float type of
    /// eight bits or less. In `f8E8M0FNU`, ties are rounded up.
    ///
    /// Numbers that are too large become infinity. If the type has no infinity they become NaN, and if it has no NaN
    /// either, the largest value. Numbers keep their signs, except that minus zero becomes zero if the type has no
    /// minus zero. NaN becomes a NaN whatever its sign and bits are, or zero if the type has no NaN. In `f8E8M0FNU`,
    /// numbers that are not positive become NaN, and positive numbers that are too small the least value.
    #[inline]
    pub fn small_float_code(self, x: f64) -> Option<u8> {
        if self == DType::F8E8M0FNU {
            return Some(power_code(x));
        }
        format(self).map(|f| f.code(x) as u8)
    }
}

/// Returns the code of `f8E8M0FNU` for the power of two nearest to `x`. Ties are rounded up, as in MLIR, XLA and
/// `ml_dtypes`: 3.0 becomes 4.0. Returns 255, the code of NaN, if `x` is too large, not positive or NaN, and 0 if it is
/// too small.
fn power_code(x: f64) -> u8 {
    let exponent = exponent(x).max(-127);
    if x.is_nan() || x <= 0.0 || exponent > 127 {
        return 255;
    }
    let code = (exponent + 127) as u8;
    code + u8::from(x >= 1.5 * power(exponent))
}

/// The exponent of the largest power of two in `f64`, which is also the bias of its exponents.
const MAX_EXPONENT: i32 = 1023;
/// The number of bits of the fraction of an `f64`.
const FRACTION_BITS: u32 = 52;

/// Returns the exponent of the largest power of two that is at most the magnitude of `x`. Returns -1023 for zero and
/// subnormal numbers, and 1024 for infinity and NaN.
#[inline]
fn exponent(x: f64) -> i32 {
    (x.abs().to_bits() >> FRACTION_BITS) as i32 - MAX_EXPONENT
}

/// Returns two to the power of `exponent`, which must be from -1022 to 1023.
#[inline]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + MAX_EXPONENT) as u64) << FRACTION_BITS)
}

/// Returns the integer nearest to a number from 0 to 2^32 - 1, ties to the even integer.
#[inline]
fn round_ties_even(x: f64) -> u32 {
    // Numbers from 2^52 on have no fraction, so the addition rounds.
    let whole = power(FRACTION_BITS as i32);
    (x + whole - whole) as u32
}

impl Format {
    fn value(&self, code: u32) -> f64 {
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        let exponent = (code >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1);
        let is_negative = code >> (self.mantissa_bits + self.exponent_bits) & 1 == 1;
        let signed = |magnitude: f64| if is_negative { -magnitude } else { magnitude };
        let top = (1 << self.exponent_bits) - 1;
        match self.special {
            Special::Ieee if exponent == top && mantissa == 0 => return signed(f64::INFINITY),
            Special::Ieee if exponent == top => return signed(f64::NAN),
            Special::NanIsOnes if exponent == top && mantissa == (1 << self.mantissa_bits) - 1 => {
                return signed(f64::NAN);
            }
            Special::NanIsMinusZero if is_negative && exponent == 0 && mantissa == 0 => return f64::NAN,
            _ => {}
        }
        let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
        signed(if exponent == 0 {
            fraction * f64::from(1 - self.bias).exp2()
        } else {
            (1.0 + fraction) * f64::from(exponent as i32 - self.bias).exp2()
        })
    }

    /// Returns the code of the value nearest to `x`, ties to the even code, as [`DType::small_float_code`] states.
    #[inline]
    fn code(&self, x: f64) -> u32 {
        let magnitude_bits = self.exponent_bits + self.mantissa_bits;
        let sign = u32::from(x.is_sign_negative()) << magnitude_bits;
        if x.is_nan() {
            // The first code of a NaN. If the type has infinities, it is the code after positive infinity.
            return self.beyond(0) + u32::from(self.special == Special::Ieee);
        }
        let least = 1 - self.bias;
        let exponent = exponent(x).clamp(least, least + (1 << self.exponent_bits));
        // The number in units of the last place. Where rounding reaches the next power of two, the addition carries
        // into the exponent.
        let places = x.abs() * power(self.mantissa_bits as i32 - exponent);
        let rounded = round_ties_even(places.min(f64::from(4u32 << self.mantissa_bits)));
        let magnitude = ((exponent - least) as u32 * (1 << self.mantissa_bits)) + rounded;
        let largest = self.largest();
        match magnitude {
            m if m <= largest => self.signed(sign, m),
            _ if self.special == Special::Finite => sign | largest,
            _ => self.beyond(sign),
        }
    }

    #[inline]
    fn signed(&self, sign: u32, magnitude: u32) -> u32 {
        if magnitude == 0 && self.special == Special::NanIsMinusZero { 0 } else { sign | magnitude }
    }

    #[inline]
    fn largest(&self) -> u32 {
        let all = (1u32 << (self.exponent_bits + self.mantissa_bits)) - 1;
        match self.special {
            Special::Ieee => all - (1 << self.mantissa_bits),
            Special::NanIsOnes => all - 1,
            Special::NanIsMinusZero | Special::Finite => all,
        }
    }

    /// Returns the code of infinity, or of NaN if the type has no infinity, or 0 if it has neither. `sign` is the sign
    /// bit at its place in the code, or 0. It is ignored if the type has only one NaN, or none.
    #[inline]
    fn beyond(&self, sign: u32) -> u32 {
        let magnitude_bits = self.exponent_bits + self.mantissa_bits;
        match self.special {
            Special::Ieee => sign | (((1 << self.exponent_bits) - 1) << self.mantissa_bits),
            Special::NanIsOnes => sign | ((1 << magnitude_bits) - 1),
            Special::NanIsMinusZero => 1 << magnitude_bits,
            Special::Finite => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: [DType; 11] = [
        DType::F4E2M1FN,
        DType::F6E2M3FN,
        DType::F6E3M2FN,
        DType::F8E3M4,
        DType::F8E4M3,
        DType::F8E4M3FN,
        DType::F8E4M3FNUZ,
        DType::F8E4M3B11FNUZ,
        DType::F8E5M2,
        DType::F8E5M2FNUZ,
        DType::F8E8M0FNU,
    ];

    #[test]
    fn every_code_is_the_nearest_to_its_own_value() {
        for dtype in SMALL {
            for code in 0..1u32 << dtype.bits() {
                let value = dtype.small_float(code as u8).unwrap();
                let back = dtype.small_float_code(value).unwrap();
                let same = dtype.small_float(back).unwrap();
                assert!(
                    value.is_nan() && same.is_nan() || same.to_bits() == value.to_bits(),
                    "{dtype} {code}: {value}"
                );
            }
        }
    }

    #[test]
    fn a_nan_has_the_sign_of_its_code() {
        let is_negative = |dtype: DType, code: u8| {
            let value = dtype.small_float(code).unwrap();
            assert!(value.is_nan(), "{dtype} {code}: {value}");
            value.is_sign_negative()
        };
        for (dtype, code) in [(DType::F8E4M3FN, 0x7f), (DType::F8E5M2, 0x7e), (DType::F8E3M4, 0x71)] {
            assert!(!is_negative(dtype, code) && is_negative(dtype, code | 0x80), "{dtype}");
        }
        assert!(!is_negative(DType::F8E4M3FNUZ, 0x80) && !is_negative(DType::F8E8M0FNU, 0xff));
    }

    #[test]
    fn numbers_between_two_codes_become_the_nearer_one() {
        for dtype in SMALL.into_iter().filter(|dtype| *dtype != DType::F8E8M0FNU) {
            let largest = format(dtype).unwrap().largest() as u8;
            for code in 0..largest {
                let [a, b] = [code, code + 1].map(|code| dtype.small_float(code).unwrap());
                let middle = (a + b) / 2.0;
                let even = code + code % 2;
                for (x, expected) in [(middle.next_down(), code), (middle, even), (middle.next_up(), code + 1)] {
                    assert_eq!(dtype.small_float_code(x), Some(expected), "{dtype} {x}");
                }
            }
        }
    }

    #[test]
    fn largest_values_and_beyond() {
        let large = |dtype: DType, x: f64| dtype.small_float(dtype.small_float_code(x).unwrap()).unwrap();
        assert_eq!(large(DType::F8E4M3FN, 448.0), 448.0);
        assert_eq!(large(DType::F8E4M3FN, 463.0), 448.0);
        assert!(large(DType::F8E4M3FN, 1e9).is_nan());
        assert_eq!(large(DType::F8E5M2, 57344.0), 57344.0);
        assert_eq!(large(DType::F8E5M2, -1e9), f64::NEG_INFINITY);
        assert_eq!(large(DType::F4E2M1FN, 1e9), 6.0);
        assert!(large(DType::F8E5M2FNUZ, 1e9).is_nan());
        assert_eq!(large(DType::F8E4M3FN, 1.0625), 1.0, "ties go to the even code");
    }

    #[test]
    fn ties_between_powers_of_two_are_rounded_up() {
        let power = |x: f64| DType::F8E8M0FNU.small_float(power_code(x)).unwrap();
        for (x, expected) in [(3.0, 4.0), (1.5, 2.0), (0.75, 1.0), (1.4999, 1.0), (0.375, 0.5), (6.0, 8.0)] {
            assert_eq!(power(x), expected, "{x}");
        }
        let (least, most) = ((-127f64).exp2(), 127f64.exp2());
        assert_eq!([power(least / 4.0), power(1.49 * least), power(1.49 * most)], [least, least, most]);
        for x in [1.5 * most, f64::MAX, f64::INFINITY, 0.0, -1.0, f64::NEG_INFINITY, f64::NAN] {
            assert!(power(x).is_nan(), "{x}");
        }
    }
}
