//! Shardy's small passes: each changes shardings, marks or the order of functions, and nothing else.

use super::edit::Edit;
use super::mistakes;
use super::settings::Settings;
use crate::propagate::{self, RULE, written_rule};
use shardwise_base::{AxisRef, Diagnostics, DimSharding, Mesh, Sharding};
use shardwise_ir::{Attr, Attrs, Body, Func, Module, Op, OpView, Region, Value};
use shardwise_ops::Opcode;
use shardwise_sharding::Rule;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The module with each function's body edited.
pub(super) fn edit_funcs(
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

/// Every sharding of the module as `f` makes it.
fn map_shardings(module: &Module, f: impl Fn(&Sharding) -> Sharding) -> Module {
    let mut out = module.clone();
    for func in &mut out.funcs {
        for v in (0..func.body.value_count()).map(Value::new) {
            let sharding = &mut func.body.value_mut(v).sharding;
            *sharding = sharding.as_ref().map(&f);
        }
        func.result_shardings.iter_mut().for_each(|s| *s = s.as_ref().map(&f));
        for op in func.body.walk() {
            if let Some(Attr::Shardings(list)) = func.body[op].attrs.get("in_shardings") {
                let list = list.iter().map(&f).collect();
                func.body.op_mut(op).attrs.set("in_shardings", Attr::Shardings(list));
            }
        }
    }
    out
}

/// The main function, or the only one.
fn main_index(module: &Module) -> Option<usize> {
    let named = module.funcs.iter().position(|f| &*f.name == "main");
    named.or((module.funcs.len() == 1).then_some(0))
}

// Rules.

/// The rule of an op that propagates by one: marks have rules of their own.
pub(super) fn rule_of(view: &OpView<'_>) -> Option<Rule> {
    let is_mark =
        [Opcode::Reshard, Opcode::PropagationBarrier, Opcode::DataFlowEdgeOp].contains(&Opcode::of_view(view));
    propagate::rule_of(view).filter(|_| !is_mark)
}

/// Writes each op's rule on it.
pub(super) fn populate_rules(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            if view.attr(RULE).is_none()
                && let Some(rule) = rule_of(&view)
            {
                let text = format!("#sdy.op_sharding_rule<{rule}>");
                func.body.op_mut(op).attrs.set(RULE, Attr::Opaque(text.into()));
            }
        }
    }
    Ok(out)
}

/// Removes the rules that are not the user's.
pub(super) fn drop_rules(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
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

/// Closes all dimensions, and forgets what is explicitly replicated.
pub(super) fn close(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(map_shardings(module, |sharding| {
        let mut closed = sharding.canonical();
        for (dim, given) in closed.dims.iter_mut().zip(&sharding.dims) {
            dim.priority = given.priority.filter(|_| !given.axes.is_empty());
        }
        closed
    }))
}

/// Removes the axes of size 1, which split nothing.
pub(super) fn remove_unit_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(map_shardings(module, propagate::without_unit_axes))
}

/// Of open dimensions of the main function's arguments and results, axes end before the first sub-axis.
pub(super) fn remove_sub_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
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

/// The shardings of a function's arguments and results, with their shapes.
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

/// Makes functions, calls and manual computations take and give even shards.
pub(super) fn make_divisible(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
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
            if let Some(Attr::Shardings(list)) = source.body[op].attrs.get("in_shardings") {
                let mut list = list.clone();
                for (sharding, &v) in list.iter_mut().zip(&source.body[op].operands) {
                    evenly(sharding, source.body.ty(v).shape());
                }
                func.body.op_mut(op).attrs.set("in_shardings", Attr::Shardings(list));
            }
        }
    }
    Ok(out)
}

/// Cuts each dimension's axes to the longest major part that divides it.
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

/// Manual axes in the order of the mesh; shardings name those that they do not use as replicated.
pub(super) fn clean_manual_axes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            if Opcode::of_view(&view) != Opcode::ManualComputation {
                continue;
            }
            let Some((mesh, axes)) = view.attr("manual_axes").and_then(Attr::as_axes) else { continue };
            let body = view.regions()[0];
            let is_empty = view.operands().is_empty() && view.results().is_empty();
            if is_empty && !axes.is_empty() && view.body[body].ops.len() > 1 {
                return Err(mistakes::manual_without_values(view.loc()).into());
            }
            let mut sorted = axes.to_vec();
            sorted.sort_by(|a, b| a.cmp_in_mesh(*b));
            let whole = |s: &Sharding| propagate::with_all_manual_axes(s, mesh, &sorted);
            for &v in view.results() {
                func.body.value_mut(v).sharding = source.body.sharding(v).map(whole);
            }
            if let Some(Attr::Shardings(list)) = view.attr("in_shardings") {
                let list = list.iter().map(whole).collect();
                func.body.op_mut(op).attrs.set("in_shardings", Attr::Shardings(list));
            }
            let mesh = mesh.clone();
            func.body.op_mut(op).attrs.set("manual_axes", Attr::Axes { mesh, axes: sorted });
        }
    }
    Ok(out)
}

