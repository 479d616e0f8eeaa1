//! `cargo xtask fuzz`: generates programs from seeds, and runs them to the end on every engine in worker processes.
//!
//! A worker that dies or hangs is a finding of its current case. Another worker continues with the next case. Findings
//! with the same cause are printed together, with the first five seeds. Their programs are kept under `target/fuzz`.

use crate::command::{self, run_shown};
use crate::repo;
use crate::table::Table;
use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use shardwise_check::fuzz::{CaseKind, Reached, Report, shares};
use shardwise_ops::Opcode;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// Run generated programs and mutants on all engines, and compare their results.
#[derive(Args)]
pub struct Options {
    /// The duration in minutes; without it, run `--count` cases of each kind
    #[arg(long)]
    minutes: Option<f64>,
    /// The first seed of each kind
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The kind of cases: `valid`, `mutants`, `guard`, `inject`, or `all`
    #[arg(long, default_value = "all")]
    kind: String,
    /// The largest number of cases of each kind; 1000 without `--minutes`, and no limit with it
    #[arg(long)]
    count: Option<u64>,
    /// The number of worker processes
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// The number of seconds of processor time after which a case is considered hanging
    #[arg(long, default_value_t = 10)]
    wall_seconds: u64,
    /// Build the workers with the address sanitizer, which needs nightly Rust, and allow them its time and memory
    #[arg(long)]
    sanitize: bool,
    /// A worker that has already been built, with the sanitizer if `--sanitize` is given
    #[arg(long, value_name = "PATH")]
    worker: Option<PathBuf>,
}

/// The largest number of cases for which one worker process is started.
const CHUNK: u64 = 500;
/// The factor by which a case may run longer with the address sanitizer.
const SANITIZER_SLOWDOWN: u64 = 12;
/// The factor by which a case may run longer while other processes have the processors.
const MAX_SLOWDOWN: u32 = 60;
/// The number of cases of each kind if neither a time nor a count is given.
const DEFAULT_COUNT: u64 = 1_000;
/// If at least this many valid programs ran, a strategy that was chosen too rarely fails the run.
const ENOUGH_PROGRAMS: u64 = 3_000;
/// The largest virtual memory of a worker in KiB, without the address sanitizer. A worker that needs more dies, and
/// this is a finding, because each of its accounts has 64 MiB.
const MAX_VIRTUAL_KIB: u64 = 2 << 20;

pub fn run(options: &Options) -> Result<(String, bool)> {
    let kinds = kinds(&options.kind)?;
    let build = if options.sanitize { build_with_sanitizer } else { command::build_worker };
    let worker = options.worker.clone().map_or_else(build, Ok)?;
    let corpus = corpus(&worker)?;
    let campaign = Campaign {
        options,
        worker,
        begin: Instant::now(),
        next: Mutex::new(kinds.into_iter().map(|kind| (kind, 0)).collect()),
        tally: Mutex::new(Tally::default()),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.workers.max(1)).map(|_| scope.spawn(|| campaign.work())).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread has panicked"))?)
    })?;
    let tally = campaign.tally.into_inner().map_err(|_| anyhow!("a thread has panicked"))?;
    let begin =
        format!("first seed {}, mutants of {corpus}, {:.0} s", options.seed, campaign.begin.elapsed().as_secs_f64());
    Ok((tally.report(&begin), tally.found.is_empty() && tally.rare_strategies().is_empty()))
}

fn kinds(name: &str) -> Result<Vec<CaseKind>> {
    if name == "all" {
        return Ok(CaseKind::ALL.to_vec());
    }
    Ok(vec![name.parse().map_err(|e: String| anyhow!(e))?])
}

fn build_with_sanitizer() -> Result<PathBuf> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let folder = repo::target().join("asan");
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly").env("RUSTFLAGS", "-Zsanitizer=address").env("CARGO_TARGET_DIR", &folder);
    cargo.args(["build", "--release", "--quiet", "-p", "shardwise-check", "--bin", "fuzz-worker", "--target", TARGET]);
    cargo.current_dir(repo::root());
    run_shown(cargo)?;
    Ok(folder.join(TARGET).join("release/fuzz-worker"))
}

