//! JAX's `approx_max_k` and `approx_min_k`: the custom call `ApproxTopK`.
//!
//! ```text
//! %1:2 = stablehlo.custom_call @ApproxTopK(%x, %indices, %init, %index_init) {
//!     called_computations = [@top_k_gt_f32_comparator],
//!     mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 3 : i64, ..}}
//! ```
//!
//! The results are exact here, as they are on a CPU: the first elements of the sorted array. In a per-device program,
//! the call becomes a `sort` and slices. The initial values are those of elements beyond the end, of which there are
//! none.

use crate::control::CustomCall;
use crate::facts::*;
use crate::sort::{Direction, Keys, Sort, order_by, pick};
use crate::{Opcode, eval, make};
use shardwise_base::{Data, Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, OpView, TensorType, Type, Value};
use shardwise_sharding::{FactorSpec, RuleBuilder};

/// The dimension along which a call selects, and the order in which it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    pub dim: usize,
    /// The order of the selected elements: `Greater` if the largest are selected, the largest first, else `Less`.
    pub direction: Direction,
}

impl Selection {
    /// Returns what a call of `ApproxTopK` selects. Returns `None` for other ops, for a call without a comparator or
    /// with one whose name or body JAX does not use, if the configuration does not name a dimension as `reduction_dim`,
    /// for complex numbers, and if operands and results are not those of JAX's function.
    pub fn of(op: &OpView<'_>) -> Option<Selection> {
        CustomCall::target(op).filter(|target| *target == "ApproxTopK")?;
        let config = CustomCall::config(op)?;
        let Some(Attr::Array(names)) = op.attr("called_computations") else { return None };
        let name = names.first()?.as_str()?;
        let direction = match () {
            () if name.starts_with("top_k_gt_") => Direction::Greater,
            () if name.starts_with("top_k_lt_") => Direction::Less,
            () => return None,
        };
        let selection = Selection { dim: config.size("reduction_dim")?, direction };
        (selection.fits(op) && selection.is_comparison(op, name)).then_some(selection)
    }

    fn fits(self, op: &OpView<'_>) -> bool {
        let tensor = |v: &Value| op.body.ty(*v).as_tensor();
        let types: Option<Vec<&TensorType>> = op.operands().iter().chain(op.results()).map(tensor).collect();
        let Some([x, indices, init, index_init, out, out_indices]) = types.as_deref() else { return false };
        let is_part = |(d, (from, to)): (usize, (&usize, &usize))| if d == self.dim { to <= from } else { to == from };
        op.operands().len() == 4
            && self.dim < x.rank()
            && out.rank() == x.rank()
            && x.shape.iter().zip(&out.shape).enumerate().all(is_part)
            && indices.shape == x.shape
            && out_indices.shape == out.shape
            && [init.rank(), index_init.rank()] == [0, 0]
            && [init.dtype, out.dtype] == [x.dtype; 2]
            && [index_init.dtype, out_indices.dtype] == [indices.dtype; 2]
            && !x.dtype.is_complex()
    }

    /// Returns false if the module has the function `name`, but its first result is not the comparison of its first two
    /// arguments in the direction of the selection. Returns true if it has no such function.
    fn is_comparison(self, op: &OpView<'_>, name: &str) -> bool {
        let Some(func) = op.module.func(name) else { return true };
        let body = &func.body;
        let Some(compare) = body.results().first().and_then(|&v| body.def_op(v)) else { return false };
        let compare = op.module.view(body, compare);
        let args = body.args();
        Opcode::of_view(&compare) == Opcode::Compare
            && compare.attrs().str("comparison_direction") == Some(self.comparison())
            && args.len() >= 2
            && compare.operands() == &args[..2]
    }

    fn comparison(self) -> &'static str {
        if self.direction == Direction::Greater { "GT" } else { "LT" }
    }
}

pub(crate) struct ApproxTopK;

fn selection(op: &OpView<'_>) -> Selection {
    Selection::of(op).expect("it is a selection")
}

