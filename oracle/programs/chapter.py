"""The programs of "Programming TPUs in JAX", with smaller sizes.

As printed, some no longer run on jax 0.10.2: meshes are Explicit by default (the automatic ones ask for Auto here),
and `pvary` became `pcast`. The first program keeps the chapter's sizes in bench_jax.py.
"""

from harness import Arg, Family, P, below, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("chapter")
AUTO = mesh(X=4, Y=2)
WIDE = mesh(X=2, Y=4)
TYPED = mesh(X=4, Y=2, explicit=("X", "Y"))
TYPED_LOWER = mesh(x=2, y=4, explicit=("x", "y"))


@FAMILY.program(
    AUTO,
    Arg((8, 64), "bf16", P("X", "Y")),
    Arg((64, 32), "bf16", P("Y", None)),
    out=P("X", None),
    sample=True,
    locations=True,
)
def matmul_square(In, W):
    return jnp.einsum("bd,df->bf", jnp.square(In), W)


@FAMILY.program(
    AUTO,
    Arg((8, 64), "bf16", P("X", "Y")),
    Arg((64, 32), "bf16", P("Y", None)),
    Arg((32, 64), "bf16", P(None, "Y")),
    out=P("X", None),
)
def two_matmuls(In, W1, W2):
    hidden = jax.lax.with_sharding_constraint(jnp.einsum("bd,df->bf", In, W1), P("X", "Y"))
    return jnp.einsum("bf,df->bd", hidden, W2.T)


@FAMILY.program(TYPED, Arg((8, 64), "bf16", P("X", "Y")), Arg((64, 32), "bf16", P("Y", None)))
def explicit_matmul_square(In, W):
    return jnp.einsum("bd,df->bf", jnp.square(In), W, out_sharding=P("X", "Y"))


@FAMILY.program(TYPED, Arg((8, 2), "i32", P("X", "Y")), Arg((8, 2), "i32", P("X", None)))
def explicit_add(x, y):
    return x + jax.sharding.reshard(y, P("X", "Y"))


@FAMILY.program(TYPED_LOWER, Arg((512,), "i32", P(("x", "y")), lambda rng, shape: jnp.arange(512)), sample=True)
def slice_and_average(x):
    @jax.shard_map(in_specs=P(("x", "y")), out_specs=P())
    def average(x):
        return jax.lax.pmean(x[:4], axis_name=("x", "y"))

    return average(x)


def collective_matmul_body(lhs, rhs):
    """All-gather matmul that overlaps each step's product with the rotation of `lhs`."""
    axis_size = jax.lax.axis_size("Y")
    index = jax.lax.axis_index("Y")
    chunk = lhs.shape[1]

    def update(i, accum, lhs):
        rows = jax.lax.dynamic_slice_in_dim(rhs, (index + i) % axis_size * chunk, chunk)
        return accum + lhs @ rows

    def step(i, carry):
        accum, lhs = carry
        rotated = jax.lax.ppermute(lhs, axis_name="Y", perm=[(j, (j - 1) % axis_size) for j in range(axis_size)])
        return update(i, accum, lhs), rotated

    accum = jnp.zeros((lhs.shape[0], rhs.shape[1]), dtype=lhs.dtype)
    accum = jax.lax.pcast(accum, ("X", "Y"), to="varying")
    accum, lhs = jax.lax.fori_loop(0, axis_size - 1, step, (accum, lhs), unroll=True)
    return update(axis_size - 1, accum, lhs)


@FAMILY.program(WIDE, Arg((16, 32), "i32", P("X", "Y")), Arg((32, 64), "i32", P(None, "Y")), sample=True)
def collective_matmul(A, W):
    specs = (P("X", "Y"), P(None, "Y"))
    return jax.shard_map(collective_matmul_body, mesh=WIDE, in_specs=specs, out_specs=P("X", "Y"))(A, W)


@FAMILY.program(WIDE, Arg((16, 32), "i32", P("X", "Y")), Arg((32, 64), "i32", P(None, "Y")), out=P("X", "Y"))
def plain_matmul(lhs, rhs):
    return lhs @ rhs


ROWS = Arg((64, 8), "i32", P("X", "Y"), lambda rng, shape: jnp.arange(512).reshape(shape))


@FAMILY.program(AUTO, ROWS)
def average_shard_map(x):
    return jax.shard_map(lambda x: x.mean(keepdims=True), mesh=AUTO, in_specs=P("X", "Y"), out_specs=P("X", "Y"))(x)


@FAMILY.program(AUTO, ROWS, out=P("X", "Y"), sample=True)
def average_jit(x):
    return x.reshape(4, x.shape[0] // 4, 2, x.shape[1] // 2).mean(axis=(1, 3))


@FAMILY.program(AUTO, ROWS)
def shift_shard_map(x):
    return jax.shard_map(lambda x: jnp.roll(x, 5, axis=0), mesh=AUTO, in_specs=P("X", "Y"), out_specs=P("X", "Y"))(x)


@FAMILY.program(AUTO, ROWS, out=P("X", "Y"))
def shift_jit(x):
    return jnp.roll(x.reshape(4, x.shape[0] // 4, -1), 5, axis=1).reshape(x.shape)


@FAMILY.program(
    AUTO,
    Arg((4, 16, 8), "f32", P("X", None, "Y")),
    Arg((16, 16), "f32", P("X", "Y")),
    Arg((16,), "i32", P("X"), below(4)),
)
def mixture_of_experts(W, A, B):
    """Problem 2: one expert at a time over all tokens, masked."""

    def expert(out, e):
        return jnp.where((B == e)[:, None], A @ W[e], out), None

    return jax.lax.scan(expert, jnp.zeros((16, 8)), jnp.arange(4))[0]
