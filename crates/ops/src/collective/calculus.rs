//! Derivatives, transposes and batches of the collectives.
//!
//! A collective is linear in the values of all members of a group together. Its transpose depends on what a result is:
//! one value that all members hold, with one cotangent, or a value of each member, with a cotangent on each. The
//! transform says which ([`CotangentCx::is_shared`]).
//!
//! ```text
//!                      cotangent of the operand, if the result is shared  ..if each member has its own
//! all_reduce (sum)     the cotangent                                      all_reduce
//! all_gather           the device's block of the cotangent                reduce_scatter
//! reduce_scatter       (never shared)                                     all_gather
//! all_to_all           (never shared)                                     all_to_all, the dimensions exchanged
//! collective_permute   (never shared)                                     collective_permute, the pairs reversed
//! ```

use super::ops::has_root;
use super::{CollectiveKind, CollectiveView, Groups, ragged};
use crate::batch::{BatchCx, Batched, further};
use crate::derivative::{Cotangent, CotangentCx, Derivative, TangentCx, Transposed};
use crate::make_collective::local_slice;
use crate::reducer::reduction_region;
use crate::{Opcode, ReduceKind, make};
use shardwise_base::{AxisRef, Mesh};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Region, TensorType, Type, Value};
use std::sync::Arc;

// ── all_reduce
/// Returns the derivative of an `all_reduce`. A sum is linear. The tangent of a maximum or minimum is the mean of the
/// tangents of the members whose element is equal to it. Other and unknown reductions have no derivative.
pub(super) fn all_reduce_derivative<'f>(kind: Option<ReduceKind>) -> Derivative<'f> {
    match kind {
        Some(ReduceKind::Add) => linear_derivative(),
        Some(ReduceKind::Max | ReduceKind::Min) => {
            Derivative::by(|cx| (0..cx.results.len()).map(|i| tangent_of_extreme(cx, i)).collect())
        }
        _ => Derivative::None("only sums, maxima and minima over devices have a derivative"),
    }
}

pub(super) fn derivative_if_sum<'f>(kind: Option<ReduceKind>) -> Derivative<'f> {
    match kind {
        Some(ReduceKind::Add) => linear_derivative(),
        _ => Derivative::None("only sums over devices have a derivative here"),
    }
}

/// Returns the derivative of a collective that is linear in its first operands, one for each result. The operands after
/// these, the roots, are kept.
pub(super) fn linear_derivative<'f>() -> Derivative<'f> {
    Derivative::by(|cx| {
        let count = cx.results.len();
        let tangents = (0..count).map(|i| cx.tangent_or_zeros(i)).collect::<Vec<_>>();
        let operands: Vec<Value> = tangents.into_iter().chain(cx.operands[count..].iter().copied()).collect();
        cx.same_op(&operands).into_iter().map(Some).collect()
    })
}

fn tangent_of_extreme(cx: &mut TangentCx<'_, '_, '_>, i: usize) -> Option<Value> {
    let tangent = cx.tangents[i]?;
    let (x, y, ty) = (cx.operands[i], cx.results[i], cx.op.result_tensor(i).clone());
    let x = make::convert(cx.b, x, ty.dtype);
    let is_own = make::compare(cx.b, "EQ", x, y);
    let is_own = make::convert(cx.b, is_own, ty.dtype);
    let tangent = make::convert(cx.b, tangent, ty.dtype);
    let own = make::multiply(cx.b, tangent, is_own);
    let count = sum_like(&cx.op, is_own, cx.b);
    let sum = sum_like(&cx.op, own, cx.b);
    Some(make::divide(cx.b, sum, count))
}

fn sum_like(op: &OpView<'_>, x: Value, b: &mut Builder<'_>) -> Value {
    let ty = make::type_of(b, x);
    let region = reduction_region(b, ReduceKind::Add, ty.dtype);
    let new = b.op_with_regions(Opcode::AllReduce, [x], op.attrs().clone(), [region], [Type::from(ty)]);
    b.body[new].results[0]
}

pub(super) fn all_reduce_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        each_operand(cx, |cx, ct, ty| {
            let sum = if cx.is_shared { ct } else { sum_like(&cx.op, ct, cx.b) };
            make::convert(cx.b, sum, ty.dtype)
        })
    })
}

// ── all_gather and reduce_scatter
pub(super) fn all_gather_transpose<'f>(op: &OpView<'_>) -> Transposed<'f> {
    let view = CollectiveView::of(op);
    Transposed::by(move |cx| {
        let Some(CollectiveView { kind: CollectiveKind::AllGather { dim }, groups, .. }) = &view else {
            unreachable!("the op is verified")
        };
        each_operand(cx, |cx, ct, ty| match cx.is_shared.then(|| axes_of(&cx.op, groups)).flatten() {
            Some((mesh, axes)) => {
                let mut dims = vec![vec![]; ty.rank()];
                dims[*dim] = axes;
                local_slice(cx.b, ct, &mesh, &dims)
            }
            None => {
                let region = reduction_region(cx.b, ReduceKind::Add, ty.dtype);
                let attrs = moved(cx.op.attrs(), "all_gather_dim", "scatter_dimension");
                let op = cx.b.op_with_regions(Opcode::ReduceScatter, [ct], attrs, [region], [ty.into()]);
                cx.b.body[op].results[0]
            }
        })
    })
}

