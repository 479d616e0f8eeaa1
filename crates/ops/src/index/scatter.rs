//! `scatter`: slices combined into operands at the positions in a tensor of indices. Elements outside the operand are
//! dropped.
//!
//! Updates are applied in row-major order of their positions in the tensor of updates. After each one, the element is
//! rounded to its type.

use super::IndexDims;
use super::SCATTER_DIMENSIONS;
use super::bounds::{Part, is_zero};
use super::dims::{IndexFactor, Kinds, Labels, Starts, for_each_index};
use super::gather::IndexParts;
use crate::Opcode;
use crate::check::{self, Check, MANY, counted_tensors};
use crate::derivative::{CotangentCx, TangentCx};
use crate::eval::{self, Numeric, with_element};
use crate::facts::*;
use crate::make_collective::on_first_or;
use crate::schema::*;
use crate::{make, promote, reducer};
use shardwise_base::{AxisRef, DType, Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Builder, OpView, Region, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Scatter;

const LABELS: Labels = Labels {
    rank: "scatter_c2",
    window_sorted: "scatter_c7",
    window_range: "scatter_c8",
    dropped_unique: "scatter_c9",
    collapsed_sorted: "scatter_c10",
    collapsed_range: "scatter_c11",
    batching_sorted: "scatter_c12",
    batching_range: "scatter_c13",
    indices_batching_unique: "scatter_c14",
    indices_batching_range: "scatter_c15",
    indices_batching_vector: "scatter_c16",
    batching_count: "scatter_c17",
    batching_sizes: "scatter_c18",
    map_size: "scatter_c19",
    map_unique: "scatter_c20",
    map_range: "scatter_c21",
    vector_dim: "scatter_c22",
};

const REDUCER: Reducer = Reducer { region: 0, argument: reducer_argument, promoted: Promoted::SameOp };

/// Returns the index of the reducer's argument that takes elements of operand `index`, or `None` for the indices, which
/// are the operand between the inputs and the updates.
fn reducer_argument(op: &OpView<'_>, index: usize) -> Option<usize> {
    let indices = arity(op);
    (index != indices).then(|| index - usize::from(index > indices))
}

fn dims(op: &OpView<'_>) -> IndexDims {
    IndexDims::of_scatter(op).expect("verified")
}

/// Returns the number of inputs, which is also the number of updates and of results.
fn arity(op: &OpView<'_>) -> usize {
    op.operands().len() / 2
}

/// Returns the reduction that combines the elements of all inputs, if partial results can be combined by it too.
/// Returns `None` otherwise, and if the reducer takes wider elements than the inputs have.
fn common_kind(op: &OpView<'_>) -> Option<ReduceKind> {
    let kind = |i: usize| {
        let kind = reducer::reduce_kind_of(op.module, op.body, op.regions()[0], i)?;
        let is_bits = matches!(kind, ReduceKind::And | ReduceKind::Or);
        let dtype = op.operand_tensor(i).dtype;
        (kind.neutral(dtype).is_some() && (!is_bits || dtype.is_bool())).then_some(kind)
    };
    if promote::is_promoted(op) {
        return None;
    }
    let first = kind(0)?;
    (1..arity(op)).all(|i| kind(i) == Some(first)).then_some(first)
}

/// Returns the factors of a window dimension: `o` of size `full` in the inputs, and `d` of size `size` in the updates.
/// An index may move even a window of the whole dimension, partly out of it, so that its elements are combined with
/// those of other devices. A window of one element is on one device, as if the updates did not have the dimension.
fn window_factors(dims: &IndexDims, o: usize, full: usize, d: usize, size: usize) -> Vec<IndexFactor> {
    let factor = |operand, slices, spec| IndexFactor { operand, indices: None, slices, spec };
    if full == size {
        let is_moved = dims.index_map.contains(&o);
        let spec = if is_moved { FactorSpec::need_replication(full) } else { FactorSpec::pass_through(full) };
        return vec![factor(Some(o), Some(d), spec)];
    }
    let spec = if size == 1 { FactorSpec::pass_through(full) } else { FactorSpec::need_replication(full) };
    vec![factor(Some(o), None, spec), factor(None, Some(d), FactorSpec::need_replication(size))]
}

/// Returns the dimensions of the inputs along which a window of the updates has one element, which is on one of the
/// devices that have parts of the dimension: the collapsed ones, and the window dimensions of this size unless the
/// inputs have size 1 there, too.
fn single_dims(op: &OpView<'_>, dims: &IndexDims) -> Vec<usize> {
    let (inputs, updates) = (op.operand_shape(0), op.operand_shape(arity(op) + 1));
    let windows = dims.window_operand_dims(inputs.len()).into_iter().zip(&dims.window);
    let single = windows.filter(|&(o, &d)| updates[d] == 1 && inputs[o] != 1).map(|(o, _)| o);
    dims.collapsed.iter().copied().chain(single).collect()
}

/// Returns the components of the indices of a `scatter` that are known to be 0 and choose where windows begin. The op
/// does the same without them. At least one component is not among them. There are none for other ops, if the
/// components are no dimension of the indices, and if the reducer is wider than the operands.
pub fn idle_components(op: &OpView<'_>) -> Vec<usize> {
    if Opcode::of_view(op) != Opcode::Scatter || promote::is_promoted(op) {
        return vec![];
    }
    let dims = dims(op);
    let (indices, dim) = (arity(op), dims.index_vector_dim);
    if dim == op.operand_shape(indices).len() {
        return vec![];
    }
    let is_idle =
        |&k: &usize| !dims.is_dropped(dims.index_map[k]) && is_zero(op, indices, Part::At { dim, position: k });
    let mut idle: Vec<usize> = (0..dims.index_map.len()).filter(is_idle).collect();
    if idle.len() == dims.index_map.len() {
        idle.pop();
    }
    idle
}

/// Builds the scatter without the components `idle` of its indices, and returns its results. `operands` and `regions`
/// replace those of the op.
///
/// # Panics
/// If no component is left, or if the components are no dimension of the indices.
pub fn without_components(
    op: &OpView<'_>,
    idle: &[usize],
    operands: &[Value],
    regions: Vec<Region>,
    b: &mut Builder<'_>,
) -> Vec<Value> {
    let mut dims = dims(op);
    let (mut operands, indices, dim) = (operands.to_vec(), arity(op), dims.index_vector_dim);
    let kept: Vec<usize> = (0..dims.index_map.len()).filter(|k| !idle.contains(k)).collect();
    let runs = kept.chunk_by(|a, b| a + 1 == *b);
    let parts: Vec<Value> =
        runs.map(|run| make::slice_dim(b, operands[indices], dim, run[0], run[run.len() - 1] + 1)).collect();
    operands[indices] = if parts.len() == 1 { parts[0] } else { make::concatenate(b, &parts, dim) };
    dims.index_map = kept.iter().map(|&k| dims.index_map[k]).collect();
    let types: Vec<Type> = op.results().iter().map(|&v| op.body.ty(v).clone()).collect();
    let made = b.op_with_regions(op.data().code, operands, dims.in_scatter(op.attrs()), regions, types);
    b.body[made].results.to_vec()
}

impl Scatter {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("scatter_dimension_numbers", Some("scatter_i4"), SCATTER_DIMENSIONS),
            optional("indices_are_sorted", Some("scatter_i10"), AttrKind::Flag, "`false`"),
            optional("unique_indices", Some("scatter_i11"), AttrKind::Flag, "`false`"),
        ],
        operands: Operands::List,
        results: ResultLabels::of("scatter_c24", "scatter_c25"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Scatter {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        if self.linear(op) != Linear::No {
            return Derivative::Linear;
        }
        let kind = reducer::reduce_kind_of_op(op).filter(|_| arity(op) == 1 && !promote::is_promoted(op));
        match kind {
            _ if subtracts(op) => Derivative::expanded(|cx| {
                let updates = make::negate(cx.b, cx.operands[2]);
                let (sum, attrs) = (Some(ReduceKind::Add), cx.op.attrs().clone());
                Ok(vec![make::scatter(cx.b, sum, cx.operands[0], cx.operands[1], updates, attrs)])
            }),
            Some(ReduceKind::Mul) => Derivative::by(|cx| vec![product_tangent(cx)]),
            Some(ReduceKind::Max | ReduceKind::Min) => Derivative::by(|cx| vec![chosen_tangent(cx)]),
            _ => Derivative::None(
                "only sums and replacements of fewer than 16 inputs, and differences, products and extrema of one \
                 input, have a derivative, in the inputs' element types",
            ),
        }
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let transposed = Transposed::by(|cx| {
            let n = arity(&cx.op);
            let inputs: Vec<_> = (0..n).map(|i| input_cotangent(cx, i)).collect();
            let updates: Vec<_> = (0..n).map(|i| update_cotangent(cx, i)).collect();
            inputs.into_iter().chain([None]).chain(updates).collect()
        });
        transposed.if_linear(self.linear(op))
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let n = arity(op);
        let dims = dims(op).batched(true, mapped[n]);
        match mapped[n] {
            // The indices of a batch may be unsorted although those of each element are sorted.
            true => Batched::Leading(dims.in_scatter(op.attrs()).with("indices_are_sorted", Attr::Bool(false))),
            false => Batched::leading_of(op, |i| i != n, dims.in_scatter(op.attrs())),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 3..=MANY, 1)?;
        let n = arity(op);
        let mut check = Check::new(op);
        check.that("scatter_c5", types.len() == 2 * n + 1, "there must be as many updates as inputs").so_far()?;
        let dims = IndexDims::expect(op, IndexDims::of_scatter(op), "scatter_dimension_numbers")?;
        let (inputs, indices, updates) = (&types[..n], types[n], &types[n + 1..]);
        let same = |list: &[&shardwise_ir::TensorType]| list.iter().all(|t| t.shape == list[0].shape);
        check.that("scatter_i2", indices.dtype.is_integer(), "the indices must be integers");
        check.that("scatter_c1", same(inputs), "all inputs must have the same shape");
        check.that("scatter_c3", same(updates), "all updates must have the same shape");
        let dtypes = inputs.iter().zip(updates).all(|(i, u)| i.dtype == u.dtype);
        check.that("scatter_c6", dtypes, "updates must have the element types of the inputs");
        dims.check(&mut check, &LABELS, &inputs[0].shape, &indices.shape);
        check.so_far()?;
        check_updates(&dims, &mut check, &inputs[0].shape, &indices.shape, &updates[0].shape);
        let results = check_computation(op, &mut check, n);
        check.so_far()?;
        check.give(inputs.iter().zip(results).map(|(t, dtype)| Type::tensor(dtype, t.shape.to_vec())))
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let n = arity(op);
        let (operand, indices, slices) = (op.operand_shape(0), op.operand_shape(n), op.operand_shape(n + 1));
        let combines = common_kind(op).is_some();
        let batch = |size| if combines { FactorSpec::reduction(size) } else { FactorSpec::need_replication(size) };
        let dims = dims(op);
        let window = |o, full, d, size| window_factors(&dims, o, full, d, size);
        let kinds = Kinds { window: &window, batch: &batch, collapsed: &FactorSpec::pass_through };
        let ranks = [vec![operand.len(); n], vec![indices.len()], vec![slices.len(); n]].concat();
        let mut rule = RuleBuilder::new(ranks, vec![operand.len(); n]);
        for f in dims.factors(operand, indices, slices, &kinds) {
            let operands = [vec![f.operand; n], vec![f.indices], vec![f.slices; n]].concat();
            rule.add_factor(&operands, &vec![f.operand; n], f.spec);
        }
        RuleFact::Rule(rule.build())
    }

    answer!(usual but reducer, eval_copies);
    answer!(reducer = REDUCER);
    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);

    fn combine(&self, op: &OpView<'_>) -> Combine {
        common_kind(op).map_or(
            Combine::No("its computation is not one reduction, of all inputs, that can combine partial results"),
            Combine::With,
        )
    }

    fn neutral(&self, op: &OpView<'_>, index: usize) -> Option<Literal> {
        let (n, dtype) = (arity(op), op.operand_tensor(index).dtype);
        match index.cmp(&n) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => Some(Literal::zeros(dtype, vec![])),
            std::cmp::Ordering::Greater => common_kind(op)?.neutral(dtype),
        }
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(localize(cx))
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let places = places(&dims(op), &x[0], &x[arity(op)], x[arity(op) + 1].shape());
        let changes: Option<Vec<Change>> = (0..arity(op)).map(|i| change(op, i)).collect();
        match changes {
            Some(changes) => {
                Ok((0..arity(op)).map(|i| apply(changes[i], &x[i], &x[arity(op) + 1 + i], &places)).collect())
            }
            None => apply_region(op, x, &places, regions),
        }
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let updates = op.operand_tensor(arity(op) + 1).size() * arity(op);
        Cost::streams(op, 0.0).with_flops(updates as f64)
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        let changes: Option<Vec<Change>> = (0..arity(op)).map(|i| change(op, i)).collect();
        let is_linear = |w: &Change| matches!(w, Change::Replace | Change::Combine(ReduceKind::Add));
        match changes {
            Some(changes) if !promote::is_promoted(op) && changes.iter().all(is_linear) && arity(op) < 16 => {
                let ones = (1u32 << arity(op)) - 1;
                Linear::In(ones | ones << (arity(op) + 1))
            }
            _ => Linear::No,
        }
    }

    answer!(explicit = by_rule);
    answer!(
        example = r#"func.func @main(%arg0: tensor<12x6xf32>, %arg1: tensor<6x1xi32>, %arg2: tensor<6x6xf32>) -> tensor<12x6xf32> {
  %0 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<12x6xf32>, tensor<6x1xi32>, tensor<6x6xf32>) -> tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}"#
    );
}

