//! Functions of complex numbers, computed from functions of real numbers.

use shardwise_base::{Complex32, Complex64};
use shardwise_mathfn as fns;

/// Returns the number with parts of 64 bits.
pub fn widen(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

/// Returns the number with parts of 32 bits, to which those of 64 are rounded.
pub fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

fn exponent(z: Complex64) -> i32 {
    fns::exponent_f64(fns::max_f64(z.re.abs(), z.im.abs()))
}

fn scaled(z: Complex64, n: i32) -> Complex64 {
    Complex64::new(fns::scale_f64(z.re, n), fns::scale_f64(z.im, n))
}

/// Computes the modulus, without overflow of intermediate results.
pub fn abs(z: Complex64) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    if a.is_infinite() || b.is_infinite() {
        return f64::INFINITY;
    }
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large == 0.0 {
        return large;
    }
    let ratio = small / large;
    large * (1.0 + ratio * ratio).sqrt()
}

/// Computes `a / b`. Both are scaled by powers of two where this changes the result, so that only the quotient may
/// overflow. If both of its parts are NaN, the quotient is computed as annex G of the C standard recommends: see
/// [`divide_special`].
pub fn divide(a: Complex64, b: Complex64) -> Complex64 {
    if [a.re, a.im, b.re, b.im].into_iter().all(is_moderate) && b != Complex64::ZERO {
        // No result of the plain formula is subnormal or infinite, so the scale would change no bit.
        return a / b;
    }
    divide_scaled(a, b)
}

/// Computes `a / b` as [`divide`] does, for any operands.
fn divide_scaled(a: Complex64, b: Complex64) -> Complex64 {
    let (m, n) = (exponent(a), exponent(b));
    let (x, y) = (scaled(a, -m), scaled(b, -n));
    let quotient = scaled(x / y, m - n);
    if quotient.re.is_nan() && quotient.im.is_nan() { divide_special(a, b) } else { quotient }
}

/// Returns true for zero, and for numbers whose products and quotients are normal, even if the products almost cancel
/// each other.
fn is_moderate(x: f64) -> bool {
    const LARGE: f64 = f64::from_bits((1023 + 200) << 52);
    const SMALL: f64 = f64::from_bits((1023 - 200) << 52);
    x == 0.0 || (SMALL..=LARGE).contains(&x.abs())
}

/// Computes `a / b` where the plain formula yields NaN: for a zero `b`, and for one infinite and one finite operand.
/// Returns NaN for all others, and for a zero divided by zero.
fn divide_special(a: Complex64, b: Complex64) -> Complex64 {
    let is_infinite = |z: Complex64| z.re.is_infinite() || z.im.is_infinite();
    let is_finite = |z: Complex64| z.re.is_finite() && z.im.is_finite();
    // An infinite part becomes 1, and a finite part becomes 0. Both keep their sign.
    let direction = |z: Complex64| {
        let part = |x: f64| if x.is_infinite() { 1f64.copysign(x) } else { 0f64.copysign(x) };
        Complex64::new(part(z.re), part(z.im))
    };
    if b.re == 0.0 && b.im == 0.0 {
        a * f64::INFINITY.copysign(b.re)
    } else if is_infinite(a) && is_finite(b) {
        direction(a) * b.conj() * f64::INFINITY
    } else if is_finite(a) && is_infinite(b) {
        a * direction(b).conj() * 0.0
    } else {
        Complex64::new(f64::NAN, f64::NAN)
    }
}

/// Computes `1 / z`. For a finite `z` other than zero, the result for the conjugate is the conjugate, also if the
/// imaginary part is zero.
pub fn reciprocal(z: Complex64) -> Complex64 {
    let n = exponent(z);
    let scaled_z = scaled(z, -n);
    let square = scaled_z.norm_sqr();
    if square == 0.0 || square.is_infinite() {
        return divide(Complex64::new(1.0, 0.0), z);
    }
    scaled(scaled_z.conj() * (1.0 / square), -n)
}

pub fn sign(z: Complex64) -> Complex64 {
    if z.re.is_nan() || z.im.is_nan() {
        return Complex64::new(f64::NAN, f64::NAN);
    }
    if z.re == 0.0 && z.im == 0.0 {
        return Complex64::new(0.0, 0.0);
    }
    let z = scaled(z, -exponent(z));
    z / abs(z)
}

