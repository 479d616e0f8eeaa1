//! Timelines of programs, measured and predicted.

use shardwise::debug::{Checks, with_checks};
use shardwise::prelude::*;
use shardwise::timeline::{LaneKind, Maker, Span, SpanKind, Timeline};

fn on_eight() -> Array {
    set_mesh(Mesh::auto([("data", 4), ("model", 2)]).unwrap());
    arange(0..64, F32).reshape([8, 8]).shard(P!("data", "model"))
}

fn code_of(error: &Error) -> &str {
    error.diagnostics().next().expect("an error has a message").code()
}

fn looped(x: &Array) -> Array {
    fori_loop(0..5, x.clone(), |_, x| x.matmul(x.t()).tanh())
}

#[test]
fn a_measured_timeline_has_every_run_of_every_instruction() {
    let x = on_eight();
    let other = arange(0..1 << 20, F32);
    other.to_vec::<f32>().unwrap();
    let looped = jit(looped);
    let profile = profile(|| looped(&x)).unwrap();
    let timeline = profile.timeline();
    timeline.check().unwrap();
    assert!(matches!(&timeline.maker, Maker::Measured { machine } if machine.starts_with("host, ")));
    assert_eq!(timeline.device_count, 8);
    let runs: u64 = profile.into_iter().map(|i| i.count).sum();
    let own = || timeline.spans.iter().filter(|s| timeline.lanes[s.lane].kind == LaneKind::Program);
    assert_eq!(own().map(|s| s.runs).sum::<u64>(), runs);
    let has_tanh = |s: &&Span| s.ops.iter().any(|op| op.contains("tanh"));
    let turns: Vec<u64> = own().filter(has_tanh).filter_map(|s| s.turn).collect();
    assert_eq!(turns, [0, 1, 2, 3, 4]);
    assert!(timeline.spans.iter().any(|s| s.kind == SpanKind::Collective && s.reason.is_some()));
    assert!(own().any(|s| !s.after.is_empty()) && !timeline.at_peak.is_empty());
    assert!(timeline.lanes.iter().any(|lane| lane.kind == LaneKind::Worker));
    // The other array of the process takes 4 MiB and is not the program's.
    let peak = timeline.peak_memory().unwrap().bytes;
    assert!((8 * 8 * 4..1 << 20).contains(&peak), "{peak}");
    drop(other);
}

#[test]
fn programs_that_follow_each_other_are_one_timeline() {
    let x = on_eight();
    let (twice, sum) = (jit(|x: &Array| x * 2.0), jit(|x: &Array| x.sum(..)));
    let timeline = profile(|| sum(&twice(&x)?)).unwrap().timeline();
    timeline.check().unwrap();
    assert!(timeline.spans.iter().any(|s| s.name.contains("multiply")));
    assert!(timeline.spans.iter().any(|s| s.name.contains("reduce")));
}

#[test]
fn programs_with_checks_for_numbers_are_timed() {
    let x = on_eight();
    let looped = jit(looped);
    let profile = profile(|| with_checks(Checks::nans(), || looped(&x))).unwrap();
    let counts: Vec<u64> = profile.into_iter().filter(|i| i.name == "stablehlo.tanh").map(|i| i.count).collect();
    assert_eq!(counts, [5], "{profile}");
    profile.timeline().check().unwrap();
}

#[test]
fn a_prediction_has_the_collectives_of_the_program() {
    let x = on_eight();
    let compiled = jit(looped).lower(&x).unwrap().compile().unwrap();
    let timeline = compiled.simulate(&Topology::tpu_v5e([2, 4])).unwrap();
    timeline.check().unwrap();
    let on_links = |t: &Timeline| t.spans.iter().filter(|s| t.lanes[s.lane].kind == LaneKind::Link).count();
    assert!(on_links(&timeline) > 0);
    let summary = Topology::tpu_v5e([2, 4]).summary(&timeline).unwrap();
    assert!(summary.fits() && summary.step_time == timeline.end() && summary.flops > 0);
    assert_eq!(compiled.simulate(&Topology::tpu_v5e([2, 4])).unwrap().to_string(), timeline.to_string());
}

#[test]
fn machines_that_do_not_fit_are_refused_at_the_callers_line() {
    let x = on_eight();
    let compiled = jit(looped).lower(&x).unwrap().compile().unwrap();
    for (topology, code) in [(Topology::tpu_v5e([4, 4]), "topology-mesh"), (Topology::tpu_v5e([0, 4]), "topology-grid")]
    {
        let (line, error) = (line!(), compiled.simulate(&topology).unwrap_err());
        assert_eq!(code_of(&error), code);
        assert!(error.to_string().contains(&format!("timelines.rs:{line}")), "{error}");
    }
    for (text, code) in [("v5x:2x4", "machine-unknown"), ("v5e:2x", "topology-grid"), ("v5e", "topology-grid")] {
        assert_eq!(code_of(&Topology::parse(text).unwrap_err()), code);
    }
}

#[test]
fn a_mesh_keeps_the_pods_of_its_topology() {
    let pods = Topology::parse("v5e:2x4*2").unwrap();
    set_mesh(Mesh::auto([("data", 8), ("model", 2)]).unwrap().with_topology(&pods));
    let x = arange(0..256, F32).reshape([16, 16]).shard(P!("data", "model"));
    let lowered = jit(looped).lower(&x).unwrap();
    let read = Program::parse(&lowered.as_text()).unwrap().as_text();
    assert!(read.contains("pods = 2"), "{read}");
    let explained = lowered.compile().unwrap().explain().unwrap().to_string();
    assert!(explained.contains("predicted on v5e:2x4*2"), "{explained}");
}

#[test]
fn profiles_are_saved_by_their_extension() {
    let x = on_eight();
    let profile = profile(|| looped(&x)).unwrap();
    let folder = std::env::temp_dir().join(format!("shardwise-timelines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["a.html", "a.json", "a.pftrace", "a.xplane.pb"] {
        profile.save(folder.join(name)).unwrap();
        assert!(std::fs::metadata(folder.join(name)).unwrap().len() > 100);
    }
    let error = profile.save(folder.join("a.txt")).unwrap_err();
    assert_eq!(code_of(&error), "timeline-format");
    std::fs::remove_dir_all(folder).unwrap();
}