fn subtracts(op: &OpView<'_>) -> bool {
    let region = op.regions()[0];
    let difference = op.body.region_results(region).first().and_then(|&v| op.body.def_op(v)).map(|def| op.at(def));
    let is_difference =
        |def: OpView<'_>| Opcode::of_view(&def) == Opcode::Subtract && *def.operands() == op.body[region].args[..];
    arity(op) == 1 && !promote::is_promoted(op) && difference.is_some_and(is_difference)
}

fn is_unique(op: &OpView<'_>) -> bool {
    op.attr("unique_indices").and_then(Attr::as_bool) == Some(true)
}

/// Builds the cotangent of input `i` of a linear scatter: that of the result, without the elements that are replaced.
/// Returns `None` if it is zero, or if the operand is not linear.
fn input_cotangent(cx: &mut CotangentCx<'_, '_, '_>, i: usize) -> Option<Cotangent> {
    let ct = cx.cotangents[i].filter(|_| cx.is_linear(i))?;
    let n = arity(&cx.op);
    let Some(Change::Replace) = change(&cx.op, i) else { return Some(ct.into()) };
    let (zeros, indices) = (make::zeros(cx.b, cx.operand_tensor(n + 1 + i)), cx.known(n));
    Some(make::scatter(cx.b, None, ct, indices, zeros, cx.op.attrs().clone()).into())
}

