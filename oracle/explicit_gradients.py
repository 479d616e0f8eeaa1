"""The types of gradients in JAX's Explicit mode: those of the sum of one op's results, with respect to its floating operands.

`testdata/explicit/gradients.txt` has a case on each line: `op | operand types | the types of the gradients`, for the cases of
`testdata/explicit/cases.txt` in which JAX accepts the op. Without an argument the answers are worked out anew and compared;
`--write` makes the table anew.
"""

import sys

import tables  # before jax: it asks for eight devices
import explicit
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding


def loss(op, types):
    """A function to a scalar. A sum that is not taken yet is only added up, because JAX refuses all else."""

    def scalar(*args):
        out = explicit.OPS[op][0](*args)
        if not jnp.issubdtype(out.dtype, jnp.inexact):
            return jnp.float32(0)
        return jnp.sum(out if "{U" in types else jnp.sin(out))

    return scalar


def answer(mesh, op, types):
    args = []
    for text in types.split():
        dtype, shape, spec = explicit.parse(text)
        args.append(jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec)))
    smooth = tuple(i for i, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.inexact))
    found = []

    def traced(*args):
        out = jax.grad(loss(op, types), smooth)(*args)
        found.extend(jax.typeof(g) for g in out)
        return out

    try:
        jax.jit(traced).trace(*args)
    except Exception as e:  # every class of error is an answer
        return f"error {type(e).__name__}"
    return " ".join(str(ty).lstrip("~").replace("float32", "f32") for ty in found)


def cases():
    """The cases in which JAX accepts the op."""
    for case, forward in tables.read(tables.TESTDATA / "explicit/cases.txt"):
        if not forward.startswith("error"):
            yield case


if __name__ == "__main__":
    title = "The types of gradients in JAX's Explicit mode"
    sys.exit(tables.main("explicit/gradients.txt", title, AxisType.Explicit, cases(), answer))
