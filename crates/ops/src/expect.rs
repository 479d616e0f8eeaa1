//! Ops that tests of interpreters use: the `check` dialect, which compares values, and the `interpreter` dialect, which
//! runs a grid of programs and records their values.
//!
//! ```text
//! check.expect_eq_const %0, dense<[1, 2]> : tensor<2xi32>
//! check.expect_close %0, %1, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>
//! %1:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@f, @f]]} : (T, T) -> (T, T)
//! ```
//! A check that fails ends the run with the error `check-failed`. The checks of two operands are also known as custom
//! calls, `stablehlo.custom_call @check.expect_eq(%a, %b)`.

use crate::Opcode;
use crate::check::{self, Check, MANY, counts, types_of};
use crate::control::CustomCall;
use crate::facts::*;
use crate::schema::*;
use shardwise_base::compare::{element_text, indices, ulps};
use shardwise_base::{Bool8, DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, OpView, Type, Value};

/// The ops `check.expect_*` that compare two values, or a value and a constant.
pub struct Expect;
/// `check.expect_serialized_eq`, which compares a value with one that a probe has recorded.
pub struct ExpectProbed;
/// `interpreter.probe`: the identity, but the engine records each of its values.
pub struct Probe;
/// `interpreter.print`, which prints a value.
pub struct Print;

/// `interpreter.run_parallel`, which runs a grid of programs, `programs[replica][partition]`.
pub struct RunParallel;

/// The difference that two values may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Nearness {
    /// The values are equal numbers. A NaN is equal to nothing.
    Equal,
    /// The values, or both parts of complex numbers, differ by at most `tolerance` or are equal. Two NaNs are close.
    Within { tolerance: f64 },
    /// The values are `min` to `max` representable values apart. For complex numbers, the larger distance of both parts
    /// counts. Two NaNs are 0 apart, and so are zeros of both signs. An infinity or a NaN is not near any other value.
    Ulps { min: u64, max: u64 },
}

/// The form of a check: the difference that it allows, and whether the expected value is an attribute.
struct Form {
    nearness: Nearness,
    has_constant: bool,
}

/// Returns the form of the check `name`: `expect_eq`, `expect_almost_eq` or `expect_close`, each perhaps with `_const`
/// at the end. Returns `None` for other names. The tolerance and the ulps are those of the attributes of `op`, or their
/// defaults.
fn form(name: &str, op: &OpView<'_>) -> Option<Form> {
    let ulps = |name: &str| match op.attr(name)? {
        // An unsigned number has the same bits.
        Attr::Int { value, dtype: Some(DType::U64) } => Some(*value as u64),
        other => other.as_int().and_then(|n| u64::try_from(n).ok()),
    };
    let tolerance = match op.attr("tolerance") {
        Some(Attr::Float { value, .. }) => *value,
        _ => 1e-4,
    };
    let (stem, has_constant) = match name.strip_suffix("_const") {
        Some(stem) => (stem, true),
        None => (name, false),
    };
    let nearness = match stem {
        "expect_eq" => Nearness::Equal,
        "expect_almost_eq" => Nearness::Within { tolerance },
        "expect_close" => {
            let max = ulps("max_ulp_difference").unwrap_or(DEFAULT_ULPS);
            Nearness::Ulps { min: ulps("min_ulp_difference").unwrap_or(0), max }
        }
        _ => return None,
    };
    Some(Form { nearness, has_constant })
}

/// The largest difference in ulps that `expect_close` allows if `max_ulp_difference` is absent or negative.
const DEFAULT_ULPS: u64 = 3;

fn form_of(op: &OpView<'_>) -> Option<Form> {
    form(op.name().strip_prefix("check.")?, op)
}

/// Writes a function that consists of this text and the return.
macro_rules! example {
    ($line:literal) => {
        concat!(
            "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  ",
            $line,
            "\n  return %arg0 : tensor<2xf32>\n}"
        )
    };
}
/// Facts that all of these ops share.
macro_rules! test_facts {
    () => {
        answer!(class = Other);
        answer!(data_flow = none);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(cost = streams(0.0));
        answer!(effects = Ordered);
        answer!(linear = No);
        answer!(explicit = not("it belongs to tests"));
    };
}

const fn schema(attributes: &'static [AttrSpec], syntax: Syntax) -> Schema {
    Schema {
        attributes,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax,
        names: Names::Numbered,
        role: Role::Plain,
    }
}

