//! Initial values of parameters, as those of `jax.nn.initializers`. Zeros and ones are [`zeros`](crate::zeros) and
//! [`ones`](crate::ones).
//!
//! Most functions scale the numbers by a fan of the parameter: its number of inputs or of outputs. As in JAX, these are
//! the sizes of the last dimension but one and of the last one, each times the sizes of all other dimensions, which are
//! the positions of a convolution's kernel. [`Scaling::inputs`] and [`Scaling::outputs`] name other dimensions.
//!
//! ```
//! use shardwise::nn::init;
//! use shardwise::prelude::*;
//!
//! let [a, b, c] = Key::new(0).split();
//! let embed = init::normal(a, 0.02, [1000, 64], F32);
//! let w = init::he_normal(b, [64, 256], F32);
//! // wqkv: [d, 3, heads, head size]. Each output is a sum over d.
//! let wqkv = init::Scaling::lecun().inputs([0]).outputs([1, 2, 3]).normal(c, [64, 3, 4, 16], F32);
//! assert_eq!(wqkv.shape(), [64, 3, 4, 16]);
//! # let _ = (embed, w);
//! ```

use crate::array::{Array, IntoShape};
use crate::ops::{Dims, site};
use crate::random::{self, Key, floats};
use crate::{DType, mistakes};
use shardwise_ir::TensorType;

/// Draws numbers from the normal distribution with mean 0 and standard deviation `stddev`. JAX's default is 0.01.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0
///   counts as 1, or more than 255 dimensions.
#[track_caller]
pub fn normal(key: Key, stddev: f64, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("normal", key, ty, stddev.to_bits(), move |key, ty| random::normal_of(key, ty) * stddev)
}

/// Draws numbers uniformly from `0..scale`. JAX's default is 0.01.
///
/// # Errors
///
/// Those of [`normal`].
#[track_caller]
pub fn uniform(key: Key, scale: f64, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("uniform", key, ty, scale.to_bits(), move |key, ty| random::uniform_of(key, ty, 0.0, 1.0) * scale)
}

/// Draws numbers from the normal distribution with mean 0 and standard deviation `stddev`, without those that are more
/// than two standard deviations away. JAX's default is 0.01. The standard deviation of the result is 0.88 times
/// `stddev`.
///
/// # Errors
///
/// Those of [`normal`].
#[track_caller]
pub fn truncated_normal(key: Key, stddev: f64, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("truncated_normal", key, ty, stddev.to_bits(), move |key, ty| {
        random::truncated_normal_of(key, ty, -2.0, 2.0) * stddev
    })
}

macro_rules! scaled {
    ($($(#[$doc:meta])* $f:ident $scaling:ident $draw:ident;)*) => { $(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// - `init-fans` if the shape has fewer than two dimensions.
        /// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
        /// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0
        ///   counts as 1, or more than 255 dimensions.
        #[track_caller]
        pub fn $f(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
            Scaling::$scaling().draw(stringify!($f), key, shape.into_shape().0, dtype, Distribution::$draw)
        }
    )* };
}

scaled! {
    /// Draws numbers uniformly with variance `2 / (inputs + outputs)`, as `jax.nn.initializers.glorot_uniform` does.
    #[doc(alias = "xavier_uniform")]
    glorot_uniform glorot Uniform;
    /// Draws truncated normal numbers with variance `2 / (inputs + outputs)`, as `jax.nn.initializers.glorot_normal`
    /// does.
    #[doc(alias = "xavier_normal")]
    glorot_normal glorot TruncatedNormal;
    /// Draws numbers uniformly with variance `1 / inputs`, as `jax.nn.initializers.lecun_uniform` does.
    lecun_uniform lecun Uniform;
    /// Draws truncated normal numbers with variance `1 / inputs`, as `jax.nn.initializers.lecun_normal` does.
    lecun_normal lecun TruncatedNormal;
    /// Draws numbers uniformly with variance `2 / inputs`, as `jax.nn.initializers.he_uniform` does.
    #[doc(alias = "kaiming_uniform")]
    he_uniform he Uniform;
    /// Draws truncated normal numbers with variance `2 / inputs`, as `jax.nn.initializers.he_normal` does.
    #[doc(alias = "kaiming_normal")]
    he_normal he TruncatedNormal;
}

#[derive(Clone, Copy)]
enum Distribution {
    Normal,
    TruncatedNormal,
    Uniform,
}

/// The number by which the scale is divided: that of the inputs, of the outputs, or their average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fan {
    Inputs,
    Outputs,
    Average,
}

/// Draws numbers whose variance is `scale / fan`, where the fan is the number of inputs, of outputs, or their average.
/// A fan of less than 1 counts as 1. This is `jax.nn.initializers.variance_scaling`.
#[derive(Clone, Debug)]
#[must_use = "call `.normal(..)`, `.truncated_normal(..)` or `.uniform(..)`"]
pub struct Scaling {
    scale: f64,
    fan: Fan,
    /// The dimensions of the inputs, or `None` for the last but one.
    inputs: Option<Vec<isize>>,
    /// The dimensions of the outputs, or `None` for the last one.
    outputs: Option<Vec<isize>>,
}

impl Scaling {
    fn new(scale: f64, fan: Fan) -> Scaling {
        Scaling { scale, fan, inputs: None, outputs: None }
    }

