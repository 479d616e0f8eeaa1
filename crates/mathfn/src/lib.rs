//! Mathematical functions whose results are the same bits on every machine and in every engine.
//!
//! The one idea: each `f32` function of [`formula`] is one formula over [`Lanes`], a handful of operations that IEEE
//! 754 rounds exactly (add, fused multiply-add, divide, square root, bit tricks). A plain `f32` is one lane; a vector
//! register is many. So the reference interpreter, which calls [`exp_f32`], and an engine, which calls [`formula::exp`]
//! on registers, agree **bitwise**.
//!
//! Most `f64` functions, and most `f32` functions that no engine vectorises, are those of the `libm` crate (the latter
//! rounded once from `f64`). The others, such as [`erf_inv_f64`], [`digamma_f64`] and [`zeta_f64`], are computed here.
//! [`pow_f32`] is computed in `f64` without branches, so that compilers make vectors of it ([`powers`]). So are several
//! functions of `f64` for arrays, with the bits of those of one number ([`several`]).
//! [`order`] fixes the order in which reductions add.
//!
//! ```
//! use shardwise_mathfn::{exp_f32, tanh_f32};
//! assert_eq!(exp_f32(0.0), 1.0);
//! assert_eq!(tanh_f32(-40.0), -1.0);
//! ```
#![forbid(unsafe_code)]

mod double;
pub mod formula;
mod functions;
mod gamma;
pub mod lanes;
pub mod order;
mod power;
mod scalar;
pub mod several;
mod special;

pub use functions::*;
pub use gamma::*;
pub use lanes::Lanes;
pub use power::*;
pub use scalar::*;
pub use special::*;
