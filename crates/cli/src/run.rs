//! `shardwise run`: runs a program and prints or writes its results.

use crate::placed::Placed;
use crate::{EngineName, RunArgs, Source, calibrate, check, memory, npz, parts, random, timelines};
use shardwise_base::compare::element_text;
use shardwise_base::{Account, Diagnostic, Diagnostics, FilePos, Literal, Loc, Note, NoteKind, Stop, counted};
use shardwise_engine::{Engine, Executable, Signature};
use shardwise_host::HostEngine;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Attr, Module, TensorType, Value, text};
use shardwise_ops::OPS;
use shardwise_sim::Machine;
use std::path::Path;
use std::sync::Arc;

pub fn run(args: &RunArgs) -> Result<(), Diagnostics> {
    if args.split_input_file {
        return parts::run(args);
    }
    if let Some(path) = &args.outputs {
        apart_from_source(path, &args.source.file)?;
        npz::check_writable(path)?;
    }
    timelines::check(args.profile.as_deref())?;
    if args.profile.is_some() && args.engine == EngineName::Interp {
        return Err(no_profile().into());
    }
    let machine = if args.profile.is_some() { calibrate::own(args.machine.as_deref())? } else { None };
    let module = args.source.read()?;
    let ran = Stop::catch(|| run_module(args, &module, machine.as_ref()));
    let ran = ran.unwrap_or_else(|stop| Err(stop.diagnostic(&module.loc).into()));
    ran.map_err(|found| with_largest(found, &module))
}

fn run_module(args: &RunArgs, module: &Module, machine: Option<&Machine>) -> Result<(), Diagnostics> {
    if runs_as_it_stands(module) {
        refuse_partitioned(args, module)?;
        return show_results(args, &results(args, &args.source, module)?);
    }
    let literals = inputs(args, module)?;
    let engine = engine(args);
    let program = compile(&*engine, module, args, &args.source)?;
    memory::predict(&*program, &literals);
    let inputs = Placed::new(&*engine, program, &literals)?;
    let outputs = inputs.execute()?;
    if args.check.is_some() {
        check::replicas("argument", &inputs.arrays)?;
        check::replicas("result", &outputs)?;
    }
    let results: Vec<Literal> = outputs.iter().map(|r| r.to_literal()).collect();
    memory::ran();
    show_results(args, &results)?;
    if let Some(with) = args.check {
        check::check(module, &literals, &results, with)?;
    }
    if let Some(n) = args.repeat {
        say!("median of {}: {:?}", counted(n, "run"), inputs.median(n)?);
    }
    if let Some(target) = &args.profile {
        let mut timeline = inputs.profile()?.timeline(&args.source.file.display().to_string());
        calibrate::set_limits(&mut timeline, machine);
        timelines::show(&timeline, target, &args.source)?;
    }
    Ok(())
}

fn show_results(args: &RunArgs, results: &[Literal]) -> Result<(), Diagnostics> {
    if let Some(path) = &args.outputs {
        npz::write_results(path, results)?;
    } else if args.check.is_none() && args.repeat.is_none() && args.profile.is_none() {
        print_results(results);
    }
    Ok(())
}

/// Returns the results of the program for the inputs that the command names. Prints the warnings of the partitioner,
/// and writes the stages if `source` has a folder for them. If only the interpreter can run the program, prints what
/// the program prints instead. Fails if the program has no function, if its inputs are missing, wrong or too large, if
/// a stage cannot be written, or if the program cannot be partitioned, compiled or run.
pub fn results(args: &RunArgs, source: &Source, module: &Module) -> Result<Vec<Literal>, Diagnostics> {
    let inputs = inputs(args, module)?;
    if !runs_as_it_stands(module) {
        let engine = engine(args);
        return Placed::new(&*engine, compile(&*engine, module, args, source)?, &inputs)?.run();
    }
    let outcome = shardwise_interp::run_printing(module, &inputs);
    show!("{}", outcome.printed);
    outcome.results
}