/// Builds the cotangent of the updates of input `i` of a linear scatter, from the elements where they were written. An
/// update that a later one replaced has the cotangent zero. Returns `None` if it is zero, or if the operand is not
/// linear.
fn update_cotangent(cx: &mut CotangentCx<'_, '_, '_>, i: usize) -> Option<Cotangent> {
    let n = arity(&cx.op);
    let ct = cx.cotangents[i].filter(|_| cx.is_linear(n + 1 + i))?;
    let (dims, indices, updates) = (dims(&cx.op), cx.known(n), cx.operand_tensor(n + 1 + i));
    let read = dims.read_scattered(cx.b, ct, indices, &updates.shape);
    if matches!(change(&cx.op, i), Some(Change::Combine(_))) || is_unique(&cx.op) {
        return Some(read.into());
    }
    // Scattering the numbers of the updates shows which of them was last.
    let count = TensorType::new(DType::I64, vec![updates.size()]);
    let numbers = make::iota(cx.b, count, 0);
    let numbers = make::reshape(cx.b, numbers, &updates.shape);
    let none = make::zeros(cx.b, &TensorType::new(DType::I64, cx.operand_tensor(i).shape.clone()));
    let last = make::scatter(cx.b, None, none, indices, numbers, cx.op.attrs().clone());
    let last = dims.read_scattered(cx.b, last, indices, &updates.shape);
    let is_last = make::compare(cx.b, "EQ", last, numbers);
    let zeros = make::zeros(cx.b, updates);
    Some(make::select(cx.b, is_last, read, zeros).into())
}

