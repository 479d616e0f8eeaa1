//! The text of explanations and comparisons, in at most 100 columns. The alternate form has the colours of terminals.

use crate::difference::DeltaKind;
use crate::figures::short;
use crate::{Comparison, Delta, Explanation, Figures, Group, Notation, Place, Remedy, rust_spec};
use shardwise_base::{Loc, Sharding, byte_size, counted, printable};
use shardwise_spmd::Row;
use shardwise_spmd::explain::describe;
use shardwise_view::Picoseconds;
use std::fmt;

const COLUMNS: usize = 100;

/// The column at which the text of a line with a label starts.
const INDENT: usize = 14;

/// The way in which a part of the text stands out on a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Plain,
    Bold,
    Faint,
    Good,
    Bad,
}

impl Ink {
    fn of(label: &str) -> Ink {
        match label {
            "remedy" | "change to" | "saves" | "vanishes" | "shrinks" => Ink::Good,
            "appears" | "grows" | "note" => Ink::Bad,
            _ => Ink::Plain,
        }
    }

    fn write(self, f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
        let code = match self {
            Ink::Plain => "",
            Ink::Bold => "1",
            Ink::Faint => "2",
            Ink::Good => "32",
            Ink::Bad => "33",
        };
        match f.alternate() && !code.is_empty() && !text.is_empty() {
            true => write!(f, "\x1b[{code}m{text}\x1b[0m"),
            false => f.write_str(text),
        }
    }
}

/// The largest number of collectives that a remedy or a comparison lists.
const MAX_LISTED: usize = 12;

pub(crate) fn explanation(f: &mut fmt::Formatter<'_>, e: &Explanation) -> fmt::Result {
    if e.groups.is_empty() {
        writeln!(f, "no communication")?;
        return totals(f, e);
    }
    let (count, received) = (counted(e.figures.collective_count, "collective"), byte_size(e.figures.bytes_received));
    Ink::Bold.write(f, &format!("{count}: {received} received by the device that receives most"))?;
    writeln!(f)?;
    totals(f, e)?;
    for (i, group) in e.groups.iter().enumerate() {
        writeln!(f)?;
        show_group(f, e, i, group)?;
    }
    show_remedies(f, e)
}

fn totals(f: &mut fmt::Formatter<'_>, e: &Explanation) -> fmt::Result {
    if !e.groups.is_empty() {
        let forced =
            e.bytes_forced.map(|n| format!("; with these specs, every program moves at least {}", byte_size(n)));
        field(f, "least", &format!("{} for these moves{}", byte_size(e.bytes_least), forced.unwrap_or_default()))?;
    }
    // The devices of a host share its memory.
    let of = if e.topology.as_ref().is_some_and(|t| t.machine().is_host()) { "all devices" } else { "a device" };
    field(f, "memory", &format!("about {} on {of}", byte_size(e.figures.memory_bytes)))?;
    field(f, "compute", &format!("{} on a device", flops(e.figures.flops)))?;
    if let (Some(time), Some(exposed), Some(topology)) = (e.figures.step_time, e.figures.exposed_time, &e.topology) {
        let exposed = match exposed {
            0 => String::new(),
            n => format!("; {} of it only communicating or waiting", duration(n)),
        };
        field(f, "step", &format!("{} predicted on {topology}{exposed}", duration(time)))?;
    }
    Ok(())
}

