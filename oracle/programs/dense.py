"""Dense layers and einsums, over the ways in which operands and contractions can be sharded."""

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("dense")
MESH = mesh(X=4, Y=2)
CUBE = mesh(a=2, b=2, c=2)


@FAMILY.program(
    MESH, Arg((8, 32), "bf16", P("X", "Y")), Arg((32, 16), "bf16", P("Y", None)), out=P("X", None), sample=True
)
def einsum_square(x, w):
    return jnp.einsum("bd,df->bf", jnp.square(x), w)


@FAMILY.program(MESH, Arg((16, 32), "f32", P("X", None)), Arg((32, 16), "f32", P(None, "Y")), sample=True)
def rows_by_columns(x, w):
    return x @ w


@FAMILY.program(MESH, Arg((16, 32), "f32", P("X", "Y")), Arg((32, 16), "f32", P(None, "Y")), out=P("X", "Y"))
def one_sided_contraction(x, w):
    return x @ w


@FAMILY.program(
    MESH,
    Arg((8, 16), "f32", P("X", None)),
    Arg((16, 32), "f32", P(None, "Y")),
    Arg((32, 16), "f32", P("Y", None)),
    out=P("X", None),
)
def mlp(x, w1, w2):
    return jax.nn.gelu(x @ w1) @ w2


@FAMILY.program(
    CUBE, Arg((4, 8, 16), "f32", P("a", "b", None)), Arg((4, 16, 8), "f32", P("a", None, "c")), locations=True
)
def batched(x, w):
    return jnp.einsum("eik,ekj->eij", x, w)


@FAMILY.program(MESH, Arg((8, 16), "f64", P("X", None)), Arg((16, 8), "f64"), Arg((8,), "f64", P("Y")), x64=True)
def bias_relu_f64(x, w, b):
    return jnp.maximum(x @ w + b, 0)


@FAMILY.program(MESH, Arg((8, 16), "i32", P("X", "Y")), Arg((16, 8), "i32", P("Y", None)), sample=True)
def integer_matmul(x, w):
    return x @ w - x.sum(axis=1, keepdims=True)


@FAMILY.program(
    CUBE,
    Arg((8, 16), "f32", P("a", "b")),
    Arg((16, 8), "f32", P("b", "c")),
    Arg((8, 4), "f32", P("c", None)),
    out=P(("a", "b"), None),
)
def chain_of_three(x, y, z):
    return jnp.einsum("ij,jk,kl->il", x, y, z)


@FAMILY.program(MESH, Arg((8, 8), "c64", P("X", None)), Arg((8, 8), "c64", P(None, "Y")))
def complex_matmul(x, w):
    return jnp.conj(x) @ w * (1 + 2j)


@FAMILY.program(MESH, Arg((16, 32), "bf16", P(None, "Y")), Arg((32, 8), "bf16", P("Y", None)), out=P("X", None))
def accumulate_in_f32(x, w):
    return jax.lax.dot(x, w, preferred_element_type=jnp.float32)


@FAMILY.program(MESH, Arg((16,), "f32", P("X")), Arg((8,), "f32", P("Y")), Arg((16, 8), "f32"))
def outer_and_trace(x, y, z):
    outer = jnp.outer(x, y)
    return outer + z, jnp.einsum("ij,ij->", outer, z)
