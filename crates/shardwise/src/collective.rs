//! Collectives of per-device code: functions over the devices along some axes of the mesh.
//!
//! Axes are a name or a tuple of names, major to minor in the given order: `"X"`, `("Y", "X")`. Dimensions are tiled:
//! the parts follow one another along the named dimension. [`stacked`] asks for a dimension with one element per
//! device instead.
//!
//! Along each axis, a value is in one of four states: *varying* (V), *replicated*, *unreduced* (U: each device holds a
//! summand), or *reduced* (R: replicated, with an unreduced gradient). Each function documents how it changes the
//! states. A replicated operand is cast where a varying one is needed, which costs nothing.

mod ragged;

pub use ragged::{Ragged, ragged_all_to_all, ragged_all_to_all_start};

use crate::array::Array;
use crate::error::Mistakes;
use crate::manual::{ManualType, Scope, axes_argument};
use crate::named::Along;
use crate::ops::{Checked, Dim, Site, site};
use crate::spec::shown_axes;
use crate::tree::{self, Tree};
use crate::{context, explicit, hlo, mistakes, trace};
use shardwise_base::{AxisIndex, AxisRef, AxisSet, DType, Mesh};
use shardwise_ir::{Builder, TensorType, Value};
use shardwise_ops::collective::{self, AxisList, axes_of_groups};
use shardwise_ops::reducer::nothing;
use shardwise_ops::{Opcode, ReduceKind, make, make_collective};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

// ── axes
/// Types that name axes of the mesh, or of batches ([`vmap`](crate::vmap)), major to minor: `"X"`, `("X", "Y")`,
/// `["X", "Y"]`. [`groups`] names parts of one axis of the mesh.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name mesh axes",
    label = "expected a name, or a tuple, array or slice of names"
)]
pub trait Axes {
    #[doc(hidden)]
    fn names(&self) -> Vec<AxisName>;
}

#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum AxisName {
    Whole(String),
    Groups { axis: String, groups: Vec<Vec<usize>> },
}

impl AxisName {
    pub(crate) fn name(&self) -> &str {
        let (AxisName::Whole(axis) | AxisName::Groups { axis, .. }) = self;
        axis
    }
}

fn whole<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<AxisName> {
    names.into_iter().map(|n| AxisName::Whole(n.into())).collect()
}

impl Axes for &str {
    fn names(&self) -> Vec<AxisName> {
        whole([*self])
    }
}
impl Axes for &String {
    fn names(&self) -> Vec<AxisName> {
        whole([self.as_str()])
    }
}
impl Axes for (&str, &str) {
    fn names(&self) -> Vec<AxisName> {
        whole([self.0, self.1])
    }
}
impl Axes for (&str, &str, &str) {
    fn names(&self) -> Vec<AxisName> {
        whole([self.0, self.1, self.2])
    }
}
impl<const N: usize> Axes for [&str; N] {
    fn names(&self) -> Vec<AxisName> {
        whole(*self)
    }
}
impl Axes for &[&str] {
    fn names(&self) -> Vec<AxisName> {
        whole(self.iter().copied())
    }
}
impl Axes for Vec<AxisName> {
    fn names(&self) -> Vec<AxisName> {
        self.clone()
    }
}

/// Groups the positions along an axis. The devices of a group communicate only among themselves: `groups("X", [[0, 1],
/// [2, 3]])`.
///
/// The groups must have at least two positions each and be those along sub-axes, such as blocks (`[[0, 1], [2, 3]]`) or
/// strides (`[[0, 2], [1, 3]]`). A collective that is called with other groups reports `axis-groups`.
pub fn groups<const N: usize, const M: usize>(axis: &str, groups: [[usize; N]; M]) -> AxisGroups {
    AxisGroups(AxisName::Groups { axis: axis.into(), groups: groups.iter().map(|g| g.to_vec()).collect() })
}

/// The result of [`groups`].
#[derive(Clone, Debug)]
pub struct AxisGroups(AxisName);

impl Axes for AxisGroups {
    fn names(&self) -> Vec<AxisName> {
        vec![self.0.clone()]
    }
}

/// The axes of a collective, resolved in the mesh.
#[derive(Clone)]
pub(crate) struct Over {
    pub scope: Arc<Scope>,
    /// The axes in the order given.
    list: Vec<AxisRef>,
    pub set: AxisSet,
}

impl Over {
    /// Returns the number of devices along the axes.
    pub fn count(&self) -> usize {
        AxisRef::total_size(&self.scope.mesh, &self.list)
    }

    /// Formats the axes: `"X"`, `("X", "Y")`.
    fn show(&self) -> String {
        shown_axes(&self.scope.mesh, &self.list)
    }

    fn mesh(&self) -> &Arc<Mesh> {
        &self.scope.mesh
    }

    fn share(&self, axes: &AxisSet) -> Share {
        let both = self.set.and(axes, self.mesh());
        match both.is_empty() {
            true => Share::None,
            false if both == self.set => Share::All,
            false => Share::Some,
        }
    }
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Share {
    None,
    Some,
    All,
}

impl Site<'_> {
    /// Resolves the axes that a function names. `ty` is the type of the function's result, which the mistake carries,
    /// if the type is known before the axes are.
    ///
    /// Errors: `not-manual` outside of `shard_map`, `manual-axis` if an axis does not exist, is not manual or is named
    /// twice, `axis-groups` if groups are not those along sub-axes, or if each has only one position.
    pub fn over(&self, axes: &impl Axes, ty: Option<TensorType>) -> Checked<Over> {
        let Some(scope) = trace::is_tracing().then(|| trace::with(|t| t.scope())).flatten() else {
            let names: Vec<String> = axes.names().iter().map(|n| format!("\"{}\"", n.name())).collect();
            return self.fail(ty, mistakes::not_manual(self.name, &names.join(", "), &self.loc));
        };
        let mut list: Vec<AxisRef> = vec![];
        for name in axes.names() {
            let wrong = |why: &str, help: Option<&str>| {
                let what = format!("`{}`", self.name);
                let d = mistakes::manual_axis(&what, name.name(), why, &scope.kinds(), help, &self.loc);
                self.fail(ty.clone(), d)
            };
            let Some(axis) = scope.mesh.axis(name.name()) else {
                return wrong("which the mesh does not have", scope.mesh.near_axis(name.name()).as_deref());
            };
            if !scope.axes.contains(&axis) {
                return wrong("which is not manual here", Some("add it to `.axes(..)` of the `shard_map`"));
            }
            let parts = match &name {
                AxisName::Whole(_) => vec![AxisRef::full(axis)],
                AxisName::Groups { groups, .. } => match parts_of_groups(&scope.mesh, axis, groups) {
                    Some(parts) => parts,
                    None => {
                        let (size, shown) = (scope.mesh.axis_size(axis), format!("{groups:?}"));
                        return self.fail(ty, mistakes::axis_groups(self.name, name.name(), size, &shown, &self.loc));
                    }
                },
            };
            if parts.iter().any(|p| list.iter().any(|a| a.overlaps(*p))) || list.contains(&parts[0]) {
                return wrong("which is named twice", None);
            }
            list.extend(parts);
        }
        let set = AxisSet::new(&scope.mesh, list.iter().copied());
        Ok(Over { scope, list, set })
    }

