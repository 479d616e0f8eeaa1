//! `stablehlo.reduce`: combines the elements along some dimensions with a region.

use crate::derivative::{CotangentCx, TangentCx};
use crate::expansion::ExpandCx;
use crate::facts::*;
use crate::schema::*;
use crate::{
    Opcode, check, check::Check, eval, eval::Numeric, make, make_collective, product, promote, reducer, shapes,
};
use shardwise_base::{AxisRef, Bool8, Complex64, DType, Data, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_base::{Mesh, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, OpView, Type, Value};
use shardwise_mathfn::order;
use shardwise_sharding::{FactorSpec, RuleBuilder};
use std::sync::Arc;

/// The `reduce` op: its operands are `n` inputs of one shape, then their `n` initial values. The region combines two
/// elements of each input.
pub struct Reduce;

/// Returns the reduction that a `reduce` of one input computes, if it is a known one that is defined for its elements.
/// Returns `None` otherwise.
fn kind_of(op: &OpView<'_>) -> Option<ReduceKind> {
    match op.regions() {
        [region] if op.operands().len() == 2 => {
            let kind = reducer::reduce_kind(op.module, op.body, *region);
            kind.filter(|&kind| eval::can_combine(kind, op.operand_tensor(0).dtype))
        }
        _ => None,
    }
}

/// Returns the known reduction by which each result is combined from its own input, if it is the same for all. Returns
/// `None` otherwise.
fn common_kind(op: &OpView<'_>) -> Option<ReduceKind> {
    let [region] = op.regions() else { return None };
    let mut kinds = (0..op.operands().len() / 2).map(|i| reducer::reduce_kind_of(op.module, op.body, *region, i));
    let first = kinds.next()??;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

/// Returns the [common kind](common_kind) if the results of parts of the inputs can be combined by it. Returns `None`
/// otherwise, and if the reducer takes wider elements than the inputs have.
fn partial_kind(op: &OpView<'_>) -> Option<ReduceKind> {
    let has_neutral =
        |kind: &ReduceKind| (0..op.operands().len() / 2).all(|i| kind.neutral(op.operand_tensor(i).dtype).is_some());
    common_kind(op).filter(|kind| !promote::is_promoted(op) && has_neutral(kind))
}

fn kept_shape(shape: &[usize], dims: &[usize]) -> Vec<usize> {
    (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect()
}

/// Returns the element types of the region's results if it is a reducer of `n` values: its `n` results, and each half
/// of its `2 n` arguments, are scalars of these types. Returns `None` otherwise.
fn body_dtypes(op: &OpView<'_>, n: usize) -> Option<Vec<DType>> {
    let [region] = op.regions() else { return None };
    let scalar = |v: &Value| op.body.ty(*v).as_tensor().filter(|t| t.rank() == 0).map(|t| t.dtype);
    let args: Option<Vec<DType>> = op.body[*region].args.iter().map(scalar).collect();
    let results: Option<Vec<DType>> = op.body.region_results(*region).iter().map(scalar).collect();
    let (args, results) = (args?, results?);
    (args.len() == 2 * n && results.len() == n && args[..n] == results && args[n..] == results).then_some(results)
}

impl Reduce {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("dimensions", Some("reduce_i3"), AttrKind::Ints)],
        operands: Operands::List,
        results: ResultLabels::of("reduce_c7", "reduce_c8"),
        on_quantized: OnQuantized::Any,
        syntax: Syntax::custom(&crate::syntax::reduce::ReduceForm),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the dimensions that are reduced.
    pub fn dims(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("dimensions")
    }

    /// Builds the attributes of a reduction of these dimensions.
    pub fn attrs(dims: &[usize]) -> Attrs {
        Attrs::new().with("dimensions", Attr::sizes(dims))
    }
}

/// Returns the index of the input that counts positions, if the op finds the position of an element, as JAX's `argmax`
/// does. The elements of such an input are integers that are known to be their own positions along the only reduced
/// dimension, in a type that has all these numbers, and the region selects one element of each input, all at one
/// position. Returns the first if there are several such inputs, and `None` for other ops.
fn counter(op: &OpView<'_>) -> Option<usize> {
    let &[dim] = &Reduce::dims(op)[..] else { return None };
    let fits = |dtype: DType| dtype.is_integer() && op.operand_shape(0)[dim] as i128 <= dtype.integer_range().1 + 1;
    let is_counter = |i: &usize| fits(op.operand_tensor(*i).dtype) && counts(op, *i, dim);
    let found = (0..op.results().len()).find(is_counter);
    found.filter(|_| selects_by_one_predicate(op) || reducer::arg_reduce(op).is_some())
}

/// Returns true if one value decides whether the results of the only region are all arguments of the first half, or all
/// arguments of the second half.
fn selects_by_one_predicate(op: &OpView<'_>) -> bool {
    let (&[region], n) = (op.regions(), op.results().len()) else { return false };
    let args = &op.body[region].args;
    let choice = |i: usize| {
        let select = op.at(op.body.def_op(op.body.region_results(region)[i])?);
        let &[predicate, on_true, on_false] = select.operands() else { return None };
        let pair = [on_true, on_false];
        let is_first = pair == [args[i], args[n + i]];
        let is_choice = is_first || pair == [args[n + i], args[i]];
        (Opcode::of_view(&select) == Opcode::Select && is_choice).then_some((predicate, is_first))
    };
    let first = choice(0);
    first.is_some() && (1..n).all(|i| choice(i) == first)
}

/// Returns true if the elements of operand `i` are known to be their positions along `dim`.
fn counts(op: &OpView<'_>, i: usize, dim: usize) -> bool {
    let Some(def) = op.operand_def(i) else { return false };
    match Opcode::of_view(&def) {
        Opcode::Iota => shapes::Iota::dim(&def) == Some(dim),
        Opcode::BroadcastInDim => {
            let from = shapes::BroadcastInDim::dims(&def).iter().position(|&d| d == dim);
            from.is_some_and(|d| def.operand_shape(0)[d] == def.result_shape(0)[dim] && counts(&def, 0, d))
        }
        _ => false,
    }
}

/// Returns true if an op that finds the position of an element, with the counter `counter`, never returns its initial
/// values, unless an element has the same value: the largest or smallest value is found, the first value is the least or
/// greatest one, and the first position is not before that of the first element.
fn never_keeps_inits(op: &OpView<'_>, counter: usize) -> bool {
    let Some(found) = reducer::arg_reduce(op) else { return false };
    let kind = if found.is_max { ReduceKind::Max } else { ReduceKind::Min };
    let first = shapes::constant_operand(op, 3).filter(|_| counter == 1);
    is_identity(op, 2, kind) && first.is_some_and(|first| first.get_f64(0) >= 0.0)
}

/// Builds the tangents of an op that finds the position of an element: those of the elements at this position, or those
/// of the initial values if these are the results.
fn counted_tangents(cx: &mut TangentCx<'_, '_, '_>, counter: usize) -> Vec<Option<Value>> {
    let (dim, n) = (Reduce::dims(&cx.op)[0], cx.results.len());
    let shape = cx.op.result_shape(0);
    let inits: Vec<Option<Value>> =
        (n..2 * n).map(|i| cx.tangents[i].map(|t| make::broadcast_scalar(cx.b, t, shape))).collect();
    if cx.op.operand_shape(0)[dim] == 0 {
        return inits;
    }
    let mut line = cx.op.operand_shape(0).to_vec();
    line[dim] = 1;
    let position = make::reshape(cx.b, cx.results[counter], &line);
    let taken = |b: &mut Builder<'_>, x: Value| {
        let element = make::take_along(b, x, position, dim);
        make::reshape(b, element, shape)
    };
    let elements: Vec<Option<Value>> = (0..n).map(|i| cx.tangents[i].map(|t| taken(cx.b, t))).collect();
    if never_keeps_inits(&cx.op, counter) {
        return elements;
    }
    // The results are either the elements at one position or the initial values.
    let mut is_element = None;
    for i in 0..n {
        let x = taken(cx.b, cx.operands[i]);
        let same = is_same(cx.b, x, cx.results[i]);
        is_element = Some(is_element.map_or(same, |all| make::and(cx.b, all, same)));
    }
    let is_element = is_element.expect("a counter");
    let chosen = elements.into_iter().zip(inits).enumerate().map(|(i, (element, init))| {
        if element.is_none() && init.is_none() {
            return None;
        }
        let [element, init] = [element, init].map(|t| t.unwrap_or_else(|| make::zeros(cx.b, cx.op.result_tensor(i))));
        Some(make::select(cx.b, is_element, element, init))
    });
    chosen.collect()
}

/// Builds the comparison of two arrays of one type, in which NaNs are equal to each other.
fn is_same(b: &mut Builder<'_>, x: Value, y: Value) -> Value {
    let is_equal = make::compare(b, "EQ", x, y);
    let dtype = make::type_of(b, x).dtype;
    if !dtype.is_float() && !dtype.is_complex() {
        return is_equal;
    }
    let [x, y] = [x, y].map(|v| make::compare(b, "NE", v, v));
    let are_nan = make::and(b, x, y);
    make::or(b, is_equal, are_nan)
}

/// Builds the tangent of a maximum or minimum: the mean of the tangents of the elements that are equal to it. Returns
/// `None` if it is zero, as that of no elements is.
fn chosen_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (dims, x) = (Reduce::dims(&cx.op), cx.operands[0]);
    let shape = make::type_of(cx.b, x).shape.clone();
    let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).collect();
    let tangent = cx.tangents[0].filter(|_| !shape.contains(&0))?;
    let best = make::broadcast_in_dim(cx.b, cx.results[0], &shape, &kept);
    let is_best = make::compare(cx.b, "EQ", x, best);
    let weight = make::convert(cx.b, is_best, cx.op.operand_tensor(0).dtype);
    let count = make::reduce(cx.b, ReduceKind::Add, weight, &dims);
    let weighted = make::multiply(cx.b, tangent, weight);
    let sum = make::reduce(cx.b, ReduceKind::Add, weighted, &dims);
    Some(make::divide(cx.b, sum, count))
}

