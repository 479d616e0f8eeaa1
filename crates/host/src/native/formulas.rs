//! Functions with formulas, which machine code calls with values in registers.

use crate::block::functions::{self, Binary, Unary};
use crate::block::machine::Op;
use crate::simd::{Avx2, Portable, Vector, Word};
use shardwise_mathfn::with_functions;
use std::arch::x86_64::{__m128, __m128d};

/// A function that machine code calls.
#[derive(Clone, Copy)]
pub(crate) struct Formula {
    /// The address of the function of one word.
    pub word: usize,
    /// The address of the function of a vector of words, or `None` if there is none.
    pub vector: Option<usize>,
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

#[expect(improper_ctypes_definitions, reason = "a vector is passed in a register on x86-64")]
#[target_feature(enable = "avx2,fma,f16c")]
extern "sysv64" fn wide_vector<F: Unary>(a: __m128d) -> __m128d {
    let words = Portable::<u64, 2>::read(bytemuck::cast_ref::<__m128d, [u64; 2]>(&a));
    let mut results = [0; 2];
    F::many(words).write(&mut results);
    bytemuck::cast(results)
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
        /// Returns the function that computes an operation on words of 64 or 32 bits, or `None` for operations without
        /// one.
        pub(crate) fn formula(op: Op, is_wide: bool) -> Option<Formula> {
            Some(match (op, is_wide) {
                $((Op::$unary, true) => Formula {
                    word: unary::<functions::$unary, u64> as *const () as usize,
                    vector: of_op!(@$how wide_vector $unary),
                },)*
                $((Op::$unary, false) => Formula {
                    word: unary::<functions::$unary, u32> as *const () as usize,
                    vector: of_op!(@$how vector $unary),
                },)*
                $((Op::$binary, true) => Formula {
                    word: binary::<functions::$binary, u64> as *const () as usize,
                    vector: None,
                },)*
                $((Op::$binary, false) => Formula {
                    word: binary::<functions::$binary, u32> as *const () as usize,
                    vector: of_op!(@$how2 vectors $binary),
                },)*
                (Op::FRem, true) => Formula {
                    word: binary::<functions::Rem, u64> as *const () as usize,
                    vector: None,
                },
                (Op::FRem, false) => Formula {
                    word: binary::<functions::Rem, u32> as *const () as usize,
                    vector: of_op!(@formula vectors Rem),
                },
                _ => return None,
            })
        }
    };
    (@formula $vector:ident $function:ident) => { Some($vector::<functions::$function> as *const () as usize) };
    (@scalar $_vector:ident $_function:ident) => { None };
}

with_functions! { of_op! }
