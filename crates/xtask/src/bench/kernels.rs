//! Measures kernels: our time for the programs of `testdata/cost` for one device, XLA's time, and the least time that
//! the machine allows.
//!
//! The limit is the larger of two times: that of reading all arguments and writing all results once, at the rate at
//! which arrays of these sizes are copied, and that of all products of f32 at the rate of multiply-adds in registers.
//! Both rates are measured here. A program with control flow has no limit.

use super::Effort;
use super::jax::{self, Jax};
use super::lines::{median, shown_time};
use super::ours::Ours;
use crate::repo::stem;
use crate::table::Table;
use crate::{program, repo};
use anyhow::{Context, Result};
use shardwise_base::DType;
use shardwise_check::choose::Chooser;
use shardwise_check::single::Fill;
use shardwise_host::pool::Workers;
use shardwise_ir::{Module, TensorType};
use shardwise_ops::{Opcode, Semantics};
use shardwise_sim::is_product;
use std::path::{Path, PathBuf};

/// The smallest allowed ratio of JAX's time to ours, unless ours is near the limit.
const LEAST_RATIO: f64 = 1.0 / 0.9;
/// The largest allowed ratio of our time to the limit where JAX takes less than [`LEAST_RATIO`] times as long.
const NEAR_LIMIT: f64 = 1.2;
/// The smallest allowed geometric mean of the ratios of JAX's times to ours.
const LEAST_MEAN: f64 = 1.0 / 0.6;

/// The largest allowed part by which recording makes a call longer, the median over the kernels whose instructions take
/// at least [`LONG_INSTRUCTION_US`].
const MOST_RECORDING: f64 = 0.02;
const LONG_INSTRUCTION_US: f64 = 2.0;

/// A program, and what was measured of it. Times are in microseconds.
struct Kernel {
    name: String,
    jax: f64,
    ours: f64,
    /// The time of ours while its instructions are recorded.
    recorded: f64,
    /// The number of runs of instructions in a call.
    runs: u64,
    limit: Option<f64>,
    /// The largest difference from JAX's results, each relative to the largest value of the result. Programs that
    /// repeat a function can be far from them, because they make each rounding larger.
    distance: f64,
}

/// Measures the kernels whose names contain `only`. Returns a table, and true if the targets are reached, or no text
/// and true if there is no such kernel. Fails if a program cannot be read or compiled, if its arguments cannot be
/// written, if a call of either side fails, or if [`Ours::distance`] does.
pub fn measure(jax: &mut Jax, only: &str, effort: Effort) -> Result<(String, bool)> {
    let mut kernels = vec![];
    for file in programs()?.iter().filter(|file| stem(file).contains(only)) {
        eprintln!("measuring {}", stem(file));
        kernels.push(kernel(jax, file, effort).with_context(|| stem(file))?);
    }
    if kernels.is_empty() { Ok((String::new(), true)) } else { Ok(report(&kernels)) }
}

/// Returns the files of the programs for one device. Fails if the files cannot be listed or one cannot be read.
fn programs() -> Result<Vec<PathBuf>> {
    let mut found = vec![];
    for file in repo::cost_programs()? {
        if !repo::read(&file)?.contains("sdy.mesh") {
            found.push(file);
        }
    }
    Ok(found)
}

fn kernel(jax: &mut Jax, file: &Path, effort: Effort) -> Result<Kernel> {
    let (name, text) = (stem(file), repo::read(file)?);
    let module = program::parse(&name, &text)?;
    let main = module.main().context("there is no main function")?;
    let types: Vec<TensorType> =
        main.body.args().iter().filter_map(|&v| main.body.ty(v).as_tensor().cloned()).collect();
    // The programs of the other measurements have a folder of their own, and some have the same names.
    let folder = repo::target_dir("oracle/kernels")?;
    let inputs = write_inputs(&folder, &name, &types)?;
    let theirs = jax::Program { name: format!("kernel/{name}"), file, inputs, outputs: folder.join(&name) };
    let seconds = effort.seconds / 3.0;
    let ours = Ours::compile(&folder, &name, &text)?;
    let (mut times, mut of_jax, mut recorded, mut runs) = (vec![], vec![], vec![], 0);
    for _ in 0..effort.rounds {
        of_jax.push(jax.time_program(&theirs, seconds)?);
        times.push(ours.time_calls(seconds)?);
        let (time, count) = ours.time_recorded(seconds)?;
        recorded.push(time);
        runs = count;
    }
    let distance = ours.distance(&folder, &name)?;
    let [jax, ours, recorded] = [of_jax, times, recorded].map(|times| median(&times));
    Ok(Kernel { name, jax, ours, recorded, runs, limit: limit(&module), distance })
}

/// Makes arguments of these types, and writes them. Fails if a file cannot be written.
fn write_inputs(folder: &Path, name: &str, types: &[TensorType]) -> Result<Vec<jax::Input>> {
    let mut choose = Chooser::new(1);
    let mut write = |(i, ty)| jax::Input::write(folder, name, i, &Fill::Small.literal(&mut choose, ty));
    types.iter().enumerate().map(&mut write).collect()
}

