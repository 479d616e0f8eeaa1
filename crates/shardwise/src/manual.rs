//! Manual mode: the types of values in per-device code.
//!
//! Inside [`shard_map`](crate::shard_map), a value is in one of four states along each manual axis: *replicated* (equal
//! on all devices of the axis), *varying* over it, *unreduced* (each device holds a summand), or *reduced* (replicated,
//! with an unreduced gradient). The states belong to the handle: a cast makes a new handle of the same value, and no
//! op. The program records the states with which a value is made.
//!
//! [`of_op`] computes the states of the results of ordinary ops. Collectives and control flow set them themselves.

use crate::spec::shown_axes;
use crate::trace::Trace;
use crate::{Array, mistakes};
use shardwise_base::{self as base, AxisIndex, AxisKind, AxisRef, AxisSet, Diagnostic, DimSharding, Loc, Sharding};
use shardwise_ir::{ManualAxes, Op, OpView};
use shardwise_ops::{Opcode, is_zero};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

/// The scope of a `shard_map`: the axes over which code is per device, including those of enclosing `shard_map`s.
#[derive(Debug)]
pub(crate) struct Scope {
    pub mesh: Arc<base::Mesh>,
    pub axes: BTreeSet<AxisIndex>,
}

impl Scope {
    /// Returns the name of an axis.
    pub fn name(&self, axis: AxisIndex) -> &str {
        &self.mesh.axes[axis.index()].name
    }

    /// Formats all axes of the mesh with their kinds: `X=4 Manual, Y=2 Auto`. Those of this scope are Manual.
    pub fn kinds(&self) -> String {
        let kind = |i: usize| match self.axes.contains(&AxisIndex::new(i)) {
            true => AxisKind::Manual,
            false => self.mesh.axes[i].kind,
        };
        let axes = self.mesh.axes.iter().enumerate();
        axes.map(|(i, a)| format!("{}={} {:?}", a.name, a.size, kind(i))).collect::<Vec<_>>().join(", ")
    }
}

impl Scope {
    /// Returns true if the mesh has Auto axes that are not among the manual axes of this scope.
    pub fn has_auto(&self) -> bool {
        let axes = self.mesh.axes.iter().enumerate();
        axes.filter(|(i, _)| !self.axes.contains(&AxisIndex::new(*i))).any(|(_, a)| a.kind == AxisKind::Auto)
    }

    /// Returns the layout outside of an array that is split as `cut` over the manual axes, and as `inner` within each
    /// part. Only axes of `inner` that are Explicit and not manual are kept. Dimensions are open if this scope has Auto
    /// axes.
    pub fn outer_sharding(&self, cut: &Sharding, inner: Option<&Sharding>) -> Sharding {
        let is_explicit =
            |a: &AxisRef| !self.axes.contains(&a.axis) && self.mesh.axes[a.axis.index()].kind == AxisKind::Explicit;
        let dims = cut.dims.iter().enumerate().map(|(i, d)| {
            let own = inner.map_or(&[][..], |s| &s.dims[i].axes);
            let axes = d.axes.iter().copied().chain(own.iter().copied().filter(is_explicit)).collect();
            DimSharding { axes, is_open: self.has_auto(), priority: None }
        });
        let both = |cut: &[AxisRef], own: &dyn Fn(&Sharding) -> Vec<AxisRef>| {
            let own = inner.map_or(vec![], own).into_iter().filter(is_explicit);
            let mut axes: Vec<AxisRef> = cut.iter().copied().chain(own).collect();
            axes.sort_by(|a, b| a.cmp_in_mesh(*b));
            axes
        };
        let unreduced = both(&cut.unreduced, &|s| s.unreduced.clone());
        let reduced = both(&cut.reduced, &|s| s.reduced.clone());
        cut.clone().with_dims(dims.collect()).with_unreduced(unreduced).with_reduced(reduced)
    }

