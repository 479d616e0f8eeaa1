//! Transforms of functions: gradients and other derivatives, and batches.
//!
//! ```
//! # use shardwise::prelude::*;
//! # use shardwise::{grad, vmap};
//! # fn main() -> Result<()> {
//! let cube = grad(|x: &Array| x * x * x);
//! assert_eq!(cube(&scalar(2.0, F32)).to_vec::<f32>()?, [12.0]);
//! let of_each = vmap(&cube);
//! assert_eq!(of_each(&array(&[1.0f32, 2.0, 3.0])).to_vec::<f32>()?, [3.0, 12.0, 27.0]);
//! # Ok(())
//! # }
//! ```
//!
//! A transform traces its function as a function of its own, whose captured arrays become arguments that are constant
//! for the transform. The transformed function ([`shardwise_transform`]) is copied into the program, op by op, so that
//! Explicit mode types its ops as those of any other function, and transforms compose in any order.

use crate::array::Array;
use crate::error::Mistakes;
use crate::function::{At, Callee, Wrapped};
use crate::spec::LeafSpec;
use crate::tree::{self, Tree};
use crate::{
    Args, Callable, Error, Function, Result, Returns, context, control, eager, explicit, hlo, mistakes, trace,
};
use shardwise_base::{Diagnostics, EntityVec, Sharding};
use shardwise_ir::{Body, Func, Module, Op, Region, TensorType, Value};
use shardwise_ops::Opcode;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

/// A transformed function, which is called like the function: `grad(f)(&x)`.
pub struct Transform<'f, A: Args, R: 'static> {
    shared: Arc<Shared<'f, A::Owned, R>>,
    call: Box<A::Dyn<'f, R>>,
}

type Apply<'f, T, R> = Box<dyn Fn(&T, At) -> Result<R> + Send + Sync + 'f>;

struct Shared<'f, T, R> {
    /// Builds the results in the active trace.
    apply: Apply<'f, T, R>,
    name: &'static str,
    at: At,
}

impl<'f, A: Args, R: Tree> Transform<'f, A, R> {
    fn new(name: &'static str, at: At, apply: impl Fn(&A::Owned, At) -> Result<R> + Send + Sync + 'f) -> Self {
        let shared = Arc::new(Shared { apply: Box::new(apply), name, at });
        let callee = shared.clone();
        let call = A::bind(Callee::of(&shared), move |args, called| match args {
            Ok(args) => callee.call(&args, called.or(callee.at)),
            Err(e) => R::deliver(Err(e)),
        });
        Transform { shared, call }
    }
}

impl<T: Tree, R: Tree> Shared<'_, T, R> {
    /// Calls the function in the active trace, or as a program of its own.
    fn call(&self, args: &T, at: At) -> R {
        if let Some(wrong) = Mistakes::join(tree::leaves(args).iter().filter_map(|a| a.mistakes())) {
            return R::deliver(Err(wrong.error()));
        }
        if trace::is_tracing() {
            return R::deliver(trace::or_rewind(|| context::within(at, || (self.apply)(args, at))));
        }
        R::deliver(control::as_program(self.name, at, || (self.apply)(args, at)))
    }
}

impl<'f, A: Args, R: 'static> Deref for Transform<'f, A, R> {
    type Target = A::Dyn<'f, R>;
    #[track_caller]
    fn deref(&self) -> &Self::Target {
        Callee::of(&self.shared).begin(Location::caller());
        &self.call
    }
}

impl<A: Args, R: Tree> Callable<Wrapped<A, R>> for Transform<'_, A, R> {}
impl<A: Args, R: Tree> Function<Wrapped<A, R>> for Transform<'_, A, R> {
    type Args = A;
    type Out = R;
    fn apply(&self, args: &A::Owned) -> R {
        self.shared.call(args, self.shared.at)
    }
    fn name(&self) -> &'static str {
        self.shared.name
    }
}
impl<A: Args, R: Tree> Callable<Wrapped<A, R>> for &Transform<'_, A, R> {}
impl<A: Args, R: Tree> Function<Wrapped<A, R>> for &Transform<'_, A, R> {
    type Args = A;
    type Out = R;
    fn apply(&self, args: &A::Owned) -> R {
        (**self).apply(args)
    }
    fn name(&self) -> &'static str {
        (**self).name()
    }
}

impl<A: Args, R: 'static> fmt::Debug for Transform<'_, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.shared.name)
    }
}

