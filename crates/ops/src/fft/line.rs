//! Transforms of lines of complex numbers, in 64 bits.
//!
//! A length is the product of factors of at most [`LARGEST_FACTOR`]. Each factor is one pass over the lines, which
//! writes them in the order in which the next pass reads them (Stockham's algorithm). A length with a larger prime
//! factor is computed as a convolution, whose length has small factors only (Bluestein's algorithm). So every length
//! takes `O(n log n)` operations.
//!
//! Several lines are transformed together. They are *interleaved*: element `j` of line `l` of `width` lines is at
//! `j * width + l`. The result for a line does not depend on the number of lines.

use shardwise_base::budget::Meter;
use shardwise_base::{Complex64, Data};
use shardwise_mathfn as fns;
use std::array;

/// The largest prime factor of a length that is transformed without a convolution.
const LARGEST_FACTOR: usize = 31;

/// The largest number of elements of a row that are computed before they are reported to the meter.
const UNPOLLED: usize = 1 << 13;

/// Two arrays between which the passes of a transform go back and forth.
pub type Lines<'a> = [&'a mut [Complex64]; 2];

/// The tables and the order of passes of the transforms of one length, which do not depend on the elements.
pub struct Plan {
    n: usize,
    /// `exp(-2 pi i k / n)` for each `k` less than `n`. Empty for a convolution.
    roots: Data<Complex64>,
    /// The factors of `n`, in the order of the passes. Empty for a convolution, and if `n` is 1.
    factors: Vec<usize>,
    chirp: Option<Chirp>,
}

/// A transform of length `n` as a convolution: `2 j k = j^2 + k^2 - (k - j)^2`.
struct Chirp {
    /// `exp(-pi i k^2 / n)` for each `k` less than `n`.
    factors: Data<Complex64>,
    /// The transform of a periodic array of the convolution's length, divided by that length. The array has the
    /// conjugate of `factors[k]` at `k` and at `-k`, and zeros elsewhere.
    spectrum: Data<Complex64>,
    convolution: Box<Plan>,
}

impl Plan {
    /// Returns the plan for lines of `n` elements, of which there must be at least one.
    pub fn new(n: usize) -> Plan {
        match factors(n) {
            Some(factors) => Plan { n, roots: roots(n), factors, chirp: None },
            None => {
                Plan { n, roots: Data::from_fn(0, |_| Complex64::ZERO), factors: vec![], chirp: Some(Chirp::new(n)) }
            }
        }
    }

    /// Transforms `width` interleaved lines, at least one, which are at the start of the first array. Both arrays must
    /// have `width` times [`room`] elements. Returns both, first the one that has the results at its start. Their other
    /// elements are arbitrary. The transform is the forward one, without a scale.
    pub fn run<'a>(&self, width: usize, lines: Lines<'a>, meter: &mut Meter) -> Lines<'a> {
        if let Some(chirp) = &self.chirp {
            return chirp.run(width, lines, meter);
        }
        let [mut from, mut to] = lines;
        let (mut n, mut s) = (self.n, width);
        for &radix in &self.factors {
            let pass = Pass { m: n / radix, s, roots: &self.roots, stride: self.n / n };
            match radix {
                2 => pass.run(from, to, meter, butterfly_2),
                3 => pass.run(from, to, meter, butterfly_3),
                4 => pass.run(from, to, meter, butterfly_4),
                5 => pass.run(from, to, meter, butterfly_5),
                _ => pass.run_any(radix, from, to, meter),
            }
            (n, s) = (n / radix, s * radix);
            (from, to) = (to, from);
        }
        [from, to]
    }
}

/// Returns the number of elements of an array in which [`Plan::run`] transforms a line of `n` elements.
pub fn room(n: usize) -> usize {
    if factors(n).is_some() { n } else { convolution_length(n) }
}

/// Returns an upper bound of the complex numbers that are in memory at one time while the plan for lines of `n`
/// elements is made.
pub fn table_len(n: usize) -> usize {
    let m = room(n);
    if m == n { n } else { 3 * n + 4 * m }
}