impl Facts for ApproxTopK {
    fn derivative(&self, op: &OpView<'_>) -> Derivative<'_> {
        let dim = selection(op).dim;
        Derivative::by(move |cx| {
            let tangent = cx.tangents[0].map(|t| make::take_along(cx.b, t, cx.results[1], dim));
            vec![tangent, None]
        })
    }
    answer!(transpose = none("it is not linear"));
    fn batch(&self, op: &OpView<'_>, mapped: &[bool]) -> Batched<'_> {
        if mapped[2..].contains(&true) {
            return Batched::None("its initial values must be the same for the whole batch");
        }
        let dim = selection(op).dim as i64 + 1;
        Batched::leading_of(op, |i| i < 2, CustomCall::with_config(op, "reduction_dim", Attr::int(dim)))
    }
    fn infer(&self, op: &OpView<'_>) -> Result<Vec<Type>, Diagnostics> {
        Ok(op.results().iter().map(|&v| op.body.ty(v).clone()).collect())
    }
    fn rule(&self, op: &OpView<'_>) -> RuleFact {
        let (from, to, dim) = (op.operand_shape(0), op.result_shape(0), selection(op).dim);
        let rank = from.len();
        let mut rule = RuleBuilder::new([rank, rank, 0, 0], [rank, rank]);
        for (d, &size) in from.iter().enumerate() {
            let at = Some(d);
            if d != dim {
                rule.add_factor(&[at, at, None, None], &[at, at], FactorSpec::pass_through(size));
                continue;
            }
            rule.add_factor(&[at, at, None, None], &[None, None], FactorSpec::need_replication(size));
            rule.add_factor(&[None; 4], &[at, at], FactorSpec::need_replication(to[d]));
        }
        RuleFact::Rule(rule.build())
    }
    fn localize(&self, cx: &mut LocalizeCx<'_, '_>) -> Result<Vec<Value>, Diagnostic> {
        let selection = selection(&cx.op);
        let dim = selection.dim;
        let k = cx.op.result_shape(0)[dim];
        let (operands, b) = ([cx.operands[0], cx.operands[1]], &mut *cx.builder);
        let types: Vec<Type> = operands.iter().map(|&v| b.body.ty(v).clone()).collect();
        let scalar = |ty: &Type| Type::tensor(ty.as_tensor().expect("a tensor").dtype, vec![]);
        let args: Vec<Type> = types.iter().flat_map(|ty| [scalar(ty), scalar(ty)]).collect();
        let region = b.region(&args, |b, args| {
            let result = make::compare(b, selection.comparison(), args[0], args[1]);
            b.op(Opcode::RegionReturn, [result], Attrs::new(), []);
        });
        let op = b.op_with_regions(Opcode::Sort, operands, Sort::stable_attrs(dim), [region], types);
        let sorted = b.body[op].results.to_vec();
        Ok(sorted.into_iter().map(|v| make::slice_dim(b, v, dim, 0, k)).collect())
    }
    fn eval(&self, op: &OpView<'_>, x: &[Literal], _: &mut dyn RegionEval) -> Result<Vec<Literal>, EvalError> {
        let Selection { dim, direction } = selection(op);
        let (values, shape) = (x[0].to_dense(), op.result_shape(0));
        let keys = Data::from_fn(values.size(), eval::read_numbers(&values));
        let keys = Keys::new(keys, direction);
        let order = order_by(values.shape(), dim, &mut |a, b| Ok(keys.is_less(a, b)))?;
        let part = |x: &Literal| {
            let x = x.to_dense();
            eval::gather(&pick(&x, x.shape(), &order), &eval::Layout::whole(x.shape()), shape)
        };
        Ok(vec![part(&x[0]), part(&x[1])])
    }
    fn cost(&self, op: &OpView<'_>) -> Cost {
        Cost::streams(op, 0.0).with_flops(op.operand_tensor(0).size() as f64)
    }
    answer!(usual but eval_copies);
    answer!(eval_copies = true);
    answer!(pure);
    answer!(class = Other);
    answer!(combine = none);
    answer!(explicit = by_rule);
    answer!(linear = No);
    answer!(
        example = r#"func.func @main(%arg0: tensor<6x5xf32>, %arg1: tensor<6x5xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> tensor<6x2xf32> {
  %0:2 = stablehlo.custom_call @ApproxTopK(%arg0, %arg1, %arg2, %arg3) {called_computations = [@top_k_gt_f32_comparator], mhlo.backend_config = {reduction_dim = 1 : i64}} : (tensor<6x5xf32>, tensor<6x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  return %0#0 : tensor<6x2xf32>
}"#
    );
}
