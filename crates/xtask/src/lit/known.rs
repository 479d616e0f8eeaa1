//! `known.toml`: the functions of Shardy's test files that do not pass, each with its reason.

use super::cases::Run;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// Functions that fail for one reason. What is not given is not asked: an entry with a pass alone speaks of every
/// function that the pass is tried on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// How the file's path ends.
    file: Option<String>,
    /// Their names; the second function of a file with the same name is `name#2`.
    functions: Option<Vec<String>>,
    /// How one of the passes begins, options and all.
    pass: Option<String>,
    pub reason: String,
}

impl Known {
    fn speaks_of(&self, file: &Path, run: &Run, function: &str) -> bool {
        self.file.as_ref().is_none_or(|f| file.ends_with(f))
            && self.functions.as_ref().is_none_or(|names| names.iter().any(|n| n == function))
            && self.pass.as_ref().is_none_or(|pass| run.passes.iter().any(|p| p.starts_with(pass.as_str())))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    known: Vec<Known>,
}

/// The failures that we know of.
pub fn read() -> Result<Vec<Known>> {
    parse(include_str!("known.toml"))
}

fn parse(text: &str) -> Result<Vec<Known>> {
    let known = toml::from_str::<File>(text).context("the list of known failures")?.known;
    for (i, entry) in known.iter().enumerate() {
        ensure!(!entry.reason.is_empty(), "known failure {i} has no reason");
        ensure!(entry.file.is_some() || entry.pass.is_some(), "known failure {i} needs a file or a pass");
    }
    Ok(known)
}

/// What is known of a function that fails.
pub fn find<'a>(known: &'a [Known], file: &Path, run: &Run, function: &str) -> Option<&'a Known> {
    known.iter().find(|k| k.speaks_of(file, run, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str =
        "[[known]]\nfile = \"a.mlir\"\nfunctions = [\"f\"]\nreason = \"r\"\n[[known]]\npass = \"p\"\nreason = \"q\"\n";

    #[test]
    fn the_list_reads() {
        read().unwrap();
        assert!(parse(&LIST.replace("\"r\"", "\"\"")).is_err());
        assert!(parse(&LIST.replace("pass = \"p\"\n", "")).is_err());
    }

    #[test]
    fn functions_are_found_by_file_name_and_pass() {
        let known = parse(LIST).unwrap();
        let run = |pass: &str| Run { passes: vec![pass.into()], splits: false, prefixes: vec![] };
        let reason = |file: &str, pass, name| find(&known, file.as_ref(), &run(pass), name).map(|k| k.reason.as_str());
        assert_eq!(reason("test/a.mlir", "x", "f"), Some("r"));
        assert_eq!(reason("test/a.mlir", "x", "g"), None);
        assert_eq!(reason("test/b.mlir", "x", "f"), None);
        assert_eq!(reason("test/b.mlir", "p{option=true}", "g"), Some("q"));
    }
}
