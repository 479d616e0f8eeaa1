//! Discrete Fourier transforms of `f32`, `f64`, `c64` and `c128`: the functions of `jax.numpy.fft` for one dimension and
//! for complex numbers. Dimensions are always named.
//!
//! Transforms are computed in 64 bits and rounded once for each three dimensions. They have derivatives and batches.
//! An array that is sharded over other dimensions needs no communication. A transform needs its own dimensions whole,
//! so an array that is sharded over them is gathered first: in Explicit mode, this is communication that the program
//! does not ask for.
//!
//! The inverse transforms are divided by the number of elements: the default of JAX. Its `norm="ortho"` multiplies a
//! transform of `n` elements by `1 / sqrt(n)`, and an inverse one by `sqrt(n)`. To transform more or fewer elements than
//! a dimension has, [`pad`](crate::Array::pad) or slice it first.
//!
//! # Examples
//!
//! ```
//! # use shardwise::prelude::*;
//! # use shardwise::fft;
//! // A wave that repeats twice in 8 samples has the frequencies 2 and -2.
//! let wave = (arange(0..8, F32) * (std::f32::consts::PI / 2.0)).cos();
//! let size = fft::fft(&wave, 0).abs();
//! assert_close(&size, &array(&[0.0f32, 0.0, 4.0, 0.0, 0.0, 0.0, 4.0, 0.0]));
//! # Ok::<(), Error>(())
//! ```

use crate::array::Array;
use crate::eager::{call, create};
use crate::explicit::decided;
use crate::ops::{AsArray, Checked, Dim, Dims, Site, element, site};
use crate::reduce::wide;
use crate::{DType, hlo};
use shardwise_base as base;
use shardwise_ir::{Attr, Attrs, TensorType};
use shardwise_ops::Opcode;

/// The largest number of dimensions that one op transforms.
const MAX_OP_DIMS: usize = 3;

/// Returns the discrete Fourier transform along a dimension: element `k` is the sum over `j` of
/// `x[j] * exp(-2 pi i j k / n)`.
///
/// # Shapes
///
/// `c64[.., n, ..] -> c64[.., n, ..]`. Real numbers are converted: `f32[n] -> c64[n]` and `f64[n] -> c128[n]`.
///
/// # Errors
///
/// - `dimension` if there is no dimension `dim`.
/// - `dtype-kind` unless the dtype is `F32`, `F64`, `C64` or `C128`.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// let y = fft::fft(array(&[1.0f32, 2.0, 3.0, 4.0]), 0);
/// assert_eq!(y.real().to_vec::<f32>()?, [10.0, -2.0, -2.0, -2.0]);
/// assert_eq!(y.imag().to_vec::<f32>()?, [0.0, 2.0, 0.0, -2.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fft(x: impl AsArray, dim: impl Dim) -> Array {
    complex("fft", "FFT", x.as_array(), |s, x| Ok(vec![s.dim(x, dim)?]))
}

/// Returns the inverse of [`fft()`] along a dimension: element `j` is the sum over `k` of `x[k] * exp(2 pi i j k / n)`,
/// divided by `n`.
///
/// # Shapes
///
/// Those of [`fft()`].
///
/// # Errors
///
/// Those of [`fft()`].
#[track_caller]
pub fn ifft(x: impl AsArray, dim: impl Dim) -> Array {
    complex("ifft", "IFFT", x.as_array(), |s, x| Ok(vec![s.dim(x, dim)?]))
}

/// Returns the discrete Fourier transform over the last two dimensions. [`fftn`] takes other ones.
///
/// # Shapes
///
/// Those of [`fft()`].
///
/// # Errors
///
/// Those of [`fft()`]. `dimension` if there are fewer than two dimensions.
#[track_caller]
pub fn fft2(x: impl AsArray) -> Array {
    complex("fft2", "FFT", x.as_array(), |s, x| s.dims_in_order(x, &[-2, -1]))
}

/// Returns the inverse of [`fft2`].
///
/// # Shapes
///
/// Those of [`fft()`].
///
/// # Errors
///
/// Those of [`fft2`].
#[track_caller]
pub fn ifft2(x: impl AsArray) -> Array {
    complex("ifft2", "IFFT", x.as_array(), |s, x| s.dims_in_order(x, &[-2, -1]))
}

/// Returns the discrete Fourier transform over several dimensions: `fftn(&x, ..)` over all.
///
/// # Shapes
///
/// Those of [`fft()`].
///
/// # Errors
///
/// Those of [`fft()`]. `dimension-twice` if a dimension is named twice.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// let x = array(&[[1.0f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(fft::fftn(&x, ..).real().to_vec2::<f32>()?, [[10.0, -2.0], [-4.0, 0.0]]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fftn(x: impl AsArray, dims: impl Dims) -> Array {
    complex("fftn", "FFT", x.as_array(), |s, x| s.dims(x, &dims))
}

