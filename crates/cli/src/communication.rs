//! The collectives of a program as JSON.

use serde_json::{Value, json};
use shardwise_base::Loc;
use shardwise_ops::collective::Groups;
use shardwise_spmd::explain::{axis_names, describe};
use shardwise_spmd::{Communication, Row};

/// Formats the collectives as JSON, each as an object, and the bytes of all together. Numbers that are not known are
/// `null`.
pub fn json(communication: &Communication) -> String {
    let all = json!({
        "collectives": communication.rows.iter().map(collective).collect::<Vec<_>>(),
        "bytes_received": communication.bytes_received(),
        "bytes_total": communication.bytes_total(),
        "bytes_least": communication.bytes_least(),
        "bytes_forced": communication.bytes_forced(),
    });
    format!("{all:#}")
}

fn collective(row: &Row) -> Value {
    let bounds = json!({ "bytes_total": row.bytes_total, "bytes_least": row.bytes_least() });
    joined([moved(row), bounds, cause(row)])
}

/// Returns one object with the members of all `objects`. Of members of one name, the last is kept. Values that are no
/// objects are left out.
pub fn joined<const N: usize>(objects: [Value; N]) -> Value {
    let members = objects.into_iter().filter_map(|object| match object {
        Value::Object(members) => Some(members),
        _ => None,
    });
    Value::Object(members.flatten().collect())
}

/// Returns an object that says what a collective moves, and how often it runs (`count`). Bytes are those of each time
/// that it runs.
pub fn moved(row: &Row) -> Value {
    json!({
        "kind": row.kind.name(),
        "axes": axes(&row.groups),
        "groups": row.axes(),
        "operand_type": row.operand_type.short(),
        "result_type": row.result_type.short(),
        "bytes_received": row.bytes_received,
        "is_bound": row.is_bound,
        "count": row.count,
    })
}

/// Returns an object with the op that needed a collective, its location, and the reason.
pub fn cause(row: &Row) -> Value {
    let reason = row.reason.as_deref();
    let rejected = reason.and_then(|reason| reason.alternative.as_ref());
    json!({
        "op": &*row.op,
        "location": location(&row.loc),
        "scope": row.loc.scope(),
        "reason": row.why(),
        "rejected": rejected.map(|r| json!({ "what": r.what.to_string(), "bytes_received": r.bytes_received })),
        "layouts": reason.iter().flat_map(|reason| &reason.changes).map(describe).collect::<Vec<_>>(),
    })
}

fn axes(groups: &Groups) -> Option<Vec<String>> {
    match groups {
        Groups::Axes { mesh, axes } => Some(axis_names(mesh, axes)),
        Groups::Dense(_) | Groups::All => None,
    }
}

/// Returns an object with the file, the line and the column of a location, or `None` if it is in no file.
pub fn location(loc: &Loc) -> Option<Value> {
    loc.file_pos().map(|at| json!({ "file": &*at.file, "line": at.line, "column": at.column }))
}
