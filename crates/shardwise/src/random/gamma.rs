//! Gamma, beta, Dirichlet and Poisson distributions, whose numbers are drawn by rejection.
//!
//! The random bits are those of `jax.random`: each element of a gamma distribution has a key of its own, from which it
//! draws until a candidate is accepted.

use super::{Key, counters, hash, hash_by, is_key, keys_of, normal_from, uniform_from, uniform_of};
use crate::array::{Array, IntoShape};
use crate::control::while_loop;
use crate::eager::{call, call_many};
use crate::explicit::{self, decided};
use crate::ops::{AsArray, Checked, Either, Kinds, Operand, element, site};
use crate::shape::same_dtype;
use crate::{DType, context, hlo, mistakes};
use shardwise_base::{self as base, Literal};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use std::panic::Location;

/// Draws numbers from the gamma distribution with shape parameter `alpha` and scale 1, as `jax.random.gamma` does. The
/// method is that of Marsaglia and Tsang. `alpha` is a number, or an array that is broadcast to `shape`. It must be
/// positive, which is not checked: the elements for other numbers are NaN or meaningless.
///
/// The random bits are those of JAX, and the numbers differ from JAX's by rounding. The numbers have no derivative in
/// `alpha`: use [`stop_gradient`](Array::stop_gradient). If `alpha` is sharded, devices tell each other when all numbers
/// are drawn. In Explicit mode this is communication that the program does not ask for.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`, and `number-dtype` if a parameter is a bool.
/// - `dtype-mixed` if an array has another dtype, and `broadcast` if it cannot be broadcast to `shape`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = gamma(Key::new(0), 3.0, [1000], F32);
/// let mean = x.mean(..).item::<f32>()?;
/// assert!((2.8..3.2).contains(&mean), "{mean}");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn gamma(key: Key, alpha: impl Operand, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    drawn("gamma", &key, [alpha.operand()], &ty, |key, [alpha]| gamma_of(key, alpha, Space::Linear))
}

/// Draws numbers from the beta distribution with shape parameters `a` and `b`, as `jax.random.beta` does: numbers from 0
/// to 1. `a` and `b` are numbers, or arrays that are broadcast to `shape`. They must be positive, which is not checked.
///
/// The random bits are those of JAX, and the numbers differ from JAX's by rounding. The numbers have no derivative in
/// `a` and `b`: use [`stop_gradient`](Array::stop_gradient).
///
/// # Errors
///
/// The errors of [`gamma`].
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = beta(Key::new(0), 2.0, 6.0, [1000], F32);
/// let mean = x.mean(..).item::<f32>()?;
/// assert!((0.23..0.27).contains(&mean), "{mean}");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn beta(key: Key, a: impl Operand, b: impl Operand, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    drawn("beta", &key, [a.operand(), b.operand()], &ty, beta_of)
}

/// Draws vectors of numbers that are not negative and add up to 1 from the Dirichlet distribution with the parameters in
/// the last dimension of `alpha`, as `jax.random.dirichlet` does. `shape` is that of the batch of vectors, to which the
/// other dimensions of `alpha` are broadcast. The parameters must be positive, which is not checked.
///
/// The random bits are those of JAX, and the numbers differ from JAX's by rounding. The numbers have no derivative in
/// `alpha`: use [`stop_gradient`](Array::stop_gradient).
///
/// # Shapes
///
/// `dtype[.., k] -> dtype[shape, k]`.
///
/// # Errors
///
/// - `dimension` if `alpha` has no dimensions.
/// - The errors of [`gamma`].
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = dirichlet(Key::new(0), array(&[1.0f32, 2.0, 5.0]), [4], F32);
/// assert_eq!(x.shape(), [4, 3]);
/// assert_close(&x.sum(1), &ones([4], F32));
/// ```
#[track_caller]
pub fn dirichlet(key: Key, alpha: impl AsArray, shape: impl IntoShape, dtype: DType) -> Array {
    let (alpha, mut shape) = (alpha.as_array(), shape.into_shape().0);
    site("dirichlet", &[&key.0, alpha], |s| {
        let last = s.dim(alpha, -1)?;
        shape.push(alpha.tensor().shape[last]);
        let ty = TensorType::new(dtype.base(), shape);
        Ok(drawn("dirichlet", &key, [alpha.operand()], &ty, |key, [alpha]| {
            gamma_of(key, alpha, Space::Log).softmax(-1)
        }))
    })
}

