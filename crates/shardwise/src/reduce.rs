//! Reductions, running reductions, sorting, and what is made of them.

use crate::array::Array;
use crate::dtype::{Number, integer_range};
use crate::eager::{call, call_many};
use crate::explicit::decided;
use crate::ops::{Checked, Dim, Dims, Kinds, Site, element, site};
use crate::{context, hlo, mistakes};
use shardwise_base::{DType, Kind, Literal};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use std::panic::Location;

/// The smallest (or largest) value of a dtype: what a maximum (minimum) starts from.
fn extreme(dtype: DType, is_low: bool) -> Literal {
    match dtype.kind() {
        Kind::Bool => element(f64::from(u8::from(!is_low)), dtype),
        Kind::Signed | Kind::Unsigned => {
            let (low, high) = integer_range(dtype);
            Number::Int(if is_low { low } else { high }).as_literal(dtype).expect("in its range")
        }
        _ => element(if is_low { f64::NEG_INFINITY } else { f64::INFINITY }, dtype),
    }
}

/// Sums of narrow floats are taken in `f32` and rounded once.
pub(crate) fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::BF16 | DType::F16) { DType::F32 } else { dtype }
}

fn kept(x: Array, shape: &[usize], dims: &[usize], keep: bool) -> Array {
    if !keep {
        return x;
    }
    let shape: Vec<usize> = (0..shape.len()).map(|d| if dims.contains(&d) { 1 } else { shape[d] }).collect();
    hlo::reshape(&x, &shape)
}

#[track_caller]
fn reduction(
    name: &'static str,
    x: &Array,
    dims: impl Dims,
    kinds: Kinds,
    f: impl Fn(&Array, &[usize]) -> Array,
) -> Array {
    site(name, &[x], |s| {
        let places = s.dims(x, &dims)?;
        s.has(x, kinds)?;
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

/// Integers are averaged as `f32`.
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

/// The maximum, but 0 where it is not finite, so that it can be subtracted.
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

/// The position of the largest (smallest) element, the first of equal ones; NaN counts as such.
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
    ($($(#[$doc:meta])* $f:ident $kinds:ident $body:expr;)*) => {
        /// Reductions over dimensions: `x.sum(0)`, `x.mean([1, 3])`, `x.max(..)`, `x.mean(keep(-1))`.
        ///
        /// Errors: `dimension`, `dimension-twice`, `dtype-kind`.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self, dims: impl Dims) -> Array { reduction(stringify!($f), self, dims, Kinds::$kinds, $body) }
        )* }
    };
}

reductions! {
    sum Numbers sum;
    prod Numbers |x, dims| {
        let dtype = x.tensor().dtype;
        let to = wide(dtype);
        hlo::convert(&hlo::reduce(&hlo::convert(x, to), Opcode::Multiply, &element(1.0, to), dims), dtype)
    };
    /// Of integers: an `f32`.
    mean Numbers mean;
    /// Of the population: the mean squared distance from the mean.
    var Ordered var;
    /// The root of `var`.
    std Ordered |x, dims| var(x, dims).sqrt();
    max Ordered |x, dims| hlo::reduce(x, Opcode::Maximum, &extreme(x.tensor().dtype, true), dims);
    min Ordered |x, dims| hlo::reduce(x, Opcode::Minimum, &extreme(x.tensor().dtype, false), dims);
    /// Whether all are true; of bools.
    all Bits |x, dims| hlo::reduce(&x.ne_zero(), Opcode::And, &element(1.0, DType::I1), dims);
    /// Whether any is true; of bools.
    any Bits |x, dims| hlo::reduce(&x.ne_zero(), Opcode::Or, &element(0.0, DType::I1), dims);
    /// `ln(sum(exp(x)))`, without overflow.
    logsumexp Floats logsumexp;
}

impl Array {
    fn ne_zero(&self) -> Array {
        hlo::convert(self, DType::I1)
    }

    /// The position of the largest element along a dimension, or of all (`..`, row-major): `i32`, the first of equal ones.
    #[track_caller]
    pub fn argmax(&self, dims: impl Dims) -> Array {
        arg_of("argmax", self, dims, "GT")
    }

    /// The position of the smallest element along a dimension, or of all (`..`, row-major): `i32`, the first of equal ones.
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
            let d = mistakes::shape(
                "argmax-dims",
                format!("`{name}` over some but not all dimensions"),
                x.short_type(),
                "give one dimension, or `..` for the position in the flattened array",
                &s.loc,
            );
            return s.fail(None, d);
        }
        s.counts(x, if is_all { x.tensor().size() } else { x.tensor().shape[places[0]] })?;
        let keep = dims.keep();
        Ok(call(decided(name), (&places, keep), [x], |[x]| {
            let shape = x.tensor().shape.clone();
            let flat = if is_all { hlo::reshape(x, &[x.tensor().size()]) } else { x.clone() };
            kept(arg(&flat, if is_all { 0 } else { places[0] }, direction), &shape, &places, keep)
        }))
    })
}

