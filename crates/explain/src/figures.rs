//! The numbers of a partitioned program by which changes are compared.

use crate::Options;
use shardwise_base::Diagnostics;
use shardwise_ir::Module;
use shardwise_ops::Opcode;
use shardwise_schedule as schedule;
use shardwise_sim::{Overlap, Topology};
use shardwise_spmd::loops::{program_ops, run_counts};
use shardwise_spmd::{Communication, Context, Partitioned, Row, partition, peak_bytes};
use shardwise_view::{Picoseconds, Timeline};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// The totals of a partitioned program. They are those of one device, unless a field says otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// The bytes that the device that receives most receives, over all runs in loops. A collective in a loop with an
    /// unknown number of turns counts once.
    pub bytes_received: u64,
    /// The number of collectives in the program.
    pub collective_count: usize,
    /// An estimate of the largest number of bytes in memory at one time. With a topology, it is that of the predicted
    /// run, which for a host is the memory of all devices. Otherwise it counts each value from its op to its last use.
    pub memory_bytes: u64,
    /// The arithmetic operations of the main function, by the costs that the ops state. All branches of a conditional
    /// count, and an op in a loop with an unknown number of turns counts once.
    pub flops: u64,
    /// The predicted time of one run, or `None` without a topology.
    pub step_time: Option<Picoseconds>,
    /// The part of [`Figures::step_time`] in which the device only communicates or waits, or `None` without a topology.
    /// Collectives that run at the same time share it, so that it may be less than the sum over them.
    pub exposed_time: Option<Picoseconds>,
}

impl Figures {
    /// Compares the costs of two versions of a program: their times, if they are known, then the bytes that they
    /// receive, their memory, their flops and their numbers of collectives.
    pub fn cmp_cost(&self, other: &Figures) -> Ordering {
        let key = |f: &Figures| (f.step_time, f.bytes_received, f.memory_bytes, f.flops, f.collective_count);
        key(self).cmp(&key(other))
    }

    /// Returns true if this version receives fewer bytes than another one, and takes less time if both times are known.
    pub fn improves(&self, other: &Figures) -> bool {
        let is_faster = self.step_time.zip(other.step_time).is_none_or(|(own, before)| own < before);
        self.bytes_received < other.bytes_received && is_faster
    }

    /// Returns true if this version has over 1 % more [`Figures::flops`] than another one: work is replicated.
    pub fn computes_more(&self, other: &Figures) -> bool {
        u128::from(self.flops) * 100 > u128::from(other.flops) * 101
    }
}

/// The identity of a collective in comparisons of programs: the op that needed it, where this is, and its kind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The location of the op that needed the collective, as [`Loc`](shardwise_base::Loc) prints it: `a.mlir:3:5`.
    /// Empty if it is not known.
    pub source: String,
    /// The name scopes around that op: `encoder/softmax`. Empty if there are none.
    pub scope: String,
    /// The op that needed the collective: `stablehlo.dot_general`, or the collective itself if the program contains it.
    pub op: String,
    /// The kind of collective: `all-gather`.
    pub kind: &'static str,
}

impl Key {
    pub(crate) fn of(row: &Row) -> Key {
        let kind = row.kind.name();
        let source = if row.loc.is_unknown() { String::new() } else { row.loc.to_string() };
        Key { source, scope: row.loc.scope(), op: row.op.to_string(), kind }
    }

    /// Returns the op without its dialect.
    pub fn short_op(&self) -> &str {
        short(&self.op)
    }
}

pub(crate) fn short(op: &str) -> &str {
    op.rsplit_once('.').map_or(op, |(_, op)| op)
}

/// Prints `all-gather for dot_general at a.mlir:3:5`, without the place if it is not known.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.kind, self.short_op())?;
        if self.source.is_empty() { Ok(()) } else { write!(f, " at {}", self.source) }
    }
}

/// The collectives of one [`Key`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Traffic {
    /// The number of collectives in the program.
    pub count: usize,
    /// The bytes that the device that receives most receives for the collectives, over all runs in loops. A collective
    /// in a loop with an unknown number of turns counts once.
    pub bytes_received: u64,
}

pub(crate) fn traffic(communication: &Communication) -> BTreeMap<Key, Traffic> {
    let mut all: BTreeMap<Key, Traffic> = BTreeMap::new();
    for row in &communication.rows {
        let sum = all.entry(Key::of(row)).or_default();
        sum.count += 1;
        sum.bytes_received = sum.bytes_received.saturating_add(row.bytes_received_in_all());
    }
    all
}

