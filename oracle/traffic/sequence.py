"""Scans and normalizations along a sequence, most of them along a split dimension."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, i32, line

FAMILY = Family("sequence")


def tokens(draw: Draw, *spec):
    """Batch and tokens: a matrix whose columns divide by 64."""
    return f32((draw.times(8, 1, 4), draw.times(64, 1, 6)), *(spec or (None, "x")))


def along(run):
    """The recipe of a function along the split dimension of a matrix."""
    return lambda draw: case(line(), run, tokens(draw), out=P(None, "x"))


@FAMILY.variants(
    sum=lambda x: jnp.cumsum(x, 1),
    product=lambda x: jnp.cumprod(x / 2, 1),
    max=lambda x: lax.cummax(x, 1),
    logsumexp=lambda x: lax.cumlogsumexp(x, 1),
    reverse=lambda x: lax.cumsum(x, 1, reverse=True),
)
def cumulative(draw: Draw, run) -> Case:
    return along(run)(draw)


@FAMILY.program
def cumulative_exclusive(draw: Draw) -> Case:
    return along(lambda x: jnp.cumsum(x, 1) - x)(draw)


@FAMILY.program
def cumulative_rows(draw: Draw) -> Case:
    """Along a dimension that is not split."""
    return case(line(), lambda x: jnp.cumsum(x, 1), tokens(draw, "x"), out=P("x"))


@FAMILY.program
def cumulative_gradient(draw: Draw) -> Case:
    return along(jax.grad(lambda x: jnp.sum(jnp.cumsum(x, 1) ** 2)))(draw)


@FAMILY.program
def linear_recurrence(draw: Draw) -> Case:
    """A state space: h = a * h + b, by an associative scan over tokens."""

    def run(a, b):
        combine = lambda x, y: (y[0] * x[0], y[0] * x[1] + y[1])
        return lax.associative_scan(combine, (a / 2, b), axis=1)[1]

    x = tokens(draw)
    return case(line(), run, x, x, out=P(None, "x"))


@FAMILY.program
def linear_recurrence_features(draw: Draw) -> Case:
    """The same with split features: nothing has to move."""

    def run(a, b):
        combine = lambda x, y: (y[0] * x[0], y[0] * x[1] + y[1])
        return lax.associative_scan(combine, (a / 2, b), axis=1)[1]

    x = f32((4, 64, draw.times(16, 1, 3)), None, None, "x")
    return case(line(), run, x, x, out=P(None, None, "x"))


@FAMILY.variants(softmax=jax.nn.softmax, log_softmax=jax.nn.log_softmax)
def normalized(draw: Draw, run) -> Case:
    return along(run)(draw)


@FAMILY.program
def softmax_gradient(draw: Draw) -> Case:
    return along(jax.grad(lambda x: jnp.sum(jax.nn.softmax(x) ** 2)))(draw)


@FAMILY.program
def logsumexp(draw: Draw) -> Case:
    run = lambda x: jax.nn.logsumexp(x, 1)
    return case(line(), run, tokens(draw), out=P())


@FAMILY.program
def layer_norm(draw: Draw) -> Case:
    """Over split features."""

    def run(x, scale):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale

    x = f32((8, draw.times(8, 1, 4), 64), "x", None, "y")
    return case(draw.grid(), run, x, f32((64,), "y"), out=P("x", None, "y"))


@FAMILY.program
def rms_norm_gradient(draw: Draw) -> Case:
    loss = lambda x, scale: jnp.sum(jnp.tanh(x * lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale))
    x = f32((8, draw.times(8, 1, 4), 64), "x", None, "y")
    return case(draw.grid(), jax.grad(loss, (0, 1)), x, f32((64,), "y"), out=(P("x", None, "y"), P("y")))


@FAMILY.program
def cross_entropy(draw: Draw) -> Case:
    """The loss of logits whose vocabulary is split."""
    rows, words = draw.times(8, 2, 6), draw.times(64, 1, 3)

    def run(logits, labels):
        chosen = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, 1) - chosen)

    return case(draw.grid(), run, f32((rows, words), "x", "y"), i32((rows,), "x"), out=P())


@FAMILY.program
def cross_entropy_gradient(draw: Draw) -> Case:
    rows, words = draw.times(8, 2, 6), draw.times(64, 1, 3)

    def loss(logits, labels):
        hot = jax.nn.one_hot(labels, words)
        return -jnp.mean(jnp.sum(hot * jax.nn.log_softmax(logits), 1))

    run = jax.grad(loss)
    return case(draw.grid(), run, f32((rows, words), "x", "y"), i32((rows,), "x"), out=P("x", "y"))


@FAMILY.program
def shifted_tokens(draw: Draw) -> Case:
    """Predictions are compared with the next token."""
    run = lambda x: jnp.sum((x[:, 1:] - x[:, :-1]) ** 2)
    return case(line(), run, tokens(draw), out=P())


@FAMILY.program
def causal_convolution(draw: Draw) -> Case:
    """A depthwise convolution along split tokens, as in state space models."""
    x = f32((2, draw.times(64, 1, 3), 16), None, "x")

    def run(x, w):
        numbers = ("NHC", "HIO", "NHC")
        return lax.conv_general_dilated(x, w, (1,), [(3, 0)], dimension_numbers=numbers, feature_group_count=16)

    return case(line(), run, x, f32((4, 1, 16)), out=P(None, "x"))
