//! The facts that every op has.
//!
//! Each fact is required; "none" is a value with its reason. Answers that many ops share are written with the macro
//! `answer!`, so that each implementation still shows all of its facts. Some answers stand for a group:
//! `answer!(pure)` for an op that is a function of its operands, `answer!(elementwise)` for one that computes each
//! element of its results from the elements at the same place of its operands.
//!
//! ```text
//! impl Facts for Transpose {
//!     answer!(pure);
//!     answer!(class = PassThrough);
//!     answer!(combine = none);
//!     answer!(localize = same_op);
//!     ...
//!     fn rule(&self, op: &OpView<'_>) -> RuleFact { ... }
//! }
//! ```
//!
//! A new fact is a method of [`Facts`], an arm of `answer!` for the answer that most ops have, and that answer in the
//! groups whose ops all have it. The compiler lists the implementations that lack it.
//!
//! The facts are about plain values. An op on quantized values, or one whose reducer has a wider element type than its
//! operands, is inferred by [`infer_op`](crate::infer_op) and evaluated by [`evaluate`](crate::evaluate), which call the
//! facts.

use crate::Opcode;
use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, Op, OpView, Region, Type, Value};
use shardwise_sharding::{Rule, RuleBuilder};

/// The op as an einsum over factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleFact {
    Rule(Rule),
    /// Shardings do not flow through the op by factors, because ….
    None(&'static str),
}

impl RuleFact {
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            RuleFact::Rule(rule) => Some(rule),
            RuleFact::None(_) => None,
        }
    }
}

/// How an op takes part in the rounds of propagation (Shardy's op-priorities).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropagationClass {
    /// One factor for each dimension, the same in every tensor.
    Elementwise,
    /// Moves elements without changing their number: reshape, transpose.
    PassThrough,
    /// Dynamic slices and their updates: forward only in the first rounds.
    DynamicSlice,
    /// Backward only in the middle rounds.
    Broadcast,
    Other,
}

/// How partial results over a sharded reduction factor become the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceKind {
    Add,
    Mul,
    Max,
    Min,
    And,
    Or,
}

/// What [`ReduceKind`] an op's reduction factors have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    With(ReduceKind),
    /// No reduction factor may be sharded, because ….
    No(&'static str),
}

/// What running an op does beside computing its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effects {
    /// Nothing: may be removed, repeated, moved.
    Pure,
    /// Must stay in order with other ordered ops.
    Ordered,
    /// Its result differs from device to device (an index, a collective's group).
    PerDevice,
}

/// In which operands an op is linear (all others held fixed).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    No,
    /// In all of them together: `add`, `reshape`, `reduce` with `add`.
    Jointly,
    /// In each by itself: `multiply`, `dot_general`.
    Each,
    /// In these only, jointly (a bit for each operand): `select` in its branches, `divide` in its numerator.
    In(u32),
}

/// Whether an operand is a constant zero of one element: a part of every sum.
pub fn is_zero(op: &OpView<'_>, operand: usize) -> bool {
    let Some(def) = op.operand_def(operand) else { return false };
    let Some(Attr::Dense(value)) = def.attr("value") else { return false };
    Opcode::of_view(&def) == Opcode::Constant
        && !value.dtype().is_complex()
        && value.size() == 1
        && value.get_f64(0) == 0.0
}

/// How Explicit mode types the op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplicitPolicy {
    /// By its factor rule; conflicts are errors that ask. What a reduction leaves over devices is combined.
    ByRule,
    /// By its factor rule, batch dimensions as the first operand has them; what a reduction leaves over devices is the
    /// program's to place, because ….
    AskSums(&'static str),
    /// Whole axes go over from groups of dimensions to those that hold the same elements.
    Regroup,
    /// Not seen by Explicit mode, because ….
    Not(&'static str),
}

/// Who gives the op its meaning when it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// [`Facts::eval`], of its operands' values.
    Pure,
    /// The engine: regions run or not, or again.
    Control,
    /// The engine: values of other devices are needed.
    Collective,
    /// Never runs: a mark for passes, and the identity otherwise.
    Identity,
}