    /// Returns the axes of batches (those that [`vmap`](crate::vmap) names) that a function names, and the other axes.
    ///
    /// Errors: `manual-axis` if it names an axis of a batch twice.
    fn batch_axes(&self, axes: &impl Axes) -> Checked<(Along, Vec<AxisName>)> {
        let (along, rest) = Along::of(axes.names());
        match along.named_twice() {
            Some(name) => self.fail(None, mistakes::batch_axis_twice(self.name, name, &along.show(), &self.loc)),
            None => Ok((along, rest)),
        }
    }

    /// Returns the axes of batches (those that [`vmap`](crate::vmap) names) that a function names, or `None` if it
    /// names none of them.
    ///
    /// Errors: `manual-axis` if it names one of them twice, and `mixed-axes` if it names other axes as well.
    fn along(&self, axes: &impl Axes) -> Checked<Option<Along>> {
        let (along, rest) = self.batch_axes(axes)?;
        match (along.is_empty(), rest.first()) {
            (true, _) => Ok(None),
            (false, None) => Ok(Some(along)),
            (false, Some(of_mesh)) => {
                self.fail(None, mistakes::mixed_axes(self.name, &along.show(), of_mesh.name(), &self.loc))
            }
        }
    }

    /// Checks that dimension `dim` of `x` can be split into a part for each index along axes of batches. If
    /// `is_stacked`, it must have one element for each index.
    ///
    /// Errors: `collective-uneven`.
    fn splits_along(&self, x: &Array, dim: usize, is_stacked: bool, along: &Along) -> Checked<()> {
        let split = (x.tensor().shape[dim], along.count(), along.show());
        self.splits_into(x, dim, is_stacked, split)
    }

    /// Checks that an array can have the type of `count` arrays of type `part` that are concatenated along `dim`.
    ///
    /// Errors: `too-large`.
    fn fits_joined(&self, mut part: TensorType, dim: usize, count: usize) -> Checked<()> {
        part.shape[dim] = part.shape[dim].saturating_mul(count);
        self.fits(&part)
    }

    /// Checks that all devices along the axes reach this collective.
    ///
    /// Errors: `divergent-collective`.
    fn come(&self, over: &Over, ty: Option<TensorType>) -> Checked<()> {
        let shared = trace::with(|t| {
            let mut apart = t.predicates().map(|p| (p.clone(), p.varying.and(&over.set, over.mesh())));
            apart.find(|(_, shared)| !shared.is_empty())
        });
        let Some((p, shared)) = shared else { return Ok(()) };
        let (shared, kinds) = (shared.show(over.mesh()), over.scope.kinds());
        self.fail(ty, mistakes::divergent(self.name, &over.show(), &p, &shared, &kinds, &self.loc))
    }

    /// Returns the operand's states after a cast to varying over the axes. The operand must not be unreduced over any
    /// of them, and all devices along them must reach this collective.
    ///
    /// Errors: `wrong-state`, `divergent-collective`.
    fn varying(&self, x: &Array, over: &Over, ty: Option<TensorType>) -> Checked<ManualType> {
        let state = x.manual_in(&over.scope);
        if over.share(&state.unreduced) != Share::None {
            let open = state.unreduced.and(&over.set, over.mesh()).show(over.mesh());
            let d = mistakes::unreduced_value(self.name, &x.short_type(), &over.show(), &open, &self.loc);
            return self.fail(ty, d);
        }
        self.come(over, ty)?;
        Ok(state.with_varying(&over.set))
    }

    /// Returns true if the operand of a sum is unreduced over the axes.
    ///
    /// The operand is unreduced over all of the axes, or varying over all, or reduced over all, or replicated over all.
    /// A mixture is the mistake `mixed-states`.
    fn is_unreduced(&self, x: &Array, over: &Over, ty: Option<TensorType>) -> Checked<bool> {
        let state = x.manual_in(&over.scope);
        let shares = [&state.varying, &state.unreduced, &state.reduced].map(|axes| over.share(axes));
        if shares != [Share::None; 3] && !shares.contains(&Share::All) {
            return self.fail(ty, mistakes::mixed_states(self.name, &x.short_type(), &over.show(), &self.loc));
        }
        Ok(shares[1] == Share::All)
    }

    fn place(&self, dim: &impl GatherDim, rank: usize, x: &Array) -> Checked<usize> {
        match dim.place(rank) {
            Some(place) => Ok(place),
            None => self.fail(None, mistakes::dimension(&dim.to_string(), &x.short_type(), &self.loc)),
        }
    }
}

/// Returns the sub-axes of `axis` along which these are the groups. Returns `None` if the groups are not those along
/// sub-axes, or if each has only one position.
fn parts_of_groups(mesh: &Mesh, axis: AxisIndex, groups: &[Vec<usize>]) -> Option<Vec<AxisRef>> {
    let size = mesh.axis_size(axis);
    let alone = Mesh::new("axis", [("axis", size)]).ok()?;
    let parts = axes_of_groups(&alone, groups)?;
    let parts: Vec<AxisRef> = parts.into_iter().map(|p| AxisRef { axis, ..p }).collect();
    (!parts.is_empty()).then_some(parts)
}

// ── dimensions
/// Types that name the dimension that a collective splits or joins: an integer names a dimension in which the parts
/// follow one another, and [`stacked`] one that has one element for each device.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a dimension", label = "expected an integer, or `stacked(…)`")]
pub trait GatherDim: fmt::Display {
    #[doc(hidden)]
    fn place(&self, rank: usize) -> Option<usize>;
    #[doc(hidden)]
    fn is_stacked(&self) -> bool {
        false
    }
}