fn corpus(worker: &Path) -> Result<String> {
    let output = Command::new(worker).arg("corpus").output();
    let output = output.with_context(|| format!("cannot start {}", worker.display()))?;
    ensure!(output.status.success(), "`{} corpus` failed: build the worker again", worker.display());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

/// One run of the command.
struct Campaign<'a> {
    options: &'a Options,
    worker: PathBuf,
    begin: Instant,
    /// The number of cases of each kind that were handed out.
    next: Mutex<Vec<(CaseKind, u64)>>,
    tally: Mutex<Tally>,
}

impl Campaign<'_> {
    fn is_over(&self) -> bool {
        self.options.minutes.is_some_and(|minutes| self.begin.elapsed().as_secs_f64() > minutes * 60.0)
    }

    fn count(&self) -> u64 {
        self.options.count.unwrap_or(if self.options.minutes.is_some() { u64::MAX } else { DEFAULT_COUNT })
    }

    /// Returns the seeds of the next cases, of the kind of which the fewest were handed out. Returns `None` if the
    /// number of cases or the time of the campaign is reached.
    fn take(&self) -> Option<(CaseKind, std::ops::Range<u64>)> {
        let mut next = self.next.lock().expect("no thread has panicked");
        let (kind, given) = next.iter_mut().min_by_key(|(_, given)| *given)?;
        let count = CHUNK.min(self.count().saturating_sub(*given));
        let first = self.options.seed + *given;
        *given += count;
        (count > 0 && !self.is_over()).then_some((*kind, first..first + count))
    }

    fn work(&self) -> Result<()> {
        while let Some((kind, mut seeds)) = self.take() {
            while !seeds.is_empty() && !self.is_over() {
                seeds.start = self.run_worker(kind, seeds.clone())?;
            }
        }
        Ok(())
    }

    /// Runs a worker until it ends or dies, until a case takes too long, or until the campaign ends. Returns the seed
    /// with which to continue. Fails if the worker cannot be started or stopped, if it reports nothing or something
    /// that it must not, or if a finding cannot be written.
    fn run_worker(&self, kind: CaseKind, seeds: std::ops::Range<u64>) -> Result<u64> {
        let mut child = self.spawn(kind, &seeds)?;
        let reports = reports(&mut child);
        let mut next = seeds.start;
        let mut running: Option<Running> = None;
        let slower = if self.options.sanitize { SANITIZER_SLOWDOWN } else { 1 };
        let limit = Duration::from_secs(self.options.wall_seconds * slower);
        loop {
            match reports.recv_timeout(limit) {
                Ok(Report::Begins(seed)) => running = Some(Running::begins(seed, &child)),
                Ok(Report::Ended { reached, ops, features, strategies, injected, not_compared, found }) => {
                    let Running { seed, began, .. } =
                        running.take().context("a worker ended a case that it never began")?;
                    let took = began.elapsed();
                    let case = Case { kind, seed, reached, ops, features, strategies, injected, not_compared, took };
                    self.note(case, found)?;
                    next = seed + 1;
                }
                Err(mpsc::RecvTimeoutError::Timeout) if running.as_ref().is_some_and(|r| r.waits(&child, limit)) => {}
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    child.kill()?;
                    child.wait()?;
                    return self.lost(kind, running.map(|r| r.seed), next, format!("a case ran for over {limit:?}"));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    let status = child.wait()?;
                    return match running {
                        None if status.success() => {
                            let worker = self.worker.display();
                            ensure!(next > seeds.start, "{worker} ended without a report: build the worker again");
                            Ok(next)
                        }
                        _ => self.lost(kind, running.map(|r| r.seed), next, format!("the process died: {status}")),
                    };
                }
            }
            if self.is_over() {
                child.kill()?;
                child.wait()?;
                return Ok(seeds.end);
            }
        }
    }

    fn worker(&self, kind: CaseKind, seed: u64) -> Command {
        let limit = if self.options.sanitize { "unlimited".to_string() } else { MAX_VIRTUAL_KIB.to_string() };
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {limit}; ulimit -c 0; exec \"$0\" \"$@\"")]).arg(&self.worker);
        command.args([kind.name().to_string(), seed.to_string()]);
        command
    }

    fn spawn(&self, kind: CaseKind, seeds: &std::ops::Range<u64>) -> Result<Child> {
        let mut command = self.worker(kind, seeds.start);
        command.arg((seeds.end - seeds.start).to_string());
        if self.options.sanitize {
            // The sanitizer does not know where a buffer ends within a mapping.
            command.env("SHARDWISE_GUARD", "a5");
        }
        let errors = std::fs::OpenOptions::new().create(true).append(true).open(folder()?.join("stderr.txt"))?;
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn().context("cannot start a worker")
    }

    /// Records the finding `what` for the case of `seed`, or for that of `next` if the worker died or hung before it
    /// began one. Returns the seed after it. Fails if the program cannot be made or written ([`Campaign::keep`]).
    fn lost(&self, kind: CaseKind, seed: Option<u64>, next: u64, what: String) -> Result<u64> {
        let seed = seed.unwrap_or(next);
        let case = Case {
            kind,
            seed,
            reached: Reached::Nothing,
            ops: vec![],
            features: vec![],
            strategies: vec![],
            injected: vec![],
            not_compared: None,
            took: Duration::ZERO,
        };
        self.note(case, Some((what, "see target/fuzz/stderr.txt".into())))?;
        Ok(seed + 1)
    }

    fn note(&self, case: Case, found: Option<(String, String)>) -> Result<()> {
        if let Some((what, details)) = &found {
            self.keep(&case, what, details)?;
        }
        self.tally.lock().map_err(|_| anyhow!("a thread has panicked"))?.add(case, found.map(|f| f.0));
        Ok(())
    }

    /// Writes the program of a finding to a file, with the finding in comments. The program is missing if a worker
    /// cannot make it either. Fails if a worker cannot be started or the file cannot be written.
    fn keep(&self, case: &Case, what: &str, details: &str) -> Result<()> {
        let (kind, seed) = (case.kind, case.seed);
        let made = self.worker(kind, seed).stderr(Stdio::null()).output().context("cannot start a worker")?;
        let text = String::from_utf8_lossy(&made.stdout);
        let comment: String = format!("{what}\n{details}").lines().map(|line| format!("// {line}\n")).collect();
        let path = folder()?.join(format!("{}-{seed}.mlir", kind.name()));
        shardwise_base::file::write(&path, format!("{text}\n{comment}"))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// A case that a worker runs.
struct Running {
    seed: u64,
    began: Instant,
    /// The processor time of the worker when the case began.
    used: Duration,
}

impl Running {
    fn begins(seed: u64, worker: &Child) -> Running {
        Running { seed, began: Instant::now(), used: processor_time(worker) }
    }

    /// Returns true if the case may only have taken so long because other processes have the processors: its processor
    /// time is below `limit`, and its duration below [`MAX_SLOWDOWN`] times `limit`.
    fn waits(&self, worker: &Child, limit: Duration) -> bool {
        let used = processor_time(worker).saturating_sub(self.used);
        used < limit && self.began.elapsed() < limit * MAX_SLOWDOWN
    }
}

/// Returns the processor time that a process has used, or zero if the system does not state it.
fn processor_time(process: &Child) -> Duration {
    /// The unit of the times in `/proc/PID/stat`, in milliseconds.
    const TICK: u64 = 10;
    let text = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap_or_default();
    // The name is in parentheses. The times of the process and of the system are the fields 14 and 15 of the line.
    let fields = text.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK)
}

