//! The programs under `testdata/`: what JAX exports, and what Shardy makes of it.

use crate::filetest::files_under;
use std::fs;
use std::path::Path;

pub struct Program {
    /// Its path under `testdata/`, without the ending.
    pub name: String,
    pub text: String,
}

/// All programs, by name.
pub fn corpus() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let program = |path: &Path| Program {
        name: path.strip_prefix(&root).unwrap_or(path).with_extension("").display().to_string(),
        text: fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())),
    };
    files_under(&root).iter().map(|path| program(path)).collect()
}
