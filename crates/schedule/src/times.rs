//! The times of a program's ops in a simulation.

use shardwise_ir::Op;
use shardwise_sim::{Issue, Issued, Takes};
use shardwise_view::{LaneKind, Picoseconds, SpanKind};
use std::collections::BTreeMap;

/// The times of ops, and the times for which the core waits.
pub(crate) struct Times {
    issued: BTreeMap<Op, Issued>,
    /// The periods in which the core waits, in order.
    waits: Vec<(Picoseconds, Picoseconds)>,
}

impl Times {
    pub(crate) fn of(issue: &Issue) -> Times {
        let items = issue.blocks.values().flatten().filter(|item| item.takes != Takes::Nothing);
        let issued = items.filter_map(|item| Some((*item.ops.last()?, item.clone()))).collect();
        let timeline = &issue.timeline;
        let is_wait = |lane, kind| timeline.lanes[lane].kind == LaneKind::Core && kind == SpanKind::Wait;
        let waits = timeline.spans.iter().filter(|span| is_wait(span.lane, span.kind));
        Times { issued, waits: waits.map(|span| (span.start, span.end)).collect() }
    }

    /// Returns the time of one run of a collective, and the part of it for which the core waits. Both are 0 if the
    /// collective was not issued, or takes no time.
    pub(crate) fn of_op(&self, op: Op) -> (Picoseconds, Picoseconds) {
        let Some(item) = self.issued.get(&op) else { return (0, 0) };
        let time = item.end - item.start;
        if item.takes != Takes::Links {
            return (time, time);
        }
        let first = self.waits.partition_point(|&(_, until)| until <= item.start);
        let beside = self.waits[first..].iter().take_while(|&&(from, _)| from < item.end);
        (time, beside.map(|&(from, until)| until.min(item.end) - from.max(item.start)).sum())
    }

    /// Returns true if the time of a collective is at most twice its latency, and false if its latency is not known or
    /// the collective was not issued.
    pub(crate) fn is_small(&self, op: Op) -> bool {
        self.issued.get(&op).is_some_and(|item| item.latency.is_some_and(|least| item.end - item.start <= 2 * least))
    }
}
