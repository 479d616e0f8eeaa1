//! `select_and_scatter`: each window selects one element, and the source's element for that window is written to its
//! position.
//!
//! Padding is never selected. Source elements for one position are combined in row-major order, starting from the
//! initial value. If the reduction is a known one, floats of 16 bits and less are combined in f32 and rounded once.

use super::{
    WindowDim, WindowLabels, for_each_element, places, read_window, select_and_gather, verified_window, window_attrs,
};
use crate::check::{Check, counted_tensors, is_promotable, types_of};
use crate::derivative::same_op;
use crate::eval::{self, Number, read_numbers};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, elementwise::Compare, index, make, reducer};
use shardwise_base::{DType, Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Builder, OpView, Region, Type, Value};
use shardwise_sharding::{FactorSpec, Rule, RuleBuilder};
use std::cmp::Ordering;

pub struct SelectAndScatter;

pub(super) const NAMES: [&str; 4] = ["window_dimensions", "window_strides", "", ""];

const LABELS: WindowLabels = WindowLabels {
    sizes: ["select_and_scatter_c4", "select_and_scatter_c5"],
    strides: ["select_and_scatter_c6", "select_and_scatter_c7"],
    base_dilations: ["select_and_scatter_c4", "select_and_scatter_c5"],
    dilations: ["select_and_scatter_c4", "select_and_scatter_c5"],
    padding: "select_and_scatter_c8",
};

/// The use of the reducer. The operand from which elements are selected is only compared.
const REDUCER: Reducer =
    Reducer { region: 1, argument: |_, index| (index > 0).then_some(0), promoted: Promoted::By(promoted) };

/// Returns how the window moves along each dimension.
pub fn window(op: &OpView<'_>) -> Vec<WindowDim> {
    verified_window(op, NAMES, None, op.operand_shape(0).len())
}

