"""Reshapes, transposes, pieces and orders of many kinds: what a layout must survive."""

import jax
import jax.numpy as jnp
from harness import Arg, P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("shapes")


def flat(draw: Draw, *spec):
    """A matrix."""
    return f32((draw.times(32, 1, 3), draw.times(32, 1, 3)), *spec)


SPLITS = {"rows": ("x",), "columns": (None, "x"), "tiles": ("x", "y"), "swapped": ("y", "x"), "nested": (("x", "y"),)}


def layout(draw: Draw, spec: tuple):
    """A mesh and a matrix for a layout."""
    return draw.grid() if "y" in str(spec) else line(), flat(draw, *spec)


@FAMILY.variants(**SPLITS)
def flattened(draw: Draw, spec: tuple) -> Case:
    """A matrix as a vector."""
    on, x = layout(draw, spec)
    out = P(("x", "y")) if "y" in str(spec) else P("x")
    return case(on, lambda x: jnp.tanh(x).reshape(-1), x, out=out)


@FAMILY.variants(**SPLITS)
def regrouped(draw: Draw, spec: tuple) -> Case:
    """Rows of another length."""
    on, x = layout(draw, spec)
    return case(on, lambda x: x.reshape(2 * x.shape[0], -1) + 1, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def blocks_swapped(draw: Draw, spec: tuple) -> Case:
    """Blocks of 4x4, transposed inside."""
    on, x = layout(draw, spec)
    n, m = x.shape
    run = lambda x: x.reshape(n // 4, 4, m // 4, 4).transpose(0, 3, 2, 1).reshape(n, m)
    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def blocks_transposed(draw: Draw, spec: tuple) -> Case:
    """A list of blocks of 8x8."""
    on, x = layout(draw, spec)
    n, m = x.shape
    run = lambda x: x.reshape(n // 8, 8, m // 8, 8).transpose(0, 2, 1, 3).reshape(-1, 8, 8)
    return case(on, run, x, out=P())


@FAMILY.variants(**SPLITS)
def transposed(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    return case(on, lambda x: x.T * 2, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def stacked(draw: Draw, spec: tuple) -> Case:
    """Three matrices, one after the other in a new dimension at the end."""
    on, x = layout(draw, spec)
    return case(on, lambda a, b, c: jnp.stack([a, b, c], -1), x, x, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def stacked_first(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    return case(on, lambda a, b: jnp.stack([a, b]).sum(1), x, x, out=P())


@FAMILY.variants(**SPLITS)
def joined(draw: Draw, spec: tuple) -> Case:
    """Pieces of different sizes are joined along both dimensions."""
    on, x = layout(draw, spec)
    small = f32((8, x.shape[1]), *spec)
    run = lambda a, b, c: jnp.concatenate([a, b, c[: x.shape[0] - 8]])
    return case(on, run, x, small, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def cut_unevenly(draw: Draw, spec: tuple) -> Case:
    """Three pieces at uneven places, of which two are used together."""
    on, x = layout(draw, spec)

    def run(x):
        a, b, c = jnp.split(x, [10, 20], 0)
        return a.sum(0) + b.max(0) * c.mean(0)

    return case(on, run, x, out=P())


@FAMILY.variants(**SPLITS)
def tiled(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    return case(on, lambda x: jnp.tile(x, (2, 3)), x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def repeated(draw: Draw, spec: tuple) -> Case:
    on, x = layout(draw, spec)
    return case(on, lambda x: jnp.repeat(x, 3, 0) + jnp.repeat(x, 3, 0).mean(), x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def shifted_both(draw: Draw, spec: tuple) -> Case:
    """Rolled along both dimensions at once, by different numbers."""
    on, x = layout(draw, spec)
    return case(on, lambda x: jnp.roll(x, (3, -5), (0, 1)), x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def rolled_flat(draw: Draw, spec: tuple) -> Case:
    """Rolled as if it were one long row."""
    on, x = layout(draw, spec)
    return case(on, lambda x: jnp.roll(x, 1), x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def mirrored(draw: Draw, spec: tuple) -> Case:
    """Even and odd parts."""
    on, x = layout(draw, spec)
    return case(on, lambda x: ((x + x[::-1]) / 2, (x - x[:, ::-1]) / 2), x, out=(P(*spec), P(*spec)))


@FAMILY.variants(**SPLITS)
def butterflies(draw: Draw, spec: tuple) -> Case:
    """The Hadamard transform along rows, step by step."""
    on, _ = layout(draw, spec)
    x = f32((32, 32), *spec)

    def run(x):
        size = 1
        while size < 32:
            pairs = x.reshape(-1, 2, size, 32)
            x = jnp.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], 1).reshape(32, 32)
            size *= 2
        return x

    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def wavelets(draw: Draw, spec: tuple) -> Case:
    """Three levels of Haar wavelets along rows."""
    on, _ = layout(draw, spec)
    x = f32((64, 32), *spec)

    def run(x):
        made = []
        for _ in range(3):
            made.append(x[::2] - x[1::2])
            x = (x[::2] + x[1::2]) / 2
        return jnp.concatenate([x, *made[::-1]])

    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def wavelets_lifted(draw: Draw, spec: tuple) -> Case:
    """A wavelet that predicts odd rows from their neighbours."""
    on, x = layout(draw, spec)

    def run(x):
        even, odd = x[::2], x[1::2]
        detail = odd - (even + jnp.roll(even, -1, 0)) / 2
        return even + (detail + jnp.roll(detail, 1, 0)) / 4, detail

    return case(on, run, x, out=(P(*spec), P(*spec)))


@FAMILY.variants(**SPLITS)
def packed(draw: Draw, spec: tuple) -> Case:
    """Two halves of columns as real and imaginary parts."""
    on, x = layout(draw, spec)

    def run(x):
        a, b = jnp.split(x, 2, 1)
        z = lax.complex(a, b) * (1 + 2j)
        return jnp.concatenate([z.real, z.imag], 1)

    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def bytes_of(draw: Draw, spec: tuple) -> Case:
    """The bits of floats, and back."""
    on, x = layout(draw, spec)

    def run(x):
        bits = lax.bitcast_convert_type(x, jnp.uint8)
        return lax.bitcast_convert_type(bits ^ 1, jnp.float32), bits.astype(jnp.int32).sum()

    return case(on, run, x, out=(P(*spec), P()))


@FAMILY.variants(**SPLITS)
def upper_part(draw: Draw, spec: tuple) -> Case:
    """The triangle above the diagonal, with sums of rows and of columns."""
    on, _ = layout(draw, spec)
    run = lambda x: (jnp.triu(x, 1).sum(0), jnp.tril(x).sum(1), jnp.trace(x))
    return case(on, run, f32((64, 64), *spec), out=(P(), P(), P()))


@FAMILY.variants(**SPLITS)
def banded(draw: Draw, spec: tuple) -> Case:
    """A matrix from its three diagonals, times split columns."""
    on, _ = layout(draw, spec)

    def run(d, x):
        m = jnp.diag(d) + jnp.diag(d[1:], 1) + jnp.diag(d[:-1], -1)
        return m @ x

    return case(on, run, f32((64,)), f32((64, 64), *spec), out=P(*spec))


@FAMILY.variants(**SPLITS)
def windows_of(draw: Draw, spec: tuple) -> Case:
    """All windows of four rows as a new dimension, and their maxima."""
    on, x = layout(draw, spec)
    run = lambda x: jnp.stack([jnp.roll(x, -i, 0) for i in range(4)], 1).max(1)
    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def shifted_zeros(draw: Draw, spec: tuple) -> Case:
    """The difference in time, with zeros in front."""
    on, x = layout(draw, spec)
    run = lambda x: x - jnp.concatenate([jnp.zeros_like(x[:2]), x[:-2]])
    return case(on, run, x, out=P(*spec))


@FAMILY.variants(**SPLITS)
def shifted_gradient(draw: Draw, spec: tuple) -> Case:
    """The gradient of a loss on differences with lags one and three."""
    on, x = layout(draw, spec)
    loss = lambda x: jnp.sum((x[1:] - x[:-1]) ** 2) + jnp.sum(jnp.abs(x[3:] - x[:-3]))
    return case(on, jax.grad(loss), x, out=P(*spec))


@FAMILY.variants(rows=("x", None, None), middle=(None, "x", None), both=("x", "y", None), last=("x", None, "y"))
def heads_moved(draw: Draw, spec: tuple) -> Case:
    """Merged, split and transposed: what attention does with heads."""
    on = draw.grid() if "y" in spec else line()
    x = f32((8, draw.times(16, 1, 3), 64), *spec)

    def run(x):
        heads = x.reshape(8, -1, 8, 8).transpose(0, 2, 1, 3)
        return jnp.cumsum(heads, 1).transpose(0, 2, 1, 3).reshape(x.shape)

    return case(on, run, x, out=P(*spec))


@FAMILY.variants(rows=("x", None, None), middle=(None, "x", None), both=("x", "y", None), last=("x", None, "y"))
def folded_batch(draw: Draw, spec: tuple) -> Case:
    """Two dimensions become one for a product, and are two again."""
    on = draw.grid() if "y" in spec else line()
    x = f32((8, draw.times(16, 1, 3), 32), *spec)
    run = lambda x, w: (x.reshape(-1, 32) @ w).reshape(8, -1, 16)
    return case(on, run, x, f32((32, 16)), out=P(*spec[:2]))


@FAMILY.variants(rows=("x", None, None), middle=(None, "x", None), both=("x", "y", None), last=("x", None, "y"))
def swapped_ends(draw: Draw, spec: tuple) -> Case:
    on = draw.grid() if "y" in spec else line()
    return case(on, lambda x: x.transpose(2, 1, 0), f32((8, draw.times(16, 1, 3), 32), *spec), out=P(*spec))


@FAMILY.program
def cube_turned(draw: Draw) -> Case:
    """All axes are wanted at other dimensions."""
    x = f32((16, draw.times(16, 1, 2), 16), "x", "y", "z")
    return case(cube(), lambda x: jnp.sin(x), x, out=P("z", "x", "y"))


@FAMILY.program
def cube_merged(draw: Draw) -> Case:
    """Two split dimensions are merged."""
    x = f32((8, draw.times(16, 1, 2), 16), "x", "y", "z")
    return case(cube(), lambda x: jnp.sin(x).reshape(-1, 16), x, out=P(("x", "y"), "z"))


@FAMILY.program
def masked_rows(draw: Draw) -> Case:
    """Booleans from comparisons of rows and columns."""
    x = flat(draw, "x", "y")
    mask = Arg(x.shape, "bool", P("y", "x"))
    run = lambda x, mask: jnp.where(mask & (x > x.mean(0)), x, jnp.median(x, 1)[:, None])
    return case(draw.grid(), run, x, mask, out=P("x", "y"))
