//! Shardy's own ops: marks for the shardings of values, per-device regions, and the steps between two layouts.
//!
//! The sharding that such an op sets is stored on its result, not in an attribute.

mod collective;
pub mod exchange;
mod localize;

pub use collective::{AllToAllParam, Collective, ShardyCollective, axes_to_fill, set_stays_in_loop, stays_in_loop};
pub use localize::permutation;

use crate::Opcode;
use crate::check::{Check, MANY, constraint, counted_tensors, counts, types_of};
use crate::control::region_edges;
use crate::facts::*;
use crate::schema::*;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Literal, Mesh, Sharding, counted};
use shardwise_ir::{Attr, Attrs, Op, OpView, Type, Value};
use shardwise_sharding::Direction;
use std::sync::Arc;

/// Identities that passes read: `sharding_constraint`, `reshard`, `data_flow_edge`, `func_data_flow_edge`,
/// `propagation_barrier`.
pub struct Mark;
/// `sharding_group`, whose operand has the same sharding as the other members of the group.
pub struct ShardingGroup;
/// `manual_computation`: a region that is per device along its manual axes.
pub struct ManualComputation;

/// Returns the shardings with which operands enter a manual or named computation. The list is empty if the attribute is
/// missing or broken.
pub fn in_shardings(attrs: &Attrs) -> &[Sharding] {
    match attrs.get("in_shardings") {
        Some(Attr::Shardings(list)) => list,
        _ => &[],
    }
}

/// Returns the axes over which the body of a manual computation is per device. The list is empty if the op has no
/// attribute `manual_axes`, as other ops have none, or a broken one.
pub fn manual_axes<'a>(view: &OpView<'a>) -> &'a [AxisRef] {
    manual_mesh_axes(view).map_or(&[], |(_, axes)| axes)
}

/// Returns the axes of all manual computations around an op, the innermost first.
pub fn manual_axes_around(view: &OpView<'_>) -> Vec<AxisRef> {
    let body = view.body;
    let holds = |op: &Op, inner: Op| body[*op].regions.iter().any(|&r| body[r].ops.contains(&inner));
    let home = |inner: Op| body.walk().into_iter().find(|op| holds(op, inner));
    let mut axes = vec![];
    let mut around = home(view.op);
    while let Some(op) = around {
        axes.extend(manual_axes(&view.at(op)));
        around = home(op);
    }
    axes
}

/// Returns the axes over which the body of a manual computation is per device, with their mesh. Returns `None` if the
/// op has no attribute `manual_axes`, as other ops have none, or a broken one.
pub fn manual_mesh_axes<'a>(view: &OpView<'a>) -> Option<(&'a Arc<Mesh>, &'a [AxisRef])> {
    manual_mesh_axes_in(view.attrs())
}

/// Returns the axes that the attributes of a manual computation name, with their mesh, or `None` if `manual_axes` is
/// missing or broken.
pub fn manual_mesh_axes_in(attrs: &Attrs) -> Option<(&Arc<Mesh>, &[AxisRef])> {
    attrs.get("manual_axes")?.as_axes()
}

/// Returns the name of the function that a named computation was made from. Returns `None` if the attribute is missing
/// or broken.
pub fn computation_name(attrs: &Attrs) -> Option<&str> {
    attrs.str("name")
}

/// Sets the name of the function that a named computation was made from.
pub fn set_computation_name(attrs: &mut Attrs, name: Arc<str>) {
    attrs.set("name", Attr::Str(name));
}

/// Removes the name and the `in_shardings` of a named computation, which a call of a function does not have.
pub fn remove_computation_attrs(attrs: &mut Attrs) {
    ["name", "in_shardings"].into_iter().for_each(|name| _ = attrs.remove(name));
}

