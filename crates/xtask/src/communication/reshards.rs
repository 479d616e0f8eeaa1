//! `cargo xtask communication reshards`: plans of random reshards against the lower bound, which is what a device needs
//! and does not hold.
//!
//! The *bar* of a case is the number of bytes with which its plan is compared. It is the bound if a plan can reach the
//! bound in at most 16 rounds of permutes. Otherwise it is the larger of the bound and the bytes of the best plan of
//! collectives.
//!
//! The first study has even reshards only. The second one adds meshes of 16x16 devices and uneven dimensions, in which
//! the padding of a block counts for the plans and not for the bound.

use super::random;
use crate::command::in_parallel;
use crate::repo;
use crate::table::Table;
use anyhow::{Context, Result};
use shardwise_base::{DType, Sharding};
use shardwise_check::choose::Chooser;
use shardwise_spmd::plan::{StepKind, bytes_missing, plan_of_collectives, plan_reshard, rounds_needed, total_bytes};
use std::collections::BTreeSet;
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
    /// Write the tables of totals, without the times, to docs/reshards.md. The worst cases are only printed
    #[arg(long)]
    write: bool,
}

/// The page that `--write` writes.
const PAGE: &str = "docs/reshards.md";
/// The beginning of the page.
const PAGE_HEAD: &str = "# Reshards against the lower bound

Written by `cargo xtask communication reshards --write`: plans of random reshards of f32 arrays, between layouts of rank 1 to
4 that may split parts of axes.

- `ours`: the bytes that the device that receives most receives. Padding is counted.
- `bound`: the bytes of its target shard that a device does not hold, for the device that lacks most. Padding is not
  counted.
- `over 16 rounds`: the cases in which a plan that reaches the bound by sending each device what it lacks takes more than 16
  rounds. In a round, each device sends at most one block and receives at most one.
- `bar`: the bound, or in these cases the bytes of the best plan of collectives.
- `above by 1 %`: the cases in which we move over 1 % more than the bar, and `max` the most in one case. The price of a plan
  also contains the start of each collective, so a small array may move a few bytes more in fewer collectives.
";

const MESHES: [&[usize]; 5] = [&[2, 4], &[8], &[2, 2, 2], &[2, 3, 2], &[4, 4, 4]];
const MORE_MESHES: [&[usize]; 7] = [&[2, 4], &[8], &[2, 2, 2], &[2, 3, 2], &[4, 4, 4], &[16, 16], &[16, 16]];
/// The least number of elements of a tensor, before its dimensions are made uneven.
const ELEMENTS: usize = 1 << 14;
/// In the second study, the least number of elements of a tensor for each device, before its dimensions are made
/// uneven.
const ELEMENTS_PER_DEVICE: usize = 1 << 10;
/// The largest number of rounds of permutes in which a plan has to reach the bound.
const MAX_ROUNDS: usize = 16;

struct Case {
    seed: u64,
    /// The sizes of the mesh's axes, and whether dimensions are uneven.
    label: String,
    from: Sharding,
    to: Sharding,
    shape: Vec<usize>,
}

struct Outcome {
    case: Case,
    ours: u64,
    bound: u64,
    bar: u64,
    rounds_needed: usize,
    steps: String,
    time: Duration,
}

/// Plans random reshards, and writes the page if the options ask for it. Returns tables of the bytes moved. The second
/// value is always true. Fails if the page cannot be written.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let seeds: Vec<u64> = (options.seed..options.seed + options.cases).collect();
    let (mut text, mut page) = (String::new(), PAGE_HEAD.to_string());
    for (title, case) in [("even", even_case as fn(u64) -> Case), ("16x16 and uneven", other_case)] {
        let outcomes = in_parallel(&seeds, |&seed| measure(case(seed)));
        let head = format!("{} random reshards from seed {}, {title}\n\n", seeds.len(), options.seed);
        text += &format!("{head}{}\n{}\n", totals(&outcomes, true), worst(&outcomes, options.worst));
        page += &format!("\n## {}\n\n```text\n{head}{}```\n", heading(title), totals(&outcomes, false));
    }
    if options.write {
        let file = repo::root().join(PAGE);
        shardwise_base::file::write(&file, page).with_context(|| format!("cannot write {PAGE}"))?;
    }
    Ok((text, true))
}

fn heading(title: &str) -> String {
    let (first, rest) = title.split_at(1);
    first.to_uppercase() + rest
}

fn even_case(seed: u64) -> Case {
    let choose = &mut Chooser::new(seed);
    let sizes = *choose.of(&MESHES);
    let mesh = random::mesh(sizes);
    let rank = 1 + choose.below(4);
    let [from, to] = [(); 2].map(|()| random::layout(choose, &mesh, rank));
    let shape = random::even_shape(choose, &[&from, &to], ELEMENTS);
    Case { seed, label: shown(sizes), from, to, shape }
}

