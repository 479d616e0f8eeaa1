//! The groups of ops that run as one block program.

use super::emit::{Compiled, compile, compile_on_arrays, needs_wide};
use super::ops::{folded, is_computed, is_total_order, is_trailing, space_of};
use super::views::is_view;
use crate::block::SHORT_ROW;
use crate::elem::Elem;
use crate::kernels::context::{Fused, PlanCx};
use crate::kernels::reducers::reducer;
use crate::plan::Points;
use shardwise_ir::{Op, OpView, Uses};
use shardwise_ops::Opcode;
use shardwise_ops::reducer::reduce_kind_of_op;
use std::collections::HashSet;

/// The largest number of ops of a group, with the views through which they read. Larger groups are not faster, because
/// there are few temporaries.
const MAX_OPS: usize = 48;
/// The largest distance, in ops, from the root to a producer that joins.
const WINDOW: usize = 160;

/// If the innermost dimension of the space is smaller than this, no iota joins: its indices are read from an array.
const FEW_LANES: usize = 16;
/// The largest number of elements of an iota that does not join where the innermost dimension is at least [`FEW_LANES`]
/// and less than [`SHORT_ROW`]. Its indices are read from an array, so that the short rows can be merged.
const FEW_INDICES: usize = 1 << 16;

/// Ops that run as one step, at the position of the last of them.
pub struct Group {
    /// The ops in program order. The last one is the root, whose result is the step's.
    pub ops: Vec<Op>,
    pub program: Compiled,
}

/// Returns the groups of a block, in program order of their roots. Ops of `claimed` are in no group, and no op is in
/// two. Each other op that block programs can compute is in a group, unless it cannot be compiled.
pub fn groups(plan: &PlanCx<'_>, ops: &[Op], uses: &Uses, mut claimed: HashSet<Op>) -> Vec<Group> {
    let mut groups = vec![];
    for root in (0..ops.len()).rev() {
        if claimed.contains(&ops[root]) || !is_computed(plan, &plan.view(ops[root])) {
            continue;
        }
        if let Some(group) = group(plan, ops, root, uses, &claimed) {
            claimed.extend(&group.ops);
            groups.push(group);
        }
    }
    groups.reverse();
    groups
}

/// Returns the group of the root `ops[root]`, the first of these that can be compiled: with the producers that join it,
/// alone, or alone and without reading through views. Returns `None` if the root cannot be compiled.
fn group(plan: &PlanCx<'_>, ops: &[Op], root: usize, uses: &Uses, claimed: &HashSet<Op>) -> Option<Group> {
    let with = |ops: Vec<Op>| Some(Group { program: compile(plan, &ops)?, ops });
    let alone = || with(vec![ops[root]]);
    let on_arrays = || Some(Group { program: compile_on_arrays(plan, ops[root])?, ops: vec![ops[root]] });
    with(grow(plan, ops, root, uses, claimed)).or_else(alone).or_else(on_arrays)
}

/// Returns the root `ops[root]` and the producers that join it, in program order. A view joins so that its operand may
/// join too, and is not returned.
fn grow(plan: &PlanCx<'_>, ops: &[Op], root: usize, uses: &Uses, claimed: &HashSet<Op>) -> Vec<Op> {
    let root_view = plan.view(ops[root]);
    let shape = Shape::of(&root_view);
    let points = plan.points(root_view.result(0));
    let mut lanes = Lanes::of(plan, &root_view);
    let mut group = vec![ops[root]];
    let mut members: HashSet<Op> = HashSet::from([ops[root]]);
    for &op in ops[root.saturating_sub(WINDOW)..root].iter().rev() {
        let view = plan.view(op);
        let is_view = is_view(plan, &view);
        if group.len() >= MAX_OPS || claimed.contains(&op) || !(is_view || is_computed(plan, &view)) {
            continue;
        }
        let own = uses.of(view.result(0));
        let only_here = !own.is_empty() && own.iter().all(|u| members.contains(&u.op));
        if !only_here || !(is_view || (joins(plan, &view, &points) && shape.admits(&view))) {
            continue;
        }
        let all = if is_view { Some(lanes) } else { lanes.and(Lanes::of(plan, &view)) };
        if let Some(all) = all {
            lanes = all;
            members.insert(op);
            group.push(op);
        }
    }
    group.reverse();
    group.retain(|&op| op == ops[root] || !is_view(plan, &plan.view(op)));
    group
}

