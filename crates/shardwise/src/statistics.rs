//! Statistics: histograms, quantiles and covariances.

use crate::array::Array;
use crate::dtype::Number;
use crate::eager::call;
use crate::explicit::decided;
use crate::index::Ellipsis;
use crate::ops::{AsArray, Checked, Dims, Either, EitherKind, Kinds, Operand, Site, keep, site};
use crate::reduce::{has_elements, kept, sorted, wide};
use crate::search::{Side, insertion_points, is_vector};
use crate::shape::same_dtype;
use crate::{DType, hlo, mistakes, zeros_like};
use shardwise_base as base;
use shardwise_ops::dot::DotDims;

/// The value of a quantile between two elements, for [`Array::quantile_by`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// Between both, in proportion to the distances. This is the default of NumPy and JAX.
    Linear,
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// The nearer one, and the smaller one if both are equally near.
    Nearest,
    /// The mean of both.
    Midpoint,
}

impl Array {
    /// Counts how many elements are in each bin between two adjacent `edges`, which must be sorted in ascending order.
    /// A bin includes its lower edge, and the last bin also its upper one. Other elements are not counted.
    ///
    /// The bins of NumPy's `histogram(x, bins=10, range=(0, 1))` are those of `linspace(0.0, 1.0, 11, F32)`.
    ///
    /// # Shapes
    ///
    /// `f32[..], f32[n + 1] -> i32[n]`.
    ///
    /// # Errors
    ///
    /// - `vector` unless the edges have one dimension, and `reduce-empty` if there are none.
    /// - `dtype-kind` unless the elements are integers or floats, and `dtype-mixed` if the edges have another dtype.
    /// - `too-large` if an array of a number for each element and bin would have 2^59 bytes or more, or if an `i32`
    ///   cannot count the edges.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[1, 2, 2, 4, 9]);
    /// assert_eq!(x.histogram(array(&[0, 2, 3, 4])).to_vec::<i32>()?, [1, 2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn histogram(&self, edges: impl AsArray) -> Array {
        let edges = edges.as_array();
        site("histogram", &[self, edges], |s| {
            check_edges(s, self, edges)?;
            Ok(call(decided("histogram"), (), [self, edges], |[x, edges]| {
                bins_of(x, edges).bincount(edges.tensor().shape[0] - 1)
            }))
        })
    }

    /// Adds up the weights of the elements in each bin between two adjacent `edges`, which must be sorted in ascending
    /// order. Each element has one weight. The bins are those of [`Array::histogram`], and the weights of other
    /// elements are not added. This is NumPy's `histogram` with `weights`. Sums of `bf16` and `f16` are rounded once.
    ///
    /// # Shapes
    ///
    /// `f32[s..], f32[n + 1], f32[s..] -> f32[n]`. The result has the dtype of the weights.
    ///
    /// # Errors
    ///
    /// - Those of [`Array::histogram`].
    /// - `histogram-weights` unless the weights have the shape of the elements.
    /// - `dtype-kind` unless the weights are numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[1, 2, 2, 4, 9]);
    /// let weights = array(&[0.5f32, 1.0, 2.0, 4.0, 8.0]);
    /// let sums = x.histogram_weighted(array(&[0, 2, 3, 4]), weights);
    /// assert_eq!(sums.to_vec::<f32>()?, [0.5, 3.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn histogram_weighted(&self, edges: impl AsArray, weights: impl AsArray) -> Array {
        let (edges, weights) = (edges.as_array(), weights.as_array());
        site("histogram_weighted", &[self, edges, weights], |s| {
            check_edges(s, self, edges)?;
            s.has(weights, Kinds::Numbers)?;
            if weights.tensor().shape != self.tensor().shape {
                let message = "`histogram_weighted` needs a weight for each element".to_string();
                let facts = format!("elements {}, weights {}", self.short_type(), weights.short_type());
                return s.fail(None, mistakes::with_facts("histogram-weights", message, facts, "", &s.loc));
            }
            Ok(call(decided("histogram_weighted"), (), [self, edges, weights], |[x, edges, weights]| {
                let is_own = bins_of(x, edges).one_hot(edges.tensor().shape[0] - 1, DType::Bool);
                let weights = hlo::reshape(weights, &[weights.tensor().size(), 1]);
                is_own.select(&weights, zeros_like(&weights)).sum(0)
            }))
        })
    }

    /// Returns the quantiles of the elements: the value below which a part `q` of them is, interpolated linearly. `q`
    /// is a number from 0 to 1, or an array of them, with one dimension or none, which becomes the first dimension of
    /// the result. If an element is NaN, the result is NaN. Integers are converted to `f32`.
    ///
    /// # Shapes
    ///
    /// `f32[m, n] -> f32[n]` for a number and dimension 0, and `f32[k, n]` for an array `f32[k]`.
    ///
    /// # Errors
    ///
    /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `quantile` unless a number is between 0 and 1, and an array has at most one dimension. Elements of an array
    ///   are not checked.
    /// - `dtype-mixed` unless an array has the dtype of the result.
    /// - `reduce-empty` if a named dimension has size 0.
    /// - `too-large` if an `i32` cannot count the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[4.0f32, 1.0, 3.0, 2.0]);
    /// assert_eq!(x.quantile(0.25, 0).item::<f32>()?, 1.75);
    /// assert_eq!(x.quantile(array(&[0.0f32, 1.0]), 0).to_vec::<f32>()?, [1.0, 4.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn quantile(&self, q: impl Operand, dims: impl Dims) -> Array {
        quantile_of("quantile", self, q.operand(), &dims, Interpolation::Linear)
    }

    /// Returns the quantiles as [`Array::quantile`] does, with another value between two elements.
    ///
    /// # Errors
    ///
    /// Those of [`Array::quantile`].
    #[track_caller]
    pub fn quantile_by(&self, q: impl Operand, dims: impl Dims, between: Interpolation) -> Array {
        quantile_of("quantile_by", self, q.operand(), &dims, between)
    }

    /// Returns the percentiles of the elements: the quantiles for `q / 100`.
    ///
    /// # Errors
    ///
    /// Those of [`Array::quantile`], for numbers between 0 and 100.
    #[track_caller]
    pub fn percentile(&self, q: impl Operand, dims: impl Dims) -> Array {
        quantile_of("percentile", self, q.operand(), &dims, Interpolation::Linear)
    }

    /// Returns the median of the elements: the one in the middle, or the mean of the two in the middle. If an
    /// element is NaN, the result is NaN. Integers are converted to `f32`.
    ///
    /// # Errors
    ///
    /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `reduce-empty` if a named dimension has size 0.
    /// - `too-large` if an `i32` cannot count the elements.
    #[track_caller]
    pub fn median(&self, dims: impl Dims) -> Array {
        quantile_of("median", self, 0.5f64.operand(), &dims, Interpolation::Linear)
    }

    /// Returns the covariances of variables, whose observations are the rows of the array. The sums are divided by the
    /// number of observations less `ddof`, which is 1 by default in NumPy and JAX. If `ddof` is not less than this
    /// number, the sums are divided by 0. Integers are converted to `f32`.
    ///
    /// # Shapes
    ///
    /// `f32[variables, observations] -> f32[variables, variables]`, or `f32[observations] -> f32[]`.
    ///
    /// # Errors
    ///
    /// - `cov-rank` unless there are one or two dimensions.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[[1.0f32, 2.0, 3.0], [2.0, 0.0, -2.0]]);
    /// assert_eq!(x.cov(1).to_vec2::<f32>()?, [[1.0, -2.0], [-2.0, 4.0]]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn cov(&self, ddof: usize) -> Array {
        site("cov", &[self], |s| {
            check_variables(s, self)?;
            Ok(call("cov", ddof, [self], |[x]| {
                let centered = centered(x);
                let count = centered.dim(-1) as f64 - ddof as f64;
                hlo::convert(&(products(&centered) / count.max(0.0)), result_dtype(x.tensor().dtype))
            }))
        })
    }

    /// Returns the correlation coefficients of variables, whose observations are the rows of the array: their
    /// covariances, divided by the standard deviations of both. They are between -1 and 1, and NaN for a variable that
    /// is constant. Integers are converted to `f32`.
    ///
    /// # Shapes
    ///
    /// `f32[variables, observations] -> f32[variables, variables]`, or `f32[observations] -> f32[]`.
    ///
    /// # Errors
    ///
    /// - `cov-rank` unless there are one or two dimensions.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[[1.0f32, 2.0, 3.0], [2.0, 0.0, -2.0]]);
    /// assert_close(&x.corrcoef(), &array(&[[1.0f32, -1.0], [-1.0, 1.0]]));
    /// ```
    #[track_caller]
    pub fn corrcoef(&self) -> Array {
        site("corrcoef", &[self], |s| {
            check_variables(s, self)?;
            Ok(call("corrcoef", (), [self], |[x]| {
                let centered = centered(x);
                let length = centered.square().sum(keep(-1)).sqrt();
                let cosines = products(&(centered / length)).clamp(-1.0, 1.0);
                hlo::convert(&cosines, result_dtype(x.tensor().dtype))
            }))
        })
    }
}

