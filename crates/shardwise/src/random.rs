//! Random numbers: threefry, with the bits of `jax.random`.
//!
//! The random bits of an element depend only on the key and the element's row-major position, and not on the layout of
//! the array.

mod choice;
mod gamma;

pub use choice::{Choice, choice};
pub use gamma::{beta, dirichlet, gamma, poisson};

use crate::array::{Array, IntoShape};
use crate::eager::{call, create_from};
use crate::ops::{Checked, Dim, Kinds, Operand, Site, checked, element, site};
use crate::reduce::has_elements;
use crate::tree::{Form, Path, Tree};
use crate::{DType, context, create, explicit, hlo, mistakes, scalar};
use shardwise_base::{self as base, Literal};
use shardwise_ir::TensorType;
use shardwise_ops::Opcode;
use std::hash::Hash;
use std::ops::Range;
use std::panic::Location;

const U32: base::DType = base::DType::U32;

/// A seed for one use. Using the key moves it, so code that uses it twice does not compile, except through
/// [`Key::reuse`].
///
/// A key is a tree with one leaf of type `u32[2]`. The leaf of stacked keys, which [`vmap`](crate::vmap()) may return,
/// has another type. Functions that draw from such a key fail with `key-type`: map over the keys with `vmap`, `scan` or
/// `map` first.
#[derive(Debug)]
pub struct Key(Array);

impl Key {
    /// Creates a key from a seed, as `jax.random.key` does.
    #[track_caller]
    pub fn new(seed: u64) -> Key {
        let words = [(seed >> 32) as u32, seed as u32];
        Key(create::from_literal(Literal::new([2], &words), context::caller(Location::caller())))
    }

    /// Splits the key into `N` keys, as `jax.random.split` does: `let [a, b, c] = key.split();`.
    ///
    /// # Errors
    ///
    /// The errors of [`Key::split_n`].
    #[track_caller]
    pub fn split<const N: usize>(self) -> [Key; N] {
        let keys = self.split_n(N);
        keys.try_into().unwrap_or_else(|_| unreachable!("as many as were asked for"))
    }

    /// Splits the key into `n` keys, a number that is known only at run time.
    ///
    /// # Errors
    ///
    /// `too-large` for more than 2^24 keys. This ends the trace. Outside of a trace, the function panics. If the key is
    /// not a single key, all results carry the mistake `key-type`.
    #[track_caller]
    pub fn split_n(self, n: usize) -> Vec<Key> {
        let at = context::caller(Location::caller());
        if n > 1 << 24 {
            let message = "`split_n` makes at most 16777216 keys".to_string();
            let help = "draw arrays of random numbers from fewer keys";
            let d = mistakes::with_facts("too-large", message, format!("{n} keys"), help, &context::loc(at));
            crate::control::give_up(d, at);
        }
        context::within(at, || {
            if let Err(bad) = checked("split", &[&self.0], |s| is_key(s, &self.0)) {
                return (0..n).map(|_| Key(bad.clone())).collect();
            }
            let words = call("split", n, [&self.0], |[key]| {
                let [a, b] = hash(key, &counters(&[n]));
                let column = |x: &Array| hlo::reshape(x, &[n, 1]);
                hlo::concatenate(&[&column(&a), &column(&b)], 1)
            });
            (0..n).map(|i| Key(words.i(i))).collect()
        })
    }

    /// Splits the key into one to use now and one for later, in this order. Both carry the mistake `key-type` if the
    /// key is not a single key.
    #[track_caller]
    pub fn next(self) -> (Key, Key) {
        let at = context::caller(Location::caller());
        let [a, b] = context::within(at, || self.split());
        (a, b)
    }