/// The totals of a version of a program, and its traffic by collectives.
pub(crate) struct Outcome {
    pub figures: Figures,
    pub traffic: BTreeMap<Key, Traffic>,
}

/// A version of a program, partitioned and measured.
pub(crate) struct Version {
    pub partitioned: Partitioned,
    pub outcome: Outcome,
    /// The predicted run, if there is a topology.
    pub timeline: Option<Timeline>,
}

/// The state that the trials of a search share: the budget of the scheduler, and the decisions of the partitioner.
pub(crate) struct Trials {
    count: usize,
    /// The decisions of the partitioner that the trials share.
    partitions: shardwise_spmd::Trials,
}

impl Trials {
    /// Starts a search of this many trials, without decisions.
    pub fn new(count: usize) -> Trials {
        Trials { count, partitions: shardwise_spmd::Trials::default() }
    }
}

impl Version {
    /// Partitions a program and computes its figures. With a topology, it is scheduled as the options say. Fails if it
    /// cannot be partitioned, or if it cannot be simulated on the topology of the options.
    pub fn of(module: &Module, options: &Options) -> Result<Version, Diagnostics> {
        Version::with(module, options, &mut partitioner(options), &schedule::Options::default())
    }

    /// Computes a version with less effort, so that it may communicate more and take longer than that of
    /// [`Version::of`]. Fails as this does.
    pub fn of_trial(module: &Module, options: &Options, trials: &mut Trials) -> Result<Version, Diagnostics> {
        let mut partitioner = partitioner(options);
        partitioner.context.trials = Some(std::mem::take(&mut trials.partitions));
        let full = schedule::Options::default();
        let schedule = schedule::Options { op_budget: full.op_budget / trials.count.max(1), ..full };
        let version = Version::with(module, options, &mut partitioner, &schedule);
        trials.partitions = partitioner.context.trials.unwrap_or_default();
        version
    }

    fn with(
        module: &Module,
        options: &Options,
        partitioner: &mut shardwise_spmd::Options<'_>,
        schedule: &schedule::Options,
    ) -> Result<Version, Diagnostics> {
        let partitioned = partition(module, partitioner)?;
        let simulate = |topology| {
            timeline(&partitioned.module, topology, options.overlap, schedule)
                .map_err(|found| found.located(module.program_loc()))
        };
        let timeline = options.topology.as_ref().map(simulate).transpose()?;
        let communication = &partitioned.communication;
        let peak = timeline.as_ref().and_then(|timeline| timeline.peak_memory());
        let figures = Figures {
            bytes_received: communication.bytes_received(),
            collective_count: communication.rows.len(),
            memory_bytes: peak.map_or_else(|| peak_bytes(&partitioned.module), |peak| peak.bytes),
            flops: flops(&partitioned.module),
            step_time: timeline.as_ref().map(|timeline| timeline.end()),
            exposed_time: timeline.as_ref().map(|timeline| timeline.exposed_communication()),
        };
        let outcome = Outcome { figures, traffic: traffic(communication) };
        Ok(Version { outcome, timeline, partitioned })
    }
}

/// Returns the options of the partitioner for the topology of these options.
fn partitioner(options: &Options) -> shardwise_spmd::Options<'static> {
    let context = Context::with_rates(shardwise_sim::rates_on(options.topology.clone()));
    shardwise_spmd::Options { context, ..Default::default() }
}

/// Predicts the run of a per-device program, which is scheduled first unless `overlap` is off. Fails if it does not fit
/// the topology.
fn timeline(
    module: &Module,
    topology: &Topology,
    overlap: Overlap,
    schedule: &schedule::Options,
) -> Result<Timeline, Diagnostics> {
    match overlap {
        Overlap::Off => in_order(module, topology),
        overlap => schedule::schedule(module, topology, overlap, schedule)?.timeline(topology),
    }
}

pub(crate) fn in_order(module: &Module, topology: &Topology) -> Result<Timeline, Diagnostics> {
    shardwise_sim::simulate(module, topology, &shardwise_sim::Options { overlap: Overlap::Off })
}

fn flops(module: &Module) -> u64 {
    let Some(func) = module.main() else { return 0 };
    let counts = run_counts(module, func);
    let of = |op| {
        let view = module.view(&func.body, op);
        let runs = counts[op.index()].unwrap_or(1) as f64;
        Opcode::of_view(&view).facts().cost(&view).flops * runs
    };
    program_ops(module, func).into_iter().map(of).sum::<f64>() as u64
}
