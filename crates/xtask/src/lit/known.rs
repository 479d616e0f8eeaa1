//! `known.toml`: the functions of Shardy's test files that do not pass, each with its reason.

use super::cases::Run;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::path::Path;

/// Functions that fail for one reason. A condition that is not given always holds: an entry with only a pass applies to
/// every function on which the pass is tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The last components of the file's path; `None` for every file.
    file: Option<String>,
    /// The functions' names; `None` for every function. The second function of a file with the same name is `name#2`.
    functions: Option<Vec<String>>,
    /// The start of one of the passes, including its options; `None` for all passes.
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

/// Reads the known failures. Fails if the list is malformed, or if an entry has no reason, or neither a file nor a
/// pass.
pub fn read() -> Result<Vec<Known>> {
    parse(include_str!("known.toml"))
}

fn parse(text: &str) -> Result<Vec<Known>> {
    let known = toml::from_str::<File>(text).context("cannot read the list of known failures")?.known;
    for (i, entry) in known.iter().enumerate() {
        ensure!(!entry.reason.is_empty(), "entry {i}, counted from 0, has no reason");
        ensure!(entry.file.is_some() || entry.pass.is_some(), "entry {i}, counted from 0, needs a file or a pass");
    }
    Ok(known)
}

/// Returns the first entry that applies to this function, file and RUN line, or `None` if there is none.
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