impl<D: Dim> GatherDim for D {
    fn place(&self, rank: usize) -> Option<usize> {
        self.of(rank)
    }
}

/// The result of [`stacked`].
#[derive(Clone, Copy, Debug)]
pub struct Stacked<D>(D);

/// Names a dimension with one element for each device. A gather adds it: `x.all_gather("X", stacked(0))` of `f32[4]` is
/// `f32[n,4]`. A scatter removes it: `x.psum_scatter("X", stacked(0))` of `f32[n,4]` is `f32[4]`.
pub fn stacked<D: Dim>(dim: D) -> Stacked<D> {
    Stacked(dim)
}

impl<D: Dim> fmt::Display for Stacked<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<D: Dim> GatherDim for Stacked<D> {
    fn place(&self, rank: usize) -> Option<usize> {
        self.0.of(rank)
    }
    fn is_stacked(&self) -> bool {
        true
    }
}

// ── permutations
/// Types that say which device sends to which along an axis list: [`shift`], or pairs of source and target positions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a permutation",
    label = "expected `shift(k)`, or pairs of source and target"
)]
pub trait Permutation {
    #[doc(hidden)]
    fn moves(&self) -> Moves;
}

/// The transfers of a [`Permutation`].
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Moves {
    Shift(isize),
    Pairs(Vec<(usize, usize)>),
}

/// The result of [`shift`].
#[derive(Clone, Copy, Debug)]
pub struct Shift(isize);

/// Returns the permutation in which every device sends to the device `by` positions further around the ring. A negative
/// `by` counts backwards.
pub fn shift(by: isize) -> Shift {
    Shift(by)
}

impl Permutation for Shift {
    fn moves(&self) -> Moves {
        Moves::Shift(self.0)
    }
}
impl Permutation for &[(usize, usize)] {
    fn moves(&self) -> Moves {
        Moves::Pairs(self.to_vec())
    }
}
impl Permutation for Vec<(usize, usize)> {
    fn moves(&self) -> Moves {
        Moves::Pairs(self.clone())
    }
}
impl<const N: usize> Permutation for [(usize, usize); N] {
    fn moves(&self) -> Moves {
        Moves::Pairs(self.to_vec())
    }
}

/// Returns what is wrong with a permutation of `count` positions, or `None` if nothing is.
fn permutation_fault(pairs: &[(usize, usize)], count: usize) -> Option<String> {
    let twice = |mut ids: Vec<usize>| {
        ids.sort_unstable();
        ids.windows(2).find(|w| w[0] == w[1]).map(|w| w[0])
    };
    if let Some(i) = pairs.iter().flat_map(|&(s, t)| [s, t]).find(|&i| i >= count) {
        return Some(format!("there is no position {i}"));
    }
    let source = twice(pairs.iter().map(|p| p.0).collect()).map(|i| format!("position {i} is the source twice"));
    source.or_else(|| twice(pairs.iter().map(|p| p.1).collect()).map(|i| format!("position {i} is the target twice")))
}

/// The state to which [`Array::pcast`] casts a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pcast {
    /// Treats a replicated or reduced value as varying.
    Varying,
    /// Treats a varying value as summands: the value becomes unreduced.
    Unreduced,
    /// Marks a replicated value as reduced: its gradient stays unreduced.
    Reduced,
}