/// Returns the directions in which a propagation barrier lets shardings pass. Returns `None` for other ops and for a
/// barrier whose attribute is absent or not a word. An unknown word counts as `NONE`.
pub fn barrier_direction(view: &OpView<'_>) -> Option<Direction> {
    if Opcode::of_view(view) != Opcode::PropagationBarrier {
        return None;
    }
    Some(match Mark::allowed_direction(view)? {
        "FORWARD" => Direction::Forward,
        "BACKWARD" => Direction::Backward,
        "BOTH" => Direction::Both,
        _ => Direction::None,
    })
}

const PROPAGATION_DIRECTION: Enumeration =
    Enumeration { dialect: "sdy", kind: "propagation_direction", words: &["NONE", "FORWARD", "BACKWARD", "BOTH"] };

/// Sets the shardings with which operands enter a manual or named computation.
pub fn set_in_shardings(attrs: &mut Attrs, shardings: Vec<Sharding>) {
    attrs.set("in_shardings", Attr::Shardings(shardings));
}

/// Sets the axes over which the body of a manual computation is per device.
pub fn set_manual_axes(attrs: &mut Attrs, mesh: &Arc<Mesh>, axes: &[AxisRef]) {
    attrs.set("manual_axes", Attr::axes(mesh, axes));
}

pub(crate) fn sharding_faults(sharding: &Sharding, rank: usize) -> Vec<String> {
    let mesh = &sharding.mesh;
    let mut faults = vec![];
    // A sharding on a single device may have no dimensions.
    if sharding.rank() != rank && !(mesh.is_maximal() && sharding.rank() == 0) {
        let dimensions = counted(sharding.rank(), "dimension");
        faults.push(format!("the sharding {sharding} has {dimensions}, the tensor has {rank}"));
    }
    let all = sharding.split_axes().chain(sharding.replicated.iter().copied());
    let all: Vec<AxisRef> = all.chain(sharding.unreduced.iter().copied()).collect();
    faults.extend(repeated_axis(mesh, &all));
    faults
}

pub(crate) fn repeated_axis(mesh: &Mesh, axes: &[AxisRef]) -> Option<String> {
    let is_repeated = |i: usize| axes[..i].iter().any(|a| a.overlaps(axes[i]));
    let i = (0..axes.len()).find(|&i| is_repeated(i))?;
    Some(format!("axis {} is used twice", axes[i].display(mesh)))
}

impl Mark {
    /// The schema of the ops that state the sharding of their result.
    pub(crate) const WITH_SHARDING: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[Piece::Operand, Piece::Text(" "), Piece::Sharding], Types::AlwaysSame)
            .with_results(SHARDING),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const DATA_FLOW_EDGE_OP: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::shardy::EdgeForm).with_results(SHARDING),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const FUNC_DATA_FLOW_EDGE: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[Piece::Operand], Types::Same),
        names: Names::Numbered,
        role: Role::Plain,
    };

    pub(crate) const PROPAGATION_BARRIER: Schema = Schema {
        attributes: &[required("allowed_direction", None, AttrKind::Enum(&PROPAGATION_DIRECTION))],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                Piece::Text(" allowed_direction="),
                Piece::Attr(
                    "allowed_direction",
                    Written::NumberedEnum("sdy", PROPAGATION_DIRECTION.kind, PROPAGATION_DIRECTION.words),
                ),
            ],
            Types::AlwaysSame,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the word in the attribute `allowed_direction`, the direction in which shardings pass a
    /// `propagation_barrier`. If the op is verified, this is `NONE`, `FORWARD`, `BACKWARD` or `BOTH`; otherwise it may
    /// be any word. Returns `None` if the attribute is absent or not a word.
    pub fn allowed_direction<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("allowed_direction")
    }
}

