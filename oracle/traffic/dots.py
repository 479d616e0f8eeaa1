"""Products of matrices: chains, sums of products, products that are reduced."""

import jax
import jax.numpy as jnp
from harness import P

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("dots")


def size(draw: Draw) -> int:
    """A size that divides by 32."""
    return draw.times(32, 1, 4)


@FAMILY.program
def two(draw: Draw) -> Case:
    """The first product is not split over rows, but the second wants it so."""
    a, b, c, d = (size(draw) for _ in range(4))
    run = lambda x, y, z: (x @ y) @ z
    return case(line(), run, f32((a, b), None, "x"), f32((b, c), "x"), f32((c, d)), out=P("x"))


@FAMILY.program
def two_grid(draw: Draw) -> Case:
    a, b, c, d = (size(draw) for _ in range(4))
    run = lambda x, y, z: (x @ y) @ z
    args = f32((a, b), "x", "y"), f32((b, c), "y", "x"), f32((c, d), "x", "y")
    return case(draw.grid(), run, *args, out=P("x", "y"))


@FAMILY.program
def three(draw: Draw) -> Case:
    sizes = [size(draw) for _ in range(5)]
    specs = ("x",), (None, "x"), ("x",), (None, "x")
    args = [f32(shape, *spec) for shape, spec in zip(zip(sizes, sizes[1:]), specs)]
    return case(line(), lambda a, b, c, d: a @ b @ c @ d, *args, out=P("x"))


@FAMILY.program
def three_cube(draw: Draw) -> Case:
    sizes = [size(draw) for _ in range(5)]
    specs = ("x", "y"), ("y", "z"), ("z", "x"), ("x", "y")
    args = [f32(shape, *spec) for shape, spec in zip(zip(sizes, sizes[1:]), specs)]
    return case(cube(), lambda a, b, c, d: a @ b @ c @ d, *args, out=P("x", "z"))


@FAMILY.program
def product_sum(draw: Draw) -> Case:
    """The sum of all elements of a product."""
    args = f32((size(draw), 64), None, "x"), f32((64, size(draw)), "x")
    return case(line(), lambda a, b: jnp.sum(a @ b), *args, out=P())


@FAMILY.program
def product_row_sum(draw: Draw) -> Case:
    args = f32((size(draw), 64), None, "x"), f32((64, size(draw)), "x")
    return case(line(), lambda a, b: jnp.sum(a @ b, 0), *args, out=P())


@FAMILY.program
def product_vector(draw: Draw) -> Case:
    """A product times a vector: the sum over devices can wait."""
    n = size(draw)
    args = f32((size(draw), 64), None, "x"), f32((64, n), "x"), f32((n,))
    return case(line(), lambda a, b, v: (a @ b) @ v, *args, out=P())


@FAMILY.program
def sum_of_two(draw: Draw) -> Case:
    n, m = size(draw), size(draw)
    a, b = f32((n, 64), None, "x"), f32((64, m), "x")
    return case(line(), lambda a, b, c, d: a @ b + c @ d, a, b, a, b, out=P())


@FAMILY.program
def sum_of_three_scattered(draw: Draw) -> Case:
    """The sum is wanted split, so that one reduce-scatter is enough."""
    n, m = size(draw), size(draw)
    a, b = f32((n, 64), None, "x"), f32((64, m), "x")
    run = lambda a, b, c, d, e, f: a @ b + 2.0 * (c @ d) - e @ f
    return case(line(), run, a, b, a, b, a, b, out=P("x"))


@FAMILY.program
def scaled_and_moved(draw: Draw) -> Case:
    """A product that is scaled, transposed and cut before it is read."""
    n, m = 2 * size(draw), size(draw)
    a, b = f32((n, 64), None, "x"), f32((64, m), "x")
    run = lambda a, b: 0.5 * (a @ b)[: n // 2].T
    return case(line(), run, a, b, out=P())


@FAMILY.program
def gram(draw: Draw) -> Case:
    x = f32((draw.times(64, 2, 4), 64), "x", "y")
    return case(draw.grid(), lambda x: x.T @ x, x, out=P("x", "y"))


@FAMILY.program
def low_rank(draw: Draw) -> Case:
    """A layer with a correction of low rank."""
    n = size(draw)
    args = f32((n, 128), "x", "y"), f32((128, 64), "y"), f32((128, 8), "y"), f32((8, 64))
    return case(draw.grid(), lambda x, w, a, b: x @ w + (x @ a) @ b, *args, out=P("x"))


@FAMILY.program
def bilinear(draw: Draw) -> Case:
    n, m = size(draw), size(draw)
    args = f32((n, 64), "x"), f32((64, 32)), f32((m, 32), "y")
    return case(draw.grid(), lambda x, w, y: x @ w @ y.T, *args, out=P("x", "y"))


@FAMILY.program
def batched(draw: Draw) -> Case:
    """Matrices in a batch, split over batch and rows."""
    n = size(draw)
    args = f32((8, n, 64), "x", "y"), f32((8, 64, 32), "x", "y")
    return case(draw.grid(), lambda a, b: jnp.einsum("bij,bjk->bik", a, b), *args, out=P("x", "y"))


@FAMILY.program
def gradient_of_two(draw: Draw) -> Case:
    n = size(draw)
    loss = lambda v, w, x: jnp.sum(((x @ v) @ w) ** 2)
    args = f32((64, 128), None, "y"), f32((128, 64), "y"), f32((n, 64), "x")
    return case(draw.grid(), jax.grad(loss, (0, 1)), *args, out=(P(None, "y"), P("y")))


@FAMILY.program
def outer_sum(draw: Draw) -> Case:
    """The mean of outer products."""
    x, y = f32((128, 32), "x"), f32((128, 64), "x", "y")
    run = lambda x, y: jnp.einsum("ni,nj->ij", x, y) / 128
    return case(draw.grid(), run, x, y, out=P(None, "y"))
