//! `stablehlo.reverse`: reverses the order of elements along some dimensions.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Reverse;

impl Reverse {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("dimensions", Some("reverse_i2"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::both("reverse_c1"),
        on_quantized: OnQuantized::Moves("reverse_i1"),
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(", dims = "), Piece::Attr("dimensions", Written::Ints)],
            Types::Same,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the dimensions along which the order of elements is reversed.
    pub fn dims(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("dimensions")
    }

    /// Builds the attributes of a reversal along these dimensions.
    pub fn attrs(dims: &[usize]) -> Attrs {
        Attrs::new().with("dimensions", Attr::sizes(dims))
    }
}

impl Facts for Reverse {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let dims = op.sizes("dimensions");
        Transposed::by(move |cx| {
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                make::reverse(cx.b, ct, &dims)
            })
        })
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::Leading(Reverse::attrs(&further(&op.sizes("dimensions"))))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], dims) = (check::tensors(op)?, check::sizes(op, "dimensions")?);
        Check::new(op)
            .that("reverse_c2", check::is_unique(&dims), "`dimensions` must not name a dimension twice")
            .that("reverse_c3", check::are_dims(&dims, x.rank()), "`dimensions` must be dimensions of the operand")
            .give([x.clone().into()])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, dims) = (op.operand_shape(0), op.sizes("dimensions"));
        let mut rule = RuleBuilder::new([x.len()], [x.len()]);
        rule.add_pointwise_with(x, |d, size| match dims.contains(&d) {
            true => FactorSpec::permutation(size),
            false => FactorSpec::pass_through(size),
        });
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let shape = x[0].shape();
        let mut from = Layout::whole(shape);
        for d in op.sizes("dimensions") {
            from.base += from.strides[d] * (shape[d] as isize - 1);
            from.strides[d] = -from.strides[d];
        }
        Ok(vec![eval::gather(&x[0], &from, shape)])
    }

    answer!(usual but movement);

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let last = op.operand_shape(0)[dim] as i64 - 1;
        let run = |cx: &mut WindowsCx<'_, '_>| cx.same_op_with(cx.op.attrs().clone());
        Some(Movement::new(dim, vec![Read::elements(dim, -1, -last)], run))
    }

    answer!(moves_elements = Other);
    answer!(
        example = "func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.reverse %arg0, dims = [1] : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"
    );
}
