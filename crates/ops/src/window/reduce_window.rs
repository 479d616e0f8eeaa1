//! `reduce_window`: combines the elements of each window. Padding and holes count as the initial value.
//!
//! Elements are combined in row-major order of the window, starting from the initial value. If there is one input and
//! the reduction is a known one, floats of 16 bits and less are combined in f32 and rounded once.

use super::running::Running;
use super::{
    WindowDim, WindowLabels, before_paddings, for_each_element, padded_by_windows, places, read_window,
    select_and_gather, verified_window, window_attrs, with_window,
};
use crate::check::{Check, MANY, counted_tensors, types_of};
use crate::derivative::{CotangentCx, TangentCx};
use crate::eval;
use crate::expansion::ExpandCx;
use crate::facts::*;
use crate::schema::*;
use crate::shapes::known_operand;
use crate::{Opcode, index, make, product, promote, reducer};
use shardwise_base::{Data, Diagnostic, Diagnostics, Literal, LiteralWriter};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct ReduceWindow;

pub(super) const NAMES: [&str; 4] = ["window_dimensions", "window_strides", "base_dilations", "window_dilations"];

const LABELS: WindowLabels = WindowLabels {
    sizes: ["reduce_window_c4", "reduce_window_c5"],
    strides: ["reduce_window_c6", "reduce_window_c7"],
    base_dilations: ["reduce_window_c8", "reduce_window_c9"],
    dilations: ["reduce_window_c10", "reduce_window_c11"],
    padding: "reduce_window_c12",
};

/// Returns how the window moves along each dimension.
pub fn window(op: &OpView<'_>) -> Vec<WindowDim> {
    verified_window(op, NAMES, None, op.operand_shape(0).len())
}

fn arity(op: &OpView<'_>) -> usize {
    op.operands().len() / 2
}

fn unequal_results(_: usize, given: &[Type], _: &[Type]) -> Option<&'static str> {
    given.iter().any(|t| t.shape() != given[0].shape()).then_some("reduce_window_c14")
}

impl ReduceWindow {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("window_dimensions", Some("reduce_window_i3"), AttrKind::Ints),
            optional("window_strides", Some("reduce_window_i4"), AttrKind::Ints, "ones"),
            optional("base_dilations", Some("reduce_window_i5"), AttrKind::Ints, "ones"),
            optional("window_dilations", Some("reduce_window_i6"), AttrKind::Ints, "ones"),
            optional("padding", Some("reduce_window_i7"), AttrKind::Pairs, "zeros"),
        ],
        operands: Operands::List,
        results: ResultLabels::of("reduce_window_c15", "reduce_window_c16").with_shape_of(unequal_results),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Builds the attributes of a window of this size, with padding before and after each dimension and strides of 1.
    pub fn attrs(window: &[usize], padding: &[(i64, i64)]) -> Attrs {
        let rows: Vec<i64> = padding.iter().flat_map(|&(low, high)| [low, high]).collect();
        Attrs::new()
            .with("window_dimensions", Attr::sizes(window))
            .with("padding", Attr::Dense(Literal::new(vec![padding.len(), 2], &rows)))
    }
}

