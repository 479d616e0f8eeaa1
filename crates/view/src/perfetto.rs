//! Perfetto's traces (`.pftrace`): packets with descriptors of tracks, and with the starts and ends of slices.
//!
//! A kind of lanes is a process, and a lane is a thread. Perfetto counts nanoseconds. Times are rounded down, which
//! keeps their order and so the nesting; the exact times of spans are annotations. The names, kinds and texts of spans
//! are stated once, in the first packet.
//!
//! The numbers of the fields are those of Perfetto's public definitions (`protos/perfetto/trace`).

use crate::facts::{Fact, facts};
use crate::nesting::{Event, Nesting};
use crate::{LaneIndex, LaneKind, SpanIndex, Timeline};
use prost::Message;
use std::collections::HashMap;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<InternedName>,
    #[prost(message, repeated, tag = "29")]
    debug_annotation_string_values: Vec<InternedName>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedName {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    process_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(int32, tag = "2")]
    tid: i32,
    #[prost(string, tag = "5")]
    thread_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(int32, tag = "3")]
    unit: i32,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, optional, tag = "10")]
    name_iid: Option<u64>,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(int64, optional, tag = "30")]
    counter_value: Option<i64>,
    #[prost(fixed64, repeated, tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(oneof = "AnnotationValue", tags = "3, 5, 17")]
    value: Option<AnnotationValue>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnnotationValue {
    #[prost(uint64, tag = "3")]
    Number(u64),
    #[prost(double, tag = "5")]
    Share(f64),
    /// The number of a text that the first packet states.
    #[prost(uint64, tag = "17")]
    Text(u64),
}

/// The type of an event at which a slice begins.
const SLICE_BEGIN: i32 = 1;
/// The type of an event at which a slice ends.
const SLICE_END: i32 = 2;
/// The type of an event that states the value of a counter.
const COUNTER: i32 = 4;

/// The flag of the first packet, which states the names.
const STATES_NAMES: u32 = 1;
/// The flag of the other packets, which may refer to the names of the first one.
const NEEDS_NAMES: u32 = 2;

/// The unit of counters of bytes.
const UNIT_BYTES: i32 = 3;

