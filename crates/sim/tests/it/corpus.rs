//! Checks rules that the timeline of every program follows.

use crate::programs::listing;
use shardwise_base::Mesh;
use shardwise_ir::{Module, text};
use shardwise_ops::OPS;
use shardwise_sim::{Options, Overlap, Topology, simulate};
use shardwise_spmd::partition;
use shardwise_view::{LaneKind, Span, SpanKind, Timeline};
use std::path::{Path, PathBuf};

const OVERLAPS: [Overlap; 3] = [Overlap::Off, Overlap::Auto, Overlap::Force];

/// Returns the programs of the corpus, without what Shardy makes of them, and those of the cost tables.
fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let folders = std::fs::read_dir(root.join("corpus")).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.chain([root.join("cost")]);
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let is_program = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".mlir") && name.matches('.').count() == 1
    };
    let mut files: Vec<PathBuf> = files.filter(is_program).collect();
    files.sort();
    assert!(files.len() >= 80);
    files
}

fn per_device(path: &Path) -> Module {
    let source = std::fs::read_to_string(path).unwrap();
    let module = text::parse(path.to_str().unwrap(), &source, &OPS).unwrap_or_else(|e| panic!("{e}"));
    partition(&module, &mut Default::default()).unwrap_or_else(|e| panic!("{e}")).module
}

fn topologies(mesh: Option<&Mesh>) -> Vec<Topology> {
    let n = mesh.map_or(1, Mesh::size);
    let mut texts = vec![format!("v5e:{n}x1"), format!("v4:1x1x{n}"), format!("h100:{n}x1"), format!("v5e:1x1*{n}")];
    if n == 8 {
        texts.extend(
            ["v5e:2x4", "7x:2x2x1", "h100:1x8", "v5p:2x2x2", "v2:2x2", "v6e:2x4", "gb200:2x4"].map(String::from),
        );
    }
    texts.iter().map(|text| Topology::parse(text).unwrap()).collect()
}

/// Checks the rules of a timeline. Fails with a sentence about the first one that is broken.
fn check(timeline: &Timeline) -> Result<(), String> {
    let spans: Vec<&Span> = timeline.spans.iter().collect();
    for pair in spans.windows(2) {
        require(pair[0].start <= pair[1].start, || format!("{} is before {}", pair[1].name, pair[0].name))?;
    }
    for span in &spans {
        require(span.start <= span.end, || format!("{} ends before it starts", span.name))?;
        for &before in &span.after {
            let before = &timeline.spans[before];
            let is_control = before.kind == SpanKind::Control;
            // The core waits until a transfer ends.
            let until = if span.kind == SpanKind::Wait { span.end } else { span.start };
            let name = || format!("{} starts before {} ends", span.name, before.name);
            require(is_control || before.end <= until, name)?;
        }
        let work = (span.work.least_time, span.kind);
        if let (Some(least), SpanKind::Compute | SpanKind::Collective) = work {
            require(least <= span.duration(), || format!("{} is faster than the machine", span.name))?;
        }
    }
    for lane in timeline.lanes.keys() {
        let mut open: Vec<&Span> = vec![];
        for span in spans.iter().filter(|span| span.lane == lane) {
            open.retain(|outer| outer.end > span.start);
            let is_inside = open.iter().all(|outer| outer.kind == SpanKind::Control && span.end <= outer.end);
            require(is_inside || span.duration() == 0, || format!("{} overlaps another span", span.name))?;
            open.push(span);
        }
    }
    Ok(())
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

#[test]
fn timelines_of_the_corpus_follow_the_rules() {
    for path in programs() {
        let module = per_device(&path);
        for topology in topologies(module.main_mesh().map(|mesh| &**mesh)) {
            let mut in_order = 0;
            for overlap in OVERLAPS {
                let timeline = simulate(&module, &topology, &Options { overlap }).unwrap_or_else(|e| panic!("{e}"));
                let what = format!("{} on {topology}, {overlap:?}", path.display());
                check(&timeline).unwrap_or_else(|e| panic!("{what}: {e}\n{}", listing(&timeline)));
                // Arithmetic on scalars takes no time, and neither does a loop of it.
                let is_idle = timeline.spans.iter().all(|span| span.kind == SpanKind::Control);
                assert_eq!(timeline.end() == 0, is_idle, "{what}");
                let again = simulate(&module, &topology, &Options { overlap }).unwrap();
                assert_eq!(format!("{timeline:?}"), format!("{again:?}"), "{what}");
                match overlap {
                    Overlap::Off => in_order = timeline.end(),
                    Overlap::Auto => assert!(timeline.end() <= in_order, "{what}"),
                    Overlap::Force => {}
                }
                let spmd = shardwise_spmd::communication(&module).rows.len();
                let found = timeline.lanes.iter().filter(|lane| lane.kind == LaneKind::Link).count();
                assert!(spmd > 0 || found == 0, "{what}");
            }
        }
    }
}
