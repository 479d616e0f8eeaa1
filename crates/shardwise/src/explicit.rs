//! Explicit mode: while a program is traced, the layout of every value over the mesh's Explicit axes is part of its
//! type.
//!
//! [`of_op`] is called once for each op that is made. It sets the layouts of the op's results, by the op's factor rule
//! ([`shardwise_sharding::explicit`]). If the layout is ambiguous, or data would have to move, the value is *pending*:
//! `.shard` decides its layout in place. Any other use takes the obvious layout if there is one and the mesh allows the
//! communication, and is a mistake otherwise. A library function is typed as a whole: a value that is pending inside it
//! becomes its pending result. Functions whose steps do not show the layouts of their results have rules of their own
//! (`rules`). The steps that transforms add take the obvious layouts, also where a program would be asked.
//!
//! Over Auto axes, dimensions stay open. Nothing here concerns axes that are Auto or Manual.

mod axes;
mod memo;
mod rules;
#[cfg(test)]
mod tests;
mod typing;
mod warnings;
mod words;

pub use axes::{auto_axes, explicit_axes};
pub(crate) use rules::{by_rule, like, like_looping};
pub use warnings::with_warnings;
pub(crate) use warnings::{Warned, Warnings, report};

use crate::ambient::{self, scoped};
use crate::array::Array;
use crate::trace::{Trace, Traced};
use crate::{Mesh, P, context, mesh, mistakes};
use shardwise_base::{
    AxisIndex, AxisKind, AxisRef, AxisSet, Communicate, Diagnostic, DimSharding, Loc, Sharding, ShardingParts,
};
use shardwise_ir::{Body, Func, Op, Value};
use shardwise_ops::Opcode;
use shardwise_sharding::AxisList;
use shardwise_sharding::explicit::{Ambiguity, Layout, Move, Verdict};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use typing::{Candidates, Typed, type_op};

/// The part of a trace that belongs to Explicit mode.
#[derive(Default)]
pub(crate) struct State {
    mesh: Option<Arc<shardwise_base::Mesh>>,
    /// The axes that are part of types now.
    axes: Vec<AxisRef>,
    /// True if the mesh has other axes that are not manual, so that dimensions stay open.
    is_mixed: bool,
    modes: axes::Modes,
    function: Option<Function>,
    pending: Vec<Pending>,
    pub warnings: Warnings,
}

/// A library function that is making its ops.
struct Function {
    callee: Callee,
    pending_before: usize,
    first_op: usize,
}

/// A library function whose results are typed as those of one op.
#[derive(Clone, Copy)]
pub(crate) struct Callee {
    pub name: &'static str,
    pub role: Role,
}

/// How a function's results get their layouts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// By the function's steps. Where a layout is ambiguous, the caller decides.
    Asks,
    /// By the function itself, which decides how it runs. An ambiguous layout counts as one for which data moves.
    Decides,
    /// By their users: the function makes arrays out of nothing.
    Makes,
}

impl From<&'static str> for Callee {
    fn from(name: &'static str) -> Callee {
        Callee { name, role: Role::Asks }
    }
}

pub(crate) fn decided(name: &'static str) -> Callee {
    Callee { name, role: Role::Decides }
}

pub(crate) fn maker(name: &'static str) -> Callee {
    Callee { name, role: Role::Makes }
}

/// A value whose layout is not decided yet.
struct Pending {
    frame: u64,
    value: Value,
    /// The possible layouts, by preference. If the first one is taken without asking, the others may be missing.
    candidates: SmallVec<[Sharding; 1]>,
    cause: Rc<Cause>,
    /// The name of the function whose result this is, or of the op if no function made it. Empty for a result of
    /// [`like`] or [`by_rule`] outside of a function.
    name: &'static str,
    /// The index of the first op of the function whose result this is, or of the op if no function made it.
    first_op: usize,
    loc: Loc,
    /// True while the function that makes the value is still running.
    is_inside: bool,
}

/// The reason why a value is pending. A value that is made of pending ones has the reason of one of them, unless its
/// own layout is ambiguous.
#[derive(Clone)]
struct Cause {
    why: Why,
    /// The op or the function whose layout is not decided.
    step: Step,
    level: Communicate,
    /// The axes over which the value can be left unreduced, because it is a sum over them or may become one.
    sums: AxisList,
}

