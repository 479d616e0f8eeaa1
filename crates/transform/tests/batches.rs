//! The number of ops of a batch, and of the rules that ops need for it.

use shardwise_ir::{Func, Module, text};
use shardwise_ops::batch::Batched;
use shardwise_ops::{OPS, Opcode};
use shardwise_transform::vmap;
use std::collections::BTreeSet;

/// Returns the examples of all ops that the parser takes, with their opcodes.
fn examples() -> impl Iterator<Item = (Opcode, Module)> {
    let parsed = |&op: &Opcode| Some((op, text::parse("example.mlir", op.facts().example(op), &OPS).ok()?));
    Opcode::ALL.iter().filter_map(parsed)
}

fn ops(func: &Func) -> usize {
    func.body.walk().len()
}

/// Returns all choices of at least one of `count` arguments. Arguments from the seventh on are never chosen.
fn choices(count: usize) -> impl Iterator<Item = Vec<usize>> {
    (1..1usize << count.min(6)).map(move |mask| (0..count).filter(|i| mask >> i & 1 == 1).collect())
}

/// The ops whose batch has more than twice as many ops for some choice of mapped operands, each with the reason.
const LARGER: &[(&str, &str)] = &[
    ("chlo.scan", "it becomes a loop"),
    ("stablehlo.batch_norm_grad", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.batch_norm_inference", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.batch_norm_training", "its features are one dimension, so that it becomes the ops of its formula"),
    ("stablehlo.clamp", "bounds that differ along the batch are repeated over the other dimensions"),
    ("stablehlo.convolution", "the batch is merged with another dimension and taken apart again"),
    ("stablehlo.dynamic_conv", "the batch is merged with another dimension and taken apart again"),
    ("stablehlo.dynamic_pad", "a padding that differs along the batch is chosen by a mask"),
    ("stablehlo.dynamic_slice", "slices that start at different positions are a gather"),
    ("stablehlo.dynamic_update_slice", "updates that start at different positions are a scatter"),
    ("stablehlo.pad", "a padding that differs along the batch is chosen by a mask"),
    ("stablehlo.reduce", "an initial value that differs along the batch is combined with the rest afterwards"),
    ("stablehlo.reduce_window", "an initial value that differs along the batch becomes an element of each window"),
    ("stablehlo.while", "where the condition differs along the batch, finished indices keep their values"),
];

#[test]
fn a_batch_has_at_most_twice_as_many_ops() {
    let mut larger = BTreeSet::new();
    let mut count = 0;
    for (opcode, module) in examples() {
        let Some(main) = module.main() else { continue };
        for mapped in choices(main.body.args().len()) {
            let Ok(batch) = vmap(&module, main, &mapped, 3) else { continue };
            count += 1;
            // The terminator counts on both sides.
            if ops(&batch) > 2 * ops(main) {
                larger.insert(format!("{} {mapped:?}: {} for {}", opcode.name(), ops(&batch), ops(main)));
            }
        }
    }
    assert!(count >= 200, "{count} batches");
    let is_listed = |text: &&String| LARGER.iter().any(|(name, _)| text.starts_with(&format!("{name} ")));
    let new: Vec<&String> = larger.iter().filter(|text| !is_listed(text)).collect();
    assert!(new.is_empty(), "{new:#?}");
    for (name, _) in LARGER {
        assert!(larger.iter().any(|text| text.starts_with(&format!("{name} "))), "{name} is not larger any more");
    }
}

#[test]
fn few_ops_need_a_rule_of_their_own() {
    let mut own = BTreeSet::new();
    for (opcode, module) in examples() {
        let Some(main) = module.main() else { continue };
        for op in main.body.walk() {
            let view = module.view(&main.body, op);
            if Opcode::of_view(&view) != opcode {
                continue;
            }
            for mapped in choices(view.operands().len()) {
                let mask: Vec<bool> = (0..view.operands().len()).map(|i| mapped.contains(&i)).collect();
                if let Batched::By(why, _) = opcode.facts().batch(&view, &mask) {
                    own.insert((opcode.name(), why));
                }
            }
        }
    }
    let ops: BTreeSet<&str> = own.iter().map(|(op, _)| *op).collect();
    assert!(ops.len() < 25, "{} ops: {own:#?}", ops.len());
    assert!(own.iter().all(|(_, why)| why.len() > 10), "{own:#?}");
}
