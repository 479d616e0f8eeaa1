//! Python's side: the programs and XLA's code for them, kept under `target/communication` until a script changes.

use crate::{command, repo, venv};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An exported program.
pub struct Exported {
    pub family: String,
    pub name: String,
    /// The path of the program's files, without the extension.
    stem: PathBuf,
}

impl Exported {
    pub fn label(&self) -> String {
        format!("{}/{}", self.family, self.name)
    }

    /// Returns the path of the program.
    pub fn program(&self) -> PathBuf {
        self.stem.with_extension("mlir")
    }

    /// Returns the text that XLA compiled the program to, or `None` if XLA could not. Fails if the file cannot be read.
    pub fn hlo(&self) -> Result<Option<String>> {
        let path = self.stem.with_extension("hlo");
        if !path.exists() {
            return Ok(None);
        }
        std::fs::read_to_string(&path).map(Some).with_context(|| format!("cannot read {}", repo::shown(&path)))
    }
}

/// Which programs are exported.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    /// The first program of each family.
    Sample,
}

/// The scripts that all families use.
const SHARED: [&str; 4] = ["communication.py", "traffic/__init__.py", "harness.py", "requirements.txt"];

/// Returns the programs that `extent` selects in all families, with sizes drawn from `seed`, after an export of the
/// families whose scripts have changed or that were not exported yet. If `is_offline`, what was exported before is used
/// as it is, and families without a folder have no programs. Fails if an export does, if a file or folder cannot be
/// read or written, or if there are no programs.
pub fn ensure_exported(seed: u64, extent: Extent, is_offline: bool) -> Result<Vec<Exported>> {
    let part = if extent == Extent::Sample { "-sample" } else { "" };
    let folder = repo::target_dir(&format!("communication/seed{seed}{part}"))?;
    let shared: Vec<String> = SHARED.iter().map(|s| script(s)).collect::<Result<_>>()?;
    let families = families()?;
    let stamp = |family: &str| folder.join(family).with_extension("stamp");
    let wanted =
        |family: &str| Ok::<String, anyhow::Error>(shared.concat() + &script(&format!("traffic/{family}.py"))?);
    let mut stale = vec![];
    for family in &families {
        let is_current =
            std::fs::read_to_string(stamp(family)).is_ok_and(|have| wanted(family).is_ok_and(|w| w == have));
        if !is_current {
            stale.push(family.clone());
        }
    }
    if !is_offline && !stale.is_empty() {
        export(&venv::ensure()?, seed, extent, &stale, &folder)?;
        for family in &stale {
            shardwise_base::file::write(&stamp(family), wanted(family)?).context("cannot write a stamp")?;
        }
    }
    let mut exported = vec![];
    for family in &families {
        exported.extend(load(&folder, family)?);
    }
    ensure!(!exported.is_empty(), "no programs in {}", repo::shown(&folder));
    Ok(exported)
}

fn families() -> Result<BTreeSet<String>> {
    let is_family = |f: &&PathBuf| f.starts_with("oracle/traffic") && !f.ends_with("__init__.py");
    let name = |f: &PathBuf| f.file_stem().map(|s| s.to_string_lossy().into_owned());
    Ok(repo::files()?.iter().filter(is_family).filter_map(name).collect())
}

fn script(name: &str) -> Result<String> {
    repo::read(format!("oracle/{name}").as_ref())
}

fn export(python: &Path, seed: u64, extent: Extent, families: &[String], folder: &Path) -> Result<()> {
    eprintln!("exporting {} (about a second for three programs)", families.join(", "));
    for family in families {
        let old = folder.join(family);
        if old.exists() {
            std::fs::remove_dir_all(&old).with_context(|| format!("cannot clear {}", repo::shown(&old)))?;
        }
    }
    let mut script = venv::script(python, "communication.py");
    script.args(["--seed", &seed.to_string(), "--out"]).arg(folder);
    families.iter().for_each(|family| _ = script.args(["--family", family]));
    if extent == Extent::Sample {
        script.arg("--sample");
    }
    command::run_shown(script)
}

fn load(folder: &Path, family: &str) -> Result<Vec<Exported>> {
    let folder = folder.join(family);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(vec![]) };
    let mut found = vec![];
    for entry in entries {
        let path = entry?.path();
        let name = repo::stem(&path);
        if path.extension().is_some_and(|e| e == "mlir") {
            found.push(Exported { family: family.into(), name, stem: path.with_extension("") });
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
