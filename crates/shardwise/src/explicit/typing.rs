//! Computes the layouts of an op's results from those of its operands.

use super::memo::{InferredLayouts, Memo};
use super::{Cause, Pending, State, Step, Sums, Why, sums_of, words};
use shardwise_base::{AxisRef, Diagnostic, Sharding};
use shardwise_ir::{OpView, Type, Value};
use shardwise_ops::{DataFlow, ExplicitPolicy, Facts, Opcode, PropagationClass, is_zero};
use shardwise_sharding::explicit::{Layout, Move, ResultLayouts, TypingQuery, Verdict, infer, infer_reshape};
use shardwise_sharding::{AxisList, Rule};
use shardwise_spmd::bytes_exchanged;
use smallvec::SmallVec;
use std::rc::Rc;

/// The layout of each operand, or `None` if it has none.
type Layouts<'a> = [Option<&'a Sharding>];

pub(super) enum Typed {
    /// The results get no layouts: types do not describe them, or the operands, such as constants, have none either. In
    /// the second case, the users of the results decide the layouts.
    Free,
    Clear(Candidates),
    Pending(Candidates, Rc<Cause>),
}

pub(super) enum Candidates {
    /// The layout of the only result, which is also that of all operands with a layout.
    Alike(Sharding),
    Inferred(Rc<InferredLayouts>),
}

impl Candidates {
    /// Returns the preferred layout of result `i`.
    pub fn first(&self, i: usize) -> &Sharding {
        match self {
            Candidates::Alike(layout) => layout,
            Candidates::Inferred(a) => &a.candidates[0][i],
        }
    }

    /// Returns the possible layouts of result `i` by preference, or only the first one if `is_decided`.
    pub fn of(&self, i: usize, is_decided: bool) -> SmallVec<[Sharding; 1]> {
        match self {
            Candidates::Inferred(a) if !is_decided => a.candidates.iter().map(|layouts| layouts[i].clone()).collect(),
            _ => SmallVec::from_buf([self.first(i).clone()]),
        }
    }

    fn verdict(&self) -> &Verdict {
        match self {
            Candidates::Alike(_) => &Verdict::Clear,
            Candidates::Inferred(a) => &a.verdict,
        }
    }

    pub fn all(&self) -> Vec<Vec<Sharding>> {
        match self {
            Candidates::Alike(layout) => vec![vec![layout.clone()]],
            Candidates::Inferred(a) => a.candidates.clone(),
        }
    }

    /// Returns the layouts of `self`, followed by those of `others` that are not among them. The verdict is that of
    /// `self`.
    fn and(self, others: Candidates) -> Candidates {
        let mut candidates = self.all();
        for candidate in others.all() {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        Candidates::Inferred(Rc::new(InferredLayouts { candidates, verdict: self.verdict().clone() }))
    }
}

pub(super) fn type_op(state: &State, frame: u64, view: &OpView<'_>) -> Result<Typed, Diagnostic> {
    let facts = Opcode::of_view(view).facts();
    let policy = facts.explicit(view);
    if view.results().is_empty() || matches!(policy, ExplicitPolicy::Not(_)) {
        return Ok(Typed::Free);
    }
    let is_elementwise = facts.propagation_class(view) == PropagationClass::Elementwise && view.results().len() == 1;
    if is_elementwise && !state.is_mixed && state.pending.is_empty() {
        let layouts = view.operands().iter().filter_map(|&v| view.body.sharding(v));
        if let Some(layout) = alike(layouts, view.result_shape(0).len()) {
            return Ok(Typed::Clear(Candidates::Alike(layout.clone())));
        }
    }
    let typer = Typer { state, facts, policy, is_elementwise, view };
    let operands = Operands::new(state, frame, view);
    if operands.pending.is_some() {
        return typer.of_pending(&operands);
    }
    if operands.layouts(0).all(|s| s.is_none()) {
        return Ok(typer.without_layouts());
    }
    let candidates = typer.candidates(&operands, 0)?;
    Ok(match candidates.verdict() {
        Verdict::Clear => Typed::Clear(candidates),
        verdict => {
            let cause = typer.cause(verdict);
            Typed::Pending(candidates, cause)
        }
    })
}

/// The operands of an op as types describe them.
struct Operands<'a> {
    view: &'a OpView<'a>,
    /// For each operand, its entry among the pending values if it has one. `None` if no operand is pending.
    pending: Option<SmallVec<[Option<&'a Pending>; 3]>>,
    /// For each operand, the part of its layout that is part of types. `None` if all axes are, so that the own layouts
    /// are used.
    typed: Option<SmallVec<[Option<Sharding>; 3]>>,
}

impl<'a> Operands<'a> {
    fn new(state: &'a State, frame: u64, view: &'a OpView<'a>) -> Operands<'a> {
        let values = view.operands().iter();
        let find = |&v: &Value| state.find(frame, v).map(|i| &state.pending[i]);
        let pending = (!state.pending.is_empty()).then(|| values.clone().map(find).collect::<SmallVec<[_; 3]>>());
        let typed = |&v: &Value| view.body.sharding(v).map(|s| state.typed(s).into_owned());
        let typed = state.is_mixed.then(|| values.map(typed).collect());
        Operands { view, pending: pending.filter(|p| p.iter().any(Option::is_some)), typed }
    }

    /// Returns the layout of operand `k`, or `None` if it has none. A pending operand takes its candidate number `i`,
    /// or its last one if it has fewer.
    fn layout(&self, k: usize, i: usize) -> Option<&Sharding> {
        match (self.pending.as_ref().and_then(|p| p[k]), &self.typed) {
            (Some(p), _) => Some(&p.candidates[i.min(p.candidates.len() - 1)]),
            (None, Some(typed)) => typed[k].as_ref(),
            (None, None) => self.view.operand_sharding(k),
        }
    }

    fn layouts(&self, i: usize) -> impl Iterator<Item = Option<&Sharding>> {
        (0..self.view.operands().len()).map(move |k| self.layout(k, i))
    }
}

/// Returns the shape of a result. For a future, this is the shape of the first value that it stands for.
fn result_shape<'a>(view: &OpView<'a>, v: Value) -> &'a [usize] {
    match view.body.ty(v) {
        Type::Future(types) => types.first().map_or(&[], Type::shape),
        ty => ty.shape(),
    }
}

