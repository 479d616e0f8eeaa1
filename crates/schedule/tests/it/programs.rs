//! Programs as text, and what the scheduler makes of them.

use shardwise_base::Literal;
use shardwise_base::compare::{Tolerance, compare};
use shardwise_check::run::on;
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_schedule::{Options, Scheduled, schedule};
use shardwise_sim::{self as sim, Overlap, Topology, simulate};
use shardwise_spmd::{PASSES, partition, uniform, verify_stage};
use shardwise_view::Timeline;

/// Returns the per-device program of a program. Panics if the text cannot be parsed or partitioned.
pub fn localized(source: &str) -> Module {
    let module = parse("program.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}"));
    partition(&module, &mut Default::default()).unwrap_or_else(|e| panic!("{e}")).module
}

/// Returns the per-device program as the file of the simulator's published points has it. Panics if the file cannot be
/// read or parsed.
pub fn published(name: &str) -> Module {
    let path = format!("{}/../sim/data/programs/{name}.mlir", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    parse(&path, &source, &OPS).unwrap_or_else(|e| panic!("{e}"))
}

pub fn topology(text: &str) -> Topology {
    Topology::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

/// Schedules a program, and checks what holds for every scheduled program ([`check`]). Panics if it cannot be scheduled
/// or the check fails.
pub fn scheduled(module: &Module, topology: &Topology, overlap: Overlap) -> Scheduled {
    let out = schedule(module, topology, overlap, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    check(&out, topology).unwrap_or_else(|e| panic!("{e}\n{}", shown(&out.module)));
    out
}

/// Checks that a scheduled program is valid, prints and reads back, keeps what the partitioner guarantees, and takes
/// the time and the memory that were promised. Returns the first fault.
pub fn check(out: &Scheduled, topology: &Topology) -> Result<(), String> {
    let found = verify(&out.module);
    if found.has_errors() {
        return Err(found.to_string());
    }
    verify_stage(PASSES, "uniform", &out.module).map_err(|e| e.to_string())?;
    let inferred = print(&uniform::uniform(out.module.clone()).map_err(|e| e.to_string())?, &PrintOptions::EXACT);
    let text = print(&out.module, &PrintOptions::EXACT);
    if inferred != text {
        return Err(format!("other values vary:\n{inferred}"));
    }
    let again = parse("again.mlir", &text, &OPS).map_err(|e| e.to_string())?;
    if print(&again, &PrintOptions::EXACT) != text {
        return Err("it does not read back".into());
    }
    let timeline = predicted(&out.module, topology, Overlap::Off);
    let peak = timeline.peak_memory().map_or(0, |peak| peak.bytes);
    match (timeline.end(), peak) == (out.after, out.peak_after) {
        true => Ok(()),
        false => Err(format!("promised {}, {}; it takes {}, {peak}", out.after, out.peak_after, timeline.end())),
    }
}

pub fn predicted(module: &Module, topology: &Topology, overlap: Overlap) -> Timeline {
    simulate(module, topology, &sim::Options { overlap }).unwrap_or_else(|e| panic!("{e}"))
}

pub fn shown(module: &Module) -> String {
    print(module, &PrintOptions::default())
}

/// Runs the program on the host engine, and the scheduled one on both engines. Returns an error if one of them cannot
/// be run, or if results are not equal numbers. Zeros of both signs are equal.
pub fn agree(module: &Module, scheduled: &Module, inputs: &[Literal]) -> Result<(), String> {
    let host = HostEngine::default();
    let want = on(&host, module, inputs).map_err(|e| e.to_string())?;
    for engine in [&host as &dyn Engine, &InterpEngine] {
        let got = on(engine, scheduled, inputs).map_err(|e| format!("{}: {e}", engine.name()))?;
        compare(&got, &want, |_| Tolerance::Numbers).map_err(|why| format!("{}: {why}", engine.name()))?;
    }
    Ok(())
}
