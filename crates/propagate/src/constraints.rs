//! Copies a closed constraint to its input if nothing is known about the input's sharding.
//!
//! `y = constraint(x)` is written to determine how `x` is computed, and other users of `x` should profit from it. If
//! `x` is at a data-flow edge, its sharding would also constrain everything else at the edge. In that case the other
//! uses of `x` are changed to use the constraint's result. The operands of a manual computation are constrained by its
//! `in_shardings`.

use crate::draft::{Def, Draft, NodeKind, OpId, Order, Use, ValueId};
use crate::edges::Manual;
use shardwise_base::Sharding;
use shardwise_ops::Opcode;
use std::collections::HashSet;

pub(crate) fn apply_constraints(draft: &mut Draft<'_>) {
    for op in draft.walk(Order::Post) {
        if is_constraint(draft, op) {
            reroute_chain(draft, op);
            let input = draft.op(op).operands[0];
            if let Some(sharding) = constraint_sharding(draft, op).cloned() {
                apply(draft, op, input, &sharding);
            }
        } else if let Some(manual) = Manual::of(draft, op) {
            for (i, sharding) in manual.in_shardings.iter().enumerate() {
                let input = draft.op(op).operands[i];
                apply(draft, op, input, sharding);
            }
        }
    }
}

fn is_constraint(draft: &Draft<'_>, op: OpId) -> bool {
    draft.opcode(op) == Some(Opcode::ShardingConstraint)
}

fn constraint_sharding<'d>(draft: &'d Draft<'_>, op: OpId) -> Option<&'d Sharding> {
    draft.value(draft.op(op).results[0]).sharding.as_ref()
}

/// Sets the sharding of `input` to `sharding`, which `op` requires, if [`should_apply`] allows it. If `input` is at a
/// data-flow edge, puts a constraint directly after `input` instead, whose result replaces it in all other uses, and
/// sets only the unreduced axes of `input`.
fn apply(draft: &mut Draft<'_>, op: OpId, input: ValueId, sharding: &Sharding) {
    if !should_apply(draft, input, sharding) {
        return;
    }
    if !is_at_edge(draft, input) {
        set_sharding(draft, input, sharding);
        return;
    }
    let constraint = constraint_after(draft, op, input, sharding);
    let result = draft.op(constraint).results[0];
    draft.replace_uses(input, result, |_, u| u.op != constraint);
    if !sharding.unreduced.is_empty() {
        let holder = draft.holder(input);
        let mut current =
            draft.sharding(input).cloned().unwrap_or_else(|| Sharding::open(&sharding.mesh, sharding.rank()));
        current.unreduced.clone_from(&sharding.unreduced);
        draft.value_mut(holder).sharding = Some(current);
    }
}

fn is_at_edge(draft: &Draft<'_>, v: ValueId) -> bool {
    let is_edge = |def| draft.is_edge(def) || draft.opcode(def) == Some(Opcode::DataFlowEdgeOp);
    draft.value(v).edge.is_some() || draft.def_op(v).is_some_and(is_edge)
}

fn should_apply(draft: &Draft<'_>, input: ValueId, sharding: &Sharding) -> bool {
    can_hold(draft, input)
        && draft.sharding(input).is_none()
        && sharding.is_closed()
        && draft.uses(input).all(|u| wanted_by(draft, u).is_none_or(|other| other == *sharding))
}

/// Returns the sharding that a constraint or a manual computation requires of a value that it uses, or `None` if it
/// requires none, as other ops do.
fn wanted_by(draft: &Draft<'_>, at: Use) -> Option<Sharding> {
    if is_constraint(draft, at.op) {
        return constraint_sharding(draft, at.op).cloned();
    }
    Some(Manual::of(draft, at.op)?.in_shardings[at.index].clone())
}

/// Returns true if a value can have a sharding. Arguments of regions cannot, unless they are at a data-flow edge.
fn can_hold(draft: &Draft<'_>, v: ValueId) -> bool {
    match draft.value(v).def {
        Def::Argument(block) => draft.block(block).parent.is_none() || draft.value(v).edge.is_some(),
        Def::Result(_) => true,
    }
}