/// Computes `e^x * y` for a `y` of magnitude at most 1, without overflow of `e^x` alone. The product is `y` if `y` is
/// zero.
fn exp_times(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        y
    } else if x > EXP_LIMIT {
        large_exp_times(x, 1.0, y)
    } else {
        fns::exp_f64(x) * y
    }
}

/// Computes `e^x * share * y` for an `x` above [`EXP_LIMIT`] and a `share` of 1 or 1/2. For an `x` up to twice the limit,
/// no factor overflows if the product does not. `y` is not rounded by the share, even if it is subnormal.
fn large_exp_times(x: f64, share: f64, y: f64) -> f64 {
    let root = fns::exp_f64(x / 2.0);
    root * share * y * root
}

/// A magnitude up to which arguments have a finite `exp`, `sinh` and `cosh`.
const EXP_LIMIT: f64 = 709.0;

/// Computes `sinh(x) * y` for a `y` of magnitude at most 1, without overflow of `sinh(x)` alone. If `y` is zero, the
/// product is zero, with the sign of `x * y`, also for an infinite `x`.
fn sinh_times(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        y * 1f64.copysign(x)
    } else if x.abs() > EXP_LIMIT {
        large_exp_times(x.abs(), 0.5, y).copysign(x) * 1f64.copysign(y)
    } else {
        fns::sinh_f64(x) * y
    }
}

/// Computes `cosh(x) * y` for a `y` of magnitude at most 1, without overflow of `cosh(x)` alone. The product is `y` if
/// `y` is zero.
fn cosh_times(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        y
    } else if x.abs() > EXP_LIMIT {
        large_exp_times(x.abs(), 0.5, y)
    } else {
        fns::cosh_f64(x) * y
    }
}

pub fn exp(z: Complex64) -> Complex64 {
    // A real argument has a real result, even if its imaginary part is -0.
    if z.im == 0.0 {
        return Complex64::new(fns::exp_f64(z.re), z.im);
    }
    Complex64::new(exp_times(z.re, fns::cos_f64(z.im)), exp_times(z.re, fns::sin_f64(z.im)))
}

/// Computes `e^z` of several numbers, each as [`exp`] does.
#[inline(always)]
pub fn exps<const N: usize>(z: [Complex64; N]) -> [Complex64; N] {
    let moduli = fns::several::exps(z.map(|z| z.re));
    let [sines, cosines] = fns::several::sines_and_cosines(z.map(|z| z.im));
    let (mut results, mut are_moderate) = ([Complex64::ZERO; N], true);
    for i in 0..N {
        let (re, im) = (moduli[i] * cosines[i], moduli[i] * sines[i]);
        let is_real = z[i].im == 0.0;
        results[i] = Complex64::new(if is_real { moduli[i] } else { re }, if is_real { z[i].im } else { im });
        are_moderate &= z[i].re <= EXP_LIMIT;
    }
    if are_moderate { results } else { z.map(exp) }
}

/// Computes `e^z - 1`, accurately near zero.
pub fn expm1(z: Complex64) -> Complex64 {
    let (half, cos) = (fns::sin_f64(z.im / 2.0), fns::cos_f64(z.im));
    let cos_minus_one = -2.0 * half * half;
    let re = if z.re > EXP_LIMIT { exp_times(z.re, cos) } else { fns::expm1_f64(z.re) * cos + cos_minus_one };
    Complex64::new(re, exp_times(z.re, fns::sin_f64(z.im)))
}

/// Computes `1 / (1 + e^-z)` from the exponential that does not overflow.
pub fn logistic(z: Complex64) -> Complex64 {
    if z.re < 0.0 {
        let e = exp(z);
        divide(e, e + 1.0)
    } else {
        reciprocal(exp(-z) + 1.0)
    }
}

/// Computes `log(1 + z)`, accurately near zero.
pub fn log1p(z: Complex64) -> Complex64 {
    let sum = Complex64::new(1.0 + z.re, z.im);
    // Where the modulus is near 1, what it exceeds 1 by would be rounded. Elsewhere, `1 + z.re` is exact enough.
    let re = if (0.5..2.0).contains(&abs(sum)) {
        fns::log1p_f64(fns::square_minus_one_f64(z.re, z.im)) / 2.0
    } else {
        log_modulus(sum)
    };
    Complex64::new(re, fns::atan2_f64(z.im, sum.re))
}

/// Computes the logarithm of the modulus, also of a modulus that is too large or too small for an `f64`.
fn log_modulus(z: Complex64) -> f64 {
    let n = exponent(z);
    if (-1000..1000).contains(&n) {
        return fns::log_f64(abs(z));
    }
    fns::log_f64(abs(scaled(z, -n))) + f64::from(n) * std::f64::consts::LN_2
}

