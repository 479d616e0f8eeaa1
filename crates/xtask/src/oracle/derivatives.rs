//! Compares derivatives and batches of programs in text with JAX's.
//!
//! `oracle/derivatives.py` draws functions, exports them, and transforms them with JAX. Here, the exported text is
//! transformed as `shardwise opt` does, and run whole in the interpreter, and on one device and partitioned for eight
//! on the host engine. The layouts of the arguments on the eight devices are drawn ([`Layouts`]).

mod layouts;

use self::layouts::Layouts;
use super::judge;
use super::known::{self, OtherDerivative};
use crate::table::Table;
use crate::{command, venv};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use shardwise_base::{DType, Literal};
use shardwise_check::run;
use shardwise_host::HostEngine;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_transform::Request;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The number of cases in one request to JAX.
const CHUNK: usize = 10;
/// The time limit for counting the models. Most of the time is needed to start JAX.
const LIMIT: Duration = Duration::from_secs(300);
/// Cases with at most this tolerance are in `f64` already.
const NARROWEST: f64 = 1e-9;
/// A known difference is out of date if its function was drawn at least this many times and never differed.
const DRAWN: usize = 6;

/// A transformed function and JAX's results for it.
#[derive(Deserialize)]
pub struct Case {
    /// The function, its type, the transforms and the platform for which it was exported.
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    transforms: Vec<String>,
    #[serde(default)]
    inputs: Vec<Array>,
    /// JAX's results. `None` if JAX cannot transform the function, for `reason`.
    results: Option<Vec<Array>>,
    /// The distance that is allowed, as a part of the largest element of a result.
    #[serde(default)]
    tolerance: f64,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Array {
    dtype: String,
    shape: Vec<usize>,
    hex: String,
}

impl Array {
    fn literal(&self) -> Result<Literal, String> {
        let dtype = DType::parse(&self.dtype).ok_or_else(|| format!("`{}` is no type", self.dtype))?;
        Literal::from_bytes(dtype, &self.shape, &judge::bytes(&self.hex)?).map_err(|e| e.to_string())
    }
}

impl Case {
    fn function(&self) -> &str {
        self.name.split(' ').next().unwrap_or("")
    }

    fn transforms(&self) -> &str {
        self.name.split(' ').nth(2).unwrap_or("")
    }
}

/// Returns the transformed program, after it was printed and read again. If there are `layouts`, they are drawn for its
/// arguments, or for those before the transforms ([`Layouts::are_early`]). Fails with the message of a step that fails.
fn transformed(case: &Case, layouts: Option<&mut Layouts>) -> Result<Module, String> {
    let read = |text: &str| parse("case.mlir", text, &OPS).map_err(|e| e.to_string());
    let mut module = read(&case.text)?;
    let (before, after) = match layouts {
        Some(layouts) if layouts.are_early() => (Some(layouts), None),
        layouts => (None, layouts),
    };
    before.into_iter().for_each(|layouts| layouts.lay_out(&mut module));
    for text in &case.transforms {
        let request = Request::parse(text).ok_or_else(|| format!("`{text}` is no transform"))?;
        module = request.and_then(|r| r.run(&module)).map_err(|e| format!("{text}: {e}"))?;
        let found = verify(&module);
        if !found.is_empty() {
            return Err(format!("the result of {text} is not valid: {found}"));
        }
    }
    after.into_iter().for_each(|layouts| layouts.lay_out(&mut module));
    read(&print(&module, &PrintOptions::default()))
}

/// The results of a case: whole in the interpreter, and on one device and on eight on the host engine.
struct Ours {
    whole: Vec<Literal>,
    hosted: Vec<Literal>,
    partitioned: Vec<Literal>,
    /// The layouts of the arguments on the eight devices, in words.
    layouts: String,
}

impl Ours {
    fn of(case: &Case, seed: u64) -> Result<Ours, String> {
        let inputs = case.inputs.iter().map(Array::literal).collect::<Result<Vec<_>, _>>()?;
        let shown = |e: shardwise_base::Diagnostics| e.to_string();
        let host = |module: &Module| {
            let local = run::partitioned(module).map_err(shown)?.module;
            run::on(&HostEngine::default(), &local, &inputs).map_err(shown)
        };
        let module = transformed(case, None)?;
        let (whole, hosted) = (run::whole(&module, &inputs).map_err(shown)?, host(&module)?);
        let mut layouts = Layouts::new(seed);
        let at = |e: String, layouts: &Layouts| format!("with {layouts}: {e}");
        let laid_out = transformed(case, Some(&mut layouts)).map_err(|e| at(e, &layouts))?;
        let partitioned = host(&laid_out).map_err(|e| at(e, &layouts))?;
        Ok(Ours { whole, hosted, partitioned, layouts: layouts.to_string() })
    }

