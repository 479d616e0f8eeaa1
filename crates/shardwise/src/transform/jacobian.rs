//! Matrices of derivatives.

use super::arguments::{Nth, Positions};
use super::batch::batch_of;
use super::derivative::{Derivative, DerivativeKind, First, HasAux, WithAux, smooth};
use super::is_smooth;
use super::traced::Traced;
use crate::array::Array;
use crate::function::{At, HasArgument};
use crate::tree::{self, MapLeaves, Tree};
use crate::{Args, Callable, Function, Result, Returns, context, hlo, mistakes};
use shardwise_base::{DType, Diagnostics};
use shardwise_ir::TensorType;
use std::panic::Location;

/// The kind of [`jacfwd`].
#[derive(Debug)]
pub struct Jacfwd(());
/// The kind of [`jacrev`].
#[derive(Debug)]
pub struct Jacrev(());
/// The kind of [`hessian`].
#[derive(Debug)]
pub struct Hessian(());

/// The tree `R` with a `U` in place of each array.
type Each<R, U> = <R as MapLeaves>::With<U>;
/// The tree of the second derivatives of `R` with respect to `P`.
type Second<R, P> = Each<R, Each<P, P>>;

/// Returns the Jacobian of a function, computed in forward mode, one column for each element of the first argument:
/// `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`.
///
/// If the argument is a tree, the result is a tree like it. If the function returns a tree, the result is that tree,
/// and in place of each array it has the Jacobian of this array. That of integers and bools has zeros of their dtype.
///
/// [`argnums`](super::Transform::argnums) selects other arguments: for a tuple of positions, the Jacobian of an array
/// is a tuple. If the function returns a pair, [`has_aux`](super::Transform::has_aux) returns the Jacobian of its first
/// part, and its second part.
///
/// # Shapes
///
/// With `f: {a: f32[n]} -> (f32[m], f32[])`, `jacfwd(f): {a: f32[n]} -> ({a: f32[m, n]}, {a: f32[n]})`.
///
/// # Errors
///
/// `grad-integer` for each leaf of the argument that is neither a float nor a complex number, `no-batch` for an op that
/// has no batch, `too-large` if an array with a row and a column for each element of a leaf is too large, and those of
/// [`jvp`](super::jvp).
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::jacfwd;
/// # fn main() -> Result<()> {
/// let jacobian = jacfwd(|x: &Array| x.square() * x.i(0));
/// assert_eq!(jacobian(&array(&[1.0f32, 2.0])).to_vec::<f32>()?, [3.0, 0.0, 4.0, 4.0]);
/// let of_both = jacfwd(|(x, y): &(Array, Array)| [x * y, x.square()]);
/// let [(xy_x, xy_y), (xx_x, _)] = of_both(&(scalar(2.0, F32), scalar(5.0, F32)));
/// assert_eq!([xy_x, xy_y, xx_x].map(|d| d.item::<f32>().unwrap()), [5.0, 2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jacfwd<'f, M, F>(f: F) -> First<'f, F, M, Jacfwd>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    Jacfwd: DerivativeKind<F::Args, F::Out, Nth<0>>,
{
    Derivative::of(f, Location::caller())
}

/// Returns the Jacobian of a function, computed in reverse mode, one row for each element of the result:
/// `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`.
///
/// Its results for trees and its options are those of [`jacfwd`], and it also has
/// [`allow_int`](super::Transform::allow_int).
///
/// # Shapes
///
/// Those of [`jacfwd`].
///
/// # Errors
///
/// `grad-integer` for each leaf of the argument and of the result that is neither a float nor a complex number,
/// `no-batch` for an op that has no batch, `too-large` if an array with a row and a column for each element of a leaf
/// of the result is too large, and those of [`vjp`](super::vjp).
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{Nth, jacrev};
/// # fn main() -> Result<()> {
/// let jacobian = jacrev(|x: &Array, y: &Array| x * y.i(0)).argnums((Nth::<0>, Nth::<1>));
/// let (dx, dy) = jacobian(&array(&[1.0f32, 2.0]), &array(&[3.0f32]));
/// assert_eq!(dx.to_vec::<f32>()?, [3.0, 0.0, 0.0, 3.0]);
/// assert_eq!((dy.shape().to_vec(), dy.to_vec::<f32>()?), (vec![2, 1], vec![1.0, 2.0]));
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jacrev<'f, M, F>(f: F) -> First<'f, F, M, Jacrev>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    Jacrev: DerivativeKind<F::Args, F::Out, Nth<0>>,
{
    Derivative::of(f, Location::caller())
}

