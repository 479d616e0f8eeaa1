//! Gradients, and derivatives along tangents and cotangents.

use super::arguments::{Nth, Positions, selected};
use super::traced::{Linear, Traced};
use super::{Source, Transform, attempt, is_smooth, once, or_end, same_types};
use crate::array::Array;
use crate::function::{At, HasArgument};
use crate::tree::{self, Tree};
use crate::{Args, Callable, Error, Function, IntoShape, Result, Returns, context, explicit, mistakes, replay, trace};
use shardwise_base::{DType, Diagnostics};
use shardwise_ir::{Func, Module, TensorType};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// Types that a function whose gradient is computed can return: an array, a pair of it and of results that are not
/// differentiated, or a `Result` of one of these.
#[diagnostic::on_unimplemented(
    message = "the derivative of a function that returns `{Self}` is not defined",
    label = "expected a function that returns `Array`, or `(Array, T)` with further results in the tree `T`"
)]
pub trait Loss: Returns {
    /// The results that are not differentiated, or `()` if there are none.
    type Aux: Tree;
    /// Returns the result that is differentiated, and the others.
    #[doc(hidden)]
    fn parts(out: Self::Tree) -> (Array, Self::Aux);
}
impl Loss for Array {
    type Aux = ();
    fn parts(out: Array) -> (Array, ()) {
        (out, ())
    }
}
impl<T: Tree> Loss for (Array, T) {
    type Aux = T;
    fn parts(out: (Array, T)) -> (Array, T) {
        out
    }
}
impl Loss for Result<Array> {
    type Aux = ();
    fn parts(out: Array) -> (Array, ()) {
        (out, ())
    }
}
impl<T: Tree> Loss for Result<(Array, T)> {
    type Aux = T;
    fn parts(out: (Array, T)) -> (Array, T) {
        out
    }
}

/// Types that a function with auxiliary results returns: a pair of what is differentiated and of further results, or a
/// `Result` of one.
#[diagnostic::on_unimplemented(
    message = "the function returns no auxiliary results",
    label = "expected a function that returns a pair `(result, further results)`, found one that returns `{Self}`"
)]
pub trait HasAux: Returns {
    /// The tree that is differentiated.
    type Value: Tree;
    /// The further results.
    type Further: Tree;
    #[doc(hidden)]
    fn split(out: Self::Tree) -> (Self::Value, Self::Further);
}
impl<V: Tree, T: Tree> HasAux for (V, T) {
    type Value = V;
    type Further = T;
    fn split(out: (V, T)) -> (V, T) {
        out
    }
}
impl<V: Tree, T: Tree> HasAux for Result<(V, T)> {
    type Value = V;
    type Further = T;
    fn split(out: (V, T)) -> (V, T) {
        out
    }
}

/// A derivative of a function, with the arguments that are selected: what [`Transform`] keeps for
/// `grad(f).argnums(..)`.
///
/// `O` is what the function returns, `S` are the positions of the selected arguments, and `K` is the kind of
/// derivative.
pub struct Derivative<'f, A: Args, O: Returns, S, K> {
    pub(super) f: Source<'f, A::Owned, O::Tree>,
    pub(super) allow_int: bool,
    at: At,
    kind: PhantomData<fn() -> (S, K)>,
}

impl<A: Args, O: Returns, S, K> fmt::Debug for Derivative<'_, A, O, S, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derivative").field("allow_int", &self.allow_int).finish_non_exhaustive()
    }
}

/// A kind of derivative: how it is computed, and its type.
pub trait DerivativeKind<A: Args, O: Returns, S: Positions<A>>: Sized + 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// The result of the transformed function.
    type Out: Tree;
    #[doc(hidden)]
    fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out>;
}

/// The kind of [`grad`].
#[derive(Debug)]
pub struct Grad(());
/// The kind of [`value_and_grad`].
#[derive(Debug)]
pub struct ValueAndGrad(());
/// The kind `K` with auxiliary results.
#[derive(Debug)]
pub struct WithAux<K>(PhantomData<K>);

