//! Plane rotations, and matrices of two rows that are made diagonal or triangular by them.

use crate::scalar::{EPS, hypot};
use crate::{Matrix, Scalar};
use shardwise_base::Complex64;

/// The rotation `[c s; -s c]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rotation {
    pub c: f64,
    pub s: f64,
}

impl Rotation {
    /// Returns the rotation that turns `[f, g]` into `[r, 0]`, and `r`. If `f` is 0 and `g` is not, `r` is positive,
    /// else it has the sign of `f`. (`lartg`)
    pub fn onto_first(f: f64, g: f64) -> (Rotation, f64) {
        if g == 0.0 {
            return (Rotation { c: 1.0, s: 0.0 }, f);
        }
        if f == 0.0 {
            return (Rotation { c: 0.0, s: 1f64.copysign(g) }, g.abs());
        }
        let size = hypot(f, g);
        let r = size.copysign(f);
        (Rotation { c: f.abs() / size, s: g / r }, r)
    }

    pub fn inverse(self) -> Rotation {
        Rotation { c: self.c, s: -self.s }
    }

    /// Replaces each pair `[x, y]` of elements by its product with the rotation. (`rot`)
    pub fn apply<T: Scalar>(self, x: &mut [T], y: &mut [T]) {
        for (x, y) in x.iter_mut().zip(y) {
            let (a, b) = (*x, *y);
            *x = a.times(self.c) + b.times(self.s);
            *y = b.times(self.c) - a.times(self.s);
        }
    }

    /// Applies the rotation to columns `i` and `i + 1`.
    pub fn apply_to_columns<T: Scalar>(self, a: &mut Matrix<T>, i: usize) {
        let (x, y) = a.pair(i, i + 1);
        self.apply(x, y);
    }

    /// Returns the pair of numbers, rotated.
    pub fn of(self, x: f64, y: f64) -> [f64; 2] {
        [self.c * x + self.s * y, self.c * y - self.s * x]
    }
}

/// Computes the eigenvalues of `[a b; b c]`. Returns the one of the larger absolute value, the other one, and the
/// rotation whose first row is the unit eigenvector of the former. (`laev2`)
pub(crate) fn symmetric(a: f64, b: f64, c: f64) -> (f64, f64, Rotation) {
    let (sum, difference, twice) = (a + c, a - c, b + b);
    let root = hypot(difference, twice);
    let (large, small) = if a.abs() > c.abs() { (a, c) } else { (c, a) };
    let other = |first: f64| (large / first) * small - (b / first) * b;
    let (first, second, is_negative) = if sum < 0.0 {
        let first = 0.5 * (sum - root);
        (first, other(first), true)
    } else if sum > 0.0 {
        let first = 0.5 * (sum + root);
        (first, other(first), false)
    } else {
        (0.5 * root, -0.5 * root, false)
    };
    let is_falling = difference < 0.0;
    let cosine = if is_falling { difference - root } else { difference + root };
    let (c, s) = if cosine.abs() > twice.abs() {
        let t = -twice / cosine;
        let s = 1.0 / (1.0 + t * t).sqrt();
        (t * s, s)
    } else if twice == 0.0 {
        (1.0, 0.0)
    } else {
        let t = -cosine / twice;
        let c = 1.0 / (1.0 + t * t).sqrt();
        (c, t * c)
    };
    let rotation = if is_negative == is_falling { Rotation { c: -s, s: c } } else { Rotation { c, s } };
    (first, second, rotation)
}

/// Returns the singular values of `[f g; 0 h]`, the smaller one first. (`las2`)
pub(crate) fn triangular_values(f: f64, g: f64, h: f64) -> [f64; 2] {
    let (f, g, h) = (f.abs(), g.abs(), h.abs());
    let (small, large) = (f.min(h), f.max(h));
    if small == 0.0 {
        return [0.0, if large == 0.0 { g } else { hypot(large, g) }];
    }
    let (sum, difference) = (1.0 + small / large, (large - small) / large);
    if g < large {
        let ratio = (g / large) * (g / large);
        let c = 2.0 / ((sum * sum + ratio).sqrt() + (difference * difference + ratio).sqrt());
        return [small * c, large / c];
    }
    let ratio = large / g;
    if ratio == 0.0 {
        return [(small * large) / g, g];
    }
    let root = |x: f64| (1.0 + (x * ratio) * (x * ratio)).sqrt();
    let c = 1.0 / (root(sum) + root(difference));
    [2.0 * ((small * c) * ratio), g / (c + c)]
}

/// The singular value decomposition of `[f g; 0 h]`: `left [f g; 0 h] right^T` is `[large 0; 0 small]`. Both values may
/// be negative.
pub(crate) struct Triangular {
    pub small: f64,
    pub large: f64,
    pub left: Rotation,
    pub right: Rotation,
}

/// Computes the singular value decomposition of `[f g; 0 h]`. (`lasv2`)
pub(crate) fn triangular(f: f64, g: f64, h: f64) -> Triangular {
    let is_swapped = h.abs() > f.abs();
    let (first, last) = if is_swapped { (h, f) } else { (f, h) };
    let (size, other, corner) = (first.abs(), last.abs(), g.abs());
    let is_corner_largest = corner > size;
    let [small, large, cl, sl, cr, sr] = if corner == 0.0 {
        [other, size, 1.0, 0.0, 1.0, 0.0]
    } else if is_corner_largest && size / corner < EPS {
        let small = if other > 1.0 { size / (corner / other) } else { (size / corner) * other };
        [small, corner, 1.0, last / g, first / g, 1.0]
    } else {
        ordinary(first, g, last)
    };
    let (left, right) = if is_swapped {
        (Rotation { c: sr, s: cr }, Rotation { c: sl, s: cl })
    } else {
        (Rotation { c: cl, s: sl }, Rotation { c: cr, s: sr })
    };
    let sign = |x: f64| 1f64.copysign(x);
    let of_large = match (is_corner_largest, is_swapped) {
        (true, _) => sign(right.s) * sign(left.c) * sign(g),
        (false, false) => sign(right.c) * sign(left.c) * sign(f),
        (false, true) => sign(right.s) * sign(left.s) * sign(h),
    };
    let of_small = of_large * sign(f) * sign(h);
    Triangular { small: small.copysign(of_small), large: large.copysign(of_large), left, right }
}

