"""Training as users write it: optimisers in full, accumulated gradients, sharded states, several models."""

import jax
import jax.numpy as jnp
from harness import Arg, P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("training_loops")


def model(ws, x):
    """Three layers."""
    for w in ws[:-1]:
        x = jax.nn.gelu(x @ w)
    return x @ ws[-1]


def loss(ws, x, y):
    """The mean of squares."""
    return jnp.mean((model(ws, x) - y) ** 2)


def adam(g, m, v):
    """The moments and the step."""
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    return m * lax.rsqrt(v + 1e-6), m, v


def lion(g, m, v):
    """The sign of a mean of gradients."""
    return jnp.sign(0.9 * m + 0.1 * g), 0.99 * m + 0.01 * g, v


def adafactor(g, m, v):
    """Means of rows and columns instead of all squares."""
    rows, columns = (g**2).mean(1, keepdims=True), (g**2).mean(0, keepdims=True)
    return g * lax.rsqrt(rows * columns / (rows.mean() + 1e-6) + 1e-6), m, v


def muon(g, m, v):
    """An orthogonalized mean of gradients."""
    m = 0.9 * m + g
    x = m * lax.rsqrt(jnp.sum(m**2) + 1e-6)
    for _ in range(2):
        a = x @ x.T
        x = 1.5 * x - 0.5 * a @ x
    return x, m, v


def shampoo(g, m, v):
    """Preconditioned on both sides, by a few steps of an inverse root."""
    left = g @ g.T + jnp.eye(g.shape[0])
    root = left / jnp.trace(left)
    return root @ g, 0.9 * m + g, v


def clipped(g, m, v):
    """Scaled to a norm of at most one."""
    return g * jnp.minimum(1, lax.rsqrt(jnp.sum(g**2) + 1e-6)), m, v


STEPS = {"adam": adam, "lion": lion, "adafactor": adafactor, "muon": muon, "shampoo": shampoo, "clipped": clipped}


def step_of(update):
    """A training step of all weights with moments."""

    def run(ws, ms, vs, x, y):
        gs = jax.grad(loss)(ws, x, y)
        made = [update(g, m, v) for g, m, v in zip(gs, ms, vs)]
        new = [w - 0.01 * u for w, (u, _, _) in zip(ws, made)]
        return new, [m for _, m, _ in made], [v for _, _, v in made]

    return run


def arguments(draw: Draw, weight: tuple, moment: tuple, rows: tuple):
    """Three weights, their moments, and a batch."""
    width = draw.of(32, 64)
    shapes = (32, width), (width, width), (width, 32)
    ws, ms = [f32(s, *weight) for s in shapes], [f32(s, *moment) for s in shapes]
    x = f32((draw.times(16, 1, 4), 32), *rows)
    specs = lambda args: [a.spec for a in args]
    return (ws, ms, ms, x, x), (specs(ws), specs(ms), specs(ms))


@FAMILY.variants(**STEPS)
def replicated(draw: Draw, update) -> Case:
    """Data parallel."""
    args, out = arguments(draw, (), (), ("x",))
    return case(line(), step_of(update), *args, out=out)


@FAMILY.variants(**STEPS)
def zero_one(draw: Draw, update) -> Case:
    """The moments are split, the weights are whole."""
    args, out = arguments(draw, (), ("x",), ("x",))
    return case(line(), step_of(update), *args, out=out)


@FAMILY.variants(**STEPS)
def zero_three(draw: Draw, update) -> Case:
    """Everything is split."""
    args, out = arguments(draw, ("x",), ("x",), ("x",))
    return case(line(), step_of(update), *args, out=out)


@FAMILY.variants(**STEPS)
def zero_three_tensor(draw: Draw, update) -> Case:
    """Weights are split over both axes, the batch over one."""
    args, out = arguments(draw, ("x", "y"), ("x", "y"), ("x",))
    return case(draw.grid(), step_of(update), *args, out=out)


@FAMILY.variants(replicated=((), ()), zero=((), ("x",)), sharded=(("x",), ("x",)))
def accumulated(draw: Draw, specs: tuple) -> Case:
    """Gradients of microbatches are summed in a loop, and then Adam takes a step."""
    args, out = arguments(draw, *specs, ("x",))
    x = f32((4, *args[3].shape), None, "x")

    def run(ws, ms, vs, xs, ys):
        def turn(total, batch):
            return jax.tree.map(jnp.add, total, jax.grad(loss)(ws, *batch)), ()

        gs, _ = lax.scan(turn, jax.tree.map(jnp.zeros_like, ws), (xs, ys))
        made = [adam(g / 4, m, v) for g, m, v in zip(gs, ms, vs)]
        return [w - 0.01 * u for w, (u, _, _) in zip(ws, made)], [m for _, m, _ in made], [v for _, _, v in made]

    return case(line(), run, *args[:3], x, x, out=out)


@FAMILY.variants(replicated=((), ()), zero=((), ("x",)), sharded=(("x",), ("x",)))
def several_steps(draw: Draw, specs: tuple) -> Case:
    """Three steps in a loop, each with its own batch."""
    args, out = arguments(draw, *specs, ("x",))
    x = f32((3, *args[3].shape), None, "x")

    def run(ws, ms, vs, xs, ys):
        turn = lambda state, batch: (step_of(adam)(*state, *batch), ())
        return lax.scan(turn, (ws, ms, vs), (xs, ys))[0]

    return case(line(), run, *args[:3], x, x, out=out)


