//! The facts that every op has.
//!
//! Each fact is required, and "none" is a value with its reason. Answers that many ops share are written with the macro
//! `answer!`, so that each implementation still shows all of its facts. Some answers are for several facts:
//! `answer!(pure)` for an op that is a function of its operands, `answer!(usual)` for one that no pass treats in a
//! special way, `answer!(elementwise)` for one that computes each element of its results from the elements at the same
//! position of its operands.
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
//! The facts are about plain values. [`infer_op`](crate::infer_op) and [`evaluate`](crate::evaluate) call them, and
//! also handle ops on quantized values and ops whose reducer has a wider element type than their operands.

pub(crate) use crate::batch::{Batched, further, with_first};
pub(crate) use crate::derivative::{Cotangent, Derivative, Transposed, unbroadcast};
pub(crate) use crate::movement::{Blocks, Fill, Movement, Read, WindowsCx, WindowsDim};

use crate::Opcode;
use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, Op, OpCode, OpView, Region, Type, Value};
use shardwise_sharding::{FactorKind, Rule, RuleBuilder};
use std::ops::Range;

/// The factor rule of an op, which describes the op as an einsum over factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RuleFact {
    Rule(Rule),
    /// The op has no factor rule, for this reason.
    None(&'static str),
}

impl RuleFact {
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            RuleFact::Rule(rule) => Some(rule),
            RuleFact::None(_) => None,
        }
    }

    /// Returns the fact with its rule changed by `change`. A fact without a rule is returned unchanged.
    pub fn map(self, change: impl FnOnce(Rule) -> Rule) -> RuleFact {
        match self {
            RuleFact::Rule(rule) => RuleFact::Rule(change(rule)),
            none => none,
        }
    }
}

/// The rounds of propagation in which an op takes part (Shardy's op-priorities).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PropagationClass {
    /// Ops with one factor for each dimension, the same in every tensor but scalars. They take part from the first
    /// rounds on.
    Elementwise,
    /// Reshapes, transposes, and moves between a device and its host, which keep all elements. They take part from the
    /// first rounds on.
    PassThrough,
    /// Dynamic slices and their updates, which propagate only forward in the first rounds.
    DynamicSlice,
    /// Broadcasts, which take no part in the first rounds, and propagate only backward in the rounds before the last.
    Broadcast,
    Other,
}

/// A known reduction, such as that which combines partial results over a sharded reduction factor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduceKind {
    Add,
    Mul,
    Max,
    Min,
    And,
    Or,
}

/// The reduction of an op's reduction factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    With(ReduceKind),
    /// The op combines the partial results itself when it becomes local: they are gathered, in the order of the parts,
    /// and reduced again. Its results are complete. Of the reduced dimensions with more than one element, only the
    /// first may be sharded, so that the elements stay in order.
    Gather,
    /// No reduction factor may be sharded, for this reason.
    No(&'static str),
}

/// The effects of running an op, beside computing its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effects {
    /// The op has no effects, so it may be removed, repeated or moved.
    Pure,
    /// The op must stay in order with other ordered ops.
    Ordered,
    /// The op's result may differ from device to device (an index, a collective's group).
    PerDevice,
}

/// The operands in which an op is linear while all others are constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linear {
    No,
    /// The op is linear in all operands together: `add`, `reshape`, `reduce` with `add`.
    Jointly,
    /// The op is linear in all operands together, except for the signs of zeros: `negate`, `subtract`. The sum of the
    /// negated summands 1 and -1 is 0, and the negated sum is -0. Programs that state an unreduced result accept this;
    /// for sums that a compiler leaves open by itself, such an op of floats is not linear.
    UpToZeros,
    /// The op is linear in each operand by itself: `multiply`, `dot_general`.
    Each,
    /// The op is linear in each of these operands by itself (a bit for each), and in no others: `ragged_dot` in its
    /// factors.
    EachOf(u32),
    /// The op is jointly linear in these operands only (a bit for each): `select` in its branches, `divide` in its
    /// numerator.
    In(u32),
}

