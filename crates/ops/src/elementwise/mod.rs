//! Elementwise ops, in families that differ by a scalar function. Each op of a family is a constant: its row.
//!
//! Functions of floats of less than 32 bits are computed in `f32`, and the result of each op is rounded to its type.
//! Integers wrap. Functions of `complex<f32>` are computed in `complex<f64>` and rounded once.

mod bessel;
mod binary;
mod compare;
pub(crate) mod complex;
mod convert;
mod rows;
mod select;
mod special;
pub(crate) mod unary;

pub use binary::*;
pub use compare::Compare;
pub use complex::{narrow, widen};
pub use convert::{BitcastConvert, Convert, ReducePrecision};
pub use rows::{Map, Rows, Zip};
pub use select::{Clamp, Select};
pub use special::{COMPLEX, IS_FINITE, IS_INF, IS_NEG_INF, IS_POS_INF, MakeComplex, NextAfter, Predicate};
pub use unary::*;

use crate::schema::*;

const fn stablehlo(results: ResultLabels, on_quantized: OnQuantized, syntax: Syntax) -> Schema {
    Schema {
        attributes: NONE,
        operands: Operands::Each,
        results,
        on_quantized,
        syntax,
        names: Names::Numbered,
        role: Role::Plain,
    }
}

/// The schema of elementwise `chlo` ops. No specification numbers their constraints.
const CHLO: Schema = Schema {
    attributes: NONE,
    operands: Operands::Each,
    results: ResultLabels::NONE,
    on_quantized: OnQuantized::Refuses,
    syntax: Syntax::pieces(OPERANDS, Types::Arrow),
    names: Names::Numbered,
    role: Role::Plain,
};

/// The flops that a transcendental function counts as for each element.
pub const TRANSCENDENTAL: f64 = 10.0;
