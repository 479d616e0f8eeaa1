//! Functions with derivatives of their own ([`shardwise_ops::custom`]).

use crate::errors;
use shardwise_base::Diagnostics;
use shardwise_ir::{Builder, Cloner, Func, Module, OpView, Value};
use shardwise_ops::custom::LinearCall;

/// Copies the ops of `func`, except its terminator, to the builder's position, with `args` in place of its arguments.
/// Returns the copies of its results.
pub(crate) fn inlined(func: &Func, args: &[Value], b: &mut Builder<'_>) -> Vec<Value> {
    let mut cloner = Cloner::new(&func.body);
    func.body.args().iter().zip(args).for_each(|(&v, &to)| cloner.set(v, to));
    let ops = &func.body[func.body.entry()].ops;
    for &op in &ops[..ops.len().saturating_sub(1)] {
        cloner.op(op, b);
    }
    cloner.values(func.body.results())
}

/// Checks that neither `func` nor a region in it has a [linear call](LinearCall), which stands for a derivative that is
/// only known in reverse mode. Fails with `custom-vjp-forward` for each.
pub(crate) fn refuse_linear_calls(module: &Module, func: &Func) -> Result<(), Diagnostics> {
    let views = func.body.walk().into_iter().map(|op| module.view(&func.body, op));
    let mut wrong = Diagnostics::default();
    views.filter(|op: &OpView<'_>| LinearCall::of(op).is_some()).for_each(|op| wrong.push(errors::reverse_only(&op)));
    wrong.or(())
}
