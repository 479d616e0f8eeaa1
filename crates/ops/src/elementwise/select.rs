//! `stablehlo.select` and `stablehlo.clamp`: elementwise ops of which some operands may be scalars.

use super::{MAXIMUM, MINIMUM};
use crate::Opcode;
use crate::eval::{self, with_element};
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check, make};
use shardwise_base::{Bool8, DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Builder, OpView, Type, Value};

/// `select`, which takes each element from one of two tensors.
pub struct Select;

/// `clamp`, which keeps each element between two bounds.
pub struct Clamp;

impl Select {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::both("select_c2"),
        on_quantized: OnQuantized::Computes { which: "select_i1", alike: "select_c2" },
        syntax: Syntax::pieces(TERNARY, Types::Select),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

impl Facts for Select {
    answer!(derivative = linear);
    fn transpose(&self, _: &OpView<'_>) -> Transposed<'_> {
        Transposed::by(|cx| {
            let (ct, pred) = (cx.cotangent(), cx.known(0));
            let zeros = make::zeros(cx.b, cx.op.result_tensor(0));
            let on_true = cx.is_linear(1).then(|| make::select(cx.b, pred, ct, zeros).into());
            let on_false = cx.is_linear(2).then(|| make::select(cx.b, pred, zeros, ct).into());
            vec![None, on_true, on_false]
        })
    }
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        scalars_to_shape(op, mapped, &[0], 1)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [pred, on_true, on_false] = check::tensors(op)?;
        let fits = pred.rank() == 0 || pred.shape == on_true.shape;
        Check::new(op)
            .that("select_i1", pred.dtype == DType::I1, "`pred` must be of type i1")
            .that("select_c1", fits, "`pred` must be a scalar or have the shape of the other operands")
            .that("select_c2", on_true == on_false, "`on_true` and `on_false` must have the same type")
            .give([on_true.clone().into()])
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (pred, on_true, on_false) = (&x[0], &x[1], &x[2]);
        if pred.is_splat() || pred.rank() == 0 {
            let chosen = if pred.get::<Bool8>(0).into() { on_true } else { on_false };
            return Ok(vec![chosen.clone()]);
        }
        let chosen = with_element!(on_true.dtype(), T => {
            let pairs = eval::zip_fn::<T>(on_true, on_false);
            let picks = pred.as_slice::<Bool8>();
            Literal::from_fn::<T>(pred.shape(), |i| pairs(picks[i].into(), i))
        });
        Ok(vec![chosen])
    }

    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        (op.operand(1) == op.operand(2) && op.body.ty(op.operand(1)) == op.body.ty(op.result(0))).then(|| op.operand(1))
    }

    answer!(usual but forwards);
    answer!(elementwise);
    answer!(cost = streams(1.0));
    answer!(linear = In(0b110));
    answer!(
        example = "func.func @main(%arg0: tensor<2xi1>, %arg1: tensor<2xf32>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<2xi1>, tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}

impl Clamp {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::both("clamp_c4"),
        on_quantized: OnQuantized::Computes { which: "clamp_i1", alike: "clamp_c3" },
        syntax: Syntax::pieces(TERNARY, Types::Same),
        names: Names::Numbered,
        role: Role::Plain,
    };
}

fn spread(b: &mut Builder<'_>, x: Value, shape: &[usize]) -> Value {
    if b.body.ty(x).shape().len() == shape.len() { x } else { make::broadcast_scalar(b, x, shape) }
}

/// Returns how a batch of an op is computed whose operands `scalars` may be scalars while operand `whole` has the
/// result's shape. A scalar that differs along the batch is repeated along all other dimensions, and one that does not
/// stays a scalar.
fn scalars_to_shape<'f>(op: &OpView<'_>, mapped: &[bool], scalars: &'static [usize], whole: usize) -> Batched<'f> {
    let is_scalar = move |op: &OpView<'_>, i: usize| {
        scalars.contains(&i) && op.operand_shape(i).is_empty() && !op.operand_shape(whole).is_empty()
    };
    let count = mapped.len();
    if !(0..count).any(|i| is_scalar(op, i) && mapped[i]) {
        return Batched::leading_of(op, |i| !is_scalar(op, i), op.attrs().clone());
    }
    Batched::by("its scalar operands differ along the batch", move |cx| {
        let shape = with_first(cx.size, cx.op.operand_shape(whole));
        let whole = |cx: &mut crate::batch::BatchCx<'_, '_, '_>, i: usize| match (is_scalar(&cx.op, i), cx.mapped[i]) {
            (false, _) => cx.with_leading(i),
            (true, true) => make::broadcast_in_dim(cx.b, cx.operands[i], &shape, &[0]),
            (true, false) => cx.operands[i],
        };
        let operands: Vec<Value> = (0..count).map(|i| whole(cx, i)).collect();
        let attrs = cx.op.attrs().clone();
        Ok(cx.leading_op(&operands, attrs))
    })
}

