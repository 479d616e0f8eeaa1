//! Matrices of derivatives.

use super::arguments::{NthArray, Positions};
use super::batch::batch_of;
use super::derivative::{Derivative, DerivativeKind, First, Loss, WithAux, smooth};
use super::is_smooth;
use super::traced::Traced;
use crate::array::Array;
use crate::function::{At, HasArgument};
use crate::tree::{self, Tree};
use crate::{Args, Callable, Function, Result, hlo};
use shardwise_base::DType;
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

/// Returns the Jacobian of a function that returns one array, computed in forward mode, one column for each element of
/// the first argument: `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`. If the argument is a tree, the
/// result is a tree like it.
///
/// [`argnums`](super::Transform::argnums) selects other arguments. If the function returns a pair, the Jacobian is that
/// of the first part, and [`has_aux`](super::Transform::has_aux) also returns the second.
///
/// # Errors
///
/// `grad-integer` for each leaf of the argument that is neither a float nor a complex number, and those of
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
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn jacfwd<'f, M, F>(f: F) -> First<'f, F, M, Jacfwd>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0> + 'f,
    F::Out: Loss,
{
    Derivative::of(f, Location::caller())
}

/// Returns the Jacobian of a function that returns one array, computed in reverse mode, one row for each element of the
/// result: `f32[n..] -> f32[m..]` becomes `f32[n..] -> f32[m.., n..]`. If the argument is a tree, the result is a tree
/// like it.
///
/// It has the options of [`jacfwd`], and [`allow_int`](super::Transform::allow_int).
///
/// # Errors
///
/// `grad-integer` for each leaf of the argument that is neither a float nor a complex number, and those of
/// [`vjp`](super::vjp).
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
    F::Out: Loss,
{
    Derivative::of(f, Location::caller())
}

/// Returns the matrix of second derivatives of a function to a real scalar, with respect to its first argument, which
/// is an array: `f32[n..] -> f32[]` becomes `f32[n..] -> f32[n.., n..]`.
///
/// It has the options of [`jacfwd`]. For several selected arguments, the result is a tuple of the rows of blocks, which
/// are tuples.
///
/// # Errors
///
/// Those of [`grad`](super::grad) and [`jvp`](super::jvp).
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
#[track_caller]
pub fn hessian<'f, M, F>(f: F) -> First<'f, F, M, Hessian>
where
    F: Callable<M> + Function<M> + Send + Sync + 'f,
    F::Args: HasArgument<0, Argument = Array> + 'f,
    F::Out: Loss,
{
    Derivative::of(f, Location::caller())
}

macro_rules! kinds {
    ($($kind:ident $name:literal $positions:ident $out:ident $compute:ident),+) => { $(
        impl<A: Args, O: Loss, S: $positions<A>> DerivativeKind<A, O, S> for $kind {
            const NAME: &'static str = $name;
            type Out = S::$out;
            fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
                d.$compute(args, at)
            }
        }
        impl<A: Args, O: Loss, S: $positions<A>> DerivativeKind<A, O, S> for WithAux<$kind> {
            const NAME: &'static str = $name;
            type Out = (S::$out, O::Aux);
            fn compute(d: &Derivative<'_, A, O, S, Self>, args: &A::Owned, at: At) -> Result<Self::Out> {
                Ok((d.$compute(args, at)?, O::parts((d.f)(args)?).1))
            }
        }
    )+ };
}
kinds!(
    Jacfwd "jacfwd" Positions Picked jacobian_forward,
    Jacrev "jacrev" Positions Picked jacobian_reverse,
    Hessian "hessian" NthArray Square second_derivatives
);

impl<A: Args, O: Loss, S: Positions<A>, K> Derivative<'_, A, O, S, K> {
    fn value(&self, args: &A::Owned) -> Result<Array> {
        Ok(O::parts((self.f)(args)?).0)
    }

    fn jacobian_forward(&self, args: &A::Owned, at: At) -> Result<S::Picked> {
        let leaves = self.leaves(args, at)?;
        let all = tree::leaves(args);
        let block = |leaf: usize| {
            let column = |dx: &Array| tangent_by(&|args| self.value(args), args, leaf, dx, at);
            Ok(columns_last(&batch_of(&column, &basis(all[leaf]), at)?, all[leaf]))
        };
        let blocks = leaves.into_iter().map(block).collect::<Result<Vec<Array>>>()?;
        Ok(tree::with_leaves(&S::pick(args), blocks))
    }

    fn jacobian_reverse(&self, args: &A::Owned, at: At) -> Result<S::Picked> {
        let leaves = self.leaves(args, at)?;
        let wrt = smooth(args, &leaves);
        let out = Traced::of(|args| self.value(args), args, at)?.out;
        let row = |ct: &Array| {
            let traced = Traced::of(|args| self.value(args), args, at)?;
            let derived = traced.transformed(|m, f| shardwise_transform::vjp(m, f, &wrt))?;
            let mut results = traced.run(&derived, args, &[ct], at)?;
            Ok(results.split_off(results.len() - wrt.len()))
        };
        let rows = batch_of(&row, &basis(&out), at)?;
        let mut leaves = leaves.iter();
        Ok(S::pick(args).rebuild(&mut |x| {
            let leaf = leaves.next().expect("one for each leaf");
            let shape = [&out.tensor().shape[..], &x.tensor().shape].concat();
            match wrt.iter().position(|w| w == leaf) {
                Some(i) => rows[i].reshape(shape),
                None => Array::float0(TensorType::new(DType::I1, shape), at),
            }
        }))
    }
}

impl<A: Args, O: Loss, S: NthArray<A>, K> Derivative<'_, A, O, S, K> {
    fn second_derivatives(&self, args: &A::Owned, at: At) -> Result<S::Square> {
        let leaves = self.leaves(args, at)?;
        let wrt = smooth(args, &leaves);
        let all = tree::leaves(args);
        let gradient = |args: &A::Owned| -> Result<Vec<Array>> {
            let traced = Traced::of(|args| (self.f)(args), args, at)?;
            let derived = traced.transformed(|m, f| shardwise_transform::value_and_gradient(m, f, &wrt))?;
            let mut results = traced.run(&derived, args, &[], at)?;
            let gradients = results.split_off(results.len() - wrt.len());
            let of = |leaf: &usize| gradients[wrt.iter().position(|w| w == leaf).expect("it is smooth")].clone();
            Ok(leaves.iter().map(of).collect())
        };
        // The block (i, j) is the derivative of the gradient of i along the elements of j.
        let columns = leaves.iter().map(|&leaf| {
            let column = |dx: &Array| tangent_by(&gradient, args, leaf, dx, at);
            let columns = batch_of(&column, &basis(all[leaf]), at)?;
            Ok(columns.iter().map(|c| columns_last(c, all[leaf])).collect())
        });
        let columns = columns.collect::<Result<Vec<Vec<Array>>>>()?;
        let count = leaves.len();
        Ok(S::square((0..count * count).map(|k| columns[k % count][k / count].clone()).collect()))
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

/// Moves the leading dimension, which has an element for each of `x`, behind the others, with the shape of `x`.
fn columns_last(columns: &Array, x: &Array) -> Array {
    let shape = &columns.tensor().shape;
    let order: Vec<usize> = (1..shape.len()).chain([0]).collect();
    let to = [&shape[1..], &x.tensor().shape].concat();
    hlo::transpose(columns, &order).reshape(to)
}
