//! Explicit mode: while a program is traced, the layout of every value over the mesh's Explicit axes is part of its type.
//!
//! [`of_op`] is called once for each op that is made, and gives its results their layouts by the op's factor rule
//! ([`shardwise_sharding::explicit`]). Where the answer is not clear, or data would move, the value is *pending*: `.shard`
//! decides it, in place. Any other use takes the obvious layout, if there is one and the mesh allows what it takes, and is
//! a mistake otherwise. A function of the library is typed as a whole: what is pending inside it comes out as its result.
//!
//! Over Auto axes dimensions stay open, and nothing here is called for axes that are Auto or Manual.

mod axes;
mod memo;
#[cfg(test)]
mod tests;
mod typing;
mod warnings;
mod words;

pub use axes::{auto_axes, explicit_axes};
pub use warnings::with_warnings;
pub(crate) use warnings::{Warned, Warnings, report};

use crate::array::Array;
use crate::trace::{Trace, Traced};
use crate::{Mesh, P, mesh, mistakes};
use shardwise_base::{
    AxisIndex, AxisKind, AxisRef, Communicate, Diagnostic, DimSharding, Loc, Sharding, ShardingParts,
};
use shardwise_ir::{Body, Func, Op, Value};
use shardwise_ops::Opcode;
use shardwise_sharding::AxisList;
use shardwise_sharding::explicit::{Layout, Move, Verdict};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use typing::{Typed, Ways, type_op};

/// The part of a trace that Explicit mode keeps.
#[derive(Default)]
pub(crate) struct State {
    mesh: Option<Arc<shardwise_base::Mesh>>,
    /// The axes that types are over now.
    axes: Vec<AxisRef>,
    /// Whether the mesh has others, so that dimensions stay open.
    is_mixed: bool,
    modes: axes::Modes,
    function: Option<Function>,
    pending: Vec<Pending>,
    pub warnings: Warnings,
}

/// A function of the library while it makes its ops.
struct Function {
    callee: Callee,
    /// What was pending before it.
    pending_before: usize,
    /// The first op that is its own.
    first_op: usize,
}

/// A function of the library, as those who call it see it.
#[derive(Clone, Copy)]
pub(crate) struct Callee {
    pub name: &'static str,
    pub role: Role,
}

/// Who says how a function's results lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Its steps; what is not clear there is its caller's to decide.
    Asks,
    /// It knows how it runs, whatever it is made of: it never asks how a step of its own is laid out.
    Decides,
    /// It makes arrays out of nothing: they lie as their users ask.
    Makes,
}

impl From<&'static str> for Callee {
    fn from(name: &'static str) -> Callee {
        Callee { name, role: Role::Asks }
    }
}

/// A function that knows how it runs.
pub(crate) fn decided(name: &'static str) -> Callee {
    Callee { name, role: Role::Decides }
}

/// A function that makes arrays.
pub(crate) fn maker(name: &'static str) -> Callee {
    Callee { name, role: Role::Makes }
}

/// A value whose layout has yet to be decided.
struct Pending {
    frame: u64,
    value: Value,
    /// How it may lie, by preference; if the first goes without asking, that alone.
    ways: SmallVec<[Sharding; 1]>,
    cause: Rc<Cause>,
    /// The function that gives it, and the function's first op.
    name: &'static str,
    first_op: usize,
    loc: Loc,
    /// The function that makes it has not come to its end.
    is_inside: bool,
}

/// What a value waits for, and all that is made of it.
#[derive(Clone)]
struct Cause {
    why: Why,
    /// The op that is not clear.
    op: Op,
    level: Communicate,
}

/// Axes over which a value is not split, and of which its type says more than that it is equal.
#[derive(Clone, Default, PartialEq)]
struct Sums {
    unreduced: Vec<AxisRef>,
    reduced: Vec<AxisRef>,
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

