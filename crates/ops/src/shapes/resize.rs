//! `shardwise.resize`: adds zeros at the ends of dimensions, or removes elements there.
//!
//! A pass that enlarges a sharded dimension so that it divides evenly keeps every block as it is, apart from the
//! padding in the last ones. Where that pass enlarges operand and result to the same size, the op is the identity: it
//! only says how much of the value is padding.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Resize;

impl Resize {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("sizes", Some("resize_i2"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::both("resize_c2"),
        on_quantized: OnQuantized::Moves("resize_i1"),
        syntax: GENERIC,
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Builds the attributes of a resize to this shape.
    pub fn attrs(sizes: &[usize]) -> Attrs {
        Attrs::new().with("sizes", Attr::sizes(sizes))
    }
}

impl Facts for Resize {
    answer!(calculus = none("only the partitioner makes it"));
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], sizes) = (check::tensors(op)?, check::sizes(op, "sizes")?);
        let mut c = Check::new(op);
        c.that("resize_c1", sizes.len() == x.rank(), "`sizes` must have a size for each dimension of the operand")
            .so_far()?;
        c.give_tensor(x.dtype, sizes)
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        RuleFact::Rule(rule.add_pointwise_or(x, y, FactorSpec::need_replication).build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (from, to) = (x[0].shape(), op.result_shape(0));
        let kept: Vec<usize> = from.iter().zip(to).map(|(&m, &n)| m.min(n)).collect();
        let mut out = Literal::zeros(x[0].dtype(), to).to_dense();
        let (first, steps) = (vec![0; to.len()], vec![1; to.len()]);
        eval::copy(&x[0], &Layout::block(from, &first, &steps), &mut out, &Layout::block(to, &first, &steps), &kept);
        Ok(vec![out])
    }

    fn enlarged(&self, _: &OpView<'_>, types: &Enlarged<'_>) -> Attrs {
        Resize::attrs(types.results[0].shape())
    }

    answer!(index_bounds = none);
    answer!(forwards = same_type);
    answer!(splits = InSameBlocks);
    answer!(usual but forwards, enlarged, splits);
    answer!(pure);
    answer!(class = Other);
    answer!(combine = none);

    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        Ok(cx.same_op_with(Resize::attrs(cx.result_types[0].shape())))
    }

    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
    answer!(explicit = by_rule);
    answer!(
        example = r#"func.func @main(%arg0: tensor<3xf32>) -> tensor<4xf32> {
  %0 = "shardwise.resize"(%arg0) <{sizes = array<i64: 4>}> : (tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#
    );
}
