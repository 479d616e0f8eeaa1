//! The programs from which mutants are made. They are part of the build, so that a seed makes the same mutant wherever
//! the build runs.

use shardwise_ops::Opcode;
use std::sync::LazyLock;

/// The largest size of a program's text, in bytes. A program with a longer text takes too long to be run often.
const MAX_TEXT_BYTES: usize = 6_000;

/// The texts of the `.mlir` files among the test data of the repository and the tests of the crates `check`, `ops` and
/// `spmd`. `build.rs` lists them in the order of their paths.
const FILES: &[&str] = include!(concat!(env!("OUT_DIR"), "/corpus.rs"));

/// Returns the programs in [`FILES`] and the op table's example of each op, except texts of more than
/// [`MAX_TEXT_BYTES`] bytes.
pub(super) fn programs() -> &'static [String] {
    static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let parts = FILES.iter().flat_map(|text| parts(text));
        let examples = Opcode::ALL.iter().map(|&op| op.facts().example(op).to_string());
        parts.chain(examples).filter(|text| text.len() <= MAX_TEXT_BYTES).collect()
    });
    &PROGRAMS
}

/// Returns the number and the hash of the programs from which mutants are made. Builds in which these are equal make
/// the same mutants from a seed, if they are of the same commit.
pub fn corpus() -> String {
    format!("{} programs, {:016x}", programs().len(), hash(programs()))
}

fn hash(texts: &[String]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.len().to_le_bytes().into_iter().chain(text.bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn parts(text: &str) -> Vec<String> {
    let programs = text.split("// ---- expected").next().unwrap_or("");
    programs.split("// -----").map(str::to_string).filter(|part| part.contains("func")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_corpus_has_programs_of_every_folder() {
        assert!(programs().len() > 250, "{}", programs().len());
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in [
            "testdata/corpus/randoms/bits.mlir",
            "crates/check/tests/checks/dynamic.mlir",
            "crates/ops/tests/filetests/text/shardings.mlir",
            "crates/spmd/tests/filetests/reshard/unreduced_argument.mlir",
        ] {
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
            assert!(FILES.contains(&&*text), "{file}");
        }
    }

    #[test]
    fn the_hash_depends_on_every_text_and_on_their_order() {
        let hash_of = |texts: &[&str]| hash(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>());
        let lists: [&[&str]; 6] = [&[], &[""], &["a", "b"], &["b", "a"], &["ab"], &["a", "b", ""]];
        assert_eq!(lists.map(hash_of).into_iter().collect::<BTreeSet<_>>().len(), lists.len());
        assert_eq!(hash(programs()), hash(programs()));
    }
}