fn folder() -> Result<PathBuf> {
    repo::target_dir("fuzz")
}

/// Returns the reports of a worker, which a thread reads until the first line that is no report.
fn reports(child: &mut Child) -> mpsc::Receiver<Report> {
    let (send, reports) = mpsc::channel();
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    std::thread::spawn(move || {
        for report in lines.map_while(|line| Report::parse(&line.ok()?)) {
            if send.send(report).is_err() {
                break;
            }
        }
    });
    reports
}

/// A case that ended, or whose worker died or was stopped.
struct Case {
    kind: CaseKind,
    seed: u64,
    reached: Reached,
    ops: Vec<u16>,
    features: Vec<String>,
    strategies: Vec<String>,
    injected: Vec<String>,
    not_compared: Option<String>,
    took: Duration,
}

/// The totals of all cases.
#[derive(Default)]
struct Tally {
    funnel: BTreeMap<(CaseKind, Reached), u64>,
    /// The number of programs that contain an op, among those that ran.
    ops: BTreeMap<(CaseKind, u16), u64>,
    features: BTreeMap<(CaseKind, String), u64>,
    /// The number of programs with an op that runs by a strategy, or in a special case of one, among those that ran.
    strategies: BTreeMap<(CaseKind, String), u64>,
    /// The number of injected failures, by their names, such as `write reported` and `write not reached`.
    injected: BTreeMap<String, u64>,
    /// The number of programs whose results were not compared with those of the whole program although both engines ran
    /// them, by reason.
    not_compared: BTreeMap<(CaseKind, String), u64>,
    slowest: BTreeMap<CaseKind, (Duration, u64)>,
    /// The seeds of each finding.
    found: BTreeMap<(CaseKind, String), Vec<u64>>,
}

