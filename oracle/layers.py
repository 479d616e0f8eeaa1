"""Layers, losses and initial values as `jax.nn` and optax compute them, for `testdata/nn.txt`: `name | the values`, by their bits.

The inputs of a case are `draw(seed, shape)`, which `crates/shardwise/tests/it/nn.rs` draws again. Flax's layers, which add
parameters to these functions, are written out with its defaults.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from jax import lax

import recorded

TABLE = Path(__file__).parent.parent / "testdata/nn.txt"
BF16 = jnp.bfloat16


def draw(seed, shape, dtype=jnp.float32):
    """Draws numbers from -2 up to 2, which are the same bits everywhere."""
    return (jax.random.uniform(jax.random.key(seed), shape) * 4 - 2).astype(dtype)


def activations():
    x = jnp.concatenate([draw(1, (40,)), draw(2, (20,)) * 32, jnp.array([0.0, -0.0, 100.0, -100.0, 1e-6, -1e-6])])
    nn = jax.nn
    yield "relu", nn.relu(x)
    yield "sigmoid", nn.sigmoid(x)
    yield "silu", nn.silu(x)
    yield "softplus", nn.softplus(x)
    yield "log_sigmoid", nn.log_sigmoid(x)
    yield "elu", nn.elu(x)
    yield "elu_alpha", nn.elu(x, 0.5)
    yield "leaky_relu", nn.leaky_relu(x)
    yield "leaky_relu_slope", nn.leaky_relu(x, 0.2)
    yield "gelu", nn.gelu(x)
    yield "gelu_exact", nn.gelu(x, approximate=False)
    yield "relu6", nn.relu6(x)
    yield "hard_sigmoid", nn.hard_sigmoid(x)
    yield "hard_silu", nn.hard_silu(x)
    yield "hard_tanh", nn.hard_tanh(x)
    yield "soft_sign", nn.soft_sign(x)
    yield "mish", nn.mish(x)
    yield "selu", nn.selu(x)
    yield "celu", nn.celu(x)
    yield "celu_alpha", nn.celu(x, 0.5)
    yield "squareplus", nn.squareplus(x)
    yield "glu", nn.glu(draw(3, (3, 4, 5)), axis=1)


def along():
    nn, x = jax.nn, draw(3, (3, 4, 5)) * 8
    yield "softmax", nn.softmax(x)
    yield "softmax_1", nn.softmax(x, axis=1)
    yield "log_softmax", nn.log_softmax(x)
    yield "logsumexp", nn.logsumexp(x, axis=1)
    yield "one_hot", nn.one_hot(jnp.array([1, 0, 4, -1]), 4)
    yield "standardize", nn.standardize(x, algorithm="stable")
    yield "standardize_two", nn.standardize(x, axis=(0, 2), epsilon=1e-3, algorithm="stable")
    scale, bias = draw(4, (5,)), draw(5, (5,))
    yield "layer_norm", nn.standardize(x, epsilon=1e-6, algorithm="stable") * scale + bias
    rms = lambda x: x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    yield "rms_norm", rms(x) * scale
    yield "rms_norm_bf16", (rms(draw(3, (3, 4, 5), BF16).astype(jnp.float32)) * scale).astype(BF16)
    image, scale4, bias4 = draw(30, (2, 7, 6, 4)), draw(4, (4,)), draw(5, (4,))
    groups = nn.standardize(image.reshape(2, 7, 6, 2, 2), axis=(1, 2, 4), epsilon=1e-6, algorithm="stable")
    yield "group_norm", groups.reshape(image.shape) * scale4 + bias4
    yield "batch_norm", nn.standardize(image, axis=(0, 1, 2), epsilon=1e-5, algorithm="stable") * scale4 + bias4
    targets = draw(6, (3, 4, 5))
    yield "l2_loss", optax.l2_loss(x, targets)
    yield "huber_loss", optax.huber_loss(x, targets, delta=1.5)
    labels = jax.random.uniform(jax.random.key(8), (3, 4, 5))
    yield "sigmoid_cross_entropy", optax.sigmoid_binary_cross_entropy(x, labels)
    kept = jax.random.bernoulli(jax.random.key(7), 0.75, x.shape)
    yield "dropout", jnp.where(kept, x / 0.75, 0.0)


def attention():
    q, k, v = draw(10, (2, 5, 4, 8)), draw(11, (2, 6, 4, 8)), draw(12, (2, 6, 4, 8))
    f = jax.nn.dot_product_attention
    yield "attention", f(q, k, v)
    yield "attention_causal", f(q, k, v, is_causal=True)
    mask = draw(13, (2, 1, 5, 6)) > -1
    yield "attention_mask", f(q, k, v, mask=mask)
    yield "attention_none", f(q, k, v, mask=jnp.zeros((1, 4, 5, 6), bool))
    yield "attention_bias", f(q, k, v, bias=draw(14, (1, 4, 5, 6)), scale=0.3, mask=mask, is_causal=True)
    k, v = k[:, :, :2], v[:, :, :2]
    yield "attention_groups", f(q, k, v)
    yield "attention_groups_bias", f(q, k, v, bias=draw(14, (1, 4, 5, 6)), mask=mask)
    yield "attention_bf16", f(q.astype(BF16), k.astype(BF16), v.astype(BF16), is_causal=True)
    yield "attention_one", f(q[0], k[0], v[0], is_causal=True)


def losses():
    x = draw(20, (3, 4, 7)) * 10
    labels = jax.random.randint(jax.random.key(21), (3, 4), 0, 7)
    yield "cross_entropy_integers", optax.softmax_cross_entropy_with_integer_labels(x, labels)
    soft = jax.random.uniform(jax.random.key(22), (3, 4, 7))
    yield "cross_entropy_soft", optax.softmax_cross_entropy(x, soft)
    yield "cross_entropy_large", optax.softmax_cross_entropy_with_integer_labels(x * 1e3, labels)


def convolutions():
    def conv(x, k, strides=(1, 1), padding="SAME", inputs=(1, 1), kernel=(1, 1), groups=1):
        return lax.conv_general_dilated(
            x, k, strides, padding, inputs, kernel, ("NHWC", "HWIO", "NHWC"), feature_group_count=groups
        )

    x, k = draw(30, (2, 7, 6, 4)), draw(31, (3, 2, 4, 6))
    yield "conv", conv(x, k)
    yield "conv_strides", conv(x, k, strides=(2, 3))
    yield "conv_valid", conv(x, k, padding="VALID", kernel=(2, 1))
    yield "conv_padding", conv(x, k, padding=((2, 1), (0, 3)), strides=(1, 2))
    # XLA's values for negative padding are different in each run. This is the same convolution, of a slice.
    yield "conv_negative", conv(x[:, 1:, :-2], k, padding=((0, 1), (0, 0)))
    yield "conv_dilation", conv(x, k, inputs=(2, 3), padding=((2, 1), (1, 2)))
    yield "conv_groups", conv(x, draw(32, (3, 2, 2, 6)), groups=2)
    yield "conv_depthwise", conv(x, draw(33, (2, 2, 1, 8)), groups=4, strides=(2, 2))
    line = lax.conv_general_dilated(
        draw(34, (2, 9, 3)), draw(35, (4, 3, 2)), (2,), "SAME", dimension_numbers=("NWC", "WIO", "NWC")
    )
    yield "conv_line", line

    def pool(x, start, f, window, strides, padding):
        return lax.reduce_window(x, start, f, (1, *window, 1), (1, *strides, 1), padding)

    yield "max_pool", pool(x, -jnp.inf, lax.max, (2, 3), (2, 2), "VALID")
    yield "max_pool_same", pool(x, -jnp.inf, lax.max, (3, 2), (2, 1), "SAME")
    yield "avg_pool", pool(x, 0.0, lax.add, (2, 3), (1, 1), "VALID") / 6
    same = pool(x, 0.0, lax.add, (3, 2), (2, 2), "SAME")
    yield "avg_pool_same", same / 6
    yield "avg_pool_inside", same / pool(jnp.ones_like(x), 0.0, lax.add, (3, 2), (2, 2), "SAME")


def initial_values():
    init, key = jax.nn.initializers, jax.random.key(40)
    shape = (3, 4, 5)
    yield "init_normal", init.normal(0.02)(key, shape)
    yield "init_uniform", init.uniform(0.05)(key, shape)
    yield "init_truncated", init.truncated_normal(0.02)(key, shape)
    for name in ("glorot_uniform", "glorot_normal", "lecun_uniform", "lecun_normal", "he_uniform", "he_normal"):
        yield f"init_{name}", getattr(init, name)()(key, shape)
    scaling = init.variance_scaling(3.0, "fan_out", "normal", in_axis=0, out_axis=(1, 2))
    yield "init_scaling", scaling(key, shape)
    yield "truncated_normal", jax.random.truncated_normal(key, -1.0, 0.5, (60,))


def lines():
    for family in (activations, along, attention, losses, convolutions, initial_values):
        for name, value in family():
            yield f"{name} | {recorded.words(value)}"


if __name__ == "__main__":
    sys.exit(recorded.record(TABLE, f"Values of jax {jax.__version__} and optax {optax.__version__}", "layers.py", lines()))
