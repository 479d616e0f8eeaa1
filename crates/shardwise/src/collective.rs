//! Collectives of per-device code: functions over the devices along some axes of the mesh.
//!
//! Axes are a name or a tuple of names, major to minor in the order given: `"X"`, `("Y", "X")`. Dimensions are tiled (the
//! parts lie one after the other in the dimension named); [`stacked`] asks for a dimension with one element per device.
//! What each does to the states of a value along the axes stands with it: *varying* (V), *equal* on all, *unreduced* (U:
//! summands), *reduced* (R). Where a value is equal and a varying one is taken, it is cast, which costs nothing.

mod ragged;

pub use ragged::{Ragged, ragged_all_to_all, ragged_all_to_all_start};

use crate::array::Array;
use crate::error::Mistakes;
use crate::manual::{AxisSet, ManualType, Scope};
use crate::ops::{Checked, Dim, Site, site};
use crate::spec::shown_axes;
use crate::trace::Traced;
use crate::tree::{self, Tree};
use crate::{context, hlo, mistakes, trace};
use shardwise_base::{AxisIndex, AxisRef, DType, Mesh};
use shardwise_ir::{Builder, TensorType, Value};
use shardwise_ops::collective::{self, AxisList, axes_of_groups};
use shardwise_ops::{ReduceKind, make, make_collective};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

// ── axes
/// Mesh axes, major to minor: `"X"`, `("X", "Y")`, `["X", "Y"]`; [`groups`] for parts of one.
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

/// Groups of positions along an axis, each a world of its own: `groups("X", [[0, 1], [2, 3]])`.
///
/// They must be what a part of the axis makes: blocks (`[[0, 1], [2, 3]]`) or combs (`[[0, 2], [1, 3]]`).
pub fn groups<const N: usize, const M: usize>(axis: &str, groups: [[usize; N]; M]) -> AxisGroups {
    AxisGroups(AxisName::Groups { axis: axis.into(), groups: groups.iter().map(|g| g.to_vec()).collect() })
}

/// See [`groups`].
pub struct AxisGroups(AxisName);

impl Axes for AxisGroups {
    fn names(&self) -> Vec<AxisName> {
        vec![self.0.clone()]
    }
}

/// The axes of one collective, found in the mesh.
#[derive(Clone)]
pub(crate) struct Over {
    pub scope: Arc<Scope>,
    /// In the order given.
    list: Vec<AxisRef>,
    pub set: AxisSet,
}

impl Over {
    /// Number of devices along the axes.
    pub fn count(&self) -> usize {
        AxisRef::total_size(&self.scope.mesh, &self.list)
    }

    /// `"X"`, `("X", "Y")`.
    fn show(&self) -> String {
        shown_axes(&self.scope.mesh, &self.list)
    }

    fn mesh(&self) -> &Arc<Mesh> {
        &self.scope.mesh
    }

    /// None, all, or some of the axes are among `axes`.
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
    /// The axes that a function names; `ty`: of the result, where it is known without them.
    pub fn over(&self, axes: &impl Axes, ty: Option<TensorType>) -> Checked<Over> {
        let Some(scope) = trace::is_tracing().then(|| trace::with(|t| t.scope())).flatten() else {
            return self.fail(ty, mistakes::not_manual(self.name, &self.loc));
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
                return wrong("which is not manual here", Some("name it in `.axes(..)` of the `shard_map` too"));
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
            if parts.iter().any(|p| list.iter().any(|a| a.overlaps(*p, &scope.mesh))) || list.contains(&parts[0]) {
                return wrong("which stands twice", None);
            }
            list.extend(parts);
        }
        let set = AxisSet::new(&scope.mesh, list.iter().copied());
        Ok(Over { scope, list, set })
    }

    /// That all devices along the axes come to this place.
    fn come(&self, over: &Over, ty: Option<TensorType>) -> Checked<()> {
        let shared = trace::with(|t| {
            let mut apart = t.predicates().map(|p| (p.clone(), p.varying.and(&over.set, over.mesh())));
            apart.find(|(_, shared)| !shared.is_empty())
        });
        let Some((p, shared)) = shared else { return Ok(()) };
        let (shared, kinds) = (shared.show(over.mesh()), over.scope.kinds());
        self.fail(ty, mistakes::divergent(self.name, &over.show(), &p, &shared, &kinds, &self.loc))
    }

