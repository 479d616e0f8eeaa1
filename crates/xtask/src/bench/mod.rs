//! Benchmarks: measures JAX and our programs together on the same seeded inputs. The ratios are what counts.
//!
//! Rounds of JAX, of ours on eight devices and of ours on one device alternate, so that a machine that becomes slower
//! affects all of them. Each round has warm-up calls and results in a median, and the table shows the median over the
//! rounds. JAX runs in one Python process that keeps its programs compiled. Our programs run in this process, which
//! must be an optimized build.

mod collective_matmul;
mod jax;
mod kernels;
mod lines;
mod moe;
mod ours;
mod packages;
mod passes;
mod tracing;

use crate::{repo, venv};
use anyhow::{Context, Result, ensure};
use jax::Jax;
pub(crate) use lines::median;
use lines::{Line, Samples, Subject};
use ours::{Devices, Ours};
use std::path::{Path, PathBuf};

/// Measure JAX and ours on the same programs, and print ratios.
#[derive(clap::Args)]
pub struct Options {
    /// Use few and short rounds, for a first impression
    #[arg(long)]
    quick: bool,
    /// Measure only programs whose names, or those of their packages, contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Measure the programs in this folder alone, to which `oracle/packages.py` has exported them
    #[arg(long, value_name = "FOLDER")]
    packages: Option<PathBuf>,
    /// Write the report to `docs/performance.md`, or that of packages to `docs/packages.md`
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    write: bool,
}

/// The duration of a measurement.
#[derive(Clone, Copy)]
struct Effort {
    rounds: usize,
    /// The seconds for the calls of one program by one side in one round. A third of it for kernels, and
    /// a tenth for programs of packages.
    seconds: f64,
    /// The number of compilations by JAX in one round. We compile four times as often.
    compilations: usize,
}

const FULL: Effort = Effort { rounds: 5, seconds: 1.0, compilations: 3 };
const QUICK: Effort = Effort { rounds: 2, seconds: 0.2, compilations: 1 };

/// The programs whose calls are timed on all devices and on one, with the names in `oracle/bench_jax.py`.
const CALLS: &[&str] =
    &["chapter", "matmul_f32", "matmul_bf16", "transformer_forward", "transformer_train", "call_overhead"];
/// Per-device programs, whose calls are timed only on all devices.
const MANUAL_CALLS: &[&str] = &[
    "all_gather_4k",
    "all_reduce_4k",
    "reduce_scatter_4k",
    "all_to_all_4k",
    "permute_4k",
    "all_gather_16m",
    "all_to_all_16m",
    "permute_16m",
];
/// A function that returns a program's text, or fails if the program cannot be made.
type Text = fn() -> Result<String>;
/// Our own versions of JAX's programs of these names, with the same arguments. They are timed only on all devices.
const OWN: &[(&str, Text)] = &[("moe_scan", moe::text), ("moe_ragged", moe::text)];
/// Our own versions of pairs of JAX's programs, of which the faster one counts. They have the arguments of the first
/// one.
const OWN_OF_TWO: &[(&str, [&str; 2], Text)] = &[
    ("all_gather_matmul", ["all_gather_matmul_auto", "all_gather_matmul_manual"], collective_matmul::all_gather),
    (
        "reduce_scatter_matmul",
        ["reduce_scatter_matmul_auto", "reduce_scatter_matmul_manual"],
        collective_matmul::reduce_scatter,
    ),
    ("all_reduce_matmul", ["all_reduce_matmul_auto", "all_reduce_matmul_manual"], collective_matmul::all_reduce),
];
/// The program that is compiled, and the name of that measurement.
const COMPILED: (&str, &str) = ("transformer_forward", "transformer_compile");

/// A function that measures something, and returns a report and true if its targets are reached.
type Measure = fn() -> Result<(String, bool)>;

