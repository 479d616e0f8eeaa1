//! Generates valid programs as text from a seed, with everything that StableHLO allows.
//!
//! A program is a list of statements. Most are ops of the table ([`crate::single`]), whose operands are earlier values
//! that are converted to the type and the range that the op requires. Others are loops, branches, manual computations,
//! calls, and reductions into wider types. Values that several statements may sum are known to be small integers
//! ([`Grade`]), so that every sum is exact in any order, and all results are equal bit for bit, however the program is
//! partitioned.

mod adapt;
mod along;
mod checks;
mod control;
mod far;
mod functions;
mod layouts;
mod manual;
mod marks;
mod meshes;
mod ragged;
mod reduce;
mod scope;
mod steps;
mod sums;

use crate::choose::Chooser;
use meshes::Meshes;
use scope::{Scope, Typed};
use std::collections::{BTreeSet, HashMap};

/// A generated program.
pub struct Program {
    /// The module's text.
    pub text: String,
    /// The names of the program's features. Empty for mutants and for programs with positions beyond 2^31.
    pub features: Vec<&'static str>,
}

/// Returns the program of a seed.
pub fn program(seed: u64) -> Program {
    made(Maker::new(seed))
}

/// Returns the program of a seed in which many ops move elements along sharded dimensions.
pub fn moving_program(seed: u64) -> Program {
    made(Maker { moves: true, ..Maker::new(seed) })
}

fn made(mut maker: Maker) -> Program {
    let text = maker.module();
    if has_dead_code(&text) {
        maker.features.insert("dead code");
    }
    Program { text, features: maker.features.into_iter().collect() }
}

fn has_dead_code(text: &str) -> bool {
    let names = || text.split('%').skip(1).map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
    let mut counts: HashMap<Option<&str>, usize> = HashMap::new();
    names().for_each(|name| *counts.entry(name).or_default() += 1);
    let made = text.lines().filter_map(|line| line.trim().strip_prefix('%')).filter(|line| line.contains(" = "));
    made.map(|line| line.split(|c: char| !c.is_alphanumeric()).next()).any(|name| counts[&name] == 1)
}

/// Returns a program of the seed with positions beyond 2^31, which runs for a second or two on the host.
pub fn far_program(seed: u64) -> Program {
    Program { text: Maker::new(seed).far_program(), features: vec![] }
}

/// The state of the generator.
struct Maker {
    choose: Chooser,
    /// True if every third statement or so, outside of manual computations and functions, is an op along a sharded
    /// dimension.
    moves: bool,
    meshes: Meshes,
    /// The number of names `%v1`, `%v2`, … that have been used.
    names: usize,
    features: BTreeSet<&'static str>,
    /// The arguments of `@main`.
    arguments: Vec<Typed>,
    /// The functions that may be called, each with its text.
    functions: Vec<functions::Function>,
    /// The texts of functions that are made from the op table's examples. Each is called once.
    examples: Vec<String>,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        let mut choose = Chooser::new(seed);
        let meshes = Meshes::draw(&mut choose);
        Maker {
            choose,
            moves: false,
            meshes,
            names: 0,
            features: BTreeSet::new(),
            arguments: vec![],
            functions: vec![],
            examples: vec![],
        }
    }

    fn module(&mut self) -> String {
        if self.meshes.len() > 1 {
            self.features.insert("several meshes");
        }
        for _ in 0..self.choose.below(3) {
            self.function();
        }
        let mut scope = Scope::of_main();
        for _ in 0..1 + self.choose.below(3) {
            self.any_argument(&mut scope);
        }
        for _ in 0..2 + self.choose.below(7) {
            self.statement(&mut scope);
        }
        self.main(scope)
    }

    fn main(&mut self, mut scope: Scope) -> String {
        let count = 1 + self.choose.below(3);
        let results: Vec<Typed> = (0..count).map(|_| self.result(&mut scope)).collect();
        let names: Vec<&str> = results.iter().map(|r| r.name.as_str()).collect();
        if names.iter().collect::<BTreeSet<_>>().len() < names.len() {
            self.features.insert("duplicate yields");
        }
        let arguments = std::mem::take(&mut self.arguments);
        let arguments: Vec<String> =
            arguments.iter().map(|a| format!("{}: {}{}", a.name, a.ty, self.sharding_in_braces(&a.ty.shape))).collect();
        let types: Vec<String> = results.iter().map(|r| r.ty.to_string()).collect();
        let shown: Vec<String> =
            results.iter().map(|r| format!("{}{}", r.ty, self.sharding_in_braces(&r.ty.shape))).collect();
        let functions = self.functions.iter().map(|f| f.text.as_str());
        let functions: String = functions.chain(self.examples.iter().map(String::as_str)).collect();
        format!(
            "{}func.func public @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n{functions}",
            self.meshes.text(),
            arguments.join(", "),
            shown.join(", "),
            scope.text(),
            names.join(", "),
            types.join(", ")
        )
    }

    fn result(&mut self, scope: &mut Scope) -> Typed {
        let live = &scope.live;
        let value = if self.choose.one_in(2) { live.last() } else { Some(self.choose.of(live)) };
        value.expect("there are arguments").typed()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("%v{}", self.names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::cases;
    use crate::fuzz::shares;
    use shardwise_ir::{Module, text, verify};
    use shardwise_ops::{OPS, Opcode};

    fn module(seed: u64) -> Module {
        let program = program(seed);
        let module = text::parse("program", &program.text, &OPS).and_then(|m| verify(&m).or(m));
        module.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{}", program.text))
    }

    #[test]
    fn every_program_is_well_formed() {
        (0..cases(300)).for_each(|seed| drop(module(seed)));
    }

    #[test]
    fn dead_code_is_found() {
        assert!(has_dead_code("  %v1 = a\n  %v10:2 = b %v1\n  return %arg0\n"));
        assert!(!has_dead_code("  %v1 = a\n  %v10:2 = b %v1\n  return %v10#1\n"));
    }

    #[test]
    fn programs_have_every_op_that_runs() {
        let mut found: BTreeSet<Opcode> = BTreeSet::new();
        for seed in 0..1500 {
            let module = module(seed);
            let views = module.funcs.iter().flat_map(|f| f.body.walk().into_iter().map(|op| module.view(&f.body, op)));
            found.extend(views.map(|view| Opcode::of_view(&view)));
        }
        let missing: BTreeSet<Opcode> = Opcode::ALL.iter().copied().filter(|op| !found.contains(op)).collect();
        assert_eq!(missing, shares::not_run().into_keys().collect());
    }
}
