"""Steps of optimisers on split parameters and gradients."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("optimiser")


def matrix(draw: Draw, *spec):
    """A parameter."""
    return f32((draw.times(64, 1, 4), draw.times(32, 1, 4)), *spec)


def adam(w, g, m, v):
    """A step of Adam."""
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    return w - 0.01 * m * lax.rsqrt(v + 1e-6), m, v


@FAMILY.program
def adam_aligned(draw: Draw) -> Case:
    """All states are split alike: nothing has to move."""
    w = matrix(draw, "x", "y")
    spec = P("x", "y")
    return case(draw.grid(), adam, w, w, w, w, out=(spec,) * 3)


@FAMILY.program
def adam_zero(draw: Draw) -> Case:
    """The states are split, parameters and gradients are whole."""
    w = matrix(draw)
    s = f32(w.shape, "x")
    return case(line(), adam, w, w, s, s, out=(P(), P("x"), P("x")))


@FAMILY.program
def adam_other_dimension(draw: Draw) -> Case:
    """The gradient is split along another dimension."""
    w = matrix(draw, "x")
    g = f32(w.shape, None, "x")
    return case(line(), adam, w, g, w, w, out=(P("x"),) * 3)


@FAMILY.program
def clipped(draw: Draw) -> Case:
    """Gradients are scaled by their common norm."""
    a, b = matrix(draw, "x", "y"), matrix(draw, "y", "x")

    def run(a, b, g, h):
        scale = lax.rsqrt(jnp.sum(g**2) + jnp.sum(h**2) + 1.0)
        return a - 0.1 * scale * g, b - 0.1 * scale * h

    return case(draw.grid(), run, a, b, a, b, out=(P("x", "y"), P("y", "x")))


@FAMILY.program
def lamb(draw: Draw) -> Case:
    """The step is scaled by the ratio of two norms."""
    w = matrix(draw, "x")

    def run(w, g):
        ratio = jnp.sqrt(jnp.sum(w**2)) * lax.rsqrt(jnp.sum(g**2) + 1e-6)
        return w - 0.01 * ratio * g

    return case(line(), run, w, w, out=P("x"))


@FAMILY.program
def factored(draw: Draw) -> Case:
    """Adafactor keeps the means of rows and columns."""
    w = matrix(draw, "x", "y")

    def run(w, g, rows, columns):
        rows = 0.9 * rows + 0.1 * (g**2).mean(1)
        columns = 0.9 * columns + 0.1 * (g**2).mean(0)
        scale = rows[:, None] * columns / (rows.mean() + 1e-6)
        return w - 0.1 * g * lax.rsqrt(scale + 1e-6), rows, columns

    args = w, w, f32(w.shape[:1], "x"), f32(w.shape[1:], "y")
    return case(draw.grid(), run, *args, out=(P("x", "y"), P("x"), P("y")))


@FAMILY.program
def data_parallel(draw: Draw) -> Case:
    """The gradient of a linear model on a split batch, and a step."""
    rows = draw.times(32, 1, 4)
    loss = lambda w, x, y: jnp.mean((x @ w - y) ** 2)
    run = lambda w, x, y: w - 0.1 * jax.grad(loss)(w, x, y)
    args = f32((64, 32)), f32((rows, 64), "x"), f32((rows, 32), "x")
    return case(line(), run, *args, out=P())


@FAMILY.program
def zero_step(draw: Draw) -> Case:
    """The gradient is summed into shards, the states are split, the parameter is whole."""
    rows = draw.times(32, 1, 4)
    loss = lambda w, x, y: jnp.mean((x @ w - y) ** 2)

    def run(w, m, v, x, y):
        return adam(w, jax.grad(loss)(w, x, y), m, v)

    state = f32((64, 32), "x")
    args = f32((64, 32)), state, state, f32((rows, 64), "x"), f32((rows, 32), "x")
    return case(line(), run, *args, out=(P(), P("x"), P("x")))


@FAMILY.program
def microbatches(draw: Draw) -> Case:
    """Gradients of several microbatches are added before the step."""
    count, rows = draw.of(2, 4), draw.times(16, 1, 3)
    loss = lambda w, x, y: jnp.mean((x @ w - y) ** 2)

    def run(w, xs, ys):
        add = lambda total, batch: (total + jax.grad(loss)(w, *batch), ())
        return w - 0.1 * lax.scan(add, jnp.zeros_like(w), (xs, ys))[0]

    args = f32((64, 32)), f32((count, rows, 64), None, "x"), f32((count, rows, 32), None, "x")
    return case(line(), run, *args, out=P())


@FAMILY.program
def two_losses(draw: Draw) -> Case:
    """The gradients of two losses are added: one sum over devices is enough."""
    rows = draw.times(32, 1, 4)

    def run(w, x, y):
        first = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w)
        second = jax.grad(lambda w: jnp.sum(jnp.tanh(y @ w)))(w)
        return w - 0.1 * (first + second)

    x = f32((rows, 64), "x")
    return case(line(), run, f32((64, 32)), x, x, out=P())


@FAMILY.program
def weight_decay_tied(draw: Draw) -> Case:
    """A matrix that is used twice, once transposed."""
    rows = draw.times(32, 1, 4)
    loss = lambda w, x: jnp.sum((jax.nn.relu(x @ w) @ w.T - x) ** 2) + 0.1 * jnp.sum(w**2)
    run = lambda w, x: w - 0.1 * jax.grad(loss)(w, x)
    return case(line(), run, f32((64, 32)), f32((rows, 64), "x"), out=P())


@FAMILY.program
def orthogonal(draw: Draw) -> Case:
    """Newton-Schulz steps, as Muon takes them."""

    def run(w, g):
        x = g * lax.rsqrt(jnp.sum(g**2) + 1e-6)
        for _ in range(3):
            a = x @ x.T
            x = 1.5 * x - 0.5 * a @ x
        return w - 0.1 * x

    w = f32((64, draw.times(64, 1, 3)), None, "x")
    return case(line(), run, w, w, out=P(None, "x"))


@FAMILY.program
def average(draw: Draw) -> Case:
    """The moving average of a parameter that has another layout."""
    w = matrix(draw, "x", "y")
    ema = f32(w.shape, ("x", "y"))
    run = lambda w, ema: 0.99 * ema + 0.01 * w
    return case(cube(), run, w, ema, out=P(("x", "y")))
