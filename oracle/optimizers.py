"""Ten steps of each optimizer of optax, for `testdata/optim.txt`: `name | the parameters after each step`, by their bits.

Parameters and gradients are uniform random numbers, which `crates/shardwise/tests/it/optim_cases.rs` draws again.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import recorded

TABLE = Path(__file__).parent.parent / "testdata/optim.txt"
STEPS = 10


def draw(seed):
    """Draws the arrays of a tree: numbers from -1 up to 1."""
    a, b = jax.random.split(jax.random.key(seed))
    uniform = lambda key, shape: jax.random.uniform(key, shape) * 2 - 1
    return [uniform(a, (6, 4)), uniform(b, (4,))]


def is_matrix(tree):
    return jax.tree.map(lambda x: x.ndim > 1, tree)


def optimizers():
    yield "sgd", optax.sgd(0.1)
    yield "momentum", optax.sgd(0.1, momentum=0.9)
    yield "nesterov", optax.sgd(0.1, momentum=0.9, nesterov=True)
    yield "adam", optax.adam(0.01)
    yield "nadam", optax.adam(0.01, nesterov=True)
    yield "adamw", optax.adamw(0.01, b1=0.8, b2=0.95, eps=1e-6, eps_root=1e-5, weight_decay=0.1)
    yield "adamw_mask", optax.adamw(0.01, weight_decay=0.1, mask=is_matrix)
    yield "lion", optax.lion(0.01)
    yield "lamb", optax.lamb(0.01)
    yield "lamb_decay", optax.lamb(0.01, weight_decay=0.1, mask=is_matrix)
    yield "rmsprop", optax.rmsprop(0.01)
    yield "rmsprop_momentum", optax.rmsprop(0.01, decay=0.8, eps=1e-6, momentum=0.9)
    yield "rmsprop_nesterov", optax.rmsprop(0.01, momentum=0.9, nesterov=True)
    yield "adagrad", optax.adagrad(0.1)
    yield "adagrad_none", optax.adagrad(0.1, initial_accumulator_value=0.0, eps=1e-5)
    yield "adafactor", optax.adafactor(0.01)
    yield "adafactor_factored", optax.adafactor(0.01, min_dim_size_to_factor=4)
    yield "adafactor_all", optax.adafactor(
        0.01,
        min_dim_size_to_factor=4,
        decay_rate=0.7,
        multiply_by_parameter_scale=False,
        clipping_threshold=0.5,
        momentum=0.9,
        weight_decay_rate=0.01,
    )
    yield "clipped", optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
    yield "clipped_not", optax.chain(optax.clip_by_global_norm(100.0), optax.sgd(0.1))
    yield "clip", optax.chain(optax.clip(0.3), optax.scale(0.5), optax.adam(0.1))
    yield "decayed", optax.chain(optax.add_decayed_weights(0.1, mask=is_matrix), optax.sgd(0.1))
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, 3, 8, 0.01)
    yield "scheduled", optax.adamw(schedule, weight_decay=0.1)
    yield "every", optax.MultiSteps(optax.adamw(0.01, weight_decay=0.1), 3)


def schedules():
    yield "constant", optax.constant_schedule(0.3)
    yield "linear", optax.linear_schedule(0.2, 1.0, 7)
    yield "cosine", optax.cosine_decay_schedule(0.5, 9, alpha=0.1)
    yield "warmup_cosine", optax.warmup_cosine_decay_schedule(0.0, 3e-4, 4, 15, 3e-5)


def lines():
    for name, optimizer in optimizers():
        params = draw(0)
        state = optimizer.init(params)
        history = []
        for step in range(STEPS):
            updates, state = optimizer.update(draw(100 + step), state, params)
            params = optax.apply_updates(params, updates)
            history += [np.asarray(x).ravel() for x in params]
        yield f"{name} | {recorded.words(np.concatenate(history))}"
    for name, schedule in schedules():
        values = [jnp.asarray(schedule(jnp.int32(step)), jnp.float32) for step in range(20)]
        yield f"schedule {name} | {recorded.words(jnp.stack(values))}"


if __name__ == "__main__":
    sys.exit(recorded.record(TABLE, f"Steps of optax {optax.__version__}", "optimizers.py", lines()))
