//! Checks of what a program states by hand: the processes that collectives name, and sharding rules.

use crate::meshes::functions_that_run;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Mesh};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Module, OpView};
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Groups, IdSpace, Permutation};
use shardwise_ops::shardy::manual_axes;
use shardwise_propagate::check_written_rule;
use std::collections::{BTreeMap, BTreeSet};

/// Checks the sharding rules that the program states, and the processes that its collectives name, in the functions
/// that run.
///
/// Errors: `collective-process`, `sharding-rule`.
pub(crate) fn check(module: &Module) -> Result<(), Diagnostics> {
    let devices = module.main_mesh().map_or(1, |m| m.size());
    let mut found = Diagnostics::default();
    for func in functions_that_run(module).into_iter().map(|id| &module[id]) {
        for op in func.body.walk() {
            let view = module.view(&func.body, op);
            found.extend(check_written_rule(&view));
            let wrong = beyond_devices(&view, devices).or_else(|| other_replicas(&view));
            found.extend(wrong.or_else(|| left_out(&view, devices)));
        }
    }
    found.or(())
}

/// Checks that each collective of the main function moves data along the axes that are manual where it stands, and
/// along no other: along other axes a program is written as if for one device. The calls of `main` have been inlined. A
/// module that has been partitioned already passes.
///
/// Errors: `collective-axes`.
pub(crate) fn check_axes(module: &Module) -> Result<(), Diagnostics> {
    let (Some(mesh), Some(main)) = (module.main_mesh(), module.main()) else { return Ok(()) };
    let mut boundary = main.arg_attrs.iter().chain(&main.result_attrs);
    if boundary.any(|attrs| attrs.contains(GLOBAL_TYPE)) {
        return Ok(());
    }
    let mut found = Diagnostics::default();
    let mut regions = vec![(main.body.entry(), vec![])];
    while let Some((region, manual)) = regions.pop() {
        for &op in &main.body[region].ops {
            let view = module.view(&main.body, op);
            found.extend(leaves_manual_axes(&view, mesh, &manual));
            if !view.regions().is_empty() {
                let within = [&manual[..], manual_axes(&view)].concat();
                regions.extend(view.regions().iter().map(|&r| (r, within.clone())));
            }
        }
    }
    found.or(())
}

/// Returns the error if the op is a collective that relates devices that differ along axes other than `manual`, or that
/// treats such devices differently.
fn leaves_manual_axes(view: &OpView<'_>, mesh: &Mesh, manual: &[AxisRef]) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view).filter(|c| c.ids != IdSpace::CrossReplica)?;
    let free = mesh.all_axes().flat_map(|a| a.minus(mesh, manual)).filter(|a| a.size(mesh) > 1);
    let free: Vec<AxisRef> = free.collect();
    if let Some(axis) = moved_along(&collective, mesh, &free) {
        let message =
            format!("`{}` moves data along {}, which is not a manual axis there", view.name(), axis.display(mesh));
        let way_out = "add the axis to `manual_axes` of the `sdy.manual_computation`, or leave the collective out: \
                       along axes that are not manual the partitioner inserts collectives";
        return Some(Diagnostic::error("collective-axes", view.loc(), message).mesh(mesh).help(way_out));
    }
    if is_alike(&collective, mesh, &free, manual) {
        return None;
    }
    let names: Vec<String> = free.iter().map(|a| a.display(mesh).to_string()).collect();
    let message = format!(
        "`{}` does not do the same at every position along axes that are not manual there: {}",
        view.name(),
        names.join(", ")
    );
    let way_out = "name the same groups at every position along these axes, or add them to `manual_axes` of the \
                   `sdy.manual_computation`";
    Some(Diagnostic::error("collective-axes", view.loc(), message).mesh(mesh).help(way_out))
}

