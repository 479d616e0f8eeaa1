//! Partitioned programs compute what the whole ones do, bit for bit, at every stage.

use crate::generate::{Program, program, sketch};
use crate::uniformity::parts;
use shardwise_base::Literal;
use shardwise_base::compare::{Tolerance, compare};
use shardwise_engine::{Argument, Engine};
use shardwise_interp::{InterpEngine, run, run_by_shards, run_grid};
use shardwise_ir::Module;
use shardwise_ir::text::{self, PrintOptions};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, Partitioned, dense, partition, run_until};

fn by_shards(program: &Program, stage: &str) -> Vec<Literal> {
    let module = run_until(stage, &program.module, &mut Options::default()).unwrap_or_else(|e| panic!("{stage}: {e}"));
    run_by_shards(&module, &program.args).unwrap_or_else(|e| panic!("{stage}: {e}"))
}

pub fn per_device(partitioned: &Partitioned, args: &[Literal]) -> Vec<Literal> {
    let engine = InterpEngine;
    let executable = engine.compile(&partitioned.module).unwrap_or_else(|e| panic!("{e}"));
    let put = |(arg, ty)| Argument::Lent(engine.put(arg, ty).unwrap());
    let args = args.iter().zip(&partitioned.signature.inputs).map(put).collect();
    let results = executable.execute(args).unwrap_or_else(|e| panic!("{e}"));
    results.iter().map(|r| r.to_literal()).collect()
}

/// Checks that results are equal, and panics if they are not. -0 and 0 are one number: which of the two is the result
/// of a sum depends on its order.
#[track_caller]
pub fn same(got: &[Literal], want: &[Literal], what: &str) {
    compare(got, want, |_| Tolerance::Numbers).unwrap_or_else(|why| panic!("{what}: {why}"));
}

fn check(seed: u64, length: usize) {
    let program = program(seed, length);
    let whole = run(&program.module, &program.args).unwrap_or_else(|e| panic!("{e}"));
    for stage in ["reshard", "defer", "collectives", "hoist"] {
        same(&by_shards(&program, stage), &whole, &format!("seed {seed}, length {length}: after {stage}"));
    }
    let partitioned = partition(&program.module, &mut Options::default()).unwrap_or_else(|e| panic!("{e}"));
    same(&per_device(&partitioned, &program.args), &whole, &format!("seed {seed}, length {length}: localized"));
    check_dense(&partitioned, &program.args);
}

fn check_dense(partitioned: &Partitioned, args: &[Literal]) {
    let devices = partitioned.module.main_mesh().unwrap().size();
    let dense = dense::dense(&partitioned.module).unwrap();
    let found = shardwise_ir::verify(&dense);
    assert!(!found.has_errors(), "{found}");
    let text = text::print(&dense, &PrintOptions::default());
    text::parse("dense.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    let run = |module| run_grid(module, devices, parts(&partitioned.module, args));
    assert_eq!(run(&dense).unwrap_or_else(|e| panic!("{e}")), run(&partitioned.module).unwrap());
}

/// Checks `count` programs of `length` ops with the seeds from `first` on. At the first one that fails, prints it and
/// panics. With `SHARDWISE_SEEDS=20`, it checks twenty times as many.
fn check_all(first: u64, count: u64, length: usize) {
    let times = std::env::var("SHARDWISE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in first..first + count * times {
        if let Err(panic) = std::panic::catch_unwind(|| check(seed, length)) {
            eprintln!("failed: seed {seed}, length {length}\n{}", stages(&program(seed, length)));
            std::panic::resume_unwind(panic);
        }
    }
}

fn stages(program: &Program) -> String {
    let mut out = String::new();
    let mut dump = |_: usize, name: &str, module: &Module| {
        if ["input", "propagate", "reshard", "collectives", "pad", "localize"].contains(&name) {
            out += &format!("== {name}\n{}", sketch(module));
        }
    };
    let run = || partition(&program.module, &mut Options { dump: Some(&mut dump), ..Options::default() });
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    out
}

#[test]
fn one_op() {
    check_all(0, 600, 1);
}

#[test]
fn three_ops() {
    check_all(1_000_000, 300, 3);
}

#[test]
fn ten_ops() {
    check_all(2_000_000, 100, 10);
}