/// Returns the second derivatives of a function with respect to its first argument, computed as the Jacobian in forward
/// mode of the one in reverse mode: `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n.., n..]`.
///
/// If the argument is a tree, the result is a tree of trees like it. The entry at `a`, then at `b`, is the derivative
/// along `b` of the derivative along `a`. If the function returns a tree, the result is that tree with such an entry in
/// place of each array. The options are those of [`jacfwd`]. For a tuple of positions, the result is a tuple of tuples.
///
/// # Shapes
///
/// With `f: {a: f32[n], b: f32[k]} -> f32[]`, `hessian(f)` returns
/// `{a: {a: f32[n, n], b: f32[n, k]}, b: {a: f32[k, n], b: f32[k, k]}}`.
///
/// # Errors
///
/// Fails as [`jacrev`] and [`jacfwd`] do.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::{Nth, hessian};
/// # fn main() -> Result<()> {
/// let second = hessian(|x: &Array| x.i(0) * x.i(1).square());
/// assert_eq!(second(&array(&[2.0f32, 3.0])).to_vec::<f32>()?, [0.0, 6.0, 6.0, 4.0]);
/// let blocks = hessian(|x: &Array, y: &Array| x.square() * y).argnums((Nth::<0>, Nth::<1>));
/// let ((xx, xy), (yx, yy)) = blocks(&scalar(3.0, F32), &scalar(5.0, F32));
/// assert_eq!([xx, xy, yx, yy].map(|b| b.item::<f32>().unwrap()), [10.0, 6.0, 6.0, 0.0]);
/// # Ok(())
/// # }
/// ```
///
/// The argument is a struct:
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::hessian;
/// #[derive(Tree)]
/// struct Line<T = Array> {
///     slope: T,
///     shift: T,
/// }
/// # fn main() -> Result<()> {
/// let line = Line { slope: scalar(3.0, F32), shift: scalar(1.0, F32) };
/// let second = hessian(|l: &Line| (&l.slope * 2.0 + &l.shift).square())(&line);
/// assert_eq!(second.slope.shift.item::<f32>()?, 4.0);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn hessian<'f, M, F>(f: F) -> First<'f, F, M, Hessian>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    Hessian: DerivativeKind<F::Args, F::Out, Nth<0>>,
{
    Derivative::of(f, Location::caller())
}

macro_rules! kinds {
    ($($kind:ident $name:literal $compute:ident($($blocks:ident)?) [$($bound:tt)*] $entry:ty),+) => { $(
        impl<A: Args, O: Returns, S: Positions<A>> DerivativeKind<A, O, S> for $kind
        where
            $($bound)*
            O::Tree: MapLeaves<Leaf = Array>,
            Each<O::Tree, $entry>: Tree,
        {
            const NAME: &'static str = $name;
            type Out = Each<O::Tree, $entry>;
            fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
                d.$compute($($blocks,)? &|args| (d.f)(args), args, at)
            }
        }
        impl<A: Args, O: HasAux, S: Positions<A>> DerivativeKind<A, O, S> for WithAux<$kind>
        where
            $($bound)*
            O::Value: MapLeaves<Leaf = Array>,
            Each<O::Value, $entry>: Tree,
        {
            const NAME: &'static str = $name;
            type Out = (Each<O::Value, $entry>, O::Further);
            fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
                let derivatives = d.$compute($($blocks,)? &|args| Ok(O::split((d.f)(args)?).0), args, at)?;
                Ok((derivatives, O::split((d.f)(args)?).1))
            }
        }
    )+ };
}
kinds!(
    Jacfwd "jacfwd" jacobian(all_columns) [] S::Picked,
    Jacrev "jacrev" jacobian(all_rows) [] S::Picked,
    Hessian "hessian" second_derivatives() [S::Picked: MapLeaves<Leaf = Array>,] Each<S::Picked, S::Picked>
);

type Differentiated<'a, T, R> = &'a dyn Fn(&T) -> Result<R>;

