//! `cargo xtask stablehlo DIR`: runs StableHLO's interpreter tests with `shardwise run --split-input-file`.
//!
//! The files are read from a fetched copy of the project, and are not part of this repository. Each part of a file is a
//! program. The reason of a failure is the code of its diagnostic, and the op if there is one.

use crate::command::{self, Outcome, Profile, in_parallel};
use crate::table::Table;
use anyhow::{Context, Result};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Run StableHLO's interpreter tests with our command.
#[derive(Args)]
pub struct Options {
    /// A folder whose `.mlir` files, and those of its subfolders, are run, or one file
    path: PathBuf,
    /// The engine that runs the programs
    #[arg(long, default_value = "interp")]
    engine: String,
    /// Show each failure
    #[arg(long)]
    list: bool,
}

/// The outcome of a program of a file, or of the file if the command failed.
struct Part {
    place: String,
    checks: usize,
    /// The reason of the failure, or `None` if all checks hold.
    reason: Option<String>,
    /// True if a check failed, and the file is that of a program in [`KNOWN`].
    is_known: bool,
}

/// The outcome of a file.
struct Report {
    parts: Vec<Part>,
    /// The text that the command wrote to standard error.
    errors: String,
}

/// Programs of StableHLO's testdata whose expected values differ from ours, with the reasons. For `sinh`, `cosh`,
/// `triangular_solve`, complex functions and transforms, an element was compared with a computation in a wider type,
/// and our value is closer. The other reasons were found by reading.
const KNOWN: &[(&str, &str)] = &[
    ("cosh_float32_20_20_chlo", EXACT),
    ("cumprod_complex64_8_9", COMPLEX),
    ("cumsum_bfloat16_8_9", "sums of bf16 are taken in f32 and rounded once"),
    ("cumsum_complex64_8_9", COMPLEX),
    ("dot_general_bfloat16_4_3_complex64_3_6", COMPLEX),
    ("dot_general_float16_4_3_complex64_3_6", COMPLEX),
    ("dot_general_float32_4_3_complex64_3_6", COMPLEX),
    ("dot_general_int16_4_3_complex64_3_6", COMPLEX),
    ("dot_general_int64_4_3_complex64_3_6", COMPLEX),
    ("dot_general_uint16_4_3_complex64_3_6", COMPLEX),
    ("dot_general_uint8_4_3_complex64_3_6", COMPLEX),
    ("fft_complex128_14_15_16_17", FFT),
    ("fft_complex64_14_15_16_17", FFT),
    ("fft_float32_14_15_16_17", FFT),
    ("fft_float64_14_15_16_17", FFT),
    ("pow_complex64_20_30_complex64_20_30", EXACT),
    ("sinh_float32_20_20_chlo", EXACT),
    ("sort_float32_5", NAN),
    ("top_k_float32_5_chlo", NAN),
    (
        "triangular_solve_float32_2_8_8_float32_2_10_8",
        "the order of rounding differs; 3 ulps are less than the error of substitution",
    ),
];

const EXACT: &str = "the expected value differs from the exact one by some ulps, and ours is exact";
const COMPLEX: &str = "complex<f32> is computed in complex<f64> and rounded once, not at each step";
const FFT: &str = "sums with cancellation differ by more than 3 ulps in another order";
const NAN: &str = "it expects a NaN to be equal to itself (StableHLO #2497)";

const LIMIT: Duration = Duration::from_secs(120);

pub fn run(options: &Options) -> Result<(String, bool)> {
    let command = command::build_ours(Profile::Dev)?;
    let mut files = vec![];
    collect(&options.path, &mut files)?;
    let reports = in_parallel(&files, |file| run_file(&command, file, &options.engine));
    let reports = reports.into_iter().collect::<Result<Vec<Report>>>()?;
    let is_good = reports.iter().flat_map(|r| &r.parts).all(|p| p.reason.is_none() || p.is_known);
    Ok((written(&reports, options.list), is_good))
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) -> Result<()> {
    if path.is_file() {
        out.push(path.into());
        return Ok(());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut entries: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() || entry.extension().is_some_and(|e| e == "mlir") {
            collect(&entry, out)?;
        }
    }
    Ok(())
}

