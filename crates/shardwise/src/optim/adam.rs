//! Adam, AdamW, LAMB and Lion.

use super::clip::norm;
use super::settings::{Decay, descend, fractions, not_negative};
use super::state::Slot;
use super::{Optimizer, Params, Part, Parts, Schedule};
use crate::array::{Array, ArrayType};
use crate::tree::Path;
use crate::{DType, scalar};

/// The optimizers [`adam`], [`adamw`] and [`lamb`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Adam {
    rate: Schedule,
    b1: f64,
    b2: f64,
    eps: f64,
    eps_root: f64,
    is_nesterov: bool,
    decay: Decay,
    /// True if the step of each parameter is as long as the parameter, times the learning rate.
    is_proportional: bool,
}

/// Returns Adam (Kingma and Ba, 2015) with this learning rate, `b1` 0.9, `b2` 0.999 and `eps` 1e-8: `optax.adam`.
///
/// The state has two arrays for each parameter: `mu`, the running mean of its gradient, and `nu`, that of its square.
pub fn adam(rate: impl Into<Schedule>) -> Adam {
    let decay = Decay::new(0.0);
    Adam {
        rate: rate.into(),
        b1: 0.9,
        b2: 0.999,
        eps: 1e-8,
        eps_root: 0.0,
        is_nesterov: false,
        decay,
        is_proportional: false,
    }
}

/// Returns Adam with weight decay (Loshchilov and Hutter, 2019): `optax.adamw`. The decay is 1e-4 by default.
///
/// # Examples
///
/// ```
/// use shardwise::optim::adamw;
/// // Weights decay, and biases and norms, which have one dimension, do not.
/// let optimizer = adamw(1e-3).b2(0.95).weight_decay(0.1).decay_mask(|_, ty| ty.shape.len() > 1);
/// # let _ = optimizer;
/// ```
pub fn adamw(rate: impl Into<Schedule>) -> Adam {
    adam(rate).weight_decay(1e-4)
}

/// Returns LAMB (You et al., 2020) with this learning rate, `b1` 0.9, `b2` 0.999, `eps` 1e-6 and no weight decay:
/// `optax.lamb`. The step of each parameter, as Adam with weight decay computes it, is scaled to the length of the
/// parameter. A parameter or a step of length 0 is not scaled.
///
/// The state is that of [`adam`].
pub fn lamb(rate: impl Into<Schedule>) -> Adam {
    Adam { is_proportional: true, ..adam(rate).eps(1e-6) }
}

/// Returns the update scaled to the length of the parameter.
fn proportional(update: Array, param: &Array) -> Array {
    let (own, length) = (norm([&update].into_iter()), norm([param].into_iter()));
    let ratio = (own.gt(0.0) & length.gt(0.0)).select(&length / &own, 1.0);
    &update * ratio.astype(update.dtype())
}

impl Adam {
    /// Sets the decay of the mean of gradients.
    pub fn b1(self, b1: f64) -> Adam {
        Adam { b1, ..self }
    }
    /// Sets the decay of the mean of squared gradients.
    pub fn b2(self, b2: f64) -> Adam {
        Adam { b2, ..self }
    }
    /// Sets the number that is added to the root of the mean of squares, by which the mean is divided.
    pub fn eps(self, eps: f64) -> Adam {
        Adam { eps, ..self }
    }
    /// Sets the number that is added to the mean of squares under the root, so that the update itself can be
    /// differentiated.
    pub fn eps_root(self, eps_root: f64) -> Adam {
        Adam { eps_root, ..self }
    }
    /// Uses Nesterov's momentum (Dozat, 2016).
    pub fn nesterov(self) -> Adam {
        Adam { is_nesterov: true, ..self }
    }
    /// Sets the multiple of each parameter that is subtracted from it in a step, in units of the learning rate. For
    /// [`lamb`], this is a part of the step that is scaled to the length of the parameter.
    pub fn weight_decay(self, rate: f64) -> Adam {
        Adam { decay: Decay { rate, ..self.decay }, ..self }
    }
    /// Applies weight decay only to the parameters for which `mask` returns true. It is called with the path and the
    /// type of each.
    pub fn decay_mask(self, mask: impl Fn(&Path, &ArrayType) -> bool + Send + Sync + 'static) -> Adam {
        Adam { decay: self.decay.masked(mask), ..self }
    }