fn other_case(seed: u64) -> Case {
    let choose = &mut Chooser::new(seed);
    let sizes = *choose.of(&MORE_MESHES);
    let mesh = random::mesh(sizes);
    let rank = 1 + choose.below(4);
    let [from, to] = [(); 2].map(|()| random::layout(choose, &mesh, rank));
    let elements = ELEMENTS.max(ELEMENTS_PER_DEVICE * mesh.size());
    if MESHES.contains(&sizes) || choose.one_in(2) {
        let shape = random::uneven_shape(choose, &[&from, &to], elements);
        return Case { seed, label: format!("{} uneven", shown(sizes)), from, to, shape };
    }
    let shape = random::even_shape(choose, &[&from, &to], elements);
    Case { seed, label: shown(sizes), from, to, shape }
}

fn measure(case: Case) -> Outcome {
    let Case { from, to, shape, .. } = &case;
    let started = Instant::now();
    let steps = plan_reshard(from, to, shape, DType::F32);
    let time = started.elapsed();
    let bound = bytes_missing(from, to, shape, DType::F32);
    let rounds_needed = rounds_needed(from, to, shape);
    let bar = match rounds_needed <= MAX_ROUNDS {
        true => bound,
        false => bound.max(total_bytes(&plan_of_collectives(from, to, shape, DType::F32))),
    };
    let names: Vec<String> = steps.iter().map(|s| name(&s.kind)).collect();
    Outcome { ours: total_bytes(&steps), bound, bar, rounds_needed, steps: names.join(", "), time, case }
}

fn name(kind: &StepKind) -> String {
    match kind {
        StepKind::AllSlice { .. } => "slice".into(),
        StepKind::AllGather { .. } => "gather".into(),
        StepKind::AllToAll { .. } => "all-to-all".into(),
        StepKind::CollectivePermute => "permute".into(),
        StepKind::Exchange { collective_count } => format!("exchange in {collective_count}"),
    }
}

impl Outcome {
    fn ratio(&self) -> f64 {
        if self.ours == self.bar { 1.0 } else { self.ours as f64 / self.bar as f64 }
    }
}

const COLUMNS: [&str; 11] = [
    "mesh",
    "cases",
    "ours",
    "bound",
    "ours/bound",
    "over 16 rounds",
    "ours/bar",
    "above by 1 %",
    "max",
    "median us",
    "max us",
];

/// Returns a table with the totals of each mesh, those of uneven dimensions in a row of their own, and with the totals
/// of all cases in the last row. `has_times` adds the columns with the times of planning.
fn totals(outcomes: &[Outcome], has_times: bool) -> Table {
    let column_count = COLUMNS.len() - if has_times { 0 } else { 2 };
    let mut table = Table::new(COLUMNS[..column_count].iter().copied());
    let labels: BTreeSet<&str> = outcomes.iter().map(|o| &*o.case.label).collect();
    for label in labels.into_iter().map(Some).chain([None]) {
        let these: Vec<&Outcome> = outcomes.iter().filter(|o| label.is_none_or(|l| o.case.label == l)).collect();
        let sum = |of: fn(&Outcome) -> u64| these.iter().map(|o| of(o)).sum::<u64>();
        let (ours, bound, bar) = (sum(|o| o.ours), sum(|o| o.bound), sum(|o| o.bar));
        let mut micros: Vec<u128> = these.iter().map(|o| o.time.as_micros()).collect();
        micros.sort_unstable();
        let row = [
            label.unwrap_or("all").to_string(),
            these.len().to_string(),
            ours.to_string(),
            bound.to_string(),
            format!("{:.4}", ours as f64 / bound as f64),
            these.iter().filter(|o| o.rounds_needed > MAX_ROUNDS).count().to_string(),
            format!("{:.4}", ours as f64 / bar as f64),
            these.iter().filter(|o| o.ratio() > 1.01).count().to_string(),
            format!("{:.2}", these.iter().map(|o| o.ratio()).fold(1.0, f64::max)),
            micros.get(micros.len() / 2).map_or(String::new(), u128::to_string),
            micros.last().map_or(String::new(), u128::to_string),
        ];
        table.row(row.into_iter().take(column_count));
    }
    table
}

fn shown(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

fn worst(outcomes: &[Outcome], count: usize) -> Table {
    let mut above: Vec<&Outcome> = outcomes.iter().filter(|o| o.ratio() > 1.01).collect();
    above.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    let mut table = Table::new(["worst", "seed", "ours", "bound", "rounds", "bar", "ours/bar", "steps"]);
    for o in above.into_iter().take(count) {
        let Case { seed, label, from, to, shape } = &o.case;
        table.row([
            format!("{label} {from} -> {to} of {shape:?}"),
            seed.to_string(),
            o.ours.to_string(),
            o.bound.to_string(),
            o.rounds_needed.to_string(),
            o.bar.to_string(),
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
        for case in [even_case as fn(u64) -> Case, other_case] {
            for outcome in (0..150).map(|seed| measure(case(seed))) {
                assert!(outcome.ours >= outcome.bound, "seed {}", outcome.case.seed);
            }
        }
    }

    #[test]
    fn even_plans_reach_the_bar() {
        for outcome in (0..300).map(|seed| measure(even_case(seed))) {
            assert!(outcome.ratio() <= 1.01, "seed {}: {}", outcome.case.seed, outcome.steps);
        }
    }
}
