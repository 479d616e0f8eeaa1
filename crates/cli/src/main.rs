//! The `shardwise` command: StableHLO programs in, results, shardings and per-device programs out.
//!
//! Exit code 0: done; 1: the input is wrong, and a diagnostic on standard error says where and what to do; 2: wrong usage;
//! 130: interrupted by Ctrl-C.
#![forbid(unsafe_code)]

#[macro_use]
mod out;

mod check;
mod demo;
mod memory;
mod noise;
mod npz;
mod parts;
mod placed;
mod random;
mod run;
mod signal;
mod source;
mod stages;
mod text;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shardwise_base::budget::default_max_bytes;
use shardwise_base::{Account, Budget, CancelToken, Loc};
use std::path::PathBuf;
use std::process::ExitCode;

/// Programs over named meshes of devices: propagate shardings, partition, explain, run.
///
/// Without a command: `demo`, the first example of the README.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    limits: Limits,
}

/// What a command may use.
#[derive(Args)]
struct Limits {
    /// Stop a program that takes more steps than this; 65536 element operations or multiply-adds are one more.
    #[arg(long, value_name = "N", global = true, default_value_t = 1_000_000_000)]
    max_steps: u64,
    /// Stop before the data needs more bytes of memory than this; default: 80 % of what the machine or the control group
    /// has.
    #[arg(long, value_name = "BYTES", global = true)]
    max_bytes: Option<u64>,
    /// Print how much memory the data took at most, and what was predicted, on standard error.
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
    /// A sharded matmul on eight virtual devices, and everything there is to see about it.
    Demo(demo::DemoArgs),
    /// Run a program on as many virtual devices as its mesh has.
    Run(RunArgs),
    /// Print the program with the sharding that propagation gives each value.
    Propagate(PropagateArgs),
    /// Print the program of one device, with its collectives.
    Partition(PartitionArgs),
    /// Run any passes by name, and print what they make.
    Opt(OptArgs),
}

/// A program to read.
#[derive(Args)]
struct Source {
    /// StableHLO text, as `jax.jit(f).lower(*args).as_text()` prints it; `-` is standard input.
    file: PathBuf,
    /// Write the program after each pass into this folder, as numbered .mlir files.
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    source: Source,
    /// Arrays arg0, arg1, … in numpy's .npz form; V2 or uint16 holds bf16, V1 or uint8 holds f8.
    #[arg(long, value_name = "NPZ", conflicts_with = "random")]
    inputs: Option<PathBuf>,
    /// The inputs as MLIR writes them: `[dense<1> : tensor<2xi32>, dense<2.0> : tensor<f32>]`.
    #[arg(long, value_name = "ARRAYS", conflicts_with_all = ["inputs", "random"])]
    args: Option<String>,
    /// Make the inputs: small multiples of 1/8 and small integers, from this seed.
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// Where to write out0, out1, ….
    #[arg(long, value_name = "NPZ")]
    outputs: Option<PathBuf>,
    /// The file holds many programs, parted by lines `// -----`: run each, and print a line for each.
    #[arg(long, conflicts_with_all = ["inputs", "outputs", "check", "repeat", "profile"])]
    split_input_file: bool,
    /// Compare with the unpartitioned program, on one device or in the interpreter.
    #[arg(long, value_name = "WITH", num_args = 0..=1, default_missing_value = "single", require_equals = true)]
    check: Option<CheckWith>,
    /// Run this often, and print the median time.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    repeat: Option<usize>,
    /// Print the time of each instruction.
    #[arg(long)]
    profile: bool,
    #[arg(long, value_enum, default_value = "host")]
    engine: EngineName,
}

#[derive(Clone, Copy, ValueEnum)]
enum CheckWith {
    /// The unpartitioned program on one device of the host engine.
    Single,
    /// The unpartitioned program in the reference interpreter.
    Interp,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// The embedded engine.
    Host,
    /// The reference interpreter: slow.
    Interp,
}

#[derive(Args)]
struct PropagateArgs {
    #[command(flatten)]
    source: Source,
}

#[derive(Args)]
struct PartitionArgs {
    #[command(flatten)]
    source: Source,
    /// How groups of devices are written.
    #[arg(long, value_enum, default_value = "axes")]
    replica_groups: ReplicaGroups,
    /// Print HLO text, as XLA's tools show it, instead of StableHLO.
    #[arg(long)]
    hlo: bool,
    /// Print the table of collectives instead of the program.
    #[arg(long, conflicts_with = "hlo")]
    communication: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReplicaGroups {
    /// Axes of the mesh.
    Axes,
    /// Lists of device numbers, which jaxlib reads.
    Dense,
}

#[derive(Args)]
struct OptArgs {
    #[command(flatten)]
    source: Source,
    /// Names of passes, in order.
    #[arg(long = "pass", value_name = "NAME", value_delimiter = ',')]
    passes: Vec<String>,
    /// Check what each pass guarantees, and what the passes before it guarantee.
    #[arg(long)]
    verify: bool,
    /// The file has several programs, between lines `// -----`.
    #[arg(long)]
    split_input_file: bool,
}

/// A number of runs.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("at least one run is needed".into()),
        Ok(n) => Ok(n),
        Err(e) => Err(format!("{e}")),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let budget = cli.limits.budget(signal::interruption());
    let result = budget.run(|| command(cli.command.unwrap_or_else(|| Command::Demo(demo::DemoArgs::default()))));
    out::flush();
    if cli.limits.memory {
        out::message(memory::report(budget.account()));
    }
    match result.unwrap_or_else(|stop| Err(stop.diagnostic(&Loc::UNKNOWN).to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(found) => {
            out::message(found);
            ExitCode::from(if budget.cancel_token().is_cancelled() { signal::INTERRUPTED } else { 1 })
        }
    }
}

/// Runs a command; an error is what standard error is to say.
fn command(command: Command) -> Result<(), String> {
    match command {
        Command::Demo(args) => demo::demo(&args).map_err(|e| e.to_string()),
        Command::Run(args) => run::run(&args).map_err(|e| e.to_string()),
        Command::Propagate(args) => stages::propagate(&args).map_err(|e| e.to_string()),
        Command::Partition(args) => stages::partition(&args).map_err(|e| e.to_string()),
        Command::Opt(args) => stages::opt(&args).map_err(|e| e.to_string()),
    }
}