pub fn log(z: Complex64) -> Complex64 {
    Complex64::new(log_modulus(z), fns::atan2_f64(z.im, z.re))
}

pub fn sqrt(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        return Complex64::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return Complex64::new(f64::INFINITY, z.im);
    }
    let n = exponent(z);
    if !(-1000..1000).contains(&n) {
        let half = n / 2;
        return scaled(sqrt(scaled(z, -2 * half)), half);
    }
    let t = ((abs(z) + z.re.abs()) / 2.0).sqrt();
    if z.re >= 0.0 {
        Complex64::new(t, z.im / (2.0 * t))
    } else {
        Complex64::new(z.im.abs() / (2.0 * t), t.copysign(z.im))
    }
}

pub fn cbrt(z: Complex64) -> Complex64 {
    power(z, Complex64::new(1.0 / 3.0, 0.0))
}

pub fn power(z: Complex64, w: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        let one_or_zero = if w.re == 0.0 && w.im == 0.0 { 1.0 } else { 0.0 };
        return Complex64::new(one_or_zero, 0.0);
    }
    exp(w * log(z))
}

pub fn sinh(z: Complex64) -> Complex64 {
    Complex64::new(sinh_times(z.re, fns::cos_f64(z.im)), cosh_times(z.re, fns::sin_f64(z.im)))
}

pub fn cosh(z: Complex64) -> Complex64 {
    Complex64::new(cosh_times(z.re, fns::cos_f64(z.im)), sinh_times(z.re, fns::sin_f64(z.im)))
}

pub fn tanh(z: Complex64) -> Complex64 {
    // The result is a sign, up to an imaginary part below 1e-17. Further out, both sinh and cosh overflow. As in annex
    // G of the C standard, the angle of an infinite number may also be unknown.
    if z.re.abs() > 20.0 && (z.im.is_finite() || z.re.is_infinite()) {
        return Complex64::new(1f64.copysign(z.re), 0.0);
    }
    divide(sinh(z), cosh(z))
}

/// Computes the angle of `x + iy` for complex `x` and `y`: `-i log((x + iy) / sqrt(x^2 + y^2))`.
pub fn atan2(y: Complex64, x: Complex64) -> Complex64 {
    // The quotient does not change if both are scaled.
    let n = exponent(x).max(exponent(y));
    let (x, y) = if (-400..400).contains(&n) { (x, y) } else { (scaled(x, -n), scaled(y, -n)) };
    turn_back(log(divide(x + turn(y), sqrt(x * x + y * y))))
}

fn turn(z: Complex64) -> Complex64 {
    Complex64::new(-z.im, z.re)
}

fn turn_back(z: Complex64) -> Complex64 {
    Complex64::new(z.im, -z.re)
}

pub fn sin(z: Complex64) -> Complex64 {
    turn_back(sinh(turn(z)))
}

pub fn cos(z: Complex64) -> Complex64 {
    cosh(turn(z))
}

pub fn tan(z: Complex64) -> Complex64 {
    turn_back(tanh(turn(z)))
}

// Inverse functions, after W. Kahan, "Branch cuts for complex elementary functions" (1987): square roots of both
// factors keep the signs on the cuts.

/// Computes the square roots of `1 - z` and `1 + z`. In `1 - z`, a zero imaginary part has the sign of that of `-z`,
/// which `1.0 - z` does not keep.
fn roots(z: Complex64) -> (Complex64, Complex64) {
    (sqrt(Complex64::new(1.0 - z.re, -z.im)), sqrt(Complex64::new(1.0 + z.re, z.im)))
}

pub fn asin(z: Complex64) -> Complex64 {
    let (a, b) = roots(z);
    Complex64::new(fns::atan2_f64(z.re, (a * b).re), fns::asinh_f64((a.conj() * b).im))
}

pub fn acos(z: Complex64) -> Complex64 {
    let (a, b) = roots(z);
    Complex64::new(2.0 * fns::atan2_f64(a.re, b.re), fns::asinh_f64((b.conj() * a).im))
}

pub fn asinh(z: Complex64) -> Complex64 {
    let turned = asin(Complex64::new(-z.im, z.re));
    Complex64::new(turned.im, -turned.re)
}

