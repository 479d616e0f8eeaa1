//! JAX's side of the benchmarks: `oracle/bench_jax.py --serve`, which answers requests line by line.

use crate::{command, repo, venv};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use shardwise_base::{DType, Literal};
use shardwise_files::npz::numpy_name;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A Python process that measures on request.
pub struct Jax {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A line of the process's output.
#[derive(Deserialize)]
struct Timing {
    median_us: f64,
}

/// A file of StableHLO for one device, with its arguments.
pub struct Program<'a> {
    /// A name that no other program of the same process has.
    pub name: String,
    pub file: &'a Path,
    pub inputs: Vec<Input>,
    /// How the names of the files begin into which the results are written: `.out0.bin` and so on follow.
    pub outputs: PathBuf,
}

/// An argument: a file of its bytes.
#[derive(Serialize)]
pub struct Input {
    file: PathBuf,
    /// Its element type in numpy's notation.
    dtype: String,
    shape: Vec<usize>,
}

impl Input {
    /// Writes argument `i` of a program into `folder`, where [`Ours::compile`](super::ours::Ours::compile) reads it.
    /// Fails if the file cannot be written.
    pub fn write(folder: &Path, program: &str, i: usize, value: &Literal) -> Result<Input> {
        let file = folder.join(format!("{program}.arg{i}.bin"));
        shardwise_base::file::write(&file, value.raw_bytes())?;
        let dtype = if value.dtype() == DType::BF16 { "bfloat16".into() } else { numpy_name(value.dtype()) };
        Ok(Input { file, dtype, shape: value.shape().to_vec() })
    }
}

impl Jax {
    pub fn start(python: &Path) -> Result<Jax> {
        let mut script = venv::script(python, "bench_jax.py");
        script.arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = script.spawn().context("cannot start oracle/bench_jax.py")?;
        let requests = process.stdin.take().expect("piped");
        let answers = BufReader::new(process.stdout.take().expect("piped"));
        Ok(Jax { process, requests, answers })
    }

    /// Returns the median time of a call of the program `name`, in microseconds. Calls it for about this many seconds.
    /// Fails if JAX does not answer.
    pub fn time_calls(&mut self, name: &str, seconds: f64) -> Result<f64> {
        self.ask(&json!({ "name": name, "seconds": seconds }))
    }

    /// Returns the median time of tracing, lowering and compiling over `runs` runs, in microseconds. `name` is that of
    /// the measurement. Fails if JAX does not answer.
    pub fn time_compilation(&mut self, name: &str, runs: usize) -> Result<f64> {
        self.ask(&json!({ "name": name, "runs": runs }))
    }

    /// Returns the median time of a call of the program, in microseconds. Each time is the average of some calls that
    /// are awaited together. Calls it for about this many seconds. The first time, its results are written. Fails if
    /// JAX does not answer.
    pub fn time_program(&mut self, program: &Program, seconds: f64) -> Result<f64> {
        self.ask(&json!({
            "name": program.name,
            "text": program.file,
            "inputs": program.inputs,
            "outputs": program.outputs,
            "seconds": seconds,
        }))
    }

    /// Returns the median time, in microseconds, that JAX answers to a request in the form that `oracle/bench_jax.py`
    /// describes. Fails if JAX does not answer.
    fn ask(&mut self, request: &serde_json::Value) -> Result<f64> {
        writeln!(self.requests, "{request}").context("oracle/bench_jax.py has ended")?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        let timing: Timing = serde_json::from_str(&line).context("no answer from oracle/bench_jax.py")?;
        Ok(timing.median_us)
    }
}

impl Drop for Jax {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the folder with the programs, inputs and outputs. Exports them if the scripts have changed since the last
/// export, or if there was none. Fails if the scripts fail or a file cannot be read or written.
pub fn export(python: &Path) -> Result<PathBuf> {
    let folder = repo::target_dir("oracle/bench")?;
    let scripts = ["bench_jax.py", "chapter.py", "transformer.py", "harness.py", "requirements.txt"];
    let wanted: String =
        scripts.iter().map(|s| repo::read(format!("oracle/{s}").as_ref())).collect::<Result<Vec<_>>>()?.concat();
    let stamp = folder.join("stamp");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(folder);
    }
    eprintln!("exporting the programs to {}", repo::shown(&folder));
    let mut script = venv::script(python, "bench_jax.py");
    script.args(["--seconds", "0", "--compilations", "0", "--raw", "--export"]).arg(&folder);
    command::run_shown(script)?;
    shardwise_base::file::write(&stamp, wanted)?;
    Ok(folder)
}