// ── derivatives
/// Types that a differentiated function can return: a real scalar, or a pair of it and of results that are not
/// differentiated.
#[diagnostic::on_unimplemented(
    message = "the gradient of a function that returns `{Self}` is not defined",
    label = "expected a function that returns `Array`, or `(Array, T)` with further results in the tree `T`"
)]
pub trait Loss: Returns {}
impl Loss for Array {}
impl<T: Tree> Loss for (Array, T) {}
impl Loss for Result<Array> {}
impl<T: Tree> Loss for Result<(Array, T)> {}

/// Returns the gradient of `f` with respect to its first argument: a function of the same arguments that returns a tree
/// like the first one.
///
/// `f` returns a real scalar. If it returns a pair, the gradient is that of the first part. A gradient has the type of what
/// it belongs to. That of a complex number `x + iy` is `∂f/∂x - i ∂f/∂y`, as in JAX.
///
/// # Errors
///
/// A call reports:
///
/// - `grad-scalar` unless the function returns a real scalar.
/// - `grad-integer` for each leaf of the argument that is neither a float nor a complex number.
/// - `no-derivative` and `no-transpose` for an op that has none, and `loop-length` for a loop whose number of steps is not
///   known, at the lines of the ops.
/// - All mistakes of the function.
///
/// They end the trace. Outside of a trace, the call panics with them.
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
pub fn grad<'f, M, F>(f: F) -> Transform<'f, F::Args, <F::Args as Args>::First>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Out: Loss,
{
    let gradient = gradient_of(f);
    Transform::new("grad", Location::caller(), move |args, at| Ok(gradient(args, at)?.1))
}

/// Returns the value and the gradient of `f` with respect to its first argument, which are computed together: a function of
/// the same arguments that returns what `f` returns and a tree like the first argument.
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
pub fn value_and_grad<'f, M, F>(f: F) -> Transform<'f, F::Args, ValueAndGradient<F, M>>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Out: Loss,
{
    Transform::new("value_and_grad", Location::caller(), gradient_of(f))
}

/// The result of a function, and a tree like its first argument.
type ValueAndGradient<F, M> = (<<F as Function<M>>::Out as Returns>::Tree, <<F as Function<M>>::Args as Args>::First);

fn gradient_of<'f, M, F>(
    f: F,
) -> impl Fn(&<F::Args as Args>::Owned, At) -> Result<ValueAndGradient<F, M>> + Send + Sync + 'f
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
{
    move |args, at| {
        let traced = Traced::of(|args| f.apply(args), args, at)?;
        let first = F::Args::first(args);
        let count = smooth_leaves(first, at)?;
        let wrt: Vec<usize> = (0..count).collect();
        let derived = traced.transformed(|m, f| shardwise_transform::value_and_gradient(m, f, &wrt))?;
        let results = traced.run(&derived, args, &[], at)?;
        let (value, gradient) = results.split_at(results.len() - count);
        Ok((tree::with_leaves(&traced.out, value.to_vec()), like(first, gradient)))
    }
}

/// Returns the tree with these gradients for its leaves. In Explicit mode, each has the layout of its leaf.
fn like<T: Tree>(tree: &T, gradient: &[Array]) -> T {
    let leaves = tree::leaves(tree).into_iter().zip(gradient);
    let laid = leaves.map(|(a, gradient)| match explicit::layout(a) {
        Some(layout) if explicit::layout(gradient).as_ref() != Some(&layout) => reshard(gradient, &layout),
        _ => gradient.clone(),
    });
    tree::with_leaves(tree, laid.collect::<Vec<_>>())
}

/// Returns the result of `f` at `primals`, and the derivative of `f` along `tangents`: forward mode. Both are the arguments
/// of `f`, as a tuple if it has several.
///
/// # Errors
///
/// `grad-integer` for each argument that is neither a float nor a complex number, `transform-types` if a tangent has
/// a type that is not its argument's, and those of [`grad`] but for `grad-scalar` and `no-transpose`.
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
    let (primals, tangents) = (F::Args::own(primals), F::Args::own(tangents));
    once("jvp", at, || {
        let traced = Traced::of(|args| f.apply(args), &primals, at)?;
        let count = smooth_leaves(&primals, at)?;
        same_types("jvp", "tangent", &tree::leaves(&primals), &tree::leaves(&tangents), at)?;
        let wrt: Vec<usize> = (0..count).collect();
        let derived = traced.transformed(|m, f| shardwise_transform::jvp(m, f, &wrt))?;
        let results = traced.run(&derived, &primals, &tree::leaves(&tangents), at)?;
        let values = tree::leaves(&traced.out).len();
        let mut derivatives = results[values..].iter().cloned();
        let tangent = traced.out.rebuild(&mut |a| match is_smooth(a) {
            true => derivatives.next().expect("one for each float"),
            false => hlo::zeros(a.tensor()),
        });
        Ok((tree::with_leaves(&traced.out, results[..values].to_vec()), tangent))
    })
}

