//! `shard_map`: a function that runs on each device, over its part of the arrays.
//!
//! ```
//! # use shardwise::prelude::*;
//! # fn main() -> Result<()> {
//! set_mesh(Mesh::auto([("X", 4), ("Y", 2)])?);
//! let x = arange(0..64, I32).shard(P!(("X", "Y")));
//! let mean = shard_map(|x: &Array| x.i(..4).pmean(("X", "Y"))).in_specs(P!(("X", "Y"))).out_specs(P!());
//! assert_eq!(mean(&x).to_vec::<f32>()?, [28.0, 29.0, 30.0, 31.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A `shard_map` becomes one `sdy.manual_computation`. Its body is isolated: arrays that the function captures become
//! arguments, which are whole on every device. Types in the body show over which axes a value varies (`crate::manual`),
//! and the spec of a result must name all of these axes.

use crate::array::Array;
use crate::collective::{Axes, AxisName};
use crate::error::Mistakes;
use crate::function::{At, Callee, Wrapped, plain_path};
use crate::manual::{ManualType, Scope};
use crate::mistakes::Split;
use crate::spec::{self, AnySpec, LeafSpec, SpecFor, shown_axes};
use crate::tree::{self, Tree};
use crate::{Args, Callable, Error, Function, Mesh, P, Result, Returns, context, control, hlo, mesh, mistakes, trace};
use shardwise_base::{self as base, AxisIndex, AxisKind, AxisRef, AxisSet, Diagnostic, Loc};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

/// A function that runs on each device: `f(&x)`. It can be called once it has `out_specs`.
///
/// `S` is [`NoOutSpecs`] before `out_specs` is called, and [`Ready`] afterwards.
#[must_use = "a function does nothing until it is called"]
pub struct ShardMap<'f, A: Args, R: Returns, S> {
    shared: Arc<Shared<'f, A::Owned, R>>,
    call: Box<A::Dyn<'f, R>>,
    state: PhantomData<S>,
}

/// The state of a [`ShardMap`] that can be called.
#[derive(Debug)]
pub struct Ready(());
/// The state of a [`ShardMap`] that has no out specs yet.
#[derive(Debug)]
pub struct NoOutSpecs(());

struct Shared<'f, T, R: Returns> {
    f: Box<dyn Fn(&T) -> R + Send + Sync + 'f>,
    in_specs: Option<AnySpec<T>>,
    out_specs: Option<AnySpec<R::Tree>>,
    axes: Option<Vec<AxisName>>,
    mesh: Option<Mesh>,
    name: &'static str,
    at: At,
}

/// Maps `f` over the devices of the mesh: each device runs it on its part of each argument.
///
/// `in_specs` sets how arguments are split, and `out_specs` how the parts of each result are joined.
///
/// # Errors
///
/// A call reports:
///
/// - `no-mesh` and `in-specs` if the mesh or the in specs are missing.
/// - `mesh-mismatch` if the mesh, or the mesh of a spec, is not that of the program.
/// - `manual-axis` if an axis of `.axes(..)` cannot be mapped.
/// - `spec-rank`, `spec-unknown-axis`, `spec-axis-twice`, `spec-form`, `spec-uneven`, `spec-unreduced` and
///   `spec-not-manual` for each argument or result that does not fit its spec.
/// - `in-spec-layout` and `captured-layout` if an array would have to be moved over Explicit axes.
/// - `out-spec-varying`, `out-spec-unreduced` and `out-spec-reduced` if the state of a result does not fit its spec.
/// - `too-large` if a joined result would have 2^59 bytes or more, where a size of 0 counts as 1.
/// - `trace-depth` if traced functions, loops and branches are nested more than 100 deep.
/// - All mistakes of the arguments and of the function.
///
/// After `captured-layout`, `too-large` and mistakes of ops, tracing continues. Outside of a trace, the results carry
/// these mistakes, and those of the run. The other mistakes leave no result. If `f` returns `Result`, the call returns
/// them. Otherwise, they end the trace, and outside of a trace, the call panics with them.
#[track_caller]
pub fn shard_map<'f, M, F: Callable<M> + Function<M> + Send + Sync + 'f>(
    f: F,
) -> ShardMap<'f, F::Args, F::Out, NoOutSpecs> {
    ShardMap::of(Shared {
        name: f.name(),
        f: Box::new(move |args| f.apply(args)),
        in_specs: None,
        out_specs: None,
        axes: None,
        mesh: None,
        at: Location::caller(),
    })
}

