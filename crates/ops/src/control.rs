//! Control flow, composites, calls out of the program, and barriers. The engine runs their regions and functions.
//! Shardings flow along edges through loops, branches, named computations and barriers.

use crate::batch::Batched;
use crate::check::{Check, MANY, counts, types_of};
use crate::derivative::{Derivative, Transposed};
use crate::facts::*;
use crate::inspect::{self, Inspect};
use crate::print::{self, Print};
use crate::schema::*;
use crate::shapes::constant_operand;
use crate::{Opcode, approximate, collective, expect, foreign, lapack, sparse, user};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Region, Type, Value};
use shardwise_sharding::{Factor, FactorKind, FactorSpec, Mapping, RuleBuilder};
use std::sync::Arc;

pub use crate::trip_count::{Counter, counter, trip_count};

/// Returns the region that a `case` or `if` runs, if the program decides it: the op has one region, or its operand is a
/// constant. Otherwise, and for other ops, returns `None`. A constant index out of range selects the last region.
pub fn taken_branch(op: &OpView<'_>) -> Option<Region> {
    let regions = op.regions();
    let is_if = match Opcode::of_view(op) {
        Opcode::If => true,
        Opcode::Case => false,
        _ => return None,
    };
    if let &[only] = regions {
        return Some(only);
    }
    let number = constant_operand(op, 0)?.get_i128(0);
    let index = if is_if { 1 - number } else { number };
    let last = regions.len().checked_sub(1)?;
    Some(regions[usize::try_from(index).map_or(last, |i| i.min(last))])
}

pub struct While;
/// `case` and `if`, with one region for each branch.
pub struct Branch;
pub struct OptimizationBarrier;
pub struct Composite;
pub struct CustomCall;
/// `sdy.named_computation`: a region that replaces a call.
pub struct NamedComputation;

/// Writes the facts that loops, branches, composites and named computations share.
macro_rules! control {
    () => {
        answer!(class = Other);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(semantics = Control);
        answer!(eval = engine);
        answer!(effects = Ordered);
        answer!(cost = streams(0.0));
    };
}

fn edges(op: &OpView<'_>, around: impl Fn(usize) -> (Vec<Value>, Vec<Value>)) -> DataFlow {
    let is_tensor = |v: Value| op.body.ty(v).as_tensor().is_some();
    let results = op.results().iter().copied().enumerate().filter(|&(_, v)| is_tensor(v));
    DataFlow::Edges(
        results
            .map(|(i, owner)| {
                let (sources, targets) = around(i);
                DataFlowEdge { sources, owner, targets }
            })
            .collect(),
    )
}

fn region_result(op: &OpView<'_>, region: Region, i: usize) -> Value {
    op.body.region_results(region)[i]
}

impl While {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::List,
        results: ResultLabels::both("while_c3"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::while_loop::WhileForm),
        names: Names::RegionArgs("iterArg"),
        role: Role::Plain,
    };
}

impl Facts for While {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 2)?;
        let [cond, body] = [0, 1].map(|i| op.regions()[i]);
        let carried = types_of(op, op.operands());
        let args = |r: Region| types_of(op, &op.body[r].args);
        let gives = |r: Region| types_of(op, op.body.region_results(r));
        let predicate = vec![Type::tensor(DType::I1, vec![])];
        Check::new(op)
            .that(
                "while_c1",
                args(cond) == carried,
                "the condition's arguments must have the types of the carried values",
            )
            .that("while_c1", gives(cond) == predicate, "the condition must return one tensor<i1>")
            .that("while_c2", args(body) == carried, "the body's arguments must have the types of the carried values")
            .that("while_c2", gives(body) == carried, "the body must return values of the types of the carried values")
            .give(carried)
    }
    answer!(usual);
    answer!(rule = none("shardings flow along its edges"));
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        let [cond, body] = [0, 1].map(|i| op.regions()[i]);
        edges(op, |i| {
            let sources = vec![op.operand(i), region_result(op, body, i)];
            (sources, vec![op.body[cond].args[i], op.body[body].args[i]])
        })
    }
    answer!(linear = No);
    answer!(explicit = not("its body is typed op by op"));
    answer!(
        example = r#"func.func @main(%arg0: tensor<i32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
  %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<2xf32>
  cond {
    %c = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %iterArg, %c : tensor<i32>
    %2 = stablehlo.add %iterArg_0, %iterArg_0 : tensor<2xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<2xf32>
  }
  return %0#1 : tensor<2xf32>
}"#
    );
    control!();
}

