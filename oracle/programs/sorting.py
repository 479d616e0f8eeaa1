"""Sorts, arg-reductions, running sums."""

from harness import Arg, Family, P, below, distinct, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("sorting")
MESH = mesh(X=4, Y=2)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y"), distinct), sample=True)
def sort_rows(x):
    return jnp.sort(x, axis=1), jnp.sort(x, axis=0, descending=True)


@FAMILY.program(MESH, Arg((8, 16), "i32", P("X", None), distinct))
def argsort_rows(x):
    return jnp.argsort(x, axis=1), jnp.argsort(x, axis=0)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), sample=True)
def argmax_and_argmin(x):
    return jnp.argmax(x, axis=1), jnp.argmin(x, axis=0), jnp.argmax(x)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), Arg((8, 16), "i32", P("X", "Y"), below(3)))
def running(x, small):
    return (
        jnp.cumsum(x, axis=1),
        jnp.cumsum(x, axis=0),
        jnp.cumprod(small, axis=1),
        jax.lax.cummax(x, axis=0, reverse=True),
    )


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", None), distinct))
def top_k(x):
    return jax.lax.top_k(x, 3)


@FAMILY.program(MESH, Arg((16,), "i32", P("X"), below(4)), Arg((16, 8), "f32", P("X", "Y")))
def sort_by_key(keys, x):
    """The dispatch of a mixture of experts: a stable sort of tokens by expert."""
    order = jnp.argsort(keys, stable=True)
    return keys[order], x[order], jnp.searchsorted(keys[order], jnp.arange(4))


@FAMILY.program(MESH, Arg((16,), "f64", P("X"), distinct), x64=True)
def ranks_and_median(x):
    return jnp.argsort(jnp.argsort(x)), jnp.median(x), jnp.cumsum(x)
