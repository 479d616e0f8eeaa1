//! Runs programs whole, by shards and on the engines, and compares the results.

use crate::generate::Case;
use shardwise_base::compare::{Tolerance, compare};
use shardwise_base::{Account, Budget, CancelToken, Diagnostics, Literal, Loc};
use shardwise_engine::{Argument, Engine};
use shardwise_host::HostEngine;
use shardwise_interp::{InterpEngine, run_by_shards};
use shardwise_ir::{Module, Type, text, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, Partitioned, partition, run_until};

/// Returns a budget of a million steps and the memory of the process.
pub fn budget() -> Budget {
    Budget::new(Account::of_process().clone(), Some(1_000_000), CancelToken::default())
}

/// Runs a program, as it is, in the interpreter, and returns its results. Fails if the interpreter does.
pub fn whole(module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    shardwise_interp::run(module, inputs)
}

pub fn partitioned(module: &Module) -> Result<Partitioned, Diagnostics> {
    partition(module, &mut Options { verify: true, ..Options::default() })
}

/// Runs a localized module on an engine. There must be an input of its type for each argument. Further inputs are
/// ignored. Fails if the engine cannot compile or run the module.
pub fn on(engine: &dyn Engine, module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    let program = engine.compile(module)?;
    let types = &program.signature().inputs;
    let args = inputs.iter().zip(types).map(|(x, ty)| Ok(Argument::Lent(engine.put(x, ty)?)));
    let args = args.collect::<Result<Vec<_>, Diagnostics>>()?;
    Ok(program.execute(args)?.iter().map(|r| r.to_literal()).collect())
}

/// Returns the results of a program in text: those of the whole program in the interpreter. Returns an error if the
/// text is not a valid program, if it cannot be run or partitioned, if the results do not have the types that the
/// program states, or unless both engines have these results bit for bit for the partitioned program.
pub fn agreed(text: &str, inputs: &[Literal]) -> Result<Vec<Literal>, String> {
    let at = |stage: &str, e: &dyn std::fmt::Display| format!("{stage}: {e}\n{text}");
    let module = text::parse("test.mlir", text, &OPS).and_then(|m| verify(&m).or(m)).map_err(|e| at("text", &e))?;
    let want = whole(&module, inputs).map_err(|e| at("whole", &e))?;
    let types = module.main().map_or(&[][..], |f| &f.result_types);
    if !types.iter().eq(&want.iter().map(|w| Type::tensor(w.dtype(), w.shape())).collect::<Vec<_>>()) {
        return Err(at("whole", &format!("{want:?} is not of the types {types:?}")));
    }
    let local = partitioned(&module).map_err(|e| at("partition", &e))?.module;
    for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
        let got = on(engine, &local, inputs).map_err(|e| at(engine.name(), &e))?;
        if got != want {
            return Err(at(engine.name(), &format!("\n got {got:?}\nwant {want:?}")));
        }
    }
    Ok(want)
}

/// Checks that a program has the results of its unpartitioned run after each pass from `reshard` to `axes`, and
/// partitioned on each engine. They must be equal bit for bit, except that all NaNs are equal. Also fails if a run or a
/// pass fails, or exceeds the [`budget`]. An error contains the seed unless it is about the budget.
pub fn check(case: &Case) -> Result<(), String> {
    budget().run(|| check_all(case)).unwrap_or_else(|stop| Err(stop.diagnostic(&Loc::UNKNOWN).to_string()))
}

fn check_all(case: &Case) -> Result<(), String> {
    let at = |stage: &str, found: Diagnostics| format!("seed {}, {stage}:\n{found}", case.seed);
    let want = whole(&case.module, &case.inputs).map_err(|e| at("whole", e))?;
    for pass in ["reshard", "defer", "collectives", "hoist", "halo", "pad", "axes"] {
        let module = run_until(pass, &case.module, &mut Options { verify: true, ..Options::default() });
        let got = module.and_then(|m| run_by_shards(&m, &case.inputs)).map_err(|e| at(pass, e))?;
        expect_equal(case.seed, pass, &got, &want)?;
    }
    let module = partitioned(&case.module).map_err(|e| at("partition", e))?.module;
    for engine in [&InterpEngine as &dyn Engine, &HostEngine::default()] {
        let got = on(engine, &module, &case.inputs).map_err(|e| at(engine.name(), e))?;
        expect_equal(case.seed, engine.name(), &got, &want)?;
    }
    Ok(())
}

fn expect_equal(seed: u64, stage: &str, got: &[Literal], want: &[Literal]) -> Result<(), String> {
    compare(got, want, |_| Tolerance::Exact).map_err(|why| format!("seed {seed}, {stage}: {why}"))
}
