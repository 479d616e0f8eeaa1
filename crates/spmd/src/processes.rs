//! Checks of what a program states by hand: the processes that collectives name, and sharding rules.

use crate::axes::is_read_along;
use crate::meshes::functions_that_run;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Loc, Mesh, Sharding, counted};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{FuncId, Module, OpView, Uses};
use shardwise_ops::Opcode;
use shardwise_ops::calls::callee;
use shardwise_ops::collective::{AxisIndexOp, CollectiveKind, CollectiveView, Groups, IdSpace, Permutation};
use shardwise_ops::shardy::{axes_said, manual_axes, manual_mesh_axes};
use shardwise_propagate::check_written_rule;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Checks the sharding rules that the program states, that its collectives name processes that exist and leave out none
/// that needs their results, and that nothing is split or summed over an axis that is manual already, in the functions
/// that run. All layouts must be over the main mesh.
///
/// Errors: `collective-process`, `sdy-manual-bound`, `sharding-rule`.
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
    found.extend(bound_again(module, functions_that_run(module).into_iter().rev().collect()));
    found.or(())
}

/// Returns an error for each op, argument and list of results of the functions that is split or summed over an axis
/// which is manual already around it, or around a call of its function. `callers_first` has each function before the
/// functions that it calls. Axes of different meshes are not compared.
///
/// Verification finds only those errors whose cause is within one function.
pub(crate) fn bound_again(module: &Module, callers_first: Vec<FuncId>) -> Vec<Diagnostic> {
    let mut found = vec![];
    let mut around_calls: HashMap<FuncId, Vec<AxisOfMesh<'_>>> = HashMap::new();
    for id in callers_first {
        let (func, around) = (&module[id], around_calls.remove(&id).unwrap_or_default());
        let results = func.result_shardings.iter().flatten().flat_map(axes_of);
        found.extend(manual_already(&format!("a result of `@{}`", func.name), &func.loc, results, &around));
        let mut regions = vec![(func.body.entry(), around)];
        while let Some((region, manual)) = regions.pop() {
            for &arg in &func.body[region].args {
                let axes = func.body.sharding(arg).into_iter().flat_map(axes_of);
                found.extend(manual_already("an argument", &func.body[arg].loc, axes, &manual));
            }
            for &op in &func.body[region].ops {
                let view = module.view(&func.body, op);
                let axes = axes_said(&view).into_iter();
                found.extend(manual_already(&format!("`{}`", view.name()), view.loc(), axes, &manual));
                if let Some(callee) = callee(&view) {
                    let known = around_calls.entry(callee).or_default();
                    let is_new = |axis: &&AxisOfMesh<'_>| !known.contains(axis);
                    let new: Vec<AxisOfMesh<'_>> = manual.iter().filter(is_new).copied().collect();
                    known.extend(new);
                }
                if !view.regions().is_empty() {
                    let own = manual_mesh_axes(&view).into_iter();
                    let own = own.flat_map(|(mesh, axes)| axes.iter().map(|&axis| (&**mesh, axis)));
                    let within: Vec<AxisOfMesh<'_>> = manual.iter().copied().chain(own).collect();
                    regions.extend(view.regions().iter().map(|&r| (r, within.clone())));
                }
            }
        }
    }
    found
}

type AxisOfMesh<'a> = (&'a Mesh, AxisRef);

fn axes_of(sharding: &Sharding) -> impl Iterator<Item = AxisOfMesh<'_>> {
    sharding.split_axes().chain(sharding.unreduced.iter().copied()).map(|axis| (&*sharding.mesh, axis))
}

/// Returns an error that names the first one of `axes`, which `what` uses, that overlaps one of the `manual` axes. Axes
/// of different meshes do not overlap. Returns `None` if there is none.
fn manual_already<'a>(
    what: &str,
    loc: &Loc,
    mut axes: impl Iterator<Item = AxisOfMesh<'a>>,
    manual: &[AxisOfMesh<'_>],
) -> Option<Diagnostic> {
    let is_manual = |(mesh, a): &AxisOfMesh<'_>| manual.iter().any(|(own, m)| own.same_devices(mesh) && m.overlaps(*a));
    let (mesh, axis) = axes.find(is_manual)?;
    let message = format!("{what} uses axis {}, which is manual around it already", axis.display(mesh));
    let way_out = "leave the axis out: in a `sdy.manual_computation`, and in functions that it calls, a value is \
                   already the part of one position along the axis";
    Some(Diagnostic::error("sdy-manual-bound", loc, message).mesh(mesh).help(way_out))
}

/// Checks that each collective of the main function moves data along no axes but those that are manual around it, and
/// does the same at every position along all other axes. Also checks that the position of a device along other axes is
/// not read in a way that its value matters: along these axes a program is written as if for one device. The calls of
/// `main` have been inlined. A module that has been partitioned already passes, as does one without a mesh or without
/// functions.
///
/// Errors: `collective-axes`.
pub(crate) fn check_axes(module: &Module) -> Result<(), Diagnostics> {
    let (Some(mesh), Some(main)) = (module.main_mesh(), module.main()) else { return Ok(()) };
    let mut boundary = main.arg_attrs.iter().chain(&main.result_attrs);
    if boundary.any(|attrs| attrs.contains(GLOBAL_TYPE)) {
        return Ok(());
    }
    let mut found = Diagnostics::default();
    let uses = OnceCell::new();
    let mut regions = vec![(main.body.entry(), vec![])];
    while let Some((region, manual)) = regions.pop() {
        for &op in &main.body[region].ops {
            let view = module.view(&main.body, op);
            let wrong = leaves_manual_axes(&view, mesh, &manual);
            found.extend(wrong.or_else(|| reads_free_position(&view, mesh, &manual, &uses)));
            if !view.regions().is_empty() {
                let within = [&manual[..], manual_axes(&view)].concat();
                regions.extend(view.regions().iter().map(|&r| (r, within.clone())));
            }
        }
    }
    found.or(())
}