impl Facts for ReduceWindow {
    /// Returns the derivative. The tangent of a maximum or minimum that starts with its identity and promotes no
    /// operand is that of the first element that is equal to it, as in JAX. It is zero where the maximum or minimum is
    /// equal to the identity.
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        if self.linear(op) == Linear::Jointly {
            return Derivative::Linear;
        }
        if selection(op).is_some() {
            return Derivative::by(selected_tangents);
        }
        let kind = reducer::reduce_kind_of_op(op).filter(|_| !promote::is_promoted(op));
        let starts_with = |kind: ReduceKind| known_operand(op, 1) == Some(&kind.identity(op.operand_tensor(1).dtype));
        let window = window(op);
        let direction = match kind {
            Some(ReduceKind::Max) if starts_with(ReduceKind::Max) => "GE",
            Some(ReduceKind::Min) if starts_with(ReduceKind::Min) => "LE",
            Some(ReduceKind::Mul) if starts_with(ReduceKind::Mul) => {
                return Derivative::by(|cx| vec![product_tangent(cx)]);
            }
            _ => return Derivative::expanded(expanded),
        };
        Derivative::by(move |cx| {
            let x = cx.operands[0];
            let ty = cx.op.operand_tensor(0);
            vec![cx.tangents[0].map(|t| match Running::of(&window, &ty.shape) {
                Some(running) => {
                    let kind = if direction == "GE" { ReduceKind::Max } else { ReduceKind::Min };
                    running.selected_tangent(cx.b, [x, t], direction, kind.identity(ty.dtype))
                }
                None => select_and_gather::build(cx.b, x, t, &window, direction),
            })]
        })
    }
    /// Returns the transpose of a sum, or of a selection of pairs in its second array in windows without dilation.
    /// Other ops have none. The cotangent of an element is the sum of the cotangents of the windows that contain or
    /// select it.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        match (self.linear(op), selection(op)) {
            (Linear::Jointly, _) => Transposed::by(sum_cotangents),
            (Linear::In(_), Some(direction)) if is_undilated(&window(op)) => Transposed::by(move |cx| {
                let (ct, window) = (cx.cotangents[1].filter(|_| cx.is_linear(1)), window(&cx.op));
                let selected = ct.map(|ct| {
                    let x = cx.known(0);
                    select_and_gather::transposed(cx.b, x, ct, &window, direction).into()
                });
                vec![None, selected, None, None]
            }),
            (Linear::In(_), _) => Transposed::None("a maximum or minimum in dilated windows has no transpose"),
            _ => Transposed::None("it is not linear"),
        }
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let (window, n) = (with_first(WindowDim::IDENTITY, &window(op)), arity(op));
        match mapped[n..].contains(&true) {
            false => Batched::leading_of(op, |i| i < n, window_attrs(&window, NAMES)),
            true => Batched::expanded(expanded),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 2..=MANY, 1)?;
        let n = arity(op);
        let mut check = Check::new(op);
        let even = types.len() == 2 * n;
        check.that("reduce_window_c1", even, "there must be as many initial values as inputs").so_far()?;
        let (inputs, inits) = types.split_at(n);
        let shape = &inputs[0].shape;
        let scalars = inits.iter().zip(inputs).all(|(i, x)| i.rank() == 0 && i.dtype == x.dtype);
        check.that("reduce_window_c2", inputs.iter().all(|t| t.shape == *shape), "all inputs must have the same shape");
        check.that("reduce_window_c3", scalars, "initial values must be scalars of the inputs' element types");
        let window = read_window(op, &mut check, NAMES, None, shape.len(), &LABELS);
        let region = op.regions()[0];
        let args = types_of(op, &op.body[region].args);
        let gives = types_of(op, op.body.region_results(region));
        let elements: Vec<&TensorType> = gives.iter().filter_map(Type::as_tensor).filter(|t| t.rank() == 0).collect();
        let fits = args.len() == 2 * n && args[..n] == args[n..] && gives == args[..n] && elements.len() == n;
        check.that(
            "reduce_window_c13",
            fits,
            "the body must take two scalars for each input, and return one of the same type",
        );
        let pairs = inputs.iter().zip(&elements).map(|(x, to)| (x.dtype, to.dtype));
        check.promotes("reduce_window_c13", pairs).so_far()?;
        let result = places(&window, shape);
        check
            .that(
                "reduce_window_c15",
                result.is_some(),
                "the number of windows, and the sizes of the inputs and of a window with holes, must fit 64 bits",
            )
            .so_far()?;
        check.give(elements.iter().map(|t| Type::tensor(t.dtype, result.clone().unwrap_or_default())))
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (window, n, shape) = (window(op), arity(op), op.result_shape(0));
        let ranks = [vec![shape.len(); n], vec![0; n]].concat();
        let mut rule = RuleBuilder::new(ranks, vec![shape.len(); n]);
        rule.add_pointwise_with(shape, |dim, size| {
            if window[dim].is_identity() { FactorSpec::pass_through(size) } else { FactorSpec::permutation(size) }
        });
        RuleFact::Rule(rule.build())
    }

    answer!(usual but movement, read_through, propagation_rule, reducer, eval_copies);

    /// Returns the op with its windows over the operands of `pad`s that add the initial values. Returns `None` if an
    /// input is no such `pad`, or if [`before_paddings`] finds no windows.
    fn read_through(&self, op: &OpView<'_>) -> Option<ReadThrough> {
        let (window, n) = (window(op), arity(op));
        let is_init = |i: usize, pad: &OpView<'_>| {
            let known = known_operand(pad, 1);
            pad.operand(1) == op.operand(n + i) || (known.is_some() && known == known_operand(op, n + i))
        };
        let dims: Vec<usize> = (0..window.len()).collect();
        let (inputs, window) = before_paddings(op, &window, &dims, n, is_init)?;
        let operands = [&inputs, &op.operands()[n..]].concat();
        Some(ReadThrough { code: op.data().code, operands, attrs: with_window(op, &window, NAMES[2]) })
    }

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let (window, n) = (window(op), arity(op));
        let reads = (0..n).map(|i| window[dim].read(i, dim, Fill::Operand(n + i))).collect::<Option<_>>()?;
        let total = has_totals(op, &window, dim).then_some(total as _);
        Some(Movement { total, ..Movement::new(dim, reads, of_windows) })
    }

    answer!(propagation_rule = blocked_if_conservative);
    answer!(reducer = reducer::OF_EACH);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (window, n) = (window(op), arity(op));
        let t = op.result_tensor(0);
        let kind = reducer::reduce_kind(op.module, op.body, op.regions()[0]);
        match kind.filter(|&k| n == 1 && eval::can_combine(k, t.dtype)) {
            Some(kind) => Ok(vec![combine_windows(kind, &window, &x[0], &x[1], &t.shape)]),
            None => by_region(op, &window, x, regions),
        }
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let size: usize = window(op).iter().map(|w| w.size).product();
        Cost::streams(op, size as f64)
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        match selection(op) {
            Some(_) => Linear::In(0b10),
            None => reducer::linear_if_sum(op, reducer::reduce_kind_of_op(op), Linear::Jointly),
        }
    }

    answer!(
        example = r#"func.func @main(%arg0: tensor<6x6xf32>, %arg1: tensor<f32>) -> tensor<6x3xf32> {
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
    %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x6xf32>, tensor<f32>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}"#
    );
}