/// Measures the programs that the options select. Returns the report, and true if all their targets are reached. Fails
/// in a build with debug assertions, if JAX cannot be started or cannot export its programs, if a measurement fails, if
/// nothing is selected, or if the report cannot be written.
pub fn run(options: &Options) -> Result<(String, bool)> {
    ensure!(!cfg!(debug_assertions), "measure a release build: `cargo xtask bench`");
    if let Some(folder) = &options.packages {
        return run_packages(options, folder);
    }
    let (mut speed, mut is_fast) = (String::new(), true);
    let alone: [(&str, Measure); 2] = [(passes::NAME, passes::measure), (tracing::NAME, tracing::measure)];
    for (name, measure) in alone {
        if name.contains(&options.only) {
            let (text, is_good) = measure()?;
            speed = format!("{speed}{text}\n");
            is_fast &= is_good;
        }
    }
    if alone.iter().any(|(name, _)| *name == options.only) {
        return Ok((speed, is_fast));
    }
    let python = venv::ensure()?;
    let folder = jax::export(&python)?;
    let effort = options.effort();
    let (mut samples, mut notes) = (Samples::default(), vec![]);
    let mut jax = Jax::start(&python)?;
    let own = OWN.iter().map(|(name, _)| name);
    for name in CALLS.iter().chain(MANUAL_CALLS).chain(own).filter(|name| name.contains(&options.only)) {
        notes.push(time_calls(&mut jax, &folder, name, effort, &mut samples).context(*name)?);
    }
    for of_two in OWN_OF_TWO.iter().filter(|of_two| of_two.0.contains(&options.only)) {
        notes.push(time_against_two(&mut jax, &folder, of_two, effort, &mut samples).context(of_two.0)?);
    }
    if COMPILED.1.contains(&options.only) {
        time_compilation(&mut jax, &folder, effort, &mut samples).context(COMPILED.1)?;
    }
    let (kernels, are_kernels_fast) = kernels::measure(&mut jax, &options.only, effort)?;
    let measured: Vec<&Line> = lines::LINES.iter().filter(|line| line.is_measured(&samples)).collect();
    let is_empty = measured.is_empty() && kernels.is_empty() && speed.is_empty();
    ensure!(!is_empty, "no measurement matches \"{}\"", options.only);
    let is_good = measured.iter().all(|line| line.is_reached(&samples));
    let head = head(effort);
    let table = if measured.is_empty() { String::new() } else { lines::table(&measured, &samples).to_string() };
    let parts = [head, table, kernels, speed, notes.join("\n")];
    let report = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    if options.write {
        write("performance", ABOUT, &report)?;
    }
    Ok((report, is_good && is_fast && are_kernels_fast))
}

/// Measures the programs of packages in `folder`. Returns the report, and true if its targets are reached. Fails as
/// [`packages::measure`] does, if JAX cannot be started, or if the report cannot be written.
fn run_packages(options: &Options, folder: &Path) -> Result<(String, bool)> {
    let mut jax = Jax::start(&venv::ensure()?)?;
    let effort = options.effort();
    let (table, is_fast) = packages::measure(&mut jax, folder, &options.only, effort)?;
    let report = format!("{}\n{table}", head(effort));
    if options.write {
        write("packages", ABOUT_PACKAGES, &report)?;
    }
    Ok((report, is_fast))
}

impl Options {
    fn effort(&self) -> Effort {
        if self.quick { QUICK } else { FULL }
    }
}

fn head(effort: Effort) -> String {
    format!("{}; times are medians of {} rounds\n", machine(), effort.rounds)
}

/// Returns a description of the machine: its processor, the vector instructions that kernels use, and its cores.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    format!("{}, {}, {cores} cores", shardwise_calibrate::processor(), shardwise_host::instructions())
}

/// The text before the report of `docs/performance.md`.
const ABOUT: &str = "# Performance

Made by `cargo xtask bench --write`. The times hold for one machine only. JAX is the version in \
`oracle/requirements.txt`, on eight virtual devices of the CPU, and for kernels on one of them. In the first table, \
\"ours, 8\" runs on eight virtual devices, and \"ours, 1\" runs the same program on one. For kernels, five calls of JAX \
are awaited together, and each of ours alone. How each row is measured is described in `crates/xtask/src/bench`.";

/// The text before the report of `docs/packages.md`.
const ABOUT_PACKAGES: &str = "# Calls of packages

