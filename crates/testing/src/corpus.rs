//! The programs under `testdata/`: JAX's exports, and Shardy's transformations of them.

use crate::filetest::files_under;
use std::fs;
use std::path::Path;

pub struct Program {
    /// The path under `testdata/`, without the extension.
    pub name: String,
    pub text: String,
}

/// Returns all `.mlir` files under `testdata/` in the order of their paths, except programs that crashed something
/// (`testdata/crashes`), most of which are not meant to run. Panics if a file or folder cannot be read.
pub fn corpus() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let program = |path: &Path| Program {
        name: path.strip_prefix(&root).unwrap_or(path).with_extension("").display().to_string(),
        text: fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    };
    let crashes = root.join("crashes");
    files_under(&root).iter().filter(|path| !path.starts_with(&crashes)).map(|path| program(path)).collect()
}
