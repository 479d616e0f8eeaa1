//! `stablehlo.dynamic_update_slice`: overwrites a block at a computed position, which is clamped so that the block is
//! inside the array.

use super::dynamic_slice::{block_dims, check_starts, clamped_start, clamped_starts, first_start, indices};
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{AxisRef, DType, Diagnostic, Diagnostics, Literal, Sharding};
use shardwise_ir::{Attrs, Builder, OpView, Type, Value};
use shardwise_sharding::{FactorKind, FactorSpec, Rule, RuleBuilder};

pub struct DynamicUpdateSlice;

impl DynamicUpdateSlice {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::both("dynamic_update_slice_c1"),
        on_quantized: OnQuantized::Moves("dynamic_update_slice_i1"),
        syntax: Syntax::pieces(OPERANDS, Types::Functional),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for DynamicUpdateSlice {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let ct = cx.cotangent();
            let starts: Vec<Value> = (2..cx.operands.len()).map(|i| cx.known(i)).collect();
            let block = cx.operand_tensor(1);
            let mut cotangents = vec![None; cx.operands.len()];
            cotangents[0] = cx.is_linear(0).then(|| {
                let zeros = make::zeros(cx.b, block);
                make::dynamic_update_slice(cx.b, ct, zeros, &starts).into()
            });
            cotangents[1] = cx.is_linear(1).then(|| make::dynamic_slice(cx.b, ct, &starts, &block.shape).into());
            cotangents
        })
    }
    fn batch(&self, _: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        if mapped[2..].contains(&true) {
            return Batched::by("updates that start at different positions are a scatter", |cx| {
                let (shape, update) = (cx.op.operand_shape(0), cx.op.operand_shape(1));
                let (dims, starts) = (block_dims(shape.len(), true), indices(cx, 2));
                // A scatter drops what is outside, where the op moves the whole block inside.
                let starts = dims.clamped(cx.b, starts, &with_first(cx.size, shape), &with_first(1, update));
                let (x, update) = (cx.with_leading(0), cx.with_leading(1));
                Ok(vec![make::scatter(cx.b, None, x, starts, update, dims.unique_scatter_attrs())])
            });
        }
        Batched::by("the batch is a dimension of the update, which needs a start index", |cx| {
            let (x, update) = (cx.with_leading(0), cx.with_leading(1));
            let starts = with_first(first_start(cx, 2), &cx.operands[2..]);
            Ok(vec![make::dynamic_update_slice(cx.b, x, update, &starts)])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let operands = check::counted_tensors(op, 2..=check::MANY, 0)?;
        let (x, update) = (operands[0], operands[1]);
        let mut c = Check::new(op);
        let labels = ["dynamic_update_slice_c4", "dynamic_update_slice_i3", "dynamic_update_slice_c5"];
        check_starts(&mut c, &operands[2..], x.rank(), labels);
        let same_rank = update.rank() == x.rank();
        let fits = update.shape.iter().zip(&x.shape).all(|(a, b)| a <= b);
        c.that("dynamic_update_slice_c2", update.dtype == x.dtype, "operand and update must have the same element type")
            .that("dynamic_update_slice_c3", same_rank, "operand and update must have the same rank")
            .that("dynamic_update_slice_c6", fits, "the update must not be larger than the operand")
            .give([x.clone().into()])
    }

    /// Makes dimensions that are updated whole common to all tensors. Along the others, operand and result have one
    /// factor, and the update has a factor of its own, which must be whole.
    ///
    /// Shardy lets the update's factor pass through if the position is a constant, which spreads shardings in the same
    /// way. But a device that has a part of the update cannot compute the result's block from it.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, update) = (op.operand_shape(0), op.operand_shape(1));
        let starts = op.operands().len() - 2;
        let ranks = [x.len(), update.len()].into_iter().chain(vec![0; starts]);
        let mut rule = RuleBuilder::new(ranks, [x.len()]);
        let in_operands = |first, second| [vec![first, second], vec![None; starts]].concat();
        for d in 0..x.len() {
            if x[d] == update[d] {
                rule.add_factor(&in_operands(Some(d), Some(d)), &[Some(d)], FactorSpec::pass_through(x[d]));
                continue;
            }
            rule.add_factor(&in_operands(Some(d), None), &[Some(d)], FactorSpec::pass_through(x[d]));
            rule.add_factor(&in_operands(None, Some(d)), &[None], FactorSpec::need_replication(update[d]));
        }
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (shape, update) = (op.result_shape(0), &x[1]);
        let starts = clamped_starts(&x[2..], shape, update.shape());
        let mut out = x[0].to_dense();
        let to = Layout::block(shape, &starts, &vec![1; shape.len()]);
        eval::copy(update, &Layout::whole(update.shape()), &mut out, &to, update.shape());
        Ok(vec![out])
    }

    /// Makes each device write the part of the update that is in its block, where the operand is sharded along a
    /// dimension that is updated in part.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let (x, update) = (cx.op.operand_shape(0), cx.op.operand_shape(1));
        let Some(sharding) = cx.operand_shardings[0].clone() else { return Ok(cx.same_op()) };
        let cut: Vec<usize> =
            (0..x.len()).filter(|&d| x[d] != update[d] && !sharding.dims[d].axes.is_empty()).collect();
        if cut.is_empty() {
            return Ok(cx.same_op());
        }
        let plan = Straddling { global: x, update, sharding: &sharding, cut: &cut };
        Ok(vec![plan.build(cx.builder, cx.operands)])
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let bytes = op.operand_tensor(1).bytes();
        Cost { flops: 0.0, bytes_read: bytes, bytes_written: bytes }
    }

    fn enlarged(&self, op: &OpView<'_>, _: &Enlarged<'_>) -> Attrs {
        op.attrs().clone()
    }
    fn index_bounds(&self, op: &OpView<'_>) -> Vec<IndexBound> {
        let (x, update) = (op.operand_shape(0), op.operand_shape(1));
        let cut = (0..x.len()).filter(|&d| update[d] != x[d]);
        cut.map(|dim| IndexBound { operand: 2 + dim, dim, most: x[dim] - update[dim] }).collect()
    }

    fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
        self.rule(op).map(|rule| if has_constant_starts(op) { with_split_updates(rule) } else { rule })
    }

    answer!(usual but enlarged, propagation_rule);
    answer!(pure);
    answer!(class = DynamicSlice);
    answer!(combine = none);
    answer!(linear = In(0b11));
    answer!(explicit = by_rule);
    answer!(example = "func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<i32>) -> tensor<4x6xf32> {
  %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : (tensor<4x6xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}");
}

