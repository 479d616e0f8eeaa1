//! Layouts: `P!("X", None)`, their meaning on a mesh, and trees of them.

use crate::collective::{Axes, AxisName};
use crate::error::Mistakes;
use crate::mistakes::{self, Split};
use crate::{Array, ArrayType, Error, IntoShape, Mesh, Path, Shape, Tree, tree};
use shardwise_base::{self as base, AxisIndex, AxisKind, AxisRef, Diagnostic, DimSharding, Loc, counted};
use shardwise_ir::TensorType;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The layout of an array: for each dimension, the mesh axes that split it, major to minor. Written `P!("X", None)`.
///
/// Dimensions after the given ones are not split. If the compiler has split an array over a part of an axis, its type
/// and its layout name that part: `X:(1)2` is the more major half of an axis of size 4.
#[derive(Clone, Debug, PartialEq, Default)]
#[must_use = "a spec has no effect until it is passed to a function such as `.shard`"]
pub struct P {
    dims: Vec<DimSpec>,
    unreduced: Vec<String>,
    /// The axes over which the array is reduced: its gradient is unreduced.
    reduced: Vec<String>,
    /// The axis of which `.unreduced(..)` or `.reduced(..)` was given groups, which is a mistake.
    grouped: Option<String>,
}

/// The layout of one dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum DimSpec {
    /// Split over these axes, major to minor. Not split if there are none.
    Axes(Vec<String>),
    /// Left open, as `_` is: the array keeps the layout that it has, or the compiler decides it.
    Unconstrained,
}

impl P {
    /// Creates a layout from one entry for each dimension.
    pub fn new(dims: impl IntoIterator<Item = DimSpec>) -> P {
        P { dims: dims.into_iter().collect(), ..P::default() }
    }

    /// Marks the array as an unreduced sum over `axes`: each device holds a summand. `axes` must be Explicit axes or
    /// parts of them, not groups, that the spec does not use otherwise. If they are not, what takes the spec reports
    /// it.
    pub fn unreduced(mut self, axes: impl Axes) -> P {
        let names = self.whole_axes(&axes);
        self.unreduced.extend(names);
        self
    }

    /// Marks the array as replicated over `axes` with an unreduced gradient: the program states where the gradient is
    /// summed. The axes must be whole Explicit axes that the spec does not use otherwise. Where this does not hold,
    /// what takes the spec reports it.
    ///
    /// Except in products, an array with which it is combined must have the same mark, be unreduced over the same axes,
    /// have no layout, or hold integers or bools that are not split over `axes`. Otherwise the op fails with `reduced`.
    pub fn reduced(mut self, axes: impl Axes) -> P {
        let names = self.whole_axes(&axes);
        self.reduced.extend(names);
        self
    }

    /// Returns the names of the axes, and remembers an axis of which only groups are given.
    fn whole_axes(&mut self, axes: &impl Axes) -> Vec<String> {
        let names = axes.names();
        let grouped = names.iter().find(|a| !matches!(a, AxisName::Whole(_)));
        self.grouped = self.grouped.take().or(grouped.map(|a| a.name().to_string()));
        names.iter().map(|a| a.name().to_string()).collect()
    }

    pub(crate) fn unreduced_axes(&self) -> &[String] {
        &self.unreduced
    }

    pub(crate) fn reduced_axes(&self) -> &[String] {
        &self.reduced
    }

    /// Returns the entries of the dimensions.
    pub fn dims(&self) -> &[DimSpec] {
        &self.dims
    }

    /// Formats dimension `i` as a suffix in a type: `@X`, `@(X,Y)`, or nothing.
    pub(crate) fn dim_suffix(&self, i: usize) -> String {
        match self.dims.get(i) {
            Some(DimSpec::Axes(a)) if a.len() == 1 => format!("@{}", a[0]),
            Some(DimSpec::Axes(a)) if a.len() > 1 => format!("@({})", a.join(",")),
            _ => String::new(),
        }
    }

