//! `shardwise run`.

use crate::placed::Placed;
use crate::{EngineName, RunArgs, check, npz, out, parts, random};
use comfy_table::{CellAlignment, Table, presets};
use shardwise_base::budget::default_max_bytes;
use shardwise_base::{Account, Budget, CancelToken, Diagnostic, Diagnostics, Literal, Loc};
use shardwise_engine::{Engine, Executable, InstructionTime, Signature};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Attr, Module, TensorType, text};
use shardwise_ops::OPS;
use shardwise_spmd::{Options, partition};
use std::sync::Arc;

/// Runs within the limits that the command names, parsing and printing included.
pub fn run(args: &RunArgs) -> Result<(), Diagnostics> {
    let max_bytes = args.max_bytes.map_or_else(default_max_bytes, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let budget = Budget::new(Account::with_limit(max_bytes), Some(args.max_steps), CancelToken::default());
    budget.run(|| run_all(args)).unwrap_or_else(|stop| Err(stop.diagnostic(&Loc::UNKNOWN).into()))
}

fn run_all(args: &RunArgs) -> Result<(), Diagnostics> {
    if args.split_input_file {
        return parts::run(args);
    }
    let module = args.source.read()?;
    if runs_as_it_stands(&module) {
        print_results(&results(args, &module)?);
        return Ok(());
    }
    let literals = inputs(args, &argument_types(&module)?)?;
    let engine = engine(args);
    let program = compile(&*engine, &module, args)?;
    let inputs = Placed::new(&*engine, program, &literals)?;
    let outputs = inputs.execute()?;
    if args.check.is_some() {
        check::replicas("argument", &inputs.arrays)?;
        check::replicas("result", &outputs)?;
    }
    let results: Vec<Literal> = outputs.iter().map(|r| r.to_literal()).collect();
    if let Some(path) = &args.outputs {
        npz::write_results(path, &results)?;
    }
    if args.outputs.is_none() && args.check.is_none() && args.repeat.is_none() && !args.profile {
        print_results(&results);
    }
    if let Some(with) = args.check {
        check::check(&module, &literals, &results, with)?;
    }
    if let Some(n) = args.repeat {
        say!("median of {n} runs: {:?}", inputs.median(n)?);
    }
    if args.profile {
        say!("{}", times_table(&inputs.profile()?));
    }
    Ok(())
}

/// What the program gives for the inputs that the command names.
pub fn results(args: &RunArgs, module: &Module) -> Result<Vec<Literal>, Diagnostics> {
    let inputs = inputs(args, &argument_types(module)?)?;
    if !runs_as_it_stands(module) {
        let engine = engine(args);
        return Placed::new(&*engine, compile(&*engine, module, args)?, &inputs)?.run();
    }
    let outcome = shardwise_interp::run_printing(module, &inputs);
    show!("{}", outcome.printed);
    outcome.results
}

/// Programs that run grids of programs, or look into their own run, are the interpreter's, and are not partitioned.
fn runs_as_it_stands(module: &Module) -> bool {
    let is_interpreter = |name: &str| name.starts_with("interpreter.") || name == "check.expect_serialized_eq";
    module.funcs.iter().any(|f| f.body.walk().into_iter().any(|op| is_interpreter(module.view(&f.body, op).name())))
}

fn engine(args: &RunArgs) -> Box<dyn Engine> {
    match args.engine {
        EngineName::Host => Box::new(HostEngine::default()),
        EngineName::Interp => Box::new(InterpEngine),
    }
}

/// The types of the program's arguments; each must be an array.
fn argument_types(module: &Module) -> Result<Vec<TensorType>, Diagnostics> {
    let main = module.main().ok_or_else(|| no_function(&module.loc))?;
    Ok(Signature::of(main)?.inputs.into_iter().map(|input| input.ty).collect())
}

fn inputs(args: &RunArgs, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    if let Some(text) = &args.args {
        return written(text, types);
    }
    match (&args.inputs, args.random) {
        (Some(path), _) => npz::read_args(path, types),
        (None, Some(seed)) => Ok(random::inputs(seed, types)),
        (None, None) if types.is_empty() => Ok(vec![]),
        (None, None) => Err(no_inputs(types).into()),
    }
}

/// Arrays as an attribute of MLIR.
fn written(text: &str, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    let module = text::parse("--args", &format!("module attributes {{shardwise.args =\n{text}\n}} {{}}"), &OPS)?;
    let arrays = match module.attrs.get("shardwise.args") {
        Some(Attr::Array(items)) => items.iter().map(|a| a.as_dense().cloned()).collect::<Option<Vec<Literal>>>(),
        _ => None,
    };
    let arrays = arrays.ok_or_else(|| not_arrays(text))?;
    let given: Vec<TensorType> = arrays.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
    if given == types { Ok(arrays) } else { Err(other_arrays(&given, types).into()) }
}

fn compile(engine: &dyn Engine, module: &Module, args: &RunArgs) -> Result<Arc<dyn Executable>, Diagnostics> {
    let mut dump = args.source.dumper();
    let partitioned = partition(module, &mut Options { dump: Some(&mut dump), ..Options::default() })?;
    out::warn(partitioned.warnings.iter());
    engine.compile(&partitioned.module)
}

/// The time of each instruction, as a table.
pub fn times_table(times: &[InstructionTime]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["time", "runs", "instruction", "source", ""]);
    for t in times {
        let mark = match (t.is_collective, t.is_fallback) {
            (true, _) => "communication",
            (_, true) => "reference evaluation",
            _ => "",
        };
        table.add_row([format!("{:?}", t.total), t.count.to_string(), t.name.clone(), t.loc.to_string(), mark.into()]);
    }
    table.column_mut(0).expect("a column").set_cell_alignment(CellAlignment::Right);
    table
}

fn print_results(results: &[Literal]) {
    for (i, r) in results.iter().enumerate() {
        say!("out{i}: {r:?}");
    }
}

fn no_function(loc: &Loc) -> Diagnostic {
    Diagnostic::error("run-no-function", loc, "the module has no function to run")
        .help("add a `func.func public @main`")
}

fn not_arrays(text: &str) -> Diagnostic {
    Diagnostic::error("run-args", &Loc::UNKNOWN, "the inputs are no list of arrays")
        .facts(text.to_string())
        .expected("[dense<1> : tensor<2xi32>, ..]")
}

fn other_arrays(given: &[TensorType], types: &[TensorType]) -> Diagnostic {
    Diagnostic::error("run-args", &Loc::UNKNOWN, "the inputs are not what the program takes")
        .facts(format!("{given:?}"))
        .expected(format!("{types:?}"))
}

fn no_inputs(types: &[TensorType]) -> Diagnostic {
    let list: Vec<String> = types.iter().enumerate().map(|(i, t)| format!("arg{i}: {}", t.short())).collect();
    Diagnostic::error("run-no-inputs", &Loc::UNKNOWN, "the program takes inputs, and none are given")
        .facts(list.join(", "))
        .help("give --inputs FILE.npz, or --random SEED to have some made")
}