/// Builds the tangent of a product: that of the input times the updates, and that of the updates times the input.
/// Returns `None` if it is zero. Refuses a tangent of the updates if the op lacks `unique_indices`.
fn product_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (attrs, x, indices) = (cx.op.attrs().clone(), cx.operands[0], cx.operands[1]);
    if !is_unique(&cx.op) {
        cx.refuse_tangent(2, "only products with `unique_indices` have a derivative in their updates");
    }
    let of_input = cx.tangents[0].map(|tangent| {
        let ones = make::number(cx.b, cx.op.operand_tensor(0).dtype, 1);
        let ones = make::broadcast_scalar(cx.b, ones, cx.op.operand_shape(0));
        let factor = make::scatter(cx.b, Some(ReduceKind::Mul), ones, indices, cx.operands[2], attrs.clone());
        make::multiply(cx.b, tangent, factor)
    });
    let of_updates = cx.tangents[2].map(|tangent| {
        let zeros = make::zeros(cx.b, cx.op.operand_tensor(0));
        let spread = make::scatter(cx.b, Some(ReduceKind::Add), zeros, indices, tangent, attrs.clone());
        make::multiply(cx.b, spread, x)
    });
    cx.sum([of_input, of_updates])
}

/// Builds the tangent of a maximum or minimum: the mean of the tangents of those among the input and the updates that
/// are equal to the result. Returns `None` if it is zero.
fn chosen_tangent(cx: &mut TangentCx<'_, '_, '_>) -> Option<Value> {
    let (attrs, indices, result) = (cx.op.attrs().clone(), cx.operands[1], cx.results[0]);
    let dtype = cx.op.operand_tensor(0).dtype;
    let written = dims(&cx.op).read_scattered(cx.b, result, indices, cx.op.operand_shape(2));
    let [of_input, of_updates] = [(0, result), (2, written)].map(|(i, best)| {
        let is_best = make::compare(cx.b, "EQ", cx.operands[i], best);
        make::convert(cx.b, is_best, dtype)
    });
    let sum =
        |b: &mut Builder<'_>, x, updates| make::scatter(b, Some(ReduceKind::Add), x, indices, updates, attrs.clone());
    let count = sum(cx.b, of_input, of_updates);
    let input = cx.times(0, |_| of_input);
    let updates = cx.times(2, |_| of_updates);
    let zeros = make::zeros(cx.b, cx.op.operand_tensor(0));
    let total = match updates {
        Some(updates) => sum(cx.b, input.unwrap_or(zeros), updates),
        None => input?,
    };
    // Where the result is NaN, nothing is equal to it, and the tangent is 0 / 0.
    Some(make::divide(cx.b, total, count))
}