    /// The operand's states, varying over the axes; it must not be unreduced over any.
    fn varying(&self, x: &Array, over: &Over, ty: Option<TensorType>) -> Checked<ManualType> {
        let state = x.manual_in(&over.scope);
        if over.share(&state.unreduced) != Share::None {
            let help = "sum it: `.psum(..)` or `.psum_scatter(..)`";
            let (ty_shown, axes) = (x.short_type(), over.show());
            return self.fail(ty, mistakes::wrong_state(self.name, &ty_shown, "unreduced", &axes, help, &self.loc));
        }
        self.come(over, ty)?;
        Ok(state.with_varying(&over.set))
    }

    /// Of what is summed over the axes: whether it is unreduced over them.
    ///
    /// A sum is of summands, of values that differ, or of equal ones; a mixture has no clear meaning.
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

/// The parts of an axis whose groups these are.
fn parts_of_groups(mesh: &Mesh, axis: AxisIndex, groups: &[Vec<usize>]) -> Option<Vec<AxisRef>> {
    let size = mesh.axis_size(axis);
    let alone = Mesh::new("axis", [("axis", size)]).ok()?;
    let parts = axes_of_groups(&alone, groups)?;
    let parts: Vec<AxisRef> = parts.into_iter().map(|p| AxisRef { axis, ..p }).collect();
    (!parts.is_empty()).then_some(parts)
}

// ── dimensions
/// A dimension that a collective cuts or joins: one that is there, in which the parts lie one after the other; or
/// [`stacked`].
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

/// See [`stacked`].
pub struct Stacked<D>(D);

/// A dimension of its own, with one element for each device: `x.all_gather("X", stacked(0))` of `f32[4]` is `f32[n,4]`.
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
/// Who sends to whom along an axis list: [`shift`], or pairs of source and target positions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a permutation",
    label = "expected `shift(k)`, or pairs of source and target"
)]
pub trait Permutation {
    #[doc(hidden)]
    fn moves(&self) -> Moves;
}

/// What a [`Permutation`] says.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Moves {
    Shift(isize),
    Pairs(Vec<(usize, usize)>),
}

/// See [`shift`].
#[derive(Clone, Copy, Debug)]
pub struct Shift(isize);

/// Every device sends to the one `by` positions on, around the ring.
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

/// What is wrong with a permutation of `count` positions.
fn permutation_fault(pairs: &[(usize, usize)], count: usize) -> Option<String> {
    let twice = |mut ids: Vec<usize>| {
        ids.sort_unstable();
        ids.windows(2).find(|w| w[0] == w[1]).map(|w| w[0])
    };
    if let Some(i) = pairs.iter().flat_map(|&(s, t)| [s, t]).find(|&i| i >= count) {
        return Some(format!("there is no position {i}"));
    }
    let source = twice(pairs.iter().map(|p| p.0).collect()).map(|i| format!("position {i} is a source twice"));
    source.or_else(|| twice(pairs.iter().map(|p| p.1).collect()).map(|i| format!("position {i} is a target twice")))
}

/// What [`Array::pcast`] makes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pcast {
    /// Of an equal or reduced value: taken for one that differs.
    Varying,
    /// Of a varying value: taken for a summand.
    Unreduced,
    /// Of an equal value: its gradient shall be left unreduced.
    Reduced,
}

// ── the collectives
/// Functions of all devices along some axes. Only in a function that [`shard_map`](crate::shard_map) maps.
///
/// Errors: `not-manual` outside of one; `manual-axis`, `axis-groups`; `divergent-collective` where not all devices come;
/// `mixed-states`, `wrong-state`; and those named.
impl Array {
    /// The sum of the devices' values, element by element; of bools, the number of true ones.
    ///
    /// V -> equal, U -> equal. An equal value counts once for each device.
    #[track_caller]
    pub fn psum(&self, axes: impl Axes) -> Array {
        run("psum", &[self], |s| sum(s, self, &axes))
    }

    /// [`psum`](Array::psum), started.
    #[track_caller]
    pub fn psum_start(&self, axes: impl Axes) -> Future {
        start("psum_start", &[self], |s| sum(s, self, &axes))
    }

    /// The mean of the devices' values; integers are averaged as `f32`.
    ///
    /// V -> equal.
    #[track_caller]
    pub fn pmean(&self, axes: impl Axes) -> Array {
        run("pmean", &[self], |s| mean(s, self, &axes))
    }

