//! XSpace files (`.xplane.pb`), which XProf and TensorBoard read.
//!
//! A kind of lanes is a plane, and a lane is a line. Times are in picoseconds, as here. The instructions and the names
//! of facts are in the tables of metadata of each plane.
//!
//! The numbers of the fields are those of the public definition `xplane.proto`.

use crate::facts::{Fact, facts};
use crate::nesting::Nesting;
use crate::{LaneIndex, LaneKind, SpanIndex, Timeline};
use prost::Message;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, PartialEq, Message)]
struct XSpace {
    #[prost(message, repeated, tag = "1")]
    planes: Vec<XPlane>,
    #[prost(string, repeated, tag = "4")]
    hostnames: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct XPlane {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, repeated, tag = "3")]
    lines: Vec<XLine>,
    #[prost(btree_map = "int64, message", tag = "4")]
    event_metadata: BTreeMap<i64, XMetadata>,
    #[prost(btree_map = "int64, message", tag = "5")]
    stat_metadata: BTreeMap<i64, XMetadata>,
    #[prost(message, repeated, tag = "6")]
    stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
struct XLine {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int64, tag = "3")]
    timestamp_ns: i64,
    #[prost(message, repeated, tag = "4")]
    events: Vec<XEvent>,
    #[prost(int64, tag = "9")]
    duration_ps: i64,
}

#[derive(Clone, PartialEq, Message)]
struct XEvent {
    #[prost(int64, tag = "1")]
    metadata_id: i64,
    /// The picoseconds from the start of the line to that of the event. The format has two fields for this, of which
    /// one must be set. Therefore 0 is written, too.
    #[prost(int64, optional, tag = "2")]
    offset_ps: Option<i64>,
    #[prost(int64, tag = "3")]
    duration_ps: i64,
    #[prost(message, repeated, tag = "4")]
    stats: Vec<XStat>,
}

#[derive(Clone, PartialEq, Message)]
struct XStat {
    #[prost(int64, tag = "1")]
    metadata_id: i64,
    #[prost(oneof = "XValue", tags = "2, 3, 5, 7")]
    value: Option<XValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum XValue {
    #[prost(double, tag = "2")]
    Share(f64),
    #[prost(uint64, tag = "3")]
    Number(u64),
    #[prost(string, tag = "5")]
    Text(String),
    /// A text, as the number of the row of the metadata of statistics that has it as its name.
    #[prost(uint64, tag = "7")]
    Reference(u64),
}

/// A row of the tables of metadata, of events or of statistics.
#[derive(Clone, PartialEq, Message)]
struct XMetadata {
    #[prost(int64, tag = "1")]
    id: i64,
    #[prost(string, tag = "2")]
    name: String,
}

impl Timeline {
    /// Returns the timeline as an XSpace, the format of XProf and TensorBoard.
    ///
    /// Lanes are lines, and kinds of lanes are planes. What is known about a span, apart from its times, is in the
    /// statistics of its event, with its number and the numbers of the spans for which it waits. The memory in use is a
    /// plane of its own.
    ///
    /// # Panics
    /// May panic if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn to_xspace(&self) -> Vec<u8> {
        let nesting = Nesting::of(self);
        let planes = LaneKind::ALL.into_iter().filter_map(|kind| self.plane(&nesting, kind));
        let planes = planes.chain(self.memory_plane()).enumerate();
        let planes = planes.map(|(number, plane)| XPlane { id: 1 + number as i64, ..plane }).collect();
        XSpace { planes, hostnames: vec![self.maker.machine().into()] }.encode_to_vec()
    }

    fn plane(&self, nesting: &Nesting, kind: LaneKind) -> Option<XPlane> {
        let lanes: Vec<LaneIndex> = self.lanes.keys().filter(|&lane| self.lanes[lane].kind == kind).collect();
        let mut tables = Tables::default();
        let lines = lanes.iter().map(|&lane| self.line(nesting, lane, &mut tables)).collect();
        let text = |text: &str| Fact::Text(text.into());
        let of_run = [
            ("program", text(&self.program)),
            ("maker", text(self.maker.name())),
            ("machine", text(self.maker.machine())),
            ("devices", Fact::Number(self.device_count as u64)),
        ];
        let stats = of_run.into_iter().map(|(name, fact)| tables.stat(name, fact)).collect();
        (!lanes.is_empty()).then(|| tables.into_plane(plane_name(kind), lines, stats))
    }

