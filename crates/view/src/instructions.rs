//! The spans of a timeline by instruction: one row for all of its runs in the lanes of one kind.

use crate::nesting::Nesting;
use crate::{LaneIndex, LaneKind, Picoseconds, Span, SpanIndex, SpanKind, Timeline};
use std::collections::HashMap;

/// An instruction of a program with all of its runs in a timeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// The key of the instruction in all timelines of the program.
    pub key: InstructionKey,
    /// The name that is shown, that of the first span: `dot_general`, `fused(multiply, add)`.
    pub name: String,
    /// The kind of the instruction's first span.
    pub kind: SpanKind,
    /// The number of spans around the instruction's first run, such as those of loops and branches.
    pub depth: usize,
    /// The time of all runs, on average over the lanes whose instructions are listed. Lanes of links count as one. The
    /// time of a loop or a branch includes the instructions inside of it, which have entries of their own.
    pub time: Picoseconds,
    /// The number of runs in the lane that runs the instruction most often. A span may stand for several
    /// ([`Span::runs`]).
    pub runs: u64,
    /// The least time of all runs at the limits of the machine as a share of their duration. `None` if the least time
    /// of a span is not known or the runs take no time.
    pub achieved_share: Option<f64>,
    /// The flops of all runs, for all instances together ([`Span::instances`]), in a second of their time. `None` if
    /// the flops of a span are not known or the runs take no time.
    pub flops_per_second: Option<f64>,
    /// The bytes that are read and written in all runs, for one instance each ([`Span::instances`]), on average over
    /// the lanes. `None` if those of a span are not known.
    pub memory_bytes: Option<u64>,
    /// The bytes that a device receives in all runs, on average over the lanes. `None` if those of a span are not
    /// known.
    pub received_bytes: Option<u64>,
    /// The spans of the instruction, in the order of their starts.
    pub spans: Vec<SpanIndex>,
}

/// The key of an instruction in all timelines of the program: its ops, its source location, its name scopes, and its
/// order among instructions for which these are equal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InstructionKey {
    /// The full names of the instruction's ops, joined by commas, or the name that is shown if they are not known.
    pub ops: String,
    /// The source location, such as `a.mlir:3:5`, or `None` if it is not known.
    pub source: Option<String>,
    /// The name scopes, joined by `/`. Empty if there are none.
    pub scope: String,
    /// The number of the instruction, from 0, among those of a lane with the same ops, source and scope inside of the
    /// same span and in the same turn of a loop.
    pub order: usize,
}

impl Timeline {
    /// Returns the instructions of the program, in the order of their first runs. They are the spans of the lanes of
    /// the program, or of the cores if there are no such lanes, or else of the workers. Spans are runs of the same
    /// instruction if they have the same ops, the same source and the same scopes. If a lane has several such spans in
    /// one turn of a loop, or several outside of loops, with the same span around them, they are several instructions,
    /// in the order of time. The first ones of all turns and lanes are then one instruction, and so are the second
    /// ones.
    pub fn instructions(&self) -> Vec<Instruction> {
        self.instructions_of(&[LaneKind::Program, LaneKind::Core, LaneKind::Worker])
    }

    /// Returns the instructions of the lanes of the first of these kinds that has lanes. Returns none if none of the
    /// kinds has. Lanes of links count as one, because each transfer of a device is in one of them.
    pub(crate) fn instructions_of(&self, kinds: &[LaneKind]) -> Vec<Instruction> {
        let lanes = self.lanes_of_first(kinds);
        let is_links = lanes.first().is_some_and(|&lane| self.lanes[lane].kind == LaneKind::Link);
        let sets: Vec<&[LaneIndex]> = if is_links { vec![&lanes] } else { lanes.chunks(1).collect() };
        let nesting = Nesting::of(self);
        let mut keyed: Vec<(SpanIndex, InstructionKey)> = vec![];
        for set in &sets {
            keyed.extend(self.keys(&nesting, set));
        }
        keyed.sort_by_key(|&(span, _)| span);
        let mut places: HashMap<InstructionKey, usize> = HashMap::new();
        let mut rows: Vec<(InstructionKey, Vec<SpanIndex>)> = vec![];
        for (span, key) in keyed {
            let place = *places.entry(key).or_insert_with_key(|key| {
                rows.push((key.clone(), vec![]));
                rows.len() - 1
            });
            rows[place].1.push(span);
        }
        rows.into_iter().map(|(key, spans)| self.instruction(&nesting, &sets, key, spans)).collect()
    }