impl Branch {
    pub(crate) const CASE: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::both("case_c4"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const IF: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::both("if_c3"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Branch {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let is_if = Opcode::of_view(op) == Opcode::If;
        counts(op, 1..=1, if is_if { 2 } else { op.regions().len() })?;
        let index = Type::tensor(if is_if { DType::I1 } else { DType::I32 }, vec![]);
        let mut check = Check::new(op);
        let [operand, takes, gives_same] =
            if is_if { ["if_i1", "if_c1", "if_c2"] } else { ["case_i1", "case_c2", "case_c3"] };
        check.that(operand, *op.operand_type(0) == index, &format!("the operand must be a {index}"));
        check.that("case_c1", !op.regions().is_empty(), "there must be at least one branch").so_far()?;
        let gives = |r: Region| types_of(op, op.body.region_results(r));
        let results = gives(op.regions()[0]);
        let takes_nothing = op.regions().iter().all(|&r| op.body[r].args.is_empty());
        check.that(takes, takes_nothing, "branches must take no arguments, because they use the values around them");
        let same = op.regions().iter().all(|&r| gives(r) == results);
        check.that(gives_same, same, "all branches must return results of the same types");
        check.give(results)
    }
    answer!(usual);
    answer!(rule = none("shardings flow along its edges"));
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        edges(op, |i| (op.regions().iter().map(|&r| region_result(op, r, i)).collect(), vec![]))
    }
    answer!(linear = No);
    answer!(explicit = not("its branches are typed op by op"));
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::If => {
                r#"func.func @main(%arg0: tensor<i1>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.if"(%arg0) ({
    stablehlo.return %arg1 : tensor<2xf32>
  }, {
    stablehlo.return %arg2 : tensor<2xf32>
  }) : (tensor<i1>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            _ => {
                r#"func.func @main(%arg0: tensor<i32>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.case"(%arg0) ({
    stablehlo.return %arg1 : tensor<2xf32>
  }, {
    stablehlo.return %arg2 : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
        }
    }
    control!();
}

/// The attribute of a barrier through which no derivative passes.
const STOP_GRADIENT: &str = "shardwise.stop_gradient";
/// The attribute of a barrier that names its value for [`crate::remat`].
const VALUE_NAME: &str = "shardwise.value_name";

impl OptimizationBarrier {
    /// Builds the attributes of a barrier through which no derivative passes.
    pub fn stop_gradient() -> Attrs {
        Attrs::new().with(STOP_GRADIENT, Attr::Bool(true))
    }

    /// Builds the attributes of a barrier that names its value.
    pub fn named(name: &str) -> Attrs {
        Attrs::new().with(VALUE_NAME, Attr::str(name))
    }

    /// Returns the name of a barrier's value, or `None` for barriers that name no value and for other ops.
    pub fn value_name<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str(VALUE_NAME).filter(|_| Opcode::of_view(op) == Opcode::OptimizationBarrier)
    }

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional(STOP_GRADIENT, None, AttrKind::Flag, "derivatives pass"),
            optional(VALUE_NAME, None, AttrKind::Word, "the values have no name"),
        ],
        operands: Operands::List,
        results: ResultLabels::both("optimization_barrier_c1"),
        on_quantized: OnQuantized::PerTensor,
        syntax: Syntax::pieces(&[Piece::Dict, Piece::Operands], Types::Pairwise),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for OptimizationBarrier {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        match op.attrs().get(STOP_GRADIENT).and_then(Attr::as_bool) == Some(true) {
            true => Derivative::Zero("the program stops the gradient here"),
            false => Derivative::Linear,
        }
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| (0..cx.operands.len()).map(|i| cx.cotangents[i].map(Cotangent::from)).collect())
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::Leading(op.attrs().clone())
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 0)?;
        Ok(types_of(op, op.operands()))
    }
    answer!(usual);
    answer!(rule = none("shardings flow along its edges"));
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        edges(op, |i| (vec![op.operand(i)], vec![]))
    }
    answer!(class = Other);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(semantics = Control);
    answer!(eval = operands);
    answer!(effects = Ordered);
    answer!(cost = nothing);
    answer!(linear = Jointly);
    answer!(explicit = by_rule);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<3xf32>) -> tensor<2xf32> {
  %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<3xf32>
  return %0#0 : tensor<2xf32>
}"
    );
}

