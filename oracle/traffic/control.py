"""Loops, branches and recurrences around all kinds of ops, and pipelines."""

import jax
import jax.numpy as jnp
from harness import P, mesh
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("control")
SPLITS = {"batch": ("x",), "features": (None, "x"), "both": ("x", "y")}


def small(x):
    """A nonlinearity that is flat enough for rounding errors to stay small over many turns."""
    return jnp.tanh(0.1 * x)


def grid(draw: Draw, spec: tuple):
    """A mesh for a layout."""
    return draw.grid() if "y" in spec else line()


def elman(h, x, w, u):
    """The plain recurrence."""
    return small(h @ w + x @ u)


def gated(h, x, w, u):
    """A minimal gated unit."""
    f = jax.nn.sigmoid(h @ w)
    return (1 - f) * h + f * jnp.tanh(0.1 * (x @ u))


def normalized(h, x, w, u):
    """With a norm over the features in each turn."""
    h = h @ w + x
    return h * lax.rsqrt(jnp.mean(h**2, -1, keepdims=True) + 1e-3)


def lowrank(h, x, w, u):
    """The recurrence has a small rank."""
    return small((h @ w[:, :8]) @ u[:8] + x)


CELLS = {"elman": elman, "gated": gated, "normalized": normalized, "lowrank": lowrank}


def recurrence(draw: Draw, cell, spec: tuple, weight: tuple, last: bool, gradient: bool = False) -> Case:
    """A scan over time."""
    w, h = f32((32, 32), *weight), f32((16, 32), *spec)
    xs = f32((draw.of(4, 8), 16, 32), None, *spec)

    def run(w, u, h, xs):
        end, states = lax.scan(lambda h, x: (cell(h, x, w, u),) * 2, h, xs)
        return end if last else states

    if gradient:
        loss = lambda w, u, h, xs: jnp.sum(run(w, u, h, xs) ** 2)
        return case(grid(draw, spec + weight), jax.grad(loss, (0, 1)), w, w, h, xs, out=(w.spec, w.spec))
    return case(grid(draw, spec + weight), run, w, w, h, xs, out=P(*spec) if last else xs.spec)


@FAMILY.variants(**CELLS)
def over_batch(draw: Draw, cell) -> Case:
    """States over the batch, weights over the same axis."""
    return recurrence(draw, cell, ("x",), ("x",), True)


@FAMILY.variants(**CELLS)
def over_features(draw: Draw, cell) -> Case:
    return recurrence(draw, cell, (None, "x"), (None, "x"), False)


@FAMILY.variants(**CELLS)
def over_both(draw: Draw, cell) -> Case:
    return recurrence(draw, cell, ("x", "y"), (None, "y"), False)


@FAMILY.variants(**CELLS)
def over_batch_gradient(draw: Draw, cell) -> Case:
    return recurrence(draw, cell, ("x",), (), True, True)


@FAMILY.variants(**CELLS)
def over_both_gradient(draw: Draw, cell) -> Case:
    return recurrence(draw, cell, ("x", "y"), (None, "y"), False, True)