impl Timeline {
    /// Returns the timeline as a trace for Perfetto.
    ///
    /// Lanes are threads, and kinds of lanes are processes. Spans are slices, the memory in use is a counter, and a
    /// flow leads to each span from each span for which it waits. What is known about a span is in its annotations,
    /// with the exact times in picoseconds.
    ///
    /// # Panics
    /// May panic if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn to_perfetto(&self) -> Vec<u8> {
        let mut names = Names::default();
        let events = self.perfetto_events(&mut names);
        let first = TracePacket {
            sequence_flags: STATES_NAMES,
            interned_data: Some(names.into_data()),
            ..TracePacket::on_sequence()
        };
        let tracks = self
            .perfetto_tracks()
            .into_iter()
            .map(|track| TracePacket { track_descriptor: Some(track), ..TracePacket::on_sequence() });
        Trace { packets: std::iter::once(first).chain(tracks).chain(events).collect() }.encode_to_vec()
    }

    fn perfetto_tracks(&self) -> Vec<TrackDescriptor> {
        let is_used = |kind| self.lanes.iter().any(|lane| lane.kind == kind);
        let processes = LaneKind::ALL.into_iter().filter(|&kind| is_used(kind)).map(|kind| TrackDescriptor {
            uuid: process_uuid(kind),
            process: Some(ProcessDescriptor { pid: pid(kind), process_name: kind.name().into() }),
            ..TrackDescriptor::default()
        });
        let threads = self.lanes.keys().map(|lane| TrackDescriptor {
            uuid: lane_uuid(lane),
            parent_uuid: Some(process_uuid(self.lanes[lane].kind)),
            thread: Some(ThreadDescriptor {
                pid: pid(self.lanes[lane].kind),
                tid: 100 + lane.index() as i32,
                thread_name: self.lanes[lane].name.clone(),
            }),
            ..TrackDescriptor::default()
        });
        let memory = (!self.memory.is_empty()).then(|| TrackDescriptor {
            uuid: MEMORY_UUID,
            name: Some("memory in use".into()),
            counter: Some(CounterDescriptor { unit: UNIT_BYTES }),
            ..TrackDescriptor::default()
        });
        processes.chain(threads).chain(memory).collect()
    }

    fn perfetto_events(&self, names: &mut Names) -> Vec<TracePacket> {
        let nesting = Nesting::of(self);
        let flows = Flows::of(self);
        let mut events: Vec<Event> = nesting.lanes.keys().flat_map(|lane| nesting.events(self, lane)).collect();
        // Ends come first. Starts, and ends at the times of their starts, are in the order of the spans, so that a span
        // follows those for which it waits. This does not change the order of the events of a lane.
        let started = |event: &Event| self.spans[event.span].start == event.time;
        events.sort_by_key(|event| (event.time, started(event).then_some(event.span)));
        let slices = events.into_iter().map(|event| self.perfetto_slice(event, &flows, names)).collect::<Vec<_>>();
        let memory = self.memory.iter().map(|used| TracePacket {
            timestamp: Some(used.start / 1000),
            track_event: Some(TrackEvent {
                kind: COUNTER,
                track_uuid: MEMORY_UUID,
                counter_value: Some(used.bytes as i64),
                ..TrackEvent::default()
            }),
            ..TracePacket::on_sequence()
        });
        slices.into_iter().chain(memory).collect()
    }

    fn perfetto_slice(&self, event: Event, flows: &Flows, names: &mut Names) -> TracePacket {
        let span = &self.spans[event.span];
        let mut slice = TrackEvent { kind: SLICE_END, track_uuid: lane_uuid(span.lane), ..TrackEvent::default() };
        if !event.is_end {
            slice.kind = SLICE_BEGIN;
            slice.name_iid = Some(names.events.get(&span.name));
            slice.category_iids = vec![names.categories.get(span.kind.name())];
            slice.debug_annotations = facts(span).into_iter().map(|fact| names.annotation(fact)).collect();
            slice.debug_annotations.push(names.annotation(("span", Fact::Number(event.span.index() as u64))));
            slice.flow_ids.clone_from(&flows.out[event.span.index()]);
            slice.terminating_flow_ids = flows.into(self, event.span);
        }
        TracePacket { timestamp: Some(event.time / 1000), track_event: Some(slice), ..TracePacket::on_sequence() }
    }
}

impl TracePacket {
    fn on_sequence() -> TracePacket {
        TracePacket { trusted_packet_sequence_id: 1, sequence_flags: NEEDS_NAMES, ..TracePacket::default() }
    }
}

/// The numbers of the flows between spans.
struct Flows {
    /// The flows that start at each span.
    out: Vec<Vec<u64>>,
    /// The number of the first flow that ends at each span, from 1. The others follow. If no flow ends at the span, the
    /// number of the next flow.
    first_in: Vec<u64>,
}

impl Flows {
    fn of(timeline: &Timeline) -> Flows {
        let mut flows = Flows { out: vec![vec![]; timeline.spans.len()], first_in: vec![] };
        let mut next = 1;
        for span in timeline.spans.iter() {
            flows.first_in.push(next);
            for &before in &span.after {
                flows.out[before.index()].push(next);
                next += 1;
            }
        }
        flows
    }

    fn into(&self, timeline: &Timeline, span: SpanIndex) -> Vec<u64> {
        let first = self.first_in[span.index()];
        (first..first + timeline.spans[span].after.len() as u64).collect()
    }
}

/// The names that packets refer to by numbers.
#[derive(Default)]
struct Names {
    events: Numbers,
    categories: Numbers,
    annotations: Numbers,
    texts: Numbers,
}

impl Names {
    fn annotation(&mut self, (name, fact): (&str, Fact)) -> DebugAnnotation {
        let value = match fact {
            Fact::Text(text) => AnnotationValue::Text(self.texts.get(&text)),
            Fact::Number(number) => AnnotationValue::Number(number),
            Fact::Share(share) => AnnotationValue::Share(share),
        };
        DebugAnnotation { name_iid: self.annotations.get(name), value: Some(value) }
    }

