//! Rewrites a program for one device: without meshes, shardings and constraints.

use shardwise_ir::{Attr, Body, Builder, Cloner, Func, Module, Op, OpView, Region};
use shardwise_ops::shardy::ShardyCollective;
use shardwise_ops::{Opcode, Semantics};

/// Returns the program for one device. Manual computations remain, and such a program cannot be run.
pub fn unsharded(module: &Module) -> Module {
    let mut out = module.without_funcs();
    out.meshes.clear();
    out.funcs = module.funcs.iter().map(|f| func(module, f)).collect();
    out
}

fn func(module: &Module, func: &Func) -> Func {
    let mut out = func.without_body();
    out.result_shardings.iter_mut().for_each(|s| *s = None);
    let mut body = Body::new();
    let mut cloner = Cloner::new(&func.body);
    let mut builder = Builder::new(&mut body);
    cloner.args(func.body.entry(), &mut builder);
    region(module, func.body.entry(), &mut cloner, &mut builder);
    for i in 0..body.value_count() {
        body.value_mut(shardwise_ir::Value::new(i)).sharding = None;
    }
    out.body = body;
    out
}

fn region(module: &Module, from: Region, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) {
    for &inner in &cloner.source[from].ops {
        op(&module.view(cloner.source, inner), cloner, builder);
    }
}

/// Replaces constraints, reshards and Shardy's collectives by their operands, and copies all other ops.
fn op(view: &OpView<'_>, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) {
    if is_identity(view) {
        for (&result, &operand) in view.results().iter().zip(view.operands()) {
            cloner.set(result, cloner.get(operand));
        }
        return;
    }
    let regions = view.regions().iter().map(|&r| inner_region(view.module, r, cloner, builder)).collect();
    let made = cloner.op_with_regions(view.op, regions, builder);
    if Opcode::of_view(view) != Opcode::ManualComputation {
        forget_shardings(made, builder);
    }
}

/// Returns whether the op returns its operands unchanged and only affects how they are laid out.
fn is_identity(view: &OpView<'_>) -> bool {
    let code = Opcode::of_view(view);
    code.facts().semantics(view) == Semantics::Identity && code != Opcode::ManualComputation
        || ShardyCollective::of(view).is_some()
}

/// Removes the attributes that hold shardings, such as the operand shardings of a named computation.
fn forget_shardings(op: Op, builder: &mut Builder<'_>) {
    let is_sharding = |attr: &Attr| matches!(attr, Attr::Sharding(_) | Attr::Shardings(_));
    let attrs = &mut builder.body.op_mut(op).attrs;
    let names: Vec<_> = attrs.iter().filter(|(_, a)| is_sharding(a)).map(|(name, _)| name.to_string()).collect();
    for name in names {
        attrs.remove(&name);
    }
}

fn inner_region(module: &Module, from: Region, cloner: &mut Cloner<'_>, builder: &mut Builder<'_>) -> Region {
    let new = builder.body.add_region();
    let mut inner = Builder { body: builder.body, region: new, loc: builder.loc.clone() };
    cloner.args(from, &mut inner);
    region(module, from, cloner, &mut inner);
    new
}