impl Linear {
    /// Returns true if an op with `count` operands is linear in the summands, taken together: the operands for which
    /// `is_summand` returns true. The operands in which the op is jointly linear must all be summands or zeros
    /// (`is_zero`), and no other operand may be a summand. An op that is linear in operands by themselves must have
    /// exactly one summand, which is one of these. The signs of zeros are not considered.
    pub fn holds_for(self, count: usize, is_summand: impl Fn(usize) -> bool, is_zero: impl Fn(usize) -> bool) -> bool {
        let is_part = |i: usize| is_summand(i) || is_zero(i);
        match self {
            Linear::No => false,
            Linear::Jointly | Linear::UpToZeros => (0..count).all(is_part),
            Linear::Each => (0..count).filter(|&i| is_summand(i)).count() == 1,
            Linear::EachOf(_) => {
                let mut summands = (0..count).filter(|&i| is_summand(i));
                summands.next().is_some_and(|i| self.includes(i)) && summands.next().is_none()
            }
            Linear::In(_) => (0..count).all(|i| if self.includes(i) { is_part(i) } else { !is_summand(i) }),
        }
    }

    /// Returns true if the op is linear in operand `i` while all others that are not linear together with it are
    /// constant.
    pub fn includes(self, i: usize) -> bool {
        match self {
            Linear::No => false,
            Linear::Jointly | Linear::UpToZeros | Linear::Each => true,
            Linear::In(mask) | Linear::EachOf(mask) => {
                u32::try_from(i).is_ok_and(|i| mask.checked_shr(i).is_some_and(|bits| bits & 1 == 1))
            }
        }
    }
}

/// Returns true if a `stablehlo.constant` defines operand `operand` and its only element is 0, -0 or false. Returns
/// false for complex constants.
pub fn is_zero(op: &OpView<'_>, operand: usize) -> bool {
    let Some(def) = op.operand_def(operand) else { return false };
    constant_number(&def) == Some(0.0) && def.result_type(0).shape().iter().all(|&n| n == 1)
}

/// Returns true if an op is a `stablehlo.constant` whose elements are all zero or false, and none is a negative zero.
/// Returns false for complex and empty constants, and for several zeros that are not stored as a splat.
pub fn is_zeros(op: &OpView<'_>) -> bool {
    constant_number(op).is_some_and(|number| number.to_bits() == 0)
}

/// Returns the element of a `stablehlo.constant` that is a splat or has one element. Returns `None` if it is complex or
/// the array is empty, and for any other op.
fn constant_number(op: &OpView<'_>) -> Option<f64> {
    let Some(Attr::Dense(value)) = op.attr("value") else { return None };
    let is_number = Opcode::of_view(op) == Opcode::Constant && !value.dtype().is_complex();
    (is_number && value.size() > 0 && (value.is_splat() || value.size() == 1)).then(|| value.get_f64(0))
}

/// The typing of an op in Explicit mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExplicitPolicy {
    /// By its factor rule. If the layout is ambiguous or data would have to move, the program decides the layout, or
    /// the obvious one is taken if there is one and the mesh allows it. Partial sums of a reduction are combined.
    /// Without a rule, a result has the layout of the operand that flows into it, or is whole.
    ByRule,
    /// By the rule along which shardings propagate. It has other factors than the rule of the partitioner. Without such
    /// a rule, the layouts are as for [`ByRule`](Self::ByRule).
    ByPropagation,
    /// By its factor rule, with the batch dimensions sharded as in the first operand. The program must say where
    /// partial sums of a reduction are combined, for this reason.
    AskSums(&'static str),
    /// By groups of dimensions: whole axes are moved from each group to the group with the same elements.
    Regroup,
    /// Explicit mode does not type the op, for this reason.
    Not(&'static str),
}

/// The factors along which an op may run on parts of its operands, as far as the kinds of the factors allow it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Splits {
    /// All factors.
    Anywhere,
    /// The factors that split every tensor into equal parts. The results of the op depend on positions in the whole
    /// array, including its padding, or its rule states the sizes of the whole array.
    Evenly,
    /// The factors that all of the op's tensors have. A part of the result cannot be computed if the operand lacks the
    /// factor.
    Shared,
    /// All factors. Each block of the result is the block of the operand, with padding added or removed: on padded
    /// blocks the op is the identity.
    InSameBlocks,
}

/// An op with the same result as another one, which reads values further back.
#[derive(Clone, PartialEq, Debug)]
pub struct ReadThrough {
    pub code: OpCode,
    pub operands: Vec<Value>,
    pub attrs: Attrs,
}

