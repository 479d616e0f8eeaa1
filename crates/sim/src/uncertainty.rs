//! Typical errors of predictions, by class of instruction.
//!
//! For chips, the error of a class comes from the published points to which no constant was fitted (`points`), if there
//! are any for the class: two of three of them have no larger error. If constants of the class are guesses for a
//! machine, the error is larger. For a host, it was measured with the constants.

use crate::{Machine, Point, points};
use shardwise_view::{SpanKind, Timeline};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A class of instructions whose predictions have similar errors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Class {
    Product,
    /// Elementwise ops, reductions and small programs. For a chip, all that computes and takes no longer for its flops
    /// than for its data.
    Element,
    /// Other ops with a rate of their own.
    Op,
    Collective,
    /// Ops of which nothing was measured.
    Unknown,
}

impl Class {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Class::Product => "product",
            Class::Element => "element",
            Class::Op => "op",
            Class::Collective => "collective",
            Class::Unknown => "unknown",
        }
    }
}

/// The independent error that is added, as the root of the sum of squares, where a constant of a chip is a guess.
const GUESSED: f64 = 0.1;

/// The error of classes for which there are no points without fitted constants.
const WITHOUT_POINTS: f64 = 0.2;

/// For each class of published points to which no constant was fitted, the error that two of three of them do not
/// exceed.
static RESIDUALS: LazyLock<BTreeMap<Class, f64>> = LazyLock::new(|| {
    let points = points().unwrap_or_default();
    let mut errors: BTreeMap<Class, Vec<f64>> = BTreeMap::new();
    for (class, point) in points.iter().filter(|p| !p.is_fit).filter_map(|p| Some((class_of(p)?, p))) {
        errors.entry(class).or_default().push(point.error().abs());
    }
    errors.into_iter().map(|(class, errors)| (class, typical(errors))).collect()
});

fn class_of(point: &Point) -> Option<Class> {
    let words: Vec<&str> = point.what.split_whitespace().collect();
    match words[..] {
        ["product", ..] => Some(Class::Product),
        ["gather" | "all_reduce" | "permute", ..] => Some(Class::Collective),
        ["program", .., "compute", _] => Some(Class::Product),
        ["program", .., "collective", _] => Some(Class::Collective),
        _ => None,
    }
}

/// Returns the error that two of three errors do not exceed, or 0 if there are none.
pub fn typical(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    let rank = (2 * errors.len()).div_ceil(3).saturating_sub(1);
    errors.get(rank).copied().unwrap_or(0.0)
}

fn constants(class: Class) -> &'static [&'static str] {
    match class {
        Class::Product => &["clock_hz", "macs_per_cycle", "mxu_efficiency", "hbm_bytes_per_s", "hbm_efficiency"],
        Class::Collective => &["link_bytes_per_s", "step_latency_s", "ring_efficiency", "line_efficiency"],
        _ => &["hbm_bytes_per_s", "hbm_efficiency", "vector_flops_per_s"],
    }
}

fn of_chip(machine: &Machine, class: Class) -> f64 {
    let residual = RESIDUALS.get(&class).copied().unwrap_or(WITHOUT_POINTS);
    let is_guess = |name: &&str| machine.fact(name).is_some_and(|fact| !fact.is_verified);
    let guessed = if constants(class).iter().any(is_guess) { GUESSED } else { 0.0 };
    residual.hypot(guessed)
}

/// Sets the typical errors of the spans of a prediction for a chip, and of the whole run.
pub(crate) fn set(timeline: &mut Timeline, machine: &Machine) {
    let errors = [Class::Product, Class::Element, Class::Collective].map(|class| of_chip(machine, class));
    for span in timeline.spans.iter_mut() {
        let is_product = span.work.flops.is_some_and(|flops| flops > 0) && is_bound_by_flops(span, machine);
        span.uncertainty = match span.kind {
            SpanKind::Compute if is_product => Some(errors[0]),
            SpanKind::Compute => Some(errors[1]),
            SpanKind::Collective => Some(errors[2]),
            SpanKind::Control | SpanKind::Wait => None,
        };
    }
    timeline.uncertainty = of_run(timeline);
}

fn is_bound_by_flops(span: &shardwise_view::Span, machine: &Machine) -> bool {
    let c = &machine.constants;
    let seconds = |amount: Option<u64>, rate: f64| amount.unwrap_or(0) as f64 / rate;
    seconds(span.work.flops, c.peak_flops) > seconds(span.work.memory_bytes, c.hbm_bytes_per_s)
}

/// Returns the typical error of a whole run, as a fraction of the time of the spans that have a typical error. Spans
/// with equal errors count as having the same causes, so that their errors add up. Those of others are independent.
/// Returns `None` if no span that takes time has a typical error.
pub(crate) fn of_run(timeline: &Timeline) -> Option<f64> {
    let mut by_error: BTreeMap<u64, f64> = BTreeMap::new();
    let mut whole = 0.0;
    for span in timeline.spans.iter() {
        let Some(error) = span.uncertainty else { continue };
        let time = span.duration() as f64;
        *by_error.entry(error.to_bits()).or_default() += error * time;
        whole += time;
    }
    let sum = by_error.values().map(|time| time * time).sum::<f64>().sqrt();
    (whole > 0.0).then(|| sum / whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_view::{Lane, LaneKind, Maker, Span};

    #[test]
    fn two_of_three_errors_are_not_larger() {
        assert_eq!(typical(vec![0.3, 0.1, 0.2]), 0.2);
        assert_eq!(typical(vec![0.4, 0.1, 0.2, 0.3, 0.5, 0.6]), 0.4);
        assert_eq!((typical(vec![0.7]), typical(vec![])), (0.7, 0.0));
    }

    #[test]
    fn guesses_are_less_certain() {
        for machine in Machine::all() {
            for class in [Class::Product, Class::Element, Class::Collective] {
                let residual = RESIDUALS.get(&class).copied().unwrap_or(WITHOUT_POINTS);
                assert!(of_chip(machine, class) >= residual, "{} {class:?}", machine.name);
            }
        }
    }

    #[test]
    fn errors_of_one_cause_add_up_and_others_do_not() {
        let mut timeline = Timeline::new("a", Maker::Predicted { machine: "m".into() });
        let lane = timeline.lanes.push(Lane { name: "core".into(), kind: LaneKind::Core });
        let span =
            |error, from: u64| Span { uncertainty: error, ..Span::new(lane, "a", SpanKind::Compute, from..from + 100) };
        timeline.spans.push(span(Some(0.3), 0));
        timeline.spans.push(span(Some(0.3), 100));
        assert_eq!(of_run(&timeline).map(|e| (e * 1e6).round()), Some(300_000.0));
        timeline.spans.push(span(Some(0.8), 200));
        // The root of 0.6 squared plus 0.8 squared, of 3.
        assert_eq!(of_run(&timeline).map(|e| (e * 3e6).round()), Some(1_000_000.0));
    }
}
