//! The logarithm of the gamma function and its derivative.
//!
//! Left of zero both are differences of large numbers, which cancel where the function is zero. These differences are
//! taken of [`Double`]s. No formula in `f64` keeps digits there: the zeros themselves are between two numbers.

use crate::double::{self, Double};
use std::f64::consts::PI;

/// Returns `ln |gamma(x)|`, computed in `f64` and rounded once; infinite at the poles.
pub fn lgamma_f32(x: f32) -> f32 {
    libm::lgamma(x.into()) as f32
}

/// Returns `ln |gamma(x)|`; infinite at the poles.
pub fn lgamma_f64(x: f64) -> f64 {
    // Further left, the terms do not cancel: no number is near enough to a zero.
    let cancels = -30.0 < x && x < -2.0 && x != x.floor();
    if cancels { lgamma_by_shift(x).value() } else { libm::lgamma(x) }
}

/// Returns `ln |gamma(x)|` as `ln gamma(x + n) - ln |x (x + 1) .. (x + n - 1)|`, with `x + n` large enough for
/// Stirling's series. `x` must not be a pole.
fn lgamma_by_shift(x: f64) -> Double {
    let (mut z, mut product) = (Double::from(x), Double::from(1.0));
    while z.hi < SERIES_FROM {
        product = product * z;
        z = z + 1.0.into();
    }
    let product = if product.hi < 0.0 { -product } else { product };
    stirling(z) - double::ln(product)
}

/// From this argument on, the series below have about 31 digits.
const SERIES_FROM: f64 = 24.0;

/// `B(2k) / 2k` for `k` from 1 on, as fractions: the coefficients of the series of digamma. Divided by `2k - 1`, they
/// are those of the series of `ln gamma`.
const BERNOULLI: [(f64, f64); 13] = [
    (1.0, 12.0),
    (-1.0, 120.0),
    (1.0, 252.0),
    (-1.0, 240.0),
    (1.0, 132.0),
    (-691.0, 32_760.0),
    (1.0, 12.0),
    (-3_617.0, 8_160.0),
    (43_867.0, 14_364.0),
    (-174_611.0, 6_600.0),
    (77_683.0, 276.0),
    (-236_364_091.0, 65_520.0),
    (657_931.0, 12.0),
];

/// Returns `ln gamma(z)` for `z` of at least [`SERIES_FROM`], by Stirling's series:
///
/// ```text
/// (z - 1/2) ln z - z + ln(2 pi) / 2 + sum of B(2k) / (2k (2k - 1) z^(2k - 1))
/// ```
fn stirling(z: Double) -> Double {
    const HALF_LN_TAU: Double = Double { hi: 0.918_938_533_204_672_8, lo: -3.878_294_158_067_241_4e-17 };
    let inverse = Double::from(1.0) / z;
    let square = inverse * inverse;
    let mut tail = Double::from(0.0);
    for (k, (up, down)) in BERNOULLI.iter().enumerate().rev() {
        let odd = (2 * k + 1) as f64;
        tail = tail * square + Double::from(*up) / (down * odd).into();
    }
    (z - 0.5.into()) * double::ln(z) - z + HALF_LN_TAU + tail * inverse
}

/// Returns the derivative of `ln gamma(x)`; NaN at its poles.
pub fn digamma_f64(x: f64) -> f64 {
    let (y, part) = digamma_and_part(x);
    // `y` is the logarithm of a number of at least 10, minus another term. Digits are lost unless that term is small.
    if y.abs() < 0.9 * part.abs() { digamma_in_full(x).value() } else { y }
}

/// Returns the derivative of `ln gamma(x)`; NaN at its poles. It is computed in `f64`, without the correction of
/// [`digamma_f64`] near zeros, and rounded once.
pub fn digamma_f32(x: f32) -> f32 {
    digamma_and_part(x.into()).0 as f32
}

