//! Facts of the collectives.

use super::{Groups, Permutation, calculus, groups_of};
use crate::check::{self, Check, MANY, counted_tensors, counts, types_of};
use crate::facts::*;
use crate::schema::*;
use crate::shapes::constant_operand;
use crate::shardy::repeated_axis;
use crate::{Opcode, reducer};
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, Literal, Mesh};
use shardwise_ir::{Attr, Module, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};
use std::sync::Arc;

pub struct AllGather;
pub struct AllReduce;
pub struct ReduceScatter;
pub struct AllToAll;
pub struct CollectivePermute;
pub struct CollectiveBroadcast;
/// `collective_reduce`: the first member of each group, or the one that an operand names, receives the combined values
/// of all members, and the others receive zeros.
pub struct CollectiveReduce;
/// `partition_id`, `replica_id`.
pub struct ProcessId;
/// `shardwise.axis_index`: the position of a device along a list of axes.
pub struct AxisIndexOp;
/// `async_start` and `async_done`.
pub struct Async;

/// Facts that all collectives share.
macro_rules! collective {
    () => {
        answer!(class = Other);
        answer!(data_flow = none);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(semantics = Collective);
        answer!(eval = engine);
        answer!(effects = PerDevice);
        answer!(explicit = by_rule);
    };
}
pub(super) use collective;

const GROUPS: &str = "`replica_groups` must be rows of process ids, or axes of a mesh";