impl Facts for Mark {
    answer!(derivative = linear);
    /// Returns the transpose: the cotangent of a value has the value's layout.
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                cx.same_op(&[ct])[0]
            })
        })
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 1..=1, 0)?;
        let mut check = Check::new(op);
        if let Some(sharding) = op.results().first().and_then(|&v| op.body.sharding(v)) {
            for fault in sharding_faults(sharding, op.operand_shape(0).len()) {
                check.that("sdy-sharding", false, &fault);
            }
        }
        check.give([op.operand_type(0).clone()])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        match op.operand_type(0) {
            Type::Tensor(_) => pointwise_rule(op),
            _ => RuleFact::None("its operand is no tensor"),
        }
    }
    fn constness(&self, op: &OpView<'_>) -> Constness {
        if Opcode::of_view(op) == Opcode::ShardingConstraint { Constness::No } else { Constness::OfOperands }
    }

    answer!(usual but constness);
    answer!(class = Elementwise);
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        if Opcode::of_view(op) != Opcode::DataFlowEdgeOp {
            return DataFlow::None;
        }
        let edge = DataFlowEdge { sources: vec![op.operand(0)], owner: op.result(0), targets: vec![] };
        DataFlow::Edges(vec![edge])
    }
    answer!(combine = none);
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(cx.operands.to_vec())
    }
    answer!(semantics = Identity);
    answer!(eval = operands);
    answer!(cost = nothing);
    answer!(effects = Pure);
    answer!(linear = Jointly);
    answer!(explicit = not("its result has the sharding that it names"));
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::Reshard => {
                r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.reshard %arg0 <@mesh, [{"x"}]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            Opcode::DataFlowEdgeOp => {
                r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.data_flow_edge %arg0 sharding=<@mesh, [{"x"}]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            Opcode::FuncDataFlowEdge => {
                r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.func_data_flow_edge %arg0 : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            Opcode::PropagationBarrier => {
                r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.propagation_barrier %arg0 allowed_direction=BACKWARD : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            _ => {
                r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x"}]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
        }
    }
}

impl ShardingGroup {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("group_id", None, AttrKind::Int(DType::I64))],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(" group_id="), Piece::Attr("group_id", Written::Int(DType::I64))],
            Types::Operands,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the number of the group. Returns `None` if the attribute is missing or broken.
    pub fn id(op: &OpView<'_>) -> Option<i64> {
        op.attrs().int("group_id")
    }

    /// Changes the attributes of a `sharding_group` to name another group.
    pub fn set_id(attrs: &mut Attrs, id: i64) {
        attrs.set("group_id", Attr::int(id));
    }
}

impl Facts for ShardingGroup {
    answer!(calculus = none("it has no results"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counted_tensors(op, 1..=1, 0)?;
        Ok(vec![])
    }
    answer!(usual);
    answer!(rule = none("a group copies shardings as they are"));
    answer!(class = Other);
    answer!(data_flow = none);
    answer!(combine = none);
    fn localize(&self, _: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(vec![])
    }
    answer!(semantics = Identity);
    fn eval(&self, _: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![])
    }
    answer!(cost = nothing);
    answer!(effects = Ordered);
    answer!(linear = Jointly);
    answer!(explicit = not("shardings do not propagate there"));
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  sdy.sharding_group %arg0 group_id=0 : tensor<2xf32>
  return %arg0 : tensor<2xf32>
}"
    );
}

/// The attribute of a manual computation that the compiler made.
const MADE: &str = "shardwise.made";

impl ManualComputation {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("in_shardings", None, AttrKind::Shardings),
            required("manual_axes", None, AttrKind::Axes),
        ],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::shardy::ManualForm).with_results(OUT_SHARDINGS),
        names: Names::Numbered,
        role: Role::Isolated,
    };

    /// Builds the attributes of a manual computation.
    pub fn attrs(in_shardings: Vec<Sharding>, mesh: &Arc<Mesh>, manual_axes: &[AxisRef]) -> Attrs {
        let mut attrs = Attrs::new();
        set_in_shardings(&mut attrs, in_shardings);
        set_manual_axes(&mut attrs, mesh, manual_axes);
        attrs
    }

    /// Builds the attributes of a manual computation that the compiler makes. Its results are known to have the layouts
    /// of their shardings.
    pub fn made(in_shardings: Vec<Sharding>, mesh: &Arc<Mesh>, manual_axes: &[AxisRef]) -> Attrs {
        ManualComputation::attrs(in_shardings, mesh, manual_axes).with(MADE, Attr::Unit)
    }

    /// Returns true if the compiler made the manual computation ([`ManualComputation::made`]).
    pub fn is_made(attrs: &Attrs) -> bool {
        attrs.contains(MADE)
    }
}