/// Returns the result of `f` at `primals`, and the cotangents of the arguments for `cotangent`, that of the result: reverse
/// mode. The arguments of `f` are a tuple if there are several, and so are their cotangents.
///
/// # Errors
///
/// `grad-integer` for each argument that is neither a float nor a complex number, `transform-types` if a cotangent has
/// a type that is not its result's, and those of [`grad`] but for `grad-scalar`.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::vjp;
/// # fn main() -> Result<()> {
/// let (y, dx) = vjp(|x: &Array| x.square(), &array(&[3.0f32, 4.0]), &array(&[1.0f32, 0.5]));
/// assert_eq!((y.to_vec::<f32>()?, dx.to_vec::<f32>()?), (vec![9.0, 16.0], vec![6.0, 4.0]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn vjp<M, F>(
    f: F,
    primals: <F::Args as Args>::Tuple<'_>,
    cotangent: &<F::Out as Returns>::Tree,
) -> (<F::Out as Returns>::Tree, <F::Args as Args>::Owned)
where
    F: Callable<M> + Function<M> + Send + Sync,
{
    let at = Location::caller();
    let primals = F::Args::own(primals);
    once("vjp", at, || {
        let traced = Traced::of(|args| f.apply(args), &primals, at)?;
        let count = smooth_leaves(&primals, at)?;
        let smooth = |tree| tree::leaves(tree).into_iter().filter(|a| is_smooth(a)).collect::<Vec<_>>();
        let given = smooth(cotangent);
        same_types("vjp", "cotangent", &smooth(&traced.out), &given, at)?;
        let wrt: Vec<usize> = (0..count).collect();
        let derived = traced.transformed(|m, f| shardwise_transform::vjp(m, f, &wrt))?;
        let results = traced.run(&derived, &primals, &given, at)?;
        let (value, gradient) = results.split_at(results.len() - count);
        Ok((tree::with_leaves(&traced.out, value.to_vec()), like(&primals, gradient)))
    })
}

/// Returns the Jacobian of a function of one array, computed in forward mode, one column for each element of the argument:
/// `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`.
///
/// # Errors
///
/// Those of [`jvp`].
#[track_caller]
pub fn jacfwd<'f, M, F>(f: F) -> Transform<'f, F::Args, Array>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: Args<Owned = Array>,
    F::Out: Returns<Tree = Array>,
{
    Transform::new("jacfwd", Location::caller(), move |x: &Array, at| {
        let column = |dx: &Array| tangent_of(&f, x, dx, at);
        let columns = batch_of(&column, &basis(x), at)?;
        Ok(columns_last(&columns, x))
    })
}

/// Returns the Jacobian of a function of one array, computed in reverse mode, one row for each element of the result:
/// `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`.
///
/// # Errors
///
/// Those of [`vjp`].
#[track_caller]
pub fn jacrev<'f, M, F>(f: F) -> Transform<'f, F::Args, Array>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: Args<Owned = Array>,
    F::Out: Returns<Tree = Array>,
{
    Transform::new("jacrev", Location::caller(), move |x: &Array, at| jacobian_rows(&|x| f.apply(x).finish(), x, at))
}

/// Returns the matrix of second derivatives of a function of one array to a scalar: `f32[n..] -> f32[]` becomes
/// `f32[n..] -> f32[n.., n..]`.
///
/// # Errors
///
/// Those of [`grad`] and [`jvp`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::hessian;
/// # fn main() -> Result<()> {
/// let second = hessian(|x: &Array| x.i(0) * x.i(1).square());
/// assert_eq!(second(&array(&[2.0f32, 3.0])).to_vec::<f32>()?, [0.0, 6.0, 6.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn hessian<'f, M, F>(f: F) -> Transform<'f, F::Args, Array>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: Args<Owned = Array, First = Array>,
    F::Out: Loss + Returns<Tree = Array>,
{
    let gradient = gradient_of(f);
    Transform::new("hessian", Location::caller(), move |x: &Array, at| {
        let column = |dx: &Array| tangent_by(&|x| Ok(gradient(x, at)?.1), x, dx, at);
        let columns = batch_of(&column, &basis(x), at)?;
        Ok(columns_last(&columns, x))
    })
}

