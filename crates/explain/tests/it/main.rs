//! Tests of explanations.

mod chapter;
mod exact;
mod mistakes;
mod places;
mod text;

use shardwise_explain::{Explanation, Options, explain};
use shardwise_ir::Module;
use shardwise_testing::{Program, corpus};

#[track_caller]
fn parsed(name: &str, text: &str) -> Module {
    let module = shardwise_ir::text::parse(name, text, &shardwise_ops::OPS).unwrap_or_else(|e| panic!("{e}"));
    shardwise_ir::verify(&module).or(module).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn explained(text: &str) -> Explanation {
    explain(&parsed("a.mlir", text), &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the source programs of the corpus: not those that other tools made from them.
fn sources() -> Vec<Program> {
    let is_source = |program: &Program| program.name.starts_with("corpus/") && !program.name.contains('.');
    corpus().into_iter().filter(is_source).collect()
}
