"""Random numbers: JAX's threefry, in its default partitionable form."""

from harness import Arg, Family, P, below, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("randoms")
MESH = mesh(X=4, Y=2)
KEY = Arg((2,), "u32", P(), below(2**32))


def constrain(x, *spec):
    """A sharding constraint."""
    return jax.lax.with_sharding_constraint(x, P(*spec))


@FAMILY.program(MESH, KEY, out=P("X", "Y"), sample=True)
def bits(key):
    return jax.random.bits(jax.random.wrap_key_data(key), (8, 16))


@FAMILY.program(MESH, KEY, out=P("X", None))
def uniform(key):
    return jax.random.uniform(jax.random.wrap_key_data(key), (8, 16), minval=-1.0, maxval=3.0)


@FAMILY.program(MESH, KEY, out=P("X", "Y"), sample=True)
def normal(key):
    return jax.random.normal(jax.random.wrap_key_data(key), (8, 16))


@FAMILY.program(MESH, KEY, Arg((8, 16), "f32", P("X", "Y")))
def dropout(key, x):
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.75, x.shape)
    return jnp.where(keep, x / 0.75, 0)


@FAMILY.program(MESH, KEY)
def split_and_fold(key):
    keys = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(key), 7), 3)
    draws = jax.vmap(lambda key: jax.random.randint(key, (8,), 0, 100))(keys)
    return jax.random.key_data(keys), constrain(draws, None, "X")


@FAMILY.program(MESH, KEY, Arg((8, 16), "f32", P("X", None)))
def categorical(key, logits):
    return jax.random.categorical(jax.random.wrap_key_data(key), logits, axis=-1)


@FAMILY.program(MESH, KEY, out=P(("X", "Y"), None))
def bf16_and_truncated(key):
    first, second = jax.random.split(jax.random.wrap_key_data(key))
    return jax.random.normal(first, (8, 4), jnp.bfloat16) + jax.random.truncated_normal(
        second, -2, 2, (8, 4), jnp.float32
    )
