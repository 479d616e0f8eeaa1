//! `shardwise calibrate`: measures this machine, for predictions.

use crate::{CalibrateArgs, out};
use shardwise_base::Diagnostics;
use shardwise_sim::Machine;
use shardwise_view::Timeline;
use std::path::Path;

/// The comment at the start of a file of a measured machine.
const HEAD: &str = "\
# What this machine does in a second, as `shardwise calibrate` has measured it: one constant a line, with how it was
# measured after `|`. `shardwise simulate PROGRAM --topology FILE:8` predicts with this file, and so does
# `--topology host:8` if `--machine` or the environment variable SHARDWISE_MACHINE names it. `shardwise run --profile`
# then shows the limits of the machine, too.
";

pub fn calibrate(args: &CalibrateArgs) -> Result<(), Diagnostics> {
    let mut output = args.target.open()?;
    let machine = shardwise_calibrate::calibrate(|group| out::message(format_args!("measuring {group}")))?;
    output.write(&format!("{HEAD}{}", machine.to_text()))?;
    output.finish()
}

/// Returns the machine of `file`. For `None`, returns that of the file that the environment variable SHARDWISE_MACHINE
/// names, or `None` if the variable is not set or empty. Fails if the file cannot be read or has mistakes.
pub fn own(file: Option<&Path>) -> Result<Option<Machine>, Diagnostics> {
    match file {
        Some(path) => Machine::load(path).map(Some),
        None => Machine::own(),
    }
}

/// Sets the limits of a measured timeline to those of `machine`. Does nothing for `None` and for a machine that is no
/// host.
pub fn set_limits(timeline: &mut Timeline, machine: Option<&Machine>) {
    if let Some(machine) = machine.filter(|machine| machine.is_host()) {
        timeline.set_limits(machine.limits());
    }
}
