"""Whole models, each with a loss: one real scalar, whose gradient with respect to the parameters is taken."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from calculus.catalogue import Catalogue, Draw

CATALOGUE = Catalogue()


def model(dtypes=("f32",), **options):
    """Decorator: adds a model. It is differentiated with respect to its floating-point arguments."""
    return CATALOGUE.entry(dtypes, sum=False, **options)


def weights(d: Draw, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Normal weights with the scale of their first dimensions."""
    scale = lambda shape: 1 / np.sqrt(max(1, np.prod(shape[:-1])))
    return [(d.rng.standard_normal(shape) * scale(shape)).astype(d.dtype) for shape in shapes]


def cross_entropy(logits, labels):
    """The mean of the negative log-likelihoods."""
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], axis=-1))


def layer_norm(x, scale):
    """Normalizes the last dimension."""
    centered = x - x.mean(-1, keepdims=True)
    return centered * lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * scale


@model()
def mlp(d):
    def loss(x, y, w1, b1, w2, b2):
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    return loss, *weights(d, (5, 4), (5, 2), (4, 6), (6,), (6, 2), (2,))


@model()
def convolutional_net(d):
    def loss(x, labels, k1, k2, w):
        names = ("NHWC", "HWIO", "NHWC")
        for k in (k1, k2):
            x = nn.relu(lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=names))
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return cross_entropy(x.reshape(len(x), -1) @ w, labels)

    return loss, d.distinct(2, 8, 8, 2) / 8, d.below(3, 2), *weights(d, (3, 3, 2, 4), (3, 3, 4, 4), (16, 3))


@model()
def recurrent_net(d):
    def loss(xs, y, w, u, v):
        step = lambda h, x: (jnp.tanh(h @ w + x @ u), None)
        h, _ = lax.scan(step, jnp.zeros((xs.shape[1], 5), xs.dtype), xs)
        return jnp.mean((h @ v - y) ** 2)

    return loss, *weights(d, (6, 2, 3), (2, 2), (5, 5), (3, 5), (5, 2))


@model()
def lstm(d):
    def loss(xs, ys, w, u, b):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
            c = nn.sigmoid(f + 1) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((xs.shape[1], 4), xs.dtype)
        return jnp.mean((lax.scan(step, (zeros, zeros), xs)[1] - ys) ** 2)

    return loss, *weights(d, (5, 2, 3), (5, 2, 4), (3, 16), (4, 16), (16,))


@model()
def gru(d):
    def loss(xs, w, u):
        def step(h, x):
            (r, z), n = jnp.split(nn.sigmoid(x @ w[0] + h @ u[0]), 2, -1), x @ w[1]
            h = (1 - z) * jnp.tanh(n[:, :4] + r * (h @ u[1])[:, :4]) + z * h
            return h, h.sum(-1)

        _, ys = lax.scan(step, jnp.zeros((xs.shape[1], 4), xs.dtype), xs, reverse=True)
        return jnp.mean(ys**2)

    return loss, *weights(d, (5, 2, 3), (2, 3, 8), (2, 4, 8))


def attend(x, wq, wk, wv, wo, heads: int):
    """Causal self-attention."""
    split = lambda t: t.reshape(*t.shape[:2], heads, -1)
    q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    chosen = nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", chosen, v).reshape(x.shape) @ wo


@model()
def attention(d):
    def loss(x, y, wq, wk, wv, wo):
        return jnp.mean((attend(x, wq, wk, wv, wo, 2) - y) ** 2)

    return loss, *weights(d, (2, 5, 8), (2, 5, 8), (8, 8), (8, 8), (8, 8), (8, 8))