/// Kinds of derivatives in reverse mode, which [`Transform::allow_int`] applies to.
pub trait Reverse {}
impl Reverse for Grad {}
impl Reverse for ValueAndGrad {}
impl Reverse for super::Jacrev {}
impl<K: Reverse> Reverse for WithAux<K> {}

/// The derivative of kind `K` of a function that takes `A` and returns `O`, with respect to the arguments `S`.
pub(super) type Of<'f, A, O, S, K> = Transform<'f, A, <K as DerivativeKind<A, O, S>>::Out, Derivative<'f, A, O, S, K>>;

/// The type of the derivative of kind `K` (such as [`Grad`]) of a function `F` with respect to its first argument. `M`
/// is the marker of [`Function`].
pub(super) type First<'f, F, M, K> = Of<'f, <F as Function<M>>::Args, <F as Function<M>>::Out, Nth<0>, K>;

impl<'f, A: Args + 'f, O: Returns, S: Positions<A>, K: DerivativeKind<A, O, S>> Derivative<'f, A, O, S, K> {
    pub(super) fn of<M, F>(f: F, at: At) -> Transform<'f, A, K::Out, Self>
    where
        F: Callable<M> + Function<M, Args = A, Out = O> + Send + Sync + 'f,
    {
        let f: Source<'f, A::Owned, O::Tree> = Arc::new(move |args| f.apply(args).finish());
        Derivative { f, allow_int: false, at, kind: PhantomData }.transform()
    }

    fn transform(self) -> Transform<'f, A, K::Out, Self> {
        let own = self.same::<S, K>();
        Transform::new(K::NAME, self.at, self, move |args, at| K::compute(&own, args, at))
    }
}

impl<'f, A: Args, O: Returns, S, K> Derivative<'f, A, O, S, K> {
    pub(super) fn same<S2, K2>(&self) -> Derivative<'f, A, O, S2, K2> {
        Derivative { f: self.f.clone(), allow_int: self.allow_int, at: self.at, kind: PhantomData }
    }
}

impl<'f, A: Args + 'f, O: Returns, S: Positions<A>, K: DerivativeKind<A, O, S>> Of<'f, A, O, S, K> {
    /// Selects the arguments with respect to which the function is differentiated: one position, as `Nth::<1>`, or a
    /// tuple of positions, for which the derivative is a tuple. By default, it is the first argument.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::{Nth, grad};
    /// # fn main() -> Result<()> {
    /// let f = |w: &Array, b: &Array, x: &Array| (w * x + b).square().sum(..);
    /// let (w, b, x) = (scalar(2.0, F32), scalar(1.0, F32), array(&[1.0f32, 3.0]));
    /// assert_eq!(grad(f).argnums(Nth::<1>)(&w, &b, &x).item::<f32>()?, 20.0);
    /// let (dw, dx) = grad(f).argnums((Nth::<0>, Nth::<2>))(&w, &b, &x);
    /// assert_eq!((dw.item::<f32>()?, dx.to_vec::<f32>()?), (48.0, vec![12.0, 28.0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn argnums<P>(self, positions: P) -> Of<'f, A, O, P, K>
    where
        P: Positions<A>,
        K: DerivativeKind<A, O, P>,
    {
        let _ = positions;
        self.asked.same::<P, K>().transform()
    }

    /// Returns also the results of the function that are not differentiated: the second part of the pair that it
    /// returns. The first part is the one that is differentiated.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::grad;
    /// # fn main() -> Result<()> {
    /// let f = grad(|x: &Array| (x.square().sum(..), x.max(..))).has_aux();
    /// let (gradient, largest) = f(&array(&[3.0f32, 4.0]));
    /// assert_eq!((gradient.to_vec::<f32>()?, largest.item::<f32>()?), (vec![6.0, 8.0], 4.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn has_aux(self) -> Of<'f, A, O, S, WithAux<K>>
    where
        O: HasAux,
        WithAux<K>: DerivativeKind<A, O, S>,
    {
        self.asked.same::<S, WithAux<K>>().transform()
    }

    /// Lets the selected arguments have leaves of integers and bools. The derivative with respect to such a leaf is a
    /// [`float0`] array, which has no elements. A gradient has the shape of the leaf, and a Jacobian also has the
    /// dimensions of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// # use shardwise::grad;
    /// let f = grad(|(x, ids): &(Array, Array)| x.i(ids).sum(..)).allow_int();
    /// let (dx, dids) = f(&(array(&[3.0f32, 4.0]), array(&[1i32, 1, 1])));
    /// assert_eq!(dx.to_vec::<f32>().unwrap(), [0.0, 3.0]);
    /// assert!(dids.is_float0());
    /// ```
    pub fn allow_int(self) -> Of<'f, A, O, S, K>
    where
        K: Reverse,
    {
        Derivative { allow_int: true, ..self.asked }.transform()
    }
}

