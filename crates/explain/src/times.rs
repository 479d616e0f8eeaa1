//! The predicted times of collectives, and how much of them is not hidden behind compute.

use shardwise_base::Loc;
use shardwise_spmd::Row;
use shardwise_view::{LaneKind, Picoseconds, Span, SpanKind, Timeline};
use std::collections::HashMap;
use std::ops::Range;

/// The predicted time of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Time {
    /// From its start to its end.
    pub duration: Picoseconds,
    /// The part of it in which the device does not compute.
    pub exposed: Picoseconds,
}

impl Time {
    /// Returns the time of this many runs.
    pub fn times(self, runs: u64) -> Time {
        Time { duration: self.duration.saturating_mul(runs), exposed: self.exposed.saturating_mul(runs) }
    }

    /// Returns the sum of two times.
    pub fn plus(self, other: Time) -> Time {
        Time {
            duration: self.duration.saturating_add(other.duration),
            exposed: self.exposed.saturating_add(other.exposed),
        }
    }
}

/// The source, the kind and the reason of a collective, which a row of the table and a span have.
type SpanKey = (Loc, String, Option<String>);

/// The total time and the number of the simulated collectives of each source, kind and reason.
pub(crate) struct Times(HashMap<SpanKey, (Time, u64)>);

impl Times {
    pub fn of(timeline: &Timeline) -> Times {
        let computes =
            |span: &&Span| span.kind == SpanKind::Compute && timeline.lanes[span.lane].kind == LaneKind::Core;
        let busy = merged(timeline.spans.iter().filter(computes).map(|span| span.start..span.end));
        let mut sums: HashMap<SpanKey, (Time, u64)> = HashMap::new();
        for span in timeline.spans.iter().filter(|span| span.kind == SpanKind::Collective) {
            let exposed = span.duration() - covered(&busy, span.start..span.end);
            let key = (span.loc.clone(), span.name.replace('_', "-"), span.reason.clone());
            let sum = sums.entry(key).or_default();
            *sum = (sum.0.plus(Time { duration: span.duration(), exposed }), sum.1 + 1);
        }
        Times(sums)
    }

    /// Returns the mean time of one run of a collective, or `None` if the simulated run does not contain it.
    pub fn get(&self, row: &Row) -> Option<Time> {
        let reason = row.reason.as_ref().map(|reason| reason.text.to_string());
        let (sum, count) = self.0.get(&(row.loc.clone(), row.kind.name().to_string(), reason))?;
        Some(Time { duration: sum.duration / count, exposed: sum.exposed / count })
    }
}

/// Returns the union of periods that are sorted by their starts.
fn merged(periods: impl Iterator<Item = Range<Picoseconds>>) -> Vec<Range<Picoseconds>> {
    let mut union: Vec<Range<Picoseconds>> = vec![];
    for period in periods {
        match union.last_mut() {
            Some(last) if period.start <= last.end => last.end = last.end.max(period.end),
            _ => union.push(period),
        }
    }
    union
}

/// Returns the part of a period that the periods `union`, which are sorted and apart, cover.
fn covered(union: &[Range<Picoseconds>], period: Range<Picoseconds>) -> Picoseconds {
    let first = union.partition_point(|busy| busy.end <= period.start);
    let inside = union[first..].iter().take_while(|busy| busy.start < period.end);
    inside.map(|busy| busy.end.min(period.end) - busy.start.max(period.start)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_parts_are_counted_once() {
        let union = merged([0..2, 1..3, 5..9, 20..21].into_iter());
        assert_eq!(union, [0..3, 5..9, 20..21]);
        assert_eq!(covered(&union, 2..6), 2);
        assert_eq!(covered(&union, 9..20), 0);
        assert_eq!(covered(&union, 0..30), 8);
    }
}