/// Draws integers from the Poisson distribution with the mean `rate`, as `jax.random.poisson` does. `rate` is a number,
/// or an array that is broadcast to `shape`, and is converted to `f32`. Means below 10 take Knuth's method, and others
/// Hörmann's transformed rejection. The means are not checked: the numbers for negative ones and for NaN are -1.
///
/// The random bits are those of JAX. Where a comparison of rounded numbers decides, a number may differ from JAX's.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `i32` or `i64`, and unless an array `rate` consists of integers or floats.
/// - `number-dtype` if `rate` is a bool.
/// - `broadcast` if an array cannot be broadcast to `shape`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = poisson(Key::new(0), 4.0, [1000], I32);
/// let mean = x.mean(..).item::<f32>()?;
/// assert!((3.8..4.2).contains(&mean), "{mean}");
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn poisson(key: Key, rate: impl Operand, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    let at = context::caller(Location::caller());
    context::within(at, || {
        let rate = rate.operand();
        let array = rate.array().cloned();
        let operands: Vec<&Array> = std::iter::once(&key.0).chain(&array).collect();
        site("poisson", &operands, |s| {
            is_key(s, &key.0)?;
            s.fits(&ty)?;
            if !matches!(ty.dtype, base::DType::I32 | base::DType::I64) {
                let d = mistakes::wrong_kind("poisson", &ty.short(), "i32 or i64", "", &s.loc);
                return s.fail(Some(ty.clone()), d);
            }
            let rate = s.beside(rate, &Array::of_type([], DType::F32))?;
            s.has(&rate, Kinds::Ordered)?;
            s.broadcasts(&rate, &ty)?;
            Ok(call(decided("poisson"), &ty, [&key.0, &rate], |[key, rate]| {
                let rate = hlo::broadcast_to(&hlo::convert(rate, base::DType::F32), &ty.shape);
                laid_out_as(&rate, || poisson_of(key, &rate.stop_gradient(), ty.dtype))
            }))
        })
    })
}

/// Runs a function that draws an array of type `ty` from a key and from parameters, which `f` gets with this type.
/// `name` is the function in messages.
///
/// Errors: those of [`gamma`].
#[track_caller]
fn drawn<const N: usize>(
    name: &'static str,
    key: &Key,
    params: [Either; N],
    ty: &TensorType,
    f: impl Fn(&Array, &[Array; N]) -> Array,
) -> Array {
    let at = context::caller(Location::caller());
    context::within(at, || {
        let arrays: Vec<Array> = params.iter().filter_map(Either::array).cloned().collect();
        let operands: Vec<&Array> = std::iter::once(&key.0).chain(&arrays).collect();
        site(name, &operands, |s| {
            is_key(s, &key.0)?;
            s.fits(ty)?;
            s.makes_floats(ty)?;
            let like = Array::of_type([], DType::of(ty.dtype));
            let params: Vec<Array> = params.into_iter().map(|p| s.beside(p, &like)).collect::<Checked<Vec<Array>>>()?;
            for p in &params {
                same_dtype(s, &like, p)?;
                s.broadcasts(p, ty)?;
            }
            let operands: Vec<&Array> = std::iter::once(&key.0).chain(&params).collect();
            let made = call_many(decided(name), ty, &operands, 1, |x| {
                let params: Vec<Array> = x[1..].iter().map(|p| hlo::broadcast_to(p, &ty.shape)).collect();
                vec![f(&x[0], &params.try_into().unwrap_or_else(|_| unreachable!("as many as were given")))]
            });
            Ok(made.into_iter().next().expect("one result"))
        })
    })
}

/// Runs `f`, which draws one number for each element of `param`. The result has the layout of `param`, which counts as
/// replicated if it has none.
fn laid_out_as(param: &Array, f: impl FnOnce() -> Array) -> Array {
    if !explicit::is_typing() {
        return f();
    }
    match explicit::given(param) {
        Some(own) if !own.unreduced.is_empty() || !own.reduced.is_empty() => f(),
        Some(_) => explicit::like_looping(param, f),
        None => explicit::lay(&[explicit::silently(f)], &[explicit::layout(param)]).remove(0),
    }
}

