//! The turns of loops, of which only some are simulated.

use shardwise_view::{Picoseconds, Span, Work};
use std::ops::Range;

/// Returns the note of a loop whose turns after turn `last` were not simulated.
pub(crate) fn note(last: u64) -> String {
    format!("all turns from {last} on are taken to be like turn {last}, and shown as one that takes as long as all")
}

/// Makes the spans of the turn in a period those of `count` turns that are like it, which follow each other. A span
/// then stands for that many times as many runs. It begins and ends later in the same proportion, and what is after the
/// end of the turn stays as far from it. `count` must not be 0. Returns by how much the end of the turn moved.
pub(crate) fn stretch(spans: &mut [Span], turn: Range<Picoseconds>, count: u64) -> Picoseconds {
    let all = |time: Picoseconds| turn.start.saturating_add((time - turn.start).saturating_mul(count));
    let shift = all(turn.end) - turn.end;
    let moved = |time: Picoseconds| match time {
        _ if time <= turn.start => time,
        _ if time <= turn.end => all(time),
        _ => time.saturating_add(shift),
    };
    for span in spans {
        (span.start, span.end) = (moved(span.start), moved(span.end));
        span.runs = span.runs.saturating_mul(count);
        let times = |n: Option<u64>| n.map(|n| n.saturating_mul(count));
        let Work { flops, memory_bytes, received_bytes, least_time } = span.work;
        span.work = Work {
            flops: times(flops),
            memory_bytes: times(memory_bytes),
            received_bytes: times(received_bytes),
            least_time: times(least_time),
        };
    }
    shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_view::{LaneIndex, SpanKind};

    #[test]
    fn spans_keep_their_places_in_a_turn() {
        let span = |period| Span::new(LaneIndex::new(0), "a", SpanKind::Compute, period);
        let mut spans = [span(90..100), span(100..110), span(130..140), span(135..150)];
        spans[1].work.flops = Some(7);
        spans[2].runs = 2;
        assert_eq!(stretch(&mut spans, 100..140, 3), 80);
        let periods: Vec<Range<u64>> = spans.iter().map(|s| s.start..s.end).collect();
        assert_eq!(periods, [90..100, 100..130, 190..220, 205..230]);
        assert_eq!((spans[1].work.flops, spans[1].work.memory_bytes, spans[2].runs), (Some(21), None, 6));
        assert_eq!(stretch(&mut spans, 100..220, 1), 0);
        assert_eq!(stretch(&mut spans, 100..200, u64::MAX), u64::MAX - 200);
    }
}
