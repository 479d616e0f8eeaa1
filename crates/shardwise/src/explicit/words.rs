//! The messages of Explicit mode: why a layout is ambiguous, which choices there are, and what each of them moves.

use super::{Pending, Step, Why};
use crate::array::ArrayType;
use crate::spec::{P, shown_axes as axes};
use crate::trace::Trace;
use crate::{mistakes, runtime};
use shardwise_base::{Diagnostic, Mesh, Sharding};
use shardwise_engine::ShardedType;
use shardwise_ir::{Attrs, Body, Builder, Cloner, Func, Module, Op, OpView, TensorType, Value};
use shardwise_ops::{Effects, Opcode};
use shardwise_sharding::AxisList;
use shardwise_sharding::explicit::{Ambiguity, Move, Verdict};
use std::collections::BTreeSet;

/// Returns the name of an op without its dialect: `dot_general` for `stablehlo.dot_general`.
pub(super) fn short(name: &'static str) -> &'static str {
    name.rsplit_once('.').map_or(name, |(_, op)| op)
}

/// Returns the communication with which a function resolves an ambiguity by itself.
pub(super) fn as_move(a: &Ambiguity) -> Verdict {
    Verdict::Moves(match a {
        Ambiguity::Differ { second: (operand, dim, axes), .. } => {
            Move::Whole { operand: *operand, dim: *dim, axes: axes.clone() }
        }
        Ambiguity::Twice { axis, second: (operand, dim), .. } => {
            Move::Whole { operand: *operand, dim: *dim, axes: AxisList::from_slice(&[*axis]) }
        }
        Ambiguity::Sum { axes, .. } => Move::Sum { axes: axes.clone() },
        Ambiguity::Regroup { dim, axes } => Move::Whole { operand: 0, dim: *dim, axes: axes.clone() },
    })
}

fn operand_type(view: &OpView<'_>, i: usize, sharding: Option<&Sharding>) -> String {
    view.operand_type(i).as_tensor().map_or_else(|| "?".into(), |ty| shown(ty, sharding))
}

pub(super) fn shown(ty: &TensorType, sharding: Option<&Sharding>) -> String {
    ArrayType::of(&ShardedType { ty: ty.clone(), sharding: sharding.cloned() }).to_string()
}

fn operand_types(view: &OpView<'_>) -> String {
    let shardings: Vec<Option<&Sharding>> = (0..view.operands().len()).map(|i| view.operand_sharding(i)).collect();
    typed_operands(view, &shardings)
}

/// Returns the types of the operands, and why the layout of the result is not clear.
fn facts(module: &Module, body: &Body, p: &Pending) -> String {
    let (name, operands) = match &p.cause.step {
        Step::Op(op) => {
            let view = module.view(body, *op);
            (short(view.name()), operand_types(&view))
        }
        Step::Function { name, operands } => (*name, operands.clone()),
    };
    format!("{operands}: {}", reason(name, verdict(p), &p.candidates[0].mesh))
}

fn reason(name: &str, verdict: &Verdict, mesh: &Mesh) -> String {
    match verdict {
        Verdict::Clear => String::new(),
        Verdict::Ambiguous(Ambiguity::Sum { axes: over, holders }) => {
            let places: Vec<String> =
                holders.iter().map(|(operand, dim)| format!("dim {dim} of operand {operand}")).collect();
            format!(
                "the contracting dimensions ({}) are sharded over {}, which leaves a sum over devices",
                places.join(", "),
                axes(mesh, over)
            )
        }
        Verdict::Ambiguous(Ambiguity::Differ { first, second }) => format!(
            "dim {} of operand {} is sharded over {}, and dim {} of operand {} over {}",
            first.1,
            first.0,
            axes(mesh, &first.2),
            second.1,
            second.0,
            axes(mesh, &second.2)
        ),
        Verdict::Ambiguous(Ambiguity::Twice { axis, dims, .. }) => format!(
            "dims {} and {} of the result would both be sharded over {}",
            dims[0].min(dims[1]),
            dims[0].max(dims[1]),
            axes(mesh, &[*axis])
        ),
        Verdict::Ambiguous(Ambiguity::Regroup { dim, axes: over }) => format!(
            "the operand is sharded over {} from dim {dim} on, and dims are split or merged so that these shards do not fit the result",
            axes(mesh, over)
        ),
        Verdict::Moves(Move::Sum { axes: over }) => {
            format!("partial results over {} are combined", axes(mesh, over))
        }
        Verdict::Moves(Move::Agree { axes: over }) => {
            format!("the devices along {} agree when a loop ends", axes(mesh, over))
        }
        Verdict::Moves(Move::Whole { operand, dim, axes: over }) => format!(
            "`{name}` needs the whole of dim {dim} of operand {operand}, which is sharded over {}",
            axes(mesh, over)
        ),
        Verdict::Moves(Move::Shift { operand, dim, axes: over }) => format!(
            "`{name}` moves elements along dim {dim} of operand {operand}, an array that is sharded over {}",
            axes(mesh, over)
        ),
    }
}

fn verdict(p: &Pending) -> &Verdict {
    if let Why::Verdict(v) = &p.cause.why { v } else { &Verdict::Clear }
}

pub(super) fn undecided(t: &Trace, p: &Pending) -> Diagnostic {
    let Some((module, body)) = t.home(p.frame) else {
        return Diagnostic::error(
            "layout-ambiguous",
            &p.loc,
            format!("`{}`: the layout of the result is not decided", p.name),
        )
        .help("decide it with `.shard(P!(..))` on the result");
    };
    let mesh = &p.candidates[0].mesh;
    let (code, message) = match verdict(p) {
        Verdict::Ambiguous(_) => ("layout-ambiguous", format!("`{}`: the layout of the result is ambiguous", p.name)),
        _ => ("communication-denied", format!("`{}` communicates without the program asking for it", p.name)),
    };
    let d = Diagnostic::error(code, &p.loc, message).facts(facts(module, body, p)).mesh(mesh);
    p.candidates.iter().fold(d, |d, candidate| d.help(choice(module, body, p, candidate)))
}

/// Returns why data moves for a value with the obvious layout, and how the program can ask for it.
pub(super) fn warning(t: &Trace, p: &Pending) -> (String, String) {
    let facts = t.home(p.frame).map_or(String::new(), |(module, body)| facts(module, body, p));
    (facts, format!("ask for it: `.shard({})`", P::of(&p.candidates[0])))
}

/// Describes a choice and what it moves, as in `.shard(P!("X", "Y"))`: reduce-scatter over Y, 1024 B. Says only that it
/// moves data if the collectives are not known.
fn choice(module: &Module, body: &Body, p: &Pending, candidate: &Sharding) -> String {
    let cost = match moved(module, body, p, candidate) {
        Some(cost) if cost.is_empty() => "moves nothing".to_string(),
        Some(cost) => cost,
        None => "moves data".to_string(),
    };
    format!("`.shard({})`: {cost}", P::of(candidate))
}

/// Formats the collectives of the function if its result has this layout. The function is cut out and partitioned.
/// Returns `None` if this fails.
fn moved(module: &Module, body: &Body, p: &Pending, candidate: &Sharding) -> Option<String> {
    let cut = cut_out(module, body, p, candidate)?;
    let communication = runtime::communication(&cut).ok()?;
    let mut out: Vec<String> = vec![];
    for c in &communication {
        out.push(format!("{} over {}, {} B", c.kind, c.groups, c.bytes_received));
    }
    Some(out.join("; "))
}

/// Returns a program of the ops that the function made for the value, whose result has the layout `candidate`. Returns
/// `None` if one of these ops is for per-device code.
fn cut_out(module: &Module, body: &Body, p: &Pending, candidate: &Sharding) -> Option<Module> {
    let mut ops = BTreeSet::new();
    let mut inputs: Vec<Value> = vec![];
    let mut open = vec![p.value];
    while let Some(v) = open.pop() {
        match body.def_op(v).filter(|op| op.index() >= p.first_op) {
            Some(op) if ops.insert(op.index()) => {
                let view = module.view(body, op);
                open.extend(view.operands().iter().copied().chain(view.captured()));
            }
            Some(_) => {}
            None if !inputs.contains(&v) => inputs.push(v),
            None => {}
        }
    }
    // Collectives cannot run outside of their per-device code.
    let is_per_device = |&op: &usize| {
        let view = module.view(body, Op::new(op));
        Opcode::of_view(&view).facts().effects(&view) == Effects::PerDevice
    };
    if ops.iter().any(is_per_device) {
        return None;
    }
    let mut out = Module::new("choice", &shardwise_ops::OPS);
    out.meshes.push(candidate.mesh.clone());
    let mut func = Func::new("main", p.loc.clone());
    let mut cloner = Cloner::new(body);
    let mut b = Builder::new(&mut func.body);
    for &v in &inputs {
        let new = b.arg(body.ty(v).clone());
        cloner.carry(v, new, &mut b);
    }
    for op in ops {
        cloner.op(Op::new(op), &mut b);
    }
    let result = cloner.get(p.value);
    b.ret([result]);
    func.arg_attrs = vec![Attrs::new(); inputs.len()];
    func.result_types = vec![body.ty(p.value).clone()];
    func.result_attrs = vec![Attrs::new()];
    func.result_shardings = vec![Some(candidate.canonical())];
    out.funcs.push(func);
    out.funcs.extend(module.funcs.iter().cloned());
    out.funcs.iter_mut().for_each(super::forget_reduced);
    Some(out)
}

pub(super) fn unknown(view: &OpView<'_>, operand: usize) -> Diagnostic {
    mistakes::layout_of_auto(&operand_type(view, operand, view.operand_sharding(operand)), view.loc())
}

pub(super) fn unreduced(
    view: &OpView<'_>,
    operands: &[Option<&Sharding>],
    holder: usize,
    name: &'static str,
) -> Diagnostic {
    let sharding = operands[holder].expect("it is unreduced");
    let summed = sharding.clone().with_unreduced(vec![]);
    let over = axes(&sharding.mesh, &sharding.unreduced);
    mistakes::unreduced(name, &typed_operands(view, operands), &over, &P::of(&summed), view.loc())
}

/// Returns the error for a reduced operand that is combined with one that is not reduced over the same axes. `pair` are
/// their indices. Panics if one of them has no layout.
pub(super) fn reduced(
    view: &OpView<'_>,
    operands: &[Option<&Sharding>],
    pair: [usize; 2],
    name: &'static str,
) -> Diagnostic {
    let [own, other] = pair.map(|i| operands[i].expect("it has a layout"));
    let over = axes(&own.mesh, &own.reduced);
    let is_split = other.split_axes().any(|a| own.reduced.iter().any(|b| b.overlaps(a)));
    let both = match is_split {
        // The reduced operand is split as the other one is.
        true => other.clone().with_reduced(vec![]),
        false => other.clone().with_reduced(own.reduced.clone()),
    };
    let moved = if is_split { pair[0] } else { pair[1] };
    mistakes::reduced(name, &typed_operands(view, operands), &over, moved, &P::of(&both), view.loc())
}

fn typed_operands(view: &OpView<'_>, operands: &[Option<&Sharding>]) -> String {
    let is_shown = |i: &usize| view.operand_type(*i).as_tensor().is_some_and(|t| t.rank() > 0);
    let shown = (0..operands.len()).filter(is_shown).map(|i| operand_type(view, i, operands[i]));
    shown.collect::<Vec<String>>().join(", ")
}
