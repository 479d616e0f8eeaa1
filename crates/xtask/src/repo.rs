//! The root of the repository, and its list of files.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the repository. Commands run there, and printed paths are relative to it.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("this crate is in crates/xtask").to_path_buf()
}

/// Returns a folder under `target/`. Creates it if it does not exist. Fails if it cannot be created.
pub fn target_dir(name: &str) -> Result<PathBuf> {
    let dir = root().join("target").join(name);
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}

/// Formats a path: relative to the root if it is inside.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Returns the repository's files that exist, also those that are not tracked, but not ignored ones. They are relative
/// to the root and sorted. Fails if git does, or if a name is not UTF-8.
pub fn files() -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let out = git.output().context("cannot run git")?;
    ensure!(out.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&out.stderr));
    let listed = String::from_utf8(out.stdout).context("a file name is not UTF-8")?;
    let mut files: Vec<PathBuf> = listed.lines().map(PathBuf::from).filter(|f| root().join(f).is_file()).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the day of the last commit: `2026-01-31`. Fails if git does.
pub fn last_date() -> Result<String> {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%cs"]).current_dir(root());
    let out = git.output().context("cannot run git")?;
    ensure!(out.status.success(), "git log failed: {}", String::from_utf8_lossy(&out.stderr));
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_string())
}

/// Returns the paths of the Rust files under `crates/`, relative to the root, with their contents. Fails if a file
/// cannot be read.
pub fn rust_sources() -> Result<Vec<(String, String)>> {
    let is_rust = |file: &PathBuf| file.starts_with("crates") && file.extension().is_some_and(|e| e == "rs");
    files()?.into_iter().filter(is_rust).map(|file| Ok((file.display().to_string(), read(&file)?))).collect()
}

/// Returns the text of a file. The path is relative to the root. Fails if it cannot be read, or is not UTF-8.
pub fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {}", shown(file)))
}