/// Creates the gradient of an array of integers or bools: an array of this shape and of the dtype `Bool` that has no
/// values. Functions of trees leave it as it is, and a use of its values is the mistake `float0`.
#[track_caller]
pub fn float0(shape: impl IntoShape) -> Array {
    Array::float0(TensorType::new(DType::I1, shape.into_shape().0), context::caller(Location::caller()))
}

// ── gradients
/// Returns the gradient of `f` with respect to its first argument: a function of the same arguments that returns a tree
/// like the first one.
///
/// `f` returns a real scalar. If it returns a pair, the gradient is that of the first part. A gradient has the type of
/// what it belongs to. That of a complex number `x + iy` is `∂f/∂x - i ∂f/∂y`, as in JAX.
///
/// In Explicit mode, a gradient is split as what it belongs to. That of an array which is reduced over an axis of the
/// mesh is unreduced over it, and the other way around.
///
/// [`argnums`](Transform::argnums) selects other arguments, [`has_aux`](Transform::has_aux) also returns the second
/// part of a pair, and [`allow_int`](Transform::allow_int) allows integers.
///
/// # Errors
///
/// A call reports:
///
/// - `grad-scalar` unless the function returns a real scalar.
/// - `grad-integer` for each leaf of the selected arguments that is neither a float nor a complex number, unless such
///   leaves are allowed.
/// - `no-derivative` and `no-transpose` for an op that has none, and `loop-length` for a loop whose number of steps is
///   not known, at the lines of the ops.
/// - `custom-captured` if a function with a derivative of its own captures an array that depends on the argument.
/// - All mistakes of the arguments and of the function.
///
/// They end the trace. Outside of a trace, the call panics with them, and the results carry the mistakes of the run.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::grad;
/// # fn main() -> Result<()> {
/// let (w, x) = (array(&[1.0f32, -2.0]), array(&[3.0f32, 5.0]));
/// let gradient = grad(|w: &Array, x: &Array| (w * x).square().sum(..));
/// assert_eq!(gradient(&w, &x).to_vec::<f32>()?, [18.0, -100.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn grad<'f, M, F>(f: F) -> First<'f, F, M, Grad>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    F::Out: Loss,
{
    Derivative::of(f, Location::caller())
}

impl<A: Args, O: Loss, S: Positions<A>> DerivativeKind<A, O, S> for Grad {
    const NAME: &'static str = "grad";
    type Out = S::Picked;
    fn compute(d: &Derivative<'_, A, O, S, Grad>, args: &A::Owned, at: At) -> Result<S::Picked> {
        Ok(d.value_and_gradient(args, at)?.1)
    }
}

impl<A: Args, O: Loss, S: Positions<A>> DerivativeKind<A, O, S> for WithAux<Grad> {
    const NAME: &'static str = "grad";
    type Out = (S::Picked, O::Aux);
    fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
        let (out, gradient) = d.value_and_gradient(args, at)?;
        Ok((gradient, O::parts(out).1))
    }
}