/// What the op costs on one device, from its types.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub flops: f64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// One equation between values that must be sharded alike: `owner` carries the sharding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFlowEdge {
    /// Operands and values that inner regions give.
    pub sources: Vec<Value>,
    pub owner: Value,
    /// Arguments of inner regions.
    pub targets: Vec<Value>,
}

/// Whether shardings flow through an op by edges instead of a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataFlow {
    None,
    Edges(Vec<DataFlowEdge>),
}

/// Why evaluation stopped.
pub type EvalError = Diagnostic;

/// Runs the regions of an op that is being evaluated: reducers, comparators.
pub trait RegionEval {
    /// Gives what the region returns for these arguments. Steps count against the caller's fuel.
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError>;
}

/// Evaluates ops without regions only.
pub struct NoRegions;

impl RegionEval for NoRegions {
    fn region(&mut self, _: Region, _: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        Err(Diagnostic::error("fold-region", &Loc::UNKNOWN, "regions are not folded"))
    }
}

/// What an op sees when global shapes become per-device shapes.
pub struct LocalizeCx<'a, 'b> {
    /// The op with global types; shardings of operands and results agree with its rule.
    pub op: OpView<'a>,
    /// The per-device operands, in the body being built.
    pub operands: &'a [Value],
    /// The op's regions, already in the body being built.
    pub regions: Vec<Region>,
    /// What each operand and result lies like; never `None` for a tensor.
    pub operand_shardings: Vec<Option<Sharding>>,
    pub result_shardings: Vec<Option<Sharding>>,
    /// Per-device types of the results.
    pub result_types: Vec<Type>,
    pub builder: &'a mut Builder<'b>,
}

impl LocalizeCx<'_, '_> {
    /// The same op with per-device operands and types, and these attributes.
    pub fn same_op_with(&mut self, attrs: Attrs) -> Vec<Value> {
        let code = self.op.data().code;
        let (regions, types) = (std::mem::take(&mut self.regions), self.result_types.clone());
        let op: Op = self.builder.op_with_regions(code, self.operands.iter().copied(), attrs, regions, types);
        self.builder.body.op_mut(op).reason = self.op.data().reason.clone();
        self.builder.body[op].results.to_vec()
    }

    /// The same op with per-device operands and types: right for every op whose attributes hold no sizes or positions
    /// along a sharded dimension.
    pub fn same_op(&mut self) -> Vec<Value> {
        self.same_op_with(self.op.attrs().clone())
    }
}

/// The facts of one op or of a family that answers for its members (told apart by `view.data().code`).
pub trait Facts: Sync {
    /// Checks operands, attributes and regions, and returns the result types. Labels are the specification's (`add_c1`).
    ///
    /// Operands and results are plain values; [`infer_op`](crate::infer_op) handles quantized ones.
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics>;