    fn runs(&self) -> [(String, &[Literal]); 3] {
        [
            ("in the interpreter".into(), &self.whole),
            ("on one device".into(), &self.hosted),
            (format!("with {}", self.layouts), &self.partitioned),
        ]
    }
}

/// Returns the largest distance of results from JAX's, each as a part of the largest element of JAX's result. Fails if
/// a result has another element type or shape, or if there are more or fewer results.
fn distance(ours: &[Literal], theirs: &[Literal]) -> Result<f64, String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} results in place of {}", ours.len(), theirs.len()));
    }
    let mut worst: f64 = 0.0;
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        if (ours.dtype(), ours.shape()) != (theirs.dtype(), theirs.shape()) {
            return Err(format!("result {i} is {ours:?} in place of {theirs:?}"));
        }
        worst = worst.max(relative(ours, theirs));
    }
    Ok(worst)
}

fn compared(case: &Case, seed: u64, theirs: &[Array]) -> Result<Outcome, String> {
    let theirs = theirs.iter().map(Array::literal).collect::<Result<Vec<_>, _>>()?;
    let mut worst = (0.0, String::new());
    for (run, results) in Ours::of(case, seed)?.runs() {
        let found = distance(results, &theirs).map_err(|e| format!("{run}: {e}"))? / case.tolerance;
        if found > worst.0 {
            worst = (found, run);
        }
    }
    Ok(Outcome::At(worst.0, worst.1))
}

/// Returns true if the results of all our runs are as close to `exact`, JAX's results in `f64`, as JAX's own in the
/// case's types are, or as close as is allowed. Returns false if there are more or fewer of them. Fails if the program
/// cannot be transformed or run, or if an array cannot be read.
fn is_as_exact(case: &Case, seed: u64, exact: &Case) -> Result<bool, String> {
    let read = |of: &Option<Vec<Array>>| -> Result<Vec<Literal>, String> {
        of.as_deref().unwrap_or(&[]).iter().map(Array::literal).collect()
    };
    let (theirs, exact) = (read(&case.results)?, read(&exact.results)?);
    let farthest = |of: &[Literal]| -> f64 {
        let pairs = of.iter().zip(&exact);
        pairs.filter(|(x, y)| x.size() == y.size()).map(|(x, y)| relative(x, y)).fold(0.0, f64::max)
    };
    let allowed = farthest(&theirs).max(case.tolerance);
    Ok(Ours::of(case, seed)?.runs().iter().all(|(_, ours)| ours.len() == exact.len() && farthest(ours) <= allowed))
}

/// Returns the largest distance of two elements, divided by the magnitude of the largest finite element of `theirs`.
/// The parts of complex numbers count as elements. All NaNs are equal. The result is infinite if a NaN or an infinity
/// meets another value, and if the two differ and `theirs` has no finite element other than 0.
fn relative(ours: &Literal, theirs: &Literal) -> f64 {
    let parts = |x: &Literal, i: usize| match x.dtype().is_complex() {
        true => [x.get_f64(i), x.imaginary_f64(i)],
        false => [x.get_f64(i), 0.0],
    };
    let pairs = || (0..ours.size()).flat_map(|i| parts(ours, i).into_iter().zip(parts(theirs, i)));
    let largest = pairs().map(|(_, b)| b.abs()).filter(|b| b.is_finite()).fold(0.0, f64::max);
    let distance = |(a, b): (f64, f64)| match a == b || (a.is_nan() && b.is_nan()) {
        true => 0.0,
        false if (a - b).is_nan() => f64::INFINITY,
        false => (a - b).abs() / largest,
    };
    pairs().map(distance).fold(0.0, f64::max)
}

/// Returns the number of models, which come before the cases that are drawn. Fails if Python does not answer with a
/// number.
fn model_count(python: &Path) -> Result<usize> {
    let mut script = venv::script(python, "derivatives.py");
    script.arg("--models");
    let outcome = command::run(script, "", LIMIT)?;
    ensure!(outcome.is_success(), "the models cannot be counted: {}", outcome.reason());
    outcome.stdout.trim().parse().context("the number of models is no number")
}

