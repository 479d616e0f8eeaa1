//! Chrome's trace events as JSON, which Perfetto and `chrome://tracing` open.
//!
//! A kind of lanes is a process, and a lane is a thread. Times are in microseconds. They are rounded down to whole
//! nanoseconds, so that spans stay nested in tools that count nanoseconds. The exact times of spans are arguments of
//! their events.

use crate::facts::{Fact, facts};
use crate::nesting::Nesting;
use crate::{LaneIndex, LaneKind, Picoseconds, SpanIndex, Timeline};
use serde_json::{Map, Value, json};

impl Timeline {
    /// Returns the timeline as JSON in Chrome's trace event format, with one event on each line but the first and the
    /// last.
    ///
    /// Lanes are threads, and kinds of lanes are processes. Spans are complete events, the memory in use is a counter,
    /// and a flow leads to each span from each span for which it waits. What is known about a span is in its arguments,
    /// with the exact times in picoseconds.
    ///
    /// # Panics
    /// May panic if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn to_chrome_json(&self) -> String {
        let spans = self.spans_outside_first().into_iter().map(|span| self.chrome_span(span));
        // A flow belongs to the event that is open at its time, so that it must come later than the event.
        let flows = self.spans.keys().flat_map(|span| self.chrome_flows(span));
        let memory = self.memory.iter().map(|used| {
            let place = json!({ "pid": pid(LaneKind::Core), "ts": microseconds(used.start) });
            event("C", "memory", place, json!({ "bytes": used.bytes }))
        });
        let head = json!({
            "program": self.program,
            "maker": self.maker.name(),
            "machine": self.maker.machine(),
            "devices": self.device_count,
        });
        let events = self.chrome_metadata().into_iter().chain(spans).chain(flows).chain(memory);
        let lines: Vec<String> = events.map(|event| event.to_string()).collect();
        format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{head},\"traceEvents\":[\n{}\n]}}\n", lines.join(",\n"))
    }

    fn spans_outside_first(&self) -> Vec<SpanIndex> {
        let nesting = Nesting::of(self);
        nesting.lanes.into_iter().flatten().collect()
    }

    fn chrome_metadata(&self) -> Vec<Value> {
        let named = |what: &str, place: Value, name: &str| event("M", what, place, json!({ "name": name }));
        let used = LaneKind::ALL.into_iter().filter(|&kind| {
            self.lanes.iter().any(|lane| lane.kind == kind) || (kind == LaneKind::Core && !self.memory.is_empty())
        });
        let mut events: Vec<Value> =
            used.map(|kind| named("process_name", json!({ "pid": pid(kind) }), kind.name())).collect();
        for lane in self.lanes.keys() {
            events.push(named("thread_name", self.place(lane), &self.lanes[lane].name));
            events.push(event("M", "thread_sort_index", self.place(lane), json!({ "sort_index": lane.index() })));
        }
        events
    }

    fn place(&self, lane: LaneIndex) -> Value {
        json!({ "pid": pid(self.lanes[lane].kind), "tid": tid(lane) })
    }

    fn chrome_span(&self, index: SpanIndex) -> Value {
        let span = &self.spans[index];
        let mut args: Map<String, Value> =
            facts(span).into_iter().map(|(name, fact)| (name.into(), fact.into())).collect();
        args.insert("span".into(), index.index().into());
        let mut event = event("X", &span.name, self.place(span.lane), args.into());
        event["cat"] = span.kind.name().into();
        event["ts"] = microseconds(span.start);
        event["dur"] = microseconds_of_nanoseconds(span.end / 1000 - span.start / 1000);
        event
    }

    fn chrome_flows(&self, index: SpanIndex) -> Vec<Value> {
        let span = &self.spans[index];
        let flow = |(number, &before): (usize, &SpanIndex)| {
            let id = format!("{}.{number}", index.index());
            let at = |phase, span: SpanIndex| {
                let mut event =
                    event(phase, "after", self.place(self.spans[span].lane), json!({ "span": span.index() }));
                event["cat"] = "after".into();
                event["id"] = id.clone().into();
                event["ts"] = microseconds(self.spans[span].start);
                event
            };
            let mut end = at("f", index);
            end["bp"] = "e".into();
            [at("s", before), end]
        };
        span.after.iter().enumerate().flat_map(flow).collect()
    }
}

