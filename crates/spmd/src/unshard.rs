//! Rewrites a program for one device: without meshes, shardings and constraints.

use crate::rewrite::is_mark;
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, rewrite_func, rewrite_regions};
use shardwise_ir::{Attr, Builder, Cloner, Func, Module, Op, OpView, Value};
use shardwise_ops::Opcode;
use shardwise_ops::control::unchanged_operands;
use shardwise_ops::shardy::ShardyCollective;

/// Returns the program for one device, without meshes, shardings, constraints, reshards and Shardy's collectives.
/// Manual computations remain, and a program with them cannot be run.
pub fn unsharded(module: &Module) -> Module {
    let mut out = module.without_funcs();
    out.meshes.clear();
    out.funcs = module.funcs.iter().map(|f| func(module, f)).collect();
    out
}

fn func(module: &Module, func: &Func) -> Func {
    let mut out = rewrite_func(module, func, &mut Unshard).expect("it has no errors");
    out.result_shardings.iter_mut().for_each(|s| *s = None);
    for v in (0..out.body.value_count()).map(Value::new) {
        out.body.value_mut(v).sharding = None;
    }
    out
}

/// Replaces ops that return their operands unchanged, such as constraints, and Shardy's collectives by their operands,
/// and copies all other ops, without the shardings among their attributes except for those of manual computations.
pub(crate) struct Unshard;

impl<'s> Rewrite<'s> for Unshard {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if is_identity(view) {
            let pairs = view.results().iter().zip(unchanged_operands(view));
            pairs.for_each(|(&v, &from)| cloner.set(v, cloner.get(from)));
            return Ok(true);
        }
        let regions = rewrite_regions(view, self, cloner, b)?;
        let made = cloner.op_with_regions(view.op, regions, b);
        if Opcode::of_view(view) != Opcode::ManualComputation {
            forget_shardings(made, b);
        }
        Ok(true)
    }
}

/// Returns true if the op is a mark of propagation, which returns its operands unchanged, or one of Shardy's
/// collectives.
fn is_identity(view: &OpView<'_>) -> bool {
    is_mark(view) || ShardyCollective::of(view).is_some()
}

fn forget_shardings(op: Op, builder: &mut Builder<'_>) {
    let is_sharding = |attr: &Attr| matches!(attr, Attr::Sharding(_) | Attr::Shardings(_));
    let attrs = &mut builder.body.op_mut(op).attrs;
    let names: Vec<_> = attrs.iter().filter(|(_, a)| is_sharding(a)).map(|(name, _)| name.to_string()).collect();
    for name in names {
        attrs.remove(&name);
    }
}