fn show_group(f: &mut fmt::Formatter<'_>, e: &Explanation, index: usize, group: &Group) -> fmt::Result {
    for (i, row) in group.rows.iter().enumerate() {
        let number = if i == 0 { format!("{}.", index + 1) } else { String::new() };
        Ink::Bold.write(f, &format!("{number:<4}{}", clip(&printable(&collective(row, group.places)), COLUMNS - 4)))?;
        writeln!(f)?;
    }
    let row = &group.rows[0];
    let place = if group.loc().is_unknown() { String::new() } else { format!(" at {}", group.loc()) };
    field(f, "for", &format!("{}{place}", short(&row.op)))?;
    let scope = group.loc().scope();
    if !scope.is_empty() {
        field(f, "scope", &scope)?;
    }
    field(f, "because", row.why())?;
    if let Some(reason) = &row.reason {
        if let Some(other) = &reason.alternative {
            field(f, "rejected", &format!("{}, {}", other.what, byte_size(other.bytes_received)))?;
        }
        reason.changes.iter().try_for_each(|change| field(f, "layout", &describe(change)))?;
    }
    if let Some(least) = group.bytes_least() {
        let text = match least == group.bytes_received() {
            true => "no way to move or combine these values receives less".to_string(),
            false => format!("{} of {}, however it is done", byte_size(least), byte_size(group.bytes_received())),
        };
        field(f, "least", &text)?;
    }
    if let Some(time) = group.time() {
        let exposed = match time.exposed {
            0 => "all of it hidden behind compute".to_string(),
            n if n == time.duration => "none of it hidden behind compute".to_string(),
            n => format!("{} of it not hidden behind compute", duration(n)),
        };
        field(f, "time", &format!("{}, {exposed}", duration(time.duration)))?;
    }
    field(f, "remedy", &remedy_name(e, group))
}

fn remedy_name(e: &Explanation, group: &Group) -> String {
    match group.remedy {
        Some(i) => format!("change {} below", i + 1),
        None if group.rows[0].reason.is_none() => "none: the program itself contains this collective".into(),
        None if e.tried == 0 => "none: no change was tried".into(),
        None => "none: no change of one spec that was tried shrinks it and improves the whole program".into(),
    }
}

/// Returns a description of a collective: `all-gather over x, f32[64,16] -> f32[64,64], 12 KiB x 4 at 2 places`. The
/// numbers of runs and of places are left out if they are 1.
fn collective(row: &Row, places: usize) -> String {
    let ty = match row.operand_type == row.result_type {
        true => row.operand_type.short(),
        false => format!("{} -> {}", row.operand_type.short(), row.result_type.short()),
    };
    let bound = if row.is_bound { "at most " } else { "" };
    let runs = match row.count {
        Some(1) => String::new(),
        Some(n) => format!(" x {n}"),
        None => " x an unknown number".into(),
    };
    let places = if places > 1 { format!(" at {places} places") } else { String::new() };
    format!("{} over {}, {ty}, {bound}{}{runs}{places}", row.kind.name(), row.axes(), byte_size(row.bytes_received))
}

fn show_remedies(f: &mut fmt::Formatter<'_>, e: &Explanation) -> fmt::Result {
    for (i, remedy) in e.remedies.iter().enumerate() {
        let is_best = e.best == Some(i);
        let what = match (is_best, e.with_more_work == Some(i)) {
            (true, _) => ", the best for the whole program".to_string(),
            (_, true) => ", which saves the most, and devices compute more".to_string(),
            _ => String::new(),
        };
        writeln!(f)?;
        Ink::Bold.write(f, &format!("change {}{what}", i + 1))?;
        writeln!(f)?;
        show_remedy(f, e, remedy)?;
    }
    let tried = counted(e.tried, "change");
    let specs = counted(e.spec_count, "spec");
    let all = if e.is_complete { " (all layouts over whole axes)" } else { "" };
    writeln!(f)?;
    let what = format!("tried {tried} of {specs} and new constraints{all}");
    let less = if e.topology.is_some() { "moves less in less time" } else { "moves less" };
    let text = match (e.tried, e.best, e.remedies.is_empty()) {
        (0, ..) if e.figures.bytes_received == 0 => "no device receives data: there is nothing to save".to_string(),
        (0, ..) => "no change was tried".to_string(),
        (_, Some(_), _) => what,
        (_, None, false) => format!("{what}: with each one that {less}, devices compute more"),
        _ => format!("no change of one spec {less}: {what}"),
    };
    wrapped(f, 0, &text, Ink::Plain)?;
    e.notes.iter().try_for_each(|note| field(f, "note", note))
}

