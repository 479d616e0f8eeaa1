//! Tests the steps of optimizers and the schedules against `testdata/optim.txt`, which `oracle/optimizers.py` makes.

use crate::nn::{floats, recorded, ulps};
use shardwise::optim::{self, Chain, Schedule, adafactor, adagrad, adam, adamw, add_decayed_weights, chain, clip};
use shardwise::optim::{clip_by_global_norm, constant, cosine, lamb, linear, lion, rmsprop, scale, sgd, warmup_cosine};
use shardwise::prelude::*;

/// The distance from optax's values that is allowed, in ulps of the largest value of the case: a parameter after any
/// step, or a value of the schedule. A step in the sign of a mean near 0 could differ by more, but none does.
const TOLERANCE: f64 = 2.0;

fn draw(seed: u64) -> Vec<Array> {
    let [a, b] = Key::new(seed).split();
    vec![uniform(a, [6, 4], F32) * 2.0 - 1.0, uniform(b, [4], F32) * 2.0 - 1.0]
}

fn is_matrix(_: &shardwise::Path, ty: &shardwise::ArrayType) -> bool {
    ty.shape.len() > 1
}

fn optimizer(name: &str) -> Chain {
    let factored = adafactor(0.01).min_size_to_factor(4);
    match name {
        "sgd" => chain((sgd(0.1),)),
        "momentum" => chain((sgd(0.1).momentum(0.9),)),
        "nesterov" => chain((sgd(0.1).momentum(0.9).nesterov(),)),
        "adam" => chain((adam(0.01),)),
        "nadam" => chain((adam(0.01).nesterov(),)),
        "adamw" => chain((adamw(0.01).b1(0.8).b2(0.95).eps(1e-6).eps_root(1e-5).weight_decay(0.1),)),
        "adamw_mask" => chain((adamw(0.01).weight_decay(0.1).decay_mask(is_matrix),)),
        "lion" => chain((lion(0.01),)),
        "lamb" => chain((lamb(0.01),)),
        "lamb_decay" => chain((lamb(0.01).weight_decay(0.1).decay_mask(is_matrix),)),
        "rmsprop" => chain((rmsprop(0.01),)),
        "rmsprop_momentum" => chain((rmsprop(0.01).decay(0.8).eps(1e-6).momentum(0.9),)),
        "rmsprop_nesterov" => chain((rmsprop(0.01).momentum(0.9).nesterov(),)),
        "adagrad" => chain((adagrad(0.1),)),
        "adagrad_none" => chain((adagrad(0.1).initial_accumulator_value(0.0).eps(1e-5),)),
        "adafactor" => chain((adafactor(0.01),)),
        "adafactor_factored" => chain((factored,)),
        "adafactor_all" => {
            chain((factored.decay_rate(0.7).unscaled().clipping_threshold(0.5).momentum(0.9).weight_decay(0.01),))
        }
        "clipped" => chain((clip_by_global_norm(1.0), sgd(0.1))),
        "clipped_not" => chain((clip_by_global_norm(100.0), sgd(0.1))),
        "clip" => chain((clip(0.3), scale(0.5), adam(0.1))),
        "decayed" => chain((add_decayed_weights(0.1).mask(is_matrix), sgd(0.1))),
        "scheduled" => {
            let warm = linear(0.0, 0.1, 3).then(3, cosine(0.1, 0.01, 5));
            chain((adamw(warm).weight_decay(0.1),))
        }
        "every" => chain((adamw(0.01).weight_decay(0.1).every(3),)),
        other => panic!("no case {other}"),
    }
}

fn schedule(name: &str) -> Schedule {
    match name {
        "constant" => constant(0.3),
        "linear" => linear(0.2, 1.0, 7),
        "cosine" => cosine(0.5, 0.05, 9),
        "warmup_cosine" => warmup_cosine(3e-4, 3e-5, 4, 15),
        other => panic!("no case {other}"),
    }
}

fn steps(optimizer: &Chain) -> Vec<f64> {
    let step = jit(|params: Vec<Array>, state: optim::State<Vec<Array>>, grads: &Vec<Array>| {
        optimizer.update(grads, state, &params)
    });
    let mut params = draw(0);
    let mut state = optimizer.init(&params);
    let mut history = vec![];
    for i in 0..10 {
        (params, state) = step(params, state, &draw(100 + i)).unwrap();
        history.extend(params.iter().flat_map(floats));
    }
    history
}

#[test]
fn steps_are_optaxs() {
    let (mut wrong, mut count) = (vec![], 0);
    for (name, expected) in recorded(include_str!("../../../../testdata/optim.txt")) {
        let got = match name.strip_prefix("schedule ") {
            Some(name) => (0..20).flat_map(|i| floats(&schedule(name).at(i))).collect(),
            None => steps(&optimizer(name)),
        };
        count += 1;
        let worst = ulps(&got, &expected, 2f64.powi(-23));
        if worst.is_nan() || worst > TOLERANCE {
            wrong.push(format!("{name}: {worst:.2} ulp"));
        }
    }
    assert!(wrong.is_empty() && count == 28, "{count} cases\n{}", wrong.join("\n"));
}
