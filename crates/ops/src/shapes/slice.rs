//! `stablehlo.slice`: every `stride`th element between constant start and limit indices.

use super::dynamic_slice::{PartOfSlice, combine_parts};
use super::{Join, Pad};
use crate::facts::*;
use crate::reducer::nothing;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Slice;

impl Slice {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[
            required("start_indices", Some("slice_i2"), AttrKind::Ints),
            required("limit_indices", Some("slice_i3"), AttrKind::Ints),
            required("strides", Some("slice_i4"), AttrKind::Ints),
        ],
        operands: Operands::Each,
        results: ResultLabels::of("slice_c5", "slice_c1"),
        on_quantized: OnQuantized::Moves("slice_i1"),
        syntax: Syntax::pieces(&[Piece::Operand, Piece::Text(" "), RANGES], Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the first index of the slice in each dimension.
    pub fn starts(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("start_indices")
    }

    /// Returns, for each dimension, the index before which the slice ends.
    pub fn limits(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("limit_indices")
    }

    /// Returns the step between two elements of the slice in each dimension.
    pub fn strides(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("strides")
    }

    /// Builds the attributes of a slice: every `strides[d]`th index from `starts[d]` on and before `limits[d]`.
    pub fn attrs(starts: &[usize], limits: &[usize], strides: &[usize]) -> Attrs {
        Attrs::new()
            .with("start_indices", Attr::sizes(starts))
            .with("limit_indices", Attr::sizes(limits))
            .with("strides", Attr::sizes(strides))
    }
}

impl Facts for Slice {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let (starts, strides) = (Slice::starts(op), Slice::strides(op));
        let (from, to) = (op.operand_shape(0).to_vec(), op.result_shape(0).to_vec());
        Transposed::by(move |cx| {
            let low: Vec<i64> = starts.iter().map(|&n| n as i64).collect();
            let interior: Vec<i64> = strides.iter().map(|&n| n as i64 - 1).collect();
            let end =
                |d: usize| starts[d] as i64 + to[d].saturating_sub(1) as i64 * strides[d] as i64 + i64::from(to[d] > 0);
            let high: Vec<i64> = (0..from.len()).map(|d| from[d] as i64 - end(d)).collect();
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                let zero = make::number(cx.b, cx.operand_tensor(0).dtype, 0);
                make::pad(cx.b, ct, zero, &low, &high, &interior)
            })
        })
    }
    fn batch(&self, _: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::by("its limits name the size of the batch", |cx| {
            let [starts, limits, strides] = [Slice::starts(&cx.op), Slice::limits(&cx.op), Slice::strides(&cx.op)];
            let attrs = Slice::attrs(&with_first(0, &starts), &with_first(cx.size, &limits), &with_first(1, &strides));
            Ok(cx.leading_op(&[cx.operands[0]], attrs))
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors(op)?;
        let (start, limit, strides) =
            (check::sizes(op, "start_indices")?, check::sizes(op, "limit_indices")?, check::sizes(op, "strides")?);
        let mut c = Check::new(op);
        let same_length = [&start, &limit, &strides].iter().all(|list| list.len() == x.rank());
        c.that("slice_c2", same_length, "there must be a start, a limit and a stride for each dimension").so_far()?;
        let in_bounds = (0..x.rank()).all(|d| start[d] <= limit[d] && limit[d] <= x.shape[d]);
        c.that("slice_c3", in_bounds, "each dimension needs 0 <= start <= limit <= size")
            .that("slice_c4", strides.iter().all(|&s| s > 0), "strides must be positive")
            .so_far()?;
        let shape: Vec<usize> = (0..x.rank()).map(|d| (limit[d] - start[d]).div_ceil(strides[d])).collect();
        c.give_tensor(x.dtype, shape)
    }

    /// Lets dimensions that are taken whole pass through. Along the others elements move. If a single element is taken,
    /// one device has it, and the parts of all devices are combined.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        for d in 0..x.len() {
            if takes_one(op, d) {
                rule.add_factor(&[Some(d)], &[None], FactorSpec::reduction(x[d]));
                rule.add_factor(&[None], &[Some(d)], FactorSpec::need_replication(1));
            } else if x[d] == y[d] {
                rule.add_factor_to_all(d, FactorSpec::pass_through(x[d]));
            } else {
                rule.add_factor_to_all(d, FactorSpec::permutation(x[d]));
            }
        }
        RuleFact::Rule(rule.build())
    }

    fn combine(&self, op: &OpView<'_>) -> Combine {
        combine_parts(op.operand_tensor(0).dtype)
    }

    fn neutral(&self, op: &OpView<'_>, _: usize) -> Option<Literal> {
        Some(nothing(op.operand_tensor(0).dtype))
    }

    fn enlarged(&self, op: &OpView<'_>, types: &Enlarged<'_>) -> Attrs {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let limits = Slice::limits(op).into_iter().enumerate();
        let limits: Vec<usize> =
            limits.map(|(d, limit)| if x[d] == y[d] { types.operands[0].shape()[d] } else { limit }).collect();
        // One element may be taken with any stride.
        let strides = Slice::strides(op).into_iter().enumerate();
        let strides: Vec<usize> = strides.map(|(d, stride)| if x[d] == y[d] { 1 } else { stride }).collect();
        Slice::attrs(&Slice::starts(op), &limits, &strides)
    }

    /// Returns the rule of Shardy, in which elements move along all dimensions that are not taken whole, even if a
    /// single element is taken. Conservative propagation does not propagate along these dimensions.
    fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let moved = |size| FactorSpec::permutation(size).blocked_if(is_conservative);
        RuleFact::Rule(RuleBuilder::new([x.len()], [y.len()]).add_pointwise_or(x, y, moved).build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let from = Layout::block(x[0].shape(), &op.sizes("start_indices"), &op.sizes("strides"));
        Ok(vec![eval::gather(&x[0], &from, op.result_shape(0))])
    }

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let (global, result) = (cx.op.operand_shape(0), cx.op.result_shape(0));
        let sharding = cx.operand_shardings[0].clone();
        let is_split = |d: &usize| sharding.as_ref().is_some_and(|s| !s.dims[*d].axes.is_empty());
        let cut: Vec<usize> = (0..global.len()).filter(|&d| takes_one(&cx.op, d)).filter(is_split).collect();
        if let (Some(sharding), false) = (&sharding, cut.is_empty()) {
            return Ok(vec![part_of_slice(cx, sharding, &cut)]);
        }
        let local = cx.builder.body.ty(cx.operands[0]).shape();
        let mut limit = cx.op.sizes("limit_indices");
        for d in (0..global.len()).filter(|&d| global[d] == result[d]) {
            limit[d] = local[d];
        }
        Ok(cx.same_op_with(cx.op.attrs().clone().with("limit_indices", Attr::sizes(&limit))))
    }

    answer!(forwards = same_type);
    answer!(index_bounds = none);
    answer!(usual but forwards, enlarged, movement, read_through, propagation_rule, constness);

    /// Returns the padding that adds less if a `pad` makes the operand, and otherwise the join of the operand's pieces.
    /// Returns `None` if there is none.
    fn read_through(&self, op: &OpView<'_>) -> Option<ReadThrough> {
        let is_cut = |d: &usize| op.operand_shape(0)[*d] != op.result_shape(0)[*d];
        let mut cut = (0..op.result_shape(0).len()).filter(is_cut);
        let (first, second) = (cut.next()?, cut.next());
        let padded = op.operand_def(0).filter(|def| Opcode::of_view(def) == Opcode::Pad);
        match (padded, second) {
            (Some(pad), _) => Pad::cut(&pad, op),
            (None, None) => Join::read_through(op, first),
            (None, Some(_)) => None,
        }
    }

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let (start, stride) = (op.sizes("start_indices")[dim], op.sizes("strides")[dim]);
        Some(Movement::new(dim, vec![Read::elements(dim, stride as i64, -(start as i64))], of_windows))
    }

    answer!(constness = OfOperands);
    answer!(pure);
    answer!(class = Other);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    /// Keeps the sharding of a dimension that is not taken whole, as JAX does, if it divides the slice's size evenly.
    /// Otherwise the dimension of the result is whole, where JAX fails. Data moves in both cases, unless each device
    /// has all elements of its block already.
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::ByPropagation
    }
    answer!(
        example = "func.func @main(%arg0: tensor<4x6xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.slice %arg0 [0:4, 1:5:2] : (tensor<4x6xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"
    );
}

