"""Dimensions inside a program that their mesh axes do not divide. (JAX refuses them at a program's boundary.)"""

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("uneven")
MESH = mesh(X=4, Y=2)


def constrain(x, *spec):
    """A sharding constraint."""
    return jax.lax.with_sharding_constraint(x, P(*spec))


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", None)), Arg((16, 8), "f32", P(None, "Y")), sample=True)
def six_rows_over_four(x, w):
    return (constrain(x[:6], "X", None) @ w).sum(axis=0)


@FAMILY.program(MESH, Arg((8, 8), "i32", P("X", "Y")), sample=True)
def slice_reduce_pad(x):
    middle = constrain(x[1:8, 2:7], "X", "Y")
    return middle.sum(axis=0), middle.max(axis=1), jnp.pad(middle * 2, ((1, 0), (2, 1)))


@FAMILY.program(MESH, Arg((8, 4), "f32", P("X", None)), Arg((3, 4), "f32"))
def concatenated_to_eleven(x, y):
    both = constrain(jnp.concatenate([x, y]), "X", None)
    return both.mean(axis=0), both @ both.T


@FAMILY.program(MESH, Arg((17, 8), "f32", P(None, "Y")), Arg((8, 4), "i32", P("X", None)), sample=True)
def vocabulary_of_seventeen(table, ids):
    logits = constrain(constrain(table, "X", None)[ids % 17], "X", None, None) @ table.T
    return jax.nn.log_softmax(constrain(logits, None, None, "X"), axis=-1).max(axis=-1)


@FAMILY.program(MESH, Arg((5, 7), "f32"), Arg((7, 9), "f32"))
def everything_prime(x, w):
    product = constrain(constrain(x, "X", "Y") @ constrain(w, "Y", "X"), "X", "Y")
    return product, product.argmax(axis=1), product.min()


@FAMILY.program(MESH, Arg((8, 10), "f32", P("X", None)))
def uneven_loop(x):
    body = lambda _, x: constrain(x - x.mean(axis=1, keepdims=True), "Y", "X")
    return jax.lax.fori_loop(0, 3, body, x[:, :10])


@FAMILY.program(MESH, Arg((3, 12), "f32", P(None, "X")))
def fewer_rows_than_devices(x):
    rows = constrain(jnp.square(x), ("X", "Y"), None)
    return rows.sum(), constrain(rows.reshape(9, 4), "X", None), rows.prod(axis=0)
