//! The list of passes, and functions that run them.

use crate::explain::{Communication, communication};
use crate::meshes::RatesOf;
use crate::stages::*;
use crate::trials::Trials;
use crate::{
    axes, cleanup, collectives, defer, dequantize, gspmd, halo, hoist, join, localize, lower, meshes, pad, reshard,
    share, simplify, uniform,
};
use shardwise_base::{Diagnostic, Diagnostics, Loc, Mesh, Rates, budget, did_you_mean};
use shardwise_engine::Signature;
use shardwise_ir::{Func, Module, OpView, verify};
use shardwise_ops::control::{absent_call, skipped_call};
use shardwise_propagate::propagate;

/// A named function from module to module.
#[derive(Clone, Copy)]
pub struct Pass {
    pub name: &'static str,
    /// The function. It takes the module so that it may change it in place. Most passes build the functions that they
    /// change anew, and share the bodies of the others.
    pub run: fn(Module, &mut Context) -> Result<Module, Diagnostics>,
    /// One line of description for `opt --list-passes` and for the docs.
    pub describes: &'static str,
    /// The guarantees that hold from this pass on, each up to the pass that it names as the last.
    pub ensures: &'static [Guarantee],
}

/// The options that passes know besides the module, and their warnings and notes.
#[derive(Default)]
pub struct Context {
    /// The function that knows the rates of a mesh on a topology. Layouts are then chosen for the time that they take.
    /// Without it or where it returns none, the mesh keeps the rates that the program states. If these are none too,
    /// layouts are chosen for the bytes that they move.
    pub rates: Option<Box<RatesOf<'static>>>,
    /// True to take each sum over devices where it arises, in the order of the program, and not later.
    pub keeps_sums: bool,
    /// The decisions that several trials of similar programs share, if this is one of them.
    pub trials: Option<Trials>,
    pub warnings: Diagnostics,
}

impl Context {
    /// Returns the options for layouts that are chosen with these rates ([`Context::rates`]).
    pub fn with_rates(rates: impl Fn(&Mesh) -> Option<Rates> + 'static) -> Context {
        Context { rates: Some(Box::new(rates)), ..Context::default() }
    }
}

