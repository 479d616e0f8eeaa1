"""Gather and scatter, and their gradients."""

from harness import Arg, Family, P, below, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("indexing")
MESH = mesh(X=4, Y=2)
IDS = Arg((8, 4), "i32", P("X", None), below(16))


@FAMILY.program(MESH, Arg((16, 8), "f32", P("Y", None)), IDS, out=P("X", None, None), sample=True)
def embedding(table, ids):
    return table[ids]


@FAMILY.program(MESH, Arg((16, 8), "bf16", P(None, "Y")), IDS)
def embedding_sharded_width(table, ids):
    return table.at[ids].get(mode="fill", fill_value=0)


@FAMILY.program(MESH, Arg((16, 8), "f32", P("Y", None)), IDS, Arg((8, 4, 8), "f32", P("X", None, None)), sample=True)
def embedding_gradient(table, ids, cotangent):
    return jax.grad(lambda table: jnp.sum(table[ids] * cotangent))(table)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), Arg((8, 1), "i32", P("X", None), below(16)))
def take_along_axis(x, ids):
    return jnp.take_along_axis(x, ids, axis=1), jax.grad(lambda x: jnp.sum(jnp.take_along_axis(x, ids, axis=1) ** 2))(x)


@FAMILY.program(
    MESH, Arg((16, 8), "f32", P("X", "Y")), Arg((12,), "i32", P(), below(16)), Arg((12, 8), "f32", P(None, "Y"))
)
def scatter_add(x, ids, updates):
    return x.at[ids].add(updates), x.at[ids].max(updates)


@FAMILY.program(
    MESH, Arg((8, 8), "i32", P("X", None)), Arg((4,), "i32", draw=below(8)), Arg((4,), "i32", draw=below(8))
)
def gather_points(x, rows, columns):
    return x[rows, columns], x[rows][:, columns]


@FAMILY.program(
    MESH,
    Arg((8, 16), "f32", P("X", "Y")),
    Arg((), "i32", draw=below(12)),
    Arg((8, 4), "f32", P("X", None)),
    sample=True,
)
def dynamic_slices(x, start, update):
    part = jax.lax.dynamic_slice_in_dim(x, start, 4, axis=1)
    return part, jax.lax.dynamic_update_slice_in_dim(x, update, start, axis=1)


@FAMILY.program(MESH, Arg((8, 12), "f32", P("X", None)), Arg((8,), "i32", P("X"), below(4)), locations=True)
def segment_sum(x, segments):
    return jax.ops.segment_sum(x, segments, num_segments=4)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", None)), Arg((8,), "i32", P("X"), below(16)))
def batched_rows(x, ids):
    """One gather per row: vmap makes batching dimensions."""
    pick = jax.vmap(lambda row, i: jax.lax.dynamic_slice(row, (i,), (3,)))
    return pick(x, ids), jax.vmap(lambda row, i: row.at[i].set(0))(x, ids)


@FAMILY.program(MESH, Arg((8, 32), "f32", P("X", "Y")), Arg((8,), "i32", P("X"), below(32)))
def one_hot_loss(logits, labels):
    log_probs = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 32) * log_probs, axis=1)), log_probs[jnp.arange(8), labels]
