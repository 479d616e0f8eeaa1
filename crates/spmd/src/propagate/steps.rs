//! Each step of propagation as a pass of its own, on every function as it stands.
//!
//! What one step leaves is text for the next: data-flow edges are ops. The order of uses starts anew each time, as it does
//! for Shardy where a module is written and read between two passes.

use super::draft::Draft;
use super::export::{Calls, Edges, Shape, export};
use super::import::{callers_first, import_as_written, import_flat};
use super::{constraints, edges, graph, groups, split};
use shardwise_base::Diagnostics;
use shardwise_ir::{Module, Visibility};
use shardwise_ops::Opcode;
use shardwise_sharding::{Options, Problem, solve};

/// Adds the data-flow edges, as ops.
pub(crate) fn add_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, edges::add_edges)
}

/// Adds the edges of calls, as ops.
pub(crate) fn add_func_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, edges::add_func_edges)
}

/// Removes the data-flow edges; what they say goes to their owners.
pub(crate) fn sink_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::PLAIN, edges::adopt_edges)
}

/// Removes the edges of calls; what they say goes to their owners.
pub(crate) fn sink_func_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape { edges: Edges::SinkFuncs, ..Shape::AS_WRITTEN }, |draft| {
        edges::adopt_edges(draft);
        edges::settle_func_edges(draft);
    })
}

/// Gives each use of a constant its own copy.
pub(crate) fn split_constants(module: &Module) -> Result<Module, Diagnostics> {
    Ok(as_sdy_constants(change(module, Shape::AS_WRITTEN, split::split_constants)?))
}

/// Lets constraints speak for their inputs.
pub(crate) fn apply_constraints(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, |draft| {
        edges::adopt_edges(draft);
        constraints::apply_constraints(draft);
    })
}

/// Calls as named computations, with their edges if these are wanted.
pub(crate) fn inline_calls(module: &Module, with_edges: bool) -> Result<Module, Diagnostics> {
    let mut draft = import_flat(module)?;
    if with_edges {
        edges::add_call_edges(&mut draft);
    }
    let shape = Shape { calls: Calls::Named, ..Shape::AS_WRITTEN };
    Ok(exported(&draft, &graph::unsolved(&draft), shape))
}

/// Named computations as calls of functions, without their edges.
pub(crate) fn outline_computations(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape { calls: Calls::Outline, ..Shape::AS_WRITTEN }, edges::adopt_edges)
}

/// Propagates in all functions.
pub(crate) fn propagate_as_written(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    edges::adopt_edges(&mut draft);
    let problem = solved(&mut draft, options);
    Ok(exported(&draft, &problem, Shape::AS_WRITTEN))
}

/// What propagation finds. Where an edge holds the sharding, its owner and targets keep what is written on them.
fn solved(draft: &mut Draft<'_>, options: &Options) -> Problem {
    split::mark_dead(draft);
    groups::sync(draft);
    edges::tie_func_edges(draft);
    let mut problem = graph::build(draft, options.is_conservative);
    solve(&mut problem, options);
    for (tensor, value) in problem.tensors.iter_mut().zip(&draft.values) {
        if value.edge.is_some() {
            tensor.sharding.clone_from(&value.sharding);
        }
    }
    problem
}

/// All steps in one go, each call by itself, with the edges gone in the end and the calls' bodies functions of their own:
/// what lies between the tidying of imports and of exports.
pub(crate) fn propagate_flat(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_flat(module)?;
    split::split_constants(&mut draft);
    edges::add_edges(&mut draft);
    constraints::apply_constraints(&mut draft);
    order_roots(&mut draft);
    let problem = solved(&mut draft, options);
    Ok(as_sdy_constants(exported(&draft, &problem, Shape { calls: Calls::Outline, ..Shape::PLAIN })))
}

/// The same with one sharding for all calls of a function: they stay as they are.
pub(crate) fn propagate_in_place(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    split::split_constants(&mut draft);
    drop_unused(&mut draft);
    edges::add_edges(&mut draft);
    constraints::apply_constraints(&mut draft);
    edges::add_func_edges(&mut draft);
    order_roots(&mut draft);
    let problem = solved(&mut draft, options);
    edges::settle_func_edges(&mut draft);
    Ok(as_sdy_constants(exported(&draft, &problem, Shape::PLAIN)))
}

/// Callers in front of those that they call.
fn order_roots(draft: &mut Draft<'_>) {
    let order = callers_first(draft.module);
    let place = |name: &str| draft.module.func_id(name).and_then(|id| order.iter().position(|&o| o == id));
    let mut roots = draft.roots.clone();
    // Copies stand behind their originals.
    roots.sort_by_key(|&r| place(&draft.frame(r).func.name));
    draft.roots = roots;
}

/// Removes the private functions that nobody calls.
fn drop_unused(draft: &mut Draft<'_>) {
    loop {
        let called: Vec<_> = draft.callers().into_keys().collect();
        let before = draft.roots.len();
        let is_public = |draft: &Draft<'_>, r| draft.frame(r).func.visibility == Visibility::Public;
        let kept = draft.roots.iter().copied().filter(|&r| is_public(draft, r) || called.contains(&r));
        draft.roots = kept.collect();
        if draft.roots.len() == before {
            return;
        }
    }
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

/// A step that changes the program and finds no shardings.
fn change(module: &Module, shape: Shape, step: impl Fn(&mut Draft<'_>)) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    step(&mut draft);
    Ok(exported(&draft, &graph::unsolved(&draft), shape))
}

fn exported(draft: &Draft<'_>, problem: &Problem, shape: Shape) -> Module {
    let mut out = draft.module.without_funcs();
    out.funcs = export(draft, problem, shape).into_iter().collect();
    out
}
