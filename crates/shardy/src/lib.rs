//! Shardy's passes under Shardy's names, each from module to module. They exist for comparison with Shardy, pass by
//! pass, and for running its test files.
//!
//! The partitioner shares propagation with them (`shardwise-propagate`) and continues with passes of its own, which
//! choose by the number of bytes moved. Nothing that is shipped depends on this crate. Here every choice is Shardy's. A pass is requested as `name{option=value
//! other=value}`.

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
mod tidy;
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
    /// One line of description for `--help` and for the docs.
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

/// All passes, in the order of import, propagation and export.
pub const SHARDY_PASSES: &[ShardyPass] = passes! {
    "sdy-lift-inlined-meshes" [] meshes::lift, "each mesh once, by name";
    "sdy-inline-meshes" [] meshes::inline, "meshes written out where they are used";
    "sdy-explicit-gather-scatter-batching" [] batching::run, "dimensions that indices only count along are batches";
    "sdy-add-data-flow-edges" [] |m, _| steps::add_edges(m), "ops for the edges of loops, branches and regions";
    "sdy-apply-sharding-constraints" NOTES
        |m, _| steps::apply_constraints(m), "constraints speak for their inputs";
    "sdy-constant-or-scalar-splitter" [] |m, _| steps::split_constants(m), "a constant for each use";
    "sdy-manual-axes-cleanup" [] tidy::clean_manual_axes, "manual axes sorted, unused ones replicated";
    "sdy-remove-size-one-axes" [] tidy::remove_unit_axes, "axes of size 1 leave shardings";
    "sdy-propagate-sharding-from-func-to-call" [] tidy::results_to_calls, "calls have their functions' shardings";
    "sdy-flatten-call-graph" [] calls::flatten, "a function of its own for each call";
    "sdy-import-func-calls" ["add-data-flow-edges-on-named-computations"] calls::import, "calls as named computations";
    "sdy-add-func-data-flow-edges" [] |m, _| steps::add_func_edges(m), "ops for the edges of calls";
    "sdy-pre-order-funcs" [] tidy::order_funcs, "functions in front of their callees";
    "sdy-sharding-group-import" [] tidy::import_groups, "groups that share a value are one";
    "symbol-dce" [] tidy::drop_unused_funcs, "private functions that nobody names go";
    "sdy-basic-propagate" BASIC |m, s| spread(m, s, Level::Basic), "factors that all tensors agree on";
    "sdy-aggressive-propagate" AGGRESSIVE |m, s| spread(m, s, Level::Aggressive), "each tensor for itself";
    "sdy-op-priority-propagate" PRIORITIES |m, s| spread(m, s, Level::OpPriority), "in rounds, by kind of op";
    "sdy-user-priority-propagate" PRIORITIES |m, s| spread(m, s, Level::UserPriority), "in rounds, by the user's priorities";
    "sdy-populate-op-sharding-rules" ["conservative-propagation"] tidy::populate_rules, "each op's rule as an attribute";
    "sdy-sink-func-data-flow-edges" [] |m, _| steps::sink_func_edges(m), "what edges of calls say goes to their owners";
    "sdy-export-named-computations" [] |m, _| steps::outline_computations(m), "named computations as functions and calls";
    "sdy-unflatten-call-graph" ["dedup-functions-fully"] calls::unflatten, "of equal functions with one origin one is kept";
    "sdy-insert-func-call-reshards" [] calls::insert_reshards, "calls give what their functions give";
    "sdy-constant-or-scalar-merger" [] tidy::merge_constants, "equal constants of a region are one";
    "sdy-sink-data-flow-edges" ["sink-debug-sharding-origins", "sink-debug-propagation-edge-sharding"]
        |m, _| steps::sink_edges(m), "what edges say goes to their owners";
    "sdy-remove-sharding-groups" [] tidy::remove_groups, "groups go";
    "sdy-sharding-constraint-to-reshard" [] tidy::constraints_to_reshards, "constraints become reshards";
    "sdy-update-non-divisible-input-output-shardings" [] tidy::make_divisible, "boundaries have even shards";
    "sdy-remove-sub-axes-in-input-output-shardings" [] tidy::remove_sub_axes, "the main function has whole axes";
    "sdy-propagate-to-func-results" [] tidy::body_to_results, "functions give what their bodies have";
    "sdy-close-shardings" [] tidy::close, "no open dimensions, no replicated axes";
    "sdy-verify-unreduced-axes" [] unreduced::verify, "no sum that is still to be taken gets lost";
    "sdy-insert-explicit-reshards" ["enable-full-version"] reshards::run, "reshards where an op needs them";
    "sdy-reshard-to-collectives" ["keep-redundant-reshards"] collectives::run, "reshards as collectives";
    "sdy-remove-all-gather-reduce-scatter-for-cmv1" [] tidy::leave_to_products, "products take in the collectives around";
    "sdy-remove-propagation-debug-info" [] tidy::drop_notes, "notes of where shardings come from go";
    "canonicalize" [] canonical::all, "collectives and regions that do nothing go, neighbours are one";
    "sdy-drop-sharding-rules" [] tidy::drop_rules, "rules that are not the user's go";
    "sdy-import-pipeline" ["dedup-functions-fully"] import, "all that comes before propagation";
    "sdy-export-pipeline" EXPORT export_inline, "all that comes after propagation";
    "sdy-propagation-pipeline" ["dedup-functions-fully"] pipeline, "import, propagation, export";
    "sdy-drop-sharding-and-mesh" [] tidy::drop_shardings, "shardings and meshes go";
};

