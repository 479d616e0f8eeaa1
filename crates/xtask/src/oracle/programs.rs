//! The corpus: folders of exported programs.

use crate::{command, repo, venv};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// An exported program. Its files differ in their extensions.
pub struct Program {
    /// The name, as `family/name`.
    pub label: String,
    stem: PathBuf,
}

impl Program {
    pub fn family(&self) -> &str {
        self.label.split('/').next().unwrap_or(&self.label)
    }

    /// Returns the file with this extension, which includes the dot.
    pub fn file(&self, extension: &str) -> PathBuf {
        with_extension(&self.stem, extension)
    }

    /// Returns the path of a file made from this program, below `folder`.
    pub fn file_in(&self, folder: &Path, extension: &str) -> PathBuf {
        with_extension(&folder.join(&self.label), extension)
    }
}

fn with_extension(stem: &Path, extension: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(extension);
    path.into()
}

/// Returns the programs below a folder, sorted by name. Those directly in the folder, or in one below it, form a family
/// with the name of that folder. A program is a file `NAME.mlir` whose name has no other dot. Fails if a folder cannot
/// be read.
pub fn load(folder: &Path) -> Result<Vec<Program>> {
    let own = folder.file_name().map_or("", |n| n.to_str().unwrap_or("")).to_string();
    let mut found = vec![];
    load_into(folder, &own, &mut found).with_context(|| format!("cannot read {}", repo::shown(folder)))?;
    found.sort_by(|a, b| a.label.cmp(&b.label));
    Ok(found)
}

fn load_into(folder: &Path, family: &str, found: &mut Vec<Program>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map_or("".into(), |n| n.to_string_lossy().into_owned());
        if path.is_dir() {
            load_into(&path, &name, found)?;
        } else if let Some(stem) = name.strip_suffix(".mlir")
            && !stem.contains('.')
        {
            found.push(Program { label: format!("{family}/{stem}"), stem: folder.join(stem) });
        }
    }
    Ok(())
}

/// Returns the folder of the whole corpus. Exports it if the scripts have changed since the last export, or if there
/// was none. Fails if the export does, or if a file cannot be read or written.
pub fn export(python: &Path) -> Result<PathBuf> {
    let folder = repo::target_dir("oracle/corpus")?;
    let (stamp, wanted) = (folder.join("stamp"), scripts()?);
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(folder);
    }
    eprintln!("exporting the corpus to {} (minutes)", repo::shown(&folder));
    let mut corpus = venv::script(python, "corpus.py");
    corpus.arg("--out").arg(&folder);
    command::run_shown(corpus)?;
    shardwise_base::file::write(&stamp, wanted)?;
    Ok(folder)
}

fn scripts() -> Result<String> {
    let files = repo::files()?.into_iter().filter(|f| {
        let is_input = f.starts_with("oracle/programs") || f.ends_with("harness.py") || f.ends_with("shardy.py");
        is_input || f.ends_with("corpus.py") || f.ends_with("requirements.txt")
    });
    files.map(|f| repo::read(&f)).collect()
}