    /// Returns the part of a layout that remains inside, where the manual axes do not exist.
    pub fn inner_sharding(&self, outer: &Sharding) -> Sharding {
        let keep = |axes: &[AxisRef]| axes.iter().copied().filter(|a| !self.axes.contains(&a.axis)).collect();
        let dims = outer.dims.iter().map(|d| DimSharding { axes: keep(&d.axes), ..d.clone() }).collect();
        outer.clone().with_dims(dims).with_unreduced(keep(&outer.unreduced)).with_reduced(keep(&outer.reduced))
    }
}

/// The states of a value of per-device code along the manual axes of its scope.
#[derive(Clone, Debug)]
pub(crate) struct ManualType {
    pub scope: Arc<Scope>,
    pub states: ManualAxes,
}

impl Deref for ManualType {
    type Target = ManualAxes;
    fn deref(&self) -> &ManualAxes {
        &self.states
    }
}

impl PartialEq for ManualType {
    fn eq(&self, other: &ManualType) -> bool {
        self.states == other.states && self.scope.axes == other.scope.axes
    }
}

impl ManualType {
    /// Returns the type of a value that is replicated along all axes.
    pub fn replicated(scope: &Arc<Scope>) -> ManualType {
        ManualType { scope: scope.clone(), states: ManualAxes::default() }
    }

    fn mesh(&self) -> &base::Mesh {
        &self.scope.mesh
    }

    fn with_states(&self, states: ManualAxes) -> ManualType {
        ManualType { scope: self.scope.clone(), states }
    }

    /// Returns the states as the program records them, or `None` if the value is replicated along all axes.
    pub fn noted(&self) -> Option<Arc<ManualAxes>> {
        (self.states != ManualAxes::default()).then(|| Arc::new(self.states.clone()))
    }

    /// Returns the type with these axes varying, whatever they were. Other axes keep their states.
    pub fn with_varying(&self, axes: &AxisSet) -> ManualType {
        self.with_states(self.states.with_varying(axes, self.mesh()))
    }

    pub fn with_unreduced(&self, axes: &AxisSet) -> ManualType {
        self.with_states(self.states.with_unreduced(axes, self.mesh()))
    }

    pub fn with_reduced(&self, axes: &AxisSet) -> ManualType {
        self.with_states(self.states.with_reduced(axes, self.mesh()))
    }

    /// Returns the type with these axes replicated.
    pub fn without(&self, axes: &AxisSet) -> ManualType {
        self.with_states(self.states.without(axes, self.mesh()))
    }

    /// Returns the type of a cotangent of the value ([`ManualAxes::of_cotangent`]).
    pub fn of_cotangent(&self) -> ManualType {
        self.with_states(self.states.of_cotangent())
    }

    /// Returns the type of a value that is one of two ([`ManualAxes::join`]). Returns `None` if the axes over which
    /// they are unreduced differ.
    pub fn join(&self, other: &ManualType) -> Option<ManualType> {
        Some(self.with_states(self.states.join(&other.states, self.mesh())?))
    }
}

impl Array {
    /// Returns the array's states along the manual axes of `scope`. An array from outside of `scope` keeps the states
    /// that it has in an enclosing `shard_map`. Along the other axes, it is replicated, or reduced if its type says so.
    pub(crate) fn manual_in(&self, scope: &Arc<Scope>) -> ManualType {
        let own = match &self.node().manual {
            Some(own) if own.scope.axes == scope.axes => return ManualType { scope: scope.clone(), ..own.clone() },
            Some(own) => ManualType { scope: scope.clone(), ..own.clone() },
            None => ManualType::replicated(scope),
        };
        let said = self.node().ty.as_ref().and_then(|ty| ty.sharding.as_ref()).map_or(&[][..], |s| &s.reduced);
        let reduced = said.iter().copied().filter(|a| scope.axes.contains(&a.axis));
        own.with_reduced(&AxisSet::new(&scope.mesh, reduced))
    }
}

