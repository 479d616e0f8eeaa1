//! Properties of generated timelines, and answers worked out by hand.

use crate::facts::{Fact, facts};
use crate::nesting::Nesting;
use crate::{Lane, LaneKind, Maker, MemoryPart, MemoryUse, Span, SpanIndex, SpanKind, Timeline, Work, generated};
use crate::{chrome, page, perfetto, xspace};
use expect_test::{Expect, expect};
use shardwise_base::Loc;
use std::collections::BTreeMap;

const CASES: u64 = 400;

/// A span as a file describes it.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Seen {
    /// The kind and the name of the lane.
    pub lane: (String, String),
    pub name: String,
    /// The number of spans that contain the span.
    pub depth: usize,
    /// The facts as text.
    pub facts: BTreeMap<String, String>,
    /// The numbers of the spans for which the span waits.
    pub after: Vec<usize>,
}

/// A timeline as a file describes it: its spans by number, and the memory in use.
pub(crate) type SeenTimeline = (BTreeMap<usize, Seen>, Vec<(u64, u64)>);

fn expected(timeline: &Timeline) -> SeenTimeline {
    let nesting = Nesting::of(timeline);
    let seen = |index: SpanIndex| {
        let span = &timeline.spans[index];
        let lane = &timeline.lanes[span.lane];
        let seen = Seen {
            lane: (lane.kind.name().into(), lane.name.clone()),
            name: span.name.clone(),
            depth: nesting.depths[index],
            facts: facts(span).into_iter().map(|(name, fact)| (name.into(), fact_text(&fact))).collect(),
            after: span.after.iter().map(|before| before.index()).collect(),
        };
        (index.index(), seen)
    };
    let memory = timeline.memory.iter().map(|used| (used.start, used.bytes)).collect();
    (timeline.spans.keys().map(seen).collect(), memory)
}

pub(crate) fn fact_text(fact: &Fact) -> String {
    match fact {
        Fact::Text(text) => text.clone(),
        Fact::Number(number) => number.to_string(),
        // The reader of JSON that the tests use is off by a bit at times.
        Fact::Share(share) => format!("{share:.9}"),
    }
}

#[test]
fn all_files_hold_the_same_facts() {
    for seed in 0..CASES / 4 {
        let timeline = generated::timeline(seed);
        let whole = expected(&timeline);
        let in_nanoseconds =
            (whole.0.clone(), whole.1.iter().map(|&(start, bytes)| (start / 1000, bytes)).collect::<Vec<_>>());
        let check = |format: &str, seen: SeenTimeline, expected: &SeenTimeline| {
            for (span, expected) in &expected.0 {
                assert_eq!(seen.0.get(span), Some(expected), "seed {seed}, {format}, span {span}");
            }
            assert_eq!(seen.0.len(), expected.0.len(), "seed {seed}, {format}");
            assert_eq!(seen.1, expected.1, "seed {seed}, {format}");
        };
        check("chrome", chrome::tests::seen(&timeline.to_chrome_json()), &in_nanoseconds);
        check("perfetto", perfetto::tests::seen(&timeline.to_perfetto()), &in_nanoseconds);
        check("xspace", xspace::tests::seen(&timeline.to_xspace()), &whole);
        check("page", page::tests::seen(&timeline.to_html(Some("a\nb"))), &whole);
    }
}

#[test]
fn generated_timelines_are_valid_and_varied() {
    let (mut nested, mut instants, mut waits) = (0, 0, 0);
    for seed in 0..CASES {
        let timeline = generated::timeline(seed);
        timeline.check().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        nested += Nesting::of(&timeline).depths.iter().filter(|&&depth| depth > 1).count();
        instants += timeline.spans.iter().filter(|span| span.duration() == 0).count();
        waits += timeline.spans.iter().filter(|span| !span.after.is_empty()).count();
    }
    assert!(nested > 1000 && instants > 1000 && waits > 1000, "{nested} {instants} {waits}");
}