    /// Whether the first way goes without asking.
    fn has_default(&self) -> bool {
        match &self.why {
            Why::Made => true,
            Why::Verdict(Verdict::Ambiguous(_)) => false,
            Why::Verdict(_) => self.level != Communicate::Deny,
        }
    }
}

thread_local!(static LEVEL: Cell<Option<Communicate>> = const { Cell::new(None) });

/// Runs `f`; in what it traces, communication over Explicit axes that is not asked for is allowed, noted or denied,
/// whatever the mesh says.
pub fn with_communication<R>(level: Communicate, f: impl FnOnce() -> R) -> R {
    struct Restore(Option<Communicate>);
    impl Drop for Restore {
        fn drop(&mut self) {
            LEVEL.set(self.0);
        }
    }
    let _restore = Restore(LEVEL.replace(Some(level)));
    f()
}

/// What [`with_communication`] says, if anything: programs depend on it.
pub(crate) fn level() -> Option<Communicate> {
    LEVEL.get()
}

/// The mesh of this thread, if its shardings are types.
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

    /// Notes the mesh of the program.
    pub fn join(&mut self, mesh: &Mesh) {
        self.mesh = Some(mesh.0.clone());
        self.narrow(|_| false);
    }

    /// Types are over the Explicit axes that are not manual now.
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

    /// Forgets the function under way, which has unwound.
    pub fn leave_function(&mut self) {
        if let Some(function) = self.function.take() {
            self.pending.truncate(function.pending_before);
        }
    }

    /// Arguments and results of the program lie as their types say; gives the results' shardings.
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

    /// The sharding with these axes, which says nothing of axes that types are not over.
    fn sharding(&self, layout: &[AxisList], sums: Sums) -> Sharding {
        let Sums { unreduced, reduced } = sums;
        let mesh = self.mesh.clone().expect("types are over the axes of a mesh");
        let dim = |axes: &AxisList| DimSharding { axes: axes.to_vec(), is_open: self.is_mixed, priority: None };
        let dims: Vec<DimSharding> = layout.iter().map(dim).collect();
        let is_used = |a: &AxisRef| layout.iter().flatten().chain(&unreduced).any(|b| b.overlap(*a).is_some());
        let replicated =
            if self.is_mixed { self.axes.iter().copied().filter(|a| !is_used(a)).collect() } else { vec![] };
        ShardingParts { mesh, dims, replicated, unreduced, reduced }.into()
    }

    /// What types say of a sharding: the axes that they are over.
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

    /// Those of the axes that types are over.
    pub fn typed_axes(&self, axes: &[AxisRef]) -> Vec<AxisRef> {
        axes.iter().copied().filter(|a| self.axes.iter().any(|b| b.contains(*a))).collect()
    }

    fn whole(&self, rank: usize) -> Sharding {
        self.sharding(&vec![AxisList::new(); rank], Sums::default())
    }

    /// A layout that a program asks for: where it says `_`, axes that types are over stay as they are, others are open.
    pub fn settle_open(&self, wanted: &Sharding, own: Option<&Sharding>) -> Sharding {
        let settled = crate::layout::settle(wanted, own);
        if !self.is_mixed {
            return settled;
        }
        let dims = settled.dims.iter().zip(&wanted.dims);
        let dims = dims.map(|(d, w)| DimSharding { is_open: w.is_open, ..d.clone() }).collect();
        settled.with_dims(dims)
    }

    fn find(&self, frame: u64, value: Value) -> Option<usize> {
        self.pending.iter().rposition(|p| p.frame == frame && p.value == value)
    }
}

/// Whether what is traced now has layouts in its types.
pub(crate) fn is_typing() -> bool {
    crate::trace::is_tracing() && crate::trace::with(|t| t.explicit.is_on())
}

// ── functions of the library
/// Runs a function of the library in the trace under way. What comes out pending is its own: it asks.
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

