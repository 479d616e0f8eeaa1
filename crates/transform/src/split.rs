//! Functions that are run in two parts.

use crate::depends::uses;
use shardwise_base::EntityVec;
use shardwise_ir::{Attrs, Body, Builder, Cloner, Func, Module, Op, Value};
use shardwise_ops::{Constness, Opcode};

/// Splits a function into the part that depends on its first `args` arguments only, and the rest.
///
/// The first function takes these arguments, and returns the first `results` results, then all values that the second
/// one uses, except constants, which the second one makes itself. The second takes these values, then the other
/// arguments, and returns the other results.
///
/// ```text
/// (x, ct) -> (sin x, ct * cos x)   becomes   x -> (sin x, cos x)   and   (cos x, ct) -> ct * cos x
/// ```
///
/// # Panics
/// Panics if the function has fewer arguments or results, or if one of the first `results` results depends on a later
/// argument.
pub fn split(module: &Module, func: &Func, args: usize, results: usize) -> (Func, Func) {
    let body = &func.body;
    let Parts { first, second, kept } = Parts::of(module, body, args, results);
    let out: Vec<Value> = body.results()[..results].iter().chain(&kept).copied().collect();
    let takes: Vec<Value> = kept.iter().chain(&body.args()[args..]).copied().collect();
    (part(func, &body.args()[..args], &first, &out), part(func, &takes, &second, &body.results()[results..]))
}

/// Returns the values that [`split`] keeps of the first part for the second. In a function and its cotangents, these
/// are the residuals: what reverse mode keeps of the function until it needs it. Panics if the function has fewer
/// arguments or results.
pub fn residuals(module: &Module, func: &Func, args: usize, results: usize) -> Vec<Value> {
    Parts::of(module, &func.body, args, results).kept
}

struct Parts {
    first: Vec<Op>,
    second: Vec<Op>,
    /// The values and arguments of the first part that the second one uses or returns, except constants.
    kept: Vec<Value>,
}

impl Parts {
    fn of(module: &Module, body: &Body, args: usize, results: usize) -> Parts {
        let ops = &body[body.entry()].ops;
        let ops = &ops[..ops.len().saturating_sub(1)];
        let mut later: EntityVec<Value, bool> = EntityVec::filled(body.value_count(), false);
        body.args()[args..].iter().for_each(|&v| later[v] = true);
        let (mut first, mut second): (Vec<Op>, Vec<Op>) = (vec![], vec![]);
        for &op in ops {
            let view = module.view(body, op);
            match uses(&view).iter().any(|&v| later[v]) {
                true => {
                    view.results().iter().for_each(|&v| later[v] = true);
                    second.push(op);
                }
                false => first.push(op),
            }
        }
        let derivatives = &body.results()[results..];
        let second = with_constants(module, body, wanted(module, body, second, derivatives), &later);
        let mut made: EntityVec<Value, bool> = EntityVec::filled(body.value_count(), false);
        let (mut kept, mut is_kept) = (vec![], made.clone());
        let mut needed = vec![];
        for &op in &second {
            let view = module.view(body, op);
            needed.extend(uses(&view));
            view.results().iter().for_each(|&v| made[v] = true);
        }
        needed.extend(derivatives);
        for v in needed {
            if !later[v] && !made[v] && !std::mem::replace(&mut is_kept[v], true) {
                kept.push(v);
            }
        }
        Parts { first, second, kept }
    }
}

/// Returns those of the ops that are needed for `results` or for ops without results.
fn wanted(module: &Module, body: &Body, ops: Vec<Op>, results: &[Value]) -> Vec<Op> {
    let mut needed: EntityVec<Value, bool> = EntityVec::filled(body.value_count(), false);
    results.iter().for_each(|&v| needed[v] = true);
    let mut wanted = vec![];
    for &op in ops.iter().rev() {
        let view = module.view(body, op);
        if view.results().is_empty() || view.results().iter().any(|&v| needed[v]) {
            uses(&view).into_iter().for_each(|v| needed[v] = true);
            wanted.push(op);
        }
    }
    wanted.reverse();
    wanted
}