    /// Returns another key for each number, static or traced: the step of a training loop, or a device's position. This
    /// is `jax.random.fold_in`. An array is converted to `u32`, so that an integer out of its range wraps.
    ///
    /// # Errors
    ///
    /// - `number-dtype` if a Rust number is not an integer that fits a `u32`.
    /// - `dtype-kind` unless an array holds integers, and `fold-in` unless it is a scalar.
    /// - `key-type` if the key is not a single key.
    ///
    /// The array of the key carries the mistake.
    #[track_caller]
    pub fn fold_in(self, n: impl Operand) -> Key {
        let at = context::caller(Location::caller());
        let key = self.0;
        context::within(at, || {
            let n = match n.operand().0 {
                crate::ops::EitherKind::Array(n) => n,
                crate::ops::EitherKind::Number(n) => site("fold_in", &[&key], |s| {
                    let word = scalar(0u32, DType::U32);
                    s.beside(crate::ops::Either(crate::ops::EitherKind::Number(n)), &word)
                }),
            };
            Key(site("fold_in", &[&key, &n], |s| {
                is_key(s, &key)?;
                s.kind(&n, base::DType::is_integer, "an integer scalar", "")?;
                if n.tensor().rank() != 0 {
                    let message = "`fold_in` needs an integer scalar".to_string();
                    let d = mistakes::with_facts("fold-in", message, n.short_type(), "", &s.loc);
                    return s.fail(Some(key.tensor().clone()), d);
                }
                Ok(call("fold_in", (), [&key, &n], |[key, n]| {
                    let zero = hlo::constant(element(0.0, U32));
                    let words = hash(key, &[zero, hlo::convert(n, U32)]);
                    let word = |x: &Array| hlo::reshape(x, &[1]);
                    hlo::concatenate(&[&word(&words[0]), &word(&words[1])], 0)
                }))
            }))
        })
    }

    /// Returns the same key again, with which the same numbers will be drawn.
    pub fn reuse(&self) -> Key {
        Key(self.0.clone())
    }

    /// Returns the two words of the key as `u32[2]`, as `jax.random.key_data` does.
    pub fn data(&self) -> Array {
        self.0.clone()
    }
}

impl Tree for Key {
    fn visit<'a>(&'a self, at: &mut Path, f: &mut dyn FnMut(&Path, &'a Array)) {
        f(at, &self.0);
    }
    fn rebuild(&self, f: &mut dyn FnMut(&Array) -> Array) -> Key {
        Key(f(&self.0))
    }
    fn form(&self, _: &mut Form) {}
}

// ── threefry, traced
/// Returns the row-major position of each element of an array of this shape, as two `u32` arrays: the high words and
/// the low words.
fn counters(shape: &[usize]) -> [Array; 2] {
    let ty = TensorType::new(U32, shape);
    let size = ty.size();
    let low = (0..shape.len()).fold(None, |sum: Option<Array>, d| {
        let stride: usize = shape[d + 1..].iter().product();
        let place = hlo::iota(ty.clone(), d);
        let part = if stride == 1 { place } else { hlo::binary(Opcode::Multiply, &place, &word(stride as u32, &ty)) };
        Some(sum.map_or(part.clone(), |sum| hlo::binary(Opcode::Add, &sum, &part)))
    });
    let low = low.unwrap_or_else(|| hlo::zeros(&ty));
    if u32::try_from(size).is_ok() { [hlo::zeros(&ty), low] } else { long_counters(&ty) }
}

/// Returns the high and the low words of the positions, as [`counters`] does, for arrays of 2^32 elements and more.
fn long_counters(ty: &TensorType) -> [Array; 2] {
    let long = TensorType::new(base::DType::U64, ty.shape.clone());
    let constant = |n: u64| hlo::splat(&Literal::scalar(n), &ty.shape);
    let sum = (0..ty.rank()).fold(hlo::zeros(&long), |sum, d| {
        let stride: usize = ty.shape[d + 1..].iter().product();
        let part = hlo::binary(Opcode::Multiply, &hlo::iota(long.clone(), d), &constant(stride as u64));
        hlo::binary(Opcode::Add, &sum, &part)
    });
    let high = hlo::binary(Opcode::ShiftRightLogical, &sum, &constant(32));
    [hlo::convert(&high, U32), hlo::convert(&sum, U32)]
}

fn word(n: u32, ty: &TensorType) -> Array {
    hlo::splat(&Literal::scalar(n), &ty.shape)
}

/// Computes Threefry-2x32 with a key `u32[2]` for each element of the counters. `counter` and the result are two `u32`
/// arrays of one shape: the first and the second words.
fn hash(key: &Array, counter: &[Array; 2]) -> [Array; 2] {
    let half = |i: usize| hlo::reshape(&hlo::slice(key, &[i], &[i + 1], &[1]), &[]);
    hash_by(&[half(0), half(1)], counter)
}

