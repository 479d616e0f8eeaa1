//! The functions with formulas as types. A generic function that takes such a type is compiled with the formula in
//! line, for the instructions of its own level. A closure is not always compiled in line, and then lacks these
//! instructions.
#![forbid(unsafe_code)]

use crate::simd::{Vector, Word};
use shardwise_mathfn::with_functions;

/// A function of one float.
pub(crate) trait Unary {
    fn one<W: Word>(a: W) -> W;
    /// Computes what [`Unary::one`] computes for each lane of a vector.
    fn many<V: Vector>(a: V) -> V;
}

/// A function of two floats.
pub(crate) trait Binary {
    fn one<W: Word>(a: W, b: W) -> W;
    /// Computes what [`Binary::one`] computes for each lane of two vectors.
    fn many<V: Vector>(a: V, b: V) -> V;
}

macro_rules! types {
    (unary_functions { $($_op:ident $unary:ident $unary_fn:ident $($_names:ident)*,)* }
     binary_functions { $($_op2:ident $binary:ident $binary_fn:ident $($_names2:ident)*,)* }) => {
        $(
            pub(crate) struct $unary;

            impl Unary for $unary {
                #[inline(always)]
                fn one<W: Word>(a: W) -> W {
                    a.$unary_fn()
                }
                #[inline(always)]
                fn many<V: Vector>(a: V) -> V {
                    a.$unary_fn()
                }
            }
        )*
        types!(@binary $($binary $binary_fn)* Rem frem);
    };
    (@binary $($binary:ident $binary_fn:ident)*) => {$(
        pub(crate) struct $binary;

        impl Binary for $binary {
            #[inline(always)]
            fn one<W: Word>(a: W, b: W) -> W {
                a.$binary_fn(b)
            }
            #[inline(always)]
            fn many<V: Vector>(a: V, b: V) -> V {
                a.$binary_fn(b)
            }
        }
    )*};
}

with_functions! { types! }