    /// Returns the spans of lanes that count as one, with their keys. The order is counted within the innermost span
    /// around each span, and from 0 again where the turn changes. Spans without a turn ([`Span::turn`]) are counted
    /// apart from the others.
    fn keys(&self, nesting: &Nesting, lanes: &[LaneIndex]) -> Vec<(SpanIndex, InstructionKey)> {
        let mut turns: HashMap<(Option<SpanIndex>, bool), Turn> = HashMap::new();
        let of = |&index: &SpanIndex| {
            let span = &self.spans[index];
            let turn = turns.entry((nesting.parents[index], span.turn.is_some())).or_default();
            if turn.number != span.turn {
                *turn = Turn { number: span.turn, counts: HashMap::new() };
            }
            let mut key = key_of(span);
            let count = turn.counts.entry(key.clone()).or_default();
            key.order = *count;
            *count += 1;
            (index, key)
        };
        let mut spans: Vec<SpanIndex> = lanes.iter().flat_map(|&lane| &nesting.lanes[lane]).copied().collect();
        if lanes.len() > 1 {
            // Spans are in the order of the program.
            spans.sort_unstable();
        }
        spans.iter().map(of).collect()
    }

    /// Returns the instruction with these spans. Each of `sets` has the lanes that count as one.
    fn instruction(
        &self,
        nesting: &Nesting,
        sets: &[&[LaneIndex]],
        key: InstructionKey,
        spans: Vec<SpanIndex>,
    ) -> Instruction {
        let lanes = sets.len() as u64;
        let of = |&index: &SpanIndex| &self.spans[index];
        let first = of(&spans[0]);
        let sum = |fact: fn(&Span) -> Option<u64>| {
            spans.iter().map(of).map(fact).try_fold(0u64, |sum, n| Some(sum.saturating_add(n?)))
        };
        let time = sum(|span| Some(span.duration())).unwrap_or(0);
        let set = |span: &Span| if sets.len() == 1 { sets[0][0] } else { span.lane };
        let mut runs: HashMap<LaneIndex, u64> = HashMap::new();
        spans.iter().map(of).for_each(|span| *runs.entry(set(span)).or_default() += span.runs);
        Instruction {
            key,
            name: first.name.clone(),
            kind: first.kind,
            depth: nesting.depths[spans[0]],
            time: time / lanes,
            runs: runs.values().copied().max().unwrap_or(0),
            achieved_share: sum(|span| span.work.least_time).filter(|_| time > 0).map(|t| t as f64 / time as f64),
            flops_per_second: sum(|span| span.work.flops.map(|flops| span.of_all_instances(flops)))
                .filter(|_| time > 0)
                .map(|flops| flops as f64 * 1e12 / time as f64),
            memory_bytes: sum(|span| span.work.memory_bytes).map(|bytes| bytes / lanes),
            received_bytes: sum(|span| span.work.received_bytes).map(|bytes| bytes / lanes),
            spans,
        }
    }
}

/// The spans so far inside of one span that have the same turn, or have none.
#[derive(Default)]
struct Turn {
    number: Option<u64>,
    /// The number of spans with each key, whose order is 0.
    counts: HashMap<InstructionKey, usize>,
}

fn key_of(span: &Span) -> InstructionKey {
    let ops = if span.ops.is_empty() { span.name.clone() } else { span.ops.join(", ") };
    InstructionKey { ops, source: span.source(), scope: span.loc.scope(), order: 0 }
}
