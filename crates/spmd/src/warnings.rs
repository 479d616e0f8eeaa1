//! Stores warnings in a program, in a module attribute `shardwise.warnings` that is part of the text form.
//!
//! The warnings are found when a program is traced: communication over Explicit axes that the program does not ask for.
//! Tools that print a program store them, and tools that read it may show them. No pass reads them.

use crate::explain::{Communication, Row};
use shardwise_base::{Diagnostic, Loc, NoteKind, Severity, byte_size};
use shardwise_ir::{Attr, Attrs, Module};

const NAME: &str = "shardwise.warnings";

/// Stores warnings in a module in place of those that it holds: their locations, messages, facts and help, but not
/// their codes. A location is stored as its text, so that [`read`] skips warnings whose location is not in a file. Does
/// nothing if `warnings` is empty.
pub fn write(module: &mut Module, warnings: &[Diagnostic]) {
    if !warnings.is_empty() {
        module.attrs.set(NAME, Attr::Array(warnings.iter().map(to_attr).collect()));
    }
}

/// Returns the warnings that a module holds, all with the code `communication`. Entries in another form are skipped,
/// such as those whose location is not in a file. The locations have no scopes.
pub fn read(module: &Module) -> Vec<Diagnostic> {
    match module.attrs.get(NAME) {
        Some(Attr::Array(items)) => items.iter().filter_map(|a| of_attr(a.as_record()?)).collect(),
        _ => vec![],
    }
}

/// Returns the warning with a note on the collectives that `communication`, that of the partitioned program, has for
/// the same source line. Without such collectives, or if the warning is not in a file, it is returned unchanged.
pub fn with_bytes(warning: &Diagnostic, communication: &Communication) -> Diagnostic {
    let mut kinds: Vec<(&Row, u64, Option<u64>)> = vec![];
    for row in communication.rows.iter().filter(|r| is_same_line(&r.loc, &warning.loc)) {
        let bytes = row.bytes_received_in_all();
        match kinds.iter_mut().find(|(r, ..)| (r.kind.name(), &r.groups) == (row.kind.name(), &row.groups)) {
            Some((_, all, times)) => {
                *all = all.saturating_add(bytes);
                *times = times.zip(row.count).map(|(a, b)| a.saturating_add(b));
            }
            None => kinds.push((row, bytes, row.count)),
        }
    }
    let moved = |(row, bytes, times): &(&Row, u64, Option<u64>)| match times {
        Some(1) => format!("{} over {}, {}", row.kind.name(), row.axes(), byte_size(*bytes)),
        Some(n) => format!("{} over {}, {n} times, {} in all", row.kind.name(), row.axes(), byte_size(*bytes)),
        None => format!("{} over {}, {} each time", row.kind.name(), row.axes(), byte_size(*bytes)),
    };
    let moved: Vec<String> = kinds.iter().map(moved).collect();
    let mut warning = warning.clone();
    if !moved.is_empty() {
        let facts = warning.notes.iter().take_while(|n| n.kind == NoteKind::Facts).count();
        let note = Diagnostic::warning(warning.code, &warning.loc, "").facts(moved.join("; ")).notes.remove(0);
        warning.notes.insert(facts, note);
    }
    warning
}

/// Returns true if both locations are in one line of one file. Returns false if one of them is in no file.
pub fn is_same_line(a: &Loc, b: &Loc) -> bool {
    let line = |l: &Loc| l.file_pos().map(|p| (p.file.clone(), p.line));
    line(a).is_some() && line(a) == line(b)
}

/// The field of a stored warning that holds its location.
const AT: &str = "at";
/// The field of a stored warning that holds its message.
const MESSAGE: &str = "message";
/// The kinds of notes that are stored, each with the field of a stored warning that holds them.
const KINDS: [(NoteKind, &str); 2] = [(NoteKind::Facts, "facts"), (NoteKind::Help, "help")];

fn to_attr(warning: &Diagnostic) -> Attr {
    let texts = |kind: NoteKind| {
        let texts = warning.notes.iter().filter(|n| n.kind == kind).map(|n| Attr::str(&n.text));
        Attr::Array(texts.collect())
    };
    let head = Attrs::new().with(AT, Attr::str(&warning.loc.to_string())).with(MESSAGE, Attr::str(&warning.message));
    Attr::Dict(KINDS.iter().fold(head, |attrs, &(kind, name)| attrs.with(name, texts(kind))))
}

fn of_attr(fields: &Attrs) -> Option<Diagnostic> {
    let mut at = fields.str(AT)?.rsplitn(3, ':');
    let (column, line) = (at.next()?.parse().ok()?, at.next()?.parse().ok()?);
    let warning = Diagnostic {
        severity: Severity::Warning,
        code: "communication",
        message: fields.str(MESSAGE)?.to_string(),
        loc: Loc::file(at.next()?, line, column),
        notes: vec![],
    };
    Some(KINDS.iter().fold(warning, |warning, &(kind, name)| {
        let Some(Attr::Array(texts)) = fields.get(name) else { return warning };
        texts.iter().filter_map(Attr::as_str).fold(warning, |warning, text| match kind {
            NoteKind::Facts => warning.facts(text),
            _ => warning.help(text),
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_base::{DType, Mesh};
    use shardwise_ir::{TensorType, text};
    use shardwise_ops::collective::{CollectiveKind, Groups};
    use std::sync::Arc;

    #[test]
    fn warnings_are_kept_by_text() {
        let warning = Diagnostic::warning(
            "communication",
            &Loc::file("a.rs", 3, 9),
            "`sum` communicates without the program asking for it",
        )
        .facts("f32[8@X]: partial results over \"X\" are combined")
        .help("ask for it: `.shard(P!())`");
        let mut module = Module::new("m", &shardwise_ops::OPS);
        write(&mut module, std::slice::from_ref(&warning));
        let read_back = text::parse("m", &text::print(&module, &Default::default()), &shardwise_ops::OPS).unwrap();
        assert_eq!(read(&read_back), [warning]);
        assert!(read(&Module::new("m", &shardwise_ops::OPS)).is_empty());
    }

    #[test]
    fn a_loop_that_does_not_say_how_often_is_no_number() {
        let loc = Loc::file("a.rs", 3, 9);
        let ty = TensorType::new(DType::F32, [4]);
        let mesh = Arc::new(Mesh::new("mesh", [("X", 2)]).unwrap());
        let row = |count| Row {
            kind: CollectiveKind::AllReduce { reduce: None },
            groups: Groups::Axes { mesh: mesh.clone(), axes: mesh.all_axes().collect() },
            operand_type: ty.clone(),
            result_type: ty.clone(),
            bytes_received: 16,
            is_bound: false,
            bytes_total: 32,
            count,
            op: "stablehlo.reduce".into(),
            loc: loc.clone(),
            reason: None,
            is_tight: false,
        };
        let warning =
            Diagnostic::warning("communication", &loc, "`sum` communicates without the program asking for it");
        let of = |rows: Vec<Row>| with_bytes(&warning, &Communication { rows }).notes[0].text.to_string();
        assert_eq!(of(vec![row(Some(1))]), "all-reduce over X, 16 B");
        assert_eq!(of(vec![row(Some(2)), row(Some(1))]), "all-reduce over X, 3 times, 48 B in all");
        assert_eq!(of(vec![row(None)]), "all-reduce over X, 16 B each time");
        let unknown = Communication { rows: vec![row(None)] }.to_string();
        assert!(unknown.ends_with("over the mesh; `?` is counted once: the data decides how often\n"), "{unknown}");
    }
}