impl Facts for Clamp {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::by(|cx| {
            let [min, x, max] = [0, 1, 2].map(|i| spread(cx.b, cx.operands[i], cx.op.result_shape(0)));
            let zeros = make::zeros(cx.b, cx.op.result_tensor(0));
            let parts = [0, 1, 2].map(|i| {
                let tangent = spread(cx.b, cx.tangents[i]?, cx.op.result_shape(0));
                let above = |b: &mut Builder<'_>, from, to| make::compare(b, "GT", from, to);
                // Where `min` exceeds `max`, the result is `max`. Where they are equal, an element below them has no
                // derivative, as in JAX.
                let counts = match i {
                    0 => {
                        let (low, in_order) = (above(cx.b, min, x), above(cx.b, max, min));
                        make::and(cx.b, low, in_order)
                    }
                    1 => {
                        let (low, high) = (above(cx.b, x, min), above(cx.b, max, x));
                        make::and(cx.b, low, high)
                    }
                    _ => {
                        let (high, crossed) = (above(cx.b, x, max), above(cx.b, min, max));
                        make::or(cx.b, high, crossed)
                    }
                };
                Some(make::select(cx.b, counts, tangent, zeros))
            });
            vec![cx.sum(parts)]
        })
    }
    answer!(transpose = none("it is not linear"));
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        scalars_to_shape(op, mapped, &[0, 2], 1)
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [min, x, max] = check::tensors(op)?;
        let fits = |bound: &shardwise_ir::TensorType| bound.rank() == 0 || bound.shape == x.shape;
        let one_type = min.dtype == x.dtype && max.dtype == x.dtype;
        Check::new(op)
            .that("clamp_c1", fits(min), "`min` must be a scalar or have the operand's shape")
            .that("clamp_c2", fits(max), "`max` must be a scalar or have the operand's shape")
            .that("clamp_c3", one_type, "the bounds must have the operand's element type")
            .give([x.clone().into()])
    }

    fn eval(&self, _: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let shape = x[1].shape();
        let (min, max) = (eval::spread(&x[0], shape), eval::spread(&x[2], shape));
        let clamped = MAXIMUM.apply(&x[1], &min).and_then(|y| MINIMUM.apply(&y, &max));
        Ok(vec![clamped.expect("all types have a maximum and a minimum")])
    }

    answer!(usual);
    answer!(elementwise);
    answer!(cost = streams(2.0));
    answer!(linear = No);
    answer!(
        example = "func.func @main(%arg0: tensor<f32>, %arg1: tensor<2xf32>, %arg2: tensor<f32>) -> tensor<2xf32> {
  %0 = stablehlo.clamp %arg0, %arg1, %arg2 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calculus_test::check_derivative;
    use crate::shard_test::module_of;

    #[test]
    fn a_minimum_above_the_maximum_does_not_count() {
        let x = [[0.5f64; 3], [0.0, -1.0, 0.75], [-0.5; 3]].map(|numbers| Literal::new([3], &numbers));
        let module = module_of(&x, |_, b, args| {
            let v = make::clamp(b, args[0], args[1], args[2]);
            b.body.def_op(v).expect("made just now")
        });
        check_derivative(&module, &x, &[0, 1, 2]);
        (0..3).for_each(|i| check_derivative(&module, &x, &[i]));
    }
}
