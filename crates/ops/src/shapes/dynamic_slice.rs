//! `stablehlo.dynamic_slice`: a block of constant size at a computed position, which is clamped so that the block is
//! inside the array.

use crate::facts::*;
use crate::schema::*;
use crate::{Opcode, check, check::Check, constant_operand, eval, eval::Layout};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

pub struct DynamicSlice;

/// Checks the start indices of a block. The labels are for their number, for being scalar integers, and for having one
/// type.
pub(super) fn check_starts(
    c: &mut Check<'_, '_>,
    starts: &[&TensorType],
    rank: usize,
    [count, scalars, same]: [&'static str; 3],
) {
    c.that(count, starts.len() == rank, "there must be a start index for each dimension")
        .that(
            scalars,
            starts.iter().all(|t| t.rank() == 0 && t.dtype.is_integer()),
            "start indices must be scalar integers",
        )
        .that(same, starts.windows(2).all(|w| w[0] == w[1]), "start indices must have one type");
}

/// Returns the start of a block of `sizes` in an array of `shape`: the indices, clamped so that the block is inside the
/// array.
pub(super) fn clamped_starts(indices: &[Literal], shape: &[usize], sizes: &[usize]) -> Vec<usize> {
    let clamp = |(d, index): (usize, &Literal)| index.get_i128(0).clamp(0, (shape[d] - sizes[d]) as i128) as usize;
    indices.iter().enumerate().map(clamp).collect()
}

impl DynamicSlice {
    pub(crate) const SCHEMA: Schema = Schema {
        attributes: &[required("slice_sizes", Some("dynamic_slice_i3"), AttrKind::Ints)],
        operands: Operands::Each,
        results: ResultLabels::of("dynamic_slice_c5", "dynamic_slice_c1"),
        on_quantized: OnQuantized::Moves("dynamic_slice_i1"),
        syntax: Syntax::pieces(
            &[
                Piece::Operand,
                COMMA,
                Piece::OperandsAndComma,
                Piece::Text("sizes = "),
                Piece::Attr("slice_sizes", Written::Ints),
            ],
            Types::Functional,
        ),
        names: Names::Numbered,
        role: Role::Plain,
    };

    /// Returns the shape of the slice.
    pub fn sizes(op: &OpView<'_>) -> Vec<usize> {
        op.sizes("slice_sizes")
    }

    /// Builds the attributes of a dynamic slice of this shape.
    pub fn attrs(sizes: &[usize]) -> Attrs {
        Attrs::new().with("slice_sizes", Attr::sizes(sizes))
    }
}

impl Facts for DynamicSlice {
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        check::at_least(op, 1)?;
        let operands = check::all_tensors(op)?;
        let (x, sizes) = (operands[0], check::sizes(op, "slice_sizes")?);
        let mut c = Check::new(op);
        check_starts(&mut c, &operands[1..], x.rank(), ["dynamic_slice_c2", "dynamic_slice_i2", "dynamic_slice_c3"]);
        c.that("dynamic_slice_c2", sizes.len() == x.rank(), "there must be a slice size for each dimension")
            .so_far()?;
        let fits = sizes.iter().zip(&x.shape).all(|(a, b)| a <= b);
        c.that("dynamic_slice_c4", fits, "slice sizes must not exceed the operand's").give_tensor(x.dtype, sizes)
    }

    /// Lets dimensions that are taken whole pass through. Along the others elements move if the start is constant, else
    /// they must be whole.
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        rule(op, |dim, size| match known_start(op, dim) {
            Some(_) => FactorSpec::permutation(size),
            None => FactorSpec::need_replication(size),
        })
    }

    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (shape, sizes) = (x[0].shape(), op.result_shape(0));
        let starts = clamped_starts(&x[1..], shape, sizes);
        let from = Layout::block(shape, &starts, &vec![1; shape.len()]);
        Ok(vec![eval::gather(&x[0], &from, sizes)])
    }

    /// Uses the local result's sizes. A dimension that is taken whole stays whole.
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let sizes = Attr::sizes(cx.result_types[0].shape());
        Ok(cx.same_op_with(cx.op.attrs().clone().with("slice_sizes", sizes)))
    }

    fn cost(&self, op: &OpView<'_>) -> Cost {
        let bytes = op.result_tensor(0).bytes();
        Cost { flops: 0.0, bytes_read: bytes, bytes_written: bytes }
    }

    answer!(forwards = none);
    answer!(enlarged = sizes("slice_sizes"));
    answer!(splits = Anywhere);
    answer!(partial_result = rewritten);
    answer!(read_through = none);

    fn movement(&self, op: &OpView<'_>, dim: usize) -> Option<Movement> {
        let start = known_start(op, dim)? as i64;
        Some(Movement { reads: vec![Read::elements(dim, 1, -start)], run: of_windows })
    }

    /// Returns the rule of Shardy: dimensions that are not taken whole must be whole, and nothing propagates along them.
    fn propagation_rule(&self, op: &OpView<'_>, _: bool) -> RuleFact {
        rule(op, |_, size| FactorSpec::need_replication(size))
    }

    answer!(constness = by_class);
    answer!(number = none);
    answer!(pure);
    answer!(class = DynamicSlice);
    answer!(combine = none);
    answer!(linear = In(1));
    answer!(explicit = by_rule);
    answer!(example = "func.func @main(%arg0: tensor<4x6xf32>, %arg1: tensor<i32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [4, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}");
}

/// Returns the rule with `cut(dim, size)` as the factors of the dimensions that are not taken whole.
fn rule(op: &OpView<'_>, cut: impl Fn(usize, usize) -> FactorSpec) -> RuleFact {
    let (x, y) = (op.operand_shape(0), op.result_shape(0));
    let starts = vec![0; op.operands().len() - 1];
    let mut rule = RuleBuilder::new([x.len()].into_iter().chain(starts), [y.len()]);
    rule.add_pointwise_with(x, |dim, size| match y[dim] == size {
        true => FactorSpec::pass_through(size),
        false => cut(dim, size).blocked_if(true),
    });
    RuleFact::Rule(rule.build())
}

/// Returns the start of the slice along a dimension, if it is constant.
fn known_start(op: &OpView<'_>, dim: usize) -> Option<usize> {
    let most = op.operand_shape(0)[dim] - op.result_shape(0)[dim];
    Some(constant_operand(op, 1 + dim)?.get_i128(0).clamp(0, most as i128) as usize)
}

/// Builds the slice that takes all of its windows.
fn of_windows(cx: &mut WindowsCx<'_, '_>) -> Vec<Value> {
    if cx.is_first_operand() {
        return vec![cx.operands[0]];
    }
    let mut sizes = DynamicSlice::sizes(&cx.op);
    for WindowsDim { dim, .. } in cx.dims.clone() {
        sizes[dim] = cx.operand_size(0, dim);
    }
    cx.same_op_with(DynamicSlice::attrs(&sizes))
}
