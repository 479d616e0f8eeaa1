//! Single steps of propagation as passes that process all functions.
//!
//! The result of one step can be printed and parsed before the next, so data-flow edges are ops. The order of uses is
//! computed anew for each step, as it is in Shardy if a module is written and read between two passes.

use crate::draft::{Draft, FrameId, Order};
use crate::export::{Calls, Edges, Shape, export};
use crate::import::{import_as_written, import_flat};
use crate::{constraints, edges, graph, groups, split};
use shardwise_base::Diagnostics;
use shardwise_ir::symbols::collect_referenced;
use shardwise_ir::{Module, Visibility};
use shardwise_ops::Opcode;
use shardwise_ops::calls::callers_first;
use shardwise_sharding::{Options, Problem, solve};
use std::collections::BTreeSet;

/// Adds the data-flow edges that the module does not have as ops yet, as ops. Calls get none.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn add_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, edges::add_edges)
}

/// Adds edges as ops at the results of calls, and at the arguments of all functions except the main function, where
/// these are tensors.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn add_func_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, edges::add_func_edges)
}

/// Removes the ops that are data-flow edges of loops, branches, and manual and named computations. Their shardings are
/// moved to their owners and targets, and to the `in_shardings` of their ops. Edges of calls are removed as well, and
/// their shardings are lost.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn sink_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::PLAIN, edges::adopt_edges)
}

/// Removes the ops that are edges of calls. Their shardings are moved to their owners. If an edge has no sharding but
/// its owner has one, the owner's sharding is replaced by an open one.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn sink_func_edges(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape { edges: Edges::SinkFuncs, ..Shape::AS_WRITTEN }, |draft| {
        edges::adopt_edges(draft);
        edges::settle_func_edges(draft);
    })
}

/// Makes a copy of a constant, or of a broadcast scalar, for each of its uses. Scalars are not copied. Literals become
/// `sdy.constant` ops.
///
/// # Errors
/// Fails if a function calls itself, or if there are too many ops before or after.
pub fn split_constants(module: &Module) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    split::split_constants(&mut draft)?;
    Ok(as_sdy_constants(exported(&draft, &graph::unsolved(&draft), Shape::AS_WRITTEN)))
}

/// Copies each closed sharding that a constraint requires of its input, or a manual computation of an operand, to this
/// value, if the value has no sharding and none of its uses requires another one. The other results of the op that
/// makes the value become open if they have no sharding. If the value is at a data-flow edge, a constraint is placed
/// after it instead, whose result replaces the value in all other uses, and only the unreduced axes are copied to the
/// edge. Arguments of regions that are at no edge get no sharding. Ops after a chain of constraints, in the same block,
/// use its result in place of its input, except a function's return. This is not done if the input has a sharding, or
/// if another constraint or a manual computation uses the input or the result.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn apply_constraints(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape::AS_WRITTEN, |draft| {
        edges::adopt_edges(draft);
        constraints::apply_constraints(draft);
    })
}

/// Replaces calls by named computations. If `with_edges` is true, adds data-flow edges to all named computations. Only
/// the functions that no `func.call` calls remain, and those that other ops, such as composites, refer to.
///
/// # Errors
/// Fails if a function calls itself, if calls nest too deep, or if a function has too many ops once its calls are
/// replaced.
pub fn inline_calls(module: &Module, with_edges: bool) -> Result<Module, Diagnostics> {
    let mut draft = import_flat(module)?;
    if with_edges {
        edges::add_call_edges(&mut draft);
    }
    let shape = Shape { calls: Calls::Named, ..Shape::AS_WRITTEN };
    Ok(exported(&draft, &graph::unsolved(&draft), shape))
}

/// Replaces named computations by calls of new functions, and removes their edges.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn outline_computations(module: &Module) -> Result<Module, Diagnostics> {
    change(module, Shape { calls: Calls::Outline, ..Shape::AS_WRITTEN }, edges::adopt_edges)
}

/// Propagates in all functions as they are written, through the edges that are there as ops. The edges remain. Pure ops
/// whose results are not used are removed, except constraints.
///
/// # Errors
/// Fails if a function calls itself, or if a function has too many ops.
pub fn propagate_as_written(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    edges::adopt_edges(&mut draft);
    let problem = solved(&mut draft, options);
    Ok(exported(&draft, &problem, Shape::AS_WRITTEN))
}

/// Completes the draft, and returns the solved problem. Values at an edge keep the shardings that are written on them,
/// because the edge holds what was found.
fn solved(draft: &mut Draft<'_>, options: &Options) -> Problem {
    split::mark_dead(draft);
    groups::sync(draft);
    edges::tie_func_edges(draft);
    let mut problem = graph::build(draft, options.is_conservative);
    solve(&mut problem, options);
    for (tensor, value) in problem.tensors.iter_mut().zip(draft.values.iter()) {
        if value.edge.is_some() {
            tensor.sharding.clone_from(&value.sharding);
        }
    }
    problem
}

