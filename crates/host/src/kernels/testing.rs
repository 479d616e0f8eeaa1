//! Functions for the tests of kernels, which run a program here and in the interpreter.

use crate::HostEngine;
use shardwise_base::{Diagnostics, Literal};
use shardwise_engine::{Argument, Engine, Instruction, Signature};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;

pub fn parse(source: &str) -> Module {
    let module = text::parse("test.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"));
    verify(&module).or(module).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Runs a program on four engines. All but the first fill new memory with a byte, the last two with the same one. The
/// last one runs ops on small arrays by their kernels, and the others by small programs. Returns the instructions of
/// the last one.
/// Panics if the results of any engine do not have the bits of the interpreter's.
pub fn run(source: &str, inputs: &[Literal]) -> Vec<Instruction> {
    let [_, by_kernels] = run_both(source, inputs);
    by_kernels
}

/// Runs a program as [`run`] does, and returns the names of its instructions on an engine with small programs.
pub fn run_in_small_programs(source: &str, inputs: &[Literal]) -> Vec<String> {
    let [small, _] = run_both(source, inputs);
    small.into_iter().map(|own| own.name).collect()
}

/// Runs a program as [`run`] does, and returns its instructions on an engine with and on one without small programs.
fn run_both(source: &str, inputs: &[Literal]) -> [Vec<Instruction>; 2] {
    let module = parse(source);
    let want = shardwise_interp::run(&module, inputs).expect("it runs");
    let on = |engine: HostEngine| {
        let (got, instructions) = results(&engine, &module, inputs);
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.raw_bytes(), want.to_dense().raw_bytes(), "{got:?} is not {want:?}\n{source}");
        }
        instructions
    };
    let [first, second] = [0xa5, 0x5a].map(HostEngine::guarded);
    on(HostEngine::default());
    on(first);
    [on(second.clone()), on(second.without_runs())]
}

/// Runs a program on one engine. Returns its results and its instructions.
pub fn results(engine: &HostEngine, module: &Module, inputs: &[Literal]) -> (Vec<Literal>, Vec<Instruction>) {
    attempt(engine, module, inputs).expect("it runs")
}

/// Runs a program as [`results`] does. Fails if the run does, for example because it has exceeded its budget.
pub fn attempt(
    engine: &HostEngine,
    module: &Module,
    inputs: &[Literal],
) -> Result<(Vec<Literal>, Vec<Instruction>), Diagnostics> {
    let program = engine.compile(module).unwrap_or_else(|e| panic!("{e}"));
    let types = Signature::of(module.main().expect("it has a main function")).expect("arrays only").inputs;
    let put = |(x, ty)| Argument::Lent(engine.put(x, ty).expect("it fits"));
    let (got, profile) = program.profile(inputs.iter().zip(&types).map(put).collect())?;
    Ok((got.iter().map(|r| r.to_literal().to_dense()).collect(), profile.instructions.to_vec()))
}

/// Runs a program as [`run`] does, and returns the names of its instructions. Panics if one of them has no kernel.
pub fn run_by_kernels(source: &str, inputs: &[Literal]) -> Vec<String> {
    let instructions = run(source, inputs);
    let evaluated: Vec<&str> = instructions.iter().filter(|own| own.is_fallback).map(|own| own.name.as_str()).collect();
    assert!(evaluated.is_empty(), "no kernel for {evaluated:?}\n{source}");
    instructions.into_iter().map(|own| own.name).collect()
}

/// Returns the type of a tensor as text, such as `tensor<2x3xf32>`.
pub fn tensor(shape: &[usize], elem: &str) -> String {
    format!("tensor<{}{elem}>", shape.iter().map(|n| format!("{n}x")).collect::<String>())
}
