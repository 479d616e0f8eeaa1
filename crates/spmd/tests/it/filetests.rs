//! Passes on programs as they are written, in `filetests/PASS/TOPIC.mlir`: what the pass is given, what it makes of it,
//! and that the program means the same on both engines.

use shardwise_check::choose::Chooser;
use shardwise_check::run::agreed;
use shardwise_check::single::Fill;
use shardwise_engine::Signature;
use shardwise_ir::text::{PrintOptions, parse, print};
use shardwise_ir::{Module, verify};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, PASSES, run_until};
use shardwise_testing::check_filetests;
use std::path::Path;

#[test]
fn filetests() {
    let mut wrong = vec![];
    for (at, pass) in PASSES.iter().enumerate() {
        let folder = format!("{}/tests/filetests/{}", env!("CARGO_MANIFEST_DIR"), pass.name);
        assert!(Path::new(&folder).exists(), "`{}` has no filetests", pass.name);
        check_filetests(&folder, |text| before_and_after(at, text, &mut wrong));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the text of the module that pass number `at` makes, after that of the module that it is given unless this is
/// the program itself. Returns the diagnostics if one of the passes up to this one fails. Adds a line to `wrong` if the
/// engines do not agree about the program, unless the text has a line that starts with `// not run: `.
///
/// Panics if the program cannot be parsed, or if the module that the pass makes cannot be printed and parsed back.
fn before_and_after(at: usize, text: &str, wrong: &mut Vec<String>) -> String {
    let module = parse("test.mlir", text, &OPS).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let until = |name: &str| run_until(name, &module, &mut Options { verify: true, ..Options::default() });
    let (before, after) =
        match (at.checked_sub(1).map_or(Ok(module.clone()), |at| until(PASSES[at].name)), until(PASSES[at].name)) {
            (Ok(before), Ok(after)) => (before, after),
            (Err(found), _) | (_, Err(found)) => return found.to_string(),
        };
    expect_read_back(&after);
    if !text.lines().any(|line| line.starts_with("// not run: ")) {
        // The interpreter reads Shardy's notation alone.
        let whole = until("meshes").expect("a pass after it runs");
        wrong.extend(run_on_engines(&whole).err());
    }
    let options = PrintOptions { facts: ["pad", "uniform"].contains(&PASSES[at].name), ..PrintOptions::default() };
    let [given, before, after] = [&module, &before, &after].map(|module| print(&without_reasons(module), &options));
    if given == before { after } else { format!("// before\n{before}// after\n{after}") }
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

/// Runs the whole program, and the partitioned program on both engines, with the same inputs. Returns an error if the
/// results differ, or if a program cannot be partitioned or run.
fn run_on_engines(whole: &Module) -> Result<(), String> {
    let signature = Signature::of(whole.main().ok_or("there is no main function")?).map_err(|e| e.to_string())?;
    let mut choose = Chooser::new(0);
    let inputs: Vec<_> = signature.inputs.iter().map(|input| Fill::Small.literal(&mut choose, &input.ty)).collect();
    agreed(&print(whole, &PrintOptions::EXACT), &inputs).map(|_| ())
}

fn expect_read_back(module: &Module) {
    let text = print(module, &PrintOptions::EXACT);
    let again = parse("again.mlir", &text, &OPS).unwrap_or_else(|e| panic!("{e}"));
    assert!(!verify(&again).has_errors());
    assert_eq!(print(&again, &PrintOptions::EXACT), text, "it reads back");
}
