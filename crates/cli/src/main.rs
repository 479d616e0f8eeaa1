//! The `shardwise` command: reads StableHLO programs, and prints results, shardings and per-device programs.
//!
//! Exit codes:
//!
//! - 0: success.
//! - 1: the input is wrong, a limit is reached, or a file cannot be read or written. A diagnostic on standard error
//!   shows the location and how to correct it.
//! - 2: wrong usage.
//! - 130: interrupted by Ctrl-C.
#![forbid(unsafe_code)]

#[macro_use]
mod out;

mod calibrate;
mod check;
mod communication;
mod demo;
mod explain;
mod memory;
mod noise;
mod npz;
mod parts;
mod placed;
mod random;
mod run;
mod shardings;
mod signal;
mod simulate;
mod source;
mod stages;
mod text;
mod timelines;

use clap::{Args, Parser, Subcommand, ValueEnum};
use out::Output;
use shardwise_base::budget::default_max_bytes;
use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Loc, Note, NoteKind};
use shardwise_engine::NumberChecks;
use shardwise_sim::Overlap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Propagate shardings of programs over meshes of devices, partition, explain and run them.
///
/// Without a command, runs `demo`, the first example of the README. Exit codes: 0 for success, 1 for an error in the
/// input, in a file or by a limit, 2 for wrong usage, and 130 after Ctrl-C.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    limits: Limits,
}

/// Limits on what a command may use.
#[derive(Args)]
struct Limits {
    /// Stop a program that takes more than N steps. Each run of an op is a step, and so are each 65536 element
    /// operations or multiply-adds.
    #[arg(long, value_name = "N", global = true, default_value_t = 1_000_000_000)]
    max_steps: u64,
    /// Stop a command whose data needs more than BYTES bytes of memory. The default is 80 % of the memory of the
    /// machine or its control group, whichever is less.
    #[arg(long, value_name = "BYTES", global = true)]
    max_bytes: Option<u64>,
    /// Print the largest amount of memory that the data took, and the prediction for a run, on standard error.
    #[arg(long, global = true)]
    memory: bool,
}

impl Limits {
    fn budget(&self, cancel: CancelToken) -> Budget {
        let max_bytes = self.max_bytes.map_or_else(default_max_bytes, |n| usize::try_from(n).unwrap_or(usize::MAX));
        Budget::new(Account::with_limit(max_bytes), Some(self.max_steps), cancel)
    }
}

#[derive(Subcommand)]
enum Command {
    /// Show a sharded matmul on virtual devices, eight by default: its layouts, the program of one device, its communication, and the times of a run.
    Demo(demo::DemoArgs),
    /// Run a program on as many virtual devices as its mesh has.
    Run(RunArgs),
    /// Print the program with the sharding of each value after propagation.
    Propagate(PropagateArgs),
    /// Print the program of one device, with its collectives.
    Partition(PartitionArgs),
    /// Explain why a program communicates, and find the change of one layout that saves most of it.
    Explain(ExplainArgs),
    /// Show which devices hold which elements of the arguments and results.
    Shardings(ShardingsArgs),
    /// Predict when each instruction runs on a machine that need not be here.
    Simulate(SimulateArgs),
    /// Measure this machine, so that `simulate` can predict how long it takes for a program.
    Calibrate(CalibrateArgs),
    /// Run passes by name, and print the result.
    Opt(OptArgs),
}

/// The program to read.
#[derive(Args)]
struct Source {
    /// The file with StableHLO text, as `jax.jit(f).lower(*args).as_text()` prints it. `-` is standard input.
    file: PathBuf,
    /// Write the program after each pass into DIR, as numbered .mlir files.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
}

/// The place of the result.
#[derive(Args)]
struct Target {
    /// Write the result into FILE instead of printing it. If the command fails, an older file is not changed.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Target {
    fn open(&self) -> Result<Output<'_>, Diagnostics> {
        Output::new(self.output.as_deref())
    }
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    source: Source,
    /// Read the inputs arg0, arg1, … from a file in numpy's .npz format. V2 or uint16 holds bf16, and V1 or uint8 holds
    /// f8.
    #[arg(long, value_name = "NPZ", conflicts_with = "random")]
    inputs: Option<PathBuf>,
    /// Take the inputs in MLIR's notation: `[dense<1> : tensor<2xi32>, dense<2.0> : tensor<f32>]`.
    #[arg(long, value_name = "ARRAYS", conflicts_with_all = ["inputs", "random"])]
    args: Option<String>,
    /// Make inputs from a seed: small multiples of 1/8 and small integers.
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// Write the results out0, out1, … into this file.
    #[arg(long, value_name = "NPZ")]
    outputs: Option<PathBuf>,
    /// Run every program of a file in which lines `// -----` separate programs, and print a line for each. `--dump`
    /// writes the stages of each one that is partitioned into a folder of its own: DIR/01, DIR/02, …
    #[arg(long, conflicts_with_all = ["inputs", "outputs", "check", "repeat", "profile"])]
    split_input_file: bool,
    /// Compare with the unpartitioned program, on one device or in the interpreter.
    #[arg(long, value_name = "WITH", num_args = 0..=1, default_missing_value = "single", require_equals = true)]
    check: Option<CheckWith>,
    /// Run N times and print the median time.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    repeat: Option<usize>,
    /// Print the time of each instruction in one more run. With FILE, write when each one ran: a page (.html), or a
    /// trace for Perfetto (.pftrace), Chrome (.json) or XProf (.xplane.pb).
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    profile: Option<PathBuf>,
    /// The file of this machine, as `calibrate` writes it: the profile then shows shares of its limits. The default is
    /// the file that the environment variable SHARDWISE_MACHINE names.
    #[arg(long, value_name = "FILE", requires = "profile")]
    machine: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "host")]
    engine: EngineName,
    /// End with an error at the first op that makes a NaN although its operands have none. Ops are not fused.
    #[arg(long)]
    check_nans: bool,
    /// End with an error at the first op that makes an infinity although its operands have none.
    #[arg(long)]
    check_infs: bool,
}