/// Builds the tangent of a product that starts with one: the sum of the tangents, each times all other factors. Returns
/// `None` if it is zero.
fn product_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let mut dims = Reduce::dims(&cx.op);
    dims.sort_unstable();
    let tangent = cx.tangents[0]?;
    let others = product::of_others(cx.b, cx.operands[0], &dims);
    let summands = make::multiply(cx.b, tangent, others);
    Some(make::reduce(cx.b, ReduceKind::Add, summands, &dims))
}

fn expanded(cx: &mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> {
    let (inputs, inits) = cx.operands.split_at(cx.op.results().len());
    cx.reduced(cx.op.regions()[0], inputs, inits, &Reduce::dims(&cx.op))
}

impl Facts for Reduce {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        if self.linear(op) == Linear::Jointly {
            return Derivative::Linear;
        }
        if let Some(counter) = counter(op).filter(|_| !promote::is_promoted(op)) {
            return Derivative::by(move |cx| counted_tangents(cx, counter));
        }
        match common_kind(op).filter(|_| op.results().len() == 1 && !promote::is_promoted(op)) {
            Some(kind @ (ReduceKind::Max | ReduceKind::Min)) if is_identity(op, 1, kind) => {
                Derivative::by(|cx| vec![chosen_tangent(cx)])
            }
            Some(ReduceKind::Mul) if is_identity(op, 1, ReduceKind::Mul) => {
                Derivative::by(|cx| vec![product_tangent(cx)])
            }
            _ => Derivative::expanded(expanded),
        }
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let dims = Reduce::dims(op);
        Transposed::by(move |cx| {
            let count = cx.op.results().len();
            let input = |cx: &mut CotangentCx<'_, '_, '_>, i: usize| {
                let shape = &cx.operand_tensor(i % count).shape;
                let kept: Vec<usize> = (0..shape.len()).filter(|d| !dims.contains(d)).collect();
                let ct = cx.cotangents[i % count]?;
                match (cx.is_linear(i), i < count) {
                    (false, _) => None,
                    (true, true) => Some(make::broadcast_in_dim(cx.b, ct, shape, &kept).into()),
                    (true, false) => Some(unbroadcast(cx.b, ct, &[]).into()),
                }
            };
            (0..2 * count).map(|i| input(cx, i)).collect()
        })
        .if_linear(self.linear(op))
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let count = op.results().len();
        match mapped[count..].contains(&true) {
            false => Batched::leading_of(op, |i| i < count, Reduce::attrs(&further(&Reduce::dims(op)))),
            true => Batched::expanded(expanded),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let (operands, dims) = (check::all_tensors(op)?, check::sizes(op, "dimensions")?);
        let mut c = Check::new(op);
        let is_even = !operands.is_empty() && operands.len().is_multiple_of(2);
        c.that("reduce_c3", is_even, "there must be as many initial values as inputs, and at least one").so_far()?;
        let (inputs, inits) = operands.split_at(operands.len() / 2);
        let shape = &inputs[0].shape;
        let same_dtypes = inputs.iter().zip(inits).all(|(x, init)| x.dtype == init.dtype);
        let dtypes = body_dtypes(op, inputs.len());
        c.that("reduce_c1", inputs.iter().all(|x| x.shape == *shape), "the inputs must have the same shape")
            .that("reduce_c2", same_dtypes, "each initial value must have its input's element type")
            .that("reduce_i2", inits.iter().all(|init| init.rank() == 0), "the initial values must be scalars")
            .that("reduce_c4", check::are_dims(&dims, shape.len()), "`dimensions` must be dimensions of the inputs")
            .that("reduce_c5", check::is_unique(&dims), "`dimensions` must not name a dimension twice")
            .that(
                "reduce_c6",
                dtypes.is_some(),
                "the region must combine two scalars for each input into one of the same type",
            );
        let dtypes = dtypes.unwrap_or_default();
        c.promotes("reduce_c6", inputs.iter().map(|x| x.dtype).zip(dtypes.iter().copied())).so_far()?;
        let kept = kept_shape(shape, &dims);
        c.give(dtypes.into_iter().map(|dtype| Type::tensor(dtype, kept.clone())))
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, dims, n) = (op.operand_shape(0), op.sizes("dimensions"), op.results().len());
        let ranks = vec![x.len(); n].into_iter().chain(vec![0; n]);
        let mut rule = RuleBuilder::new(ranks, vec![op.result_shape(0).len(); n]);
        let mut kept = 0;
        for (d, &size) in x.iter().enumerate() {
            let inputs = [vec![Some(d); n], vec![None; n]].concat();
            if dims.contains(&d) {
                rule.add_factor(&inputs, &vec![None; n], FactorSpec::reduction(size));
            } else {
                rule.add_factor(&inputs, &vec![Some(kept); n], FactorSpec::pass_through(size));
                kept += 1;
            }
        }
        RuleFact::Rule(rule.build())
    }

    fn combine(&self, op: &OpView<'_>) -> Combine {
        match partial_kind(op) {
            Some(kind) => Combine::With(kind),
            None if promote::is_promoted(op) => Combine::No("its operands are not yet converted to what it reduces"),
            None if reducer::repeatable_inits(op).is_some() => Combine::Gather,
            None => Combine::No(
                "its region is no known reducer with a neutral element, and it is not known that its initial values \
                 may be repeated",
            ),
        }
    }

    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal> {
        match self.combine(op) {
            Combine::With(kind) if index < op.results().len() => kind.neutral(op.operand_tensor(index).dtype),
            Combine::With(_) => None,
            Combine::Gather => reducer::repeatable_inits(op)?.into_iter().nth(index),
            Combine::No(_) => None,
        }
    }

    /// Counts the initial value on the first device along the reduced axes only, unless it may be combined repeatedly.
    /// Partial results of an unknown reducer are gathered and reduced again.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let dims = cx.op.sizes("dimensions");
        let split = cx.operand_shardings[0].as_ref().map(|s| (s.mesh.clone(), axes_of(s, &dims)));
        let Some((mesh, axes)) = split.filter(|(_, axes)| !axes.is_empty()) else { return Ok(cx.same_op()) };
        if self.combine(&cx.op) == Combine::Gather {
            return Ok(reduce_again(cx, &mesh, &axes));
        }
        let Some(kind) = partial_kind(&cx.op) else { return Ok(cx.same_op()) };
        let n = cx.operands.len() / 2;
        if kind.is_idempotent() || (n..2 * n).all(|i| is_identity(&cx.op, i, kind)) {
            return Ok(cx.same_op());
        }
        let b = &mut *cx.builder;
        let (index, zero) = (make::axis_index(b, &mesh, &axes), make::number(b, DType::I32, 0));
        let is_first = make::compare(b, "EQ", index, zero);
        let mut operands = cx.operands[..n].to_vec();
        for (i, &init) in cx.operands.iter().enumerate().skip(n) {
            let neutral = kind.neutral(cx.op.operand_tensor(i).dtype).expect("the kind has one");
            let neutral = make::constant(b, neutral);
            operands.push(make::select(b, is_first, init, neutral));
        }
        let (regions, types) = (std::mem::take(&mut cx.regions), cx.result_types.clone());
        let op = b.op_with_regions(Opcode::Reduce, operands, cx.op.attrs().clone(), regions, types);
        Ok(b.body[op].results.to_vec())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let dims = op.sizes("dimensions");
        match kind_of(op) {
            Some(kind) => {
                let y = reduce(kind, &x[0], &x[1], &dims).expect("`kind_of` checks that the elements can be combined");
                Ok(vec![y])
            }
            None => reduce_by_region(op, x, &dims, regions),
        }
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost { flops: op.operand_tensor(0).size() as f64, ..Cost::streams(op, 0.0) }
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        reducer::linear_if_sum(op, common_kind(op), Linear::Jointly)
    }

    fn partial_result(&self, op: &OpView<'_>) -> PartialResult {
        let count = op.operands().len();
        PartialResult::OfSlices { once: count / 2..count }
    }

    answer!(usual but partial_result, reducer, eval_copies);
    answer!(reducer = reducer::OF_EACH);
    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);
    answer!(explicit = by_rule);
    answer!(example = "func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}");
}