    /// Returns a sharding as a layout, with the names of the axes. An open dimension without axes becomes `_`, and one
    /// with axes becomes a closed one.
    pub(crate) fn of(sharding: &base::Sharding) -> P {
        let name = |a: &AxisRef| a.display(&sharding.mesh).to_string().replace('"', "");
        let dims = sharding.dims.iter().map(|d| match d.is_open && d.axes.is_empty() {
            true => DimSpec::Unconstrained,
            false => DimSpec::Axes(d.axes.iter().map(name).collect()),
        });
        let names = |axes: &[AxisRef]| axes.iter().map(name).collect();
        let (unreduced, reduced) = (names(&sharding.unreduced), names(&sharding.reduced));
        P { dims: dims.collect(), unreduced, reduced, grouped: None }
    }

    /// Returns the sharding of an array of this type on `mesh`. Only Explicit axes have to split dimensions evenly.
    ///
    /// Errors: `spec-rank`, `spec-unknown-axis`, `spec-axis-twice`, `spec-uneven`, `spec-unreduced`.
    pub(crate) fn on(&self, mesh: &Mesh, tensor: &TensorType, loc: &Loc) -> Result<base::Sharding, Diagnostic> {
        let ty = &tensor.short()[..];
        let sharding = self.names_on(mesh, ty, tensor.rank(), loc)?;
        let is_explicit = |a: &AxisRef| mesh.0.axes[a.axis.index()].kind == AxisKind::Explicit;
        let uneven = |(i, d): (usize, &DimSharding)| {
            let over: Vec<AxisRef> = d.axes.iter().copied().filter(is_explicit).collect();
            (!tensor.shape[i].is_multiple_of(AxisRef::total_size(&mesh.0, &over))).then_some((i, over))
        };
        if let Some((dim, over)) = sharding.dims.iter().enumerate().find_map(uneven) {
            let (axes, count) = (&shown_axes(&mesh.0, &over), AxisRef::total_size(&mesh.0, &over));
            let split = Split { ty, dim, size: tensor.shape[dim], axes, count };
            return Err(mistakes::spec_uneven(self, &split, &mesh.0, loc));
        }
        Ok(sharding)
    }

    /// Does the same as [`P::on`] for an array with `rank` dimensions, but does not check that axes split their sizes
    /// evenly. `ty` is the array's type in messages. Fails as [`P::on`] does, but for uneven sizes.
    pub(crate) fn names_on(&self, mesh: &Mesh, ty: &str, rank: usize, loc: &Loc) -> Result<base::Sharding, Diagnostic> {
        if self.dims.len() > rank {
            return Err(spec_rank(self, mesh, ty, rank, loc));
        }
        if let Some(name) = &self.grouped {
            return Err(grouped_axis(self, name, mesh, ty, loc));
        }
        let mut used = vec![];
        let mut dims = Vec::with_capacity(rank);
        for spec in &self.dims {
            dims.push(match spec {
                DimSpec::Unconstrained => DimSharding::open(vec![]),
                DimSpec::Axes(names) => DimSharding::closed(self.axes(names, &mut used, mesh, ty, loc)?),
            });
        }
        dims.resize(rank, DimSharding::closed(vec![]));
        let unreduced = self.typed_axes("unreduced", &self.unreduced, &mut used, mesh, ty, loc)?;
        let reduced = self.typed_axes("reduced", &self.reduced, &mut used, mesh, ty, loc)?;
        Ok(base::Sharding::new(&mesh.0, dims).with_unreduced(unreduced).with_reduced(reduced))
    }

    /// Returns the axes of `.unreduced(..)` or `.reduced(..)`, as `what` says, in the order of the mesh, and adds them
    /// to `used`.
    ///
    /// Errors: `spec-unknown-axis`, `spec-axis-twice`, `spec-unreduced` unless they are Explicit.
    fn typed_axes(
        &self,
        what: &str,
        names: &[String],
        used: &mut Vec<AxisRef>,
        mesh: &Mesh,
        ty: &str,
        loc: &Loc,
    ) -> Result<Vec<AxisRef>, Diagnostic> {
        let mut axes = self.axes(names, used, mesh, ty, loc)?;
        AxisRef::sort_and_merge(&mut axes, &mesh.0);
        let is_explicit = |a: &AxisRef| mesh.0.axes[a.axis.index()].kind == AxisKind::Explicit;
        match axes.iter().find(|a| !is_explicit(a)) {
            Some(axis) => Err(not_explicit(self, what, mesh.0.axis_name(axis.axis), mesh, ty, loc)),
            None => Ok(axes),
        }
    }

