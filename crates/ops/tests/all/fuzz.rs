//! Broken texts: whatever stands in a text, reading it gives a module or a diagnostic, and a module that is read prints
//! and comes back.
//!
//! `FUZZ_MUTANTS=1000000 cargo test -p shardwise-ops fuzz` looks longer; `FUZZ_SEED` starts elsewhere.

use shardwise_ir::difference;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ops::{OPS, Opcode};
use shardwise_testing::{Mutator, corpus};

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn check(seed: u64, text: &str) {
    let Ok(module) = parse("fuzz.mlir", text, &OPS) else {
        return;
    };
    let options = match seed % 4 {
        0 => PrintOptions::default(),
        1 => PrintOptions::EXACT,
        2 => PrintOptions::default().as_generic(),
        _ => PrintOptions::EXACT.as_generic(),
    };
    let printed = print(&module, &options);
    let back = parse("fuzz.mlir", &printed, &OPS)
        .unwrap_or_else(|e| panic!("seed {seed}: what prints does not read\n{e}\n{printed}"));
    if let Some(found) = difference(&module, &back, options.locations) {
        panic!("seed {seed}: {found}\n{printed}");
    }
}

#[test]
fn mutants_are_read_or_refused() {
    // Short programs: a change in a long one is mostly in a place like many others.
    let mut texts: Vec<String> = corpus().into_iter().map(|p| p.text).filter(|t| t.len() < 6_000).collect();
    texts.extend(Opcode::ALL.iter().map(|op| op.facts().example(*op).to_string()));
    let generic: Vec<String> = texts
        .iter()
        .filter_map(|t| parse("corpus", t, &OPS).ok())
        .map(|m| print(&m, &PrintOptions::EXACT.as_generic()))
        .collect();
    texts.extend(generic);
    let first = setting("FUZZ_SEED", 0);
    for seed in first..first + setting("FUZZ_MUTANTS", 5_000) {
        let mut mutator = Mutator::new(seed);
        let text = &texts[mutator.below(texts.len())];
        check(seed, &mutator.mutant(text));
    }
}
