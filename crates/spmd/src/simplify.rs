//! Writes ops that can be written in several ways in one of them: collectives of several operands as collectives of
//! one, collectives over a replica with all of its partitions as collectives over devices, reducers that work on wider
//! elements than their operands have as reducers of converted operands, Shardy's collectives on global values as
//! reshards, scatters without components of indices that are always 0.
//!
//! Every `rng` gets the number of its stream, which determines the numbers that it draws, so that no pass changes them.

use crate::rewrite::facts;
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, open_region, rewrite_func, rewrite_regions};
use shardwise_ir::{Attr, Attrs, Builder, Cloner, Func, FuncId, Module, Op, OpView, Region, Type, Uses, Value};
use shardwise_ops::collective::{CollectiveView, Groups, IdSpace, attrs_with_groups, groups_attr};
use shardwise_ops::promote::{self, is_promoted};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Opcode, collective, idle_components, without_components};
use std::collections::{HashMap, HashSet};

/// Returns the module with a number on each `rng`, with reshards in place of Shardy's collectives, with collectives of
/// one operand, with groups of devices in place of groups of a replica with all of its partitions, with reducers on the
/// types of their operands, and with scatters whose indices have no component that is known to be 0 where it can be
/// left out ([`idle_components`]). An asynchronous collective keeps its reducer, and it keeps its operands if it cannot
/// be started once for each of them. Always returns `Ok`.
pub fn simplify(module: Module) -> Result<Module, Diagnostics> {
    let module = numbered(&module).unwrap_or(module);
    let module = reshards(&module).unwrap_or(module);
    let module = over_devices(&module).unwrap_or(module);
    if !module.funcs.iter().any(|func| has_compound(func, &module)) {
        return Ok(module);
    }
    let mut out = module.without_funcs();
    for func in &module.funcs {
        let mut pass = Simplify { uses: Uses::compute(&func.body), futures: HashMap::new() };
        out.funcs.push(if has_compound(func, &module) {
            rewrite_func(&module, func, &mut pass)?
        } else {
            func.clone()
        });
    }
    Ok(out)
}

/// Returns the module with each of Shardy's collectives replaced by a reshard to the sharding of its result, or `None`
/// if it has none.
///
/// On global values such an op is the identity: an unreduced value already means the sum of what its devices hold. The
/// pipeline finds the collectives again from the two shardings.
///
/// ```text
/// %0 = sdy.all_gather [{"y"}, {}] %x out_sharding=<@mesh, [{"x"}, {}]>
/// -> %0 = sdy.reshard %x <@mesh, [{"x"}, {}]>
/// ```
fn reshards(module: &Module) -> Option<Module> {
    let mut out: Option<Module> = None;
    for (f, func) in module.funcs.iter().enumerate() {
        let is_step = |&op: &Op| ShardyCollective::of(&module.view(&func.body, op)).is_some();
        for op in func.body.walk().into_iter().filter(is_step) {
            let data = out.get_or_insert_with(|| module.clone()).funcs[f].body.op_mut(op);
            data.code = Opcode::Reshard.into();
            for name in ShardyCollective::ATTRIBUTES {
                data.attrs.remove(name);
            }
        }
    }
    out
}

/// Returns the module with each group of replica 0 with all of its partitions replaced by the group of all devices, or
/// `None` if it has none or has no mesh. There is no other replica.
fn over_devices(module: &Module) -> Option<Module> {
    let devices = module.main_mesh()?.size();
    let mut out: Option<Module> = None;
    for (f, func) in module.funcs.iter().enumerate() {
        for op in func.body.walk() {
            let view = module.view(&func.body, op);
            let Some(collective) = CollectiveView::of(&view) else { continue };
            let is_of_replicas = collective.ids == IdSpace::CrossReplicaAndPartition;
            if is_of_replicas && matches!(&collective.groups, Groups::Dense(rows) if rows.concat() == [0]) {
                let all = groups_attr(&[(0..devices).collect()]);
                let data = out.get_or_insert_with(|| module.clone()).funcs[f].body.op_mut(op);
                data.attrs = attrs_with_groups(&view, all, Some(collective.channel));
            }
        }
    }
    out
}

