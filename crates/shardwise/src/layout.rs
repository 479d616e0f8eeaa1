//! `.shard`: the one method that sets layouts.

use crate::array::{Array, Made};
use crate::mistakes::Split;
use crate::ops::{Checked, Site, site};
use crate::spec::{Layout, LeafSpec, shown_axes};
use crate::{ArrayType, Error, Mesh, P, context, explicit, hlo, limits, mistakes, runtime, trace};
use shardwise_base::{AxisRef, Diagnostic, DimSharding, Loc, Sharding};
use shardwise_engine::ShardedType;
use std::panic::Location;

impl Array {
    /// Returns the array in the layout `spec`. A value is moved, or made in this layout if it has not been made yet. A
    /// traced array is constrained to the layout.
    ///
    /// An entry `_` keeps the axes of a dimension. The dimension is not split if the spec uses one of these axes elsewhere,
    /// or if the layout is on other devices or on the same ones in another order. For a traced array, an entry `_` leaves
    /// the dimension to the compiler along axes in Auto mode.
    ///
    /// # Errors
    ///
    /// - `no-mesh` if neither the spec, the active program nor the array has a mesh, and no mesh is current.
    /// - `spec-rank`, `spec-unknown-axis` and `spec-axis-twice` if the spec does not fit the array or the mesh.
    /// - `spec-uneven` if an Explicit axis does not split its dimension evenly.
    /// - `spec-unreduced` if the layout is unreduced or reduced over an axis that is not Explicit or over groups of an
    ///   axis, or unreduced over an axis over which the array is not a sum.
    /// - `spec-unconstrained` if nothing decides the layout of a dimension with the entry `_`. On a mesh with Auto axes,
    ///   such a dimension of a traced array is split over no Explicit axis.
    /// - `layout-manual` if the layout uses an axis over which the code is per device.
    /// - `mesh-mismatch` if the active program runs on another mesh.
    /// - `deleted` if the array has been deleted, and `traced-escaped` for a traced array outside of its trace.
    /// - `run-memory`, `run-steps` or `run-cancelled` if a limit is reached, and `not-finite` if a value that is
    ///   computed now fails a check of [`debug`](crate::debug).
    #[doc(alias("device_put", "with_sharding_constraint", "reshard", "out_sharding"))]
    #[track_caller]
    pub fn shard(&self, spec: impl Layout) -> Array {
        self.shard_at(spec.layout(), Location::caller())
    }

    pub(crate) fn shard_at(&self, spec: LeafSpec, at: &'static Location<'static>) -> Array {
        context::within(at, || site("shard", &[self], |s| shard(s, self, &spec)))
    }

    /// Returns the array if its layout is `spec`, and a mistake otherwise. Moves nothing. An entry `_` stands for a
    /// dimension that is not split.
    ///
    /// # Errors
    ///
    /// - `layout` if the layout differs.
    /// - `layout-unknown` for a traced array whose layout is decided later.
    /// - `no-mesh` and those of a spec, as for [`Array::shard`].
    #[track_caller]
    pub fn assert_sharding(&self, spec: P) -> Array {
        site("assert_sharding", &[self], |s| {
            let wanted = resolve(s, self, &spec.layout())?;
            let ty = self.sharded();
            let wanted_type =
                ArrayType::of(&ShardedType { ty: ty.ty.clone(), sharding: Some(wanted.clone()) }).to_string();
            match &ty.sharding {
                Some(own) if explicit::is_same_type(own, &wanted) => Ok(self.clone()),
                None if self.traced().is_some() => {
                    s.fail(Some(ty.ty.clone()), mistakes::layout_unknown(&wanted_type, &self.short_type(), &s.loc))
                }
                _ => s.fail(Some(ty.ty.clone()), mistakes::layout(&wanted_type, &self.short_type(), &s.loc)),
            }
        })
    }
}

/// Resolves a spec for `x`: on the mesh of the spec, the active program, `x`, or the thread, in this order.
///
/// Errors: `no-mesh`, and those of a spec that does not fit `x` or the mesh.
fn resolve(s: &Site<'_>, x: &Array, spec: &LeafSpec) -> Checked<Sharding> {
    let of_trace = trace::is_tracing().then(|| trace::with(|t| t.mesh.clone())).flatten();
    let default = of_trace.or_else(|| x.sharding().map(|s| s.mesh));
    spec.resolve(default.as_ref(), x.tensor(), &s.loc).or_else(|d| s.fail(Some(x.tensor().clone()), d))
}