impl SelectAndScatter {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            optional("window_dimensions", Some("select_and_scatter_i4"), AttrKind::Ints, "none, for rank 0"),
            optional("window_strides", Some("select_and_scatter_i5"), AttrKind::Ints, "ones"),
            optional("padding", Some("select_and_scatter_i6"), AttrKind::Pairs, "zeros"),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("select_and_scatter_c11", "select_and_scatter_c12"),
        on_quantized: OnQuantized::Any,
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for SelectAndScatter {
    /// Returns the derivative of an op that sums elements in their own type; others have none. It is the same op on the
    /// tangents of the source and of the initial value, because the selected positions do not change when the operand
    /// changes a little.
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        if self.linear(op) == Linear::No {
            return Derivative::None(
                "only an op that sums elements of the source, in their own type, has a derivative",
            );
        }
        Derivative::by(|cx| {
            if cx.tangents[1].is_none() && cx.tangents[2].is_none() {
                return vec![None];
            }
            let (source, init) = (cx.tangent_or_zeros(1), cx.tangent_or_zeros(2));
            let operands = [cx.operands[0], source, init];
            cx.same_op(&operands).into_iter().map(Some).collect()
        })
    }
    /// Returns the transpose, which exists only if `select` is one comparison by value (GE, GT, LE or LT) of its first
    /// argument and its second. The cotangent of the source consists of the elements of the result's cotangent at the
    /// positions that windows select, and that of the initial value is the sum of all elements.
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let Some(direction) = comparison(op) else {
            return Transposed::None(
                "its `select` is not one comparison by value (GE, GT, LE or LT) of its first argument and its second",
            );
        };
        let window = window(op);
        Transposed::by(move |cx| {
            let ct = cx.cotangent();
            let source = cx.is_linear(1).then(|| {
                let x = cx.known(0);
                select_and_gather::build(cx.b, x, ct, &window, direction).into()
            });
            let init = cx.is_linear(2).then(|| unbroadcast(cx.b, ct, &[]).into());
            vec![None, source, init]
        })
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        let window = with_first(WindowDim::IDENTITY, &window(op));
        match mapped[2] {
            false => Batched::leading_of(op, |i| i < 2, window_attrs(&window, NAMES)),
            true => Batched::expanded(|cx| {
                if SelectAndScatter.linear(&cx.op) == Linear::No {
                    return Err(
                        "its initial value differs along the batch, and it does not sum elements in their own type",
                    );
                }
                let (zero, init) = (make::number(cx.b, cx.op.result_tensor(0).dtype, 0), cx.operands[2]);
                let operands = [cx.operands[0], cx.operands[1], zero];
                let sums = same_op(&cx.op, &operands, cx.cloner, cx.b)[0];
                let init = make::broadcast_scalar(cx.b, init, cx.op.result_shape(0));
                Ok(vec![make::add(cx.b, sums, init)])
            }),
        }
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let types = counted_tensors(op, 3..=3, 2)?;
        let (operand, source) = (types[0], types[1]);
        let mut check = Check::new(op);
        let has_sizes = operand.rank() == 0 || op.attr("window_dimensions").is_some();
        check.that("select_and_scatter_i4", has_sizes, "`window_dimensions` may be absent for rank 0 only").so_far()?;
        let window = read_window(op, &mut check, NAMES, None, operand.rank(), &LABELS);
        let fits = places(&window, &operand.shape).is_some_and(|p| p == source.shape.to_vec());
        let scalar = Type::tensor(operand.dtype, vec![]);
        let (args, gives) = region_types(op, 0);
        let selects = args == [scalar.clone(), scalar.clone()] && gives == [Type::tensor(DType::I1, vec![])];
        // Quantized elements cannot be promoted, because another quantized type may not keep the order in which they
        // are selected.
        let promotes = |to: &DType| {
            operand.dtype == *to || (operand.dtype.quantized().is_none() && is_promotable(operand.dtype, *to))
        };
        let sums = sums_in(op).filter(promotes);
        check
            .that(
                "select_and_scatter_c1",
                operand.dtype == source.dtype,
                "operand and source must have the same element type",
            )
            .that("select_and_scatter_c2", fits, "the source must have one element for each window")
            .that(
                "select_and_scatter_c3",
                *op.operand_type(2) == scalar,
                "the initial value must be a scalar of the operand's element type",
            )
            .that(
                "select_and_scatter_c9",
                selects,
                "`select` must take two scalars of the operand's element type, and return a tensor<i1>",
            )
            .that(
                "select_and_scatter_c10",
                sums.is_some(),
                "`scatter` must take two scalars of one type and return a scalar of it; its elements must be of the \
                 operand's kind and no narrower, and of the operand's own type if they are quantized",
            );
        check.give_tensor(sums.unwrap_or(operand.dtype), operand.shape.to_vec())
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        RuleFact::Rule(rule(op, |dim| self.movement(op, Blocks::OfResults(dim)).is_some()))
    }

    /// Returns a rule that separates the dimensions of the source along which windows move from those of the operand,
    /// as Shardy's does.
    fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact {
        let rule = RuleFact::Rule(rule(op, |_| false));
        if is_conservative { rule.map(blocked_unless_pass_through) } else { rule }
    }

    answer!(usual but movement, propagation_rule, reducer, eval_copies);

    /// Reads, for a block of the result along a dimension, the windows that touch it: their elements of the source, and
    /// all elements of the operand that they select from. Windows that do not exist add zeros. Returns `None` for a
    /// block of an operand, if the windows are padded along the dimension, if the op does not sum, or if a number
    /// overflows.
    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let w = window(op)[dim];
        let is_sum = reducer::reduce_kind(op.module, op.body, op.regions()[1]) == Some(ReduceKind::Add);
        // Padding is never selected, but elements of other blocks may be.
        if (w.low, w.high) != (0, 0) || !is_sum {
            return None;
        }
        let (size, stride) = (i64::try_from(w.size).ok()?, i64::try_from(w.stride).ok()?);
        let halo = (size - 1) / stride * stride;
        let with_extent = |extent: i64| Read { extent, ..Read::elements(dim, 1, halo) };
        let operand = with_extent(size.checked_sub(stride)?.checked_add(halo)?.checked_add(1)?);
        let source = Read {
            operand: 1,
            base: stride,
            fill: Fill::Nothing,
            ..with_extent(halo.checked_sub(stride)?.checked_add(2)?)
        };
        Some(Movement::new(dim, vec![operand, source], of_windows))
    }

    answer!(reducer = REDUCER);
    answer!(eval_copies = true);
    answer!(per_part = Other);

    fn eval(&self, op: &OpView<'_>, x: &[Literal], regions: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let selected = select(op, &window(op), &x[0], regions)?;
        let kind = reducer::reduce_kind(op.module, op.body, op.regions()[1]);
        let sum = match kind.filter(|&k| eval::can_combine(k, x[1].dtype())) {
            Some(kind) => scatter(kind, &x[1], &x[2], x[0].shape(), &selected),
            None => scatter_by_region(op, &x[1], &x[2], &selected, regions)?,
        };
        Ok(vec![sum])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let size: usize = window(op).iter().map(|w| w.size).product();
        Cost::streams(op, 0.0).with_flops((op.operand_tensor(1).size() * size) as f64)
    }

    fn linear(&self, op: &OpView<'_>) -> Linear {
        // The initial value is a summand of every element.
        let kind = reducer::reduce_kind(op.module, op.body, op.regions()[1]);
        reducer::linear_if_sum(op, kind, Linear::In(0b110))
    }

    answer!(
        example = r#"func.func @main(%arg0: tensor<6x6xf32>, %arg1: tensor<6x3xf32>, %arg2: tensor<f32>) -> tensor<6x6xf32> {
  %0 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.compare GE, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
    %1 = stablehlo.add %arg3, %arg4 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<6x6xf32>, tensor<6x3xf32>, tensor<f32>) -> tensor<6x6xf32>
  return %0 : tensor<6x6xf32>
}"#
    );
}

