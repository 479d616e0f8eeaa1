"""Reshapes that split and merge sharded dimensions, and other data movement."""

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("reshapes")
MESH = mesh(X=4, Y=2)


@FAMILY.program(MESH, Arg((4, 8, 32), "f32", P("Y", None, "X")), sample=True)
def split_heads(x):
    return x.reshape(4, 8, 4, 8).transpose(0, 2, 1, 3)


@FAMILY.program(MESH, Arg((4, 8, 4, 8), "f32", P("Y", None, "X", None)))
def merge_heads(x):
    return x.reshape(4, 8, 32) * 2


@FAMILY.program(MESH, Arg((8, 16), "i32", P("X", "Y")), sample=True)
def block_sums(x):
    return x.reshape(4, 2, 2, 8).sum(axis=(1, 3))


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")))
def flatten_and_back(x):
    flat = x.reshape(-1)
    return flat, jnp.cos(flat).reshape(16, 8)


@FAMILY.program(MESH, Arg((4, 4, 4, 8), "f32", P("X", None, None, "Y")))
def pixel_shuffle(x):
    return x.reshape(4, 4, 4, 2, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(4, 8, 8, 2)


@FAMILY.program(MESH, Arg((8, 16), "bf16", P("X", "Y")), Arg((8, 16), "bf16", P("X", None)))
def concatenate_and_stack(x, y):
    return jnp.concatenate([x, y], axis=0), jnp.concatenate([x, y], axis=1), jnp.stack([x, y])


@FAMILY.program(MESH, Arg((8, 16), "i32", P("X", "Y")), sample=True)
def pad_slice_reverse(x):
    padded = jax.lax.pad(x, 7, [(1, 3, 0), (0, -2, 1)])
    return padded, x[2:6, ::2], x[::-1], jnp.flip(x[1:-1], axis=1)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")))
def rolls(x):
    return jnp.roll(x, 3, axis=0), jnp.roll(x, -2, axis=1), jnp.roll(x, (1, 1), axis=(0, 1))


@FAMILY.program(MESH, Arg((6, 10), "f32"), Arg((8, 8), "f32", P(("X", "Y"), None)))
def coprime_and_compound(x, y):
    return x.reshape(4, 15), y.reshape(2, 4, 4, 2), y.reshape(4, 16).T


@FAMILY.program(MESH, Arg((8, 4), "f32", P("X", None)), Arg((8, 4), "i32", P("X", "Y")))
def broadcasts_and_bits(x, y):
    tiled = jnp.tile(x, (1, 3)) + jnp.repeat(x, 3, axis=1)
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) ^ y.astype(jnp.uint32)
    return tiled, bits, jax.lax.population_count(bits) << 1
