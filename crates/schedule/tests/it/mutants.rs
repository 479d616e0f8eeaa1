//! The programs that a wrong scheduler would make. Each of them must have other results than the right one.

use crate::programs::{localized, topology};
use crate::{loops, products};
use shardwise_base::Literal;
use shardwise_check::run::on;
use shardwise_interp::InterpEngine;
use shardwise_ir::{Body, Module, Op, OpView, Value};
use shardwise_ops::Opcode;
use shardwise_ops::collective::{CollectiveKind, CollectiveView, Permutation};
use shardwise_schedule::{Options, schedule};
use shardwise_sim::Overlap;

/// A mistake in a scheduled program: its name, and a function that makes it, which returns true if it changed
/// something.
type Mutant = (&'static str, fn(&Module, &mut Body) -> bool);

const MUTANTS: [Mutant; 9] = [
    ("pieces are sent too far", |module, body| each(module, body, |view, body| shifted(view, body, 2))),
    ("pieces are sent back", |module, body| each(module, body, |view, body| shifted(view, body, -1))),
    ("a product of pieces is lost", |module, body| each(module, body, addend_lost)),
    ("a part of the result is lost", |module, body| each(module, body, update_lost)),
    ("a transfer that has not arrived is used", |module, body| each(module, body, waits_for_another)),
    ("all pieces are the first one", |module, body| each(module, body, first_slice)),
    ("the gather is of the same turn", |module, body| each(module, body, same_turn)),
    ("combined sums are taken apart in the wrong places", |module, body| each(module, body, next_slice)),
    ("a gather of a sum joins another dimension", |module, body| each(module, body, gather_lost)),
];

/// Applies a change to each op of a body, the last one first. Returns true if `change` does for one of them.
fn each(module: &Module, body: &mut Body, change: impl Fn(&OpView<'_>, &mut Body) -> bool) -> bool {
    let source = body.clone();
    let mut ops = source.walk();
    ops.reverse();
    ops.into_iter().filter(|&op| change(&module.view(&source, op), body)).count() > 0
}

fn is(view: &OpView<'_>, opcode: Opcode) -> bool {
    Opcode::of_view(view) == opcode
}

fn set_operand(body: &mut Body, op: Op, i: usize, v: Value) -> bool {
    body.op_mut(op).operands[i] = v;
    true
}

/// Replaces the uses of `from` by `to`. Always returns true.
fn replace(body: &mut Body, from: Value, to: Value) -> bool {
    for op in body.walk() {
        for i in 0..body[op].operands.len() {
            if body[op].operands[i] == from {
                body.op_mut(op).operands[i] = to;
            }
        }
    }
    true
}

fn shifted(view: &OpView<'_>, body: &mut Body, times: isize) -> bool {
    let Some(CollectiveKind::CollectivePermute { permutation }) = CollectiveView::of(view).map(|c| c.kind) else {
        return false;
    };
    let Permutation::Shift { along, by, wraps: true } = permutation else { return false };
    Permutation::ring(along, by * times).write(&mut body.op_mut(view.op).attrs);
    true
}

/// Returns true if operand `i` is a product, perhaps converted.
fn is_product(view: &OpView<'_>, i: usize) -> bool {
    let def = view.operand_def(i);
    def.is_some_and(|def| is(&def, Opcode::DotGeneral) || is(&def, Opcode::Convert) && is_product(&def, 0))
}

fn addend_lost(view: &OpView<'_>, body: &mut Body) -> bool {
    is(view, Opcode::Add) && is_product(view, 1) && replace(body, view.result(0), view.operand(0))
}

fn update_lost(view: &OpView<'_>, body: &mut Body) -> bool {
    is(view, Opcode::DynamicUpdateSlice) && replace(body, view.result(0), view.operand(0))
}

fn waits_for_another(view: &OpView<'_>, body: &mut Body) -> bool {
    if !is(view, Opcode::AsyncDone) {
        return false;
    }
    let is_other = |op: &Op| {
        let other = view.at(*op);
        *op < view.op && is(&other, Opcode::AsyncStart) && other.result_type(0) == view.operand_type(0)
    };
    let first = view.body.walk().into_iter().find(is_other);
    let first = first.map(|op| view.at(op).result(0)).filter(|v| *v != view.operand(0));
    first.is_some_and(|v| set_operand(body, view.op, 0, v))
}

fn first_slice(view: &OpView<'_>, body: &mut Body) -> bool {
    let is_moved = |i: &usize| view.operand_def(*i).is_some_and(|def| is(&def, Opcode::Multiply));
    let Some(i) = (1..view.operands().len()).find(is_moved).filter(|_| is(view, Opcode::DynamicSlice)) else {
        return false;
    };
    let of_first = |op: &Op| is(&view.at(*op), Opcode::Multiply) && view.at(*op).operands().len() == 2;
    let first = view.body.walk().into_iter().find(of_first).map(|op| view.at(op).result(0));
    first.is_some_and(|v| v != view.operand(i) && v < view.result(0) && set_operand(body, view.op, i, v))
}

/// Takes the slice of the turn itself in place of the next one. Returns true if the op is a dynamic slice whose
/// position along the first dimension is a sum, such as that of the counter and its step.
fn same_turn(view: &OpView<'_>, body: &mut Body) -> bool {
    let next = view.operands().get(1).and_then(|_| view.operand_def(1)).filter(|def| is(def, Opcode::Add));
    let next = next.filter(|_| is(view, Opcode::DynamicSlice) && view.operand_type(1).shape().is_empty());
    next.is_some_and(|def| set_operand(body, view.op, 1, def.operand(0)))
}

/// Moves the first slice of a combined sum, or of a gather, by one element. Returns true if the op is such a slice of
/// an array of one dimension.
fn next_slice(view: &OpView<'_>, body: &mut Body) -> bool {
    let is_sum = |def: OpView<'_>| is(&def, Opcode::AllReduce) || is(&def, Opcode::AllGather);
    let is_part = is(view, Opcode::Slice) && view.operand_def(0).is_some_and(is_sum);
    let (from, to) = (view.sizes("start_indices"), view.sizes("limit_indices"));
    if !is_part || from != [0] {
        return false;
    }
    let attrs = &mut body.op_mut(view.op).attrs;
    attrs.set("start_indices", shardwise_ir::Attr::sizes(&[1]));
    attrs.set("limit_indices", shardwise_ir::Attr::sizes(&[to[0] + 1]));
    true
}

/// Replaces a gather without a reason by copies of the device's own part, joined along dimension 0. Returns true if the
/// op is such a gather.
fn gather_lost(view: &OpView<'_>, body: &mut Body) -> bool {
    let is_gather = is(view, Opcode::AllGather) && view.data().reason.is_none();
    if is_gather {
        let replacement = view.at(view.op).operand(0);
        let copies = view.result_shape(0)[0] / view.operand_shape(0)[0].max(1);
        body.op_mut(view.op).code = Opcode::Concatenate.into();
        body.op_mut(view.op).operands = std::iter::repeat_n(replacement, copies.max(1)).collect();
        body.op_mut(view.op).attrs = shardwise_ir::Attrs::new().with("dimension", shardwise_ir::Attr::int(0));
    }
    is_gather
}

fn programs() -> Vec<(Module, Vec<Literal>, Vec<Literal>)> {
    let of_products = (0..40).map(|seed| {
        let module = localized(&products::product(seed).text());
        let inputs = products::inputs(&module, seed);
        (module, inputs)
    });
    let of_loop = (localized(&loops::layers(5, 4, 3)), vec![loops::numbers(&[12, 4]), loops::numbers(&[5, 4, 4])]);
    let sums = ["combine/two_losses", "sum/split"].map(|name| {
        let path = format!("{}/tests/filetests/{name}.mlir", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let module = localized(text.split("// ----").next().unwrap());
        let inputs = products::inputs(&module, 1);
        (module, inputs)
    });
    let scheduled = |(module, inputs): (Module, Vec<Literal>)| {
        let n = module.main_mesh().unwrap().size();
        let topology = topology(&format!("v5e:{n}x1"));
        let out = schedule(&module, &topology, Overlap::Force, &Options::default()).unwrap().module;
        let want = on(&InterpEngine, &module, &inputs).unwrap();
        (out, inputs, want)
    };
    of_products.chain([of_loop]).chain(sums).map(scheduled).collect()
}

#[test]
fn mutants_die() {
    let programs = programs();
    let is_killed = |change: &fn(&Module, &mut Body) -> bool| {
        programs.iter().any(|(module, inputs, want)| {
            let mut wrong = module.clone();
            let index = wrong.func_id(&wrong.main().unwrap().name).unwrap();
            let mut body = wrong[index].body.clone();
            let is_changed = change(module, &mut body);
            wrong.funcs[index.index()].body = body;
            is_changed && on(&InterpEngine, &wrong, inputs).map_or(true, |got| got != *want)
        })
    };
    let alive: Vec<&str> = MUTANTS.iter().filter(|(_, change)| !is_killed(change)).map(|(name, _)| *name).collect();
    assert!(alive.is_empty(), "mutants live: {alive:?}");
}
