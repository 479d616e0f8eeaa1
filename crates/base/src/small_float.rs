//! Floats of eight bits and less: their values, and the nearest of them to a value.
//!
//! Nothing computes on them here; text, files and tables read and write them. A code is looked up among all codes of its
//! type, which are at most 256.

use crate::DType;

/// What the largest codes mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Special {
    /// Infinities and NaNs under the largest exponent.
    Ieee,
    /// NaN is all ones but for the sign; no infinity.
    NanIsOnes,
    /// NaN is what would be minus zero; no infinity.
    NanIsMinusZero,
    /// Neither.
    Finite,
}

struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    special: Special,
}

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
    /// The value of a code of a float type of eight bits or less; `None` for other types.
    pub fn small_float(self, code: u8) -> Option<f64> {
        if self == DType::F8E8M0FNU {
            return Some(if code == 255 { f64::NAN } else { f64::from(i32::from(code) - 127).exp2() });
        }
        format(self).map(|f| f.value(u32::from(code)))
    }

    /// The code of the value nearest to `x`, ties to the even code; `None` for other types.
    ///
    /// Beyond the largest value lie infinity, else NaN, else the largest value again, whichever the type has.
    pub fn small_float_code(self, x: f64) -> Option<u8> {
        self.small_float(0)?;
        let count = 1u32 << self.bits();
        let value = |code: u32| self.small_float(code as u8).expect("a small float type");
        if x.is_nan() {
            return Some((0..count).find(|&c| value(c).is_nan()).unwrap_or(0) as u8);
        }
        let finite =
            (0..count).filter(|&c| value(c).is_finite() && value(c).is_sign_negative() == x.is_sign_negative());
        // So close that differences are exact, and as far beyond the largest value as infinity.
        let far = 4.0 * finite.clone().map(|c| value(c).abs()).fold(0.0, f64::max);
        let x = x.clamp(-far, far);
        let nearest = finite.min_by(|&a, &b| {
            let (da, db) = ((value(a) - x).abs(), (value(b) - x).abs());
            da.total_cmp(&db).then((a & 1).cmp(&(b & 1)))
        });
        // The type has no negative values (or no minus zero): the smallest one.
        let nearest = nearest.unwrap_or(0);
        Some(self.overflow(x, nearest).unwrap_or(nearest) as u8)
    }

    /// The code for `x` if it lies so far beyond the largest value `max` that rounding leaves the finite ones.
    fn overflow(self, x: f64, max: u32) -> Option<u32> {
        let f = format(self)?;
        let largest = f.value(max);
        let step = f.step(max);
        let is_beyond = x.abs() > largest.abs() + step / 2.0 || (x.abs() == largest.abs() + step / 2.0 && max & 1 == 1);
        let sign = u32::from(x < 0.0) << (f.exponent_bits + f.mantissa_bits);
        let is_largest = f.is_largest(max);
        if !is_beyond || !is_largest {
            return None;
        }
        match f.special {
            Special::Ieee => Some(sign | (((1 << f.exponent_bits) - 1) << f.mantissa_bits)),
            Special::NanIsOnes => Some(sign | ((1 << (f.exponent_bits + f.mantissa_bits)) - 1)),
            Special::NanIsMinusZero => Some(1 << (f.exponent_bits + f.mantissa_bits)),
            Special::Finite => None,
        }
    }
}

impl Format {
    fn value(&self, code: u32) -> f64 {
        let mantissa = code & ((1 << self.mantissa_bits) - 1);
        let exponent = (code >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1);
        let is_negative = code >> (self.mantissa_bits + self.exponent_bits) & 1 == 1;
        let top = (1 << self.exponent_bits) - 1;
        match self.special {
            Special::Ieee if exponent == top && mantissa == 0 => {
                return if is_negative { f64::NEG_INFINITY } else { f64::INFINITY };
            }
            Special::Ieee if exponent == top => return f64::NAN,
            Special::NanIsOnes if exponent == top && mantissa == (1 << self.mantissa_bits) - 1 => return f64::NAN,
            Special::NanIsMinusZero if is_negative && exponent == 0 && mantissa == 0 => return f64::NAN,
            _ => {}
        }
        let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_bits);
        let magnitude = if exponent == 0 {
            fraction * f64::from(1 - self.bias).exp2()
        } else {
            (1.0 + fraction) * f64::from(exponent as i32 - self.bias).exp2()
        };
        if is_negative { -magnitude } else { magnitude }
    }

    /// The distance to the next larger value.
    fn step(&self, code: u32) -> f64 {
        let exponent = (code >> self.mantissa_bits) & ((1 << self.exponent_bits) - 1);
        f64::from(exponent.max(1) as i32 - self.bias - self.mantissa_bits as i32).exp2()
    }

    /// Whether no finite value has a larger magnitude.
    fn is_largest(&self, code: u32) -> bool {
        let next = code + 1;
        let magnitude_bits = self.exponent_bits + self.mantissa_bits;
        next & ((1 << magnitude_bits) - 1) == 0 || !self.value(next).is_finite()
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
}
