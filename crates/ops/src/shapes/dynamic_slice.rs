//! `stablehlo.dynamic_slice`: a block of constant size at a computed position, which is clamped so that the block is
//! inside the array.

use crate::batch::BatchCx;
use crate::facts::*;
use crate::index::IndexDims;
use crate::reducer::nothing;
use crate::schema::*;
use crate::{Opcode, check, check::Check, constant_operand, eval, eval::Layout, make};
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct DynamicSlice;

pub(super) fn check_starts(
    c: &mut Check<'_, '_>,
    starts: &[&TensorType],
    rank: usize,
    [count, scalars, same]: [&'static str; 3],
) {
    c.that(count, starts.len() == rank, "there must be a start index for each dimension")
        .that(
            scalars,
            starts.iter().all(|t| t.rank() == 0 && t.dtype.is_integer()),
            "start indices must be scalar integers",
        )
        .that(same, starts.windows(2).all(|w| w[0] == w[1]), "start indices must have one type");
}

pub(super) fn clamped_starts(indices: &[Literal], shape: &[usize], sizes: &[usize]) -> Vec<usize> {
    let clamp = |(d, index): (usize, &Literal)| index.get_i128(0).clamp(0, (shape[d] - sizes[d]) as i128) as usize;
    indices.iter().enumerate().map(clamp).collect()
}

pub(super) fn clamped_start(b: &mut Builder<'_>, index: Value, most: usize) -> Value {
    let dtype = make::type_of(b, index).dtype;
    // Unsigned 64-bit indices may exceed i64, so they are clamped before the conversion.
    let index = if dtype == DType::U64 {
        let bound = make::number(b, dtype, most as i64);
        make::minimum(b, index, bound)
    } else {
        index
    };
    let wide = make::convert(b, index, DType::I64);
    let (zero, bound) = (make::number(b, DType::I64, 0), make::number(b, DType::I64, most as i64));
    let above = make::maximum(b, wide, zero);
    make::minimum(b, above, bound)
}

/// Builds the start index 0 for the leading dimension of a batch, in the type of operand `first`, which is the first
/// start index of the op. It is of type `i32` if the op has no start indices.
pub(super) fn first_start(cx: &mut BatchCx<'_, '_, '_>, first: usize) -> Value {
    let dtype = cx.op.operands().get(first).map_or(DType::I32, |_| cx.op.operand_tensor(first).dtype);
    make::number(cx.b, dtype, 0)
}

/// Builds the start indices of a batch of blocks as one array, with a row for each block. Operand `first` is the first
/// start index of the op, which must have one.
pub(super) fn indices(cx: &mut BatchCx<'_, '_, '_>, first: usize) -> Value {
    let columns: Vec<Value> = (first..cx.operands.len())
        .map(|i| {
            let starts = cx.with_leading(i);
            make::reshape(cx.b, starts, &[cx.size, 1])
        })
        .collect();
    make::concatenate(cx.b, &columns, 1)
}

/// Returns the dimension numbers of a gather of blocks of rank `rank`, whose start indices are the rows of a matrix. If
/// `is_batched`, the operand has a leading dimension with an array for each block. Otherwise, all blocks are in one
/// array.
pub(super) fn block_dims(rank: usize, is_batched: bool) -> IndexDims {
    let batch: Vec<usize> = (0..usize::from(is_batched)).collect();
    IndexDims {
        window: (1..=rank).collect(),
        collapsed: vec![],
        operand_batching: batch.clone(),
        indices_batching: batch.clone(),
        index_map: (0..rank).map(|d| d + batch.len()).collect(),
        index_vector_dim: 1,
    }
}

impl DynamicSlice {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("slice_sizes", Some("dynamic_slice_i3"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::of("dynamic_slice_c5", "dynamic_slice_c1"),
        on_quantized: OnQuantized::Moves("dynamic_slice_i1"),
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::OperandsAndComma,
                Piece::Text("sizes = "),
                Piece::Attr("slice_sizes", Written::Ints),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the shape of the slice.
    pub fn sizes(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("slice_sizes")
    }

    /// Builds the attributes of a dynamic slice of this shape.
    pub fn attrs(sizes: &[usize]) -> Attrs {
        Attrs::new().with("slice_sizes", Attr::sizes(sizes))
    }
}

impl Facts for DynamicSlice {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let update = cx.cotangent();
            let starts: Vec<Value> = (1..cx.operands.len()).map(|i| cx.known(i)).collect();
            let mut cotangents = vec![None; cx.operands.len()];
            cotangents[0] = cx.is_linear(0).then_some(Cotangent::Block { update, starts });
            cotangents
        })
    }
    fn batch(&self, _: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        if mapped[1..].contains(&true) {
            return Batched::by("slices that start at different positions are a gather", |cx| {
                let (dims, indices) = (block_dims(cx.op.operands().len() - 1, cx.mapped[0]), indices(cx, 1));
                let sizes = DynamicSlice::sizes(&cx.op);
                let sizes = if cx.mapped[0] { with_first(cx.size.min(1), &sizes) } else { sizes };
                Ok(vec![make::gather(cx.b, cx.operands[0], indices, &dims, &sizes)])
            });
        }
        Batched::by("the batch is a dimension of the slice, which needs a start index", |cx| {
            let sizes = with_first(cx.size, &DynamicSlice::sizes(&cx.op));
            let starts = with_first(first_start(cx, 1), &cx.operands[1..]);
            Ok(vec![make::dynamic_slice(cx.b, cx.operands[0], &starts, &sizes)])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let operands = check::counted_tensors(op, 1..=check::MANY, 0)?;
        let (x, sizes) = (operands[0], check::sizes(op, "slice_sizes")?);
        let mut c = Check::new(op);
        check_starts(&mut c, &operands[1..], x.rank(), ["dynamic_slice_c2", "dynamic_slice_i2", "dynamic_slice_c3"]);
        c.that("dynamic_slice_c2", sizes.len() == x.rank(), "there must be a slice size for each dimension")
            .so_far()?;
        let fits = sizes.iter().zip(&x.shape).all(|(a, b)| a <= b);
        c.that("dynamic_slice_c4", fits, "slice sizes must not exceed the operand's sizes").give_tensor(x.dtype, sizes)
    }

    /// Lets dimensions that are taken whole pass through. Along the others elements move if the start is constant. If
    /// it is not, each device takes the part of the slice that is in its block, and the parts are combined.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let starts = vec![None; op.operands().len() - 1];
        let mut rule = rule_builder(op);
        let in_operands = |dim| [vec![dim], starts.clone()].concat();
        for d in 0..x.len() {
            if x[d] == y[d] {
                rule.add_factor_to_all(d, FactorSpec::pass_through(x[d]));
            } else if known_start(op, d).is_some() {
                rule.add_factor_to_all(d, FactorSpec::permutation(x[d]).blocked_if(true));
            } else {
                rule.add_factor(&in_operands(Some(d)), &[None], FactorSpec::reduction(x[d]));
                rule.add_factor(&in_operands(None), &[Some(d)], FactorSpec::need_replication(y[d]));
            }
        }
        RuleFact::Rule(rule.build())
    }

    fn combine(&self, op: &OpView<'_>) -> Combine {
        combine_parts(op.operand_tensor(0).dtype)
    }

    /// Returns `None`: a start is clamped by the size of the dimension, so that padding would change the result.
    fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
        None
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (shape, sizes) = (x[0].shape(), op.result_shape(0));
        let starts = clamped_starts(&x[1..], shape, sizes);
        let from = Layout::block(shape, &starts, &vec![1; shape.len()]);
        Ok(vec![eval::gather(&x[0], &from, sizes)])
    }

    /// Builds the slice with the local result's sizes, so that a dimension that is taken whole stays whole. If the
    /// operand is sharded along a dimension that is not taken whole, builds the part of the slice that is in the device's
    /// block.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let (x, y) = (cx.op.operand_shape(0), cx.op.result_shape(0));
        let sizes = cx.result_types[0].shape().to_vec();
        let sharding = cx.operand_shardings[0].clone();
        let is_cut = |s: &Sharding, d: usize| x[d] != y[d] && !s.dims[d].axes.is_empty();
        let cut: Vec<usize> = (0..x.len()).filter(|&d| sharding.as_ref().is_some_and(|s| is_cut(s, d))).collect();
        match sharding {
            Some(sharding) if !cut.is_empty() => {
                let part = PartOfSlice { global: x, slice: y, sizes: &sizes, sharding: &sharding, cut: &cut };
                Ok(vec![part.build(cx.builder, cx.operands)])
            }
            _ => Ok(cx.same_op_with(cx.op.attrs().clone().with("slice_sizes", Attr::sizes(&sizes)))),
        }
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let bytes = op.result_tensor(0).bytes();
        Cost { flops: 0.0, bytes_read: bytes, bytes_written: bytes }
    }

    answer!(usual but enlarged, movement, propagation_rule);
    answer!(enlarged = sizes("slice_sizes"));

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let start = known_start(op, dim)? as i64;
        Some(Movement::new(dim, vec![Read::elements(dim, 1, -start)], of_windows))
    }

    /// Returns the rule of Shardy: dimensions that are not taken whole must be whole, and nothing propagates along
    /// them.
    fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
        let cut = |size| FactorSpec::need_replication(size).blocked_if(true);
        RuleFact::Rule(rule_builder(op).add_pointwise_or(op.operand_shape(0), op.result_shape(0), cut).build())
    }

    answer!(pure);
    answer!(class = DynamicSlice);
    answer!(linear = In(1));
    /// Keeps the sharding of a dimension that is not taken whole, as JAX does, if it divides the slice's size evenly.
    /// Otherwise the dimension of the result is whole, where JAX fails. Data moves in both cases.
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::ByPropagation
    }
    answer!(example = "func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [4, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}");
}