fn tangent_of<M, F>(f: &F, x: &Array, dx: &Array, at: At) -> Result<Array>
where
    F: Callable<M> + Function<M>,
    F::Args: Args<Owned = Array>,
    F::Out: Returns<Tree = Array>,
{
    tangent_by(&|x| f.apply(x).finish(), x, dx, at)
}

fn tangent_by(f: &dyn Fn(&Array) -> Result<Array>, x: &Array, dx: &Array, at: At) -> Result<Array> {
    let traced = Traced::of(f, x, at)?;
    smooth_leaves(x, at)?;
    let derived = traced.transformed(|m, f| shardwise_transform::jvp(m, f, &[0]))?;
    let mut results = traced.run(&derived, x, &[dx], at)?;
    Ok(results.pop().filter(|_| is_smooth(&traced.out)).unwrap_or_else(|| hlo::zeros(traced.out.tensor())))
}

fn jacobian_rows(f: &dyn Fn(&Array) -> Result<Array>, x: &Array, at: At) -> Result<Array> {
    smooth_leaves(x, at)?;
    let out = Traced::of(f, x, at)?.out;
    let row = |ct: &Array| {
        let traced = Traced::of(f, x, at)?;
        let derived = traced.transformed(|m, f| shardwise_transform::vjp(m, f, &[0]))?;
        Ok(traced.run(&derived, x, &[ct], at)?.pop().expect("the cotangent of the argument"))
    };
    let rows = batch_of(&row, &basis(&out), at)?;
    let shape = [&out.tensor().shape[..], &x.tensor().shape].concat();
    Ok(rows.reshape(shape))
}

/// Returns the arrays of the type of `x` with one element 1 and the others 0, along a new leading dimension.
fn basis(x: &Array) -> Array {
    let ty = x.tensor();
    let count: usize = ty.shape.iter().product();
    let [row, column] = [0, 1].map(|dim| hlo::iota(TensorType::new(shardwise_base::DType::I32, [count, count]), dim));
    let unit = hlo::convert(&hlo::compare("EQ", &row, &column), ty.dtype);
    unit.reshape([&[count][..], &ty.shape].concat())
}

/// Moves the leading dimension, which has an element for each of `x`, behind the others, with the shape of `x`.
fn columns_last(columns: &Array, x: &Array) -> Array {
    let shape = &columns.tensor().shape;
    let order: Vec<usize> = (1..shape.len()).chain([0]).collect();
    let to = [&shape[1..], &x.tensor().shape].concat();
    hlo::transpose(columns, &order).reshape(to)
}

// ── batches
/// Returns `f` for a batch: each argument and each result has a new leading dimension, and `f` is computed for each index of
/// it. No loop runs: every op computes the whole batch.
///
/// # Errors
///
/// A call reports `batch-size` if the arguments have leading dimensions of different sizes, or a leaf has none,
/// `no-batch` for an op that has no batch, at the op's line, and all mistakes of the function. They end the trace.
/// Outside of a trace, the call panics with them.
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
pub fn vmap<'f, M, F>(f: F) -> Transform<'f, F::Args, <F::Out as Returns>::Tree>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
{
    Transform::new("vmap", Location::caller(), move |args, at| batch_of(&|args| f.apply(args).finish(), args, at))
}

/// Builds `f` for a batch along the leading dimension of all arguments. Fails unless all arguments have leading
/// dimensions of the same size, or if an op has no batch.
fn batch_of<T: Tree, R: Tree>(f: &dyn Fn(&T) -> Result<R>, args: &T, at: At) -> Result<R> {
    let leaves = tree::paths(args);
    let sizes: Vec<Option<usize>> = leaves.iter().map(|(_, a)| a.tensor().shape.first().copied()).collect();
    let size = sizes.first().copied().flatten();
    let Some(size) = size.filter(|_| sizes.iter().all(|s| *s == size)) else {
        let found: Vec<String> = leaves.iter().map(|(path, a)| format!("arg{path}: {}", a.short_type())).collect();
        return Err(Error::one(mistakes::batch_sizes(&found.join(", "), &context::loc(at))));
    };
    let one = args.rebuild(&mut |a| {
        let ty = a.tensor();
        Array::type_only(
            shardwise_engine::ShardedType { ty: TensorType::new(ty.dtype, &ty.shape[1..]), sharding: None },
            at,
        )
    });
    let traced = Traced::of(f, &one, at)?;
    let mapped: Vec<usize> = (0..leaves.len()).collect();
    let derived = traced.transformed(|m, f| shardwise_transform::vmap(m, f, &mapped, size))?;
    let results = traced.run(&derived, args, &[], at)?;
    Ok(tree::with_leaves(&traced.out, results))
}

