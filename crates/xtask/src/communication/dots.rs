//! `cargo xtask communication dots`: chains of products with random layouts at their ends, against the least that any
//! choice of layouts in between and of factors moves.
//!
//! The optimum is found by dynamic programming over the layouts of the intermediate values, in prime parts of the axes.
//! A reshard costs its lower bound, a sum over devices what a reduce-scatter or an all-reduce costs, and no product may
//! compute more on a device than ours does.

use super::random;
use crate::command::in_parallel;
use crate::table::Table;
use anyhow::{Result, anyhow};
use shardwise_base::{AxisRef, DType, Mesh, Sharding};
use shardwise_check::choose::Chooser;
use shardwise_ir::Module;
use shardwise_ir::text::parse;
use shardwise_ops::{OPS, Opcode};
use shardwise_spmd::plan::{bytes_missing, price_of_sum};
use shardwise_spmd::{communication, partition};
use std::collections::HashMap;
use std::sync::Arc;

/// Compare chains of products with the least communication that is possible.
#[derive(clap::Args)]
pub struct Options {
    /// The number of chains of each length
    #[arg(long, value_name = "COUNT", default_value_t = 300)]
    cases: u64,
    /// The seed of the first one
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// How many of the worst cases are shown
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    worst: usize,
}

const MESHES: [&[usize]; 6] = [&[2, 4], &[8], &[2, 2, 2], &[2, 3], &[4], &[2, 3, 2]];
/// The largest length of a chain: its number of products.
const LONGEST: usize = 3;

/// `x · w0 · w1 · …`, from left to right.
struct Chain {
    mesh: Arc<Mesh>,
    /// The number of rows of `x`, of its columns, and of the columns of each weight.
    sizes: Vec<usize>,
    /// The layouts of `x`, of the weights, and of the result.
    layouts: Vec<Sharding>,
}

struct Outcome {
    seed: u64,
    chain: Chain,
    ours: u64,
    optimum: u64,
}

/// Partitions random chains. Returns a table of the bytes moved and a list of the worst chains. The second value is
/// always true. Fails if a chain cannot be partitioned.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let mut report = format!("{} random chains of each length from seed {}\n\n", options.cases, options.seed);
    let mut table = Table::new(["dots", "cases", "ours", "optimum", "ratio", "above by 1 %", "median", "p90", "max"]);
    let mut worst = vec![];
    for length in 1..=LONGEST {
        let seeds: Vec<u64> = (options.seed..options.seed + options.cases).collect();
        let outcomes = in_parallel(&seeds, |&seed| measure(seed, length));
        let outcomes = outcomes.into_iter().collect::<Result<Vec<Outcome>>>()?;
        table.row(row(length, &outcomes));
        worst.extend(outcomes);
    }
    worst.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    report.push_str(&format!("{table}\n"));
    for o in worst.iter().take(options.worst) {
        report.push_str(&format!(
            "{:.2} {} against {}, seed {}: {}\n",
            o.ratio(),
            o.ours,
            o.optimum,
            o.seed,
            o.chain.text()
        ));
    }
    Ok((report, true))
}

