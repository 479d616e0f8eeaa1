//! `cargo xtask explain`: compares the remedies of `shardwise explain` with an exhaustive search.
//!
//! The removable bytes of a program are those that it receives, less the least that it receives after a change of the
//! spec of one argument, one result or one constraint: any layout over whole axes of the mesh, or none. Only programs
//! with at most [`MAX_SPECS`] specs are searched exhaustively. The changed programs are compared by bytes alone, so the
//! least may need more memory and more work.

use crate::command::in_parallel;
use crate::program::mistake;
use crate::repo;
use crate::table::Table;
use anyhow::Result;
use shardwise_check::generate;
use shardwise_explain::{Change, explain, layouts, specs};
use shardwise_ir::Module;
use shardwise_spmd::{partition, prepare};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Measure how much of the communication that a change of one layout can remove `shardwise explain` finds.
#[derive(clap::Args)]
pub struct Options {
    /// Search all changes of one spec, to compare with
    #[arg(long)]
    exhaustive: bool,
    /// Take a part of the corpus and fewer generated programs
    #[arg(long)]
    sample: bool,
    /// The number of generated programs. The default is 1000, and 100 with `--sample`
    #[arg(long, value_name = "COUNT")]
    programs: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Let `explain` try at most this many changes
    #[arg(long, value_name = "COUNT")]
    trials: Option<usize>,
}

/// The largest number of specs of a program that is searched exhaustively.
const MAX_SPECS: usize = 12;

/// The part of the removable bytes that has to be found.
const WANTED: f64 = 0.6;

/// An explanation of a program that takes at least this long is too slow, except in a debug build.
const MAX_TIME: Duration = Duration::from_secs(2);

/// The bytes that the device that receives most receives in a program: now, after the best remedy that was found, and
/// at least. Also the numbers of specs and of tried changes, and the time for the explanation.
struct Outcome {
    name: String,
    specs: usize,
    tried: usize,
    now: u64,
    found: u64,
    /// The least by an exhaustive search, or `None` if there was none.
    least: Option<u64>,
    time: Duration,
}

/// Explains the corpus and generated programs. Returns a table of the corpus and the totals, and true if enough is
/// found in little enough time. Without an exhaustive search, whatever is found is enough, and in a debug build, any
/// time is little enough. Fails if a program cannot be read, parsed or partitioned.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let files = corpus(options.sample)?;
    let of_file = |file: &PathBuf| {
        let name = file.display().to_string();
        let module = crate::program::parse(&name, &repo::read(file)?)?;
        outcome(name, &module, options)
    };
    let of_corpus = in_parallel(&files, of_file).into_iter().collect::<Result<Vec<Outcome>>>()?;
    let count = options.programs.unwrap_or(if options.sample { 100 } else { 1_000 });
    let seeds: Vec<u64> = (options.seed..options.seed + count).collect();
    let of_seed = |&seed: &u64| outcome(format!("seed {seed}"), &generate::case(seed).module, options);
    let generated = in_parallel(&seeds, of_seed).into_iter().collect::<Result<Vec<Outcome>>>()?;
    let mut report = table(&of_corpus).to_string();
    let mut is_good = true;
    for (name, outcomes) in [("corpus", &of_corpus), ("generated", &generated)] {
        let (line, is_enough) = summary(name, outcomes);
        report += &line;
        is_good &= is_enough;
    }
    Ok((report, is_good))
}

fn corpus(is_sample: bool) -> Result<Vec<PathBuf>> {
    let mut files = repo::files()?;
    files.retain(|file| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_source = name.ends_with(".mlir") && name.matches('.').count() == 1;
        is_source && (file.starts_with("testdata/corpus") || file.starts_with("testdata/transformer"))
    });
    let step = if is_sample { 3 } else { 1 };
    Ok(files.into_iter().step_by(step).collect())
}

fn outcome(name: String, module: &Module, options: &Options) -> Result<Outcome> {
    let begin = Instant::now();
    let how = shardwise_explain::Options { trials: options.trials, ..Default::default() };
    let e = explain(module, &how).map_err(mistake)?;
    let time = begin.elapsed();
    let now = e.figures.bytes_received;
    let remedies = [e.best(), e.best_with_more_work()].into_iter().flatten();
    let found = remedies.map(|remedy| remedy.after.bytes_received).min().unwrap_or(now);
    let is_searched = options.exhaustive && now > 0 && e.spec_count <= MAX_SPECS;
    let least = is_searched.then(|| least(module)).transpose()?;
    Ok(Outcome { name, specs: e.spec_count, tried: e.tried, now, found, least, time })
}

/// Returns the least bytes that the program receives after a change of one spec, or without a change. Changes with
/// which it cannot be partitioned do not count. Fails if the program cannot be partitioned.
fn least(module: &Module) -> Result<u64> {
    let program = prepare(module, &mut Default::default()).map_err(mistake)?;
    let received =
        |module: &Module| partition(module, &mut Default::default()).map(|found| found.communication.bytes_received());
    let mut least = received(&program).map_err(mistake)?;
    let Some(mesh) = program.main_mesh() else { return Ok(least) };
    for spec in specs(&program) {
        for layout in layouts(&spec, mesh).into_iter().map(Some).chain([None]) {
            let change = Change { place: spec.place, layout };
            least = least.min(received(&change.apply(&program)).unwrap_or(u64::MAX));
        }
    }
    Ok(least)
}

fn table(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(["program", "specs", "tried", "received", "found", "least", "ms"]);
    for o in outcomes.iter().filter(|o| o.now > 0) {
        let least = o.least.map_or("-".into(), |n| n.to_string());
        let time = format!("{:.0}", o.time.as_secs_f64() * 1e3);
        let numbers = [o.specs.to_string(), o.tried.to_string(), o.now.to_string(), o.found.to_string(), least, time];
        table.row([o.name.clone()].into_iter().chain(numbers));
    }
    table
}

/// Returns a line with the totals of some programs. The second value is true if at least [`WANTED`] of their removable
/// bytes were found or none are removable, and no explanation took [`MAX_TIME`]. In a debug build, the time does not
/// count. A program that was not searched counts as one without removable bytes.
fn summary(name: &str, outcomes: &[Outcome]) -> (String, bool) {
    let searched: Vec<(&Outcome, u64)> =
        outcomes.iter().filter_map(|o| Some((o, o.now.saturating_sub(o.least?)))).filter(|(_, n)| *n > 0).collect();
    let removable: u64 = searched.iter().map(|(_, n)| n).sum();
    let removed = |o: &Outcome, n: u64| (o.now - o.found).min(n);
    let found: u64 = searched.iter().map(|&(o, n)| removed(o, n)).sum();
    let shares: f64 = searched.iter().map(|&(o, n)| removed(o, n) as f64 / n as f64).sum();
    let slowest = outcomes.iter().max_by_key(|o| o.time);
    let slow = slowest.map_or(String::new(), |o| format!("; the slowest, {}, took {:.2?}", o.name, o.time));
    let percent = |part: f64, all: f64| if all > 0.0 { part * 100.0 / all } else { 100.0 };
    let (of_bytes, of_programs) = (percent(found as f64, removable as f64), percent(shares, searched.len() as f64));
    let line = format!(
        "{name}: {} programs, {} with removable bytes: {found} of {removable} found ({of_bytes:.1} %), {of_programs:.1} % \
         on average{slow}\n",
        outcomes.len(),
        searched.len()
    );
    let is_fast = cfg!(debug_assertions) || slowest.is_none_or(|o| o.time < MAX_TIME);
    (line, of_bytes >= 100.0 * WANTED && is_fast)
}
