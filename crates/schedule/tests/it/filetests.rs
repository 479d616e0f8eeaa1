//! Programs as they are written, in `filetests/FAMILY/TOPIC.mlir`: the program of a device, and what the scheduler makes
//! of it. The first line says on which topology and with which overlap: `// v5e:2x4 auto`.

use crate::programs::{agree, localized, scheduled, topology};
use shardwise_check::choose::Chooser;
use shardwise_check::single::Fill;
use shardwise_engine::Signature;
use shardwise_ir::Module;
use shardwise_ir::text::{PrintOptions, print};
use shardwise_sim::Overlap;
use shardwise_testing::check_filetests;

#[test]
fn filetests() {
    check_filetests(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests"), before_and_after);
}

/// Returns the decisions, and the program before and after. Panics if the text cannot be read, or if the results of the
/// two programs differ. They are not run if the text contains `// not run`.
fn before_and_after(text: &str) -> String {
    let head = text.lines().next().and_then(|line| line.strip_prefix("// ")).expect("the first line is a comment");
    let (at, overlap) = head.split_once(' ').expect("a topology and an overlap");
    let overlap: Overlap = overlap.parse().unwrap_or_else(|e| panic!("{e}"));
    let module = localized(text);
    let out = scheduled(&module, &topology(at), overlap);
    let decisions: String = out.decisions.iter().map(|decision| format!("// {decision}\n")).collect();
    // Large arrays would take long on the interpreter.
    if !text.contains("// not run") {
        agree(&module, &out.module, &inputs(&module)).unwrap_or_else(|e| panic!("{e}"));
    }
    let shown = |module| print(&without_reasons(module), &PrintOptions::default().without_varying());
    format!("{decisions}// before\n{}// after\n{}", shown(&module), shown(&out.module))
}

fn inputs(module: &Module) -> Vec<shardwise_base::Literal> {
    let mut choose = Chooser::new(0);
    let signature = Signature::of(module.main().unwrap()).unwrap_or_else(|e| panic!("{e}"));
    signature.inputs.iter().map(|input| Fill::Small.literal(&mut choose, &input.ty)).collect()
}

fn without_reasons(module: &Module) -> Module {
    let mut out = module.without_funcs();
    for func in &module.funcs {
        let mut func = func.clone();
        func.body.walk().into_iter().for_each(|op| func.body.op_mut(op).reason = None);
        out.funcs.push(func);
    }
    out
}
