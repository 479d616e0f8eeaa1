//! Comparison of arrays: whether two lists of results are equal, or as close to each other as a [`Tolerance`] allows.
//!
//! The number of arrays, their element types and their shapes are always compared. Elements of integer and boolean
//! types are always compared by their bytes. A tolerance applies to floats and to the parts of complex numbers only.
//! Under every tolerance a NaN differs from every number, an infinity differs from everything but itself, and two NaNs
//! are equal. The exception is [`Tolerance::Bits`], which requires that two NaNs have the same bits.
//!
//! ```
//! use shardwise_base::compare::{Tolerance, compare};
//! use shardwise_base::Literal;
//! let (got, want) = ([Literal::new([2], &[1.0f32, 0.0])], [Literal::new([2], &[1.0f32, -0.0])]);
//! assert!(compare(&got, &want, |_| Tolerance::Numbers).is_ok());
//! let why = compare(&got, &want, |_| Tolerance::Exact).unwrap_err();
//! assert_eq!(why.to_string(), "result 0: 1 of 2 elements differ, one of them at [1]: 0e0 for -0e0");
//! ```

use crate::{Bool8, Complex32, Complex64, DType, Literal, bf16, f16};
use std::fmt;

/// How close floats, and the parts of complex numbers, have to be to each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance<'a> {
    /// Equal bits. For data that is only moved.
    Bits,
    /// Equal bits, except that all NaNs are equal. For two computations that do the same arithmetic.
    Exact,
    /// Equal numbers; zeros of both signs are equal. For sums of exact terms in another order.
    Numbers,
    /// At most this many representable numbers apart; zeros of both signs are equal.
    Ulps(u64),
    /// Allows what `Ulps` allows, and also that one number is zero and the other is subnormal. In types of eight bits
    /// and less, the numbers that are subnormal in `f32` count as subnormal. It is for systems that flush subnormal
    /// numbers.
    FlushedUlps(u64),
    /// At most this many units apart. The unit is the [`largest`] finite expected magnitude times the type's
    /// [`epsilon`]. For sums over the whole array in any order.
    OfLargest(u64),
    /// At most as many units apart as for `OfLargest`, where 1 takes the place of a largest magnitude below 1. It is
    /// for functions whose absolute error near a zero is as large as elsewhere.
    OfLargestOrOne(u64),
    /// Element `i`, or each part of a complex element, is at most `bounds[i]` away. Comparisons may panic if there are
    /// fewer bounds than elements.
    Bounds(&'a [f64]),
}

impl Tolerance<'_> {
    /// Returns the largest [distance] that this tolerance allows for an element, in its own units. This is 0 for
    /// tolerances without a count, also for `Bounds`.
    pub fn limit(self) -> u64 {
        use Tolerance::*;
        match self {
            Bits | Exact | Numbers | Bounds(_) => 0,
            Ulps(n) | FlushedUlps(n) | OfLargest(n) | OfLargestOrOne(n) => n,
        }
    }
}

/// The difference between two lists of arrays.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// The numbers of arrays differ.
    Count { got: usize, want: usize },
    /// The element types or shapes of an array differ.
    Type { index: usize, got: String, want: String },
    /// Elements of an array differ.
    Elements { index: usize, elements: Elements },
}

/// The elements of an array that are too far apart.
#[derive(Clone, PartialEq, Debug)]
pub struct Elements {
    /// The number of elements of the array that are too far apart.
    pub count: usize,
    /// The number of all elements of the array.
    pub size: usize,
    /// The row-major position of the worst element: the one whose values in the two arrays are furthest apart, or the
    /// first of several. Distances that cannot be counted are the largest.
    pub worst: usize,
    /// The indices of the worst element.
    pub indices: Vec<usize>,
    /// The value of the worst element in the array that was computed, as text. If its text in the expected array is the
    /// same, these are the bytes.
    pub got: String,
    /// The value of the worst element in the expected array, as text or bytes like `got`.
    pub want: String,
    /// The distance between the two values of the worst element in the tolerance's units. `None` if it cannot be
    /// counted, or if the tolerance has no count.
    pub apart: Option<u64>,
}

impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Elements { count, size, indices, got, want, .. } = self;
        let which = if self.apart.is_some() { "the worst" } else { "one of them" };
        write!(f, "{count} of {size} elements differ, {which} at {indices:?}: {got} for {want}")?;
        match self.apart {
            Some(n) if n > 1 => write!(f, " ({n} apart)"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Count { got, want } => write!(f, "{got} results, expected {want}"),
            Mismatch::Type { index, got, want } => write!(f, "result {index} is {got}, expected {want}"),
            Mismatch::Elements { index, elements } => write!(f, "result {index}: {elements}"),
        }
    }
}

impl std::error::Error for Mismatch {}

/// Compares all arrays; array `i` is compared with `tolerance(i)`.
///
/// # Errors
/// Returns the first mismatch.
pub fn compare<'a>(
    got: &[Literal],
    want: &[Literal],
    tolerance: impl Fn(usize) -> Tolerance<'a>,
) -> Result<(), Mismatch> {
    if got.len() != want.len() {
        return Err(Mismatch::Count { got: got.len(), want: want.len() });
    }
    let mut pairs = got.iter().zip(want).enumerate();
    pairs.try_for_each(|(index, (got, want))| compare_one(index, got, want, tolerance(index)))
}

/// Compares one array, which is number `index` among the results.
///
/// # Errors
/// Returns the difference, if there is one.
pub fn compare_one(index: usize, got: &Literal, want: &Literal, tolerance: Tolerance<'_>) -> Result<(), Mismatch> {
    same_type(index, got, want)?;
    let elements = different_elements(got, want, tolerance);
    elements.map_or(Ok(()), |elements| Err(Mismatch::Elements { index, elements }))
}

fn same_type(index: usize, got: &Literal, want: &Literal) -> Result<(), Mismatch> {
    if (got.dtype(), got.shape()) == (want.dtype(), want.shape()) {
        return Ok(());
    }
    let shown = |x: &Literal| format!("{}{:?}", x.dtype(), x.shape());
    Err(Mismatch::Type { index, got: shown(got), want: shown(want) })
}

/// Counts the elements of two arrays of the same type that are further apart than `tolerance` allows, and describes the
/// first of those that are furthest apart. Returns `None` if there are no such elements.
///
/// # Panics
/// Panics if the element types or shapes differ.
pub fn different_elements(got: &Literal, want: &Literal, tolerance: Tolerance<'_>) -> Option<Elements> {
    if got == want {
        return None;
    }
    let far = |apart: Option<u64>| apart.is_none_or(|n| n > tolerance.limit());
    let (mut count, mut worst) = (0, (0, Some(0)));
    for (i, apart) in distances(tolerance, got, want).enumerate().filter(|&(_, apart)| far(apart)) {
        count += 1;
        if count == 1 || apart.unwrap_or(u64::MAX) > worst.1.unwrap_or(u64::MAX) {
            worst = (i, apart);
        }
    }
    let (i, apart) = worst;
    let (mut a, mut b) = (element_text(got, i), element_text(want, i));
    if a == b {
        [a, b] = [got, want].map(|x| format!("{:02x?}", x.element_bytes(i)));
    }
    let indices = indices(got.shape(), i);
    (count > 0).then_some(Elements { count, size: got.size(), worst: i, indices, got: a, want: b, apart })
}

/// Returns the largest distance between elements at the same position of two arrays of the same type, in the
/// tolerance's units. This is 0 for arrays without elements. Returns `None` if a distance cannot be counted (different
/// integers or booleans, an infinity or a NaN and another value) or exceeds a tolerance without a count.
///
/// # Panics
/// Panics if the element types or shapes differ.
pub fn distance(tolerance: Tolerance<'_>, got: &Literal, want: &Literal) -> Option<u64> {
    distances(tolerance, got, want).try_fold(0, |worst, apart| Some(apart?.max(worst)))
}

/// Returns the row-major position of the element that is furthest apart in two arrays of the same type, or 0 if they
/// have no elements. Distances that cannot be counted are the largest. If there are several such elements, returns the
/// last one.
///
/// # Panics
/// Panics if the element types or shapes differ.
pub fn farthest(tolerance: Tolerance<'_>, got: &Literal, want: &Literal) -> usize {
    let all = distances(tolerance, got, want).enumerate();
    all.max_by_key(|(_, apart)| apart.unwrap_or(u64::MAX)).map_or(0, |(i, _)| i)
}