impl Expect {
    pub(crate) const EXPECT_EQ: Schema =
        schema(NONE, Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand], Types::OperandsSame));

    pub(crate) const EXPECT_EQ_CONST: Schema = schema(
        &[required("value", None, AttrKind::Dense), optional("tolerance", None, AttrKind::Float, "it is not used")],
        Syntax::pieces(&[Piece::Operand, COMMA, Piece::Attr("value", Written::Any), TOLERANCE], Types::None),
    );

    pub(crate) const EXPECT_ALMOST_EQ: Schema = schema(
        &[optional("tolerance", None, AttrKind::Float, "0.0001")],
        Syntax::pieces(&[Piece::Operand, COMMA, Piece::Operand, TOLERANCE], Types::OperandsSame),
    );

    pub(crate) const EXPECT_ALMOST_EQ_CONST: Schema = schema(
        &[required("value", None, AttrKind::Dense), optional("tolerance", None, AttrKind::Float, "0.0001")],
        Syntax::pieces(&[Piece::Operand, COMMA, Piece::Attr("value", Written::Any), TOLERANCE], Types::None),
    );

    pub(crate) const EXPECT_CLOSE: Schema = schema(
        &[
            optional("max_ulp_difference", None, AttrKind::Int(DType::U64), "3"),
            optional("min_ulp_difference", None, AttrKind::Int(DType::U64), "0"),
        ],
        Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::Operand,
                Piece::Text(", max_ulp_difference = "),
                Piece::Attr("max_ulp_difference", Written::Int(DType::U64)),
                Piece::Optional(&[
                    Piece::Text(", min_ulp_difference = "),
                    Piece::Attr("min_ulp_difference", Written::Int(DType::U64)),
                ]),
            ],
            Types::Operands,
        ),
    );
}

impl Facts for Expect {
    answer!(calculus = none("checks are for tests"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let form = form_of(op).expect("a row of the table");
        let wanted = if form.has_constant { 1 } else { 2 };
        let types = check::counted_tensors(op, wanted..=wanted, 0)?;
        let constant = op.attr("value").and_then(Attr::as_dense).map(|l| Type::tensor(l.dtype(), l.shape()));
        let expected = if form.has_constant { constant } else { Some(types[1].clone().into()) };
        let is_number = types[0].dtype.is_float() || types[0].dtype.is_complex();
        Check::new(op)
            .that(
                "expect_c1",
                expected == Some(types[0].clone().into()),
                "the expected value, `value` or the second operand, must have the type of the first operand",
            )
            .that(
                "expect_c2",
                form.nearness == Nearness::Equal || is_number,
                "only floats and complex numbers can be compared with a tolerance",
            )
            .give([])
    }
    answer!(usual);
    answer!(rule = none("values are compared as a whole"));
    answer!(semantics = Pure);
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let form = form_of(op).expect("a row of the table");
        let constant = op.attr("value").and_then(Attr::as_dense).filter(|_| form.has_constant);
        compare(op, form.nearness, &x[0], constant.unwrap_or_else(|| &x[x.len() - 1]))?;
        Ok(vec![])
    }
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::ExpectEq => example!("check.expect_eq %arg0, %arg0 : tensor<2xf32>"),
            Opcode::ExpectEqConst => example!(
                "%0 = stablehlo.constant dense<1.0> : tensor<2xf32>\n  check.expect_eq_const %0, dense<1.0> : tensor<2xf32>"
            ),
            Opcode::ExpectAlmostEq => {
                example!("check.expect_almost_eq %arg0, %arg0, tolerance = 1.000000e-01 : tensor<2xf32>")
            }
            Opcode::ExpectAlmostEqConst => {
                example!(
                    "%0 = stablehlo.constant dense<1.0> : tensor<2xf32>\n  check.expect_almost_eq_const %0, dense<1.0> : tensor<2xf32>"
                )
            }
            _ => example!("check.expect_close %arg0, %arg0, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>"),
        }
    }
    test_facts!();
}

impl ExpectProbed {
    pub(crate) const SCHEMA: Schema = schema(
        &[required("probe_id", None, AttrKind::Word), optional("iteration", None, AttrKind::Int(DType::U32), "0")],
        Syntax::pieces(
            &[
                Piece::Operand,
                PROBE,
                PROBE_ID,
                Piece::Optional(&[Piece::Text(", iter = "), Piece::Attr("iteration", Written::Int(DType::U32))]),
            ],
            Types::OperandsSame,
        ),
    );

    /// Returns the index of the compared value among those that the probe recorded, which is 0 if the attribute
    /// `iteration` is missing or negative. The first value has the index 0.
    pub fn iteration(op: &OpView<'_>) -> usize {
        op.attrs().size("iteration").unwrap_or(0)
    }
}

