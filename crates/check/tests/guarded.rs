//! Runs generated programs on guarded memory: each buffer ends at an inaccessible page and is filled when it is
//! allocated.
//!
//! The programs run in a process for each fill, because the variable `SHARDWISE_GUARD` is read only once, and because
//! an access beyond a buffer ends the process.

use shardwise_check::{generate, run};
use shardwise_host::HostEngine;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::process::Command;

const PROGRAMS: u64 = 300;
const CHILD: &str = "SHARDWISE_GUARDED_CHILD";

/// Prints the hash of the results of each program that can be partitioned, in a process that [`results`] started. Does
/// nothing in other processes.
#[test]
#[expect(clippy::print_stdout, reason = "the process that started this one reads it")]
fn programs_of_one_fill() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    for seed in 0..PROGRAMS {
        let case = generate::case(seed);
        let Ok(partitioned) = run::partitioned(&case.module) else { continue };
        let results = run::on(&HostEngine::default(), &partitioned.module, &case.inputs).expect("it runs");
        let mut hash = DefaultHasher::new();
        results.iter().for_each(|r| r.to_dense().raw_bytes().hash(&mut hash));
        println!("program {seed}: {:016x}", hash.finish());
    }
}

fn results(fill: &str) -> Vec<String> {
    let tests = std::env::current_exe().expect("a test runs from a file");
    let mut child = Command::new(tests);
    child.args(["--exact", "programs_of_one_fill", "--nocapture"]).env(CHILD, "1").env("SHARDWISE_GUARD", fill);
    let output = child.output().expect("the tests start");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "with fill {fill}: {}\n{text}\n{errors}", output.status);
    text.lines().filter(|line| line.contains("program ")).map(str::to_string).collect()
}

#[test]
fn results_do_not_depend_on_what_memory_held() {
    let (first, second) = (results("a5"), results("5a"));
    assert!(first.len() > PROGRAMS as usize / 2, "{} programs ran", first.len());
    assert_eq!(first, second);
}