@FAMILY.program
def global_norm(draw: Draw) -> Case:
    """All gradients are scaled by the norm of all, in a sharded model."""
    args, out = arguments(draw, ("x", "y"), ("x", "y"), ("x",))

    def run(ws, ms, vs, x, y):
        gs = jax.grad(loss)(ws, x, y)
        scale = jnp.minimum(1, lax.rsqrt(sum(jnp.sum(g**2) for g in gs) + 1e-6))
        return [w - 0.01 * scale * g for w, g in zip(ws, gs)]

    return case(draw.grid(), run, *args, out=out[0])


@FAMILY.program
def averaged(draw: Draw) -> Case:
    """A step, and the moving average of the weights, which is split."""
    args, out = arguments(draw, (), ("x",), ("x",))

    def run(ws, averages, _, x, y):
        ws = [w - 0.1 * g for w, g in zip(ws, jax.grad(loss)(ws, x, y))]
        return ws, [0.9 * a + 0.1 * w for a, w in zip(averages, ws)]

    return case(line(), run, *args, out=out[:2])


@FAMILY.program
def mixed_precision(draw: Draw) -> Case:
    """Weights are rounded to bf16 for the products, gradients are applied in f32."""
    args, out = arguments(draw, ("x",), ("x",), ("x",))

    def run(ws, ms, vs, x, y):
        narrow = lambda ws: [w.astype(jnp.bfloat16) for w in ws]
        gs = jax.grad(lambda ws: loss(narrow(ws), x.astype(jnp.bfloat16), y).astype(jnp.float32))(ws)
        return [w - 0.01 * g for w, g in zip(ws, gs)]

    return case(line(), run, *args, out=out[0])


@FAMILY.program
def loss_scaled(draw: Draw) -> Case:
    """The step is left out if a gradient is not finite."""
    args, out = arguments(draw, (), (), ("x",))

    def run(ws, ms, vs, x, y):
        gs = jax.grad(lambda ws: 1024 * loss(ws, x, y))(ws)
        good = jnp.all(jnp.array([jnp.all(jnp.isfinite(g)) for g in gs]))
        return [jnp.where(good, w - 1e-5 * g, w) for w, g in zip(ws, gs)], good

    return case(line(), run, *args, out=(out[0], P()))


@FAMILY.program
def per_example(draw: Draw) -> Case:
    """Gradients of each example are clipped and then summed."""
    args, out = arguments(draw, (), (), ("x",))

    def run(ws, ms, vs, x, y):
        def one(x, y):
            gs = jax.grad(loss)(ws, x[None], y[None])
            scale = jnp.minimum(1, lax.rsqrt(sum(jnp.sum(g**2) for g in gs) + 1e-6))
            return [scale * g for g in gs]

        return [g.sum(0) for g in jax.vmap(one)(x, y)]

    return case(line(), run, *args, out=out[0])


@FAMILY.program
def hessian_product(draw: Draw) -> Case:
    """The Hessian of the loss times a vector."""
    args, out = arguments(draw, ("x",), ("x",), ("x",))
    run = lambda ws, ms, vs, x, y: jax.jvp(lambda ws: jax.grad(loss)(ws, x, y), (ws,), (ms,))[1]
    return case(line(), run, *args, out=out[0])


@FAMILY.program
def low_rank_adapters(draw: Draw) -> Case:
    """Only small factors are trained; the weight is split."""
    w, a, b = f32((64, 64), "x", "y"), f32((64, 4), "x"), f32((4, 64), None, "y")
    x = f32((draw.times(16, 1, 4), 64), "x")
    run = jax.grad(lambda a, b, w, x: jnp.sum(jnp.tanh(x @ w + (x @ a) @ b) ** 2), (0, 1))
    return case(draw.grid(), run, a, b, w, x, out=(a.spec, b.spec))


@FAMILY.program
def ensemble(draw: Draw) -> Case:
    """Several models, one on each device."""
    ws, x = f32((8, 32, 32), "x"), f32((draw.times(16, 1, 3), 32))
    run = lambda ws, x: jax.vmap(jax.grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2)), (0, None))(ws, x)
    return case(line(), run, ws, x, out=P("x"))


@FAMILY.program
def adversarial(draw: Draw) -> Case:
    """Two networks with opposite losses."""
    g, d = f32((32, 32), "x"), f32((32, 32), "x")
    z = f32((draw.times(16, 1, 4), 32), "x")
    score = lambda d, x: jnp.mean(jnp.tanh(x @ d))

    def run(g, d, z, x):
        down = jax.grad(lambda g: -score(d, jnp.tanh(z @ g)))(g)
        up = jax.grad(lambda d: score(d, jnp.tanh(z @ g)) - score(d, x))(d)
        return g - 0.1 * down, d - 0.1 * up

    return case(line(), run, g, d, z, z, out=(P("x"), P("x")))


@FAMILY.program
def momentum_contrast(draw: Draw) -> Case:
    """A queue of keys that is split, and a batch that enters it."""
    x, queue, w = f32((16, 32), "x"), f32((draw.times(64, 1, 2), 32), "x"), f32((32, 32))

    def run(w, x, queue):
        keys = jnp.tanh(x @ w)
        scores = jnp.concatenate([jnp.sum(x * keys, 1, keepdims=True), x @ queue.T], 1)
        return -jnp.mean(jax.nn.log_softmax(scores)[:, 0]), jnp.concatenate([queue[16:], keys])

    return case(line(), run, w, x, queue, out=(P(), P("x")))


@FAMILY.program
def embedding_update(draw: Draw) -> Case:
    """Only the rows that were read are updated, in a table that is split."""
    table, ids = f32((draw.times(64, 1, 3), 16), "x"), i32((64,), "x")

    def run(table, ids, y):
        g = jax.grad(lambda rows: jnp.mean((rows - y) ** 2))(table[ids])
        return table.at[ids].add(-0.1 * g)

    return case(line(), run, table, ids, f32((64, 16), "x"), out=P("x"))
