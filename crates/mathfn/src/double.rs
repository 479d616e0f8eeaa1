//! Numbers of about 31 digits, as sums of two `f64`: for sums whose parts cancel.
//!
//! Source: Dekker, "A floating-point technique for extending the available precision" (1971); Hida, Li and Bailey,
//! "Library for double-double and quad-double arithmetic" (2007).

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `hi + lo`, where `hi` is the sum rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Double {
    pub hi: f64,
    pub lo: f64,
}

pub(crate) const LN_2: Double = Double { hi: std::f64::consts::LN_2, lo: 2.319_046_813_846_299_6e-17 };
pub(crate) const PI: Double = Double { hi: std::f64::consts::PI, lo: 1.224_646_799_147_353_2e-16 };

/// Returns `a + b` with its rounding error in `lo`: the sum is exact if it does not overflow.
pub(crate) fn sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    let b_rounded = hi - a;
    Double { hi, lo: (a - (hi - b_rounded)) + (b - b_rounded) }
}

/// Returns `a * b` with its rounding error in `lo`: the product is exact if no part of it overflows or underflows.
fn product(a: f64, b: f64) -> Double {
    let hi = a * b;
    Double { hi, lo: a.mul_add(b, -hi) }
}

impl Double {
    pub fn value(self) -> f64 {
        self.hi + self.lo
    }

    /// Returns `self / 2^times`, which is exact if nothing overflows or underflows. `times` may be negative.
    fn halved(self, times: i32) -> Double {
        let scale = 0.5f64.powi(times);
        Double { hi: self.hi * scale, lo: self.lo * scale }
    }
}

impl From<f64> for Double {
    fn from(hi: f64) -> Double {
        Double { hi, lo: 0.0 }
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double { hi: -self.hi, lo: -self.lo }
    }
}

impl Add for Double {
    type Output = Double;
    fn add(self, o: Double) -> Double {
        let (high, low) = (sum(self.hi, o.hi), sum(self.lo, o.lo));
        let high = sum(high.hi, high.lo + low.hi);
        sum(high.hi, high.lo + low.lo)
    }
}

impl Sub for Double {
    type Output = Double;
    fn sub(self, o: Double) -> Double {
        self + -o
    }
}

impl Mul for Double {
    type Output = Double;
    fn mul(self, o: Double) -> Double {
        let p = product(self.hi, o.hi);
        sum(p.hi, p.lo + (self.hi * o.lo + self.lo * o.hi))
    }
}

impl Div for Double {
    type Output = Double;
    fn div(self, o: Double) -> Double {
        let first = self.hi / o.hi;
        let rest = self - o * first.into();
        let second = rest.hi / o.hi;
        let rest = rest - o * second.into();
        sum(first, second) + (rest.hi / o.hi).into()
    }
}

/// Returns `e^x` for moderate `x`. With `x = n ln 2 + r`, this is the Taylor series of `e^(r / 2^k)`, squared `k`
/// times, times `2^n`.
pub(crate) fn exp(x: Double) -> Double {
    const SQUARINGS: i32 = 4;
    let n = (x.hi / LN_2.hi).round();
    let r = (x - LN_2 * n.into()).halved(SQUARINGS);
    let (mut term, mut e) = (r, r);
    for k in 2..=16 {
        term = term * r / f64::from(k).into();
        e = e + term;
    }
    // (1 + e)^2 = 1 + (2e + e^2), without losing digits of e.
    for _ in 0..SQUARINGS {
        e = e + e + e * e;
    }
    (e + 1.0.into()).halved(-(n as i32))
}

/// Returns the natural logarithm of a positive, moderate number: that of `f64`, corrected by two terms of a series.
pub(crate) fn ln(x: Double) -> Double {
    let near = libm::log(x.hi);
    let rest = x * exp((-near).into()) - 1.0.into();
    Double::from(near) + rest - (rest * rest).halved(1)
}

/// Returns the sine and the cosine of `x` between -2 and 2, by their Taylor series.
pub(crate) fn sin_cos(x: Double) -> (Double, Double) {
    let square = -(x * x);
    let series = |first: Double, start: i32| {
        let (mut term, mut sum) = (first, first);
        for k in 0..18 {
            let n = f64::from(start + 2 * k);
            term = term * square / (n * (n + 1.0)).into();
            sum = sum + term;
        }
        sum
    };
    (series(x, 2), series(1.0.into(), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Double, b: Double, allowed: f64) {
        let apart = (a - b).value().abs();
        assert!(apart <= allowed * 1e-32 * b.hi.abs().max(1.0), "{a:?} {b:?}: {apart:e}");
    }

    #[test]
    fn arithmetic_keeps_what_f64_loses() {
        let tiny = Double::from(1.0) + 1e-25.into();
        assert_eq!((tiny - 1.0.into()).value(), 1e-25);
        near(Double::from(1.0) / 3.0.into() * 3.0.into(), 1.0.into(), 4.0);
    }

    #[test]
    fn functions_invert_and_agree() {
        for i in 1..60 {
            let x = Double::from(f64::from(i) * 0.37);
            near(ln(exp(x)), x, 20.0);
        }
        // ln 10 and e to 32 digits.
        near(ln(10.0.into()), Double { hi: std::f64::consts::LN_10, lo: -2.170_756_223_382_249_4e-16 }, 10.0);
        near(exp(1.0.into()), Double { hi: std::f64::consts::E, lo: 1.445_646_891_729_250_2e-16 }, 10.0);
        let (sin, cos) = sin_cos(PI / 6.0.into());
        near(sin, 0.5.into(), 10.0);
        near(sin * sin + cos * cos, 1.0.into(), 10.0);
    }
}