pub fn acosh(z: Complex64) -> Complex64 {
    let (a, b) = (sqrt(z - 1.0), sqrt(z + 1.0));
    Complex64::new(fns::asinh_f64((a.conj() * b).re), 2.0 * fns::atan2_f64(a.im, b.re))
}

pub fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re.abs(), z.im);
    if x > ATANH_LIMIT || y.abs() > ATANH_LIMIT {
        let re = reciprocal(z).re;
        return Complex64::new(re, std::f64::consts::FRAC_PI_2.copysign(y));
    }
    let angle = fns::atan2_f64(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    let near = (1.0 - x) * (1.0 - x) + y * y;
    // The function is odd: for a positive `x` no digits cancel.
    let re = if x == 1.0 && y.abs() < 1.0 / ATANH_LIMIT {
        // The square of `y` would be 0.
        (std::f64::consts::LN_2 - fns::log_f64(y.abs())) / 2.0
    } else {
        fns::log1p_f64(4.0 * x / near) / 4.0
    };
    Complex64::new(re.copysign(z.re), 0.5 * angle)
}

/// The magnitude of a part above which [`atanh`] does not use its square, which may overflow. Next to 1 and -1, it does
/// not use the squares of imaginary parts below the reciprocal of this either, which may be 0.
const ATANH_LIMIT: f64 = 1e150;

