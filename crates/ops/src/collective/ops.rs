//! Facts of the collectives.

use super::{Groups, PERMUTE_AXES, groups_of, pairs_of};
use crate::answers::*;
use crate::facts::*;
use crate::spec::{self, MANY, Spec};
use crate::{Opcode, reducer};
use shardwise_base::{AxisRef, DType, Diagnostics};
use shardwise_ir::{Attr, OpView, TensorType, Type};

pub struct AllGather;
pub struct AllReduce;
pub struct ReduceScatter;
pub struct AllToAll;
pub struct CollectivePermute;
pub struct CollectiveBroadcast;
/// `partition_id`, `replica_id`.
pub struct ProcessId;
/// `shardwise.axis_index`: the position of a device along a list of axes.
pub struct AxisIndexOp;
/// `async_start` and `async_done`.
pub struct Async;

/// Facts that all collectives share.
macro_rules! collective {
    ($linear:expr) => {
        no_reduction!(Other, "what it combines are other devices' values");
        no_edges!();
        localized_as_is!();
        run_by_engine!(Collective);
        costs_traffic!();
        always!(PerDevice, $linear, ExplicitPolicy::Not("per-device programs have no global types"));
    };
}

const GROUPS: &str = "`replica_groups` must be rows of process ids, or axes of a mesh";

/// The groups of an op, checked (`C1` in the labels below: no id twice); `None` if they cannot be read.
fn checked_groups(spec: &mut Spec<'_>, label: &'static str) -> Option<Groups> {
    let groups = spec.op.attr("replica_groups").and_then(groups_of);
    if !spec.that(label, groups.is_some(), GROUPS) {
        return None;
    }
    let groups = groups?;
    match &groups {
        Groups::Dense(rows) => {
            let ids: Vec<usize> = rows.concat();
            spec.that(label, spec::is_unique(&ids), "`replica_groups` must not name a process twice");
        }
        Groups::Axes { mesh, axes } => {
            for (i, a) in axes.iter().enumerate() {
                let is_new = axes[..i].iter().all(|b| !a.overlaps(*b, mesh));
                spec.that(label, is_new, format!("axis {} stands twice in `replica_groups`", a.display(mesh)));
            }
        }
        Groups::All => {}
    }
    Some(groups)
}

/// The number of members of each group: of groups over all processes, what the module says.
fn group_size(spec: &mut Spec<'_>, label: &'static str, groups: &Groups) -> Option<usize> {
    let known = groups.group_size().or_else(|| process_count(&spec.op));
    if let Groups::Dense(rows) = groups {
        let width = rows.first().map_or(0, Vec::len);
        let even = rows.iter().all(|row| row.len() == width);
        spec.that(label, even, "all groups must have the same number of processes");
    }
    spec.that(label, known.is_some_and(|n| n > 0), "the number of processes in a group must be known");
    known.filter(|&n| n > 0)
}

/// `mhlo.num_replicas * mhlo.num_partitions`, or the size of the module's mesh.
pub fn process_count(op: &OpView<'_>) -> Option<usize> {
    let count = |name: &str| op.module.attrs.size(name);
    match (count("mhlo.num_replicas"), count("mhlo.num_partitions")) {
        (None, None) => op.module.main_mesh().map(|m| m.size()),
        (r, p) => r.unwrap_or(1).checked_mul(p.unwrap_or(1)),
    }
}

fn check_global_ids(spec: &mut Spec<'_>, label: &'static str) {
    let holds = !spec.op.attrs().flag("use_global_device_ids") || super::channel_of(&spec.op) > 0;
    spec.that(label, holds, "`use_global_device_ids` needs a positive channel");
}

/// Checks a region of type `(tensor<E>, tensor<E>) -> tensor<E>` and gives `E`.
pub(crate) fn reducer_element(spec: &mut Spec<'_>, label: &'static str) -> Option<DType> {
    let op = spec.op;
    let region = *op.regions().first()?;
    let args = spec::types_of(&op, &op.body[region].args);
    let results = spec::types_of(&op, op.body.region_results(region));
    let element = args.first().and_then(Type::as_tensor).filter(|t| t.rank() == 0).map(|t| t.dtype);
    let fits = args.len() == 2 && args[0] == args[1] && results.len() == 1 && results[0] == args[0];
    spec.that(
        label,
        element.is_some() && fits,
        "the computation must be of type (tensor<E>, tensor<E>) -> tensor<E>",
    );
    element.filter(|_| fits)
}

/// The type with dimension `dim` of another size.
fn resized(t: &TensorType, dim: usize, size: usize) -> Type {
    let mut shape = t.shape.to_vec();
    shape[dim] = size;
    Type::tensor(t.dtype, shape)
}

