//! The groups of ops that run as one block program.

use super::emit::{Compiled, compile};
use super::ops::{folded, is_computed, is_trailing, space_of};
use super::views::is_view;
use crate::kernels::context::PlanCx;
use crate::plan::Points;
use shardwise_ir::{Op, OpView, Uses};
use shardwise_ops::Opcode;
use std::collections::HashSet;

/// The largest number of ops of a group. Larger groups are not faster, because there are few temporaries.
const MAX_OPS: usize = 48;
/// The largest distance, in ops, from the root to a producer that joins.
const WINDOW: usize = 160;

/// Ops that run as one step, at the position of the last of them.
pub struct Group {
    /// The ops in program order. The last one is the root, whose result is the step's.
    pub ops: Vec<Op>,
    pub program: Compiled,
}

/// Returns the groups of a block, in program order of their roots. Ops of `claimed` are in no group, and no op is in
/// two.
pub fn groups(plan: &PlanCx<'_>, ops: &[Op], uses: &Uses, mut claimed: HashSet<Op>) -> Vec<Group> {
    let mut groups = vec![];
    for root in (0..ops.len()).rev() {
        if claimed.contains(&ops[root]) || !is_computed(plan, &plan.view(ops[root])) {
            continue;
        }
        let grown = grow(plan, ops, root, uses, &claimed);
        let group = try_compile(plan, grown).or_else(|| try_compile(plan, vec![ops[root]]));
        if let Some(group) = group {
            claimed.extend(&group.ops);
            groups.push(group);
        }
    }
    groups.reverse();
    groups
}

/// Returns the root `ops[root]` and the producers that join it, in program order. An op that is not claimed joins if
/// all uses of its result are in the group, and its points and its shape suit the root. A view joins whatever its
/// shape, but is not returned. There are at most [`MAX_OPS`] ops in all, and only the [`WINDOW`] ops before the root
/// are considered.
fn grow(plan: &PlanCx<'_>, ops: &[Op], root: usize, uses: &Uses, claimed: &HashSet<Op>) -> Vec<Op> {
    let root_view = plan.view(ops[root]);
    let shape = Shape::of(&root_view);
    let points = plan.points(root_view.result(0));
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
        if only_here && (is_view || (joins(plan, &view, &points) && shape.admits(&view))) {
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

    /// Returns true if the shape of an op allows it to join. A `reduce` may join if the root folds nothing, and the
    /// `reduce` folds the trailing dimensions of the space. Any other op may join if its result has as many elements as
    /// the space, or at most one, or, if the root folds nothing, at most one for each row.
    fn admits(&self, view: &OpView<'_>) -> bool {
        let size: usize = self.space.iter().product();
        let row = self.space.last().copied().unwrap_or(1).max(1);
        let own = view.result_tensor(0).size();
        match Opcode::of_view(view) {
            Opcode::Reduce => {
                !self.reduces && view.operand_shape(0) == self.space && is_trailing(&folded(view), &self.space)
            }
            _ => own == size || (own <= size / row && !self.reduces) || own <= 1,
        }
    }
}

fn try_compile(plan: &PlanCx<'_>, ops: Vec<Op>) -> Option<Group> {
    let program = compile(plan, &ops)?;
    Some(Group { ops, program })
}
