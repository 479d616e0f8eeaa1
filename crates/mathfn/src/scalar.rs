//! The functions on plain numbers.

use crate::double::Double;
use crate::formula;

macro_rules! from_formula {
    ($($(#[$doc:meta])* $name:ident = $formula:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(x: f32) -> f32 {
            formula::$formula(x)
        }
    )*};
}

from_formula! {
    /// Returns `e^x`.
    exp_f32 = exp;
    /// Returns `e^x - 1`, without loss of digits near zero.
    expm1_f32 = expm1;
    /// Returns the natural logarithm; -∞ at zero and NaN below.
    log_f32 = log;
    /// Returns `ln(1 + x)`, without loss of digits near zero; -∞ at -1 and NaN below.
    log1p_f32 = log1p;
    /// Returns the hyperbolic tangent.
    tanh_f32 = tanh;
    /// Returns `1 / (1 + e^-x)`.
    logistic_f32 = logistic;
    /// Returns the error function.
    erf_f32 = erf;
    /// Returns `1 - erf(x)`, without loss of digits where it is near zero.
    erfc_f32 = erfc;
    /// Returns the inverse of the error function; -∞ at -1, ∞ at 1, and NaN beyond them.
    erf_inv_f32 = erf_inv;
    /// Returns the sine; NaN at infinities.
    sin_f32 = sin;
    /// Returns the cosine; NaN at infinities.
    cos_f32 = cos;
    /// Returns `1 / sqrt(x)`: the root is rounded, and so is the quotient.
    rsqrt_f32 = rsqrt;
}

macro_rules! f64_from_libm {
    ($($(#[$doc:meta])* $name:ident = $libm:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(x: f64) -> f64 {
            libm::$libm(x)
        }
    )*};
}

f64_from_libm! {
    /// Returns `e^x`.
    exp_f64 = exp;
    /// Returns `e^x - 1`, without loss of digits near zero.
    expm1_f64 = expm1;
    /// Returns the natural logarithm; -∞ at zero and NaN below.
    log_f64 = log;
    /// Returns `ln(1 + x)`, without loss of digits near zero; -∞ at -1 and NaN below.
    log1p_f64 = log1p;
    /// Returns the hyperbolic tangent.
    tanh_f64 = tanh;
    /// Returns the error function.
    erf_f64 = erf;
    /// Returns `1 - erf(x)`.
    erfc_f64 = erfc;
    /// Returns the sine; NaN at infinities.
    sin_f64 = sin;
    /// Returns the cosine; NaN at infinities.
    cos_f64 = cos;
}

