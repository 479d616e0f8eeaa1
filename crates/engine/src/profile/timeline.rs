//! The timeline of a profile: spans of instructions, and of the workers that ran them.

use super::{Instruction, InstructionRun, RunProfile, WorkerTime};
use shardwise_view::{
    Lane, LaneIndex, LaneKind, Maker, MemoryUse, Picoseconds, Span, SpanIndex, SpanKind, Timeline, Work,
};
use std::ops::Range;
use std::time::Duration;

/// The largest number of instructions that the name of a span of several instructions lists.
const LISTED: usize = 4;

/// The note of a span for small instructions.
const TOGETHER: &str = "small instructions are measured together";

pub(super) fn of(profile: &RunProfile, program: &str) -> Timeline {
    let mut timeline = Timeline::new(program, Maker::Measured { machine: profile.machine.to_string() });
    timeline.device_count = profile.device_count;
    let instructions = timeline.lanes.push(Lane { name: "instructions".into(), kind: LaneKind::Program });
    let worker = |i: usize| Lane { name: format!("worker {i}"), kind: LaneKind::Worker };
    let workers = (0..profile.worker_count).map(|i| timeline.lanes.push(worker(i))).collect();
    let last = vec![None; profile.instructions.len()];
    let mut spans = Spans { profile, instructions, workers, spans: vec![], last };
    let mut worker_runs = &profile.worker_runs[..];
    for (i, run) in profile.runs.iter().enumerate() {
        let own = worker_runs.iter().take_while(|period| period.run == i).count();
        spans.run(run, &worker_runs[..own]);
        worker_runs = &worker_runs[own..];
    }
    timeline.set_spans(spans.spans);
    timeline.memory = memory(profile);
    timeline.at_peak = profile.at_peak.to_vec();
    timeline.notes = notes(profile);
    timeline
}

/// The spans of a profile, in the order of the runs.
struct Spans<'a> {
    profile: &'a RunProfile,
    instructions: LaneIndex,
    workers: Vec<LaneIndex>,
    /// The spans. A span index in them is a place in this list.
    spans: Vec<Span>,
    /// The span of the last run of each instruction so far.
    last: Vec<Option<usize>>,
}

impl Spans<'_> {
    fn run(&mut self, run: &InstructionRun, periods: &[WorkerTime]) {
        let own = &self.profile.instructions[run.instruction..run.instruction + run.count];
        let time = picoseconds(run.start)..picoseconds(run.end);
        let mut span = match own {
            [only] => self.span(only, time.clone(), run.instances),
            _ => self.together(own, time.clone()),
        };
        (span.turn, span.after) = (run.turn, self.after(own, time.start));
        self.last[run.instruction..run.instruction + run.count].fill(Some(self.spans.len()));
        let is_control = span.kind == SpanKind::Control;
        self.spans.push(span.clone());
        if is_control && run.quiet_runs > 0 {
            span = self.inside(run, time);
            self.spans.push(span.clone());
        } else if is_control {
            return;
        }
        self.on_workers(&span, periods);
    }

    fn span(&self, own: &Instruction, time: Range<Picoseconds>, instances: usize) -> Span {
        Span {
            ops: own.ops.clone(),
            loc: own.loc.clone(),
            shape: Some(own.shape.clone()).filter(|shape| !shape.is_empty()),
            sharding: own.sharding.clone(),
            reason: own.reason.clone(),
            devices: self.profile.device_count,
            instances,
            dtype: own.dtype,
            work: work(own),
            ..Span::new(self.instructions, short(&own.name), kind(own), time)
        }
    }

    fn together(&self, own: &[Instruction], time: Range<Picoseconds>) -> Span {
        let sum = |of: fn(&Instruction) -> Option<u64>| {
            own.iter().filter_map(|i| of(i).map(|n| n.saturating_mul(i.instances as u64))).reduce(u64::saturating_add)
        };
        let first = &own[0];
        Span {
            ops: own.iter().flat_map(|i| i.ops.iter().cloned()).collect(),
            loc: first.loc.clone(),
            note: Some(TOGETHER.into()),
            runs: own.len() as u64,
            devices: self.profile.device_count,
            dtype: own.iter().all(|i| i.dtype == first.dtype).then_some(first.dtype).flatten(),
            work: Work { flops: sum(|i| i.flops), memory_bytes: sum(|i| i.memory_bytes), ..Work::default() },
            ..Span::new(self.instructions, name_of(own.iter()), SpanKind::Compute, time)
        }
    }

    /// Returns the span of the small instructions inside of a loop or a branch.
    fn inside(&self, run: &InstructionRun, time: Range<Picoseconds>) -> Span {
        let around = &self.profile.instructions[run.instruction];
        let after = self.profile.instructions.iter().zip(&self.profile.totals).skip(run.instruction + 1);
        let inside = after.take_while(|(i, _)| i.depth > around.depth);
        let own: Vec<&Instruction> =
            inside.filter(|(i, total)| !i.is_control && total.count > 0).map(|(i, _)| i).collect();
        Span {
            ops: own.iter().flat_map(|i| i.ops.iter().cloned()).collect(),
            loc: around.loc.clone(),
            note: Some(TOGETHER.into()),
            turn: run.turn,
            runs: run.quiet_runs,
            devices: self.profile.device_count,
            ..Span::new(self.instructions, name_of(own.into_iter()), SpanKind::Compute, time)
        }
    }

    /// Returns the spans of the last runs of those instructions whose results these ones read, sorted. Spans that end
    /// after `start` are left out.
    fn after(&self, own: &[Instruction], start: Picoseconds) -> Vec<SpanIndex> {
        let read = own.iter().flat_map(|i| &i.after).filter_map(|&i| self.last.get(i).copied().flatten());
        let mut spans: Vec<SpanIndex> = read.filter(|&i| self.spans[i].end <= start).map(SpanIndex::new).collect();
        spans.sort_unstable();
        spans.dedup();
        spans
    }

    /// Adds the spans of the workers that ran a span: one for each period of a worker that has a lane, with its share
    /// of the work, or one of the first worker if there are no periods. Adds none if no worker has a lane.
    fn on_workers(&mut self, span: &Span, periods: &[WorkerTime]) {
        let Some(&first) = self.workers.first() else { return };
        let all: u64 = periods.iter().map(|period| period.parts as u64).sum();
        if all == 0 {
            self.spans.push(Span { lane: first, ..span.clone() });
            return;
        }
        let mut done = 0;
        for period in periods.iter().filter(|period| period.worker < self.workers.len()) {
            let parts = done..done + period.parts as u64;
            done = parts.end;
            let [start, end] = [period.start, period.end].map(|t| picoseconds(t).clamp(span.start, span.end));
            let lane = self.workers[period.worker];
            let work = share(span, parts, all);
            self.spans.push(Span { lane, start, end, work, instances: 1, ..span.clone() });
        }
    }
}

