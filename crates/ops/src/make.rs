//! Typed constructors of ops, for passes and the front end. The result type is computed here.
//!
//! Operands are not checked. Operands that do not fit are a bug of the caller: the function panics, or the verifier
//! finds the bug.

use crate::dot::DotDims;
use crate::elementwise::Compare;
use crate::eval::{self, Number};
use crate::index::IndexDims;
use crate::make_collective::shard_offsets;
use crate::reduce::Reduce;
use crate::reducer::{reduction_region, replacement_region};
use crate::{Opcode, ReduceKind, shapes};
use shardwise_base::{AxisRef, DType, Literal, Mesh, Sharding};
use shardwise_ir::{Attrs, Builder, OpView, TensorType, Type, Value};
use std::sync::Arc;

pub use crate::make_collective::axis_index;

/// Returns the tensor type of a value.
///
/// # Panics
/// If the value is not a tensor.
pub fn type_of(b: &Builder<'_>, x: Value) -> TensorType {
    b.body.ty(x).as_tensor().expect("a tensor").clone()
}

fn op(b: &mut Builder<'_>, opcode: Opcode, operands: &[Value], attrs: Attrs, to: TensorType) -> Value {
    b.value(opcode, operands.iter().copied(), attrs, to.into())
}

pub fn constant(b: &mut Builder<'_>, value: Literal) -> Value {
    let to = TensorType::new(value.dtype(), value.shape());
    op(b, Opcode::Constant, &[], constant_attrs(value), to)
}

/// Returns the attributes of a constant with this value.
pub fn constant_attrs(value: Literal) -> Attrs {
    shapes::Constant::attrs(value)
}

/// Builds a scalar constant of the type `dtype`: the integer `value`, converted as by `stablehlo.convert`.
pub fn number(b: &mut Builder<'_>, dtype: DType, value: i64) -> Value {
    constant(b, eval::fill(dtype, &[], |_| Number::Signed(value)))
}

/// Builds a scalar constant of the type `dtype`: the float `value`, converted as by `stablehlo.convert`.
pub fn float(b: &mut Builder<'_>, dtype: DType, value: f64) -> Value {
    constant(b, eval::fill(dtype, &[], |_| Number::Double(value)))
}

/// Builds a constant of this shape in which every element is `element`, a scalar.
pub fn full(b: &mut Builder<'_>, shape: &[usize], element: &Literal) -> Value {
    constant(b, Literal::splat(element.dtype(), shape, element.element_bytes(0)))
}

/// Builds an array of zeros of this type.
pub fn zeros(b: &mut Builder<'_>, ty: &TensorType) -> Value {
    constant(b, Literal::zeros(ty.dtype, ty.shape.clone()))
}

pub fn iota(b: &mut Builder<'_>, to: TensorType, dim: usize) -> Value {
    op(b, Opcode::Iota, &[], shapes::Iota::attrs(dim), to)
}

/// Builds an elementwise op of one operand, whose result has the operand's type.
pub fn unary(b: &mut Builder<'_>, opcode: Opcode, x: Value) -> Value {
    let to = type_of(b, x);
    op(b, opcode, &[x], Attrs::new(), to)
}

/// Builds an elementwise op of two operands of one type, which is also the result's type.
///
/// # Panics
/// If `x` is not a tensor and, in debug builds, if the operands have different types.
pub fn binary(b: &mut Builder<'_>, opcode: Opcode, x: Value, y: Value) -> Value {
    let to = type_of(b, x);
    debug_assert_eq!(to, type_of(b, y), "{} of two types", opcode.name());
    op(b, opcode, &[x, y], Attrs::new(), to)
}

macro_rules! unary_makers {
    ($($name:ident $opcode:ident)*) => {$(
        pub fn $name(b: &mut Builder<'_>, x: Value) -> Value {
            unary(b, Opcode::$opcode, x)
        }
    )*};
}
/// Builds the real part of complex numbers.
pub fn real(b: &mut Builder<'_>, x: Value) -> Value {
    part(b, Opcode::Real, x)
}

/// Builds the imaginary part of complex numbers.
pub fn imag(b: &mut Builder<'_>, x: Value) -> Value {
    part(b, Opcode::Imag, x)
}

fn part(b: &mut Builder<'_>, opcode: Opcode, x: Value) -> Value {
    let from = type_of(b, x);
    op(b, opcode, &[x], Attrs::new(), TensorType::new(from.dtype.real(), from.shape.clone()))
}