// ── the collectives
/// Functions of all devices along some axes. They can only be called in a function that [`shard_map`](crate::shard_map)
/// maps, unless they name only axes of batches, which [`vmap`](crate::vmap) names.
///
/// # Errors
///
/// - `not-manual` outside of such a function.
/// - `manual-axis` and `axis-groups` if the axes cannot be used.
/// - `divergent-collective` if some devices along the axes may not reach the call.
/// - `mixed-states` and `wrong-state` if the operand's states along the axes do not fit.
/// - `mixed-axes` if axes of the mesh and of a batch are named together, except in `psum`, `pmean`, `pmax`, `pmin` and
///   `pcast`.
/// - Those that the function documents.
impl Array {
    /// Returns the element-wise sum of the devices' values. For bools, returns the number of true values as `i32`.
    ///
    /// A replicated value counts once for each device.
    ///
    /// # States
    ///
    /// V -> replicated, U -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` for `f8e8m0fnu`, which has no zero.
    /// - `unreduced` for bools that are unreduced.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn psum(&self, axes: impl Axes) -> Array {
        run("psum", &[self], |s| sum(s, self, &axes))
    }

    /// Starts [`psum`](Array::psum), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn psum_start(&self, axes: impl Axes) -> Future {
        start("psum_start", &[self], |s| sum(s, self, &axes))
    }

    /// Returns the element-wise mean of the devices' values. Integers and bools are averaged as `f32`.
    ///
    /// # States
    ///
    /// V -> replicated, U -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` for a dtype that can only be stored.
    /// - `unreduced` for integers and bools that are unreduced.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn pmean(&self, axes: impl Axes) -> Array {
        run("pmean", &[self], |s| mean(s, self, &axes))
    }

    /// Starts [`pmean`](Array::pmean), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn pmean_start(&self, axes: impl Axes) -> Future {
        start("pmean_start", &[self], |s| mean(s, self, &axes))
    }

    /// Returns the element-wise maximum of the devices' values.
    ///
    /// # States
    ///
    /// V -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` unless the elements are integers or floats of a dtype that has arithmetic.
    /// - `unreduced` if the operand is unreduced, but over none of these axes.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn pmax(&self, axes: impl Axes) -> Array {
        run("pmax", &[self], |s| extreme(s, self, &axes, ReduceKind::Max))
    }

    /// Starts [`pmax`](Array::pmax), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn pmax_start(&self, axes: impl Axes) -> Future {
        start("pmax_start", &[self], |s| extreme(s, self, &axes, ReduceKind::Max))
    }

    /// Returns the element-wise minimum of the devices' values.
    ///
    /// # States
    ///
    /// V -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dtype-kind` unless the elements are integers or floats of a dtype that has arithmetic.
    /// - `unreduced` if the operand is unreduced, but over none of these axes.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn pmin(&self, axes: impl Axes) -> Array {
        run("pmin", &[self], |s| extreme(s, self, &axes, ReduceKind::Min))
    }

    /// Starts [`pmin`](Array::pmin), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn pmin_start(&self, axes: impl Axes) -> Future {
        start("pmin_start", &[self], |s| extreme(s, self, &axes, ReduceKind::Min))
    }

    /// Concatenates the devices' values along `dim`, on each device.
    ///
    /// # Shapes
    ///
    /// `[s, d] -> [s * n, d]`, and with `stacked(dim)`: `[s, d] -> [n, s, d]`.
    ///
    /// # States
    ///
    /// V -> V. A replicated or reduced operand is cast to V.
    /// [`all_gather_replicated`](Array::all_gather_replicated) marks the result as replicated instead.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn all_gather(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather", &[self], |s| gather(s, self, &axes, &dim, varying))
    }

    /// Starts [`all_gather`](Array::all_gather), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn all_gather_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_start", &[self], |s| gather(s, self, &axes, &dim, varying))
    }

    /// Does the same as [`all_gather`](Array::all_gather), and marks the result as replicated along the axes, as an out
    /// spec without the axes requires.
    ///
    /// # States
    ///
    /// V -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn all_gather_replicated(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather_replicated", &[self], |s| gather(s, self, &axes, &dim, equal))
    }

    /// Starts [`all_gather_replicated`](Array::all_gather_replicated), whose errors the result of [`Future::done`]
    /// carries.
    #[track_caller]
    pub fn all_gather_replicated_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_replicated_start", &[self], |s| gather(s, self, &axes, &dim, equal))
    }

    /// Does the same as [`all_gather`](Array::all_gather), and marks the result as reduced: its gradient stays
    /// unreduced.
    ///
    /// # States
    ///
    /// V -> R. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1, or more than 255
    ///   dimensions.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn all_gather_reduced(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather_reduced", &[self], |s| gather(s, self, &axes, &dim, reduced))
    }

    /// Starts [`all_gather_reduced`](Array::all_gather_reduced), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn all_gather_reduced_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_reduced_start", &[self], |s| gather(s, self, &axes, &dim, reduced))
    }

    /// Sums the devices' values element by element. Each device keeps its part of the sum along `dim`. Bools are
    /// counted as `i32`.
    ///
    /// # Shapes
    ///
    /// `[s, d] -> [s / n, d]`, and with `stacked(dim)`: `[n, d] -> [d]`.
    ///
    /// # States
    ///
    /// V -> V, U -> V. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `collective-uneven` if `dim` cannot be split into a part for each device, or, with `stacked`, does not have
    ///   one element for each device.
    /// - `dtype-kind` for `f8e8m0fnu`, which has no zero.
    /// - `unreduced` for bools that are unreduced.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn psum_scatter(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("psum_scatter", &[self], |s| sum_scatter(s, self, &axes, &dim))
    }

    /// Starts [`psum_scatter`](Array::psum_scatter), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn psum_scatter_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("psum_scatter_start", &[self], |s| sum_scatter(s, self, &axes, &dim))
    }

    /// Splits the value along `split`, sends one part to each device, and concatenates the received parts along
    /// `concat`.
    ///
    /// # Shapes
    ///
    /// `[s, d] -> [s / n, d * n]` for dimensions 0 and 1, and with two `stacked` ones: `[n, d] -> [d, n]`.
    ///
    /// # States
    ///
    /// V -> V. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `collective-uneven` if `split` cannot be split into a part for each device, or, with `stacked`, does not have
    ///   one element for each device.
    /// - `dimension` if a dimension does not exist, or only one of the two is stacked.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn all_to_all(&self, axes: impl Axes, split: impl GatherDim, concat: impl GatherDim) -> Array {
        run("all_to_all", &[self], |s| exchange(s, self, &axes, &split, &concat))
    }

    /// Starts [`all_to_all`](Array::all_to_all), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn all_to_all_start(&self, axes: impl Axes, split: impl GatherDim, concat: impl GatherDim) -> Future {
        start("all_to_all_start", &[self], |s| exchange(s, self, &axes, &split, &concat))
    }

    /// Sends values between devices: for each pair of a source and a target, the device at the target's position gets
    /// the value of the device at the source's. Positions count along `axes`, major to minor. A device to which none is
    /// sent gets zeros.
    ///
    /// # States
    ///
    /// V -> V. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `permutation` if a position does not exist, or is a source or target twice.
    /// - `dtype-kind` for `f8e8m0fnu`, which has no zero, if no value is sent to some device.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn ppermute(&self, axes: impl Axes, permutation: impl Permutation) -> Array {
        run("ppermute", &[self], |s| permute(s, self, &axes, &permutation))
    }

    /// Starts [`ppermute`](Array::ppermute), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn ppermute_start(&self, axes: impl Axes, permutation: impl Permutation) -> Future {
        start("ppermute_start", &[self], |s| permute(s, self, &axes, &permutation))
    }

    /// Sends the value of device `from[i]` to device `i`. Each position must occur exactly once in `from`.
    ///
    /// # States
    ///
    /// V -> V. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `permutation` unless `from` is a permutation of the positions.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn pshuffle(&self, axes: impl Axes, from: impl AsRef<[usize]>) -> Array {
        run("pshuffle", &[self], |s| shuffle(s, self, &axes, from.as_ref()))
    }

    /// Starts [`pshuffle`](Array::pshuffle), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn pshuffle_start(&self, axes: impl Axes, from: impl AsRef<[usize]>) -> Future {
        start("pshuffle_start", &[self], |s| shuffle(s, self, &axes, from.as_ref()))
    }

    /// Copies the value of the device at position `source` to all devices along the axes.
    ///
    /// # States
    ///
    /// V -> replicated. A replicated or reduced operand is cast to V.
    ///
    /// # Errors
    ///
    /// - `permutation` if there is no position `source`.
    /// - Those of every collective, such as `not-manual` outside of `shard_map`.
    #[track_caller]
    pub fn pbroadcast(&self, axes: impl Axes, source: usize) -> Array {
        run("pbroadcast", &[self], |s| broadcast(s, self, &axes, source))
    }

    /// Starts [`pbroadcast`](Array::pbroadcast), whose errors the result of [`Future::done`] carries.
    #[track_caller]
    pub fn pbroadcast_start(&self, axes: impl Axes, source: usize) -> Future {
        start("pbroadcast_start", &[self], |s| broadcast(s, self, &axes, source))
    }

    /// Casts the value to another state along the axes. Nothing is moved or computed. Axes of batches have no states:
    /// along them the value stays as it is.
    ///
    /// # States
    ///
    /// Replicated -> V, replicated -> R, V -> U, R -> V.
    ///
    /// # Errors
    ///
    /// - `wrong-state` for any other cast along axes of the mesh, and `dtype-kind` for a cast of `f8e8m0fnu`, which has
    ///   no zero, to unreduced.
    /// - `not-manual` outside of `shard_map` unless all axes are those of batches, and `manual-axis` and `axis-groups`
    ///   if the axes cannot be used.
    #[track_caller]
    pub fn pcast(&self, axes: impl Axes, to: Pcast) -> Array {
        site("pcast", &[self], |s| {
            let ty = Some(self.tensor().clone());
            // Values along the mapped dimension of a batch have no states.
            let (along, axes) = s.batch_axes(&axes)?;
            if axes.is_empty() && !along.is_empty() {
                return Ok(self.clone());
            }
            let over = s.over(&axes, ty.clone())?;
            let state = self.manual_in(&over.scope);
            let [v, u, r] = [&state.varying, &state.unreduced, &state.reduced].map(|axes| over.share(axes));
            let is_equal = [v, u, r] == [Share::None; 3];
            let next = match to {
                Pcast::Varying if is_equal || r == Share::All => state.with_varying(&over.set),
                Pcast::Reduced if is_equal => state.with_reduced(&over.set),
                Pcast::Unreduced if v == Share::All => {
                    has_sums(s, self)?;
                    state.with_unreduced(&over.set)
                }
                _ => {
                    let from = match to {
                        Pcast::Varying => "replicated along all of these axes, or reduced along all of them",
                        Pcast::Reduced => "replicated along all of these axes",
                        Pcast::Unreduced => "varying over all of these axes",
                    };
                    let to = format!("{to:?}").to_lowercase();
                    return s.fail(ty, mistakes::no_cast(&to, from, &self.short_type(), &over.show(), &s.loc));
                }
            };
            Ok(self.in_state(Some(next)))
        })
    }
}

