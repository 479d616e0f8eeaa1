//! `cargo xtask check`: runs more generated programs than the tests do. Each difference names the seed that reproduces
//! it.

use crate::command::in_parallel;
use anyhow::Result;
use shardwise_check::{generate, run};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Compare partitioned programs with unpartitioned ones, at every stage and on both engines.
#[derive(clap::Args)]
pub struct Options {
    /// The number of generated programs
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    programs: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub fn run(options: &Options) -> Result<(String, bool)> {
    let seeds: Vec<u64> = (options.seed..options.seed + options.programs).collect();
    let wrong: Vec<String> = in_parallel(&seeds, |&seed| check(seed).err()).into_iter().flatten().collect();
    let report = format!("{} programs, {} differ\n{}", seeds.len(), wrong.len(), wrong.join("\n"));
    Ok((report, wrong.is_empty()))
}

/// Checks the program of a seed. Returns an error if its results differ, if it cannot be run, or if something panics.
fn check(seed: u64) -> Result<(), String> {
    let found = catch_unwind(AssertUnwindSafe(|| run::check(&generate::case(seed))));
    found.unwrap_or_else(|_| Err(format!("seed {seed}: a panic, shown above")))
}
