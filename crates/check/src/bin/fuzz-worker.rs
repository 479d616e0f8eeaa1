//! Runs fuzzing cases for `cargo xtask fuzz`.
//!
//! - `fuzz-worker KIND FIRST_SEED COUNT` runs cases, and writes two lines for each.
//! - `fuzz-worker KIND SEED` prints the program of a case.
//! - `fuzz-worker corpus` prints the number and the hash of the programs from which it makes mutants.
//! - `fuzz-worker KIND SEED in FILE` runs the program of a file as if it were that of the case.

#![expect(clippy::print_stdout, reason = "this is a command")]

use shardwise_check::fuzz::{corpus, run_text, text, work};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match main_with(&arguments) {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!("the arguments are wrong, the file cannot be read, or the reports cannot be written");
            eprintln!("usage: fuzz-worker corpus | KIND SEED [COUNT | in FILE]");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command. Returns `None` if the arguments are not understood, if a file cannot be read, or if the reports of
/// cases cannot be written.
fn main_with(arguments: &[String]) -> Option<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments[..] == ["corpus"] {
        println!("{}", corpus());
        return Some(());
    }
    let (kind, seed) = (arguments.first()?.parse().ok()?, arguments.get(1)?.parse::<u64>().ok()?);
    match arguments[2..] {
        [] => println!("{}", text(kind, seed)),
        ["in", file] => println!("{:#?}", run_text(kind, seed, &std::fs::read_to_string(file).ok()?)),
        [count] => {
            let seeds = seed..seed.saturating_add(count.parse().ok()?);
            work(kind, seeds, &mut std::io::stdout().lock()).ok()?;
        }
        _ => return None,
    }
    Some(())
}
