//! Functions of complex numbers, computed from functions of real numbers.

use shardwise_base::{Complex32, Complex64};
use shardwise_mathfn as fns;

pub fn widen(z: Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}

pub fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// Computes the modulus, without overflow of intermediate results.
pub fn abs(z: Complex64) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    if a.is_infinite() || b.is_infinite() {
        return f64::INFINITY;
    }
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large == 0.0 {
        return large;
    }
    let ratio = small / large;
    large * (1.0 + ratio * ratio).sqrt()
}

pub fn sign(z: Complex64) -> Complex64 {
    if z.re.is_nan() || z.im.is_nan() {
        return Complex64::new(f64::NAN, f64::NAN);
    }
    let modulus = abs(z);
    if modulus == 0.0 { z } else { z / modulus }
}

pub fn exp(z: Complex64) -> Complex64 {
    let r = fns::exp_f64(z.re);
    // A real argument has a real result, whatever r is.
    if z.im == 0.0 {
        return Complex64::new(r, z.im);
    }
    Complex64::new(r * fns::cos_f64(z.im), r * fns::sin_f64(z.im))
}

/// Computes `e^z - 1`, accurately near zero.
pub fn expm1(z: Complex64) -> Complex64 {
    let half = fns::sin_f64(z.im / 2.0);
    let cos_minus_one = -2.0 * half * half;
    let r = fns::expm1_f64(z.re);
    Complex64::new(r * fns::cos_f64(z.im) + cos_minus_one, fns::exp_f64(z.re) * fns::sin_f64(z.im))
}

/// Computes `log(1 + z)`, accurately near zero.
pub fn log1p(z: Complex64) -> Complex64 {
    // |1 + z|^2 - 1
    let square = z.re * (2.0 + z.re) + z.im * z.im;
    Complex64::new(fns::log1p_f64(square) / 2.0, fns::atan2_f64(z.im, 1.0 + z.re))
}

pub fn log(z: Complex64) -> Complex64 {
    Complex64::new(fns::log_f64(abs(z)), fns::atan2_f64(z.im, z.re))
}

pub fn sqrt(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        return Complex64::new(0.0, z.im);
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
    Complex64::new(fns::sinh_f64(z.re) * fns::cos_f64(z.im), fns::cosh_f64(z.re) * fns::sin_f64(z.im))
}

pub fn cosh(z: Complex64) -> Complex64 {
    Complex64::new(fns::cosh_f64(z.re) * fns::cos_f64(z.im), fns::sinh_f64(z.re) * fns::sin_f64(z.im))
}

pub fn tanh(z: Complex64) -> Complex64 {
    // Far from zero, both sinh and cosh overflow, and their quotient is a sign.
    if z.re.abs() > 20.0 {
        return Complex64::new(1f64.copysign(z.re), 0.0);
    }
    sinh(z) / cosh(z)
}

/// Computes `i z`.
fn turn(z: Complex64) -> Complex64 {
    Complex64::new(-z.im, z.re)
}

/// Computes `-i z`.
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
    let (x, y) = (z.re, z.im);
    let near = (1.0 - x) * (1.0 - x) + y * y;
    let angle = fns::atan2_f64(2.0 * y, (1.0 - x) * (1.0 + x) - y * y);
    Complex64::new(0.25 * fns::log1p_f64(4.0 * x / near), 0.5 * angle)
}

pub fn atan(z: Complex64) -> Complex64 {
    let turned = atanh(Complex64::new(-z.im, z.re));
    Complex64::new(turned.im, -turned.re)
}