// ── tracing and copying
/// Runs `f` in the active trace, or as a program of its own. If `f` fails, its errors are in the result, as in those of
/// other functions of the library.
fn once<R: Tree>(name: &'static str, at: At, f: impl FnOnce() -> Result<R>) -> R {
    if trace::is_tracing() {
        return R::deliver(trace::or_rewind(|| context::within(at, f)));
    }
    R::deliver(control::as_program(name, at, f))
}

fn is_smooth(a: &Array) -> bool {
    shardwise_ops::derivative::has_tangent(a.tensor().dtype)
}

/// Returns the number of leaves of a tree that is differentiated. Fails for each leaf that has no derivative.
fn smooth_leaves<T: Tree>(tree: &T, at: At) -> Result<usize> {
    let leaves = tree::paths(tree);
    let mut wrong = Diagnostics::default();
    for (path, a) in leaves.iter().filter(|(_, a)| !is_smooth(a)) {
        wrong.push(mistakes::grad_integer(&format!("arg{path}"), &a.short_type(), &context::loc(at)));
    }
    wrong.or(leaves.len()).map_err(Error::from)
}

/// Checks that each tangent or cotangent, which `what` names, has the type of what it belongs to. Fails otherwise.
fn same_types(name: &str, what: &str, expected: &[&Array], given: &[&Array], at: At) -> Result<()> {
    let differs = expected.len() != given.len() || expected.iter().zip(given).any(|(a, b)| a.tensor() != b.tensor());
    if !differs {
        return Ok(());
    }
    let show = |list: &[&Array]| list.iter().map(|a| a.short_type()).collect::<Vec<_>>().join(", ");
    Err(Error::one(mistakes::transform_types(name, what, &show(given), &show(expected), &context::loc(at))))
}

/// A function that was traced to be transformed.
struct Traced<R> {
    func: Func,
    /// The result, of which only the form and the types count.
    out: R,
    /// The arrays from outside that the function uses: its last arguments.
    captured: Vec<Array>,
}

impl<R: Tree> Traced<R> {
    /// Traces `f` as a function of its own, for arguments of the types of `args`. Fails with the mistakes of `args`, or if
    /// `f` does.
    fn of<T: Tree, O: Returns<Tree = R>>(f: impl Fn(&T) -> O, args: &T, at: At) -> Result<Traced<R>> {
        let loc = context::loc(at);
        let given: Vec<Array> = tree::leaves(args).into_iter().cloned().collect();
        if let Some(wrong) = Mistakes::join(given.iter().filter_map(|a| a.mistakes())) {
            return Err(wrong.error());
        }
        trace::with(|t| t.open_func("shardwise.transformed", &loc));
        let stand_in = |a: &Array| {
            let ty = a.sharded().clone();
            let layout = explicit::layout(a);
            let arg = eager::argument(&shardwise_engine::ShardedType { sharding: layout, ..ty }, &loc, at);
            arg.made_in(a.node().manual.clone())
        };
        let inner = tree::with_leaves(args, given.iter().map(stand_in).collect::<Vec<_>>());
        let out = context::outside(at, || f(&inner)).finish()?;
        let leaves = tree::leaves(&out);
        let values = trace::operands(&leaves, at).map_err(|wrong| wrong.error())?;
        let types: Vec<_> = leaves.iter().map(|a| a.sharded().clone()).collect();
        let (func, outer) = trace::with(|t| {
            let (func, outer) = t.take_func(&values, &loc);
            (func, outer.into_iter().map(|v| t.traced(v)).collect::<Vec<_>>())
        });
        let captured = outer.into_iter().map(|t| Array::of_traced(t, at)).collect();
        let out = tree::with_leaves(&out, types.into_iter().map(|ty| Array::type_only(ty, at)).collect::<Vec<_>>());
        Ok(Traced { func, out, captured })
    }