/// Runs passes, each requested as `name{option=value other=value}`, in this order.
///
/// # Errors
/// Fails if there is no pass of a name (`pass-unknown`), if options are wrong, or if a pass fails or makes an invalid
/// module.
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
    /// Parses a request for a pass. Returns `None` if no pass of Shardy has this name, and an error if the options are
    /// wrong.
    pub fn parse(text: &str) -> Option<Result<Request, Diagnostics>> {
        let (name, options) = text.split_at(text.find('{').unwrap_or(text.len()));
        let pass = SHARDY_PASSES.iter().find(|p| p.name == name.trim())?;
        let settings = if options.is_empty() { Ok(Settings::default()) } else { Settings::parse(pass, options) };
        Some(settings.map(|settings| Request { pass, settings }))
    }

    /// Runs the pass.
    ///
    /// # Errors
    /// Fails if the pass does.
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
        return tidy::populate_rules(&out, settings);
    }
    tidy::drop_rules(&out, settings)
}

/// Runs passes one after the other with the same settings.
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
        tidy::drop_unused_funcs,
        meshes::lift,
        tidy::remove_unit_axes,
        tidy::results_to_calls,
        |m, _| steps::split_constants(m),
        tidy::drop_unused_funcs,
        tidy::clean_manual_axes,
        |m, _| steps::add_edges(m),
    ];
    let out = chain(module, before, settings)?;
    match settings.is_on("dedup-functions-fully") {
        true => chain(&out, &[|m, _| steps::apply_constraints(m), tidy::import_groups], settings),
        false => Ok(out),
    }
}

/// Runs Shardy's propagation pipeline. The steps that change the order of uses run as one step, because the result
/// depends on this order.
fn pipeline(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let before: &[Run] = &[
        tidy::drop_unused_funcs,
        meshes::lift,
        tidy::remove_unit_axes,
        tidy::results_to_calls,
        tidy::clean_manual_axes,
    ];
    let after: &[Run] =
        &[tidy::body_to_results, calls::unflatten, tidy::drop_unused_funcs, calls::insert_reshards, export];
    let tidied = chain(module, before, settings)?;
    let propagate = match settings.is_on("dedup-functions-fully") {
        true => steps::propagate_in_place,
        false => steps::propagate_flat,
    };
    chain(&propagate(&tidied, &Options::default())?, after, &Settings::default())
}

/// Runs the export pipeline and then writes meshes inline, which it does not do as a part of the propagation pipeline.
fn export_inline(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let out = export(module, settings)?;
    match settings.is_on_by_default("inline-meshes") {
        true => meshes::inline(&out, settings),
        false => Ok(out),
    }
}

fn export(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let after: &[Run] = &[
        tidy::merge_constants,
        |m, _| steps::sink_edges(m),
        tidy::remove_groups,
        tidy::constraints_to_reshards,
        tidy::make_divisible,
        tidy::remove_sub_axes,
        tidy::close,
    ];
    let mut out = chain(module, after, settings)?;
    if settings.is_on("enable-insert-explicit-collectives") {
        let collectives: &[Run] = &[reshards::run_fully, canonical::reshards, collectives::run, canonical::collectives];
        out = chain(&out, collectives, &Settings::default())?;
        if settings.is_on("remove-all-gather-reduce-scatter-for-cmv1") {
            out = tidy::leave_to_products(&out, settings)?;
        }
    } else {
        out = chain(&out, &[reshards::run, canonical::collectives], &Settings::default())?;
    }
    tidy::drop_rules(&out, settings)
}