/// The way in which an op computes a partial result over sharded reduction factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartialResult {
    /// The op computes it from slices of its operands along these factors. The operands `once` are initial values,
    /// which only one of the partial results may include.
    OfSlices { once: Range<usize> },
    /// The op does not compute it from slices, for example because its attributes contain sizes or positions along
    /// these factors. This is also the answer of ops without such factors.
    Rewritten,
}

/// The condition under which the results of an op are constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constness {
    /// The op has no operands, and its results are constants.
    Literal,
    /// The results are constants if all operands are. It is better to copy the op for each user than to have one
    /// sharding for all users.
    OfOperands,
    No,
}

/// The bound of an operand that is an index into dimension `dim` of the op's first operand. The op itself keeps operand
/// `operand` at or below `most`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexBound {
    pub operand: usize,
    pub dim: usize,
    pub most: usize,
}

/// The types of an op's operands and results after dimensions of some of them were enlarged.
pub struct Enlarged<'a> {
    pub operands: &'a [Type],
    pub results: &'a [Type],
}

impl Enlarged<'_> {
    /// Returns the op's attributes with the list `name` adapted to the enlarged types. The list has a size for each
    /// dimension of the first operand. A size that was that of the whole dimension becomes the enlarged size, and the
    /// others stay.
    pub(crate) fn with_sizes(&self, op: &OpView<'_>, name: &str) -> Attrs {
        let (full, to) = (op.operand_shape(0), self.operands[0].shape());
        let sizes = op.sizes(name).into_iter().enumerate();
        let resized: Vec<usize> = sizes.map(|(d, size)| if size == full[d] { to[d] } else { size }).collect();
        op.attrs().clone().with(name, Attr::sizes(&resized))
    }
}

/// The part of the library that computes an op's results when it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// [`Facts::eval`] computes the results from the values of the operands.
    Pure,
    /// The engine runs the op itself, and decides which regions or functions run and how often: control flow, calls,
    /// tokens, probes.
    Control,
    /// The engine computes the results, which depend on the device or on values of several devices.
    Collective,
    /// The op never runs. It is a mark for passes, and its results, if it has any, are operands.
    Identity,
}

/// An estimate of the cost of an op on one device, computed from its types and attributes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub flops: f64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

/// A group of values that must have the same sharding, which is stored on `owner`. At a manual computation, the values
/// inside lack the manual axes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFlowEdge {
    /// Operands of the op, and values that inner regions return.
    pub sources: Vec<Value>,
    pub owner: Value,
    /// Arguments of inner regions other than the owner.
    pub targets: Vec<Value>,
}

/// The edges along which shardings are propagated through an op that has no rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DataFlow {
    None,
    Edges(Vec<DataFlowEdge>),
}

/// The reason for which evaluation stopped.
pub type EvalError = Diagnostic;

