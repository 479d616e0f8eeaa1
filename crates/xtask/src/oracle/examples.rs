//! Compares the chapter's examples on eight devices with their twins in JAX, `oracle/chapter.py`.

use crate::{command, repo, venv};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The chapter's code and problems, each of which has a twin. The other examples have none: `overhead` and the `u` ones
/// show features that JAX does not have, the block of `transformer_block` is compared with JAX's in
/// `testdata/transformer`, and the losses of `t1_train_transformer` with those in `testdata/training.txt`.
pub const ALL: [&str; 12] = [
    "c01_auto_matmul",
    "c02_constraint",
    "c03_explicit_types",
    "c04_explicit_einsum",
    "c05_slice_and_average",
    "c06_collective_matmul",
    "p1_1_average",
    "p1_2_shift",
    "p2_1_moe_local",
    "p2_3_moe_sharded",
    "p3_transformer_block",
    "p4_bidirectional",
];
/// The examples that run quickly.
pub const QUICK: [&str; 1] = ["c05_slice_and_average"];

/// The time limit for one example, and for all twins.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the examples and compares their values. Returns a line for each, and true if all are equal up to rounding.
///
/// # Errors
/// Fails if an example cannot be built or fails, if its folder cannot be cleared, or if Python cannot be started.
pub fn run(python: &Path, names: &[&str]) -> Result<(String, bool)> {
    let folder = repo::target_dir("oracle/examples")?;
    let built = command::build_examples(names)?;
    for name in names {
        let values = folder.join(name);
        if values.exists() {
            std::fs::remove_dir_all(&values).with_context(|| format!("cannot clear {}", repo::shown(&values)))?;
        }
        std::fs::create_dir_all(&values).with_context(|| format!("cannot make {}", repo::shown(&values)))?;
        let mut example = Command::new(built.join(name));
        example.args(["--devices", "8", "--dump"]).arg(&values);
        let outcome = command::run(example, "", LIMIT)?;
        ensure!(outcome.is_success(), "example {name}: {}", outcome.reason());
    }
    let mut twins = venv::script(python, "chapter.py");
    twins.arg(&folder).args(names);
    let outcome = command::run(twins, "", LIMIT)?;
    let is_equal = outcome.is_success();
    let why = if is_equal { String::new() } else { format!("{}\n", outcome.reason()) };
    Ok((outcome.stdout + &why, is_equal))
}