impl Site<'_> {
    /// Checks that dimension `dim` of `x` can be split into a part for each device. If `is_stacked`, it must have one
    /// element for each device.
    ///
    /// Errors: `collective-uneven`.
    pub fn splits(&self, x: &Array, dim: usize, is_stacked: bool, over: &Over) -> Checked<()> {
        self.splits_into(x, dim, is_stacked, (x.tensor().shape[dim], over.count(), over.show()))
    }

    fn splits_into(
        &self,
        x: &Array,
        dim: usize,
        is_stacked: bool,
        (size, count, axes): (usize, usize, String),
    ) -> Checked<()> {
        let (ty, axes) = (&x.short_type(), &axes);
        let split = mistakes::Split { ty, dim, size, axes, count };
        match is_stacked {
            true if size != count => self.fail(None, mistakes::not_stacked(self.name, &split, &self.loc)),
            false if count == 0 || !size.is_multiple_of(count) => {
                self.fail(None, mistakes::indivisible(self.name, &split, &self.loc))
            }
            _ => Ok(()),
        }
    }
}

// ── finished at once, or started
type Make = Box<dyn FnOnce(&mut Builder<'_>, &[Value]) -> Value>;
/// Computes the result of the collective function from the result of its op, on each device.
type After = Box<dyn FnOnce(&Array) -> Array>;

/// A collective that has been checked: its operands, and how to build it.
struct Exchange {
    operands: Vec<Array>,
    /// The state of the op's result, and how to build the op. `None` if the first operand is the result: nothing is
    /// left to do over axes of the mesh.
    op: Option<(ManualType, Make)>,
    after: After,
}

impl Exchange {
    fn new(
        operands: &[&Array],
        state: ManualType,
        op: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value + 'static,
    ) -> Exchange {
        let operands = operands.iter().map(|&x| x.clone()).collect();
        Exchange { operands, op: Some((state, Box::new(op))), after: Box::new(Array::clone) }
    }

    fn finished(out: Array) -> Exchange {
        Exchange { operands: vec![out], op: None, after: Box::new(Array::clone) }
    }

    fn then_if(mut self, is_needed: bool, after: impl FnOnce(&Array) -> Array + 'static) -> Exchange {
        if is_needed {
            self.after = Box::new(after);
        }
        self
    }

    fn run(self) -> Array {
        let operands: Vec<&Array> = self.operands.iter().collect();
        match self.op {
            Some((state, op)) => (self.after)(&hlo::built(&operands, Some(state), op)),
            None => (self.after)(operands[0]),
        }
    }
}

#[track_caller]
fn run(name: &'static str, operands: &[&Array], f: impl FnOnce(&Site<'_>) -> Checked<Exchange>) -> Array {
    site(name, operands, |s| Ok(f(s)?.run()))
}

#[track_caller]
fn start(name: &'static str, operands: &[&Array], f: impl FnOnce(&Site<'_>) -> Checked<Exchange>) -> Future {
    let at = context::caller(Location::caller());
    let mut started = None;
    let bad = site(name, operands, |s| {
        let Exchange { operands, op, after } = f(s)?;
        started = Some(match op {
            Some((state, op)) => {
                let future = hlo::started(&operands.iter().collect::<Vec<_>>(), op)?;
                Started::Op { future, state, after }
            }
            None => Started::Done(after(&operands[0])),
        });
        Ok(operands.into_iter().next().expect("a collective has an operand"))
    });
    Future { name, at, state: Some(started.ok_or(bad)) }
}

/// A collective that has been started. [`done`](Future::done) returns its result.
///
/// Ops between the start and `done` do not wait for it.
///
/// # Errors
///
/// `future-unfinished` if it is dropped without `done` in a trace. A collective over axes of batches only needs no
/// `done`.
#[must_use = "a collective that is started must be finished with `.done()`"]
pub struct Future {
    name: &'static str,
    at: &'static Location<'static>,
    /// `None` once it is finished. If the collective could not be started, `Err` has an array with its mistakes.
    state: Option<Result<Started, Array>>,
}

enum Started {
    Op {
        future: hlo::Future,
        state: ManualType,
        after: After,
    },
    /// A collective over the mapped dimension of a batch, which nothing waits for.
    Done(Array),
}

impl Future {
    /// Finishes the collective and returns its result.
    ///
    /// # Errors
    ///
    /// `future-elsewhere` if the collective was started in another loop, branch or function, and the errors of the
    /// collective.
    #[track_caller]
    pub fn done(mut self) -> Array {
        match self.state.take().expect("only this takes it") {
            Err(bad) => bad,
            Ok(Started::Done(out)) => out,
            Ok(Started::Op { future, state, after }) => site("done", &[], |s| {
                let made = || hlo::finished(future, state).into_iter().collect();
                let out = trace::is_tracing().then(|| explicit::function(self.name.into(), made).pop()).flatten();
                match out {
                    Some(out) => Ok(after(&out)),
                    None => s.fail(None, mistakes::future_elsewhere(self.name, self.at, &s.loc)),
                }
            }),
        }
    }
}

