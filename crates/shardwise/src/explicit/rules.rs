//! Library functions with layout rules of their own: the layouts of their results do not follow from their steps.

use super::typing::{is_plain, with_whole_dims};
use super::{Cause, Pending, Step, Sums, Why, forget, given, is_pending, is_typing, silently, waits, words};
use crate::array::Array;
use crate::replay;
use crate::trace::{self, Trace, Traced};
use shardwise_base::Sharding;
use shardwise_sharding::explicit::{Layout, Move, ResultLayouts, TypingQuery, Verdict, infer};
use shardwise_sharding::{AxisList, Mapping, Rule};
use smallvec::SmallVec;
use std::rc::Rc;

/// Runs a function whose result has the layout of `x`. If `dim` is sharded or `x` is pending, the result is pending,
/// because elements move. Outside of Explicit mode, and if `x` is not a value of the trace with a layout, only runs
/// `f`.
pub(crate) fn like(x: &Array, dim: usize, f: impl FnOnce() -> Array) -> Array {
    let shift = |own: &Sharding| {
        let axes = AxisList::from_slice(&own.dims[dim].axes);
        (!axes.is_empty()).then_some(Move::Shift { operand: 0, dim, axes })
    };
    like_after(x, shift, f)
}

/// Runs a function whose result has the layout of `x`, element by element, and whose loops end when their condition is
/// met for all elements. If `x` is sharded or pending, the result is pending, because all devices have to know when a
/// loop ends.
/// Outside of Explicit mode, only runs `f`.
pub(crate) fn like_looping(x: &Array, f: impl FnOnce() -> Array) -> Array {
    let agree = |own: &Sharding| {
        let axes: AxisList = own.dims.iter().flat_map(|d| d.axes.iter().copied()).collect();
        (!axes.is_empty()).then_some(Move::Agree { axes })
    };
    like_after(x, agree, f)
}

/// Runs a function whose result has the layout of `x`. If `moves` returns how data moves for this layout, or if `x` is
/// pending, the result is pending. Outside of Explicit mode, and if `x` is not a value of the trace with a layout, only
/// runs `f`.
fn like_after(x: &Array, moves: impl FnOnce(&Sharding) -> Option<Move>, f: impl FnOnce() -> Array) -> Array {
    let own = x.traced().and_then(|v| trace::with(|t| t.value_type(v))?.sharding);
    let Some(own) = own.filter(|_| is_typing()) else { return f() };
    let is_waiting = waits(x);
    let out = silently(f);
    let Some(traced) = out.traced() else { return out };
    trace::with(|t| {
        let own = t.explicit.typed(&own).into_owned();
        let moves = moves(&own);
        let def = t.def(traced).filter(|_| moves.is_some() || is_waiting);
        let Some((_, op)) = def else { return t.set_sharding(traced, own) };
        let none = || Move::Shift { operand: 0, dim: 0, axes: AxisList::new() };
        let verdict = Verdict::Moves(moves.unwrap_or_else(none));
        let cause =
            Cause { why: Why::Verdict(verdict), step: Step::Op(op), level: t.explicit.level(), sums: AxisList::new() };
        wait(t, traced, SmallVec::from_elem(own, 1), Rc::new(cause));
    });
    out.with_current_type()
}

