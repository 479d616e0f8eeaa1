//! The report: the results of each file, and the failures that are not known.

use super::known::{self, Known};
use super::{Asked, Both};
use crate::repo;
use crate::table::Table;
use std::collections::BTreeMap;

/// Returns the report, and true if all failures are known and no function that is listed as known passes. `verdicts`
/// are those of all texts in order, `skipped` is the number of RUN lines that were left out, and `lists` is true to add
/// the known failures to the report.
pub fn report(asked: &[Asked], verdicts: Vec<Both>, known: &[Known], skipped: usize, lists: bool) -> (String, bool) {
    let mut table = Table::new(["file", "functions", "jaxlib passes", "we pass", "both"]);
    let (mut total, mut failures) = (Counts::default(), Failures::default());
    let mut verdicts = verdicts.into_iter();
    for one in asked {
        let about: Vec<Both> = verdicts.by_ref().take(one.texts.len()).collect();
        let mut counts = Counts::default();
        for (name, texts) in &one.cases {
            let ours = texts.iter().any(|&t| about[t].ours.ok);
            counts.count(ours, texts.iter().any(|&t| about[t].theirs));
            let place = format!("{} @{name}", one.name);
            match (ours, known::find(known, &one.file, &one.run, name)) {
                (true, None) => {}
                (true, Some(known)) => failures.stale.push(format!("{place}: {}", known.reason)),
                (false, Some(known)) => failures.known.entry(&known.reason).or_default().push(place),
                (false, None) => {
                    let last = texts[texts.len() - 1];
                    let (text, reason) = (repo::shown(&one.texts[last]), &about[last].ours.reason);
                    failures.new.push(format!("{place} ({text}): {reason}"));
                }
            }
        }
        table.row(counts.row(&one.name));
        total.add(&counts);
    }
    table.row(total.row("all"));
    let mut out = format!("{table}\n{skipped} RUN lines that check no output were left out\n");
    out.push_str(&failures.written(lists));
    out.push_str(&format!("{} passed, {}\n", total.ours, failures.counted()));
    (out, failures.new.is_empty() && failures.stale.is_empty())
}

#[derive(Default)]
struct Counts {
    functions: usize,
    ours: usize,
    theirs: usize,
    both: usize,
}

impl Counts {
    fn count(&mut self, ours: bool, theirs: bool) {
        let [ours, theirs, both] = [ours, theirs, ours && theirs].map(usize::from);
        self.add(&Counts { functions: 1, ours, theirs, both });
    }

    fn add(&mut self, other: &Counts) {
        self.functions += other.functions;
        self.ours += other.ours;
        self.theirs += other.theirs;
        self.both += other.both;
    }

    fn row(&self, name: &str) -> [String; 5] {
        [name.into(), self.functions.to_string(), self.theirs.to_string(), self.ours.to_string(), self.both.to_string()]
    }
}

#[derive(Default)]
struct Failures<'a> {
    /// Known failures by reason.
    known: BTreeMap<&'a str, Vec<String>>,
    new: Vec<String>,
    /// Functions that are listed and pass.
    stale: Vec<String>,
}

impl Failures<'_> {
    fn counted(&self) -> String {
        let known: usize = self.known.values().map(Vec::len).sum();
        let mut text = format!("{known} known with reasons, {} new", self.new.len());
        if !self.stale.is_empty() {
            text.push_str(&format!(", {} listed that pass", self.stale.len()));
        }
        text
    }

    fn written(&self, lists_known: bool) -> String {
        let mut out = String::new();
        for (reason, places) in self.known.iter().filter(|_| lists_known) {
            out.push_str(&format!("\nknown: {reason}\n  {}\n", places.join("\n  ")));
        }
        for (title, places) in [("new failures", &self.new), ("listed as known, and they pass", &self.stale)] {
            if !places.is_empty() {
                out.push_str(&format!("\n{title}:\n{}\n", places.join("\n")));
            }
        }
        out.push('\n');
        out
    }
}
