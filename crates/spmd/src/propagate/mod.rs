//! Propagation: chooses a sharding for every value, as Shardy does.
//!
//! Shardings propagate from where the program states them (arguments, results, constraints, manual computations) to all
//! other values, through each op's rule and along data-flow edges. The results are equal to Shardy's. The steps that
//! prepare the program are therefore Shardy's as well, in its order:
//!
//! 1. the main function is converted to a [`draft`] in which calls are replaced by the bodies of their callees and axes
//!    of size 1 are dropped ([`import`]);
//! 2. each use of a constant gets its own copy ([`split`]);
//! 3. loops, branches, calls and manual computations get data-flow edges ([`edges`]);
//! 4. constraints are applied to their inputs too ([`constraints`]);
//! 5. the members of a sharding group get one sharding ([`groups`]);
//! 6. the draft is converted to a problem on tensors and nodes ([`graph`]), which `shardwise-sharding` solves;
//! 7. the solution is written to the values ([`export`]).
//!
//! The shardings that propagation chooses are preferences. Those of constraints, boundaries and manual computations are
//! binding.

mod constraints;
mod draft;
mod edges;
mod export;
mod graph;
mod groups;
mod import;
mod names;
mod rules;
mod shardings;
mod split;
mod steps;

pub(crate) use export::{ORIGINAL_NAME, original_name};
pub(crate) use import::{MAX_DEPTH, MAX_OPS, callees_first, callers_first, refuse_recursion, too_deep, too_large};
pub(crate) use names::Names;
pub(crate) use rules::{Pointwise, RULE, check_written_rule, rule_of, written_rule};
pub(crate) use shardings::{with_all_manual_axes, without_unit_axes};
pub(crate) use steps::{
    add_edges, add_func_edges, apply_constraints, inline_calls, outline_computations, propagate_as_written,
    propagate_flat, propagate_in_place, sink_edges, sink_func_edges, split_constants,
};

use export::Shape;
use shardwise_base::Diagnostics;
use shardwise_ir::{Attr, Func, Module, Visibility};
use shardwise_sharding::Options;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the module with a sharding on every tensor of its main function that propagation reaches.
///
/// Calls and composites of the main function are replaced by the bodies of their callees. Private functions that are
/// not referred to any more are removed, and so are pure ops whose results are not used.
///
/// Errors: call-recursion, call-depth, call-size
pub fn propagate(module: &Module) -> Result<Module, Diagnostics> {
    propagate_with(module, &Options::default())
}

/// Propagates as [`propagate`] does, with other options.
pub fn propagate_with(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    propagate_warning(module, options, &mut Diagnostics::default())
}

/// Propagates as [`propagate_with`] does, and adds its warnings to `warnings`.
pub(crate) fn propagate_warning(
    module: &Module,
    options: &Options,
    warnings: &mut Diagnostics,
) -> Result<Module, Diagnostics> {
    if let Some(prepared) = crate::prepare::prepare(module, warnings)? {
        return propagate_warning(&prepared, options, warnings);
    }
    let Some(main) = module.main() else { return Ok(module.clone()) };
    let mut draft = import::import(module, main)?;
    split::split_constants(&mut draft);
    edges::add_edges(&mut draft);
    constraints::apply_constraints(&mut draft);
    split::mark_dead(&mut draft);
    groups::sync(&mut draft);
    let mut problem = graph::build(&draft, options.is_conservative);
    shardwise_sharding::solve(&mut problem, options);
    let mut out = module.without_funcs();
    out.funcs.extend(export::export(&draft, &problem, Shape::PLAIN));
    let others = module.funcs.iter().filter(|f| !std::ptr::eq(*f, main));
    out.funcs.extend(others.filter(|f| f.visibility == Visibility::Public).cloned());
    keep_referenced(module, &mut out);
    Ok(out)
}

/// Returns the module without the private functions that nothing refers to.
pub(crate) fn without_unused_funcs(module: &Module) -> Module {
    let mut out = module.without_funcs();
    out.funcs = module.funcs.iter().filter(|f| f.visibility == Visibility::Public).cloned().collect();
    keep_referenced(module, &mut out);
    let is_kept = |f: &&Func| out.func(&f.name).is_some();
    out.funcs = module.funcs.iter().filter(is_kept).cloned().collect();
    out
}

/// Adds the functions that the functions in `out` still refer to: callees of other public functions, computations of
/// custom calls.
pub(crate) fn keep_referenced(module: &Module, out: &mut Module) {
    let mut next = 0;
    while let Some(func) = out.funcs.get(next) {
        let mut names = BTreeSet::new();
        for op in func.body.walk() {
            func.body[op].attrs.iter().for_each(|(_, attr)| collect_symbols(attr, &mut names));
        }
        let missing: Vec<Func> =
            names.iter().filter(|n| out.func(n).is_none()).filter_map(|n| module.func(n)).cloned().collect();
        out.funcs.extend(missing);
        next += 1;
    }
}

fn collect_symbols(attr: &Attr, names: &mut BTreeSet<Arc<str>>) {
    match attr {
        Attr::Symbol(name) => {
            names.insert(name.clone());
        }
        Attr::Array(items) => items.iter().for_each(|a| collect_symbols(a, names)),
        Attr::Dict(fields) | Attr::Record { fields, .. } => fields.iter().for_each(|(_, a)| collect_symbols(a, names)),
        _ => {}
    }
}