    /// [`pmean`](Array::pmean), started.
    #[track_caller]
    pub fn pmean_start(&self, axes: impl Axes) -> Future {
        start("pmean_start", &[self], |s| mean(s, self, &axes))
    }

    /// The largest of the devices' values, element by element.
    ///
    /// V -> equal.
    #[track_caller]
    pub fn pmax(&self, axes: impl Axes) -> Array {
        run("pmax", &[self], |s| extreme(s, self, &axes, ReduceKind::Max))
    }

    /// [`pmax`](Array::pmax), started.
    #[track_caller]
    pub fn pmax_start(&self, axes: impl Axes) -> Future {
        start("pmax_start", &[self], |s| extreme(s, self, &axes, ReduceKind::Max))
    }

    /// The smallest of the devices' values, element by element.
    ///
    /// V -> equal.
    #[track_caller]
    pub fn pmin(&self, axes: impl Axes) -> Array {
        run("pmin", &[self], |s| extreme(s, self, &axes, ReduceKind::Min))
    }

    /// [`pmin`](Array::pmin), started.
    #[track_caller]
    pub fn pmin_start(&self, axes: impl Axes) -> Future {
        start("pmin_start", &[self], |s| extreme(s, self, &axes, ReduceKind::Min))
    }

    /// The devices' values one after the other along `dim`, on each of them.
    ///
    /// Shape: `[s, d] -> [s * n, d]`; with `stacked(dim)`: `[s, d] -> [n, s, d]`. V -> V, as the gradient wants it;
    /// [`all_gather_equal`](Array::all_gather_equal) says that they are equal.
    #[track_caller]
    pub fn all_gather(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather", &[self], |s| gather(s, self, &axes, &dim, varying))
    }

