//! Replaces ops by ones that read further back, where their elements move along a sharded dimension.
//!
//! A roll is written as two slices and their concatenation. Run one by one, each of them moves elements into blocks of
//! its own; as one op, each element moves at most once.

use crate::rewrite::{facts, map_main};
use shardwise_base::{Diagnostics, Loc};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Builder, Cloner, Func, Module, Op, OpView, Uses, Value};
use shardwise_ops::{Effects, ReadThrough, RuleFact};
use shardwise_sharding::FactorKind;
use std::collections::HashSet;

/// Replaces the ops of the main function that can read through what their operands are cut from.
pub fn join(module: &Module) -> Result<Module, Diagnostics> {
    if first(module).is_none() {
        return Ok(module.clone());
    }
    map_main(module, |func| rewrite_func(module, func, &mut Joins::new(module, func)))
}

/// Returns the first op of the main function that can read through its operands.
pub(crate) fn first(module: &Module) -> Option<(Loc, String)> {
    let func = module.main()?;
    module.main_mesh()?;
    let op = func.body.walk().into_iter().find(|op: &Op| through(&module.view(&func.body, *op)).is_some())?;
    let view = module.view(&func.body, op);
    Some((view.loc().clone(), format!("`{}`", view.name())))
}

/// Returns the op to replace this one, if its elements move along a sharded dimension.
fn through(view: &OpView<'_>) -> Option<ReadThrough> {
    let sharding = view.results().first().and_then(|&v| view.body.sharding(v))?;
    sharding.split_axes().next()?;
    let RuleFact::Rule(rule) = facts(view).rule(view) else { return None };
    let moves = |d: usize| rule.results[0].dims[d].iter().any(|&f| rule.kind(f) == FactorKind::Permutation);
    let is_split = |d: &usize| !sharding.dims[*d].axes.is_empty();
    (0..sharding.rank()).filter(is_split).find(|&d| moves(d))?;
    facts(view).read_through(view)
}

struct Joins {
    /// The ops whose results nothing reads any more.
    dropped: HashSet<Op>,
}

impl Joins {
    fn new(module: &Module, func: &Func) -> Joins {
        let uses = Uses::compute(&func.body);
        let ops = func.body.walk();
        let made: Vec<(Op, ReadThrough)> =
            ops.iter().filter_map(|&op| Some((op, through(&module.view(&func.body, op))?))).collect();
        let read: HashSet<Value> = made.iter().flat_map(|(_, t)| t.operands.iter().copied()).collect();
        let mut silent: HashSet<Op> = made.into_iter().map(|(op, _)| op).collect();
        let mut dropped = HashSet::new();
        for op in ops.into_iter().rev() {
            let view = module.view(&func.body, op);
            let [result] = view.results() else { continue };
            let users = uses.of(*result);
            let is_unread = !read.contains(result) && users.iter().all(|user| silent.contains(&user.op));
            if is_unread && !users.is_empty() && facts(&view).effects(&view) == Effects::Pure {
                dropped.insert(op);
                silent.insert(op);
            }
        }
        Joins { dropped }
    }
}

impl<'s> Rewrite<'s> for Joins {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if self.dropped.contains(&view.op) {
            return Ok(true);
        }
        let Some(ReadThrough { code, operands, attrs }) = through(view) else { return Ok(false) };
        let operands = cloner.values(&operands);
        let result = b.value(code, operands, attrs, view.result_type(0).clone());
        cloner.carry(view.result(0), result, b);
        Ok(true)
    }
}
