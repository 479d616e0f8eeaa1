//! The turns of loops, of which only some are simulated.

use shardwise_view::{Picoseconds, Span, Work};
use std::ops::Range;

/// Returns the note of a loop with this number of turns, or one of unknown length if it is `None`, of which the first
/// `simulated` turns were simulated. Returns `None` if these are all turns.
pub(crate) fn note(trips: Option<u64>, simulated: u64) -> Option<String> {
    let Some(count) = trips else { return Some("the number of turns is not known: one is assumed".into()) };
    let last = simulated.saturating_sub(1);
    (count > simulated).then(|| {
        format!("all turns from {last} on are taken to be like turn {last}, and shown as one that takes as long as all")
    })
}

/// Makes the spans of one turn stand for `count` turns that are like it and follow each other. `turn` is the period of
/// the one turn. It is stretched by the factor `count`, which must not be 0, and so are the spans inside of it. Times
/// after its end move with the end. The runs and the work of all spans grow by the same factor. Returns by how much the
/// end of the turn moved.
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
