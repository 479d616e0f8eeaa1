//! The times of the instructions of one run.

mod timeline;

use shardwise_base::{DType, Loc};
use shardwise_view::{MemoryPart, Timeline};
use std::sync::Arc;
use std::time::Duration;

/// The instructions of a program, and when they ran in one run.
#[derive(Clone, Debug, Default)]
pub struct RunProfile {
    /// The engine and the machine: `host, 2 workers`. Empty if the engine measures no times.
    pub machine: Arc<str>,
    /// The number of devices that the run served, or 0 if the engine measures no times.
    pub device_count: usize,
    /// The number of workers that run the instructions, or 0 if it is not known.
    pub worker_count: usize,
    /// The instructions, in the order in which they run. Those inside a loop or a branch follow it.
    pub instructions: Arc<[Instruction]>,
    /// How often each instruction ran, and how long, in the order of `instructions`.
    pub totals: Vec<InstructionTotal>,
    /// The runs of the instructions, in the order of their starts. If there were too many for the list, the last ones
    /// are missing, and only `totals` counts them.
    pub runs: Vec<InstructionRun>,
    /// When each worker worked on the runs that several workers shared, sorted by run and then by start. If there were
    /// too many periods for the list, the last ones are missing. Runs without periods for any other reason were run by
    /// worker 0 alone.
    pub worker_runs: Vec<WorkerTime>,
    /// The arrays that are in memory where its use is predicted to be highest, the largest first. They may take more
    /// than the run has used, if a loop did not run or another branch was taken. Empty if they are not known.
    pub at_peak: Arc<[MemoryPart]>,
}

/// The runs of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InstructionTotal {
    /// How often the instruction ran. A run on all devices counts once.
    pub count: u64,
    /// The total time of all runs. That of a loop or a branch includes the instructions inside. Runs of small
    /// instructions that were measured together have equal shares.
    pub time: Duration,
}

/// An instruction of a program.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The name of what ran: `stablehlo.dot_general`, `fused(multiply, add)`, or `check(add)` for a check of numbers.
    pub name: String,
    /// The full names of the ops that the instruction computes, or whose operands it prepares, or whose numbers it
    /// checks.
    pub ops: Vec<String>,
    pub loc: Loc,
    /// The types of the results on a device, separated by commas. Empty if there are none. A token counts as an empty
    /// array.
    pub shape: String,
    /// The element type of the first result. `None` if there is no result.
    pub dtype: Option<DType>,
    /// The layout of the first result of the instruction's last op, if the program states this layout.
    pub sharding: Option<String>,
    /// The reason for which the partitioner inserted one of the instruction's ops, such as a collective. `None` if it
    /// inserted none of them or the reason is not known.
    pub reason: Option<String>,
    /// The number of loops and branches that contain the instruction.
    pub depth: usize,
    /// The number of distinct results, each of which is computed once for all devices that have it.
    pub instances: usize,
    /// The floating-point operations for one result, as the facts of its ops count them. They are 0 if the instruction
    /// only moves data, prepares operands or checks numbers. `None` for a loop, a branch or a collective, and if they
    /// are not known.
    pub flops: Option<u64>,
    /// The bytes that are read and written for one result: the operands and results. `None` for a loop or a branch, and
    /// for an instruction that only passes the operands' memory on, such as a collective permute.
    pub memory_bytes: Option<u64>,
    /// The bytes that a device receives from others. `None` if it is no collective, and if they are not known.
    pub received_bytes: Option<u64>,
    /// The indices of the other instructions whose results this instruction reads, in ascending order.
    pub after: Vec<usize>,
    pub is_collective: bool,
    /// True for a loop or a branch, whose instructions have rows of their own.
    pub is_control: bool,
    /// True if the instruction was run by the reference evaluation of its op, or of a collective, because there is no
    /// kernel for it.
    pub is_fallback: bool,
}

/// One run of an instruction, or of small instructions that follow each other and were measured together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionRun {
    /// The index of the instruction in [`RunProfile::instructions`], or that of the first one of several.
    pub instruction: usize,
    /// The number of instructions that were measured together, or 1.
    pub count: usize,
    /// The number of results that were computed. It is less than that of the instruction if only some devices ran it.
    /// It is 1 for several instructions.
    pub instances: usize,
    /// When the run started and ended, as the times since the first instruction of the program started.
    pub start: Duration,
    pub end: Duration,
    /// The turn of the innermost loop, from 0, or `None` outside of loops.
    pub turn: Option<u64>,
    /// The bytes that are in use when the instruction has computed its results and its operands are still in memory, of
    /// all devices together, without scratch memory. For several instructions, the most of any of them. For a loop or a
    /// branch, the bytes in use after it.
    pub peak_bytes: usize,
    /// The bytes that are in use after the run, of all devices together.
    pub bytes_in_use: usize,
    /// For a loop or a branch of small instructions, the number of their runs, which were not measured one by one.
    /// If the list has an inner loop or branch, that one counts the runs inside of it, and this one does not.
    pub quiet_runs: u64,
}

/// A period in which a worker worked on a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerTime {
    /// The index of the run in [`RunProfile::runs`].
    pub run: usize,
    /// The number of the worker. The thread that called the program is number 0.
    pub worker: usize,
    /// When the period started and ended, as the times since the first instruction of the program started.
    pub start: Duration,
    pub end: Duration,
    /// The number of parts of the instruction that the worker ran, at least 1.
    pub parts: usize,
}

impl RunProfile {
    /// Returns the timeline of the run. `program` is the name of the program.
    ///
    /// It has a lane for the instructions and, if the number of workers is known, a lane for each worker. A span of a
    /// worker is within that of its instruction, and the flops and bytes of memory of an instruction's spans on workers
    /// add up to those of the instruction.
    pub fn timeline(&self, program: &str) -> Timeline {
        timeline::of(self, program)
    }
}
