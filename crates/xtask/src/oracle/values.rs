//! Compares the values of generated programs of one device: ours, in the interpreter and on the host engine, with those
//! of StableHLO's reference interpreter, or with XLA on the CPU if that refuses the program. Most programs have one op.

use super::judge::{self, Elements, Evaluated, Evaluation, Request};
use super::known::{self, OtherValues};
use crate::table::Table;
use crate::{command, repo, venv};
use anyhow::{Context, Result};
use shardwise_base::compare::{self, Mismatch, Tolerance, compare_one, distance, element_text, farthest};
use shardwise_base::{DType, Literal};
use shardwise_check::single::{single, tolerance};
use shardwise_check::{generate, run};
use shardwise_host::HostEngine;
use shardwise_ir::text::{PrintOptions, print};
use shardwise_ir::{Module, Type};
use shardwise_ops::Opcode;
use std::collections::BTreeMap;
use std::path::Path;

/// The number of programs in one request to JAX.
const CHUNK: usize = 100;
/// One of this many programs has several ops.
const SEVERAL: u64 = 8;
/// The number of programs from which on a run is expected to contain all known differences.
const WHOLE: u64 = 10_000;

/// A program and our results for it.
struct Subject {
    seed: u64,
    /// The op of the program, or `None` for a program of several ops.
    op: Option<Opcode>,
    text: String,
    inputs: Vec<Literal>,
    types: Vec<Type>,
    /// Our results, or why we have none, or how our engines disagree.
    ours: Result<Vec<Literal>, String>,
}

impl Subject {
    fn new(seed: u64) -> Subject {
        let (op, text, module, inputs) = if seed % SEVERAL == SEVERAL - 1 {
            let case = generate::case(seed);
            let module = shardwise_spmd::unsharded(&case.module);
            (None, print(&module, &PrintOptions::MLIR), module, case.inputs)
        } else {
            let made = single(seed);
            (Some(made.op), made.text, made.module, made.inputs)
        };
        let types = module.main().expect("made with a main").result_types.clone();
        Subject { seed, op, ours: ours(&module, &inputs), text, inputs, types }
    }

    fn name(&self) -> &'static str {
        self.op.map_or("several ops", Opcode::name)
    }

    fn tolerance(&self, dtype: DType) -> Tolerance<'static> {
        self.op.map_or(Tolerance::Exact, |op| tolerance(op, dtype))
    }

    fn evaluation(&self) -> Evaluation {
        let elements = |x: &Literal| Elements {
            dtype: x.dtype().name(),
            shape: x.shape().to_vec(),
            hex: x.to_dense().raw_bytes().iter().map(|b| format!("{b:02x}")).collect(),
        };
        Evaluation { text: self.text.clone(), inputs: self.inputs.iter().map(elements).collect() }
    }
}

fn ours(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let shown = |e: shardwise_base::Diagnostics| e.to_string();
    let interpreted = run::whole(module, inputs).map_err(shown)?;
    let local = run::partitioned(module).map_err(shown)?.module;
    let hosted = run::on(&HostEngine::default(), &local, inputs).map_err(shown)?;
    match compare::compare(&hosted, &interpreted, |_| Tolerance::Exact) {
        Err(why) => Err(format!("the host engine against the interpreter: {why}")),
        Ok(()) => Ok(interpreted),
    }
}

/// Compares `count` programs from `seed` on. A program that we cannot run counts as a difference. Returns the report,
/// and true if all differences are known and, with at least [`WHOLE`] programs, all known differences occur. Fails if
/// JAX cannot be asked, if the list of known differences cannot be read, or if the list of programs that run nowhere
/// else cannot be written.
pub fn run(count: u64, seed: u64) -> Result<(String, bool)> {
    let python = venv::ensure()?;
    let seeds: Vec<u64> = (seed..seed + count).collect();
    let subjects = command::in_parallel(&seeds, |&seed| Subject::new(seed));
    let theirs = evaluate(&python, &subjects)?;
    let differ = |i: &usize| theirs[*i].is_of("interpreter") && compare(&subjects[*i], &theirs[*i], None).is_err();
    let doubtful: Vec<usize> = (0..subjects.len()).filter(differ).collect();
    let seconds = ask(&python, &doubtful.iter().map(|&i| &subjects[i]).collect::<Vec<_>>(), "jax", CHUNK)?;
    let seconds: BTreeMap<usize, Theirs> = doubtful.into_iter().zip(seconds).collect();
    let mut report = Report { known: known::values()?, ..Report::default() };
    for (i, (subject, theirs)) in subjects.iter().zip(&theirs).enumerate() {
        report.add(subject, theirs, seconds.get(&i));
    }
    report.write(count >= WHOLE, count > 1000)
}

