"""Fully sharded data parallel: parameters and batch are split over the same axis."""

import jax
import jax.numpy as jnp
from harness import P, mesh
from jax import lax

from traffic import Case, Draw, Family, case, f32, line

FAMILY = Family("fsdp")


def batch(draw: Draw, *spec, features: int = 64):
    """Rows of a batch."""
    return f32((draw.times(64, 1, 4), features), *(spec or ("x",)))


def mlp(x, up, down):
    """Two layers with a residual sum."""
    return x + jax.nn.relu(x @ up) @ down


def pair(draw: Draw, *spec, features: int = 64):
    """The weights of two layers, split alike."""
    hidden = features * draw.of(2, 4)
    return f32((features, hidden), *spec), f32((hidden, features), *spec)


def summed(run):
    """A loss."""
    return lambda *args: jnp.sum(run(*args) ** 2)


@FAMILY.variants(rows=("x",), columns=(None, "x"))
def forward(draw: Draw, spec: tuple) -> Case:
    return case(line(), mlp, batch(draw), *pair(draw, *spec), out=P("x"))


@FAMILY.variants(rows=("x",), columns=(None, "x"))
def gradient(draw: Draw, spec: tuple) -> Case:
    run = jax.grad(summed(mlp), (1, 2))
    return case(line(), run, batch(draw), *pair(draw, *spec), out=(P(*spec), P(*spec)))


@FAMILY.program
def training_step(draw: Draw) -> Case:
    """A step of gradient descent."""

    def run(x, up, down):
        a, b = jax.grad(summed(mlp), (1, 2))(x, up, down)
        return up - 0.1 * a, down - 0.1 * b

    return case(line(), run, batch(draw), *pair(draw, "x"), out=(P("x"), P("x")))


@FAMILY.program
def hybrid_gradient(draw: Draw) -> Case:
    """The batch is split over two axes, parameters over one of them."""
    x = batch(draw, ("x", "y"))
    run = jax.grad(summed(mlp), (1, 2))
    return case(draw.grid(), run, x, *pair(draw, "y"), out=(P("y"), P("y")))


@FAMILY.program
def with_tensor_gradient(draw: Draw) -> Case:
    """Parameters are split over both axes, the batch over one."""
    x = batch(draw)
    hidden = 64 * draw.of(2, 4)
    up, down = f32((64, hidden), "x", "y"), f32((hidden, 64), "y", "x")
    run = jax.grad(summed(mlp), (1, 2))
    return case(draw.grid(), run, x, up, down, out=(P("x", "y"), P("y", "x")))


def stack(x, ups, downs):
    """A scan over layers."""
    return lax.scan(lambda x, w: (mlp(x, *w), ()), x, (ups, downs))[0]


def stacked(draw: Draw):
    """The weights of several layers; each layer is split."""
    layers = draw.of(2, 3)
    return f32((layers, 64, 96), None, "x"), f32((layers, 96, 64), None, "x")


@FAMILY.program
def layers(draw: Draw) -> Case:
    return case(line(), stack, batch(draw), *stacked(draw), out=P("x"))


@FAMILY.program
def layers_gradient(draw: Draw) -> Case:
    spec = P(None, "x")
    return case(line(), jax.grad(summed(stack), (1, 2)), batch(draw), *stacked(draw), out=(spec, spec))


@FAMILY.program
def layers_remade_gradient(draw: Draw) -> Case:
    """Activations are computed again in the backward pass."""
    body = jax.checkpoint(lambda x, w: (mlp(x, *w), ()))
    run = lambda x, ups, downs: lax.scan(body, x, (ups, downs))[0]
    spec = P(None, "x")
    return case(line(), jax.grad(summed(run), (1, 2)), batch(draw), *stacked(draw), out=(spec, spec))


@FAMILY.program
def gated_gradient(draw: Draw) -> Case:
    """A gated layer has three weights, two of which multiply the same input."""
    run = jax.grad(summed(lambda x, a, b, c: (jax.nn.silu(x @ a) * (x @ b)) @ c), (1, 2, 3))
    hidden = 64 * draw.of(2, 3)
    into = f32((64, hidden), "x")
    args = batch(draw), into, into, f32((hidden, 64), "x")
    return case(line(), run, *args, out=(P("x"),) * 3)


@FAMILY.program
def embedding_gradient(draw: Draw) -> Case:
    """A tied embedding: it is read by tokens and multiplied for logits."""
    words = draw.times(64, 1, 3)

    def loss(table, x):
        return jnp.mean(jax.nn.logsumexp(jnp.tanh(x @ table.T) @ table @ table.T, -1))

    return case(line(), jax.grad(loss), f32((words, 64), "x"), batch(draw), out=P("x"))


@FAMILY.program
def attention_gradient(draw: Draw) -> Case:
    """Four projections around an attention."""
    x = f32((16, draw.of(8, 16), 64), "x")

    def run(x, wq, wk, wv, wo):
        q, k, v = (jnp.einsum("btd,dhk->bthk", x, w) for w in (wq, wk, wv))
        weights = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k))
        return jnp.einsum("bqhk,hkd->bqd", jnp.einsum("bhqs,bshk->bqhk", weights, v), wo)

    into = f32((64, 4, 16), "x")
    args = x, into, into, into, f32((4, 16, 64), None, None, "x")
    out = (P("x"), P("x"), P("x"), P(None, None, "x"))
    return case(line(), jax.grad(summed(run), (1, 2, 3, 4)), *args, out=out)


@FAMILY.program
def normalized_gradient(draw: Draw) -> Case:
    """Scales and shifts are split too."""

    def run(x, scale, w):
        normal = x * lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * scale
        return jax.nn.gelu(normal @ w)

    args = batch(draw), f32((64,), "x"), f32((64, 128), "x")
    return case(mesh(x=8), jax.grad(summed(run), (1, 2)), *args, out=(P("x"), P("x")))