/// Compares the models and `count` functions, drawn from `seed`, with JAX. Returns the report. The second value is true
/// if all differences, failures and cases that JAX cannot transform are known, JAX crashes on no case, and each known
/// difference whose function was drawn at least [`DRAWN`] times occurs. Fails if JAX cannot be asked or the list of
/// known differences cannot be read.
pub fn run(count: usize, seed: u64) -> Result<(String, bool)> {
    let python = venv::ensure()?;
    let positions: Vec<usize> = (0..model_count(&python)? + count).collect();
    let ask = |positions: &[usize], exact: bool| {
        let request = |part: &[usize]| judge::Request::Derivatives { seed, count, positions: part.to_vec(), exact };
        judge::ask_about(&python, positions, CHUNK, &request, &|answer| answer.cases)
    };
    let cases = ask(&positions, false)?;
    // The layouts of a case are drawn from the seed and the case's position.
    let layout_seed = |i: usize| seed.wrapping_mul(1 << 20).wrapping_add(i as u64);
    let mut outcomes = command::in_parallel(&positions, |&i| {
        let case = cases[i].as_ref()?;
        Some(match &case.results {
            Some(theirs) => compared(case, layout_seed(i), theirs).unwrap_or_else(Outcome::Failed),
            None => Outcome::Refused(case.reason.clone()),
        })
    });
    let is_off = |i: &usize| matches!(outcomes[*i], Some(Outcome::At(worst, _)) if worst > 1.0);
    let is_narrow = |i: &usize| cases[*i].as_ref().is_some_and(|case| case.tolerance > NARROWEST);
    let doubtful: Vec<usize> = positions.iter().copied().filter(|i| is_off(i) && is_narrow(i)).collect();
    for (&i, exact) in doubtful.iter().zip(ask(&doubtful, true)?) {
        let (Some(case), Some(exact)) = (&cases[i], exact) else { continue };
        if exact.results.is_some() && is_as_exact(case, layout_seed(i), &exact).unwrap_or(false) {
            outcomes[i] = Some(Outcome::Rounded);
        }
    }
    let mut report = Report { known: known::derivatives()?, known_refusals: known::refused()?, ..Report::default() };
    for (position, (case, outcome)) in cases.iter().zip(outcomes).enumerate() {
        match case.as_ref().zip(outcome) {
            Some((case, outcome)) => report.add(case, outcome),
            None => report.wrong.push(format!("case {position}: JAX crashes or takes too long")),
        }
    }
    Ok(report.write(seed))
}

/// The comparison of a case.
enum Outcome {
    /// The largest distance, in units of the one that is allowed, and the run that has it, which is empty if the
    /// distance is 0.
    At(f64, String),
    /// The results differ by more than is allowed, but ours are as close to those in `f64` as JAX's are or as is
    /// allowed.
    Rounded,
    Failed(String),
    /// JAX cannot transform the function, for this reason.
    Refused(String),
}

/// The outcomes of all cases with the same transforms. Only equal cases count for `worst`.
#[derive(Default)]
struct Row {
    cases: usize,
    equal: usize,
    rounded: usize,
    known: usize,
    /// The cases that JAX cannot transform, which are no part of `cases`.
    refused: usize,
    worst: f64,
}

#[derive(Default)]
struct Report {
    known: Vec<OtherDerivative>,
    known_refusals: Vec<OtherDerivative>,
    /// The number of cases that differ or fail as a listed entry says, by the index of the entry.
    met: BTreeMap<usize, usize>,
    rows: BTreeMap<String, Row>,
    /// The number of cases of each function that JAX can transform.
    drawn: BTreeMap<String, usize>,
    refused: BTreeMap<String, String>,
    rounded: Vec<String>,
    wrong: Vec<String>,
}

impl Report {
    fn add(&mut self, case: &Case, outcome: Outcome) {
        let is_of = |k: &OtherDerivative, why: &str| k.function == case.function() && why.contains(&k.message);
        if let Outcome::Refused(why) = outcome {
            self.rows.entry(case.transforms().to_string()).or_default().refused += 1;
            if !self.known_refusals.iter().any(|k| is_of(k, &why)) {
                self.wrong.push(format!("{}: JAX cannot transform it: {why:.150}", case.name));
            }
            self.refused.insert(case.name.clone(), why);
            return;
        }
        *self.drawn.entry(case.function().to_string()).or_default() += 1;
        let row = self.rows.entry(case.transforms().to_string()).or_default();
        row.cases += 1;
        let why = match outcome {
            Outcome::Rounded => {
                row.rounded += 1;
                self.rounded.push(case.name.clone());
                return;
            }
            Outcome::At(worst, _) if worst <= 1.0 => {
                row.equal += 1;
                row.worst = row.worst.max(worst);
                return;
            }
            Outcome::At(worst, run) => format!("differs: {worst:.3} times the allowed distance, {run}"),
            Outcome::Failed(why) | Outcome::Refused(why) => why,
        };
        match self.known.iter().position(|k| is_of(k, &why)) {
            Some(i) => {
                row.known += 1;
                *self.met.entry(i).or_default() += 1;
            }
            None => self.wrong.push(format!("{}: {}", case.name, why.split_whitespace().collect::<Vec<_>>().join(" "))),
        }
    }

