//! The programs from which mutants are made.

use shardwise_ops::Opcode;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The size above which a program takes too long to be run often.
const MAX_TEXT_BYTES: usize = 6_000;

/// Returns the programs of the repository: test data, filetests, examples of ops.
pub(super) fn programs() -> &'static [String] {
    static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut files = vec![];
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        ["testdata", "crates/check/tests", "crates/ops/tests", "crates/spmd/tests"]
            .iter()
            .for_each(|folder| collect(&root.join(folder), &mut files));
        files.sort();
        let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
        let parts = texts.flat_map(|text| parts(&text));
        let examples = Opcode::ALL.iter().map(|&op| op.facts().example(op).to_string());
        parts.chain(examples).filter(|text| text.len() <= MAX_TEXT_BYTES).collect()
    });
    &PROGRAMS
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| entry.ok().map(|e| e.path())) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            files.push(path);
        }
    }
}

/// Returns the programs of a file, without the expected outputs.
fn parts(text: &str) -> Vec<String> {
    let programs = text.split("// ---- expected").next().unwrap_or("");
    programs.split("// -----").map(str::to_string).filter(|part| part.contains("func")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_has_programs_of_every_folder() {
        assert!(programs().len() > 250, "{}", programs().len());
    }
}
