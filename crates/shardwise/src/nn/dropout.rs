//! Dropout.

use crate::array::Array;
use crate::eager::call;
use crate::ops::{Kinds, site};
use crate::random::{Key, bernoulli_of, is_key};
use crate::{explicit, mistakes, zeros_like};

/// Sets each element to 0 with probability `rate`, and divides the others by `1 - rate`. This is Flax's `Dropout` in
/// training. For evaluation, leave the call out.
///
/// Which elements are kept depends on the key, on the rate and on the positions of the elements in the array, and not
/// on its layout. In a `shard_map`, each device has its own array: give each device another key,
/// `key.fold_in(axis_index("X"))`.
///
/// # Errors
///
/// - `dropout-rate` unless `rate` is between 0 and 1.
/// - `dtype-kind` unless the elements are floats.
/// - `too-large` if an array that is computed for the random numbers would have 2^59 bytes or more, where a size of 0
///   counts as 1.
///
/// # Examples
///
/// ```
/// use shardwise::prelude::*;
/// let kept = nn::dropout(Key::new(0), &ones([1000], F32), 0.5).to_vec::<f32>()?;
/// assert!(kept.iter().all(|&x| x == 0.0 || x == 2.0));
/// # Ok::<(), Error>(())
/// ```
#[track_caller]
pub fn dropout(key: Key, x: &Array, rate: f64) -> Array {
    let key = key.data();
    site("dropout", &[&key, x], |s| {
        is_key(s, &key)?;
        s.has(x, Kinds::Floats)?;
        if !(0.0..=1.0).contains(&rate) {
            return s.fail(Some(x.tensor().clone()), mistakes::dropout_rate(rate, &x.short_type(), &s.loc));
        }
        Ok(call("dropout", rate.to_bits(), [&key, x], |[key, x]| match rate {
            0.0 => x.clone(),
            1.0 => zeros_like(x),
            _ => {
                // The mask gets the layout of the array, to which it is applied.
                let mask = explicit::silently_if_on(|| bernoulli_of(key, &x.tensor().shape, 1.0 - rate));
                mask.select(x / (1.0 - rate), 0.0)
            }
        }))
    })
}