impl Facts for AllGather {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=MANY, 0)?;
        let dim = spec.size("all_gather_dim")?;
        for i in 0..op.operands().len() {
            let in_range = dim < spec.tensor(i).rank();
            spec.that("all_gather_c1", in_range, "`all_gather_dim` must be a dimension of every operand");
        }
        check_global_ids(&mut spec, "all_gather_c5");
        let groups = checked_groups(&mut spec, "all_gather_c2");
        let n = groups.and_then(|g| group_size(&mut spec, "all_gather_c3", &g)).unwrap_or(1);
        spec.so_far()?;
        let gathered = |i: usize| {
            let t = op.operand_tensor(i);
            t.shape[dim].checked_mul(n).map(|size| resized(t, dim, size))
        };
        let types: Option<Vec<Type>> = (0..op.operands().len()).map(gathered).collect();
        spec.that("all_gather_c6", types.is_some(), "the result is too large");
        spec.done(types.unwrap_or_default())
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}"#
    }
    collective!(Linear::Jointly);
}

impl Facts for AllReduce {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=MANY, 1)?;
        checked_groups(&mut spec, "all_reduce_c1");
        check_global_ids(&mut spec, "all_reduce_c4");
        let element = reducer_element(&mut spec, "all_reduce_c5");
        spec.so_far()?;
        let types = op.operands().iter().map(|&v| {
            let t = op.body.ty(v).as_tensor().expect("checked above");
            Type::tensor(element.unwrap_or(t.dtype), t.shape.to_vec())
        });
        spec.done(types.collect())
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
    no_reduction!(Other, "what it combines are other devices' values");
    no_edges!();
    localized_as_is!();
    run_by_engine!(Collective);
    fn cost(&self, op: &OpView<'_>) -> Cost {
        reducing(op)
    }
    fn effects(&self, _: &OpView<'_>) -> Effects {
        Effects::PerDevice
    }
    fn linear(&self, op: &OpView<'_>) -> Linear {
        linear_if_sum(op)
    }
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::Not("per-device programs have no global types")
    }
}

/// One operation for each element of the operands.
fn reducing(op: &OpView<'_>) -> Cost {
    let elements: usize = op.operands().iter().filter_map(|&v| op.body.ty(v).as_tensor()).map(|t| t.size()).sum();
    Cost { flops: elements as f64, ..spec::traffic(op) }
}

fn linear_if_sum(op: &OpView<'_>) -> Linear {
    if reducer::reduce_kind_of_op(op) == Some(ReduceKind::Add) { Linear::Jointly } else { Linear::No }
}

impl Facts for ReduceScatter {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=1, 1)?;
        let dim = spec.size("scatter_dimension")?;
        let t = spec.tensor(0);
        spec.that("reduce_scatter_c2", dim < t.rank(), "`scatter_dimension` must be a dimension of the operand");
        check_global_ids(&mut spec, "reduce_scatter_c6");
        let groups = checked_groups(&mut spec, "reduce_scatter_c3");
        let n = groups.and_then(|g| group_size(&mut spec, "reduce_scatter_c4", &g)).unwrap_or(1);
        let element = reducer_element(&mut spec, "reduce_scatter_c7");
        spec.so_far()?;
        let divides = t.shape[dim].is_multiple_of(n);
        spec.that("reduce_scatter_c1", divides, format!("dimension {dim} must be a multiple of the group's size, {n}"));
        let local = TensorType::new(element.unwrap_or(t.dtype), t.shape.to_vec());
        spec.done(vec![resized(&local, dim, t.shape[dim] / n)])
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
    no_reduction!(Other, "what it combines are other devices' values");
    no_edges!();
    localized_as_is!();
    run_by_engine!(Collective);
    fn cost(&self, op: &OpView<'_>) -> Cost {
        reducing(op)
    }
    fn effects(&self, _: &OpView<'_>) -> Effects {
        Effects::PerDevice
    }
    fn linear(&self, op: &OpView<'_>) -> Linear {
        linear_if_sum(op)
    }
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::Not("per-device programs have no global types")
    }
}

impl Facts for AllToAll {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=MANY, 0)?;
        let (split, concat) = (spec.size("split_dimension")?, spec.size("concat_dimension")?);
        let groups = checked_groups(&mut spec, "all_to_all_c5");
        let n = groups.and_then(|g| group_size(&mut spec, "all_to_all_c8", &g)).unwrap_or(1);
        if let Some(count) = op.attrs().int("split_count") {
            spec.that("all_to_all_c8", count == n as i64, format!("`split_count` must be the group's size, {n}"));
        }
        for i in 0..op.operands().len() {
            let t = spec.tensor(i);
            let in_range = spec.that("all_to_all_c1", split < t.rank(), "`split_dimension` must be a dimension");
            spec.that("all_to_all_c3", concat < t.rank(), "`concat_dimension` must be a dimension");
            let divides = !in_range || t.shape[split].is_multiple_of(n);
            spec.that("all_to_all_c2", divides, format!("dimension {split} must be a multiple of {n}"));
        }
        spec.so_far()?;
        let exchanged = |t: &TensorType| {
            let mut shape = t.shape.to_vec();
            shape[split] /= n;
            shape[concat] *= n;
            Type::tensor(t.dtype, shape)
        };
        spec.done((0..op.operands().len()).map(|i| exchanged(op.operand_tensor(i))).collect())
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2x4xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"#
    }
    collective!(Linear::Jointly);
}

