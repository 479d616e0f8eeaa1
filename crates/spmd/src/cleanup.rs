//! What is dead, repeated or does nothing goes.
//!
//! Dead ops are dropped, equal ops become one (a region sees those of the regions around it), ops that change nothing
//! are forwarded, and scalar arithmetic on constants is done here.

use crate::rewrite::{Rewrite, code, facts, is_terminator, map_main, rewrite_func};
use shardwise_base::{Diagnostic, Diagnostics, Literal};
use shardwise_ir::{Attr, Attrs, Body, Builder, Cloner, Func, Module, Op, OpCode, OpView, Region, Type, Value};
use shardwise_ops::{Effects, EvalError, Opcode, RegionEval, Semantics};
use std::collections::HashMap;

/// Rounds after which what is still dead stays: each removes what the last one freed.
const MAX_ROUNDS: usize = 4;

/// Removes and merges ops.
pub fn cleanup(module: &Module) -> Result<Module, Diagnostics> {
    map_main(module, |func| {
        let mut func = func.clone();
        for _ in 0..MAX_ROUNDS {
            let next = round(module, &func);
            let is_done = next.body.op_count() == func.body.op_count();
            func = next;
            if is_done {
                break;
            }
        }
        Ok(func)
    })
}

fn round(module: &Module, func: &Func) -> Func {
    rewrite_func(module, func, &mut Cleanup { module, live: live(module, &func.body), seen: HashMap::new() })
}

/// For each op, whether anything needs it.
fn live(module: &Module, body: &Body) -> Vec<bool> {
    let mut used = vec![false; body.value_count()];
    let mut live = vec![false; body.op_count()];
    // Backwards: readers come before what they read.
    for op in body.walk().into_iter().rev() {
        let view = module.view(body, op);
        let acts = is_terminator(&view) || facts(&view).effects(&view) == Effects::Ordered;
        if acts || view.results().iter().any(|v| used[v.index()]) {
            live[op.index()] = true;
            view.operands().iter().for_each(|v| used[v.index()] = true);
        }
    }
    live
}

struct Cleanup<'s> {
    module: &'s Module,
    live: Vec<bool>,
    /// Ops of the new body, and where they stand, by what they compute.
    seen: HashMap<Key, Vec<(Op, Region)>>,
}

type Key = (OpCode, Vec<Value>, Type);

impl<'s> Rewrite<'s> for Cleanup<'s> {
    fn rewrite(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> bool {
        if !self.live[view.op.index()] {
            return true;
        }
        if !view.regions().is_empty() || view.results().len() != 1 || !is_repeatable(view) {
            return false;
        }
        let operands = cloner.values(view.operands());
        let value = forwarded(view, &operands)
            .or_else(|| there_and_back(view, cloner))
            .or_else(|| self.repeated(view, &operands, b))
            .unwrap_or_else(|| self.made(view, cloner, b));
        cloner.set(view.result(0), value);
        true
    }
}

fn is_repeatable(view: &OpView<'_>) -> bool {
    !is_terminator(view) && facts(view).effects(view) != Effects::Ordered
}

impl<'s> Cleanup<'s> {
    /// The result of an equal op that stands before, in this region or in one around it.
    fn repeated(&mut self, view: &OpView<'_>, operands: &[Value], b: &Builder<'_>) -> Option<Value> {
        let key = (view.data().code, operands.to_vec(), view.result_type(0).clone());
        // Of the regions around this one only the function's own is looked at, and all that is there stands before.
        let is_around = |region: Region| region == b.region || region == b.body.entry();
        let is_equal = |op: Op| b.body[op].attrs == *view.attrs();
        let (op, _) = self.seen.get(&key)?.iter().find(|(op, region)| is_around(*region) && is_equal(*op))?;
        Some(b.body[*op].results[0])
    }

    fn made(&mut self, view: &OpView<'s>, cloner: &mut Cloner<'s>, b: &mut Builder<'_>) -> Value {
        let op = cloner.op(view.op, b);
        let result = b.body[op].results[0];
        let folded = fold(&self.module.view(b.body, op));
        let (op, result) = match folded {
            Some(value) => {
                b.body.pop_op(b.region, op);
                let ty = view.result_type(0).clone();
                let new = b.op(code("stablehlo.constant"), [], Attrs::new().with("value", Attr::Dense(value)), [ty]);
                (new, b.body[new].results[0])
            }
            None => (op, result),
        };
        let data = b.body.op(op);
        let key = (data.code, data.operands.to_vec(), b.body.ty(result).clone());
        self.seen.entry(key).or_default().push((op, b.region));
        result
    }
}

/// The operand that the op gives back unchanged.
fn forwarded(view: &OpView<'_>, operands: &[Value]) -> Option<Value> {
    let first = *operands.first()?;
    let same_type = view.operand_type(0) == view.result_type(0);
    let is_identity = match view.name() {
        "stablehlo.reshape" | "stablehlo.convert" | "stablehlo.bitcast_convert" | "stablehlo.slice" => same_type,
        "stablehlo.transpose" => view.sizes("permutation").is_sorted(),
        "stablehlo.broadcast_in_dim" => same_type && view.sizes("broadcast_dimensions").is_sorted(),
        "stablehlo.pad" => {
            same_type && ["edge_padding_low", "edge_padding_high"].iter().all(|n| view.ints(n).iter().all(|&p| p == 0))
        }
        "stablehlo.concatenate" => operands.len() == 1,
        _ => false,
    };
    is_identity.then_some(first)
}

/// The integer that a conversion to a type of as many bits and back started from.
fn there_and_back(view: &OpView<'_>, cloner: &Cloner<'_>) -> Option<Value> {
    let is_convert = |v: &OpView<'_>| Opcode::of_view(v) == Opcode::Convert;
    let there = is_convert(view).then(|| view.operand_def(0)).flatten().filter(is_convert)?;
    let (from, middle) = (there.operand_tensor(0), there.result_tensor(0));
    let keeps_all = from.dtype.is_integer() && middle.dtype.is_integer() && middle.dtype.bits() >= from.dtype.bits();
    (keeps_all && from == view.result_tensor(0)).then(|| cloner.get(there.operand(0)))
}

/// The value of scalar arithmetic on constants.
fn fold(view: &OpView<'_>) -> Option<Literal> {
    let facts = facts(view);
    let is_scalar =
        view.result_type(0).as_tensor().is_some_and(|t| t.rank() == 0 && !t.dtype.is_float() && !t.dtype.is_complex());
    if !is_scalar || view.operands().is_empty() || facts.semantics(view) != Semantics::Pure {
        return None;
    }
    let operands: Vec<Literal> = (0..view.operands().len()).map(|i| scalar_constant(view, i)).collect::<Option<_>>()?;
    facts.eval(view, &operands, &mut NoRegions).ok()?.into_iter().next()
}

fn scalar_constant(view: &OpView<'_>, operand: usize) -> Option<Literal> {
    let constant = view.operand_def(operand).filter(|c| c.name() == "stablehlo.constant")?;
    constant.attr("value")?.as_dense().filter(|l| l.rank() == 0).cloned()
}

/// Folded ops have no regions.
struct NoRegions;

impl RegionEval for NoRegions {
    fn region(&mut self, _: Region, _: Vec<Literal>) -> Result<Vec<Literal>, EvalError> {
        Err(Diagnostic::error("fold-region", &shardwise_base::Loc::UNKNOWN, "regions are not folded"))
    }
}