/// Forgets meshes and shardings.
pub(super) fn drop_shardings(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for func in &mut out.funcs {
        (0..func.body.value_count()).for_each(|v| func.body.value_mut(Value::new(v)).sharding = None);
        func.result_shardings.fill(None);
    }
    out.meshes.clear();
    out.mesh_attrs = Attrs::new();
    Ok(out)
}

/// Each mesh once, by name: meshes written out in shardings get one, and of equal ones the first stands for all.
pub(super) fn lift_meshes(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut meshes: Vec<Arc<Mesh>> = vec![];
    for mesh in &module.meshes {
        if !meshes.iter().any(|m| is_same_mesh(m, mesh)) {
            meshes.push(mesh.clone());
        }
    }
    let meshes = RefCell::new(meshes);
    let lifted = |mesh: &Arc<Mesh>| {
        let mut meshes = meshes.borrow_mut();
        if let Some(same) = meshes.iter().find(|m| is_same_mesh(m, mesh)) {
            return same.clone();
        }
        let named = Arc::new(Mesh { name: free_name(mesh, &meshes), ..(**mesh).clone() });
        meshes.push(named.clone());
        named
    };
    let mut out = map_shardings(module, |s| s.clone().with_mesh(lifted(&s.mesh)));
    for func in &mut out.funcs {
        for op in func.body.walk() {
            if let Some(Attr::Axes { mesh, axes }) = func.body[op].attrs.get("manual_axes") {
                let axes = Attr::Axes { mesh: lifted(mesh), axes: axes.clone() };
                func.body.op_mut(op).attrs.set("manual_axes", axes);
            }
        }
    }
    out.meshes = meshes.into_inner();
    Ok(out)
}

fn is_same_mesh(a: &Mesh, b: &Mesh) -> bool {
    a.axes == b.axes && a.device_ids == b.device_ids
}

fn free_name(mesh: &Mesh, taken: &[Arc<Mesh>]) -> Arc<str> {
    let base = match &mesh.device_ids {
        Some(ids) if mesh.is_maximal() => format!("maximal_mesh_{}", ids[0]),
        _ if mesh.axes.is_empty() => "empty_mesh".to_string(),
        _ => "mesh".to_string(),
    };
    let is_free = |name: &String| taken.iter().all(|m| *m.name != **name);
    let numbered = (0..).map(|i| format!("{base}_{i}"));
    [base.clone()].into_iter().chain(numbered).find(is_free).expect("some number is free").into()
}

// Marks.

/// Removes sharding groups.
pub(super) fn remove_groups(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        for op in edit.post_order() {
            if edit.opcode(op) == Opcode::ShardingGroup {
                edit.erase(op);
            }
        }
        Ok(())
    })
}