/// Returns the dtype of statistics of elements of this dtype: `f32` for integers.
fn result_dtype(dtype: base::DType) -> base::DType {
    if dtype.is_float() { dtype } else { base::DType::F32 }
}

fn check_variables(s: &Site<'_>, x: &Array) -> Checked<()> {
    s.has(x, Kinds::Ordered)?;
    if matches!(x.tensor().rank(), 1 | 2) {
        return Ok(());
    }
    let message = format!("`{}` needs a vector, or a matrix with a row for each variable", s.name);
    s.fail(None, mistakes::with_facts("cov-rank", message, x.short_type(), "", &s.loc))
}

/// Subtracts the mean over the last dimension. `bf16`, `f16` and integers are computed in `f32`.
fn centered(x: &Array) -> Array {
    let x = hlo::convert(x, wide(result_dtype(x.tensor().dtype)));
    &x - x.mean(keep(-1))
}

/// Returns the products of all rows with each other, summed over the last dimension.
fn products(x: &Array) -> Array {
    let last = vec![x.tensor().rank() - 1];
    let dot = DotDims { lhs_contract: last.clone(), rhs_contract: last, ..DotDims::default() };
    hlo::dot_general(x, x, &dot, x.tensor().dtype)
}

// ── quantiles
#[track_caller]
fn quantile_of(name: &'static str, x: &Array, q: Either, dims: &impl Dims, between: Interpolation) -> Array {
    let whole = if name == "percentile" { 100.0 } else { 1.0 };
    let array = q.array().cloned();
    let given: Vec<&Array> = std::iter::once(x).chain(&array).collect();
    site(name, &given, |s| {
        let places = s.dims(x, dims)?;
        s.has(x, Kinds::Ordered)?;
        has_elements(s, x, &places)?;
        s.counts(x, places.iter().map(|&d| x.tensor().shape[d]).product())?;
        let keep = dims.keep();
        match q.0 {
            EitherKind::Number(n) => {
                let part = check_part(s, x, n, whole)?;
                Ok(call(decided(name), (&places, keep, part.to_bits(), between), [x], |[x]| {
                    let value = between.value(&Rows::of(x, &places), &Place::Known(part));
                    rounded(x, kept(value, &x.tensor().shape, &places, keep))
                }))
            }
            EitherKind::Array(q) => {
                check_parts(s, x, &q)?;
                Ok(call(decided(name), (&places, keep, between), [x, &q], |[x, q]| {
                    let rows = Rows::of(x, &places);
                    let value = between.value(&rows, &Place::Traced(hlo::convert(q, rows.dtype()) / whole));
                    rounded(x, first(&value, q.tensor().rank(), &x.tensor().shape, &places, keep))
                }))
            }
        }
    })
}

