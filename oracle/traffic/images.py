"""Image models beyond plain convolutions: U-Nets, transformers on patches and windows, resizing and sampling."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("images")
NUMBERS = ("NHWC", "HWIO", "NHWC")
ROWS = (None, "x")
TILES = (None, "x", "y")


def conv(x, w, stride=1, **options):
    """A convolution that keeps the size, divided by the stride."""
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=NUMBERS, **options)


def image(draw: Draw, *spec, batch: int = 2, channels: int = 8):
    """Images, channels last."""
    return f32((batch, draw.times(32, 1, 2), draw.times(32, 1, 2), channels), *spec)


def group_norm(x, groups=2):
    """Normalizes over space and the channels of a group."""
    parts = x.reshape(*x.shape[:3], groups, -1)
    mean = parts.mean((1, 2, 4), keepdims=True)
    variance = parts.var((1, 2, 4), keepdims=True)
    return ((parts - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape)


LAYOUTS = {"batch": ("x",), "rows": ROWS, "tiles": TILES, "channels": ("x", None, None, "y")}


def layouts(draw: Draw, spec: tuple, **options):
    """A mesh and images for one of the layouts."""
    on = draw.grid() if "y" in spec else line()
    return on, image(draw, *spec, batch=8 if spec[0] else 2, **options)


@FAMILY.variants(**LAYOUTS)
def group_normalized(draw: Draw, spec: tuple) -> Case:
    on, x = layouts(draw, spec)
    return case(on, group_norm, x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def group_normalized_gradient(draw: Draw, spec: tuple) -> Case:
    on, x = layouts(draw, spec)
    return case(on, jax.grad(lambda x: jnp.sum(jnp.sin(group_norm(x)))), x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def diffusion_block(draw: Draw, spec: tuple) -> Case:
    """A residual block of a diffusion model: norms, convolutions and an embedding of the time."""
    on, x = layouts(draw, spec)
    w, features = f32((3, 3, 8, 8)), f32((x.shape[0], 16), spec[0])

    def run(x, time, v, w, project):
        h = conv(jax.nn.silu(group_norm(x)), v)
        h = h + (jax.nn.silu(time) @ project)[:, None, None]
        return x + conv(jax.nn.silu(group_norm(h)), w)

    return case(on, run, x, features, w, w, f32((16, 8)), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def u_net(draw: Draw, spec: tuple) -> Case:
    """Down by strides, up by repetition, and a concatenation of both."""
    on, x = layouts(draw, spec)

    def run(x, down, middle, up):
        low = jax.nn.relu(conv(x, down, 2))
        low = jax.nn.relu(conv(low, middle))
        high = jnp.repeat(jnp.repeat(low, 2, 1), 2, 2)
        return conv(jnp.concatenate([x, high], -1), up)

    w = f32((3, 3, 8, 8))
    return case(on, run, x, w, w, f32((3, 3, 16, 8)), out=P(*spec))


@FAMILY.variants(batch=("x",), rows=ROWS)
def u_net_gradient(draw: Draw, spec: tuple) -> Case:
    on, x = layouts(draw, spec)

    def loss(ws, x):
        down, up = ws
        low = jax.nn.relu(conv(x, down, 2))
        high = jnp.repeat(jnp.repeat(low, 2, 1), 2, 2)
        return jnp.sum(conv(jnp.concatenate([x, high], -1), up) ** 2)

    ws = f32((3, 3, 8, 8)), f32((3, 3, 16, 8))
    return case(on, jax.grad(loss), ws, x, out=(P(), P()))


@FAMILY.variants(rows=ROWS, tiles=TILES)
def conv_next(draw: Draw, spec: tuple) -> Case:
    """A depthwise convolution of size 7, a layer norm and two products."""
    on, x = layouts(draw, spec)

    def run(x, kernel, up, down):
        h = conv(x, kernel, feature_group_count=8)
        h = (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.gelu(h @ up) @ down

    return case(on, run, x, f32((7, 7, 1, 8)), f32((8, 32)), f32((32, 8)), out=P(*spec))


@FAMILY.variants(rows=ROWS, tiles=TILES)
def separable(draw: Draw, spec: tuple) -> Case:
    """A depthwise and a pointwise convolution."""
    on, x = layouts(draw, spec)
    run = lambda x, v, w: conv(jax.nn.relu(conv(x, v, feature_group_count=8)), w)
    return case(on, run, x, f32((3, 3, 1, 8)), f32((1, 1, 8, 16)), out=P(*spec))


@FAMILY.program
def grouped_features(draw: Draw) -> Case:
    """A convolution in groups whose channels are split."""
    spec = (None, None, None, "x")
    x, w = image(draw, *spec, channels=16), f32((3, 3, 2, 16), None, None, None, "x")
    return case(line(), lambda x, w: conv(x, w, feature_group_count=8), x, w, out=P(*spec))


def windows(x, size):
    """Cuts images into square windows: windows, tokens, channels."""
    n, h, w, c = x.shape
    x = x.reshape(n, h // size, size, w // size, size, c).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(-1, size * size, c)


def joined(x, shape, size):
    """The opposite of `windows`."""
    n, h, w, c = shape
    x = x.reshape(n, h // size, w // size, size, size, c).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(shape)


def window_attention(x):
    """Attention inside of each window, with the windows as queries, keys and values."""
    parts = windows(x, 4)
    made = jax.nn.softmax(jnp.einsum("wqc,wkc->wqk", parts, parts)) @ parts
    return joined(made, x.shape, 4)


def shifted_windows(x):
    """The same, with windows that are shifted by half their size."""
    return jnp.roll(window_attention(jnp.roll(x, (-2, -2), (1, 2))), (2, 2), (1, 2))


@FAMILY.variants(whole=window_attention, shifted=shifted_windows)
def swin(draw: Draw, run) -> Case:
    return case(line(), run, image(draw, *ROWS), out=P(*ROWS))


@FAMILY.variants(whole=window_attention, shifted=shifted_windows)
def swin_tiles(draw: Draw, run) -> Case:
    return case(draw.grid(), run, image(draw, *TILES), out=P(*TILES))


@FAMILY.program
def swin_batch(draw: Draw) -> Case:
    return case(line(), shifted_windows, image(draw, "x", batch=8), out=P("x"))


def patched(x, size=4):
    """Patches as tokens: images, tokens, features."""
    n, h, w, c = x.shape
    x = x.reshape(n, h // size, size, w // size, size, c).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(n, (h // size) * (w // size), size * size * c)


@FAMILY.variants(batch=("x",), rows=ROWS, tiles=TILES)
def patch_tokens(draw: Draw, spec: tuple) -> Case:
    """Patches by reshapes, and their embedding with positions."""
    on, x = layouts(draw, spec, channels=4)
    count = x.shape[1] * x.shape[2] // 16
    run = lambda x, w, positions: patched(x) @ w + positions
    out = P(spec[0], None if spec[0] else tuple(spec[1:]))
    return case(on, run, x, f32((64, 32)), f32((count, 32)), out=out)


@FAMILY.variants(batch=("x",), tokens=(None, "x"))
def class_token(draw: Draw, spec: tuple) -> Case:
    """A token is put in front of the patches, and read again after an attention."""
    x = f32((8, draw.times(32, 1, 2), 16), *spec)

    def run(x, token):
        wide = jnp.concatenate([jnp.broadcast_to(token, (8, 1, 16)), x], 1)
        made = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", wide, wide)) @ wide
        return made[:, 0]

    return case(line(), run, x, f32((16,)), out=P(spec[0]))


@FAMILY.variants(nearest="nearest", linear="linear", cubic="cubic")
def resized(draw: Draw, method: str) -> Case:
    x = image(draw, *ROWS)
    shape = (2, 2 * x.shape[1], x.shape[2], 8)
    return case(line(), lambda x: jax.image.resize(x, shape, method), x, out=P(*ROWS))


@FAMILY.program
def resized_half(draw: Draw) -> Case:
    x = image(draw, *TILES)
    shape = (2, x.shape[1] // 2, x.shape[2] // 2, 8)
    return case(draw.grid(), lambda x: jax.image.resize(x, shape, "linear"), x, out=P(*TILES))


@FAMILY.variants(flip=lambda x: jnp.flip(x, (1, 2)), quarter=lambda x: jnp.rot90(x, 1, (1, 2)), half=lambda x: jnp.rot90(x, 2, (1, 2)))
def turned(draw: Draw, run) -> Case:
    x = f32((2, 32, 32, draw.of(4, 8)), *TILES)
    return case(draw.grid(), run, x, out=P(*TILES))


@FAMILY.variants(reflect="reflect", symmetric="symmetric", edge="edge", wrap="wrap")
def blurred(draw: Draw, mode: str) -> Case:
    """A separable blur after a padding that reads the image."""

    def run(x):
        wide = jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), mode=mode)
        taps = jnp.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16
        rows = sum(taps[i] * wide[:, i : i + x.shape[1]] for i in range(5))
        return sum(taps[i] * rows[:, :, i : i + x.shape[2]] for i in range(5))

    return case(draw.grid(), run, image(draw, *TILES), out=P(*TILES))


@FAMILY.variants(batch=("x",), rows=ROWS)
def bilinear_samples(draw: Draw, spec: tuple) -> Case:
    """Reads an image at given places, between the pixels."""
    on, x = layouts(draw, spec)
    x = f32((x.shape[0], 32, 32, 8), *spec)
    places = f32((x.shape[0], draw.times(16, 1, 4), 2), *spec)

    def one(x, at):
        low = jnp.floor(at)
        part = at - low
        i = low.astype(jnp.int32)
        total = 0.0
        for a in (0, 1):
            for b in (0, 1):
                rows, columns = jnp.clip(i[:, 0] + a, 0, 31), jnp.clip(i[:, 1] + b, 0, 31)
                weight = jnp.abs(1 - a - part[:, 0]) * jnp.abs(1 - b - part[:, 1])
                total += weight[:, None] * x[rows, columns]
        return total

    return case(on, jax.vmap(one), x, places, out=P(*spec))


@FAMILY.program
def random_crop(draw: Draw) -> Case:
    """A crop of each image at its own corner."""
    x = image(draw, "x", batch=8)
    run = jax.vmap(lambda x, at: lax.dynamic_slice(x, (at[0], at[1], 0), (16, 16, 8)))
    return case(line(), run, x, i32((8, 2), "x"), out=P("x"))


@FAMILY.program
def center_crop(draw: Draw) -> Case:
    x = image(draw, *ROWS)
    half = x.shape[1] // 4
    return case(line(), lambda x: x[:, half:-half, 8:-8], x, out=P(*ROWS))


def to_depth(x):
    """Blocks of 2x2 pixels become channels."""
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)


def to_space(x):
    """Channels become blocks of 2x2 pixels."""
    n, h, w, c = x.shape
    return x.reshape(n, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c // 4)


@FAMILY.variants(depth=to_depth, space=to_space)
def shuffled(draw: Draw, run) -> Case:
    return case(draw.grid(), run, image(draw, *TILES), out=P(*TILES))


@FAMILY.variants(depth=to_depth, space=to_space)
def shuffled_channels(draw: Draw, run) -> Case:
    """The channels are split before and after."""
    spec = ("x", None, None, "y")
    return case(draw.grid(), run, image(draw, *spec, batch=4, channels=16), out=P(*spec))


@FAMILY.variants(rows=ROWS, tiles=TILES)
def instance_norm(draw: Draw, spec: tuple) -> Case:
    on, x = layouts(draw, spec)
    run = lambda x: (x - x.mean((1, 2), keepdims=True)) * lax.rsqrt(x.var((1, 2), keepdims=True) + 1e-5)
    return case(on, run, x, out=P(*spec))


@FAMILY.program
def squeeze_excite(draw: Draw) -> Case:
    """Channels are weighted by products of their means."""
    run = lambda x, v, w: x * jax.nn.sigmoid(jax.nn.relu(x.mean((1, 2)) @ v) @ w)[:, None, None]
    return case(draw.grid(), run, image(draw, *TILES), f32((8, 4)), f32((4, 8)), out=P(*TILES))


@FAMILY.program
def batch_statistics(draw: Draw) -> Case:
    """Batch norm in training: the output and the moving statistics."""

    def run(x, mean, variance):
        m, v = x.mean((0, 1, 2)), x.var((0, 1, 2))
        y = (x - m) * lax.rsqrt(v + 1e-5)
        return y, 0.9 * mean + 0.1 * m, 0.9 * variance + 0.1 * v

    spec = P("x", "y", "z")
    x = image(draw, "x", "y", "z", batch=4)
    return case(cube(), run, x, f32((8,)), f32((8,)), out=(spec, P(), P()))


@FAMILY.program
def im2col(draw: Draw) -> Case:
    """A convolution as a product of patches."""

    def run(x, w):
        patches = lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "SAME", dimension_numbers=NUMBERS)
        return patches @ w

    return case(line(), run, image(draw, *ROWS), f32((72, 8)), out=P(*ROWS))


@FAMILY.program
def unet_attention(draw: Draw) -> Case:
    """Attention over all pixels of split rows."""
    x = f32((2, 16, 16, 16), *ROWS)

    def run(x):
        flat = x.reshape(2, -1, 16)
        made = jax.nn.softmax(flat @ flat.transpose(0, 2, 1) / 4) @ flat
        return x + made.reshape(x.shape)

    return case(line(), run, x, out=P(*ROWS))


@FAMILY.program
def max_unpool(draw: Draw) -> Case:
    """The largest of each block of four keeps its place, others become zero."""

    def run(x):
        n, h, w, c = x.shape
        blocks = x.reshape(n, h // 2, 2, w // 2, 2, c)
        return jnp.where(blocks == blocks.max((2, 4), keepdims=True), blocks, 0).reshape(x.shape)

    return case(draw.grid(), run, image(draw, *TILES), out=P(*TILES))


@FAMILY.variants(forward=lambda x, w: conv(x, w, rhs_dilation=(2, 2)), wide=lambda x, w: conv(x, w, rhs_dilation=(6, 6)))
def dilated_tiles(draw: Draw, run) -> Case:
    """Dilated convolutions, the wider of which needs more than one neighbour."""
    return case(draw.grid(), run, image(draw, *TILES), f32((3, 3, 8, 8)), out=P(*TILES))


@FAMILY.program
def transposed_gradient(draw: Draw) -> Case:
    """Upsampling by a transposed convolution, and its gradients."""
    loss = lambda x, w: jnp.sum(lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=NUMBERS) ** 2)
    out = P(*TILES), P()
    return case(draw.grid(), jax.grad(loss, (0, 1)), image(draw, *TILES), f32((4, 4, 8, 4)), out=out)


@FAMILY.program
def video(draw: Draw) -> Case:
    """A convolution of volumes, split over frames and rows."""
    x = f32((1, 8, draw.times(16, 1, 2), 16, 4), None, "x", "y")
    numbers = ("NDHWC", "DHWIO", "NDHWC")
    run = lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=numbers)
    return case(draw.grid(), run, x, f32((3, 3, 3, 4, 4)), out=P(None, "x", "y"))


@FAMILY.program
def perceptual(draw: Draw) -> Case:
    """Edges by finite differences, and the total variation."""
    run = lambda x: jnp.sum(jnp.abs(x[:, 1:] - x[:, :-1])) + jnp.sum(jnp.abs(x[:, :, 1:] - x[:, :, :-1]))
    return case(draw.grid(), jax.value_and_grad(run), image(draw, *TILES), out=(P(), P(*TILES)))
