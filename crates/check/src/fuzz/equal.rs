//! When the results of two runs count as equal.

use shardwise_base::compare::{Tolerance, compare};
use shardwise_base::{DType, Literal};

/// Returns the first difference between two lists of results. NaNs are equal whatever their bits are.
pub(super) fn difference(got: &[Literal], want: &[Literal]) -> Option<String> {
    compare(got, want, |_| Tolerance::Exact).err().map(|why| why.to_string())
}

/// Returns the first difference that rounding does not explain: floats may differ by a fraction of the largest element.
pub(super) fn difference_beyond_rounding(got: &[Literal], want: &[Literal]) -> Option<String> {
    let rounding = |i: usize| want.get(i).map_or(Tolerance::Exact, |x| Tolerance::OfLargestOrOne(places(x.dtype())));
    compare(got, want, rounding).err().map(|why| why.to_string())
}

/// Returns how many units in the last place of the largest element rounding may explain.
fn places(dtype: DType) -> u64 {
    match dtype.real() {
        DType::F64 => 1 << 25,
        DType::F32 => 1 << 13,
        DType::F16 => 1 << 5,
        DType::BF16 => 6,
        // These types have only powers of two, or numbers up to 6 or 28. Sums in other orders are rounded and saturated
        // differently.
        DType::F8E8M0FNU | DType::F4E2M1FN | DType::F6E2M3FN | DType::F6E3M2FN => 1 << 20,
        _ => 1 << 6,
    }
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
