//! The elements of matrices.

use bytemuck::Zeroable;
use shardwise_base::{Complex64, Data};
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// The relative distance of 1 to the next number below.
pub(crate) const EPS: f64 = f64::EPSILON / 2.0;

/// A real number of 64 bits, or a complex one whose parts have 64 bits each.
pub trait Scalar:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + Zeroable
    + Add<Output = Self>
    + AddAssign
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Sub<Output = Self>
    + SubAssign
    + 'static
{
    const ZERO: Self;
    const ONE: Self;
    /// True for real numbers, false for complex ones.
    const IS_REAL: bool;

    /// Returns the number with these parts. A real type ignores `im`.
    fn of(re: f64, im: f64) -> Self;

    fn re(self) -> f64;

    /// Returns the imaginary part, which is 0 for a real number.
    fn im(self) -> f64;

    fn conj(self) -> Self;

    /// Returns the product with a real number.
    fn times(self, x: f64) -> Self;

    /// Returns the quotient. A complex one is computed without squares of parts, which could overflow (Smith's method).
    fn over(self, other: Self) -> Self;

    /// Returns the absolute value.
    fn abs(self) -> f64 {
        hypot(self.re(), self.im())
    }

    /// Returns the sum of the absolute values of both parts, by which LAPACK compares complex numbers.
    fn abs1(self) -> f64 {
        self.re().abs() + self.im().abs()
    }

    fn is_finite(self) -> bool {
        self.re().is_finite() && self.im().is_finite()
    }

    /// Returns the number as a complex number.
    fn complex(self) -> Complex64 {
        Complex64::new(self.re(), self.im())
    }
}

impl Scalar for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const IS_REAL: bool = true;

    fn of(re: f64, _: f64) -> f64 {
        re
    }
    fn re(self) -> f64 {
        self
    }
    fn im(self) -> f64 {
        0.0
    }
    fn conj(self) -> f64 {
        self
    }
    fn times(self, x: f64) -> f64 {
        self * x
    }
    fn over(self, other: f64) -> f64 {
        self / other
    }
    fn abs(self) -> f64 {
        f64::abs(self)
    }
}

impl Scalar for Complex64 {
    const ZERO: Complex64 = Complex64::new(0.0, 0.0);
    const ONE: Complex64 = Complex64::new(1.0, 0.0);
    const IS_REAL: bool = false;

    fn of(re: f64, im: f64) -> Complex64 {
        Complex64::new(re, im)
    }
    fn re(self) -> f64 {
        self.re
    }
    fn im(self) -> f64 {
        self.im
    }
    fn conj(self) -> Complex64 {
        Complex64::new(self.re, -self.im)
    }
    fn times(self, x: f64) -> Complex64 {
        Complex64::new(self.re * x, self.im * x)
    }
    fn over(self, other: Complex64) -> Complex64 {
        let (a, b) = (self, other);
        if b.im == 0.0 {
            return Complex64::new(a.re / b.re, a.im / b.re);
        }
        if b.re.abs() >= b.im.abs() {
            let ratio = b.im / b.re;
            let d = b.re + b.im * ratio;
            Complex64::new((a.re + a.im * ratio) / d, (a.im - a.re * ratio) / d)
        } else {
            let ratio = b.re / b.im;
            let d = b.re * ratio + b.im;
            Complex64::new((a.re * ratio + a.im) / d, (a.im * ratio - a.re) / d)
        }
    }
}

/// Returns the square root of `x^2 + y^2` without computing these squares, which could overflow. Returns NaN if a part
/// is NaN.
pub(crate) fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if small == 0.0 || large.is_infinite() {
        return large;
    }
    let ratio = small / large;
    large * (1.0 + ratio * ratio).sqrt()
}

pub(crate) fn complex_sqrt(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        return Complex64::new(0.0, z.im);
    }
    let root = (0.5 * (z.re.abs() + z.abs())).sqrt();
    let other = 0.5 * (z.im / root);
    if z.re >= 0.0 { Complex64::new(root, other) } else { Complex64::new(other.abs(), root.copysign(z.im)) }
}

pub(crate) fn add_scaled<T: Scalar>(y: &mut [T], a: T, x: &[T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Returns the sum of `conj(x[i]) * y[i]`, in a fixed order.
pub(crate) fn dot<T: Scalar>(x: &[T], y: &[T]) -> T {
    sum_of_products(x, y, |x, y| x.conj() * y)
}

pub(crate) fn dot_plain<T: Scalar>(x: &[T], y: &[T]) -> T {
    sum_of_products(x, y, |x, y| x * y)
}

/// Returns the sum of `product(x[i], y[i])`, in an order that depends only on the length.
#[inline]
fn sum_of_products<T: Scalar>(x: &[T], y: &[T], product: impl Fn(T, T) -> T) -> T {
    let mut sums = [T::ZERO; 4];
    let (xs, ys) = (x.chunks_exact(4), y.chunks_exact(4));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let rest = rest.fold(T::ZERO, |sum, (&x, &y)| sum + product(x, y));
    for (x, y) in xs.zip(ys) {
        for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += product(x, y);
        }
    }
    ((sums[0] + sums[2]) + (sums[1] + sums[3])) + rest
}

/// Returns the Euclidean norm, which is exact up to rounding even if squares of elements overflow or underflow.
pub(crate) fn norm<T: Scalar>(x: &[T]) -> f64 {
    let square = dot(x, x).re();
    if (1e-280..1e280).contains(&square) || square.is_nan() {
        return square.sqrt();
    }
    let largest = largest_part(x);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    let part = |x: f64| (x / largest) * (x / largest);
    largest * x.iter().fold(0.0, |sum, x| sum + part(x.re()) + part(x.im())).sqrt()
}

/// Returns the largest absolute value of a real or an imaginary part, which is 0 if there are no elements. Parts that
/// are NaN are left out.
pub(crate) fn largest_part<T: Scalar>(x: &[T]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.re().abs()).max(x.im().abs()))
}

pub(crate) fn copied<T: Scalar>(x: &[T]) -> Data<T> {
    let mut copy: Data<T> = Data::zeroed(x.len());
    copy.copy_from_slice(x);
    copy
}

/// Returns element (i, j) of the identity matrix.
pub(crate) fn unit<T: Scalar>(i: usize, j: usize) -> T {
    if i == j { T::ONE } else { T::ZERO }
}