/// Builds complex numbers from their two parts.
pub fn complex(b: &mut Builder<'_>, re: Value, im: Value) -> Value {
    let from = type_of(b, re);
    let dtype = if from.dtype == DType::F64 { DType::C128 } else { DType::C64 };
    op(b, Opcode::Complex, &[re, im], Attrs::new(), TensorType::new(dtype, from.shape.clone()))
}

unary_makers!(abs Abs ceil Ceil chlo_conj ChloConj cosine Cosine exponential Exponential floor Floor log Log logistic Logistic negate Negate
    not Not rsqrt Rsqrt sign Sign sine Sine sqrt Sqrt tanh Tanh);

macro_rules! binary_makers {
    ($($name:ident $opcode:ident)*) => {$(
        pub fn $name(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
            binary(b, Opcode::$opcode, x, y)
        }
    )*};
}
binary_makers!(add Add and And divide Divide maximum Maximum minimum Minimum multiply Multiply or Or power Power
    remainder Remainder shift_left ShiftLeft shift_right_logical ShiftRightLogical subtract Subtract xor Xor);

/// Builds a comparison. `direction` is `EQ`, `NE`, `GE`, `GT`, `LE` or `LT`. Numbers are compared by value, booleans as
/// unsigned integers.
pub fn compare(b: &mut Builder<'_>, direction: &str, x: Value, y: Value) -> Value {
    let from = type_of(b, x);
    let attrs = Compare::attrs(direction, from.dtype);
    op(b, Opcode::Compare, &[x, y], attrs, TensorType::new(DType::I1, from.shape.clone()))
}

pub fn select(b: &mut Builder<'_>, pred: Value, on_true: Value, on_false: Value) -> Value {
    let to = type_of(b, on_true);
    op(b, Opcode::Select, &[pred, on_true, on_false], Attrs::new(), to)
}

pub fn clamp(b: &mut Builder<'_>, min: Value, x: Value, max: Value) -> Value {
    let to = type_of(b, x);
    op(b, Opcode::Clamp, &[min, x, max], Attrs::new(), to)
}

/// Builds a conversion, or returns `x` itself if it already has the type.
pub fn convert(b: &mut Builder<'_>, x: Value, dtype: DType) -> Value {
    let from = type_of(b, x);
    if from.dtype == dtype {
        return x;
    }
    op(b, Opcode::Convert, &[x], Attrs::new(), TensorType::new(dtype, from.shape.clone()))
}

/// Builds a reshape, or returns `x` itself if it already has the shape.
pub fn reshape(b: &mut Builder<'_>, x: Value, shape: &[usize]) -> Value {
    let from = type_of(b, x);
    if from.shape == shape {
        return x;
    }
    op(b, Opcode::Reshape, &[x], Attrs::new(), TensorType::new(from.dtype, shape))
}

/// Builds a broadcast. Dimension `i` of `x` becomes dimension `dims[i]` of the result.
pub fn broadcast_in_dim(b: &mut Builder<'_>, x: Value, shape: &[usize], dims: &[usize]) -> Value {
    let to = TensorType::new(type_of(b, x).dtype, shape);
    op(b, Opcode::BroadcastInDim, &[x], shapes::BroadcastInDim::attrs(dims), to)
}

/// Builds a broadcast of a scalar, or returns `x` itself if the shape is a scalar's.
pub fn broadcast_scalar(b: &mut Builder<'_>, x: Value, shape: &[usize]) -> Value {
    if shape.is_empty() { x } else { broadcast_in_dim(b, x, shape, &[]) }
}

/// Builds a transpose. Dimension `i` of the result is dimension `permutation[i]` of `x`.
pub fn transpose(b: &mut Builder<'_>, x: Value, permutation: &[usize]) -> Value {
    let from = type_of(b, x);
    let shape: Vec<usize> = permutation.iter().map(|&d| from.shape[d]).collect();
    op(b, Opcode::Transpose, &[x], shapes::Transpose::attrs(permutation), TensorType::new(from.dtype, shape))
}

pub fn slice(b: &mut Builder<'_>, x: Value, start: &[usize], limit: &[usize], strides: &[usize]) -> Value {
    let from = type_of(b, x);
    let shape: Vec<usize> = (0..start.len()).map(|d| (limit[d] - start[d]).div_ceil(strides[d])).collect();
    let attrs = shapes::Slice::attrs(start, limit, strides);
    op(b, Opcode::Slice, &[x], attrs, TensorType::new(from.dtype, shape))
}

/// Builds a slice of the elements `start..limit` along `dim`, with all elements along the other dimensions.
pub fn slice_dim(b: &mut Builder<'_>, x: Value, dim: usize, start: usize, limit: usize) -> Value {
    slice_dim_by(b, x, dim, start, limit, 1)
}

