//! User-defined kernels: functions of the values on one device, which traced functions [`call`], and programs in text
//! form name as `stablehlo.custom_call @name`.
//!
//! A kernel has no derivative of its own. [`custom_jvp`](crate::custom_jvp) and [`custom_vjp`](crate::custom_vjp) give
//! a function that calls it one. A batch ([`vmap`](crate::vmap)) follows from the kernel's sharding rule, or from
//! [`Kernel::batched_by`].
//!
//! ```
//! use shardwise::kernel::{self, Kernel, Literal};
//! use shardwise::prelude::*;
//! use shardwise::{custom_jvp, grad, vmap};
//!
//! # fn main() -> Result<()> {
//! let cube = Kernel::new(
//!     |operands, _| Ok(vec![operands[0].clone()]),
//!     |call| {
//!         let values: Vec<f32> = call.operands[0].to_dense().as_slice::<f32>().iter().map(|x| x * x * x).collect();
//!         Ok(vec![Literal::new(call.operands[0].shape(), &values)])
//!     },
//! );
//! kernel::register("doc.cube", cube.with_rule("([i])->([i])"))?;
//! let cube = |x: &Array| kernel::call("doc.cube", &[x]).remove(0);
//! let cube = custom_jvp(cube).defjvp(move |x, dx| (cube(x), 3.0 * x * x * dx));
//! let x = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
//! assert_eq!(vmap(&cube)(&x).to_vec::<f32>()?, [1.0, 8.0, 27.0, 64.0]);
//! let gradient = vmap(grad(|x: &Array| cube(x).sum(..)));
//! assert_eq!(gradient(&x).to_vec::<f32>()?, [3.0, 12.0, 27.0, 48.0]);
//! # Ok(())
//! # }
//! ```

pub use shardwise_base::Literal;
pub use shardwise_ir::{Attrs, TensorType};
pub use shardwise_ops::ReduceKind;
pub use shardwise_ops::user::{Call, Kernel};

use crate::error::Mistakes;
use crate::{Array, context, control, hlo};
use shardwise_ir::Attr;
use shardwise_ops::Opcode;
use std::panic::Location;

/// Registers `kernel` for custom calls of `target` in this process.
///
/// # Errors
///
/// - `kernel-twice` if a kernel is already registered for `target`.
/// - `kernel-rule` if the kernel's sharding rule cannot be parsed, or if a reduction factor is a factor of a result.
pub fn register(target: &str, kernel: Kernel) -> crate::Result<()> {
    let registered = shardwise_ops::user::register(target, kernel);
    registered.map_err(|d| shardwise_base::Diagnostics::from(d).into())
}

/// Calls the kernel that is registered for `target`, and returns its results.
///
/// # Errors
///
/// `kernel-unknown` if no kernel is registered for `target`, and `kernel-refused` if the kernel refuses the types of
/// the operands. These and the mistakes of the operands end the trace. Outside of a trace, this function panics with
/// them. The results carry other mistakes, such as `kernel-refused` if the kernel refuses the values of the operands.
#[track_caller]
pub fn call(target: &str, operands: &[&Array]) -> Vec<Array> {
    let at = context::caller(Location::caller());
    control::traced("kernel", at, || {
        if let Some(wrong) = Mistakes::join(operands.iter().filter_map(|a| a.mistakes())) {
            control::give_up_with(&wrong);
        }
        let types: Vec<TensorType> = operands.iter().map(|a| a.tensor().clone()).collect();
        let attrs = Attrs::new().with("call_target_name", Attr::str(target));
        let results = shardwise_ops::user::result_types(target, &types, &attrs, &context::loc(at));
        let results = results.unwrap_or_else(|d| control::give_up(d, at));
        hlo::op_with(Opcode::CustomCall, operands, attrs, vec![], &results)
    })
}
