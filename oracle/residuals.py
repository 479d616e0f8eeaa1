"""What reverse mode keeps of functions under each policy, for `testdata/residuals.txt`: `function policy | the types`.

`crates/shardwise/tests/it/residual_cases.rs` has the same functions.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import checkpoint_policies as policies
from jax.ad_checkpoint import checkpoint_name
from jax._src.ad_checkpoint import saved_residuals

TABLE = Path(__file__).parent.parent / "testdata/residuals.txt"
SHORT = {"float32": "f32", "int32": "i32", "bool": "bool"}

POLICIES = {
    "nothing": policies.nothing_saveable,
    "dots": policies.dots_saveable,
    "dots_with_no_batch_dims": policies.dots_with_no_batch_dims_saveable,
    "names": policies.save_only_these_names("a"),
    "other_names": policies.save_any_names_but_these("a"),
    "either": policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("b")),
}


def ones(*shape):
    return jnp.ones(shape, jnp.float32)


def network(x, w, v):
    a = checkpoint_name(jnp.sin(x @ w), "a")
    b = checkpoint_name(jnp.exp(a @ v), "b")
    return jnp.tanh(b)


def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k)
    weights = checkpoint_name(jnp.exp(scores), "a")
    return jnp.sin(jnp.einsum("bqk,bkd->bqd", weights, v))


def elementwise(x):
    return jnp.sin(checkpoint_name(jnp.sin(checkpoint_name(jnp.sin(x), "a")), "b"))


def linear(x, w):
    return (x @ w) * 2.0 + x.sum()


FUNCTIONS = {
    "network": (network, (ones(5, 3), ones(3, 4), ones(4, 2))),
    "attention": (attention, (ones(2, 3, 4), ones(2, 5, 4), ones(2, 5, 6))),
    "elementwise": (elementwise, (ones(7),)),
    "linear": (linear, (ones(2, 3), ones(3, 3))),
}


def layers(layer):
    def f(x, w):
        return jax.lax.scan(lambda h, w: (layer(h, w), None), x, w)[0]

    return f


def layer(h, w):
    return jnp.tanh(checkpoint_name(jnp.sin(h @ w), "a")) * h


def within(x, w):
    """The loop is inside of the function that is computed again."""
    return jnp.exp(layers(layer)(x, w))


def stacked(x, w):
    """The loop also returns a value of each turn."""

    def turn(h, w):
        b = checkpoint_name(jnp.exp(h @ w), "b")
        return jnp.tanh(b), jnp.sin(h) * b

    h, ys = jax.lax.scan(turn, x, w)
    return h @ ys.sum(0).T


def kept(f, args):
    types = [f"{SHORT[str(aval.dtype)]}[{','.join(map(str, aval.shape))}]" for aval, _ in saved_residuals(f, *args)]
    return " ".join(sorted(types))


def lines():
    for policy, rule in POLICIES.items():
        for name, (f, args) in FUNCTIONS.items():
            yield f"{name} {policy} | {kept(jax.checkpoint(f, policy=rule), args)}"
        again = jax.checkpoint(layer, policy=rule)
        for f in (within, stacked):
            found = kept(jax.checkpoint(f, policy=rule), (ones(2, 4), ones(3, 4, 4)))
            yield f"{f.__name__} {policy} | {found}"
        yield f"layers {policy} | {kept(layers(again), (ones(2, 4), ones(3, 4, 4)))}"


def main():
    found = list(lines())
    if "--write" in sys.argv:
        TABLE.write_text("# The residuals of functions: made by `oracle/residuals.py --write`.\n" + "\n".join(found) + "\n")
        return print(f"{len(found)} cases")
    recorded = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    differ = [(a, b) for a, b in zip(recorded, found, strict=True) if a != b]
    print(f"{len(found)} cases, {len(differ)} differ")
    for recorded_line, line in differ:
        print(f"  {recorded_line}\n  {line}")
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
