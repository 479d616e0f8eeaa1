//! Convolutions and pooling. Both move a window over the spatial dimensions of `[batch, spatial.., features]`.

use crate::array::Array;
use crate::eager::call;
use crate::explicit::decided;
use crate::ops::{Checked, Kinds, Site, element, site};
use crate::reduce::wide;
use crate::{DType, hlo, mistakes};
use shardwise_base::Literal;
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;

/// The elements that are added before and after each spatial dimension: zeros, or elements that a maximum ignores.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Padding {
    /// Adds as many elements as `ceil(size / stride)` windows need, half of them on each side. `size` includes the
    /// zeros of a dilation. If the number is odd, one more is added after the dimension.
    Same,
    /// Adds no elements: all windows are inside the array.
    Valid,
    /// The numbers of elements before and after each dimension. Negative numbers remove elements.
    Explicit(Vec<(i64, i64)>),
}

impl<const N: usize> From<[(i64, i64); N]> for Padding {
    fn from(pairs: [(i64, i64); N]) -> Padding {
        Padding::Explicit(pairs.into())
    }
}

/// How a window moves over the spatial dimensions. An empty list of strides or dilations stands for ones.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Windows {
    strides: Vec<usize>,
    padding: Padding,
    input_dilation: Vec<usize>,
    window_dilation: Vec<usize>,
}

/// How a window moves along one dimension.
struct Along {
    stride: usize,
    padding: (i64, i64),
    input_dilation: usize,
    window_dilation: usize,
    count: usize,
}

impl Windows {
    fn new(padding: Padding) -> Windows {
        Windows { strides: vec![], padding, input_dilation: vec![], window_dilation: vec![] }
    }

    /// Returns how windows of size `window` move over dimensions of size `sizes`, in the order of the dimensions.
    ///
    /// Errors: `window`, and `too-large` if a stride or a dilation exceeds `i32::MAX`.
    fn place(&self, s: &Site<'_>, x: &Array, sizes: &[usize], window: &[usize]) -> Checked<Vec<Along>> {
        let wrong =
            |facts: String| s.fail(None, mistakes::window(s.name, &facts, sizes.len(), &x.short_type(), &s.loc));
        for (what, list) in [
            ("strides", &self.strides),
            ("the input dilation", &self.input_dilation),
            ("the dilation", &self.window_dilation),
            ("the window", &window.to_vec()),
        ] {
            let is_missing = list.is_empty() && what != "the window";
            if !is_missing && (list.len() != sizes.len() || list.contains(&0)) {
                return wrong(format!("{what}: {list:?}"));
            }
            for &n in list.iter().filter(|_| what != "the window") {
                s.counts(x, n)?;
            }
        }
        match &self.padding {
            Padding::Explicit(pairs) if pairs.len() != sizes.len() => wrong(format!("the padding: {pairs:?}")),
            _ => Ok((0..sizes.len()).map(|d| self.along(d, sizes[d], window[d])).collect()),
        }
    }

    /// Returns how windows of size `window` move over dimension `d`, of size `size`. Their number is `usize::MAX`,
    /// which no array has, if a number does not fit.
    fn along(&self, d: usize, size: usize, window: usize) -> Along {
        let one = |list: &[usize]| list.get(d).copied().unwrap_or(1);
        let (stride, input_dilation, window_dilation) =
            (one(&self.strides), one(&self.input_dilation), one(&self.window_dilation));
        let (size, window) = (hlo::spread(size, input_dilation), hlo::spread(window, window_dilation));
        let step = stride as i128;
        let padding = match &self.padding {
            Padding::Valid => (0, 0),
            Padding::Explicit(pairs) => pairs[d],
            Padding::Same => {
                let count = size.div_euclid(step) + i128::from(size % step != 0);
                let needed = ((count - 1) * step + window - size).max(0);
                ((needed / 2) as i64, (needed - needed / 2) as i64)
            }
        };
        let room = size + i128::from(padding.0) + i128::from(padding.1) - window;
        let count = if size.max(window) > i128::from(i64::MAX) {
            usize::MAX
        } else if room < 0 {
            0
        } else {
            usize::try_from(room / step + 1).unwrap_or(usize::MAX)
        };
        Along { stride, padding, input_dilation, window_dilation, count }
    }
}

