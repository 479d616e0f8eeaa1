//! Elementwise ops: families that differ by a scalar function.

use crate::Opcode;
use crate::facts::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};

/// Two operands of one type, a result of the same type.
pub struct Binary;

impl Facts for Binary {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        Ok(vec![op.operand_type(0).clone()])
    }
    fn propagation_class(&self, _: &OpView<'_>) -> PropagationClass {
        PropagationClass::Elementwise
    }
    fn data_flow(&self, _: &OpView<'_>) -> DataFlow {
        DataFlow::None
    }
    fn combine(&self, _: &OpView<'_>) -> Combine {
        Combine::No("it reduces nothing")
    }
    fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
        None
    }
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(cx.same_op())
    }
    fn semantics(&self, _: &OpView<'_>) -> Semantics {
        Semantics::Pure
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (a, b) = (x[0].to_dense(), x[1].to_dense());
        let sum: Vec<f32> = a.as_slice::<f32>().iter().zip(b.as_slice::<f32>()).map(|(a, b)| a + b).collect();
        Ok(vec![Literal::new(op.result_shape(0), &sum)])
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        let t = op.result_tensor(0);
        Cost { flops: t.size() as f64, bytes_read: 2 * t.bytes(), bytes_written: t.bytes() }
    }
    fn effects(&self, _: &OpView<'_>) -> Effects {
        Effects::Pure
    }
    fn linear(&self, _: &OpView<'_>) -> Linear {
        Linear::Jointly
    }
    fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
        ExplicitPolicy::ByRule
    }
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = stablehlo.add %arg0, %arg0 : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    }
}
