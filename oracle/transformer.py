"""Exports a decoder transformer with data x tensor parallel shardings.

The program is written as one would write it for a pod: parameters sharded over `model` as in Megatron, the batch
over `data`, and one sharding constraint after each block. It takes tokens and targets and gives the mean
cross-entropy loss and the logits; with `--train` it gives the loss and the parameters after one step of SGD.

    python oracle/transformer.py --case tiny --out testdata/transformer
    python oracle/transformer.py --case bench --out target/oracle/transformer
"""

import argparse
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from harness import Arg, P, Program, below, export_program, mesh, normal, record_program

import jax
import jax.numpy as jnp

LEARNING_RATE = 0.125


@dataclass(frozen=True)
class Config:
    """The sizes of a transformer. The mesh is data=2, model=4."""

    layers: int
    width: int
    heads: int
    ff: int
    vocab: int
    tokens: int
    batch: int
    dtype: str = "f32"

    @property
    def head_width(self) -> int:
        """The size of one head."""
        return self.width // self.heads


CASES = {
    "tiny": Config(layers=2, width=16, heads=4, ff=64, vocab=32, tokens=8, batch=4),
    "bench": Config(layers=4, width=256, heads=8, ff=1024, vocab=1024, tokens=128, batch=8),
}


def weight(config: Config, shape: tuple[int, ...], fan_in: int, spec: P) -> Arg:
    """A normally distributed parameter that keeps the variance of its input."""
    return Arg(shape, config.dtype, spec, normal(fan_in**-0.5))


def layer_args(config: Config) -> dict[str, Arg]:
    """The parameters of one block."""
    d, h, k, f = config.width, config.heads, config.head_width, config.ff
    heads_in = P(None, "model", None)
    return {
        "norm1": Arg((d,), config.dtype, P(), lambda rng, shape: 1 + rng.standard_normal(shape) / 8),
        "wq": weight(config, (d, h, k), d, heads_in),
        "wk": weight(config, (d, h, k), d, heads_in),
        "wv": weight(config, (d, h, k), d, heads_in),
        "wo": weight(config, (h, k, d), d, P("model", None, None)),
        "norm2": Arg((d,), config.dtype, P(), lambda rng, shape: 1 + rng.standard_normal(shape) / 8),
        "w1": weight(config, (d, f), d, P(None, "model")),
        "w2": weight(config, (f, d), f, P("model", None)),
    }


def param_args(config: Config) -> dict:
    """All parameters, as a pytree of `Arg`s."""
    d, v = config.width, config.vocab
    return {
        "embed": weight(config, (v, d), 1, P("model", None)),
        "layers": [layer_args(config) for _ in range(config.layers)],
        "norm": Arg((d,), config.dtype, P(), lambda rng, shape: 1 + rng.standard_normal(shape) / 8),
        "unembed": weight(config, (d, v), d, P(None, "model")),
    }


def rms_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    """x / rms(x) * scale over the last dimension, computed in f32."""
    x32 = x.astype(jnp.float32)
    inverse = jax.lax.rsqrt(jnp.mean(jnp.square(x32), axis=-1, keepdims=True) + 1e-6)
    return (x32 * inverse).astype(x.dtype) * scale


def attention(x: jax.Array, p: dict) -> jax.Array:
    """Causal multi-head attention; x is [batch, tokens, width]."""
    q = jnp.einsum("btd,dhk->bthk", x, p["wq"])
    k = jnp.einsum("btd,dhk->bthk", x, p["wk"])
    v = jnp.einsum("btd,dhk->bthk", x, p["wv"])
    scores = jnp.einsum("bqhk,bshk->bhqs", q, k).astype(jnp.float32) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1).astype(x.dtype)
    mixed = jnp.einsum("bhqs,bshk->bqhk", weights, v)
    return jnp.einsum("bqhk,hkd->bqd", mixed, p["wo"])