fn row(length: usize, outcomes: &[Outcome]) -> Vec<String> {
    let sum = |of: fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
    let (ours, optimum) = (sum(|o| o.ours), sum(|o| o.optimum));
    let mut ratios: Vec<f64> = outcomes.iter().map(Outcome::ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |part: f64| ratios.get((ratios.len() as f64 * part) as usize).or(ratios.last()).copied().unwrap_or(1.0);
    vec![
        length.to_string(),
        outcomes.len().to_string(),
        ours.to_string(),
        optimum.to_string(),
        format!("{:.3}", ours as f64 / optimum as f64),
        outcomes.iter().filter(|o| o.ratio() > 1.01).count().to_string(),
        format!("{:.2}", at(0.5)),
        format!("{:.2}", at(0.9)),
        format!("{:.2}", at(1.0)),
    ]
}

impl Outcome {
    fn ratio(&self) -> f64 {
        if self.ours == self.optimum { 1.0 } else { self.ours as f64 / self.optimum.max(1) as f64 }
    }
}

fn measure(seed: u64, length: usize) -> Result<Outcome> {
    let choose = &mut Chooser::new(seed * LONGEST as u64 + length as u64);
    let mesh = random::mesh(MESHES[choose.below(MESHES.len())]);
    let sizes: Vec<usize> = (0..length + 2).map(|_| 24 * choose.of(&[1, 2, 4, 8, 16])).collect();
    let layouts = (0..length + 2).map(|_| random::layout(choose, &mesh, 2)).collect();
    let chain = Chain { mesh, sizes, layouts };
    let module = parse("chain.mlir", &chain.text(), &OPS).map_err(|e| anyhow!("{e}"))?;
    let partitioned = partition(&module, &mut shardwise_spmd::Options::default()).map_err(|e| anyhow!("{e}"))?;
    let ours = communication(&partitioned.module).bytes_received();
    let optimum = Optimum::new(&chain).of(&flops(&partitioned.module));
    Ok(Outcome { seed, chain, ours, optimum })
}

fn flops(module: &Module) -> Vec<f64> {
    let body = &module.main().expect("a program has a main function").body;
    let views = body.walk().into_iter().map(|op| module.view(body, op));
    let products = views.filter(|view| Opcode::of_view(view) == Opcode::DotGeneral);
    products.map(|view| Opcode::DotGeneral.facts().cost(&view).flops).collect()
}

impl Chain {
    /// Returns the shape of tensor `index`: `x`, the weights, and the result.
    fn shape(&self, index: usize) -> [usize; 2] {
        let last = self.sizes.len() - 1;
        match index {
            0 => [self.sizes[0], self.sizes[1]],
            _ if index == last => [self.sizes[0], self.sizes[last]],
            _ => [self.sizes[index], self.sizes[index + 1]],
        }
    }

    fn text(&self) -> String {
        let ty = |[m, n]: [usize; 2]| format!("tensor<{m}x{n}xf32>");
        let axes: Vec<String> = self.mesh.axes.iter().map(|a| format!("\"{}\"={}", a.name, a.size)).collect();
        let last = self.sizes.len() - 1;
        let argument =
            |i: usize| format!("%a{i}: {} {{sdy.sharding = #sdy.sharding{}}}", ty(self.shape(i)), self.layouts[i]);
        let arguments: Vec<String> = (0..last).map(argument).collect();
        let (result, layout) = (ty(self.shape(last)), &self.layouts[last]);
        let mut text = format!(
            "sdy.mesh @mesh = <[{}]>\nfunc.func @main({}) -> ({result} {{sdy.sharding = #sdy.sharding{layout}}}) {{\n",
            axes.join(", "),
            arguments.join(", ")
        );
        let mut at = ("%a0".to_string(), self.shape(0));
        for i in 1..last {
            let to = [self.sizes[0], self.sizes[i + 1]];
            text.push_str(&format!(
                "  %d{i} = stablehlo.dot_general {}, %a{i}, contracting_dims = [1] x [0] : ({}, {}) -> {}\n",
                at.0,
                ty(at.1),
                ty(self.shape(i)),
                ty(to)
            ));
            at = (format!("%d{i}"), to);
        }
        text.push_str(&format!("  return {} : {result}\n}}\n", at.0));
        text
    }
}

/// The axes of the factors of a product: rows, columns, and what is summed over.
type Factors = [Vec<AxisRef>; 3];

/// The search for the least communication of a chain.
struct Optimum<'a> {
    chain: &'a Chain,
    assignments: Vec<Factors>,
    layouts: Vec<Sharding>,
}