/// Returns the axes over which the results of an op with this verdict can be left unreduced: those of the sum if the
/// verdict is one. Returns all axes of the mesh if the verdict is that a dimension is needed whole, that operands
/// differ, or that an axis would split two dimensions: the op may then be a sum over axes that depend on the layout
/// that is chosen. Returns none for other verdicts, also for an op that shifts elements and is a sum as well.
fn sums_of(verdict: &Verdict, mesh: &shardwise_base::Mesh) -> AxisList {
    match verdict {
        Verdict::Moves(Move::Sum { axes }) | Verdict::Ambiguous(Ambiguity::Sum { axes, .. }) => axes.clone(),
        Verdict::Clear
        | Verdict::Moves(Move::Shift { .. } | Move::Agree { .. })
        | Verdict::Ambiguous(Ambiguity::Regroup { .. }) => AxisList::new(),
        Verdict::Moves(Move::Whole { .. }) | Verdict::Ambiguous(Ambiguity::Differ { .. } | Ambiguity::Twice { .. }) => {
            mesh.all_axes().collect()
        }
    }
}

/// The axes over which a value is not split, but which are still part of its type.
#[derive(Clone, Default, PartialEq)]
struct Sums {
    unreduced: Vec<AxisRef>,
    reduced: Vec<AxisRef>,
}

#[derive(Clone)]
enum Step {
    Op(Op),
    /// A library function with a rule of its own, and the types of its operands.
    Function {
        name: &'static str,
        operands: String,
    },
}

#[derive(Clone)]
enum Why {
    /// It was made out of nothing.
    Made,
    Verdict(Verdict),
}

impl Cause {
    fn is_ambiguous(&self) -> bool {
        matches!(self.why, Why::Verdict(Verdict::Ambiguous(_)))
    }

    /// Returns the cause for code that decides layouts itself: an ambiguity counts as data that moves.
    fn decided(self: Rc<Cause>) -> Rc<Cause> {
        match &self.why {
            Why::Verdict(Verdict::Ambiguous(a)) => {
                Rc::new(Cause { why: Why::Verdict(words::as_move(a)), ..Cause::clone(&self) })
            }
            _ => self,
        }
    }

    fn with_sums<'a>(self: Rc<Cause>, sums: impl Iterator<Item = &'a AxisRef>) -> Rc<Cause> {
        let new: AxisList = sums.filter(|a| !self.sums.contains(a)).copied().collect();
        if new.is_empty() {
            return self;
        }
        let sums = self.sums.iter().chain(&new).copied().collect();
        Rc::new(Cause { sums, ..Cause::clone(&self) })
    }

    /// Returns true if the preferred layout is taken without asking.
    fn has_default(&self) -> bool {
        match &self.why {
            Why::Made => true,
            Why::Verdict(Verdict::Ambiguous(_)) => false,
            Why::Verdict(_) => self.level != Communicate::Deny,
        }
    }
}

scoped! {
    static LEVEL: Option<Communicate> = None;
}

/// Runs `f` with another rule for communication over Explicit axes that programs do not ask for: it is allowed, allowed
/// with a warning, or denied, whatever the mesh says. Returns the result of `f`.
pub fn with_communication<R>(level: Communicate, f: impl FnOnce() -> R) -> R {
    LEVEL.with(Some(level), f)
}

/// Returns the level set by [`with_communication`], or `None` outside of it. Programs depend on it, so it is part of
/// cache keys.
pub(crate) fn level() -> Option<Communicate> {
    LEVEL.get()
}

pub(crate) fn current_mesh() -> Option<Mesh> {
    mesh::current().filter(Mesh::is_explicit)
}

impl State {
    pub fn new(mesh: Option<&Mesh>) -> State {
        let mut state = State::default();
        if let Some(mesh) = mesh {
            state.join(mesh);
        }
        state
    }

    /// Sets the mesh of the program, and recomputes the axes that are part of types as [`narrow`](State::narrow) does
    /// if no axis is manual.
    pub fn join(&mut self, mesh: &Mesh) {
        self.mesh = Some(mesh.0.clone());
        self.narrow(|_| false);
    }