/// Returns the direction in which the op selects pairs from windows ([`select_and_gather::direction`]). Returns `None`
/// if it does not, if it promotes operands, and unless the initial values are known to be the identity and zero: others
/// may win, and then the results do not depend on the elements.
fn selection(op: &OpView<'_>) -> Option<&'static str> {
    let direction = select_and_gather::direction(op).filter(|_| !promote::is_promoted(op))?;
    let kind = if direction.starts_with('G') { ReduceKind::Max } else { ReduceKind::Min };
    let is_identity = known_operand(op, 2) == Some(&kind.identity(op.operand_tensor(2).dtype));
    (is_identity && is_zero(op, 3)).then_some(direction)
}

fn is_undilated(window: &[WindowDim]) -> bool {
    window.iter().all(|w| w.base_dilation == 1 && w.dilation == 1)
}

fn selected_tangents(cx: &mut TangentCx<'_, '_, '_>) -> Vec<Option<Value>> {
    let direction = selection(&cx.op).expect("the op selects pairs");
    let window = window(&cx.op);
    for i in [2, 3] {
        cx.refuse_tangent(i, "the initial value of a maximum or minimum has no derivative");
    }
    let tangent = |t: &Option<Value>| t.map(|t| select_and_gather::build(cx.b, cx.operands[0], t, &window, direction));
    cx.tangents[..2].iter().map(tangent).collect()
}

/// Builds the tangent of products in windows that start with one: the sum of the tangents, each times all other
/// factors. Returns `None` if it is zero.
fn product_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (tangent, window, init) = (cx.tangents[0]?, window(&cx.op), cx.operands[1]);
    if let Some(running) = Running::of(&window, cx.op.operand_shape(0)) {
        return Some(running.product_tangent(cx.b, cx.operands[0], tangent));
    }
    let zero = make::number(cx.b, cx.op.operand_tensor(0).dtype, 0);
    let (factors, dims) = product::windows(cx.b, cx.operands[0], init, &window);
    let (tangents, _) = product::windows(cx.b, tangent, zero, &window);
    let others = product::of_others(cx.b, factors, &dims);
    let summands = make::multiply(cx.b, tangents, others);
    Some(make::reduce(cx.b, ReduceKind::Add, summands, &dims))
}