/// The options of [`conv`]: `Conv::new().strides([2, 2])`. The defaults are Flax's: strides and dilations of 1, the
/// padding [`Padding::Same`], and one group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use = "pass the options to `conv`"]
pub struct Conv {
    windows: Windows,
    groups: usize,
}

impl Default for Conv {
    fn default() -> Conv {
        Conv { windows: Windows::new(Padding::Same), groups: 1 }
    }
}

impl Conv {
    /// Returns the default options: strides and dilations of 1, [`Padding::Same`], and one group.
    pub fn new() -> Conv {
        Conv::default()
    }

    /// Sets the distance between windows, for each spatial dimension.
    pub fn strides(mut self, strides: impl AsRef<[usize]>) -> Conv {
        self.windows.strides = strides.as_ref().to_vec();
        self
    }

    /// Sets the padding: [`Padding::Same`], [`Padding::Valid`], or pairs as in `[(1, 1), (0, 2)]`.
    pub fn padding(mut self, padding: impl Into<Padding>) -> Conv {
        self.windows.padding = padding.into();
        self
    }

    /// Puts `dilation - 1` zeros between the elements of the input, for each spatial dimension: a transposed
    /// convolution.
    pub fn input_dilation(mut self, dilation: impl AsRef<[usize]>) -> Conv {
        self.windows.input_dilation = dilation.as_ref().to_vec();
        self
    }

    /// Puts `dilation - 1` zeros between the elements of the kernel, for each spatial dimension.
    pub fn kernel_dilation(mut self, dilation: impl AsRef<[usize]>) -> Conv {
        self.windows.window_dilation = dilation.as_ref().to_vec();
        self
    }

    /// Splits the features of the input and of the result into this many groups. Each group of results is computed from
    /// one group of inputs. As many groups as input features make a depthwise convolution.
    pub fn groups(self, groups: usize) -> Conv {
        Conv { groups, ..self }
    }
}

/// Convolves `x` with `kernel`, as Flax's `Conv` without a bias does. The kernel is not reversed. All dimensions of `x`
/// but the first and the last one are spatial.
///
/// # Shapes
///
/// `f32[b, h, w, c], f32[kh, kw, c / groups, f] -> f32[b, h', w', f]` for two spatial dimensions. Let `k' = (k - 1) *
/// kernel_dilation + 1`, and let `p` be a size of the input after its dilation and padding. The size of the result is
/// `(p - k') / stride + 1`, rounded down, or 0 if `p` is less than `k'`.
///
/// # Errors
///
/// - `conv-shapes` unless the shapes fit: see `Shapes`.
/// - `conv-groups` unless the number of groups divides the features of the input and of the result.
/// - `window` if an option does not have an entry for each spatial dimension, or if a stride, a dilation or a spatial
///   size of the kernel is 0. An empty list of strides or dilations stands for ones.
/// - `dtype-mixed` if the dtypes differ, and `dtype-kind` unless the elements are numbers.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1, or if a stride or a
///   dilation exceeds `i32::MAX`.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// use shardwise::nn::{Conv, Padding, conv};
/// let x = array(&[1.0f32, 2.0, 3.0, 4.0]).reshape([1, 4, 1]);
/// let kernel = array(&[1.0f32, 10.0]).reshape([2, 1, 1]);
/// assert_eq!(conv(&x, &kernel, Conv::new()).to_vec::<f32>()?, [21.0, 32.0, 43.0, 4.0]);
/// let strided = conv(&x, &kernel, Conv::new().strides([2]).padding(Padding::Valid));
/// assert_eq!(strided.to_vec::<f32>()?, [21.0, 43.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn conv(x: &Array, kernel: &Array, options: Conv) -> Array {
    site("conv", &[x, kernel], |s| {
        let (input, filter) = (x.tensor(), kernel.tensor());
        let types = || format!("input {}, kernel {}", x.short_type(), kernel.short_type());
        if input.rank() < 2 || input.rank() != filter.rank() {
            return s.fail(None, mistakes::conv_ranks([input.rank(), filter.rank()], &types(), &s.loc));
        }
        let spatial = input.rank() - 2;
        let (features, out) = (input.shape[spatial + 1], filter.shape[spatial + 1]);
        let groups = options.groups;
        if groups == 0 || !features.is_multiple_of(groups) || !out.is_multiple_of(groups) {
            return s.fail(None, mistakes::conv_groups(groups, [features, out], &types(), &s.loc));
        }
        let (taken, given) = (filter.shape[spatial], features / groups);
        if taken != given {
            return s.fail(None, mistakes::conv_features(taken, given, groups, &types(), &s.loc));
        }
        s.has(x, Kinds::Numbers)?;
        if input.dtype != filter.dtype {
            let to = DType::of(input.dtype);
            return s.fail(None, mistakes::dtypes("conv", &x.short_type(), &kernel.short_type(), to, &s.loc));
        }
        let along = options.windows.place(s, x, &input.shape[1..=spatial], &filter.shape[..spatial])?;
        let counts: Vec<usize> = along.iter().map(|w| w.count).collect();
        let ty = TensorType::new(input.dtype, [&input.shape[..1], &counts, &[out]].concat());
        s.fits(&ty)?;
        Ok(call(decided("conv"), &options, [x, kernel], |[x, kernel]| {
            let window = hlo::Window {
                strides: along.iter().map(|w| w.stride).collect(),
                padding: along.iter().map(|w| w.padding).collect(),
                input_dilation: along.iter().map(|w| w.input_dilation).collect(),
                window_dilation: along.iter().map(|w| w.window_dilation).collect(),
            };
            hlo::convolution(x, kernel, &window, groups, ty.clone())
        }))
    })
}

