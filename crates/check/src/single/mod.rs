//! Programs of one op from a seed: over the op table, element types, shapes and attributes, for comparing values with other
//! systems.
//!
//! What an op needs of its operands (indices near their range, divisors that are not 0) is a [`Fill`]; the rest is drawn
//! from numbers that matter: small integers, both zeros, infinities, NaN, the ends of the range.

mod fill;
mod ops;

pub use fill::Fill;

use crate::choose::Chooser;
use shardwise_base::{DType, Literal};
use shardwise_ir::{Module, TensorType, text, verify};
use shardwise_ops::{OPS, Opcode};
use std::fmt::Write;

/// A program whose `@main` is one op on its arguments, and inputs for it.
pub struct Single {
    pub seed: u64,
    pub op: Opcode,
    pub text: String,
    pub module: Module,
    pub inputs: Vec<Literal>,
}

/// An op to be written down.
pub(crate) struct Draft {
    pub op: Opcode,
    pub operands: Vec<(TensorType, Fill)>,
    /// Between `<{` and `}>`.
    pub attrs: String,
    /// Each with its braces.
    pub regions: Vec<String>,
    pub results: Vec<TensorType>,
}

/// How often other types and attributes are tried where the op refuses the first ones.
const TRIES: usize = 40;

/// The program of a seed. Panics if nothing can be made of the op that it drew: its row is wrong then.
pub fn single(seed: u64) -> Single {
    let mut choose = Chooser::new(seed);
    let (draft, text, module) = drawn_op(&mut choose);
    let inputs = draft.operands.iter().map(|(ty, fill)| fill.literal(&mut choose, ty)).collect();
    Single { seed, op: draft.op, text, module, inputs }
}

/// An op that is well-formed.
pub(crate) fn draft(choose: &mut Chooser) -> Draft {
    drawn_op(choose).0
}

/// A well-formed op, and a program of it alone.
fn drawn_op(choose: &mut Chooser) -> (Draft, String, Module) {
    let (op, row) = ops::draw(choose);
    let mut refusal = String::new();
    for _ in 0..TRIES {
        let dtype = *choose.of(row.dtypes);
        let Some(draft) = (row.make)(choose, op, dtype) else { continue };
        let text = draft.text();
        match text::parse("single", &text, &OPS).and_then(|m| verify(&m).or(m)) {
            Ok(module) => return (draft, text, module),
            Err(found) => refusal = format!("{found}\n{text}"),
        }
    }
    panic!("no `{}` is well-formed:\n{refusal}", op.name())
}

/// Every op that is drawn.
pub fn drawn() -> impl Iterator<Item = Opcode> {
    ops::TABLE.iter().flat_map(|row| row.ops.iter().copied())
}

impl Draft {
    fn text(&self) -> String {
        let list = |types: &mut dyn Iterator<Item = String>| types.collect::<Vec<_>>().join(", ");
        let operands = list(&mut self.operands.iter().map(|(t, _)| t.to_string()));
        let results = list(&mut self.results.iter().map(TensorType::to_string));
        let args = list(&mut self.operands.iter().enumerate().map(|(i, (t, _))| format!("%arg{i}: {t}")));
        let names = list(&mut (0..self.operands.len()).map(|i| format!("%arg{i}")));
        let n = self.results.len();
        let returned = list(&mut (0..n).map(|i| if n == 1 { "%0".to_string() } else { format!("%0#{i}") }));
        let mut op =
            format!("%0{} = \"{}\"({names})", if n == 1 { String::new() } else { format!(":{n}") }, self.op.name());
        if !self.attrs.is_empty() {
            let _ = write!(op, " <{{{}}}>", self.attrs);
        }
        if !self.regions.is_empty() {
            let _ = write!(op, " ({})", self.regions.join(", "));
        }
        format!(
            "func.func public @main({args}) -> ({results}) {{\n  {op} : ({operands}) -> ({results})\n  \
             return {returned} : {results}\n}}\n"
        )
    }
}