def block(x: jax.Array, p: dict) -> jax.Array:
    """One pre-norm block: attention, then a GELU MLP, each added to the residual stream."""
    x = x + attention(rms_norm(x, p["norm1"]), p)
    hidden = jax.nn.gelu(rms_norm(x, p["norm2"]) @ p["w1"])
    x = x + hidden @ p["w2"]
    return jax.lax.with_sharding_constraint(x, P("data", None, None))


def forward(params: dict, tokens: jax.Array) -> jax.Array:
    """Logits [batch, tokens, vocab] in f32."""
    x = params["embed"][tokens]
    for layer in params["layers"]:
        x = block(x, layer)
    return (rms_norm(x, params["norm"]) @ params["unembed"]).astype(jnp.float32)


def loss_and_logits(params: dict, tokens: jax.Array, targets: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The mean cross-entropy of the next tokens, and the logits."""
    logits = forward(params, tokens)
    log_probs = jax.nn.log_softmax(logits, axis=-1)
    picked = jnp.take_along_axis(log_probs, targets[..., None], axis=-1)
    return -jnp.mean(picked), logits


def train_step(params: dict, tokens: jax.Array, targets: jax.Array) -> tuple[jax.Array, dict]:
    """The loss, and the parameters after one step of SGD."""
    loss = lambda params: loss_and_logits(params, tokens, targets)[0]
    value, grads = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - LEARNING_RATE * g, params, grads)


def program(config: Config, name: str, train: bool = False) -> Program:
    """The forward program or the training step as an exportable program."""
    params = param_args(config)
    ids = Arg((config.batch, config.tokens), "i32", P("data", None), below(config.vocab))
    specs = jax.tree.map(lambda arg: arg.spec, params, is_leaf=lambda leaf: isinstance(leaf, Arg))
    return Program(
        family="",
        name=name,
        function=train_step if train else loss_and_logits,
        mesh=mesh(data=2, model=4),
        args=(params, ids, ids),
        out=(P(), specs) if train else (P(), P("data", None, "model")),
        donate=(0,) if train else (),
    )


def argument_names(exported: Program) -> list[str]:
    """What `arg0`, `arg1`, ... are: paths such as `[0]['layers'][1]['wq']`."""
    leaves = jax.tree_util.tree_leaves_with_path(exported.args, is_leaf=lambda leaf: isinstance(leaf, Arg))
    return [jax.tree_util.keystr(path) for path, _ in leaves]


def export_case(config: Config, name: str, folder: Path, train: bool) -> Path:
    """Writes the program, its arrays, Shardy's answers, and `<name>.json` with sizes and arguments' names."""
    exported = program(config, name, train)
    path = export_program(exported, folder)
    record_program(path)
    about = {"config": asdict(config), "arguments": argument_names(exported)}
    path.with_suffix(".json").write_text(json.dumps(about, indent=1) + "\n")
    return path


def parse_arguments() -> argparse.Namespace:
    """The command line: a case, and optionally other sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(CASES), default="tiny", help="the sizes to start from")
    parser.add_argument("--out", type=Path, default=Path("target/oracle/transformer"), help="folder to write to")
    parser.add_argument("--train", action="store_true", help="export value_and_grad and an SGD update")
    parser.add_argument("--dtype", choices=["f32", "bf16"], help="dtype of the parameters")
    for size in ["layers", "width", "heads", "ff", "vocab", "tokens", "batch"]:
        parser.add_argument(f"--{size}", type=int, help="overrides the case's size")
    return parser.parse_args()


def main() -> None:
    """Exports what the command line asks for."""
    arguments = parse_arguments()
    overrides = {key: value for key, value in vars(arguments).items() if value is not None}
    overrides = {key: value for key, value in overrides.items() if key in Config.__dataclass_fields__}
    config = replace(CASES[arguments.case], **overrides)
    name = arguments.case + ("_train" if arguments.train else "")
    print(export_case(config, name, arguments.out, arguments.train))


if __name__ == "__main__":
    main()