/// Reads groups from `attr`, and checks that they name no process or axis twice (`label`), and only processes that
/// exist (`range`). If the number of processes is not known, groups that must have all of them determine it. Returns
/// `None` if the groups cannot be read, which is reported too, and if they name an axis twice.
pub(super) fn checked_groups(
    op: &OpView<'_>,
    attr: Option<&Attr>,
    check: &mut Check<'_, '_>,
    [label, range]: [&'static str; 2],
) -> Option<Groups> {
    let groups = attr.and_then(groups_of);
    check.that(label, groups.is_some(), GROUPS);
    match groups.as_ref()? {
        Groups::Dense(rows) => {
            let mut ids = rows.concat();
            ids.sort_unstable();
            check.that(label, ids.is_sorted_by(|a, b| a < b), "`replica_groups` must not name a process twice");
            // If the number of processes is not known, groups of all processes determine it.
            let has_all = !matches!(Opcode::of_view(op), Opcode::CollectiveBroadcast | Opcode::CollectiveReduce);
            let count = process_count(op).unwrap_or(if has_all { ids.len() } else { usize::MAX });
            let rule = format!("each process in `replica_groups` must be below {count}, the number of processes");
            check.that(range, ids.last().is_none_or(|&id| id < count), &rule);
        }
        Groups::Axes { mesh, axes } => {
            if let Some(fault) = repeated_axis(mesh, axes) {
                check.that(label, false, &format!("{fault} in `replica_groups`"));
                return None;
            }
        }
        Groups::All => {}
    }
    groups
}

/// Checks that groups that are lists name as many processes as there are: those that run the module if `is_flat`, else
/// as many as the module's attribute `counted` says, and at least one. If that number is not known, passes with any.
fn check_all_named(
    op: &OpView<'_>,
    groups: Option<&Groups>,
    check: &mut Check<'_, '_>,
    label: &'static str,
    is_flat: bool,
    counted: &str,
) {
    let Some(Groups::Dense(rows)) = groups else { return };
    let count = if is_flat { process_count(op) } else { op.module.attrs.size(counted) };
    let named: usize = rows.iter().map(Vec::len).sum();
    let members = match counted {
        _ if is_flat => "processes",
        "mhlo.num_partitions" => "partitions",
        _ => "replicas",
    };
    let rule = format!("`replica_groups` must have all {} {members}, not {named}", count.unwrap_or(named));
    check.that(label, count.is_none_or(|n| n == named), &rule);
    check.that(label, named > 0, &format!("`replica_groups` must have some {members}"));
}

/// Returns the number of members of the largest group, and checks that all groups have as many. A replica that is in a
/// group with all of its partitions counts as so many members, if their number is known. If the number of members is
/// zero or not known, reports this and returns `None`. Returns `None` if `groups` is `None`, too.
pub(super) fn group_size(
    op: &OpView<'_>,
    check: &mut Check<'_, '_>,
    label: &'static str,
    groups: Option<Groups>,
) -> Option<usize> {
    let groups = groups?;
    if let Groups::Dense(rows) = &groups {
        let is_even = rows.iter().all(|row| row.len() == rows[0].len());
        check.that(label, is_even, "all groups must have the same number of processes");
    }
    let size = match &groups {
        Groups::Dense(_) => groups.group_size().and_then(|n| n.checked_mul(partitions_of_member(op).unwrap_or(1))),
        _ => groups.group_size().or_else(|| process_count(op)),
    };
    let rule = "the number of processes in a group must be known: list the processes in `replica_groups`, or give the \
                module a mesh or the attribute `mhlo.num_partitions`";
    check.that(label, size.is_some(), rule);
    check.that(label, size != Some(0), "each group must have at least one process");
    size.filter(|&n| n > 0)
}

/// Returns the number of processes that a number in the op's groups stands for: the partitions of a replica if the
/// groups are of replicas with all of their partitions, else 1. Returns `None` if the number is not known.
fn partitions_of_member(op: &OpView<'_>) -> Option<usize> {
    if super::CollectiveView::of(op).is_none_or(|v| v.ids != super::IdSpace::CrossReplicaAndPartition) {
        return Some(1);
    }
    let replicas = op.module.attrs.size("mhlo.num_replicas").unwrap_or(1);
    process_count(op)?.checked_div(replicas)
}

/// Returns the number of partitions of each replica in a group if only the size of a gather's result shows it, else 1.
fn partitions_of_group(op: &OpView<'_>, types: &[&TensorType], dim: usize) -> usize {
    let Some(view) = super::CollectiveView::of(op).filter(|v| v.ids == super::IdSpace::CrossReplicaAndPartition) else {
        return 1;
    };
    let [Some(rows), Some(result)] = [view.groups.group_size(), result_size(op, dim)] else { return 1 };
    let whole = types.first().and_then(|t| t.shape[dim].checked_mul(rows)).unwrap_or(0);
    if whole > 0 && result.is_multiple_of(whole) && process_count(op).is_none() { result / whole } else { 1 }
}

/// Returns `types`, or the errors of the constraints that were broken. `None` stands for a size that is too large,
/// which breaks the constraint `label`.
fn give_sized(
    check: &mut Check<'_, '_>,
    label: &'static str,
    types: Option<Vec<Type>>,
) -> Result<Vec<Type>, Diagnostics> {
    check.that(label, types.is_some(), "each dimension of a result must be less than 2^64");
    check.give(types.unwrap_or_default())
}

fn result_size(op: &OpView<'_>, dim: usize) -> Option<usize> {
    op.body.ty(*op.results().first()?).shape().get(dim).copied()
}

/// Returns the module's number of partitions, from `mhlo.num_partitions`, or `None` if the attribute is absent or not a
/// size.
pub fn partition_count(module: &Module) -> Option<usize> {
    module.attrs.size("mhlo.num_partitions")
}

/// Sets the module's numbers of processes: this many partitions, and one replica.
pub fn set_partition_count(module: &mut Module, partitions: usize) {
    for (name, count) in [("mhlo.num_partitions", partitions), ("mhlo.num_replicas", 1)] {
        module.attrs.set(name, Attr::Int { value: count as i64, dtype: Some(DType::I32) });
    }
}

/// Returns the number of processes that run the module: the product of `mhlo.num_replicas` and `mhlo.num_partitions`,
/// where an absent one counts as 1. Without both, it is the size of the module's mesh. Returns `None` if there is no
/// mesh either, or if the product is too large.
pub fn process_count(op: &OpView<'_>) -> Option<usize> {
    let count = |name: &str| op.module.attrs.size(name);
    match (count("mhlo.num_replicas"), count("mhlo.num_partitions")) {
        (None, None) => op.module.main_mesh().map(|m| m.size()),
        (r, p) => r.unwrap_or(1).checked_mul(p.unwrap_or(1)),
    }
}

fn check_global_ids(op: &OpView<'_>, check: &mut Check<'_, '_>, label: &'static str) {
    let holds = !op.attrs().flag("use_global_device_ids") || super::channel_of(op) > 0;
    check.that(label, holds, "`use_global_device_ids` needs a `channel_handle` with a positive handle");
}

const REDUCER: Reducer = Reducer {
    region: 0,
    argument: |op, index| (index < data_operands(op).len()).then_some(0),
    promoted: Promoted::SameOp,
};

/// Checks that the region is of type `(tensor<E>, tensor<E>) -> tensor<E>` and that the operands' elements promote to
/// `E`. Returns `E`, or `None` if there is no region or it is of another type.
fn reducer_element(op: &OpView<'_>, check: &mut Check<'_, '_>, label: &'static str) -> Option<DType> {
    let region = *op.regions().first()?;
    let args = types_of(op, &op.body[region].args);
    let results = types_of(op, op.body.region_results(region));
    let element = args.first().and_then(Type::as_tensor).filter(|t| t.rank() == 0).map(|t| t.dtype);
    let fits = args.len() == 2 && args[0] == args[1] && results.len() == 1 && results[0] == args[0];
    let rule = "the computation must be of type (tensor<E>, tensor<E>) -> tensor<E>";
    check.that(label, element.is_some() && fits, rule);
    let data = data_operands(op).iter().filter_map(|&v| op.body.ty(v).as_tensor());
    check.promotes(label, data.filter_map(|t| Some((t.dtype, element?))));
    element.filter(|_| fits)
}

/// Returns a rule in which the dimensions `dims` must be whole and all others pass through. There is none if operands
/// differ in shape.
fn rule_but_for(op: &OpView<'_>, dims: &[usize]) -> RuleFact {
    if let Some(none) = of_different_shapes(op) {
        return none;
    }
    let rank = |v: &Value| op.body.ty(*v).shape().len();
    let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
    let (from, to) = (op.operand_shape(0), op.result_shape(0));
    rule.add_pointwise_if(from, |dim| !dims.contains(&dim));
    for &dim in dims {
        rule.add_factor_to_operands(dim, FactorSpec::need_replication(from[dim]));
        rule.add_factor_to_results(dim, FactorSpec::need_replication(to[dim]));
    }
    RuleFact::Rule(rule.build())
}

/// Returns the answer for a collective whose operands differ in shape, or `None` for other collectives.
fn of_different_shapes(op: &OpView<'_>) -> Option<RuleFact> {
    let shape = |v: &Value| op.body.ty(*v).shape();
    let is_alike = data_operands(op).windows(2).all(|pair| shape(&pair[0]) == shape(&pair[1]));
    (!is_alike).then_some(RuleFact::None("its operands differ in shape"))
}

/// Returns the rule of a collective that keeps the shapes of its operands. There is none if these differ.
fn elementwise_rule(op: &OpView<'_>) -> RuleFact {
    of_different_shapes(op).unwrap_or_else(|| pointwise_rule(op))
}

fn resized(t: &TensorType, dim: usize, size: usize) -> Type {
    let mut shape = t.shape.to_vec();
    shape[dim] = size;
    Type::tensor(t.dtype, shape)
}

const fn replica_groups(label: &'static str) -> AttrSpec {
    required("replica_groups", Some(label), AttrKind::Own("rows of process ids, or axes of a mesh"))
}

const fn channel(label: &'static str) -> AttrSpec {
    optional("channel_handle", Some(label), CHANNEL_HANDLE, "the groups are of replicas, not of partitions")
}

const fn collective_schema(attributes: &'static [AttrSpec], operands: Operands, results: ResultLabels) -> Schema {
    Schema {
        attributes,
        operands,
        results,
        on_quantized: OnQuantized::PerTensor,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    }
}

impl AllGather {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            required("all_gather_dim", Some("all_gather_i2"), AttrKind::Int(DType::I64)),
            replica_groups("all_gather_i3"),
            channel("all_gather_i4"),
            optional("use_global_device_ids", Some("all_gather_i5"), AttrKind::Flag, "`false`"),
        ],
        Operands::List,
        ResultLabels::both("all_gather_c6"),
    );
}

