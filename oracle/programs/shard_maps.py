"""shard_map over all mesh axes: each collective, alone and in small algorithms."""

from functools import partial

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp
from jax import lax

FAMILY = Family("shard_maps")
MESH = mesh(X=2, Y=4)
TILED = Arg((8, 16), "f32", P("X", "Y"))


def mapped(in_specs, out_specs, **options):
    """shard_map over MESH, as a decorator."""
    return partial(jax.shard_map, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


@FAMILY.program(MESH, TILED, sample=True)
def psum(x):
    return mapped(P("X", "Y"), P("X", None))(lambda x: lax.psum(x, "Y"))(x)


@FAMILY.program(MESH, Arg((8, 16), "i32", P("X", "Y")))
def psum_pmax_pmin(x):
    return mapped(P("X", "Y"), P(None, None))(
        lambda x: lax.psum(x, ("X", "Y")) + lax.pmax(x, ("X", "Y")) * lax.pmin(x, ("X", "Y"))
    )(x)


@FAMILY.program(MESH, TILED, sample=True)
def all_gather(x):
    gather = lambda x: lax.all_gather(x, "Y", axis=1, tiled=True)[:, ::2]
    return mapped(P("X", "Y"), P("X", "Y"))(gather)(x)


@FAMILY.program(MESH, Arg((8, 16), "bf16", P(None, ("X", "Y"))))
def all_gather_two_axes(x):
    gather = lambda x: lax.all_gather(x, ("X", "Y"), axis=0)
    return mapped(P(None, ("X", "Y")), P(None, None, ("X", "Y")))(gather)(x)


@FAMILY.program(MESH, TILED, sample=True)
def psum_scatter(x):
    scatter = lambda x: lax.psum_scatter(x, "Y", scatter_dimension=0, tiled=True)
    return mapped(P("X", "Y"), P(("X", "Y"), None))(scatter)(x)


@FAMILY.program(MESH, Arg((16, 8), "i32", P(("X", "Y"), None)), sample=True)
def all_to_all(x):
    exchange = lambda x: lax.all_to_all(x, "Y", split_axis=1, concat_axis=0, tiled=True)
    return mapped(P(("X", "Y"), None), P("X", "Y"))(exchange)(x)


@FAMILY.program(MESH, TILED, sample=True)
def ppermute(x):
    rotate = lambda x: (
        lax.ppermute(x, "Y", [(i, (i + 1) % 4) for i in range(4)]) - lax.ppermute(x, "Y", [(0, 2), (3, 1)])
    )
    return mapped(P("X", "Y"), P("X", "Y"))(rotate)(x)


@FAMILY.program(MESH, Arg((8, 8), "i32", P("X", "Y")), sample=True)
def axis_index(x):
    label = lambda x: x + 100 * lax.axis_index("X") + 10 * lax.axis_index("Y") + lax.axis_size("Y")
    return mapped(P("X", "Y"), P("X", "Y"))(label)(x)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 8), "f32", P("Y", None)))
def matmul_with_reduction(x, w):
    return mapped((P("X", "Y"), P("Y", None)), P("X", None))(lambda x, w: lax.psum(x @ w, "Y"))(x, w)


@FAMILY.program(MESH, Arg((16, 8), "f32", P(("X", "Y"), None)), locations=True)
def halo_exchange(x):
    """A three-point stencil whose shards fetch their neighbours' rows."""

    def stencil(x):
        above = lax.ppermute(x[-1:], ("X", "Y"), [(i, i + 1) for i in range(7)])
        below = lax.ppermute(x[:1], ("X", "Y"), [(i + 1, i) for i in range(7)])
        padded = jnp.concatenate([above, x, below])
        return padded[:-2] - 2 * x + padded[2:]

    return mapped(P(("X", "Y"), None), P(("X", "Y"), None))(stencil)(x)


@FAMILY.program(MESH, Arg((8, 4, 8), "f32", P(("X", "Y"), None, None)), Arg((8, 8), "f32", P("X", None)))
def pipeline(weights, batches):
    """Microbatches pass through stages on a ring: a scan with a ppermute in its body."""

    def stages(w, batches):
        index = lax.axis_index("Y")
        start = lax.pcast(jnp.zeros((4,)), ("X", "Y"), to="varying")

        def step(state, i):
            state = jnp.where(index == 0, batches[i % 4, :4], state)
            state = jnp.tanh(w[0, :, :4] @ state / 4)
            return lax.ppermute(state, "Y", [(j, (j + 1) % 4) for j in range(4)]), state

        return lax.scan(step, start, jnp.arange(6))[1]

    return mapped((P(("X", "Y"), None, None), P("X", None)), P("X", "Y"))(stages)(weights, batches)


@FAMILY.program(MESH, TILED)
def nested(x):
    inner = jax.shard_map(
        lambda x: lax.psum(x + lax.axis_index("Y"), "Y"),
        in_specs=P(None, "Y"),
        out_specs=P(None, None),
        axis_names={"Y"},
    )
    outer = jax.shard_map(
        lambda x: inner(x * 2) - lax.axis_index("X"), in_specs=P("X", None), out_specs=P("X", None), axis_names={"X"}
    )
    return outer(x)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 8), "f32", P("Y", None)))
def gradient_of_psum(x, w):
    forward = mapped((P("X", "Y"), P("Y", None)), P("X", None))(lambda x, w: lax.psum(jnp.sin(x) @ w, "Y"))
    return jax.grad(lambda x, w: jnp.sum(forward(x, w) ** 2), argnums=(0, 1))(x, w)