/// Builds the reduction of the device's part, gathers the partial results over `axes` and reduces them with the same
/// region.
fn reduce_again(cx: &mut LocalizeCx<'_, '_>, mesh: &Arc<Mesh>, axes: &[AxisRef]) -> Vec<Value> {
    let reason = cx.op.data().reason.clone();
    let inits = cx.operands[cx.operands.len() / 2..].to_vec();
    let again = reducer::copy_region(cx.builder, cx.regions[0]);
    let types = cx.result_types.clone();
    let partial = cx.same_op();
    let b = &mut *cx.builder;
    let mut operands = vec![];
    for v in partial {
        let shape = [&[1], b.body.ty(v).shape()].concat();
        let row = make::reshape(b, v, &shape);
        let all = make_collective::all_gather(b, row, 0, mesh, axes);
        let op = b.body.def_op(all).expect("made just now");
        b.body.op_mut(op).reason = reason.clone();
        operands.push(all);
    }
    operands.extend(inits);
    let op = b.op_with_regions(Opcode::Reduce, operands, Reduce::attrs(&[0]), [again], types);
    b.body[op].results.to_vec()
}

fn axes_of(sharding: &Sharding, dims: &[usize]) -> Vec<AxisRef> {
    dims.iter().flat_map(|&d| sharding.dims[d].axes.iter().copied()).collect()
}