/// Returns the module with a stream number on every `rng`, or `None` if all have one. The ops without a number get the
/// numbers that are not in the same attribute of another op, in the order of the text. Numbers that are there already
/// do not change.
fn numbered(module: &Module) -> Option<Module> {
    unnumbered(module)?;
    let mut out = module.clone();
    let written = |(f, op, name): (FuncId, Op, &'static str)| Some((name, module[f].body[op].attrs.int(name)?));
    let written: HashSet<(&str, i64)> = numbered_ops(module).filter_map(written).collect();
    let mut next: HashMap<&str, i64> = HashMap::new();
    for (f, op, name) in numbered_ops(module).filter(|&(f, op, name)| !module[f].body[op].attrs.contains(name)) {
        let n = next.entry(name).or_default();
        while written.contains(&(name, *n)) {
            *n += 1;
        }
        out.funcs[f.index()].body.op_mut(op).attrs.set(name, Attr::int(*n));
        *n += 1;
    }
    Some(out)
}

/// Returns the first op whose meaning depends on its number and that does not have it, or `None` if there is none.
pub(crate) fn unnumbered(module: &Module) -> Option<(FuncId, Op)> {
    let mut without = numbered_ops(module).filter(|&(f, op, name)| !module[f].body[op].attrs.contains(name));
    without.next().map(|(f, op, _)| (f, op))
}

/// Returns the ops whose meaning depends on their number, in the order of the text, and the attribute that holds it.
fn numbered_ops(module: &Module) -> impl Iterator<Item = (FuncId, Op, &'static str)> + '_ {
    module.funcs.iter().enumerate().flat_map(move |(f, func)| {
        let attr = move |op: Op| {
            let view = module.view(&func.body, op);
            facts(&view).number_attr(&view)
        };
        func.body.walk().into_iter().filter_map(move |op| Some((FuncId::new(f), op, attr(op)?)))
    })
}

fn has_compound(func: &Func, module: &Module) -> bool {
    let started = |r: &Region| func.body[*r].parent.is_some_and(|op| is_start(&module.view(&func.body, op)));
    let regions = (0..func.body.region_count()).map(Region::new).filter(|r| !started(r));
    regions.flat_map(|r| &func.body[r].ops).any(|&op| is_compound(&module.view(&func.body, op)))
}

fn is_start(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::AsyncStart
}

fn is_compound(view: &OpView<'_>) -> bool {
    is_promoted(view) || collective::is_variadic(view) || is_start_of_several(view) || !idle_components(view).is_empty()
}

/// Returns true if the op is an `async_start` of a collective of several operands, which can be started one by one
/// because it has a result for each operand.
fn is_start_of_several(view: &OpView<'_>) -> bool {
    let Some(inner) = started_op(view) else { return false };
    collective::is_variadic(&inner) && inner.operands().len() == inner.results().len()
}

fn started_op<'s>(view: &OpView<'s>) -> Option<OpView<'s>> {
    is_start(view).then(|| view.at(view.body[view.regions()[0]].ops[0]))
}

struct Simplify {
    uses: Uses,
    /// The futures that replace a future of several values: one for each value.
    futures: HashMap<Value, Vec<Value>>,
}

impl<'s> Rewrite<'s> for Simplify {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if is_start(view) {
            let is_finished_here = |future: Value| {
                self.uses.of(future).iter().all(|user| Opcode::of_view(&view.at(user.op)) == Opcode::AsyncDone)
            };
            if is_start_of_several(view) && is_finished_here(view.result(0)) {
                let futures = self.start_one_by_one(view, cloner, b)?;
                self.futures.insert(view.result(0), futures);
            } else {
                cloner.op(view.op, b);
            }
            return Ok(true);
        }
        if let Some(futures) = view.operands().first().and_then(|future| self.futures.get(future)) {
            for (&from, &future) in view.results().iter().zip(futures) {
                let ty = view.body.ty(from).clone();
                let done = b.value(view.data().code, [future], view.attrs().clone(), ty);
                cloner.carry(from, done, b);
            }
            return Ok(true);
        }
        if !is_compound(view) {
            return Ok(false);
        }
        let operands = cloner.values(view.operands());
        let mut regions = |b: &mut Builder<'_>| rewrite_regions(view, self, cloner, b).expect("it has no errors");
        let idle = idle_components(view);
        let results = match () {
            () if collective::is_variadic(view) => collective::split(view, &operands, &mut regions, b),
            () if !idle.is_empty() => without_components(view, &idle, &operands, regions(b), b),
            () => promote::decompose(view, &operands, regions(b), b),
        };
        view.results().iter().zip(results).for_each(|(&from, to)| cloner.carry(from, to, b));
        Ok(true)
    }
}

impl Simplify {
    /// Builds one `async_start` for each operand of the collective of several operands that `view` starts. Returns
    /// their futures. Never returns an error.
    fn start_one_by_one<'s>(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<Vec<Value>, Diagnostics> {
        let inner = started_op(view).expect("the op is a start");
        let args = &view.body[view.regions()[0]].args;
        let mut futures = vec![];
        for (&operand, &result) in inner.operands().iter().zip(inner.results()) {
            // The region may have arguments for the operands of the start, or read the values outside of it.
            let given = args.iter().position(|&arg| arg == operand).map_or(operand, |i| view.operand(i));
            let ty = view.body.ty(result).clone();
            let from = cloner.get(given);
            let (region, own) = open_region(b.body, &[view.body.ty(operand).clone()], view.loc());
            let mut at = Builder::at(b.body, region, inner.loc().clone());
            let regions = rewrite_regions(&inner, self, cloner, &mut at)?;
            let made = at.op_with_regions(inner.data().code, own, inner.attrs().clone(), regions, [ty.clone()]);
            let made = at.body[made].results[0];
            at.op(Opcode::RegionReturn, [made], Attrs::new(), []);
            let future = Type::Future(vec![ty]);
            let start = b.op_with_regions(view.data().code, [from], view.attrs().clone(), [region], [future]);
            futures.push(b.body[start].results[0]);
        }
        Ok(futures)
    }
}
