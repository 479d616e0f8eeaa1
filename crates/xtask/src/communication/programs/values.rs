//! Compares the values of the partitioned programs with those of the whole programs: `shardwise run --check`.

use super::export::Exported;
use crate::command::{self, Profile};
use anyhow::Result;
use std::process::Command;
use std::time::Duration;

/// The time limit for one program.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs the programs on random inputs, partitioned and whole. Returns a line for each program whose values differ or
/// that does not run to its end in time. Fails if the command cannot be built or started.
pub fn check(programs: &[&Exported]) -> Result<Vec<String>> {
    let shardwise = command::build_ours(Profile::OWN)?;
    let outcomes = command::in_parallel(programs, |program| {
        let mut run = Command::new(&shardwise);
        run.arg("run").arg(program.program()).args(["--random", "1", "--check"]);
        let outcome = command::run(run, "", LIMIT)?;
        Ok((!outcome.is_success()).then(|| format!("{}: {}", program.label(), outcome.reason())))
    });
    outcomes.into_iter().filter_map(Result::transpose).collect()
}