/// Returns true if operand `i`, an initial value, is a constant that is equal to the identity of `kind`, both rounded
/// to `f64`. The imaginary part of a complex constant must be 0.
fn is_identity(op: &OpView<'_>, i: usize, kind: ReduceKind) -> bool {
    let value = shapes::constant_operand(op, i).filter(|v| !v.dtype().is_complex() || v.imaginary_f64(0) == 0.0);
    let identity = kind.identity(op.operand_tensor(i).dtype);
    // The values are compared as numbers: a sum may start from -0 too.
    value.is_some_and(|v| v.get_f64(0) == identity.get_f64(0))
}

/// The positions in the input of the elements that each result element combines: rows, as `shardwise_mathfn::order`
/// defines them.
struct Rows {
    /// The start of each row of a result element, counted from the first element. Empty if the input has no elements.
    starts: Data<usize>,
    len: usize,
    /// The position of the first element that each result element combines, or 0 if the input has no elements.
    bases: Data<usize>,
}

/// Returns the offsets, in row-major order, of all elements of a block with these sizes and strides.
fn offsets(dims: &[(usize, usize)]) -> Data<usize> {
    dims.iter().fold(Data::from_fn(1, |_| 0), |outer, &(size, stride)| {
        let inner = |&base: &usize| (0..size).map(move |i| base + i * stride);
        Data::collect(outer.len() * size, outer.iter().flat_map(inner))
    })
}