impl From<Fact> for Value {
    fn from(fact: Fact) -> Value {
        match fact {
            Fact::Text(text) => text.into(),
            Fact::Number(number) => number.into(),
            Fact::Share(share) => share.into(),
        }
    }
}

/// Returns an event of this phase, such as `X` for a complete event. `place` has its other fields, such as its process.
fn event(phase: &str, name: &str, place: Value, args: Value) -> Value {
    let mut event = place;
    event["ph"] = phase.into();
    event["name"] = name.into();
    event["args"] = args;
    event
}

fn pid(kind: LaneKind) -> u32 {
    1 + kind as u32
}

/// Returns the number of the thread that stands for a lane. It differs from those of the processes, because a thread
/// with the number of its process is shown as its main thread.
fn tid(lane: LaneIndex) -> usize {
    100 + lane.index()
}

fn microseconds(time: Picoseconds) -> Value {
    microseconds_of_nanoseconds(time / 1000)
}

fn microseconds_of_nanoseconds(time: u64) -> Value {
    (time as f64 / 1000.0).into()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tests::{Seen, SeenTimeline, fact_text};
    use std::collections::BTreeMap;

    /// Returns what a file says. Spans are nested by their times, in the order of the file.
    pub(crate) fn seen(json: &str) -> SeenTimeline {
        let whole: Value = serde_json::from_str(json).unwrap();
        let events = whole["traceEvents"].as_array().unwrap();
        let named = |event: &str, pid: &Value, tid: &Value| {
            let is_it = |e: &&Value| e["name"] == event && e["ph"] == "M" && e["pid"] == *pid && e["tid"] == *tid;
            events.iter().find(is_it).unwrap()["args"]["name"].as_str().unwrap().to_string()
        };
        let mut spans = BTreeMap::new();
        let mut open: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let lane = (named("process_name", &event["pid"], &Value::Null), {
                named("thread_name", &event["pid"], &event["tid"])
            });
            let mut facts = event["args"].as_object().unwrap().clone();
            let number = facts.remove("span").unwrap().as_u64().unwrap() as usize;
            assert_eq!(event["cat"], facts["kind"]);
            let nanoseconds = |name: &str| (event[name].as_f64().unwrap() * 1000.0).round() as u64;
            let exact = |name: &str| facts[name].as_u64().unwrap();
            let (start, end) = (nanoseconds("ts"), nanoseconds("ts") + nanoseconds("dur"));
            assert_eq!((start, end), (exact("start_ps") / 1000, (exact("start_ps") + exact("duration_ps")) / 1000));
            // A span that takes time in nanoseconds ends before those around it do.
            let around = open.entry(event["tid"].as_u64().unwrap()).or_default();
            while around.last().is_some_and(|&last| last <= exact("start_ps")) {
                around.pop();
            }
            assert!(around.iter().all(|&last| end <= last / 1000));
            let depth = around.len();
            around.push(exact("start_ps") + exact("duration_ps"));
            let text = |value: &Value| match (value.as_str(), value.as_u64(), value.as_f64()) {
                (None, None, Some(share)) => fact_text(&Fact::Share(share)),
                (text, _, _) => text.map_or(value.to_string(), String::from),
            };
            let facts = facts.iter().map(|(name, value)| (name.clone(), text(value))).collect();
            let name = event["name"].as_str().unwrap().into();
            spans.insert(number, Seen { lane, name, depth, facts, after: vec![] });
        }
        add_flows(events, &mut spans);
        let memory = events.iter().filter(|event| event["ph"] == "C");
        let memory = memory.map(|event| {
            let start = (event["ts"].as_f64().unwrap() * 1000.0).round() as u64;
            (start, event["args"]["bytes"].as_u64().unwrap())
        });
        (spans, memory.collect())
    }

    fn add_flows(events: &[Value], spans: &mut BTreeMap<usize, Seen>) {
        let span = |event: &Value| event["args"]["span"].as_u64().unwrap() as usize;
        let mut starts: BTreeMap<&str, &Value> = BTreeMap::new();
        for event in events {
            match event["ph"].as_str().unwrap() {
                "s" => drop(starts.insert(event["id"].as_str().unwrap(), event)),
                "f" => {
                    let start = starts.remove(event["id"].as_str().unwrap()).unwrap();
                    assert!(start["ts"].as_f64() <= event["ts"].as_f64());
                    spans.get_mut(&span(event)).unwrap().after.push(span(start));
                }
                _ => {}
            }
        }
        assert!(starts.is_empty());
    }
}
