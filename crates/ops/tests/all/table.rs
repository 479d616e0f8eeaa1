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

/// Each example parses, verifies, uses its op, and is the same when it is printed and parsed back; and if its ops are pure,
/// they agree with themselves on shards.
#[test]
fn examples_hold() {
    for &op in Opcode::ALL {
        let text = op.facts().example(op);
        let parse = |text: &str| match shardwise_ir::text::parse(op.name(), text, &shardwise_ops::OPS) {
            Ok(module) => module,
            Err(found) => panic!("{}: {found}\n{text}", op.name()),
        };
        let module = parse(text);
        let found = shardwise_ir::verify(&module);
        assert!(found.is_empty(), "{}: {found}\n{text}", op.name());
        let uses = |f: &shardwise_ir::Func| f.body.walk().iter().any(|&o| f.body[o].code == op.into());
        assert!(module.funcs.iter().any(uses), "{}\n{text}", op.name());
        let printed = shardwise_ir::text::print(&module, shardwise_ir::text::PrintOptions::EXACT);
        let again = shardwise_ir::text::print(&parse(&printed), shardwise_ir::text::PrintOptions::EXACT);
        assert_eq!(printed, again, "{}", op.name());
        if crate::shards::is_pure(&module) {
            crate::shards::check(&module);
        }
    }
}