fn declared_results(op: &OpView<'_>, callee: Option<&str>) -> Vec<Type> {
    match callee.and_then(|name| op.module.func(name)) {
        Some(f) => f.result_types.clone(),
        None => types_of(op, op.results()),
    }
}

/// Returns true if a name is of the form `[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+`.
fn is_namespaced(name: &str) -> bool {
    let is_word = |part: &str, more: char| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == more)
    };
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    first.starts_with(|c: char| c.is_ascii_alphabetic())
        && is_word(first, '_')
        && rest.split('.').all(|p| is_word(p, '$'))
}

impl Composite {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("name", Some("composite_i2"), AttrKind::Word),
            optional("composite_attributes", None, AttrKind::Dict, "empty"),
            required("decomposition", Some("composite_i4"), AttrKind::Symbol),
            optional("version", Some("composite_i5"), AttrKind::Int(DType::I32), "0"),
        ],
        operands: Operands::List,
        results: ResultLabels::both("composite_c4"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[Piece::Attr("name", Written::Str), Piece::Text(" "), Piece::Operands],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the name of the op that the composite implements. Returns `None` if the attribute is missing or broken.
    /// It is not checked that the op is a composite.
    pub fn name<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("name")
    }

    /// Returns the name of the function that computes the composite. Returns `None` if the attribute is missing or
    /// broken. It is not checked that the op is a composite.
    pub fn decomposition<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("decomposition")
    }

    /// Builds the attributes of a composite.
    pub fn attrs(name: &str, decomposition: Arc<str>, attributes: Attrs) -> Attrs {
        Attrs::new()
            .with("name", Attr::str(name))
            .with("decomposition", Attr::Symbol(decomposition))
            .with("composite_attributes", Attr::Dict(attributes))
    }
}

impl Facts for Composite {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 0)?;
        let callee = op.attrs().str("decomposition");
        let name = op.attrs().str("name");
        let mut check = Check::new(op);
        check.that(
            "composite_c1",
            name.is_some_and(is_namespaced),
            "`name` must have a namespace, as in `dialect.name`: `[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+`",
        );
        let func = callee.and_then(|c| op.module.func(c));
        check.that("composite_c2", func.is_some(), "`decomposition` must name a function of the module");
        if let Some(f) = func {
            let takes: Vec<Type> = f.body.args().iter().map(|&v| f.body.ty(v).clone()).collect();
            check.that(
                "composite_c3",
                takes == types_of(op, op.operands()),
                "the decomposition's arguments must have the types of the operands",
            );
        }
        check.so_far()?;
        crate::custom::check(op)?;
        check.give(declared_results(op, callee))
    }
    answer!(usual);
    answer!(rule = none("its decomposition is inlined before propagation"));
    answer!(data_flow = none);
    answer!(linear = No);
    answer!(explicit = not("its decomposition is typed op by op"));
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.composite "my.double" %arg0 {decomposition = @double} : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @double(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    );
    control!();
}

impl NamedComputation {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional("name", None, AttrKind::Word, "the region has no name"),
            optional("in_shardings", None, AttrKind::Shardings, "they are not known"),
            optional("shardwise.checkpoint", None, AttrKind::Own("a policy"), "its values are not computed again"),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::shardy::NamedForm).with_results(OUT_SHARDINGS),
        names: Names::Numbered,
        role: Role::Isolated,
    };

    /// Returns the name of the region, which is that of the function that it replaces. Returns `None` if the attribute
    /// is missing or broken. It is not checked that the op is a named computation.
    pub fn name<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("name")
    }
}

