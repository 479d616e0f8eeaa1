//! The op that marks a value whose layout the program asks for: `stablehlo.custom_call @shardwise.inspect`.
//!
//! ```text
//! stablehlo.custom_call @shardwise.inspect(%x) {has_side_effect = true, shardwise.axes = ["X"], shardwise.id = 3 : i64}
//!     : (tensor<2xf32>) -> ()
//! ```
//! The op does nothing when it runs, and no layout is chosen for it. `shardwise.axes` are the axes of per-device code
//! over which the value varies.

use crate::Opcode;
use crate::check::{self, Check};
use crate::control::CustomCall;
use crate::facts::*;
use crate::print::{axes_of, call_attrs};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::RuleBuilder;

const TARGET: &str = "shardwise.inspect";
const ID: &str = "shardwise.id";

/// A mark, a call of `@shardwise.inspect`, as its attributes describe it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inspect {
    /// The number by which the program finds the mark again.
    pub id: i64,
    /// The names of the axes of per-device code over which the value varies.
    pub axes: Vec<String>,
}

pub(crate) struct InspectFacts;

impl Inspect {
    /// Returns the number and the axes of a mark, with no axes if `shardwise.axes` is absent. Returns `None` for other
    /// ops, and if `shardwise.id` is absent or one of these two attributes is malformed.
    pub fn of(op: &OpView<'_>) -> Option<Inspect> {
        if !Inspect::is(op) {
            return None;
        }
        Some(Inspect { id: op.attrs().int(ID)?, axes: axes_of(op)? })
    }

    pub(crate) fn is(op: &OpView<'_>) -> bool {
        CustomCall::target(op) == Some(TARGET)
    }

    /// Returns the attributes of the mark.
    pub fn attrs(&self) -> Attrs {
        call_attrs(TARGET, &self.axes).with(ID, Attr::int(self.id))
    }
}

impl Facts for InspectFacts {
    answer!(derivative = zero("it has no results"));
    answer!(transpose = none("it has no results"));
    answer!(batch = same_attrs);
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::tensors::<1>(op)?;
        let mut check = Check::new(op);
        let rule = "`shardwise.id` must be an integer, and `shardwise.axes` a list of names";
        check.that("inspect", Inspect::of(op).is_some(), rule);
        check.that("inspect", op.results().is_empty(), "there must be no results").give([])
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let shape = op.operand_shape(0);
        let mut rule = RuleBuilder::new([shape.len()], []);
        rule.add_pointwise(shape);
        RuleFact::Rule(rule.build())
    }
    answer!(
        example = r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  stablehlo.custom_call @shardwise.inspect(%arg0) {has_side_effect = true, shardwise.id = 0 : i64} : (tensor<2xf32>) -> ()
  return %arg0 : tensor<2xf32>
}"#
    );
    fn eval(&self, _: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        Ok(vec![])
    }
    answer!(usual);
    answer!(class = Other);
    answer!(data_flow = none);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(semantics = Control);
    answer!(effects = Ordered);
    answer!(explicit = by_rule);
    answer!(cost = nothing);
    answer!(linear = Jointly);
}