impl Rows {
    /// Returns the rows of a reduction whose result has elements. If the input has none, there are no rows.
    fn new(shape: &[usize], dims: &[usize]) -> Rows {
        if shape.contains(&0) {
            let count = kept_shape(shape, dims).iter().product();
            return Rows { starts: Data::from_fn(0, |i| i), len: 0, bases: Data::from_fn(count, |_| 0) };
        }
        let strides = eval::row_major(shape);
        let all: Vec<(bool, usize, usize)> = (0..shape.len())
            .filter(|&d| shape[d] != 1)
            .map(|d| (dims.contains(&d), shape[d], strides[d] as usize))
            .collect();
        // The innermost reduced dimensions are one row, because they are contiguous.
        let inner = all.iter().rev().take_while(|(is_reduced, ..)| *is_reduced).count();
        let (outer, row) = all.split_at(all.len() - inner);
        let pick = |reduced: bool| -> Vec<(usize, usize)> {
            outer.iter().filter(|d| d.0 == reduced).map(|d| (d.1, d.2)).collect()
        };
        Rows { starts: offsets(&pick(true)), len: row.iter().map(|d| d.1).product(), bases: offsets(&pick(false)) }
    }
}

/// An element type in which reductions are computed.
trait Folded: Numeric {
    const LANES: usize;
    fn combine(kind: ReduceKind) -> Option<fn(Self, Self) -> Self>;
}