/// Returns the error if the op is a collective that relates devices that differ along axes other than `manual`, or that
/// treats such devices differently. Returns `None` for other ops, and for a collective that names replicas
/// ([`names_replicas`]).
fn leaves_manual_axes(view: &OpView<'_>, mesh: &Mesh, manual: &[AxisRef]) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view).filter(|c| !names_replicas(c))?;
    let free = free_axes(mesh, manual);
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

/// Returns the error if the op computes the position of a device along axes other than `manual`. Returns `None` if the
/// position is found to serve only to compute numbers that are equal along these axes ([`is_read_along`]), and for ops
/// that do not read a position. Numbers are followed through elementwise ops and reshapes of scalars with constants: if
/// another op reads a number that still differs, the error is returned. `uses` holds the uses of the body's values,
/// once they are needed.
fn reads_free_position(
    view: &OpView<'_>,
    mesh: &Mesh,
    manual: &[AxisRef],
    uses: &OnceCell<Uses>,
) -> Option<Diagnostic> {
    let read: Vec<AxisRef> = match Opcode::of_view(view) {
        Opcode::AxisIndex => AxisIndexOp::axes(view)?.1.to_vec(),
        Opcode::PartitionId => mesh.all_axes().collect(),
        _ => return None,
    };
    let free = free_axes(mesh, manual);
    let is_read = |a: &&AxisRef| read.iter().any(|own| own.overlaps(**a));
    let axis = free.iter().find(is_read)?.display(mesh);
    let number = |at: &[usize]| match Opcode::of_view(view) {
        Opcode::PartitionId => mesh.device(AxisRef::index_in(mesh, &read, at)),
        _ => AxisRef::index_in(mesh, &read, at),
    };
    if is_read_along(view, number, mesh, manual, uses) {
        return None;
    }
    let message =
        format!("`{}` reads the device's position along {axis}, which is not a manual axis there", view.name());
    let way_out = "add the axis to `manual_axes` of the `sdy.manual_computation`: along axes that are not manual a \
                   program is written as if for one device";
    Some(Diagnostic::error("collective-axes", view.loc(), message).mesh(mesh).help(way_out))
}

fn free_axes(mesh: &Mesh, manual: &[AxisRef]) -> Vec<AxisRef> {
    mesh.all_axes().flat_map(|a| a.minus(mesh, manual)).filter(|a| a.size(mesh) > 1).collect()
}

/// Returns true if the collective names numbers, and these are of replicas within one partition. There is one replica,
/// so such a collective moves no data between devices.
fn names_replicas(collective: &CollectiveView) -> bool {
    let is_of_processes = |kind: &CollectiveKind| {
        matches!(kind, CollectiveKind::CollectivePermute { permutation: Permutation::Processes(_) })
    };
    let has_numbers = matches!(collective.groups, Groups::Dense(_)) || is_of_processes(&collective.kind);
    collective.ids == IdSpace::CrossReplica && has_numbers
}

/// Returns true if the groups or pairs of devices that a collective names are the same at every position along the
/// `free` axes. The caller has checked that devices of one group do not differ along these. Also returns true if the
/// collective names no numbers of devices.
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

/// Returns one of `axes` along which devices in one group, or in one pair of source and target, differ, or `None` if
/// there is none.
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
        (_, Groups::Axes { axes: own, .. }) => axes.iter().copied().find(|a| own.iter().any(|b| b.overlaps(*a))),
        (_, Groups::Dense(rows)) if collective.ids != IdSpace::CrossReplicaAndPartition => {
            rows.iter().find_map(|row| differing(row))
        }
        (_, Groups::Dense(_) | Groups::All) => axes.first().copied(),
    }
}

fn beyond_devices(view: &OpView<'_>, devices: usize) -> Option<Diagnostic> {
    let process = CollectiveView::of(view)?.named_processes().find(|&p| p >= devices)?;
    let last = devices - 1;
    let devices = counted(devices, "device");
    let message = format!("`{}` names process {process}, and the program runs on {devices}", view.name());
    let d = Diagnostic::error("collective-process", view.loc(), message);
    Some(match view.module.main_mesh() {
        Some(mesh) => d.mesh(mesh).help(format!("name processes from 0 to {last}, or enlarge the mesh")),
        None => d.help("declare the devices: `sdy.mesh @mesh = <[\"x\"=2]>`"),
    })
}

/// Returns the error if the op is a collective whose result is undefined on devices in no group, and it lists groups of
/// devices by number and has no group for some device. Returns `None` otherwise. [`beyond_devices`] has checked that
/// all numbers are less than `devices`.
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
    let devices = counted(devices, "device");
    let message = format!("no group of `{}` has process {missing}, and the program runs on {devices}", view.name());
    Some(Diagnostic::error("collective-process", view.loc(), message).help("put every process into a group"))
}

/// Returns the error if the op is a collective that names replicas other than 0, and `None` otherwise. A partitioned
/// program is a single replica.
fn other_replicas(view: &OpView<'_>) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view)?;
    let help = match collective.ids {
        IdSpace::CrossReplica => {
            "give it a channel, so that the numbers are devices: \
             `channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids`"
        }
        IdSpace::CrossReplicaAndPartition => "add `use_global_device_ids`, so that the numbers are devices",
        IdSpace::CrossPartition | IdSpace::Flattened => return None,
    };
    let replica = collective.named_processes().find(|&id| id > 0)?;
    let message = format!("`{}` names replica {replica}, and a partitioned program is a single replica", view.name());
    Some(Diagnostic::error("collective-process", view.loc(), message).help(help))
}
