//! StableHLO on traced arrays, op by op: the language in which the array functions are written.
//!
//! Most functions append one op to the active trace, and compute its type. Callers have checked for the mistakes that a
//! program can make, except those in sizes, layouts, states along manual axes, and operands that cannot be used here.

use crate::error::Mistakes;
use crate::manual::{self, ManualType};
use crate::shape::fits;
use crate::trace::Traced;
use crate::{Array, context, explicit, mistakes, trace};
use shardwise_base::{DType, Diagnostic, Literal, Loc, Sharding, budget};
use shardwise_engine::ShardedType;
use shardwise_ir::{Attr, Attrs, Builder, Op, Region, TensorType, Type, Value};
use shardwise_ops::dot::{DotDims, DotGeneral};
use shardwise_ops::elementwise::Compare;
use shardwise_ops::index::IndexDims;
use shardwise_ops::ragged::RaggedDot;
use shardwise_ops::reduce::Reduce;
use shardwise_ops::sort::Sort;
use shardwise_ops::window::ReduceWindow;
use shardwise_ops::{Opcode, shapes};
use std::ops::Range;
use std::panic::Location;

fn here() -> &'static Location<'static> {
    context::caller(Location::caller())
}

/// Appends an op with any number of results.
///
/// Errors, which the results carry: `too-large`, and those of [`trace::operands`], [`explicit::of_op`] and
/// [`manual::of_op`].
pub(crate) fn op_with(
    opcode: Opcode,
    operands: &[&Array],
    attrs: Attrs,
    regions: Vec<Region>,
    results: &[TensorType],
) -> Vec<Array> {
    let state = |t: &trace::Trace, op: Op, loc: &Loc| {
        let state = manual::of_op(t, op, operands, loc)?;
        Ok(vec![state; results.len()])
    };
    appended(opcode, operands, attrs, regions, results, state)
}

/// Appends an op as [`op_with`] does, with results in these states along the manual axes.
///
/// Errors, which the results carry: those of [`op_with`] but for [`manual::of_op`].
pub(crate) fn op_in(
    opcode: Opcode,
    operands: &[&Array],
    attrs: Attrs,
    regions: Vec<Region>,
    results: &[TensorType],
    states: &[Option<ManualType>],
) -> Vec<Array> {
    appended(opcode, operands, attrs, regions, results, |_, _, _| Ok(states.to_vec()))
}

fn appended(
    opcode: Opcode,
    operands: &[&Array],
    attrs: Attrs,
    regions: Vec<Region>,
    results: &[TensorType],
    states: impl FnOnce(&trace::Trace, Op, &Loc) -> Result<Vec<Option<ManualType>>, Diagnostic>,
) -> Vec<Array> {
    budget::poll();
    let at = here();
    let loc = context::loc(at);
    if let Some(ty) = results.iter().find(|ty| !fits(ty)) {
        let wrong = Mistakes::one(mistakes::too_large(ty, &loc));
        return results.iter().map(|_| Array::poisoned(wrong.clone(), None, at)).collect();
    }
    let values = match trace::operands(operands, at) {
        Ok(values) => values,
        Err(wrong) => return results.iter().map(|_| Array::poisoned(wrong.clone(), None, at)).collect(),
    };
    let made = trace::with(|t| {
        let op = t.op(opcode.into(), &values, attrs, regions, results, &loc);
        explicit::of_op(t, op)?;
        let states = states(t, op, &loc)?;
        let results = t.body().op(op).results.to_vec();
        Ok(results.into_iter().map(|v| t.traced(v)).zip(states).collect::<Vec<_>>())
    });
    match made {
        Ok(made) => made.into_iter().map(|(t, state)| Array::of_traced(t, at).made_in(state)).collect(),
        Err(d) => {
            let wrong = Mistakes::one(d);
            let types = results.iter().map(|ty| ShardedType { ty: ty.clone(), sharding: None });
            types.map(|ty| Array::poisoned(wrong.clone(), Some(ty), at)).collect()
        }
    }
}