fn rule_builder(op: &OpView<'_>) -> RuleBuilder {
    let starts = vec![0; op.operands().len() - 1];
    RuleBuilder::new([op.operand_shape(0).len()].into_iter().chain(starts), [op.result_shape(0).len()])
}

fn known_start(op: &OpView<'_>, dim: usize) -> Option<usize> {
    let most = op.operand_shape(0)[dim] - op.result_shape(0)[dim];
    Some(constant_operand(op, 1 + dim)?.get_i128(0).clamp(0, most as i128) as usize)
}

fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    if cx.is_first_operand() {
        return vec![cx.operands[0]];
    }
    let mut sizes = DynamicSlice::sizes(&cx.op);
    for WindowsDim { dim, .. } in cx.dims.clone() {
        sizes[dim] = cx.operand_size(0, dim);
    }
    cx.same_op_with(DynamicSlice::attrs(&sizes))
}

/// A device's part of a slice of an array that is sharded along the dimensions `cut`: the elements that are in the
/// device's block. All other elements are [`nothing`].
pub(super) struct PartOfSlice<'a> {
    /// The shapes of the whole operand and of the whole slice.
    pub global: &'a [usize],
    pub slice: &'a [usize],
    /// The shape of the slice on a device.
    pub sizes: &'a [usize],
    pub sharding: &'a Sharding,
    pub cut: &'a [usize],
}