fn takes_one(op: &OpView<'_>, dim: usize) -> bool {
    op.operand_shape(0)[dim] > 1 && op.result_shape(0)[dim] == 1
}

/// Builds the device's part of a slice that takes single elements along the sharded dimensions `cut`: the elements if
/// they are in its block, and [`nothing`] otherwise.
fn part_of_slice(cx: &mut LocalizeCx<'_, '_>, sharding: &Sharding, cut: &[usize]) -> Value {
    let local = cx.builder.body.ty(cx.operands[0]).shape().to_vec();
    let (mut slice, mut sizes) = (cx.op.operand_shape(0).to_vec(), local);
    let (mut starts, mut limits, mut strides) = (Slice::starts(&cx.op), Slice::limits(&cx.op), Slice::strides(&cx.op));
    cut.iter().for_each(|&d| (slice[d], sizes[d]) = (1, 1));
    let numbers = starts.iter().map(|&n| make::number(cx.builder, DType::I64, n as i64));
    let operands: Vec<Value> = std::iter::once(cx.operands[0]).chain(numbers).collect();
    let part = PartOfSlice { global: cx.op.operand_shape(0), slice: &slice, sizes: &sizes, sharding, cut };
    let part = part.build(cx.builder, &operands);
    for (d, &size) in sizes.iter().enumerate() {
        if cut.contains(&d) || cx.op.operand_shape(0)[d] == cx.op.result_shape(0)[d] {
            (starts[d], limits[d], strides[d]) = (0, size, 1);
        }
    }
    make::slice(cx.builder, part, &starts, &limits, &strides)
}

fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    let (mut start, mut limit) = (Slice::starts(&cx.op), Slice::limits(&cx.op));
    for WindowsDim { dim, .. } in cx.dims.clone() {
        (start[dim], limit[dim]) = (0, cx.operand_size(0, dim));
    }
    if cx.is_first_operand() {
        return vec![cx.operands[0]];
    }
    cx.same_op_with(Slice::attrs(&start, &limit, &Slice::strides(&cx.op)))
}