impl Optimum<'_> {
    fn new(chain: &Chain) -> Optimum<'_> {
        let parts: Vec<AxisRef> = chain.mesh.prime_parts();
        let lists = |count: usize| {
            let mut found = vec![];
            distribute(&parts, &mut vec![vec![]; count], &mut found);
            found
        };
        let merged = |lists: &[Vec<AxisRef>]| {
            Sharding::closed(&chain.mesh, lists.iter().map(|l| merged(&chain.mesh, l)).collect())
        };
        let mut layouts: Vec<Sharding> = lists(2).iter().map(|l| merged(l)).collect();
        layouts.dedup();
        let assignments = lists(3).into_iter().filter_map(|l| <Factors>::try_from(l).ok()).collect();
        Optimum { chain, assignments, layouts }
    }

    /// Returns the fewest bytes that the chain moves if product `i` computes at most `flops[i]` operations on a device.
    /// Returns 0 or panics if no choice for one of the products keeps to its limit.
    fn of(&self, flops: &[f64]) -> u64 {
        let chain = self.chain;
        let mut at: HashMap<Sharding, u64> = HashMap::from([(chain.layouts[0].clone(), 0)]);
        let last = chain.sizes.len() - 1;
        for i in 1..last {
            let [m, k, n] = [chain.sizes[0], chain.sizes[i], chain.sizes[i + 1]];
            at = self.product(&at, &chain.layouts[i], [m, k, n], flops[i - 1]);
        }
        let (shape, target) = (chain.shape(last), &chain.layouts[last]);
        let reach = at.into_iter().map(|(at, bytes)| bytes + bytes_missing(&at, target, &shape, DType::F32));
        reach.min().unwrap_or(0)
    }

    /// Returns the fewest bytes with which each layout of a product's result is reached, for each layout that can be.
    /// `from` has the bytes for each layout of the left operand, of which there must be one, `weight` is the layout of
    /// the right one, and `limit` the largest number of operations on a device. The operands have the shapes `[m, k]`
    /// and `[k, n]`.
    fn product(
        &self,
        from: &HashMap<Sharding, u64>,
        weight: &Sharding,
        [m, k, n]: [usize; 3],
        limit: f64,
    ) -> HashMap<Sharding, u64> {
        let mesh = &self.chain.mesh;
        let size = |axes: &[AxisRef]| AxisRef::total_size(mesh, axes);
        let layout = |a: &[AxisRef], b: &[AxisRef]| Sharding::closed(mesh, vec![merged(mesh, a), merged(mesh, b)]);
        let mut operands: HashMap<Sharding, u64> = HashMap::new();
        let mut results: HashMap<(Sharding, Vec<AxisRef>), u64> = HashMap::new();
        for [rows, columns, summed] in &self.assignments {
            let even = [(m, rows), (n, columns), (k, summed)].iter().all(|(n, axes)| n.is_multiple_of(size(axes)));
            let flops = 2.0 * (m * n * k) as f64 / (size(rows) * size(columns) * size(summed)) as f64;
            if !even || flops > limit {
                continue;
            }
            let left = layout(rows, summed);
            let left = *operands.entry(left.clone()).or_insert_with(|| {
                let reach = from.iter().map(|(at, bytes)| bytes + bytes_missing(at, &left, &[m, k], DType::F32));
                reach.min().expect("there is a layout before")
            });
            let right = bytes_missing(weight, &layout(summed, columns), &[k, n], DType::F32);
            let entry = results.entry((layout(rows, columns), merged(mesh, summed))).or_insert(u64::MAX);
            *entry = (*entry).min(left + right);
        }
        let reach = |target: &Sharding| {
            let all = results.iter().map(|((own, summed), bytes)| bytes + self.result(own, summed, target, [m, n]));
            all.min().map(|bytes| (target.clone(), bytes))
        };
        self.layouts.iter().filter_map(reach).collect()
    }

    fn result(&self, own: &Sharding, summed: &[AxisRef], target: &Sharding, shape: [usize; 2]) -> u64 {
        match summed.is_empty() {
            true => bytes_missing(own, target, &shape, DType::F32),
            false => price_of_sum(own, summed, target, &shape, DType::F32).bytes,
        }
    }
}

fn merged(mesh: &Mesh, axes: &[AxisRef]) -> Vec<AxisRef> {
    let mut list = vec![];
    axes.iter().for_each(|&a| AxisRef::push_or_merge(&mut list, a, mesh));
    list
}

/// Adds to `found` all ways to insert some of the parts into the lists, each at any place. `lists` is unchanged at the
/// end.
fn distribute(parts: &[AxisRef], lists: &mut Vec<Vec<AxisRef>>, found: &mut Vec<Vec<Vec<AxisRef>>>) {
    let Some((&part, rest)) = parts.split_first() else { return found.push(lists.clone()) };
    distribute(rest, lists, found);
    for list in 0..lists.len() {
        for at in 0..=lists[list].len() {
            lists[list].insert(at, part);
            distribute(rest, lists, found);
            lists[list].remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_can_be_in_each_place_of_each_list() {
        let mesh = random::mesh(&[2, 3]);
        let parts: Vec<AxisRef> = mesh.all_axes().collect();
        let mut found = vec![];
        distribute(&parts, &mut vec![vec![]; 2], &mut found);
        assert_eq!(found.len(), 1 + 2 * 2 + 6, "none, one of them, or both");
    }

    #[test]
    fn the_optimum_is_never_above_ours() {
        for (seed, length) in (0..24).map(|i| (i, 1 + i as usize % LONGEST)) {
            let outcome = measure(seed, length).unwrap();
            assert!(outcome.optimum <= outcome.ours, "seed {seed}, length {length}");
        }
    }
}