Made by `cargo xtask bench --packages FOLDER --write`, after `oracle/packages.py FOLDER` has exported the programs. The \
times hold for one machine only. JAX is the version in `oracle/requirements.txt`. Five calls of JAX are awaited \
together, and each of ours alone. The difference is the largest one between both results, each relative to the largest \
value of its array: it is near 1 for gradients that are 0 but for rounding.";

/// Writes the report into a file of `docs`. Fails if the file cannot be written.
fn write(name: &str, about: &str, report: &str) -> Result<()> {
    let file = repo::root().join("docs").join(name).with_extension("md");
    shardwise_base::file::write(&file, format!("{about}\n\n```text\n{report}```\n"))
        .with_context(|| format!("cannot write {}", repo::shown(&file)))
}

/// Times the calls of a program, and adds the median of each round to `samples`. Returns a line about how well our
/// results agree with JAX's. Fails if the program cannot be made or loaded, if a call fails, or if [`Ours::distance`]
/// does.
fn time_calls(jax: &mut Jax, folder: &Path, name: &str, effort: Effort, samples: &mut Samples) -> Result<String> {
    eprintln!("measuring {name}");
    let text = OWN.iter().find(|own| own.0 == name).map(|own| own.1()).transpose()?;
    let eight = Ours::load(folder, name, Devices::All, text)?;
    let one = if CALLS.contains(&name) { Some(Ours::load(folder, name, Devices::One, None)?) } else { None };
    for _ in 0..effort.rounds {
        samples.add(name, Subject::Jax, jax.time_calls(name, effort.seconds)?);
        samples.add(name, Subject::Ours, eight.time_calls(effort.seconds)?);
        if let Some(one) = &one {
            samples.add(name, Subject::OursOnOne, one.time_calls(effort.seconds)?);
        }
    }
    let distances: Vec<String> = [Some(&eight), one.as_ref()]
        .into_iter()
        .flatten()
        .map(|side| Ok(format!("{:.1e}", side.distance(folder, name)?)))
        .collect::<Result<_>>()?;
    Ok(format!("{name}: largest difference from JAX, of the largest value: {}", distances.join(" and ")))
}

/// Times the calls of our program and of two of JAX's programs, of which the faster one of each round counts. Adds the
/// median of each round to `samples`. Returns a line about how well our results agree with JAX's. Fails if the program
/// cannot be made or loaded, if a call fails, or if [`Ours::distance`] does.
fn time_against_two(
    jax: &mut Jax,
    folder: &Path,
    (name, theirs, text): &(&str, [&str; 2], Text),
    effort: Effort,
    samples: &mut Samples,
) -> Result<String> {
    eprintln!("measuring {name}");
    let ours = Ours::load(folder, theirs[0], Devices::All, Some(text()?))?;
    for _ in 0..effort.rounds {
        let [auto, manual] = theirs.map(|program| jax.time_calls(program, effort.seconds));
        samples.add(name, Subject::Jax, auto?.min(manual?));
        samples.add(name, Subject::Ours, ours.time_calls(effort.seconds)?);
    }
    let distance = ours.distance(folder, theirs[0])?;
    Ok(format!("{name}: largest difference from JAX, of the largest value: {distance:.1e}"))
}

/// Times the compilation of [`COMPILED`], and adds the median of each round to `samples`. Ours is parsing, partitioning
/// and planning, and JAX's is tracing, lowering and compiling. Fails if a program cannot be read or compiled, or if JAX
/// does not answer.
fn time_compilation(jax: &mut Jax, folder: &Path, effort: Effort, samples: &mut Samples) -> Result<()> {
    let (program, name) = COMPILED;
    eprintln!("measuring {name}");
    let text = repo::read(&folder.join(format!("{program}.mlir")))?;
    for _ in 0..effort.rounds {
        samples.add(name, Subject::Jax, jax.time_compilation(name, effort.compilations)?);
        samples.add(name, Subject::Ours, ours::time_compilation(&text, 4 * effort.compilations)?);
    }
    Ok(())
}
