//! The arguments with respect to which a function is differentiated.

use crate::function::HasArgument;
use crate::{Args, Array, Tree};
use std::ops::Range;

/// The position of an argument, counted from 0: `Nth::<1>` is the second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nth<const I: usize>;

/// Types that select arguments of a function that takes `A`: [`Nth::<1>`](Nth), or a tuple of positions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select arguments of this function",
    label = "expected `Nth::<0>`, or a tuple of positions as `(Nth::<0>, Nth::<2>)`",
    note = "positions are counted from 0, and each must be that of an argument"
)]
pub trait Positions<A: Args>: Copy + Send + Sync + 'static {
    /// The tree of the selected arguments: one argument as itself, or several as a tuple.
    type Picked: Tree;
    /// Returns the selected arguments.
    #[doc(hidden)]
    fn pick(args: &A::Owned) -> Self::Picked;
    /// Adds the positions, in order.
    #[doc(hidden)]
    fn positions(out: &mut Vec<usize>);
}

impl<const I: usize, A: HasArgument<I>> Positions<A> for Nth<I> {
    type Picked = A::Argument;
    fn pick(args: &A::Owned) -> A::Argument {
        A::argument(args).rebuild_clone()
    }
    fn positions(out: &mut Vec<usize>) {
        out.push(I);
    }
}

/// Positions of arguments that are arrays, with the type of a matrix over them.
pub trait NthArray<A: Args>: Positions<A> {
    /// The blocks of a matrix: one array for one position, and for several a tuple of rows, which are tuples of arrays.
    type Square: Tree;
    /// Returns the matrix of these blocks, row by row.
    #[doc(hidden)]
    fn square(blocks: Vec<Array>) -> Self::Square;
    #[doc(hidden)]
    fn row(blocks: &mut dyn Iterator<Item = Array>) -> Self::Picked;
}

impl<const I: usize, A: HasArgument<I, Argument = Array>> NthArray<A> for Nth<I> {
    type Square = Array;
    fn square(mut blocks: Vec<Array>) -> Array {
        blocks.pop().expect("there is one block")
    }
    fn row(blocks: &mut dyn Iterator<Item = Array>) -> Array {
        blocks.next().expect("a block for each position")
    }
}

macro_rules! positions {
    ($($p:ident),+; $row:tt) => {
        impl<Args_: Args, $($p: Positions<Args_>),+> Positions<Args_> for ($($p,)+) {
            type Picked = ($($p::Picked,)+);
            fn pick(args: &Args_::Owned) -> Self::Picked { ($($p::pick(args),)+) }
            fn positions(out: &mut Vec<usize>) { $($p::positions(out);)+ }
        }
        impl<Args_: Args, $($p: NthArray<Args_, Picked = Array>),+> NthArray<Args_> for ($($p,)+) {
            type Square = ($(positions!(@row $p $row),)+);
            fn square(blocks: Vec<Array>) -> Self::Square {
                let mut blocks = blocks.into_iter();
                ($({ let row: positions!(@row $p $row) = Self::row(&mut blocks); row },)+)
            }
            fn row(blocks: &mut dyn Iterator<Item = Array>) -> Self::Picked { ($($p::row(blocks),)+) }
        }
    };
    (@row $p:ident [$($a:ident),+]) => { ($($a,)+) };
}
positions!(P; [Array]);
positions!(P, Q; [Array, Array]);
positions!(P, Q, R; [Array, Array, Array]);
positions!(P, Q, R, S; [Array, Array, Array, Array]);

/// Returns the leaves of the selected arguments, as indices of all leaves.
pub(super) fn selected<A: Args, S: Positions<A>>(args: &A::Owned) -> Vec<usize> {
    let counts = A::leaf_counts(args);
    let range = |i: usize| -> Range<usize> {
        let start: usize = counts[..i].iter().sum();
        start..start + counts[i]
    };
    let mut positions = vec![];
    S::positions(&mut positions);
    positions.into_iter().flat_map(range).collect()
}