    fn line(&self, nesting: &Nesting, lane: LaneIndex, tables: &mut Tables) -> XLine {
        let spans = &nesting.lanes[lane];
        XLine {
            id: 1 + lane.index() as i64,
            name: self.lanes[lane].name.clone(),
            timestamp_ns: 0,
            events: spans.iter().map(|&span| self.event(span, tables)).collect(),
            duration_ps: spans.iter().map(|&span| self.spans[span].end).max().unwrap_or(0) as i64,
        }
    }

    fn event(&self, index: SpanIndex, tables: &mut Tables) -> XEvent {
        let span = &self.spans[index];
        let exact = ["start_ps", "duration_ps"];
        let known = facts(span).into_iter().filter(|(name, _)| !exact.contains(name));
        let mut stats: Vec<XStat> = known.map(|(name, fact)| tables.stat(name, fact)).collect();
        stats.push(tables.stat("span", Fact::Number(index.index() as u64)));
        if !span.after.is_empty() {
            let numbers: Vec<String> = span.after.iter().map(|before| before.index().to_string()).collect();
            let value = Some(XValue::Text(numbers.join(",")));
            stats.push(XStat { metadata_id: tables.stats.get("after"), value });
        }
        XEvent {
            metadata_id: tables.events.get(&span.name),
            offset_ps: Some(span.start as i64),
            duration_ps: span.duration() as i64,
            stats,
        }
    }

    /// Returns the plane of the memory in use, or `None` if it is not known. An event lasts until the next one starts,
    /// and the last one until the end of the timeline.
    fn memory_plane(&self) -> Option<XPlane> {
        let mut tables = Tables::default();
        let ends = self.memory.iter().skip(1).map(|used| used.start);
        let ends = ends.chain([self.end().max(self.memory.last()?.start)]);
        let events: Vec<XEvent> = self
            .memory
            .iter()
            .zip(ends)
            .map(|(used, end)| XEvent {
                metadata_id: tables.events.get("memory in use"),
                offset_ps: Some(used.start as i64),
                duration_ps: (end - used.start) as i64,
                stats: vec![tables.stat("bytes", Fact::Number(used.bytes))],
            })
            .collect();
        let line = XLine { id: 1, name: "memory in use".into(), events, ..XLine::default() };
        Some(tables.into_plane("/device:CUSTOM:memory".into(), vec![line], vec![]))
    }
}

/// Returns the name of the plane of a kind of lanes, by which XProf recognises it. That of the workers is the plane of
/// the threads of a host.
fn plane_name(kind: LaneKind) -> String {
    match kind {
        LaneKind::Worker => "/host:CPU".into(),
        _ => format!("/device:CUSTOM:{}", kind.name()),
    }
}

/// The tables of metadata of a plane.
#[derive(Default)]
struct Tables {
    events: Rows,
    /// The names of statistics, and the texts that are their values.
    stats: Rows,
}

impl Tables {
    fn stat(&mut self, name: &str, fact: Fact) -> XStat {
        let value = match fact {
            Fact::Text(text) => XValue::Reference(self.stats.get(&text) as u64),
            Fact::Number(number) => XValue::Number(number),
            Fact::Share(share) => XValue::Share(share),
        };
        XStat { metadata_id: self.stats.get(xprof_name(name)), value: Some(value) }
    }

    fn into_plane(self, name: String, lines: Vec<XLine>, stats: Vec<XStat>) -> XPlane {
        let (event_metadata, stat_metadata) = (self.events.rows, self.stats.rows);
        XPlane { id: 0, name, lines, event_metadata, stat_metadata, stats }
    }
}

fn xprof_name(name: &str) -> &str {
    match name {
        "kind" => "hlo_category",
        "memory_bytes" => "bytes_accessed",
        "scope" => "tf_op",
        other => other,
    }
}

/// A table of metadata: texts with their numbers, from 1.
#[derive(Default)]
struct Rows {
    numbers: HashMap<String, i64>,
    rows: BTreeMap<i64, XMetadata>,
}

