//! Runs our side: the `shardwise` command on every program. A failure is a verdict, and an output becomes a job for a
//! judge.

use super::check::{Check, Verdict, Verdicts};
use super::judge::{Job, Request};
use super::programs::Program;
use crate::command::Profile;
use crate::{command, repo};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The time limit for one call of the command.
const LIMIT: Duration = Duration::from_secs(60);

/// Builds the `shardwise` command with the profile of this program, and returns its path. Fails if the build does.
pub fn build() -> Result<PathBuf> {
    command::build_ours(Profile::OWN)
}

/// Runs our command for all programs and checks. Returns a verdict for each call that fails, and the jobs for the
/// judges. Outputs are written below `work`. Fails if the command cannot be started, or if an output cannot be read or
/// written.
pub fn run_all(shardwise: &Path, programs: &[Program], checks: &[Check], work: &Path) -> Result<(Verdicts, Vec<Job>)> {
    let tasks = tasks(programs.len(), checks);
    let outcomes = command::in_parallel(&tasks, |task| run(shardwise, &programs[task.program], task, work));
    let (mut verdicts, mut jobs) = (Verdicts::new(), vec![]);
    for (task, outcome) in tasks.iter().zip(outcomes) {
        match outcome? {
            Ok(requests) => {
                let wanted = requests.into_iter().filter(|(check, _)| checks.contains(check));
                jobs.extend(wanted.map(|(check, request)| Job { program: task.program, check, request }));
            }
            Err(reason) => {
                verdicts.insert((task.program, task.check), Verdict::Failed(reason));
            }
        }
    }
    Ok((verdicts, jobs))
}

/// A check of a program, for which the command is called once or twice.
struct Task {
    program: usize,
    check: Check,
}

/// Returns the calls that the checks need. Verification and interpretation share one.
fn tasks(program_count: usize, checks: &[Check]) -> Vec<Task> {
    let mut calls: Vec<Check> = checks.to_vec();
    if calls.contains(&Check::Verify) {
        calls.retain(|c| *c != Check::Interpret);
    }
    (0..program_count).flat_map(|program| calls.iter().map(move |&check| Task { program, check })).collect()
}

type Requests = Vec<(Check, Request)>;

/// Calls the command for a check. Returns the requests about its output, or the reason why there is no output as the
/// inner error. Verification and interpretation both have the requests of both, but a program that calls a library has
/// none to interpret it. Fails if the command cannot be started, or if the output cannot be read or written.
fn run(shardwise: &Path, program: &Program, task: &Task, work: &Path) -> Result<Result<Requests, String>> {
    let out = |extension: &str| program.file_in(work, extension);
    std::fs::create_dir_all(out("").parent().expect("below the work folder"))?;
    let source = program.file(".mlir");
    let mut call = Command::new(shardwise);
    match task.check {
        Check::Host | Check::Interp => {
            let engine = task.check.name();
            let values = out(&format!(".{engine}.npz"));
            call.arg("run").arg(source).arg("--inputs").arg(program.file(".in.npz"));
            call.arg("--outputs").arg(&values).args(["--engine", engine]);
            let request = Request::Values { ours: values, expected: program.file(".out.npz") };
            finish(call, None, vec![(task.check, request)])
        }
        Check::Propagate => {
            let ours = out(".propagated.mlir");
            call.arg("propagate").arg(source);
            let request = Request::Shardings { ours: ours.clone(), theirs: program.file(".shardy.mlir") };
            finish(call, Some(ours), vec![(task.check, request)])
        }
        Check::Verify | Check::Interpret => {
            let (file, layout) = (out(".dense.mlir"), out(".local.mlir"));
            let mut with_axes = Command::new(shardwise);
            with_axes.arg("partition").arg(&source);
            call.args(["partition", "--replica-groups", "dense"]).arg(source);
            let (inputs, expected) = (program.file(".in.npz"), program.file(".out.npz"));
            let interpret = Request::Interpret { file: file.clone(), layout: layout.clone(), inputs, expected };
            let verify = Request::Verify { file: file.clone() };
            match finish(with_axes, Some(layout), vec![])? {
                Ok(_) => {
                    let requests = vec![(Check::Verify, verify), (Check::Interpret, interpret)];
                    let found = finish(call, Some(file.clone()), requests)?;
                    let is_foreign = found.is_ok() && calls_library(&file)?;
                    Ok(if is_foreign { found.map(without_interpreter) } else { found })
                }
                failed => Ok(failed),
            }
        }
    }
}

/// The libraries of CPUs that programs call, as the starts of the calls' names. jaxlib's interpreter has none of them.
const LIBRARIES: [&str; 2] = ["@lapack_", "@cpu_csr_"];

fn calls_library(file: &Path) -> Result<bool> {
    let text = repo::read(file)?;
    Ok(LIBRARIES.iter().any(|name| text.contains(&format!("stablehlo.custom_call {name}"))))
}

fn without_interpreter(mut requests: Requests) -> Requests {
    requests.retain(|(check, _)| *check != Check::Interpret);
    requests
}

/// Runs the call and writes its standard output to the file `printed`, if there is one. Returns the requests if it
/// succeeded, and otherwise the reason why it failed as the inner error. Fails if the call cannot be started, or if the
/// file cannot be written.
fn finish(call: Command, printed: Option<PathBuf>, requests: Requests) -> Result<Result<Requests, String>> {
    let outcome = command::run(call, "", LIMIT)?;
    if !outcome.is_success() {
        return Ok(Err(outcome.reason()));
    }
    if let Some(file) = printed {
        shardwise_base::file::write(&file, outcome.stdout)
            .with_context(|| format!("cannot write {}", repo::shown(&file)))?;
    }
    Ok(Ok(requests))
}
