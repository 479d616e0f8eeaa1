//! When results of two runs count as equal.

use shardwise_base::{DType, Literal};

/// The first difference between two lists of results; NaNs of any bits are equal.
pub(super) fn difference(got: &[Literal], want: &[Literal]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} results instead of {}", got.len(), want.len()));
    }
    let differs = got.iter().zip(want).enumerate().find(|(_, (g, w))| !is_same(g, w));
    differs.map(|(i, (got, want))| format!("result {i}\n got {got:?}\nwant {want:?}"))
}

fn is_same(got: &Literal, want: &Literal) -> bool {
    got == want || is_alike(got, want) && has_nans(want.dtype()) && (0..want.size()).all(|i| is_same_at(got, want, i))
}

fn is_alike(got: &Literal, want: &Literal) -> bool {
    got.dtype() == want.dtype() && got.shape() == want.shape()
}

fn has_nans(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

fn is_same_at(got: &Literal, want: &Literal, i: usize) -> bool {
    got.element_bytes(i) == want.element_bytes(i)
        || parts(got, i)
            .into_iter()
            .zip(parts(want, i))
            .all(|(g, w)| g.to_bits() == w.to_bits() || g.is_nan() && w.is_nan())
}

fn parts(x: &Literal, i: usize) -> [f64; 2] {
    [x.get_f64(i), if x.dtype().is_complex() { x.imaginary_f64(i) } else { 0.0 }]
}

/// The first difference that rounding does not explain: floats may be apart by a part of the largest element.
pub(super) fn difference_beyond_rounding(got: &[Literal], want: &[Literal]) -> Option<String> {
    let is_near_enough = |(g, w): (&Literal, &Literal)| is_same(g, w) || is_near(g, w);
    let all_near = got.len() == want.len() && got.iter().zip(want).all(is_near_enough);
    if all_near { None } else { difference(got, want) }
}

fn is_near(got: &Literal, want: &Literal) -> bool {
    let tolerance = match want.dtype().real() {
        DType::F64 => 1e-8,
        DType::F32 => 1e-3,
        DType::F16 | DType::BF16 => 5e-2,
        other if other.is_float() => 0.5,
        _ => return false,
    };
    let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
    let largest = (0..want.size()).flat_map(|i| parts(want, i)).map(finite).fold(1.0, f64::max);
    let is_near_part = |(g, w): (f64, f64)| g == w || g.is_nan() && w.is_nan() || (g - w).abs() <= tolerance * largest;
    is_alike(got, want) && (0..want.size()).all(|i| parts(got, i).into_iter().zip(parts(want, i)).all(is_near_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_relative_to_the_largest_element() {
        let x = |values: &[f32]| [Literal::new([values.len()], values)];
        assert_eq!(difference_beyond_rounding(&x(&[100.0, 0.05]), &x(&[100.0, 0.0])), None);
        assert!(difference_beyond_rounding(&x(&[100.0, 0.2]), &x(&[100.0, 0.0])).is_some());
        assert!(difference_beyond_rounding(&x(&[f32::NAN]), &x(&[0.0])).is_some());
        assert!(difference_beyond_rounding(&[Literal::new([1], &[1])], &[Literal::new([1], &[2])]).is_some());
    }

    #[test]
    fn only_nans_may_differ_in_bits() {
        let x = |values: &[f32]| [Literal::new([values.len()], values)];
        let other_nan = f32::from_bits(f32::NAN.to_bits() | 1);
        assert_eq!(difference(&x(&[1.0, f32::NAN]), &x(&[1.0, other_nan])), None);
        assert!(difference(&x(&[0.0]), &x(&[-0.0])).is_some());
        assert!(difference(&x(&[1.0]), &x(&[f32::NAN])).is_some());
        assert!(difference(&x(&[1.0]), &x(&[1.0, 1.0])).is_some());
        assert!(difference(&x(&[1.0]), &[Literal::new([1], &[1.0f64])]).is_some());
        assert!(difference(&x(&[1.0]), &[]).is_some());
        assert!(difference(&[Literal::new([1], &[1i64 << 60])], &[Literal::new([1], &[(1i64 << 60) + 1])]).is_some());
    }
}
