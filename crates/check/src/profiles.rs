//! Invariants of measured timelines of generated programs.

use crate::choose::Chooser;
use crate::generate::case;
use crate::program::program;
use crate::run::{budget, partitioned};
use crate::single::Fill;
use shardwise_base::{DType, Diagnostics, Literal};
use shardwise_engine::{Argument, Engine, InstructionRun, RunProfile, Signature};
use shardwise_host::HostEngine;
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use shardwise_view::{LaneIndex, LaneKind, Span, SpanKind, Timeline};

fn profiled(local: &Module, inputs: &[Literal]) -> Result<RunProfile, Diagnostics> {
    let profile = || {
        let engine = HostEngine::default();
        let program = engine.compile(local)?;
        let types = program.signature().inputs.clone();
        let put = |(x, ty)| Ok(Argument::Lent(engine.put(x, ty)?));
        let args = inputs.iter().zip(&types).map(put).collect::<Result<Vec<_>, Diagnostics>>()?;
        Ok(program.profile(args)?.1)
    };
    budget().run(profile).unwrap_or_else(|stop| Err(stop.diagnostic(&shardwise_base::Loc::UNKNOWN).into()))
}

fn spans_of(timeline: &Timeline, kind: LaneKind) -> Vec<&Span> {
    timeline.spans.iter().filter(|span| timeline.lanes[span.lane].kind == kind).collect()
}

fn fault(profile: &RunProfile) -> Option<String> {
    let timeline = profile.timeline("generated");
    if let Err(fault) = timeline.check() {
        return Some(fault);
    }
    let counted: u64 = profile.totals.iter().map(|total| total.count).sum();
    let program = spans_of(&timeline, LaneKind::Program);
    let listed: u64 = program.iter().map(|span| span.runs).sum();
    if listed < counted && timeline.notes.iter().all(|note| !note.starts_with("only the first")) {
        return Some(format!("{listed} runs are listed of {counted}"));
    }
    let is_leaf = |span: &&&Span| span.kind != SpanKind::Control;
    let leaves: Vec<&Span> = program.iter().filter(is_leaf).copied().collect();
    let outside = |span: &&&Span| !leaves.iter().any(|own| own.start <= span.start && span.end <= own.end);
    let workers = spans_of(&timeline, LaneKind::Worker);
    if let Some(span) = workers.iter().find(outside) {
        return Some(format!("`{}` of a worker is in no instruction", span.name));
    }
    let overlap = |lane: LaneIndex| {
        let mut own: Vec<&&Span> = workers.iter().filter(|span| span.lane == lane).collect();
        // A span without a duration comes before one that starts where it ends.
        own.sort_by_key(|span| (span.start, span.end));
        let pair = own.windows(2).find(|pair| pair[0].end > pair[1].start)?;
        let [first, second] = [pair[0], pair[1]].map(|s| format!("`{}` ({} to {} ps)", s.name, s.start, s.end));
        Some(format!("{first} and {second} of a worker overlap"))
    };
    if let Some(fault) = timeline.lanes.keys().find_map(overlap) {
        return Some(fault);
    }
    let flops = |spans: &[&Span]| -> u64 {
        let of = |span: &&Span| span.of_all_instances(span.work.flops.unwrap_or(0));
        spans.iter().map(of).fold(0, u64::saturating_add)
    };
    let (all, shared) = (flops(&leaves), flops(&workers));
    (all != shared).then(|| format!("the workers compute {shared} flops of {all}"))
}

#[test]
fn timelines_of_generated_programs_are_consistent() {
    let mut ran = 0;
    for seed in 0..400 {
        let case = case(seed);
        let Ok(local) = budget().run(|| partitioned(&case.module)).expect("it ends") else { continue };
        let Ok(profile) = profiled(&local.module, &case.inputs) else { continue };
        assert_eq!(fault(&profile), None, "seed {seed}");
        let peak = profile.runs.iter().map(|run| run.peak_bytes).max().unwrap_or(0) as u64;
        let alive: u64 = profile.at_peak.iter().map(|part| part.bytes).sum();
        assert!(profile.runs.is_empty() || (alive > 0 || peak == 0), "seed {seed}: {alive} of {peak}");
        ran += 1;
    }
    assert!(ran > 300, "{ran}");
}

#[test]
fn a_small_instruction_between_large_ones_has_the_work_of_all_devices() {
    let spec = r#"{sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}"#;
    let (few, many) = ("tensor<8xf32>", "tensor<40000xf32>");
    let source = format!(
        r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: {few} {spec}, %y: {many} {spec}) -> ({few} {spec}, {many} {spec}, {many} {spec}) {{
  %0 = stablehlo.sine %y : {many}
  %1 = stablehlo.add %x, %x : {few}
  %2 = stablehlo.cosine %y : {many}
  return %1, %0, %2 : {few}, {many}, {many}
}}"#
    );
    let local = partitioned(&text::parse("profile.mlir", &source, &OPS).unwrap()).unwrap();
    let inputs = [8usize, 40_000].map(|n| Literal::zeros(DType::F32, [n]));
    let profile = profiled(&local.module, &inputs).unwrap();
    let name = |run: &InstructionRun| profile.instructions[run.instruction].name.clone();
    let runs: Vec<(String, usize)> = profile.runs.iter().map(|run| (name(run), run.instances)).collect();
    assert_eq!(runs, ["sine", "add", "cosine"].map(|op| (format!("stablehlo.{op}"), 2usize)));
}

#[test]
fn timelines_of_programs_with_loops_and_branches_are_consistent() {
    let (mut ran, mut waits) = (0, 0);
    for seed in 0..600 {
        let program = program(seed);
        let parsed = text::parse("profile.mlir", &program.text, &OPS).and_then(|m| verify(&m).or(m));
        let Ok(module) = parsed else { continue };
        let Ok(local) = partitioned(&module) else { continue };
        let mut choose = Chooser::new(seed);
        let types = Signature::of(local.module.main().expect("a function")).expect("arrays").inputs;
        let inputs: Vec<Literal> = types.iter().map(|ty| Fill::Small.literal(&mut choose, &ty.ty)).collect();
        let Ok(profile) = profiled(&local.module, &inputs) else { continue };
        assert_eq!(fault(&profile), None, "seed {seed}\n{}", program.text);
        waits += profile.timeline("generated").spans.iter().filter(|span| !span.after.is_empty()).count();
        ran += 1;
    }
    assert!(ran > 300 && waits > 300, "{ran} {waits}");
}
