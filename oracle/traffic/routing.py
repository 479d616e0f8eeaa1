"""Tokens to experts and messages along edges, in the ways that models are written: capacities, sorts, attention on graphs."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("routing")
EXPERTS = 8


def tokens(draw: Draw, *spec):
    """Tokens with their features."""
    return f32((draw.times(64, 1, 2), 32), *spec)


def experts(*spec):
    """Two layers for each expert."""
    return f32((EXPERTS, 32, 64), *spec), f32((EXPERTS, 64, 32), *spec)


def apply(sent, up, down):
    """The experts' layers on their buffers."""
    return jnp.einsum("ecf,efd->ecd", jax.nn.relu(jnp.einsum("ecd,edf->ecf", sent, up)), down)


def top_two(x, router, up, down):
    """Each token visits its two best experts, by one-hot places with a capacity."""
    capacity = x.shape[0] // 4
    best, which = lax.top_k(jax.nn.softmax(x @ router), 2)
    best = best / best.sum(1, keepdims=True)
    masks = jax.nn.one_hot(which, EXPERTS)
    first, second = masks[:, 0], masks[:, 1]
    places = jnp.cumsum(first, 0) - first, jnp.cumsum(second, 0) - second + first.sum(0)
    combine = 0
    for i, (mask, place) in enumerate(zip((first, second), places)):
        slot = jax.nn.one_hot(jnp.sum(place * mask, 1).astype(jnp.int32), capacity)
        combine += best[:, i, None, None] * mask[:, :, None] * slot[:, None]
    sent = jnp.einsum("td,tec->ecd", x, (combine > 0).astype(x.dtype))
    return jnp.einsum("tec,ecd->td", combine, apply(sent, up, down))


def by_sort(x, router, up, down):
    """Tokens are sorted by expert, so that each expert has a piece."""
    which = jnp.argmax(x @ router, 1)
    order = jnp.argsort(which)
    sizes = jnp.bincount(which, length=EXPERTS)
    h = jax.nn.relu(lax.ragged_dot(x[order], up, sizes))
    return jnp.zeros_like(x).at[order].set(lax.ragged_dot(h, down, sizes))


def by_scatter(x, router, up, down):
    """Tokens are scattered into buffers, and gathered from them."""
    capacity = x.shape[0] // 4
    gates = jax.nn.softmax(x @ router)
    which = jnp.argmax(gates, 1)
    hot = jax.nn.one_hot(which, EXPERTS, dtype=jnp.int32)
    place = jnp.take_along_axis(jnp.cumsum(hot, 0) - 1, which[:, None], 1)[:, 0]
    sent = jnp.zeros((EXPERTS, capacity, x.shape[1])).at[which, place].set(x, mode="drop")
    made = apply(sent, up, down)
    return made.at[which, place].get(mode="fill", fill_value=0) * gates.max(1)[:, None]


