//! The final order of a timeline's spans.

use crate::memory::{Allocation, curve, parts};
use shardwise_view::{Span, Timeline};

/// Returns the timeline with these spans in the order of their starts, with the memory that is in use by these
/// allocations over time, and with what is in memory when that is most. Spans that start at the same time stay in their
/// order.
pub(crate) fn finish(timeline: Timeline, spans: Vec<Span>, allocations: &[Allocation]) -> Timeline {
    let mut timeline = Timeline { memory: curve(allocations), ..timeline };
    timeline.set_spans(spans);
    timeline.at_peak = timeline.peak_memory().map_or(vec![], |peak| parts(allocations, peak.start));
    timeline
}
