//! The report: the table of families and checks, and the failures.

use super::check::{Check, Verdict, Verdicts};
use super::judge::Shardings;
use super::known::Known;
use super::programs::Program;
use crate::table::Table;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The percentage of shardings that must be equal to Shardy's.
const LEAST_EQUAL: f64 = 95.0;
/// The largest number of classes of differences from Shardy.
const MOST_CLASSES: usize = 5;
/// The smallest number of programs that must run in jaxlib's interpreter.
const LEAST_INTERPRETED: usize = 20;

pub struct Report<'a> {
    pub programs: &'a [Program],
    pub checks: &'a [Check],
    pub verdicts: &'a Verdicts,
    pub propagation: Shardings,
    pub known: Vec<Known>,
    /// True if no option restricts the families or names a folder. Only then must all totals reach their marks.
    pub is_whole: bool,
    /// True if every program is included.
    pub is_full: bool,
}

impl Report<'_> {
    /// Returns the text, and true if everything is right: no unexpected failure, no listed failure that is out of date,
    /// and all totals reach their marks.
    pub fn write(&self) -> (String, bool) {
        let (failures, known) = self.failures();
        let mut wrong = failures;
        wrong.extend(self.stale());
        wrong.extend(self.missed());
        let mut text = format!("{}\n", self.table());
        let mut section = |title: &str, lines: &[String]| {
            if !lines.is_empty() {
                let _ = writeln!(text, "{title}:\n  {}\n", lines.join("\n  "));
            }
        };
        section("known", &known);
        section("shardings equal to Shardy's", &self.propagation_lines());
        section("WRONG", &wrong);
        let _ = writeln!(text, "{}", self.summary(wrong.len(), known.len()));
        (text, wrong.is_empty())
    }

    fn table(&self) -> Table {
        let head = ["family", "programs"].into_iter().chain(self.checks.iter().map(|c| c.name()));
        let mut table = Table::new(head);
        let families: BTreeSet<&str> = self.programs.iter().map(|p| p.family()).collect();
        for family in families {
            let members: Vec<usize> =
                (0..self.programs.len()).filter(|&p| self.programs[p].family() == family).collect();
            let cells = self.checks.iter().map(|&check| self.cell(&members, check));
            table.row([family.to_string(), members.len().to_string()].into_iter().chain(cells));
        }
        let all: Vec<usize> = (0..self.programs.len()).collect();
        let cells = self.checks.iter().map(|&check| self.cell(&all, check));
        table.row(["all".to_string(), all.len().to_string()].into_iter().chain(cells));
        table
    }

    fn cell(&self, members: &[usize], check: Check) -> String {
        let verdicts: Vec<_> = members.iter().filter_map(|&p| self.verdicts.get(&(p, check))).collect();
        let passed = verdicts.iter().filter(|v| ***v == Verdict::Passed).count();
        let known = members.iter().filter(|&&p| self.is_failed(p, check) && self.find(p, check).is_some()).count();
        let known = if known > 0 { format!(" ({known} known)") } else { String::new() };
        format!("{passed}/{}{known}", members.len())
    }

    fn is_failed(&self, program: usize, check: Check) -> bool {
        matches!(self.verdicts.get(&(program, check)), Some(Verdict::Failed(_)))
    }

    fn find(&self, program: usize, check: Check) -> Option<&Known> {
        self.known.iter().find(|k| k.program == self.programs[program].label && k.check == check)
    }

    /// Returns a line for each failure that is not listed, and a line for each listed failure that occurred.
    fn failures(&self) -> (Vec<String>, Vec<String>) {
        let (mut new, mut known) = (vec![], vec![]);
        for (&(program, check), verdict) in self.verdicts {
            let Verdict::Failed(reason) = verdict else { continue };
            let place = format!("{} {}", self.programs[program].label, check.name());
            match self.find(program, check) {
                Some(k) => known.push(format!("{place} [{}]: {}", k.class, k.reason)),
                None => new.push(format!("{place}: {reason}")),
            }
        }
        (new, known)
    }

    /// Returns a line for each listed failure whose check passes now, unless its outcome is arbitrary, and for each one
    /// whose program does not exist, if every program is included.
    fn stale(&self) -> Vec<String> {
        let found = |k: &Known| self.programs.iter().position(|p| p.label == k.program);
        let why = |k: &Known| match found(k) {
            Some(_) if k.by_chance => None,
            Some(p) if self.verdicts.get(&(p, k.check)) == Some(&Verdict::Passed) => Some("it passes now"),
            None if self.is_full => Some("there is no such program"),
            _ => None,
        };
        let line =
            |k: &Known, why: &str| format!("{} {}: {why}; remove it from oracle/known.toml", k.program, k.check.name());
        self.known.iter().filter_map(|k| Some(line(k, why(k)?))).collect()
    }

    /// Returns a line for each mark that is not reached. The number of classes of differences always counts, the other
    /// totals only if `is_whole` is true and their check was run.
    fn missed(&self) -> Vec<String> {
        let mut missed = vec![];
        let classes: BTreeSet<&str> =
            self.known.iter().filter(|k| k.check == Check::Propagate).map(|k| k.class.as_str()).collect();
        if classes.len() > MOST_CLASSES {
            missed.push(format!("{} classes of differences from Shardy, {MOST_CLASSES} are allowed", classes.len()));
        }
        if self.is_whole && self.checks.contains(&Check::Propagate) && self.percent() < LEAST_EQUAL {
            missed.push(format!("{:.2} % of shardings are equal, {LEAST_EQUAL} % are asked for", self.percent()));
        }
        let interpreted = self.passed(Check::Interpret);
        if self.is_whole && self.checks.contains(&Check::Interpret) && interpreted < LEAST_INTERPRETED {
            missed.push(format!("{interpreted} programs ran in the interpreter, {LEAST_INTERPRETED} are asked for"));
        }
        missed
    }

    fn passed(&self, check: Check) -> usize {
        self.verdicts.iter().filter(|((_, c), v)| *c == check && **v == Verdict::Passed).count()
    }

    fn percent(&self) -> f64 {
        let total = self.propagation.total();
        100.0 * total.equal as f64 / total.compared.max(1) as f64
    }

    fn propagation_lines(&self) -> Vec<String> {
        if !self.checks.contains(&Check::Propagate) {
            return vec![];
        }
        let kind = |(kind, n): (&String, &super::judge::Count)| format!("{kind}s: {} of {}", n.equal, n.compared);
        let mut lines: Vec<String> = self.propagation.kinds.iter().map(kind).collect();
        lines.push(format!("together: {:.2} %", self.percent()));
        let mut by_op: Vec<_> = self.propagation.different_by_op.iter().collect();
        by_op.sort_by_key(|(op, n)| (std::cmp::Reverse(**n), *op));
        lines.extend(by_op.iter().map(|(op, n)| format!("differs at {op}: {n}")));
        lines
    }

    fn summary(&self, wrong: usize, known: usize) -> String {
        let tried = self.programs.len() * self.checks.len();
        let passed: usize = self.checks.iter().map(|&c| self.passed(c)).sum();
        format!("oracle: {passed} of {tried} checks passed, {known} known failures, {wrong} wrong")
    }
}