/// The passes that turn a program on global values into the program of one device.
///
/// Propagation sees calls as they are written, because its results depend on where values enter and leave functions.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "import",
        run: |m, _| gspmd::import(m),
        describes: "converts shardings in XLA's older notation to Shardy's",
        ensures: &[ONE_NOTATION],
    },
    Pass {
        name: "meshes",
        run: |m, cx| meshes::unify(m, cx.rates.as_deref(), &mut cx.warnings),
        describes: "rewrites all shardings over one mesh, with its rates if there is a topology",
        ensures: &[ONE_MESH],
    },
    Pass {
        name: "simplify",
        run: |m, _| simplify::simplify(m),
        describes: "splits collectives with several operands, adapts reducers to operand types, numbers random streams, \
                    leaves out index components of scatters that are always 0",
        ensures: &[PLAIN_REDUCERS, SINGLE_COLLECTIVES, NUMBERED_STREAMS, NO_STEPS_YET],
    },
    Pass {
        name: "dequantize",
        run: |m, _| dequantize::dequantize(m),
        describes: "replaces quantized values by their integers",
        ensures: &[PLAIN_TYPES],
    },
    Pass {
        name: "propagate",
        run: |m, _| propagate(&m, &Default::default()),
        describes: "propagates shardings to all values that they reach",
        ensures: &[NO_UNUSED],
    },
    Pass {
        name: "lower",
        run: |m, _| lower::lower(&m),
        describes: "inlines calls, named computations and composites, removes unused results of branches and loops",
        ensures: &[INLINED, MANUAL_COLLECTIVES],
    },
    Pass {
        name: "share",
        run: |m, _| share::share(m),
        describes: "makes equal constants with one layout one value",
        ensures: &[SHARED],
    },
    Pass {
        name: "join",
        run: |m, _| join::join(m),
        describes: "replaces ops that move elements along sharded dimensions by ones that read further back",
        ensures: &[JOINED],
    },
    Pass {
        name: "reshard",
        run: |m, cx| reshard::reshard(&m, cx),
        describes: "chooses layouts over the whole function, and inserts reshards so that every op agrees with its rule",
        ensures: &[LAID_OUT, AGREED, ALLOWED_SUMMANDS, AGREED_EDGES, NO_MARKS],
    },
    Pass {
        name: DEFER,
        run: |m, _| defer::defer(&m),
        describes: "takes sums over devices after ops that are linear in them, where they are of fewer bytes",
        ensures: &[DEFERRED],
    },
    Pass {
        name: "collectives",
        run: |m, _| collectives::collectives(&m),
        describes: "replaces each reshard by its cheapest collectives",
        ensures: &[NO_RESHARDS],
    },
    Pass {
        name: "hoist",
        run: |m, _| hoist::hoist(m),
        describes: "moves collectives that every turn of a loop would repeat in front of the loop",
        ensures: &[HOISTED],
    },
    Pass {
        name: "halo",
        run: |m, _| halo::halo(&m),
        describes: "replaces ops that move elements along sharded dimensions by exchanges between neighbours",
        ensures: &[SETTLED],
    },
    Pass {
        name: "pad",
        run: |m, _| pad::pad(&m),
        describes: "pads sharded dimensions so that they divide evenly, and replaces padding that is reduced by neutral elements",
        ensures: &[EVEN, PADDING_RECORDED, NEUTRAL_PADDING],
    },
    Pass {
        name: "axes",
        run: |m, _| axes::axes(&m),
        describes: "replaces device numbers by mesh axes",
        ensures: &[NAMED_AXES],
    },
    Pass {
        name: "localize",
        run: |m, cx| localize::localize(&m, &mut cx.warnings),
        describes: "replaces global types by per-device types",
        ensures: &[NO_SHARDY, LOCAL_VALUES, LOCAL_TYPES],
    },
    Pass {
        name: "cleanup",
        run: |m, _| cleanup::cleanup(m),
        describes: "removes dead and repeated ops, and unused results of branches and loops",
        ensures: &[NO_DEAD_OPS],
    },
    Pass {
        name: "uniform",
        run: |m, _| uniform::uniform(m),
        describes: "records on each value the axes over which it varies",
        ensures: &[VARYING],
    },
];

/// The name of the pass that [`Context::keeps_sums`] leaves out.
const DEFER: &str = "defer";

/// The number of passes that come before propagation. They put a program into the form that propagation expects.
const PREPARING: usize = 4;

/// A function that is called for each stage with its number, the name of the pass that made it, and the module. Stage 0
/// is the input, with the name `input`. A pass that is left out has no stage, and its number is not used.
pub type DumpHook<'a> = &'a mut dyn FnMut(usize, &str, &Module);

/// Options of the partitioner.
#[derive(Default)]
pub struct Options<'a> {
    pub dump: Option<DumpHook<'a>>,
    /// True to verify the input, the module after each pass, and what each pass guarantees. If it is false, debug builds
    /// still verify all of these, but [`run_steps`] and [`run_passes`] leave out the guarantees, and other builds verify
    /// nothing.
    pub verify: bool,
    /// The options that the passes know, and their warnings.
    pub context: Context,
}

/// A program for one device, with its signature, its communication and the warnings.
pub struct Partitioned {
    pub module: Module,
    pub signature: Signature,
    pub communication: Communication,
    pub warnings: Diagnostics,
}

/// Runs all passes, except `defer` if [`Context::keeps_sums`] is set. All warnings in `options` are moved into the
/// result. Those of the passes come after a warning `callback-skipped` for each call in `module` of Python code that
/// returns nothing, which engines skip, and a warning `custom-partitioning` for each call of a function of
/// `jax.custom_partitioning`, which engines do not have.
///
/// # Errors
/// Fails if a pass fails, if the module has no functions, or if an argument or result of the main function is no array.
/// If modules are verified ([`Options::verify`]), also fails if `module` is not valid.
///
/// # Panics
/// Panics if a pass gets a program that it is not made for (`pass-order`), which is a bug of a pass before it. If
/// modules are verified, also panics if a pass makes an invalid module or does not keep its guarantees.
pub fn partition(module: &Module, options: &mut Options<'_>) -> Result<Partitioned, Diagnostics> {
    options.context.warnings.extend(calls_of_other_code(module));
    let module = run_list(&steps(PASSES), module, options, Order::Pipeline)?;
    let signature = Signature::of(module.main().ok_or_else(|| no_main(&module.loc))?)?;
    let communication = communication(&module);
    Ok(Partitioned { module, signature, communication, warnings: std::mem::take(&mut options.context.warnings) })
}

