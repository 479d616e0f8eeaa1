//! Reductions, running reductions, sorting, and functions built from them.

use crate::array::Array;
use crate::dtype::Number;
use crate::eager::{call, call_many};
use crate::explicit::decided;
use crate::ops::{Checked, Dim, Dims, Kinds, Site, checked, element, site};
use crate::{context, hlo, mistakes};
use shardwise_base::{DType, DTypeKind, Literal};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use std::panic::Location;

/// Returns the smallest value of a dtype if `is_low`, with which a maximum starts. Otherwise, returns the largest
/// value, with which a minimum starts. Those of floats are infinite, and those of bools are false and true.
fn extreme(dtype: DType, is_low: bool) -> Literal {
    match dtype.kind() {
        DTypeKind::Bool => element(f64::from(u8::from(!is_low)), dtype),
        DTypeKind::Signed | DTypeKind::Unsigned => {
            let (low, high) = dtype.integer_range();
            Number::Int(if is_low { low } else { high }).as_literal(dtype).expect("in its range")
        }
        _ => element(if is_low { f64::NEG_INFINITY } else { f64::INFINITY }, dtype),
    }
}

/// Returns the dtype in which sums are taken: `f32` for `bf16` and `f16`, so that their sums are rounded once, and
/// `dtype` itself for all others.
pub(crate) fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype }
}

pub(crate) fn kept(x: Array, shape: &[usize], dims: &[usize], keep: bool) -> Array {
    if !keep {
        return x;
    }
    let shape: Vec<usize> = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] }).collect();
    hlo::reshape(&x, &shape)
}

/// The dimensions over which a function reduces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Any dimensions. The function has a value for no elements.
    Any,
    /// Only dimensions that have elements.
    Elements,
}

pub(crate) fn has_elements(s: &Site<'_>, x: &Array, dims: &[usize]) -> Checked<()> {
    match dims.iter().find(|&&d| x.tensor().shape[d] == 0) {
        Some(&d) => s.fail(None, mistakes::reduce_empty(s.name, d, &x.short_type(), &s.loc)),
        None => Ok(()),
    }
}

#[track_caller]
fn reduction(
    name: &'static str,
    x: &Array,
    dims: impl Dims,
    (kinds, over): (Kinds, Over),
    f: impl Fn(&Array, &[usize]) -> Array,
) -> Array {
    site(name, &[x], |s| {
        let places = s.dims(x, &dims)?;
        s.has(x, kinds)?;
        if over == Over::Elements {
            has_elements(s, x, &places)?;
        }
        let keep = dims.keep();
        Ok(call(decided(name), (&places, keep), [x], |[x]| {
            let shape = x.tensor().shape.clone();
            kept(f(x, &places), &shape, &places, keep)
        }))
    })
}

fn sum(x: &Array, dims: &[usize]) -> Array {
    let dtype = x.tensor().dtype;
    let to = wide(dtype);
    hlo::convert(&hlo::reduce(&hlo::convert(x, to), Opcode::Add, &element(0.0, to), dims), dtype)
}

fn count(x: &Array, dims: &[usize]) -> f64 {
    dims.iter().map(|&d| x.tensor().shape[d] as f64).product()
}

fn mean(x: &Array, dims: &[usize]) -> Array {
    let from = x.tensor().dtype;
    let dtype = if from.is_float() || from.is_complex() { from } else { DType::F32 };
    let to = wide(dtype);
    let total = hlo::reduce(&hlo::convert(x, to), Opcode::Add, &element(0.0, to), dims);
    hlo::convert(&(total / count(x, dims)), dtype)
}

fn var(x: &Array, dims: &[usize]) -> Array {
    let from = x.tensor().dtype;
    let dtype = if from.is_float() { from } else { DType::F32 };
    let x = hlo::convert(x, wide(dtype));
    let center = hlo::broadcast_over(&mean(&x, dims), &x.tensor().shape, dims);
    hlo::convert(&mean(&(&x - center).square(), dims), dtype)
}

/// Returns the maximum over `dims`, or 0 where it is not finite, so that it can be subtracted.
fn shift(x: &Array, dims: &[usize]) -> Array {
    let max = hlo::reduce(x, Opcode::Maximum, &extreme(x.tensor().dtype, true), dims);
    max.is_finite().select(&max, 0.0)
}

