//! The report on programs: every program, worst first, the families, and what is above XLA.

use super::tally::Tally;
use super::{Row, training};
use crate::table::Table;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Bytes that are added to both sides of a ratio, so that small programs do not decide.
const SMALL: f64 = 1024.0;

pub struct Report<'r> {
    pub rows: &'r [Row],
    pub seed: u64,
    /// Training steps that are not as they must be, with the reasons.
    pub steps: &'r [String],
    /// Programs whose values differ or that did not run to their end in time, with the reasons.
    pub wrong: &'r [String],
    /// True if values were compared.
    pub is_checked: bool,
    /// The day of the last commit.
    pub date: &'r str,
}

/// A program that both sides partition.
#[derive(Clone, Copy)]
struct Both<'r> {
    row: &'r Row,
    ours: &'r Tally,
    theirs: &'r Tally,
}

impl Both<'_> {
    fn label(&self) -> String {
        format!("{}/{}", self.row.family, self.row.name)
    }

    fn ratio(&self) -> f64 {
        (self.ours.worst() as f64 + SMALL) / (self.theirs.worst() as f64 + SMALL)
    }

    fn is_above(&self) -> bool {
        self.ours.worst() > self.theirs.worst()
    }

    /// Returns true if XLA moves fewer bytes with no more operations of products.
    fn is_dominated(&self) -> bool {
        self.is_above() && self.theirs.flops <= self.ours.flops
    }

    fn cells(&self) -> [String; 10] {
        let (ours, theirs) = (self.ours, self.theirs);
        let times = match theirs.worst() {
            0 if ours.worst() > 0 => "inf".into(),
            0 => "1.00".into(),
            bytes => format!("{:.2}", ours.worst() as f64 / bytes as f64),
        };
        let guess = if ours.is_guess || theirs.is_guess { " ?" } else { "" };
        [
            self.label(),
            format!("{}{guess}", ours.worst()),
            theirs.plain.to_string(),
            theirs.worst().to_string(),
            times,
            format!("{:.2}", self.ratio()),
            ours.collectives.to_string(),
            theirs.collectives.to_string(),
            ours.flops.to_string(),
            theirs.flops.to_string(),
        ]
    }
}

const HEAD: [&str; 10] =
    ["program", "ours", "xla", "xla*", "ours/xla*", "with 1 KiB", "runs", "xla's", "flops", "xla's"];

/// Sums and counts of some programs, and the mean ratio of their bytes.
struct Sums {
    count: usize,
    ours: u64,
    plain: u64,
    strict: u64,
    mean: f64,
    above: usize,
    dominated: usize,
}