/// Builds a slice as [`slice_dim`] does, of every `stride`th element along `dim`.
pub fn slice_dim_by(b: &mut Builder<'_>, x: Value, dim: usize, start: usize, limit: usize, stride: usize) -> Value {
    let shape = type_of(b, x).shape.clone();
    let (mut starts, mut limits, mut strides) = (vec![0; shape.len()], shape.clone(), vec![1; shape.len()]);
    (starts[dim], limits[dim], strides[dim]) = (start, limit, stride);
    slice(b, x, &starts, &limits, &strides)
}

pub fn dynamic_slice(b: &mut Builder<'_>, x: Value, starts: &[Value], sizes: &[usize]) -> Value {
    let to = TensorType::new(type_of(b, x).dtype, sizes);
    let operands = [&[x], starts].concat();
    op(b, Opcode::DynamicSlice, &operands, shapes::DynamicSlice::attrs(sizes), to)
}

pub fn dynamic_update_slice(b: &mut Builder<'_>, x: Value, update: Value, starts: &[Value]) -> Value {
    let to = type_of(b, x);
    let operands = [&[x, update], starts].concat();
    op(b, Opcode::DynamicUpdateSlice, &operands, Attrs::new(), to)
}

/// Builds a gather of slices of these sizes, one for each dimension of `x`.
pub fn gather(b: &mut Builder<'_>, x: Value, indices: Value, dims: &IndexDims, sizes: &[usize]) -> Value {
    let from = type_of(b, x);
    let windows: Vec<usize> = dims.window_operand_dims(from.rank()).iter().map(|&d| sizes[d]).collect();
    let shape = dims.slices_shape(&windows, b.body.ty(indices).shape());
    op(b, Opcode::Gather, &[x, indices], dims.gather_attrs(sizes), TensorType::new(from.dtype, shape))
}

/// Builds an array of the elements of `x` at the positions `indices` along `dim`. Along the other dimensions, in which
/// `x` and `indices` have the same sizes, elements keep their positions. A position outside of `x` counts as the
/// nearest one inside.
///
/// ```text
/// x = [[1, 2, 3], [4, 5, 6]], indices = [[2], [0]], dim = 1 -> [[3], [4]]
/// ```
pub fn take_along(b: &mut Builder<'_>, x: Value, indices: Value, dim: usize) -> Value {
    let shape = type_of(b, x).shape.clone();
    let rank = shape.len();
    let others: Vec<usize> = (0..rank).filter(|&d| d != dim).collect();
    let dims = IndexDims {
        window: vec![],
        collapsed: vec![dim],
        operand_batching: others.clone(),
        indices_batching: others,
        index_map: vec![dim],
        index_vector_dim: rank,
    };
    let sizes: Vec<usize> = shape.iter().map(|&n| n.min(1)).collect();
    gather(b, x, indices, &dims, &sizes)
}

/// Builds a scatter of one array with the attributes `attrs`. Updates are combined with the elements of `x` by `kind`,
/// or replace them if it is `None`.
pub fn scatter(
    b: &mut Builder<'_>,
    kind: Option<ReduceKind>,
    x: Value,
    indices: Value,
    updates: Value,
    attrs: Attrs,
) -> Value {
    let to = type_of(b, x);
    let region = match kind {
        Some(kind) => reduction_region(b, kind, to.dtype),
        None => replacement_region(b, to.dtype),
    };
    let op = b.op_with_regions(Opcode::Scatter, [x, indices, updates], attrs, [region], [to.into()]);
    b.body[op].results[0]
}

/// Builds a concatenation along `dim`.
///
/// # Panics
/// If the list is empty.
pub fn concatenate(b: &mut Builder<'_>, inputs: &[Value], dim: usize) -> Value {
    let mut to = type_of(b, inputs[0]);
    to.shape[dim] = inputs.iter().map(|&x| b.body.ty(x).shape()[dim]).sum();
    op(b, Opcode::Concatenate, inputs, shapes::Concatenate::attrs(dim), to)
}

/// Builds a padded array. `value` is a scalar. Negative padding removes elements.
///
/// # Panics
/// If the padding removes more elements than there are, or the size of the result does not fit.
pub fn pad(b: &mut Builder<'_>, x: Value, value: Value, low: &[i64], high: &[i64], interior: &[i64]) -> Value {
    let from = type_of(b, x);
    let shape = shapes::Pad::padded_shape(&from.shape, [low, high, interior]);
    let shape = shape.expect("padding leaves at least nothing");
    let attrs = shapes::Pad::attrs(low, high, interior);
    op(b, Opcode::Pad, &[x, value], attrs, TensorType::new(from.dtype, shape))
}