impl<'f, A: Args, R: Returns, S> ShardMap<'f, A, R, S> {
    fn of(shared: Shared<'f, A::Owned, R>) -> ShardMap<'f, A, R, S> {
        let shared = Arc::new(shared);
        let callee = shared.clone();
        let call = A::bind(Callee::of(&shared), move |args, called| match args {
            Ok(args) => callee.call(&args, called.or(callee.at)),
            Err(e) => R::deliver(Err(e)),
        });
        ShardMap { shared, call, state: PhantomData }
    }

    fn with<S2>(self, change: impl FnOnce(&mut Shared<'f, A::Owned, R>)) -> ShardMap<'f, A, R, S2> {
        let ShardMap { shared, call, .. } = self;
        drop(call);
        let mut shared = Arc::into_inner(shared).expect("the call held the only other handle");
        change(&mut shared);
        ShardMap::of(shared)
    }

    /// Sets how each argument is split: one `P` for all arguments, or a tuple. If all axes of the map are Explicit, the
    /// specs may be left out, because the arguments' types contain them.
    pub fn in_specs(self, specs: impl SpecFor<A::Owned>) -> Self {
        self.with(|s| s.in_specs = Some(spec::any(specs)))
    }

    /// Sets how the parts of each result are joined. A result that is replicated along an axis need not name it. A
    /// result that is `.unreduced(..)` over Explicit axes is the sum of what the devices hold.
    pub fn out_specs(self, specs: impl SpecFor<R::Tree>) -> ShardMap<'f, A, R, Ready> {
        self.with(|s| s.out_specs = Some(spec::any(specs)))
    }

    /// Limits the map to these axes of the mesh. The arrays in the function are parts along these axes only. By
    /// default, the map is over all axes that no enclosing `shard_map` is over.
    pub fn axes(self, axes: impl Axes) -> Self {
        self.with(|s| s.axes = Some(axes.names()))
    }

    /// Sets the mesh. By default, it is the mesh of the active program, of the first argument on a mesh, or of the
    /// thread, in this order.
    pub fn mesh(self, mesh: &Mesh) -> Self {
        self.with(|s| s.mesh = Some(mesh.clone()))
    }
}

impl<'f, A: Args, R: Returns> Deref for ShardMap<'f, A, R, Ready> {
    type Target = A::Dyn<'f, R>;
    #[track_caller]
    fn deref(&self) -> &Self::Target {
        Callee::of(&self.shared).begin(Location::caller());
        &self.call
    }
}

impl<A: Args, R: Returns> Callable<Wrapped<A, R>> for ShardMap<'_, A, R, Ready> {}
impl<A: Args, R: Returns> Function<Wrapped<A, R>> for ShardMap<'_, A, R, Ready> {
    type Args = A;
    type Out = R;
    fn apply(&self, args: &A::Owned) -> R {
        self.shared.call(args, self.shared.at)
    }
    fn name(&self) -> &'static str {
        self.shared.name
    }
}

impl<A: Args, R: Returns, S> fmt::Debug for ShardMap<'_, A, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard_map({})", self.shared.name)
    }
}

// ── the call
/// The resolved spec of one array.
struct Cut {
    /// The layout over all axes that the spec names.
    sharding: base::Sharding,
    /// The axes that split the array.
    axes: AxisSet,
    unreduced: AxisSet,
    /// The axes over which the array is reduced: its gradient is unreduced.
    reduced: AxisSet,
    /// The shape of a part for an argument, and of the whole for a result.
    shape: Vec<usize>,
}