/// Returns the ops, and in front of them the constants that they or the results of the body use, so that constants are
/// not passed between the parts.
fn with_constants(module: &Module, body: &Body, ops: Vec<Op>, later: &EntityVec<Value, bool>) -> Vec<Op> {
    let is_constant = constants(module, body);
    let (mut made, mut is_made) = (vec![], EntityVec::filled(body.op_count(), false));
    let uses = ops.iter().flat_map(|&op| uses(&module.view(body, op)));
    for v in uses.chain(body.results().iter().copied()).filter(|&v| !later[v] && is_constant[v]) {
        add_ops_of(body, v, &mut made, &mut is_made);
    }
    made.extend(ops);
    made
}

/// Returns, for each value, true if it is made in the function's own region and is a literal, or follows from literals
/// by ops that are constant if their operands are ([`Constness::OfOperands`]).
fn constants(module: &Module, body: &Body) -> EntityVec<Value, bool> {
    let mut is_constant: EntityVec<Value, bool> = EntityVec::filled(body.value_count(), false);
    for &op in &body[body.entry()].ops {
        let view = module.view(body, op);
        let follows = match Opcode::of_view(&view).facts().constness(&view) {
            Constness::Literal => true,
            Constness::OfOperands => view.operands().iter().all(|&v| is_constant[v]),
            Constness::No => false,
        };
        view.results().iter().for_each(|&v| is_constant[v] = follows);
    }
    is_constant
}

/// Adds the ops from which `v` follows to `made`, operands first, except those for which `is_made` is true already.
fn add_ops_of(body: &Body, v: Value, made: &mut Vec<Op>, is_made: &mut EntityVec<Op, bool>) {
    let mut open = vec![(v, false)];
    while let Some((v, has_operands)) = open.pop() {
        let Some(op) = body.def_op(v).filter(|&op| !is_made[op]) else { continue };
        if has_operands {
            is_made[op] = true;
            made.push(op);
        } else {
            open.push((v, true));
            open.extend(body[op].operands.iter().rev().map(|&v| (v, false)));
        }
    }
}

fn part(func: &Func, args: &[Value], ops: &[Op], results: &[Value]) -> Func {
    let mut out = func.without_body();
    let mut cloner = Cloner::new(&func.body);
    let mut b = Builder::new(&mut out.body);
    cloner.args_of(args.iter().copied(), &mut b);
    ops.iter().for_each(|&op| {
        cloner.op(op, &mut b);
    });
    b.loc = func.loc.clone();
    let values = cloner.values(results);
    b.ret(values.iter().copied());
    out.arg_attrs = vec![Attrs::new(); args.len()];
    out.result_attrs = vec![Attrs::new(); results.len()];
    out.result_shardings = results.iter().map(|&v| func.body.sharding(v).cloned()).collect();
    out.result_types = results.iter().map(|&v| func.body.ty(v).clone()).collect();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardwise_ir::text::parse;
    use shardwise_ops::OPS;

    #[test]
    fn long_chains_of_values_and_of_constants_are_split() {
        const LENGTH: usize = 50_000;
        let chain = |name: &str| {
            let op = |i: usize| format!("  %{name}{} = stablehlo.tanh %{name}{i} : tensor<f32>\n", i + 1);
            (0..LENGTH).map(op).collect::<Vec<_>>().concat()
        };
        let text = format!(
            "func.func @main(%a0: tensor<f32>, %ct: tensor<f32>) -> (tensor<f32>, tensor<f32>) {{
  %b0 = stablehlo.constant dense<0.5> : tensor<f32>
{}{}  %0 = stablehlo.multiply %ct, %a{LENGTH} : tensor<f32>
  %1 = stablehlo.multiply %0, %b{LENGTH} : tensor<f32>
  return %a{LENGTH}, %1 : tensor<f32>, tensor<f32>
}}",
            chain("a"),
            chain("b")
        );
        let module = parse("test.mlir", &text, &OPS).unwrap();
        let (first, second) = split(&module, module.main().unwrap(), 1, 1);
        assert_eq!((first.body.results().len(), second.body.args().len()), (2, 2));
        // The constants, both products and the terminator.
        assert_eq!(second.body[second.body.entry()].ops.len(), LENGTH + 1 + 2 + 1);
    }
}
