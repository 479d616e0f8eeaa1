"""Stencils: each element depends on its neighbours, along a split dimension."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("stencil")
ROWS = ("x",)
TILES = ("x", "y")


def plane(draw: Draw, *spec):
    """A matrix whose sizes divide by 32."""
    return f32((draw.times(32, 2, 6), draw.times(32, 1, 4)), *spec)


def laplace(x):
    """The five-point stencil, periodic."""
    up, down = jnp.roll(x, 1, 0), jnp.roll(x, -1, 0)
    left, right = jnp.roll(x, 1, 1), jnp.roll(x, -1, 1)
    return up + down + left + right - 4 * x


@FAMILY.variants(one=1, back=-1, three=3)
def roll_by(draw: Draw, by: int) -> Case:
    return case(line(), lambda x: jnp.roll(x, by, 0), plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def roll_far(draw: Draw) -> Case:
    """The rows move to another device, and some of them one device further."""
    x = plane(draw, *ROWS)
    by = x.shape[0] // 4 + 1
    return case(line(), lambda x: jnp.roll(x, by, 0), x, out=P(*ROWS))


@FAMILY.program
def laplace_periodic(draw: Draw) -> Case:
    return case(draw.grid(), laplace, plane(draw, *TILES), out=P(*TILES))


@FAMILY.variants(zero="constant", edge="edge", periodic="wrap")
def padded(draw: Draw, mode: str) -> Case:
    """The five-point stencil as slices of a padded array."""

    def run(x):
        wide = jnp.pad(x, 1, mode=mode)
        sides = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        return sides - 4 * x

    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def inner_updated(draw: Draw) -> Case:
    """Only the inner rows are averaged, and the outer ones stay."""
    run = lambda x: x.at[1:-1].set((x[:-2] + x[1:-1] + x[2:]) / 3)
    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def upwind(draw: Draw) -> Case:
    """A difference with the previous row."""
    speed = draw.of(0.25, 0.5)

    def run(x):
        before = jnp.concatenate([x[:1], x[:-1]], 0)
        return x - speed * (x - before)

    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def difference(draw: Draw) -> Case:
    """The result is one row shorter, and split unevenly."""
    x = plane(draw, *ROWS)
    return case(line(), lambda x: x[1:] - x[:-1], x, out=P())


@FAMILY.program
def moving_average(draw: Draw) -> Case:
    run = lambda x: lax.reduce_window(x, 0.0, lax.add, (5, 1), (1, 1), "SAME") / 5
    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def wide_window(draw: Draw) -> Case:
    """The window covers more than one device's rows."""
    x = f32((64, draw.times(32, 1, 4)), "x")
    run = lambda x: lax.reduce_window(x, 0.0, lax.add, (17, 1), (1, 1), "SAME") / 17
    return case(line(), run, x, out=P(*ROWS))


@FAMILY.program
def nine_points(draw: Draw) -> Case:
    """Corners are needed too."""

    def run(x):
        shifted = [jnp.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        return sum(shifted) / 9

    return case(draw.grid(), run, plane(draw, *TILES), out=P(*TILES))


@FAMILY.program
def cube_stencil(draw: Draw) -> Case:
    """Seven points of a volume of which each dimension is split."""

    def run(x):
        return sum(jnp.roll(x, by, dim) for dim in range(3) for by in (-1, 1)) - 6 * x

    x = f32((32, draw.times(16, 1, 3), 16), "x", "y", "z")
    return case(cube(), run, x, out=P("x", "y", "z"))


@FAMILY.program
def laplace_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum(laplace(x) ** 2)
    return case(draw.grid(), jax.grad(loss), plane(draw, *TILES), out=P(*TILES))


@FAMILY.program
def upwind_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum((x - jnp.concatenate([x[:1], x[:-1]], 0)) ** 2)
    return case(line(), jax.grad(loss), plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def jacobi_loop(draw: Draw) -> Case:
    steps = draw.of(5, 10)
    run = lambda x: lax.fori_loop(0, steps, lambda _, x: x + 0.1 * laplace(x), x)
    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def shift_in_zero(draw: Draw) -> Case:
    """Rows move by one, and a row of zeros enters."""
    run = lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:-1]
    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def life(draw: Draw) -> Case:
    """The game of life on integers."""

    def run(x):
        around = sum(jnp.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1)) - x
        return jnp.where((around == 3) | ((x == 1) & (around == 2)), 1.0, 0.0)

    return case(line(), run, plane(draw, *ROWS), out=P(*ROWS))