fn joins(plan: &PlanCx<'_>, view: &OpView<'_>, points: &Points) -> bool {
    plan.points(view.result(0)).axes == points.axes
}

/// The lanes that ops need. Programs with 64-bit lanes have no kernel for ops that need 32-bit lanes. An op that needs
/// both has no kernel in any program.
#[derive(Clone, Copy)]
struct Lanes {
    wide: bool,
    narrow: bool,
}

impl Lanes {
    fn of(plan: &PlanCx<'_>, view: &OpView<'_>) -> Lanes {
        let wide = needs_wide(plan, &[view.op]);
        let elem = view.operands().first().and_then(|&v| Elem::of(plan.body.ty(v).as_tensor()?.dtype));
        let Some(elem) = elem else { return Lanes { wide, narrow: false } };
        let reads_bits =
            matches!(Opcode::of_view(view), Opcode::BitcastConvert | Opcode::ChloNextAfter) || is_total_order(view);
        let narrow = match plan.fused(view) {
            _ if reads_bits && !elem.fills_words() => return Lanes { wide: true, narrow: true },
            _ if reads_bits => !wide,
            Some(Fused::Unary(function)) => function.needs_narrow_lanes(elem),
            Some(Fused::Binary(function)) => function.needs_narrow_lanes(elem),
            Some(Fused::Reduce) if !folded(view).is_empty() => {
                reduce_kind_of_op(view).is_some_and(|kind| reducer(kind).needs_narrow_lanes(elem))
            }
            _ => false,
        };
        Lanes { wide, narrow }
    }

    /// Returns the lanes that ops of both kinds need, or `None` if no program has both.
    fn and(self, other: Lanes) -> Option<Lanes> {
        let all = Lanes { wide: self.wide || other.wide, narrow: self.narrow || other.narrow };
        (!(all.wide && all.narrow)).then_some(all)
    }
}

/// The space of a group, which determines which ops are worth computing in it.
struct Shape {
    space: Vec<usize>,
    /// True if the root folds elements.
    reduces: bool,
}

impl Shape {
    fn of(root: &OpView<'_>) -> Shape {
        let reduces = Opcode::of_view(root) == Opcode::Reduce && !folded(root).is_empty();
        Shape { space: space_of(root).to_vec(), reduces }
    }