/// The part of an engine that runs the regions of an op that is being evaluated: reducers, comparators.
pub trait RegionEval {
    /// Returns the results of the region for these arguments. Fails if an op of the region fails, if calls and regions
    /// nest too deep, or if the implementation runs no regions ([`NoRegions`]). The steps of the region are taken from
    /// the thread's budget. If too few are left, the run stops as
    /// [`take_steps`](shardwise_base::budget::take_steps) does, without a result.
    fn region(&mut self, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError>;
}

/// A [`RegionEval`] for ops without regions. It returns an error for any region.
pub struct NoRegions;

impl RegionEval for NoRegions {
    fn region(&mut self, _: Region, _: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        Err(Diagnostic::error("fold-region", &Loc::UNKNOWN, "an op with a region cannot be folded to a constant"))
    }
}

/// The use of a reducer by an op. The reducer is a region that combines elements, which may be wider than those of the
/// op's operands.
#[derive(Clone, Copy)]
pub struct Reducer {
    /// The index of the region.
    pub region: usize,
    /// Returns the index of an argument of the reducer to whose type elements of operand `index` are converted, or
    /// `None` if the operand's elements are not combined.
    pub argument: fn(op: &OpView<'_>, index: usize) -> Option<usize>,
    pub promoted: Promoted,
}

/// The form on operands of equal types of an op whose reducer takes wider elements than its operands have.
#[derive(Clone, Copy)]
pub enum Promoted {
    /// The op itself, on operands that are converted to the reducer's types.
    SameOp,
    /// Ops that this function builds from the op, its operands and its regions, which are in the body that is being
    /// built.
    By(fn(&OpView<'_>, &[Value], &[Region], &mut Builder<'_>) -> Vec<Value>),
}

/// The inputs of an op's `localize`, which turns global shapes into per-device shapes.
pub struct LocalizeCx<'a, 'b> {
    /// The op with global types. The shardings of operands and results agree with its rule.
    pub op: OpView<'a>,
    /// The per-device operands, in the body being built.
    pub operands: &'a [Value],
    /// The op's regions, already in the body being built.
    pub regions: Vec<Region>,
    /// The sharding of each operand. It is never `None` for a tensor.
    pub operand_shardings: Vec<Option<Sharding>>,
    pub result_shardings: Vec<Option<Sharding>>,
    /// The per-device types of the results.
    pub result_types: Vec<Type>,
    pub builder: &'a mut Builder<'b>,
}

impl LocalizeCx<'_, '_> {
    /// Builds the same op with per-device operands and types, these attributes and the reason of the global op, and
    /// returns its results. Moves the regions out of `self.regions`.
    pub fn same_op_with(&mut self, attrs: Attrs) -> Vec<Value> {
        let code = self.op.data().code;
        let (regions, types) = (std::mem::take(&mut self.regions), self.result_types.clone());
        let op: Op = self.builder.op_with_regions(code, self.operands.iter().copied(), attrs, regions, types);
        self.builder.body.op_mut(op).reason = self.op.data().reason.clone();
        self.builder.body[op].results.to_vec()
    }

    /// Builds the same op with per-device operands and types, as [`LocalizeCx::same_op_with`] does, with the attributes
    /// of the global op. This is right for every op whose attributes contain no sizes or positions along a sharded
    /// dimension.
    pub fn same_op(&mut self) -> Vec<Value> {
        self.same_op_with(self.op.attrs().clone())
    }
}

/// The facts of one op, or of a family of ops that `view.data().code` distinguishes.
pub trait Facts: Sync {
    /// Checks operands, attributes and regions, and returns the result types. Labels are the specification's
    /// (`add_c1`) where it has them.
    ///
    /// Operands and results are plain values, and the attributes are those that the op's schema describes.
    /// [`infer_op`](crate::infer_op) handles quantized values, and reports required attributes that are missing and
    /// attributes of the wrong kind. Fails if a constraint is broken. Constraints that rely on a broken one are not
    /// reported.
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics>;

