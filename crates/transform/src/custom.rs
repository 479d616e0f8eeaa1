//! Functions with derivatives of their own ([`shardwise_ops::custom`]).

use crate::depends::{Depends, callee};
use crate::errors;
use shardwise_base::Diagnostics;
use shardwise_ir::rewrite::{Rewrite, rewrite_func};
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

/// Returns `func` with the bodies of the functions that it runs in place of those calls and composites that depend on its
/// arguments `args`: calls and composites have no transpose.
pub(crate) fn without_calls(module: &Module, func: &Func, args: &[usize]) -> Func {
    let mut depends = Depends::new(module, &func.body, |_, _| true);
    args.iter().for_each(|&i| depends.values[func.body.args()[i]] = true);
    depends.region(func.body.entry());
    rewrite_func(module, func, &mut Inliner { depends }).expect("the pass has no errors")
}

struct Inliner<'s, F> {
    depends: Depends<'s, F>,
}

impl<'s, F: Fn(&OpView<'s>, Value) -> bool> Rewrite<'s> for Inliner<'s, F> {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        let Some(func) = callee(view).filter(|_| self.depends.uses(view)) else { return Ok(false) };
        let marked: Vec<usize> = (0..view.operands().len()).filter(|&i| self.depends.values[view.operand(i)]).collect();
        let func = without_calls(view.module, func, &marked);
        let made = inlined(&func, &cloner.values(view.operands()), b);
        view.results().iter().zip(made).for_each(|(&v, to)| cloner.set(v, to));
        Ok(true)
    }
}

/// Checks that neither `func` nor a region in it has a [linear call](LinearCall), which stands for a derivative that is
/// only known in reverse mode. Fails with `custom-vjp-forward` for each.
pub(crate) fn refuse_linear_calls(module: &Module, func: &Func) -> Result<(), Diagnostics> {
    let views = func.body.walk().into_iter().map(|op| module.view(&func.body, op));
    let mut wrong = Diagnostics::default();
    views.filter(|op: &OpView<'_>| LinearCall::of(op).is_some()).for_each(|op| wrong.push(errors::reverse_only(&op)));
    wrong.or(())
}