    /// Recomputes the axes that are part of types: those that are Explicit in this part of the program and for which
    /// `is_manual` is false. Does nothing without a mesh.
    pub fn narrow(&mut self, is_manual: impl Fn(AxisIndex) -> bool) {
        let Some(mesh) = &self.mesh else { return };
        let is_typed = |a: &AxisRef| match mesh.axes[a.axis.index()].kind {
            AxisKind::Explicit => !self.modes.auto.contains(&a.axis),
            _ => self.modes.explicit.contains(&a.axis),
        };
        self.axes = mesh.all_axes().filter(|a| is_typed(a) && !is_manual(a.axis)).collect();
        self.is_mixed = mesh.all_axes().any(|a| !is_manual(a.axis) && !self.axes.contains(&a));
    }

    pub fn is_in_function(&self) -> bool {
        self.function.is_some()
    }

    /// Drops the state of the active library function after it has unwound.
    pub fn leave_function(&mut self) {
        if let Some(function) = self.function.take() {
            self.pending.truncate(function.pending_before);
        }
    }

    /// Makes arguments without a layout replicated, and returns the shardings of the results: those in `asked`, or else
    /// the results' own, or else replicated ones. Outside of Explicit mode, returns `asked` and changes nothing.
    pub fn bind_ends(&self, body: &mut Body, results: &[Value], asked: Vec<Option<Sharding>>) -> Vec<Option<Sharding>> {
        if !self.is_on() {
            return asked;
        }
        for v in body.args().to_vec().into_iter().filter(|&v| body.sharding(v).is_none()).collect::<Vec<_>>() {
            body.value_mut(v).sharding = Some(self.whole(body.ty(v).shape().len()));
        }
        let own = |v: Value| body.sharding(v).cloned().unwrap_or_else(|| self.whole(body.ty(v).shape().len()));
        results.iter().zip(asked).map(|(&v, asked)| asked.or_else(|| Some(own(v)))).collect()
    }

    pub fn is_on(&self) -> bool {
        !self.axes.is_empty()
    }

    fn level(&self) -> Communicate {
        level().unwrap_or_else(|| self.mesh.as_ref().map_or(Communicate::Allow, |m| m.communicate))
    }

    /// Returns the sharding in which each dimension has its axes in `layout`. Panics if there is no mesh. If the mesh
    /// has axes that are neither part of types nor manual, dimensions are open, and the typed axes that split no
    /// dimension and are not unreduced are replicated.
    fn sharding(&self, layout: &[AxisList], sums: Sums) -> Sharding {
        let Sums { unreduced, reduced } = sums;
        let mesh = self.mesh.clone().expect("types are over the axes of a mesh");
        let dim = |axes: &AxisList| DimSharding { axes: axes.to_vec(), is_open: self.is_mixed, priority: None };
        let dims: Vec<DimSharding> = layout.iter().map(dim).collect();
        let is_used = |a: &AxisRef| layout.iter().flatten().chain(&unreduced).any(|b| b.overlaps(*a));
        let replicated =
            if self.is_mixed { self.axes.iter().copied().filter(|a| !is_used(a)).collect() } else { vec![] };
        ShardingParts { mesh, dims, replicated, unreduced, reduced }.into()
    }