    fn axes(
        &self,
        names: &[String],
        used: &mut Vec<AxisRef>,
        mesh: &Mesh,
        ty: &str,
        loc: &Loc,
    ) -> Result<Vec<AxisRef>, Diagnostic> {
        let mut axes = vec![];
        for name in names {
            let axis = axis_of(&mesh.0, name).ok_or_else(|| unknown_axis(self, name, mesh, ty, loc))?;
            if let Some(other) = used.iter().find(|u| !u.can_coexist(axis)) {
                return Err(parts_clash(self, *other, axis, mesh, ty, loc));
            }
            if used.iter().any(|u| *u == axis || u.overlaps(axis)) {
                return Err(axis_twice(self, name, mesh, ty, loc));
            }
            used.push(axis);
            AxisRef::push_or_merge(&mut axes, axis, &mesh.0);
        }
        Ok(axes)
    }
}

/// Returns the axis of this name, or the part of an axis that types show as `X:(2)4`: 4 positions, after a more major
/// part of size 2. Returns `None` if the mesh has no such axis, or if the axis has no such part.
fn axis_of(mesh: &base::Mesh, name: &str) -> Option<AxisRef> {
    if let Some(axis) = mesh.axis(name) {
        return Some(AxisRef::full(axis));
    }
    let (axis, pre_size, size) = part_of(mesh, name)?;
    let is_part = size > 1 && pre_size > 0 && mesh.axis_size(axis).is_multiple_of(usize::checked_mul(pre_size, size)?);
    is_part.then(|| AxisRef::sub(mesh, axis, pre_size, size))
}

/// Returns the axis, the `pre_size` and the `size` of a name such as `X:(2)4`. The axis need not have such a part.
/// Returns `None` if the name does not have this form, or if the mesh has no such axis.
fn part_of(mesh: &base::Mesh, name: &str) -> Option<(AxisIndex, usize, usize)> {
    let number = |n: &str| n.bytes().all(|b| b.is_ascii_digit()).then(|| n.parse().ok()).flatten();
    let (axis, part) = name.rsplit_once(":(")?;
    let (pre_size, size) = part.split_once(')')?;
    Some((mesh.axis(axis)?, number(pre_size)?, number(size)?))
}

/// Formats axes as Rust code names them: `"X"`, `("X", "Y")`.
pub(crate) fn shown_axes(mesh: &base::Mesh, axes: &[AxisRef]) -> String {
    let names: Vec<String> = axes.iter().map(|a| a.display(mesh).to_string()).collect();
    if let [one] = &names[..] { one.clone() } else { format!("({})", names.join(", ")) }
}

fn spec_rank(spec: &P, mesh: &Mesh, ty: &str, rank: usize, loc: &Loc) -> Diagnostic {
    let entries = mistakes::counted_as(spec.dims.len(), "entry", "entries");
    let dims = counted(rank, "dimension");
    let shorter = P { dims: spec.dims[..rank].to_vec(), ..spec.clone() };
    Diagnostic::error("spec-rank", loc, format!("the layout has {entries} for an array of {dims}"))
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help(format!("write at most one entry for each dimension: {shorter}"))
}

fn unknown_axis(spec: &P, name: &str, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    if let Some((axis, ..)) = part_of(&mesh.0, name) {
        return unknown_part(spec, name, axis, mesh, ty, loc);
    }
    let d = Diagnostic::error("spec-unknown-axis", loc, format!("the mesh has no axis \"{name}\""))
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0);
    mesh.0.near_axis(name).into_iter().fold(d, Diagnostic::help)
}

