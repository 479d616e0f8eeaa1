//! Our side of the benchmarks: text, partitioner and embedded engine, used as libraries.

use super::lines::median;
use crate::{program, repo};
use anyhow::{Context, Result, ensure};
use shardwise_base::Literal;
use shardwise_base::compare::share_of_largest;
use shardwise_engine::{Argument, ArrayHandle, Engine, Executable, ShardedType};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of calls before those that count.
const WARM_UPS: usize = 3;
/// The smallest number of calls that are timed.
const LEAST_CALLS: usize = 10;

/// The mesh on which a program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Devices {
    All,
    One,
}

/// A compiled program and its arguments.
pub struct Ours {
    executable: Arc<dyn Executable>,
    args: Vec<ArrayHandle>,
}

impl Ours {
    /// Compiles `text`, or `NAME.mlir` of a folder, and reads its arguments from `NAME.arg0.bin`, … With
    /// [`Devices::One`], every axis of the mesh has size one. Fails if a file cannot be read or has the wrong size, or
    /// if the program cannot be compiled.
    pub fn load(folder: &Path, name: &str, devices: Devices, text: Option<String>) -> Result<Ours> {
        let mut text = match text {
            Some(text) => text,
            None => repo::read(&folder.join(format!("{name}.mlir")))?,
        };
        if devices == Devices::One {
            text = on_one_device(&text);
        }
        Ours::compile(folder, name, &text)
    }

    /// Compiles `text`, and reads its arguments from `NAME.arg0.bin`, … in a folder. Fails as [`Ours::load`] does.
    pub fn compile(folder: &Path, name: &str, text: &str) -> Result<Ours> {
        let engine = engine();
        let executable = compile(&*engine, text)?;
        let inputs = executable.signature().inputs.iter().enumerate();
        let args = inputs.map(|(i, ty)| {
            let value = read_array(&folder.join(format!("{name}.arg{i}.bin")), ty)?;
            engine.put(&value, ty).map_err(program::mistake)
        });
        let args = args.collect::<Result<_>>()?;
        Ok(Ours { executable, args })
    }

    fn call(&self) -> Result<Vec<ArrayHandle>> {
        self.executable.execute(self.lent()).map_err(program::mistake)
    }

    fn lent(&self) -> Vec<Argument> {
        self.args.iter().cloned().map(Argument::Lent).collect()
    }

    /// Returns the median time of a call, in microseconds. After some calls to warm up, calls the program for this many
    /// seconds, and at least [`LEAST_CALLS`] times. Fails if a call does.
    pub fn time_calls(&self, seconds: f64) -> Result<f64> {
        repeated(seconds, || self.call())
    }

    /// Returns the median time of a call that is recorded, in microseconds, and the number of runs of instructions in
    /// it. Calls the program as [`Ours::time_calls`] does. Fails if a call does.
    pub fn time_recorded(&self, seconds: f64) -> Result<(f64, u64)> {
        let record = || self.executable.profile(self.lent()).map_err(program::mistake);
        let (_, profile) = record()?;
        let runs = profile.totals.iter().map(|total| total.count).sum();
        Ok((repeated(seconds, record)?, runs))
    }

    /// Calls the program, and returns the largest difference from JAX's outputs `NAME.out0.bin`, … in the folder, each
    /// relative to the largest value of its output. Fails if the call fails, if JAX has more or fewer outputs or
    /// outputs of other sizes, if integers or booleans differ, if a NaN or an infinity meets another value, or if a
    /// difference is too large for `f64`.
    pub fn distance(&self, folder: &Path, name: &str) -> Result<f64> {
        let mut farthest = 0f64;
        let results = self.call()?;
        let beyond = folder.join(format!("{name}.out{}.bin", results.len()));
        ensure!(!beyond.exists(), "{} results, and JAX has more", results.len());
        for (i, array) in results.iter().enumerate() {
            let expected = read_array(&folder.join(format!("{name}.out{i}.bin")), array.sharded_type())?;
            farthest = farthest.max(share_of_largest(i, &array.to_literal(), &expected)?);
        }
        Ok(farthest)
    }
}

fn repeated<T>(seconds: f64, call: impl Fn() -> Result<T>) -> Result<f64> {
    for _ in 0..WARM_UPS {
        call()?;
    }
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut times = vec![];
    while times.len() < LEAST_CALLS || Instant::now() < end {
        times.push(microseconds(&call)?);
    }
    Ok(median(&times))
}

fn engine() -> Box<dyn Engine> {
    Box::new(shardwise_host::HostEngine::default())
}

fn compile(engine: &dyn Engine, text: &str) -> Result<Arc<dyn Executable>> {
    let module = program::parse("program", text)?;
    let local = shardwise_spmd::partition(&module, &mut Default::default()).map_err(program::mistake)?;
    engine.compile(&local.module).map_err(program::mistake)
}

/// Returns the median time of parsing, partitioning and planning over `runs` runs, in microseconds. One run before them
/// does not count. Panics if `runs` is 0. Fails if one of the runs does.
pub fn time_compilation(text: &str, runs: usize) -> Result<f64> {
    let engine = engine();
    compile(&*engine, text)?;
    let times = (0..runs).map(|_| microseconds(|| compile(&*engine, text)));
    Ok(median(&times.collect::<Result<Vec<_>>>()?))
}

fn microseconds<T>(call: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    drop(call()?);
    Ok(start.elapsed().as_secs_f64() * 1e6)
}

fn read_array(file: &Path, ty: &ShardedType) -> Result<Literal> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", repo::shown(file)))?;
    let read = Literal::from_bytes(ty.ty.dtype, &ty.ty.shape, &bytes);
    read.ok().with_context(|| format!("{} does not hold a {:?}", repo::shown(file), ty.ty))
}

/// Returns the program on a mesh of one device: every axis has size one, so that no sharding splits anything.
fn on_one_device(text: &str) -> String {
    let lines = text.lines().map(|line| match line.trim_start() {
        mesh if mesh.starts_with("sdy.mesh ") => numbers_to_one(line, &["=", "size = "]),
        head if head.starts_with("module ") => numbers_to_one(line, &["mhlo.num_partitions = "]),
        _ => line.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the line with every number that directly follows one of these words replaced by one.
fn numbers_to_one(line: &str, words: &[&str]) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        out.push(c);
        rest = &rest[c.len_utf8()..];
        if words.iter().any(|w| out.ends_with(w)) && rest.starts_with(|c: char| c.is_ascii_digit()) {
            out.push('1');
            rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device() {
        let text = "module @m attributes {mhlo.num_partitions = 8 : i32} {\n  \
                    sdy.mesh @mesh = <[\"X\"=4, \"Y\"=2]> {stablehlo.mesh = {axes = [{name = \"X\", size = 4 : i64}]}}\n  \
                    %0 = stablehlo.constant dense<4> : tensor<i32>\n}";
        let one = "module @m attributes {mhlo.num_partitions = 1 : i32} {\n  \
                   sdy.mesh @mesh = <[\"X\"=1, \"Y\"=1]> {stablehlo.mesh = {axes = [{name = \"X\", size = 1 : i64}]}}\n  \
                   %0 = stablehlo.constant dense<4> : tensor<i32>\n}";
        assert_eq!(on_one_device(text), one);
    }
}