impl Facts for NamedComputation {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 1)?;
        let body = op.regions()[0];
        let takes = types_of(op, &op.body[body].args) == types_of(op, op.operands());
        Check::new(op)
            .that("named-computation-types", takes, "the body's arguments must have the types of the operands")
            .give(types_of(op, op.body.region_results(body)))
    }
    answer!(usual);
    answer!(rule = none("shardings flow along its edges"));
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        region_edges(op)
    }
    answer!(linear = No);
    answer!(explicit = not("its body is typed op by op"));
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.named_computation<"f">(%arg0) (%arg1: tensor<2xf32>) {
    %1 = stablehlo.add %arg1, %arg1 : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    );
    control!();
}

/// Returns edges from the operands to the arguments of the only region, and from its results to those of the op. Values
/// that are no tensors have no edges.
pub(crate) fn region_edges(op: &OpView<'_>) -> DataFlow {
    let Some(&body) = op.regions().first() else { return DataFlow::None };
    let pairs = op.body[body].args.iter().zip(op.operands());
    let pairs = pairs.chain(op.results().iter().zip(op.body.region_results(body)));
    let is_tensor = |v: &Value| op.body.ty(*v).as_tensor().is_some();
    let edge = |(&owner, &source): (&Value, &Value)| DataFlowEdge { sources: vec![source], owner, targets: vec![] };
    DataFlow::Edges(pairs.filter(|(owner, _)| is_tensor(owner)).map(edge).collect())
}

/// The targets of custom calls that return their first operands unchanged, if these have the types of the results.
const IDENTITY_TARGETS: &[&str] = &[
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "annotate_device_placement",
    "LayoutConstraint",
    "MoveToHost",
    "MoveToDevice",
    "InspectSharding",
    "xla.megascale.provide_metadata",
];

/// Custom calls whose tensors all have the same dimensions, as Shardy lists them.
const POINTWISE_TARGETS: &[&str] = &[
    "annotate_device_placement",
    "Cholesky",
    "CompactWyHelper",
    "InspectSharding",
    "InvertDiagBlocksLowerTriangular",
    "InvertDiagBlocksUpperTriangular",
    "LayoutConstraint",
    "mhlo.erf",
    "MoveToDevice",
    "MoveToHost",
    "X64SplitHigh",
    "X64SplitLow",
    "X64Combine",
    "xla.megascale.provide_metadata",
    "_SPMDInternalOp_MultiPad",
    "_SPMDInternalOp_RotateRight",
    "_SPMDInternalOp_MultiRotate",
    "_SPMDInternalOp_MultiSlice",
    "_SPMDInternalOp_Wrap",
];

/// Returns the text that a custom call passes to its function. Returns `None` if the configuration is absent or is not
/// a text, such as a dictionary.
pub fn backend_config(attrs: &Attrs) -> Option<&str> {
    attrs.str("backend_config")
}

fn target<'a>(op: &OpView<'a>) -> &'a str {
    CustomCall::target(op).unwrap_or_default()
}

/// The targets by which JAX calls Python code of the process that exported the program.
const CALLBACKS: [&str; 6] = [
    "xla_python_cpu_callback",
    "xla_python_gpu_callback",
    "xla_ffi_python_cpu_callback",
    "xla_ffi_python_gpu_callback",
    "xla_ffi_partitioned_python_cpu_callback",
    "xla_ffi_partitioned_python_gpu_callback",
];

fn is_callback(op: &OpView<'_>) -> bool {
    CALLBACKS.contains(&target(op))
}

