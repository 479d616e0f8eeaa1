//! A timeline as text: a summary, a table of instructions, and the critical path.

use crate::facts::place;
use crate::table::{Table, known, percent, rate, time};
use crate::{Instruction, LaneKind, Picoseconds, Span, SpanIndex, SpanKind, Timeline};
use shardwise_base::{byte_size, counted, printable};
use std::collections::HashSet;
use std::fmt;

const MAX_PARTS: usize = 20;

const MAX_PATH_LINES: usize = 40;

const HEADING: [&str; 10] =
    [">time", ">share", ">runs", "instruction", "source", ">memory", ">received", ">rate", ">of the limit", "kind"];

impl Timeline {
    /// Returns the facts about the whole run, its notes and those of its spans, each with a label. A note that several
    /// spans have is listed once. What is not known is left out, and so is the exposed communication if there is none.
    pub(crate) fn summary(&self) -> Vec<(&'static str, String)> {
        let end = self.end();
        let exposed = self.exposed_communication();
        let of_end = |part: Picoseconds| format!("{}, {}", time(part), percent(part as f64 / end as f64));
        let peak = |peak: crate::MemoryUse| format!("{} at {}", byte_size(peak.bytes), time(peak.start));
        let rows = [
            ("time", Some(time(end))),
            ("typical error", self.end_range().map(|range| error(self.uncertainty, range))),
            ("computing", self.compute_utilization().map(percent)),
            ("only communicating or waiting", (exposed > 0).then(|| of_end(exposed))),
            ("links in use", self.link_utilization().map(percent)),
            ("peak memory", self.peak_memory().map(peak)),
        ];
        let notes = self.notes.iter().cloned().chain(self.span_notes());
        let notes = notes.map(|note| ("note", Some(printable(&note).into_owned())));
        rows.into_iter().chain(notes).filter_map(|(label, value)| Some((label, value?))).collect()
    }

    fn span_notes(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let noted = self.spans.iter().filter_map(|span| Some((span, span.note.as_deref()?)));
        let first = noted.filter(|(_, note)| seen.insert(*note));
        let text = |(span, note): (&Span, &str)| match span.source() {
            Some(source) => format!("{} {source}: {note}", span.name),
            None => format!("{}: {note}", span.name),
        };
        first.map(text).collect()
    }

    pub(crate) fn title(&self) -> String {
        let devices = counted(self.device_count, "device");
        let maker = self.maker.name();
        printable(&format!("{}, {maker} on {}, {devices}", self.program, self.maker.machine())).into_owned()
    }

    /// Returns the text that [`Display`](fmt::Display) prints, but with at most `limit` instructions in each table. It
    /// does not end with a line break.
    pub(crate) fn text(&self, limit: usize) -> String {
        let mut lines = vec![self.title()];
        let summary = self.summary();
        let width = summary.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        lines.extend(summary.into_iter().map(|(label, value)| format!("{label:<width$}  {value}")));
        lines.extend(self.table_lines("", &self.instructions(), limit));
        let transfers = self.instructions_of(&[LaneKind::Link]);
        lines.extend(self.table_lines("on the links:", &transfers, limit));
        lines.extend(self.peak_lines());
        lines.extend(self.path_lines());
        lines.join("\n")
    }

    /// Returns an empty line, the title if it is not empty, a table of the first `limit` instructions, and the number
    /// of the others if there are any. Returns no lines if there are no instructions.
    fn table_lines(&self, title: &str, instructions: &[Instruction], limit: usize) -> Vec<String> {
        if instructions.is_empty() {
            return vec![];
        }
        let mut lines = vec![String::new()];
        lines.extend((!title.is_empty()).then(|| title.into()));
        lines.extend(self.table(&instructions[..instructions.len().min(limit)]));
        if instructions.len() > limit {
            lines.push(format!("and {} more", counted(instructions.len() - limit, "instruction")));
        }
        lines
    }

