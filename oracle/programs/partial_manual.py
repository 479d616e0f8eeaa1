"""shard_map over some mesh axes; the others stay with the compiler."""

from functools import partial

from harness import Arg, Family, P, mesh

import jax
import jax.numpy as jnp
from jax import lax

FAMILY = Family("partial_manual")
MESH = mesh(data=2, model=4)


def over_data(in_specs, out_specs):
    """shard_map over the axis `data` only, as a decorator."""
    return partial(jax.shard_map, mesh=MESH, in_specs=in_specs, out_specs=out_specs, axis_names={"data"})


@FAMILY.program(MESH, Arg((8, 16), "f32", P("data", "model")), Arg((16, 8), "f32", P("model", None)), sample=True)
def manual_batch(x, w):
    return over_data((P("data", None), P()), P("data", None))(lambda x, w: jnp.sin(x) @ w)(x, w)


@FAMILY.program(
    MESH,
    Arg((8, 16), "f32", P("data", None)),
    Arg((16, 32), "f32", P(None, "model")),
    Arg((32, 16), "f32", P("model", None)),
)
def mean_loss(x, w1, w2):
    def loss(x, w1, w2):
        return lax.pmean(jnp.mean(jax.nn.relu(x @ w1) @ w2), "data")

    return over_data((P("data"), P(), P()), P())(loss)(x, w1, w2)


@FAMILY.program(MESH, Arg((8, 16), "f32", P("data", None)), Arg((16, 32), "f32", P("data", "model")), sample=True)
def gathered_weights(x, w):
    """Fully sharded data parallelism by hand, tensor parallelism by the compiler."""

    def layer(x, w):
        return x @ lax.all_gather(w, "data", axis=0, tiled=True)

    return over_data((P("data", None), P("data", None)), P("data", None))(layer)(x, w)


@FAMILY.program(MESH, Arg((8, 16), "i32", P("model", "data")))
def rotate_one_axis(x):
    rotate = lambda x: lax.ppermute(x, "data", [(0, 1), (1, 0)]) + lax.axis_index("data")
    return over_data(P(None, "data"), P(None, "data"))(rotate)(x) * 2


@FAMILY.program(MESH, Arg((8, 16), "f32", P("data", "model")), Arg((16, 16), "f32", P(None, "model")))
def constraint_inside(x, w):
    def layer(x, w):
        hidden = lax.with_sharding_constraint(x @ w, P(None, "model"))
        return lax.psum_scatter(hidden, "data", scatter_dimension=0, tiled=True)

    return over_data((P("data", None), P()), P("data", None))(layer)(x, w)


@FAMILY.program(
    MESH, Arg((8, 16), "f32", P("data", None)), Arg((16, 16), "f32", P(None, "model")), out=(P(), P(None, "model"))
)
def data_parallel_gradient(x, w):
    def step(x, w):
        varying = lax.pcast(w, "data", to="varying")
        value, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(varying)
        return lax.pmean(value, "data"), lax.pmean(grad, "data")

    return over_data((P("data", None), P()), (P(), P()))(step)(x, w)
