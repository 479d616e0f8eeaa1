//! `stablehlo.constant`: an array that is part of the program.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};

pub struct Constant;

macro_rules! constant_example {
    ($dialect:literal) => {
        concat!(
            "func.func @main() -> tensor<2xf32> {\n  %0 = ",
            $dialect,
            ".constant dense<[1.0, 2.0]> : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
        )
    };
}

/// The largest number of ops between an op and a constant that is found. Each op of a long chain looks for a constant,
/// so that without a limit the time would grow with the square of its length.
const MOST_BETWEEN: usize = 64;

/// Returns the array of operand `i` if a `stablehlo`, `sdy` or `chlo` constant defines it, directly or through up to 64
/// marks: ops that return their only operand unchanged ([`Semantics::Identity`]), such as a sharding constraint. Returns
/// `None` otherwise.
pub fn constant_operand<'v>(op: &OpView<'v>, i: usize) -> Option<&'v Literal> {
    behind(op, i, |def| is_mark(def).then(|| def.operand(0)))
}

/// Returns the array of operand `i` if a constant defines it, directly or through up to 64 marks and ops whose results
/// are always equal to another value ([`Facts::forwards`]). Returns `None` otherwise.
pub fn known_operand<'v>(op: &OpView<'v>, i: usize) -> Option<&'v Literal> {
    let marked = |def: &OpView<'_>| is_mark(def).then(|| def.operand(0));
    behind(op, i, |def| Opcode::of_view(def).facts().forwards(def).or_else(|| marked(def)))
}

/// Returns the array of operand `i` if a constant defines it, directly or through at most [`MOST_BETWEEN`] ops for which
/// `same` returns the value to which their results are equal.
fn behind<'v>(op: &OpView<'v>, i: usize, same: impl Fn(&OpView<'v>) -> Option<Value>) -> Option<&'v Literal> {
    let mut def = op.operand_def(i)?;
    for _ in 0..MOST_BETWEEN {
        match same(&def) {
            Some(value) => def = op.at(op.body.def_op(value)?),
            None => break,
        }
    }
    constant_value(&def)
}

/// Returns the value from which up to 64 marks make `value` ([`constant_operand`] says what marks are). It is `value` if
/// no mark makes it. `view` is any op of the value's body.
pub fn unmarked(view: &OpView<'_>, value: Value) -> Value {
    let mark = |v: Value| view.body.def_op(v).map(|op| view.at(op)).filter(is_mark).map(|def| def.operand(0));
    std::iter::successors(Some(value), |&v| mark(v)).take(MOST_BETWEEN + 1).last().unwrap_or(value)
}

/// Returns true if the op has one operand and one result, and its semantics are [`Semantics::Identity`].
fn is_mark(op: &OpView<'_>) -> bool {
    let is_unary = op.operands().len() == 1 && op.results().len() == 1;
    is_unary && Opcode::of_view(op).facts().semantics(op) == Semantics::Identity
}

/// Returns the array of a `stablehlo`, `sdy` or `chlo` constant, which is its attribute `value`. Returns `None` for
/// other ops, even if they have an attribute of this name, and for a constant without an array.
pub fn constant_value<'v>(op: &OpView<'v>) -> Option<&'v Literal> {
    let is_constant = matches!(Opcode::of_view(op), Opcode::Constant | Opcode::SdyConstant | Opcode::ChloConstant);
    op.attr("value").filter(|_| is_constant).and_then(Attr::as_dense)
}

