//! Compares our passes with Shardy's on generated modules: rules, propagation, explicit reshards, collectives.
//!
//! Each module comes from a seed, which is reported with a difference. Our output and jaxlib's are compared as modules,
//! so that differences in their texts do not matter.

use super::judge::{self, Request};
use crate::table::Table;
use crate::{command, repo, venv};
use anyhow::{Context, Result};
use shardwise_base::Sharding;
use shardwise_check::choose::Chooser;
use shardwise_check::generate;
use shardwise_ir::Module;
use shardwise_ir::text::{PrintOptions, print};
use shardwise_shardy::run_passes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The comparisons: a name, and passes that run one after the other.
const SUBJECTS: [(&str, &str); 8] = [
    ("rules", "sdy-populate-op-sharding-rules"),
    ("basic propagation", "sdy-basic-propagate"),
    ("aggressive propagation", "sdy-aggressive-propagate"),
    ("op-priority propagation", "sdy-op-priority-propagate"),
    ("user-priority propagation", "sdy-user-priority-propagate"),
    ("explicit reshards as written", "sdy-close-shardings,sdy-insert-explicit-reshards{enable-full-version=true}"),
    ("explicit reshards after propagation", PROPAGATED),
    ("collectives", COLLECTIVES),
];

const PROPAGATED: &str = "sdy-user-priority-propagate,sdy-sharding-constraint-to-reshard,sdy-close-shardings,\
                          sdy-insert-explicit-reshards{enable-full-version=true}";
const COLLECTIVES: &str = "sdy-user-priority-propagate,sdy-sharding-constraint-to-reshard,sdy-close-shardings,\
                           sdy-insert-explicit-reshards{enable-full-version=true},sdy-reshard-to-collectives";

/// The number of modules in one request.
const CHUNK: usize = 100;

/// Compares `count` modules from `seed` on. Returns the report, and true if no output differs from jaxlib's. Modules
/// that jaxlib refuses do not count. `count` must not be 0. Fails if jaxlib cannot be asked, or if a file cannot be
/// written.
pub fn run(count: u64, seed: u64) -> Result<(String, bool)> {
    let python = venv::ensure()?;
    let folder = repo::target_dir("oracle/modules")?;
    let seeds: Vec<u64> = (seed..seed + count).collect();
    let made = command::in_parallel(&seeds, |&seed| write_case(seed, &folder));
    let made: Vec<Vec<Made>> = made.into_iter().collect::<Result<_>>()?;
    let mut table = Table::new(["", "modules", "Shardy cannot", "equal", "different", "%"]);
    let (mut differences, mut is_good) = (String::new(), true);
    for (subject, (name, passes)) in SUBJECTS.iter().enumerate() {
        let mut counts = Counts::default();
        let pairs: Vec<&Made> = made.iter().map(|m| &m[subject]).collect();
        for (made, verdict) in pairs.iter().zip(ask(&python, &pairs, passes)?) {
            counts.add(&verdict);
            if let Verdict::Different(reason) = verdict {
                differences.push_str(&format!("{name}, seed {}: {reason}\n", made.seed));
            }
        }
        is_good &= counts.different == 0;
        table.row(counts.row(name));
    }
    let out = repo::shown(&folder.join("differences.txt"));
    shardwise_base::file::write(&folder.join("differences.txt"), &differences)
        .context("cannot write the differences")?;
    let note = if is_good { String::new() } else { format!("\nthe differences are in {out}\n") };
    Ok((format!("seeds {seed} to {}\n\n{table}{note}", seed + count - 1), is_good))
}

/// A module on disk, and the output of a list of passes for it, or the text of an error.
struct Made {
    seed: u64,
    input: PathBuf,
    output: Result<PathBuf, String>,
}

fn write_case(seed: u64, folder: &Path) -> Result<Vec<Made>> {
    let module = with_priorities(without_dead_ops(&generate::case(seed).module), seed);
    let write = |name: String, module: &Module| -> Result<PathBuf> {
        let path = folder.join(name);
        shardwise_base::file::write(&path, print(module, &PrintOptions::MLIR)).context("cannot write a module")?;
        Ok(path)
    };
    let input = write(format!("{seed}.mlir"), &module)?;
    let make = |(i, (_, passes)): (usize, &(&str, &str))| -> Result<Made> {
        let names: Vec<&str> = passes.split(',').collect();
        let output = match run_passes(&names, &module) {
            Ok(out) => Ok(write(format!("{seed}.{i}.mlir"), &out)?),
            Err(found) => Err(found.to_string()),
        };
        Ok(Made { seed, input: input.clone(), output })
    };
    SUBJECTS.iter().enumerate().map(make).collect()
}

