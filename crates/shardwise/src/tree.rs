//! Trees of arrays, and functions over their leaves.
//!
//! A tree is an ordinary value that contains arrays. There is no separate description of its form: functions take an
//! example.

use crate::ambient::scoped;
use crate::ops::site;
use crate::{Array, DType, Error, Static, concatenate, context, mistakes, trace, zeros};
use shardwise_base::Loc;
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;

/// The largest depth of nested vectors and maps. It is limited because functions of trees recurse.
const MAX_DEPTH: usize = 256;

scoped! {
    /// The number of vectors and maps around the tree that is being visited.
    static DEPTH: usize = 0;
    /// The number of enclosing calls of [`checked`].
    static CHECKS: usize = 0;
    /// While this is true, `float0` arrays are leaves like any others.
    static HAS_FLOAT0: bool = false;
}

/// The payload with which functions unwind if a tree is too deep.
pub(crate) struct TooDeep;

impl TooDeep {
    pub fn error(loc: &Loc) -> Error {
        Error::one(mistakes::tree_depth(MAX_DEPTH, loc))
    }
}

/// Runs `f` on the parts of a vector or map. If these are nested too deeply, unwinds with [`TooDeep`], or panics
/// outside of [`checked`] and of traces.
#[doc(hidden)]
pub fn deeper<R>(f: impl FnOnce() -> R) -> R {
    if DEPTH.get() < MAX_DEPTH {
        return DEPTH.counted(f);
    }
    if CHECKS.get() == 0 && !trace::is_tracing() {
        panic!("{}", TooDeep::error(&Loc::UNKNOWN));
    }
    resume_unwind(Box::new(TooDeep))
}

/// Runs `f`, which visits a tree. Other panics than that of a tree that is too deep are passed on.
///
/// Errors: `tree-depth` at `loc` if the tree is too deep.
pub(crate) fn checked<R>(loc: impl FnOnce() -> Loc, f: impl FnOnce() -> R) -> Result<R, Error> {
    let run = || catch_unwind(AssertUnwindSafe(f));
    CHECKS.counted(run).map_err(|panic| match panic.is::<TooDeep>() {
        true => TooDeep::error(&loc()),
        false => resume_unwind(panic),
    })
}

/// A value made of arrays: an `Array`, or a tuple of at most eight, `Vec`, `Option`, `[T; N]`, `BTreeMap<String, T>` or
/// `#[derive(Tree)]` struct of trees. Keys and states of optimizers are trees, and a [`Static`] is a tree without
/// leaves.
///
/// A `float0` array, the gradient of integers ([`float0`](crate::float0)), is no leaf: functions of trees leave it as
/// it is. So optimizers, checkpoints and collectives skip it.
///
/// Vectors and maps nest at most 256 deep. Calls of traced functions report `tree-depth` for a deeper tree. The
/// functions of [`tree`](crate::tree) end the trace with it, and panic outside of a trace.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tree of arrays",
    label = "expected `Array`, or a tuple, `Vec`, `Option` or `#[derive(Tree)]` struct of them",
    note = "for a struct of your own, add `#[derive(Tree)]`, and mark fields that are not arrays with `#[tree(fixed)]`; for a reference, `.clone()` it, which is cheap"
)]
pub trait Tree: Sized + Send + Sync + 'static {
    /// Calls `f` with the path of each leaf and the leaf, in order. `at` is the path of this tree.
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array));

    /// Returns a tree of the same form, with the result of `f` for each leaf, in order.
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Self;

    /// Adds everything in which this tree's form can differ from others of its type: lengths, presence, keys, fixed
    /// fields, and the shapes of `float0` arrays.
    #[doc(hidden)]
    fn form(&self, form: &mut Form);

    #[doc(hidden)]
    fn rebuild_clone(&self) -> Self {
        self.rebuild(&mut |a| a.clone())
    }
}

/// The parts of a tree that are not arrays, in order. Two trees of one type with equal forms differ only in their
/// arrays.
#[doc(hidden)]
#[derive(Default, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Form(Vec<FormPart>);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum FormPart {
    Number(usize),
    Fixed(Fixed),
}

/// A value of any type. It is compared as a value, because different values may have the same hash.
#[derive(Clone)]
struct Fixed(Arc<dyn FixedValue>);