impl<T: Tree, R: Returns> Shared<'_, T, R> {
    fn call(&self, args: &T, at: At) -> R {
        if trace::is_tracing() {
            return R::deliver(trace::or_rewind(|| context::within(at, || self.trace(args, at))));
        }
        if let Some(wrong) = Mistakes::join(tree::leaves(args).iter().filter_map(|a| a.mistakes())) {
            return R::deliver(Err(wrong.error()));
        }
        R::deliver(control::as_program("shard_map", at, || self.trace(args, at)))
    }

    fn trace(&self, args: &T, at: At) -> Result<R::Tree> {
        let loc = context::loc(at);
        let scope = self.scope(args, &loc)?;
        let outer = trace::with(|t| t.scope());
        let own =
            |a: &AxisRef| outer.as_ref().is_none_or(|o| !o.axes.contains(&a.axis)) && scope.axes.contains(&a.axis);
        let manual: Vec<AxisRef> = scope.mesh.all_axes().filter(own).collect();
        let cuts = self.cut_arguments(args, &scope, &manual, &loc)?;

        let types: Vec<TensorType> = tree::leaves(args)
            .iter()
            .zip(&cuts)
            .map(|(a, cut)| TensorType::new(a.tensor().dtype, cut.shape.clone()))
            .collect();
        let inner = trace::with(|t| t.open_manual(&types, scope.clone(), &loc));
        let states: Vec<ManualType> =
            tree::leaves(args).into_iter().zip(&cuts).map(|(a, cut)| cut.state(a.manual_in(&scope))).collect();
        trace::with(|t| {
            for (&inner, a) in inner.iter().zip(tree::leaves(args)) {
                if let Some(sharding) = a.sharded().sharding.as_ref().filter(|_| t.explicit.is_on()) {
                    t.set_sharding(inner, scope.inner_sharding(sharding));
                }
            }
        });
        let inner = inner.into_iter().zip(states).map(|(t, state)| Array::of_traced(t, at).made_in(Some(state)));
        let inner = tree::with_leaves(args, inner.collect::<Vec<_>>());
        let out = context::outside(at, || (self.f)(&inner)).finish()?;
        let joins = self.join_results(&out, &scope, &manual, &loc)?;
        let results = self.close(args, &out, &cuts, &joins, &scope, manual, at);
        Ok(tree::with_leaves(&out, results))
    }

    /// Returns the mesh, and the axes that are manual inside: those of this map and of enclosing ones. A trace without
    /// a mesh takes this mesh.
    ///
    /// Errors: `no-mesh`, `mesh-mismatch`, `manual-axis`.
    fn scope(&self, args: &T, loc: &Loc) -> Result<Arc<Scope>> {
        let of_args = || tree::leaves(args).iter().find_map(|a| a.known_type()?.sharding).map(|s| Mesh(s.mesh.clone()));
        let of_trace = trace::with(|t| t.mesh.clone());
        let mesh = self.mesh.clone().or(of_trace).or_else(of_args).or_else(mesh::current);
        let mesh = mesh.ok_or_else(|| Error::one(mistakes::no_mesh_for("shard_map", loc)))?;
        if !trace::with(|t| t.join_mesh(&mesh)) {
            let own = trace::with(|t| t.mesh.clone()).expect("the one that differs");
            return Err(Error::one(mistakes::layout_mesh("shard_map", &own, &mesh, loc)));
        }
        let outer = trace::with(|t| t.scope());
        let taken = outer.as_ref().map_or_else(BTreeSet::new, |o| o.axes.clone());
        let all = |i: &AxisIndex| !taken.contains(i);
        let own: Vec<AxisIndex> = match &self.axes {
            None => (0..mesh.0.axes.len()).map(AxisIndex::new).filter(all).collect(),
            Some(names) => names.iter().map(|n| self.axis(n, &mesh, &taken, loc)).collect::<Result<_>>()?,
        };
        Ok(Arc::new(Scope { mesh: mesh.0, axes: own.into_iter().chain(taken).collect() }))
    }

    fn axis(&self, name: &AxisName, mesh: &Mesh, taken: &BTreeSet<AxisIndex>, loc: &Loc) -> Result<AxisIndex> {
        let what = format!("the shard_map of {}", shown(self.name));
        let wrong = |why: &str, help: Option<&str>| {
            Error::one(mistakes::manual_axis(&what, name.name(), why, &mesh.to_string(), help, loc))
        };
        let AxisName::Whole(axis) = name else {
            return Err(wrong("which must be whole here: `groups(..)` is for collectives", None));
        };
        match mesh.0.axis(axis) {
            None => Err(wrong("which the mesh does not have", mesh.0.near_axis(axis).as_deref())),
            Some(i) if taken.contains(&i) => Err(wrong("which an enclosing shard_map has made manual", None)),
            Some(i) => Ok(i),
        }
    }

    // ── specs
    fn cut_arguments(&self, args: &T, scope: &Scope, manual: &[AxisRef], loc: &Loc) -> Result<Vec<Cut>> {
        let specs = match &self.in_specs {
            Some(specs) => specs(args).map_err(|w| Error::one(spec::misfit("in_specs", &w, loc)))?,
            None => self.specs_of_types(args, scope, manual, loc)?,
        };
        let mut wrong = vec![];
        let mut cuts = vec![];
        for ((path, a), spec) in tree::paths(args).iter().zip(specs) {
            let ty = a.tensor();
            let cut = self.cut(&spec, ty, &a.short_type(), scope, manual, loc).and_then(|(sharding, counts)| {
                let shape: Vec<usize> = ty.shape.iter().zip(&counts).map(|(n, count)| n / count).collect();
                if let Some(dim) = (0..ty.rank()).find(|&d| !ty.shape[d].is_multiple_of(counts[d])) {
                    let (shown, axes) = (&a.short_type(), &shown_axes(&scope.mesh, &sharding.dims[dim].axes));
                    let split = Split { ty: shown, dim, size: ty.shape[dim], axes, count: counts[dim] };
                    return Err(mistakes::spec_uneven(&spec.spec, &split, &scope.mesh, loc));
                }
                check_explicit(a, &sharding, &spec.spec, scope, manual, loc)?;
                Ok(Cut::new(sharding, shape))
            });
            match cut {
                Ok(cut) => cuts.push(cut),
                Err(d) => wrong.push(mistakes::in_shard_map(d, &shown(self.name), "in_specs", &format!("args{path}"))),
            }
        }
        collected(cuts, wrong)
    }

    /// Returns the arguments' own layouts along the manual axes as specs.
    ///
    /// Errors: `in-specs` unless all manual axes are Explicit.
    fn specs_of_types(&self, args: &T, scope: &Scope, manual: &[AxisRef], loc: &Loc) -> Result<Vec<LeafSpec>> {
        let leaves = tree::leaves(args);
        if !manual.iter().all(|a| scope.mesh.axes[a.axis.index()].kind == AxisKind::Explicit) {
            let types: Vec<String> = leaves.iter().map(|a| a.short_type()).collect();
            return Err(Error::one(mistakes::no_in_specs(&shown(self.name), &types.join(", "), loc).mesh(&scope.mesh)));
        }
        Ok(leaves.iter().map(|a| LeafSpec { mesh: None, spec: P::of(&over(a, scope, manual)) }).collect())
    }

    /// Returns the sharding of a spec, and the number of parts for each dimension. `shown` is the type in messages.
    /// Sizes are not checked.
    ///
    /// Errors: `mesh-mismatch`, `spec-not-manual`, and those of [`P::names_on`].
    fn cut(
        &self,
        spec: &LeafSpec,
        ty: &TensorType,
        shown: &str,
        scope: &Scope,
        manual: &[AxisRef],
        loc: &Loc,
    ) -> Result<(base::Sharding, Vec<usize>), Diagnostic> {
        let mesh = Mesh(scope.mesh.clone());
        if let Some(other) = spec.mesh.as_ref().filter(|m| !m.0.same_devices(&mesh.0)) {
            return Err(mistakes::layout_mesh("layout", &mesh, other, loc));
        }
        let sharding = spec.spec.names_on(&mesh, shown, ty.rank(), loc)?;
        let free = named_axes(&sharding).find(|a| !is_of(manual, *a));
        if let Some(free) = free {
            let facts = format!("{shown} as {}", spec.spec);
            return Err(mistakes::spec_not_manual(&facts, scope.name(free.axis), &scope.kinds(), loc));
        }
        let counts = sharding.dims.iter().map(|d| AxisRef::total_size(&scope.mesh, &d.axes)).collect();
        Ok((sharding, counts))
    }

    fn join_results(&self, out: &R::Tree, scope: &Arc<Scope>, manual: &[AxisRef], loc: &Loc) -> Result<Vec<Cut>> {
        let specs = self.out_specs.as_ref().expect("it is ready");
        let specs = specs(out).map_err(|w| Error::one(spec::misfit("out_specs", &w, loc)))?;
        let manual = AxisSet::new(&scope.mesh, manual.iter().copied());
        let mut wrong = vec![];
        let mut cuts = vec![];
        for ((path, a), spec) in tree::paths(out).iter().zip(specs) {
            let all: Vec<AxisRef> = manual.iter().collect();
            let ty = a.tensor();
            let cut = self.cut(&spec, ty, &a.short_type(), scope, &all, loc).and_then(|(sharding, counts)| {
                let shape = ty.shape.iter().zip(&counts).map(|(n, count)| n.saturating_mul(*count)).collect();
                let cut = Cut::new(sharding, shape);
                check_result(a, &cut, &spec.spec, scope, &manual, loc).map_err(|d| d.mesh(&scope.mesh))?;
                Ok(cut)
            });
            match cut {
                Ok(cut) => cuts.push(cut),
                Err(d) => {
                    wrong.push(mistakes::in_shard_map(d, &shown(self.name), "out_specs", &format!("result{path}")))
                }
            }
        }
        collected(cuts, wrong)
    }

    // ── the op
    /// Ends the body of the manual computation with the results `out`, and adds the op to the code around it. Returns
    /// the results of the op. Records `captured-layout` for captured arrays that are not whole over the manual Explicit
    /// axes.
    #[expect(clippy::too_many_arguments, reason = "they are all parts of the call")]
    fn close(
        &self,
        args: &T,
        out: &R::Tree,
        cuts: &[Cut],
        joins: &[Cut],
        scope: &Arc<Scope>,
        manual: Vec<AxisRef>,
        at: At,
    ) -> Vec<Array> {
        let given = tree::leaves(out);
        let types: Vec<TensorType> =
            given.iter().zip(joins).map(|(a, j)| TensorType::new(a.tensor().dtype, j.shape.clone())).collect();
        hlo::terminate(Opcode::SdyReturn, &given);
        let (body, captured) = trace::with(|t| {
            let (body, captured) = t.close_manual();
            (body, captured.into_iter().map(|v| t.traced(v)).collect::<Vec<_>>())
        });
        let captured: Vec<Array> = captured.into_iter().map(|t| Array::of_traced(t, at)).collect();
        captured.iter().for_each(|a| check_captured(a, scope, &manual, at));
        let given_in = tree::leaves(args).into_iter().zip(cuts).map(|(a, c)| (a, c.sharding.clone()));
        let whole = captured.iter().map(|a| (a, base::Sharding::replicated(&scope.mesh, a.tensor().rank())));
        let ins = given_in.chain(whole).map(|(a, cut)| scope.outer_sharding(&cut, a.sharded().sharding.as_ref()));
        let ins: Vec<base::Sharding> = ins.map(|s| s.with_reduced(vec![])).collect();
        let operands: Vec<&Array> = tree::leaves(args).into_iter().chain(&captured).collect();
        let attrs = shardwise_ops::shardy::ManualComputation::attrs(ins, &scope.mesh, &manual);
        let manual = AxisSet::new(&scope.mesh, manual);
        let outer = trace::with(|t| t.scope());
        let made = hlo::op_with(Opcode::ManualComputation, &operands, attrs, vec![body], &types);
        let state = |a: &Array| {
            let inner = a.manual_in(scope).without(&manual);
            outer.as_ref().map(|o| ManualType { scope: o.clone(), ..inner })
        };
        let joined = made.into_iter().zip(joins).zip(given);
        let lies = |join: &Cut, from: &Array| scope.outer_sharding(&join.sharding, from.sharded().sharding.as_ref());
        joined.map(|((a, join), from)| hlo::laid_out(&a, &lies(join, from)).made_in(state(from))).collect()
    }
}

