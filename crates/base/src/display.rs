//! Formats values as NumPy prints them.

use crate::{DType, DTypeKind, Literal, bf16_nearest, f16_nearest};

/// Arrays with more elements than this are summarized.
const THRESHOLD: usize = 1000;
/// The number of elements shown at each end of a summarized dimension.
const EDGE: usize = 3;
/// The largest number of characters of a line.
const LINE: usize = 75;

/// Formats an array as NumPy's `str` does.
pub fn literal(x: &Literal) -> String {
    if x.rank() == 0 {
        return format_scalar(x);
    }
    if x.size() == 0 {
        return "[]".into();
    }
    let is_long = x.size() > THRESHOLD;
    let words = format_elements(x, &shown_indices(x.shape(), is_long));
    let width = words.iter().map(|w| w.chars().count()).max().unwrap_or(0);
    let words: Vec<String> = words.iter().map(|w| format!("{w:>width$}")).collect();
    let mut words = words.into_iter();
    let mut out = String::new();
    print(x.shape(), is_long, 1, &mut words, &mut out);
    out
}

/// Returns the indices that are shown for a dimension of size `n`: all of them, or [`EDGE`] at each end if `is_long`
/// and there are more than these. `None` stands for the gap between them.
fn edges(n: usize, is_long: bool) -> Vec<Option<usize>> {
    if is_long && n > 2 * EDGE {
        (0..EDGE).map(Some).chain([None]).chain((n - EDGE..n).map(Some)).collect()
    } else {
        (0..n).map(Some).collect()
    }
}

/// Returns the row-major positions of the elements that are printed, in order: of all elements, or of those at the ends
/// of each dimension if `is_long`.
fn shown_indices(shape: &[usize], is_long: bool) -> Vec<usize> {
    shape.iter().fold(vec![0], |before, &n| {
        let here = edges(n, is_long);
        before.iter().flat_map(|b| here.iter().flatten().map(move |i| b * n + i)).collect()
    })
}

fn print(shape: &[usize], is_long: bool, depth: usize, words: &mut dyn Iterator<Item = String>, out: &mut String) {
    out.push('[');
    let indent = " ".repeat(depth);
    let mut column = depth;
    for (k, i) in edges(shape[0], is_long).into_iter().enumerate() {
        if shape.len() > 1 {
            if k > 0 {
                out.push_str(&"\n".repeat(shape.len() - 1));
                out.push_str(&indent);
            }
            match i {
                Some(_) => print(&shape[1..], is_long, depth + 1, words, out),
                None => out.push_str("..."),
            }
            continue;
        }
        let word = if i.is_some() { words.next().expect("a word for each element") } else { "...".into() };
        let length = word.chars().count();
        if k > 0 && column + length + 1 + depth > LINE {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(&indent);
            column = depth;
        } else if k > 0 {
            out.push(' ');
            column += 1;
        }
        column += length;
        out.push_str(&word);
    }
    out.push(']');
}

fn format_elements(x: &Literal, shown: &[usize]) -> Vec<String> {
    let numbers = |part: fn(&Literal, usize) -> f64| -> Vec<f64> { shown.iter().map(|&i| part(x, i)).collect() };
    match x.dtype().kind() {
        DTypeKind::Bool => {
            shown.iter().map(|&i| if x.get_i128(i) != 0 { " True" } else { "False" }.to_string()).collect()
        }
        DTypeKind::Signed | DTypeKind::Unsigned => shown.iter().map(|&i| x.get_i128(i).to_string()).collect(),
        DTypeKind::Float => floats(&numbers(Literal::get_f64), x.dtype(), false),
        DTypeKind::Complex => {
            let real = floats(&numbers(Literal::get_f64), x.dtype(), false);
            let imaginary = floats(&numbers(Literal::imaginary_f64), x.dtype(), true);
            real.iter().zip(imaginary).map(|(real, imaginary)| format!("{real}{}", with_unit(&imaginary))).collect()
        }
        DTypeKind::Quantized => shown.iter().map(|&i| format!("{:02x?}", x.element_bytes(i))).collect(),
    }
}

/// Adds `j` before the spaces at the end.
fn with_unit(text: &str) -> String {
    let number = text.trim_end();
    format!("{number}j{}", &text[number.len()..])
}

