//! The formulas of the vectorised `f32` functions, over [`Lanes`].
//!
//! Most are polynomials, or quotients of them, many after an argument reduction. None uses tables. Bounds of their
//! errors in ulps are in the tests of `scalar`. NaN, infinities, zeros' signs and subnormal results are as IEEE 754
//! and C define them.

use crate::lanes::{Lanes, power_of_two};

const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// The first of the two parts whose sum is nearly `ln 2`. It has 15 bits, so its small multiples are exact.
const LN2_HI: f32 = 0.693_145_75;
const LN2_LO: f32 = 1.428_606_8e-6;
/// Adding this to a number of at most 2^22 in magnitude rounds the number to an integer, which the low bits of the sum
/// then hold.
const MAGIC: f32 = 12_582_912.0;
const SIGN: u32 = 0x8000_0000;
/// If `x` is smaller than this in magnitude, `x` is the correctly rounded `expm1(x)`, `log1p(x)` and `sin(x)`.
const TINY: f32 = 2.980_232_2e-8;

#[inline(always)]
fn horner<V: Lanes>(x: V, coefficients: &[f32]) -> V {
    let mut sum = V::splat(coefficients[0]);
    for &c in &coefficients[1..] {
        sum = sum.fma(x, V::splat(c));
    }
    sum
}

#[inline(always)]
fn absolute<V: Lanes>(x: V) -> V {
    x.bit_and(V::splat_bits(!SIGN))
}

#[inline(always)]
fn with_sign_of<V: Lanes>(magnitude: V, x: V) -> V {
    magnitude.bit_or(x.bit_and(V::splat_bits(SIGN)))
}

/// Splits `x = n ln 2 + r`, where `n` is the nearest integer to `x / ln 2`. Returns the float `n` and `e^r - 1`.
#[inline(always)]
fn reduced_exp<V: Lanes>(x: V) -> (V, V) {
    let magic = V::splat(MAGIC);
    let n = x.fma(V::splat(LOG2_E), magic).sub(magic);
    let r = n.fma(V::splat(-LN2_LO), n.fma(V::splat(-LN2_HI), x));
    let q = horner(r, &[1.392_618_2e-3, 8.363_178e-3, 4.166_655_6e-2, 0.166_665_76, 0.5]);
    (n, r.mul(r).fma(q, r))
}

/// Returns `e^x`.
#[inline(always)]
pub fn exp<V: Lanes>(x: V) -> V {
    let x = V::splat(89.0).lesser(V::splat(-104.0).greater(x));
    let (n, p) = reduced_exp(x);
    p.add(V::splat(1.0)).scale(n)
}

/// Returns `e^x - 1`, without loss of digits near zero.
#[inline(always)]
pub fn expm1<V: Lanes>(x: V) -> V {
    let (n, p) = reduced_exp(V::splat(89.0).lesser(V::splat(-20.0).greater(x)));
    let magic = V::splat(MAGIC);
    let half_power = power_of_two(n.add(magic).int_sub(magic.int_add(V::splat_bits(1))));
    let half = half_power.fma(p, half_power.sub(V::splat(0.5)));
    V::choose(absolute(x).lt(V::splat(TINY)), x, half.add(half))
}

/// Returns the hyperbolic tangent.
#[inline(always)]
pub fn tanh<V: Lanes>(x: V) -> V {
    let magnitude = V::splat(10.0).lesser(absolute(x));
    let (n, p) = reduced_exp(magnitude.add(magnitude));
    let magic = V::splat(MAGIC);
    let power = power_of_two(n.add(magic).int_sub(magic));
    let e = power.fma(p, power.sub(V::splat(1.0)));
    with_sign_of(e.div(e.add(V::splat(2.0))), x)
}

/// Returns `1 / (1 + e^-x)`.
#[inline(always)]
pub fn logistic<V: Lanes>(x: V) -> V {
    let e = exp(x.bit_or(V::splat_bits(SIGN)));
    let one = V::splat(1.0);
    V::choose(x.lt(V::splat(0.0)), e, one).div(e.add(one))
}

/// Splits a normal positive `x = 2^k m`, with `m` in `[sqrt 1/2, sqrt 2)`. Returns the integer word `k` and the float
/// `m`.
#[inline(always)]
fn split<V: Lanes>(x: V) -> (V, V) {
    let root_half = V::splat_bits(0x3f35_04f3);
    let word = x.int_sub(root_half);
    let m = word.bit_and(V::splat_bits(0x007f_ffff)).int_add(root_half);
    (word.int_sar::<23>(), m)
}

