//! Functions of several `f64` at once, computed without branches for each number, so that compilers make vectors of
//! them. The results have the same bits as those of the functions of one number.
//!
//! The algorithms are those of `libm`, which has them from FreeBSD's msun, with the same constants and the same order of
//! operations. Where `libm` branches, all branches are computed, and one result is chosen. Rare numbers are left to
//! `libm`.
#![expect(clippy::manual_range_contains, reason = "NaN is on neither side of a number, and is in no range")]

use crate::power::{MAGIC, ONE};
use crate::scalar;
use std::f64::consts::LOG2_E;

/// The first 32 bits of `ln 2`, of which multiples by exponents are exact.
const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LO: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// Returns the number whose upper 32 bits are `high`, and whose lower bits are 0.
const fn with_high(high: u64) -> f64 {
    f64::from_bits(high << 32)
}

/// Numbers of a smaller magnitude have the exponential 2^0 times a polynomial. It is nearly `ln 2 / 2`.
const NEAR: f64 = with_high(0x3fd6_2e43);
/// Larger numbers have the exponential infinity.
const LARGEST_EXPONENT: f64 = f64::from_bits(0x4086_2e42_fefa_39ef);

/// A result, and true if it is that of `libm`.
type Result = (f64, bool);

/// Returns `a[0] + x (a[1] + x (...))`.
#[inline(always)]
fn horner(x: f64, a: &[f64]) -> f64 {
    let mut sum = a[a.len() - 1];
    for &a in a[..a.len() - 1].iter().rev() {
        sum = a + x * sum;
    }
    sum
}

/// Returns `2^k` for an integer `k` from -1022 to 1023.
#[inline(always)]
fn power_of_two(k: f64) -> f64 {
    f64::from_bits((k + MAGIC).to_bits().wrapping_add(1023) << 52)
}

/// Splits `x = k ln 2 + hi - lo`. Returns the integer `k` nearest to `x / ln 2`, or 0 for an `x` below [`NEAR`] in
/// magnitude, with `hi` and `lo`. Between two integers, `k` is the one that `libm` takes.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, f64) {
    let turns = LOG2_E * x.abs() + 0.5;
    let nearest = (turns + MAGIC) - MAGIC;
    let floor = nearest - if nearest > turns { 1.0 } else { 0.0 };
    let k = if x.abs() < NEAR { 0.0 } else { floor.copysign(x) };
    (k, x - k * LN2_HI, k * LN2_LO)
}

#[inline(always)]
fn fast_exp(x: f64) -> Result {
    const P: [f64; 5] = [
        f64::from_bits(0x3fc5_5555_5555_553e),
        f64::from_bits(0xbf66_c16c_16be_bd93),
        f64::from_bits(0x3f11_566a_af25_de2c),
        f64::from_bits(0xbebb_bd41_c5d2_6bf1),
        f64::from_bits(0x3e66_3769_72be_a4d0),
    ];
    /// Numbers of a smaller magnitude have exponentials that are their sums with 1.
    const TINY: f64 = with_high(0x3e30_0001);
    /// From this magnitude on, the exponential may be subnormal or infinite.
    const LARGE: f64 = with_high(0x4086_232b);
    /// Smaller numbers have the exponential 0.
    const LEAST: f64 = -745.133_219_101_941_1;

    let (k, hi, lo) = reduced(x);
    let r = hi - lo;
    let square = r * r;
    let c = r - square * horner(square, &P);
    let y = 1.0 + (r * c / (2.0 - c) - lo + hi);
    let y = if x.abs() < TINY { 1.0 + x } else { y };
    let y = y * power_of_two(k);
    let y = if x < LEAST { 0.0 } else { y };
    let y = if x > LARGEST_EXPONENT { f64::INFINITY } else { y };
    (y, (x.abs() < LARGE) | (x < LEAST) | (x > LARGEST_EXPONENT) | x.is_nan())
}

