//! The groups of collectives.

use super::context::PlanCx;
use crate::plan::{Members, Points};
use shardwise_base::AxisRef;
use shardwise_ir::OpView;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups};
use std::collections::HashMap;

/// Returns the groups of a collective. Returns `None` if the op is no collective, is a `ragged_all_to_all` or does not
/// have one result, or if there is no mesh.
pub fn members(plan: &PlanCx<'_>, view: &OpView<'_>) -> Option<Members> {
    let is_ragged = |c: &CollectiveView| c.kind == CollectiveKind::RaggedAllToAll;
    let collective = CollectiveView::of(view).filter(|c| view.results().len() == 1 && !is_ragged(c))?;
    let mesh = plan.mesh.as_ref()?;
    let (operand, result) = (plan.points(view.operand(0)), plan.points(view.result(0)));
    let (groups, positions) = match &collective.groups {
        Groups::Axes { axes, .. } => {
            let position = |i: usize| AxisRef::index_in(mesh, axes, &result.coordinates(i));
            (result.groups(&operand, axes), (0..result.count()).map(position).collect())
        }
        Groups::Dense(rows) => dense_groups(rows, &operand, &result)?,
        Groups::All => dense_groups(&[(0..mesh.size()).collect()], &operand, &result)?,
    };
    Some(Members { groups, positions })
}

/// Returns, for each instance of `result`, its group as instances of `operand`, and its position in the group. `rows`
/// has the device ids of each group. An instance is in the group of the first device that holds it, or, if this is in
/// none, in an empty group at position 0. Ids that are not in the mesh are ignored. Returns `None` if there is no mesh.
pub fn dense_groups(rows: &[Vec<usize>], operand: &Points, result: &Points) -> Option<(Vec<Vec<u32>>, Vec<usize>)> {
    let mesh = result.mesh.as_ref()?;
    let devices = mesh.positions();
    let rows: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().filter_map(|&d| devices.of(d)).collect()).collect();
    let numbered = rows.iter().flat_map(|row| row.iter().enumerate().map(move |(k, &p)| (p, (row, k))));
    let place_of: HashMap<usize, (&Vec<usize>, usize)> = numbered.collect();
    let (mut groups, mut positions) = (vec![], vec![]);
    for i in 0..result.count() {
        let place = place_of.get(&mesh.position(&result.coordinates(i)));
        let (row, position) = place.map_or((&[][..], 0), |(row, position)| (&row[..], *position));
        groups.push(row.iter().map(|&p| operand.instance(&mesh.coordinates(p)) as u32).collect());
        positions.push(position);
    }
    Some((groups, positions))
}