impl Sums {
    fn of(programs: &[Both<'_>]) -> Sums {
        let sum = |f: fn(&Both<'_>) -> u64| programs.iter().map(f).sum();
        let logarithms: f64 = programs.iter().map(|p| p.ratio().ln()).sum();
        Sums {
            count: programs.len(),
            ours: sum(|p| p.ours.worst()),
            plain: sum(|p| p.theirs.plain),
            strict: sum(|p| p.theirs.worst()),
            mean: (logarithms / programs.len().max(1) as f64).exp(),
            above: programs.iter().filter(|p| p.is_above()).count(),
            dominated: programs.iter().filter(|p| p.is_dominated()).count(),
        }
    }

    fn total(&self) -> f64 {
        self.ours as f64 / self.strict.max(1) as f64
    }

    fn cells(&self, name: &str) -> [String; 9] {
        [
            name.into(),
            self.count.to_string(),
            self.ours.to_string(),
            self.plain.to_string(),
            self.strict.to_string(),
            format!("{:.3}", self.total()),
            format!("{:.3}", self.mean),
            self.above.to_string(),
            self.dominated.to_string(),
        ]
    }
}

impl<'r> Report<'r> {
    /// Returns the programs but for training steps that both sides partition, in the order of the ratio of our bytes to
    /// XLA's, the largest first. [`SMALL`] is added to both.
    fn both(&self) -> Vec<Both<'r>> {
        let both = |row: &'r Row| match (&row.ours, &row.theirs) {
            (Ok(ours), Ok(theirs)) => Some(Both { row, ours, theirs }),
            _ => None,
        };
        let mut found: Vec<Both<'r>> =
            self.rows.iter().filter(|row| row.family != training::FAMILY).filter_map(both).collect();
        found.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()).then_with(|| a.label().cmp(&b.label())));
        found
    }

    /// Returns true if XLA moves fewer bytes in a program with no more operations of products. Training steps do not
    /// count.
    pub fn has_dominated(&self) -> bool {
        self.both().iter().any(Both::is_dominated)
    }

    /// Returns the report for the terminal.
    pub fn text(&self) -> String {
        let both = self.both();
        let steps = training::table(self.rows);
        format!("{}\n{}\n{steps}\n{}", programs(&both), families(&both), self.summary(&both))
    }

    /// Returns the report as a page.
    pub fn page(&self) -> String {
        let both = self.both();
        format!(
            "{PAGE_HEAD}\nMeasured with the partitioner of {}.\n\n```text\n{}```\n\n## Families\n\n```text\n{}```\n\n## Training steps\n\n{STEPS_HEAD}\n```text\n{}```\n\n## Programs\n\n```text\n{}```\n",
            self.date,
            self.summary(&both),
            families(&both),
            training::table(self.rows),
            programs(&both),
        )
    }

    fn summary(&self, both: &[Both<'_>]) -> String {
        let sums = Sums::of(both);
        let mut out = String::new();
        let mut line = |text: String| writeln!(out, "{text}").expect("a string");
        let count = self.rows.iter().filter(|row| row.family != training::FAMILY).count();
        line(format!("{count} programs on eight devices, sizes from seed {}", self.seed));
        line(format!("geometric mean of (ours + 1 KiB) / (xla* + 1 KiB): {:.3}", sums.mean));
        let plain = sums.ours as f64 / sums.plain.max(1) as f64;
        line(format!("totals: ours {}, xla {}, xla* {}", sums.ours, sums.plain, sums.strict));
        line(format!("ours/xla {plain:.3}, ours/xla* {:.3}", sums.total()));
        line(format!("above xla*: {}", sums.above));
        let named = |chosen: &dyn Fn(&&Both<'_>) -> bool| list(both.iter().filter(chosen).map(|p| p.label()).collect());
        let is_large = |p: &&Both<'_>| 100 * p.theirs.worst() > 5 * sums.strict;
        line(format!("more than 5 % of the total of xla*: {}", named(&is_large)));
        line(format!("xla* moves nothing and we do: {}", named(&|p| p.theirs.worst() == 0 && p.ours.worst() > 0)));
        line(format!("dominated (XLA moves less with no more products): {}", named(&|p| p.is_dominated())));
        for p in both.iter().filter(|p| p.is_above() && !p.is_dominated()) {
            let (ours, theirs) = (p.ours, p.theirs);
            let bytes = format!("{} bytes against our {}", theirs.worst(), ours.worst());
            line(format!(
                "XLA repeats work in {}: {bytes}, {} flops against our {}",
                p.label(),
                theirs.flops,
                ours.flops
            ));
        }
        self.failures().into_iter().for_each(&mut line);
        out
    }

    /// Returns a line for each program that we cannot partition, one for each that XLA cannot partition, and one for
    /// each training step that is not as it must be. If values were compared, also returns a line with the number of
    /// programs with other values, and a line for each of these.
    fn failures(&self) -> Vec<String> {
        let mut lines = vec![];
        for row in self.rows {
            for (who, side) in [("we", &row.ours), ("XLA", &row.theirs)] {
                if let Err(why) = side {
                    let why = why.lines().next().unwrap_or("");
                    lines.push(format!("{}/{}: {who} cannot partition it: {why}", row.family, row.name));
                }
            }
        }
        lines.extend_from_slice(self.steps);
        if self.is_checked {
            lines.push(format!("values: {} of {} differ from the whole program's", self.wrong.len(), self.rows.len()));
            lines.extend_from_slice(self.wrong);
        }
        lines
    }

    /// Returns the seed and the numbers of all programs as JSON.
    pub fn numbers(&self) -> Value {
        let side = |side: &Result<Tally, String>| match side {
            Ok(t) => json!({ "bytes": t.worst(), "plain": t.plain, "flops": t.flops, "runs": t.collectives }),
            Err(why) => json!({ "error": why }),
        };
        let row = |row: &Row| json!({ "family": row.family, "name": row.name, "ours": side(&row.ours), "xla": side(&row.theirs) });
        json!({ "seed": self.seed, "programs": self.rows.iter().map(row).collect::<Vec<_>>() })
    }
}

fn list(names: Vec<String>) -> String {
    let mut out = names.len().to_string();
    let mut length = 0;
    for (i, name) in names.iter().enumerate() {
        length += name.len() + 2;
        let is_new_line = i == 0 || length > 120;
        out += if is_new_line { "\n  " } else { ", " };
        out += name;
        length = if is_new_line { name.len() } else { length };
    }
    out
}

fn programs(both: &[Both<'_>]) -> Table {
    let mut table = Table::new(HEAD);
    both.iter().for_each(|p| table.row(p.cells()));
    table
}

fn families(both: &[Both<'_>]) -> Table {
    let head = ["family", "programs", "ours", "xla", "xla*", "ours/xla*", "mean with 1 KiB", "above", "dominated"];
    let mut table = Table::new(head);
    let mut by_family: BTreeMap<&str, Vec<Both<'_>>> = BTreeMap::new();
    both.iter().for_each(|p| by_family.entry(&p.row.family).or_default().push(*p));
    by_family.iter().for_each(|(name, programs)| table.row(Sums::of(programs).cells(name)));
    table.row(Sums::of(both).cells("all"));
    table
}

/// The text before the tables of the page.
const PAGE_HEAD: &str = "\
# Communication against XLA

Written by `cargo xtask communication programs --check --write`, from the programs in `oracle/traffic`. All arguments and
results have fixed shardings over eight devices. `docs/reshards.md` has the bytes of single reshards.

- `ours`: the bytes that the device that receives most receives when it runs our partitioned program. Padding is counted,
  and what a loop moves is multiplied by its trip count.
- `xla`: the same count on what XLA's CPU compiler (JAX 0.10.2) makes of the program, with each permute counted in full.
- `xla*`: a stricter bar. An all-reduce of which each device reads only its own shard counts as the reduce-scatter that XLA
  makes of it on accelerators, and permutes count on the devices that receive.
- `runs` is how many collectives run, and `flops` the operations of dots and convolutions on one device. The second column
  of each is XLA's.
";

/// The text before the table of training steps.
const STEPS_HEAD: &str = "\
The programs are JAX's, with its gradients. `crates/shardwise/tests/it/training_communication.rs` traces the same steps from Rust,
and checks that they move at most the bytes of the formula and at most those of `xla*`. The formula is without the 64 bytes
that may sum the loss. The other tables do not contain these steps. A step above `xla*` is an error of the command.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(bytes: u64, flops: u64) -> Tally {
        let mut tally = Tally::of_flops(flops);
        tally.receive(2 * bytes, bytes);
        tally
    }

    fn row(name: &str, ours: (u64, u64), theirs: (u64, u64)) -> Row {
        let (ours, theirs) = (Ok(tally(ours.0, ours.1)), Ok(tally(theirs.0, theirs.1)));
        Row { family: "test".into(), name: name.into(), ours, theirs }
    }

    #[test]
    fn programs_above_xla_are_told_apart() {
        let rows = [
            row("equal", (1024, 5), (1024, 5)),
            row("dominated", (3072, 5), (1024, 5)),
            row("repeated", (3072, 5), (1024, 6)),
            row("from_nothing", (3072, 0), (0, 0)),
            Row { ours: Err("no rule\nmore".into()), ..row("failed", (0, 0), (0, 0)) },
        ];
        let wrong = ["test/equal: 1 of 2 differ".to_string()];
        let report = Report { rows: &rows, seed: 7, steps: &[], wrong: &wrong, is_checked: true, date: "" };
        let text = report.text();
        assert!(text.contains("geometric mean of (ours + 1 KiB) / (xla* + 1 KiB): 2.000"), "{text}");
        assert!(text.contains("totals: ours 10240, xla 6144, xla* 3072"), "{text}");
        assert!(text.contains("xla* moves nothing and we do: 1\n  test/from_nothing\n"), "{text}");
        assert!(text.contains("no more products): 2\n  test/from_nothing, test/dominated\n"), "{text}");
        assert!(report.has_dominated());
        assert!(text.contains("XLA repeats work in test/repeated: 1024 bytes against our 3072, 6 flops against our 5"));
        assert!(text.contains("test/failed: we cannot partition it: no rule\n"), "{text}");
        assert!(text.contains("values: 1 of 5 differ"), "{text}");
        let worst = text.lines().nth(2).unwrap();
        assert!(worst.starts_with("test/from_nothing") && worst.contains(" inf "), "{text}");
    }
}
