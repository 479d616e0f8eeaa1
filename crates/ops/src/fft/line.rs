//! Transforms of lines of complex numbers, in 64 bits.
//!
//! Lines are transformed by one pass for each factor of their length, if no prime factor is larger than
//! [`LARGEST_FACTOR`]. A pass writes the lines in the order in which the next pass reads them (Stockham's algorithm). A
//! transform whose length has a larger prime factor is computed as a convolution, whose length has small factors only
//! (Bluestein's algorithm). So every length takes `O(n log n)` operations.
//!
//! Several lines are transformed together. They are *interleaved*: element `j` of line `l` of `width` lines is at
//! `j * width + l`, with all real parts in one array and all imaginary parts in another. The result for a line does not
//! depend on the number of lines.
//!
//! All functions that run for each element are inlined, so that a caller can compile them with the instructions of its
//! machine. The results do not depend on these instructions, but for the bits of NaN.

use shardwise_base::budget::Meter;
use shardwise_base::{Complex64, Data};
use shardwise_mathfn as fns;
use std::array;

/// The largest prime factor of a length that is transformed without a convolution.
const LARGEST_FACTOR: usize = 31;

/// The largest number of elements of a row that are computed before they are reported to the meter.
const UNPOLLED: usize = 1 << 13;

/// The parts of complex numbers, in two arrays of the same length.
pub struct Parts<'a> {
    pub re: &'a mut [f64],
    pub im: &'a mut [f64],
}

/// Two arrays of numbers between which the passes of a transform go back and forth.
pub type Lines<'a> = [Parts<'a>; 2];

impl<'a> Parts<'a> {
    /// Exchanges the real and the imaginary part of each number. The forward transform of exchanged numbers is the
    /// exchanged inverse transform, without its scale.
    pub fn exchanged(self) -> Parts<'a> {
        Parts { re: self.im, im: self.re }
    }
}

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
    #[inline(always)]
    pub fn run<'a>(&self, width: usize, lines: Lines<'a>, meter: &mut Meter) -> Lines<'a> {
        match &self.chirp {
            Some(chirp) => chirp.run(width, lines, meter),
            None => self.run_passes(width, lines, meter),
        }
    }

    /// Runs the passes of a length that is no convolution.
    #[inline(always)]
    fn run_passes<'a>(&self, width: usize, lines: Lines<'a>, meter: &mut Meter) -> Lines<'a> {
        let [mut from, mut to] = lines;
        let (mut n, mut s) = (self.n, width);
        for &radix in &self.factors {
            let pass = Pass { m: n / radix, s, roots: &self.roots, stride: self.n / n };
            match radix {
                2 => pass.run_2(&from, &mut to, meter),
                3 => pass.run_3(&from, &mut to, meter),
                4 => pass.run_4(&from, &mut to, meter),
                5 => pass.run_5(&from, &mut to, meter),
                _ => pass.run_any(radix, &from, &mut to, meter),
            }
            (n, s) = (n / radix, s * radix);
            (from, to) = (to, from);
        }
        [from, to]
    }
}

/// Returns the number of elements that [`Plan::run`] needs in each of its arrays for a line of `n` elements. `n` must
/// not be 0.
pub fn room(n: usize) -> usize {
    if factors(n).is_some() { n } else { convolution_length(n) }
}

/// Returns an upper bound of the complex numbers that are in memory at one time while the plan for lines of `n`
/// elements is made. `n` must not be 0.
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

/// One pass over rows of `s` elements, as many as `m` times the radix. Each column of these rows is to be transformed.
struct Pass<'p> {
    m: usize,
    s: usize,
    roots: &'p [Complex64],
    /// The distance in `roots` between neighbouring roots for transforms of a column's length.
    stride: usize,
}