/// Returns the module without unused ops: those directly in a function's body that have results, none of which is used
/// by an op that stays. In MLIR's driver they take part until they are removed, and in ours they never do.
fn without_dead_ops(module: &Module) -> Module {
    let mut out = module.clone();
    for func in &mut out.funcs {
        let entry = func.body.entry();
        let ops = func.body[entry].ops.clone();
        let mut needed = BTreeSet::new();
        let mut kept = vec![];
        for &op in ops.iter().rev() {
            let data = &func.body[op];
            if data.results.is_empty() || data.results.iter().any(|v| needed.contains(&v.index())) {
                let inner = data.regions.iter().flat_map(|&r| {
                    let mut all = vec![];
                    func.body.walk_region(r, &mut all);
                    all
                });
                needed.extend(inner.chain([op]).flat_map(|op| func.body[op].operands.to_vec()).map(|v| v.index()));
                kept.push(op);
            }
        }
        kept.reverse();
        func.body.region_mut(entry).ops = kept;
    }
    out
}

/// Returns the module with priorities on some dimensions of arguments and results, and some explicitly replicated axes.
/// For about half of the seeds, the module stays as it is.
fn with_priorities(mut module: Module, seed: u64) -> Module {
    let mut choose = Chooser::new(seed ^ 0x5eed);
    if choose.one_in(2) {
        return module;
    }
    let mut amend = |sharding: &mut Sharding| {
        for dim in &mut sharding.dims {
            if choose.one_in(3) && (dim.is_open || !dim.axes.is_empty()) {
                dim.priority = Some(choose.below(3) as u32);
            }
        }
        let used: Vec<_> = sharding.split_axes().collect();
        let mesh = sharding.mesh.clone();
        let free = mesh.all_axes().filter(|a| !used.iter().any(|u| u.overlaps(*a)));
        sharding.replicated = free.filter(|_| choose.one_in(6)).collect();
    };
    for func in &mut module.funcs {
        for v in func.body.args().to_vec() {
            func.body.value_mut(v).sharding.iter_mut().for_each(&mut amend);
        }
        func.result_shardings.iter_mut().flatten().for_each(&mut amend);
    }
    module
}

enum Verdict {
    Equal,
    /// jaxlib refuses the module, crashes on it or takes too long, or its passes fail.
    Unknown,
    Different(String),
}

fn ask(python: &Path, made: &[&Made], passes: &str) -> Result<Vec<Verdict>> {
    let request = |chunk: &[&Made]| Request::Passes {
        passes: passes.to_string(),
        files: chunk.iter().map(|m| (m.input.clone(), m.output.as_ref().ok().cloned())).collect(),
    };
    let told = judge::ask_about(python, made, CHUNK, &request, &|answer| answer.verdicts)?;
    let pairs = made.iter().zip(told);
    Ok(pairs.map(|(made, told)| told.map_or(Verdict::Unknown, |told| verdict(made, &told))).collect())
}

fn verdict(made: &Made, told: &str) -> Verdict {
    match (told, &made.output) {
        ("unknown", _) => Verdict::Unknown,
        (_, Err(reason)) => Verdict::Different(reason.lines().next().unwrap_or("").to_string()),
        ("equal", Ok(_)) => Verdict::Equal,
        (other, Ok(_)) => Verdict::Different(other.to_string()),
    }
}

#[derive(Default)]
struct Counts {
    unknown: usize,
    equal: usize,
    different: usize,
}

impl Counts {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Equal => self.equal += 1,
            Verdict::Unknown => self.unknown += 1,
            Verdict::Different(_) => self.different += 1,
        }
    }

    fn row(&self, name: &str) -> [String; 6] {
        let compared = self.equal + self.different;
        let rate = 100.0 * self.equal as f64 / compared.max(1) as f64;
        let total = compared + self.unknown;
        let numbers = [total, self.unknown, self.equal, self.different].map(|n| n.to_string());
        let [total, unknown, equal, different] = numbers;
        [name.to_string(), total, unknown, equal, different, format!("{rate:.2}")]
    }
}
