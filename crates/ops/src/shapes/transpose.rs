//! `stablehlo.transpose`: permutes dimensions.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Transpose;

impl Transpose {
    const QUANTIZED: QuantizedMove = QuantizedMove {
        operand: "transpose_i1",
        alike: "transpose_c1",
        axis: "transpose_c4",
        becomes: |op, from, to| Transpose::permutation(op).get(to) == Some(&from),
        scales: None,
    };

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("permutation", Some("transpose_i2"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::of("transpose_c3", "transpose_c1"),
        on_quantized: OnQuantized::MovesAxis(&Self::QUANTIZED),
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(", dims = "), Piece::Attr("permutation", Written::Ints)],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns, for each dimension of the result, the dimension of the operand that becomes it.
    pub fn permutation(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("permutation")
    }

    /// Builds the attributes of a transpose: dimension `i` of the result is dimension `permutation[i]` of the operand.
    pub fn attrs(permutation: &[usize]) -> Attrs {
        Attrs::new().with("permutation", Attr::sizes(permutation))
    }
}

impl Facts for Transpose {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let permutation = Transpose::permutation(op);
        Transposed::by(move |cx| {
            let mut back: Vec<usize> = (0..permutation.len()).collect();
            back.sort_by_key(|&d| permutation[d]);
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                make::transpose(cx.b, ct, &back)
            })
        })
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::Leading(Transpose::attrs(&with_first(0, &further(&Transpose::permutation(op)))))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors(op)?;
        let permutation = check::sizes(op, "permutation")?;
        let is_permutation =
            permutation.len() == x.rank() && check::are_dims(&permutation, x.rank()) && check::is_unique(&permutation);
        let mut c = Check::new(op);
        c.that("transpose_c2", is_permutation, "`permutation` must name each dimension of the operand once")
            .so_far()?;
        c.give_tensor(x.dtype, permutation.iter().map(|&d| x.shape[d]).collect::<Vec<_>>())
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        for (to, from) in op.sizes("permutation").into_iter().enumerate() {
            rule.add_factor(&[Some(from)], &[Some(to)], FactorSpec::pass_through(x[from]));
        }
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let own = eval::row_major(x[0].shape());
        let strides = op.sizes("permutation").into_iter().map(|d| own[d]).collect();
        Ok(vec![eval::gather(&x[0], &Layout { base: 0, strides }, op.result_shape(0))])
    }

    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        op.sizes("permutation").is_sorted().then(|| op.operand(0))
    }

    answer!(usual but forwards);
    answer!(moves_elements = PassThrough);
    answer!(
        example = "func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"
    );
}