/// Returns a warning if the op calls Python code that returns nothing but tokens that are operands, as
/// `jax.debug.print` does: engines skip such calls. Returns `None` for other ops.
pub fn skipped_call(op: &OpView<'_>) -> Option<Diagnostic> {
    if !is_callback(op) || first_unchanged(op).is_none() {
        return None;
    }
    let types: Vec<String> = op.operands().iter().map(|&v| op.body.ty(v).to_string()).collect();
    let message = format!("`{}` is skipped: it calls Python code of the process that exported the program", target(op));
    let values =
        if types.is_empty() { "it takes no values".into() } else { format!("it would take {}", types.join(", ")) };
    Some(Diagnostic::warning("callback-skipped", op.loc(), message).facts(values))
}

/// The target by which JAX calls a function with a partitioning of its own (`jax.custom_partitioning`). The function is
/// not in the program, which has only its address in the process that exported it.
const OWN_PARTITIONING: &str = "CustomSPMDPartitioning";

const OWN_PARTITIONING_HELP: &str = "before the program is exported, call the function itself: `f.fun(x)` in place of \
                                     `f(x)` if `f` is the result of `jax.custom_partitioning`; its ops are then in the program";

/// Returns a warning if the op calls a function with a partitioning of its own, as `jax.custom_partitioning` makes them,
/// and no kernel of this name is registered: the program can be partitioned, but not run. Returns `None` for other ops.
pub fn absent_call(op: &OpView<'_>) -> Option<Diagnostic> {
    if Opcode::of_view(op) != Opcode::CustomCall || target(op) != OWN_PARTITIONING || user::find(target(op)).is_some() {
        return None;
    }
    let message = format!("the program fails where a run reaches this: {}", absent_function(op));
    Some(Diagnostic::warning("custom-partitioning", op.loc(), message).help(OWN_PARTITIONING_HELP))
}

fn absent_function(op: &OpView<'_>) -> String {
    format!("`{}` calls a function of `jax.custom_partitioning`, which is not part of the exported program", target(op))
}

fn returns_tokens(op: &OpView<'_>) -> bool {
    op.results().iter().all(|&v| op.body.ty(v).as_tensor().is_none())
}

/// Returns the index of the operand that is the first result of a custom call which returns successive operands
/// unchanged, one for each result. It is 0 for such a call without results. Returns `None` for other calls and ops.
fn first_unchanged(op: &OpView<'_>) -> Option<usize> {
    let ty = |v: &Value| op.body.ty(*v);
    let has_types = |x: &[Value]| x.iter().map(ty).eq(op.results().iter().map(ty));
    let is_same = |&at: &usize| op.operands().get(at..at + op.results().len()).is_some_and(has_types);
    let mut starts = match () {
        () if IDENTITY_TARGETS.contains(&target(op)) => 0..1,
        // The token may come after the number by which the process knows the Python function.
        () if is_callback(op) && returns_tokens(op) => 0..op.operands().len() + 1,
        () => return None,
    };
    starts.find(is_same)
}

/// Returns the operands that the results of a mark ([`Semantics::Identity`]) are, one for each result.
///
/// # Panics
/// Panics if the op has fewer operands than results. No mark has.
pub fn unchanged_operands<'a>(op: &OpView<'a>) -> &'a [Value] {
    &op.operands()[first_unchanged(op).unwrap_or(0)..][..op.results().len()]
}

/// Returns the facts of a custom call that has facts of its own, such as LAPACK's routines. Returns `None` for other
/// custom calls.
fn known(op: &OpView<'_>) -> Option<&'static dyn Facts> {
    let facts: &'static dyn Facts = match () {
        () if collective::is_ragged(op) => &collective::RaggedAllToAll,
        () if collective::named::NamedOp::of(op).is_some() => &collective::named::NamedAxis,
        () if Print::is(op) => &print::PrintFacts,
        () if Inspect::is(op) => &inspect::InspectFacts,
        () if lapack::Call::read(op).is_some() => &lapack::Lapack,
        () if approximate::Selection::of(op).is_some() => &approximate::ApproxTopK,
        () if sparse::is_sparse_product(op) => &sparse::SparseProduct,
        () => return None,
    };
    Some(facts)
}

