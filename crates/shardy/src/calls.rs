//! Copies functions for each call before propagation and merges the copies after it, as Shardy does.
//!
//! Before propagation each call gets a function of its own (`sdy-flatten-call-graph`), whose body replaces the call as
//! a named computation. After propagation each named computation becomes a function again, and functions with the same
//! origin and equal shardings are merged (`sdy-unflatten-call-graph`). An attribute of a function holds the name of the
//! function that it was copied from.

use crate::collectives::equivalent;
use crate::edit::Place;
use crate::settings::Settings;
use crate::small_passes::edit_funcs;
use shardwise_base::{Diagnostics, Loc, Sharding};
use shardwise_ir::{Attr, Body, Func, FuncId, Module, Op, Type, Value};
use shardwise_ops::calls as call_graph;
use shardwise_ops::structure::Call;
use shardwise_propagate::{Names, ORIGINAL_NAME, original_name, steps};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The name of the attribute that distinguishes functions that are manual over different axes.
const MANUAL_AXES: &str = "sdy.func_manual_axes";

fn calls(module: &Module, func: &Func) -> Vec<(Op, Arc<str>)> {
    let name = |op: Op| Some((op, Call::callee(&module.view(&func.body, op))?.into()));
    func.body.walk().into_iter().filter_map(name).collect()
}

fn set_callee(body: &mut Body, op: Op, name: &Arc<str>) {
    Call::set_callee(&mut body.op_mut(op).attrs, name.clone());
}

/// Copies each function for every call of it except the first, and makes these calls call the copies. Fails if
/// functions are recursive, and if [`Copies::copy`] fails.
pub(crate) fn flatten(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    call_graph::refuse_recursion(module)?;
    let mut copies =
        Copies { names: Names::new(module.funcs.iter().map(|f| f.name.clone())), op_count: 0, module: module.clone() };
    let mut seen = HashSet::new();
    let all = (0..module.funcs.len()).map(FuncId::new).collect();
    for id in call_graph::callees_first(module, all) {
        for (op, name) in calls(module, &module[id]) {
            if !seen.insert(name.clone()) {
                let copy = copies.copy(&name, &module[id].body[op].loc, 0)?;
                set_callee(&mut copies.module.funcs[id.index()].body, op, &copy);
            }
        }
    }
    Ok(copies.module)
}

struct Copies {
    module: Module,
    names: Names,
    op_count: usize,
}

impl Copies {
    /// Adds a copy of a function whose calls call copies too. Returns the name of the copy, or `name` if there is no
    /// such function. Fails if the calls nest too deep or the copies have too many ops.
    fn copy(&mut self, name: &str, loc: &Loc, depth: usize) -> Result<Arc<str>, Diagnostics> {
        if depth > call_graph::MAX_DEPTH {
            return Err(call_graph::too_deep(loc, "calls of functions").into());
        }
        let Some(func) = self.module.func(name) else { return Ok(name.into()) };
        let mut copy = func.clone();
        self.op_count += copy.body.op_count();
        if self.op_count > call_graph::MAX_OPS {
            return Err(call_graph::too_large(loc).into());
        }
        copy.attrs.set(ORIGINAL_NAME, Attr::Str(original_name(&copy)));
        for (op, name) in calls(&self.module, &copy) {
            let inner = self.copy(&name, loc, depth + 1)?;
            set_callee(&mut copy.body, op, &inner);
        }
        copy.name = self.names.add(&copy.name);
        let name = copy.name.clone();
        self.module.funcs.push(copy);
        Ok(name)
    }
}

/// Replaces calls by named computations. Adds data-flow edges to all named computations unless
/// `add-data-flow-edges-on-named-computations` is false. Only the functions that no call calls remain, and those that
/// other ops, such as composites, refer to. Fails if a function calls itself, if calls nest too deep, or if a function
/// has too many ops once its calls are replaced.
pub(crate) fn import(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    steps::inline_calls(module, settings.is_on_by_default("add-data-flow-edges-on-named-computations"))
}

