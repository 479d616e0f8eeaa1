//! Functions that build collectives over mesh axes, positions along axes, and the ops that are used with them.

use crate::collective::{Permutation, ragged_attrs};
use crate::reducer::{nothing, reduction_region};
use crate::{Opcode, ReduceKind, make};
use shardwise_base::{AxisRef, DType, Literal, Mesh};
use shardwise_ir::{Attr, Attrs, Body, Builder, Region, TensorType, Type, Value};
use std::sync::Arc;

/// Returns attributes with the `replica_groups` of a collective over mesh axes. The devices of a group differ in their
/// coordinates along `axes` only.
fn collective_attrs(mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Attrs {
    Attrs::new().with("replica_groups", Attr::axes(mesh, axes))
}

fn tensor(body: &Body, x: Value) -> TensorType {
    body.ty(x).as_tensor().expect("a collective takes tensors").clone()
}

fn resized(t: &TensorType, dim: usize, size: usize) -> Type {
    let mut shape = t.shape.to_vec();
    shape[dim] = size;
    Type::tensor(t.dtype, shape)
}

/// Builds `[s, ..] -> [s * n, ..]`: joins along `dim` the values of the `n` devices of each group over `axes`, whose
/// coordinates along other axes are equal, in the order of their positions along `axes`.
pub fn all_gather(b: &mut Builder<'_>, x: Value, dim: usize, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Value {
    let t = tensor(b.body, x);
    let size = t.shape[dim] * AxisRef::total_size(mesh, axes);
    let attrs = collective_attrs(mesh, axes).with("all_gather_dim", Attr::int(dim as i64));
    b.value(Opcode::AllGather, [x], attrs, resized(&t, dim, size))
}

/// Builds an all-reduce, which combines, element by element, the values of the members of each group over `axes`.
pub fn all_reduce(b: &mut Builder<'_>, x: Value, kind: ReduceKind, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Value {
    let t = tensor(b.body, x);
    let region = reduction_region(b, kind, t.dtype);
    let op = b.op_with_regions(Opcode::AllReduce, [x], collective_attrs(mesh, axes), [region], [Type::from(t)]);
    b.body[op].results[0]
}

/// Builds `[s, ..] -> [s / n, ..]`: an all-reduce of which each of the `n` members of a group keeps its part along
/// `dim`, whose size must be a multiple of `n`.
pub fn reduce_scatter(
    b: &mut Builder<'_>,
    x: Value,
    dim: usize,
    kind: ReduceKind,
    mesh: &Arc<Mesh>,
    axes: &[AxisRef],
) -> Value {
    let t = tensor(b.body, x);
    let size = t.shape[dim] / AxisRef::total_size(mesh, axes);
    let region = reduction_region(b, kind, t.dtype);
    let attrs = collective_attrs(mesh, axes).with("scatter_dimension", Attr::int(dim as i64));
    let op = b.op_with_regions(Opcode::ReduceScatter, [x], attrs, [region], [resized(&t, dim, size)]);
    b.body[op].results[0]
}

/// Builds an all-to-all, which sends part `i` along `split_dim` to member `i` of the device's group over `axes`, and
/// joins the received parts along `concat_dim`, in the order of the senders. The size of `split_dim` must be a multiple
/// of the group's size.
pub fn all_to_all(
    b: &mut Builder<'_>,
    x: Value,
    split_dim: usize,
    concat_dim: usize,
    mesh: &Arc<Mesh>,
    axes: &[AxisRef],
) -> Value {
    let n = AxisRef::total_size(mesh, axes);
    let mut t = tensor(b.body, x);
    t.shape[split_dim] /= n;
    t.shape[concat_dim] *= n;
    let attrs = collective_attrs(mesh, axes)
        .with("split_dimension", Attr::int(split_dim as i64))
        .with("concat_dimension", Attr::int(concat_dim as i64))
        .with("split_count", Attr::int(n as i64));
    b.value(Opcode::AllToAll, [x], attrs, t.into())
}

/// Builds a permutation, which sends each device's value to its target. A device that is no target receives zeros.
pub fn collective_permute(b: &mut Builder<'_>, x: Value, permutation: &Permutation) -> Value {
    let ty = b.body.ty(x).clone();
    let mut attrs = Attrs::new();
    permutation.write(&mut attrs);
    b.value(Opcode::CollectivePermute, [x], attrs, ty)
}

/// Builds a `ragged_all_to_all`, which sends rows of `operand` into the `output` of the group's members, at the offsets
/// and with the sizes of the four lists. The result has the type of `output`.
pub fn ragged_all_to_all(
    b: &mut Builder<'_>,
    [operand, output]: [Value; 2],
    [input_offsets, send_sizes, output_offsets, recv_sizes]: [Value; 4],
    mesh: &Arc<Mesh>,
    axes: &[AxisRef],
) -> Value {
    let ty = b.body.ty(output).clone();
    let operands = [operand, output, input_offsets, send_sizes, output_offsets, recv_sizes];
    b.value(Opcode::CustomCall, operands, ragged_attrs(Attr::axes(mesh, axes), None), ty)
}

/// Builds the device's position along the axis list, an i32 scalar.
pub fn axis_index(b: &mut Builder<'_>, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Value {
    let attrs = Attrs::new().with("axes", Attr::axes(mesh, axes));
    b.value(Opcode::AxisIndex, [], attrs, Type::tensor(DType::I32, vec![]))
}

/// Builds the offset of the device's shard in each dimension, as scalars. The axes `dims[d]` split dimension `d` into
/// shards of size `shape[d]`. The scalars are of type i32 if the size of every whole dimension fits, and i64 otherwise.
pub fn shard_offsets(b: &mut Builder<'_>, mesh: &Arc<Mesh>, dims: &[Vec<AxisRef>], shape: &[usize]) -> Vec<Value> {
    let sizes = dims.iter().zip(shape).map(|(axes, size)| size * AxisRef::total_size(mesh, axes));
    let dtype = position_dtype(sizes.max().unwrap_or(0));
    let offset = |(axes, &size): (&Vec<AxisRef>, &usize)| match axes.is_empty() {
        true => make::number(b, dtype, 0),
        false => make::block_start(b, mesh, axes, size, dtype),
    };
    dims.iter().zip(shape).map(offset).collect()
}

pub(crate) fn position_dtype(size: usize) -> DType {
    if i32::try_from(size).is_ok() { DType::I32 } else { DType::I64 }
}

/// Builds the device's part of `x`, of which each dimension `d` is split into equal parts over `dims[d]`.
pub fn local_slice(b: &mut Builder<'_>, x: Value, mesh: &Arc<Mesh>, dims: &[Vec<AxisRef>]) -> Value {
    let t = tensor(b.body, x);
    let sizes = t.shape.iter().zip(dims).map(|(n, axes)| n / AxisRef::total_size(mesh, axes));
    let shape: Vec<usize> = sizes.collect();
    let offsets = shard_offsets(b, mesh, dims, &shape);
    make::dynamic_slice(b, x, &offsets, &shape)
}

/// Builds an array of `shape` with `x` at the position of the device's shard. All other elements are [`nothing`], which
/// changes no element that it is added to. The axes `dims[d]` split dimension `d`.
pub fn among_nothing(b: &mut Builder<'_>, x: Value, mesh: &Arc<Mesh>, dims: &[Vec<AxisRef>], shape: &[usize]) -> Value {
    let t = tensor(b.body, x);
    let others = make::full(b, shape, &nothing(t.dtype));
    let offsets = shard_offsets(b, mesh, dims, &t.shape);
    make::dynamic_update_slice(b, others, x, &offsets)
}

/// Builds `x` on the device at position 0 of the axis list. On the others, builds an array of [`nothing`], which
/// changes no element that it is added to.
pub fn on_first(b: &mut Builder<'_>, x: Value, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Value {
    let nothing = nothing(tensor(b.body, x).dtype);
    on_first_or(b, x, &nothing, mesh, axes)
}

/// Builds `x` on the device at position 0 of the axis list, and an array of `element` on the others.
pub fn on_first_or(b: &mut Builder<'_>, x: Value, element: &Literal, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Value {
    let shape = tensor(b.body, x).shape.clone();
    let (index, zero) = (axis_index(b, mesh, axes), make::number(b, DType::I32, 0));
    let is_first = make::compare(b, "EQ", index, zero);
    let others = make::full(b, &shape, element);
    make::select(b, is_first, x, others)
}

/// Builds a loop, and returns its results: the carried values for which the condition is false.
pub fn while_loop(b: &mut Builder<'_>, init: &[Value], cond: Region, body: Region) -> Vec<Value> {
    let types: Vec<Type> = init.iter().map(|&v| b.body.ty(v).clone()).collect();
    let op = b.op_with_regions(Opcode::While, init.iter().copied(), Attrs::new(), [cond, body], types);
    b.body[op].results.to_vec()
}

/// Builds a `case`, and returns the results of the branch with this index. An index out of range selects the last
/// branch.
///
/// # Panics
/// If there is no branch.
pub fn case(b: &mut Builder<'_>, index: Value, branches: Vec<Region>) -> Vec<Value> {
    let types: Vec<Type> = b.body.region_results(branches[0]).iter().map(|&v| b.body.ty(v).clone()).collect();
    let op = b.op_with_regions(Opcode::Case, [index], Attrs::new(), branches, types);
    b.body[op].results.to_vec()
}