/// Returns `k ln 2 + ln(1 + f)` for a float `k` and `1 + f` in `[sqrt 1/2, sqrt 2)`.
#[inline(always)]
fn log_of_split<V: Lanes>(k: V, f: V) -> V {
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_98,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_58,
        0.200_007_15,
        -0.249_999_94,
        0.333_333_3,
    ];
    let square = f.mul(f);
    let y = horner(f, &P).mul(f).mul(square);
    let y = square.fma(V::splat(-0.5), k.fma(V::splat(LN2_LO), y));
    k.fma(V::splat(LN2_HI), f.add(y))
}

/// Returns the logarithm of `u`, which is `y` where `u` is finite and positive.
#[inline(always)]
fn log_domain<V: Lanes>(u: V, y: V) -> V {
    let zero = V::splat(0.0);
    let y = V::choose(zero.lt(u), y, V::splat(f32::NAN));
    let y = V::choose(u.eq(zero), V::splat(f32::NEG_INFINITY), y);
    V::choose(u.eq(V::splat(f32::INFINITY)), u, y)
}

/// Returns the natural logarithm; -∞ at zero and NaN below.
#[inline(always)]
pub fn log<V: Lanes>(x: V) -> V {
    let subnormal = x.lt(V::splat(f32::MIN_POSITIVE));
    let normal = V::choose(subnormal, x.mul(V::splat(8_388_608.0)), x);
    let shift = V::choose(subnormal, V::splat(-23.0), V::splat(0.0));
    let (k, m) = split(normal);
    let y = log_of_split(k.int_to_float().add(shift), m.sub(V::splat(1.0)));
    log_domain(x, y)
}

/// Returns `ln(1 + x)`, without loss of digits near zero; -∞ at -1 and NaN below.
#[inline(always)]
pub fn log1p<V: Lanes>(x: V) -> V {
    let one = V::splat(1.0);
    let u = one.add(x);
    let rounded_x = u.sub(one);
    let lost = one.sub(u.sub(rounded_x)).add(x.sub(rounded_x));
    let (k, m) = split(u);
    let inverse_power = V::splat_bits(127).int_sub(k).int_shl::<23>();
    let above = m.sub(one);
    let f = V::choose(x.lt(V::splat(33_554_432.0)), lost.fma(inverse_power, above), above);
    let y = log_domain(u, log_of_split(k.int_to_float(), f));
    V::choose(absolute(x).lt(V::splat(TINY)), x, y)
}

/// Returns the error function.
#[inline(always)]
pub fn erf<V: Lanes>(x: V) -> V {
    const P: [f32; 5] = [2.290_506_6e-4, 3.408_291e-3, 5.095_569_5e-2, 0.185_208_32, std::f32::consts::FRAC_2_SQRT_PI];
    const Q: [f32; 7] =
        [-1.179_160_3e-7, 2.354_796_7e-5, 1.017_962_5e-3, 1.407_047e-2, 0.110_985_05, 0.497_469_25, 1.0];
    /// From this magnitude on, the result is 1, or differs from 1 by two units in the last place.
    const ONE_FROM: f32 = 3.743_921;
    let is_one = V::splat(ONE_FROM).lt(absolute(x));
    let one = with_sign_of(V::splat(1.0), x);
    let square = x.mul(x);
    V::choose(is_one, one, x.mul(horner(square, &P)).div(horner(square, &Q)))
}

/// Returns `1 - erf(x)`, without loss of digits where it is near zero: it is `e^(-x^2)` times a polynomial of
/// `1.5 / (1.5 + |x|)`, fitted to a relative error of 2e-8, for the magnitude of all but small numbers.
#[inline(always)]
pub fn erfc<V: Lanes>(x: V) -> V {
    const P: [f32; 10] = [
        0.112_850_256,
        -0.598_180_65,
        1.274_18,
        -1.271_187_1,
        0.436_517_7,
        -0.024_336_578,
        0.321_065_63,
        0.372_745_25,
        0.376_352_5,
        -6.491_071e-6,
    ];
    const SMALL: f32 = 0.25;
    /// From this magnitude on, `1 - erf(x)` rounds to zero.
    const ZERO_FROM: f32 = 10.25;
    let magnitude = V::splat(ZERO_FROM).lesser(absolute(x));
    let square = magnitude.mul(magnitude).bit_xor(V::splat_bits(SIGN));
    // The part of the square that rounding loses.
    let lost = magnitude.fma(magnitude, square);
    let power = exp(square);
    let power = lost.bit_xor(V::splat_bits(SIGN)).fma(power, power);
    let t = V::splat(1.5).div(magnitude.add(V::splat(1.5)));
    let tail = power.mul(horner(t, &P));
    let tail = V::choose(x.lt(V::splat(0.0)), V::splat(2.0).sub(tail), tail);
    V::choose(magnitude.lt(V::splat(SMALL)), V::splat(1.0).sub(erf(x)), tail)
}