/// Computes Threefry-2x32 as [`hash`] does. `keys` are the two words of one key, as scalars, or of a key for each
/// element.
fn hash_by(keys: &[Array; 2], counter: &[Array; 2]) -> [Array; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let ty = counter[0].tensor().clone();
    let [a, b] = keys.clone();
    let parity = hlo::splat(&Literal::scalar(0x1BD1_1BDAu32), &a.tensor().shape);
    let c = hlo::binary(Opcode::Xor, &hlo::binary(Opcode::Xor, &a, &b), &parity);
    let keys = [a, b, c].map(|k| hlo::broadcast_to(&k, &ty.shape));
    let add = |a: &Array, b: &Array| hlo::binary(Opcode::Add, a, b);
    let rotate = |x: &Array, by: u32| {
        let left = hlo::binary(Opcode::ShiftLeft, x, &word(by, &ty));
        hlo::binary(Opcode::Or, &left, &hlo::binary(Opcode::ShiftRightLogical, x, &word(32 - by, &ty)))
    };
    let mut x = [add(&counter[0], &keys[0]), add(&counter[1], &keys[1])];
    for round in 0..5 {
        for by in ROTATIONS[round % 2] {
            x[0] = add(&x[0], &x[1]);
            x[1] = hlo::binary(Opcode::Xor, &rotate(&x[1], by), &x[0]);
        }
        x[0] = add(&x[0], &keys[(round + 1) % 3]);
        x[1] = add(&add(&x[1], &keys[(round + 2) % 3]), &word(round as u32 + 1, &ty));
    }
    x
}

/// Returns random bits as `jax.random.bits` does: an array of this shape of unsigned integers with `width` bits.
/// `width` is 8, 16, 32 or 64.
fn bits_of(key: &Array, shape: &[usize], width: usize) -> Array {
    bits_from(&hash(key, &counters(shape)), width)
}

/// Returns bits as [`bits_of`] does, from the two random words of each element.
fn bits_from([high, low]: &[Array; 2], width: usize) -> Array {
    let shape = &high.tensor().shape;
    let unsigned = |bits: usize| match bits {
        8 => base::DType::U8,
        16 => base::DType::U16,
        _ => base::DType::U64,
    };
    match width {
        32 => hlo::binary(Opcode::Xor, high, low),
        64 => {
            let long = |x: &Array| hlo::convert(x, base::DType::U64);
            let by = hlo::splat(&Literal::scalar(32u64), shape);
            hlo::binary(Opcode::Or, &hlo::binary(Opcode::ShiftLeft, &long(high), &by), &long(low))
        }
        _ => hlo::convert(&hlo::binary(Opcode::Xor, high, low), unsigned(width)),
    }
}

/// Draws random bits, as `jax.random.bits` does.
///
/// # Shapes
///
/// `u32[shape]`.
///
/// # Errors
///
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn bits(key: Key, shape: impl IntoShape) -> Array {
    let shape = shape.into_shape().0;
    let ty = TensorType::new(U32, shape.clone());
    drawing("bits", &key, |s| {
        s.fits(&ty)?;
        Ok(create_from("bits", &ty, [&key.0], ty.clone(), move |[key]| bits_of(key, &shape, 32)))
    })
}

fn mantissa_bits(dtype: base::DType) -> usize {
    match dtype {
        base::DType::F64 => 52,
        base::DType::F32 => 23,
        base::DType::F16 => 10,
        _ => 7,
    }
}

/// Draws numbers uniformly from `low` up to, but not including, `high`, as `jax.random.uniform` does: with a mantissa
/// of random bits. The dtype of `ty` is `f16`, `bf16`, `f32` or `f64`.
pub(crate) fn uniform_of(key: &Array, ty: &TensorType, low: f64, high: f64) -> Array {
    uniform_from(&hash(key, &counters(&ty.shape)), ty, low, high)
}