    fn admits(&self, view: &OpView<'_>) -> bool {
        let size: usize = self.space.iter().product();
        let row = self.space.last().copied().unwrap_or(1).max(1);
        let own = view.result_tensor(0).size();
        match Opcode::of_view(view) {
            Opcode::Reduce => {
                !self.reduces && view.operand_shape(0) == self.space && is_trailing(&folded(view), &self.space)
            }
            // Short rows are not merged in a program that counts an index along them, because only inputs are copied.
            Opcode::Iota if row < FEW_LANES || (row < SHORT_ROW && own <= FEW_INDICES) => false,
            // On short rows, each operand of a smaller op would be copied element by element, and not only its result.
            _ => own == size || (own <= size / row && !self.reduces && row >= SHORT_ROW) || own <= 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::testing::run_by_kernels;
    use shardwise_base::Literal;

    /// Returns 1000 numbers, most of which have many significant bits, so that sums of them are rounded.
    fn thirds() -> Vec<f64> {
        (0..1000).map(|i| f64::from(i * 37 % 101) / 3.0 - 16.0).collect()
    }

    #[test]
    fn sums_are_cut_from_ops_that_need_wider_lanes() {
        let source = "func.func @main(%x: tensor<1000xf64>) -> tensor<f32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.negate %x : tensor<1000xf64>
  %1 = stablehlo.convert %0 : (tensor<1000xf64>) -> tensor<1000xf32>
  %2 = stablehlo.abs %1 : tensor<1000xf32>
  %3 = stablehlo.reduce(%2 init: %i) applies stablehlo.add across dimensions = [0] : (tensor<1000xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}";
        let names = run_by_kernels(source, &[Literal::new([1000], &thirds())]);
        assert_eq!(names, ["fused(negate, convert)", "fused(abs, reduce)"]);
    }

    #[test]
    fn sums_of_views_that_do_not_flatten_read_arrays() {
        let source = "func.func @main(%x: tensor<20x50xf32>) -> (tensor<f32>, tensor<f32>) {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reverse %x, dims = [1] : tensor<20x50xf32>
  %1 = stablehlo.reduce(%0 init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<20x50xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.abs %x : tensor<20x50xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<20x50xf32>) -> tensor<50x20xf32>
  %4 = stablehlo.reduce(%3 init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<50x20xf32>, tensor<f32>) -> tensor<f32>
  return %1, %4 : tensor<f32>, tensor<f32>
}";
        let values: Vec<f32> = thirds().into_iter().map(|x| x as f32).collect();
        let names = run_by_kernels(source, &[Literal::new([20, 50], &values)]);
        let of = ["reverse", "reduce", "abs", "transpose", "reduce"].map(|op| format!("stablehlo.{op}"));
        assert_eq!(names, of);
    }

    #[test]
    fn wide_ops_do_not_take_sums_in() {
        let source = "func.func @main(%x: tensor<10x100xf32>) -> tensor<10x100xf64> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<10x100xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<10xf32>) -> tensor<10x100xf32>
  %2 = stablehlo.divide %x, %1 : tensor<10x100xf32>
  %3 = stablehlo.convert %2 : (tensor<10x100xf32>) -> tensor<10x100xf64>
  return %3 : tensor<10x100xf64>
}";
        let values: Vec<f32> = thirds().into_iter().map(|x| x as f32).collect();
        let names = run_by_kernels(source, &[Literal::new([10, 100], &values)]);
        assert_eq!(names, ["stablehlo.reduce", "fused(divide, convert)"]);
    }

    /// Tests that an op without a kernel in 64-bit lanes, or in any, is cut off alone.
    #[test]
    fn ops_without_wide_kernels_leave_the_others_together() {
        let source =
            "func.func @main(%x: tensor<3000xf32>, %y: tensor<3000xf64>) -> (tensor<3000xf64>, tensor<3000xi16>) {
  %0 = stablehlo.exponential %x : tensor<3000xf32>
  %1 = stablehlo.convert %0 : (tensor<3000xf32>) -> tensor<3000xf64>
  %2 = stablehlo.multiply %1, %y : tensor<3000xf64>
  %3 = stablehlo.add %2, %y : tensor<3000xf64>
  %4 = stablehlo.convert %x : (tensor<3000xf32>) -> tensor<3000xbf16>
  %5 = stablehlo.negate %4 : tensor<3000xbf16>
  %6 = stablehlo.bitcast_convert %5 : (tensor<3000xbf16>) -> tensor<3000xi16>
  %7 = stablehlo.negate %6 : tensor<3000xi16>
  %8 = stablehlo.not %7 : tensor<3000xi16>
  return %3, %8 : tensor<3000xf64>, tensor<3000xi16>
}";
        let x = Literal::from_fn([3000], |i| (i * 37 % 101) as f32 / 8.0 - 6.0);
        let y = Literal::from_fn([3000], |i| (i * 53 % 97) as f64 / 3.0 - 16.0);
        let names = run_by_kernels(source, &[x, y]);
        let of = |op: &str| format!("stablehlo.{op}");
        let expected = [
            of("exponential"),
            "fused(convert, multiply, add)".to_string(),
            "fused(convert, negate)".to_string(),
            of("bitcast_convert"),
            "fused(negate, not)".to_string(),
        ];
        assert_eq!(names, expected);
    }
}