/// Returns the groups as a mesh and axes of it. Groups over axes are returned as they are, and others over the module's
/// mesh. Returns `None` if no axes of that mesh form the groups, or if the module has no mesh.
fn axes_of(op: &OpView<'_>, groups: &Groups) -> Option<(Arc<Mesh>, Vec<AxisRef>)> {
    if let Groups::Axes { mesh, axes } = groups {
        return Some((mesh.clone(), axes.clone()));
    }
    match groups.to_axes(op.module.main_mesh()?)? {
        Groups::Axes { mesh, axes } => Some((mesh, axes)),
        _ => None,
    }
}

fn moved(attrs: &Attrs, from: &str, to: &'static str) -> Attrs {
    let mut attrs = attrs.clone();
    if let Some(value) = attrs.remove(from) {
        attrs.set(to, value);
    }
    attrs
}

pub(super) fn reduce_scatter_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        each_operand(cx, |cx, ct, ty| {
            let attrs = moved(cx.op.attrs(), "scatter_dimension", "all_gather_dim");
            let from = make::type_of(cx.b, ct).dtype;
            let whole = cx.b.value(Opcode::AllGather, [ct], attrs, TensorType::new(from, ty.shape.clone()).into());
            make::convert(cx.b, whole, ty.dtype)
        })
    })
}

// ── exchanges
pub(super) fn all_to_all_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        each_operand(cx, |cx, ct, ty| {
            let mut attrs = cx.op.attrs().clone();
            let ends = ["split_dimension", "concat_dimension"].map(|name| attrs.get(name).cloned());
            let [Some(split), Some(concat)] = ends else { unreachable!("the op is verified") };
            attrs.set("split_dimension", concat);
            attrs.set("concat_dimension", split);
            cx.b.value(Opcode::AllToAll, [ct], attrs, ty.into())
        })
    })
}

pub(super) fn permute_transpose<'f>(op: &OpView<'_>) -> Transposed<'f> {
    let view = CollectiveView::of(op);
    Transposed::by(move |cx| {
        let Some(CollectiveView { kind: CollectiveKind::CollectivePermute { permutation }, .. }) = &view else {
            unreachable!("the op is verified")
        };
        each_operand(cx, |cx, ct, ty| {
            let mut attrs = cx.op.attrs().clone();
            permutation.inverse().write(&mut attrs);
            cx.b.value(Opcode::CollectivePermute, [ct], attrs, ty.into())
        })
    })
}

// ── one member of each group
/// Returns the transpose of a `collective_broadcast`: the sender receives the sum of all members' cotangents.
pub(super) fn broadcast_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        each_numbered(cx, |cx, index, ct, ty| {
            let region = reduction_region(cx.b, ReduceKind::Add, ty.dtype);
            to_one(cx, Opcode::CollectiveReduce, (index, ct), ty, vec![region])
        })
    })
}

/// Returns the transpose of a `collective_reduce` that sums: all members receive the cotangent of the receiver.
pub(super) fn reduce_to_one_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        each_numbered(cx, |cx, index, ct, ty| {
            let from = TensorType::new(make::type_of(cx.b, ct).dtype, ty.shape.clone());
            let sent = to_one(cx, Opcode::CollectiveBroadcast, (index, ct), from, vec![]);
            make::convert(cx.b, sent, ty.dtype)
        })
    })
}

/// Builds the op `opcode` on the cotangent of result `index`, with the groups of the context's op and the root, if any,
/// that this op has for the result.
fn to_one(
    cx: &mut CotangentCx<'_, '_, '_>,
    opcode: Opcode,
    (index, ct): (usize, Value),
    ty: TensorType,
    regions: Vec<Region>,
) -> Value {
    let roots = has_root(&cx.op).then(|| cx.known(cx.operands.len() - 1));
    let root = roots.map(|roots| match cx.op.results().len() {
        1 => roots,
        _ => make::slice_dim(cx.b, roots, 0, index, index + 1),
    });
    let attrs = cx.op.attrs().clone();
    let op = cx.b.op_with_regions(opcode, [ct].into_iter().chain(root), attrs, regions, [Type::from(ty)]);
    cx.b.body[op].results[0]
}