/// Formats the axes as the argument of a collective in Rust: `"X"`, `("X", "Y")`. If one of them is a sub-axis, returns
/// `..`, because `groups` names it by its positions.
pub(crate) fn axes_argument(axes: &AxisSet, mesh: &base::Mesh) -> String {
    match axes.iter().all(|a| a.sub.is_none()) {
        true => shown_axes(mesh, axes.axes()),
        false => "..".into(),
    }
}

/// Returns the states of the results of an op other than a collective. Returns `None` outside of manual code.
///
/// Loops, composites and `shard_map`s set the states of their results themselves. They may take unreduced operands,
/// with which their results count as replicated until then.
///
/// Errors: `unreduced` if an operand is unreduced, and the op is not linear in it, or another operand varies over the
/// same axes or is unreduced over others.
pub(crate) fn of_op(trace: &Trace, op: Op, operands: &[&Array], loc: &Loc) -> Result<Option<ManualType>, Diagnostic> {
    let Some(scope) = trace.scope() else { return Ok(None) };
    let types: Vec<ManualType> = operands.iter().map(|a| a.manual_in(&scope)).collect();
    if types.iter().any(|t| !t.unreduced.is_empty()) {
        return match Opcode::of_view(&trace.view(op)) {
            Opcode::While | Opcode::Composite | Opcode::ManualComputation => Ok(Some(ManualType::replicated(&scope))),
            _ => of_unreduced(&trace.view(op), operands, &types, loc).map(Some),
        };
    }
    let join = |all: ManualType, t: &ManualType| all.join(t).expect("none is unreduced");
    Ok(Some(types.iter().fold(ManualType::replicated(&scope), join)))
}

/// Returns the states of the results of an op with unreduced operands. The op must be linear in them, all must be
/// unreduced over the same axes, and other operands must not vary over these axes.
///
/// Errors: `unreduced`.
fn of_unreduced(
    op: &OpView<'_>,
    operands: &[&Array],
    types: &[ManualType],
    loc: &Loc,
) -> Result<ManualType, Diagnostic> {
    let first = types.iter().find(|t| !t.unreduced.is_empty()).expect("the caller has found one");
    let (mesh, axes) = (first.mesh(), first.unreduced.clone());
    let is_sum = |i: usize| types[i].unreduced == axes;
    let is_plain = |i: usize| types[i].unreduced.is_empty() && types[i].varying.and(&axes, mesh).is_empty();
    let is_linear = Opcode::of_view(op).facts().linear(op).holds_for(types.len(), is_sum, |i| is_zero(op, i));
    if !is_linear || !(0..types.len()).all(|i| is_sum(i) || is_plain(i)) {
        let types: Vec<String> = operands.iter().map(|a| a.short_type()).collect();
        return Err(mistakes::unreduced_operand(op.name(), &types, &axes.show(mesh), &axes_argument(&axes, mesh), loc));
    }
    let rest = types.iter().map(|t| t.without(&axes)).reduce(|a, b| a.join(&b).expect("none is unreduced"));
    Ok(rest.expect("there is an operand").with_unreduced(&axes))
}

/// Returns the mistake `unreduced` if `test`, the predicate of the loop or branch `name`, is unreduced, so that no
/// device has its value. Returns `None` otherwise.
pub(crate) fn unreduced_condition(name: &str, test: &Array, loc: &Loc) -> Option<Diagnostic> {
    let state = test.node().manual.as_ref().filter(|state| !state.unreduced.is_empty())?;
    let (mesh, axes) = (state.mesh(), &state.unreduced);
    Some(mistakes::unreduced_operand(name, &[test.short_type()], &axes.show(mesh), &axes_argument(axes, mesh), loc))
}

/// The reason why some devices may run a region and others not: the axes that its predicate varies over, and its
/// location.
#[derive(Clone, Debug)]
pub(crate) struct Predicate {
    pub varying: AxisSet,
    pub name: &'static str,
    pub at: &'static Location<'static>,
}

