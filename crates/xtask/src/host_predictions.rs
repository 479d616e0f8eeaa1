//! `cargo xtask host-predictions`: compares predictions for this machine with measurements on it.
//!
//! The programs are those of `testdata/cost` and some of the corpus. Each is run several times by the host engine and
//! predicted with the constants of this machine. All programs are run in several rounds, as `calibrate` does. In
//! each round, a program has one run that counts: the one that is slower than a quarter of its runs in this round. The
//! fastest of these runs is compared: its total time, and the times of its longest instructions.

use crate::bench::median;
use crate::repo::stem;
use crate::table::Table;
use crate::{program, repo};
use anyhow::{Context, Result};
use shardwise_check::choose::Chooser;
use shardwise_check::single::Fill;
use shardwise_engine::{Argument, Engine, RunProfile};
use shardwise_host::HostEngine;
use shardwise_ir::Module;
use shardwise_sim::{Machine, Topology, simulate};
use shardwise_view::{InstructionKey, SpanKind, Timeline};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Compare predictions for this machine with measurements on it, and print the errors.
#[derive(clap::Args)]
pub struct Options {
    /// The file of this machine, as `shardwise calibrate` writes it; without it, the machine is measured first
    #[arg(long)]
    machine: Option<PathBuf>,
    /// Compare only programs whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// The number of runs of each program
    #[arg(long, default_value_t = 15)]
    runs: usize,
    /// Print the instructions of each program with the largest differences
    #[arg(long)]
    list: bool,
}

/// Programs of the corpus that are also compared.
const OF_CORPUS: &[&str] = &[
    "testdata/transformer/tiny.mlir",
    "testdata/transformer/tiny_train.mlir",
    "testdata/corpus/control/scan_rnn.mlir",
];

/// The number of times that all programs are run.
const ROUNDS: usize = 3;

/// The number of the longest instructions of a program that are compared.
const LONGEST: usize = 10;

/// The largest number of runs before those that are compared, in which small programs become machine code.
const WARM_UPS: usize = 200;

/// The time after which no further one of the [`WARM_UPS`] starts.
const WARM_UP_TIME: Duration = Duration::from_millis(200);

/// The number of instructions that are listed for each program.
const LISTED: usize = 8;

/// A program that was measured and predicted.
struct Compared {
    name: String,
    measured: Timeline,
    predicted: Timeline,
    /// The errors of the longest instructions that both timelines have.
    errors: Vec<f64>,
    /// How many of the longest instructions the prediction does not have.
    missing: usize,
}

/// Compares the programs that the options select. Returns a table, and true if there is a program, the median error of
/// the total time is at most 15 %, and that of the longest instructions at most 25 %. Fails if the machine cannot be
/// read or measured, or if a program cannot be read, partitioned, run or predicted.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let machine = Arc::new(machine(options)?);
    let files: Vec<PathBuf> = repo::cost_programs()?.into_iter().chain(OF_CORPUS.iter().map(PathBuf::from)).collect();
    let files: Vec<&PathBuf> = files.iter().filter(|file| stem(file).contains(&options.only)).collect();
    let mut compared: Vec<Compared> = vec![];
    for round in 1..=ROUNDS {
        eprintln!("running the programs, round {round} of {ROUNDS}");
        for (i, file) in files.iter().enumerate() {
            let found = compare(file, &machine, options.runs.max(1)).with_context(|| stem(file))?;
            match compared.get_mut(i) {
                Some(best) if best.measured.end() <= found.measured.end() => {}
                Some(best) => *best = found,
                None => compared.push(found),
            }
        }
    }
    Ok(report(&compared, options.list))
}

fn machine(options: &Options) -> Result<Machine> {
    if let Some(path) = &options.machine {
        return Machine::load(path).map_err(program::mistake);
    }
    shardwise_calibrate::calibrate(|group| eprintln!("measuring {group}")).map_err(program::mistake)
}

fn compare(file: &Path, machine: &Arc<Machine>, runs: usize) -> Result<Compared> {
    let module = program::parse(&stem(file), &repo::read(file)?)?;
    let local = shardwise_spmd::partition(&module, &mut Default::default()).map_err(program::mistake)?.module;
    let measured = measured(&local, runs)?.timeline(&stem(file));
    let devices = local.main_mesh().map_or(1, |mesh| mesh.size());
    let topology = Topology::new(machine.clone(), &[devices], 1).map_err(program::mistake)?;
    let predicted = simulate(&local, &topology, &Default::default()).map_err(program::mistake)?;
    let (errors, missing) = longest(&measured, &predicted);
    Ok(Compared { name: stem(file), measured, predicted, errors, missing })
}

