//! Replaces quantized values by their integers, and ops on them by the arithmetic that they represent
//! ([`shardwise_ops::quantized::decompose`]).

use shardwise_base::{Diagnostics, budget};
use shardwise_ir::{Body, Builder, Cloner, Func, Module, OpView, Region, Type, Value};
use shardwise_ops::quantized::{decompose, is_quantized, stored};

/// Returns the module without quantized types.
pub fn dequantize(module: Module) -> Result<Module, Diagnostics> {
    budget::poll();
    let names = |body: &Body| (0..body.value_count()).map(Value::new).any(|v| names_quantized(body.ty(v)));
    if !module.funcs.iter().any(|f| names(&f.body)) {
        return Ok(module);
    }
    let mut out = module.without_funcs();
    out.funcs = module.funcs.iter().map(|f| on_integers(&module, f)).collect();
    Ok(out)
}

/// Returns whether the type, or a part of it, is quantized.
pub(crate) fn names_quantized(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.dtype.quantized().is_some(),
        Type::Tuple(types) | Type::Future(types) => types.iter().any(names_quantized),
        Type::Token => false,
    }
}

fn on_integers(module: &Module, func: &Func) -> Func {
    let mut out = func.without_body();
    out.result_types.iter_mut().for_each(|ty| *ty = stored(ty));
    let mut cloner = Cloner::new(&func.body);
    region(module, &mut cloner, func.body.entry(), &mut Builder::new(&mut out.body));
    out
}

/// Copies the contents of a region to the builder's position, with quantized values replaced by their integers.
fn region(module: &Module, cloner: &mut Cloner<'_>, from: Region, b: &mut Builder<'_>) {
    cloner.args(from, b);
    for &arg in &cloner.source[from].args {
        let ty: Type = stored(cloner.source.ty(arg));
        b.body.value_mut(cloner.get(arg)).ty = ty;
    }
    for &op in &cloner.source[from].ops {
        one(module, cloner, &module.view(cloner.source, op), b);
    }
}

fn one(module: &Module, cloner: &mut Cloner<'_>, op: &OpView<'_>, b: &mut Builder<'_>) {
    let inner = |cloner: &mut Cloner<'_>, b: &mut Builder<'_>, from: Region| {
        let made = b.body.add_region();
        region(module, cloner, from, &mut Builder::at(b.body, made, b.loc.clone()));
        made
    };
    let regions: Vec<Region> = op.regions().iter().map(|&r| inner(cloner, b, r)).collect();
    if !is_quantized(op) {
        cloner.op_with_regions(op.op, regions, b);
        return;
    }
    b.loc = op.loc().clone();
    let results = decompose(op, &cloner.values(op.operands()), regions, b);
    for (&from, to) in op.results().iter().zip(results) {
        cloner.carry(from, to, b);
    }
}