/// Appends the ops that `f` builds from the operands. The result has the states `state`.
///
/// Errors, which the result carries: those of [`trace::operands`] and [`explicit::of_op`].
pub(crate) fn built(
    operands: &[&Array],
    state: Option<ManualType>,
    f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value,
) -> Array {
    let at = here();
    let loc = context::loc(at);
    match trace::operands(operands, at) {
        Ok(values) => {
            let (made, typed) = trace::with(|t| {
                let first = t.ops().len();
                let made = f(&mut t.builder(&loc), &values);
                let ops = t.ops()[first..].to_vec();
                let typed = ops.into_iter().try_for_each(|op| explicit::of_op(t, op));
                (t.traced(made), typed)
            });
            or_mistake(Array::of_traced(made, at).made_in(state), typed)
        }
        Err(wrong) => Array::poisoned(wrong, None, at),
    }
}

fn or_mistake(made: Array, typed: Result<(), Diagnostic>) -> Array {
    match typed {
        Ok(()) => made,
        Err(d) => {
            let ty = ShardedType { ty: made.tensor().clone(), sharding: None };
            Array::poisoned(Mistakes::one(d), Some(ty), made.node().at)
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Future {
    value: Traced,
    op: Op,
}

/// Starts the op that `f` builds from the operands.
///
/// Errors, which the returned array carries: those of [`trace::operands`] and [`explicit::check`].
pub(crate) fn started(
    operands: &[&Array],
    f: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value,
) -> Result<Future, Array> {
    let at = here();
    let loc = context::loc(at);
    let values = trace::operands(operands, at).map_err(|wrong| Array::poisoned(wrong, None, at))?;
    let start = |t: &mut trace::Trace| {
        let mut b = t.builder(&loc);
        let region = b.body.add_region();
        let types: Vec<Type> = values.iter().map(|&v| b.body.ty(v).clone()).collect();
        let args: Vec<Value> = types.into_iter().map(|ty| b.body.add_arg(region, ty, loc.clone())).collect();
        let mut inner = Builder::at(b.body, region, loc.clone());
        let made = f(&mut inner, &args);
        inner.op(Opcode::RegionReturn, [made], Attrs::new(), []);
        let future = Type::Future(vec![b.body.ty(made).clone()]);
        let op = b.op_with_regions(Opcode::AsyncStart, values, Attrs::new(), [region], [future]);
        let value = b.body[op].results[0];
        explicit::check(t, op)?;
        Ok(Future { value: t.traced(value), op })
    };
    trace::with(start).map_err(|d| Array::poisoned(Mistakes::one(d), None, at))
}

/// Returns the result of a started op, or `None` if it was not started in the region that is being built. The result
/// has the states `state`, and the layout that [`explicit::of_done`] sets, or carries its mistake.
pub(crate) fn finished(future: Future, state: ManualType) -> Option<Array> {
    let at = here();
    if !trace::is_open(future.value) {
        return None;
    }
    let (done, typed) = trace::with(|t| {
        let value = t.own_value(future.value)?;
        let mut b = t.builder(&context::loc(at));
        let Type::Future(types) = b.body.ty(value).clone() else { unreachable!("a future is of future type") };
        let made = b.value(Opcode::AsyncDone, [value], Attrs::new(), types[0].clone());
        let typed = explicit::of_done(t, future.op, made);
        Some((t.traced(made), typed))
    })?;
    Some(or_mistake(Array::of_traced(done, at).made_in(Some(state)), typed))
}

pub(crate) fn op(opcode: Opcode, operands: &[&Array], attrs: Attrs, result: TensorType) -> Array {
    op_with(opcode, operands, attrs, vec![], &[result]).pop().expect("one result")
}

/// Ends the innermost region with an op that returns these arrays. If one of them carries mistakes or cannot be used,
/// the op returns nothing.
pub(crate) fn terminate(opcode: Opcode, arrays: &[&Array]) {
    let at = here();
    let values = trace::operands(arrays, at).unwrap_or_default();
    trace::with(|t| t.terminate(opcode.into(), &values, &context::loc(at)));
}

// ── constants
pub(crate) fn constant(literal: Literal) -> Array {
    let ty = TensorType::new(literal.dtype(), literal.shape());
    op(Opcode::Constant, &[], shapes::Constant::attrs(literal), ty)
}

pub(crate) fn integer(n: usize, dtype: DType) -> Array {
    constant(crate::dtype::integer_literal(n as i128, dtype).expect("the type holds it"))
}

pub(crate) fn splat(element: &Literal, shape: &[usize]) -> Array {
    constant(Literal::splat(element.dtype(), shape, element.element_bytes(0)))
}

pub(crate) fn zeros(ty: &TensorType) -> Array {
    constant(Literal::zeros(ty.dtype, ty.shape.clone()))
}

pub(crate) fn iota(ty: TensorType, dim: usize) -> Array {
    op(Opcode::Iota, &[], shapes::Iota::attrs(dim), ty)
}

// ── elementwise
pub(crate) fn unary(opcode: Opcode, x: &Array) -> Array {
    op(opcode, &[x], Attrs::new(), x.tensor().clone())
}

/// Appends an op whose results are real numbers for complex ones.
pub(crate) fn real(opcode: Opcode, x: &Array) -> Array {
    let ty = x.tensor();
    op(opcode, &[x], Attrs::new(), TensorType::new(ty.dtype.real(), ty.shape.clone()))
}

pub(crate) fn binary(opcode: Opcode, a: &Array, b: &Array) -> Array {
    op(opcode, &[a, b], Attrs::new(), a.tensor().clone())
}

pub(crate) fn compare(direction: &str, a: &Array, b: &Array) -> Array {
    let ty = a.tensor();
    let attrs = Compare::attrs(direction, ty.dtype);
    op(Opcode::Compare, &[a, b], attrs, TensorType::new(DType::I1, ty.shape.clone()))
}

/// Compares floats by their total order.
pub(crate) fn compare_total(direction: &str, a: &Array, b: &Array) -> Array {
    let attrs = Compare::total_order_attrs(direction);
    op(Opcode::Compare, &[a, b], attrs, TensorType::new(DType::I1, a.tensor().shape.clone()))
}

pub(crate) fn select(mask: &Array, a: &Array, b: &Array) -> Array {
    op(Opcode::Select, &[mask, a, b], Attrs::new(), a.tensor().clone())
}

pub(crate) fn convert(x: &Array, dtype: DType) -> Array {
    if x.tensor().dtype == dtype {
        return x.clone();
    }
    op(Opcode::Convert, &[x], Attrs::new(), TensorType::new(dtype, x.tensor().shape.clone()))
}

pub(crate) fn bitcast(x: &Array, dtype: DType) -> Array {
    op(Opcode::BitcastConvert, &[x], Attrs::new(), TensorType::new(dtype, x.tensor().shape.clone()))
}

// ── shapes
pub(crate) fn reshape(x: &Array, shape: &[usize]) -> Array {
    if x.tensor().shape == shape {
        return x.clone();
    }
    op(Opcode::Reshape, &[x], Attrs::new(), TensorType::new(x.tensor().dtype, shape))
}

/// Broadcasts `x` to `shape`. Dimension `i` of `x` becomes dimension `dims[i]` of the result. If `x` has this shape
/// already, it is returned unchanged, whatever `dims` are.
pub(crate) fn broadcast_in_dim(x: &Array, shape: &[usize], dims: &[usize]) -> Array {
    if x.tensor().shape == shape {
        return x.clone();
    }
    op(Opcode::BroadcastInDim, &[x], shapes::BroadcastInDim::attrs(dims), TensorType::new(x.tensor().dtype, shape))
}

/// Broadcasts by NumPy's rule: dimensions are matched from the last one, and those of size 1 are repeated. `x` must not
/// have more dimensions than `shape`.
pub(crate) fn broadcast_to(x: &Array, shape: &[usize]) -> Array {
    let rank = x.tensor().rank();
    let dims: Vec<usize> = (shape.len() - rank..shape.len()).collect();
    broadcast_in_dim(x, shape, &dims)
}

/// Broadcasts `x` to `shape`. `x` has all dimensions of `shape` except `reduced`.
pub(crate) fn broadcast_over(x: &Array, shape: &[usize], reduced: &[usize]) -> Array {
    let dims: Vec<usize> = (0..shape.len()).filter(|d| !reduced.contains(d)).collect();
    broadcast_in_dim(x, shape, &dims)
}

pub(crate) fn transpose(x: &Array, order: &[usize]) -> Array {
    if order.iter().enumerate().all(|(i, &d)| i == d) {
        return x.clone();
    }
    let ty = x.tensor();
    let shape: Vec<usize> = order.iter().map(|&d| ty.shape[d]).collect();
    op(Opcode::Transpose, &[x], shapes::Transpose::attrs(order), TensorType::new(ty.dtype, shape))
}

pub(crate) fn reverse(x: &Array, dims: &[usize]) -> Array {
    op(Opcode::Reverse, &[x], shapes::Reverse::attrs(dims), x.tensor().clone())
}

pub(crate) fn concatenate(parts: &[&Array], dim: usize) -> Array {
    let mut ty = parts[0].tensor().clone();
    ty.shape[dim] = parts.iter().fold(0usize, |sum, p| sum.saturating_add(p.tensor().shape[dim]));
    op(Opcode::Concatenate, parts, shapes::Concatenate::attrs(dim), ty)
}

pub(crate) fn pad(x: &Array, value: &Array, by: &[(usize, usize)]) -> Array {
    let (low, high): (Vec<usize>, Vec<usize>) = by.iter().copied().unzip();
    pad_spread(x, value, &low, &high, &vec![0; by.len()])
}

pub(crate) fn pad_spread(x: &Array, value: &Array, low: &[usize], high: &[usize], interior: &[usize]) -> Array {
    let ty = x.tensor();
    let size = |d: usize| {
        let between = ty.shape[d].saturating_sub(1).saturating_mul(interior[d]);
        [between, low[d], high[d]].into_iter().fold(ty.shape[d], usize::saturating_add)
    };
    let shape: Vec<usize> = (0..ty.rank()).map(size).collect();
    let list = |sizes: &[usize]| -> Vec<i64> { sizes.iter().map(|&n| n as i64).collect() };
    let attrs = shapes::Pad::attrs(&list(low), &list(high), &list(interior));
    op(Opcode::Pad, &[x, value], attrs, TensorType::new(ty.dtype, shape))
}

// ── slices
pub(crate) fn slice(x: &Array, start: &[usize], limit: &[usize], strides: &[usize]) -> Array {
    let ty = x.tensor();
    let size = |i: usize| (limit[i] - start[i]).div_ceil(strides[i]);
    let shape: Vec<usize> = (0..ty.rank()).map(size).collect();
    if shape == ty.shape {
        return x.clone();
    }
    let attrs = shapes::Slice::attrs(start, limit, strides);
    op(Opcode::Slice, &[x], attrs, TensorType::new(ty.dtype, shape))
}

/// Returns every `step`-th element of `x` along dimension `dim`, from index `range.start` up to, but not including,
/// `range.end`.
pub(crate) fn slice_dim(x: &Array, dim: usize, range: Range<usize>, step: usize) -> Array {
    let ty = x.tensor();
    let (mut start, mut limit, mut strides) = (vec![0; ty.rank()], ty.shape.clone(), vec![1; ty.rank()]);
    (start[dim], limit[dim], strides[dim]) = (range.start, range.end, step);
    slice(x, &start, &limit, &strides)
}

pub(crate) fn dynamic_slice(x: &Array, start: &[Array], sizes: &[usize]) -> Array {
    let operands: Vec<&Array> = std::iter::once(x).chain(start).collect();
    op(Opcode::DynamicSlice, &operands, shapes::DynamicSlice::attrs(sizes), TensorType::new(x.tensor().dtype, sizes))
}

pub(crate) fn dynamic_update_slice(x: &Array, update: &Array, start: &[Array]) -> Array {
    let operands: Vec<&Array> = [x, update].into_iter().chain(start).collect();
    op(Opcode::DynamicUpdateSlice, &operands, Attrs::new(), x.tensor().clone())
}

// ── contractions and reductions
/// Contracts `a` with `b`. The result has the batch dimensions, then the rest of the left operand, then that of the
/// right one. Sums are rounded to `dtype`.
pub(crate) fn dot_general(a: &Array, b: &Array, dot: &DotDims, dtype: DType) -> Array {
    let (x, y) = (a.tensor(), b.tensor());
    let batch = dot.lhs_batch.iter().map(|&d| x.shape[d]);
    let rest = |ty: &TensorType, batch: &[usize], contract: &[usize]| -> Vec<usize> {
        (0..ty.rank()).filter(|d| !batch.contains(d) && !contract.contains(d)).map(|d| ty.shape[d]).collect()
    };
    let left = rest(x, &dot.lhs_batch, &dot.lhs_contract);
    let right = rest(y, &dot.rhs_batch, &dot.rhs_contract);
    let shape: Vec<usize> = batch.chain(left).chain(right).collect();
    let attrs = DotGeneral::attrs(dot);
    op(Opcode::DotGeneral, &[a, b], attrs, TensorType::new(dtype, shape))
}

/// Multiplies groups of rows: `[m, k], [g, k, n], [g] -> [m, n]`.
pub(crate) fn ragged_dot(a: &Array, b: &Array, sizes: &Array) -> Array {
    let result = TensorType::new(a.tensor().dtype, [a.tensor().shape[0], b.tensor().shape[2]]);
    op(Opcode::RaggedDot, &[a, b, sizes], RaggedDot::row_group_attrs(), result)
}

fn scalar_region(dtypes: &[DType], f: impl FnOnce(&[Array]) -> Array) -> Region {
    region(&dtypes.iter().map(|&d| TensorType::scalar(d)).collect::<Vec<_>>(), |args| vec![f(args)])
}

pub(crate) fn region(args: &[TensorType], f: impl FnOnce(&[Array]) -> Vec<Array>) -> Region {
    let at = here();
    let args = trace::with(|t| t.open_region(args, &context::loc(at)));
    let args: Vec<Array> = args.into_iter().map(|t| Array::of_traced(t, at)).collect();
    let results = f(&args);
    terminate(Opcode::RegionReturn, &results.iter().collect::<Vec<_>>());
    trace::with(|t| t.close_region())
}

/// Reduces `x` over `dims` with `combine`, an elementwise binary op. `identity` has one element. Returns `x` if there
/// are no `dims`.
pub(crate) fn reduce(x: &Array, combine: Opcode, identity: &Literal, dims: &[usize]) -> Array {
    if dims.is_empty() {
        return x.clone();
    }
    let ty = x.tensor().clone();
    let init = splat(identity, &[]);
    let body = scalar_region(&[ty.dtype, ty.dtype], |a| binary(combine, &a[0], &a[1]));
    let shape: Vec<usize> = (0..ty.rank()).filter(|d| !dims.contains(d)).map(|d| ty.shape[d]).collect();
    op_with(Opcode::Reduce, &[x, &init], Reduce::attrs(dims), vec![body], &[TensorType::new(ty.dtype, shape)])
        .pop()
        .expect("one result")
}

/// Reduces several arrays of one shape at once over `dims`. `f` gets an element of each array from the left side, and
/// one of each from the right side, and returns the combined elements.
pub(crate) fn reduce_many(
    xs: &[&Array],
    identities: &[Literal],
    dims: &[usize],
    f: impl FnOnce(&[Array], &[Array]) -> Vec<Array>,
) -> Vec<Array> {
    let types: Vec<TensorType> = xs.iter().map(|x| x.tensor().clone()).collect();
    let inits: Vec<Array> = identities.iter().map(|l| splat(l, &[])).collect();
    let scalars: Vec<TensorType> = types.iter().chain(&types).map(|t| TensorType::scalar(t.dtype)).collect();
    let body = region(&scalars, |args| f(&args[..xs.len()], &args[xs.len()..]));
    let results: Vec<TensorType> = types
        .iter()
        .map(|t| {
            let rest: Vec<usize> = (0..t.rank()).filter(|d| !dims.contains(d)).map(|d| t.shape[d]).collect();
            TensorType::new(t.dtype, rest)
        })
        .collect();
    let operands: Vec<&Array> = xs.iter().copied().chain(&inits).collect();
    op_with(Opcode::Reduce, &operands, Reduce::attrs(dims), vec![body], &results)
}

/// Combines each element with those before it along `dim`. `identity` has one element.
pub(crate) fn cumulative(x: &Array, combine: Opcode, identity: &Literal, dim: usize) -> Array {
    let ty = x.tensor().clone();
    let init = splat(identity, &[]);
    let body = scalar_region(&[ty.dtype, ty.dtype], |a| binary(combine, &a[0], &a[1]));
    let window: Vec<usize> = (0..ty.rank()).map(|d| if d == dim { ty.shape[d].max(1) } else { 1 }).collect();
    let padding: Vec<(i64, i64)> =
        (0..ty.rank()).map(|d| (if d == dim { window[d] as i64 - 1 } else { 0 }, 0)).collect();
    let attrs = ReduceWindow::attrs(&window, &padding);
    op_with(Opcode::ReduceWindow, &[x, &init], attrs, vec![body], &[ty]).pop().expect("one result")
}

/// How windows move over an array, with an entry for each dimension, or for each spatial one for [`convolution`].
pub(crate) struct Window {
    pub strides: Vec<usize>,
    pub padding: Vec<(i64, i64)>,
    pub input_dilation: Vec<usize>,
    pub window_dilation: Vec<usize>,
}

impl Window {
    fn padding(&self) -> Attr {
        let rows: Vec<i64> = self.padding.iter().flat_map(|&(low, high)| [low, high]).collect();
        Attr::Dense(Literal::new(vec![self.padding.len(), 2], &rows))
    }

    /// Returns the number of windows of size `window` along dimension `d`, in which the array has size `size`.
    fn count(&self, d: usize, size: usize, window: usize) -> usize {
        let (low, high) = self.padding[d];
        let size = spread(size, self.input_dilation[d]) + i128::from(low) + i128::from(high);
        let room = size - spread(window, self.window_dilation[d]);
        if room < 0 { 0 } else { (room / self.strides[d] as i128 + 1) as usize }
    }
}

/// Returns the size of `n` elements with `by - 1` holes between two of them. `by` is at most `i32::MAX`, so the size
/// fits.
pub(crate) fn spread(n: usize, by: usize) -> i128 {
    n.saturating_sub(1) as i128 * by as i128 + n.min(1) as i128
}

pub(crate) fn reduce_window(x: &Array, combine: Opcode, identity: &Literal, sizes: &[usize], window: &Window) -> Array {
    let ty = x.tensor().clone();
    let init = splat(identity, &[]);
    let body = scalar_region(&[ty.dtype, ty.dtype], |a| binary(combine, &a[0], &a[1]));
    let shape: Vec<usize> = (0..ty.rank()).map(|d| window.count(d, ty.shape[d], sizes[d])).collect();
    let attrs = ReduceWindow::attrs(sizes, &window.padding)
        .with("window_strides", Attr::sizes(&window.strides))
        .with("window_dilations", Attr::sizes(&window.window_dilation));
    let result = TensorType::new(ty.dtype, shape);
    op_with(Opcode::ReduceWindow, &[x, &init], attrs, vec![body], &[result]).pop().expect("one result")
}

/// Convolves `[batch, spatial.., features]` with `[spatial.., features / groups, results]`. `window` has an entry for
/// each spatial dimension.
pub(crate) fn convolution(x: &Array, kernel: &Array, window: &Window, groups: usize, result: TensorType) -> Array {
    let spatial = window.strides.len();
    let list = |from: usize| Attr::sizes(&(from..from + spatial).collect::<Vec<_>>());
    let at = |dim: usize| Attr::int(dim as i64);
    let fields = [
        ("input_batch_dimension", at(0)),
        ("input_feature_dimension", at(spatial + 1)),
        ("input_spatial_dimensions", list(1)),
        ("kernel_input_feature_dimension", at(spatial)),
        ("kernel_output_feature_dimension", at(spatial + 1)),
        ("kernel_spatial_dimensions", list(0)),
        ("output_batch_dimension", at(0)),
        ("output_feature_dimension", at(spatial + 1)),
        ("output_spatial_dimensions", list(1)),
    ];
    let attrs = Attrs::new()
        .with("window_strides", Attr::sizes(&window.strides))
        .with("padding", window.padding())
        .with("lhs_dilation", Attr::sizes(&window.input_dilation))
        .with("rhs_dilation", Attr::sizes(&window.window_dilation))
        .with("dimension_numbers", Attr::Record { name: "stablehlo.conv".into(), fields: fields.into_iter().collect() })
        .with("feature_group_count", at(groups))
        .with("batch_group_count", at(1));
    op(Opcode::Convolution, &[x, kernel], attrs, result)
}

/// Sorts arrays of one shape together along `dim`, stably. `before` gets two elements of each array, `a0, b0, a1, b1,
/// …`, and returns true if `a0, a1, …` come before `b0, b1, …`.
pub(crate) fn sort(xs: &[&Array], dim: usize, before: impl FnOnce(&[Array]) -> Array) -> Vec<Array> {
    let types: Vec<TensorType> = xs.iter().map(|x| x.tensor().clone()).collect();
    let dtypes: Vec<DType> = types.iter().flat_map(|t| [t.dtype, t.dtype]).collect();
    let body = scalar_region(&dtypes, before);
    op_with(Opcode::Sort, xs, Sort::stable_attrs(dim), vec![body], &types)
}

// ── indexing by arrays
pub(crate) fn gather(x: &Array, indices: &Array, w: &IndexDims, sizes: &[usize], result: TensorType) -> Array {
    let attrs = w.gather_attrs(sizes);
    op(Opcode::Gather, &[x, indices], attrs, result)
}

/// Scatters updates into `x`. `combine` is an elementwise binary op, or `None` if the update replaces the element.
pub(crate) fn scatter(x: &Array, indices: &Array, updates: &Array, w: &IndexDims, combine: Option<Opcode>) -> Array {
    let ty = x.tensor().clone();
    let attrs = w.scatter_attrs();
    let body = scalar_region(&[ty.dtype, ty.dtype], |a| match combine {
        Some(combine) => binary(combine, &a[0], &a[1]),
        None => a[1].clone(),
    });
    op_with(Opcode::Scatter, &[x, indices, updates], attrs, vec![body], &[ty]).pop().expect("one result")
}

// ── layouts
pub(crate) fn constrain(x: &Array, sharding: &Sharding) -> Array {
    laid_out(&op(Opcode::ShardingConstraint, &[x], Attrs::new(), x.tensor().clone()), sharding)
}

/// Sets the layout of the result of an op that was just made, and returns the result with it. Returns a mistake
/// unchanged.
pub(crate) fn laid_out(out: &Array, sharding: &Sharding) -> Array {
    match out.traced() {
        Some(t) => {
            trace::with(|trace| trace.set_sharding(t, sharding.clone()));
            Array::of_traced(t, here()).in_state(out.node().manual.clone())
        }
        None => out.clone(),
    }
}