#[inline(always)]
fn fast_expm1(x: f64) -> Result {
    const Q: [f64; 6] = [
        1.0,
        f64::from_bits(0xbfa1_1111_1111_10f4),
        f64::from_bits(0x3f5a_01a0_19fe_5585),
        f64::from_bits(0xbf14_ce19_9eaa_dbb7),
        f64::from_bits(0x3ed0_cfca_86e6_5239),
        f64::from_bits(0xbe8a_fdb7_6e09_c32d),
    ];
    /// Numbers of a smaller magnitude are their own results.
    const TINY: f64 = with_high(0x3c90_0000);
    /// From the negative of this number down, the result is -1.
    const LARGE: f64 = with_high(0x4043_687a);
    /// Above this number, the power of two may be infinite.
    const LARGEST: f64 = 709.0;

    let (k, hi, lo) = reduced(x);
    let r = hi - lo;
    let c = (hi - r) - lo;
    let half = 0.5 * r;
    let square = r * half;
    let r1 = horner(square, &Q);
    let t = 3.0 - r1 * half;
    let e = square * ((r1 - t) / (6.0 - r * t));
    let of_0 = r - (r * e - square);
    let e = r * (e - c) - c - square;
    let of_minus_1 = 0.5 * (r - e) - 0.5;
    let of_1 = if r < -0.25 { -2.0 * (e - (r + 0.5)) } else { 1.0 + 2.0 * (r - e) };
    let (power, inverse) = (power_of_two(k), power_of_two(-k));
    let of_few = (r - e + (1.0 - inverse)) * power;
    let of_many = (r - (e + inverse) + 1.0) * power;
    let of_others = (r - e + 1.0) * power - 1.0;

    let y = if k < 20.0 { of_few } else { of_many };
    let y = if (k < 0.0) | (k > 56.0) { of_others } else { y };
    let y = if k == 1.0 { of_1 } else { y };
    let y = if k == -1.0 { of_minus_1 } else { y };
    let y = if k == 0.0 { of_0 } else { y };
    let y = if x.abs() < TINY { x } else { y };
    let y = if x <= -LARGE { -1.0 } else { y };
    let y = if x > LARGEST_EXPONENT { f64::INFINITY } else { y };
    (y, (x < LARGEST) | (x > LARGEST_EXPONENT))
}

#[inline(always)]
fn fast_tanh(x: f64) -> Result {
    let magnitude = x.abs();
    // The thresholds are nearly ln(5/3) / 2, ln(3) / 2 and 20.
    let is_small = magnitude < with_high(0x3fd0_58af);
    let is_large = magnitude >= with_high(0x3fe1_93eb);
    let twice = 2.0 * magnitude;
    let (e, _) = fast_expm1(if is_small { -twice } else { twice });
    let quotient = if is_large { 2.0 } else { e } / (e + 2.0);
    let y = if is_large { 1.0 - quotient } else { quotient };
    let y = if is_small { -quotient } else { y };
    let y = if magnitude >= with_high(0x4034_0001) { 1.0 } else { y };
    let y = if magnitude < f64::MIN_POSITIVE { magnitude } else { y };
    (if x.is_sign_negative() { -y } else { y }, magnitude <= f64::INFINITY)
}

#[inline(always)]
fn fast_logistic(x: f64) -> Result {
    let (e, is_right) = fast_exp(-x.abs());
    ((if x < 0.0 { e } else { 1.0 }) / (1.0 + e), is_right)
}

/// The upper half of the square root of 1/2.
const ROOT_HALF: u64 = 0x3fe6_a09e << 32;

/// Splits a positive normal `x = 2^k m`, with `m` from nearly `sqrt 1/2` to nearly `sqrt 2`. Returns `k` and `m`.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let bits = x.to_bits().wrapping_add(ONE - ROOT_HALF);
    // The exponent in the low bits of 2^52 is added to it.
    let k = f64::from_bits((bits >> 52) | 1075 << 52) - (4_503_599_627_370_496.0 + 1023.0);
    (k, f64::from_bits((bits & ((1 << 52) - 1)) + ROOT_HALF))
}

/// Returns `k ln 2 + ln(1 + f)`, where `c` is to be added to the sum.
#[inline(always)]
fn log_of_split(k: f64, f: f64, c: f64) -> f64 {
    const EVEN: [f64; 3] = [
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
    ];
    const ODD: [f64; 4] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let r = z * horner(w, &ODD) + w * horner(w, &EVEN);
    s * (half_square + r) + (k * LN2_LO + c) - half_square + f + k * LN2_HI
}

