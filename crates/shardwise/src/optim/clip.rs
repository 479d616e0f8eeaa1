//! Limits of gradients.

use super::settings::not_negative;
use super::{Optimizer, Params, Part, Parts};
use crate::array::Array;
use crate::tree::{self, Tree};
use crate::{DType, context, scalar};
use std::panic::Location;

/// The transformation [`clip_by_global_norm`].
#[derive(Clone, Copy, Debug)]
pub struct ClipByGlobalNorm(f64);

/// Leaves the gradients as they are if their global norm is less than `max_norm`. Otherwise, scales all of them by one
/// factor, so that the norm becomes `max_norm`. If the norm is NaN, or if it and `max_norm` are 0, all gradients become
/// NaN. This is `optax.clip_by_global_norm`. A `max_norm` that is negative or not finite is reported by
/// [`init`](Optimizer::init).
///
/// Inside a `shard_map`, each device has the norm of its own gradients.
pub fn clip_by_global_norm(max_norm: f64) -> ClipByGlobalNorm {
    ClipByGlobalNorm(max_norm)
}

impl Optimizer for ClipByGlobalNorm {
    fn part_names(&self) -> Vec<&'static str> {
        vec![]
    }
    fn init_parts(&self, _: &Params) -> Vec<Part<Vec<Array>>> {
        vec![]
    }
    fn transform(&self, updates: Vec<Array>, _: &mut Parts, _: &Params) -> Vec<Array> {
        let norm = norm(updates.iter());
        let is_small = norm.lt(self.0);
        let clipped = |u: Array| is_small.select(&u, &u / norm.astype(u.dtype()) * self.0);
        updates.into_iter().map(clipped).collect()
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        not_negative(&[("max_norm", self.0)])
    }
}

/// The transformation [`clip`].
#[derive(Clone, Copy, Debug)]
pub struct Clip(f64);

/// Limits each element of the gradients to the range from `-max` to `max`: `optax.clip`. NaN stays NaN. A `max` that is
/// negative or not finite is reported by [`init`](Optimizer::init).
pub fn clip(max: f64) -> Clip {
    Clip(max)
}

impl Optimizer for Clip {
    fn part_names(&self) -> Vec<&'static str> {
        vec![]
    }
    fn init_parts(&self, _: &Params) -> Vec<Part<Vec<Array>>> {
        vec![]
    }
    fn transform(&self, updates: Vec<Array>, _: &mut Parts, _: &Params) -> Vec<Array> {
        updates.into_iter().map(|u| u.clamp(-self.0, self.0)).collect()
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        not_negative(&[("max", self.0)])
    }
}

/// Returns the root of the sum of the squares of all elements of all arrays of floats, as `optax.global_norm` does.
/// Arrays of other dtypes, also complex ones, are left out. The norm is computed in `f32`, or in `f64` if an array is
/// of this type. The norm of no arrays is 0.
///
/// # Shapes
///
/// `(f32[..], ..) -> f32[]`.
#[track_caller]
pub fn global_norm<T: Tree>(tree: &T) -> Array {
    let at = context::caller(Location::caller());
    let leaves = tree::leaves(tree).into_iter();
    let floats = leaves.filter(|x| x.known_type().is_none_or(|ty| ty.ty.dtype.is_float()));
    context::within(at, || norm(floats))
}

/// Returns the root of the sum of the squares of all elements of all arrays, in `f64` if one of them is, and in `f32`
/// otherwise. The norm of no arrays is 0.
pub(super) fn norm<'a>(arrays: impl Iterator<Item = &'a Array>) -> Array {
    let arrays: Vec<&Array> = arrays.collect();
    let is_long = arrays.iter().any(|x| x.known_type().is_some_and(|ty| DType::of(ty.ty.dtype) == DType::F64));
    let dtype = if is_long { DType::F64 } else { DType::F32 };
    let squares = arrays.into_iter().map(|x| x.astype(dtype).square().sum(..));
    squares.reduce(|a, b| a + b).unwrap_or_else(|| scalar(0.0, dtype)).sqrt()
}
