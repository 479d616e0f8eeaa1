//! Formats values as NumPy prints them.

use shardwise_base::{DType, Kind, Literal};

/// Arrays with more elements than this are summarized.
const THRESHOLD: usize = 1000;
/// The number of elements shown at each end of a summarized dimension.
const EDGE: usize = 3;
const LINE: usize = 75;

/// Formats an array as NumPy's `str` does.
pub(crate) fn literal(x: &Literal) -> String {
    let is_long = x.size() > THRESHOLD;
    let shown = shown_indices(x.shape(), is_long);
    let words = format_elements(x, &shown);
    if x.rank() == 0 {
        return words[0].trim().to_string();
    }
    if x.size() == 0 {
        return "[]".into();
    }
    let width = words.iter().map(|w| w.chars().count()).max().unwrap_or(0);
    let words: Vec<String> = words.iter().map(|w| format!("{w:>width$}")).collect();
    let mut words = words.into_iter();
    let mut out = String::new();
    print(x.shape(), is_long, 1, &mut words, &mut out);
    out
}

/// Returns the indices that are shown for a dimension of size `n`: all of them, or those at both ends if `is_long`.
/// `None` stands for a gap.
fn edges(n: usize, is_long: bool) -> Vec<Option<usize>> {
    if is_long && n > 2 * EDGE {
        (0..EDGE).map(Some).chain([None]).chain((n - EDGE..n).map(Some)).collect()
    } else {
        (0..n).map(Some).collect()
    }
}

/// Returns the positions of the elements that are printed, in order.
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
        if k > 0 && column + length + 1 > LINE {
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
    match x.dtype().kind() {
        Kind::Bool => shown.iter().map(|&i| if x.get_i128(i) != 0 { "True" } else { "False" }.to_string()).collect(),
        Kind::Signed | Kind::Unsigned => shown.iter().map(|&i| x.get_i128(i).to_string()).collect(),
        Kind::Float if x.dtype().is_computed() => {
            floats(&shown.iter().map(|&i| (x.get_f64(i), shortest(x, i))).collect::<Vec<_>>())
        }
        _ => shown.iter().map(|&i| format!("{:02x?}", x.element_bytes(i))).collect(),
    }
}

/// Formats an element with digits that read back as the same element: as few as possible for `f32` and `f64`, and at
/// most 4 for `bf16` and 5 for others.
fn shortest(x: &Literal, i: usize) -> String {
    let v = x.get_f64(i);
    match x.dtype() {
        DType::F64 => format!("{v}"),
        DType::F32 => format!("{}", v as f32),
        dtype => {
            let digits = if dtype == DType::BF16 { 3 } else { 4 };
            let rounded: f64 = format!("{:.*e}", digits, v).parse().unwrap_or(v);
            format!("{}", rounded as f32)
        }
    }
}

/// Formats all numbers in one notation with the same number of decimals, as NumPy chooses them.
fn floats(values: &[(f64, String)]) -> Vec<String> {
    let finite = || values.iter().map(|v| v.0.abs()).filter(|v| v.is_finite() && *v != 0.0);
    let (max, min) = (finite().fold(0.0, f64::max), finite().fold(f64::INFINITY, f64::min));
    let is_scientific = max >= 1e8 || min < 1e-4 || (min.is_finite() && max / min > 1e3 && max > 1e16);
    let is_scientific = is_scientific && max > 0.0;
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, d)| d.len()).min(8);
    let places = values.iter().filter(|v| v.0.is_finite()).map(|v| decimals(&v.1)).max().unwrap_or(0);
    let one = |(v, text): &(f64, String)| match v {
        v if v.is_nan() => "nan".to_string(),
        v if v.is_infinite() => if *v > 0.0 { "inf" } else { "-inf" }.to_string(),
        v if is_scientific => scientific(*v),
        v => {
            let short: f64 = text.parse().unwrap_or(*v);
            let fixed = format!("{short:.places$}");
            let trimmed = if fixed.contains('.') { fixed.trim_end_matches('0').to_string() } else { fixed + "." };
            format!("{trimmed:<width$}", width = trimmed.find('.').map_or(0, |d| d + 1 + places))
        }
    };
    values.iter().map(one).collect()
}

fn scientific(v: f64) -> String {
    let text = format!("{v:.8e}");
    let (mantissa, exponent) = text.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy() {
        let f = |shape: &[usize], data: &[f32]| literal(&Literal::new(shape, data));
        assert_eq!(f(&[], &[1.5]), "1.5");
        assert_eq!(f(&[3], &[1.0, 2.5, -3.25]), "[ 1.    2.5  -3.25]");
        assert_eq!(f(&[2, 2], &[0.0, 1.0, 2.0, 3.0]), "[[0. 1.]\n [2. 3.]]");
        assert_eq!(literal(&Literal::new([2, 1, 2], &[1i32, 2, 3, 40])), "[[[ 1  2]]\n\n [[ 3 40]]]");
        assert_eq!(literal(&Literal::new([0], &[] as &[f32])), "[]");
        let long = literal(&Literal::new([2000], &(0..2000).collect::<Vec<i32>>()));
        assert_eq!(long, "[   0    1    2 ... 1997 1998 1999]");
    }
}