impl Facts for AllGather {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        calculus::all_gather_transpose(op)
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        calculus::batch(op, &["all_gather_dim"])
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 0)?;
        let dim = check::size(op, "all_gather_dim")?;
        let mut check = Check::new(op);
        let in_range = types.iter().all(|t| dim < t.rank());
        check.that("all_gather_c1", in_range, "`all_gather_dim` must be a dimension of every operand");
        check_global_ids(op, &mut check, "all_gather_c5");
        let groups = checked_groups(op, op.attr("replica_groups"), &mut check, ["all_gather_c2", "all_gather_c4"]);
        let members = group_size(op, &mut check, "all_gather_c3", groups).unwrap_or(1);
        check.so_far()?;
        let n = members.checked_mul(partitions_of_group(op, &types, dim));
        let gathered = |t: &&TensorType| Some(resized(t, dim, t.shape[dim].checked_mul(n?)?));
        give_sized(&mut check, "all_gather_c6", types.iter().map(gathered).collect())
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        rule_but_for(op, &op.attrs().size("all_gather_dim").map_or(vec![], |d| vec![d]))
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}"#
    }
    answer!(usual);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    collective!();
}

impl AllReduce {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            replica_groups("all_reduce_i2"),
            channel("all_reduce_i3"),
            optional("use_global_device_ids", Some("all_reduce_i4"), AttrKind::Flag, "`false`"),
        ],
        Operands::List,
        ResultLabels::of("all_reduce_c6", "all_reduce_c7"),
    );
}