impl Rows {
    fn get(&mut self, name: &str) -> i64 {
        if let Some(&id) = self.numbers.get(name) {
            return id;
        }
        let id = 1 + self.rows.len() as i64;
        self.numbers.insert(name.into(), id);
        self.rows.insert(id, XMetadata { id, name: name.into() });
        id
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::{Seen, SeenTimeline, fact_text};
    use crate::{Lane, Maker, Span, SpanKind};

    /// Returns the spans of a file and the memory in use. Spans are nested by their times, in the order of each line.
    pub(crate) fn seen(bytes: &[u8]) -> SeenTimeline {
        let space = XSpace::decode(bytes).unwrap();
        let mut seen = SeenTimeline::default();
        for plane in &space.planes {
            for line in &plane.lines {
                let mut open: Vec<i64> = vec![];
                for event in &line.events {
                    if plane.name == "/device:CUSTOM:memory" {
                        let bytes = facts_of(plane, event)["bytes"].parse().unwrap();
                        seen.1.push((event.offset_ps.unwrap() as u64, bytes));
                        continue;
                    }
                    let (number, mut span) = span(plane, line, event);
                    let start = event.offset_ps.unwrap();
                    open.retain(|&end| end > start);
                    span.depth = open.len();
                    open.push(start + event.duration_ps);
                    assert!(open.is_sorted_by(|a, b| a >= b));
                    seen.0.insert(number, span);
                }
            }
        }
        seen
    }

    fn facts_of(plane: &XPlane, event: &XEvent) -> BTreeMap<String, String> {
        let fact = |stat: &XStat| {
            let fact = match stat.value.clone().unwrap() {
                XValue::Reference(id) => Fact::Text(plane.stat_metadata[&(id as i64)].name.clone()),
                XValue::Text(text) => Fact::Text(text),
                XValue::Number(number) => Fact::Number(number),
                XValue::Share(share) => Fact::Share(share),
            };
            (plane.stat_metadata[&stat.metadata_id].name.clone(), fact_text(&fact))
        };
        event.stats.iter().map(fact).collect()
    }

    fn span(plane: &XPlane, line: &XLine, event: &XEvent) -> (usize, Seen) {
        let mut facts = facts_of(plane, event);
        for name in ["kind", "memory_bytes", "scope"] {
            if let Some(fact) = facts.remove(xprof_name(name)) {
                facts.insert(name.into(), fact);
            }
        }
        facts.insert("start_ps".into(), event.offset_ps.unwrap().to_string());
        facts.insert("duration_ps".into(), event.duration_ps.to_string());
        let number = facts.remove("span").unwrap().parse().unwrap();
        let after = facts.remove("after").unwrap_or_default();
        let kind = LaneKind::ALL.into_iter().find(|&kind| plane_name(kind) == plane.name).unwrap();
        let seen = Seen {
            lane: (kind.name().into(), line.name.clone()),
            name: plane.event_metadata[&event.metadata_id].name.clone(),
            after: after.split(',').filter(|number| !number.is_empty()).map(|number| number.parse().unwrap()).collect(),
            facts,
            ..Seen::default()
        };
        (number, seen)
    }

    /// The bytes of a file, worked out by hand from the public definition and the encoding of protocol buffers.
    #[test]
    fn bytes_are_those_of_the_definition() {
        let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
        let lane = timeline.lanes.push(Lane { name: "c".into(), kind: LaneKind::Core });
        timeline.spans.push(Span::new(lane, "dot", SpanKind::Compute, 0..3));
        let message = |tag: u8, parts: &[&[u8]]| {
            let contents = parts.concat();
            let len = contents.len();
            let size = if len < 128 { vec![len as u8] } else { vec![len as u8 | 128, (len >> 7) as u8] };
            [&[tag << 3 | 2], size.as_slice(), contents.as_slice()].concat()
        };
        let text = |tag: u8, text: &str| message(tag, &[text.as_bytes()]);
        let row =
            |tag: u8, id: u8, name: &str| message(tag, &[&[1 << 3, id], &message(2, &[&[1 << 3, id], &text(2, name)])]);
        let stat = |tag: u8, id: u8, field: u8, value: u8| message(tag, &[&[1 << 3, id, field << 3, value]]);
        let event = message(4, &[&[1 << 3, 1, 2 << 3, 0, 3 << 3, 3], &stat(4, 2, 7, 1), &stat(4, 3, 3, 0)]);
        let line = message(3, &[&[1 << 3, 1], &text(2, "c"), &event, &[9 << 3, 3]]);
        let names =
            ["compute", "hlo_category", "span", "a", "program", "predicted", "maker", "m", "machine", "devices"];
        let rows: Vec<u8> = names.iter().zip(1..).flat_map(|(name, id)| row(5, id, name)).collect();
        let of_run = [stat(6, 5, 7, 4), stat(6, 7, 7, 6), stat(6, 9, 7, 8), stat(6, 10, 3, 1)].concat();
        let head = [&[1 << 3, 1], text(2, "/device:CUSTOM:core").as_slice()].concat();
        let plane = message(1, &[&head, &line, &row(4, 1, "dot"), &rows, &of_run]);
        assert_eq!(timeline.to_xspace(), [plane, text(4, "m")].concat());
    }
}