/// Returns the value and the gradient of `f` with respect to its first argument, which are computed together: a
/// function of the same arguments that returns what `f` returns and a tree like the first argument.
///
/// It has the options of [`grad`]. The value is the pair that `f` returns, so that `has_aux` changes nothing.
///
/// # Errors
///
/// Those of [`grad`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::value_and_grad;
/// # fn main() -> Result<()> {
/// let f = value_and_grad(|x: &Array| (x.square().sum(..), x.max(..)));
/// let ((value, largest), gradient) = f(&array(&[3.0f32, 4.0]));
/// assert_eq!((value.to_vec::<f32>()?, largest.to_vec::<f32>()?), (vec![25.0], vec![4.0]));
/// assert_eq!(gradient.to_vec::<f32>()?, [6.0, 8.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn value_and_grad<'f, M, F>(f: F) -> First<'f, F, M, ValueAndGrad>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    F::Out: Loss,
{
    Derivative::of(f, Location::caller())
}

impl<A: Args, O: Loss, S: Positions<A>> DerivativeKind<A, O, S> for ValueAndGrad {
    const NAME: &'static str = "value_and_grad";
    type Out = (O::Tree, S::Picked);
    fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
        d.value_and_gradient(args, at)
    }
}

impl<A: Args, O: Loss, S: Positions<A>> DerivativeKind<A, O, S> for WithAux<ValueAndGrad> {
    const NAME: &'static str = "value_and_grad";
    type Out = (O::Tree, S::Picked);
    fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
        d.value_and_gradient(args, at)
    }
}

impl<A: Args, O: Loss, S: Positions<A>, K> Derivative<'_, A, O, S, K> {
    fn value_and_gradient(&self, args: &A::Owned, at: At) -> Result<(O::Tree, S::Picked)> {
        let traced = Traced::of(|args| (self.f)(args), args, at)?;
        let leaves = self.leaves(args, at)?;
        let wrt = smooth(args, &leaves);
        let derived = traced.transformed(|m, f| shardwise_transform::value_and_gradient(m, f, &wrt))?;
        let results = traced.run(&derived, args, &[], at)?;
        let (value, gradient) = results.split_at(results.len() - wrt.len());
        let gradient = |leaf: usize| wrt.iter().position(|&w| w == leaf).map(|i| gradient[i].clone());
        Ok((tree::with_leaves(&traced.out, value.to_vec()), picked::<A, S>(args, &leaves, gradient, at)))
    }
}

impl<A: Args, O: Returns, S: Positions<A>, K> Derivative<'_, A, O, S, K> {
    /// Returns the leaves of the selected arguments, as indices of all leaves.
    ///
    /// Errors: `grad-integer` for each leaf that has no derivative, unless they are allowed.
    pub(super) fn leaves(&self, args: &A::Owned, at: At) -> Result<Vec<usize>> {
        let leaves = selected::<A, S>(args);
        let all = tree::paths(args);
        let mut wrong = Diagnostics::default();
        for (path, a) in leaves.iter().map(|&i| &all[i]).filter(|(_, a)| !self.allow_int && !is_smooth(a)) {
            wrong.push(mistakes::grad_integer(&format!("arg{path}"), &a.short_type(), &context::loc(at)));
        }
        wrong.or(leaves).map_err(Error::from)
    }
}

/// Returns those of the leaves that have derivatives, each once, in ascending order.
pub(super) fn smooth<T: Tree>(args: &T, leaves: &[usize]) -> Vec<usize> {
    let all = tree::leaves(args);
    let mut smooth: Vec<usize> = leaves.iter().copied().filter(|&i| is_smooth(all[i])).collect();
    smooth.sort_unstable();
    smooth.dedup();
    smooth
}

fn all_smooth<T: Tree>(args: &T) -> Vec<usize> {
    smooth(args, &(0..tree::leaves(args).len()).collect::<Vec<_>>())
}

/// Returns the tree of the selected arguments with `gradient` of each leaf that has one, and `float0` arrays for the
/// others. In Explicit mode, each has the layout of a cotangent of its leaf.
fn picked<A: Args, S: Positions<A>>(
    args: &A::Owned,
    leaves: &[usize],
    gradient: impl Fn(usize) -> Option<Array>,
    at: At,
) -> S::Picked {
    let mut leaves = leaves.iter();
    S::pick(args).rebuild(&mut |a| match gradient(*leaves.next().expect("one for each leaf")) {
        Some(gradient) => like(a, &gradient),
        None => Array::float0(a.tensor().clone(), at),
    })
}

