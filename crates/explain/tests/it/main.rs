//! Tests of explanations.

mod chapter;
mod exact;
mod mistakes;
mod places;
mod text;

use shardwise_explain::{Explanation, Options, explain};
use shardwise_ir::Module;
use std::path::{Path, PathBuf};

/// Parses a program that must be valid.
#[track_caller]
fn parsed(name: &str, text: &str) -> Module {
    let module = shardwise_ir::text::parse(name, text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    shardwise_ir::verify(&module).or(module).unwrap_or_else(|e| panic!("{e}"))
}

/// Explains a program by bytes.
#[track_caller]
fn explained(text: &str) -> Explanation {
    explain(&parsed("a.mlir", text), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the source programs of the corpus, sorted: not those that other tools made from them.
fn corpus() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/corpus");
    let read = |dir: &Path| std::fs::read_dir(dir).expect("the corpus is there").map(|e| e.expect("an entry").path());
    let mut files: Vec<PathBuf> = read(&root).filter(|dir| dir.is_dir()).flat_map(|dir| read(&dir)).collect();
    files.retain(|file| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".mlir") && name.matches('.').count() == 1
    });
    files.sort();
    files
}
