"""Training steps, those of `crates/shardwise/tests/it/training_communication.rs`: the loss, its gradients, and new weights.

The sizes are fixed, because a formula in that file says how many bytes each step may move.
"""

import jax
import jax.numpy as jnp
from harness import P, mesh
from jax import lax
from jax.sharding import NamedSharding

from traffic import Case, Draw, Family, case, f32, i32

FAMILY = Family("training")
LAYERS, WIDTH, HIDDEN, ROWS = 4, 64, 256, 512


def layers(w, x):
    """A scan over layers with residual sums. The factors keep the activations of random weights small."""

    def layer(h, p):
        up, down = p
        return h + 0.125 * jnp.tanh(0.125 * (h @ up)) @ down, None

    return lax.scan(layer, x, w)[0]


def step(up, down, x, y):
    """A step of gradient descent."""
    loss = lambda w: jnp.sum((layers(w, x) - y) ** 2)
    value, (a, b) = jax.value_and_grad(loss)((up, down))
    return value, up - 0.01 * a, down - 0.01 * b


def stepped(on, up: P, down: P, data: P) -> Case:
    """The step with weights and data in these layouts."""
    w = f32((LAYERS, WIDTH, HIDDEN), *up), f32((LAYERS, HIDDEN, WIDTH), *down)
    rows = f32((ROWS, WIDTH), *data)
    return case(on, step, *w, rows, rows, out=(P(), up, down))


@FAMILY.program
def data_parallel(_: Draw) -> Case:
    return stepped(mesh(data=8), P(), P(), P("data"))


@FAMILY.program
def fully_sharded(_: Draw) -> Case:
    return stepped(mesh(data=8), P(None, "data"), P(None, None, "data"), P("data"))


@FAMILY.program
def tensor_parallel(_: Draw) -> Case:
    return stepped(mesh(model=8), P(None, None, "model"), P(None, "model"), P())


@FAMILY.program
def fully_sharded_and_tensor_parallel(_: Draw) -> Case:
    return stepped(mesh(data=4, model=2), P(None, "data", "model"), P(None, "model", "data"), P("data"))


@FAMILY.program
def experts(_: Draw) -> Case:
    """Tokens go to the devices of their experts and back."""
    groups, size, count, room = 8, 64, 8, 8
    on = mesh(data=8)
    split = lambda x: lax.with_sharding_constraint(x, NamedSharding(on, P("data")))

    def block(up, down, gate, x):
        scores = jax.nn.softmax(jnp.einsum("gsd,de->gse", x, gate))
        seat = jax.nn.one_hot(jnp.arange(size) % room, room)
        mask = jnp.einsum("gse,sc->gsec", jax.nn.one_hot(jnp.argmax(scores, -1), count), seat)
        sent = split(jnp.einsum("gsec,gsd->egcd", mask, x))
        hidden = jnp.tanh(jnp.einsum("egcd,edf->egcf", sent, up))
        made = split(jnp.einsum("egcf,efd->egcd", hidden, down))
        return jnp.einsum("gsec,egcd->gsd", mask * scores[..., None], made)

    run = lambda up, down, gate, x: jax.value_and_grad(
        lambda p: jnp.sum((block(*p, x) + x) ** 2),
    )((up, down, gate))
    w = f32((count, WIDTH, HIDDEN), "data"), f32((count, HIDDEN, WIDTH), "data")
    rest = f32((WIDTH, count)), f32((groups, size, WIDTH), "data")
    return case(on, run, *w, *rest, out=(P(), (P("data"), P("data"), P())))


@FAMILY.program
def tied_weights(_: Draw) -> Case:
    """An embedding that is used at both ends."""
    words = 96

    def run(table, ids):
        def loss(table):
            logits = jnp.tanh(table[ids]) @ table.T
            return jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(ids, words))

        return jax.value_and_grad(loss)(table)

    return case(mesh(data=8), run, f32((words, WIDTH)), i32((ROWS,), "data"), out=(P(), P()))


@FAMILY.program
def accumulated_batches(_: Draw) -> Case:
    """The gradients of several batches are added, and then used."""

    def run(up, down, xs, ys):
        def add(total, batch):
            x, y = batch
            g = jax.grad(lambda w: jnp.sum((layers(w, x) - y) ** 2))((up, down))
            return jax.tree.map(jnp.add, total, g), None

        zero = jnp.zeros_like(up), jnp.zeros_like(down)
        a, b = lax.scan(add, zero, (xs, ys))[0]
        return up - 0.01 * a, down - 0.01 * b

    w = f32((LAYERS, WIDTH, HIDDEN)), f32((LAYERS, HIDDEN, WIDTH))
    rows = f32((3, ROWS, WIDTH), None, "data")
    return case(mesh(data=8), run, *w, rows, rows, out=(P(), P()))