impl Tally {
    fn add(&mut self, mut case: Case, found: Option<String>) {
        *self.funnel.entry((case.kind, case.reached)).or_default() += 1;
        let slowest = self.slowest.entry(case.kind).or_default();
        *slowest = (*slowest).max((case.took, case.seed));
        case.injected.into_iter().for_each(|name| *self.injected.entry(name).or_default() += 1);
        if let Some(why) = case.not_compared {
            *self.not_compared.entry((case.kind, why)).or_default() += 1;
        }
        case.ops.sort_unstable();
        case.ops.dedup();
        if case.reached == Reached::Ran {
            case.ops.iter().for_each(|&op| *self.ops.entry((case.kind, op)).or_default() += 1);
            case.features.into_iter().for_each(|f| *self.features.entry((case.kind, f)).or_default() += 1);
            case.strategies.into_iter().for_each(|s| *self.strategies.entry((case.kind, s)).or_default() += 1);
        }
        if let Some(what) = found {
            self.found.entry((case.kind, what)).or_default().push(case.seed);
        }
    }

    fn report(&self, begin: &str) -> String {
        let mut out = format!("{begin}\n\n{}", self.funnel());
        for kind in CaseKind::ALL {
            let features = named_counts("programs that ran, by feature", kind, &self.features);
            let strategies = named_counts("programs that ran, by strategy of an op", kind, &self.strategies);
            let _ = write!(out, "{}{features}{strategies}", self.op_counts(kind));
        }
        out += &self.shares();
        let injected: Vec<(&str, u64)> = self.injected.iter().map(|(name, &n)| (name.as_str(), n)).collect();
        out += &counted("failures that were injected", &injected);
        for ((kind, what), seeds) in &self.found {
            let shown: Vec<String> = seeds.iter().take(5).map(u64::to_string).collect();
            let _ = writeln!(out, "{} times, {}, seeds {}: {what}", seeds.len(), kind.name(), shown.join(" "));
        }
        let count: usize = self.found.values().map(Vec::len).sum();
        let _ = writeln!(out, "{count} findings of {} causes; programs are in {}", self.found.len(), shown_folder());
        out
    }

    fn funnel(&self) -> String {
        let mut out = String::new();
        for kind in CaseKind::ALL {
            let count = |reached| self.funnel.get(&(kind, reached)).copied().unwrap_or(0);
            let all: u64 = Reached::ALL.into_iter().map(count).sum();
            if all == 0 {
                continue;
            }
            let mut table = Table::new([kind.name(), "programs", "%"]);
            let mut row = |name: &str, n: u64| {
                table.row([name.to_string(), n.to_string(), format!("{:.1}", 100.0 * n as f64 / all as f64)]);
            };
            row("all", all);
            Reached::ALL.into_iter().for_each(|reached| row(reached.describes(), count(reached)));
            let of_kind = self.not_compared.iter().filter(|((k, _), _)| *k == kind);
            of_kind.for_each(|((_, why), &n)| row(&format!("not compared with the whole: {why}"), n));
            let (slowest, seed) = self.slowest.get(&kind).copied().unwrap_or_default();
            let _ = writeln!(out, "{table}slowest: {:.2} s, seed {seed}\n", slowest.as_secs_f64());
        }
        out
    }

