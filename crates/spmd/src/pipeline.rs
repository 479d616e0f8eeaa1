//! The list of passes, and functions that run them.

use crate::explain::{Communication, communication};
use crate::{cleanup, collectives, localize, lower, pad, prepare, propagate, reshard, schedule, shardy, uniform};
use shardwise_base::{Diagnostic, Diagnostics, Loc, budget, did_you_mean};
use shardwise_engine::Signature;
use shardwise_ir::{Module, verify};

/// A named function from module to module.
#[derive(Clone, Copy)]
pub struct Pass {
    pub name: &'static str,
    /// The function. It does not copy what it leaves unchanged if the module has no other owner. It adds its warnings
    /// to the diagnostics.
    pub run: fn(Module, &mut Diagnostics) -> Result<Module, Diagnostics>,
    /// One line of description for `--help` and for the docs.
    pub describes: &'static str,
}

/// The passes that turn a program on global values into the program of one device.
///
/// Propagation comes first and sees the program as written, because its results depend on where values enter and leave
/// functions.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "propagate",
        run: |m, w| propagate::propagate_warning(&m, &Default::default(), w),
        describes: "every tensor gets a sharding",
    },
    Pass {
        name: "lower",
        run: |m, _| lower::lower(&m),
        describes: "calls, named computations and composites are inlined",
    },
    Pass {
        name: "reshard",
        run: |m, _| reshard::reshard(&m),
        describes: "operands and results of every op agree with its rule",
    },
    Pass {
        name: "collectives",
        run: |m, _| collectives::collectives(&m),
        describes: "each reshard becomes its cheapest collectives",
    },
    Pass { name: "pad", run: |m, _| pad::pad(&m), describes: "sharded dimensions divide evenly; padding is masked" },
    Pass { name: "localize", run: |m, w| localize::localize(&m, w), describes: "global types become per-device types" },
    Pass { name: "cleanup", run: |m, _| cleanup::cleanup(m), describes: "what is dead or repeated goes" },
    Pass { name: "schedule", run: |m, _| schedule::schedule(m), describes: "collectives start as early as they can" },
    Pass { name: "uniform", run: |m, _| uniform::uniform(m), describes: "each value says over which axes it varies" },
];

/// A function that is called for each stage with its number, the name of the pass that made it, and the module. Stage 0
/// is the input.
pub type DumpHook<'a> = &'a mut dyn FnMut(usize, &str, &Module);

/// Options of the partitioner.
#[derive(Default)]
pub struct Options<'a> {
    pub dump: Option<DumpHook<'a>>,
    /// Whether to verify the module after each pass. Debug builds always do.
    pub verify: bool,
    /// The warnings of the passes.
    pub warnings: Diagnostics,
}

/// A program for one device, with its signature, its communication and the warnings.
pub struct Partitioned {
    pub module: Module,
    pub signature: Signature,
    pub communication: Communication,
    pub warnings: Diagnostics,
}

/// Runs all passes.
///
/// # Errors
/// Fails if a pass does, or if the module has no main function.
pub fn partition(module: &Module, options: &mut Options<'_>) -> Result<Partitioned, Diagnostics> {
    let module = run_list(&own(PASSES), module, options, Order::Pipeline)?;
    let signature = Signature::of(module.main().ok_or_else(|| no_main(&module.loc))?)?;
    let communication = communication(&module);
    Ok(Partitioned { module, signature, communication, warnings: std::mem::take(&mut options.warnings) })
}

/// Runs the passes with these names, in this order. They are passes of the pipeline, or passes of Shardy by their names
/// there ([`crate::shardy`]).
///
/// # Errors
/// Fails if there is no pass of a name, or if a pass fails.
pub fn run_passes(names: &[&str], module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    let passes: Vec<AnyPass> = names.iter().map(|name| find_any(name)).collect::<Result<_, _>>()?;
    let laid_out = match passes.iter().any(|p| matches!(p, AnyPass::Own(_))) {
        true => prepare::layouts(module, &mut options.warnings)?,
        false => None,
    };
    run_list(&passes, laid_out.as_ref().unwrap_or(module), options, Order::Any)
}

/// A pass of the pipeline, or one of Shardy's.
enum AnyPass {
    Own(Pass),
    Shardy(shardy::Asked),
}

impl AnyPass {
    fn name(&self) -> &'static str {
        match self {
            AnyPass::Own(pass) => pass.name,
            AnyPass::Shardy(asked) => asked.pass.name,
        }
    }

    fn run(&self, module: Module, warnings: &mut Diagnostics) -> Result<Module, Diagnostics> {
        match self {
            AnyPass::Own(pass) => (pass.run)(module, warnings),
            AnyPass::Shardy(asked) => asked.run(&module),
        }
    }
}

fn own(passes: &[Pass]) -> Vec<AnyPass> {
    passes.iter().copied().map(AnyPass::Own).collect()
}

fn find_any(text: &str) -> Result<AnyPass, Diagnostics> {
    match shardy::Asked::parse(text) {
        Some(asked) => Ok(AnyPass::Shardy(asked?)),
        None => find(text).map(AnyPass::Own),
    }
}

/// Runs the passes up to and including the one with this name.
///
/// # Errors
/// Fails if there is no such pass, or if a pass fails.
pub fn run_until(name: &str, module: &Module, options: &mut Options<'_>) -> Result<Module, Diagnostics> {
    find(name)?;
    let last = PASSES.iter().position(|p| p.name == name).expect("found above");
    run_list(&own(&PASSES[..=last]), module, options, Order::Pipeline)
}

fn find(name: &str) -> Result<Pass, Diagnostics> {
    PASSES.iter().copied().find(|p| p.name == name).ok_or_else(|| unknown_pass(name).into())
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
    passes: &[AnyPass],
    module: &Module,
    options: &mut Options<'_>,
    order: Order,
) -> Result<Module, Diagnostics> {
    let mut show = |index: usize, name: &str, module: &Module| {
        if let Some(dump) = &mut options.dump {
            dump(index, name, module);
        }
    };
    show(0, "input", module);
    let mut module = module.clone();
    for (i, pass) in passes.iter().enumerate() {
        budget::poll();
        module = pass.run(module, &mut options.warnings)?;
        show(i + 1, pass.name(), &module);
        if options.verify || cfg!(debug_assertions) {
            check_valid(pass.name(), &module, order)?;
        }
    }
    Ok(module)
}

/// Verifies the module that a pass made. In the pipeline an invalid module is a bug of the pass, not a mistake in the
/// program, so this panics.
fn check_valid(name: &str, module: &Module, order: Order) -> Result<(), Diagnostics> {
    let found = verify(module);
    if !found.has_errors() {
        return Ok(());
    }
    assert!(order == Order::Any, "pass `{name}` made an invalid module (see its dump):\n{found}");
    Err(Diagnostics([vec![out_of_order(name)], found.0].concat()))
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

fn unknown_pass(name: &str) -> Diagnostic {
    let names = || PASSES.iter().map(|p| p.name).chain(shardy::SHARDY_PASSES.iter().map(|p| p.name));
    let d = Diagnostic::error("pass-unknown", &Loc::UNKNOWN, format!("there is no pass `{name}`"));
    match did_you_mean(name, names()) {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d.help(format!("the passes are {}", names().collect::<Vec<_>>().join(", "))),
    }
}

fn no_main(loc: &Loc) -> Diagnostic {
    Diagnostic::error("module-main", loc, "the module has no function to run").help("add a public function `@main`")
}