/// Returns the rule. A dimension along which windows move is one factor of operand, source and result if `is_shared`,
/// and otherwise one factor of the source and another of the operand and the result.
fn rule(op: &OpView<'_>, is_shared: impl Fn(usize) -> bool) -> Rule {
    let (window, shape, source) = (window(op), op.operand_shape(0), op.operand_shape(1));
    let mut rule = RuleBuilder::new([shape.len(), source.len(), 0], [shape.len()]);
    for (d, &size) in shape.iter().enumerate() {
        if window[d].is_identity() {
            rule.add_factor(&[Some(d), Some(d), None], &[Some(d)], FactorSpec::pass_through(size));
        } else if is_shared(d) {
            rule.add_factor(&[Some(d), Some(d), None], &[Some(d)], FactorSpec::permutation(size));
        } else {
            rule.add_factor(&[None, Some(d), None], &[None], FactorSpec::need_replication(source[d]));
            rule.add_factor(&[Some(d), None, None], &[Some(d)], FactorSpec::permutation(size));
        }
    }
    rule.build()
}

fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let ty = cx.result_types[0].as_tensor().expect("a tensor").clone();
    let (block, all) = (&ty.shape, window(&cx.op));
    cx.result_types = vec![Type::tensor(ty.dtype, cx.builder.body.ty(cx.operands[0]).shape())];
    let mut result = cx.same_op_with(cx.op.attrs().clone())[0];
    for WindowsDim { dim, .. } in cx.dims.clone() {
        let (size, first) = (cx.operand_size(0, dim), (all[dim].size - 1) / all[dim].stride * all[dim].stride);
        let end = size.min(first + block[dim]);
        result = make::slice_dim(cx.builder, result, dim, first, end);
        // Elements between windows are not selected.
        let mut high = vec![0; block.len()];
        high[dim] = (first + block[dim] - end) as i64;
        if high[dim] > 0 {
            let none = vec![0; block.len()];
            result = make::pad(cx.builder, result, cx.operands[2], &none, &high, &none);
        }
    }
    vec![result]
}