@model()
def transformer_by_scan(d):
    def loss(tokens, labels, table, layers, head):
        def layer(x, p):
            wq, wk, wv, wo, w1, w2, s1, s2 = p
            x = x + attend(layer_norm(x, s1), wq, wk, wv, wo, 2)
            return x + nn.gelu(layer_norm(x, s2) @ w1) @ w2, None

        x, _ = lax.scan(jax.checkpoint(layer), table[tokens], layers)
        return cross_entropy(layer_norm(x, 1.0) @ head, labels)

    attention = weights(d, *[(3, 8, 8)] * 4)
    rest = weights(d, (3, 8, 16), (3, 16, 8))
    scales = [np.ones((3, 8), d.dtype)] * 2
    table, head = weights(d, (11, 8), (8, 11))
    function = lambda tokens, labels, table, head, *layers: loss(tokens, labels, table, layers, head)
    return function, d.below(11, 2, 5), d.below(11, 2, 5), table, head, *attention, *rest, *scales


@model()
def graph_net(d):
    def loss(nodes, senders, receivers, y, w1, w2):
        for w in (w1, w2):
            messages = nn.relu(jnp.concatenate([nodes[senders], nodes[receivers]], -1) @ w)
            nodes = nodes + jax.ops.segment_sum(messages, receivers, nodes.shape[0])
        return jnp.mean((nodes.sum(-1) - y) ** 2)

    x, y, w1, w2 = weights(d, (6, 3), (6,), (6, 3), (6, 3))
    return loss, x, d.below(6, 9), d.below(6, 9), y, w1, w2


@model()
def variational_autoencoder(d):
    def loss(x, enc, mean, spread, dec):
        h = jnp.tanh(x @ enc)
        m, s = h @ mean, h @ spread
        z = m + jnp.exp(s) * jax.random.normal(jax.random.key(1), m.shape, m.dtype)
        logits = z @ dec
        fit = jnp.sum(nn.softplus(logits) - x * logits)
        return fit + 0.5 * jnp.sum(m**2 + jnp.exp(2 * s) - 2 * s - 1)

    return loss, *weights(d, (4, 6), (6, 5), (5, 2), (5, 2), (2, 6))


@model()
def normalizing_flow(d):
    def loss(x, *layers):
        total = 0
        for k, (w, b) in enumerate(zip(layers[::2], layers[1::2])):
            kept, moved = (x[:, :2], x[:, 2:]) if k % 2 else (x[:, 2:], x[:, :2])
            scale, shift = jnp.split(jnp.tanh(kept @ w + b), 2, -1)
            moved = moved * jnp.exp(scale) + shift
            x = jnp.concatenate([kept, moved] if k % 2 else [moved, kept], -1)
            total = total + scale.sum(-1)
        return jnp.mean(0.5 * (x**2).sum(-1) - total)

    return loss, *weights(d, (5, 4), (2, 4), (4,), (2, 4), (4,), (2, 4), (4,))


@model(("f64",))
def differential_equation(d):
    def loss(y, w, target):
        field = lambda y: jnp.tanh(y @ w) - 0.1 * y

        def step(_, y):
            k1 = field(y)
            k2 = field(y + 0.05 * k1)
            k3 = field(y + 0.05 * k2)
            return y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + field(y + 0.1 * k3))

        return jnp.sum((lax.fori_loop(0, 12, step, y) - target) ** 2)

    return loss, *weights(d, (3, 4), (4, 4), (3, 4))


@model(("f64",), platforms=("tpu",))
def gaussian_process(d):
    def loss(x, y, scale, noise):
        distance = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        kernel = jnp.exp(-0.5 * distance * jnp.exp(scale)) + jnp.exp(noise) * jnp.eye(len(x), dtype=x.dtype)
        factor = jnp.linalg.cholesky(kernel)
        white = lax.linalg.triangular_solve(factor, y[:, None], left_side=True, lower=True)
        return 0.5 * jnp.sum(white**2) + jnp.sum(jnp.log(jnp.diagonal(factor)))

    return loss, *weights(d, (7, 2), (7,)), d.normal(), d.normal()