/// The windows of [`max_pool`] and [`avg_pool`]: `Pool::new([2, 2]).strides([2, 2])`. The defaults are Flax's: strides
/// of 1, and the padding [`Padding::Valid`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[must_use = "pass the windows to `max_pool` or `avg_pool`"]
pub struct Pool {
    window: Vec<usize>,
    windows: Windows,
    is_padding_counted: bool,
}

impl Pool {
    /// Returns windows of this size, one number for each spatial dimension, with strides of 1 and [`Padding::Valid`].
    pub fn new(window: impl AsRef<[usize]>) -> Pool {
        let window = window.as_ref().to_vec();
        Pool { window, windows: Windows::new(Padding::Valid), is_padding_counted: true }
    }

    /// Sets the distance between windows, for each spatial dimension.
    pub fn strides(mut self, strides: impl AsRef<[usize]>) -> Pool {
        self.windows.strides = strides.as_ref().to_vec();
        self
    }

    /// Sets the padding: [`Padding::Same`], [`Padding::Valid`], or pairs as in `[(1, 1), (0, 2)]`.
    pub fn padding(mut self, padding: impl Into<Padding>) -> Pool {
        self.windows.padding = padding.into();
        self
    }

    /// Averages only the elements of the array in each window. By default, the padding counts as zeros. A maximum never
    /// counts it.
    pub fn without_padding(self) -> Pool {
        Pool { is_padding_counted: false, ..self }
    }
}

/// Returns the largest element of each window, for each feature, as Flax's `max_pool` does. It is negative infinity for
/// a window that has only padding.
///
/// # Shapes
///
/// `f32[b, h, w, c] -> f32[b, h', w', c]` for two spatial dimensions.
///
/// # Errors
///
/// - `window` unless the array has a batch, features, and a spatial dimension for each entry of the window and of each
///   option, or if a size of the window or a stride is 0. An empty list of strides stands for ones.
/// - `dtype-kind` unless the elements are floats.
/// - `too-large` if the result or the elements of a window would have 2^59 bytes or more, where a size of 0 counts as
///   1, or if a stride exceeds `i32::MAX`.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// use shardwise::nn::{Pool, max_pool};
/// let x = array(&[1.0f32, 5.0, 2.0, 4.0]).reshape([1, 4, 1]);
/// assert_eq!(max_pool(&x, Pool::new([2]).strides([2])).to_vec::<f32>()?, [5.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn max_pool(x: &Array, windows: Pool) -> Array {
    pool("max_pool", x, &windows, |x, sizes, window| {
        hlo::reduce_window(x, Opcode::Maximum, &element(f64::NEG_INFINITY, x.tensor().dtype), sizes, window)
    })
}

