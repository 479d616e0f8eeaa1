"""Language models at work: caches, positions, long contexts, states instead of attention."""

import jax
import jax.numpy as jnp
from harness import P
from jax import lax

from traffic import Case, Draw, Family, case, cube, f32, i32, line

FAMILY = Family("decoding")
BY_HEADS = ("x", None, "y")
BY_TOKENS = ("x", "y")
LAYOUTS = {"heads": BY_HEADS, "tokens": BY_TOKENS}


def cache(draw: Draw, *spec, count: int = 8):
    """Keys or values: batch, tokens, heads, features."""
    return f32((4, draw.times(64, 1, 2), count, 16), *spec)


def attend(q, k, v, mask):
    """Attention with heads in dimension 2."""
    scores = jnp.einsum("bqhd,bshd->bhqs", q, k) / 4 + mask
    return jnp.einsum("bhqs,bshd->bqhd", jax.nn.softmax(scores), v)


@FAMILY.variants(**LAYOUTS)
def step(draw: Draw, spec: tuple) -> Case:
    """A step with cache: the new key and value are written, then all up to it are read."""
    kept = cache(draw, *spec)
    new = f32((4, 1, 8, 16), "x", None, spec[2] if len(spec) > 2 else None)

    def run(q, k, v, keys, values, i):
        keys = lax.dynamic_update_slice_in_dim(keys, k, i, 1)
        values = lax.dynamic_update_slice_in_dim(values, v, i, 1)
        mask = jnp.where(jnp.arange(keys.shape[1]) <= i, 0.0, -1e9)
        return attend(q, keys, values, mask), keys, values

    return case(draw.grid(), run, new, new, new, kept, kept, i32(()), out=(new.spec, P(*spec), P(*spec)))


@FAMILY.variants(**LAYOUTS)
def many_steps(draw: Draw, spec: tuple) -> Case:
    """A loop of steps, of which each feeds the next."""
    kept, steps = cache(draw, *spec), draw.of(3, 4)
    new = f32((4, 1, 8, 16), "x", None, spec[2] if len(spec) > 2 else None)

    def run(x, keys, values):
        def turn(i, state):
            x, keys, values = state
            keys = lax.dynamic_update_slice_in_dim(keys, x, i, 1)
            values = lax.dynamic_update_slice_in_dim(values, x * 0.5, i, 1)
            mask = jnp.where(jnp.arange(keys.shape[1]) <= i, 0.0, -1e9)
            return attend(x, keys, values, mask), keys, values

        return lax.fori_loop(0, steps, turn, (x, keys, values))[0]

    return case(draw.grid(), run, new, kept, kept, out=new.spec)