/// Draws numbers as [`uniform_of`] does, from the two random words of each element.
fn uniform_from(words: &[Array; 2], ty: &TensorType, low: f64, high: f64) -> Array {
    let (width, mantissa) = (ty.dtype.bits(), mantissa_bits(ty.dtype));
    let drawn = if mantissa < 8 { 8 } else { width };
    let unsigned = match width {
        16 => base::DType::U16,
        32 => U32,
        _ => base::DType::U64,
    };
    let bits = hlo::convert(&bits_from(words, drawn), unsigned);
    let constant = |n: u64| {
        let bytes = &n.to_le_bytes()[..unsigned.storage_bytes()];
        hlo::splat(&Literal::from_bytes(unsigned, &[], bytes).expect("one element"), &ty.shape)
    };
    let one = u64::from_le_bytes({
        let mut bytes = [0; 8];
        let one = element(1.0, ty.dtype);
        bytes[..one.element_bytes(0).len()].copy_from_slice(one.element_bytes(0));
        bytes
    });
    let shifted = hlo::binary(Opcode::ShiftRightLogical, &bits, &constant((drawn - mantissa) as u64));
    let float = hlo::bitcast(&hlo::binary(Opcode::Or, &shifted, &constant(one)), ty.dtype);
    let number = |x: f64| hlo::splat(&element(x, ty.dtype), &ty.shape);
    let unit = hlo::binary(Opcode::Subtract, &float, &number(1.0));
    let (low_number, span) = (number(low), element(high, ty.dtype).get_f64(0) - element(low, ty.dtype).get_f64(0));
    let scaled = hlo::binary(Opcode::Add, &hlo::binary(Opcode::Multiply, &unit, &number(span)), &low_number);
    hlo::binary(Opcode::Maximum, &low_number, &scaled)
}

/// Checks that an array is that of a single key.
///
/// Errors: `key-type`.
pub(crate) fn is_key(s: &Site<'_>, key: &Array) -> Checked<()> {
    if *key.tensor() == TensorType::new(U32, [2]) {
        return Ok(());
    }
    let message = format!("`{}` draws from one key, whose type is u32[2]", s.name);
    let help = "map over stacked keys with `vmap`, `scan` or `map`, and keep keys as they are when you convert a tree";
    s.fail(None, mistakes::with_facts("key-type", message, key.short_type(), help, &s.loc))
}

/// Runs `f`, which draws from `key`, as [`site`] does. `name` is the function in messages.
///
/// Errors: `key-type`.
#[track_caller]
fn drawing(name: &'static str, key: &Key, f: impl FnOnce(&Site<'_>) -> Checked) -> Array {
    site(name, &[&key.0], |s| {
        is_key(s, &key.0)?;
        f(s)
    })
}

/// Creates a random array of type `ty`, which `f` makes from the key and the type in a trace. `name` is the function in
/// messages. `constants` are everything else that `f` depends on.
///
/// Errors: `key-type`, `too-large`, and `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
#[track_caller]
pub(crate) fn floats(
    name: &'static str,
    key: Key,
    ty: TensorType,
    constants: impl Hash,
    f: impl Fn(&Array, &TensorType) -> Array + Send + Sync + 'static,
) -> Array {
    drawing(name, &key, |s| {
        s.fits(&ty)?;
        s.makes_floats(&ty)?;
        let made = ty.clone();
        Ok(create_from(name, (&ty, constants), [&key.0], ty.clone(), move |[key]| f(key, &made)))
    })
}

/// Draws numbers uniformly from `0..1`, as `jax.random.uniform` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn uniform(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("uniform", key, ty, (), |key, ty| uniform_of(key, ty, 0.0, 1.0))
}

/// Draws numbers from the normal distribution with mean 0 and variance 1, as `jax.random.normal` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn normal(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("normal", key, ty, (), normal_of)
}

pub(crate) fn normal_of(key: &Array, ty: &TensorType) -> Array {
    normal_from(&hash(key, &counters(&ty.shape)), ty)
}

/// Draws normal numbers from the two random words of each element.
fn normal_from(words: &[Array; 2], ty: &TensorType) -> Array {
    let uniform = uniform_from(words, ty, above_minus_one(ty.dtype), 1.0);
    let root = hlo::splat(&element(std::f64::consts::SQRT_2, ty.dtype), &ty.shape);
    hlo::binary(Opcode::Multiply, &root, &hlo::unary(Opcode::ChloErfInv, &uniform))
}

fn above_minus_one(dtype: base::DType) -> f64 {
    -1.0 + (0.5f64).powi(mantissa_bits(dtype) as i32 + 1)
}

