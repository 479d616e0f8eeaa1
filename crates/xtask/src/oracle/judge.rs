//! The judges: `oracle/batch.py` answers many requests in one Python process, each of them in a forked child.

use super::check::{Check, Verdict, Verdicts};
use crate::{command, venv};
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit for a batch, and for each other script.
const LIMIT: Duration = Duration::from_secs(1200);

/// A request to the judges.
#[derive(Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Request {
    /// Asks whether the arrays of two files are equal, within tolerances.
    Values { ours: PathBuf, expected: PathBuf },
    /// Asks whether all shardings are equal.
    Shardings { ours: PathBuf, theirs: PathBuf },
    /// Asks whether jaxlib parses and verifies the file.
    Verify { file: PathBuf },
    /// Asks whether the program has these results in jaxlib's interpreter. `layout` is its form with shardings.
    Interpret { file: PathBuf, layout: PathBuf, inputs: PathBuf, expected: PathBuf },
    /// Asks for pairs of a module and our output whether jaxlib's passes have the same output.
    Passes { passes: String, files: Vec<(PathBuf, Option<PathBuf>)> },
    /// Asks for the results of programs of one device in a system: `interpreter` (which may crash) or `jax`.
    Evaluate { system: &'static str, programs: Vec<Evaluation> },
    /// Asks for the models and drawn functions at these positions of a seed, with JAX's results after transforms: in
    /// their own types, or in `f64` from the same inputs.
    Derivatives { seed: u64, count: usize, positions: Vec<usize>, exact: bool },
    /// Asks whether the CHECK lines of `file` accept `output`, or the output of jaxlib's passes for the file.
    Lit { file: PathBuf, passes: String, prefixes: Vec<String>, output: Option<PathBuf> },
}

/// A program to run, with its inputs.
#[derive(Serialize, Clone)]
pub struct Evaluation {
    pub text: String,
    pub inputs: Vec<Elements>,
}

/// An array: the bytes of its elements.
#[derive(Serialize, Clone)]
pub struct Elements {
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub hex: String,
}

/// The results of a program, or why it could not run.
#[derive(Deserialize)]
pub struct Evaluated {
    /// The bytes of each result in hexadecimal, or `None` if the program could not run.
    pub results: Option<Vec<String>>,
    pub reason: String,
}

/// A request about a program, and the check to which it belongs.
pub struct Job {
    pub program: usize,
    pub check: Check,
    pub request: Request,
}

#[derive(Serialize)]
struct Line<'a> {
    id: usize,
    #[serde(flatten)]
    request: &'a Request,
}

/// A line of the batch's output.
#[derive(Deserialize)]
pub struct Response {
    id: usize,
    pub ok: bool,
    pub reason: String,
    /// For a request about pairs of files, one for each pair: `equal`, `unknown` or the difference.
    #[serde(default)]
    pub verdicts: Vec<String>,
    /// The results of programs that were run.
    #[serde(default)]
    pub values: Vec<Evaluated>,
    /// Transformed functions with their results.
    #[serde(default)]
    pub cases: Vec<super::derivatives::Case>,
    #[serde(default)]
    shardings: Option<Shardings>,
}

impl Response {
    /// Returns a failure that needed no judge.
    pub fn failed(reason: String) -> Response {
        Response { id: 0, ok: false, reason, verdicts: vec![], values: vec![], cases: vec![], shardings: None }
    }
}

/// The numbers of compared and equal shardings, and of differences by op.
#[derive(Deserialize, Default)]
pub struct Shardings {
    pub kinds: BTreeMap<String, Count>,
    pub different_by_op: BTreeMap<String, usize>,
}

#[derive(Deserialize, Default, Clone, Copy)]
pub struct Count {
    pub compared: usize,
    pub equal: usize,
}

impl Shardings {
    fn add(&mut self, other: Shardings) {
        for (kind, count) in other.kinds {
            let total = self.kinds.entry(kind).or_default();
            total.compared += count.compared;
            total.equal += count.equal;
        }
        for (op, n) in other.different_by_op {
            *self.different_by_op.entry(op).or_default() += n;
        }
    }

    /// Returns the counts over all kinds.
    pub fn total(&self) -> Count {
        let sum = |f: fn(&Count) -> usize| self.kinds.values().map(f).sum();
        Count { compared: sum(|c| c.compared), equal: sum(|c| c.equal) }
    }
}

/// Lets the judges answer all jobs, and adds their answers to `verdicts`. Returns the sum over all comparisons of
/// shardings. Fails as [`ask`] does.
///
/// The interpreter runs a thread for each process, and fails if a collective waits for seconds. Therefore its programs
/// run one at a time.
pub fn run_all(python: &Path, jobs: Vec<Job>, verdicts: &mut Verdicts) -> Result<Shardings> {
    let (interpreted, others): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|j| j.check == Check::Interpret);
    let mut total = Shardings::default();
    for (batch, more) in [(others, vec![]), (interpreted, vec!["--children", "1"])] {
        let (mut jobs, mut requests) = (vec![], vec![]);
        for job in batch {
            jobs.push((job.program, job.check));
            requests.push(job.request);
        }
        for (job, answer) in jobs.into_iter().zip(ask(python, &requests, &more)?) {
            let verdict = if answer.ok { Verdict::Passed } else { Verdict::Failed(answer.reason) };
            verdicts.insert(job, verdict);
            total.add(answer.shardings.unwrap_or_default());
        }
    }
    Ok(total)
}

