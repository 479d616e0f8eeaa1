//! `shardwise explain`: why a program communicates, and which change of one layout would save most of it.

use crate::communication::{cause, joined, location, moved};
use crate::simulate::{chosen_topology, microseconds};
use crate::{ExplainArgs, Source};
use serde_json::{Value, json};
use shardwise_base::{Diagnostic, Diagnostics, Loc, Sharding, printable};
use shardwise_explain::{
    Comparison, Delta, Explanation, Figures, Group, Options, Place, Remedy, Time, Traffic, compare,
    explain as explain_module, rust_spec,
};
use shardwise_sim::{Overlap, Topology};
use shardwise_view::Style;
use std::fmt::Display;
use std::path::Path;

pub fn explain(args: &ExplainArgs) -> Result<(), Diagnostics> {
    if args.source.file == Path::new("-") && args.other.as_ref() == Some(&args.source.file) {
        return Err(read_twice().into());
    }
    let stated = args.topology.as_deref().map(Topology::parse).transpose()?;
    let module = args.source.read()?;
    let options = Options {
        topology: chosen_topology(stated, &module)?,
        overlap: args.overlap.into(),
        trials: args.trials,
        ..Options::default()
    };
    if options.topology.is_none() && options.overlap != Overlap::Off {
        return Err(without_topology().into());
    }
    let other = args.other.as_ref().map(|file| Source { file: file.clone(), dump: None }.read()).transpose()?;
    if let Some(other) = &other {
        let stated = options.topology.clone().filter(|_| args.topology.is_some());
        let topologies =
            [&options.topology, &chosen_topology(stated, other)?].map(|t| t.as_ref().map(Topology::to_string));
        if topologies[0] != topologies[1] {
            return Err(other_topology(topologies).into());
        }
    }
    // Prints warnings, and writes the stages of `--dump`.
    args.source.partition(&module, options.topology.clone())?;
    if let (Some(file), Some(other)) = (&args.other, &other) {
        let mut comparison = compare(&module, other, &options)?;
        comparison.names = [&args.source.file, file].map(|path| path.display().to_string());
        match args.json {
            true => say!("{:#}", of_comparison(&comparison)),
            false => show!("{}\n{}", printable(&comparison.names.join(" -> ")), shown(&comparison)),
        }
        return Ok(());
    }
    let explanation = explain_module(&module, &options)?;
    match args.json {
        true => say!("{:#}", of_explanation(&explanation)),
        false => show!("{}: {}", printable(&args.source.file.display().to_string()), shown(&explanation)),
    }
    Ok(())
}

fn without_topology() -> Diagnostic {
    Diagnostic::error("explain-topology", &Loc::UNKNOWN, "`--overlap` needs a machine, and none is stated")
        .help("pass one, such as `--topology v5e:2x4`, or leave `--overlap` out")
}

fn other_topology(topologies: [Option<String>; 2]) -> Diagnostic {
    let [first, second] = topologies.map(|t| t.map_or("no machine".to_string(), |t| format!("`{t}`")));
    Diagnostic::error("explain-topology", &Loc::UNKNOWN, "the programs are for different machines")
        .facts(format!("the mesh of the first program states {first}, that of the second one {second}"))
        .help("compare them on one machine: `--topology v5e:2x4`")
}

fn read_twice() -> Diagnostic {
    Diagnostic::error("file-repeated", &Loc::UNKNOWN, "standard input cannot be read as both programs")
        .help("write one of the programs into a file, and name it in place of `-`")
}

fn shown(text: &impl Display) -> String {
    if Style::of_stdout().is_rich { format!("{text:#}") } else { text.to_string() }
}

fn of_explanation(e: &Explanation) -> Value {
    json!({
        "topology": e.topology.as_ref().map(ToString::to_string),
        "figures": of_figures(&e.figures),
        "bytes_least": e.bytes_least,
        "bytes_forced": e.bytes_forced,
        "groups": e.groups.iter().map(of_group).collect::<Vec<_>>(),
        "remedies": e.remedies.iter().map(of_remedy).collect::<Vec<_>>(),
        "best": index_of(e, e.best()),
        "best_with_more_work": index_of(e, e.best_with_more_work()),
        "tried": e.tried,
        "spec_count": e.spec_count,
        "is_complete": e.is_complete,
        "notes": e.notes,
    })
}

fn index_of(e: &Explanation, remedy: Option<&Remedy>) -> Option<usize> {
    let remedy = remedy?;
    e.remedies.iter().position(|other| std::ptr::eq(other, remedy))
}

fn of_figures(figures: &Figures) -> Value {
    json!({
        "bytes_received": figures.bytes_received,
        "collectives": figures.collective_count,
        "memory_bytes": figures.memory_bytes,
        "flops": figures.flops,
        "step_us": figures.step_time.map(microseconds),
        "exposed_us": figures.exposed_time.map(microseconds),
    })
}

fn of_group(group: &Group) -> Value {
    let first = &group.rows[0];
    let reason = first.reason.as_deref();
    let rows = group.rows.iter().zip(&group.times);
    let own = json!({
        "won": reason.map(|reason| &*reason.won),
        "lost": reason.map(|reason| &*reason.lost),
        "places": group.places,
        "bytes_received": group.bytes_received(),
        "bytes_least": group.bytes_least(),
        "collectives": rows.map(|(row, time)| joined([moved(row), of_time(*time)])).collect::<Vec<_>>(),
        "remedy": group.remedy,
    });
    joined([cause(first), own, of_time(group.time())])
}

fn of_time(time: Option<Time>) -> Value {
    json!({
        "duration_us": time.map(|time| microseconds(time.duration)),
        "exposed_us": time.map(|time| microseconds(time.exposed)),
    })
}

fn of_remedy(remedy: &Remedy) -> Value {
    let (kind, index) = match remedy.change.place {
        Place::Argument(i) => ("argument", Some(i)),
        Place::Result(i) => ("result", Some(i)),
        Place::Constraint(..) => ("constraint", None),
        Place::After(..) => ("new constraint", None),
    };
    json!({
        "place": kind,
        "index": index,
        "name": remedy.loc.scope(),
        "location": location(&remedy.loc),
        "type": remedy.ty.short(),
        "stated": remedy.stated.as_ref().map(of_layout),
        "layout": remedy.change.layout.as_ref().map(of_layout),
        "bytes_saved": remedy.bytes_saved(),
        "memory_price": remedy.memory_price(),
        "replicates_work": remedy.replicates_work(),
        "before": of_figures(&remedy.before),
        "after": of_figures(&remedy.after),
        "collectives": remedy.deltas.iter().map(of_delta).collect::<Vec<_>>(),
    })
}

fn of_layout(layout: &Sharding) -> Value {
    json!({ "sharding": layout.to_string(), "rust": rust_spec(layout) })
}

fn of_delta(delta: &Delta) -> Value {
    let sum = |sum: Option<Traffic>| sum.map(|s| json!({ "count": s.count, "bytes_received": s.bytes_received }));
    json!({
        "change": delta.kind().name(),
        "kind": delta.key.kind,
        "op": delta.key.op,
        "source": delta.key.source,
        "scope": delta.key.scope,
        "before": sum(delta.before),
        "after": sum(delta.after),
    })
}

fn of_comparison(c: &Comparison) -> Value {
    json!({
        "programs": c.names,
        "topology": c.topology.as_ref().map(ToString::to_string),
        "before": of_figures(&c.before),
        "after": of_figures(&c.after),
        "collectives": c.deltas.iter().map(of_delta).collect::<Vec<_>>(),
    })
}