fn unknown_part(spec: &P, name: &str, axis: AxisIndex, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    let (axis, size) = (mesh.0.axis_name(axis), mesh.0.axis_size(axis));
    Diagnostic::error("spec-unknown-axis", loc, format!("axis \"{axis}\" of size {size} has no part \"{name}\""))
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help(format!("in \"{axis}:(M)N\", N is at least 2 and M times N divides {size}"))
}

fn parts_clash(spec: &P, first: AxisRef, second: AxisRef, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    let axis = mesh.0.axis_name(first.axis);
    let major = if first.pre_size() <= second.pre_size() { first } else { second };
    let end = major.next_pre_size(&mesh.0);
    let [first, second, major] = [first, second, major].map(|a| a.display(&mesh.0).to_string().replace('"', ""));
    let message = format!(
        "the parts \"{first}\" and \"{second}\" in the layout contradict each other: no division of \"{axis}\" has both"
    );
    Diagnostic::error("spec-axis-twice", loc, message)
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help(format!("a part that follows \"{major}\" begins with \"{axis}:({end})\", or with a multiple of {end}"))
}

fn axis_twice(spec: &P, name: &str, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    Diagnostic::error("spec-axis-twice", loc, format!("the layout uses axis \"{name}\", or a part of it, twice"))
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help("name an axis once: it splits one dimension, or is in `.unreduced(..)` or `.reduced(..)`")
}

fn not_explicit(spec: &P, what: &str, name: &str, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    let message = format!("a layout can only be {what} over Explicit axes, and \"{name}\" is not Explicit");
    Diagnostic::error("spec-unreduced", loc, message)
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help(format!("leave `.{what}(..)` out, or make the axis Explicit when the mesh is created"))
}

fn grouped_axis(spec: &P, name: &str, mesh: &Mesh, ty: &str, loc: &Loc) -> Diagnostic {
    let message =
        format!("`.unreduced(..)` and `.reduced(..)` take the names of axes, and are given groups of \"{name}\"");
    Diagnostic::error("spec-unreduced", loc, message)
        .facts(format!("{ty} as {spec}"))
        .mesh(&mesh.0)
        .help(format!("name the axis: \"{name}\"; `groups(..)` is for collectives"))
}