macro_rules! folded {
    ($($t:ty, $lanes:ident: $($kind:ident $f:expr),*;)*) => {$(
        impl Folded for $t {
            const LANES: usize = order::$lanes;
            fn combine(kind: ReduceKind) -> Option<fn($t, $t) -> $t> {
                match kind {
                    $(ReduceKind::$kind => Some($f),)*
                    #[allow(unreachable_patterns, reason = "types with all reducers have no others")]
                    _ => None,
                }
            }
        }
    )*};
}
folded! {
    f32, LANES_32: Add |a, b| a + b, Mul |a, b| a * b, Max shardwise_mathfn::max_f32, Min shardwise_mathfn::min_f32;
    f64, LANES_64: Add |a, b| a + b, Mul |a, b| a * b, Max shardwise_mathfn::max_f64, Min shardwise_mathfn::min_f64;
    i64, LANES_64: Add i64::wrapping_add, Mul i64::wrapping_mul, Max i64::max, Min i64::min, And |a, b| a & b, Or |a, b| a | b;
    u64, LANES_64: Add u64::wrapping_add, Mul u64::wrapping_mul, Max u64::max, Min u64::min, And |a, b| a & b, Or |a, b| a | b;
    Bool8, LANES_32: Add |a, b| Bool8(a.0 | b.0), Mul |a, b| Bool8(a.0 & b.0), Max |a, b| Bool8(a.0 | b.0),
        Min |a, b| Bool8(a.0 & b.0), And |a, b| Bool8(a.0 & b.0), Or |a, b| Bool8(a.0 | b.0);
    Complex64, LANES_64: Add |a, b| a + b, Mul |a, b| a * b;
}