fn logsumexp(x: &Array, dims: &[usize]) -> Array {
    let dtype = x.tensor().dtype;
    let x = hlo::convert(x, wide(dtype));
    let max = shift(&x, dims);
    let shifted = &x - hlo::broadcast_over(&max, &x.tensor().shape, dims);
    hlo::convert(&(sum(&shifted.exp(), dims).ln() + max), dtype)
}

/// Returns the position along `dim` of the largest element if `direction` is `GT`, or of the smallest if it is `LT`:
/// the first of equal ones. NaN counts as the largest or smallest.
fn arg(x: &Array, dim: usize, direction: &str) -> Array {
    let ty = x.tensor().clone();
    let positions = hlo::iota(TensorType::new(DType::I32, ty.shape.clone()), dim);
    let start = [extreme(ty.dtype, direction == "GT"), element(0.0, DType::I32)];
    let mut out = hlo::reduce_many(&[x, &positions], &start, &[dim], |a, b| {
        let mut wins = hlo::compare(direction, &a[0], &b[0]);
        if ty.dtype.is_float() {
            wins |= hlo::compare("NE", &a[0], &a[0]);
        }
        let ties = hlo::compare("EQ", &a[0], &b[0]) & hlo::compare("LT", &a[1], &b[1]);
        vec![hlo::select(&wins, &a[0], &b[0]), hlo::select(&(&wins | &ties), &a[1], &b[1])]
    });
    out.pop().expect("two results")
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $f:ident $kinds:ident $over:ident $body:expr;)*) => {
        /// Reductions over dimensions: `x.sum(0)`, `x.mean([1, 3])`, `x.max(..)`, `x.mean(keep(-1))`.
        ///
        /// # Errors
        ///
        /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
        /// - `dtype-kind` if the function is not defined for the dtype.
        /// - `reduce-empty` for `max` and `min` over a dimension of size 0.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self, dims: impl Dims) -> Array {
                reduction(stringify!($f), self, dims, (Kinds::$kinds, Over::$over), $body)
            }
        )* }

        /// The reductions over all dimensions.
        #[cfg(test)]
        pub(crate) const REDUCTIONS: &[(&str, fn(&Array) -> Array)] = &[$((stringify!($f), |x| x.$f(..))),*];
    };
}

reductions! {
    /// Returns the sum of the elements. It is 0 if there are none. The result has the dtype of `self`, and integers
    /// wrap.
    sum Numbers Any sum;
    /// Returns the product of the elements. It is 1 if there are none. The result has the dtype of `self`, and integers
    /// wrap.
    prod Numbers Any |x, dims| {
        let dtype = x.tensor().dtype;
        let to = wide(dtype);
        hlo::convert(&hlo::reduce(&hlo::convert(x, to), Opcode::Multiply, &element(1.0, to), dims), dtype)
    };
    /// Returns the mean of the elements. It is NaN if there are none. Integers are averaged as `f32`.
    mean Numbers Any mean;
    /// Returns the population variance: the mean squared distance from the mean. It is NaN if there are no elements.
    /// Integers are averaged as `f32`.
    var Ordered Any var;
    /// Returns the population standard deviation: the square root of `var`. That of integers is computed as `f32`.
    std Ordered Any |x, dims| var(x, dims).sqrt();
    /// Returns the largest element, or NaN if one is NaN. Reports `reduce-empty` if a named dimension has size 0.
    max Ordered Elements |x, dims| hlo::reduce(x, Opcode::Maximum, &extreme(x.tensor().dtype, true), dims);
    /// Returns the smallest element, or NaN if one is NaN. Reports `reduce-empty` if a named dimension has size 0.
    min Ordered Elements |x, dims| hlo::reduce(x, Opcode::Minimum, &extreme(x.tensor().dtype, false), dims);
    /// Returns true if all elements, which are bools or integers, are true, that is, not 0, or if there are none.
    all Bits Any |x, dims| hlo::reduce(&x.ne_zero(), Opcode::And, &element(1.0, DType::I1), dims);
    /// Returns true if any element is true, that is, not 0. The elements are bools or integers. Returns false if there
    /// are none.
    any Bits Any |x, dims| hlo::reduce(&x.ne_zero(), Opcode::Or, &element(0.0, DType::I1), dims);
    /// Returns `ln(sum(exp(x)))`, without overflow. It is negative infinity if there are no elements.
    logsumexp Floats Any logsumexp;
}

