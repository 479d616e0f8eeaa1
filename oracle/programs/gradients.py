"""value_and_grad of whole models, with custom derivatives and rematerialisation."""

from harness import Arg, Family, P, below, mesh, normal

import jax
import jax.numpy as jnp

FAMILY = Family("gradients")
MESH = mesh(data=2, model=4)
X = Arg((8, 16), "f32", P("data", None))
WIDE = Arg((16, 32), "f32", P(None, "model"), normal(0.25))
TALL = Arg((32, 16), "f32", P("model", None), normal(0.25))


@FAMILY.program(MESH, X, WIDE, TALL, sample=True)
def mlp(x, w1, w2):
    loss = lambda w1, w2: jnp.mean((jax.nn.relu(x @ w1) @ w2 - x) ** 2)
    return jax.value_and_grad(loss, argnums=(0, 1))(w1, w2)


@FAMILY.program(
    MESH,
    Arg((4, 8, 16), "f32", P("data", None, None)),
    *[Arg((16, 4, 4), "f32", P(None, "model", None), normal(0.25))] * 3,
    Arg((4, 4, 16), "f32", P("model", None, None), normal(0.25)),
    WIDE,
    TALL,
)
def transformer_block(x, wq, wk, wv, wo, w1, w2):
    def loss(x, weights):
        wq, wk, wv, wo, w1, w2 = weights
        q, k, v = (jnp.einsum("btd,dhk->bthk", x, w) for w in (wq, wk, wv))
        scores = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k) / 2, axis=-1)
        x = x + jnp.einsum("bhqs,bshk,hkd->bqd", scores, v, wo)
        return jnp.mean((x + jax.nn.gelu(x @ w1) @ w2) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1))(x, (wq, wk, wv, wo, w1, w2))


@jax.custom_vjp
def clipped(x):
    """The identity, with a gradient clipped to [-1/4, 1/4]."""
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.25, 0.25),))


@FAMILY.program(MESH, X, WIDE)
def custom_vjp(x, w):
    return jax.value_and_grad(lambda w: jnp.sum(clipped(x @ w) ** 2))(w)


@FAMILY.program(MESH, X, WIDE, TALL)
def remat(x, w1, w2):
    layer = jax.checkpoint(lambda x: x + jnp.tanh(jnp.sin(x @ w1) @ w2))
    return jax.value_and_grad(lambda x: jnp.sum(layer(layer(x))))(x)


@FAMILY.program(MESH, X, Arg((3, 16, 16), "f32", P(None, None, "model"), normal(0.25)), sample=True)
def through_scan(x, weights):
    def loss(weights):
        return jnp.mean(jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0])

    return jax.value_and_grad(loss)(weights)


@FAMILY.program(
    MESH,
    X,
    Arg((16, 32), "bf16", P(None, "model"), normal(0.25)),
    Arg((8,), "i32", P("data"), below(32)),
    locations=True,
)
def classifier_bf16(x, w, labels):
    def loss(w):
        log_probs = jax.nn.log_softmax((x.astype(jnp.bfloat16) @ w).astype(jnp.float32))
        return -jnp.mean(jnp.take_along_axis(log_probs, labels[:, None], axis=1))

    return jax.value_and_grad(loss)(w)


@FAMILY.program(MESH, X, WIDE)
def jacobian_vector_products(x, w):
    f = lambda x: jax.nn.softplus(x @ w)
    return jax.jvp(f, (x,), (jnp.cos(x),)), jax.vmap(jax.grad(lambda row: jnp.sum(jnp.sin(row @ w))))(x)


@FAMILY.program(
    MESH,
    X,
    WIDE,
    *[Arg((16, 32), "f32", P(None, "model"), normal(0.125))] * 2,
    donate=(1, 2, 3),
    out=(P(), *[P(None, "model")] * 3),
)
def adam_step(x, w, m, v):
    v = jnp.square(v)
    value, grad = jax.value_and_grad(lambda w: jnp.mean(jnp.square(x @ w)))(w)
    m, v = 0.9 * m + 0.1 * grad, 0.99 * v + 0.01 * jnp.square(grad)
    return value, w - 0.0625 * m / (jnp.sqrt(v) + 1e-3), m, v