fn format_scalar(x: &Literal) -> String {
    match x.dtype().kind() {
        DTypeKind::Float => match scalar(x.get_f64(0), x.dtype()) {
            text if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') => text + ".0",
            text => text,
        },
        DTypeKind::Complex => {
            let (real, imaginary) = (x.get_f64(0), x.imaginary_f64(0));
            let sign = if imaginary.is_sign_negative() && !imaginary.is_nan() { "" } else { "+" };
            match real == 0.0 && real.is_sign_positive() {
                true => format!("{}j", scalar(imaginary, x.dtype())),
                false => format!("({}{sign}{}j)", scalar(real, x.dtype()), scalar(imaginary, x.dtype())),
            }
        }
        _ => format_elements(x, &[0])[0].trim().to_string(),
    }
}

/// Formats one number with as few digits as identify it. Numbers below 1e-4 or from 1e16 on in magnitude, except 0, are
/// in scientific notation. Those that are not finite are `nan`, `inf` or `-inf`.
fn scalar(v: f64, dtype: DType) -> String {
    if let Some(name) = special(v, false) {
        return name;
    }
    let digits = Digits::of(v, dtype);
    match v == 0.0 || (1e-4..1e16).contains(&v.abs()) {
        true => digits.positional(usize::MAX).trim_end_matches('.').to_string(),
        false => {
            let exponent = format!("{:02}", digits.exponent.abs());
            let sign = if digits.exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{exponent}", digits.mantissa(usize::MAX).trim_end_matches('.'))
        }
    }
}

/// Returns the text of a number that is not finite, and `None` for finite numbers. If `has_sign`, NaN and positive
/// infinity have a sign.
fn special(v: f64, has_sign: bool) -> Option<String> {
    let sign = match v {
        _ if v.is_finite() => return None,
        _ if v < 0.0 => "-",
        _ if has_sign => "+",
        _ => "",
    };
    Some(format!("{sign}{}", if v.is_nan() { "nan" } else { "inf" }))
}

/// The decimals after which numbers in arrays are rounded.
const PRECISION: usize = 8;

/// The decimal digits of a finite number: as few as identify it among the numbers of its type, or among those of `f64`
/// for types of 8 bits and less.
struct Digits {
    value: f64,
    /// The number in scientific notation without its exponent: `-1.25`, or `-1` if it has one digit.
    mantissa: String,
    exponent: i32,
}

impl Digits {
    fn of(value: f64, dtype: DType) -> Digits {
        let text = match dtype {
            DType::F64 | DType::C128 => format!("{value:e}"),
            DType::F32 | DType::C64 => format!("{:e}", value as f32),
            DType::F16 | DType::BF16 => fewest(value, |v| rounded(v, dtype)),
            _ => format!("{value:e}"),
        };
        let (mantissa, exponent) = text.split_once('e').expect("an exponent");
        Digits { value, mantissa: mantissa.into(), exponent: exponent.parse().expect("a number") }
    }

    /// Formats the number as `1250.` or `0.125`, rounded to this many decimals if it has more.
    fn positional(&self, decimals: usize) -> String {
        // An `f64` is formatted with the fewest digits that identify it, which are those of the mantissa.
        let shortest: f64 = format!("{}e{}", self.mantissa, self.exponent).parse().expect("a number");
        let text = format!("{shortest}");
        match text.split_once('.') {
            None => text + ".",
            Some((_, fraction)) if fraction.len() <= decimals => text,
            Some(_) => format!("{:.decimals$}", self.value).trim_end_matches('0').to_string(),
        }
    }

    /// Formats the number without its exponent as `1.25`, rounded to this many decimals if it has more.
    fn mantissa(&self, decimals: usize) -> String {
        match self.mantissa.split_once('.') {
            None => self.mantissa.clone() + ".",
            Some((_, fraction)) if fraction.len() <= decimals => self.mantissa.clone(),
            Some(_) => self.rounded(decimals).0.trim_end_matches('0').to_string(),
        }
    }

    /// Returns the mantissa and the exponent of the number rounded to this many decimals.
    fn rounded(&self, decimals: usize) -> (String, i32) {
        let text = format!("{:.decimals$e}", self.value);
        let (mantissa, exponent) = text.split_once('e').expect("an exponent");
        (mantissa.to_string(), exponent.parse().expect("a number"))
    }