// ── rows of unequal groups
/// Returns the transpose of a `ragged_all_to_all` that sends no row of its operand twice. The rows of the cotangent go
/// back to where they came from, and the cotangent of the output has zeros in place of the rows that were received. If
/// a row was sent twice, the transpose fails with `ragged-overlap` when it runs.
pub(super) fn ragged_transpose<'f>() -> Transposed<'f> {
    Transposed::by(|cx| {
        let ct = cx.cotangent();
        let [inputs, sent, outputs, received] = [2, 3, 4, 5].map(|i| cx.known(i));
        // Each member learns where its rows are on the others.
        let [inputs, outputs] = [inputs, outputs].map(|list| exchanged(cx, list));
        let operand = cx.is_linear(0).then(|| {
            let zeros = make::zeros(cx.b, cx.op.operand_tensor(0));
            let ty = cx.op.operand_type(0).clone();
            let operands = [ct, zeros, outputs, received, inputs, sent];
            cx.b.value(Opcode::CustomCall, operands, cx.op.attrs().clone(), ty)
        });
        let output = cx.is_linear(1).then(|| {
            let is_received = received_rows(cx.b, outputs, received, cx.op.result_tensor(0));
            let zeros = make::zeros(cx.b, cx.op.result_tensor(0));
            make::select(cx.b, is_received, zeros, ct)
        });
        let mut all = vec![None; 6];
        (all[0], all[1]) = (operand.map(Cotangent::from), output.map(Cotangent::from));
        all
    })
}

/// Builds the list whose entries for a member are those that this member has for the device.
fn exchanged(cx: &mut CotangentCx<'_, '_, '_>, list: Value) -> Value {
    let ty = make::type_of(cx.b, list);
    let mut attrs = Attrs::new().with("split_dimension", Attr::int(0)).with("concat_dimension", Attr::int(0));
    let config = ragged::config(&cx.op).expect("the op is verified");
    if let Some(groups) = config.get("replica_groups") {
        attrs.set("replica_groups", groups.clone());
    }
    let attrs = super::attrs_with_channel(attrs, config.int("channel_id"));
    cx.b.value(Opcode::AllToAll, [list], attrs, ty.into())
}

/// Builds a mask of the type's shape, which is true for the elements of the rows `offsets[i]..offsets[i] + sizes[i]`,
/// for all `i`.
fn received_rows(b: &mut Builder<'_>, offsets: Value, sizes: Value, ty: &TensorType) -> Value {
    let list = make::type_of(b, offsets);
    let grid = [ty.shape[0], list.shape[0]];
    let row = make::iota(b, TensorType::new(list.dtype, grid), 0);
    let first = make::broadcast_in_dim(b, offsets, &grid, &[1]);
    let size = make::broadcast_in_dim(b, sizes, &grid, &[1]);
    let limit = make::add(b, first, size);
    let (is_after, is_before) = (make::compare(b, "GE", row, first), make::compare(b, "LT", row, limit));
    let is_in = make::and(b, is_after, is_before);
    let is_in = make::reduce(b, ReduceKind::Or, is_in, &[1]);
    make::broadcast_in_dim(b, is_in, &ty.shape, &[0])
}

/// Returns the batch of a `ragged_all_to_all`, in which the batch dimension is moved behind that of the rows. There is
/// none if offsets or sizes are batched.
pub(super) fn ragged_batch<'f>(mapped: &[bool]) -> Batched<'f> {
    if mapped[2..].contains(&true) {
        return Batched::None("its offsets or sizes differ along the batch");
    }
    Batched::by("rows must be the first dimension", |cx| {
        let inner = |cx: &mut BatchCx<'_, '_, '_>, i: usize| {
            let x = cx.with_leading(i);
            let rank = make::type_of(cx.b, x).rank();
            let order: Vec<usize> = [1, 0].into_iter().chain(2..rank).collect();
            make::transpose(cx.b, x, &order)
        };
        let mut operands = cx.operands.to_vec();
        (operands[0], operands[1]) = (inner(cx, 0), inner(cx, 1));
        let ty = make::type_of(cx.b, operands[1]);
        let order: Vec<usize> = [1, 0].into_iter().chain(2..ty.rank()).collect();
        let made = cx.b.value(Opcode::CustomCall, operands, cx.op.attrs().clone(), ty.into());
        Ok(vec![make::transpose(cx.b, made, &order)])
    })
}

/// Returns, for each operand, `f` of the cotangent of the result with the same index and of the operand's type. The
/// entry is `None` if there is no such cotangent or if the operand needs none.
fn each_operand(
    cx: &mut CotangentCx<'_, '_, '_>,
    f: impl Fn(&mut CotangentCx<'_, '_, '_>, Value, TensorType) -> Value,
) -> Vec<Option<Cotangent>> {
    each_numbered(cx, |cx, _, ct, ty| f(cx, ct, ty))
}

fn each_numbered(
    cx: &mut CotangentCx<'_, '_, '_>,
    f: impl Fn(&mut CotangentCx<'_, '_, '_>, usize, Value, TensorType) -> Value,
) -> Vec<Option<Cotangent>> {
    let count = cx.operands.len();
    let one = |i: usize| {
        let ct = cx.cotangents.get(i).copied().flatten().filter(|_| cx.is_linear(i))?;
        let ty = cx.operand_tensor(i).clone();
        Some(f(cx, i, ct, ty).into())
    };
    (0..count).map(one).collect()
}

// ── batches
pub(super) fn batch<'f>(op: &OpView<'_>, dims: &[&'static str]) -> Batched<'f> {
    let mut attrs = op.attrs().clone();
    for &name in dims {
        if let Some(dim) = attrs.size(name) {
            attrs.set(name, Attr::int(further(&[dim])[0] as i64));
        }
    }
    Batched::Leading(attrs)
}