#[test]
fn faults_are_found() {
    type Edit = fn(&mut Timeline);
    let edits: [(&str, Edit); 8] = [
        ("ends before it starts", |t| t.spans[SpanIndex::new(1)].end = 0),
        ("follows a span that starts at 10", |t| t.spans[SpanIndex::new(2)].start = 9),
        ("ends after the span around it, which ends at 20", |t| t.spans[SpanIndex::new(2)].end = 21),
        ("waits for span0, which ends at 11", |t| t.spans[SpanIndex::new(0)].end = 11),
        ("waits for span9, which does not exist", |t| t.spans[SpanIndex::new(1)].after = vec![SpanIndex::new(9)]),
        ("waits for span1, which ends at 20", |t| t.spans[SpanIndex::new(1)].after = vec![SpanIndex::new(1)]),
        ("stands for 0 runs on 1 devices", |t| t.spans[SpanIndex::new(1)].runs = 0),
        ("the memory in use from 3 on follows that from 4", |t| {
            t.memory = [4, 3].map(|start| MemoryUse { start, bytes: 1 }).to_vec();
        }),
    ];
    for (message, edit) in edits {
        let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
        let lanes = ["x", "y"].map(|name| Lane { name: name.into(), kind: LaneKind::Core });
        let [x, y] = lanes.map(|lane| timeline.lanes.push(lane));
        timeline.spans.push(Span::new(x, "a", SpanKind::Compute, 0..10));
        let after = vec![SpanIndex::new(0)];
        timeline.spans.push(Span { after, ..Span::new(y, "b", SpanKind::Control, 10..20) });
        timeline.spans.push(Span::new(y, "c", SpanKind::Compute, 10..20));
        assert_eq!(timeline.check(), Ok(()));
        edit(&mut timeline);
        let fault = timeline.check().unwrap_err();
        assert!(fault.contains(message), "{fault}, expected {message}");
    }
}

/// Returns the predicted timeline of a collective matmul on eight devices, with the core and a link of one of them: a
/// wait at the start, and then four products, and three transfers that run in the meantime.
fn collective_matmul() -> Timeline {
    let mut timeline = Timeline::new("matmul.mlir", Maker::Predicted { machine: "TPU v5e 2x4".into() });
    timeline.device_count = 8;
    let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
    let link = timeline.lanes.push(Lane { name: "link x+".into(), kind: LaneKind::Link });
    let permute = |after: &[SpanIndex], start: u64| Span {
        after: after.to_vec(),
        loc: Loc::file("matmul.mlir", 4, 3),
        turn: Some(start / 60_000_000),
        work: Work { received_bytes: Some(1 << 20), least_time: Some(20_000_000), ..Work::default() },
        ..Span::new(link, "collective_permute", SpanKind::Collective, start..start + 30_000_000)
    };
    let dot = |after: &[SpanIndex], start: u64, turn: u64| Span {
        after: after.to_vec(),
        ops: vec!["stablehlo.dot_general".into()],
        loc: Loc::file("matmul.mlir", 5, 3),
        turn: Some(turn),
        devices: 8,
        work: Work { flops: Some(1 << 30), least_time: Some(54_000_000), ..Work::default() },
        ..Span::new(core, "dot_general", SpanKind::Compute, start..start + 60_000_000)
    };
    let wait = Span::new(core, "wait", SpanKind::Wait, 0..4_000_000);
    let wait = timeline.spans.push(wait);
    let mut sent = timeline.spans.push(permute(&[], 0));
    let mut last = timeline.spans.push(dot(&[wait], 4_000_000, 0));
    for turn in 1..4 {
        let start = 4_000_000 + turn * 60_000_000;
        let received = sent;
        if turn < 3 {
            sent = timeline.spans.push(permute(&[received], start));
        }
        last = timeline.spans.push(dot(&[last, received], start, turn));
    }
    timeline.memory = vec![
        MemoryUse { start: 0, bytes: 1 << 20 },
        MemoryUse { start: 4_000_000, bytes: 41 << 20 },
        MemoryUse { start: 90_000_000, bytes: 40 << 20 },
    ];
    timeline.at_peak = vec![
        MemoryPart { name: "argument 1".into(), loc: Loc::UNKNOWN, bytes: 30 << 20 },
        MemoryPart { name: "dot_general".into(), loc: Loc::file("matmul.mlir", 5, 3), bytes: 11 << 20 },
    ];
    timeline
}

/// Returns a measured timeline of the program of [`collective_matmul`]: an all-gather, and then one product.
fn blocking() -> Timeline {
    let mut timeline = Timeline::new("matmul.mlir", Maker::Measured { machine: "host, 2 workers".into() });
    timeline.device_count = 8;
    let lane = timeline.lanes.push(Lane { name: "program".into(), kind: LaneKind::Program });
    let gather = Span::new(lane, "all_gather", SpanKind::Collective, 0..89_200_000);
    timeline.spans.push(Span { loc: Loc::file("matmul.mlir", 4, 3), ..gather });
    let dot = Span::new(lane, "dot_general", SpanKind::Compute, 89_200_000..311_700_000);
    let ops = vec!["stablehlo.dot_general".into()];
    timeline.spans.push(Span { ops, loc: Loc::file("matmul.mlir", 5, 3), ..dot });
    timeline
}