/// Draws bools that are true with probability `p`, as `jax.random.bernoulli` does.
///
/// # Shapes
///
/// `bool[shape]`.
///
/// # Errors
///
/// - `bernoulli` unless `p` is a number from 0 to 1.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn bernoulli(key: Key, p: f64, shape: impl IntoShape) -> Array {
    let ty = TensorType::new(base::DType::I1, shape.into_shape().0);
    drawing("bernoulli", &key, |s| {
        s.fits(&ty)?;
        if !(0.0..=1.0).contains(&p) {
            let message = format!("`bernoulli`: the probability {p} is not between 0 and 1");
            let help = "pass a number from 0 to 1";
            return s.fail(Some(ty.clone()), mistakes::with_facts("bernoulli", message, ty.short(), help, &s.loc));
        }
        let shape = ty.shape.clone();
        Ok(create_from("bernoulli", (&ty, p.to_bits()), [&key.0], ty.clone(), move |[key]| {
            bernoulli_of(key, &shape, p)
        }))
    })
}

pub(crate) fn bernoulli_of(key: &Array, shape: &[usize], p: f64) -> Array {
    let ty = TensorType::new(base::DType::F32, shape);
    hlo::compare("LT", &uniform_of(key, &ty, 0.0, 1.0), &hlo::splat(&element(p, ty.dtype), shape))
}

/// Draws numbers from the normal distribution with mean 0 and variance 1, without those that are not between `low` and
/// `high`, as `jax.random.truncated_normal` does. Both limits are excluded.
///
/// # Errors
///
/// - `truncated-normal` unless `low` is below `high`, and the dtype has a number between them.
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let x = truncated_normal(Key::new(0), -2.0, 2.0, [1000], F32);
/// assert!(x.abs().max(..).item::<f32>()? < 2.0);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn truncated_normal(key: Key, low: f64, high: f64, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    if low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
        return drawing("truncated_normal", &key, |s| {
            s.fail(Some(ty.clone()), mistakes::truncated_normal(low, high, &ty.short(), &s.loc))
        });
    }
    if ty.dtype.is_float() && ty.dtype.is_computed() && rank_of(high, ty.dtype) - rank_of(low, ty.dtype) < 2 {
        return drawing("truncated_normal", &key, |s| {
            s.fail(Some(ty.clone()), mistakes::nothing_between(low, high, &ty, &s.loc))
        });
    }
    floats("truncated_normal", key, ty, (low.to_bits(), high.to_bits()), move |key, ty| {
        truncated_normal_of(key, ty, low, high)
    })
}

/// Returns the place of `x`, rounded to a float dtype, among the numbers of this dtype in ascending order: 0 for zeros of
/// both signs, and 1 for the smallest number above them.
fn rank_of(x: f64, dtype: base::DType) -> i128 {
    let bits = element(x, dtype).element_bytes(0).iter().rev().fold(0, |bits, &b| bits << 8 | i128::from(b));
    let sign = 1 << (dtype.bits() - 1);
    if bits & sign == 0 { bits } else { sign - bits }
}

pub(crate) fn truncated_normal_of(key: &Array, ty: &TensorType, low: f64, high: f64) -> Array {
    let number = |x: f64| hlo::constant(element(x, ty.dtype));
    let root = std::f64::consts::SQRT_2;
    // In the precision of the dtype, as JAX computes them: erf(low / sqrt(2)).
    let erf = |x: f64| hlo::unary(Opcode::ChloErf, &number(x / root));
    let limits = [low, high].map(|x| hlo::broadcast_to(&erf(x), &ty.shape));
    let unit = uniform_of(key, ty, 0.0, 1.0);
    let uniform = (&unit * (&limits[1] - &limits[0]) + &limits[0]).maximum(&limits[0]);
    let drawn = hlo::unary(Opcode::ChloErfInv, &uniform) * root;
    let next = |x: f64, toward: f64| hlo::binary(Opcode::ChloNextAfter, &number(x), &number(toward));
    drawn.clamp(next(low, f64::INFINITY), next(high, f64::NEG_INFINITY))
}