@model(("f64",))
def stencil(d):
    def loss(u, v, target):
        def step(state, _):
            u, v = state
            shifts = [(1, 0), (-1, 0), (1, 1), (-1, 1)]
            laplacian = sum(jnp.roll(u, s, axis) for s, axis in shifts) - 4 * u
            v = v + 0.1 * laplacian - 0.01 * v * jnp.abs(v)
            return (u + 0.1 * v, v), jnp.sum(u**2)

        (u, _), energies = lax.scan(step, (u, v), None, length=10)
        return jnp.sum((u - target) ** 2) + jnp.mean(energies)

    return loss, d.normal(6, 5), d.normal(6, 5), d.normal(6, 5)


@model()
def soft_means(d):
    def loss(x, centres):
        def step(c, _):
            near = nn.softmax(-jnp.sum((x[:, None] - c[None]) ** 2, -1))
            return near.T @ x / near.sum(0)[:, None], None

        centres, _ = lax.scan(step, centres, None, length=4)
        return jnp.mean(jnp.min(jnp.sum((x[:, None] - centres[None]) ** 2, -1), axis=1))

    return loss, *weights(d, (9, 2), (3, 2))


@model(("f64",))
def hidden_markov(d):
    def loss(start, moves, emits, seen):
        moves, emits = nn.log_softmax(moves), nn.log_softmax(emits)
        step = lambda a, o: (nn.logsumexp(a[:, None] + moves, axis=0) + emits[:, o], None)
        a, _ = lax.scan(step, nn.log_softmax(start) + emits[:, seen[0]], seen[1:])
        return -nn.logsumexp(a)

    return loss, d.normal(4), d.normal(4, 4), d.normal(4, 5), d.below(5, 8)


@model()
def conditional_random_field(d):
    def loss(x, w, moves, tags):
        scores = x @ w

        def step(a, s):
            return nn.logsumexp(a[:, None] + moves, axis=0) + s, None

        total = nn.logsumexp(lax.scan(step, scores[0], scores[1:])[0])
        own = scores[jnp.arange(len(tags)), tags].sum() + moves[tags[:-1], tags[1:]].sum()
        return total - own

    return loss, *weights(d, (6, 3), (3, 4), (4, 4)), d.below(4, 6)


@model()
def mixture_of_experts(d):
    def loss(x, y, gate, w1, w2):
        scores, chosen = lax.top_k(x @ gate, 2)
        part = nn.softmax(scores)
        mask = nn.one_hot(chosen, gate.shape[1], dtype=x.dtype)
        h = jnp.einsum("nd,edf->nef", x, w1)
        out = jnp.einsum("nef,efd->ned", nn.silu(h), w2)
        return jnp.mean((jnp.einsum("nk,nke,ned->nd", part, mask, out) - y) ** 2)

    return loss, *weights(d, (6, 4), (6, 4), (4, 5), (5, 4, 3), (5, 3, 4))


@model()
def mixture_of_experts_ragged(d):
    def loss(x, y, gate, w1, w2):
        best = jnp.argmax(x @ gate, axis=-1)
        order = jnp.argsort(best)
        sizes = jnp.bincount(best, length=gate.shape[1]).astype(jnp.int32)
        h = lax.ragged_dot(x[order], w1, sizes)
        out = lax.ragged_dot(nn.silu(h), w2, sizes)
        part = jnp.take_along_axis(nn.softmax(x @ gate), best[:, None], 1)
        return jnp.mean((part * jnp.zeros_like(x).at[order].set(out) - y) ** 2)

    return loss, *weights(d, (6, 4), (6, 4), (4, 3), (3, 4, 5), (3, 5, 4))


@model(("f64",))
def residual_net(d):
    def loss(x, labels, k1, k2, s1, s2, w):
        def norm(x, s):
            centered = x - x.mean((0, 2, 3), keepdims=True)
            return centered / jnp.sqrt((centered**2).mean((0, 2, 3), keepdims=True) + 1e-5) * s[:, None, None]

        h = nn.relu(norm(lax.conv_general_dilated(x, k1, (1, 1), "SAME"), s1))
        x = nn.relu(x + norm(lax.conv_general_dilated(h, k2, (1, 1), "SAME"), s2))
        return cross_entropy(x.mean((2, 3)) @ w, labels)

    k1, k2, w = weights(d, (3, 3, 3, 3), (3, 3, 3, 3), (3, 4))
    return loss, d.normal(3, 3, 5, 5), d.below(4, 3), k1, k2, d.positive(3), d.positive(3), w