    fn table(&self, instructions: &[Instruction]) -> Vec<String> {
        let mut table = Table::new(&HEADING);
        let end = self.end();
        for row in instructions {
            table.push(vec![
                time(row.time),
                known((end > 0).then(|| row.time as f64 / end as f64), percent),
                row.runs.to_string(),
                format!("{}{}", "  ".repeat(row.depth), row.name),
                row.key.source.clone().unwrap_or_default(),
                known(row.memory_bytes, byte_size),
                known(row.received_bytes, byte_size),
                known(row.flops_per_second, rate),
                known(row.achieved_share, percent),
                if row.kind == SpanKind::Compute { String::new() } else { row.kind.name().into() },
            ]);
        }
        table.lines()
    }

    fn peak_lines(&self) -> Vec<String> {
        if self.at_peak.is_empty() {
            return vec![];
        }
        let whole: u64 = self.at_peak.iter().map(|part| part.bytes).sum();
        let mut table = Table::new(&[">bytes", ">share", "value", "source"]);
        for part in self.at_peak.iter().take(MAX_PARTS) {
            let share = (whole > 0).then(|| part.bytes as f64 / whole as f64);
            let source = place(&part.loc).unwrap_or_default();
            table.push(vec![byte_size(part.bytes), known(share, percent), part.name.clone(), source]);
        }
        let is_reached = self.peak_memory().is_none_or(|peak| whole <= peak.bytes);
        let title = match is_reached {
            true => "in memory at the peak:",
            false => "in memory at the predicted peak, which this run does not reach:",
        };
        let mut lines = vec![String::new(), title.into()];
        lines.extend(table.lines());
        if self.at_peak.len() > MAX_PARTS {
            lines.push(format!("and {} more", counted(self.at_peak.len() - MAX_PARTS, "value")));
        }
        lines
    }

    /// Returns the lines of the critical path, and the number of those after the first [`MAX_PATH_LINES`], which are
    /// left out. Spans that follow each other on the path and have the same lane and name are one line. Returns no
    /// lines if the path is not known.
    fn path_lines(&self) -> Vec<String> {
        let path = self.critical_path();
        if path.is_empty() {
            return vec![];
        }
        let is_same = |a: &SpanIndex, b: &SpanIndex| {
            let (a, b) = (&self.spans[*a], &self.spans[*b]);
            (a.lane, &a.name) == (b.lane, &b.name)
        };
        let parts: Vec<&[SpanIndex]> = path.chunk_by(is_same).collect();
        let mut table = Table::new(&[">start", ">time", ">spans", "instruction", "lane", "source"]);
        parts.iter().take(MAX_PATH_LINES).for_each(|part| table.push(self.path_row(part)));
        let mut lines = vec![String::new(), format!("critical path of {}:", counted(path.len(), "span"))];
        lines.extend(table.lines());
        if parts.len() > MAX_PATH_LINES {
            lines.push(format!("and {} more", counted(parts.len() - MAX_PATH_LINES, "line")));
        }
        lines
    }

    fn path_row(&self, part: &[SpanIndex]) -> Vec<String> {
        let first = &self.spans[part[0]];
        let duration = part.iter().map(|&span| self.spans[span].duration()).sum();
        vec![
            time(first.start),
            time(duration),
            if part.len() == 1 { String::new() } else { part.len().to_string() },
            first.name.clone(),
            self.lane_of(part[0]).name.clone(),
            first.source().unwrap_or_default(),
        ]
    }
}

/// Prints a title, a summary, a table of the instructions in the order of their first runs, a table of those on the
/// links, the largest values in memory at the peak, and the critical path, or the start of a long one, if the spans say
/// for what they wait. What is not known is left out.
impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(usize::MAX))
    }
}

fn error(fraction: Option<f64>, [from, to]: [Picoseconds; 2]) -> String {
    format!("{}: between {} and {}", known(fraction, percent), time(from), time(to))
}