impl Drop for Future {
    fn drop(&mut self) {
        if matches!(self.state, Some(Ok(Started::Op { .. }))) && trace::is_tracing() && !std::thread::panicking() {
            let d = mistakes::future_unfinished(self.name, &context::loc_of(self.at));
            trace::record(&Mistakes::one(d));
        }
    }
}

impl fmt::Debug for Future {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Future({} at {})", self.name, context::show(self.at))
    }
}

// ── the collectives' implementations
/// Converts bools to `i32`, which can be added. Returns other arrays unchanged.
fn counted(x: &Array) -> Array {
    if x.tensor().dtype.is_bool() { hlo::convert(x, DType::I32) } else { x.clone() }
}

fn has_sums(s: &Site<'_>, x: &Array) -> Checked<()> {
    s.kind(x, DType::has_zero, "a dtype that has a zero", "convert the array first: `.astype(F32)`")
}

fn reduce(s: &Site<'_>, x: &Array, over: &Over, kind: ReduceKind) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    let is_open = kind == ReduceKind::Add && s.is_unreduced(x, over, ty.clone())?;
    let state = if is_open { x.manual_in(&over.scope) } else { s.varying(x, over, ty.clone())? };
    s.come(over, ty)?;
    let (state, over) = (state.without(&over.set), over.clone());
    Ok(Exchange::new(&[x], state, move |b, x| make_collective::all_reduce(b, x[0], kind, over.mesh(), &over.list)))
}

fn sum(s: &Site<'_>, x: &Array, axes: &impl Axes) -> Checked<Exchange> {
    let (along, axes) = s.batch_axes(axes)?;
    if along.is_empty() {
        let over = s.over(&axes, Some(x.tensor().clone()))?;
        has_sums(s, x)?;
        return reduce(s, &counted(x), &over, ReduceKind::Add);
    }
    has_sums(s, x)?;
    let sum = combined(&along, &counted(x), ReduceKind::Add);
    if axes.is_empty() { Ok(Exchange::finished(sum)) } else { self::sum(s, &sum, &axes) }
}

fn combined(along: &Along, x: &Array, kind: ReduceKind) -> Array {
    let op = match kind {
        ReduceKind::Max => Opcode::Maximum,
        ReduceKind::Min => Opcode::Minimum,
        _ => Opcode::Add,
    };
    hlo::reduce(&along.gather(x), op, &kind.identity(x.tensor().dtype), &[0])
}

fn mean(s: &Site<'_>, x: &Array, axes: &impl Axes) -> Checked<Exchange> {
    s.has(x, crate::ops::Kinds::Any)?;
    let (along, axes) = s.batch_axes(axes)?;
    let from = x.tensor().dtype;
    if !along.is_empty() {
        let x = if from.is_float() || from.is_complex() { x.clone() } else { hlo::convert(x, DType::F32) };
        let mean = combined(&along, &x, ReduceKind::Add) / along.count();
        return if axes.is_empty() { Ok(Exchange::finished(mean)) } else { self::mean(s, &mean, &axes) };
    }
    let over = s.over(&axes, Some(x.tensor().clone()))?;
    let count = over.count();
    let x = if from.is_float() || from.is_complex() { x.clone() } else { hlo::convert(x, DType::F32) };
    Ok(reduce(s, &x, &over, ReduceKind::Add)?.then_if(true, move |sum| sum / count))
}

fn extreme(s: &Site<'_>, x: &Array, axes: &impl Axes, kind: ReduceKind) -> Checked<Exchange> {
    s.has(x, crate::ops::Kinds::Ordered)?;
    let (along, axes) = s.batch_axes(axes)?;
    if !along.is_empty() {
        let best = combined(&along, x, kind);
        return if axes.is_empty() { Ok(Exchange::finished(best)) } else { extreme(s, &best, &axes, kind) };
    }
    let over = s.over(&axes, Some(x.tensor().clone()))?;
    let unreduced = x.manual_in(&over.scope).states.unreduced;
    // Over the axes of the collective, `reduce` reports it.
    if !unreduced.is_empty() && over.share(&unreduced) == Share::None {
        let (axes, argument) = (unreduced.show(over.mesh()), axes_argument(&unreduced, over.mesh()));
        let d = mistakes::unreduced_operand(s.name, &[x.short_type()], &axes, &argument, &s.loc);
        return s.fail(Some(x.tensor().clone()), d);
    }
    reduce(s, x, &over, kind)
}

/// Computes the states of a gathered value from the states of the varying operand.
type Gathered = fn(ManualType, &Over) -> ManualType;

fn varying(state: ManualType, _: &Over) -> ManualType {
    state
}

fn equal(state: ManualType, over: &Over) -> ManualType {
    state.without(&over.set)
}

fn reduced(state: ManualType, over: &Over) -> ManualType {
    state.with_reduced(&over.set)
}

fn gather(s: &Site<'_>, x: &Array, axes: &impl Axes, dim: &impl GatherDim, gives: Gathered) -> Checked<Exchange> {
    if let Some(along) = s.along(axes)? {
        let to = s.place(dim, x.tensor().rank() + usize::from(dim.is_stacked()), x)?;
        let all = moved(&along.gather(x), 0, to);
        return Ok(Exchange::finished(if dim.is_stacked() { all } else { merged(&all, to) }));
    }
    let over = s.over(axes, None)?;
    let dim_index = s.place(dim, x.tensor().rank() + usize::from(dim.is_stacked()), x)?;
    let state = gives(s.varying(x, &over, None)?, &over);
    let mut part = x.tensor().clone();
    if dim.is_stacked() {
        part.shape.insert(dim_index, 1);
    }
    s.fits_joined(part, dim_index, over.count())?;
    let x = if dim.is_stacked() { with_dim(x, dim_index) } else { x.clone() };
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        make_collective::all_gather(b, x[0], dim_index, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&[&x], state, op))
}

