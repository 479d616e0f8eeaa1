"""Attention in the forms that models use, split over batch, heads, queries or keys."""

import jax
import jax.numpy as jnp
from harness import Arg, P, mesh

from traffic import Case, Draw, Family, case, cube, f32, i32

FAMILY = Family("attention")
HEADS = ("x", None, "y")


def attend(q, k, v, mask=None):
    """Softmax attention with heads in dimension 2."""
    scores = jnp.einsum("bqhd,bshd->bhqs", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqs,bshd->bqhd", jax.nn.softmax(scores), v)


def causal(q, k, v):
    """Each query sees the keys up to its own position."""
    tokens = jnp.arange(q.shape[1])
    return attend(q, k, v, tokens[:, None] >= tokens)


def window(q, k, v):
    """Each query sees the eight keys up to its own position."""
    tokens = jnp.arange(q.shape[1])
    distance = tokens[:, None] - tokens
    return attend(q, k, v, (distance >= 0) & (distance < 8))


def heads(draw: Draw, *spec, tokens: int = 0, count: int = 8):
    """Queries, keys or values: batch, tokens, heads, features."""
    return f32((4, tokens or draw.times(32, 1, 2), count, draw.of(8, 16)), *spec)


@FAMILY.variants(all=attend, causal=causal, window=window)
def by_heads(draw: Draw, run) -> Case:
    x = heads(draw, *HEADS)
    return case(draw.grid(), run, x, x, x, out=P(*HEADS))


@FAMILY.variants(all=attend, causal=causal, window=window)
def by_queries(draw: Draw, run) -> Case:
    """Sequence parallel: tokens of queries and keys are split."""
    x = heads(draw, "x", "y")
    return case(draw.grid(), run, x, x, x, out=P("x", "y"))


@FAMILY.program
def by_keys(draw: Draw) -> Case:
    """Only keys and values are split over tokens, and the softmax is taken over a split dimension."""
    q = heads(draw, "x", tokens=16)
    kv = f32((4, 64, 8, q.shape[-1]), "x", "y")
    return case(draw.grid(), attend, q, kv, kv, out=P("x"))


@FAMILY.program
def grouped_queries(draw: Draw) -> Case:
    """Four query heads share each key head."""
    on, tokens = mesh(x=2, y=4), draw.times(32, 1, 2)

    def run(q, k, v):
        q = q.reshape(4, tokens, 4, 4, 8)
        weights = jax.nn.softmax(jnp.einsum("bqhgd,bshd->bhgqs", q, k))
        return jnp.einsum("bhgqs,bshd->bqhgd", weights, v).reshape(4, tokens, 16, 8)

    q, kv = f32((4, tokens, 16, 8), *HEADS), f32((4, tokens, 4, 8), *HEADS)
    return case(on, run, q, kv, kv, out=P(*HEADS))


@FAMILY.program
def multi_query(draw: Draw) -> Case:
    """All heads share the keys, which are not split over heads."""
    tokens = draw.times(32, 1, 2)

    def run(q, k, v):
        weights = jax.nn.softmax(jnp.einsum("bqhd,bsd->bhqs", q, k))
        return jnp.einsum("bhqs,bsd->bqhd", weights, v)

    q, kv = f32((4, tokens, 8, 16), *HEADS), f32((4, tokens, 16), "x")
    return case(draw.grid(), run, q, kv, kv, out=P(*HEADS))


@FAMILY.program
def decode(draw: Draw) -> Case:
    """One new token against a cache that is split over tokens."""
    tokens = draw.times(64, 1, 2)

    def run(q, keys, values, length):
        scores = jnp.einsum("bhd,bshd->bhs", q, keys)
        weights = jax.nn.softmax(jnp.where(jnp.arange(tokens) < length, scores, -1e9))
        return jnp.einsum("bhs,bshd->bhd", weights, values)

    cache = f32((4, tokens, 8, 16), "x", "y")
    return case(draw.grid(), run, f32((4, 8, 16), "x"), cache, cache, i32(()), out=P("x"))


@FAMILY.program
def cache_update(draw: Draw) -> Case:
    """A token is written into a cache that is split over tokens."""
    cache, token = f32((4, draw.times(64, 1, 2), 8, 16), "x", "y"), f32((4, 1, 8, 16), "x")
    run = lambda cache, token, i: jax.lax.dynamic_update_slice_in_dim(cache, token, i, 1)
    return case(draw.grid(), run, cache, token, i32(()), out=P("x", "y"))


@FAMILY.program
def padding_mask(draw: Draw) -> Case:
    """A mask of booleans that is split over the batch."""
    x = heads(draw, *HEADS)
    mask = Arg((4, x.shape[1]), "bool", P("x"))
    run = lambda q, k, v, mask: attend(q, k, v, mask[:, None, None])
    return case(draw.grid(), run, x, x, x, mask, out=P(*HEADS))


def block(x, wq, wk, wv, wo):
    """Attention with its four projections; x: batch, tokens, features."""
    q, k, v = (jnp.einsum("btd,dhk->bthk", x, w) for w in (wq, wk, wv))
    return jnp.einsum("bthk,hkd->btd", causal(q, k, v), wo)


def weights(count: int = 8, features: int = 64):
    """The projections, split over heads."""
    into = f32((features, count, 8), None, "y")
    return into, into, into, f32((count, 8, features), "y")


@FAMILY.variants(whole=("x",), by_tokens=("x", "y"))
def block_tensor(draw: Draw, spec: tuple) -> Case:
    """Tensor parallel. Between blocks, the activations are whole or split over tokens."""
    x = f32((4, draw.times(32, 1, 2), 64), *spec)
    return case(draw.grid(), block, x, *weights(), out=P(*spec))


@FAMILY.variants(whole=("x",), by_tokens=("x", "y"))
def block_gradient(draw: Draw, spec: tuple) -> Case:
    x = f32((4, draw.times(32, 1, 2), 64), *spec)
    w = weights()
    run = jax.grad(lambda w, x: jnp.sum(block(x, *w) ** 2), (0, 1))
    return case(draw.grid(), run, w, x, out=(tuple(arg.spec for arg in w), P(*spec)))


@FAMILY.program
def rotary(draw: Draw) -> Case:
    """Rotates the halves of queries whose tokens are split."""
    tokens = draw.times(32, 1, 2)

    def run(x):
        angles = jnp.arange(tokens)[:, None] / 100.0 ** (jnp.arange(8) / 8)
        a, b = jnp.split(x, 2, -1)
        cos, sin = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)

    return case(draw.grid(), run, f32((4, tokens, 8, 16), "x", "y"), out=P("x", "y"))


