//! Batches of functions.

use super::traced::Traced;
use super::{Source, Transform};
use crate::array::Array;
use crate::collective::{Axes, AxisName};
use crate::function::At;
use crate::spec::ByPath;
use crate::tree::{self, Path, Tree};
use crate::{
    Args, ArrayType, Callable, Error, Function, Result, Returns, Static, context, explicit, hlo, mistakes, named, trace,
};
use shardwise_base::{AxisRef, Loc, Sharding, counted};
use shardwise_engine::ShardedType;
use shardwise_ir::TensorType;
use shardwise_transform::BatchAxis;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Returns `f` for a batch: it is computed for each index of a dimension of its arguments, and its results have this
/// dimension too. No loop over the indices runs: every op computes the whole batch.
///
/// By default, the mapped dimension is the first one of all arguments and of all results.
/// [`in_axes`](Transform::in_axes) and [`out_axes`](Transform::out_axes) name others, and leave arguments out.
///
/// # Errors
///
/// A call reports:
///
/// - `batch-size` if the mapped dimensions have different sizes, or a size other than
///   [`axis_size`](Transform::axis_size), if an array has no dimensions and no `in_axes` are set, or if no argument is
///   mapped and no `axis_size` is set.
/// - `batch-axes` if the axes do not have the form of the arguments or results, or an array lacks the dimension.
/// - `batch-result` if a result is mapped, and its out axis is `None`.
/// - `batch-layout` if the mapped dimensions are split differently, in Explicit mode.
/// - `spmd-axis` if a layout inside names an axis over which the mapped dimension is split, by
///   [`spmd_axis_name`](Transform::spmd_axis_name) or, in Explicit mode, in the arguments.
/// - `no-batch` for an op that has no batch, at the op's line.
/// - `transform-options` or `too-large` if an array with the mapped dimension would be too large.
/// - All mistakes of the arguments and of the function.
///
/// They end the trace. Outside of a trace, the call panics with them, and the results carry the mistakes of the run.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::vmap;
/// # fn main() -> Result<()> {
/// let dot = vmap(|x: &Array, y: &Array| (x * y).sum(..));
/// let (x, y) = (array(&[[1.0f32, 2.0], [3.0, 4.0]]), array(&[[1.0f32, 1.0], [0.5, 2.0]]));
/// assert_eq!(dot(&x, &y).to_vec::<f32>()?, [3.0, 9.5]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn vmap<'f, M, F>(f: F) -> Mapped<'f, F::Args, <F::Out as Returns>::Tree>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: 'f,
{
    let options = Options { in_axes: None, out_axes: None, size: None, name: None, layout: vec![] };
    Batch { f: Arc::new(move |args| f.apply(args).finish()), options, at: Location::caller() }.transform()
}

/// The type of `vmap(f)` for a function `f` of `A` that returns `R`.
type Mapped<'f, A, R> = Transform<'f, A, R, Batch<'f, A, R>>;

/// A function and the options of its batch: what [`Transform`] keeps for `vmap(f).in_axes(..)`.
pub struct Batch<'f, A: Args, R> {
    f: Source<'f, A::Owned, R>,
    options: Options<A::Owned, R>,
    at: At,
}

impl<A: Args, R> fmt::Debug for Batch<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Options { size, name, layout, .. } = &self.options;
        f.debug_struct("Batch").field("size", size).field("name", name).field("layout", layout).finish_non_exhaustive()
    }
}

struct Options<T, R> {
    in_axes: Option<AnyAxes<T>>,
    out_axes: Option<AnyAxes<R>>,
    size: Option<usize>,
    name: Option<Arc<str>>,
    layout: Vec<AxisName>,
}

impl<T, R> Clone for Options<T, R> {
    fn clone(&self) -> Self {
        let Options { in_axes, out_axes, size, name, layout } = self;
        let (in_axes, out_axes) = (in_axes.clone(), out_axes.clone());
        Options { in_axes, out_axes, size: *size, name: name.clone(), layout: layout.clone() }
    }
}

impl<'f, A: Args + 'f, R: Tree> Batch<'f, A, R> {
    fn transform(self) -> Mapped<'f, A, R> {
        let (f, options) = (self.f.clone(), self.options.clone());
        Transform::new("vmap", self.at, self, move |args, at| batched(&|args| f(args), args, &options, at))
    }
}

