//! Gradient descent.

use super::settings::{descend, fractions};
use super::state::Slot;
use super::{Optimizer, Params, Part, Parts, Schedule};
use crate::array::Array;

/// The optimizer [`sgd`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Sgd {
    rate: Schedule,
    momentum: Option<f64>,
    is_nesterov: bool,
}

/// Returns gradient descent with this learning rate: `optax.sgd`. The state has an array for each parameter only with
/// momentum: `trace`, the decaying sum of its gradients.
///
/// # Examples
///
/// ```
/// use shardwise::optim::sgd;
/// use shardwise::prelude::*;
/// let optimizer = sgd(0.5).momentum(0.9);
/// let param = array(&[1.0f32, 2.0]);
/// let (param, _) = optimizer.update(&array(&[1.0f32, -2.0]), optimizer.init(&param), &param);
/// assert_eq!(param.to_vec::<f32>()?, [0.5, 3.0]);
/// # Ok::<(), Error>(())
/// ```
pub fn sgd(rate: impl Into<Schedule>) -> Sgd {
    Sgd { rate: rate.into(), momentum: None, is_nesterov: false }
}

impl Sgd {
    /// Moves the parameters along a sum of the gradients that is multiplied by this factor, from 0 to less than 1,
    /// before each gradient is added to it.
    pub fn momentum(self, momentum: f64) -> Sgd {
        Sgd { momentum: Some(momentum), ..self }
    }
    /// Moves the parameters along the sum that [`momentum`](Sgd::momentum) would have after one more equal gradient
    /// (Nesterov's momentum). Without `momentum`, this changes nothing.
    pub fn nesterov(self) -> Sgd {
        Sgd { is_nesterov: true, ..self }
    }
}

impl Optimizer for Sgd {
    fn part_names(&self) -> Vec<&'static str> {
        vec![if self.momentum.is_some() { "sgd with momentum" } else { "sgd" }]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        let trace = self.momentum.map(|_| Slot::zeros("trace", params.arrays()));
        vec![Part::counted(self.part_names()[0], trace.into_iter().collect())]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, _: &Params) -> Vec<Array> {
        let mut part = state.take(self.part_names()[0]);
        let step = part.count();
        let updates = match self.momentum {
            None => grads,
            Some(decay) => with_momentum(part.slot("trace"), &grads, decay, self.is_nesterov),
        };
        state.new.push(part);
        descend(updates, &self.rate, &step)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        fractions(&[("momentum", self.momentum.unwrap_or(0.0))])
    }
}

/// Replaces each trace by `update + decay * trace`. Returns the new traces or, for Nesterov's momentum,
/// `update + decay * trace` with the new traces.
pub(super) fn with_momentum(traces: &mut [Array], updates: &[Array], decay: f64, is_nesterov: bool) -> Vec<Array> {
    let ahead = |update: &Array, trace: &Array| update + trace * decay;
    let pairs = traces.iter_mut().zip(updates).map(|(trace, update)| {
        *trace = ahead(update, trace);
        if is_nesterov { ahead(update, trace) } else { trace.clone() }
    });
    pairs.collect()
}
