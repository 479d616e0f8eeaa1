"""Sorts, the largest elements, and what is made of them."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, i32, line

FAMILY = Family("sorting")


def matrix(draw: Draw, *spec):
    """Rows to sort."""
    return f32((draw.times(16, 1, 4), draw.times(64, 1, 3)), *spec)


def pairs(x):
    """Keys in order, with their places."""
    return lax.sort((x, lax.broadcasted_iota(jnp.int32, x.shape, 1)), dimension=1, num_keys=1)


@FAMILY.program
def along_whole(draw: Draw) -> Case:
    """The sorted dimension is not split."""
    return case(line(), lambda x: jnp.sort(x, 1), matrix(draw, "x"), out=P("x"))


@FAMILY.program
def along_split(draw: Draw) -> Case:
    """The sorted dimension is split and could be traded for the rows."""
    return case(line(), lambda x: jnp.sort(x, 1), matrix(draw, None, "x"), out=P(None, "x"))


@FAMILY.program
def along_split_gathered(draw: Draw) -> Case:
    """The sorted dimension is split, and the result is wanted with split rows."""
    return case(line(), lambda x: jnp.sort(x, 1), matrix(draw, None, "x"), out=P("x"))


@FAMILY.program
def along_one_of_two(draw: Draw) -> Case:
    return case(draw.grid(), lambda x: jnp.sort(x, 1), matrix(draw, "x", "y"), out=P("x", "y"))


@FAMILY.program
def vector(draw: Draw) -> Case:
    """There is no other dimension."""
    return case(line(), jnp.sort, f32((draw.times(64, 2, 8),), "x"), out=P())


@FAMILY.program
def with_places(draw: Draw) -> Case:
    spec = P("x")
    return case(line(), pairs, matrix(draw, None, "x"), out=(spec, spec))


@FAMILY.program
def argsort(draw: Draw) -> Case:
    return case(line(), lambda x: jnp.argsort(x, 1), matrix(draw, None, "x"), out=P(None, "x"))


@FAMILY.variants(rows=("x",), columns=(None, "x"))
def largest(draw: Draw, spec: tuple) -> Case:
    out = P(*spec[:1])
    return case(line(), lambda x: tuple(lax.top_k(x, 4)), matrix(draw, *spec), out=(out, out))


@FAMILY.program
def largest_values(draw: Draw) -> Case:
    """The largest elements of a split vector."""
    run = lambda x: lax.top_k(x, 8)[0]
    return case(line(), run, f32((draw.times(128, 1, 4),), "x"), out=P())


@FAMILY.program
def median(draw: Draw) -> Case:
    """The middle of each column; rows are split."""
    run = lambda x: jnp.sort(x, 0)[x.shape[0] // 2]
    return case(line(), run, matrix(draw, "x"), out=P())


@FAMILY.program
def ranked(draw: Draw) -> Case:
    """The rank of each element among its row."""
    run = lambda x: jnp.argsort(jnp.argsort(x, 1), 1)
    return case(line(), run, matrix(draw, "x"), out=P("x"))


@FAMILY.program
def sampled(draw: Draw) -> Case:
    """Logits below the fourth largest are masked; the vocabulary is split."""

    def run(x):
        limit = lax.top_k(x, 4)[0][:, -1:]
        return jax.nn.softmax(jnp.where(x < limit, -1e9, x))

    return case(line(), run, matrix(draw, None, "x"), out=P(None, "x"))


@FAMILY.program
def unique(draw: Draw) -> Case:
    """The different values of a split vector of integers."""
    run = lambda x: jnp.unique(x, size=8, fill_value=-1)
    return case(line(), run, i32((draw.times(64, 1, 4),), "x"), out=P())


@FAMILY.program
def sort_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum(jnp.sort(x, 1) * jnp.arange(x.shape[1]))
    return case(line(), jax.grad(loss), matrix(draw, "x"), out=P("x"))
