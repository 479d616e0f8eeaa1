//! The lines that a worker process writes while it runs cases, and how they are read.

use super::{CaseKind, Outcome, Reached, run};
use std::io::{Result, Write};
use std::ops::Range;

/// The character that replaces line ends in the two texts of a finding.
const LINE_END: char = '\u{1}';

/// A line of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// The case of this seed begins.
    Begins(u64),
    /// The case ended with this [`Outcome`]. An op is its number among [`Opcode`](shardwise_ops::Opcode)'s variants. A
    /// finding is its line and its details, in which spaces replace tabs.
    Ended {
        reached: Reached,
        ops: Vec<u16>,
        features: Vec<String>,
        strategies: Vec<String>,
        injected: Vec<String>,
        not_compared: Option<String>,
        found: Option<(String, String)>,
    },
}

/// Runs the cases of the seeds, and writes two lines for each of them, one before it runs and one afterwards. Fails if
/// they cannot be written.
pub fn work(kind: CaseKind, seeds: Range<u64>, out: &mut dyn Write) -> Result<()> {
    for seed in seeds {
        writeln!(out, "begins\t{seed}")?;
        out.flush()?;
        writeln!(out, "{}", line(&run(kind, seed)))?;
        out.flush()?;
    }
    Ok(())
}

fn line(outcome: &Outcome) -> String {
    let ops: Vec<String> = outcome.ops.iter().map(|&op| (op as u16).to_string()).collect();
    let (what, details) = outcome.found.as_ref().map_or(("", ""), |f| (&f.what, &f.details));
    let texts = [what, details].map(|text| text.replace('\n', &LINE_END.to_string()).replace('\t', " "));
    let reached = outcome.reached as usize;
    let [features, injected] = [&outcome.features, &outcome.injected].map(|names| names.join(","));
    let (ops, strategies) = (ops.join(","), outcome.strategies.join(","));
    let not_compared = outcome.not_compared.unwrap_or("");
    let [what, details] = texts;
    format!("ended\t{reached}\t{ops}\t{features}\t{strategies}\t{injected}\t{not_compared}\t{what}\t{details}")
}

impl Report {
    /// Reads a line. Returns `None` if it does not have the form of the lines that a worker writes.
    pub fn parse(line: &str) -> Option<Report> {
        let parts: Vec<&str> = line.split('\t').collect();
        match parts[..] {
            ["begins", seed] => Some(Report::Begins(seed.parse().ok()?)),
            ["ended", reached, ops, features, strategies, injected, not_compared, what, details] => {
                let text = |text: &str| text.replace(LINE_END, "\n");
                Some(Report::Ended {
                    reached: *Reached::ALL.get(reached.parse::<usize>().ok()?)?,
                    ops: list(ops).map(|op| op.parse().ok()).collect::<Option<_>>()?,
                    features: list(features).map(str::to_string).collect(),
                    strategies: list(strategies).map(str::to_string).collect(),
                    injected: list(injected).map(str::to_string).collect(),
                    not_compared: (!not_compared.is_empty()).then(|| not_compared.to_string()),
                    found: (!what.is_empty()).then(|| (text(what), text(details))),
                })
            }
            _ => None,
        }
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Found;
    use shardwise_ops::Opcode;

    #[test]
    fn reports_read_back() {
        let outcome = Outcome {
            reached: Reached::Ran,
            ops: vec![Opcode::Return, Opcode::Abs],
            features: vec!["size 0", "dead code"],
            strategies: vec!["halo".into(), "halo: uneven".into()],
            injected: vec!["write reported"],
            not_compared: Some("a claim is unproved"),
            found: Some(Found::new("a\tb", "c\nd")),
        };
        let expected = Report::Ended {
            reached: Reached::Ran,
            ops: vec![Opcode::Return as u16, Opcode::Abs as u16],
            features: vec!["size 0".into(), "dead code".into()],
            strategies: vec!["halo".into(), "halo: uneven".into()],
            injected: vec!["write reported".into()],
            not_compared: Some("a claim is unproved".into()),
            found: Some(("a b".into(), "c\nd".into())),
        };
        assert_eq!(Report::parse(&line(&outcome)), Some(expected));
        assert_eq!(Report::parse("begins\t7"), Some(Report::Begins(7)));
        assert_eq!(Report::parse("anything else"), None);
    }
}
