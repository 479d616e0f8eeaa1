//! Floats of 16 bits from `f64`, rounded once. The conversions of the crate `half` round twice or drop bits, depending on
//! the processor.

use half::{bf16, f16};

/// Returns the `f16` nearest to `x`, or the even one of two nearest. It is infinite if `x` is too large.
///
/// # Examples
///
/// ```
/// use shardwise_base::{f16, f16_nearest};
/// // Rounding to `f32` first would lose the last term, and leave a tie.
/// let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
/// assert_eq!(f16_nearest(x), f16::from_f32(1.0 + 2f32.powi(-10)));
/// ```
pub fn f16_nearest(x: f64) -> f16 {
    f16::from_f32(rounded_to_odd(x))
}

/// Returns the `bf16` nearest to `x`, or the even one of two nearest. It is infinite if `x` is too large.
pub fn bf16_nearest(x: f64) -> bf16 {
    bf16::from_f32(rounded_to_odd(x))
}

/// Returns `x` if it is an `f32`, and otherwise that of its two neighbours whose last bit is 1. An `f32` has so many more
/// bits than a float of 16 bits that rounding it rounds `x`.
fn rounded_to_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let is_exact = f64::from(nearest) == x || x.is_nan() || nearest.is_infinite();
    let bits = nearest.to_bits();
    if is_exact || bits & 1 == 1 {
        return nearest;
    }
    let is_below = f64::from(nearest).abs() < x.abs();
    f32::from_bits(if is_below { bits + 1 } else { bits - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks numbers at, beside and between all neighbours of both types.
    #[test]
    fn numbers_are_rounded_once() {
        let check = |bits: u16, value: fn(u16) -> f64, nearest: fn(f64) -> u16| {
            let (low, high) = (value(bits), value(bits + 1));
            if !low.is_finite() || !high.is_finite() {
                return;
            }
            let (middle, even) = ((low + high) / 2.0, bits + (bits & 1));
            let tiny = (high - low) * 2f64.powi(-30);
            let cases =
                [(low, bits), (middle - tiny, bits), (middle, even), (middle + tiny, bits + 1), (high, bits + 1)];
            for (x, expected) in cases {
                assert_eq!(nearest(x), expected, "{x:e}");
            }
        };
        for bits in (0..u16::MAX).filter(|bits| bits & 0x7fff != 0x7fff) {
            check(bits, |b| f16::from_bits(b).to_f64(), |x| f16_nearest(x).to_bits());
            check(bits, |b| bf16::from_bits(b).to_f64(), |x| bf16_nearest(x).to_bits());
        }
        for x in [1e300, f64::INFINITY] {
            assert_eq!((f16_nearest(x), bf16_nearest(-x)), (f16::INFINITY, bf16::NEG_INFINITY));
        }
        assert!(f16_nearest(f64::NAN).is_nan() && bf16_nearest(f64::NAN).is_nan());
        assert_eq!(f16_nearest(1e-300).to_bits(), 0);
        assert_eq!(bf16_nearest(-1e-300).to_bits(), 0x8000);
    }
}
