//! The two ops from which collectives over the mapped dimension of a batch are made: custom calls that a batch over the
//! axis replaces.
//!
//! A function that is traced to be batched computes for one index along the batch. The op `gather` collects the values
//! of all indices, along a new leading dimension, and `spread` takes the element of the own index from such a list. In
//! the batch, the mapped dimension has the values of all indices already, so that both return their operands:
//!
//! ```text
//! psum(x)       = reduce(gather(x), dim 0)          in the batch: reduce(x, dim 0), which is the same for all indices
//! axis_index()  = spread(iota)                      in the batch: iota
//! ```
//!
//! Both are linear. The transpose of `gather` takes the element of the own index from the sum of the cotangents of all
//! indices. That of `spread` builds a list of zeros, except for the cotangent at the own index.

use crate::batch::{Batched, leading_type, repeated};
use crate::check::{self, Check};
use crate::control::CustomCall;
use crate::derivative::{Derivative, Transposed};
use crate::facts::*;
use crate::{Opcode, make};
use shardwise_base::{DType, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, Builder, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

const GATHER: &str = "shardwise.axis_gather";
const SPREAD: &str = "shardwise.axis_spread";
const AXIS: &str = "shardwise.axis";

/// An op along the mapped dimension of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedOp {
    /// `[s..] -> [n, s..]`: the values of all indices, the same for each.
    Gather,
    /// `[n, s..] -> [s..]`: the element at the own index.
    Spread,
}

impl NamedOp {
    /// Returns what the op does along a named axis, and the axis. Returns `None` for other ops, and if the op names no
    /// axis.
    pub fn of<'a>(op: &OpView<'a>) -> Option<(NamedOp, &'a str)> {
        let kind = match CustomCall::target(op)? {
            GATHER => NamedOp::Gather,
            SPREAD => NamedOp::Spread,
            _ => return None,
        };
        Some((kind, op.attrs().str(AXIS)?))
    }

    /// Returns the attributes of the op along this axis.
    pub fn attrs(self, axis: &str) -> Attrs {
        let target = if self == NamedOp::Gather { GATHER } else { SPREAD };
        Attrs::new().with("call_target_name", Attr::str(target)).with(AXIS, Attr::str(axis))
    }
}

/// Builds the op that collects `x` of all indices along an axis of this size, in a new leading dimension. `x` must be a
/// tensor.
pub fn gather(b: &mut Builder<'_>, x: Value, axis: &str, size: usize) -> Value {
    let ty = leading_type(b.body.ty(x), size);
    b.value(Opcode::CustomCall, [x], NamedOp::Gather.attrs(axis), ty)
}

/// Builds the op that takes the element of `list`, along its first dimension, at the own index along an axis. Panics if
/// `list` is not a tensor of at least one dimension.
pub fn spread(b: &mut Builder<'_>, list: Value, axis: &str) -> Value {
    let ty = b.body.ty(list).as_tensor().expect("a list is a tensor").clone();
    let ty = TensorType::new(ty.dtype, &ty.shape[1..]);
    b.value(Opcode::CustomCall, [list], NamedOp::Spread.attrs(axis), ty.into())
}

/// Builds a mask of this shape that is true where dimension 0 is the own index along an axis.
fn own_rows(b: &mut Builder<'_>, shape: &[usize], axis: &str) -> Value {
    let indices = make::iota(b, TensorType::new(DType::I32, [shape[0]]), 0);
    let own = spread(b, indices, axis);
    let own = make::broadcast_in_dim(b, own, shape, &[]);
    let all = make::iota(b, TensorType::new(DType::I32, shape), 0);
    make::compare(b, "EQ", all, own)
}

/// The facts of the ops along named axes.
pub struct NamedAxis;

fn parts(op: &OpView<'_>) -> (NamedOp, String) {
    let (kind, axis) = NamedOp::of(op).expect("a named axis op");
    (kind, axis.to_string())
}