/// Returns the gradient of `a`. In Explicit mode, it has the layout of a cotangent of `a`, and in per-device code the
/// states that belong to those of `a`.
fn like(a: &Array, gradient: &Array) -> Array {
    let gradient = match explicit::layout(a).map(|layout| shardwise_transform::of_cotangent(&layout)) {
        Some(layout) if explicit::layout(gradient).as_ref() != Some(&layout) => replay::reshard(gradient, &layout),
        _ => gradient.clone(),
    };
    let state = trace::with(|t| t.scope()).map(|scope| a.manual_in(&scope).of_cotangent());
    gradient.in_state(state)
}

// ── along tangents and cotangents
/// Returns the result of `f` at `primals`, and the derivative of `f` along `tangents`: forward mode. `primals` are the
/// arguments of `f`, as a tuple if it has several, and `tangents` have the same form.
///
/// The tangent of an argument of integers or bools is a [`float0`] array of its shape, and so is that of such a result.
///
/// # Errors
///
/// `transform-types` if a tangent does not have the shape and dtype of its argument, `tree-form` if the tangents do not
/// have the form of the arguments, `no-derivative` for an op that has none, `custom-vjp-forward` for a function that
/// has a derivative in reverse mode only, `custom-captured` if a function with a derivative of its own captures an
/// array that depends on the arguments, and all mistakes of the arguments and of `f`. They end the trace. Outside of a
/// trace, the call panics with them, and the results carry the mistakes of the run.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::jvp;
/// # fn main() -> Result<()> {
/// let (y, dy) = jvp(|x: &Array| x.square(), &array(&[3.0f32, 4.0]), &array(&[1.0f32, 0.5]));
/// assert_eq!((y.to_vec::<f32>()?, dy.to_vec::<f32>()?), (vec![9.0, 16.0], vec![6.0, 4.0]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jvp<M, F>(
    f: F,
    primals: <F::Args as Args>::Tuple<'_>,
    tangents: <F::Args as Args>::Tuple<'_>,
) -> (<F::Out as Returns>::Tree, <F::Out as Returns>::Tree)
where
    F: Callable<M> + Function<M> + Send + Sync,
{
    let at = Location::caller();
    let f = |args: &Owned<F, M>| Ok((f.apply(args).finish()?, ()));
    let (out, tangent, ()) = once("jvp", at, || along(&f, F::Args::own(primals), F::Args::own(tangents), at));
    (out, tangent)
}

/// Returns the first part of the pair that `f` returns at `primals`, its derivative along `tangents` as that of
/// [`jvp`], and the second part of the pair, which is not differentiated.
///
/// # Errors
///
/// Those of [`jvp`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::jvp_with_aux;
/// # fn main() -> Result<()> {
/// let f = |x: &Array| (x.square(), x.max(..));
/// let (y, dy, largest) = jvp_with_aux(f, &array(&[3.0f32, 4.0]), &array(&[1.0f32, 0.5]));
/// assert_eq!((y.to_vec::<f32>()?, dy.to_vec::<f32>()?), (vec![9.0, 16.0], vec![6.0, 4.0]));
/// assert_eq!(largest.item::<f32>()?, 4.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jvp_with_aux<M, F>(
    f: F,
    primals: <F::Args as Args>::Tuple<'_>,
    tangents: <F::Args as Args>::Tuple<'_>,
) -> (Value<F, M>, Value<F, M>, Further<F, M>)
where
    F: Callable<M> + Function<M> + Send + Sync,
    F::Out: HasAux,
{
    let at = Location::caller();
    let f = |args: &Owned<F, M>| Ok(F::Out::split(f.apply(args).finish()?));
    once("jvp", at, || along(&f, F::Args::own(primals), F::Args::own(tangents), at))
}

