//! `cargo xtask tpu`: compares predictions for TPU v5e with what libtpu's compiler expects.
//!
//! Products are drawn and compiled for one chip, each by a program of its own. Two variants of the chapter's matmul are
//! compiled for eight chips. What these take was measured on a TPU, so that it can be seen who puts them in the right
//! order: the compiler's scheduler, or the simulator. libtpu comes from PyPI, has a licence of its own, and is not
//! among the requirements of the oracle.

use crate::bench::median;
use crate::table::Table;
use crate::{command, program, repo, venv};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use shardwise_sim::{Options as Simulation, Overlap, Topology, simulate};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Compare predictions for TPU v5e with what libtpu's compiler expects, and print the errors.
#[derive(clap::Args)]
pub struct Options {
    /// A Python interpreter with the oracle's requirements and libtpu
    #[arg(long)]
    python: PathBuf,
    /// The number from which the products are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of products
    #[arg(long, default_value_t = 200)]
    count: usize,
    /// Print each product
    #[arg(long)]
    list: bool,
}

/// The largest median error of the products.
const MOST: f64 = 0.08;

/// The time after which the compiler is stopped.
const LIMIT: Duration = Duration::from_secs(1800);

/// The variants of the chapter's matmul, and the microseconds that the chapter measured. The slower one comes first.
const VARIANTS: [(&str, &str); 2] = [("blocking", "312"), ("collective_matmul", "235 to 244")];

/// A line of `oracle/tpu.py`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Product { file: PathBuf, name: String, cycles: f64 },
    Variant { variant: String, cycles: f64 },
}

/// A program, and the microseconds that libtpu and the simulator expect.
struct Compared {
    name: String,
    libtpu: f64,
    ours: f64,
}

impl Compared {
    /// Predicts a per-device program for which libtpu expects `cycles`. Fails if it cannot be read or predicted.
    fn of(name: String, file: &Path, topology: &str, cycles: f64) -> Result<Compared> {
        let topology = Topology::parse(topology).map_err(program::mistake)?;
        let local = program::parse(&repo::stem(file), &repo::read(file)?)?;
        let timeline = simulate(&local, &topology, &Simulation { overlap: Overlap::Auto }).map_err(program::mistake)?;
        let libtpu = cycles / topology.machine().constants.clock_hz * 1e6;
        Ok(Compared { name, libtpu, ours: timeline.end() as f64 / 1e6 })
    }

    fn error(&self) -> f64 {
        self.ours / self.libtpu - 1.0
    }
}

/// Compares the products and the variants. Returns a text, and true if there is a product, the median error of the
/// products is at most [`MOST`], and the simulator expects the collective matmul to take less time than the blocking
/// one, as measured. Fails if the script does, or if a program cannot be predicted.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let mut script = venv::script(&options.python, "tpu.py");
    script.arg(repo::target_dir("tpu")?).args(["--seed", &options.seed.to_string()]);
    script.args(["--count", &options.count.to_string()]);
    let outcome = command::run(script, "", LIMIT)?;
    if !outcome.is_success() {
        bail!("oracle/tpu.py: {}\n{}", outcome.reason(), outcome.stderr);
    }
    let (mut products, mut variants) = (vec![], vec![]);
    for line in outcome.stdout.lines() {
        match serde_json::from_str(line).with_context(|| format!("`{line}` is no line of oracle/tpu.py"))? {
            Line::Product { file, name, cycles } => products.push(Compared::of(name, &file, "v5e:1x1", cycles)?),
            Line::Variant { variant, cycles } => {
                let file = Path::new("crates/sim/data/programs").join(&variant).with_extension("mlir");
                variants.push(Compared::of(variant, &file, "v5e:2x4", cycles)?);
            }
        }
    }
    let (table, is_close) = of_products(&products, options.list);
    let (order, is_ordered) = of_variants(&variants);
    Ok((format!("seed {}\n\n{table}\n{order}", options.seed), is_close && is_ordered))
}

fn of_products(products: &[Compared], lists: bool) -> (String, bool) {
    let mut errors: Vec<f64> = products.iter().map(|product| product.error().abs()).collect();
    errors.sort_by(f64::total_cmp);
    let Some(most) = errors.get(errors.len() * 9 / 10) else { return ("no product was compared\n".into(), false) };
    let mut table = Table::new(["product", "libtpu, us", "simulator, us", "error"]);
    for product in products {
        let Compared { name, libtpu, ours } = product;
        table.row([name, &format!("{libtpu:.2}"), &format!("{ours:.2}"), &percent(product.error())]);
    }
    let list = if lists { format!("{table}\n") } else { String::new() };
    let (count, middle) = (errors.len(), median(&errors));
    let summary =
        format!("{count} products: median error {}, nine of ten at most {}\n", percent(middle), percent(*most));
    (list + &summary, middle <= MOST)
}

fn of_variants(variants: &[Compared]) -> (String, bool) {
    let mut table = Table::new(["the chapter's matmul", "libtpu's scheduler, us", "simulator, us", "measured, us"]);
    for (Compared { name, libtpu, ours }, (_, measured)) in variants.iter().zip(VARIANTS) {
        table.row([name, &format!("{libtpu:.1}"), &format!("{ours:.1}"), measured]);
    }
    let is_ordered = variants.iter().map(|variant| &variant.name[..]).eq(VARIANTS.map(|(name, _)| name))
        && variants.is_sorted_by(|a, b| a.ours > b.ours);
    (table.to_string(), is_ordered)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_order_are_judged() {
        let compared = |name: &str, libtpu, ours| Compared { name: name.into(), libtpu, ours };
        let near = [compared("a", 10.0, 10.5), compared("b", 10.0, 9.5), compared("c", 10.0, 20.0)];
        let (text, is_close) = of_products(&near, true);
        assert!(is_close && text.contains("-5.0 %") && text.contains("median error 5.0 %"), "{text}");
        assert!(!of_products(&near[2..], false).1 && !of_products(&[], false).1);

        let variants = |times: [f64; 2]| [0, 1].map(|i| compared(VARIANTS[i].0, 100.0, times[i]));
        assert!(of_variants(&variants([312.0, 235.0])).1);
        assert!(!of_variants(&variants([235.0, 312.0])).1 && !of_variants(&variants([312.0, 235.0])[..1]).1);
    }
}