/// Formats the layout as Rust code: `P!("X", None, ("Y", "Z"))`.
impl fmt::Display for P {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dim = |d: &DimSpec| match d {
            DimSpec::Unconstrained => "_".to_string(),
            DimSpec::Axes(a) if a.is_empty() => "None".to_string(),
            DimSpec::Axes(a) if a.len() == 1 => format!("{:?}", a[0]),
            DimSpec::Axes(a) => format!("({})", a.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")),
        };
        write!(f, "P!({})", self.dims.iter().map(dim).collect::<Vec<_>>().join(", "))?;
        for (word, names) in [("unreduced", &self.unreduced), ("reduced", &self.reduced)] {
            match &names[..] {
                [] => {}
                [one] => write!(f, ".{word}({one:?})")?,
                many => {
                    let names: Vec<String> = many.iter().map(|n| format!("{n:?}")).collect();
                    write!(f, ".{word}(({}))", names.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

/// Types that can be an entry of `P!`: a name, a tuple of two or three names, a slice of names, an `Option` of a name,
/// or a [`DimSpec`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entry of `P!`",
    label = "expected an axis name, a tuple of two or three names, a slice of names, `None` or `_`"
)]
pub trait IntoDimSpec {
    /// Converts the value into the layout of a dimension.
    fn dim_spec(self) -> DimSpec;
}

fn axes<'a>(names: impl IntoIterator<Item = &'a str>) -> DimSpec {
    DimSpec::Axes(names.into_iter().map(String::from).collect())
}

impl IntoDimSpec for &str {
    fn dim_spec(self) -> DimSpec {
        axes([self])
    }
}
impl IntoDimSpec for Option<&str> {
    fn dim_spec(self) -> DimSpec {
        axes(self)
    }
}
impl IntoDimSpec for (&str, &str) {
    fn dim_spec(self) -> DimSpec {
        axes([self.0, self.1])
    }
}
impl IntoDimSpec for (&str, &str, &str) {
    fn dim_spec(self) -> DimSpec {
        axes([self.0, self.1, self.2])
    }
}
impl IntoDimSpec for &[&str] {
    fn dim_spec(self) -> DimSpec {
        axes(self.iter().copied())
    }
}
impl IntoDimSpec for DimSpec {
    fn dim_spec(self) -> DimSpec {
        self
    }
}

/// Creates a layout: `P!("X", None)`, `P!(("X", "Y"))`, `P!(_, "Y")`, `P!(DATA, None)`.
///
/// An entry is an axis name, a tuple of names, `None` (not split), or `_` (left as it is, or decided by the compiler).
/// Using the same literal twice is a compile error.
#[macro_export]
macro_rules! P {
    (@ [$($out:expr,)*] [$($lit:literal)*]) => {{
        const _: () = $crate::distinct_axes(&[$($lit),*]);
        $crate::P::new([$($out,)*])
    }};
    (@ [$($out:expr,)*] [$($lit:literal)*] None $(, $($rest:tt)*)?) => { $crate::P!(@ [$($out,)* $crate::DimSpec::Axes(::std::vec![]),] [$($lit)*] $($($rest)*)?) };
    (@ [$($out:expr,)*] [$($lit:literal)*] _ $(, $($rest:tt)*)?) => { $crate::P!(@ [$($out,)* $crate::DimSpec::Unconstrained,] [$($lit)*] $($($rest)*)?) };
    (@ [$($out:expr,)*] [$($lit:literal)*] $new:literal $(, $($rest:tt)*)?) => { $crate::P!(@ [$($out,)* $crate::IntoDimSpec::dim_spec($new),] [$($lit)* $new] $($($rest)*)?) };
    (@ [$($out:expr,)*] [$($lit:literal)*] ($($new:literal),+ $(,)?) $(, $($rest:tt)*)?) => { $crate::P!(@ [$($out,)* $crate::IntoDimSpec::dim_spec(($($new),+)),] [$($lit)* $($new)*] $($($rest)*)?) };
    (@ [$($out:expr,)*] [$($lit:literal)*] $new:expr $(, $($rest:tt)*)?) => { $crate::P!(@ [$($out,)* $crate::IntoDimSpec::dim_spec($new),] [$($lit)*] $($($rest)*)?) };
    ($($spec:tt)*) => { $crate::P!(@ [] [] $($spec)*) };
}

#[doc(hidden)]
pub const fn distinct_axes(names: &[&str]) {
    let mut i = 0;
    while i < names.len() {
        let mut j = i + 1;
        while j < names.len() {
            assert!(!same(names[i], names[j]), "P!: a mesh axis is used twice: an axis splits at most one dimension");
            j += 1;
        }
        i += 1;
    }
}

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// A mesh and a `P`: a layout that does not depend on which mesh is current.
#[derive(Clone, PartialEq, Debug)]
#[must_use = "a layout has no effect until it is passed to a function such as `.shard`"]
pub struct Sharding {
    /// The mesh.
    pub mesh: Mesh,
    /// The layout on the mesh.
    pub spec: P,
}

impl Sharding {
    /// Returns the shape of the largest part that a device holds of an array of shape `shape`: each size is divided by
    /// the number of parts, and rounded up. A dimension that is `_` counts as not split.
    ///
    /// # Errors
    ///
    /// Those of [`Array::shard`](crate::Array::shard) for a layout that such an array cannot have.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let mesh = Mesh::auto([("X", 4), ("Y", 2)])?;
    /// assert_eq!(mesh.sharding(P!("X", None)).shard_shape([8, 6])?, [2, 6]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn shard_shape(&self, shape: impl IntoShape) -> Result<Shape, Error> {
        let ty = TensorType::new(base::DType::F32, shape.into_shape().0);
        let sharding = self.spec.on(&self.mesh, &ty, &Loc::caller(Location::caller())).map_err(Error::one)?;
        Ok(Shape(sharding.local_shape(&ty.shape)))
    }

    /// Returns true if each device holds the whole array: no axis with more than one device splits a dimension, and the
    /// array is not unreduced. Returns false if a dimension is `_`, which may be split, or is split over an axis that
    /// the mesh does not have.
    pub fn is_fully_replicated(&self) -> bool {
        let is_one = |name: &String| axis_of(&self.mesh.0, name).is_some_and(|axis| axis.size(&self.mesh.0) == 1);
        let is_whole = |dim: &DimSpec| matches!(dim, DimSpec::Axes(names) if names.iter().all(is_one));
        self.spec.dims.iter().all(is_whole) && self.spec.unreduced.is_empty()
    }
}

/// Formats the spec and the mesh: `P!("X", None) on (X=4, Y=2)`.
impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on ({})", self.spec, self.mesh)
    }
}

