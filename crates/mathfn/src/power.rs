//! Powers of `f32`, computed in `f64` without branches for each element, so that compilers make vectors of them.

/// Adding this to a number of at most 2^51 in magnitude rounds the number to an integer, which the low bits of the sum
/// then hold.
pub(crate) const MAGIC: f64 = 6_755_399_441_055_744.0;
/// The bits of the square root of 1/2.
const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of 1.
pub(crate) const ONE: u64 = 1023 << 52;

/// Returns the sum of `coefficients[i] x^i`. Even and odd powers are summed apart, so that processors compute both at
/// once.
#[inline(always)]
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    let square = x * x;
    let powers = |first: usize| coefficients.iter().skip(first).step_by(2).rev().fold(0.0, |sum, &c| sum * square + c);
    powers(0) + x * powers(1)
}

/// Returns the logarithm to base 2 of a finite positive normal number, with a relative error of less than 2^-45.
#[inline(always)]
fn log2(x: f64) -> f64 {
    // x = 2^k m, with m from sqrt 1/2 to sqrt 2.
    let k = (x.to_bits() + (ONE - ROOT_HALF)) >> 52;
    let m = f64::from_bits(x.to_bits().wrapping_sub(k.wrapping_sub(1023) << 52));
    let k = f64::from_bits(k | 1075 << 52) - (4_503_599_627_370_496.0 + 1023.0);
    // ln m = 2 artanh((m - 1) / (m + 1))
    let s = (m - 1.0) / (m + 1.0);
    let square = s * s;
    const SERIES: [f64; 10] =
        [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0, 1.0 / 19.0];
    k + s * polynomial(square, &SERIES) * (2.0 * std::f64::consts::LOG2_E)
}

/// Returns `2^x` for `x` from -1000 to 1000, with a relative error of less than 2^-41.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    let t = x + MAGIC;
    let r = (x - (t - MAGIC)) * std::f64::consts::LN_2;
    const SERIES: [f64; 11] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
    ];
    polynomial(r, &SERIES) * f64::from_bits(t.to_bits().wrapping_add(1023) << 52)
}

/// The largest exponent for which powers are products.
const MOST_FACTORS: u32 = 7;

/// Returns true for 1.0, 2.0 and so on up to [`MOST_FACTORS`].
#[inline(always)]
fn is_few(y: f32) -> bool {
    let count = y.clamp(1.0, MOST_FACTORS as f32);
    // A NaN stays a NaN.
    count == y && count as u32 as f32 == y
}

/// Returns `x^y` with an error of less than 0.501 ulp if [`is_few`] is true of `y`, and some number otherwise.
#[inline(always)]
fn product(x: f32, y: f32) -> f32 {
    let (x, count) = (f64::from(x), y as u32);
    let square = x * x;
    let factor = |bit: u32, power: f64| if count & bit == bit { power } else { 1.0 };
    (factor(1, x) * factor(2, square) * factor(4, square * square)) as f32
}

/// Returns `x^y`, as C defines it, with an error of less than 0.51 ulp.
#[inline(always)]
pub fn pow_f32(x: f32, y: f32) -> f32 {
    let (product, power) = (product(x, y), pow_by_logarithm(x, y));
    if is_few(y) { product } else { power }
}

/// Returns `x^y`, as C defines it, with an error of less than 0.51 ulp.
#[inline(always)]
fn pow_by_logarithm(x: f32, y: f32) -> f32 {
    let (magnitude, y) = (f64::from(x.abs()), f64::from(y));
    let log = log2(magnitude);
    // Larger than any exponent, if `y` is not 0.
    let log = if magnitude == 0.0 { -1e300 } else { log };
    let log = if magnitude == f64::INFINITY { 1e300 } else { log };
    let exponent = y * log;
    let exponent = if exponent < -200.0 { -200.0 } else { exponent };
    let exponent = if exponent > 200.0 { 200.0 } else { exponent };
    let power = exp2(exponent);

    // Numbers of a larger magnitude than this are even, as this is.
    const EVEN: f64 = 1_125_899_906_842_624.0;
    let near = if y > EVEN { EVEN } else { y };
    let near = if near < -EVEN { -EVEN } else { near };
    let t = near + MAGIC;
    let is_integer = t - MAGIC == near;
    let is_odd = is_integer & (t.to_bits() & 1 == 1);
    let is_negative = x.is_sign_negative();
    let signed = if is_negative & is_odd { -power } else { power };
    let is_finite = (magnitude != 0.0) & (magnitude != f64::INFINITY);
    let real = if is_negative & is_finite & !is_integer { f64::NAN } else { signed };
    let real = if x.is_nan() | y.is_nan() { f64::NAN } else { real };
    // -1 to an infinite power is 1, too.
    let is_one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == f64::INFINITY));
    (if is_one { 1.0 } else { real }) as f32
}