/// Returns warnings about calls of code that is not in the program.
fn calls_of_other_code(module: &Module) -> Vec<Diagnostic> {
    let warning = |view: OpView<'_>| skipped_call(&view).or_else(|| absent_call(&view));
    let of_func = |func: &Func| {
        let ops = func.body.walk().into_iter();
        ops.filter_map(|op| warning(module.view(&func.body, op))).collect::<Vec<_>>()
    };
    module.funcs.iter().flat_map(of_func).collect()
}

/// Runs the passes that come before propagation.
///
/// # Errors
/// Fails if the program has been partitioned before, if a sharding or a per-device region in XLA's older notation
/// cannot be imported, or if what the program states of its meshes, manual axes, collectives, sharding rules and
/// sharding groups cannot hold. If modules are verified ([`Options::verify`]), also fails if `module` is not valid.
///
/// # Panics
/// Panics if a pass gets a program that it is not made for (`pass-order`), which is a bug of a pass before it. If
/// modules are verified, also panics if a pass makes an invalid module or does not keep its guarantees.
pub fn prepare(module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    run_list(&steps(&PASSES[..PREPARING]), module, options, Order::Pipeline)
}

/// A named function from module to module: a pass of [`PASSES`], or a pass of another list.
pub struct Step<'a> {
    pub name: &'a str,
    pub run: Box<RunStep<'a>>,
}

/// A function from module to module.
pub type RunStep<'a> = dyn Fn(Module, &mut Context) -> Result<Module, Diagnostics> + 'a;

impl From<Pass> for Step<'_> {
    fn from(pass: Pass) -> Self {
        Step { name: pass.name, run: Box::new(pass.run) }
    }
}

fn steps(passes: &[Pass]) -> Vec<Step<'static>> {
    passes.iter().copied().map(Step::from).collect()
}

/// Runs the passes with these names, in this order, including `defer` if [`Context::keeps_sums`] is set.
///
/// # Errors
/// Fails if there is no pass of a name, or if [`run_steps`] fails.
pub fn run_passes(names: &[&str], module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    let passes: Vec<Step<'_>> = names.iter().map(|name| find(name).map(Step::from)).collect::<Result<_, _>>()?;
    run_steps(&passes, module, options)
}

/// Runs these steps, in this order.
///
/// # Errors
/// Fails if a step fails. If modules are verified (in debug builds, or with [`Options::verify`]), also fails if
/// `module` or the module after a step is not valid. With [`Options::verify`], also fails if the guarantees that the
/// pipeline has after a pass of this name do not hold.
pub fn run_steps(steps: &[Step<'_>], module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    run_list(steps, module, options, Order::Any)
}

/// Runs the passes from the first one up to and including the one with this name, except `defer` if
/// [`Context::keeps_sums`] is set.
///
/// # Errors
/// Fails if there is no such pass, or if a pass fails. If modules are verified ([`Options::verify`]), also fails if
/// `module` is not valid.
///
/// # Panics
/// Panics if a pass gets a program that it is not made for (`pass-order`), which is a bug of a pass before it. If
/// modules are verified, also panics if a pass makes an invalid module or does not keep its guarantees.
pub fn run_until(name: &str, module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    find(name)?;
    let last = PASSES.iter().position(|p| p.name == name).expect("found above");
    run_list(&steps(&PASSES[..=last]), module, options, Order::Pipeline)
}

/// Returns the pass with this name.
///
/// # Errors
/// Fails if there is none (`pass-unknown`).
pub fn find(name: &str) -> Result<Pass, Diagnostics> {
    find_among(name, &[])
}

/// Returns the pass with this name, as [`find`] does. `others` are the names of further passes, which the error lists
/// too.
///
/// # Errors
/// Fails if there is none (`pass-unknown`).
pub fn find_among(name: &str, others: &[&str]) -> Result<Pass, Diagnostics> {
    PASSES.iter().copied().find(|p| p.name == name).ok_or_else(|| unknown_pass(name, others).into())
}

/// Who chose the passes and their order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The pipeline: each pass gets what the passes before it guarantee.
    Pipeline,
    /// The user, who may run a pass on a program that it is not made for.
    Any,
}