/// Returns the distance of each element in the tolerance's units. For complex numbers this is the larger distance of
/// their two parts. It is `None` for elements that differ in a way that cannot be counted (integers, booleans,
/// infinities, NaN) or that exceeds a tolerance without a count. The arrays must have the same type.
fn distances<'a>(
    tolerance: Tolerance<'a>,
    got: &'a Literal,
    want: &'a Literal,
) -> impl Iterator<Item = Option<u64>> + 'a {
    assert!((got.dtype(), got.shape()) == (want.dtype(), want.shape()), "arrays of the same type");
    let dtype = got.dtype();
    let is_number = dtype.is_float() || dtype.is_complex();
    let unit = match tolerance {
        Tolerance::OfLargest(_) => largest(want) * epsilon(dtype),
        Tolerance::OfLargestOrOne(_) => largest(want).max(1.0) * epsilon(dtype),
        _ => 0.0,
    };
    (0..got.size()).map(move |i| {
        if got.element_bytes(i) == want.element_bytes(i) {
            return Some(0);
        }
        if !is_number || tolerance == Tolerance::Bits {
            return None;
        }
        let [[a, b], [c, d]] = [parts(got, i), parts(want, i)];
        Some(tolerance.apart(i, unit, a, c)?.max(tolerance.apart(i, unit, b, d)?))
    })
}

impl Tolerance<'_> {
    /// Returns the distance between two parts of element `i`, or `None` if it cannot be counted or exceeds a tolerance
    /// without a count. `unit` is the unit of tolerances that are relative to the largest element.
    fn apart(self, i: usize, unit: f64, a: Part, b: Part) -> Option<u64> {
        if a.bits == b.bits || a.value.is_nan() && b.value.is_nan() {
            return Some(0);
        }
        if self == Tolerance::Exact {
            return None;
        }
        if a.value == b.value {
            return Some(0);
        }
        if !a.value.is_finite() || !b.value.is_finite() {
            return None;
        }
        match self {
            Tolerance::Bits | Tolerance::Exact | Tolerance::Numbers => None,
            Tolerance::FlushedUlps(_) if is_flushed(a, b) => Some(0),
            Tolerance::Ulps(_) | Tolerance::FlushedUlps(_) => Some(a.place().abs_diff(b.place())),
            Tolerance::OfLargest(_) | Tolerance::OfLargestOrOne(_) => {
                Some(((a.value - b.value).abs() / unit).ceil() as u64)
            }
            Tolerance::Bounds(bounds) => ((a.value - b.value).abs() <= bounds[i]).then_some(0),
        }
    }
}

/// A float, or one part of a complex number.
#[derive(Clone, Copy)]
struct Part {
    dtype: DType,
    value: f64,
    bits: u64,
}

impl Part {
    /// Returns the position among the numbers of the type. Neighbouring numbers are 1 apart, and zeros of both signs
    /// are at 0.
    fn place(self) -> i64 {
        if self.dtype == DType::F8E8M0FNU {
            return self.bits as i64; // it has no sign
        }
        let sign = 1u64 << (self.dtype.bits() - 1);
        let magnitude = (self.bits & (sign - 1)) as i64; // the byte of a smaller type has further bits
        if self.bits & sign == 0 { magnitude } else { -magnitude }
    }
}

/// Returns both parts of an element; the second part of a real type is zero.
fn parts(x: &Literal, i: usize) -> [Part; 2] {
    let part = |value: f64, bits: u64| Part { dtype: x.dtype().real(), value, bits };
    match x.dtype() {
        DType::C64 => {
            let z: Complex32 = x.get(i);
            [z.re, z.im].map(|v| part(v.into(), v.to_bits().into()))
        }
        DType::C128 => {
            let z: Complex64 = x.get(i);
            [z.re, z.im].map(|v| part(v, v.to_bits()))
        }
        _ => {
            let mut bits = [0; 8];
            bits[..x.dtype().storage_bytes()].copy_from_slice(x.element_bytes(i));
            [part(x.get_f64(i), u64::from_le_bytes(bits)), part(0.0, 0)]
        }
    }
}

/// Returns true if one number is zero and the other is subnormal or zero. For float types of eight bits and less, the
/// numbers that are subnormal in `f32` count.
fn is_flushed(a: Part, b: Part) -> bool {
    let smallest_normal = match a.dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f32::MIN_POSITIVE.into(),
    };
    (a.value == 0.0 || b.value == 0.0) && a.value.abs().max(b.value.abs()) < smallest_normal
}

