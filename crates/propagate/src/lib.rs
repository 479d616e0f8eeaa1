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

#![forbid(unsafe_code)]

mod constraints;
mod draft;
mod edges;
mod export;
mod graph;
mod groups;
mod import;
mod names;
mod rules;
pub mod sharding_groups;
mod split;
pub mod steps;

pub use export::{ORIGINAL_NAME, original_name};
pub use names::Names;
pub use rules::{Pointwise, RULE, check_written_rule, rule_of, written_rule};

use export::Shape;
use shardwise_base::Diagnostics;
use shardwise_ir::symbols::keep_referenced;
use shardwise_ir::{Module, Visibility};
use shardwise_sharding::Options;

/// Returns the module with a sharding on every tensor of its main function that propagation reaches.
///
/// The shardings of the module must be over one mesh. Calls and composites of the main function ([`Module::main`]) are
/// replaced by the bodies of their callees. In the main function, axes of size 1 are dropped from shardings, each use
/// of a constant that is not a scalar gets a copy, and pure ops whose results are not used are removed, except sharding
/// constraints. Private functions that are not referred to any more are removed, and other functions stay as they are.
/// A module without functions is returned unchanged.
///
/// # Errors
/// Fails if a function calls itself (`call-recursion`), if calls nest too deep (`call-depth`), or if the program has
/// too many ops once calls are replaced (`call-size`) or constants are copied for each use (`constant-size`).
pub fn propagate(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let Some(main) = module.main() else { return Ok(module.clone()) };
    let mut draft = import::import(module, main)?;
    split::split_constants(&mut draft)?;
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
