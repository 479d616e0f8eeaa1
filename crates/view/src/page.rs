//! A timeline as one page that needs no network and no other files.
//!
//! The data is JSON in an element of its own. It has one row for each set of equal facts, to which spans refer by
//! number, and a table of strings, so that a span of a loop takes few bytes. A program is not trusted: its texts are in
//! the data, from where the script inserts them as text, and in the title and the part for browsers without scripts,
//! where they are escaped.

use crate::facts::place;
use crate::{Limits, MemoryPart, Span, SpanIndex, SpanKind, Timeline};
use serde_json::{Value, json};
use shardwise_base::Loc;
use std::collections::HashMap;
use std::hash::Hash;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPTS: [&str; 2] = [include_str!("page/model.js"), include_str!("page/page.js")];

/// The largest number of instructions in each table of the text for browsers without scripts.
const FALLBACK_INSTRUCTIONS: usize = 200;

/// The number that stands for a fact that is not known, and for an empty text other than the name of a span.
const UNKNOWN: i64 = -1;

impl Timeline {
    /// Returns a page that shows the timeline in any browser, without a network.
    ///
    /// It has the lanes, which can be zoomed and searched, the facts of each span, tables of communication and of the
    /// longest instructions, the memory in use and a roofline. If `program` is given, the page shows this text beside
    /// the timeline. A span belongs to a line of it if the file of its location is [`Timeline::program`], or if one of
    /// these two paths ends with the other one after a `/`.
    ///
    /// # Panics
    /// May panic if the timeline breaks an invariant ([`Timeline::check`]).
    pub fn to_html(&self, program: Option<&str>) -> String {
        filled(PAGE, |name| match name {
            "title" => escaped(&self.title()),
            "style" => STYLE.into(),
            "fallback" => escaped(&self.text(FALLBACK_INSTRUCTIONS)),
            "data" => in_script(&self.page_data(program).to_string()),
            "script" => SCRIPTS.concat(),
            _ => unreachable!("the page has no part {name}"),
        })
    }

    fn page_data(&self, program: Option<&str>) -> Value {
        let mut strings = Numbered::default();
        let mut rows = Numbered::default();
        let of_spans: Vec<usize> =
            self.spans.iter().map(|span| rows.number(&self.row(span, program, &mut strings))).collect();
        json!({
            "title": self.title(),
            "summary": self.summary(),
            "end": self.end(),
            "lanes": self.lanes.iter().map(|lane| (&lane.name, lane.kind.name())).collect::<Vec<_>>(),
            "rows": Row::columns(&rows.items),
            "spans": self.span_columns(&of_spans),
            "limits": self.limits.as_ref().map(Limits::json),
            "memory": self.memory.iter().flat_map(|used| [used.start, used.bytes]).collect::<Vec<_>>(),
            "at_peak": self.at_peak.iter().map(|part| self.part(part, program)).collect::<Vec<_>>(),
            "lines": program.map(|text| text.lines().collect::<Vec<_>>()),
            "strings": strings.items,
        })
    }

    /// Returns the facts of a span that other spans may share: all but its lane, its time, its turn and the spans for
    /// which it waits. Adds their texts to `strings`.
    fn row(&self, span: &Span, program: Option<&str>, strings: &mut Numbered<String>) -> Row {
        let name = strings.number(span.name.as_str()) as i64;
        let mut text = |text: Option<&str>| match text {
            Some(text) if !text.is_empty() => strings.number(text) as i64,
            _ => UNKNOWN,
        };
        let number = |number: Option<u64>| number.map_or(UNKNOWN, |n| i64::try_from(n).unwrap_or(i64::MAX));
        let pos = span.loc.file_pos();
        let kind = SpanKind::ALL.iter().position(|&kind| kind == span.kind).unwrap_or(0);
        Row([
            name,
            kind as i64,
            text(Some(&span.ops.join(", "))),
            text(pos.map(|pos| &*pos.file)),
            pos.map_or(UNKNOWN, |pos| pos.line.into()),
            pos.map_or(UNKNOWN, |pos| pos.column.into()),
            text(Some(&span.loc.scope())),
            text(span.shape.as_deref()),
            text(span.sharding.as_deref()),
            text(span.reason.as_deref()),
            text(span.note.as_deref()),
            number(span.work.flops),
            number(span.work.memory_bytes),
            number(span.work.received_bytes),
            number(span.work.least_time),
            number(Some(span.runs)),
            span.devices as i64,
            span.instances as i64,
            text(span.dtype.map(|dtype| dtype.name())),
            span.uncertainty.map_or(UNKNOWN, |error| (error * 1e6).round() as i64),
            self.text_line(&span.loc, program),
        ])
    }

