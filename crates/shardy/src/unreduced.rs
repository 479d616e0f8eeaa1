//! `sdy-verify-unreduced-axes`: checks that no pending sum over unreduced axes is lost.
//!
//! Most ops may have a result that is unreduced over more axes than their operands. Only reshards, constraints and sums
//! may have a result that is unreduced over fewer axes. Calls and returns pass values on with the same unreduced axes.
//! An operand of a call, a return or most other ops is not checked if it is the result of a reshard or constraint. This
//! is as in Shardy.

use crate::mistakes;
use crate::settings::Settings;
use shardwise_base::{AxisRef, Diagnostic, Diagnostics, Sharding};
use shardwise_ir::{Body, Func, Module, OpView, Region, Value};
use shardwise_ops::shardy::manual_axes;
use shardwise_ops::structure::Call;
use shardwise_ops::{Combine, Opcode, ReduceKind};

pub(crate) fn verify(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    for func in &module.funcs {
        for region in (0..func.body.region_count()).map(Region::new) {
            let parent = func.body[region].parent.map(|op| module.view(&func.body, op));
            for &op in &func.body[region].ops {
                check(func, parent.as_ref(), &module.view(&func.body, op))?;
            }
        }
    }
    Ok(module.clone())
}

fn check(func: &Func, parent: Option<&OpView<'_>>, view: &OpView<'_>) -> Result<(), Diagnostic> {
    match Opcode::of_view(view) {
        Opcode::Reshard | Opcode::ShardingConstraint => Ok(()),
        Opcode::SdyAllReduce | Opcode::SdyReduceScatter => match behind_barriers(view.body, view.operand(0)).1 {
            Some(_) => Ok(()),
            None => Err(mistakes::unsharded_sum(view.loc(), view.name())),
        },
        Opcode::Call => check_call(view),
        Opcode::Return | Opcode::RegionReturn | Opcode::SdyReturn => check_return(func, parent, view),
        Opcode::AllReduce | Opcode::ReduceScatter => {
            let from = behind_barriers(view.body, view.operand(0)).1;
            transition(view, from.into_iter().collect(), false, sums(view))
        }
        Opcode::Reduce => {
            let inputs = view.operands().len() / 2;
            transition(view, unmoved(view, &view.operands()[..inputs]), sums(view), false)
        }
        _ => transition(view, unmoved(view, view.operands()), true, false),
    }
}

fn sums(view: &OpView<'_>) -> bool {
    matches!(Opcode::of_view(view).facts().combine(view), Combine::With(ReduceKind::Add))
}

fn behind_barriers(body: &Body, mut v: Value) -> (Value, Option<&Sharding>) {
    while let Some(op) = body.def_op(v).filter(|&op| Opcode::of(body[op].code) == Opcode::PropagationBarrier) {
        v = body[op].operands[0];
    }
    (v, body.sharding(v))
}

/// Returns true if the value is the result of a reshard or constraint, or of propagation barriers after one.
fn is_moved(view: &OpView<'_>, v: Value) -> bool {
    let (v, _) = behind_barriers(view.body, v);
    let def = view.body.def_op(v).map(|op| Opcode::of_view(&view.at(op)));
    matches!(def, Some(Opcode::Reshard | Opcode::ShardingConstraint))
}

/// Returns the shardings of the values before propagation barriers, except for results of reshards or constraints.
fn unmoved<'a>(view: &OpView<'a>, values: &[Value]) -> Vec<&'a Sharding> {
    values.iter().filter(|&&v| !is_moved(view, v)).filter_map(|&v| behind_barriers(view.body, v).1).collect()
}