impl Predicate {
    /// Returns the predicate of a loop or branch that depends on `decides`. Returns `None` if all devices decide alike.
    pub fn of(decides: &Array, name: &'static str, at: &'static Location<'static>) -> Option<Predicate> {
        let varying = decides.node().manual.as_ref()?.varying.clone();
        (!varying.is_empty()).then_some(Predicate { varying, name, at })
    }
}

/// The values that run through a loop or come out of a branch. Their states are widened until they hold every time.
pub(crate) struct Carried {
    scope: Option<Arc<Scope>>,
    /// The states of each value, or `None` while only mistakes were found for it. Empty outside of manual code.
    types: Vec<Option<ManualType>>,
    predicate: Option<Predicate>,
}

impl Carried {
    pub fn new(scope: Option<Arc<Scope>>, leaves: &[&Array]) -> Carried {
        let known = |s: &Arc<Scope>, a: &Array| (!a.is_wrong()).then(|| a.manual_in(s));
        let types = scope.as_ref().map_or(vec![], |s| leaves.iter().map(|a| known(s, a)).collect());
        Carried { scope, types, predicate: None }
    }

    pub fn predicate(&self) -> Option<Predicate> {
        self.predicate.clone()
    }

    /// Returns the arrays with the states along the manual axes that have been found for the carried values so far. An
    /// array for which none have been found keeps its own. This adds no op. Outside of manual code, returns the arrays
    /// as they are.
    pub fn apply(&self, arrays: &[Array]) -> Vec<Array> {
        match self.scope {
            None => arrays.to_vec(),
            Some(_) => arrays
                .iter()
                .zip(&self.types)
                .map(|(a, t)| a.made_in(t.clone().or_else(|| a.node().manual.clone())))
                .collect(),
        }
    }

    /// Records the predicate that decides whether there is another turn, and makes the carried values varying over its
    /// axes, except over those over which a value is unreduced. Returns true if the predicate varies over axes over
    /// which those before it did not. Otherwise, and for `None`, changes nothing.
    pub fn decide(&mut self, predicate: Option<Predicate>) -> bool {
        let Some(found) = predicate else { return false };
        let mesh = &self.scope.as_ref().expect("what varies is in a scope").mesh;
        let own = self.predicate.as_ref().map_or_else(AxisSet::default, |p| p.varying.clone());
        let all = own.union(&found.varying, mesh);
        if all == own {
            return false;
        }
        self.types.iter_mut().flatten().for_each(|t| *t = t.with_decided(&all));
        self.predicate = Some(Predicate { varying: all, ..found });
        true
    }

    /// Widens the states to those after a turn. Returns true if they changed. Fails with the index of a leaf that is
    /// unreduced over other axes than before the turn. The states of mistakes are not known, and change nothing.
    /// Outside of manual code, returns false.
    pub fn widen(&mut self, leaves: &[&Array]) -> Result<bool, usize> {
        let Some(scope) = &self.scope else { return Ok(false) };
        let mut is_new = false;
        let known = self.types.iter_mut().zip(leaves).enumerate().filter(|(_, (_, leaf))| !leaf.is_wrong());
        for (i, (own, leaf)) in known {
            let found = leaf.manual_in(scope);
            let mut next = own.as_ref().map_or(Some(found.clone()), |own| own.join(&found)).ok_or(i)?;
            if let Some(p) = &self.predicate {
                next = next.with_decided(&p.varying);
            }
            is_new |= own.as_ref().is_none_or(|own| next.states != own.states);
            *own = Some(next);
        }
        Ok(is_new)
    }
}

impl ManualType {
    /// Returns the states of a value that only some devices made, where the decision varies over these axes: it varies
    /// over them, except where it is unreduced.
    fn with_decided(&self, axes: &AxisSet) -> ManualType {
        self.with_varying(&axes.minus(&self.unreduced, self.mesh()))
    }
}