pub fn reverse(b: &mut Builder<'_>, x: Value, dims: &[usize]) -> Value {
    let to = type_of(b, x);
    op(b, Opcode::Reverse, &[x], shapes::Reverse::attrs(dims), to)
}

/// Builds a `dot_general` with a result of type `dtype`.
pub fn dot_general(b: &mut Builder<'_>, x: Value, y: Value, dims: &DotDims, dtype: DType) -> Value {
    dot_general_with(b, Attrs::new(), [x, y], dims, dtype)
}

/// Builds a `dot_general` with these attributes besides its dimensions.
pub(crate) fn dot_general_with(
    b: &mut Builder<'_>,
    attrs: Attrs,
    [x, y]: [Value; 2],
    dims: &DotDims,
    dtype: DType,
) -> Value {
    let shape = dims.result_shape(b.body.ty(x).shape(), b.body.ty(y).shape());
    let attrs = attrs.with("dot_dimension_numbers", dims.to_attr());
    op(b, Opcode::DotGeneral, &[x, y], attrs, TensorType::new(dtype, shape))
}

pub(crate) fn dot_general_like(
    b: &mut Builder<'_>,
    like: &OpView<'_>,
    x: Value,
    y: Value,
    dims: &DotDims,
    dtype: DType,
) -> Value {
    dot_general_with(b, like.attrs().clone(), [x, y], dims, dtype)
}

/// Builds a transpose that moves dimension `dim` to the front, or returns `x` itself if it is there.
pub fn move_to_front(b: &mut Builder<'_>, x: Value, dim: usize) -> Value {
    let rank = type_of(b, x).rank();
    let order: Vec<usize> = std::iter::once(dim).chain((0..rank).filter(|&d| d != dim)).collect();
    if dim == 0 { x } else { transpose(b, x, &order) }
}

/// Builds a `resize`, which adds zeros at the ends of dimensions or removes elements there, so that the shape is
/// `sizes`.
pub fn resize(b: &mut Builder<'_>, x: Value, sizes: &[usize]) -> Value {
    let dtype = type_of(b, x).dtype;
    op(b, Opcode::Resize, &[x], shapes::Resize::attrs(sizes), TensorType::new(dtype, sizes))
}

/// Builds a reduction along `dims`, starting from the scalar `init`.
pub fn reduce_from(b: &mut Builder<'_>, kind: ReduceKind, x: Value, init: Value, dims: &[usize]) -> Value {
    let from = type_of(b, x);
    let shape: Vec<usize> = (0..from.rank()).filter(|d| !dims.contains(d)).map(|d| from.shape[d]).collect();
    let region = reduction_region(b, kind, from.dtype);
    let attrs = Reduce::attrs(dims);
    let op = b.op_with_regions(Opcode::Reduce, [x, init], attrs, [region], [Type::tensor(from.dtype, shape)]);
    b.body[op].results[0]
}

/// Builds a reduction along `dims`, starting from the reduction's identity.
pub fn reduce(b: &mut Builder<'_>, kind: ReduceKind, x: Value, dims: &[usize]) -> Value {
    let init = constant(b, kind.identity(type_of(b, x).dtype));
    reduce_from(b, kind, x, init, dims)
}

/// Builds the offset, a scalar of type `dtype`, of the device's block of `local` elements along a dimension that is
/// split over `axes`.
pub fn block_start(b: &mut Builder<'_>, mesh: &Arc<Mesh>, axes: &[AxisRef], local: usize, dtype: DType) -> Value {
    let index = axis_index(b, mesh, axes);
    let (index, size) = (convert(b, index, dtype), number(b, dtype, local as i64));
    multiply(b, index, size)
}

/// Builds the device's block, of shape `local`, of a value that is replicated on all devices. Returns the value itself
/// if the sharding is `None` or no dimension has axes.
pub fn block_of(b: &mut Builder<'_>, whole: Value, sharding: Option<&Sharding>, local: &[usize]) -> Value {
    let Some(sharding) = sharding.filter(|s| s.dims.iter().any(|d| !d.axes.is_empty())) else { return whole };
    let axes: Vec<Vec<AxisRef>> = sharding.dims.iter().map(|d| d.axes.clone()).collect();
    let starts = shard_offsets(b, &sharding.mesh, &axes, local);
    dynamic_slice(b, whole, &starts, local)
}
