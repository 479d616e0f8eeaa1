"""Recurrent networks: scans over time with the same weights in each turn."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, line

FAMILY = Family("recurrent")
SIZE = 64


def settled(x):
    """A nonlinearity that is flat enough for rounding errors to stay small over many turns."""
    return jnp.tanh(0.1 * x)


def inputs(draw: Draw, *spec, batch: int = 16):
    """Time, batch, features."""
    return f32((draw.of(4, 8), batch, SIZE), *spec)


def state(*spec, batch: int = 16):
    """A state: batch, features."""
    return f32((batch, SIZE), *spec)


def vanilla(w, u, h, xs):
    """h = tanh(h w + x u); returns all states."""

    def step(h, x):
        h = settled(h @ w + x @ u)
        return h, h

    return lax.scan(step, h, xs)[1]


@FAMILY.program
def vanilla_batch(draw: Draw) -> Case:
    """The batch is split: nothing has to move."""
    w = f32((SIZE, SIZE))
    return case(line(), vanilla, w, w, state("x"), inputs(draw, None, "x"), out=P(None, "x"))


@FAMILY.program
def vanilla_features(draw: Draw) -> Case:
    """States are split over features, weights over their columns."""
    w = f32((SIZE, SIZE), None, "y")
    x, h = inputs(draw, None, "x", "y"), state("x", "y")
    return case(draw.grid(), vanilla, w, w, h, x, out=P(None, "x", "y"))


@FAMILY.program
def same_weight_gathered(draw: Draw) -> Case:
    """The weight is split over the batch's axis, so that each turn would gather it again."""
    run = lambda w, h: lax.fori_loop(0, 8, lambda _, h: settled(h @ w), h)
    return case(line(), run, f32((SIZE, SIZE), "x"), state("x"), out=P("x"))


@FAMILY.program
def same_weight_rows(draw: Draw) -> Case:
    """The state is split along the weight's rows and the result must be split alike."""
    turns = draw.of(4, 8)
    run = lambda w, h: lax.scan(lambda h, _: (settled(h @ w), ()), h, None, turns)[0]
    return case(line(), run, f32((SIZE, SIZE), "x"), state(None, "x"), out=P(None, "x"))


@FAMILY.program
def same_weight_gradient(draw: Draw) -> Case:
    """The gradient of the weight is a sum over turns."""
    turns = draw.of(4, 8)
    loss = lambda w, h: jnp.sum(lax.scan(lambda h, _: (settled(h @ w), ()), h, None, turns)[0] ** 2)
    return case(line(), jax.grad(loss), f32((SIZE, SIZE)), state("x"), out=P())


def gru(w, u, h, xs):
    """Gated recurrent units."""

    def step(h, x):
        r, z, n = jnp.split(h @ w, 3, -1)
        a, b, c = jnp.split(x @ u, 3, -1)
        r, z = jax.nn.sigmoid(r + a), jax.nn.sigmoid(z + b)
        h = (1 - z) * jnp.tanh(c + r * n) + z * h
        return h, ()

    return lax.scan(step, h, xs)[0]


def lstm(w, u, h, xs):
    """Long short-term memory."""

    def step(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(h @ w + x @ u, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), ()

    return lax.scan(step, (h, jnp.zeros_like(h)), xs)[0][0]


@FAMILY.variants(gru=(gru, 3), lstm=(lstm, 4))
def gates_split(draw: Draw, net: tuple) -> Case:
    """Tensor parallel: the gates' columns are split, so that a gate is on some devices only."""
    run, gates = net
    w = f32((SIZE, gates * SIZE), None, "y")
    return case(draw.grid(), run, w, w, state("x"), inputs(draw, None, "x"), out=P("x"))


@FAMILY.variants(gru=(gru, 3), lstm=(lstm, 4))
def gates_batch(draw: Draw, net: tuple) -> Case:
    run, gates = net
    w = f32((SIZE, gates * SIZE))
    return case(line(), run, w, w, state("x"), inputs(draw, None, "x"), out=P("x"))


@FAMILY.program
def lstm_gradient(draw: Draw) -> Case:
    """Data parallel training of an lstm."""
    w = f32((32, 128))
    run = jax.grad(lambda w, u, h, xs: jnp.sum(lstm(w, u, h, xs) ** 2), (0, 1))
    xs = f32((draw.of(3, 4), 16, 32), None, "x")
    return case(line(), run, w, w, f32((16, 32), "x"), xs, out=(P(), P()))


@FAMILY.program
def lstm_separate_gates(draw: Draw) -> Case:
    """A dimension for the gates, so that features can be split in each of them."""

    def run(w, u, h, xs):
        def step(carry, x):
            h, c = carry
            i, f, g, o = jnp.einsum("bd,dgh->gbh", h, w) + jnp.einsum("bd,dgh->gbh", x, u)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), ()

        return lax.scan(step, (h, jnp.zeros_like(h)), xs)[0][0]

    w = f32((SIZE, 4, SIZE), None, None, "y")
    return case(draw.grid(), run, w, w, state("x", "y"), inputs(draw, None, "x"), out=P("x", "y"))


@FAMILY.program
def time_split(draw: Draw) -> Case:
    """The scanned dimension is split."""
    xs = f32((16, 8, SIZE), "x")
    run = lambda w, h, xs: lax.scan(lambda h, x: (settled(h @ w + x), ()), h, xs)[0]
    return case(line(), run, f32((SIZE, SIZE)), f32((8, SIZE)), xs, out=P())


@FAMILY.program
def bidirectional(draw: Draw) -> Case:
    """A scan in each direction, and the concatenation of their states."""

    def run(v, w, h, xs):
        forward = vanilla(v, v, h, xs)
        backward = vanilla(w, w, h, xs[::-1])[::-1]
        return jnp.concatenate([forward, backward], -1)

    w = f32((SIZE, SIZE), None, "y")
    out = P(None, "x", "y")
    return case(draw.grid(), run, w, w, state("x"), inputs(draw, None, "x"), out=out)


@FAMILY.program
def layers_stacked(draw: Draw) -> Case:
    """A scan over layers whose weights are split over the layer's columns."""
    stack = f32((draw.of(4, 6), SIZE, SIZE), None, None, "y")
    run = lambda ws, x: lax.scan(lambda x, w: (jax.nn.relu(x @ w), ()), x, ws)[0]
    return case(draw.grid(), run, stack, state("x"), out=P("x", "y"))