impl CustomCall {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("call_target_name", Some("custom_call_i2"), AttrKind::Word),
            optional("has_side_effect", Some("custom_call_i3"), AttrKind::Flag, "`false`"),
            optional("backend_config", None, AttrKind::Own("a string or a dictionary"), "the target needs none"),
            optional("api_version", Some("custom_call_i5"), AttrKind::Int(DType::I32), "1"),
            optional("called_computations", Some("custom_call_i6"), AttrKind::List, "none"),
            optional("operand_layouts", None, AttrKind::Layouts, "the default layouts"),
            optional("result_layouts", None, AttrKind::Layouts, "the default layouts"),
            optional("output_operand_aliases", Some("custom_call_i7"), AttrKind::List, "none"),
        ],
        operands: Operands::List,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[
                Piece::Attr("call_target_name", Written::StrAsSymbol),
                Piece::Text("("),
                Piece::Operands,
                Piece::Text(")"),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the target of the call, or `None` if the op is no custom call or its `call_target_name` is missing or
    /// broken.
    pub fn target<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("call_target_name").filter(|_| Opcode::of_view(op) == Opcode::CustomCall)
    }

    /// Returns true if the op is a custom call without facts of its own, such as a user's kernel. The cost of such a
    /// call is not known, unless it returns its operands unchanged.
    pub fn is_unknown(op: &OpView<'_>) -> bool {
        Opcode::of_view(op) == Opcode::CustomCall && known(op).is_none()
    }

    /// Returns the dictionary that a custom call passes to its function: `mhlo.backend_config`, else `backend_config`.
    /// Returns `None` if neither is a dictionary.
    pub(crate) fn config<'a>(op: &OpView<'a>) -> Option<&'a Attrs> {
        CONFIGS.into_iter().find_map(|name| dictionary(op, name))
    }

    /// Returns the attributes of a custom call with another value in the dictionary of [`CustomCall::config`], or
    /// unchanged if there is no dictionary.
    pub(crate) fn with_config(op: &OpView<'_>, field: &str, value: Attr) -> Attrs {
        let found = CONFIGS.into_iter().find_map(|name| Some((name, dictionary(op, name)?)));
        let Some((name, config)) = found else { return op.attrs().clone() };
        op.attrs().clone().with(name, Attr::Dict(config.clone().with(field, value)))
    }
}

/// The attributes that may hold what a custom call passes to its function, the one that counts first.
const CONFIGS: [&str; 2] = ["mhlo.backend_config", "backend_config"];

fn dictionary<'a>(op: &OpView<'a>, name: &str) -> Option<&'a Attrs> {
    if let Some(Attr::Dict(fields)) = op.attr(name) { Some(fields) } else { None }
}

