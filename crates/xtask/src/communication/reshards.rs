//! `cargo xtask communication reshards`: plans of random reshards against the lower bound, which is what a device needs
//! and does not hold.

use super::random;
use crate::command::in_parallel;
use crate::table::Table;
use anyhow::Result;
use shardwise_base::{DType, Sharding};
use shardwise_check::choose::Chooser;
use shardwise_spmd::plan::{StepKind, bytes_missing, plan_reshard, total_bytes};
use std::time::{Duration, Instant};

/// Compare the plans of random reshards with the lower bound.
#[derive(clap::Args)]
pub struct Options {
    /// The number of reshards
    #[arg(long, value_name = "COUNT", default_value_t = 3_000)]
    cases: u64,
    /// The seed of the first one
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many of the worst cases are shown
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    worst: usize,
}

const MESHES: [&[usize]; 5] = [&[2, 4], &[8], &[2, 2, 2], &[2, 3, 2], &[4, 4, 4]];
/// The least number of elements of a tensor.
const ELEMENTS: usize = 1 << 14;

struct Case {
    seed: u64,
    sizes: &'static [usize],
    from: Sharding,
    to: Sharding,
    shape: Vec<usize>,
}

struct Outcome {
    case: Case,
    ours: u64,
    bound: u64,
    steps: String,
    time: Duration,
}

/// Plans random reshards. Returns tables of the bytes moved.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let seeds: Vec<u64> = (options.seed..options.seed + options.cases).collect();
    let outcomes = in_parallel(&seeds, |&seed| measure(case(seed)));
    let head = format!("{} random reshards from seed {}\n\n", seeds.len(), options.seed);
    Ok((format!("{head}{}\n{}", totals(&outcomes), worst(&outcomes, options.worst)), true))
}

fn case(seed: u64) -> Case {
    let choose = &mut Chooser::new(seed);
    let sizes = *choose.of(&MESHES);
    let mesh = random::mesh(sizes);
    let rank = 1 + choose.below(4);
    let [from, to] = [(); 2].map(|()| random::layout(choose, &mesh, rank));
    let shape = random::even_shape(choose, &[&from, &to], ELEMENTS);
    Case { seed, sizes, from, to, shape }
}

fn measure(case: Case) -> Outcome {
    let started = Instant::now();
    let steps = plan_reshard(&case.from, &case.to, &case.shape, DType::F32);
    let time = started.elapsed();
    let bound = bytes_missing(&case.from, &case.to, &case.shape, DType::F32);
    let names: Vec<&str> = steps.iter().map(|s| name(&s.kind)).collect();
    Outcome { ours: total_bytes(&steps), bound, steps: names.join(", "), time, case }
}

fn name(kind: &StepKind) -> &'static str {
    match kind {
        StepKind::AllSlice { .. } => "slice",
        StepKind::AllGather { .. } => "gather",
        StepKind::AllToAll { .. } => "all-to-all",
        StepKind::CollectivePermute => "permute",
        StepKind::Exchange { .. } => "exchange",
    }
}

impl Outcome {
    fn ratio(&self) -> f64 {
        if self.ours == self.bound { 1.0 } else { self.ours as f64 / self.bound as f64 }
    }
}

/// Returns a table with the totals of each mesh.
fn totals(outcomes: &[Outcome]) -> Table {
    let mut table =
        Table::new(["mesh", "cases", "ours", "bound", "ratio", "above by 1 %", "max", "median us", "max us"]);
    let meshes = MESHES.iter().map(|sizes| (shown(sizes), Some(*sizes)));
    for (label, sizes) in meshes.chain([("all".into(), None)]) {
        let these: Vec<&Outcome> = outcomes.iter().filter(|o| sizes.is_none_or(|s| o.case.sizes == s)).collect();
        let sum = |of: fn(&Outcome) -> u64| these.iter().map(|o| of(o)).sum::<u64>();
        let (ours, bound) = (sum(|o| o.ours), sum(|o| o.bound));
        let mut micros: Vec<u128> = these.iter().map(|o| o.time.as_micros()).collect();
        micros.sort_unstable();
        table.row([
            label,
            these.len().to_string(),
            ours.to_string(),
            bound.to_string(),
            format!("{:.4}", ours as f64 / bound as f64),
            these.iter().filter(|o| o.ratio() > 1.01).count().to_string(),
            format!("{:.2}", these.iter().map(|o| o.ratio()).fold(1.0, f64::max)),
            micros.get(micros.len() / 2).map_or(String::new(), u128::to_string),
            micros.last().map_or(String::new(), u128::to_string),
        ]);
    }
    table
}

fn shown(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// Returns a table of the cases that are farthest above the bound.
fn worst(outcomes: &[Outcome], count: usize) -> Table {
    let mut above: Vec<&Outcome> = outcomes.iter().filter(|o| o.ratio() > 1.01).collect();
    above.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let mut table = Table::new(["worst", "seed", "ours", "bound", "ratio", "steps"]);
    for o in above.into_iter().take(count) {
        let Case { seed, sizes, from, to, shape } = &o.case;
        table.row([
            format!("{} {from} -> {to} of {shape:?}", shown(sizes)),
            seed.to_string(),
            o.ours.to_string(),
            o.bound.to_string(),
            format!("{:.2}", o.ratio()),
            o.steps.clone(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plan_moves_less_than_the_bound() {
        for outcome in (0..300).map(|seed| measure(case(seed))) {
            assert!(outcome.ours >= outcome.bound, "seed {}", outcome.case.seed);
        }
    }
}