impl RunArgs {
    fn checks(&self) -> NumberChecks {
        let is_on = |name: &str| std::env::var(name).is_ok_and(|value| value == "1");
        NumberChecks {
            nans: self.check_nans || is_on("SHARDWISE_CHECK_NANS"),
            infs: self.check_infs || is_on("SHARDWISE_CHECK_INFS"),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum CheckWith {
    /// On one device of the host engine, or in the interpreter if the program has manual computations.
    Single,
    /// In the reference interpreter.
    Interp,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// The embedded engine.
    Host,
    /// The reference interpreter, which is slow.
    Interp,
}

#[derive(Args)]
struct PropagateArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    target: Target,
}

#[derive(Args)]
struct PartitionArgs {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    target: Target,
    /// Choose layouts for the time that they take on this machine, in place of the bytes that they move: `v5e:16x16*2`.
    /// The default is what the program's mesh states.
    #[arg(long, value_name = "MACHINE")]
    topology: Option<String>,
    /// The notation for groups of devices.
    #[arg(long, value_enum, default_value = "axes")]
    replica_groups: ReplicaGroups,
    /// Print shortened HLO text for people to read, instead of StableHLO.
    #[arg(long, conflicts_with = "replica_groups")]
    hlo: bool,
    /// Print the table of collectives instead of the program.
    #[arg(long, conflicts_with_all = ["hlo", "replica_groups"])]
    communication: bool,
    /// The format of the table of collectives.
    #[arg(long, value_enum, default_value = "text", requires = "communication")]
    format: Format,
}

#[derive(Args)]
struct ShardingsArgs {
    #[command(flatten)]
    source: Source,
    /// Show the values that ops at this line of the source make, instead of the arguments and results.
    #[arg(long, value_name = "LINE")]
    line: Option<u32>,
    /// Show the mesh on this machine as well, with the links that each axis uses: `v5e:2x4`. The default is what the
    /// program's mesh states.
    #[arg(long, value_name = "MACHINE")]
    topology: Option<String>,
    /// Write each picture into a file in DIR instead of printing it.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The format of the files.
    #[arg(long, value_enum, default_value = "svg", requires = "output")]
    format: PictureFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum PictureFormat {
    /// A drawing for browsers and documents.
    Svg,
    /// An image.
    Png,
    /// Text.
    Txt,
}

impl PictureFormat {
    fn extension(self) -> &'static str {
        match self {
            PictureFormat::Svg => "svg",
            PictureFormat::Png => "png",
            PictureFormat::Txt => "txt",
        }
    }
}

#[derive(Args)]
struct SimulateArgs {
    #[command(flatten)]
    source: Source,
    /// The machine and its grid of chips: `v5e:2x4`, `v5p:4x4x4`, `v4:4x4x8_twisted` for a twisted torus, `v5e:16x16*2`
    /// for two pods, `h100:2x8` for two nodes of eight GPUs, or `FILE:8` for eight devices on the host of a file that
    /// `calibrate` has written. The default is what the program's mesh states.
    #[arg(long, value_name = "MACHINE")]
    topology: Option<String>,
    /// The file of the host that `--topology host:8` means. The default is the file that the environment variable
    /// SHARDWISE_MACHINE names.
    #[arg(long, value_name = "FILE")]
    machine: Option<PathBuf>,
    /// The collectives that run beside other ops. The program is changed so that they do, and the changes are listed
    /// as notes.
    #[arg(long, value_enum, default_value = "off")]
    overlap: OverlapName,
    /// Print the program that is simulated, with the changes for `--overlap`, in place of the times.
    #[arg(long, conflicts_with_all = ["json", "output"])]
    program: bool,
    /// Print JSON, with an object for each span.
    #[arg(long)]
    json: bool,
    /// Write the timeline into FILE: a page (.html), or a trace for Perfetto (.pftrace), Chrome (.json) or XProf
    /// (.xplane.pb).
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
}

#[derive(Args)]
struct ExplainArgs {
    #[command(flatten)]
    source: Source,
    /// A second program. Print what differs between the two: collectives, bytes, memory and time.
    #[arg(value_name = "OTHER")]
    other: Option<PathBuf>,
    /// The machine and its grid of chips, as for `simulate`. With it, times are predicted, and changes are compared by
    /// time in place of bytes. The default is what the program's mesh states.
    #[arg(long, value_name = "MACHINE")]
    topology: Option<String>,
    /// The collectives that run beside other ops in predictions, as for `simulate`. All but `off` need a machine.
    #[arg(long, value_enum, default_value = "off")]
    overlap: OverlapName,
    /// Try at most N changes of one layout. The default depends on the size of the program.
    #[arg(long, value_name = "N", conflicts_with = "other")]
    trials: Option<usize>,
    /// Print JSON, with an object for each collective and each change.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct CalibrateArgs {
    #[command(flatten)]
    target: Target,
}

#[derive(Clone, Copy, ValueEnum)]
enum OverlapName {
    /// Only collectives that the program starts asynchronously.
    Off,
    /// Also those for which the machine's model predicts a gain.
    Auto,
    /// All collectives, wherever it is possible.
    Force,
}

impl From<OverlapName> for Overlap {
    fn from(name: OverlapName) -> Overlap {
        match name {
            OverlapName::Off => Overlap::Off,
            OverlapName::Auto => Overlap::Auto,
            OverlapName::Force => Overlap::Force,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for people to read.
    Text,
    /// JSON, with an object for each collective.
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReplicaGroups {
    /// Axes of the mesh.
    Axes,
    /// Lists of device numbers, which jaxlib can read.
    Dense,
}

#[derive(Args)]
#[command(mut_arg("file", |file| file.required(false).required_unless_present("list_passes")))]
struct OptArgs {
    #[command(flatten)]
    source: Option<Source>,
    #[command(flatten)]
    target: Target,
    /// Print the names of all passes, with what they do, and run nothing.
    #[arg(long)]
    list_passes: bool,
    /// The passes to run, in order, separated by commas. Transforms are passes: `value-and-grad{args=0+2}`,
    /// `jvp{args=0}`, `vjp{args=0}`, `vmap{args=0+1,size=8}`.
    #[arg(long = "pass", value_name = "NAMES")]
    passes: Vec<String>,
    /// Check what each pass guarantees, and what the passes before it guarantee.
    #[arg(long)]
    verify: bool,
    /// Read a file in which lines `// -----` separate programs. `--dump` writes the stages of each into a folder of its
    /// own: DIR/01, DIR/02, …
    #[arg(long)]
    split_input_file: bool,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one run is needed".into()),
        Ok(n) => Ok(n),
        Err(e) => Err(format!("{e}")),
    }
}

/// Returns the arguments. If they ask for help or for the version, prints it and ends the process. If they are wrong,
/// prints what is, and ends the process.
fn parsed() -> Cli {
    Cli::try_parse().unwrap_or_else(|found| {
        if found.use_stderr() {
            found.exit();
        }
        out::printed(found.print());
        std::process::exit(0)
    })
}

fn main() -> ExitCode {
    let cli = parsed();
    let budget = cli.limits.budget(signal::interruption());
    let result = budget.run(|| command(cli.command.unwrap_or_else(|| Command::Demo(demo::DemoArgs::default()))));
    out::flush();
    if cli.limits.memory {
        out::message(memory::report(budget.account()));
    }
    match result.unwrap_or_else(|stop| Err(shown(stop.diagnostic(&Loc::UNKNOWN).into()))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(found) => {
            out::message(found);
            ExitCode::from(if budget.cancel_token().is_cancelled() { signal::INTERRUPTED } else { 1 })
        }
    }
}

fn command(command: Command) -> Result<(), String> {
    match command {
        Command::Demo(args) => demo::demo(&args).map_err(|e| e.to_string()),
        Command::Run(args) => run::run(&args).map_err(shown),
        Command::Propagate(args) => stages::propagate(&args).map_err(shown),
        Command::Partition(args) => stages::partition(&args).map_err(shown),
        Command::Explain(args) => explain::explain(&args).map_err(shown),
        Command::Shardings(args) => shardings::shardings(&args).map_err(shown),
        Command::Simulate(args) => simulate::simulate(&args).map_err(shown),
        Command::Calibrate(args) => calibrate::calibrate(&args).map_err(shown),
        Command::Opt(args) => stages::opt(&args).map_err(shown),
    }
}

/// Returns the text of errors, in which those about the limit of steps name its option.
fn shown(mut found: Diagnostics) -> String {
    for d in found.0.iter_mut().filter(|d| d.code == "run-steps") {
        d.notes.push(Note { kind: NoteKind::Help, text: "`--max-steps N` sets the limit of steps".into() });
    }
    found.to_string()
}
