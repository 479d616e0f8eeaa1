"""Exports the training step of a Llama for a pod, to measure how long partitioning takes.

The layers are unrolled. Parameters are sharded over `data` (FSDP) and `model` (tensor parallel), the batch over `data`.
Nothing is computed, so the program may be as large as those that people train.

    python oracle/llama.py --layers 80 --out target/oracle/llama.mlir
"""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

DATA, MODEL = 16, 16
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DATA * MODEL}"

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

LEARNING_RATE = 1e-4


@dataclass(frozen=True)
class Config:
    """The sizes of Llama 3 70B."""

    layers: int
    width: int = 8192
    heads: int = 64
    kv_heads: int = 8
    head_width: int = 128
    ff: int = 28672
    vocab: int = 128256
    tokens: int = 4096
    batch: int = 256


def layer_shapes(c: Config) -> dict:
    """The shape and the sharding of each parameter of a layer."""
    return {
        "norm1": ((c.width,), P()),
        "wq": ((c.width, c.heads, c.head_width), P("data", "model", None)),
        "wk": ((c.width, c.kv_heads, c.head_width), P("data", None, None)),
        "wv": ((c.width, c.kv_heads, c.head_width), P("data", None, None)),
        "wo": ((c.heads, c.head_width, c.width), P("model", None, "data")),
        "norm2": ((c.width,), P()),
        "gate": ((c.width, c.ff), P("data", "model")),
        "up": ((c.width, c.ff), P("data", "model")),
        "down": ((c.ff, c.width), P("model", "data")),
    }


def shapes(c: Config) -> dict:
    """The shape and the sharding of each parameter."""
    return {
        "embed": ((c.vocab, c.width), P("model", "data")),
        "layers": [layer_shapes(c) for _ in range(c.layers)],
        "norm": ((c.width,), P()),
        "unembed": ((c.width, c.vocab), P("data", "model")),
    }


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """x / rms(x) * scale over the last dimension, computed in f32."""
    x32 = x.astype(jnp.float32)
    inverse = jax.lax.rsqrt(jnp.mean(jnp.square(x32), axis=-1, keepdims=True) + 1e-5)
    return (x32 * inverse).astype(x.dtype) * scale


def rotate(x: jax.Array) -> jax.Array:
    """Rotary embeddings of x [batch, tokens, heads, head width]."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 500000.0 ** -(jnp.arange(half) / half)
    cos, sin = [f(angles)[:, None, :].astype(x.dtype) for f in (jnp.cos, jnp.sin)]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def attention(c: Config, x: jax.Array, p: dict) -> jax.Array:
    """Causal attention with groups of queries; x is [batch, tokens, width]."""
    q, k, v = [jnp.einsum("btd,dhk->bthk", x, p[name]) for name in ("wq", "wk", "wv")]
    q, k = rotate(q), rotate(k)
    q = q.reshape(*q.shape[:2], c.kv_heads, c.heads // c.kv_heads, c.head_width)
    scores = jnp.einsum("bqhgk,bshk->bhgqs", q, k).astype(jnp.float32) * c.head_width**-0.5
    causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhgqs,bshk->bqhgk", weights, v)
    return jnp.einsum("bqhk,hkd->bqd", mixed.reshape(*x.shape[:2], c.heads, c.head_width), p["wo"])


def loss(c: Config, params: dict, tokens: jax.Array, targets: jax.Array) -> jax.Array:
    """The mean cross-entropy of the next tokens."""
    x = params["embed"][tokens]
    for p in params["layers"]:
        x = x + attention(c, rms_norm(x, p["norm1"]), p)
        h = rms_norm(x, p["norm2"])
        x = x + (jax.nn.silu(h @ p["gate"]) * (h @ p["up"])) @ p["down"]
        x = jax.lax.with_sharding_constraint(x, P("data", None, None))
    logits = (rms_norm(x, params["norm"]) @ params["unembed"]).astype(jnp.float32)
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), targets[..., None], axis=-1)
    return -jnp.mean(picked)


def step(c: Config):
    """Returns the training step: the loss, and the parameters after one step of SGD."""

    def run(params: dict, tokens: jax.Array, targets: jax.Array) -> tuple[jax.Array, dict]:
        value, grads = jax.value_and_grad(lambda params: loss(c, params, tokens, targets))(params)
        return value, jax.tree.map(lambda p, g: p - LEARNING_RATE * g.astype(p.dtype), params, grads)

    return run


def main() -> None:
    """Writes the program's StableHLO."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=80, help="the number of layers")
    parser.add_argument("--out", type=Path, default=Path("target/oracle/llama.mlir"), help="the file to write")
    arguments = parser.parse_args()
    config = Config(layers=arguments.layers)
    auto = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((DATA, MODEL), ("data", "model"), axis_types=auto)

    def array(shape: tuple[int, ...], spec: P, dtype: str = "bfloat16") -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    is_leaf = lambda leaf: isinstance(leaf, tuple)
    params = jax.tree.map(lambda leaf: array(*leaf), shapes(config), is_leaf=is_leaf)
    ids = array((config.batch, config.tokens), P("data", None), "int32")
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params)
    with jax.set_mesh(mesh):
        lowered = jax.jit(step(config), out_shardings=(NamedSharding(mesh, P()), shardings)).lower(params, ids, ids)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(lowered.as_text())


if __name__ == "__main__":
    main()
