//! Activations that have a parameter. Those without one are rows of the table in `ops.rs`.

use crate::array::Array;
use crate::ops::{Kinds, site};
use crate::{eager::call, hlo};
use shardwise_ops::Opcode;

impl Array {
    /// Returns `x` where it is positive, and `alpha * (exp(x) - 1)` elsewhere. JAX's default for `alpha` is 1.
    ///
    /// # Errors
    ///
    /// `dtype-kind` unless the elements are floats.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise::prelude::*;
    /// assert_eq!(array(&[2.0f32, 0.0, -200.0]).elu(1.0).to_vec::<f32>()?, [2.0, 0.0, -1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn elu(&self, alpha: f64) -> Array {
        site("elu", &[self], |s| {
            s.has(self, Kinds::Floats)?;
            Ok(call("elu", alpha.to_bits(), [self], |[x]| {
                // The exponential of a positive element could overflow, which would make its gradient NaN. `minimum` would
                // halve the gradient at 0.
                let is_positive = x.gt(0.0);
                let negative = is_positive.select(0.0, x);
                is_positive.select(x, hlo::unary(Opcode::ExponentialMinusOne, &negative) * alpha)
            }))
        })
    }

    /// Returns `x` where it is not negative, and `slope * x` elsewhere. JAX's default for `slope` is 0.01.
    ///
    /// # Errors
    ///
    /// `dtype-kind` unless the elements are floats.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise::prelude::*;
    /// assert_eq!(array(&[2.0f32, -4.0]).leaky_relu(0.25).to_vec::<f32>()?, [2.0, -1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn leaky_relu(&self, slope: f64) -> Array {
        site("leaky_relu", &[self], |s| {
            s.has(self, Kinds::Floats)?;
            Ok(call("leaky_relu", slope.to_bits(), [self], |[x]| x.ge(0.0).select(x, x * slope)))
        })
    }
}
