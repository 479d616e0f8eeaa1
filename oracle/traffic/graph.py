"""Graphs and tables: gathers, scatters and sums over segments."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, f32, i32, line

FAMILY = Family("graph")


def nodes(draw: Draw, *spec):
    """Features of nodes."""
    return f32((draw.times(32, 1, 4), draw.of(16, 32)), *spec)


def edges(draw: Draw, *spec):
    """One node for each edge."""
    return i32((draw.times(64, 1, 4),), *spec)


@FAMILY.program
def segment_sum(draw: Draw) -> Case:
    """Edges are split, and the sums are wanted everywhere."""
    count = draw.times(32, 1, 2)
    values = f32((draw.times(64, 1, 4), 16), "x")
    run = lambda values, ids: jax.ops.segment_sum(values, ids, count)
    return case(line(), run, values, i32(values.shape[:1], "x"), out=P())


@FAMILY.program
def segment_sum_scattered(draw: Draw) -> Case:
    """Edges are split, and so are the sums."""
    count = draw.times(32, 1, 2)
    values = f32((draw.times(64, 1, 4), 16), "x")
    run = lambda values, ids: jax.ops.segment_sum(values, ids, count)
    return case(line(), run, values, i32(values.shape[:1], "x"), out=P("x"))


@FAMILY.program
def segment_max(draw: Draw) -> Case:
    count = draw.times(32, 1, 2)
    values = f32((draw.times(64, 1, 4), 16), "x")
    run = lambda values, ids: jax.ops.segment_max(values, ids, count)
    return case(line(), run, values, i32(values.shape[:1], "x"), out=P())


@FAMILY.program
def segment_mean(draw: Draw) -> Case:
    count = draw.times(32, 1, 2)
    values = f32((draw.times(64, 1, 4), 16), "x", "y")

    def run(values, ids):
        sums = jax.ops.segment_sum(values, ids, count)
        return sums / jnp.maximum(jax.ops.segment_sum(jnp.ones(ids.shape), ids, count), 1)[:, None]

    return case(draw.grid(), run, values, i32(values.shape[:1], "x"), out=P(None, "y"))


@FAMILY.program
def gather_nodes(draw: Draw) -> Case:
    """Nodes are split, and edges read them anywhere."""
    run = lambda x, i: x[i]
    return case(line(), run, nodes(draw, "x"), edges(draw), out=P())


@FAMILY.program
def gather_edges(draw: Draw) -> Case:
    """Edges are split, and the nodes are everywhere."""
    return case(line(), lambda x, i: x[i], nodes(draw), edges(draw, "x"), out=P("x"))


@FAMILY.program
def gather_both(draw: Draw) -> Case:
    """Nodes and edges are split over the same axis."""
    return case(line(), lambda x, i: x[i], nodes(draw, "x"), edges(draw, "x"), out=P("x"))


@FAMILY.program
def gather_features(draw: Draw) -> Case:
    """Features are split: nothing has to move."""
    x = nodes(draw, None, "y")
    return case(draw.grid(), lambda x, i: x[i], x, edges(draw, "x"), out=P("x", "y"))


@FAMILY.program
def embedding(draw: Draw) -> Case:
    """A table whose words are split, read by split tokens."""
    table, ids = f32((draw.times(64, 1, 4), 32), "y"), i32((8, draw.times(4, 1, 4)), "x")
    return case(draw.grid(), lambda t, i: t[i], table, ids, out=P("x"))


@FAMILY.program
def embedding_gradient(draw: Draw) -> Case:
    table, ids = f32((draw.times(64, 1, 4), 32), "y"), i32((8, draw.times(4, 1, 4)), "x")
    loss = lambda t, i: jnp.sum(t[i] ** 2)
    return case(draw.grid(), jax.grad(loss), table, ids, out=P("y"))


@FAMILY.program
def message_passing(draw: Draw) -> Case:
    """A graph convolution: gather sources, transform, sum at targets. Edges are split."""
    x, count = nodes(draw), draw.times(64, 1, 4)
    w = f32((x.shape[1], x.shape[1]))

    def run(x, sources, targets, w):
        return jax.nn.relu(jax.ops.segment_sum(x[sources] @ w, targets, x.shape[0]))

    return case(line(), run, x, i32((count,), "x"), i32((count,), "x"), w, out=P())


@FAMILY.program
def message_passing_split(draw: Draw) -> Case:
    """Nodes and edges are split."""
    x, count = nodes(draw, "x"), draw.times(64, 1, 4)

    def run(x, sources, targets):
        return x + jax.ops.segment_sum(x[sources], targets, x.shape[0])

    return case(line(), run, x, i32((count,), "x"), i32((count,), "x"), out=P("x"))


@FAMILY.program
def message_passing_gradient(draw: Draw) -> Case:
    x, count = nodes(draw, None, "y"), draw.times(64, 1, 4)
    w = f32((x.shape[1], x.shape[1]), None, "y")

    def loss(x, w, sources, targets):
        return jnp.sum(jax.ops.segment_sum(x[sources] @ w, targets, x.shape[0]) ** 2)

    ids = i32((count,), "x")
    run = jax.grad(loss, (0, 1))
    return case(draw.grid(), run, x, w, ids, ids, out=(P(None, "y"), P(None, "y")))


@FAMILY.program
def dense_adjacency(draw: Draw) -> Case:
    """A graph as a matrix, whose rows are split."""
    x = nodes(draw, "x")
    a = f32((x.shape[0], x.shape[0]), "x")
    return case(line(), lambda a, x, w: jnp.tanh(a @ (x @ w)), a, x, f32((x.shape[1], 16)), out=P("x"))


@FAMILY.program
def degree_normalized(draw: Draw) -> Case:
    n = draw.times(32, 1, 3)

    def run(a, x):
        scale = lax.rsqrt(a.sum(1) ** 2 + 1)
        return scale[:, None] * (a @ (scale[:, None] * x))

    return case(draw.grid(), run, f32((n, n), "x", "y"), f32((n, 16), "x"), out=P("x"))


@FAMILY.program
def scatter_rows(draw: Draw) -> Case:
    """Rows are written to split nodes."""
    x, ids = nodes(draw, "x"), i32((16,))
    run = lambda x, i, rows: x.at[i].add(rows)
    return case(line(), run, x, ids, f32((16, x.shape[1])), out=P("x"))


@FAMILY.program
def take_along(draw: Draw) -> Case:
    """Reads one column of each row, with split rows and columns."""
    x = f32((draw.times(16, 1, 4), draw.times(16, 1, 4)), "x", "y")
    run = lambda x, i: jnp.take_along_axis(x, i[:, None], 1)[:, 0]
    return case(draw.grid(), run, x, i32(x.shape[:1], "x"), out=P("x"))


@FAMILY.program
def histogram(draw: Draw) -> Case:
    ids = i32((draw.times(128, 1, 4),), "x")
    return case(line(), lambda i: jnp.zeros(64).at[i].add(1.0), ids, out=P())