@FAMILY.program
def fused_projection(draw: Draw) -> Case:
    """Queries, keys and values come from one product and are sliced apart."""
    x = f32((4, draw.times(32, 1, 2), 64), "x")

    def run(x, w):
        q, k, v = jnp.split(x @ w, 3, -1)
        q, k, v = (part.reshape(*part.shape[:2], 8, 8) for part in (q, k, v))
        return attend(q, k, v).reshape(x.shape)

    return case(draw.grid(), run, x, f32((64, 192), None, "y"), out=P("x", None, "y"))


@FAMILY.program
def linear(draw: Draw) -> Case:
    """Attention without softmax, of which the sum over tokens is split."""
    x = f32((4, draw.times(64, 1, 2), 4, 16), "x", ("y", "z"))
    run = lambda q, k, v: jnp.einsum("bqhd,bhde->bqhe", q, jnp.einsum("bshd,bshe->bhde", k, v))
    return case(cube(), run, x, x, x, out=P("x", ("y", "z")))


@FAMILY.program
def gradient_by_heads(draw: Draw) -> Case:
    x = heads(draw, *HEADS)
    run = jax.grad(lambda q, k, v: jnp.sum(causal(q, k, v) ** 2), (0, 1, 2))
    return case(draw.grid(), run, x, x, x, out=(P(*HEADS),) * 3)