impl<'f, A: Args + 'f, R: Tree> Mapped<'f, A, R> {
    fn with(mut self, change: impl FnOnce(&mut Options<A::Owned, R>)) -> Self {
        change(&mut self.asked.options);
        self.asked.transform()
    }

    /// Sets the dimensions of the arguments that are mapped: a dimension, which may be negative to count from the last
    /// one, or `None` for an argument that is the same for all indices. One of them is for all arguments, and a tuple
    /// has one for each. An argument that is a tree has one for all of its leaves, or a tree of them, for which
    /// [`by_path`](crate::by_path) is a short form.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::vmap;
    /// # fn main() -> Result<()> {
    /// let f = vmap(|x: &Array, w: &Array| (x * w).sum(..)).in_axes((1, None));
    /// let (x, w) = (array(&[[1.0f32, 2.0], [3.0, 4.0]]), array(&[1.0f32, 10.0]));
    /// assert_eq!(f(&x, &w).to_vec::<f32>()?, [31.0, 42.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn in_axes(self, axes: impl AxesFor<A::Owned>) -> Self {
        self.with(|o| o.in_axes = Some(any(axes)))
    }

    /// Sets where the mapped dimension of each result is, in the form of [`in_axes`](Transform::in_axes). A result that
    /// is the same for all indices is repeated along this dimension, or has no such dimension if its axis is `None`. For
    /// other results, `None` is the mistake `batch-result`. Axes that a result does not have are `batch-axes`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::vmap;
    /// # fn main() -> Result<()> {
    /// let f = vmap(|x: &Array, w: &Array| (x * w, w.sum(..))).in_axes((0, None)).out_axes((-1, None));
    /// let (y, sum) = f(&array(&[1.0f32, 2.0, 3.0]), &array(&[1.0f32, 10.0]));
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    /// assert_eq!(sum.item::<f32>()?, 11.0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn out_axes(self, axes: impl AxesFor<R>) -> Self {
        self.with(|o| o.out_axes = Some(any(axes)))
    }

    /// Sets the size of the mapped dimension. It is only needed if no argument is mapped. Mapped dimensions of another
    /// size are the mistake `batch-size`.
    pub fn axis_size(self, size: usize) -> Self {
        self.with(|o| o.size = Some(size))
    }

    /// Names the mapped dimension. Collectives, [`axis_index`](crate::axis_index) and [`axis_size`](crate::axis_size)
    /// in the function work along it, under this name: a [`psum`](Array::psum) is the sum over the mapped dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::vmap;
    /// # fn main() -> Result<()> {
    /// let f = vmap(|x: &Array| x / x.psum("i") + axis_index("i").astype(F32)).axis_name("i");
    /// assert_eq!(f(&array(&[1.0f32, 3.0])).to_vec::<f32>()?, [0.25, 1.75]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn axis_name(self, name: &str) -> Self {
        self.with(|o| o.name = Some(name.into()))
    }

    /// Splits the mapped dimension over these axes of the mesh wherever the function states a layout, and for each
    /// [`shard_map`](crate::shard_map) in it. Axes that the mesh does not have are left out. Without this call, such a
    /// layout leaves the mapped dimension to the compiler. If the arguments' mapped dimensions are split over Explicit
    /// axes, these axes are used instead.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::vmap;
    /// # fn main() -> Result<()> {
    /// set_mesh(Mesh::auto([("data", 4), ("model", 2)])?);
    /// let f = vmap(|x: &Array| (x * 2.0).shard(P!("model"))).spmd_axis_name("data");
    /// let f = jit(|x: &Array| f(x));
    /// assert_eq!(f(&ones([8, 4], F32))?.ty().to_string(), "f32[8@data,4@model]");
    /// # Ok(())
    /// # }
    /// ```
    pub fn spmd_axis_name(self, axes: impl Axes) -> Self {
        self.with(|o| o.layout = axes.names())
    }
}

// ── axes of trees
/// Types that name the mapped dimension of each leaf of a tree `T`: for all leaves a dimension, as `0` or `-1`, or
/// `None` if they are not mapped; a tuple, array or vector of such values; or [`by_path`](crate::by_path). The axes of
/// a [`Static`] can also be `()`.
#[diagnostic::on_unimplemented(
    message = "these axes do not fit the arrays",
    label = "expected axes for `{T}`, found `{Self}`",
    note = "write one dimension or `None` for all arrays, or one for each: a tuple for several arguments, or `by_path(|path, ty| ..)`"
)]
pub trait AxesFor<T>: Send + Sync + 'static {
    #[doc(hidden)]
    fn axes(&self, of: &T, out: &mut BatchAxes);
}