/// Runs a function whose results have the layouts that `rule` states for those of the operands. The function needs the
/// dimensions whole that have no factor in the rule.
///
/// If data moves for this, `f` runs on operands that are moved first, and the results are pending. Where the layouts of
/// the operands contradict each other, `f` runs on operands in the first of the possible layouts, which the caller is
/// asked to confirm. If nothing moves, `f` runs on the operands, and a result without a layout gets that of the rule.
/// Outside of Explicit mode, if no operand has a layout, and if one is pending, unreduced or reduced, only runs `f` on
/// the operands.
pub(crate) fn by_rule(
    name: &'static str,
    operands: &[Array],
    rule: impl FnOnce() -> Rule,
    f: impl FnOnce(&[Array]) -> Vec<Array>,
) -> Vec<Array> {
    if !is_typing() || operands.iter().any(waits) {
        return f(operands);
    }
    let layouts: Vec<Option<Sharding>> = operands.iter().map(given).collect();
    if layouts.iter().all(Option::is_none) || !layouts.iter().flatten().all(is_plain) {
        return f(operands);
    }
    let rule = rule();
    let ResultLayouts { candidates, verdict } = trace::with(|t| results_of(t, &rule, &layouts));
    if verdict == Verdict::Clear {
        let out = f(operands);
        trace::with(|t| out.iter().zip(&candidates[0]).for_each(|(result, layout)| complete(t, result, layout)));
        return out.into_iter().map(Array::with_current_type).collect();
    }
    let inner = |((a, own), mapping): ((&Array, &Option<Sharding>), &Mapping)| match own {
        Some(own) => moved(a, own, &layout_in(mapping, &rule, &candidates[0])),
        None => a.clone(),
    };
    let inner: Vec<Array> = operands.iter().zip(&layouts).zip(&rule.operands).map(inner).collect();
    let out = f(&inner);
    let types = operands.iter().zip(&layouts).map(|(a, own)| words::shown(a.tensor(), own.as_ref()));
    let types = types.collect::<Vec<_>>().join(", ");
    trace::with(|t| {
        let sums = AxisList::new();
        let step = Step::Function { name, operands: types };
        let cause = Rc::new(Cause { why: Why::Verdict(verdict), step, level: t.explicit.level(), sums });
        for (i, result) in out.iter().enumerate() {
            let Some(traced) = result.traced() else { continue };
            let candidates = candidates.iter().map(|c| t.explicit.sharding(&c[i], Sums::default())).collect();
            wait(t, traced, candidates, cause.clone());
        }
    });
    out.into_iter().map(Array::with_current_type).collect()
}

fn results_of(t: &Trace, rule: &Rule, layouts: &[Option<Sharding>]) -> ResultLayouts {
    let mesh = t.explicit.mesh.as_ref().expect("types are over the axes of a mesh");
    let operands: Vec<Option<&Sharding>> = layouts.iter().map(Option::as_ref).collect();
    let size = |dim: &shardwise_sharding::DimFactors| dim.iter().map(|&f| rule.size(f)).product();
    let shapes: Vec<Vec<usize>> = rule.results.iter().map(|m| m.dims.iter().map(size).collect()).collect();
    let results: Vec<&[usize]> = shapes.iter().map(|s| &s[..]).collect();
    let exchanged = &|_, _: &[_]| Some(0);
    let query =
        TypingQuery { rule, mesh, operands: &operands, results: &results, asks_sums: false, leader: None, exchanged };
    with_whole_dims(infer(query), rule, &operands)
}

/// Returns the layout of a tensor in which each dimension is split as the first dimension of a result with the same
/// factors. A dimension without one, or without factors, is not split.
fn layout_in(mapping: &Mapping, rule: &Rule, results: &[Layout]) -> Layout {
    let split = |dim: &shardwise_sharding::DimFactors| {
        let mut dims = rule.results.iter().zip(results).flat_map(|(m, layout)| m.dims.iter().zip(layout));
        let found = dims.find(|(factors, _)| !dim.is_empty() && *factors == dim);
        found.map_or_else(AxisList::new, |(_, axes)| axes.clone())
    };
    mapping.dims.iter().map(split).collect()
}

fn moved(a: &Array, own: &Sharding, layout: &[AxisList]) -> Array {
    let to = trace::with(|t| t.explicit.sharding(layout, Sums::default()));
    if to.same_layout(own) { a.clone() } else { replay::reshard(a, &to) }
}

/// Sets the layout of a result that has none because it was made of constants, as the power 0 of a matrix.
fn complete(t: &mut Trace, result: &Array, layout: &[AxisList]) {
    let traced = result.traced().filter(|v| !is_pending(t, *v));
    if let Some(traced) = traced.filter(|v| t.value_type(*v).is_some_and(|ty| ty.sharding.is_none())) {
        let layout = t.explicit.sharding(layout, Sums::default());
        t.set_sharding(traced, layout);
    }
}

/// Makes the result of an op pending, in place of the layout that its own op has. Does nothing for an argument.
fn wait(t: &mut Trace, traced: Traced, mut candidates: SmallVec<[Sharding; 1]>, cause: Rc<Cause>) {
    let Some((loc, op)) = t.def(traced) else { return };
    forget(t, traced);
    t.forget_sharding(traced);
    if cause.has_default() {
        candidates.truncate(1);
    }
    let (frame, value) = traced.key();
    let function = t.explicit.function.as_ref();
    let (name, first_op) = function.map_or(("", op.index()), |f| (f.callee.name, f.first_op));
    let is_inside = function.is_some();
    t.explicit.pending.push(Pending { frame, value, candidates, cause, name, first_op, loc, is_inside });
}