/// Returns digamma and the logarithm that it was computed from. Digits are lost if digamma is small compared with the
/// logarithm. Both are NaN at poles.
fn digamma_and_part(x: f64) -> (f64, f64) {
    if x > 0.0 {
        return digamma_of_positive(x);
    }
    if x == x.floor() {
        return (f64::NAN, f64::NAN);
    }
    // Reflection, with the argument of the tangent reduced first.
    let (mirrored, part) = digamma_of_positive(1.0 - x);
    (mirrored - PI / libm::tan(PI * (x - x.round())), part)
}

fn digamma_of_positive(x: f64) -> (f64, f64) {
    let (mut y, mut shift) = (x, 0.0);
    while y < 10.0 {
        shift += 1.0 / y;
        y += 1.0;
    }
    // At 10 the eighth term is below 1e-16.
    let square = 1.0 / (y * y);
    let tail = BERNOULLI[..7].iter().rev().fold(0.0, |sum, (up, down)| (sum + up / down) * square);
    let log = libm::log(y);
    (log - 0.5 / y - tail - shift, log)
}

/// Returns digamma of `x`, which must not be a pole. The parts that it is the sum of have about 31 digits.
fn digamma_in_full(x: f64) -> Double {
    if x > 0.0 {
        return digamma_by_shift(x.into());
    }
    let (sin, cos) = double::sin_cos(double::PI * (x - x.round()).into());
    digamma_by_shift(double::sum(1.0, -x)) - double::PI * cos / sin
}

fn digamma_by_shift(mut z: Double) -> Double {
    let mut shift = Double::from(0.0);
    while z.hi < SERIES_FROM {
        shift = shift + Double::from(1.0) / z;
        z = z + 1.0.into();
    }
    let inverse = Double::from(1.0) / z;
    let square = inverse * inverse;
    let terms = BERNOULLI.iter().rev().map(|(up, down)| Double::from(*up) / Double::from(*down));
    let tail = terms.fold(Double::from(0.0), |sum, term| (sum + term) * square);
    double::ln(z) - inverse * 0.5.into() - tail - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        // The second term is the error of a sum of `Double`s of this size.
        assert!((a - b).abs() <= 2.0 * f64::EPSILON * b.abs() + 1e-30, "{a:e} {b:e}");
    }

    #[test]
    fn digamma_at_known_points() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        near(digamma_f64(1.0), -EULER);
        near(digamma_f64(2.0), 1.0 - EULER);
        near(digamma_f64(0.5), -EULER - 2.0 * std::f64::consts::LN_2);
        near(digamma_f64(-0.5), 0.036_489_973_978_576_52);
        assert!(digamma_f64(-3.0).is_nan() && digamma_f64(0.0).is_nan());
    }

    /// Checks both functions at numbers next to some of their zeros, and `lgamma_f64` next to its pole at -15, against
    /// values of mpmath.
    #[test]
    fn zeros_keep_their_digits() {
        near(lgamma_f64(-2.4570247382208006), 5.619192358950097e-17);
        near(lgamma_f64(-2.7476826467274127), 1.733509244024501e-16);
        near(lgamma_f64(-3.14358088834998), 1.6978655906121085e-15);
        near(lgamma_f64(-14.999999999999998), 6.064940463596433);
        near(digamma_f64(1.4616321449683622), -9.241265521729427e-17);
        near(digamma_f64(-0.5040830082644554), 7.289763902976895e-17);
        near(digamma_f64(-1.5734984731623904), 1.5649788481838454e-16);
        near(digamma_f64(-9.702672540001863), 4.939256869086382e-15);
    }

    #[test]
    fn lgamma_at_known_points() {
        near(lgamma_f64(-0.5), 1.265_512_123_484_645_4);
        near(lgamma_f64(-2.5), -0.056_243_716_497_674_05);
        // Where the formulas meet.
        near(lgamma_f64(-29.5), libm::lgamma(-29.5));
        assert_eq!(lgamma_f64(-3.0), f64::INFINITY);
        assert_eq!(lgamma_f64(1.0), 0.0);
        assert!(lgamma_f64(f64::NAN).is_nan());
    }
}
