//! The predicted times of collectives, and how much of them is not hidden behind compute.

use shardwise_base::Loc;
use shardwise_spmd::Row;
use shardwise_view::{LaneKind, Picoseconds, Span, SpanKind, Timeline};
use std::collections::HashMap;
use std::ops::Range;

/// The predicted time of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Time {
    /// The time from the start of the collective to its end.
    pub duration: Picoseconds,
    /// The part of [`Time::duration`] in which the device does not compute.
    pub exposed: Picoseconds,
}

impl Time {
    /// Returns the time of `runs` runs, each of which takes as long as `self`.
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

/// The total time and the number of runs of the simulated collectives of each source, kind and reason.
pub(crate) struct Times(HashMap<SpanKey, (Time, u64)>);

impl Times {
    /// Returns the times of the collectives of a scheduled program. `plain` is the run of the program as it was given.
    ///
    /// The scheduler replaces some collectives by others, such as a gather by the permutes of a collective matmul. The
    /// time of a replaced collective is that of the new ones with the same source and reason. The scheduler may have
    /// added to their reason how they run.
    pub fn of_scheduled(timeline: &Timeline, plain: &Timeline) -> Times {
        let (mut times, plain) = (Times::of(timeline), Times::of(plain));
        let replaced: Vec<&SpanKey> = plain.0.keys().filter(|key| !times.0.contains_key(*key)).collect();
        let mut sums: HashMap<(&Loc, Option<&str>), (Time, u64)> = HashMap::new();
        for key in &replaced {
            let sum = sums.entry((&key.0, key.2.as_deref())).or_default();
            sum.1 = sum.1.saturating_add(plain.0[*key].1);
        }
        for (key, (time, _)) in times.0.iter().filter(|(key, _)| !plain.0.contains_key(*key)) {
            let mut all = origins(key.2.as_deref()).map(|reason| (&key.0, reason));
            if let Some(sum) = all.find(|at| sums.contains_key(at)).and_then(|at| sums.get_mut(&at)) {
                sum.0 = sum.0.plus(*time);
            }
        }
        let of = |key: &&SpanKey| ((*key).clone(), sums[&(&key.0, key.2.as_deref())]);
        let found: Vec<(SpanKey, (Time, u64))> = replaced.iter().map(of).collect();
        times.0.extend(found.into_iter().filter(|(_, (time, _))| time.duration > 0));
        times
    }

    pub fn of(timeline: &Timeline) -> Times {
        let computes =
            |span: &&Span| span.kind == SpanKind::Compute && timeline.lanes[span.lane].kind == LaneKind::Core;
        let busy = merged(timeline.spans.iter().filter(computes).map(|span| span.start..span.end));
        let mut sums: HashMap<SpanKey, (Time, u64)> = HashMap::new();
        for span in timeline.spans.iter().filter(|span| span.kind == SpanKind::Collective) {
            let exposed = span.duration() - covered(&busy, span.start..span.end);
            let key = (span.loc.clone(), span.name.replace('_', "-"), span.reason.clone());
            let sum = sums.entry(key).or_default();
            *sum = (sum.0.plus(Time { duration: span.duration(), exposed }), sum.1.saturating_add(span.runs));
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

/// Returns the reasons that the collective may have had in whose place one with this reason runs, the longest first:
/// the reason itself, and its parts before each "; ", after which the scheduler adds how a collective runs.
fn origins(reason: Option<&str>) -> impl Iterator<Item = Option<&str>> {
    std::iter::successors(Some(reason), |reason| Some(Some((*reason)?.rsplit_once("; ")?.0)))
}

/// Returns the union of periods, which must be in the order of their starts, as periods that are apart.
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
    use shardwise_view::{Lane, Maker};

    fn run(spans: &[(&str, &str, u64)]) -> Timeline {
        let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
        let lane = timeline.lanes.push(Lane { name: "links".into(), kind: LaneKind::Link });
        let mut start = 0;
        for &(name, reason, time) in spans {
            let span = Span::new(lane, name, SpanKind::Collective, start..start + time);
            timeline.spans.push(Span { reason: Some(reason.into()), loc: Loc::file("a", 1, 1), ..span });
            start += time;
        }
        timeline
    }

    /// A gather that runs twice becomes three permutes in each run. A sum for the same reason stays.
    #[test]
    fn what_replaces_a_collective_has_its_time() {
        let plain = run(&[("all_gather", "r", 50), ("all_reduce", "r", 7), ("all_gather", "r", 50)]);
        let ring = [("collective_permute", "r; in pieces", 10); 3];
        let scheduled = run(&[&ring[..], &[("all_reduce", "r", 5)], &ring[..], &[("all_gather", "s", 1)]].concat());
        let times = Times::of_scheduled(&scheduled, &plain);
        let of = |kind: &str, reason: &str| {
            times.0.get(&(Loc::file("a", 1, 1), kind.into(), Some(reason.into()))).map(|(time, n)| (time.duration, *n))
        };
        assert_eq!(of("all-gather", "r"), Some((60, 2)));
        assert_eq!(of("all-reduce", "r"), Some((5, 1)));
        assert_eq!(of("all-gather", "s"), Some((1, 1)));
        let alone = Times::of_scheduled(&plain, &plain);
        assert_eq!(alone.0, Times::of(&plain).0);
    }

    #[test]
    fn covered_parts_are_counted_once() {
        let union = merged([0..2, 1..3, 5..9, 20..21].into_iter());
        assert_eq!(union, [0..3, 5..9, 20..21]);
        assert_eq!(covered(&union, 2..6), 2);
        assert_eq!(covered(&union, 9..20), 0);
        assert_eq!(covered(&union, 0..30), 8);
    }
}
