//! Compares our files of tensors with Python's `safetensors` and numpy, in both directions (`oracle/checkpoints.py`).

use crate::{command, repo, venv};
use anyhow::{Context, Result};
use shardwise::{Array, Mesh, P, checkpoint, npz, safetensors, tree};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(300);

/// Reads a file that Python writes, writes its tensors in all of our ways, and has Python compare them. Returns the
/// output of the comparison, and true if they are equal.
///
/// # Errors
/// Fails if the folder cannot be cleared, if a script cannot be started, if Python cannot write its file, or if our
/// library fails.
pub fn run(python: &Path) -> Result<(String, bool)> {
    let folder = repo::target_dir("oracle/checkpoints")?;
    std::fs::remove_dir_all(&folder).and_then(|()| std::fs::create_dir(&folder)).context("cannot clear the folder")?;
    let script = |action: &str| {
        let mut script = venv::script(python, "checkpoints.py");
        script.arg(action).arg(&folder);
        command::run(script, "", LIMIT)
    };
    let written = script("write")?;
    anyhow::ensure!(written.is_success(), "checkpoints.py write: {}", written.reason());
    write(&folder)?;
    let compared = script("check")?;
    let why = if compared.is_success() { String::new() } else { format!("{}\n", compared.reason()) };
    let is_equal = compared.is_success();
    Ok((compared.stdout + &why, is_equal))
}

fn write(folder: &Path) -> shardwise::Result<()> {
    let all = safetensors::load_all(folder.join("theirs.safetensors"))?;
    safetensors::save(&all, folder.join("ours.safetensors"))?;
    npz::save(&all, folder.join("ours.npz"))?;
    let mesh = Mesh::auto([("x", 2), ("y", 4)])?;
    let split = |x: &Array| if x.rank() == 2 { x.shard(mesh.sharding(P!("x", "y"))) } else { x.clone() };
    let split: BTreeMap<String, Array> = tree::map(&all, split);
    checkpoint::Options::default().max_shard_size(1000).save(&split, folder.join("ours"))
}
