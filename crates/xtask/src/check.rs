//! `cargo xtask check`: runs more generated programs than the tests do. Each difference names the seed that reproduces
//! it.

use crate::command::in_parallel;
use anyhow::Result;
use shardwise_check::{calculus, generate, run};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Compare partitioned programs with unpartitioned ones, on both engines and after each pass from `reshard` to `axes`.
#[derive(clap::Args)]
pub struct Options {
    /// The number of generated programs
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    programs: u64,
    /// Run this many programs with derivatives and batches in them, in place of the others
    #[arg(long, value_name = "COUNT")]
    derivatives: Option<u64>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(options: &Options) -> Result<(String, bool)> {
    if let Some(count) = options.derivatives {
        return Ok(derivatives(options.seed, count));
    }
    let seeds: Vec<u64> = (options.seed..options.seed + options.programs).collect();
    let wrong: Vec<String> = in_parallel(&seeds, |&seed| check(seed).err()).into_iter().flatten().collect();
    let report = format!("{} programs, {} differ\n{}", seeds.len(), wrong.len(), wrong.join("\n"));
    Ok((report, wrong.is_empty()))
}

/// Checks programs with derivatives and batches, and counts for each mutant of a transform in how many of the first
/// [`MUTATED`] programs it changes something, and in how many of these it is found. Returns the report. The second
/// value is true if no program differs, panics or cannot be made and, if there are so many programs, each mutant is
/// found in one of them.
fn derivatives(seed: u64, count: u64) -> (String, bool) {
    let seeds: Vec<u64> = (seed..seed + count).collect();
    let checked = in_parallel(&seeds, |&seed| {
        let found = catch_unwind(AssertUnwindSafe(|| {
            let case = calculus::case(seed)?;
            case.check().map(|()| case.is_exact)
        }));
        found.unwrap_or_else(|_| Err(format!("seed {seed}: a panic, shown above")))
    });
    let exact = checked.iter().filter(|c| matches!(c, Ok(true))).count();
    let mut wrong: Vec<String> = checked.into_iter().filter_map(Result::err).collect();
    let mut report = format!("{count} programs, {exact} of them exact, {} differ\n", wrong.len());
    let of_mutants = &seeds[..seeds.len().min(MUTATED)];
    for mutant in calculus::MUTANTS {
        let outcomes = in_parallel(of_mutants, |&seed| is_killed(seed, mutant));
        let (made, killed) = (outcomes.iter().flatten().count(), outcomes.iter().flatten().filter(|k| **k).count());
        report += &format!("mutant \"{}\": {killed} of {made} killed\n", mutant.name);
        if killed == 0 && of_mutants.len() == MUTATED {
            wrong.push(format!("mutant \"{}\" lives", mutant.name));
        }
    }
    (report + &wrong.join("\n"), wrong.is_empty())
}

/// The largest number of programs to which mutants are applied.
const MUTATED: usize = 400;

/// Returns true if the checks find a mutant in the program of a seed, or panic, and false if they do not. Returns
/// `None` if the mutant changes nothing there, or if the program cannot be made or changed, also because of a panic.
fn is_killed(seed: u64, mutant: &calculus::Mutant) -> Option<bool> {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let case = calculus::case(seed).ok()?;
        let changed = mutant.apply(&case.first().ok()?, case.argument_count())?;
        Some((case, changed))
    }));
    let (case, changed) = made.ok()??;
    Some(catch_unwind(AssertUnwindSafe(|| case.check_meaning(&changed).is_err())).unwrap_or(true))
}

fn check(seed: u64) -> Result<(), String> {
    let found = catch_unwind(AssertUnwindSafe(|| run::check(&generate::case(seed))));
    found.unwrap_or_else(|_| Err(format!("seed {seed}: a panic, shown above")))
}
