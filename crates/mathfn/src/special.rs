//! Special functions that programs seldom use: plain series, in `f64`.

use crate::digamma_f64;
use crate::double::{self, Double};
use std::f64::consts::PI;

/// Returns [`bessel_i1e_f64`], rounded once.
pub fn bessel_i1e_f32(x: f32) -> f32 {
    bessel_i1e_f64(x.into()) as f32
}

/// Returns `e^-|x|` times the modified Bessel function of the first kind of order one.
pub fn bessel_i1e_f64(x: f64) -> f64 {
    let z = x.abs();
    if z.is_nan() || z == f64::INFINITY {
        return if x.is_nan() { x } else { 0f64.copysign(x) };
    }
    // All terms of the power series are positive; beyond 30 the asymptotic series reaches full precision.
    let y = if z <= 30.0 { power_series(z) } else { asymptotic_series(z) };
    y.copysign(x)
}

/// Returns `e^-x` times the sum of `(x/2)^(2k+1) / (k! (k+1)!)`, for an `x` that is not negative.
fn power_series(x: f64) -> f64 {
    let half = Double::from(x / 2.0);
    let (square, mut term, mut sum, mut k) = (half * half, half, half, 1.0);
    while term.hi > sum.hi * f64::EPSILON / 16.0 {
        term = term * square / (k * (k + 1.0)).into();
        sum = sum + term;
        k += 1.0;
    }
    (sum * double::exp((-x).into())).value()
}

/// Returns `1 / sqrt(2 pi x) * (1 - 3/(8x) + (3)(-5)/(2! (8x)^2) - ..)`, for a large `x`.
fn asymptotic_series(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
    while f64::abs(term) > f64::EPSILON / 4.0 && k < 40.0 {
        let odd = 2.0 * k - 1.0;
        term *= -(4.0 - odd * odd) / (k * 8.0 * x);
        sum += term;
        k += 1.0;
    }
    // Four times a quarter of the root, because `2 pi x` may be infinite.
    sum / (4.0 * libm::sqrt(2.0 * PI * (x / 16.0)))
}

/// Coefficients `B(2k) / (2k)!` of the Euler-Maclaurin formula.
const BERNOULLI: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
    77_683.0 / 14_101_100_039_391_805_440_000.0,
    -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
];

/// Returns [`zeta_f64`], rounded once.
pub fn zeta_f32(x: f32, q: f32) -> f32 {
    zeta_f64(x.into(), q.into()) as f32
}

/// Returns Hurwitz' zeta function, `sum of 1 / (q + k)^x` over `k = 0, 1, ..`.
///
/// It is NaN if an argument is NaN or `x` is less than 1, and infinite if `x` is 1. For larger `x`, it is infinite if
/// `q` is zero or a negative integer and `x` is even. It is NaN if `q` is zero or a negative integer and `x` is not
/// even, or if `q` is negative and neither `q` nor `x` is an integer. An infinity counts as an integer that is not
/// even.
pub fn zeta_f64(x: f64, q: f64) -> f64 {
    if x.is_nan() || q.is_nan() || x < 1.0 {
        return f64::NAN;
    }
    if x == 1.0 {
        return f64::INFINITY;
    }
    if q <= 0.0 {
        let is_even = x % 2.0 == 0.0;
        match (q == q.floor(), x == x.floor()) {
            (true, _) => return if is_even { f64::INFINITY } else { f64::NAN },
            (false, false) => return f64::NAN,
            (false, true) => {}
        }
    }
    if q == f64::INFINITY {
        return 0.0;
    }
    if q < MANY_NEGATIVE { reflected(x, q) } else { euler_maclaurin(x, q) }
}

/// The argument below which there are too many negative terms to add them one by one.
const MANY_NEGATIVE: f64 = -64.0;

/// Returns zeta at a negative `q`, which is not an integer, for an integer `x`. The terms at negative arguments are, up
/// to their sign, those between two positive arguments.
fn reflected(x: f64, q: f64) -> f64 {
    let fraction = -q - (-q).floor();
    let negative = euler_maclaurin(x, fraction) - euler_maclaurin(x, 1.0 - q);
    let negative = if x % 2.0 == 0.0 { negative } else { -negative };
    if negative.is_infinite() { negative } else { euler_maclaurin(x, 1.0 - fraction) + negative }
}