/// Collects the dimensions of a tree's leaves in order.
#[doc(hidden)]
#[derive(Default, Debug)]
pub struct BatchAxes {
    leaves: Vec<Option<i32>>,
    /// The places where the forms of axes and arrays differ.
    wrong: Vec<String>,
}

/// Axes of any form for a tree `T`, to be applied when the tree is known.
type AnyAxes<T> = Arc<dyn Fn(&T) -> Result<Vec<Option<i32>>, Vec<String>> + Send + Sync>;

fn any<T: 'static>(axes: impl AxesFor<T>) -> AnyAxes<T> {
    Arc::new(move |of| {
        let mut out = BatchAxes::default();
        axes.axes(of, &mut out);
        if out.wrong.is_empty() { Ok(out.leaves) } else { Err(out.wrong) }
    })
}

impl<T: Tree> AxesFor<T> for Option<i32> {
    fn axes(&self, of: &T, out: &mut BatchAxes) {
        out.leaves.extend(tree::leaves(of).iter().map(|_| *self));
    }
}
impl<T: Tree> AxesFor<T> for i32 {
    fn axes(&self, of: &T, out: &mut BatchAxes) {
        Some(*self).axes(of, out);
    }
}
impl<T: Tree, F: Fn(&Path, &ArrayType) -> Option<i32> + Send + Sync + 'static> AxesFor<T> for ByPath<F> {
    fn axes(&self, of: &T, out: &mut BatchAxes) {
        out.leaves.extend(tree::paths(of).into_iter().map(|(path, a)| (self.0)(&path, &a.ty())));
    }
}
impl<T: 'static> AxesFor<Static<T>> for () {
    fn axes(&self, _: &Static<T>, _: &mut BatchAxes) {}
}
impl BatchAxes {
    fn items<T, S: AxesFor<T>>(&mut self, axes: &[S], of: &[T]) {
        if axes.len() != of.len() {
            let given = mistakes::counted_as(axes.len(), "axis", "axes");
            self.wrong.push(format!("{given} for {}", counted(of.len(), "array")));
        }
        axes.iter().zip(of).for_each(|(s, t)| s.axes(t, self));
    }
}
impl<T, S: AxesFor<T>> AxesFor<Vec<T>> for Vec<S> {
    fn axes(&self, of: &Vec<T>, out: &mut BatchAxes) {
        out.items(self, of);
    }
}
impl<T, S: AxesFor<T>, const N: usize> AxesFor<[T; N]> for [S; N] {
    fn axes(&self, of: &[T; N], out: &mut BatchAxes) {
        out.items(self, of);
    }
}
macro_rules! axes_tuple {
    ($($t:ident $s:ident $i:tt),+) => {
        impl<$($t, $s: AxesFor<$t>),+> AxesFor<($($t,)+)> for ($($s,)+) {
            fn axes(&self, of: &($($t,)+), out: &mut BatchAxes) { $(self.$i.axes(&of.$i, out);)+ }
        }
    };
}
axes_tuple!(A SA 0);
axes_tuple!(A SA 0, B SB 1);
axes_tuple!(A SA 0, B SB 1, C SC 2);
axes_tuple!(A SA 0, B SB 1, C SC 2, D SD 3);
axes_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4);
axes_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5);
axes_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5, G SG 6);
axes_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5, G SG 6, H SH 7);

/// Returns for each leaf the dimension that `axes` names, counted from 0, or `None` if they leave it out. `rank`
/// returns the number of dimensions to which a negative one is relative. Without `axes`, it is the first dimension of
/// each leaf.
///
/// Errors: `batch-axes` if the axes do not have the form of the tree, or if a leaf lacks its dimension.
fn resolved<T: Tree>(
    what: &str,
    axes: Option<&AnyAxes<T>>,
    of: &T,
    rank: impl Fn(&Array) -> usize,
    loc: &Loc,
) -> Result<Vec<Option<usize>>> {
    let leaves = tree::paths(of);
    let given = match axes {
        Some(axes) => axes(of).map_err(|wrong| Error::one(mistakes::batch_axes(what, &wrong.join("; "), loc)))?,
        None => vec![Some(0); leaves.len()],
    };
    let root = if what == "in_axes" { "arg" } else { "result" };
    let (mut out, mut wrong) = (vec![], vec![]);
    for ((path, a), axis) in leaves.iter().zip(&given) {
        let count = rank(a) as i64;
        let index = |k: i64| if k < 0 { k + count } else { k };
        let found = axis.map(|k| usize::try_from(index(i64::from(k))).ok().filter(|&k| (k as i64) < count));
        match found {
            Some(None) => wrong.push(format!("dimension {} of {root}{path}: {}", axis.unwrap_or(0), a.short_type())),
            found => out.push(found.flatten()),
        }
    }
    match wrong.is_empty() {
        true => Ok(out),
        false => Err(Error::one(mistakes::batch_axes(what, &format!("no {}", wrong.join(", no ")), loc))),
    }
}

