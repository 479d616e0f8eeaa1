//! Runs programs that check themselves with the `check` dialect: the whole program in the interpreter, and the
//! partitioned program on both engines, unless it runs a grid of processes.

use shardwise_base::Diagnostics;
use shardwise_engine::Engine;
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition};
use std::path::Path;

fn read(name: &str, part: &str) -> Result<Module, Diagnostics> {
    let module = text::parse(name, part, &OPS)?;
    verify(&module).or(module)
}

fn partitioned(module: &Module, engine: &dyn Engine) -> Result<(), Diagnostics> {
    let local = partition(module, &mut Options { verify: true, ..Options::default() })?;
    engine.compile(&local.module)?.execute(vec![]).map(|_| ())
}

fn run(name: &str, part: &str) -> Result<(), Diagnostics> {
    let module = read(name, part)?;
    shardwise_interp::run(&module, &[])?;
    if !part.contains("interpreter.") {
        partitioned(&module, &InterpEngine)?;
        partitioned(&module, &HostEngine::default())?;
    }
    Ok(())
}

#[test]
fn all_checks_hold() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checks");
    let mut names: Vec<_> = std::fs::read_dir(&dir).expect("the folder").map(|e| e.expect("a file").path()).collect();
    names.sort();
    assert!(!names.is_empty());
    for path in names {
        let text = std::fs::read_to_string(&path).expect("a text");
        for part in text.split("// -----") {
            run(&path.display().to_string(), part).unwrap_or_else(|e| panic!("{e}\nin\n{part}"));
        }
    }
}

#[test]
fn wrong_values_are_found_on_both_engines() {
    let text = "func.func @main() {
  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %0, dense<[1, 2, 4]> : tensor<3xi32>
  return
}";
    let module = read("x.mlir", text).expect("a program");
    for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
        let found = partitioned(&module, engine).expect_err("3 is not 4").to_string();
        assert!(found.contains("check-failed") && found.contains("at [2]: 3"), "{found}");
    }
}