    fn part(&self, part: &MemoryPart, program: Option<&str>) -> Value {
        json!([part.bytes, part.name, place(&part.loc), self.text_line(&part.loc, program)])
    }

    /// Returns the line of a location in the program's text, or -1 if the location is in another file or not known, or
    /// if no text is given.
    fn text_line(&self, loc: &Loc, program: Option<&str>) -> i64 {
        let Some(pos) = loc.file_pos().filter(|_| program.is_some()) else { return UNKNOWN };
        let is_end_of =
            |end: &str, path: &str| path.strip_suffix(end).is_some_and(|s| s.is_empty() || s.ends_with('/'));
        let is_same = is_end_of(&pos.file, &self.program) || is_end_of(&self.program, &pos.file);
        if is_same { pos.line.into() } else { UNKNOWN }
    }

    /// Returns the columns of the spans, where `rows` has the number of each span's row. A start is the difference to
    /// the start of the span before it. The column of the turns is null if no span has a turn.
    fn span_columns(&self, rows: &[usize]) -> Value {
        let starts = self.spans.iter().scan(0, |last, span| {
            let from_last = span.start - *last;
            *last = span.start;
            Some(from_last)
        });
        let after = |index: SpanIndex| self.spans[index].after.iter().flat_map(move |b| [index.index(), b.index()]);
        let turn = |span: &Span| span.turn.map_or(UNKNOWN, |turn| i64::try_from(turn).unwrap_or(i64::MAX));
        let has_turns = self.spans.iter().any(|span| span.turn.is_some());
        json!({
            "lane": self.spans.iter().map(|span| span.lane.index()).collect::<Vec<_>>(),
            "row": rows,
            "start": starts.collect::<Vec<_>>(),
            "duration": self.spans.iter().map(Span::duration).collect::<Vec<_>>(),
            "turn": has_turns.then(|| self.spans.iter().map(turn).collect::<Vec<_>>()),
            "after": self.spans.keys().flat_map(after).collect::<Vec<_>>(),
        })
    }
}

/// The facts of a span that other spans may share, in the order of [`COLUMNS`]. Texts are positions in the
/// table of strings, and a fact that is not known is [`UNKNOWN`].
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row([i64; COLUMNS.len()]);

const COLUMNS: [&str; 21] = [
    "name",
    "kind",
    "ops",
    "file",
    "line",
    "column",
    "scope",
    "shape",
    "sharding",
    "reason",
    "note",
    "flops",
    "memory_bytes",
    "received_bytes",
    "least_time",
    "runs",
    "devices",
    "instances",
    "dtype",
    "uncertainty_ppm",
    "text_line",
];

impl Row {
    /// Returns the columns by their names. If there are rows, and a fact is known in none of them, its column is null.
    fn columns(rows: &[Row]) -> Value {
        let column = |i: usize| {
            let is_known = rows.iter().any(|row| row.0[i] != UNKNOWN);
            (is_known || rows.is_empty()).then(|| rows.iter().map(|row| row.0[i]).collect::<Vec<_>>())
        };
        COLUMNS.iter().enumerate().map(|(i, name)| (name.to_string(), Value::from(column(i)))).collect()
    }
}

/// Different items, numbered in the order in which they came first.
struct Numbered<T> {
    numbers: HashMap<T, usize>,
    items: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { numbers: HashMap::new(), items: vec![] }
    }
}

impl<T: Eq + Hash + Clone> Numbered<T> {
    fn number<Q>(&mut self, item: &Q) -> usize
    where
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        if let Some(&number) = self.numbers.get(item) {
            return number;
        }
        self.items.push(item.to_owned());
        self.numbers.insert(item.to_owned(), self.items.len() - 1);
        self.items.len() - 1
    }
}