impl PartOfSlice<'_> {
    /// Builds the part. `operands` are the device's block and the start in each dimension.
    pub fn build(&self, b: &mut Builder<'_>, operands: &[Value]) -> Value {
        let local = make::type_of(b, operands[0]).clone();
        let starts: Vec<Value> =
            (0..self.global.len()).map(|d| self.start(b, operands[1 + d], d, local.shape[d])).collect();
        if self.cut.iter().all(|&d| self.sizes[d] == 1) {
            return self.masked(b, operands[0], &starts, &local);
        }
        self.widened(b, operands[0], &starts, &local)
    }

    fn start(&self, b: &mut Builder<'_>, index: Value, d: usize, local: usize) -> Value {
        if self.global[d] == self.slice[d] {
            return make::number(b, DType::I64, 0);
        }
        let inside = clamped_start(b, index, self.global[d] - self.slice[d]);
        if !self.cut.contains(&d) {
            return inside;
        }
        let axes: &[AxisRef] = &self.sharding.dims[d].axes;
        let block = make::block_start(b, &self.sharding.mesh, axes, local, DType::I64);
        make::subtract(b, inside, block)
    }

    /// Builds a slice of elements of the block, and replaces it by [`nothing`] if another device has the right
    /// elements. The slice has a single element along each dimension `cut`.
    fn masked(&self, b: &mut Builder<'_>, x: Value, starts: &[Value], local: &TensorType) -> Value {
        let slice = make::dynamic_slice(b, x, starts, self.sizes);
        let mut found: Option<Value> = None;
        for &d in self.cut {
            let ends = [0, local.shape[d] as i64].map(|n| make::number(b, DType::I64, n));
            let (above, below) =
                (make::compare(b, "GE", starts[d], ends[0]), make::compare(b, "LT", starts[d], ends[1]));
            let within = make::and(b, above, below);
            found = Some(found.map_or(within, |f| make::and(b, f, within)));
        }
        let mask = make::broadcast_scalar(b, found.expect("it is cut"), self.sizes);
        let hidden = make::full(b, self.sizes, &nothing(local.dtype));
        make::select(b, mask, slice, hidden)
    }

    /// Builds the slice of the block with a margin of [`nothing`] on both sides. A slice that is farther away is taken
    /// from just outside the block.
    fn widened(&self, b: &mut Builder<'_>, x: Value, starts: &[Value], local: &TensorType) -> Value {
        let margin = |d: usize| if self.cut.contains(&d) { self.sizes[d] as i64 } else { 0 };
        let low: Vec<i64> = (0..local.rank()).map(margin).collect();
        let outside = make::constant(b, nothing(local.dtype));
        let wide = make::pad(b, x, outside, &low, &low, &vec![0; low.len()]);
        let starts: Vec<Value> = starts
            .iter()
            .zip(&low)
            .map(|(&start, &low)| {
                let low = make::number(b, DType::I64, low);
                make::add(b, start, low)
            })
            .collect();
        make::dynamic_slice(b, wide, &starts, self.sizes)
    }
}

/// Returns how elements are combined of which all devices but one have [`nothing`]: with `or` for booleans, with a sum
/// for other types, and not at all for `f8E8M0FNU`, which has no zero.
pub(crate) fn combine_parts(dtype: DType) -> Combine {
    match dtype {
        dtype if !dtype.has_zero() => Combine::No("its type has no zero"),
        dtype if dtype.is_bool() => Combine::With(ReduceKind::Or),
        _ => Combine::With(ReduceKind::Add),
    }
}