impl Cut {
    fn new(sharding: base::Sharding, shape: Vec<usize>) -> Cut {
        let set = |axes: &mut dyn Iterator<Item = AxisRef>| AxisSet::new(&sharding.mesh, axes);
        let [unreduced, reduced] = [&sharding.unreduced, &sharding.reduced].map(|axes| set(&mut axes.iter().copied()));
        let axes = set(&mut sharding.split_axes());
        Cut { axes, unreduced, reduced, sharding, shape }
    }

    fn state(&self, outside: ManualType) -> ManualType {
        outside.with_varying(&self.axes).with_unreduced(&self.unreduced).with_reduced(&self.reduced)
    }
}

/// Checks that the states of a result along the manual axes fit its spec. A result that is replicated along an axis
/// fits a spec that splits it over the axis, and a result that varies over an axis fits one that is unreduced over it.
///
/// Errors: `out-spec-unreduced`, `out-spec-varying`, `out-spec-reduced`.
fn check_result(
    a: &Array,
    cut: &Cut,
    spec: &P,
    scope: &Arc<Scope>,
    manual: &AxisSet,
    loc: &Loc,
) -> Result<(), Diagnostic> {
    let (state, mesh, ty) = (a.manual_in(scope), &*scope.mesh, a.short_type());
    let open = state.unreduced.and(manual, mesh).minus(&cut.unreduced, mesh);
    if !open.is_empty() {
        return Err(mistakes::result_unreduced(&ty, &open.show(mesh), loc));
    }
    let equal = cut.unreduced.minus(&state.unreduced.union(&state.varying, mesh), mesh);
    if !equal.is_empty() {
        return Err(mistakes::result_no_summand(&ty, &spec.to_string(), &equal.show(mesh), loc));
    }
    let differs = state.varying.and(manual, mesh).minus(&cut.axes.union(&cut.unreduced, mesh), mesh);
    if !differs.is_empty() {
        return Err(mistakes::not_replicated(&ty, &spec.to_string(), &differs.show(mesh), loc));
    }
    let reduced = state.reduced.and(manual, mesh);
    let claimed = cut.reduced.minus(&reduced, mesh);
    if !claimed.is_empty() {
        return Err(mistakes::result_not_reduced(&ty, &spec.to_string(), &claimed.show(mesh), loc));
    }
    let unsaid = reduced.minus(&cut.reduced, mesh);
    if !unsaid.is_empty() {
        return Err(mistakes::result_reduced(&ty, &spec.to_string(), &unsaid.show(mesh), loc));
    }
    Ok(())
}

