//! Measures calls of real packages: the programs that `oracle/packages.py` exports into a folder, on one device.
//! Programs that call Python are left out, since JAX cannot run them from their text.

use super::Effort;
use super::jax::{self, Input, Jax};
use super::lines::{median, shown_time};
use super::ours::Ours;
use crate::table::Table;
use crate::{program, repo};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use shardwise_files::npz;
use std::collections::BTreeMap;
use std::path::Path;

/// The target of custom calls of Python.
const PYTHON: &str = "@xla_ffi_python_cpu_callback";

/// The smallest allowed ratio of JAX's time to ours.
const LEAST_RATIO: f64 = 0.9;
/// The smallest allowed geometric mean of the ratios.
const LEAST_MEAN: f64 = 3.0;

/// An exported program, as the index describes it.
#[derive(Deserialize)]
struct Entry {
    name: String,
    package: String,
}

/// A program with its times in microseconds.
struct Row {
    entry: Entry,
    jax: f64,
    ours: f64,
    /// The largest difference from JAX's results, or why the comparison failed.
    difference: String,
}

/// Measures the programs in `folder` whose names or packages contain `only`, without those that call Python. Returns a
/// table, and true if the targets are reached. Fails if there is no such program, if the index, a program or its
/// arguments cannot be read, if a file cannot be written, if a program cannot be compiled, or if a call fails.
pub fn measure(jax: &mut Jax, folder: &Path, only: &str, effort: Effort) -> Result<(String, bool)> {
    let mut rows = vec![];
    for entry in entries(folder)?.into_iter().filter(|entry| entry.name.contains(only) || entry.package.contains(only))
    {
        let file = folder.join(format!("{}.mlir", entry.name));
        let text = repo::read(&file)?;
        if text.contains(PYTHON) {
            continue;
        }
        eprintln!("measuring {}", entry.name);
        let name = entry.name.clone();
        rows.push(row(jax, &file, &text, entry, effort).context(name)?);
    }
    ensure!(!rows.is_empty(), "no program in {} can be measured and matches \"{only}\"", repo::shown(folder));
    Ok(report(&rows))
}

/// Returns the programs that the index of `folder` names. Fails if it cannot be read or is malformed.
fn entries(folder: &Path) -> Result<Vec<Entry>> {
    let index = folder.join("index");
    let listing = std::fs::read_dir(&index).with_context(|| format!("cannot read {}", repo::shown(&index)))?;
    let mut files = listing.map(|file| Ok(file?.path())).collect::<Result<Vec<_>>>()?;
    files.sort();
    let mut entries = vec![];
    for file in files {
        for line in repo::read(&file)?.lines() {
            entries.push(serde_json::from_str(line).with_context(|| repo::shown(&file).to_string())?);
        }
    }
    Ok(entries)
}

fn row(jax: &mut Jax, file: &Path, text: &str, entry: Entry, effort: Effort) -> Result<Row> {
    let name = &entry.name;
    let folder = repo::target_dir("oracle/packages")?;
    let inputs = inputs(file, &folder, name, text)?;
    let theirs = jax::Program { name: format!("package/{name}"), file, inputs, outputs: folder.join(name) };
    let ours = Ours::compile(&folder, name, text)?;
    let seconds = effort.seconds / 10.0;
    let (mut of_jax, mut of_ours) = (vec![], vec![]);
    for _ in 0..effort.rounds {
        of_jax.push(jax.time_program(&theirs, seconds)?);
        of_ours.push(ours.time_calls(seconds)?);
    }
    let difference = match ours.distance(&folder, name) {
        Ok(distance) => format!("{distance:.0e}"),
        Err(reason) => reason.to_string(),
    };
    Ok(Row { jax: median(&of_jax), ours: median(&of_ours), entry, difference })
}

/// Copies the arguments of the exported program `file` into files of bytes in `folder`, and returns them. Fails if the
/// program or its arguments cannot be read, or if a file cannot be written.
fn inputs(file: &Path, folder: &Path, name: &str, text: &str) -> Result<Vec<Input>> {
    let module = program::parse(name, text)?;
    let main = module.main().context("there is no main function")?;
    let mut reader = npz::Reader::open(&file.with_extension("in.npz")).map_err(anyhow::Error::msg)?;
    let types = main.body.args().iter().filter_map(|&arg| main.body.ty(arg).as_tensor());
    types
        .enumerate()
        .map(|(i, ty)| {
            let value = reader.literal(i, ty).map_err(|mismatch| anyhow::anyhow!("argument {i}: {mismatch:?}"))?;
            Input::write(folder, name, i, &value)
        })
        .collect()
}

fn report(rows: &[Row]) -> (String, bool) {
    let mut table = Table::new(["package", "program", "JAX", "ours", "JAX / ours", "difference", ""]);
    let mut packages: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows {
        packages.entry(&row.entry.package).or_default().push(row.ratio().ln());
        table.row([
            row.entry.package.clone(),
            row.entry.name.clone(),
            shown_time(row.jax),
            shown_time(row.ours),
            format!("{:.2}", row.ratio()),
            row.difference.clone(),
            if row.ratio() >= LEAST_RATIO { "pass" } else { "MISS" }.to_string(),
        ]);
    }
    let mean = |logarithms: &[f64]| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    let all: Vec<f64> = rows.iter().map(|row| row.ratio().ln()).collect();
    let ratios: Vec<f64> = rows.iter().map(Row::ratio).collect();
    let misses = ratios.iter().filter(|&&ratio| ratio < LEAST_RATIO).count();
    let slow = packages.iter().filter(|(_, logarithms)| mean(logarithms) < 1.0);
    let slow: Vec<String> = slow.map(|(package, logarithms)| format!("{package} {:.2}", mean(logarithms))).collect();
    let text = format!(
        "calls of packages on one device; a row passes with JAX / ours >= {LEAST_RATIO}\n\n{table}\n\
         geometric mean of JAX / ours: {:.2} (target {LEAST_MEAN}), median {:.2}; {misses} of {} rows miss\n\
         packages whose mean is below 1: {}\n",
        mean(&all),
        median(&ratios),
        rows.len(),
        if slow.is_empty() { "none".to_string() } else { slow.join(", ") }
    );
    (text, misses == 0 && mean(&all) >= LEAST_MEAN)
}

impl Row {
    fn ratio(&self) -> f64 {
        self.jax / self.ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_packages_are_named() {
        let row = |package: &str, jax, ours| Row {
            entry: Entry { name: format!("{package}_call"), package: package.into() },
            jax,
            ours,
            difference: "0e0".into(),
        };
        let (text, is_good) = report(&[row("fast", 90.0, 10.0), row("slow", 10.0, 40.0)]);
        assert!(!is_good && text.contains("1 of 2 rows miss\npackages whose mean is below 1: slow 0.25\n"), "{text}");
        assert!(report(&[row("fast", 90.0, 10.0)]).1);
    }
}