impl Facts for CollectivePermute {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=1, 0)?;
        let pairs = op.attr("source_target_pairs").and_then(pairs_of);
        spec.that("collective_permute_c1", pairs.is_some(), "`source_target_pairs` must be rows of two process ids");
        let (sources, targets): (Vec<usize>, Vec<usize>) = pairs.unwrap_or_default().into_iter().unzip();
        spec.that("collective_permute_c2", spec::is_unique(&sources), "a process is the source of two pairs");
        spec.that("collective_permute_c3", spec::is_unique(&targets), "a process is the target of two pairs");
        if let Some(Attr::Axes { mesh, axes }) = op.attr(PERMUTE_AXES) {
            let n = AxisRef::total_size(mesh, axes);
            let in_range = sources.iter().chain(&targets).all(|&p| p < n);
            spec.that("collective_permute_c4", in_range, format!("positions along `{PERMUTE_AXES}` are below {n}"));
        }
        spec.done(vec![op.operand_type(0).clone()])
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_permute"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    }
    collective!(Linear::Jointly);
}

impl Facts for CollectiveBroadcast {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::tensors(op, 1..=MANY, 0)?;
        checked_groups(&mut spec, "collective_broadcast_c1");
        let dynamic = op.attrs().flag("has_dynamic_root");
        spec.that("collective_broadcast_c4", !dynamic, "a root known only when the program runs is not supported");
        spec.done(spec::types_of(op, op.operands()))
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.collective_broadcast"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
    }
    collective!(Linear::Jointly);
}

impl Facts for ProcessId {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        Spec::new(op, 0..=0, 0)?.done(vec![Type::tensor(DType::U32, vec![])])
    }
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::ReplicaId => "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.replica_id : tensor<ui32>\n  return %0 : tensor<ui32>\n}",
            _ => "func.func @main() -> tensor<ui32> {\n  %0 = stablehlo.partition_id : tensor<ui32>\n  return %0 : tensor<ui32>\n}",
        }
    }
    no_factors!("it is a scalar");
    no_edges!();
    localized_as_is!();
    run_by_engine!(Collective);
    costs_nothing!();
    always!(PerDevice, Linear::No, ExplicitPolicy::Not("per-device programs have no global types"));
}

impl Facts for AxisIndexOp {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let mut spec = Spec::new(op, 0..=0, 0)?;
        let is_axes = op.attr("axes").is_some_and(|a| a.as_axes().is_some());
        spec.that("axis-index-axes", is_axes, "`axes` must be axes of a mesh");
        spec.done(vec![Type::tensor(DType::I32, vec![])])
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main() -> tensor<i32> {
  %0 = "shardwise.axis_index"() <{axes = #shardwise.axes<@mesh, {"x", "y"}>}> : () -> tensor<i32>
  return %0 : tensor<i32>
}"#
    }
    no_factors!("it is a scalar");
    no_edges!();
    localized_as_is!();
    run_by_engine!(Collective);
    costs_nothing!();
    always!(PerDevice, Linear::No, ExplicitPolicy::Not("per-device programs have no global types"));
}

impl Facts for Async {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        if Opcode::of_view(op) == Opcode::AsyncDone {
            return async_done(op);
        }
        let mut spec = Spec::new(op, 0..=MANY, 1)?;
        let region = op.regions()[0];
        let ops = &op.body[region].ops;
        spec.that("async_start_c1", ops.len() == 2, "the body must be one operation and a return");
        let args = spec::types_of(op, &op.body[region].args);
        let fits = args.is_empty() || args == spec::types_of(op, op.operands());
        spec.that("async_start_c3", fits, "the body must take the operands");
        let may_start = ops.first().is_some_and(|&inner| can_start(Opcode::of_view(&op.at(inner))));
        spec.that("async_start_c2", may_start, "the operation must be a collective or a slice");
        spec.done(vec![Type::Future(spec::types_of(op, op.body.region_results(region)))])
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
    no_factors!("it starts other ops");
    no_edges!();
    localized_as_is!();
    run_by_engine!(Collective);
    costs_nothing!();
    always!(PerDevice, Linear::Jointly, ExplicitPolicy::Not("only the scheduler makes it"));
}

fn async_done(op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
    let mut spec = Spec::new(op, 1..=1, 0)?;
    let Type::Future(types) = op.operand_type(0) else {
        spec.that("async_done_c1", false, "the operand must be a future");
        return spec.done(vec![]);
    };
    spec.done(types.clone())
}

/// Whether `async_start` may hold the op.
fn can_start(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, AllGather | AllReduce | ReduceScatter | AllToAll | CollectivePermute | CollectiveBroadcast)
        || op.name().ends_with("slice")
}