/// Returns the inverse of the error function (Giles' approximation): infinite at -1 and 1, and NaN beyond.
#[inline(always)]
pub fn erf_inv<V: Lanes>(x: V) -> V {
    const CENTRE: [f32; 9] = [
        2.810_226_4e-8,
        3.432_739_4e-7,
        -3.523_387_7e-6,
        -4.391_506_5e-6,
        2.185_808_7e-4,
        -1.253_725e-3,
        -4.177_681_6e-3,
        0.246_640_73,
        1.501_409_4,
    ];
    const TAIL: [f32; 9] = [
        -2.002_142_6e-4,
        1.009_505_6e-4,
        1.349_343_2e-3,
        -3.673_428_4e-3,
        5.739_507_7e-3,
        -7.622_461_3e-3,
        9.438_870_5e-3,
        1.001_674,
        2.832_976_8,
    ];
    let one = V::splat(1.0);
    let w = log(one.sub(x).mul(one.add(x))).bit_xor(V::splat_bits(SIGN));
    let centre = w.lt(V::splat(5.0));
    let w = V::choose(centre, w.sub(V::splat(2.5)), w.sqrt().sub(V::splat(3.0)));
    let pick = |i: usize| V::choose(centre, V::splat(CENTRE[i]), V::splat(TAIL[i]));
    let mut p = pick(0);
    for i in 1..9 {
        p = p.fma(w, pick(i));
    }
    let infinite = x.mul(V::splat(f32::INFINITY));
    V::choose(absolute(x).eq(one), infinite, x.mul(p))
}

/// The largest magnitude for which the argument of a sine or cosine is reduced by a pi/2 in three parts. Beyond it,
/// this would lose bits, so such lanes are computed in `f64` one by one.
const REDUCTION_LIMIT: f32 = 65_536.0;

/// Splits `x = j pi/2 + r`. Returns a word with the low bits of `j`, and the float `r`.
#[inline(always)]
fn quarter_turns<V: Lanes>(x: V) -> (V, V) {
    let magic = V::splat(MAGIC);
    let t = x.fma(V::splat(std::f32::consts::FRAC_2_PI), magic);
    let j = t.sub(magic);
    let r = j.fma(V::splat(-1.570_796_4), x);
    let r = j.fma(V::splat(4.371_139e-8), r);
    (t, j.fma(V::splat(1.715_124_5e-15), r))
}

/// Returns `sin(x + quarters * pi/2)` for an `x` of at most [`REDUCTION_LIMIT`] in magnitude.
#[inline(always)]
fn turned_sine<V: Lanes>(x: V, quarters: u32) -> V {
    let (t, r) = quarter_turns(x);
    let j = t.int_add(V::splat_bits(quarters));
    let square = r.mul(r);
    let s = horner(square, &[-1.951_529_6e-4, 8.332_161e-3, -0.166_666_55]);
    let sine = square.mul(r).fma(s, r);
    let c = horner(square, &[2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2, -0.5]);
    let cosine = square.fma(c, V::splat(1.0));
    let odd = j.bit_and(V::splat_bits(1)).int_to_float();
    let value = V::choose(odd.eq(V::splat(0.0)), sine, cosine);
    value.bit_xor(j.bit_and(V::splat_bits(2)).int_shl::<30>())
}

/// Returns the sine; NaN at infinities.
#[inline(always)]
pub fn sin<V: Lanes>(x: V) -> V {
    let y = V::choose(absolute(x).lt(V::splat(TINY)), x, turned_sine(x, 0));
    y.patch(V::splat(REDUCTION_LIMIT).lt(absolute(x)), x, |x| libm::sin(f64::from(x)) as f32)
}

/// Returns the cosine; NaN at infinities.
#[inline(always)]
pub fn cos<V: Lanes>(x: V) -> V {
    let y = turned_sine(x, 1);
    y.patch(V::splat(REDUCTION_LIMIT).lt(absolute(x)), x, |x| libm::cos(f64::from(x)) as f32)
}

/// Returns `1 / sqrt(x)`: the root is rounded, and so is the quotient.
#[inline(always)]
pub fn rsqrt<V: Lanes>(x: V) -> V {
    V::splat(1.0).div(x.sqrt())
}
