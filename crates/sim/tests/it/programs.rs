//! Programs as text, and their predicted timelines.

use shardwise_ir::{Module, text};
use shardwise_ops::OPS;
use shardwise_sim::{Options, Overlap, Topology, simulate};
use shardwise_spmd::partition;
use shardwise_view::{LaneKind, Span, SpanKind, Timeline};

/// Returns the per-device program of a program.
pub fn localized(source: &str) -> Module {
    let module = text::parse("program.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}"));
    partition(&module, &mut Default::default()).unwrap_or_else(|e| panic!("{e}")).module
}

/// Returns the predicted timeline of a program on a topology.
pub fn predict(source: &str, topology: &str, overlap: Overlap) -> Timeline {
    let topology = Topology::parse(topology).unwrap();
    simulate(&localized(source), &topology, &Options { overlap }).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the durations, in microseconds, of the spans of one kind in lanes of one kind, in the order of their starts.
pub fn durations(timeline: &Timeline, lane: LaneKind, kind: SpanKind) -> Vec<f64> {
    let is_chosen = |span: &&Span| timeline.lanes[span.lane].kind == lane && span.kind == kind;
    timeline.spans.iter().filter(is_chosen).map(|span| span.duration() as f64 / 1e6).collect()
}

/// Returns the end of a timeline in microseconds.
pub fn total(timeline: &Timeline) -> f64 {
    timeline.end() as f64 / 1e6
}

/// Returns a text with the spans of a timeline, one a line.
pub fn listing(timeline: &Timeline) -> String {
    let line = |span: &Span| {
        let lane = &timeline.lanes[span.lane].name;
        let (start, end) = (span.start as f64 / 1e6, span.end as f64 / 1e6);
        format!("{start:9.2} {end:9.2} {:9.2}  {lane:14} {}\n", end - start, span.name)
    };
    timeline.spans.iter().map(line).collect()
}