    /// Returns the rule with the op's factors, from its types and attributes, or the reason why it has no rule.
    fn rule(&self, op: &OpView<'_>) -> RuleFact;

    fn propagation_class(&self, op: &OpView<'_>) -> PropagationClass;

    fn data_flow(&self, op: &OpView<'_>) -> DataFlow;

    fn combine(&self, op: &OpView<'_>) -> Combine;

    /// Returns the element with which operand `index` must be padded along a reduction factor so that the result is
    /// unchanged. Returns `None` if no such element is known: then the factor can only be split evenly.
    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal>;

    /// Builds the per-device ops, and returns their results, one for each result of the op. Fails if the op cannot be
    /// computed in the parts that the shardings say.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic>;

    fn semantics(&self, op: &OpView<'_>) -> Semantics;

    /// Computes the results from the operands. This is the reference, which is plain and slow. Called only for
    /// [`Semantics::Pure`].
    ///
    /// Operands are plain values of the types that the op's reducer takes. [`evaluate`](crate::evaluate) handles
    /// others. Fails if a region or a kernel of the user does, if the values break a condition of the op, or if the op
    /// is a custom call that nothing computes. May panic for an op that the engine runs.
    fn eval(
        &self,
        op: &OpView<'_>,
        operands: &[Literal],
        regions: &mut dyn RegionEval,
    ) -> Result<Vec<Literal>, EvalError>;

    /// Returns true if [`eval`](Facts::eval) copies operands or results into wider types, which needs memory beside the
    /// literals.
    fn eval_copies(&self, op: &OpView<'_>) -> bool;

    fn cost(&self, op: &OpView<'_>) -> Cost;

    fn effects(&self, op: &OpView<'_>) -> Effects;

    fn linear(&self, op: &OpView<'_>) -> Linear;

    fn explicit(&self, op: &OpView<'_>) -> ExplicitPolicy;

    /// Returns a value that is always equal to the only result: an operand, or a value from which operands are built.
    /// Returns `None` if the facts know of no such value, and for ops with several results.
    fn forwards(&self, op: &OpView<'_>) -> Option<Value>;

    /// Returns an op with the same result that reads values from which this op's operands are built, without the ops
    /// that build them (slices, paddings, concatenations). Returns `None` if the facts know of no such op.
    fn read_through(&self, op: &OpView<'_>) -> Option<ReadThrough>;

    /// Returns the attributes that the op must have after dimensions of its operands and results are enlarged.
    fn enlarged(&self, op: &OpView<'_>, types: &Enlarged<'_>) -> Attrs;

    /// Returns the operands that the op keeps inside bounds. They must be bounded explicitly if the dimension is
    /// enlarged. Operands whose dimension is never enlarged are left out.
    fn index_bounds(&self, op: &OpView<'_>) -> Vec<IndexBound>;

    fn splits(&self, op: &OpView<'_>) -> Splits;

    fn partial_result(&self, op: &OpView<'_>) -> PartialResult;

    /// Returns the windows of its operands that the op reads for one of these blocks, or `None` if the op is not
    /// computed from windows along this dimension.
    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement>;

    /// Returns the rule along which shardings propagate through the op, as in Shardy. It may connect dimensions that
    /// [`rule`](Facts::rule) does not connect because the partitioner cannot split them. Conservative propagation
    /// leaves out dimensions whose elements would have to be moved.
    fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact;

    fn constness(&self, op: &OpView<'_>) -> Constness;

    /// Returns the name of the attribute with the op's number among the ops of its module that have this attribute, or
    /// `None` if the op's results do not depend on such a number.
    fn number_attr(&self, op: &OpView<'_>) -> Option<&'static str>;

    /// Returns how the op uses its reducer, or `None` if it has none.
    fn reducer(&self, op: &OpView<'_>) -> Option<Reducer>;

    /// Returns how the op is differentiated in forward mode. It is used if an operand, or a value from outside that a
    /// region uses, has a tangent.
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_>;

    /// Returns the transpose of the op in the operands in which it is linear.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_>;

    /// Returns how the op is computed for a whole batch. `mapped` has an entry for each operand: whether it has a new
    /// leading dimension. An op whose regions or called function differ along the batch may have no such operand.
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_>;

    /// Returns the text of a module whose `@main` contains an op of this kind, for tests and documentation.
    fn example(&self, op: Opcode) -> &'static str;
}

/// Writes one or several facts for which many ops have the same answer, in the implementation of [`Facts`].
macro_rules! answer {
    // A function of its operands: it is computed by `eval` and has no effects.
    (pure) => {
        answer!(data_flow = none);
        answer!(semantics = Pure);
        answer!(effects = Pure);
    };
    // A function of the elements at the same position of all operands.
    (elementwise) => {
        answer!(per_part = Elementwise);
        answer!(rule = pointwise);
    };
    // A function of its operands that reduces nothing. A device computes its part of the results by the same op.
    (per_part = $class:ident) => {
        answer!(pure);
        answer!(class = $class);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(explicit = by_rule);
    };
    // The same for an op whose results consist of elements of its operands, which it does not change.
    (moves_elements = $class:ident) => {
        answer!(per_part = $class);
        answer!(cost = streams(0.0));
        answer!(linear = Jointly);
    };
    // The engine runs the op, and a device runs the same op with local types.
    (run_by_engine) => {
        answer!(class = Other);
        answer!(data_flow = none);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(semantics = Control);
        answer!(eval = engine);
    };
    // No pass treats the op in a special way, and its evaluation needs only the literals.
    (usual) => {
        answer!(usual but);
    };
    // The same, except for facts that the op answers itself.
    (usual but $($own:ident),*) => {
        usual!(forwards: $($own)*);
        usual!(enlarged: $($own)*);
        usual!(splits: $($own)*);
        usual!(partial_result: $($own)*);
        usual!(movement: $($own)*);
        usual!(read_through: $($own)*);
        usual!(propagation_rule: $($own)*);
        usual!(constness: $($own)*);
        usual!(number: $($own)*);
        usual!(reducer: $($own)*);
        usual!(eval_copies: $($own)*);
    };
    // The operand, if the result has its type.
    (forwards = same_type) => {
        fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
            $crate::facts::has_operand_type(op).then(|| op.operand(0))
        }
    };
    (forwards = none) => {
        fn forwards(&self, _: &OpView<'_>) -> Option<Value> {
            None
        }
    };
    (read_through = none) => {
        fn read_through(&self, _: &OpView<'_>) -> Option<ReadThrough> {
            None
        }
    };
    // All sizes and bounds follow from the types: `enlarged` and `index_bounds`.
    (enlarged = by_types) => {
        fn enlarged(&self, op: &OpView<'_>, _: &Enlarged<'_>) -> shardwise_ir::Attrs {
            op.attrs().clone()
        }
        answer!(index_bounds = none);
    };
    // The attribute is a list of sizes, one for each dimension of the first operand.
    (enlarged = sizes($name:literal)) => {
        fn enlarged(&self, op: &OpView<'_>, types: &Enlarged<'_>) -> shardwise_ir::Attrs {
            types.with_sizes(op, $name)
        }
        answer!(index_bounds = none);
    };
    (index_bounds = none) => {
        fn index_bounds(&self, _: &OpView<'_>) -> Vec<IndexBound> {
            vec![]
        }
    };
    (splits = $splits:ident) => {
        fn splits(&self, _: &OpView<'_>) -> Splits {
            Splits::$splits
        }
    };
    (partial_result = rewritten) => {
        fn partial_result(&self, _: &OpView<'_>) -> PartialResult {
            PartialResult::Rewritten
        }
    };
    (movement = none) => {
        fn movement(&self, _: &OpView<'_>, _: Blocks) -> Option<Movement> {
            None
        }
    };
    (propagation_rule = as_rule) => {
        fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
            self.rule(op)
        }
    };
    // Conservative propagation does not propagate along factors other than those that pass through.
    (propagation_rule = blocked_if_conservative) => {
        fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact {
            let rule = self.rule(op);
            if is_conservative { rule.map($crate::facts::blocked_unless_pass_through) } else { rule }
        }
    };
    // Elementwise functions of constants are constants.
    (constness = by_class) => {
        fn constness(&self, op: &OpView<'_>) -> Constness {
            let is_elementwise = self.propagation_class(op) == PropagationClass::Elementwise;
            let is_pure = self.effects(op) == Effects::Pure;
            if is_elementwise && is_pure { Constness::OfOperands } else { Constness::No }
        }
    };
    (constness = $constness:ident) => {
        fn constness(&self, _: &OpView<'_>) -> Constness {
            Constness::$constness
        }
    };
    (number = none) => {
        fn number_attr(&self, _: &OpView<'_>) -> Option<&'static str> {
            None
        }
    };
    (reducer = none) => {
        fn reducer(&self, _: &OpView<'_>) -> Option<Reducer> {
            None
        }
    };
    (reducer = $reducer:expr) => {
        fn reducer(&self, _: &OpView<'_>) -> Option<Reducer> {
            Some($reducer)
        }
    };
    (class = $class:ident) => {
        fn propagation_class(&self, _: &OpView<'_>) -> PropagationClass {
            PropagationClass::$class
        }
    };
    // All tensors but scalars have the same dimensions.
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
    // No factor is a reduction. This answers `combine` and `neutral`.
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
    (eval_copies = $copies:literal) => {
        fn eval_copies(&self, _: &OpView<'_>) -> bool {
            $copies
        }
    };
    // Never called, because the engine runs the op.
    (eval = engine) => {
        fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
            unreachable!("`{}` is run by the engine", op.name())
        }
    };
    // The identity: each result is the operand at its position.
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
    // Each operand is read once and each result is written once, with this many flops for each element of the first
    // result.
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
    (derivative = linear) => {
        fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
            Derivative::Linear
        }
    };
    (derivative = zero($why:literal)) => {
        fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
            Derivative::Zero($why)
        }
    };
    (derivative = none($why:literal)) => {
        fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
            Derivative::None($why)
        }
    };
    (transpose = none($why:literal)) => {
        fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
            Transposed::None($why)
        }
    };
    // The op's attributes name no dimensions, and all operands have the results' dimensions in front.
    (batch = same_attrs) => {
        fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
            Batched::Leading(op.attrs().clone())
        }
    };
    (batch = none($why:literal)) => {
        fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
            Batched::None($why)
        }
    };
    // The transforms know the op: they transform its regions, or the function that it calls.
    (calculus = structure) => {
        fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
            Derivative::Structure
        }
        fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
            Transposed::Structure
        }
        fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
            Batched::Structure
        }
    };
    // The op has neither a derivative nor a batch: `derivative`, `transpose` and `batch`. A second reason, if there is
    // one, is that for the batch.
    (calculus = none($why:literal)) => {
        answer!(calculus = none($why, $why));
    };
    (calculus = none($why:literal, $of_batch:literal)) => {
        answer!(derivative = none($why));
        answer!(transpose = none($why));
        answer!(batch = none($of_batch));
    };
    (example = $text:expr) => {
        fn example(&self, _: Opcode) -> &'static str {
            $text
        }
    };
}
pub(crate) use answer;

/// Writes the usual answer of a fact, unless the fact is among those behind the colon, which the op answers itself.
#[rustfmt::skip]
macro_rules! usual {
    (forwards: forwards $($own:ident)*) => {};
    (enlarged: enlarged $($own:ident)*) => {};
    (splits: splits $($own:ident)*) => {};
    (partial_result: partial_result $($own:ident)*) => {};
    (movement: movement $($own:ident)*) => {};
    (read_through: read_through $($own:ident)*) => {};
    (propagation_rule: propagation_rule $($own:ident)*) => {};
    (constness: constness $($own:ident)*) => {};
    (number: number $($own:ident)*) => {};
    (reducer: reducer $($own:ident)*) => {};
    (eval_copies: eval_copies $($own:ident)*) => {};
    ($fact:ident: $other:ident $($own:ident)*) => { usual!($fact: $($own)*); };
    (forwards:) => { answer!(forwards = none); };
    (enlarged:) => { answer!(enlarged = by_types); };
    (splits:) => { answer!(splits = Anywhere); };
    (partial_result:) => { answer!(partial_result = rewritten); };
    (movement:) => { answer!(movement = none); };
    (read_through:) => { answer!(read_through = none); };
    (propagation_rule:) => { answer!(propagation_rule = as_rule); };
    (constness:) => { answer!(constness = by_class); };
    (number:) => { answer!(number = none); };
    (reducer:) => { answer!(reducer = none); };
    (eval_copies:) => { answer!(eval_copies = false); };
}
pub(crate) use usual;

pub(crate) fn has_operand_type(op: &OpView<'_>) -> bool {
    op.operand_type(0) == op.result_type(0)
}

pub(crate) fn blocked_unless_pass_through(mut rule: Rule) -> Rule {
    rule.factors.iter_mut().for_each(|s| s.is_blocked |= s.kind != FactorKind::PassThrough);
    rule
}

/// Returns a rule in which each dimension of the first result is a factor of every tensor that is not a scalar.
pub(crate) fn pointwise_rule(op: &OpView<'_>) -> RuleFact {
    let rank = |v: &Value| op.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
    RuleFact::Rule(rule.add_pointwise(op.result_shape(0)).build())
}

impl Cost {
    /// Returns this cost with its number of flops replaced by `flops`.
    pub fn with_flops(self, flops: f64) -> Cost {
        Cost { flops, ..self }
    }

    /// Returns the cost of reading each operand once and writing each result once, with `flops` for each element of the
    /// first result.
    pub fn streams(op: &OpView<'_>, flops: f64) -> Cost {
        let bytes = |values: &[Value]| {
            let tensors = values.iter().filter_map(|&v| op.body.ty(v).as_tensor());
            tensors.map(|t| t.bytes()).fold(0, u64::saturating_add)
        };
        let elements = op.results().first().map_or(0, |&v| op.body.ty(v).as_tensor().map_or(0, |t| t.size()));
        Cost { flops: flops * elements as f64, bytes_read: bytes(op.operands()), bytes_written: bytes(op.results()) }
    }
}