impl fmt::Debug for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fixed")
    }
}

trait FixedValue: Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, state: &mut dyn Hasher);
}

impl<T: Hash + Eq + Send + Sync + 'static> FixedValue for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
    fn hash_into(&self, mut state: &mut dyn Hasher) {
        self.hash(&mut state);
    }
}

impl PartialEq for Fixed {
    fn eq(&self, other: &Fixed) -> bool {
        self.0.equals(&*other.0)
    }
}
impl Eq for Fixed {}
impl Hash for Fixed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash_into(state);
    }
}

impl Form {
    pub fn number(&mut self, n: usize) {
        self.0.push(FormPart::Number(n));
    }

    /// Adds a value that is not an array: a fixed field, or a key.
    pub fn fixed<T: Clone + Hash + Eq + Send + Sync + 'static>(&mut self, value: &T) {
        self.0.push(FormPart::Fixed(Fixed(Arc::new(value.clone()))));
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Field(&'static str),
    Key(String),
    Index(usize),
}

/// The position of a leaf, or of a tree in another one. Formats as `.layers[3].wq`, and as nothing for the whole tree.
#[derive(Default, Clone, PartialEq, Eq, Debug)]
pub struct Path(Vec<Part>);

impl Path {
    /// Runs `f` with the path extended by a field.
    pub fn field<R>(&mut self, name: &'static str, f: impl FnOnce(&mut Path) -> R) -> R {
        self.with(Part::Field(name), f)
    }

    /// Runs `f` with the path extended by a key.
    pub fn key<R>(&mut self, name: &str, f: impl FnOnce(&mut Path) -> R) -> R {
        self.with(Part::Key(name.into()), f)
    }

    /// Runs `f` with the path extended by an index.
    pub fn index<R>(&mut self, i: usize, f: impl FnOnce(&mut Path) -> R) -> R {
        self.with(Part::Index(i), f)
    }

    /// Returns the path as files name tensors: `layers.3.wq`. An empty path, as of a tree that is one array, is
    /// `value`.
    pub fn name(&self) -> String {
        let part = |part: &Part| match part {
            Part::Field(name) => name.to_string(),
            Part::Key(name) => name.clone(),
            Part::Index(i) => i.to_string(),
        };
        if self.0.is_empty() { "value".into() } else { self.0.iter().map(part).collect::<Vec<_>>().join(".") }
    }

    fn with<R>(&mut self, part: Part, f: impl FnOnce(&mut Path) -> R) -> R {
        self.0.push(part);
        let out = f(self);
        self.0.pop();
        out
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Field(name) => write!(f, ".{name}"),
            Part::Key(name) => write!(f, ".{name}"),
            Part::Index(i) => write!(f, "[{i}]"),
        })
    }
}

/// A tree whose leaves can have another type: `Params<Array>`, `Params<P>`. Tuples, `Vec`, `Option`, `[T; N]` and maps
/// of such trees are such trees, and so is a struct with `#[derive(Tree)]` and a parameter without bounds for its
/// leaves.
#[diagnostic::on_unimplemented(
    message = "the leaves of `{Self}` cannot have another type",
    note = "a struct needs a parameter for the type of its leaves: `#[derive(Tree)] struct Params<T = Array> {{ .. }}`"
)]
pub trait MapLeaves {
    /// The type of the leaves.
    type Leaf;
    /// The tree with leaves of another type.
    type With<U>;
    /// Returns the tree with the result of `f` for each leaf, in order. `float0` arrays are leaves here.
    ///
    /// # Panics
    ///
    /// Panics if vectors and maps nest more than 256 deep. In a trace, ends the trace instead.
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&Self::Leaf) -> U) -> Self::With<U>;
}

