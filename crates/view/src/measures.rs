//! Facts about a whole timeline: utilisation, exposed communication, the critical path, the peak of the memory; and
//! the invariants of timelines.

use crate::nesting::{Nesting, length, length_outside, union};
use crate::{Lane, LaneIndex, LaneKind, MemoryUse, Picoseconds, Span, SpanIndex, SpanKind, Timeline};
use shardwise_base::EntityVec;
use std::ops::Range;

impl Timeline {
    /// Returns the share of the time until the end in which the lanes that compute do so, on average over these lanes.
    /// They are the cores, or the workers if there are no cores, or else those of the program. Each time counts for the
    /// innermost span that is not of the kind [`SpanKind::Control`]. Returns `None` if there are no such lanes or if
    /// the timeline has no duration.
    pub fn compute_utilization(&self) -> Option<f64> {
        let kinds = [LaneKind::Core, LaneKind::Worker, LaneKind::Program];
        self.mean_share(&self.lanes_of_first(&kinds), |kind| kind == SpanKind::Compute)
    }

    /// Returns the share of the time in which the lanes of links have spans that are not of the kind
    /// [`SpanKind::Control`], from 0 to 1, on average over these lanes. Returns `None` if there are no lanes of links
    /// or if the timeline has no duration.
    pub fn link_utilization(&self) -> Option<f64> {
        self.mean_share(&self.lanes_of_first(&[LaneKind::Link]), |_| true)
    }

    /// Returns the time in which a device only communicates or waits, on average over the lanes that compute (see
    /// [`Timeline::compute_utilization`]). It does so where it does not compute, and where either its own lane has a
    /// collective or a wait, or a link is in use. The time is 0 if there are no such lanes.
    pub fn exposed_communication(&self) -> Picoseconds {
        let nesting = Nesting::of(self);
        let on_links: Vec<_> = self
            .lanes_of_first(&[LaneKind::Link])
            .iter()
            .flat_map(|&lane| self.periods(&nesting, lane, |_| true))
            .collect();
        let on_links = union(on_links);
        let lanes = self.lanes_of_first(&[LaneKind::Core, LaneKind::Worker, LaneKind::Program]);
        let total: Picoseconds = lanes.iter().map(|&lane| self.exposed_in(&nesting, lane, &on_links)).sum();
        total.checked_div(lanes.len() as u64).unwrap_or(0)
    }

    fn exposed_in(&self, nesting: &Nesting, lane: LaneIndex, on_links: &[Range<Picoseconds>]) -> Picoseconds {
        let mut communicates = self.periods(nesting, lane, |k| matches!(k, SpanKind::Collective | SpanKind::Wait));
        communicates.extend_from_slice(on_links);
        length_outside(&union(communicates), &union(self.periods(nesting, lane, |k| k == SpanKind::Compute)))
    }

    /// Returns the periods of a lane in which the innermost span that is not of the kind [`SpanKind::Control`] is of a
    /// kind for which `is_counted` is true. They are disjoint, in the order of time.
    fn periods(
        &self,
        nesting: &Nesting,
        lane: LaneIndex,
        is_counted: impl Fn(SpanKind) -> bool,
    ) -> Vec<Range<Picoseconds>> {
        nesting.segments(self, lane).into_iter().filter(|s| is_counted(s.1)).map(|s| s.0).collect()
    }

    fn mean_share(&self, lanes: &[LaneIndex], is_counted: impl Fn(SpanKind) -> bool) -> Option<f64> {
        let whole = self.end() as f64 * lanes.len() as f64;
        let nesting = Nesting::of(self);
        let time = |&lane: &LaneIndex| length(&self.periods(&nesting, lane, &is_counted)) as f64;
        (whole > 0.0).then(|| lanes.iter().map(time).sum::<f64>() / whole)
    }

    pub(crate) fn lanes_of_first(&self, kinds: &[LaneKind]) -> Vec<LaneIndex> {
        let of = |kind: LaneKind| self.lanes.keys().filter(move |&lane| self.lanes[lane].kind == kind);
        kinds.iter().map(|&kind| of(kind).collect::<Vec<_>>()).find(|lanes| !lanes.is_empty()).unwrap_or_default()
    }

    /// Returns the largest use of memory, the first one if there are several. Returns `None` if the memory in use is
    /// not known.
    pub fn peak_memory(&self) -> Option<MemoryUse> {
        self.memory.iter().copied().reduce(|peak, next| if next.bytes > peak.bytes { next } else { peak })
    }

    /// Returns the spans that determine when the run ends, in the order of time. Spans with others inside of them are
    /// left out. The last span of the path is the one that ends last. In front of each span in the path is the one that
    /// ends last among the previous span in its lane and those for which the span, or a span around it, waits. Those
    /// that end after the span starts do not count. If the span waits for one with others inside, the last of these
    /// counts. The path is empty if no span says for what it waits.
    pub fn critical_path(&self) -> Vec<SpanIndex> {
        if self.spans.iter().all(|span| span.after.is_empty()) {
            return vec![];
        }
        let search = Predecessors::of(self);
        let leaves = self.spans.keys().filter(|&s| search.is_leaf(s));
        let last = leaves.max_by_key(|&s| (search.rank(s), s));
        let mut path: Vec<SpanIndex> = std::iter::successors(last, |&span| search.get(span)).collect();
        path.reverse();
        path
    }

