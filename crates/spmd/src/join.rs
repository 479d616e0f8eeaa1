//! Replaces ops by ones that read further back, where their elements move along a sharded dimension.
//!
//! A roll is written as two slices and their concatenation. Run one by one, each of them moves elements into blocks of
//! its own; as one op, each element moves at most once.

use crate::cleanup::remove_dead;
use crate::rewrite::facts;
use shardwise_base::{Diagnostics, Loc, budget};
use shardwise_ir::{Module, Op, OpView};
use shardwise_ops::{ReadThrough, RuleFact};
use shardwise_sharding::FactorKind;

/// Replaces each op of the main function whose elements move along a sharded dimension by one that reads the values
/// from which its operands are built, if there is such an op. Removes ops that are dead then. Always returns `Ok`.
pub fn join(mut module: Module) -> Result<Module, Diagnostics> {
    let Some(main) = module.main().and_then(|f| module.func_id(&f.name)).filter(|_| module.main_mesh().is_some())
    else {
        return Ok(module);
    };
    let mut body = std::mem::take(&mut module.funcs[main.index()].body);
    let mut is_changed = false;
    // An op comes after those that it reads, so these have been replaced already.
    for op in body.walk() {
        while let Some(ReadThrough { code, operands, attrs }) = through(&module.view(&body, op)) {
            budget::poll();
            let data = body.op_mut(op);
            (data.code, data.operands, data.attrs) = (code, operands.into(), attrs);
            is_changed = true;
        }
    }
    if is_changed {
        remove_dead(&module, &mut body);
    }
    module.funcs[main.index()].body = body;
    Ok(module)
}

/// Returns the location and the name, in backticks, of the first op of the main function that [`join`] would replace,
/// or `None` if there is none.
pub(crate) fn first(module: &Module) -> Option<(Loc, String)> {
    let func = module.main()?;
    module.main_mesh()?;
    let op = func.body.walk().into_iter().find(|op: &Op| through(&module.view(&func.body, *op)).is_some())?;
    let view = module.view(&func.body, op);
    Some((view.loc().clone(), format!("`{}`", view.name())))
}

/// Returns the op that replaces this one. Returns `None` if the op moves no elements along a dimension that is sharded
/// in its result, or if it cannot read values further back.
fn through(view: &OpView<'_>) -> Option<ReadThrough> {
    let sharding = view.results().first().and_then(|&v| view.body.sharding(v))?;
    sharding.split_axes().next()?;
    let RuleFact::Rule(rule) = facts(view).rule(view) else { return None };
    let moves = |d: usize| rule.results[0].dims[d].iter().any(|&f| rule.kind(f) == FactorKind::Permutation);
    let is_split = |d: &usize| !sharding.dims[*d].axes.is_empty();
    (0..sharding.rank()).filter(is_split).find(|&d| moves(d))?;
    facts(view).read_through(view)
}
