"""Values with several uses, whose layouts differ: one copy can serve many."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("sharing")


def table(draw: Draw, *spec):
    """A matrix whose sizes divide by 32."""
    return f32((draw.times(32, 1, 4), draw.of(32, 64)), *spec)


SPLITS = {"rows": ("x",), "columns": (None, "x"), "tiles": ("x", "y")}


def layout(draw: Draw, spec: tuple):
    """A mesh and a matrix for a layout."""
    return draw.grid() if "y" in spec else line(), table(draw, *spec)


@FAMILY.variants(**SPLITS)
def with_gram(draw: Draw, spec: tuple) -> Case:
    """The value itself, whole, and its products."""
    on, x = layout(draw, spec)
    return case(on, lambda x: (x, x.T @ x), x, out=(P(), P()))


@FAMILY.variants(**SPLITS)
def with_gram_split(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    return case(on, lambda x: (x, x.T @ x, x @ x.T), x, out=(P(), P("x"), P("x")))


@FAMILY.variants(**SPLITS)
def with_product(draw: Draw, spec: tuple) -> Case:
    """The value is wanted whole, and multiplied by a split weight."""
    on, x = layout(draw, spec)
    w = f32((x.shape[1], 32), "x")
    return case(on, lambda x, w: (x, x @ w), x, w, out=(P(), P()))


@FAMILY.variants(**SPLITS)
def many_products(draw: Draw, spec: tuple) -> Case:
    """The same rows are multiplied by four weights."""
    on, x = layout(draw, spec)
    w = f32((x.shape[1], 32), None, "x")
    run = lambda x, *ws: tuple(x @ w for w in ws)
    return case(on, run, x, w, w, w, w, out=(P(None, "x"),) * 4)


@FAMILY.variants(**SPLITS)
def sorted_and_read(draw: Draw, spec: tuple) -> Case:
    """Sorted along both dimensions, and summed."""
    on, x = layout(draw, spec)
    run = lambda x: (jnp.sort(x, 0), jnp.sort(x, 1), x.sum(0), x.sum(1))
    return case(on, run, x, out=(P(*spec), P(*spec), P(), P()))


@FAMILY.variants(**SPLITS)
def factored_and_applied(draw: Draw, spec: tuple) -> Case:
    """A factorization needs the whole matrix; two products could use that copy."""
    on, x = draw.grid() if "y" in spec else line(), f32((64, 64), *spec)
    run = lambda x: (lax.linalg.cholesky(x @ x.T + 9 * jnp.eye(64)), x.T @ x)
    return case(on, run, x, out=(P(), P()))


@FAMILY.variants(**SPLITS)
def both_directions(draw: Draw, spec: tuple) -> Case:
    """A matrix and its transpose are multiplied by vectors in turn, as in a Krylov method for least squares."""
    on, x = layout(draw, spec)

    def run(x, v):
        for _ in range(3):
            v = x.T @ jnp.tanh(x @ v)
        return v

    return case(on, run, x, f32(x.shape[1:]), out=P())


@FAMILY.variants(**SPLITS)
def symmetrized(draw: Draw, spec: tuple) -> Case:
    on, x = draw.grid() if "y" in spec else line(), f32((64, 64), *spec)
    return case(on, lambda x: (x + x.T) / 2, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def symmetrized_product(draw: Draw, spec: tuple) -> Case:
    on, x = draw.grid() if "y" in spec else line(), f32((64, 64), *spec)
    run = lambda x, w: ((x + x.T) @ w, (x - x.T) @ w)
    return case(on, run, x, f32((64, 16)), out=(P("x"), P("x")))


@FAMILY.variants(**SPLITS)
def attention_inputs(draw: Draw, spec: tuple) -> Case:
    """Queries, keys and values of one value, and the value itself is added at the end."""
    on, x = layout(draw, spec)
    w = f32((x.shape[1], x.shape[1]))

    def run(x, q, k, v):
        weights = jax.nn.softmax((x @ q) @ (x @ k).T / 8)
        return x + weights @ (x @ v)

    return case(on, run, x, w, w, w, out=P(*spec))


@FAMILY.variants(**SPLITS)
def gathered_twice(draw: Draw, spec: tuple) -> Case:
    """Rows at two lists of numbers."""
    on, x = layout(draw, spec)
    ids = i32((draw.times(32, 1, 3),), "x")
    return case(on, lambda x, i, j: jnp.sum(x[i] * x[j], 1), x, ids, ids, out=P("x"))


@FAMILY.variants(**SPLITS)
def moments(draw: Draw, spec: tuple) -> Case:
    """Mean, covariance and extremes of the same rows."""
    on, x = layout(draw, spec)

    def run(x):
        c = x - x.mean(0)
        return x.mean(0), c.T @ c / x.shape[0], x.max(0), x.min(1)

    return case(on, run, x, out=(P(), P(), P(), P(spec[0])))


@FAMILY.variants(**SPLITS)
def hyper_network(draw: Draw, spec: tuple) -> Case:
    """A weight is made of split factors and used by two batches."""
    on = draw.grid() if "y" in spec else line()
    a, b = f32((64, 16), *spec), f32((16, 64), None, spec[-1])
    run = lambda a, b, x, y: (x @ (a @ b), y @ (a @ b))
    x = f32((draw.times(16, 1, 3), 64), "x")
    return case(on, run, a, b, x, x, out=(P("x"), P("x")))


@FAMILY.variants(**SPLITS)
def gates(draw: Draw, spec: tuple) -> Case:
    """A weight for the value and a weight for its gate, whose product is scaled by the value's mean."""
    on, x = layout(draw, spec)
    w = f32((x.shape[1], 64), None, "x")
    run = lambda x, v, w: jax.nn.silu(x @ v) * (x @ w) * x.mean(1, keepdims=True)
    return case(on, run, x, w, w, out=P(*spec))


