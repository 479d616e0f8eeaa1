//! `stablehlo.broadcast_in_dim`: repeats a tensor along new dimensions and along dimensions of size 1.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct BroadcastInDim;

/// Returns false if the operand's quantized dimension has size 1 and the result has a scale or zero point other than
/// the one of that dimension. Returns true otherwise.
fn scales_fit(op: &OpView<'_>, operand: &Quantized, result: &Quantized) -> bool {
    let is_repeated = operand.axis.is_some_and(|axis| op.operand_shape(0)[axis] == 1);
    let have_same_scale = || result.scales.iter().all(|&scale| scale == operand.scales[0]);
    let have_same_zero = || result.zero_points.iter().all(|&zero| zero == operand.zero_points[0]);
    !is_repeated || (have_same_scale() && have_same_zero())
}

impl BroadcastInDim {
    pub(crate) const QUANTIZED: QuantizedMove = QuantizedMove {
        operand: "broadcast_in_dim_i1",
        alike: "broadcast_in_dim_c1",
        axis: "broadcast_in_dim_c6",
        becomes: |op, from, to| BroadcastInDim::dims(op).get(from) == Some(&to),
        scales: Some(scales_fit),
    };

    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("broadcast_dimensions", Some("broadcast_in_dim_i2"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::NONE,
        on_quantized: OnQuantized::MovesAxis(&Self::QUANTIZED),
        syntax: Syntax::pieces(
            &[Piece::Operand, Piece::Text(", dims = "), Piece::Attr("broadcast_dimensions", Written::Ints)],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns, for each dimension of the operand, the dimension of the result that it becomes.
    pub fn dims(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("broadcast_dimensions")
    }

    /// Builds the attributes of a broadcast: dimension `i` of the operand becomes dimension `dims[i]` of the result.
    pub fn attrs(dims: &[usize]) -> Attrs {
        Attrs::new().with("broadcast_dimensions", Attr::sizes(dims))
    }
}

impl Facts for BroadcastInDim {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let (dims, from, to) = (BroadcastInDim::dims(op), op.operand_shape(0).to_vec(), op.result_shape(0).to_vec());
        Transposed::by(move |cx| {
            let kept = |d: &usize| dims.iter().position(|to| to == d).is_some_and(|i| from[i] == to[*d]);
            let summed: Vec<usize> = (0..to.len()).filter(|d| !kept(d)).collect();
            cx.for_each_linear(|cx| {
                let ct = cx.cotangent();
                let sum = if summed.is_empty() { ct } else { make::reduce(cx.b, ReduceKind::Add, ct, &summed) };
                // The kept dimensions are in the order of the result.
                let mut order: Vec<usize> = (0..dims.len()).filter(|&i| kept(&dims[i])).collect();
                order.sort_by_key(|&i| dims[i]);
                let mut permutation: Vec<usize> = (0..order.len()).collect();
                permutation.sort_by_key(|&k| order[k]);
                let sum = if permutation.is_sorted() { sum } else { make::transpose(cx.b, sum, &permutation) };
                make::reshape(cx.b, sum, &from)
            })
        })
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::Leading(BroadcastInDim::attrs(&with_first(0, &further(&BroadcastInDim::dims(op)))))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let ([x], to) = (check::tensors(op)?, check::declared(op)?);
        let dims = check::sizes(op, "broadcast_dimensions")?;
        let mut c = Check::new(op);
        c.that("broadcast_in_dim_c1", x.dtype == to.dtype, "operand and result must have the same element type")
            .that(
                "broadcast_in_dim_c2",
                dims.len() == x.rank(),
                "`broadcast_dimensions` must name a dimension of the result for each of the operand's",
            )
            .that(
                "broadcast_in_dim_c3",
                check::are_dims(&dims, to.rank()),
                "`broadcast_dimensions` must be dimensions of the result",
            )
            .that(
                "broadcast_in_dim_c4",
                check::is_unique(&dims),
                "`broadcast_dimensions` must not name a dimension twice",
            )
            .so_far()?;
        let fits = x.shape.iter().zip(&dims).all(|(&n, &d)| n == 1 || n == to.shape[d]);
        c.that(
            "broadcast_in_dim_c5",
            fits,
            "each dimension of the operand must have size 1 or that of its dimension of the result",
        )
        .give([to.clone().into()])
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (x, y) = (op.operand_shape(0), op.result_shape(0));
        let dims = op.sizes("broadcast_dimensions");
        let mut rule = RuleBuilder::new([x.len()], [y.len()]);
        for (d, &size) in y.iter().enumerate() {
            let from = dims.iter().position(|&to| to == d);
            let is_repeated = from.is_some_and(|i| x[i] != size);
            if is_repeated {
                rule.add_factor(&[from], &[None], FactorSpec::pass_through(1));
            }
            rule.add_factor(&[from.filter(|_| !is_repeated)], &[Some(d)], FactorSpec::pass_through(size));
        }
        RuleFact::Rule(rule.build())
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let to = op.result_shape(0);
        let own = eval::row_major(x[0].shape());
        let mut strides = vec![0; to.len()];
        for (i, d) in op.sizes("broadcast_dimensions").into_iter().enumerate() {
            if x[0].shape()[i] != 1 {
                strides[d] = own[i];
            }
        }
        if x[0].size() == 1 {
            return Ok(vec![Literal::splat(x[0].dtype(), to, x[0].element_bytes(0))]);
        }
        Ok(vec![eval::gather(&x[0], &Layout { base: 0, strides }, to)])
    }

    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        (has_operand_type(op) && op.sizes("broadcast_dimensions").is_sorted()).then(|| op.operand(0))
    }

    answer!(usual but forwards, constness);
    answer!(constness = OfOperands);
    answer!(moves_elements = Broadcast);
    answer!(
        example = "func.func @main(%arg0: tensor<2xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}"
    );
}
