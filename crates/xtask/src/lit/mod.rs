//! Runs MLIR's kind of test files through our command and through jaxlib.
//!
//! `cargo xtask lit DIR` reads every `.mlir` file of a folder (for example, a copy of Shardy's tests), translates its
//! RUN lines (`sdy_opt` becomes `shardwise opt`) and checks the output with PyPI's `filecheck`. The functions of a file
//! are counted: a function passes if the program that contains it passes, or if it passes alone. A function that does
//! not pass must be listed in `known.toml` with its reason, and listed functions must not pass. jaxlib, which has an
//! older Shardy, is given the same requests for comparison.

mod cases;
mod known;
mod report;

use crate::oracle::judge::{self, Request};
use crate::{command, repo, venv};
use anyhow::{Context, Result, ensure};
use cases::{Run, cases, runs};
use report::report;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Run a folder of MLIR's kind of test files.
#[derive(clap::Args)]
pub struct Options {
    /// The folder, which is read recursively
    dir: PathBuf,
    /// Run only files whose paths contain this
    #[arg(long, default_value = "")]
    only: String,
    /// The command to test, in place of a new build
    #[arg(long)]
    command: Option<PathBuf>,
    /// Also list the known failures with their reasons
    #[arg(long)]
    failures: bool,
}

/// The time limit for one call of our command.
const LIMIT: Duration = Duration::from_secs(20);

/// Runs the `.mlir` files that the options select. Returns the report, and true if no other functions fail than the
/// known ones, and none of these passes. Fails if no file is selected, if a file cannot be read or written, or if our
/// command or the judges cannot be built or run.
pub fn run(options: &Options) -> Result<(String, bool)> {
    let python = venv::ensure()?;
    let command = options.command.clone().map_or_else(command::build_ours_with_shardy, Ok)?;
    let mut files = vec![];
    collect(&options.dir, &mut files)?;
    files.retain(|f| f.display().to_string().contains(&options.only));
    files.sort();
    ensure!(!files.is_empty(), "{} has no .mlir file whose path contains `{}`", options.dir.display(), options.only);
    let work = repo::target_dir("lit")?;
    let mut asked = vec![];
    let mut skipped = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let (runs, others) = runs(&text);
        skipped += others;
        for run in runs {
            let name = file.strip_prefix(&options.dir).unwrap_or(file).display().to_string();
            asked.push(Asked::new(asked.len(), (name, file.clone()), &text, run, &work)?);
        }
    }
    let texts: Vec<(&Run, &PathBuf)> = asked.iter().flat_map(|a| a.texts.iter().map(|t| (&a.run, t))).collect();
    let made = command::in_parallel(&texts, |(run, text)| ours(&command, run, text));
    let mut theirs = Remembered::read(&work, venv::requirements()?);
    let mut asked_of_jaxlib = BTreeSet::new();
    let mut requests = vec![];
    for ((run, text), made) in texts.iter().zip(&made) {
        let request = |output: Option<PathBuf>| Request::Lit {
            file: (*text).clone(),
            passes: run.passes.join(","),
            prefixes: run.prefixes.clone(),
            output,
        };
        let key = key(run, text)?;
        if !theirs.answers.contains_key(&key) && asked_of_jaxlib.insert(key) {
            requests.push(request(None));
        }
        requests.extend(made.as_ref().ok().cloned().map(|output| request(Some(output))));
    }
    let mut answers = judge::ask(&python, &requests, &[])?.into_iter();
    let mut verdicts = vec![];
    for ((run, text), made) in texts.iter().zip(made) {
        let key = key(run, text)?;
        if !theirs.answers.contains_key(&key) {
            let answer = answers.next().context("an answer to each request")?;
            theirs.answers.insert(key.clone(), answer.ok);
        }
        let ours = match made {
            Ok(_) => answers.next().context("an answer to each request")?,
            Err(reason) => judge::Response::failed(reason),
        };
        verdicts.push(Both { ours, theirs: theirs.answers[&key] });
    }
    theirs.write(&work)?;
    Ok(report(&asked, verdicts, &known::read()?, skipped, options.failures))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "mlir") {
            files.push(path);
        }
    }
    Ok(())
}