fn run_file(command: &Path, file: &Path, engine: &str) -> Result<Report> {
    let mut run = Command::new(command);
    run.args(["run", "--split-input-file", "--engine", engine]).arg(file);
    if let Some(inputs) = inputs_of(&std::fs::read_to_string(file)?) {
        run.args(["--args", &inputs]);
    }
    let outcome = command::run(run, "", LIMIT)?;
    let mut parts: Vec<Part> = outcome.stdout.lines().filter_map(|line| part(file, line, &outcome)).collect();
    // The command itself failed.
    if outcome.status.is_none_or(|s| !matches!(s.code(), Some(0 | 1))) {
        parts.push(Part {
            place: file.display().to_string(),
            checks: 0,
            reason: Some(outcome.reason()),
            is_known: false,
        });
    }
    Ok(Report { parts, errors: outcome.stderr })
}

/// Parses a line `FILE:LINE: @name: OUTCOME, N checks`. Returns `None` for other lines.
fn part(file: &Path, line: &str, outcome: &Outcome) -> Option<Part> {
    let rest = line.strip_prefix(&format!("{}:", file.display()))?;
    let (head, count) = rest.rsplit_once(", ")?;
    let (head, result) = head.rsplit_once(": ")?;
    let checks = count.split_once(' ')?.0.parse().ok()?;
    let known = KNOWN.iter().find(|(name, _)| result == "check-failed" && file.file_stem().is_some_and(|f| f == *name));
    let reason = (result != "ok").then(|| match known {
        Some((_, why)) => format!("{result}: {why}"),
        None => format!("{result}{}", subject(result, &outcome.stderr)),
    });
    Some(Part { place: format!("{}:{head}", file.display()), checks, reason, is_known: known.is_some() })
}

/// Returns the subject of the first message with this code, in backticks and after a space: the first name between
/// backticks. Returns an empty text if there is none.
fn subject(code: &str, errors: &str) -> String {
    let message = errors.lines().find(|line| line.starts_with(&format!("error[{code}]"))).unwrap_or("");
    message.split('`').nth(1).map(|name| format!(" `{name}`")).unwrap_or_default()
}

/// Returns the inputs in a file's first line, `--args="[..]"`, or `None` if it has none.
fn inputs_of(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let (_, rest) = line.split_once("--args=\"")?;
    Some(rest.split_once('"')?.0.to_string())
}

fn written(reports: &[Report], list: bool) -> String {
    let parts: Vec<&Part> = reports.iter().flat_map(|r| &r.parts).collect();
    let count = |parts: &[&&Part]| [parts.len(), parts.iter().map(|p| p.checks).sum()].map(|n: usize| n.to_string());
    let mut reasons: BTreeMap<&str, Vec<&&Part>> = BTreeMap::new();
    for part in &parts {
        reasons.entry(part.reason.as_deref().unwrap_or("")).or_default().push(part);
    }
    let mut table = Table::new(["outcome", "programs", "checks"]);
    for (reason, parts) in &reasons {
        let [programs, checks] = count(parts);
        table.row([if reason.is_empty() { "ok".to_string() } else { (*reason).into() }, programs, checks]);
    }
    let whole = reports.iter().filter(|r| r.parts.iter().all(|p| p.reason.is_none())).count();
    let mut out = format!("{table}\n{whole} of {} files without a failure\n", reports.len());
    if list {
        for report in reports.iter().filter(|r| r.parts.iter().any(|p| p.reason.is_some())) {
            for part in report.parts.iter().filter_map(|p| p.reason.as_ref().map(|r| (p, r))) {
                out.push_str(&format!("{}: {}\n", part.0.place, part.1));
            }
            out.push_str(&report.errors);
        }
    }
    out
}