impl Facts for ExpectProbed {
    answer!(calculus = none("checks are for tests"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::counted_tensors(op, 1..=1, 0)?;
        Ok(vec![])
    }
    answer!(usual);
    answer!(rule = none("values are compared as a whole"));
    answer!(semantics = Control);
    answer!(eval = engine);
    answer!(example = example!(r#"check.expect_serialized_eq %arg0, probe_id = "x", iter = 1 : tensor<2xf32>"#));
    test_facts!();
}

impl Probe {
    pub(crate) const SCHEMA: Schema = schema(
        &[required("probe_id", None, AttrKind::Word)],
        Syntax::pieces(&[Piece::Operand, PROBE, PROBE_ID], Types::AlwaysSame),
    );

    /// Returns the name of a probe, or of the probe whose values are compared. It is empty if the attribute is missing
    /// or not a word.
    pub fn id<'a>(op: &OpView<'a>) -> &'a str {
        op.attrs().str("probe_id").unwrap_or_default()
    }
}

impl Facts for Probe {
    answer!(calculus = none("probes are for tests"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::counted_tensors(op, 1..=1, 0)?;
        Ok(types_of(op, op.operands()))
    }
    answer!(usual);
    answer!(rule = pointwise);
    answer!(semantics = Control);
    answer!(eval = engine);
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = interpreter.probe %arg0, probe_id = "x" : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    );
    test_facts!();
}

impl Print {
    pub(crate) const SCHEMA: Schema = schema(NONE, Syntax::pieces(&[Piece::Operand], Types::OperandsSame));
}

impl Facts for Print {
    answer!(calculus = none("prints are for tests"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::counted_tensors(op, 1..=1, 0)?;
        Ok(vec![])
    }
    answer!(usual);
    answer!(rule = none("values are printed as a whole"));
    answer!(semantics = Control);
    answer!(eval = engine);
    answer!(example = example!("interpreter.print %arg0 : tensor<2xf32>"));
    test_facts!();
}

impl RunParallel {
    /// Returns the names of the programs, replica by replica, and the number of partitions of each replica. Returns
    /// `None` unless `programs` is a list of at least one row, and the rows are lists of names that have the same
    /// length, which is at least 1.
    pub fn programs<'a>(op: &OpView<'a>) -> Option<(Vec<&'a str>, usize)> {
        let Some(Attr::Array(rows)) = op.attr("programs") else { return None };
        let names = |row: &'a Attr| match row {
            Attr::Array(names) => names.iter().map(Attr::as_str).collect::<Option<Vec<&str>>>(),
            _ => None,
        };
        let rows: Vec<Vec<&str>> = rows.iter().map(names).collect::<Option<_>>()?;
        let width = rows.first()?.len();
        (width > 0 && rows.iter().all(|r| r.len() == width)).then(|| (rows.concat(), width))
    }

    /// Returns the names of the functions whose results `infeed` reads, first to last. The list is empty if the
    /// attribute `infeed` is missing. Returns `None` if it is not a list of names.
    pub fn infeed<'a>(op: &OpView<'a>) -> Option<Vec<&'a str>> {
        match op.attr("infeed") {
            Some(Attr::Array(names)) => names.iter().map(Attr::as_str).collect(),
            Some(_) => None,
            None => Some(vec![]),
        }
    }
}

impl RunParallel {
    pub(crate) const SCHEMA: Schema = schema(
        &[
            required("programs", None, AttrKind::Own("rows of names of functions")),
            optional("infeed", None, AttrKind::Own("names of functions"), "nothing is fed"),
        ],
        GENERIC,
    );
}

impl Facts for RunParallel {
    answer!(calculus = none("it is for tests"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 0)?;
        let programs = RunParallel::programs(op);
        let mut check = Check::new(op);
        let rule = "`programs` must be one or more rows of names, all with the same number of names, at least one";
        check.that("run_parallel_c1", programs.is_some(), rule).so_far()?;
        let funcs: Option<Vec<_>> = programs.iter().flat_map(|p| &p.0).map(|name| op.module.func(name)).collect();
        let Some(funcs) = funcs else {
            return check
                .that("run_parallel_c2", false, "each name in `programs` must be that of a function of the module")
                .give([]);
        };
        let takes: Vec<Type> = funcs.iter().flat_map(|f| f.body.args().iter().map(|&v| f.body.ty(v).clone())).collect();
        let rule = "the operands must have the types of the programs' arguments, process by process";
        check.that("run_parallel_c3", takes == types_of(op, op.operands()), rule);
        let takes_nothing = |name: &&str| op.module.func(name).is_some_and(|f| f.body.args().is_empty());
        let feeds = RunParallel::infeed(op).is_some_and(|names| names.iter().all(takes_nothing));
        let rule = "`infeed` must be a list of names of functions of the module that take no arguments";
        check.that("run_parallel_c4", feeds, rule);
        check.give(funcs.iter().flat_map(|f| f.result_types.clone()))
    }
    answer!(usual);
    answer!(rule = none("its programs are those of devices"));
    answer!(semantics = Control);
    answer!(eval = engine);
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = "interpreter.run_parallel"(%arg0, %arg1) <{programs = [[@f, @f]]}> : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return %0#1 : tensor<2xf32>
}
func.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  return %arg0 : tensor<2xf32>
}"#
    );
    test_facts!();
}