impl Facts for CustomCall {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        match (known(op), first_unchanged(op)) {
            (Some(facts), _) => facts.derivative(op),
            (None, Some(at)) => Derivative::by(move |cx| cx.tangents[at..][..cx.results.len()].to_vec()),
            _ if user::find(target(op)).is_some() => Derivative::None("the kernel states no derivative"),
            _ => Derivative::None("the called function states no derivative"),
        }
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        match known(op) {
            Some(facts) => facts.transpose(op),
            None => Transposed::None("the called function states no derivative"),
        }
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        match (known(op), first_unchanged(op), user::find(target(op))) {
            (Some(facts), ..) => facts.batch(op, mapped),
            (None, Some(at), _) => Batched::by("its layout names no dimension for the batch", move |cx| {
                let op = cx.op;
                let is_tensor = |i: usize| op.operand_type(i).as_tensor().is_some();
                let one = |i: usize| if is_tensor(i) { cx.with_leading(i) } else { cx.operands[i] };
                Ok((at..at + op.results().len()).map(one).collect())
            }),
            (None, None, Some(kernel)) => kernel.batch(op, mapped),
            (None, None, None) => Batched::None("the called function states no batch"),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 0)?;
        if let Some(facts) = known(op) {
            return facts.infer(op);
        }
        match user::find(target(op)) {
            Some(kernel) => kernel.infer(op),
            None => Ok(types_of(op, op.results())),
        }
    }
    /// Returns the rule that is known for the target. A user's kernel has the rule that is written on the op, else its
    /// own. Any other call is split along the batch dimensions of the rule that is written on it.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        if let Some(facts) = known(op) {
            return facts.rule(op);
        }
        if let Some(kernel) = user::find(target(op)) {
            let rule = user::written_rule(op).or_else(|| kernel.rule(op)).filter(|rule| user::fits(rule, op));
            let rule = rule.map(user::with_whole_factors);
            return rule.map_or(RuleFact::None("the kernel has no rule for these operands"), RuleFact::Rule);
        }
        match target(op) {
            "X64Combine" if feeds_random_bits(op) => RuleFact::None("the state of random numbers stays whole"),
            "mhlo.topk" if is_top_k(op) => RuleFact::Rule(top_k_rule(op)),
            name if POINTWISE_TARGETS.contains(&name) && has_one_rank(op) => pointwise_rule(op),
            _ => batch_rule(op),
        }
    }
    fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
        foreign::propagation_rule(op).map_or_else(|| self.rule(op), RuleFact::Rule)
    }

    answer!(usual but splits, propagation_rule, eval_copies);
    /// Returns `Evenly` if a rule is written on the op, because the rule has the sizes of the whole dimensions. Targets
    /// that engines know state their own splits.
    fn splits(&self, op: &OpView<'_>) -> Splits {
        if let Some(facts) = known(op) {
            return facts.splits(op);
        }
        if user::written_rule(op).is_some() { Splits::Evenly } else { Splits::Anywhere }
    }
    answer!(eval_copies = true);
    fn propagation_class(&self, op: &OpView<'_>) -> PropagationClass {
        match target(op) {
            "MoveToHost" | "MoveToDevice" => PropagationClass::PassThrough,
            _ => PropagationClass::Other,
        }
    }
    answer!(data_flow = none);
    fn combine(&self, op: &OpView<'_>) -> Combine {
        match user::find(target(op)) {
            Some(kernel) => Combine::With(kernel.combine()),
            None => Combine::No("it reduces nothing"),
        }
    }
    /// Returns `None`: no neutral element of a kernel is known, so reduction factors that would be split unevenly stay
    /// whole.
    fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
        None
    }
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        if let Some(facts) = known(&cx.op) {
            return facts.localize(cx);
        }
        if let Some(at) = first_unchanged(&cx.op) {
            return Ok(cx.operands[at..][..cx.op.results().len()].to_vec());
        }
        Ok(cx.same_op())
    }
    fn semantics(&self, op: &OpView<'_>) -> Semantics {
        if let Some(facts) = known(op) {
            return facts.semantics(op);
        }
        if first_unchanged(op).is_some() { Semantics::Identity } else { Semantics::Pure }
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        if let Some(facts) = known(op) {
            return facts.eval(op, x, regions);
        }
        if let Some(at) = first_unchanged(op) {
            return Ok(x[at..][..op.results().len()].to_vec());
        }
        if let Some(kernel) = user::find(target(op)) {
            return kernel.run(op, x);
        }
        expect::custom_call(op, target(op), x).unwrap_or_else(|| Err(unknown_target(op)))
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        known(op).map_or_else(|| Cost::streams(op, 0.0), |facts| facts.cost(op))
    }
    fn effects(&self, op: &OpView<'_>) -> Effects {
        if let Some(facts) = known(op) {
            return facts.effects(op);
        }
        let must_run = op.attrs().flag("has_side_effect") || expect::is_check(target(op));
        if must_run { Effects::Ordered } else { Effects::Pure }
    }
    fn linear(&self, op: &OpView<'_>) -> Linear {
        if let Some(facts) = known(op) {
            return facts.linear(op);
        }
        if first_unchanged(op).is_some() { Linear::Jointly } else { Linear::No }
    }
    fn explicit(&self, op: &OpView<'_>) -> ExplicitPolicy {
        if let Some(facts) = known(op) {
            return facts.explicit(op);
        }
        if first_unchanged(op).is_some() || user::find(target(op)).is_some() {
            ExplicitPolicy::ByRule
        } else {
            ExplicitPolicy::Not("its target is unknown")
        }
    }
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @annotate_device_placement(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}