/// Builds the op on operands of a type that can represent the numbers of both the operand's and the reducer's type.
/// Regions that compute in a narrower type convert from it without loss, and the result is converted from it.
fn promoted(op: &OpView<'_>, operands: &[Value], regions: &[Region], b: &mut Builder<'_>) -> Vec<Value> {
    let (from, to) = (op.operand_tensor(0).dtype, op.result_tensor(0));
    let both = holds_both(from, to.dtype);
    let source = make::convert(b, operands[1], to.dtype);
    let init = make::convert(b, operands[2], to.dtype);
    let operands = [operands[0], source, init].map(|x| make::convert(b, x, both));
    let select = on_wider(b, regions[0], [both, from], DType::I1);
    let scatter = match reducer::reduce_kind(op.module, op.body, op.regions()[1]) {
        _ if both == to.dtype => regions[1],
        // Sums of narrow floats are computed in `f32` and rounded once.
        Some(kind) => reducer::reduction_region(b, kind, both),
        None => on_wider(b, regions[1], [both, to.dtype], both),
    };
    let ty = Type::tensor(both, to.shape.clone());
    let made = b.op_with_regions(op.data().code, operands, op.attrs().clone(), vec![select, scatter], [ty]);
    let result = b.body[made].results[0];
    vec![make::convert(b, result, to.dtype)]
}

/// Returns a type to which numbers of both types can be converted and back without a change. `from` must be promotable
/// to `to`. Integers may wrap on the way.
fn holds_both(from: DType, to: DType) -> DType {
    match to {
        DType::F64 => DType::F64,
        _ if from.is_float() => DType::F32,
        _ => to,
    }
}

/// Builds a region with arguments of type `wide`, which are converted to the region's own type `own`. Its result is
/// converted to `result`. Moves the ops out of `region`.
fn on_wider(b: &mut Builder<'_>, region: Region, [wide, own]: [DType; 2], result: DType) -> Region {
    let args = b.body[region].args.clone();
    let ops = std::mem::take(&mut b.body.region_mut(region).ops);
    let last = *ops.last().expect("a region has a terminator");
    let scalar = Type::tensor(wide, vec![]);
    b.region(&[scalar.clone(), scalar], |b, given| {
        let converted: Vec<Value> = given.iter().map(|&x| make::convert(b, x, own)).collect();
        b.body.region_mut(b.region).ops.extend(&ops[..ops.len() - 1]);
        let mut all = vec![last];
        b.body.walk_region(b.region, &mut all);
        for op in all {
            for operand in &mut b.body.op_mut(op).operands {
                if let Some(i) = args.iter().position(|a| a == operand) {
                    *operand = converted[i];
                }
            }
        }
        let value = b.body[last].operands[0];
        b.body.op_mut(last).operands[0] = make::convert(b, value, result);
        b.body.region_mut(b.region).ops.push(last);
    })
}

fn region_types(op: &OpView<'_>, region: usize) -> (Vec<Type>, Vec<Type>) {
    let region = op.regions()[region];
    (types_of(op, &op.body[region].args), types_of(op, op.body.region_results(region)))
}

fn sums_in(op: &OpView<'_>) -> Option<DType> {
    let (args, gives) = region_types(op, 1);
    let sum = gives.first()?.as_tensor().filter(|t| t.rank() == 0)?;
    (gives.len() == 1 && args == [gives[0].clone(), gives[0].clone()]).then_some(sum.dtype)
}

