//! Functions with formulas, which machine code calls with values in registers.

use crate::block::functions::{self, Binary, Unary};
use crate::block::machine::Op;
use crate::simd::{Avx2, Word};
use shardwise_mathfn::with_functions;
use std::arch::x86_64::__m128;

/// A function that machine code calls.
#[derive(Clone, Copy)]
pub struct Formula {
    /// The address of the function of words of 32 bits.
    pub narrow: usize,
    /// True if that function takes vectors of four lanes.
    pub takes_vectors: bool,
    /// The address of the function of words of 64 bits.
    pub wide: usize,
}

#[expect(improper_ctypes_definitions, reason = "a vector is passed in a register on x86-64")]
#[target_feature(enable = "avx2,fma,f16c")]
extern "sysv64" fn vector<F: Unary>(a: __m128) -> __m128 {
    F::many(Avx2::from_half(a)).half()
}

#[expect(improper_ctypes_definitions, reason = "a vector is passed in a register on x86-64")]
#[target_feature(enable = "avx2,fma,f16c")]
extern "sysv64" fn vectors<F: Binary>(a: __m128, b: __m128) -> __m128 {
    F::many(Avx2::from_half(a), Avx2::from_half(b)).half()
}

#[target_feature(enable = "avx2,fma,f16c")]
extern "sysv64" fn unary<F: Unary, W: Word>(a: W) -> W {
    F::one(a)
}

#[target_feature(enable = "avx2,fma,f16c")]
extern "sysv64" fn binary<F: Binary, W: Word>(a: W, b: W) -> W {
    F::one(a, b)
}

macro_rules! of_op {
    (unary_functions { $($_op:ident $unary:ident $_unary_fn:ident $_f32:ident $_f64:ident $how:ident,)* }
     binary_functions { $($_op2:ident $binary:ident $_binary_fn:ident $_f32_2:ident $_f64_2:ident $how2:ident,)* }) => {
        /// Returns the function that computes an operation, or `None` for operations without one.
        pub fn formula(op: Op) -> Option<Formula> {
            Some(match op {
                $(Op::$unary => of_op!(@$how vector unary $unary),)*
                $(Op::$binary => of_op!(@$how2 vectors binary $binary),)*
                Op::FRem => of_op!(@formula vectors binary Rem),
                _ => return None,
            })
        }
    };
    (@formula $vector:ident $word:ident $function:ident) => {
        Formula {
            narrow: $vector::<functions::$function> as *const () as usize,
            takes_vectors: true,
            wide: $word::<functions::$function, u64> as *const () as usize,
        }
    };
    (@scalar $_vector:ident $word:ident $function:ident) => {
        Formula {
            narrow: $word::<functions::$function, u32> as *const () as usize,
            takes_vectors: false,
            wide: $word::<functions::$function, u64> as *const () as usize,
        }
    };
}

with_functions! { of_op! }
