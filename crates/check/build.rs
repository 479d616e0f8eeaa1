//! Lists the programs of the repository from which the fuzzer makes mutants. They are compiled into it, so that a seed
//! makes the same mutant wherever a build runs.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

const FOLDERS: [&str; 4] = ["testdata", "crates/check/tests", "crates/ops/tests", "crates/spmd/tests"];

fn main() {
    let variable = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let root = variable("CARGO_MANIFEST_DIR").join("../..").canonicalize().expect("the crate is in its repository");
    let mut files = vec![];
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        println!("cargo:rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    files.sort();
    let lines: String = files.iter().map(|file| format!("    include_str!({:?}),\n", file.display())).collect();
    let list = format!("&[\n{lines}]\n");
    std::fs::write(variable("OUT_DIR").join("corpus.rs"), list).expect("cargo makes the folder");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("cannot read {}: {e}", folder.display()));
    for path in entries.map(|entry| entry.expect("a folder can be read to its end").path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "mlir") {
            files.push(path);
        }
    }
}
