//! Normalisation over dimensions.

use crate::array::Array;
use crate::eager::call;
use crate::explicit::decided;
use crate::ops::{Checked, Dims, Kinds, Site, keep, site};
use crate::reduce::wide;
use crate::{hlo, mistakes};

/// Subtracts the mean over `dims`, and divides by the standard deviation: `(x - mean) / sqrt(var + epsilon)`. The
/// default of `jax.nn.standardize` for `epsilon` is 1e-5.
///
/// `bf16` and `f16` are computed in `f32` and rounded once. The variance is the mean squared distance from the mean,
/// which stays accurate where the mean is large. (JAX's default is `mean(x^2) - mean(x)^2`.)
///
/// # Errors
///
/// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
/// - `dtype-kind` unless the elements are floats.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = array(&[[1.0f32, 3.0], [10.0, 10.0]]);
/// assert_eq!(nn::standardize(&x, -1, 0.0).i(0).to_vec::<f32>()?, [-1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn standardize(x: &Array, dims: impl Dims, epsilon: f64) -> Array {
    site("standardize", &[x], |s| {
        let places = s.dims(x, &dims)?;
        s.has(x, Kinds::Floats)?;
        Ok(call(decided("standardize"), (&places, epsilon.to_bits()), [x], |[x]| {
            let wide_x = hlo::convert(x, wide(x.tensor().dtype));
            hlo::convert(&standardized(&wide_x, &places, epsilon), x.tensor().dtype)
        }))
    })
}

fn standardized(x: &Array, dims: &[usize], epsilon: f64) -> Array {
    let centered = x - x.mean(keep(dims.to_vec()));
    let variance = centered.square().mean(keep(dims.to_vec()));
    centered * (variance + epsilon).rsqrt()
}

/// Standardizes the last dimension, multiplies by `scale` and adds `bias`. Flax's default for `epsilon` is 1e-6.
///
/// `bf16` and `f16` are computed in `f32` and rounded once. `scale` and `bias` may be of another float type than `x`.
///
/// # Shapes
///
/// `f32[.., d], f32[d], f32[d] -> f32[.., d]`. The result has the dtype of `x`.
///
/// # Errors
///
/// - `norm-scale` unless `scale` and `bias` have one dimension of the size of the last one of `x`.
/// - `dtype-kind` unless all elements are floats.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = array(&[[1.0f32, 3.0]]);
/// let y = nn::layer_norm(&x, &full([2], 2.0, F32), &ones([2], F32), 0.0);
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn layer_norm(x: &Array, scale: &Array, bias: &Array, epsilon: f64) -> Array {
    site("layer_norm", &[x, scale, bias], |s| {
        check(s, x, &[("scale", scale), ("bias", bias)])?;
        Ok(call(decided("layer_norm"), epsilon.to_bits(), [x, scale, bias], |[x, scale, bias]| {
            let dtype = wide(x.tensor().dtype);
            let [wide_x, scale, bias] = [x, scale, bias].map(|a| hlo::convert(a, dtype));
            let last = x.tensor().rank() - 1;
            let out = standardized(&wide_x, &[last], epsilon) * scale + bias;
            hlo::convert(&out, x.tensor().dtype)
        }))
    })
}

/// Divides by the root of the mean square over the last dimension, and multiplies by `scale`: `x / sqrt(mean(x^2) +
/// epsilon) * scale`. Flax's default for `epsilon` is 1e-6.
///
/// `bf16` and `f16` are computed in `f32` and rounded once. `scale` may be of another float type than `x`.
///
/// # Shapes
///
/// `f32[.., d], f32[d] -> f32[.., d]`. The result has the dtype of `x`.
///
/// # Errors
///
/// - `norm-scale` unless `scale` has one dimension of the size of the last one of `x`.
/// - `dtype-kind` unless all elements are floats.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = array(&[[3.0f32, -3.0]]);
/// assert_eq!(nn::rms_norm(&x, &ones([2], F32), 0.0).to_vec::<f32>()?, [1.0, -1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rms_norm(x: &Array, scale: &Array, epsilon: f64) -> Array {
    site("rms_norm", &[x, scale], |s| {
        check(s, x, &[("scale", scale)])?;
        Ok(call(decided("rms_norm"), epsilon.to_bits(), [x, scale], |[x, scale]| {
            let dtype = wide(x.tensor().dtype);
            let [wide_x, scale] = [x, scale].map(|a| hlo::convert(a, dtype));
            let out = &wide_x * (wide_x.square().mean(keep(-1)) + epsilon).rsqrt() * scale;
            hlo::convert(&out, x.tensor().dtype)
        }))
    })
}

fn check(s: &Site<'_>, x: &Array, features: &[(&str, &Array)]) -> Checked<()> {
    s.has(x, Kinds::Floats)?;
    for (what, a) in features {
        s.has(a, Kinds::Floats)?;
        let last = x.tensor().shape.last();
        if last.is_none() || a.tensor().shape != last.copied().into_iter().collect::<Vec<_>>() {
            let d = mistakes::norm_scale(s.name, what, &a.short_type(), &x.short_type(), &s.loc);
            return s.fail(Some(x.tensor().clone()), d);
        }
    }
    Ok(())
}