fn check_updates(dims: &IndexDims, check: &mut Check<'_, '_>, input: &[usize], indices: &[usize], updates: &[usize]) {
    let rank = dims.slices_rank(indices.len());
    if !check.holds("scatter_c4", updates.len() == rank, &format!("updates must be of rank {rank}")) {
        return;
    }
    let windows: Vec<usize> = dims.window.iter().map(|&d| updates[d]).collect();
    let fits = dims.window_operand_dims(input.len()).iter().zip(&windows).all(|(&d, &w)| w <= input[d]);
    check.that("scatter_c4", fits, "windows of updates must not exceed the inputs");
    let expected = dims.slices_shape(&windows, indices);
    check.that("scatter_c4", updates == expected, "updates must have the batch dimensions of the indices");
}

fn check_computation(op: &OpView<'_>, check: &mut Check<'_, '_>, n: usize) -> Vec<shardwise_base::DType> {
    let region = op.regions()[0];
    let args = check::types_of(op, &op.body[region].args);
    let gives = check::types_of(op, op.body.region_results(region));
    let scalars = args.iter().all(|t| t.as_tensor().is_some_and(|t| t.rank() == 0));
    let fits = scalars && args.len() == 2 * n && args[..n] == args[n..] && gives == args[..n];
    check.that(
        "scatter_c23",
        fits,
        "the computation must take two scalars for each input, and return one of the same type",
    );
    let dtypes: Vec<_> = gives.iter().filter_map(|t| t.as_tensor()).map(|t| t.dtype).collect();
    let inputs = op.operands().iter().filter_map(|&v| op.body.ty(v).as_tensor());
    check.promotes("scatter_c23", inputs.map(|x| x.dtype).zip(dtypes.iter().copied()).take(n));
    if fits { dtypes } else { vec![] }
}