/// Whether types of results have changed.
fn leave(t: &mut Trace, results: &[Array]) -> bool {
    let Some(function) = t.explicit.function.take() else { return false };
    match function.callee.role {
        Role::Makes => results.iter().filter_map(Array::traced).for_each(|traced| made(t, &function, traced)),
        _ if t.explicit.pending.len() == function.pending_before => return false,
        role => hand_over(&mut t.explicit, &function, role, results),
    }
    true
}

/// A value made out of nothing waits for whoever uses it.
fn made(t: &mut Trace, function: &Function, traced: Traced) {
    let Some((loc, op)) = t.def(traced) else { return };
    let (frame, value) = traced.key();
    let Some(ty) = t.value_type(traced) else { return };
    let whole = t.explicit.whole(ty.ty.rank());
    t.explicit.pending.push(Pending {
        frame,
        value,
        ways: SmallVec::from_elem(whole, 1),
        cause: Rc::new(Cause { why: Why::Made, op, level: Communicate::Allow }),
        name: function.callee.name,
        first_op: function.first_op,
        loc,
        is_inside: false,
    });
}

/// What is pending of a function's results is its own; of what only it sees, nothing is.
fn hand_over(state: &mut State, function: &Function, role: Role, results: &[Array]) {
    let keys: SmallVec<[(u64, Value); 2]> = results.iter().filter_map(Array::traced).map(Traced::key).collect();
    let mut inside = state.pending.split_off(function.pending_before);
    inside.retain_mut(|p| {
        (p.is_inside, p.name, p.first_op) = (false, function.callee.name, function.first_op);
        if let (Why::Verdict(Verdict::Ambiguous(a)), Role::Decides) = (&p.cause.why, role) {
            p.cause = Rc::new(Cause { why: Why::Verdict(words::as_move(a)), ..Cause::clone(&p.cause) });
        }
        keys.contains(&(p.frame, p.value))
    });
    state.pending.append(&mut inside);
}

/// A function with a rule of its own: its result lies as `x` does, and elements move along `dim` if that is split.
pub(crate) fn like(x: &Array, dim: usize, f: impl FnOnce() -> Array) -> Array {
    let own = x.traced().and_then(|v| crate::trace::with(|t| t.value_type(v))?.sharding);
    let Some(own) = own.filter(|_| crate::trace::with(|t| t.explicit.is_on())) else { return f() };
    let waits = x.traced().is_some_and(|v| crate::trace::with(|t| t.explicit.find(v.key().0, v.key().1)).is_some());
    let out = silently(f);
    let Some(traced) = out.traced() else { return out };
    crate::trace::with(|t| {
        let own = t.explicit.typed(&own).into_owned();
        let axes = AxisList::from_slice(&own.dims[dim].axes);
        let def = t.def(traced).filter(|_| !axes.is_empty() || waits);
        let Some((loc, op)) = def else { return t.set_sharding(traced, own) };
        let (frame, value) = traced.key();
        let (name, first_op) = t.explicit.function.as_ref().map_or(("", op.index()), |f| (f.callee.name, f.first_op));
        let why = Why::Verdict(Verdict::Moves(Move::Shift { operand: 0, dim, axes }));
        let (level, is_inside) = (t.explicit.level(), t.explicit.function.is_some());
        t.explicit.pending.push(Pending {
            frame,
            value,
            ways: SmallVec::from_elem(own, 1),
            cause: Rc::new(Cause { why, op, level }),
            name,
            first_op,
            loc,
            is_inside,
        });
    });
    out.with_current_type()
}