/// Builds `f` at `primals`, the derivative of its first result along `tangents`, and its second result. Fails if `f`
/// does, if the tangents have other types or another form, or if an op has no derivative.
fn along<T: Tree, R: Tree, X: Tree>(f: WithFurther<'_, T, R, X>, primals: T, tangents: T, at: At) -> Result<(R, R, X)> {
    let given = tangents_of("jvp", "tangent", "arg", &primals, &tangents, at)?;
    let traced = Traced::of(f, &primals, at)?;
    let derived = traced.transformed(|m, f| shardwise_transform::jvp(m, f, &all_smooth(&primals)))?;
    let results = traced.run(&derived, &primals, &given, at)?;
    let (values, derivatives) = results.split_at(tree::leaves(&traced.out).len());
    let (out, aux) = tree::with_leaves(&traced.out, values.to_vec());
    let tangent = with_smooth(&traced.out.0, derivatives, at);
    Ok((out, tangent, aux))
}

/// Returns the leaves of `given`, the tangents or cotangents of `own`, that belong to floats and complex numbers.
/// `what` and `root` name them in messages.
///
/// At leaves of integers and bools, `given` has a `float0` array, whose shape is not checked, or an array of the leaf's
/// type. Both are ignored.
///
/// Errors: `tree-form` if the forms differ, and `transform-types` for a leaf of another type.
pub(super) fn tangents_of<'a, T: Tree>(
    name: &str,
    what: &str,
    root: &str,
    own: &'a T,
    given: &'a T,
    at: At,
) -> Result<Vec<&'a Array>> {
    let Some(pairs) = tree::pairs(own, given) else {
        let message = format!("the {what}s do not have the form of what they belong to");
        return Err(Error::one(mistakes::form(name, &message, &context::loc(at))));
    };
    let paired: Vec<_> = pairs.iter().map(|(path, a, b)| (format!("{root}{path}"), *a, *b)).collect();
    let needed = |(_, own, given): &&(String, &'a Array, &'a Array)| is_smooth(own) || !given.is_float0();
    let needed: Vec<_> = paired.iter().filter(needed).cloned().collect();
    same_types(name, what, &needed, at)?;
    Ok(needed.iter().filter(|(_, own, _)| is_smooth(own)).map(|(_, _, given)| *given).collect())
}

/// Returns the tree with these leaves in place of floats and complex numbers, and `float0` arrays in place of others.
pub(super) fn with_smooth<T: Tree>(tree: &T, leaves: &[Array], at: At) -> T {
    let mut leaves = leaves.iter().cloned();
    tree.rebuild(&mut |a| match is_smooth(a) {
        true => leaves.next().expect("one for each float"),
        false => Array::float0(a.tensor().clone(), at),
    })
}

/// A function to a tree that is differentiated, and to one that is not.
type WithFurther<'a, T, R, X> = &'a dyn Fn(&T) -> Result<(R, X)>;

/// A function from cotangents of the results to cotangents of the arguments.
pub type Pullback<R, T> = Transform<'static, (&'static R,), T>;

type Results<F, M> = <<F as Function<M>>::Out as Returns>::Tree;
type Owned<F, M> = <<F as Function<M>>::Args as Args>::Owned;
type ResultAndPullback<F, M> = (Results<F, M>, Pullback<Results<F, M>, Owned<F, M>>);
/// The part of a function's results that is differentiated.
type Value<F, M> = <<F as Function<M>>::Out as HasAux>::Value;
type Further<F, M> = <<F as Function<M>>::Out as HasAux>::Further;
type ValuePullbackAndAux<F, M> = (Value<F, M>, Pullback<Value<F, M>, Owned<F, M>>, Further<F, M>);

/// Returns the result of `f` at `primals`, and the function that takes a cotangent of the result, a tree like it, and
/// returns the cotangents of the arguments: reverse mode. The arguments of `f` are a tuple if there are several, and so
/// are their cotangents.
///
/// `f` runs once. The returned function keeps the values of `f` that it needs, and may be called several times. The
/// cotangents of integers and bools are [`float0`] arrays.
///
/// # Errors
///
/// This function has the errors of [`grad`] except `grad-scalar` and `grad-integer`. The function that it returns
/// reports `transform-types` for each leaf of the cotangent that does not have the shape and dtype of its result, and
/// `tree-form`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::vjp;
/// # fn main() -> Result<()> {
/// let (y, pullback) = vjp(|x: &Array| x.square(), &array(&[3.0f32, 4.0]));
/// assert_eq!(y.to_vec::<f32>()?, [9.0, 16.0]);
/// assert_eq!(pullback(&array(&[1.0f32, 0.5])).to_vec::<f32>()?, [6.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn vjp<M, F>(f: F, primals: <F::Args as Args>::Tuple<'_>) -> ResultAndPullback<F, M>
where
    F: Callable<M> + Function<M> + Send + Sync,
{
    let at = Location::caller();
    let (out, (), pullback) = pulled_back(&|args| Ok((f.apply(args).finish()?, ())), F::Args::own(primals), at);
    (out, pullback)
}