/// The results of another system.
enum Theirs {
    Values {
        by: &'static str,
        results: Vec<String>,
    },
    /// The program was not run, for this reason.
    None(String),
}

impl Theirs {
    fn is_of(&self, system: &str) -> bool {
        matches!(self, Theirs::Values { by, .. } if *by == system)
    }
}

fn evaluate(python: &Path, subjects: &[Subject]) -> Result<Vec<Theirs>> {
    let all: Vec<&Subject> = subjects.iter().collect();
    // Each program is asked separately, so that a crash affects only one.
    let mut found = ask(python, &all, "interpreter", 1)?;
    let refused: Vec<usize> = (0..all.len()).filter(|&i| matches!(found[i], Theirs::None(_))).collect();
    let again = ask(python, &refused.iter().map(|&i| all[i]).collect::<Vec<_>>(), "jax", CHUNK)?;
    refused.into_iter().zip(again).for_each(|(i, answer)| found[i] = answer);
    Ok(found)
}

fn ask(python: &Path, subjects: &[&Subject], system: &'static str, chunk: usize) -> Result<Vec<Theirs>> {
    let request =
        |chunk: &[&Subject]| Request::Evaluate { system, programs: chunk.iter().map(|s| s.evaluation()).collect() };
    let answers = judge::ask_about(python, subjects, chunk, &request, &|answer| answer.values)?;
    let theirs = |answer: Option<Evaluated>| match answer {
        Some(Evaluated { results: Some(results), .. }) => Theirs::Values { by: system, results },
        Some(Evaluated { reason, .. }) => Theirs::None(reason),
        None => Theirs::None("it dies".into()),
    };
    Ok(answers.into_iter().map(theirs).collect())
}

/// The outcomes of the programs of an op.
#[derive(Default)]
struct Row {
    programs: usize,
    interpreted: usize,
    compiled: usize,
    different: usize,
    /// The largest distance, in the ulps that `tolerance` counts, or 0 if that is `None`. Results with a distance that
    /// cannot be counted are left out.
    worst: u64,
    tolerance: Option<Tolerance<'static>>,
}

#[derive(Default)]
struct Report {
    known: Vec<OtherValues>,
    rows: BTreeMap<&'static str, Row>,
    /// The number of programs that differ as a listed entry says, by the index of the entry.
    met: BTreeMap<usize, usize>,
    wrong: Vec<String>,
    unknown: Vec<String>,
}

impl Report {
    /// Adds a program, and reports it if our results differ from `theirs` or if we have none. `second` is JAX's answer
    /// if the interpreter's differs from ours. If it agrees with us and the op is listed as known, the difference only
    /// counts for that entry.
    fn add(&mut self, subject: &Subject, theirs: &Theirs, second: Option<&Theirs>) {
        let row = self.rows.entry(subject.name()).or_default();
        row.programs += 1;
        row.interpreted += usize::from(theirs.is_of("interpreter"));
        row.compiled += usize::from(theirs.is_of("jax"));
        if let Theirs::None(reason) = theirs {
            self.unknown.push(format!("seed {}, `{}`: {reason}", subject.seed, subject.name()));
        }
        let Err(reason) = compare(subject, theirs, Some(&mut *row)) else { return };
        let agrees = second.is_some_and(|s| s.is_of("jax") && compare(subject, s, None).is_ok());
        let entry = self.known.iter().position(|k| k.op == subject.name());
        match entry.filter(|_| agrees) {
            Some(i) => *self.met.entry(i).or_default() += 1,
            None => {
                row.different += 1;
                let who = match theirs {
                    Theirs::Values { by, .. } if agrees => format!("{by}; JAX agrees with us"),
                    Theirs::Values { by, .. } => by.to_string(),
                    Theirs::None(_) => "by ourselves".into(),
                };
                let place = format!("seed {}, `{}` ({who})", subject.seed, subject.name());
                self.wrong.push(format!("{place}: {}", reason.lines().next().unwrap_or("")));
            }
        }
    }