    /// Returns the ops, features, strategies and special cases that too few of the valid programs have, among those
    /// that ran. Also lists the ops that the host engine does not run. Returns an empty text if no valid program ran.
    fn shares(&self) -> String {
        let all = self.funnel.get(&(CaseKind::Valid, Reached::Ran)).copied().unwrap_or(0);
        if all == 0 {
            return String::new();
        }
        let not_run = shares::not_run();
        let run = Opcode::ALL.iter().filter(|op| !not_run.contains_key(op));
        let ops = run.map(|&op| (op.name(), self.ops.get(&(CaseKind::Valid, op as u16)).copied().unwrap_or(0)));
        let of_feature = |name: &str| self.features.get(&(CaseKind::Valid, name.to_string())).copied().unwrap_or(0);
        let features = shares::features().map(|name| (name, of_feature(name)));
        let mut out = share("ops", ops, all, shares::PROGRAMS_PER_OP);
        out += &share("features", features, all, shares::PROGRAMS_PER_FEATURE);
        out += &share("strategies", self.with_counts(shares::strategies()), all, shares::PROGRAMS_PER_STRATEGY);
        out +=
            &share("special cases", self.with_counts(shares::special_cases()), all, shares::PROGRAMS_PER_SPECIAL_CASE);
        out += "ops that the host engine does not run, and that no valid program has\n";
        not_run.iter().for_each(|(op, why)| _ = writeln!(out, "  {}: {why}", op.name()));
        out + "\n"
    }

    /// Returns the strategies that are chosen in too few valid programs, each with its number of programs. Returns none
    /// if fewer than [`ENOUGH_PROGRAMS`] valid programs ran.
    fn rare_strategies(&self) -> Vec<(String, u64)> {
        let all = self.funnel.get(&(CaseKind::Valid, Reached::Ran)).copied().unwrap_or(0);
        let counts = self.with_counts(shares::strategies()).filter(|_| all >= ENOUGH_PROGRAMS);
        shares::below_share(counts, all, shares::PROGRAMS_PER_STRATEGY)
    }

    fn with_counts(&self, strategies: impl Iterator<Item = String>) -> impl Iterator<Item = (String, u64)> {
        let count = |name: String| self.strategies.get(&(CaseKind::Valid, name)).copied().unwrap_or(0);
        strategies.map(move |name| (name.clone(), count(name)))
    }

    fn op_counts(&self, kind: CaseKind) -> String {
        let mut counts: Vec<(&str, u64)> =
            Opcode::ALL.iter().map(|&op| (op.name(), self.ops.get(&(kind, op as u16)).copied().unwrap_or(0))).collect();
        counts.sort_by_key(|&(_, n)| n);
        counted(&format!("{}: programs that ran, by op", kind.name()), &counts)
    }
}

fn named_counts(title: &str, kind: CaseKind, counts: &BTreeMap<(CaseKind, String), u64>) -> String {
    let of_kind = counts.iter().filter(|((k, _), _)| *k == kind);
    let counts: Vec<(&str, u64)> = of_kind.map(|((_, name), &n)| (name.as_str(), n)).collect();
    counted(&format!("{}: {title}", kind.name()), &counts)
}

/// Formats the names that are in less than one of `programs_per_name` programs, under a title, or says that there are
/// none. `what` names their kind, and `all` is the number of programs.
fn share<S: AsRef<str>>(
    what: &str,
    counts: impl Iterator<Item = (S, u64)>,
    all: u64,
    programs_per_name: u64,
) -> String {
    let title = format!("valid programs: {what} that are in less than one of {programs_per_name}");
    match &shares::below_share(counts, all, programs_per_name)[..] {
        [] => format!("{title}: none\n"),
        below => format!("{title}\n{}\n", lines(below)),
    }
}

fn shown_folder() -> String {
    repo::shown(Path::new(&repo::root().join("target/fuzz")))
}

fn counted(title: &str, counts: &[(&str, u64)]) -> String {
    if counts.iter().all(|(_, n)| *n == 0) {
        return String::new();
    }
    format!("{title}\n{}\n\n", lines(counts))
}

fn lines<S: AsRef<str>>(counts: &[(S, u64)]) -> String {
    let cells: Vec<String> = counts.iter().map(|(name, n)| format!("{} {n}", name.as_ref())).collect();
    let lines: Vec<String> = cells.chunks(6).map(|line| format!("  {}", line.join(" · "))).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_reports_nothing_is_an_error() {
        let options = Options {
            minutes: None,
            seed: 0,
            kind: "valid".into(),
            count: Some(1),
            workers: 1,
            wall_seconds: 10,
            sanitize: false,
            worker: Some("/bin/true".into()),
        };
        let error = run(&options).unwrap_err().to_string();
        assert!(error.contains("/bin/true ended without a report"), "{error}");
    }
}
