//! The reference interpreter: plain and slow, and the truth that passes and kernels are checked against.
//!
//! It runs a program on a *grid of processes* in lock-step: each value is a list, one datum for each process, and each op
//! is applied to the active processes. A program in global view is a grid of one; entering a `sdy.manual_computation`
//! multiplies the grid by the manual axes; a localized program is a grid of all devices. Where a predicate differs between
//! processes, each side of the branch runs with those that take it; a collective whose group is not whole among the active
//! processes can never complete, and is the error that says who waits where.
//!
//! Between `reshard` and `localize` a program runs *by shards* ([`run_by_shards`]): values lie on the devices as their
//! shardings say, each op acts on what each device holds, and `sdy` collectives move data for real.
//!
//! It depends on no pass, and its steps are counted, so that nothing runs forever.
#![forbid(unsafe_code)]

mod collective;
mod datum;
mod engine;
mod frame;
mod machine;
mod manual;
mod shards;
mod testing;

pub use collective::exchange;
pub use datum::Datum;
pub use engine::InterpEngine;
pub use machine::RegionRunner;

use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc};
use shardwise_ir::{Func, Module};

/// Runs a module in global view: what the program means, on one device.
pub fn run(module: &Module, args: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    run_printing(module, args).results
}

/// What a run gave, and what it printed on the way.
pub struct Outcome {
    pub results: Result<Vec<Literal>, Diagnostics>,
    pub printed: String,
}

/// The same as [`run`]; ops of the `interpreter` dialect may print.
pub fn run_printing(module: &Module, args: &[Literal]) -> Outcome {
    let failed = |e| Outcome { results: Err(e), printed: String::new() };
    let func = match main_func(module).and_then(|f| check_args(f, args).map(|()| f)) {
        Ok(func) => func,
        Err(e) => return failed(e),
    };
    let args = args.iter().map(|a| vec![a.clone()]).collect();
    let mut machine = machine::Machine::new(module);
    let results = machine.run_main(func, frame::Frame::single(), args);
    let first = |r: Vec<Vec<Literal>>| r.into_iter().map(|mut per_process| per_process.remove(0)).collect();
    Outcome { results: results.map(first), printed: machine.bench.printed }
}

/// Runs a localized module on `process_count` processes: `args[i][p]` is argument `i` of process `p`, results alike.
pub fn run_grid(
    module: &Module,
    process_count: usize,
    args: Vec<Vec<Literal>>,
) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    let func = main_func(module)?;
    let frame = frame::Frame::grid(module.main_mesh().cloned(), process_count);
    machine::Machine::new(module).run_main(func, frame, args)
}

/// Runs a module whose values all have shardings and whose ops agree with them (after `reshard`, before `localize`).
pub fn run_by_shards(module: &Module, args: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    shards::run(module, main_func(module)?, args)
}

fn main_func(module: &Module) -> Result<&Func, Diagnostics> {
    module.main().ok_or_else(|| {
        Diagnostic::error("run-no-function", &module.loc, "the module has no function to run")
            .help("add a `func.func public @main`")
            .into()
    })
}

/// That there are as many arguments as the function takes, each of its type.
fn check_args(func: &Func, args: &[Literal]) -> Result<(), Diagnostics> {
    let params = func.body.args();
    if params.len() != args.len() {
        return Err(argument_count(&func.loc, params.len(), args.len()).into());
    }
    let mut found = Diagnostics::default();
    for (i, (&p, a)) in params.iter().zip(args).enumerate() {
        let expected = func.body.ty(p);
        if shardwise_ops::quantized::stored(expected) != shardwise_ir::Type::tensor(a.dtype(), a.shape()) {
            found.push(argument_type(&func.loc, i, &expected.to_string(), a));
        }
    }
    found.or(())
}

fn argument_count(loc: &Loc, expected: usize, found: usize) -> Diagnostic {
    Diagnostic::error("run-argument-count", loc, format!("the program takes {expected} arguments, {found} were given"))
}

fn argument_type(loc: &Loc, index: usize, expected: &str, found: &Literal) -> Diagnostic {
    Diagnostic::error("run-argument-type", loc, format!("argument {index} has another type than the program takes"))
        .facts(format!("given: {}{:?}", found.dtype(), found.shape()))
        .expected(expected)
}