/// Makes reshards of sharding constraints.
pub(super) fn constraints_to_reshards(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
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

/// Groups that share a value are one; groups are numbered from 0, in the order of their smallest old numbers.
pub(super) fn import_groups(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut groups: BTreeMap<i64, Vec<(usize, Op, Value)>> = BTreeMap::new();
    for (f, func) in module.funcs.iter().enumerate() {
        for op in func.body.walk() {
            let view = module.view(&func.body, op);
            if Opcode::of_view(&view) == Opcode::ShardingGroup {
                let id = view.attrs().int("group_id").unwrap_or(0);
                groups.entry(id).or_default().push((f, op, view.operand(0)));
            }
        }
    }
    let mut merged: Vec<Vec<(usize, Op, Value)>> = vec![];
    for members in groups.into_values() {
        let shares = |other: &Vec<(usize, Op, Value)>| {
            other.iter().any(|(f, _, v)| members.iter().any(|(g, _, w)| f == g && v == w))
        };
        let (touching, others): (Vec<_>, Vec<_>) = merged.into_iter().partition(shares);
        merged = others;
        merged.push(touching.into_iter().flatten().chain(members).collect());
    }
    let old_id = |&(f, op, _): &(usize, Op, Value)| module.funcs[f].body[op].attrs.int("group_id").unwrap_or(0);
    merged.sort_by_key(|members| members.iter().map(old_id).min());
    let mut out = module.clone();
    for (id, members) in merged.iter().enumerate() {
        check_group(module, id as i64, members)?;
        let mut seen = vec![];
        for &(f, op, v) in members {
            out.funcs[f].body.op_mut(op).attrs.set("group_id", Attr::int(id as i64));
            if seen.contains(&(f, v)) {
                let region = region_of(&out.funcs[f].body, op);
                out.funcs[f].body.region_mut(region).ops.retain(|o| *o != op);
            }
            seen.push((f, v));
        }
    }
    Ok(out)
}

fn check_group(module: &Module, id: i64, members: &[(usize, Op, Value)]) -> Result<(), Diagnostics> {
    let (f, op, v) = members[0];
    let manual = |f: usize, op: Op| manual_around(module, &module.funcs[f], op);
    let shape = module.funcs[f].body.ty(v).shape();
    let around = manual(f, op);
    for &(g, other, w) in members {
        let loc = &module.funcs[g].body[other].loc;
        if module.funcs[g].body.ty(w).shape() != shape {
            return Err(mistakes::group_shapes(loc, id).into());
        }
        if manual(g, other) != around {
            return Err(mistakes::group_boundary(loc, id).into());
        }
    }
    Ok(())
}

fn region_of(body: &Body, op: Op) -> Region {
    let mut all = (0..body.region_count()).map(Region::new);
    all.find(|&r| body[r].ops.contains(&op)).expect("an op stands in a region")
}

fn manual_around(module: &Module, func: &Func, op: Op) -> Option<Op> {
    let body = &func.body;
    let parent = |op: Op| body[region_of(body, op)].parent;
    let around = std::iter::successors(parent(op), |&op| parent(op));
    let mut around = around.filter(|&op| Opcode::of_view(&module.view(body, op)) == Opcode::ManualComputation);
    around.next()
}

// Constants.

/// One literal, and one broadcast of a scalar, in the place of several equal ones of a region.
pub(super) fn merge_constants(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, _| {
        let mut kept: HashMap<String, Vec<Op>> = HashMap::new();
        for op in edit.post_order() {
            let view = edit.view(op);
            let is_broadcast = || view.operands().len() == 1 && edit.body.ty(view.operand(0)).shape().is_empty();
            let merges = match edit.opcode(op) {
                Opcode::Constant | Opcode::SdyConstant | Opcode::Iota => true,
                Opcode::BroadcastInDim => is_broadcast(),
                _ => false,
            };
            if !merges {
                continue;
            }
            let region = edit.region(op);
            let key = format!("{:?} {:?}", edit.body[op].code, view.result_type(0));
            let is_same = |&other: &Op| {
                let (a, b) = (&edit.body[op], &edit.body[other]);
                edit.region(other) == region
                    && a.attrs == b.attrs
                    && a.operands == b.operands
                    && edit.body.sharding(a.results[0]) == edit.body.sharding(b.results[0])
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

// Functions.

/// Calls without shardings get those of their functions' results.
pub(super) fn results_to_calls(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for op in source.body.walk() {
            let view = module.view(&source.body, op);
            let callee = (Opcode::of_view(&view) == Opcode::Call).then(|| view.attrs().str("callee")).flatten();
            let Some(callee) = callee.and_then(|name| module.func(name)) else { continue };
            if view.results().iter().any(|&v| source.body.sharding(v).is_some()) {
                continue;
            }
            let Some(mesh) = callee.result_shardings.iter().flatten().map(|s| s.mesh.clone()).next() else { continue };
            for (&v, declared) in view.results().iter().zip(&callee.result_shardings) {
                let open = || Sharding::open(&mesh, source.body.ty(v).shape().len());
                func.body.value_mut(v).sharding = Some(declared.clone().unwrap_or_else(open));
            }
        }
    }
    Ok(out)
}

/// Functions other than the main one give their results as their bodies have them.
pub(super) fn body_to_results(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.clone();
    let main = main_index(module);
    for (i, func) in out.funcs.iter_mut().enumerate().filter(|(i, _)| Some(*i) != main) {
        let source = &module.funcs[i].body;
        func.result_shardings = source.results().iter().map(|&v| source.sharding(v).cloned()).collect();
    }
    Ok(out)
}

/// Functions stand in front of those that they call.
pub(super) fn order_funcs(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    let mut out = module.without_funcs();
    out.funcs = propagate::callers_first(module).into_iter().map(|id| module[id].clone()).collect();
    Ok(out)
}

/// Removes private functions that nobody names.
pub(super) fn drop_unused_funcs(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    Ok(propagate::without_unused_funcs(module))
}