/// Merges functions with the same origin and the same manual axes whose arguments and results have equal shardings: the
/// calls of all of them call the one that is called first. With `dedup-functions-fully`, the calls of all functions
/// with the same origin and manual axes call one with the shardings that the most calls have. Functions that are no
/// longer called are kept. Removes the attributes that hold the origin and the manual axes. Always returns `Ok`.
pub(crate) fn unflatten(module: &Module, settings: &Settings) -> Result<Module, Diagnostics> {
    let fully = settings.is_on("dedup-functions-fully");
    let mut kept: BTreeMap<String, &Func> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let called = || module.funcs.iter().flat_map(|f| calls(module, f)).filter_map(|(_, name)| module.func(&name));
    for func in called() {
        kept.entry(key(func, !fully)).or_insert(func);
    }
    for func in called().filter(|_| fully) {
        let count = counts.entry(key(func, true)).or_default();
        *count += 1;
        let count = *count;
        let best = kept.get_mut(&key(func, false)).expect("entered above");
        if count > counts.get(&key(best, true)).copied().unwrap_or(0) {
            *best = func;
        }
    }
    let mut out = module.clone();
    for (func, source) in out.funcs.iter_mut().zip(&module.funcs) {
        for (op, name) in calls(module, source) {
            if let Some(one) = module.func(&name).and_then(|f| kept.get(&key(f, !fully))) {
                set_callee(&mut func.body, op, &one.name);
            }
        }
        func.attrs.remove(ORIGINAL_NAME);
        func.attrs.remove(MANUAL_AXES);
    }
    Ok(out)
}

/// Returns a key that is equal for functions that can be merged: those with the same origin and manual axes and, if
/// `with_shardings`, equal shardings of arguments and results.
fn key(func: &Func, with_shardings: bool) -> String {
    let mut key = format!("{} {:?}", original_name(func), func.attrs.get(MANUAL_AXES));
    if with_shardings {
        for list in [arg_shardings(func), result_shardings(func)] {
            key.push_str(&format!(" {:?}", list.map(|l| l.iter().map(Sharding::to_string).collect::<Vec<_>>())));
        }
    }
    key
}

/// Returns the shardings of a function's arguments. Those without one are open. Returns `None` if no argument has a
/// sharding on a mesh that is not maximal.
pub(crate) fn arg_shardings(func: &Func) -> Option<Vec<Sharding>> {
    let args = func.body.args();
    declared(args.iter().map(|&v| func.body.sharding(v)), args.iter().map(|&v| func.body.ty(v)))
}

pub(crate) fn result_shardings(func: &Func) -> Option<Vec<Sharding>> {
    declared(func.result_shardings.iter().map(Option::as_ref), func.result_types.iter())
}

fn declared<'a>(
    shardings: impl Iterator<Item = Option<&'a Sharding>> + Clone,
    types: impl Iterator<Item = &'a Type>,
) -> Option<Vec<Sharding>> {
    let mesh = shardings.clone().flatten().map(|s| &s.mesh).find(|m| !m.is_maximal())?;
    let open = |ty: &Type| Sharding::open(mesh, ty.shape().len());
    Some(shardings.zip(types).map(|(s, ty)| s.cloned().unwrap_or_else(|| open(ty))).collect())
}

/// Sets the shardings of the results of calls to those of the called functions. A function without shardings of results
/// counts as one with replicated results, if some result of the call has a sharding. If a result of a call has another
/// layout before this, or none where the function's result is not replicated, a reshard to that layout, or to the
/// replicated one, is inserted after the call and used instead of the result. Always returns `Ok`.
pub(crate) fn insert_reshards(module: &Module, _: &Settings) -> Result<Module, Diagnostics> {
    edit_funcs(module, |edit, func| {
        for (op, name) in calls(module, func) {
            let Some(callee) = module.func(&name) else { continue };
            let results = edit.body[op].results.clone();
            let own: Vec<Option<Sharding>> = results.iter().map(|&v| edit.body.sharding(v).cloned()).collect();
            let closed = |s: &Sharding| Sharding::replicated(&s.mesh, s.rank());
            let given = result_shardings(callee).or_else(|| {
                let some = own.iter().flatten().next()?;
                let rank = |&v: &Value| edit.body.ty(v).shape().len();
                Some(results.iter().map(|v| Sharding::replicated(&some.mesh, rank(v))).collect())
            });
            let Some(given) = given else { continue };
            for ((&v, given), own) in results.iter().zip(given).zip(own) {
                if !equivalent(Some(&given), own.as_ref()) {
                    let to = own.unwrap_or_else(|| closed(&given));
                    let moved = edit.insert_reshard(Place::After(op), v, to);
                    let made = edit.def_op(moved);
                    edit.replace_uses(v, moved, made);
                }
                edit.body.value_mut(v).sharding = Some(given);
            }
        }
        Ok(())
    })
}