    fn into_data(self) -> InternedData {
        InternedData {
            event_categories: self.categories.into_names(),
            event_names: self.events.into_names(),
            debug_annotation_names: self.annotations.into_names(),
            debug_annotation_string_values: self.texts.into_names(),
        }
    }
}

/// Numbers of names, from 1, in the order in which the names are used first.
#[derive(Default)]
struct Numbers {
    numbers: HashMap<String, u64>,
    names: Vec<InternedName>,
}

impl Numbers {
    fn get(&mut self, name: &str) -> u64 {
        if let Some(&iid) = self.numbers.get(name) {
            return iid;
        }
        let iid = 1 + self.names.len() as u64;
        self.numbers.insert(name.into(), iid);
        self.names.push(InternedName { iid, name: name.into() });
        iid
    }

    fn into_names(self) -> Vec<InternedName> {
        self.names
    }
}

/// The identifier of the track of the memory in use.
const MEMORY_UUID: u64 = 9;

fn pid(kind: LaneKind) -> i32 {
    1 + kind as i32
}

fn process_uuid(kind: LaneKind) -> u64 {
    1 + kind as u64
}

fn lane_uuid(lane: LaneIndex) -> u64 {
    100 + lane.index() as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::{Seen, SeenTimeline, fact_text};
    use crate::{Lane, Maker, Span, SpanKind};
    use std::collections::BTreeMap;

    /// Returns what a trace says, read as Perfetto reads it: slices are nested by the order of their starts and ends in
    /// the file.
    pub(crate) fn seen(bytes: &[u8]) -> SeenTimeline {
        let trace = Trace::decode(bytes).unwrap();
        let names = trace.packets[0].interned_data.clone().unwrap();
        let tracks: BTreeMap<u64, TrackDescriptor> =
            trace.packets.iter().filter_map(|p| p.track_descriptor.clone()).map(|track| (track.uuid, track)).collect();
        let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        let mut flows: BTreeMap<u64, usize> = BTreeMap::new();
        let mut seen = SeenTimeline::default();
        let mut last_time = 0;
        for packet in &trace.packets {
            let Some(event) = &packet.track_event else { continue };
            let time = packet.timestamp.unwrap();
            if event.kind == COUNTER {
                assert_eq!(tracks[&event.track_uuid].counter.as_ref().unwrap().unit, UNIT_BYTES);
                seen.1.push((time, event.counter_value.unwrap() as u64));
                continue;
            }
            assert!(time >= last_time);
            last_time = time;
            let around = open.entry(event.track_uuid).or_default();
            if event.kind == SLICE_END {
                let number = around.pop().expect("a slice that ends is open");
                let facts = &seen.0[&number].facts;
                let exact = |name: &str| facts[name].parse::<u64>().unwrap();
                assert_eq!(time, (exact("start_ps") + exact("duration_ps")) / 1000);
                continue;
            }
            let (number, mut slice) = slice(event, &names, &tracks);
            slice.depth = around.len();
            around.push(number);
            slice.after = event.terminating_flow_ids.iter().map(|flow| flows.remove(flow).unwrap()).collect();
            flows.extend(event.flow_ids.iter().map(|&flow| (flow, number)));
            seen.0.insert(number, slice);
        }
        assert!(flows.is_empty() && open.values().all(Vec::is_empty));
        seen
    }

    fn slice(event: &TrackEvent, names: &InternedData, tracks: &BTreeMap<u64, TrackDescriptor>) -> (usize, Seen) {
        let name = |names: &[InternedName], iid: u64| names.iter().find(|n| n.iid == iid).unwrap().name.clone();
        let track = &tracks[&event.track_uuid];
        let process = tracks[&track.parent_uuid.unwrap()].process.as_ref().unwrap();
        let thread = track.thread.as_ref().unwrap();
        assert_eq!(thread.pid, process.pid);
        let fact = |annotation: &DebugAnnotation| {
            let fact = match annotation.value.clone().unwrap() {
                AnnotationValue::Number(number) => Fact::Number(number),
                AnnotationValue::Share(share) => Fact::Share(share),
                AnnotationValue::Text(iid) => Fact::Text(name(&names.debug_annotation_string_values, iid)),
            };
            (name(&names.debug_annotation_names, annotation.name_iid), fact_text(&fact))
        };
        let mut facts: BTreeMap<String, String> = event.debug_annotations.iter().map(fact).collect();
        let number = facts.remove("span").unwrap().parse().unwrap();
        assert_eq!(name(&names.event_categories, event.category_iids[0]), facts["kind"]);
        let seen = Seen {
            lane: (process.process_name.clone(), thread.thread_name.clone()),
            name: name(&names.event_names, event.name_iid.unwrap()),
            facts,
            ..Seen::default()
        };
        (number, seen)
    }

    /// Checks that the bytes of a trace are those worked out by hand from the public definitions and the encoding of
    /// protocol buffers.
    #[test]
    fn bytes_are_those_of_the_definitions() {
        let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
        let lane = timeline.lanes.push(Lane { name: "c".into(), kind: LaneKind::Core });
        timeline.spans.push(Span::new(lane, "dot", SpanKind::Compute, 1000..3000));
        let message = |tag: u8, parts: &[&[u8]]| {
            let contents = parts.concat();
            [&[tag << 3 | 2, contents.len() as u8], contents.as_slice()].concat()
        };
        // A packet: its sequence (field 10), what it holds, and the flags (13).
        let packet = |flags: u8, time: &[u8], before: &[u8], after: &[u8]| {
            message(1, &[time, &[10 << 3, 1], before, &[13 << 3, flags], after])
        };
        let name = |tag: u8, iid: u8, name: &str| message(tag, &[&[1 << 3, iid], &message(2, &[name.as_bytes()])]);
        let names = message(
            12,
            &[
                &name(1, 1, "compute"),
                &name(2, 1, "dot"),
                &name(3, 1, "kind"),
                &name(3, 2, "start_ps"),
                &name(3, 3, "duration_ps"),
                &name(3, 4, "span"),
                // Field 29 takes two bytes: 29 << 3 | 2 is 234, which is 106 + 128.
                &[&[234, 1], &name(0, 1, "compute")[1..]].concat(),
            ],
        );
        // Field 60 takes two bytes: 60 << 3 | 2 is 482, which is 226 + 128 * 3 - 128.
        let track = |parts: &[&[u8]]| {
            let contents = parts.concat();
            [&[0xe2, 3, contents.len() as u8], contents.as_slice()].concat()
        };
        let process = track(&[&[1 << 3, 2], &message(3, &[&[1 << 3, 2], &message(6, &[b"core"])])]);
        let thread = message(4, &[&[1 << 3, 2, 2 << 3, 100], &message(5, &[b"c"])]);
        let thread = track(&[&[1 << 3, 100], &thread, &[5 << 3, 2]]);
        let begin = message(
            11,
            &[
                &message(3, &[&[1]]),
                // Field 17 takes two bytes: 17 << 3 is 136, which is 8 + 128.
                &message(4, &[&[1 << 3, 1, 136, 1, 1]]),
                &message(4, &[&[1 << 3, 2, 3 << 3, 0xe8, 7]]),
                &message(4, &[&[1 << 3, 3, 3 << 3, 0xd0, 15]]),
                &message(4, &[&[1 << 3, 4, 3 << 3, 0]]),
                &[9 << 3, 1, 10 << 3, 1, 11 << 3, 100],
            ],
        );
        let end = message(11, &[&[9 << 3, 2, 11 << 3, 100]]);
        let expected = [
            packet(1, &[], &names, &[]),
            packet(2, &[], &[], &process),
            packet(2, &[], &[], &thread),
            packet(2, &[8 << 3, 1], &begin, &[]),
            packet(2, &[8 << 3, 3], &end, &[]),
        ];
        assert_eq!(timeline.to_perfetto(), expected.concat());
    }
}