/// Returns the first part of the pair that `f` returns at `primals`, the function that takes a cotangent of it as that
/// of [`vjp`], and the second part of the pair, which is not differentiated.
///
/// # Errors
///
/// Those of [`vjp`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::vjp_with_aux;
/// # fn main() -> Result<()> {
/// let (y, pullback, largest) = vjp_with_aux(|x: &Array| (x.square(), x.max(..)), &array(&[3.0f32, 4.0]));
/// assert_eq!((y.to_vec::<f32>()?, largest.item::<f32>()?), (vec![9.0, 16.0], 4.0));
/// assert_eq!(pullback(&ones([2], F32)).to_vec::<f32>()?, [6.0, 8.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn vjp_with_aux<M, F>(f: F, primals: <F::Args as Args>::Tuple<'_>) -> ValuePullbackAndAux<F, M>
where
    F: Callable<M> + Function<M> + Send + Sync,
    F::Out: HasAux,
{
    let at = Location::caller();
    let (out, aux, pullback) =
        pulled_back(&|args| Ok(F::Out::split(f.apply(args).finish()?)), F::Args::own(primals), at);
    (out, pullback, aux)
}

fn pulled_back<T: Tree, R: Tree, X: Tree>(f: WithFurther<'_, T, R, X>, primals: T, at: At) -> (R, X, Pullback<R, T>) {
    let Once { out, aux, rest, wrt } = run_once("vjp", f, &primals, at, shardwise_transform::vjp_of);
    let like_out = out.rebuild(&mut |a| Array::type_only(a.sharded().clone(), at));
    let pullback = Transform::new("vjp", at, (), move |ct: &R, at| {
        let given = tangents_of("vjp", "cotangent", "cotangent", &like_out, ct, at)?;
        let gradients = rest.run(&given, at)?;
        let mut leaf = 0;
        Ok(primals.rebuild(&mut |a| {
            let own = wrt.iter().position(|&w| w == leaf);
            leaf += 1;
            own.map_or_else(|| Array::float0(a.tensor().clone(), at), |i| like(a, &gradients[i]))
        }))
    });
    (out, aux, pullback)
}

/// A function that ran, and the rest of its derivative.
struct Once<R, X> {
    /// The results that are differentiated.
    out: R,
    aux: X,
    /// The function of tangents or cotangents.
    rest: Linear,
    /// The leaves of the arguments that have derivatives, as ascending indices of all leaves.
    wrt: Vec<usize>,
}

/// Runs `f`, and keeps the rest of its derivative. `derived` returns the derivative of a function with respect to some
/// arguments, of as many of its first results that are floats or complex numbers as its last argument says. If `f`
/// fails or has no derivative, ends the active trace, or panics outside of a trace.
fn run_once<T: Tree, R: Tree, X: Tree>(
    name: &'static str,
    f: WithFurther<'_, T, R, X>,
    primals: &T,
    at: At,
    derived: impl Fn(&Module, &Func, &[usize], usize) -> std::result::Result<Func, Diagnostics>,
) -> Once<R, X> {
    let mut linear = None;
    let made = attempt(name, at, || {
        let traced = Traced::of(f, primals, at)?;
        let wrt = all_smooth(primals);
        let count = tree::leaves(&traced.out.0).into_iter().filter(|a| is_smooth(a)).count();
        let derived = traced.transformed(|m, f| derived(m, f, &wrt, count))?;
        let (results, rest) = traced.run_split(&derived, primals, at)?;
        let kept = rest.residuals.clone();
        linear = Some((rest, wrt));
        Ok((tree::with_leaves(&traced.out, results), kept))
    });
    let ((out, aux), residuals) = or_end(made);
    let (mut rest, wrt) = linear.expect("it ran to its end");
    rest.residuals = residuals;
    Once { out, aux, rest, wrt }
}

