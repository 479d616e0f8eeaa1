"""Losses and scores: split vocabularies, contrasts between all pairs, statistics, random numbers."""

import jax
import jax.numpy as jnp
from harness import Arg, P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("losses")


def logits(draw: Draw, *spec):
    """Rows and words."""
    return f32((draw.times(16, 1, 4), draw.times(64, 1, 3)), *(spec or ("x", "y")))


def smoothed(x, labels):
    """Cross entropy with smoothed labels."""
    hot = 0.9 * jax.nn.one_hot(labels, x.shape[1]) + 0.1 / x.shape[1]
    return -jnp.mean(jnp.sum(hot * jax.nn.log_softmax(x), 1))


def with_z(x, labels):
    """Cross entropy, and a penalty for large sums of exponentials."""
    top = jax.nn.logsumexp(x, 1)
    chosen = jnp.take_along_axis(x, labels[:, None], 1)[:, 0]
    return jnp.mean(top - chosen + 0.01 * top**2)


def focal(x, labels):
    """Hard examples count more."""
    chances = jax.nn.softmax(x)
    chosen = jnp.sum(jnp.where(jnp.arange(x.shape[1]) == labels[:, None], chances, 0), 1)
    return -jnp.mean((1 - chosen) ** 2 * jnp.log(chosen + 1e-6))


def masked(x, labels):
    """Rows with label 0 do not count."""
    weights = labels > 0
    losses = jax.nn.logsumexp(x, 1) - jnp.take_along_axis(x, labels[:, None], 1)[:, 0]
    return jnp.sum(losses * weights) / jnp.maximum(jnp.sum(weights), 1)


def margin(x, labels):
    """The largest other score comes too close to the right one."""
    right = jnp.take_along_axis(x, labels[:, None], 1)
    others = jnp.where(jnp.arange(x.shape[1]) == labels[:, None], -jnp.inf, x)
    return jnp.mean(jax.nn.relu(1 + others.max(1) - right[:, 0]))


def top_five(x, labels):
    """How often the label is among the five best."""
    best = lax.top_k(x, 5)[1]
    return jnp.mean((best == labels[:, None]).any(1).astype(jnp.float32))


def accuracy(x, labels):
    """How often the label is the best."""
    return jnp.mean((jnp.argmax(x, 1) == labels).astype(jnp.float32))


LOSSES = {"smoothed": smoothed, "with_z": with_z, "focal": focal, "masked": masked, "margin": margin}


@FAMILY.variants(**LOSSES, top_five=top_five, accuracy=accuracy)
def of_words(draw: Draw, run) -> Case:
    x = logits(draw)
    return case(draw.grid(), run, x, i32(x.shape[:1], "x"), out=P())


@FAMILY.variants(**LOSSES)
def of_words_gradient(draw: Draw, run) -> Case:
    x = logits(draw)
    return case(draw.grid(), jax.grad(run), x, i32(x.shape[:1], "x"), out=P("x", "y"))


@FAMILY.variants(**LOSSES)
def of_hidden_gradient(draw: Draw, run) -> Case:
    """The logits are made of split activations and a split table."""
    x = f32((draw.times(16, 1, 4), 32), "x")
    table = f32((32, draw.times(64, 1, 3)), None, "y")
    loss = lambda x, table, labels: run(x @ table, labels)
    run_both = jax.value_and_grad(loss, (0, 1))
    return case(draw.grid(), run_both, x, table, i32(x.shape[:1], "x"), out=(P(), (P("x"), P(None, "y"))))


@FAMILY.program
def chunked_gradient(draw: Draw) -> Case:
    """The logits of one chunk of rows at a time."""
    x, labels = f32((4, 16, 32), None, "x"), i32((4, 16), None, "x")

    def loss(x, table, labels):
        part = jax.checkpoint(lambda x, labels: with_z(x @ table, labels))
        return lax.scan(lambda total, now: (total + part(*now), ()), 0.0, (x, labels))[0]

    return case(draw.grid(), jax.grad(loss, (0, 1)), x, f32((32, 64), None, "y"), labels, out=(x.spec, P(None, "y")))


def unit(x):
    """Rows of length one."""
    return x * lax.rsqrt(jnp.sum(x**2, 1, keepdims=True) + 1e-6)


def clip(a, b):
    """Images and texts: each must find its partner among all."""
    scores = 4 * unit(a) @ unit(b).T
    rows = jax.nn.logsumexp(scores, 1) - jnp.diagonal(scores)
    columns = jax.nn.logsumexp(scores, 0) - jnp.diagonal(scores)
    return jnp.mean(rows + columns) / 2


def siglip(a, b):
    """The same with a sigmoid for each pair."""
    scores = 4 * unit(a) @ unit(b).T
    signs = 2 * jnp.eye(a.shape[0]) - 1
    return -jnp.mean(jax.nn.log_sigmoid(signs * scores))


