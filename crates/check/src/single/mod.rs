//! Programs of one op from a seed: over the op table, element types, shapes and attributes, for comparing values with other
//! systems.
//!
//! What an op needs of its operands (indices near their range, divisors that are not 0) is a [`Fill`]; the rest is drawn
//! from numbers that matter: small integers, both zeros, infinities, NaN, the ends of the range.

mod fill;
mod ops;

pub use fill::Fill;

use crate::choose::Chooser;
use shardwise_base::compare::Tolerance;
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

/// What is asked of an op on elements of this type: numbers that formulas approximate differ from one library to another, and
/// XLA flushes what is too small for a normal number.
pub fn tolerance(op: Opcode, dtype: DType) -> Tolerance<'static> {
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
        Logistic if is_narrow => Tolerance::FlushedUlps(2),
        _ if is_narrow && ops::is_formula(op) => Tolerance::FlushedUlps(1),
        _ if dtype.is_complex() && ops::is_formula(op) => Tolerance::OfLargest(16),
        // Theirs are off by so much, ours by 4 at most. JAX computes `erfc(x)` as `exp(-x^2)` times a quotient, with `x^2` rounded;
        // `erf_inv` from the logarithm of `1 - x^2`, rounded as well; `sinh` and `cosh` as the exponential of `x + log(1/2)`.
        ChloErfc | ChloErfInv => Tolerance::FlushedUlps(64),
        ChloSinh | ChloCosh => Tolerance::FlushedUlps(32),
        // Of the smallest normal numbers theirs is off by 22, ours by less than 1.
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
