//! The groups of collectives.

use super::context::PlanCx;
use crate::plan::{Group, Members, Points};
use shardwise_base::AxisRef;
use shardwise_base::budget::Meter;
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups, IdSpace, with_index_in};
use std::collections::HashMap;

/// Returns the groups of a collective. Returns `None` if the op is no collective, if it is a `collective_permute` or a
/// `ragged_all_to_all`, if it does not have one result, if its groups are lists of replicas and there is a mesh, and if
/// its groups are over axes and there is no mesh.
pub fn members(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Members> {
    let collective = CollectiveView::of(view).filter(|c| view.results().len() == 1 && !has_own_step(&c.kind))?;
    let (operand, result) = (plan.points(view.operand(0)), plan.points(view.result(0)));
    if let (Groups::Axes { axes, .. }, Some(mesh)) = (&collective.groups, &plan.mesh) {
        let at = |i: usize| result.coordinates(i);
        let first = |i: usize| result.instance(&with_index_in(mesh, axes, &at(i), 0));
        return Some(Members {
            groups: result.groups(&operand, axes),
            positions: (0..result.count()).map(|i| AxisRef::index_in(mesh, axes, &at(i))).collect(),
            firsts: (0..result.count()).map(first).collect(),
        });
    }
    Some(dense_groups(&rows_of_devices(plan, &collective)?, &operand, &result))
}

fn has_own_step(kind: &CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::CollectivePermute { .. } | CollectiveKind::RaggedAllToAll)
}

/// Returns the groups of a collective as rows of device ids. Lists are returned as they are written, and may name
/// devices that the program does not have: without a mesh it has device 0 only, and lists of replicas are returned as
/// lists of devices. Returns `None` if the groups are over axes, or are lists of replicas on a mesh, which earlier
/// passes replace.
pub fn rows_of_devices(plan: &PlanCx<'_>, collective: &CollectiveView) -> Option<Vec<Vec<usize>>> {
    let is_of_devices = matches!(collective.ids, IdSpace::CrossPartition | IdSpace::Flattened);
    match &collective.groups {
        Groups::Axes { .. } => None,
        Groups::Dense(rows) => (is_of_devices || plan.mesh.is_none()).then(|| rows.clone()),
        Groups::All => Some(vec![(0..plan.mesh.as_ref().map_or(1, |mesh| mesh.size())).collect()]),
    }
}

/// Returns, for each instance of `result`, its group as instances of `operand`, its position in the group, and the
/// instance of `result` on the first device of the group. `rows` has the device ids of each group. An instance is in
/// the group of the first device that holds it. If this device is in no group, the instance is in an empty group at
/// position 0, and the first instance of this group is the instance itself. Ids that are not in the mesh are ignored.
/// Without a mesh, there is one device, with the id 0.
pub fn dense_groups(rows: &[Vec<usize>], operand: &Points, result: &Points) -> Members {
    let Some(mesh) = &result.mesh else {
        let group = if rows.iter().any(|row| row.contains(&0)) { [0].into() } else { [].into() };
        return Members { groups: vec![group], positions: vec![0], firsts: vec![0] };
    };
    let devices = mesh.positions();
    let rows: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().filter_map(|&d| devices.of(d)).collect()).collect();
    let group = |row: &Vec<usize>| row.iter().map(|&p| operand.instance(&mesh.coordinates(p)) as u32).collect();
    let groups: Vec<Group> = rows.iter().map(group).collect();
    let numbered = rows
        .iter()
        .zip(&groups)
        .flat_map(|(row, group)| row.iter().enumerate().map(move |(k, &p)| (p, (row, group, k))));
    let place_of: HashMap<usize, (&Vec<usize>, &Group, usize)> = numbered.collect();
    let none = (&vec![], &Group::from([]), 0);
    let mut meter = Meter::default();
    let mut members = Members { groups: vec![], positions: vec![], firsts: vec![] };
    for i in 0..result.count() {
        meter.add(1);
        let (row, group, position) = *place_of.get(&mesh.position(&result.coordinates(i))).unwrap_or(&none);
        members.groups.push(group.clone());
        members.positions.push(position);
        members.firsts.push(row.first().map_or(i, |&p| result.instance(&mesh.coordinates(p))));
    }
    members
}