impl<A: Args, O: Returns, S: Positions<A>, K> Derivative<'_, A, O, S, K> {
    /// Returns the Jacobian of `f`, whose blocks `blocks` computes: [`all_columns`] or [`all_rows`]. Fails if `blocks`
    /// does, or if a leaf of the selected arguments has no derivative, unless such leaves are allowed.
    fn jacobian<R: Tree + MapLeaves<Leaf = Array>>(
        &self,
        blocks: impl Fn(Differentiated<'_, A::Owned, R>, &A::Owned, &[usize], At) -> Result<(R, Vec<Vec<Array>>)>,
        f: Differentiated<'_, A::Owned, R>,
        args: &A::Owned,
        at: At,
    ) -> Result<Each<R, S::Picked>> {
        let (out, blocks) = blocks(f, args, &self.leaves(args, at)?, at)?;
        let pick = S::pick(args);
        let row = |k: usize| tree::with_leaves(&pick, blocks[k].iter().cloned());
        Ok(each(&out, row, |y| pick.rebuild(&mut |x| nothing(&[y, x], at))))
    }

    fn second_derivatives<R: Tree + MapLeaves<Leaf = Array>>(
        &self,
        f: Differentiated<'_, A::Owned, R>,
        args: &A::Owned,
        at: At,
    ) -> Result<Second<R, S::Picked>>
    where
        S::Picked: MapLeaves<Leaf = Array>,
    {
        let leaves = self.leaves(args, at)?;
        let out = Traced::of(f, args, at)?.out;
        let rows = |args: &A::Owned| Ok(all_rows(f, args, &leaves, at)?.1);
        let (_, columns) = all_columns(&rows, args, &leaves, at)?;
        let pick = S::pick(args);
        // The arrays of a column are those of the rows: for each result, the derivatives with respect to the leaves.
        let blocks = |k: usize, i: usize| tree::with_leaves(&pick, columns[k * leaves.len() + i].iter().cloned());
        let none = |of: &[&Array]| pick.rebuild(&mut |x| nothing(&[of, &[x]].concat(), at));
        let of_result = |k: usize| each(&pick, |i| blocks(k, i), |x| none(&[x]));
        Ok(each(&out, of_result, |y| pick.map_leaves(&mut |x| none(&[y, x]))))
    }
}

/// Returns the tree with `entry(i)` in place of its leaf number `i`, from 0 on and in order. A `float0` array `a` is
/// not counted as a leaf, and `left_out(a)` is in its place.
fn each<R: MapLeaves<Leaf = Array>, U>(
    tree: &R,
    mut entry: impl FnMut(usize) -> U,
    left_out: impl Fn(&Array) -> U,
) -> Each<R, U> {
    let mut leaf = 0;
    tree.map_leaves(&mut |a| match a.is_float0() {
        true => left_out(a),
        false => {
            leaf += 1;
            entry(leaf - 1)
        }
    })
}

/// Returns the entry of a Jacobian where one of these arrays has no derivative: a `float0` array, whose shape is the
/// shapes of all of them one after the other.
fn nothing(of: &[&Array], at: At) -> Array {
    let shape: Vec<usize> = of.iter().flat_map(|a| a.tensor().shape.to_vec()).collect();
    Array::float0(TensorType::new(DType::I1, shape), at)
}

/// Returns a tree of the form of the result of `f`, and for each array of it the derivatives along the elements of each
/// of the leaves of the arguments. Fails if `f` does, or if an op has no derivative or no batch.
fn all_columns<T: Tree, R: Tree>(
    f: Differentiated<'_, T, R>,
    args: &T,
    leaves: &[usize],
    at: At,
) -> Result<(R, Vec<Vec<Array>>)> {
    let all = tree::leaves(args);
    let columns = leaves.iter().map(|&leaf| {
        let column = |dx: &Array| tangent_by(f, args, leaf, dx, at);
        batch_of(&column, &basis(all[leaf]), at)
    });
    let columns = columns.collect::<Result<Vec<R>>>()?;
    let last = |(c, &leaf): (&R, &usize)| tree::leaves(c).iter().map(|c| columns_last(c, all[leaf])).collect();
    let of_leaves: Vec<Vec<Array>> = columns.iter().zip(leaves).map(last).collect();
    let out = match columns.into_iter().next() {
        Some(column) => column,
        None => Traced::of(f, args, at)?.out,
    };
    let of_result = |k: usize| of_leaves.iter().map(|blocks| blocks[k].clone()).collect();
    let blocks = (0..tree::leaves(&out).len()).map(of_result).collect();
    Ok((out, blocks))
}

