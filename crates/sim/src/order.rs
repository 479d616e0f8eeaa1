//! The final order of a timeline's spans.

use crate::memory::{Allocation, curve, parts};
use shardwise_base::EntityVec;
use shardwise_view::{Span, SpanIndex, Timeline};

/// Returns the timeline with these spans in the order of their starts, outer ones first, and with these
/// allocations.
pub(crate) fn finish(timeline: Timeline, spans: Vec<Span>, allocations: &[Allocation]) -> Timeline {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // A span is found after those for which it waits, and after those around it.
    order.sort_by_key(|&i| (spans[i].start, i));
    let mut place = vec![SpanIndex::new(0); spans.len()];
    order.iter().enumerate().for_each(|(to, &from)| place[from] = SpanIndex::new(to));
    let mut by_place: Vec<Option<Span>> = spans.into_iter().map(Some).collect();
    let sorted: EntityVec<SpanIndex, Span> = order
        .into_iter()
        .map(|i| {
            let mut span = by_place[i].take().expect("each span has one place");
            span.after.iter_mut().for_each(|before| *before = place[before.index()]);
            span.after.sort_unstable();
            span
        })
        .collect();
    let mut timeline = Timeline { spans: sorted, memory: curve(allocations), ..timeline };
    timeline.at_peak = timeline.peak_memory().map_or(vec![], |peak| parts(allocations, peak.start));
    timeline
}