/// Returns the inverse of [`fftn`].
///
/// # Shapes
///
/// Those of [`fft()`].
///
/// # Errors
///
/// Those of [`fftn`].
#[track_caller]
pub fn ifftn(x: impl AsArray, dims: impl Dims) -> Array {
    complex("ifftn", "IFFT", x.as_array(), |s, x| s.dims(x, &dims))
}

/// Returns the first half of the discrete Fourier transform of real numbers along a dimension. The other half consists
/// of the conjugates of these elements.
///
/// # Shapes
///
/// `f32[.., n, ..] -> c64[.., n / 2 + 1, ..]`, and `f64` becomes `c128`. No elements become none.
///
/// # Errors
///
/// - `dimension` if there is no dimension `dim`.
/// - `dtype-kind` unless the dtype is `F32` or `F64`.
/// - `too-large` if an array would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// let y = fft::rfft(array(&[1.0f32, 2.0, 3.0, 4.0]), 0);
/// assert_eq!(y.imag().to_vec::<f32>()?, [0.0, 2.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rfft(x: impl AsArray, dim: impl Dim) -> Array {
    let x = x.as_array();
    site("rfft", &[x], |s| {
        let dim = s.dim(x, dim)?;
        let is_right = |d| matches!(d, base::DType::F32 | base::DType::F64);
        s.kind(x, is_right, "an array of F32 or F64", "`fft` transforms complex numbers")?;
        s.fits(&TensorType::new(complex_of(x.tensor().dtype), x.tensor().shape.clone()))?;
        let n = x.tensor().shape[dim];
        Ok(call(decided("rfft"), dim, [x], |[x]| {
            along(x, &[dim], |x| op(x, "RFFT", &[n], complex_of(x.tensor().dtype), half(n)))
        }))
    })
}

/// Returns the inverse of [`rfft`] along a dimension, with `n` elements. As in NumPy, `n / 2 + 1` elements of `x` are
/// taken: more are left out, and missing ones are zeros.
///
/// # Shapes
///
/// `c64[.., n / 2 + 1, ..] -> f32[.., n, ..]`, and `c128` becomes `f64`. Real numbers are converted.
///
/// # Errors
///
/// - `dimension` if there is no dimension `dim`.
/// - `dtype-kind` unless the dtype is `F32`, `F64`, `C64` or `C128`.
/// - `too-large` if an array would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// let x = array(&[1.0f32, 2.0, 3.0, 4.0, 5.0]);
/// assert_close(&fft::irfft(fft::rfft(&x, 0), 5, 0), &x);
/// ```
#[track_caller]
pub fn irfft(x: impl AsArray, n: usize, dim: impl Dim) -> Array {
    let x = x.as_array();
    site("irfft", &[x], |s| {
        let dim = s.dim(x, dim)?;
        has_transform(s, x)?;
        let from = complex_of(x.tensor().dtype);
        let mut shape = x.tensor().shape.clone();
        shape[dim] = shape[dim].max(n);
        s.fits(&TensorType::new(from, shape))?;
        let to = if from == base::DType::C64 { base::DType::F32 } else { base::DType::F64 };
        Ok(call(decided("irfft"), (n, dim), [x], |[x]| {
            along(&hlo::convert(x, from), &[dim], |x| op(&resized(x, half(n)), "IRFFT", &[n], to, n))
        }))
    })
}

/// Returns the frequencies of the elements that [`fft()`] returns for `n` samples at the distance `d`, in cycles per
/// unit of `d`: 0 and the positive ones, then the negative ones.
///
/// # Shapes
///
/// `dtype[n]`.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// assert_eq!(fft::fftfreq(4, 0.5, F32).to_vec::<f32>()?, [0.0, 0.5, -1.0, -0.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fftfreq(n: usize, d: f64, dtype: DType) -> Array {
    frequencies("fftfreq", [n, n], n.div_ceil(2), d, dtype)
}

/// Returns the frequencies of the elements that [`rfft`] returns for `n` samples at the distance `d`, in cycles per unit
/// of `d`. None is negative.
///
/// # Shapes
///
/// `dtype[n / 2 + 1]`, or `dtype[0]` for no samples.
///
/// # Errors
///
/// Those of [`fftfreq`].
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// assert_eq!(fft::rfftfreq(4, 0.5, F32).to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn rfftfreq(n: usize, d: f64, dtype: DType) -> Array {
    frequencies("rfftfreq", [half(n), n], half(n), d, dtype)
}

/// Moves the element of frequency 0 to the middle of each of these dimensions: rotates each by half its size, rounded
/// down.
///
/// # Errors
///
/// `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
///
/// # Examples
///
/// ```
/// # use shardwise::prelude::*;
/// # use shardwise::fft;
/// assert_eq!(fft::fftshift(array(&[0, 1, 2, -2, -1]), ..).to_vec::<i32>()?, [-2, -1, 0, 1, 2]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn fftshift(x: impl AsArray, dims: impl Dims) -> Array {
    let x = x.as_array();
    site("fftshift", &[x], |s| Ok(rotated(x, &s.dims(x, &dims)?, |n| (n / 2) as i64)))
}

