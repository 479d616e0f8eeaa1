//! Shardy's small passes: on rules, shardings, marks, constants, collectives around products, notes and functions.

use crate::calls::result_shardings;
use crate::edit::Edit;
use crate::mistakes;
use crate::settings::Settings;
use shardwise_base::{AxisRef, Diagnostics, DimSharding, Sharding};
use shardwise_ir::symbols::without_unused_funcs;
use shardwise_ir::{Attr, Attrs, Func, Module, Op, OpView, Value};
use shardwise_ops::Opcode;
use shardwise_ops::calls::callers_first;
use shardwise_ops::shardy::{ShardingGroup, in_shardings, manual_mesh_axes, set_in_shardings, set_manual_axes};
use shardwise_ops::structure::Call;
use shardwise_propagate::sharding_groups::{Member, check_group, groups};
use shardwise_propagate::{self as propagate, RULE, written_rule};
use shardwise_sharding::Rule;
use std::collections::HashMap;

pub(crate) fn edit_funcs(
    module: &Module,
    mut f: impl FnMut(&mut Edit<'_>, &Func) -> Result<(), Diagnostics>,
) -> Result<Module, Diagnostics> {
    let mut out = module.without_funcs();
    for func in &module.funcs {
        let mut edit = Edit::new(module, &func.body);
        f(&mut edit, func)?;
        let mut new = func.without_body();
        new.body = edit.finish();
        out.funcs.push(new);
    }
    Ok(out)
}

pub(crate) fn map_shardings(module: &Module, f: impl Fn(&Sharding) -> Sharding) -> Module {
    let mut out = module.clone();
    let map = |sharding: &mut Option<Sharding>| *sharding = sharding.as_ref().map(&f);
    for func in &mut out.funcs {
        let body = &mut func.body;
        body.args().to_vec().into_iter().for_each(|v| map(&mut body.value_mut(v).sharding));
        func.result_shardings.iter_mut().for_each(map);
        for op in body.walk() {
            let list: Vec<Sharding> = in_shardings(&body[op].attrs).iter().map(&f).collect();
            if !list.is_empty() {
                set_in_shardings(&mut body.op_mut(op).attrs, list);
            }
            let inner: Vec<Value> = body[op].regions.iter().flat_map(|&r| body[r].args.clone()).collect();
            let results = body[op].results.to_vec();
            inner.into_iter().chain(results).for_each(|v| map(&mut body.value_mut(v).sharding));
        }
    }
    out
}

fn main_index(module: &Module) -> Option<usize> {
    let named = module.funcs.iter().position(|f| &*f.name == "main");
    named.or((module.funcs.len() == 1).then_some(0))
}

// Rules.

/// Returns the rule of an op that propagates by one. Returns `None` for other ops, and for reshards, propagation
/// barriers and data-flow edges, although these have rules.
pub(crate) fn rule_of(view: &OpView<'_>, is_conservative: bool) -> Option<Rule> {
    let is_mark = [Opcode::Reshard, Opcode::PropagationBarrier, Opcode::DataFlowEdgeOp, Opcode::FuncDataFlowEdge]
        .contains(&Opcode::of_view(view));
    propagate::rule_of(view, is_conservative).filter(|_| !is_mark)
}

pub(crate) fn populate_rules(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            if view.attr(RULE).is_none()
                && let Some(rule) = rule_of(&view, settings.is_on("conservative-propagation"))
            {
                let text = format!("#sdy.op_sharding_rule<{rule}>");
                func.body.op_mut(op).attrs.set(RULE, Attr::Opaque(text.into()));
            }
        }
    }
    Ok(out)
}

pub(crate) fn drop_rules(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            if written_rule(&module.view(&source.body, op)).is_some_and(|r| !r.is_custom) {
                func.body.op_mut(op).attrs.remove(RULE);
            }
        }
    }
    Ok(out)
}

// Shardings.

/// Closes all dimensions, and removes explicitly replicated axes, reduced axes, and the priorities of dimensions
/// without axes. Always returns `Ok`.
pub(crate) fn close(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(map_shardings(module, |sharding| {
        let mut closed = sharding.canonical();
        for (dim, given) in closed.dims.iter_mut().zip(&sharding.dims) {
            dim.priority = given.priority.filter(|_| !given.axes.is_empty());
        }
        closed
    }))
}

