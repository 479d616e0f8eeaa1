"""Loops and branches."""

from harness import Arg, Family, P, below, coins, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("control")
MESH = mesh(X=4, Y=2)


@FAMILY.program(
    MESH, Arg((8, 16), "f32", P("X", None)), Arg((16, 16), "f32", P(None, "Y")), Arg((5, 8, 16), "f32"), sample=True
)
def scan_rnn(state, w, inputs):
    def step(state, x):
        state = jnp.tanh(state @ w / 8 + x)
        return state, state.sum(axis=1)

    return jax.lax.scan(step, state, inputs)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), sample=True)
def while_until_small(x):
    return jax.lax.while_loop(lambda x: jnp.max(jnp.abs(x)) > 0.25, lambda x: x / 2, x)


@FAMILY.program(MESH, Arg((8, 8), "i32", P("X", "Y")))
def fori_doubling(x):
    return jax.lax.fori_loop(0, 6, lambda i, x: x * 2 + i, x)


@FAMILY.program(MESH, Arg((8, 8), "f32", P("X", None)), Arg((8, 8), "f32", P(None, "Y")))
def fori_unrolled(x, w):
    return jax.lax.fori_loop(0, 3, lambda _, x: x @ w / 4, x, unroll=True)


@FAMILY.program(
    MESH, Arg((), "bool", P(), coins), Arg((8, 16), "f32", P("X", None)), Arg((16, 8), "f32", P(None, "Y")), sample=True
)
def cond_of_matmuls(flag, x, w):
    return jax.lax.cond(flag, lambda: jax.nn.relu(x @ w), lambda: x[:, :8] * 2)


@FAMILY.program(MESH, Arg((), "i32", P(), below(3)), Arg((8, 16), "f32", P("X", "Y")))
def switch_of_three(index, x):
    return jax.lax.switch(index, [jnp.sin, lambda x: x - x.mean(), lambda x: jnp.roll(x, 1, axis=1)], x)


@FAMILY.program(MESH, Arg((6, 8, 16), "f32", P(None, "X", None)), Arg((16, 4), "f32", P("Y", None)))
def map_over_batches(xs, w):
    return jax.lax.map(lambda x: x @ w, xs)


@FAMILY.program(
    MESH,
    Arg((4, 16, 16), "f32", P(None, None, "Y")),
    Arg((8, 16), "f32", P("X", None)),
    out=P("X", None),
    locations=True,
)
def scan_over_layers(weights, x):
    layer = lambda x, w: (jax.lax.with_sharding_constraint(jax.nn.gelu(x @ w), P("X", None)), None)
    return jax.lax.scan(layer, x, weights)[0]


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")))
def nested_loops(x):
    inner = lambda x: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 0.125 * c[0]), (0, x))[1]
    return jax.lax.scan(lambda x, _: (inner(x), x[0]), x, length=4)


@FAMILY.program(MESH, Arg((16, 8), "f32", P("X", None)))
def associative_scan(x):
    return jax.lax.associative_scan(jnp.maximum, x, axis=0)
