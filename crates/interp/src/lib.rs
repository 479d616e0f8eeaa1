//! The reference interpreter, which is simple and slow. Passes and kernels are checked against it.
//!
//! It runs a program on a *grid of processes* in lock-step: each value is a list with one datum for each process, and
//! each op is applied to the active processes. A program in the global view runs on a grid of one process. Entering a
//! `sdy.manual_computation` multiplies the grid by the manual axes. A localized program runs on a grid of all devices.
//! If a predicate differs between processes, each side of the branch runs with the processes that take it. A collective
//! whose group is only partly active can never complete. It fails with an error that states which processes wait where.
//!
//! Between `reshard` and `localize` a program runs *by shards* ([`run_by_shards`]): values are distributed over the
//! devices as their shardings state, each op is applied to what each device holds, and `sdy` collectives move data
//! between devices.
//!
//! The interpreter depends on no pass. Its steps are counted, so that a limit of steps ends every run.
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

use shardwise_base::{Diagnostic, Diagnostics, Literal, Loc, counted};
use shardwise_engine::NumberChecks;
use shardwise_ir::{Func, Module};

/// Runs a module in the global view, as if on one device, and returns its results. This defines what the program means.
/// The text of `interpreter.print` ops is dropped. Prints that are custom calls are written as on other engines.
///
/// # Errors
/// Fails if the module has no functions, if the arguments do not match the parameters of its main function, if an op
/// fails, if calls and regions nest too deep, or if the run is stopped.
///
/// # Panics
/// Panics if a result of the main function is not an array.
pub fn run(module: &Module, args: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    run_printing(module, args).results
}

/// The results of a run, and the text that it printed.
pub struct Outcome {
    pub results: Result<Vec<Literal>, Diagnostics>,
    /// The text of the `interpreter.print` ops that ran. Text that custom calls print is not in it.
    pub printed: String,
}

/// Runs a module as [`run`] does. Returns the results or the errors, and the text that ops of the `interpreter` dialect
/// printed, also if an op failed or the run was stopped.
///
/// # Panics
/// Panics as [`run`] does.
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
    Outcome { results: results.map(first), printed: machine.dialect.printed }
}

/// Runs a localized module on `process_count` processes, as many as its mesh has devices if it has a mesh. `args[i][p]`
/// is argument `i` of process `p`, and the results have the same form. The arguments must match the parameters of the
/// main function, which is not checked.
///
/// # Errors
/// Fails if the module has no functions, if an op fails, if calls and regions nest too deep, or if the run is stopped.
///
/// # Panics
/// Panics if a result of the main function is not an array.
pub fn run_grid(
    module: &Module,
    process_count: usize,
    args: Vec<Vec<Literal>>,
) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    run_grid_checked(module, process_count, args, NumberChecks::default())
}

/// Does the same as [`run_grid`], and ends at the first op that makes a number which `checks` refuses.
///
/// # Errors
/// Fails as [`run_grid`] does, and with `not-finite` if an op makes such a number.
///
/// # Panics
/// Panics as [`run_grid`] does.
pub fn run_grid_checked(
    module: &Module,
    process_count: usize,
    args: Vec<Vec<Literal>>,
    checks: NumberChecks,
) -> Result<Vec<Vec<Literal>>, Diagnostics> {
    let func = main_func(module)?;
    let frame = frame::Frame::grid(module.main_mesh().cloned(), process_count);
    machine::Machine::new(module).checking(checks).run_main(func, frame, args)
}

/// Runs a module by shards, on global arrays and with global results, both without the padding that the module records.
/// All its values must have shardings and its ops must agree with them, as after `reshard` and before `localize`. A
/// module without a mesh is run as by [`run`].
///
/// # Errors
/// Fails if the module has no functions, if the arguments do not match the parameters of its main function, if an op
/// fails, if calls and regions nest too deep, if the run is stopped, if devices that should hold equal parts do not, or
/// if padding does not hold what is recorded.
///
/// # Panics
/// Panics if a result of the main function is not an array.
pub fn run_by_shards(module: &Module, args: &[Literal]) -> Result<Vec<Literal>, Diagnostics> {
    shards::run(module, main_func(module)?, args)
}

fn main_func(module: &Module) -> Result<&Func, Diagnostics> {
    module.main().ok_or_else(|| {
        Diagnostic::error("run-no-function", &module.loc, "the module has no functions")
            .help("add the function to run: `func.func public @main`")
            .into()
    })
}

/// Checks that there are as many arguments as the function has parameters, each of the parameter's type. A quantized
/// parameter takes an array of its stored integers. Fails with one error if the number differs, and otherwise with an
/// error for each argument of another type.
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

pub(crate) fn argument_count(loc: &Loc, expected: usize, found: usize) -> Diagnostic {
    let arguments = counted(expected, "argument");
    Diagnostic::error("run-argument-count", loc, format!("the program takes {arguments}, and is called with {found}"))
}

fn argument_type(loc: &Loc, index: usize, expected: &str, found: &Literal) -> Diagnostic {
    Diagnostic::error("run-argument-type", loc, format!("argument {index} differs in type from the program's"))
        .facts(format!("given: {}{:?}", found.dtype(), found.shape()))
        .expected(expected)
}
