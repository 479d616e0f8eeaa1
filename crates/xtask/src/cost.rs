//! `cargo xtask cost`: compares the cost of the command with that of another build, such as one of an earlier commit,
//! in instructions or in time.
//!
//! Instructions are counted by valgrind's `cachegrind` for a single worker: the difference between a run with several
//! calls of a program and a run with one call, divided by the number of additional calls. They hardly depend on how
//! busy the machine is. Times are the medians of rounds in which the two commands alternate.
//!
//! The programs are those of `testdata/cost`, whose first line states how many calls are counted, and some of the
//! corpus.

use crate::bench::median;
use crate::command::Profile;
use crate::table::Table;
use crate::{command, repo};
use anyhow::{Context, Result, ensure};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Compare instructions or times of the command with those of another build of it.
#[derive(clap::Args)]
pub struct Options {
    /// The other command; build it in a worktree with optimizations
    #[arg(long)]
    against: PathBuf,
    /// Measure only programs whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Measure times in this many rounds instead of counting instructions
    #[arg(long)]
    rounds: Option<NonZeroUsize>,
}

/// Programs of the corpus that are also measured, and how many of their calls are counted.
const OF_CORPUS: &[(&str, usize)] = &[
    ("testdata/transformer/tiny.mlir", 20),
    ("testdata/transformer/tiny_train.mlir", 10),
    ("testdata/corpus/control/scan_rnn.mlir", 20),
];
/// The time after which a run of a program is stopped.
const LIMIT: Duration = Duration::from_secs(600);
/// The number of calls of a program in a round, for each call that is counted.
const TIMED: usize = 5;

/// A program, and how many of its calls are counted.
struct Row {
    file: PathBuf,
    calls: usize,
}

/// Compares the command as built here with another one. Returns a table. The second value is always true. Fails if a
/// command cannot be built, run or measured, if the programs cannot be read, if none matches, or if a program of
/// `testdata/cost` does not state its number of calls.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let ours = command::build_ours(Profile::Release)?;
    let commands = [&options.against, &ours];
    let rows: Vec<Row> = rows()?.into_iter().filter(|row| row.name().contains(&options.only)).collect();
    ensure!(!rows.is_empty(), "no program matches \"{}\"", options.only);
    let measured: Vec<Result<[f64; 2]>> = match options.rounds {
        Some(rounds) => rows.iter().map(|row| row.times(commands, rounds)).collect(),
        None => command::in_parallel(&rows, |row| row.instructions(commands)),
    };
    let unit = if options.rounds.is_some() { "microseconds" } else { "instructions" };
    let mut table = Table::new(["", "other", "ours", "ratio"]);
    let mut logarithms = 0.0;
    for (row, measured) in rows.iter().zip(measured) {
        let [other, ours] = measured.with_context(|| row.name())?;
        logarithms += (ours / other).ln();
        table.row(vec![row.name(), format!("{other:.1}"), format!("{ours:.1}"), format!("{:.3}", ours / other)]);
    }
    let mean = (logarithms / rows.len().max(1) as f64).exp();
    Ok((format!("{unit} of a call\n\n{table}\ngeometric mean of the ratios: {mean:.4}\n"), true))
}

fn rows() -> Result<Vec<Row>> {
    let own = repo::cost_programs()?.into_iter().map(|file| {
        let text = repo::read(&file)?;
        let calls = text.lines().next().and_then(|line| line.strip_prefix("// calls: ")?.trim().parse().ok());
        Ok(Row {
            calls: calls.with_context(|| format!("the first line of {} is not `// calls: N`", file.display()))?,
            file,
        })
    });
    let others = OF_CORPUS.iter().map(|&(file, calls)| Ok(Row { file: file.into(), calls }));
    own.chain(others).collect()
}

impl Row {
    fn name(&self) -> String {
        repo::stem(&self.file)
    }

    fn arguments(&self, calls: usize) -> [String; 6] {
        let file = repo::root().join(&self.file).display().to_string();
        ["run".into(), file, "--random".into(), "1".into(), "--repeat".into(), calls.to_string()]
    }

    fn instructions(&self, commands: [&PathBuf; 2]) -> Result<[f64; 2]> {
        let of = |command: &Path| -> Result<f64> {
            let [one, more] = [1, 1 + self.calls].map(|calls| self.count(command, calls));
            Ok((more? - one?) / self.calls as f64)
        };
        Ok([of(commands[0])?, of(commands[1])?])
    }

    fn count(&self, command: &Path, calls: usize) -> Result<f64> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        valgrind.arg(command).args(self.arguments(calls)).env("SHARDWISE_WORKERS", "1");
        let outcome = command::run(valgrind, "", LIMIT)?;
        ensure!(outcome.is_success(), "{}", outcome.reason());
        read_count(&outcome.stderr).context("valgrind prints no count")
    }

    fn times(&self, commands: [&PathBuf; 2], rounds: NonZeroUsize) -> Result<[f64; 2]> {
        let mut times = [vec![], vec![]];
        for _ in 0..rounds.get() {
            for (command, times) in commands.into_iter().zip(&mut times) {
                times.push(self.time(command)?);
            }
        }
        Ok(times.map(|times| median(&times)))
    }

    fn time(&self, command: &Path) -> Result<f64> {
        let mut timed = Command::new(command);
        timed.args(self.arguments(TIMED * self.calls));
        let outcome = command::run(timed, "", LIMIT)?;
        ensure!(outcome.is_success(), "{}", outcome.reason());
        let time = outcome.stdout.trim().rsplit(' ').next().and_then(read_time);
        time.with_context(|| format!("the output {:?} does not end with a time", outcome.stdout))
    }
}

/// Returns the number of instructions that `cachegrind` prints: 1234.0 for `==7== I refs: 1,234`. Returns `None` if the
/// text has no such number.
fn read_count(text: &str) -> Option<f64> {
    let (_, count) = text.split_once("I refs:").or_else(|| text.split_once("I   refs:"))?;
    count.lines().next()?.trim().replace(',', "").parse().ok()
}

/// Returns the microseconds of a duration as Rust prints it: 1500.0 for `1.5ms`. Returns `None` for another text.
fn read_time(text: &str) -> Option<f64> {
    let units = [("ns", 1e-3), ("µs", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    Some(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_read() {
        assert_eq!(read_count("==7== Cachegrind\n==7== I refs:        1,234,567\n==7==\n"), Some(1_234_567.0));
        assert_eq!(
            ["12ns", "2.5µs", "1.5ms", "2s", "2"].map(read_time),
            [Some(0.012), Some(2.5), Some(1500.0), Some(2e6), None]
        );
    }

    #[test]
    fn times_are_measured_in_at_least_one_round() {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            options: Options,
        }
        let parsed = |rounds: &str| {
            let read = <Command as clap::Parser>::try_parse_from(["cost", "--against", "x", "--rounds", rounds]);
            read.ok().map(|command| command.options.rounds.expect("rounds are given").get())
        };
        assert_eq!(["1", "5", "0", "-1"].map(parsed), [Some(1), Some(5), None, None]);
    }

    #[test]
    fn programs_say_how_many_calls_are_counted() {
        let rows = rows().unwrap();
        assert!(rows.len() >= 20 && rows.iter().all(|row| row.calls > 0 && repo::root().join(&row.file).is_file()));
    }
}
