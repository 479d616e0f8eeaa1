//! The facts of a span, with their names in files. XSpace files have XProf's names for some of them, and pages have
//! columns of their own.

use crate::Span;
use shardwise_base::Loc;

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Fact {
    Text(String),
    Number(u64),
    Share(f64),
}

/// Returns what is known about a span, with the name of each fact, apart from the span's lane, its name and the spans
/// for which it waits. Numbers of times are in picoseconds. The numbers of runs, devices and instances are left out if
/// they are 1.
pub(crate) fn facts(span: &Span) -> Vec<(&'static str, Fact)> {
    let text = |value: &Option<String>| value.clone().map(Fact::Text);
    let number = |value: Option<u64>| value.map(Fact::Number);
    let scope = span.loc.scope();
    let work = &span.work;
    let rows = [
        ("kind", Some(Fact::Text(span.kind.name().into()))),
        ("start_ps", number(Some(span.start))),
        ("duration_ps", number(Some(span.duration()))),
        ("ops", (!span.ops.is_empty()).then(|| Fact::Text(span.ops.join(", ")))),
        ("source", span.source().map(Fact::Text)),
        ("scope", (!scope.is_empty()).then_some(Fact::Text(scope))),
        ("shape", text(&span.shape)),
        ("sharding", text(&span.sharding)),
        ("reason", text(&span.reason)),
        ("note", text(&span.note)),
        ("turn", number(span.turn)),
        ("runs", number(Some(span.runs).filter(|&runs| runs != 1))),
        ("devices", number(Some(span.devices as u64).filter(|&devices| devices != 1))),
        ("instances", number(Some(span.instances as u64).filter(|&instances| instances != 1))),
        ("dtype", span.dtype.map(|dtype| Fact::Text(dtype.name().into()))),
        ("flops", number(work.flops)),
        ("memory_bytes", number(work.memory_bytes)),
        ("received_bytes", number(work.received_bytes)),
        ("least_time_ps", number(work.least_time)),
        ("achieved_share", span.achieved_share().map(Fact::Share)),
        ("flops_per_s", number(span.flops_per_second().map(|rate| rate.round() as u64))),
        ("uncertainty", span.uncertainty.map(Fact::Share)),
    ];
    rows.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
}

pub(crate) fn place(loc: &Loc) -> Option<String> {
    loc.file_pos().map(|pos| format!("{}:{}:{}", pos.file, pos.line, pos.column))
}
