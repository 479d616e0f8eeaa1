//! `stablehlo.concatenate`: joins tensors along a dimension.

use super::Join;
use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, eval, eval::Layout, make};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct Concatenate;

impl Concatenate {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("dimension", Some("concatenate_i2"), AttrKind::Int(DType::I64))],
        operands: Operands::List,
        results: ResultLabels::of("concatenate_c6", "concatenate_c5"),
        on_quantized: OnQuantized::Moves("concatenate_i1"),
        syntax: Syntax::pieces(
            &[Piece::OperandsAndComma, Piece::Text("dim = "), Piece::Attr("dimension", Written::Int(DType::I64))],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the dimension along which the operands are joined. Returns `None` if the attribute is missing or broken.
    pub fn dim(op: &OpView<'_>) -> Option<usize> {
        op.attrs().size("dimension")
    }

    /// Builds the attributes of a concatenation along `dim`.
    pub fn attrs(dim: usize) -> Attrs {
        Attrs::new().with("dimension", Attr::int(dim as i64))
    }
}

impl Facts for Concatenate {
    answer!(derivative = linear);
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let dim = Concatenate::dim(op).expect("verified");
        Transposed::by(move |cx| {
            let (ct, mut start, mut cotangents) = (cx.cotangent(), 0, vec![]);
            for i in 0..cx.operands.len() {
                let from = start;
                start += cx.operand_tensor(i).shape[dim];
                cotangents.push(cx.is_linear(i).then(|| make::slice_dim(cx.b, ct, dim, from, start).into()));
            }
            cotangents
        })
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        Batched::Leading(Concatenate::attrs(Concatenate::dim(op).expect("verified") + 1))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let (inputs, dim) = (check::counted_tensors(op, 0..=check::MANY, 0)?, check::size(op, "dimension")?);
        let mut c = Check::new(op);
        c.that("concatenate_c3", !inputs.is_empty(), "there must be at least one operand").so_far()?;
        let first = inputs[0];
        let same_dtype = inputs.iter().all(|t| t.dtype == first.dtype);
        let same_rest = inputs
            .iter()
            .all(|t| t.rank() == first.rank() && (0..t.rank()).all(|d| d == dim || t.shape[d] == first.shape[d]));
        c.that("concatenate_c1", same_dtype, "the operands must have the same element type")
            .that(
                "concatenate_c2",
                same_rest,
                "the operands must have the same rank, and the same sizes except along `dimension`",
            )
            .that("concatenate_c4", dim < first.rank(), "`dimension` must be a dimension of the operands")
            .so_far()?;
        let mut shape = first.shape.clone();
        shape[dim] = inputs.iter().fold(0, |n: usize, t| n.saturating_add(t.shape[dim]));
        c.give_tensor(first.dtype, shape)
    }

    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        rule(op, FactorSpec::permutation)
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (shape, dim) = (op.result_shape(0), op.attrs().size("dimension").expect("verified"));
        // Only elements move, so that the result has the type of the given ones.
        let mut out = Literal::zeros(x[0].dtype(), shape).to_dense();
        let mut start = vec![0; shape.len()];
        for piece in x {
            let to = Layout::block(shape, &start, &vec![1; shape.len()]);
            eval::copy(piece, &Layout::whole(piece.shape()), &mut out, &to, piece.shape());
            start[dim] += piece.shape()[dim];
        }
        Ok(vec![out])
    }

    fn forwards(&self, op: &OpView<'_>) -> Option<Value> {
        let [only] = op.operands() else { return None };
        Some(*only)
    }

    /// Returns the rule of Shardy: the concatenated dimension must be whole, unless the operands are slices, or one
    /// tensor and slices of it, as in a roll or a halo exchange. Removes its factor for conservative propagation.
    fn propagation_rule(&self, op: &OpView<'_>, is_conservative: bool) -> RuleFact {
        let dim = op.attrs().size("dimension").expect("verified");
        let joined = if is_made_of_slices(op) { FactorSpec::permutation } else { FactorSpec::need_replication };
        rule(op, joined).map(|rule| match is_conservative {
            true => rule.without(|f| rule.results[0].dims[dim].contains(&f)),
            false => rule,
        })
    }

    fn read_through(&self, op: &OpView<'_>) -> Option<ReadThrough> {
        Join::read_through(op, Concatenate::dim(op)?)
    }

    answer!(usual but forwards, movement, read_through, propagation_rule);

    fn movement(&self, op: &OpView<'_>, blocks: Blocks) -> Option<Movement> {
        let Blocks::OfResults(dim) = blocks else { return None };
        let mut start = 0;
        let read = |(operand, fill)| {
            let read = Read { operand, fill, ..Read::elements(dim, 1, start) };
            start += op.operand_shape(operand)[dim] as i64;
            read
        };
        let fills = std::iter::once(Fill::Any).chain(std::iter::repeat(Fill::Before));
        let filled = (0..op.operands().len()).filter(|&i| op.operand_shape(i)[dim] > 0);
        let reads = filled.zip(fills).map(read).collect();
        Some(Movement::new(dim, reads, |cx| vec![*cx.windows.last().expect("at least one operand")]))
    }

    answer!(moves_elements = Other);
    answer!(
        example = "func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<2x1xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}"
    );
}

fn rule(op: &OpView<'_>, joined: impl Fn(usize) -> FactorSpec) -> RuleFact {
    let (y, dim) = (op.result_shape(0), op.attrs().size("dimension").expect("verified"));
    let mut rule = RuleBuilder::new(op.operands().iter().map(|_| y.len()), [y.len()]);
    rule.add_pointwise_with(y, |d, size| if d == dim { joined(size) } else { FactorSpec::pass_through(size) });
    RuleFact::Rule(rule.build())
}

/// Returns true if all operands are slices of any tensors, or if each operand is one tensor or a slice of it and at
/// least one is a slice.
fn is_made_of_slices(op: &OpView<'_>) -> bool {
    let source =
        |i: usize| op.operand_def(i).filter(|def| Opcode::of_view(def) == Opcode::Slice).map(|def| def.operand(0));
    let sources: Vec<Option<Value>> = (0..op.operands().len()).map(source).collect();
    let Some(whole) = sources.iter().flatten().next() else { return false };
    let is_piece = |i: usize| sources[i] == Some(*whole) || op.operand(i) == *whole;
    sources.iter().all(Option::is_some) || (0..sources.len()).all(is_piece)
}
