//! Filetests: a program and the expected output in one file.
//!
//! ```text
//! func.func @main(..) { .. }
//! // ---- expected
//! whatever the tested function makes of the program
//! ```
//! `BLESS=1 cargo test` writes the actual output into the files.

use std::fs;
use std::path::{Path, PathBuf};

const MARK: &str = "// ---- expected\n";

/// Runs `run` on the program of each `.mlir` file under `dir`, and compares the output with the expected output in the
/// file. If the environment variable `BLESS` is set, writes an output that differs into the file instead.
///
/// `dir` is `concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/..")`.
///
/// # Panics
///
/// Panics with the differences of all files if there are any. Also panics if there is no such file, or if a file cannot
/// be read or written.
pub fn check_filetests(dir: &str, mut run: impl FnMut(&str) -> String) {
    let files = files_under(Path::new(dir));
    assert!(!files.is_empty(), "no filetests under {dir}");
    let failures: Vec<String> = files.iter().filter_map(|path| check(path, &mut run)).collect();
    assert!(failures.is_empty(), "{}\nBLESS=1 rewrites the expectations", failures.join("\n"));
}

fn check(path: &Path, run: &mut impl FnMut(&str) -> String) -> Option<String> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (program, expected) = text.split_once(MARK).unwrap_or((&text, ""));
    let mut given = run(program);
    if !given.ends_with('\n') {
        given.push('\n');
    }
    if given == expected {
        return None;
    }
    if std::env::var_os("BLESS").is_some() {
        let gap = if program.ends_with('\n') { "" } else { "\n" };
        fs::write(path, format!("{program}{gap}{MARK}{given}")).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return None;
    }
    Some(format!("{}:\n{}", path.display(), differences(expected, &given)))
}

/// Returns up to eight numbered lines of each text, from two lines before their first difference on. Lines of
/// `expected` begin with `-`, and lines of `given` with `+`.
fn differences(expected: &str, given: &str) -> String {
    let same = expected.lines().zip(given.lines()).take_while(|(a, b)| a == b).count();
    let show = |text: &str, sign: char| {
        let lines = text.lines().enumerate().skip(same.saturating_sub(2)).take(8);
        lines.map(|(i, line)| format!("{sign} {:4} {line}\n", i + 1)).collect::<String>()
    };
    show(expected, '-') + &show(given, '+')
}

/// Returns the `.mlir` files under a folder, at any depth, in the order of their paths. Panics if a folder cannot be
/// read.
pub(crate) fn files_under(dir: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for path in entries.filter_map(|entry| entry.ok().map(|e| e.path())) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "mlir") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