def simclr(a, b):
    """All pairs among both views, without the pairs with itself."""
    both = unit(jnp.concatenate([a, b]))
    n = both.shape[0]
    scores = jnp.where(jnp.eye(n, dtype=bool), -1e9, 4 * both @ both.T)
    partner = (jnp.arange(n) + n // 2) % n
    return jnp.mean(jax.nn.logsumexp(scores, 1) - jnp.take_along_axis(scores, partner[:, None], 1)[:, 0])


def decorrelated(a, b):
    """Barlow twins: the features of both views should correlate only with themselves."""
    a, b = ((x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) for x in (a, b))
    cross = a.T @ b / a.shape[0]
    return jnp.sum((cross - jnp.eye(cross.shape[0])) ** 2)


def triplet(a, b):
    """The next row is the negative example."""
    return jnp.mean(jax.nn.relu(1 + jnp.sum((a - b) ** 2, 1) - jnp.sum((a - jnp.roll(b, 1, 0)) ** 2, 1)))


PAIRS = {"clip": clip, "siglip": siglip, "simclr": simclr, "decorrelated": decorrelated, "triplet": triplet}


@FAMILY.variants(**PAIRS)
def of_pairs(draw: Draw, run) -> Case:
    x = f32((draw.times(32, 1, 3), 32), "x")
    return case(line(), run, x, x, out=P())


@FAMILY.variants(**PAIRS)
def of_pairs_gradient(draw: Draw, run) -> Case:
    x = f32((draw.times(32, 1, 3), 32), "x", "y")
    return case(draw.grid(), jax.grad(run, (0, 1)), x, x, out=(x.spec, x.spec))


@FAMILY.program
def distilled(draw: Draw) -> Case:
    """The divergence between two distributions over split words."""
    x = logits(draw)

    def run(x, y):
        p, q = jax.nn.log_softmax(x), jax.nn.log_softmax(y)
        return jnp.mean(jnp.sum(jnp.exp(q) * (q - p), 1))

    return case(draw.grid(), jax.value_and_grad(run), x, x, out=(P(), P("x", "y")))


@FAMILY.program
def advantages(draw: Draw) -> Case:
    """Generalized advantages: a reversed scan over split time, and their normalization."""
    x = f32((16, draw.times(16, 1, 3)), None, "x")

    def run(rewards, values):
        after = jnp.concatenate([values[:, 1:], jnp.zeros((16, 1))], 1)
        delta = rewards + 0.9 * after - values
        combine = lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1])
        made = lax.associative_scan(combine, (jnp.full_like(delta, 0.8), delta), axis=1, reverse=True)[1]
        return (made - made.mean()) / (made.std() + 1e-5)

    return case(line(), run, x, x, out=P(None, "x"))


@FAMILY.program
def clipped_policy(draw: Draw) -> Case:
    """PPO's loss and its gradient."""
    x = f32((draw.times(32, 1, 3), 16), "x")

    def loss(w, x, actions, old, advantage):
        new = jax.nn.log_softmax(x @ w)[jnp.arange(x.shape[0]), actions]
        ratio = jnp.exp(jnp.tanh(new - old))
        return -jnp.mean(jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage))

    rows = f32(x.shape[:1], "x")
    return case(line(), jax.value_and_grad(loss), f32((16, 8)), x, i32(x.shape[:1], "x"), rows, rows, out=(P(), P()))


@FAMILY.program
def dropout(draw: Draw) -> Case:
    """Random numbers made in the program, for split activations."""

    def run(x, seed):
        keep = jax.random.bernoulli(jax.random.key(seed), 0.9, x.shape)
        return jnp.where(keep, x / 0.9, 0)

    return case(draw.grid(), run, logits(draw), i32(()), out=P("x", "y"))


@FAMILY.program
def dropout_gradient(draw: Draw) -> Case:
    x = f32((draw.times(16, 1, 4), 32), "x")

    def loss(w, x, seed):
        h = jax.nn.relu(x @ w)
        keep = jax.random.bernoulli(jax.random.key(seed), 0.9, h.shape)
        return jnp.sum(jnp.where(keep, h / 0.9, 0) ** 2)

    return case(draw.grid(), jax.grad(loss), f32((32, 64), None, "y"), x, i32(()), out=P(None, "y"))


@FAMILY.variants(normal=jax.random.normal, uniform=jax.random.uniform, gumbel=jax.random.gumbel)
def random_parameters(draw: Draw, run) -> Case:
    shape = draw.times(16, 1, 4), draw.times(16, 1, 4)
    return case(draw.grid(), lambda seed: run(jax.random.key(seed), shape), i32(()), out=P("x", "y"))


@FAMILY.program
def random_keys(draw: Draw) -> Case:
    """A key for each row."""

    def run(x, seed):
        keys = jax.random.split(jax.random.key(seed), x.shape[0])
        return x + jax.vmap(lambda k: jax.random.normal(k, x.shape[1:]))(keys)

    return case(line(), run, f32((draw.times(16, 1, 3), 32), "x"), i32(()), out=P("x"))