/// How far results may be from those of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tolerance {
    /// Bit for bit; NaNs are equal.
    Exact,
    /// So many representable numbers.
    Ulps(u64),
    /// So many units in the last place of the result's largest element: sums whose order is free.
    OfLargest(u64),
    /// The same, of 1 if the largest element is smaller: functions whose error is the same beside a zero as elsewhere.
    OfLargestOrOne(u64),
}

/// What is asked of an op on elements of this type: numbers that formulas approximate differ from one library to another.
pub fn tolerance(op: Opcode, dtype: DType) -> Tolerance {
    use Opcode::*;
    let is_narrow = matches!(dtype.real(), DType::BF16 | DType::F16);
    if !dtype.is_float() && !dtype.is_complex() {
        return Tolerance::Exact;
    }
    match op {
        Fft | Convolution | BatchNormTraining | BatchNormGrad | TriangularSolve | Cholesky => Tolerance::OfLargest(16),
        BatchNormInference => Tolerance::OfLargest(4),
        // Near their zeros theirs lose all digits, in every type; ours have them (oracle/accuracy.py).
        ChloLgamma | ChloDigamma | ChloPolygamma => Tolerance::OfLargestOrOne(if is_narrow { 1 } else { 32 }),
        // The interpreter rounds each of its steps.
        Logistic if is_narrow => Tolerance::Ulps(2),
        _ if is_narrow && ops::is_formula(op) => Tolerance::Ulps(1),
        _ if dtype.is_complex() && ops::is_formula(op) => Tolerance::OfLargest(16),
        // Theirs are off by so much, ours by 4 at most. JAX computes `erfc(x)` as `exp(-x^2)` times a quotient, with `x^2` rounded;
        // `erf_inv` from the logarithm of `1 - x^2`, rounded as well; `sinh` and `cosh` as the exponential of `x + log(1/2)`.
        ChloErfc | ChloErfInv => Tolerance::Ulps(64),
        ChloSinh | ChloCosh => Tolerance::Ulps(32),
        // Of the smallest normal numbers theirs is off by 22, ours by less than 1.
        ChloErf => Tolerance::Ulps(32),
        ChloZeta | ChloBesselI1e => Tolerance::Ulps(16),
        ChloAsinh | ChloAcosh | ChloAtanh => Tolerance::Ulps(8),
        _ if ops::is_formula(op) => Tolerance::Ulps(4),
        _ => Tolerance::Exact,
    }
}

/// How far two results of the same type are apart: the worst element, in the tolerance's units; `None`: further than can
/// be counted.
pub fn distance(tolerance: Tolerance, ours: &Literal, theirs: &Literal) -> Option<u64> {
    distances(tolerance, ours, theirs).into_iter().try_fold(0, |worst, apart| Some(apart?.max(worst)))
}

/// The element that is the furthest apart.
pub fn farthest(tolerance: Tolerance, ours: &Literal, theirs: &Literal) -> usize {
    let all = distances(tolerance, ours, theirs).into_iter().enumerate();
    all.max_by_key(|(_, apart)| apart.unwrap_or(u64::MAX)).map_or(0, |(i, _)| i)
}

/// Of each element, that of its parts.
fn distances(tolerance: Tolerance, ours: &Literal, theirs: &Literal) -> Vec<Option<u64>> {
    let (dtype, count) = (ours.dtype(), ours.size());
    let parts = |x: &Literal, i: usize| [x.get_f64(i), if dtype.is_complex() { x.imaginary_f64(i) } else { 0.0 }];
    let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
    let largest = (0..count).flat_map(|i| parts(theirs, i)).map(finite).fold(0.0, f64::max);
    let apart = |a: f64, b: f64| match tolerance {
        Tolerance::Exact => same_bits(a, b).then_some(0),
        Tolerance::Ulps(_) => ulps(dtype.real(), a, b),
        Tolerance::OfLargest(_) => of_largest(dtype.real(), a, b, largest),
        Tolerance::OfLargestOrOne(_) => of_largest(dtype.real(), a, b, largest.max(1.0)),
    };
    let of_element = |i: usize| {
        let ([a, b], [c, d]) = (parts(ours, i), parts(theirs, i));
        Some(apart(a, c)?.max(apart(b, d)?))
    };
    if !dtype.is_float() && !dtype.is_complex() {
        let (x, y) = (ours.to_dense(), theirs.to_dense());
        let of_integer = |(a, b): (&[u8], &[u8])| (a == b).then_some(0);
        let bytes = dtype.storage_bytes();
        return x.raw_bytes().chunks(bytes).zip(y.raw_bytes().chunks(bytes)).map(of_integer).collect();
    }
    (0..count).map(of_element).collect()
}