    /// Returns the sharding without the axes that are not part of types.
    fn typed<'a>(&self, sharding: &'a Sharding) -> Cow<'a, Sharding> {
        if !self.is_mixed {
            return Cow::Borrowed(sharding);
        }
        let keep = |axes: &[AxisRef]| -> AxisList {
            axes.iter().copied().filter(|a| self.axes.iter().any(|b| b.contains(*a))).collect()
        };
        let layout: Vec<AxisList> = sharding.dims.iter().map(|d| keep(&d.axes)).collect();
        let sums = Sums { unreduced: keep(&sharding.unreduced).to_vec(), reduced: keep(&sharding.reduced).to_vec() };
        Cow::Owned(self.sharding(&layout, sums))
    }

    /// Returns those of `axes` that are part of types.
    pub fn typed_axes(&self, axes: &[AxisRef]) -> Vec<AxisRef> {
        axes.iter().copied().filter(|a| self.axes.iter().any(|b| b.contains(*a))).collect()
    }

    /// Returns true if the mesh has axes that are neither part of types nor manual.
    pub fn is_mixed(&self) -> bool {
        self.is_mixed
    }

    fn whole(&self, rank: usize) -> Sharding {
        self.sharding(&vec![AxisList::new(); rank], Sums::default())
    }

    /// Completes a layout that a program asks for, as [`settle`](crate::layout::settle) does. If the mesh has axes that
    /// are neither part of types nor manual, dimensions that say `_` stay open.
    pub fn settle_open(&self, wanted: &Sharding, own: Option<&Sharding>) -> Sharding {
        let settled = crate::layout::settle(wanted, own);
        if !self.is_mixed {
            return settled;
        }
        let dims = settled.dims.iter().zip(&wanted.dims);
        let dims = dims.map(|(d, w)| DimSharding { is_open: w.is_open, ..d.clone() }).collect();
        settled.with_dims(dims)
    }

    /// Removes a pending value by its number, and returns it.
    fn take(&mut self, i: usize) -> Pending {
        if let Some(function) = &mut self.function {
            function.pending_before -= usize::from(i < function.pending_before);
        }
        self.pending.remove(i)
    }

    fn find(&self, frame: u64, value: Value) -> Option<usize> {
        self.pending.iter().rposition(|p| p.frame == frame && p.value == value)
    }
}

pub(crate) fn is_typing() -> bool {
    crate::trace::is_tracing() && crate::trace::with(|t| t.explicit.is_on())
}

// ── library functions
/// Runs a library function in the active trace, and returns its results. If a result is pending, the function is the
/// one that asks for a layout. A library function inside another one counts as a part of it.
pub(crate) fn function(callee: Callee, f: impl FnOnce() -> Vec<Array>) -> Vec<Array> {
    let is_outermost = crate::trace::with(|t| {
        let is_outermost = t.explicit.is_on() && t.explicit.function.is_none();
        if is_outermost {
            let (pending_before, first_op) = (t.explicit.pending.len(), t.body().op_count());
            t.explicit.function = Some(Function { callee, pending_before, first_op });
        }
        is_outermost
    });
    let out = f();
    if is_outermost && crate::trace::with(|t| leave(t, &out)) {
        return out.into_iter().map(Array::with_current_type).collect();
    }
    out
}

/// Leaves the library function. Returns true if types of results may have changed.
fn leave(t: &mut Trace, results: &[Array]) -> bool {
    let Some(function) = t.explicit.function.take() else { return false };
    match function.callee.role {
        Role::Makes => results.iter().filter_map(Array::traced).for_each(|traced| made(t, &function, traced)),
        _ if t.explicit.pending.len() == function.pending_before => return false,
        role => hand_over(&mut t.explicit, &function, role, results),
    }
    true
}

/// Makes a value that was made out of nothing pending, so that its users decide its layout.
fn made(t: &mut Trace, function: &Function, traced: Traced) {
    let Some((loc, op)) = t.def(traced) else { return };
    let (frame, value) = traced.key();
    let Some(ty) = t.value_type(traced) else { return };
    let whole = t.explicit.whole(ty.ty.rank());
    t.explicit.pending.push(Pending {
        frame,
        value,
        candidates: SmallVec::from_elem(whole, 1),
        cause: Rc::new(Cause { why: Why::Made, step: Step::Op(op), level: Communicate::Allow, sums: AxisList::new() }),
        name: function.callee.name,
        first_op: function.first_op,
        loc,
        is_inside: false,
    });
}

/// Hands the function's pending results to its caller. Other pending values of the function are dropped. If the
/// function decides its layouts itself, an ambiguous result counts as one for whose preferred layout data moves.
fn hand_over(state: &mut State, function: &Function, role: Role, results: &[Array]) {
    let keys: SmallVec<[(u64, Value); 2]> = results.iter().filter_map(Array::traced).map(Traced::key).collect();
    let mut inside = state.pending.split_off(function.pending_before);
    inside.retain_mut(|p| {
        (p.is_inside, p.name, p.first_op) = (false, function.callee.name, function.first_op);
        if role == Role::Decides {
            p.cause = p.cause.clone().decided();
        }
        keys.contains(&(p.frame, p.value))
    });
    state.pending.append(&mut inside);
}