/// Formats the name of a function for messages, where the name is in backticks: `step` for `my_crate::train::step`, and
/// `a closure in step` for a closure in it.
fn shown(path: &str) -> String {
    let path = plain_path(path);
    let mut parts = path.rsplit("::");
    let last = parts.next().unwrap_or(path);
    match last.starts_with('{') {
        false => format!("`{last}`"),
        true => format!("a closure in `{}`", parts.find(|p| !p.starts_with('{')).unwrap_or(path)),
    }
}

fn collected(cuts: Vec<Cut>, wrong: Vec<Diagnostic>) -> Result<Vec<Cut>> {
    if wrong.is_empty() { Ok(cuts) } else { Err(base::Diagnostics(wrong).into()) }
}

/// Records the mistake `captured-layout` unless a captured array is whole over the Explicit axes in `manual`: arrays
/// are not gathered implicitly.
fn check_captured(a: &Array, scope: &Scope, manual: &[AxisRef], at: At) {
    let is_explicit = |x: &AxisRef| scope.mesh.axes[x.axis.index()].kind == AxisKind::Explicit;
    let explicit: Vec<AxisRef> = manual.iter().copied().filter(is_explicit).collect();
    if !over(a, scope, &explicit).is_replicated() {
        let d = mistakes::captured_split(&a.short_type(), &context::loc(at));
        trace::record(&Mistakes::one(d));
    }
}