impl Facts for NamedAxis {
    fn derivative(&self, _: &OpView<'_>) -> Derivative<'_> {
        Derivative::Linear
    }
    fn transpose(&self, op: &OpView<'_>) -> Transposed<'_> {
        let (kind, axis) = parts(op);
        let size = if kind == NamedOp::Gather { op.result_shape(0)[0] } else { op.operand_shape(0)[0] };
        Transposed::by(move |cx| {
            let ct = cx.cotangent();
            let back = match kind {
                // Each index was given all values, so the cotangents that all indices have for the own value add up.
                NamedOp::Gather => {
                    let all = gather(cx.b, ct, &axis, size);
                    let sum = make::reduce(cx.b, ReduceKind::Add, all, &[0]);
                    spread(cx.b, sum, &axis)
                }
                NamedOp::Spread => {
                    let shape = cx.operand_tensor(0).shape.clone();
                    let rows = repeated(cx.b, ct, size);
                    let zeros = make::zeros(cx.b, cx.operand_tensor(0));
                    let own = own_rows(cx.b, &shape, &axis);
                    make::select(cx.b, own, rows, zeros)
                }
            };
            vec![Some(back.into())]
        })
    }
    fn batch(&self, op: &OpView<'_>, _: &[bool]) -> Batched<'_> {
        let (kind, axis) = parts(op);
        let n = if kind == NamedOp::Gather { op.result_shape(0)[0] } else { op.operand_shape(0)[0] };
        Batched::by("its list of values stays the leading dimension", move |cx| {
            let x = cx.with_leading(0);
            let rank = cx.b.body.ty(x).shape().len() + usize::from(kind == NamedOp::Gather);
            let swapped: Vec<usize> = [1, 0].into_iter().chain(2..rank).collect();
            Ok(vec![match kind {
                NamedOp::Gather => {
                    let all = gather(cx.b, x, &axis, n);
                    make::transpose(cx.b, all, &swapped)
                }
                NamedOp::Spread => {
                    let x = make::transpose(cx.b, x, &swapped);
                    spread(cx.b, x, &axis)
                }
            }])
        })
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        let [x] = check::tensors::<1>(op)?;
        let mut check = Check::new(op);
        let Some((kind, _)) = NamedOp::of(op) else {
            return check.that("axis", false, "the attribute `shardwise.axis` must name an axis").give([]);
        };
        match kind {
            NamedOp::Gather => {
                let is_list = op.results().len() == 1 && op.result_shape(0).get(1..) == Some(&x.shape[..]);
                check
                    .that(
                        "axis",
                        is_list,
                        "there must be one result, with the operand's dimensions after a leading one",
                    )
                    .so_far()?;
                check.give([leading_type(op.operand_type(0), op.result_shape(0)[0])])
            }
            NamedOp::Spread => {
                check.that("axis", x.rank() > 0, "the operand must have at least one dimension").so_far()?;
                check.give([TensorType::new(x.dtype, &x.shape[1..]).into()])
            }
        }
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let rank = |v: &Value| op.body.ty(*v).shape().len();
        let mut rule = RuleBuilder::new(op.operands().iter().map(rank), op.results().iter().map(rank));
        let is_gather = matches!(NamedOp::of(op), Some((NamedOp::Gather, _)));
        let (list, item) = if is_gather { (op.result_shape(0), 0) } else { (op.operand_shape(0), 1) };
        for (d, &size) in list.iter().enumerate() {
            let places = match d {
                0 => [None, Some(0)],
                _ => [Some(d - 1), Some(d)],
            };
            let spec = if d == 0 { FactorSpec::need_replication(size) } else { FactorSpec::pass_through(size) };
            rule.add_factor(&[places[item]], &[places[1 - item]], spec);
        }
        RuleFact::Rule(rule.build())
    }
    fn example(&self, _: Opcode) -> &'static str {
        r#"func.func @main(%arg0: tensor<2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.custom_call @shardwise.axis_gather(%arg0) {shardwise.axis = "batch"} : (tensor<2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"#
    }
    fn eval(&self, op: &OpView<'_>, _: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let (_, axis) = parts(op);
        Err(Diagnostic::error(
            "axis-unbound",
            op.loc(),
            format!("the function is not batched over the axis \"{axis}\""),
        ))
    }
    answer!(usual);
    answer!(class = Other);
    answer!(data_flow = none);
    answer!(semantics = Pure);
    answer!(effects = Pure);
    answer!(combine = none);
    answer!(localize = same_op);
    answer!(explicit = by_rule);
    answer!(cost = streams(0.0));
    answer!(linear = Jointly);
}