fn same_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Numbers of the type between two of its numbers; zeros of both signs are one.
fn ulps(dtype: DType, a: f64, b: f64) -> Option<u64> {
    if a == b || a.is_nan() && b.is_nan() {
        return Some(0);
    }
    // XLA flushes what is too small for a normal number.
    if (a == 0.0 || b == 0.0) && a.abs().max(b.abs()) < smallest_normal(dtype) {
        return Some(0);
    }
    if a.is_nan() || b.is_nan() || a.is_infinite() != b.is_infinite() || a.is_infinite() {
        return None;
    }
    Some(place(dtype, a).abs_diff(place(dtype, b)))
}

fn smallest_normal(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f32::MIN_POSITIVE.into(),
    }
}

/// The position of a number among those of the type.
fn place(dtype: DType, x: f64) -> i64 {
    let magnitude = match dtype {
        DType::F64 => x.abs().to_bits() as i64,
        DType::F32 => i64::from((x.abs() as f32).to_bits()),
        DType::F16 => i64::from(shardwise_base::f16::from_f64(x.abs()).to_bits()),
        _ => i64::from(shardwise_base::bf16::from_f64(x.abs()).to_bits()),
    };
    if x < 0.0 { -magnitude } else { magnitude }
}

fn of_largest(dtype: DType, a: f64, b: f64, largest: f64) -> Option<u64> {
    if !a.is_finite() || !b.is_finite() {
        return (a.is_nan() && b.is_nan() || a == b).then_some(0);
    }
    let epsilon = match dtype {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => 2f64.powi(-10),
        _ => 2f64.powi(-7),
    };
    if a == b { Some(0) } else { Some(((a - b).abs() / (largest * epsilon)).ceil() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_op_of_the_table_is_made() {
        let made: BTreeSet<Opcode> = (0..4000).map(|seed| single(seed).op).collect();
        let missing: Vec<&str> = drawn().filter(|op| !made.contains(op)).map(Opcode::name).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn distances() {
        let x = |v: f32| Literal::scalar(v);
        let next = f32::from_bits(1f32.to_bits() + 1);
        assert_eq!(distance(Tolerance::Ulps(1), &x(1.0), &x(next)), Some(1));
        assert_eq!(distance(Tolerance::Ulps(1), &x(0.0), &x(-0.0)), Some(0));
        assert_eq!(distance(Tolerance::Ulps(1), &x(1e-39), &x(0.0)), Some(0));
        assert_eq!(distance(Tolerance::Exact, &x(1e-39), &x(0.0)), None);
        assert_eq!(distance(Tolerance::Exact, &x(0.0), &x(-0.0)), None);
        assert_eq!(distance(Tolerance::Exact, &x(f32::NAN), &x(-f32::NAN)), Some(0));
        assert_eq!(distance(Tolerance::Ulps(1), &x(f32::INFINITY), &x(f32::MAX)), None);
        assert_eq!(distance(Tolerance::OfLargest(1), &x(1.0), &x(next)), Some(1));
        assert_eq!(distance(Tolerance::OfLargestOrOne(1), &x(0.0), &x(1e-8)), Some(1));
        let list = |values: [f32; 3]| Literal::new([3], &values);
        assert_eq!(farthest(Tolerance::Ulps(1), &list([1.0, 1.0, 1.0]), &list([next, 2.0, 1.0])), 1);
        assert_eq!(farthest(Tolerance::Ulps(1), &list([1.0, 1.0, 1.0]), &list([2.0, 1.0, f32::NAN])), 2);
    }
}
