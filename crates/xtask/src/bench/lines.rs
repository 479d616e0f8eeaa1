//! The comparisons and their targets.

use crate::table::Table;
use std::collections::BTreeMap;

/// The subject of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Subject {
    Jax,
    /// Our program on all devices of its mesh.
    Ours,
    /// Our program on a mesh whose axes all have size one.
    OursOnOne,
}

/// Medians of the rounds in microseconds, by program and subject.
#[derive(Default)]
pub struct Samples(BTreeMap<(String, Subject), Vec<f64>>);

impl Samples {
    pub fn add(&mut self, name: &str, subject: Subject, median_us: f64) {
        self.0.entry((name.to_string(), subject)).or_default().push(median_us);
    }

    /// Returns the median over the rounds, or `None` if the program was not measured for this subject.
    pub fn median(&self, name: &str, subject: Subject) -> Option<f64> {
        let rounds = self.0.get(&(name.to_string(), subject))?;
        Some(median(rounds))
    }
}

/// Returns the middle value, or the mean of the two middle values if their number is even.
///
/// # Panics
/// Panics if there are no values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// The requirement on a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// No requirement: the number is only shown.
    None,
}

impl Target {
    fn is_reached(self, value: f64) -> bool {
        match self {
            Target::AtLeast(least) => value >= least,
            Target::AtMost(most) => value <= most,
            Target::None => true,
        }
    }

    fn text(self) -> String {
        match self {
            Target::AtLeast(least) => format!(">= {least}"),
            Target::AtMost(most) => format!("<= {most}"),
            Target::None => String::new(),
        }
    }
}

/// A line of the table.
pub struct Line {
    title: &'static str,
    program: &'static str,
    /// The number is the first median divided by the second, or the first one alone in microseconds.
    of: (Subject, Option<Subject>),
    target: Target,
}

const fn faster(title: &'static str, program: &'static str, target: Target) -> Line {
    Line { title, program, of: (Subject::Jax, Some(Subject::Ours)), target }
}

const fn scaling(title: &'static str, program: &'static str, target: Target) -> Line {
    Line { title, program, of: (Subject::Ours, Some(Subject::OursOnOne)), target }
}

pub const LINES: &[Line] = &[
    faster("chapter's first example: JAX / ours", "chapter", Target::AtLeast(20.0)),
    scaling("chapter's first example: 8 devices / 1", "chapter", Target::AtMost(1.15)),
    faster("matmul f32: JAX / ours", "matmul_f32", Target::AtLeast(1.0)),
    scaling("matmul f32: 8 devices / 1", "matmul_f32", Target::None),
    faster("matmul bf16: JAX / ours", "matmul_bf16", Target::AtLeast(1.7)),
    scaling("matmul bf16: 8 devices / 1", "matmul_bf16", Target::None),
    faster("transformer forward: JAX / ours", "transformer_forward", Target::None),
    scaling("transformer forward: 8 devices / 1", "transformer_forward", Target::AtMost(1.15)),
    faster("transformer training step: JAX / ours", "transformer_train", Target::None),
    scaling("transformer training step: 8 devices / 1", "transformer_train", Target::None),
    faster("transformer lower and compile: JAX / ours", "transformer_compile", Target::AtLeast(10.0)),
    faster("call of x + 1: JAX / ours", "call_overhead", Target::None),
    Line {
        title: "call of x + 1: microseconds",
        program: "call_overhead",
        of: (Subject::Ours, None),
        target: Target::AtMost(10.0),
    },
    faster("mixture of experts: JAX's scan / ours", "moe_scan", Target::AtLeast(10.0)),
    faster("mixture of experts: JAX's ragged_dot / ours", "moe_ragged", Target::AtLeast(10.0)),
    faster("all-gather matmul: best of JAX / ours", "all_gather_matmul", Target::AtLeast(1.0)),
    faster("reduce-scatter matmul: best of JAX / ours", "reduce_scatter_matmul", Target::AtLeast(1.0)),
    faster("all-reduce matmul: best of JAX / ours", "all_reduce_matmul", Target::AtLeast(1.0)),
    faster("all-gather, 4 KiB a device: JAX / ours", "all_gather_4k", Target::AtLeast(50.0)),
    faster("all-reduce, 4 KiB a device: JAX / ours", "all_reduce_4k", Target::AtLeast(50.0)),
    faster("reduce-scatter, 4 KiB a device: JAX / ours", "reduce_scatter_4k", Target::AtLeast(50.0)),
    faster("all-to-all, 4 KiB a device: JAX / ours", "all_to_all_4k", Target::AtLeast(50.0)),
    faster("permute, 4 KiB a device: JAX / ours", "permute_4k", Target::AtLeast(50.0)),
    faster("all-gather, 16 MiB a device: JAX / ours", "all_gather_16m", Target::AtLeast(5.0)),
    faster("all-to-all, 16 MiB a device: JAX / ours", "all_to_all_16m", Target::AtLeast(5.0)),
    faster("permute, 16 MiB a device: JAX / ours", "permute_16m", Target::AtLeast(5.0)),
];

impl Line {
    pub fn is_measured(&self, samples: &Samples) -> bool {
        self.value(samples).is_some()
    }

    fn value(&self, samples: &Samples) -> Option<f64> {
        let over = |subject| samples.median(self.program, subject);
        Some(over(self.of.0)? / self.of.1.map_or(Some(1.0), over)?)
    }

    pub fn is_reached(&self, samples: &Samples) -> bool {
        self.value(samples).is_some_and(|value| self.target.is_reached(value))
    }

    fn cells(&self, samples: &Samples) -> Vec<String> {
        let time = |subject| samples.median(self.program, subject).map_or(String::new(), shown_time);
        let verdict = match self.target {
            Target::None => "",
            _ if self.is_reached(samples) => "pass",
            _ => "MISS",
        };
        vec![
            self.title.to_string(),
            time(Subject::Jax),
            time(Subject::Ours),
            time(Subject::OursOnOne),
            self.value(samples).map_or(String::new(), |value| format!("{value:.2}")),
            self.target.text(),
            verdict.to_string(),
        ]
    }
}

pub fn shown_time(us: f64) -> String {
    match us {
        _ if us < 1e3 => format!("{us:.1} us"),
        _ if us < 1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

/// Returns the table of these lines.
pub fn table(lines: &[&Line], samples: &Samples) -> Table {
    let mut table = Table::new(["", "JAX", "ours, 8", "ours, 1", "ratio", "target", ""]);
    for line in lines {
        table.row(line.cells(samples));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
    }

    #[test]
    fn ratios_and_targets() {
        let mut samples = Samples::default();
        samples.add("chapter", Subject::Jax, 50_000.0);
        samples.add("chapter", Subject::Ours, 2_000.0);
        let lines: Vec<&Line> = LINES.iter().filter(|line| line.is_measured(&samples)).collect();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].is_reached(&samples));
        let text = table(&lines, &samples).to_string();
        assert!(text.contains("50.00 ms  2.00 ms") && text.contains("25.00   >= 20  pass"), "{text}");
    }
}
