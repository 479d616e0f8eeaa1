//! Named reducers: those of the block machine, and their scalar functions for loops that are compiled separately for
//! each of them.

use crate::block::Reducer;
use shardwise_ops::ReduceKind;

/// Returns the block machine's reducer for a kind of reduction.
pub fn reducer(kind: ReduceKind) -> Reducer {
    match kind {
        ReduceKind::Add => Reducer::Sum,
        ReduceKind::Mul => Reducer::Product,
        ReduceKind::Max => Reducer::Max,
        ReduceKind::Min => Reducer::Min,
        ReduceKind::And => Reducer::And,
        ReduceKind::Or => Reducer::Or,
    }
}

/// Expands to an expression that is `$with!(T, widen, op, narrow)` for the element type `T` and the function of a kind
/// of reduction, which works on widened numbers, or `None` if there is no such function. `T` is `u8` for truth values.
macro_rules! by_reducer {
    (@integer $T:ty, $kind:expr, $with:ident) => {
        match $kind {
            Add => $with!($T, |x| x, |a: $T, b| a.wrapping_add(b), |x| x),
            Mul => $with!($T, |x| x, |a: $T, b| a.wrapping_mul(b), |x| x),
            Max => $with!($T, |x| x, |a: $T, b| a.max(b), |x| x),
            Min => $with!($T, |x| x, |a: $T, b| a.min(b), |x| x),
            And => $with!($T, |x| x, |a: $T, b| a & b, |x| x),
            Or => $with!($T, |x| x, |a: $T, b| a | b, |x| x),
        }
    };
    (@float $T:ty, $widen:expr, $narrow:expr, $max:expr, $min:expr, $kind:expr, $with:ident) => {
        match $kind {
            Add => $with!($T, $widen, |a, b| a + b, $narrow),
            Mul => $with!($T, $widen, |a, b| a * b, $narrow),
            Max => $with!($T, $widen, $max, $narrow),
            Min => $with!($T, $widen, $min, $narrow),
            And | Or => None,
        }
    };
    (@complex $T:ty, $kind:expr, $with:ident) => {
        match $kind {
            Add => $with!($T, <$T>::widen, |a: Complex64, b: Complex64| a + b, <$T>::narrow),
            Mul => $with!($T, <$T>::widen, |a: Complex64, b: Complex64| a * b, <$T>::narrow),
            Max | Min | And | Or => None,
        }
    };
    ($elem:expr, $kind:expr, $with:ident) => {{
        use crate::elem::{ComplexNumber, Elem};
        use half::{bf16, f16};
        use num_complex::{Complex32, Complex64};
        use shardwise_mathfn::{max_f32, max_f64, min_f32, min_f64};
        use shardwise_ops::ReduceKind::*;
        match $elem {
            Elem::I8 => by_reducer!(@integer i8, $kind, $with),
            Elem::I16 => by_reducer!(@integer i16, $kind, $with),
            Elem::I32 => by_reducer!(@integer i32, $kind, $with),
            Elem::I64 => by_reducer!(@integer i64, $kind, $with),
            Elem::U8 => by_reducer!(@integer u8, $kind, $with),
            Elem::U16 => by_reducer!(@integer u16, $kind, $with),
            Elem::U32 => by_reducer!(@integer u32, $kind, $with),
            Elem::U64 => by_reducer!(@integer u64, $kind, $with),
            Elem::Bool if $kind.of_truths() == And => $with!(u8, |x| x, |a: u8, b| a & b, |x| x),
            Elem::Bool => $with!(u8, |x| x, |a: u8, b| a | b, |x| x),
            Elem::F32 => by_reducer!(@float f32, |x| x, |x: f32| x, max_f32, min_f32, $kind, $with),
            Elem::F64 => by_reducer!(@float f64, |x| x, |x: f64| x, max_f64, min_f64, $kind, $with),
            Elem::BF16 => by_reducer!(@float bf16, bf16::to_f32, bf16::from_f32, max_f32, min_f32, $kind, $with),
            Elem::F16 => by_reducer!(@float f16, f16::to_f32, f16::from_f32, max_f32, min_f32, $kind, $with),
            Elem::C64 => by_reducer!(@complex Complex32, $kind, $with),
            Elem::C128 => by_reducer!(@complex Complex64, $kind, $with),
        }
    }};
}

pub(super) use by_reducer;