/// Returns the direction of the comparison that the select region computes, if it is `GE`, `GT`, `LE` or `LT` of its
/// first argument and its second, by value, and these are not complex. Returns `None` otherwise.
fn comparison(op: &OpView<'_>) -> Option<&'static str> {
    let region = op.regions()[0];
    let compare = op.at(op.body.def_op(op.body.region_results(region)[0])?);
    let is_plain = compare.operands() == &op.body[region].args[..];
    direction_of(&compare).filter(|_| is_plain)
}

/// Returns the direction of a comparison, if it is `GE`, `GT`, `LE` or `LT` by value of elements that are not complex.
/// Returns `None` for other comparisons and other ops.
pub(super) fn direction_of(compare: &OpView<'_>) -> Option<&'static str> {
    let is_plain = compare.name() == "stablehlo.compare"
        && !compare.operand_tensor(0).dtype.is_complex()
        && !Compare::is_total_order(compare);
    let direction = compare.attrs().str("comparison_direction").filter(|_| is_plain)?;
    ["GE", "GT", "LE", "LT"].into_iter().find(|&d| d == direction)
}

fn accepts(direction: &str) -> fn(Ordering) -> bool {
    match direction {
        "GE" => Ordering::is_ge,
        "GT" => Ordering::is_gt,
        "LE" => Ordering::is_le,
        _ => Ordering::is_lt,
    }
}

fn compare(a: Number, b: Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Bool(a), Number::Bool(b)) => Some(a.cmp(&b)),
        (Number::Signed(a), Number::Signed(b)) => Some(a.cmp(&b)),
        (Number::Unsigned(a), Number::Unsigned(b)) => Some(a.cmp(&b)),
        (Number::Single(a), Number::Single(b)) => a.partial_cmp(&b),
        (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
        _ => None,
    }
}

/// Returns the position of the element that each window selects, or `None` for a window of padding only. Fails if the
/// region does.
fn select(
    op: &OpView<'_>,
    window: &[WindowDim],
    x: &Literal,
    regions: &mut dyn RegionEval,
) -> Result<Data<Option<usize>>, EvalError> {
    let x = x.to_dense();
    let native = comparison(op).map(|direction| (accepts(direction), read_numbers(&x)));
    let mut keeps = |best: usize, i: usize| -> Result<bool, EvalError> {
        match &native {
            Some((accepts, get)) => Ok(compare(get(best), get(i)).is_some_and(accepts)),
            None => {
                let kept = regions.region(op.regions()[0], vec![x.element(best), x.element(i)])?;
                Ok(kept[0].element_bytes(0)[0] != 0)
            }
        }
    };
    let mut out = Data::from_fn(op.operand_shape(1).iter().product(), |_| None);
    let (mut next, mut failed) = (out.iter_mut(), None);
    index::for_each_index(op.operand_shape(1), |place| {
        let mut best: Option<usize> = None;
        for_each_element(window, x.shape(), place, |at| {
            let Some(i) = at else { return };
            match best.map(|b| keeps(b, i)) {
                None | Some(Ok(false)) => best = Some(i),
                Some(Ok(true)) => {}
                Some(Err(e)) => failed = Some(e),
            }
        });
        *next.next().expect("as many as there are places") = best;
    });
    failed.map_or(Ok(out), Err)
}

fn scatter(kind: ReduceKind, source: &Literal, init: &Literal, shape: &[usize], to: &[Option<usize>]) -> Literal {
    let (source, init) = (source.to_dense(), read_numbers(&init.to_dense())(0));
    let get = read_numbers(&source);
    let mut sums = Data::from_fn(shape.iter().product(), |_| init);
    for (i, place) in to.iter().enumerate() {
        if let Some(p) = *place {
            sums[p] = eval::combine(kind, sums[p], get(i));
        }
    }
    eval::fill(source.dtype(), shape, |i| sums[i])
}

fn scatter_by_region(
    op: &OpView<'_>,
    source: &Literal,
    init: &Literal,
    to: &[Option<usize>],
    regions: &mut dyn RegionEval,
) -> Result<Literal, EvalError> {
    let shape = op.result_shape(0);
    let mut sums = Literal::splat(init.dtype(), shape, init.element_bytes(0)).to_dense();
    for (i, place) in to.iter().enumerate() {
        let Some(p) = *place else { continue };
        let args = vec![sums.element(p), source.element(i)];
        let sum = regions.region(op.regions()[1], args)?.remove(0);
        let width = sum.dtype().storage_bytes();
        sums.bytes_mut()[p * width..][..width].copy_from_slice(sum.element_bytes(0));
    }
    Ok(sums)
}