fn shard(s: &Site<'_>, x: &Array, spec: &LeafSpec) -> Checked {
    let sharding = resolve(s, x, spec)?;
    let ty = ShardedType { ty: x.tensor().clone(), sharding: Some(sharding.clone()) };
    let poisoned = |e: Error| Array::poisoned(e.into_mistakes(), Some(ty.clone()), s.at);
    if let Some(decide) = x.decide(&sharding, s.at).map_err(poisoned)? {
        let wrong = nothing_decides(&sharding, None, &x.short_type(), &s.loc)
            .or_else(|| explicit::misplaced_sum(&decide.sums, &sharding, || x.short_type(), &s.loc));
        if let Some(d) = wrong {
            return Err(Array::mistake(d, Some(ty), s.at));
        }
        return limits::run(s.at, || (decide.make)(&sharding))
            .map(|made| match made {
                Made::Value(handle) => Array::stated_value(handle, Some(&sharding), s.at),
                Made::Type(ty) => Array::type_only(ty, s.at),
            })
            .map_err(|e| Array::poisoned(e.into_mistakes(), Some(ty), s.at));
    }
    if let Some(wrong) = x.mistakes() {
        return Ok(Array::poisoned(wrong.clone(), Some(ty), s.at));
    }
    if trace::is_tracing() {
        let sums = sharding.unreduced.iter().chain(&sharding.reduced).copied();
        if let Some(scope) = trace::with(|t| t.scope())
            && let Some(axis) = sharding.split_axes().chain(sums).find(|a| scope.axes.contains(&a.axis))
        {
            let d = mistakes::layout_manual(scope.name(axis.axis), &x.short_type(), &scope.kinds(), &s.loc);
            return s.fail(Some(ty.ty), d);
        }
        let mesh = Mesh(sharding.mesh.clone());
        if !trace::with(|t| t.join_mesh(&mesh)) {
            let own = trace::with(|t| t.mesh.clone()).unwrap_or_else(|| mesh.clone());
            return s.fail(Some(ty.ty), mistakes::layout_mesh("layout", &own, &mesh, &s.loc));
        }
        return move_traced(s, x, &sharding, &spec.spec);
    }
    let own = x.sharded().sharding.as_ref();
    if let Some(d) = nothing_decides(&sharding, own, &x.short_type(), &s.loc) {
        return s.fail(Some(ty.ty), d);
    }
    let sharding = settle(&sharding, own);
    let sums = own.map_or(&[][..], |own| &own.unreduced);
    if let Some(d) = explicit::misplaced_sum(sums, &sharding, || x.short_type(), &s.loc) {
        return s.fail(Some(ty.ty), d);
    }
    let ty = ShardedType { ty: ty.ty, sharding: Some(sharding.clone()) };
    if x.is_type_only() {
        return Ok(Array::type_only(ty, s.at));
    }
    if let Some(deferred) = x.deferred_as(&sharding, s.at) {
        return Ok(deferred);
    }
    let moved = limits::run(s.at, || x.handle(s.at).and_then(|h| runtime::lay_out(h, Some(&sharding))));
    moved
        .map(|h| Array::stated_value(h, Some(&sharding), s.at))
        .map_err(|e| Array::poisoned(e.into_mistakes(), Some(ty), s.at))
}

/// Returns the array constrained to this layout. With Explicit axes, a value whose layout is pending is computed in
/// this layout instead, and an entry `_` keeps the axes of its dimension.
///
/// Errors: `spec-unconstrained`, `spec-uneven`, `spec-unreduced`, and those of [`trace::operands`].
fn move_traced(s: &Site<'_>, x: &Array, sharding: &Sharding, spec: &P) -> Checked {
    let Some(traced) = x.traced().filter(|_| trace::with(|t| t.explicit.is_on())) else {
        return Ok(hlo::constrain(x, sharding));
    };
    // With Auto axes, `_` of a value whose layout is not decided names no Explicit axis.
    let is_open = sharding.dims.iter().any(|d| d.is_open) && !trace::with(|t| t.explicit.is_mixed());
    let unclear = is_open.then(|| trace::with(|t| explicit::undecided(t, traced))).flatten();
    if unclear.is_some() {
        return s.fail(Some(x.tensor().clone()), mistakes::unconstrained(spec, &x.short_type(), &s.loc));
    }
    if let Some(d) = uneven(sharding, spec, x, &s.loc) {
        return s.fail(Some(x.tensor().clone()), d);
    }
    let own = trace::with(|t| t.value_type(traced)).and_then(|ty| ty.sharding);
    let sharding = trace::with(|t| t.explicit.settle_open(sharding, own.as_ref()));
    let sums = trace::with(|t| explicit::sums(t, traced));
    if let Some(d) = explicit::misplaced_sum(&sums, &sharding, || x.short_type(), &s.loc) {
        return s.fail(Some(x.tensor().clone()), d);
    }
    Ok(decided_or_constrained(x, &sharding, s.at))
}

