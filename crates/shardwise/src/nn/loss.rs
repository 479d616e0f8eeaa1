//! Losses.

use crate::array::Array;
use crate::eager::call;
use crate::explicit::decided;
use crate::ops::{Checked, Kinds, Site, site};
use crate::reduce::wide;
use crate::{DType, hlo, mistakes};
use shardwise_ir::TensorType;
use std::hash::Hash;

/// Computes the cross entropy between `softmax(logits)` and the labels, for each example, without overflow.
///
/// Labels are either integers, the index of the right class, or floats, the probability of each class. These are
/// `softmax_cross_entropy_with_integer_labels` and `softmax_cross_entropy` of optax. Negative integers count from the
/// last class, and integers out of range are clamped.
///
/// `bf16` and `f16` are computed in `f32` and rounded once.
///
/// # Shapes
///
/// `f32[.., classes], i32[..] -> f32[..]`, or `f32[.., classes], f32[.., classes] -> f32[..]`.
///
/// # Errors
///
/// - `labels` unless the labels have one of these shapes.
/// - `dtype-kind` unless the logits are floats, and the labels are integers or floats, of dtypes that have arithmetic:
///   `f8` logits and `i4` labels have to be converted first.
/// - `dtype-mixed` if logits and labels are floats of two types.
/// - `index-bounds` for integer labels if there are examples and no classes.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let logits = array(&[[0.0f32, 0.0], [1000.0, 0.0]]);
/// let loss = nn::softmax_cross_entropy(&logits, &array(&[1, 0])).to_vec::<f32>()?;
/// assert_eq!(loss, [2f32.ln(), 0.0]);
/// let soft = nn::softmax_cross_entropy(&logits, &array(&[[0.5f32, 0.5], [1.0, 0.0]])).to_vec::<f32>()?;
/// assert_eq!(soft, loss);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn softmax_cross_entropy(logits: &Array, labels: &Array) -> Array {
    site("softmax_cross_entropy", &[logits, labels], |s| {
        check(s, logits, labels)?;
        let f = if labels.tensor().dtype.is_integer() { of_indices } else { of_probabilities };
        Ok(call(decided("softmax_cross_entropy"), (), [logits, labels], |[logits, labels]| {
            let dtype = logits.tensor().dtype;
            hlo::convert(&f(&hlo::convert(logits, wide(dtype)), labels), dtype)
        }))
    })
}

/// Computes the squared errors, halved: `0.5 * (predictions - targets)^2`, as `optax.l2_loss` does.
///
/// # Errors
///
/// - `dtype-kind` unless the elements are floats, and `dtype-mixed` if the dtypes differ.
/// - `broadcast` if the arrays cannot be broadcast together.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
#[track_caller]
pub fn l2_loss(predictions: &Array, targets: &Array) -> Array {
    of_errors("l2_loss", predictions, targets, (), |error| error.square() * 0.5)
}

/// Computes errors that are squared and halved up to the size `delta` and grow linearly above it, as `optax.huber_loss`
/// does. For an error `e`, this is `0.5 * e^2` if `|e|` is at most `delta`, and `delta * (|e| - 0.5 * delta)`
/// otherwise. The default of optax for `delta` is 1.
///
/// # Errors
///
/// - `dtype-kind` unless the elements are floats, and `dtype-mixed` if the dtypes differ.
/// - `broadcast` if the arrays cannot be broadcast together.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let loss = nn::huber_loss(&array(&[0.5f32, -3.0]), &array(&[0.0f32, 0.0]), 1.0);
/// assert_eq!(loss.to_vec::<f32>()?, [0.125, 2.5]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn huber_loss(predictions: &Array, targets: &Array, delta: f64) -> Array {
    of_errors("huber_loss", predictions, targets, delta.to_bits(), |error| {
        let size = error.abs();
        let squared = size.minimum(delta);
        squared.square() * 0.5 + (size - squared) * delta
    })
}

/// Computes the cross entropy between `sigmoid(logits)` and the labels, without overflow, as
/// `optax.sigmoid_binary_cross_entropy` does. Labels are probabilities.
///
/// # Errors
///
/// - `dtype-kind` unless the elements are floats, and `dtype-mixed` if the dtypes differ.
/// - `broadcast` if the arrays cannot be broadcast together.
/// - `too-large` if the result would have 2^59 bytes or more, where a size of 0 counts as 1.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let loss = nn::sigmoid_binary_cross_entropy(&array(&[0.0f32, 1000.0]), &array(&[1.0f32, 0.0]));
/// assert_eq!(loss.to_vec::<f32>()?, [2f32.ln(), 1000.0]);
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn sigmoid_binary_cross_entropy(logits: &Array, labels: &Array) -> Array {
    of_pairs("sigmoid_binary_cross_entropy", logits, labels, (), |logits, labels| {
        -(labels * logits.log_sigmoid() + (1.0 - labels) * (-logits).log_sigmoid())
    })
}

#[track_caller]
fn of_errors(
    name: &'static str,
    predictions: &Array,
    targets: &Array,
    constants: impl Hash,
    f: impl Fn(&Array) -> Array,
) -> Array {
    of_pairs(name, predictions, targets, constants, |predictions, targets| f(&(predictions - targets)))
}

/// Runs an elementwise function of two arrays of floats, which are broadcast to one shape.
#[track_caller]
fn of_pairs(
    name: &'static str,
    a: &Array,
    b: &Array,
    constants: impl Hash,
    f: impl Fn(&Array, &Array) -> Array,
) -> Array {
    site(name, &[a, b], |s| {
        s.has(a, Kinds::Floats)?;
        s.has(b, Kinds::Floats)?;
        s.broadcast(a, b)?;
        Ok(call(name, constants, [a, b], |[a, b]| f(a, b)))
    })
}

fn of_indices(logits: &Array, labels: &Array) -> Array {
    let last = logits.rank() - 1;
    let right = logits.take_along(labels.expand_dims(last), last).squeeze(last);
    logits.logsumexp(last) - right
}

fn of_probabilities(logits: &Array, labels: &Array) -> Array {
    let labels = hlo::convert(labels, logits.tensor().dtype);
    -(labels * logits.log_softmax(-1)).sum(-1)
}

fn check(s: &Site<'_>, logits: &Array, labels: &Array) -> Checked<()> {
    let (x, y) = (logits.tensor(), labels.tensor());
    s.has(logits, Kinds::Floats)?;
    s.has(labels, Kinds::Ordered)?;
    let examples = x.shape.split_last().map(|(_, examples)| examples.to_vec());
    let ty = examples.clone().map(|shape| TensorType::new(x.dtype, shape));
    let wanted = if y.dtype.is_integer() { examples } else { Some(x.shape.clone()).filter(|s| !s.is_empty()) };
    if wanted.as_ref() != Some(&y.shape) {
        return s.fail(ty, mistakes::labels(&logits.short_type(), &labels.short_type(), wanted.as_deref(), &s.loc));
    }
    if !y.dtype.is_integer() && x.dtype != y.dtype {
        let to = DType::of(x.dtype);
        return s.fail(ty, mistakes::dtypes(s.name, &logits.short_type(), &labels.short_type(), to, &s.loc));
    }
    // Without examples there is nothing to choose a class for.
    if y.dtype.is_integer() && x.shape.last() == Some(&0) && !y.shape.contains(&0) {
        return s.fail(ty, mistakes::no_classes(&logits.short_type(), &labels.short_type(), &s.loc));
    }
    Ok(())
}
