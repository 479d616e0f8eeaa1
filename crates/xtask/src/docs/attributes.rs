//! `attributes.md`: the attributes of each op, as its schema says.

use super::{Markdown, Page};
use shardwise_ops::{AttrKind, AttrSpec, Opcode, Presence};

pub fn page() -> Page {
    let mut table = Markdown::new(["op", "attribute", "value", "if absent", "input"]);
    for &op in Opcode::ALL {
        for spec in op.schema().attributes {
            table.row(cells(op, spec));
        }
    }
    let about = "The attributes of every op, under StableHLO's own property names. An op that is not listed has none. An \
                 attribute that the text leaves out is absent, whatever the form of the text; *if absent* says what that \
                 means. *Input* is the attribute's number among the inputs in StableHLO's specification: diagnostics about \
                 the attribute have it as their code. Shardings are no attributes: the `sharding`, `out_sharding` and \
                 `out_shardings` of `sdy` ops are the shardings of their results. Regions are in StableHLO's order: \
                 `while` cond, body; `select_and_scatter` select, scatter; `if` true, false.";
    Page::of_table("attributes.md", "Attributes of ops", about, &table)
}

fn cells(op: Opcode, spec: &AttrSpec) -> [String; 5] {
    let absent = match spec.presence {
        Presence::Required => "must be there".to_string(),
        Presence::Optional(meaning) => meaning.to_string(),
    };
    let name = format!("`{}`", spec.name);
    [format!("`{}`", op.name()), name, kind(spec.kind), absent, spec.label.unwrap_or_default().to_string()]
}

fn kind(kind: AttrKind) -> String {
    match kind {
        AttrKind::Int(dtype) => format!("an integer of type {}", dtype.short()),
        other => other.in_words(),
    }
}
