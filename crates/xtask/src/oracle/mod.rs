//! Compares our command with the real systems: JAX's values, Shardy's shardings, jaxlib's verifier and interpreter.
//!
//! For each program of the corpus, the output of `shardwise` is written under `target/oracle/ours`. Then the judges,
//! which are Python scripts under `oracle/`, check all these files in two batches. Every failure must be listed in
//! `oracle/known.toml`, with a class and a reason.

mod check;
mod checkpoints;
mod derivatives;
mod examples;
pub(crate) mod judge;
mod known;
mod ours;
mod passes;
mod programs;
mod report;
mod traces;
mod values;

use crate::{repo, venv};
use anyhow::{Result, ensure};
use check::Check;
use programs::Program;
use std::path::{Path, PathBuf};

/// Compare the output of our command for JAX's programs with the real systems.
#[derive(clap::Args)]
pub struct Options {
    /// Use only the programs in the repository (the default)
    #[arg(long, conflicts_with_all = ["full", "corpus"])]
    sample: bool,
    /// Use the whole corpus, which is exported first if needed
    #[arg(long, conflicts_with = "corpus")]
    full: bool,
    /// Use the programs in this folder
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Use only programs whose family/name starts with this
    #[arg(long, default_value = "")]
    family: String,
    /// Run only these checks: host, interp, propagate, verify, interpret
    #[arg(long, value_delimiter = ',')]
    checks: Vec<Check>,
    /// Only compare our passes with Shardy's, on this many generated modules
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    modules: Option<u64>,
    /// Only compare the values of this many generated programs of one device, most of which have one op
    #[arg(long, value_name = "COUNT", conflicts_with = "modules")]
    values: Option<u64>,
    /// Only compare the derivatives and batches of the models and of this many drawn functions with JAX's
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["modules", "values"])]
    derivatives: Option<usize>,
    /// The first seed of generated modules and programs
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Only compare the chapter's examples with their twins in JAX
    #[arg(long)]
    examples: bool,
    /// Only compare files of tensors with Python's safetensors and numpy
    #[arg(long)]
    checkpoints: bool,
    /// Only have Perfetto and JAX read our timelines
    #[arg(long)]
    traces: bool,
    /// The command to test, in place of a new build
    #[arg(long)]
    command: Option<PathBuf>,
}

/// The number of generated programs whose values are compared in addition to the corpus.
const VALUES_IN_SAMPLE: u64 = 300;
/// The number of functions whose derivatives and batches are compared in addition to the models.
const DERIVATIVES_IN_SAMPLE: usize = 40;

/// Runs the checks. Returns the report, and true unless something is wrong: a failure that `oracle/known.toml` does not
/// list, an entry there that is out of date, a total that misses its mark, or a difference in one of the other
/// comparisons that are run: of passes, tables, examples, values, derivatives, files of tensors and timelines.
///
/// # Errors
/// Fails if the options select no programs, if the judges' own tests fail, if a check cannot be run, or if one of the
/// chapter's examples fails.
pub fn run(options: &Options) -> Result<(String, bool)> {
    if let Some(count) = options.modules {
        return passes::run(count, options.seed);
    }
    if let Some(count) = options.values {
        return values::run(count, options.seed);
    }
    if let Some(count) = options.derivatives {
        return derivatives::run(count, options.seed);
    }
    let python = venv::ensure()?;
    if options.examples {
        return examples::run(&python, &examples::ALL);
    }
    if options.checkpoints {
        return checkpoints::run(&python);
    }
    if options.traces {
        return traces::run(&python);
    }
    judge::test_tools(&python)?;
    let programs = select(options, &python)?;
    let command = options.command.clone().map_or_else(ours::build, Ok)?;
    let checks = if options.checks.is_empty() { Check::ALL.to_vec() } else { options.checks.clone() };
    let work = repo::target_dir("oracle/ours")?;
    let (mut verdicts, jobs) = ours::run_all(&command, &programs, &checks, &work)?;
    let propagation = judge::run_all(&python, jobs, &mut verdicts)?;
    let known = known::read()?;
    let is_whole = options.family.is_empty() && options.corpus.is_none();
    let is_full = is_whole && options.full;
    let report = report::Report {
        programs: &programs,
        checks: &checks,
        verdicts: &verdicts,
        propagation,
        known,
        is_whole,
        is_full,
    };
    let (mut text, mut is_right) = report.write();
    if is_whole {
        let (tables, are_right) = judge::tables(&python)?;
        let (examples, are_equal) = examples::run(&python, &examples::QUICK)?;
        let (values, are_same) = values::run(VALUES_IN_SAMPLE, options.seed)?;
        let (gradients, are_derived) = derivatives::run(DERIVATIVES_IN_SAMPLE, options.seed)?;
        let (files, are_read) = checkpoints::run(&python)?;
        let (timelines, are_traces) = traces::run(&python)?;
        text += &(tables + &examples + &values + &gradients + &files + &timelines);
        is_right &= are_right && are_equal && are_same && are_derived && are_read && are_traces;
    }
    Ok((text, is_right))
}

fn select(options: &Options, python: &Path) -> Result<Vec<Program>> {
    let folders = match &options.corpus {
        Some(folder) => vec![folder.clone()],
        None if options.full => vec![programs::export(python)?, repo::root().join("testdata/transformer")],
        None => ["testdata/corpus", "testdata/transformer"].map(|f| repo::root().join(f)).to_vec(),
    };
    let mut found = vec![];
    for folder in folders {
        found.extend(programs::load(&folder)?);
    }
    found.retain(|p| p.label.starts_with(&options.family));
    ensure!(!found.is_empty(), "no program's family/name starts with `{}`", options.family);
    Ok(found)
}