impl Facts for ManualComputation {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=MANY, 1)?;
        let mut check = Check::new(op);
        let body = op.regions()[0];
        let (args, gives) = (&op.body[body].args, op.body.region_results(body));
        check.that(
            "sdy-manual-arity",
            args.len() == op.operands().len(),
            "the body must take as many values as the op has operands",
        );
        let ins = in_shardings(op.attrs());
        let (mesh, axes) = manual_mesh_axes(op).expect("a required attribute");
        let one_each = ins.len() == op.operands().len();
        check.that("sdy-manual-arity", one_each, "`in_shardings` must have one sharding for each operand");
        if let Some(fault) = repeated_axis(mesh, axes) {
            check.that("sdy-manual-axes", false, &fault);
        }
        check.so_far()?;
        let manual = Manual { mesh, axes };
        for (i, sharding) in ins.iter().enumerate() {
            manual.check(op, &mut check, &format!("operand {i}"), sharding, op.operand(i), args[i]);
        }
        let types = manual.results(op, &mut check, gives);
        check.so_far()?;
        let bound = Diagnostics(manual.bound_again(op));
        bound.or(types)
    }
    answer!(usual);
    answer!(rule = none("shardings flow along its edges"));
    fn data_flow(&self, op: &OpView<'_>) -> DataFlow {
        region_edges(op)
    }
    answer!(class = Other);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(semantics = Control);
    answer!(eval = engine);
    answer!(cost = nothing);
    answer!(effects = Ordered);
    answer!(linear = No);
    answer!(explicit = not("its specs are its types"));
    answer!(
        example = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<2xf32>) {
    %1 = stablehlo.add %arg1, %arg1 : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#
    );
}

/// The manual axes of a region, and their effect on types.
struct Manual<'a> {
    mesh: &'a Mesh,
    axes: &'a [AxisRef],
}