/// Returns the inverse of [`fftshift`].
///
/// # Errors
///
/// Those of [`fftshift`].
#[track_caller]
pub fn ifftshift(x: impl AsArray, dims: impl Dims) -> Array {
    let x = x.as_array();
    site("ifftshift", &[x], |s| Ok(rotated(x, &s.dims(x, &dims)?, |n| -((n / 2) as i64))))
}

// ── what the functions are made of

fn rotated(x: &Array, dims: &[usize], by: impl Fn(usize) -> i64) -> Array {
    dims.iter().fold(x.clone(), |x, &d| x.roll(by(x.tensor().shape[d]), d))
}

fn complex_of(dtype: base::DType) -> base::DType {
    match dtype {
        base::DType::F32 => base::DType::C64,
        base::DType::F64 => base::DType::C128,
        other => other,
    }
}

/// Returns the number of elements that an `rfft` of `n` elements returns.
fn half(n: usize) -> usize {
    if n == 0 { 0 } else { n / 2 + 1 }
}

/// Checks that an array can be transformed.
///
/// Errors: `dtype-kind`.
fn has_transform(s: &Site<'_>, x: &Array) -> Checked<()> {
    let is_right = |d| matches!(complex_of(d), base::DType::C64 | base::DType::C128);
    s.kind(x, is_right, "an array of F32, F64, C64 or C128", "convert the array first: `.astype(F32)`")
}

/// Transforms the dimensions that `dims` returns. `kind` is that of the op.
///
/// Errors: those of `dims`, `dtype-kind`, `too-large`.
#[track_caller]
fn complex(
    name: &'static str,
    kind: &'static str,
    x: &Array,
    dims: impl FnOnce(&Site<'_>, &Array) -> Checked<Vec<usize>>,
) -> Array {
    site(name, &[x], |s| {
        let dims = dims(s, x)?;
        has_transform(s, x)?;
        let dtype = complex_of(x.tensor().dtype);
        s.fits(&TensorType::new(dtype, x.tensor().shape.clone()))?;
        Ok(call(decided(name), &dims, [x], |[x]| {
            dims.chunks(MAX_OP_DIMS).fold(hlo::convert(x, dtype), |x, dims| {
                along(&x, dims, |x| {
                    let shape = &x.tensor().shape;
                    op(x, kind, &shape[shape.len() - dims.len()..], dtype, shape[shape.len() - 1])
                })
            })
        }))
    })
}

/// Runs `f` on `x` with the dimensions `dims` last, and moves them back. `f` may change the sizes of dimensions.
fn along(x: &Array, dims: &[usize], f: impl FnOnce(&Array) -> Array) -> Array {
    let rank = x.tensor().rank();
    let order: Vec<usize> = (0..rank).filter(|d| !dims.contains(d)).chain(dims.iter().copied()).collect();
    let mut back = vec![0; rank];
    order.iter().enumerate().for_each(|(i, &d)| back[d] = i);
    hlo::transpose(&f(&hlo::transpose(x, &order)), &back)
}

/// Transforms the last dimensions of `x`. `last` is the size of the last one in the result.
fn op(x: &Array, kind: &str, lengths: &[usize], dtype: base::DType, last: usize) -> Array {
    let attrs =
        Attrs::new().with("fft_type", Attr::stablehlo_enum("fft_type", kind)).with("fft_length", Attr::sizes(lengths));
    let mut shape = x.tensor().shape.clone();
    *shape.last_mut().expect("a dimension that is transformed") = last;
    hlo::op(Opcode::Fft, &[x], attrs, TensorType::new(dtype, shape))
}

/// Returns the first `n` elements along the last dimension, and zeros for those that are missing.
fn resized(x: &Array, n: usize) -> Array {
    let ty = x.tensor();
    let last = ty.rank() - 1;
    let kept = hlo::slice_dim(x, last, 0..n.min(ty.shape[last]), 1);
    let missing = n - kept.tensor().shape[last];
    if missing == 0 {
        return kept;
    }
    let mut by = vec![(0, 0); ty.rank()];
    by[last].1 = missing;
    hlo::pad(&kept, &hlo::constant(element(0.0, ty.dtype)), &by)
}

/// Returns the first `count` frequencies of `n` samples. Those from index `negative` on are negative.
///
/// Errors: `dtype-kind`, `too-large`.
#[track_caller]
fn frequencies(name: &'static str, [count, n]: [usize; 2], negative: usize, d: f64, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), [count]);
    site(name, &[], |s| {
        s.fits(&ty)?;
        s.makes_floats(&ty)?;
        let made = ty.clone();
        Ok(create(name, (&ty, n, d.to_bits()), ty.clone(), move || {
            let i = hlo::iota(TensorType::new(base::DType::I64, [count]), 0);
            let i = if count > negative { i.ge(negative).select(&i - n, &i) } else { i };
            let to = wide(made.dtype);
            hlo::convert(&(hlo::convert(&i, to) / (d * n as f64)), made.dtype)
        }))
    })
}