impl Facts for AllReduce {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        calculus::all_reduce_derivative(reducer::reduce_kind_of_op(op))
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        calculus::all_reduce_transpose().if_linear(self.linear(op))
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 1)?;
        let mut check = Check::new(op);
        let groups = checked_groups(op, op.attr("replica_groups"), &mut check, ["all_reduce_c1", "all_reduce_c3"]);
        let is_flat = op.attrs().flag("use_global_device_ids");
        check_all_named(op, groups.as_ref(), &mut check, "all_reduce_c2", is_flat, "mhlo.num_replicas");
        check_global_ids(op, &mut check, "all_reduce_c4");
        let element = reducer_element(op, &mut check, "all_reduce_c5");
        check.give(types.iter().map(|t| Type::tensor(element.unwrap_or(t.dtype), t.shape.to_vec())))
    }
    answer!(usual but reducer);
    answer!(reducer = REDUCER);
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        elementwise_rule(op)
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#
    }
    collective!();
    fn cost(&self, op: &OpView<'_>) -> Cost {
        reducing(op)
    }
    fn linear(&self, op: &OpView<'_>) -> Linear {
        reducer::linear_if_sum(op, reducer::reduce_kind_of_op(op), Linear::Jointly)
    }
}

fn reducing(op: &OpView<'_>) -> Cost {
    let elements: usize = op.operands().iter().filter_map(|&v| op.body.ty(v).as_tensor()).map(|t| t.size()).sum();
    Cost { flops: elements as f64, ..Cost::streams(op, 0.0) }
}

impl ReduceScatter {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            required("scatter_dimension", Some("reduce_scatter_i2"), AttrKind::Int(DType::I64)),
            replica_groups("reduce_scatter_i3"),
            channel("reduce_scatter_i4"),
            optional("use_global_device_ids", Some("reduce_scatter_i5"), AttrKind::Flag, "`false`"),
        ],
        Operands::Each,
        ResultLabels::of("reduce_scatter_c8", "reduce_scatter_c9"),
    );
}