/// Returns the distance from 1 to the next larger number of a float type, or of the parts of a complex type. For all
/// other types, returns that of `bf16`.
pub fn epsilon(dtype: DType) -> f64 {
    match dtype.real() {
        DType::F64 => f64::EPSILON,
        DType::F32 => f32::EPSILON.into(),
        DType::F16 => f16::EPSILON.to_f64(),
        small => small.small_epsilon().unwrap_or(bf16::EPSILON.to_f64()),
    }
}

/// Returns the largest finite magnitude of an element or of a part of one, or 0 if there is none.
pub fn largest(x: &Literal) -> f64 {
    (0..x.size()).map(|i| magnitude(x, i)).fold(0.0, f64::max)
}

/// Returns the magnitude of an element, for complex numbers the larger one of both parts. A number or part that is not
/// finite counts as 0.
///
/// # Panics
/// Panics if there is no element `i`. A splat accepts every index.
pub fn magnitude(x: &Literal, i: usize) -> f64 {
    let finite = |p: Part| if p.value.is_finite() { p.value.abs() } else { 0.0 };
    parts(x, i).map(finite).into_iter().fold(0.0, f64::max)
}

/// Returns the largest difference of two arrays, divided by the largest finite magnitude of an expected element, or by
/// the smallest normal `f64` if that is larger. `index` is the number of the array in the error.
///
/// # Errors
/// Fails if the element types or shapes differ, if integers or booleans differ, if one element is a NaN or an infinity
/// and the other is not the same one, or if a difference is too large for `f64`. Two NaNs are equal.
pub fn share_of_largest(index: usize, got: &Literal, want: &Literal) -> Result<f64, Mismatch> {
    let bounds = vec![f64::MAX; want.size()];
    compare_one(index, got, want, Tolerance::Bounds(&bounds))?;
    let farthest = (0..want.size()).map(|i| gap(got, want, i)).fold(0.0, f64::max);
    Ok(farthest / largest(want).max(f64::MIN_POSITIVE))
}

/// Returns the absolute difference of element `i` of two arrays of one type, for complex numbers the larger difference
/// of both parts. It is 0 for two NaNs or equal infinities, and infinite for every other pair with a NaN or an
/// infinity.
///
/// # Panics
/// Panics if one of the arrays has no element `i`. A splat accepts every index.
pub fn gap(a: &Literal, b: &Literal, i: usize) -> f64 {
    let apart = |(a, b): (Part, Part)| match (a.value.is_nan(), b.value.is_nan()) {
        (true, true) => 0.0,
        (true, false) | (false, true) => f64::INFINITY,
        _ if a.value == b.value => 0.0,
        _ => (a.value - b.value).abs(),
    };
    parts(a, i).into_iter().zip(parts(b, i)).map(apart).fold(0.0, f64::max)
}

/// Returns how many representable numbers two elements of one float or complex type are apart, for complex numbers the
/// larger distance of both parts. Two NaNs are 0 apart, and so are zeros of both signs. Returns `None` if one element
/// or part is not finite and the other differs.
///
/// # Panics
/// Panics if one of the arrays has no element `i`. A splat accepts every index.
pub fn ulps(a: &Literal, b: &Literal, i: usize) -> Option<u64> {
    let [[a, b], [c, d]] = [parts(a, i), parts(b, i)];
    let apart = |a, b| Tolerance::Ulps(0).apart(i, 0.0, a, b);
    Some(apart(a, c)?.max(apart(b, d)?))
}

/// Returns an element as text: integers in full, `true` and `false`, `(real, imaginary)`, floats in scientific
/// notation. The text is empty if there is no element `i`.
pub fn element_text(x: &Literal, i: usize) -> String {
    match x.dtype() {
        _ if i >= x.size() => String::new(),
        DType::I1 => bool::from(x.get::<Bool8>(i)).to_string(),
        d if d.is_integer() => x.get_i128(i).to_string(),
        d if d.is_complex() => format!("({:e}, {:e})", x.get_f64(i), x.imaginary_f64(i)),
        _ => format!("{:e}", x.get_f64(i)),
    }
}

