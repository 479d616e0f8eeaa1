//! The times of the instructions of one run.

use shardwise_base::Loc;
use shardwise_view::{Lane, LaneKind, Maker, MemoryUse, Picoseconds, Span, SpanKind, Timeline, Work};
use std::time::Duration;

/// The instructions of a program, and when they ran in one run.
#[derive(Clone, Debug, Default)]
pub struct RunProfile {
    /// The engine and the machine: `host, 2 workers`. Empty if the engine measures no times.
    pub machine: String,
    /// The number of devices that the run served.
    pub device_count: usize,
    /// The instructions, in the order of the program. Those inside a loop or a branch follow it.
    pub instructions: Vec<InstructionTime>,
    /// The runs of the instructions, in the order of their starts. If there were too many for the list, the last ones are
    /// missing, and only `instructions` counts them.
    pub runs: Vec<InstructionRun>,
}

/// An instruction of a program, and how long it took.
#[derive(Clone, Debug)]
pub struct InstructionTime {
    /// The name of the op that ran: `stablehlo.dot_general`, `fused(multiply, add)`.
    pub name: String,
    pub loc: Loc,
    /// The types of the results on a device.
    pub shape: String,
    /// The number of loops and branches that contain the instruction.
    pub depth: usize,
    /// How often the instruction ran. A run on all devices counts once.
    pub count: u64,
    /// The total time of all runs. That of a loop or a branch includes the instructions inside.
    pub total: Duration,
    /// The bytes that a run reads and writes for a device: the operands and results. `None` for a loop or a branch, and
    /// if the results are the operands' memory.
    pub memory_bytes: Option<u64>,
    pub is_collective: bool,
    /// True for a loop or a branch, whose instructions have rows of their own.
    pub is_control: bool,
    /// True if the instruction was run by the op's reference evaluation because there is no kernel for it.
    pub is_fallback: bool,
}

/// One run of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InstructionRun {
    /// The index of the instruction in the profile.
    pub instruction: usize,
    /// The times since the first instruction started.
    pub start: Duration,
    pub end: Duration,
    /// The turn of the innermost loop, from 0, or `None` outside of loops.
    pub turn: Option<u64>,
    /// The bytes that are in use after the run, of all devices together.
    pub bytes_in_use: usize,
}

impl RunProfile {
    /// Returns the timeline of the run. `program` is the name of the program.
    pub fn timeline(&self, program: &str) -> Timeline {
        let mut timeline = Timeline::new(program, Maker::Measured { machine: self.machine.clone() });
        timeline.device_count = self.device_count;
        let lane = timeline.lanes.push(Lane { name: "instructions".into(), kind: LaneKind::Program });
        for run in &self.runs {
            let own = &self.instructions[run.instruction];
            let time = picoseconds(run.start)..picoseconds(run.end);
            let span = Span {
                ops: own.ops(),
                loc: own.loc.clone(),
                shape: Some(own.shape.clone()),
                turn: run.turn,
                devices: self.device_count,
                work: Work { memory_bytes: own.memory_bytes, ..Work::default() },
                ..Span::new(lane, own.name.trim_start_matches("stablehlo."), own.kind(), time)
            };
            timeline.spans.push(span);
        }
        timeline.memory = self.memory();
        timeline.notes = self.notes();
        timeline
    }

    /// Returns the bytes in use after each run at which they change.
    fn memory(&self) -> Vec<MemoryUse> {
        let mut ends: Vec<_> = self.runs.iter().collect();
        ends.sort_by_key(|run| run.end);
        let mut uses: Vec<MemoryUse> = vec![];
        for run in ends {
            let bytes = run.bytes_in_use as u64;
            if uses.last().is_none_or(|last| last.bytes != bytes) {
                uses.push(MemoryUse { start: picoseconds(run.end), bytes });
            }
        }
        uses
    }

    fn notes(&self) -> Vec<String> {
        let (shown, all) = (self.runs.len() as u64, self.instructions.iter().map(|i| i.count).sum());
        let names: Vec<&str> = self.instructions.iter().filter(|i| i.is_fallback).map(|i| i.name.as_str()).collect();
        let unlisted = format!("only the first {shown} of {all} runs of instructions are listed");
        let evaluated = format!("run by the reference evaluation, for lack of a kernel: {}", names.join(", "));
        let found = [(shown < all, unlisted), (!names.is_empty(), evaluated)];
        found.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
    }
}

impl InstructionTime {
    /// Returns the names of the ops: those in the brackets of `fused(multiply, add)`, or the only one.
    fn ops(&self) -> Vec<String> {
        let inner = self.name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        inner.unwrap_or(&self.name).split(", ").map(str::to_string).collect()
    }

    fn kind(&self) -> SpanKind {
        match (self.is_control, self.is_collective) {
            (true, _) => SpanKind::Control,
            (_, true) => SpanKind::Collective,
            _ => SpanKind::Compute,
        }
    }
}

/// Converts a duration. Durations that do not fit, of more than 213 days, become the longest one.
fn picoseconds(duration: Duration) -> Picoseconds {
    u64::try_from(duration.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}