impl Facts for ReduceScatter {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        calculus::derivative_if_sum(reducer::reduce_kind_of_op(op))
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        calculus::reduce_scatter_transpose().if_linear(self.linear(op))
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        calculus::batch(op, &["scatter_dimension"])
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let t = counted_tensors(op, 1..=1, 1)?[0];
        let dim = check::size(op, "scatter_dimension")?;
        let mut check = Check::new(op);
        check.that("reduce_scatter_c2", dim < t.rank(), "`scatter_dimension` must be a dimension of the operand");
        check_global_ids(op, &mut check, "reduce_scatter_c6");
        let groups =
            checked_groups(op, op.attr("replica_groups"), &mut check, ["reduce_scatter_c3", "reduce_scatter_c5"]);
        let n = group_size(op, &mut check, "reduce_scatter_c4", groups).unwrap_or(1);
        let element = reducer_element(op, &mut check, "reduce_scatter_c7");
        check.so_far()?;
        let rule = format!("dimension {dim} of the operand must be a multiple of the group's size, {n}");
        check.that("reduce_scatter_c1", t.shape[dim].is_multiple_of(n), &rule);
        let reduced = TensorType::new(element.unwrap_or(t.dtype), t.shape.to_vec());
        check.give([resized(&reduced, dim, t.shape[dim] / n)])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        rule_but_for(op, &op.attrs().size("scatter_dimension").map_or(vec![], |d| vec![d]))
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<4x2xf32>) -> tensor<2x2xf32> {
  %0 = "stablehlo.reduce_scatter"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}"#
    }
    answer!(usual but reducer);
    answer!(reducer = REDUCER);
    collective!();
    fn cost(&self, op: &OpView<'_>) -> Cost {
        reducing(op)
    }
    fn linear(&self, op: &OpView<'_>) -> Linear {
        reducer::linear_if_sum(op, reducer::reduce_kind_of_op(op), Linear::Jointly)
    }
}

impl AllToAll {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            required("split_dimension", Some("all_to_all_i2"), AttrKind::Int(DType::I64)),
            required("concat_dimension", Some("all_to_all_i3"), AttrKind::Int(DType::I64)),
            optional("split_count", Some("all_to_all_i4"), AttrKind::Int(DType::I64), "the size of the groups"),
            replica_groups("all_to_all_i5"),
            channel("all_to_all_i6"),
        ],
        Operands::List,
        ResultLabels::both("all_to_all_c9"),
    );

    /// Returns the number of parts that the operand is split into, which is the size of the groups. Returns `None` if
    /// the attribute `split_count` is absent, so that the groups alone determine the number, or if it is negative.
    pub fn split_count(op: &OpView<'_>) -> Option<usize> {
        op.attrs().size("split_count")
    }
}

impl Facts for AllToAll {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        calculus::all_to_all_transpose()
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        calculus::batch(op, &["split_dimension", "concat_dimension"])
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 0)?;
        let (split, concat) = (check::size(op, "split_dimension")?, check::size(op, "concat_dimension")?);
        let mut check = Check::new(op);
        let groups = checked_groups(op, op.attr("replica_groups"), &mut check, ["all_to_all_c5", "all_to_all_c7"]);
        let (is_flat, counted) = match super::channel_of(op) > 0 {
            true => (op.module.attrs.size("mhlo.num_replicas").is_none(), "mhlo.num_partitions"),
            false => (false, "mhlo.num_replicas"),
        };
        check_all_named(op, groups.as_ref(), &mut check, "all_to_all_c6", is_flat, counted);
        let known = group_size(op, &mut check, "all_to_all_c8", groups);
        let n = known.unwrap_or(1);
        let count = op.attrs().int("split_count").unwrap_or(n as i64);
        check.that("all_to_all_c4", count > 0, "`split_count` must be positive");
        check.that(
            "all_to_all_c8",
            count <= 0 || known.is_none() || count == n as i64,
            &format!("`split_count` must be the group's size, {n}"),
        );
        let is_dim = |dim: usize| types.iter().all(|t| dim < t.rank());
        check.that("all_to_all_c1", is_dim(split), "`split_dimension` must be a dimension of every operand");
        check.that("all_to_all_c3", is_dim(concat), "`concat_dimension` must be a dimension of every operand");
        check.so_far()?;
        let divides = types.iter().all(|t| t.shape[split].is_multiple_of(n));
        let rule = format!("dimension {split} of every operand must be a multiple of the group's size, {n}");
        check.that("all_to_all_c2", divides, &rule).so_far()?;
        let exchanged = |t: &&TensorType| {
            let mut shape = t.shape.to_vec();
            shape[split] /= n;
            shape[concat] = shape[concat].checked_mul(n)?;
            Some(Type::tensor(t.dtype, shape))
        };
        give_sized(&mut check, "all_to_all_c9", types.iter().map(exchanged).collect())
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let mut dims: Vec<usize> =
            ["split_dimension", "concat_dimension"].iter().filter_map(|name| op.attrs().size(name)).collect();
        dims.dedup();
        rule_but_for(op, &dims)
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"#
    }
    answer!(usual);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    collective!();
}