    fn write(self, seed: u64) -> (String, bool) {
        let columns = ["transforms", "cases", "equal", "as exact", "known", "refused by JAX", "part of the tolerance"];
        let mut table = Table::new(columns);
        let mut all = Row::default();
        for (name, row) in &self.rows {
            table.row(row.cells(name));
            all.cases += row.cases;
            all.equal += row.equal;
            all.rounded += row.rounded;
            all.known += row.known;
            all.refused += row.refused;
            all.worst = all.worst.max(row.worst);
        }
        table.row(all.cells("all"));
        let functions = self.drawn.len();
        let mut text = format!(
            "derivatives and batches of {functions} functions and models, seed {seed}, against JAX, on one device and on eight with \
             drawn layouts\n\n{table}\n"
        );
        for (i, count) in &self.met {
            text += &format!("known: `{}`, {count} times: {}\n", self.known[*i].function, self.known[*i].reason);
        }
        if !self.rounded.is_empty() {
            text += "farther from JAX's results than is allowed, and as close to its results in f64 as they are:\n";
            self.rounded.iter().for_each(|name| text += &format!("  {name}\n"));
        }
        if !self.refused.is_empty() {
            text += &format!("JAX itself cannot transform {} cases:\n", self.refused.len());
            self.refused.iter().for_each(|(name, why)| text += &format!("  {name}: {why:.150}\n"));
        }
        let is_stale = |i: &usize| {
            let drawn = self.drawn.get(&self.known[*i].function).copied().unwrap_or(0);
            drawn >= DRAWN && !self.met.contains_key(i)
        };
        let stale = (0..self.known.len())
            .filter(is_stale)
            .map(|i| format!("`{}`: no difference any more; remove it from oracle/known.toml", self.known[i].function));
        let wrong: Vec<String> = self.wrong.iter().cloned().chain(stale).collect();
        wrong.iter().for_each(|line| text += &format!("WRONG {line}\n"));
        (text, wrong.is_empty())
    }
}

impl Row {
    fn cells(&self, name: &str) -> [String; 7] {
        let counts = [self.cases, self.equal, self.rounded, self.known, self.refused];
        let [cases, equal, rounded, known, refused] = counts.map(|n| n.to_string());
        [name.to_string(), cases, equal, rounded, known, refused, format!("{:.3}", self.worst)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the report on cases with these names and outcomes, where `clamp` may be refused for its shapes.
    fn report(cases: Vec<(&str, Outcome)>) -> (String, bool) {
        let entry =
            |message: &str| OtherDerivative { function: "clamp".into(), message: message.into(), reason: "r".into() };
        let mut report = Report { known_refusals: vec![entry("same shapes")], ..Report::default() };
        for (name, outcome) in cases {
            let case = serde_json::from_value(serde_json::json!({ "name": name })).unwrap();
            report.add(&case, outcome);
        }
        report.write(0)
    }

    #[test]
    fn cases_that_jax_refuses_are_counted_and_must_be_listed() {
        let equal = || ("sin f32 grad cpu", Outcome::At(0.0, String::new()));
        let refused = |name, why: &str| (name, Outcome::Refused(why.into()));
        let listed = || refused("clamp bf16 grad tpu", "TypeError: must have the same shapes");
        let (text, is_right) = report(vec![equal(), listed()]);
        assert!(is_right && text.contains("JAX itself cannot transform 1 cases"), "{text}");
        let all = text.lines().find(|line| line.split_whitespace().next() == Some("all")).unwrap().to_string();
        let counts: Vec<&str> = all.split_whitespace().filter(|cell| cell.parse::<usize>().is_ok()).collect();
        assert_eq!(counts, ["1", "1", "0", "0", "1"], "{text}");
        for other in
            [refused("clamp bf16 jvp tpu", "ValueError: no"), refused("sin f32 jvp cpu", "must have the same shapes")]
        {
            let (text, is_right) = report(vec![equal(), listed(), other]);
            assert!(!is_right && text.contains("JAX cannot transform it"), "{text}");
        }
    }
}
