"""Reductions: of one value, of several together, over split dimensions."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("reductions")


def matrix(draw: Draw, *spec):
    """What is reduced."""
    return f32((draw.times(32, 1, 4), draw.times(64, 1, 4)), *spec)


@FAMILY.variants(max=jnp.argmax, min=jnp.argmin)
def arg(draw: Draw, run) -> Case:
    """The place of an extreme along a split dimension."""
    return case(line(), lambda x: run(x, 1), matrix(draw, None, "x"), out=P())


@FAMILY.program
def argmax_grid(draw: Draw) -> Case:
    return case(draw.grid(), lambda x: jnp.argmax(x, 1), matrix(draw, "x", "y"), out=P("x"))


@FAMILY.program
def argmax_of_all(draw: Draw) -> Case:
    return case(draw.grid(), jnp.argmax, matrix(draw, "x", "y"), out=P())


@FAMILY.program
def argmax_scattered(draw: Draw) -> Case:
    """The places are wanted split."""
    return case(line(), lambda x: jnp.argmax(x, 1), matrix(draw, None, "x"), out=P("x"))


@FAMILY.variants(variance=jnp.var, deviation=jnp.std)
def spread(draw: Draw, run) -> Case:
    return case(line(), lambda x: run(x, 1), matrix(draw, None, "x"), out=P())


@FAMILY.program
def variance_of_all(draw: Draw) -> Case:
    return case(cube(), jnp.var, matrix(draw, "x", ("y", "z")), out=P())


@FAMILY.program
def moments(draw: Draw) -> Case:
    """Sum and sum of squares in one reduction."""

    def run(x):
        add = lambda a, b: (a[0] + b[0], a[1] + b[1])
        return lax.reduce((x, x * x), (0.0, 0.0), add, (1,))

    return case(line(), run, matrix(draw, None, "x"), out=(P(), P()))


@FAMILY.program
def extremes(draw: Draw) -> Case:
    """Least and greatest of each row."""
    run = lambda x: (jnp.min(x, 1), jnp.max(x, 1))
    return case(line(), run, matrix(draw, None, "x"), out=(P(), P()))


@FAMILY.program
def norms(draw: Draw) -> Case:
    run = lambda x: jnp.sqrt(jnp.sum(x**2, 0))
    return case(draw.grid(), run, matrix(draw, "x", "y"), out=P("y"))


@FAMILY.program
def sum_of_sums(draw: Draw) -> Case:
    """Two arrays are summed over split dimensions and added."""
    run = lambda x, y: jnp.sum(x, 1) + jnp.sum(y, 1)
    x = matrix(draw, None, "x")
    return case(line(), run, x, x, out=P())


@FAMILY.program
def scattered_sum(draw: Draw) -> Case:
    """The sums are wanted split over the summed axis."""
    return case(line(), lambda x: jnp.sum(x, 1), matrix(draw, None, "x"), out=P("x"))


@FAMILY.program
def mean_removed(draw: Draw) -> Case:
    return case(draw.grid(), lambda x: x - x.mean(0), matrix(draw, "x", "y"), out=P("x", "y"))


@FAMILY.program
def any_and_all(draw: Draw) -> Case:
    run = lambda x: (jnp.any(x > 1.5, 1), jnp.all(x > -1.5, 1))
    return case(line(), run, matrix(draw, None, "x"), out=(P(), P()))


@FAMILY.program
def max_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum(jnp.max(x, 1) ** 2)
    return case(line(), jax.grad(loss), matrix(draw, None, "x"), out=P(None, "x"))


@FAMILY.program
def covariance(draw: Draw) -> Case:
    """Of columns, with split rows."""

    def run(x):
        centred = x - x.mean(0)
        return centred.T @ centred / x.shape[0]

    return case(line(), run, f32((draw.times(64, 1, 4), 32), "x"), out=P())
