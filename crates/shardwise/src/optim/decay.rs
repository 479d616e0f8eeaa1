//! Simple transformations of updates.

use super::settings::{Decay, not_negative};
use super::{Optimizer, Params, Part, Parts};
use crate::array::{Array, ArrayType};
use crate::tree::Path;

/// The transformation [`add_decayed_weights`].
#[derive(Clone, Debug)]
pub struct AddDecayedWeights(Decay);

/// Adds `rate` times each parameter to its update: `optax.add_decayed_weights`. In front of an optimizer, this is a
/// penalty on the square of the parameters. A `rate` that is negative or not finite is reported by
/// [`init`](Optimizer::init).
pub fn add_decayed_weights(rate: f64) -> AddDecayedWeights {
    AddDecayedWeights(Decay::new(rate))
}

impl AddDecayedWeights {
    /// Applies the decay only to the parameters for which `mask` returns true. It gets the path and the type of each.
    pub fn mask(self, mask: impl Fn(&Path, &ArrayType) -> bool + Send + Sync + 'static) -> AddDecayedWeights {
        AddDecayedWeights(self.0.masked(mask))
    }
}

impl Optimizer for AddDecayedWeights {
    fn part_names(&self) -> Vec<&'static str> {
        vec![]
    }
    fn init_parts(&self, _: &Params) -> Vec<Part<Vec<Array>>> {
        vec![]
    }
    fn transform(&self, updates: Vec<Array>, _: &mut Parts, params: &Params) -> Vec<Array> {
        self.0.apply(updates, params)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        not_negative(&[("weight_decay", self.0.rate)])
    }
}

/// The transformation [`scale`].
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

/// Multiplies all updates by a number: `optax.scale`.
pub fn scale(factor: f64) -> Scale {
    Scale(factor)
}

impl Optimizer for Scale {
    fn part_names(&self) -> Vec<&'static str> {
        vec![]
    }
    fn init_parts(&self, _: &Params) -> Vec<Part<Vec<Array>>> {
        vec![]
    }
    fn transform(&self, updates: Vec<Array>, _: &mut Parts, _: &Params) -> Vec<Array> {
        updates.into_iter().map(|u| u * self.0).collect()
    }
}