/// Returns the rule that is written on a call, with all factors whole except those that pass through and that every
/// operand and every result has once. Along these, a call on blocks of the operands computes blocks of the results.
/// There is no rule if none that fits is written, if no factor is such, or if the call has side effects or no operands.
///
/// ```text
/// ([i, j, k])->([i, l, m], [i])  ->  ([i, j, k])->([i, l, m], [i]) need_replication={j, k, l, m}
/// ```
fn batch_rule(op: &OpView<'_>) -> RuleFact {
    let has_effects = CustomCall.effects(op) == Effects::Ordered;
    let Some(mut rule) = user::written_rule(op).filter(|_| !has_effects) else {
        return RuleFact::None("its target is unknown, and it has side effects or no rule that fits");
    };
    let is_once = |m: &Mapping, factor| m.factors().filter(|&f| f == factor).count() == 1;
    let has_operands = !op.operands().is_empty();
    let is_batch = |&f: &Factor| has_operands && rule.is_pass_through(f) && rule.mappings().all(|m| is_once(m, f));
    let (batch, whole): (Vec<Factor>, Vec<Factor>) = rule.all_factors().partition(is_batch);
    if batch.is_empty() {
        return RuleFact::None("its rule has no factor that passes through and is in every operand and result once");
    }
    whole.into_iter().for_each(|f| rule.factors[f.index()].kind = FactorKind::NeedReplication);
    RuleFact::Rule(rule)
}

/// Returns true if the call has a result, and each of its operands and results has the rank of the first result or is a
/// scalar.
fn has_one_rank(op: &OpView<'_>) -> bool {
    let rank = |v: &Value| op.body.ty(*v).shape().len();
    let first = op.results().first().map(rank);
    first.is_some() && op.operands().iter().chain(op.results()).map(rank).all(|n| n == 0 || Some(n) == first)
}

fn is_top_k(op: &OpView<'_>) -> bool {
    let (operands, results) = (op.operands(), op.results());
    let rank = |v: Value| op.body.ty(v).shape().len();
    operands.len() == 1 && results.len() == 2 && results.iter().all(|&v| rank(v) == rank(operands[0]))
}

pub(crate) fn feeds_random_bits(op: &OpView<'_>) -> bool {
    let Some(result) = op.results().first() else { return false };
    let uses = |inner: &shardwise_ir::Op| op.body[*inner].operands.contains(result);
    let users: Vec<_> = op.body.walk().into_iter().filter(uses).collect();
    users.iter().any(|&user| Opcode::of_view(&op.at(user)) == Opcode::RngBitGenerator)
}

/// Returns the rule of a `top_k`. Batch dimensions pass through, and the last dimension must be whole. Shardings
/// propagate along the last dimension only if all of its elements are kept.
pub(crate) fn top_k_rule(op: &OpView<'_>) -> shardwise_sharding::Rule {
    let rank = |v: &Value| op.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
    let (shape, result) = (op.operand_shape(0), op.result_shape(0));
    let ordered = |d, size| FactorSpec::need_replication(size).blocked_if(result[d] != size);
    let is_last = |d| d + 1 == shape.len();
    let factor = |d, size| if is_last(d) { ordered(d, size) } else { FactorSpec::pass_through(size) };
    rule.add_pointwise_with(shape, factor).build()
}

fn unknown_target(op: &OpView<'_>) -> Diagnostic {
    if is_callback(op) {
        let message = format!("`{}` calls Python code of the process that exported the program", target(op));
        let help = "remove the callback before the program is exported, or register a kernel of this name";
        return Diagnostic::error("custom-call-target", op.loc(), message).help(help);
    }
    if target(op) == OWN_PARTITIONING {
        return Diagnostic::error("custom-call-target", op.loc(), absent_function(op)).help(OWN_PARTITIONING_HELP);
    }
    Diagnostic::error(
        "custom-call-target",
        op.loc(),
        format!("no engine knows the custom call `{}` with these operands, results and attributes", target(op)),
    )
    .help("replace it by StableHLO operations, or register a kernel for it")
}