#[inline(always)]
fn fast_log(x: f64) -> Result {
    let (k, m) = split(x);
    let y = if x < f64::INFINITY { log_of_split(k, m - 1.0, 0.0) } else { x };
    let y = if x < 0.0 { f64::NAN } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    // Subnormal numbers are split in another way.
    (y, !((x > 0.0) & (x < f64::MIN_POSITIVE)))
}

#[inline(always)]
fn fast_log1p(x: f64) -> Result {
    let u = 1.0 + x;
    let (k, m) = split(u);
    let lost = if k >= 2.0 { 1.0 - (u - x) } else { x - (u - 1.0) } / u;
    let lost = if k < 54.0 { lost } else { 0.0 };
    // Near 0, `x` itself has the digits that the sum loses.
    let is_near = (x < with_high(0x3fda_827a)) & (x > with_high(0xbfd2_bec5));
    let y = log_of_split(
        if is_near { 0.0 } else { k },
        if is_near { x } else { m - 1.0 },
        if is_near { 0.0 } else { lost },
    );
    let y = if x.abs() < with_high(0x3ca0_0000) { x } else { y };
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x < -1.0 { f64::NAN } else { y };
    (if x == -1.0 { f64::NEG_INFINITY } else { y }, true)
}

/// Numbers of a smaller magnitude have no multiple of `pi/2` subtracted. It is nearly `pi/4`.
const EIGHTH: f64 = with_high(0x3fe9_21fc);

/// Splits `x = n pi/2 + a + b`, with `a` and `b` at most `pi/4` together. Returns the number whose low bits are those of
/// `n`, `a` and `b`, and true if these are what `libm` has.
#[inline(always)]
fn quarter_turns(x: f64) -> (f64, f64, f64, bool) {
    const PIO2_HI: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
    const PIO2_LO: f64 = f64::from_bits(0x3dd0_b461_1a62_6331);
    /// From this magnitude on, multiples of [`PIO2_HI`] are not exact.
    const LARGE: f64 = with_high(0x4139_21fb);
    let turns = x * std::f64::consts::FRAC_2_PI;
    let shifted = turns + MAGIC;
    let n = shifted - MAGIC;
    let (r, w) = (x - n * PIO2_HI, n * PIO2_LO);
    let a = r - w;
    let b = (r - a) - w;
    // Near multiples of pi/2, `libm` subtracts more digits. Between two of them, it may take the other one.
    let is_right = (x.abs() < LARGE) & (a.abs() * 65_536.0 > x.abs()) & ((turns - n).abs() < 0.499_99);
    let is_small = x.abs() < EIGHTH;
    (
        if is_small { MAGIC } else { shifted },
        if is_small { x } else { a },
        if is_small { 0.0 } else { b },
        is_small | is_right,
    )
}

/// Returns the sine and the cosine.
#[inline(always)]
fn fast_sin_cos(x: f64) -> [Result; 2] {
    const S: [f64; 6] = [
        f64::from_bits(0xbfc5_5555_5555_5549),
        f64::from_bits(0x3f81_1111_1110_f8a6),
        f64::from_bits(0xbf2a_01a0_19c1_61d5),
        f64::from_bits(0x3ec7_1de3_57b1_fe7d),
        f64::from_bits(0xbe5a_e5e6_8a2b_9ceb),
        f64::from_bits(0x3de5_d93a_5acf_d57c),
    ];
    const C: [f64; 6] = [
        f64::from_bits(0x3fa5_5555_5555_554c),
        f64::from_bits(0xbf56_c16c_16c1_5177),
        f64::from_bits(0x3efa_01a0_19cb_1590),
        f64::from_bits(0xbe92_7e4f_809c_52ad),
        f64::from_bits(0x3e21_ee9e_bdb4_b1c4),
        f64::from_bits(0xbda8_fae9_be88_38d4),
    ];
    /// Numbers of a smaller magnitude are their own sines.
    const TINY: f64 = with_high(0x3e50_0000);

    let (n, a, b, is_right) = quarter_turns(x);
    let z = a * a;
    let w = z * z;
    let v = z * a;
    let r = S[1] + z * (S[2] + z * S[3]) + z * w * (S[4] + z * S[5]);
    let sine = a - ((z * (0.5 * b - v * r) - b) - v * S[0]);
    let sine = if x.abs() < EIGHTH { a + v * (S[0] + z * r) } else { sine };
    let sine = if x.abs() < TINY { x } else { sine };
    let r = z * (C[0] + z * (C[1] + z * C[2])) + w * w * (C[3] + z * (C[4] + z * C[5]));
    let half = 0.5 * z;
    let one = 1.0 - half;
    let cosine = one + (((1.0 - one) - half) + (z * r - a * b));

    let [first, second] = [n.to_bits(), n.to_bits().wrapping_add(1)];
    [(turned(first, sine, cosine), is_right), (turned(second, sine, cosine), is_right)]
}