@FAMILY.program
def random_order(draw: Draw) -> Case:
    """Shuffles the rows of a batch."""
    run = lambda x, seed: jax.random.permutation(jax.random.key(seed), x)
    return case(line(), run, f32((draw.times(32, 1, 3), 32), "x"), i32(()), out=P("x"))


@FAMILY.program
def random_categories(draw: Draw) -> Case:
    run = lambda x, seed: jax.random.categorical(jax.random.key(seed), x)
    return case(draw.grid(), run, logits(draw), i32(()), out=P("x"))


@FAMILY.program
def noised(draw: Draw) -> Case:
    """The loss of a diffusion model: noise by each row's time."""
    x = f32((16, draw.times(32, 1, 3)), "x", "y")

    def run(x, w, times, seed):
        noise = jax.random.normal(jax.random.key(seed), x.shape)
        level = jax.nn.sigmoid(times)[:, None]
        guess = (jnp.sqrt(1 - level) * x + jnp.sqrt(level) * noise) * w
        return jnp.mean((guess - noise) ** 2)

    args = x, f32(x.shape[1:], "y"), f32((16,), "x"), i32(())
    return case(draw.grid(), jax.value_and_grad(run, 1), *args, out=(P(), P("y")))


@FAMILY.program
def codebook(draw: Draw) -> Case:
    """VQ: the nearest code of each row, by straight-through gradients; codes are split."""
    x, codes = f32((draw.times(16, 1, 4), 16), "x"), f32((draw.times(16, 1, 2), 16), "y")

    def loss(x, codes):
        apart = jnp.sum(x**2, 1)[:, None] - 2 * x @ codes.T + jnp.sum(codes**2, 1)
        near = codes[jnp.argmin(apart, 1)]
        made = x + lax.stop_gradient(near - x)
        return jnp.mean(made**2) + jnp.mean((lax.stop_gradient(x) - near) ** 2)

    return case(draw.grid(), jax.grad(loss, (0, 1)), x, codes, out=(P("x"), P("y")))


@FAMILY.program
def ranked(draw: Draw) -> Case:
    """A pairwise loss of ranking: all pairs of a row's scores, which are split."""
    x = f32((8, draw.times(32, 1, 2)), None, "x")

    def loss(x, y):
        apart = x[:, :, None] - x[:, None]
        wrong = jnp.sign(y[:, :, None] - y[:, None])
        return jnp.mean(jax.nn.softplus(-apart * wrong))

    return case(line(), jax.value_and_grad(loss), x, x, out=(P(), P(None, "x")))


@FAMILY.program
def elbo(draw: Draw) -> Case:
    """A variational autoencoder's loss and gradients; hidden features are split."""
    x = f32((draw.times(16, 1, 4), 32), "x")
    ws = f32((32, 32), None, "y"), f32((16, 32), None, "y")

    def loss(ws, x, seed):
        mean, size = jnp.split(x @ ws[0], 2, 1)
        size = jnp.tanh(size)
        z = mean + jnp.exp(size) * jax.random.normal(jax.random.key(seed), mean.shape)
        return jnp.sum((z @ ws[1] - x) ** 2) + jnp.sum(jnp.exp(2 * size) + mean**2 - 2 * size)

    return case(draw.grid(), jax.grad(loss), ws, x, i32(()), out=(ws[0].spec, ws[1].spec))


@FAMILY.program
def calibrated(draw: Draw) -> Case:
    """The error of confidences in ten bins."""
    x = logits(draw)

    def run(x, labels):
        chances = jax.nn.softmax(x)
        best, right = chances.max(1), jnp.argmax(x, 1) == labels
        bins = jnp.clip((10 * best).astype(jnp.int32), 0, 9)
        sums = lambda v: jax.ops.segment_sum(v, bins, 10)
        return jnp.sum(jnp.abs(sums(best) - sums(right.astype(jnp.float32)))) / x.shape[0]

    return case(draw.grid(), run, x, i32(x.shape[:1], "x"), out=P())


@FAMILY.program
def sequences(draw: Draw) -> Case:
    """The likelihood of a hidden Markov model: a scan of logsumexps, with split states."""
    steps = draw.of(4, 8)

    def run(moves, seen):
        step = lambda a, x: (jax.nn.logsumexp(a[:, None] + moves, 0) + x, ())
        return jax.nn.logsumexp(lax.scan(step, jnp.zeros(32), seen)[0])

    return case(line(), run, f32((32, 32), None, "x"), f32((steps, 32), None, "x"), out=P())


@FAMILY.program
def pooled_cube(draw: Draw) -> Case:
    """The mean of valid tokens, and a classification with everything split."""
    x = f32((8, draw.times(16, 1, 3), 32), "x", "y", "z")

    def run(x, valid, w, labels):
        pooled = jnp.sum(x * valid[..., None], 1) / jnp.maximum(valid.sum(1), 1)[:, None]
        return smoothed(pooled @ w, labels)

    valid = Arg(x.shape[:2], "bool", P("x", "y"))
    return case(cube(), jax.value_and_grad(run), x, valid, f32((32, 16), "z"), i32((8,), "x"), out=(P(), x.spec))