pub(crate) fn is_check(target: &str) -> bool {
    target.starts_with("check.")
}

/// Runs the check that a custom call to `target` is, on the operands `x`. Returns `None` if `target` names no check of
/// two values. Fails if the comparison fails, or if the operands or the results do not fit the check: only floats and
/// complex numbers are compared with a tolerance. Here `check.expect_almost_eq` has a tolerance of 1e-3, and `check.eq`
/// one of 1e-4 for floats and complex numbers, whatever the attributes state. `check.eq` returns the outcome of the
/// comparison, which is always true, since a failed one is an error.
pub(crate) fn custom_call(op: &OpView<'_>, target: &str, x: &[Literal]) -> Option<Result<Vec<Literal>, EvalError>> {
    let name = target.strip_prefix("check.")?;
    let is_exact = x.iter().all(|x| x.dtype().is_integer() || x.dtype().is_bool());
    let nearness = match name {
        "expect_almost_eq" => Nearness::Within { tolerance: 1e-3 },
        "eq" if is_exact => Nearness::Equal,
        "eq" => Nearness::Within { tolerance: 1e-4 },
        _ => form(name, op).filter(|form| !form.has_constant)?.nearness,
    };
    let outcome = (name == "eq").then(|| Literal::scalar(Bool8::from(true)));
    let types: Vec<Type> = outcome.iter().map(|l| Type::tensor(l.dtype(), l.shape())).collect();
    let has_tolerance = nearness != Nearness::Equal && name != "eq";
    Some(match x {
        [got, expected] if types_of(op, op.results()) == types && !(has_tolerance && is_exact) => {
            compare(op, nearness, got, expected).map(|()| outcome.into_iter().collect())
        }
        _ => Err(wrong_call(op, target, has_tolerance, &types)),
    })
}

/// Returns an error unless `got` and `expected` have the same type and each element of `got` is as near to that of
/// `expected` as `nearness` asks.
pub fn compare(op: &OpView<'_>, nearness: Nearness, got: &Literal, expected: &Literal) -> Result<(), Diagnostic> {
    if got.dtype() != expected.dtype() || got.shape() != expected.shape() {
        return Err(other_type(op, got, expected));
    }
    let wrong: Vec<usize> = (0..got.size()).filter(|&i| !is_near(nearness, got, expected, i)).collect();
    match wrong.first() {
        None => Ok(()),
        Some(&first) => Err(failed(op, nearness, got, expected, first, wrong.len())),
    }
}

fn is_near(nearness: Nearness, got: &Literal, expected: &Literal, i: usize) -> bool {
    let parts = |x: &Literal| [x.get_f64(i), x.imaginary_f64(i)];
    let pairs = || parts(got).into_iter().zip(parts(expected));
    match nearness {
        Nearness::Equal if got.dtype().is_integer() || got.dtype().is_bool() => got.get_i128(i) == expected.get_i128(i),
        Nearness::Equal => pairs().all(|(a, b)| a == b),
        Nearness::Within { tolerance } => {
            pairs().all(|(a, b)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance)
        }
        Nearness::Ulps { min, max } => ulps(got, expected, i).is_some_and(|n| min <= n && n <= max),
    }
}

fn failed(
    op: &OpView<'_>,
    nearness: Nearness,
    got: &Literal,
    expected: &Literal,
    i: usize,
    count: usize,
) -> Diagnostic {
    let wanted = match nearness {
        Nearness::Equal => "equal".to_string(),
        Nearness::Within { tolerance } => format!("within {tolerance:e}"),
        Nearness::Ulps { min: 0, max } => format!("within {max} ulps"),
        Nearness::Ulps { min, max } => format!("{min} to {max} ulps apart"),
    };
    let apart = match (nearness, ulps(got, expected, i)) {
        (Nearness::Ulps { .. }, Some(n)) => format!(", {n} ulps apart"),
        _ => String::new(),
    };
    let message = format!("{count} of {} elements are not as `{}` expects", got.size(), name_of(op));
    Diagnostic::error("check-failed", op.loc(), message)
        .facts(format!("at {:?}: {}{apart}", indices(got.shape(), i), element_text(got, i)))
        .expected(format!("{}, {wanted}", element_text(expected, i)))
}