/// Returns whether the groups or pairs of a collective are the same at every position along the `free` axes. Devices of
/// one group do not differ along these.
fn is_alike(collective: &CollectiveView, mesh: &Mesh, free: &[AxisRef], manual: &[AxisRef]) -> bool {
    let rows: Vec<Vec<usize>> = match (&collective.kind, &collective.groups) {
        (CollectiveKind::CollectivePermute { permutation: Permutation::Processes(pairs) }, _) => {
            pairs.iter().map(|&(source, target)| vec![source, target]).collect()
        }
        (_, Groups::Dense(rows)) if collective.ids != IdSpace::CrossReplicaAndPartition => rows.clone(),
        _ => return true,
    };
    let positions = mesh.positions();
    let mut groups: BTreeMap<usize, BTreeSet<Vec<usize>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.is_empty()) {
        let coordinates = |&device: &usize| mesh.coordinates(positions.of(device).unwrap_or_default());
        let members = row.iter().map(|device| AxisRef::index_in(mesh, manual, &coordinates(device))).collect();
        groups.entry(AxisRef::index_in(mesh, free, &coordinates(&row[0]))).or_default().insert(members);
    }
    let mut sets = groups.values();
    let Some(first) = sets.next() else { return true };
    groups.len() == AxisRef::total_size(mesh, free) && sets.all(|set| set == first)
}

/// Returns one of `axes` along which devices in one group, or in one pair of source and target, differ. Returns `None`
/// if there is none.
fn moved_along(collective: &CollectiveView, mesh: &Mesh, axes: &[AxisRef]) -> Option<AxisRef> {
    let positions = mesh.positions();
    let coordinates = |&device: &usize| mesh.coordinates(positions.of(device).unwrap_or_default());
    let differing = |devices: &[usize]| {
        let (first, others) = devices.split_first()?;
        let first = coordinates(first);
        let along = |axis: AxisRef, coordinates: &[usize]| AxisRef::index_in(mesh, &[axis], coordinates);
        let differs = |other: &[usize]| axes.iter().copied().find(|&a| along(a, &first) != along(a, other));
        others.iter().find_map(|device| differs(&coordinates(device)))
    };
    match (&collective.kind, &collective.groups) {
        _ if axes.is_empty() => None,
        (CollectiveKind::CollectivePermute { permutation: Permutation::Processes(pairs) }, _) => {
            pairs.iter().find_map(|&(source, target)| differing(&[source, target]))
        }
        (_, Groups::Axes { axes: own, .. }) => axes.iter().copied().find(|a| own.iter().any(|b| b.overlaps(*a, mesh))),
        (_, Groups::Dense(rows)) if collective.ids != IdSpace::CrossReplicaAndPartition => {
            rows.iter().find_map(|row| differing(row))
        }
        (_, Groups::Dense(_) | Groups::All) => axes.first().copied(),
    }
}

/// Returns the error if a collective names a process that does not exist.
fn beyond_devices(view: &OpView<'_>, devices: usize) -> Option<Diagnostic> {
    let process = CollectiveView::of(view)?.named_processes().find(|&p| p >= devices)?;
    let message = format!("`{}` names process {process}, and the program runs on {devices} devices", view.name());
    let d = Diagnostic::error("collective-process", view.loc(), message);
    Some(match view.module.main_mesh() {
        Some(mesh) => d.mesh(mesh).help(format!("name processes from 0 to {}, or enlarge the mesh", devices - 1)),
        None => d.help("declare the devices: `sdy.mesh @mesh = <[\"x\"=2]>`"),
    })
}

/// Returns the error if a collective whose result every device needs has no group for some device.
fn left_out(view: &OpView<'_>, devices: usize) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view).filter(|c| c.kind.needs_every_process())?;
    let is_of_devices = matches!(collective.ids, IdSpace::CrossPartition | IdSpace::Flattened);
    let Groups::Dense(rows) = collective.groups else { return None };
    if !is_of_devices {
        return None;
    }
    let mut is_named = vec![false; devices];
    rows.iter().flatten().for_each(|&id| is_named[id] = true);
    let missing = is_named.iter().position(|named| !named)?;
    let message =
        format!("no group of `{}` has process {missing}, and the program runs on {devices} devices", view.name());
    Some(Diagnostic::error("collective-process", view.loc(), message).help("put every process into a group"))
}

/// Returns the error if a collective names other replicas: a partitioned program is a single replica.
fn other_replicas(view: &OpView<'_>) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view).filter(|c| c.ids == IdSpace::CrossReplica)?;
    let Groups::Dense(rows) = &collective.groups else { return None };
    let replica = rows.concat().into_iter().find(|&id| id > 0)?;
    let message = format!("`{}` names replica {replica}, and a partitioned program is a single replica", view.name());
    let help = "give it a channel, so that the numbers are devices: \
                `channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids`";
    Some(Diagnostic::error("collective-process", view.loc(), message).help(help))
}
