//! Sharding groups, whose members start with equal shardings and keep them equal.
//!
//! If the members have different shardings, each is followed by an open constraint, and the results of the constraints
//! become the members of the group. The written shardings then still hold, and the later uses have equal shardings.

use crate::draft::{Def, Draft, NodeKind, Order, ValueId};
use shardwise_base::Sharding;
use shardwise_ops::shardy::ShardingGroup;
use std::collections::BTreeMap;

/// Finds the groups of the draft, adds them to it, and sets the members of each to their common sharding. Members
/// without a sharding do not count, and neither do those whose dimensions are all open and without axes, unless they
/// have replicated or unreduced axes. If the others have different shardings, the results of new open constraints are
/// the members instead. If there are no others, the shardings stay as they are.
pub(crate) fn sync(draft: &mut Draft<'_>) {
    for mut members in groups(draft) {
        match common(draft, &members) {
            Common::None => {}
            Common::One(sharding) => members.iter().for_each(|&v| set(draft, v, &sharding)),
            Common::Several(sharding) => {
                let open = Sharding::open(&sharding.mesh, sharding.rank());
                members = members.into_iter().filter_map(|v| constrain(draft, v, &open)).collect();
            }
        }
        draft.groups.push(members);
    }
}

/// Returns the members of each group, as the values that hold their shardings. Groups that share a value are merged.
fn groups(draft: &Draft<'_>) -> Vec<Vec<ValueId>> {
    let mut members: BTreeMap<i64, Vec<ValueId>> = BTreeMap::new();
    for op in draft.walk(Order::Pre).into_iter().filter(|&op| draft.is_sharding_group(op)) {
        let id = draft.source(op).and_then(|v| ShardingGroup::id(&v)).unwrap_or(0);
        members.entry(id).or_default().push(draft.holder(draft.op(op).operands[0]));
    }
    let mut merged: Vec<Vec<ValueId>> = vec![];
    for group in members.into_values() {
        let (touching, others): (Vec<_>, Vec<_>) =
            merged.into_iter().partition(|m: &Vec<ValueId>| m.iter().any(|v| group.contains(v)));
        merged = others;
        let mut all: Vec<ValueId> = vec![];
        for v in touching.into_iter().flatten().chain(group) {
            if !all.contains(&v) {
                all.push(v);
            }
        }
        merged.push(all);
    }
    merged
}

enum Common {
    None,
    One(Sharding),
    Several(Sharding),
}

/// Returns the sharding that the members have in common, or the first of several. Shardings that consist of open
/// dimensions without axes do not count.
fn common(draft: &Draft<'_>, members: &[ValueId]) -> Common {
    let says_nothing = |s: &&Sharding| {
        s.replicated.is_empty() && s.unreduced.is_empty() && s.dims.iter().all(|d| d.axes.is_empty() && d.is_open)
    };
    let mut said = members.iter().filter_map(|&v| draft.value(v).sharding.as_ref()).filter(|s| !says_nothing(s));
    match said.next() {
        None => Common::None,
        Some(first) if members.len() == 1 || said.all(|other| other == first) => Common::One(first.clone()),
        Some(first) => Common::Several(first.clone()),
    }
}

fn set(draft: &mut Draft<'_>, v: ValueId, sharding: &Sharding) {
    draft.value_mut(v).sharding = Some(sharding.clone());
}

/// Adds an open constraint after `v`, whose result replaces `v` in all other uses. Returns the result, or `None`,
/// having added nothing, if no sharding group uses `v`.
fn constrain(draft: &mut Draft<'_>, v: ValueId, open: &Sharding) -> Option<ValueId> {
    let near = draft.uses(v).map(|u| u.op).find(|&op| draft.is_sharding_group(op))?;
    let NodeKind::Source(source) = draft.op(near).kind else { return None };
    let (frame, parent) = (draft.op(near).frame, draft.op(near).parent);
    let constraint = draft.add_op(frame, NodeKind::Constraint(source), &[v], parent);
    let (ty, loc) = (draft.value(v).ty, draft.value(v).loc);
    let result = draft.add_value(ty, loc, Def::Result(constraint), Some(open.clone()));
    draft.op_mut(constraint).results.push(result);
    draft.place_after_value(constraint, v);
    draft.replace_uses(v, result, |_, u| u.op != constraint);
    Some(result)
}