@FAMILY.variants(**LAYOUTS)
def prefix(draw: Draw, spec: tuple) -> Case:
    """New tokens attend to a cached prefix and to themselves."""
    kept, new = cache(draw, *spec), f32((4, 16, 8, 16), *spec)

    def run(q, k, v, keys, values):
        keys, values = jnp.concatenate([keys, k], 1), jnp.concatenate([values, v], 1)
        tokens = jnp.arange(keys.shape[1])
        mask = jnp.where(tokens <= keys.shape[1] - 16 + jnp.arange(16)[:, None], 0.0, -1e9)
        return attend(q, keys, values, mask)

    return case(draw.grid(), run, new, new, new, kept, kept, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def written_at_places(draw: Draw, spec: tuple) -> Case:
    """Each sequence of the batch writes at its own place."""
    kept = cache(draw, *spec)
    new = f32((4, 8, 16), "x", spec[2] if len(spec) > 2 else None)
    run = lambda kept, new, i: jax.vmap(lambda c, n, i: lax.dynamic_update_slice(c, n[None], (i, 0, 0)))(kept, new, i)
    return case(draw.grid(), run, kept, new, i32((4,), "x"), out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def sliding_cache(draw: Draw, spec: tuple) -> Case:
    """The oldest token leaves, and a new one enters at the end."""
    kept = cache(draw, *spec)
    new = f32((4, 1, 8, 16), "x", None, spec[2] if len(spec) > 2 else None)
    run = lambda kept, new: jnp.concatenate([kept[:, 1:], new], 1)
    return case(draw.grid(), run, kept, new, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def paged(draw: Draw, spec: tuple) -> Case:
    """Keys are read from pages by a table."""
    pages = f32((32, 8, 8, 16), None, None, *spec[2:])
    table, q = i32((4, 8), "x"), f32((4, 8, 16), "x", *spec[2:])

    def run(q, pages, table):
        keys = pages[table].reshape(4, 64, 8, 16)
        weights = jax.nn.softmax(jnp.einsum("bhd,bshd->bhs", q, keys))
        return jnp.einsum("bhs,bshd->bhd", weights, keys)

    return case(draw.grid(), run, q, pages, table, out=q.spec)


@FAMILY.program
def paged_split(draw: Draw) -> Case:
    """The pages are split."""
    pages, table = f32((draw.times(16, 1, 3), 8, 4, 8), "y"), i32((4, 8), "x")
    run = lambda pages, table: pages[table].reshape(4, 64, 4, 8)
    return case(draw.grid(), run, pages, table, out=P("x"))


def rotated(x, places):
    """Rotary positions: pairs of neighbouring features are rotated."""
    angles = places[..., None] / 100.0 ** (jnp.arange(x.shape[-1] // 2) / 8)
    a, b = x[..., ::2], x[..., 1::2]
    cos, sin = jnp.cos(angles)[..., None, :], jnp.sin(angles)[..., None, :]
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


@FAMILY.variants(tokens=("x", "y"), heads=("x", None, "y"), features=("x", None, None, "y"))
def rotary_pairs(draw: Draw, spec: tuple) -> Case:
    x = f32((4, draw.times(32, 1, 2), 8, 16), *spec)
    run = lambda x: rotated(x, jnp.arange(x.shape[1], dtype=jnp.float32)[None])
    return case(draw.grid(), run, x, out=P(*spec))


@FAMILY.program
def rotary_features(draw: Draw) -> Case:
    """Halves are rotated, and features are split."""
    spec = ("x", None, None, "y")
    x = f32((4, draw.times(32, 1, 2), 8, 16), *spec)

    def run(x):
        half = jnp.concatenate([-x[..., 8:], x[..., :8]], -1)
        angles = jnp.arange(x.shape[1])[:, None, None] / 100.0 ** (jnp.arange(16) % 8 / 8)
        return x * jnp.cos(angles) + half * jnp.sin(angles)

    return case(draw.grid(), run, x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def linear_bias(draw: Draw, spec: tuple) -> Case:
    """ALiBi: scores fall with the distance, by a slope for each head."""
    x = cache(draw, *spec)

    def run(q, k, v):
        tokens = jnp.arange(q.shape[1])
        distance = tokens[:, None] - tokens
        slopes = 2.0 ** -jnp.arange(1, 9)
        mask = jnp.where(distance >= 0, -slopes[:, None, None] * distance, -1e9)
        return attend(q, k, v, mask)

    return case(draw.grid(), run, x, x, x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def relative_bias(draw: Draw, spec: tuple) -> Case:
    """A learned bias for each distance, read from a table."""
    x = f32((4, 32, 8, 16), *spec)

    def run(q, k, v, table):
        tokens = jnp.arange(32)
        return attend(q, k, v, table[:, tokens[:, None] - tokens + 31])

    return case(draw.grid(), run, x, x, x, f32((8, 63), *spec[2:]), out=P(*spec))


@FAMILY.variants(tokens=(None, "x"), heads=(None, None, "x"))
def local_blocks(draw: Draw, spec: tuple) -> Case:
    """Each block of queries sees its own block of keys and the one before."""
    x = f32((2, draw.times(128, 1, 2), 8, 16), *spec)

    def run(q, k, v):
        cut = lambda x: x.reshape(2, -1, 16, 8, 16)
        before = lambda x: jnp.concatenate([jnp.pad(x, ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))[:, :-1], x], 2)
        q, k, v = cut(q), before(cut(k)), before(cut(v))
        weights = jax.nn.softmax(jnp.einsum("bnqhd,bnkhd->bnhqk", q, k))
        return jnp.einsum("bnhqk,bnkhd->bnqhd", weights, v).reshape(x.shape)

    return case(line(), run, x, x, x, out=P(*spec))


def flash(q, k, v):
    """A scan over blocks of keys with a running maximum and sum."""
    blocks = lambda x: x.reshape(x.shape[0], -1, 16, *x.shape[2:]).swapaxes(0, 1)

    def turn(state, kv):
        top, total, made = state
        k, v = kv
        scores = jnp.einsum("bqhd,bshd->bhqs", q, k) / 4
        new = jnp.maximum(top, scores.max(-1))
        weights, scale = jnp.exp(scores - new[..., None]), jnp.exp(top - new)
        made = made * scale.transpose(0, 2, 1)[..., None] + jnp.einsum("bhqs,bshd->bqhd", weights, v)
        return (new, total * scale + weights.sum(-1), made), ()

    low = jnp.full((q.shape[0], q.shape[2], q.shape[1]), -1e9)
    (_, total, made), _ = lax.scan(turn, (low, jnp.zeros_like(low), jnp.zeros_like(q)), (blocks(k), blocks(v)))
    return made / total.transpose(0, 2, 1)[..., None]


@FAMILY.variants(**LAYOUTS)
def flash_scan(draw: Draw, spec: tuple) -> Case:
    x = f32((4, 64, 8, 16), *spec)
    return case(draw.grid(), flash, x, x, x, out=P(*spec))


@FAMILY.variants(**LAYOUTS)
def flash_gradient(draw: Draw, spec: tuple) -> Case:
    x = f32((4, 32, 8, 16), *spec)
    run = jax.grad(lambda q, k, v: jnp.sum(flash(q, k, v) ** 2), (0, 1, 2))
    return case(draw.grid(), run, x, x, x, out=(P(*spec),) * 3)


@FAMILY.variants(heads=("x", None, "y"), tokens=("x", "y"), keys_whole=("x", "y", None))
def cross(draw: Draw, spec: tuple) -> Case:
    """Queries of one sequence attend to another one."""
    q = f32((4, draw.times(32, 1, 2), 8, 16), *spec)
    kv = f32((4, 16, 8, 16), *(spec if len(spec) < 3 or spec[2] else ("x",)))
    run = lambda q, k, v, valid: attend(q, k, v, jnp.where(jnp.arange(16) < valid[:, None], 0.0, -1e9)[:, None, None])
    return case(draw.grid(), run, q, kv, kv, i32((4,), "x"), out=P(*spec))


@FAMILY.variants(groups=("x", None, "y"), inside=("x", None, None, "y"))
def grouped(draw: Draw, spec: tuple) -> Case:
    """Queries share keys; the split of heads is by groups, or keys have fewer heads than there are devices."""
    q = f32((4, draw.times(32, 1, 2), 2, 4, 16), *spec) if spec[2] is None else f32((4, draw.times(32, 1, 2), 8, 2, 16), *spec)
    kv = f32((*q.shape[:3], 16), *spec[:3])

    def run(q, k, v):
        weights = jax.nn.softmax(jnp.einsum("bqhgd,bshd->bhgqs", q, k))
        return jnp.einsum("bhgqs,bshd->bqhgd", weights, v)

    return case(draw.grid(), run, q, kv, kv, out=P(*spec))


@FAMILY.program
def grouped_repeated(draw: Draw) -> Case:
    """Keys are repeated for each query head, as in many models, and query heads are split further than key heads."""
    tokens = draw.times(32, 1, 2)
    q, kv = f32((2, tokens, 16, 16), "x", None, ("y", "z")), f32((2, tokens, 2, 16), "x", None, "y")

    def run(q, k, v):
        return attend(q, jnp.repeat(k, 8, 2), jnp.repeat(v, 8, 2), 0.0)

    return case(cube(), run, q, kv, kv, out=q.spec)


@FAMILY.program
def grouped_repeated_gradient(draw: Draw) -> Case:
    tokens = draw.times(32, 1, 2)
    q, kv = f32((4, tokens, 8, 16), "x", None, "y"), f32((4, tokens, 4, 16), "x", None, "y")
    loss = lambda q, k, v: jnp.sum(attend(q, jnp.repeat(k, 2, 2), jnp.repeat(v, 2, 2), 0.0) ** 2)
    return case(draw.grid(), jax.grad(loss, (0, 1, 2)), q, kv, kv, out=(q.spec, kv.spec, kv.spec))


@FAMILY.program
def latent(draw: Draw) -> Case:
    """Keys and values are made from a small vector for each token."""
    x = f32((4, draw.times(32, 1, 2), 16), "x")
    q, w = f32((*x.shape[:2], 8, 16), *BY_HEADS), f32((16, 8, 32), None, "y")

    def run(q, x, w):
        k, v = jnp.split(jnp.einsum("btc,chd->bthd", x, w), 2, -1)
        return attend(q, k, v, 0.0)

    return case(draw.grid(), run, q, x, w, out=P(*BY_HEADS))


@FAMILY.variants(**LAYOUTS)
def linear_causal(draw: Draw, spec: tuple) -> Case:
    """Causal linear attention: a scan over tokens with an outer product as state."""
    x = f32((4, draw.times(16, 1, 2), 8, 8), *spec)

    def run(q, k, v):
        def turn(state, qkv):
            q, k, v = qkv
            state = 0.9 * state + k[..., :, None] * v[..., None, :]
            return state, jnp.einsum("bhd,bhde->bhe", q, state)

        time = lambda x: x.swapaxes(0, 1)
        return time(lax.scan(turn, jnp.zeros((4, 8, 8, 8)), (time(q), time(k), time(v)))[1])

    return case(draw.grid(), run, x, x, x, out=P(*spec))


@FAMILY.variants(tokens=(None, "x"), heads=(None, None, "x"))
def linear_chunks(draw: Draw, spec: tuple) -> Case:
    """Causal linear attention by chunks: products inside, a cumulative sum of states between."""
    x = f32((2, 128, 8, draw.of(8, 16)), *spec)

    def run(q, k, v):
        q, k, v = (y.reshape(2, 16, 8, 8, -1) for y in (q, k, v))
        states = jnp.einsum("bnshd,bnshe->bnhde", k, v)
        before = jnp.cumsum(states, 1) - states
        scores = jnp.einsum("bnqhd,bnshd->bnhqs", q, k) * jnp.tril(jnp.ones((8, 8)))
        inside = jnp.einsum("bnhqs,bnshe->bnqhe", scores, v)
        return (inside + jnp.einsum("bnqhd,bnhde->bnqhe", q, before)).reshape(x.shape)

    return case(line(), run, x, x, x, out=P(*spec))


@FAMILY.variants(channels=("x", None, "y"), tokens=("x", "y"))
def selective(draw: Draw, spec: tuple) -> Case:
    """Mamba: a state for each channel, with steps that the input chooses."""
    x = f32((4, draw.times(32, 1, 2), 16), *spec)
    b = f32((*x.shape[:2], 4), *spec[:2])

    def run(x, steps, b, c, a):
        decay = jnp.exp(-jax.nn.softplus(steps)[..., None] * jax.nn.softplus(a))
        new = (jax.nn.softplus(steps) * x)[..., None] * b[:, :, None]
        combine = lambda p, q: (q[0] * p[0], q[0] * p[1] + q[1])
        h = lax.associative_scan(combine, (decay, new), axis=1)[1]
        return jnp.einsum("btdn,btn->btd", h, c)

    return case(draw.grid(), run, x, x, b, b, f32((16, 4), *spec[2:]), out=P(*spec))


@FAMILY.variants(channels=("x", None, "y"), tokens=("x", "y"))
def selective_scan(draw: Draw, spec: tuple) -> Case:
    """The same, token by token."""
    x = f32((4, draw.times(16, 1, 2), 16), *spec)
    b = f32((*x.shape[:2], 4), *spec[:2])

    def run(x, b, c):
        def turn(h, now):
            x, b, c = now
            h = 0.9 * h + x[..., None] * b[:, None]
            return h, jnp.einsum("bdn,bn->bd", h, c)

        time = lambda x: x.swapaxes(0, 1)
        return time(lax.scan(turn, jnp.zeros((4, 16, 4)), (time(x), time(b), time(c)))[1])

    return case(draw.grid(), run, x, b, b, out=P(*spec))


@FAMILY.variants(channels=("x", None, "y"), tokens=("x", "y"))
def long_convolution(draw: Draw, spec: tuple) -> Case:
    """S4 as a convolution: products of Fourier transforms along tokens."""
    x = f32((4, draw.times(32, 1, 2), 16), *spec)
    n = x.shape[1]

    def run(x, kernel):
        made = jnp.fft.irfft(jnp.fft.rfft(x, 2 * n, 1) * jnp.fft.rfft(kernel, 2 * n, 0), 2 * n, 1)
        return made[:, :n]

    return case(draw.grid(), run, x, f32((n, 16), None, *spec[2:]), out=P(*spec))


@FAMILY.variants(channels=("x", None, "y"), tokens=("x", "y"))
def receptance(draw: Draw, spec: tuple) -> Case:
    """RWKV: tokens are mixed with the ones before, and weighted sums run along time."""
    x = f32((4, draw.times(16, 1, 2), 16), *spec)

    def run(x, mix, decay):
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        k, v = x * mix + before * (1 - mix), x - before

        def turn(state, now):
            a, b = state
            k, v = now
            weight = jnp.exp(jnp.tanh(k))
            return (decay * a + weight * v, decay * b + weight), (a + weight * v) / (b + weight)

        time = lambda x: x.swapaxes(0, 1)
        start = jnp.zeros((4, 16))
        return time(lax.scan(turn, (start, start), (time(k), time(v)))[1])

    return case(draw.grid(), run, x, f32((16,), *spec[2:]), f32((16,), *spec[2:]), out=P(*spec))


@FAMILY.program
def beams(draw: Draw) -> Case:
    """The best beams over a split vocabulary, and the caches of their parents."""
    words = draw.times(64, 1, 2)

    def run(logits, kept, scores):
        total = (scores[:, :, None] + jax.nn.log_softmax(logits)).reshape(4, -1)
        best, which = lax.top_k(total, 4)
        parents = which // words
        return best, which % words, jnp.take_along_axis(kept, parents[:, :, None, None], 1)

    args = f32((4, 4, words), "x", None, "y"), f32((4, 4, 16, 8), "x"), f32((4, 4), "x")
    return case(draw.grid(), run, *args, out=(P("x"), P("x"), P("x")))


@FAMILY.program
def nucleus(draw: Draw) -> Case:
    """The most likely words up to a mass of 0.9 are kept; the vocabulary is split."""

    def run(logits):
        chances = jax.nn.softmax(logits)
        ordered = -jnp.sort(-chances, -1)
        count = jnp.sum(jnp.cumsum(ordered, -1) < 0.9, -1, keepdims=True)
        limit = jnp.take_along_axis(ordered, jnp.minimum(count, logits.shape[-1] - 1), -1)
        return jnp.where(chances >= limit, chances, 0)

    return case(draw.grid(), run, f32((8, draw.times(64, 1, 3)), "x", "y"), out=P("x", "y"))


@FAMILY.program
def sampled_word(draw: Draw) -> Case:
    """A word by the Gumbel trick, from split logits, with random numbers made in the program."""

    def run(logits, seed):
        noise = jax.random.gumbel(jax.random.key(seed), logits.shape)
        return jnp.argmax(logits + noise, -1)

    return case(draw.grid(), run, f32((8, draw.times(64, 1, 3)), "x", "y"), i32(()), out=P("x"))


@FAMILY.program
def greedy_loop(draw: Draw) -> Case:
    """Embedding, a layer, logits over split words, and the best word again."""
    words, steps = draw.times(64, 1, 2), draw.of(3, 4)

    def run(table, w, word):
        def turn(_, word):
            x = jnp.tanh(table[word] @ w)
            return jnp.argmax(x @ table.T, -1).astype(jnp.int32)

        return lax.fori_loop(0, steps, turn, word)

    return case(draw.grid(), run, f32((words, 16), "y"), f32((16, 16)), i32((8,), "x"), out=P("x"))


@FAMILY.program
def speculative(draw: Draw) -> Case:
    """How many drafted words agree with the model's, for each sequence."""
    run = lambda logits, drafts: jnp.sum(jnp.cumprod(jnp.argmax(logits, -1) == drafts, 1), 1)
    return case(draw.grid(), run, f32((8, 4, draw.times(64, 1, 2)), "x", None, "y"), i32((8, 4), "x"), out=P("x"))
