//! RMSProp and Adagrad: steps that are divided by the size of earlier gradients.

use super::adam::moved;
use super::settings::{descend, fractions, not_negative};
use super::sgd::with_momentum;
use super::state::Slot;
use super::{Optimizer, Params, Part, Parts, Schedule};
use crate::array::Array;

/// The optimizer [`rmsprop`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct RmsProp {
    rate: Schedule,
    decay: f64,
    eps: f64,
    momentum: Option<f64>,
    is_nesterov: bool,
}

/// Returns RMSProp (Hinton, 2012) with this learning rate, `decay` 0.9 and `eps` 1e-8: `optax.rmsprop`.
///
/// The state has an array for each parameter: `nu`, the running mean of its squared gradient. With momentum, it also
/// has `trace`, the decaying sum of its steps.
///
/// # Examples
///
/// ```
/// use shardwise::optim::rmsprop;
/// use shardwise::prelude::*;
/// let optimizer = rmsprop(0.1).decay(0.0);
/// let param = array(&[1.0f32, 2.0]);
/// let (param, _) = optimizer.update(&array(&[5.0f32, -0.5]), optimizer.init(&param), &param);
/// assert_close(&param, &array(&[0.9f32, 2.1]));
/// ```
pub fn rmsprop(rate: impl Into<Schedule>) -> RmsProp {
    RmsProp { rate: rate.into(), decay: 0.9, eps: 1e-8, momentum: None, is_nesterov: false }
}

impl RmsProp {
    /// Sets the factor, from 0 to less than 1, by which the mean of squared gradients is multiplied before `1 - decay`
    /// times the new square is added.
    pub fn decay(self, decay: f64) -> RmsProp {
        RmsProp { decay, ..self }
    }
    /// Sets the number, at least 0, that is added to the mean of squares under the root by which a gradient is divided.
    pub fn eps(self, eps: f64) -> RmsProp {
        RmsProp { eps, ..self }
    }
    /// Moves the parameters by a sum of the steps that is multiplied by this factor, from 0 to less than 1, before each
    /// step is added to it.
    pub fn momentum(self, momentum: f64) -> RmsProp {
        RmsProp { momentum: Some(momentum), ..self }
    }
    /// Moves the parameters by the sum that [`momentum`](RmsProp::momentum) would have after one more equal step
    /// (Nesterov's momentum). Without `momentum`, this changes nothing.
    pub fn nesterov(self) -> RmsProp {
        RmsProp { is_nesterov: true, ..self }
    }
}

impl Optimizer for RmsProp {
    fn part_names(&self) -> Vec<&'static str> {
        vec![if self.momentum.is_some() { "rmsprop with momentum" } else { "rmsprop" }]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        let trace = self.momentum.map(|_| Slot::zeros("trace", params.arrays()));
        let slots = [Slot::zeros("nu", params.arrays())].into_iter().chain(trace).collect();
        vec![Part::counted(self.part_names()[0], slots)]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, _: &Params) -> Vec<Array> {
        let mut part = state.take(self.part_names()[0]);
        let step = part.count();
        let scaled = part.slot("nu").iter_mut().zip(&grads).map(|(nu, g)| {
            *nu = moved(nu, &g.square(), self.decay);
            g * (&*nu + self.eps).rsqrt()
        });
        let mut updates = descend(scaled.collect(), &self.rate, &step);
        if let Some(decay) = self.momentum {
            updates = with_momentum(part.slot("trace"), &updates, decay, self.is_nesterov);
        }
        state.new.push(part);
        updates
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        fractions(&[("decay", self.decay), ("momentum", self.momentum.unwrap_or(0.0))])
            .or_else(|| not_negative(&[("eps", self.eps)]))
    }
}

/// The optimizer [`adagrad`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Adagrad {
    rate: Schedule,
    initial_accumulator_value: f64,
    eps: f64,
}

/// Returns Adagrad (Duchi et al., 2011) with this learning rate, `initial_accumulator_value` 0.1 and `eps` 1e-7:
/// `optax.adagrad`.
///
/// The state has an array for each parameter: `sum_of_squares`, which is `initial_accumulator_value` plus the sum of
/// the squares of all its gradients.
pub fn adagrad(rate: impl Into<Schedule>) -> Adagrad {
    Adagrad { rate: rate.into(), initial_accumulator_value: 0.1, eps: 1e-7 }
}

impl Adagrad {
    /// Sets the sum of squares before the first step, at least 0.
    pub fn initial_accumulator_value(self, value: f64) -> Adagrad {
        Adagrad { initial_accumulator_value: value, ..self }
    }
    /// Sets the number, at least 0, that is added to the sum of squares under the root by which a gradient is divided.
    pub fn eps(self, eps: f64) -> Adagrad {
        Adagrad { eps, ..self }
    }
}

impl Optimizer for Adagrad {
    fn part_names(&self) -> Vec<&'static str> {
        vec!["adagrad"]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        let mut sums = Slot::zeros("sum_of_squares", params.arrays());
        sums.tree.iter_mut().for_each(|x| *x += self.initial_accumulator_value);
        vec![Part::counted("adagrad", vec![sums])]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, _: &Params) -> Vec<Array> {
        let mut part = state.take("adagrad");
        let step = part.count();
        let updates = part.slot("sum_of_squares").iter_mut().zip(&grads).map(|(sum, g)| {
            *sum += g.square();
            // An element whose sum is 0, because all its gradients were 0, is not moved.
            let has_moved = Array::gt(sum, 0.0);
            g * has_moved.select((&*sum + self.eps).rsqrt(), 0.0)
        });
        let updates = updates.collect();
        state.new.push(part);
        descend(updates, &self.rate, &step)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        not_negative(&[("initial_accumulator_value", self.initial_accumulator_value), ("eps", self.eps)])
    }
}