impl Array {
    fn ne_zero(&self) -> Array {
        hlo::convert(self, DType::I1)
    }

    /// Returns the position of the largest element along a dimension, or of all elements (`..`, row-major), as `i32`.
    /// Returns the first position of several equal ones. NaN counts as the largest.
    ///
    /// # Errors
    ///
    /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
    /// - `argmax-dims` unless one dimension or all of them are named.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `reduce-empty` if a named dimension has size 0.
    /// - `too-large` if an `i32` cannot count the positions.
    #[track_caller]
    pub fn argmax(&self, dims: impl Dims) -> Array {
        arg_of("argmax", self, dims, "GT")
    }

    /// Returns the position of the smallest element along a dimension, or of all elements (`..`, row-major), as `i32`.
    /// Returns the first position of several equal ones. NaN counts as the smallest.
    ///
    /// # Errors
    ///
    /// - `dimension` if a dimension does not exist, and `dimension-twice` if one is named twice.
    /// - `argmax-dims` unless one dimension or all of them are named.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `reduce-empty` if a named dimension has size 0.
    /// - `too-large` if an `i32` cannot count the positions.
    #[track_caller]
    pub fn argmin(&self, dims: impl Dims) -> Array {
        arg_of("argmin", self, dims, "LT")
    }
}

#[track_caller]
fn arg_of(name: &'static str, x: &Array, dims: impl Dims, direction: &'static str) -> Array {
    site(name, &[x], |s| {
        let places = s.dims(x, &dims)?;
        s.has(x, Kinds::Ordered)?;
        let is_all = places.len() == x.tensor().rank();
        if places.len() != 1 && !is_all {
            let d = mistakes::with_facts(
                "argmax-dims",
                format!("`{name}` needs one dimension or all of them"),
                x.short_type(),
                "name one dimension, or `..` for the position in the flattened array",
                &s.loc,
            );
            return s.fail(None, d);
        }
        has_elements(s, x, &places)?;
        s.counts(x, if is_all { x.tensor().size() } else { x.tensor().shape[places[0]] })?;
        let keep = dims.keep();
        Ok(call(decided(name), (&places, keep), [x], |[x]| {
            let shape = x.tensor().shape.clone();
            let flat = if is_all { hlo::reshape(x, &[x.tensor().size()]) } else { x.clone() };
            kept(arg(&flat, if is_all { 0 } else { places[0] }, direction), &shape, &places, keep)
        }))
    })
}

/// Runs a library function along one dimension. `f` computes the result from the array and the index of the dimension.
///
/// Errors: `dimension`, `dtype-kind` unless the dtype is one of `kinds`, and `too-large` for `argsort` if an `i32`
/// cannot count the positions.
#[track_caller]
fn along(name: &'static str, x: &Array, dim: impl Dim, kinds: Kinds, f: impl Fn(&Array, usize) -> Array) -> Array {
    site(name, &[x], |s| {
        let dim = s.dim(x, dim)?;
        s.has(x, kinds)?;
        if name == "argsort" {
            s.counts(x, x.tensor().shape[dim])?;
        }
        Ok(call(decided(name), dim, [x], |[x]| f(x, dim)))
    })
}

fn softmax(x: &Array, dim: usize) -> Array {
    let dtype = x.tensor().dtype;
    let x = hlo::convert(x, wide(dtype));
    let over = |a: &Array| hlo::broadcast_over(a, &x.tensor().shape, &[dim]);
    let e = (&x - over(&shift(&x, &[dim]))).exp();
    hlo::convert(&(&e / over(&sum(&e, &[dim]))), dtype)
}