#[derive(Clone, Copy)]
enum Change {
    Replace,
    Combine(ReduceKind),
}

/// Returns how updates of input `i` change elements, or `None` if only running the region shows it.
fn change(op: &OpView<'_>, i: usize) -> Option<Change> {
    let region = op.regions()[0];
    if op.body.region_results(region)[i] == op.body[region].args[arity(op) + i] {
        return Some(Change::Replace);
    }
    let kind = reducer::reduce_kind_of(op.module, op.body, region, i)?;
    eval::can_combine(kind, op.result_tensor(i).dtype).then_some(Change::Combine(kind))
}

/// Returns the row-major position in the operand of each element of the updates, in row-major order, or `None` for an
/// element outside the operand.
fn places(dims: &IndexDims, operand: &Literal, indices: &Literal, updates: &[usize]) -> Data<Option<usize>> {
    let starts = Starts::new(dims, indices, operand.rank());
    let strides = eval::row_major(operand.shape());
    let (windows, batches) = (dims.window_operand_dims(operand.rank()), dims.batch_dims(updates.len()));
    let mut out = Data::from_fn(updates.iter().product(), |_| None);
    let mut next = out.iter_mut();
    for_each_index(updates, |index| {
        let batch: Vec<usize> = batches.iter().map(|&d| index[d]).collect();
        let mut at = starts.of(&batch);
        for (&o, &d) in windows.iter().zip(&dims.window) {
            at[o] = at[o].saturating_add(index[d] as i64);
        }
        let inside = at.iter().zip(operand.shape()).all(|(&i, &n)| i >= 0 && (i as u64) < n as u64);
        let place = inside.then(|| at.iter().zip(&strides).map(|(&i, &s)| i as usize * s as usize).sum());
        *next.next().expect("as many as there are updates") = place;
    });
    out
}

fn apply(change: Change, operand: &Literal, updates: &Literal, places: &[Option<usize>]) -> Literal {
    let mut out = operand.to_dense();
    with_element!(operand.dtype(), T => {
        let get = eval::elements::<T>(updates);
        let elements = out.as_mut_slice::<T>();
        for (i, &place) in places.iter().enumerate() {
            let Some(p) = place else { continue };
            elements[p] = match change {
                Change::Replace => get(i),
                Change::Combine(kind) => {
                    T::from_number(eval::combine(kind, elements[p].to_number(), get(i).to_number()))
                }
            };
        }
    });
    out
}