/// Types that are accepted as a layout: a `Sharding` with its own mesh, or a `P` for the mesh of the active program, of
/// the array or of the thread, in this order.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a layout",
    label = "expected `P!(…)`, as in `P!(\"X\", None)`, or `mesh.sharding(P!(…))`"
)]
pub trait Layout {
    #[doc(hidden)]
    fn layout(self) -> LeafSpec;
}
impl Layout for P {
    fn layout(self) -> LeafSpec {
        LeafSpec { mesh: None, spec: self }
    }
}
impl Layout for &P {
    fn layout(self) -> LeafSpec {
        self.clone().layout()
    }
}
impl Layout for Sharding {
    fn layout(self) -> LeafSpec {
        LeafSpec { mesh: Some(self.mesh), spec: self.spec }
    }
}
impl Layout for &Sharding {
    fn layout(self) -> LeafSpec {
        self.clone().layout()
    }
}

/// The spec of one array.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct LeafSpec {
    pub(crate) mesh: Option<Mesh>,
    pub(crate) spec: P,
}

impl LeafSpec {
    /// Returns the sharding of an array of this type. A `P` without a mesh refers to `default`, or else to the current
    /// mesh.
    ///
    /// Errors: `no-mesh`, and those of [`P::on`].
    pub(crate) fn resolve(
        &self,
        default: Option<&Mesh>,
        ty: &TensorType,
        loc: &Loc,
    ) -> Result<base::Sharding, Diagnostic> {
        let mesh = self.mesh.clone().or_else(|| default.cloned()).or_else(crate::mesh::current);
        let mesh = mesh.ok_or_else(|| no_mesh(&self.spec, loc))?;
        self.spec.on(&mesh, ty, loc)
    }
}

pub(crate) fn no_mesh(spec: &P, loc: &Loc) -> Diagnostic {
    let thread = std::thread::current();
    let name = thread.name().map_or_else(|| format!("{:?}", thread.id()), |n| format!("\"{n}\""));
    Diagnostic::error("no-mesh", loc, "this layout needs a mesh, and none is current")
        .facts(format!("{spec} on thread {name}, which has no current mesh"))
        .help("call `set_mesh(&mesh)` on this thread, wrap the code in `with_mesh(&mesh, || ..)`, or write `mesh.sharding(P!(..))`")
}

/// Types that are specs for a tree `T`: one `P` or [`Sharding`] for all its leaves, a tree of specs of the same form,
/// or [`by_path`].
#[diagnostic::on_unimplemented(
    message = "these specs do not fit the arrays",
    label = "expected specs for `{T}`, found `{Self}`",
    note = "write one `P!(..)` for all arrays, or one for each: a tuple for several arguments, `Struct<P>` for a `#[derive(Tree)] struct Struct<T = Array>`"
)]
pub trait SpecFor<T>: Send + Sync + 'static {
    #[doc(hidden)]
    fn specs(&self, of: &T, out: &mut Specs);
}