/// Returns zeta as the sum of the first terms, which are added one by one, and of the others as an integral and its
/// corrections. `q` must be at least [`MANY_NEGATIVE`] for this to be fast.
fn euler_maclaurin(x: f64, q: f64) -> f64 {
    // The corrections become smaller as long as `x` is less than `2 pi a`.
    let first = 12.0 + x / 2.0;
    let (mut sum, mut a) = (0.0, q);
    while a < first {
        let term = libm::pow(a, -x);
        sum += term;
        a += 1.0;
        // All that follows is less than `a / (x - 1)` such terms.
        let rest = term.abs() * a / (x - 1.0);
        if !term.is_finite() || (a > 1.0 && rest <= sum.abs() * f64::EPSILON / 16.0) {
            return sum;
        }
    }
    let last = libm::pow(a, -x);
    sum += last * a / (x - 1.0) + 0.5 * last;
    let (mut factor, mut power) = (x, last / a);
    for (k, c) in BERNOULLI.iter().enumerate() {
        let step = c * factor * power;
        sum += step;
        if step.abs() <= sum.abs() * f64::EPSILON / 4.0 {
            break;
        }
        let n = 2.0 * k as f64;
        factor *= (x + n + 1.0) * (x + n + 2.0);
        power /= a * a;
    }
    sum
}

/// Returns [`polygamma_f64`], rounded once.
pub fn polygamma_f32(n: f32, x: f32) -> f32 {
    polygamma_f64(n.into(), x.into()) as f32
}

/// Returns the derivative of order `n` of the digamma function, which is digamma itself for 0. The result is NaN if `n`
/// is negative or not an integer, and where [`zeta_f64`] of `n + 1` and `x` is NaN. From an `n` of 171 on, `n!` is
/// infinite, and the result is infinite or NaN.
pub fn polygamma_f64(n: f64, x: f64) -> f64 {
    if n.is_nan() || n < 0.0 || n != n.floor() {
        return f64::NAN;
    }
    if n == 0.0 {
        return digamma_f64(x);
    }
    let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
    sign * factorial(n) * zeta_f64(n + 1.0, x)
}

/// Returns `n!` of an integral `n`, computed as a [`Double`] and then rounded. It is infinite from 171 on.
fn factorial(n: f64) -> f64 {
    if n > 170.0 {
        return f64::INFINITY;
    }
    let factors = (2..=n as u32).map(|k| Double::from(f64::from(k)));
    factors.fold(Double::from(1.0), |product, k| product * k).hi
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() <= 4e-15 * b.abs(), "{a:e} {b:e}");
    }

    #[test]
    fn bessel_function_at_known_points() {
        near(bessel_i1e_f64(1.0), 0.207_910_415_349_708_45);
        near(bessel_i1e_f64(-2.0), -0.215_269_289_248_937_66);
        // Both series at the place where they meet.
        near(power_series(30.0), asymptotic_series(30.0));
        near(bessel_i1e_f64(f64::MAX), 2.975_447_459_315_899_5e-155);
        assert_eq!(bessel_i1e_f64(0.0), 0.0);
        assert!(bessel_i1e_f64(f64::NAN).is_nan());
    }

    #[test]
    fn zeta_at_known_points() {
        near(zeta_f64(2.0, 1.0), PI * PI / 6.0);
        near(zeta_f64(4.0, 1.0), PI.powi(4) / 90.0);
        near(zeta_f64(2.0, 0.5), PI * PI / 2.0);
        near(zeta_f64(2.0, -0.5), PI * PI / 2.0 + 4.0);
        assert_eq!(zeta_f64(1.0, 3.0), f64::INFINITY);
        assert_eq!(zeta_f64(2.0, -3.0), f64::INFINITY);
        assert!(zeta_f64(0.5, 1.0).is_nan() && zeta_f64(2.5, -0.5).is_nan());
    }

    #[test]
    fn zeta_takes_few_steps_at_large_arguments() {
        assert_eq!(zeta_f64(1e30, 2.0), 0.0);
        assert_eq!(zeta_f64(1e30, 1.0), 1.0);
        assert_eq!(zeta_f64(1e30, -3.5), f64::INFINITY);
        // All terms count: those at 1/4, 5/4, .. and those at 3/4, 7/4, ..
        near(zeta_f64(2.0, -1e12 - 0.25), PI * PI * 2.0 - 1e-12);
        near(zeta_f64(3.0, -1e12 - 0.25), zeta_f64(3.0, 0.75) - zeta_f64(3.0, 0.25));
    }

    #[test]
    fn zeta_is_continued_by_reflection() {
        for (x, q) in [(2.0, -64.5), (3.0, -64.25), (4.0, -70.125), (5.0, -100.75)] {
            near(reflected(x, q), euler_maclaurin(x, q));
        }
    }

    #[test]
    fn polygamma_at_known_points() {
        near(polygamma_f64(1.0, 1.0), PI * PI / 6.0);
        near(polygamma_f64(0.0, 2.0), digamma_f64(2.0));
        near(polygamma_f64(2.0, 1.0), -2.0 * zeta_f64(3.0, 1.0));
        assert!(polygamma_f64(0.5, 1.0).is_nan() && polygamma_f64(-1.0, 1.0).is_nan());
        assert_eq!(polygamma_f64(171.0, 2.0), f64::INFINITY);
    }
}
