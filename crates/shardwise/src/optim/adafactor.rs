//! Adafactor.

use super::adam::moved;
use super::settings::{Decay, fractions, not_negative};
use super::state::{Like, Slot};
use super::{Optimizer, Params, Part, Parts, Schedule, known_layout};
use crate::array::{Array, ArrayType};
use crate::tree::Path;
use crate::{DType, keep, zeros, zeros_like};

/// The optimizer [`adafactor`].
#[derive(Clone, Debug)]
#[must_use = "call `.init(..)` and `.update(..)`"]
pub struct Adafactor {
    rate: Schedule,
    min_size: usize,
    decay_rate: f64,
    is_scaled: bool,
    clipping: Option<f64>,
    momentum: Option<f64>,
    eps: f64,
    decay: Decay,
}

/// Returns Adafactor (Shazeer and Stern, 2018) with this learning rate: `optax.adafactor`.
///
/// For a parameter with two dimensions of size 128 or more, the mean of squared gradients is kept only as its means
/// over each of its two largest dimensions: `v_row` and `v_col`. For other parameters, it is kept as `v`. By default,
/// there is no momentum and no weight decay.
pub fn adafactor(rate: impl Into<Schedule>) -> Adafactor {
    Adafactor {
        rate: rate.into(),
        min_size: 128,
        decay_rate: 0.8,
        is_scaled: true,
        clipping: Some(1.0),
        momentum: None,
        eps: 1e-30,
        decay: Decay::new(0.0),
    }
}

impl Adafactor {
    /// Sets the size that the two largest dimensions of a parameter must at least have for its mean to be kept as means
    /// over them: 128 by default.
    pub fn min_size_to_factor(self, size: usize) -> Adafactor {
        Adafactor { min_size: size, ..self }
    }
    /// Sets the exponent `r`: in step `n`, counted from 1, a new squared gradient has the weight `n^-r`. It is 0.8 by
    /// default.
    pub fn decay_rate(self, rate: f64) -> Adafactor {
        Adafactor { decay_rate: rate, ..self }
    }
    /// Does not multiply updates by the root mean square of the parameter.
    pub fn unscaled(self) -> Adafactor {
        Adafactor { is_scaled: false, ..self }
    }
    /// Sets the largest root mean square of an update before the learning rate, or `None` for no limit: 1 by default.
    pub fn clipping_threshold(self, threshold: impl Into<Option<f64>>) -> Adafactor {
        Adafactor { clipping: threshold.into(), ..self }
    }
    /// Follows the running mean of the updates, which decays by this factor. The state then has another array for each
    /// parameter.
    pub fn momentum(self, momentum: f64) -> Adafactor {
        Adafactor { momentum: Some(momentum), ..self }
    }
    /// Sets the number that is added to squared gradients: 1e-30 by default.
    pub fn eps(self, eps: f64) -> Adafactor {
        Adafactor { eps, ..self }
    }
    /// Sets the multiple of each parameter that is subtracted from it in a step. It does not depend on the learning
    /// rate.
    pub fn weight_decay(self, rate: f64) -> Adafactor {
        Adafactor { decay: Decay { rate, ..self.decay }, ..self }
    }
    /// Applies weight decay only to the parameters for which `mask` returns true. It gets the path and the type of
    /// each.
    pub fn decay_mask(self, mask: impl Fn(&Path, &ArrayType) -> bool + Send + Sync + 'static) -> Adafactor {
        Adafactor { decay: self.decay.masked(mask), ..self }
    }

    /// Returns the indices of the second largest and of the largest dimension of a parameter. Of dimensions of equal
    /// size, the later ones are taken. Returns `None` if there are fewer than two dimensions, or if the second largest
    /// is smaller than `min_size`: the means are not kept by dimensions then.
    fn factored(&self, shape: &[usize]) -> Option<(usize, usize)> {
        let mut dims: Vec<usize> = (0..shape.len()).collect();
        dims.sort_by_key(|&d| shape[d]);
        let [.., second, first] = dims[..] else { return None };
        (shape[second] >= self.min_size).then_some((second, first))
    }