    /// Returns the step of one parameter, before weight decay and the learning rate, from its gradient and its new
    /// means. `step` is the number of the step, from 1.
    fn direction(&self, grad: &Array, mu: &Array, nu: &Array, step: &Array) -> Array {
        let mean = match self.is_nesterov {
            true => {
                let ahead = unbiased(mu, self.b1, &(step + 1)) * self.b1;
                ahead + unbiased(grad, self.b1, step) * (1.0 - self.b1)
            }
            false => unbiased(mu, self.b1, step),
        };
        mean / ((unbiased(nu, self.b2, step) + self.eps_root).sqrt() + self.eps)
    }
}

/// Returns the mean divided by `1 - decay^step`, which removes from a running mean the weight of its start, 0.
fn unbiased(mean: &Array, decay: f64, step: &Array) -> Array {
    let wide = if mean.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let weight = 1.0 - scalar(decay, wide).pow(step.astype(wide));
    mean / weight.astype(mean.dtype())
}

pub(super) fn moved(mean: &Array, value: &Array, decay: f64) -> Array {
    value * (1.0 - decay) + mean * decay
}

impl Optimizer for Adam {
    fn part_names(&self) -> Vec<&'static str> {
        vec!["adam"]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        vec![Part::counted("adam", vec![Slot::zeros("mu", params.arrays()), Slot::zeros("nu", params.arrays())])]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        let mut part = state.take("adam");
        let step = part.count();
        let means = part.slot("mu").iter_mut().zip(&grads);
        means.for_each(|(mu, g)| *mu = moved(mu, g, self.b1));
        let squares = part.slot("nu").iter_mut().zip(&grads);
        squares.for_each(|(nu, g)| *nu = moved(nu, &g.square(), self.b2));
        let (mu, nu) = (part.slot("mu").clone(), part.slot("nu").clone());
        let next = &step + 1;
        let updates = grads.iter().zip(&mu).zip(&nu).map(|((g, mu), nu)| self.direction(g, mu, nu, &next)).collect();
        state.new.push(part);
        let mut updates = self.decay.apply(updates, params);
        if self.is_proportional {
            updates = updates.into_iter().zip(params.arrays()).map(|(u, p)| proportional(u, p)).collect();
        }
        descend(updates, &self.rate, &step)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        fractions(&[("b1", self.b1), ("b2", self.b2)]).or_else(|| {
            not_negative(&[("eps", self.eps), ("eps_root", self.eps_root), ("weight_decay", self.decay.rate)])
        })
    }
}

/// The optimizer [`lion`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Lion {
    rate: Schedule,
    b1: f64,
    b2: f64,
    decay: Decay,
}

/// Returns Lion (Chen et al., 2023) with this learning rate, `b1` 0.9, `b2` 0.99 and weight decay 1e-3: `optax.lion`.
///
/// The state has one array for each parameter: `mu`, the running mean of its gradient.
pub fn lion(rate: impl Into<Schedule>) -> Lion {
    Lion { rate: rate.into(), b1: 0.9, b2: 0.99, decay: Decay::new(1e-3) }
}

impl Lion {
    /// Sets the weight of the mean of gradients in the direction of a step.
    pub fn b1(self, b1: f64) -> Lion {
        Lion { b1, ..self }
    }
    /// Sets the decay of the mean of gradients.
    pub fn b2(self, b2: f64) -> Lion {
        Lion { b2, ..self }
    }
    /// Sets the multiple of each parameter that is subtracted from it in a step, in units of the learning rate.
    pub fn weight_decay(self, rate: f64) -> Lion {
        Lion { decay: Decay { rate, ..self.decay }, ..self }
    }
    /// Applies weight decay only to the parameters for which `mask` returns true. It gets the path and the type of
    /// each.
    pub fn decay_mask(self, mask: impl Fn(&Path, &ArrayType) -> bool + Send + Sync + 'static) -> Lion {
        Lion { decay: self.decay.masked(mask), ..self }
    }
}

impl Optimizer for Lion {
    fn part_names(&self) -> Vec<&'static str> {
        vec!["lion"]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        vec![Part::counted("lion", vec![Slot::zeros("mu", params.arrays())])]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        let mut part = state.take("lion");
        let step = part.count();
        let pairs = part.slot("mu").iter_mut().zip(&grads);
        let updates = pairs.map(|(mu, g)| {
            let update = moved(mu, g, self.b1).sign();
            *mu = moved(mu, g, self.b2);
            update
        });
        let updates = updates.collect();
        state.new.push(part);
        descend(self.decay.apply(updates, params), &self.rate, &step)
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        fractions(&[("b1", self.b1), ("b2", self.b2)]).or_else(|| not_negative(&[("weight_decay", self.decay.rate)]))
    }
}
