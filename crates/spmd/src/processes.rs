//! What a program says by hand of its processes and of propagation, held against the program: the processes that
//! collectives name, and sharding rules.

use crate::meshes::functions_that_run;
use crate::propagate::check_written_rule;
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::{Module, OpView};
use shardwise_ops::collective::CollectiveView;

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
            found.extend(beyond_devices(&view, devices));
        }
    }
    found.or(())
}

/// The error if a collective names a process that the program has not.
fn beyond_devices(view: &OpView<'_>, devices: usize) -> Option<Diagnostic> {
    let process = CollectiveView::of(view)?.named_processes().find(|&p| p >= devices)?;
    let message = format!("`{}` names process {process}, and the program runs on {devices} devices", view.name());
    let d = Diagnostic::error("collective-process", view.loc(), message);
    Some(match view.module.main_mesh() {
        Some(mesh) => d.mesh(mesh).help(format!("name processes from 0 to {}, or enlarge the mesh", devices - 1)),
        None => d.help("declare the devices: `sdy.mesh @mesh = <[\"x\"=2]>`"),
    })
}
