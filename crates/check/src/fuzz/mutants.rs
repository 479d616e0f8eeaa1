//! Mutants: programs of the corpus or generated ones, with a few changes. Most changes leave a program well-formed: a
//! type, a size or a name is changed everywhere, ops are replaced by others of the same signature, or operands by
//! others of the same type.

mod change;
mod words;

use super::corpus::programs;
use crate::choose::Chooser;
use crate::generate;
use crate::program::{Program, program};
use change::CHANGES;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::verify;
use shardwise_ops::OPS;
use std::panic::catch_unwind;

/// The number of attempts at a change that leaves the program well-formed.
const TRIES: usize = 6;

/// Returns the mutant of a seed: a program of the corpus, or a generated one, after up to five changes.
pub(super) fn mutant(seed: u64) -> Program {
    let mut choose = Chooser::new(seed);
    let mut text = origin(&mut choose);
    for _ in 0..*choose.of(&[1, 1, 2, 2, 3, 5]) {
        text = changed(&mut choose, text);
    }
    Program { text, features: vec![] }
}

/// Returns the text with one change, or the same text if none is found in [`TRIES`] attempts. In seven of eight cases,
/// the changed text must be worth running ([`may_run`]).
fn changed(choose: &mut Chooser, text: String) -> String {
    let is_any = choose.one_in(8);
    for _ in 0..TRIES {
        let change = choose.of(CHANGES);
        match change(choose, &text) {
            Some(changed) if is_any || may_run(&changed) => return changed,
            _ => {}
        }
    }
    text
}

/// Returns true if a text is worth running: it is well-formed, or reading or verifying it panics.
fn may_run(text: &str) -> bool {
    let read = || {
        let module = parse("fuzz.mlir", text, &OPS).ok()?;
        (!verify(&module).has_errors()).then_some(())
    };
    catch_unwind(read).map_or(true, |read| read.is_some())
}

fn origin(choose: &mut Chooser) -> String {
    if choose.one_in(6) {
        return program(choose.bits()).text;
    }
    if choose.one_in(6) {
        let case = generate::case(choose.bits());
        return print(&case.module, &PrintOptions::default());
    }
    choose.of(programs()).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_makes_the_same_mutant() {
        assert!((0..200).all(|seed| mutant(seed).text == mutant(seed).text));
        assert!((0..200).filter(|&seed| mutant(seed).text == mutant(seed + 1).text).count() < 5);
    }
}
