//! Shardy's passes under Shardy's names, each from module to module. They exist for comparison with Shardy, pass by
//! pass, and for running its test files.
//!
//! The partitioner shares propagation with them (`shardwise-propagate`) and continues with passes of its own, which
//! choose by the number of bytes moved. Nothing that is shipped depends on this crate. Here every choice is Shardy's.
//! A pass is requested as `name{option=value other=value}`.

mod batching;
mod calls;
mod canonical;
mod collectives;
mod common_axes;
mod edit;
mod meshes;
mod mistakes;
mod reshards;
mod settings;
mod small_passes;
mod unreduced;

use settings::Settings;
use shardwise_base::Diagnostics;
use shardwise_ir::{Module, verify};
use shardwise_propagate::steps;
use shardwise_sharding::{Options, Strategy};

/// A pass of Shardy.
pub struct ShardyPass {
    pub name: &'static str,
    pub options: &'static [&'static str],
    run: Run,
    /// One line of description for the docs.
    pub describes: &'static str,
}

macro_rules! passes {
    ($($name:literal $options:tt $run:expr, $describes:literal;)*) => {
        &[$(ShardyPass { name: $name, options: &$options, run: $run, describes: $describes },)*]
    };
}

const NOTES: [&str; 2] = ["debug-sharding-origins", "debug-propagation-edge-sharding"];

const BASIC: [&str; 4] = ["keep-sharding-rules", "conservative-propagation", NOTES[0], NOTES[1]];

const AGGRESSIVE: [&str; 5] = [BASIC[0], BASIC[1], "propagation-strategy", NOTES[0], NOTES[1]];

const PRIORITIES: [&str; 6] = [BASIC[0], BASIC[1], AGGRESSIVE[2], "run-op-priority-propagation", NOTES[0], NOTES[1]];

const EXPORT: [&str; 3] =
    ["enable-insert-explicit-collectives", "remove-all-gather-reduce-scatter-for-cmv1", "inline-meshes"];

