//! Returns and calls: what holds a program together.

use crate::Opcode;
use crate::facts::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};

/// Ends a region; its operands are what the region gives.
pub struct Return;

/// Calls a function of the module.
pub struct Call;

/// Facts that an op without values of its own to describe has.
macro_rules! structural {
    ($semantics:expr) => {
        fn propagation_class(&self, _: &OpView<'_>) -> PropagationClass {
            PropagationClass::Other
        }
        fn data_flow(&self, _: &OpView<'_>) -> DataFlow {
            DataFlow::None
        }
        fn combine(&self, _: &OpView<'_>) -> Combine {
            Combine::No("it has no factors")
        }
        fn neutral(&self, _: &OpView<'_>, _: usize) -> Option<Literal> {
            None
        }
        fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
            Ok(cx.same_op())
        }
        fn semantics(&self, _: &OpView<'_>) -> Semantics {
            $semantics
        }
        fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
            unreachable!("`{}` is run by the engine", op.name())
        }
        fn cost(&self, _: &OpView<'_>) -> Cost {
            Cost::default()
        }
        fn linear(&self, _: &OpView<'_>) -> Linear {
            Linear::Jointly
        }
        fn explicit(&self, _: &OpView<'_>) -> ExplicitPolicy {
            ExplicitPolicy::Not("it passes values on")
        }
    };
}

impl Facts for Return {
    fn infer(&self, _: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        Ok(vec![])
    }
    fn effects(&self, _: &OpView<'_>) -> Effects {
        Effects::Ordered
    }
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}"
    }
    structural!(Semantics::Control);
}

impl Facts for Call {
    /// The results of the callee; that there is one is the module verifier's to check.
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let callee = op.attrs().str("callee").and_then(|name| op.module.func(name));
        Ok(match callee {
            Some(f) => f.result_types.clone(),
            None => op.results().iter().map(|&v| op.body.ty(v).clone()).collect(),
        })
    }
    fn effects(&self, _: &OpView<'_>) -> Effects {
        Effects::Ordered
    }
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = call @f(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\nfunc.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}"
    }
    structural!(Semantics::Control);
}
