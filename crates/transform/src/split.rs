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
    /// The values of the first part that the second one uses, except constants.
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
    let mut constants = vec![];
    let uses = ops.iter().flat_map(|&op| uses(&module.view(body, op)));
    for v in uses.chain(body.results().iter().copied()).filter(|&v| !later[v]) {
        add_constant(module, body, v, &mut constants);
    }
    constants.extend(ops);
    constants
}

/// Adds the ops that make `v`, operands first, unless they are there, if `v` follows from literals alone. Returns true
/// if it does.
fn add_constant(module: &Module, body: &Body, v: Value, constants: &mut Vec<Op>) -> bool {
    let Some(op) = body.def_op(v) else { return false };
    let view = module.view(body, op);
    let known = constants.len();
    let is_constant = constants.contains(&op)
        || match Opcode::of_view(&view).facts().constness(&view) {
            Constness::Literal => true,
            Constness::OfOperands => view.operands().iter().all(|&v| add_constant(module, body, v, constants)),
            Constness::No => false,
        };
    match is_constant {
        true if !constants.contains(&op) => constants.push(op),
        true => {}
        false => constants.truncate(known),
    }
    is_constant
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
