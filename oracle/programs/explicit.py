"""Meshes with Explicit axes: shardings in the types, and meshes that mix Explicit and Auto axes."""

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp
from jax.sharding import auto_axes, reshard

FAMILY = Family("explicit")
TYPED = mesh(X=4, Y=2, explicit=("X", "Y"))
MIXED = mesh(X=4, Y=2, explicit=("X",))


@FAMILY.program(TYPED, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 8), "f32", P("Y", None)), sample=True)
def typed_einsum(x, w):
    return jnp.einsum("bd,df->bf", jnp.square(x), w, out_sharding=P("X", None))


@FAMILY.program(TYPED, Arg((8, 16), "bf16", P("X", "Y")), Arg((16, 8), "bf16", P("Y", None)))
def typed_reduce_scatter(x, w):
    return jnp.einsum("bd,df->bf", x, w, out_sharding=P("X", "Y")) * 2


@FAMILY.program(TYPED, Arg((8, 16), "f32", P("X", "Y")))
def reshards(x):
    rows = reshard(x, P(("X", "Y"), None))
    return jax.nn.softmax(rows, axis=1), reshard(rows.sum(axis=1), P()), reshard(x, P("Y", "X"))


@FAMILY.program(TYPED, Arg((8, 16), "f32", P("X", None)), Arg((16,), "f32", P("Y")))
def typed_broadcast_add(x, bias):
    return reshard(x, P("X", "Y")) + bias, bias.reshape(2, 8, out_sharding=P("Y", None))


@FAMILY.program(MIXED, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 8), "f32", P("Y", None)), sample=True)
def mixed_matmul(x, w):
    return jnp.tanh(jnp.sin(x) @ w)


@FAMILY.program(
    MIXED, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 32), "f32", P(None, "Y")), Arg((32, 16), "f32", P("Y", None))
)
def mixed_mlp(x, w1, w2):
    hidden = jax.nn.gelu(x @ w1)
    return x + hidden @ w2, hidden.mean(axis=0)


@FAMILY.program(MIXED, Arg((8, 4, 16), "f32", P("X", None, "Y")))
def mixed_scan(x):
    step = lambda carry, row: (carry + row * row, carry.sum(axis=-1))
    return jax.lax.scan(step, x[:, 0], x.transpose(1, 0, 2))


@FAMILY.program(TYPED, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 8), "f32", P("Y", "X")))
def automatic_region(x, w):
    region = auto_axes(lambda x, w: jax.nn.relu(x @ w), out_sharding=P("X", "Y"))
    return region(x, w) + 1


@FAMILY.program(TYPED, Arg((8, 16), "f32", P("X", None)), Arg((16, 8), "f32", P(None, "Y")))
def typed_gradient(x, w):
    return jax.grad(lambda x, w: jnp.sum((x @ w) ** 2), argnums=(0, 1))(x, w)


@FAMILY.program(MIXED, Arg((8, 16), "f32", P("X", "Y")), Arg((16, 16), "f32", P(None, "Y")), locations=True)
def mixed_gradient(x, w):
    return jax.value_and_grad(lambda w: jnp.mean(jax.nn.relu(x @ w)))(w)