/// A RUN line of a file. The texts to check are its programs, followed by its cases that are not whole programs.
struct Asked {
    /// The path relative to the given folder.
    name: String,
    file: PathBuf,
    run: Run,
    /// The name of each case, numbered if it is not the file's first of that name, and its texts, one of which must
    /// pass.
    cases: Vec<(String, Vec<usize>)>,
    texts: Vec<PathBuf>,
}

impl Asked {
    fn new(number: usize, (name, file): (String, PathBuf), text: &str, run: Run, work: &Path) -> Result<Asked> {
        let (programs, found) = cases(text, run.splits);
        let mut asked = Asked { name, file, run, cases: vec![], texts: vec![] };
        for program in &programs {
            asked.add(number, program, work)?;
        }
        let mut seen = BTreeMap::<String, usize>::new();
        for case in found {
            let mut any = vec![case.program];
            if !case.is_whole {
                any.push(asked.texts.len());
                asked.add(number, &case.text, work)?;
            }
            let count = seen.entry(case.name.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { case.name } else { format!("{}#{count}", case.name) };
            asked.cases.push((name, any));
        }
        Ok(asked)
    }

    fn add(&mut self, number: usize, text: &str, work: &Path) -> Result<()> {
        let path = work.join(format!("{number}_{}.mlir", self.texts.len()));
        shardwise_base::file::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        self.texts.push(path);
        Ok(())
    }
}

/// Runs the passes of a RUN line on a file. Returns the file with our output, or the reason why there is none as an
/// error.
fn ours(shardwise: &Path, run: &Run, text: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(shardwise);
    command.arg("opt").arg(text);
    for pass in &run.passes {
        command.arg("--pass").arg(pass);
    }
    let outcome = command::run(command, "", LIMIT).map_err(|e| e.to_string())?;
    if !outcome.is_success() {
        return Err(outcome.reason());
    }
    let output = text.with_extension("out");
    shardwise_base::file::write(&output, outcome.stdout).map_err(|e| e.to_string())?;
    Ok(output)
}

struct Both {
    ours: judge::Response,
    theirs: bool,
}

/// The answers of jaxlib, which do not change between runs of one environment.
#[derive(serde::Serialize, serde::Deserialize)]
struct Remembered {
    /// The packages of the environment with their versions.
    requirements: String,
    answers: BTreeMap<String, bool>,
}

impl Remembered {
    const FILE: &str = "jaxlib.json";

    /// Returns the answers that were kept, or none if they cannot be read or are of an environment with other
    /// requirements.
    fn read(work: &Path, requirements: String) -> Remembered {
        let text = std::fs::read_to_string(work.join(Remembered::FILE)).unwrap_or_default();
        match serde_json::from_str::<Remembered>(&text) {
            Ok(kept) if kept.requirements == requirements => kept,
            _ => Remembered { requirements, answers: BTreeMap::new() },
        }
    }

    fn write(&self, work: &Path) -> Result<()> {
        let text = serde_json::to_string(self)?;
        shardwise_base::file::write(&work.join(Remembered::FILE), text).context("cannot keep jaxlib's answers")
    }
}

fn key(run: &Run, text: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    (std::fs::read_to_string(text)?, &run.passes, &run.prefixes).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_another_environment_are_not_kept() {
        let folder = std::env::temp_dir().join(format!("shardwise-lit-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let answers = BTreeMap::from([("0".to_string(), true)]);
        Remembered { requirements: "jaxlib==1".into(), answers: answers.clone() }.write(&folder).unwrap();
        let [same, other] = ["jaxlib==1", "jaxlib==2"].map(|text| Remembered::read(&folder, text.into()));
        std::fs::write(folder.join(Remembered::FILE), r#"{"answers": {"0": true}}"#).unwrap();
        let unknown = Remembered::read(&folder, "jaxlib==1".into());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(same.answers, answers);
        assert!(other.answers.is_empty() && unknown.answers.is_empty());
        assert_eq!(other.requirements, "jaxlib==2");
    }
}
