//! Replaces quantized values by their integers, and ops on them by the arithmetic that they represent
//! ([`shardwise_ops::quantized::decompose`]).

use shardwise_base::{Diagnostics, budget};
use shardwise_ir::rewrite::{Rewrite, rewrite_funcs, rewrite_regions};
use shardwise_ir::{Body, Builder, Cloner, Module, OpView, Type, Value};
use shardwise_ops::quantized::{decompose, is_quantized, stored};

/// Returns the module with quantized values replaced by their integers in all functions. Always returns `Ok`.
pub fn dequantize(module: Module) -> Result<Module, Diagnostics> {
    budget::poll();
    let names = |body: &Body| (0..body.value_count()).map(Value::new).any(|v| names_quantized(body.ty(v)));
    if !module.funcs.iter().any(|f| names(&f.body)) {
        return Ok(module);
    }
    rewrite_funcs(&module, &mut Dequantize)
}

pub(crate) fn names_quantized(ty: &Type) -> bool {
    match ty {
        Type::Tensor(t) => t.dtype.quantized().is_some(),
        Type::Tuple(types) | Type::Future(types) => types.iter().any(names_quantized),
        Type::Token => false,
    }
}

/// Replaces ops on quantized values by arithmetic on their integers.
struct Dequantize;

impl<'s> Rewrite<'s> for Dequantize {
    fn rewrite(
        &mut self,
        view: &OpView<'s>,
        cloner: &mut Cloner<'s>,
        b: &mut Builder<'_>,
    ) -> Result<bool, Diagnostics> {
        if !is_quantized(view) {
            return Ok(false);
        }
        let regions = rewrite_regions(view, self, cloner, b)?;
        let results = decompose(view, &cloner.values(view.operands()), regions, b);
        view.results().iter().zip(results).for_each(|(&from, to)| cloner.carry(from, to, b));
        Ok(true)
    }

    fn value_type(&self, source: &Body, v: Value) -> Type {
        stored(source.ty(v))
    }
}