impl MapLeaves for Array {
    type Leaf = Array;
    type With<U> = U;
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&Array) -> U) -> U {
        f(self)
    }
}
impl MapLeaves for () {
    type Leaf = Array;
    type With<U> = ();
    fn map_leaves<U>(&self, _: &mut dyn FnMut(&Array) -> U) {}
}
impl<T: Clone> MapLeaves for Static<T> {
    type Leaf = Array;
    type With<U> = Static<T>;
    fn map_leaves<U>(&self, _: &mut dyn FnMut(&Array) -> U) -> Static<T> {
        self.clone()
    }
}
impl<T: MapLeaves> MapLeaves for Vec<T> {
    type Leaf = T::Leaf;
    type With<U> = Vec<T::With<U>>;
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&T::Leaf) -> U) -> Vec<T::With<U>> {
        deeper(|| self.iter().map(|t| t.map_leaves(f)).collect())
    }
}
impl<T: MapLeaves> MapLeaves for Option<T> {
    type Leaf = T::Leaf;
    type With<U> = Option<T::With<U>>;
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&T::Leaf) -> U) -> Option<T::With<U>> {
        self.as_ref().map(|t| t.map_leaves(f))
    }
}
impl<T: MapLeaves, const N: usize> MapLeaves for [T; N] {
    type Leaf = T::Leaf;
    type With<U> = [T::With<U>; N];
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&T::Leaf) -> U) -> [T::With<U>; N] {
        self.each_ref().map(|t| t.map_leaves(f))
    }
}
impl<T: MapLeaves> MapLeaves for BTreeMap<String, T> {
    type Leaf = T::Leaf;
    type With<U> = BTreeMap<String, T::With<U>>;
    fn map_leaves<U>(&self, f: &mut dyn FnMut(&T::Leaf) -> U) -> BTreeMap<String, T::With<U>> {
        deeper(|| self.iter().map(|(k, t)| (k.clone(), t.map_leaves(f))).collect())
    }
}

impl Tree for Array {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        if !is_left_out(self) {
            f(at, self);
        }
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Array {
        if is_left_out(self) { self.clone() } else { f(self) }
    }
    fn form(&self, form: &mut Form) {
        if is_left_out(self) {
            form.fixed(&("float0", self.tensor().shape.clone()));
        }
    }
}

/// Returns true if the array does not count as a leaf: it is a `float0` array, and [`HAS_FLOAT0`] is false.
fn is_left_out(a: &Array) -> bool {
    a.is_float0() && !HAS_FLOAT0.get()
}

/// Returns the leaves of two trees in pairs, with their paths. `float0` arrays are among them. Returns `None` if the
/// trees have different forms.
pub(crate) fn pairs<'a, T: Tree>(a: &'a T, b: &'a T) -> Option<Vec<(Path, &'a Array, &'a Array)>> {
    HAS_FLOAT0.with(true, || {
        let pair = |((path, a), b)| (path, a, b);
        (form(a) == form(b)).then(|| paths(a).into_iter().zip(leaves(b)).map(pair).collect())
    })
}

/// Returns `tree` with the results of `f` in place of its `float0` arrays, or `None` if it does not have the form of
/// `like`. `f` gets the path of each such array, the array, and the leaf of `like`.
pub(crate) fn without_float0<T: Tree>(tree: &T, like: &T, f: impl Fn(&Path, &Array, &Array) -> Array) -> Option<T> {
    let filled = pairs(tree, like)?.into_iter().map(|(path, a, other)| match a.is_float0() {
        true => f(&path, a, other),
        false => a.clone(),
    });
    let filled: Vec<Array> = filled.collect();
    Some(HAS_FLOAT0.with(true, || with_leaves(tree, filled)))
}