    /// [`all_gather`](Array::all_gather), started.
    #[track_caller]
    pub fn all_gather_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_start", &[self], |s| gather(s, self, &axes, &dim, varying))
    }

    /// The same, as a value that is equal on all devices along the axes, as an out spec without them asks.
    ///
    /// V -> equal.
    #[track_caller]
    pub fn all_gather_equal(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather_equal", &[self], |s| gather(s, self, &axes, &dim, equal))
    }

    /// [`all_gather_equal`](Array::all_gather_equal), started.
    #[track_caller]
    pub fn all_gather_equal_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_equal_start", &[self], |s| gather(s, self, &axes, &dim, equal))
    }

    /// The same, as a value whose gradient is left unreduced.
    ///
    /// V -> R.
    #[track_caller]
    pub fn all_gather_reduced(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("all_gather_reduced", &[self], |s| gather(s, self, &axes, &dim, reduced))
    }

    /// [`all_gather_reduced`](Array::all_gather_reduced), started.
    #[track_caller]
    pub fn all_gather_reduced_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("all_gather_reduced_start", &[self], |s| gather(s, self, &axes, &dim, reduced))
    }

    /// The sum of the devices' values, of which each keeps its part along `dim`.
    ///
    /// Shape: `[s, d] -> [s / n, d]`; with `stacked(dim)`: `[n, d] -> [d]`. V -> V, U -> V. Errors: `collective-uneven`.
    #[track_caller]
    pub fn psum_scatter(&self, axes: impl Axes, dim: impl GatherDim) -> Array {
        run("psum_scatter", &[self], |s| sum_scatter(s, self, &axes, &dim))
    }

    /// [`psum_scatter`](Array::psum_scatter), started.
    #[track_caller]
    pub fn psum_scatter_start(&self, axes: impl Axes, dim: impl GatherDim) -> Future {
        start("psum_scatter_start", &[self], |s| sum_scatter(s, self, &axes, &dim))
    }

    /// Sends the parts along `split` to the devices, one to each, and joins what comes along `concat`.
    ///
    /// Shape: `[s, d] -> [s / n, d * n]` for 0 and 1; with `stacked` ones: `[n, d] -> [d, n]`. V -> V.
    /// Errors: `collective-uneven`; `dimension` unless both or none are stacked.
    #[track_caller]
    pub fn all_to_all(&self, axes: impl Axes, split: impl GatherDim, concat: impl GatherDim) -> Array {
        run("all_to_all", &[self], |s| exchange(s, self, &axes, &split, &concat))
    }

    /// [`all_to_all`](Array::all_to_all), started.
    #[track_caller]
    pub fn all_to_all_start(&self, axes: impl Axes, split: impl GatherDim, concat: impl GatherDim) -> Future {
        start("all_to_all_start", &[self], |s| exchange(s, self, &axes, &split, &concat))
    }

    /// Each device's value from another one, or zeros where none sends. Positions count along `axes`, major to minor.
    ///
    /// V -> V. Errors: `permutation`.
    #[track_caller]
    pub fn ppermute(&self, axes: impl Axes, permutation: impl Permutation) -> Array {
        run("ppermute", &[self], |s| permute(s, self, &axes, &permutation))
    }

    /// [`ppermute`](Array::ppermute), started.
    #[track_caller]
    pub fn ppermute_start(&self, axes: impl Axes, permutation: impl Permutation) -> Future {
        start("ppermute_start", &[self], |s| permute(s, self, &axes, &permutation))
    }

    /// Device `i`'s value is that of device `from[i]`: each position must stand there once.
    ///
    /// V -> V. Errors: `permutation`.
    #[track_caller]
    pub fn pshuffle(&self, axes: impl Axes, from: impl AsRef<[usize]>) -> Array {
        run("pshuffle", &[self], |s| shuffle(s, self, &axes, from.as_ref()))
    }

    /// [`pshuffle`](Array::pshuffle), started.
    #[track_caller]
    pub fn pshuffle_start(&self, axes: impl Axes, from: impl AsRef<[usize]>) -> Future {
        start("pshuffle_start", &[self], |s| shuffle(s, self, &axes, from.as_ref()))
    }

    /// The value of the device at position `source`, on all of them.
    ///
    /// V -> equal. Errors: `permutation` for a position that there is not.
    #[track_caller]
    pub fn pbroadcast(&self, axes: impl Axes, source: usize) -> Array {
        run("pbroadcast", &[self], |s| broadcast(s, self, &axes, source))
    }

    /// [`pbroadcast`](Array::pbroadcast), started.
    #[track_caller]
    pub fn pbroadcast_start(&self, axes: impl Axes, source: usize) -> Future {
        start("pbroadcast_start", &[self], |s| broadcast(s, self, &axes, source))
    }

    /// The same value, its state along the axes taken for another. Free: nothing is moved or computed.
    ///
    /// Equal -> V, equal -> R, V -> U, R -> V. Errors: `wrong-state` for any other.
    #[track_caller]
    pub fn pcast(&self, axes: impl Axes, to: Pcast) -> Array {
        site("pcast", &[self], |s| {
            let ty = Some(self.tensor().clone());
            let over = s.over(&axes, ty.clone())?;
            let state = self.manual_in(&over.scope);
            let [v, u, r] = [&state.varying, &state.unreduced, &state.reduced].map(|axes| over.share(axes));
            let is_equal = [v, u, r] == [Share::None; 3];
            let next = match to {
                Pcast::Varying if is_equal || r == Share::All => state.with_varying(&over.set),
                Pcast::Reduced if is_equal => state.with_reduced(&over.set),
                Pcast::Unreduced if v == Share::All => state.with_unreduced(&over.set),
                _ => {
                    let what = format!("pcast to {to:?}").to_lowercase();
                    let found = if is_equal { "equal" } else { "in another state" };
                    let help = "free casts: equal to varying or reduced, varying to unreduced, reduced to varying";
                    let d = mistakes::wrong_state(&what, &self.short_type(), found, &over.show(), help, &s.loc);
                    return s.fail(ty, d);
                }
            };
            Ok(self.in_state(Some(next)))
        })
    }
}

impl Site<'_> {
    /// That `dim` of `x` makes a part for each device.
    pub fn splits(&self, x: &Array, dim: usize, is_stacked: bool, over: &Over) -> Checked<()> {
        let (size, count) = (x.tensor().shape[dim], over.count());
        let (ty, axes) = (&x.short_type(), &over.show());
        let split = mistakes::Split { ty, dim, size, axes, count };
        match is_stacked {
            true if size != count => self.fail(None, mistakes::not_stacked(self.name, &split, &self.loc)),
            false if !size.is_multiple_of(count) => {
                self.fail(None, mistakes::indivisible(self.name, &split, &self.loc))
            }
            _ => Ok(()),
        }
    }
}

