//! The table itself: names, rules that cover their tensors.

use shardwise_ir::{OpView, Region, Type, Value};
use shardwise_ops::{OPS, Opcode};
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

#[test]
fn ops_with_a_reducer_state_it() {
    for &op in Opcode::ALL {
        let module = shardwise_ir::text::parse(op.name(), op.facts().example(op), &OPS).expect("examples are valid");
        for f in module.funcs.iter() {
            let views = f.body.walk().into_iter().map(|inner| module.view(&f.body, inner));
            views.filter(|view| Opcode::of_view(view) == op).for_each(|view| check_reducer(&view));
        }
    }
}

fn check_reducer(op: &OpView<'_>) {
    let found: Vec<usize> = (0..op.regions().len()).filter(|&i| combines(op, op.regions()[i])).collect();
    let reducer = Opcode::of_view(op).facts().reducer(op);
    assert_eq!(found, reducer.iter().map(|reducer| reducer.region).collect::<Vec<_>>(), "{}", op.name());
    let Some(reducer) = reducer else { return };
    let args = &op.body[op.regions()[reducer.region]].args;
    let arguments: Vec<usize> = (0..op.operands().len()).filter_map(|i| (reducer.argument)(op, i)).collect();
    assert!(!arguments.is_empty() && arguments.iter().all(|&i| i < args.len()), "{}: {arguments:?}", op.name());
}

fn combines(op: &OpView<'_>, region: Region) -> bool {
    let types = |values: &[Value]| values.iter().map(|&v| op.body.ty(v).clone()).collect::<Vec<Type>>();
    let (args, results) = (types(&op.body[region].args), types(op.body.region_results(region)));
    let are_scalars = args.iter().all(|ty| ty.as_tensor().is_some_and(|t| t.rank() == 0));
    !results.is_empty() && are_scalars && args == [results.clone(), results].concat()
}

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