// ── gamma distributions
/// The form in which a number is drawn: itself, or its logarithm, which does not underflow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Linear,
    Log,
}

/// The two words of a key for each element.
type Keys = [Array; 2];

/// Returns key `i` of those into which each key is split.
fn nth(keys: &Keys, i: u32) -> Keys {
    let shape = &keys[0].tensor().shape;
    let word = |n: u32| hlo::splat(&Literal::scalar(n), shape);
    hash_by(keys, &[word(0), word(i)])
}

fn beta_of(key: &Array, [a, b]: &[Array; 2]) -> Array {
    let [first, second] = keys_of(key);
    let (a, b) = (gamma_of(&first, a, Space::Log), gamma_of(&second, b, Space::Log));
    let largest = a.maximum(&b);
    let (a, b) = ((a - &largest).exp(), (b - &largest).exp());
    &a / (&a + b)
}

/// Draws a number of the gamma distribution for each element of `alpha`.
fn gamma_of(key: &Array, alpha: &Array, space: Space) -> Array {
    laid_out_as(alpha, || {
        // The float next to a number in its own direction is the number. This op has no derivative, and neither have the
        // numbers that are drawn: whether a candidate is accepted depends on `alpha`.
        let alpha = hlo::binary(Opcode::ChloNextAfter, alpha, alpha);
        let keys = hash(key, &counters(&alpha.tensor().shape));
        boosted(&nth(&keys, 1), &alpha, space, |above| accepted(nth(&keys, 0), above))
    })
}

/// Draws for parameters below 1 as well: a number for `alpha + 1`, times a uniform one to the power of `1 / alpha`.
/// `draw` returns `d` and `v` for parameters of at least 1, of which the number is the product.
fn boosted(keys: &Keys, alpha: &Array, space: Space, draw: impl FnOnce(&Array) -> [Array; 2]) -> Array {
    let is_large = alpha.ge(1.0);
    let [d, v] = draw(&is_large.select(alpha, alpha + 1.0));
    let uniform = uniform_from(&nth(keys, 0), alpha.tensor(), 0.0, 1.0);
    let power = 1.0 / alpha;
    match space {
        Space::Linear => d * v * is_large.select(1.0, (1.0 - uniform).pow(power)),
        Space::Log => {
            let log = hlo::unary(Opcode::LogPlusOne, &-uniform);
            let is_one = is_large | log.eq(0.0);
            d.ln() + v.ln() + is_one.select(0.0, log * power)
        }
    }
}

/// Draws by the method of Marsaglia and Tsang for parameters of at least 1: candidates `d * v`, where `v` is the cube of
/// `1 + x / sqrt(9 d)` for a normal number `x`, until each element has accepted one. Returns `d` and `v`.
fn accepted(keys: Keys, alpha: &Array) -> [Array; 2] {
    let ty = alpha.tensor().clone();
    let third = element(1.0 / 3.0, ty.dtype).get_f64(0);
    let d = alpha - third;
    let c = third / d.sqrt();
    let ones = hlo::splat(&element(1.0, ty.dtype), &ty.shape);
    let start = (keys, (ones.clone(), ones.eq(1.0)));
    let (_, (v, _)) = while_loop(
        start,
        |(_, (_, is_open))| is_open.any(..),
        |(keys, (v, is_open)): (Keys, (Array, Array))| {
            let (x, next) = candidate(nth(&keys, 1), &is_open, &c);
            let uniform = uniform_from(&nth(&nth(&keys, 2), 0), &ty, 0.0, 1.0);
            let (square, cube) = (&x * &x, &next * &next * &next);
            let is_far = uniform.ge(1.0 - 0.0331 * (&square * &square));
            let is_rejected = is_far & uniform.ln().ge(square * 0.5 + &d * (1.0 - &cube + cube.ln()));
            (nth(&keys, 0), (is_open.select(cube, v), is_open & is_rejected))
        },
    );
    [d, v]
}