fn sum_scatter(s: &Site<'_>, x: &Array, axes: &impl Axes, dim: &impl GatherDim) -> Checked<Exchange> {
    if let Some(along) = s.along(axes)? {
        has_sums(s, x)?;
        let from = s.place(dim, x.tensor().rank(), x)?;
        s.splits_along(x, from, dim.is_stacked(), &along)?;
        let sum = combined(&along, &counted(x), ReduceKind::Add);
        let parts = if dim.is_stacked() { sum } else { divided(&sum, from, along.count()) };
        return Ok(Exchange::finished(along.spread(&moved(&parts, from, 0))));
    }
    let over = s.over(axes, None)?;
    has_sums(s, x)?;
    let x = &counted(x);
    let dim_index = s.place(dim, x.tensor().rank(), x)?;
    s.splits(x, dim_index, dim.is_stacked(), &over)?;
    let state = match s.is_unreduced(x, &over, None)? {
        true => x.manual_in(&over.scope).with_varying(&over.set),
        false => s.varying(x, &over, None)?,
    };
    s.come(&over, None)?;
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        make_collective::reduce_scatter(b, x[0], dim_index, ReduceKind::Add, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&[x], state, op).then_if(dim.is_stacked(), move |out| without_dim(out, dim_index)))
}

fn exchange(
    s: &Site<'_>,
    x: &Array,
    axes: &impl Axes,
    split: &impl GatherDim,
    concat: &impl GatherDim,
) -> Checked<Exchange> {
    if let Some(along) = s.along(axes)? {
        return exchange_along(s, x, &along, split, concat);
    }
    let over = s.over(axes, None)?;
    let rank = x.tensor().rank();
    let (from, to) = (s.place(split, rank, x)?, s.place(concat, rank, x)?);
    let is_stacked = split.is_stacked();
    if is_stacked != concat.is_stacked() {
        return s.fail(None, mistakes::stacked_once(s.name, &x.short_type(), &s.loc));
    }
    s.splits(x, from, is_stacked, &over)?;
    let state = s.varying(x, &over, None)?;
    let joined = if is_stacked { from } else { to };
    let mut part = x.tensor().clone();
    part.shape[from] /= over.count();
    s.fits_joined(part, joined, over.count())?;
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        make_collective::all_to_all(b, x[0], from, joined, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&[x], state, op).then_if(is_stacked, move |out| moved(out, from, to)))
}

/// Exchanges parts along axes of batches, as [`Array::all_to_all`] does, and fails as it does.
fn exchange_along(
    s: &Site<'_>,
    x: &Array,
    along: &Along,
    split: &impl GatherDim,
    concat: &impl GatherDim,
) -> Checked<Exchange> {
    let rank = x.tensor().rank();
    let (from, to) = (s.place(split, rank, x)?, s.place(concat, rank, x)?);
    if split.is_stacked() != concat.is_stacked() {
        return s.fail(None, mistakes::stacked_once(s.name, &x.short_type(), &s.loc));
    }
    s.splits_along(x, from, split.is_stacked(), along)?;
    let parts = if split.is_stacked() { x.clone() } else { divided(x, from, along.count()) };
    // The parts of all indices, those for one index together: [target, source, s..].
    let parts = moved(&along.gather(&moved(&parts, from, 0)), 1, 0);
    let own = moved(&along.spread(&parts), 0, to);
    Ok(Exchange::finished(if split.is_stacked() { own } else { merged(&own, to) }))
}

/// Checks that zeros exist if some of the `count` positions are no target of `pairs`.
///
/// Errors: `dtype-kind`.
fn has_fill(s: &Site<'_>, x: &Array, pairs: &[(usize, usize)], count: usize) -> Checked<()> {
    let expected = "a dtype that has a zero, or a value for each device";
    let help = "convert the array first: `.astype(F32)`";
    s.kind(x, |dtype| dtype.has_zero() || pairs.len() == count, expected, help)
}

fn permute(s: &Site<'_>, x: &Array, axes: &impl Axes, permutation: &impl Permutation) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    if let Some(along) = s.along(axes)? {
        let count = along.count();
        let pairs = match permutation.moves() {
            Moves::Pairs(pairs) => pairs,
            Moves::Shift(by) => (0..count).map(|i| (i, (i + by.rem_euclid(count as isize) as usize) % count)).collect(),
        };
        if let Some(wrong) = permutation_fault(&pairs, count) {
            let pairs = format!("{pairs:?}");
            return s.fail(ty, mistakes::permutation(s.name, &wrong, &pairs, &along.show(), count, &s.loc));
        }
        has_fill(s, x, &pairs, count)?;
        if count == 0 {
            // An empty batch has no rows.
            return Ok(Exchange::finished(x.clone()));
        }
        let source = |to: usize| pairs.iter().find(|p| p.1 == to).map(|p| p.0);
        let sources: Vec<Option<usize>> = (0..count).map(source).collect();
        return Ok(Exchange::finished(along.spread(&rows(&along.gather(x), &sources))));
    }
    let over = s.over(axes, ty.clone())?;
    let along = AxisList::new(over.mesh(), over.list.clone());
    let permutation = match permutation.moves() {
        Moves::Shift(by) => collective::Permutation::ring(along, by),
        Moves::Pairs(pairs) => {
            let count = over.count();
            if let Some(wrong) = permutation_fault(&pairs, count) {
                let (pairs, axes) = (format!("{pairs:?}"), over.show());
                return s.fail(ty, mistakes::permutation(s.name, &wrong, &pairs, &axes, count, &s.loc));
            }
            has_fill(s, x, &pairs, count)?;
            collective::Permutation::of_pairs(along, pairs)
        }
    };
    let state = s.varying(x, &over, ty)?;
    let op = move |b: &mut Builder<'_>, x: &[Value]| make_collective::collective_permute(b, x[0], &permutation);
    Ok(Exchange::new(&[x], state, op))
}

fn shuffle(s: &Site<'_>, x: &Array, axes: &impl Axes, from: &[usize]) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    let (count, shown) = match s.along(axes)? {
        Some(along) => (along.count(), along.show()),
        None => {
            let over = s.over(axes, ty.clone())?;
            (over.count(), over.show())
        }
    };
    if from.len() != count {
        let d = mistakes::shuffle(s.name, from.len(), &format!("{from:?}"), &shown, count, &s.loc);
        return s.fail(ty, d);
    }
    let pairs: Vec<(usize, usize)> = from.iter().copied().enumerate().map(|(to, from)| (from, to)).collect();
    permute(s, x, axes, &pairs)
}

