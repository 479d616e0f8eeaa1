//! The derivative of the Bessel function `i1e`, which needs `i0e`, for which there is no op.

use super::unary::{like, over, plus, scaled};
use crate::make;
use shardwise_ir::{Builder, Value};

/// The coefficients of the Chebyshev series of `exp(-x) i0(x)` for `x` in [0, 8], in `x / 4 - 1`, from the highest to
/// the lowest. The last one is twice the constant term of the sum. The numbers are those of the Cephes library.
const BELOW_8: [f64; 30] = [
    -4.4153416464793395e-18,
    3.3307945188222384e-17,
    -2.431279846547955e-16,
    1.715391285555133e-15,
    -1.1685332877993451e-14,
    7.676185498604936e-14,
    -4.856446783111929e-13,
    2.95505266312964e-12,
    -1.726826291441556e-11,
    9.675809035373237e-11,
    -5.189795601635263e-10,
    2.6598237246823866e-09,
    -1.300025009986248e-08,
    6.046995022541919e-08,
    -2.670793853940612e-07,
    1.1173875391201037e-06,
    -4.4167383584587505e-06,
    1.6448448070728896e-05,
    -5.754195010082104e-05,
    0.00018850288509584165,
    -0.0005763755745385824,
    0.0016394756169413357,
    -0.004324309995050576,
    0.010546460394594998,
    -0.02373741480589947,
    0.04930528423967071,
    -0.09490109704804764,
    0.17162090152220877,
    -0.3046826723431984,
    0.6767952744094761,
];

/// The coefficients, in the same form, of the Chebyshev series of `exp(-x) sqrt(x) i0(x)` for `x` of at least 8, in
/// `16 / x - 1`.
const FROM_8: [f64; 25] = [
    -7.233180487874754e-18,
    -4.830504485944182e-18,
    4.46562142029676e-17,
    3.461222867697461e-17,
    -2.8276239805165836e-16,
    -3.425485619677219e-16,
    1.7725601330565263e-15,
    3.8116806693526224e-15,
    -9.554846698828307e-15,
    -4.150569347287222e-14,
    1.54008621752141e-14,
    3.8527783827421426e-13,
    7.180124451383666e-13,
    -1.7941785315068062e-12,
    -1.3215811840447713e-11,
    -3.1499165279632416e-11,
    1.1889147107846439e-11,
    4.94060238822497e-10,
    3.3962320257083865e-09,
    2.266668990498178e-08,
    2.0489185894690638e-07,
    2.8913705208347567e-06,
    6.889758346916825e-05,
    0.0033691164782556943,
    0.8044904110141088,
];

/// Builds the sum of a Chebyshev series at `x / 2`, for `x` in [-2, 2]. The coefficients are listed from the highest to
/// the lowest, and the last one counts half.
fn series(b: &mut Builder<'_>, x: Value, coefficients: &[f64]) -> Value {
    let zero = like(b, x, 0.0);
    let (mut last, mut before, mut earlier) = (zero, zero, zero);
    for &coefficient in coefficients {
        (earlier, before) = (before, last);
        let product = make::multiply(b, x, before);
        let rest = make::subtract(b, product, earlier);
        last = plus(b, coefficient, rest);
    }
    let sum = make::subtract(b, last, earlier);
    scaled(b, 0.5, sum)
}

/// Builds `exp(-|x|) i0(x)`. Each series is computed for numbers for which it is made, so that no derivative is
/// infinite.
fn i0e(b: &mut Builder<'_>, x: Value) -> Value {
    let size = make::abs(b, x);
    let eight = like(b, x, 8.0);
    let (low, high) = (make::minimum(b, size, eight), make::maximum(b, size, eight));
    let half = scaled(b, 0.5, low);
    let low = plus(b, -2.0, half);
    let low = series(b, low, &BELOW_8);
    let inverse = over(b, 32.0, high);
    let place = plus(b, -2.0, inverse);
    let (sum, root) = (series(b, place, &FROM_8), make::rsqrt(b, high));
    let high = make::multiply(b, sum, root);
    let is_low = make::compare(b, "LE", size, eight);
    make::select(b, is_low, low, high)
}

/// Builds the derivative of `y = i1e(x)`: `i0e(x) - y * (sign(x) + 1 / x)`, and 1/2 at zero.
pub(super) fn slope_i1e(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let (zero, one) = (like(b, x, 0.0), like(b, x, 1.0));
    let is_zero = make::compare(b, "EQ", x, zero);
    let away = make::select(b, is_zero, one, x);
    let (inverse, sign) = (over(b, 1.0, away), make::sign(b, x));
    let factor = make::add(b, sign, inverse);
    let product = make::multiply(b, y, factor);
    let i0 = i0e(b, x);
    let slope = make::subtract(b, i0, product);
    let half = like(b, x, 0.5);
    make::select(b, is_zero, half, slope)
}