/// Returns the sine of a number with `n` quarter turns more, given its sine and its cosine.
#[inline(always)]
fn turned(n: u64, sine: f64, cosine: f64) -> f64 {
    let value = if n & 1 == 0 { sine } else { cosine };
    f64::from_bits(value.to_bits() ^ (n & 2) << 62)
}

#[inline(always)]
fn fast_sin(x: f64) -> Result {
    fast_sin_cos(x)[0]
}

#[inline(always)]
fn fast_cos(x: f64) -> Result {
    fast_sin_cos(x)[1]
}

/// Defines functions that return the results of `fast`, or of `exact` where those are not right. A function that
/// is passed to another one would not be compiled in line, and so not with the instructions of the caller.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $fast:ident, $exact:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<const N: usize>(x: [f64; N]) -> [f64; N] {
            let (mut results, mut are_right) = ([0.0; N], true);
            for i in 0..N {
                let (result, is_right) = $fast(x[i]);
                results[i] = result;
                are_right &= is_right;
            }
            // With a list of those that are right, compilers would make no vectors.
            if !are_right {
                for i in 0..N {
                    if !$fast(x[i]).1 {
                        results[i] = scalar::$exact(x[i]);
                    }
                }
            }
            results
        }
    )*};
}

functions! {
    /// Returns [`exp_f64`](crate::exp_f64) of each number.
    exps = fast_exp, exp_f64;
    /// Returns [`expm1_f64`](crate::expm1_f64) of each number.
    expm1s = fast_expm1, expm1_f64;
    /// Returns [`log_f64`](crate::log_f64) of each number.
    logs = fast_log, log_f64;
    /// Returns [`log1p_f64`](crate::log1p_f64) of each number.
    log1ps = fast_log1p, log1p_f64;
    /// Returns [`tanh_f64`](crate::tanh_f64) of each number.
    tanhs = fast_tanh, tanh_f64;
    /// Returns [`logistic_f64`](crate::logistic_f64) of each number.
    logistics = fast_logistic, logistic_f64;
    /// Returns [`sin_f64`](crate::sin_f64) of each number.
    sines = fast_sin, sin_f64;
    /// Returns [`cos_f64`](crate::cos_f64) of each number.
    cosines = fast_cos, cos_f64;
}