/// Reduces `x` along `dims` in the order that `shardwise_mathfn::order` defines, and combines `init` with each total.
/// Returns `None` if the reduction is not defined for this type.
pub(crate) fn reduce(kind: ReduceKind, x: &Literal, init: &Literal, dims: &[usize]) -> Option<Literal> {
    match x.dtype() {
        DType::F64 => reduce_in::<f64>(kind, x, init, dims),
        d if d.is_float() => reduce_in::<f32>(kind, x, init, dims),
        DType::C64 | DType::C128 => reduce_in::<Complex64>(kind, x, init, dims),
        DType::I1 => reduce_in::<Bool8>(kind, x, init, dims),
        d if d.is_signed() => reduce_in::<i64>(kind, x, init, dims),
        _ => reduce_in::<u64>(kind, x, init, dims),
    }
}

fn reduce_in<A: Folded>(kind: ReduceKind, x: &Literal, init: &Literal, dims: &[usize]) -> Option<Literal> {
    let combine = A::combine(kind)?;
    let kept = kept_shape(x.shape(), dims);
    if kept.contains(&0) {
        return Some(Literal::zeros(x.dtype(), kept));
    }
    let rows = Rows::new(x.shape(), dims);
    let neutral = kind.neutral(A::DTYPE).unwrap_or_else(|| kind.identity(A::DTYPE));
    let [identity, start] = [&neutral, init].map(|one| eval::convert(one, A::DTYPE).get::<A>(0));
    let wide = eval::convert(&x.to_dense(), A::DTYPE);
    let elements = wide.as_slice::<A>();
    let one = |&base: &usize| {
        let get = |i: usize| elements[base + rows.starts[i / rows.len] + i % rows.len];
        let total = order::fold(rows.starts.len(), rows.len, A::LANES, identity, get, combine);
        total.map_or(start, |t| combine(start, t))
    };
    let out = Literal::from_fn(kept, |i| one(&rows.bases[i]));
    Some(eval::convert(&out, x.dtype()))
}

fn reduce_by_region(
    op: &OpView<'_>,
    x: &[Literal],
    dims: &[usize],
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, EvalError> {
    let (inputs, inits) = x.split_at(x.len() / 2);
    let types = (0..inputs.len()).map(|i| op.result_tensor(i));
    if op.result_shape(0).contains(&0) {
        return Ok(types.map(|t| Literal::zeros(t.dtype, &t.shape[..])).collect());
    }
    let rows = Rows::new(inputs[0].shape(), dims);
    let mut out: Vec<LiteralWriter> = types.map(|t| LiteralWriter::new(t.dtype, &t.shape)).collect();
    for base in rows.bases.iter() {
        let mut totals: Vec<Literal> = inits.iter().map(Literal::to_dense).collect();
        for at in rows.starts.iter().flat_map(|start| (0..rows.len).map(move |i| base + start + i)) {
            totals.extend(inputs.iter().map(|x| x.element(at)));
            totals = regions.region(op.regions()[0], totals)?;
        }
        totals.iter().zip(&mut out).for_each(|(total, out)| out.push(total.element_bytes(0)));
    }
    Ok(out.into_iter().map(LiteralWriter::finish).collect())
}