fn expanded(cx: &mut ExpandCx<'_, '_, '_>) -> Result<Vec<Value>, &'static str> {
    let (inputs, inits) = cx.operands.split_at(arity(&cx.op));
    let window = window(&cx.op);
    let (mut all, mut dims) = (vec![], vec![]);
    for (&x, &init) in inputs.iter().zip(inits) {
        let (lines, along) = product::windows(cx.b, x, init, &window);
        all.push(lines);
        dims = along;
    }
    cx.reduced(cx.op.regions()[0], &all, inits, &dims)
}

fn sum_cotangents(cx: &mut CotangentCx<'_, '_, '_>) -> Vec<Option<Cotangent>> {
    let (ct, window, x) = (cx.cotangent(), window(&cx.op), cx.operand_tensor(0));
    let places = cx.op.result_shape(0);
    let input = cx.is_linear(0).then(|| {
        let moved = window.iter().enumerate().map(|(d, w)| w.transposed(x.shape[d], places[d]));
        match moved.collect::<Option<Vec<WindowDim>>>() {
            Some(moved) => sum_windows(cx.b, ct, 0, &moved).into(),
            None => make::zeros(cx.b, x).into(),
        }
    });
    let init = cx.is_linear(1).then(|| {
        // The initial value is a summand of each window, and again for each element of it that is padding.
        let zeros = make::zeros(cx.b, x);
        let counts = sum_windows(cx.b, zeros, 1, &window);
        let all = make::multiply(cx.b, ct, counts);
        unbroadcast(cx.b, all, &[]).into()
    });
    vec![input, init]
}

fn sum_windows(b: &mut Builder<'_>, x: Value, init: i64, window: &[WindowDim]) -> Value {
    let from = make::type_of(b, x);
    let init = make::number(b, from.dtype, init);
    let shape = places(window, &from.shape).expect("the windows fit");
    let region = reducer::reduction_region(b, ReduceKind::Add, from.dtype);
    let attrs = window_attrs(window, NAMES);
    let op = b.op_with_regions(Opcode::ReduceWindow, [x, init], attrs, [region], [Type::tensor(from.dtype, shape)]);
    b.body[op].results[0]
}

/// Returns true if totals of blocks along `dim` can take the place of the blocks.
fn has_totals(op: &OpView<'_>, window: &[WindowDim], dim: usize) -> bool {
    let is_line = window.iter().enumerate().all(|(d, w)| d == dim || w.is_identity());
    let is_dense = window[dim].dilation == 1 && window[dim].base_dilation == 1;
    let is_ordered = is_line || reducer::reduce_kind_of_op(op).is_some();
    is_dense && is_ordered && reducer::may_repeat_inits(op)
}

fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let mut window = window(&cx.op);
    cx.dims.iter().for_each(|d| window[d.dim].size = d.folded.unwrap_or(window[d.dim].size));
    let is_from_total = |d: &WindowsDim| {
        let w = &window[d.dim];
        d.folded.is_some() && w.stride == 1 && d.high == 0 && d.low + 2 == w.size as i64
    };
    match cx.dims.iter().position(is_from_total) {
        Some(i) => from_total(cx, &window, i),
        None => on_windows(cx, &window),
    }
}