pub(super) fn is_plain(s: &Sharding) -> bool {
    s.unreduced.is_empty() && s.reduced.is_empty()
}

/// Returns the layout that all operands with a layout share, if it has the result's rank and no unreduced or reduced
/// axes. Otherwise, and if no operand has a layout, returns `None`.
fn alike<'a>(mut layouts: impl Iterator<Item = &'a Sharding>, rank: usize) -> Option<&'a Sharding> {
    let first = layouts.next()?;
    let fits = is_plain(first) && first.rank() == rank;
    let is_same = |s: &Sharding| std::ptr::eq(&**s, &**first) || s.dims == first.dims && is_plain(s);
    (fits && layouts.all(is_same)).then_some(first)
}

/// Returns `inferred`. If its verdict is clear although a split dimension of an operand has no factor in the rule, the
/// verdict becomes that data moves, because that dimension is needed whole.
pub(super) fn with_whole_dims(mut inferred: ResultLayouts, rule: &Rule, operands: &Layouts<'_>) -> ResultLayouts {
    let moved = || {
        rule.operands.iter().zip(operands).enumerate().find_map(|(operand, (mapping, s))| {
            let dims = mapping.dims.iter().zip(&(*s)?.dims).enumerate();
            let mut split = dims.filter(|(_, (factors, d))| factors.is_empty() && !d.axes.is_empty());
            split.next().map(|(dim, (_, d))| Move::Whole { operand, dim, axes: AxisList::from_slice(&d.axes) })
        })
    };
    if inferred.verdict == Verdict::Clear
        && let Some(moved) = moved()
    {
        inferred.verdict = Verdict::Moves(moved);
    }
    inferred
}

struct Typer<'a> {
    state: &'a State,
    facts: &'a dyn Facts,
    policy: ExplicitPolicy,
    /// True for one result whose elements are functions of the operands' elements at the same position.
    is_elementwise: bool,
    view: &'a OpView<'a>,
}

