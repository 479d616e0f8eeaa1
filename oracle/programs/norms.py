"""Reductions and normalisations."""

from harness import Arg, Family, P, mesh, positive

import jax
import jax.numpy as jnp

FAMILY = Family("norms")
MESH = mesh(X=4, Y=2)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")), Arg((16,), "f32", P("Y")), sample=True)
def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-6) * scale


@FAMILY.program(MESH, Arg((8, 16), "bf16", P("X", "Y")), Arg((16,), "bf16"), Arg((16,), "bf16"), out=P("X", None))
def layer_norm(x, scale, bias):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(axis=-1, keepdims=True) + 1e-3) * scale + bias


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y")))
def softmax_and_logsumexp(x):
    return jax.nn.softmax(x, axis=-1), jax.nn.logsumexp(x, axis=0)


@FAMILY.program(MESH, Arg((8, 4, 16), "i32", P("X", None, "Y")), sample=True)
def integer_reductions(x):
    return x.sum(axis=0), x.max(axis=(0, 2)), x.min(), x[:, 0].prod(axis=1)


@FAMILY.program(MESH, Arg((8, 16), "f64", P(("X", "Y"), None)), x64=True)
def mean_and_variance_f64(x):
    return x.mean(axis=0), x.var(), x.std(axis=1)


@FAMILY.program(MESH, Arg((4, 8, 16), "f32", P(None, "X", "Y")), Arg((16,), "f32", P("Y")))
def group_norm(x, scale):
    groups = x.reshape(4, 8, 4, 4)
    mean = groups.mean(axis=(1, 3), keepdims=True)
    variance = groups.var(axis=(1, 3), keepdims=True)
    return ((groups - mean) * jax.lax.rsqrt(variance + 0.125)).reshape(x.shape) * scale


@FAMILY.program(MESH, Arg((8, 16), "bool", P("X", "Y")), Arg((8, 16), "f32", P("X", None)))
def logical_reductions(flags, x):
    return flags.all(axis=1), flags.any(axis=0), jnp.sum(x, where=flags), (flags ^ (x > 0)).sum()


@FAMILY.program(MESH, Arg((8, 16), "f32", P("X", "Y"), positive), locations=True)
def norms_and_clips(x):
    return jnp.linalg.norm(x, axis=1), jnp.clip(x / jnp.linalg.norm(x), 0.0625, 0.125), jnp.log(x).mean()