fn wrong_call(op: &OpView<'_>, target: &str, has_tolerance: bool, results: &[Type]) -> Diagnostic {
    let elements = if has_tolerance { " of floats or complex numbers" } else { "" };
    let wanted = match results {
        [] => "no result".to_string(),
        [ty, ..] => format!("one result of type {ty}"),
    };
    Diagnostic::error("check-call", op.loc(), format!("the operands or results do not fit the check `{target}`"))
        .facts(check::signature(op))
        .expected(format!("two operands{elements}, and {wanted}"))
}

fn name_of<'a>(op: &OpView<'a>) -> &'a str {
    CustomCall::target(op).unwrap_or_else(|| op.name())
}

fn other_type(op: &OpView<'_>, got: &Literal, expected: &Literal) -> Diagnostic {
    let ty = |x: &Literal| Type::tensor(x.dtype(), x.shape()).to_string();
    Diagnostic::error("check-failed", op.loc(), format!("the values of `{}` have different types", name_of(op)))
        .facts(ty(got))
        .expected(ty(expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_call(call: &str) -> Option<Result<Vec<Literal>, EvalError>> {
        let text = format!("func.func @main(%a: tensor<2xi32>) {{\n  {call}\n  return\n}}");
        let module = shardwise_ir::text::parse("test", &text, &crate::OPS).unwrap();
        let body = &module.main().unwrap().body;
        let op = module.view(body, body.walk()[0]);
        let zeros = vec![Literal::zeros(DType::I32, [2]); op.operands().len()];
        custom_call(&op, op.attrs().str("call_target_name").unwrap(), &zeros)
    }

    #[test]
    fn differences_in_ulps_have_all_64_bits() {
        for most in [0, 3, i64::MAX as u64, 1 << 63, u64::MAX] {
            let text = format!(
                "func.func @main(%a: tensor<f32>) {{
  check.expect_close %a, %a, max_ulp_difference = {most}, min_ulp_difference = {most} : tensor<f32>, tensor<f32>
  return
}}"
            );
            let module = shardwise_ir::text::parse("test", &text, &crate::OPS).unwrap();
            let body = &module.main().unwrap().body;
            let form = form_of(&module.view(body, body.walk()[0])).expect("it is a check");
            assert_eq!(form.nearness, Nearness::Ulps { min: most, max: most });
        }
    }

    #[test]
    fn calls_that_do_not_fit_a_check_are_refused_as_such() {
        let ok = "stablehlo.custom_call @check.expect_eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()";
        assert_eq!(run_call(ok).unwrap().unwrap(), []);
        let ok = "%0 = stablehlo.custom_call @check.eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>";
        assert_eq!(run_call(ok).unwrap().unwrap().len(), 1);
        assert!(run_call("stablehlo.custom_call @check.other(%a) : (tensor<2xi32>) -> ()").is_none());
        let wrong = [
            "stablehlo.custom_call @check.expect_eq(%a) : (tensor<2xi32>) -> ()",
            "stablehlo.custom_call @check.expect_close() : () -> ()",
            "%0 = stablehlo.custom_call @check.expect_eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> tensor<i1>",
            "stablehlo.custom_call @check.eq(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()",
        ];
        let found = wrong.map(|call| run_call(call).expect("a check").unwrap_err());
        assert!(found.iter().all(|d| d.code == "check-call"));
        let text = found[0].to_string();
        assert!(text.contains("the operands or results do not fit the check `check.expect_eq`"), "{text}");
        assert!(text.contains("operands: (tensor<2xi32>)") && text.contains("two operands, and no result"), "{text}");
    }

    #[test]
    fn calls_do_not_compare_integers_with_a_tolerance() {
        for name in ["expect_close", "expect_almost_eq"] {
            let call = format!("stablehlo.custom_call @check.{name}(%a, %a) : (tensor<2xi32>, tensor<2xi32>) -> ()");
            let found = run_call(&call).expect("a check").unwrap_err().to_string();
            assert!(found.contains("two operands of floats or complex numbers, and no result"), "{found}");
        }
    }

    #[test]
    fn nan_equals_nothing_and_is_near_itself() {
        let nan = Literal::scalar(f64::NAN);
        assert!(!is_near(Nearness::Equal, &nan, &nan, 0));
        assert!(is_near(Nearness::Within { tolerance: 0.0 }, &nan, &nan, 0));
    }
}