pub(crate) fn remove_unit_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(map_shardings(module, Sharding::without_unit_axes))
}

pub(crate) fn remove_sub_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let whole_axes = |sharding: &mut Sharding| {
        for dim in sharding.dims.iter_mut().filter(|d| d.is_open) {
            let end = dim.axes.iter().position(|a| a.sub.is_some()).unwrap_or(dim.axes.len());
            dim.axes.truncate(end);
        }
    };
    let mut out = module.clone();
    let Some(main) = main_index(module) else { return Ok(out) };
    for_boundary(&mut out.funcs[main], |sharding, _| whole_axes(sharding));
    Ok(out)
}

fn for_boundary(func: &mut Func, f: impl Fn(&mut Sharding, &[usize])) {
    for v in func.body.args().to_vec() {
        let shape = func.body.ty(v).shape().to_vec();
        if let Some(sharding) = &mut func.body.value_mut(v).sharding {
            f(sharding, &shape);
        }
    }
    for (sharding, ty) in func.result_shardings.iter_mut().zip(&func.result_types) {
        if let Some(sharding) = sharding {
            f(sharding, ty.shape());
        }
    }
}

/// Cuts shardings so that they divide shapes evenly: those of the arguments and results of functions, of the results of
/// calls, and of the operands and results of manual computations. Always returns `Ok`.
pub(crate) fn make_divisible(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for_boundary(func, evenly);
        for op in source.body.walk() {
            let code = Opcode::of_view(&module.view(&source.body, op));
            if !matches!(code, Opcode::Call | Opcode::ManualComputation) {
                continue;
            }
            for &v in &source.body[op].results {
                let shape = source.body.ty(v).shape();
                if let Some(sharding) = &mut func.body.value_mut(v).sharding {
                    evenly(sharding, shape);
                }
            }
            let mut list = in_shardings(&source.body[op].attrs).to_vec();
            if !list.is_empty() {
                for (sharding, &v) in list.iter_mut().zip(&source.body[op].operands) {
                    evenly(sharding, source.body.ty(v).shape());
                }
                set_in_shardings(&mut func.body.op_mut(op).attrs, list);
            }
        }
    }
    Ok(out)
}

/// Cuts the axes of each dimension to the longest major part that divides the dimension evenly. In a dimension that is
/// cut, an axis of size 1 ends this part, and the priority is dropped.
fn evenly(sharding: &mut Sharding, shape: &[usize]) {
    let mesh = sharding.mesh.clone();
    for (dim, &size) in sharding.dims.iter_mut().zip(shape) {
        if size.is_multiple_of(dim.shard_count(&mesh)) {
            continue;
        }
        let (mut axes, mut left) = (vec![], size);
        for &axis in &dim.axes {
            let common = gcd(axis.size(&mesh), left);
            if common == 1 {
                break;
            }
            axes.push(AxisRef::sub(&mesh, axis.axis, axis.pre_size(), common));
            if common != axis.size(&mesh) {
                break;
            }
            left /= common;
        }
        *dim = DimSharding { axes, is_open: dim.is_open, priority: None };
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Sorts the manual axes of manual computations in the order of the mesh, and adds those that a sharding of an operand
/// or result does not use to its replicated axes. The shardings get the mesh of the manual axes. Shardings on one
/// device or on a mesh with other axes, and those of values that are no tensors, are not changed. Fails for a manual
/// computation without operands and results that has manual axes and ops.
pub(crate) fn clean_manual_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            if Opcode::of_view(&view) != Opcode::ManualComputation {
                continue;
            }
            let Some((mesh, axes)) = manual_mesh_axes(&view) else { continue };
            let body = view.regions()[0];
            let is_empty = view.operands().is_empty() && view.results().is_empty();
            if is_empty && !axes.is_empty() && view.body[body].ops.len() > 1 {
                return Err(mistakes::manual_without_values(view.loc()).into());
            }
            let mut sorted = axes.to_vec();
            sorted.sort_by(|a, b| a.cmp_in_mesh(*b));
            let whole = |s: &Sharding, v: Value| {
                let is_common = s.mesh.axes == mesh.axes || s.mesh.axes.is_empty();
                if source.body.ty(v).as_tensor().is_none() || !is_common || s.mesh.is_maximal() {
                    return s.clone();
                }
                let s = s.clone().with_mesh(mesh.clone());
                s.with_rest_replicated(&sorted)
            };
            for &v in view.results() {
                func.body.value_mut(v).sharding = source.body.sharding(v).map(|s| whole(s, v));
            }
            if !in_shardings(view.attrs()).is_empty() {
                let list = in_shardings(view.attrs()).iter().zip(view.operands()).map(|(s, &v)| whole(s, v)).collect();
                set_in_shardings(&mut func.body.op_mut(op).attrs, list);
            }
            set_manual_axes(&mut func.body.op_mut(op).attrs, mesh, &sorted);
        }
    }
    Ok(out)
}

