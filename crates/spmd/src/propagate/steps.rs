//! Each step of propagation as a pass of its own, on every function as it stands.
//!
//! What one step leaves is text for the next: data-flow edges are ops. The order of uses starts anew each time, as it does
//! for Shardy where a module is written and read between two passes.

use super::draft::Draft;
use super::export::{Edges, export};
use super::import::{import_as_written, refuse_recursion};
use super::{constraints, edges, graph, groups, split};
use shardwise_base::Diagnostics;
use shardwise_ir::Module;
use shardwise_ops::Opcode;
use shardwise_sharding::{Options, Problem, solve};

/// Adds the data-flow edges, as ops.
pub(crate) fn add_edges(module: &Module) -> Result<Module, Diagnostics> {
    each(module, Edges::Keep, |draft| {
        edges::add_edges(draft);
        graph::unsolved(draft)
    })
}

/// Removes the data-flow edges; what they say goes to their owners.
pub(crate) fn sink_edges(module: &Module) -> Result<Module, Diagnostics> {
    each(module, Edges::Sink, |draft| {
        edges::adopt_edges(draft);
        graph::unsolved(draft)
    })
}

/// Gives each use of a constant its own copy.
pub(crate) fn split_constants(module: &Module) -> Result<Module, Diagnostics> {
    let out = each(module, Edges::Keep, |draft| {
        split::split_constants(draft);
        graph::unsolved(draft)
    })?;
    Ok(as_sdy_constants(out))
}

/// Lets constraints speak for their inputs.
pub(crate) fn apply_constraints(module: &Module) -> Result<Module, Diagnostics> {
    each(module, Edges::Keep, |draft| {
        edges::adopt_edges(draft);
        constraints::apply_constraints(draft);
        graph::unsolved(draft)
    })
}

/// Propagates within each function.
pub(crate) fn propagate_as_written(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    each(module, Edges::Keep, |draft| {
        edges::adopt_edges(draft);
        split::mark_dead(draft);
        solved(draft, options)
    })
}

/// What propagation finds. Where an edge holds the sharding, its owner and targets keep what is written on them.
fn solved(draft: &mut Draft<'_>, options: &Options) -> Problem {
    groups::sync(draft);
    let mut problem = graph::build(draft);
    solve(&mut problem, options);
    for (tensor, value) in problem.tensors.iter_mut().zip(&draft.values) {
        if value.edge.is_some() {
            tensor.sharding.clone_from(&value.sharding);
        }
    }
    problem
}

/// All steps in one go, with the edges gone in the end: what lies between the tidying of imports and of exports.
pub(crate) fn propagate_in_place(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let out = each(module, Edges::Sink, |draft| {
        split::split_constants(draft);
        edges::add_edges(draft);
        constraints::apply_constraints(draft);
        split::mark_dead(draft);
        solved(draft, options)
    })?;
    Ok(as_sdy_constants(out))
}

/// Literals as `sdy.constant`, which nothing takes for the same only because they are equal.
fn as_sdy_constants(mut module: Module) -> Module {
    for func in &mut module.funcs {
        for op in func.body.walk() {
            if func.body[op].code == Opcode::Constant.into() {
                func.body.op_mut(op).code = Opcode::SdyConstant.into();
            }
        }
    }
    module
}

fn each(module: &Module, edges: Edges, step: impl Fn(&mut Draft<'_>) -> Problem) -> Result<Module, Diagnostics> {
    refuse_recursion(module)?;
    let mut out = module.without_funcs();
    for func in &module.funcs {
        let mut draft = import_as_written(module, func);
        let problem = step(&mut draft);
        out.funcs.push(export(&draft, &problem, edges));
    }
    Ok(out)
}
