"""Loops: invariants, accumulation, carries whose layout must be chosen."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, i32, line

FAMILY = Family("loops")
SIZE = 64


def settled(x):
    """A nonlinearity that is flat enough for rounding errors to stay small over many turns."""
    return jnp.tanh(0.1 * x)


def square(*spec):
    """A square matrix."""
    return f32((SIZE, SIZE), *spec)


@FAMILY.program
def invariant_product(draw: Draw) -> Case:
    """The product of two invariants is used in each turn."""
    turns = draw.of(4, 8)
    run = lambda a, b, x: lax.fori_loop(0, turns, lambda _, x: settled(0.1 * (x @ (a @ b))), x)
    return case(line(), run, square("x"), square(None, "x"), f32((16, SIZE), "x"), out=P("x"))


@FAMILY.program
def invariant_gather(draw: Draw) -> Case:
    """A split table is read whole in each turn."""
    turns = draw.of(4, 8)
    run = lambda t, x: lax.fori_loop(0, turns, lambda _, x: x - 0.1 * jnp.tanh(x @ t.T) @ t, x)
    return case(line(), run, f32((32, SIZE), "x"), f32((64, SIZE), "x"), out=P("x"))


@FAMILY.program
def power_iteration(draw: Draw) -> Case:
    """A matrix times a vector, again and again."""
    turns = draw.of(8, 16)

    def step(_, v):
        v = a_times(v)
        return v * lax.rsqrt(jnp.sum(v**2) + 1e-6)

    def run(a, v):
        nonlocal a_times
        a_times = lambda v: a @ v
        return lax.fori_loop(0, turns, step, v)

    a_times = None
    return case(line(), run, square("x"), f32((SIZE,)), out=P())


@FAMILY.program
def carry_conflict(draw: Draw) -> Case:
    """The carry enters in one layout and is wanted in another."""
    turns = draw.of(4, 8)
    run = lambda w, x: lax.fori_loop(0, turns, lambda _, x: settled(x @ w), x)
    return case(line(), run, square(None, "x"), f32((64, SIZE), "x"), out=P(None, "x"))


@FAMILY.program
def accumulate(draw: Draw) -> Case:
    """Partial products are added up; the sum over devices can wait for the end."""
    turns = draw.of(4, 8)

    def run(xs, w):
        add = lambda total, x: (total + x @ w, ())
        return lax.scan(add, jnp.zeros((16, SIZE)), xs)[0]

    return case(line(), run, f32((turns, 16, SIZE), None, None, "x"), square("x"), out=P())


@FAMILY.program
def accumulate_gradient(draw: Draw) -> Case:
    turns = draw.of(4, 8)

    def loss(w, xs):
        return lax.scan(lambda total, x: (total + jnp.sum(settled(x @ w)), ()), 0.0, xs)[0]

    return case(line(), jax.grad(loss), square(), f32((turns, 16, SIZE), None, "x"), out=P())


@FAMILY.program
def stacked_results(draw: Draw) -> Case:
    """Each turn adds a row to a stack that is split over the turns."""
    run = lambda w, x: lax.scan(lambda x, _: (settled(x @ w),) * 2, x, None, 16)[1]
    return case(line(), run, square(), f32((8, SIZE)), out=P("x"))


@FAMILY.program
def stack_read(draw: Draw) -> Case:
    """Each turn reads one element of a stack that is split over the turns."""
    run = lambda xs, w: lax.scan(lambda total, x: (total + jnp.sum(x @ w, 0), ()), jnp.zeros(SIZE), xs)[0]
    return case(line(), run, f32((16, 8, SIZE), "x"), square(), out=P())


@FAMILY.program
def matrix_power(draw: Draw) -> Case:
    """A split matrix times itself."""
    turns = draw.of(3, 5)
    run = lambda a: lax.fori_loop(0, turns, lambda _, b: settled(a @ b), a)
    return case(draw.grid(), run, square("x", "y"), out=P("x", "y"))


@FAMILY.program
def until_small(draw: Draw) -> Case:
    """The data decides when the loop ends."""

    def run(x):
        test = lambda state: (jnp.sum(state[0] ** 2) > 1.0) & (state[1] < 20)
        return lax.while_loop(test, lambda state: (state[0] * 0.5, state[1] + 1), (x, 0))[0]

    return case(line(), run, f32((64, SIZE), "x"), out=P("x"))


@FAMILY.program
def nested(draw: Draw) -> Case:
    """A loop in a loop, with a product in the inner one."""
    inner = lambda w, x: lax.fori_loop(0, 3, lambda _, x: settled(x @ w), x)
    run = lambda w, x: lax.fori_loop(0, 4, lambda _, x: inner(w, x) + 1.0, x)
    return case(line(), run, square("x"), f32((16, SIZE), "x"), out=P("x"))


@FAMILY.program
def branches(draw: Draw) -> Case:
    """One of two products, chosen at run time."""
    run = lambda i, x, v, w: lax.cond(i > 2, lambda: x @ v, lambda: jnp.tanh(x) @ w)
    return case(line(), run, i32(()), f32((64, SIZE), "x"), square("x"), square(None, "x"), out=P("x"))


@FAMILY.program
def gradient_descent(draw: Draw) -> Case:
    """Some steps on the same split data."""
    steps, rows = draw.of(4, 8), draw.times(64, 1, 3)

    def run(w, x, y):
        gradient = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))
        return lax.fori_loop(0, steps, lambda _, w: w - 0.1 * gradient(w), w)

    return case(line(), run, f32((SIZE, 16)), f32((rows, SIZE), "x"), f32((rows, 16), "x"), out=P())


@FAMILY.program
def clusters(draw: Draw) -> Case:
    """Steps of k-means on split points."""
    steps = draw.of(3, 5)

    def run(points, centres):
        def step(_, centres):
            apart = jnp.sum(points**2, 1)[:, None] - 2 * points @ centres.T + jnp.sum(centres**2, 1)
            near = jax.nn.one_hot(jnp.argmin(apart, 1), centres.shape[0])
            return near.T @ points / (near.sum(0)[:, None] + 1e-6)

        return lax.fori_loop(0, steps, step, centres)

    return case(line(), run, f32((draw.times(64, 1, 4), 16), "x"), f32((8, 16)), out=P())
