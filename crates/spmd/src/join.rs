//! Replaces ops by ones that read further back, where their elements move along a sharded dimension.
//!
//! A roll is written as two slices and their concatenation. Run one by one, each of them moves elements into blocks of
//! its own; as one op, each element moves at most once.

use crate::rewrite::{facts, map_main};
use shardwise_base::{Diagnostics, Loc};
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
use shardwise_ir::{Builder, Cloner, Module, Op, OpView, Uses};
use shardwise_ops::{Effects, ReadThrough, RuleFact};
use shardwise_sharding::FactorKind;

/// Replaces the ops of the main function that can read through what their operands are cut from.
pub fn join(module: &Module) -> Result<Module, Diagnostics> {
    if first(module).is_none() {
        return Ok(module.clone());
    }
    map_main(module, |func| rewrite_func(module, func, &mut Joins { uses: Uses::compute(&func.body) }))
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
    uses: Uses,
}

impl Joins {
    /// Returns whether only ops that read through the result read it.
    fn is_read_through(&self, view: &OpView<'_>) -> bool {
        let [result] = view.results() else { return false };
        let reads_on = |op: Op| through(&view.at(op)).is_some_and(|t| !t.operands.contains(result));
        let users = self.uses.of(*result);
        !users.is_empty() && users.iter().all(|user| reads_on(user.op)) && facts(view).effects(view) == Effects::Pure
    }
}

impl<'s> Rewrite<'s> for Joins {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if self.is_read_through(view) {
            return Ok(true);
        }
        let Some(ReadThrough { code, operands, attrs }) = through(view) else { return Ok(false) };
        let operands = cloner.values(&operands);
        let result = b.value(code, operands, attrs, view.result_type(0).clone());
        cloner.carry(view.result(0), result, b);
        Ok(true)
    }
}
