//! Published measurements, with the predictions of the simulator for them.

use crate::collective::{Exchange, pattern, permute_pattern};
use crate::op::{Precision, Product, Work};
use crate::simulate::simulate_exactly;
use crate::{Machine, Options, Overlap, Topology};
use shardwise_base::{DType, Diagnostic, Diagnostics, Loc};
use shardwise_ir::text;
use shardwise_view::{LaneKind, Picoseconds, SpanKind, Timeline};

/// A published measurement with its prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The subject of the measurement: `product 4096 4096 4096 bf16`.
    pub what: String,
    /// The topology on which the subject was measured.
    pub topology: String,
    /// The measured time, in microseconds.
    pub measured_us: f64,
    /// The largest error of the measured time by rounding, in microseconds.
    pub rounding_us: f64,
    /// True if a constant of the machine was fitted to this point.
    pub is_fit: bool,
    /// The document in which the measurement was published.
    pub source: String,
    /// A remark on the constants that come from the measurement, or on the error of the prediction. May be empty.
    pub note: String,
    /// The predicted time, in microseconds.
    pub predicted_us: f64,
}

impl Point {
    /// Returns the distance of the prediction from the measured time, as a fraction of that time. It is 0 within the
    /// rounding of the measurement, and negative if the prediction is too short.
    pub fn error(&self) -> f64 {
        let distance = self.predicted_us - self.measured_us;
        if distance.abs() <= self.rounding_us { 0.0 } else { distance / self.measured_us }
    }
}

/// How well the points are predicted to which no constant was fitted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Accuracy {
    /// The number of points to which no constant was fitted.
    pub count: usize,
    /// The median of the sizes of these points' errors, as fractions of the measured times: the upper one if two errors
    /// are in the middle.
    pub median: f64,
    /// The error that nine of ten of these points do not exceed, as a fraction of the measured time.
    pub most: f64,
}

impl Accuracy {
    /// Returns the accuracy of these points. If constants were fitted to all of them, all numbers are 0.
    pub fn of(points: &[Point]) -> Accuracy {
        let mut errors: Vec<f64> = points.iter().filter(|p| !p.is_fit).map(|p| p.error().abs()).collect();
        errors.sort_by(f64::total_cmp);
        let at = |rank: usize| errors.get(rank).copied().unwrap_or(0.0);
        let count = errors.len();
        Accuracy { count, median: at(count / 2), most: at((9 * count).div_ceil(10).saturating_sub(1)) }
    }
}

const PROGRAMS: [(&str, &str); 3] = [
    ("blocking", include_str!("../data/programs/blocking.mlir")),
    ("collective_matmul", include_str!("../data/programs/collective_matmul.mlir")),
    ("unsharded", include_str!("../data/programs/unsharded.mlir")),
];

/// Returns all points of `data/points.txt` with their predictions.
///
/// # Errors
/// Fails if a line of the table is malformed (`points-text`), and if a topology or a program that it names cannot be
/// read, or the program cannot be simulated.
pub fn points() -> Result<Vec<Point>, Diagnostics> {
    let lines = include_str!("../data/points.txt").lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(i, line)| point(line, &Loc::file("points.txt", i as u32 + 1, 1))).collect()
}

fn point(line: &str, loc: &Loc) -> Result<Point, Diagnostics> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let &[what, at, measured, rounding, role, source, note] = &cells[..] else { return Err(bad(loc).into()) };
    let topology = Topology::parse(at)?;
    let numbers = [measured, rounding].map(|text| text.parse::<f64>());
    let [Ok(measured_us), Ok(rounding_us)] = numbers else { return Err(bad(loc).into()) };
    let words: Vec<&str> = what.split_whitespace().collect();
    let predicted_us = predict(&words, &topology, loc)?;
    let (is_fit, what, topology) = (role == "fit", what.to_string(), at.to_string());
    let (source, note) = (source.to_string(), note.to_string());
    Ok(Point { what, topology, measured_us, rounding_us, is_fit, source, note, predicted_us })
}