/// Returns the mean of each window, for each feature, as Flax's `avg_pool` does. The padding counts as zeros, unless
/// the windows are [`without_padding`](Pool::without_padding): then the mean of a window that has only padding is NaN.
/// The sums of `bf16` and `f16` are taken in `f32`, and the means are rounded once.
///
/// # Shapes
///
/// `f32[b, h, w, c] -> f32[b, h', w', c]` for two spatial dimensions.
///
/// # Errors
///
/// The errors of [`max_pool`].
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// use shardwise::nn::{Padding, Pool, avg_pool};
/// let x = array(&[2.0f32, 4.0, 6.0]).reshape([1, 3, 1]);
/// let pool = Pool::new([2]).padding(Padding::Same);
/// assert_eq!(avg_pool(&x, pool.clone()).to_vec::<f32>()?, [3.0, 5.0, 3.0]);
/// assert_eq!(avg_pool(&x, pool.without_padding()).to_vec::<f32>()?, [3.0, 5.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn avg_pool(x: &Array, windows: Pool) -> Array {
    pool("avg_pool", x, &windows, |x, sizes, window| {
        let ty = x.tensor();
        let to = wide(ty.dtype);
        let sums = |x: &Array| hlo::reduce_window(x, Opcode::Add, &element(0.0, to), sizes, window);
        let total = sums(&hlo::convert(x, to));
        if windows.is_padding_counted {
            return hlo::convert(&(total / windows.window.iter().product::<usize>()), ty.dtype);
        }
        let one = |n: &usize, d: usize| if (1..ty.rank() - 1).contains(&d) { *n } else { 1 };
        let spatial: Vec<usize> = ty.shape.iter().enumerate().map(|(d, n)| one(n, d)).collect();
        let ones = hlo::constant(Literal::splat(to, spatial, element(1.0, to).element_bytes(0)));
        hlo::convert(&(total / sums(&ones)), ty.dtype)
    })
}

/// Runs a function of windows. `f` gets the array, and the sizes and places of windows over all its dimensions: those
/// of batch and features have size 1.
///
/// Errors: `window`, `dtype-kind`, `too-large`.
#[track_caller]
fn pool(name: &'static str, x: &Array, options: &Pool, f: impl Fn(&Array, &[usize], &hlo::Window) -> Array) -> Array {
    site(name, &[x], |s| {
        s.has(x, Kinds::Floats)?;
        let ty = x.tensor();
        let Some(spatial) = ty.rank().checked_sub(2) else {
            return s.fail(None, mistakes::window(name, "no spatial dimension", 1, &x.short_type(), &s.loc));
        };
        let along = options.windows.place(s, x, &ty.shape[1..=spatial], &options.window)?;
        let counts: Vec<usize> = along.iter().map(|w| w.count).collect();
        s.fits(&TensorType::new(ty.dtype, [&ty.shape[..1], &counts, &ty.shape[spatial + 1..]].concat()))?;
        s.fits(&TensorType::new(ty.dtype, options.window.clone()))?;
        let all = |of: fn(&Along) -> usize| [&[1], &along.iter().map(of).collect::<Vec<_>>()[..], &[1]].concat();
        let window = hlo::Window {
            strides: all(|w| w.stride),
            padding: [&[(0, 0)], &along.iter().map(|w| w.padding).collect::<Vec<_>>()[..], &[(0, 0)]].concat(),
            input_dilation: all(|w| w.input_dilation),
            window_dilation: all(|w| w.window_dilation),
        };
        let sizes = [&[1], &options.window[..], &[1]].concat();
        Ok(call(decided(name), options, [x], |[x]| f(x, &sizes, &window)))
    })
}