/// Defines a method of [`Pass`] that runs a pass of one radix. The words after the radix name, for each row, its number
/// and the slices of its real and imaginary parts that are read and written.
macro_rules! pass {
    ($name:ident $columns:ident $butterfly:ident $radix:literal:
     $($k:tt $x_re:ident $x_im:ident $y_re:ident $y_im:ident),*) => {
        /// Transforms columns of a group of rows. Each row is a parameter of its own, so that the compiler knows that
        /// no row overlaps another one, and makes vectors of columns.
        #[expect(clippy::too_many_arguments, reason = "for the compiler, rows in one array may overlap")]
        #[inline(always)]
        fn $columns(
            twiddles: Option<[Complex64; $radix]>,
            $($x_re: &[f64], $x_im: &[f64], $y_re: &mut [f64], $y_im: &mut [f64]),*
        ) {
            let len = [$($x_re.len()),*][0];
            $(
                let ($x_re, $x_im) = (&$x_re[..len], &$x_im[..len]);
                let ($y_re, $y_im) = (&mut $y_re[..len], &mut $y_im[..len]);
            )*
            for q in 0..len {
                let z = $butterfly([$(Complex64::new($x_re[q], $x_im[q])),*]);
                $(
                    // Products with 1 would only make NaN of infinity.
                    let own = match twiddles {
                        Some(twiddles) if $k > 0 => z[$k] * twiddles[$k],
                        _ => z[$k],
                    };
                    ($y_re[q], $y_im[q]) = (own.re, own.im);
                )*
            }
        }

        impl Pass<'_> {
            #[inline(always)]
            fn $name(&self, x: &Parts<'_>, y: &mut Parts<'_>, meter: &mut Meter) {
                let (m, s) = (self.m, self.s);
                let results = y.re.chunks_exact_mut($radix * s).zip(y.im.chunks_exact_mut($radix * s));
                for (p, (re, im)) in results.take(m).enumerate() {
                    let twiddles = (p > 0).then(|| array::from_fn(|k| self.roots[p * k * self.stride]));
                    for at in (0..s).step_by(UNPOLLED) {
                        let len = UNPOLLED.min(s - at);
                        let (mut re, mut im) = (re.chunks_exact_mut(s), im.chunks_exact_mut(s));
                        $(
                            let row = (p + $k * m) * s + at;
                            let ($x_re, $x_im) = (&x.re[row..][..len], &x.im[row..][..len]);
                            let $y_re = &mut re.next().expect("a row")[at..][..len];
                            let $y_im = &mut im.next().expect("a row")[at..][..len];
                        )*
                        $columns(twiddles, $($x_re, $x_im, $y_re, $y_im),*);
                        meter.add(($radix * len) as u64);
                    }
                }
            }
        }
    };
}

pass!(run_2 columns_2 butterfly_2 2: 0 a_re a_im p_re p_im, 1 b_re b_im q_re q_im);
pass!(run_3 columns_3 butterfly_3 3: 0 a_re a_im p_re p_im, 1 b_re b_im q_re q_im, 2 c_re c_im r_re r_im);
pass!(run_4 columns_4 butterfly_4 4:
    0 a_re a_im p_re p_im, 1 b_re b_im q_re q_im, 2 c_re c_im r_re r_im, 3 d_re d_im s_re s_im);
pass!(run_5 columns_5 butterfly_5 5:
    0 a_re a_im p_re p_im, 1 b_re b_im q_re q_im, 2 c_re c_im r_re r_im, 3 d_re d_im s_re s_im,
    4 e_re e_im t_re t_im);

#[inline(always)]
fn butterfly_2([a, b]: [Complex64; 2]) -> [Complex64; 2] {
    [a + b, a - b]
}

#[inline(always)]
fn butterfly_3([a, b, c]: [Complex64; 3]) -> [Complex64; 3] {
    const SIN: f64 = 0.866_025_403_784_438_6;
    let (sum, difference) = (b + c, turned(b - c) * SIN);
    let rest = a - sum * 0.5;
    [a + sum, rest + difference, rest - difference]
}

#[inline(always)]
fn butterfly_4([a, b, c, d]: [Complex64; 4]) -> [Complex64; 4] {
    let (even, odd) = ([a + c, a - c], [b + d, turned(b - d)]);
    [even[0] + odd[0], even[1] + odd[1], even[0] - odd[0], even[1] - odd[1]]
}

#[inline(always)]
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

impl Pass<'_> {
    /// Runs a pass of any radix. Each result is computed by the definition, as a sum of `radix` products.
    #[inline(always)]
    fn run_any(&self, radix: usize, x: &Parts<'_>, y: &mut Parts<'_>, meter: &mut Meter) {
        let s = self.s;
        let rows = y.re.chunks_exact_mut(s).zip(y.im.chunks_exact_mut(s));
        for (row, (re, im)) in rows.take(radix * self.m).enumerate() {
            let sum = Sum { pass: self, radix, p: row / radix, k: row % radix };
            if s < COLUMNS {
                for at in 0..s {
                    sum.columns::<1>(at, [x.re, x.im], [&mut *re, &mut *im]);
                    meter.add(radix as u64);
                }
                continue;
            }
            for at in (0..s).step_by(COLUMNS) {
                // The last columns may be computed again.
                sum.columns::<COLUMNS>(at.min(s - COLUMNS), [x.re, x.im], [&mut *re, &mut *im]);
                meter.add((radix * COLUMNS) as u64);
            }
        }
    }
}

