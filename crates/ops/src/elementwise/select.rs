//! `stablehlo.select` and `stablehlo.clamp`: elementwise ops of which some operands may be scalars.

use super::{MAXIMUM, MINIMUM};
use crate::Opcode;
use crate::eval::{self, with_element};
use crate::facts::*;
use crate::schema::*;
use crate::{check, check::Check};
use shardwise_base::{Bool8, DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};

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

    answer!(usual);
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

impl Facts for Clamp {
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