/// Collects the specs of a tree's leaves in order.
#[doc(hidden)]
#[derive(Default, Debug)]
pub struct Specs {
    pub(crate) leaves: Vec<LeafSpec>,
    pub(crate) path: Path,
    /// The places where the forms of specs and arrays differ.
    pub(crate) wrong: Vec<String>,
}

impl Specs {
    /// Adds the specs `spec` of the leaves of `of`, which is the field `name` of the tree at the current path.
    pub fn field<T, S: SpecFor<T>>(&mut self, name: &'static str, spec: &S, of: &T) {
        self.part(|path, f| path.field(name, f), spec, of);
    }

    fn part<T, S: SpecFor<T>>(&mut self, step: impl FnOnce(&mut Path, &mut dyn FnMut(&mut Path)), spec: &S, of: &T) {
        let mut path = std::mem::take(&mut self.path);
        step(&mut path, &mut |path| {
            self.path = path.clone();
            spec.specs(of, self);
        });
        self.path = path;
    }

    fn items<T, S: SpecFor<T>>(&mut self, specs: &[S], of: &[T]) {
        if specs.len() != of.len() {
            let at = place(&self.path);
            self.wrong.push(format!("{at}{}", counts(specs.len(), of.len())));
        }
        for (i, (s, t)) in specs.iter().zip(of).enumerate() {
            self.part(|path, f| path.index(i, f), s, t);
        }
    }
}

fn place(path: &Path) -> String {
    let path = path.to_string();
    if path.is_empty() { path } else { format!("`{path}`: ") }
}

fn counts(specs: usize, arrays: usize) -> String {
    format!("{} for {}", counted(specs, "spec"), counted(arrays, "array"))
}

/// Returns the specs for the leaves of `of`, one for each. The error has the places where the form of the specs differs
/// from that of the tree.
pub(crate) fn collect<T: Tree>(spec: &impl SpecFor<T>, of: &T) -> Result<Vec<LeafSpec>, Vec<String>> {
    // This also finds a tree that is too deep, before the specs recurse as deeply.
    let leaves = tree::leaves(of).len();
    let mut out = Specs::default();
    spec.specs(of, &mut out);
    if out.wrong.is_empty() && out.leaves.len() != leaves {
        out.wrong.push(counts(out.leaves.len(), leaves));
    }
    if out.wrong.is_empty() { Ok(out.leaves) } else { Err(out.wrong) }
}

impl<T: Tree> SpecFor<T> for P {
    fn specs(&self, of: &T, out: &mut Specs) {
        out.leaves.extend(tree::leaves(of).iter().map(|_| self.layout()));
    }
}
impl<T: Tree> SpecFor<T> for Sharding {
    fn specs(&self, of: &T, out: &mut Specs) {
        out.leaves.extend(tree::leaves(of).iter().map(|_| self.layout()));
    }
}
impl<T, S: SpecFor<T>> SpecFor<Vec<T>> for Vec<S> {
    fn specs(&self, of: &Vec<T>, out: &mut Specs) {
        out.items(self, of);
    }
}
impl<T, S: SpecFor<T>> SpecFor<BTreeMap<String, T>> for BTreeMap<String, S> {
    fn specs(&self, of: &BTreeMap<String, T>, out: &mut Specs) {
        if !self.keys().eq(of.keys()) {
            let at = place(&out.path);
            out.wrong.push(format!("{at}the specs have other keys than the arrays"));
        }
        for (key, t) in of {
            if let Some(s) = self.get(key) {
                out.part(|path, f| path.key(key, f), s, t);
            }
        }
    }
}
impl<T, S: SpecFor<T>> SpecFor<Option<T>> for Option<S> {
    fn specs(&self, of: &Option<T>, out: &mut Specs) {
        match (self, of) {
            (Some(s), Some(t)) => s.specs(t, out),
            (None, None) => {}
            (s, _) => {
                let found = if s.is_some() { "a spec for an absent array" } else { "no spec for an array" };
                let at = place(&out.path);
                out.wrong.push(format!("{at}{found}"));
            }
        }
    }
}
impl<T, S: SpecFor<T>, const N: usize> SpecFor<[T; N]> for [S; N] {
    fn specs(&self, of: &[T; N], out: &mut Specs) {
        out.items(self, of);
    }
}
impl<T: 'static> SpecFor<crate::Static<T>> for () {
    fn specs(&self, _: &crate::Static<T>, _: &mut Specs) {}
}