/// Returns a template with each `{{name}}` replaced by `part(name)`. What is inserted is not searched.
fn filled(template: &str, part: impl Fn(&str) -> String) -> String {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").expect("a part of the page has an end");
        page.push_str(&part(name));
        page.push_str(rest);
    }
    page
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns JSON in which `<`, `>` and `&` are escaped, so that it can be inside of a `script` element, where
/// `</script>` and `<!--` would have a meaning. The separators of lines and paragraphs are escaped for readers that
/// take JSON for JavaScript.
fn in_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => escaped.push_str(&format!("\\u{:04x}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::facts::Fact;
    use crate::tests::{Seen, SeenTimeline, fact_text};
    use crate::{Lane, LaneKind, Maker, generated};
    use std::collections::BTreeMap;

    fn parts(html: &str) -> (&str, Value, &str) {
        let (before, rest) = html.split_once(r#"<script type="application/json" id="data">"#).unwrap();
        let (data, after) = rest.split_once("</script>").unwrap();
        assert!(!data.contains('<'), "no text starts or ends an element");
        (before, serde_json::from_str(data).unwrap(), after)
    }

    pub(crate) fn seen(html: &str) -> SeenTimeline {
        let data = parts(html).1;
        let numbers =
            |value: &Value| -> Vec<i64> { value.as_array().unwrap().iter().map(|v| v.as_i64().unwrap()).collect() };
        let spans = &data["spans"];
        let columns = ["lane", "row", "start", "duration"].map(|name| numbers(&spans[name]));
        let mut open: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut start = 0;
        let mut seen = BTreeMap::new();
        for (i, &lane) in columns[0].iter().enumerate() {
            let [row, from_last, duration] = [1, 2, 3].map(|column: usize| columns[column][i]);
            start += from_last;
            let mut span = row_of(&data, row as usize, start, duration);
            if let Some(turn) = spans["turn"].get(i).filter(|turn| turn.as_i64() != Some(-1)) {
                span.facts.insert("turn".into(), turn.to_string());
            }
            let lane_data = &data["lanes"][lane as usize];
            span.lane = (lane_data[1].as_str().unwrap().into(), lane_data[0].as_str().unwrap().into());
            let around = open.entry(lane).or_default();
            around.retain(|&end| end > start);
            span.depth = around.len();
            around.push(start + duration);
            seen.insert(i, span);
        }
        for pair in numbers(&spans["after"]).chunks(2) {
            seen.get_mut(&(pair[0] as usize)).unwrap().after.push(pair[1] as usize);
        }
        let memory = numbers(&data["memory"]).chunks(2).map(|pair| (pair[0] as u64, pair[1] as u64)).collect();
        (seen, memory)
    }

    fn row_of(data: &Value, row: usize, start: i64, duration: i64) -> Seen {
        let number = |name: &str| data["rows"][name][row].as_i64().filter(|&n| n != UNKNOWN);
        let text = |name: &str| number(name).map(|n| data["strings"][n as usize].as_str().unwrap().to_string());
        let file = number("line").map(|_| text("file").unwrap_or_default());
        let (line, column) = (number("line").unwrap_or(0), number("column").unwrap_or(0));
        let least = number("least_time");
        let share = least.filter(|_| duration > 0).map(|least| least as f64 / duration as f64);
        let flops = number("flops").filter(|_| duration > 0);
        let rate = flops.map(|flops| flops as f64 * number("instances").unwrap() as f64 * 1e12 / duration as f64);
        let error = number("uncertainty_ppm");
        let shown = |number: Option<i64>| number.map(|n| n.to_string());
        let facts = [
            ("kind", Some(SpanKind::ALL[number("kind").unwrap() as usize].name().to_string())),
            ("start_ps", Some(start.to_string())),
            ("duration_ps", Some(duration.to_string())),
            ("ops", text("ops")),
            ("source", file.map(|file| format!("{file}:{line}:{column}"))),
            ("scope", text("scope")),
            ("shape", text("shape")),
            ("sharding", text("sharding")),
            ("reason", text("reason")),
            ("note", text("note")),
            ("runs", shown(number("runs").filter(|&n| n != 1))),
            ("devices", shown(number("devices").filter(|&n| n != 1))),
            ("instances", shown(number("instances").filter(|&n| n != 1))),
            ("dtype", text("dtype")),
            ("flops", shown(number("flops"))),
            ("memory_bytes", shown(number("memory_bytes"))),
            ("received_bytes", shown(number("received_bytes"))),
            ("least_time_ps", shown(least)),
            ("achieved_share", share.map(|share| fact_text(&Fact::Share(share)))),
            ("flops_per_s", rate.map(|rate| fact_text(&Fact::Number(rate.round() as u64)))),
            ("uncertainty", error.map(|error| fact_text(&Fact::Share(error as f64 / 1e6)))),
        ];
        let facts = facts.into_iter().filter_map(|(name, fact)| Some((name.into(), fact?))).collect();
        Seen { name: text("name").unwrap_or_default(), facts, ..Seen::default() }
    }

    /// Checks that a page has the elements of the template and no others, whatever the names are, and that it names no
    /// address.
    #[test]
    fn programs_cannot_add_elements() {
        let tags = |html: &str| (html.matches('<').count(), html.matches("<script").count());
        let plain = Timeline::new("a", Maker::Measured { machine: "m".into() }).to_html(Some(""));
        assert_eq!(tags(parts(&plain).0).1, 0);
        for seed in 0..100 {
            let mut timeline = generated::timeline(seed);
            timeline.program = "program".into();
            timeline.at_peak = vec![MemoryPart { name: "</script>".into(), loc: Loc::file("a", 1, 2), bytes: 9 }];
            let html = timeline.to_html(Some("</script><!--<script>\u{2028}&{{data}}"));
            let ((before, data, after), (before_plain, _, after_plain)) = (parts(&html), parts(&plain));
            assert_eq!(tags(before), tags(before_plain), "seed {seed}");
            assert_eq!(after, after_plain, "seed {seed}");
            let peak = json!([9, "</script>", "a:1:2", UNKNOWN]);
            assert_eq!(data["at_peak"][0], peak, "seed {seed}");
            assert_eq!(data["lines"][0], "</script><!--<script>\u{2028}&{{data}}");
            assert!(!html.contains("://"), "seed {seed}");
            assert!(!html[before.len()..].contains(['\u{2028}', '\u{2029}']), "seed {seed}");
        }
    }

    #[test]
    fn scripts_insert_texts_as_text() {
        let script = SCRIPTS.concat();
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import("] {
            assert!(!script.contains(word), "{word}");
        }
        assert_eq!(PAGE.matches("{{").count(), 5);
    }

    #[test]
    fn lines_belong_to_the_file_of_the_program() {
        let of = |program: &str, file: &str| {
            let mut timeline = Timeline::new(program, Maker::Measured { machine: "m".into() });
            let lane = timeline.lanes.push(Lane { name: "c".into(), kind: LaneKind::Core });
            let span = Span::new(lane, "dot", SpanKind::Compute, 0..1);
            timeline.spans.push(Span { loc: Loc::file(file, 7, 1), ..span });
            parts(&timeline.to_html(Some("text"))).1["rows"]["text_line"][0].as_i64().unwrap_or(UNKNOWN)
        };
        let same = [("a.mlir", "a.mlir"), ("a.mlir", "dir/a.mlir"), ("dir/a.mlir", "a.mlir")];
        assert_eq!(same.map(|(program, file)| of(program, file)), [7, 7, 7]);
        let others = [("a.mlir", "b.mlir"), ("a.mlir", "aa.mlir"), ("main", "src/lib.rs"), ("a.mlir", "")];
        assert_eq!(others.map(|(program, file)| of(program, file)), [UNKNOWN; 4]);
    }

    /// Checks that 50,000 spans take on average less than 26 bytes if they are turns of a loop, and less than 76 if no
    /// two have the same line and flops.
    #[test]
    fn pages_of_many_spans_are_small() {
        let size = |has_loop: bool| {
            let mut timeline = Timeline::new("a.mlir", Maker::Predicted { machine: "m".into() });
            let lane = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
            let empty = timeline.to_html(None).len();
            for i in 0..50_000 {
                let mut span =
                    Span::new(lane, "dot_general", SpanKind::Compute, i * 2_345_678..i * 2_345_678 + 2_000_000);
                span.ops = vec!["stablehlo.dot_general".into()];
                span.loc = Loc::file("a.mlir", if has_loop { 7 } else { i as u32 }, 5);
                span.work.flops = Some(if has_loop { 1 << 30 } else { 1_000_000 + i });
                span.turn = has_loop.then_some(i);
                timeline.spans.push(span);
            }
            (timeline.to_html(None).len() - empty) / 50_000
        };
        let sizes = (size(true), size(false));
        assert!(sizes.0 <= 25 && sizes.1 <= 75, "{sizes:?}");
    }
}