/// Returns the least time in microseconds that the machine takes to read all arguments and write all results once, or
/// to compute all products of `f32` if that is longer. Returns `None` if there is no main function, or if it has an op
/// that the engine itself runs, such as a loop, a branch or a call.
fn limit(module: &Module) -> Option<f64> {
    let func = module.main()?;
    let body = &func.body;
    let mut flops = 0.0;
    for &op in &body[body.entry()].ops[..body[body.entry()].ops.len() - 1] {
        let view = module.view(body, op);
        let facts = Opcode::of_view(&view).facts();
        if facts.semantics(&view) == Semantics::Control {
            return None;
        }
        let is_f32 = view.body.ty(view.result(0)).as_tensor().is_some_and(|tensor| tensor.dtype == DType::F32);
        flops += if is_product(&view) && is_f32 { facts.cost(&view).flops } else { 0.0 };
    }
    let ends = body.args().iter().chain(body.results());
    let bytes: u64 = ends.filter_map(|&v| Some(body.ty(v).as_tensor()?.bytes())).sum();
    let moving = bytes as f64 / shardwise_calibrate::copy_bytes_per_s(bytes);
    let computing = flops / shardwise_host::peak_flops(DType::F32, Workers::global().count());
    Some(moving.max(computing) * 1e6)
}

fn report(kernels: &[Kernel]) -> (String, bool) {
    let heads = ["kernel", "JAX", "ours", "JAX / ours", "limit", "ours / limit", "recorded", "difference", ""];
    let mut table = Table::new(heads);
    let (mut logarithms, mut misses) = (0.0, 0);
    for kernel in kernels {
        let is_good = kernel.is_fast();
        logarithms += (kernel.jax / kernel.ours).ln();
        misses += usize::from(!is_good);
        table.row([
            kernel.name.clone(),
            shown_time(kernel.jax),
            shown_time(kernel.ours),
            format!("{:.2}", kernel.jax / kernel.ours),
            kernel.limit.map_or(String::new(), shown_time),
            kernel.of_limit().map_or(String::new(), |of_limit| format!("{of_limit:.2}")),
            format!("{:+.1} %", 100.0 * kernel.recording()),
            format!("{:.0e}", kernel.distance),
            if is_good { "pass" } else { "MISS" }.to_string(),
        ]);
    }
    let mean = (logarithms / kernels.len() as f64).exp();
    let (recording, is_recording_fast) = recording(kernels);
    let text = format!(
        "kernels on one device; a row passes with JAX / ours >= {LEAST_RATIO:.2} or ours / limit <= {NEAR_LIMIT}\n\n\
         {table}\ngeometric mean of JAX / ours: {mean:.2} (target {LEAST_MEAN:.2}); {misses} of {} rows miss\n{recording}",
        kernels.len()
    );
    (text, misses == 0 && mean >= LEAST_MEAN && is_recording_fast)
}

/// Returns a line about the cost of recording, and true if it is within [`MOST_RECORDING`]. Returns no text and true if
/// there is no kernel whose instructions take at least [`LONG_INSTRUCTION_US`] on average.
fn recording(kernels: &[Kernel]) -> (String, bool) {
    let is_long = |kernel: &&Kernel| kernel.ours / kernel.runs.max(1) as f64 >= LONG_INSTRUCTION_US;
    let costs: Vec<f64> = kernels.iter().filter(is_long).map(Kernel::recording).collect();
    if costs.is_empty() {
        return (String::new(), true);
    }
    let cost = median(&costs);
    let text = format!(
        "recording the instructions: {:+.2} % of the time, the median of {} kernels whose instructions take at least \
         {LONG_INSTRUCTION_US} us (target {:.0} %)\n",
        100.0 * cost,
        costs.len(),
        100.0 * MOST_RECORDING
    );
    (text, cost <= MOST_RECORDING)
}

impl Kernel {
    fn of_limit(&self) -> Option<f64> {
        Some(self.ours / self.limit?)
    }

    fn is_fast(&self) -> bool {
        self.jax / self.ours >= LEAST_RATIO || self.of_limit().is_some_and(|of_limit| of_limit <= NEAR_LIMIT)
    }

    /// Returns the fraction by which recording makes a call longer.
    fn recording(&self) -> f64 {
        self.recorded / self.ours - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_for_one_device_are_found() {
        let found = programs().unwrap();
        let has = |wanted: &str| found.iter().any(|file| stem(file) == wanted);
        assert!(has("argmax") && !has("x_plus_1_on_8") && found.len() > 30, "{found:?}");
    }

    #[test]
    fn a_row_near_the_limit_passes() {
        let kernel = |name: &str, jax, ours, limit| Kernel {
            name: name.into(),
            jax,
            ours,
            recorded: ours,
            runs: 1,
            limit,
            distance: 0.0,
        };
        let fast = kernel("fast", 40.0, 10.0, None);
        let near = kernel("near", 10.0, 11.0, Some(10.0));
        assert!(report(&[fast, near]).1);
        let (text, is_good) = report(&[kernel("far", 100.0, 99.0, Some(10.0))]);
        assert!(!is_good && text.contains("1 of 1 rows miss"), "{text}");
    }

    #[test]
    fn recording_counts_where_instructions_are_long() {
        let kernel = |ours, recorded, runs| {
            let (name, limit) = ("k".into(), None);
            Kernel { name, jax: 1e3, ours, recorded, runs, limit, distance: 0.0 }
        };
        let short = kernel(10.0, 20.0, 10);
        assert_eq!(recording(&[short]), (String::new(), true));
        assert!(recording(&[kernel(10.0, 10.1, 2)]).1);
        let (text, is_good) = recording(&[kernel(10.0, 10.5, 2), kernel(10.0, 20.0, 10)]);
        assert!(!is_good && text.contains("+5.00 % of the time, the median of 1 kernels"), "{text}");
    }
}