// ── the batch
/// Builds `f` for a batch along the leading dimension of all arguments. Fails if there is no array, if these dimensions
/// are missing, differ in size or are split differently over Explicit axes, if `f` fails, or as [`Traced::batched`]
/// does.
pub(super) fn batch_of<T: Tree, R: Tree>(f: &dyn Fn(&T) -> Result<R>, args: &T, at: At) -> Result<R> {
    batched(f, args, &Options { in_axes: None, out_axes: None, size: None, name: None, layout: vec![] }, at)
}

/// Returns the names of the axes over which the mapped dimension is to be split.
///
/// Errors: `spmd-axis` if they have groups, or if an axis is named twice.
fn spmd_axes(axes: &[AxisName], loc: &Loc) -> Result<Vec<String>> {
    let mut names: Vec<String> = vec![];
    for axis in axes {
        let name = axis.name().to_string();
        let is_grouped = matches!(axis, AxisName::Groups { .. });
        if is_grouped || names.contains(&name) {
            let what = if is_grouped { "groups of axis" } else { "axis" };
            return Err(Error::one(mistakes::spmd_axis_name(&format!("{what} \"{name}\""), loc)));
        }
        names.push(name);
    }
    Ok(names)
}

fn batched<T: Tree, R: Tree>(f: &dyn Fn(&T) -> Result<R>, args: &T, o: &Options<T, R>, at: At) -> Result<R> {
    let loc = context::loc(at);
    let axes = match &o.in_axes {
        // An array without dimensions is among those that `batch-size` lists.
        None => tree::leaves(args).iter().map(|_| Some(0)).collect(),
        axes => resolved("in_axes", axes.as_ref(), args, |a| a.tensor().rank(), &loc)?,
    };
    let size = size_of(args, &axes, o.size, &loc)?;
    let layout = match explicit_axes(args, &axes, &loc)? {
        axes if axes.is_empty() => spmd_axes(&o.layout, &loc)?.into_iter().map(BatchAxis::whole).collect(),
        axes => axes,
    };
    let mut own = axes.iter();
    let one = args.rebuild(&mut |a| match own.next().expect("one for each leaf") {
        Some(axis) => without_dim(a, *axis, at),
        None => a.clone(),
    });
    let trace = || Traced::of(f, &one, at);
    let (key, traced) = match &o.name {
        Some(name) => {
            let (named, traced) = named::within(name, size, trace);
            (Some(named.key.clone()), traced?)
        }
        None => (None, trace()?),
    };
    let mapped: Vec<usize> = (0..axes.len()).filter(|&i| axes[i].is_some()).collect();
    let batch = shardwise_transform::Batch { size, has_all: false, axis: key.as_deref(), layout: &layout };
    let derived = traced.batched(&mapped, batch)?;
    let mut own = axes.iter();
    let moved = args.rebuild(&mut |a| match own.next().expect("one for each leaf") {
        Some(axis) => hlo::transpose(a, &to_front(*axis, a.tensor().rank())),
        None => a.clone(),
    });
    let results = traced.run(&derived.func, &moved, &[], at)?;
    let out_axes = resolved("out_axes", o.out_axes.as_ref(), &traced.out, |a| a.tensor().rank() + 1, &loc)?;
    let paths = tree::paths(&traced.out);
    let mut wrong = vec![];
    let mut placed = vec![];
    for (i, (x, axis)) in results.iter().zip(&out_axes).enumerate() {
        placed.push(match (axis, derived.mapped[i]) {
            (None, false) => x.clone(),
            (None, true) => {
                wrong.push(format!("result{}: {}", paths[i].0, paths[i].1.short_type()));
                x.clone()
            }
            (Some(axis), is_mapped) => {
                let x = if is_mapped { x.clone() } else { repeated(x, size) };
                hlo::transpose(&x, &from_front(*axis, x.tensor().rank()))
            }
        });
    }
    match wrong.is_empty() {
        true => Ok(tree::with_leaves(&traced.out, placed)),
        false => Err(Error::one(mistakes::batch_result(&wrong.join(", "), &loc))),
    }
}