/// Sets the sharding of a value. The other results of its op that have no sharding become open.
fn set_sharding(draft: &mut Draft<'_>, v: ValueId, sharding: &Sharding) {
    if let Some(op) = draft.def_op(v) {
        for other in draft.op(op).results.clone() {
            let rank = draft.value(other).ty.shape().len();
            draft.value_mut(other).sharding.get_or_insert_with(|| Sharding::open(&sharding.mesh, rank));
        }
    }
    draft.value_mut(v).sharding = Some(sharding.clone());
}

/// Returns a constraint directly after `input`: `op` itself, moved there, or a new one if `op` is a manual computation.
fn constraint_after(draft: &mut Draft<'_>, op: OpId, input: ValueId, sharding: &Sharding) -> OpId {
    if is_constraint(draft, op) {
        draft.unlink(op);
        draft.place_after_value(op, input);
        return op;
    }
    let (frame, parent) = (draft.op(op).frame, draft.op(op).parent);
    let NodeKind::Source(source) = draft.op(op).kind else { unreachable!("a manual computation is of the source") };
    let new = draft.add_op(frame, NodeKind::Constraint(source), &[input], parent);
    let (ty, loc) = (draft.value(input).ty, draft.value(input).loc);
    let result = draft.add_value(ty, loc, Def::Result(new), Some(sharding.clone()));
    draft.op_mut(new).results.push(result);
    draft.place_after_value(new, input);
    new
}

/// Changes the uses of the input of a chain of constraints that starts at `head` to the chain's result, because the
/// last constraint of a chain counts. Only uses by ops after the chain in the same block are changed, except a
/// function's return. Does nothing if [`tail_of_chain`] finds no chain.
fn reroute_chain(draft: &mut Draft<'_>, head: OpId) {
    let Some(tail) = tail_of_chain(draft, head) else { return };
    let (input, result) = (draft.op(head).operands[0], draft.op(tail).results[0]);
    let block = draft.op(tail).parent;
    let may_move = |u: Use| {
        let is_return = draft.opcode(u.op) == Some(Opcode::Return);
        u.op != head && !is_return && draft.op(u.op).parent == block
    };
    let users: HashSet<OpId> = draft.uses(input).filter(|&u| may_move(u)).map(|u| u.op).collect();
    if users.is_empty() {
        return;
    }
    let later = draft.block(block).ops.iter().skip_while(|&&op| op != tail).skip(1);
    let later: HashSet<OpId> = later.copied().filter(|op| users.contains(op)).collect();
    draft.replace_uses(input, result, |_, u| later.contains(&u.op));
}

/// Returns the last op of the chain of constraints that starts at `head`: at least two, each the only use of the one
/// before. Returns `None` if there is no such chain, if a constraint makes its input, if its input has a sharding, or
/// if another constraint or a manual computation uses its input or its result.
fn tail_of_chain(draft: &Draft<'_>, head: OpId) -> Option<OpId> {
    let input = draft.op(head).operands[0];
    let starts_here = draft.def_op(input).is_none_or(|def| !is_constraint(draft, def));
    if !starts_here || draft.sharding(input).is_some() || is_constrained(draft, input, head) {
        return None;
    }
    let mut tail = head;
    while let Some(next) = only_user(draft, draft.op(tail).results[0]).filter(|&op| is_constraint(draft, op)) {
        tail = next;
    }
    (tail != head && !is_constrained(draft, draft.op(tail).results[0], tail)).then_some(tail)
}

fn only_user(draft: &Draft<'_>, v: ValueId) -> Option<OpId> {
    let mut uses = draft.uses(v);
    let first = uses.next()?;
    uses.next().is_none().then_some(first.op)
}

fn is_constrained(draft: &Draft<'_>, v: ValueId, except: OpId) -> bool {
    let wants = |op: OpId| is_constraint(draft, op) || draft.opcode(op) == Some(Opcode::ManualComputation);
    draft.uses(v).any(|u| u.op != except && wants(u.op))
}
