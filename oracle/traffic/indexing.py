"""Reads and writes at places that are known only at run time: batches of slices, several indices, windows."""

import jax
import jax.numpy as jnp
from harness import Arg, P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("indexing")


def stack(draw: Draw, *spec):
    """A batch of matrices."""
    return f32((8, draw.times(32, 1, 3), draw.times(16, 1, 3)), *spec)


LAYOUTS = {"batch": ("x",), "rows": (None, "x"), "columns": ("x", None, "y"), "both": ("x", "y")}


def layout(draw: Draw, spec: tuple):
    """A mesh and a stack for a layout."""
    return draw.grid() if "y" in spec else line(), stack(draw, *spec)


@FAMILY.variants(**LAYOUTS)
def rows_read(draw: Draw, spec: tuple) -> Case:
    """A row of each matrix."""
    on, x = layout(draw, spec)
    run = jax.vmap(lambda x, i: lax.dynamic_slice_in_dim(x, i, 1, 0)[0])
    return case(on, run, x, i32((8,), spec[0]), out=P(spec[0], *spec[2:]))


@FAMILY.variants(**LAYOUTS)
def blocks_read(draw: Draw, spec: tuple) -> Case:
    """Four rows of each matrix."""
    on, x = layout(draw, spec)
    run = jax.vmap(lambda x, i: lax.dynamic_slice_in_dim(x, i, 4, 0))
    return case(on, run, x, i32((8,), spec[0]), out=P(spec[0], None, *spec[2:]))