fn rounded(x: &Array, value: Array) -> Array {
    hlo::convert(&value, result_dtype(x.tensor().dtype))
}

/// Moves the last `rank` dimensions of `value`, those of the quantiles, to the front. Keeps the reduced dimensions
/// `dims` of the original `shape` with size 1 if `keep`.
fn first(value: &Array, rank: usize, shape: &[usize], dims: &[usize], keep: bool) -> Array {
    let last = value.tensor().rank() - rank;
    let order: Vec<usize> = (last..last + rank).chain(0..last).collect();
    let value = hlo::transpose(value, &order);
    if !keep {
        return value;
    }
    let own = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] });
    let shape: Vec<usize> = value.tensor().shape[..rank].iter().copied().chain(own).collect();
    hlo::reshape(&value, &shape)
}

/// Checks the edges of the bins of a histogram of `x`.
///
/// Errors: `dtype-kind`, `vector`, `dtype-mixed`, `reduce-empty`, `too-large`.
fn check_edges(s: &Site<'_>, x: &Array, edges: &Array) -> Checked<()> {
    s.has(x, Kinds::Ordered)?;
    is_vector(s, edges)?;
    same_dtype(s, x, edges)?;
    has_elements(s, edges, &[0])?;
    s.counts(edges, edges.tensor().shape[0])
}

/// Returns the index of the bin of each element of `x`, in row-major order. For an element in no bin, it is less than 0
/// or at least the number of bins.
fn bins_of(x: &Array, edges: &Array) -> Array {
    let bins = edges.tensor().shape[0] - 1;
    let x = hlo::reshape(x, &[x.tensor().size()]);
    let bin = insertion_points(edges, &x, Side::Right) - 1;
    x.eq(edges.i(bins)).select(bins.saturating_sub(1), bin)
}

/// Returns `q / whole`. `whole` is the number that stands for all elements: 1 for quantiles, and 100 for percentiles.
///
/// Errors: `quantile` unless `q` is a number from 0 to `whole`.
fn check_part(s: &Site<'_>, x: &Array, q: Number, whole: f64) -> Checked<f64> {
    let part = match q {
        Number::Int(n) => n as f64,
        Number::Float(x) => x,
        Number::Bool(_) => f64::NAN,
    };
    if (0.0..=whole).contains(&part) {
        return Ok(part / whole);
    }
    let message = format!("`{}` needs a number between 0 and {whole}, and is given {q}", s.name);
    s.fail(None, mistakes::with_facts("quantile", message, x.short_type(), "", &s.loc))
}