@model()
def embeddings(d):
    def loss(tokens, labels, table, w):
        return cross_entropy(table[tokens].mean(1) @ w, labels) + 0.01 * jnp.sum(table**2)

    return loss, d.below(9, 4, 3), d.below(5, 4), *weights(d, (9, 4), (4, 5))


@model(("f64",))
def mixture_density(d):
    def loss(x, y, w1, w2):
        logits, means, scales = jnp.split(jnp.tanh(x @ w1) @ w2, 3, axis=-1)
        scores = -0.5 * ((y - means) * jnp.exp(-scales)) ** 2 - scales - 0.5 * np.log(2 * np.pi)
        return -jnp.mean(nn.logsumexp(nn.log_softmax(logits) + scores, axis=-1))

    return loss, *weights(d, (6, 2), (6, 1), (2, 5), (5, 9))


@model(("f64",))
def pooling_net(d):
    def loss(x, k, w):
        x = lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = lax.reduce_window(nn.silu(x), 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME") / 9
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")
        return jnp.sum(jnp.sin(x.reshape(len(x), -1) @ w))

    return loss, d.normal(2, 7, 7, 2), *weights(d, (2, 2, 2, 3), (12, 2))


@model(("f64",))
def fourier_filter(d):
    def loss(x, y, low, gain):
        spectrum = jnp.fft.rfft(x)
        frequency = jnp.arange(spectrum.shape[-1], dtype=x.dtype)
        filtered = jnp.fft.irfft(spectrum * (gain / (1 + (frequency / low) ** 2)), x.shape[-1])
        return jnp.mean((filtered - y) ** 2)

    return loss, d.normal(3, 12), d.normal(3, 12), d.positive(), d.positive(7)


@model(("f64",))
def spectral_layer(d):
    def loss(x, real, imag, w):
        modes = jnp.fft.fft(x)[:, :3] * lax.complex(real, imag)
        return jnp.mean(jnp.tanh(jnp.fft.ifft(jnp.pad(modes, ((0, 0), (0, 5)))).real + x * w) ** 2)

    return loss, d.normal(2, 8), d.normal(3), d.normal(3), d.normal()


@model()
def deep_sets(d):
    def loss(x, owner, y, w1, w2):
        h = nn.elu(x @ w1)
        top = jax.ops.segment_max(h, owner, 3)
        return jnp.mean((jnp.where(jnp.isfinite(top), top, 0) @ w2 - y) ** 2)

    x, y, w1, w2 = weights(d, (7, 3), (3, 2), (3, 4), (4, 2))
    return loss, x, np.array([0, 1, 2, 0, 1, 2, 2], np.int32), y, w1, w2


@model(("f64",), platforms=("tpu",))
def kalman_filter(d):
    def loss(a, q, r, ys):
        def step(state, y):
            m, p = state
            m, p = a @ m, a @ p @ a.T + jnp.diag(jnp.exp(q))
            s = p[:1, :1] + jnp.exp(r)
            gain = p[:, 0] / s[0, 0]
            error = y - m[0]
            return (m + gain * error, p - jnp.outer(gain, p[0])), 0.5 * (jnp.log(s[0, 0]) + error**2 / s[0, 0])

        _, terms = lax.scan(step, (jnp.zeros(2, a.dtype), jnp.eye(2, dtype=a.dtype)), ys)
        return jnp.sum(terms)

    return loss, d.normal(2, 2) / 2, d.normal(2), d.normal(), d.normal(6)


@model(("bf16",))
def mlp_in_bf16(d):
    def loss(x, y, w1, w2):
        h = nn.relu(x @ w1)
        return jnp.mean((h @ w2).astype(jnp.float32) * y.astype(jnp.float32))

    return loss, *weights(d, (5, 4), (5, 2), (4, 6), (6, 2))