/// Returns true if the program has ops that only the interpreter runs, and only without partitioning.
fn runs_as_it_stands(module: &Module) -> bool {
    let is_interpreter = |name: &str| name.starts_with("interpreter.") || name == "check.expect_serialized_eq";
    module.funcs.iter().any(|f| f.body.walk().into_iter().any(|op| is_interpreter(module.view(&f.body, op).name())))
}

/// Fails if an option is given that needs a partitioned program.
fn refuse_partitioned(args: &RunArgs, module: &Module) -> Result<(), Diagnostic> {
    let options = [
        ("--check", args.check.is_some()),
        ("--repeat", args.repeat.is_some()),
        ("--profile", args.profile.is_some()),
        ("--check-nans", args.check_nans),
        ("--check-infs", args.check_infs),
        ("--dump", args.source.dump.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(no_option(name, &module.loc)),
        None => Ok(()),
    }
}

fn engine(args: &RunArgs) -> Box<dyn Engine> {
    match args.engine {
        EngineName::Host => Box::new(HostEngine::default()),
        EngineName::Interp => Box::new(InterpEngine),
    }
}

fn argument_types(module: &Module) -> Result<Vec<TensorType>, Diagnostics> {
    let main = module.main().ok_or_else(|| no_function(&module.loc))?;
    Ok(Signature::of(main)?.inputs.into_iter().map(|input| input.ty).collect())
}

fn inputs(args: &RunArgs, module: &Module) -> Result<Vec<Literal>, Diagnostics> {
    let types = &argument_types(module)?[..];
    let bytes = types.iter().fold(0, |sum: u64, ty| sum.saturating_add(ty.bytes()));
    if let Err(e) = Account::current().check(usize::try_from(bytes).unwrap_or(usize::MAX)) {
        return Err(Stop::Memory(e).diagnostic(&module.loc).into());
    }
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

/// Parses arrays that are written as an attribute of MLIR: `[dense<1> : tensor<2xi32>, ..]`. Fails if the text is no
/// such list, or if the types of the arrays are not `types`.
fn written(text: &str, types: &[TensorType]) -> Result<Vec<Literal>, Diagnostics> {
    if text.trim().is_empty() {
        return Err(not_arrays(text).into());
    }
    let module = text::parse("--args", &format!("module attributes {{shardwise.args =\n{text}\n}} {{}}"), &OPS);
    let module = module.map_err(one_line_up)?;
    let arrays = match module.attrs.get("shardwise.args") {
        Some(Attr::Array(items)) => items.iter().map(|a| a.as_dense().cloned()).collect::<Option<Vec<Literal>>>(),
        _ => None,
    };
    let arrays = arrays.ok_or_else(|| not_arrays(text))?;
    let given: Vec<TensorType> = arrays.iter().map(|a| TensorType::new(a.dtype(), a.shape())).collect();
    if given == types { Ok(arrays) } else { Err(other_arrays(&given, types).into()) }
}

/// Reduces the line numbers of errors by 1, but not below 1, because the text follows a line that the user did not
/// write.
fn one_line_up(mut found: Diagnostics) -> Diagnostics {
    for d in &mut found.0 {
        if let Some(FilePos { file, line, column, .. }) = d.loc.file_pos().cloned() {
            d.loc = Loc::file(file, line.saturating_sub(1).max(1), column);
        }
    }
    found
}

fn compile(
    engine: &dyn Engine,
    module: &Module,
    args: &RunArgs,
    source: &Source,
) -> Result<Arc<dyn Executable>, Diagnostics> {
    engine.compile_checked(&source.partition(module, None)?.module, args.checks())
}

fn print_results(results: &[Literal]) {
    for (i, r) in results.iter().enumerate() {
        let text = |e: usize| match r.dtype() {
            d if d.is_float() => format!("{:?}", r.get_f64(e)),
            _ => element_text(r, e),
        };
        let shown: Vec<String> = (0..r.size()).take(MAX_SHOWN + 1).map(text).collect();
        let elements = if shown.len() > MAX_SHOWN { String::new() } else { format!(" [{}]", shown.join(", ")) };
        say!("out{i}: {}{:?}{elements}", r.dtype(), r.shape());
    }
}

/// The number of elements above which the elements of a result are not printed.
const MAX_SHOWN: usize = 16;

fn apart_from_source(outputs: &Path, source: &Path) -> Result<(), Diagnostics> {
    let (Ok(a), Ok(b)) = (outputs.canonicalize(), source.canonicalize()) else { return Ok(()) };
    if a == b && a.is_file() { Err(same_file(outputs).into()) } else { Ok(()) }
}

/// Adds up to three of the largest arrays of the program to the errors about memory in which the engine has not named
/// the arrays that were in memory.
fn with_largest(mut found: Diagnostics, module: &Module) -> Diagnostics {
    let names_arrays = |d: &Diagnostic| d.notes.iter().any(|n| n.kind == NoteKind::Facts && n.text.contains(" bytes"));
    for d in found.0.iter_mut().filter(|d| d.code == "run-memory" && !names_arrays(d)) {
        d.notes.push(Note { kind: NoteKind::Facts, text: largest_arrays(module).join("\n") });
    }
    found
}

fn largest_arrays(module: &Module) -> Vec<String> {
    let values = module.funcs.iter().flat_map(|f| (0..f.body.value_count()).map(|v| f.body.value(Value::new(v))));
    let mut arrays: Vec<_> = values.filter_map(|v| Some((v.ty.as_tensor()?, &v.loc))).collect();
    arrays.sort_by_key(|(ty, _)| std::cmp::Reverse(ty.bytes()));
    let least = arrays.first().map_or(0, |(ty, _)| ty.bytes() / 8);
    let shown = |(ty, loc): &(&TensorType, &Loc)| format!("{} bytes: {} at {loc}", ty.bytes(), ty.short());
    arrays.iter().take_while(|(ty, _)| ty.bytes() >= least).take(3).map(shown).collect()
}

fn same_file(path: &Path) -> Diagnostic {
    let loc = Loc::file(path.display().to_string(), 1, 1);
    Diagnostic::error("outputs-are-source", &loc, "the results would overwrite the program")
        .help("choose another file for --outputs")
}

fn no_function(loc: &Loc) -> Diagnostic {
    Diagnostic::error("run-no-function", loc, "the module has no functions")
        .help("add the function to run: `func.func public @main`")
}

fn no_option(name: &str, loc: &Loc) -> Diagnostic {
    let message = format!("`{name}` needs a partitioned program, and only the interpreter runs this one, as it stands");
    Diagnostic::error("run-as-it-stands", loc, message)
        .help(format!("leave out `{name}`, or the ops `interpreter.…` and `check.expect_serialized_eq`"))
}

fn no_profile() -> Diagnostic {
    Diagnostic::error("run-profile", &Loc::UNKNOWN, "the interpreter measures no times")
        .help("leave out `--engine interp` or `--profile`")
}

fn not_arrays(text: &str) -> Diagnostic {
    Diagnostic::error("run-args", &Loc::UNKNOWN, "the inputs in `--args` are not a list of arrays")
        .facts(text.to_string())
        .expected("[dense<1> : tensor<2xi32>, ..]")
}

fn other_arrays(given: &[TensorType], types: &[TensorType]) -> Diagnostic {
    Diagnostic::error("run-args", &Loc::UNKNOWN, "the inputs in `--args` differ in number or type from the program's")
        .facts(format!("{given:?}"))
        .expected(format!("{types:?}"))
}

fn no_inputs(types: &[TensorType]) -> Diagnostic {
    let list: Vec<String> = types.iter().enumerate().map(|(i, t)| format!("arg{i}: {}", t.short())).collect();
    Diagnostic::error("run-no-inputs", &Loc::UNKNOWN, "the program needs inputs")
        .facts(list.join(", "))
        .help("pass --inputs FILE.npz or --args ARRAYS, or --random SEED for generated ones")
}
