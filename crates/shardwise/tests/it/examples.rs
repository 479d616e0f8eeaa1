//! Runs the examples on two devices, so that their assertions and their tables are up to date.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The examples that are tests themselves: cargo builds their tests, and not their programs.
const WITH_TESTS: [&str; 4] = ["u2_communication", "u3_timeline", "u6_debug", "t1_train_transformer"];

/// Returns the folder into which `cargo test` builds the examples before it runs tests.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("the test has a path");
    own.ancestors().nth(2).expect("tests are in a folder of the profile").join("examples")
}

fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(folder).expect("there are examples").map(|entry| entry.unwrap().path());
    let sources = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let mut names: Vec<String> = sources.map(|file| file.file_stem().unwrap().to_str().unwrap().to_string()).collect();
    names.sort();
    names
}

#[test]
fn every_example_runs() {
    for name in names().iter().filter(|name| !WITH_TESTS.contains(&name.as_str())) {
        let path = built().join(name);
        assert!(path.exists(), "`{name}` is not built: run `cargo build -p shardwise --examples`");
        let output = Command::new(path).args(["--devices", "2"]).output().expect("the example starts");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!output.stdout.is_empty(), "{name} prints nothing");
    }
}