fn apply_region(
    op: &OpView<'_>,
    x: &[Literal],
    places: &[Option<usize>],
    regions: &mut dyn RegionEval,
) -> Result<Vec<Literal>, EvalError> {
    let (n, region) = (arity(op), op.regions()[0]);
    let mut out: Vec<Literal> = x[..n].iter().map(Literal::to_dense).collect();
    for (i, &place) in places.iter().enumerate() {
        let Some(p) = place else { continue };
        let old = out.iter().map(|o| o.element(p));
        let args = old.chain(x[n + 1..].iter().map(|u| u.element(i))).collect();
        for (o, new) in out.iter_mut().zip(run(regions, region, args)?) {
            let width = o.dtype().storage_bytes();
            o.bytes_mut()[p * width..][..width].copy_from_slice(new.element_bytes(0));
        }
    }
    Ok(out)
}

fn run(regions: &mut dyn RegionEval, region: Region, args: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
    regions.region(region, args)
}

/// Builds the scatter of one device. Its indices are relative to the start of the device's part, and updates outside
/// the part are dropped. If the updates are split along [`partial_axes`] and combined by sums or products, only the
/// first device along these axes starts from the inputs, and the others start from the reduction's neutral element.
fn localize(cx: &mut LocalizeCx<'_, '_>) -> Vec<Value> {
    let mut dims = dims(&cx.op);
    let n = arity(&cx.op);
    let layout = |i: usize| cx.operand_shardings[i].clone().expect("a tensor has a sharding");
    let (input, updates) = (layout(0), layout(n + 1));
    let local: Vec<usize> = cx.builder.body.ty(cx.operands[0]).shape().to_vec();
    let mut operands = cx.operands.to_vec();
    let b = &mut *cx.builder;
    let mut parts: Option<IndexParts> = None;
    for d in single_dims(&cx.op, &dims) {
        let axes = &input.dims[d].axes;
        if !axes.is_empty() {
            let parts = parts.get_or_insert_with(|| IndexParts::split(b, operands[n], &dims, cx.op.operand_shape(0)));
            let k = parts.component(b, &mut dims, d);
            parts.shift(b, k, &input.mesh, axes, local[d], None);
        }
    }
    if let Some(parts) = parts {
        operands[n] = parts.join(b);
    }
    let partial = partial_axes(
        &dims,
        &updates.dims.iter().map(|d| d.axes.clone()).collect::<Vec<_>>(),
        cx.op.operand_shape(n).len(),
    );
    if let Some(kind @ (ReduceKind::Add | ReduceKind::Mul)) = common_kind(&cx.op).filter(|_| !partial.is_empty()) {
        for x in &mut operands[..n] {
            let neutral = kind.neutral(make::type_of(b, *x).dtype).expect("the kind has one");
            *x = on_first_or(b, *x, &neutral, &input.mesh, &partial);
        }
    }
    let (code, regions) = (cx.op.data().code, std::mem::take(&mut cx.regions));
    let attrs = dims.mapped(cx.op.attrs(), "scatter_dimension_numbers", "scatter_dims_to_operand_dims");
    let op = b.op_with_regions(code, operands, attrs, regions, cx.result_types.clone());
    b.body[op].results.to_vec()
}

/// Returns the axes that split batch dimensions which the inputs do not have. Along these, each device has a part of
/// the updates.
fn partial_axes(dims: &IndexDims, updates: &[Vec<AxisRef>], indices_rank: usize) -> Vec<AxisRef> {
    let batch = dims.batch_dims(updates.len()).into_iter().zip(dims.indices_batch_dims(indices_rank));
    batch.filter(|(_, i)| !dims.indices_batching.contains(i)).flat_map(|(d, _)| updates[d].clone()).collect()
}
