//! Generates programs of one op from a seed: over the op table, element types, shapes and attributes. They are used to
//! compare values with other systems.
//!
//! The requirements of an op on its operands (indices near their range, divisors that are not 0) are a [`Fill`]. Other
//! elements are drawn from numbers that are likely to matter: small integers, both zeros, infinities, NaN, and the ends
//! of the range.

mod fill;
mod ops;

pub use fill::Fill;
pub use ops::is_elementwise;

use crate::choose::Chooser;
use shardwise_base::compare::Tolerance;
use shardwise_base::{DType, Literal};
use shardwise_ir::{Module, TensorType, text, verify};
use shardwise_ops::{OPS, Opcode};
use std::fmt::Write;

/// A program whose `@main` is one op on its arguments, with inputs.
pub struct Single {
    pub seed: u64,
    pub op: Opcode,
    pub text: String,
    pub module: Module,
    pub inputs: Vec<Literal>,
}

/// An op before it is written as text.
pub(crate) struct Draft {
    pub op: Opcode,
    pub operands: Vec<(TensorType, Fill)>,
    /// The attributes between `<{` and `}>`.
    pub attrs: String,
    /// The regions, each with its braces.
    pub regions: Vec<String>,
    pub results: Vec<TensorType>,
}

/// The number of attempts to draw types and attributes with which the op is well-formed.
const TRIES: usize = 40;

/// Returns the program of a seed.
///
/// # Panics
///
/// Panics if the op that was drawn cannot be made. Its row is wrong then.
pub fn single(seed: u64) -> Single {
    let mut choose = Chooser::new(seed);
    let (draft, text, module) = drawn_op(&mut choose);
    let inputs = draft.operands.iter().map(|(ty, fill)| fill.literal(&mut choose, ty)).collect();
    Single { seed, op: draft.op, text, module, inputs }
}

pub(crate) fn draft(choose: &mut Chooser) -> Draft {
    drawn_op(choose).0
}

/// Returns a well-formed op, and a program of it alone. Panics if the op that was drawn cannot be made.
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

/// Returns every op that can be drawn. An op that is drawn more often than others is listed more than once.
pub fn drawn() -> impl Iterator<Item = Opcode> {
    ops::drawn()
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

/// Returns the tolerance for an op on elements of this type. Numbers that are approximated by formulas differ between
/// libraries, and XLA replaces subnormal numbers by 0.
pub fn tolerance(op: Opcode, dtype: DType) -> Tolerance<'static> {
    use Opcode::*;
    let is_narrow = matches!(dtype.real(), DType::BF16 | DType::F16);
    if !dtype.is_float() && !dtype.is_complex() {
        return Tolerance::Exact;
    }
    match op {
        Fft | Convolution | BatchNormTraining | BatchNormGrad | TriangularSolve | Cholesky => Tolerance::OfLargest(16),
        BatchNormInference => Tolerance::OfLargest(4),
        // Near their zeros, XLA's results lose all digits in every type. Ours have them (oracle/accuracy.py).
        ChloLgamma | ChloDigamma | ChloPolygamma => Tolerance::OfLargestOrOne(if is_narrow { 1 } else { 32 }),
        // The interpreter rounds each of its steps.
        Logistic if is_narrow => Tolerance::FlushedUlps(2),
        _ if is_narrow && ops::is_formula(op) => Tolerance::FlushedUlps(1),
        _ if dtype.is_complex() && ops::is_formula(op) => Tolerance::OfLargest(16),
        // XLA's results are wrong by this much, and ours by 4 at most. JAX computes `erfc(x)` as `exp(-x^2)` times a
        // quotient, with `x^2` rounded; `erf_inv` from the logarithm of `1 - x^2`, which is rounded as well; and `sinh`
        // and `cosh` as the exponential of `x + log(1/2)`.
        ChloErfc | ChloErfInv => Tolerance::FlushedUlps(64),
        ChloSinh | ChloCosh => Tolerance::FlushedUlps(32),
        // For the smallest normal numbers, XLA's result is wrong by 22, and ours by less than 1.
        ChloErf => Tolerance::FlushedUlps(32),
        ChloZeta | ChloBesselI1e => Tolerance::FlushedUlps(16),
        ChloAsinh | ChloAcosh | ChloAtanh => Tolerance::FlushedUlps(8),
        _ if ops::is_formula(op) => Tolerance::FlushedUlps(4),
        _ => Tolerance::Exact,
    }
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
}