/// A linear function, which takes tangents of the arguments and returns the tangent of the result.
pub type Linearized<A, R> = Transform<'static, A, R>;

type ResultAndTangent<F, M> = (Results<F, M>, Linearized<<F as Function<M>>::Args, Results<F, M>>);
type ValueTangentAndAux<F, M> = (Value<F, M>, Linearized<<F as Function<M>>::Args, Value<F, M>>, Further<F, M>);

/// Returns the result of `f` at `primals`, and the derivative of `f` there: a linear function that takes tangents of
/// the arguments, in the form of the arguments, and returns the tangent of the result. It is called as `f` is.
///
/// `f` runs once. The returned function keeps the values of `f` that it needs, and may be called several times.
///
/// # Errors
///
/// This function has the errors of [`jvp`], and `loop-length` for a loop whose number of steps is not known. The
/// function that it returns reports `transform-types` for each tangent that does not have the shape and dtype of its
/// argument, and `tree-form`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linearize;
/// # fn main() -> Result<()> {
/// let (y, tangent) = linearize(|x: &Array| x.square(), &array(&[3.0f32, 4.0]));
/// assert_eq!(y.to_vec::<f32>()?, [9.0, 16.0]);
/// assert_eq!(tangent(&array(&[1.0f32, 0.5])).to_vec::<f32>()?, [6.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn linearize<M, F>(f: F, primals: <F::Args as Args>::Tuple<'_>) -> ResultAndTangent<F, M>
where
    F: Callable<M> + Function<M> + Send + Sync,
    F::Args: 'static,
{
    let at = Location::caller();
    let (out, (), tangent) =
        linearized::<F::Args, _, _>(&|args| Ok((f.apply(args).finish()?, ())), F::Args::own(primals), at);
    (out, tangent)
}

/// Returns the first part of the pair that `f` returns at `primals`, its derivative there, a linear function as that of
/// [`linearize`], and the second part of the pair, which is not differentiated.
///
/// # Errors
///
/// Those of [`linearize`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::linearize_with_aux;
/// # fn main() -> Result<()> {
/// let (y, tangent, largest) = linearize_with_aux(|x: &Array| (x.square(), x.max(..)), &array(&[3.0f32, 4.0]));
/// assert_eq!((y.to_vec::<f32>()?, largest.item::<f32>()?), (vec![9.0, 16.0], 4.0));
/// assert_eq!(tangent(&array(&[1.0f32, 0.5])).to_vec::<f32>()?, [6.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn linearize_with_aux<M, F>(f: F, primals: <F::Args as Args>::Tuple<'_>) -> ValueTangentAndAux<F, M>
where
    F: Callable<M> + Function<M> + Send + Sync,
    F::Args: 'static,
    F::Out: HasAux,
{
    let at = Location::caller();
    let (out, aux, tangent) =
        linearized::<F::Args, _, _>(&|args| Ok(F::Out::split(f.apply(args).finish()?)), F::Args::own(primals), at);
    (out, tangent, aux)
}

fn linearized<A: Args + 'static, R: Tree, X: Tree>(
    f: WithFurther<'_, A::Owned, R, X>,
    primals: A::Owned,
    at: At,
) -> (R, X, Linearized<A, R>) {
    let Once { out, aux, rest, .. } = run_once("linearize", f, &primals, at, shardwise_transform::linearize_of);
    let like_out = out.rebuild(&mut |a| Array::type_only(a.sharded().clone(), at));
    let tangent = Transform::new("linearize", at, (), move |tangents: &A::Owned, at| {
        let given = tangents_of("linearize", "tangent", "arg", &primals, tangents, at)?;
        Ok(with_smooth(&like_out, &rest.run(&given, at)?, at))
    });
    (out, aux, tangent)
}
