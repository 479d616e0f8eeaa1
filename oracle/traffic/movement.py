"""Ops that only move elements: slices, concatenations, reversals, reshapes, transposes."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("movement")


def rows(draw: Draw, *spec):
    """A matrix whose rows divide by 64."""
    return f32((draw.times(64, 1, 4), draw.times(16, 1, 4)), *(spec or ("x",)))


@FAMILY.program
def reverse(draw: Draw) -> Case:
    return case(line(), lambda x: x[::-1], rows(draw), out=P("x"))


@FAMILY.program
def stride_two(draw: Draw) -> Case:
    return case(line(), lambda x: x[::2], rows(draw), out=P("x"))


@FAMILY.program
def even_and_odd(draw: Draw) -> Case:
    run = lambda x: x[::2] - x[1::2]
    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def interleave(draw: Draw) -> Case:
    run = lambda a, b: jnp.stack([a, b], 1).reshape(-1, a.shape[1])
    x = rows(draw)
    return case(line(), run, x, x, out=P("x"))


@FAMILY.program
def first_half(draw: Draw) -> Case:
    return case(line(), lambda x: x[: x.shape[0] // 2], rows(draw), out=P("x"))


@FAMILY.program
def split_halves(draw: Draw) -> Case:
    """The halves of a split dimension are multiplied."""

    def run(x):
        a, b = jnp.split(x, 2, 0)
        return a * b

    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def concatenate(draw: Draw) -> Case:
    x = rows(draw)
    return case(line(), lambda a, b: jnp.concatenate([a, b], 0), x, x, out=P("x"))


@FAMILY.program
def swap_halves(draw: Draw) -> Case:
    run = lambda x: jnp.concatenate([x[x.shape[0] // 2 :], x[: x.shape[0] // 2]], 0)
    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def pad_rows(draw: Draw) -> Case:
    """Eight rows are added at both ends."""
    run = lambda x: jnp.pad(x, ((8, 8), (0, 0)))
    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def dilate(draw: Draw) -> Case:
    """Zeros between the rows."""
    run = lambda x: lax.pad(x, 0.0, ((0, 1, 1), (0, 0, 0)))
    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def transpose(draw: Draw) -> Case:
    x = f32((draw.times(32, 1, 4), draw.times(32, 1, 4)), "x", "y")
    return case(draw.grid(), lambda x: x.T, x, out=P("x", "y"))


@FAMILY.program
def merge_split(draw: Draw) -> Case:
    x = f32((8, draw.times(8, 1, 4), 16), "x", "y")
    run = lambda x: jnp.sin(x.reshape(-1, 16)).reshape(-1, 8, 16)
    return case(draw.grid(), run, x, out=P("x", None, "y"))


@FAMILY.program
def split_heads(draw: Draw) -> Case:
    """A split dimension becomes two."""
    x = f32((draw.times(8, 1, 4), 128), "x", "y")
    run = lambda x: x.reshape(-1, 16, 8).transpose(1, 0, 2)
    return case(draw.grid(), run, x, out=P("y", "x"))


@FAMILY.program
def read_row(draw: Draw) -> Case:
    """One row whose number is known only at run time."""
    run = lambda x, i: lax.dynamic_index_in_dim(x, i, 0, keepdims=False)
    return case(line(), run, rows(draw), i32(()), out=P())


@FAMILY.program
def write_row(draw: Draw) -> Case:
    run = lambda x, row, i: lax.dynamic_update_index_in_dim(x, row, i, 0)
    x = rows(draw)
    return case(line(), run, x, f32(x.shape[1:]), i32(()), out=P("x"))


@FAMILY.program
def known_rows(draw: Draw) -> Case:
    """Slices at known offsets, which are written to other known offsets."""

    def run(x):
        part = lax.dynamic_slice_in_dim(x, 8, 16, 0)
        return lax.dynamic_update_slice_in_dim(x, 2 * part, 40, 0)

    return case(line(), run, rows(draw), out=P("x"))


@FAMILY.program
def triangle(draw: Draw) -> Case:
    """A mask made of iotas, which no device needs to receive."""
    n = draw.times(32, 2, 4)
    return case(draw.grid(), lambda x: jnp.tril(x) - jnp.triu(x, 1), f32((n, n), "x", "y"), out=P("x", "y"))


@FAMILY.program
def constant_where(draw: Draw) -> Case:
    """A table that is known while compiling is split like the argument."""
    n = draw.times(64, 1, 3)
    run = lambda x: x * jnp.cos(jnp.arange(n, dtype=jnp.float32))[:, None] + jnp.zeros((n, 1))
    return case(cube(), run, f32((n, 16), ("x", "z"), "y"), out=P(("x", "z"), "y"))


@FAMILY.program
def relayout_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum(jnp.concatenate([x[1:], x[:1]], 0) * x[::-1])
    return case(line(), jax.grad(loss), rows(draw), out=P("x"))