fn log_softmax(x: &Array, dim: usize) -> Array {
    let dtype = x.tensor().dtype;
    let x = hlo::convert(x, wide(dtype));
    let over = |a: &Array| hlo::broadcast_over(a, &x.tensor().shape, &[dim]);
    let shifted = &x - over(&shift(&x, &[dim]));
    hlo::convert(&(&shifted - over(&sum(&shifted.exp(), &[dim]).ln())), dtype)
}

fn running(x: &Array, combine: Opcode, identity: f64, dim: usize) -> Array {
    let dtype = x.tensor().dtype;
    let to = wide(dtype);
    hlo::convert(&hlo::cumulative(&hlo::convert(x, to), combine, &element(identity, to), dim), dtype)
}

/// Builds an array of bools that are true where `a` is sorted before `b`. Zeros are equal, and NaNs are last.
pub(crate) fn before(a: &Array, b: &Array) -> Array {
    if !a.tensor().dtype.is_float() {
        return hlo::compare("LT", a, b);
    }
    let is_nan = |x: &Array| hlo::compare("NE", x, x);
    hlo::compare("LT", a, b) | (is_nan(b) & !is_nan(a))
}

/// Sorts arrays of one shape by the elements of the first one, stably, in the order of [`before`].
pub(crate) fn sorted(xs: &[&Array], dim: usize) -> Vec<Array> {
    // Engines sort fast by a key in a total order.
    hlo::sort(xs, dim, |e| match e[0].tensor().dtype.is_float() {
        true => hlo::compare_total("LT", &sort_key(&e[0]), &sort_key(&e[1])),
        false => before(&e[0], &e[1]),
    })
}

/// Returns the float with 0 in place of both zeros, and with one NaN, the last in the total order, in place of all.
fn sort_key(x: &Array) -> Array {
    let shape = x.tensor().shape.clone();
    let [zero, nan] = [0.0, f64::NAN].map(|n| hlo::splat(&element(n, x.tensor().dtype), &shape));
    let x = hlo::select(&hlo::compare("EQ", x, &zero), &zero, x);
    hlo::select(&hlo::compare("NE", &x, &x), &nan, &x)
}

macro_rules! alongs {
    ($($(#[$doc:meta])* $f:ident $kinds:ident $body:expr;)*) => {
        /// Functions along one dimension. The result has the shape of `self`.
        ///
        /// # Errors
        ///
        /// - `dimension` if there is no such dimension.
        /// - `dtype-kind` if the function is not defined for the dtype.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self, dim: impl Dim) -> Array { along(stringify!($f), self, dim, Kinds::$kinds, $body) }
        )* }

        /// The functions along dimension 0.
        #[cfg(test)]
        pub(crate) const ALONG: &[(&str, fn(&Array) -> Array)] = &[$((stringify!($f), |x| x.$f(0))),*];
    };
}

alongs! {
    /// Returns the running sum: each element is the sum of the elements up to and including it. Integers wrap.
    cumsum Numbers |x, dim| running(x, Opcode::Add, 0.0, dim);
    /// Returns the running product: each element is the product of the elements up to and including it. Integers wrap.
    cumprod Numbers |x, dim| running(x, Opcode::Multiply, 1.0, dim);
    /// Returns the running maximum, or NaN from the first NaN on.
    cummax Ordered |x, dim| hlo::cumulative(x, Opcode::Maximum, &extreme(x.tensor().dtype, true), dim);
    /// Returns the running minimum, or NaN from the first NaN on.
    cummin Ordered |x, dim| hlo::cumulative(x, Opcode::Minimum, &extreme(x.tensor().dtype, false), dim);
    /// Returns `exp(x) / sum(exp(x))`, without overflow. The result is NaN where all elements are negative infinity.
    softmax Floats softmax;
    /// Returns `ln(softmax(x))`, without overflow. The result is NaN where all elements are negative infinity.
    log_softmax Floats log_softmax;
    /// Sorts in ascending order, stably. NaNs are last.
    sort Ordered |x, dim| sorted(&[x], dim).swap_remove(0);
    /// Returns the positions that sort the array in ascending order, as `i32`, stably. NaNs are last. The mistake
    /// `too-large` is reported if an `i32` cannot count the positions.
    argsort Ordered |x, dim| {
        let positions = hlo::iota(TensorType::new(DType::I32, x.tensor().shape.clone()), dim);
        sorted(&[x, &positions], dim).swap_remove(1)
    };
    /// Reverses the order of the elements.
    flip Any |x, dim| hlo::reverse(x, &[dim]);
}

