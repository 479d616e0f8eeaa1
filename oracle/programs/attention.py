"""Attention in the shapes that models use."""

from harness import Arg, Family, P, coins, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("attention")
MESH = mesh(data=2, model=4)
HEADS = P("data", None, "model", None)


def causal_mask(tokens: int):
    """A lower triangle of booleans."""
    return jnp.tril(jnp.ones((tokens, tokens), bool))


@FAMILY.program(MESH, *[Arg((4, 8, 4, 8), "f32", HEADS)] * 3, out=HEADS, sample=True)
def causal(q, k, v):
    scores = jnp.einsum("bqhd,bshd->bhqs", q, k) / 4
    weights = jax.nn.softmax(jnp.where(causal_mask(8), scores, -1e9), axis=-1)
    return jnp.einsum("bhqs,bshd->bqhd", weights, v)


@FAMILY.program(MESH, Arg((2, 8, 8, 4), "bf16", HEADS), *[Arg((2, 8, 4, 4), "bf16", HEADS)] * 2)
def grouped_query(q, k, v):
    q = q.reshape(2, 8, 4, 2, 4)
    scores = jnp.einsum("bqhgd,bshd->bhgqs", q, k).astype(jnp.float32)
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.einsum("bhgqs,bshd->bqhgd", weights, v).reshape(2, 8, 8, 4)


@FAMILY.program(
    MESH,
    Arg((4, 4, 8), "f32", P("data", "model", None)),
    *[Arg((4, 16, 4, 8), "f32", HEADS)] * 2,
    *[Arg((4, 1, 4, 8), "f32", HEADS)] * 2,
    Arg((), "i32", draw=lambda rng, shape: 5),
    sample=True,
)
def decode_step(q, keys, values, new_key, new_value, position):
    keys = jax.lax.dynamic_update_slice_in_dim(keys, new_key, position, axis=1)
    values = jax.lax.dynamic_update_slice_in_dim(values, new_value, position, axis=1)
    scores = jnp.einsum("bhd,bshd->bhs", q, keys)
    weights = jax.nn.softmax(jnp.where(jnp.arange(16) <= position, scores, -1e9), axis=-1)
    return jnp.einsum("bhs,bshd->bhd", weights, values), keys, values


@FAMILY.program(
    MESH,
    Arg((4, 8, 16), "f32", P("data", None, None)),
    *[Arg((4, 12, 16), "f32", P("data", None, "model"))] * 2,
    Arg((4, 12), "bool", P("data", None), coins),
)
def cross_with_padding(x, keys, values, valid):
    scores = jnp.einsum("bqd,bsd->bqs", x, keys)
    weights = jax.nn.softmax(scores, axis=-1, where=valid[:, None, :])
    return jnp.einsum("bqs,bsd->bqd", weights, values)


@FAMILY.program(MESH, *[Arg((4, 16, 8), "f32", P("data", None, "model"))] * 3)
def linear_cumulative(q, k, v):
    states = jnp.cumsum(jnp.einsum("btd,bte->btde", k, v), axis=1)
    return jnp.einsum("btd,btde->bte", q, states)


@FAMILY.program(
    MESH, *[Arg((4, 8, 4, 8), "f32", P("data", "model", None, None))] * 3, out=P("data", "model", None, None)
)
def sequence_sharded(q, k, v):
    scores = jnp.einsum("bqhd,bshd->bhqs", q, k)
    return jnp.einsum("bhqs,bshd->bqhd", jax.nn.softmax(scores, axis=-1), v)


@FAMILY.program(MESH, *[Arg((2, 16, 8), "f32", P("data", None, "model"))] * 3)
def blockwise_scan(q, k, v):
    """Attention over blocks of keys with a running maximum and sum."""

    def step(carry, block):
        top, total, mixed = carry
        keys, values = block
        scores = jnp.einsum("bqd,bsd->bqs", q, keys)
        new_top = jnp.maximum(top, scores.max(axis=-1))
        weights, shrink = jnp.exp(scores - new_top[..., None]), jnp.exp(top - new_top)
        mixed = mixed * shrink[..., None] + jnp.einsum("bqs,bsd->bqd", weights, values)
        return (new_top, total * shrink + weights.sum(axis=-1), mixed), None

    blocks = lambda x: x.reshape(2, 4, 4, 8).transpose(1, 0, 2, 3)
    start = (jnp.full((2, 16), -1e9), jnp.zeros((2, 16)), jnp.zeros((2, 16, 8)))
    (_, total, mixed), _ = jax.lax.scan(step, start, (blocks(k), blocks(v)))
    return mixed / total[..., None]
