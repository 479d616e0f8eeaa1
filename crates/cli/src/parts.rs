//! `shardwise run --split-input-file`: runs each program of a text in which lines `// -----` separate programs.
//!
//! Prints a line for each part that is not only comments: its first line, the function that runs, the outcome, and the
//! number of its checks.
//! ```text
//! add.mlir:3: @add_op_test: ok, 1 check
//! add.mlir:14: @sub_op_test: check-failed, 1 check
//! ```

use crate::source::parse;
use crate::{RunArgs, Source, out, run};
use shardwise_base::{Diagnostic, Diagnostics, Loc};
use shardwise_ir::Module;

/// Runs the parts of the file that are not only comments, and prints a line for each. Returns an error if one failed,
/// or if the file cannot be read.
pub fn run(args: &RunArgs) -> Result<(), Diagnostics> {
    let parts = args.source.parts()?;
    let name = &parts.name;
    let (mut failures, mut programs) = (0, 0);
    for part in parts.iter().filter(|p| p.line > 0) {
        let (what, checks, result) = run_part(args, &args.source.part(programs), name, &parts.text(part));
        programs += 1;
        let outcome = match &result {
            Ok(()) => "ok",
            Err(found) => found.iter().next().map_or("failed", |d| d.code),
        };
        say!("{name}:{}: {what}: {outcome}, {}", part.line, counted(checks));
        if let Err(found) = result {
            out::message(found);
            failures += 1;
        }
    }
    if failures > 0 { Err(some_failed(name, failures, programs).into()) } else { Ok(()) }
}

/// Runs a part of the file, and writes its stages as `source` says. Returns what runs, the number of its checks, and
/// the outcome.
fn run_part(args: &RunArgs, source: &Source, name: &str, text: &str) -> (String, usize, Result<(), Diagnostics>) {
    let module = match parse(name, text) {
        Ok(module) => module,
        Err(found) => return ("no program".into(), written_checks(text), Err(found)),
    };
    let what = module.main().map_or("nothing".into(), |f| format!("@{}", f.name));
    let checks = check_count(&module);
    if module.funcs.is_empty() {
        return (what, checks, Ok(()));
    }
    (what, checks, run::results(args, source, &module).map(|_| ()))
}

fn check_count(module: &Module) -> usize {
    let is_check = |op: &shardwise_ir::OpView<'_>| {
        op.name().starts_with("check.")
            || shardwise_ops::control::CustomCall::target(op).is_some_and(|t| t.starts_with("check."))
    };
    let count =
        |f: &shardwise_ir::Func| f.body.walk().into_iter().filter(|&op| is_check(&module.view(&f.body, op))).count();
    module.funcs.iter().map(count).sum()
}

fn written_checks(text: &str) -> usize {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.map(|line| line.matches("check.expect").count()).sum()
}

fn counted(checks: usize) -> String {
    if checks == 1 { "1 check".into() } else { format!("{checks} checks") }
}

fn some_failed(name: &str, failures: usize, parts: usize) -> Diagnostic {
    Diagnostic::error("parts-failed", &Loc::file(name, 1, 1), format!("{failures} of {parts} programs failed"))
}
