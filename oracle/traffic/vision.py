"""Convolutions, pooling and normalization, split spatially, over the batch or over features."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, line

FAMILY = Family("vision")
NUMBERS = ("NHWC", "HWIO", "NHWC")


def conv(x, w, stride=1, padding="SAME", dilation=1, spread=1, groups=1):
    """A convolution of images with channels last."""
    return lax.conv_general_dilated(
        x,
        w,
        (stride, stride),
        padding,
        lhs_dilation=(spread, spread),
        rhs_dilation=(dilation, dilation),
        dimension_numbers=NUMBERS,
        feature_group_count=groups,
    )


def image(draw: Draw, *spec, batch: int = 2, channels: int = 8):
    """Images whose height and width divide by 32."""
    return f32((batch, draw.times(32, 1, 2), draw.times(32, 1, 2), channels), *spec)


ROWS = (None, "x")


@FAMILY.variants(size3=3, size5=5, size1=1)
def conv_rows(draw: Draw, size: int) -> Case:
    w = f32((size, size, 8, draw.of(8, 16)))
    return case(line(), conv, image(draw, *ROWS), w, out=P(*ROWS))


@FAMILY.program
def conv_tiles(draw: Draw) -> Case:
    """Height and width are both split."""
    tiles = (None, "x", "y")
    return case(draw.grid(), conv, image(draw, *tiles), f32((3, 3, 8, 8)), out=P(*tiles))


@FAMILY.program
def conv_stride(draw: Draw) -> Case:
    size = draw.of(2, 3, 4)
    return case(line(), lambda x, w: conv(x, w, 2), image(draw, *ROWS), f32((size, size, 8, 8)), out=P(*ROWS))


@FAMILY.program
def conv_valid_padded(draw: Draw) -> Case:
    """The image is padded first, and then convolved without padding."""
    pads = ((0, 0), (1, 1), (1, 1), (0, 0))
    run = lambda x, w: conv(jnp.pad(x, pads), w, padding="VALID")
    return case(line(), run, image(draw, *ROWS), f32((3, 3, 8, 8)), out=P(*ROWS))


@FAMILY.program
def conv_dilated(draw: Draw) -> Case:
    dilation = draw.of(2, 3)
    run = lambda x, w: conv(x, w, dilation=dilation)
    return case(line(), run, image(draw, *ROWS), f32((3, 3, 8, 8)), out=P(*ROWS))


@FAMILY.program
def conv_transposed(draw: Draw) -> Case:
    run = lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NUMBERS)
    return case(line(), run, image(draw, *ROWS), f32((draw.of(2, 3, 4), 3, 8, 8)), out=P(*ROWS))


@FAMILY.program
def conv_depthwise(draw: Draw) -> Case:
    run = lambda x, w: conv(x, w, groups=8)
    return case(line(), run, image(draw, *ROWS), f32((3, 3, 1, 8)), out=P(*ROWS))


@FAMILY.program
def conv_batch(draw: Draw) -> Case:
    """Data parallel: nothing has to move."""
    return case(line(), conv, image(draw, "x", batch=8), f32((3, 3, 8, 8)), out=P("x"))


@FAMILY.program
def conv_features(draw: Draw) -> Case:
    """The batch and the output features are split."""
    on = draw.grid()
    return case(on, conv, image(draw, "x", batch=4), f32((3, 3, 8, 16), None, None, None, "y"), out=P("x", None, None, "y"))


@FAMILY.program
def conv_contracted(draw: Draw) -> Case:
    """The input features are split."""
    on = draw.grid()
    x = image(draw, "x", None, None, "y", batch=4)
    return case(on, conv, x, f32((3, 3, 8, 8), None, None, "y"), out=P("x", None, None, "y"))


@FAMILY.variants(rows=("x",), tiles=("x", "y"))
def conv_gradient(draw: Draw, axes: tuple) -> Case:
    spec = (None, *axes)
    loss = lambda x, w: jnp.sum(conv(x, w) ** 2)
    on = line() if len(axes) == 1 else draw.grid()
    return case(on, jax.grad(loss, (0, 1)), image(draw, *spec), f32((3, 3, 8, 8)), out=(P(*spec), P()))


@FAMILY.program
def conv_stride_gradient(draw: Draw) -> Case:
    loss = lambda x, w: jnp.sum(conv(x, w, 2) ** 2)
    return case(line(), jax.grad(loss, (0, 1)), image(draw, *ROWS), f32((3, 3, 8, 8)), out=(P(*ROWS), P()))


@FAMILY.program
def conv_dilated_gradient(draw: Draw) -> Case:
    loss = lambda x, w: jnp.sum(jnp.tanh(conv(x, w, dilation=2)))
    return case(line(), jax.grad(loss, (0, 1)), image(draw, *ROWS), f32((3, 3, 8, 8)), out=(P(*ROWS), P()))


@FAMILY.program
def conv_batch_gradient(draw: Draw) -> Case:
    """Data parallel: the gradient of the weights is summed."""
    loss = lambda w, x: jnp.sum(conv(x, w) ** 2)
    return case(line(), jax.grad(loss), f32((3, 3, 8, 8)), image(draw, "x", batch=8), out=P())


def pool(x, start, combine, size, stride, padding="SAME"):
    """A reduction over square windows."""
    return lax.reduce_window(x, start, combine, (1, size, size, 1), (1, stride, stride, 1), padding)


def max_pool(x, size=3, stride=1, padding="SAME"):
    """The largest element of each window."""
    return pool(x, -jnp.inf, lax.max, size, stride, padding)


def average_pool(x, size=3, stride=1, padding="SAME"):
    """The mean over each window."""
    return pool(x, 0.0, lax.add, size, stride, padding) / (size * size)


@FAMILY.variants(by1=1, by2=2)
def max_pool_rows(draw: Draw, stride: int) -> Case:
    return case(line(), lambda x: max_pool(x, 3, stride), image(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def average_pool_blocks(draw: Draw) -> Case:
    """Windows do not overlap, and no window crosses a boundary."""
    run = lambda x: average_pool(x, 2, 2, "VALID")
    return case(line(), run, image(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def average_pool_tiles(draw: Draw) -> Case:
    tiles = (None, "x", "y")
    return case(draw.grid(), average_pool, image(draw, *tiles), out=P(*tiles))


@FAMILY.variants(by1=1, by2=2)
def max_pool_gradient(draw: Draw, stride: int) -> Case:
    loss = lambda x: jnp.sum(max_pool(x, 3, stride) ** 2)
    return case(line(), jax.grad(loss), image(draw, *ROWS), out=P(*ROWS))


@FAMILY.program
def average_pool_gradient(draw: Draw) -> Case:
    loss = lambda x: jnp.sum(average_pool(x) ** 2)
    return case(line(), jax.grad(loss), image(draw, *ROWS), out=P(*ROWS))


def batch_norm(x, scale, shift):
    """Normalizes over batch, height and width."""
    mean = x.mean((0, 1, 2))
    variance = ((x - mean) ** 2).mean((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


@FAMILY.program
def batch_norm_rows(draw: Draw) -> Case:
    return case(line(), batch_norm, image(draw, *ROWS), f32((8,)), f32((8,)), out=P(*ROWS))


@FAMILY.program
def batch_norm_gradient(draw: Draw) -> Case:
    loss = lambda x, scale, shift: jnp.sum(batch_norm(x, scale, shift) ** 3)
    run = jax.grad(loss, (0, 1, 2))
    return case(line(), run, image(draw, "x", batch=8), f32((8,)), f32((8,)), out=(P("x"), P(), P()))


@FAMILY.program
def residual_block(draw: Draw) -> Case:
    """Two convolutions with a sum around them, on tiles."""
    tiles = (None, "x", "y")
    run = lambda x, v, w: x + conv(jax.nn.relu(conv(x, v)), w)
    w = f32((3, 3, 8, 8))
    return case(draw.grid(), run, image(draw, *tiles), w, w, out=P(*tiles))


@FAMILY.program
def pyramid(draw: Draw) -> Case:
    """A convolution, a pooling and another convolution."""
    run = lambda x, v, w: conv(max_pool(jax.nn.relu(conv(x, v)), 2, 2), w)
    w = f32((3, 3, 8, 8))
    return case(line(), run, image(draw, *ROWS), w, w, out=P(*ROWS))


@FAMILY.program
def patches(draw: Draw) -> Case:
    """Embeds patches, as a vision transformer does."""
    x, w = f32((4, 32, draw.times(32, 1, 2), 4), "x", "y"), f32((4, 4, 4, 32), None, None, None, "z")
    run = lambda x, w: conv(x, w, 4, "VALID")
    return case(cube(), run, x, w, out=P("x", "y", None, "z"))


@FAMILY.program
def upsample(draw: Draw) -> Case:
    """Repeats each row and column."""
    run = lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
    return case(line(), run, image(draw, *ROWS), out=P(*ROWS))