// ── at once, or started
/// Makes the op of its operands.
type Make = Box<dyn FnOnce(&mut Builder<'_>, &[Value]) -> Value>;
/// What is left to do on the device.
type After = Box<dyn FnOnce(&Array) -> Array>;

/// A collective that has been checked: what it takes, what it gives, how it is made.
struct Exchange {
    operands: Vec<Array>,
    state: ManualType,
    op: Make,
    after: After,
}

impl Exchange {
    fn new(
        operands: &[&Array],
        state: ManualType,
        op: impl FnOnce(&mut Builder<'_>, &[Value]) -> Value + 'static,
    ) -> Exchange {
        let operands = operands.iter().map(|&x| x.clone()).collect();
        Exchange { operands, state, op: Box::new(op), after: Box::new(Array::clone) }
    }

    fn then_if(mut self, is_needed: bool, after: impl FnOnce(&Array) -> Array + 'static) -> Exchange {
        if is_needed {
            self.after = Box::new(after);
        }
        self
    }

    fn run(self) -> Array {
        let operands: Vec<&Array> = self.operands.iter().collect();
        (self.after)(&hlo::built(&operands, Some(self.state), self.op))
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
        let Exchange { operands, state, op, after } = f(s)?;
        let future = hlo::started(&operands.iter().collect::<Vec<_>>(), op)?;
        started = Some(Started { future, state, after });
        Ok(operands.into_iter().next().expect("a collective has an operand"))
    });
    Future { name, at, state: Some(started.ok_or(bad)) }
}

/// A collective under way: [`done`](Future::done) gives its result, once.
///
/// What is made in between does not wait for it. Errors: `future-unfinished` for one that is dropped.
#[must_use = "a collective that is started must be finished with `.done()`"]
pub struct Future {
    name: &'static str,
    at: &'static Location<'static>,
    /// `None`: finished.
    state: Option<Result<Started, Array>>,
}

struct Started {
    future: Traced,
    state: ManualType,
    after: After,
}

impl Future {
    /// The result.
    ///
    /// Errors: `future-elsewhere` in another loop, branch or function than it was started in.
    #[track_caller]
    pub fn done(mut self) -> Array {
        match self.state.take().expect("only this takes it") {
            Err(bad) => bad,
            Ok(Started { future, state, after }) => site("done", &[], |s| match hlo::finished(future, state) {
                Some(out) => Ok(after(&out)),
                None => s.fail(None, mistakes::future_elsewhere(self.name, self.at, &s.loc)),
            }),
        }
    }
}

impl Drop for Future {
    fn drop(&mut self) {
        if matches!(self.state, Some(Ok(_))) && trace::is_tracing() && !std::thread::panicking() {
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

// ── what each does
/// Bools as numbers that can be added.
fn counted(x: &Array) -> Array {
    if x.tensor().dtype.is_bool() { hlo::convert(x, DType::I32) } else { x.clone() }
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
    let over = s.over(axes, Some(x.tensor().clone()))?;
    reduce(s, &counted(x), &over, ReduceKind::Add)
}

fn mean(s: &Site<'_>, x: &Array, axes: &impl Axes) -> Checked<Exchange> {
    let over = s.over(axes, Some(x.tensor().clone()))?;
    let (from, count) = (x.tensor().dtype, over.count());
    let x = if from.is_float() || from.is_complex() { x.clone() } else { hlo::convert(x, DType::F32) };
    Ok(reduce(s, &x, &over, ReduceKind::Add)?.then_if(true, move |sum| sum / count))
}

fn extreme(s: &Site<'_>, x: &Array, axes: &impl Axes, kind: ReduceKind) -> Checked<Exchange> {
    s.has(x, crate::ops::Kinds::Ordered)?;
    let over = s.over(axes, Some(x.tensor().clone()))?;
    reduce(s, x, &over, kind)
}

/// What a gathered value is along the axes, of what it was made varying.
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
    let over = s.over(axes, None)?;
    let dim_index = s.place(dim, x.tensor().rank() + usize::from(dim.is_stacked()), x)?;
    let state = gives(s.varying(x, &over, None)?, &over);
    let x = if dim.is_stacked() { with_dim(x, dim_index) } else { x.clone() };
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        make_collective::all_gather(b, x[0], dim_index, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&[&x], state, op))
}

fn sum_scatter(s: &Site<'_>, x: &Array, axes: &impl Axes, dim: &impl GatherDim) -> Checked<Exchange> {
    let over = s.over(axes, None)?;
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
    let op = move |b: &mut Builder<'_>, x: &[Value]| {
        make_collective::all_to_all(b, x[0], from, joined, over.mesh(), &over.list)
    };
    Ok(Exchange::new(&[x], state, op).then_if(is_stacked, move |out| moved(out, from, to)))
}

fn permute(s: &Site<'_>, x: &Array, axes: &impl Axes, permutation: &impl Permutation) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
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
            collective::Permutation::of_pairs(along, pairs)
        }
    };
    let state = s.varying(x, &over, ty)?;
    let op = move |b: &mut Builder<'_>, x: &[Value]| make_collective::collective_permute(b, x[0], &permutation);
    Ok(Exchange::new(&[x], state, op))
}