    /// Formats the number as `1.250e-07`, with `decimals` decimals and at least `width` digits in the exponent.
    fn scientific(&self, decimals: usize, width: usize) -> String {
        let is_short = self.mantissa.split_once('.').is_none_or(|(_, fraction)| fraction.len() <= decimals);
        let (mantissa, exponent) = match is_short {
            true => (self.mantissa(decimals), self.exponent),
            false => self.rounded(decimals),
        };
        let length = mantissa.find('.').map_or(mantissa.len(), |point| point + 1 + decimals);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa:0<length$}e{sign}{:0width$}", exponent.abs())
    }
}

/// Formats a number in scientific notation with the fewest digits from which `round` returns the same number. If 8
/// digits are too few, formats it as an `f64`.
fn fewest(value: f64, round: impl Fn(f64) -> f64) -> String {
    let texts = (0..8).map(|digits| format!("{value:.digits$e}"));
    let mut found = texts.filter(|text| text.parse().is_ok_and(|v| round(v) == value));
    found.next().unwrap_or_else(|| format!("{value:e}"))
}

/// Formats all numbers in one notation with aligned points, as NumPy chooses them. If `has_sign`, positive numbers,
/// zero and NaN have a sign too.
fn floats(values: &[f64], dtype: DType, has_sign: bool) -> Vec<String> {
    let finite = || values.iter().filter(|v| v.is_finite()).map(|&v| Digits::of(v, dtype));
    let signed = |v: f64, text: String| match has_sign && v.is_sign_positive() {
        true => format!("+{text}"),
        false => text,
    };
    let most_decimals = |text: fn(&Digits, usize) -> String| {
        let decimals = |d: Digits| text(&d, PRECISION).split_once('.').map_or(0, |(_, fraction)| fraction.len());
        finite().map(decimals).max().unwrap_or(0)
    };
    let format: Box<dyn Fn(&Digits) -> String> = if is_scientific(values, dtype) {
        let decimals = most_decimals(Digits::mantissa);
        let digits = finite().map(|d| d.exponent.unsigned_abs().to_string().len()).max().unwrap_or(0);
        Box::new(move |d| d.scientific(decimals, digits.max(2)))
    } else {
        let decimals = most_decimals(Digits::positional);
        Box::new(move |d| {
            let text = d.positional(PRECISION);
            let length = text.find('.').map_or(text.len(), |point| point + 1 + decimals);
            format!("{text:<length$}")
        })
    };
    let one = |&v: &f64| special(v, has_sign).unwrap_or_else(|| signed(v, format(&Digits::of(v, dtype))));
    let texts: Vec<String> = values.iter().map(one).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// Returns true if NumPy formats an array of these numbers in scientific notation. As there, the lower limit and the
/// ratio are rounded to the type: 0.01 and 10 of `f32` have the ratio 1000.
fn is_scientific(values: &[f64], dtype: DType) -> bool {
    let sizes = || values.iter().map(|v| v.abs()).filter(|v| v.is_finite() && *v != 0.0);
    let (max, min) = (sizes().fold(0.0, f64::max), sizes().fold(f64::INFINITY, f64::min));
    max > 0.0 && (max >= 1e8 || min < rounded(1e-4, dtype) || rounded(max / min, dtype) > 1e3)
}

/// Rounds a number to `f16`, `bf16` or `f32`, or to the parts of a `c64`. Returns the number unchanged for any other
/// type.
fn rounded(v: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F32 | DType::C64 => f64::from(v as f32),
        DType::F16 => f16_nearest(v).to_f64(),
        DType::BF16 => bf16_nearest(v).to_f64(),
        _ => v,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bool8, Complex32, Complex64, f16};

    #[test]
    fn as_numpy() {
        let f = |shape: &[usize], data: &[f32]| literal(&Literal::new(shape, data));
        assert_eq!(f(&[], &[1.5]), "1.5");
        assert_eq!(f(&[3], &[1.0, 2.5, -3.25]), "[ 1.    2.5  -3.25]");
        assert_eq!(f(&[2, 2], &[0.0, 1.0, 2.0, 3.0]), "[[0. 1.]\n [2. 3.]]");
        assert_eq!(literal(&Literal::new([2, 1, 2], &[1i32, 2, 3, 40])), "[[[ 1  2]]\n\n [[ 3 40]]]");
        assert_eq!(literal(&Literal::new([0], &[] as &[f32])), "[]");
        assert_eq!(literal(&Literal::new([1usize << 40, 0], &[] as &[f32])), "[]");
        let long = literal(&Literal::new([2000], &(0..2000).collect::<Vec<i32>>()));
        assert_eq!(long, "[   0    1    2 ... 1997 1998 1999]");
    }

    #[test]
    fn floats_as_numpy() {
        let f = |data: &[f32]| literal(&Literal::new([data.len()], data));
        let d = |data: &[f64]| literal(&Literal::new([data.len()], data));
        assert_eq!(f(&[0.001, 10.0]), "[1.e-03 1.e+01]");
        assert_eq!(f(&[0.01, 10.0]), "[ 0.01 10.  ]");
        assert_eq!(f(&[1e-10, 2e-10]), "[1.e-10 2.e-10]");
        assert_eq!(f(&[1.5e-10, 2e-10, 0.0]), "[1.5e-10 2.0e-10 0.0e+00]");
        assert_eq!(f(&[1.0 / 3.0, -2.0 / 3.0]), "[ 0.33333334 -0.6666667 ]");
        assert_eq!(d(&[1.0 / 3.0, 2.0]), "[0.33333333 2.        ]");
        assert_eq!(d(&[1.0 / 3.0, 1e9]), "[3.33333333e-01 1.00000000e+09]");
        assert_eq!(d(&[1e100, -1.0]), "[ 1.e+100 -1.e+000]");
        assert_eq!(f(&[f32::NAN, 1.0, f32::NEG_INFINITY]), "[ nan   1. -inf]");
        assert_eq!(f(&[f32::NAN, 1e-9]), "[   nan 1.e-09]");
        assert_eq!(f(&[1e8]), "[1.e+08]");
        assert_eq!(f(&[-0.0, 100.0]), "[ -0. 100.]");
        let half = |data: &[f32]| {
            literal(&Literal::new([data.len()], &data.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>()))
        };
        assert_eq!(half(&[0.1, 1000.0]), "[1.e-01 1.e+03]");
        assert_eq!(half(&[0.1, 0.3333]), "[0.1    0.3333]");
        assert_eq!(literal(&Literal::new([2], &[Bool8::from(true); 2])), "[ True  True]");
        let eight = Literal::from_bytes(DType::F8E8M0FNU, &[2], &[127, 126]).unwrap();
        assert_eq!(literal(&eight), "[1.  0.5]");
    }

    #[test]
    fn numbers_without_dimensions_as_numpy() {
        let f = |x: f32| literal(&Literal::scalar(x));
        let texts = [1.0, 0.1, -0.0, 1e-10, 1.5e20, 123_456_790.0, f32::NAN].map(f);
        assert_eq!(texts, ["1.0", "0.1", "-0.0", "1e-10", "1.5e+20", "123456790.0", "nan"]);
        let c = |re: f32, im: f32| literal(&Literal::scalar(Complex32::new(re, im)));
        let texts = [c(1.0, 0.0), c(0.0, 0.0), c(0.0, -2.5), c(1e-10, -1.0), c(1.0, f32::NAN)];
        assert_eq!(texts, ["(1+0j)", "0j", "-2.5j", "(1e-10-1j)", "(1+nanj)"]);
    }

    #[test]
    fn complex_numbers_as_numpy() {
        let c = |data: &[(f32, f32)]| {
            let data: Vec<Complex32> = data.iter().map(|&(re, im)| Complex32::new(re, im)).collect();
            literal(&Literal::new([data.len()], &data))
        };
        assert_eq!(c(&[(1.0, 0.0), (2.0, 0.0)]), "[1.+0.j 2.+0.j]");
        assert_eq!(c(&[(1.5, -0.25), (-2.0, 10.0)]), "[ 1.5 -0.25j -2. +10.j  ]");
        assert_eq!(c(&[(1e-10, 1.0)]), "[1.e-10+1.j]");
        let wide = Literal::new([1], &[Complex64::new(1.0 / 3.0, f64::INFINITY)]);
        assert_eq!(literal(&wide), "[0.33333333+infj]");
    }

    #[test]
    fn lines_as_numpy() {
        let lines = |shape: &[usize], n: i32| literal(&Literal::new(shape, &(0..n).collect::<Vec<_>>()));
        // A line has at most 75 characters, including the brackets that the last line needs.
        assert_eq!(lines(&[25], 25).lines().next().unwrap().len(), 72);
        let row = literal(&Literal::new([2, 37], &[1i32; 74]));
        assert_eq!(row.lines().map(str::len).collect::<Vec<_>>(), [73, 4, 73, 5]);
    }
}