/// Returns an array's layout along the manual axes, without all other axes. An array without a known layout is
/// replicated.
fn over(a: &Array, scope: &Scope, manual: &[AxisRef]) -> base::Sharding {
    let own = a.known_type().and_then(|ty| ty.sharding);
    let keep = |axes: &[AxisRef]| axes.iter().copied().filter(|a| is_of(manual, *a)).collect::<Vec<_>>();
    let Some(own) = own else { return base::Sharding::replicated(&scope.mesh, a.rank()) };
    let dims = own.dims.iter().map(|d| keep(&d.axes)).collect();
    base::Sharding::closed(&scope.mesh, dims).with_unreduced(keep(&own.unreduced)).with_reduced(keep(&own.reduced))
}

fn is_of(axes: &[AxisRef], axis: AxisRef) -> bool {
    axes.iter().any(|a| a.contains(axis))
}

fn named_axes(sharding: &base::Sharding) -> impl Iterator<Item = AxisRef> + '_ {
    sharding.split_axes().chain(sharding.unreduced.iter().chain(&sharding.reduced).copied())
}

/// Returns the first dimension of the array that is split by an Explicit axis that is not manual, and in which the axes
/// of the spec `cut` do not come first, or other manual axes are between them and that Explicit axis. Returns `None` if
/// there is none, or if the array's layout is not known.
///
/// A device's part along the manual axes would not be what the device holds, so that data would move over the Explicit
/// axis. This also holds for manual axes that are Auto: an array in `[{"Y"}]` does not hold the parts of
/// `[{"X", "Y"}]`.
fn out_of_order(a: &Array, cut: &base::Sharding, manual: &[AxisRef], scope: &Scope) -> Option<usize> {
    let own = a.known_type()?.sharding?;
    let is_outer =
        |x: &AxisRef| !scope.axes.contains(&x.axis) && scope.mesh.axes[x.axis.index()].kind == AxisKind::Explicit;
    own.dims.iter().zip(&cut.dims).position(|(own, cut)| {
        let Some(first) = own.axes.iter().position(is_outer) else { return false };
        let rest = own.axes[..first].strip_prefix(&cut.axes[..]);
        rest.is_none_or(|rest| rest.iter().any(|x| is_of(manual, *x)))
    })
}