// ── one op
/// Sets the layouts of the results of `op`, or makes the results pending. Does nothing if layouts are not part of
/// types, inside a function that makes arrays out of nothing, for an op that types do not describe, and for an
/// elementwise op and a broadcast, reshape or slice whose operands have no layouts.
///
/// Errors: `unreduced`, `reduced`, `layout-unknown`.
pub(crate) fn of_op(t: &mut Trace, op: Op) -> Result<(), Diagnostic> {
    let typed = typed(t, op)?;
    let results = SmallVec::from_slice(t.view(op).results());
    give(t, op, typed, results);
    Ok(())
}

/// Sets the layout of `result`, the result of the op that was started as `op`, or makes the result pending. Does
/// nothing where [`of_op`] does nothing.
///
/// Errors: those of [`of_op`].
pub(crate) fn of_done(t: &mut Trace, op: Op, result: Value) -> Result<(), Diagnostic> {
    let typed = typed(t, op)?;
    give(t, op, typed, SmallVec::from_buf([result]));
    Ok(())
}

/// Checks the operands of an op. Its results get no layouts.
///
/// Errors: those of [`of_op`].
pub(crate) fn check(t: &Trace, op: Op) -> Result<(), Diagnostic> {
    typed(t, op).map(|_| ())
}

fn typed(t: &Trace, op: Op) -> Result<Typed, Diagnostic> {
    if !t.explicit.is_on() || t.explicit.function.as_ref().is_some_and(|f| f.callee.role == Role::Makes) {
        return Ok(Typed::Free);
    }
    let frame = t.frame_id();
    let view = t.view(op);
    if view.results().is_empty() {
        return Ok(Typed::Free);
    }
    let unknown = view.operands().iter().position(|&v| axes::is_unknown(t, frame, v));
    if let Some(i) = unknown.filter(|_| Opcode::of_view(&view) != Opcode::ShardingConstraint) {
        return Err(words::unknown(&view, i));
    }
    type_op(&t.explicit, frame, &view)
}

fn give(t: &mut Trace, op: Op, typed: Typed, results: SmallVec<[Value; 1]>) {
    let frame = t.frame_id();
    match typed {
        Typed::Free => {}
        Typed::Clear(Candidates::Alike(layout)) => t.body().value_mut(results[0]).sharding = Some(layout),
        Typed::Clear(candidates) => {
            for (i, v) in results.into_iter().enumerate() {
                t.body().value_mut(v).sharding = Some(candidates.first(i).clone());
            }
        }
        Typed::Pending(candidates, cause) => {
            let loc = t.view(op).loc().clone();
            // No line of the program could decide the layout of a step that a transform adds.
            let cause = if context::is_copying() { cause.decided() } else { cause };
            let (name, first_op) = match &t.explicit.function {
                Some(f) => (f.callee.name, f.first_op),
                None => (words::short(t.view(op).name()), op.index()),
            };
            let is_inside = t.explicit.function.is_some();
            for (i, value) in results.into_iter().enumerate() {
                let candidates = candidates.of(i, cause.has_default());
                let (cause, loc) = (cause.clone(), loc.clone());
                t.explicit.pending.push(Pending { frame, value, candidates, cause, name, first_op, loc, is_inside });
            }
        }
    }
}

// ── control flow
/// Returns the layout of a value that has been used, or `None` if layouts are not part of types. A constant without a
/// layout counts as replicated.
pub(crate) fn layout(x: &Array) -> Option<Sharding> {
    let rank = x.tensor().rank();
    given(x).or_else(|| crate::trace::with(|t| t.explicit.is_on().then(|| t.explicit.whole(rank))))
}

/// Returns the layout of a value, which for a pending value is the one that it has by default. Returns `None` if
/// layouts are not part of types or the value has none. Constants have none, and neither do pending values without a
/// default: those whose layout is ambiguous, and those for which data would have to move where communication is denied.
/// Values made out of nothing, such as `arange`, have the replicated layout by default.
pub(crate) fn given(x: &Array) -> Option<Sharding> {
    crate::trace::with(|t| {
        let own = match x.traced() {
            Some(traced) => t.value_type(traced)?.sharding,
            None => x.known_type()?.sharding,
        };
        own.filter(|_| t.explicit.is_on()).map(|s| t.explicit.typed(&s).into_owned())
    })
}