    /// Checks the invariants of a timeline: spans are in the order of their starts, do not end before they start, stand
    /// for at least one run on at least one device, belong to lanes that exist, and are nested or disjoint in each
    /// lane. They wait only for spans before them in the list that end no later than they start. The uses of memory are
    /// in the order of time.
    ///
    /// # Errors
    /// Describes the first span, or use of memory, that breaks one of them.
    pub fn check(&self) -> Result<(), String> {
        let mut open: EntityVec<LaneIndex, Vec<Picoseconds>> = EntityVec::filled(self.lanes.len(), vec![]);
        let mut last_start = 0;
        for (index, span) in self.spans.keys().zip(self.spans.iter()) {
            let fault = fault_of_times(span, last_start).or_else(|| fault_of_lane(span, &mut open));
            if let Some(fault) = fault.or_else(|| self.fault_of_after(index)) {
                return Err(format!("{index:?} `{}` from {} to {} {fault}", span.name, span.start, span.end));
            }
            last_start = span.start;
        }
        match self.memory.windows(2).find(|pair| pair[0].start > pair[1].start) {
            Some(pair) => {
                Err(format!("the memory in use from {} on follows that from {}", pair[1].start, pair[0].start))
            }
            None => Ok(()),
        }
    }

    fn fault_of_after(&self, index: SpanIndex) -> Option<String> {
        let span = &self.spans[index];
        span.after.iter().find_map(|&before| match self.spans.get(before) {
            Some(other) if before < index && other.end <= span.start => None,
            Some(other) => Some(format!("waits for {before:?}, which ends at {}", other.end)),
            None => Some(format!("waits for {before:?}, which does not exist")),
        })
    }

    pub(crate) fn lane_of(&self, span: SpanIndex) -> &Lane {
        &self.lanes[self.spans[span].lane]
    }
}

fn fault_of_times(span: &Span, last_start: Picoseconds) -> Option<String> {
    if span.end < span.start {
        return Some("ends before it starts".into());
    }
    if span.runs == 0 || span.devices == 0 {
        return Some(format!("stands for {} runs on {} devices", span.runs, span.devices));
    }
    (span.start < last_start).then(|| format!("follows a span that starts at {last_start}"))
}

/// Returns what is wrong with the place of a span in its lane, or `None` if nothing is. `open` has, for each lane, the
/// ends of the spans around its last span so far and of that span. The end of `span` is added.
fn fault_of_lane(span: &Span, open: &mut EntityVec<LaneIndex, Vec<Picoseconds>>) -> Option<String> {
    if open.get(span.lane).is_none() {
        return Some(format!("is in {:?}, which does not exist", span.lane));
    }
    let open = &mut open[span.lane];
    while open.last().is_some_and(|&end| end <= span.start) {
        open.pop();
    }
    let around = open.last().copied();
    open.push(span.end);
    let around = around.filter(|&end| end < span.end)?;
    Some(format!("ends after the span around it, which ends at {around}"))
}

/// Finds the span before another one on a critical path ([`Timeline::critical_path`]). A leaf is a span with no spans
/// inside of it.
struct Predecessors<'a> {
    timeline: &'a Timeline,
    nesting: Nesting,
    /// The last leaf before each span in its lane, or `None` if there is none.
    previous: EntityVec<SpanIndex, Option<SpanIndex>>,
    /// For each span, the leaf that ends last among those inside of it. For a leaf, the leaf itself.
    last_inside: EntityVec<SpanIndex, SpanIndex>,
}

impl Predecessors<'_> {
    fn of(timeline: &Timeline) -> Predecessors<'_> {
        let nesting = Nesting::of(timeline);
        let mut previous = EntityVec::filled(timeline.spans.len(), None);
        let mut last_inside: EntityVec<SpanIndex, SpanIndex> = timeline.spans.keys().collect();
        for lane in nesting.lanes.iter() {
            let mut last = None;
            for &span in lane {
                previous[span] = last;
                if !nesting.has_children[span] {
                    last = Some(span);
                }
            }
            // The spans inside of a span follow it, and the last of them ends last.
            for &span in lane.iter().rev() {
                if let Some(parent) = nesting.parents[span].filter(|&parent| last_inside[parent] == parent) {
                    last_inside[parent] = last_inside[span];
                }
            }
        }
        Predecessors { timeline, nesting, previous, last_inside }
    }

    fn is_leaf(&self, span: SpanIndex) -> bool {
        !self.nesting.has_children[span]
    }

    /// Returns the end of a span, and false if the span is in the lane of a worker. Of two spans that end at the same
    /// time, that of a worker thus ranks lower, because it is a part of the other one.
    fn rank(&self, span: SpanIndex) -> (Picoseconds, bool) {
        (self.timeline.spans[span].end, self.timeline.lane_of(span).kind != LaneKind::Worker)
    }

    /// Returns the leaf that ends last among the previous leaf in the lane of `span` and those for which `span`, or a
    /// span around it, waits. Leaves that end after the start of `span` do not count. Returns `None` if no leaf is
    /// left.
    fn get(&self, span: SpanIndex) -> Option<SpanIndex> {
        let spans = &self.timeline.spans;
        let around = std::iter::successors(Some(span), |&s| self.nesting.parents[s]);
        let waited = around.flat_map(|s| spans[s].after.iter().map(|&before| self.last_inside[before]));
        let candidates = self.previous[span].into_iter().chain(waited);
        let possible = candidates.filter(|&s| s < span && spans[s].end <= spans[span].start);
        possible.max_by_key(|&s| self.rank(s))
    }
}