fn bad(loc: &Loc) -> Diagnostic {
    Diagnostic::error("points-text", loc, "the line is no point").expected("the seven cells that the file's head names")
}

/// Returns the predicted time in microseconds. Fails if the words name no prediction, or if a program that they name
/// cannot be simulated on the topology.
fn predict(words: &[&str], topology: &Topology, loc: &Loc) -> Result<f64, Diagnostics> {
    let number = |text: &str| text.parse::<f64>().map_err(|_| bad(loc));
    let machine = topology.machine();
    let seconds = match words {
        ["product", m, k, n, dtype] => {
            let dtype = DType::parse(dtype).ok_or_else(|| bad(loc))?;
            product(machine, [number(m)?, number(k)?, number(n)?], dtype)
        }
        ["gather", axis, bytes] => {
            pattern(topology, &groups(topology, axis), Exchange::Gather).seconds(machine, number(bytes)?)
        }
        ["all_reduce", axis, bytes] => {
            pattern(topology, &groups(topology, axis), Exchange::AllReduce).seconds(machine, number(bytes)?)
        }
        ["permute", bytes] => {
            let next = |group: Vec<usize>| (0..group.len()).map(move |i| (group[i], group[(i + 1) % group.len()]));
            let pairs: Vec<(usize, usize)> = groups(topology, "x").into_iter().flat_map(next).collect();
            permute_pattern(topology, &pairs).seconds(machine, number(bytes)?)
        }
        ["program", name, overlap, part @ ..] => {
            let timeline = run(name, overlap, topology, loc)?;
            part_of(&timeline, part).ok_or_else(|| bad(loc))? as f64 / 1e12
        }
        _ => return Err(bad(loc).into()),
    };
    Ok(seconds * 1e6)
}

fn product(machine: &Machine, [m, k, n]: [f64; 3], dtype: DType) -> f64 {
    let element_bytes = dtype.bits() as f64 / 8.0;
    let is_narrow = dtype.is_integer() && dtype.bits() < 32;
    let result_bytes = if is_narrow { 4.0 } else { element_bytes };
    let product = Product { batch: 1.0, m, n, k, dtype, precision: Precision::Default, element_bytes, density: 1.0 };
    let work = Work {
        product: Some(product),
        vector_flops: 0.0,
        hbm_in: (m * k + k * n) * element_bytes,
        hbm_out: m * n * result_bytes,
        fast_bytes: 0.0,
        results: m * n,
        result_bytes,
    };
    work.seconds(machine)
}

fn groups(topology: &Topology, axis: &str) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..topology.device_count()).collect();
    match axis {
        "x" => all.chunks(topology.grid()[0] * topology.devices_per_chip()).map(<[usize]>::to_vec).collect(),
        "pair" => all.chunks(2).map(<[usize]>::to_vec).collect(),
        _ => vec![all],
    }
}

fn run(name: &str, overlap: &str, topology: &Topology, loc: &Loc) -> Result<Timeline, Diagnostics> {
    let overlap: Overlap = overlap.parse()?;
    let source = PROGRAMS.iter().find(|(known, _)| *known == name).ok_or_else(|| bad(loc))?.1;
    let module = text::parse(name, source, &shardwise_ops::OPS)?;
    simulate_exactly(&module, topology, &Options { overlap })
}

fn part_of(timeline: &Timeline, part: &[&str]) -> Option<Picoseconds> {
    let times = |lane: LaneKind, kind: SpanKind| {
        let spans = timeline.spans.iter().filter(move |s| timeline.lanes[s.lane].kind == lane && s.kind == kind);
        spans.map(|span| span.duration())
    };
    match part {
        ["total"] => Some(timeline.end()),
        ["wait"] => Some(times(LaneKind::Core, SpanKind::Wait).sum()),
        ["compute", i] => times(LaneKind::Core, SpanKind::Compute).nth(i.parse().ok()?),
        ["collective", i] => times(LaneKind::Link, SpanKind::Collective).nth(i.parse().ok()?),
        _ => None,
    }
}