/// All passes, roughly in the order of import, propagation and export. Most pipelines are at the end.
pub const SHARDY_PASSES: &[ShardyPass] = passes! {
    "sdy-lift-inlined-meshes" [] meshes::lift, "defines each mesh once, by name";
    "sdy-inline-meshes" [] meshes::inline, "writes each mesh out where it is used";
    "sdy-explicit-gather-scatter-batching" [] batching::run,
        "makes the first dimension a batching dimension if the indices only count along it";
    "sdy-add-data-flow-edges" [] |m, _| steps::add_edges(m),
        "adds ops for the data-flow edges of loops, branches and regions";
    "sdy-apply-sharding-constraints" NOTES
        |m, _| steps::apply_constraints(m), "applies constraints to their inputs";
    "sdy-constant-or-scalar-splitter" [] |m, _| steps::split_constants(m), "gives each use of a constant its own copy";
    "sdy-manual-axes-cleanup" [] small_passes::clean_manual_axes, "sorts manual axes, and replicates unused ones";
    "sdy-remove-size-one-axes" [] small_passes::remove_unit_axes, "removes axes of size 1 from shardings";
    "sdy-propagate-sharding-from-func-to-call" [] small_passes::results_to_calls,
        "copies shardings of functions' results to calls without shardings";
    "sdy-flatten-call-graph" [] calls::flatten, "gives each call its own function";
    "sdy-import-func-calls" ["add-data-flow-edges-on-named-computations"] calls::import,
        "replaces calls by named computations";
    "sdy-add-func-data-flow-edges" [] |m, _| steps::add_func_edges(m), "adds ops for the data-flow edges of calls";
    "sdy-pre-order-funcs" [] small_passes::order_funcs, "orders functions before their callees";
    "sdy-sharding-group-import" [] small_passes::import_groups, "merges sharding groups that share a value";
    "symbol-dce" [] small_passes::drop_unused_funcs, "removes private functions that are not referred to";
    "sdy-basic-propagate" BASIC |m, s| spread(m, s, Level::Basic),
        "propagates along factors on which all tensors agree";
    "sdy-aggressive-propagate" AGGRESSIVE |m, s| spread(m, s, Level::Aggressive),
        "propagates along factors for each tensor separately";
    "sdy-op-priority-propagate" PRIORITIES |m, s| spread(m, s, Level::OpPriority),
        "propagates in rounds, by kind of op";
    "sdy-user-priority-propagate" PRIORITIES |m, s| spread(m, s, Level::UserPriority),
        "propagates in rounds, by the user's priorities";
    "sdy-populate-op-sharding-rules" ["conservative-propagation"] small_passes::populate_rules,
        "adds each op's sharding rule as an attribute";
    "sdy-sink-func-data-flow-edges" [] |m, _| steps::sink_func_edges(m),
        "moves shardings of calls' edges to the edges' owners";
    "sdy-export-named-computations" [] |m, _| steps::outline_computations(m),
        "replaces named computations by functions and calls";
    "sdy-unflatten-call-graph" ["dedup-functions-fully"] calls::unflatten,
        "merges equal functions with the same origin";
    "sdy-insert-func-call-reshards" [] calls::insert_reshards,
    "reshards results of calls from the layouts of their functions' results";
    "sdy-constant-or-scalar-merger" [] small_passes::merge_constants, "merges equal constants of a region";
    "sdy-sink-data-flow-edges" ["sink-debug-sharding-origins", "sink-debug-propagation-edge-sharding"]
        |m, _| steps::sink_edges(m), "moves shardings of edges to the edges' owners";
    "sdy-remove-sharding-groups" [] small_passes::remove_groups, "removes sharding groups";
    "sdy-sharding-constraint-to-reshard" [] small_passes::constraints_to_reshards, "replaces constraints by reshards";
    "sdy-update-non-divisible-input-output-shardings" [] small_passes::make_divisible,
        "makes shards of arguments and results even";
    "sdy-remove-sub-axes-in-input-output-shardings" [] small_passes::remove_sub_axes,
        "removes sub-axes, and axes after them, from open dimensions of the main function's arguments and results";
    "sdy-propagate-to-func-results" [] small_passes::body_to_results,
        "copies shardings of function bodies to the results of all functions except the main function";
    "sdy-close-shardings" [] small_passes::close, "closes all dimensions, and removes replicated axes";
    "sdy-verify-unreduced-axes" [] unreduced::verify, "checks that no unreduced sum is lost";
    "sdy-insert-explicit-reshards" ["enable-full-version"] reshards::run, "inserts reshards where an op needs them";
    "sdy-reshard-to-collectives" ["keep-redundant-reshards"] collectives::run, "replaces reshards by collectives";
    "sdy-remove-all-gather-reduce-scatter-for-cmv1" [] small_passes::leave_to_products,
        "removes gathers and scatters around products";
    "sdy-remove-propagation-debug-info" [] small_passes::drop_notes, "removes records of where shardings come from";
    "canonicalize" [] canonical::all,
        "removes collectives without effect and unused ops, and merges adjacent reshards and collectives";
    "sdy-drop-sharding-rules" [] small_passes::drop_rules, "removes sharding rules that the user did not write";
    "sdy-import-pipeline" ["dedup-functions-fully"] import, "runs Shardy's import, which comes before propagation";
    "sdy-export-pipeline" EXPORT export_inline, "runs Shardy's export, which comes after propagation";
    "sdy-propagation-pipeline" ["dedup-functions-fully"] pipeline, "runs import, propagation and export";
    "sdy-drop-sharding-and-mesh" [] small_passes::drop_shardings, "removes shardings and meshes";
};

/// Runs passes, each requested as `name{option=value other=value}`, in this order.
///
/// # Errors
/// Fails if there is no pass of a name (`pass-unknown`), if options are wrong (`pass-option`), or if a pass fails or
/// makes an invalid module.
pub fn run_passes(requests: &[&str], module: &Module) -> Result<Module, Diagnostics> {
    let mut module = module.clone();
    for text in requests {
        let request = Request::parse(text).unwrap_or_else(|| Err(mistakes::unknown(text).into()))?;
        module = request.run(&module)?;
        verify(&module).or(())?;
    }
    Ok(module)
}

/// A pass with its options, ready to run.
pub struct Request {
    pub pass: &'static ShardyPass,
    settings: Settings,
}

impl Request {
    /// Parses a request for a pass. Returns `None` if [`SHARDY_PASSES`] has no pass of this name, and an error if the
    /// options are wrong. Only [`Request::run`] checks the value of the option `propagation-strategy`.
    pub fn parse(text: &str) -> Option<Result<Request, Diagnostics>> {
        let (name, options) = text.split_at(text.find('{').unwrap_or(text.len()));
        let pass = SHARDY_PASSES.iter().find(|p| p.name == name.trim())?;
        let settings = if options.is_empty() { Ok(Settings::default()) } else { Settings::parse(pass, options) };
        Some(settings.map(|settings| Request { pass, settings }))
    }

