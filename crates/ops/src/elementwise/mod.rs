//! Elementwise ops: families that differ by a scalar function.

use crate::Opcode;
use crate::facts::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};

/// Two operands of one type, a result of the same type.
pub struct Binary;

impl PureFacts for Binary {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        Ok(vec![op.operand_type(0).clone()])
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (a, b) = (x[0].to_dense(), x[1].to_dense());
        let sum: Vec<f32> = a.as_slice::<f32>().iter().zip(b.as_slice::<f32>()).map(|(a, b)| a + b).collect();
        Ok(vec![Literal::new(op.result_shape(0), &sum)])
    }
    answer!(rule = pointwise);
    answer!(class = Elementwise);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(cost = streams(1.0));
    answer!(linear = Jointly);
    answer!(explicit = by_rule);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    );
}