/// Returns the layouts of two values if they differ as types. Returns `None` if they agree, if `b` has no layout, as a
/// constant, or if layouts are not part of types.
pub(crate) fn differ(a: &Array, b: &Array) -> Option<(P, P)> {
    let (a, b) = (layout(a)?, given(b)?);
    (!is_same_type(&a, &b)).then(|| (P::of(&a), P::of(&b)))
}

pub(crate) fn is_same_type(a: &Sharding, b: &Sharding) -> bool {
    a.same_layout(b) && a.reduced == b.reduced
}

/// Returns the layout of values like `x` that are stacked along a new first dimension, or `None` if layouts are not
/// part of types.
pub(crate) fn stacked(x: &Array) -> Option<Sharding> {
    let own = layout(x)?;
    let layout: Layout =
        std::iter::once(AxisList::new()).chain(own.dims.iter().map(|d| AxisList::from_slice(&d.axes))).collect();
    let sums = Sums { unreduced: own.unreduced.clone(), reduced: own.reduced.clone() };
    Some(crate::trace::with(|t| t.explicit.sharding(&layout, sums)))
}

/// Returns the layout of `x[i]`, or `None` if [`given`] returns none for `x`. Panics if `x` is a scalar with a layout.
pub(crate) fn row(x: &Array) -> Option<Sharding> {
    let own = given(x)?;
    let layout: Layout = own.dims[1..].iter().map(|d| AxisList::from_slice(&d.axes)).collect();
    let sums = Sums { unreduced: own.unreduced.clone(), reduced: own.reduced.clone() };
    Some(crate::trace::with(|t| t.explicit.sharding(&layout, sums)))
}

/// Sets the layouts of values of the trace and returns these with their new types. A value whose layout is `None` or
/// missing, or that is not traced, is returned unchanged.
pub(crate) fn lay(values: &[Array], layouts: &[Option<Sharding>]) -> Vec<Array> {
    let mut layouts = layouts.iter();
    let lay = |x: &Array| {
        let sharding = layouts.next().cloned().flatten();
        let (Some(traced), Some(sharding)) = (x.traced(), sharding) else { return x.clone() };
        crate::trace::with(|t| t.set_sharding(traced, sharding));
        x.clone().with_current_type()
    };
    values.iter().map(lay).collect()
}

pub(crate) fn one(name: &'static str, f: impl FnOnce() -> Array) -> Array {
    function(name.into(), || vec![f()]).pop().expect("one result")
}

// ── uses
/// Prepares a value for its use: if it is pending, it takes the obvious layout. If data moves for it and the level of
/// communication is [`Communicate::Warn`], a warning is recorded. A value of a library function that is still running
/// stays pending.
///
/// Errors: `layout-ambiguous`, `communication-denied`.
pub(crate) fn settle(t: &mut Trace, traced: Traced) -> Result<(), Diagnostic> {
    if t.explicit.pending.is_empty() {
        return Ok(());
    }
    let (frame, value) = traced.key();
    let Some(i) = t.explicit.find(frame, value) else { return Ok(()) };
    if t.explicit.pending[i].is_inside {
        return Ok(());
    }
    if !t.explicit.pending[i].cause.has_default() {
        return Err(words::undecided(t, &t.explicit.pending[i]));
    }
    let p = t.explicit.take(i);
    if p.cause.level == Communicate::Warn
        && !matches!(p.cause.why, Why::Made)
        && t.explicit.warnings.is_news(&p.loc, p.name)
    {
        let (facts, help) = words::warning(t, &p);
        t.explicit.warnings.add(&p.loc, p.name, facts, help);
    }
    t.set_sharding(traced, p.candidates[0].clone());
    Ok(())
}

/// Decides the layout of a pending value, which is then computed in this layout. Returns `false` if it was not pending.
pub(crate) fn decide(t: &mut Trace, traced: Traced, sharding: &Sharding) -> bool {
    let (frame, value) = traced.key();
    let Some(i) = t.explicit.find(frame, value) else { return false };
    t.explicit.take(i);
    t.set_sharding(traced, sharding.clone());
    true
}