def by_choice(x, router, up, down):
    """Each expert chooses its tokens."""
    scores = jax.nn.softmax(x @ router)
    best, which = lax.top_k(scores.T, x.shape[0] // 4)
    made = apply(x[which], up, down) * best[:, :, None]
    return jnp.zeros_like(x).at[which].add(made)


def softly(x, router, up, down):
    """Soft mixtures: slots are weighted sums of all tokens."""
    scores = jnp.einsum("td,de->te", x, router)
    sent = jnp.einsum("td,te->ed", x, jax.nn.softmax(scores, 0))[:, None]
    return jnp.einsum("ed,te->td", apply(sent, up, down)[:, 0], jax.nn.softmax(scores, 1))


WAYS = {"top_two": top_two, "by_sort": by_sort, "by_scatter": by_scatter, "by_choice": by_choice, "softly": softly}


@FAMILY.variants(**WAYS)
def same_axis(draw: Draw, run) -> Case:
    """Tokens and experts are split over one axis."""
    return case(line(), run, tokens(draw, "x"), f32((32, EXPERTS)), *experts("x"), out=P("x"))


@FAMILY.variants(**WAYS)
def two_axes(draw: Draw, run) -> Case:
    """Tokens over one axis, experts over the other."""
    return case(draw.grid(), run, tokens(draw, "x"), f32((32, EXPERTS)), *experts("y"), out=P("x"))


@FAMILY.variants(**WAYS)
def experts_gradient(draw: Draw, run) -> Case:
    up, down = experts("x")
    loss = lambda up, down, x, router: jnp.sum(run(x, router, up, down) ** 2)
    out = up.spec, down.spec
    return case(line(), jax.grad(loss, (0, 1)), up, down, tokens(draw, "x"), f32((32, EXPERTS)), out=out)


@FAMILY.variants(**WAYS)
def hidden_features(draw: Draw, run) -> Case:
    """Every device has a part of each expert."""
    up, down = f32((EXPERTS, 32, 64), None, None, "y"), f32((EXPERTS, 64, 32), None, "y")
    return case(draw.grid(), run, tokens(draw, "x"), f32((32, EXPERTS)), up, down, out=P("x"))


def convolution(x, w, sources, targets, n):
    """Sums of neighbours, scaled by degrees."""
    degree = jnp.zeros(n).at[targets].add(1.0) + 1
    sums = jnp.zeros_like(x).at[targets].add(x[sources] / jnp.sqrt(degree[sources])[:, None])
    return jax.nn.relu((sums / jnp.sqrt(degree)[:, None]) @ w)


def graph_attention(x, w, sources, targets, n):
    """Weights of edges by a softmax over the edges of each target."""
    h = x @ w
    scores = jnp.sum(h[sources] * h[targets], 1) / 8
    top = jnp.full(n, -1e9).at[targets].max(scores)
    weights = jnp.exp(scores - top[targets])
    total = jnp.zeros(n).at[targets].add(weights)
    return jnp.zeros_like(h).at[targets].add(h[sources] * (weights / total[targets])[:, None])


def maximal(x, w, sources, targets, n):
    """The largest message of each target."""
    messages = jax.nn.relu(x @ w)[sources]
    return jnp.full(x.shape, -1e9).at[targets].max(messages) + x


def edges_updated(x, w, sources, targets, n):
    """Edges have states that both ends change."""
    edge = jnp.tanh((x[sources] - x[targets]) @ w)
    return x + jnp.zeros_like(x).at[targets].add(edge) - jnp.zeros_like(x).at[sources].add(edge)


NETS = {"convolution": convolution, "attention": graph_attention, "maximal": maximal, "edges": edges_updated}


def graph(draw: Draw, run, nodes: tuple, edges: tuple, on, gradient: bool = False) -> Case:
    """A layer on a graph."""
    n, count = draw.times(32, 1, 3), draw.times(64, 1, 4)
    x, w, ids = f32((n, 32), *nodes), f32((32, 32)), i32((count,), *edges)
    layer = lambda x, w, sources, targets: run(x, w, sources, targets, n)
    if gradient:
        loss = lambda x, w, s, t: jnp.sum(layer(x, w, s, t) ** 2)
        return case(on, jax.grad(loss, (0, 1)), x, w, ids, ids, out=(P(*nodes), P()))
    return case(on, layer, x, w, ids, ids, out=P(*nodes))


@FAMILY.variants(**NETS)
def edges_split(draw: Draw, run) -> Case:
    return graph(draw, run, (), ("x",), line())


@FAMILY.variants(**NETS)
def nodes_and_edges_split(draw: Draw, run) -> Case:
    return graph(draw, run, ("x",), ("x",), line())


@FAMILY.variants(**NETS)
def features_split(draw: Draw, run) -> Case:
    return graph(draw, run, (None, "y"), ("x",), draw.grid())


@FAMILY.variants(**NETS)
def edges_split_gradient(draw: Draw, run) -> Case:
    return graph(draw, run, (), ("x",), line(), True)


@FAMILY.variants(**NETS)
def nodes_split_gradient(draw: Draw, run) -> Case:
    return graph(draw, run, ("x",), ("y",), draw.grid(), True)


@FAMILY.program
def sparse_product(draw: Draw) -> Case:
    """A sparse matrix as lists, times split columns."""
    count, n = draw.times(64, 1, 4), draw.times(32, 1, 3)
    run = lambda v, i, j, x: jnp.zeros((n, 16)).at[i].add(v[:, None] * x[j])
    ids = i32((count,), "x")
    return case(draw.grid(), run, f32((count,), "x"), ids, ids, f32((n, 16), None, "y"), out=P("x", "y"))


@FAMILY.program
def page_rank(draw: Draw) -> Case:
    """Steps of PageRank on split edges."""
    count, n = draw.times(64, 1, 4), draw.times(32, 1, 3)

    def run(sources, targets):
        degree = jnp.zeros(n).at[sources].add(1.0) + 1
        step = lambda _, r: 0.15 / n + 0.85 * jnp.zeros(n).at[targets].add((r / degree)[sources])
        return lax.fori_loop(0, 4, step, jnp.full(n, 1 / n))

    return case(line(), run, i32((count,), "x"), i32((count,), "x"), out=P())


@FAMILY.program
def bag_of_words(draw: Draw) -> Case:
    """The mean of embeddings, of a table whose words are split, and the gradient."""
    table, ids = f32((draw.times(64, 1, 3), 16), "y"), i32((16, 8), "x")
    loss = lambda table, ids: jnp.sum(table[ids].mean(1) ** 2)
    return case(draw.grid(), jax.value_and_grad(loss), table, ids, out=(P(), P("y")))


@FAMILY.program
def factorization_machine(draw: Draw) -> Case:
    """Recommendations: two split tables, products of rows, and gradients of both."""
    users, items = f32((draw.times(64, 1, 2), 16), "x"), f32((draw.times(64, 1, 2), 16), "y")
    ids = i32((32,), "x")

    def loss(tables, u, i, y):
        return jnp.mean((jnp.sum(tables[0][u] * tables[1][i], 1) - y) ** 2)

    out = P("x"), P("y")
    return case(draw.grid(), jax.grad(loss), (users, items), ids, ids, f32((32,), "x"), out=out)


@FAMILY.program
def vocabulary_and_experts(draw: Draw) -> Case:
    """An embedding, a mixture of experts and logits on a cube of devices."""
    words = draw.times(64, 1, 2)

    def run(table, router, up, down, ids):
        x = table[ids]
        x = x + softly(x, router, up, down)
        return jax.nn.logsumexp(x @ table.T, 1).mean()

    up, down = f32((EXPERTS, 32, 64), "y", None, "z"), f32((EXPERTS, 64, 32), "y", "z")
    return case(cube(), run, f32((words, 32), "z"), f32((32, EXPERTS)), up, down, i32((64,), "x"), out=P())