@FAMILY.variants(**LAYOUTS)
def rows_written(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    run = jax.vmap(lambda x, row, i: lax.dynamic_update_slice_in_dim(x, row[None], i, 0))
    return case(on, run, x, f32((8, x.shape[2]), spec[0], *spec[2:]), i32((8,), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def blocks_written(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    run = jax.vmap(lambda x, rows, i: lax.dynamic_update_slice_in_dim(x, rows, i, 0))
    return case(on, run, x, f32((8, 4, x.shape[2]), spec[0], None, *spec[2:]), i32((8,), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def rows_set(draw: Draw, spec: tuple) -> Case:
    """A row of each matrix, by `at`."""
    on, x = layout(draw, spec)
    run = lambda x, rows, i: x.at[jnp.arange(8), i].set(rows)
    return case(on, run, x, f32((8, x.shape[2]), spec[0], *spec[2:]), i32((8,), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def rows_added(draw: Draw, spec: tuple) -> Case:
    """Several rows are added to each matrix."""
    on, x = layout(draw, spec)
    run = jax.vmap(lambda x, rows, i: x.at[i].add(rows))
    return case(on, run, x, f32((8, 4, x.shape[2]), spec[0], None, *spec[2:]), i32((8, 4), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def rows_read_gradient(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    loss = lambda x, i: jnp.sum(jax.vmap(lambda x, i: x[i])(x, i) ** 2)
    return case(on, jax.grad(loss), x, i32((8, 4), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def elements_read(draw: Draw, spec: tuple) -> Case:
    """Single elements by three indices."""
    on, x = layout(draw, spec)
    ids = i32((draw.times(16, 1, 3),))
    return case(on, lambda x, a, b, c: x[a, b, c], x, ids, ids, ids, out=P())


@FAMILY.variants(**LAYOUTS)
def elements_added(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    ids = i32((draw.times(16, 1, 3),))
    run = lambda x, a, b, c: x.at[a, b, c].add(1.0)
    return case(on, run, x, ids, ids, ids, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def along_axis(draw: Draw, spec: tuple) -> Case:
    """Takes elements along the rows of each matrix."""
    on, x = layout(draw, spec)
    ids = i32((8, 4, x.shape[2]), spec[0], None, *spec[2:])
    return case(on, lambda x, i: jnp.take_along_axis(x, i, 1), x, ids, out=ids.spec)


@FAMILY.variants(**LAYOUTS)
def put_along_axis(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    ids = i32((8, 4, x.shape[2]), spec[0], None, *spec[2:])
    run = lambda x, i, v: jnp.put_along_axis(x, i, v, 1, inplace=False)
    return case(on, run, x, ids, f32(ids.shape, *ids.spec), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def columns_taken(draw: Draw, spec: tuple) -> Case:
    """The same columns of all matrices."""
    on, x = layout(draw, spec)
    run = lambda x, i: jnp.take(x, i, 2)
    return case(on, run, x, i32((8,)), out=P(*spec[:2]))


@FAMILY.variants(**LAYOUTS)
def corner_read(draw: Draw, spec: tuple) -> Case:
    """One block at a place in all three dimensions."""
    on, x = layout(draw, spec)
    run = lambda x, i, j, k: lax.dynamic_slice(x, (i, j, k), (8, 4, 4))
    return case(on, run, x, i32(()), i32(()), i32(()), out=P())


@FAMILY.variants(**LAYOUTS)
def corner_written(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    run = lambda x, part, i, j: lax.dynamic_update_slice(x, part, (0, i, j))
    return case(on, run, x, f32((8, 4, 4), spec[0]), i32(()), i32(()), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def half_written(draw: Draw, spec: tuple) -> Case:
    """Half of the rows is replaced, at a place known at run time; it is split as the whole."""
    on, x = layout(draw, spec)
    run = lambda x, part, i: lax.dynamic_update_slice_in_dim(x, part, i, 1)
    return case(on, run, x, f32((8, x.shape[1] // 2, x.shape[2]), *spec), i32(()), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def half_read(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    run = lambda x, i: lax.dynamic_slice_in_dim(x, i, x.shape[1] // 2, 1)
    return case(on, run, x, i32(()), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def rolled_by(draw: Draw, spec: tuple) -> Case:
    """The rows are rolled by a number known at run time."""
    on, x = layout(draw, spec)
    return case(on, lambda x, i: jnp.roll(x, i, 1), x, i32(()), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def rolled_each(draw: Draw, spec: tuple) -> Case:
    """Each matrix is rolled by its own number."""
    on, x = layout(draw, spec)
    return case(on, jax.vmap(lambda x, i: jnp.roll(x, i, 0)), x, i32((8,), spec[0]), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def permuted(draw: Draw, spec: tuple) -> Case:
    """The rows in another order, the same for all matrices."""
    on, x = layout(draw, spec)
    return case(on, lambda x, i: x[:, i], x, i32((x.shape[1],)), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def static_rows(draw: Draw, spec: tuple) -> Case:
    """Rows whose numbers are known while compiling."""
    on, x = layout(draw, spec)
    return case(on, lambda x: x[:, jnp.array([3, 1, 17, 8])], x, out=P(spec[0], None, *spec[2:]))


@FAMILY.variants(**LAYOUTS)
def static_set(draw: Draw, spec: tuple) -> Case:
    """Every eighth row and the last column are set."""
    on, x = layout(draw, spec)
    return case(on, lambda x: x.at[:, ::8].set(1.0).at[:, :, -1].multiply(2.0), x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def diagonal(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    square = f32((8, 32, 32), *spec)
    return case(on, lambda x: jnp.diagonal(x, axis1=1, axis2=2), square, out=P(spec[0]))


@FAMILY.variants(**LAYOUTS)
def diagonal_added(draw: Draw, spec: tuple) -> Case:
    on, _ = layout(draw, spec)
    n = jnp.arange(32)
    square = f32((8, 32, 32), *spec)
    return case(on, lambda x: x.at[:, n, n].add(0.5), square, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def masked(draw: Draw, spec: tuple) -> Case:
    """The first rows of each matrix are kept, as many as its length says."""
    on, x = layout(draw, spec)
    run = lambda x, n: jnp.where(jnp.arange(x.shape[1])[:, None] < n[:, None, None], x, 0).sum(1) / n[:, None]
    return case(on, run, x, i32((8,), spec[0]), out=P(spec[0], *spec[2:]))


@FAMILY.program
def last_valid(draw: Draw) -> Case:
    """The last token of each sequence, whose length is known at run time; tokens are split."""
    x = f32((8, draw.times(32, 1, 3), 16), "x", "y")
    run = lambda x, n: x[jnp.arange(8), n - 1]
    return case(draw.grid(), run, x, i32((8,), "x"), out=P("x"))


@FAMILY.program
def nonzero(draw: Draw) -> Case:
    """The places of the first eight elements that are positive."""
    run = lambda x: jnp.nonzero(x > 0, size=8, fill_value=-1)[0]
    return case(line(), run, f32((draw.times(64, 1, 4),), "x"), out=P())


@FAMILY.program
def compressed(draw: Draw) -> Case:
    """Chosen rows move to the front."""

    def run(x, keep):
        places = jnp.where(keep, jnp.cumsum(keep) - 1, x.shape[0])
        return jnp.zeros_like(x).at[places].set(x, mode="drop")

    x = f32((draw.times(64, 1, 3), 16), "x")
    return case(line(), run, x, Arg((x.shape[0],), "bool", P("x")), out=P("x"))


@FAMILY.program
def table_of_tables(draw: Draw) -> Case:
    """Codes of a product quantizer: each part of a vector has its own table."""
    run = lambda codes, tables: jax.vmap(lambda c, t: t[c], (1, 0), 1)(codes, tables).reshape(codes.shape[0], -1)
    tables = f32((8, 32, 4), "y")
    return case(draw.grid(), run, i32((draw.times(32, 1, 3), 8), "x", "y"), tables, out=P("x", "y"))


@FAMILY.program
def cube_written(draw: Draw) -> Case:
    x = f32((8, 16, draw.times(16, 1, 2)), "x", "y", "z")
    run = lambda x, v, i: x.at[:, i].set(v)
    return case(cube(), run, x, f32((8, 2, x.shape[2]), "x", None, "z"), i32((2,)), out=P("x", "y", "z"))