    /// Returns the scaling with the variance `scale / inputs`.
    pub fn fan_in(scale: f64) -> Scaling {
        Scaling::new(scale, Fan::Inputs)
    }

    /// Returns the scaling with the variance `scale / outputs`.
    pub fn fan_out(scale: f64) -> Scaling {
        Scaling::new(scale, Fan::Outputs)
    }

    /// Returns the scaling with the variance `2 * scale / (inputs + outputs)`.
    pub fn fan_avg(scale: f64) -> Scaling {
        Scaling::new(scale, Fan::Average)
    }

    /// Returns the scaling with the variance `2 / (inputs + outputs)` of Glorot and Bengio (2010).
    #[doc(alias = "xavier")]
    pub fn glorot() -> Scaling {
        Scaling::fan_avg(1.0)
    }

    /// Returns the scaling with the variance `1 / inputs` of LeCun et al. (1998).
    pub fn lecun() -> Scaling {
        Scaling::fan_in(1.0)
    }

    /// Returns the scaling with the variance `2 / inputs` of He et al. (2015).
    #[doc(alias = "kaiming")]
    pub fn he() -> Scaling {
        Scaling::fan_in(2.0)
    }

    /// Sets the dimensions of the inputs. Negative numbers count from the last dimension.
    pub fn inputs(self, dims: impl AsRef<[isize]>) -> Scaling {
        Scaling { inputs: Some(dims.as_ref().to_vec()), ..self }
    }

    /// Sets the dimensions of the outputs. Negative numbers count from the last dimension.
    pub fn outputs(self, dims: impl AsRef<[isize]>) -> Scaling {
        Scaling { outputs: Some(dims.as_ref().to_vec()), ..self }
    }

    /// Draws numbers from the normal distribution with mean 0 and the variance of the scaling.
    ///
    /// # Errors
    ///
    /// - `init-fans` if the shape lacks a dimension of the inputs or of the outputs, also one that the fan does not
    ///   need.
    /// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
    /// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0
    ///   counts as 1, or more than 255 dimensions.
    #[track_caller]
    pub fn normal(self, key: Key, shape: impl IntoShape, dtype: DType) -> Array {
        self.draw("normal", key, shape.into_shape().0, dtype, Distribution::Normal)
    }

    /// Draws numbers from a normal distribution with mean 0, without the numbers that are more than two of its standard
    /// deviations away. Its variance is larger than that of the scaling, so that the result has the variance of the
    /// scaling.
    ///
    /// # Errors
    ///
    /// Those of [`Scaling::normal`].
    #[track_caller]
    pub fn truncated_normal(self, key: Key, shape: impl IntoShape, dtype: DType) -> Array {
        self.draw("truncated_normal", key, shape.into_shape().0, dtype, Distribution::TruncatedNormal)
    }

    /// Draws numbers uniformly from the interval around 0 that has the variance of the scaling.
    ///
    /// # Errors
    ///
    /// Those of [`Scaling::normal`].
    #[track_caller]
    pub fn uniform(self, key: Key, shape: impl IntoShape, dtype: DType) -> Array {
        self.draw("uniform", key, shape.into_shape().0, dtype, Distribution::Uniform)
    }

    #[track_caller]
    fn draw(&self, name: &'static str, key: Key, shape: Vec<usize>, dtype: DType, from: Distribution) -> Array {
        let ty = TensorType::new(dtype.base(), shape);
        let Some(variance) = self.variance(&ty.shape) else {
            return site(name, &[], |s| s.fail(Some(ty.clone()), mistakes::init_fans(name, &ty.short(), &s.loc)));
        };
        floats(name, key, ty, (variance.to_bits(), from as u8), move |key, ty| match from {
            Distribution::Normal => random::normal_of(key, ty) * variance.sqrt(),
            // The standard deviation of a normal number between -2 and 2, as JAX has it.
            Distribution::TruncatedNormal => {
                random::truncated_normal_of(key, ty, -2.0, 2.0) * (variance.sqrt() / 0.879_625_661_034_239_8)
            }
            Distribution::Uniform => random::uniform_of(key, ty, -1.0, 1.0) * (3.0 * variance).sqrt(),
        })
    }

    /// Returns the variance for an array of this shape. A fan of less than 1 counts as 1. Returns `None` if the shape
    /// lacks a dimension of the inputs or of the outputs.
    fn variance(&self, shape: &[usize]) -> Option<f64> {
        let dims = |dims: &Option<Vec<isize>>, default: isize| -> Option<Vec<usize>> {
            let dims = dims.clone().unwrap_or_else(|| vec![default]);
            dims.iter().map(|d| [*d].places(shape.len()).ok().map(|p| p[0])).collect()
        };
        let (inputs, outputs) = (dims(&self.inputs, -2)?, dims(&self.outputs, -1)?);
        let size = |dims: &[usize]| dims.iter().map(|&d| shape[d] as f64).product::<f64>();
        let others: Vec<usize> = (0..shape.len()).filter(|d| !inputs.contains(d) && !outputs.contains(d)).collect();
        let (fan_in, fan_out) = (size(&inputs) * size(&others), size(&outputs) * size(&others));
        let fan = match self.fan {
            Fan::Inputs => fan_in,
            Fan::Outputs => fan_out,
            Fan::Average => (fan_in + fan_out) / 2.0,
        };
        Some(self.scale / fan.max(1.0))
    }
}
