//! Tests that partitioned programs equal unpartitioned ones bit for bit, at every stage and on every engine, and that
//! mutants are killed.

use shardwise_base::Literal;
use shardwise_check::choose::cases;
use shardwise_check::generate::{Case, case};
use shardwise_check::mutate::{MUTANTS, Mutant};
use shardwise_check::run;
use shardwise_engine::{Signature, layout};
use shardwise_interp::InterpEngine;
use shardwise_ir::Module;

#[test]
fn every_stage_means_what_the_program_means() {
    for seed in 0..cases(200) {
        run::check(&case(seed)).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Returns true if, for some generated program, the module with the mutant's changes has another result than the
/// program, or an error.
fn is_killed(mutant: &Mutant, programs: &[(Case, Module, Vec<Literal>)]) -> bool {
    programs.iter().any(|(case, module, want)| {
        let Some(wrong) = mutant.apply(module) else { return false };
        match run::on(&InterpEngine, &wrong, &case.inputs) {
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
            let module = run::partitioned(&case.module).unwrap_or_else(|e| panic!("seed {seed}:\n{e}")).module;
            let want = run::whole(&case.module, &case.inputs).expect("it runs");
            (case, module, want)
        })
        .collect();
    let alive: Vec<&str> = MUTANTS.iter().filter(|m| !is_killed(m, &programs)).map(|m| m.name).collect();
    assert!(alive.is_empty(), "mutants live: {alive:?}");
}

/// Tests that an input that is split as its argument's sharding in the signature says, and joined again, is the same.
#[test]
fn shards_come_together_again() {
    for seed in 0..cases(200) {
        let case = case(seed);
        let signature = Signature::of(case.module.main().expect("a main")).expect("arrays");
        for (input, ty) in case.inputs.iter().zip(&signature.inputs) {
            let Some(sharding) = &ty.sharding else { continue };
            let shards = layout::split(input, sharding);
            assert_eq!(
                &layout::assemble(|p| shards[p].clone(), sharding, input.shape()).unwrap(),
                input,
                "seed {seed}"
            );
        }
    }
}