/// Returns the result of `f`, of which only the form and the types count, and for each array of it the derivatives with
/// respect to the leaves of the arguments.
///
/// Errors: `grad-integer` for each array of the result that is neither a float nor a complex number, those of `f`, and
/// those of its derivative and of a batch of it.
fn all_rows<T: Tree, R: Tree>(
    f: Differentiated<'_, T, R>,
    args: &T,
    leaves: &[usize],
    at: At,
) -> Result<(R, Vec<Vec<Array>>)> {
    let wrt = smooth(args, leaves);
    let out = Traced::of(f, args, at)?.out;
    let mut wrong = Diagnostics::default();
    for (path, y) in tree::paths(&out).into_iter().filter(|(_, y)| !is_smooth(y)) {
        wrong.push(mistakes::jacobian_integer(&format!("result{path}"), &y.short_type(), &context::loc(at)));
    }
    wrong.or(())?;
    let all = tree::leaves(args);
    let row = |(k, y): (usize, &Array)| {
        let own = |args: &T| Ok(tree::leaves(&f(args)?)[k].clone());
        let rows = gradients_by_row(&own, args, &wrt, y, at)?;
        let block = |leaf: &usize| match wrt.iter().position(|w| w == leaf) {
            Some(i) => rows[i].reshape([&y.tensor().shape[..], &all[*leaf].tensor().shape].concat()),
            None => nothing(&[y, all[*leaf]], at),
        };
        Ok(leaves.iter().map(block).collect())
    };
    let rows = tree::leaves(&out).into_iter().enumerate().map(row).collect::<Result<Vec<_>>>()?;
    Ok((out, rows))
}

/// Returns the gradients of the elements of the result of `f`, which has the type of `y`, with respect to the leaves
/// `wrt` of the arguments: one row for each element, or the gradients themselves if the result is a real scalar. Fails
/// if `f` does, or if an op has no derivative or no batch.
fn gradients_by_row<T: Tree>(
    f: Differentiated<'_, T, Array>,
    args: &T,
    wrt: &[usize],
    y: &Array,
    at: At,
) -> Result<Vec<Array>> {
    let gradients = |ct: Option<&Array>| {
        let traced = Traced::of(f, args, at)?;
        let derived = traced.transformed(|m, f| match ct {
            Some(_) => shardwise_transform::vjp(m, f, wrt),
            None => shardwise_transform::value_and_gradient(m, f, wrt),
        })?;
        let mut results = traced.run(&derived, args, ct.as_slice(), at)?;
        Ok(results.split_off(results.len() - wrt.len()))
    };
    match y.tensor().rank() == 0 && y.tensor().dtype.is_float() {
        true => gradients(None),
        false => batch_of(&|ct: &Array| gradients(Some(ct)), &basis(y), at),
    }
}

/// Returns the derivative of the result of `f` along `dx`, the tangent of one leaf of the arguments. It is zero for
/// results that are neither floats nor complex numbers. Fails if `f` does, or if an op has no derivative.
fn tangent_by<T: Tree, R: Tree>(f: &dyn Fn(&T) -> Result<R>, args: &T, leaf: usize, dx: &Array, at: At) -> Result<R> {
    let traced = Traced::of(f, args, at)?;
    let derived = traced.transformed(|m, f| shardwise_transform::jvp(m, f, &[leaf]))?;
    let results = traced.run(&derived, args, &[dx], at)?;
    let mut tangents = results[tree::leaves(&traced.out).len()..].iter().cloned();
    Ok(traced.out.rebuild(&mut |a| match is_smooth(a) {
        true => tangents.next().expect("one for each float"),
        false => hlo::zeros(a.tensor()),
    }))
}

/// Returns the arrays of the type of `x` with one element 1 and the others 0, along a new leading dimension.
fn basis(x: &Array) -> Array {
    let ty = x.tensor();
    let count: usize = ty.shape.iter().product();
    let [row, column] = [0, 1].map(|dim| hlo::iota(TensorType::new(DType::I32, [count, count]), dim));
    let unit = hlo::convert(&hlo::compare("EQ", &row, &column), ty.dtype);
    unit.reshape([&[count][..], &ty.shape].concat())
}

/// Moves the leading dimension, whose size is the number of elements of `x`, behind the others, and splits it into the
/// dimensions of `x`.
fn columns_last(columns: &Array, x: &Array) -> Array {
    let shape = &columns.tensor().shape;
    let order: Vec<usize> = (1..shape.len()).chain([0]).collect();
    let to = [&shape[1..], &x.tensor().shape].concat();
    hlo::transpose(columns, &order).reshape(to)
}