impl Tree for () {
    fn visit<'a>(&'a self, _: &mut Path, _: &mut dyn FnMut(&Path, &'a Array)) {}
    fn rebuild(&self, _: &mut dyn FnMut(&Array) -> Array) {}
    fn form(&self, _: &mut Form) {}
}

impl<T: Clone + Eq + Hash + Debug + Send + Sync + 'static> Tree for Static<T> {
    fn visit<'a>(&'a self, _: &mut Path, _: &mut dyn FnMut(&Path, &'a Array)) {}
    fn rebuild(&self, _: &mut dyn FnMut(&Array) -> Array) -> Static<T> {
        self.clone()
    }
    fn form(&self, form: &mut Form) {
        form.fixed(&self.0);
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        deeper(|| self.iter().enumerate().for_each(|(i, t)| at.index(i, |at| t.visit(at, f))));
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Vec<T> {
        deeper(|| self.iter().map(|t| t.rebuild(f)).collect())
    }
    fn form(&self, form: &mut Form) {
        form.number(self.len());
        deeper(|| self.iter().for_each(|t| t.form(form)));
    }
}

impl<T: Tree> Tree for Option<T> {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        if let Some(t) = self {
            t.visit(at, f);
        }
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Option<T> {
        self.as_ref().map(|t| t.rebuild(f))
    }
    fn form(&self, form: &mut Form) {
        form.number(usize::from(self.is_some()));
        self.iter().for_each(|t| t.form(form));
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        for (i, t) in self.iter().enumerate() {
            at.index(i, |at| t.visit(at, f));
        }
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> [T; N] {
        self.each_ref().map(|t| t.rebuild(f))
    }
    fn form(&self, form: &mut Form) {
        self.iter().for_each(|t| t.form(form));
    }
}

impl<T: Tree> Tree for BTreeMap<String, T> {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        deeper(|| self.iter().for_each(|(k, t)| at.key(k, |at| t.visit(at, f))));
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> BTreeMap<String, T> {
        deeper(|| self.iter().map(|(k, t)| (k.clone(), t.rebuild(f))).collect())
    }
    fn form(&self, form: &mut Form) {
        form.number(self.len());
        deeper(|| {
            for (k, t) in self {
                form.fixed(k);
                t.form(form);
            }
        });
    }
}

macro_rules! tree_tuple {
    ($first:ident $zero:tt $(, $t:ident $i:tt)*) => {
        impl<$first: Tree $(, $t: Tree)*> Tree for ($first, $($t,)*) {
            fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
                at.field(stringify!($zero), |at| self.$zero.visit(at, f));
                $(at.field(stringify!($i), |at| self.$i.visit(at, f));)*
            }
            fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Self {
                (self.$zero.rebuild(f), $(self.$i.rebuild(f),)*)
            }
            fn form(&self, form: &mut Form) {
                self.$zero.form(form);
                $(self.$i.form(form);)*
            }
        }
        impl<$first: MapLeaves $(, $t: MapLeaves<Leaf = $first::Leaf>)*> MapLeaves for ($first, $($t,)*) {
            type Leaf = $first::Leaf;
            type With<Leaf_> = ($first::With<Leaf_>, $($t::With<Leaf_>,)*);
            fn map_leaves<Leaf_>(&self, f: &mut dyn FnMut(&$first::Leaf) -> Leaf_) -> Self::With<Leaf_> {
                (self.$zero.map_leaves(f), $(self.$i.map_leaves(f),)*)
            }
        }
    };
}
tree_tuple!(A 0);
tree_tuple!(A 0, B 1);
tree_tuple!(A 0, B 1, C 2);
tree_tuple!(A 0, B 1, C 2, D 3);
tree_tuple!(A 0, B 1, C 2, D 3, E 4);
tree_tuple!(A 0, B 1, C 2, D 3, E 4, F 5);
tree_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tree_tuple!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// Returns the tree with the result of `f` for each leaf, in order.
///
/// # Panics
///
/// Panics if vectors and maps nest more than 256 deep. In a trace, ends the trace instead.
pub fn map<T: Tree>(tree: &T, mut f: impl FnMut(&Array) -> Array) -> T {
    tree.rebuild(&mut f)
}

/// Returns a tree of the same form with the result of `f` for each pair of leaves of two trees of one form, in order.
///
/// # Panics
///
/// Panics if the forms differ, or if vectors and maps nest more than 256 deep. In a trace, the latter ends the trace.
#[track_caller]
pub fn map2<T: Tree>(a: &T, b: &T, mut f: impl FnMut(&Array, &Array) -> Array) -> T {
    assert!(form(a) == form(b), "`tree::map2` needs two trees of the same form, and the forms of these differ");
    let mut rest = leaves(b).into_iter();
    a.rebuild(&mut |a| f(a, rest.next().expect("counted")))
}

/// Returns a tree of the same form with the result of `f` for each triple of leaves of three trees of one form, in
/// order.
///
/// # Panics
///
/// Panics if the forms differ, or if vectors and maps nest more than 256 deep. In a trace, the latter ends the trace.
#[track_caller]
pub fn map3<T: Tree>(a: &T, b: &T, c: &T, mut f: impl FnMut(&Array, &Array, &Array) -> Array) -> T {
    let first = form(a);
    assert!(
        first == form(b) && first == form(c),
        "`tree::map3` needs trees of the same form, and the forms of these differ"
    );
    let mut rest = leaves(b).into_iter().zip(leaves(c));
    a.rebuild(&mut |a| {
        let (b, c) = rest.next().expect("counted");
        f(a, b, c)
    })
}

/// Returns the leaves, in order.
///
/// # Panics
///
/// Panics if vectors and maps nest more than 256 deep. In a trace, ends the trace instead.
pub fn leaves<T: Tree>(tree: &T) -> Vec<&Array> {
    let mut out = vec![];
    tree.visit(&mut Path::default(), &mut |_, a| out.push(a));
    out
}

/// Returns the leaves with their paths, in order.
///
/// # Panics
///
/// Panics if vectors and maps nest more than 256 deep. In a trace, ends the trace instead.
pub fn paths<T: Tree>(tree: &T) -> Vec<(Path, &Array)> {
    let mut out = vec![];
    tree.visit(&mut Path::default(), &mut |p, a| out.push((p.clone(), a)));
    out
}

/// The result of [`ravel`]: makes a tree of a vector.
#[derive(Clone, Debug)]
pub struct Unravel<T> {
    /// The form of the tree, and the types of its leaves.
    types: T,
}

/// Joins the elements of all leaves into one vector, in order. Also returns an [`Unravel`], which makes the tree of
/// such a vector again. This is `jax.flatten_util.ravel_pytree`. The leaves must have one dtype. A tree without leaves
/// becomes an empty `f32` vector.
///
/// # Errors
///
/// The vector carries `dtype-mixed` if the dtypes differ.
///
/// # Panics
///
/// Panics if vectors and maps nest more than 256 deep, and outside of a trace, if the type of a leaf is not known.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// let params = (array(&[[1, 2], [3, 4]]), scalar(5, I32));
/// let (flat, unravel) = tree::ravel(&params);
/// assert_eq!(flat.to_vec::<i32>()?, [1, 2, 3, 4, 5]);
/// let (matrix, number) = unravel.tree(&(flat * 10));
/// assert_eq!((matrix.to_vec2::<i32>()?, number.item::<i32>()?), (vec![vec![10, 20], vec![30, 40]], 50));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn ravel<T: Tree>(tree: &T) -> (Array, Unravel<T>) {
    let at = context::caller(Location::caller());
    let types = tree.rebuild(&mut |a| Array::of_type(&a.tensor().shape[..], DType::of(a.tensor().dtype)));
    let flat = context::within(at, || {
        let parts: Vec<Array> = leaves(tree).into_iter().map(|a| a.reshape([a.tensor().size()])).collect();
        if parts.is_empty() { zeros([0], DType::F32) } else { concatenate(parts, 0) }
    });
    (flat, Unravel { types })
}

impl<T: Tree> Unravel<T> {
    /// Returns the tree whose elements are those of the vector, in order. The leaves get the dtype of the vector, which
    /// may be another one than they had.
    ///
    /// # Errors
    ///
    /// The leaves carry `ravel-size` unless `flat` is a vector of as many elements as the tree has.
    #[track_caller]
    pub fn tree(&self, flat: &Array) -> T {
        let at = context::caller(Location::caller());
        context::within(at, || {
            let count: usize = leaves(&self.types).into_iter().map(|a| a.tensor().size()).sum();
            let checked = site("unravel", &[flat], |s| {
                if flat.tensor().shape == [count] {
                    return Ok(flat.clone());
                }
                let message = format!("`unravel`: the tree needs a vector of {count} elements");
                s.fail(None, mistakes::with_facts("ravel-size", message, flat.short_type(), "", &s.loc))
            });
            let mut start = 0;
            self.types.rebuild(&mut |ty| {
                let from = start;
                start += ty.tensor().size();
                if checked.node().ty.is_none() { checked.clone() } else { checked.i(from..start).reshape(ty.shape()) }
            })
        })
    }
}

pub(crate) fn with_leaves<T: Tree>(tree: &T, leaves: impl IntoIterator<Item = Array>) -> T {
    let mut leaves = leaves.into_iter();
    tree.rebuild(&mut |_| leaves.next().expect("as many leaves as the tree has"))
}

pub(crate) fn form<T: Tree>(tree: &T) -> Form {
    let mut form = Form::default();
    tree.form(&mut form);
    form
}
