"""Tensor and sequence parallel layers."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32

FAMILY = Family("tensor")
WHOLE = ("x",)
TOKENS = ("x", "y")
SIZE = 64


def activations(draw: Draw, *spec):
    """Batch, tokens, features."""
    return f32((4, draw.times(32, 1, 2), SIZE), *spec)


def mlp(x, up, down):
    """Two layers."""
    return jax.nn.gelu(x @ up) @ down


def gated(x, gate, up, down):
    """A gated layer."""
    return (jax.nn.silu(x @ gate) * (x @ up)) @ down


def weights(count: int):
    """Layers into split hidden features, and the layer back."""
    return (f32((SIZE, 4 * SIZE), None, "y"),) * (count - 1) + (f32((4 * SIZE, SIZE), "y"),)


def gradient(run, count: int):
    """The gradient with respect to all arguments."""
    return jax.grad(lambda *args: jnp.sum(run(*args) ** 2), tuple(range(count + 1)))


VARIANTS = dict(whole=(mlp, 2, WHOLE), tokens=(mlp, 2, TOKENS), gated=(gated, 3, WHOLE), gated_tokens=(gated, 3, TOKENS))


@FAMILY.variants(**VARIANTS)
def layer(draw: Draw, what: tuple) -> Case:
    run, count, spec = what
    return case(draw.grid(), run, activations(draw, *spec), *weights(count), out=P(*spec))


@FAMILY.variants(**VARIANTS)
def layer_gradient(draw: Draw, what: tuple) -> Case:
    run, count, spec = what
    w = weights(count)
    out = (P(*spec), *(arg.spec for arg in w))
    return case(draw.grid(), gradient(run, count), activations(draw, *spec), *w, out=out)


@FAMILY.variants(whole=WHOLE, tokens=TOKENS)
def normalized_residual(draw: Draw, spec: tuple) -> Case:
    """A normalization before the layer, and a sum around it."""

    def run(x, scale, up, down):
        normal = x * lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale
        return x + mlp(normal, up, down)

    return case(draw.grid(), run, activations(draw, *spec), f32((SIZE,)), *weights(2), out=P(*spec))


@FAMILY.program
def two_axes(draw: Draw) -> Case:
    """Both dimensions of each weight are split."""
    x = activations(draw, None, None, "x")
    up, down = f32((SIZE, 4 * SIZE), "x", "y"), f32((4 * SIZE, SIZE), "y", "x")
    return case(draw.grid(), mlp, x, up, down, out=P(None, None, "x"))


@FAMILY.program
def three_axes_gradient(draw: Draw) -> Case:
    """Batch, features and hidden features each have an axis."""
    x = activations(draw, "x", None, "y")
    w = f32((SIZE, 4 * SIZE), "y", "z"), f32((4 * SIZE, SIZE), "z", "y")
    out = (P("x", None, "y"), P("y", "z"), P("z", "y"))
    return case(cube(), gradient(mlp, 2), x, *w, out=out)


@FAMILY.program
def scanned_layers(draw: Draw) -> Case:
    """A scan over layers, split over hidden features."""
    layers = draw.of(3, 4)
    ups, downs = f32((layers, SIZE, 128), None, None, "y"), f32((layers, 128, SIZE), None, "y")
    run = lambda x, ups, downs: lax.scan(lambda x, w: (x + 0.01 * mlp(x, *w), ()), x, (ups, downs))[0]
    return case(draw.grid(), run, activations(draw, *WHOLE), ups, downs, out=P(*WHOLE))


@FAMILY.program
def scanned_layers_gradient(draw: Draw) -> Case:
    layers = draw.of(3, 4)
    ups, downs = f32((layers, SIZE, 128), None, None, "y"), f32((layers, 128, SIZE), None, "y")
    run = lambda x, ups, downs: lax.scan(lambda x, w: (x + 0.01 * mlp(x, *w), ()), x, (ups, downs))[0]
    out = (P(*WHOLE), ups.spec, downs.spec)
    return case(draw.grid(), gradient(run, 2), activations(draw, *WHOLE), ups, downs, out=out)


@FAMILY.program
def vocabulary(draw: Draw) -> Case:
    """Logits over a split vocabulary, and the loss of the labels."""
    words = draw.times(64, 2, 4)

    def run(x, table, hot):
        logits = x @ table
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.sum(logits * hot, -1))

    x = activations(draw, *WHOLE)
    hot = f32((*x.shape[:2], words), "x", None, "y")
    return case(draw.grid(), run, x, f32((SIZE, words), None, "y"), hot, out=P())


@FAMILY.program
def two_products_summed(draw: Draw) -> Case:
    """Two layers whose partial results are added: one sum over devices is enough."""
    x = f32((draw.times(32, 1, 3), 4 * SIZE), "x", "y")
    w = f32((4 * SIZE, SIZE), "y")
    return case(draw.grid(), lambda x, y, v, w: x @ v + y @ w, x, x, w, w, out=P("x"))