    fn transformed(&self, f: impl FnOnce(&Module, &Func) -> std::result::Result<Func, Diagnostics>) -> Result<Func> {
        let module = trace::with(|t| t.module.clone());
        f(&module, &self.func).map_err(Error::from)
    }

    /// Copies the transformed function into the active trace. Its arguments are those of the function, the captured arrays,
    /// then `more`. Fails with the mistakes of its results.
    fn run<T: Tree>(&self, func: &Func, args: &T, more: &[&Array], at: At) -> Result<Vec<Array>> {
        let own = tree::leaves(args).into_iter().cloned();
        let all: Vec<Array> = own.chain(self.captured.iter().cloned()).chain(more.iter().map(|&a| a.clone())).collect();
        Copier::new(func, &all).results(at)
    }
}

/// Returns the copy of a value that has this layout in the transformed function. In Explicit mode, the layout decides one
/// that is ambiguous.
fn laid_out(array: &Array, sharding: &Sharding) -> Array {
    if !explicit::is_typing() {
        return hlo::laid_out(array, sharding);
    }
    let is_pending = array.traced().is_some_and(|v| trace::with(|t| explicit::is_pending(t, v)));
    if is_pending { reshard(array, sharding) } else { array.clone() }
}

/// Returns the array in this layout, by a step of the active trace.
fn reshard(array: &Array, sharding: &Sharding) -> Array {
    let spec = LeafSpec { mesh: Some(crate::Mesh(sharding.mesh.clone())), spec: crate::P::of(sharding) };
    array.shard_at(spec, array.node().at)
}

/// A function that is copied into the active trace, op by op.
struct Copier<'s> {
    body: &'s Body,
    values: EntityVec<Value, Option<Array>>,
}

impl<'s> Copier<'s> {
    fn new(func: &'s Func, args: &[Array]) -> Copier<'s> {
        let mut values = EntityVec::filled(func.body.value_count(), None);
        func.body.args().iter().zip(args).for_each(|(&v, a)| values[v] = Some(a.clone()));
        Copier { body: &func.body, values }
    }

    fn results(mut self, at: At) -> Result<Vec<Array>> {
        context::within(at, || self.ops(self.body.entry()));
        Ok(self.arrays(self.body.results()))
    }

    fn arrays(&self, values: &[Value]) -> Vec<Array> {
        values.iter().map(|&v| self.values[v].clone().expect("ops are copied in order")).collect()
    }

    /// Copies the ops of a region but its terminator.
    fn ops(&mut self, region: Region) {
        let ops = &self.body[region].ops;
        for &op in &ops[..ops.len().saturating_sub(1)] {
            context::copying(&self.body[op].loc, || self.op(op));
        }
    }

    fn op(&mut self, op: Op) {
        let data = &self.body[op];
        let operands = self.arrays(&data.operands);
        let given: Vec<&Array> = operands.iter().collect();
        let opcode = Opcode::of(data.code);
        let layouts: Vec<_> = given.iter().map(|a| explicit::layout(a)).collect();
        let is_loop = opcode == Opcode::While;
        let regions = data.regions.iter().map(|&r| self.region(r, if is_loop { &layouts } else { &[] })).collect();
        let types: Vec<TensorType> = data
            .results
            .iter()
            .map(|&v| self.body.ty(v).as_tensor().expect("traced values are tensors").clone())
            .collect();
        let made = hlo::op_with(opcode, &given, data.attrs.clone(), regions, &types);
        let made = if is_loop { explicit::lay(&made, &layouts) } else { made };
        for (&v, array) in data.results.iter().zip(made) {
            self.values[v] = Some(match self.body.sharding(v) {
                Some(sharding) => laid_out(&array, sharding),
                None => array,
            });
        }
    }

    fn region(&mut self, region: Region, layouts: &[Option<Sharding>]) -> Region {
        let types: Vec<TensorType> = self.body[region]
            .args
            .iter()
            .map(|&v| self.body.ty(v).as_tensor().expect("traced values are tensors").clone())
            .collect();
        hlo::region(&types, |args| {
            let args = explicit::lay(args, layouts);
            for (&v, array) in self.body[region].args.iter().zip(args) {
                self.values[v] = Some(array);
            }
            self.ops(region);
            self.arrays(self.body.region_results(region))
        })
    }
}