fn run_list(
    steps: &[Step<'_>],
    module: &Module,
    options: &mut Options<'_>,
    order: Order,
) -> Result<Module, Diagnostics> {
    let mut show = |index: usize, name: &str, module: &Module| {
        if let Some(dump) = &mut options.dump {
            dump(index, name, module);
        }
    };
    let is_verified = options.verify || cfg!(debug_assertions);
    if is_verified {
        verify(module).or(())?;
    }
    show(0, "input", module);
    let mut module = module.clone();
    for (i, step) in steps.iter().enumerate() {
        budget::poll();
        if options.context.keeps_sums && order == Order::Pipeline && step.name == DEFER {
            continue;
        }
        module =
            (step.run)(module, &mut options.context).inspect_err(|found| assert_made_for(step.name, found, order))?;
        show(i + 1, step.name, &module);
        if is_verified {
            check_valid(step.name, &module, order)?;
            if order == Order::Pipeline || options.verify {
                check_stage(step.name, &module, order)?;
            }
        }
    }
    Ok(module)
}

/// Panics if a pass of the pipeline fails because its program is not what the passes before it guarantee.
fn assert_made_for(name: &str, found: &Diagnostics, order: Order) {
    let is_made_for = order == Order::Any || found.iter().all(|d| d.code != "pass-order");
    assert!(is_made_for, "pass `{name}` gets a program that it is not made for (see its dump):\n{found}");
}

/// Verifies the module that a pass made. An invalid module is an error if the user chose the order of the passes. In
/// the pipeline it is a bug of the pass, not a mistake in the program, so this panics.
fn check_valid(name: &str, module: &Module, order: Order) -> Result<(), Diagnostics> {
    let found = verify(module);
    if !found.has_errors() {
        return Ok(());
    }
    assert!(order == Order::Any, "pass `{name}` made an invalid module (see its dump):\n{found}");
    Err(Diagnostics([vec![out_of_order(name)], found.0].concat()))
}

/// Checks what the passes of the pipeline up to the one with this name guarantee. A guarantee that does not hold is an
/// error if the user chose the order of the passes. In the pipeline it is a bug of a pass, so this panics. A name that
/// is not in [`PASSES`] has no guarantees.
fn check_stage(name: &str, module: &Module, order: Order) -> Result<(), Diagnostics> {
    let found = match PASSES.iter().any(|pass| pass.name == name) {
        true => verify_stage(PASSES, name, module),
        false => Ok(()),
    };
    if let (Err(found), Order::Pipeline) = (&found, order) {
        panic!("pass `{name}` does not make what it promises (see its dump):\n{found}");
    }
    found
}

fn out_of_order(name: &str) -> Diagnostic {
    let before: Vec<&str> = PASSES.iter().map(|p| p.name).take_while(|p| *p != name).collect();
    let d = Diagnostic::error(
        "pass-order",
        &Loc::UNKNOWN,
        format!("pass `{name}` makes an invalid module of this program"),
    );
    match before.len() < PASSES.len() && !before.is_empty() {
        true => d.help(format!("run the passes before it first: {}", before.join(", "))),
        false => d,
    }
}

fn unknown_pass(name: &str, others: &[&str]) -> Diagnostic {
    let names = || PASSES.iter().map(|p| p.name).chain(others.iter().copied());
    let d = Diagnostic::error("pass-unknown", &Loc::UNKNOWN, format!("there is no pass `{name}`"));
    match did_you_mean(name, names()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("the passes are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

fn no_main(loc: &Loc) -> Diagnostic {
    Diagnostic::error("module-main", loc, "the module has no functions")
        .help("add the function to run: `func.func public @main`")
}
