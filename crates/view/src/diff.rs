//! Two timelines compared by instruction: a measured one with a predicted one, or one from before a change with one
//! from after it.

use crate::table::{Table, known, time};
use crate::{Instruction, InstructionKey, Picoseconds, SpanKind, Timeline};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// The instructions of two timelines side by side. Formats as a table, the largest difference in either direction
/// first.
///
/// # Examples
///
/// ```
/// use shardwise_view::{Lane, LaneKind, Maker, Span, SpanKind, Timeline};
///
/// let timeline = |maker, end| {
///     let mut timeline = Timeline::new("matmul.mlir", maker);
///     let core = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
///     timeline.spans.push(Span::new(core, "dot_general", SpanKind::Compute, 0..end));
///     timeline
/// };
/// let measured = timeline(Maker::Measured { machine: "host".into() }, 200_000);
/// let predicted = timeline(Maker::Predicted { machine: "host".into() }, 250_000);
/// let diff = measured.diff(&predicted);
/// assert_eq!(diff.rows[0].ratio(), Some(1.25));
/// assert_eq!(diff.rows[0].difference(), 50_000);
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Diff {
    /// The title of the first timeline, and the time at which it ends.
    pub first: (String, Picoseconds),
    /// The title of the second timeline, and the time at which it ends.
    pub second: (String, Picoseconds),
    /// The instructions of either timeline, the largest difference of times in either direction first.
    pub rows: Vec<DiffRow>,
}

/// An instruction in two timelines.
#[derive(Clone, PartialEq, Debug)]
pub struct DiffRow {
    /// The key of the instruction: its ops, its source location, its name scopes, and its order among equal ones.
    pub key: InstructionKey,
    /// The name that is shown: that of the first timeline, if the instruction is in there.
    pub name: String,
    /// The kind of the instruction's first span, in the first timeline that has the instruction. The times of loops and
    /// branches include those of the instructions inside.
    pub kind: SpanKind,
    /// The time of the instruction in the first timeline ([`Instruction::time`]), or `None` if it is not in there.
    pub first: Option<Picoseconds>,
    /// The time of the instruction in the second timeline ([`Instruction::time`]), or `None` if it is not in there.
    pub second: Option<Picoseconds>,
}

impl DiffRow {
    /// Returns the second time minus the first one, in picoseconds. An instruction that is missing takes no time.
    pub fn difference(&self) -> i64 {
        difference(self.first, self.second)
    }

    /// Returns the second time divided by the first one. Returns `None` if the instruction is missing in one timeline,
    /// or takes no time in the first one.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.first?, self.second?)
    }
}

impl Timeline {
    /// Compares two timelines of a program by instruction ([`Timeline::instructions`]). `self` is the first one in the
    /// result, and `other` is the second one.
    pub fn diff(&self, other: &Timeline) -> Diff {
        let (own, theirs) = (self.instructions(), other.instructions());
        let mut rows: Vec<DiffRow> = {
            let times: HashMap<&InstructionKey, Picoseconds> = theirs.iter().map(|i| (&i.key, i.time)).collect();
            own.iter().map(|i| DiffRow { second: times.get(&i.key).copied(), ..row_of(i) }).collect()
        };
        let known: HashSet<&InstructionKey> = own.iter().map(|i| &i.key).collect();
        let added = theirs.iter().filter(|i| !known.contains(&i.key));
        rows.extend(added.map(|i| DiffRow { first: None, second: Some(i.time), ..row_of(i) }));
        rows.sort_by_key(|row| std::cmp::Reverse(row.difference().unsigned_abs()));
        Diff { first: (self.title(), self.end()), second: (other.title(), other.end()), rows }
    }
}

fn row_of(i: &Instruction) -> DiffRow {
    DiffRow { key: i.key.clone(), name: i.name.clone(), kind: i.kind, first: Some(i.time), second: None }
}

fn difference(first: Option<Picoseconds>, second: Option<Picoseconds>) -> i64 {
    let signed = |time: Option<Picoseconds>| i64::try_from(time.unwrap_or(0)).unwrap_or(i64::MAX);
    signed(second) - signed(first)
}

fn ratio(first: Picoseconds, second: Picoseconds) -> Option<f64> {
    (first > 0).then(|| second as f64 / first as f64)
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&[">first", ">second", ">difference", ">ratio", "instruction", "source", "kind"]);
        let signed = |by: i64| format!("{}{}", if by < 0 { '-' } else { '+' }, time(by.unsigned_abs()));
        let times = |first, second, difference, ratio| {
            [known(first, time), known(second, time), signed(difference), known(ratio, |r| format!("{r:.3}"))]
        };
        for row in &self.rows {
            let mut cells = times(row.first, row.second, row.difference(), row.ratio()).to_vec();
            let kind = if row.kind == SpanKind::Compute { "" } else { row.kind.name() };
            cells.extend([row.name.clone(), row.key.source.clone().unwrap_or_default(), kind.into()]);
            table.push(cells);
        }
        let (first, second) = (self.first.1, self.second.1);
        let by = difference(Some(first), Some(second));
        let mut cells = times(Some(first), Some(second), by, ratio(first, second)).to_vec();
        cells.extend(["the whole run".into(), String::new(), String::new()]);
        table.push(cells);
        write!(f, "first:  {}\nsecond: {}\n\n{}", self.first.0, self.second.0, table.lines().join("\n"))
    }
}