/// Returns the collective that copies the value of the device at `source`, as a sum with zeros from all other devices.
/// Bools are combined by `or` instead. The bits are summed if the dtype has no zero. Along axes of batches, the value
/// at this index is taken, and nothing is left to do.
///
/// Errors: those of [`Array::pbroadcast`].
fn broadcast(s: &Site<'_>, x: &Array, axes: &impl Axes, source: usize) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    if let Some(along) = s.along(axes)? {
        if source >= along.count() {
            return s.fail(ty, mistakes::no_position(s.name, source, &along.show(), along.count(), &s.loc));
        }
        return Ok(Exchange::finished(without_dim(&row(&along.gather(x), source), 0)));
    }
    let over = s.over(axes, ty.clone())?;
    if source >= over.count() {
        return s.fail(ty, mistakes::no_position(s.name, source, &over.show(), over.count(), &s.loc));
    }
    let state = s.varying(x, &over, ty)?;
    let own = over.clone();
    let dtype = x.tensor().dtype;
    let bits = if dtype.has_zero() { x.clone() } else { hlo::bitcast(x, DType::U8) };
    let masked = hlo::built(&[&bits, &nothing_like(&bits)], Some(state.clone()), move |b, x| {
        let is_source = is_at(b, source, &own);
        make::select(b, is_source, x[0], x[1])
    });
    let kind = if dtype.is_bool() { ReduceKind::Or } else { ReduceKind::Add };
    let state = state.without(&over.set);
    let op =
        move |b: &mut Builder<'_>, x: &[Value]| make_collective::all_reduce(b, x[0], kind, over.mesh(), &over.list);
    Ok(Exchange::new(&[&masked], state, op).then_if(!dtype.has_zero(), move |sum| hlo::bitcast(sum, dtype)))
}

fn is_at(b: &mut Builder<'_>, source: usize, over: &Over) -> Value {
    let index = make_collective::axis_index(b, over.mesh(), &over.list);
    let wanted = make::number(b, DType::I32, source as i64);
    make::compare(b, "EQ", index, wanted)
}

/// Returns elements that change nothing when they are added, in the type and the layout of `x`. Where `x` is unreduced,
/// they are, too.
fn nothing_like(x: &Array) -> Array {
    let ty = x.tensor();
    let made = hlo::splat(&nothing(ty.dtype), &ty.shape);
    explicit::lay(&[made], &[explicit::given(x)]).remove(0)
}

fn row(list: &Array, i: usize) -> Array {
    hlo::slice_dim(list, 0, i..i + 1, 1)
}

/// Returns an array of the rows of `list` at the indices `sources`, in this order. A row for `None` has zeros.
fn rows(list: &Array, sources: &[Option<usize>]) -> Array {
    let mut none = list.tensor().clone();
    none.shape[0] = 1;
    let row = |source: &Option<usize>| source.map_or_else(|| hlo::zeros(&none), |i| row(list, i));
    let rows: Vec<Array> = sources.iter().map(row).collect();
    hlo::concatenate(&rows.iter().collect::<Vec<_>>(), 0)
}

/// Joins dimension `dim` and the next one: `[n, s, d] -> [n * s, d]` for dimension 0.
fn merged(x: &Array, dim: usize) -> Array {
    let mut shape = x.tensor().shape.clone();
    let size = shape.remove(dim);
    shape[dim] *= size;
    hlo::reshape(x, &shape)
}

/// Divides dimension `dim` into `parts` parts of equal size, which are counted by a new dimension in front of it. The
/// size of `dim` must be a multiple of `parts`.
fn divided(x: &Array, dim: usize, parts: usize) -> Array {
    let mut shape = x.tensor().shape.clone();
    shape[dim] /= parts;
    shape.insert(dim, parts);
    hlo::reshape(x, &shape)
}

fn with_dim(x: &Array, dim: usize) -> Array {
    let mut shape = x.tensor().shape.clone();
    shape.insert(dim, 1);
    hlo::reshape(x, &shape)
}

fn without_dim(x: &Array, dim: usize) -> Array {
    let mut shape = x.tensor().shape.clone();
    shape.remove(dim);
    hlo::reshape(x, &shape)
}

fn moved(x: &Array, from: usize, to: usize) -> Array {
    let mut order: Vec<usize> = (0..x.tensor().rank()).filter(|&d| d != from).collect();
    order.insert(to, from);
    hlo::transpose(x, &order)
}

// ── functions
macro_rules! of_trees {
    ($($f:ident),*) => { $(
        #[doc = concat!("Applies [`Array::", stringify!($f), "`] to every leaf.")]
        #[track_caller]
        pub fn $f<T: Tree>(tree: &T, axes: impl Axes) -> T {
            let at = context::caller(Location::caller());
            let names = axes.names();
            context::within(at, || tree::map(tree, |a| a.$f(names.clone())))
        }
    )* };
}
of_trees!(psum, pmean, pmax, pmin);

/// Returns the position of the device along the axes, major to minor, as an `i32` scalar that varies over them.
///
/// # Errors
///
/// `not-manual` outside of `shard_map` unless the axes are those of a batch, `manual-axis` and `axis-groups` if the
/// axes cannot be used, and `mixed-axes` if axes of the mesh and of a batch are named together.
#[track_caller]
pub fn axis_index(axes: impl Axes) -> Array {
    site("axis_index", &[], |s| {
        if let Some(along) = s.along(&axes)? {
            return Ok(along.index());
        }
        let over = s.over(&axes, Some(TensorType::scalar(DType::I32)))?;
        let state = ManualType::replicated(&over.scope).with_varying(&over.set);
        Ok(hlo::built(&[], Some(state), |b, _| make_collective::axis_index(b, over.mesh(), &over.list)))
    })
}

/// Returns the number of devices along the axes. For axes of batches, returns the number of indices along them, and for
/// axes of both kinds the product.
///
/// # Errors
///
/// The errors of [`axis_index`] but `mixed-axes`. Since no number can be returned then, they end the trace. Outside of
/// a trace, this function panics with them.
#[track_caller]
pub fn axis_size(axes: impl Axes) -> usize {
    let mut count = None;
    let bad = site("axis_size", &[], |s| {
        let (along, axes) = s.batch_axes(&axes)?;
        let over = if axes.is_empty() && !along.is_empty() { 1 } else { s.over(&axes, None)?.count() };
        count = Some(along.count() * over);
        Ok(Array::of_type([], crate::DType::I32))
    });
    count.unwrap_or_else(|| bad.dim(0))
}