/// Checks the array `q` of quantiles of `x`.
///
/// Errors: `quantile` unless it has at most one dimension, and `dtype-mixed` unless it has the dtype of the result.
fn check_parts(s: &Site<'_>, x: &Array, q: &Array) -> Checked<()> {
    if q.tensor().rank() > 1 {
        let message = format!("`{}` needs a scalar or a vector of quantiles", s.name);
        return s.fail(None, mistakes::with_facts("quantile", message, q.short_type(), "", &s.loc));
    }
    let dtype = result_dtype(x.tensor().dtype);
    if q.tensor().dtype == dtype {
        return Ok(());
    }
    s.fail(None, mistakes::dtypes(s.name, &x.short_type(), &q.short_type(), DType::of(dtype), &s.loc))
}

/// The elements over which quantiles are taken, sorted along the last dimension.
struct Rows {
    sorted: Array,
    /// For each row, true if one of its elements is NaN. Has the dimensions of `sorted` but the last.
    has_nan: Array,
}

impl Rows {
    fn of(x: &Array, dims: &[usize]) -> Rows {
        let ty = x.tensor();
        let others = (0..ty.rank()).filter(|d| !dims.contains(d));
        let order: Vec<usize> = others.clone().chain(dims.iter().copied()).collect();
        let n: usize = dims.iter().map(|&d| ty.shape[d]).product();
        let shape: Vec<usize> = others.map(|d| ty.shape[d]).chain([n]).collect();
        let rows = hlo::reshape(&hlo::transpose(x, &order), &shape);
        let rows = hlo::convert(&rows, wide(result_dtype(ty.dtype)));
        let sorted = sorted(&[&rows], shape.len() - 1).swap_remove(0);
        // NaNs are last.
        let has_nan = sorted.i((Ellipsis, n - 1)).is_nan();
        Rows { sorted, has_nan }
    }

    fn len(&self) -> usize {
        *self.sorted.tensor().shape.last().expect("the dimension of the elements")
    }

    fn dtype(&self) -> base::DType {
        self.sorted.tensor().dtype
    }
}

/// The places of the quantiles. A place is the part of the elements that are before it.
enum Place {
    Known(f64),
    Traced(Array),
}

/// The elements on both sides of a quantile, and how far it is from the lower one to the higher one, from 0 to 1.
struct Between {
    low: Array,
    high: Array,
    weight: Array,
}

impl Between {
    fn of(rows: &Rows, place: &Place) -> Between {
        let last = rows.len() - 1;
        let element = |i: usize| rows.sorted.i((Ellipsis, i));
        match place {
            Place::Known(part) => {
                // In the precision of the dtype, as JAX computes it.
                let place = match rows.dtype() {
                    base::DType::F32 => f64::from(*part as f32 * last as f32),
                    _ => part * last as f64,
                };
                let weight = crate::scalar(place - place.floor(), DType::of(rows.dtype()));
                let at = |place: f64| element((place as usize).min(last));
                Between { low: at(place.floor()), high: at(place.ceil()), weight }
            }
            Place::Traced(part) => {
                let place = part * last as f64;
                let at = |place: &Array| {
                    let position = hlo::convert(&place.clamp(0.0, last as f64), base::DType::I32).minimum(last);
                    rows.sorted.i((Ellipsis, position))
                };
                let weight = &place - place.floor();
                Between { low: at(&place.floor()), high: at(&place.ceil()), weight }
            }
        }
    }
}

impl Interpolation {
    /// Returns the quantiles of the rows. For a vector of places, the last dimension of the result is that of the
    /// places.
    fn value(self, rows: &Rows, place: &Place) -> Array {
        let Between { low, high, weight } = Between::of(rows, place);
        let value = match self {
            // If the quantile is one element, the other one does not count, even if it is infinite.
            Interpolation::Linear => weight.eq(0.0).select(&low, &low * (1.0 - &weight) + &high * &weight),
            Interpolation::Lower => low,
            Interpolation::Higher => high,
            Interpolation::Nearest => weight.le(0.5).select(&low, &high),
            Interpolation::Midpoint => (low + high) * 0.5,
        };
        let has_nan = match place {
            Place::Traced(part) if part.tensor().rank() == 1 => rows.has_nan.expand_dims(-1),
            _ => rows.has_nan.clone(),
        };
        has_nan.select(f64::NAN, value)
    }
}
