//! Tokens, which order effects, and tuples.

use crate::Opcode;
use crate::check::{self, Check, MANY, counts, types_of};
use crate::facts::*;
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{OpView, Type, Value};

/// `after_all`, `create_token`.
pub struct Token;
/// `tuple`, `get_tuple_element`.
pub struct Tuple;

/// Facts of ops whose values are no tensors.
macro_rules! no_tensor {
    () => {
        answer!(class = Other);
        answer!(data_flow = none);
        answer!(combine = none);
        answer!(localize = same_op);
        answer!(semantics = Control);
        answer!(eval = engine);
        answer!(cost = nothing);
        answer!(linear = Jointly);
        answer!(explicit = not("its values are no arrays"));
    };
}

impl Facts for Token {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let most = if Opcode::of_view(op) == Opcode::CreateToken { 0 } else { MANY };
        counts(op, 0..=most, 0)?;
        let all = op.operands().iter().all(|&v| *op.body.ty(v) == Type::Token);
        Check::new(op).that("after_all_i1", all, "the operands must be tokens").give([Type::Token])
    }
    answer!(rule = none("tokens"));
    answer!(effects = Ordered);
    fn example(&self, op: Opcode) -> &'static str {
        match op {
            Opcode::CreateToken => {
                "func.func @main() -> !stablehlo.token {
  %0 = stablehlo.create_token : !stablehlo.token
  return %0 : !stablehlo.token
}"
            }
            _ => {
                "func.func @main(%arg0: !stablehlo.token, %arg1: !stablehlo.token) -> !stablehlo.token {
  %0 = stablehlo.after_all %arg0, %arg1 : !stablehlo.token
  return %0 : !stablehlo.token
}"
            }
        }
    }
    no_tensor!();
}

impl Facts for Tuple {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        if Opcode::of_view(op) == Opcode::Tuple {
            counts(op, 0..=MANY, 0)?;
            return Ok(vec![Type::Tuple(types_of(op, op.operands()))]);
        }
        counts(op, 1..=1, 0)?;
        let index = check::size(op, "index")?;
        let element = match op.operand_type(0) {
            Type::Tuple(types) => types.get(index).cloned(),
            _ => None,
        };
        let rule = "the operand must be a tuple with more than `index` elements";
        Check::new(op).that("get_tuple_element_c1", element.is_some(), rule).give(element.clone())
    }
    answer!(rule = none("tuples"));
    answer!(effects = Pure);
    fn example(&self, _: Opcode) -> &'static str {
        "func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.tuple %arg0, %arg0 : tuple<tensor<2xf32>, tensor<2xf32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xf32>, tensor<2xf32>>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}"
    }
    no_tensor!();
}