/// Runs all steps of propagation, as Shardy does between the simplifications of its import and of its export. Each call
/// is propagated separately. In the result there are no edges, and the body of each call and named computation is a
/// function of its own. Literals become `sdy.constant` ops, and pure ops whose results are not used are removed, except
/// constraints.
///
/// # Errors
/// Fails if a function calls itself, if calls nest too deep, or if there are too many ops once calls are replaced and
/// constants are copied.
pub fn propagate_flat(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_flat(module)?;
    split::split_constants(&mut draft)?;
    edges::add_edges(&mut draft);
    constraints::apply_constraints(&mut draft);
    order_roots(&mut draft);
    let problem = solved(&mut draft, options);
    Ok(as_sdy_constants(exported(&draft, &problem, Shape { calls: Calls::Outline, ..Shape::PLAIN })))
}

/// Runs all steps as [`propagate_flat`] does, but calls remain calls, and all calls of a function share the shardings
/// of its arguments and results. Functions that are not public and that no op refers to are removed.
///
/// # Errors
/// Fails if a function calls itself, or if there are too many ops before or after constants are copied.
pub fn propagate_in_place(module: &Module, options: &Options) -> Result<Module, Diagnostics> {
    let mut draft = import_as_written(module)?;
    split::split_constants(&mut draft)?;
    drop_unused(&mut draft);
    edges::add_edges(&mut draft);
    constraints::apply_constraints(&mut draft);
    edges::add_func_edges(&mut draft);
    order_roots(&mut draft);
    let problem = solved(&mut draft, options);
    edges::settle_func_edges(&mut draft);
    Ok(as_sdy_constants(exported(&draft, &problem, Shape::PLAIN)))
}

fn order_roots(draft: &mut Draft<'_>) {
    let order = callers_first(draft.module);
    let place = |name: &str| draft.module.func_id(name).and_then(|id| order.iter().position(|&o| o == id));
    let mut roots = draft.roots.clone();
    // The sort is stable, so copies remain behind their originals.
    roots.sort_by_key(|&r| place(&draft.frame(r).func.name));
    draft.roots = roots;
}

/// Removes the functions that are not public and to which no op refers, by a call or by a symbol in another attribute.
fn drop_unused(draft: &mut Draft<'_>) {
    loop {
        let called: Vec<_> = draft.callers().into_keys().collect();
        let mut names = BTreeSet::new();
        for op in draft.walk(Order::Pre).into_iter().filter(|op| !draft.calls.contains_key(op)) {
            if let Some(view) = draft.source(op) {
                collect_referenced(view.attrs(), &mut names);
            }
        }
        let is_used = |r: &FrameId| {
            let frame = draft.frame(*r);
            frame.func.visibility == Visibility::Public || called.contains(r) || names.contains(&frame.name())
        };
        let kept: Vec<FrameId> = draft.roots.iter().copied().filter(is_used).collect();
        if kept.len() == draft.roots.len() {
            return;
        }
        draft.roots = kept;
    }
}

/// Replaces literals by `sdy.constant`, so that equal literals are not merged.
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

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::parse;
    use shardwise_ops::OPS;

    #[test]
    fn each_value_is_followed_through_calls_once() {
        let twice = |i: usize| {
            format!(
                "func.func private @f{}(%a: tensor<8xf32>) -> tensor<8xf32> {{
  %0 = call @f{i}(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f{i}(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}}
",
                i + 1
            )
        };
        let text = format!(
            r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}]>}}) -> tensor<8xf32> {{
  %0 = call @f0(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @f30(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}}
func.func private @f0(%a: tensor<8xf32>) -> tensor<8xf32> {{
  return %a : tensor<8xf32>
}}
{}"#,
            (0..30).map(twice).collect::<Vec<_>>().concat()
        );
        let module = parse("test.mlir", &text, &OPS).unwrap();
        let out = propagate_as_written(&module, &Options::default()).unwrap();
        assert_eq!(out.funcs.len(), 32);
    }

    const CALL_AND_COMPOSITE: &str = r#"sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.composite "my.f" %0 {decomposition = @f} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.composite "my.double" %1 {decomposition = @double} : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @double(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @unused(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
"#;

    fn names(module: &Module) -> Vec<&str> {
        module.funcs.iter().map(|f| &*f.name).collect()
    }

    #[test]
    fn functions_that_composites_run_are_kept_in_place() {
        let module = parse("test.mlir", CALL_AND_COMPOSITE, &OPS).unwrap();
        let out = propagate_in_place(&module, &Options::default()).unwrap();
        let mut found = names(&out);
        found.sort_unstable();
        assert_eq!(found, ["double", "f", "main"]);
    }

    #[test]
    fn functions_that_composites_run_are_kept_where_calls_are_replaced() {
        let module = parse("test.mlir", CALL_AND_COMPOSITE, &OPS).unwrap();
        assert_eq!(names(&inline_calls(&module, false).unwrap()), ["main", "f", "double", "unused"]);
        let out = propagate_flat(&module, &Options::default()).unwrap();
        assert!(["f", "double"].iter().all(|name| out.func(name).is_some()), "{:?}", names(&out));
    }
}
