//! The root of the repository, and its list of files.

use anyhow::{Context, Result, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the root of the repository. Commands run there, and printed paths are relative to it.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("this crate is in crates/xtask").to_path_buf()
}

/// Returns the folder in which cargo builds if it runs in the root: the one in the variable `CARGO_TARGET_DIR`, or else
/// `target`. If it is relative, it is in the root.
pub fn target() -> PathBuf {
    target_of(std::env::var_os("CARGO_TARGET_DIR"))
}

fn target_of(variable: Option<OsString>) -> PathBuf {
    root().join(variable.unwrap_or_else(|| "target".into()))
}

/// Returns a folder under `target/` in the root, whatever [`target`] is. Creates it if it does not exist. Fails if it
/// cannot be created.
pub fn target_dir(name: &str) -> Result<PathBuf> {
    let dir = root().join("target").join(name);
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    Ok(dir)
}

/// Formats a path: relative to the root if it is inside.
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Returns the repository's files that exist: those that are tracked, and those that are neither tracked nor ignored.
/// They are relative to the root and sorted. Fails if git does, or if a name is not UTF-8.
pub fn files() -> Result<Vec<PathBuf>> {
    files_of(&root())
}

fn files_of(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    // With `-z`, git does not quote names of other characters than those of ASCII.
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let out = git.output().context("cannot run git")?;
    ensure!(out.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&out.stderr));
    let listed = String::from_utf8(out.stdout).context("a file name is not UTF-8")?;
    let names = listed.split_terminator('\0').map(PathBuf::from);
    let mut files: Vec<PathBuf> = names.filter(|name| root.join(name).is_file()).collect();
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

/// Returns the paths of the Rust files under `crates/`, relative to the root, with their contents. Fails if the files
/// cannot be listed or one cannot be read.
pub fn rust_sources() -> Result<Vec<(String, String)>> {
    let is_rust = |file: &PathBuf| file.starts_with("crates") && file.extension().is_some_and(|e| e == "rs");
    files()?.into_iter().filter(is_rust).map(|file| Ok((file.display().to_string(), read(&file)?))).collect()
}

/// Returns the text of a file. The path is relative to the root. Fails if it cannot be read, or is not UTF-8.
pub fn read(file: &Path) -> Result<String> {
    std::fs::read_to_string(root().join(file)).with_context(|| format!("cannot read {}", shown(file)))
}

/// Returns the name of a file without its folder and extension.
pub fn stem(file: &Path) -> String {
    file.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

/// Returns the files under `testdata/cost`, programs whose cost is measured, relative to the root. Fails if the files
/// cannot be listed.
pub fn cost_programs() -> Result<Vec<PathBuf>> {
    Ok(files()?.into_iter().filter(|file| file.starts_with("testdata/cost")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Table;

    fn manifest(file: &str) -> Table {
        read(Path::new(file)).unwrap().parse().unwrap()
    }

    #[test]
    fn a_relative_folder_of_builds_is_in_the_root() {
        assert_eq!(target_of(None), root().join("target"));
        assert_eq!(target_of(Some("builds/one".into())), root().join("builds/one"));
        assert_eq!(target_of(Some("/builds".into())), Path::new("/builds"));
    }

    #[test]
    fn files_of_all_names_are_listed() {
        let root = std::env::temp_dir().join(format!("shardwise-repo-{}", std::process::id()));
        std::fs::create_dir_all(root.join("a folder")).unwrap();
        let made = Command::new("git").args(["init", "-q"]).current_dir(&root).status().unwrap();
        assert!(made.success());
        std::fs::write(root.join(".gitignore"), "ignored").unwrap();
        let names = ["a folder/\"quoted\"", "a folder/größe.rs", "plain", "two\nlines"];
        names.iter().chain(&["ignored"]).for_each(|name| std::fs::write(root.join(name), "").unwrap());
        let listed = files_of(&root);
        std::fs::remove_dir_all(&root).unwrap();
        let expected: Vec<PathBuf> = [".gitignore"].iter().chain(&names).map(PathBuf::from).collect();
        assert_eq!(listed.unwrap(), expected);
    }

    #[test]
    fn plain_cargo_commands_test_what_is_shipped_and_run_the_command() {
        let workspace = manifest("Cargo.toml");
        let members = workspace["workspace"]["default-members"].as_array().unwrap();
        let mut tested: Vec<&str> = members.iter().map(|member| member.as_str().unwrap()).collect();
        tested.sort();
        let is_shipped = |folder: &String| {
            manifest(&format!("{folder}/Cargo.toml"))["package"]
                .get("publish")
                .is_none_or(|p| p.as_bool() != Some(false))
        };
        let crates = std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
        let mut shipped: Vec<String> = crates.map(|name| format!("crates/{}", name.to_str().unwrap())).collect();
        shipped.retain(is_shipped);
        shipped.sort();
        assert_eq!(tested, shipped);
        let runs = |folder: &&String| manifest(&format!("{folder}/Cargo.toml"))["package"].get("default-run").is_some();
        assert_eq!(shipped.iter().filter(runs).collect::<Vec<_>>(), ["crates/cli"]);
    }
}
