//! Runs fuzzing cases for `cargo xtask fuzz`: `fuzz-worker KIND FIRST_SEED COUNT`. Without a count it prints the program.

#![expect(clippy::print_stdout, reason = "this is a command")]

use shardwise_check::fuzz::{Kind, text, work};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((kind, seed, count)) = parse(&arguments) else {
        eprintln!("usage: fuzz-worker KIND SEED [COUNT]");
        return ExitCode::FAILURE;
    };
    let Some(count) = count else {
        println!("{}", text(kind, seed));
        return ExitCode::SUCCESS;
    };
    match work(kind, seed..seed.saturating_add(count), &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The kind, the first seed and the number of cases.
fn parse(arguments: &[String]) -> Option<(Kind, u64, Option<u64>)> {
    let (kind, seed, count) = match arguments {
        [kind, seed] => (kind, seed, None),
        [kind, seed, count] => (kind, seed, Some(count)),
        _ => return None,
    };
    let count = count.map(|n| n.parse()).transpose().ok()?;
    Some((kind.parse().ok()?, seed.parse().ok()?, count))
}