/// Returns the numbers `0..n` in a random order, as `jax.random.permutation` does: `x.i(&permutation(key, n))` shuffles
/// `x`.
///
/// # Shapes
///
/// `i32[n]`.
///
/// # Errors
///
/// `number-dtype` if `n - 1` does not fit an `i32`, `too-large` if the array would have 2^59 bytes or more, and
/// `key-type` if the key is not a single key.
#[track_caller]
pub fn permutation(key: Key, n: usize) -> Array {
    let ty = TensorType::new(base::DType::I32, [n]);
    drawing("permutation", &key, |s| {
        s.fits(&ty)?;
        let last = crate::dtype::Number::Int(n.saturating_sub(1) as i128);
        if let Err(why) = last.as_literal(ty.dtype) {
            return s.fail(Some(ty.clone()), mistakes::number("permutation", last, &ty.short(), why, &s.loc));
        }
        let made = ty.clone();
        Ok(create_from("permutation", &ty, [&key.0], ty.clone(), move |[key]| permutation_of(key, &made)))
    })
}

/// Returns the numbers `0..n` in a random order as an array of type `ty`, which has one dimension, of size `n`. They
/// are sorted by random words, in so many rounds that probably no two of them have equal words in all rounds: none for
/// fewer than two numbers.
fn permutation_of(key: &Array, ty: &TensorType) -> Array {
    let n = ty.shape[0];
    let rounds = (3.0 * (n.max(1) as f64).ln() / f64::from(u32::MAX).ln()).ceil() as usize;
    let mut key = key.clone();
    (0..rounds).fold(hlo::iota(ty.clone(), 0), |order, _| {
        let [next, draw] = keys_of(&key);
        key = next;
        let words = bits_of(&draw, &ty.shape, 32);
        hlo::sort(&[&words, &order], 0, |e| hlo::compare("LT", &e[0], &e[1])).swap_remove(1)
    })
}

/// Draws an index along `dim` for each position in the other dimensions, with the probabilities `softmax(logits)`, as
/// `jax.random.categorical` does.
///
/// # Shapes
///
/// `f32[b, n] -> i32[b]` for `dim` 1.
///
/// # Errors
///
/// - `dimension` if there is no dimension `dim`.
/// - `dtype-kind` unless the logits are floats.
/// - `key-type` if the key is not a single key.
/// - `reduce-empty` if the dimension has size 0.
/// - `too-large` if an `i32` cannot count the positions, or if an array that is computed for the random numbers would
///   have 2^59 bytes or more, where a size of 0 counts as 1.
#[track_caller]
pub fn categorical(key: Key, logits: &Array, dim: impl Dim) -> Array {
    site("categorical", &[&key.0, logits], |s| {
        is_key(s, &key.0)?;
        let dim = s.dim(logits, dim)?;
        s.has(logits, Kinds::Floats)?;
        has_elements(s, logits, &[dim])?;
        s.counts(logits, logits.tensor().shape[dim])?;
        Ok(call("categorical", dim, [&key.0, logits], |[key, logits]| {
            // The noise gets the layout of the logits, to which it is added.
            let noise = explicit::silently_if_on(|| gumbel_of(key, logits.tensor()));
            (noise + logits).argmax(dim)
        }))
    })
}

/// Draws numbers from the standard Gumbel distribution, as `jax.random.gumbel` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn gumbel(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("gumbel", key, ty, (), gumbel_of)
}

/// Draws numbers from the exponential distribution with mean 1, as `jax.random.exponential` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn exponential(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("exponential", key, ty, (), |key, ty| {
        let uniform = uniform_of(key, ty, 0.0, 1.0);
        -hlo::unary(Opcode::LogPlusOne, &-uniform)
    })
}

/// Draws numbers from the Laplace distribution with mean 0 and scale 1, as `jax.random.laplace` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn laplace(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("laplace", key, ty, (), |key, ty| {
        let uniform = uniform_of(key, ty, above_minus_one(ty.dtype), 1.0);
        hlo::unary(Opcode::Sign, &uniform) * hlo::unary(Opcode::LogPlusOne, &-uniform.abs())
    })
}

/// Draws numbers from the standard logistic distribution, as `jax.random.logistic` does.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `f16`, `bf16`, `f32` or `f64`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
#[track_caller]
pub fn logistic(key: Key, shape: impl IntoShape, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    floats("logistic", key, ty, (), |key, ty| {
        let uniform = uniform_of(key, ty, smallest(ty.dtype), 1.0);
        hlo::unary(Opcode::Log, &uniform) - hlo::unary(Opcode::LogPlusOne, &-&uniform)
    })
}

