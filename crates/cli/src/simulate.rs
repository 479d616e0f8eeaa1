//! `shardwise simulate`: predicts how long a program takes on a machine that need not be here.

use crate::out::{self, Output};
use crate::source::printed;
use crate::{SimulateArgs, timelines};
use serde_json::{Value, json};
use shardwise_base::{Diagnostic, Diagnostics};
use shardwise_ir::Module;
use shardwise_ir::text::PrintOptions;
use shardwise_schedule::{Decision, Options, Scheduled, schedule};
use shardwise_sim::{Machine, Overlap, Summary, Topology};
use shardwise_view::{Span, SpanKind, Timeline};

pub fn simulate(args: &SimulateArgs) -> Result<(), Diagnostics> {
    let own = args.machine.as_deref().map(Machine::load).transpose()?;
    let parsed = |text: &str| match own {
        Some(own) => Topology::parse_with(text, Some(own)),
        None => Topology::parse(text),
    };
    let stated = args.topology.as_deref().map(parsed).transpose()?;
    timelines::check(args.output.as_deref())?;
    let module = args.source.read()?;
    let topology = needed_topology(stated, &module)?;
    let local = args.source.partition(&module, Some(topology.clone()))?.module;
    let at_program = |found: Diagnostics| found.located(module.program_loc());
    let scheduled =
        schedule(&local, &topology, Overlap::from(args.overlap), &Options::default()).map_err(at_program)?;
    if args.program {
        return print(&scheduled);
    }
    let mut timeline = scheduled.timeline(&topology).map_err(at_program)?;
    timeline.program = args.source.file.display().to_string();
    if args.json {
        say!("{:#}", json(&timeline, &topology));
        return Ok(());
    }
    timelines::show(&timeline, args.output.as_deref().unwrap_or(timelines::PRINTED.as_ref()), &args.source)
}

fn print(scheduled: &Scheduled) -> Result<(), Diagnostics> {
    let notes: Vec<Diagnostic> = scheduled.decisions.iter().map(Decision::note).collect();
    out::warn(&notes);
    let mut output = Output::new(None)?;
    output.write(&printed(&scheduled.module, &PrintOptions::default().without_varying()))?;
    output.finish()
}

/// Returns the topology that the command states, or else the one that the program's mesh states. Returns `None` if
/// neither states one. Fails if the mesh states a machine that is not known, or a grid that is not one of the machine.
pub fn chosen_topology(stated: Option<Topology>, module: &Module) -> Result<Option<Topology>, Diagnostics> {
    match stated {
        Some(topology) => Ok(Some(topology)),
        None => module.main_mesh().and_then(|mesh| Topology::of_mesh(mesh)).transpose(),
    }
}

/// Returns the topology as [`chosen_topology`] does. Fails if there is none, or as that function does.
pub fn needed_topology(stated: Option<Topology>, module: &Module) -> Result<Topology, Diagnostics> {
    Ok(chosen_topology(stated, module)?.ok_or_else(|| no_topology(module))?)
}

fn no_topology(module: &Module) -> Diagnostic {
    let machines: Vec<&str> = Machine::all().iter().map(|machine| &*machine.name).collect();
    Diagnostic::error("topology-missing", &module.loc, "neither the command nor the mesh states a machine")
        .facts(format!("machines: {}", machines.join(", ")))
        .help("state the machine and its grid of chips: `--topology v5e:2x4`, or `schedule{topology=v5e:2x4}` in `opt`")
}

fn json(timeline: &Timeline, topology: &Topology) -> Value {
    let summary = Summary::of(timeline, topology);
    json!({
        "topology": topology.to_string(),
        "step_us": microseconds(timeline.end()),
        "step_us_range": timeline.end_range().map(|range| range.map(microseconds)),
        "uncertainty": timeline.uncertainty,
        "flops": summary.flops,
        "utilization": summary.utilization,
        "peak_bytes": summary.peak_bytes,
        "capacity_bytes": summary.capacity_bytes,
        "fits": summary.fits(),
        "notes": timeline.notes,
        "spans": timeline.spans.iter().map(|span| of_span(timeline, span)).collect::<Vec<_>>(),
    })
}

fn of_span(timeline: &Timeline, span: &Span) -> Value {
    json!({
        "lane": timeline.lanes[span.lane].name,
        "name": span.name,
        "op": span.ops.join(", "),
        "start_us": microseconds(span.start),
        "end_us": microseconds(span.end),
        "us_range": span.duration_range().map(|range| range.map(microseconds)),
        "uncertainty": span.uncertainty,
        "instances": span.instances,
        "is_collective": span.kind == SpanKind::Collective,
        "runs": span.runs,
        "turn": span.turn,
        "source": span.source(),
        "flops": span.work.flops,
        "memory_bytes": span.work.memory_bytes,
        "received_bytes": span.work.received_bytes,
        "reason": span.reason,
        "note": span.note,
    })
}

pub fn microseconds(picoseconds: u64) -> f64 {
    picoseconds as f64 / 1e6
}