// ── one op
/// Gives the results of an op that was made just now their layouts.
///
/// Errors: `unreduced`.
pub(crate) fn of_op(t: &mut Trace, op: Op) -> Result<(), Diagnostic> {
    if !t.explicit.is_on() || t.explicit.function.as_ref().is_some_and(|f| f.callee.role == Role::Makes) {
        return Ok(());
    }
    let frame = t.frame_id();
    let view = t.view(op);
    let unknown = view.operands().iter().position(|&v| axes::is_unknown(t, frame, v));
    if let Some(i) = unknown.filter(|_| Opcode::of_view(&view) != Opcode::ShardingConstraint) {
        return Err(words::unknown(&view, i));
    }
    let typed = type_op(&t.explicit, frame, &view)?;
    let results: SmallVec<[Value; 1]> = SmallVec::from_slice(view.results());
    match typed {
        Typed::Free => {}
        Typed::Clear(Ways::Alike(layout)) => t.body().value_mut(results[0]).sharding = Some(layout),
        Typed::Clear(ways) => {
            for (i, v) in results.into_iter().enumerate() {
                t.body().value_mut(v).sharding = Some(ways.first(i).clone());
            }
        }
        Typed::Pending(ways, cause) => {
            let loc = t.view(op).loc().clone();
            let (name, first_op) = match &t.explicit.function {
                Some(f) => (f.callee.name, f.first_op),
                None => (words::short(t.view(op).name()), op.index()),
            };
            let is_inside = t.explicit.function.is_some();
            for (i, value) in results.into_iter().enumerate() {
                let ways = ways.of(i, cause.has_default());
                let (cause, loc) = (cause.clone(), loc.clone());
                t.explicit.pending.push(Pending { frame, value, ways, cause, name, first_op, loc, is_inside });
            }
        }
    }
    Ok(())
}

// ── control flow
/// How a value lies that has been used; `None` where types do not say.
pub(crate) fn layout(x: &Array) -> Option<Sharding> {
    let rank = x.tensor().rank();
    given(x).or_else(|| crate::trace::with(|t| t.explicit.is_on().then(|| t.explicit.whole(rank))))
}

/// The same; `None` for a constant too, which lies as its users ask.
pub(crate) fn given(x: &Array) -> Option<Sharding> {
    crate::trace::with(|t| {
        let own = match x.traced() {
            Some(traced) => t.value_type(traced)?.sharding,
            None => x.known_type()?.sharding,
        };
        own.filter(|_| t.explicit.is_on()).map(|s| t.explicit.typed(&s).into_owned())
    })
}

/// The layouts of two values, if types say that they lie differently.
pub(crate) fn differ(a: &Array, b: &Array) -> Option<(P, P)> {
    let (a, b) = (layout(a)?, given(b)?);
    (!is_same_type(&a, &b)).then(|| (P::of(&a), P::of(&b)))
}

/// Whether types with these shardings are one.
pub(crate) fn is_same_type(a: &Sharding, b: &Sharding) -> bool {
    a.same_layout(b) && a.reduced == b.reduced
}

/// The layout of such values side by side, along a new first dimension.
pub(crate) fn stacked(x: &Array) -> Option<Sharding> {
    let own = layout(x)?;
    let layout: Layout =
        std::iter::once(AxisList::new()).chain(own.dims.iter().map(|d| AxisList::from_slice(&d.axes))).collect();
    let sums = Sums { unreduced: own.unreduced.clone(), reduced: own.reduced.clone() };
    Some(crate::trace::with(|t| t.explicit.sharding(&layout, sums)))
}

/// The values, which lie so.
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

/// A step of a library function that gives one array.
pub(crate) fn one(name: &'static str, f: impl FnOnce() -> Array) -> Array {
    function(name.into(), || vec![f()]).pop().expect("one result")
}

// ── uses
/// Before a value is used: what is pending takes the obvious layout.
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
        return Err(words::question(t, &t.explicit.pending[i]));
    }
    let p = t.explicit.pending.remove(i);
    if p.cause.level == Communicate::Warn
        && !matches!(p.cause.why, Why::Made)
        && t.explicit.warnings.is_news(&p.loc, p.name)
    {
        let (facts, help) = words::warning(t, &p);
        t.explicit.warnings.add(&p.loc, p.name, facts, help);
    }
    t.set_sharding(traced, p.ways[0].clone());
    Ok(())
}