/// Returns the profile of the run that is slower than a quarter of the runs, after at most [`WARM_UPS`] that do
/// not count. Panics if `runs` is 0. Fails if the program cannot be compiled or run.
fn measured(local: &Module, runs: usize) -> Result<RunProfile> {
    let engine = HostEngine::default();
    let executable = engine.compile(local).map_err(program::mistake)?;
    let mut choose = Chooser::new(1);
    let inputs = executable.signature().inputs.clone();
    let args = inputs.iter().map(|ty| engine.put(&Fill::Small.literal(&mut choose, &ty.ty), ty));
    let args = args.collect::<Result<Vec<_>, _>>().map_err(program::mistake)?;
    let run = || -> Result<RunProfile> {
        let lent = args.iter().cloned().map(Argument::Lent).collect();
        Ok(executable.profile(lent).map_err(program::mistake)?.1)
    };
    let start = Instant::now();
    for done in 0..WARM_UPS {
        if done > 0 && start.elapsed() > WARM_UP_TIME {
            break;
        }
        run()?;
    }
    let mut profiles = (0..runs).map(|_| run()).collect::<Result<Vec<_>>>()?;
    profiles.sort_by_key(|profile| profile.runs.iter().map(|run| run.end).max());
    // Other processes make runs slower, never faster.
    Ok(profiles.swap_remove(profiles.len() / 4))
}

/// Returns the errors of the longest instructions, without control flow, and how many of them the prediction does not
/// have.
fn longest(measured: &Timeline, predicted: &Timeline) -> (Vec<f64>, usize) {
    let times: HashMap<InstructionKey, u64> = predicted.instructions().into_iter().map(|i| (i.key, i.time)).collect();
    let mut own = measured.instructions();
    own.retain(|i| i.kind != SpanKind::Control && i.time > 0);
    own.sort_by_key(|i| std::cmp::Reverse(i.time));
    own.truncate(LONGEST);
    let found: Vec<Option<f64>> = own.iter().map(|i| times.get(&i.key).map(|&t| error(t, i.time))).collect();
    let missing = found.iter().filter(|error| error.is_none()).count();
    (found.into_iter().flatten().collect(), missing)
}

/// Returns how much a predicted time is larger than a measured one, as a fraction of the measured one. The result is
/// negative if the predicted time is smaller.
fn error(predicted: u64, measured: u64) -> f64 {
    predicted as f64 / measured.max(1) as f64 - 1.0
}

fn report(compared: &[Compared], lists: bool) -> (String, bool) {
    let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
    let us = |time: u64| format!("{:.1}", time as f64 / 1e6);
    let sizes = |errors: &[f64]| median(&errors.iter().map(|e| e.abs()).collect::<Vec<_>>());
    let head = ["", "measured, us", "predicted, us", "error", "longest: median", "compared", "not found"];
    let mut table = Table::new(head);
    let (mut totals, mut all, mut text) = (vec![], vec![], String::new());
    for row in compared {
        let (measured, predicted) = (row.measured.end(), row.predicted.end());
        let total = error(predicted, measured);
        let longest = if row.errors.is_empty() { String::new() } else { percent(sizes(&row.errors)) };
        let counts = [row.errors.len(), row.missing].map(|count| count.to_string());
        let cells = [row.name.clone(), us(measured), us(predicted), percent(total), longest];
        table.row(cells.into_iter().chain(counts));
        totals.push(total);
        all.extend_from_slice(&row.errors);
        if lists {
            let diff = row.measured.diff(&row.predicted);
            let lines: Vec<String> = diff.to_string().lines().take(LISTED + 4).map(str::to_string).collect();
            text.push_str(&format!("\n{}\n", lines.join("\n")));
        }
    }
    if totals.is_empty() {
        return ("no program was compared\n".into(), false);
    }
    let (total, longest) = (sizes(&totals), if all.is_empty() { 0.0 } else { sizes(&all) });
    let within = totals.iter().filter(|e| e.abs() <= 0.15).count();
    let summary = format!(
        "median error of the total time: {} ({within} of {} within 15 %); of the longest instructions: {}",
        percent(total),
        totals.len(),
        percent(longest)
    );
    (format!("{table}{text}\n{summary}\n"), total <= 0.15 && longest <= 0.25)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_view::{Lane, LaneKind, Maker, Span};

    #[test]
    fn the_longest_instructions_are_found_by_name() {
        let timeline = |maker, times: &[(&str, u64)]| {
            let mut timeline = Timeline::new("a", maker);
            let lane = timeline.lanes.push(Lane { name: "instructions".into(), kind: LaneKind::Program });
            let mut now = 0;
            for (name, time) in times {
                timeline.spans.push(Span::new(lane, *name, SpanKind::Compute, now..now + time));
                now += time;
            }
            timeline
        };
        let measured = timeline(Maker::Measured { machine: "m".into() }, &[("a", 100), ("b", 200), ("c", 1)]);
        let predicted = timeline(Maker::Predicted { machine: "m".into() }, &[("b", 220), ("a", 50)]);
        let (errors, missing) = longest(&measured, &predicted);
        let rounded: Vec<f64> = errors.iter().map(|e| (e * 1000.0).round()).collect();
        assert_eq!((rounded, missing), (vec![100.0, -500.0], 1));
        let compared = Compared { name: "p".into(), measured, predicted, errors, missing };
        let (text, is_good) = report(&[compared], true);
        assert!(!is_good && text.contains("-10.3 %") && text.contains("the whole run"));
    }
}