    /// The op's factors, from its types and attributes.
    fn rule(&self, op: &OpView<'_>) -> RuleFact;

    fn propagation_class(&self, op: &OpView<'_>) -> PropagationClass;

    fn data_flow(&self, op: &OpView<'_>) -> DataFlow;

    fn combine(&self, op: &OpView<'_>) -> Combine;

    /// The element that padding of operand `index` along a reduction factor must hold, so that it adds nothing.
    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal>;

    /// Makes the per-device op.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic>;

    fn semantics(&self, op: &OpView<'_>) -> Semantics;

    /// Computes the results from the operands: the reference, plain and slow. Called only where [`Semantics::Pure`].
    ///
    /// Operands are plain values of the types that the op's reducer takes; [`evaluate`](crate::evaluate) handles others.
    fn eval(
        &self,
        op: &OpView<'_>,
        operands: &[Literal],
        regions: &mut dyn RegionEval,
    ) -> Result<Vec<Literal>, EvalError>;

    fn cost(&self, op: &OpView<'_>) -> Cost;

    fn effects(&self, op: &OpView<'_>) -> Effects;

    fn linear(&self, op: &OpView<'_>) -> Linear;

    fn explicit(&self, op: &OpView<'_>) -> ExplicitPolicy;

    /// A module whose `@main` holds one op of this kind, for hygiene tests and docs.
    fn example(&self, op: Opcode) -> &'static str;
}

/// Writes a fact that many ops answer alike, in the implementation of [`Facts`].
macro_rules! answer {
    // A function of its operands: its meaning is `eval`, and it has no effects.
    (pure) => {
        answer!(data_flow = none);
        answer!(semantics = Pure);
        answer!(effects = Pure);
    };
    // A function of the elements at the same place of all operands.
    (elementwise) => {
        answer!(pure);
        answer!(rule = pointwise);
        answer!(class = Elementwise);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(explicit = by_rule);
    };
    (class = $class:ident) => {
        fn propagation_class(&self, _: &OpView<'_>) -> PropagationClass {
            PropagationClass::$class
        }
    };
    // All tensors have the same dimensions, scalars aside.
    (rule = pointwise) => {
        fn rule(&self, op: &OpView<'_>) -> RuleFact {
            $crate::facts::pointwise_rule(op)
        }
    };
    (rule = none($why:literal)) => {
        fn rule(&self, _: &OpView<'_>) -> RuleFact {
            RuleFact::None($why)
        }
    };
    (data_flow = none) => {
        fn data_flow(&self, _: &OpView<'_>) -> DataFlow {
            DataFlow::None
        }
    };
    // No factor is a reduction: `combine` and `neutral`.
    (combine = none) => {
        fn combine(&self, _: &OpView<'_>) -> Combine {
            Combine::No("it reduces nothing")
        }
        fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
            None
        }
    };
    (localize = same_op) => {
        fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
            Ok(cx.same_op())
        }
    };
    (semantics = $semantics:ident) => {
        fn semantics(&self, _: &OpView<'_>) -> Semantics {
            Semantics::$semantics
        }
    };
    // Never called: the op's meaning belongs to the engine.
    (eval = engine) => {
        fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
            unreachable!("`{}` is run by the engine", op.name())
        }
    };
    // The identity: each result is the operand at its place.
    (eval = operands) => {
        fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
            Ok(x.to_vec())
        }
    };
    (cost = nothing) => {
        fn cost(&self, _: &OpView<'_>) -> Cost {
            Cost::default()
        }
    };
    // Reads its operands once and writes its results once, with this many flops for each element written.
    (cost = streams($flops:expr)) => {
        fn cost(&self, op: &OpView<'_>) -> Cost {
            Cost::streams(op, $flops)
        }
    };
    (effects = $effects:ident) => {
        fn effects(&self, _: &OpView<'_>) -> Effects {
            Effects::$effects
        }
    };
    (linear = $linear:ident) => {
        fn linear(&self, _: &OpView<'_>) -> Linear {
            Linear::$linear
        }
    };
    (linear = In($operands:expr)) => {
        fn linear(&self, _: &OpView<'_>) -> Linear {
            Linear::In($operands)
        }
    };
    (explicit = by_rule) => {
        fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
            ExplicitPolicy::ByRule
        }
    };
    (explicit = not($why:literal)) => {
        fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
            ExplicitPolicy::Not($why)
        }
    };
    (example = $text:expr) => {
        fn example(&self, _: Opcode) -> &'static str {
            $text
        }
    };
}
pub(crate) use answer;

/// Each dimension of the first result is a factor of every tensor that is not a scalar.
pub(crate) fn pointwise_rule(op: &OpView<'_>) -> RuleFact {
    let rank = |v: &Value| op.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
    RuleFact::Rule(rule.add_pointwise(op.result_shape(0)).build())
}

impl Cost {
    /// The same traffic with this many flops.
    pub fn with_flops(self, flops: f64) -> Cost {
        Cost { flops, ..self }
    }

    /// Reads each operand and writes each result once; `flops` for each element of the first result.
    pub fn streams(op: &OpView<'_>, flops: f64) -> Cost {
        let bytes =
            |values: &[Value]| values.iter().filter_map(|&v| op.body.ty(v).as_tensor()).map(|t| t.bytes()).sum();
        let elements = op.results().first().map_or(0, |&v| op.body.ty(v).as_tensor().map_or(0, |t| t.size()));
        Cost { flops: flops * elements as f64, bytes_read: bytes(op.operands()), bytes_written: bytes(op.results()) }
    }
}
