//! `cargo xtask communication programs`: the bytes that JAX's programs move as we partition them and as XLA does.
//!
//! The programs are in `oracle/traffic`. All their arguments and results have fixed shardings over eight devices, and
//! their sizes are drawn from a seed. XLA's side is what its CPU compiler makes of them, counted on the optimized HLO.

mod export;
mod hlo;
mod ours;
mod report;
mod tally;
mod theirs;
mod training;
mod values;

use crate::{command, program, repo};
use anyhow::{Context, Result, ensure};
use export::{Exported, Extent};
use hlo::Hlo;
use report::Report;
use std::path::PathBuf;
use tally::Tally;

/// Compare the bytes that JAX's programs move as we partition them and as XLA does.
#[derive(clap::Args)]
pub struct Options {
    /// Use only programs whose family/name contains this. It is an error if there are none
    #[arg(long, default_value = "")]
    only: String,
    /// The seed of the sizes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Use only the first program of each family
    #[arg(long)]
    sample: bool,
    /// Do not run Python: use the programs that were exported before
    #[arg(long)]
    ours_only: bool,
    /// Also compare the values of the partitioned programs with those of the whole programs
    #[arg(long)]
    check: bool,
    /// Write the numbers to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables to docs/communication.md
    #[arg(long, conflicts_with_all = ["only", "sample"])]
    write: bool,
}

/// The page that `--write` writes.
const PAGE: &str = "docs/communication.md";

/// Measures the programs that the options select, and writes the files that they name. Returns the tables, and true if
/// we can partition all programs, if XLA moves fewer bytes in none of them unless its products take more operations, if
/// each training step has a formula, is partitioned by XLA and moves no more bytes than XLA's, and, with `--check`, if
/// all programs have the right values. Fails if the programs cannot be exported, if none is selected, if our command
/// cannot be built or started for `--check`, if git does not state the day of the last commit, or if a file cannot be
/// written.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let extent = if options.sample { Extent::Sample } else { Extent::All };
    let exported = export::ensure_exported(options.seed, extent, options.ours_only)?;
    let chosen: Vec<&Exported> = exported.iter().filter(|p| p.label().contains(&options.only)).collect();
    ensure!(!chosen.is_empty(), "no program's family/name contains `{}`", options.only);
    let rows: Vec<Row> = command::in_parallel(&chosen, |program| Row::measure(program));
    let wrong = if options.check { values::check(&chosen)? } else { vec![] };
    let steps = training::wrong(&rows);
    let date = repo::last_date()?;
    let (wrong, is_checked) = (&wrong, options.check);
    let report = Report { rows: &rows, seed: options.seed, steps: &steps, wrong, is_checked, date: &date };
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(&report.numbers())?;
        shardwise_base::file::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if options.write {
        let page = repo::root().join(PAGE);
        shardwise_base::file::write(&page, report.page()).with_context(|| format!("cannot write {PAGE}"))?;
    }
    let is_partitioned = rows.iter().all(|row| row.ours.is_ok());
    let is_good = wrong.is_empty() && steps.is_empty() && is_partitioned && !report.has_dominated();
    Ok((report.text(), is_good))
}

/// The counts of one program.
struct Row {
    family: String,
    name: String,
    /// Our counts, or why there are none: the program cannot be read or partitioned.
    ours: Result<Tally, String>,
    /// XLA's counts, or why there are none.
    theirs: Result<Tally, String>,
}

impl Row {
    fn measure(program: &Exported) -> Row {
        let shown = |e: anyhow::Error| format!("{e:#}");
        Row {
            family: program.family.clone(),
            name: program.name.clone(),
            ours: ours(program).map_err(shown),
            theirs: theirs(program).map_err(shown),
        }
    }
}

fn ours(program: &Exported) -> Result<Tally> {
    let file = program.program();
    let module = program::parse(&repo::shown(&file), &repo::read(&file)?)?;
    ours::tally(&ours::partition(&module)?)
}

fn theirs(program: &Exported) -> Result<Tally> {
    let text = program.hlo()?.context("XLA did not compile it")?;
    theirs::tally(&Hlo::parse(&text)?)
}