/// Decomposes `[f g; 0 h]` if the absolute value of `h` is not larger than that of `f`, and `g` is neither 0 nor much
/// larger than `f`. Returns the absolute values of the smaller and of the larger singular value, the cosine and the
/// sine of the left rotation, and those of the right one.
fn ordinary(f: f64, g: f64, h: f64) -> [f64; 6] {
    let (size, other) = (f.abs(), h.abs());
    let difference = size - other;
    let l = if difference == size { 1.0 } else { difference / size };
    let m = g / f;
    let t = 2.0 - l;
    let (mm, tt) = (m * m, t * t);
    let s = (tt + mm).sqrt();
    let r = if l == 0.0 { m.abs() } else { (l * l + mm).sqrt() };
    let a = 0.5 * (s + r);
    let t = if mm != 0.0 {
        (m / (s + t) + m / (r + l)) * (1.0 + a)
    } else if l == 0.0 {
        2f64.copysign(f) * 1f64.copysign(g)
    } else {
        g / difference.copysign(f) + m / t
    };
    let l = (t * t + 4.0).sqrt();
    let (cr, sr) = (2.0 / l, t / l);
    let (cl, sl) = ((cr + sr * m) / a, (h / f) * sr / a);
    [other / a, size * a, cl, sl, cr, sr]
}

/// A real matrix `[a b; c d]` in the standard form of Schur decompositions, with its eigenvalues and the rotation that
/// leads to this form. Either `c` is 0, or `a` equals `d` and `b` and `c` have different signs.
pub(crate) struct Standard {
    pub matrix: [f64; 4],
    pub values: [Complex64; 2],
    pub rotation: Rotation,
}

/// Computes the standard form of `[a b; c d]`. (`lanv2`)
pub(crate) fn standard([a, b, c, d]: [f64; 4]) -> Standard {
    let (matrix, rotation) = if c == 0.0 {
        ([a, b, 0.0, d], Rotation { c: 1.0, s: 0.0 })
    } else if b == 0.0 {
        ([d, -c, 0.0, a], Rotation { c: 0.0, s: 1.0 })
    } else if a - d == 0.0 && b.is_sign_negative() != c.is_sign_negative() {
        ([a, b, c, d], Rotation { c: 1.0, s: 0.0 })
    } else {
        rotated([a, b, c, d])
    };
    let [a, b, c, d] = matrix;
    let im = if c == 0.0 { 0.0 } else { b.abs().sqrt() * c.abs().sqrt() };
    Standard { matrix, values: [Complex64::new(a, im), Complex64::new(d, -im)], rotation }
}

fn rotated([a, b, c, d]: [f64; 4]) -> ([f64; 4], Rotation) {
    let sign = |x: f64| 1f64.copysign(x);
    let p = 0.5 * (a - d);
    let (large, small) = (b.abs().max(c.abs()), b.abs().min(c.abs()) * sign(b) * sign(c));
    let scale = p.abs().max(large);
    let z = (p / scale) * p + (large / scale) * small;
    if z >= 4.0 * f64::EPSILON {
        let z = p + (scale.sqrt() * z.sqrt()).copysign(p);
        let size = hypot(c, z);
        return ([d + z, b - c, 0.0, d - (large / z) * small], Rotation { c: z / size, s: c / size });
    }
    equal_diagonal([a, b, c, d], p)
}

/// Makes the elements of the diagonal equal, and then the matrix triangular if its eigenvalues are real.
fn equal_diagonal([a, b, c, d]: [f64; 4], p: f64) -> ([f64; 4], Rotation) {
    let sigma = b + c;
    let size = hypot(sigma, a - d);
    let cs = (0.5 * (1.0 + sigma.abs() / size)).sqrt();
    let sn = -(p / (size * cs)) * 1f64.copysign(sigma);
    let ([aa, bb], [cc, dd]) = ([a * cs + b * sn, -a * sn + b * cs], [c * cs + d * sn, -c * sn + d * cs]);
    let [a, b, c, d] = [aa * cs + cc * sn, bb * cs + dd * sn, -aa * sn + cc * cs, -bb * sn + dd * cs];
    let mean = 0.5 * (a + d);
    let rotation = Rotation { c: cs, s: sn };
    if c == 0.0 {
        return ([mean, b, c, mean], rotation);
    }
    if b == 0.0 {
        return ([mean, -c, 0.0, mean], Rotation { c: -sn, s: cs });
    }
    if b.is_sign_negative() != c.is_sign_negative() {
        return ([mean, b, c, mean], rotation);
    }
    let (roots, tau) = ([b.abs().sqrt(), c.abs().sqrt()], 1.0 / (b + c).abs().sqrt());
    let p = (roots[0] * roots[1]).copysign(c);
    let (c1, s1) = (roots[0] * tau, roots[1] * tau);
    ([mean + p, b - c, 0.0, mean - p], Rotation { c: cs * c1 - sn * s1, s: cs * s1 + sn * c1 })
}
