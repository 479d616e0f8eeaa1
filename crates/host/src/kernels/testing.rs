//! Functions for the tests of kernels, which run a program here and in the interpreter.

use crate::HostEngine;
use shardwise_base::Literal;
use shardwise_engine::{Argument, Engine, InstructionTime, Signature};
use shardwise_ir::{Module, text, verify};
use shardwise_ops::OPS;

pub fn parse(source: &str) -> Module {
    let module = text::parse("test.mlir", source, &OPS).unwrap_or_else(|e| panic!("{e}\n{source}"));
    verify(&module).or(module).unwrap_or_else(|e| panic!("{e}\n{source}"))
}

/// Runs a program on four engines, two of which fill new memory with different bytes. The last one runs ops on small
/// arrays by their kernels, and the others by small programs. Returns the times of the instructions on the last one.
/// Panics if the results of any engine do not have the bits of the interpreter's.
pub fn run(source: &str, inputs: &[Literal]) -> Vec<InstructionTime> {
    let module = parse(source);
    let want = shardwise_interp::run(&module, inputs).expect("it runs");
    let [first, second] = [0xa5, 0x5a].map(HostEngine::guarded);
    let engines = [first, second.clone(), HostEngine::default(), second.without_runs()];
    let mut times = vec![];
    for engine in engines {
        let program = engine.compile(&module).unwrap_or_else(|e| panic!("{e}\n{source}"));
        let types = Signature::of(module.main().expect("it has a main function")).expect("arrays only").inputs;
        let put = |(x, ty)| Argument::Lent(engine.put(x, ty).expect("it fits"));
        let (got, profile) = program.profile(inputs.iter().zip(&types).map(put).collect()).expect("it runs");
        let took = profile.instructions;
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().map(|r| r.to_literal()).zip(&want) {
            assert_eq!(got.to_dense().raw_bytes(), want.to_dense().raw_bytes(), "{got:?} is not {want:?}\n{source}");
        }
        times = took;
    }
    times
}

/// Runs a program as [`run`] does, and returns the names of its instructions. Panics if one of them has no kernel.
pub fn run_by_kernels(source: &str, inputs: &[Literal]) -> Vec<String> {
    let times = run(source, inputs);
    let evaluated: Vec<&str> = times.iter().filter(|t| t.is_fallback).map(|t| t.name.as_str()).collect();
    assert!(evaluated.is_empty(), "no kernel for {evaluated:?}\n{source}");
    times.into_iter().map(|t| t.name).collect()
}

/// Returns the type of a tensor as text, such as `tensor<2x3xf32>`.
pub fn tensor(shape: &[usize], elem: &str) -> String {
    format!("tensor<{}{elem}>", shape.iter().map(|n| format!("{n}x")).collect::<String>())
}
