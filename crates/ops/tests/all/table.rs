//! The table itself: names, rules that cover their tensors.

use shardwise_ops::Opcode;
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<&str> = Opcode::ALL.iter().map(|op| op.name()).collect();
    assert_eq!(names.len(), Opcode::ALL.len());
    for &op in Opcode::ALL {
        let code = shardwise_ir::OpTable::find(&shardwise_ops::OPS, op.name()).expect("the name is found");
        assert_eq!(Opcode::of(code), op);
    }
}

#[test]
fn every_op_has_an_example_that_uses_it() {
    for &op in Opcode::ALL {
        let text = op.facts().example(op);
        let short = op.name().strip_prefix("func.").unwrap_or(op.name());
        assert!(text.contains(short), "{}:\n{text}", op.name());
    }
}

/// Each example whose ops are pure gives the same on shards.
#[test]
fn examples_agree_on_shards() {
    let mut tried = 0;
    for &op in Opcode::ALL {
        let text = op.facts().example(op);
        let module = match shardwise_ir::text::parse(op.name(), text, &shardwise_ops::OPS) {
            Ok(module) => module,
            Err(found) => panic!("{}: {found}\n{text}", op.name()),
        };
        if crate::shards::is_pure(&module) {
            tried += crate::shards::check(&module);
        }
    }
    assert!(tried > 400, "only {tried} splits");
}
