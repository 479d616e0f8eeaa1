//! Normalisation over dimensions.

use crate::array::Array;
use crate::eager::{call, call_many};
use crate::explicit::decided;
use crate::ops::{Checked, Dims, Kinds, Site, checked, keep, site};
use crate::reduce::wide;
use crate::{Tree, context, hlo, mistakes};

use std::panic::Location;

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

/// Standardizes groups of features: the last dimension is split into `groups` parts, and each part is standardized over
/// its features and all dimensions between the first and the last one. Then multiplies by `scale` and adds `bias`. Flax's
/// defaults are 32 groups and 1e-6 for `epsilon`.
///
/// `bf16` and `f16` are computed in `f32` and rounded once. `scale` and `bias` may be of another float type than `x`.
///
/// # Shapes
///
/// `f32[batch, .., d], f32[d], f32[d] -> f32[batch, .., d]`. The result has the dtype of `x`.
///
/// # Errors
///
/// - `norm-scale` unless `scale` and `bias` have one dimension of the size of the last one of `x`.
/// - `group-norm` unless `x` has at least two dimensions and `groups` divides the number of features.
/// - `dtype-kind` unless all elements are floats.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = array(&[[1.0f32, 3.0, 10.0, 30.0]]);
/// let y = nn::group_norm(&x, &ones([4], F32), &zeros([4], F32), 2, 0.0);
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0, -1.0, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn group_norm(x: &Array, scale: &Array, bias: &Array, groups: usize, epsilon: f64) -> Array {
    site("group_norm", &[x, scale, bias], |s| {
        check(s, x, &[("scale", scale), ("bias", bias)])?;
        let shape = x.tensor().shape.clone();
        let features = *shape.last().expect("checked");
        if shape.len() < 2 || groups == 0 || !features.is_multiple_of(groups) {
            let message = format!("`group_norm`: the features cannot be split into {groups} groups");
            let help = "the last dimension is the features, the first is the batch, and the number of groups must divide \
                        that of features";
            let d = mistakes::with_facts("group-norm", message, x.short_type(), help, &s.loc);
            return s.fail(Some(x.tensor().clone()), d);
        }
        let constants = (groups, epsilon.to_bits());
        Ok(call(decided("group_norm"), constants, [x, scale, bias], |[x, scale, bias]| {
            let [wide_x, scale, bias] = [x, scale, bias].map(|a| hlo::convert(a, wide(x.tensor().dtype)));
            let rank = shape.len();
            let mut apart = shape.clone();
            apart.splice(rank - 1.., [groups, features / groups]);
            // All dimensions but the batch and the groups.
            let dims: Vec<usize> = (1..rank - 1).chain([rank]).collect();
            let out = hlo::reshape(&standardized(&hlo::reshape(&wide_x, &apart), &dims, epsilon), &shape);
            hlo::convert(&(out * scale + bias), x.tensor().dtype)
        }))
    })
}

/// The means and variances with which [`batch_norm`] standardizes.
///
/// It is a tree, so that traced functions can take and return it.
#[derive(Clone, Debug, Tree)]
pub struct BatchStatistics<T = Array> {
    /// The mean of each feature.
    pub mean: T,
    /// The population variance of each feature.
    pub var: T,
}

impl BatchStatistics {
    /// Returns the statistics of a batch over all dimensions but the last one, for training.
    ///
    /// # Shapes
    ///
    /// `f32[.., d] -> f32[d], f32[d]`. Those of `bf16` and `f16` are `f32`.
    ///
    /// # Errors
    ///
    /// Both carry `dimension` for a scalar, and `dtype-kind` unless the elements are floats.
    #[track_caller]
    pub fn of(x: &Array) -> BatchStatistics {
        let at = context::caller(Location::caller());
        const NAME: &str = "BatchStatistics::of";
        context::within(at, || {
            let last = checked(NAME, &[x], |s| {
                s.has(x, Kinds::Floats)?;
                s.dim(x, -1)
            });
            let last = match last {
                Ok(last) => last,
                Err(bad) => return BatchStatistics { mean: bad.clone(), var: bad },
            };
            let mut found = call_many(decided(NAME), (), &[x], 2, |x| {
                let x = hlo::convert(&x[0], wide(x[0].tensor().dtype));
                let dims: Vec<usize> = (0..last).collect();
                vec![x.mean(dims.clone()), x.var(dims)]
            });
            let var = found.pop().expect("two results");
            BatchStatistics { mean: found.pop().expect("two results"), var }
        })
    }

    /// Returns running statistics after a batch: `self * momentum + batch * (1 - momentum)`. Flax's default for
    /// `momentum` is 0.99.
    ///
    /// # Errors
    ///
    /// Each result carries the errors of these operators, such as `dtype-mixed` if `self` and `batch` have different
    /// dtypes.
    #[track_caller]
    pub fn moved_to(&self, batch: &BatchStatistics, momentum: f64) -> BatchStatistics {
        let at = context::caller(Location::caller());
        let moved = |own: &Array, new: &Array| own * momentum + new * (1.0 - momentum);
        context::within(at, || BatchStatistics {
            mean: moved(&self.mean, &batch.mean),
            var: moved(&self.var, &batch.var),
        })
    }
}

/// Standardizes each feature, the last dimension, with the given statistics, multiplies by `scale` and adds `bias`. Flax's
/// default for `epsilon` is 1e-5.
///
/// For training, the statistics are [those of the batch](BatchStatistics::of). [Running ones](BatchStatistics::moved_to)
/// are for evaluation. `bf16` and `f16` are computed in `f32` and rounded once. The other arrays may be of another float
/// type than `x`.
///
/// # Shapes
///
/// `f32[.., d], f32[d], f32[d] -> f32[.., d]`. The result has the dtype of `x`.
///
/// # Errors
///
/// - `norm-scale` unless the statistics, `scale` and `bias` have one dimension of the size of the last one of `x`.
/// - `dtype-kind` unless all elements are floats.
///
/// # Examples
///
/// ```
/// use shardwise::nn::BatchStatistics;
/// use shardwise::prelude::*;
/// let x = array(&[[1.0f32, 10.0], [3.0, 30.0]]);
/// let batch = BatchStatistics::of(&x);
/// let y = nn::batch_norm(&x, &batch, &ones([2], F32), &zeros([2], F32), 0.0);
/// assert_eq!(y.to_vec2::<f32>()?, [[-1.0, -1.0], [1.0, 1.0]]);
/// let running = BatchStatistics { mean: zeros([2], F32), var: ones([2], F32) }.moved_to(&batch, 0.5);
/// assert_eq!(running.mean.to_vec::<f32>()?, [1.0, 10.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn batch_norm(x: &Array, statistics: &BatchStatistics, scale: &Array, bias: &Array, epsilon: f64) -> Array {
    let BatchStatistics { mean, var } = statistics;
    site("batch_norm", &[x, mean, var, scale, bias], |s| {
        check(s, x, &[("mean", mean), ("variance", var), ("scale", scale), ("bias", bias)])?;
        let operands = [x, mean, var, scale, bias];
        Ok(call(decided("batch_norm"), epsilon.to_bits(), operands, |arrays| {
            let dtype = arrays[0].tensor().dtype;
            let [x, mean, var, scale, bias] = arrays.each_ref().map(|a| hlo::convert(a, wide(dtype)));
            hlo::convert(&((x - mean) * ((var + epsilon).rsqrt() * scale) + bias), dtype)
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