    /// Runs the pass.
    ///
    /// # Errors
    /// Fails if the pass does, and if there is no strategy of propagation with the name that the options hold.
    pub fn run(&self, module: &Module) -> Result<Module, Diagnostics> {
        (self.pass.run)(module, &self.settings)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Basic,
    Aggressive,
    OpPriority,
    UserPriority,
}

fn spread(module: &Module, settings: &Settings, level: Level) -> Result<Module, Diagnostics> {
    let named = settings.get("propagation-strategy").unwrap_or("aggressive");
    let strategies = match named {
        _ if level == Level::Basic => vec![Strategy::Basic],
        "aggressive" => vec![Strategy::Aggressive],
        "basic" => vec![Strategy::Basic],
        "basic-then-aggressive" => vec![Strategy::Basic, Strategy::Aggressive],
        other => return Err(mistakes::strategy(other).into()),
    };
    let options = Options {
        strategies,
        op_priorities: level >= Level::OpPriority && settings.is_on_by_default("run-op-priority-propagation"),
        user_priorities: level >= Level::UserPriority,
        is_conservative: settings.is_on("conservative-propagation"),
        record_origins: false,
    };
    let out = steps::propagate_as_written(module, &options)?;
    if settings.is_on("keep-sharding-rules") {
        return small_passes::populate_rules(&out, settings);
    }
    small_passes::drop_rules(&out, settings)
}

fn chain(module: &Module, passes: &[Run], settings: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for pass in passes {
        out = pass(&out, settings)?;
    }
    Ok(out)
}

type Run = fn(&Module, &Settings) -> Result<Module, Diagnostics>;

fn import(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let before: &[Run] = &[
        small_passes::drop_unused_funcs,
        meshes::lift,
        small_passes::remove_unit_axes,
        small_passes::results_to_calls,
        |m, _| steps::split_constants(m),
        small_passes::drop_unused_funcs,
        small_passes::clean_manual_axes,
        |m, _| steps::add_edges(m),
    ];
    let out = chain(module, before, settings)?;
    match settings.is_on("dedup-functions-fully") {
        true => chain(&out, &[|m, _| steps::apply_constraints(m), small_passes::import_groups], settings),
        false => Ok(out),
    }
}

/// Runs Shardy's propagation pipeline. The steps that change the order of uses run as one step, because the result
/// depends on this order. Fails if a step does.
fn pipeline(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let before: &[Run] = &[
        small_passes::drop_unused_funcs,
        meshes::lift,
        small_passes::remove_unit_axes,
        small_passes::results_to_calls,
        small_passes::clean_manual_axes,
    ];
    let after: &[Run] = &[
        small_passes::body_to_results,
        calls::unflatten,
        small_passes::drop_unused_funcs,
        calls::insert_reshards,
        export,
    ];
    let tidied = chain(module, before, settings)?;
    let propagate = match settings.is_on("dedup-functions-fully") {
        true => steps::propagate_in_place,
        false => steps::propagate_flat,
    };
    chain(&propagate(&tidied, &Options::default())?, after, &Settings::default())
}

fn export_inline(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let out = export(module, settings)?;
    match settings.is_on_by_default("inline-meshes") {
        true => meshes::inline(&out, settings),
        false => Ok(out),
    }
}

fn export(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let after: &[Run] = &[
        small_passes::merge_constants,
        |m, _| steps::sink_edges(m),
        small_passes::remove_groups,
        small_passes::constraints_to_reshards,
        small_passes::make_divisible,
        small_passes::remove_sub_axes,
        small_passes::close,
    ];
    let mut out = chain(module, after, settings)?;
    if settings.is_on("enable-insert-explicit-collectives") {
        let collectives: &[Run] = &[reshards::run_fully, canonical::reshards, collectives::run, canonical::collectives];
        out = chain(&out, collectives, &Settings::default())?;
        if settings.is_on("remove-all-gather-reduce-scatter-for-cmv1") {
            out = small_passes::leave_to_products(&out, settings)?;
        }
    } else {
        out = chain(&out, &[reshards::run, canonical::collectives], &Settings::default())?;
    }
    small_passes::drop_rules(&out, settings)
}