    fn write(self, is_whole: bool, shows_rows: bool) -> Result<(String, bool)> {
        let mut table = Table::new(["", "programs", "interpreter", "jax", "different", "worst", "allowed"]);
        let mut all = Row::default();
        for (name, row) in &self.rows {
            all.programs += row.programs;
            all.interpreted += row.interpreted;
            all.compiled += row.compiled;
            all.different += row.different;
            if shows_rows {
                table.row(row.cells(name));
            }
        }
        table.row(all.cells("all"));
        let mut text = format!("values of generated programs\n\n{table}\n");
        for (i, count) in &self.met {
            text += &format!("known: `{}`, {count} times: {}\n", self.known[*i].op, self.known[*i].reason);
        }
        let stale = (0..self.known.len()).filter(|i| is_whole && !self.met.contains_key(i));
        let stale =
            stale.map(|i| format!("`{}`: no difference any more; remove it from oracle/known.toml", self.known[i].op));
        let wrong: Vec<String> = self.wrong.into_iter().chain(stale).collect();
        wrong.iter().for_each(|line| text += &format!("{line}\n"));
        let file = repo::target_dir("oracle")?.join("values_unknown.txt");
        shardwise_base::file::write(&file, self.unknown.join("\n"))
            .context("cannot write the programs that run nowhere else")?;
        text += &format!("{} programs run nowhere else ({})\n", self.unknown.len(), repo::shown(&file));
        Ok((text, wrong.is_empty()))
    }
}

impl Row {
    fn cells(&self, name: &str) -> [String; 7] {
        let counts = [self.programs, self.interpreted, self.compiled, self.different].map(|n| n.to_string());
        let [programs, interpreted, compiled, different] = counts;
        let (worst, allowed) = match self.tolerance {
            Some(Tolerance::FlushedUlps(n)) => (self.worst.to_string(), format!("{n} ulps")),
            Some(Tolerance::OfLargestOrOne(n)) => (self.worst.to_string(), format!("{n} ulps of the largest or 1")),
            Some(Tolerance::OfLargest(n)) => (self.worst.to_string(), format!("{n} ulps of the largest")),
            _ => (String::new(), String::new()),
        };
        [name.to_string(), programs, interpreted, compiled, different, worst, allowed]
    }
}

/// Compares our values with theirs, if there are any. The row records the distance. Returns the difference as an error,
/// or the reason why we have no values.
fn compare(subject: &Subject, theirs: &Theirs, mut row: Option<&mut Row>) -> Result<(), String> {
    let ours = subject.ours.as_ref().map_err(String::clone)?;
    let Theirs::Values { results, .. } = theirs else { return Ok(()) };
    if ours.len() != results.len() || ours.len() != subject.types.len() {
        return Err(Mismatch::Count { got: ours.len(), want: results.len() }.to_string());
    }
    for (i, ((ours, hex), ty)) in ours.iter().zip(results).zip(&subject.types).enumerate() {
        let t = ty.as_tensor().expect("results are arrays");
        let theirs = Literal::from_bytes(t.dtype, &t.shape, &judge::bytes(hex)?).map_err(|e| e.to_string())?;
        let allowed = subject.tolerance(t.dtype);
        let why = compare_one(i, ours, &theirs, allowed).err();
        if let Some(Mismatch::Type { .. }) = why {
            return Err(why.expect("matched").to_string());
        }
        if let Some(row) = row.as_mut().filter(|_| allowed.limit() > 0) {
            row.tolerance = Some(allowed);
            row.worst = row.worst.max(distance(allowed, ours, &theirs).unwrap_or(0));
        }
        if let Some(why) = why {
            return Err(format!("{why}, of {}", shown_inputs(subject, ours, farthest(allowed, ours, &theirs))));
        }
    }
    Ok(())
}

/// Formats the inputs. Of an input with the shape of the result, formats only the element at `position`.
fn shown_inputs(subject: &Subject, result: &Literal, position: usize) -> String {
    let shown = |x: &Literal| match x.shape() == result.shape() {
        true => element_text(x, position),
        false => format!("{x:?}"),
    };
    subject.inputs.iter().map(shown).collect::<Vec<_>>().join(", ")
}
