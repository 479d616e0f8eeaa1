//! Activations that have a parameter. Those without one are rows of the table in `ops.rs`.

use crate::array::Array;
use crate::eager::call;
use crate::explicit::decided;
use crate::ops::{Dim, Kinds, site};
use crate::{hlo, mistakes};
use shardwise_ops::Opcode;

/// Returns `x` where it is positive, and `f(x)` elsewhere. `f` gets 0 in place of positive elements: their exponential
/// could overflow, which would make the gradient NaN. `minimum` would halve the gradient at 0.
fn below_zero(x: &Array, f: impl Fn(&Array) -> Array) -> Array {
    let is_positive = x.gt(0.0);
    is_positive.select(x, f(&is_positive.select(0.0, x)))
}

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
                below_zero(x, |x| hlo::unary(Opcode::ExponentialMinusOne, x) * alpha)
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

    /// Returns `x` where it is positive, and `alpha * (exp(x / alpha) - 1)` elsewhere. JAX's default for `alpha` is 1.
    ///
    /// # Errors
    ///
    /// `dtype-kind` unless the elements are floats.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise::prelude::*;
    /// assert_eq!(array(&[3.0f32, 0.0, -400.0]).celu(2.0).to_vec::<f32>()?, [3.0, 0.0, -2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn celu(&self, alpha: f64) -> Array {
        site("celu", &[self], |s| {
            s.has(self, Kinds::Floats)?;
            Ok(call("celu", alpha.to_bits(), [self], |[x]| {
                below_zero(x, |x| hlo::unary(Opcode::ExponentialMinusOne, &(x / alpha)) * alpha)
            }))
        })
    }

    /// Returns `(x + sqrt(x^2 + b)) / 2`, a smooth approximation of `relu`. JAX's default for `b` is 4.
    ///
    /// # Errors
    ///
    /// `dtype-kind` unless the elements are floats.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise::prelude::*;
    /// assert_eq!(array(&[0.0f32, 1.5, -1.5]).squareplus(4.0).to_vec::<f32>()?, [1.0, 2.0, 0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn squareplus(&self, b: f64) -> Array {
        site("squareplus", &[self], |s| {
            s.has(self, Kinds::Floats)?;
            Ok(call("squareplus", b.to_bits(), [self], |[x]| (x + (x.square() + b).sqrt()) * 0.5))
        })
    }

    /// Multiplies the first half of the elements along `dim` with the sigmoid of the second half: the gated linear unit.
    ///
    /// # Shapes
    ///
    /// `f32[b, 2 * d] -> f32[b, d]` for `dim` 1.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`, and `split` unless its size is even.
    /// - `dtype-kind` unless the elements are floats.
    ///
    /// # Examples
    ///
    /// ```
    /// use shardwise::prelude::*;
    /// assert_eq!(array(&[4.0f32, 6.0, 0.0, 100.0]).glu(-1).to_vec::<f32>()?, [2.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn glu(&self, dim: impl Dim) -> Array {
        site("glu", &[self], |s| {
            let dim = s.dim(self, dim)?;
            s.has(self, Kinds::Floats)?;
            let n = self.tensor().shape[dim];
            if n % 2 == 1 {
                return s.fail(None, mistakes::odd_halves(&self.short_type(), dim, n, &s.loc));
            }
            Ok(call(decided("glu"), dim, [self], |[x]| {
                let halves = x.split(2, dim);
                &halves[0] * halves[1].sigmoid()
            }))
        })
    }
}