fn show_remedy(f: &mut fmt::Formatter<'_>, e: &Explanation, remedy: &Remedy) -> fmt::Result {
    field(f, "where", &place(remedy, e.notation))?;
    if !matches!(remedy.change.place, Place::After(..)) {
        let now = remedy.stated.as_ref().map_or("no layout".into(), |s| layout(s, e.notation));
        field(f, "now", &now)?;
    }
    field(f, "change to", &change(remedy, e.notation))?;
    let (before, after) = (&remedy.before, &remedy.after);
    let now = (byte_size(before.bytes_received), byte_size(after.bytes_received));
    field(f, "saves", &format!("{}: {} received in place of {}", byte_size(remedy.bytes_saved()), now.1, now.0))?;
    if let (Some(before), Some(after)) = (before.step_time, after.step_time) {
        field(f, "step", &change_of(before, after, duration))?;
    }
    let memory = change_of(before.memory_bytes, after.memory_bytes, byte_size);
    let price = match remedy.memory_price() {
        0 => String::new(),
        n if n > 0 => format!(", {} more", byte_size(n.unsigned_abs())),
        n => format!(", {} less", byte_size(n.unsigned_abs())),
    };
    field(f, "memory", &format!("{memory}{price}"))?;
    let work = match remedy.replicates_work() {
        true => format!("{}: devices repeat work", change_of(before.flops, after.flops, flops)),
        false => change_of(before.flops, after.flops, flops),
    };
    field(f, "compute", &work)?;
    show_deltas(f, remedy.deltas.iter())
}

fn place(remedy: &Remedy, notation: Notation) -> String {
    let ty = remedy.ty.short();
    let at = at(&remedy.loc);
    let scope = remedy.loc.scope();
    let name = if scope.is_empty() { String::new() } else { format!(" \"{scope}\"") };
    match (remedy.change.place, notation) {
        (Place::Argument(_), Notation::Rust) if !scope.is_empty() => format!("argument `{scope}`, {ty}{at}"),
        (Place::Argument(i), _) => format!("argument {i} (%arg{i}){name}, {ty}{at}"),
        (Place::Result(i), _) => format!("result {i}, {ty}{at}"),
        (Place::Constraint(..), Notation::Shardy) => format!("`sdy.sharding_constraint`{at}, {ty}"),
        (Place::Constraint(..), Notation::Rust) => format!("`.shard`{at}, {ty}"),
        (Place::After(..), _) => format!("a new constraint on the value that is made{at}, {ty}"),
    }
}

fn at(loc: &Loc) -> String {
    loc.file_pos().map_or(String::new(), |_| format!(" at {loc}"))
}

fn change(remedy: &Remedy, notation: Notation) -> String {
    let Some(to) = &remedy.change.layout else {
        return match remedy.change.place {
            Place::Constraint(..) => "no constraint".into(),
            _ => "no layout, so that the partitioner chooses it".into(),
        };
    };
    match (remedy.change.place, notation) {
        (Place::After(..), Notation::Rust) => format!(".shard({})", rust_spec(to)),
        (Place::After(..), Notation::Shardy) => format!("sdy.sharding_constraint %value {to} : {}", type_text(remedy)),
        _ => layout(to, notation),
    }
}

fn type_text(remedy: &Remedy) -> String {
    shardwise_ir::Type::Tensor(remedy.ty.clone()).to_string()
}

fn layout(sharding: &Sharding, notation: Notation) -> String {
    match notation {
        Notation::Shardy => format!("#sdy.sharding{sharding}"),
        Notation::Rust => rust_spec(sharding),
    }
}