fn check(text: String, expected: Expect) {
    expected.assert_eq(&text);
}

#[test]
fn text_of_a_prediction() {
    let timeline = collective_matmul();
    assert_eq!(timeline.check(), Ok(()));
    check(
        timeline.to_string(),
        expect![[r#"
            matmul.mlir, predicted on TPU v5e 2x4, 8 devices
            time                           244.0 us
            computing                      98.4 %
            only communicating or waiting  4.0 us, 1.6 %
            links in use                   36.9 %
            peak memory                    41 MiB at 4.0 us

                time   share  runs  instruction  source                   rate  of the limit  kind
              4.0 us   1.6 %     1  wait                                                      wait
            240.0 us  98.4 %     4  dot_general  matmul.mlir:5:3  17.9 Tflop/s        90.0 %

            on the links:
               time   share  runs  instruction         source           received  of the limit  kind
            90.0 us  36.9 %     3  collective_permute  matmul.mlir:4:3     3 MiB        66.7 %  collective

            in memory at the peak:
             bytes   share  value        source
            30 MiB  73.2 %  argument 1
            11 MiB  26.8 %  dot_general  matmul.mlir:5:3

            critical path of 5 spans:
             start      time  spans  instruction  lane  source
              0 ps    4.0 us         wait         core
            4.0 us  240.0 us      4  dot_general  core  matmul.mlir:5:3"#]],
    );
}

#[test]
fn text_of_a_measurement() {
    check(
        blocking().to_string(),
        expect![[r#"
        matmul.mlir, measured on host, 2 workers, 8 devices
        time                           311.7 us
        computing                      71.4 %
        only communicating or waiting  89.2 us, 28.6 %

            time   share  runs  instruction  source           kind
         89.2 us  28.6 %     1  all_gather   matmul.mlir:4:3  collective
        222.5 us  71.4 %     1  dot_general  matmul.mlir:5:3"#]],
    );
    let empty = Timeline::new("a.mlir", Maker::Measured { machine: "host".into() });
    check(
        empty.to_string(),
        expect![[r#"
        a.mlir, measured on host, 1 device
        time  0 ps"#]],
    );
}

#[test]
fn a_peak_that_a_run_does_not_reach_is_called_predicted() {
    let mut timeline = collective_matmul();
    timeline.memory.truncate(1);
    let text = timeline.to_string();
    let title = "in memory at the predicted peak, which this run does not reach:";
    assert!(text.contains(title) && text.contains("73.2 %") && text.contains("26.8 %"), "{text}");
}

#[test]
fn notes_name_their_spans() {
    let mut timeline = Timeline::new("a.mlir", Maker::Predicted { machine: "m".into() });
    let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
    for (name, loc, note) in [("dot", Loc::UNKNOWN, "first"), ("add", Loc::file("a.mlir", 4, 3), "second")] {
        let span = Span::new(core, name, SpanKind::Compute, 0..5);
        timeline.spans.push(Span { loc, note: Some(note.into()), ..span });
    }
    let notes: Vec<String> = timeline.summary().into_iter().filter(|row| row.0 == "note").map(|row| row.1).collect();
    assert_eq!(notes, ["dot: first", "add a.mlir:4:3: second"]);
}

#[test]
fn differences_are_listed_by_size() {
    check(
        blocking().diff(&collective_matmul()).to_string(),
        expect![[r#"
        first:  matmul.mlir, measured on host, 2 workers, 8 devices
        second: matmul.mlir, predicted on TPU v5e 2x4, 8 devices

           first    second  difference  ratio  instruction    source           kind
         89.2 us              -89.2 us         all_gather     matmul.mlir:4:3  collective
        222.5 us  240.0 us    +17.5 us  1.079  dot_general    matmul.mlir:5:3
                    4.0 us     +4.0 us         wait                            wait
        311.7 us  244.0 us    -67.7 us  0.783  the whole run"#]],
    );
}

#[test]
fn a_timeline_does_not_differ_from_itself() {
    for seed in 0..CASES {
        let timeline = generated::timeline(seed);
        let diff = timeline.diff(&timeline);
        assert!(diff.rows.iter().all(|row| row.first == row.second && row.first.is_some()), "seed {seed}");
        let listed: usize = timeline.instructions().iter().map(|i| i.spans.len()).sum();
        let lanes = timeline.lanes_of_first(&[LaneKind::Program, LaneKind::Core, LaneKind::Worker]);
        assert_eq!(listed, timeline.spans.iter().filter(|span| lanes.contains(&span.lane)).count(), "seed {seed}");
    }
}

/// Two spans of the same name in each turn are two instructions, in nested loops as well as without spans of loops.
#[test]
fn instructions_of_loops_are_told_apart() {
    for has_loops in [true, false] {
        let mut timeline = Timeline::new("a", Maker::Measured { machine: "m".into() });
        let lane = timeline.lanes.push(Lane { name: "p".into(), kind: LaneKind::Program });
        let mut now = 0;
        let mut add = |timeline: &mut Timeline, name: &str, kind, length, turn| {
            timeline.spans.push(Span { turn, ..Span::new(lane, name, kind, now..now + length) });
            now += if kind == SpanKind::Control { 0 } else { length };
        };
        add(&mut timeline, "add", SpanKind::Compute, 10, None);
        for outer in 0..2 {
            if has_loops {
                add(&mut timeline, "while", SpanKind::Control, 60, Some(outer));
            }
            for turn in 0..3 {
                add(&mut timeline, "add", SpanKind::Compute, 10, Some(turn));
                add(&mut timeline, "add", SpanKind::Compute, 10, Some(turn));
            }
        }
        add(&mut timeline, "add", SpanKind::Compute, 10, None);
        assert_eq!(timeline.check(), Ok(()));
        let instructions = timeline.instructions();
        let adds: Vec<_> = instructions.iter().filter(|i| i.name == "add").map(|i| (i.key.order, i.runs)).collect();
        assert_eq!(adds, [(0, 7), (1, 7)]);
        assert_eq!(instructions.len(), if has_loops { 3 } else { 2 });
    }
}

/// The communication of a device is exposed where its own lane has a collective or a wait, and where it does not
/// compute while a link is in use.
#[test]
fn exposed_communication_is_what_computing_does_not_hide() {
    let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
    let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
    let link = timeline.lanes.push(Lane { name: "link".into(), kind: LaneKind::Link });
    let spans = [
        (core, SpanKind::Control, 0..100), // a loop
        (core, SpanKind::Compute, 0..10),
        (link, SpanKind::Collective, 5..30), // exposed from 10 to 30
        (core, SpanKind::Wait, 20..40),      // exposed from 20 to 40
        (core, SpanKind::Compute, 50..80),
        (core, SpanKind::Collective, 60..70), // within a computation: exposed
        (core, SpanKind::Control, 75..80),    // has no kind of its own
    ];
    for (lane, kind, time) in spans {
        timeline.spans.push(Span::new(lane, kind.name(), kind, time));
    }
    assert_eq!(timeline.check(), Ok(()));
    assert_eq!(timeline.exposed_communication(), 30 + 10);
    assert_eq!(timeline.compute_utilization(), Some(0.3));
    assert_eq!(timeline.link_utilization(), Some(0.25));
    let other = timeline.lanes.push(Lane { name: "core 1".into(), kind: LaneKind::Core });
    timeline.spans.push(Span::new(other, "dot", SpanKind::Compute, 90..100));
    assert_eq!(timeline.exposed_communication(), (40 + 25) / 2);
    assert_eq!(timeline.compute_utilization(), Some(0.2));
}

/// Each transfer of a device is in one lane of links, so the table adds up the transfers of all these lanes.
#[test]
fn lanes_of_links_count_as_one() {
    let mut timeline = Timeline::new("a.mlir", Maker::Predicted { machine: "m".into() });
    for (number, times) in [[(0, 10), (30, 40)], [(5, 15), (30, 50)]].iter().enumerate() {
        let link = timeline.lanes.push(Lane { name: format!("link {number}"), kind: LaneKind::Link });
        for &(start, end) in times {
            let work = Work { received_bytes: Some(end - start), ..Work::default() };
            let span = Span::new(link, "all_gather", SpanKind::Collective, start..end);
            timeline.spans.push(Span { work, ..span });
        }
    }
    let rows = timeline.instructions_of(&[LaneKind::Link]);
    let found: Vec<_> = rows.iter().map(|row| (row.time, row.runs, row.received_bytes)).collect();
    assert_eq!(found, [(10, 1, Some(10)), (10, 1, Some(10)), (10, 1, Some(10)), (20, 1, Some(20))]);
}

#[test]
fn what_is_not_known_is_absent() {
    let empty = Timeline::new("a.mlir", Maker::Measured { machine: "host".into() });
    assert_eq!((empty.compute_utilization(), empty.link_utilization(), empty.peak_memory()), (None, None, None));
    assert_eq!((empty.exposed_communication(), empty.critical_path(), empty.end()), (0, vec![], 0));
    let span = Span::new(crate::LaneIndex::new(0), "a", SpanKind::Compute, 5..5);
    let names: Vec<&str> = facts(&span).into_iter().map(|fact| fact.0).collect();
    assert_eq!(names, ["kind", "start_ps", "duration_ps"]);
}

/// The path enters a loop, and leaves it for the span in another lane for which the loop waits.
#[test]
fn the_critical_path_enters_loops() {
    let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
    let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
    let link = timeline.lanes.push(Lane { name: "link".into(), kind: LaneKind::Link });
    let mut add = |lane, time, after: &[usize]| {
        let after = after.iter().map(|&span| SpanIndex::new(span)).collect();
        timeline.spans.push(Span { after, ..Span::new(lane, "a", SpanKind::Compute, time) }).index()
    };
    let short = add(core, 0..5, &[]);
    let send = add(link, 0..10, &[]);
    let around = add(core, 10..30, &[send]);
    let first = add(core, 10..18, &[]);
    let second = add(core, 20..30, &[]);
    let last = add(link, 31..40, &[around]);
    assert_eq!(timeline.check(), Ok(()));
    assert_eq!(timeline.critical_path(), [send, first, second, last].map(SpanIndex::new));
    timeline.spans[SpanIndex::new(around)].after = vec![];
    assert_eq!(timeline.critical_path(), [short, first, second, last].map(SpanIndex::new));
    timeline.spans[SpanIndex::new(last)].after = vec![];
    assert_eq!(timeline.critical_path(), vec![]);
}

/// Each span of a path starts when the one before it has ended, or later. The last one ends when the last leaf does,
/// and the first one waits for no span.
#[test]
fn critical_paths_are_ordered() {
    for seed in 0..CASES {
        let timeline = generated::timeline(seed);
        let path = timeline.critical_path();
        for pair in path.windows(2) {
            assert!(pair[0] < pair[1], "seed {seed}");
            assert!(timeline.spans[pair[0]].end <= timeline.spans[pair[1]].start, "seed {seed}");
        }
        let Some(&last) = path.last() else { continue };
        let nesting = Nesting::of(&timeline);
        let leaves = timeline.spans.keys().filter(|&span| !nesting.has_children[span]);
        let end = leaves.map(|span| timeline.spans[span].end).max();
        assert_eq!(Some(timeline.spans[last].end), end, "seed {seed}");
        assert!(timeline.spans[path[0]].after.is_empty(), "seed {seed}");
    }
}

/// At each picosecond, the segments of a lane have the kind that a search over all spans finds.
#[test]
fn utilisation_equals_a_count() {
    for seed in 0..50 {
        let mut timeline = generated::timeline(seed);
        for span in timeline.spans.iter_mut() {
            (span.start, span.end) = (span.start / 5000, span.end / 5000);
        }
        let nesting = Nesting::of(&timeline);
        for lane in timeline.lanes.keys() {
            let counted: Vec<Option<SpanKind>> = (0..200).map(|time| kind_at(&timeline, lane, time)).collect();
            let mut listed = vec![None; 200];
            for (range, kind) in nesting.segments(&timeline, lane) {
                range.for_each(|time| listed[time as usize] = Some(kind));
            }
            assert_eq!(listed, counted, "seed {seed}, {lane:?}");
        }
    }
}

/// Returns the kind of the innermost span of a lane at a time that is not of the kind [`SpanKind::Control`], or `None`
/// if there is none.
fn kind_at(timeline: &Timeline, lane: crate::LaneIndex, time: u64) -> Option<SpanKind> {
    let is_at = |span: &&Span| span.lane == lane && (span.start..span.end).contains(&time);
    let mut spans = timeline.spans.iter().filter(is_at);
    spans.rfind(|span| span.kind != SpanKind::Control).map(|span| span.kind)
}