/// Returns the array in the layout `sharding`: a traced value whose layout is pending is computed in it, for all its
/// users, and any other array is constrained to it by a step. The result carries the mistakes of [`hlo::constrain`].
pub(crate) fn decided_or_constrained(x: &Array, sharding: &Sharding, at: &'static Location<'static>) -> Array {
    match x.traced().filter(|&v| trace::with(|t| explicit::decide(t, v, sharding))) {
        Some(decided) => Array::of_traced(decided, at),
        None => hlo::constrain(x, sharding),
    }
}

/// Returns the mistake `spec-uneven` for the first dimension of `x` that the axes of `sharding` that are part of types,
/// such as Explicit ones, do not split evenly. Returns `None` if there is no such dimension.
fn uneven(sharding: &Sharding, spec: &P, x: &Array, loc: &Loc) -> Option<Diagnostic> {
    let split = |(dim, d): (usize, &DimSharding)| {
        let over = trace::with(|t| t.explicit.typed_axes(&d.axes));
        let (size, count) = (x.tensor().shape[dim], AxisRef::total_size(&sharding.mesh, &over));
        (!size.is_multiple_of(count)).then_some((dim, size, over, count))
    };
    let (dim, size, over, count) = sharding.dims.iter().enumerate().find_map(split)?;
    let (ty, axes) = (&x.short_type()[..], &shown_axes(&sharding.mesh, &over)[..]);
    Some(mistakes::spec_uneven(spec, &Split { ty, dim, size, axes, count }, &sharding.mesh, loc))
}

/// Returns the mistake of a layout with open dimensions for an array that has no layout of its own, or `None` if
/// `wanted` has no open dimension or the array has a layout.
pub(crate) fn nothing_decides(wanted: &Sharding, own: Option<&Sharding>, ty: &str, loc: &Loc) -> Option<Diagnostic> {
    let is_open = own.is_none() && wanted.dims.iter().any(|d| d.is_open);
    is_open.then(|| mistakes::unconstrained(&P::of(wanted), ty, loc))
}

/// Returns the layout of a value with the axes that a program stated for it and that the value does not show: axes of
/// size 1, and those over which it is reduced. Returns `own` if no layout is stated, or one of another rank or on other
/// devices.
///
/// Where `stated` leaves axes to the compiler, the value has its own. A value in `[{"X"}, {"Y"}]` that is stated as
/// `[{"X", "Z"}, {?}]`, where Z has size 1, is in `[{"X", "Z"}, {"Y"}]`.
pub(crate) fn as_stated(own: Sharding, stated: Option<&Sharding>) -> Sharding {
    let Some(stated) = stated.filter(|s| s.rank() == own.rank() && s.mesh.same_devices(&own.mesh)) else { return own };
    let (plain, kept) = (stated.without_unit_axes(), own.without_unit_axes());
    let is_unit = |a: &&AxisRef| stated.mesh.axis_size(a.axis) == 1;
    let axes = |i: usize| match kept.dims[i].axes.strip_prefix(&plain.dims[i].axes[..]) {
        Some(rest) => [&stated.dims[i].axes[..], rest].concat(),
        None => kept.dims[i].axes.to_vec(),
    };
    let dims = (0..own.rank()).map(|i| DimSharding::closed(axes(i))).collect();
    let mut unreduced = own.unreduced.clone();
    unreduced.extend(stated.unreduced.iter().filter(is_unit).filter(|a| !own.unreduced.contains(a)));
    AxisRef::sort_and_merge(&mut unreduced, &own.mesh);
    own.with_dims(dims).with_unreduced(unreduced).with_reduced(stated.reduced.clone())
}

/// Returns the layout with its open dimensions closed: each keeps its axes in `own`, or is not split if one of these is
/// used elsewhere. Without an `own` on the same devices, open dimensions are not split.
pub(crate) fn settle(wanted: &Sharding, own: Option<&Sharding>) -> Sharding {
    if wanted.dims.iter().all(|d| !d.is_open) {
        return wanted.canonical().with_reduced(wanted.reduced.clone());
    }
    let own = own.filter(|own| own.mesh.same_devices(&wanted.mesh));
    let mut used: Vec<_> = wanted.split_axes().chain(wanted.unreduced.iter().chain(&wanted.reduced).copied()).collect();
    let dims = wanted.dims.iter().enumerate().map(|(i, d)| {
        if !d.is_open {
            return d.axes.clone();
        }
        let axes = own.map_or(vec![], |own| own.dims[i].axes.clone());
        if axes.iter().any(|a| used.iter().any(|u| u.overlaps(*a))) {
            return vec![];
        }
        used.extend(&axes);
        axes
    });
    let dims = dims.collect::<Vec<_>>().into_iter().map(DimSharding::closed).collect();
    wanted.canonical().with_dims(dims).with_reduced(wanted.reduced.clone())
}