fn gumbel_of(key: &Array, ty: &TensorType) -> Array {
    let minus_log = |x: &Array| hlo::unary(Opcode::Negate, &hlo::unary(Opcode::Log, x));
    minus_log(&minus_log(&uniform_of(key, ty, smallest(ty.dtype), 1.0)))
}

/// Returns the smallest positive normal number of a float dtype.
fn smallest(dtype: base::DType) -> f64 {
    match dtype {
        base::DType::F64 => f64::MIN_POSITIVE,
        base::DType::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    }
}

/// Splits a key into `N` keys.
fn keys_of<const N: usize>(key: &Array) -> [Array; N] {
    let [a, b] = hash(key, &counters(&[N]));
    let column = |x: &Array| hlo::reshape(x, &[N, 1]);
    let keys = hlo::concatenate(&[&column(&a), &column(&b)], 1);
    std::array::from_fn(|i| hlo::reshape(&hlo::slice(&keys, &[i, 0], &[i + 1, 2], &[1, 1]), &[2]))
}

/// Draws integers from a range, as `jax.random.randint` does. The range may be the whole range of the dtype from 0 on:
/// `0..1 << 32` for `u32`.
///
/// # Errors
///
/// - `dtype-kind` unless the dtype is `i32` or `u32`.
/// - `key-type` if the key is not a single key.
/// - `too-large` if the array, or one that is computed for it, would have 2^59 bytes or more, where a size of 0 counts
///   as 1, or more than 255 dimensions.
/// - `randint-range` if the range is empty, or has numbers that the dtype cannot represent.
#[track_caller]
pub fn randint(key: Key, shape: impl IntoShape, range: Range<usize>, dtype: DType) -> Array {
    let ty = TensorType::new(dtype.base(), shape.into_shape().0);
    drawing("randint", &key, |s| {
        s.fits(&ty)?;
        if !matches!(ty.dtype, base::DType::I32 | base::DType::U32) {
            let d = mistakes::wrong_kind("randint", &ty.short(), "i32 or u32", "", &s.loc);
            return s.fail(Some(ty.clone()), d);
        }
        if range.is_empty() || ty.dtype.integer_range().1 < range.end as i128 - 1 {
            let message =
                format!("`randint`: the range {range:?} is empty, or has numbers that the dtype cannot represent");
            return s.fail(Some(ty.clone()), mistakes::with_facts("randint-range", message, ty.short(), "", &s.loc));
        }
        let (made, range) = (ty.clone(), range.clone());
        let constants = (&ty, range.start, range.end);
        Ok(create_from("randint", constants, [&key.0], ty.clone(), move |[key]| randint_of(key, &made, &range)))
    })
}

fn randint_of(key: &Array, ty: &TensorType, range: &Range<usize>) -> Array {
    let [first, second] = keys_of(key);
    let (high, low) = (bits_of(&first, &ty.shape, 32), bits_of(&second, &ty.shape, 32));
    let span = (range.end - range.start) as u64;
    if span > u64::from(u32::MAX) {
        // The range is all of `u32`. The low word is the remainder of both words by 2^32.
        return low;
    }
    // The square of 2^16 modulo the span, in 32 bits, as JAX computes it: 2^32 modulo the span for spans up to 2^16.
    // For larger ones the square overflows to 0, so that only the low word counts.
    let half = (1u64 << 16) % span;
    let multiplier = (half * half) as u32 as u64 % span;
    let unsigned = TensorType::new(U32, ty.shape.clone());
    let number = |n: u64| word(n as u32, &unsigned);
    let rem = |x: &Array| hlo::binary(Opcode::Remainder, x, &number(span));
    let offset = hlo::binary(Opcode::Multiply, &rem(&high), &number(multiplier));
    let offset = rem(&hlo::binary(Opcode::Add, &offset, &rem(&low)));
    let start = hlo::splat(&element(range.start as f64, ty.dtype), &ty.shape);
    hlo::binary(Opcode::Add, &start, &hlo::convert(&offset, ty.dtype))
}