macro_rules! spec_tuple {
    ($($t:ident $s:ident $i:tt),+) => {
        impl<$($t, $s: SpecFor<$t>),+> SpecFor<($($t,)+)> for ($($s,)+) {
            fn specs(&self, of: &($($t,)+), out: &mut Specs) { $(out.field(stringify!($i), &self.$i, &of.$i);)+ }
        }
    };
}
spec_tuple!(A SA 0);
spec_tuple!(A SA 0, B SB 1);
spec_tuple!(A SA 0, B SB 1, C SC 2);
spec_tuple!(A SA 0, B SB 1, C SC 2, D SD 3);
spec_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4);
spec_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5);
spec_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5, G SG 6);
spec_tuple!(A SA 0, B SB 1, C SC 2, D SD 3, E SE 4, F SF 5, G SG 6, H SH 7);

/// The result of [`by_path`].
#[derive(Clone, Copy)]
#[must_use = "specs have no effect until they are passed to a function such as `.in_specs`"]
pub struct ByPath<F>(pub(crate) F);

impl<F> fmt::Debug for ByPath<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByPath")
    }
}

/// Returns specs, or axes of [`vmap`](crate::vmap), that are computed from each leaf's path and type, for trees of any
/// form, such as structs without a type parameter: `by_path(|path, ty| …)`. If the type of a leaf is not known, their
/// use fails as [`Array::ty`](crate::Array::ty) does: it ends the trace, or panics outside of a trace.
pub fn by_path<S, F: Fn(&Path, &ArrayType) -> S>(f: F) -> ByPath<F> {
    ByPath(f)
}

impl<T: Tree, F: Fn(&Path, &ArrayType) -> P + Send + Sync + 'static> SpecFor<T> for ByPath<F> {
    fn specs(&self, of: &T, out: &mut Specs) {
        for (path, array) in tree::paths(of) {
            out.leaves.push((self.0)(&path, &array.ty()).layout());
        }
    }
}

/// Specs of any form for a tree `T`, to be applied when the tree is known.
pub(crate) type AnySpec<T> = Arc<dyn Fn(&T) -> Result<Vec<LeafSpec>, Vec<String>> + Send + Sync>;

pub(crate) fn any<T: Tree>(spec: impl SpecFor<T>) -> AnySpec<T> {
    Arc::new(move |of| collect(&spec, of))
}

pub(crate) fn misfit(what: &str, wrong: &[String], loc: &Loc) -> Diagnostic {
    let d = Diagnostic::error("spec-form", loc, format!("the form of the specs in `{what}` differs from the arrays'"));
    let d = wrong.iter().fold(d, |d, w| d.facts(w.clone()));
    d.help("write one layout for all arrays, or one for each, in the form of the arrays: a tuple for a tuple, a `Vec` for a `Vec`")
}

/// Returns the tree with the layout of every leaf set, as [`Array::shard`] does.
///
/// # Errors
///
/// `spec-form` if the specs do not have the form of the tree, and those of [`Array::shard`]. The leaves carry them.
#[track_caller]
pub fn shard<T: Tree>(tree: T, specs: impl SpecFor<T>) -> T {
    let at = std::panic::Location::caller();
    match collect(&specs, &tree) {
        Ok(specs) => {
            let mut specs = specs.into_iter();
            tree.rebuild(&mut |a| a.shard_at(specs.next().expect("one for each leaf"), at))
        }
        Err(wrong) => {
            let wrong = Mistakes::one(misfit("shard", &wrong, &crate::context::loc(at)));
            tree.rebuild(&mut |a| Array::poisoned(wrong.clone(), a.known_type(), at))
        }
    }
}