/// Returns `x^y`, as C defines it. Squares are rounded once.
pub fn pow_f64(x: f64, y: f64) -> f64 {
    if y == 2.0 { x * x } else { libm::pow(x, y) }
}

/// Returns the powers that [`pow_f32`] returns, for several pairs of numbers.
#[inline(always)]
pub fn powers<const N: usize>(x: [f32; N], y: [f32; N]) -> [f32; N] {
    let mut powers = [0.0; N];
    let are_few = y.map(is_few);
    if are_few == [true; N] {
        for i in 0..N {
            powers[i] = product(x[i], y[i]);
        }
    } else if are_few == [false; N] {
        for i in 0..N {
            powers[i] = pow_by_logarithm(x[i], y[i]);
        }
    } else {
        for i in 0..N {
            powers[i] = pow_f32(x[i], y[i]);
        }
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers of all magnitudes, each with both signs, with zero, infinity and NaN.
    fn numbers() -> Vec<f32> {
        let mut numbers = vec![0.0, 1.0, 2.0, 3.0, 0.5, 1e-45, f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::NAN];
        numbers.extend([0.999_999_94, 1.000_000_1, 16_777_215.0, 16_777_216.0, 8_388_607.5, 3e10, 1e38]);
        let mut bits = 1u32;
        for _ in 0..600 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            numbers.push(f32::from_bits(bits & 0x7fff_ffff));
            numbers.push((bits >> 8) as f32 / 65_536.0 - 128.0);
            numbers.push((bits >> 24) as f32 - 128.0);
            numbers.push(1.0 + ((bits >> 16) as f32 - 32_768.0) / 4e6);
        }
        numbers.iter().flat_map(|&x| [x, -x]).collect()
    }

    #[test]
    fn powers_are_rounded_from_those_of_f64() {
        let (numbers, mut worst) = (numbers(), 0.0f64);
        for &x in &numbers {
            for &y in &numbers {
                let (own, exact) = (pow_f32(x, y), libm::pow(f64::from(x), f64::from(y)));
                if own.is_nan() || exact.is_nan() {
                    assert_eq!(own.is_nan(), exact.is_nan(), "{x:e}^{y:e} is {exact:e}, and not {own:e}");
                    continue;
                }
                if own == exact as f32 {
                    assert_eq!(own.is_sign_negative(), exact.is_sign_negative(), "the sign of {x:e}^{y:e}");
                    continue;
                }
                let largest = f64::from(f32::MAX);
                let ulp = f64::from(f32::from_bits((exact.abs().min(largest) as f32).to_bits() + 1))
                    - f64::from((exact.abs().min(largest)) as f32);
                let ulp = if ulp.is_finite() { ulp } else { 2f64.powi(104) };
                worst = worst.max((f64::from(own) - exact).abs() / ulp);
                assert!(worst < 0.51, "{x:e}^{y:e} is {exact:e}, and not {own:e}: {worst}");
            }
        }
    }

    #[test]
    fn several_powers_are_those_of_each_pair() {
        let x: [f32; 16] = std::array::from_fn(|i| i as f32 / 3.0 - 2.0);
        let y: [f32; 16] = std::array::from_fn(|i| (i * 7 % 16) as f32 / 2.0 - 3.0);
        let bits = |powers: [f32; 16]| powers.map(f32::to_bits);
        for y in std::iter::once(y).chain(y.map(|y| [y; 16])) {
            assert_eq!(bits(powers(x, y)), bits(std::array::from_fn(|i| pow_f32(x[i], y[i]))), "{y:?}");
        }
    }

    #[test]
    fn squares_of_f64_are_products() {
        for x in [0.0, -0.0, 1.5, -1e200, 3e-170, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1] {
            let (square, other) = (pow_f64(x, 2.0), libm::pow(x, 2.0));
            assert!(square.to_bits() == (x * x).to_bits() || x.is_nan() && square.is_nan(), "{x:e}");
            assert!(square == other || (square - other).abs() <= square.abs() * f64::EPSILON || x.is_nan(), "{x:e}");
        }
    }
}