/// Returns factors with the product `n`, which must not be 0: as many fours as possible, then 2 or nothing, then odd
/// primes in ascending order. Returns `None` if a prime factor is larger than [`LARGEST_FACTOR`].
fn factors(mut n: usize) -> Option<Vec<usize>> {
    let mut factors = vec![];
    for factor in [4, 2, 3].into_iter().chain((5..=LARGEST_FACTOR).step_by(2)) {
        while n.is_multiple_of(factor) {
            factors.push(factor);
            n /= factor;
        }
    }
    (n == 1).then_some(factors)
}

/// Returns the length of a convolution that computes lines of `n` elements: the least number from `2 * n - 1` on that
/// is a power of two, or 3 or 5 times a power of two.
fn convolution_length(n: usize) -> usize {
    let least = 2 * n - 1;
    let above = |odd: usize| odd * least.div_ceil(odd).next_power_of_two();
    [1, 3, 5].map(above).into_iter().min().expect("there are three")
}

/// Returns `exp(-2 pi i k / n)` for each `k` less than `n`.
fn roots(n: usize) -> Data<Complex64> {
    let mut roots: Data<Complex64> = Data::zeroed(n);
    let mut meter = Meter::default();
    for k in 0..n {
        roots[k] = if 2 * k > n {
            roots[n - k].conj()
        } else if n.is_multiple_of(4) && 4 * k >= n {
            turned(roots[k - n / 4])
        } else if n.is_multiple_of(8) && 8 * k > n {
            let z = roots[n / 4 - k];
            Complex64::new(-z.im, -z.re)
        } else {
            root(k, n)
        };
        meter.add(1);
    }
    roots
}

/// Computes `exp(-2 pi i k / n)`.
fn root(k: usize, n: usize) -> Complex64 {
    // The angle is the nearest quarter turn, which is exact, and at most an eighth of a turn from there.
    let quarter = (8 * k + n) / (2 * n);
    let angle = std::f64::consts::FRAC_PI_2 * ((4 * k) as f64 - (quarter * n) as f64) / n as f64;
    let (cos, sin) = (fns::cos_f64(angle), fns::sin_f64(angle));
    let (re, im) = [(cos, sin), (-sin, cos), (-cos, -sin), (sin, -cos)][quarter % 4];
    Complex64::new(re, -im)
}

/// Returns the product of `z` and `-i`.
fn turned(z: Complex64) -> Complex64 {
    Complex64::new(z.im, -z.re)
}

/// Exchanges the real and the imaginary part of a number. The forward transform of exchanged numbers is the exchanged
/// inverse transform, without its scale.
pub fn exchanged(z: Complex64) -> Complex64 {
    Complex64::new(z.im, z.re)
}

/// One pass over rows of `s` elements, as many as `m` times the radix. Each column of these rows is to be transformed.
struct Pass<'p> {
    m: usize,
    s: usize,
    roots: &'p [Complex64],
    /// The distance in `roots` between neighbouring roots for transforms of a column's length.
    stride: usize,
}

impl Pass<'_> {
    fn run<const R: usize>(
        &self,
        x: &[Complex64],
        y: &mut [Complex64],
        meter: &mut Meter,
        butterfly: impl Fn([Complex64; R]) -> [Complex64; R],
    ) {
        let (m, s) = (self.m, self.s);
        for (p, y) in y.chunks_exact_mut(R * s).take(m).enumerate() {
            let twiddles: [Complex64; R] = array::from_fn(|k| self.roots[p * k * self.stride]);
            for at in (0..s).step_by(UNPOLLED) {
                let len = UNPOLLED.min(s - at);
                let from: [&[Complex64]; R] = array::from_fn(|j| &x[(p + j * m) * s + at..][..len]);
                let mut rows = y.chunks_exact_mut(s);
                let mut to: [&mut [Complex64]; R] =
                    array::from_fn(|_| &mut rows.next().expect("there are as many as the radix")[at..][..len]);
                for q in 0..len {
                    let z = butterfly(array::from_fn(|j| from[j][q]));
                    to[0][q] = z[0];
                    for ((to, &z), twiddle) in to[1..].iter_mut().zip(&z[1..]).zip(&twiddles[1..]) {
                        // Products with 1 would only make NaN of infinity.
                        to[q] = if p == 0 { z } else { z * twiddle };
                    }
                }
                meter.add((R * len) as u64);
            }
        }
    }

    /// Runs a pass of any radix by the definition.
    fn run_any(&self, radix: usize, x: &[Complex64], y: &mut [Complex64], meter: &mut Meter) {
        let (m, s) = (self.m, self.s);
        for (row, y) in y.chunks_exact_mut(s).take(radix * m).enumerate() {
            let (p, k) = (row / radix, row % radix);
            for (at, y) in (0..s).step_by(UNPOLLED).zip(y.chunks_mut(UNPOLLED)) {
                y.copy_from_slice(&x[p * s + at..][..y.len()]);
                let first = self.roots[p * k * self.stride];
                if p * k > 0 {
                    y.iter_mut().for_each(|z| *z *= first);
                }
                for j in 1..radix {
                    let root = self.roots[k * (p + j * m) % (radix * m) * self.stride];
                    y.iter_mut().zip(&x[(p + j * m) * s + at..]).for_each(|(sum, z)| *sum += z * root);
                }
                meter.add((radix * y.len()) as u64);
            }
        }
    }
}