impl CollectivePermute {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            optional(
                "source_target_pairs",
                Some("collective_permute_i2"),
                AttrKind::Pairs,
                "`shardwise.shift`, or `shardwise.from` and `shardwise.to`",
            ),
            channel("collective_permute_i3"),
            optional("shardwise.axes", None, AttrKind::Axes, "the pairs are of processes"),
            optional("shardwise.shift", None, AttrKind::Int(DType::I64), "the op is no shift"),
            optional("shardwise.wraps", None, AttrKind::Unit, "devices at the end send to none"),
            optional("shardwise.from", None, AttrKind::Axes, "the axes keep their order"),
            optional("shardwise.to", None, AttrKind::Axes, "the axes keep their order"),
        ],
        Operands::Each,
        ResultLabels::both("collective_permute_c5"),
    );
}

impl Facts for CollectivePermute {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        calculus::permute_transpose(op)
    }
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counted_tensors(op, 1..=1, 0)?;
        let mut check = Check::new(op);
        Permutation::check(op, &mut check)?;
        check.give([op.operand_type(0).clone()])
    }
    answer!(usual);
    answer!(rule = pointwise);
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    }
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    collective!();
}

impl CollectiveBroadcast {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            replica_groups("collective_broadcast_i2"),
            channel("collective_broadcast_i3"),
            optional("has_dynamic_root", Some("collective_broadcast_i4"), AttrKind::Flag, "`false`"),
        ],
        Operands::List,
        ResultLabels::both("collective_broadcast_c3"),
    );
}

impl Facts for CollectiveBroadcast {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        calculus::linear_derivative()
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        calculus::broadcast_transpose()
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        batch_beside_root(op)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 0)?;
        let mut check = Check::new(op);
        let labels = ["collective_broadcast_c1", "collective_broadcast_c2"];
        let groups = checked_groups(op, op.attr("replica_groups"), &mut check, labels);
        check_root(&types, op, &mut check, "collective_broadcast_c4");
        check_constant_root(op, groups.as_ref(), &mut check, "collective_broadcast_c6");
        let (made, sent) = (op.results().len(), data_operands(op).len());
        let rule = "there must be a result for each operand other than the roots";
        check.that("collective_broadcast_c5", made == 0 || made == sent, rule);
        check.give(types_of(op, data_operands(op)))
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        if has_root(op) { RuleFact::None("who sends is known only when it runs") } else { elementwise_rule(op) }
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_broadcast"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    }
    answer!(usual);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    collective!();
}

fn batch_beside_root<'f>(op: &OpView<'_>) -> Batched<'f> {
    let count = data_operands(op).len();
    Batched::leading_of(op, |i| i < count, op.attrs().clone())
}

/// Returns true if the last operand names the member that sends (or receives) each of the others, as the attribute
/// `has_dynamic_root` says.
pub(super) fn has_root(op: &OpView<'_>) -> bool {
    op.attrs().flag("has_dynamic_root")
}

/// Returns the operands without the one that names roots.
pub fn data_operands<'v>(op: &OpView<'v>) -> &'v [Value] {
    let operands = op.operands();
    &operands[..operands.len().saturating_sub(usize::from(has_root(op)))]
}

fn check_root(types: &[&TensorType], op: &OpView<'_>, check: &mut Check<'_, '_>, label: &'static str) {
    let root = types.last().filter(|_| has_root(op));
    let fits = root.is_none_or(|t| t.dtype == DType::I32 && t.shape == [types.len() - 1]);
    check.that(
        label,
        fits,
        "with `has_dynamic_root`, the last operand must be a list of i32, a root for each of the other operands",
    );
}

