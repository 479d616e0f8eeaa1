"""Convolutions and windowed reductions."""

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp

FAMILY = Family("convolution")
MESH = mesh(X=4, Y=2)


@FAMILY.program(
    MESH, Arg((8, 4, 16), "f32", P("X", None, None)), Arg((8, 4, 3), "f32", P("Y", None, None)), sample=True
)
def conv1d(x, w):
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME")


@FAMILY.program(
    MESH, Arg((4, 8, 8, 4), "f32", P("X", None, None, "Y")), Arg((3, 3, 4, 8), "f32", P(None, None, "Y", None))
)
def conv2d_channels_last(x, w):
    return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@FAMILY.program(MESH, Arg((4, 4, 12), "f32", P("X", "Y", None)), Arg((4, 1, 3), "f32", P("Y", None, None)))
def depthwise(x, w):
    return jax.lax.conv_general_dilated(x, w, (2,), [(1, 1)], feature_group_count=4)


@FAMILY.program(MESH, Arg((4, 3, 8, 8), "bf16", P("X", None, None, None)), Arg((4, 3, 2, 2), "bf16"))
def strided_and_dilated(x, w):
    return jax.lax.conv_general_dilated(x, w, (2, 1), [(0, 1), (2, 0)], lhs_dilation=(1, 2), rhs_dilation=(2, 1))


@FAMILY.program(MESH, Arg((8, 2, 8), "f32", P("X", None, None)), Arg((4, 2, 3), "f32", P("Y", None, None)))
def gradients(x, w):
    loss = lambda x, w: jnp.sum(jax.lax.conv_general_dilated(x, w, (2,), "SAME") ** 2)
    return jax.grad(loss, argnums=(0, 1))(x, w)


@FAMILY.program(MESH, Arg((4, 8, 8), "f32", P("X", "Y", None)))
def pooling(x):
    windows = (1, 2, 2)
    mean = jax.lax.reduce_window(x, 0.0, jax.lax.add, windows, windows, "VALID") / 4
    return mean, jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3), (1, 1, 1), "SAME")


@FAMILY.program(MESH, Arg((4, 16, 4), "f32", P("X", "Y", None)), Arg((3, 4, 4), "f32"))
def spatially_sharded(x, w):
    """The window crosses the boundaries of shards."""
    return jax.lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NHC", "HIO", "NHC"))