fn on_windows(cx: &mut WindowsCx<'_, '_>, window: &[WindowDim]) -> Vec<Value> {
    let attrs = padded_by_windows(cx, window, |dim| dim);
    let sizes: Vec<usize> = window.iter().map(|w| w.size).collect();
    cx.same_op_with(attrs.with("window_dimensions", Attr::sizes(&sizes)))
}

/// Builds cumulative results along dimension `i` of the context. The first element of the operand along it is the total
/// of all elements before. A result for this total alone is computed too, because engines compute all cumulative
/// results of an array in one pass, and is then dropped.
fn from_total(cx: &mut WindowsCx<'_, '_>, window: &[WindowDim], i: usize) -> Vec<Value> {
    let dim = cx.dims[i].dim;
    cx.dims[i].low += 1;
    let count = cx.result_types[0].shape()[dim] + 1;
    for ty in &mut cx.result_types {
        let t = ty.as_tensor().expect("a tensor");
        let mut shape = t.shape.clone();
        shape[dim] = count;
        *ty = Type::tensor(t.dtype, shape);
    }
    let all = on_windows(cx, window);
    all.into_iter().map(|v| make::slice_dim(cx.builder, v, dim, 1, count)).collect()
}

/// Builds the op with one window, which has all elements along the dimensions of the context, for each line.
fn total(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let mut sizes = vec![1; cx.op.operand_shape(0).len()];
    for d in &cx.dims {
        sizes[d.dim] = cx.operand_size(0, d.dim);
    }
    let unpadded = vec![(0, 0); sizes.len()];
    cx.same_op_with(ReduceWindow::attrs(&sizes, &unpadded))
}

fn combine_windows(kind: ReduceKind, window: &[WindowDim], x: &Literal, init: &Literal, shape: &[usize]) -> Literal {
    let (x, init) = (x.to_dense(), eval::read_numbers(&init.to_dense())(0));
    let get = eval::read_numbers(&x);
    let mut out = Data::from_fn(shape.iter().product(), |_| init);
    let mut next = out.iter_mut();
    index::for_each_index(shape, |place| {
        let sum = next.next().expect("as many as there are places");
        for_each_element(window, x.shape(), place, |at| {
            *sum = eval::combine(kind, *sum, at.map_or(init, &get));
        });
    });
    eval::fill(x.dtype(), shape, |i| out[i])
}

fn by_region(
    op: &OpView<'_>,
    window: &[WindowDim],
    x: &[Literal],
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, EvalError> {
    let n = arity(op);
    let writer = |t: &TensorType| LiteralWriter::new(t.dtype, &t.shape);
    let mut out: Vec<LiteralWriter> = (0..n).map(|i| writer(op.result_tensor(i))).collect();
    let mut failed = None;
    index::for_each_index(op.result_shape(0), |place| {
        let mut sums: Vec<Literal> = x[n..].to_vec();
        for_each_element(window, x[0].shape(), place, |at| {
            let values = (0..n).map(|k| at.map_or_else(|| x[n + k].clone(), |i| x[k].element(i)));
            let args = sums.iter().cloned().chain(values).collect();
            match regions.region(op.regions()[0], args) {
                Ok(combined) if failed.is_none() => sums = combined,
                Ok(_) => {}
                Err(e) => failed = failed.take().or(Some(e)),
            }
        });
        out.iter_mut().zip(&sums).for_each(|(out, sum)| out.push(sum.element_bytes(0)));
    });
    if let Some(e) = failed {
        return Err(e);
    }
    Ok(out.into_iter().map(LiteralWriter::finish).collect())
}