impl Typer<'_> {
    /// Determines the types of an op with pending operands: its results are pending, too.
    ///
    /// Errors: `unreduced`, `reduced`.
    fn of_pending(&self, operands: &Operands<'_>) -> Result<Typed, Diagnostic> {
        let pending = || operands.pending.iter().flatten().flatten();
        let mut candidates = self.candidates(operands, 0)?;
        for i in 1..pending().map(|p| p.candidates.len()).max().unwrap_or(1) {
            candidates = candidates.and(self.candidates(operands, i)?);
        }
        let waits = pending().min_by_key(|p| !p.cause.is_ambiguous());
        let cause = match (waits, candidates.verdict()) {
            (Some(p), Verdict::Clear | Verdict::Moves(_)) => p.cause.clone(),
            (_, verdict) => self.cause(verdict),
        };
        let own = sums_of(candidates.verdict(), self.state.mesh.as_ref().expect("types are over the axes of a mesh"));
        let cause = cause.with_sums(pending().flat_map(|p| &p.cause.sums).chain(&own));
        Ok(Typed::Pending(candidates, cause))
    }

    /// Returns the possible layouts of the results if pending operands take their layout number `i`, or the last one if
    /// they have fewer.
    ///
    /// Errors: `unreduced`, `reduced`.
    fn candidates(&self, operands: &Operands<'_>, i: usize) -> Result<Candidates, Diagnostic> {
        if self.is_elementwise
            && let Some(layout) = alike(operands.layouts(i).flatten(), self.view.result_shape(0).len())
        {
            return Ok(Candidates::Alike(layout.clone()));
        }
        self.inferred(&operands.layouts(i).collect::<SmallVec<[_; 3]>>()).map(Candidates::Inferred)
    }

    fn cause(&self, verdict: &Verdict) -> Rc<Cause> {
        let sums = sums_of(verdict, self.state.mesh.as_ref().expect("types are over the axes of a mesh"));
        let step = Step::Op(self.view.op);
        Rc::new(Cause { why: Why::Verdict(verdict.clone()), step, level: self.state.level(), sums })
    }

    /// Determines the types of an op whose operands, such as constants, all have no layouts. If the op is elementwise,
    /// or is a broadcast, reshape or slice, its results have none either, and their users decide them. Otherwise, the
    /// results are replicated.
    fn without_layouts(&self) -> Typed {
        let (state, view) = (self.state, self.view);
        let moves = matches!(Opcode::of_view(view), Opcode::BroadcastInDim | Opcode::Reshape | Opcode::Slice);
        match moves || self.facts.propagation_class(view) == PropagationClass::Elementwise {
            true => Typed::Free,
            false => {
                let whole = view.results().iter().map(|&v| state.whole(result_shape(view, v).len())).collect();
                Typed::Clear(Candidates::Inferred(Rc::new(InferredLayouts {
                    candidates: vec![whole],
                    verdict: Verdict::Clear,
                })))
            }
        }
    }

    fn inferred(&self, operands: &Layouts<'_>) -> Result<Rc<InferredLayouts>, Diagnostic> {
        let is_plain = operands.iter().flatten().all(|s| is_plain(s));
        if is_plain && let Some(found) = Memo::with(self.state, |memo| memo.get(self.view, operands)) {
            return Ok(found);
        }
        let (ResultLayouts { candidates, verdict }, sums) = self.infer(operands)?;
        let shardings = |layouts: &Vec<Layout>| layouts.iter().map(|l| self.state.sharding(l, sums.clone())).collect();
        let candidates = candidates.iter().map(shardings).collect();
        let inferred = Rc::new(InferredLayouts { candidates, verdict });
        if is_plain {
            Memo::with(self.state, |memo| memo.add(self.view, operands, &inferred));
        }
        Ok(inferred)
    }

    /// Returns the possible layouts of the results, and the axes over which they are unreduced or reduced.
    ///
    /// Errors: `unreduced`, `reduced`.
    fn infer(&self, operands: &Layouts<'_>) -> Result<(ResultLayouts, Sums), Diagnostic> {
        let view = self.view;
        let unreduced = self.unreduced(operands)?;
        let sums = Sums { reduced: self.reduced(operands, &unreduced)?, unreduced };
        let mesh = self.state.mesh.as_ref().expect("types are over the axes of a mesh");
        let results: Vec<&[usize]> = view.results().iter().map(|&v| result_shape(view, v)).collect();
        if self.policy == ExplicitPolicy::Regroup {
            let layout: Layout = operands[0].map_or_else(
                || vec![AxisList::new(); view.operand_shape(0).len()],
                |s| s.dims.iter().map(|d| AxisList::from_slice(&d.axes)).collect(),
            );
            return Ok((infer_reshape(view.operand_shape(0), &layout, results[0], mesh), sums));
        }
        let rule = match self.policy {
            ExplicitPolicy::ByPropagation => self.facts.propagation_rule(view, false),
            _ => self.facts.rule(view),
        };
        let Some(rule) = rule.rule() else { return Ok((self.without_rule(operands, &results), sums)) };
        let asks_sums = matches!(self.policy, ExplicitPolicy::AskSums(_));
        let leader = asks_sums.then_some(0);
        let exchanged = &|factor, axes: &[AxisRef]| bytes_exchanged(view, rule, factor, mesh, axes);
        let query = TypingQuery { rule, mesh, operands, results: &results, asks_sums, leader, exchanged };
        Ok((with_whole_dims(infer(query), rule, operands), sums))
    }

    /// Returns the layouts of an op without factors: a result has the layout of the operand that flows into it. If the
    /// op has no such flow, the results are whole, and so must be the operands: the first one that is split moves.
    fn without_rule(&self, operands: &Layouts<'_>, results: &[&[usize]]) -> ResultLayouts {
        let axes = |s: &Sharding| s.dims.iter().map(|d| AxisList::from_slice(&d.axes)).collect::<Layout>();
        if let DataFlow::Edges(edges) = self.facts.data_flow(self.view) {
            let source = |r: &Value| edges.iter().find(|e| e.owner == *r).and_then(|e| e.sources.first().copied());
            let place = |v: Value| self.view.operands().iter().position(|&o| o == v);
            let layout = |(r, shape): (&Value, &&[usize])| {
                let own = source(r).and_then(place).and_then(|i| operands[i]);
                own.map_or_else(|| vec![AxisList::new(); shape.len()], axes)
            };
            let candidate = self.view.results().iter().zip(results).map(layout).collect();
            return ResultLayouts { candidates: vec![candidate], verdict: Verdict::Clear };
        }
        let split = |(operand, s): (usize, &Option<&Sharding>)| {
            let layout = axes((*s)?);
            let dim = layout.iter().position(|axes| !axes.is_empty())?;
            Some(Move::Whole { operand, dim, axes: layout[dim].clone() })
        };
        let moved = operands.iter().enumerate().find_map(split);
        let whole = results.iter().map(|shape| vec![AxisList::new(); shape.len()]).collect();
        ResultLayouts { candidates: vec![whole], verdict: moved.map_or(Verdict::Clear, Verdict::Moves) }
    }

    /// Returns the axes over which the results are unreduced, as operands are. There are none if no operand is
    /// unreduced.
    ///
    /// Errors: `unreduced` if operands are unreduced over different axes, if the op is not linear in the unreduced
    /// operands, or if another operand is split over these axes. Operands that are zero may have any layout.
    fn unreduced(&self, operands: &Layouts<'_>) -> Result<Vec<AxisRef>, Diagnostic> {
        let of = |i: usize| operands[i].map_or(&[][..], |s| &s.unreduced[..]);
        let Some(first) = (0..operands.len()).find(|&i| !of(i).is_empty()) else { return Ok(vec![]) };
        let axes = of(first).to_vec();
        let is_sum = |i: usize| of(i) == &axes[..];
        let is_split =
            |i: usize| operands[i].is_some_and(|s| s.split_axes().any(|a| axes.iter().any(|b| b.overlaps(a))));
        let is_zero = |i: usize| is_zero(self.view, i);
        let is_linear = self.facts.linear(self.view).holds_for(operands.len(), is_sum, is_zero);
        let fits = |i: usize| is_sum(i) || is_zero(i) || of(i).is_empty() && !is_split(i);
        if is_linear && (0..operands.len()).all(fits) {
            Ok(axes)
        } else {
            Err(words::unreduced(self.view, operands, first, self.function_name()))
        }
    }

    /// Returns the axes over which the results are reduced: those of the operands that are not in `unreduced`. There
    /// are none for a product ([`ExplicitPolicy::AskSums`]).
    ///
    /// An operand that is combined with a reduced value must be reduced over the same axes, or have no layout. Or it is
    /// reduced over no axes and not split over these, and has no gradient or is unreduced over them. Otherwise its
    /// gradient would be summed without the program asking for it. The operands of a product need not fit: the gradient
    /// of an operand is the place where the unreduced sum arises.
    ///
    /// Errors: `reduced` if an operand that is combined with a reduced value is none of these.
    fn reduced(&self, operands: &Layouts<'_>, unreduced: &[AxisRef]) -> Result<Vec<AxisRef>, Diagnostic> {
        let of = |i: usize| operands[i].map_or(&[][..], |s| &s.reduced[..]);
        let Some(first) = (0..operands.len()).find(|&i| !of(i).is_empty()) else { return Ok(vec![]) };
        if matches!(self.policy, ExplicitPolicy::AskSums(_)) {
            return Ok(vec![]);
        }
        let axes = of(first);
        let fits = |i: &usize| {
            let Some(own) = operands[*i] else { return true };
            let dtype = self.view.operand_type(*i).as_tensor().map(|t| t.dtype);
            let has_gradient = dtype.is_some_and(|d| d.is_float() || d.is_complex());
            let is_split = own.split_axes().any(|a| axes.iter().any(|b| b.overlaps(a)));
            own.reduced == axes || own.reduced.is_empty() && !is_split && (!has_gradient || own.unreduced == axes)
        };
        match (0..operands.len()).find(|i| !fits(i)) {
            Some(other) => Err(words::reduced(self.view, operands, [first, other], self.function_name())),
            None => Ok(axes.iter().copied().filter(|a| !unreduced.contains(a)).collect()),
        }
    }

    fn function_name(&self) -> &'static str {
        self.state.function.as_ref().map_or(words::short(self.view.name()), |f| f.callee.name)
    }
}
