//! Checks of what a program states by hand: the processes that collectives name, and sharding rules.

use crate::meshes::functions_that_run;
use crate::propagate::check_written_rule;
use shardwise_base::{Diagnostic, Diagnostics, Mesh};
use shardwise_engine::GLOBAL_TYPE;
use shardwise_ir::{Module, OpView};
use shardwise_ops::Opcode;
use shardwise_ops::collective::{CollectiveView, Groups, IdSpace};

/// Checks the functions that run.
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

/// Checks that no collective outside of manual computations moves data between devices. There, a program is written as
/// if for one device. The calls of `main` must have been inlined.
///
/// Errors: `collective-global`.
pub(crate) fn check_global_view(module: &Module) -> Result<(), Diagnostics> {
    let (Some(mesh), Some(main)) = (module.main_mesh(), module.main()) else { return Ok(()) };
    let mut boundary = main.arg_attrs.iter().chain(&main.result_attrs);
    if boundary.any(|attrs| attrs.contains(GLOBAL_TYPE)) {
        return Ok(());
    }
    let mut found = Diagnostics::default();
    let mut regions = vec![main.body.entry()];
    while let Some(region) = regions.pop() {
        for &op in &main.body[region].ops {
            let view = module.view(&main.body, op);
            if Opcode::of_view(&view) != Opcode::ManualComputation {
                found.extend(in_global_view(&view, mesh));
                regions.extend(view.regions());
            }
        }
    }
    found.or(())
}

/// Returns the error if the op is a collective between several devices.
fn in_global_view(view: &OpView<'_>, mesh: &Mesh) -> Option<Diagnostic> {
    let collective = CollectiveView::of(view)?;
    let is_between_devices = match &collective.groups {
        Groups::Axes { axes, .. } => axes.iter().any(|a| a.size(mesh) > 1),
        Groups::Dense(_) => collective.named_processes().any(|process| process > 0),
        Groups::All => mesh.size() > 1 && collective.ids != IdSpace::CrossReplica,
    };
    is_between_devices.then(|| {
        let message =
            format!("`{}` moves data between devices, and stands outside of manual computations", view.name());
        Diagnostic::error("collective-global", view.loc(), message).mesh(mesh).help(
            "put it into the body of a `sdy.manual_computation`, or leave it out: the partitioner adds collectives",
        )
    })
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