fn shuffle(s: &Site<'_>, x: &Array, axes: &impl Axes, from: &[usize]) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    let over = s.over(axes, ty.clone())?;
    if from.len() != over.count() {
        let d = mistakes::shuffle(s.name, from.len(), &format!("{from:?}"), &over.show(), over.count(), &s.loc);
        return s.fail(ty, d);
    }
    let pairs: Vec<(usize, usize)> = from.iter().copied().enumerate().map(|(to, from)| (from, to)).collect();
    permute(s, x, axes, &pairs)
}

/// The value of the device at `source`: zeros from all others, added.
fn broadcast(s: &Site<'_>, x: &Array, axes: &impl Axes, source: usize) -> Checked<Exchange> {
    let ty = Some(x.tensor().clone());
    let over = s.over(axes, ty.clone())?;
    if source >= over.count() {
        return s.fail(ty, mistakes::no_position(s.name, source, &over.show(), over.count(), &s.loc));
    }
    let state = s.varying(x, &over, ty)?;
    let own = over.clone();
    let masked = hlo::built(&[x], Some(state.clone()), move |b, x| only_at(b, x[0], source, &own));
    let kind = if x.tensor().dtype.is_bool() { ReduceKind::Or } else { ReduceKind::Add };
    let state = state.without(&over.set);
    let op =
        move |b: &mut Builder<'_>, x: &[Value]| make_collective::all_reduce(b, x[0], kind, over.mesh(), &over.list);
    Ok(Exchange::new(&[&masked], state, op))
}

/// The value on the device at `source`, and zeros on all others.
fn only_at(b: &mut Builder<'_>, x: Value, source: usize, over: &Over) -> Value {
    let ty = b.body.ty(x).as_tensor().expect("a collective takes tensors").clone();
    let index = make_collective::axis_index(b, over.mesh(), &over.list);
    let wanted = make::number(b, DType::I32, source as i64);
    let is_source = make::compare(b, "EQ", index, wanted);
    let zeros = make::full(b, &ty.shape, &shardwise_base::Literal::zeros(ty.dtype, vec![]));
    make::select(b, is_source, x, zeros)
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

/// Dimension `from` put in place `to`.
fn moved(x: &Array, from: usize, to: usize) -> Array {
    let mut order: Vec<usize> = (0..x.tensor().rank()).filter(|&d| d != from).collect();
    order.insert(to, from);
    hlo::transpose(x, &order)
}

// ── functions
macro_rules! of_trees {
    ($($f:ident),*) => { $(
        #[doc = concat!("[`Array::", stringify!($f), "`] of every leaf.")]
        #[track_caller]
        pub fn $f<T: Tree>(tree: &T, axes: impl Axes) -> T {
            let at = context::caller(Location::caller());
            let names = axes.names();
            context::within(at, || tree::map(tree, |a| a.$f(names.clone())))
        }
    )* };
}
of_trees!(psum, pmean, pmax, pmin);

/// The position of the device along the axes, major to minor: an `i32` scalar that varies over them.
///
/// Errors: `not-manual`, `manual-axis`.
#[track_caller]
pub fn axis_index(axes: impl Axes) -> Array {
    site("axis_index", &[], |s| {
        let over = s.over(&axes, Some(TensorType::scalar(DType::I32)))?;
        let state = ManualType::uniform(&over.scope).with_varying(&over.set);
        Ok(hlo::built(&[], Some(state), |b, _| make_collective::axis_index(b, over.mesh(), &over.list)))
    })
}

/// The number of devices along the axes.
///
/// Errors: as [`axis_index`]; as there is no number then, they end the trace, and panic outside of one.
#[track_caller]
pub fn axis_size(axes: impl Axes) -> usize {
    let mut count = None;
    let bad = site("axis_size", &[], |s| {
        let over = s.over(&axes, None)?;
        count = Some(over.count());
        Ok(Array::of_type([], crate::DType::I32))
    });
    count.unwrap_or_else(|| bad.dim(0))
}