impl Array {
    /// Returns the differences between adjacent elements along a dimension: `x[i + 1] - x[i]`. This is done `n` times.
    /// The result is empty if there are `n` elements or fewer.
    ///
    /// # Shapes
    ///
    /// `f32[m, d] -> f32[m - n, d]` for `dim` 0.
    ///
    /// # Errors
    ///
    /// - `dimension` if there is no dimension `dim`.
    /// - `dtype-kind` unless the elements are numbers.
    /// - `too-large` if `n` is above 1024 and below the size of the dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use shardwise::prelude::*;
    /// let x = array(&[1, 4, 9, 16]);
    /// assert_eq!(x.diff(1, 0).to_vec::<i32>()?, [3, 5, 7]);
    /// assert_eq!(x.diff(2, 0).to_vec::<i32>()?, [2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn diff(&self, n: usize, dim: impl Dim) -> Array {
        site("diff", &[self], |s| {
            let dim = s.dim(self, dim)?;
            s.has(self, Kinds::Numbers)?;
            let size = self.tensor().shape[dim];
            if n >= size {
                return Ok(call(decided("diff"), (n, dim), [self], |[x]| hlo::slice_dim(x, dim, 0..0, 1)));
            }
            if n > MAX_DIFFERENCES {
                let message =
                    format!("`diff` takes differences at most {MAX_DIFFERENCES} times, and is to take them {n} times");
                return s.fail(None, mistakes::with_facts("too-large", message, self.short_type(), "", &s.loc));
            }
            Ok(call(decided("diff"), (n, dim), [self], |[x]| (0..n).fold(x.clone(), |x, _| difference(&x, dim))))
        })
    }

    /// Returns the `k` largest elements along the last dimension in descending order, and their positions as `i32`.
    /// Equal elements keep their order. Floats are in their total order: NaN without the sign bit is above all numbers,
    /// NaN with it is below them, and 0 is above -0.
    ///
    /// # Shapes
    ///
    /// `f32[b, n] -> (f32[b, k], i32[b, k])`.
    ///
    /// # Errors
    ///
    /// - `top-k` if `k` exceeds the size of the last dimension, and for a scalar.
    /// - `dtype-kind` unless the elements are integers or floats.
    /// - `too-large` if an `i32` cannot count the positions.
    #[track_caller]
    pub fn top_k(&self, k: usize) -> (Array, Array) {
        let at = context::caller(Location::caller());
        context::within(at, || {
            if let Err(bad) = checked("top_k", &[self], |s| top_k_check(s, self, k)) {
                return (bad.clone(), bad);
            }
            let mut out = call_many(decided("top_k"), k, &[self], 2, |x| {
                let x = &x[0];
                let mut shape = x.tensor().shape.clone();
                *shape.last_mut().expect("checked") = k;
                let types = [TensorType::new(x.tensor().dtype, shape.clone()), TensorType::new(DType::I32, shape)];
                hlo::op_with(Opcode::TopK, &[x], shardwise_ops::sort::TopK::attrs(k), vec![], &types)
            });
            let positions = out.pop().expect("two results");
            (out.pop().expect("two results"), positions)
        })
    }
}

/// The largest number of times that differences are taken. Each adds ops to the program.
const MAX_DIFFERENCES: usize = 1024;

fn difference(x: &Array, dim: usize) -> Array {
    let n = x.tensor().shape[dim];
    hlo::slice_dim(x, dim, 1..n, 1) - hlo::slice_dim(x, dim, 0..n - 1, 1)
}

fn top_k_check(s: &Site<'_>, x: &Array, k: usize) -> Checked<()> {
    let ty = x.tensor();
    if ty.shape.last().is_none_or(|&n| k > n) {
        let message = format!("`top_k` needs a last dimension of at least {k} elements");
        return s.fail(None, mistakes::with_facts("top-k", message, x.short_type(), "", &s.loc));
    }
    s.counts(x, ty.shape.last().copied().unwrap_or(0))?;
    s.has(x, Kinds::Ordered)
}