pub fn atan(z: Complex64) -> Complex64 {
    let turned = atanh(Complex64::new(-z.im, z.re));
    Complex64::new(turned.im, -turned.re)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn z(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }

    fn near(found: Complex64, expected: Complex64) {
        let is_near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-14 * b.abs();
        assert!(is_near(found.re, expected.re) && is_near(found.im, expected.im), "{found} {expected}");
    }

    #[test]
    fn quotients_do_not_overflow_on_the_way() {
        for size in [5e-324, 1e-310, 1e-200, 1e200, f64::MAX] {
            near(divide(z(size, size), z(size, size)), z(1.0, 0.0));
            near(divide(z(0.0, size), z(size, 0.0)), z(0.0, 1.0));
        }
        near(divide(z(1e300, 0.0), z(0.0, 1e-8)), z(0.0, -1e308));
        near(divide(z(1.0, 2.0), z(3.0, 4.0)), z(0.44, 0.08));
    }

    #[test]
    fn quotients_of_moderate_numbers_need_no_scale() {
        let mut state = 1u64;
        let mut part = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (mantissa, exponent) = (state >> 12, 1023 - 200 + (state >> 8) % 400);
            let sign = state >> 4 << 63;
            if (state >> 50).is_multiple_of(8) { 0.0 } else { f64::from_bits(sign | exponent << 52 | mantissa) }
        };
        for _ in 0..20_000 {
            let (a, b) = (z(part(), part()), z(part(), part()));
            // Parts that cancel almost.
            let c = z(b.re * 1.5, -b.im * 1.5);
            for (a, b) in [(a, b), (c, b)].into_iter().filter(|(_, b)| *b != Complex64::ZERO) {
                let (plain, scaled) = (divide(a, b), divide_scaled(a, b));
                assert_eq!(
                    [plain.re, plain.im].map(f64::to_bits),
                    [scaled.re, scaled.im].map(f64::to_bits),
                    "{a} / {b}"
                );
            }
        }
    }

    #[test]
    fn quotients_of_zeros_and_infinities() {
        let inf = f64::INFINITY;
        near(divide(z(1.0, 2.0), z(inf, inf)), z(0.0, 0.0));
        near(divide(z(1.0, 2.0), z(-0.0, 0.0)), z(-inf, -inf));
        near(divide(z(inf, inf), z(2.0, 0.0)), z(inf, inf));
        let nan = divide(z(0.0, 0.0), z(0.0, 0.0));
        assert!(nan.re.is_nan() && nan.im.is_nan());
    }

    #[test]
    fn signs_of_zeros_and_of_numbers_at_the_limits() {
        assert!(sign(z(-0.0, -0.0)).re.is_sign_positive() && sign(z(-0.0, -0.0)).im.is_sign_positive());
        let root = 0.5f64.sqrt();
        for size in [5e-324, 1.0, f64::MAX] {
            near(sign(z(size, -size)), z(root, -root));
        }
    }

    #[test]
    fn exponentials_that_overflow() {
        let inf = f64::INFINITY;
        for x in [710.5, 1000.0, inf] {
            assert_eq!(expm1(z(x, 0.0)), z(inf, 0.0));
            assert_eq!(logistic(z(-x, 0.0)).im, 0.0);
        }
        for x in [1000.0, inf] {
            assert_eq!(sinh(z(-x, 0.0)), z(-inf, 0.0));
            assert_eq!(cosh(z(-x, 0.0)), z(inf, 0.0));
            assert_eq!(logistic(z(-x, 0.0)), z(0.0, 0.0));
            assert_eq!(logistic(z(-x, 2.0)), z(0.0, 0.0));
        }
        // The factor e^710 overflows, and the product does not.
        near(exp(z(710.0, 1e-10)), z(inf, 2.233_994_766_161_711e298));
        near(sinh(z(710.0, 5e-324)), z(1.116_997_383_080_855_6e308, 5.518_700_334_748_252e-16));
        near(cosh(z(-710.0, 5e-324)), z(1.116_997_383_080_855_6e308, -5.518_700_334_748_252e-16));
        near(sinh(z(-710.0, 1e-10)), z(-1.116_997_383_080_855_6e308, 1.116_997_383_080_855_6e298));
        near(cosh(z(-710.0, 1e-10)), z(1.116_997_383_080_855_6e308, -1.116_997_383_080_855_6e298));
    }

    #[test]
    fn tangents_of_large_numbers() {
        let inf = f64::INFINITY;
        for x in [25.0, 1000.0, inf] {
            near(tanh(z(-x, 2.0)), z(-1.0, 0.0));
        }
        for im in [inf, -inf, f64::NAN] {
            near(tanh(z(inf, im)), z(1.0, 0.0));
            for re in [1.0, 25.0, -1000.0] {
                let found = tanh(z(re, im));
                assert!(found.re.is_nan() && found.im.is_nan(), "{re} {im}: {found}");
            }
        }
    }

    #[test]
    fn logarithms_near_their_pole_and_of_large_numbers() {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2};
        near(log1p(z(-1.0, 1e-30)), z(-30.0 * 10f64.ln(), FRAC_PI_2));
        near(log1p(z(1e200, 0.0)), z(200.0 * 10f64.ln(), 0.0));
        near(log1p(z(1e-20, 1e-30)), z(1e-20, 1e-30));
        // The modulus is nearly 1: the square of 0.6 + 0.8i is rounded.
        near(log1p(z(-0.5, 0.75f64.sqrt())), z(-4.345_318_932_600_586e-17, 1.047_197_551_196_597_6));
        near(log(z(f64::MAX, f64::MAX)), z(1024.5 * LN_2, FRAC_PI_4));
        near(log(z(5e-324, 5e-324)), z(-1073.5 * LN_2, FRAC_PI_4));
        assert!(log(z(0.0, f64::NAN)).re.is_nan());
    }

    #[test]
    fn roots_of_large_and_small_numbers() {
        let root = |x: f64| z(x.sqrt(), 0.0);
        for size in [5e-324, 1e-310, 1.7e308, f64::MAX] {
            near(sqrt(z(size, 0.0)), root(size));
            near(sqrt(z(-size, 0.0)), turn(root(size)));
        }
        near(sqrt(z(f64::MAX, f64::MAX)), z(1.098_684_113_467_81, 0.455_089_860_562_227_4) * f64::MAX.sqrt());
        near(sqrt(z(f64::INFINITY, 1.0)), z(f64::INFINITY, 0.0));
        near(sqrt(z(1.0, f64::NEG_INFINITY)), z(f64::INFINITY, f64::NEG_INFINITY));
    }

    #[test]
    fn inverse_tangents_near_their_poles_and_of_large_numbers() {
        use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};
        let near_pole = z(34.885_349_985_190_66, FRAC_PI_4);
        near(atanh(z(1.0, 1e-30)), near_pole);
        near(atanh(z(-1.0, 1e-30)), z(-near_pole.re, near_pole.im));
        near(atan(z(1e-30, -1.0)), z(near_pole.im, -near_pole.re));
        near(atanh(z(1.0, 1e-200)), z(230.605_082_889_684_54, FRAC_PI_4));
        near(atanh(z(-1e200, 0.0)), z(-1e-200, FRAC_PI_2));
        near(atanh(z(f64::INFINITY, 1.0)), z(0.0, FRAC_PI_2));
        for size in [1e-200, 1e200] {
            let angle = atan2(z(size, 0.0), z(size, 0.0));
            near(z(angle.re, 0.0), z(FRAC_PI_4, 0.0));
            assert!(angle.im.abs() < 1e-15);
        }
    }
}
