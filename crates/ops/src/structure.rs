//! Returns and calls.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use std::sync::Arc;

/// `return`, which ends a region. Its operands are the results of the region.
pub struct Return;

/// `call`, which calls a function of the module.
pub struct Call;

impl Return {
    pub(crate) const RETURN: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(&[Piece::Dict, Piece::Operands], Types::Operands),
        names: Names::Numbered,
        role: Role::Terminator,
    };

    pub(crate) const REGION_RETURN: Schema = Schema {
        attributes: NONE,
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(OPERANDS, Types::Operands),
        names: Names::Numbered,
        role: Role::Terminator,
    };
}

impl Facts for Return {
    answer!(calculus = structure);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::counts(op, 0..=check::MANY, 0)?;
        Ok(vec![])
    }
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::RegionReturn => {
                "func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    reducer(%arg2: tensor<f32>, %arg3: tensor<f32>) {
    %1 = stablehlo.add %arg2, %arg3 : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}"
            }
            Opcode::SdyReturn => {
                r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg1: tensor<1xf32>) {
    sdy.return %arg1 : tensor<1xf32>
  } : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"#
            }
            _ => "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}",
        }
    }
    answer!(usual);
    answer!(rule = none("its operands are the results of the region"));
    answer!(run_by_engine);
    answer!(cost = streams(0.0));
    answer!(effects = Ordered);
    answer!(linear = Jointly);
    answer!(explicit = not("it passes values on"));
}

impl Call {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("callee", None, AttrKind::Symbol)],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::Any,
        syntax: Syntax::pieces(
            &[Piece::Attr("callee", Written::Symbol), Piece::Text("("), Piece::Operands, Piece::Text(")")],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the name of the function that is called, or `None` if the op is no `func.call` or its attribute is
    /// missing or broken.
    pub fn callee<'a>(op: &OpView<'a>) -> Option<&'a str> {
        op.attrs().str("callee").filter(|_| Opcode::of_view(op) == Opcode::Call)
    }

    /// Changes the attributes of a call to name another function.
    pub fn set_callee(attrs: &mut Attrs, callee: Arc<str>) {
        attrs.set("callee", Attr::Symbol(callee));
    }
}

impl Facts for Call {
    answer!(calculus = structure);
    /// Returns the result types of the callee, or the declared ones if the module has no such function, which the
    /// verifier of modules reports. Fails if the op has a region.
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::counts(op, 0..=check::MANY, 0)?;
        Ok(match Call::callee(op).and_then(|name| op.module.func(name)) {
            Some(f) => f.result_types.clone(),
            None => op.results().iter().map(|&v| op.body.ty(v).clone()).collect(),
        })
    }
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = call @f(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\nfunc.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n  return %arg0 : tensor<2xf32>\n}"
    }
    answer!(usual);
    answer!(rule = none("calls are inlined before propagation"));
    answer!(run_by_engine);
    answer!(cost = streams(0.0));
    answer!(effects = Ordered);
    answer!(linear = Jointly);
    answer!(explicit = not("it passes values on"));
}