/// Converts the row-major position of an element to its indices in an array of this shape. A position beyond the last
/// element wraps around.
pub fn indices(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (index, &n) in out.iter_mut().zip(shape).rev() {
        *index = position % n.max(1);
        position /= n.max(1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Tolerance<'_>; 8] = [
        Tolerance::Bits,
        Tolerance::Exact,
        Tolerance::Numbers,
        Tolerance::Ulps(4),
        Tolerance::FlushedUlps(4),
        Tolerance::OfLargest(4),
        Tolerance::OfLargestOrOne(4),
        Tolerance::Bounds(&[1e-3; 6]),
    ];

    /// Tolerances that require the same arithmetic.
    const STRICT: [Tolerance<'_>; 2] = [Tolerance::Bits, Tolerance::Exact];

    fn matrix(elements: [f32; 6]) -> Literal {
        Literal::new([2, 3], &elements)
    }

    /// Checks that the tolerances `by` report a difference of two lists in both directions, and that none of [`ALL`]
    /// reports a difference of a list and itself.
    #[track_caller]
    fn reported(name: &str, got: &[Literal], want: &[Literal], by: &[Tolerance<'_>]) {
        for &tolerance in by {
            assert!(compare(got, want, |_| tolerance).is_err(), "{name} passes {tolerance:?}");
            assert!(compare(want, got, |_| tolerance).is_err(), "{name}, the other way round, passes {tolerance:?}");
        }
        for &tolerance in &ALL {
            assert!(compare(got, got, |_| tolerance).is_ok() && compare(want, want, |_| tolerance).is_ok(), "{name}");
        }
    }

    #[test]
    fn epsilon_is_the_distance_to_the_next_number() {
        let small = DType::ALL.iter().copied().filter(|d| d.is_float() && d.bits() <= 8);
        for dtype in small {
            let values = (0..=u8::MAX).filter_map(|code| dtype.small_float(code)).filter(|&x| x > 1.0);
            assert_eq!(epsilon(dtype), values.fold(f64::INFINITY, f64::min) - 1.0, "{dtype}");
        }
    }

    #[test]
    fn planted_errors_of_floats_are_reported() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0f32];
        let with = |i: usize, v: f32| {
            let mut y = x;
            y[i] = v;
            [matrix(y)]
        };
        let good = [matrix(x)];
        reported("one element", &with(4, 5.5), &good, &ALL);
        reported("NaN for a number", &with(0, f32::NAN), &good, &ALL);
        reported("infinity for a number", &with(5, f32::INFINITY), &good, &ALL);
        reported("the other infinity", &with(5, f32::INFINITY), &with(5, f32::NEG_INFINITY), &ALL);
        reported("NaN for an infinity", &with(5, f32::INFINITY), &with(5, f32::NAN), &ALL);
        reported("one bit", &with(1, f32::from_bits(2f32.to_bits() ^ 1)), &good, &STRICT);
        reported("one bit", &with(1, f32::from_bits(2f32.to_bits() ^ 1)), &good, &[Tolerance::Numbers]);
        reported("-0 for 0", &with(2, 0.0), &with(2, -0.0), &STRICT);
        reported("a row swapped", &[matrix([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])], &good, &ALL);
        reported("another NaN", &with(2, f32::NAN), &with(2, f32::from_bits(0x7fc0_0001)), &[Tolerance::Bits]);
        reported("a wrong element beside a huge one", &with(0, 1e30), &[matrix([1e30, 2.5, 3.0, 4.0, 5.0, 6.0])], &{
            [Tolerance::Bits, Tolerance::Exact, Tolerance::Numbers, Tolerance::Ulps(4), Tolerance::Bounds(&[1e-3; 6])]
        });
    }

    #[test]
    fn planted_errors_of_types_are_reported() {
        let x = matrix([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let as_integers = Literal::from_bytes(DType::I32, &[2, 3], x.raw_bytes()).unwrap();
        let good = [x.clone(), x.clone()];
        reported("another shape, the same bytes", &[x.clone(), x.reshaped([3, 2])], &good, &ALL);
        reported("another type, the same bytes", &[x.clone(), as_integers], &good, &ALL);
        reported("a result missing", &good[..1], &good, &ALL);
        reported("no result", &[], &good, &ALL);
        let empty = |shape: [usize; 2]| [Literal::zeros(DType::F32, shape)];
        reported("an empty array of another shape", &empty([0, 3]), &empty([3, 0]), &ALL);
    }

    #[test]
    fn planted_errors_of_other_types_are_reported() {
        let one = |x: Literal| [x];
        let big = (1i64 << 53) + 1;
        reported("the last bit of i64", &one(Literal::scalar(big)), &one(Literal::scalar(big - 1)), &ALL);
        reported("u64::MAX", &one(Literal::scalar(u64::MAX)), &one(Literal::scalar(u64::MAX - 1)), &ALL);
        reported("a sign", &one(Literal::scalar(-1i64)), &one(Literal::scalar(1i64)), &ALL);
        reported("a bool", &one(Literal::scalar(Bool8(1))), &one(Literal::scalar(Bool8(0))), &ALL);
        let z = |re: f32, im: f32| one(Literal::scalar(Complex32::new(re, im)));
        reported("an imaginary part", &z(1.0, 2.0), &z(1.0, 2.5), &ALL);
        reported("an imaginary NaN", &z(1.0, 2.0), &z(1.0, f32::NAN), &ALL);
        let next = bf16::from_bits(bf16::from_f32(1.0).to_bits() + 1);
        let (x, y) = (one(Literal::scalar(bf16::from_f32(1.0))), one(Literal::scalar(next)));
        reported(
            "an ulp of bf16",
            &x,
            &y,
            &[Tolerance::Bits, Tolerance::Exact, Tolerance::Numbers, Tolerance::Ulps(0)],
        );
        reported("an ulp of bf16", &x, &y, &[Tolerance::OfLargest(0), Tolerance::Bounds(&[1e-3])]);
    }

    #[test]
    fn mismatches_name_the_worst_element() {
        let good = matrix([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let bad = matrix([1.0, 2.5, 3.0, 4.0, 5.0, f32::NAN]);
        let why = compare(&[bad], &[good], |_| Tolerance::Ulps(1)).unwrap_err();
        assert_eq!(why.to_string(), "result 0: 2 of 6 elements differ, one of them at [1, 2]: NaN for 6e0");
        let nan = |bits| [Literal::scalar(f32::from_bits(bits))];
        let why = compare(&nan(0x7fc0_0000), &nan(0x7fc0_0001), |_| Tolerance::Bits).unwrap_err();
        assert!(why.to_string().ends_with("[00, 00, c0, 7f] for [01, 00, c0, 7f]"), "{why}");
    }

    #[test]
    fn distances_are_in_the_tolerances_units() {
        let x = |v: f32| Literal::scalar(v);
        let next = f32::from_bits(1f32.to_bits() + 1);
        let ulps = |t, a, b| distance(t, &x(a), &x(b));
        assert_eq!(ulps(Tolerance::Ulps(1), 1.0, next), Some(1));
        assert_eq!(ulps(Tolerance::Ulps(1), 0.0, -0.0), Some(0));
        assert_eq!(ulps(Tolerance::Ulps(1), f32::from_bits(1), -f32::from_bits(1)), Some(2));
        assert_eq!(ulps(Tolerance::FlushedUlps(1), 1e-39, 0.0), Some(0));
        assert_eq!(ulps(Tolerance::Ulps(1), 1e-39, 0.0), Some(713_624));
        assert_eq!(ulps(Tolerance::Ulps(1), f32::INFINITY, f32::MAX), None);
        assert_eq!(ulps(Tolerance::Exact, f32::NAN, -f32::NAN), Some(0));
        assert_eq!(ulps(Tolerance::OfLargest(1), 1.0, next), Some(1));
        assert_eq!(ulps(Tolerance::OfLargestOrOne(1), 0.0, 1e-8), Some(1));
        let fp4 = |byte: u8| Literal::from_bytes(DType::F4E2M1FN, &[], &[byte]).unwrap();
        assert_eq!(distance(Tolerance::Ulps(1), &fp4(0x12), &fp4(0x03)), Some(1));
        let list = |values: [f32; 3]| Literal::new([3], &values);
        assert_eq!(farthest(Tolerance::Ulps(1), &list([1.0, 1.0, 1.0]), &list([next, 2.0, 1.0])), 1);
        assert_eq!(farthest(Tolerance::Ulps(1), &list([1.0, 1.0, 1.0]), &list([2.0, 1.0, f32::NAN])), 2);
    }
}
