//! Partitioned programs equal unpartitioned ones, bit for bit, at every stage and on every engine; and mutants die.

use shardwise_base::Literal;
use shardwise_check::choose::cases;
use shardwise_check::generate::{Case, case};
use shardwise_check::mutate::MUTANTS;
use shardwise_engine::{Argument, Engine, Limits, Signature, layout};
use shardwise_host::HostEngine;
use shardwise_interp::{InterpEngine, run, run_by_shards};
use shardwise_ir::Module;
use shardwise_spmd::{Options, partition, run_until};

fn limits() -> Limits {
    Limits { max_steps: Some(1_000_000), max_bytes: None }
}

fn stage(case: &Case, pass: &str) -> Module {
    run_until(pass, &case.module, &mut Options { verify: true, ..Options::default() })
        .unwrap_or_else(|e| panic!("seed {}: {pass} refuses:\n{e}", case.seed))
}

fn localized(case: &Case) -> Module {
    partition(&case.module, &mut Options { verify: true, ..Options::default() })
        .unwrap_or_else(|e| panic!("seed {}: partition refuses:\n{e}", case.seed))
        .module
}

fn on(engine: &dyn Engine, module: &Module, inputs: &[Literal]) -> Result<Vec<Literal>, shardwise_base::Diagnostics> {
    let program = engine.compile(module, limits())?;
    let types = &program.signature().inputs;
    let args = inputs.iter().zip(types).map(|(x, ty)| Ok(Argument::Lent(engine.put(x, ty)?)));
    let args = args.collect::<Result<Vec<_>, shardwise_base::Diagnostics>>()?;
    Ok(program.execute(args)?.iter().map(|r| r.to_literal()).collect())
}

fn expect_equal(seed: u64, stage: &str, got: &[Literal], want: &[Literal]) {
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!(g == w, "seed {seed}, result {i}, {stage}:\n got {g:?}\nwant {w:?}");
    }
}

#[test]
fn every_stage_means_what_the_program_means() {
    for seed in 0..cases(200) {
        let case = case(seed);
        let want = run(&case.module, &case.inputs, limits()).unwrap_or_else(|e| panic!("seed {seed}:\n{e}"));
        for pass in ["reshard", "collectives"] {
            let module = stage(&case, pass);
            let got = run_by_shards(&module, &case.inputs, limits())
                .unwrap_or_else(|e| panic!("seed {seed}, by shards after {pass}:\n{e}"));
            expect_equal(seed, pass, &got, &want);
        }
        let module = localized(&case);
        let got = on(&InterpEngine, &module, &case.inputs).unwrap_or_else(|e| panic!("seed {seed}, grid:\n{e}"));
        expect_equal(seed, "on the grid", &got, &want);
        let got =
            on(&HostEngine::default(), &module, &case.inputs).unwrap_or_else(|e| panic!("seed {seed}, host:\n{e}"));
        expect_equal(seed, "on the host engine", &got, &want);
    }
}

/// Whether some generated program tells the mutant from the truth, by another result or an error.
fn is_killed(mutant: &shardwise_check::mutate::Mutant, programs: &[(Case, Module, Vec<Literal>)]) -> bool {
    programs.iter().any(|(case, module, want)| {
        let Some(wrong) = mutant.apply(module) else { return false };
        match on(&InterpEngine, &wrong, &case.inputs) {
            Ok(got) => got != *want,
            Err(_) => true,
        }
    })
}

#[test]
fn mutants_die() {
    let programs: Vec<(Case, Module, Vec<Literal>)> = (0..cases(600))
        .map(|seed| {
            let case = case(seed);
            let module = localized(&case);
            let want = run(&case.module, &case.inputs, limits()).expect("it runs");
            (case, module, want)
        })
        .collect();
    let alive: Vec<&str> = MUTANTS.iter().filter(|m| !is_killed(m, &programs)).map(|m| m.name).collect();
    assert!(alive.is_empty(), "mutants live: {alive:?}");
}

/// Cutting and joining are inverse, and a signature says what a module takes.
#[test]
fn shards_come_together_again() {
    for seed in 0..cases(200) {
        let case = case(seed);
        let signature = Signature::of(case.module.main().expect("a main")).expect("arrays");
        for (input, ty) in case.inputs.iter().zip(&signature.inputs) {
            let Some(sharding) = &ty.sharding else { continue };
            let shards = layout::split(input, sharding);
            assert_eq!(&layout::assemble(&shards, sharding, input.shape()).unwrap(), input, "seed {seed}");
        }
    }
}