/// An update that may cross the edges of a device's block along the dimensions `cut`.
///
/// The block is widened on both sides by the update's size. An update that is farther away is moved to just outside the
/// block, so that every update is inside the widened block. Then the added sides are removed again.
struct Straddling<'a> {
    global: &'a [usize],
    update: &'a [usize],
    sharding: &'a Sharding,
    cut: &'a [usize],
}

impl Straddling<'_> {
    fn build(&self, b: &mut Builder<'_>, operands: &[Value]) -> Value {
        let local = b.body.ty(operands[0]).clone();
        let dtype = local.as_tensor().expect("verified").dtype;
        let margin: Vec<usize> =
            (0..self.global.len()).map(|d| if self.cut.contains(&d) { self.update[d] } else { 0 }).collect();
        let zero = make::constant(b, Literal::zeros(dtype, vec![]));
        let low: Vec<i64> = margin.iter().map(|&m| m as i64).collect();
        let wide = make::pad(b, operands[0], zero, &low, &low, &vec![0; low.len()]);
        let starts: Vec<Value> = (0..low.len()).map(|d| self.start(b, operands[2 + d], d, local.shape()[d])).collect();
        let updated = make::dynamic_update_slice(b, wide, operands[1], &starts);
        let limit: Vec<usize> = local.shape().iter().zip(&margin).map(|(n, m)| n + m).collect();
        make::slice(b, updated, &margin, &limit, &vec![1; limit.len()])
    }

    fn start(&self, b: &mut Builder<'_>, index: Value, d: usize, local: usize) -> Value {
        let inside = clamped_start(b, index, self.global[d] - self.update[d]);
        if !self.cut.contains(&d) {
            return inside;
        }
        let axes: &[AxisRef] = &self.sharding.dims[d].axes;
        let block = make::block_start(b, &self.sharding.mesh, axes, local, DType::I64);
        let relative = make::subtract(b, inside, block);
        // `dynamic_update_slice` itself clamps to [0, local + update], which is just outside the block on either side.
        let margin = make::number(b, DType::I64, self.update[d] as i64);
        make::add(b, relative, margin)
    }
}

fn with_split_updates(mut rule: Rule) -> Rule {
    for spec in rule.factors.iter_mut().filter(|s| s.kind == FactorKind::NeedReplication && !s.is_blocked) {
        spec.kind = FactorKind::PassThrough;
    }
    rule
}

fn has_constant_starts(op: &OpView<'_>) -> bool {
    let def = |&v: &Value| op.body.def_op(v).map(|def| Opcode::of_view(&op.at(def)));
    op.operands()[2..].iter().all(|v| matches!(def(v), Some(Opcode::Constant | Opcode::SdyConstant)))
}