@FAMILY.variants(**SPLITS)
def gates_gradient(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    w = f32((x.shape[1], 64), None, "x")
    loss = lambda x, v, w: jnp.sum(jax.nn.silu(x @ v) * (x @ w))
    return case(on, jax.grad(loss, (0, 1, 2)), x, w, w, out=(P(*spec), w.spec, w.spec))


@FAMILY.variants(**SPLITS)
def dense_layers(draw: Draw, spec: tuple) -> Case:
    """DenseNet: each layer reads all that came before."""
    on, x = layout(draw, spec)
    n = x.shape[1]

    def run(x, *ws):
        for w in ws:
            x = jnp.concatenate([x, jax.nn.relu(x @ w)], 1)
        return x

    ws = [f32((n + 16 * i, 16)) for i in range(3)]
    return case(on, run, x, *ws, out=P("x"))


@FAMILY.program
def residual_stream(draw: Draw) -> Case:
    """Two layers on a stream that is split over tokens, and read by heads."""
    x = f32((draw.times(32, 1, 3), 64), ("x", "y"))
    w, v = f32((64, 128), None, "y"), f32((128, 64), "y")

    def run(x, w, v):
        for _ in range(2):
            x = x + jax.nn.relu(x @ w) @ v
        return x

    return case(draw.grid(), run, x, w, v, out=x.spec)


@FAMILY.program
def cube_uses(draw: Draw) -> Case:
    """One value split over three axes, whose products want two others."""
    x = f32((draw.times(32, 1, 2), 64), ("x", "y"), "z")
    w = f32((64, 32), "z", "y")
    run = lambda x, w: (x @ w, x.sum(0), (x.T @ (x @ w)))
    return case(cube(), run, x, w, out=(P("x", "y"), P("z"), P("z", "y")))


def projected(x, *ws):
    """Several products of one value, that meet again."""
    made = [x @ w for w in ws]
    return sum(f(y) for f, y in zip((jnp.tanh, jnp.sin, jnp.cos, jnp.abs, jnp.exp, jnp.sinh), made))


@FAMILY.variants(three=3, four=4, six=6)
def projections(draw: Draw, count: int) -> Case:
    """Tokens and the columns of several weights are split over one axis."""
    x, w = f32((draw.times(32, 1, 4), 64), "x"), f32((64, draw.of(32, 64)), None, "x")
    return case(line(), projected, x, *[w] * count, out=P(None, "x"))


@FAMILY.variants(three=3, four=4, six=6)
def projections_rows(draw: Draw, count: int) -> Case:
    """The rows of the weights are split, and the result is wanted by columns."""
    x, w = f32((draw.times(32, 1, 4), 64), "x"), f32((64, draw.of(32, 64)), "x")
    return case(line(), projected, x, *[w] * count, out=P(None, "x"))


@FAMILY.variants(three=3, four=4)
def projections_grid(draw: Draw, count: int) -> Case:
    """Tokens are split over both axes, columns over one."""
    x, w = f32((draw.times(32, 1, 4), 64), ("x", "y")), f32((64, draw.of(32, 64)), None, "y")
    return case(draw.grid(), projected, x, *[w] * count, out=P("x", "y"))


@FAMILY.variants(three=3, four=4)
def projections_gradient(draw: Draw, count: int) -> Case:
    """The gradients of all weights, with tokens and columns over one axis."""
    x, w = f32((draw.times(32, 1, 4), 64), "x"), f32((64, draw.of(32, 64)), None, "x")
    loss = lambda ws, x: jnp.sum(projected(x, *ws))
    return case(line(), jax.grad(loss), [w] * count, x, out=[w.spec] * count)


@FAMILY.variants(heads=3, gated=2)
def sequence_parallel(draw: Draw, count: int) -> Case:
    """A block whose stream is split over the axis that splits heads or hidden features."""
    x = f32((draw.times(32, 1, 3), 64), "x")
    ws, out = [f32((64, 128), None, "x")] * count, f32((128, 64), "x")

    def run(x, ws, out):
        scale = lax.rsqrt((x**2).mean(1, keepdims=True) + 1e-5)
        return x + projected(x * scale, *ws) @ out

    return case(line(), run, x, ws, out, out=P("x"))


@FAMILY.variants(heads=3, gated=2)
def sequence_parallel_gradient(draw: Draw, count: int) -> Case:
    x = f32((draw.times(32, 1, 3), 64), "x")
    ws, out = [f32((64, 128), None, "x")] * count, f32((128, 64), "x")
    loss = lambda ws, out, x: jnp.sum((x + projected(x, *ws) @ out) ** 2)
    return case(line(), jax.grad(loss, (0, 1)), ws, out, x, out=([ws[0].spec] * count, out.spec))


@FAMILY.program
def same_sums(draw: Draw) -> Case:
    """The same product is written twice, and summed over devices."""
    g, w = f32((16, 32), None, "y"), f32((32, 16), "y", "x")
    u = f32((16, 16), "x", "y")
    return case(draw.grid(), lambda g, w, u, v: ((g @ w) * u, (g @ w) * v), g, w, u, u, out=(u.spec, u.spec))


@FAMILY.program
def every_other(draw: Draw) -> Case:
    """Rows next to the ones that are kept."""
    x = table(draw, "x")
    run = lambda x: (jnp.roll(x, -1, 0)[::2], jnp.roll(x, 1, 0)[1::2], x[::2] - jnp.roll(x, -1, 0)[::2])
    return case(line(), run, x, out=(P("x"),) * 3)


@FAMILY.variants(rows=("x",), columns=(None, "x"))
def halves(draw: Draw, spec: tuple) -> Case:
    """Both halves of a dimension are interleaved, or gate each other."""
    x = table(draw, *spec)
    half = x.shape[0] // 2
    run = lambda x: (jnp.stack([x[:half], x[half:]], 1).reshape(x.shape), x[:half] * jax.nn.sigmoid(x[half:]))
    return case(line(), run, x, out=(P(*spec), P(*spec)))