@FAMILY.variants(**SPLITS)
def branch_by_value(draw: Draw, spec: tuple) -> Case:
    """The sum of the data decides."""
    x = f32((draw.times(32, 1, 3), 64), *spec)
    run = lambda x: lax.cond(jnp.sum(x) > 0, lambda x: x - x.mean(0), lambda x: jnp.roll(x, 1, 0), x)
    return case(grid(draw, spec), run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def branch_of_four(draw: Draw, spec: tuple) -> Case:
    x = f32((draw.times(32, 1, 3), 64), *spec)
    branches = [jnp.sin, lambda x: jnp.sort(x, 1), lambda x: jnp.cumsum(x, 0), lambda x: x @ x.T @ x / 64]
    run = lambda i, x: lax.switch(i, branches, x)
    return case(grid(draw, spec), run, i32(()), x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def branch_in_loop(draw: Draw, spec: tuple) -> Case:
    """Every other turn takes another way."""
    x, w = f32((32, 64), *spec), f32((64, 64), "x")

    def run(x, w):
        def turn(i, x):
            return lax.cond(i % 2 == 0, lambda: small(x @ w), lambda: x - x.mean(1, keepdims=True))

        return lax.fori_loop(0, 4, turn, x)

    return case(grid(draw, spec), run, x, w, out=P(*spec))


@FAMILY.variants(**SPLITS)
def selected(draw: Draw, spec: tuple) -> Case:
    """Both ways are computed, and one is chosen for each element."""
    x = f32((draw.times(32, 1, 3), 64), *spec)
    run = lambda x: jnp.where(x > x.mean(), jnp.sort(x, 1), jnp.cumsum(x, 1))
    return case(grid(draw, spec), run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def fixed_point(draw: Draw, spec: tuple) -> Case:
    """A deep equilibrium layer: turns until the change is small."""
    x, w = f32((32, 64), *spec), f32((64, 64), None, spec[-1])

    def run(x, w):
        test = lambda state: (jnp.max(jnp.abs(state[1])) > 1e-2) & (state[2] < 8)

        def turn(state):
            new = small(state[0] @ w + x)
            return new, new - state[0], state[2] + 1

        return lax.while_loop(test, turn, (jnp.zeros_like(x), jnp.ones_like(x), 0))[0]

    return case(grid(draw, spec), run, x, w, out=P(*spec))


@FAMILY.variants(**SPLITS)
def nested_scans(draw: Draw, spec: tuple) -> Case:
    """Layers inside of time, each with its weight."""
    ws, x = f32((3, 32, 32), None, None, spec[-1]), f32((4, 16, 32), None, *spec)

    def run(ws, xs):
        def time(hs, x):
            def layer(x, now):
                h, w = now
                h = small(h + x @ w)
                return h, h

            x, hs = lax.scan(layer, x, (hs, ws))
            return hs, x

        return lax.scan(time, jnp.zeros((3, 16, 32)), xs)[1]

    return case(grid(draw, spec), run, ws, x, out=x.spec)


@FAMILY.variants(**SPLITS)
def layers_remade(draw: Draw, spec: tuple) -> Case:
    """Gradients through a scan over layers that are computed again."""
    ws, x = f32((4, 32, 32), None, "x"), f32((16, 32), *spec)

    def loss(ws, x):
        layer = jax.checkpoint(lambda x, w: (small(x @ w) + x, ()))
        return jnp.sum(lax.scan(layer, x, ws)[0] ** 2)

    return case(grid(draw, spec), jax.grad(loss, (0, 1)), ws, x, out=(ws.spec, P(*spec)))


@FAMILY.variants(**SPLITS)
def dynamic_program(draw: Draw, spec: tuple) -> Case:
    """The distances of edits, row by row, for a batch of pairs."""
    a, b = f32((16, 32), *spec), f32((16, 32), *spec)

    def run(a, b):
        def row(before, x):
            costs = (x[:, None] - b) ** 2
            move = lambda left, now: ((jnp.minimum(jnp.minimum(left, now[1]), now[0]) + now[2],) * 2)
            shifted = jnp.concatenate([jnp.full((16, 1), 1e9), before[:, :-1]], 1)
            _, made = lax.scan(move, jnp.full(16, 1e9), (before.T, shifted.T, costs.T))
            return made.T, ()

        return lax.scan(row, jnp.zeros((16, 32)), a.T)[0][:, -1]

    return case(grid(draw, spec), run, a, b, out=P(spec[0]))


@FAMILY.variants(**SPLITS)
def differential_equation(draw: Draw, spec: tuple) -> Case:
    """Runge and Kutta's steps for a network, with its states recorded."""
    x, w = f32((16, 32), *spec), f32((32, 32), None, spec[-1])

    def run(x, w):
        slope = lambda x: small(x @ w)

        def step(x, _):
            a = slope(x)
            b = slope(x + 0.05 * a)
            c = slope(x + 0.05 * b)
            d = slope(x + 0.1 * c)
            x = x + 0.1 / 6 * (a + 2 * b + 2 * c + d)
            return x, x.mean()

        return lax.scan(step, x, None, 3)

    return case(grid(draw, spec), run, x, w, out=(P(*spec), P()))


@FAMILY.program
def pipeline(draw: Draw) -> Case:
    """A pipeline by a roll of stages, each of two layers, with split rows."""
    n = draw.of(4, 6)
    v, xs = f32((4, 32, 32), "x"), f32((n, 16, 32), None, "y")

    def run(v, xs):
        def turn(state, i):
            x = lax.dynamic_index_in_dim(xs, jnp.minimum(i, n - 1), 0, keepdims=False)
            state = jnp.roll(state, 1, 0).at[0].set(x)
            state = small(jnp.einsum("sbd,sde->sbe", state, v))
            return state, state[-1]

        return lax.scan(turn, jnp.zeros((4, 16, 32)), jnp.arange(n + 3))[1][3:]

    return case(mesh(x=4, y=2), run, v, xs, out=P(None, "y"))


@FAMILY.program
def monte_carlo(draw: Draw) -> Case:
    """Random walks in a loop, each on its device, and their mean."""

    def run(x, seed):
        def step(i, x):
            key = jax.random.fold_in(jax.random.key(seed), i)
            return x + jax.random.normal(key, x.shape)

        x = lax.fori_loop(0, 3, step, x)
        return jnp.mean(jnp.maximum(x, 0)), x

    return case(line(), run, f32((draw.times(64, 1, 3),), "x"), i32(()), out=(P(), P("x")))


@FAMILY.program
def metropolis(draw: Draw) -> Case:
    """Chains in a batch: proposals are accepted by their energies, whose features are split."""
    x, w = f32((16, 32), "x", "y"), f32((32, 32), "y")

    def run(x, w, seed):
        energy = lambda x: jnp.sum((x @ w) ** 2, 1) / 64

        def step(i, x):
            a, b = jax.random.split(jax.random.fold_in(jax.random.key(seed), i))
            new = x + 0.1 * jax.random.normal(a, x.shape)
            good = jnp.log(jax.random.uniform(b, (16,))) < energy(x) - energy(new)
            return jnp.where(good[:, None], new, x)

        return lax.fori_loop(0, 3, step, x)

    return case(draw.grid(), run, x, w, i32(()), out=P("x", "y"))


@FAMILY.program
def genetic(draw: Draw) -> Case:
    """The better half of a split population is copied over the worse one, with changes."""
    x = f32((draw.times(32, 1, 2), 16), "x")

    def run(x, seed):
        order = jnp.argsort(jnp.sum(x**2, 1))
        best = x[order[: x.shape[0] // 2]]
        return jnp.concatenate([best, best + jax.random.normal(jax.random.key(seed), best.shape)])

    return case(line(), run, x, i32(()), out=P("x"))


@FAMILY.program
def cube_loop(draw: Draw) -> Case:
    """A loop on a state over three axes with a weight over two of them."""
    x, w = f32((8, draw.times(8, 1, 3), 32), "x", "y", "z"), f32((32, 32), "z", "y")
    run = lambda x, w: lax.fori_loop(0, 4, lambda _, x: small(jnp.einsum("btd,de->bte", x, w)) + x, x)
    return case(cube(), run, x, w, out=x.spec)
