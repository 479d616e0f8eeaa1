//! The Python environment of the oracle, under `target/`. It is created once, and again when its requirements change.

use crate::{command, repo};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUIREMENTS: &str = "oracle/requirements.txt";

/// Returns the environment's interpreter. If there is no environment, or if its requirements have changed, it is
/// created with the interpreter in the variable `PYTHON`, or with `python3`. Fails if its requirements cannot be read
/// or it cannot be created.
pub fn ensure() -> Result<PathBuf> {
    let dir = repo::root().join("target/oracle-venv");
    let (python, stamp) = (dir.join("bin/python"), dir.join("requirements.txt"));
    let wanted = requirements()?;
    let is_current = python.exists() && std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted);
    if !is_current {
        eprintln!("making {} from {REQUIREMENTS}", repo::shown(&dir));
        make(&dir, &python)?;
        shardwise_base::file::write(&stamp, wanted).context("cannot write the environment's stamp")?;
    }
    Ok(python)
}

/// Returns the packages of the environment with their versions, one a line. Fails if the list cannot be read.
pub fn requirements() -> Result<String> {
    repo::read(REQUIREMENTS.as_ref())
}

fn make(dir: &Path, python: &Path) -> Result<()> {
    let base = std::env::var("PYTHON").unwrap_or("python3".into());
    let mut venv = Command::new(&base);
    venv.args(["-m", "venv"]).arg(dir);
    command::run_shown(venv)
        .with_context(|| format!("`{base} -m venv` must work (3.11 or newer); set PYTHON to another interpreter"))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]);
    command::run_shown(in_root(pip))
}

/// Returns the command for a script of `oracle/`, which runs in the root of the repository.
pub fn script(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.arg(format!("oracle/{name}"));
    in_root(command)
}

/// Returns the command for a Python module, which runs in the root of the repository.
pub fn module(python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", name]);
    in_root(command)
}

fn in_root(mut command: Command) -> Command {
    command.current_dir(repo::root());
    command
}
