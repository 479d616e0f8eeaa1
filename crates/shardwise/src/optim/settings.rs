//! Settings that several optimizers share: checks, the learning rate, and weight decay.

use super::{Params, Schedule};
use crate::array::{Array, ArrayType};
use crate::tree::Path;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

pub(super) fn fractions(settings: &[(&str, f64)]) -> Option<[String; 3]> {
    outside(settings, 0.0..1.0, "a number from 0 up to, but not including, 1")
}

pub(super) fn not_negative(settings: &[(&str, f64)]) -> Option<[String; 3]> {
    outside(settings, 0.0..f64::INFINITY, "a finite number that is not negative")
}

fn outside(settings: &[(&str, f64)], range: Range<f64>, expected: &str) -> Option<[String; 3]> {
    let (name, value) = settings.iter().find(|(_, value)| !range.contains(value))?;
    Some([name.to_string(), value.to_string(), expected.to_string()])
}

pub(super) fn descend(updates: Vec<Array>, rate: &Schedule, step: &Array) -> Vec<Array> {
    let rate = -rate.at(step);
    updates.into_iter().map(|u| &u * rate.astype(u.dtype())).collect()
}

/// A function that returns true for the parameters to which weight decay is applied.
type Mask = Arc<dyn Fn(&Path, &ArrayType) -> bool + Send + Sync>;

/// Weight decay: `rate` times the parameter, added to its update. Without a mask, it is applied to all parameters.
#[derive(Clone)]
pub(super) struct Decay {
    pub rate: f64,
    pub mask: Option<Mask>,
}

impl fmt::Debug for Decay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decay").field("rate", &self.rate).field("has_mask", &self.mask.is_some()).finish()
    }
}

impl Decay {
    pub fn new(rate: f64) -> Decay {
        Decay { rate, mask: None }
    }

    pub fn masked(self, mask: impl Fn(&Path, &ArrayType) -> bool + Send + Sync + 'static) -> Decay {
        Decay { mask: Some(Arc::new(mask)), ..self }
    }

    pub fn apply(&self, updates: Vec<Array>, params: &Params) -> Vec<Array> {
        if self.rate == 0.0 {
            return updates;
        }
        let decays =
            |path: &Path, p: &Array| p.known_type().is_none() || self.mask.as_ref().is_none_or(|m| m(path, &p.ty()));
        let pairs = updates.into_iter().zip(&params.leaves);
        pairs.map(|(u, (path, p))| if decays(path, p) { u + p * self.rate } else { u }).collect()
    }
}