/// The number of columns whose sums are computed at a time.
const COLUMNS: usize = 8;

/// A row of the results of [`Pass::run_any`].
struct Sum<'s> {
    pass: &'s Pass<'s>,
    radix: usize,
    /// The number of the first row that is summed.
    p: usize,
    /// The number of the result among those of the same rows.
    k: usize,
}

impl Sum<'_> {
    /// Computes the `N` elements of this row from column `at` on. `x` has all rows that the pass reads, and `y` is the
    /// row that is written, both as real and imaginary parts.
    #[inline(always)]
    fn columns<const N: usize>(&self, at: usize, x: [&[f64]; 2], y: [&mut [f64]; 2]) {
        let Sum { pass, radix, p, k } = *self;
        let row = |j: usize| {
            x.map(|x| -> &[f64; N] {
                x[(p + j * pass.m) * pass.s + at..].first_chunk().expect("a row has the columns")
            })
        };
        let [mut re, mut im] = row(0).map(|row| *row);
        if p * k > 0 {
            let root = pass.roots[p * k * pass.stride];
            for l in 0..N {
                let z = Complex64::new(re[l], im[l]) * root;
                (re[l], im[l]) = (z.re, z.im);
            }
        }
        // The index of the root for the next row among the roots for a column's length, `all`.
        let (all, mut number) = (radix * pass.m, p * k);
        for j in 1..radix {
            number += k * pass.m;
            number -= if number >= all { all } else { 0 };
            let (root, [x_re, x_im]) = (pass.roots[number * pass.stride], row(j));
            for l in 0..N {
                re[l] += x_re[l] * root.re - x_im[l] * root.im;
                im[l] += x_re[l] * root.im + x_im[l] * root.re;
            }
        }
        let [to_re, to_im] = y;
        to_re[at..][..N].copy_from_slice(&re);
        to_im[at..][..N].copy_from_slice(&im);
    }
}

/// Multiplies complex numbers, which are given by their parts, by `factor`.
#[inline(always)]
fn scale(re: &mut [f64], im: &mut [f64], factor: Complex64) {
    for (re, im) in re.iter_mut().zip(im) {
        (*re, *im) = (*re * factor.re - *im * factor.im, *re * factor.im + *im * factor.re);
    }
}

impl Chirp {
    fn new(n: usize) -> Chirp {
        let m = convolution_length(n);
        let convolution = Box::new(Plan::new(m));
        let all = roots(2 * n);
        let factors = Data::from_fn(n, |k| all[k * k % (2 * n)]);
        drop(all);
        let mut arrays = [(); 4].map(|()| Data::<f64>::zeroed(m));
        for (k, z) in factors.iter().enumerate() {
            let z = z.conj();
            for at in [k, (m - k) % m] {
                (arrays[0][at], arrays[1][at]) = (z.re, z.im);
            }
        }
        let [a, b, c, d] = &mut arrays;
        let [spectrum, _] =
            convolution.run_passes(1, [Parts { re: a, im: b }, Parts { re: c, im: d }], &mut Meter::default());
        let numbers = spectrum.re.iter().zip(&*spectrum.im).map(|(&re, &im)| Complex64::new(re, im));
        let spectrum = Data::collect(m, numbers.map(|z| z / m as f64));
        Chirp { factors, spectrum, convolution }
    }

    #[inline(always)]
    fn run<'a>(&self, width: usize, [mut x, y]: Lines<'a>, meter: &mut Meter) -> Lines<'a> {
        let n = self.factors.len();
        scale_rows(&mut x, width, &self.factors);
        x.re[n * width..].fill(0.0);
        x.im[n * width..].fill(0.0);
        let [mut x, y] = self.convolution.run_passes(width, [x, y], meter);
        scale_rows(&mut x, width, &self.spectrum);
        let [x, y] = self.convolution.run_passes(width, [x.exchanged(), y], meter);
        let mut x = x.exchanged();
        scale_rows(&mut x, width, &self.factors);
        [x, y]
    }
}

/// Multiplies the elements of row `j`, which has `width` elements, by factor `j`.
#[inline(always)]
fn scale_rows(x: &mut Parts<'_>, width: usize, factors: &[Complex64]) {
    let rows = x.re.chunks_exact_mut(width).zip(x.im.chunks_exact_mut(width));
    for ((re, im), &factor) in rows.zip(factors) {
        scale(re, im, factor);
    }
}
