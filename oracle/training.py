"""100 training steps of a small transformer with optax, for `testdata/training.txt`: `name | the loss of each step`, by its bits.

This is the twin of `crates/shardwise/examples/t1_train_transformer.rs`, whose tests train from the same weights on the same
batches.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import recorded

TABLE = Path(__file__).parent.parent / "testdata/training.txt"
# With other instructions of the processor, the losses in bf16 were seen to differ by 1e-4 of the largest.
PARTS = {"bf16": 1e-3}
STEPS, BATCH = 100, 8
VOCAB, CHOSEN = 256, 2
WIDTH, HEADS, HIDDEN, LAYERS, SEQUENCE = 32, 4, 64, 2, 32


def init(key, experts):
    a, b, c, d, e, f, g = jax.random.split(key, 7)
    normal = lambda key, *shape: jax.random.normal(key, shape)
    of_experts = (LAYERS, experts) if experts else (LAYERS,)
    layers = {
        "wqkv": normal(a, LAYERS, WIDTH, 3, HEADS, WIDTH // HEADS) * 0.05,
        "wo": normal(b, LAYERS, HEADS, WIDTH // HEADS, WIDTH) * 0.02,
        "w_in": normal(d, *of_experts, WIDTH, HIDDEN) * 0.05,
        "w_out": normal(e, *of_experts, HIDDEN, WIDTH) * 0.02,
        "norm0": jnp.ones((LAYERS, WIDTH)),
        "norm1": jnp.ones((LAYERS, WIDTH)),
    }
    if experts:
        layers["router"] = normal(c, LAYERS, WIDTH, experts) * 0.05
    embed, positions = normal(f, VOCAB, WIDTH) * 0.05, normal(g, SEQUENCE, WIDTH) * 0.05
    return {"embed": embed, "positions": positions, "layers": layers, "norm": jnp.ones(WIDTH)}


def rms_norm(x, scale):
    y = x.astype(jnp.float32)
    y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + 1e-6)
    return (y * scale).astype(x.dtype)


def layer(x, w):
    qkv = jnp.einsum("bsd,dthk->tbshk", rms_norm(x, w["norm0"]), w["wqkv"])
    x = x + jnp.einsum("bshk,hkd->bsd", jax.nn.dot_product_attention(*qkv, is_causal=True), w["wo"])
    h = rms_norm(x, w["norm1"])
    if "router" in w:
        out, unevenness = mixture(h, w["router"], w["w_in"], w["w_out"])
        return x + out, unevenness
    return x + jax.nn.gelu(h @ w["w_in"]) @ w["w_out"], jnp.float32(0)


def mixture(x, router, w_in, w_out):
    """Sends each token to its experts as long as they have room, as the layer of the example does."""
    (b, s, _), experts = x.shape, router.shape[1]
    room = -(-s * CHOSEN * 5 // (experts * 4))
    scores = jax.nn.softmax((x @ router).astype(jnp.float32))
    best, chosen = jax.lax.top_k(scores, CHOSEN)
    weights = best / best.sum(-1, keepdims=True)
    sent = jax.nn.one_hot(chosen, experts, dtype=jnp.int32)
    queue = jnp.cumsum(sent.reshape(b, s * CHOSEN, experts), 1).reshape(sent.shape)
    place = jax.nn.one_hot(((queue - 1) * sent).sum(-1), room)
    places = jnp.einsum("bske,bskr->bsker", sent.astype(jnp.float32), place)
    combine = jnp.einsum("bsker,bsk->bser", places, weights).astype(x.dtype)
    h = jnp.einsum("bser,bsd->ebrd", places.sum(2).astype(x.dtype), x)
    h = jnp.einsum("ebrf,efd->ebrd", jax.nn.gelu(jnp.einsum("ebrd,edf->ebrf", h, w_in)), w_out)
    unevenness = jnp.sum(jnp.mean(sent.astype(jnp.float32), (0, 1, 2)) * jnp.mean(scores, (0, 1))) * experts
    return jnp.einsum("bser,ebrd->bsd", combine, h), unevenness


def objective(params, text, dtype):
    p = jax.tree.map(lambda w: w.astype(dtype), params)
    x = p["embed"][text[:, :-1]] + p["positions"]
    x, unevenness = jax.lax.scan(layer, x, p["layers"])
    logits = jnp.einsum("bsd,vd->bsv", rms_norm(x, p["norm"]), p["embed"]).astype(jnp.float32)
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, text[:, 1:]).mean()
    return loss + 0.01 * unevenness.sum()


def batch(text, step):
    """The rows that `train::data::batch` returns for this step."""
    mask, length = (1 << 64) - 1, SEQUENCE + 1
    state, rows = (step * 0x9E3779B97F4A7C15 & mask) + 1, []
    for _ in range(BATCH):
        state ^= state << 13 & mask
        state ^= state >> 7
        state ^= state << 17 & mask
        start = state % (len(text) - length + 1)
        rows.append(text[start : start + length])
    return jnp.array(rows, jnp.int32)


def losses(dtype, experts):
    text = np.frombuffer(" ".join(str(i * i) for i in range(5000)).encode(), np.uint8).tolist()
    schedule = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 10, STEPS, 3e-4)
    adamw = optax.adamw(schedule, b2=0.95, weight_decay=0.1)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), adamw)

    @jax.jit
    def step(params, state, text):
        loss, gradient = jax.value_and_grad(objective)(params, text, dtype)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, loss

    params = init(jax.random.key(0), experts)
    state, found = optimizer.init(params), []
    for i in range(STEPS):
        params, state, loss = step(params, state, batch(text, i))
        found.append(loss)
    return np.array(found, np.float32)


def lines():
    for name, dtype, experts in [("f32", jnp.float32, 0), ("bf16", jnp.bfloat16, 0), ("experts", jnp.float32, 4)]:
        yield f"{name} | {recorded.words(losses(dtype, experts))}"


if __name__ == "__main__":
    sys.exit(recorded.record(TABLE, f"Training with optax {optax.__version__}", "training.py", lines(), PARTS))