/// Decides a pending value, which is computed where it is wanted. `false` if it was decided before.
pub(crate) fn decide(t: &mut Trace, traced: Traced, sharding: &Sharding) -> bool {
    let (frame, value) = traced.key();
    let Some(i) = t.explicit.find(frame, value) else { return false };
    t.explicit.pending.remove(i);
    t.set_sharding(traced, sharding.clone());
    true
}

/// A layout can ask for a sum to be taken, not for one to be opened.
pub(crate) fn misplaced_sum(
    own: Option<&Sharding>,
    to: &Sharding,
    ty: impl FnOnce() -> String,
    loc: &Loc,
) -> Option<Diagnostic> {
    let is_open = |a: &AxisRef| own.is_some_and(|s| s.unreduced.contains(a));
    let axis = to.unreduced.iter().find(|a| !is_open(a))?;
    Some(mistakes::new_sum(&ty(), &axis.display(&to.mesh).to_string(), loc))
}

/// What is left of types in a finished program: a reduced value lies as one that is equal.
pub(crate) fn forget_reduced(func: &mut Func) {
    for v in (0..func.body.value_count()).map(Value::new) {
        if func.body.sharding(v).is_some_and(|s| !s.reduced.is_empty()) {
            func.body.value_mut(v).sharding.as_mut().expect("seen above").reduced.clear();
        }
    }
    func.result_shardings.iter_mut().flatten().for_each(|s| s.reduced.clear());
}

/// Why a value is of no use before `.shard`, if it is not.
pub(crate) fn undecided(t: &Trace, traced: Traced) -> Option<Diagnostic> {
    let (frame, value) = traced.key();
    let p = &t.explicit.pending[t.explicit.find(frame, value)?];
    (!p.cause.has_default()).then(|| words::question(t, p))
}

/// Whether it waits for nothing but a sum over devices, which is taken unless something else is said.
pub(crate) fn is_sum(t: &Trace, x: &Array) -> bool {
    let place = x.traced().and_then(|v| t.explicit.find(v.key().0, v.key().1));
    place.is_some_and(|i| {
        let cause = &t.explicit.pending[i].cause;
        cause.has_default() && matches!(cause.why, Why::Verdict(Verdict::Moves(Move::Sum { .. })))
    })
}

/// The value is left to the partitioner.
pub(crate) fn forget(t: &mut Trace, traced: Traced) {
    let (frame, value) = traced.key();
    if let Some(i) = t.explicit.find(frame, value) {
        t.explicit.pending.remove(i);
    }
}

/// Runs `f` without typing what it makes: stand-ins have no layouts.
pub(crate) fn silently<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(Vec<AxisRef>);
    impl Drop for Restore {
        fn drop(&mut self) {
            crate::trace::with(|t| t.explicit.axes = std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(crate::trace::with(|t| std::mem::take(&mut t.explicit.axes)));
    f()
}

/// The same, in a trace and outside of one.
pub(crate) fn silently_if_on<R>(f: impl FnOnce() -> R) -> R {
    if crate::trace::is_tracing() { silently(f) } else { f() }
}

/// Whether the value's layout has yet to be decided.
pub(crate) fn is_pending(t: &Trace, traced: Traced) -> bool {
    let (frame, value) = traced.key();
    t.explicit.find(frame, value).is_some()
}

/// The layout that a pending value has if nothing else is said.
pub(crate) fn expected(t: &Trace, traced: Traced) -> Option<Sharding> {
    let (frame, value) = traced.key();
    let p = &t.explicit.pending[t.explicit.find(frame, value)?];
    p.cause.has_default().then(|| p.ways[0].clone())
}

/// The sharding of an argument without one, if types are over shardings.
pub(crate) fn of_argument(t: &Trace, rank: usize) -> Option<Sharding> {
    t.explicit.is_on().then(|| t.explicit.whole(rank))
}