/// Checks that an argument has the layout of its spec over the manual Explicit axes, and that no dimension is
/// [`out_of_order`]: arrays are not moved implicitly.
///
/// Errors: `in-spec-layout`.
fn check_explicit(
    a: &Array,
    cut: &base::Sharding,
    spec: &P,
    scope: &Scope,
    manual: &[AxisRef],
    loc: &Loc,
) -> Result<(), Diagnostic> {
    let is_explicit = |x: &AxisRef| scope.mesh.axes[x.axis.index()].kind == AxisKind::Explicit;
    let explicit: Vec<AxisRef> = manual.iter().copied().filter(is_explicit).collect();
    let own = over(a, scope, &explicit);
    let keep = |axes: &[AxisRef]| axes.iter().copied().filter(|a| is_of(&explicit, *a)).collect::<Vec<_>>();
    if let Some(dim) = out_of_order(a, cut, manual, scope) {
        let wanted = scope.outer_sharding(cut, a.sharded().sharding.as_ref());
        let axes = shown_axes(&scope.mesh, &wanted.dims[dim].axes);
        return Err(mistakes::in_spec_order(&a.short_type(), spec, dim, &axes, loc).mesh(&scope.mesh));
    }
    let fits = own.dims.iter().zip(&cut.dims).all(|(own, cut)| own.axes == keep(&cut.axes));
    let fits = fits && own.unreduced == cut.unreduced && own.reduced == cut.reduced;
    if fits {
        return Ok(());
    }
    let is_new_sum = cut.unreduced.iter().any(|a| !is_of(&own.unreduced, *a));
    Err(mistakes::in_spec_differs(&a.short_type(), spec, is_new_sum, loc).mesh(&scope.mesh))
}