impl Manual<'_> {
    fn counts(&self, sharding: &Sharding, rank: usize) -> Vec<usize> {
        let is_manual = |a: &&AxisRef| self.axes.iter().any(|m| m.contains(**a));
        let size = |axes: &[AxisRef]| axes.iter().filter(is_manual).map(|a| a.size(self.mesh)).product();
        (0..rank).map(|d| sharding.dims.get(d).map_or(1, |dim| size(&dim.axes))).collect()
    }

    /// Checks the sharding, and that the type of `inner` is that of the part of `outer` that each device has if the
    /// sharding splits `outer` along the manual axes. The messages name the value as `what`.
    fn check(
        &self,
        op: &OpView<'_>,
        check: &mut Check<'_, '_>,
        what: &str,
        sharding: &Sharding,
        outer: Value,
        inner: Value,
    ) {
        let (outer, inner) = (op.body.ty(outer), op.body.ty(inner));
        for fault in sharding_faults(sharding, outer.shape().len()) {
            check.that("sdy-sharding", false, &format!("{what}: {fault}"));
        }
        let Some(whole) = outer.as_tensor() else {
            check.that("sdy-manual-types", outer == inner, &format!("{what}: {outer} outside, {inner} in the body"));
            return;
        };
        let is_partly_manual = |a: &AxisRef| self.axes.iter().any(|m| m.overlaps(*a) && !m.contains(*a));
        let is_clear = !sharding.split_axes().any(|a| is_partly_manual(&a));
        check.that("sdy-manual-axes", is_clear, &format!("{what}: only a part of an axis in {sharding} is manual"));
        check.that(
            "sdy-manual-order",
            self.manual_first(sharding),
            &format!("{what}: manual axes must come first in each dimension"),
        );
        let counts = self.counts(sharding, whole.rank());
        let dims = outer.shape().iter().zip(&counts);
        let even = dims.clone().all(|(n, count)| n.is_multiple_of(*count));
        check.that(
            "sdy-manual-divides",
            even,
            &format!("{what}: {outer} is not evenly split by the manual axes of {sharding}"),
        );
        let local: Vec<usize> = dims.map(|(n, count)| n / count).collect();
        let expected = Type::tensor(whole.dtype, local);
        let given = *inner == expected;
        let rule =
            format!("{what}: {outer} split by the manual axes of {sharding} is {expected}, and the body has {inner}");
        check.that("sdy-manual-types", !even || given, &rule);
    }

    fn manual_first(&self, sharding: &Sharding) -> bool {
        let is_manual = |a: &AxisRef| self.axes.iter().any(|m| m.contains(*a));
        sharding.dims.iter().all(|d| d.axes.is_sorted_by_key(|a| !is_manual(a)))
    }

    fn bound_again(&self, op: &OpView<'_>) -> Vec<Diagnostic> {
        let mut inner = vec![];
        op.body.walk_region(op.regions()[0], &mut inner);
        let said = |view: OpView<'_>| {
            let again = axes_said(&view).into_iter().find(|(mesh, a)| self.has(mesh, *a))?;
            let rule = format!("axis {} is manual around it already", again.1.display(self.mesh));
            Some(constraint(&view, "sdy-manual-bound", &rule))
        };
        inner.into_iter().filter_map(|o| said(op.at(o))).collect()
    }

    fn has(&self, mesh: &Mesh, axis: AxisRef) -> bool {
        mesh.same_devices(self.mesh) && self.axes.iter().any(|m| m.overlaps(axis))
    }

    fn results(&self, op: &OpView<'_>, check: &mut Check<'_, '_>, gives: &[Value]) -> Vec<Type> {
        let same = op.results().len() == gives.len();
        if !check.holds("sdy-manual-arity", same, "the body must return as many values as the op has results") {
            return vec![];
        }
        for (i, (&outer, &inner)) in op.results().iter().zip(gives).enumerate() {
            match op.body.sharding(outer) {
                Some(sharding) => self.check(op, check, &format!("result {i}"), sharding, outer, inner),
                None => {
                    let tensor = op.body.ty(outer).as_tensor().is_some();
                    check.that("sdy-manual-out", !tensor, &format!("result {i} has no sharding"));
                }
            }
        }
        types_of(op, op.results())
    }
}

/// Returns the axes over which an op splits or sums: those that split dimensions or are unreduced in the shardings of
/// its results and in its `in_shardings`, those that the attributes of a collective of Shardy name if its result has a
/// sharding, and those that it makes manual. An axis may be listed several times.
pub fn axes_said<'a>(op: &OpView<'a>) -> Vec<(&'a Mesh, AxisRef)> {
    let ins = match op.attr("in_shardings") {
        Some(Attr::Shardings(ins)) => &ins[..],
        _ => &[],
    };
    let step = ShardyCollective::of(op).and_then(|step| Some((&*op.result_sharding(0)?.mesh, step.axes())));
    let shardings = op.results().iter().filter_map(|&v| op.body.sharding(v)).chain(ins);
    let over = |s: &'a Sharding| s.split_axes().chain(s.unreduced.iter().copied()).map(|a| (&*s.mesh, a));
    let mut all: Vec<(&Mesh, AxisRef)> = shardings.flat_map(over).collect();
    all.extend(step.into_iter().flat_map(|(mesh, axes)| axes.into_iter().map(move |a| (mesh, a))));
    if let Some(Attr::Axes { mesh, axes }) = op.attr("manual_axes") {
        all.extend(axes.iter().map(|&a| (&**mesh, a)));
    }
    all
}