/// Checks that each axis over which an operand is unreduced is one over which a result is, unless the op computes the
/// pending sums (`takes`), and that each axis over which a result is unreduced is one over which an operand is, unless
/// the op may leave sums to later ops (`leaves`). `from` are the operands' shardings. Checks nothing if the meshes
/// differ. Fails with the error for the first axis for which this is not so.
fn transition(view: &OpView<'_>, from: Vec<&Sharding>, leaves: bool, takes: bool) -> Result<(), Diagnostic> {
    let to: Vec<&Sharding> = view.results().iter().filter_map(|&v| behind_barriers(view.body, v).1).collect();
    let mut meshes = from.iter().chain(&to).map(|s| &s.mesh);
    let Some(mesh) = meshes.next() else { return Ok(()) };
    if meshes.any(|m| m.axes != mesh.axes || m.device_ids != mesh.device_ids) {
        return Ok(());
    }
    let all = |list: &[&Sharding]| list.iter().flat_map(|s| s.unreduced.iter().copied()).collect::<Vec<AxisRef>>();
    let (before, after) = (all(&from), all(&to));
    let beyond = |a: &[AxisRef], b: &[AxisRef]| a.iter().flat_map(|axis| axis.minus(mesh, b)).next();
    match (beyond(&after, &before), beyond(&before, &after)) {
        (Some(axis), _) if !leaves => {
            Err(mistakes::new_unreduced(view.loc(), view.name(), &axis.display(mesh).to_string()))
        }
        (_, Some(axis)) if !takes => {
            Err(mistakes::lost_unreduced(view.loc(), view.name(), &axis.display(mesh).to_string()))
        }
        _ => Ok(()),
    }
}

fn unreduced(sharding: Option<&Sharding>) -> Vec<AxisRef> {
    let mut axes = sharding.map_or(vec![], |s| s.unreduced.clone());
    axes.sort_unstable_by(|a, b| a.cmp_in_mesh(*b));
    axes.dedup();
    axes
}

fn check_call(view: &OpView<'_>) -> Result<(), Diagnostic> {
    let Some(callee) = Call::callee(view).and_then(|name| view.module.func(name)) else { return Ok(()) };
    for (i, (&v, &arg)) in view.operands().iter().zip(callee.body.args()).enumerate() {
        let (given, taken) = (behind_barriers(view.body, v).1, callee.body.sharding(arg));
        if !is_moved(view, v) && unreduced(given) != unreduced(taken) {
            return Err(mistakes::unequal_unreduced(
                view.loc(),
                view.name(),
                &format!("operand {i}"),
                "the function's argument",
            ));
        }
    }
    for (i, (&v, given)) in view.results().iter().zip(&callee.result_shardings).enumerate() {
        if unreduced(view.body.sharding(v)) != unreduced(given.as_ref()) {
            return Err(mistakes::unequal_unreduced(
                view.loc(),
                view.name(),
                &format!("result {i}"),
                "the function's result",
            ));
        }
    }
    Ok(())
}

fn check_return(func: &Func, parent: Option<&OpView<'_>>, view: &OpView<'_>) -> Result<(), Diagnostic> {
    for (i, &v) in view.operands().iter().enumerate() {
        let wanted = match parent {
            None => func.result_shardings.get(i).cloned().flatten(),
            Some(parent) => parent.results().get(i).and_then(|&result| inside(parent, result)),
        };
        let Some(wanted) = wanted.filter(|_| !is_moved(view, v)) else { continue };
        if unreduced(behind_barriers(view.body, v).1) != unreduced(Some(&wanted)) {
            return Err(mistakes::unequal_unreduced(
                view.loc(),
                view.name(),
                &format!("operand {i}"),
                "the result that it becomes",
            ));
        }
    }
    Ok(())
}

/// Returns the sharding of a result of `parent` as it is seen inside the region. In a manual computation, it has no
/// unreduced axes that are manual. Returns `None` if the result has no sharding.
fn inside(parent: &OpView<'_>, result: Value) -> Option<Sharding> {
    let mut sharding = parent.body.sharding(result)?.clone();
    if Opcode::of_view(parent) == Opcode::ManualComputation {
        let manual = manual_axes(parent);
        sharding.unreduced.retain(|a| !manual.iter().any(|m| m.contains(*a)));
    }
    Some(sharding)
}
