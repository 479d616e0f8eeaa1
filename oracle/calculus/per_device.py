"""Models in per-device code: what `jax.shard_map` exports, with each of its collectives."""

import jax
import jax.numpy as jnp
from harness import mesh
from jax import lax
from jax.sharding import PartitionSpec as P

from calculus.models import model, weights


def mapped(function, ins, out):
    """The function on each device of a mesh of 4 x 2."""
    return jax.shard_map(function, mesh=mesh(x=4, y=2), in_specs=ins, out_specs=out)


@model()
def data_parallel(d):
    def step(w, x):
        return lax.psum(jnp.tanh(x @ w).sum(), "x")

    return mapped(step, (P(), P("x")), P()), *weights(d, (6, 5), (8, 6))


@model()
def gathered_weights(d):
    def step(w, x):
        return lax.psum(jnp.tanh(x @ lax.all_gather(w, "x", tiled=True)).sum(), "x")

    return mapped(step, (P("x"), P("x")), P()), *weights(d, (8, 5), (8, 8))


@model()
def ring(d):
    def step(w, x):
        y = x @ w
        return lax.pmean((y * lax.ppermute(y, "x", [(i, (i + 1) % 4) for i in range(4)])).sum(), ("x", "y"))

    return mapped(step, (P(None, "y"), P("x")), P()), *weights(d, (6, 4), (8, 6))


@model()
def scattered_products(d):
    def step(w, x):
        y = lax.psum_scatter(jnp.sin(x @ w), "x", scatter_dimension=1, tiled=True)
        return lax.all_to_all(y, "y", 1, 0, tiled=True)

    inner = mapped(step, (P("x"), P(None, "x")), P("y", "x"))
    return lambda w, x: (inner(w, x) ** 2).sum(), *weights(d, (8, 16), (4, 8))


@model()
def per_device_layers(d):
    def step(w, x):
        h, _ = lax.scan(lambda h, w: (jnp.tanh(h @ w) + lax.psum(h, "x") * 0.1, None), x, w)
        return lax.psum((h * h).sum(), "x")

    return mapped(step, (P(), P("x")), P()), *weights(d, (3, 6, 6), (8, 6))


@model()
def positions(d):
    def step(w, x):
        return jnp.sum(x * w * (lax.axis_index("x") + 1.0), keepdims=True)

    inner = mapped(step, (P(), P("x")), P("x"))
    return lambda w, x: inner(w, x).sum(), *weights(d, (6,), (8, 6))
