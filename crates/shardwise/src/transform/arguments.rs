//! The arguments with respect to which a function is differentiated.

use crate::function::HasArgument;
use crate::{Args, Tree};
use std::ops::Range;

/// The position of an argument, counted from 0: `Nth::<1>` is the second one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nth<const I: usize>;

/// Types that select arguments of a function that takes `A`: [`Nth::<1>`](Nth), or a tuple of one to four such types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select arguments of this function",
    label = "expected `Nth::<0>`, or a tuple of positions as `(Nth::<0>, Nth::<2>)`",
    note = "positions are counted from 0, and each must be that of an argument"
)]
pub trait Positions<A: Args>: Copy + Send + Sync + 'static {
    /// The tree of the selected arguments: for a position the argument itself, and for a tuple a tuple.
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

macro_rules! positions {
    ($($p:ident),+) => {
        impl<Args_: Args, $($p: Positions<Args_>),+> Positions<Args_> for ($($p,)+) {
            type Picked = ($($p::Picked,)+);
            fn pick(args: &Args_::Owned) -> Self::Picked { ($($p::pick(args),)+) }
            fn positions(out: &mut Vec<usize>) { $($p::positions(out);)+ }
        }
    };
}
positions!(P);
positions!(P, Q);
positions!(P, Q, R);
positions!(P, Q, R, S);

/// Returns the leaves of the selected arguments, in the order of the positions, as indices of all leaves.
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