/// Removes meshes, and the shardings of values and of functions' results. Attributes of ops are not changed. Always
/// returns `Ok`.
pub(crate) fn drop_shardings(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for func in &mut out.funcs {
        (0..func.body.value_count()).for_each(|v| func.body.value_mut(Value::new(v)).sharding = None);
        func.result_shardings.fill(None);
    }
    out.meshes.clear();
    out.mesh_attrs = Attrs::new();
    Ok(out)
}

// Marks.

pub(crate) fn remove_groups(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        for op in edit.post_order() {
            if edit.opcode(op) == Opcode::ShardingGroup {
                edit.erase(op);
            }
        }
        Ok(())
    })
}

pub(crate) fn constraints_to_reshards(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            if Opcode::of_view(&module.view(&source.body, op)) == Opcode::ShardingConstraint {
                func.body.op_mut(op).code = Opcode::Reshard.into();
            }
        }
    }
    Ok(out)
}

/// Merges sharding groups that share a value, and numbers the groups from 0 in the order of their first members. Of the
/// ops that put one value into one group, the first is kept. Fails if the members of a group have different shapes, or
/// are not all in the same manual computation or all outside of them.
pub(crate) fn import_groups(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let value = |m: &Member| (m.func, m.value);
    let mut merged: Vec<Vec<Member>> = vec![];
    for members in groups(module).into_values() {
        let shares = |other: &Vec<Member>| other.iter().any(|m| members.iter().any(|n| value(m) == value(n)));
        let (touching, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(shares);
        merged = others;
        merged.push(touching.into_iter().flatten().chain(members).collect());
    }
    let place = |m: &Member| (m.func, m.op.index());
    merged.iter_mut().for_each(|members| members.sort_by_key(place));
    merged.sort_by_key(|members| members.first().map(place));
    let mut out = module.clone();
    for (id, members) in merged.iter().enumerate() {
        check_group(module, id as i64, members)?;
        let mut seen = vec![];
        for member in members {
            let body = &mut out.funcs[member.func].body;
            ShardingGroup::set_id(&mut body.op_mut(member.op).attrs, id as i64);
            if seen.contains(&value(member)) {
                body.region_mut(member.region).ops.retain(|o| *o != member.op);
            }
            seen.push(value(member));
        }
    }
    Ok(out)
}

// Constants.

/// Merges equal literals of a region, and equal broadcasts of a scalar, into the first of them. Those with different
/// shardings are not merged. Always returns `Ok`.
pub(crate) fn merge_constants(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        let mut kept: HashMap<_, Vec<Op>> = HashMap::new();
        for op in edit.post_order() {
            let view = edit.view(op);
            let is_broadcast = || view.operands().len() == 1 && edit.body.ty(view.operand(0)).shape().is_empty();
            let merges = match edit.opcode(op) {
                Opcode::Constant | Opcode::SdyConstant => true,
                Opcode::BroadcastInDim => is_broadcast(),
                _ => false,
            };
            if !merges {
                continue;
            }
            let region = edit.region(op);
            let data = &edit.body[op];
            let key = (region, data.code, data.operands.clone(), view.result_type(0).clone());
            let is_same = |&other: &Op| {
                let (a, b) = (&edit.body[op], &edit.body[other]);
                a.attrs == b.attrs && edit.body.sharding(a.results[0]) == edit.body.sharding(b.results[0])
            };
            let same = kept.get(&key).and_then(|ops| ops.iter().copied().find(is_same));
            match same {
                Some(other) => {
                    let (from, to) = (edit.body[op].results[0], edit.body[other].results[0]);
                    edit.replace_uses(from, to, None);
                    edit.erase(op);
                }
                None => kept.entry(key).or_default().push(op),
            }
        }
        Ok(())
    })
}

