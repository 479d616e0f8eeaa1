//! Shardy's passes under Shardy's names, each from module to module: for comparison with the real ones, pass by pass,
//! and for running its test files.
//!
//! The pipeline proper ([`crate::PASSES`]) shares propagation with them and has passes of its own behind it, which
//! choose by bytes. Here every choice is Shardy's. A pass is asked for as `name{option=value other=value}`.

mod collectives;
mod edit;
mod mistakes;
mod reshards;
mod settings;
mod tidy;

use crate::propagate;
use settings::Settings;
use shardwise_base::Diagnostics;
use shardwise_ir::Module;
use shardwise_sharding::{Options, Strategy};

/// One of Shardy's passes.
pub struct ShardyPass {
    pub name: &'static str,
    pub options: &'static [&'static str],
    run: Run,
    /// One line for `--help` and for the docs.
    pub describes: &'static str,
}

macro_rules! passes {
    ($($name:literal $options:tt $run:expr, $describes:literal;)*) => {
        &[$(ShardyPass { name: $name, options: &$options, run: $run, describes: $describes },)*]
    };
}

const PROPAGATION: [&str; 5] = [
    "keep-sharding-rules",
    "conservative-propagation",
    "propagation-strategy",
    "debug-sharding-origins",
    "debug-propagation-edge-sharding",
];

const EXPORT: [&str; 2] = ["enable-insert-explicit-collectives", "remove-all-gather-reduce-scatter-for-cmv1"];

/// All of them: import, propagation, export.
pub const SHARDY_PASSES: &[ShardyPass] = passes! {
    "sdy-lift-inlined-meshes" [] tidy::lift_meshes, "each mesh once, by name";
    "sdy-add-data-flow-edges" [] |m, _| propagate::add_edges(m), "ops for the edges of loops, branches and regions";
    "sdy-apply-sharding-constraints" ["debug-sharding-origins", "debug-propagation-edge-sharding"]
        |m, _| propagate::apply_constraints(m), "constraints speak for their inputs";
    "sdy-constant-or-scalar-splitter" [] |m, _| propagate::split_constants(m), "a constant for each use";
    "sdy-manual-axes-cleanup" [] tidy::clean_manual_axes, "manual axes sorted, unused ones replicated";
    "sdy-remove-size-one-axes" [] tidy::remove_unit_axes, "axes of size 1 leave shardings";
    "sdy-propagate-sharding-from-func-to-call" [] tidy::results_to_calls, "calls have their functions' shardings";
    "sdy-pre-order-funcs" [] tidy::order_funcs, "functions in front of their callees";
    "sdy-sharding-group-import" [] tidy::import_groups, "groups that share a value are one";
    "symbol-dce" [] tidy::drop_unused_funcs, "private functions that nobody names go";
    "sdy-basic-propagate" PROPAGATION |m, s| spread(m, s, Level::Basic), "factors that all tensors agree on";
    "sdy-aggressive-propagate" PROPAGATION |m, s| spread(m, s, Level::Aggressive), "each tensor for itself";
    "sdy-op-priority-propagate" PROPAGATION |m, s| spread(m, s, Level::OpPriority), "in rounds, by kind of op";
    "sdy-user-priority-propagate" PROPAGATION |m, s| spread(m, s, Level::UserPriority), "in rounds, by the user's priorities";
    "sdy-populate-op-sharding-rules" ["conservative-propagation"] tidy::populate_rules, "each op's rule as an attribute";
    "sdy-constant-or-scalar-merger" [] tidy::merge_constants, "equal constants of a region are one";
    "sdy-sink-data-flow-edges" ["sink-debug-sharding-origins", "sink-debug-propagation-edge-sharding"]
        |m, _| propagate::sink_edges(m), "what edges say goes to their owners";
    "sdy-remove-sharding-groups" [] tidy::remove_groups, "groups go";
    "sdy-sharding-constraint-to-reshard" [] tidy::constraints_to_reshards, "constraints become reshards";
    "sdy-update-non-divisible-input-output-shardings" [] tidy::make_divisible, "boundaries have even shards";
    "sdy-remove-sub-axes-in-input-output-shardings" [] tidy::remove_sub_axes, "the main function has whole axes";
    "sdy-propagate-to-func-results" [] tidy::body_to_results, "functions give what their bodies have";
    "sdy-close-shardings" [] tidy::close, "no open dimensions, no replicated axes";
    "sdy-insert-explicit-reshards" ["enable-full-version"] reshards::run, "reshards where an op needs them";
    "sdy-reshard-to-collectives" ["keep-redundant-reshards"] collectives::run, "reshards as collectives";
    "sdy-drop-sharding-rules" [] tidy::drop_rules, "rules that are not the user's go";
    "sdy-import-pipeline" ["dedup-functions-fully"] import, "all that comes before propagation";
    "sdy-export-pipeline" EXPORT export, "all that comes after propagation";
    "sdy-propagation-pipeline" ["dedup-functions-fully"] pipeline, "import, propagation, export";
    "sdy-drop-sharding-and-mesh" [] tidy::drop_shardings, "shardings and meshes go";
};