/// Checks that constant roots are positions in the largest group. Passes if the roots are not constants of the type that
/// [`check_root`] asks for, or if the size of the groups is not known.
fn check_constant_root(op: &OpView<'_>, groups: Option<&Groups>, check: &mut Check<'_, '_>, label: &'static str) {
    let count = groups.and_then(Groups::group_size);
    let (Some(count), true) = (count, has_root(op)) else { return };
    let last = op.operands().len() - 1;
    let roots = constant_operand(op, last).filter(|x| x.dtype() == DType::I32 && x.shape() == [last]);
    let fits = |root: i128| usize::try_from(root).is_ok_and(|root| root < count);
    check.that(
        label,
        roots.is_none_or(|roots| (0..last).all(|i| fits(roots.get_i128(i)))),
        &format!("each root must be at least 0 and below {count}, the number of members of the largest group"),
    );
}

impl CollectiveReduce {
    pub(crate) const SCHEMA: Schema = collective_schema(
        &[
            replica_groups("collective_reduce_i2"),
            channel("collective_reduce_i3"),
            optional("has_dynamic_root", Some("collective_reduce_i4"), AttrKind::Flag, "`false`"),
        ],
        Operands::List,
        ResultLabels::NONE,
    );
}

impl Facts for CollectiveReduce {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        calculus::derivative_if_sum(reducer::reduce_kind_of_op(op))
    }
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        calculus::reduce_to_one_transpose()
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        batch_beside_root(op)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 1..=MANY, 1)?;
        let mut check = Check::new(op);
        check_global_ids(op, &mut check, "collective_reduce_i3");
        checked_groups(op, op.attr("replica_groups"), &mut check, ["collective_reduce_c1", "collective_reduce_c2"]);
        check_root(&types, op, &mut check, "collective_reduce_c3");
        let element = reducer_element(op, &mut check, "collective_reduce_c4");
        let data = &types[..data_operands(op).len()];
        check.give(data.iter().map(|t| Type::tensor(element.unwrap_or(t.dtype), t.shape.to_vec())))
    }
    answer!(usual but reducer);
    answer!(reducer = REDUCER);
    answer!(rule = none("only one device of each group gets the result"));
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
    %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    }
    answer!(cost = streams(1.0));
    answer!(linear = No);
    collective!();
}

impl ProcessId {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[], Types::Result),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for ProcessId {
    answer!(calculus = none("it has no operands"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=0, 0)?;
        Ok(vec![Type::tensor(DType::U32, vec![])])
    }
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::ReplicaId => {
                "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.replica_id : tensor<ui32>\n  return %0 : tensor<ui32>\n}"
            }
            _ => {
                "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.partition_id : tensor<ui32>\n  return %0 : tensor<ui32>\n}"
            }
        }
    }
    answer!(usual);
    answer!(rule = none("it is a scalar"));
    answer!(cost = streams(0.0));
    answer!(linear = No);
    collective!();
}

impl AxisIndexOp {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("axes", None, AttrKind::Axes)],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[Piece::Attr("axes", Written::MeshAxes)], Types::Result),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the axes along which an `axis_index` counts the position, and their mesh. Returns `None` for other ops,
    /// and if the attribute is missing or broken.
    pub fn axes<'a>(op: &OpView<'a>) -> Option<(&'a Arc<Mesh>, &'a [AxisRef])> {
        op.attr("axes").filter(|_| Opcode::of_view(op) == Opcode::AxisIndex)?.as_axes()
    }
}

impl Facts for AxisIndexOp {
    answer!(calculus = none("it has no operands"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        counts(op, 0..=0, 0)?;
        let mut check = Check::new(op);
        if let Some(fault) = AxisIndexOp::axes(op).and_then(|(mesh, axes)| repeated_axis(mesh, axes)) {
            check.that("axis-index-axes", false, &format!("{fault} in `axes`"));
        }
        check.give_tensor(DType::I32, vec![])
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> tensor<i32> {
  %0 = shardwise.axis_index <@mesh, {"x", "y"}> : tensor<i32>
  return %0 : tensor<i32>
}"#
    }
    answer!(usual);
    answer!(rule = none("it is a scalar"));
    answer!(cost = streams(0.0));
    answer!(linear = No);
    collective!();
}

impl Async {
    pub(crate) const ASYNC_START: Schema =
        collective_schema(NONE, Operands::List, ResultLabels::both("async_start_c4"));