/// Returns the mistake of the layout `to` if it is unreduced over an axis that is not one of `sums`, or else `None`.
/// `sums` are the axes over which the value is unreduced, or may be left unreduced.
pub(crate) fn misplaced_sum(
    sums: &[AxisRef],
    to: &Sharding,
    ty: impl FnOnce() -> String,
    loc: &Loc,
) -> Option<Diagnostic> {
    let axis = to.unreduced.iter().find(|a| !sums.iter().any(|b| b.contains(**a)))?;
    Some(mistakes::new_sum(&ty(), &axis.display(&to.mesh).to_string(), loc))
}

/// Returns the axes over which `.shard` can leave a value unreduced: those over which it is unreduced, and for a
/// pending value also those of the sum that it is or may become.
pub(crate) fn sums(t: &Trace, traced: Traced) -> Vec<AxisRef> {
    let (frame, value) = traced.key();
    let Some(i) = t.explicit.find(frame, value) else {
        return t.value_type(traced).and_then(|ty| ty.sharding).map_or(vec![], |s| s.unreduced.clone());
    };
    let p = &t.explicit.pending[i];
    let unreduced = p.candidates.iter().flat_map(|layout| layout.unreduced.iter());
    AxisSet::new(&p.candidates[0].mesh, unreduced.chain(&p.cause.sums).copied()).iter().collect()
}

/// Removes the reduced axes from a finished program, where a reduced value is the same as a replicated one.
pub(crate) fn forget_reduced(func: &mut Func) {
    for v in (0..func.body.value_count()).map(Value::new) {
        if func.body.sharding(v).is_some_and(|s| !s.reduced.is_empty()) {
            func.body.value_mut(v).sharding.as_mut().expect("seen above").reduced.clear();
        }
    }
    func.result_shardings.iter_mut().flatten().for_each(|s| s.reduced.clear());
}

/// Returns why a value cannot be used before `.shard` decides its layout, or `None` if it can be used.
pub(crate) fn undecided(t: &Trace, traced: Traced) -> Option<Diagnostic> {
    let (frame, value) = traced.key();
    let p = &t.explicit.pending[t.explicit.find(frame, value)?];
    (!p.cause.has_default()).then(|| words::undecided(t, p))
}

/// Returns true if the value is pending only because it is a sum over devices, which is reduced by default.
pub(crate) fn is_sum(t: &Trace, x: &Array) -> bool {
    let place = x.traced().and_then(|v| t.explicit.find(v.key().0, v.key().1));
    place.is_some_and(|i| {
        let cause = &t.explicit.pending[i].cause;
        cause.has_default() && matches!(cause.why, Why::Verdict(Verdict::Moves(Move::Sum { .. })))
    })
}

/// Makes a pending value no longer pending without setting its layout, which is left to the partitioner.
pub(crate) fn forget(t: &mut Trace, traced: Traced) {
    let (frame, value) = traced.key();
    if let Some(i) = t.explicit.find(frame, value) {
        t.explicit.take(i);
    }
}

/// Runs `f` with Explicit mode of the active trace off: the values that it makes get no layouts. This is for stand-ins,
/// which have none, and for functions whose callers set the layouts.
pub(crate) fn silently<R>(f: impl FnOnce() -> R) -> R {
    let axes = crate::trace::with(|t| std::mem::take(&mut t.explicit.axes));
    ambient::restoring(axes, |axes| crate::trace::with(|t| t.explicit.axes = axes), f)
}

pub(crate) fn silently_if_on<R>(f: impl FnOnce() -> R) -> R {
    if crate::trace::is_tracing() { silently(f) } else { f() }
}

pub(crate) fn is_pending(t: &Trace, traced: Traced) -> bool {
    let (frame, value) = traced.key();
    t.explicit.find(frame, value).is_some()
}

/// Returns true if the layout of a value of the active trace is pending.
pub(crate) fn waits(x: &Array) -> bool {
    x.traced().is_some_and(|v| crate::trace::with(|t| is_pending(t, v)))
}

/// Returns the layout that a pending value has by default, or `None` if the value is not pending or has no default.
pub(crate) fn expected(t: &Trace, traced: Traced) -> Option<Sharding> {
    let (frame, value) = traced.key();
    let p = &t.explicit.pending[t.explicit.find(frame, value)?];
    p.cause.has_default().then(|| p.candidates[0].clone())
}

pub(crate) fn of_argument(t: &Trace, rank: usize) -> Option<Sharding> {
    t.explicit.is_on().then(|| t.explicit.whole(rank))
}