/// Whether `text` asks for one of Shardy's passes.
pub fn is_name(text: &str) -> bool {
    let name = text.split('{').next().unwrap_or(text).trim();
    SHARDY_PASSES.iter().any(|p| p.name == name)
}

/// A pass with its options, ready to run.
pub(crate) struct Asked {
    pub pass: &'static ShardyPass,
    settings: Settings,
}

impl Asked {
    /// The pass that `text` asks for; `None` if its name is none of Shardy's.
    pub fn parse(text: &str) -> Option<Result<Asked, Diagnostics>> {
        let (name, options) = text.split_at(text.find('{').unwrap_or(text.len()));
        let pass = SHARDY_PASSES.iter().find(|p| p.name == name.trim())?;
        let settings = if options.is_empty() { Ok(Settings::default()) } else { Settings::parse(pass, options) };
        Some(settings.map(|settings| Asked { pass, settings }))
    }

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
        op_priorities: level >= Level::OpPriority,
        user_priorities: level >= Level::UserPriority,
        is_conservative: settings.is_on("conservative-propagation"),
        record_origins: false,
    };
    let out = propagate::propagate_as_written(module, &options)?;
    if settings.is_on("keep-sharding-rules") {
        return tidy::populate_rules(&out, settings);
    }
    tidy::drop_rules(&out, settings)
}

/// Runs passes one after the other, with the same settings.
fn chain(module: &Module, passes: &[Run], settings: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for pass in passes {
        out = pass(&out, settings)?;
    }
    Ok(out)
}

type Run = fn(&Module, &Settings) -> Result<Module, Diagnostics>;

/// What is tidied up before propagation.
const BEFORE: &[Run] = &[
    tidy::drop_unused_funcs,
    tidy::lift_meshes,
    tidy::remove_unit_axes,
    tidy::results_to_calls,
    tidy::clean_manual_axes,
];

fn import(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let tidied = chain(module, BEFORE, settings)?;
    propagate::add_edges(&propagate::split_constants(&tidied)?)
}

fn pipeline(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let tidied = chain(module, BEFORE, settings)?;
    let spread = propagate::propagate_in_place(&tidied, &Options::default())?;
    let ordered = tidy::order_funcs(&spread, settings)?;
    export(&tidy::body_to_results(&ordered, settings)?, settings)
}

fn export(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let after: [Run; 8] = [
        tidy::merge_constants,
        |m, _| propagate::sink_edges(m),
        tidy::remove_groups,
        tidy::constraints_to_reshards,
        tidy::make_divisible,
        tidy::remove_sub_axes,
        tidy::close,
        reshards::run,
    ];
    let tidied = chain(module, &after, settings)?;
    tidy::drop_rules(&tidied, settings)
}