fn butterfly_2([a, b]: [Complex64; 2]) -> [Complex64; 2] {
    [a + b, a - b]
}

fn butterfly_3([a, b, c]: [Complex64; 3]) -> [Complex64; 3] {
    const SIN: f64 = 0.866_025_403_784_438_6;
    let (sum, difference) = (b + c, turned(b - c) * SIN);
    let rest = a - sum * 0.5;
    [a + sum, rest + difference, rest - difference]
}

fn butterfly_4([a, b, c, d]: [Complex64; 4]) -> [Complex64; 4] {
    let (even, odd) = ([a + c, a - c], [b + d, turned(b - d)]);
    [even[0] + odd[0], even[1] + odd[1], even[0] - odd[0], even[1] - odd[1]]
}

fn butterfly_5([a, b, c, d, e]: [Complex64; 5]) -> [Complex64; 5] {
    const COS: [f64; 2] = [0.309_016_994_374_947_45, -0.809_016_994_374_947_5];
    const SIN: [f64; 2] = [0.951_056_516_295_153_5, 0.587_785_252_292_473_1];
    let (sums, differences) = ([b + e, c + d], [turned(b - e), turned(c - d)]);
    let first = a + sums[0] * COS[0] + sums[1] * COS[1];
    let second = a + sums[0] * COS[1] + sums[1] * COS[0];
    let turned_first = differences[0] * SIN[0] + differences[1] * SIN[1];
    let turned_second = differences[0] * SIN[1] - differences[1] * SIN[0];
    [
        a + (sums[0] + sums[1]),
        first + turned_first,
        second + turned_second,
        second - turned_second,
        first - turned_first,
    ]
}

impl Chirp {
    fn new(n: usize) -> Chirp {
        let m = convolution_length(n);
        let convolution = Box::new(Plan::new(m));
        let all = roots(2 * n);
        let factors = Data::from_fn(n, |k| all[k * k % (2 * n)]);
        drop(all);
        let (mut x, mut y) = (Data::zeroed(m), Data::zeroed(m));
        for (k, z) in factors.iter().enumerate() {
            x[k] = z.conj();
            x[(m - k) % m] = z.conj();
        }
        let [spectrum, _] = convolution.run(1, [&mut x, &mut y], &mut Meter::default());
        let spectrum = Data::collect(m, spectrum.iter().map(|z| z / m as f64));
        Chirp { factors, spectrum, convolution }
    }

    fn run<'a>(&self, width: usize, [x, y]: Lines<'a>, meter: &mut Meter) -> Lines<'a> {
        let n = self.factors.len();
        scale_rows(x, width, &self.factors, |z, factor| z * factor);
        x[n * width..].fill(Complex64::ZERO);
        let [x, y] = self.convolution.run(width, [x, y], meter);
        scale_rows(x, width, &self.spectrum, |z, factor| exchanged(z * factor));
        let [x, y] = self.convolution.run(width, [x, y], meter);
        scale_rows(x, width, &self.factors, |z, factor| exchanged(z) * factor);
        [x, y]
    }
}

/// Replaces each element of row `j`, which has `width` elements, by a function of it and of factor `j`.
fn scale_rows(x: &mut [Complex64], width: usize, factors: &[Complex64], f: impl Fn(Complex64, Complex64) -> Complex64) {
    for (row, &factor) in x.chunks_exact_mut(width).zip(factors) {
        row.iter_mut().for_each(|z| *z = f(*z, factor));
    }
}
