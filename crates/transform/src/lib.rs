//! Transforms of functions: derivatives in forward and in reverse mode, and batches. Each takes a function of a module
//! and returns a new function, which can be printed, verified and transformed again.
//!
//! What an op's derivative is, and how it is batched, are facts of the op ([`shardwise_ops::derivative`],
//! [`shardwise_ops::batch`]). This crate itself handles only ops that run others: control flow, calls, asynchronous
//! ops, and manual and named computations.
//!
//! There is one definition of a derivative, forward mode ([`jvp`]). Reverse mode ([`vjp`]) takes the function with its
//! tangents, runs the part that does not depend on tangents, and transposes the rest, which is linear, from the last op
//! to the first. So it is correct for whatever forward mode is correct for, at any order.
//!
//! ```
//! use shardwise_ir::text;
//! use shardwise_ops::OPS;
//! use shardwise_transform::vjp;
//!
//! let square = "func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
//!   %0 = stablehlo.multiply %arg0, %arg0 : tensor<f32>
//!   return %0 : tensor<f32>
//! }";
//! let module = text::parse("square.mlir", square, &OPS).unwrap();
//! // The function takes x and the cotangent of the result, and returns the result and the cotangent of x.
//! let gradient = vjp(&module, module.main().unwrap(), &[0]).unwrap();
//! assert_eq!((gradient.body.args().len(), gradient.result_types.len()), (2, 2));
//! ```
#![forbid(unsafe_code)]

mod custom;
mod depends;
mod errors;
mod jvp;
mod request;
mod reverse;
mod split;
mod states;
mod vmap;

pub use jvp::jvp;
pub use request::{Request, split_list};
pub use reverse::{linearize, linearize_of, of_cotangent, value_and_gradient, vjp, vjp_of};
pub use split::{residuals, split};
pub use states::States;
pub use vmap::{Batch, BatchAxis, Batched, vmap, vmap_with};