/// Returns the sines and the cosines: [`sin_f64`](crate::sin_f64) and [`cos_f64`](crate::cos_f64) of each number.
#[inline(always)]
pub fn sines_and_cosines<const N: usize>(x: [f64; N]) -> [[f64; N]; 2] {
    let ([mut sines, mut cosines], mut are_right) = ([[0.0; N]; 2], true);
    for i in 0..N {
        let [(sine, is_right), (cosine, _)] = fast_sin_cos(x[i]);
        (sines[i], cosines[i]) = (sine, cosine);
        are_right &= is_right;
    }
    if are_right { [sines, cosines] } else { [x.map(scalar::sin_f64), x.map(scalar::cos_f64)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns numbers of all magnitudes and both signs, among them neighbours of all thresholds, multiples of `ln 2 / 2`
    /// and of `pi / 4` with their neighbours, zeros, infinities and NaN.
    fn numbers() -> Vec<f64> {
        let mut numbers =
            vec![0.0, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, f64::MAX, 5e-324, 1e-310, 1.0, 0.5, 2.0];
        let near = |x: f64, numbers: &mut Vec<f64>| {
            let bits = x.to_bits();
            let steps = [0, 1, 2, 3, 1 << 16, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 34];
            numbers.extend(steps.iter().flat_map(|step| [bits + step, bits.saturating_sub(*step)]).map(f64::from_bits));
        };
        let thresholds = [
            0x3fd6_2e43,
            0x3ff0_a2b2,
            0x3e30_0001,
            0x4086_232b,
            0x3c90_0000,
            0x4043_687a,
            0x3fd0_58af,
            0x3fe1_93eb,
            0x4034_0001,
            0x3fe6_a09e,
            0x3fda_827a,
            0x3fd2_bec5,
            0x3ca0_0000,
            0x3fe9_21fc,
            0x4002_d97c,
            0x400f_6a7a,
            0x4015_fdbc,
            0x401c_463b,
            0x4012_d97c,
            0x4019_21fb,
            0x4139_21fb,
            0x3e50_0000,
            0x3e46_a09e,
            0x3ff0_0000,
        ];
        thresholds.into_iter().for_each(|high| near(with_high(high), &mut numbers));
        for x in [709.0, 708.0, 745.133_219_101_941_1, LARGEST_EXPONENT, 1e300, 1e-300, 1e10, 1e5, 1e22] {
            near(x, &mut numbers);
        }
        for k in 0..3000 {
            near(f64::from(k) * std::f64::consts::LN_2 / 2.0, &mut numbers);
            near(f64::from(k) * std::f64::consts::FRAC_PI_4, &mut numbers);
        }
        let mut bits = 1u64;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let fraction = (bits >> 11) as f64 / (1u64 << 53) as f64;
            numbers.extend([f64::from_bits(bits >> 1), fraction, fraction * 8.0, fraction * 60.0, fraction * 720.0]);
            numbers.extend([1.0 + fraction / 64.0, fraction * 1e-3, fraction * 1e-8, fraction * 1e6]);
        }
        numbers.iter().flat_map(|&x| [x, -x]).collect()
    }

    /// Checks a function on each number alone.
    fn check(name: &str, function: fn([f64; 1]) -> [f64; 1], one: fn(f64) -> f64) {
        for x in numbers() {
            let ([own], exact) = (function([x]), one(x));
            let is_same = own.to_bits() == exact.to_bits() || own.is_nan() && exact.is_nan();
            assert!(is_same, "{name}({x:e} = {:x}) is {exact:e}, and not {own:e}", x.to_bits());
        }
    }

    #[test]
    fn bits_are_those_of_one_number() {
        check("exp", exps, scalar::exp_f64);
        check("expm1", expm1s, scalar::expm1_f64);
        check("log", logs, scalar::log_f64);
        check("log1p", log1ps, scalar::log1p_f64);
        check("tanh", tanhs, scalar::tanh_f64);
        check("logistic", logistics, scalar::logistic_f64);
        check("sin", sines, scalar::sin_f64);
        check("cos", cosines, scalar::cos_f64);
        check("sin of both", |x| sines_and_cosines(x)[0], scalar::sin_f64);
        check("cos of both", |x| sines_and_cosines(x)[1], scalar::cos_f64);
    }

    /// Counts how many usual numbers are left to `libm`, which takes much longer.
    #[test]
    fn usual_numbers_are_not_left_to_libm() {
        let usual: Vec<f64> = (0..20_000).map(|i| (f64::from(i) - 10_000.0) / 997.0).collect();
        let rights = |fast: fn(f64) -> Result, usual: &[f64]| usual.iter().filter(|&&x| fast(x).1).count();
        for fast in [fast_exp, fast_expm1, fast_tanh, fast_logistic] {
            assert_eq!(rights(fast, &usual), usual.len());
        }
        let positive: Vec<f64> = usual.iter().map(|x| x.abs() + 1e-9).collect();
        assert_eq!(rights(fast_log, &positive), usual.len());
        assert_eq!(rights(fast_log1p, &positive), usual.len());
        assert!(rights(fast_sin, &usual) > usual.len() * 999 / 1000);
    }
}
