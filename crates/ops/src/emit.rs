//! Small arithmetic on values of a body being built, for `localize`: positions, masks, comparisons.

use crate::make_collective::{literal, op_named};
use shardwise_base::{DType, Literal};
use shardwise_ir::{Attr, Attrs, Builder, TensorType, Type, Value};

pub(crate) fn tensor(b: &Builder<'_>, x: Value) -> TensorType {
    b.body.ty(x).as_tensor().expect("a tensor").clone()
}

fn shape(b: &Builder<'_>, x: Value) -> Vec<usize> {
    b.body.ty(x).shape().to_vec()
}

/// An integer scalar of this type.
pub(crate) fn integer(b: &mut Builder<'_>, dtype: DType, value: usize) -> Value {
    let bytes = (value as u64).to_le_bytes();
    literal(b, Literal::splat(dtype, vec![], &bytes[..dtype.storage_bytes()]))
}

pub(crate) fn convert(b: &mut Builder<'_>, x: Value, dtype: DType) -> Value {
    let t = tensor(b, x);
    if t.dtype == dtype {
        return x;
    }
    b.value(op_named("stablehlo.convert"), [x], Attrs::new(), Type::tensor(dtype, t.shape.to_vec()))
}

/// A binary op on two values of one type.
pub(crate) fn binary(b: &mut Builder<'_>, name: &str, x: Value, y: Value) -> Value {
    let ty = b.body.ty(x).clone();
    b.value(op_named(name), [x, y], Attrs::new(), ty)
}

/// A comparison of signed integers: `LT`, `GE`, ….
pub(crate) fn compare(b: &mut Builder<'_>, direction: &str, x: Value, y: Value) -> Value {
    let shape = shape(b, x);
    let attrs = Attrs::new()
        .with("comparison_direction", Attr::stablehlo_enum("comparison_direction", direction))
        .with("compare_type", Attr::stablehlo_enum("comparison_type", "SIGNED"));
    b.value(op_named("stablehlo.compare"), [x, y], attrs, Type::tensor(DType::I1, shape))
}

pub(crate) fn select(b: &mut Builder<'_>, predicate: Value, x: Value, y: Value) -> Value {
    let ty = b.body.ty(x).clone();
    b.value(op_named("stablehlo.select"), [predicate, x, y], Attrs::new(), ty)
}

/// Dimension `i` of `x` becomes dimension `dims[i]` of `shape`.
pub(crate) fn broadcast(b: &mut Builder<'_>, x: Value, dims: &[usize], shape: &[usize]) -> Value {
    let dtype = tensor(b, x).dtype;
    let attrs = Attrs::new().with("broadcast_dimensions", Attr::sizes(dims));
    b.value(op_named("stablehlo.broadcast_in_dim"), [x], attrs, Type::tensor(dtype, shape.to_vec()))
}

pub(crate) fn reshape(b: &mut Builder<'_>, x: Value, shape: &[usize]) -> Value {
    let dtype = tensor(b, x).dtype;
    b.value(op_named("stablehlo.reshape"), [x], Attrs::new(), Type::tensor(dtype, shape.to_vec()))
}

/// Index `i` along `dim`, which stays as a dimension of size 1.
pub(crate) fn slice_one(b: &mut Builder<'_>, x: Value, dim: usize, i: usize) -> Value {
    let t = tensor(b, x);
    let (mut from, mut to) = (vec![0; t.rank()], t.shape.to_vec());
    (from[dim], to[dim]) = (i, i + 1);
    let attrs = Attrs::new()
        .with("start_indices", Attr::sizes(&from))
        .with("limit_indices", Attr::sizes(&to))
        .with("strides", Attr::sizes(&vec![1; t.rank()]));
    let mut shape = t.shape.to_vec();
    shape[dim] = 1;
    b.value(op_named("stablehlo.slice"), [x], attrs, Type::tensor(t.dtype, shape))
}

pub(crate) fn concatenate(b: &mut Builder<'_>, parts: &[Value], dim: usize) -> Value {
    let mut t = tensor(b, parts[0]);
    t.shape[dim] = parts.iter().map(|&p| shape(b, p)[dim]).sum();
    let attrs = Attrs::new().with("dimension", Attr::int(dim as i64));
    b.value(op_named("stablehlo.concatenate"), parts.iter().copied(), attrs, t.into())
}

/// `x` clamped to `0..=most`.
pub(crate) fn clamp_index(b: &mut Builder<'_>, x: Value, most: usize) -> Value {
    let t = tensor(b, x);
    let (lo, hi) = (integer(b, t.dtype, 0), integer(b, t.dtype, most));
    b.value(op_named("stablehlo.clamp"), [lo, x, hi], Attrs::new(), t.into())
}

/// Whether `0 <= x <= most`, element by element.
pub(crate) fn is_within(b: &mut Builder<'_>, x: Value, most: usize) -> Value {
    let t = tensor(b, x);
    let bounds = [0, most].map(|n| {
        let n = integer(b, t.dtype, n);
        broadcast(b, n, &[], &t.shape)
    });
    let above = compare(b, "GE", x, bounds[0]);
    let below = compare(b, "LE", x, bounds[1]);
    binary(b, "stablehlo.and", above, below)
}

/// One element repeated.
pub(crate) fn splat(b: &mut Builder<'_>, element: &Literal, shape: &[usize]) -> Value {
    literal(b, Literal::splat(element.dtype(), shape.to_vec(), element.element_bytes(0)))
}

/// An integer type in which positions are computed with: signed and wide enough.
pub(crate) fn index_dtype(dtype: DType) -> DType {
    if dtype == DType::I32 { DType::I32 } else { DType::I64 }
}