pub(crate) fn comparison(f: &mut fmt::Formatter<'_>, c: &Comparison) -> fmt::Result {
    let (before, after): (&Figures, &Figures) = (&c.before, &c.after);
    field(f, "received", &change_of(before.bytes_received, after.bytes_received, byte_size))?;
    field(f, "count", &change_of(before.collective_count as u64, after.collective_count as u64, |n| n.to_string()))?;
    field(f, "memory", &change_of(before.memory_bytes, after.memory_bytes, byte_size))?;
    field(f, "compute", &change_of(before.flops, after.flops, flops))?;
    if let (Some(before), Some(after), Some(topology)) = (before.step_time, after.step_time, &c.topology) {
        field(f, "step", &format!("{}, predicted on {topology}", change_of(before, after, duration)))?;
    }
    let differing = c.deltas.iter().filter(|delta| delta.kind() != DeltaKind::Stays);
    if differing.clone().next().is_none() {
        return writeln!(f, "the collectives are the same");
    }
    show_deltas(f, differing)
}

fn show_deltas<'a>(f: &mut fmt::Formatter<'_>, deltas: impl Iterator<Item = &'a Delta> + Clone) -> fmt::Result {
    for delta in deltas.clone().take(MAX_LISTED) {
        let (before, after) = (delta.before.unwrap_or_default(), delta.after.unwrap_or_default());
        let bytes = match delta.kind() {
            DeltaKind::Vanishes => byte_size(before.bytes_received),
            DeltaKind::Appears => byte_size(after.bytes_received),
            _ => format!("{} -> {}", byte_size(before.bytes_received), byte_size(after.bytes_received)),
        };
        field(f, delta.kind().name(), &format!("{}, {bytes}", delta.key))?;
    }
    match deltas.skip(MAX_LISTED).count() {
        0 => Ok(()),
        more => field(f, "", &format!("and {more} more")),
    }
}

/// Returns `12 KiB -> 3 KiB`, or `12 KiB, unchanged`.
fn change_of(before: u64, after: u64, show: impl Fn(u64) -> String) -> String {
    match before == after {
        true => format!("{}, unchanged", show(before)),
        false => format!("{} -> {}", show(before), show(after)),
    }
}

fn field(f: &mut fmt::Formatter<'_>, label: &str, text: &str) -> fmt::Result {
    let is_absent = label == "remedy" && text.starts_with("none");
    f.write_str("    ")?;
    Ink::Faint.write(f, label)?;
    // A text that is empty leaves no blanks at the end of the line.
    if !text.is_empty() {
        f.write_str(&" ".repeat((INDENT - 4).saturating_sub(label.chars().count())))?;
    }
    wrapped(f, INDENT, text, if is_absent { Ink::Plain } else { Ink::of(label) })
}

/// Prints a text that starts in a column. Its lines are broken between words, and start in the same column. Control
/// characters are escaped, as names of the program may have some.
fn wrapped(f: &mut fmt::Formatter<'_>, column: usize, text: &str, ink: Ink) -> fmt::Result {
    let mut line = String::new();
    for word in printable(text).split_whitespace() {
        let length = column + line.chars().count() + usize::from(!line.is_empty()) + word.chars().count();
        if length > COLUMNS && !line.is_empty() {
            ink.write(f, &line)?;
            write!(f, "\n{}", " ".repeat(column))?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    ink.write(f, &line)?;
    writeln!(f)
}

fn clip(text: &str, columns: usize) -> String {
    match text.chars().count() <= columns {
        true => text.to_string(),
        false => text.chars().take(columns - 1).chain(['…']).collect(),
    }
}

pub(crate) fn duration(time: Picoseconds) -> String {
    match time {
        0..1_000_000 => format!("{:.2} us", time as f64 / 1e6),
        1_000_000..1_000_000_000 => format!("{:.1} us", time as f64 / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{:.2} ms", time as f64 / 1e9),
        _ => format!("{:.2} s", time as f64 / 1e12),
    }
}

fn flops(count: u64) -> String {
    let (mut value, mut unit) = (count as f64, 0);
    const UNITS: [&str; 6] = ["flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop"];
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 { 0 } else { 1 };
    format!("{value:.digits$} {}", UNITS[unit])
}