/// Returns the size of the mapped dimension.
///
/// Errors: `batch-size` if no array is mapped and no size is asked for, if an array lacks its dimension, or if the
/// sizes differ from one another or from the one that is asked for.
fn size_of<T: Tree>(args: &T, axes: &[Option<usize>], asked: Option<usize>, loc: &Loc) -> Result<usize> {
    let leaves = tree::paths(args);
    let mapped: Vec<_> = leaves.iter().zip(axes).filter_map(|((path, a), axis)| Some((path, a, (*axis)?))).collect();
    let size = |a: &Array, axis: usize| a.tensor().shape.get(axis).copied();
    let first = mapped.first().and_then(|(_, a, axis)| size(a, *axis));
    let Some(wanted) = asked.or(first).filter(|_| asked.is_some() || !mapped.is_empty()) else {
        return Err(Error::one(match mapped.is_empty() {
            true => mistakes::batch_nothing(loc),
            false => mistakes::batch_sizes(&shown(&mapped), None, loc),
        }));
    };
    match mapped.iter().all(|(_, a, axis)| size(a, *axis) == Some(wanted)) {
        true => Ok(wanted),
        false => Err(Error::one(mistakes::batch_sizes(&shown(&mapped), asked, loc))),
    }
}

fn shown(mapped: &[(&Path, &&Array, usize)]) -> String {
    let one = |(path, a, axis): &(&Path, &&Array, usize)| format!("dimension {axis} of arg{path}: {}", a.short_type());
    mapped.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Returns the axes, or parts of axes, over which the mapped dimensions are split in Explicit mode, in which all must be
/// split alike. There are none if no mapped array has a layout.
///
/// Errors: `batch-layout` if they are split differently.
fn explicit_axes<T: Tree>(args: &T, axes: &[Option<usize>], loc: &Loc) -> Result<Vec<BatchAxis>> {
    let leaves = tree::paths(args);
    let dim = |a: &Array, axis: usize| -> Option<(Sharding, Vec<AxisRef>)> {
        let layout = explicit::layout(a)?;
        let axes = layout.dims[axis].axes.clone();
        Some((layout, axes))
    };
    let split: Vec<_> =
        leaves.iter().zip(axes).filter_map(|((path, a), axis)| Some((path, a, dim(a, (*axis)?)?))).collect();
    let Some((_, _, (layout, first))) = split.first() else { return Ok(vec![]) };
    if split.iter().any(|(_, _, (_, axes))| axes != first) {
        let found: Vec<String> = split.iter().map(|(path, a, _)| format!("arg{path}: {}", a.short_type())).collect();
        return Err(Error::one(mistakes::batch_layouts(&found.join(", "), loc)));
    }
    let name = |a: &AxisRef| layout.mesh.axes[a.axis.index()].name.to_string();
    Ok(first.iter().map(|a| BatchAxis { name: name(a), part: a.sub }).collect())
}

/// Returns the type of `a` without a dimension, as an array without a value.
fn without_dim(a: &Array, axis: usize, at: At) -> Array {
    let mut shape = a.tensor().shape.clone();
    shape.remove(axis);
    let sharding = trace::is_tracing().then(|| explicit::layout(a)).flatten().map(|s| {
        let mut dims = s.dims.clone();
        dims.remove(axis);
        s.with_dims(dims)
    });
    let ty = ShardedType { ty: TensorType::new(a.tensor().dtype, shape), sharding };
    Array::type_in(ty, a.node().manual.clone(), at)
}

fn to_front(axis: usize, rank: usize) -> Vec<usize> {
    [axis].into_iter().chain((0..rank).filter(|&d| d != axis)).collect()
}

fn from_front(axis: usize, rank: usize) -> Vec<usize> {
    (1..=axis).chain([0]).chain(axis + 1..rank).collect()
}

/// Returns `x` repeated along a new leading dimension.
fn repeated(x: &Array, size: usize) -> Array {
    let shape = &x.tensor().shape;
    let dims: Vec<usize> = (1..=shape.len()).collect();
    hlo::broadcast_in_dim(x, &[&[size], &shape[..]].concat(), &dims)
}