/// A function along one dimension.
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

/// Running sums of narrow floats are taken in `f32`.
fn running(x: &Array, combine: Opcode, identity: f64, dim: usize) -> Array {
    let dtype = x.tensor().dtype;
    let to = wide(dtype);
    hlo::convert(&hlo::cumulative(&hlo::convert(x, to), combine, &element(identity, to), dim), dtype)
}

/// Whether `a` stands before `b`: zeros are equal, NaNs are last.
fn before(a: &Array, b: &Array) -> Array {
    if !a.tensor().dtype.is_float() {
        return hlo::compare("LT", a, b);
    }
    let is_nan = |x: &Array| hlo::compare("NE", x, x);
    hlo::compare("LT", a, b) | (is_nan(b) & !is_nan(a))
}

macro_rules! alongs {
    ($($(#[$doc:meta])* $f:ident $kinds:ident $body:expr;)*) => {
        /// Functions along one dimension. Shape: as `self`. Errors: `dimension`, `dtype-kind`.
        impl Array { $(
            $(#[$doc])*
            #[track_caller]
            pub fn $f(&self, dim: impl Dim) -> Array { along(stringify!($f), self, dim, Kinds::$kinds, $body) }
        )* }
    };
}

alongs! {
    cumsum Numbers |x, dim| running(x, Opcode::Add, 0.0, dim);
    cumprod Numbers |x, dim| running(x, Opcode::Multiply, 1.0, dim);
    cummax Ordered |x, dim| hlo::cumulative(x, Opcode::Maximum, &extreme(x.tensor().dtype, true), dim);
    cummin Ordered |x, dim| hlo::cumulative(x, Opcode::Minimum, &extreme(x.tensor().dtype, false), dim);
    /// `exp(x) / sum(exp(x))`, without overflow.
    softmax Floats softmax;
    /// `ln(softmax(x))`, without overflow.
    log_softmax Floats log_softmax;
    /// Ascending, stable; NaNs are last.
    sort Ordered |x, dim| hlo::sort(&[x], dim, |e| before(&e[0], &e[1])).swap_remove(0);
    /// The order that sorts: `i32`, stable.
    argsort Ordered |x, dim| {
        let positions = hlo::iota(TensorType::new(DType::I32, x.tensor().shape.clone()), dim);
        hlo::sort(&[x, &positions], dim, |e| before(&e[0], &e[1])).swap_remove(1)
    };
    /// In reverse.
    flip Any |x, dim| hlo::reverse(x, &[dim]);
}

impl Array {
    /// The `k` largest along the last dimension, in descending order, and their positions (`i32`).
    ///
    /// Shape: `f32[b, n] -> (f32[b, k], i32[b, k])`. Errors: `top-k` if `k` exceeds the last dimension.
    #[track_caller]
    pub fn top_k(&self, k: usize) -> (Array, Array) {
        let at = context::caller(Location::caller());
        context::within(at, || {
            let ok = site("top_k", &[self], |s| top_k_check(s, self, k).map(|()| self.clone()));
            if ok.node().ty.is_none() || (!self.is_wrong() && ok.is_wrong()) {
                return (ok.clone(), ok);
            }
            let mut out = call_many(decided("top_k"), k, &[self], 2, |x| {
                let x = &x[0];
                let mut shape = x.tensor().shape.clone();
                *shape.last_mut().expect("checked") = k;
                let types = [TensorType::new(x.tensor().dtype, shape.clone()), TensorType::new(DType::I32, shape)];
                let attrs = shardwise_ir::Attrs::new().with("k", shardwise_ir::Attr::int(k as i64));
                hlo::op_with(Opcode::TopK, &[x], attrs, vec![], &types)
            });
            let positions = out.pop().expect("two results");
            (out.pop().expect("two results"), positions)
        })
    }
}

fn top_k_check(s: &Site<'_>, x: &Array, k: usize) -> Checked<()> {
    let ty = x.tensor();
    if ty.shape.last().is_none_or(|&n| k > n) {
        let message = format!("`top_k` of {k} elements where there are not so many");
        return s.fail(None, mistakes::shape("top-k", message, x.short_type(), "", &s.loc));
    }
    s.counts(x, ty.shape.last().copied().unwrap_or(0))?;
    s.has(x, Kinds::Ordered)
}
