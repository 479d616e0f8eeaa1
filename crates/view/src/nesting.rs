//! Which spans are inside of which, found from their times.

use crate::{LaneIndex, Picoseconds, SpanIndex, SpanKind, Timeline};
use shardwise_base::EntityVec;
use std::ops::Range;

/// The spans of each lane, and for each span the one that it is inside of.
pub(crate) struct Nesting {
    /// The spans of each lane, in the order of their starts.
    pub lanes: EntityVec<LaneIndex, Vec<SpanIndex>>,
    /// The innermost span around each span, or `None` if there is none.
    pub parents: EntityVec<SpanIndex, Option<SpanIndex>>,
    /// The number of spans around each span.
    pub depths: EntityVec<SpanIndex, usize>,
    /// True for each span that has spans inside of it.
    pub has_children: EntityVec<SpanIndex, bool>,
}

/// The start or the end of a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Event {
    pub time: Picoseconds,
    pub span: SpanIndex,
    pub is_end: bool,
}

impl Nesting {
    /// Returns how the spans of a timeline are nested. A span of no duration at the end of another one follows it, and
    /// is not inside of it.
    pub fn of(timeline: &Timeline) -> Nesting {
        let count = timeline.spans.len();
        let mut nesting = Nesting {
            lanes: EntityVec::filled(timeline.lanes.len(), vec![]),
            parents: EntityVec::filled(count, None),
            depths: EntityVec::filled(count, 0),
            has_children: EntityVec::filled(count, false),
        };
        let mut open: EntityVec<LaneIndex, Vec<SpanIndex>> = EntityVec::filled(timeline.lanes.len(), vec![]);
        for index in timeline.spans.keys() {
            let span = &timeline.spans[index];
            let open = &mut open[span.lane];
            while open.last().is_some_and(|&outer| timeline.spans[outer].end <= span.start) {
                open.pop();
            }
            nesting.add(index, span.lane, open);
            open.push(index);
        }
        nesting
    }

    fn add(&mut self, span: SpanIndex, lane: LaneIndex, around: &[SpanIndex]) {
        self.lanes[lane].push(span);
        self.depths[span] = around.len();
        self.parents[span] = around.last().copied();
        if let Some(&parent) = around.last() {
            self.has_children[parent] = true;
        }
    }

    /// Returns the starts and ends of the spans of a lane, in the order in which they happen. An end comes before the
    /// start of a span that follows at the same time.
    pub fn events(&self, timeline: &Timeline, lane: LaneIndex) -> Vec<Event> {
        let mut events = Vec::with_capacity(2 * self.lanes[lane].len());
        let mut open: Vec<SpanIndex> = vec![];
        let end = |span: SpanIndex| Event { time: timeline.spans[span].end, span, is_end: true };
        for &span in &self.lanes[lane] {
            let closed = open.len() - self.depths[span];
            events.extend((0..closed).filter_map(|_| open.pop()).map(end));
            events.push(Event { time: timeline.spans[span].start, span, is_end: false });
            open.push(span);
        }
        events.extend(open.into_iter().rev().map(end));
        events
    }

    /// Returns what a lane does at each time: disjoint periods in the order of time, each with the kind of the
    /// innermost span that is not of the kind [`SpanKind::Control`]. Times without such a span are left out. Periods of
    /// the same kind may follow each other.
    pub fn segments(&self, timeline: &Timeline, lane: LaneIndex) -> Vec<(Range<Picoseconds>, SpanKind)> {
        let mut segments = vec![];
        let mut kinds: Vec<Option<SpanKind>> = vec![];
        let mut last = 0;
        for event in self.events(timeline, lane) {
            let kind = kinds.last().copied().flatten();
            if event.time > last {
                segments.extend(kind.map(|kind| (last..event.time, kind)));
                last = event.time;
            }
            match (event.is_end, timeline.spans[event.span].kind) {
                (true, _) => drop(kinds.pop()),
                (false, SpanKind::Control) => kinds.push(kind),
                (false, own) => kinds.push(Some(own)),
            }
        }
        segments
    }
}

/// Returns the times that are in at least one of the ranges, as disjoint ranges in the order of time.
pub(crate) fn union(mut ranges: Vec<Range<Picoseconds>>) -> Vec<Range<Picoseconds>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<Picoseconds>> = vec![];
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns how long the first ranges last outside of the second ones. Both are disjoint and in the order of time.
pub(crate) fn length_outside(ranges: &[Range<Picoseconds>], others: &[Range<Picoseconds>]) -> Picoseconds {
    let mut common = 0;
    let mut first = 0;
    for range in ranges {
        first += others[first..].partition_point(|other| other.end <= range.start);
        for other in others[first..].iter().take_while(|other| other.start < range.end) {
            common += range.end.min(other.end) - range.start.max(other.start);
        }
    }
    length(ranges) - common
}

pub(crate) fn length(ranges: &[Range<Picoseconds>]) -> Picoseconds {
    ranges.iter().map(|range| range.end - range.start).sum()
}