    /// Returns the gradient divided by the root of the mean of its squares, and replaces the means. `means` are
    /// `v_row`, `v_col` and `v` of one parameter, of which those that it does not use are not replaced. `keep_old` is
    /// the weight of the old means.
    fn scaled(&self, grad: &Array, means: [&mut Array; 3], keep_old: &Array) -> Array {
        let [row, col, whole] = means;
        let square = grad.square() + self.eps;
        let weight = keep_old.astype(grad.dtype());
        let moved = |mean: &Array, value: &Array| mean * &weight + value * (1.0 - &weight);
        let Some((second, first)) = self.factored(&grad.shape()) else {
            *whole = moved(whole, &square);
            return grad * whole.pow(-0.5);
        };
        *row = moved(row, &square.mean(first));
        *col = moved(col, &square.mean(second));
        let second_of_row = if second > first { second - 1 } else { second };
        let row_factor = (&*row / row.mean(keep(second_of_row))).pow(-0.5);
        grad * row_factor.expand_dims(first) * col.pow(-0.5).expand_dims(second)
    }
}

fn zeros_without(param: &Array, dim: usize) -> Array {
    let mut shape = param.shape().0;
    shape.remove(dim);
    let made = zeros(shape, param.dtype());
    match known_layout(param) {
        Some(layout) => made.shard(layout.mesh.sharding(Like::Without(dim).layout(&layout.spec))),
        None => made,
    }
}

fn root_mean_square(x: &Array) -> Array {
    x.square().mean(..).sqrt()
}

impl Optimizer for Adafactor {
    fn part_names(&self) -> Vec<&'static str> {
        vec![if self.momentum.is_some() { "adafactor with momentum" } else { "adafactor" }]
    }
    fn init_parts(&self, params: &Params) -> Vec<Part<Vec<Array>>> {
        let of = |name: &'static str, kind: fn(Option<(usize, usize)>) -> Like| {
            let array = |p: &Array| match kind(self.factored(&p.shape())) {
                Like::Whole => (Like::Whole, zeros_like(p)),
                Like::Without(d) => (Like::Without(d), zeros_without(p, d)),
                Like::Nothing => (Like::Nothing, zeros([0], p.dtype())),
            };
            let (likes, tree) = params.arrays().map(array).unzip();
            Slot { name, likes, tree }
        };
        let row = of("v_row", |dims| dims.map_or(Like::Nothing, |(_, first)| Like::Without(first)));
        let col = of("v_col", |dims| dims.map_or(Like::Nothing, |(second, _)| Like::Without(second)));
        let whole = of("v", |dims| if dims.is_some() { Like::Nothing } else { Like::Whole });
        let momentum = self.momentum.map(|_| Slot::zeros("ema", params.arrays()));
        let slots = [row, col, whole].into_iter().chain(momentum).collect();
        vec![Part::counted(self.part_names()[0], slots)]
    }
    fn transform(&self, grads: Vec<Array>, state: &mut Parts, params: &Params) -> Vec<Array> {
        let mut part = state.take(self.part_names()[0]);
        let step = part.count();
        let keep_old = 1.0 - (&step + 1).astype(DType::F32).pow(-self.decay_rate);
        let rate = self.rate.at(&step);
        let mut means = ["v_row", "v_col", "v"].map(|name| std::mem::take(part.slot(name)));
        let mut updates = vec![];
        for (i, (grad, param)) in grads.iter().zip(params.arrays()).enumerate() {
            let mut update = self.scaled(grad, means.each_mut().map(|m| &mut m[i]), &keep_old);
            if let Some(threshold) = self.clipping {
                update = &update / (root_mean_square(&update) / threshold).maximum(1.0);
            }
            update = &update * rate.astype(update.dtype());
            if self.is_scaled {
                update *= root_mean_square(param).maximum(1e-3);
            }
            updates.push(update);
        }
        for (name, means) in ["v_row", "v_col", "v"].into_iter().zip(means) {
            *part.slot(name) = means;
        }
        if let Some(decay) = self.momentum {
            part.slot("ema").iter_mut().zip(&updates).for_each(|(mean, u)| *mean = moved(mean, u, decay));
            updates = part.slot("ema").clone();
        }
        state.new.push(part);
        self.decay.apply(updates, params).into_iter().map(|u| -u).collect()
    }
    fn wrong_setting(&self) -> Option<[String; 3]> {
        let limits = [("eps", self.eps), ("weight_decay", self.decay.rate), ("decay_rate", self.decay_rate)];
        fractions(&[("momentum", self.momentum.unwrap_or(0.0))]).or_else(|| not_negative(&limits))
    }
}