/// Draws normal numbers `x` until `v = 1 + c x` is positive for all elements that are open. Returns `x` and `v`.
fn candidate(keys: Keys, is_open: &Array, c: &Array) -> (Array, Array) {
    let ty = c.tensor().clone();
    let number = |x: f64| hlo::splat(&element(x, ty.dtype), &ty.shape);
    let start = (keys, (number(0.0), is_open.select(number(-1.0), number(1.0))));
    let (_, (x, v)) = while_loop(
        start,
        |(_, (_, v))| v.le(0.0).any(..),
        |(keys, (x, v)): (Keys, (Array, Array))| {
            let next = normal_from(&nth(&nth(&keys, 1), 0), &ty);
            let is_open = v.le(0.0);
            let v = is_open.select(1.0 + &next * c, v);
            (nth(&keys, 0), (is_open.select(next, x), v))
        },
    );
    (x, v)
}

// ── Poisson distributions
/// The largest number of turns of a loop, as in JAX for `i32`.
const MAX_TURNS: i32 = i32::MAX;

fn poisson_of(key: &Array, rate: &Array, dtype: base::DType) -> Array {
    let is_small = rate.is_nan() | rate.lt(10.0);
    let small = knuth(key, &is_small.select(rate, 0.0), dtype);
    let large = hormann(key, &is_small.select(1e5, rate), dtype);
    rate.eq(0.0).select(0, is_small.select(small, large))
}

/// Multiplies uniform numbers until the product is at most `exp(-rate)`. The result is the number of factors less one.
fn knuth(key: &Array, rate: &Array, dtype: base::DType) -> Array {
    let ty = rate.tensor().clone();
    let count = hlo::zeros(&TensorType::new(dtype, ty.shape.clone()));
    let start = (hlo::integer(0, base::DType::I32), (key.clone(), (count, hlo::zeros(&ty))));
    type Turn = (Array, (Array, (Array, Array)));
    let (_, (_, (count, _))) = while_loop(
        start,
        |(turn, (_, (_, log)))| log.gt(-rate).any(..) & turn.lt(MAX_TURNS),
        |(turn, (key, (count, log))): Turn| {
            let [key, draw] = keys_of(&key);
            let count = log.gt(-rate).select(&count + 1, count);
            (turn + 1, (key, (count, log + uniform_of(&draw, &ty, 0.0, 1.0).ln())))
        },
    );
    count - 1
}

/// Draws by Hörmann's transformed rejection (PTRS), until each element has accepted a number.
fn hormann(key: &Array, rate: &Array, dtype: base::DType) -> Array {
    let ty = rate.tensor().clone();
    let log_rate = rate.ln();
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * &b;
    let inverse_alpha = 1.1239 + 1.1328 / (&b - 3.4);
    let limit = 0.9277 - 3.6224 / (&b - 2.0);
    let none = hlo::splat(&element(-1.0, ty.dtype), &ty.shape);
    let start = (hlo::integer(0, base::DType::I32), (key.clone(), (none.clone(), none.gt(0.0))));
    type Turn = (Array, (Array, (Array, Array)));
    let (_, (_, (number, _))) = while_loop(
        start,
        |(turn, (_, (_, is_done)))| (!is_done).any(..) & turn.lt(MAX_TURNS),
        |(turn, (key, (number, is_done))): Turn| {
            let [key, first, second] = keys_of(&key);
            let u = uniform_of(&first, &ty, 0.0, 1.0) - 0.5;
            let v = uniform_of(&second, &ty, 0.0, 1.0);
            let distance = 0.5 - u.abs();
            let k = ((2.0 * &a / &distance + &b) * &u + rate + 0.43).floor();
            let density = (&v * &inverse_alpha / (&a / (&distance * &distance) + &b)).ln();
            let bound = -rate + &k * &log_rate - (&k + 1.0).lgamma();
            let is_inside = distance.ge(0.07) & v.le(&limit);
            let is_outside = k.lt(0.0) | (distance.lt(0.013) & v.gt(&distance));
            let is_accepted = is_inside | (!is_outside & density.le(bound));
            (turn + 1, (key, (is_accepted.select(k, number), is_done | is_accepted)))
        },
    );
    hlo::convert(&number, dtype)
}
