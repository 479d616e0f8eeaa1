//! Combining elements as a reducer does, without running its region if the reduction is a known one.

use super::Number;
use crate::ReduceKind;
use shardwise_base::Complex64;
use shardwise_mathfn as fns;

/// Returns `a` combined with `b`. Both must be of one kind, and [`can_combine`] must be true for their element type.
/// The caller rounds or wraps the result to the element type.
pub(crate) fn combine(kind: ReduceKind, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Bool(a), Number::Bool(b)) => {
            Number::Bool(if kind.of_truths() == ReduceKind::And { a & b } else { a | b })
        }
        (Number::Signed(a), Number::Signed(b)) => Number::Signed(match kind {
            ReduceKind::Add => a.wrapping_add(b),
            ReduceKind::Mul => a.wrapping_mul(b),
            ReduceKind::Max => a.max(b),
            ReduceKind::Min => a.min(b),
            ReduceKind::And => a & b,
            ReduceKind::Or => a | b,
        }),
        (Number::Unsigned(a), Number::Unsigned(b)) => Number::Unsigned(match kind {
            ReduceKind::Add => a.wrapping_add(b),
            ReduceKind::Mul => a.wrapping_mul(b),
            ReduceKind::Max => a.max(b),
            ReduceKind::Min => a.min(b),
            ReduceKind::And => a & b,
            ReduceKind::Or => a | b,
        }),
        (Number::Single(a), Number::Single(b)) => Number::Single(match kind {
            ReduceKind::Add => a + b,
            ReduceKind::Mul => a * b,
            ReduceKind::Max => fns::max_f32(a, b),
            ReduceKind::Min => fns::min_f32(a, b),
            _ => unreachable!("floats have no bits"),
        }),
        (Number::Double(a), Number::Double(b)) => Number::Double(match kind {
            ReduceKind::Add => a + b,
            ReduceKind::Mul => a * b,
            ReduceKind::Max => fns::max_f64(a, b),
            ReduceKind::Min => fns::min_f64(a, b),
            _ => unreachable!("floats have no bits"),
        }),
        (Number::Complex(a), Number::Complex(b)) => Number::Complex(combine_complex(kind, a, b)),
        _ => unreachable!("elements of one type"),
    }
}

fn combine_complex(kind: ReduceKind, a: Complex64, b: Complex64) -> Complex64 {
    match kind {
        ReduceKind::Add => a + b,
        ReduceKind::Mul => a * b,
        _ => unreachable!("complex numbers are combined by sums and products only"),
    }
}

pub(crate) fn can_combine(kind: ReduceKind, dtype: shardwise_base::DType) -> bool {
    use ReduceKind::*;
    match kind {
        Add | Mul => true,
        Max | Min => !dtype.is_complex(),
        And | Or => dtype.is_integer() || dtype.is_bool(),
    }
}