    pub(crate) const ASYNC_DONE: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Async {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        if Opcode::of_view(op) == Opcode::AsyncDone {
            return async_done(op);
        }
        counts(op, 0..=MANY, 1)?;
        let region = op.regions()[0];
        let ops = &op.body[region].ops;
        let args = types_of(op, &op.body[region].args);
        let fits = args.is_empty() || args == types_of(op, op.operands());
        let may_start = ops.first().is_some_and(|&inner| can_start(&op.at(inner)));
        let rule = "the operation must be a slice, dynamic or not, an update of a slice, or a collective other than \
                    `collective_reduce`";
        Check::new(op)
            .that("async_start_c1", ops.len() == 2, "the body must be one operation and a return")
            .that("async_start_c3", fits, "the body must have no arguments, or arguments of the operands' types")
            .that("async_start_c2", may_start, rule)
            .give([Type::Future(types_of(op, op.body.region_results(region)))])
    }
    fn example(&self, op: Opcode) -> &'static str {
        let _ = op;
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%arg0) ({
  ^bb0(%arg1: tensor<2xf32>):
    %2 = "stablehlo.collective_permute"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %2 : tensor<2xf32>
  }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"#
    }
    answer!(usual);
    answer!(rule = none("it starts other ops"));
    answer!(cost = streams(0.0));
    fn linear(&self, op: &OpView<'_>) -> Linear {
        let started = op.regions().first().and_then(|&region| op.body[region].ops.first());
        started.map_or(Linear::Jointly, |&inner| {
            let inner = op.at(inner);
            Opcode::of_view(&inner).facts().linear(&inner)
        })
    }
    collective!();
}

fn async_done(op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
    counts(op, 1..=1, 0)?;
    match op.operand_type(0) {
        Type::Future(types) => Ok(types.clone()),
        _ => Check::new(op).that("async_done_c1", false, "the operand must be a future").give([]),
    }
}

fn can_start(op: &OpView<'_>) -> bool {
    use Opcode::*;
    let code = Opcode::of_view(op);
    let is_collective =
        matches!(code, AllGather | AllReduce | ReduceScatter | AllToAll | CollectivePermute | CollectiveBroadcast);
    is_collective || super::is_ragged(op) || matches!(code, Slice | DynamicSlice | DynamicUpdateSlice)
}

#[cfg(test)]
mod tests {
    use crate::check::codes;

    #[test]
    fn roots_of_another_type_are_refused() {
        let broadcast = |root: &str, ty: &str| {
            codes(&format!(
                "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %c = stablehlo.constant dense<{root}> : {ty}
  %0 = \"stablehlo.collective_broadcast\"(%x, %c) <{{has_dynamic_root = true, replica_groups = dense<[[0, 1]]> : \
                 tensor<1x2xi64>}}> : (tensor<2xf32>, {ty}) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
            ))
        };
        assert_eq!(broadcast("1", "tensor<1xi32>"), [""; 0]);
        assert_eq!(broadcast("2", "tensor<1xi32>"), ["collective_broadcast_c6"]);
        for (root, ty) in [("1.0", "tensor<1xf32>"), ("2", "tensor<1xi64>"), ("2", "tensor<4000000000xi32>")] {
            assert_eq!(broadcast(root, ty), ["collective_broadcast_c4"], "{ty}");
        }
    }

    #[test]
    fn axes_that_are_named_often_have_no_size() {
        let on_axes = |op: &str, attrs: &str| {
            let axes = ["#stablehlo.axis_ref<name = \"x\">"; 4].join(", ");
            codes(&format!(
                "sdy.mesh @mesh = <[\"x\"=1048576]>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {{
  %0 = \"stablehlo.{op}\"(%x) {{{attrs} = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [{axes}]>}} : \
                 (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}}"
            ))
        };
        assert_eq!(on_axes("collective_permute", "shardwise.shift = 1, shardwise.axes"), ["collective_permute_c4"]);
        assert_eq!(on_axes("all_gather", "all_gather_dim = 0, replica_groups"), ["all_gather_c2"]);
        assert_eq!(on_axes("collective_broadcast", "replica_groups"), ["collective_broadcast_c1"]);
    }
}
