//! Writes ops that can be written in several ways in one of them: collectives of several operands as collectives of
//! one, reducers that work on wider elements than their operands have as reducers of converted operands, Shardy's
//! collectives on global values as reshards.
//!
//! Every `rng` gets the number of its stream, which determines the numbers that it draws, so that no pass changes them.

use crate::rewrite::facts;
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, rewrite_funcs, rewrite_regions};
use shardwise_ir::{Attr, Builder, Cloner, Func, FuncId, Module, Op, OpView, Region};
use shardwise_ops::promote::{self, is_promoted};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Opcode, collective};
use std::collections::HashMap;

/// Returns the module with a number on each `rng`, with reshards in place of Shardy's collectives, with collectives of
/// one operand, and with reducers on the types of their operands. Always returns `Ok`.
pub fn simplify(module: Module) -> Result<Module, Diagnostics> {
    let module = numbered(&module).unwrap_or(module);
    let module = reshards(&module).unwrap_or(module);
    if has_compound(&module) { rewrite_funcs(&module, &mut Simplify) } else { Ok(module) }
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

/// Returns the module with a stream number on every `rng`, or `None` if all have one.
fn numbered(module: &Module) -> Option<Module> {
    unnumbered(module)?;
    let mut out = module.clone();
    let mut counts: HashMap<&str, i64> = HashMap::new();
    for (f, op, name) in numbered_ops(module) {
        let n = counts.entry(name).or_default();
        let attrs = &mut out.funcs[f.index()].body.op_mut(op).attrs;
        if !attrs.contains(name) {
            attrs.set(name, Attr::int(*n));
        }
        *n += 1;
    }
    Some(out)
}

/// Returns the first op whose meaning depends on its number and that does not have it.
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

/// Returns true if an op outside of the regions of `async_start` ops is to be replaced by several.
fn has_compound(module: &Module) -> bool {
    let has_any = |f: &Func| {
        let started = |r: &Region| f.body[*r].parent.is_some_and(|op| is_start(&module.view(&f.body, op)));
        let regions = (0..f.body.region_count()).map(Region::new).filter(|r| !started(r));
        regions.flat_map(|r| &f.body[r].ops).any(|&op| is_compound(&module.view(&f.body, op)))
    };
    module.funcs.iter().any(has_any)
}

/// Returns whether the op is an `async_start`. Its region holds exactly one op, which must not be replaced by several.
fn is_start(view: &OpView<'_>) -> bool {
    Opcode::of_view(view) == Opcode::AsyncStart
}

fn is_compound(view: &OpView<'_>) -> bool {
    is_promoted(view) || collective::is_variadic(view)
}

struct Simplify;

impl<'s> Rewrite<'s> for Simplify {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if is_start(view) {
            cloner.op(view.op, b);
            return Ok(true);
        }
        if !is_compound(view) {
            return Ok(false);
        }
        let operands = cloner.values(view.operands());
        let mut regions = |b: &mut Builder<'_>| rewrite_regions(view, self, cloner, b).expect("it has no errors");
        let results = match collective::is_variadic(view) {
            true => collective::split(view, &operands, &mut regions, b),
            false => promote::decompose(view, &operands, regions(b), b),
        };
        view.results().iter().zip(results).for_each(|(&from, to)| cloner.carry(from, to, b));
        Ok(true)
    }
}