/// Returns the inverse of the hyperbolic cosine; NaN below 1, where `libm` returns numbers for large negative `x`.
pub fn acosh_f64(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// Returns [`acosh_f64`], rounded once.
pub fn acosh_f32(x: f32) -> f32 {
    acosh_f64(x.into()) as f32
}

/// Returns `1 / (1 + e^-x)`.
pub fn logistic_f64(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// Returns the exponent of the largest power of two that is at most `|x|`, or 0 if `x` is zero, infinite or NaN.
pub fn exponent_f64(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() { 0 } else { libm::ilogb(x) }
}

/// Returns `x * 2^n`, rounded once.
pub fn scale_f64(x: f64, n: i32) -> f64 {
    libm::scalbn(x, n)
}

/// Returns `|1 + x + iy|^2 - 1` for moderate numbers, without rounding the parts that cancel.
pub fn square_minus_one_f64(x: f64, y: f64) -> f64 {
    let (x, y) = (Double::from(x), Double::from(y));
    (x * (x + 2.0.into()) + y * y).value()
}

/// Returns `1 / sqrt(x)`: the root is rounded, and so is the quotient.
pub fn rsqrt_f64(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// Returns the inverse of the error function: a starting point refined by Halley's method. It is -∞ at -1, ∞ at 1, and
/// NaN if `x` is NaN or beyond them.
pub fn erf_inv_f64(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude.is_nan() || magnitude > 1.0 {
        return f64::NAN;
    }
    if magnitude == 1.0 || x == 0.0 {
        return if x == 0.0 { x } else { x * f64::INFINITY };
    }
    let root = (0..4).fold(erf_inv_start(magnitude), |y, _| erf_inv_step(magnitude, y));
    root.copysign(x)
}

/// Returns Winitzki's approximation of the inverse of the error function for `x` between 0 and 1, which is right to
/// about three digits.
fn erf_inv_start(x: f64) -> f64 {
    let l = libm::log1p(-x * x);
    let h = 2.0 / (std::f64::consts::PI * 0.147) + l / 2.0;
    let d = h * h - l / 0.147;
    // d.sqrt() - h without cancellation.
    (-l / 0.147 / (d.sqrt() + h)).sqrt()
}

fn erf_inv_step(x: f64, y: f64) -> f64 {
    let error = if x < 0.5 { libm::erf(y) - x } else { (1.0 - x) - libm::erfc(y) };
    let slope = std::f64::consts::FRAC_2_SQRT_PI * libm::exp(-y * y);
    let step = error / slope;
    y - step / (1.0 + y * step)
}

/// Returns the remainder of `x` by `y` with the sign of `x`, exactly; NaN if `x` is infinite, `y` is zero, or either is
/// NaN.
#[inline]
pub fn rem_f32(x: f32, y: f32) -> f32 {
    let (remainder, is_exact) = rem_of_quotient(x, y);
    if is_exact { remainder } else { x % y }
}

/// Returns the remainders that [`rem_f32`] returns, for several pairs of numbers.
#[inline(always)]
pub fn remainders<const N: usize>(x: [f32; N], y: [f32; N]) -> [f32; N] {
    let (mut remainders, mut are_exact) = ([0.0; N], true);
    for i in 0..N {
        let (remainder, is_exact) = rem_of_quotient(x[i], y[i]);
        remainders[i] = remainder;
        are_exact &= is_exact;
    }
    if !are_exact {
        for i in 0..N {
            remainders[i] = rem_f32(x[i], y[i]);
        }
    }
    remainders
}

/// Returns the remainder of `x` by `y`, and true if it is exact: if the quotient is a number below 2^28. A quotient of
/// two `f32` below this is never rounded up to an integer, and its product with `y` is exact in `f64`.
#[inline(always)]
fn rem_of_quotient(x: f32, y: f32) -> (f32, bool) {
    let (a, b) = (f64::from(x).abs(), f64::from(y).abs());
    let quotient = a / b;
    // The product is NaN if `y` is infinite.
    let remainder = if quotient < 1.0 { a } else { a - quotient.trunc() * b };
    ((remainder as f32).copysign(x), quotient < f64::from(1 << 28))
}

/// Returns the remainder of `x` by `y` with the sign of `x`, exactly; NaN if `x` is infinite, `y` is zero, or either is
/// NaN.
pub fn rem_f64(x: f64, y: f64) -> f64 {
    x % y
}

macro_rules! extremes {
    ($max:ident $min:ident $float:ty) => {
        /// Returns the larger number; NaN if either is NaN; `-0 < +0`.
        pub fn $max(a: $float, b: $float) -> $float {
            if a.is_nan() || b.is_nan() {
                return <$float>::NAN;
            }
            let a_is_larger = a > b || (a == b && a.is_sign_positive());
            if a_is_larger { a } else { b }
        }
        /// Returns the smaller number; NaN if either is NaN; `-0 < +0`.
        pub fn $min(a: $float, b: $float) -> $float {
            if a.is_nan() || b.is_nan() {
                return <$float>::NAN;
            }
            let a_is_smaller = a < b || (a == b && a.is_sign_negative());
            if a_is_smaller { a } else { b }
        }
    };
}

extremes!(max_f32 min_f32 f32);
extremes!(max_f64 min_f64 f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn order(x: f32) -> i64 {
        let bits = x.to_bits() as i32;
        i64::from(if bits < 0 { i32::MIN - bits } else { bits })
    }

    /// Returns the largest error in ulps over every `step`th float, and the float at which it occurs.
    fn worst_ulps(f: fn(f32) -> f32, reference: impl Fn(f64) -> f64, step: usize) -> (f64, f32) {
        let mut worst = (0.0, 0.0);
        for bits in (0..=u32::MAX).step_by(step) {
            let x = f32::from_bits(bits);
            let error = ulps(f(x), reference(f64::from(x)));
            if error > worst.0 {
                worst = (error, x);
            }
        }
        worst
    }

    fn ulps(got: f32, exact: f64) -> f64 {
        let rounded = exact as f32;
        if got.to_bits() == rounded.to_bits() || (got.is_nan() && rounded.is_nan()) {
            return 0.0;
        }
        if !got.is_finite() || !rounded.is_finite() || got.is_sign_negative() != rounded.is_sign_negative() {
            return (order(got) - order(rounded)).abs() as f64;
        }
        let binade = f32::from_bits(rounded.to_bits() & 0x7f80_0000).max(f32::MIN_POSITIVE);
        (f64::from(got) - exact).abs() / (f64::from(binade) * f64::from(f32::EPSILON))
    }

    fn check(name: &str, f: fn(f32) -> f32, reference: impl Fn(f64) -> f64, limit: f64) {
        let (worst, at) = worst_ulps(f, reference, 8009);
        assert!(worst <= limit, "{name}: {worst} ulps at {at:e} (got {:e})", f(at));
    }

    #[test]
    fn remainders_are_those_of_the_operator() {
        let special = [0.0, -0.0, 1.0, -1.5, 3.0, 1e-45, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
        let mut state = 12_345_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f32::from_bits((state >> 32) as u32)
        };
        let pairs = special.iter().flat_map(|&x| special.map(|y| (x, y)));
        let mut pairs: Vec<(f32, f32)> = pairs.collect();
        pairs.extend((0..200_000).map(|_| (random(), random())));
        // Quotients just below and at an integer, and of numbers that are not far apart.
        pairs.extend((0..200_000).map(|_| {
            let y = random();
            let near = (y * (1 + random().to_bits() % 1_000_000) as f32).to_bits();
            (f32::from_bits(near.wrapping_sub(random().to_bits() % 3)), y)
        }));
        for pairs in pairs.chunks(4) {
            let [xs, ys] = [|pair: &(f32, f32)| pair.0, |pair: &(f32, f32)| pair.1]
                .map(|of| std::array::from_fn::<f32, 4, _>(|i| pairs.get(i).map_or(1.0, of)));
            for (&(x, y), many) in pairs.iter().zip(remainders(xs, ys)) {
                for (got, want) in [rem_f32(x, y), many].map(|got| (got, x % y)) {
                    let is_same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                    assert!(is_same, "{x:e} % {y:e} is {got:e}");
                }
            }
        }
    }

    #[test]
    fn f32_functions_are_within_their_ulps() {
        check("exp", exp_f32, libm::exp, 1.1);
        check("expm1", expm1_f32, libm::expm1, 2.0);
        check("log", log_f32, libm::log, 1.0);
        check("log1p", log1p_f32, libm::log1p, 1.5);
        check("tanh", tanh_f32, libm::tanh, 2.7);
        check("logistic", logistic_f32, logistic_f64, 2.5);
        check("erf", erf_f32, libm::erf, 5.5);
        check("erfc", erfc_f32, libm::erfc, 5.5);
        check("erf_inv", erf_inv_f32, erf_inv_f64, 4.5);
        check("sin", sin_f32, libm::sin, 1.5);
        check("cos", cos_f32, libm::cos, 1.5);
        check("rsqrt", rsqrt_f32, |x| 1.0 / x.sqrt(), 1.5);
    }

    #[test]
    fn zeros_keep_their_sign() {
        for f in [expm1_f32, log1p_f32, tanh_f32, erf_f32, erf_inv_f32, sin_f32] {
            assert_eq!(f(-0.0).to_bits(), (-0.0f32).to_bits());
            assert_eq!(f(0.0).to_bits(), 0);
        }
    }

    #[test]
    fn poles_and_limits() {
        assert_eq!(exp_f32(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
        assert_eq!(expm1_f32(f32::INFINITY), f32::INFINITY);
        assert_eq!(expm1_f32(f32::NEG_INFINITY), -1.0);
        assert_eq!(log_f32(0.0), f32::NEG_INFINITY);
        assert!(log_f32(-1.0).is_nan());
        assert_eq!(log1p_f32(-1.0), f32::NEG_INFINITY);
        assert_eq!(erf_inv_f32(-1.0), f32::NEG_INFINITY);
        assert_eq!([4.0, -50.0, f32::INFINITY].map(erf_f32), [1.0, -1.0, 1.0]);
        assert_eq!([0.0, 11.0, f32::INFINITY, f32::NEG_INFINITY].map(erfc_f32), [1.0, 0.0, 0.0, 2.0]);
        assert!(erf_f32(f32::NAN).is_nan() && erfc_f32(f32::NAN).is_nan());
        assert!(sin_f32(f32::INFINITY).is_nan());
        assert!(acosh_f32(0.5).is_nan() && acosh_f32(-65504.0).is_nan() && acosh_f64(-1e300).is_nan());
        assert_eq!(logistic_f32(f32::NEG_INFINITY), 0.0);
    }

    #[test]
    fn erf_inv_f64_inverts() {
        for i in 1..2000 {
            let y = f64::from(i) * 0.0029;
            let x = libm::erf(y);
            if x < 0.999 {
                assert!((erf_inv_f64(x) / y - 1.0).abs() < 1e-12, "{y}");
            }
        }
    }

    #[test]
    fn extremes_order_zeros_and_keep_nan() {
        assert!(max_f32(f32::NAN, 1.0).is_nan() && min_f32(1.0, f32::NAN).is_nan());
        assert_eq!(max_f32(-0.0, 0.0).to_bits(), 0);
        assert_eq!(min_f32(0.0, -0.0).to_bits(), (-0.0f32).to_bits());
        assert_eq!(max_f64(2.0, 1.0), 2.0);
    }
}