/// Removes the collectives around products, whose work collective matmuls do: gathers of operands that nothing else
/// uses or, if there are none, the reduce-scatter that is the only use of the result. The result then has the layout of
/// the reduce-scatter. A result with unreduced axes keeps its reduce-scatter. Always returns `Ok`.
pub(crate) fn leave_to_products(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        let mut gone = vec![];
        for op in edit.post_order() {
            if !matches!(edit.opcode(op), Opcode::DotGeneral | Opcode::Dot) {
                continue;
            }
            let has_one_use = |v: Value| edit.uses(v).count() == 1;
            let operands = edit.body[op].operands.iter().filter_map(|&v| edit.def_op(v).filter(|_| has_one_use(v)));
            let gathers: Vec<Op> = operands.filter(|&def| edit.opcode(def) == Opcode::SdyAllGather).collect();
            if !gathers.is_empty() {
                gone.extend(gathers);
                continue;
            }
            let result = edit.body[op].results[0];
            let user = edit.uses(result).next().map(|(user, _)| user).filter(|_| has_one_use(result));
            let is_whole = edit.body.sharding(result).is_none_or(|s| s.unreduced.is_empty());
            if let Some(scatter) = user.filter(|&u| is_whole && edit.opcode(u) == Opcode::SdyReduceScatter) {
                let to = edit.body.sharding(edit.body[scatter].results[0]).cloned();
                edit.body.value_mut(result).sharding = to;
                gone.push(scatter);
            }
        }
        for op in gone.into_iter().filter(|&op| !edit.is_erased(op)).collect::<Vec<_>>() {
            edit.replace_uses(edit.body[op].results[0], edit.operand(op, 0), None);
            edit.erase(op);
        }
        Ok(())
    })
}

/// The names of Shardy's attributes that record the origin of a sharding.
const NOTES: [&str; 6] = [
    "sdy.propagation_edges",
    "sdy.block_arg_propagation_edges",
    "sdy.result_propagation_edges",
    "sdy.sharding_origins",
    "sdy.block_arg_sharding_origins",
    "sdy.result_sharding_origins",
];

pub(crate) fn drop_notes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for func in &mut out.funcs {
        for name in NOTES {
            func.arg_attrs.iter_mut().chain(&mut func.result_attrs).for_each(|attrs| {
                attrs.remove(name);
            });
            for op in func.body.walk() {
                func.body.op_mut(op).attrs.remove(name);
            }
        }
    }
    Ok(out)
}

// Functions.

pub(crate) fn results_to_calls(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            let Some(callee) = Call::callee(&view).and_then(|name| module.func(name)) else { continue };
            if view.results().iter().any(|&v| source.body.sharding(v).is_some()) {
                continue;
            }
            for (&v, declared) in view.results().iter().zip(result_shardings(callee).into_iter().flatten()) {
                func.body.value_mut(v).sharding = Some(declared);
            }
        }
    }
    Ok(out)
}

pub(crate) fn body_to_results(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    let main = main_index(module);
    for (i, func) in out.funcs.iter_mut().enumerate().filter(|(i, _)| Some(*i) != main) {
        let source = &module.funcs[i].body;
        func.result_shardings = source.results().iter().map(|&v| source.sharding(v).cloned()).collect();
    }
    Ok(out)
}

pub(crate) fn order_funcs(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.without_funcs();
    out.funcs = callers_first(module).into_iter().map(|id| module[id].clone()).collect();
    Ok(out)
}

pub(crate) fn drop_unused_funcs(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(without_unused_funcs(module))
}