fn constant_name(op: &OpView<'_>) -> &'static [&'static str] {
    let is_integer = op.result_type(0).as_tensor().is_some_and(|t| t.dtype.is_integer() || t.dtype.is_bool());
    if is_integer { &["c"] } else { &["cst"] }
}

impl Constant {
    pub(crate) const CONSTANT: Schema = Schema {
        attributes: &[required("value", Some("constant_i1"), AttrKind::Dense)],
        operands: Operands::Each,
        results: ResultLabels::both("constant_c1"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::constant::ConstantForm),
        names: Names::By(constant_name),
        role: Role::Plain,
    };

    /// The schema of the constants that the specification does not number.
    pub(crate) const WITHOUT_LABELS: Schema = Schema {
        attributes: &[required("value", None, AttrKind::Dense)],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::constant::ConstantForm),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Replaces the array in the attributes, if they have one, by the array that `map` returns for it.
    pub fn map_value(attrs: &mut Attrs, map: impl FnOnce(&Literal) -> Literal) {
        if let Some(value) = attrs.get("value").and_then(Attr::as_dense).map(map) {
            attrs.set("value", Attr::Dense(value));
        }
    }

    /// Builds the attributes of a constant.
    pub fn attrs(value: Literal) -> Attrs {
        Attrs::new().with("value", Attr::Dense(value))
    }
}

impl Facts for Constant {
    answer!(calculus = none("it has no operands"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [] = check::tensors(op)?;
        let value = constant_value(op).expect("a required attribute");
        let given = check::declared_dtype(op, value.dtype());
        let dtype = if given.storage() == value.dtype() { given } else { value.dtype() };
        Check::new(op).give_tensor(dtype, value.shape())
    }

    fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![constant_value(op).expect("verified").clone()])
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let value = constant_value(&cx.op).expect("verified");
        let local = cx.result_types[0].shape().to_vec();
        if value.size() > 0 && value.is_uniform() {
            let splat = Literal::splat(value.dtype(), local, value.element_bytes(0));
            return Ok(vec![make::constant(cx.builder, splat)]);
        }
        let whole = make::constant(cx.builder, value.clone());
        let sharding = cx.result_shardings[0].clone();
        Ok(vec![make::block_of(cx.builder, whole, sharding.as_ref(), &local)])
    }

    fn enlarged(&self, op: &OpView<'_>, types: &Enlarged<'_>) -> Attrs {
        let value = constant_value(op).expect("verified");
        op.attrs().clone().with("value", Attr::Dense(padded(value, types.results[0].shape())))
    }
    answer!(index_bounds = none);

    fn constness(&self, op: &OpView<'_>) -> Constness {
        if Opcode::of_view(op) == Opcode::ChloConstant { Constness::No } else { Constness::Literal }
    }

    answer!(usual but enlarged, constness);
    answer!(pure);
    answer!(rule = none("a constant has no operands"));
    answer!(class = Other);
    answer!(combine = none);
    answer!(cost = streams(0.0));
    answer!(linear = No);
    answer!(explicit = not("a constant has the sharding that its users ask for"));
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::SdyConstant => constant_example!("sdy"),
            Opcode::ChloConstant => constant_example!("chlo"),
            _ => constant_example!("stablehlo"),
        }
    }
}

fn padded(value: &Literal, shape: &[usize]) -> Literal {
    if value.shape() == shape {
        return value.clone();
    }
    if value.is_splat() {
        return Literal::splat(value.dtype(), shape, value.raw_bytes());
    }
    let width = value.dtype().storage_bytes();
    let mut out = Literal::dense_zeros(value.dtype(), shape).expect("the enlarged type was checked");
    let bytes = out.bytes_mut();
    for i in 0..value.size() {
        let mut rest = i;
        let (mut at, mut stride) = (0, 1);
        for (n, p) in value.shape().iter().zip(shape).rev() {
            at += rest % n * stride;
            rest /= n;
            stride *= p;
        }
        bytes[at * width..][..width].copy_from_slice(value.element_bytes(i));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Returns the number of ops at which a search stops to look for a constant behind this many transposes, and the
    /// constants that are found.
    fn found(between: usize) -> (usize, [bool; 2]) {
        let mut text =
            "func.func @main() -> tensor<2x2xf32> {\n  %v0 = stablehlo.constant dense<1.0> : tensor<2x2xf32>\n"
                .to_string();
        let ty = "tensor<2x2xf32>";
        for i in 0..=between {
            text += &format!("  %v{} = stablehlo.transpose %v{i}, dims = [0, 1] : ({ty}) -> {ty}\n", i + 1);
        }
        text += &format!("  return %v{} : {ty}\n}}", between + 1);
        let module = shardwise_ir::text::parse("chain.mlir", &text, &crate::OPS).unwrap();
        let body = &module.main().unwrap().body;
        let last = module.view(body, body.walk()[between + 1]);
        let steps = Cell::new(0);
        let counted = |def: &OpView<'_>| {
            steps.set(steps.get() + 1);
            Opcode::of_view(def).facts().forwards(def)
        };
        let is_found = behind(&last, 0, counted).is_some();
        (steps.get(), [is_found, known_operand(&last, 0).is_some()])
    }

    #[test]
    fn constants_are_found_behind_a_limited_number_of_ops() {
        assert_eq!(found(0), (1, [true; 2]));
        assert_eq!(found(MOST_BETWEEN - 1), (MOST_BETWEEN, [true; 2]));
        assert_eq!(found(MOST_BETWEEN), (MOST_BETWEEN, [true; 2]));
        assert_eq!(found(10 * MOST_BETWEEN), (MOST_BETWEEN, [false; 2]));
    }
}