/// Returns the flops and the bytes of memory of some parts of a span, of which there are `all`, for all its instances.
/// The shares of adjacent ranges of parts add up to the share of both together.
fn share(span: &Span, parts: Range<u64>, all: u64) -> Work {
    let until = |amount: u64, part: u64| {
        let whole = u128::from(amount) * span.instances as u128 * u128::from(part) / u128::from(all);
        u64::try_from(whole).unwrap_or(u64::MAX)
    };
    let of = |amount: Option<u64>| amount.map(|n| until(n, parts.end) - until(n, parts.start));
    Work { flops: of(span.work.flops), memory_bytes: of(span.work.memory_bytes), ..Work::default() }
}

fn work(own: &Instruction) -> Work {
    let Instruction { flops, memory_bytes, received_bytes, .. } = *own;
    Work { flops, memory_bytes, received_bytes, least_time: None }
}

fn kind(own: &Instruction) -> SpanKind {
    match (own.is_control, own.is_collective) {
        (true, _) => SpanKind::Control,
        (_, true) => SpanKind::Collective,
        _ => SpanKind::Compute,
    }
}

fn short(name: &str) -> &str {
    name.trim_start_matches("stablehlo.")
}

/// Returns a name for several instructions, with the names of the first [`LISTED`] and the number of the others:
/// `small(add, reshape, slice, tanh, 3 more)`.
fn name_of<'a>(own: impl Iterator<Item = &'a Instruction> + Clone) -> String {
    let mut names: Vec<String> = own.clone().take(LISTED).map(|i| short(&i.name).to_string()).collect();
    let more = own.count() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!("small({})", names.join(", "))
}

/// Returns the memory in use over time: from the start of each run on, the most bytes that are in use while it runs,
/// and from its end on, the bytes in use then. Equal numbers in a row are one entry. Loops and branches are left out.
fn memory(profile: &RunProfile) -> Vec<MemoryUse> {
    let mut uses: Vec<MemoryUse> = vec![];
    let is_inner = |run: &&InstructionRun| !profile.instructions[run.instruction].is_control;
    let changes = profile.runs.iter().filter(is_inner);
    for (time, bytes) in changes.flat_map(|run| [(run.start, run.peak_bytes), (run.end, run.bytes_in_use)]) {
        let now = MemoryUse { start: picoseconds(time), bytes: bytes as u64 };
        if uses.last().is_none_or(|last| last.bytes != now.bytes) {
            uses.push(now);
        }
    }
    uses
}

fn notes(profile: &RunProfile) -> Vec<String> {
    let shown: u64 = profile.runs.iter().map(|run| run.count as u64 + run.quiet_runs).sum();
    let all = profile.totals.iter().map(|total| total.count).sum();
    let names: Vec<&str> = profile.instructions.iter().filter(|i| i.is_fallback).map(|i| i.name.as_str()).collect();
    let unlisted = format!("only the first {shown} of {all} runs of instructions are listed");
    let evaluated = format!("run by the reference evaluation, for lack of a kernel: {}", names.join(", "));
    let found = [(shown < all, unlisted), (!names.is_empty(), evaluated)];
    found.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
}

/// Converts a duration. Durations of more than 213 days do not fit, and become the longest one that does.
fn picoseconds(duration: Duration) -> Picoseconds {
    u64::try_from(duration.as_nanos().saturating_mul(1000)).unwrap_or(u64::MAX)
}