/// Runs the tests of the judges themselves. Fails if they fail or cannot be started.
pub fn test_tools(python: &Path) -> Result<()> {
    let mut tests = venv::module(python, "unittest");
    tests.args(["discover", "-s", "oracle", "-p", "test_*.py"]);
    let outcome = command::run(tests, "", LIMIT)?;
    ensure!(outcome.is_success(), "the oracle's own tests fail:\n{}", outcome.stderr);
    Ok(())
}

/// Asks JAX again for the tables in `testdata`: types of Explicit and manual mode and of gradients, random numbers,
/// layers, optimizers, training and residuals. Fails if a script cannot be started.
///
/// Returns the output of the scripts, and true if JAX still has the same answers.
pub fn tables(python: &Path) -> Result<(String, bool)> {
    let scripts = [
        "explicit.py",
        "explicit_gradients.py",
        "manual.py",
        "random_numbers.py",
        "layers.py",
        "optimizers.py",
        "training.py",
        "residuals.py",
    ];
    let outcomes = command::in_parallel(&scripts, |name| command::run(venv::script(python, name), "", LIMIT));
    let (mut report, mut is_right) = (String::new(), true);
    for (name, outcome) in scripts.iter().zip(outcomes) {
        let outcome = outcome?;
        is_right &= outcome.is_success();
        let why = if outcome.is_success() { String::new() } else { outcome.reason() };
        report += &format!("{name}: {}{why}\n", outcome.stdout);
    }
    Ok((report, is_right))
}

/// Asks about many things, with `chunk` of them in one request, whose answer has a part for each. `chunk` must not be
/// 0. If an answer does not have a part for each thing, because jaxlib crashed on the chunk or took too long, each half
/// is asked separately, and finally each thing. The answer is `None` for things for which this also happens alone.
/// Fails if the requests cannot be asked.
pub fn ask_about<T, R>(
    python: &Path,
    things: &[T],
    chunk: usize,
    request: &dyn Fn(&[T]) -> Request,
    parts: &dyn Fn(Response) -> Vec<R>,
) -> Result<Vec<Option<R>>> {
    let requests: Vec<Request> = things.chunks(chunk).map(request).collect();
    let answers = ask(python, &requests, &["--limit", "600"])?;
    let mut out = vec![];
    for (chunk, answer) in things.chunks(chunk).zip(answers) {
        let found = parts(answer);
        match chunk.len() {
            n if n == found.len() => out.extend(found.into_iter().map(Some)),
            1 => out.push(None),
            n => out.extend(ask_about(python, chunk, n.div_ceil(2), request, parts)?),
        }
    }
    Ok(out)
}

/// Runs one batch. The answers are in the order of the requests. `more` has further arguments of `oracle/batch.py`.
///
/// # Errors
/// Fails if the script fails or leaves out an answer.
pub fn ask(python: &Path, requests: &[Request], more: &[&str]) -> Result<Vec<Response>> {
    if requests.is_empty() {
        return Ok(vec![]);
    }
    let lines = requests.iter().enumerate().map(|(id, request)| serde_json::to_string(&Line { id, request }));
    let input = lines.collect::<serde_json::Result<Vec<_>>>()?.join("\n");
    let mut script = venv::script(python, "batch.py");
    script.args(more);
    let outcome = command::run(script, &input, LIMIT)?;
    ensure!(outcome.is_success(), "oracle/batch.py failed: {}\n{}", outcome.reason(), outcome.stderr);
    let mut answers: Vec<Response> =
        outcome.stdout.lines().map(serde_json::from_str).collect::<serde_json::Result<_>>()?;
    answers.sort_by_key(|a| a.id);
    let is_complete = answers.iter().map(|a| a.id).eq(0..requests.len());
    ensure!(is_complete, "oracle/batch.py answered {} of {}", answers.len(), requests.len());
    Ok(answers)
}

/// Returns the bytes for which a text of hexadecimal digits stands, two digits for each. Fails for an odd number of
/// digits and for any other text.
pub fn bytes(hex: &str) -> Result<Vec<u8>, String> {
    // `from_str_radix` also reads a sign.
    let digits = |i: usize| hex.get(2 * i..2 * i + 2).filter(|digits| !digits.starts_with('+'));
    let byte = |i| digits(i).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    let bytes: Option<Vec<u8>> = (0..hex.len().div_ceil(2)).map(byte).collect();
    bytes.ok_or_else(|| format!("no bytes in hexadecimal: {hex:.40}"))
}
